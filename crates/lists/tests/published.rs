//! CoLT's Table 1 (Černý, Radhakrishna, Zufferey, Chaudhuri, Alur: Model checking of
//! linearizability of concurrent list implementations, CAV 2010): all 17 rows, with the verdicts
//! that the paper prints. Its row `add ‖ remCorr` occurs twice, without linearization points (out
//! of memory there) and with them; its row `remove2 ‖ remove2` can be read in two ways (which of
//! the two locks is dropped), both of which are here.

use seriatim_lists::{Equality, Input, Options, Verdict, decide, parse_composition};

struct Row {
    file: &'static str,
    composition: &'static str,
    /// Which lists the paper takes to be the same: the same list, or the same elements where marked
    /// nodes may stay.
    equality: Equality,
    /// What the paper prints.
    linearizable: bool,
}

const fn row(
    file: &'static str,
    composition: &'static str,
    equality: Equality,
    linearizable: bool,
) -> Row {
    Row { file, composition, equality, linearizable }
}

const ROWS: [Row; 17] = [
    row("lock_coupling", "remove || contains", Equality::List, true),
    row("lock_coupling", "remove || remove", Equality::List, true),
    row("lock_coupling", "remove || add", Equality::List, true),
    row("optimistic_list", "add || remove", Equality::List, true),
    row("optimistic_list", "contains || contains", Equality::List, true),
    row("optimistic_list", "remove || remove", Equality::List, true),
    row("lazy_list", "remove || remove", Equality::List, true),
    row("lazy_list", "remove || add", Equality::List, true),
    row("lazy_list", "contains || remove", Equality::List, true),
    row("broken/lazy_list_remove1_add1", "remove || add", Equality::List, false),
    row("broken/lazy_list_remove2_pred", "remove || remove", Equality::List, false),
    row("lazy_list_remove2_curr", "remove || remove", Equality::List, false),
    row("harris_michael", "contains || contains", Equality::Elements, true),
    row("harris_michael", "add || contains", Equality::Elements, true),
    row("broken/harris_michael_first_printing", "remove || remove", Equality::Elements, false),
    row("harris_michael", "remove || remove", Equality::Elements, true),
    row("harris_michael", "add || remove", Equality::Elements, true),
];

fn program(file: &str) -> seriatim_lang::Program {
    let path = format!("{}/../../algorithms/{file}.seri", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    seriatim_lang::check(&source).unwrap_or_else(|e| panic!("{}", e.render(&source, &path)))
}

#[test]
fn all_rows_of_the_published_table_get_their_verdict() {
    for row in ROWS {
        let composition = parse_composition(row.composition).unwrap();
        let outcome = decide(&program(row.file), &composition, &Options::default()).unwrap();
        let verdict = match row.equality {
            Equality::Elements => &outcome.elements,
            Equality::List => outcome.list.as_ref().unwrap(),
        };
        let wanted = if row.linearizable { "holds" } else { "fails" };
        assert_eq!(verdict.word(), wanted, "{}: {}", row.file, row.composition);
        assert!(outcome.deadlock.is_none(), "{}: {}", row.file, row.composition);
    }
}

#[test]
fn the_lock_free_rows_hold_on_marked_lists() {
    let options = Options { input: Input::Marked, ..Options::default() };
    for text in ["contains || contains", "add || contains", "remove || remove", "add || remove"] {
        let composition = parse_composition(text).unwrap();
        let outcome = decide(&program("harris_michael"), &composition, &options).unwrap();
        assert_eq!((outcome.elements, outcome.list), (Verdict::Holds, None), "{text}");
    }
}

#[test]
fn the_two_equivalences_differ_where_the_notes_say_so() {
    let differ = [
        ("lazy_list_remove2_curr", "remove || remove"),
        ("broken/lazy_list_remove2_pred", "remove || remove"),
        ("harris_michael", "remove || remove"),
        ("harris_michael", "add || remove"),
    ];
    for (file, text) in differ {
        let composition = parse_composition(text).unwrap();
        let outcome = decide(&program(file), &composition, &Options::default()).unwrap();
        assert_eq!(outcome.elements, Verdict::Holds, "{file}: {text}");
        assert!(matches!(outcome.list, Some(Verdict::Fails(_))), "{file}: {text}");
    }
}

#[test]
fn the_first_printing_is_refuted_on_marked_lists_too() {
    let options = Options { input: Input::Marked, ..Options::default() };
    let composition = parse_composition("remove || remove").unwrap();
    let file = program("broken/harris_michael_first_printing");
    let outcome = decide(&file, &composition, &options).unwrap();
    let Verdict::Fails(run) = outcome.elements else { panic!("it must be refuted") };
    assert!(run.operations.iter().all(|o| o.returned.is_some_and(|(_, result)| result)));
}

#[test]
fn a_contains_that_ignores_marks_needs_three_operations() {
    let file = program("broken/harris_michael_contains_ignores_mark");
    let options = Options::default();
    let ask = |text| decide(&file, &parse_composition(text).unwrap(), &options).unwrap();
    for pair in ["contains || remove", "contains || add", "contains || contains"] {
        assert_eq!(ask(pair).elements, Verdict::Holds, "{pair}");
    }
    assert_eq!(ask("contains || remove || remove").elements.word(), "fails");
}

#[test]
fn three_walks_over_the_lazy_list_hold() {
    let composition = parse_composition("contains || contains || contains").unwrap();
    let outcome = decide(&program("lazy_list"), &composition, &Options::default()).unwrap();
    assert_eq!(outcome.list, Some(Verdict::Holds));
}
