//! Priority queue: the least value leaves first, or, with `max`, the greatest.
//!
//! Values are their own priorities and may repeat. Integers compare as numbers, texts as texts,
//! lists item by item (so `[priority, item]` works, items breaking ties).

use crate::machine::{Answer, Effect, Flow, Machine, listed, unexplained_value};
use crate::registry::{Entry, Parameter, Parameters};
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Vocabulary, interpret,
};
use hashbrown::HashMap;
use seriatim_history::{History, Operation, ValueId, Values};
use std::sync::Arc;

/// A priority queue.
#[derive(Clone, Debug)]
pub struct PriorityQueue {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
    /// The values before the first operation.
    pub init: Vec<ValueId>,
    /// Which value leaves first.
    pub first: First,
    /// The values that may be inserted; those that leave later come first.
    order: Vec<ValueId>,
    ranks: HashMap<ValueId, Rank>,
}

/// Which value leaves a priority queue first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// The least.
    Min,
    /// The greatest.
    Max,
}

/// The place of a value among all that may be inserted; the highest leaves first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rank(u32);

/// An operation of a priority queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Adds a value.
    Insert(Rank),
    /// Takes the first value.
    Extract,
    /// Shows the first value.
    Peek,
    /// The number of values.
    Size,
    /// Whether there is no value.
    IsEmpty,
}

