//! A view: everything that one thread can name, at one moment.
//!
//! It consists of the thread (position, operation, argument, registers, history bits), the shared variables, and the part
//! of the heap that hangs from them. Explicit nodes are distinct concrete nodes; the nodes between them are
//! anonymous and lie in *gaps*, of which only the set of attributes is known, whether it may be empty, and whether the
//! key classes in it ascend. A view stands for all concrete states that it describes; every node that can be reached from
//! a shared variable, or from a register of the thread, is explicit or lies in exactly one gap.

use crate::value::{Attr, Val, Values};
use seriatim_lang::steps::Pc;

/// The nodes between an explicit node and the next one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Gap {
    /// The attributes that occur; none in an empty gap.
    pub attrs: u64,
    /// The data values that occur.
    pub values: Values,
    /// Whether there may be no node at all.
    pub optional: bool,
    /// Whether the key classes ascend.
    pub sorted: bool,
}

impl Gap {
    /// No node.
    pub const EMPTY: Gap = Gap { attrs: 0, values: 0, optional: true, sorted: true };

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
    pub gap: Gap,
    /// Whether only the observed thread can reach it.
    pub private: bool,
}

/// What the operation of the thread has seen and done: ghost state, in no program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Ghost {
    /// At some moment since the call: the tracked key was a member; the sequence was empty.
    pub saw_yes: bool,
    /// At some moment since the call: the tracked key was not a member.
    pub saw_no: bool,
    /// Whether the operation has changed the abstract content.
    pub done: bool,
    /// The colour of the value that it removed.
    pub got: Option<u8>,
}

/// What the thread is doing.
#[derive(PartialEq, Eq, Hash, Debug)]
pub struct Busy {
    /// Where it rests.
    pub pc: Pc,
    /// The method, by its place in the list.
    pub method: u32,
    /// The argument.
    pub arg: Val,
    /// Its registers.
    pub regs: Vec<Val>,
    /// What it has seen and done.
    pub ghost: Ghost,
}

/// Copies into memory that is there already: most views are made only to be compared with one that is known.
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
}

impl Clone for View {
    fn clone(&self) -> View {
        let (globals, nodes) = (self.globals.clone(), self.nodes.clone());
        View { busy: self.busy.clone(), globals, nodes }
    }

    fn clone_from(&mut self, from: &View) {
        self.busy.clone_from(&from.busy);
        self.globals.clone_from(&from.globals);
        self.nodes.clone_from(&from.nodes);
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

    /// Makes private nodes public that other threads can reach now, and says which.
    pub fn publish(&mut self) -> Vec<usize> {
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
