//! Register: `read`, `write`; with compare-and-set (`cas-register`); with read-modify-write
//! (`rmw`).
//!
//! A failed `cas` is an observation: the register held another value.

use crate::catalogue::Entry;
use crate::machine::{Answer, Effect, Flow, Machine, unexplained_value};
use crate::parameters::{Parameter, Parameters};
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Vocabulary, interpret,
};
use seriatim_history::{History, Operation, Value, ValueId, Values};
use std::sync::Arc;

/// A register.
#[derive(Clone, Debug)]
pub struct Register {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
    /// The value before the first write.
    pub init: ValueId,
    /// What the register offers besides `read` and `write`.
    pub flavour: Flavour,
}

/// Which operations a register has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flavour {
    /// `read` and `write`.
    Plain,
    /// `read`, `write`, `cas` and `swap`.
    Cas,
    /// `read`, `write` and read-modify-write.
    Rmw,
}

/// An operation of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Returns the value.
    Read,
    /// Replaces the value.
    Write(ValueId),
    /// Replaces the first value by the second if the register holds the first.
    Cas(ValueId, ValueId),
    /// Replaces the value and returns the old one.
    Swap(ValueId),
}

const READ: Method =
    Method { names: &["read", "get", "load", "r"], signature: "() -> value", meaning: "the value" };
const WRITE: Method = Method {
    names: &["write", "put", "set", "store", "w"],
    signature: "(value)",
    meaning: "replace it",
};
const SWAP: Method = Method {
    names: &["swap", "exchange", "get-and-set", "getAndSet"],
    signature: "(new) -> old",
    meaning: "replace it, return the old one",
};
const PLAIN: &[Method] = &[READ, WRITE];
const CAS: &[Method] = &[
    READ,
    WRITE,
    Method {
        names: &[
            "cas",
            "compare-and-set",
            "compare_and_set",
            "compareAndSet",
            "compare-and-swap",
            "compare_exchange",
        ],
        signature: "(old, new) -> bool",
        meaning: "replace old by new; fails on another value",
    },
    SWAP,
];
const RMW: &[Method] = &[
    READ,
    WRITE,
    Method {
        names: &["rmw", "read_modify_write", "read-modify-write"],
        signature: "(old, new)",
        meaning: "read old and write new in one step",
    },
    SWAP,
];

const INIT: &[Parameter] = &[Parameter::value("init", "nil", "the value before the first write")];
const INIT_ZERO: &[Parameter] =
    &[Parameter::value("init", "0", "the value before the first write")];

/// The registers in the catalogue.
pub const ENTRIES: &[Entry] = &[
    Entry {
        name: "register",
        aliases: &["rw-register", "atomic-register"],
        meaning: "one value that is read and written",
        parameters: INIT,
        methods: PLAIN,
        bind: |parameters, history, failures| {
            let register = Register::build(parameters, history, Flavour::Plain);
            interpret("register", register, history, failures)
        },
    },
    Entry {
        name: "cas-register",
        aliases: &["casregister", "atomic"],
        meaning: "a register with compare-and-set; a failed cas saw another value",
        parameters: INIT,
        methods: CAS,
        bind: |parameters, history, failures| {
            let register = Register::build(parameters, history, Flavour::Cas);
            interpret("cas-register", register, history, failures)
        },
    },
    Entry {
        name: "rmw",
        aliases: &["rmw-register", "read-modify-write"],
        meaning: "a register with read-modify-write",
        parameters: INIT_ZERO,
        methods: RMW,
        bind: |parameters, history, failures| {
            let register = Register::build(parameters, history, Flavour::Rmw);
            interpret("rmw", register, history, failures)
        },
    },
];

impl Register {
    /// The register that the parameters describe.
    pub fn build(parameters: &Parameters, history: &mut History, flavour: Flavour) -> Self {
        let init = match (parameters.value("init"), flavour) {
            (Some(init), _) => init.clone(),
            (None, Flavour::Rmw) => Value::Int(0),
            (None, _) => Value::Nil,
        };
        let init = history.intern(&init);
        let values = history.values().clone();
        Register { values, init, flavour }
    }
}

impl Machine for Register {
    type State = ValueId;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn go_on_with(&mut self, values: Arc<Values>) {
        self.values = values;
    }

    fn start(&self) -> ValueId {
        self.init
    }

    fn run(&self, &state: &ValueId, op: &Op) -> Option<Effect<ValueId>> {
        match *op {
            Op::Read => Effect::none(Answer::Value(state)),
            Op::Write(value) => Effect::change(Answer::Done, value),
            Op::Cas(old, new) if old == state => Effect::change(Answer::Yes, new),
            Op::Cas(..) => Effect::none(Answer::No),
            Op::Swap(value) => Effect::change(Answer::Value(state), value),
        }
    }

