//! Stack: `push`, `pop`, `peek` (the top), operations that saw it empty, pending ones.
//!
//! **Decides** whether a history of a stack whose values are pushed once each is linearizable.
//!
//! **Theorem.** A value that covers no cell (see `coverage`) has a cell common to all its
//! operations, fits there back to back on any stack, and is forgotten. Of the rest, a value may lie
//! below all others (it is *cleared*) iff each of its operations owns a cell covered by no other
//! value that is not cleared. Clearing is monotone, so that any order of clearing will do: the
//! history is linearizable iff every value can be cleared and every operation that saw the stack
//! empty owns a cell that no value covers.
//!
//! **How.** Cells between which no coverage begins or ends are one *run*. A tree of minima keeps by
//! how many values each run is covered and finds the runs that nobody covers; a tree of maxima
//! finds the operations that own such a run, once each. For peeks the run covered by one value
//! alone counts as well, for that value: a Fenwick tree of exclusive ors names it. The order: a
//! value lies from the last free run before its coverage to the first one behind it, as of the
//! moment when it was cleared.
//!
//! **Cost.** O(n log n), arrays only.
//!
//! **Precondition.** Distinct values; where they repeat see `repeated_values`. Pending pops by
//! branching (`container_driver`).
//!
//! **What would make it unsound:** clearing a value while a run that became free has not yet been
//! looked at; any other free run for the order than the nearest.

use crate::fast::containers::container::{Container, Item, Names, Rank, Span};
use crate::fast::containers::container_driver::{Core, Discipline, Show, Words, decide};
use crate::fast::containers::coverage::{Coverage, empty_cells};
use crate::fast::containers::matching::Guess;
use crate::fast::containers::query_search::Head;
use crate::fast::containers::repeated_values;
use crate::fast::structures::bit_tree::BitTree;
use crate::fast::structures::buckets::Buckets;
use crate::fast::structures::min_tree::MinTree;
use crate::fast::structures::stab_tree::StabTree;
use crate::fast::{Declined, Part};
use seriatim_history::OpId;
use seriatim_limits::InOrder;
use seriatim_spec::{Claim, names};

/// Decides a part of a stack's history.
pub fn check(part: Part<'_>) -> Result<Claim, Declined> {
    decide(&Stack, part)
}

pub(in crate::fast) struct Stack;

const WORDS: Words = Words {
    object: "stack",
    names: Names {
        insert: names("stack", "push"),
        remove: names("stack", "pop"),
        peek: names("stack", "top"),
    },
    inserted: "pushed",
    removed: "popped",
};

/// What clearing found out, by critical value and by run.
pub(in crate::fast) struct Plan {
    runs: Runs,
    critical: Vec<Item>,
    /// The critical values from the bottom up.
    cleared: Vec<u32>,
    /// The run in which each critical value is pushed.
    pushed: Vec<u32>,
    /// The run in which each critical value is popped; meaningless if it never is.
    popped: Vec<u32>,
    /// The run in which each peek (by position) was found possible; only for critical values.
    peeked: Vec<u32>,
    empty_cells: Vec<u32>,
}

impl Discipline for Stack {
    type Plan = Plan;

    fn words(&self) -> &'static Words {
        &WORDS
    }

    fn plan(&self, container: &Container, coverage: &Coverage) -> Result<Plan, Core> {
        let empty_cells = empty_cells(container, coverage)?;
        let mut clearing = Clearing::new(container, coverage);
        clearing.run();
        clearing.finish(empty_cells)
    }

    fn order(&self, container: &Container, coverage: &Coverage, plan: Plan) -> Vec<OpId> {
        order(container, coverage, &plan)
    }

    fn assigns_in_order(&self, _: &Container) -> bool {
        false
    }

    fn head(&self, _: &Container) -> Head {
        Head::Newest
    }

    fn repeated(&self, part: Part<'_>) -> Result<Claim, Declined> {
        repeated_values::decide(self, part, Guess::Latest)
    }

    fn explain(&self, container: &Container, coverage: &Coverage, show: &Show<'_>) -> String {
        let items = || (0..container.len()).map(Item::from);
        for (a, b) in items().flat_map(|a| items().map(move |b| (a, b))) {
            let (lo_a, hi_a) = (coverage.lo[a.index()], coverage.hi[a.index()]);
            let popped = container.remove[a.index()];
            let below = lo_a < container.insert[b.index()].call;
            if container.len() == 2 && a != b && below && popped.exists() {
                let (hi_b, a, b) = (coverage.hi[b.index()], show.value(a), show.value(b));
                if hi_a < hi_b && popped.ret < hi_b {
                    return format!(
                        "{a} was pushed before {b}, but {a} was popped while {b} was on top of it"
                    );
                }
            }
        }
        let values = show.values(items());
        format!(
            "none of {values} can be the one below the others: no order of the pushes and pops is possible"
        )
    }
}

