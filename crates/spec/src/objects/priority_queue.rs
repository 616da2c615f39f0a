//! Priority queue: the least value leaves first, or, with `max`, the greatest.
//!
//! Values are their own priorities and may repeat. Numbers compare as numbers, of whatever size and
//! form, texts as texts, lists item by item (so `[priority, item]` works, items breaking ties): see
//! [`Value::compare`]. Values that have no order, a text and a number, are refused.

use crate::catalogue::Entry;
use crate::collection::Collection;
use crate::machine::{Answer, Effect, Flow, Machine, listed, unexplained_value};
use crate::parameters::{Parameter, Parameters};
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Vocabulary, interpret,
};
use hashbrown::HashMap;
use seriatim_history::{History, Operation, Value, ValueId, Values};
use seriatim_limits::InOrder;
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
    ranking: Ranking,
    /// Two values that have no order, if there are such.
    unordered: Option<(ValueId, ValueId)>,
}

/// Which value leaves a priority queue first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// The least.
    Min,
    /// The greatest.
    Max,
}

/// How values and ranks correspond.
#[derive(Clone, Debug)]
enum Ranking {
    /// The values that may be inserted; those that leave later come first.
    Listed(Vec<ValueId>, HashMap<ValueId, Rank>),
    /// Any small integer is its own rank, moved up, or down from the top where the least leaves
    /// first.
    Integers,
}

/// What is added to a small integer, so that it becomes a rank.
const MIDDLE: i64 = 1 << 31;

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
        names: &["insert", "add", "push", "put", "offer"],
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
    Method::size("how many values there are"),
    Method::IS_EMPTY,
];

/// The priority queue in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "priority-queue",
    aliases: &["pqueue", "pq", "heap"],
    meaning: "the least value (with max: the greatest) leaves first",
    parameters: &[
        Parameter::items("the values at the start"),
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
        let inserts = |op: &Operation<'_>| METHODS[0].is(op.method()) && op.arg().is_present();
        let mut inserted: Vec<ValueId> =
            history.operations().filter(inserts).map(|op| op.arg()).collect();
        inserted.extend(&init);
        inserted.put_in_order();
        inserted.dedup();
        let values = history.values().clone();
        let unordered = sort(&mut inserted, &values);
        if first == First::Min {
            inserted.reverse();
        }
        let places = inserted.iter().enumerate();
        let ranks = places.map(|(place, &id)| (id, Rank(place as u32))).collect();
        let ranking = Ranking::Listed(inserted, ranks);
        PriorityQueue { values, init, first, ranking, unordered }
    }

    /// The same queue for operations that insert any small integers, if it has seen nothing else.
    #[must_use]
    pub fn of_integers(self) -> Self {
        let Ranking::Listed(order, _) = &self.ranking else { return self };
        match order.iter().all(|value| value.as_inline_int().is_some()) {
            true => PriorityQueue { ranking: Ranking::Integers, ..self },
            false => self,
        }
    }

    /// A method whose name says which end it means must mean the one that this queue has.
    fn of_this_end(&self, name: &str) -> Result<(), Misfit> {
        let name = name.to_ascii_lowercase();
        match self.first {
            First::Min if name.ends_with("max") => {
                Misfit::expected("an operation on the least value (or take priority-queue(max))")
            }
            First::Max if name.ends_with("min") => {
                Misfit::expected("an operation on the greatest value (or take priority-queue(min))")
            }
            _ => Ok(()),
        }
    }

    /// Refuses an operation that needs an order of values which have none.
    fn ordered(&self, value: Option<ValueId>) -> Result<(), Misfit> {
        let Some((a, b)) = self.unordered else { return Ok(()) };
        let is_one = |value: ValueId| value == a || value == b;
        let from_the_start = [a, b].iter().all(|value| self.init.contains(value));
        if !from_the_start && !value.is_some_and(is_one) {
            return Ok(());
        }
        let (a, b) = (self.values.get(a), self.values.get(b));
        Misfit::expected(format!("priorities that have an order: {a} and {b} have none"))
    }

    /// A value as this queue's operations name it; `None` for one that the history never inserts.
    pub fn rank(&self, value: ValueId) -> Option<Rank> {
        match &self.ranking {
            Ranking::Listed(_, ranks) => ranks.get(&value).copied(),
            Ranking::Integers => {
                let number = value.as_inline_int()?;
                let upwards = u32::try_from(number.checked_add(MIDDLE)?).ok()?;
                Some(Rank(self.turned(upwards)))
            }
        }
    }

    /// A place counted from the end where values leave last.
    fn turned(&self, upwards: u32) -> u32 {
        match self.first {
            First::Max => upwards,
            First::Min => !upwards,
        }
    }

    /// The value of a rank.
    pub fn value(&self, rank: Rank) -> ValueId {
        match &self.ranking {
            Ranking::Listed(order, _) => order[rank.0 as usize],
            Ranking::Integers => {
                let number = i64::from(self.turned(rank.0)) - MIDDLE;
                ValueId::inline_int(number).unwrap_or(ValueId::ABSENT)
            }
        }
    }

    fn first(&self, state: &Collection) -> Option<ValueId> {
        state.greatest().map(|rank| self.value(Rank(rank)))
    }
}

