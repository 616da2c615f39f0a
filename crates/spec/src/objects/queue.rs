//! Queue: first in, first out.

use crate::machine::{Answer, Effect, Flow, Machine, listed, unexplained_value};
use crate::registry::{Entry, Parameter, Parameters};
use crate::sequence::Sequence;
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Vocabulary, interpret,
};
use seriatim_history::{History, Operation, ValueId, Values};
use std::sync::Arc;

/// A queue.
#[derive(Clone, Debug)]
pub struct Queue {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
    /// The values before the first operation, the front first.
    pub init: Vec<ValueId>,
}

/// An operation of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Adds a value at the back.
    Enqueue(ValueId),
    /// Takes the value at the front.
    Dequeue,
    /// Shows the value at the front.
    Front,
    /// The number of values.
    Size,
    /// Whether there is no value.
    IsEmpty,
}

const METHODS: &[Method] = &[
    Method {
        names: &["enqueue", "enq", "push", "add", "insert", "put", "offer", "send"],
        signature: "(value)",
        meaning: "add at the back",
    },
    Method {
        names: &["dequeue", "deq", "pop", "remove", "poll", "take", "receive", "recv"],
        signature: "() -> value",
        meaning: "take the front; nil when empty",
    },
    Method {
        names: &["front", "peek", "first", "head"],
        signature: "() -> value",
        meaning: "show the front; nil when empty",
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

/// The queue in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "queue",
    aliases: &["atomic-queue", "fifo", "fifo-queue"],
    meaning: "first in, first out",
    parameters: &[Parameter::list("init", "[]", "the values at the start, the front first")],
    methods: METHODS,
    bind: |parameters, history, failures| {
        interpret("queue", Queue::build(parameters, history), history, failures)
    },
};

impl Queue {
    /// The queue that the parameters describe.
    pub fn build(parameters: &Parameters, history: &mut History) -> Self {
        let init = parameters.items("init", history);
        let values = history.values().clone();
        Queue { values, init }
    }
}

impl Machine for Queue {
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
            Op::Enqueue(value) => Effect::change(Answer::Done, state.push(value)),
            Op::Dequeue => match state.oldest() {
                Some(front) => Effect::change(Answer::Value(front), state.without_oldest()),
                None => Effect::none(Answer::Empty),
            },
            Op::Front => Effect::none(Answer::from_option(state.oldest())),
            Op::Size => Effect::none(Answer::Number(state.len() as i64)),
            Op::IsEmpty => Effect::none(Answer::from_truth(state.is_empty())),
        }
    }

    fn leaves_unchanged(&self, op: &Op, answer: Option<&Answer>) -> bool {
        match op {
            Op::Enqueue(_) => false,
            Op::Dequeue => answer == Some(&Answer::Empty),
            Op::Front | Op::Size | Op::IsEmpty => true,
        }
    }

    fn swaps(&self, a: &Op, b: &Op) -> bool {
        let reads = |op| self.leaves_unchanged(op, None);
        (matches!(a, Op::Enqueue(_)) && a == b) || (reads(a) && reads(b))
    }

    fn verb(&self, op: &Op) -> String {
        match op {
            Op::Enqueue(value) => format!("enqueue {}", self.values.get(*value)),
            Op::Dequeue => "dequeue".to_owned(),
            Op::Front => "see at the front".to_owned(),
            Op::Size => "size".to_owned(),
            Op::IsEmpty => "is_empty".to_owned(),
        }
    }

    fn fact(&self, state: &Sequence, op: &Op) -> String {
        match (op, state.oldest()) {
            (Op::Size, _) => format!("the queue holds {}", state.len()),
            (_, Some(front)) => format!("the front is {}", self.values.get(front)),
            (_, None) => "the queue is empty".to_owned(),
        }
    }

    fn describe(&self, state: &Sequence) -> String {
        listed(&self.values, &state.oldest_first())
    }

    fn unexplained(&self, operations: &[(&Op, Option<&Answer>)]) -> Option<(usize, String)> {
        unexplained_value(self.init.iter().copied(), operations, |op, ret| match (op, ret) {
            (Op::Enqueue(value), _) => Some(Flow::Brings(*value)),
            (_, Some(Answer::Value(value))) => Some(Flow::Shows(*value)),
            _ => None,
        })
    }

    fn heap(&self, state: &Sequence) -> usize {
        state.own_bytes()
    }
}

impl Vocabulary for Queue {
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
            "enqueue" => {
                let op = Op::Enqueue(recorded.arg()?);
                recorded.settle(op, Failure::Silent, recorded.done())
            }
            "dequeue" => recorded.settle(Op::Dequeue, empty, recorded.taken()),
            "front" => recorded.settle(Op::Front, empty, recorded.taken()),
            "size" => recorded.settle(Op::Size, Failure::Silent, recorded.number()),
            _ => recorded.settle(Op::IsEmpty, Failure::Silent, recorded.truth()),
        }
    }
}
