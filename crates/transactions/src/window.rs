//! Strict serializability by another algorithm, for histories of some thousand transactions with
//! distinct values: a search through real time whose state is the set of transactions that are
//! done.
//!
//! With distinct values the contents that matter follow from the set: a version with readers left
//! must be the current one, two such versions of a key are a dead end, all others do not matter. So
//! the memo holds sets only, a version with readers left is never overwritten, and a transaction
//! whose own writes nobody reads is taken as soon as it can be.
//!
//! It shares the preparation with the solver, and nothing else: the second opinion on refutations
//! that are too large for `brute`, the oracle of tests on long histories, and what `seriatim check
//! --engine search` asks of multi-registers.

use crate::generate::Random;
use crate::prepare::{Prepared, Version, prepare};
use crate::transaction::{Transactions, TxnId};
use hashbrown::HashSet;
use seriatim_limits::InOrder;
use seriatim_limits::{Instant, checkpoint};

struct Frame {
    choices: Vec<u32>,
    next: usize,
    overwritten: Vec<(usize, Version)>,
}

/// What the search through real time found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Searched {
    /// This order explains every read and respects real time.
    Order(Vec<TxnId>),
    /// There is none.
    Nothing,
    /// A limit was reached, or values are repeated or counted.
    GaveUp,
}

/// How many steps the search takes before it gives up: each is kept in memory.
const MOST_STEPS: u64 = 4_000_000;

/// Looks for an order that shows strict serializability, by a search through real time, until a
/// moment.
pub fn search_through_time(history: &Transactions, deadline: Option<Instant>) -> Searched {
    search(history, MOST_STEPS, deadline)
}

/// Whether a history is strictly serializable; `None` after so many steps.
pub fn strictly_serializable(history: &Transactions, steps: u64) -> Option<bool> {
    match search(history, steps, None) {
        Searched::Order(_) => Some(true),
        Searched::Nothing => Some(false),
        Searched::GaveUp => None,
    }
}

fn search(history: &Transactions, steps: u64, deadline: Option<Instant>) -> Searched {
    let prepared = prepare(history, &[]);
    if !prepared.is_complete() || history.reads_counters() {
        return Searched::GaveUp;
    }
    if !prepared.flaws.is_empty() {
        return Searched::Nothing;
    }
    Window::new(&prepared).search(steps, deadline)
}

struct Window<'p> {
    prepared: &'p Prepared,
    by_call: Vec<u32>,
    by_return: Vec<u32>,
    /// Where each transaction stands in the two.
    places: Vec<[usize; 2]>,
    names: Vec<u128>,
    done: Vec<bool>,
    count: usize,
    set: u128,
    current: Vec<Version>,
    readers_left: Vec<u32>,
    memo: HashSet<u128>,
    /// Everything before these places in `by_call` and `by_return` is done.
    first_call: usize,
    first_return: usize,
}

impl<'p> Window<'p> {
    fn new(prepared: &'p Prepared) -> Self {
        let txns = prepared.txns.len();
        let mut by_call: Vec<u32> = (1..txns as u32).collect();
        by_call.put_in_order_by_key(|&txn| prepared.txns[txn as usize].call);
        let mut by_return = by_call.clone();
        by_return.put_in_order_by_key(|&txn| prepared.txns[txn as usize].ret);
        let mut places = vec![[0; 2]; txns];
        for (side, sorted) in [&by_call, &by_return].into_iter().enumerate() {
            sorted.iter().enumerate().for_each(|(at, &txn)| places[txn as usize][side] = at);
        }
        let mut random = Random::new(42);
        let mut name = || u128::from(random.number()) << 64 | u128::from(random.number());
        Window {
            prepared,
            by_call,
            by_return,
            places,
            names: (0..txns).map(|_| name()).collect(),
            done: vec![false; txns],
            count: 0,
            set: 0,
            current: (0..prepared.key_count() as u32).collect(),
            readers_left: prepared.versions.iter().map(|v| v.readers.len() as u32).collect(),
            memo: HashSet::new(),
            first_call: 0,
            first_return: 0,
        }
    }

