//! The engine against three others that do not abstract, on every list up to a length: its own
//! search without segments, the `oracle` (the machine alone), and the engine `explore`. On each
//! list the three must find the same, and the verdict for lists of any length must be that of the
//! short ones together. Missing a violation would be unsound; one too many would be a false alarm.
//!
//! Short lists and few algorithms by default; with `SERIATIM_LONG=1` every algorithm of the class,
//! all pairs and all lists with up to four nodes.

use crate::cases::{Case, Input, Interval, Presence, cases, explicit_lists};
use crate::composition::{Composition, all_compositions, parse_composition};
use crate::explored::explore_finds_a_violation;
use crate::monitor::Monitor;
use crate::movers::Reductions;
use crate::normal::Mode;
use crate::oracle::all_runs;
use crate::replay::{key_names, picture};
use crate::search::{End, Plan, Searched, search};
use crate::state::argument_key;
use crate::subject::{Code, Subject};
use seriatim_lang::Program;
use seriatim_limits::Cancel;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Lists.
    pub lists: u64,
    /// Lists with a run that is wrong.
    pub failing: u64,
    /// Lists on which `explore` had something to say.
    pub explored: u64,
    /// Cases that fail by the search on any list and not on the short ones.
    pub beyond: u64,
    /// Cases without an answer: too many states, or outside of the class after all.
    pub unknown: u64,
}

impl Tally {
    pub fn add(&mut self, other: Tally) {
        self.lists += other.lists;
        self.failing += other.failing;
        self.explored += other.explored;
        self.beyond += other.beyond;
        self.unknown += other.unknown;
    }
}

pub fn program(name: &str) -> Program {
    let path = format!("{}/../../algorithms/{name}.seri", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).expect("the algorithm is there");
    seriatim_lang::check(&source).expect("the algorithm is right")
}

/// The names of all algorithms of the library that are in the class.
pub fn class_members() -> Vec<String> {
    let root = format!("{}/../../algorithms", env!("CARGO_MANIFEST_DIR"));
    let mut found = vec![];
    for folder in ["", "broken/"] {
        let entries = std::fs::read_dir(format!("{root}/{folder}")).expect("the library is there");
        let files = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
        let names = files.filter_map(|f| f.strip_suffix(".seri").map(|n| format!("{folder}{n}")));
        let pair = parse_composition("add || remove").unwrap();
        let takes = |name: &String| Code::new(&program(name), &pair, Reductions::default()).is_ok();
        found.extend(names.filter(takes));
    }
    found.sort();
    found
}

pub fn is_long() -> bool {
    std::env::var("SERIATIM_LONG").is_ok_and(|value| value == "1")
}

/// One question, and how far to look.
pub struct Question<'p> {
    pub program: &'p Program,
    pub composition: &'p Composition,
    pub input: Input,
    /// The largest number of nodes of the lists, those of the arguments included.
    pub nodes: usize,
}

/// Compares all engines; says what differs.
pub fn compare(question: &Question) -> Result<Tally, String> {
    let Question { program, composition, input, .. } = question;
    let mut tally = Tally::default();
    let new = |reductions| Code::new(program, composition, reductions).map(Arc::new);
    let (Ok(code), Ok(plain)) = (new(Reductions::default()), new(Reductions::NONE)) else {
        tally.unknown += 1;
        return Ok(tally);
    };
    for case in cases(composition, *input) {
        let subject = Subject::new(&code, &case.ranks);
        let any = |subject: &Subject| {
            let intervals = case.any_length(*input);
            searched(subject, &mut monitor(subject), &case, &intervals, Mode::Abstract)
        };
        let Some(whole) = any(&subject) else {
            tally.unknown += 1;
            continue;
        };
        if code.movers != plain.movers
            && let Some(slow) = any(&Subject::new(&plain, &case.ranks))
            && verdict(&whole) != verdict(&slow)
        {
            return Err(format!("{composition}, {case:?}: the reduction changes the verdict"));
        }
        let short = on_short_lists(question, &subject, &case, &mut tally)?;
        let any = verdict(&whole);
        let list_is_asked = *input == Input::Unmarked;
        if short.0 && !any.0 || list_is_asked && short.1 && any == (false, false) {
            let what = format!("any list: {any:?}, short lists: {short:?}");
            return Err(format!("{composition}, {case:?}: {what}"));
        }
        let more = any.0 && !short.0 || list_is_asked && any.1 && !short.1;
        tally.beyond += u64::from(more);
    }
    Ok(tally)
}

/// What comes out on all short lists of a case: whether the elements fail, and whether otherwise
/// the list does.
fn on_short_lists(
    question: &Question,
    subject: &Subject,
    case: &Case,
    tally: &mut Tally,
) -> Result<(bool, bool), String> {
    let mut short = (false, false);
    let present = case.present.iter().filter(|p| **p != Presence::Absent).count();
    for count in 0..=question.nodes.saturating_sub(present) {
        for intervals in explicit_lists(case, question.input, count) {
            match on_a_list(question, subject, case, &intervals, tally)? {
                Some(found) => short = (short.0 | found.0, short.1 | found.1),
                None => tally.unknown += 1,
            }
        }
    }
    Ok((short.0, short.1 && !short.0))
}

fn monitor(subject: &Subject) -> Monitor {
    Monitor::new(subject.operations.clone())
}

