//! The abstract search against the concrete one: the runs on lists of any length end in exactly the ways in which the
//! runs on short lists end. Missing one would be unsound; one too many would be a false alarm. And the concrete search
//! against the machine alone: no step is longer than one access, nothing is forgotten, collected or put in normal form,
//! and histories are judged by trying all linearizations.

use crate::cases::{Case, Input, cases, explicit_lists};
use crate::composition::{Composition, parse_composition};
use crate::monitor::Monitor;
use crate::movers::Reductions;
use crate::normal::Mode;
use crate::replay::{ShownOperation, elements, explained, key_names, picture};
use crate::search::{End, Plan, search};
use crate::state::{ListState, argument_key};
use crate::subject::{Code, Subject};
use rustc_hash::FxHashSet;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{State, Stop};
use std::collections::BTreeSet;
use std::sync::Arc;

fn prepare(name: &str, text: &str) -> (Arc<Code>, Composition) {
    let path = format!("{}/../../algorithms/{name}.seri", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).expect("the algorithm is there");
    let program = seriatim_lang::check(&source).expect("the algorithm is right");
    let composition = parse_composition(text).expect("a composition");
    (
        Arc::new(Code::new(&program, &composition, Reductions::default()).expect("in the class")),
        composition,
    )
}

/// How runs end, on lists of any length and on lists with so many further nodes; violations count as ends.
fn compare(name: &str, text: &str, input: Input, nodes: usize) {
    let (code, composition) = prepare(name, text);
    for case in cases(&composition, input) {
        let subject = Subject::new(&code, &case.ranks);
        let mut monitor = Monitor::new(subject.operations.clone());
        let mut ends = |intervals: &[_], mode| -> (BTreeSet<End>, bool) {
            let mut start = case.state(&subject, intervals);
            start.configurations = monitor.initial(case.members());
            let plan = Plan { mode, most: 1_000_000 };
            let found = search(&subject, &mut monitor, &start, plan);
            assert!(!found.exhausted && found.foreign_key.is_none());
            (found.ends, found.elements.is_some())
        };
        let whole = ends(&case.any_length(input), Mode::Abstract);
        let mut short = (BTreeSet::new(), false);
        for count in 0..=nodes {
            for intervals in explicit_lists(&case, input, count) {
                let (found, fails) = ends(&intervals, Mode::Explicit);
                short.0.extend(found);
                short.1 |= fails;
            }
        }
        assert_eq!(whole.1, short.1, "{name}, {text}, {case:?}: verdicts differ");
        if !whole.1 {
            assert_eq!(whole.0, short.0, "{name}, {text}, {case:?}: ends differ");
        }
    }
}

#[test]
fn runs_on_any_list_end_as_runs_on_short_lists_do() {
    for text in ["add || remove", "remove || remove", "contains || remove"] {
        for name in [
            "lock_coupling",
            "optimistic_list",
            "lazy_list",
            "harris_michael",
            "michael_set",
            "harris_set",
            "vechev_cas",
            "vechev_dcas",
            "orvyy_set",
            "lazy_list_remove2_curr",
            "lazy_list_unlink_first",
            "broken/lazy_list_remove1_add1",
            "broken/lazy_list_no_mark_check",
            "broken/lock_coupling_early_release",
            "broken/optimistic_list_no_second_walk",
            "broken/harris_michael_no_mark",
            "broken/harris_michael_contains_ignores_mark",
            "broken/vechev_dcas_not_unlinked",
        ] {
            compare(name, text, Input::Unmarked, 2);
        }
    }
}

#[test]
fn runs_on_marked_lists_end_as_runs_on_short_ones_do() {
    compare("harris_michael", "add || remove", Input::Marked, 2);
    compare("harris_michael", "(add; remove) || contains", Input::Unmarked, 2);
    compare("vechev_cas", "remove || contains", Input::Marked, 2);
}

/// A call, or a return with its result, of an operation.
type Event = (usize, Option<bool>);

