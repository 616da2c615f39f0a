//! The normal form of an abstract state: dead registers are reset, garbage is collected, nodes that nobody looks at
//! become segments, neighbouring segments are merged, and what remains is numbered in the order of the word.
//!
//! - *Collect*: an item that no thread and not the head can reach is dropped. If it is in an open class and may be
//!   unmarked, an element is lost, which is remembered. (Every node of an open class is one of the input list.)
//! - *Absorb*: a node of an open class that is free and to which no register and no remembered key refers becomes a
//!   segment of at least one node. This keeps the set of concrete states.
//! - *Merge*: B follows A in the word, A leads to B and nothing else does: one segment with both labels, at least as
//!   long as the longer. This keeps or enlarges the set of concrete states. A segment that is not reached from a
//!   segment of its class alone, that is not empty and has one label, is not merged with other labels: a find that
//!   has cleaned its way must not forget it. At most two segments remain between nodes, so the search is finite.
//! - Nodes with the same key come in the order in which they are reached from the head and the registers.
//!
//! What would make this unsound: merging across a node that a thread still knows (its key lies between), or dropping
//! an unmarked node without remembering it.

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
    /// They may not: the one list at the start.
    Explicit,
}

struct Normaliser<'s> {
    subject: &'s Subject,
    state: &'s mut ListState,
    /// In which order items were reached; `u32::MAX` for garbage.
    found: Vec<u32>,
    /// Whether a register or a remembered key refers to the item.
    pinned: Vec<bool>,
}

/// Brings a state into normal form.
pub fn normalise(subject: &Subject, state: &mut ListState, mode: Mode) {
    let count = state.segments.len();
    let mut run =
        Normaliser { subject, state, found: vec![u32::MAX; count], pinned: vec![false; count] };
    run.clear_registers();
    run.reach();
    run.collect();
    let mut word = run.word();
    if mode == Mode::Abstract {
        run.absorb(&word);
        run.merge(&mut word);
    }
    run.renumber(&word);
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
            let live = &self.subject.code.live[self.state.machine.words[base] as usize];
            let mut live = live.iter().map(|(reg, _)| *reg as usize).peekable();
            for reg in 0..machine.steps.register_count() {
                match live.next_if_eq(&reg) {
                    Some(_) => {}
                    None => self.state.machine.words[base + 2 + reg] = NULL,
                }
            }
        }
    }

    /// Calls `visit` on each live register that holds a reference or a key, by its index among the words.
    fn registers(&self, visit: &mut dyn FnMut(usize, Scalar)) {
        let machine = &self.subject.machine;
        for thread in 0..machine.thread_count() {
            let base = machine.thread_base(thread);
            for (reg, kind) in &self.subject.code.live[self.state.machine.words[base] as usize] {
                if matches!(kind.scalar, Scalar::Ref(_) | Scalar::Key) {
                    visit(base + 2 + *reg as usize, kind.scalar);
                }
            }
        }
    }

    /// Numbers the items in the order in which they are reached.
    fn reach(&mut self) {
        let mut starts = vec![self.state.machine.words[self.subject.code.shape.head]];
        let mut keys = vec![];
        self.registers(&mut |at, scalar| match scalar {
            Scalar::Key => keys.push(self.state.machine.words[at]),
            _ => starts.push(self.state.machine.words[at]),
        });
        for item in 0..self.found.len() {
            let is_open = self.class(item).is_open();
            if is_open && keys.contains(&self.key(item)) && self.state.segments[item].is_node() {
                starts.push(item as i32);
            }
        }
        let mut time = 0;
        for start in starts {
            let mut item = start;
            if item != NULL {
                self.pinned[item as usize] = true;
            }
            while item != NULL && self.found[item as usize] == u32::MAX {
                self.found[item as usize] = time;
                time += 1;
                item = self.next(item as usize);
            }
        }
    }

    fn collect(&mut self) {
        let stride = self.subject.machine.node_stride();
        for item in 0..self.found.len() {
            let vacant = self.state.machine.heap[item * stride] == VACANT;
            if self.found[item] == u32::MAX && !vacant {
                self.state.lost |= self.class(item).is_open() && self.labels(item) & UNMARKED != 0;
            }
        }
    }

    /// The items in the order of the word.
    fn word(&self) -> Vec<usize> {
        let mut word: Vec<usize> =
            (0..self.found.len()).filter(|i| self.found[*i] != u32::MAX).collect();
        word.sort_by_key(|item| (self.key(*item), self.found[*item]));
        word
    }

    fn absorb(&mut self, word: &[usize]) {
        let shape = self.subject.code.shape;
        for &item in word {
            let idle = !self.pinned[item] && !self.flag(item, shape.lock);
            if self.class(item).is_open() && self.state.segments[item].is_node() && idle {
                self.state.segments[item] = Segment::new(self.labels(item), 1);
                for slot in [shape.mark, shape.lock].into_iter().flatten() {
                    self.state.machine.heap[self.subject.slot(item, slot)] = 0;
                }
            }
        }
    }

    fn merge(&mut self, word: &mut Vec<usize>) {
        let mut degree = vec![0u32; self.found.len()];
        for &item in word.iter() {
            if self.next(item) != NULL {
                degree[self.next(item) as usize] += 1;
            }
        }
        let mut kept: Vec<usize> = Vec::with_capacity(word.len());
        for &item in word.iter() {
            let joins = kept.last().is_some_and(|last| {
                self.follows(*last, item) && degree[item] == 1 && {
                    let before = kept.len().checked_sub(2).map(|i| kept[i]);
                    let inner =
                        before.is_some_and(|b| self.follows(b, *last)) && degree[*last] == 1;
                    inner || !self.keeps_apart(*last, item)
                }
            });
            match kept.last() {
                Some(&last) if joins => self.join(last, item),
                _ => kept.push(item),
            }
        }
        *word = kept;
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

    fn renumber(&mut self, word: &[usize]) {
        let stride = self.subject.machine.node_stride();
        let shape = self.subject.code.shape;
        let mut places = vec![NULL; self.found.len()];
        word.iter().enumerate().for_each(|(place, item)| places[*item] = place as i32);
        let moved = |reference: i32| match reference {
            NULL => NULL,
            item => places[item as usize],
        };
        let mut keys: Vec<(i32, i32)> = Vec::with_capacity(word.len());
        let (mut class, mut index) = (Class::FIRST, 0);
        for &item in word {
            let own = self.class(item);
            index = if own == class { index + 1 } else { 0 };
            class = own;
            let key = if own.is_open() { open_key(own, index) } else { self.key(item) };
            keys.push((self.key(item), key));
        }
        let mut heap = Vec::with_capacity(word.len() * stride);
        for (&item, (_, key)) in word.iter().zip(&keys) {
            let at = heap.len();
            heap.extend_from_slice(&self.state.machine.heap[item * stride..(item + 1) * stride]);
            heap[at + 1 + shape.key] = *key;
            heap[at + 1 + shape.next] = moved(self.next(item));
        }
        let mut changes = vec![];
        self.registers(&mut |at, scalar| {
            let old = self.state.machine.words[at];
            let new = match scalar {
                Scalar::Key => keys.iter().find(|(k, _)| *k == old).map_or(old, |(_, k)| *k),
                _ => moved(old),
            };
            changes.push((at, new));
        });
        changes.into_iter().for_each(|(at, new)| self.state.machine.words[at] = new);
        let head = &mut self.state.machine.words[shape.head];
        *head = moved(*head);
        self.state.machine.heap = heap;
        self.state.segments = word.iter().map(|item| self.state.segments[*item]).collect();
    }
}
