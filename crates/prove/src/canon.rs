//! The canonical form of a view: what nobody names is folded into gaps, what nobody reaches is dropped, and the nodes are
//! numbered in the order in which the shared variables and the registers lead to them.
//!
//! Nodes stay explicit if a shared variable or a register points to them, if they are private, if two represented nodes
//! lead to them, or, where keys are tracked, if they are sentinels or hold the tracked key. Each of these is a function of
//! the concrete state, so equal concrete states get equal skeletons. What is forgotten on the way (that I hold the lock
//! of a node to which I have lost all references) only weakens the view. Law: the canonical form describes every
//! state that the view described.

use crate::model::Tracking;
use crate::value::{Class, Val, attrs};
use crate::view::{Gap, Node, View};

/// More nodes than any view has: node numbers are bytes.
const MOST: usize = 256;

impl View {
    /// The canonical form.
    pub fn canonical(mut self, tracking: Tracking) -> View {
        let mut roots: Vec<u8> = Vec::with_capacity(16);
        let regs = self.busy.iter().flat_map(|b| &b.regs);
        for root in self.globals.iter().chain(regs) {
            if let Val::Node(n) = root
                && !roots.contains(n)
            {
                roots.push(*n);
            }
        }
        self.forget(&roots, tracking);
        let anchors = self.anchors(&roots, tracking);
        for node in 0..self.nodes.len() {
            if anchors[node] {
                self.fold(node, &anchors, tracking);
            }
        }
        self.renumber(&roots);
        self
    }

    fn forget(&mut self, roots: &[u8], tracking: Tracking) {
        for (number, node) in self.nodes.iter_mut().enumerate() {
            let tracked = tracking == Tracking::Key && node.attr.class() == Class::Tracked;
            if !tracked && !roots.contains(&(number as u8)) {
                node.attr = node.attr.common();
            }
        }
    }

    /// The nodes that stay explicit, out of those that the roots lead to.
    fn anchors(&self, roots: &[u8], tracking: Tracking) -> [bool; MOST] {
        let mut entries = [0u8; MOST];
        let mut represented = [false; MOST];
        for root in roots {
            let mut at = Val::Node(*root);
            while let Some(node) = at.node() {
                if std::mem::replace(&mut represented[node], true) {
                    break;
                }
                at = self.nodes[node].to;
                if let Some(to) = at.node() {
                    entries[to] = entries[to].saturating_add(1);
                }
            }
        }
        let mut anchors = [false; MOST];
        for (n, node) in self.nodes.iter().enumerate() {
            let special = tracking == Tracking::Key && !node.attr.class().is_many();
            let keeps = node.private || entries[n] >= 2 || special || roots.contains(&(n as u8));
            anchors[n] = represented[n] && keeps;
        }
        anchors
    }

    /// Takes the nodes behind `node` into its gap, up to the next anchor.
    fn fold(&mut self, node: usize, anchors: &[bool; MOST], tracking: Tracking) {
        while let Some(next) = self.nodes[node].to.node() {
            if anchors[next] {
                break;
            }
            let behind = &self.nodes[next];
            let single = Gap {
                attrs: behind.attr.bit(),
                values: behind.values,
                optional: false,
                sorted: true,
            };
            let mut gap = joined(joined(self.nodes[node].gap, single), behind.gap);
            gap.sorted |= tracking == Tracking::Colour;
            let to = behind.to;
            self.nodes[node].gap = gap;
            self.nodes[node].to = to;
        }
    }

    fn renumber(&mut self, roots: &[u8]) {
        let mut number = [None; MOST];
        let mut nodes = Vec::with_capacity(self.nodes.len());
        for root in roots {
            let mut at = Val::Node(*root);
            while let Some(node) = at.node() {
                if number[node].is_some() {
                    break;
                }
                number[node] = Some(nodes.len() as u8);
                nodes.push(self.nodes[node]);
                at = self.nodes[node].to;
            }
        }
        let renamed = |v: &mut Val| {
            if let Some(n) = v.node().and_then(|n| number[n]) {
                *v = Val::Node(n);
            }
        };
        nodes.iter_mut().for_each(|n: &mut Node| renamed(&mut n.to));
        self.globals.iter_mut().for_each(renamed);
        self.busy.iter_mut().for_each(|b| b.regs.iter_mut().for_each(renamed));
        self.nodes = nodes;
    }
}

/// One gap followed by another.
fn joined(left: Gap, right: Gap) -> Gap {
    if left.is_empty() || right.is_empty() {
        return if left.is_empty() { right } else { left };
    }
    let highest = attrs(left.attrs).map(|a| a.class()).max();
    let lowest = attrs(right.attrs).map(|a| a.class()).min();
    Gap {
        attrs: left.attrs | right.attrs,
        values: left.values | right.values,
        optional: left.optional && right.optional,
        sorted: left.sorted && right.sorted && highest <= lowest,
    }
}
