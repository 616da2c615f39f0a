//! RC20: the memory of C++20 and Rust without load buffering, by views.
//!
//! *Rules.* An atomic word has a list of messages in modification order; the place of a message is
//! its timestamp. A *view* says for each atomic word from which message on it may be read (0: not
//! even its initialisation is known), for each plain word which of its accesses are known (its last
//! write, and the reads of each thread since), and which operations are known to have returned.
//! Every message has the view that its writer released. A thread has three views: `current`, what
//! it knows; `acquirable`, with what relaxed reads picked up; `released`, what it knew at its last
//! release fence. There is one view for all that is `seqcst`, and one for the client.
//!
//! ```text
//! read o x    race unless current[x] > 0; a message i >= current[x], and i >= sc[x] if o is seqcst;
//!             both views of x become at least i; acquirable takes the message's view, current
//!             too if o acquires; sc[x] becomes at least i if o is seqcst
//! write o x   a place p > current[x], > sc[x] if o is seqcst, whose successor is not adjacent; later ones shift;
//!             its view is current if o releases, else released, with x at p
//! update      reads i whose successor is not adjacent, writes at i + 1, adjacent, and its view takes
//!             that of i: a release sequence goes on in updates, and only in them
//! fence       acquire: current := acquirable; release: released := current;
//!             seqcst: both, and current takes the timestamps of sc, which become those of current
//! plain read  race unless current knows the last write; nobody else knows of this read
//! plain write race unless current knows the last write and all reads; nobody else knows of it
//! call        current and acquirable take the client's view       return   the client's view takes current
//!             (clients that synchronise what they like: what some threads knew at their last returns)
//! ```
//!
//! *Theorem* (Kang, Hur, Lahav, Vafeiadis and Dreyer, POPL 2017, without promises, and Lahav,
//! Vafeiadis, Kang, Hur and Dreyer, "Repairing sequential consistency in C/C++11", PLDI 2017, with
//! the repairs of C++20): the outcomes are those of the execution graphs in which sequenced-before
//! and reads-from have no cycle together, coherence holds, updates are atomic, and the `seqcst`
//! events have an order that agrees with sequenced-before and reads-from and with
//! coherence-ordered-before. The module `graph` has the graphs, and tests compare the two on random
//! programs.
//!
//! *It differs from RC11* (PLDI 2017): relaxed stores of the same thread do not continue a release
//! sequence; IRIW with release stores and `seqcst` loads is forbidden; so is Z6.U, which Power
//! allows. *It would be unsound* to let `seqcst` fences hand on more than timestamps: the order of
//! fences keeps later reads from old messages, but it is no happens-before. What is known of plain
//! words, of returned operations and of the initialisation of a node ([`UNTOLD`]) travels with
//! messages alone. *It differs from C++20*: there is no load buffering. What it calls right may be wrong on
//! ARM where a load that does not acquire comes before a store.

use super::client::{OPERATIONS, operation};
use super::memory::{Change, Content, Demands, Found, Memory, Names, Updated, Who};
use super::row::Row;
use crate::options::Synchronise;
use crate::sabotage::{Sabotage, is_broken};
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Fault, Stop};
use seriatim_lang::steps::{Ordering, Pc};

/// What somebody knows: a timestamp for each atomic word, bits for each plain one (the last write
/// first, then the reads of each thread), and the operations that have returned.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
struct View {
    at: Row,
    operations: u64,
}

/// The bit of a plain word's last write.
const WRITTEN: u16 = 1;

/// Beside a timestamp: messages before it are out of reach, but the initialisation of the word is
/// not known to have happened. So says a `seqcst` fence of a node that nobody told of.
const UNTOLD: u16 = 1 << 15;

/// The timestamp of an atomic word in a view.
fn stamp_of(known: u16) -> u16 {
    known & !UNTOLD
}

/// Whether a view knows an atomic word.
fn is_told(known: u16) -> bool {
    known != 0 && known & UNTOLD == 0
}

/// What a view knows of an atomic word together with a timestamp of which nobody told.
fn not_before(known: u16, stamp: u16) -> u16 {
    match (stamp_of(known).max(stamp), is_told(known)) {
        (0, _) => 0,
        (stamp, true) => stamp,
        (stamp, false) => stamp | UNTOLD,
    }
}

