//! Placing queries in a container's history that look at more than one value: `size`, `is_empty`
//! that answered false where nothing forces it, peeks at values that repeat.
//!
//! **Decides**, mostly, whether a history whose insertions, removals and plain peeks are right is
//! still right with such queries. Removals are told apart by the caller: each takes one item.
//!
//! **How.** Breadth first over the events, just in time. A configuration is what is inside, in
//! order, and which of the open operations have taken effect; at a return every configuration is
//! extended until the returning operation has taken effect. What is inside *as a set* is given by
//! the operations that have taken effect, so that queries for the size make no new states: only the
//! order of what is inside does. Three things keep the configurations few. A query that fits takes
//! effect at once: it changes nothing. An insertion is tried only where it is not doomed:
//! - queue: no value that must be ahead of it (`queue`: seen at the front before this one is last
//!   sought there) is still to be enqueued;
//! - stack: none of the values below it must be at the head before it leaves;
//! - priority queue: no removal is open that must take a value from behind it while it is inside.
//!
//! And of the configurations with the same operations done only some orders are kept, those whose
//! removals have to be moved least, and some configurations in all ([`TRIES`]).
//!
//! **Exchanged labels.** Which of two values that were inserted at once is ahead of the other may
//! show only when they leave, long after. So in a second try a value that leaves or is seen at the
//! head may take the place of the one that is there, if each can have been inserted in the other's
//! cell.
//!
//! **Answers.** An order of all operations, found: *yes*. No configuration is left although none
//! was ever given up and nothing was guessed (no pending removal, no repeated value, no pending
//! insertion left out): *no*, since the rules above only drop what cannot be completed. Else
//! nothing is known, and the search has to decide.
//!
//! **Cost.** O(n · configurations). For processes that wait for each other's values only a few.

mod exchange;

use crate::fast::Part;
use crate::fast::containers::container::{Container, Item, NEVER, Rank, Span};
use crate::fast::containers::coverage::Coverage;
use exchange::Fate;
use hashbrown::{HashMap, HashSet};
use seriatim_history::{OpId, ValueId};
use seriatim_limits::InOrder;
use seriatim_limits::checkpoint;
use seriatim_spec::Sequence;
use std::collections::BTreeSet;

/// How to try: how much is kept from one return to the next, and what of the labels.
#[derive(Clone, Copy, Debug)]
struct Try {
    /// Configurations.
    all: usize,
    /// Orders of what is inside for the same operations done.
    orders: usize,
    labels: Labels,
}

/// Whether a value inside stays the one that it was when it was inserted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Labels {
    /// It does.
    Kept,
    /// It may become another one whose insertion could have happened at that moment as well.
    Exchanged,
}

/// What is tried, one after the other.
const TRIES: [Try; 2] = [
    Try { all: 256, orders: 6, labels: Labels::Kept },
    Try { all: 256, orders: 6, labels: Labels::Exchanged },
];

/// How many configurations are looked at for one return, for each that may be kept.
const AT_ONCE: usize = 64;

/// What looking at a configuration costs, in operations of a monitor.
const WORK: usize = 16;

/// How many configurations are looked at in all, besides some for each operation.
const IN_ALL: usize = 500_000;

/// How many configurations are looked at for each operation, on the average.
const FOR_EACH: usize = 100;

/// How many of the values inside an insertion is compared with to see which order displaces least.
const COMPARED: usize = 6;

/// Which value is at the head.
#[derive(Clone, Debug)]
pub(in crate::fast) enum Head {
    Oldest,
    Newest,
    /// The one of the least rank; by item.
    Least(Vec<u32>),
}

