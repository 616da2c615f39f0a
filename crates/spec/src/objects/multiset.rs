//! Multiset (bag): values, each any number of times; `take` takes out any of them.
//!
//! `take` is the one nondeterministic operation of the built-in objects. A completed `take` of a
//! value is a successful `remove` of it and is read as such, so a history is checked value by value
//! unless an operation looks at the whole: a size, a `take` that found nothing, or a pending one.

use crate::catalogue::Entry;
use crate::collection::Collection;
use crate::machine::{Answer, Effect, Flow, Machine, listed, unexplained_value};
use crate::parameters::{Parameter, Parameters};
use crate::spec::{Next, key_of};
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Split, Vocabulary, intern_lists,
    interpret,
};
use seriatim_history::{History, Operation, Outcome, ValueId, Values};
use seriatim_limits::InOrder;
use std::sync::Arc;

/// A multiset.
#[derive(Clone, Debug)]
pub struct Multiset {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
    /// The items before the first operation.
    pub init: Vec<ValueId>,
    /// Whether values may be checked apart.
    pub split: Split,
}

/// An operation of a multiset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Puts a value in, once more.
    Add(ValueId),
    /// Takes a value out, once; succeeds if it was in.
    Remove(ValueId),
    /// Takes any value out.
    Take,
    /// Whether a value is in.
    Contains(ValueId),
    /// How often a value is in.
    Count(ValueId),
    /// The number of items.
    Size,
    /// Whether there is no item.
    IsEmpty,
    /// All items.
    Read,
}

const METHODS: &[Method] = &[
    Method {
        names: &["add", "insert", "put", "push", "enqueue"],
        signature: "(value)",
        meaning: "put it in, once more",
    },
    Method {
        names: &["remove", "delete", "erase"],
        signature: "(value) -> bool",
        meaning: "take it out, once; true if it was in; without argument: take",
    },
    Method {
        names: &["contains", "member", "has", "find"],
        signature: "(value) -> bool",
        meaning: "whether it is in",
    },
    Method {
        names: &["multiplicity", "occurrences"],
        signature: "(value) -> integer",
        meaning: "how often it is in",
    },
    Method {
        names: &["take", "pop", "poll", "get", "dequeue"],
        signature: "() -> value",
        meaning: "take any value out; nil when empty",
    },
    Method::size("how many items there are"),
    Method::IS_EMPTY,
    Method {
        names: &["read", "items", "elements"],
        signature: "() -> list",
        meaning: "all items, in any order",
    },
];

/// The multiset in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "multiset",
    aliases: &["bag", "pool", "unordered-queue"],
    meaning: "each value any number of times; checked value by value where possible",
    parameters: &[Parameter::items("the items at the start")],
    methods: METHODS,
    bind: |parameters, history, failures| {
        let multiset = Multiset::build(parameters, history);
        interpret("multiset", multiset, history, failures)
    },
};

impl Multiset {
    /// The multiset that the parameters describe.
    pub fn build(parameters: &Parameters, history: &mut History) -> Self {
        let init = parameters.items("init", history);
        let looks_at_all = |operation: Operation<'_>| {
            let without = matches!(operation.arg(), ValueId::ABSENT | ValueId::NIL);
            let takes =
                METHODS[4].is(operation.method()) || (METHODS[1].is(operation.method()) && without);
            let told = operation.outcome() == Outcome::Ok && operation.result() != ValueId::NIL;
            takes && !told
        };
        let split = match Split::unless_used(history, &METHODS[5..]) {
            Split::Parts if history.operations().any(looks_at_all) => Split::Whole,
            split => split,
        };
        if split == Split::Whole {
            intern_lists(history, 1);
        }
        let values = history.values().clone();
        Multiset { values, init, split }
    }
}

fn items(state: &Collection) -> Box<[ValueId]> {
    state.items().map(ValueId).collect()
}

impl Machine for Multiset {
    type State = Collection;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn go_on_with(&mut self, values: Arc<Values>) {
        self.values = values;
    }

    fn start(&self) -> Collection {
        Collection::of(self.init.iter().map(|value| value.0))
    }

    /// `take` takes the greatest item here; [`successors`](Machine::successors) allows any.
    fn run(&self, state: &Collection, op: &Op) -> Option<Effect<Collection>> {
        match *op {
            Op::Add(value) => Effect::change(Answer::Done, state.with(value.0)),
            Op::Remove(value) if state.count(value.0) > 0 => {
                Effect::change(Answer::Yes, state.without(value.0))
            }
            Op::Remove(_) => Effect::none(Answer::No),
            Op::Take => match state.greatest() {
                Some(item) => Effect::change(Answer::Value(ValueId(item)), state.without(item)),
                None => Effect::none(Answer::Empty),
            },
            Op::Contains(value) => Effect::none(Answer::from_truth(state.count(value.0) > 0)),
            Op::Count(value) => Effect::none(Answer::Number(i64::from(state.count(value.0)))),
            Op::Size => Effect::none(Answer::Number(state.len() as i64)),
            Op::IsEmpty => Effect::none(Answer::from_truth(state.is_empty())),
            Op::Read => Effect::none(Answer::Items(items(state))),
        }
    }

    fn successors(
        &self,
        state: &Collection,
        op: &Op,
        recorded: Option<&Answer>,
    ) -> Next<Collection> {
        match (op, recorded) {
            (Op::Take, Some(Answer::Value(value))) => {
                Next::when(state.count(value.0) > 0, || state.without(value.0))
            }
            (Op::Take, None | Some(Answer::Unrecorded)) if !state.is_empty() => {
                let each = state.counts().into_iter();
                Next::Many(each.map(|(item, _)| state.without(item)).collect())
            }
            _ => match self.run(state, op) {
                Some(effect) if recorded.is_none_or(|ret| self.agrees(op, ret, &effect.answer)) => {
                    Next::One(effect.after.unwrap_or_else(|| state.clone()))
                }
                _ => Next::None,
            },
        }
    }

