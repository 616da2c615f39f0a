//! Stack: last in, first out.

use crate::machine::{Answer, Effect, Flow, Machine, listed, unexplained_value};
use crate::registry::{Entry, Parameter, Parameters};
use crate::sequence::Sequence;
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Vocabulary, interpret,
};
use seriatim_history::{History, Operation, ValueId, Values};
use std::sync::Arc;

/// A stack.
#[derive(Clone, Debug)]
pub struct Stack {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
    /// The values before the first operation, the top last.
    pub init: Vec<ValueId>,
}

/// An operation of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Adds a value on top.
    Push(ValueId),
    /// Takes the value at the top.
    Pop,
    /// Shows the value at the top.
    Top,
    /// The number of values.
    Size,
    /// Whether there is no value.
    IsEmpty,
}

const METHODS: &[Method] = &[
    Method {
        names: &["push", "add", "insert", "put"],
        signature: "(value)",
        meaning: "add on top",
    },
    Method {
        names: &["pop", "remove", "take", "poll"],
        signature: "() -> value",
        meaning: "take the top; nil when empty",
    },
    Method {
        names: &["top", "peek"],
        signature: "() -> value",
        meaning: "show the top; nil when empty",
    },
    Method {
        names: &["size", "len", "length", "count"],
        signature: "() -> integer",
        meaning: "how many values there are",
    },
    Method {
        names: &["is_empty", "is-empty", "isEmpty", "empty"],
        signature: "() -> bool",
        meaning: "whether there is none",
    },
];

/// The stack in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "stack",
    aliases: &["atomic-stack", "lifo"],
    meaning: "last in, first out",
    parameters: &[Parameter::list("init", "[]", "the values at the start, the top last")],
    methods: METHODS,
    bind: |parameters, history, failures| {
        interpret("stack", Stack::build(parameters, history), history, failures)
    },
};

impl Stack {
    /// The stack that the parameters describe.
    pub fn build(parameters: &Parameters, history: &mut History) -> Self {
        let init = parameters.items("init", history);
        let values = history.values().clone();
        Stack { values, init }
    }
}

impl Machine for Stack {
    type State = Sequence;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn start(&self) -> Sequence {
        Sequence::of(self.init.iter().copied())
    }

    fn run(&self, state: &Sequence, op: &Op) -> Option<Effect<Sequence>> {
        match *op {
            Op::Push(value) => Effect::change(Answer::Done, state.push(value)),
            Op::Pop => match state.newest() {
                Some(top) => Effect::change(Answer::Value(top), state.without_newest()),
                None => Effect::none(Answer::Empty),
            },
            Op::Top => Effect::none(Answer::from_option(state.newest())),
            Op::Size => Effect::none(Answer::Number(state.len() as i64)),
            Op::IsEmpty => Effect::none(Answer::from_truth(state.is_empty())),
        }
    }

    fn leaves_unchanged(&self, op: &Op, answer: Option<&Answer>) -> bool {
        match op {
            Op::Push(_) => false,
            Op::Pop => answer == Some(&Answer::Empty),
            Op::Top | Op::Size | Op::IsEmpty => true,
        }
    }

    fn swaps(&self, a: &Op, b: &Op) -> bool {
        let reads = |op| self.leaves_unchanged(op, None);
        (matches!(a, Op::Push(_)) && a == b) || (reads(a) && reads(b))
    }

    fn verb(&self, op: &Op) -> String {
        match op {
            Op::Push(value) => format!("push {}", self.values.get(*value)),
            Op::Pop => "pop".to_owned(),
            Op::Top => "see at the top".to_owned(),
            Op::Size => "size".to_owned(),
            Op::IsEmpty => "is_empty".to_owned(),
        }
    }

    fn fact(&self, state: &Sequence, op: &Op) -> String {
        match (op, state.newest()) {
            (Op::Size, _) => format!("the stack holds {}", state.len()),
            (_, Some(top)) => format!("the top is {}", self.values.get(top)),
            (_, None) => "the stack is empty".to_owned(),
        }
    }

    fn describe(&self, state: &Sequence) -> String {
        listed(&self.values, &state.oldest_first())
    }

    fn unexplained(&self, operations: &[(&Op, Option<&Answer>)]) -> Option<(usize, String)> {
        unexplained_value(self.init.iter().copied(), operations, |op, ret| match (op, ret) {
            (Op::Push(value), _) => Some(Flow::Brings(*value)),
            (_, Some(Answer::Value(value))) => Some(Flow::Shows(*value)),
            _ => None,
        })
    }

    fn heap(&self, state: &Sequence) -> usize {
        state.own_bytes()
    }
}

impl Vocabulary for Stack {
    fn methods(&self) -> &'static [Method] {
        METHODS
    }

    fn decode(
        &self,
        operation: Operation<'_>,
        failures: Failures,
    ) -> Result<Decoded<Op, Answer>, Misfit> {
        let recorded = Recorded { operation, failures };
        let empty = Failure::Speaks(Answer::Empty);
        match recorded.method(METHODS)? {
            "push" => {
                let op = Op::Push(recorded.arg()?);
                recorded.settle(op, Failure::Silent, recorded.done())
            }
            "pop" => recorded.settle(Op::Pop, empty, recorded.taken()),
            "top" => recorded.settle(Op::Top, empty, recorded.taken()),
            "size" => recorded.settle(Op::Size, Failure::Silent, recorded.number()),
            _ => recorded.settle(Op::IsEmpty, Failure::Silent, recorded.truth()),
        }
    }
}
