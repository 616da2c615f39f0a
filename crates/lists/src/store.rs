//! The states seen, as bytes in one vector, in the order in which they were found, with how each
//! was reached.
//!
//! A state in normal form is written as: the position of each thread, its live registers, the flags
//! of the shared variables, the items of the word, the configurations. Classes, references and
//! counts take one byte; a state with too many items for that is not written, and the search ends
//! without an answer.

use crate::state::{Class, ListState, Segment, argument_key, open_key};
use crate::subject::Subject;
use rustc_hash::FxHasher;
use seriatim_lang::machine::State;
use seriatim_lang::steps::{MINUS_INF, NULL, PLUS_INF};
use seriatim_lang::types::{Kind, Scalar};
use std::hash::Hasher;

/// The largest number of items of a state that can be written.
pub const MAX_ITEMS: usize = 120;

/// Numbers the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StateId(pub u32);

/// How a state was reached.
#[derive(Clone, Copy, Debug)]
pub struct Origin {
    /// The state before.
    pub before: StateId,
    /// The thread that took the step.
    pub thread: u8,
    /// Which of the thread's steps it was.
    pub choice: u16,
}

/// The states seen.
#[derive(Debug)]
pub struct Store {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    origins: Vec<Origin>,
    table: Vec<u32>,
}

/// The byte of a register that may hold a key and holds none.
const NO_KEY: u8 = 126;
const VACANT: u32 = u32::MAX;

impl Store {
    /// An empty store.
    pub fn new() -> Store {
        Store { bytes: vec![], ends: vec![], origins: vec![], table: vec![VACANT; 1 << 10] }
    }

    /// How many states there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// How a state was reached.
    pub fn origin(&self, id: StateId) -> Origin {
        self.origins[id.0 as usize]
    }

    /// The bytes of a state.
    pub fn get(&self, id: StateId) -> &[u8] {
        let index = id.0 as usize;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    /// Adds a state; whether it is new.
    pub fn insert(&mut self, state: &[u8], origin: Origin) -> bool {
        if self.ends.len() * 2 >= self.table.len() {
            self.grow();
        }
        let mut at = self.slot(state);
        while self.table[at] != VACANT {
            if self.get(StateId(self.table[at])) == state {
                return false;
            }
            at = (at + 1) & (self.table.len() - 1);
        }
        self.table[at] = self.ends.len() as u32;
        self.bytes.extend_from_slice(state);
        self.ends.push(self.bytes.len());
        self.origins.push(origin);
        true
    }

    fn slot(&self, state: &[u8]) -> usize {
        let mut hasher = FxHasher::default();
        hasher.write(state);
        (hasher.finish() as usize) & (self.table.len() - 1)
    }

    fn grow(&mut self) {
        self.table = vec![VACANT; self.table.len() * 2];
        for index in 0..self.ends.len() as u32 {
            let mut at = self.slot(self.get(StateId(index)));
            while self.table[at] != VACANT {
                at = (at + 1) & (self.table.len() - 1);
            }
            self.table[at] = index;
        }
    }
}

/// Writes a state in normal form.
pub fn encode(subject: &Subject, state: &ListState, out: &mut Vec<u8>) {
    out.clear();
    let machine = &subject.machine;
    let shape = &subject.code.shape;
    let heap = &state.machine.heap;
    let key_of = |item: usize| heap[subject.slot(item, shape.key)];
    for thread in 0..machine.thread_count() {
        let base = machine.thread_base(thread);
        let registers = machine.register_base(thread);
        let words = &state.machine.words;
        out.extend_from_slice(&(words[base] as u16).to_le_bytes());
        out.extend_from_slice(&(words[base + 1] as u16).to_le_bytes());
        for (reg, kind) in &subject.code.live[words[base] as usize] {
            let word = words[registers + *reg as usize];
            match kind.scalar {
                Scalar::Key if word == NULL => out.push(NO_KEY),
                Scalar::Key if Class::of(word).is_open() => {
                    let count = state.segments.len();
                    let item = (0..count).find(|i| key_of(*i) == word).unwrap_or(count);
                    out.push(128 | item as u8);
                }
                Scalar::Key => out.push(class_byte(Class::of(word))),
                _ => put(out, *kind, word),
            }
        }
    }
    for (slot, word) in machine.steps.shared.iter().zip(&state.machine.words) {
        put(out, slot.kind, *word);
    }
    out.push(u8::from(state.lost));
    out.extend_from_slice(&state.configurations.to_le_bytes()[..3]);
    for (item, segment) in state.segments.iter().enumerate() {
        let flag = |slot: Option<usize>| slot.map_or(0, |s| heap[subject.slot(item, s)] as u8);
        out.push(class_byte(Class::of(key_of(item))));
        out.push(segment.code() | flag(shape.mark) << 4 | flag(shape.lock) << 5);
        out.push(reference_byte(heap[subject.slot(item, shape.next)]));
    }
}

fn class_byte(class: Class) -> u8 {
    if class == Class::LAST { 127 } else { class.0 as u8 }
}

fn reference_byte(word: i32) -> u8 {
    if word == NULL { u8::MAX } else { word as u8 }
}

fn put(out: &mut Vec<u8>, kind: Kind, word: i32) {
    match kind.scalar {
        Scalar::Int(..) | Scalar::Enum(_) => out.extend_from_slice(&word.to_le_bytes()),
        _ => out.push(reference_byte(word)),
    }
}

fn take<'b>(bytes: &mut &'b [u8], count: usize) -> &'b [u8] {
    let (first, rest) = bytes.split_at(count);
    *bytes = rest;
    first
}

