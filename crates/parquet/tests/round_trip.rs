//! A history that was written as Parquet comes back as it was, whatever its values, outcomes and
//! processes are.

use seriatim_history::{
    Annotation, Builder, Call, Format, History, InputError, Interval, Nil, Outcome, ReadOptions,
    Return, Value, ValueId, read_from, read_str, read_with, write,
};
use seriatim_parquet::{Lines, install};
use seriatim_spec::SpecChoice;
use seriatim_spec::generate::{Generator, Profile, Repetition};
use std::fs::File;
use std::path::{Path, PathBuf};

fn path(name: &str) -> PathBuf {
    let name = format!("parquet-{}-{name}", std::process::id());
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn text(history: &History) -> String {
    let mut text = Vec::new();
    write(history, Format::JsonLines, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn written(history: &History, name: &str) -> PathBuf {
    let path = path(name);
    let mut file = File::create(&path).unwrap();
    seriatim_parquet::write(history, &mut file).unwrap();
    path
}

#[test]
fn generated_histories_come_back_as_they_were() {
    install();
    let specs = ["map", "kv", "set", "queue", "register", "multi-register", "mutex", "snapshot"];
    for seed in 0..40u64 {
        let spec = specs[seed as usize % specs.len()];
        let profile = Profile {
            operations: seed * 30,
            pending: if spec == "mutex" { 0.0 } else { 0.05 },
            values: if seed.is_multiple_of(3) {
                Repetition::Among(5)
            } else {
                Repetition::Distinct
            },
            seed,
            ..Profile::default()
        };
        let choice = SpecChoice::parse(spec).unwrap();
        let history = Generator::new(&choice, profile).unwrap().history().unwrap().history;
        let path = written(&history, &format!("generated-{seed}"));
        let back = read_with(&path, ReadOptions::default()).unwrap();
        assert_eq!(text(&back), text(&history), "{spec}, seed {seed}");
    }
}

#[test]
fn every_kind_of_value_and_everything_around_operations_comes_back() {
    install();
    let lines = r##"{"seriatim":1,"spec":"queue","nil":"unknown"}
{"annotation":"cut","group":"nemesis","start":2,"end":9,"colour":"red"}
{"process":"a","op":"x","arg":[1,"é\n"],"result":null,"call":1,"return":2,"note":{"server":"n1"}}
{"process":-7,"op":"y","key":{"#name":"k"},"object":1.50,"arg":true,"result":{"a":[1,{"b":[]}]},"call":3,"return":18446744073709551614}
{"process":null,"op":"z","arg":9223372036854775807,"result":false,"failed":true,"call":4,"return":4}
{"process":["p"],"op":"w","call":5}
"##;
    let history = read_str(lines).unwrap();
    let back = read_with(written(&history, "kinds"), ReadOptions::default()).unwrap();
    assert_eq!(text(&back), text(&history));
    assert_eq!(back.annotations(), history.annotations());
}

/// A source of choices: xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % bound
    }

    fn pick<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.below(among.len() as u64) as usize]
    }

    fn value(&mut self, depth: u64) -> Value {
        match self.below(if depth < 3 { 8 } else { 6 }) {
            0 => Value::Nil,
            1 => Value::Bool(self.below(2) == 0),
            2 => Value::Int(self.pick(&[0, 7, -1, 1 << 30, i64::MAX, i64::MIN])),
            3 => Value::number(self.pick(&["1.5", "1/3", "-0.0", "99999999999999999999"])),
            4 => Value::text(self.pick(&[
                "",
                "x y",
                "\"],:\\",
                "ü\u{1F600}\n",
                "#name",
                "null",
                "}",
            ])),
            5 => Value::Name(self.pick(&["a", "a b", "", "nil"]).into()),
            6 => Value::list((0..self.below(4)).map(|_| self.value(depth + 1)).collect::<Vec<_>>()),
            _ => Value::map([(self.value(depth + 1), self.value(depth + 1))]),
        }
    }

    /// A value of a column: of one that holds only integers, of any other, or none.
    fn id(&mut self, builder: &mut Builder, only_integers: bool) -> ValueId {
        if self.below(3) == 0 {
            return ValueId::ABSENT;
        }
        let value = if only_integers { Value::Int(self.below(9) as i64) } else { self.value(0) };
        builder.values().intern(&value)
    }

    /// A history, unless a process would have two operations at a time.
    fn history(&mut self) -> Result<History, InputError> {
        let mut builder = Builder::new("random");
        builder.nil_means(self.pick(&[Nil::Value, Nil::Unknown]));
        if self.below(2) == 0 {
            builder.name_spec(self.pick(&["queue", "a \"b\""]));
        }
        let whole = [(); 4].map(|()| self.below(2) == 0);
        let has_processes = self.below(3) > 0;
        for time in 0..self.below(30) {
            let name = if whole[0] { Value::Int(time as i64 % 5) } else { self.value(0) };
            let process = has_processes.then(|| builder.process(&name));
            let mut call = Call::new(builder.method(self.pick(&["read", "a b", "ü\n", ""])));
            call.arg = self.id(&mut builder, whole[1]);
            call.key = self.id(&mut builder, whole[2]);
            call.object = self.id(&mut builder, whole[2]);
            let outcome = self.pick(&[Outcome::Ok, Outcome::Failed]);
            let ret = Return::new(outcome, self.id(&mut builder, whole[3]));
            let call_time = self.pick(&[time, time * 1000, u64::MAX / 2 + time]);
            let ends = [None, Some(call_time), Some(call_time + 7), Some(u64::MAX - 1)];
            let interval = Interval { call: call_time, ret: self.pick(&ends) };
            let op = builder.operation(time + 1, process, call, interval, ret).unwrap();
            if self.below(4) == 0 {
                builder.note(op, self.value(0));
            }
        }
        for start in 0..self.below(3) {
            let (group, text) = ("nemesis".to_owned(), self.pick(&["cut", "a\n\"b\""]).to_owned());
            let colour = (start == 0).then(|| "red".to_owned());
            builder.annotate(Annotation { start, end: start + 1, group, text, colour });
        }
        builder.finish()
    }
}

#[test]
fn random_histories_come_back_as_they_were() {
    install();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut seen = std::collections::HashSet::new();
    let mut rounds = 0;
    for round in 0..600 {
        let Ok(history) = random.history() else { continue };
        rounds += 1;
        let back = read_with(written(&history, "random"), ReadOptions::default()).unwrap();
        assert_eq!(text(&back), text(&history), "round {round}");
        assert_eq!(back.annotations(), history.annotations(), "round {round}");
        for (left, right) in back.operations().zip(history.operations()) {
            assert_eq!(left.outcome(), right.outcome(), "round {round}");
            assert_eq!(left.history.note(left.id), right.history.note(right.id), "round {round}");
            seen.insert(right.outcome());
        }
        if history.operations().any(|op| op.result() == ValueId::NIL) {
            assert_eq!(back.nil(), history.nil(), "round {round}");
        }
    }
    assert!(rounds > 200 && seen.len() == 3, "{rounds} histories with outcomes {seen:?}");
}

#[test]
fn a_history_of_several_row_groups_comes_back_as_it_was() {
    let lines: String = (0..300_000)
        .map(|time| format!("{{\"process\":0,\"op\":\"add\",\"arg\":{time},\"call\":{time},\"return\":{time}}}\n"))
        .collect();
    let history = read_str(&lines).unwrap();
    let file = File::open(written(&history, "groups")).unwrap();
    let back = read_from(Lines::of(file).unwrap(), "groups", ReadOptions::default()).unwrap();
    assert!(text(&back) == text(&history));
}
