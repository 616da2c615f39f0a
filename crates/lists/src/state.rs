//! The abstract state: a concrete state of the machine in which some heap nodes stand for
//! *segments*.
//!
//! The arguments k1 < … < km of the operations cut the key line into classes: −∞, (−∞,k1), {k1},
//! (k1,k2), …, +∞. A segment stands for a path of zero or more, or one or more, nodes of one open
//! interval that nobody looks at: unlocked, with increasing keys, with marks out of a set of
//! labels. A reference to a segment means a reference to its first node, or, if it is empty, to
//! whatever follows it. Registers never refer to segments.
//!
//! Keys are numbers that only their order and their class give a meaning: the argument of rank r is
//! `(r+1) << 20`, nodes of the interval below it have smaller numbers. Sorted by these numbers, the
//! nodes and segments form a word; nodes that are no longer linked but still known to a thread keep
//! their place in it.

use seriatim_lang::machine::State;
use seriatim_lang::steps::{MINUS_INF, PLUS_INF};

/// Bits that the numbers of one interval take.
const INTERVAL_BITS: u32 = 20;
/// The distance of neighbours of the word in normal form: room for nodes that a step takes out of a
/// segment.
const GAP: i32 = 256;

/// What kind of thing an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Segment(u8);

/// A set of marks of the nodes of a segment.
pub type Labels = u8;
/// Unmarked nodes.
pub const UNMARKED: Labels = 1;
/// Marked nodes.
pub const MARKED: Labels = 2;

impl Segment {
    /// No segment but a node.
    pub const NODE: Segment = Segment(0);

    /// A segment of at least `least` (0 or 1) nodes with these labels.
    pub fn new(labels: Labels, least: u8) -> Segment {
        Segment(4 | labels | least << 3)
    }

    /// Whether it is a node.
    pub fn is_node(self) -> bool {
        self.0 == 0
    }

    /// The marks that its nodes may have.
    pub fn labels(self) -> Labels {
        self.0 & 3
    }

    /// How many nodes it has at least.
    pub fn least(self) -> u8 {
        self.0 >> 3
    }

    /// As a byte.
    pub fn code(self) -> u8 {
        self.0
    }

    /// From its byte.
    pub fn from_code(code: u8) -> Segment {
        Segment(code)
    }
}

/// A state of the search.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ListState {
    /// Shared variables, threads, and the heap of nodes and segments.
    pub machine: State,
    /// For each heap cell, whether it is a segment.
    pub segments: Vec<Segment>,
    /// The set of configurations of the specification, by its number.
    pub configurations: u32,
    /// Whether an element that is no argument may have been lost (or gained).
    pub lost: bool,
}

impl ListState {
    /// Becomes a copy of another state, in the memory that it has.
    pub fn copy_from(&mut self, other: &ListState) {
        self.machine.words.clone_from(&other.machine.words);
        self.machine.heap.clone_from(&other.machine.heap);
        self.segments.clone_from(&other.segments);
        self.configurations = other.configurations;
        self.lost = other.lost;
    }
}

/// The class of a key: even for a single key, odd for an open interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Class(pub u32);

impl Class {
    /// The class of −∞.
    pub const FIRST: Class = Class(0);
    /// The class of +∞.
    pub const LAST: Class = Class(u32::MAX - 1);

    /// The class of a key.
    pub fn of(key: i32) -> Class {
        match key {
            MINUS_INF => Class::FIRST,
            PLUS_INF => Class::LAST,
            _ => {
                let inside = key & ((1 << INTERVAL_BITS) - 1) != 0;
                Class(2 * (key >> INTERVAL_BITS) as u32 + u32::from(inside))
            }
        }
    }

    /// Whether it is an open interval.
    pub fn is_open(self) -> bool {
        self.0 % 2 == 1
    }

    /// The rank of the argument that this class consists of.
    pub fn rank(self) -> Option<u32> {
        (!self.is_open() && self != Class::FIRST && self != Class::LAST).then(|| self.0 / 2 - 1)
    }
}

/// The key of the arguments of this rank.
pub fn argument_key(rank: u32) -> i32 {
    ((rank + 1) << INTERVAL_BITS) as i32
}

/// The key of the `index`-th item of the interval below the argument of this rank (or above all).
pub fn interval_key(rank: u32, index: u32) -> i32 {
    (rank << INTERVAL_BITS) as i32 + (index as i32 + 1) * GAP
}

/// The key of the `index`-th item of an open class.
pub fn open_key(class: Class, index: u32) -> i32 {
    interval_key(class.0 / 2, index)
}
