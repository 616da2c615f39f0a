//! The history of a container (queue, stack, priority queue) in columns by value.
//!
//! Events are numbered in order; *cell* `x` is the gap just before event `x`, and an operation that
//! is called at event `c` and returns at event `r` owns the cells `c + 1 ..= r`. Everything that
//! the container monitors ask is whether there is a cell such that …, so ranks replace times.
//!
//! Precondition: every value is inserted once. A second insertion is declined; a second removal of
//! a value that was inserted once, or the removal of a value that never was, is a violation.
//! Pending operations that can be forgotten are: queries, and insertions whose value nobody saw
//! (leaving a value out keeps every legal order legal). A pending insertion of a value that
//! somebody saw took effect. Pending removals are kept: see `container_driver`.

use crate::fast::{Declined, Part};
use hashbrown::HashMap;
use seriatim_history::{History, MethodId, OpId, Outcome, Stretch, ValueId};
use seriatim_limits::InOrder;
use seriatim_spec::names;

/// The number of an event in a history.
pub(in crate::fast) type Rank = u32;

/// The return of an operation that never returned.
pub(in crate::fast) const NEVER: Rank = Rank::MAX;

/// A value of the container: its position in the columns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(in crate::fast) struct Item(pub u32);

impl Item {
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<usize> for Item {
    fn from(index: usize) -> Self {
        Item(index as u32)
    }
}

/// An operation with the ranks of its events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fast) struct Span {
    pub op: OpId,
    pub call: Rank,
    pub ret: Rank,
}

impl Span {
    /// No operation.
    pub const NONE: Span = Span { op: OpId(u32::MAX), call: NEVER, ret: NEVER };

    #[inline]
    pub fn exists(&self) -> bool {
        self.op.0 != u32::MAX
    }
}

/// A query that saw a value at the head of the container.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fast) struct Peek {
    pub item: Item,
    pub span: Span,
}

/// What the operations of a container mean.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fast) enum Method {
    /// Adds its argument.
    Insert,
    /// Removes the head and returns it, or `nil` when there is none.
    Remove,
    /// Returns the head, or `nil` when there is none.
    Peek,
    /// Says whether there is no value.
    IsEmpty,
    /// Says how many values there are.
    Size,
}

/// The names of the methods of one kind of container.
pub(in crate::fast) struct Names {
    pub insert: &'static [&'static str],
    pub remove: &'static [&'static str],
    pub peek: &'static [&'static str],
}

/// The names of the query whether there is no value.
pub(in crate::fast) const IS_EMPTY: &[&str] = names("queue", "is_empty");

/// The names of the query how many values there are.
const SIZE: &[&str] = names("queue", "size");

impl Names {
    fn method(&self, name: &str) -> Option<Method> {
        let among = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        if among(self.insert) {
            Some(Method::Insert)
        } else if among(self.remove) {
            Some(Method::Remove)
        } else if among(self.peek) {
            Some(Method::Peek)
        } else if among(SIZE) {
            Some(Method::Size)
        } else {
            among(IS_EMPTY).then_some(Method::IsEmpty)
        }
    }

    /// The methods of a history, by id.
    pub fn methods(&self, history: &History) -> Vec<Option<Method>> {
        (0..history.method_count())
            .map(|id| self.method(history.method_name(MethodId::from(id))))
            .collect()
    }
}

/// What one recorded operation says of a container.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fast) enum Meaning {
    Insert(ValueId),
    Remove(ValueId),
    Peek(ValueId),
    SawEmpty,
    SawValues,
    /// More than none.
    SawSize(i64),
    PendingRemoval,
    Nothing,
}