    fn search(&mut self, steps: u64, deadline: Option<Instant>) -> Searched {
        let mut stack: Vec<Frame> = Vec::new();
        for step in 0..steps {
            checkpoint();
            if self.count + 1 == self.prepared.txns.len() {
                let taken = stack.iter().map(|frame| frame.choices[frame.next - 1] as usize);
                let order = taken.filter_map(|txn| self.prepared.txns[txn].id);
                return Searched::Order(order.collect());
            }
            if step % 256 == 0 && deadline.is_some_and(|deadline| Instant::now() > deadline) {
                break;
            }
            let choices = self.choices();
            stack.push(Frame { choices, next: 0, overwritten: Vec::new() });
            while !self.descend(stack.last_mut().expect("one was pushed")) {
                stack.pop();
                let Some(frame) = stack.last_mut() else { return Searched::Nothing };
                self.undo(frame);
            }
        }
        Searched::GaveUp
    }

    /// What real time, reads and unread versions allow next.
    fn choices(&mut self) -> Vec<u32> {
        let txns = &self.prepared.txns;
        let is_done = |done: &[bool], txn: Option<&u32>| txn.is_some_and(|&t| done[t as usize]);
        while is_done(&self.done, self.by_call.get(self.first_call)) {
            self.first_call += 1;
        }
        while is_done(&self.done, self.by_return.get(self.first_return)) {
            self.first_return += 1;
        }
        let open = txns[self.by_return[self.first_return] as usize].ret;
        let mut choices = Vec::new();
        for &txn in &self.by_call[self.first_call..] {
            let info = &txns[txn as usize];
            if info.call > open {
                break;
            }
            if self.done[txn as usize] || !self.fits(txn) {
                continue;
            }
            if info.writes.iter().all(|write| self.readers_left[write.1 as usize] == 0) {
                return vec![txn];
            }
            choices.push(txn);
        }
        choices.put_in_order_by_key(|&txn| txns[txn as usize].ret);
        choices
    }

    fn fits(&self, txn: u32) -> bool {
        let info = &self.prepared.txns[txn as usize];
        let sees = info.reads.iter().all(|&(key, seen)| self.current[key.index()] == seen);
        let spares = info.writes.iter().all(|&(key, _)| {
            let current = self.current[key.index()];
            let own = info.reads.iter().any(|read| read.1 == current);
            self.readers_left[current as usize] <= u32::from(own)
        });
        let session = info.session;
        let earlier = self.by_call[self.first_call..].iter().take_while(|&&other| other != txn);
        let waits = earlier.clone().any(|&other| {
            let other_info = &self.prepared.txns[other as usize];
            let is_bound = other_info.session == session && other_info.precedes_session;
            !self.done[other as usize] && is_bound
        });
        sees && spares && !waits
    }

    /// Takes the next choice that leads to a new set.
    fn descend(&mut self, frame: &mut Frame) -> bool {
        while let Some(&txn) = frame.choices.get(frame.next) {
            frame.next += 1;
            let set = self.set ^ self.names[txn as usize];
            if !self.memo.insert(set) {
                continue;
            }
            self.set = set;
            self.done[txn as usize] = true;
            self.count += 1;
            let info = &self.prepared.txns[txn as usize];
            info.reads.iter().for_each(|read| self.readers_left[read.1 as usize] -= 1);
            frame.overwritten.clear();
            for &(key, version) in &info.writes {
                frame.overwritten.push((key.index(), self.current[key.index()]));
                self.current[key.index()] = version;
            }
            return true;
        }
        false
    }

    fn undo(&mut self, frame: &mut Frame) {
        let txn = frame.choices[frame.next - 1];
        for &(key, version) in frame.overwritten.iter().rev() {
            self.current[key] = version;
        }
        let info = &self.prepared.txns[txn as usize];
        info.reads.iter().for_each(|read| self.readers_left[read.1 as usize] += 1);
        self.done[txn as usize] = false;
        self.count -= 1;
        self.set ^= self.names[txn as usize];
        // What is undone may lie before these places.
        let [call, ret] = self.places[txn as usize];
        self.first_call = self.first_call.min(call);
        self.first_return = self.first_return.min(ret);
    }
}
