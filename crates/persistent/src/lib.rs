//! Maps and lines for the states of specifications.
//!
//! A search keeps thousands of states that differ in one entry. [`Map`] is made for that: a copy
//! costs nothing, a change costs O(log n) and shares the rest, the hash is kept up to date with
//! every change, and two maps are compared along what they do not share. [`Entries`] is the same
//! for states that mostly have few entries, [`Deque`] for lines with two ends,
//! [`Sequence`] for lists with numbered places, and [`Text`] for texts that grow.
//!
//! A [`Map`] is a treap: a search tree by key and a heap by the hash of the key. Its shape depends on its
//! keys alone, whatever the order in which they came, so equal maps have equal trees.

#![forbid(unsafe_code)]

mod deque;
mod entries;
mod sequence;
mod text;

pub use deque::Deque;
pub use entries::Entries;
pub use sequence::Sequence;
pub use text::Text;

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::ops::Bound;
use std::sync::{Arc, LazyLock};

/// An ordered map whose copies share what they have in common.
///
/// ```
/// use seriatim_persistent::Map;
/// let mut cells: Map<&str, i32> = Map::new();
/// cells.insert("a", 1);
/// let before = cells.clone();
/// cells.insert("b", 2);
/// assert_eq!((before.len(), cells.len()), (1, 2));
/// cells.remove(&"b");
/// assert_eq!(before, cells);
/// ```
pub struct Map<K, V> {
    root: Link<K, V>,
}

type Link<K, V> = Option<Arc<Node<K, V>>>;

#[derive(Clone)]
struct Node<K, V> {
    key: K,
    value: V,
    /// Where the key stands in the heap, and the hash of the entry.
    priority: u64,
    own: u64,
    /// The number of entries of the tree, and the sum of their hashes.
    size: usize,
    sum: u64,
    left: Link<K, V>,
    right: Link<K, V>,
}

impl<K, V> Map<K, V> {
    /// A map without entries.
    pub fn new() -> Self {
        Map { root: None }
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        size(&self.root)
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.root.is_none()
    }

    /// The entry with the least key.
    pub fn first(&self) -> Option<(&K, &V)> {
        let mut node = self.root.as_deref()?;
        while let Some(left) = node.left.as_deref() {
            node = left;
        }
        Some((&node.key, &node.value))
    }

    /// The entry with the greatest key.
    pub fn last(&self) -> Option<(&K, &V)> {
        let mut node = self.root.as_deref()?;
        while let Some(right) = node.right.as_deref() {
            node = right;
        }
        Some((&node.key, &node.value))
    }

    /// An estimate of the memory that this map does not share with the one it was made from.
    pub fn own_bytes(&self) -> usize {
        let path = usize::BITS - self.len().leading_zeros();
        path as usize * (size_of::<Node<K, V>>() + 2 * size_of::<usize>())
    }

    fn sum(&self) -> u64 {
        sum(&self.root)
    }

    /// The entries by ascending key.
    pub fn iter(&self) -> Iter<'_, K, V> {
        let mut iter = Iter { waiting: Vec::new() };
        iter.descend(&self.root);
        iter
    }

    /// The keys, ascending.
    pub fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }

    /// The values, by ascending key.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }
}

impl<K: Ord, V> Map<K, V> {
    /// The value of a key.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let mut link = &self.root;
        while let Some(node) = link {
            link = match key.cmp(node.key.borrow()) {
                Ordering::Equal => return Some(&node.value),
                Ordering::Less => &node.left,
                Ordering::Greater => &node.right,
            };
        }
        None
    }

    /// The entries whose keys are not before `low` and before `high`, ascending.
    pub fn range(&self, low: Bound<&K>, high: Bound<&K>) -> impl Iterator<Item = (&K, &V)> {
        let mut iter = Iter { waiting: Vec::new() };
        let mut link = &self.root;
        while let Some(node) = link {
            let is_within = match low {
                Bound::Unbounded => true,
                Bound::Included(low) => node.key >= *low,
                Bound::Excluded(low) => node.key > *low,
            };
            link = match is_within {
                true => {
                    iter.waiting.push(node);
                    &node.left
                }
                false => &node.right,
            };
        }
        iter.take_while(move |(key, _)| match high {
            Bound::Unbounded => true,
            Bound::Included(high) => *key <= high,
            Bound::Excluded(high) => *key < high,
        })
    }
}

