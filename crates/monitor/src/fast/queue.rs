//! Queue: `enq`, `deq`, `peek` (the front), operations that saw it empty, pending ones.
//!
//! **Decides** whether a history of a first-in-first-out queue whose values are enqueued once each
//! is linearizable.
//!
//! **Theorem.** For a value `v` let `lo`, `hi` be as in `coverage`, and `fo` the first return of an
//! operation that saw it at the front or dequeued it. `a` *must be ahead of* `b` if `lo(a) <
//! in.call(b)` (it is enqueued first) or `fo(a) < hi(b)` (it is at the front first). The history is
//! linearizable iff this relation has no cycle and every operation that saw the queue empty owns a
//! cell that no value covers. Without peeks, cycles of two suffice (the critical pair); with peeks
//! three may be needed: see the test `three_values_may_be_wrong_while_every_two_are_right`.
//!
//! **How.** Values are peeled in a topological order with four sorted lists and one cursor in each:
//! the only values that can hold others back are the one with the least `lo` and the two with the
//! least `fo`. Hence also the core: in a stuck rest every value is held back by one of these three,
//! so that they hold a cycle among themselves. Operations that saw the queue empty are cuts: each
//! splits its cell in two, and what is before the cut and what is behind it are peeled apart, by
//! times that keep them apart.
//!
//! **Cost.** O(n): bucket sorts by event rank.
//!
//! **Precondition.** Distinct values; where they repeat see `queue::repeated`. Pending dequeues are
//! assigned in order as long as no value that is never dequeued was seen at the front (deadlines
//! are then monotone in the order of enqueues), else by branching.
//!
//! **What would make it unsound:** forgetting that a value never dequeued covers the cells up to
//! the very end; taking the least `fo` of *all* values, its own included, for readiness.

mod fate;
mod gaps;
mod gone;
pub mod online;
mod repeated;
mod residents;

use crate::fast::containers::container::{Container, Item, NEVER, Names, Rank, Span};
use crate::fast::containers::container_driver::{Core, Discipline, Show, Words, decide};
use crate::fast::containers::coverage::{Coverage, empty_cells};
use crate::fast::containers::matching::Guess;
use crate::fast::containers::query_search::Head;
use crate::fast::containers::repeated_values;
use crate::fast::structures::buckets::Buckets;
use crate::fast::{Declined, Part};
use crate::sabotage::{Sabotage, is_broken};
use seriatim_history::OpId;
use seriatim_limits::InOrder;
use seriatim_spec::{Claim, names};

/// Decides a part of a queue's history.
pub fn check(part: Part<'_>) -> Result<Claim, Declined> {
    decide(&Queue, part)
}

pub(super) struct Queue;

pub(super) const WORDS: Words = Words {
    object: "queue",
    names: Names {
        insert: names("queue", "enqueue"),
        remove: names("queue", "dequeue"),
        peek: names("queue", "front"),
    },
    inserted: "enqueued",
    removed: "dequeued",
};

/// The values in queue order, and the cells of the operations that saw it empty.
pub(super) struct Plan {
    times: Times,
    order: Vec<Item>,
    empty_cells: Vec<u32>,
}

impl Discipline for Queue {
    type Plan = Plan;

