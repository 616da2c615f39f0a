//! The keys of a history with their places along the versions.

use super::key::{Key, Place};
use super::layout::{Index, Layout};
use hashbrown::HashMap;
use seriatim_spec::{ClassId, Rise, Version, Versioned};

/// The keys with their places; those that one operation touches together are one.
pub(super) fn arrange(layout: &Layout, automaton: &mut dyn Versioned) -> Vec<Key> {
    let mut names = Names::default();
    let mut pieces: Vec<Vec<(usize, ClassId)>> = Vec::with_capacity(layout.records.len());
    for record in &layout.records {
        let split = match record.told {
            Some(Version::Read(_)) => automaton.split(record.class),
            _ => None,
        };
        let classes = split.unwrap_or_else(|| vec![record.class]);
        let named = classes.into_iter().map(|class| (names.of(automaton.keys(class)), class));
        pieces.push(named.collect());
    }
    let key_of = names.components();
    let mut keys: Vec<Key> = Vec::new();
    keys.resize_with(key_of.iter().max().map_or(0, |&most| most + 1), Key::default);
    let piece = |index: Index| pieces[index as usize].iter().map(|&(name, c)| (key_of[name], c));
    for &index in &layout.pending {
        piece(index).for_each(|(key, _)| keys[key].pending.push(index));
    }
    let fillers = in_order_of_first_call(layout, &keys);
    let is_filled = layout.rise == Rise::ByOne;
    for slot in 0..layout.updates.len() as u32 {
        match layout.updates[slot as usize] {
            Some(index) => {
                for (key, _) in piece(index) {
                    keys[key].place(slot).update = Some(index);
                }
            }
            None if slot > 0 => {
                let is_in_time = |&&key: &&usize| layout.is_in_time(keys[key].pending[0], slot);
                let in_time = fillers.iter().take_while(is_in_time).count();
                for &key in &fillers[..in_time] {
                    let place = keys[key].place(slot);
                    (place.is_gap, place.is_sole) = (true, in_time == 1 && is_filled);
                }
            }
            None => {}
        }
        for &index in &layout.reads[slot as usize] {
            for (key, class) in piece(index) {
                keys[key].reads.push((index, class));
                let end = keys[key].reads.len();
                let place = keys[key].place(slot);
                let start = if place.reads.is_empty() { end - 1 } else { place.reads.start };
                place.reads = start..end;
            }
        }
    }
    keys.iter_mut().for_each(Key::ready);
    keys
}

/// The keys with operations that may fill gaps, in the order of the first call of one.
fn in_order_of_first_call(layout: &Layout, keys: &[Key]) -> Vec<usize> {
    let mut fillers: Vec<usize> =
        (0..keys.len()).filter(|&key| !keys[key].pending.is_empty()).collect();
    fillers.sort_by_key(|&key| layout.record(keys[key].pending[0]).call);
    fillers
}

impl Key {
    /// The place of a slot, which is the last one or a new one.
    fn place(&mut self, slot: u32) -> &mut Place {
        if self.places.last().is_none_or(|last| last.slot != slot) {
            let (is_gap, is_sole, reads) = (false, false, 0..0);
            self.places.push(Place { slot, update: None, is_gap, is_sole, reads });
        }
        self.places.last_mut().expect("there is one now")
    }
}

/// The names of keys that operations give, and which of them are one key.
#[derive(Default)]
struct Names {
    index: HashMap<u64, usize>,
    /// For each name another one of the same key, or itself.
    parent: Vec<usize>,
    /// Whether some operation may act on everything.
    is_one: bool,
}

impl Names {
    /// The name of the part on which an operation acts.
    fn of(&mut self, keys: Option<Vec<u64>>) -> usize {
        self.is_one |= keys.is_none();
        let mut first = None;
        for key in keys.unwrap_or_default() {
            let fresh = self.parent.len();
            let name = *self.index.entry(key).or_insert(fresh);
            if name == fresh {
                self.parent.push(fresh);
            }
            let root = self.root(name);
            let first = *first.get_or_insert(root);
            self.parent[root] = first;
        }
        first.unwrap_or_else(|| {
            self.parent.push(self.parent.len());
            self.parent.len() - 1
        })
    }

    fn root(&mut self, mut name: usize) -> usize {
        while self.parent[name] != name {
            self.parent[name] = self.parent[self.parent[name]];
            name = self.parent[name];
        }
        name
    }

    /// The key of each name, numbered without gaps.
    fn components(mut self) -> Vec<usize> {
        let mut number: HashMap<usize, usize> = HashMap::new();
        let mut components = Vec::with_capacity(self.parent.len());
        for name in 0..self.parent.len() {
            let root = if self.is_one { 0 } else { self.root(name) };
            let next = number.len();
            components.push(*number.entry(root).or_insert(next));
        }
        components
    }
}