impl<K: Ord + Hash + Clone, V: Hash + Clone> Map<K, V> {
    /// Gives a key a value.
    pub fn insert(&mut self, key: K, value: V) {
        let (priority, own) = (priority(&key), own_hash(&key, &value));
        let (left, right) = (None, None);
        let node = Node { key, value, priority, own, size: 1, sum: own, left, right };
        insert(&mut self.root, node);
    }

    /// Whether every key of this map is one of another. Cost: O(d log n), where d is the number of
    /// nodes that the two do not share.
    pub fn is_within(&self, other: &Self) -> bool {
        is_within(&self.root, &other.root)
    }

    /// Takes a key's entry out.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q)
    where
        K: Borrow<Q>,
    {
        if self.get(key).is_some() {
            remove(&mut self.root, key);
        }
    }
}

/// Where a key stands in the heap of a treap. That nobody outside of the process can know it keeps
/// trees flat: who chose keys whose priorities ascend with them would make a tree a list, and the
/// calls along it overflow the stack.
pub fn priority(key: &impl Hash) -> u64 {
    static SECRET: LazyLock<u64> = LazyLock::new(|| RandomState::new().build_hasher().finish());
    let mut hasher = Mixer(*SECRET);
    key.hash(&mut hasher);
    hasher.finish()
}

/// The hash of an entry, the same in every run.
fn own_hash(key: &impl Hash, value: &impl Hash) -> u64 {
    hash_of(&(hash_of(key), value))
}

fn hash_of(entry: &impl Hash) -> u64 {
    let mut hasher = Mixer(0);
    entry.hash(&mut hasher);
    hasher.finish()
}

/// A word is mixed in by a multiplication whose halves are folded together.
struct Mixer(u64);

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        let wide = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        self.0 = self.0.rotate_left(23) ^ (wide as u64) ^ (wide >> 64) as u64;
    }

    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }

    fn write_i32(&mut self, word: i32) {
        self.write_u64(word as u64);
    }

    fn write_i64(&mut self, word: i64) {
        self.write_u64(word as u64);
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }

    fn finish(&self) -> u64 {
        let mut last = Mixer(self.0);
        last.write_u64(0);
        last.0
    }
}

fn size<K, V>(link: &Link<K, V>) -> usize {
    link.as_ref().map_or(0, |node| node.size)
}

fn sum<K, V>(link: &Link<K, V>) -> u64 {
    link.as_ref().map_or(0, |node| node.sum)
}

impl<K: Ord, V> Node<K, V> {
    /// Brings size and sum up to date.
    fn count(&mut self) {
        self.size = 1 + size(&self.left) + size(&self.right);
        self.sum = self.own.wrapping_add(sum(&self.left)).wrapping_add(sum(&self.right));
    }

    /// Whether it stands above another node.
    fn is_above(&self, other: &Self) -> bool {
        (self.priority, &self.key) > (other.priority, &other.key)
    }
}

fn insert<K: Ord + Clone, V: Clone>(link: &mut Link<K, V>, mut new: Node<K, V>) {
    let Some(node) = link else {
        *link = Some(Arc::new(new));
        return;
    };
    if new.key != node.key && new.is_above(node) {
        let (left, right) = split(link.take(), &new.key);
        (new.left, new.right) = (left, right);
        new.count();
        *link = Some(Arc::new(new));
        return;
    }
    let node = Arc::make_mut(node);
    match new.key.cmp(&node.key) {
        Ordering::Equal => (node.value, node.own) = (new.value, new.own),
        Ordering::Less => insert(&mut node.left, new),
        Ordering::Greater => insert(&mut node.right, new),
    }
    node.count();
}

