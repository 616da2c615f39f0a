//! The normal form of an abstract state: dead registers are reset, garbage is collected, nodes that
//! nobody looks at become segments, neighbouring segments are merged, and what remains is numbered
//! in the order of the word.
//!
//! - *Collect*: an item that no thread and not the head can reach is dropped. If it is in an open
//!   class and may be unmarked, an element is lost, which is remembered. (Every node of an open
//!   class is one of the input list.)
//! - *Absorb*: a node of an open class that is free and to which no register and no remembered key
//!   refers becomes a segment of at least one node. This keeps the set of concrete states.
//! - *Merge*: B follows A in the word, A leads to B and nothing else does: one segment with both
//!   labels, at least as long as the longer. This keeps or enlarges the set of concrete states. A
//!   segment that is not reached from a segment of its class alone, that is not empty and has one
//!   label, is not merged with other labels: a find that has cleaned its way must not forget it. At
//!   most two segments remain between nodes, so the search is finite. The coarse mode merges all
//!   the same: it is as sound, and enough for most proofs.
//! - Nodes with the same key come in the order in which they are reached from the head and the
//!   registers.
//!
//! What would make this unsound: merging across a node that a thread still knows (its key lies
//! between), or dropping an unmarked node without remembering it.

use crate::state::{Class, ListState, MARKED, Segment, UNMARKED, open_key};
use crate::subject::Subject;
use seriatim_lang::machine::VACANT;
use seriatim_lang::steps::NULL;
use seriatim_lang::types::Scalar;

/// Whether nodes may become segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They may: lists of any length.
    Abstract,
    /// They may, and neighbouring segments are always merged, whatever their marks: fewer states,
    /// and more runs that no list has.
    Coarse,
    /// They may not: the one list at the start.
    Explicit,
}

/// Memory that is used again and again.
#[derive(Clone, Debug, Default)]
pub struct Buffers {
    /// In which order items were reached; `u32::MAX` for garbage.
    found: Vec<u32>,
    /// Whether a register or a remembered key refers to the item.
    pinned: Vec<bool>,
    /// Items or keys from which the rest is reached.
    starts: Vec<i32>,
    /// The items in the order of the word.
    word: Vec<usize>,
    /// How many references lead to each item.
    degree: Vec<u32>,
    /// Where items go.
    places: Vec<i32>,
    /// Keys before and after.
    keys: Vec<(i32, i32)>,
    /// The new heap.
    heap: Vec<i32>,
    /// The new segments.
    segments: Vec<Segment>,
}

struct Normaliser<'s> {
    subject: &'s Subject,
    state: &'s mut ListState,
    mode: Mode,
    buffers: &'s mut Buffers,
}

/// Brings a state into normal form.
pub fn normalise(subject: &Subject, state: &mut ListState, mode: Mode, buffers: &mut Buffers) {
    let mut run = Normaliser { subject, state, mode, buffers };
    run.clear_registers();
    run.reach();
    run.collect();
    run.order();
    if mode != Mode::Explicit {
        run.absorb();
        run.merge();
    }
    run.renumber();
}

