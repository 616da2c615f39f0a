//! States to bits and back. The bits are: the number of words, the number of nodes, the locations
//! of the threads, the shared slots, the registers that matter at each location, the nodes.
//! References take as many bits as the number of nodes asks for.
//!
//! The codec writes a state as it is told to by a [`Naming`]: threads in a given order, nodes and
//! values under given numbers. Choosing the naming is the business of `canonical`.

use crate::options::Reductions;
use crate::pack::{Packer, Unpacker, width};
use crate::subject::Subject;
use seriatim_lang::machine::{FREED, State, VACANT};
use seriatim_lang::steps::{MINUS_INF, NULL, PLUS_INF, ThreadArray};
use seriatim_lang::types::{Kind, Scalar};

/// The most nodes of a state.
pub const MAX_NODES: usize = 255;
/// The most words of an encoding.
pub const MAX_WORDS: usize = 255;
/// For the number of words, and for the number of nodes.
const COUNT_BITS: u32 = 8;

/// The number of words of an encoding, from its first word.
pub fn length(first: u32) -> usize {
    (first & 0xff) as usize
}

/// The number of nodes of an encoded state, from its first word.
pub fn node_count(first: u32) -> u32 {
    first >> COUNT_BITS & 0xff
}

/// Under which names a state is written.
#[derive(Clone, Debug, Default)]
pub struct Naming {
    /// Which thread stands at each place.
    pub order: Vec<usize>,
    /// At which place each thread stands.
    pub places: Vec<usize>,
    /// The nodes in the order in which they are written; vacant ones appear as `None`.
    pub nodes: Vec<Option<u32>>,
    /// The number of each node.
    pub numbers: Vec<u32>,
    /// Which slots of each node matter, as masks; empty if all do.
    pub readable: Vec<u64>,
    /// The name of each value.
    pub values: [u8; 8],
}

impl Naming {
    /// Puts the threads into this order.
    pub fn arrange(&mut self, order: Vec<usize>) {
        self.places.resize(order.len(), 0);
        order.iter().enumerate().for_each(|(place, thread)| self.places[*thread] = place);
        self.order = order;
    }

    /// The shared slot whose content is written at a slot: arrays by thread go with their threads.
    pub fn source(&self, array: Option<ThreadArray>, slot: usize) -> usize {
        let Some(ThreadArray { first, stride }) = array else { return slot };
        let (first, stride) = (first as usize, stride as usize);
        first + self.order[(slot - first) / stride] * stride + (slot - first) % stride
    }
}

/// Knows how many bits each kind takes.
pub struct Codec {
    location_bits: u32,
    tag_bits: u32,
    keys: u32,
    values: u32,
    threads: u32,
    /// Whether registers may be undefined.
    undefined: bool,
    freed: bool,
}

impl Codec {
    /// A codec for a subject. Where dead registers are kept, registers without a value are written,
    /// too.
    pub fn new(subject: &Subject, reductions: &Reductions) -> Codec {
        let steps = &subject.machine.steps;
        Codec {
            location_bits: width(subject.locations.len() as u32),
            tag_bits: width(steps.structs.len() as u32 + 1),
            keys: subject.machine.bounds.keys,
            values: subject.machine.bounds.values,
            threads: steps.threads.len() as u32,
            undefined: !reductions.dead_registers,
            freed: steps.frees,
        }
    }

    /// Writes a state; the number of words is left open.
    pub fn encode(&self, subject: &Subject, state: &State, naming: &Naming, into: &mut Packer) {
        into.clear();
        into.put(0, COUNT_BITS);
        into.put(naming.nodes.len() as u32, COUNT_BITS);
        for thread in &naming.order {
            into.put(subject.location(state, *thread), self.location_bits);
        }
        for (at, slot) in subject.machine.steps.shared.iter().enumerate() {
            let source = naming.source(subject.thread_array(at), at);
            self.put(slot.kind, state.words[source], naming, into);
        }
        for thread in &naming.order {
            let location = &subject.locations[subject.location(state, *thread) as usize];
            let base = subject.machine.register_base(*thread);
            for (register, kind) in &location.registers {
                let word = state.words[base + *register as usize];
                self.put(self.register_kind(*kind), word, naming, into);
            }
        }
        let stride = subject.machine.node_stride();
        for node in &naming.nodes {
            let Some(node) = node else {
                into.put(0, self.tag_bits);
                continue;
            };
            let cells = &state.heap[*node as usize * stride..];
            let mask = naming.readable.get(*node as usize).copied().unwrap_or(u64::MAX);
            self.put_node(subject, cells, mask, naming, into);
        }
    }