/// Maximal runs of cells between which no coverage begins or ends.
struct Runs {
    /// By cell, the run.
    of_cell: Vec<u32>,
    count: usize,
}

impl Runs {
    fn new(end: Rank, coverage: &Coverage, critical: &[Item]) -> Self {
        let mut of_cell = vec![0u32; end as usize + 2];
        for item in critical {
            of_cell[coverage.lo[item.index()] as usize + 1] = 1;
            of_cell[coverage.hi[item.index()] as usize + 1] = 1;
        }
        let mut run = 0;
        for place in &mut of_cell {
            run += *place;
            *place = run;
        }
        Runs { of_cell, count: run as usize + 1 }
    }

    #[inline]
    fn at(&self, cell: Rank) -> u32 {
        self.of_cell[cell as usize]
    }
}

/// An operation of a critical value as the runs that it owns.
#[derive(Clone, Copy)]
struct Owned {
    first: u32,
    last: u32,
    /// The critical value.
    of: u32,
    /// What the operation is.
    role: Role,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Push,
    Pop,
    /// The position of the peek in the container.
    Peek(u32),
}

/// The state of clearing.
struct Clearing {
    runs: Runs,
    critical: Vec<Item>,
    /// First and last run of each coverage.
    cover: Vec<(u32, u32)>,
    /// Operations sorted by first run.
    ops: Vec<Owned>,
    /// By run, how many operations begin in it or before.
    begun: Vec<u32>,
    /// Operations not yet found possible.
    waiting: StabTree,
    /// The number of operations of each value not yet found possible.
    left: Vec<u32>,
    counts: MinTree,
    free: BitTree,
    alone: Option<Alone>,
    ready: Vec<u32>,
    cleared: Vec<u32>,
    pushed: Vec<u32>,
    popped: Vec<u32>,
    peeked: Vec<u32>,
}

/// What is needed to serve peeks at runs that one value covers alone.
struct Alone {
    /// Fenwick tree over runs: the exclusive or of the values (plus one) that cover a run.
    cover: Vec<u32>,
    /// Whether the run was already looked at as covered by one alone.
    looked: Vec<bool>,
    /// Peeks (as positions in `ops`) sorted by value, then by first run.
    peeks: Vec<u32>,
    /// By position in `ops`, the position in `peeks`.
    place: Vec<u32>,
    /// By critical value, where its peeks begin.
    from: Vec<u32>,
    waiting: StabTree,
}

