//! A line of values: new ones go to its end, and one of its two ends is where values are seen and
//! taken. A queue takes the oldest, a stack the newest; besides that they differ in words.

use crate::machine::{Answer, Effect, Flow, Machine, listed, unexplained_value};
use crate::parameters::Parameters;
use crate::sequence::Sequence;
use crate::vocabulary::{Decoded, Failure, Failures, Method, Misfit, Recorded, Vocabulary};
use seriatim_history::{History, Operation, ValueId, Values};
use std::sync::Arc;

/// Which value is seen and taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The one that has been there for the longest time.
    Oldest,
    /// The one that came last.
    Newest,
}

/// What tells one sort of line from another.
#[derive(Debug)]
pub struct Sort {
    /// Which end values are taken from.
    pub end: End,
    /// What the object is called.
    pub name: &'static str,
    /// What that end is called.
    pub place: &'static str,
    /// Its operations, in this order: add, take, see, size, is empty. The first name of each is its
    /// verb.
    pub methods: &'static [Method; 5],
}

/// A line of values.
#[derive(Clone, Debug)]
pub struct Line {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
    /// The values before the first operation, the oldest first.
    pub init: Vec<ValueId>,
    /// Of which sort it is.
    pub sort: &'static Sort,
}

/// An operation of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Adds a value.
    Add(ValueId),
    /// Takes the value at the end where values are taken.
    Take,
    /// Shows that value.
    See,
    /// The number of values.
    Size,
    /// Whether there is no value.
    IsEmpty,
}

impl Line {
    /// The line that the parameters describe.
    pub fn build(sort: &'static Sort, parameters: &Parameters, history: &mut History) -> Self {
        let init = parameters.items("init", history);
        let values = history.values().clone();
        Line { values, init, sort }
    }

    fn next(&self, state: &Sequence) -> Option<ValueId> {
        match self.sort.end {
            End::Oldest => state.oldest(),
            End::Newest => state.newest(),
        }
    }

    fn without_next(&self, state: &Sequence) -> Sequence {
        match self.sort.end {
            End::Oldest => state.without_oldest(),
            End::Newest => state.without_newest(),
        }
    }
}

impl Machine for Line {
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
            Op::Add(value) => Effect::change(Answer::Done, state.push(value)),
            Op::Take => match self.next(state) {
                Some(next) => Effect::change(Answer::Value(next), self.without_next(state)),
                None => Effect::none(Answer::Empty),
            },
            Op::See => Effect::none(Answer::from_option(self.next(state))),
            Op::Size => Effect::none(Answer::Number(state.len() as i64)),
            Op::IsEmpty => Effect::none(Answer::from_truth(state.is_empty())),
        }
    }

    fn answer_in_advance(&self, state: &Sequence, op: &Op) -> Option<Answer> {
        (*op == Op::Take).then(|| Answer::from_option(self.next(state)))
    }

    fn leaves_unchanged(&self, op: &Op, answer: Option<&Answer>) -> bool {
        match op {
            Op::Add(_) => false,
            Op::Take => answer == Some(&Answer::Empty),
            Op::See | Op::Size | Op::IsEmpty => true,
        }
    }

    fn swaps(&self, a: &Op, b: &Op) -> bool {
        let reads = |op| self.leaves_unchanged(op, None);
        (matches!(a, Op::Add(_)) && a == b) || (reads(a) && reads(b))
    }

    fn verb(&self, op: &Op) -> String {
        let [add, take, _, size, is_empty] = self.sort.methods;
        match op {
            Op::Add(value) => format!("{} {}", add.names[0], self.values.get(*value)),
            Op::Take => take.names[0].to_owned(),
            Op::See => format!("see at the {}", self.sort.place),
            Op::Size => size.names[0].to_owned(),
            Op::IsEmpty => is_empty.names[0].to_owned(),
        }
    }

    fn fact(&self, state: &Sequence, op: &Op) -> String {
        let Sort { name, place, .. } = self.sort;
        match (op, self.next(state)) {
            (Op::Size, _) => format!("the {name} holds {}", state.len()),
            (_, Some(next)) => format!("the {place} is {}", self.values.get(next)),
            (_, None) => format!("the {name} is empty"),
        }
    }

    fn describe(&self, state: &Sequence) -> String {
        listed(&self.values, &state.oldest_first())
    }

    fn unexplained(&self, operations: &[(&Op, Option<&Answer>)]) -> Option<(usize, String)> {
        unexplained_value(self.init.iter().copied(), operations, |op, ret| match (op, ret) {
            (Op::Add(value), _) => Some(Flow::Brings(*value)),
            (_, Some(Answer::Value(value))) => Some(Flow::Shows(*value)),
            _ => None,
        })
    }

    fn heap(&self, state: &Sequence) -> usize {
        state.own_bytes()
    }
}

impl Vocabulary for Line {
    fn methods(&self) -> &'static [Method] {
        self.sort.methods
    }

    fn decode(
        &self,
        operation: Operation<'_>,
        failures: Failures,
    ) -> Result<Decoded<Op, Answer>, Misfit> {
        let recorded = Recorded { operation, failures };
        let empty = Failure::Speaks(Answer::Empty);
        let name = recorded.method(self.sort.methods)?;
        match self.sort.methods.iter().position(|method| method.names[0] == name) {
            Some(0) => {
                let op = Op::Add(recorded.item()?);
                recorded.settle(op, Failure::Silent, recorded.done())
            }
            Some(1) => recorded.settle(Op::Take, empty, recorded.taken()),
            Some(2) => recorded.settle(Op::See, empty, recorded.taken()),
            Some(3) => recorded.settle(Op::Size, Failure::Silent, recorded.number()),
            _ => recorded.settle(Op::IsEmpty, Failure::Silent, recorded.truth()),
        }
    }
}
