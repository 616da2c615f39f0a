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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gap::describes;
    use crate::value::Attr;

    /// A list from the only shared variable, with nodes 0, 1, … in this order, and a second reference into it.
    fn list(nodes: &[Attr], second: Option<usize>) -> View {
        let node = |(i, attr): (usize, &Attr)| Node {
            attr: *attr,
            values: 1,
            to: if i + 1 < nodes.len() { Val::Node(i as u8 + 1) } else { Val::Null },
            gap: Gap::EMPTY,
            private: false,
        };
        View {
            busy: None,
            globals: vec![Val::Node(0), second.map_or(Val::Null, |n| Val::Node(n as u8))],
            nodes: nodes.iter().enumerate().map(node).collect(),
        }
    }

    fn lists() -> Vec<View> {
        let below = Attr::of(Class::Below);
        let kinds =
            [below, below.with_mark(true), Attr::of(Class::Tracked), Attr::of(Class::Above)];
        let mut found = Vec::new();
        for code in 0..4usize.pow(5) {
            let nodes: Vec<Attr> = (0..5).map(|i| kinds[code / 4usize.pow(i) % 4]).collect();
            for length in 1..=5 {
                found.push(list(&nodes[..length], None));
                found.extend((0..length).map(|second| list(&nodes[..length], Some(second))));
            }
        }
        found
    }

    /// Whether the nodes of the list can be read off the view from `at` on: explicit ones one by one, others in gaps.
    fn reads(view: &View, at: Val, rest: &[Attr]) -> bool {
        let Some(n) = at.node() else { return rest.is_empty() };
        let node = &view.nodes[n];
        let Some((first, rest)) = rest.split_first() else { return false };
        *first == node.attr
            && (0..=rest.len()).any(|length| {
                describes(&node.gap, &rest[..length]) && reads(view, node.to, &rest[length..])
            })
    }

    #[test]
    fn a_canonical_form_describes_the_list_that_it_comes_from() {
        for whole in lists() {
            let nodes: Vec<Attr> = whole.nodes.iter().map(|n| n.attr).collect();
            let view = whole.canonical(Tracking::Key);
            assert!(reads(&view, view.globals[0], &nodes), "{view:?} for {nodes:?}");
            let tracked = nodes.iter().filter(|a| a.class() == Class::Tracked).count();
            let explicit = view.nodes.iter().filter(|n| n.attr.class() == Class::Tracked).count();
            assert_eq!(tracked, explicit);
        }
    }

    #[test]
    fn a_canonical_form_is_its_own_canonical_form() {
        for whole in lists() {
            for tracking in [Tracking::Key, Tracking::Colour] {
                let view = whole.clone().canonical(tracking);
                assert_eq!(view.clone().canonical(tracking), view);
            }
        }
    }
}
