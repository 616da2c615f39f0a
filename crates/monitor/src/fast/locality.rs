//! One order for independent parts (the keys of a map) out of an order for each.
//!
//! Linearizability is local: if each part has an order, so has the whole. Each operation gets the
//! first cell that its place in its part's order allows; by these cells the orders are merged.
//! O(n).

use crate::fast::Part;
use crate::fast::structures::buckets::Buckets;
use seriatim_history::OpId;

/// Merges orders of disjoint sets of operations of a part.
pub(super) fn merge(part: &Part<'_>, orders: &[Vec<OpId>]) -> Vec<OpId> {
    if let [order] = orders {
        return order.clone();
    }
    let ranks = part.ranks();
    let placed = orders.iter().flat_map(|order| {
        order.iter().scan(0, |latest: &mut u32, &op| {
            *latest = ranks.call[part.position(op)].max(*latest);
            Some((*latest, op.0))
        })
    });
    let numbers = Buckets::new(ranks.events as usize + 1, placed).into_numbers();
    numbers.into_iter().map(OpId).collect()
}
