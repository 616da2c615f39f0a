//! Histories with counters: a search whose state is the set of what has begun and committed.
//!
//! A counter is incremented, by any integer, and read. A read does not name whom it read from: all
//! that it says is that the increments that took effect before it, and its own, add up to its
//! value. Which ones these are is a question of subset sums, NP-complete for a single read. So the
//! other engines decide the history without its reads of counters first (an increment is then a
//! write that nobody reads): their *no* is a *no*. Where the order that they find does not fit the
//! counters, this search looks for another one.
//!
//! **State.** With distinct values, what matters of registers and lists follows from the set of
//! transactions that have committed: a version with readers left is the current one, for it is
//! never overwritten, and all others do not matter (`window.rs`). The value of a counter follows
//! from that set, too: increments commute. So the memo holds sets only.
//!
//! **Less to try.** A transaction that changes nothing and may begin now does so at once: whatever
//! comes later does not notice. If a counter is never decremented, it is not incremented beyond
//! what a read still to come saw.
//!
//! **Unknown outcomes.** A transaction of unknown outcome that increments a counter may have
//! committed though nobody read from it: it may be placed, or not.
//!
//! **Levels.** Serializability, snapshot isolation and prefix consistency, by their definitions as
//! orders of begins and commits. Below that a history is *yes* if it is prefix consistent (for
//! Adya's read committed: or snapshot isolated): whoever sees the prefixes of one order sees
//! causally, atomically, and what is committed. It would be unsound to answer *no* there: a smaller
//! past than any prefix might give the values.
//!
//! Where real time is not demanded, an order that respects it is looked for first. The search is
//! exponential; a limit makes it give up.

use crate::generate::Random;
use crate::level::{Demand, Level};
use crate::mutation::{Mutant, is_on};
use crate::prepare::{Prepared, Version};
use crate::solve::{Layout, Limits, Shape};
use crate::transaction::{Clock, KeyId, Op, Outcome as Ended, Transaction, Transactions, TxnId};
use crate::witness::{Moment, Witness};
use hashbrown::{HashMap, HashSet};
use seriatim_history::{Time, ValueId};
use seriatim_limits::InOrder;
use std::collections::BTreeMap;

/// What the search found.
#[derive(Debug)]
pub enum Outcome {
    /// An order that explains every read.
    Ordered(Witness),
    /// There is none.
    Refuted,
    /// A limit was reached.
    GaveUp,
}

/// How many transactions are looked at, again and again, before the search gives up.
const LOOKS: u64 = 20_000_000;

/// Looks for an order; the other reads must have passed the preparation.
pub fn search(
    history: &Transactions,
    prepared: &Prepared,
    level: Level,
    limits: Limits,
) -> Outcome {
    let demand = level.demand();
    if demand != Demand::RealTime && history.clock() == Clock::Recorded {
        let mut hopeful = Search::new(history, prepared, level, Demand::RealTime);
        if let Outcome::Ordered(witness) = hopeful.run(LOOKS / 4, limits) {
            return Outcome::Ordered(witness);
        }
    }
    Search::new(history, prepared, level, demand).run(LOOKS, limits)
}

/// A transaction to be placed.
struct Item {
    id: TxnId,
    call: Time,
    /// `Time::MAX` if nobody waits for its return.
    ret: Time,
    /// Whether it may be left out.
    is_optional: bool,
    reads: Vec<(usize, Version)>,
    writes: Vec<(usize, Version)>,
    /// What counters must hold when it begins.
    needs: Vec<(usize, i128)>,
    adds: Vec<(usize, i128)>,
    /// The one of its session that must have committed before it begins.
    before: Option<u32>,
    /// Those whose versions of a list come before its own.
    after: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Waiting,
    Open,
    Committed,
}

#[derive(Clone, Copy)]
enum Step {
    Begin(u32),
    Commit(u32),
    Whole(u32),
}

/// A state on the way, and what was tried from it.
struct Frame {
    steps: Vec<Step>,
    next: usize,
    overwritten: Vec<(usize, Version)>,
}

