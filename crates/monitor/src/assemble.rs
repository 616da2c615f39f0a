//! One witness for the whole history from the witnesses of its parts.
//!
//! Each operation gets a linearization point: its call, or the point of its predecessor in its part
//! if that is later. As the part's order respects real time, the point lies within the operation's
//! interval; so sorting all points respects real time across parts, and keeps each part's order.

use seriatim_history::{History, OpId, Time};
use seriatim_spec::Witness;

/// Merges the orders of independent parts.
pub fn assemble(history: &History, orders: Vec<Vec<OpId>>) -> Witness {
    if orders.len() == 1 {
        return Witness { order: orders.into_iter().next().unwrap_or_default() };
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
    points.sort_by_key(|&(point, _)| point);
    Witness { order: points.into_iter().map(|(_, op)| op).collect() }
}
