//! Priority queue: `insert`, `extract`, `peek`, operations that saw it empty, pending ones.
//!
//! **Decides** whether a history of a priority queue whose values are inserted once each is
//! linearizable; the values are their own priorities.
//!
//! **Theorem.** The history is linearizable iff every peek and extraction of `v` owns a cell at
//! which no value that comes out before `v` is certainly inside (a *good* cell of `v`), and every
//! operation that saw the queue empty owns a cell that no value covers. Insertions are never in the
//! way: where `v` has to be inside beyond its coverage to serve an operation at `x`, every cell
//! between is bad, that is, holds a value that already blocks whatever `v` could block.
//!
//! **How.** One sweep over the events with the set of critical values, a bitmap by priority whose
//! maximum takes a few steps, and a heap of the values that operations wait for.
//!
//! **Cost.** O(n log n) for sorting the values by priority, then O(n log₆₄ n).
//!
//! **Precondition.** Distinct values; where they repeat see `repeated_values`. Pending extractions
//! by branching (`container_driver`).
//!
//! **What would make it unsound:** any cell for the order that is not the good one nearest to the
//! coverage.

use crate::fast::containers::container::{Container, Item, NEVER, Names, Rank, Span};
use crate::fast::containers::container_driver::{Core, Discipline, Show, Words, decide};
use crate::fast::containers::coverage::{Coverage, chain_over, empty_cells};
use crate::fast::containers::matching::Guess;
use crate::fast::containers::query_search::Head;
use crate::fast::containers::repeated_values;
use crate::fast::structures::bit_tree::BitTree;
use crate::fast::structures::buckets::Buckets;
use crate::fast::structures::radix;
use crate::fast::structures::range_min::RangeMin;
use crate::fast::{Declined, Part};
use seriatim_history::{History, OpId, Stretch, Value, ValueId};
use seriatim_limits::InOrder;
use seriatim_spec::{Claim, names};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Which value comes out first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// The largest.
    LargestFirst,
    /// The smallest.
    SmallestFirst,
}

/// Decides a part of a priority queue's history.
pub fn check(part: Part<'_>, priority: Priority) -> Result<Claim, Declined> {
    let history = part.history;
    if let Some(unordered) = unordered(&part) {
        return Err(Declined::Unreadable {
            operation: history.operation(unordered).to_string(),
            expected: "priorities that have an order",
        });
    }
    decide(&PriorityQueue { history, priority }, part)
}

/// An operation with an argument that has no order with another's; the specification refuses it.
fn unordered(part: &Part<'_>) -> Option<OpId> {
    let history = part.history;
    let is_plain = |arg: ValueId| !arg.is_present() || arg.as_inline_int().is_some();
    let mut stretch = Stretch::default();
    let all_plain = (0..part.len()).step_by(Stretch::LONGEST).all(|start| {
        part.read_stretch(start, &mut stretch);
        stretch.arg[..stretch.len].iter().all(|&arg| is_plain(ValueId(arg)))
    });
    if all_plain {
        return None;
    }
    let with_arg = part.operations().filter(|&op| history.arg(op).is_present());
    let mut keyed: Vec<(Value, OpId)> =
        with_arg.map(|op| (history.values().get(history.arg(op)), op)).collect();
    keyed.put_in_order_by(|a, b| a.0.arrange(&b.0));
    let neighbours = keyed.windows(2).find(|two| two[0].0.compare(&two[1].0).is_none());
    neighbours.map(|two| two[1].1)
}

pub(in crate::fast) struct PriorityQueue<'h> {
    pub history: &'h History,
    pub priority: Priority,
}

const WORDS: Words = Words {
    object: "priority queue",
    names: Names {
        insert: names("priority-queue", "insert"),
        remove: names("priority-queue", "extract"),
        peek: names("priority-queue", "peek"),
    },
    inserted: "inserted",
    removed: "extracted",
};

/// The cells in which the operations happen.
pub(in crate::fast) struct Plan {
    lives: Vec<Life>,
    /// The removals in the order of their cells; right where there are no peeks.
    served: Vec<Served>,
    /// The values in the order of the events by which they are inside, each with that event.
    entered: Vec<(Rank, Item)>,
    peeked: Vec<Rank>,
    empty_cells: Vec<u32>,
}