struct Search {
    shape: Shape,
    demand: Demand,
    /// By call.
    items: Vec<Item>,
    by_return: Vec<u32>,
    /// Where each stands in `by_return`.
    place: Vec<usize>,
    /// Everything before these places in `items` and `by_return` has committed.
    first_call: usize,
    first_return: usize,
    names: Vec<[u128; 2]>,
    phases: Vec<Phase>,
    /// How many must still commit.
    left: usize,
    /// How many are open.
    open: usize,
    set: u128,
    current: Vec<Version>,
    readers_left: Vec<u32>,
    sums: Vec<i128>,
    /// For each counter what is still to be read of it; `None` if it may shrink.
    to_be_read: Vec<Option<BTreeMap<i128, u32>>>,
    /// How many open transactions change each key.
    changing: Vec<u32>,
    memo: HashSet<u128>,
    looks: u64,
}

impl Search {
    fn new(history: &Transactions, prepared: &Prepared, level: Level, demand: Demand) -> Search {
        let items = items(history, prepared, demand);
        let mut by_return: Vec<u32> = (0..items.len() as u32).collect();
        by_return.put_in_order_by_key(|&item| items[item as usize].ret);
        let mut place = vec![0; items.len()];
        by_return.iter().enumerate().for_each(|(at, &item)| place[item as usize] = at);
        let mut random = Random::new(42);
        let mut name = || u128::from(random.number()) << 64 | u128::from(random.number());
        let keys = history.key_count();
        let versions = items.iter().flat_map(|item| &item.writes).map(|write| write.1 as usize + 1);
        let versions = versions.max().unwrap_or(0).max(prepared.versions.len());
        let mut readers_left = vec![0; versions];
        let mut to_be_read = vec![Some(BTreeMap::new()); keys];
        for item in &items {
            item.reads.iter().for_each(|read| readers_left[read.1 as usize] += 1);
            for &(key, add) in &item.adds {
                to_be_read[key].take_if(|_| add < 0);
            }
        }
        for &(key, value) in items.iter().flat_map(|item| &item.needs) {
            if let Some(reads) = &mut to_be_read[key] {
                *reads.entry(value).or_insert(0) += 1;
            }
        }
        Search {
            shape: Layout::new(prepared, level).shape,
            demand,
            by_return,
            place,
            first_call: 0,
            first_return: 0,
            names: items.iter().map(|_| [name(), name()]).collect(),
            phases: vec![Phase::Waiting; items.len()],
            left: items.iter().filter(|item| !item.is_optional).count(),
            open: 0,
            set: 0,
            current: (0..keys as u32).collect(),
            readers_left,
            sums: vec![0; keys],
            to_be_read,
            changing: vec![0; keys],
            memo: HashSet::new(),
            looks: 0,
            items,
        }
    }

    fn run(&mut self, looks: u64, limits: Limits) -> Outcome {
        if self.items.iter().any(|item| contradicts_itself(&item.needs)) {
            return Outcome::Refuted;
        }
        let mut stack: Vec<Frame> = Vec::new();
        // Invariant: the steps before `next` of each frame were tried; the last one of them leads
        // on.
        loop {
            if self.left == 0 && self.open == 0 {
                return Outcome::Ordered(self.witness(&stack));
            }
            if self.looks > looks || limits.is_over() {
                return Outcome::GaveUp;
            }
            let steps = self.steps();
            stack.push(Frame { steps, next: 0, overwritten: Vec::new() });
            while !self.descend(stack.last_mut().expect("one was pushed")) {
                stack.pop();
                let Some(frame) = stack.last_mut() else { return Outcome::Refuted };
                self.undo(frame);
            }
        }
    }

    fn witness(&self, stack: &[Frame]) -> Witness {
        let steps = stack.iter().map(|frame| frame.steps[frame.next - 1]);
        let id = |item: u32| self.items[item as usize].id;
        if self.shape == Shape::Serial {
            let whole = |step| match step {
                Step::Whole(item) => Some(id(item)),
                Step::Begin(_) | Step::Commit(_) => None,
            };
            return Witness::Serial(steps.filter_map(whole).collect());
        }
        let events = steps.flat_map(|step| match step {
            Step::Begin(item) => vec![(id(item), Moment::Begin)],
            Step::Commit(item) => vec![(id(item), Moment::Commit)],
            Step::Whole(item) => vec![(id(item), Moment::Begin), (id(item), Moment::Commit)],
        });
        Witness::Events(events.collect())
    }

