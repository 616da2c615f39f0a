//! Histories as rows that a test can change: made by the generator, and built again.

use seriatim_history::{
    Builder, Call, Format, History, Interval, Outcome, Return, Time, Value, ValueId, write,
};
use seriatim_spec::SpecChoice;
use seriatim_spec::generate::{Generator, Profile, Repetition, Violation};
use seriatim_testing::Random;

/// How many times as often as usual: long campaigns are asked for.
pub fn rounds(usual: usize) -> usize {
    if seriatim_testing::long() { usual * 50 } else { usual }
}

pub fn shown(history: &History) -> String {
    let mut text = Vec::new();
    write(history, Format::JsonLines, &mut text).expect("every history can be written so");
    String::from_utf8(text).expect("JSON is text")
}

/// One operation as a person would write it down.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub process: Option<i64>,
    pub method: String,
    pub key: Option<Value>,
    pub arg: Option<Value>,
    pub result: Option<Value>,
    pub failed: bool,
    pub call: Time,
    pub ret: Option<Time>,
}

impl Row {
    pub fn new(method: &str, arg: Option<Value>, call: Time, ret: Option<Time>) -> Row {
        let method = method.to_owned();
        Row { process: None, method, key: None, arg, result: None, failed: false, call, ret }
    }
}

pub fn rows(history: &History) -> Vec<Row> {
    let value = |id: ValueId| id.is_present().then(|| history.values().get(id));
    let row = |op: seriatim_history::Operation<'_>| Row {
        process: history.process_name(op.process()).as_int(),
        method: op.method().to_owned(),
        key: value(op.key()),
        arg: value(op.arg()),
        result: value(op.result()),
        failed: op.outcome() == Outcome::Failed,
        call: op.call(),
        ret: op.ret(),
    };
    history.operations().map(row).collect()
}

pub fn built(rows: &[Row]) -> History {
    let mut builder = Builder::new("rows");
    for (line, row) in rows.iter().enumerate() {
        let mut id = |value: &Option<Value>| match value {
            Some(value) => builder.values().intern(value),
            None => ValueId::ABSENT,
        };
        let (key, arg, result) = (id(&row.key), id(&row.arg), id(&row.result));
        let call = Call::new(builder.method(&row.method)).key(key).arg(arg);
        let process = row.process.map(|process| builder.process(&Value::Int(process)));
        let outcome = if row.failed { Outcome::Failed } else { Outcome::Ok };
        let interval = Interval { call: row.call, ret: row.ret };
        let ret = Return::new(outcome, result);
        builder.operation(line as u64 + 1, process, call, interval, ret).expect("good rows");
    }
    builder.finish().expect("good rows")
}

/// A generated history of an object, linearizable or not, and the specification with the parameters
/// that it was made for.
pub fn generated(
    spec: &str,
    operations: usize,
    violation: bool,
    random: &mut Random,
) -> Option<(Vec<Row>, String)> {
    let choice = SpecChoice::parse(spec).expect("a name of the catalogue");
    let operations = operations as u64;
    let profile = Profile {
        operations,
        threads: 3,
        overlap: 0.3,
        pending: *random.pick(&[0.0, 0.02]),
        keys: 4,
        values: *random.pick(&[Repetition::Distinct, Repetition::Among(5)]),
        violation: if violation { Violation::At(operations / 2) } else { Violation::None },
        seed: random.0,
        ..Profile::default()
    };
    let made = Generator::new(&choice, profile).ok()?.history().ok()?;
    let mut rows = rows(&made.history);
    // Whoever stretches an interval must not meet the next operation of the process.
    rows.iter_mut().for_each(|row| row.process = None);
    let spec = made.history.spec().unwrap_or(spec).to_owned();
    Some((rows, spec))
}