/// What the sweep has to know of a value, together: in a large queue it is far from the last one's.
#[derive(Clone, Copy)]
struct Life {
    lo: Rank,
    hi: Rank,
    /// The place of the value when what comes out last is first.
    place: u32,
    /// The removal, if there is one, and its return.
    op: OpId,
    ret: Rank,
    /// The cell of the removal; 0 while it is not found.
    removed: Rank,
}

/// How many events are looked at together.
const AHEAD: usize = 32;

impl Life {
    /// No value.
    const NONE: Life = Life { lo: 0, hi: 0, place: 0, op: Span::NONE.op, ret: 0, removed: 0 };

    #[inline]
    fn ends(&self) -> bool {
        self.op != Span::NONE.op
    }
}

/// A removal in its cell.
#[derive(Clone, Copy)]
struct Served {
    cell: Rank,
    place: u32,
    item: Item,
    op: OpId,
    lo: Rank,
}

impl Discipline for PriorityQueue<'_> {
    type Plan = Plan;

    fn words(&self) -> &'static Words {
        &WORDS
    }

    fn plan(&self, container: &Container, coverage: &Coverage) -> Result<Plan, Core> {
        let empty_cells = empty_cells(container, coverage)?;
        let by_priority = self.sorted(&container.values);
        let sweep = Sweep::new(container, coverage, &by_priority);
        sweep.run(empty_cells)
    }

    fn order(&self, container: &Container, coverage: &Coverage, plan: Plan) -> Vec<OpId> {
        order(container, coverage, &plan)
    }

    fn assigns_in_order(&self, _: &Container) -> bool {
        false
    }

    fn head(&self, container: &Container) -> Head {
        let sorted = self.sorted(&container.values).items;
        let mut ranks = vec![0; container.len()];
        let (mut rank, mut before) = (0, None);
        for item in sorted.into_iter().rev() {
            let value = container.values[item.index()];
            rank += u32::from(before.is_some_and(|before| before != value));
            before = Some(value);
            ranks[item.index()] = rank;
        }
        Head::Least(ranks)
    }

    fn repeated(&self, part: Part<'_>) -> Result<Claim, Declined> {
        repeated_values::decide(self, part, Guess::Earliest)
    }

    fn explain(&self, container: &Container, coverage: &Coverage, show: &Show<'_>) -> String {
        let by_priority = self.sorted(&container.values);
        let Err(core) = Sweep::new(container, coverage, &by_priority).run(Vec::new()) else {
            return "no order of the insertions and extractions is possible".to_owned();
        };
        let (late, ahead) = (core.items[0], &core.items[1..]);
        let late = show.value(late);
        let values = show.values(ahead.iter().copied());
        match ahead.len() {
            1 => format!(
                "{late} came out while {values}, which goes before it, was inside all the time"
            ),
            _ => format!(
                "{late} came out while at every moment one of {values}, which go before it, was inside"
            ),
        }
    }
}

impl PriorityQueue<'_> {
    /// The values, the one that comes out last first.
    fn sorted(&self, ids: &[ValueId]) -> Sorted {
        let values = self.history.values();
        let mut sorted = match ids.iter().all(|id| id.as_inline_int().is_some()) {
            true => sort_by_number(ids),
            false => {
                let mut keyed: Vec<(Value, Item)> =
                    ids.iter().map(|&id| values.get(id)).zip((0..).map(Item)).collect();
                keyed.put_in_order_by(|a, b| a.0.arrange(&b.0));
                let items: Vec<Item> = keyed.into_iter().map(|(_, item)| item).collect();
                let id = |item: Item| ids[item.index()];
                let differ = items.windows(2).all(|two| id(two[0]) != id(two[1]));
                Sorted { items, differ }
            }
        };
        if self.priority == Priority::SmallestFirst {
            sorted.items.reverse();
        }
        sorted
    }
}

/// Values by priority, the one that comes out last first.
struct Sorted {
    items: Vec<Item>,
    /// Whether no two are equal.
    differ: bool,
}

/// Sorts values that are small integers.
fn sort_by_number(ids: &[ValueId]) -> Sorted {
    let numbers = || ids.iter().map(|id| id.as_inline_int().unwrap_or(0));
    let least = numbers().min().unwrap_or(0);
    let keyed = numbers().zip(0..).map(|(number, item)| ((number - least) as u32, item));
    let keyed = radix::sort_by_number(keyed.collect());
    let differ = keyed.windows(2).all(|two| two[0].0 != two[1].0);
    Sorted { items: keyed.into_iter().map(|(_, item)| Item(item)).collect(), differ }
}