impl Clearing {
    fn new(container: &Container, coverage: &Coverage) -> Self {
        let critical: Vec<Item> =
            container.items().filter(|&item| coverage.is_critical(item)).collect();
        let runs = Runs::new(container.end, coverage, &critical);
        let cover: Vec<(u32, u32)> = critical
            .iter()
            .map(|item| (coverage.lo[item.index()], coverage.hi[item.index()]))
            .map(|(lo, hi)| (runs.at(lo + 1), runs.at(hi)))
            .collect();
        let ops = owned(container, coverage, &critical, &runs);
        let mut left = vec![0; critical.len()];
        let mut begun = vec![0; runs.count];
        for op in &ops {
            left[op.of as usize] += 1;
            begun[op.first as usize] += 1;
        }
        for run in 1..begun.len() {
            begun[run] += begun[run - 1];
        }
        let waiting = StabTree::new(ops.iter().map(|op| op.last));
        let has_peeks = ops.iter().any(|op| matches!(op.role, Role::Peek(_)));
        let mut counts = counts(&cover, runs.count);
        let alone = has_peeks.then(|| Alone::new(&ops, &cover, &counts));
        if has_peeks {
            // A run covered by one alone counts as zero until it has been looked at as such.
            counts.iter_mut().for_each(|count| *count = (*count - 1).max(0));
        }
        Clearing {
            counts: MinTree::new(&counts),
            free: BitTree::new(runs.count),
            pushed: vec![0; critical.len()],
            popped: vec![0; critical.len()],
            peeked: vec![0; container.peeks.len()],
            ready: Vec::new(),
            cleared: Vec::with_capacity(critical.len()),
            runs,
            critical,
            cover,
            ops,
            begun,
            waiting,
            left,
            alone,
        }
    }

    fn run(&mut self) {
        loop {
            while let Some(run) = self.counts.leftmost_zero() {
                self.fire(run);
            }
            let Some(value) = self.ready.pop() else {
                return;
            };
            self.clear(value);
        }
    }

    /// A run is covered by nobody, or for the first time by one value alone.
    fn fire(&mut self, run: u32) {
        if let Some(alone) = &mut self.alone
            && !std::mem::replace(&mut alone.looked[run as usize], true)
        {
            self.counts.raise(run, 1);
            self.fire_alone(run);
            return;
        }
        self.counts.retire(run);
        self.free.insert(run);
        let until = self.begun[run as usize];
        while let Some(op) = self.waiting.take(0, until, run) {
            if let Some(alone) = &mut self.alone
                && matches!(self.ops[op as usize].role, Role::Peek(_))
            {
                alone.waiting.remove(alone.place[op as usize]);
            }
            self.possible(op, run);
        }
    }

    /// Serves the peeks of the one value that covers a run.
    fn fire_alone(&mut self, run: u32) {
        let Some(alone) = &mut self.alone else {
            return;
        };
        let value = alone.coverer(run);
        let from = alone.from[value as usize];
        let all = &alone.peeks[from as usize..alone.from[value as usize + 1] as usize];
        let begun = all.partition_point(|&op| self.ops[op as usize].first <= run) as u32;
        let mut found = Vec::new();
        while let Some(peek) = alone.waiting.take(from, from + begun, run) {
            found.push(alone.peeks[peek as usize]);
        }
        for op in found {
            self.waiting.remove(op);
            self.possible(op, run);
        }
    }

    fn possible(&mut self, op: u32, run: u32) {
        let Owned { of, role, .. } = self.ops[op as usize];
        if let Role::Peek(peek) = role {
            self.peeked[peek as usize] = run;
        }
        self.left[of as usize] -= 1;
        if self.left[of as usize] == 0 {
            self.ready.push(of);
        }
    }

    /// A value lies below all that are not cleared yet.
    fn clear(&mut self, value: u32) {
        let (first, last) = self.cover[value as usize];
        self.cleared.push(value);
        self.pushed[value as usize] = self.free.at_most(first - 1).unwrap_or(0);
        self.popped[value as usize] = self.free.at_least(last + 1).unwrap_or(0);
        self.counts.add(first, last, -1);
        if let Some(alone) = &mut self.alone {
            alone.toggle(first, last, value);
        }
    }

    fn finish(self, empty_cells: Vec<u32>) -> Result<Plan, Core> {
        if self.cleared.len() < self.critical.len() {
            let stuck = self.left.iter().zip(&self.critical);
            let items = stuck.filter(|&(&left, _)| left > 0).map(|(_, &item)| item);
            return Err(Core { items: items.collect(), empty: None });
        }
        Ok(Plan {
            runs: self.runs,
            critical: self.critical,
            cleared: self.cleared,
            pushed: self.pushed,
            popped: self.popped,
            peeked: self.peeked,
            empty_cells,
        })
    }
}

