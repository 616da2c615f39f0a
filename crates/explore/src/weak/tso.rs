//! Total store order, as on x86: every thread has a queue of its own writes, from which memory
//! takes them one by one, at any time.
//!
//! *Rules* (Sewell, Sarkar, Owens, Zappa Nardelli and Myreen, "x86-TSO", CACM 2010). A read gives
//! the newest write to its word in the thread's own queue, or what memory holds. A write joins the
//! queue. An update, a write that is `seqcst` and a fence that is `seqcst` wait until the queue is
//! empty. All other orderings and all other fences are what compilers make of them: a plain
//! instruction, or none. There are no races.
//!
//! *Happens-before*: every write releases and every read acquires, so that it is program order and
//! reads-from, closed. Each thread, each waiting write and each word has the operations that are
//! known to have returned by it. What is written may wait from call to call: a later operation of
//! the thread reads before the writes of an earlier one have left the queue.
//!
//! *Clients.* One that synchronises every call waits for an empty queue before it returns, so that
//! the order of returns and calls in a run is the order that it knows. One that synchronises what
//! it likes writes down each return, behind what waits in its queue, and looks at each call for
//! those of others. *Theorem*: one client that writes down all returns and looks for all of them is
//! as strong as all such clients together. Its writes and reads change nothing for the object (they
//! join a queue and read memory, and wait for nothing), it may take part in every run, and it knows
//! at each call whatever any client could know there; the more is known, the fewer orders explain a
//! run. So there is no choice to be made, and what holds for this client holds for those that
//! synchronise nothing or everything as well.
//!
//! *It would be unsound* to take a place in memory for a new node while a write to the node that
//! was there waits: memory would take it later ([`Memory::is_quiet`]).

use super::memory::{Change, Content, Demands, Found, Memory, Names, Updated, Who};
use super::sc::Sc;
use crate::options::Synchronise;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Fault, Stop};
use seriatim_lang::steps::Ordering;

/// A write that waits.
#[derive(Clone, Debug)]
struct Waiting {
    word: usize,
    content: Content,
    /// Its number.
    event: u32,
    /// The operations that its thread knew to have returned.
    known: u64,
    /// Those that its thread knew when it returned behind this write, if it did: everybody may know
    /// them once memory has it.
    told: u64,
}

/// One memory, and a queue of writes for each thread, oldest first.
#[derive(Clone, Debug)]
pub struct Tso {
    memory: Sc,
    queues: Vec<Vec<Waiting>>,
    /// For each word the operations that whoever reads it knows to have returned.
    handed: Vec<u64>,
    /// Those that each thread knows to have returned.
    known: Vec<u64>,
    /// Those whose returns memory knows, if clients write them down.
    told: u64,
    clients: Synchronise,
}

impl Tso {
    fn drained(&self, thread: usize) -> Result<(), Stop> {
        if self.queues[thread].is_empty() { Ok(()) } else { Err(Stop::Waits) }
    }

    fn is_exact(&self) -> bool {
        self.clients != Synchronise::Everything
    }

    /// Memory takes a write of a thread that knows this.
    fn put(&mut self, word: usize, content: Content, event: u32, known: u64) -> u32 {
        self.handed[word] = known;
        self.memory.put(word, content, event)
    }

    fn wait(&mut self, who: Who, word: usize, content: Content) -> u32 {
        let known = self.known[who.thread];
        let waiting = Waiting { word, content, event: who.event, known, told: 0 };
        self.queues[who.thread].push(waiting);
        u32::MAX
    }
}

impl Memory for Tso {
    const RACES: bool = false;
    const MOVERS: bool = false;
    const QUEUES: bool = true;

    fn start(words: Vec<(Content, bool)>, threads: usize, demands: Demands) -> Tso {
        Tso {
            handed: vec![0; words.len()],
            memory: Sc::start(words, threads, demands),
            queues: vec![vec![]; threads],
            known: vec![0; threads],
            told: 0,
            clients: demands.clients,
        }
    }

    fn read(&mut self, who: Who, word: usize, _choices: &mut Choices) -> Result<Found, Stop> {
        let own = self.queues[who.thread].iter().rev().find(|waiting| waiting.word == word);
        let others = self.queues.iter().enumerate().filter(|(t, _)| *t != who.thread);
        let behind = others.flat_map(|(_, queue)| queue).filter(|w| w.word == word).count();
        let found = match own {
            Some(Waiting { content, event, .. }) => {
                Found { content: content.clone(), from: *event, behind: 0 }
            }
            None => {
                self.known[who.thread] |= self.handed[word];
                self.memory.get(word)
            }
        };
        Ok(Found { behind: behind as u32, ..found })
    }

    fn write(
        &mut self,
        who: Who,
        word: usize,
        content: Content,
        _choices: &mut Choices,
    ) -> Result<u32, Stop> {
        if who.order == Ordering::SeqCst {
            self.drained(who.thread)?;
            return Ok(self.put(word, content, who.event, self.known[who.thread]));
        }
        Ok(self.wait(who, word, content))
    }

    fn update(
        &mut self,
        who: Who,
        _failure: Ordering,
        word: usize,
        change: &mut dyn FnMut(&Content) -> Change,
        _choices: &mut Choices,
    ) -> Result<Updated, Stop> {
        self.drained(who.thread)?;
        let updated = self.memory.exchange(who, word, change)?;
        self.known[who.thread] |= self.handed[word];
        if updated.wrote {
            self.handed[word] = self.known[who.thread];
        }
        Ok(updated)
    }

    fn fence(&mut self, thread: usize, order: Ordering) -> Result<(), Stop> {
        match order {
            Ordering::SeqCst => self.drained(thread),
            _ => Ok(()),
        }
    }