const METHODS: &[Method] = &[
    Method {
        names: &["insert", "add", "push", "enqueue", "enq", "put", "offer"],
        signature: "(value)",
        meaning: "add a value; it is its own priority",
    },
    Method {
        names: &[
            "extract",
            "poll",
            "pop",
            "remove",
            "take",
            "dequeue",
            "deq",
            "extract-min",
            "extract_min",
            "delete-min",
            "delete_min",
            "extract-max",
            "extract_max",
            "delete-max",
            "delete_max",
        ],
        signature: "() -> value",
        meaning: "take the first; nil when empty",
    },
    Method {
        names: &["peek", "first", "top", "min", "max", "find-min", "find-max"],
        signature: "() -> value",
        meaning: "show the first; nil when empty",
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

/// The priority queue in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "priority-queue",
    aliases: &["pqueue", "pq", "heap"],
    meaning: "the least value (with max: the greatest) leaves first",
    parameters: &[
        Parameter::list("init", "[]", "the values at the start"),
        Parameter::flag("max", "the greatest value leaves first"),
        Parameter::flag("min", "the least value leaves first"),
    ],
    methods: METHODS,
    bind: |parameters, history, failures| {
        let queue = PriorityQueue::build(parameters, history);
        interpret("priority-queue", queue, history, failures)
    },
};

impl PriorityQueue {
    /// The priority queue that the parameters describe.
    pub fn build(parameters: &Parameters, history: &mut History) -> Self {
        let init = parameters.items("init", history);
        let first = match parameters.flag("max") {
            true => First::Max,
            false => First::Min,
        };
        let mut inserted: Vec<ValueId> = history.operations().map(|op| op.arg()).collect();
        inserted.extend(&init);
        inserted.sort_unstable();
        inserted.dedup();
        let values = history.values().clone();
        match inserted.iter().all(|&id| values.as_int(id).is_some()) {
            true => inserted.sort_by_key(|&id| values.as_int(id)),
            false => inserted.sort_by_cached_key(|&id| values.get(id)),
        }
        if first == First::Min {
            inserted.reverse();
        }
        let places = inserted.iter().enumerate();
        PriorityQueue {
            values,
            init,
            first,
            ranks: places.map(|(place, &id)| (id, Rank(place as u32))).collect(),
            order: inserted,
        }
    }

    /// A value as this queue's operations name it; `None` for one that the history never inserts.
    pub fn rank(&self, value: ValueId) -> Option<Rank> {
        self.ranks.get(&value).copied()
    }

    /// The value of a rank.
    pub fn value(&self, rank: Rank) -> ValueId {
        self.order[rank.0 as usize]
    }

    fn first(&self, state: &[Rank]) -> Option<ValueId> {
        state.last().map(|&rank| self.value(rank))
    }
}

impl Machine for PriorityQueue {
    /// The ranks in ascending order: the first value to leave stands last.
    type State = Box<[Rank]>;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn start(&self) -> Box<[Rank]> {
        let mut state: Vec<Rank> = self.init.iter().filter_map(|&v| self.rank(v)).collect();
        state.sort_unstable();
        state.into()
    }

    fn run(&self, state: &Box<[Rank]>, op: &Op) -> Option<Effect<Box<[Rank]>>> {
        match *op {
            Op::Insert(rank) => {
                let (less, more) = state.split_at(state.partition_point(|&held| held < rank));
                Effect::change(Answer::Done, [less, &[rank], more].concat().into())
            }
            Op::Extract => match state.split_last() {
                Some((&first, rest)) => {
                    Effect::change(Answer::Value(self.value(first)), rest.into())
                }
                None => Effect::none(Answer::Empty),
            },
            Op::Peek => Effect::none(Answer::from_option(self.first(state))),
            Op::Size => Effect::none(Answer::Number(state.len() as i64)),
            Op::IsEmpty => Effect::none(Answer::from_truth(state.is_empty())),
        }
    }

    fn leaves_unchanged(&self, op: &Op, answer: Option<&Answer>) -> bool {
        match op {
            Op::Insert(_) => false,
            Op::Extract => answer == Some(&Answer::Empty),
            Op::Peek | Op::Size | Op::IsEmpty => true,
        }
    }

    fn swaps(&self, a: &Op, b: &Op) -> bool {
        let inserts = |op: &Op| matches!(op, Op::Insert(_));
        let reads = |op| self.leaves_unchanged(op, None);
        (inserts(a) && inserts(b)) || (reads(a) && reads(b))
    }

    fn verb(&self, op: &Op) -> String {
        match op {
            Op::Insert(rank) => format!("insert {}", self.values.get(self.value(*rank))),
            Op::Extract => "extract".to_owned(),
            Op::Peek => "see first".to_owned(),
            Op::Size => "size".to_owned(),
            Op::IsEmpty => "is_empty".to_owned(),
        }
    }

    fn fact(&self, state: &Box<[Rank]>, op: &Op) -> String {
        let extreme = match self.first {
            First::Min => "least",
            First::Max => "greatest",
        };
        match (op, self.first(state)) {
            (Op::Size, _) => format!("the priority queue holds {}", state.len()),
            (_, Some(first)) => format!("the {extreme} value is {}", self.values.get(first)),
            (_, None) => "the priority queue is empty".to_owned(),
        }
    }

    fn describe(&self, state: &Box<[Rank]>) -> String {
        let ids: Vec<ValueId> = state.iter().rev().map(|&rank| self.value(rank)).collect();
        listed(&self.values, &ids)
    }

    fn unexplained(&self, operations: &[(&Op, Option<&Answer>)]) -> Option<(usize, String)> {
        unexplained_value(self.init.iter().copied(), operations, |op, ret| match (op, ret) {
            (Op::Insert(rank), _) => Some(Flow::Brings(self.value(*rank))),
            (_, Some(Answer::Value(value))) => Some(Flow::Shows(*value)),
            _ => None,
        })
    }

    fn heap(&self, state: &Box<[Rank]>) -> usize {
        size_of_val(&**state)
    }
}

impl Vocabulary for PriorityQueue {
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
            "insert" => match self.rank(recorded.arg()?) {
                Some(rank) => recorded.settle(Op::Insert(rank), Failure::Silent, recorded.done()),
                None => Misfit::expected("a value of the history that the queue was built for"),
            },
            "extract" => recorded.settle(Op::Extract, empty, recorded.taken()),
            "peek" => recorded.settle(Op::Peek, empty, recorded.taken()),
            "size" => recorded.settle(Op::Size, Failure::Silent, recorded.number()),
            _ => recorded.settle(Op::IsEmpty, Failure::Silent, recorded.truth()),
        }
    }
}
