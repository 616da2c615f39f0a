//! What a memory model says: which value a read may give, where a write may go, what a thread knows
//! afterwards. One trait, three models: [`Sc`](super::sc::Sc), [`Tso`](super::tso::Tso) and
//! [`Rc20`](super::rc20::Rc20).
//!
//! Memory is a row of *words*, each of one or more slots that are read and written together: first
//! the shared variables, then the words of every node, and behind them, where nodes are freed, one
//! word for the life of the node. A model chooses with [`Choices`], so that whoever runs a step
//! again and again meets every behaviour once.

use crate::options::Synchronise;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Fault, Stop};
use seriatim_lang::steps::Ordering;

/// What a word holds: its first slot and the others, of which there are seldom any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The first slot.
    pub first: i32,
    /// The others.
    pub rest: Vec<i32>,
}

impl Content {
    /// The content of these slots; there is at least one.
    pub fn of(slots: &[i32]) -> Content {
        Content { first: slots[0], rest: slots[1..].to_vec() }
    }

    /// All slots.
    pub fn slots(&self) -> impl Iterator<Item = i32> + '_ {
        std::iter::once(self.first).chain(self.rest.iter().copied())
    }

    /// All slots, to be changed.
    pub fn slots_mut(&mut self) -> impl Iterator<Item = &mut i32> + '_ {
        std::iter::once(&mut self.first).chain(&mut self.rest)
    }
}

/// Who accesses memory, how, and under which number the access is told of.
#[derive(Clone, Copy, Debug)]
pub struct Who {
    /// Which thread.
    pub thread: usize,
    /// How it is ordered.
    pub order: Ordering,
    /// The number of the access in the run.
    pub event: u32,
}

/// What a read gives.
#[derive(Clone, Debug)]
pub struct Found {
    /// The value.
    pub content: Content,
    /// The number of the write that it comes from.
    pub from: u32,
    /// How many writes to the word there are that it does not see.
    pub behind: u32,
}

/// What an update of a word makes of a value.
pub enum Change {
    /// It writes this.
    To(Content),
    /// It only reads: a `cas` that fails.
    Fails,
    /// It waits for another value: a lock that is held.
    Waits,
    /// It is an error.
    Stops(Stop),
}

/// What came of an update.
#[derive(Clone, Debug)]
pub struct Updated {
    /// What it read.
    pub found: Found,
    /// Whether it wrote, then right behind what it read.
    pub wrote: bool,
}

/// What a program asks of its memory model.
#[derive(Clone, Copy, Debug)]
pub struct Demands {
    /// It has fences that acquire.
    pub acquire_fences: bool,
    /// It has fences that release.
    pub release_fences: bool,
    /// It has accesses or fences that are `seqcst`.
    pub seqcst: bool,
    /// What the client synchronises; unless that is everything, what a call knows is exact.
    pub clients: Synchronise,
}

/// A memory with its threads' knowledge of it.
pub trait Memory: Clone {
    /// Whether plain accesses can race.
    const RACES: bool;
    /// Whether the mover rule of the module `step` holds for it.
    const MOVERS: bool;
    /// Whether writes wait in queues, so that what nobody else can reach is written at once.
    const QUEUES: bool = false;

    /// The memory in which these threads begin; each word with whether it is plain.
    fn start(words: Vec<(Content, bool)>, threads: usize, demands: Demands) -> Self;

    /// Reads an atomic word.
    fn read(&mut self, who: Who, word: usize, choices: &mut Choices) -> Result<Found, Stop>;

    /// Writes an atomic word; gives the write that comes right before it.
    fn write(
        &mut self,
        who: Who,
        word: usize,
        content: Content,
        choices: &mut Choices,
    ) -> Result<u32, Stop>;

    /// Reads an atomic word and writes it in one, unless the change says otherwise; a read alone
    /// has the ordering `failure`.
    fn update(
        &mut self,
        who: Who,
        failure: Ordering,
        word: usize,
        change: &mut dyn FnMut(&Content) -> Change,
        choices: &mut Choices,
    ) -> Result<Updated, Stop>;

    /// Orders what the thread did with what it will do.
    fn fence(&mut self, thread: usize, order: Ordering) -> Result<(), Stop>;

    /// Reads a plain word.
    fn read_plain(&mut self, who: Who, word: usize) -> Result<Found, Fault>;