/// What a recorded operation says.
pub(in crate::fast) fn meaning(
    methods: &[Option<Method>],
    history: &History,
    op: OpId,
) -> Result<Meaning, Declined> {
    let Some(method) = methods[history.method(op).index()] else {
        let method = history.method_name(history.method(op)).to_owned();
        return Err(Declined::UnknownMethod { method });
    };
    let unreadable =
        |expected| Declined::Unreadable { operation: history.operation(op).to_string(), expected };
    let seen = |result: ValueId, saw: fn(ValueId) -> Meaning| match result {
        ValueId::ABSENT => Err(unreadable("a result")),
        ValueId::NIL => Ok(Meaning::SawEmpty),
        value => Ok(saw(value)),
    };
    match (method, history.outcome(op)) {
        (_, Outcome::Failed) => Ok(Meaning::Nothing),
        (Method::Insert, outcome) => match (history.arg(op), history.result(op)) {
            (ValueId::ABSENT | ValueId::NIL, _) => Err(unreadable("a value as argument")),
            (_, ValueId::FALSE) if outcome == Outcome::Ok => {
                Err(unreadable("an insertion that succeeds"))
            }
            (value, _) => Ok(Meaning::Insert(value)),
        },
        (Method::Remove, Outcome::Pending) => Ok(Meaning::PendingRemoval),
        (Method::Peek | Method::IsEmpty | Method::Size, Outcome::Pending) => Ok(Meaning::Nothing),
        (Method::Remove, Outcome::Ok) => seen(history.result(op), Meaning::Remove),
        (Method::Peek, Outcome::Ok) => seen(history.result(op), Meaning::Peek),
        (Method::IsEmpty, Outcome::Ok) => match history.result(op).as_bool() {
            Some(true) => Ok(Meaning::SawEmpty),
            Some(false) => Ok(Meaning::SawValues),
            None => Err(unreadable("true or false as result")),
        },
        (Method::Size, Outcome::Ok) => match history.values().as_int(history.result(op)) {
            Some(0) => Ok(Meaning::SawEmpty),
            Some(count) => Ok(Meaning::SawSize(count)),
            None => Err(unreadable("a number as result")),
        },
    }
}

/// The operations of a container by value.
#[derive(Clone, Debug, Default)]
pub(in crate::fast) struct Container {
    pub values: Vec<ValueId>,
    pub insert: Vec<Span>,
    pub remove: Vec<Span>,
    /// Sorted by item, then by call.
    pub peeks: Vec<Peek>,
    /// Operations that saw the container empty.
    pub empties: Vec<Span>,
    /// Queries that saw that it was not.
    pub nonempties: Vec<Span>,
    /// Queries that saw that it was not, each with a value that was chosen for it to be inside
    /// then.
    pub chosen: Vec<Peek>,
    /// Queries that saw how many values there were, each with the number.
    pub sizes: Vec<(Span, i64)>,
    /// Queries that saw one of several equal values at the head.
    pub loose: Vec<(Span, ValueId)>,
    /// Pending insertions whose value nobody saw.
    pub unseen: Vec<Span>,
    /// Removals without result, in call order.
    pub pending: Vec<Span>,
    /// The number of events.
    pub end: Rank,
}

/// A history that no container of values inserted once explains, whatever its discipline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::fast) enum Flaw {
    /// A value came out that nobody put in.
    NeverInserted { seen: OpId },
    /// A value came out twice.
    RemovedTwice { insert: Option<OpId>, first: OpId, second: OpId },
    /// A value came out before it was put in.
    SeenBeforeInsertion { insert: OpId, seen: OpId },
    /// A value was at the head after it had been removed.
    SeenAfterRemoval { insert: OpId, remove: OpId, seen: OpId },
}

/// Why columns could not be made of a history.
pub(in crate::fast) enum Refusal {
    Declined(Declined),
    Flaw(Flaw),
}

impl From<Declined> for Refusal {
    fn from(declined: Declined) -> Self {
        Refusal::Declined(declined)
    }
}

/// Dense numbers for values: a table where the ids are dense, else a hash map.
pub(in crate::fast) enum Dense {
    /// By [`small_place`].
    Small(Vec<u32>),
    Table(Vec<u32>),
    Map(HashMap<ValueId, u32>),
}

/// Whether a value is nothing, `nil`, a boolean, or an integer that is not negative and small.
#[inline]
fn is_small(id: u32) -> bool {
    id & 3 == 1 || id & !(3 << 2) == 0
}

/// The place of such a value in a table without holes.
#[inline]
fn small_place(id: u32) -> usize {
    ((id >> 2) + ((id & 1) << 2)) as usize
}

impl Dense {
    /// Numbers for the values of a part.
    pub fn new(part: &Part<'_>) -> Self {
        Dense::with(part, ValueId::ABSENT)
    }

    /// Numbers for the values of a part and one more.
    pub fn with(part: &Part<'_>, more: ValueId) -> Self {
        let mut stretch = Stretch::default();
        let mut reach = Reach::default();
        reach.add(more);
        for start in (0..part.len()).step_by(Stretch::LONGEST) {
            part.read_stretch(start, &mut stretch);
            let ids = stretch.arg[..stretch.len].iter().zip(&stretch.result);
            for (&arg, &result) in ids {
                reach.add(ValueId(arg));
                reach.add(ValueId(result));
            }
        }
        reach.dense(part.len())
    }

