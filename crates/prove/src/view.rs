//! A view: everything that one thread can name, at one moment.
//!
//! It consists of the thread (position, operation, argument, registers, history bits), the shared
//! variables, and the part of the heap that is reached from them. Explicit nodes are distinct
//! concrete nodes; the nodes between them are anonymous and lie in *segments*, of which only the
//! set of attributes is known, whether it may be empty, and whether the key classes in it ascend. A
//! view stands for all concrete states that it describes; every node that can be reached from a
//! shared variable, or from a register of the thread, is explicit or lies in exactly one segment.
//!
//! *Records* are structs without links, as helping algorithms publish them: the view lists those to
//! which a shared variable, the thread's own element of a shared array, or a register points;
//! different numbers are different concrete records, and all fields are known. *Threads* are known
//! by names: 0 is the observed one, different names are different threads. Of a shared array that
//! has one element per thread, the view knows the element of the observed thread (its *slot*) and
//! nothing else; of other shared arrays it knows nothing. Of a cell's records, those that are
//! public and not installed can never be installed again, and their fields are not represented. The
//! *window* is ghost state about the record that is installed in a cell: whose operation it stands
//! for, and what could be seen since it was installed.
//!
//! Where the content is a number ([`crate::counter`]), numbers are known up to unknown *bases*, and
//! the view lists what the content was since the call.

use crate::difference::Fact;
use crate::value::{Attr, Val, Values};
use seriatim_lang::steps::Pc;

/// The nodes between an explicit node and the next one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Segment {
    /// The attributes that occur; none in an empty segment.
    pub attrs: u64,
    /// The data values that occur.
    pub values: Values,
    /// Whether there may be no node at all.
    pub optional: bool,
    /// Whether the key classes ascend.
    pub sorted: bool,
}

impl Segment {
    /// No node.
    pub const EMPTY: Segment = Segment { attrs: 0, values: 0, optional: true, sorted: true };

    /// Whether there is surely no node.
    pub fn is_empty(&self) -> bool {
        self.attrs == 0
    }
}

/// An explicit node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Node {
    /// Key class, mark, lock.
    pub attr: Attr,
    /// The data values that it may hold.
    pub values: Values,
    /// The next explicit node, or null.
    pub to: Val,
    /// What lies in between.
    pub segment: Segment,
    /// Whether only the observed thread can reach it.
    pub private: bool,
}

/// How many fields a record may have.
pub const FIELDS: usize = 4;
/// How many arguments an operation may have.
pub const ARGS: usize = 3;

/// A record.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Record {
    /// Its fields; those that it does not have are [`Val::Dead`].
    pub fields: [Val; FIELDS],
    /// Whether only the observed thread can reach it.
    pub private: bool,
}

/// What is known about the operation whose record is installed in the cell: ghost state, in no
/// program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Window {
    /// Whether it is the operation of the observed thread.
    pub mine: bool,
    /// The method.
    pub method: u8,
    /// Its arguments.
    pub args: [Val; ARGS],
    /// The content of the cell when the record was installed.
    pub base: Val,
    /// The values of the control variable since then, as a set of bits.
    pub seen: u32,
}

/// What the operation of the thread has seen and done: ghost state, in no program. Once it is done,
/// nothing that it saw matters any more, and both bits are down.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Ghost {
    /// At some moment since the call: the tracked key was a member; the sequence was empty; the
    /// operation could have returned the tracked value, `true` or nothing without changing the
    /// cell.
    pub saw_yes: bool,
    /// At some moment since the call: the tracked key was not a member; the operation could have
    /// returned `null` or `false` without changing the cell.
    pub saw_no: bool,
    /// Whether the operation has taken effect, by a step of its own or of a helper.
    pub done: bool,
    /// The colour of the value that it must return for it; 2 stands for `null`.
    pub got: Option<u8>,
    /// The colours of values, as bits, that the first item of a sequence had at some moments since
    /// the call. The item that is returned is the only one of its colour under some colouring, and
    /// then it was the first one itself.
    pub firsts: u8,
}

/// What is known about numbers, and about the past of a content that is made of them.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Numbers {
    /// What comparisons of unknown numbers have said.
    pub facts: Vec<Fact>,
    /// Ghost state: what the content was at some moments since the call, word by word.
    pub moments: Vec<Vec<Val>>,
    /// Ghost state: what the operation must return, once it has taken effect; no words if nothing.
    pub answer: Option<Vec<Val>>,
}

/// What the thread is doing.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct Busy {
    /// Where it rests.
    pub pc: Pc,
    /// The method, by its place in the list.
    pub method: u32,
    /// The arguments; those that it does not have are [`Val::Dead`].
    pub args: [Val; ARGS],
    /// Its registers.
    pub regs: Vec<Val>,
    /// What it has seen and done.
    pub ghost: Ghost,
}

