//! Joining views.
//!
//! The *skeleton* of a view is all of it but its weights: the content of segments and, where values
//! are coloured, the colours of public nodes. Two views with one skeleton are joined weight by
//! weight; the set of weights is finite and so is the set of skeletons that canonical views of a
//! program have, as far as the number of explicit nodes is. Law: the join covers both, and a view
//! that covers another describes all its states.

use crate::model::Tracking;
use crate::value::Val;
use crate::view::{Node, Numbers, Segment, View};

impl View {
    /// The skeleton, as a text that is equal for equal skeletons only: every part has a fixed width
    /// or its length before it.
    pub fn skeleton(&self, tracking: Tracking) -> Vec<u8> {
        let mut text = Vec::with_capacity(64);
        self.write_skeleton(tracking, &mut text);
        text
    }

    /// Writes the skeleton into `text`, over what is there.
    pub fn write_skeleton(&self, tracking: Tracking, text: &mut Vec<u8>) {
        text.clear();
        let regs = self.busy.as_ref().map_or(&[][..], |b| &b.regs);
        text.extend([self.nodes.len() as u8, self.globals.len() as u8, regs.len() as u8]);
        text.push(u8::from(self.busy.is_some()));
        if let Some(busy) = &self.busy {
            let ghost = busy.ghost;
            let bits = u8::from(ghost.saw_yes) | u8::from(ghost.saw_no) << 1 | ghost.firsts << 6;
            let got = ghost.got.map_or(0, |c| c + 1);
            text.extend(busy.pc.0.to_le_bytes());
            text.extend([busy.method as u8, bits | u8::from(ghost.done) << 2 | got << 3]);
            busy.args.iter().for_each(|v| write(text, *v));
        }
        self.globals.iter().chain(regs).for_each(|v| write(text, *v));
        self.write_records(text);
        for node in &self.nodes {
            text.push(node.attr.0);
            write(text, node.to);
            text.push(u8::from(node.private));
            if tracking != Tracking::Key {
                let values = if node.private { node.values } else { 0 };
                text.push(u8::from(node.segment.is_empty()) << 7 | values);
            }
        }
    }

    fn write_records(&self, text: &mut Vec<u8>) {
        let window = self.window.is_some();
        text.extend([self.records.len() as u8, self.slots.len() as u8, u8::from(window)]);
        self.slots.iter().for_each(|v| write(text, *v));
        for record in &self.records {
            text.push(u8::from(record.private));
            record.fields.iter().for_each(|v| write(text, *v));
        }
        if let Some(window) = &self.window {
            text.extend([u8::from(window.mine), window.method]);
            text.extend(window.seen.to_le_bytes());
            write(text, window.base);
            window.args.iter().for_each(|v| write(text, *v));
        }
        let Numbers { facts, moments, answer } = &self.numbers;
        text.extend([facts.len() as u8, moments.len() as u8]);
        for fact in facts {
            text.extend([fact.a, fact.b.unwrap_or(u8::MAX), fact.relation as u8]);
            text.extend(fact.by.to_le_bytes());
        }
        moments.iter().chain(answer).flatten().for_each(|v| write(text, *v));
    }

    /// Widens this view so that it covers another one with the same skeleton; says whether it
    /// changed.
    pub fn widen(&mut self, other: &View) -> bool {
        let mut changed = false;
        for (mine, theirs) in self.nodes.iter_mut().zip(&other.nodes) {
            let before = (mine.segment, mine.values);
            mine.values |= theirs.values;
            mine.segment = Segment {
                attrs: mine.segment.attrs | theirs.segment.attrs,
                values: mine.segment.values | theirs.segment.values,
                optional: mine.segment.optional || theirs.segment.optional,
                sorted: mine.segment.sorted && theirs.segment.sorted,
            };
            changed |= before != (mine.segment, mine.values);
        }
        changed
    }

