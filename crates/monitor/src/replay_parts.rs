//! The orders that were found for the parts of a history, joined into one and replayed.
//!
//! [`replay`] shares nothing with the engines. Where it rejects the joined order, the part at which
//! it got stuck is open again: no order is printed that was not accepted.

use crate::assemble::{assemble, filled};
use crate::decision::Decision;
use crate::partition::Part;
use crate::sabotage::{Sabotage, is_broken};
use crate::search::dovetail::Finding;
use seriatim_history::{History, Horizon, InputError, OpId};
use seriatim_limits::InOrder;
use seriatim_spec::{
    Interpretation, Invalid, Limit, Reader, Replayed, Witness, replay, replay_along,
};

/// Replays the orders that were found for parts, all as one; where every part has an order, that is
/// an order of the whole history.
pub(crate) fn replay_parts(
    history: &mut History,
    reader: &dyn Reader,
    reading: &Interpretation,
    parts: &[Part],
    decisions: &[Decision],
) -> Result<Result<Replayed, Invalid>, InputError> {
    let mut orders = Vec::new();
    let mut kept = Vec::new();
    let mut versions = Vec::new();
    for (part, decision) in parts.iter().zip(decisions) {
        if let Some(Finding::Linearizable(order)) = &decision.finding {
            orders.push(order.clone());
            kept.extend_from_slice(&part.operations);
            versions.extend_from_slice(&decision.versions);
        }
    }
    let is_whole = orders.len() == parts.len();
    let witness = assemble(history, orders);
    if is_whole {
        return match reader.chosen() {
            Some(_) => replay_filled(history, reader, witness),
            None => Ok(replay_along(history, reading, witness, &versions)),
        };
    }
    kept.put_in_order();
    let place = |op: OpId| OpId::from(kept.binary_search(&op).unwrap_or(kept.len()));
    let order = witness.order.into_iter().map(place).collect();
    let mut excerpt = history.restricted(&kept, Horizon::Whole);
    let original = |op: OpId| kept.get(op.index()).copied().unwrap_or(op);
    let replayed = replay_filled(&mut excerpt, reader, Witness { order })?;
    Ok(replayed.map_err(|invalid| invalid.renamed(original)))
}

/// Replays a witness; if it leaves out operations that the engine took for silent, with those.
pub(crate) fn replay_filled(
    history: &mut History,
    reader: &dyn Reader,
    witness: Witness,
) -> Result<Result<Replayed, Invalid>, InputError> {
    let mut witness = witness;
    if is_broken(Sabotage::LostOperation) {
        witness.order.pop();
        return replay(history, reader, witness);
    }
    let count = witness.order.len();
    match replay(history, reader, witness.clone())? {
        Err(Invalid::Missing(_)) if count < history.len() => {
            replay(history, reader, filled(history, witness))
        }
        replayed => Ok(replayed),
    }
}

/// Takes back all orders that were found: there was no time to replay them.
pub(crate) fn leave_open(decisions: &mut [Decision], limit: Limit) {
    for decision in decisions.iter_mut().filter(|decision| decision.is_linearizable()) {
        decision.finding = Some(Finding::Open(limit, 0));
    }
}

/// Takes back what was said of the part at which the replay failed.
pub(crate) fn distrust(parts: &[Part], decisions: &mut [Decision], invalid: &Invalid) {
    let culprit = invalid.culprit();
    let holds = |part: &Part| part.operations.binary_search(&culprit).is_ok();
    let is_known = parts.iter().any(holds);
    for (part, decision) in parts.iter().zip(decisions) {
        let is_found = matches!(decision.finding, Some(Finding::Linearizable(_)));
        if is_found && (holds(part) || !is_known) {
            decision.finding = Some(Finding::Open(Limit::Defect, 0));
        }
    }
}
