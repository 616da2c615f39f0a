//! Mistakes in the rules of RC20, one after another: the litmus tests or the axioms notice each of
//! them.

use std::process::Command;

const MISTAKES: [&str; 10] = [
    "SeqCstReadsOld",
    "CutReleaseSequence",
    "NoAcquireFence",
    "NoReleaseFence",
    "SeqCstFenceKeepsBack",
    "SeqCstFenceLearnsNothing",
    "SeqCstFenceSynchronises",
    "RelaxedAcquires",
    "LastPlaceOnly",
    "SplitUpdate",
];

/// Whether the litmus tests and the comparisons with the axioms pass with this mistake, if any.
fn pass(mistake: Option<&str>) -> bool {
    let mut tests = Command::new(std::env::current_exe().expect("this program"));
    tests.args(["memory::litmus::", "memory::axioms::", "memory::races::", "--test-threads", "1"]);
    tests.envs(mistake.map(|mistake| ("SERIATIM_SABOTAGE", mistake)));
    let ran = tests.output().expect("this program runs");
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(!said.contains("running 0 tests"), "nothing was run: {said}");
    ran.status.success()
}

#[test]
fn every_mistake_in_the_rules_of_rc20_is_noticed() {
    assert!(pass(None), "the rules are right as they stand");
    for mistake in MISTAKES {
        assert!(!pass(Some(mistake)), "nobody notices {mistake}");
    }
}
