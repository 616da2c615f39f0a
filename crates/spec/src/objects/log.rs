//! Append-only log: values by index, counted from 0.
//!
//! An `append` returns the index of its value, or nothing. An integer that is returned is the
//! index, except where the source repeats arguments (Jepsen) and it is the argument. A log cannot
//! hold `nil`: that is what a read beyond the end returns.

use crate::catalogue::Entry;
use crate::machine::{Answer, Effect, Flow, Machine, listed, unexplained_value};
use crate::parameters::{Parameter, Parameters};
use crate::sequence::Sequence;
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Vocabulary, intern_lists, interpret,
};
use seriatim_history::{History, Operation, ValueId, Values};
use std::sync::Arc;

/// An append-only log.
#[derive(Clone, Debug)]
pub struct Log {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
    /// The values before the first operation.
    pub init: Vec<ValueId>,
}

/// An operation of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Adds a value at the end and returns its index.
    Append(ValueId),
    /// The value at an index.
    Get(u64),
    /// All values.
    Read,
    /// The number of values.
    Length,
}

const METHODS: &[Method] = &[
    Method {
        names: &["append", "add", "push", "write", "send"],
        signature: "(value) -> nothing or index",
        meaning: "add at the end",
    },
    Method {
        names: &["read", "get", "poll"],
        signature: "(index) -> value, or () -> list",
        meaning: "the value at an index, nil beyond the end; without index: all values",
    },
    Method {
        names: &["length", "size", "len", "count"],
        signature: "() -> integer",
        meaning: "how many values there are",
    },
];

/// The log in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "log",
    aliases: &["append-only-log", "list-append"],
    meaning: "values are appended and read by index or all together",
    parameters: &[Parameter::items("the values at the start")],
    methods: METHODS,
    bind: |parameters, history, failures| {
        interpret("log", Log::build(parameters, history), history, failures)
    },
};

impl Log {
    /// The log that the parameters describe.
    pub fn build(parameters: &Parameters, history: &mut History) -> Self {
        intern_lists(history, 1);
        let init = parameters.items("init", history);
        let values = history.values().clone();
        Log { values, init }
    }
}

impl Machine for Log {
    type State = Sequence;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn go_on_with(&mut self, values: Arc<Values>) {
        self.values = values;
    }

    fn start(&self) -> Sequence {
        Sequence::of(self.init.iter().copied())
    }

    fn run(&self, state: &Sequence, op: &Op) -> Option<Effect<Sequence>> {
        match *op {
            Op::Append(value) => {
                Effect::change(Answer::Number(state.len() as i64), state.push(value))
            }
            Op::Get(index) => {
                let value = usize::try_from(index).ok().and_then(|i| state.get(i));
                Effect::none(Answer::from_option(value))
            }
            Op::Read => Effect::none(Answer::Items(state.oldest_first().into())),
            Op::Length => Effect::none(Answer::Number(state.len() as i64)),
        }
    }

    fn leaves_unchanged(&self, op: &Op, _: Option<&Answer>) -> bool {
        !matches!(op, Op::Append(_))
    }

    /// The log only grows: what a `read` will see begins with what is there.
    fn rules_out(&self, state: &Sequence, op: &Op, answer: Option<&Answer>) -> bool {
        match (op, answer) {
            (Op::Read, Some(Answer::Items(seen))) => !seen.starts_with(&state.oldest_first()),
            (Op::Length, Some(Answer::Number(seen))) => *seen < state.len() as i64,
            _ => false,
        }
    }

    fn undoes(&self, _op: &Op) -> bool {
        false
    }

    fn verb(&self, op: &Op) -> String {
        match op {
            Op::Append(value) => format!("append {}", self.values.get(*value)),
            Op::Get(index) => format!("read at {index}"),
            Op::Read => "read".to_owned(),
            Op::Length => "length".to_owned(),
        }
    }

    fn fact(&self, state: &Sequence, op: &Op) -> String {
        match (op, self.run(state, op).map(|effect| effect.answer)) {
            (Op::Get(index), Some(Answer::Value(value))) => {
                format!("the value at {index} is {}", self.values.get(value))
            }
            (Op::Read, _) => format!("the log is {}", self.describe(state)),
            _ => format!("the log has {} values", state.len()),
        }
    }

    fn describe(&self, state: &Sequence) -> String {
        listed(&self.values, &state.oldest_first())
    }

    fn unexplained(&self, operations: &[(&Op, Option<&Answer>)]) -> Option<(usize, String)> {
        unexplained_value(self.init.iter().copied(), operations, |op, ret| match (op, ret) {
            (Op::Append(value), _) => Some(Flow::Brings(*value)),
            (_, Some(Answer::Value(value))) => Some(Flow::Shows(*value)),
            _ => None,
        })
    }

    fn heap(&self, state: &Sequence) -> usize {
        state.own_bytes()
    }
}

impl Vocabulary for Log {
    fn methods(&self) -> &'static [Method] {
        METHODS
    }

    fn decode(
        &self,
        operation: Operation<'_>,
        failures: Failures,
    ) -> Result<Decoded<Op, Answer>, Misfit> {
        let recorded = Recorded { operation, failures };
        match recorded.method(METHODS)? {
            "append" => {
                let answer = match recorded.returned_int() {
                    Some(index) => Ok(Answer::Number(index)),
                    None => recorded.done().map(|_| Answer::Unrecorded),
                };
                recorded.settle(Op::Append(recorded.item()?), Failure::Silent, answer)
            }
            "read" if recorded.no_arg().is_ok() => {
                recorded.settle(Op::Read, Failure::Silent, recorded.list())
            }
            "read" => match u64::try_from(recorded.int_arg()?) {
                Ok(index) => {
                    let answer = match operation.result() {
                        ValueId::NIL => Ok(Answer::Empty),
                        _ => recorded.read(),
                    };
                    recorded.settle(Op::Get(index), Failure::Speaks(Answer::Empty), answer)
                }
                Err(_) => Misfit::expected("an index, 0 or more"),
            },
            _ => recorded.settle(Op::Length, Failure::Silent, recorded.number()),
        }
    }
}