    /// What may come next. One that changes nothing comes at once; what is open commits first.
    fn steps(&mut self) -> Vec<Step> {
        while self.phases.get(self.first_call) == Some(&Phase::Committed) {
            self.first_call += 1;
        }
        while self.by_return.get(self.first_return).is_some_and(|&item| self.is_committed(item)) {
            self.first_return += 1;
        }
        let first = self.by_return.get(self.first_return);
        let bound = match self.demand {
            Demand::RealTime => first.map_or(Time::MAX, |&item| self.items[item as usize].ret),
            _ => Time::MAX,
        };
        let mut commits = Vec::new();
        let mut begins = Vec::new();
        for index in self.first_call..self.items.len() {
            if self.items[index].call > bound {
                break;
            }
            self.looks += 1;
            let item = index as u32;
            match self.phases[index] {
                Phase::Open if self.may_commit(item) => commits.push(Step::Commit(item)),
                Phase::Waiting if self.may_begin(item) => {
                    let Item { writes, adds, .. } = &self.items[index];
                    if writes.is_empty() && adds.is_empty() {
                        return vec![Step::Whole(item)];
                    }
                    match self.shape {
                        Shape::Serial if !self.may_commit(item) => {}
                        Shape::Serial => begins.push(Step::Whole(item)),
                        Shape::Snapshot | Shape::Prefix => begins.push(Step::Begin(item)),
                    }
                }
                _ => {}
            }
        }
        begins.put_in_order_by_key(|step| match *step {
            Step::Begin(item) | Step::Commit(item) | Step::Whole(item) => {
                self.items[item as usize].ret
            }
        });
        commits.append(&mut begins);
        commits
    }

    fn is_committed(&self, item: u32) -> bool {
        self.phases[item as usize] == Phase::Committed
    }

    fn may_begin(&self, index: u32) -> bool {
        let item = &self.items[index as usize];
        let is_free = |key: usize| self.shape != Shape::Snapshot || self.changing[key] == 0;
        item.before.is_none_or(|before| self.is_committed(before))
            && item.reads.iter().all(|&(key, version)| self.current[key] == version)
            && item.needs.iter().all(|&(key, value)| self.sums[key] == value)
            && item.writes.iter().all(|write| is_free(write.0))
    }

    fn may_commit(&self, index: u32) -> bool {
        let item = &self.items[index as usize];
        let is_serial = self.shape == Shape::Serial;
        let spares = |&(key, _): &(usize, Version)| {
            let current = self.current[key];
            let own = is_serial && item.reads.contains(&(key, current));
            self.readers_left[current as usize] <= u32::from(own)
                || is_on(Mutant::CounterOverwritesRead)
        };
        let fits = |&(key, add): &(usize, i128)| {
            let Some(reads) = &self.to_be_read[key] else { return true };
            // Its own read, if it is one that happens now, is not to come any more.
            let own = item.needs.iter().filter(|need| is_serial && need.0 == key).count() as u32;
            let below = self.sums[key] + add;
            let mut lowest = reads.range(..below);
            match (lowest.next(), lowest.next()) {
                (None, _) => true,
                (Some((&value, &count)), None) => value == self.sums[key] && count <= own,
                _ => false,
            }
        };
        item.after.iter().all(|&other| self.is_committed(other))
            && item.writes.iter().all(spares)
            && item.adds.iter().all(fits)
    }

    /// Takes the next step that leads to a new set.
    fn descend(&mut self, frame: &mut Frame) -> bool {
        while let Some(&step) = frame.steps.get(frame.next) {
            frame.next += 1;
            let set = match step {
                Step::Begin(item) => self.set ^ self.names[item as usize][0],
                Step::Commit(item) => self.set ^ self.names[item as usize][1],
                Step::Whole(item) => {
                    let [begun, committed] = self.names[item as usize];
                    self.set ^ begun ^ committed
                }
            };
            if !self.memo.insert(set) {
                continue;
            }
            self.set = set;
            frame.overwritten.clear();
            if let Step::Begin(item) | Step::Whole(item) = step {
                self.begin(item);
            }
            if let Step::Commit(item) | Step::Whole(item) = step {
                self.commit(item, &mut frame.overwritten);
            }
            return true;
        }
        false
    }