    fn words(&self) -> &'static Words {
        &WORDS
    }

    fn plan(&self, container: &Container, coverage: &Coverage) -> Result<Plan, Core> {
        let empty_cells = empty_cells(container, coverage)?;
        let times = Times::new(container, coverage, &empty_cells);
        match peel(&times) {
            Ok(order) => Ok(Plan { times, order, empty_cells }),
            Err(cycle) if empty_cells.is_empty() => Err(core(cycle)),
            // The cuts hide the cycle: look for it without them.
            Err(cycle) => match peel(&Times::new(container, coverage, &[])) {
                Ok(_) => unreachable!("cuts at uncovered cells make no cycle: {cycle:?}"),
                Err(cycle) => Err(core(cycle)),
            },
        }
    }

    fn order(&self, container: &Container, coverage: &Coverage, plan: Plan) -> Vec<OpId> {
        merge(container, coverage, &plan)
    }

    fn assigns_in_order(&self, container: &Container) -> bool {
        let removed = |item: Item| container.remove[item.index()].exists();
        container.peeks.iter().all(|peek| removed(peek.item))
    }

    fn head(&self, _: &Container) -> Head {
        Head::Oldest
    }

    fn repeated(&self, part: Part<'_>) -> Result<Claim, Declined> {
        if let Some(violation) = repeated_values::among_single(self, part)? {
            return Ok(violation);
        }
        // Pending dequeues are a choice for the pairs of frontiers at every step, and for a guess
        // only where it is stuck.
        match part.operations().any(|op| part.history.ret(op).is_none()) {
            true => repeated_values::decide(self, part, Guess::Earliest)
                .or_else(|_| repeated::decide(part)),
            false => repeated::decide(part),
        }
    }

    fn explain(&self, container: &Container, coverage: &Coverage, show: &Show<'_>) -> String {
        let times = Times::new(container, coverage, &[]);
        let items = || (0..container.len()).map(Item::from);
        for (a, b) in items().flat_map(|a| items().map(move |b| (a, b))) {
            let entered = times.lo[a.index()] < times.enter[b.index()];
            if a != b && entered && times.fo[b.index()] < times.hi[a.index()] {
                let (a_text, b_text) = (show.value(a), show.value(b));
                return match container.remove[a.index()].exists() {
                    true => format!(
                        "{a_text} was in the queue before {b_text} was enqueued, but {b_text} was \
                         at the front before {a_text} was dequeued"
                    ),
                    false => format!(
                        "{a_text} was in the queue before {b_text} was enqueued and never left, \
                         but {b_text} was at the front"
                    ),
                };
            }
        }
        let values = show.values(items());
        format!("the operations put {values} each in front of another, in a circle")
    }
}

fn core(items: Vec<Item>) -> Core {
    Core { items, empty: None }
}

/// The moments that the relation compares, by value.
pub(super) struct Times {
    /// The call of the enqueue.
    enter: Vec<Rank>,
    lo: Vec<Rank>,
    /// The first return of an operation that saw it at the front.
    fo: Vec<Rank>,
    hi: Vec<Rank>,
    /// Cells that are cut, ascending; each makes its cell three.
    cuts: Vec<u32>,
    end: Rank,
}

impl Times {
    fn new(container: &Container, coverage: &Coverage, empty_cells: &[u32]) -> Self {
        let mut fo: Vec<Rank> = container.remove.iter().map(|remove| remove.ret).collect();
        for peek in &container.peeks {
            let first = &mut fo[peek.item.index()];
            *first = peek.span.ret.min(*first);
        }
        let mut cuts = empty_cells.to_vec();
        cuts.put_in_order();
        cuts.dedup();
        let mut times = Times {
            enter: container.insert.iter().map(|insert| insert.call).collect(),
            lo: coverage.lo.clone(),
            fo,
            hi: coverage.hi.clone(),
            end: container.end + 2 * cuts.len() as Rank,
            cuts,
        };
        if !times.cuts.is_empty() {
            times.cut();
        }
        times
    }

    /// How many cuts are at cells up to that of a rank.
    fn cuts_until(&self, rank: Rank) -> u32 {
        self.cuts.partition_point(|&cut| cut <= rank) as u32
    }

    /// A rank, numbered with the cuts.
    fn moved(&self, rank: Rank) -> Rank {
        match rank {
            NEVER => NEVER,
            _ => rank + 2 * self.cuts_until(rank),
        }
    }

    /// The last cell, numbered with the cuts, in which values in front of cut number `cut` may act:
    /// the first third of the cell that is cut.
    fn before(&self, cut: u32) -> Rank {
        match self.cuts.get(cut as usize) {
            Some(&cell) => cell + 2 * cut,
            None => NEVER,
        }
    }

