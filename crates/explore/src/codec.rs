//! States to bits and back. The bits are: the number of words, the number of nodes, the locations
//! of the threads, the shared slots, the registers that matter at each location, the nodes.
//! References take as many bits as the number of nodes asks for.
//!
//! The codec writes a state as it is told to by a [`Naming`]: threads in a given order, nodes and
//! values under given numbers. Choosing the naming is the business of `canonical`.

use crate::configurations::MAX_THREADS;
use crate::options::Reductions;
use crate::pack::{Packer, Unpacker, Writer, width};
use crate::subject::Subject;
use seriatim_lang::machine::{FREED, State, VACANT};
use seriatim_lang::steps::{MINUS_INF, NULL, PLUS_INF, Slot, ThreadArray};
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
    /// The location of each thread.
    pub locations: Vec<u32>,
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
    /// How many values have a name.
    pub named_values: u8,
}

impl Naming {
    /// Notes at which places the threads stand in their order.
    pub fn arrange(&mut self) {
        let order = self.order.iter().enumerate();
        order.for_each(|(place, thread)| self.places[*thread] = place);
    }

    /// A naming for so many threads.
    pub fn for_threads(count: usize) -> Naming {
        Naming {
            locations: vec![0; count],
            order: (0..count).collect(),
            places: vec![0; count],
            ..Naming::default()
        }
    }

    /// The shared slot whose content is written at a slot: arrays by thread go with their threads.
    #[inline]
    pub fn source(&self, array: Option<ThreadArray>, slot: usize) -> usize {
        let Some(ThreadArray { first, stride }) = array else { return slot };
        let (first, stride) = (first as usize, stride as usize);
        first + self.order[(slot - first) / stride] * stride + (slot - first) % stride
    }
}

/// What a slot holds, as far as its bits are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Node,
    Value,
    Thread,
    Key,
    /// A number from this one on.
    From(i32),
}

/// A slot: where it lies, what it holds, and how many bits it takes. Null, if it may be that, is
/// the number 0.
#[derive(Clone, Copy, Debug)]
struct Field {
    at: usize,
    sort: Sort,
    nullable: bool,
    /// Of references it is not known before the nodes are counted.
    bits: u32,
}

/// How many bits references take, those that are never null and the others.
type Widths = [u32; 2];

/// Knows how many bits each slot takes.
pub struct Codec {
    location_bits: u32,
    tag_bits: u32,
    keys: u32,
    freed: bool,
    shared: Vec<Field>,
    /// The registers that matter at each location.
    registers: Vec<Vec<Field>>,
    structs: Vec<Vec<Field>>,
}

impl Codec {
    /// A codec for a subject. Where dead registers are kept, registers without a value are written,
    /// too.
    pub fn new(subject: &Subject, reductions: &Reductions) -> Codec {
        let steps = &subject.machine.steps;
        let field = |at: usize, kind: Kind| field(subject, at, kind);
        let slots = |slots: &[Slot]| -> Vec<Field> {
            slots.iter().enumerate().map(|(at, slot)| field(at, slot.kind)).collect()
        };
        let undefined = !reductions.dead_registers;
        let register = |(register, kind): &(u32, Kind)| {
            let kind = Kind { nullable: kind.nullable || undefined, ..*kind };
            field(*register as usize, kind)
        };
        let locations = subject.locations.iter();
        Codec {
            location_bits: width(subject.locations.len() as u32),
            tag_bits: width(steps.structs.len() as u32 + 1),
            keys: subject.machine.bounds.keys,
            freed: steps.frees,
            shared: slots(&steps.shared),
            registers: locations.map(|l| l.registers.iter().map(register).collect()).collect(),
            structs: steps.structs.iter().map(|layout| slots(&layout.slots)).collect(),
        }
    }

    /// Writes the first part of a state, which is all but its nodes; the number of words is left open.
    pub fn encode(&self, subject: &Subject, state: &State, naming: &Naming, into: &mut Packer) {
        let machine = &subject.machine;
        let widths = widths(naming.nodes.len() as u32);
        let words = state.words.as_slice();
        into.clear();
        let mut into = into.writer();
        into.put(0, COUNT_BITS);
        into.put(naming.nodes.len() as u32, COUNT_BITS);
        for thread in &naming.order {
            into.put(naming.locations[*thread], self.location_bits);
        }
        for field in &self.shared {
            let source = naming.source(subject.thread_array(field.at), field.at);
            self.put(field, words[source], naming, widths, &mut into);
        }
        for thread in &naming.order {
            let words = &words[machine.register_base(*thread)..];
            for field in &self.registers[naming.locations[*thread] as usize] {
                self.put(field, words[field.at], naming, widths, &mut into);
            }
        }
        into.end();
    }

