//! A counterexample can be saved, read and replayed, and goes wrong in the same way; its pictures
//! show what changed.

use crate::common::{library, program};
use seriatim_explore::{
    Event, Limits, Mode, Options, Reason, Reductions, Replay, Saved, Verdict, ViolationKind,
    expectations, replay, run,
};
use seriatim_lang::{check, check_with};
use seriatim_spec::run::Memory;
use std::collections::BTreeMap;

#[test]
fn every_broken_algorithm_fails_again_when_its_run_is_replayed() {
    let mut count = 0;
    for path in library("algorithms/broken") {
        let source = std::fs::read_to_string(&path).expect("a readable file");
        let Ok(checked) = check(&source) else { panic!("{}", path.display()) };
        let Some(first) = expectations(&checked).into_iter().next() else { continue };
        if first.points {
            continue;
        }
        let program = check_with(&source, &first.consts).expect("the constants are right");
        let outcome = run(&program, &first.options).expect("it can be explored");
        let Verdict::Violation(found) = outcome.verdict else { continue };
        let saved = Saved::of(&program, &first.options, &first.consts, &found);
        let read = Saved::parse(&saved.text()).expect("what was written can be read");
        assert_eq!((&read.object, &read.moves), (&saved.object, &saved.moves));
        assert_eq!(read.consts, saved.consts);
        match read.replay(&program).expect("it can be replayed") {
            Replay::Fails(again) => {
                assert_eq!(again.kind, found.kind, "{}", path.display());
                assert_eq!(again.history, found.history, "{}", path.display());
            }
            other => panic!("{}: {other:?}\n{}", path.display(), saved.text()),
        }
        count += 1;
    }
    assert!(count >= 25, "{count} broken algorithms");
}

/// A run that leaves more nodes behind than may be alive at once: those that nothing needs any more
/// do not count, neither in the search nor when the run is told and replayed.
#[test]
fn runs_that_leave_nodes_behind_are_told_and_replayed_within_a_bound_on_nodes() {
    let forgetting = |n: u32| Reductions {
        dead_registers: n & 1 == 0,
        dead_fields: n & 2 == 0,
        heap_symmetry: n & 4 == 0,
        ..Reductions::ALL
    };
    let (mut found, mut long) = (0, 0);
    for path in library("algorithms/broken") {
        let source = std::fs::read_to_string(&path).expect("a readable file");
        let program = check(&source).expect("the library is right");
        let mut all = expectations(&program).into_iter();
        let Some(first) = all.find(|e| e.options.mode == Mode::Refinement) else { continue };
        for (nodes, forgets) in [(3, 0), (4, 0), (6, 0), (4, 1), (4, 2), (4, 4)] {
            let limits = Limits { states: Some(1_500), ..first.options.limits };
            let reductions = forgetting(forgets);
            let options = Options { nodes: Some(nodes), capacity: None, ..first.options.clone() };
            let options = Options { limits, reductions, ..options };
            let found_here = match run(&program, &options).expect("it can be explored").verdict {
                Verdict::Violation(found) => found,
                Verdict::Unknown(Reason::Disagreement(why)) => panic!("{}: {why}", path.display()),
                _ => continue,
            };
            let saved = Saved::of(&program, &options, &BTreeMap::new(), &found_here);
            let read = Saved::parse(&saved.text()).expect("what was written can be read");
            let again = read.replay(&program).expect("it can be replayed");
            let Replay::Fails(again) = again else {
                panic!("{}, {nodes} nodes: {again:?}", path.display())
            };
            assert_eq!(again.history, found_here.history, "{}", path.display());
            found += 1;
            let calls = found_here.history.iter();
            long += usize::from(
                calls.filter(|e| matches!(e, Event::Call { .. })).count() > nodes as usize,
            );
        }
    }
    assert!(found >= 100 && long >= 5, "{found} runs, {long} of many calls");
}

#[test]
fn a_stack_whose_fifth_node_is_lost_fails_though_only_two_may_be_alive() {
    let program = program(LONG_WAY);
    let options = Options { nodes: Some(2), values: 1, ..Options::default() };
    let Verdict::Violation(found) = run(&program, &options).expect("it runs").verdict else {
        panic!("the fifth push is lost")
    };
    let saved = Saved::of(&program, &options, &BTreeMap::new(), &found);
    let again = Saved::parse(&saved.text()).expect("readable").replay(&program);
    assert!(matches!(again, Ok(Replay::Fails(_))), "{again:?}\n{}", saved.text());
    assert!(found.run().to_string().contains("new Node"), "{}", found.run());
}

/// A stack that loses its fifth push; with one element at most, five nodes are made in a row.
const LONG_WAY: &str = "object o : stack
struct Node { val: value, next: Node? }
var top: Node? = null
var count: int 0..5 = 0
method push(v: value) {
  let n = new Node { val: v, next: null }
  atomic {
    assume top == null
    count = count + 1
    if count == 5 { count = 0 } else { top = n }
  }
}
method pop() -> value? {
  atomic {
    let t = top
    if t == null { return empty }
    top = t.next
    return t.val
  }
}
";

