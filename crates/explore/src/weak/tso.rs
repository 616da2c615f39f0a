//! Total store order, as on x86: every thread has a queue of its own writes, from which memory
//! takes them one by one, at any time.
//!
//! *Rules* (Sewell, Sarkar, Owens, Zappa Nardelli and Myreen, "x86-TSO", CACM 2010). A read gives
//! the newest write to its word in the thread's own queue, or what memory holds. A write joins the
//! queue. An update, a write that is `seqcst` and a fence that is `seqcst` wait until the queue is
//! empty. All other orderings and all other fences are what compilers make of them: a plain
//! instruction, or none. There are no races.
//!
//! *Returns* wait until the queue is empty: the client synchronises every call, so that the order
//! of returns and calls in a run is the order that it knows. It would be unsound to say of other
//! clients what holds here: without that, a later call of a thread may read before the writes of an
//! earlier one have left its queue (store buffering from call to call).

use super::memory::{Change, Content, Demands, Found, Memory, Names, Updated, Who};
use super::sc::Sc;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Fault, Stop};
use seriatim_lang::steps::Ordering;

/// A write that waits: its word, its value, its number.
type Waiting = (usize, Content, u32);

/// One memory, and a queue of writes for each thread, oldest first.
#[derive(Clone, Debug)]
pub struct Tso {
    memory: Sc,
    queues: Vec<Vec<Waiting>>,
}

impl Tso {
    fn drained(&self, thread: usize) -> Result<(), Stop> {
        if self.queues[thread].is_empty() { Ok(()) } else { Err(Stop::Waits) }
    }
}

impl Memory for Tso {
    const RACES: bool = false;
    const DANGLES: bool = true;
    const MOVERS: bool = false;

    fn start(words: Vec<(Content, bool)>, threads: usize, demands: Demands) -> Tso {
        Tso { memory: Sc::start(words, threads, demands), queues: vec![vec![]; threads] }
    }

    fn read(&mut self, who: Who, word: usize, _choices: &mut Choices) -> Result<Found, Stop> {
        let own = self.queues[who.thread].iter().rev().find(|(at, ..)| *at == word);
        let mut others = self.queues.iter().enumerate().filter(|(t, _)| *t != who.thread);
        let behind = others.by_ref().flat_map(|(_, q)| q).filter(|(at, ..)| *at == word).count();
        let found = match own {
            Some((_, content, from)) => Found { content: content.clone(), from: *from, behind: 0 },
            None => self.memory.get(word),
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
            return Ok(self.memory.put(word, content, who.event));
        }
        self.queues[who.thread].push((word, content, who.event));
        Ok(u32::MAX)
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
        self.memory.exchange(who, word, change)
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
        self.queues[who.thread].push((word, content, who.event));
        Ok(u32::MAX)
    }

    fn allocate(&mut self, who: Who, at: usize, words: Vec<(Content, bool)>) {
        self.memory.allocate(who, at, words);
    }

    fn hand_on(&mut self, _thread: usize, _word: usize) {}

    fn adopt(&mut self, _thread: usize, _word: usize) {}

    fn known(&self, thread: usize, word: usize) -> Content {
        let own = self.queues[thread].iter().rev().find(|(at, ..)| *at == word);
        own.map_or_else(|| self.memory.known(thread, word), |(_, content, _)| content.clone())
    }

    fn call(&mut self, _thread: usize) {}

    fn give_back(&mut self, thread: usize, _operation: Option<u32>) -> Result<(), Stop> {
        self.drained(thread)
    }

    fn settle(&mut self, _idle: &[usize]) {}

    fn returned(&self, _thread: usize) -> u64 {
        0
    }

    fn can_flush(&self, thread: usize) -> bool {
        !self.queues[thread].is_empty()
    }

    fn flush(&mut self, thread: usize) -> u32 {
        let (word, content, event) = self.queues[thread].remove(0);
        self.memory.put(word, content, event);
        event
    }

    fn forget(&mut self, _acting: &[bool]) {}

    fn lag(&self) -> u32 {
        self.queues.iter().map(Vec::len).max().unwrap_or(0) as u32
    }

    fn contents(&self, word: usize) -> Box<dyn Iterator<Item = &Content> + '_> {
        let waiting = self.queues.iter().flatten().filter(move |(at, ..)| *at == word);
        Box::new(self.memory.contents(word).chain(waiting.map(|(_, content, _)| content)))
    }

    fn pinned(&self) -> Vec<usize> {
        self.queues.iter().flatten().map(|(word, ..)| *word).collect()
    }

    fn last(&self, word: usize) -> &Content {
        self.memory.last(word)
    }

    fn rename(&mut self, visit: &mut dyn FnMut(usize, &mut Content)) {
        self.memory.rename(visit);
        self.queues.iter_mut().flatten().for_each(|(word, content, _)| visit(*word, content));
    }

    fn retain(&mut self, keep: &[bool]) {
        self.memory.retain(keep);
        let kept = |word: usize| keep[..word].iter().filter(|keep| **keep).count();
        self.queues.iter_mut().flatten().for_each(|(word, ..)| *word = kept(*word));
    }

    fn signature(&self, _thread: usize, _words: usize) -> Vec<i32> {
        vec![]
    }

    fn key(&self, names: &Names<'_>, key: &mut Vec<u8>) {
        self.memory.key(names, key);
        for thread in names.threads {
            key.push(self.queues[*thread].len() as u8);
            for (word, content, _) in &self.queues[*thread] {
                key.extend_from_slice(&((names.place)(*word) as u16).to_le_bytes());
                (names.content)(*word, content, key);
            }
        }
    }
}
