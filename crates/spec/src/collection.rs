//! A persistent collection of numbers, each any number of times: the state of priority queues,
//! multisets and large sets.
//!
//! A treap whose priorities are a secret hash of the keys: its shape follows from its contents alone, so
//! equal collections have equal trees, and a collection shares with the one it was made from all
//! but the O(log n) nodes on the path to what changed. Hashes add up over the contents. Equality
//! compares hash and size, then the trees down to the nodes that are shared.

use seriatim_persistent::priority;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A collection that shares its memory with the collections it was made from.
#[derive(Clone, Default)]
pub struct Collection {
    root: Link,
    len: u32,
    hash: u64,
}

type Link = Option<Arc<Node>>;

#[derive(Clone)]
struct Node {
    key: u32,
    count: u32,
    left: Link,
    right: Link,
}

fn mixed(key: u32) -> u64 {
    let spread = (u64::from(key) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (spread ^ (spread >> 32)).wrapping_mul(0xff51_afd7_ed55_8ccd)
}

/// Whether the first key stands above the second in the tree.
fn above(a: u32, b: u32) -> bool {
    (priority(&a), a) > (priority(&b), b)
}

impl Collection {
    /// A collection of these numbers.
    pub fn of(keys: impl IntoIterator<Item = u32>) -> Self {
        keys.into_iter().fold(Collection::default(), |all, key| all.with(key))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How often a number is in.
    pub fn count(&self, key: u32) -> u32 {
        let mut link = &self.root;
        while let Some(node) = link {
            link = match key.cmp(&node.key) {
                Ordering::Less => &node.left,
                Ordering::Greater => &node.right,
                Ordering::Equal => return node.count,
            };
        }
        0
    }

    /// The greatest number.
    pub fn greatest(&self) -> Option<u32> {
        let mut node = self.root.as_deref()?;
        while let Some(right) = node.right.as_deref() {
            node = right;
        }
        Some(node.key)
    }

    /// The collection with a number once more.
    pub fn with(&self, key: u32) -> Self {
        Collection {
            root: Some(inserted(&self.root, key)),
            len: self.len + 1,
            hash: self.hash.wrapping_add(mixed(key)),
        }
    }

    /// The collection with a number once less; the same if it was not in.
    pub fn without(&self, key: u32) -> Self {
        if self.count(key) == 0 {
            return self.clone();
        }
        Collection {
            root: removed(&self.root, key),
            len: self.len - 1,
            hash: self.hash.wrapping_sub(mixed(key)),
        }
    }

    /// The numbers in ascending order, with how often each is in.
    pub fn counts(&self) -> Vec<(u32, u32)> {
        let mut counts = Vec::new();
        collect(&self.root, &mut counts);
        counts
    }

    /// The numbers in ascending order, each as often as it is in.
    pub fn items(&self) -> impl Iterator<Item = u32> {
        let counts = self.counts().into_iter();
        counts.flat_map(|(key, count)| std::iter::repeat_n(key, count as usize))
    }

    /// An estimate of the memory that this collection does not share with the one it was made from.
    pub fn own_bytes(&self) -> usize {
        let path = usize::BITS - self.len().leading_zeros();
        path as usize * (size_of::<Node>() + 2 * size_of::<usize>())
    }
}

fn inserted(link: &Link, key: u32) -> Arc<Node> {
    let Some(node) = link else {
        let (count, left, right) = (1, None, None);
        return Arc::new(Node { key, count, left, right });
    };
    if node.key == key {
        let count = node.count + 1;
        return Arc::new(Node { count, ..Node::clone(node) });
    }
    let mut copy = Node::clone(node);
    if key < node.key {
        let left = inserted(&node.left, key);
        if above(left.key, node.key) {
            copy.left = left.right.clone();
            let right = Some(Arc::new(copy));
            return Arc::new(Node { right, ..Node::clone(&left) });
        }
        copy.left = Some(left);
    } else {
        let right = inserted(&node.right, key);
        if above(right.key, node.key) {
            copy.right = right.left.clone();
            let left = Some(Arc::new(copy));
            return Arc::new(Node { left, ..Node::clone(&right) });
        }
        copy.right = Some(right);
    }
    Arc::new(copy)
}

fn removed(link: &Link, key: u32) -> Link {
    let node = link.as_ref()?;
    let mut copy = Node::clone(node);
    match key.cmp(&node.key) {
        Ordering::Less => copy.left = removed(&node.left, key),
        Ordering::Greater => copy.right = removed(&node.right, key),
        Ordering::Equal if node.count > 1 => copy.count -= 1,
        Ordering::Equal => return joined(&node.left, &node.right),
    }
    Some(Arc::new(copy))
}

/// The tree of two trees, all of the first less than all of the second.
fn joined(left: &Link, right: &Link) -> Link {
    let (Some(a), Some(b)) = (left, right) else {
        return left.clone().or_else(|| right.clone());
    };
    let mut copy;
    if above(a.key, b.key) {
        copy = Node::clone(a);
        copy.right = joined(&a.right, right);
    } else {
        copy = Node::clone(b);
        copy.left = joined(left, &b.left);
    }
    Some(Arc::new(copy))
}

fn collect(link: &Link, counts: &mut Vec<(u32, u32)>) {
    if let Some(node) = link {
        collect(&node.left, counts);
        counts.push((node.key, node.count));
        collect(&node.right, counts);
    }
}

fn same(a: &Link, b: &Link) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            Arc::ptr_eq(a, b)
                || ((a.key, a.count) == (b.key, b.count)
                    && same(&a.left, &b.left)
                    && same(&a.right, &b.right))
        }
        _ => false,
    }
}

impl PartialEq for Collection {
    fn eq(&self, other: &Self) -> bool {
        (self.len, self.hash) == (other.len, other.hash) && same(&self.root, &other.root)
    }
}

impl Eq for Collection {}

impl Hash for Collection {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl fmt::Debug for Collection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.items()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_collection_does_what_a_map_of_counts_does_whatever_its_past() {
        let mut random = 1_u64;
        let (mut collection, mut model) = (Collection::default(), BTreeMap::new());
        for round in 0..20_000_u32 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = (random >> 56) as u32 / (1 + round / 4000);
            match (random >> 40) % 2 {
                0 => {
                    collection = collection.with(key);
                    *model.entry(key).or_insert(0) += 1;
                }
                _ => {
                    collection = collection.without(key);
                    model.entry(key).and_modify(|count| *count -= 1);
                    model.retain(|_, count| *count > 0);
                }
            }
            assert_eq!(collection.len() as u32, model.values().sum());
            assert_eq!(collection.count(key), model.get(&key).copied().unwrap_or(0));
            assert_eq!(collection.greatest(), model.keys().last().copied());
            if round % 64 == 0 {
                let counts: Vec<(u32, u32)> = model.clone().into_iter().collect();
                assert_eq!(collection.counts(), counts);
                let fresh = Collection::of(collection.items().collect::<Vec<_>>());
                assert_eq!(collection, fresh);
                assert_eq!(crate::key_of(&collection), crate::key_of(&fresh));
                assert_ne!(collection, fresh.with(key));
            }
        }
    }
}
