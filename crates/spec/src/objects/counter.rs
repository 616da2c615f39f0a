//! Counter and fetch-and-add: a number that is added to.
//!
//! The counter's `inc`, `dec` and `add` return nothing or the value after them; fetch-and-add
//! returns the value before. An integer that is returned is a result, except where the source
//! repeats arguments (Jepsen) and it is the argument.
//!
//! What a log tells has at most 64 bits; a sum may have more for a while, and convicts nobody.

use crate::catalogue::Entry;
use crate::machine::{Answer, Effect, Machine};
use crate::parameters::{Parameter, Parameters};
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Vocabulary, interpret,
};
use seriatim_history::{History, Operation, ValueId, Values};
use std::sync::Arc;

/// A counter.
#[derive(Clone, Debug)]
pub struct Counter {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
    /// The value before the first operation.
    pub init: i64,
    /// What additions are called and return.
    pub flavour: Flavour,
}

/// Which operations a counter has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// `inc`, `dec`, `add`, `read`.
    Counter,
    /// `fetch_add`, `read`.
    FetchAndAdd,
}

/// An operation of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Adds and returns nothing.
    Add(i64),
    /// Adds and returns the new value.
    AddAndGet(i64),
    /// Adds and returns the old value.
    FetchAdd(i64),
    /// The value.
    Read,
}

const READ: Method = Method {
    names: &["read", "get", "load", "value"],
    signature: "() -> integer",
    meaning: "the value",
};
const COUNTER: &[Method] = &[
    READ,
    Method {
        names: &["inc", "increment", "incr"],
        signature: "() -> nothing or integer",
        meaning: "add 1, or the argument",
    },
    Method {
        names: &["dec", "decrement", "decr"],
        signature: "() -> nothing or integer",
        meaning: "subtract 1, or the argument",
    },
    Method {
        names: &["add"],
        signature: "(integer) -> nothing or integer",
        meaning: "add; an integer as result is the new value",
    },
];
const FETCH_AND_ADD: &[Method] = &[
    READ,
    Method {
        names: &[
            "fetch_add",
            "fetch-and-add",
            "fetch_and_add",
            "fetch-add",
            "getAndAdd",
            "faa",
            "inc",
            "increment",
            "getAndIncrement",
        ],
        signature: "(integer) -> integer",
        meaning: "add the argument, 1 without one; return the value before",
    },
    Method {
        names: &["fetch_sub", "fetch-and-sub", "fetch-sub", "dec", "decrement", "getAndDecrement"],
        signature: "(integer) -> integer",
        meaning: "subtract the argument, 1 without one; return the value before",
    },
];
const INIT: &[Parameter] = &[Parameter::integer("init", "0", "the value at the start")];

/// The counters in the catalogue.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "counter",
        aliases: &["atomic-counter", "pn-counter"],
        meaning: "a number that is added to and read",
        parameters: INIT,
        methods: COUNTER,
        bind: |parameters, history, failures| {
            let counter = Counter::build(parameters, history, Flavour::Counter);
            interpret("counter", counter, history, failures)
        },
    },
    Entry {
        name: "fetch-and-add",
        aliases: &["faa", "fetch-add"],
        meaning: "a number whose addition returns the value before",
        parameters: INIT,
        methods: FETCH_AND_ADD,
        bind: |parameters, history, failures| {
            let counter = Counter::build(parameters, history, Flavour::FetchAndAdd);
            interpret("fetch-and-add", counter, history, failures)
        },
    },
];

impl Counter {
    /// The counter that the parameters describe.
    pub fn build(parameters: &Parameters, history: &mut History, flavour: Flavour) -> Self {
        let init = parameters.integer("init", 0);
        let values = history.values().clone();
        Counter { values, init, flavour }
    }

    /// What is added: the argument, 1 without one.
    fn amount(recorded: Recorded<'_>) -> Result<i64, Misfit> {
        match recorded.operation.arg() {
            ValueId::ABSENT | ValueId::NIL => Ok(1),
            _ => recorded.int_arg(),
        }
    }

    /// What is added by an operation that subtracts.
    fn amount_taken(recorded: Recorded<'_>) -> Result<i64, Misfit> {
        let amount = Self::amount(recorded)?.checked_neg();
        amount.ok_or(Misfit::Expected("a smaller integer".into()))
    }

    fn decode_add(recorded: Recorded<'_>, amount: i64) -> Result<Decoded<Op, Answer>, Misfit> {
        match recorded.returned_int() {
            Some(new) => {
                let answer = Ok(Answer::Number(new));
                recorded.settle(Op::AddAndGet(amount), Failure::Silent, answer)
            }
            None => recorded.settle(Op::Add(amount), Failure::Silent, recorded.done()),
        }
    }
}

impl Machine for Counter {
    type State = i128;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn go_on_with(&mut self, values: Arc<Values>) {
        self.values = values;
    }

    fn start(&self) -> i128 {
        self.init.into()
    }

    fn run(&self, &state: &i128, op: &Op) -> Option<Effect<i128>> {
        let sum = |amount: i64| state + i128::from(amount);
        match *op {
            Op::Add(amount) => Effect::change(Answer::Done, sum(amount)),
            Op::AddAndGet(amount) => Effect::change(Answer::from_number(sum(amount)), sum(amount)),
            Op::FetchAdd(amount) => Effect::change(Answer::from_number(state), sum(amount)),
            Op::Read => Effect::none(Answer::from_number(state)),
        }
    }

    fn leaves_unchanged(&self, op: &Op, _: Option<&Answer>) -> bool {
        matches!(op, Op::Read | Op::Add(0) | Op::AddAndGet(0) | Op::FetchAdd(0))
    }

    fn swaps(&self, a: &Op, b: &Op) -> bool {
        let additions = matches!((a, b), (Op::Add(_), Op::Add(_)));
        let reads = |op| self.leaves_unchanged(op, None);
        additions || (reads(a) && reads(b))
    }

    fn verb(&self, op: &Op) -> String {
        match op {
            Op::Add(amount) | Op::AddAndGet(amount) => format!("add {amount}"),
            Op::FetchAdd(amount) => format!("fetch_add {amount}"),
            Op::Read => "read".to_owned(),
        }
    }

    fn fact(&self, state: &i128, _: &Op) -> String {
        format!("the value is {state}")
    }

    fn describe(&self, state: &i128) -> String {
        state.to_string()
    }
}

impl Vocabulary for Counter {
    fn methods(&self) -> &'static [Method] {
        match self.flavour {
            Flavour::Counter => COUNTER,
            Flavour::FetchAndAdd => FETCH_AND_ADD,
        }
    }

    fn decode(
        &self,
        operation: Operation<'_>,
        failures: Failures,
    ) -> Result<Decoded<Op, Answer>, Misfit> {
        let recorded = Recorded { operation, failures };
        match recorded.method(self.methods())? {
            "read" => {
                recorded.no_arg()?;
                recorded.settle(Op::Read, Failure::Silent, recorded.number())
            }
            "fetch_add" => {
                let op = Op::FetchAdd(Self::amount(recorded)?);
                recorded.settle(op, Failure::Silent, recorded.number())
            }
            "fetch_sub" => {
                let op = Op::FetchAdd(Self::amount_taken(recorded)?);
                recorded.settle(op, Failure::Silent, recorded.number())
            }
            "dec" => Self::decode_add(recorded, Self::amount_taken(recorded)?),
            "inc" => Self::decode_add(recorded, Self::amount(recorded)?),
            _ => Self::decode_add(recorded, recorded.int_arg()?),
        }
    }
}