/// What became of the weaving.
pub(in crate::fast) enum Placement {
    /// All operations in order.
    Order(Vec<OpId>),
    /// There is no order: the return of this operation cannot be.
    Wrong(OpId),
    /// Nobody knows.
    Open,
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Action {
    Insert(Item),
    Remove(Item),
    SawEmpty,
    SawValues,
    SawSize(i64),
    SawHead(ValueId),
}

impl Action {
    fn is_query(self) -> bool {
        !matches!(self, Action::Insert(_) | Action::Remove(_))
    }
}

/// Weaves all operations of a container, whose removals are all assigned, together.
pub(in crate::fast) fn place_queries(
    part: Part<'_>,
    container: &Container,
    coverage: &Coverage,
    head: &Head,
) -> Placement {
    let has_order =
        |attempt: &&Try| attempt.labels == Labels::Kept || !matches!(head, Head::Least(_));
    let tries = TRIES.iter().filter(has_order);
    let tries =
        tries.map(|&attempt| QuerySearch::new(container, coverage, head, attempt).run(part));
    let mut tries = tries.filter(|placement| !matches!(placement, Placement::Open));
    tries.next().unwrap_or(Placement::Open)
}

#[derive(Clone, Copy)]
enum Edge {
    Call,
    Return,
}

/// Why the weaving stops.
enum Stop {
    Wrong(OpId),
    TooMany,
}

/// A step of an order: an operation behind others; or one takes the place of another among them.
#[derive(Clone, Copy)]
struct Step {
    op: OpId,
    instead: Option<OpId>,
    before: u32,
}

/// A value inside.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Element {
    item: Item,
    /// The cell in which it was inserted, where labels are exchanged.
    at: Rank,
    /// Whether somebody saw it at the head, so that it is what it is.
    is_seen: bool,
}

impl Element {
    /// An item as it is.
    fn plain(item: Item) -> Self {
        Element { item, at: 0, is_seen: false }
    }
}

/// What tells configurations apart.
type Key = (u64, bool, Vec<(Item, Item)>, Sequence);

const NOTHING: u32 = u32::MAX;

#[derive(Clone)]
struct Configuration {
    /// What is inside, in order, as numbers of elements; not kept where the head does not depend on
    /// the order.
    inside: Sequence,
    /// Whether somebody saw the oldest value at the head; where labels are exchanged.
    is_seen: bool,
    /// Items that are to be inserted and will leave as another, which is equal and has left
    /// already.
    renamed: Vec<(Item, Item)>,
    size: i64,
    /// Which open operations, by row, have taken effect.
    done: u64,
    /// How much the removals have to be moved.
    displacement: u32,
    last: u32,
}

impl Configuration {
    fn key(&self) -> Key {
        (self.done, self.is_seen, self.renamed.clone(), self.inside.clone())
    }

    fn is_done(&self, row: usize) -> bool {
        self.done >> row & 1 == 1
    }
}

struct QuerySearch<'c> {
    container: &'c Container,
    coverage: &'c Coverage,
    head: &'c Head,
    attempt: Try,
    actions: Vec<(Action, Span)>,
    /// All elements met; the first ones are the items as they are.
    elements: Vec<Element>,
    numbers: HashMap<Element, u32>,
    by_value: HashMap<ValueId, Vec<Item>>,
    /// By item, the first return of an operation that saw it at the head.
    first_seen: Vec<Rank>,
    /// By rank, the least of these among the items whose insertion is called from there on.
    first_seen_from: Vec<Rank>,
    /// Items that are inside whatever the open operations do, by rank; for [`Head::Least`].
    settled: BTreeSet<(u32, Item)>,
    /// By item, whether its removal is no longer open.
    left: Vec<bool>,
    open: Vec<Option<usize>>,
    configurations: Vec<Configuration>,
    steps: Vec<Step>,
    now: Rank,
    /// Whether nothing was given up or guessed.
    is_exact: bool,
    looked_at: usize,
}

