//! Bounded deque: a line with two ends and room for so many values; a queue if values are pushed at
//! the back and popped at the front (which `push` and `pop` alone mean), a stack if both at the back.
//!
//! A push that finds no room is refused. A forced one makes room: the value at the other end goes
//! and is returned. `drain` takes everything at once.

use super::deque::{End, Held};
use crate::catalogue::Entry;
use crate::machine::{Answer, Effect, Flow, Machine, listed, unexplained_value};
use crate::parameters::{Parameter, Parameters};
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Vocabulary, intern_lists, interpret,
};
use seriatim_history::{History, Operation, ValueId, Values};
use std::sync::Arc;

/// A bounded deque.
#[derive(Clone, Debug)]
pub struct BoundedDeque {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
    /// The number of values that fit.
    pub capacity: usize,
}

/// An operation of a bounded deque.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Adds a value at an end if there is room.
    Push(End, ValueId),
    /// Adds a value at an end; if there is no room, the one at the other end goes.
    Force(End, ValueId),
    /// Takes the value at an end.
    Pop(End),
    /// Shows the value at an end.
    Peek(End),
    /// Takes all values.
    Drain,
    /// The number of values.
    Size,
    /// Whether there is no value.
    IsEmpty,
    /// Whether there is no room.
    IsFull,
}

const METHODS: &[Method] = &[
    Method {
        names: &["push_back", "push", "enqueue", "send", "try_push", "try_send", "offer"],
        signature: "(value) -> bool",
        meaning: "add at the back; false if there is no room",
    },
    Method {
        names: &["push_front", "try_push_front"],
        signature: "(value) -> bool",
        meaning: "add at the front; false if there is no room",
    },
    Method {
        names: &["force_push", "force_push_back", "force_send"],
        signature: "(value) -> value",
        meaning: "add at the back; the front that had to go for it, or nil",
    },
    Method {
        names: &["force_push_front"],
        signature: "(value) -> value",
        meaning: "add at the front; the back that had to go for it, or nil",
    },
    Method {
        names: &["pop_front", "pop", "dequeue", "receive", "try_pop", "try_recv", "poll"],
        signature: "() -> value",
        meaning: "take the front; nil when empty",
    },
    Method {
        names: &["pop_back", "try_pop_back"],
        signature: "() -> value",
        meaning: "take the back; nil when empty",
    },
    Method {
        names: &["front", "peek"],
        signature: "() -> value",
        meaning: "show the front; nil when empty",
    },
    Method {
        names: &["back", "peek_back"],
        signature: "() -> value",
        meaning: "show the back; nil when empty",
    },
    Method {
        names: &["drain", "take_all"],
        signature: "() -> list",
        meaning: "take all values, the front first",
    },
    Method::size("how many values there are"),
    Method::IS_EMPTY,
    Method {
        names: &["is_full", "is-full", "isFull", "full"],
        signature: "() -> bool",
        meaning: "whether there is no room",
    },
];

/// The bounded deque in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "bounded-deque",
    aliases: &["bounded-queue", "ring", "channel"],
    meaning: "a line with two ends and room for so many values",
    parameters: &[Parameter::natural("capacity", "any", "the number of values that fit")],
    methods: METHODS,
    bind: |parameters, history, failures| {
        let deque = BoundedDeque::build(parameters, history);
        interpret("bounded-deque", deque, history, failures)
    },
};

impl BoundedDeque {
    /// The deque that the parameters describe, empty.
    pub fn build(parameters: &Parameters, history: &mut History) -> Self {
        intern_lists(history, 1);
        let capacity = parameters.integer("capacity", i64::MAX);
        let values = history.values().clone();
        BoundedDeque { values, capacity: usize::try_from(capacity).unwrap_or(usize::MAX) }
    }

    fn is_full(&self, state: &Held) -> bool {
        state.len() >= self.capacity
    }

    /// A forced push into a deque without room: the value that goes, and what is left. Where
    /// nothing fits at all, it is the new one that goes.
    fn forced(&self, state: &Held, end: End, value: ValueId) -> (ValueId, Held) {
        let other = match end {
            End::Front => End::Back,
            End::Back => End::Front,
        };
        match other.taken(state) {
            Some((gone, rest)) => (gone, end.with(&rest, value)),
            None => (value, Held::default()),
        }
    }
}

impl Machine for BoundedDeque {
    type State = Held;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn go_on_with(&mut self, values: Arc<Values>) {
        self.values = values;
    }

    fn start(&self) -> Held {
        Held::default()
    }

