//! A flag that operations raise and lower: one key of a set, a mutex.
//!
//! **Decides**, event by event, whether operations that raise the flag (and find it down), lower it
//! (and find it up), or see it up or down are linearizable. What an operation does is known only
//! when it returns: an open insertion may turn out to have found its key present, that is, to have
//! only seen the flag up.
//!
//! **How.** The flag is flipped as late as possible: when an operation returns whose result demands
//! it. A flip that the returning operation does not make itself was made by one that is still open:
//! it becomes a *slot*, which the first operation of its kind that returns and was called before it
//! claims. There must always be an open operation for each slot: the i-th slot, by time, needs the
//! i-th open operation, by call, to have been called before it (Hall's condition for nested
//! demands). A query is right if the flag is as it saw it, or was until it last flipped, after the
//! query's call. Operations that never return stay open: they may fill a slot and never have to.
//!
//! **Cost.** O(log n) an event of a recorded history, amortized; of a live one O(1) plus the
//! operations open on this flag. An operation that turns out to have only seen the flag costs as
//! much as there are slots. Memory: the operations open.
//!
//! **What would make it unsound:** counting flips against open operations without naming slots;
//! that is right only where every operation returns.

use crate::fast::online::open_calls::OpenCalls;
use crate::fast::online::trace::{Place, Trace};
use crate::fast::structures::slots::{Slot, Slots};
use seriatim_history::OpId;

/// The two states of a flag, and the two ways to change it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(in crate::fast) enum Side {
    #[default]
    Down,
    Up,
}

impl Side {
    pub fn other(self) -> Side {
        match self {
            Side::Down => Side::Up,
            Side::Up => Side::Down,
        }
    }
}

/// The number of an event, from 1 on.
pub(in crate::fast) type Moment = u64;

/// No open operation can have made a change that must have happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fast) struct Impossible;

/// A flag and the operations open on it.
#[derive(Clone, Debug)]
pub(in crate::fast) struct Flag {
    state: Side,
    flipped: Moment,
    flipped_at: Place,
    /// Open operations that may move the flag to a side, by call.
    open: [OpenCalls; 2],
    /// Open operations that only look.
    looking: OpenCalls,
    slots: [Slots; 2],
}

impl Flag {
    /// A flag on which nothing is open.
    pub fn new(state: Side) -> Self {
        Flag {
            state,
            flipped: 0,
            flipped_at: Place::START,
            open: Default::default(),
            looking: OpenCalls::default(),
            slots: Default::default(),
        }
    }

    /// Makes an idle flag another one.
    pub fn reset(&mut self, state: Side) {
        debug_assert!(self.is_idle());
        (self.state, self.flipped) = (state, 0);
    }

    /// Whether no operation is open.
    pub fn is_idle(&self) -> bool {
        self.open.iter().all(OpenCalls::is_empty) && self.looking.is_empty()
    }

    /// The present state.
    pub fn state(&self) -> Side {
        self.state
    }

    /// An operation is called that may move the flag to a side.
    pub fn call(&mut self, to: Side, op: OpId, now: Moment) {
        self.open[to as usize].push(op, now);
    }

    /// A query is called.
    pub fn call_query(&mut self, op: OpId, now: Moment) {
        self.looking.push(op, now);
    }

    /// An operation returns and has moved the flag to a side.
    pub fn moved(
        &mut self,
        to: Side,
        op: OpId,
        now: Moment,
        trace: &mut impl Trace,
    ) -> Result<(), Impossible> {
        let call = self.open[to as usize].take(op).unwrap_or(0);
        if let Some(place) = self.slots[to as usize].claim(call) {
            trace.fill(place, op);
            return Ok(());
        }
        if self.state == to {
            self.flip(now, trace)?;
        }
        let place = trace.place(op);
        self.turned(now, place);
        Ok(())
    }

    /// An operation returns that could have moved the flag and has only seen it on that side.
    pub fn failed(
        &mut self,
        to: Side,
        op: OpId,
        now: Moment,
        trace: &mut impl Trace,
    ) -> Result<(), Impossible> {
        let call = self.open[to as usize].take(op).unwrap_or(0);
        if !self.slots_can_be_filled(to) {
            return Err(Impossible);
        }
        self.saw(to, op, call, now, trace)
    }

    /// Whether there is an open operation for each slot.
    fn slots_can_be_filled(&self, to: Side) -> bool {
        let mut offers = self.open[to as usize].iter();
        let mut slots = self.slots[to as usize].iter();
        slots.all(|slot| offers.next().is_some_and(|open| open.call < slot.at))
    }

    /// A query returns.
    pub fn looked(
        &mut self,
        side: Side,
        op: OpId,
        now: Moment,
        trace: &mut impl Trace,
    ) -> Result<(), Impossible> {
        let call = self.looking.take(op).unwrap_or(0);
        self.saw(side, op, call, now, trace)
    }

    fn saw(
        &mut self,
        side: Side,
        op: OpId,
        call: Moment,
        now: Moment,
        trace: &mut impl Trace,
    ) -> Result<(), Impossible> {
        if self.state != side && self.flipped > call {
            trace.before(self.flipped_at, op);
            return Ok(());
        }
        if self.state != side {
            self.flip(now, trace)?;
        }
        trace.place(op);
        Ok(())
    }

    /// Some open operation has moved the flag by now.
    fn flip(&mut self, now: Moment, trace: &mut impl Trace) -> Result<(), Impossible> {
        let to = self.state.other() as usize;
        if self.open[to].len() <= self.slots[to].len() {
            return Err(Impossible);
        }
        let place = trace.slot();
        self.slots[to].push(Slot { at: now, place });
        self.turned(now, place);
        Ok(())
    }

    fn turned(&mut self, now: Moment, place: Place) {
        self.state = self.state.other();
        self.flipped = now;
        self.flipped_at = place;
    }

    /// Names the operations of the slots that are left: those that never return.
    pub fn close(&mut self, trace: &mut impl Trace) {
        for (slots, open) in self.slots.iter().zip(&self.open) {
            for (slot, open) in slots.iter().zip(open.iter()) {
                trace.fill(slot.place, open.op);
            }
        }
    }
}