/// The entries before a key, and those after it; the key itself is in neither.
fn split<K: Ord + Clone, V: Clone>(link: Link<K, V>, key: &K) -> (Link<K, V>, Link<K, V>) {
    let Some(mut shared) = link else { return (None, None) };
    let node = Arc::make_mut(&mut shared);
    if node.key < *key {
        let (left, right) = split(node.right.take(), key);
        node.right = left;
        node.count();
        (Some(shared), right)
    } else {
        let (left, right) = split(node.left.take(), key);
        node.left = right;
        node.count();
        (left, Some(shared))
    }
}

fn remove<K: Ord + Clone + Borrow<Q>, V: Clone, Q: Ord + ?Sized>(link: &mut Link<K, V>, key: &Q) {
    let Some(shared) = link else { return };
    let node = Arc::make_mut(shared);
    match key.cmp(node.key.borrow()) {
        Ordering::Equal => {
            *link = join(node.left.take(), node.right.take());
            return;
        }
        Ordering::Less => remove(&mut node.left, key),
        Ordering::Greater => remove(&mut node.right, key),
    }
    node.count();
}

/// One tree of two, all keys of the first being before those of the second.
fn join<K: Ord + Clone, V: Clone>(left: Link<K, V>, right: Link<K, V>) -> Link<K, V> {
    match (left, right) {
        (None, other) | (other, None) => other,
        (Some(mut left), Some(mut right)) => {
            if left.is_above(&right) {
                let node = Arc::make_mut(&mut left);
                node.right = join(node.right.take(), Some(right));
                node.count();
                Some(left)
            } else {
                let node = Arc::make_mut(&mut right);
                node.left = join(Some(left), node.left.take());
                node.count();
                Some(right)
            }
        }
    }
}

/// Whether every key of the first tree is in the second. Of two roots that differ, the one above is
/// not in the other tree, where everything stands below the other root.
fn is_within<K: Ord + Clone, V: Clone>(a: &Link<K, V>, b: &Link<K, V>) -> bool {
    let (Some(one), Some(other)) = (a, b) else { return a.is_none() };
    if Arc::ptr_eq(one, other) {
        return true;
    }
    if one.size > other.size {
        return false;
    }
    if one.key == other.key {
        return is_within(&one.left, &other.left) && is_within(&one.right, &other.right);
    }
    if one.is_above(other) {
        return false;
    }
    let (left, right) = split(a.clone(), &other.key);
    is_within(&left, &other.left) && is_within(&right, &other.right)
}

/// The entries of a map by ascending key.
pub struct Iter<'m, K, V> {
    waiting: Vec<&'m Node<K, V>>,
}

impl<'m, K, V> Iter<'m, K, V> {
    fn descend(&mut self, mut link: &'m Link<K, V>) {
        while let Some(node) = link {
            self.waiting.push(node);
            link = &node.left;
        }
    }
}

impl<'m, K, V> Iterator for Iter<'m, K, V> {
    type Item = (&'m K, &'m V);

    fn next(&mut self) -> Option<Self::Item> {
        let node = self.waiting.pop()?;
        self.descend(&node.right);
        Some((&node.key, &node.value))
    }
}

impl<'m, K, V> IntoIterator for &'m Map<K, V> {
    type Item = (&'m K, &'m V);
    type IntoIter = Iter<'m, K, V>;

    fn into_iter(self) -> Iter<'m, K, V> {
        self.iter()
    }
}

impl<K: Ord + Hash + Clone, V: Hash + Clone> FromIterator<(K, V)> for Map<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = Map::new();
        entries.into_iter().for_each(|(key, value)| map.insert(key, value));
        map
    }
}

impl<K, V> Clone for Map<K, V> {
    fn clone(&self) -> Self {
        Map { root: self.root.clone() }
    }
}

