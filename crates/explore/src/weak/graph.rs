//! Execution graphs, and the axioms that say which of them a memory model allows.
//!
//! A graph has events (reads, writes, updates, fences) of threads, for each read the write that it
//! reads from, and for each word its writes in modification order. Nothing here knows of views, of
//! queues, or of an order in which things happen: it is the definition that the models are compared
//! with, and by which the run of a violation is judged once more.
//!
//! *RC20.* Sequenced-before and reads-from have no cycle together. *Happens-before* is
//! sequenced-before and synchronises-with, closed: a release (or a release fence before a write)
//! synchronises with an acquire (or with an acquire fence behind a read) that reads from its
//! release sequence, which goes on in updates. *Extended coherence order* is reads-from,
//! modification order and from-read, closed. No event happens before another that is
//! extended-coherence-before it. An update comes right behind the write that it reads from. There
//! is an order of all `seqcst` events that agrees with sequenced-before, reads-from and
//! coherence-ordered-before, where a `seqcst` fence stands for all that happens after it where it
//! comes first, and for all that happens before it where it comes second.
//!
//! *TSO.* On every word by itself, program order agrees with communication; and program order but
//! from writes to later reads without a fence between them, communication between threads and the
//! order of fences have no cycle (Alglave, Maranget and Tautschnig, TOPLAS 2014).
//!
//! *SC.* Program order and communication have no cycle (Shasha and Snir, TOPLAS 1988).

use crate::options::MemoryModel;
use seriatim_lang::steps::Ordering;

/// What an event is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A read.
    Read,
    /// A write.
    Write,
    /// A read and a write in one.
    Update,
    /// A fence.
    Fence,
    /// Something that orders nothing by itself: a call, a return, a node that is made.
    Mark,
}

/// An event.
#[derive(Clone, Copy, Debug)]
pub struct GraphEvent {
    /// Its thread; `None` for the initial writes.
    pub thread: Option<usize>,
    /// What it is.
    pub kind: Kind,
    /// The word that it accesses.
    pub word: Option<usize>,
    /// How it is ordered; `None` if it is plain.
    pub order: Option<Ordering>,
}

impl GraphEvent {
    /// Whether it writes a word.
    pub fn writes(&self) -> bool {
        matches!(self.kind, Kind::Write | Kind::Update)
    }

    fn is_fence(&self) -> bool {
        self.kind == Kind::Fence
    }

    fn acquires(&self) -> bool {
        self.order.is_some_and(Ordering::acquires)
    }

    fn releases(&self) -> bool {
        self.order.is_some_and(Ordering::releases)
    }

    fn is_sc(&self) -> bool {
        self.order == Some(Ordering::SeqCst)
    }
}

/// A relation between events: for each of them a row of bits.
#[derive(Clone, Debug)]
pub struct Relation {
    count: usize,
    width: usize,
    bits: Vec<u64>,
}

impl Relation {
    fn new(count: usize) -> Relation {
        let width = count.div_ceil(64);
        Relation { count, width, bits: vec![0; count * width] }
    }

    fn add(&mut self, from: usize, to: usize) {
        self.bits[from * self.width + to / 64] |= 1 << (to % 64);
    }

    /// Whether two events are related.
    pub fn has(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.width + to / 64] >> (to % 64) & 1 == 1
    }

    /// The relation closed under succession.
    fn closed(mut self) -> Relation {
        for middle in 0..self.count {
            let reached = self.bits[middle * self.width..][..self.width].to_vec();
            for from in (0..self.count).filter(|from| self.has(*from, middle)).collect::<Vec<_>>() {
                let row = &mut self.bits[from * self.width..][..self.width];
                row.iter_mut().zip(&reached).for_each(|(known, more)| *known |= more);
            }
        }
        self
    }

    fn has_cycle(&self) -> bool {
        (0..self.count).any(|event| self.has(event, event))
    }
}

/// An execution graph. The events of a thread are sequenced in the order of the list.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// The events; initial writes come first.
    pub events: Vec<GraphEvent>,
    /// For each event that reads, the write that it reads from.
    pub reads_from: Vec<Option<usize>>,
    /// For each word, its writes in modification order.
    pub modification: Vec<Vec<usize>>,
    /// What happens before what by other means: clients and allocators that synchronise.
    pub synchronised: Vec<(usize, usize)>,
}

impl Graph {
    fn count(&self) -> usize {
        self.events.len()
    }

    fn sequenced(&self, a: usize, b: usize) -> bool {
        let (first, second) = (self.events[a].thread, self.events[b].thread);
        match first {
            None => second.is_some(),
            Some(_) => first == second && a < b,
        }
    }

    /// Adds all pairs of a relation that is given as a test.
    fn relate(&self, into: &mut Relation, holds: impl Fn(usize, usize) -> bool) {
        for a in 0..self.count() {
            (0..self.count()).filter(|b| holds(a, *b)).for_each(|b| into.add(a, b));
        }
    }

    fn sources(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let reads = self.reads_from.iter().enumerate();
        reads.filter_map(|(read, from)| from.map(|write| (write, read)))
    }

