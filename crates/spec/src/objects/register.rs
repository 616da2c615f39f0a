//! Register: `read`, `write`, and, as the CAS register, `cas`.
//!
//! A failed `cas` is an observation: the register held another value.

use crate::vocabulary::{Decoded, Failures, Method, Misfit, Recorded, Vocabulary};
use crate::{Next, Spec};
use seriatim_history::{Operation, ValueId, Values};
use std::sync::Arc;

/// A register, with compare-and-set or without.
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
    /// `read`, `write` and `cas`.
    Cas,
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
}

/// A result of a register's operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ret {
    /// A read saw a value.
    Saw(ValueId),
    /// A read whose value was not recorded.
    SawSomething,
    /// A write is done, or a `cas` found its value.
    Done,
    /// A `cas` found another value.
    Differed,
}

const METHODS: &[Method] = &[
    Method { names: &["read", "get", "load"], signature: "() -> value", meaning: "the value" },
    Method {
        names: &["write", "put", "set", "store"],
        signature: "(value)",
        meaning: "replace it",
    },
    Method {
        names: &["cas", "compare-and-set", "compare_exchange"],
        signature: "(old, new) -> bool",
        meaning: "replace old by new; fails on another value",
    },
];

impl Spec for Register {
    type State = ValueId;
    type Op = Op;
    type Ret = Ret;

    fn initial(&self) -> ValueId {
        self.init
    }

    fn step(&self, state: &ValueId, op: &Op, ret: Option<&Ret>) -> Next<ValueId> {
        match (*op, ret) {
            (Op::Read, Some(Ret::Saw(seen))) => Next::when(seen == state, || *state),
            (Op::Read, _) => Next::to(*state),
            (Op::Write(value), _) => Next::to(value),
            (Op::Cas(old, new), Some(Ret::Done)) => Next::when(old == *state, || new),
            (Op::Cas(old, _), Some(_)) => Next::when(old != *state, || *state),
            (Op::Cas(old, new), None) => Next::to(if old == *state { new } else { *state }),
        }
    }

    fn is_read_only(&self, op: &Op, ret: Option<&Ret>) -> bool {
        matches!((op, ret), (Op::Read, _) | (Op::Cas(..), Some(Ret::Differed)))
    }

    fn explain(&self, state: &ValueId, op: &Op, ret: Option<&Ret>) -> String {
        let show = |id: ValueId| self.values.get(id);
        let held = show(*state);
        match (*op, ret) {
            (Op::Read, Some(Ret::Saw(seen))) => {
                format!("cannot read {}: the register holds {held}", show(*seen))
            }
            (Op::Cas(old, _), Some(Ret::Differed)) => {
                format!("cas cannot fail: the register holds {}", show(old))
            }
            (Op::Cas(old, _), _) => {
                format!("cannot cas from {}: the register holds {held}", show(old))
            }
            (Op::Read | Op::Write(_), _) => "always possible".to_owned(),
        }
    }

    fn show(&self, state: &ValueId) -> String {
        self.values.get(*state).to_string()
    }

    fn inexplicable(&self, operations: &[(&Op, Option<&Ret>)]) -> Option<(usize, String)> {
        let mut written: hashbrown::HashSet<ValueId> = [self.init].into();
        written.extend(operations.iter().filter_map(|(op, ret)| match (op, ret) {
            (Op::Write(value), _) => Some(*value),
            (Op::Cas(_, value), None | Some(Ret::Done)) => Some(*value),
            _ => None,
        }));
        operations.iter().enumerate().find_map(|(position, (op, ret))| match (op, ret) {
            (Op::Read, Some(Ret::Saw(value))) if !written.contains(value) => {
                Some((position, "it returns a value that was never written".to_owned()))
            }
            (Op::Cas(old, _), Some(Ret::Done)) if !written.contains(old) => {
                Some((position, "it found a value that was never written".to_owned()))
            }
            _ => None,
        })
    }
}

impl Vocabulary for Register {
    fn methods(&self) -> &'static [Method] {
        match self.flavour {
            Flavour::Plain => &METHODS[..2],
            Flavour::Cas => METHODS,
        }
    }

    fn decode(
        &self,
        operation: Operation<'_>,
        failures: Failures,
    ) -> Result<Decoded<Op, Ret>, Misfit> {
        let recorded = Recorded { operation, failures };
        let name = operation.method();
        match self.methods().iter().position(|method| method.is(name)) {
            Some(0) => {
                recorded.no_arg()?;
                recorded.plain(Op::Read, saw(operation.result()))
            }
            Some(1) => recorded.plain(Op::Write(recorded.arg()?), Ret::Done),
            Some(_) => {
                let (old, new) = recorded.pair()?;
                recorded.fallible(Op::Cas(old, new), Ret::Done, Ret::Differed)
            }
            None => Err(Misfit::Unknown),
        }
    }
}

fn saw(result: ValueId) -> Ret {
    match result {
        ValueId::ABSENT => Ret::SawSomething,
        value => Ret::Saw(value),
    }
}
