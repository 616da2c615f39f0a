//! One representative for states that differ in names only: of heap nodes, of threads, of data
//! values.
//!
//! *Why it is sound*: a renaming of nodes, of threads that run the same client, or of values that
//! the program only moves and compares, maps runs to runs. The specification's configurations are
//! renamed together with the state, so the renamed product state allows exactly the renamed
//! continuations. Where the program uses thread numbers, threads are renamed only if the numbers
//! form a scalarset (`scalarset`); every number and the elements of arrays by thread are then
//! renamed with them.
//!
//! *How*: nodes reachable from the shared variables are numbered in the order in which they are
//! reached, values in the order in which they occur; arrays by thread wait until the threads are in
//! order. Threads are sorted by what they know, with nodes, values and threads that have no name
//! yet taken as alike; the permutations of threads that remain equal are all tried, and the
//! smallest encoding wins. Several namings can give the same encoding; all of them are reported,
//! since they rename the configurations differently. Threads that look alike need no trial if they
//! know named things only and their numbers occur nowhere.
//!
//! *What would make it unsound*: a register that holds a node, a value or a thread and is not
//! renamed. Therefore the list of registers comes from the types alone.

use crate::codec::{Codec, MAX_NODES, MAX_WORDS, Naming};
use crate::configurations::{MAX_THREADS, Renaming};
use crate::options::Reductions;
use crate::pack::Packer;
use crate::readable::Readable;
use crate::sabotage::{Sabotage, is_broken};
use crate::subject::{Location, Subject};
use seriatim_lang::machine::{FREED, State, VACANT};
use seriatim_lang::steps::{NULL, Slot};
use seriatim_lang::types::{Kind, Scalar};
use seriatim_limits::InOrder;
use std::cell::Cell;

const UNKNOWN: u32 = u32::MAX;
const UNNAMED: u8 = u8::MAX;
/// What a thread knows about a node or a value without a name.
const SOMETHING: u64 = u64::MAX;
/// What a thread knows about itself.
const MYSELF: u64 = u64::MAX - 1;

/// Finds representatives; keeps its buffers from call to call.
pub struct Canonical {
    heap: bool,
    threads: bool,
    values: bool,
    /// Whether the program uses thread numbers.
    tids: bool,
    /// What is named, and where it lies.
    names: Names,
    readable: Option<ReadableNames>,
    /// The threads whose numbers occur in the state, as a mask.
    named: u32,
    /// The role of each thread.
    roles: [u64; MAX_THREADS],
    naming: Naming,
    todo: usize,
    packer: Packer,
    keys: Vec<Vec<u64>>,
    ties: Vec<Tie>,
    stack: Vec<usize>,
    /// The encoding of the representative.
    pub key: Vec<u32>,
    /// The renamings that lead to it.
    pub renamings: Vec<Renaming>,
}

/// Where slots lie whose contents have names.
#[derive(Default)]
struct Named {
    nodes: Vec<usize>,
    values: Vec<usize>,
    threads: Vec<usize>,
}

/// The slots whose contents have names, found out once.
struct Names {
    /// Shared slots, but for arrays by thread.
    shared: Named,
    /// Those of arrays by thread.
    arrays: Named,
    /// The registers that matter at each location.
    registers: Vec<Named>,
    structs: Vec<Named>,
}

/// The slots that refer to nodes, and what can be read of such a node.
struct ReadableNames {
    shared: Vec<(usize, u64)>,
    registers: Vec<Vec<(usize, u64)>>,
    structs: Vec<Vec<(usize, u64)>>,
}

/// The state has more nodes than can be numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyNodes;

/// Threads that look alike, as a range of places.
struct Tie {
    start: usize,
    end: usize,
    resolved: bool,
}