fn get(bytes: &mut &[u8], kind: Kind) -> i32 {
    match kind.scalar {
        Scalar::Int(..) | Scalar::Enum(_) => {
            let word = take(bytes, 4);
            i32::from_le_bytes([word[0], word[1], word[2], word[3]])
        }
        _ => reference(take(bytes, 1)[0]),
    }
}

fn reference(byte: u8) -> i32 {
    if byte == u8::MAX { NULL } else { i32::from(byte) }
}

/// Reads a state that was written by [`encode`].
pub fn decode(subject: &Subject, mut bytes: &[u8]) -> ListState {
    let machine = &subject.machine;
    let mut words = vec![NULL; subject.code.empty.words.len()];
    let mut open_keys = vec![];
    for thread in 0..machine.thread_count() {
        let base = machine.thread_base(thread);
        let registers = machine.register_base(thread);
        for at in [base, base + 1] {
            let word = take(&mut bytes, 2);
            words[at] = i32::from(u16::from_le_bytes([word[0], word[1]]));
        }
        for (reg, kind) in &subject.code.live[words[base] as usize] {
            let at = registers + *reg as usize;
            if kind.scalar != Scalar::Key {
                words[at] = get(&mut bytes, *kind);
                continue;
            }
            match take(&mut bytes, 1)[0] {
                item if item >= 128 => open_keys.push((at, (item - 128) as usize)),
                class => words[at] = closed_key(class),
            }
        }
    }
    for (at, slot) in machine.steps.shared.iter().enumerate() {
        words[at] = get(&mut bytes, slot.kind);
    }
    let lost = take(&mut bytes, 1)[0] == 1;
    let set = take(&mut bytes, 3);
    let configurations = u32::from_le_bytes([set[0], set[1], set[2], 0]);
    let (heap, segments) = items(subject, bytes);
    let key = subject.code.shape.key;
    open_keys.iter().for_each(|(at, item)| words[*at] = heap[subject.slot(*item, key)]);
    ListState { machine: State { words, heap }, segments, configurations, lost }
}

fn items(subject: &Subject, bytes: &[u8]) -> (Vec<i32>, Vec<Segment>) {
    let shape = &subject.code.shape;
    let count = bytes.len() / 3;
    let mut heap = vec![0; count * subject.machine.node_stride()];
    let mut segments = Vec::with_capacity(count);
    let (mut last, mut index) = (0, 0);
    for (item, code) in bytes.chunks(3).enumerate() {
        index = if code[0] == last { index + 1 } else { 0 };
        last = code[0];
        let open = code[0] % 2 == 1 && code[0] != 127;
        let key = if open { open_key(Class(code[0].into()), index) } else { closed_key(code[0]) };
        heap[subject.slot(item, shape.key)] = key;
        heap[subject.slot(item, shape.next)] = reference(code[2]);
        for (slot, shift) in [(shape.mark, 4), (shape.lock, 5)] {
            if let Some(slot) = slot {
                heap[subject.slot(item, slot)] = i32::from(code[1] >> shift & 1);
            }
        }
        segments.push(Segment::from_code(code[1] & 15));
    }
    (heap, segments)
}

fn closed_key(class: u8) -> i32 {
    match class {
        0 => MINUS_INF,
        NO_KEY => NULL,
        127 => PLUS_INF,
        _ => argument_key(u32::from(class) / 2 - 1),
    }
}