/// No operation.
const NONE: u32 = u32::MAX;

/// The sweep over the events.
struct Sweep<'c> {
    container: &'c Container,
    coverage: &'c Coverage,
    by_priority: &'c [Item],
    lives: Vec<Life>,
    served: Vec<Served>,
    entered: Vec<(Rank, Item)>,
    /// By place, the first and the last place of an equal value; empty if all values differ.
    equals: Vec<(u32, u32)>,
    /// By event, the value of its operation.
    who: Vec<u32>,
    /// Places of the values that are certainly inside.
    inside: BitTree,
    /// The values that operations wait for, with their places; some more than once.
    wanted: BinaryHeap<(u32, Item)>,
    /// By peek, a good cell; 0 while it is not found.
    peeked: Vec<Rank>,
    /// By value, the first of the peeks that wait for it; by peek, the next.
    first_waiting: Vec<u32>,
    next_waiting: Vec<u32>,
    /// By cell, the largest place inside plus one; only where there are peeks.
    most: Vec<u32>,
}

impl<'c> Sweep<'c> {
    fn new(container: &'c Container, coverage: &'c Coverage, sorted: &'c Sorted) -> Self {
        let by_priority = &sorted.items[..];
        let count = container.len();
        let mut lives: Vec<Life> = Vec::with_capacity(count);
        for (index, &Span { op, ret, .. }) in container.remove.iter().enumerate() {
            let (lo, hi) = (coverage.lo[index], coverage.hi[index]);
            lives.push(Life { lo, hi, place: 0, op, ret, removed: 0 });
        }
        for (index, item) in by_priority.iter().enumerate() {
            lives[item.index()].place = index as u32;
        }
        let mut who = vec![NONE; container.end as usize + 1];
        let mut note = |item: usize, span: &Span| {
            who[span.call as usize] = item as u32;
            if span.ret < container.end {
                who[span.ret as usize] = item as u32;
            }
        };
        for (item, span) in container.insert.iter().enumerate() {
            note(item, span);
        }
        for (item, span) in container.remove.iter().enumerate() {
            if span.exists() {
                note(item, span);
            }
        }
        for peek in container.peeks.iter().chain(&container.chosen) {
            note(peek.item.index(), &peek.span);
        }
        let has_peeks = !container.peeks.is_empty();
        Sweep {
            container,
            coverage,
            by_priority,
            lives,
            served: Vec::with_capacity(count),
            entered: Vec::with_capacity(count),
            equals: if sorted.differ { Vec::new() } else { equals(by_priority, &container.values) },
            who,
            inside: BitTree::new(count),
            wanted: BinaryHeap::new(),
            peeked: vec![0; container.peeks.len()],
            first_waiting: vec![NONE; if has_peeks { count } else { 0 }],
            next_waiting: vec![NONE; container.peeks.len()],
            most: Vec::new(),
        }
    }

    /// Good cells for removals and peeks, or the values that leave an operation without any.
    fn run(mut self, empty_cells: Vec<u32>) -> Result<Plan, Core> {
        let container = self.container;
        let has_peeks = !container.peeks.is_empty();
        let [begins, ends] = self.peek_events();
        let (mut begins, mut ends) = (begins.iter().peekable(), ends.iter().peekable());
        if has_peeks {
            self.most.reserve_exact(container.end as usize + 1);
            self.most.push(0);
        }
        let mut ahead = [Life::NONE; AHEAD];
        for event in 0..container.end {
            let turn = event as usize % AHEAD;
            if turn == 0 {
                self.look_ahead(event as usize, &mut ahead);
            }
            while let Some(&(_, peek)) = ends.next_if(|peek| peek.0 == event) {
                self.ends(self.peeked[peek as usize], self.peek_span(peek), peek)?;
            }
            let who = self.who[event as usize];
            if who != NONE {
                self.value_event(Item(who), ahead[turn], event)?;
            }
            while let Some(&(_, peek)) = begins.next_if(|peek| peek.0 == event) {
                self.wait(peek);
            }
            self.serve(event + 1);
            if has_peeks {
                self.most.push(self.inside.max().map_or(0, |place| place + 1));
            }
        }
        // What removes at the end, a pending operation, is served there: nothing returns any more.
        if let Some(item) = self.lives.iter().position(|life| life.ends() && life.removed == 0) {
            return Err(self.blocked(item.into(), self.removal(item.into())));
        }
        if has_peeks {
            self.nearest();
        }
        let Sweep { lives, served, entered, peeked, .. } = self;
        Ok(Plan { lives, served, entered, peeked, empty_cells })
    }

