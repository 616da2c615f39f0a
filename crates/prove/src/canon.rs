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
use crate::view::{Gap, View};

impl View {
    /// The canonical form.
    pub fn canonical(&self, tracking: Tracking) -> View {
        let roots = self.roots();
        let named = self.named(&roots);
        let mut view = self.clone();
        view.forget(&named, tracking);
        let anchors = view.anchors(&named, &view.represented(&roots), tracking);
        for node in 0..view.nodes.len() {
            if anchors[node] {
                view.fold(node, &anchors, tracking);
            }
        }
        view.renumber(&roots)
    }

    fn roots(&self) -> Vec<usize> {
        let regs = self.busy.iter().flat_map(|b| &b.regs);
        self.globals.iter().chain(regs).filter_map(|v| v.node()).collect()
    }

    fn named(&self, roots: &[usize]) -> Vec<bool> {
        let mut named = vec![false; self.nodes.len()];
        roots.iter().for_each(|r| named[*r] = true);
        named
    }

    fn represented(&self, roots: &[usize]) -> Vec<bool> {
        let mut found = vec![false; self.nodes.len()];
        for root in roots {
            let mut at = Val::Node(*root as u8);
            while let Some(node) = at.node() {
                if std::mem::replace(&mut found[node], true) {
                    break;
                }
                at = self.nodes[node].to;
            }
        }
        found
    }

    fn forget(&mut self, named: &[bool], tracking: Tracking) {
        for (node, named) in self.nodes.iter_mut().zip(named) {
            let tracked = tracking == Tracking::Key && node.attr.class() == Class::Tracked;
            if !named && !tracked {
                node.attr = node.attr.common();
            }
        }
    }

    fn anchors(&self, named: &[bool], represented: &[bool], tracking: Tracking) -> Vec<bool> {
        let mut entries = vec![0; self.nodes.len()];
        for (node, represented) in self.nodes.iter().zip(represented) {
            if let (true, Some(to)) = (*represented, node.to.node()) {
                entries[to] += 1;
            }
        }
        let keeps = |n: usize| {
            let node = &self.nodes[n];
            let special = tracking == Tracking::Key && !node.attr.class().is_many();
            represented[n] && (named[n] || node.private || entries[n] >= 2 || special)
        };
        (0..self.nodes.len()).map(keeps).collect()
    }

    /// Takes the nodes behind `node` into its gap, up to the next anchor.
    fn fold(&mut self, node: usize, anchors: &[bool], tracking: Tracking) {
        while let Some(next) = self.nodes[node].to.node() {
            if anchors[next] {
                break;
            }
            let behind = self.nodes[next].clone();
            let here = &mut self.nodes[node];
            let single = Gap {
                attrs: behind.attr.bit(),
                values: behind.values,
                optional: false,
                sorted: true,
            };
            here.gap = joined(joined(here.gap, single), behind.gap);
            here.gap.sorted |= tracking == Tracking::Colour;
            here.to = behind.to;
        }
    }

    fn renumber(&self, roots: &[usize]) -> View {
        let mut number = vec![None; self.nodes.len()];
        let mut order = Vec::new();
        for root in roots {
            let mut at = Val::Node(*root as u8);
            while let Some(node) = at.node() {
                if number[node].is_some() {
                    break;
                }
                number[node] = Some(order.len() as u8);
                order.push(node);
                at = self.nodes[node].to;
            }
        }
        let renamed = |v: &mut Val| {
            if let Some(n) = v.node().and_then(|n| number[n]) {
                *v = Val::Node(n);
            }
        };
        let mut view = self.clone();
        view.nodes = order.iter().map(|n| self.nodes[*n].clone()).collect();
        view.nodes.iter_mut().for_each(|n| renamed(&mut n.to));
        view.globals.iter_mut().for_each(renamed);
        view.busy.iter_mut().for_each(|b| b.regs.iter_mut().for_each(renamed));
        view
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
