//! Long logs in our own format, taken apart by several threads.
//!
//! The source is cut into chunks of whole lines. Workers scan chunks, each with values of its own;
//! one thread takes what they found line by line, in the order of the log, into the history. What a
//! chunk names first gets its id when the chunk is taken, in the order in which it is named: so a
//! history is the same, to the last id, however many threads read it.
//!
//! A worker only scans lines that have nothing but common fields. Every other line, and every line
//! that is wrong, is left to the thread that takes the chunk, which reads it as ever: so there is
//! one place that knows what is an error, and in which line.
//!
//! That thread scans chunks as well while it has nothing to take, and reads itself what nobody has
//! begun. Memory: a few chunks for each thread.

use super::block::{Block, Line};
use super::field::FieldSet;
use super::jsonl::{File, Record, Told};
use super::plain_line;
use crate::{InputError, Values};
use memchr::memchr;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The size of a chunk, in bytes.
const CHUNK: usize = 128 << 10;
/// How many chunks there may be for each thread.
const EACH: usize = 3;

/// Reads the rest of a file.
pub(super) fn read(
    block: &mut Block<'_>,
    file: &mut File<'_>,
    threads: usize,
) -> Result<(), InputError> {
    let shop = Shop { state: Mutex::default(), news: Condvar::new() };
    thread::scope(|scope| {
        let _closing = Closing(&shop);
        for _ in 1..threads {
            let worker = thread::Builder::new().name("read".to_owned());
            // Without a worker, the chunks are read here.
            let _ = worker.spawn_scoped(scope, || shop.work());
        }
        shop.run(block, file, EACH * threads)
    })
}

/// A chunk on its way.
enum Slot {
    /// Nobody has begun.
    Raw(Vec<u8>),
    /// Somebody is at it.
    Begun,
    Scanned(thread::Result<Box<Scanned>>),
}

/// What was found in a chunk.
struct Scanned {
    text: Vec<u8>,
    values: Values,
    /// The names of operations.
    names: Vec<Box<str>>,
    lines: Vec<Found>,
}

/// A line.
struct Found {
    /// Where its end is.
    end: u32,
    /// Its fields and the number of its operation's name; none if it is left to the reader.
    told: Option<(Told, u32)>,
}

#[derive(Default)]
struct State {
    slots: VecDeque<Slot>,
    /// How many slots there were before the first.
    passed: usize,
    is_closed: bool,
}

struct Shop {
    state: Mutex<State>,
    news: Condvar,
}

/// Sends the workers home in the end, also if the reader leaves early.
struct Closing<'s>(&'s Shop);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.state().is_closed = true;
        self.0.news.notify_all();
    }
}

impl State {
    /// Begins the first chunk that nobody has begun.
    fn begin(&mut self) -> Option<(usize, Vec<u8>)> {
        let place = self.slots.iter().position(|slot| matches!(slot, Slot::Raw(_)))?;
        match std::mem::replace(&mut self.slots[place], Slot::Begun) {
            Slot::Raw(text) => Some((self.passed + place, text)),
            _ => None,
        }
    }
}

impl Shop {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        self.news.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    /// What a worker does.
    fn work(&self) {
        let mut state = self.state();
        while !state.is_closed {
            match state.begin() {
                None => state = self.wait(state),
                Some((number, text)) => {
                    drop(state);
                    self.scan(number, text);
                    state = self.state();
                }
            }
        }
    }

    fn scan(&self, number: usize, text: Vec<u8>) {
        let scanned = catch_unwind(AssertUnwindSafe(|| Box::new(Scanned::of(text))));
        let mut state = self.state();
        let place = number - state.passed;
        state.slots[place] = Slot::Scanned(scanned);
        self.news.notify_all();
    }