/// Whether the elements fail, and whether otherwise the list does.
fn verdict(found: &Searched) -> (bool, bool) {
    let fails = found.elements.is_some();
    (fails, !fails && found.list.is_some())
}

fn searched(
    subject: &Subject,
    monitor: &mut Monitor,
    case: &Case,
    intervals: &[Interval],
    mode: Mode,
) -> Option<Searched> {
    let mut start = case.state(subject, intervals);
    start.configurations = monitor.initial(case.members());
    let plan = Plan { mode, most: 1_000_000 };
    let found = search(subject, monitor, &start, plan, &Cancel::never());
    (!found.exhausted && found.foreign_key.is_none()).then_some(found)
}

/// Compares the engines on one list; gives whether the elements, or only the list, come out wrong.
fn on_a_list(
    question: &Question,
    subject: &Subject,
    case: &Case,
    intervals: &[Interval],
    tally: &mut Tally,
) -> Result<Option<(bool, bool)>, String> {
    let start = case.state(subject, intervals);
    let found = searched(subject, &mut monitor(subject), case, intervals, Mode::Explicit);
    let (Some(found), Some(findings)) = (found.as_ref().map(verdict), all_runs(subject, &start))
    else {
        return Ok(None);
    };
    let alone = (findings.fails(), !findings.fails() && findings.wrong_list);
    let names = key_names(subject, &start);
    let list = picture(subject, &start, &names);
    let keys: Vec<u32> = subject.operations.iter().map(|o| names[&argument_key(o.rank)]).collect();
    let on = || format!("{}, {list:?}, {keys:?}", question.composition);
    if found != alone {
        return Err(format!("{}: search {found:?}, machine {alone:?}", on()));
    }
    let explored = explore_finds_a_violation(question.program, question.composition, &list, &keys);
    let results = findings.wrong_result || findings.fault;
    if explored.is_some_and(|explored| explored != results) {
        return Err(format!("{}: explore {explored:?}, machine {results}", on()));
    }
    tally.lists += 1;
    tally.failing += u64::from(alone.0);
    tally.explored += u64::from(explored.is_some());
    Ok(Some(found))
}

#[test]
fn every_algorithm_agrees_with_concrete_engines_on_every_short_list() {
    let members = class_members();
    assert!(members.len() >= 46, "{members:?}");
    let nodes = if is_long() { 4 } else { 2 };
    let mut total = Tally::default();
    for (index, name) in members.iter().enumerate() {
        let program = program(name);
        let pairs = all_compositions(&program, 2);
        let slice = |at: usize| is_long() || at == index % pairs.len();
        for (_, composition) in pairs.iter().enumerate().filter(|(at, _)| slice(*at)) {
            let question =
                Question { program: &program, composition, input: Input::Unmarked, nodes };
            let tally = compare(&question).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!((tally.beyond, tally.unknown), (0, 0), "{name}, {composition}");
            total.add(tally);
        }
        if is_long() {
            eprintln!("{name}: {total:?}");
        }
    }
    assert!(total.failing > 0 && total.failing < total.lists && total.explored > 0, "{total:?}");
}

#[test]
fn algorithms_with_marks_agree_on_short_marked_lists() {
    let (nodes, count) = if is_long() { (3, 7) } else { (1, 2) };
    let questions = [
        ("broken/harris_michael_contains_ignores_mark", "contains || remove"),
        ("vechev_cas", "remove || contains"),
        ("harris_michael", "add || remove"),
        ("harris_michael", "remove || contains"),
        ("harris_michael", "contains || contains"),
        ("harris_set", "add || remove"),
        ("lazy_list", "add || remove"),
    ];
    for (name, text) in &questions[..count] {
        let program = program(name);
        let composition = parse_composition(text).unwrap();
        let (composition, input) = (&composition, Input::Marked);
        let question = Question { program: &program, composition, input, nodes };
        let tally = compare(&question).unwrap_or_else(|e| panic!("{name}: {e}"));
        if is_long() {
            eprintln!("{name}, {text}, marked: {tally:?}");
        }
    }
}

/// How runs end, on lists of any length and on lists with so many further nodes.
fn same_ends(name: &str, text: &str, input: Input, nodes: usize) {
    let program = program(name);
    let composition = parse_composition(text).expect("a composition");
    let code = Code::new(&program, &composition, Reductions::default()).expect("in the class");
    let code = Arc::new(code);
    for case in cases(&composition, input) {
        let subject = Subject::new(&code, &case.ranks);
        let mut monitor = Monitor::new(subject.operations.clone());
        let mut ends = |intervals: &[_], mode| -> (BTreeSet<End>, bool) {
            let found = searched(&subject, &mut monitor, &case, intervals, mode).unwrap();
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
        "broken/harris_michael_contains_ignores_mark",
    ] {
        let texts = ["add || remove", "remove || remove", "contains || remove"];
        let count = if is_long() { 3 } else { 1 };
        for text in &texts[..count] {
            same_ends(name, text, Input::Unmarked, 2);
        }
    }
    same_ends("harris_michael", "add || remove", Input::Marked, 2);
    same_ends("harris_michael", "(add; remove) || contains", Input::Unmarked, 2);
    same_ends("vechev_cas", "remove || contains", Input::Marked, 2);
}