impl Canonical {
    /// Finds representatives under the symmetries that are switched on.
    pub fn new(subject: &Subject, reductions: &Reductions) -> Canonical {
        let threads = subject.machine.thread_count();
        let mut roles = [0; MAX_THREADS];
        let threads_with_roles = subject.machine.steps.threads.iter().zip(&mut roles);
        threads_with_roles.for_each(|(thread, role)| *role = u64::from(thread.role));
        Canonical {
            heap: reductions.heap_symmetry,
            threads: reductions.thread_symmetry && subject.threads_are_alike(),
            tids: subject.machine.steps.uses_tids,
            values: reductions.value_symmetry,
            names: Names::of(subject),
            readable: reductions.dead_fields.then(|| ReadableNames::of(subject)).flatten(),
            named: 0,
            roles,
            naming: Naming::for_threads(threads),
            todo: 0,
            packer: Packer::default(),
            keys: vec![vec![]; threads],
            ties: vec![],
            stack: vec![],
            key: vec![],
            renamings: vec![],
        }
    }

    /// Whether idle threads that know the same are interchangeable.
    pub fn threads_are_alike(&self) -> bool {
        self.threads
    }

    /// The threads whose numbers occur somewhere, as a mask; what nobody can reach any more counts,
    /// too.
    pub fn named_threads(&self, subject: &Subject, state: &State) -> u32 {
        let machine = &subject.machine;
        let mut named = 0;
        let mut note = |slots: &[usize], words: &[i32]| {
            let words = slots.iter().map(|at| words[*at]).filter(|word| *word != NULL);
            words.for_each(|word| named |= 1 << word);
        };
        note(&self.names.shared.threads, &state.words);
        note(&self.names.arrays.threads, &state.words);
        for thread in 0..machine.thread_count() {
            let location = subject.location(state, thread) as usize;
            let words = &state.words[machine.register_base(thread)..];
            note(&self.names.registers[location].threads, words);
        }
        if self.names.structs.iter().any(|named| !named.threads.is_empty()) {
            let nodes = state.heap.chunks(machine.node_stride());
            for cells in nodes.filter(|cells| cells[0] != VACANT) {
                let id = (cells[0] & (FREED - 1)) as usize;
                note(&self.names.structs[id].threads, &cells[1..]);
            }
        }
        named
    }