impl<K, V> Default for Map<K, V> {
    fn default() -> Self {
        Map::new()
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for Map<K, V> {
    fn eq(&self, other: &Self) -> bool {
        equal(&self.root, &other.root)
    }
}

fn equal<K: PartialEq, V: PartialEq>(a: &Link<K, V>, b: &Link<K, V>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => {
            Arc::ptr_eq(a, b)
                || a.sum == b.sum
                    && a.size == b.size
                    && a.key == b.key
                    && a.value == b.value
                    && equal(&a.left, &b.left)
                    && equal(&a.right, &b.right)
        }
        _ => false,
    }
}

impl<K: Eq, V: Eq> Eq for Map<K, V> {}

impl<K: Ord, V: Ord> PartialOrd for Map<K, V> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord, V: Ord> Ord for Map<K, V> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

impl<K, V> Hash for Map<K, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.len(), sum(&self.root)).hash(state);
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Map<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Random changes of a map and of a plain one.
    fn changes(seed: u64, mut each: impl FnMut(&Map<u64, u64>, &BTreeMap<u64, u64>)) {
        let mut random = seed;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) % below
        };
        let (mut map, mut plain) = (Map::new(), BTreeMap::new());
        for _ in 0..400 {
            let (key, value) = (next(40), next(3));
            if next(3) == 0 {
                map.remove(&key);
                plain.remove(&key);
            } else {
                map.insert(key, value);
                plain.insert(key, value);
            }
            each(&map, &plain);
        }
    }

    #[test]
    fn it_holds_what_a_plain_map_holds_and_old_copies_stay_as_they_were() {
        let mut copies: Vec<(Map<u64, u64>, BTreeMap<u64, u64>)> = Vec::new();
        for seed in 0..20 {
            changes(seed, |map, plain| {
                assert!(map.iter().eq(plain.iter()) && map.len() == plain.len());
                let within = map.range(Bound::Included(&10), Bound::Excluded(&20));
                assert!(within.eq(plain.range(10..20)));
                copies.push((map.clone(), plain.clone()));
            });
        }
        for (map, plain) in copies {
            assert!(map.iter().eq(plain.iter()));
            assert!((0..40).all(|key| map.get(&key) == plain.get(&key)));
        }
    }

    #[test]
    fn equal_maps_are_equal_and_hash_alike_whatever_their_past() {
        let mut seen: Vec<(Map<u64, u64>, BTreeMap<u64, u64>)> = Vec::new();
        for seed in 0..3 {
            changes(seed, |map, plain| {
                let fresh: Map<u64, u64> = plain.iter().rev().map(|(k, v)| (*k, *v)).collect();
                assert!(fresh == *map && hash_of(&fresh) == hash_of(map));
                for (other, other_plain) in seen.iter().rev().take(20) {
                    assert_eq!(other == map, other_plain == plain);
                    let is_within = other_plain.keys().all(|key| plain.contains_key(key));
                    assert_eq!(other.is_within(map), is_within);
                    assert_eq!(other.cmp(map), other_plain.cmp(plain));
                }
                seen.push((map.clone(), plain.clone()));
            });
        }
    }

    /// An enemy knows the hash of every key, and names only those whose hashes ascend with them.
    #[test]
    fn nobody_who_chooses_the_keys_chooses_the_shape() {
        let mut last = 0;
        let mut ascends = |key: &u64| {
            let hash = hash_of(key);
            let is_next = hash > last && hash - last < u64::MAX / 500;
            last = if is_next { hash } else { last };
            is_next
        };
        let keys = (0..).filter(|key| ascends(key)).take(500);
        let map: Map<u64, u64> = keys.map(|key| (key, 0)).collect();
        fn depth(link: &Link<u64, u64>) -> usize {
            link.as_ref().map_or(0, |node| 1 + depth(&node.left).max(depth(&node.right)))
        }
        assert_eq!(map.len(), 500);
        // By the known hash it would be 500, by a secret one it is some 20.
        assert!(depth(&map.root) < 100, "{}", depth(&map.root));
    }
}