    /// The first and the last place of values equal to the one at a place.
    #[inline]
    fn equal_places(&self, place: u32) -> (u32, u32) {
        match self.equals.is_empty() {
            true => (place, place),
            false => self.equals[place as usize],
        }
    }

    /// The removal of a value from the moment at which it may happen.
    fn removal(&self, item: Item) -> Span {
        Span { call: self.coverage.hi[item.index()], ..self.container.remove[item.index()] }
    }

    /// A peek within the life of its value.
    fn peek_span(&self, peek: u32) -> Span {
        let peek = self.container.peeks[peek as usize];
        let item = peek.item.index();
        Span {
            op: peek.span.op,
            call: peek.span.call.max(self.container.insert[item].call),
            ret: peek.span.ret.min(self.container.remove[item].ret),
        }
    }

    /// The peeks with the events at which they begin and end, by event.
    fn peek_events(&self) -> [Vec<(Rank, u32)>; 2] {
        let by = |event: fn(Span) -> Rank| {
            let peeks = 0..self.container.peeks.len() as u32;
            radix::sort_by_number(peeks.map(|p| (event(self.peek_span(p)), p)).collect())
        };
        [by(|span| span.call), by(|span| span.ret)]
    }

    fn ends(&self, cell: Rank, span: Span, peek: u32) -> Result<(), Core> {
        match cell {
            0 => Err(self.blocked(self.container.peeks[peek as usize].item, span)),
            _ => Ok(()),
        }
    }

    /// Copies what is known of the values of the next events. In a large queue each is far from the
    /// last: read one after the other without a decision in between, the processor fetches them
    /// together.
    #[inline]
    fn look_ahead(&self, event: usize, ahead: &mut [Life; AHEAD]) {
        for (life, &who) in ahead.iter_mut().zip(&self.who[event..]) {
            if who != NONE {
                *life = self.lives[who as usize];
            }
        }
    }

    /// An event of a value's operation; what may have changed since `life` was copied is not in it.
    #[inline]
    fn value_event(&mut self, item: Item, life: Life, event: Rank) -> Result<(), Core> {
        if life.ret == event && self.lives[item.index()].removed == 0 {
            return Err(self.blocked(item, self.removal(item)));
        }
        if event == life.lo {
            self.entered.push((event, item));
        }
        if event == life.hi {
            if life.lo < life.hi {
                self.inside.remove(life.place);
            }
            if life.ends() {
                self.wanted.push((life.place, item));
            }
        } else if event == life.lo && life.lo < life.hi {
            self.inside.insert(life.place);
        }
        Ok(())
    }

    fn wait(&mut self, peek: u32) {
        let item = self.container.peeks[peek as usize].item.index();
        self.next_waiting[peek as usize] = std::mem::replace(&mut self.first_waiting[item], peek);
        self.wanted.push((self.lives[item].place, Item::from(item)));
    }

    /// Serves whatever no value inside goes before.
    #[inline]
    fn serve(&mut self, cell: Rank) {
        let least = self.inside.max().map_or(0, |place| self.equal_places(place).0);
        while let Some((_, item)) = self.wanted.peek().copied().filter(|&(place, _)| place >= least)
        {
            self.wanted.pop();
            let index = item.index();
            let life = &mut self.lives[index];
            if life.hi < cell && life.ends() && life.removed == 0 {
                life.removed = cell;
                let Life { place, op, lo, .. } = *life;
                self.served.push(Served { cell, place, item, op, lo });
            }
            if let Some(first) = self.first_waiting.get_mut(index) {
                let mut peek = std::mem::replace(first, NONE);
                while peek != NONE {
                    self.peeked[peek as usize] = cell;
                    peek = self.next_waiting[peek as usize];
                }
            }
        }
    }

    /// An operation for a value has no good cell: the values that block every one of its cells.
    fn blocked(&self, item: Item, span: Span) -> Core {
        let (_, last) = self.equal_places(self.lives[item.index()].place);
        let before = self.by_priority[last as usize + 1..].iter().copied();
        let mut items = vec![item];
        items.extend(chain_over(self.coverage, span, before));
        Core { items, empty: None }
    }

