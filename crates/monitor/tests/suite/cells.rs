//! The map monitor on everything that acts on one key, against the plainest search; its orders are
//! replayed, its counterexamples refuted.

use crate::frontier::{events, garble};
use seriatim_history::{ValueId, read_str};
use seriatim_monitor::fast::{self, Object, Part};
use seriatim_spec::{
    ChosenReader, Claim, Failures, Reader, Refutation, SpecChoice, refute, replay,
};
use seriatim_testing::Random;

const EFFORT: usize = 2_000_000;

/// A few operations on one key that overlap at will, with any answers.
fn crowded(random: &mut Random) -> String {
    const DEEDS: [&str; 10] = [
        r#""op":"put","arg":["a",1]"#,
        r#""op":"put","arg":["a",2]"#,
        r#""op":"get","arg":"a","result":null"#,
        r#""op":"get","arg":"a","result":1"#,
        r#""op":"get","arg":"a","result":2"#,
        r#""op":"insert","arg":["a",1],"result":ANSWER"#,
        r#""op":"insert","arg":["a",2],"result":ANSWER"#,
        r#""op":"delete","arg":"a","result":ANSWER"#,
        r#""op":"cas","key":"a","arg":[1,2],"result":ANSWER"#,
        r#""op":"contains","arg":"a","result":ANSWER"#,
    ];
    let mut text = String::new();
    for process in 0..2 + random.below(4) {
        let (call, lasts) = (random.below(20), 1 + random.below(12));
        let answer = ["true", "false"][random.index(2)];
        let deed = random.pick(&DEEDS).replace("ANSWER", answer);
        let over = match random.one_in(10) {
            true => String::new(),
            false => format!(r#","return":{}"#, 10 * (call + lasts) + process),
        };
        let deed = if over.is_empty() {
            deed.split(r#","result""#).next().unwrap_or_default().to_owned()
        } else {
            deed
        };
        text +=
            &format!("{{\"process\":{process},{deed},\"call\":{}{over}}}\n", 10 * call + process);
    }
    text
}

#[test]
fn every_answer_that_a_counterexample_uses_is_in_it() {
    let choice = SpecChoice::parse("map").unwrap();
    let reader = ChosenReader { choice, failures: Failures::default() };
    let (mut random, mut tally) = (Random(1), Tally::default());
    for _ in 0..20_000 {
        tally.compare(&reader, &crowded(&mut random));
    }
    assert!(tally.right > 1000 && tally.wrong > 1000 && tally.declined == 0, "{tally:?}");
}

/// How often the monitor said what.
#[derive(Default, Debug)]
struct Tally {
    right: usize,
    wrong: usize,
    declined: usize,
}

impl Tally {
    /// Holds the monitor against the plainest search on one log.
    fn compare(&mut self, reader: &ChosenReader, text: &str) {
        let Ok(mut history) = read_str(text) else { return };
        if reader.read(&mut history).is_err() {
            return;
        }
        let expected = refute(&mut history.clone(), reader, EFFORT).unwrap();
        match fast::check(Object::Map(ValueId::NIL), Part::whole(&history)) {
            Ok(Claim::Linearizable(witness)) => {
                assert_eq!(expected, Refutation::Contradicted, "{text}");
                let replayed = replay(&mut history, reader, witness).unwrap();
                assert!(replayed.is_ok(), "{replayed:?}\n{text}");
                self.right += 1;
            }
            Ok(Claim::Violation(core)) => {
                assert_eq!(expected, Refutation::Confirmed, "{text}");
                let mut alone = history.restricted(&core.operations, core.horizon);
                let refuted = refute(&mut alone, reader, EFFORT).unwrap();
                assert_eq!(refuted, Refutation::Confirmed, "{core:?}\n{text}");
                self.wrong += 1;
            }
            Err(_) => self.declined += 1,
        }
    }
}

#[test]
fn the_map_monitor_agrees_with_the_plainest_search_on_all_that_acts_on_a_key() {
    let choice = SpecChoice::parse("map").unwrap();
    let reader = ChosenReader { choice, failures: Failures::default() };
    let mut tally = Tally::default();
    for seed in 0..6_000 {
        let mut random = Random(seed + 1);
        let mut lines = events("map", seed);
        for _ in 0..seed / 3 % 3 {
            garble(&mut lines, &mut random);
        }
        tally.compare(&reader, &(lines.join("\n") + "\n"));
    }
    let Tally { right, wrong, declined } = tally;
    assert!(right > 1000 && wrong > 500 && declined < 100, "{tally:?}");
}
