//! A persistent sequence of values: the state of queues, stacks and logs.
//!
//! A search meets the same long queue in thousands of states that differ at the ends. Here a state
//! shares all that it has in common with the state it came from: a push allocates one node, a pop
//! at either end allocates none.
//!
//! Values form a list from the newest to the oldest; a sequence is its newest node and a length, so
//! dropping the oldest value only shortens the window. Nodes carry a second link, to an ancestor
//! chosen as in a skew-binary list, by which the oldest value of a window is found in O(log n)
//! steps. Hashes are polynomials over the values, so the hash of a window is a difference of two
//! prefixes. Two sequences are equal if hash and length are and the walk from the newest end finds
//! the same values up to a shared node: O(1) for the usual case, states reached from one parent.

use seriatim_history::ValueId;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A sequence of values that shares its memory with the sequences it was made from.
#[derive(Clone, Default)]
pub struct Sequence {
    newest: Option<Arc<Node>>,
    len: u32,
    hash: u64,
}

struct Node {
    value: ValueId,
    /// How many nodes there are from here to the end of the list.
    depth: u32,
    /// The hash of all values from here to the end of the list.
    prefix: u64,
    older: Option<Arc<Node>>,
    jump: Option<Arc<Node>>,
}

const BASE: u64 = 0x9e37_79b9_7f4a_7c15;

fn mixed(value: ValueId) -> u64 {
    let spread = (u64::from(value.0) + 1).wrapping_mul(0xff51_afd7_ed55_8ccd);
    spread ^ (spread >> 29)
}

impl Sequence {
    /// A sequence, given from the oldest to the newest.
    pub fn of(values: impl IntoIterator<Item = ValueId>) -> Self {
        values.into_iter().fold(Sequence::default(), |all, v| all.push(v))
    }

    /// The number of values.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The sequence with one more value, which is its newest.
    pub fn push(&self, value: ValueId) -> Self {
        let below = self.newest.as_ref();
        let node = Node {
            value,
            depth: depth(below) + 1,
            prefix: prefix(below).wrapping_mul(BASE).wrapping_add(mixed(value)),
            older: below.cloned(),
            jump: below.and_then(jump_over),
        };
        Sequence {
            newest: Some(Arc::new(node)),
            len: self.len + 1,
            hash: self.hash.wrapping_mul(BASE).wrapping_add(mixed(value)),
        }
    }

    /// The newest value.
    pub fn newest(&self) -> Option<ValueId> {
        self.newest.as_ref().map(|node| node.value)
    }

    /// The oldest value.
    pub fn oldest(&self) -> Option<ValueId> {
        self.oldest_node().map(|node| node.value)
    }

    /// The sequence without its newest value; an empty one stays empty.
    pub fn without_newest(&self) -> Self {
        match &self.newest {
            Some(node) if self.len > 1 => Sequence {
                newest: node.older.clone(),
                len: self.len - 1,
                hash: self.window_hash(node.older.as_ref()),
            },
            _ => Sequence::default(),
        }
    }

    /// The sequence without its oldest value; an empty one stays empty.
    pub fn without_oldest(&self) -> Self {
        match self.oldest_node() {
            Some(oldest) if self.len > 1 => {
                let shift = BASE.wrapping_pow(self.len - 1);
                Sequence {
                    newest: self.newest.clone(),
                    len: self.len - 1,
                    hash: self.hash.wrapping_sub(mixed(oldest.value).wrapping_mul(shift)),
                }
            }
            _ => Sequence::default(),
        }
    }

    /// The value at a position, counted from the oldest.
    pub fn get(&self, index: usize) -> Option<ValueId> {
        let index = u32::try_from(index).ok().filter(|&i| i < self.len)?;
        let bottom = depth(self.newest.as_ref()) - self.len;
        self.ancestor(bottom + index + 1).map(|node| node.value)
    }

