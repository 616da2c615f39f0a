//! The map monitor on everything that acts on one key, against the plainest search; its orders are
//! replayed, its counterexamples refuted.

use crate::frontier::{events, garble};
use seriatim_history::{Value, ValueId, read_str};
use seriatim_monitor::fast::{self, Declined, Object, Part};
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

/// A few operations on one key, some of which append; each takes effect within its time. Then an
/// answer is changed, or none.
fn appending(random: &mut Random) -> String {
    let mut planned: Vec<(u64, u64, u64)> = (0..2 + random.below(6))
        .map(|_| {
            let (call, lasts) = (random.below(20), 1 + random.below(12));
            (20 * (call + random.below(lasts + 1)), 20 * call, 20 * (call + lasts))
        })
        .collect();
    planned.sort_unstable();
    let mut held: Option<String> = None;
    let texts = ["x", "y", "xy", ""];
    let mut lines: Vec<(String, String, u64, u64)> = Vec::new();
    for (_, call, ret) in planned {
        let text = *random.pick(&texts);
        let (deed, answer) = match random.below(12) {
            0 => {
                held = Some(text.to_owned());
                (format!(r#""op":"put","arg":["a","{text}"]"#), String::new())
            }
            1 => {
                let was = held.take().is_some();
                (r#""op":"delete","arg":"a""#.to_owned(), was.to_string())
            }
            2 => (r#""op":"contains","arg":"a""#.to_owned(), held.is_some().to_string()),
            3..=7 => {
                held = Some(held.unwrap_or_default() + text);
                (format!(r#""op":"append","arg":["a","{text}"]"#), String::new())
            }
            _ => {
                let seen = held.as_ref().map_or("DEFAULT".to_owned(), |held| format!("{held:?}"));
                (r#""op":"get","arg":"a""#.to_owned(), seen)
            }
        };
        lines.push((deed, answer, call, ret));
    }
    let changed = random.index(2 * lines.len());
    let changed = lines.get_mut(changed).filter(|(deed, ..)| deed.contains("get"));
    if let Some((_, answer, ..)) = changed {
        *answer = format!(r#""{}{}""#, random.pick(&texts), random.pick(&texts));
    }
    let line = |(deed, answer, call, ret): (String, String, u64, u64)| {
        let result = if answer.is_empty() { answer } else { format!(r#","result":{answer}"#) };
        let is_pending = deed.contains("append") && (call + ret) % 160 == 0;
        let over =
            if is_pending { String::new() } else { format!(r#"{result},"return":{}"#, ret + 9) };
        format!("{{{deed},\"call\":{call}{over}}}\n")
    };
    lines.into_iter().map(line).collect()
}

/// The monitor finds the order of the appends where there is one, and leaves the rest to the search.
#[test]
fn an_order_of_appends_is_found_where_there_is_one() {
    for (spec, unset) in [("map", Value::Nil), ("kv", Value::text(""))] {
        let choice = SpecChoice::parse(spec).unwrap();
        let reader = ChosenReader { choice, failures: Failures::default() };
        let (mut random, mut tally) = (Random(2), Tally::default());
        for _ in 0..10_000 {
            let text = appending(&mut random).replace(
                "DEFAULT",
                &match &unset {
                    Value::Nil => "null".to_owned(),
                    _ => "\"\"".to_owned(),
                },
            );
            let mut history = read_str(&text).unwrap();
            reader.read(&mut history).unwrap();
            let default = history.intern(&unset);
            let process =
                |(at, line): (usize, &str)| format!("{{\"process\":{at},{}\n", &line[1..]);
            let crowd: String = text.lines().enumerate().map(process).collect();
            let mut crowd = read_str(&crowd).unwrap();
            let crowded = Object::Map(crowd.intern(&unset));
            let crowded = fast::check(crowded, Part::whole(&crowd));
            let is_crowd = text.contains("append") && history.len() >= 3;
            assert!(!is_crowd || crowded.is_err(), "a crowd is left to the search:\n{text}");
            let expected = refute(&mut history.clone(), &reader, EFFORT).unwrap();
            match fast::check(Object::Map(default), Part::whole(&history)) {
                Ok(Claim::Linearizable(witness)) => {
                    assert_eq!(expected, Refutation::Contradicted, "{text}");
                    let replayed = replay(&mut history, &reader, witness).unwrap();
                    assert!(replayed.is_ok(), "{replayed:?}\n{text}");
                    tally.right += 1;
                }
                Err(Declined::UnknownMethod { .. }) if text.contains("append") => match expected {
                    Refutation::Contradicted => tally.declined += 1,
                    _ => tally.wrong += 1,
                },
                other => assert!(!text.contains("append"), "{other:?}\n{text}"),
            }
        }
        let Tally { right, wrong, declined } = tally;
        assert!(right > 5000 && wrong > 500 && declined < right / 100, "{spec} {tally:?}");
    }
}
