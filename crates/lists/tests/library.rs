//! The algorithms of the library: what their files expect, and the broken ones.

use seriatim_lang::Program;
use seriatim_lists::{
    Effort, Options, Reason, Verdict, all_compositions, decide, expectations, parse_composition,
    table,
};

fn program(file: &str) -> Program {
    let path = format!("{}/../../algorithms/{file}.seri", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    seriatim_lang::check(&source).unwrap_or_else(|e| panic!("{}", e.render(&source, &path)))
}

fn files(folder: &str) -> Vec<String> {
    let root = format!("{}/../../algorithms/{folder}", env!("CARGO_MANIFEST_DIR"));
    let entries = std::fs::read_dir(root).expect("the library is there");
    let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> =
        names.filter_map(|n| n.strip_suffix(".seri").map(|n| format!("{folder}{n}"))).collect();
    names.sort();
    names
}

fn is_long() -> bool {
    seriatim_testing::long()
}

/// Those of two operations on unmarked lists; all of them with `SERIATIM_LONG=1`.
#[test]
fn the_files_expectations_are_met() {
    let mut count = 0;
    for file in files("").iter().chain(&files("broken/")) {
        let program = program(file);
        for expected in expectations(&program).unwrap_or_else(|r| panic!("{file}: {r:?}")) {
            let marked = expected.input == seriatim_lists::Input::Marked;
            if !is_long() && (expected.composition.threads.len() > 2 || marked) {
                continue;
            }
            count += 1;
            let options = Options { input: expected.input, ..Options::default() };
            let outcome = decide(&program, &expected.composition, &options);
            let word = match &outcome {
                Ok(outcome) => expected.answer(outcome).word(),
                Err(_) => "refused",
            };
            let line = expected.span.text(&program.source);
            assert_eq!(word, expected.verdict, "{file}: {line}: {outcome:?}");
        }
    }
    assert!(count >= 40, "only {count} expectations were found");
}

#[test]
fn broken_sets_are_refuted_by_a_pair_and_the_refutation_can_be_read() {
    let broken = [
        "harris_michael_first_printing",
        "harris_michael_no_mark",
        "harris_michael_plain_insert",
        "harris_set_ignores_mark",
        "lazy_list_no_lock",
        "lazy_list_no_mark_check",
        "lazy_list_no_validation",
        "lazy_list_remove1_add1",
        "lazy_list_remove2_pred",
        "lock_coupling_early_release",
        "lock_coupling_flipped_contains",
        "lock_coupling_late_link",
        "lock_coupling_one_lock",
        "optimistic_list_no_second_walk",
        "optimistic_list_no_validation",
        "orvyy_set_add_ignores_mark",
        "orvyy_set_duplicates",
        "orvyy_set_no_mark",
        "orvyy_set_skipping_contains",
        "vechev_cas_add_ignores_mark",
        "vechev_cas_no_mark",
        "vechev_dcas_duplicates",
        "vechev_dcas_no_null_check",
        "vechev_dcas_not_cut",
        "vechev_dcas_not_unlinked",
        "vechev_dcas_remove_wrong_result",
        "vechev_dcas_wrong_result",
    ];
    for name in broken {
        let program = program(&format!("broken/{name}"));
        let outcomes = table(&program, 2, &Options::default()).unwrap();
        let fails = outcomes.iter().find(|o| matches!(o.elements, Verdict::Fails(_)));
        let fails = fails.unwrap_or_else(|| panic!("{name}: {outcomes:#?}"));
        let Verdict::Fails(found) = &fails.elements else { continue };
        let run = found.run(&program);
        assert!(run.steps.iter().any(|step| step.line().is_some()), "{run}");
        let history = run.history("run").expect("calls and returns alternate");
        assert!(!history.is_empty(), "{}", found.how(&program));
    }
}

#[test]
fn pairs_of_right_algorithms_hold() {
    for name in [
        "harris_michael",
        "harris_set",
        "lazy_list",
        "lock_coupling",
        "optimistic_list",
        "vechev_cas",
        "vechev_dcas",
        "coarse_set",
        "orvyy_set",
    ] {
        for outcome in table(&program(name), 2, &Options::default()).unwrap() {
            assert_eq!(outcome.elements, Verdict::Holds, "{name}: {}", outcome.composition);
        }
    }
}

#[test]
fn triples_of_right_algorithms_hold() {
    for outcome in table(&program("coarse_set"), 3, &Options::default()).unwrap() {
        assert_eq!(outcome.list, Some(Verdict::Holds), "{}", outcome.composition);
    }
    let all = all_compositions(&program("harris_michael"), 3);
    let cheap = ["harris_michael", "lazy_list"].map(|name| (name, &all[..1]));
    let every = ["harris_michael", "lazy_list", "lock_coupling", "optimistic_list"];
    let every: Vec<_> = every.iter().map(|name| (*name, &all[..])).collect();
    for (name, compositions) in if is_long() { &every[..] } else { &cheap } {
        for composition in *compositions {
            let outcome = decide(&program(name), composition, &Options::default()).unwrap();
            assert_eq!(outcome.elements, Verdict::Holds, "{name}: {composition}");
        }
    }
}

#[test]
fn programs_outside_of_the_class_are_refused_with_a_line() {
    let composition = parse_composition("add || remove").unwrap();
    let source = std::fs::read_to_string(format!(
        "{}/../../algorithms/lazy_list.seri",
        env!("CARGO_MANIFEST_DIR")
    ))
    .unwrap();
    let node = "struct Node { ";
    let contains = "let c = head\n  while";
    let cases = [
        (
            "c.marked = true ",
            "c.key = p.key; c.marked = true ",
            "a key is written",
            "c.key = p.key",
        ),
        ("p.next = n", "p.next = n; free(n)", "a node is given back", "free(n)"),
        ("key: k, next: c }", "key: c.key, next: c }", "a node is made whose key", "c.key"),
        (node, "struct Node { size: int 0..3 = 0, ", "fields beside key", "size"),
        (node, "struct Node { back: Node? = null, ", "2 fields of a node's type", "next"),
        (node, "struct Node { other: key = -inf, ", "2 fields of type `key`", "key"),
        (node, "struct Other { n: Node? }\nstruct Node { ", "2 structs instead of one", "Node"),
        (
            "\nmethod contains",
            "\nvar last: Node? = null\n\nmethod contains",
            "2 shared references",
            "last",
        ),
        (
            "\nmethod contains",
            "\nvar size: int 0..9 = 0\n\nmethod contains",
            "`size` is no lock",
            "size",
        ),
        (contains, "let c = head\n  head = c\n  while", "the head is written", "head = c"),
        (contains, "let b: bool = any\n  let c = head\n  while", "`any` within a method", "any"),
        ("new Node { key: +inf, next: null }", "null", "does not begin as", "head"),
    ];
    for (from, to, reason, place) in cases {
        let changed = source.replacen(from, to, 1);
        assert_ne!(changed, source);
        let program = seriatim_lang::check(&changed)
            .unwrap_or_else(|e| panic!("{}", e.render(&changed, "changed")));
        let refusal = decide(&program, &composition, &Options::default()).unwrap_err();
        assert!(refusal.reason.contains(reason), "{refusal:?}");
        let shown = refusal.span.text(&changed);
        assert!(shown.starts_with(place), "{reason}: {shown} instead of {place}");
    }
    let arithmetic = source.replacen("c.key < k", "c.key < k + 1", 1);
    assert!(seriatim_lang::check(&arithmetic).is_err(), "keys are no numbers");
    let unsorted = program("unordered_set");
    let refusal = decide(&unsorted, &composition, &Options::default()).unwrap_err();
    assert!(refusal.span.line(&unsorted.source) > 1, "{refusal:?}");
    let marked = Options { input: seriatim_lists::Input::Marked, ..Options::default() };
    let refusal = decide(&program("lock_coupling"), &composition, &marked).unwrap_err();
    assert!(refusal.reason.contains("nodes have no mark"), "{refusal:?}");
    let stack = program("treiber");
    let push = parse_composition("push || pop").unwrap();
    assert!(decide(&stack, &push, &Options::default()).unwrap_err().reason.contains("`set`"));
    let unknown = parse_composition("add || insert").unwrap();
    let refusal = decide(&program("lazy_list"), &unknown, &Options::default()).unwrap_err();
    assert!(refusal.reason.contains("no method `insert`"));
}

#[test]
fn elements_that_are_no_arguments_may_not_be_lost() {
    let changes = [
        ("lock_coupling", "let s = c.next", "let s = c.next.next", "remove || contains"),
        ("lazy_list", "c.marked = true", "p.marked = true", "remove || contains"),
    ];
    for (file, from, to, text) in changes {
        let changed = program(file).source.replacen(from, to, 1);
        let program = seriatim_lang::check(&changed).unwrap();
        let composition = parse_composition(text).unwrap();
        let outcome = decide(&program, &composition, &Options::default()).unwrap();
        assert_eq!(outcome.elements.word(), "fails", "{file}: {to}");
    }
}

#[test]
fn a_refutation_may_need_a_long_list() {
    let original = program("lazy_list").source;
    let walk = "while c.key < k { c = c.next }\n  return c.key == k && !c.marked";
    for count in [3, 9, 20] {
        let lazy = format!(
            "let seen: int 0..{count} = 0\n  \
             while c.key < k {{ c = c.next; if seen < {count} {{ seen = seen + 1 }} }}\n  \
             return seen == {count} || c.key == k && !c.marked"
        );
        let changed = original.replacen(walk, &lazy, 1);
        assert_ne!(changed, *original);
        let program = seriatim_lang::check(&changed).unwrap();
        let composition = parse_composition("contains || remove").unwrap();
        let outcome = decide(&program, &composition, &Options::default()).unwrap();
        let Verdict::Fails(run) = outcome.elements else { panic!("{count}: {outcome:?}") };
        assert!(run.initial.len() > count, "{count}: {:?}", run.initial);
        let effort = Effort { nodes: 0, states: 0, steps: 0 };
        let options = Options { effort, ..Options::default() };
        let unknown = decide(&program, &composition, &options).unwrap();
        assert_eq!(unknown.elements, Verdict::Unknown(Reason::NotReplayed));
    }
}

#[test]
fn a_thread_may_make_several_calls() {
    let ask = |file: &str, text: &str| {
        let composition = parse_composition(text).unwrap();
        decide(&program(file), &composition, &Options::default()).unwrap()
    };
    assert_eq!(ask("harris_michael", "(add; contains) || remove").elements, Verdict::Holds);
    let no_unlink = "broken/michael_set_no_unlink";
    assert_eq!(ask(no_unlink, "remove || contains").elements, Verdict::Holds);
    assert_eq!(ask(no_unlink, "(remove; contains) || remove").elements.word(), "fails");
}
