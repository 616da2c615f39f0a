//! The events of a history, in the order in which they happened.
//!
//! Operations are sorted by call, so a heap of the operations now open is all that is needed: the
//! memory follows the concurrency, not the length. At one instant calls come before returns, since
//! intervals are closed: an operation that returns when another is called is concurrent with it.

use crate::{History, OpId, Time};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A call or a return.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// The operation is called.
    Call(OpId),
    /// The operation returns.
    Return(OpId),
}

/// Iterates over the events of some operations; see [`History::events`].
pub struct Events<'h, I: Iterator<Item = OpId>> {
    history: &'h History,
    calls: std::iter::Peekable<I>,
    open: BinaryHeap<Reverse<(Time, OpId)>>,
}

impl History {
    /// All events in order. Pending operations have no return.
    ///
    /// ```
    /// use seriatim_history::{Event, OpId, read_str};
    /// let history = read_str("# @object queue\n[1] call enq(7)\n[1] return\n").unwrap();
    /// let events: Vec<Event> = history.events().collect();
    /// assert_eq!(events, [Event::Call(OpId(0)), Event::Return(OpId(0))]);
    /// ```
    pub fn events(&self) -> Events<'_, impl Iterator<Item = OpId>> {
        self.events_of((0..self.len()).map(OpId::from))
    }

    /// The events of some operations, named in ascending order.
    pub fn events_of<I: Iterator<Item = OpId>>(&self, operations: I) -> Events<'_, I> {
        Events { history: self, calls: operations.peekable(), open: BinaryHeap::new() }
    }
}

impl<I: Iterator<Item = OpId>> Iterator for Events<'_, I> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        let next_return = self.open.peek().map(|&Reverse((time, _))| time);
        let next_call = self.calls.peek().map(|&op| self.history.call(op));
        match (next_call, next_return) {
            (Some(call), ret) if ret.is_none_or(|ret| call <= ret) => {
                let op = self.calls.next()?;
                if let Some(ret) = self.history.ret(op) {
                    self.open.push(Reverse((ret, op)));
                }
                Some(Event::Call(op))
            }
            _ => self.open.pop().map(|Reverse((_, op))| Event::Return(op)),
        }
    }
}
