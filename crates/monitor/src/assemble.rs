//! One witness for the whole history from the witnesses of its parts.
//!
//! Each operation gets a linearization point: its call, or the point of its predecessor in its part
//! if that is later. As the part's order respects real time, the point lies within the operation's
//! interval; so sorting all points respects real time across parts, and keeps each part's order.
//!
//! Engines forget operations that say nothing, such as a read whose result nobody recorded. Each of
//! them is a part of its own here. Whether it was right to forget them, the replay says.

use crate::sabotage::{Sabotage, is_broken};
use seriatim_history::{History, OpId, Outcome, Time};
use seriatim_limits::InOrder;
use seriatim_spec::Witness;

/// Merges the orders of independent parts.
pub fn assemble(history: &History, orders: Vec<Vec<OpId>>) -> Witness {
    if orders.len() == 1 || is_broken(Sabotage::WrongJoin) {
        return Witness { order: orders.concat() };
    }
    let mut points: Vec<(Time, OpId)> = Vec::with_capacity(orders.iter().map(Vec::len).sum());
    for order in &orders {
        let mut point = 0;
        for &op in order {
            point = point.max(history.call(op));
            points.push((point, op));
        }
    }
    // Stable: operations of one part with the same point stay in the part's order.
    points.put_in_order_by_key(|&(point, _)| point);
    Witness { order: points.into_iter().map(|(_, op)| op).collect() }
}

/// Adds the completed operations that a witness leaves out, each at the moment of its call.
pub fn filled(history: &History, witness: Witness) -> Witness {
    let mut placed = vec![false; history.len()];
    witness.order.iter().for_each(|op| placed[op.index()] = true);
    let all = (0..history.len()).map(OpId::from);
    let missing = all.filter(|&op| !placed[op.index()] && history.outcome(op) == Outcome::Ok);
    let orders = missing.map(|op| vec![op]);
    assemble(history, [witness.order].into_iter().chain(orders).collect())
}