    fn run(&self, state: &Held, op: &Op) -> Option<Effect<Held>> {
        match *op {
            Op::Push(..) if self.is_full(state) => Effect::none(Answer::No),
            Op::Push(end, value) => Effect::change(Answer::Yes, end.with(state, value)),
            Op::Force(end, value) if self.is_full(state) => {
                let (gone, left) = self.forced(state, end, value);
                Effect::change(Answer::Value(gone), left)
            }
            Op::Force(end, value) => Effect::change(Answer::Empty, end.with(state, value)),
            Op::Pop(end) => match end.taken(state) {
                Some((value, rest)) => Effect::change(Answer::Value(value), rest),
                None => Effect::none(Answer::Empty),
            },
            Op::Peek(end) => Effect::none(Answer::from_option(end.of(state))),
            Op::Drain => {
                let all = state.iter().copied().collect();
                Effect::change(Answer::Items(all), Held::default())
            }
            Op::Size => Effect::none(Answer::Number(state.len() as i64)),
            Op::IsEmpty => Effect::none(Answer::from_truth(state.is_empty())),
            Op::IsFull => Effect::none(Answer::from_truth(self.is_full(state))),
        }
    }

    fn leaves_unchanged(&self, op: &Op, answer: Option<&Answer>) -> bool {
        match op {
            _ if self.capacity == 0 => true,
            Op::Push(..) => answer == Some(&Answer::No),
            // Where one value fits, it may be replaced by itself.
            Op::Force(_, value) => self.capacity == 1 && answer == Some(&Answer::Value(*value)),
            Op::Pop(_) => answer == Some(&Answer::Empty),
            Op::Drain => matches!(answer, Some(Answer::Items(items)) if items.is_empty()),
            Op::Peek(_) | Op::Size | Op::IsEmpty | Op::IsFull => true,
        }
    }

    fn swaps(&self, a: &Op, b: &Op) -> bool {
        self.leaves_unchanged(a, None) && self.leaves_unchanged(b, None)
    }

    fn verb(&self, op: &Op) -> String {
        match *op {
            Op::Push(end, value) => format!("push_{} {}", end.name(), self.values.get(value)),
            Op::Force(end, value) => {
                format!("force {} in at the {} for", self.values.get(value), end.name())
            }
            Op::Pop(end) => format!("pop_{}", end.name()),
            Op::Peek(end) => format!("see at the {}", end.name()),
            Op::Drain => "drain".to_owned(),
            Op::Size => "size".to_owned(),
            Op::IsEmpty => "is_empty".to_owned(),
            Op::IsFull => "is_full".to_owned(),
        }
    }

    fn fact(&self, state: &Held, op: &Op) -> String {
        match op {
            Op::Pop(end) | Op::Peek(end) => match end.of(state) {
                Some(value) => format!("the {} is {}", end.name(), self.values.get(value)),
                None => "the deque is empty".to_owned(),
            },
            Op::Drain | Op::Force(..) => format!("the deque is {}", self.describe(state)),
            _ if self.capacity < usize::MAX => {
                format!("the deque holds {} of {}", state.len(), self.capacity)
            }
            _ => format!("the deque holds {}", state.len()),
        }
    }

    fn describe(&self, state: &Held) -> String {
        listed(&self.values, state.iter())
    }

    fn unexplained(&self, operations: &[(&Op, Option<&Answer>)]) -> Option<(usize, String)> {
        unexplained_value([], operations, |op, ret| match (op, ret) {
            (Op::Push(_, value) | Op::Force(_, value), _) => Some(Flow::Brings(*value)),
            (_, Some(Answer::Value(value))) => Some(Flow::Shows(*value)),
            _ => None,
        })
    }

    fn heap(&self, state: &Held) -> usize {
        state.own_bytes()
    }
}

impl Vocabulary for BoundedDeque {
    fn methods(&self) -> &'static [Method] {
        METHODS
    }

    fn decode(
        &self,
        operation: Operation<'_>,
        failures: Failures,
    ) -> Result<Decoded<Op, Answer>, Misfit> {
        let recorded = Recorded { operation, failures };
        let silent = Failure::Silent;
        let push = |end| {
            let answer = recorded.success(Answer::Yes);
            recorded.settle(Op::Push(end, recorded.item()?), Failure::Speaks(Answer::No), answer)
        };
        let force = |end| {
            recorded.settle(Op::Force(end, recorded.item()?), silent.clone(), recorded.found())
        };
        let take = |op| recorded.settle(op, Failure::Speaks(Answer::Empty), recorded.taken());
        match recorded.method(METHODS)? {
            "push_back" => push(End::Back),
            "push_front" => push(End::Front),
            "force_push" => force(End::Back),
            "force_push_front" => force(End::Front),
            "pop_front" => take(Op::Pop(End::Front)),
            "pop_back" => take(Op::Pop(End::Back)),
            "front" => take(Op::Peek(End::Front)),
            "back" => take(Op::Peek(End::Back)),
            "drain" => recorded.settle(Op::Drain, silent, recorded.list()),
            "size" => recorded.settle(Op::Size, silent, recorded.number()),
            "is_empty" => recorded.settle(Op::IsEmpty, silent, recorded.truth()),
            _ => recorded.settle(Op::IsFull, silent, recorded.truth()),
        }
    }
}