/// What two views know of an atomic word.
fn known_by_both(mine: u16, theirs: u16) -> u16 {
    match (is_told(mine), is_told(theirs)) {
        (false, true) => not_before(theirs, stamp_of(mine)),
        _ => not_before(mine, stamp_of(theirs)),
    }
}

/// The bit of a thread's reads of a plain word.
fn read_by(thread: usize) -> u16 {
    2 << thread
}

#[derive(Clone, Debug)]
struct Message {
    content: Content,
    /// Whether it is the write of an update of the message before it.
    adjacent: bool,
    view: View,
    event: u32,
}

#[derive(Clone, Debug)]
struct Word {
    plain: bool,
    /// In modification order; a plain word has one.
    messages: Vec<Message>,
}

#[derive(Clone, Debug)]
struct Knowledge {
    current: View,
    acquirable: View,
    released: View,
    /// What it knew at its last return, if clients may tell of it.
    returned: View,
}

/// Memory and what is known of it.
#[derive(Clone, Debug)]
pub struct Rc20 {
    words: Vec<Word>,
    threads: Vec<Knowledge>,
    sc: View,
    client: View,
}

/// The view that knows what both know; `plain` says which words are.
fn join(words: &[Word], view: &mut View, other: &View) {
    for ((mine, theirs), word) in view.at.iter_mut().zip(other.at.iter()).zip(words) {
        *mine = if word.plain { *mine | *theirs } else { known_by_both(*mine, *theirs) };
    }
    view.operations |= other.operations;
}

impl View {
    /// Whether it says anything: where nobody asks, no view is kept.
    fn is_kept(&self) -> bool {
        !self.at.is_empty()
    }
}

impl Knowledge {
    /// What the thread knows and could know, as far as anybody asks.
    fn own(&mut self) -> impl Iterator<Item = &mut View> {
        [&mut self.current, &mut self.acquirable].into_iter().filter(|view| view.is_kept())
    }
}

impl Rc20 {
    fn all_bits(&self) -> u16 {
        (2u16 << self.threads.len()) - 1
    }

    /// Calls `change` on every view that is kept.
    fn each_view(&mut self, mut change: impl FnMut(&mut View)) {
        let messages = self.words.iter_mut().flat_map(|w| &mut w.messages).map(|m| &mut m.view);
        messages.filter(|view| view.is_kept()).for_each(&mut change);
        for thread in &mut self.threads {
            thread.own().for_each(&mut change);
            for view in [&mut thread.released, &mut thread.returned] {
                Some(view).filter(|view| view.is_kept()).map(&mut change);
            }
        }
        for view in [&mut self.sc, &mut self.client] {
            Some(view).filter(|view| view.is_kept()).map(&mut change);
        }
    }

    /// The messages of a word that a thread may read: from this one on.
    fn readable(&self, thread: usize, word: usize, order: Ordering) -> Result<usize, Stop> {
        let known = self.threads[thread].current.at[word];
        if !is_told(known) {
            return Err(Stop::Fault(Fault::DataRace, Pc(0)));
        }
        let least = match order {
            Ordering::SeqCst if is_broken(Sabotage::SeqCstReadsOld) => known,
            Ordering::SeqCst => known.max(self.sc.at[word]),
            _ => known,
        };
        Ok(usize::from(least) - 1)
    }

    /// Takes over what reading a message tells.
    fn take(&mut self, who: Who, word: usize, index: usize) {
        let stamp = index as u16 + 1;
        let message = &self.words[word].messages[index];
        let knowledge = &mut self.threads[who.thread];
        knowledge.own().for_each(|view| view.at[word] = view.at[word].max(stamp));
        if who.order.acquires() || is_broken(Sabotage::RelaxedAcquires) {
            join(&self.words, &mut knowledge.current, &message.view);
        }
        join(&self.words, &mut knowledge.acquirable, &message.view);
        if who.order == Ordering::SeqCst {
            self.sc.at[word] = self.sc.at[word].max(stamp);
        }
    }

