//! Whether C11 allows what an explorer let the threads read.
//!
//! Loom keeps the modification order of an atomic only in part: a load may make one store later
//! than another without making the stores after it later too (its issues 282 and 389), and then
//! a thread is shown a value that was overwritten before everything it knows. A correct register
//! fails by that. So no execution of Loom's is judged before its accesses were held against the
//! rules.
//!
//! **Theorem** (coherence, as in RC11 without its axiom for SeqCst). An execution is consistent
//! iff each read can be given a write of its value so that, with happens-before made of program
//! order, synchronisation and what the harness itself orders (threads begin and are joined; a
//! return comes before each later call), each atomic's writes have a total order in which
//!
//! - the first value is the first,
//! - a write comes after every other write that happens before it, and after every write that a
//!   read before it has read,
//! - what a read reads comes after, or is, every write that happens before the read, and every
//!   write that a read before it has read,
//! - an update comes right after the write that it reads.
//!
//! The last rule joins writes to *blocks* that stand together. Such an order exists iff the other
//! rules close no cycle among the blocks, and go forwards inside each. Since an explorer runs one
//! access after another, and each reads what was written already, happens-before is known at every
//! access, and the rules are looked at as the accesses come. Only the choice of the write that was
//! read needs a search, where several wrote the same value.
//!
//! **What would make it unsound.** An execution is called impossible only if every choice fails,
//! so that knowing less must never forbid more: each piece of happens-before that is not known
//! (locks, channels, threads of the object's own, the order of SeqCst accesses) only leaves rules
//! out. An atomic that can be changed without being heard, that has no first value, or of which a
//! value is read that nobody wrote, is left out altogether; and a search that grows too long ends
//! with *possible*.

use seriatim_sync::trace::{Atom, Effect};
use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;

/// Something that a thread of an execution did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub thread: usize,
    pub what: What,
}

/// What a thread did.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// It began a thread.
    Spawn(usize),
    /// It waited for the end of a thread.
    Join(usize),
    /// It called an operation of the object.
    Call,
    /// It came back from one.
    Return,
    /// It accessed an atomic.
    Access(Effect),
}

/// So many accesses are tried before the search gives up.
const PATIENCE: usize = 100_000;

/// Whether C11 allows an execution; also if that cannot be found out.
pub(crate) fn is_possible(events: &[Event]) -> bool {
    let unheard = unheard(events);
    let heard: Vec<Event> =
        events.iter().filter(|event| !unheard.contains(&event.atom())).copied().collect();
    let mut patience = PATIENCE;
    Memory::default().goes_on(&heard, &mut patience)
}

impl Event {
    fn atom(&self) -> Option<Atom> {
        match self.what {
            What::Access(
                Effect::New(atom, _)
                | Effect::Load(atom, ..)
                | Effect::Store(atom, ..)
                | Effect::Update(atom, ..)
                | Effect::Unheard(atom),
            ) => Some(atom),
            _ => None,
        }
    }
}

/// The atomics of which not everything is known.
fn unheard(events: &[Event]) -> HashSet<Option<Atom>> {
    let mut written: HashMap<Atom, HashSet<u64>> = HashMap::new();
    let mut unheard = HashSet::new();
    for event in events {
        let What::Access(effect) = event.what else { continue };
        let (atom, read, write) = match effect {
            Effect::New(atom, value) => {
                written.insert(atom, HashSet::from([value]));
                continue;
            }
            Effect::Load(atom, value, _) => (atom, Some(value), None),
            Effect::Store(atom, value, _) => (atom, None, Some(value)),
            Effect::Update(atom, old, new, _) => (atom, Some(old), Some(new)),
            Effect::Unheard(atom) => {
                unheard.insert(Some(atom));
                continue;
            }
            Effect::Fence(_) => continue,
        };
        let known = written.get_mut(&atom);
        let is_known = |values: &mut HashSet<u64>| {
            let is_written = read.is_none_or(|value| values.contains(&value));
            values.extend(write);
            is_written
        };
        if !known.is_some_and(is_known) {
            unheard.insert(Some(atom));
        }
    }
    unheard
}

