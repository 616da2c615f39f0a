//! Concrete runs: every *no* is one, on a list whose keys and marks are written out.
//!
//! The abstract search gives an order of the arguments, what the list has of them, the kind of
//! violation and a run. The same search without segments then goes over all lists of this case with
//! 0, 1, 2, … further nodes until it finds a violation of that kind: the shortest run on a smallest
//! list. If short lists show none, the abstract run is followed on the list that it opens (see
//! `guide`), however long that is; then longer lists are searched as long as states are left. The
//! run found is executed once more by the machine alone, without normal forms, and its history and
//! its final list are judged by trying all linearizations. Only what survives this is reported.

use crate::cases::{Case, Input, Interval, explicit_lists};
use crate::guide::follow;
use crate::monitor::{Monitor, Operation, apply};
use crate::normal::Mode;
use crate::search::{Choice, Found, Plan, Violation, search};
use crate::state::{Class, ListState};
use crate::step::{Access, Ended, Observed, Trail, Turn, step};
use crate::subject::Subject;
use seriatim_lang::choices::Choices;
use seriatim_lang::steps::{MINUS_INF, NULL, PLUS_INF};
use seriatim_limits::{Cancel, checkpoint};
use seriatim_spec::run::{self, Action, Memory};
use seriatim_trace::Words;
use std::collections::{BTreeMap, BTreeSet};

/// How far to look for a concrete run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// The largest number of nodes, beside those of the arguments, of the lists that are searched
    /// first.
    pub nodes: usize,
    /// The largest number of states of all searches together.
    pub states: u64,
    /// The largest number of steps that are tried in order to follow the abstract run.
    pub steps: u64,
}

/// No list is searched that has so many nodes beside those of the arguments: there would be too
/// many such lists.
const MOST_NODES: usize = 12;

/// A node of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pictured {
    /// Its key.
    pub key: PicturedKey,
    /// Whether it is marked.
    pub marked: bool,
    /// Whether it is locked.
    pub locked: bool,
}

/// A key of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PicturedKey {
    /// −∞.
    Least,
    /// A key.
    Number(u32),
    /// +∞.
    Greatest,
}

/// A step of a concrete run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownStep {
    /// Who took it.
    pub thread: usize,
    /// What it did, in order.
    pub accesses: Vec<Access>,
    /// The same in the words of the source, with memory.
    pub told: Vec<run::Access>,
    /// The operation that it belongs to.
    pub operation: usize,
    /// The list after it, from the head on; cut where it meets itself.
    pub list: Vec<Pictured>,
}

/// An operation of a concrete run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownOperation {
    /// The thread, method and effect.
    pub operation: Operation,
    /// Its argument.
    pub key: u32,
    /// The step in which it was called.
    pub called: Option<usize>,
    /// The step in which it returned, and the result.
    pub returned: Option<(usize, bool)>,
}

/// A concrete run that shows a violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// What is wrong.
    pub violation: Violation,
    /// The list at the start.
    pub initial: Vec<Pictured>,
    /// Memory at the start.
    pub memory: Memory,
    /// The operations.
    pub operations: Vec<ShownOperation>,
    /// The steps.
    pub steps: Vec<ShownStep>,
}

/// What is searched, twice.
#[derive(Clone, Copy, Debug)]
pub struct Witnesses<'s> {
    /// As the abstract search had it.
    pub reduced: &'s Subject,
    /// Without reductions: people want to see each access and the list after it.
    pub plain: &'s Subject,
}

/// Searches for a concrete run of a case that shows what the abstract search found. May be left at
/// each step.
pub fn confirm(
    subjects: Witnesses,
    case: &Case,
    input: Input,
    candidate: &Found,
    mut effort: Effort,
) -> Option<Counterexample> {
    let short = (0..=effort.nodes).flat_map(|count| explicit_lists(case, input, count));
    let found = short_run(subjects.plain, case, candidate, short, &mut effort);
    found.or_else(|| followed_run(subjects.reduced, case, input, candidate, effort)).or_else(|| {
        let longer = (effort.nodes + 1..).take_while(|count| *count < MOST_NODES);
        let lists = longer.flat_map(|count| explicit_lists(case, input, count));
        short_run(subjects.plain, case, candidate, lists, &mut effort)
    })
}

/// Searches lists, one after the other, as long as states are left.
fn short_run(
    subject: &Subject,
    case: &Case,
    candidate: &Found,
    lists: impl Iterator<Item = Vec<Interval>>,
    effort: &mut Effort,
) -> Option<Counterexample> {
    for intervals in lists {
        if effort.states == 0 {
            return None;
        }
        let mut monitor = Monitor::new(subject.operations.clone());
        let mut start = case.state(subject, &intervals);
        start.configurations = monitor.initial(case.members());
        let plan = Plan { mode: Mode::Explicit, most: effort.states };
        let searched = search(subject, &mut monitor, &start, plan, &Cancel::innermost());
        effort.states = effort.states.saturating_sub(searched.states);
        let found = match candidate.violation {
            Violation::WrongList => searched.list,
            Violation::Deadlock => searched.deadlock,
            _ => searched.elements,
        };
        let run = found.and_then(|found| replay(subject, &mut monitor, &start, &found));
        if run.is_some() {
            return run;
        }
    }
    None
}