    /// Puts a message at a place, before the one that is there.
    fn put(&mut self, who: Who, word: usize, place: usize, content: Content, adjacent: bool) {
        let stamp = place as u16 + 1;
        if place < self.words[word].messages.len() {
            self.each_view(|view| view.at[word] += u16::from(stamp_of(view.at[word]) >= stamp));
        }
        let knowledge = &self.threads[who.thread];
        let mut view = match who.order.releases() {
            true => knowledge.current.clone(),
            false if knowledge.released.is_kept() => knowledge.released.clone(),
            // What it knew at the start, everybody knows.
            false => View { at: Row::zeros(self.words.len()), operations: 0 },
        };
        if adjacent && !is_broken(Sabotage::CutReleaseSequence) {
            join(&self.words, &mut view, &self.words[word].messages[place - 1].view);
        }
        view.at[word] = stamp;
        self.threads[who.thread].own().for_each(|own| own.at[word] = own.at[word].max(stamp));
        let adjacent = adjacent && !is_broken(Sabotage::SplitUpdate);
        let message = Message { content, adjacent, view, event: who.event };
        self.words[word].messages.insert(place, message);
        if who.order == Ordering::SeqCst {
            self.sc.at[word] = self.sc.at[word].max(stamp);
        }
    }

    /// Whether nothing may come between a message and the next one.
    fn is_followed(&self, word: usize, index: usize) -> bool {
        self.words[word].messages.get(index + 1).is_some_and(|next| next.adjacent)
    }

    fn found(&self, word: usize, index: usize) -> Found {
        let messages = &self.words[word].messages;
        let Message { content, event, .. } = &messages[index];
        let behind = (messages.len() - 1 - index) as u32;
        Found { content: content.clone(), from: *event, behind }
    }

    /// The least timestamp of a word that an acting thread may still read, and whether all of them
    /// know the word; one that does not will learn of it from some view that does.
    fn floor(&mut self, word: usize, acting: &[bool]) -> (u16, bool) {
        let known = self.threads.iter().zip(acting).filter(|(_, acts)| **acts);
        let least = |known: u16| if is_told(known) { known } else { 0 };
        match known.map(|(thread, _)| least(thread.current.at[word])).min() {
            Some(least) if least > 0 => (least, true),
            _ => {
                let mut least = u16::MAX;
                self.each_view(|view| least = least.min(stamp_of(view.at[word]).wrapping_sub(1)));
                (least.saturating_add(1).max(1), false)
            }
        }
    }
}

/// The last operation of a thread among these.
fn last_of(thread: usize, operations: u64) -> u64 {
    let first = operation(thread, 0);
    let own = operations >> first & ((1 << OPERATIONS) - 1);
    if own == 0 { 0 } else { 1 << (first + own.ilog2()) }
}

/// One of these choices, newest first.
fn newest(options: &[usize], choices: &mut Choices) -> usize {
    let pick = if options.len() > 1 { choices.pick(options.len() as u32) } else { 0 };
    options[options.len() - 1 - pick as usize]
}

impl Memory for Rc20 {
    const RACES: bool = true;
    const MOVERS: bool = true;

    fn start(words: Vec<(Content, bool)>, threads: usize, demands: Demands) -> Rc20 {
        let bits = (2u16 << threads) - 1;
        let at = words.iter().map(|(_, plain)| if *plain { bits } else { 1 }).collect();
        let view = View { at, operations: 0 };
        let message = |content, plain| {
            let view = if plain { View::default() } else { view.clone() };
            Message { content, adjacent: false, view, event: 0 }
        };
        let word = |(content, plain)| Word { plain, messages: vec![message(content, plain)] };
        let acquirable = if demands.acquire_fences { view.clone() } else { View::default() };
        let released = if demands.release_fences { view.clone() } else { View::default() };
        let kept = |is_kept: bool| if is_kept { view.clone() } else { View::default() };
        let returned = kept(demands.clients == Synchronise::Anything);
        let knowledge = Knowledge { current: view.clone(), acquirable, released, returned };
        let (sc, client) = (kept(demands.seqcst), kept(demands.clients == Synchronise::Everything));
        Rc20 {
            words: words.into_iter().map(word).collect(),
            threads: vec![knowledge; threads],
            sc,
            client,
        }
    }

    fn read(&mut self, who: Who, word: usize, choices: &mut Choices) -> Result<Found, Stop> {
        let least = self.readable(who.thread, word, who.order)?;
        let last = self.words[word].messages.len() - 1;
        let pick = if least < last { choices.pick((last + 1 - least) as u32) } else { 0 };
        let index = last - pick as usize;
        self.take(who, word, index);
        Ok(self.found(word, index))
    }