    /// The nodes that the last state still needed: everything else that lies in its heap is gone in
    /// its representative.
    pub fn needed(&self) -> impl Iterator<Item = usize> + '_ {
        self.naming.nodes.iter().flatten().map(|node| *node as usize)
    }

    /// Computes the representative of a state; `mentioned` are the values that occur in its
    /// configurations.
    pub fn run(
        &mut self,
        subject: &Subject,
        codec: &Codec,
        state: &State,
        mentioned: u8,
    ) -> Result<(), TooManyNodes> {
        self.renamings.clear();
        let locations = self.naming.locations.iter_mut().enumerate();
        locations.for_each(|(thread, at)| *at = subject.location(state, thread));
        self.find_readable(subject, state);
        self.begin(subject, state)?;
        self.naming.order.iter_mut().enumerate().for_each(|(place, thread)| *thread = place);
        self.named = if self.tids { self.named_threads(subject, state) } else { 0 };
        self.ties.clear();
        if self.threads {
            self.sort(subject, state);
        }
        self.naming.arrange();
        if self.ties.is_empty() {
            return self.consider(subject, codec, state, mentioned);
        }
        self.consider_all(subject, codec, state, mentioned)
    }

    /// Considers every order of the threads that look alike.
    fn consider_all(
        &mut self,
        subject: &Subject,
        codec: &Codec,
        state: &State,
        mentioned: u8,
    ) -> Result<(), TooManyNodes> {
        let shared = (self.naming.nodes.len(), self.naming.values, self.naming.named_values);
        let numbers =
            (!self.heap).then(|| (self.naming.nodes.clone(), self.naming.numbers.clone()));
        let encode_all = self.ties.iter().any(|tie| !tie.resolved);
        self.consider(subject, codec, state, mentioned)?;
        while self.next_order() {
            self.naming.arrange();
            if !encode_all {
                self.add_renamings(mentioned);
                continue;
            }
            match &numbers {
                Some((nodes, numbers)) => {
                    self.naming.nodes.clone_from(nodes);
                    self.naming.numbers.clone_from(numbers);
                }
                None => {
                    let Naming { nodes, numbers, .. } = &mut self.naming;
                    let named = nodes.drain(shared.0..).flatten();
                    named.for_each(|node| numbers[node as usize] = UNKNOWN);
                }
            }
            (self.todo, self.naming.values, self.naming.named_values) = shared;
            self.consider(subject, codec, state, mentioned)?;
        }
        Ok(())
    }

    /// Goes on to the next order of the threads that look alike; `false` after the last one.
    fn next_order(&mut self) -> bool {
        let order = &mut self.naming.order;
        self.ties.iter().rev().any(|tie| next_permutation(&mut order[tie.start..tie.end]))
    }

    /// Finds the slots of each node that can still be read, as the least fixpoint over the cells
    /// that hold references.
    fn find_readable(&mut self, subject: &Subject, state: &State) {
        let Some(readable) = &self.readable else { return };
        let machine = &subject.machine;
        let stride = machine.node_stride();
        let Canonical { naming, stack, .. } = self;
        let Naming { readable: masks, locations, .. } = naming;
        let nodes = state.heap.len() / stride;
        masks.clear();
        masks.resize(nodes, 0);
        stack.clear();
        // A node of which nothing can be read leads nowhere.
        let hold = |masks: &mut [u64], stack: &mut Vec<usize>, word: i32, mask: u64| {
            if word != NULL && masks[word as usize] | mask != masks[word as usize] {
                masks[word as usize] |= mask;
                stack.push(word as usize);
            }
        };
        for (at, mask) in &readable.shared {
            hold(masks, stack, state.words[*at], *mask);
        }
        for (thread, location) in locations.iter().enumerate() {
            let base = machine.register_base(thread);
            for (register, mask) in &readable.registers[*location as usize] {
                hold(masks, stack, state.words[base + register], *mask);
            }
        }
        while let Some(node) = stack.pop() {
            let cells = &state.heap[node * stride..(node + 1) * stride];
            let mask = masks[node];
            for (at, more) in &readable.structs[(cells[0] & (FREED - 1)) as usize] {
                if mask >> at & 1 == 1 {
                    hold(masks, stack, cells[at + 1], *more);
                }
            }
        }
    }

    /// Numbers what the shared variables reach, but for arrays by thread: their order is not known
    /// yet.
    fn begin(&mut self, subject: &Subject, state: &State) -> Result<(), TooManyNodes> {
        let cells = state.heap.len() / subject.machine.node_stride();
        self.naming.nodes.clear();
        self.naming.numbers.clear();
        self.naming.numbers.resize(cells, UNKNOWN);
        self.naming.values = if self.values { [UNNAMED; 8] } else { Renaming::IDENTITY.values };
        self.naming.named_values = if self.values { 0 } else { 8 };
        self.todo = 0;
        let Named { nodes, values, .. } = &self.names.shared;
        nodes.iter().for_each(|at| self.naming.name_node(state.words[*at]));
        values.iter().for_each(|at| self.naming.name_value(state.words[*at]));
        self.close(subject, state)
    }

    /// Names what the nodes hold that have a name.
    #[inline]
    fn close(&mut self, subject: &Subject, state: &State) -> Result<(), TooManyNodes> {
        match self.todo < self.naming.nodes.len() {
            true => self.close_more(subject, state),
            false => Ok(()),
        }
    }

    fn close_more(&mut self, subject: &Subject, state: &State) -> Result<(), TooManyNodes> {
        let stride = subject.machine.node_stride();
        while let Some(node) = self.naming.nodes.get(self.todo).copied().flatten() {
            self.todo += 1;
            let node = node as usize;
            let cells = &state.heap[node * stride..(node + 1) * stride];
            let mask = self.naming.readable.get(node).copied().unwrap_or(u64::MAX);
            let Named { nodes, values, .. } =
                &self.names.structs[(cells[0] & (FREED - 1)) as usize];
            let is_read = |at: &&usize| mask >> **at & 1 == 1;
            nodes.iter().filter(is_read).for_each(|at| self.naming.name_node(cells[at + 1]));
            values.iter().filter(is_read).for_each(|at| self.naming.name_value(cells[at + 1]));
        }
        if self.naming.nodes.len() > MAX_NODES { Err(TooManyNodes) } else { Ok(()) }
    }

    /// Sorts the threads of each role by what they know; notes those that look alike. Most differ
    /// in where they stand, so the rest is looked at only of those that do not.
    fn sort(&mut self, subject: &Subject, state: &State) {
        // The role of each thread above its location.
        let mut stands = [0; MAX_THREADS];
        let threads = stands.iter_mut().zip(&self.roles).zip(&self.naming.locations);
        threads.for_each(|((at, role), location)| *at = role << 32 | u64::from(*location));
        let mut order = std::mem::take(&mut self.naming.order);
        // Most steps leave it as it was.
        if !stands[..order.len()].is_sorted() {
            order.put_in_order_by_key(|thread| stands[*thread]);
        }
        let mut keys = std::mem::take(&mut self.keys);
        let mut start = 0;
        while start < order.len() {
            let first = stands[order[start]];
            let mut end = start + 1;
            while end < order.len() && stands[order[end]] == first {
                end += 1;
            }
            if end - start > 1 {
                let group = &mut order[start..end];
                group.iter().for_each(|t| self.describe(subject, state, *t, &mut keys[*t]));
                group.put_in_order_by(|a, b| keys[*a].cmp(&keys[*b]));
                let idle = subject.locations[first as u32 as usize].idle;
                alike(group, &keys, &mut |from, to| {
                    let alike = &group[from..to];
                    let unnamed = alike.iter().all(|t| self.named >> t & 1 == 0);
                    let resolved = !keys[alike[0]].contains(&SOMETHING) && unnamed;
                    if !(idle && resolved) {
                        self.ties.push(Tie { start: start + from, end: start + to, resolved });
                    }
                });
            }
            start = end;
        }
        self.keys = keys;
        self.naming.order = order;
    }

    /// What a thread knows beside its role and its location: registers, its elements of arrays by
    /// thread; and where it is known.
    fn describe(&self, subject: &Subject, state: &State, thread: usize, key: &mut Vec<u64>) {
        let location = self.naming.locations[thread];
        key.clear();
        let base = subject.machine.register_base(thread);
        for (register, kind) in &subject.locations[location as usize].registers {
            key.push(self.known(*kind, state.words[base + *register as usize], thread));
        }
        if !self.tids {
            return;
        }
        for (at, slot) in subject.machine.steps.shared.iter().enumerate() {
            let word = state.words[at];
            match subject.thread_array(at) {
                Some(array) if (at as u32 - array.first) / array.stride == thread as u32 => {
                    key.push(self.known(slot.kind, word, thread));
                }
                None if slot.kind.scalar == Scalar::Tid => {
                    key.push(u64::from(word == thread as i32));
                }
                _ => {}
            }
        }
    }

    /// What a word tells a thread, as far as names are given.
    fn known(&self, kind: Kind, word: i32, thread: usize) -> u64 {
        let plain = u64::from(word as u32);
        match kind.scalar {
            _ if word == NULL => plain,
            Scalar::Ref(_) if self.heap => match self.naming.numbers[word as usize] {
                UNKNOWN => SOMETHING,
                number => u64::from(number),
            },
            Scalar::Value => match self.naming.values[word as usize] {
                UNNAMED => SOMETHING,
                named => u64::from(named),
            },
            Scalar::Tid if word == thread as i32 => MYSELF,
            Scalar::Tid => SOMETHING,
            _ => plain,
        }
    }

    /// Completes the naming for the current order and keeps the encoding if it is the smallest so
    /// far.
    fn consider(
        &mut self,
        subject: &Subject,
        codec: &Codec,
        state: &State,
        mentioned: u8,
    ) -> Result<(), TooManyNodes> {
        let Named { nodes, values, .. } = &self.names.arrays;
        for at in nodes {
            let source = self.naming.source(subject.thread_array(*at), *at);
            self.naming.name_node(state.words[source]);
        }
        for at in values {
            let source = self.naming.source(subject.thread_array(*at), *at);
            self.naming.name_value(state.words[source]);
        }
        self.close(subject, state)?;
        for place in 0..self.naming.order.len() {
            let thread = self.naming.order[place];
            let words = &state.words[subject.machine.register_base(thread)..];
            let location = self.naming.locations[thread] as usize;
            let Named { nodes, values, .. } = &self.names.registers[location];
            nodes.iter().for_each(|register| self.naming.name_node(words[*register]));
            values.iter().for_each(|register| self.naming.name_value(words[*register]));
            self.close(subject, state)?;
        }
        if !self.heap {
            self.keep_numbers();
        }
        let packer = &mut self.packer;
        let first = self.renamings.is_empty();
        codec.encode(subject, state, &self.naming, packer);
        // The first words differ in nothing but that one has no length yet: numbers of nodes and
        // locations are the same in all orders that are tried.
        let front = packer.written();
        if !first && front.len() > 1 && front[1..] > self.key[1..front.len()] {
            return Ok(());
        }
        codec.encode_nodes(subject, state, &self.naming, packer);
        let words = packer.finish();
        if words.len() > MAX_WORDS {
            return Err(TooManyNodes);
        }
        words[0] |= words.len() as u32;
        if !first && *words > *self.key.as_slice() {
            return Ok(());
        }
        if first || *words != *self.key.as_slice() {
            self.key.clear();
            self.key.extend_from_slice(words);
            self.renamings.clear();
        }
        self.add_renamings(mentioned);
        Ok(())
    }

    /// Without heap symmetry a node keeps its number, and what is unreachable is vacant.
    fn keep_numbers(&mut self) {
        let numbers = &mut self.naming.numbers;
        let reached = |n: &u32| *n != UNKNOWN;
        let count = numbers.iter().rposition(&reached).map_or(0, |last| last + 1);
        let node = |i: usize| reached(&numbers[i]).then_some(i as u32);
        self.naming.nodes = (0..count).map(node).collect();
        numbers.iter_mut().enumerate().for_each(|(i, n)| *n = i as u32);
    }

    /// Notes the renamings of the current naming: values that occur in configurations only get
    /// every free name.
    fn add_renamings(&mut self, mentioned: u8) {
        let mut threads = [0u8; MAX_THREADS];
        for (place, thread) in self.naming.order.iter().enumerate() {
            threads[*thread] = place as u8;
        }
        (self.naming.order.len()..MAX_THREADS).for_each(|t| threads[t] = t as u8);
        let used = usize::from(self.naming.named_values);
        let (mut open, mut count) = ([0; 8], 0);
        let mut left = mentioned;
        while left != 0 {
            let value = left.trailing_zeros() as usize;
            left &= left - 1;
            if self.naming.values[value] == UNNAMED {
                open[count] = value;
                count += 1;
            }
        }
        let open = &mut open[..count];
        loop {
            let mut values = self.naming.values;
            for (i, value) in open.iter().enumerate() {
                values[*value] = (used + i) as u8;
            }
            let mut next = (used + open.len()) as u8;
            for value in &mut values {
                if *value == UNNAMED {
                    *value = next;
                    next += 1;
                }
            }
            let renaming = Renaming { threads, values };
            if !self.renamings.contains(&renaming) {
                self.renamings.push(renaming);
            }
            if !next_permutation(open) {
                break;
            }
        }
    }
}