impl<'c> QuerySearch<'c> {
    fn new(container: &'c Container, coverage: &'c Coverage, head: &'c Head, attempt: Try) -> Self {
        let actions = actions(container);
        let mut first_seen: Vec<Rank> = container.remove.iter().map(|remove| remove.ret).collect();
        for peek in &container.peeks {
            let first = &mut first_seen[peek.item.index()];
            *first = peek.span.ret.min(*first);
        }
        let mut first_seen_from = vec![NEVER; container.end as usize + 2];
        for (insert, &first) in container.insert.iter().zip(&first_seen) {
            let place = &mut first_seen_from[insert.call as usize];
            *place = first.min(*place);
        }
        for rank in (0..first_seen_from.len() - 1).rev() {
            first_seen_from[rank] = first_seen_from[rank].min(first_seen_from[rank + 1]);
        }
        let start = Configuration {
            inside: Sequence::default(),
            is_seen: false,
            renamed: Vec::new(),
            size: 0,
            done: 0,
            displacement: 0,
            last: NOTHING,
        };
        let mut by_value: HashMap<ValueId, Vec<Item>> = HashMap::new();
        if attempt.labels == Labels::Exchanged {
            for item in container.items() {
                by_value.entry(container.values[item.index()]).or_default().push(item);
            }
        }
        let is_guessed = attempt.labels == Labels::Exchanged
            || !container.loose.is_empty()
            || !container.unseen.is_empty()
            || container.remove.iter().any(|remove| remove.exists() && remove.ret >= container.end)
            || has_copies(container);
        QuerySearch {
            container,
            coverage,
            head,
            attempt,
            actions,
            elements: container.items().map(Element::plain).collect(),
            numbers: HashMap::new(),
            by_value,
            first_seen,
            first_seen_from,
            settled: BTreeSet::new(),
            left: vec![false; container.len()],
            open: Vec::new(),
            configurations: vec![start],
            steps: Vec::new(),
            now: 0,
            is_exact: !is_guessed && container.pending.is_empty(),
            looked_at: 0,
        }
    }

    fn run(mut self, part: Part<'_>) -> Placement {
        let end = self.container.end;
        let mut events: Vec<Option<(usize, Edge)>> = vec![None; end as usize];
        for (index, &(_, span)) in self.actions.iter().enumerate() {
            events[span.call as usize] = Some((index, Edge::Call));
            if span.ret < end {
                events[span.ret as usize] = Some((index, Edge::Return));
            }
        }
        for (rank, event) in events.into_iter().enumerate() {
            let outcome = match event {
                None => continue,
                Some((action, Edge::Call)) => self.call(action, rank as Rank),
                Some((action, Edge::Return)) => self.ret(action, rank as Rank, part),
            };
            match outcome {
                Ok(()) => {}
                Err(Stop::Wrong(op)) if self.is_exact => return Placement::Wrong(op),
                Err(Stop::Wrong(_) | Stop::TooMany) => return Placement::Open,
            }
        }
        Placement::Order(self.order())
    }

    fn call(&mut self, action: usize, now: Rank) -> Result<(), Stop> {
        self.now = now;
        self.release_rows();
        let row = match self.open.iter().position(Option::is_none) {
            Some(row) => row,
            None if self.open.len() < 64 => {
                self.open.push(None);
                self.open.len() - 1
            }
            None => return Err(Stop::TooMany),
        };
        self.open[row] = Some(action);
        Ok(())
    }

    /// Frees the rows of pending operations that have taken effect in every configuration.
    fn release_rows(&mut self) {
        let done = self.configurations.iter().fold(u64::MAX, |done, other| done & other.done);
        for row in 0..self.open.len() {
            let Some(action) = self.open[row].filter(|_| done >> row & 1 == 1) else {
                continue;
            };
            if self.actions[action].1.ret >= self.container.end {
                self.close(row);
            }
        }
    }

    /// The operation of a row has taken effect in every configuration.
    fn close(&mut self, row: usize) {
        let Some(action) = self.open[row].take() else { return };
        for configuration in &mut self.configurations {
            configuration.done &= !(1 << row);
        }
        let Head::Least(ranks) = self.head else { return };
        match self.actions[action].0 {
            Action::Insert(item) if !self.left[item.index()] => {
                self.settled.insert((ranks[item.index()], item));
            }
            Action::Remove(item) => {
                self.left[item.index()] = true;
                self.settled.remove(&(ranks[item.index()], item));
            }
            _ => {}
        }
    }

