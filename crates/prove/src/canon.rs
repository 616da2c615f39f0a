//! The canonical form of a view: what nobody names is folded into segments, what nobody reaches is
//! dropped, and the nodes are numbered in the order in which the shared variables and the registers
//! lead to them. So are records and threads.
//!
//! Nodes stay explicit if a shared variable or a register points to them, if they are private, if
//! two represented nodes lead to them, or, where keys are tracked, if they are sentinels or if they
//! hold the tracked key and a shared variable leads to them. Each of these is a function of the
//! concrete state, so equal concrete states get equal skeletons. A node with the tracked key that
//! no shared variable leads to counts nowhere, and lies in segments like any other; should it come
//! back, the content says that it cannot be told ([`crate::content`]). What is forgotten on the way
//! (that I hold the lock of a node to which I have lost all references) only weakens the view. Law:
//! the canonical form describes every state that the view described.

use crate::model::Tracking;
use crate::value::{Class, Val, attrs};
use crate::view::{MOST, Node, Segment, View};

/// The nodes to which the shared variables and the registers point, in this order, each once.
struct Roots {
    list: [u8; MOST],
    count: usize,
    set: u64,
    /// Whether records or threads are named.
    names: bool,
}

impl Roots {
    fn of(view: &View) -> Roots {
        let names = !view.records.is_empty();
        let mut roots = Roots { list: [0; MOST], count: 0, set: 0, names };
        let regs = view.busy.iter().flat_map(|b| &b.regs);
        for value in view.globals.iter().chain(regs) {
            match *value {
                Val::Node(n) if roots.set >> n & 1 == 0 => {
                    roots.list[roots.count] = n;
                    roots.count += 1;
                    roots.set |= 1 << n;
                }
                Val::Tid(_) => roots.names = true,
                _ => {}
            }
        }
        roots
    }

    fn list(&self) -> &[u8] {
        &self.list[..self.count]
    }
}

impl View {
    /// The canonical form.
    pub fn canonical(mut self, tracking: Tracking) -> View {
        self.canonicalize(tracking, &mut Vec::new());
        self
    }

    /// Takes the canonical form; `spare` is memory for nodes.
    pub fn canonicalize(&mut self, tracking: Tracking, spare: &mut Vec<Node>) {
        let roots = Roots::of(self);
        let inside = self.inside();
        self.forget(&roots, tracking, inside);
        let anchors = self.anchors(&roots, tracking, inside);
        for node in 0..self.nodes.len() {
            if anchors >> node & 1 == 1 {
                self.fold(node, anchors, tracking);
            }
        }
        self.renumber(&roots, spare);
        if tracking == Tracking::Number {
            self.rename_numbers();
        }
        if roots.names {
            if tracking == Tracking::Value {
                self.forget_stale_records();
            }
            self.renumber_records();
        }
    }

    /// The nodes that a shared variable leads to.
    fn inside(&self) -> u64 {
        let mut inside = 0u64;
        for global in &self.globals {
            let mut at = *global;
            while let Some(node) = at.node().filter(|n| inside >> n & 1 == 0) {
                inside |= 1 << node;
                at = self.nodes[node].to;
            }
        }
        inside
    }

    fn forget(&mut self, roots: &Roots, tracking: Tracking, inside: u64) {
        for (number, node) in self.nodes.iter_mut().enumerate() {
            let tracked = tracking == Tracking::Key && node.attr.class() == Class::Tracked;
            let kept = if tracked { roots.set | inside } else { roots.set };
            if kept >> number & 1 == 0 {
                node.attr = node.attr.common();
            }
        }
    }

