//! Operations whose order is forced by their results: does real time allow it?
//!
//! An order is right for real time iff no operation returns before one that stands in front of it
//! is called: one pass from the back with the least return so far. O(n).

use crate::fast::containers::container::Span;

/// Two operations of an order of which the later one returned before the earlier one was called.
pub(in crate::fast) fn reversed(order: &[Span]) -> Option<(Span, Span)> {
    let mut first_return: Option<Span> = None;
    for &span in order.iter().rev() {
        if let Some(later) = first_return
            && later.ret < span.call
        {
            return Some((span, later));
        }
        if first_return.is_none_or(|later| span.ret < later.ret) {
            first_return = Some(span);
        }
    }
    None
}