/// How many coverages hold each run.
fn counts(cover: &[(u32, u32)], runs: usize) -> Vec<i32> {
    let mut counts = vec![0; runs + 1];
    for &(first, last) in cover {
        counts[first as usize] += 1;
        counts[last as usize + 1] -= 1;
    }
    let mut sum = 0;
    for count in &mut counts {
        sum += *count;
        *count = sum;
    }
    counts.truncate(runs);
    counts
}

/// The operations of the critical values, sorted by first run.
fn owned(container: &Container, coverage: &Coverage, critical: &[Item], runs: &Runs) -> Vec<Owned> {
    let mut ops = Vec::with_capacity(2 * critical.len());
    let mut peeks = container.peeks.iter().enumerate().peekable();
    for (of, &item) in critical.iter().enumerate() {
        let (insert, remove) = (container.insert[item.index()], container.remove[item.index()]);
        let of = of as u32;
        let owned = |call: Rank, ret: Rank, role: Role| Owned {
            first: runs.at(call + 1),
            last: runs.at(ret),
            of,
            role,
        };
        ops.push(owned(insert.call, coverage.lo[item.index()], Role::Push));
        if remove.exists() {
            ops.push(owned(coverage.hi[item.index()], remove.ret, Role::Pop));
        }
        while let Some((index, peek)) = peeks.next_if(|(_, peek)| peek.item <= item) {
            if peek.item == item {
                let call = peek.span.call.max(insert.call);
                let ret = peek.span.ret.min(remove.ret);
                ops.push(owned(call, ret, Role::Peek(index as u32)));
            }
        }
    }
    ops.put_in_order_by_key(|op| op.first);
    ops
}

impl Alone {
    fn new(ops: &[Owned], cover: &[(u32, u32)], counts: &[i32]) -> Self {
        let is_peek = |&op: &u32| matches!(ops[op as usize].role, Role::Peek(_));
        let mut peeks: Vec<u32> = (0..ops.len() as u32).filter(is_peek).collect();
        peeks.put_in_order_by_key(|&op| ops[op as usize].of);
        let mut place = vec![0; ops.len()];
        let mut from = vec![0; cover.len() + 1];
        for (position, &op) in peeks.iter().enumerate() {
            place[op as usize] = position as u32;
            from[ops[op as usize].of as usize + 1] += 1;
        }
        for value in 1..from.len() {
            from[value] += from[value - 1];
        }
        let mut alone = Alone {
            cover: vec![0; counts.len() + 2],
            looked: counts.iter().map(|&count| count == 0).collect(),
            waiting: StabTree::new(peeks.iter().map(|&op| ops[op as usize].last)),
            peeks,
            place,
            from,
        };
        for (value, &(first, last)) in cover.iter().enumerate() {
            alone.toggle(first, last, value as u32);
        }
        alone
    }

    /// A value covers the runs from `first` to `last`, or does so no more.
    fn toggle(&mut self, first: u32, last: u32, value: u32) {
        for from in [first, last + 1] {
            let mut index = from as usize + 1;
            while index < self.cover.len() {
                self.cover[index] ^= value + 1;
                index += index & index.wrapping_neg();
            }
        }
    }

    /// The value that covers a run that one value covers.
    fn coverer(&self, run: u32) -> u32 {
        let mut index = run as usize + 1;
        let mut sum = 0;
        while index > 0 {
            sum ^= self.cover[index];
            index -= index & index.wrapping_neg();
        }
        sum - 1
    }
}

/// What happens in the midst of a run.
#[derive(Clone, Copy)]
enum Midst {
    /// An operation alone: it saw the stack empty or its value on top.
    Alone(OpId),
    /// A value that covers nothing comes and goes.
    Whole(Item),
}

