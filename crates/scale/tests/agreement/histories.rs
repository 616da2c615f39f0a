//! Small random logs of every object: pending and failed operations, repeated values, ties, several
//! objects and keys, and results that nobody expects.

use serde_json::{Value, json};
use seriatim_history::{Format, write};
use seriatim_spec::generate::{Generator, Profile, Repetition, Violation};
use seriatim_spec::{Failures, SpecChoice, catalogue};

/// Numbers that look random, the same in every run.
pub struct Dice(pub u64);

impl Dice {
    /// A number below a bound.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 >> 33) % bound
    }

    fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

/// How many logs of each object: few, or those of the long campaign.
pub fn count(quick: u64, long: u64) -> u64 {
    if std::env::var_os("SERIATIM_LONG").is_some() { long } else { quick }
}

/// The objects of which logs can be made.
pub fn objects() -> Vec<&'static str> {
    let only = std::env::var("SERIATIM_OBJECT").ok();
    let is_made = |name: &&str| {
        let choice = SpecChoice::parse(name).unwrap();
        Generator::new(&choice, Profile::default()).is_ok()
    };
    let is_wanted = |name: &&str| only.as_deref().is_none_or(|only| only == *name);
    catalogue().map(|entry| entry.name).filter(is_made).filter(is_wanted).collect()
}

/// How failed operations of a log are read.
pub fn failures(seed: u64) -> Failures {
    if seed.is_multiple_of(5) { Failures::Observe } else { Failures::Drop }
}

/// A log of an object, as JSON Lines.
pub fn log(object: &str, seed: u64) -> String {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 7);
    let operations = 2 + dice.below(22);
    let profile = Profile {
        operations,
        threads: 1 + dice.below(4) as u32,
        overlap: [0.0, 0.4, 0.9][dice.below(3) as usize],
        pending: if object != "mutex" && dice.percent(40) { 0.1 } else { 0.0 },
        keys: 1 + dice.below(4),
        values: [Repetition::Among(2), Repetition::Distinct][dice.below(2) as usize],
        violation: match dice.below(4) {
            0 => Violation::At(dice.below(operations)),
            _ => Violation::None,
        },
        seed,
        ..Profile::default()
    };
    let choice = SpecChoice::parse(object).unwrap();
    let history = Generator::new(&choice, profile).unwrap().history().unwrap().history;
    let mut text = Vec::new();
    write(&history, Format::JsonLines, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    spoil(&mut lines, &mut dice);
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Changes operations so that most logs stay readable and many become wrong.
fn spoil(lines: &mut [Value], dice: &mut Dice) {
    let (objects, halves, nameless) = (dice.percent(25), dice.percent(30), dice.percent(15));
    let rate = [0, 0, 3, 10][dice.below(4) as usize];
    let results: Vec<Value> = lines.iter().map(|line| line["result"].clone()).collect();
    let odd =
        [json!(null), json!("ok"), json!(true), json!(-1), json!(1.5), json!(0), json!([1, 2])];
    for line in lines.iter_mut().filter(|line| line["call"].is_u64()) {
        if objects {
            line["object"] = ["a", "b"][dice.below(2) as usize].into();
        }
        if halves {
            line["call"] = (line["call"].as_u64().unwrap() / 2).into();
            if let Some(ret) = line["return"].as_u64() {
                line["return"] = (ret / 2).into();
            }
        }
        if line["arg"].is_i64() && dice.percent(rate) {
            line["arg"] = [0, 1, 2][dice.below(3) as usize].into();
        }
        if line["return"].is_u64() && dice.percent(rate) {
            line["result"] = match dice.below(3) {
                0 => line["arg"].clone(),
                1 => odd[dice.below(odd.len() as u64) as usize].clone(),
                _ => results[dice.below(results.len() as u64) as usize].clone(),
            };
        }
        let fields = line.as_object_mut().unwrap();
        if dice.percent(rate) {
            fields.remove("result");
        }
        if dice.percent(rate) && fields.contains_key("return") {
            fields.insert("failed".to_owned(), json!(true));
        } else if dice.percent(rate) {
            fields.remove("return");
            fields.remove("result");
            // A process that never returned is not heard of again.
            let process = format!("{}-{}", fields["process"], dice.below(1 << 30));
            fields.insert("process".to_owned(), process.into());
        }
        if nameless {
            fields.remove("process");
        }
    }
}