/// The run along which the abstract one leads.
fn followed_run(
    subject: &Subject,
    case: &Case,
    input: Input,
    candidate: &Found,
    effort: Effort,
) -> Option<Counterexample> {
    let (intervals, found) = follow(subject, case, input, candidate, effort.steps)?;
    let mut monitor = Monitor::new(subject.operations.clone());
    let mut start = case.state(subject, &intervals);
    start.configurations = monitor.initial(case.members());
    replay(subject, &mut monitor, &start, &found)
}

/// Executes a run step by step and judges it; `None` if it is no violation after all.
pub fn replay(
    subject: &Subject,
    monitor: &mut Monitor,
    start: &ListState,
    found: &Found,
) -> Option<Counterexample> {
    let names = key_names(subject, start);
    let operations = subject.operations.iter().map(|operation| ShownOperation {
        operation: *operation,
        key: names[&crate::state::argument_key(operation.rank)],
        called: None,
        returned: None,
    });
    let key = |word: i32| key_text(&names, word);
    let words = Words::of(&subject.machine, &subject.code.source).with_keys(&key);
    let mut now = words.memory(&start.machine);
    let mut run = Counterexample {
        violation: found.violation,
        initial: picture(subject, start, &names),
        memory: now.clone(),
        operations: operations.collect(),
        steps: vec![],
    };
    let mut state = start.clone();
    let mut last = Ended::Well;
    for choice in &found.path {
        let (ended, trail) = take(subject, monitor, &mut state, *choice)?;
        last = ended;
        let operation = note(subject, &mut run, choice.0, &trail.accesses)?;
        let call = call_text(subject, &run.operations[operation]);
        run.steps.push(ShownStep {
            thread: choice.0,
            told: told(&words, &trail, call, &mut now),
            accesses: trail.accesses,
            operation,
            list: picture(subject, &state, &names),
        });
    }
    let before = elements(&run.initial);
    let after = elements(&picture(subject, &state, &names));
    let wrong = match found.violation {
        Violation::WrongResult => !explained(&run.operations, &before, None),
        Violation::Fault(fault, pc) => last == Ended::Fault(fault, pc),
        Violation::WrongElements => {
            subject.is_final(&state.machine) && !explained(&run.operations, &before, Some(&after))
        }
        Violation::Deadlock => {
            !subject.is_final(&state.machine) && stands_still(subject, monitor, &state)
        }
        Violation::WrongList => {
            let list = picture(subject, &state, &names);
            subject.is_final(&state.machine) && !is_clean(&list)
        }
    };
    wrong.then_some(run)
}

/// Whether no thread can take a step, whatever it chooses.
fn stands_still(subject: &Subject, monitor: &mut Monitor, state: &ListState) -> bool {
    (0..subject.machine.thread_count()).all(|thread| {
        let mut choices = Choices::default();
        loop {
            checkpoint();
            let turn = Turn { thread, choices: &mut choices };
            let ended = step(subject, monitor, &mut state.clone(), turn, &mut Trail::default());
            if ended != Ended::Nowhere {
                return false;
            }
            if !choices.advance() {
                return true;
            }
        }
    })
}

fn take(
    subject: &Subject,
    monitor: &mut Monitor,
    state: &mut ListState,
    (thread, number): Choice,
) -> Option<(Ended, Trail)> {
    let mut choices = Choices::default();
    let mut trail = Trail::default();
    for _ in 0..number {
        checkpoint();
        step(
            subject,
            monitor,
            &mut state.clone(),
            Turn { thread, choices: &mut choices },
            &mut trail,
        );
        if !choices.advance() {
            return None;
        }
    }
    trail.observed = Some(Vec::new());
    let ended = step(subject, monitor, state, Turn { thread, choices: &mut choices }, &mut trail);
    (ended != Ended::Nowhere).then_some((ended, trail))
}

/// Notes the calls and returns of a step; gives the operation that it belongs to.
fn note(
    subject: &Subject,
    run: &mut Counterexample,
    thread: usize,
    accesses: &[Access],
) -> Option<usize> {
    let time = run.steps.len();
    let mut current = (0..run.operations.len()).find(|op| {
        let shown = &run.operations[*op];
        shown.operation.thread == thread && shown.called.is_some() && shown.returned.is_none()
    });
    for access in accesses {
        if access.called {
            current = subject.code.called[access.pc.0 as usize];
            run.operations[current?].called = Some(time);
        }
        if let Some(result) = access.returned {
            run.operations[current?].returned = Some((time, result));
        }
    }
    current
}

