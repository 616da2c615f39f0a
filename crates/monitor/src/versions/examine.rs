//! Whether keys are as independent as the object declares, asked along the history.
//!
//! P cannot be proved of a function that can only be called. It is put to the test: the operations
//! are taken along the slots twice, on the state of the whole object and on that of their key
//! alone. If one fits there and not here, the declaration is wrong, and nothing that rests on it
//! counts.

use super::key::{Filling, Keys};
use super::layout::Index;
use seriatim_spec::{ClassId, StateId, Version};

/// The reason not to believe that keys are independent, if there is one. What fills gaps is taken
/// from those keys that can be completed alone.
pub(super) fn independence(
    keys: &mut Keys<'_>,
    start: StateId,
    fillings: &[Filling],
) -> Option<String> {
    let layout = keys.layout;
    let pieces = pieces(keys);
    let mut updates = layout.updates.clone();
    for (&filling, key) in fillings.iter().zip(&keys.keys) {
        for (place, pending) in key.links(filling) {
            let slot = key.places[place as usize].slot as usize;
            updates[slot].get_or_insert(key.pending[pending as usize]);
        }
    }
    let mut walk = Walk { whole: start, parts: vec![start; keys.keys.len()] };
    for (slot, update) in (0..).zip(&updates) {
        let version = layout.version(slot);
        if let &Some(index) = update {
            walk.step(keys, index, Version::Update(version), &pieces[index as usize]);
        }
        for &index in &layout.reads[slot as usize] {
            walk.step(keys, index, Version::Read(version), &pieces[index as usize]);
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
        let record = keys.layout.record(index);
        let is_told = record.told.is_some();
        let mut take = |state: StateId, class: ClassId| match is_told {
            true => keys.steps.told(state, class, version),
            false => keys.steps.untold(state, class, version.number()),
        };
        let whole = take(self.whole, record.class);
        let parts: Option<Vec<StateId>> =
            pieces.iter().map(|&(key, class)| take(self.parts[key], class)).collect();
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
}