/// Whether some run of the machine alone is wrong. Runs that make more than two nodes are cut, because without collection
/// an operation that tries for ever makes nodes for ever.
fn machine_finds_a_violation(subject: &Subject, start: &ListState) -> bool {
    let mut seen: FxHashSet<(State, Vec<Event>)> = FxHashSet::default();
    let mut todo = vec![(start.machine.clone(), vec![])];
    while let Some((state, history)) = todo.pop() {
        assert!(seen.len() < 300_000, "the runs are few");
        if !seen.insert((state.clone(), history.clone())) {
            continue;
        }
        for thread in 0..subject.machine.thread_count() {
            let mut next = State::default();
            match subject.machine.run(&state, thread, &mut Choices::default(), &mut next) {
                Err(Stop::Fault(..)) => return true,
                Err(_) => continue,
                Ok(what) => {
                    let mut history = history.clone();
                    if what.call.is_some() {
                        history.extend(subject.current(&next, thread).map(|op| (op, None)));
                    }
                    if let Some(result) = what.ret {
                        let op = subject.current(&state, thread);
                        history.extend(op.map(|op| (op, Some(result == [1]))));
                        if is_wrong(subject, start, &next, &history) {
                            return true;
                        }
                    }
                    if next.heap.len()
                        <= start.machine.heap.len() + 2 * subject.machine.node_stride()
                    {
                        todo.push((next, history));
                    }
                }
            }
        }
    }
    false
}

fn is_wrong(subject: &Subject, start: &ListState, state: &State, history: &[Event]) -> bool {
    let names = key_names(subject, start);
    let time = |event: &dyn Fn(&Event) -> bool| history.iter().position(event);
    let operations = subject.operations.iter().enumerate().map(|(op, operation)| {
        let returned = time(&|e| e.0 == op && e.1.is_some());
        ShownOperation {
            operation: *operation,
            key: names[&argument_key(operation.rank)],
            called: time(&|e| *e == (op, None)),
            returned: returned.and_then(|at| history[at].1.map(|result| (at, result))),
        }
    });
    let operations: Vec<_> = operations.collect();
    let whole = ListState { machine: state.clone(), ..ListState::default() };
    let before = elements(&picture(subject, start, &names));
    let after = elements(&picture(subject, &whole, &names));
    let end = subject.is_final(state).then_some(&after);
    !explained(&operations, &before, end)
}

fn verdicts_agree(subject: &Subject, case: &Case, input: Input, nodes: usize) {
    for count in 0..=nodes {
        for intervals in explicit_lists(case, input, count) {
            let mut monitor = Monitor::new(subject.operations.clone());
            let mut start = case.state(subject, &intervals);
            start.configurations = monitor.initial(case.members());
            let plan = Plan { mode: Mode::Explicit, most: 1_000_000 };
            let found = search(subject, &mut monitor, &start, plan).elements.is_some();
            let alone = machine_finds_a_violation(subject, &start);
            assert_eq!(found, alone, "{case:?}, {intervals:?}");
        }
    }
}

#[test]
fn the_search_agrees_with_the_machine_alone() {
    // Without atomic blocks, which the machine of a subject takes apart.
    let subjects = [
        ("lock_coupling", "add || remove", Input::Unmarked),
        ("optimistic_list", "add || remove", Input::Unmarked),
        ("lazy_list", "contains || remove", Input::Unmarked),
        ("lazy_list", "add || remove", Input::Unmarked),
        ("harris_michael", "add || contains", Input::Marked),
        ("harris_michael", "remove || remove", Input::Unmarked),
        ("michael_set", "add || remove", Input::Unmarked),
        ("vechev_cas", "add || remove", Input::Unmarked),
        ("broken/harris_michael_first_printing", "remove || remove", Input::Unmarked),
        ("broken/harris_michael_contains_ignores_mark", "contains || remove", Input::Marked),
        ("broken/harris_michael_no_mark", "remove || add", Input::Unmarked),
        ("broken/lazy_list_remove1_add1", "remove || add", Input::Unmarked),
        ("broken/lock_coupling_early_release", "remove || add", Input::Unmarked),
        ("broken/optimistic_list_no_second_walk", "add || remove", Input::Unmarked),
    ];
    for (name, text, input) in subjects {
        let (code, composition) = prepare(name, text);
        for case in cases(&composition, input) {
            verdicts_agree(&Subject::new(&code, &case.ranks), &case, input, 2);
        }
    }
}