impl Naming {
    /// Names a node, unless it has a name.
    #[inline]
    fn name_node(&mut self, word: i32) {
        if word == NULL {
            return;
        }
        let number = &mut self.numbers[word as usize];
        if *number == UNKNOWN {
            *number = self.nodes.len() as u32;
            self.nodes.push(Some(word as u32));
        }
    }

    /// Names a value, unless it has a name.
    #[inline]
    fn name_value(&mut self, word: i32) {
        if word == NULL || self.values[word as usize] != UNNAMED {
            return;
        }
        let used = if is_broken(Sabotage::WrongCanonicalForm) { 0 } else { self.named_values };
        self.values[word as usize] = used;
        self.named_values += 1;
    }
}

impl Names {
    fn of(subject: &Subject) -> Names {
        let steps = &subject.machine.steps;
        let slots = |slots: &[Slot]| Named::among(kinds(slots));
        let in_array = |(at, _): &(usize, Kind)| subject.thread_array(*at).is_some();
        let (arrays, shared): (Vec<_>, Vec<_>) = kinds(&steps.shared).partition(in_array);
        let at = |location: &Location| {
            Named::among(location.registers.iter().map(|(r, kind)| (*r as usize, *kind)))
        };
        Names {
            shared: Named::among(shared.into_iter()),
            arrays: Named::among(arrays.into_iter()),
            registers: subject.locations.iter().map(at).collect(),
            structs: steps.structs.iter().map(|layout| slots(&layout.slots)).collect(),
        }
    }
}