    /// Numbers for few values with any ids.
    pub fn hashed() -> Self {
        Dense::Map(HashMap::new())
    }

    /// Makes room for so many values, where room is not at hand.
    fn reserve(&mut self, values: usize) {
        if let Dense::Map(map) = self {
            map.reserve(values);
        }
    }

    /// The number of a value, if it has one.
    #[inline]
    pub fn known(&self, value: ValueId) -> Option<u32> {
        let number = match self {
            Dense::Small(table) => table[small_place(value.0)],
            Dense::Table(table) => table[value.0 as usize],
            Dense::Map(map) => return map.get(&value).copied(),
        };
        Some(number).filter(|&number| number != u32::MAX)
    }

    /// The number of a value; `next` if it is new.
    #[inline]
    pub fn number(&mut self, value: ValueId, next: u32) -> u32 {
        let place = match self {
            Dense::Small(table) => &mut table[small_place(value.0)],
            Dense::Table(table) => &mut table[value.0 as usize],
            Dense::Map(map) => return *map.entry(value).or_insert(next),
        };
        if *place == u32::MAX {
            *place = next;
        }
        *place
    }
}

/// How far the ids of some values reach.
#[derive(Clone, Copy)]
pub(in crate::fast) struct Reach {
    largest: u32,
    all_small: bool,
}

impl Default for Reach {
    fn default() -> Self {
        Reach { largest: 0, all_small: true }
    }
}

impl Reach {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: ValueId) {
        self.largest = self.largest.max(value.0);
        self.all_small &= is_small(value.0);
    }

    /// What two reach together.
    pub fn with(self, other: Reach) -> Self {
        let largest = self.largest.max(other.largest);
        Reach { largest, all_small: self.all_small && other.all_small }
    }

    /// Numbers for values that reach so far, in as many operations.
    pub fn dense(self, operations: usize) -> Dense {
        let largest = self.largest as usize;
        match largest < 8 * operations + 64 {
            true if self.all_small => Dense::Small(vec![u32::MAX; (largest >> 2) + 5]),
            true => Dense::Table(vec![u32::MAX; largest + 1]),
            false => Dense::Map(HashMap::new()),
        }
    }
}

/// Reads operations of a container, most of them at a glance.
struct Glance<'p> {
    part: &'p Part<'p>,
    methods: Vec<Option<Method>>,
    /// Whether some operation failed.
    has_failures: bool,
    stretch: Stretch,
    start: usize,
}

impl<'p> Glance<'p> {
    fn new(part: &'p Part<'p>, names: &Names) -> Self {
        Glance {
            part,
            methods: names.methods(part.history),
            has_failures: part.history.has_failures(),
            stretch: Stretch::default(),
            start: 0,
        }
    }

    /// What the operation at a position says; positions ascend one by one.
    #[inline]
    fn meaning(&mut self, position: usize) -> Result<Meaning, Declined> {
        if position >= self.start + self.stretch.len {
            self.start = position;
            self.part.read_stretch(position, &mut self.stretch);
        }
        let (stretch, at) = (&self.stretch, position - self.start);
        if stretch.span[at] != 0 && !self.has_failures {
            let (arg, result) = (stretch.arg[at], stretch.result[at]);
            let is_value = |id: u32| id & !(1 << 2) != 0;
            match self.methods[stretch.method[at] as usize] {
                Some(Method::Insert) if is_value(arg) && result == 0 => {
                    return Ok(Meaning::Insert(ValueId(arg)));
                }
                Some(Method::Remove) if is_value(result) => {
                    return Ok(Meaning::Remove(ValueId(result)));
                }
                _ => {}
            }
        }
        meaning(&self.methods, self.part.history, self.part.operation(position))
    }
}