    fn read_plain(&mut self, who: Who, word: usize) -> Result<Found, Fault> {
        self.read(who, word, &mut Choices::default()).map_err(|_| Fault::DataRace)
    }

    fn write_plain(&mut self, who: Who, word: usize, content: Content) -> Result<u32, Fault> {
        Ok(self.wait(who, word, content))
    }

    fn write_private(&mut self, who: Who, word: usize, content: Content) -> u32 {
        self.put(word, content, who.event, self.known[who.thread])
    }

    fn allocate(&mut self, who: Who, at: usize, words: Vec<(Content, bool)>) {
        // Whoever comes to know the node knows what its maker did.
        self.handed.resize(self.handed.len().max(at + words.len()), 0);
        self.handed[at..at + words.len()].fill(0);
        self.memory.allocate(who, at, words);
    }

    fn hand_on(&mut self, thread: usize, word: usize) {
        self.handed[word] = self.known[thread];
    }

    fn adopt(&mut self, thread: usize, word: usize) {
        self.known[thread] |= self.handed[word];
    }

    fn is_quiet(&self, thread: usize, words: std::ops::Range<usize>) -> bool {
        let pinned = self.queues.iter().flatten().any(|waiting| words.contains(&waiting.word));
        self.queues[thread].is_empty() && !pinned
    }

    fn known(&self, thread: usize, word: usize) -> Content {
        let own = self.queues[thread].iter().rev().find(|waiting| waiting.word == word);
        own.map_or_else(|| self.memory.known(thread, word), |waiting| waiting.content.clone())
    }

    fn call(&mut self, thread: usize, _choices: &mut Choices) -> u64 {
        let learned = self.told & !self.known[thread];
        self.known[thread] |= learned;
        learned
    }

    fn give_back(&mut self, thread: usize, operation: Option<u32>) -> Result<(), Stop> {
        let Some(operation) = operation else { return self.drained(thread) };
        self.known[thread] |= 1 << operation;
        if self.clients == Synchronise::Anything {
            match self.queues[thread].last_mut() {
                Some(last) => last.told = self.known[thread],
                None => self.told |= self.known[thread],
            }
        }
        Ok(())
    }

    fn settle(&mut self, _idle: &[usize]) {}

    fn returned(&self, thread: usize) -> u64 {
        self.known[thread]
    }

    fn can_flush(&self, thread: usize) -> bool {
        !self.queues[thread].is_empty()
    }

    fn waiting(&self, thread: usize) -> u32 {
        self.queues[thread].len() as u32
    }

    fn flush(&mut self, thread: usize) -> u32 {
        let Waiting { word, content, event, known, told } = self.queues[thread].remove(0);
        self.put(word, content, event, known);
        self.told |= told;
        event
    }

    /// What every acting thread knows, everybody may know.
    fn forget(&mut self, acting: &[bool], _constant: &[bool]) {
        if !self.is_exact() {
            return;
        }
        let known = self.known.iter().zip(acting).filter(|(_, acts)| **acts);
        let floor = known.fold(u64::MAX, |all, (known, _)| all & *known);
        for (known, _) in self.known.iter_mut().zip(acting).filter(|(_, acts)| !**acts) {
            *known = floor;
        }
        self.handed.iter_mut().for_each(|handed| *handed |= floor);
        self.told |= floor;
        for waiting in self.queues.iter_mut().flatten() {
            waiting.known |= floor;
            waiting.told |= floor;
        }
    }

    fn lag(&self) -> u32 {
        self.queues.iter().map(Vec::len).max().unwrap_or(0) as u32
    }

    fn contents(&self, word: usize, visit: &mut dyn FnMut(&Content)) {
        self.memory.contents(word, visit);
        let waiting = self.queues.iter().flatten().filter(|waiting| waiting.word == word);
        waiting.for_each(|waiting| visit(&waiting.content));
    }

    fn pinned(&self) -> Vec<usize> {
        self.queues.iter().flatten().map(|waiting| waiting.word).collect()
    }

    fn last(&self, word: usize) -> &Content {
        self.memory.last(word)
    }

    fn rename(&mut self, visit: &mut dyn FnMut(usize, &mut Content)) {
        self.memory.rename(visit);
        let waiting = self.queues.iter_mut().flatten();
        waiting.for_each(|waiting| visit(waiting.word, &mut waiting.content));
    }

    fn retain(&mut self, keep: &[bool]) {
        self.memory.retain(keep);
        let kept = |word: usize| keep[..word].iter().filter(|keep| **keep).count();
        self.queues.iter_mut().flatten().for_each(|waiting| waiting.word = kept(waiting.word));
        let mut keep = keep.iter();
        self.handed.retain(|_| *keep.next().unwrap_or(&true));
    }

    fn signature(&self, thread: usize, _words: usize, rank: &mut Vec<i32>) {
        rank.extend([self.known[thread].count_ones() as i32, self.queues[thread].len() as i32]);
    }

    fn key(&self, names: &Names<'_>, key: &mut Vec<u8>) {
        self.memory.key(names, key);
        let operations = |mask: u64, key: &mut Vec<u8>| {
            if self.is_exact() {
                key.extend_from_slice(&names.operations(mask).to_le_bytes());
            }
        };
        names.words.iter().for_each(|word| operations(self.handed[*word], key));
        operations(self.told, key);
        for thread in names.threads {
            operations(self.known[*thread], key);
            key.push(self.queues[*thread].len() as u8);
            for Waiting { word, content, known, told, .. } in &self.queues[*thread] {
                key.extend_from_slice(&((names.place)(*word) as u16).to_le_bytes());
                (names.content)(*word, content, key);
                operations(*known, key);
                operations(*told, key);
            }
        }
    }
}