    /// Whether this view describes all that another one with the same skeleton does: it would not
    /// widen.
    pub fn covers(&self, other: &View) -> bool {
        self.nodes.iter().zip(&other.nodes).all(|(mine, theirs)| {
            let (a, b) = (mine.segment, theirs.segment);
            theirs.values & !mine.values == 0
                && b.attrs & !a.attrs == 0
                && b.values & !a.values == 0
                && (a.optional || !b.optional)
                && (!a.sorted || b.sorted)
        })
    }

    /// Whether another view of the same thread has the same skeleton.
    pub fn has_same_skeleton(&self, other: &View, tracking: Tracking) -> bool {
        let same_thread = (&self.busy, &self.globals, &self.slots, &self.records)
            == (&other.busy, &other.globals, &other.slots, &other.records)
            && (self.window, &self.numbers) == (other.window, &other.numbers);
        let same = |(a, b): (&Node, &Node)| {
            (a.attr, a.to, a.private) == (b.attr, b.to, b.private)
                && (tracking == Tracking::Key
                    || a.segment.is_empty() == b.segment.is_empty()
                        && (!a.private || a.values == b.values))
        };
        same_thread
            && self.nodes.len() == other.nodes.len()
            && self.nodes.iter().zip(&other.nodes).all(same)
    }
}

/// Writes a scalar; its first byte tells its width.
fn write(text: &mut Vec<u8>, value: Val) {
    match value {
        Val::Dead => text.push(0),
        Val::Null => text.push(1),
        Val::Node(n) => text.extend([2, n]),
        Val::Key(class) => text.extend([3, class as u8]),
        Val::Colour(c) => text.extend([4, c]),
        Val::Lock(holder) => text.extend([5, holder as u8]),
        Val::Int(n) => {
            text.push(6);
            text.extend(n.to_le_bytes());
        }
        Val::Own(n) => {
            text.push(11);
            text.extend(n.to_le_bytes());
        }
        Val::Record(n) => text.extend([7, n]),
        Val::Tid(n) => text.extend([8, n]),
        Val::Hidden => text.push(9),
        Val::Num(base, offset) => {
            text.extend([10, base]);
            text.extend(offset.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Attr, Class};

    fn views() -> Vec<View> {
        let mut found = Vec::new();
        for set in 0..4u8 {
            for (optional, sorted, values) in [(true, true, 1), (true, false, 2), (false, true, 3)]
            {
                let below = if set & 1 == 1 { Attr::of(Class::Below).bit() } else { 0 };
                let above = if set & 2 == 2 { Attr::of(Class::Above).bit() } else { 0 };
                let segment = match below | above {
                    0 => Segment::EMPTY,
                    attrs => Segment { attrs, values, optional, sorted },
                };
                let attr = Attr::of(Class::MinusInf);
                let node = Node { attr, values, to: Val::Null, segment, private: false };
                let globals = vec![Val::Node(0)];
                found.push(View { globals, nodes: vec![node], ..View::default() });
            }
        }
        found
    }

    #[test]
    fn a_join_covers_both_sides_and_is_the_least_that_does() {
        for a in views() {
            for b in views() {
                assert!(a.has_same_skeleton(&b, Tracking::Key));
                let mut join = a.clone();
                let changed = join.widen(&b);
                assert!(join.covers(&a) && join.covers(&b));
                assert_eq!(changed, !a.covers(&b));
                for c in views().iter().filter(|c| c.covers(&a) && c.covers(&b)) {
                    assert!(c.covers(&join));
                }
            }
        }
    }

    #[test]
    fn views_with_one_skeleton_differ_in_weights_only() {
        for a in views() {
            for b in views() {
                assert_eq!(a.skeleton(Tracking::Key), b.skeleton(Tracking::Key));
                let alike = a.nodes[0].segment.is_empty() == b.nodes[0].segment.is_empty();
                assert_eq!(a.skeleton(Tracking::Colour) == b.skeleton(Tracking::Colour), alike);
                assert_eq!(a.has_same_skeleton(&b, Tracking::Colour), alike);
            }
        }
    }
}