/// The order of the operations: in each run first the pops, the last cleared first; then what
/// happens in the midst of the run, by cell; then the pushes, the first cleared first. A pop owns
/// the first cell of each run that it owns, a push the last.
fn order(container: &Container, coverage: &Coverage, plan: &Plan) -> Vec<OpId> {
    let span = |spans: &[Span], value: u32| spans[plan.critical[value as usize].index()];
    let by_clearing = plan.cleared.iter().map(|&v| (plan.pushed[v as usize], v));
    let pushes = Buckets::new(plan.runs.count, by_clearing);
    let leaving = plan.cleared.iter().rev();
    let leaving = leaving.filter(|&&v| span(&container.remove, v).exists());
    let pops = Buckets::new(plan.runs.count, leaving.map(|&v| (plan.popped[v as usize], v)));
    let midst = midst(container, coverage, plan);
    let mut midst = midst.iter().peekable();
    let mut order = Vec::with_capacity(2 * container.len() + container.peeks.len());
    for run in 0..plan.runs.count {
        for &value in pops.of(run) {
            push_peeks(container, plan, value, run as u32, &mut order);
            order.push(span(&container.remove, value).op);
        }
        while let Some((_, what)) = midst.next_if(|(cell, _)| plan.runs.at(*cell) as usize == run) {
            match *what {
                Midst::Alone(op) => order.push(op),
                Midst::Whole(item) => {
                    order.push(container.insert[item.index()].op);
                    let peeks = container.peeks_of(item).iter();
                    order.extend(peeks.map(|peek| peek.span.op));
                    let remove = container.remove[item.index()];
                    order.extend(remove.exists().then_some(remove.op));
                }
            }
        }
        for &value in pushes.of(run) {
            order.push(span(&container.insert, value).op);
            push_peeks(container, plan, value, run as u32, &mut order);
        }
    }
    order
}

/// Where a critical value's peek goes: to the push if it was found possible no later, to the pop if
/// no earlier, else it stays where it was found possible.
fn peek_run(plan: &Plan, value: u32, peek: usize, never_popped: bool) -> u32 {
    let found = plan.peeked[peek];
    let (pushed, popped) = (plan.pushed[value as usize], plan.popped[value as usize]);
    if found <= pushed {
        pushed
    } else if !never_popped && found >= popped {
        popped
    } else {
        found
    }
}

/// Emits the peeks of a critical value that belong to its push or pop in a run.
fn push_peeks(container: &Container, plan: &Plan, value: u32, run: u32, order: &mut Vec<OpId>) {
    if container.peeks.is_empty() {
        return;
    }
    let item = plan.critical[value as usize];
    let from = container.peeks.partition_point(|peek| peek.item < item);
    let never_popped = !container.remove[item.index()].exists();
    for (offset, peek) in container.peeks_of(item).iter().enumerate() {
        if peek_run(plan, value, from + offset, never_popped) == run {
            order.push(peek.span.op);
        }
    }
}

/// What happens in the midst of runs, sorted by cell.
fn midst(container: &Container, coverage: &Coverage, plan: &Plan) -> Vec<(Rank, Midst)> {
    let mut midst: Vec<(Rank, Midst)> = Vec::new();
    for item in container.items().filter(|&item| !coverage.is_critical(item)) {
        midst.push((coverage.lo[item.index()], Midst::Whole(item)));
    }
    for (&cell, empty) in plan.empty_cells.iter().zip(&container.empties) {
        midst.push((cell, Midst::Alone(empty.op)));
    }
    if !container.peeks.is_empty() {
        let mut first_cell = vec![Rank::MAX; plan.runs.count];
        for (cell, &run) in plan.runs.of_cell.iter().enumerate().rev() {
            first_cell[run as usize] = cell as Rank;
        }
        for (value, &item) in plan.critical.iter().enumerate() {
            let from = container.peeks.partition_point(|peek| peek.item < item);
            let never_popped = !container.remove[item.index()].exists();
            for (offset, peek) in container.peeks_of(item).iter().enumerate() {
                let run = peek_run(plan, value as u32, from + offset, never_popped);
                let popped = !never_popped && run == plan.popped[value];
                if run != plan.pushed[value] && !popped {
                    let cell = first_cell[run as usize].max(peek.span.call + 1);
                    midst.push((cell, Midst::Alone(peek.span.op)));
                }
            }
        }
    }
    midst.put_in_order_by_key(|&(cell, _)| cell);
    midst
}