    /// The rank after which values in front of cut number `cut` and behind the previous one may
    /// act.
    fn from(&self, cut: u32) -> Rank {
        match cut {
            0 => 0,
            _ => self.before(cut - 1) + 1,
        }
    }

    /// Numbers the times with the cuts, and keeps each value between its two cuts.
    fn cut(&mut self) {
        for item in 0..self.lo.len() {
            let part = self.cuts_until(self.hi[item]);
            let (from, until) = (self.from(part), self.before(part));
            self.enter[item] = self.moved(self.enter[item]).max(from);
            self.lo[item] = self.moved(self.lo[item]).min(until);
            self.fo[item] = self.moved(self.fo[item]).min(until);
            self.hi[item] = self.moved(self.hi[item]);
        }
    }
}

/// The values sorted by a time.
struct Sorted {
    items: Vec<u32>,
    cursor: usize,
}

impl Sorted {
    fn by(times: &[Rank], end: Rank, room: &mut Vec<u32>) -> Self {
        let pairs = times.iter().zip(0..).map(|(&time, item)| (time.min(end), item));
        let sorted = Buckets::reusing(std::mem::take(room), end as usize + 1, pairs);
        let (items, left) = sorted.into_parts();
        *room = left;
        Sorted { items, cursor: 0 }
    }

    /// The item at a position.
    #[inline]
    fn get(&self, position: usize) -> Option<Item> {
        self.items.get(position).map(|&item| Item(item))
    }

    /// The first item from position `from` on that is not done.
    fn first(&self, from: usize, done: &[u8]) -> usize {
        let rest = self.items[from..].iter();
        from + rest.take_while(|item| done[**item as usize] & DONE != 0).count()
    }
}

const IN_READY: u8 = 1;
const OUT_READY: u8 = 2;
const DONE: u8 = 4;

/// The values in an order that respects who must be ahead of whom, or a cycle.
fn peel(times: &Times) -> Result<Vec<Item>, Vec<Item>> {
    let mut room = Vec::new();
    let mut by_lo = Sorted::by(&times.lo, times.end, &mut room);
    let mut by_fo = Sorted::by(&times.fo, times.end, &mut room);
    let mut by_enter = Sorted::by(&times.enter, times.end, &mut room);
    let mut by_hi = Sorted::by(&times.hi, times.end, &mut room);
    let count = times.lo.len();
    let mut marks = vec![0u8; count];
    let mut ready = Vec::new();
    let mut order = Vec::with_capacity(count);
    let mut second = 0;
    let mark = |marks: &mut [u8], ready: &mut Vec<Item>, item: Item, bit: u8| {
        let was = marks[item.index()];
        marks[item.index()] = was | bit;
        if was != was | bit && was | bit == IN_READY | OUT_READY {
            ready.push(item);
        }
    };
    while order.len() < count {
        by_lo.cursor = by_lo.first(by_lo.cursor, &marks);
        by_fo.cursor = by_fo.first(by_fo.cursor, &marks);
        second = by_fo.first(second.max(by_fo.cursor + 1), &marks);
        let first = Item(by_fo.items[by_fo.cursor]);
        let least_lo = times.lo[by_lo.items[by_lo.cursor] as usize];
        let least_fo = times.fo[first.index()];
        let second_fo = by_fo.get(second).map(|item| times.fo[item.index()]);
        while let Some(item) = by_enter.get(by_enter.cursor)
            && is_in_time(times.enter[item.index()], least_lo)
        {
            by_enter.cursor += 1;
            mark(&mut marks, &mut ready, item, IN_READY);
        }
        while let Some(item) = by_hi.get(by_hi.cursor)
            && is_in_time(times.hi[item.index()], least_fo)
        {
            by_hi.cursor += 1;
            mark(&mut marks, &mut ready, item, OUT_READY);
        }
        if second_fo.is_none_or(|second| times.hi[first.index()] <= second) {
            mark(&mut marks, &mut ready, first, OUT_READY);
        }
        let Some(item) = ready.pop() else {
            let lowest = Item(by_lo.items[by_lo.cursor]);
            let second = by_fo.get(second);
            return Err(cycle(times, lowest, first, second));
        };
        marks[item.index()] |= DONE;
        order.push(item);
    }
    Ok(order)
}