/// Sorts values, the least first; gives two that have no order, if there are such.
fn sort(ids: &mut [ValueId], values: &Values) -> Option<(ValueId, ValueId)> {
    if ids.iter().all(|&id| values.as_int(id).is_some()) {
        ids.put_in_order_by_key(|&id| values.as_int(id));
        return None;
    }
    let mut keyed: Vec<(Value, ValueId)> = ids.iter().map(|&id| (values.get(id), id)).collect();
    keyed.put_in_order_by(|a, b| a.0.arrange(&b.0));
    ids.iter_mut().zip(&keyed).for_each(|(place, (_, id))| *place = *id);
    let unordered = keyed.windows(2).find(|two| two[0].0.compare(&two[1].0).is_none());
    unordered.map(|two| (two[0].1, two[1].1))
}

impl Machine for PriorityQueue {
    /// The ranks: the greatest leaves first.
    type State = Collection;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn go_on_with(&mut self, values: Arc<Values>) {
        self.values = values;
    }

    fn start(&self) -> Collection {
        let ranks = self.init.iter().filter_map(|&value| self.rank(value));
        Collection::of(ranks.map(|rank| rank.0))
    }

    fn run(&self, state: &Collection, op: &Op) -> Option<Effect<Collection>> {
        match *op {
            Op::Insert(rank) => Effect::change(Answer::Done, state.with(rank.0)),
            Op::Extract => match state.greatest() {
                Some(rank) => {
                    let first = self.value(Rank(rank));
                    Effect::change(Answer::Value(first), state.without(rank))
                }
                None => Effect::none(Answer::Empty),
            },
            Op::Peek => Effect::none(Answer::from_option(self.first(state))),
            Op::Size => Effect::none(Answer::Number(state.len() as i64)),
            Op::IsEmpty => Effect::none(Answer::from_truth(state.is_empty())),
        }
    }

    fn answer_in_advance(&self, state: &Collection, op: &Op) -> Option<Answer> {
        (*op == Op::Extract).then(|| Answer::from_option(self.first(state)))
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

    fn fact(&self, state: &Collection, op: &Op) -> String {
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

    fn describe(&self, state: &Collection) -> String {
        let mut ids: Vec<ValueId> = state.items().map(|rank| self.value(Rank(rank))).collect();
        ids.reverse();
        listed(&self.values, &ids)
    }

    fn unexplained(&self, operations: &[(&Op, Option<&Answer>)]) -> Option<(usize, String)> {
        unexplained_value(self.init.iter().copied(), operations, |op, ret| match (op, ret) {
            (Op::Insert(rank), _) => Some(Flow::Brings(self.value(*rank))),
            (_, Some(Answer::Value(value))) => Some(Flow::Shows(*value)),
            _ => None,
        })
    }

    fn heap(&self, state: &Collection) -> usize {
        state.own_bytes()
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
        let method = recorded.method(METHODS)?;
        self.of_this_end(operation.method())?;
        self.ordered((method == "insert").then_some(operation.arg()))?;
        match method {
            "insert" => match self.rank(recorded.item()?) {
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