/// A step in the words of the source. The last access that was observed may have failed, and is
/// none of the trail then.
fn told(words: &Words<'_>, trail: &Trail, call: String, now: &mut Memory) -> Vec<run::Access> {
    let mut told = Vec::new();
    for (at, observed) in trail.observed.iter().flatten().enumerate() {
        let access = trail.accesses.get(at);
        if access.is_some_and(|access| access.called) {
            told.push(run::Access::spoken(Action::Call { call: call.clone() }));
        }
        let Observed { executed, film } = observed;
        told.extend(words.filmed(film, words.accesses(executed), now));
        if let Some(result) = access.and_then(|access| access.returned) {
            let returns = run::Access::spoken(Action::Return { result: Some(result.to_string()) });
            told.push(run::Access { line: words.returning_line(executed), ..returns });
        }
    }
    told
}

/// An operation with its argument.
fn call_text(subject: &Subject, shown: &ShownOperation) -> String {
    let method = &subject.machine.steps.methods[shown.operation.method as usize];
    format!("{}({})", method.name, shown.key)
}

/// A key as the source would write it.
fn key_text(names: &BTreeMap<i32, u32>, key: i32) -> String {
    match key {
        MINUS_INF => "-inf".to_owned(),
        PLUS_INF => "+inf".to_owned(),
        key => names.get(&key).map_or("?".to_owned(), u32::to_string),
    }
}

/// The keys of a list and of the arguments, numbered from 1 in their order.
pub fn key_names(subject: &Subject, start: &ListState) -> BTreeMap<i32, u32> {
    let key = subject.code.shape.key;
    let heap = &start.machine.heap;
    let nodes = (0..start.segments.len()).map(|node| heap[subject.slot(node, key)]);
    let arguments = (0..subject.ranks).map(crate::state::argument_key);
    let keys: BTreeSet<i32> = nodes
        .chain(arguments)
        .filter(|k| ![Class::FIRST, Class::LAST].contains(&Class::of(*k)))
        .collect();
    keys.into_iter().zip(1..).collect()
}

/// The list of a state.
pub fn picture(subject: &Subject, state: &ListState, names: &BTreeMap<i32, u32>) -> Vec<Pictured> {
    let shape = &subject.code.shape;
    let heap = &state.machine.heap;
    let flag =
        |node: usize, slot: Option<usize>| slot.is_some_and(|s| heap[subject.slot(node, s)] == 1);
    let mut nodes = vec![];
    let mut seen = BTreeSet::new();
    let mut next = state.machine.words[shape.head];
    while next != NULL && seen.insert(next) {
        let node = next as usize;
        let key = heap[subject.slot(node, shape.key)];
        let key = match Class::of(key) {
            Class::FIRST => PicturedKey::Least,
            Class::LAST => PicturedKey::Greatest,
            _ => PicturedKey::Number(names.get(&key).copied().unwrap_or(0)),
        };
        nodes.push(Pictured {
            key,
            marked: flag(node, shape.mark),
            locked: flag(node, shape.lock),
        });
        next = heap[subject.slot(node, shape.next)];
    }
    nodes
}

/// The unmarked keys of a list.
pub fn elements(list: &[Pictured]) -> BTreeSet<u32> {
    let unmarked = list.iter().filter(|n| !n.marked);
    let number = |node: &Pictured| match node.key {
        PicturedKey::Number(key) => Some(key),
        _ => None,
    };
    unmarked.filter_map(number).collect()
}

fn is_clean(list: &[Pictured]) -> bool {
    list.windows(2).all(|pair| pair[0].key < pair[1].key)
        && list.iter().all(|node| !node.marked)
        && list.last().is_some_and(|node| node.key == PicturedKey::Greatest)
}

/// Whether some order of the operations explains their results, and leads to this set if one is
/// given. Tries all.
pub fn explained(
    operations: &[ShownOperation],
    before: &BTreeSet<u32>,
    after: Option<&BTreeSet<u32>>,
) -> bool {
    fn extend(
        left: &[ShownOperation],
        members: &BTreeSet<u32>,
        after: Option<&BTreeSet<u32>>,
    ) -> bool {
        let finished = left.iter().all(|o| o.returned.is_none());
        if finished && after.is_none_or(|after| after == members) {
            return true;
        }
        (0..left.len()).any(|index| {
            let chosen = left[index];
            let Some(called) = chosen.called else { return false };
            let earlier = |o: &ShownOperation| o.returned.is_some_and(|(time, _)| time < called);
            if left.iter().any(earlier) {
                return false;
            }
            let mut next = members.clone();
            let (member, result) = apply(chosen.operation.effect, members.contains(&chosen.key));
            if chosen.returned.is_some_and(|(_, returned)| returned != result) {
                return false;
            }
            if member {
                next.insert(chosen.key);
            } else {
                next.remove(&chosen.key);
            }
            let rest = [&left[..index], &left[index + 1..]].concat();
            extend(&rest, &next, after)
        })
    }
    extend(operations, before, after)
}