    /// The values from the newest to the oldest.
    pub fn newest_first(&self) -> impl Iterator<Item = ValueId> + '_ {
        std::iter::successors(self.newest.as_deref(), |node| node.older.as_deref())
            .take(self.len())
            .map(|node| node.value)
    }

    /// The values from the oldest to the newest.
    pub fn oldest_first(&self) -> Vec<ValueId> {
        let mut values: Vec<ValueId> = self.newest_first().collect();
        values.reverse();
        values
    }

    /// An estimate of the memory that this sequence does not share with the one it was made from.
    pub fn own_bytes(&self) -> usize {
        size_of::<Node>() + 2 * size_of::<usize>()
    }

    fn oldest_node(&self) -> Option<&Node> {
        let depth = depth(self.newest.as_ref());
        if self.is_empty() {
            return None;
        }
        self.ancestor(depth - self.len + 1)
    }

    fn ancestor(&self, target: u32) -> Option<&Node> {
        let mut node = self.newest.as_deref()?;
        while node.depth > target {
            node = match node.jump.as_deref() {
                Some(far) if far.depth >= target => far,
                _ => node.older.as_deref()?,
            };
        }
        Some(node)
    }

    /// The hash of the window after its newest value is gone. It is the hash of the values alone,
    /// not of how they came there: the value's own share is the last that `push` added.
    fn window_hash(&self, older: Option<&Arc<Node>>) -> u64 {
        let len = self.len - 1;
        let bottom = depth(older) - len;
        let below = match bottom {
            0 => 0,
            _ => self.ancestor(bottom).map_or(0, |node| node.prefix),
        };
        prefix(older).wrapping_sub(below.wrapping_mul(BASE.wrapping_pow(len)))
    }
}

fn depth(node: Option<&Arc<Node>>) -> u32 {
    node.map_or(0, |node| node.depth)
}

fn prefix(node: Option<&Arc<Node>>) -> u64 {
    node.map_or(0, |node| node.prefix)
}

/// The far link of a node placed on top of `below`: where the two links below span equal distances
/// they are joined to one.
fn jump_over(below: &Arc<Node>) -> Option<Arc<Node>> {
    let near = depth(below.jump.as_ref());
    let far = below.jump.as_ref().map_or(0, |jump| depth(jump.jump.as_ref()));
    match below.jump.as_ref() {
        Some(jump) if below.depth - near == near - far => jump.jump.clone(),
        _ => Some(below.clone()),
    }
}

impl PartialEq for Sequence {
    fn eq(&self, other: &Self) -> bool {
        if self.len != other.len || self.hash != other.hash {
            return false;
        }
        let (mut a, mut b) = (self.newest.as_ref(), other.newest.as_ref());
        for _ in 0..self.len {
            let (Some(x), Some(y)) = (a, b) else {
                return false;
            };
            if Arc::ptr_eq(x, y) {
                return true;
            }
            if x.value != y.value {
                return false;
            }
            (a, b) = (x.older.as_ref(), y.older.as_ref());
        }
        true
    }
}

impl Eq for Sequence {}

impl Hash for Sequence {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash ^ u64::from(self.len));
    }
}

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.oldest_first()).finish()
    }
}

impl Drop for Node {
    /// Takes the list down in a loop: a recursion would overflow the stack. A far link never holds
    /// the last reference to its node, since the near links reach it too.
    fn drop(&mut self) {
        let mut next = self.older.take();
        while let Some(node) = next {
            next = Arc::into_inner(node).and_then(|mut node| node.older.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    fn hash_of(sequence: &Sequence) -> u64 {
        crate::key_of(sequence)
    }

    #[test]
    fn a_sequence_does_what_a_deque_does_and_hashes_by_its_values() {
        let mut random = 1_u64;
        let (mut sequence, mut model) = (Sequence::default(), VecDeque::new());
        for round in 0..20_000_u32 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let value = ValueId((random >> 60) as u32);
            let growing = (round / 300) % 2 == 0;
            match (random >> 40) % 4 {
                0 => (sequence, _) = (sequence.without_oldest(), model.pop_front()),
                1 if !growing => (sequence, _) = (sequence.without_newest(), model.pop_back()),
                _ => {
                    sequence = sequence.push(value);
                    model.push_back(value);
                }
            }
            assert_eq!(sequence.len(), model.len());
            assert_eq!(sequence.oldest(), model.front().copied());
            assert_eq!(sequence.newest(), model.back().copied());
            let middle = model.len() / 2;
            assert_eq!(sequence.get(middle), model.get(middle).copied());
            if round % 64 == 0 {
                let fresh = Sequence::of(model.iter().copied());
                assert_eq!(sequence.oldest_first(), model.iter().copied().collect::<Vec<_>>());
                assert_eq!(sequence, fresh);
                assert_eq!(hash_of(&sequence), hash_of(&fresh));
                assert_ne!(sequence, fresh.push(value));
            }
        }
    }

    #[test]
    fn a_long_sequence_is_dropped_without_recursion() {
        let long = Sequence::of((0..1_000_000).map(ValueId));
        assert_eq!(long.oldest(), Some(ValueId(0)));
        drop(long);
    }
}