    fn write(
        &mut self,
        who: Who,
        word: usize,
        content: Content,
        choices: &mut Choices,
    ) -> Result<u32, Stop> {
        let least = self.readable(who.thread, word, who.order)?;
        let behind = least..self.words[word].messages.len();
        let mut options: Vec<usize> = behind.filter(|i| !self.is_followed(word, *i)).collect();
        if is_broken(Sabotage::LastPlaceOnly) {
            options.drain(..options.len() - 1);
        }
        let index = newest(&options, choices);
        self.put(who, word, index + 1, content, false);
        Ok(self.words[word].messages[index].event)
    }

    fn update(
        &mut self,
        who: Who,
        failure: Ordering,
        word: usize,
        change: &mut dyn FnMut(&Content) -> Change,
        choices: &mut Choices,
    ) -> Result<Updated, Stop> {
        let succeeding = self.readable(who.thread, word, who.order)?;
        let failing = self.readable(who.thread, word, failure)?;
        let mut options = vec![];
        for index in succeeding.min(failing)..self.words[word].messages.len() {
            let is_readable = match change(&self.words[word].messages[index].content) {
                Change::To(_) | Change::Stops(_) => {
                    index >= succeeding && !self.is_followed(word, index)
                }
                Change::Fails => index >= failing,
                Change::Waits => false,
            };
            if is_readable {
                options.push(index);
            }
        }
        if options.is_empty() {
            return Err(Stop::Waits);
        }
        let index = newest(&options, choices);
        let found = self.found(word, index);
        match change(&found.content) {
            Change::To(content) => {
                self.take(who, word, index);
                self.put(who, word, index + 1, content, true);
                Ok(Updated { found, wrote: true })
            }
            Change::Stops(stop) => Err(stop),
            Change::Fails | Change::Waits => {
                self.take(Who { order: failure, ..who }, word, index);
                Ok(Updated { found, wrote: false })
            }
        }
    }

    fn fence(&mut self, thread: usize, order: Ordering) -> Result<(), Stop> {
        let knowledge = &mut self.threads[thread];
        if order.acquires() && !is_broken(Sabotage::NoAcquireFence) {
            let acquirable = knowledge.acquirable.clone();
            join(&self.words, &mut knowledge.current, &acquirable);
        }
        if order == Ordering::SeqCst && is_broken(Sabotage::SeqCstFenceSynchronises) {
            join(&self.words, &mut knowledge.current, &self.sc);
            self.sc.clone_from(&knowledge.current);
        }
        if order == Ordering::SeqCst {
            let known = knowledge.current.at.iter_mut().zip(self.sc.at.iter_mut());
            let words = self.words.iter().zip(known);
            for (_, (known, sc)) in words.filter(|(word, _)| !word.plain) {
                if !is_broken(Sabotage::SeqCstFenceLearnsNothing) {
                    *known = not_before(*known, *sc);
                }
                *sc = stamp_of(*known);
            }
            knowledge.acquirable.clone_from(&knowledge.current);
        }
        let keeps_back = is_broken(Sabotage::NoReleaseFence)
            || order == Ordering::SeqCst && is_broken(Sabotage::SeqCstFenceKeepsBack);
        if order.releases() && !keeps_back {
            knowledge.released.clone_from(&knowledge.current);
        }
        Ok(())
    }

    fn read_plain(&mut self, who: Who, word: usize) -> Result<Found, Fault> {
        if self.threads[who.thread].current.at[word] & WRITTEN == 0 {
            return Err(Fault::DataRace);
        }
        let bit = read_by(who.thread);
        self.each_view(|view| view.at[word] &= !bit);
        self.threads[who.thread].own().for_each(|own| own.at[word] |= bit);
        Ok(self.found(word, 0))
    }

    fn write_plain(&mut self, who: Who, word: usize, content: Content) -> Result<u32, Fault> {
        let all = self.all_bits();
        if self.threads[who.thread].current.at[word] != all {
            return Err(Fault::DataRace);
        }
        self.each_view(|view| view.at[word] = all & !WRITTEN);
        self.threads[who.thread].own().for_each(|own| own.at[word] = all);
        let message = &mut self.words[word].messages[0];
        message.content = content;
        Ok(std::mem::replace(&mut message.event, who.event))
    }