/// Copies into memory that is there already: most views are made only to be compared with one that
/// is known.
impl Clone for Busy {
    fn clone(&self) -> Busy {
        Busy { regs: self.regs.clone(), ..*self }
    }

    fn clone_from(&mut self, from: &Busy) {
        let mut regs = std::mem::take(&mut self.regs);
        regs.clone_from(&from.regs);
        *self = Busy { regs, ..*from };
    }
}

/// More explicit nodes than any view may have: sets of them are words.
pub const MOST: usize = 64;

/// A view.
#[derive(PartialEq, Eq, Hash, Debug, Default)]
pub struct View {
    /// The operation of the thread, if it is inside one.
    pub busy: Option<Busy>,
    /// The shared variables.
    pub globals: Vec<Val>,
    /// The explicit nodes.
    pub nodes: Vec<Node>,
    /// The records.
    pub records: Vec<Record>,
    /// The thread's own elements of the shared arrays that have one for each thread.
    pub slots: Vec<Val>,
    /// What is known about the record that is installed in the cell.
    pub window: Option<Window>,
    /// What is known about numbers, where the content is one.
    pub numbers: Numbers,
}

impl Clone for View {
    fn clone(&self) -> View {
        View {
            busy: self.busy.clone(),
            globals: self.globals.clone(),
            nodes: self.nodes.clone(),
            records: self.records.clone(),
            slots: self.slots.clone(),
            window: self.window,
            numbers: self.numbers.clone(),
        }
    }

    fn clone_from(&mut self, from: &View) {
        self.busy.clone_from(&from.busy);
        self.globals.clone_from(&from.globals);
        self.nodes.clone_from(&from.nodes);
        self.records.clone_from(&from.records);
        self.slots.clone_from(&from.slots);
        self.window = from.window;
        self.numbers.clone_from(&from.numbers);
    }
}

impl View {
    /// For each node, the shared variables from which it can be reached, as a set of bits.
    pub fn reach(&self) -> [u32; MOST] {
        let mut reach = [0; MOST];
        for (index, global) in self.globals.iter().enumerate() {
            let mut at = *global;
            while let Some(node) = at.node() {
                if reach[node] >> index & 1 == 1 {
                    break;
                }
                reach[node] |= 1 << index;
                at = self.nodes[node].to;
            }
        }
        reach
    }

    /// Whether all that can be reached is known: no link leads out of the view.
    pub fn is_whole(&self) -> bool {
        let mut visited = 0u64;
        let regs = self.busy.iter().flat_map(|b| &b.regs).filter(|v| **v != Val::Dead);
        self.globals.iter().chain(regs).all(|start| {
            let mut at = *start;
            while let Some(node) = at.node() {
                if visited >> node & 1 == 1 {
                    return true;
                }
                visited |= 1 << node;
                at = self.nodes[node].to;
            }
            at != Val::Dead
        })
    }

    /// The argument of an operation that has one.
    pub fn argument(&self) -> Val {
        self.busy.as_ref().map_or(Val::Dead, |b| b.args[0])
    }

    /// All places in which a reference may stand, apart from links between nodes.
    pub fn references_mut(&mut self) -> impl Iterator<Item = &mut Val> {
        let regs = self.busy.iter_mut().flat_map(|b| &mut b.regs);
        self.globals.iter_mut().chain(&mut self.slots).chain(regs)
    }

    /// How many threads the view names, with the observed one: names are consecutive numbers.
    pub fn named_threads(&self) -> u8 {
        let regs = self.busy.iter().flat_map(|b| &b.regs);
        let fields = self.records.iter().flat_map(|r| &r.fields);
        let all = self.globals.iter().chain(&self.slots).chain(regs).chain(fields);
        all.filter_map(|v| v.tid()).max().map_or(1, |most| most + 1)
    }

    /// Makes private nodes and records public that other threads can reach now, and says which
    /// nodes.
    pub fn publish(&mut self) -> Vec<usize> {
        for place in self.globals.iter().chain(&self.slots) {
            if let Some(record) = place.record() {
                self.records[record].private = false;
            }
        }
        let links = self.nodes.iter().filter(|n| !n.private).map(|n| n.to);
        let mut todo: Vec<Val> = self.globals.iter().copied().chain(links).collect();
        let mut fresh = Vec::new();
        while let Some(target) = todo.pop() {
            if let Some(node) = target.node()
                && self.nodes[node].private
            {
                self.nodes[node].private = false;
                fresh.push(node);
                todo.push(self.nodes[node].to);
            }
        }
        fresh.sort_unstable();
        fresh
    }
}