    /// Happens-before.
    pub fn happens_before(&self) -> Relation {
        let mut order = Relation::new(self.count());
        self.relate(&mut order, |a, b| self.sequenced(a, b));
        self.synchronised.iter().for_each(|(a, b)| order.add(*a, *b));
        let fences = |test: &dyn Fn(usize) -> bool| -> Vec<usize> {
            (0..self.count()).filter(|f| self.events[*f].is_fence() && test(*f)).collect()
        };
        for (write, read) in self.sources() {
            let mut from = vec![];
            let mut head = Some(write);
            while let Some(write) = head {
                let event = &self.events[write];
                if event.order.is_some() {
                    from.extend(event.releases().then_some(write));
                    from.extend(fences(&|f| self.events[f].releases() && self.sequenced(f, write)));
                }
                head = if event.kind == Kind::Update { self.reads_from[write] } else { None };
            }
            let mut to = vec![];
            if self.events[read].order.is_some() {
                to.extend(self.events[read].acquires().then_some(read));
                to.extend(fences(&|f| self.events[f].acquires() && self.sequenced(read, f)));
            }
            from.iter().for_each(|a| to.iter().for_each(|b| order.add(*a, *b)));
        }
        order.closed()
    }

    fn place(&self, write: usize) -> Option<usize> {
        let word = self.events[write].word?;
        self.modification[word].iter().position(|w| *w == write)
    }

    /// Reads-from, modification order and from-read; `between` leaves out pairs.
    fn communication(&self, between: impl Fn(usize, usize) -> bool) -> Relation {
        let mut order = Relation::new(self.count());
        for (write, read) in self.sources().filter(|(a, b)| between(*a, *b)) {
            order.add(write, read);
        }
        for writes in &self.modification {
            for (at, a) in writes.iter().enumerate() {
                writes[at + 1..]
                    .iter()
                    .filter(|b| between(*a, **b))
                    .for_each(|b| order.add(*a, *b));
            }
        }
        for (write, read) in self.sources() {
            let (Some(word), Some(at)) = (self.events[write].word, self.place(write)) else {
                continue;
            };
            let later = self.modification[word][at + 1..].iter();
            later.filter(|w| **w != read && between(read, **w)).for_each(|w| order.add(read, *w));
        }
        order
    }

    /// Which axiom of a model the graph breaks, if it breaks one.
    pub fn broken(&self, model: MemoryModel) -> Option<&'static str> {
        if self.atomicity_is_broken() {
            return Some("atomicity of updates");
        }
        match model {
            MemoryModel::Sc => self.broken_sc(),
            MemoryModel::Tso => self.broken_tso(),
            MemoryModel::Rc20 => self.broken_rc20(),
        }
    }

    fn atomicity_is_broken(&self) -> bool {
        self.sources().filter(|(_, read)| self.events[*read].kind == Kind::Update).any(
            |(write, update)| match (self.place(write), self.place(update)) {
                (Some(a), Some(b)) => a + 1 != b,
                _ => true,
            },
        )
    }

    fn broken_sc(&self) -> Option<&'static str> {
        let mut order = self.communication(|_, _| true);
        self.relate(&mut order, |a, b| self.sequenced(a, b));
        order.closed().has_cycle().then_some("sequential consistency")
    }

    fn broken_tso(&self) -> Option<&'static str> {
        let mut word = self.communication(|_, _| true);
        self.relate(&mut word, |a, b| {
            self.events[a].word.is_some()
                && self.events[a].word == self.events[b].word
                && self.sequenced(a, b)
        });
        if word.closed().has_cycle() {
            return Some("coherence");
        }
        // A thread reads its own writes before memory has them.
        let external = |a: usize, b: usize| {
            self.events[a].thread != self.events[b].thread || self.events[b].kind != Kind::Read
        };
        let mut order = self.communication(external);
        let is_strong = |e: &GraphEvent| {
            e.kind == Kind::Update || e.is_sc() && (e.is_fence() || e.kind == Kind::Write)
        };
        self.relate(&mut order, |a, b| {
            let (first, second) = (&self.events[a], &self.events[b]);
            let delayed = first.kind == Kind::Write && second.kind == Kind::Read;
            let fenced = || {
                let strong = |e: usize| is_strong(&self.events[e]);
                strong(a) || (a..b).any(|e| strong(e) && self.sequenced(a, e))
            };
            let orders = |e: &GraphEvent| e.word.is_some() || is_strong(e);
            self.sequenced(a, b) && orders(first) && orders(second) && (!delayed || fenced())
        });
        order.closed().has_cycle().then_some("total store order")
    }

    fn broken_rc20(&self) -> Option<&'static str> {
        let mut causes = Relation::new(self.count());
        self.relate(&mut causes, |a, b| self.sequenced(a, b));
        self.sources().for_each(|(write, read)| causes.add(write, read));
        let causes = causes.closed();
        if causes.has_cycle() {
            return Some("no load buffering");
        }
        let before = self.happens_before();
        if before.has_cycle() {
            return Some("happens-before");
        }
        let coherence = self.communication(|_, _| true).closed();
        let clash = |a: usize| (0..self.count()).any(|b| before.has(a, b) && coherence.has(b, a));
        if coherence.has_cycle() || (0..self.count()).any(clash) {
            return Some("coherence");
        }
        let strong: Vec<usize> = (0..self.count()).filter(|e| self.events[*e].is_sc()).collect();
        let stands_for = |event: usize, is_first: bool| -> Vec<usize> {
            if !self.events[event].is_fence() {
                return vec![event];
            }
            let near = |other: &usize| {
                let (a, b) = if is_first { (event, *other) } else { (*other, event) };
                before.has(a, b) && !self.events[*other].is_fence()
            };
            (0..self.count()).filter(near).collect()
        };
        let mut order = causes;
        for a in &strong {
            for b in strong.iter().filter(|b| *b != a) {
                let (left, right) = (stands_for(*a, true), stands_for(*b, false));
                if left.iter().any(|l| right.iter().any(|r| coherence.has(*l, *r))) {
                    order.add(*a, *b);
                }
            }
        }
        order.closed().has_cycle().then_some("the order of seqcst")
    }
}