    fn put_node(
        &self,
        subject: &Subject,
        cells: &[i32],
        mask: u64,
        naming: &Naming,
        into: &mut Packer,
    ) {
        let tag = cells[0] & (FREED - 1);
        into.put(tag as u32 + 1, self.tag_bits);
        if self.freed {
            into.put(u32::from(cells[0] & FREED != 0), 1);
        }
        let layout = &subject.machine.steps.structs[tag as usize];
        for (at, (slot, word)) in layout.slots.iter().zip(&cells[1..]).enumerate() {
            if mask >> at & 1 == 1 {
                self.put(slot.kind, *word, naming, into);
            } else {
                into.put(0, self.bits(slot.kind, naming.nodes.len() as u32));
            }
        }
    }

    /// Reads a state: threads, nodes and values under the names under which they were written.
    pub fn decode(&self, subject: &Subject, words: &[u32], state: &mut State) {
        let machine = &subject.machine;
        let steps = &machine.steps;
        let mut from = Unpacker::new(words);
        from.take(COUNT_BITS);
        let nodes = from.take(COUNT_BITS);
        let threads = machine.thread_count();
        state.words.clear();
        state.words.resize(machine.thread_base(threads), NULL);
        for thread in 0..threads {
            let location = &subject.locations[from.take(self.location_bits) as usize];
            let base = machine.thread_base(thread);
            state.words[base] = location.pc.0 as i32;
            state.words[base + 1] = location.caller.0 as i32;
        }
        for (at, slot) in steps.shared.iter().enumerate() {
            state.words[at] = self.take(slot.kind, nodes, &mut from);
        }
        for thread in 0..threads {
            let location = &subject.locations[subject.location(state, thread) as usize];
            let base = machine.register_base(thread);
            for (register, kind) in &location.registers {
                let word = self.take(self.register_kind(*kind), nodes, &mut from);
                state.words[base + *register as usize] = word;
            }
        }
        let stride = machine.node_stride();
        state.heap.clear();
        state.heap.resize(nodes as usize * stride, 0);
        for node in 0..nodes as usize {
            let tag = from.take(self.tag_bits);
            if tag == 0 {
                state.heap[node * stride] = VACANT;
                continue;
            }
            let freed = if self.freed { from.take(1) as i32 * FREED } else { 0 };
            state.heap[node * stride] = (tag as i32 - 1) | freed;
            for (at, slot) in steps.structs[tag as usize - 1].slots.iter().enumerate() {
                state.heap[node * stride + 1 + at] = self.take(slot.kind, nodes, &mut from);
            }
        }
    }

    fn register_kind(&self, kind: Kind) -> Kind {
        Kind { nullable: kind.nullable || self.undefined, ..kind }
    }

    fn put(&self, kind: Kind, word: i32, naming: &Naming, into: &mut Packer) {
        let shift = u32::from(kind.nullable);
        let bits = self.bits(kind, naming.nodes.len() as u32);
        if word == NULL && kind.nullable {
            return into.put(0, bits);
        }
        let number = match kind.scalar {
            Scalar::Ref(_) => naming.numbers[word as usize],
            Scalar::Value => u32::from(naming.values[word as usize]),
            Scalar::Int(range) => (word - range.low) as u32,
            Scalar::Key => match word {
                MINUS_INF => 0,
                PLUS_INF => self.keys + 1,
                key => key as u32 + 1,
            },
            Scalar::Tid => naming.places[word as usize] as u32,
            Scalar::Bool | Scalar::Lock | Scalar::Enum(_) => word as u32,
        };
        into.put(number + shift, bits);
    }

    fn take(&self, kind: Kind, nodes: u32, from: &mut Unpacker<'_>) -> i32 {
        let number = from.take(self.bits(kind, nodes));
        let shift = u32::from(kind.nullable);
        if number < shift {
            return NULL;
        }
        let number = number - shift;
        match kind.scalar {
            Scalar::Int(range) => range.low + number as i32,
            Scalar::Key if number == 0 => MINUS_INF,
            Scalar::Key if number == self.keys + 1 => PLUS_INF,
            Scalar::Key => number as i32 - 1,
            _ => number as i32,
        }
    }

    fn bits(&self, kind: Kind, nodes: u32) -> u32 {
        let count = match kind.scalar {
            Scalar::Ref(_) => nodes,
            Scalar::Value => self.values,
            Scalar::Int(range) => range.count(),
            Scalar::Key => self.keys + 2,
            Scalar::Bool | Scalar::Lock => 2,
            Scalar::Tid => self.threads,
            Scalar::Enum(count) => count,
        };
        width(count + u32::from(kind.nullable))
    }
}