    /// What the reader does; at most `most` chunks are under way.
    fn run(
        &self,
        block: &mut Block<'_>,
        file: &mut File<'_>,
        most: usize,
    ) -> Result<(), InputError> {
        let mut end = None;
        loop {
            while end.is_none() && self.state().slots.len() < most {
                // An error of the source is told when everything before it was read.
                match block.next_lines(CHUNK) {
                    Ok(Some(text)) => {
                        self.state().slots.push_back(Slot::Raw(text));
                        self.news.notify_one();
                    }
                    Ok(None) => end = Some(Ok(())),
                    Err(error) => {
                        let whole = block.lines_at_hand().map(Slot::Raw);
                        self.state().slots.extend(whole);
                        end = Some(Err(error));
                    }
                }
            }
            let mut state = self.state();
            match state.slots.pop_front() {
                None => break,
                Some(Slot::Begun) => {
                    state.slots.push_front(Slot::Begun);
                    match state.begin() {
                        Some((number, text)) => {
                            drop(state);
                            self.scan(number, text);
                        }
                        None => drop(self.wait(state)),
                    }
                }
                Some(slot) => {
                    state.passed += 1;
                    drop(state);
                    take(slot, block, file)?;
                }
            }
        }
        match end {
            Some(Err(error)) => Err(InputError { line: block.line_number(), ..error }),
            _ => Ok(()),
        }
    }
}

/// Takes a chunk into the history.
fn take(slot: Slot, block: &mut Block<'_>, file: &mut File<'_>) -> Result<(), InputError> {
    match slot {
        Slot::Begun => Ok(()),
        Slot::Scanned(Err(panic)) => resume_unwind(panic),
        Slot::Scanned(Ok(scanned)) => scanned.take(block, file),
        Slot::Raw(text) => {
            let (mut begin, mut number) = (0, block.line_number());
            while let Some(end) = end_of_line(&text, begin) {
                file.line(line(block.source(), number, &text[begin..end]))?;
                (begin, number) = (end + 1, number + 1);
            }
            block.pass(number - block.line_number());
            Ok(())
        }
    }
}

/// Where the line ends that begins here; none at the end of the text.
#[inline]
fn end_of_line(text: &[u8], begin: usize) -> Option<usize> {
    let rest = text.get(begin..).filter(|rest| !rest.is_empty())?;
    Some(begin + memchr(b'\n', rest).unwrap_or(rest.len()))
}

#[inline]
fn line<'l>(source: &'l str, number: u64, bytes: &'l [u8]) -> Line<'l> {
    Line { source, number, bytes: bytes.strip_suffix(b"\r").unwrap_or(bytes) }
}

impl Scanned {
    fn of(text: Vec<u8>) -> Scanned {
        let (mut values, mut names, mut lines) = (Values::default(), Names::default(), Vec::new());
        let mut begin = 0;
        while let Some(end) = end_of_line(&text, begin) {
            // The number of a line is only for errors, which are found once more by the reader.
            let line = line("", 0, &text[begin..end]);
            let told = match plain_line::read(line.bytes, &mut values) {
                Some((told, op)) => Some((told, names.number(op))),
                None => {
                    let record = Record::read_fully(line, &mut values).ok();
                    let is_common =
                        |record: &Record<'_>| record.told.seen.is_within(FieldSet::COMMON);
                    let common = record.filter(is_common);
                    common.map(|record| (record.told, names.number(&record.op)))
                }
            };
            lines.push(Found { end: end as u32, told });
            begin = end + 1;
        }
        Scanned { text, values, names: names.0, lines }
    }

    fn take(self, block: &mut Block<'_>, file: &mut File<'_>) -> Result<(), InputError> {
        let renaming = file.values().adopt(&self.values);
        let (mut begin, mut number) = (0, block.line_number());
        for found in &self.lines {
            let end = found.end as usize;
            let line = line(block.source(), number, &self.text[begin..end]);
            match found.told {
                Some((told, name)) => {
                    let told = told.renamed(|id| renaming.of(id));
                    file.told(line, told, &self.names[name as usize])?;
                }
                None => file.line(line)?,
            }
            (begin, number) = (end + 1, number + 1);
        }
        block.pass(self.lines.len() as u64);
        Ok(())
    }
}

/// The names of a chunk's operations: few, and the same again and again.
#[derive(Default)]
struct Names(Vec<Box<str>>);

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        let known = self.0.iter().position(|known| **known == *name);
        let number = known.unwrap_or(self.0.len());
        if known.is_none() {
            self.0.push(name.into());
        }
        number as u32
    }
}