    fn ret(&mut self, action: usize, now: Rank, part: Part<'_>) -> Result<(), Stop> {
        self.now = now;
        let Some(row) = self.open.iter().position(|&open| open == Some(action)) else {
            return Ok(());
        };
        let mut seen: HashSet<Key> = HashSet::new();
        let mut after: Vec<Configuration> = Vec::new();
        let mut place_of: HashMap<Key, usize> = HashMap::new();
        let mut work = std::mem::take(&mut self.configurations);
        let before = self.looked_at;
        while let Some(mut configuration) = work.pop() {
            checkpoint();
            self.look(&mut configuration);
            if configuration.is_done(row) {
                let place = *place_of.entry(configuration.key()).or_insert(after.len());
                if place == after.len() {
                    after.push(configuration);
                } else if configuration.displacement < after[place].displacement {
                    after[place] = configuration;
                }
                continue;
            }
            if !seen.insert(configuration.key()) {
                continue;
            }
            self.looked_at += 1;
            let most = IN_ALL + FOR_EACH * self.actions.len();
            if part.spend(WORK).is_err() {
                return Err(Stop::TooMany);
            }
            if self.looked_at - before > AT_ONCE * self.attempt.all || self.looked_at > most {
                return Err(Stop::TooMany);
            }
            self.extend(&configuration, &mut work);
        }
        self.configurations = after;
        self.give_up_some();
        self.close(row);
        match self.configurations.is_empty() {
            true => Err(Stop::Wrong(self.actions[action].1.op)),
            false => Ok(()),
        }
    }

    /// Lets every open query that fits take effect.
    fn look(&mut self, configuration: &mut Configuration) {
        for row in 0..self.open.len() {
            let Some(index) = self.open[row].filter(|_| configuration.done >> row & 1 == 0) else {
                continue;
            };
            let (action, span) = self.actions[index];
            if action.is_query() && self.fits(configuration, action) {
                self.step(configuration, row, span.op);
                if matches!(action, Action::SawHead(_)) && self.attempt.labels == Labels::Exchanged
                {
                    self.see_head(configuration);
                }
            }
        }
    }

    fn step(&mut self, configuration: &mut Configuration, row: usize, op: OpId) {
        self.steps.push(Step { op, instead: None, before: configuration.last });
        configuration.last = self.steps.len() as u32 - 1;
        configuration.done |= 1 << row;
    }

    fn fits(&self, configuration: &Configuration, query: Action) -> bool {
        match query {
            Action::SawEmpty => configuration.size == 0,
            Action::SawValues => configuration.size > 0,
            Action::SawSize(size) => configuration.size == size,
            Action::SawHead(value) => self
                .head(configuration)
                .is_some_and(|item| self.container.values[item.index()] == value),
            Action::Insert(_) | Action::Remove(_) => false,
        }
    }

    /// The item at the head.
    fn head(&self, configuration: &Configuration) -> Option<Item> {
        let item = |id: ValueId| self.elements[id.0 as usize].item;
        let ranks = match self.head {
            Head::Oldest => return configuration.inside.oldest().map(item),
            Head::Newest => return configuration.inside.newest().map(item),
            Head::Least(ranks) => ranks,
        };
        let rows = self.open.iter().enumerate();
        let done = rows.filter(|&(row, _)| configuration.done >> row & 1 == 1);
        let done: Vec<Action> = done.filter_map(|(_, &open)| Some(self.actions[open?].0)).collect();
        let is_gone = |item: Item| self.left[item.index()] || done.contains(&Action::Remove(item));
        let settled = self.settled.iter().copied().find(|&(_, item)| !is_gone(item));
        let entered = done.iter().filter_map(|action| match *action {
            Action::Insert(item) if !is_gone(item) => Some((ranks[item.index()], item)),
            _ => None,
        });
        entered.chain(settled).min().map(|(_, item)| item)
    }

    /// Adds what a configuration can become by one operation.
    fn extend(&mut self, from: &Configuration, work: &mut Vec<Configuration>) {
        for row in 0..self.open.len() {
            let Some(index) = self.open[row].filter(|_| !from.is_done(row)) else { continue };
            let (action, span) = self.actions[index];
            let next = match (action, self.attempt.labels) {
                (Action::Insert(item), _) if !self.is_doomed(from, item) => {
                    Some(self.inserted(from, item))
                }
                (Action::Remove(item), Labels::Kept) if self.may_leave(from, item) => {
                    Some(self.without_head(from))
                }
                (Action::Remove(item), Labels::Kept) => self.without_equal(from, item),
                (Action::Remove(item), Labels::Exchanged) => {
                    self.exchanged(from, item, Fate::Leaves)
                }
                (Action::SawHead(value), Labels::Exchanged) => {
                    let items = self.by_value.get(&value).cloned().unwrap_or_default();
                    let mut items = items.into_iter();
                    items.find_map(|item| self.exchanged(from, item, Fate::IsSeen))
                }
                _ => None,
            };
            if let Some(mut next) = next {
                self.step(&mut next, row, span.op);
                work.push(next);
            }
        }
    }

