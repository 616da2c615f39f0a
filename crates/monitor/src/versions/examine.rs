//! Whether keys are as independent as the object declares, asked along the history.
//!
//! P cannot be proved of a function that can only be called. It is put to the test: the operations
//! are taken along the slots twice, on the state of the whole object and on that of their key
//! alone. If one fits there and not here, the declaration is wrong, and nothing that rests on it
//! counts.

use super::key::{Filling, Key, Keys};
use super::layout::Index;
use seriatim_spec::{Aside, ClassId, StateId, Version};

/// The reason not to believe that keys are independent, if there is one. What fills gaps is taken
/// from those keys that can be completed alone.
pub(super) fn independence(
    keys: &mut Keys<'_>,
    start: StateId,
    fillings: impl Iterator<Item = (usize, Filling)>,
) -> Option<String> {
    let layout = keys.layout;
    let pieces = pieces(keys);
    let mut updates = layout.updates.clone();
    for (key, filling) in fillings {
        let key = &keys.keys[key];
        for (place, pending) in key.links(filling) {
            let slot = key.places[place as usize].slot as usize;
            updates[slot].get_or_insert(key.pending[pending as usize]);
        }
    }
    // The states of the whole object take as much again.
    keys.keys.iter_mut().for_each(Key::forget);
    let mut walk = Walk { whole: start, parts: vec![start; keys.keys.len()] };
    for (slot, update) in (0..).zip(&updates) {
        let version = layout.version(slot);
        if let &Some(index) = update {
            walk.step(keys, index, Version::Update(version), &pieces[index as usize]);
        }
        for &index in &layout.reads[slot as usize] {
            match layout.record(index).aside {
                Aside::Apart => {
                    walk.step(keys, index, Version::Read(version), &pieces[index as usize]);
                }
                Aside::Looks => walk.look(keys, index, slot, &pieces[index as usize]),
                Aside::Changes => walk.change(keys, index, slot, start),
            }
        }
        if keys.steps.declined.is_some() {
            break;
        }
    }
    keys.steps.declined.take()
}

/// The keys on which each operation acts, with the class that says what it does there.
fn pieces(keys: &Keys<'_>) -> Vec<Vec<(usize, ClassId)>> {
    let mut pieces = vec![Vec::new(); keys.layout.records.len()];
    let mut add = |index: Index, key: usize, class: ClassId| {
        pieces[index as usize].push((key, class));
    };
    for (number, key) in keys.keys.iter().enumerate() {
        let updates = key.places.iter().filter_map(|place| place.update);
        for index in updates.chain(key.pending.iter().copied()) {
            add(index, number, keys.layout.record(index).class);
        }
        key.reads.iter().for_each(|&(index, class)| add(index, number, class));
    }
    pieces
}

/// The object as a whole, and each key for itself.
struct Walk {
    whole: StateId,
    parts: Vec<StateId>,
}

impl Walk {
    /// Takes an operation on both, if it fits.
    fn step(
        &mut self,
        keys: &mut Keys<'_>,
        index: Index,
        version: Version,
        pieces: &[(usize, ClassId)],
    ) {
        let record = *keys.layout.record(index);
        let take = |keys: &mut Keys<'_>, state: StateId, class: ClassId| match record.told {
            Some(_) => keys.steps.told(state, class, version),
            None => keys.steps.untold(state, class, version.number()),
        };
        let whole = take(keys, self.whole, record.class);
        let asides = keys.steps.possible.at(keys.layout.slot(version.number()) as u32);
        if let Some(&aside) = asides.and_then(|all| all.last()) {
            let joined = keys.steps.automaton.with_aside(self.whole, aside);
            let other = take(keys, joined, record.class);
            let expected = whole.map(|after| keys.steps.automaton.with_aside(after, aside));
            if other != expected {
                let why = "an operation looks at what changes at no version, and does not say so";
                keys.steps.decline(why.to_owned());
            }
        }
        let parts: Option<Vec<StateId>> =
            pieces.iter().map(|&(key, class)| take(keys, self.parts[key], class)).collect();
        match (whole, parts) {
            (Some(whole), Some(parts)) => {
                self.whole = whole;
                let after = pieces.iter().zip(parts);
                after.for_each(|(&(key, _), part)| self.parts[key] = part);
            }
            (None, None) => {}
            _ => {
                let why = "what an operation does depends on more than its keys and the version";
                keys.steps.decline(why.to_owned());
            }
        }
    }

    /// Asks both whether a looker fits, with all that may stand aside.
    fn look(&self, keys: &mut Keys<'_>, index: Index, slot: u32, pieces: &[(usize, ClassId)]) {
        let (layout, steps) = (keys.layout, &mut keys.steps);
        let class = layout.record(index).class;
        for aside in steps.possible.at(slot).unwrap_or_default().to_vec() {
            let mut fits = |state: StateId, class: ClassId| {
                let joined = steps.automaton.with_aside(state, aside);
                steps.fits_at(layout, slot, (index, class), joined)
            };
            let whole = fits(self.whole, class);
            if whole != pieces.iter().all(|&(key, class)| fits(self.parts[key], class)) {
                let why = "what an operation sees depends on more than it says";
                steps.decline(why.to_owned());
            }
        }
    }

    /// Takes an aside in the present state and in the first one: the rest of a state makes no
    /// difference.
    fn change(&self, keys: &mut Keys<'_>, index: Index, slot: u32, start: StateId) {
        let (layout, steps) = (keys.layout, &mut keys.steps);
        let (class, version) = (layout.record(index).class, layout.version(slot));
        for aside in steps.possible.at(slot).unwrap_or_default().to_vec() {
            let mut after = |state: StateId| {
                let joined = steps.automaton.with_aside(state, aside);
                let found = steps.changes(joined, class, version);
                let mut found: Vec<StateId> = found
                    .into_iter()
                    .map(|after| steps.automaton.with_aside(start, after))
                    .collect();
                found.sort_unstable();
                found
            };
            if after(self.whole) != after(start) {
                let why = "what changes at no version depends on more than the version";
                steps.decline(why.to_owned());
            }
        }
    }
}