#[test]
fn a_run_of_another_program_is_stuck_or_passes() {
    let wrong = program(
        "object o : register\nvar x: value? = null\nvar y: value? = null\n\
         method write(v: value) { y = v }\nmethod read() -> value? { return x }",
    );
    let options = Options { values: 2, ..Options::default() };
    let Verdict::Violation(found) = run(&wrong, &options).expect("it runs").verdict else {
        panic!("a write that nobody can read");
    };
    let right = program(
        "object o : register\nvar x: value? = null\n\
         method write(v: value) { x = v }\nmethod read() -> value? { return x }",
    );
    let saved = Saved::of(&wrong, &options, &BTreeMap::new(), &found);
    let again = replay(&right, &saved.options, &saved.moves).expect("it can be replayed");
    assert!(!matches!(again, Replay::Fails(_)));
}

#[test]
fn pictures_show_the_chain_that_a_step_changed() {
    let source = crate::common::algorithm("treiber").replacen(
        "if cas(top, t, s) { return t.val }",
        "top = s; return t.val",
        1,
    );
    let program = program(&source);
    let options = Options { capacity: Some(2), ..Options::default() };
    let Verdict::Violation(found) = run(&program, &options).expect("it runs").verdict else {
        panic!("a pop without cas is wrong")
    };
    assert_eq!(found.kind, ViolationKind::NotLinearizable);
    assert!(matches!(found.history[0], Event::Call { .. }));
    let run = found.run();
    let mut pictures = run.steps.iter().filter_map(|step| step.memory());
    let is_filled = |memory: &Memory| memory.variables[0].node.is_some();
    assert!(pictures.any(is_filled), "{run}");
    let text = run.to_string();
    assert!(text.contains("t = top → #") && text.contains("succeeded: top is #"), "{text}");
    assert!(!text.contains(":="), "no temporaries:\n{text}");
}

#[test]
fn a_bad_file_is_refused_with_its_line() {
    let bad = |text: &str| Saved::parse(text).expect_err("it is bad").line;
    assert_eq!(bad(""), 1);
    assert_eq!(bad("seriatim run 2\n"), 1);
    assert_eq!(bad("seriatim run 1\nthreads two\n"), 2);
    assert_eq!(bad("seriatim run 1\nthreads 2\nmove x\n"), 3);
}

#[test]
fn a_file_that_asks_for_more_than_can_be_explored_is_refused_with_its_line() {
    for (line, asks) in [
        (2, "threads 7"),
        (2, "threads 0"),
        (2, "threads 4294967295"),
        (2, "values 9"),
        (2, "values 0"),
        (2, "values 4294967295"),
        (2, "keys 65"),
        (2, "keys 4294967296"),
        (2, "nodes -1"),
        (2, "move 0 -1"),
    ] {
        let found = Saved::parse(&format!("seriatim run 1\n{asks}\n")).expect_err(asks);
        assert_eq!(found.line, line, "{asks}");
    }
}

/// A small generator of pseudo-random numbers (xorshift).
fn below(state: &mut u64, bound: usize) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state % bound as u64) as usize
}

/// The text with one line or word changed at random.
fn edited(text: &str, random: &mut u64) -> String {
    const WORDS: &[&str] = &[
        "0",
        "1",
        "6",
        "7",
        "64",
        "65",
        "255",
        "4294967295",
        "4294967296",
        "-1",
        "x",
        "move",
        "wait",
        "threads",
        "values",
        "keys",
        "nodes",
        "capacity",
        "client",
        "set",
        "joined",
        "fusion",
        "lock-nesting",
        "bounded",
        "",
        "\u{0}",
        "9999999999999999999999",
    ];
    let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
    let at = below(random, lines.len());
    match below(random, 4) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[below(random, lines.len())].clone()),
        _ => {
            let mut words: Vec<&str> = lines[at].split(' ').collect();
            let word = below(random, words.len());
            words[word] = WORDS[below(random, WORDS.len())];
            lines[at] = words.join(" ");
        }
    }
    lines.join("\n")
}

#[test]
fn a_file_edited_at_random_is_refused_or_replayed_and_never_more() {
    let path = library("algorithms/broken")
        .into_iter()
        .find(|path| path.ends_with("cas_counter_lost_update.seri"));
    let source = std::fs::read_to_string(path.expect("it is in the library")).expect("readable");
    let checked = check(&source).expect("it is right");
    let first = expectations(&checked).into_iter().next().expect("it expects something");
    let outcome = run(&checked, &first.options).expect("it can be explored");
    let Verdict::Violation(found) = outcome.verdict else { panic!("it is broken") };
    let text = Saved::of(&checked, &first.options, &first.consts, &found).text();
    let mut random = 0x9e37_79b9_7f4a_7c15;
    let (mut refused, mut replayed) = (0, 0);
    for _ in 0..3_000 {
        let mut changed = text.clone();
        for _ in 0..1 + below(&mut random, 3) {
            changed = edited(&changed, &mut random);
        }
        let Ok(saved) = Saved::parse(&changed) else {
            refused += 1;
            continue;
        };
        let Ok(program) = check_with(&source, &saved.consts) else { continue };
        replayed += usize::from(replay(&program, &saved.options, &saved.moves).is_ok());
    }
    assert!(refused > 500 && replayed > 500, "{refused} refused, {replayed} replayed");
}