    fn effects(&self, state: &Collection, op: &Op) -> Vec<Effect<Collection>> {
        let taken = |(item, _): (u32, u32)| Effect {
            answer: Answer::Value(ValueId(item)),
            after: Some(state.without(item)),
        };
        match op {
            Op::Take if !state.is_empty() => state.counts().into_iter().map(taken).collect(),
            _ => self.run(state, op).into_iter().collect(),
        }
    }

    /// What was taken stands in the record as a removal of that.
    fn is_same(&self, called: &Op, returned: &Op) -> bool {
        called == returned || matches!((called, returned), (Op::Take, Op::Remove(_)))
    }

    fn is_borne_out(&self, called: (&Op, &Answer), returned: (&Op, &Answer)) -> bool {
        match (called, returned) {
            ((Op::Take, given), (Op::Remove(told), _)) => *given == Answer::Value(*told),
            _ => self.agrees(called.0, returned.1, called.1),
        }
    }

    fn leaves_unchanged(&self, op: &Op, answer: Option<&Answer>) -> bool {
        match op {
            Op::Add(_) => false,
            Op::Remove(_) => answer == Some(&Answer::No),
            Op::Take => answer == Some(&Answer::Empty),
            Op::Contains(_) | Op::Count(_) | Op::Size | Op::IsEmpty | Op::Read => true,
        }
    }

    fn part(&self, op: &Op) -> Option<u64> {
        match (self.split, named(op)) {
            (Split::Parts, Some(value)) => Some(key_of(&value)),
            _ => None,
        }
    }

    fn swaps(&self, a: &Op, b: &Op) -> bool {
        let reads = |op| self.leaves_unchanged(op, None);
        let adds = |op: &Op| matches!(op, Op::Add(_));
        match (named(a), named(b)) {
            (Some(x), Some(y)) if x != y => true,
            _ => (adds(a) && adds(b)) || (reads(a) && reads(b)),
        }
    }

    fn verb(&self, op: &Op) -> String {
        let show = |value: &ValueId| self.values.get(*value);
        match op {
            Op::Add(value) => format!("add {}", show(value)),
            Op::Remove(value) => format!("remove {}", show(value)),
            Op::Take => "take".to_owned(),
            Op::Contains(value) => format!("contains {}", show(value)),
            Op::Count(value) => format!("multiplicity of {}", show(value)),
            Op::Size => "size".to_owned(),
            Op::IsEmpty => "is_empty".to_owned(),
            Op::Read => "read".to_owned(),
        }
    }

    fn fact(&self, state: &Collection, op: &Op) -> String {
        match named(op) {
            Some(value) => {
                let shown = self.values.get(value);
                format!("the multiset holds {shown} {} times", state.count(value.0))
            }
            None => format!("the multiset is {}", self.describe(state)),
        }
    }

    fn describe(&self, state: &Collection) -> String {
        listed(&self.values, &items(state))
    }

    fn unexplained(&self, operations: &[(&Op, Option<&Answer>)]) -> Option<(usize, String)> {
        unexplained_value(self.init.iter().copied(), operations, |op, ret| match (op, ret) {
            (Op::Add(value), _) => Some(Flow::Brings(*value)),
            (Op::Remove(value) | Op::Contains(value), Some(Answer::Yes)) => {
                Some(Flow::Shows(*value))
            }
            (_, Some(Answer::Value(value))) => Some(Flow::Shows(*value)),
            _ => None,
        })
    }

    fn heap(&self, state: &Collection) -> usize {
        state.own_bytes()
    }
}

fn named(op: &Op) -> Option<ValueId> {
    match *op {
        Op::Add(value) | Op::Remove(value) | Op::Contains(value) | Op::Count(value) => Some(value),
        Op::Take | Op::Size | Op::IsEmpty | Op::Read => None,
    }
}

fn decode_take(recorded: Recorded<'_>) -> Result<Decoded<Op, Answer>, Misfit> {
    let empty = Failure::Speaks(Answer::Empty);
    let decoded = recorded.settle(Op::Take, empty, recorded.taken())?;
    Ok(match decoded {
        Decoded::Completed(_, Answer::Value(value)) => {
            Decoded::Completed(Op::Remove(value), Answer::Yes)
        }
        other => other,
    })
}

impl Vocabulary for Multiset {
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
        match recorded.method(METHODS)? {
            "add" => recorded.settle(Op::Add(recorded.item()?), silent, recorded.done()),
            "remove" if recorded.no_arg().is_err() => {
                let answer = recorded.success(Answer::Yes);
                let op = Op::Remove(recorded.arg()?);
                recorded.settle(op, Failure::Speaks(Answer::No), answer)
            }
            "remove" | "take" => decode_take(recorded),
            "contains" => recorded.settle(Op::Contains(recorded.arg()?), silent, recorded.truth()),
            "multiplicity" => {
                recorded.settle(Op::Count(recorded.arg()?), silent, recorded.number())
            }
            "size" => recorded.settle(Op::Size, silent, recorded.number()),
            "is_empty" => recorded.settle(Op::IsEmpty, silent, recorded.truth()),
            _ => {
                recorded.no_arg()?;
                let answer = recorded.list().map(|answer| match answer {
                    Answer::Items(mut items) => {
                        items.put_in_order();
                        Answer::Items(items)
                    }
                    other => other,
                });
                recorded.settle(Op::Read, silent, answer)
            }
        }
    }
}