    fn begin(&mut self, index: u32) {
        let item = &self.items[index as usize];
        self.phases[index as usize] = Phase::Open;
        self.open += 1;
        item.reads.iter().for_each(|read| self.readers_left[read.1 as usize] -= 1);
        item.writes.iter().for_each(|write| self.changing[write.0] += 1);
        for (key, value) in &item.needs {
            if let Some(reads) = &mut self.to_be_read[*key] {
                let count = reads.get_mut(value).expect("it was counted");
                *count -= 1;
                if *count == 0 {
                    reads.remove(value);
                }
            }
        }
    }

    fn commit(&mut self, index: u32, overwritten: &mut Vec<(usize, Version)>) {
        let item = &self.items[index as usize];
        self.phases[index as usize] = Phase::Committed;
        self.open -= 1;
        self.left -= usize::from(!item.is_optional);
        for &(key, version) in &item.writes {
            overwritten.push((key, self.current[key]));
            self.current[key] = version;
            self.changing[key] -= 1;
        }
        item.adds.iter().for_each(|&(key, add)| self.sums[key] += add);
    }

    fn undo(&mut self, frame: &Frame) {
        let step = frame.steps[frame.next - 1];
        if let Step::Commit(index) | Step::Whole(index) = step {
            let item = &self.items[index as usize];
            self.phases[index as usize] = Phase::Open;
            self.open += 1;
            self.first_call = self.first_call.min(index as usize);
            self.first_return = self.first_return.min(self.place[index as usize]);
            self.left += usize::from(!item.is_optional);
            frame.overwritten.iter().rev().for_each(|&(key, before)| self.current[key] = before);
            item.writes.iter().for_each(|write| self.changing[write.0] += 1);
            item.adds.iter().for_each(|&(key, add)| self.sums[key] -= add);
            self.set ^= self.names[index as usize][1];
        }
        if let Step::Begin(index) | Step::Whole(index) = step {
            let item = &self.items[index as usize];
            self.phases[index as usize] = Phase::Waiting;
            self.open -= 1;
            item.reads.iter().for_each(|read| self.readers_left[read.1 as usize] += 1);
            item.writes.iter().for_each(|write| self.changing[write.0] -= 1);
            for &(key, value) in &item.needs {
                if let Some(reads) = &mut self.to_be_read[key] {
                    *reads.entry(value).or_insert(0) += 1;
                }
            }
            self.set ^= self.names[index as usize][0];
        }
    }
}

/// Whether two reads of a counter in a transaction want it to have held different values.
fn contradicts_itself(needs: &[(usize, i128)]) -> bool {
    needs.iter().any(|one| needs.iter().any(|other| one.0 == other.0 && one.1 != other.1))
}

/// The transactions to be placed, by call.
fn items(history: &Transactions, prepared: &Prepared, demand: Demand) -> Vec<Item> {
    let is_real = |txn: &Transaction| txn.outcome == Ended::Committed;
    let mut node_of: HashMap<TxnId, usize> = HashMap::new();
    for (node, txn) in prepared.txns.iter().enumerate() {
        node_of.extend(txn.id.map(|id| (id, node)));
    }
    let mut versions = prepared.versions.len() as Version;
    let mut items: Vec<Item> = Vec::new();
    for (index, txn) in history.list().iter().enumerate() {
        let id = TxnId(index as u32);
        let node = node_of.get(&id).map(|&node| &prepared.txns[node]);
        let adds = adds(txn);
        if node.is_none() && is_on(Mutant::UnknownNeverCounts) {
            continue;
        }
        if node.is_none() && (txn.outcome != Ended::Unknown || adds.is_empty()) {
            continue;
        }
        let key_of = |&(key, version): &(KeyId, Version)| (key.index(), version);
        let mut item = Item {
            id,
            call: txn.call,
            ret: if is_real(txn) { txn.ret.unwrap_or(Time::MAX) } else { Time::MAX },
            is_optional: node.is_none(),
            reads: node.map_or(Vec::new(), |node| node.reads.iter().map(key_of).collect()),
            writes: node.map_or(Vec::new(), |node| node.writes.iter().map(key_of).collect()),
            needs: if is_real(txn) { needs(txn) } else { Vec::new() },
            adds,
            before: None,
            after: Vec::new(),
        };
        if node.is_none() {
            for key in txn.ops.iter().filter_map(Op::changes).map(|key| key.index()) {
                if !item.writes.iter().any(|write| write.0 == key) {
                    item.writes.push((key, versions));
                    versions += 1;
                }
            }
        }
        items.push(item);
    }
    if demand != Demand::Nothing {
        bind_sessions(history, &mut items);
    }
    bind_lists(history, prepared, &mut items);
    by_call(items)
}

