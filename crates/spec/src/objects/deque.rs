//! Deque: a queue with two ends.

use crate::catalogue::Entry;
use crate::machine::{Answer, Effect, Flow, Machine, listed, unexplained_value};
use crate::parameters::{Parameter, Parameters};
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Vocabulary, interpret,
};
use seriatim_history::{History, Operation, ValueId, Values};
use seriatim_persistent as persistent;
use std::sync::Arc;

/// A deque.
#[derive(Clone, Debug)]
pub struct Deque {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
    /// The values before the first operation, the front first.
    pub init: Vec<ValueId>,
}

/// The values, the front first.
pub type Held = persistent::Deque<ValueId>;

/// An end of a deque.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The front.
    Front,
    /// The back.
    Back,
}

impl End {
    /// What is at this end of a line.
    pub(super) fn of(self, line: &Held) -> Option<ValueId> {
        match self {
            End::Front => line.front().copied(),
            End::Back => line.back().copied(),
        }
    }

    /// The line with one more at this end.
    pub(super) fn with(self, line: &Held, value: ValueId) -> Held {
        match self {
            End::Front => line.with_front(value),
            End::Back => line.with_back(value),
        }
    }

    /// What is at this end, and the line without it.
    pub(super) fn taken(self, line: &Held) -> Option<(ValueId, Held)> {
        let taken = self.of(line)?;
        Some(match self {
            End::Front => (taken, line.without_front()),
            End::Back => (taken, line.without_back()),
        })
    }

    /// The end in a word.
    pub(super) fn name(self) -> &'static str {
        match self {
            End::Front => "front",
            End::Back => "back",
        }
    }
}

/// An operation of a deque.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Adds a value at an end.
    Push(End, ValueId),
    /// Takes the value at an end.
    Pop(End),
    /// Shows the value at an end.
    Peek(End),
    /// The number of values.
    Size,
    /// Whether there is no value.
    IsEmpty,
}

const METHODS: &[Method] = &[
    Method {
        names: &["push_front", "push-front", "pushFront", "addFirst", "pushLeft", "push_left"],
        signature: "(value)",
        meaning: "add at the front",
    },
    Method {
        names: &["push_back", "push-back", "pushBack", "addLast", "pushRight", "push_right"],
        signature: "(value)",
        meaning: "add at the back",
    },
    Method {
        names: &["pop_front", "pop-front", "popFront", "removeFirst", "popLeft", "pop_left"],
        signature: "() -> value",
        meaning: "take the front; nil when empty",
    },
    Method {
        names: &["pop_back", "pop-back", "popBack", "removeLast", "popRight", "pop_right"],
        signature: "() -> value",
        meaning: "take the back; nil when empty",
    },
    Method {
        names: &["front", "peek_front", "peek-front", "peekFront", "peekFirst"],
        signature: "() -> value",
        meaning: "show the front; nil when empty",
    },
    Method {
        names: &["back", "peek_back", "peek-back", "peekBack", "peekLast"],
        signature: "() -> value",
        meaning: "show the back; nil when empty",
    },
    Method::size("how many values there are"),
    Method::IS_EMPTY,
];

/// The deque in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "deque",
    aliases: &["double-ended-queue", "atomic-deque"],
    meaning: "values are added and taken at both ends",
    parameters: &[Parameter::items("the values at the start, the front first")],
    methods: METHODS,
    bind: |parameters, history, failures| {
        interpret("deque", Deque::build(parameters, history), history, failures)
    },
};

impl Deque {
    /// The deque that the parameters describe.
    pub fn build(parameters: &Parameters, history: &mut History) -> Self {
        let init = parameters.items("init", history);
        let values = history.values().clone();
        Deque { values, init }
    }
}

impl Machine for Deque {
    type State = Held;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn go_on_with(&mut self, values: Arc<Values>) {
        self.values = values;
    }

    fn start(&self) -> Held {
        self.init.iter().copied().collect()
    }