impl Container {
    /// The columns of a part of a history.
    pub fn read(part: &Part<'_>, names: &Names) -> Result<Self, Refusal> {
        let history = part.history;
        let mut glance = Glance::new(part, names);
        let mut dense = Dense::new(part);
        // As a rule, half of the operations insert a value.
        dense.reserve(part.len() / 2);
        let ranks = part.ranks();
        let mut columns = Container { end: ranks.events, ..Container::default() };
        let mut flaw = None;
        for (position, op) in part.operations().enumerate() {
            let span = ranks.span(position, op);
            match glance.meaning(position)? {
                Meaning::Nothing => {}
                Meaning::Insert(value) => {
                    let item = columns.item(&mut dense, value);
                    if columns.insert[item.index()].exists() {
                        let value = history.values().get(value).to_string();
                        return Err(Declined::RepeatedValue { value }.into());
                    }
                    columns.insert[item.index()] = span;
                }
                Meaning::Remove(value) => {
                    let item = columns.item(&mut dense, value);
                    let place = &mut columns.remove[item.index()];
                    if place.exists() {
                        flaw = Some((item, span.op));
                    } else {
                        *place = span;
                    }
                }
                Meaning::Peek(value) => {
                    let item = columns.item(&mut dense, value);
                    columns.peeks.push(Peek { item, span });
                }
                Meaning::SawEmpty => columns.empties.push(span),
                Meaning::SawValues => columns.nonempties.push(span),
                Meaning::SawSize(count) => columns.sizes.push((span, count)),
                Meaning::PendingRemoval => columns.pending.push(span),
            }
        }
        if let Some((item, second)) = flaw {
            let insert = columns.insert[item.index()];
            let insert = insert.exists().then_some(insert.op);
            let first = columns.remove[item.index()].op;
            return Err(Refusal::Flaw(Flaw::RemovedTwice { insert, first, second }));
        }
        columns.finish()
    }

    fn item(&mut self, dense: &mut Dense, value: ValueId) -> Item {
        let next = self.values.len() as u32;
        let item = dense.number(value, next);
        if item == next {
            self.values.push(value);
            self.insert.push(Span::NONE);
            self.remove.push(Span::NONE);
        }
        Item(item)
    }

    /// Sorts the peeks, refuses values that nobody inserted and forgets pending insertions that
    /// nobody saw.
    fn finish(mut self) -> Result<Self, Refusal> {
        self.peeks.put_in_order_by_key(|peek| peek.item);
        let peeks = self.peeks.iter().map(|peek| (peek.item.index(), peek.span));
        let removes = self.remove.iter().copied().enumerate();
        for (item, seen) in peeks.chain(removes) {
            if seen.exists() && !self.insert[item].exists() {
                return Err(Refusal::Flaw(Flaw::NeverInserted { seen: seen.op }));
            }
        }
        Ok(self.without_unseen())
    }

    /// Forgets pending insertions whose value nobody saw.
    pub fn without_unseen(self) -> Self {
        let seen_or_done =
            |(insert, remove): (&Span, &Span)| insert.ret != NEVER || remove.exists();
        let columns = self.insert.iter().zip(&self.remove);
        let mut keep: Vec<bool> = columns.map(seen_or_done).collect();
        for peek in &self.peeks {
            keep[peek.item.index()] = true;
        }
        match keep.contains(&false) {
            true => self.restricted(&keep),
            false => self,
        }
    }

    /// The columns without some items. Ranks stay as they are.
    fn restricted(&self, keep: &[bool]) -> Self {
        let mut place = vec![0; keep.len()];
        let mut part = Container {
            empties: self.empties.clone(),
            nonempties: self.nonempties.clone(),
            sizes: self.sizes.clone(),
            loose: self.loose.clone(),
            pending: self.pending.clone(),
            end: self.end,
            ..Container::default()
        };
        let gone = keep.iter().enumerate().filter(|&(_, &keep)| !keep);
        let gone = gone.map(|(item, _)| self.insert[item]);
        part.unseen = gone.chain(self.unseen.iter().copied()).collect();
        for (item, _) in keep.iter().enumerate().filter(|&(_, &keep)| keep) {
            place[item] = part.values.len();
            part.values.push(self.values[item]);
            part.insert.push(self.insert[item]);
            part.remove.push(self.remove[item]);
        }
        let kept = self.peeks.iter().filter(|peek| keep[peek.item.index()]);
        part.peeks.extend(kept.map(|peek| Peek { item: place[peek.item.index()].into(), ..*peek }));
        part
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// All values.
    pub fn items(&self) -> impl Iterator<Item = Item> + Clone + use<> {
        (0..self.values.len()).map(Item::from)
    }

    /// The peeks of a value, in call order.
    pub fn peeks_of(&self, item: Item) -> &[Peek] {
        let from = self.peeks.partition_point(|peek| peek.item < item);
        let len = self.peeks[from..].partition_point(|peek| peek.item == item);
        &self.peeks[from..from + len]
    }

    /// How many of the peeks from a place on are of a value, if those of smaller ones lie before.
    pub fn peeks_from(&self, place: usize, item: Item) -> usize {
        self.peeks[place..].iter().take_while(|peek| peek.item == item).count()
    }

    /// Gives a pending removal the value that it removed.
    pub fn assign(&mut self, item: Item, removal: Span) {
        self.remove[item.index()] = Span { ret: self.end, ..removal };
    }
}
