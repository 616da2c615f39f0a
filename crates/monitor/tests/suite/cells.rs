//! The map monitor on everything that acts on one key, against the plainest search; its orders are replayed, its
//! counterexamples refuted.

use crate::frontier::{events, garble};
use seriatim_history::{ValueId, read_str};
use seriatim_monitor::fast::{self, Object, Part};
use seriatim_spec::{
    ChosenReader, Claim, Failures, Reader, Refutation, SpecChoice, refute, replay,
};
use seriatim_testing::Random;

const EFFORT: usize = 2_000_000;

#[test]
fn the_map_monitor_agrees_with_the_plainest_search_on_all_that_acts_on_a_key() {
    let choice = SpecChoice::parse("map").unwrap();
    let reader = ChosenReader { choice, failures: Failures::default() };
    let (mut right, mut wrong, mut declined) = (0, 0, 0);
    for seed in 0..6_000 {
        let mut random = Random(seed + 1);
        let mut lines = events("map", seed);
        for _ in 0..seed / 3 % 3 {
            garble(&mut lines, &mut random);
        }
        let text = lines.join("\n") + "\n";
        let Ok(mut history) = read_str(&text) else { continue };
        if reader.read(&mut history).is_err() {
            continue;
        }
        let expected = refute(&mut history.clone(), &reader, EFFORT).unwrap();
        match fast::check(Object::Map(ValueId::NIL), Part::whole(&history)) {
            Ok(Claim::Linearizable(witness)) => {
                assert_eq!(expected, Refutation::Contradicted, "seed {seed}\n{text}");
                let replayed = replay(&mut history, &reader, witness).unwrap();
                assert!(replayed.is_ok(), "seed {seed}: {replayed:?}\n{text}");
                right += 1;
            }
            Ok(Claim::Violation(core)) => {
                assert_eq!(expected, Refutation::Confirmed, "seed {seed}\n{text}");
                let mut alone = history.restricted(&core.operations, core.horizon);
                let refuted = refute(&mut alone, &reader, EFFORT).unwrap();
                assert_eq!(refuted, Refutation::Confirmed, "seed {seed}: {core:?}\n{text}");
                wrong += 1;
            }
            Err(_) => declined += 1,
        }
    }
    println!("{right} right, {wrong} wrong, {declined} declined");
    assert!(right > 1000 && wrong > 500 && declined < 100, "{right}, {wrong}, {declined}");
}
