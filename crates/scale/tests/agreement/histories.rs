//! Small random logs of every object: pending and failed operations, repeated values, ties, several
//! objects and keys, and results that nobody expects. And logs of a coarse clock that are right key
//! by key.

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
    if seriatim_testing::long() { long } else { quick }
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

/// An operation of a log of a coarse clock.
struct Coarse {
    process: u64,
    key: u64,
    call: u64,
    ret: u64,
}

impl Coarse {
    /// Whether it must come before another of its key: by time, or as their process did them.
    fn precedes(&self, own: usize, other: &Coarse, place: usize) -> bool {
        self.ret < other.call || (self.process == other.process && own < place)
    }
}

/// A log of a map with two keys and a clock so coarse that processes go from key to key within an
/// instant. Each key by itself has an order that explains it, but for a few results that are
/// spoilt: whether the whole has one depends on turns that cross from key to key.
pub fn crossing_log(seed: u64) -> String {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 11);
    let mut operations = Vec::new();
    for process in 0..2 + dice.below(2) {
        let mut now = 0;
        for _ in 0..2 + dice.below(3) {
            let (call, key) = (now, dice.below(2));
            let ret = call + dice.below(2);
            now = ret + dice.below(4) / 3;
            operations.push(Coarse { process, key, call, ret });
        }
    }
    let mut lines: Vec<Value> = Vec::new();
    for key in 0..2 {
        explain_key(&operations, key, &mut dice, &mut lines);
    }
    // Lines in any order, and in the order of calls.
    for place in (1..lines.len()).rev() {
        lines.swap(place, dice.below(place as u64 + 1) as usize);
    }
    if dice.percent(50) {
        lines.sort_by_key(|line| line["call"].as_u64());
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Executes the operations of a key in some order that time and processes allow.
fn explain_key(operations: &[Coarse], key: u64, dice: &mut Dice, lines: &mut Vec<Value>) {
    let mut left: Vec<usize> =
        (0..operations.len()).filter(|&place| operations[place].key == key).collect();
    let mut content = Value::Null;
    while !left.is_empty() {
        let is_next = |&place: &usize| {
            let before =
                |&other: &usize| operations[other].precedes(other, &operations[place], place);
            !left.iter().any(before)
        };
        let next: Vec<usize> = left.iter().copied().filter(is_next).collect();
        let place = next[dice.below(next.len() as u64) as usize];
        left.retain(|other| *other != place);
        let Coarse { process, call, ret, .. } = operations[place];
        let mut line = json!({"process": process, "key": key, "call": call, "return": ret});
        if dice.percent(50) {
            content = json!(lines.len());
            line["op"] = "put".into();
            line["arg"] = content.clone();
        } else {
            line["op"] = "get".into();
            line["result"] = content.clone();
        }
        match dice.below(40) {
            0 => line["result"] = json!(0),
            1 => line["failed"] = json!(true),
            // The process gives it up and goes on.
            2 => drop(line.as_object_mut().and_then(|fields| fields.remove("return"))),
            _ => {}
        }
        lines.push(line);
    }
}