    fn inserted(&mut self, from: &Configuration, item: Item) -> Configuration {
        let mut next = from.clone();
        let place = next.renamed.iter().position(|&(from, _)| from == item);
        let item = place.map_or(item, |place| next.renamed.remove(place).1);
        next.size += 1;
        if !matches!(self.head, Head::Least(_)) {
            next.displacement += self.displacement(from, item);
            let at = match self.attempt.labels {
                Labels::Kept => 0,
                Labels::Exchanged => self.now,
            };
            let number = self.number(Element { item, at, is_seen: false });
            next.inside = from.inside.push(number);
        }
        next
    }

    fn without_head(&self, from: &Configuration) -> Configuration {
        let inside = match self.head {
            Head::Oldest => from.inside.without_oldest(),
            Head::Newest => from.inside.without_newest(),
            Head::Least(_) => Sequence::default(),
        };
        Configuration { inside, size: from.size - 1, is_seen: false, ..from.clone() }
    }

    /// Whether an item is at the head; where the order does not matter, one that is equal may be.
    fn may_leave(&self, configuration: &Configuration, item: Item) -> bool {
        let Some(head) = self.head(configuration) else { return false };
        match self.head {
            Head::Oldest | Head::Newest => head == item,
            Head::Least(ranks) => {
                head == item
                    || ranks[head.index()] == ranks[item.index()]
                        && self.is_inside(configuration, item)
            }
        }
    }

    /// Whether an item whose removal has not taken effect is inside.
    fn is_inside(&self, configuration: &Configuration, item: Item) -> bool {
        let mut rows = self.open.iter().enumerate();
        let insert = rows.find(|(_, open)| {
            open.is_some_and(|action| self.actions[action].0 == Action::Insert(item))
        });
        match insert {
            Some((row, _)) => configuration.done >> row & 1 == 1,
            None => self.container.insert[item.index()].call < self.now,
        }
    }

    /// Whether no order can go on with an item inserted now.
    fn is_doomed(&self, from: &Configuration, item: Item) -> bool {
        let last_sought = self.coverage.hi[item.index()];
        let item_of = |id: ValueId| self.elements[id.0 as usize].item;
        let waiting = |row: usize| -> Option<(Action, Span)> {
            self.open[row].filter(|_| from.done >> row & 1 == 0).map(|action| self.actions[action])
        };
        let rows = 0..self.open.len();
        match self.head {
            Head::Oldest => {
                let ahead = |other: Item| self.first_seen[other.index()] < last_sought;
                self.first_seen_from[self.now as usize + 1] < last_sought
                    || rows.filter_map(waiting).any(|(action, _)| {
                        matches!(action, Action::Insert(other) if other != item && ahead(other))
                    })
            }
            Head::Newest => {
                let mut below = from.inside.newest_first().take(4 * COMPARED).map(item_of);
                below.any(|below| self.next_sought(from, below) < last_sought)
            }
            Head::Least(ranks) => rows.filter_map(waiting).any(|(action, span)| match action {
                Action::Remove(other) => {
                    ranks[other.index()] > ranks[item.index()] && span.ret < last_sought
                }
                _ => false,
            }),
        }
    }

    /// By when an item must be at the head once more.
    fn next_sought(&self, from: &Configuration, item: Item) -> Rank {
        let waits = |span: Span| {
            let mut rows = self.open.iter().enumerate();
            let row =
                rows.find(|(_, open)| open.is_some_and(|action| self.actions[action].1 == span));
            row.is_none_or(|(row, _)| from.done >> row & 1 == 0)
        };
        let peeks = self.container.peeks_of(item).iter().rev().map(|peek| peek.span);
        let to_come = peeks.take_while(|span| span.ret >= self.now).filter(|&span| waits(span));
        let removal = self.container.remove[item.index()].ret;
        to_come.map(|span| span.ret).fold(removal, Rank::min)
    }