impl Normaliser<'_> {
    fn key(&self, item: usize) -> i32 {
        self.state.machine.heap[self.subject.slot(item, self.subject.code.shape.key)]
    }

    fn next(&self, item: usize) -> i32 {
        self.state.machine.heap[self.subject.slot(item, self.subject.code.shape.next)]
    }

    fn class(&self, item: usize) -> Class {
        Class::of(self.key(item))
    }

    fn flag(&self, item: usize, slot: Option<usize>) -> bool {
        slot.is_some_and(|slot| self.state.machine.heap[self.subject.slot(item, slot)] == 1)
    }

    fn labels(&self, item: usize) -> u8 {
        let segment = self.state.segments[item];
        match (segment.is_node(), self.flag(item, self.subject.code.shape.mark)) {
            (false, _) => segment.labels(),
            (true, true) => MARKED,
            (true, false) => UNMARKED,
        }
    }

    fn clear_registers(&mut self) {
        let machine = &self.subject.machine;
        for thread in 0..machine.thread_count() {
            let base = machine.thread_base(thread);
            let registers = machine.register_base(thread);
            let live = &self.subject.code.live[self.state.machine.words[base] as usize];
            let mut live = live.iter().map(|(reg, _)| *reg as usize).peekable();
            for reg in 0..machine.steps.register_count() {
                match live.next_if_eq(&reg) {
                    Some(_) => {}
                    None => self.state.machine.words[registers + reg] = NULL,
                }
            }
        }
    }

    /// The words that hold references or keys: the registers that matter.
    fn registers(&self) -> impl Iterator<Item = (usize, Scalar)> + use<'_> {
        let machine = &self.subject.machine;
        (0..machine.thread_count()).flat_map(|thread| {
            let registers = machine.register_base(thread);
            let pc = machine.pc(&self.state.machine, thread);
            let live = &self.subject.code.live[pc.0 as usize];
            live.iter().map(move |(reg, kind)| (registers + *reg as usize, kind.scalar))
        })
    }

    /// Numbers the items in the order in which they are reached.
    fn reach(&mut self) {
        let count = self.state.segments.len();
        let mut starts = std::mem::take(&mut self.buffers.starts);
        starts.clear();
        starts.push(self.state.machine.words[self.subject.code.shape.head]);
        let words = &self.state.machine.words;
        let references = self.registers().filter(|(_, s)| matches!(s, Scalar::Ref(_)));
        starts.extend(references.map(|(at, _)| words[at]));
        for (at, _) in self.registers().filter(|(_, s)| *s == Scalar::Key) {
            let key = words[at];
            let known =
                |item: &usize| self.key(*item) == key && self.state.segments[*item].is_node();
            if key != NULL && Class::of(key).is_open() {
                starts.extend((0..count).filter(known).map(|item| item as i32));
            }
        }
        reset(&mut self.buffers.found, count, u32::MAX);
        reset(&mut self.buffers.pinned, count, false);
        let mut time = 0;
        for &start in &starts {
            let mut item = start;
            if item != NULL {
                self.buffers.pinned[item as usize] = true;
            }
            while item != NULL && self.buffers.found[item as usize] == u32::MAX {
                self.buffers.found[item as usize] = time;
                time += 1;
                item = self.next(item as usize);
            }
        }
        self.buffers.starts = starts;
    }

    fn collect(&mut self) {
        let stride = self.subject.machine.node_stride();
        for item in 0..self.state.segments.len() {
            let vacant = self.state.machine.heap[item * stride] == VACANT;
            if self.buffers.found[item] == u32::MAX && !vacant {
                self.state.lost |= self.class(item).is_open() && self.labels(item) & UNMARKED != 0;
            }
        }
    }

    /// Puts the items in the order of the word.
    fn order(&mut self) {
        let mut word = std::mem::take(&mut self.buffers.word);
        word.clear();
        word.extend((0..self.state.segments.len()).filter(|i| self.buffers.found[*i] != u32::MAX));
        word.sort_unstable_by_key(|item| (self.key(*item), self.buffers.found[*item]));
        self.buffers.word = word;
    }

    fn absorb(&mut self) {
        let shape = self.subject.code.shape;
        for at in 0..self.buffers.word.len() {
            let item = self.buffers.word[at];
            let idle = !self.buffers.pinned[item] && !self.flag(item, shape.lock);
            if self.class(item).is_open() && self.state.segments[item].is_node() && idle {
                self.state.segments[item] = Segment::new(self.labels(item), 1);
                for slot in [shape.mark, shape.lock].into_iter().flatten() {
                    self.state.machine.heap[self.subject.slot(item, slot)] = 0;
                }
            }
        }
    }

    fn merge(&mut self) {
        let mut word = std::mem::take(&mut self.buffers.word);
        reset(&mut self.buffers.degree, self.state.segments.len(), 0);
        for &item in &word {
            if self.next(item) != NULL {
                let next = self.next(item) as usize;
                self.buffers.degree[next] += 1;
            }
        }
        let mut kept = 0;
        for at in 0..word.len() {
            let item = word[at];
            if self.joins(&word[..kept], item) {
                self.join(word[kept - 1], item);
            } else {
                word[kept] = item;
                kept += 1;
            }
        }
        word.truncate(kept);
        self.buffers.word = word;
    }

    /// Whether an item is merged into the last one before it.
    fn joins(&self, before: &[usize], item: usize) -> bool {
        let degree = &self.buffers.degree;
        let [rest @ .., last] = before else { return false };
        if !self.follows(*last, item) || degree[item] != 1 {
            return false;
        }
        let inner = rest.last().is_some_and(|b| self.follows(*b, *last)) && degree[*last] == 1;
        inner || self.mode == Mode::Coarse || !self.keeps_apart(*last, item)
    }

    /// Whether both are segments of one class and the first leads to the second.
    fn follows(&self, first: usize, second: usize) -> bool {
        let segments = &self.state.segments;
        !segments[first].is_node()
            && !segments[second].is_node()
            && self.class(first) == self.class(second)
            && self.next(first) == second as i32
    }

    fn keeps_apart(&self, head: usize, item: usize) -> bool {
        let (first, second) = (self.state.segments[head], self.state.segments[item]);
        let pure = first.labels() != (UNMARKED | MARKED) && first.least() == 1;
        pure && first.labels() != second.labels()
    }

    fn join(&mut self, first: usize, second: usize) {
        let (a, b) = (self.state.segments[first], self.state.segments[second]);
        let least = a.least().max(b.least());
        self.state.segments[first] = Segment::new(a.labels() | b.labels(), least);
        let link = self.subject.slot(first, self.subject.code.shape.next);
        self.state.machine.heap[link] = self.next(second);
    }

    fn renumber(&mut self) {
        let stride = self.subject.machine.node_stride();
        let shape = self.subject.code.shape;
        let mut buffers = std::mem::take(self.buffers);
        reset(&mut buffers.places, self.state.segments.len(), NULL);
        for (place, item) in buffers.word.iter().enumerate() {
            buffers.places[*item] = place as i32;
        }
        let places = &buffers.places;
        let moved = |reference: i32| match reference {
            NULL => NULL,
            item => places[item as usize],
        };
        buffers.heap.clear();
        buffers.keys.clear();
        buffers.segments.clear();
        let (mut class, mut index) = (Class::FIRST, 0);
        for &item in &buffers.word {
            let own = self.class(item);
            index = if own == class { index + 1 } else { 0 };
            class = own;
            let key = if own.is_open() { open_key(own, index) } else { self.key(item) };
            buffers.keys.push((self.key(item), key));
            let at = buffers.heap.len();
            let cells = item * stride..(item + 1) * stride;
            buffers.heap.extend_from_slice(&self.state.machine.heap[cells]);
            buffers.heap[at + 1 + shape.key] = key;
            buffers.heap[at + 1 + shape.next] = moved(self.next(item));
            buffers.segments.push(self.state.segments[item]);
        }
        let (machine, words) = (&self.subject.machine, &mut self.state.machine.words);
        for thread in 0..machine.thread_count() {
            let base = machine.thread_base(thread);
            let registers = machine.register_base(thread);
            for (reg, kind) in &self.subject.code.live[words[base] as usize] {
                let word = &mut words[registers + *reg as usize];
                match kind.scalar {
                    Scalar::Key => {
                        let change = buffers.keys.iter().find(|(old, _)| old == word);
                        *word = change.map_or(*word, |(_, new)| *new);
                    }
                    Scalar::Ref(_) => *word = moved(*word),
                    _ => {}
                }
            }
        }
        words[shape.head] = moved(words[shape.head]);
        std::mem::swap(&mut self.state.machine.heap, &mut buffers.heap);
        std::mem::swap(&mut self.state.segments, &mut buffers.segments);
        *self.buffers = buffers;
    }
}

fn reset<T: Clone>(buffer: &mut Vec<T>, count: usize, value: T) {
    buffer.clear();
    buffer.resize(count, value);
}
