//! The keys of a history with their places along the versions.

use super::key::{Key, Place};
use super::layout::{Index, Layout, NEVER};
use super::standing::Silent;
use hashbrown::{HashMap, HashSet};
use seriatim_limits::InOrder;
use seriatim_spec::{Aside, ClassId, Rise, Version, Versioned};
use std::collections::BTreeMap;

/// The keys with their places; those that one operation touches together are one.
pub(super) fn arrange(layout: &Layout, automaton: &mut dyn Versioned) -> Vec<Key> {
    let mut names = Names::default();
    let mut pieces: Vec<Vec<(usize, ClassId)>> = Vec::with_capacity(layout.records.len());
    for record in &layout.records {
        if record.aside == Aside::Changes {
            pieces.push(Vec::new());
            continue;
        }
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
    for &index in &layout.silent {
        piece(index).for_each(|(key, class)| keys[key].silents.push(silent(layout, index, class)));
    }
    keys.iter_mut().for_each(|key| key.set_apart(layout));
    let mut fillers = Fillers::new(layout, &keys);
    let is_filled = layout.rise == Rise::ByOne;
    for slot in 0..layout.updates.len() as u32 {
        match layout.updates[slot as usize] {
            Some(index) => {
                for (key, _) in piece(index) {
                    keys[key].place(slot).update = Some(index);
                }
            }
            None if slot > 0 => {
                let in_time = fillers.at(layout, &keys, slot);
                let is_sole = in_time.len() == 1 && is_filled;
                for key in in_time {
                    let place = keys[key].place(slot);
                    (place.is_gap, place.is_sole) = (true, is_sole);
                }
            }
            None => {
                for key in keys.iter_mut().filter(|key| !key.silents.is_empty()) {
                    key.place(slot);
                }
            }
        }
        for &index in &layout.reads[slot as usize] {
            for (key, class) in piece(index) {
                keys[key].reads.push((index, class));
                let end = keys[key].reads.len() as u32;
                let place = keys[key].place(slot);
                let start = if place.reads.is_empty() { end - 1 } else { place.reads.start };
                place.reads = start..end;
            }
        }
    }
    keys.iter_mut().for_each(Key::ready);
    keys.iter_mut().for_each(Key::name_active);
    keys
}

fn silent(layout: &Layout, index: Index, class: ClassId) -> Silent {
    let (first, last, is_free) = layout.stands(index);
    let due = (!is_free).then_some(last);
    Silent { index, class, first, last, due }
}

/// The keys that may fill a gap, slot by slot.
struct Fillers {
    /// The keys with operations that never returned, in the order of the first call of one.
    lasting: Vec<usize>,
    /// The slots from which on, and behind which, silent operations may fill a gap; latest first.
    starts: Vec<(u32, usize)>,
    ends: Vec<(u32, usize)>,
    /// How many silent operations of each key may fill the present slot.
    now: BTreeMap<usize, u32>,
}

impl Fillers {
    fn new(layout: &Layout, keys: &[Key]) -> Self {
        let mut lasting: Vec<usize> = (0..keys.len()).filter(|&key| keys[key].never > 0).collect();
        lasting.put_in_order_by_key(|&key| layout.record(keys[key].pending[0]).call);
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        for (key, one) in keys.iter().enumerate() {
            for &index in &one.pending[one.never as usize..] {
                let (first, last) = layout.makes(index);
                if first <= last {
                    starts.push((first, key));
                    ends.push((last, key));
                }
            }
        }
        starts.put_in_order_by_own_key(|&at| std::cmp::Reverse(at));
        ends.put_in_order_by_own_key(|&at| std::cmp::Reverse(at));
        Fillers { lasting, starts, ends, now: BTreeMap::new() }
    }

    /// The keys that may fill a slot, which is behind those that were asked before.
    fn at(&mut self, layout: &Layout, keys: &[Key], slot: u32) -> Vec<usize> {
        while let Some((_, key)) = self.starts.pop_if(|start| start.0 <= slot) {
            *self.now.entry(key).or_default() += 1;
        }
        while let Some((_, key)) = self.ends.pop_if(|end| end.0 < slot) {
            let count = self.now.entry(key).or_default();
            *count -= 1;
            if *count == 0 {
                self.now.remove(&key);
            }
        }
        let is_in_time = |&&key: &&usize| layout.is_in_time(keys[key].pending[0], slot);
        let mut all: Vec<usize> = self.lasting.iter().take_while(is_in_time).copied().collect();
        let is_new = |key: &&usize| keys[**key].never == 0 || !is_in_time(key);
        all.extend(self.now.keys().filter(is_new));
        all
    }
}

impl Key {
    /// Puts those first that never returned, and the silent ones first that may fill gaps.
    fn set_apart(&mut self, layout: &Layout) {
        let is_lasting = |index: Index| layout.record(index).ret == NEVER;
        self.pending.put_in_order_by_key(|&index| !is_lasting(index));
        self.never = self.pending.partition_point(|&index| is_lasting(index)) as u32;
        let fills: HashSet<Index> = self.pending[self.never as usize..].iter().copied().collect();
        self.silents.put_in_order_by_key(|silent| !fills.contains(&silent.index));
        self.lasting = self.pending[self.never as usize..]
            .iter()
            .scan(0, |latest, &index| {
                *latest = layout.record(index).ret.max(*latest);
                Some(*latest)
            })
            .collect();
    }

    /// Lists for each place the silent operations that may stand from there to the next one.
    fn name_active(&mut self) {
        let Key { places, silents, .. } = &*self;
        let mut active: Vec<Vec<u32>> =
            vec![Vec::new(); if silents.is_empty() { 0 } else { places.len() }];
        for (number, silent) in (0..).zip(silents).filter(|(_, silent)| silent.due.is_some()) {
            let place = |slot: u32| places.partition_point(|place| place.slot <= slot);
            let (first, end) =
                (place(silent.first.min(silent.last)).saturating_sub(1), place(silent.last));
            active[first..end].iter_mut().for_each(|numbers| numbers.push(number));
        }
        let mut end = 0;
        let ends = active.iter().map(|numbers| {
            end += numbers.len() as u32;
            end
        });
        self.active_ends = ends.collect();
        self.active = active.concat();
    }

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