/// In each session whoever committed comes before those after it.
fn bind_sessions(history: &Transactions, items: &mut [Item]) {
    let mut last: HashMap<u32, u32> = HashMap::new();
    for (index, item) in items.iter_mut().enumerate() {
        let txn = history.get(item.id);
        item.before = last.get(&txn.session.0).copied();
        if txn.outcome == Ended::Committed {
            last.insert(txn.session.0, index as u32);
        }
    }
}

/// The known order of the versions of lists.
fn bind_lists(history: &Transactions, prepared: &Prepared, items: &mut [Item]) {
    let mut place: HashMap<Version, u32> = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        place.extend(item.writes.iter().map(|write| (write.1, index as u32)));
    }
    for (earlier, later) in &prepared.known {
        if let (Some(&first), Some(&then)) = (place.get(earlier), place.get(later)) {
            items[then as usize].after.push(first);
        }
    }
    // Nobody read what one of unknown outcome appended: it comes after all that was read.
    let mut seen: HashSet<(KeyId, ValueId)> = HashSet::new();
    for (key, &reader) in &prepared.longest {
        for op in &history.get(reader).ops {
            if let Op::ReadList(of, elements) = op
                && of == key
            {
                seen.extend(elements.iter().map(|&element| (*key, element)));
            }
        }
    }
    let mut read: HashMap<usize, Vec<u32>> = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        let written = history.get(item.id).ops.iter().filter_map(Op::written);
        for (key, _) in written.filter(|write| seen.contains(write)) {
            read.entry(key.index()).or_default().push(index as u32);
        }
    }
    for item in items.iter_mut().filter(|item| item.is_optional) {
        let lists = item.writes.iter().filter_map(|write| read.get(&write.0));
        item.after.extend(lists.flatten());
    }
}

/// Sorts by call; the places that items name follow.
fn by_call(items: Vec<Item>) -> Vec<Item> {
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.put_in_order_by_key(|&index| items[index].call);
    let mut place = vec![0u32; items.len()];
    order.iter().enumerate().for_each(|(new, &old)| place[old] = new as u32);
    let mut items: Vec<Item> = items;
    for item in &mut items {
        item.before = item.before.map(|old| place[old as usize]);
        item.after.iter_mut().for_each(|old| *old = place[*old as usize]);
    }
    let mut sorted: Vec<(u32, Item)> =
        items.into_iter().enumerate().map(|(old, item)| (place[old], item)).collect();
    sorted.put_in_order_by_key(|entry| entry.0);
    sorted.into_iter().map(|entry| entry.1).collect()
}

fn adds(txn: &Transaction) -> Vec<(usize, i128)> {
    let mut adds: Vec<(usize, i128)> = Vec::new();
    for op in &txn.ops {
        let Op::Increment(key, by) = op else { continue };
        match adds.iter_mut().find(|add| add.0 == key.index()) {
            Some(add) => add.1 += i128::from(*by),
            None => adds.push((key.index(), i128::from(*by))),
        }
    }
    adds
}

/// What the counters that a transaction read must have held when it began.
fn needs(txn: &Transaction) -> Vec<(usize, i128)> {
    let mut own: HashMap<usize, i128> = HashMap::new();
    let mut needs: Vec<(usize, i128)> = Vec::new();
    for op in &txn.ops {
        match op {
            Op::Increment(key, by) => *own.entry(key.index()).or_insert(0) += i128::from(*by),
            Op::ReadCounter(key, value) => {
                let mine = own.get(&key.index()).copied().unwrap_or(0);
                let mine = if is_on(Mutant::SumWithoutOwn) { 0 } else { mine };
                let need = (key.index(), i128::from(*value) - mine);
                if !needs.contains(&need) {
                    needs.push(need);
                }
            }
            _ => {}
        }
    }
    needs
}