    /// Moves every peek to the good cell nearest to its value's coverage, and the operations of a
    /// value without coverage to one common cell, where there is a good one.
    fn nearest(&mut self) {
        let most = std::mem::take(&mut self.most);
        let cells = RangeMin::new(&most);
        let mut behind_last = 0;
        for item in self.container.items() {
            let limit = self.equal_places(self.lives[item.index()].place).1 + 1;
            let (lo, hi) = (self.coverage.lo[item.index()], self.coverage.hi[item.index()]);
            let (from, to) = (lo.min(hi) + 1, lo.max(hi));
            let peeks = behind_last..behind_last + self.container.peeks_from(behind_last, item);
            behind_last = peeks.end;
            let common = match hi < lo {
                true => cells.first(from, to, limit),
                false => None,
            };
            if let (Some(cell), true) = (common, self.container.remove[item.index()].exists()) {
                self.lives[item.index()].removed = cell;
            }
            for peek in peeks {
                let span = self.peek_span(peek as u32);
                let (first, last) = (span.call + 1, span.ret.min(self.container.end));
                let within = || cells.first(first.max(from), last.min(to), limit);
                let before = || cells.last(first, last.min(from - 1), limit);
                let behind = || cells.first(first.max(to + 1), last, limit);
                let found = common.or_else(within).or_else(before).or_else(behind);
                self.peeked[peek] = found.unwrap_or(NEVER);
                debug_assert!(found.is_some(), "the sweep found a good cell");
            }
        }
    }
}

/// By place, the first and the last place of an equal value.
fn equals(by_priority: &[Item], values: &[ValueId]) -> Vec<(u32, u32)> {
    let value = |place: usize| values[by_priority[place].index()];
    let mut equals: Vec<(u32, u32)> = (0..by_priority.len() as u32).map(|p| (p, p)).collect();
    for place in 1..equals.len() {
        if value(place) == value(place - 1) {
            equals[place].0 = equals[place - 1].0;
        }
    }
    for place in (1..equals.len()).rev() {
        if value(place) == value(place - 1) {
            equals[place - 1].1 = equals[place].1;
        }
    }
    equals
}

/// The order of the operations. In each cell first the extractions of values that were inside
/// before; then peeks, and values that come and go within the cell; then the insertions of values
/// that stay. What goes out first goes first, and comes in last.
fn order(container: &Container, coverage: &Coverage, plan: &Plan) -> Vec<OpId> {
    let cells = container.end as usize + 1;
    if container.peeks.is_empty() {
        return order_without_peeks(container, plan);
    }
    let lives = Lives::of(container, coverage, plan);
    let life = |item: Item| lives.of[item.index()];
    let leave = container.items().map(|item| (item, life(item).1));
    let leave = leave.filter_map(|(item, cell)| cell.map(|cell| (cell, item.0)));
    let leave = Buckets::new(cells, leave);
    let enter = container.items().map(|item| (item, life(item)));
    let enter = enter.filter(|&(_, (entered, left))| Some(entered) != left);
    let enter = Buckets::new(cells, enter.map(|(item, (entered, _))| (entered, item.0)));
    // The few values of one cell, sorted by place.
    let mut few: Vec<u32> = Vec::new();
    let sort = |values: &[u32], few: &mut Vec<u32>| {
        few.clear();
        few.extend_from_slice(values);
        few.put_in_order_by_own_key(|&item| plan.lives[item as usize].place);
    };
    let alone = alone(container, plan, &lives);
    let mut alone = alone.iter().peekable();
    let mut order = Vec::with_capacity(2 * container.len() + container.peeks.len());
    for cell in 0..cells as u32 {
        sort(leave.of(cell as usize), &mut few);
        let leaving = || few.iter().rev().map(|&item| Item(item));
        for item in leaving().filter(|&item| life(item).0 != cell) {
            lives.push_peeks(container, plan, item, cell, &mut order);
            order.push(container.remove[item.index()].op);
        }
        for item in leaving().filter(|&item| life(item).0 == cell) {
            order.push(container.insert[item.index()].op);
            lives.push_peeks(container, plan, item, cell, &mut order);
            order.push(container.remove[item.index()].op);
        }
        while let Some(&(_, op)) = alone.next_if(|alone| alone.0 == cell) {
            order.push(op);
        }
        sort(enter.of(cell as usize), &mut few);
        for &item in &few {
            order.push(container.insert[item as usize].op);
            lives.push_peeks(container, plan, Item(item), cell, &mut order);
        }
    }
    order
}