    /// Writes the nodes of a state behind its first part.
    pub fn encode_nodes(
        &self,
        subject: &Subject,
        state: &State,
        naming: &Naming,
        into: &mut Packer,
    ) {
        let stride = subject.machine.node_stride();
        let widths = widths(naming.nodes.len() as u32);
        let mut into = into.writer();
        for node in &naming.nodes {
            let Some(node) = node else {
                into.put(0, self.tag_bits);
                continue;
            };
            let cells = &state.heap[*node as usize * stride..][..stride];
            let tag = cells[0] & (FREED - 1);
            into.put(tag as u32 + 1, self.tag_bits);
            if self.freed {
                into.put(u32::from(cells[0] & FREED != 0), 1);
            }
            // The fields of a node lie one after the other.
            let fields = self.structs[tag as usize].iter().zip(&cells[1..]);
            let mut mask = naming.readable.get(*node as usize).copied().unwrap_or(u64::MAX);
            for (field, word) in fields {
                if mask & 1 == 1 {
                    self.put(field, *word, naming, widths, &mut into);
                } else {
                    into.put(0, field.bits(widths));
                }
                mask >>= 1;
            }
        }
        into.end();
    }

    /// Reads a state: threads, nodes and values under the names under which they were written.
    pub fn decode(&self, subject: &Subject, words: &[u32], state: &mut State) {
        let machine = &subject.machine;
        let mut from = Unpacker::new(words);
        from.take(COUNT_BITS);
        let nodes = from.take(COUNT_BITS);
        let threads = machine.thread_count();
        state.words.clear();
        state.words.resize(machine.thread_base(threads), NULL);
        let mut locations = [0; MAX_THREADS];
        for (thread, number) in locations.iter_mut().enumerate().take(threads) {
            *number = from.take(self.location_bits) as usize;
            let location = &subject.locations[*number];
            let base = machine.thread_base(thread);
            state.words[base] = location.pc.0 as i32;
            state.words[base + 1] = location.caller.0 as i32;
        }
        let widths = widths(nodes);
        for field in &self.shared {
            state.words[field.at] = self.take(*field, widths, &mut from);
        }
        for (thread, location) in locations.into_iter().enumerate().take(threads) {
            let words = &mut state.words[machine.register_base(thread)..];
            for field in &self.registers[location] {
                words[field.at] = self.take(*field, widths, &mut from);
            }
        }
        let stride = machine.node_stride();
        state.heap.clear();
        state.heap.resize(nodes as usize * stride, 0);
        for cells in state.heap.chunks_mut(stride) {
            let tag = from.take(self.tag_bits);
            if tag == 0 {
                cells[0] = VACANT;
                continue;
            }
            let freed = if self.freed { from.take(1) as i32 * FREED } else { 0 };
            cells[0] = (tag as i32 - 1) | freed;
            for (field, cell) in self.structs[tag as usize - 1].iter().zip(&mut cells[1..]) {
                *cell = self.take(*field, widths, &mut from);
            }
        }
    }

    #[inline(always)]
    fn put(
        &self,
        field: &Field,
        word: i32,
        naming: &Naming,
        widths: Widths,
        into: &mut Writer<'_>,
    ) {
        let bits = field.bits(widths);
        // Also a register that was never written, though there is a way, which no run takes, on which
        // it is read.
        if word == NULL {
            return into.put(0, bits);
        }
        let number = match field.sort {
            Sort::Node => naming.numbers[word as usize],
            Sort::Value => u32::from(naming.values[word as usize]),
            Sort::Thread => naming.places[word as usize] as u32,
            Sort::Key => match word {
                MINUS_INF => 0,
                PLUS_INF => self.keys + 1,
                key => key as u32 + 1,
            },
            Sort::From(low) => (word - low) as u32,
        };
        into.put(number + u32::from(field.nullable), bits);
    }

    fn take(&self, field: Field, widths: Widths, from: &mut Unpacker<'_>) -> i32 {
        let number = from.take(field.bits(widths));
        let shift = u32::from(field.nullable);
        if number < shift {
            return NULL;
        }
        let number = number - shift;
        match field.sort {
            Sort::From(low) => low + number as i32,
            Sort::Key if number == 0 => MINUS_INF,
            Sort::Key if number == self.keys + 1 => PLUS_INF,
            Sort::Key => number as i32 - 1,
            Sort::Node | Sort::Value | Sort::Thread => number as i32,
        }
    }
}

impl Field {
    #[inline(always)]
    fn bits(&self, widths: Widths) -> u32 {
        if self.sort == Sort::Node { widths[usize::from(self.nullable)] } else { self.bits }
    }
}

fn widths(nodes: u32) -> Widths {
    [width(nodes), width(nodes + 1)]
}

fn field(subject: &Subject, at: usize, kind: Kind) -> Field {
    let bounds = &subject.machine.bounds;
    let (sort, count) = match kind.scalar {
        Scalar::Ref(_) => (Sort::Node, 0),
        Scalar::Value => (Sort::Value, bounds.values),
        Scalar::Int(range) => (Sort::From(range.low), range.count()),
        Scalar::Key => (Sort::Key, bounds.keys + 2),
        Scalar::Bool | Scalar::Lock => (Sort::From(0), 2),
        Scalar::Tid => (Sort::Thread, subject.machine.thread_count() as u32),
        Scalar::Enum(count) => (Sort::From(0), count),
    };
    let bits = width(count + u32::from(kind.nullable));
    Field { at, sort, nullable: kind.nullable, bits }
}
