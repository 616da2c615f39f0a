//! Sequential consistency: one memory that all threads see alike. Orderings and `plain` say
//! nothing.
//!
//! The explorer proper is faster; this model is here so that the two can be compared.

use super::memory::{Change, Content, Demands, Found, Memory, Names, Updated, Who};
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Fault, Stop};
use seriatim_lang::steps::Ordering;

/// A memory that all threads see alike: for each word its value and the write that it comes from.
#[derive(Clone, Debug)]
pub struct Sc {
    /// The words.
    pub(super) words: Vec<(Content, u32)>,
}

impl Sc {
    pub(super) fn put(&mut self, word: usize, content: Content, event: u32) -> u32 {
        std::mem::replace(&mut self.words[word], (content, event)).1
    }

    pub(super) fn get(&self, word: usize) -> Found {
        let (content, from) = self.words[word].clone();
        Found { content, from, behind: 0 }
    }

    pub(super) fn exchange(
        &mut self,
        who: Who,
        word: usize,
        change: &mut dyn FnMut(&Content) -> Change,
    ) -> Result<Updated, Stop> {
        let found = self.get(word);
        let wrote = match change(&found.content) {
            Change::To(content) => {
                self.put(word, content, who.event);
                true
            }
            Change::Fails => false,
            Change::Waits => return Err(Stop::Waits),
            Change::Stops(stop) => return Err(stop),
        };
        Ok(Updated { found, wrote })
    }
}

impl Memory for Sc {
    const RACES: bool = false;
    const MOVERS: bool = false;

    fn start(words: Vec<(Content, bool)>, _threads: usize, _demands: Demands) -> Sc {
        Sc { words: words.into_iter().map(|(content, _)| (content, 0)).collect() }
    }

    fn read(&mut self, _who: Who, word: usize, _choices: &mut Choices) -> Result<Found, Stop> {
        Ok(self.get(word))
    }

    fn write(
        &mut self,
        who: Who,
        word: usize,
        content: Content,
        _choices: &mut Choices,
    ) -> Result<u32, Stop> {
        Ok(self.put(word, content, who.event))
    }

    fn update(
        &mut self,
        who: Who,
        _failure: Ordering,
        word: usize,
        change: &mut dyn FnMut(&Content) -> Change,
        _choices: &mut Choices,
    ) -> Result<Updated, Stop> {
        self.exchange(who, word, change)
    }

    fn fence(&mut self, _thread: usize, _order: Ordering) -> Result<(), Stop> {
        Ok(())
    }

    fn read_plain(&mut self, _who: Who, word: usize) -> Result<Found, Fault> {
        Ok(self.get(word))
    }

    fn write_plain(&mut self, who: Who, word: usize, content: Content) -> Result<u32, Fault> {
        Ok(self.put(word, content, who.event))
    }

    fn allocate(&mut self, who: Who, at: usize, words: Vec<(Content, bool)>) {
        self.words.resize(self.words.len().max(at + words.len()), (Content::of(&[0]), 0));
        for (i, (content, _)) in words.into_iter().enumerate() {
            self.words[at + i] = (content, who.event);
        }
    }

    fn hand_on(&mut self, _thread: usize, _word: usize) {}

    fn adopt(&mut self, _thread: usize, _word: usize) {}

    fn known(&self, _thread: usize, word: usize) -> Content {
        self.words[word].0.clone()
    }

    fn call(&mut self, _thread: usize, _choices: &mut Choices) -> u64 {
        0
    }

    fn give_back(&mut self, _thread: usize, _operation: Option<u32>) -> Result<(), Stop> {
        Ok(())
    }

    fn settle(&mut self, _idle: &[usize]) {}

    fn returned(&self, _thread: usize) -> u64 {
        0
    }

    fn can_flush(&self, _thread: usize) -> bool {
        false
    }

    fn flush(&mut self, _thread: usize) -> u32 {
        0
    }

    fn forget(&mut self, _acting: &[bool], _constant: &[bool]) {}

    fn lag(&self) -> u32 {
        1
    }

    fn contents(&self, word: usize, visit: &mut dyn FnMut(&Content)) {
        visit(&self.words[word].0);
    }

    fn last(&self, word: usize) -> &Content {
        &self.words[word].0
    }

    fn rename(&mut self, visit: &mut dyn FnMut(usize, &mut Content)) {
        self.words.iter_mut().enumerate().for_each(|(word, (content, _))| visit(word, content));
    }

    fn retain(&mut self, keep: &[bool]) {
        let mut keep = keep.iter();
        self.words.retain(|_| *keep.next().unwrap_or(&true));
    }

    fn signature(&self, _thread: usize, _words: usize, _rank: &mut Vec<i32>) {}

    fn key(&self, names: &Names<'_>, key: &mut Vec<u8>) {
        names.words.iter().for_each(|word| (names.content)(*word, &self.words[*word].0, key));
    }
}
