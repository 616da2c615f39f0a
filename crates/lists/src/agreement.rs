//! The abstract search against the concrete one: the runs on lists of any length end in exactly the ways in which the
//! runs on short lists end. Missing one would be unsound; one too many would be a false alarm.

use crate::cases::{Input, cases, explicit_lists};
use crate::composition::parse_composition;
use crate::monitor::Monitor;
use crate::normal::Mode;
use crate::search::{End, Plan, search};
use crate::subject::{Code, Subject};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How runs end, on lists of any length and on lists with so many further nodes; violations count as ends.
fn compare(name: &str, text: &str, input: Input, nodes: usize) {
    let path = format!("{}/../../algorithms/{name}.seri", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).expect("the algorithm is there");
    let program = seriatim_lang::check(&source).expect("the algorithm is right");
    let composition = parse_composition(text).expect("a composition");
    let code = Arc::new(Code::new(&program, &composition).expect("in the class"));
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