/// The same order where there are no peeks: then removals and insertions come sorted by cell, and
/// nothing is inserted in a cell but the value of the event behind it.
fn order_without_peeks(container: &Container, plan: &Plan) -> Vec<OpId> {
    let stays = |life: &Life| !(life.ends() && life.removed <= life.lo);
    let entering = plan.entered.iter().filter(|(_, item)| stays(&plan.lives[item.index()]));
    let mut entering = entering.peekable();
    let mut alone: Vec<(Rank, OpId)> =
        plan.empty_cells.iter().copied().zip(container.empties.iter().map(|e| e.op)).collect();
    alone.put_in_order_by_key(|&(cell, _)| cell);
    let mut alone = alone.iter().peekable();
    let mut order = Vec::with_capacity(2 * container.len() + alone.len());
    let mut served = &plan.served[..];
    let mut leaving: Vec<Served> = Vec::new();
    loop {
        let nexts = [
            served.first().map(|served| served.cell),
            alone.peek().map(|alone| alone.0),
            entering.peek().map(|entering| entering.0),
        ];
        let Some(cell) = nexts.into_iter().flatten().min() else { return order };
        let here = served.iter().take_while(|served| served.cell == cell).count();
        leaving.clear();
        leaving.extend_from_slice(&served[..here]);
        served = &served[here..];
        leaving.put_in_order_by_own_key(|served| Reverse(served.place));
        order.extend(leaving.iter().filter(|served| served.lo < cell).map(|served| served.op));
        for served in leaving.iter().filter(|served| served.lo >= cell) {
            order.extend([container.insert[served.item.index()].op, served.op]);
        }
        while let Some(&(_, op)) = alone.next_if(|alone| alone.0 == cell) {
            order.push(op);
        }
        while let Some(&(_, item)) = entering.next_if(|entering| entering.0 == cell) {
            order.push(container.insert[item.index()].op);
        }
    }
}

/// The cells in which values come and go, and where their peeks are.
struct Lives {
    /// By value.
    of: Vec<(Rank, Option<Rank>)>,
    /// By value, its first peek; and the end.
    first_peek: Vec<u32>,
}

impl Lives {
    fn of(container: &Container, coverage: &Coverage, plan: &Plan) -> Self {
        let mut lives = Lives { of: Vec::with_capacity(container.len()), first_peek: vec![0] };
        let mut next = 0;
        for item in container.items() {
            let index = item.index();
            let removed = plan.lives[index].removed;
            let mut left = container.remove[index].exists().then_some(removed);
            let mut entered = left.map_or(coverage.lo[index], |left| left.min(coverage.lo[index]));
            let peeks = next..next + container.peeks_from(next, item);
            next = peeks.end;
            for &cell in &plan.peeked[peeks] {
                entered = entered.min(cell);
                left = left.map(|left| left.max(cell));
            }
            lives.of.push((entered, left));
            lives.first_peek.push(next as u32);
        }
        lives
    }

    /// Emits the peeks of a value that happen in a cell.
    fn push_peeks(
        &self,
        container: &Container,
        plan: &Plan,
        item: Item,
        cell: Rank,
        order: &mut Vec<OpId>,
    ) {
        let at = |index: usize| self.first_peek[index] as usize;
        let peeks = at(item.index())..at(item.index() + 1);
        for (peek, &found) in container.peeks[peeks.clone()].iter().zip(&plan.peeked[peeks]) {
            if found == cell {
                order.push(peek.span.op);
            }
        }
    }
}

/// The peeks in cells in which their value neither comes nor goes, and then the operations that saw
/// the queue empty, by cell.
fn alone(container: &Container, plan: &Plan, lives: &Lives) -> Vec<(Rank, OpId)> {
    let mut alone: Vec<(Rank, OpId)> = Vec::new();
    for (peek, &cell) in container.peeks.iter().zip(&plan.peeked) {
        let (entered, left) = lives.of[peek.item.index()];
        if cell != entered && Some(cell) != left {
            alone.push((cell, peek.span.op));
        }
    }
    let empties = container.empties.iter().map(|empty| empty.op);
    alone.extend(plan.empty_cells.iter().copied().zip(empties));
    alone.put_in_order_by_key(|&(cell, _)| cell);
    alone
}
