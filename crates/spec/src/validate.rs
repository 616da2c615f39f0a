//! The replay of a witness under a specification that only says what its steps are: a user's own.
//!
//! It checks what the [replay](crate::replay) of built-in objects checks, with the specification's
//! own `step` in the place of a plain object, and keeps every state in which the object may be. It
//! relies on the specification's reading of the history, and where every operation has a
//! [`key`](crate::Spec::key), on its word that keys are independent. Cost: O(n) steps.

use crate::alphabet::Walk;
use crate::replay::{Order, Sequencer};
use crate::{ClassId, Interpretation, Invalid, Replayed, Witness};
use hashbrown::HashMap;
use seriatim_history::{History, OpId};
use std::hash::Hash;

/// Replays a witness by the specification's steps; see the module's header.
pub fn replay_by_steps(
    history: &History,
    interpretation: &Interpretation,
    witness: Witness,
) -> Result<Replayed, Invalid> {
    replay_by_steps_under(history, interpretation, witness, Order::RealTime)
}

/// Replays a witness of which somebody says what version the object has behind operations. Where
/// the object may have come to several, of which that is one, the others are not followed; if that
/// leads nowhere, all are. So a wrong word costs time, and changes no answer.
pub fn replay_along(
    history: &History,
    interpretation: &Interpretation,
    witness: Witness,
    versions: &[(OpId, u64)],
) -> Result<Replayed, Invalid> {
    let versions = versions.iter().copied().collect();
    let along = |versions: &HashMap<OpId, u64>| {
        validate_under(history, interpretation, &witness, Order::RealTime, versions)
    };
    along(&versions).or_else(|_| along(&HashMap::new()))?;
    Ok(Replayed::new(witness))
}

/// Replays a witness that has to respect an order which may be weaker than real time.
pub fn replay_by_steps_under(
    history: &History,
    interpretation: &Interpretation,
    witness: Witness,
    order: Order,
) -> Result<Replayed, Invalid> {
    validate_under(history, interpretation, &witness, order, &HashMap::new())?;
    Ok(Replayed::new(witness))
}

/// Checks a witness by the specification's steps; see the module's header for what is checked.
pub fn validate(
    history: &History,
    interpretation: &Interpretation,
    witness: &Witness,
) -> Result<(), Invalid> {
    validate_under(history, interpretation, witness, Order::RealTime, &HashMap::new())
}

fn validate_under(
    history: &History,
    interpretation: &Interpretation,
    witness: &Witness,
    order: Order,
    versions: &HashMap<OpId, u64>,
) -> Result<(), Invalid> {
    let happened = |op: OpId| interpretation.class(op).is_some();
    let mut sequencer = Sequencer::new(history, order);
    for &op in &witness.order {
        if op.index() >= history.len() || !happened(op) {
            return Err(Invalid::Foreign(op));
        }
        sequencer.place(op)?;
    }
    sequencer.is_complete(happened)?;
    is_legal(history, interpretation, witness, versions)
}

fn is_legal(
    history: &History,
    interpretation: &Interpretation,
    witness: &Witness,
    versions: &HashMap<OpId, u64>,
) -> Result<(), Invalid> {
    let alphabet = &interpretation.alphabet;
    let classes = || witness.order.iter().filter_map(|&op| interpretation.class(op));
    let split = classes().all(|class| alphabet.key(class).is_some());
    let mut walks: HashMap<_, Box<dyn Walk + '_>> = HashMap::new();
    let part = |op: OpId, class| (history.object(op), alphabet.key(class).filter(|_| split));
    let ahead = versions_ahead(interpretation, witness, part);
    for (position, (&op, class)) in witness.order.iter().zip(classes()).enumerate() {
        let walk = walks.entry(part(op, class)).or_insert_with(|| alphabet.walk());
        walk.step(class).map_err(|reason| Invalid::Illegal { position, op, reason })?;
        if let Some(&version) = versions.get(&op) {
            walk.stay_within(version..=version);
        }
        if let Some(version) = ahead[position] {
            walk.stay_within(0..=version);
        }
    }
    Ok(())
}

/// For each place of an order the version that its part tells next, if the version is one that also
/// rises by itself: it never falls, so a state past that one leads nowhere.
fn versions_ahead<P: Eq + Hash>(
    interpretation: &Interpretation,
    witness: &Witness,
    part: impl Fn(OpId, ClassId) -> P,
) -> Vec<Option<u64>> {
    let mut next: HashMap<P, u64> = HashMap::new();
    let mut ahead = vec![None; witness.order.len()];
    for (position, &op) in witness.order.iter().enumerate().rev() {
        let Some(class) = interpretation.class(op) else { continue };
        let told = interpretation.alphabet.sparse_version(class);
        if told.is_none() && next.is_empty() {
            continue;
        }
        let part = part(op, class);
        ahead[position] = next.get(&part).copied();
        next.extend(told.map(|version| (part, version)));
    }
    ahead
}