    fn allocate(&mut self, who: Who, at: usize, words: Vec<(Content, bool)>) {
        let all = self.all_bits();
        let bottom = |plain: bool| if plain { all & !WRITTEN } else { 0 };
        let plain: Vec<bool> = words.iter().map(|(_, plain)| *plain).collect();
        let is_new = at == self.words.len();
        self.each_view(|view| match is_new {
            true => view.at.extend(plain.iter().map(|plain| bottom(*plain))),
            false => plain.iter().enumerate().for_each(|(i, p)| view.at[at + i] = bottom(*p)),
        });
        let width = if is_new { at + words.len() } else { self.words.len() };
        for (i, (content, plain)) in words.into_iter().enumerate() {
            // An initialisation hands nothing on.
            let known = if plain { Row::default() } else { Row::zeros(width) };
            let view = View { at: known, operations: 0 };
            let message = Message { content, adjacent: false, view, event: who.event };
            let word = Word { plain, messages: vec![message] };
            match is_new {
                true => self.words.push(word),
                false => self.words[at + i] = word,
            }
            let stamp = if plain { all } else { 1 };
            self.threads[who.thread].own().for_each(|own| own.at[at + i] = stamp);
        }
    }

    fn hand_on(&mut self, thread: usize, word: usize) {
        let view = self.threads[thread].current.clone();
        self.words[word].messages[0].view = view;
    }

    fn adopt(&mut self, thread: usize, word: usize) {
        let view = &self.words[word].messages[0].view;
        self.threads[thread].own().for_each(|own| join(&self.words, own, view));
    }

    fn known(&self, thread: usize, word: usize) -> Content {
        let stamp = stamp_of(self.threads[thread].current.at[word]).max(1);
        self.words[word].messages[usize::from(stamp) - 1].content.clone()
    }

    fn call(&mut self, thread: usize, choices: &mut Choices) -> u64 {
        self.settle(&[thread]);
        let mut learned = 0;
        for other in 0..self.threads.len() {
            let told = &self.threads[other].returned;
            let news = told.operations & !self.threads[thread].current.operations;
            if told.is_kept() && news != 0 && choices.pick(2) == 1 {
                let told = told.clone();
                learned |= last_of(other, told.operations);
                self.threads[thread].own().for_each(|own| join(&self.words, own, &told));
            }
        }
        learned
    }

    fn give_back(&mut self, thread: usize, operation: Option<u32>) -> Result<(), Stop> {
        let knowledge = &mut self.threads[thread];
        if let Some(operation) = operation {
            knowledge.own().for_each(|own| own.operations |= 1 << operation);
        }
        if self.client.is_kept() {
            join(&self.words, &mut self.client, &knowledge.current);
        }
        if knowledge.returned.is_kept() {
            knowledge.returned.clone_from(&knowledge.current);
        }
        Ok(())
    }

    fn settle(&mut self, idle: &[usize]) {
        if self.client.is_kept() {
            for thread in idle {
                let known = &self.client;
                self.threads[*thread].own().for_each(|own| join(&self.words, own, known));
            }
        }
    }

    fn returned(&self, thread: usize) -> u64 {
        self.threads[thread].current.operations
    }

    fn can_flush(&self, _thread: usize) -> bool {
        false
    }

    fn flush(&mut self, _thread: usize) -> u32 {
        0
    }

    fn forget(&mut self, acting: &[bool], constant: &[bool]) {
        // Nobody asks any more what a thread knew that does nothing more.
        for (thread, _) in self.threads.iter_mut().zip(acting).filter(|(_, acts)| !**acts) {
            let views = [&mut thread.current, &mut thread.acquirable, &mut thread.released];
            for view in views {
                view.at.fill(0);
                view.operations = 0;
            }
        }
        for (word, is_constant) in constant.iter().enumerate() {
            if self.words[word].plain {
                let acting = self.threads.iter().zip(acting).filter(|(_, acts)| **acts);
                let known = acting.fold(u16::MAX, |all, (t, _)| all & t.current.at[word]);
                let reads = if *is_constant { !WRITTEN } else { 0 };
                let known = (known | reads) & self.all_bits();
                self.each_view(|view| view.at[word] |= known);
                continue;
            }
            let (floor, all_know) = self.floor(word, acting);
            let gone = (floor - 1).min(self.words[word].messages.len() as u16 - 1);
            self.words[word].messages.drain(..usize::from(gone));
            self.words[word].messages[0].adjacent = false;
            self.each_view(|view| {
                let known = &mut view.at[word];
                let stamp = stamp_of(*known).max(gone + 1) - gone;
                *known = match *known {
                    0 if !all_know => 0,
                    known if all_know || is_told(known) => stamp,
                    _ => stamp | UNTOLD,
                };
            });
        }
    }