/// How much of each thread happened before a moment: a vector clock.
#[derive(Clone, Default, Debug)]
struct Past(Vec<u32>);

impl Past {
    fn of(&self, thread: usize) -> u32 {
        self.0.get(thread).copied().unwrap_or(0)
    }

    fn join(&mut self, other: &Past) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    fn advance(&mut self, thread: usize) -> Moment {
        if self.0.len() <= thread {
            self.0.resize(thread + 1, 0);
        }
        self.0[thread] += 1;
        Moment { thread, count: self.0[thread] }
    }

    fn has(&self, moment: Moment) -> bool {
        self.of(moment.thread) >= moment.count
    }
}

/// An event, by its thread and its number there.
#[derive(Clone, Copy, Debug)]
struct Moment {
    thread: usize,
    count: u32,
}

/// What a thread knows.
#[derive(Clone, Default, Debug)]
struct Knowledge {
    past: Past,
    /// What its last release fence gives to the stores after it.
    released: Past,
    /// What its loads would have acquired, for the next acquire fence.
    to_acquire: Past,
}

/// A write of an atomic.
#[derive(Clone, Debug)]
struct Write {
    moment: Moment,
    value: u64,
    /// What an acquiring reader of it learns.
    released: Past,
    /// The block of writes that it stands in, named by its first one, and its place there.
    block: usize,
    place: usize,
}

/// An atomic with what is known of its modification order.
#[derive(Clone, Default, Debug)]
struct History {
    writes: Vec<Write>,
    /// The reads, each with the write that it read.
    reads: Vec<(Moment, usize)>,
    /// Which blocks come before which.
    before: HashSet<(usize, usize)>,
}

/// The state of the search.
#[derive(Clone, Default, Debug)]
struct Memory {
    threads: Vec<Knowledge>,
    /// What the returns so far give to the calls after them.
    returned: Past,
    atoms: HashMap<Atom, History>,
}

impl Memory {
    /// Whether some choice of the writes that are read brings all events to their end.
    fn goes_on(mut self, events: &[Event], patience: &mut usize) -> bool {
        for (at, event) in events.iter().enumerate() {
            let choices = self.choices(event);
            if choices.len() > 1 {
                return choices.into_iter().any(|choice| {
                    let mut memory = self.clone();
                    let goes = memory.happens(event, Some(choice));
                    goes && memory.goes_on(&events[at + 1..], patience) || *patience == 0
                });
            }
            *patience = patience.saturating_sub(1);
            if *patience == 0 {
                return true;
            }
            if !self.happens(event, choices.first().copied()) {
                return false;
            }
        }
        true
    }

    /// The writes that an event may have read, the latest first.
    fn choices(&self, event: &Event) -> Vec<usize> {
        let (atom, value) = match event.what {
            What::Access(Effect::Load(atom, value, _) | Effect::Update(atom, value, ..)) => {
                (atom, value)
            }
            _ => return Vec::new(),
        };
        let history = &self.atoms[&atom];
        let fits = |write: &usize| history.writes[*write].value == value;
        (0..history.writes.len()).rev().filter(fits).collect()
    }

    /// Adds an event; false if that breaks a rule.
    fn happens(&mut self, event: &Event, read: Option<usize>) -> bool {
        let moment = self.thread(event.thread).past.advance(event.thread);
        match event.what {
            What::Spawn(child) => {
                let past = self.thread(event.thread).past.clone();
                self.thread(child).past.join(&past);
            }
            What::Join(child) => {
                let past = self.thread(child).past.clone();
                self.thread(event.thread).past.join(&past);
            }
            What::Call => {
                let returned = self.returned.clone();
                self.thread(event.thread).past.join(&returned);
            }
            What::Return => {
                let past = self.thread(event.thread).past.clone();
                self.returned.join(&past);
            }
            What::Access(effect) => return self.takes_effect(moment, effect, read),
        }
        true
    }