impl Named {
    fn among(slots: impl Iterator<Item = (usize, Kind)>) -> Named {
        let mut named = Named::default();
        for (at, kind) in slots {
            match kind.scalar {
                Scalar::Ref(_) => named.nodes.push(at),
                Scalar::Value => named.values.push(at),
                Scalar::Tid => named.threads.push(at),
                _ => {}
            }
        }
        named
    }
}

/// Where slots lie, and of which kind they are.
fn kinds(slots: &[Slot]) -> impl Iterator<Item = (usize, Kind)> + '_ {
    slots.iter().enumerate().map(|(at, slot)| (at, slot.kind))
}

impl ReadableNames {
    /// `None` if every reference leads to all that there is in its node: then there is nothing to be
    /// forgotten.
    fn of(subject: &Subject) -> Option<ReadableNames> {
        let readable = Readable::of(subject)?;
        let steps = &subject.machine.steps;
        let is_partial = Cell::new(false);
        // Where the slot lies and what can be read through it, if it refers to nodes.
        let name = |at: usize, kind: Kind, mask: u64| {
            let Scalar::Ref(id) = kind.scalar else { return None };
            let slots = steps.structs[id.0 as usize].slots.len();
            let is_whole = (0..slots).all(|slot| mask >> slot & 1 == 1);
            is_partial.set(is_partial.get() || !is_whole);
            Some((at, mask))
        };
        let slots = |slots: &[Slot], mask: &dyn Fn(usize) -> u64| -> Vec<(usize, u64)> {
            let slots = slots.iter().enumerate();
            slots.filter_map(|(at, slot)| name(at, slot.kind, mask(at))).collect()
        };
        let registers = subject.locations.iter().enumerate().map(|(number, location)| {
            let registers = location.registers.iter().enumerate();
            let mask = |i: usize| readable.register(number, i);
            registers.filter_map(|(i, (r, kind))| name(*r as usize, *kind, mask(i))).collect()
        });
        let structs = steps.structs.iter().enumerate();
        let names = ReadableNames {
            shared: slots(&steps.shared, &|at| readable.shared(at)),
            registers: registers.collect(),
            structs: structs.map(|(id, s)| slots(&s.slots, &|at| readable.field(id, at))).collect(),
        };
        is_partial.get().then_some(names)
    }
}

/// Tells of each run of threads with equal keys, two at least.
fn alike(group: &[usize], keys: &[Vec<u64>], tell: &mut dyn FnMut(usize, usize)) {
    let mut from = 0;
    while from < group.len() {
        let first = &keys[group[from]];
        let same = group[from..].iter().take_while(|t| keys[**t] == *first).count();
        if same > 1 {
            tell(from, from + same);
        }
        from += same;
    }
}

/// The next permutation in the order of words; after the last one the first, and `false`.
fn next_permutation(items: &mut [usize]) -> bool {
    let Some(fall) = items.windows(2).rposition(|pair| pair[0] < pair[1]) else {
        items.reverse();
        return false;
    };
    let larger = items.iter().rposition(|item| *item > items[fall]).unwrap_or(fall);
    items.swap(fall, larger);
    items[fall + 1..].reverse();
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_permutation_comes_once_and_then_the_first_again() {
        let mut items = [2, 5, 7, 9];
        let mut seen = vec![items];
        while next_permutation(&mut items) {
            seen.push(items);
        }
        assert_eq!((items, seen.len()), ([2, 5, 7, 9], 24));
        assert!(seen.is_sorted_by(|a, b| a < b));
    }
}
