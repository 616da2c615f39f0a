//! One part of a history, arranged for the search.
//!
//! Completed operations are numbered in the order of their returns; the number is called the
//! operation's *rank*. The search moves a *frontier* along the ranks: all operations before it are
//! linearized, the one at it is not. Only operations called before the frontier's operation returns
//! can be linearized next: the *open* ones. Each operation has a *slot*, and operations that are
//! open together have different slots, so the linearized ones among them are a set of slots as
//! small as the concurrency.
//!
//! Pending operations never return, hence have no rank. Those of one class are interchangeable
//! (once called they stay available for ever), so a configuration only counts how many of each
//! class it has used.

use hashbrown::HashMap;
use seriatim_history::{Event, History, OpId, Time};
use seriatim_limits::InOrder;
use seriatim_spec::{Alphabet, ClassId, Interpretation};

/// The rank of a completed operation: its place in the order of returns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Rank(pub u32);

/// A class of pending operations, numbered within the part.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PendingId(pub u32);

/// A part of a history under a specification.
pub struct Part<'a> {
    /// What the specification says of the classes.
    pub alphabet: &'a dyn Alphabet,
    classes: Vec<ClassId>,
    operations: Vec<OpId>,
    /// The first frontier at which each operation is called.
    called_at: Vec<Rank>,
    slots: Vec<u32>,
    slot_count: usize,
    /// The ranks open at each frontier, ascending: `open[starts[f]..starts[f + 1]]`.
    open: Vec<Rank>,
    starts: Vec<u32>,
    pending: Vec<PendingClass>,
    /// The number of events before each frontier's return, itself not counted.
    events_before: Vec<u32>,
    preamble: Vec<ClassId>,
}

/// Pending operations that the specification cannot tell apart.
struct PendingClass {
    class: ClassId,
    /// The operations, in call order.
    operations: Vec<OpId>,
    /// For each operation the first frontier at which it has been called.
    available_from: Vec<Rank>,
}

impl<'a> Part<'a> {
    /// How many bytes the arrangement of some operations takes at least: at each return it names
    /// what is open.
    pub fn least_bytes(history: &History, operations: &[OpId]) -> usize {
        let (mut open, mut named) = (0, 0);
        for event in history.events_of(operations.iter().copied()) {
            match event {
                Event::Call(op) => open += usize::from(history.ret(op).is_some()),
                Event::Return(_) => {
                    named += open;
                    open -= 1;
                }
            }
        }
        named * size_of::<Rank>()
    }

    /// Arranges some operations of a history, named in call order.
    pub fn new(history: &History, reading: &'a Interpretation, operations: &[OpId]) -> Self {
        let class = |op: OpId| reading.class(op).expect("a part holds no dropped operation");
        let mut arrangement = Arrangement::new(history, operations);
        let mut part = Part {
            alphabet: &*reading.alphabet,
            classes: Vec::new(),
            operations: Vec::new(),
            called_at: Vec::new(),
            slots: Vec::new(),
            slot_count: 0,
            open: Vec::new(),
            starts: vec![0],
            pending: Vec::new(),
            events_before: Vec::new(),
            preamble: Vec::new(),
        };
        let mut pending_index: HashMap<ClassId, usize> = HashMap::new();
        for (events, event) in history.events_of(operations.iter().copied()).enumerate() {
            match event {
                Event::Call(op) if history.ret(op).is_none() => {
                    let index = *pending_index.entry(class(op)).or_insert(part.pending.len());
                    if index == part.pending.len() {
                        part.pending.push(PendingClass::new(class(op)));
                    }
                    part.pending[index].operations.push(op);
                    part.pending[index].available_from.push(Rank(part.classes.len() as u32));
                }
                Event::Call(_) => arrangement.call(Rank(part.classes.len() as u32)),
                Event::Return(op) => {
                    part.open.extend(arrangement.open.iter().map(|open| open.rank));
                    part.starts.push(u32::try_from(part.open.len()).expect("fits in memory"));
                    let (slot, called_at) = arrangement.ret();
                    part.slots.push(slot);
                    part.called_at.push(called_at);
                    part.classes.push(class(op));
                    part.operations.push(op);
                    part.events_before.push(events as u32);
                }
            }
        }
        part.slot_count = arrangement.slot_count as usize;
        part
    }

    /// The part as it stands after some operations have happened in this order. They are not among
    /// its own, and each leaves the specification no choice.
    pub fn after(self, preamble: Vec<ClassId>) -> Self {
        Part { preamble, ..self }
    }

    /// What has happened before the part.
    pub fn preamble(&self) -> &[ClassId] {
        &self.preamble
    }

    /// The number of completed operations: the frontier at the end.
    pub fn end(&self) -> Rank {
        Rank(self.classes.len() as u32)
    }

    /// The number of slots: the highest number of completed operations open together.
    pub fn slot_count(&self) -> usize {
        self.slot_count
    }

    /// The class of a completed operation.
    #[inline]
    pub fn class(&self, rank: Rank) -> ClassId {
        self.classes[rank.0 as usize]
    }

