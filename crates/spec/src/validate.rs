//! The replayer that believes nobody: checks a witness against its history and specification.
//!
//! A witness is right if (a) it holds every completed operation exactly once, pending ones at most
//! once, and nothing else; (b) no operation stands after one that was called after its return;
//! (c) the specification allows the operations one after another, in this order, from the initial
//! state, for each object by itself. It shares no code with any engine. Cost: O(n) steps.
//!
//! Where every operation has a [`key`](crate::Spec::key), each key is replayed by itself: that
//! relies on the specification's word that keys are independent, as every engine does.

use crate::{Cancel, Interpretation, Witness};
use hashbrown::HashMap;
use seriatim_history::{History, OpId, Outcome, Time};
use std::fmt;

/// Why a witness is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invalid {
    /// A completed operation is not in the order.
    Missing(OpId),
    /// An operation is in the order twice.
    Repeated(OpId),
    /// The order names an operation that is not in the history, or that did not happen.
    Foreign(OpId),
    /// The first is placed before the second, which returned before the first was called.
    AgainstTime(OpId, OpId),
    /// The specification does not allow the operation at this position of the order.
    Illegal {
        /// The position, counted from 0.
        position: usize,
        /// The operation.
        op: OpId,
        /// Why it is impossible there.
        reason: String,
    },
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Invalid::Missing(op) => write!(f, "completed operation {} is missing", op.0),
            Invalid::Repeated(op) => write!(f, "operation {} is placed twice", op.0),
            Invalid::Foreign(op) => write!(f, "operation {} did not happen", op.0),
            Invalid::AgainstTime(early, late) => write!(
                f,
                "operation {} is placed before {}, which had returned before it was called",
                early.0, late.0
            ),
            Invalid::Illegal { position, op, reason } => {
                write!(f, "operation {} is impossible at position {position}: {reason}", op.0)
            }
        }
    }
}

impl std::error::Error for Invalid {}

/// Checks a witness; see the module's header for what is checked.
pub fn validate(
    history: &History,
    interpretation: &Interpretation,
    witness: &Witness,
) -> Result<(), Invalid> {
    holds_the_right_operations(history, interpretation, witness)?;
    respects_time(history, witness)?;
    is_legal(history, interpretation, witness)
}

fn holds_the_right_operations(
    history: &History,
    interpretation: &Interpretation,
    witness: &Witness,
) -> Result<(), Invalid> {
    let mut placed = vec![false; history.len()];
    for &op in &witness.order {
        if op.index() >= placed.len() || interpretation.class(op).is_none() {
            return Err(Invalid::Foreign(op));
        }
        if std::mem::replace(&mut placed[op.index()], true) {
            return Err(Invalid::Repeated(op));
        }
    }
    let required = |op: &OpId| history.outcome(*op) != Outcome::Pending;
    let missing = |op: &OpId| required(op) && !placed[op.index()];
    let missing = interpretation.operations().find(missing);
    missing.map_or(Ok(()), |op| Err(Invalid::Missing(op)))
}

/// From the back, with the earliest return seen so far.
fn respects_time(history: &History, witness: &Witness) -> Result<(), Invalid> {
    let mut earliest: Option<(Time, OpId)> = None;
    for &op in witness.order.iter().rev() {
        match earliest {
            Some((ret, late)) if ret < history.call(op) => {
                return Err(Invalid::AgainstTime(op, late));
            }
            _ => earliest = earliest.into_iter().chain(history.ret(op).map(|ret| (ret, op))).min(),
        }
    }
    Ok(())
}

fn is_legal(
    history: &History,
    interpretation: &Interpretation,
    witness: &Witness,
) -> Result<(), Invalid> {
    let alphabet = &interpretation.alphabet;
    let classes = || witness.order.iter().filter_map(|&op| interpretation.class(op));
    let split = classes().all(|class| alphabet.key(class).is_some());
    let mut automaton = alphabet.automaton(&Cancel::never());
    let initial = automaton.initial();
    let mut states = HashMap::new();
    for (position, (&op, class)) in witness.order.iter().zip(classes()).enumerate() {
        let part = (history.object(op), alphabet.key(class).filter(|_| split));
        let before = states.entry(part).or_insert_with(|| vec![initial]);
        let mut after = Vec::new();
        before.iter().for_each(|&state| automaton.step(state, class, &mut after));
        after.sort_unstable();
        after.dedup();
        if after.is_empty() {
            let reason = automaton.explain(before[0], class);
            return Err(Invalid::Illegal { position, op, reason });
        }
        *before = after;
    }
    Ok(())
}