    fn lag(&self) -> u32 {
        let atomic = self.words.iter().filter(|word| !word.plain);
        atomic.map(|word| word.messages.len()).max().unwrap_or(0) as u32
    }

    fn contents(&self, word: usize, visit: &mut dyn FnMut(&Content)) {
        self.words[word].messages.iter().for_each(|message| visit(&message.content));
    }

    fn last(&self, word: usize) -> &Content {
        let messages = &self.words[word].messages;
        &messages[messages.len() - 1].content
    }

    fn rename(&mut self, visit: &mut dyn FnMut(usize, &mut Content)) {
        for (at, word) in self.words.iter_mut().enumerate() {
            word.messages.iter_mut().for_each(|message| visit(at, &mut message.content));
        }
    }

    fn retain(&mut self, keep: &[bool]) {
        self.each_view(|view| view.at.keep(keep));
        let mut keep = keep.iter();
        self.words.retain(|_| *keep.next().unwrap_or(&true));
    }

    fn signature(&self, thread: usize, words: usize, rank: &mut Vec<i32>) {
        let current = &self.threads[thread].current;
        let known = current.at.iter().zip(&self.words).take(words);
        rank.extend(known.map(|(at, word)| if word.plain { 0 } else { i32::from(*at) }));
        rank.push(current.operations.count_ones() as i32);
        let width = OPERATIONS as usize;
        let own = ((1u64 << width) - 1) << (thread * width);
        let know = |view: &View| (view.operations & own).count_ones() as i32;
        rank.push(self.threads.iter().map(|t| know(&t.current)).sum());
        let messages = self.words.iter().flat_map(|word| &word.messages);
        rank.push(messages.map(|message| know(&message.view)).sum());
    }

    fn key(&self, names: &Names<'_>, key: &mut Vec<u8>) {
        for at in names.words {
            let word = &self.words[*at];
            key.push(word.messages.len() as u8);
            for message in &word.messages {
                (names.content)(*at, &message.content, key);
                if !word.plain {
                    key.push(u8::from(message.adjacent));
                }
                if message.view.is_kept() {
                    self.view_key(&message.view, names, key);
                }
            }
        }
        for thread in names.threads {
            let knowledge = &self.threads[*thread];
            self.view_key(&knowledge.current, names, key);
            if knowledge.acquirable.is_kept() {
                self.view_key(&knowledge.acquirable, names, key);
            }
            if knowledge.released.is_kept() {
                self.view_key(&knowledge.released, names, key);
            }
            if knowledge.returned.is_kept() {
                self.view_key(&knowledge.returned, names, key);
            }
        }
        if self.sc.is_kept() {
            let atomic = names.words.iter().filter(|at| !self.words[**at].plain);
            key.extend(atomic.map(|at| self.sc.at[*at] as u8));
        }
        if self.client.is_kept() {
            self.view_key(&self.client, names, key);
        }
    }
}

impl Rc20 {
    fn view_key(&self, view: &View, names: &Names<'_>, key: &mut Vec<u8>) {
        for at in names.words {
            let known = view.at[*at];
            if !self.words[*at].plain {
                key.push(stamp_of(known) as u8 | u8::from(known & UNTOLD != 0) << 7);
                continue;
            }
            let readers = names.threads.iter().enumerate();
            let bits = readers.fold(known & WRITTEN, |bits, (place, thread)| {
                let is_known = known & read_by(*thread) != 0;
                bits | if is_known { read_by(place) } else { 0 }
            });
            key.extend_from_slice(&bits.to_le_bytes());
        }
        if !self.client.is_kept() {
            key.extend_from_slice(&names.operations(view.operations).to_le_bytes());
        }
    }
}
