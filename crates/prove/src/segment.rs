//! Pulling a node out of a segment.
//!
//! An anonymous node becomes explicit when somebody names it: the thread by reading a link, another
//! thread by an effect on it. All ways in which the segment can be cut into a left rest, the node,
//! and a right rest are enumerated; in a segment that ascends, the left rest lies at or below the
//! node's class and the right rest at or above it. Law: every concrete sequence of the segment with
//! a chosen node in it is described by one of the cuts.

use crate::value::{Attr, Val, Values, attrs};
use crate::view::{Node, Segment, View};

/// One way to cut a segment at a node.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    left: Segment,
    attr: Attr,
    values: Values,
    right: Segment,
}

impl Cut {
    /// What lies behind the node.
    pub fn right(&self) -> Segment {
        self.right
    }
}

/// Which node of a segment is wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// The first one.
    First,
    /// Any.
    Any,
}

/// Whether views tell empty segments from others in the long run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Emptiness {
    /// They do: a rest is cut as empty, and as not empty.
    Exact,
    /// They do not: a rest may be empty.
    Open,
}

/// Where a segment is cut, and how exactly.
#[derive(Clone, Copy)]
pub struct CutAt {
    /// The attributes that the node at the cut may have.
    pub wanted: u64,
    /// Which nodes of the segment may be it.
    pub which: Which,
    /// Whether the rests say if they are empty.
    pub emptiness: Emptiness,
}

/// All cuts of a segment at a node whose attribute is in `wanted`.
pub fn cuts(segment: Segment, wanted: u64, which: Which, emptiness: Emptiness) -> Vec<Cut> {
    let mut found = Vec::new();
    each_cut(segment, CutAt { wanted, which, emptiness }, |cut| found.push(cut));
    found
}

/// Calls `found` for every cut of a segment there.
pub fn each_cut(segment: Segment, at: CutAt, mut found: impl FnMut(Cut)) {
    let CutAt { wanted, which, emptiness } = at;
    for attr in attrs(segment.attrs & wanted) {
        let class = attr.class();
        let part = |keep: &dyn Fn(Attr) -> bool| {
            let all = attrs(segment.attrs).filter(|a| !segment.sorted || keep(*a));
            rests(Segment { attrs: all.fold(0, |set, a| set | a.bit()), ..segment }, emptiness)
        };
        let lefts = match which {
            Which::First => [Some(Segment::EMPTY), None],
            Which::Any => part(&|a| a.class() <= class),
        };
        let rights = part(&|a| a.class() >= class);
        for left in lefts.into_iter().flatten() {
            for right in rights.into_iter().flatten() {
                found(Cut { left, attr, values: segment.values, right });
            }
        }
    }
}

fn rests(segment: Segment, emptiness: Emptiness) -> [Option<Segment>; 2] {
    match emptiness {
        _ if segment.is_empty() => [Some(Segment::EMPTY), None],
        Emptiness::Exact => [Some(Segment::EMPTY), Some(Segment { optional: false, ..segment })],
        Emptiness::Open => [Some(Segment { optional: true, ..segment }), None],
    }
}

impl View {
    /// Makes the node of a cut behind `node` explicit, and says which number it got.
    pub fn cut(&mut self, node: usize, cut: &Cut) -> usize {
        let fresh = self.nodes.len();
        let before = &mut self.nodes[node];
        let to = std::mem::replace(&mut before.to, Val::Node(fresh as u8));
        before.segment = cut.left;
        self.nodes.push(Node {
            attr: cut.attr,
            values: cut.values,
            to,
            segment: cut.right,
            private: false,
        });
        fresh
    }

    /// Decides that nothing lies behind `node` before its next explicit node.
    pub fn close(&mut self, node: usize) {
        self.nodes[node].segment = Segment::EMPTY;
    }
}

/// Whether a segment stands for this sequence of nodes.
#[cfg(test)]
pub(crate) fn describes(segment: &Segment, sequence: &[Attr]) -> bool {
    sequence.iter().all(|a| segment.attrs & a.bit() != 0)
        && (segment.optional || !sequence.is_empty())
        && (!segment.sorted || sequence.is_sorted_by_key(|a| a.class()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Class;

    #[test]
    fn every_sequence_of_a_segment_is_described_by_a_cut_at_each_of_its_nodes() {
        let kinds = [
            Attr::of(Class::Below),
            Attr::of(Class::Below).with_mark(true),
            Attr::of(Class::Above),
        ];
        let mut sequences = vec![vec![]];
        for length in 0..4 {
            let longer: Vec<Vec<Attr>> = sequences
                .iter()
                .filter(|s: &&Vec<Attr>| s.len() == length)
                .flat_map(|s| kinds.map(|k| [s.as_slice(), &[k]].concat()))
                .collect();
            sequences.extend(longer);
        }
        for set in 0..8u32 {
            let members = kinds.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1);
            let attrs = members.fold(0, |all, (_, a)| all | a.bit());
            for (sorted, optional) in [(true, true), (true, false), (false, true), (false, false)] {
                let segment = Segment { attrs, values: 3, optional, sorted };
                for emptiness in [Emptiness::Exact, Emptiness::Open] {
                    let any = cuts(segment, u64::MAX, Which::Any, emptiness);
                    let first = cuts(segment, u64::MAX, Which::First, emptiness);
                    for sequence in sequences.iter().filter(|s| describes(&segment, s)) {
                        for at in 0..sequence.len() {
                            let fits = |c: &Cut| {
                                c.attr == sequence[at]
                                    && describes(&c.left, &sequence[..at])
                                    && describes(&c.right, &sequence[at + 1..])
                            };
                            assert!(any.iter().any(fits));
                            assert!(at > 0 || first.iter().any(fits));
                        }
                    }
                }
            }
        }
    }
}