    fn leaves_unchanged(&self, op: &Op, answer: Option<&Answer>) -> bool {
        match *op {
            Op::Read => true,
            Op::Write(_) => false,
            Op::Cas(old, new) => old == new || answer == Some(&Answer::No),
            Op::Swap(value) => answer == Some(&Answer::Value(value)),
        }
    }

    fn swaps(&self, a: &Op, b: &Op) -> bool {
        match (a, b) {
            (Op::Write(a), Op::Write(b)) => a == b,
            _ => self.leaves_unchanged(a, None) && self.leaves_unchanged(b, None),
        }
    }

    fn names(&self, op: &Op, answer: Option<&Answer>) -> Vec<u64> {
        let mut names = match (*op, answer) {
            (Op::Write(value) | Op::Swap(value), _) => vec![value],
            (Op::Cas(old, new), None | Some(Answer::Yes | Answer::Unrecorded)) => vec![old, new],
            _ => Vec::new(),
        };
        if let Some(Answer::Value(seen)) = answer {
            names.push(*seen);
        }
        names.into_iter().map(|value| u64::from(value.0)).collect()
    }

    fn verb(&self, op: &Op) -> String {
        let show = |value: &ValueId| self.values.get(*value);
        match op {
            Op::Read => "read".to_owned(),
            Op::Write(value) => format!("write {}", show(value)),
            Op::Cas(old, new) => format!("cas from {} to {}", show(old), show(new)),
            Op::Swap(value) => format!("put {} in the place of", show(value)),
        }
    }

    fn fact(&self, state: &ValueId, _: &Op) -> String {
        format!("the register holds {}", self.values.get(*state))
    }

    fn describe(&self, state: &ValueId) -> String {
        self.values.get(*state).to_string()
    }

    fn unexplained(&self, operations: &[(&Op, Option<&Answer>)]) -> Option<(usize, String)> {
        // An operation that both shows one value and brings another counts twice.
        let brings = operations.iter().filter_map(|(op, ret)| match (op, ret) {
            (Op::Write(value) | Op::Swap(value), _) => Some(*value),
            (Op::Cas(_, value), None | Some(Answer::Yes | Answer::Unrecorded)) => Some(*value),
            _ => None,
        });
        let known = brings.chain([self.init]);
        unexplained_value(known, operations, |op, ret| match (op, ret?) {
            (_, Answer::Value(value)) => Some(Flow::Shows(*value)),
            (Op::Cas(old, _), Answer::Yes) => Some(Flow::Shows(*old)),
            _ => None,
        })
    }
}

impl Vocabulary for Register {
    fn methods(&self) -> &'static [Method] {
        match self.flavour {
            Flavour::Plain => PLAIN,
            Flavour::Cas => CAS,
            Flavour::Rmw => RMW,
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
                let answer = match operation.result() {
                    ValueId::NIL if self.init != ValueId::NIL && recorded.nil_is_unknown() => {
                        Ok(Answer::Unrecorded)
                    }
                    _ => recorded.read(),
                };
                recorded.settle(Op::Read, Failure::Silent, answer)
            }
            "write" => {
                let op = Op::Write(self.new_value(recorded, recorded.arg()?)?);
                recorded.settle(op, Failure::Silent, recorded.done())
            }
            "cas" => {
                let (old, new) = recorded.pair()?;
                let new = self.new_value(recorded, new)?;
                let answer = recorded.success(Answer::Yes);
                recorded.settle(Op::Cas(old, new), Failure::Speaks(Answer::No), answer)
            }
            "rmw" => self.decode_rmw(recorded),
            _ => {
                let op = Op::Swap(self.new_value(recorded, recorded.arg()?)?);
                recorded.settle(op, Failure::Silent, recorded.read())
            }
        }
    }
}

impl Register {
    /// A value to be put into the register. Where `nil` stands for results that nobody recorded, it
    /// must not be a value as well.
    fn new_value(&self, recorded: Recorded<'_>, value: ValueId) -> Result<ValueId, Misfit> {
        match value {
            ValueId::NIL if self.init != ValueId::NIL && recorded.nil_is_unknown() => {
                Misfit::expected("a value other than nil, which stands for unknown results here")
            }
            value => Ok(value),
        }
    }

    /// The value read stands in the argument (`old new`), or it is the result.
    fn decode_rmw(&self, recorded: Recorded<'_>) -> Result<Decoded<Op, Answer>, Misfit> {
        match recorded.pair() {
            Ok((old, new)) => {
                let answer = recorded.success(Answer::Yes);
                recorded.settle(Op::Cas(old, new), Failure::Speaks(Answer::No), answer)
            }
            Err(_) => recorded.settle(Op::Swap(recorded.arg()?), Failure::Silent, recorded.read()),
        }
    }
}