    /// How much an item behind those inside asks of its removal and theirs; nothing where it can be
    /// exchanged.
    fn displacement(&self, from: &Configuration, item: Item) -> u32 {
        let mine = self.container.remove[item.index()];
        let before = from.inside.newest_first().take(COMPARED);
        let before = before.map(|id| self.elements[id.0 as usize]);
        let displacement = before.map(|other| {
            if self.attempt.labels == Labels::Exchanged
                && self.could_be_inserted(item, other.at)
                && self.could_be_inserted(other.item, self.now)
            {
                return 0;
            }
            let theirs = self.container.remove[other.item.index()];
            let (first, second) = match self.head {
                Head::Newest => (mine, theirs),
                _ => (theirs, mine),
            };
            u32::from(first.call > second.call) + u32::from(first.ret > second.ret)
        });
        displacement.sum()
    }

    /// Keeps the configurations that displace least, some for each set of operations done.
    fn give_up_some(&mut self) {
        if self.configurations.len() <= self.attempt.orders {
            return;
        }
        self.configurations
            .put_in_order_by_key(|configuration| (configuration.done, configuration.displacement));
        let mut place = 0;
        let mut before = None;
        let mut ranked: Vec<((usize, u32), Configuration)> = Vec::new();
        for configuration in self.configurations.drain(..) {
            place = if before == Some(configuration.done) { place + 1 } else { 0 };
            before = Some(configuration.done);
            ranked.push(((place, configuration.displacement), configuration));
        }
        let all = ranked.len();
        ranked.retain(|((place, _), _)| *place < self.attempt.orders);
        ranked.put_in_order_by_key(|&(rank, _)| rank);
        ranked.truncate(self.attempt.all);
        self.is_exact &= ranked.len() == all;
        self.configurations.extend(ranked.into_iter().map(|(_, configuration)| configuration));
    }

    fn order(&self) -> Vec<OpId> {
        let mut last = self.configurations.first().map_or(NOTHING, |first| first.last);
        let mut steps = Vec::new();
        while last != NOTHING {
            steps.push(self.steps[last as usize]);
            last = self.steps[last as usize].before;
        }
        let mut order: Vec<OpId> = Vec::with_capacity(steps.len());
        let mut place: HashMap<OpId, usize> = HashMap::new();
        for &Step { op, instead, .. } in steps.iter().rev() {
            let Some(other) = instead else {
                place.insert(op, order.len());
                order.push(op);
                continue;
            };
            let places = (place.remove(&op), place.remove(&other));
            for (at, op) in [(places.0, other), (places.1, op)] {
                if let Some(at) = at {
                    order[at] = op;
                    place.insert(op, at);
                }
            }
        }
        order
    }
}

/// What the operations of a container do.
fn actions(container: &Container) -> Vec<(Action, Span)> {
    let items = || container.items();
    let inserts = items().zip(&container.insert).map(|(item, &span)| (Action::Insert(item), span));
    let removes = items().zip(&container.remove).map(|(item, &span)| (Action::Remove(item), span));
    let mut actions: Vec<(Action, Span)> =
        inserts.chain(removes).filter(|(_, span)| span.exists()).collect();
    let value = |item: Item| container.values[item.index()];
    let peeks = container.peeks.iter();
    actions.extend(peeks.map(|peek| (Action::SawHead(value(peek.item)), peek.span)));
    actions.extend(container.loose.iter().map(|&(span, value)| (Action::SawHead(value), span)));
    actions.extend(container.empties.iter().map(|&span| (Action::SawEmpty, span)));
    actions.extend(container.nonempties.iter().map(|&span| (Action::SawValues, span)));
    actions.extend(container.sizes.iter().map(|&(span, size)| (Action::SawSize(size), span)));
    actions
}

fn has_copies(container: &Container) -> bool {
    let mut seen = HashSet::new();
    !container.values.iter().all(|&value| seen.insert(value))
}