    /// The nodes that stay explicit, out of those that the roots lead to.
    fn anchors(&self, roots: &Roots, tracking: Tracking, inside: u64) -> u64 {
        let (mut represented, mut entered, mut met) = (0u64, 0u64, 0u64);
        for root in roots.list() {
            let mut at = Val::Node(*root);
            while let Some(node) = at.node().filter(|n| represented >> n & 1 == 0) {
                represented |= 1 << node;
                at = self.nodes[node].to;
                if let Some(to) = at.node() {
                    met |= entered & 1 << to;
                    entered |= 1 << to;
                }
            }
        }
        let mut kept = roots.set | met;
        for (n, node) in self.nodes.iter().enumerate() {
            let special = match node.attr.class() {
                _ if node.private => true,
                _ if tracking != Tracking::Key => false,
                Class::Tracked => inside >> n & 1 == 1,
                class => !class.is_many(),
            };
            kept |= u64::from(special) << n;
        }
        represented & kept
    }

    /// Takes the nodes behind `node` into its segment, up to the next anchor.
    fn fold(&mut self, node: usize, anchors: u64, tracking: Tracking) {
        while let Some(next) = self.nodes[node].to.node() {
            if anchors >> next & 1 == 1 {
                break;
            }
            let behind = &self.nodes[next];
            let single = Segment {
                attrs: behind.attr.bit(),
                values: behind.values,
                optional: false,
                sorted: true,
            };
            let mut segment = joined(joined(self.nodes[node].segment, single), behind.segment);
            segment.sorted |= tracking != Tracking::Key;
            let to = behind.to;
            self.nodes[node].segment = segment;
            self.nodes[node].to = to;
        }
    }

    fn renumber(&mut self, roots: &Roots, nodes: &mut Vec<Node>) {
        let mut number = [u8::MAX; MOST];
        nodes.clear();
        for root in roots.list() {
            let mut at = Val::Node(*root);
            while let Some(node) = at.node().filter(|n| number[*n] == u8::MAX) {
                number[node] = nodes.len() as u8;
                nodes.push(self.nodes[node]);
                at = self.nodes[node].to;
            }
        }
        let renamed = |v: &mut Val| {
            if let Some(n) = v.node() {
                *v = Val::Node(number[n]);
            }
        };
        nodes.iter_mut().for_each(|n: &mut Node| renamed(&mut n.to));
        self.globals.iter_mut().for_each(renamed);
        self.busy.iter_mut().for_each(|b| b.regs.iter_mut().for_each(renamed));
        std::mem::swap(&mut self.nodes, nodes);
    }
}

/// One segment followed by another.
fn joined(left: Segment, right: Segment) -> Segment {
    if left.is_empty() || right.is_empty() {
        return if left.is_empty() { right } else { left };
    }
    let highest = attrs(left.attrs).map(|a| a.class()).max();
    let lowest = attrs(right.attrs).map(|a| a.class()).min();
    Segment {
        attrs: left.attrs | right.attrs,
        values: left.values | right.values,
        optional: left.optional && right.optional,
        sorted: left.sorted && right.sorted && highest <= lowest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::describes;
    use crate::value::Attr;

    /// A list from the only shared variable, with nodes 0, 1, … in this order, and a second
    /// reference into it.
    fn list(nodes: &[Attr], second: Option<usize>) -> View {
        let node = |(i, attr): (usize, &Attr)| Node {
            attr: *attr,
            values: 1,
            to: if i + 1 < nodes.len() { Val::Node(i as u8 + 1) } else { Val::Null },
            segment: Segment::EMPTY,
            private: false,
        };
        View {
            globals: vec![Val::Node(0), second.map_or(Val::Null, |n| Val::Node(n as u8))],
            nodes: nodes.iter().enumerate().map(node).collect(),
            ..View::default()
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

    /// Whether the nodes of the list can be read off the view from `at` on: explicit ones one by
    /// one, others in segments.
    fn reads(view: &View, at: Val, rest: &[Attr]) -> bool {
        let Some(n) = at.node() else { return rest.is_empty() };
        let node = &view.nodes[n];
        let Some((first, rest)) = rest.split_first() else { return false };
        *first == node.attr
            && (0..=rest.len()).any(|length| {
                describes(&node.segment, &rest[..length]) && reads(view, node.to, &rest[length..])
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
            assert_eq!(tracked, explicit, "all are inside");
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