    fn run(&self, state: &Held, op: &Op) -> Option<Effect<Held>> {
        match *op {
            Op::Push(end, value) => Effect::change(Answer::Done, end.with(state, value)),
            Op::Pop(end) => match end.taken(state) {
                Some((value, rest)) => Effect::change(Answer::Value(value), rest),
                None => Effect::none(Answer::Empty),
            },
            Op::Peek(end) => Effect::none(Answer::from_option(end.of(state))),
            Op::Size => Effect::none(Answer::Number(state.len() as i64)),
            Op::IsEmpty => Effect::none(Answer::from_truth(state.is_empty())),
        }
    }

    fn answer_in_advance(&self, state: &Held, op: &Op) -> Option<Answer> {
        match op {
            Op::Pop(end) => Some(Answer::from_option(end.of(state))),
            _ => None,
        }
    }

    fn leaves_unchanged(&self, op: &Op, answer: Option<&Answer>) -> bool {
        match op {
            Op::Push(..) => false,
            Op::Pop(_) => answer == Some(&Answer::Empty),
            Op::Peek(_) | Op::Size | Op::IsEmpty => true,
        }
    }

    fn swaps(&self, a: &Op, b: &Op) -> bool {
        let reads = |op| self.leaves_unchanged(op, None);
        match (a, b) {
            (Op::Push(x, v), Op::Push(y, w)) => x != y || v == w,
            _ => reads(a) && reads(b),
        }
    }

    fn verb(&self, op: &Op) -> String {
        match *op {
            Op::Push(end, value) => format!("push_{} {}", end.name(), self.values.get(value)),
            Op::Pop(end) => format!("pop_{}", end.name()),
            Op::Peek(end) => format!("see at the {}", end.name()),
            Op::Size => "size".to_owned(),
            Op::IsEmpty => "is_empty".to_owned(),
        }
    }

    fn fact(&self, state: &Held, op: &Op) -> String {
        let end = match op {
            Op::Pop(end) | Op::Peek(end) => *end,
            _ => End::Front,
        };
        match (op, end.of(state)) {
            (Op::Size, _) => format!("the deque holds {}", state.len()),
            (_, Some(value)) => format!("the {} is {}", end.name(), self.values.get(value)),
            (_, None) => "the deque is empty".to_owned(),
        }
    }

    fn describe(&self, state: &Held) -> String {
        listed(&self.values, state.iter())
    }

    fn unexplained(&self, operations: &[(&Op, Option<&Answer>)]) -> Option<(usize, String)> {
        unexplained_value(self.init.iter().copied(), operations, |op, ret| match (op, ret) {
            (Op::Push(_, value), _) => Some(Flow::Brings(*value)),
            (_, Some(Answer::Value(value))) => Some(Flow::Shows(*value)),
            _ => None,
        })
    }

    fn heap(&self, state: &Held) -> usize {
        state.own_bytes()
    }
}

impl Vocabulary for Deque {
    fn methods(&self) -> &'static [Method] {
        METHODS
    }

    fn decode(
        &self,
        operation: Operation<'_>,
        failures: Failures,
    ) -> Result<Decoded<Op, Answer>, Misfit> {
        let recorded = Recorded { operation, failures };
        let push = |end| {
            let op = Op::Push(end, recorded.item()?);
            recorded.settle(op, Failure::Silent, recorded.done())
        };
        let take = |op| recorded.settle(op, Failure::Speaks(Answer::Empty), recorded.taken());
        match recorded.method(METHODS)? {
            "push_front" => push(End::Front),
            "push_back" => push(End::Back),
            "pop_front" => take(Op::Pop(End::Front)),
            "pop_back" => take(Op::Pop(End::Back)),
            "front" => take(Op::Peek(End::Front)),
            "back" => take(Op::Peek(End::Back)),
            "size" => recorded.settle(Op::Size, Failure::Silent, recorded.number()),
            _ => recorded.settle(Op::IsEmpty, Failure::Silent, recorded.truth()),
        }
    }
}
