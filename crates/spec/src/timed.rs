//! Operations in the types of their specification, and the replay of an order of them.
//!
//! A program that records a few calls and wants to know at once need not make a
//! [`History`](seriatim_history::History) of them. What is checked of an order is the same: see the
//! [replay](crate::replay()). It is replayed by the specification's own `step`, as every
//! specification of a user's own is; nothing is split, nothing is assumed of the operations. Cost:
//! O(n) steps.

use crate::{Invalid, Replayed, Spec, Witness};
use seriatim_history::{OpId, Time};

/// An operation as it was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed<O, R> {
    /// Who called it. A process calls one operation after another.
    pub process: i64,
    /// What was called.
    pub op: O,
    /// When.
    pub call: Time,
    /// When it returned and what; `None` if it is pending.
    pub returned: Option<(Time, R)>,
}

impl<O, R> Timed<O, R> {
    /// What it returned, if it did.
    pub fn result(&self) -> Option<&R> {
        self.returned.as_ref().map(|(_, result)| result)
    }
}

/// Replays an order of operations, which are numbered as they stand there.
///
/// ```
/// use seriatim_history::OpId;
/// use seriatim_spec::{Timed, Witness, replay_timed};
/// # use seriatim_spec::{Next, Spec};
/// # struct Flag;
/// # impl Spec for Flag {
/// #     type State = bool; type Op = (); type Ret = bool;
/// #     fn initial(&self) -> bool { false }
/// #     fn step(&self, state: &bool, _: &(), ret: Option<&bool>) -> Next<bool> {
/// #         Next::when(ret.is_none_or(|seen| seen == state), || true)
/// #     }
/// # }
/// // `Flag` has one operation, test-and-set, which returns the old state. Two of them overlap.
/// let set = |process, call, ret, seen| Timed { process, op: (), call, returned: Some((ret, seen)) };
/// let operations = [set(0, 1, 3, true), set(1, 2, 4, false)];
/// let order = |ids: [u32; 2]| Witness { order: ids.map(OpId).to_vec() };
/// assert!(replay_timed(&Flag, &operations, order([1, 0])).is_ok());
/// assert!(replay_timed(&Flag, &operations, order([0, 1])).is_err());
/// ```
pub fn replay_timed<S: Spec>(
    spec: &S,
    operations: &[Timed<S::Op, S::Ret>],
    witness: Witness,
) -> Result<Replayed, Invalid> {
    let mut placed = vec![false; operations.len()];
    let mut latest: Option<(Time, OpId)> = None;
    let (mut states, mut after) = (vec![spec.initial()], Vec::new());
    for (position, &op) in witness.order.iter().enumerate() {
        let Some(operation) = operations.get(op.index()) else { return Err(Invalid::Foreign(op)) };
        if std::mem::replace(&mut placed[op.index()], true) {
            return Err(Invalid::Repeated(op));
        }
        // Whatever stands before it must not have been called after it returned.
        match (&operation.returned, latest) {
            (Some((ret, _)), Some((call, other))) if *ret < call => {
                return Err(Invalid::AgainstTime(other, op));
            }
            _ => latest = latest.max(Some((operation.call, op))),
        }
        for state in &states {
            for next in spec.step(state, &operation.op, operation.result()) {
                if !after.contains(&next) {
                    after.push(next);
                }
            }
        }
        if after.is_empty() {
            let reason = spec.explain(&states[0], &operation.op, operation.result());
            return Err(Invalid::Illegal { position, op, reason });
        }
        std::mem::swap(&mut states, &mut after);
        after.clear();
    }
    let is_missing = |&at: &usize| operations[at].returned.is_some() && !placed[at];
    match (0..operations.len()).find(is_missing) {
        Some(missing) => Err(Invalid::Missing(OpId::from(missing))),
        None => Ok(Replayed::new(witness)),
    }
}