    fn takes_effect(&mut self, moment: Moment, effect: Effect, read: Option<usize>) -> bool {
        match effect {
            Effect::New(atom, value) => {
                let first = Write { moment, value, released: Past::default(), block: 0, place: 0 };
                let writes = vec![first];
                self.atoms.insert(atom, History { writes, ..History::default() });
                true
            }
            Effect::Load(atom, _, order) => self.reads(moment, atom, order, read),
            Effect::Store(atom, value, order) => self.writes(moment, atom, value, order, None),
            Effect::Update(atom, _, new, order) => {
                self.reads(moment, atom, order, read) && self.writes(moment, atom, new, order, read)
            }
            Effect::Fence(order) => {
                self.fence(moment.thread, order);
                true
            }
            Effect::Unheard(_) => true,
        }
    }

    fn thread(&mut self, thread: usize) -> &mut Knowledge {
        if self.threads.len() <= thread {
            self.threads.resize_with(thread + 1, Knowledge::default);
        }
        &mut self.threads[thread]
    }

    fn fence(&mut self, thread: usize, order: Ordering) {
        let knowledge = self.thread(thread);
        if acquires(order) {
            knowledge.past.join(&knowledge.to_acquire);
        }
        if releases(order) {
            knowledge.released = knowledge.past.clone();
        }
    }

    fn reads(&mut self, moment: Moment, atom: Atom, order: Ordering, read: Option<usize>) -> bool {
        let Some(read) = read else { return false };
        let released = self.atoms[&atom].writes[read].released.clone();
        let knowledge = self.thread(moment.thread);
        knowledge.to_acquire.join(&released);
        if acquires(order) {
            knowledge.past.join(&released);
        }
        let past = knowledge.past.clone();
        let history = self.atoms.get_mut(&atom).expect("an atomic is heard of before its reads");
        let earlier = history.known_in(&past);
        history.reads.push((moment, read));
        earlier.into_iter().all(|write| history.comes_before(write, read)) && history.is_acyclic()
    }

    fn writes(
        &mut self,
        moment: Moment,
        atom: Atom,
        value: u64,
        order: Ordering,
        read: Option<usize>,
    ) -> bool {
        let knowledge = self.thread(moment.thread);
        let past = knowledge.past.clone();
        let mut released =
            if releases(order) { &knowledge.past } else { &knowledge.released }.clone();
        let history = self.atoms.get_mut(&atom).expect("an atomic is heard of before its writes");
        let (mut block, mut place) = (history.writes.len(), 0);
        if let Some(read) = read {
            let before = &history.writes[read];
            released.join(&before.released);
            (block, place) = (before.block, before.place + 1);
            // Two updates cannot both come right after one write.
            if history.writes.iter().any(|write| (write.block, write.place) == (block, place)) {
                return false;
            }
        }
        let earlier = history.known_in(&past);
        let write = history.writes.len();
        history.writes.push(Write { moment, value, released, block, place });
        history.comes_before(0, write)
            && earlier.into_iter().all(|before| history.comes_before(before, write))
            && history.is_acyclic()
    }
}

impl History {
    /// The writes that happened before a moment, or were read before it.
    fn known_in(&self, past: &Past) -> HashSet<usize> {
        let writes = self.writes.iter().enumerate().filter(|(_, write)| past.has(write.moment));
        let reads = self.reads.iter().filter(|(moment, _)| past.has(*moment));
        writes.map(|(write, _)| write).chain(reads.map(|(_, write)| *write)).collect()
    }

    /// Notes that a write comes before another or is the same; false if they stand in one block the
    /// other way round.
    fn comes_before(&mut self, first: usize, second: usize) -> bool {
        let (first, second) = (&self.writes[first], &self.writes[second]);
        if first.block == second.block {
            return first.place <= second.place;
        }
        self.before.insert((first.block, second.block));
        true
    }

    fn is_acyclic(&self) -> bool {
        let mut edges = self.before.clone();
        loop {
            let entered: HashSet<usize> = edges.iter().map(|(_, to)| *to).collect();
            let left = edges.len();
            edges.retain(|(from, _)| entered.contains(from));
            if edges.is_empty() || edges.len() == left {
                return edges.is_empty();
            }
        }
    }
}

fn acquires(order: Ordering) -> bool {
    matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
}

fn releases(order: Ordering) -> bool {
    matches!(order, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
}

#[cfg(test)]
mod tests;