    /// Writes a plain word.
    fn write_plain(&mut self, who: Who, word: usize, content: Content) -> Result<u32, Fault>;

    /// Writes a word of a node that no other thread, no memory and no waiting write leads to; asked
    /// of models with queues only.
    fn write_private(&mut self, who: Who, word: usize, content: Content) -> u32 {
        self.write_plain(who, word, content).unwrap_or(who.event)
    }

    /// The words of a new node, from `at` on: they replace those of a freed node, or are new.
    fn allocate(&mut self, who: Who, at: usize, words: Vec<(Content, bool)>);

    /// What the thread knows goes along with a word of a node that it gives back.
    fn hand_on(&mut self, thread: usize, word: usize);

    /// The thread takes over what went along with a word of a node that was given back: an
    /// allocator synchronises the two.
    fn adopt(&mut self, thread: usize, word: usize);

    /// Whether a thread may make a new node where these words of a freed one lie: no write to them
    /// is under way, nor any of the thread's own. An allocator synchronises that.
    fn is_quiet(&self, _thread: usize, _words: std::ops::Range<usize>) -> bool {
        true
    }

    /// The word that a thread saw or wrote last, as far as it knows.
    fn known(&self, thread: usize, word: usize) -> Content;

    /// The client's thread calls an operation; gives the operations of whose returns the client
    /// tells it then, by their numbers among all.
    fn call(&mut self, thread: usize, choices: &mut Choices) -> u64;

    /// The client's thread returns from the operation of this number among all.
    fn give_back(&mut self, thread: usize, operation: Option<u32>) -> Result<(), Stop>;

    /// After a return: the idle threads know at once what a call would tell them.
    fn settle(&mut self, idle: &[usize]);

    /// The operations that a thread knows to have returned.
    fn returned(&self, thread: usize) -> u64;

    /// Whether memory can do something of its own for a thread: hand on its oldest write.
    fn can_flush(&self, thread: usize) -> bool;

    /// How many writes of a thread wait.
    fn waiting(&self, _thread: usize) -> u32 {
        0
    }

    /// Does it; gives the number of the write.
    fn flush(&mut self, thread: usize) -> u32;

    /// Forgets what no acting thread can tell apart any more; constant words are written only where
    /// no other thread can have read them.
    fn forget(&mut self, acting: &[bool], constant: &[bool]);

    /// The most values of a word that a thread can still see, or writes that wait.
    fn lag(&self) -> u32;

    /// Calls `visit` on every value that somebody can still see in a word.
    fn contents(&self, word: usize, visit: &mut dyn FnMut(&Content));

    /// The words to which writes are under way.
    fn pinned(&self) -> Vec<usize> {
        vec![]
    }

    /// The last value of a word.
    fn last(&self, word: usize) -> &Content;

    /// Calls `visit` on every value of memory, to be renamed, and on its word.
    fn rename(&mut self, visit: &mut dyn FnMut(usize, &mut Content));

    /// Keeps these words only.
    fn retain(&mut self, keep: &[bool]);

    /// Adds what is the same for a thread however threads and nodes are called, as far as the first
    /// words and the operations go: threads are sorted by it.
    fn signature(&self, thread: usize, words: usize, rank: &mut Vec<i32>);

    /// Adds all that the future depends on to a key.
    fn key(&self, names: &Names<'_>, key: &mut Vec<u8>);
}

impl Names<'_> {
    /// A mask of operations, with threads in their order.
    pub fn operations(&self, mask: u64) -> u64 {
        let width = self.operation_bits;
        let of = |thread: usize| mask >> (thread * width) & ((1 << width) - 1);
        let places = self.threads.iter().enumerate();
        places.fold(0, |mask, (place, thread)| mask | of(*thread) << (place * width))
    }
}

/// How words, threads and values are called in a key.
pub struct Names<'n> {
    /// The words, in their order.
    pub words: &'n [usize],
    /// The threads, in their order.
    pub threads: &'n [usize],
    /// The number of operations that a thread's part of a mask takes, in bits.
    pub operation_bits: usize,
    /// Adds a value of a word.
    pub content: &'n dyn Fn(usize, &Content, &mut Vec<u8>),
    /// The place of a word in the order.
    pub place: &'n dyn Fn(usize) -> usize,
}
