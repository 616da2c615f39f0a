//! Hash compaction finds what the search finds, meets as many states as there are, and never says
//! that something holds.

use crate::common::{algorithm, library, program};
use seriatim_explore::{
    Limits, MemoryModel, Mode, Options, Reason, Reductions, Replay, Saved, Verdict, expectations,
    run,
};
use seriatim_lang::check_with;
use seriatim_spec::answer::{Property, Standing};
use std::collections::BTreeMap;

/// The first question that a file asks the explorer, with a limit on states.
fn first_question(source: &str, states: u64) -> Option<(seriatim_lang::Program, Options)> {
    let program = seriatim_lang::check(source).expect("the library is right");
    let is_plain = |options: &Options| {
        options.mode == Mode::Refinement && options.memory.is_none_or(|m| m == MemoryModel::Sc)
    };
    let first = expectations(&program).into_iter().find(|e| is_plain(&e.options) && !e.points)?;
    let program = check_with(source, &first.consts).expect("the constants are right");
    let limits = Limits { states: Some(states), ..first.options.limits };
    Some((program, Options { limits, ..first.options }))
}

#[test]
fn every_broken_algorithm_is_found_by_hash_compaction_and_its_run_is_replayed() {
    let mut found = 0;
    for path in library("algorithms/broken") {
        let source = std::fs::read_to_string(&path).expect("a readable file");
        let Some((program, options)) = first_question(&source, 4_000) else { continue };
        let Verdict::Violation(exact) = run(&program, &options).expect("it runs").verdict else {
            continue;
        };
        let hunting =
            Options { hash_compaction: true, limits: Options::default().limits, ..options };
        let Verdict::Violation(hunted) = run(&program, &hunting).expect("it runs").verdict else {
            panic!("{}: not found", path.display())
        };
        assert_eq!(hunted.kind.property(), exact.kind.property(), "{}", path.display());
        let saved = Saved::of(&program, &hunting, &BTreeMap::new(), &hunted);
        let again = Saved::parse(&saved.text()).expect("readable").replay(&program);
        assert!(matches!(again, Ok(Replay::Fails(_))), "{}: {again:?}", path.display());
        found += 1;
    }
    assert!(found >= 60, "{found} broken algorithms");
}

#[test]
fn where_nothing_goes_wrong_hash_compaction_meets_all_states_and_says_unknown() {
    let mut compared = 0;
    for path in library("algorithms") {
        let source = std::fs::read_to_string(&path).expect("a readable file");
        let Some((program, options)) = first_question(&source, 3_000) else { continue };
        let reductions = Reductions { antichain: false, ..options.reductions };
        let exact = run(&program, &Options { reductions, ..options.clone() }).expect("it runs");
        if !matches!(exact.verdict, Verdict::Holds) {
            continue;
        }
        let hunting =
            Options { hash_compaction: true, limits: Options::default().limits, ..options };
        let hunted = run(&program, &hunting).expect("it runs");
        assert!(
            matches!(hunted.verdict, Verdict::Unknown(Reason::HashCompaction)),
            "{}: {:?}",
            path.display(),
            hunted.verdict
        );
        assert_eq!(hunted.statistics.kept, exact.statistics.kept, "{}", path.display());
        compared += 1;
    }
    assert!(compared >= 30, "{compared} algorithms");
}

#[test]
fn a_limit_says_how_many_states_were_seen_and_claims_no_depth() {
    let program = program(&algorithm("michael_scott"));
    let limits = Limits { states: Some(500), ..Options::default().limits };
    let options =
        Options { capacity: Some(3), hash_compaction: true, limits, ..Options::default() };
    let outcome = run(&program, &options).expect("it runs");
    let answer = outcome.answer();
    let Standing::Unknown(why) = answer.standing(Property::Linearizable) else {
        panic!("{answer:?}")
    };
    assert!(why.contains("hash compaction, chance of a missed state about"), "{why}");
    assert!(!why.contains("covered"), "{why}");
}

#[test]
fn what_hash_compaction_cannot_ask_is_refused() {
    let program = program(&algorithm("weak/treiber"));
    let options = Options { hash_compaction: true, ..Options::default() };
    let outcome = run(&program, &options).expect("it can be asked");
    assert!(matches!(outcome.verdict, Verdict::Unknown(Reason::Unsupported(_))));
}
