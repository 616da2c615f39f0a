//! A history with a value of any length.

use crate::common::Sample;
use seriatim_history::{Builder, Call, Horizon, Interval, OpId, Outcome, Return, Value, ValueId};
use seriatim_spec::{Attempt, Counterexample, Explanation, Verdict};

/// A value that is written, and then another one read, with the value in every place that may hold
/// one.
pub fn valued(value: &str) -> Sample {
    let mut builder = Builder::new("valued.jsonl");
    let process = builder.process(&Value::Int(0));
    let written = builder.values().intern(&Value::text(value));
    let (write, read) = (builder.method("write"), builder.method("read"));
    let interval = Interval { call: 0, ret: Some(1) };
    let call = Call::new(write).arg(written);
    builder.operation(1, Some(process), call, interval, Return::ok()).expect("right");
    let interval = Interval { call: 2, ret: Some(3) };
    let ret = Return::new(Outcome::Ok, ValueId::NIL);
    builder.operation(2, Some(process), Call::new(read), interval, ret).expect("right");
    let verdict = Verdict::Violation(Counterexample {
        operations: vec![OpId(0), OpId(1)],
        horizon: Horizon::Whole,
        context: None,
        explanation: Explanation {
            sentence: format!("{value} was written, and nothing was read"),
            attempts: vec![Attempt {
                order: vec![OpId(0)],
                state: value.to_owned(),
                stuck: vec![(OpId(1), format!("the register holds {value}"))],
            }],
        },
    });
    Sample::new(builder.finish().expect("a right history"), "register", verdict)
}
