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
use crate::subject::Subject;
use seriatim_lang::machine::{FREED, State, VACANT};
use seriatim_lang::steps::NULL;
use seriatim_lang::types::{Kind, Scalar};

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
    /// The threads whose numbers occur in the state, as a mask.
    named: u32,
    readable: Option<Readable>,
    naming: Naming,
    todo: usize,
    packer: Packer,
    keys: Vec<Vec<u64>>,
    /// The encoding of the representative.
    pub key: Vec<u32>,
    /// The renamings that lead to it.
    pub renamings: Vec<Renaming>,
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
        Canonical {
            heap: reductions.heap_symmetry,
            threads: reductions.thread_symmetry && subject.threads_are_alike(),
            tids: subject.machine.steps.uses_tids,
            named: 0,
            values: reductions.value_symmetry,
            readable: if reductions.dead_fields { Readable::of(subject) } else { None },
            naming: Naming::default(),
            todo: 0,
            packer: Packer::default(),
            keys: vec![vec![]; threads],
            key: vec![],
            renamings: vec![],
        }
    }

    /// Whether idle threads that know the same are interchangeable.
    pub fn threads_are_alike(&self) -> bool {
        self.threads
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
        self.find_readable(subject, state);
        self.begin(subject, state)?;
        let count = subject.machine.thread_count();
        self.naming.arrange((0..count).collect());
        self.named = if self.tids { named_threads(subject, state) } else { 0 };
        let ties = if self.threads { self.sort(subject, state) } else { vec![] };
        if ties.is_empty() {
            return self.consider(subject, codec, state, mentioned);
        }
        let shared = self.naming.clone();
        let encode_all = ties.iter().any(|t| !t.resolved);
        for (number, order) in orders(&shared.order, &ties).into_iter().enumerate() {
            if number > 0 && !encode_all {
                self.naming.arrange(order);
                self.add_renamings(mentioned);
                continue;
            }
            self.naming.clone_from(&shared);
            self.naming.arrange(order);
            self.todo = self.naming.nodes.len();
            self.consider(subject, codec, state, mentioned)?;
        }
        Ok(())
    }

    /// Finds the slots of each node that can still be read, as the least fixpoint over the cells
    /// that hold references.
    fn find_readable(&mut self, subject: &Subject, state: &State) {
        let Some(readable) = &self.readable else { return };
        let machine = &subject.machine;
        let stride = machine.node_stride();
        let masks = &mut self.naming.readable;
        masks.clear();
        masks.resize(state.heap.len() / stride, 0);
        let mut todo: Vec<usize> = Vec::new();
        let mut seen = vec![false; masks.len()];
        let mut hold =
            |masks: &mut Vec<u64>, todo: &mut Vec<usize>, (kind, word): (Kind, i32), mask: u64| {
                if !matches!(kind.scalar, Scalar::Ref(_)) || word == NULL {
                    return;
                }
                let node = word as usize;
                if !seen[node] || masks[node] | mask != masks[node] {
                    seen[node] = true;
                    masks[node] |= mask;
                    todo.push(node);
                }
            };
        for (at, slot) in machine.steps.shared.iter().enumerate() {
            hold(masks, &mut todo, (slot.kind, state.words[at]), readable.shared(at));
        }
        for thread in 0..machine.thread_count() {
            let location = subject.location(state, thread) as usize;
            let base = machine.register_base(thread);
            for (index, (register, kind)) in
                subject.locations[location].registers.iter().enumerate()
            {
                let word = state.words[base + *register as usize];
                hold(masks, &mut todo, (*kind, word), readable.register(location, index));
            }
        }
        while let Some(node) = todo.pop() {
            let cells = &state.heap[node * stride..(node + 1) * stride];
            let structure = (cells[0] & (FREED - 1)) as usize;
            let mask = masks[node];
            for (at, slot) in machine.steps.structs[structure].slots.iter().enumerate() {
                if mask >> at & 1 == 1 {
                    hold(
                        masks,
                        &mut todo,
                        (slot.kind, cells[at + 1]),
                        readable.field(structure, at),
                    );
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
        self.todo = 0;
        for (at, slot) in subject.machine.steps.shared.iter().enumerate() {
            if subject.thread_array(at).is_none() {
                self.visit(slot.kind, state.words[at]);
            }
        }
        self.close(subject, state)
    }

    fn visit(&mut self, kind: Kind, word: i32) {
        if word == NULL {
            return;
        }
        match kind.scalar {
            Scalar::Ref(_) => {
                let number = &mut self.naming.numbers[word as usize];
                if *number == UNKNOWN {
                    *number = self.naming.nodes.len() as u32;
                    self.naming.nodes.push(Some(word as u32));
                }
            }
            Scalar::Value if self.naming.values[word as usize] == UNNAMED => {
                let used = self.naming.values.iter().filter(|v| **v != UNNAMED).count();
                let used = if is_broken(Sabotage::WrongCanonicalForm) { 0 } else { used };
                self.naming.values[word as usize] = used as u8;
            }
            _ => {}
        }
    }

    fn close(&mut self, subject: &Subject, state: &State) -> Result<(), TooManyNodes> {
        let stride = subject.machine.node_stride();
        while let Some(node) = self.naming.nodes.get(self.todo).copied().flatten() {
            self.todo += 1;
            let cells = &state.heap[node as usize * stride..(node as usize + 1) * stride];
            let layout = &subject.machine.steps.structs[(cells[0] & (FREED - 1)) as usize];
            let mask = self.naming.readable.get(node as usize).copied().unwrap_or(u64::MAX);
            for (at, (slot, word)) in layout.slots.iter().zip(&cells[1..]).enumerate() {
                if mask >> at & 1 == 1 {
                    self.visit(slot.kind, *word);
                }
            }
        }
        if self.naming.nodes.len() > MAX_NODES { Err(TooManyNodes) } else { Ok(()) }
    }

    /// Sorts the threads of each role by what they know; returns those that look alike.
    fn sort(&mut self, subject: &Subject, state: &State) -> Vec<Tie> {
        let mut keys = std::mem::take(&mut self.keys);
        for (thread, key) in keys.iter_mut().enumerate() {
            self.describe(subject, state, thread, key);
        }
        let mut order = std::mem::take(&mut self.naming.order);
        order.sort_by(|a, b| keys[*a].cmp(&keys[*b]));
        self.naming.arrange(order);
        let mut ties = Vec::new();
        let mut start = 0;
        while start < keys.len() {
            let first = &keys[self.naming.order[start]];
            let same =
                self.naming.order[start..].iter().take_while(|t| keys[**t] == *first).count();
            let idle = subject.locations[first[1] as usize].idle;
            let alike = &self.naming.order[start..start + same];
            let unnamed = alike.iter().all(|t| self.named >> t & 1 == 0);
            let resolved = !first[2..].contains(&SOMETHING) && unnamed;
            if same > 1 && !(idle && resolved) {
                ties.push(Tie { start, end: start + same, resolved });
            }
            start += same;
        }
        self.keys = keys;
        ties
    }

    /// What a thread knows: role, location, registers, its elements of arrays by thread; and where
    /// it is known.
    fn describe(&self, subject: &Subject, state: &State, thread: usize, key: &mut Vec<u64>) {
        let location = subject.location(state, thread);
        key.clear();
        key.extend([subject.machine.steps.threads[thread].role, location].map(u64::from));
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
        for (at, slot) in subject.machine.steps.shared.iter().enumerate() {
            if let Some(array) = subject.thread_array(at) {
                let source = self.naming.source(Some(array), at);
                self.visit(slot.kind, state.words[source]);
            }
        }
        self.close(subject, state)?;
        for place in 0..self.naming.order.len() {
            let thread = self.naming.order[place];
            let base = subject.machine.register_base(thread);
            let location = &subject.locations[subject.location(state, thread) as usize];
            for (register, kind) in &location.registers {
                self.visit(*kind, state.words[base + *register as usize]);
            }
            self.close(subject, state)?;
        }
        if !self.heap {
            self.keep_numbers();
        }
        let packer = &mut self.packer;
        codec.encode(subject, state, &self.naming, packer);
        let words = packer.finish();
        if words.len() > MAX_WORDS {
            return Err(TooManyNodes);
        }
        words[0] |= words.len() as u32;
        let first = self.renamings.is_empty();
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
        let open: Vec<usize> = (0..8)
            .filter(|v| self.naming.values[*v] == UNNAMED && mentioned >> v & 1 == 1)
            .collect();
        let used = 8 - self.naming.values.iter().filter(|v| **v == UNNAMED).count();
        for order in permutations(&open) {
            let mut values = self.naming.values;
            for (i, value) in order.iter().enumerate() {
                values[*value] = (used + i) as u8;
            }
            let rest = values.iter_mut().filter(|v| **v == UNNAMED);
            for (value, name) in rest.zip(used + order.len()..) {
                *value = name as u8;
            }
            let renaming = Renaming { threads, values };
            if !self.renamings.contains(&renaming) {
                self.renamings.push(renaming);
            }
        }
    }
}

/// The threads whose numbers occur somewhere, as a mask; what nobody can reach any more counts,
/// too.
pub fn named_threads(subject: &Subject, state: &State) -> u32 {
    let machine = &subject.machine;
    let mut named = 0;
    let mut note = |kind: Kind, word: i32| {
        if kind.scalar == Scalar::Tid && word != NULL {
            named |= 1 << word;
        }
    };
    machine.steps.shared.iter().zip(&state.words).for_each(|(slot, word)| note(slot.kind, *word));
    for thread in 0..machine.thread_count() {
        let base = machine.register_base(thread);
        let location = &subject.locations[subject.location(state, thread) as usize];
        let registers = location.registers.iter();
        registers.for_each(|(reg, kind)| note(*kind, state.words[base + *reg as usize]));
    }
    for cells in state.heap.chunks(machine.node_stride()).filter(|cells| cells[0] != VACANT) {
        let layout = &machine.steps.structs[(cells[0] & (FREED - 1)) as usize];
        layout.slots.iter().zip(&cells[1..]).for_each(|(slot, word)| note(slot.kind, *word));
    }
    named
}

/// All orders in which threads that look alike are permuted.
fn orders(order: &[usize], ties: &[Tie]) -> Vec<Vec<usize>> {
    let mut all = vec![order.to_vec()];
    for tie in ties {
        let choices = permutations(&order[tie.start..tie.end]);
        let extend = |base: &Vec<usize>| {
            let mut found = Vec::new();
            for choice in &choices {
                let mut next = base.clone();
                next[tie.start..tie.end].copy_from_slice(choice);
                found.push(next);
            }
            found
        };
        all = all.iter().flat_map(extend).collect();
    }
    all
}

fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.len() < 2 {
        return vec![items.to_vec()];
    }
    let mut all = Vec::new();
    for (at, first) in items.iter().enumerate() {
        let rest: Vec<usize> =
            items.iter().enumerate().filter(|(i, _)| *i != at).map(|(_, x)| *x).collect();
        for mut tail in permutations(&rest) {
            tail.insert(0, *first);
            all.push(tail);
        }
    }
    all
}