    /// The slot of a completed operation.
    #[inline]
    pub fn slot(&self, rank: Rank) -> u32 {
        self.slots[rank.0 as usize]
    }

    /// The first frontier at which a completed operation is called: operations of lower rank return
    /// before its call.
    #[inline]
    pub fn called_at(&self, rank: Rank) -> Rank {
        self.called_at[rank.0 as usize]
    }

    /// The operation of a rank.
    pub fn operation(&self, rank: Rank) -> OpId {
        self.operations[rank.0 as usize]
    }

    /// The completed operations that may be linearized next at a frontier, the frontier's own
    /// first.
    #[inline]
    pub fn open(&self, frontier: Rank) -> &[Rank] {
        let start = self.starts[frontier.0 as usize] as usize;
        let end = self.starts[frontier.0 as usize + 1] as usize;
        &self.open[start..end]
    }

    /// The classes of pending operations.
    pub fn pending(&self) -> impl ExactSizeIterator<Item = PendingId> + use<> {
        (0..self.pending.len() as u32).map(PendingId)
    }

    /// The class of pending operations in the alphabet.
    #[inline]
    pub fn pending_class(&self, pending: PendingId) -> ClassId {
        self.pending[pending.0 as usize].class
    }

    /// The first frontier at which a pending operation of a class is called.
    pub fn available_from(&self, pending: PendingId) -> Rank {
        self.pending[pending.0 as usize].available_from[0]
    }

    /// The classes of which some pending operation has been called at a frontier: they are numbered
    /// in the order of their first calls.
    pub fn pending_at(&self, frontier: Rank) -> impl Iterator<Item = PendingId> + use<> {
        let called = self.pending.partition_point(|class| class.available_from[0] <= frontier);
        (0..called as u32).map(PendingId)
    }

    /// How many pending operations of a class have been called at a frontier.
    #[inline]
    pub fn available(&self, pending: PendingId, frontier: Rank) -> usize {
        let from = &self.pending[pending.0 as usize].available_from;
        match from.last() {
            Some(&last) if last <= frontier => from.len(),
            _ => from.partition_point(|&rank| rank <= frontier),
        }
    }

    /// The pending operation that is used as the `nth` of its class: they go in call order.
    pub fn pending_operation(&self, pending: PendingId, nth: usize) -> OpId {
        self.pending[pending.0 as usize].operations[nth]
    }

    /// The number of events of the part before a frontier's return: a prefix that is linearizable
    /// once a configuration has reached the frontier.
    pub fn events_before(&self, frontier: Rank) -> usize {
        match self.events_before.get(frontier.0 as usize) {
            Some(&events) => events as usize,
            None => self.event_count(),
        }
    }

    /// The number of events of the part.
    pub fn event_count(&self) -> usize {
        let pending: usize = self.pending.iter().map(|class| class.operations.len()).sum();
        2 * self.classes.len() + pending
    }

    /// All classes that occur, each once.
    pub fn occurring_classes(&self) -> Vec<ClassId> {
        let mut classes = self.classes.clone();
        classes.extend(self.pending.iter().map(|pending| pending.class));
        classes.put_in_order();
        classes.dedup();
        classes
    }

    /// An estimate of the memory in use, in bytes.
    pub fn bytes(&self) -> usize {
        self.classes.len() * 24 + self.open.len() * 4
    }
}

impl PendingClass {
    fn new(class: ClassId) -> Self {
        PendingClass { class, operations: Vec::new(), available_from: Vec::new() }
    }
}

/// Follows the open operations while the events go by.
struct Arrangement {
    /// The ranks of the completed operations, in call order.
    ranks: std::vec::IntoIter<Rank>,
    /// The open completed operations, by rank.
    open: Vec<Open>,
    free_slots: Vec<u32>,
    slot_count: u32,
}

struct Open {
    rank: Rank,
    slot: u32,
    called_at: Rank,
}

impl Arrangement {
    fn new(history: &History, operations: &[OpId]) -> Self {
        let mut returns: Vec<(Time, usize)> =
            operations.iter().filter_map(|&op| history.ret(op)).zip(0..).collect();
        returns.put_in_order();
        let mut ranks = vec![Rank(0); returns.len()];
        for (rank, &(_, place)) in returns.iter().enumerate() {
            ranks[place] = Rank(rank as u32);
        }
        let (ranks, open) = (ranks.into_iter(), Vec::new());
        Arrangement { ranks, open, free_slots: Vec::new(), slot_count: 0 }
    }

    /// The next completed operation is called.
    fn call(&mut self, called_at: Rank) {
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.slot_count += 1;
            self.slot_count - 1
        });
        let rank = self.ranks.next().expect("calls come in the order of the operations");
        let place = self.open.partition_point(|other| other.rank < rank);
        self.open.insert(place, Open { rank, slot, called_at });
    }

    /// The operation of the lowest rank returns; gives its slot and when it was called.
    fn ret(&mut self) -> (u32, Rank) {
        let Open { slot, called_at, .. } = self.open.remove(0);
        self.free_slots.push(slot);
        (slot, called_at)
    }
}