/// Whether nothing holds a value back whose time this is.
#[inline]
fn is_in_time(time: Rank, least: Rank) -> bool {
    time <= least || is_broken(Sabotage::SwappedComparison)
}

/// The cycle among the values that hold back all others of a stuck rest.
fn cycle(times: &Times, lowest: Item, first: Item, second: Option<Item>) -> Vec<Item> {
    let ahead = |a: Item, b: Item| {
        let (a, b) = (a.index(), b.index());
        a != b && (times.lo[a] < times.enter[b] || times.fo[a] < times.hi[b])
    };
    let mut three = vec![lowest, first];
    three.extend(second);
    three.put_in_order();
    three.dedup();
    for (index, &a) in three.iter().enumerate() {
        for &b in &three[..index] {
            if ahead(a, b) && ahead(b, a) {
                return vec![b, a];
            }
        }
    }
    three
}

/// The order of the operations: enqueues and dequeues each in queue order, as early as they may,
/// merged by cell.
fn merge(container: &Container, coverage: &Coverage, plan: &Plan) -> Vec<OpId> {
    let times = &plan.times;
    let mut ins: Vec<(Rank, OpId)> = Vec::with_capacity(plan.order.len());
    let mut outs: Vec<(Rank, OpId)> = Vec::with_capacity(plan.order.len());
    let (mut enter, mut leave) = (0, 0);
    for &item in &plan.order {
        let index = item.index();
        enter = enter.max(times.enter[index] + 1);
        ins.push((enter, container.insert[index].op));
        leave = leave.max(enter);
        let from = times.from(times.cuts_until(coverage.hi[index]));
        let mut out = |span: Span| {
            leave = leave.max(times.moved(span.call).max(from) + 1);
            outs.push((leave, span.op));
        };
        if !container.peeks.is_empty() {
            container.peeks_of(item).iter().for_each(|peek| out(peek.span));
        }
        if container.remove[index].exists() {
            out(Span { call: coverage.hi[index], ..container.remove[index] });
        }
    }
    let cell = |cell: u32| times.before(times.cuts_until(cell) - 1) + 1;
    let cells = plan.empty_cells.iter().map(|&empty| cell(empty));
    let ops = container.empties.iter().map(|empty| empty.op);
    let mut empties: Vec<(Rank, OpId)> = cells.zip(ops).collect();
    empties.put_in_order();
    merge_by_cell(&ins, &outs, &empties)
}

/// Merges lists that are sorted by cell; in one cell the earlier list comes first.
fn merge_by_cell(
    ins: &[(Rank, OpId)],
    outs: &[(Rank, OpId)],
    empties: &[(Rank, OpId)],
) -> Vec<OpId> {
    let mut merged = Vec::with_capacity(ins.len() + outs.len() + empties.len());
    let (mut ins, mut outs, mut empties) = (ins.iter(), outs.iter(), empties.iter());
    let cell = |list: &std::slice::Iter<'_, (Rank, OpId)>| {
        list.as_slice().first().map_or(Rank::MAX, |&(cell, _)| cell)
    };
    loop {
        let (a, b, c) = (cell(&ins), cell(&outs), cell(&empties));
        let next = if a <= b && a <= c {
            ins.next()
        } else if b <= c {
            outs.next()
        } else {
            empties.next()
        };
        match next {
            Some(&(_, op)) => merged.push(op),
            None => return merged,
        }
    }
}
