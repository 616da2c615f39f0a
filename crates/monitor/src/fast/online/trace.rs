//! Where an online monitor writes down the order that it finds, if anybody wants it.
//!
//! An online monitor sometimes knows that *some* open operation took effect, and learns which only
//! when that operation returns: the order has a *slot* for it, filled later. And it sometimes
//! learns only at its return what a query saw, an instant ago: the query then goes right in front
//! of an earlier place.

use seriatim_history::OpId;
use seriatim_limits::InOrder;

/// A place in the order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fast) struct Place(u32);

impl Place {
    /// The place in front of everything.
    pub const START: Place = Place(0);
}

/// Writes an order down.
pub(in crate::fast) trait Trace {
    /// Whether the order is kept.
    const KEEPS: bool;
    /// An operation takes effect now.
    fn place(&mut self, op: OpId) -> Place;
    /// Some operation takes effect now; it is named later.
    fn slot(&mut self) -> Place;
    /// Names the operation of a slot.
    fn fill(&mut self, slot: Place, op: OpId);
    /// An operation took effect right in front of a place.
    fn before(&mut self, place: Place, op: OpId);
}

/// Nobody wants the order.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::fast) struct Forget;

impl Trace for Forget {
    const KEEPS: bool = false;

    fn place(&mut self, _: OpId) -> Place {
        Place::START
    }
    fn slot(&mut self) -> Place {
        Place::START
    }
    fn fill(&mut self, _: Place, _: OpId) {}
    fn before(&mut self, _: Place, _: OpId) {}
}

/// The order, kept.
#[derive(Clone, Debug, Default)]
pub(in crate::fast) struct Keep {
    order: Vec<OpId>,
    before: Vec<(u32, OpId)>,
}

/// A slot that is not filled.
const OPEN: OpId = OpId(u32::MAX);

impl Keep {
    /// An order with room for some operations.
    pub fn with_capacity(operations: usize) -> Self {
        Keep { order: Vec::with_capacity(operations), before: Vec::new() }
    }

    /// The operations in order. Every slot must be filled.
    pub fn into_order(mut self) -> Vec<OpId> {
        if self.before.is_empty() {
            debug_assert!(!self.order.contains(&OPEN), "every slot is filled");
            return self.order;
        }
        let mut order = Vec::with_capacity(self.order.len() + self.before.len());
        self.drain(|op| order.push(op));
        order
    }

    /// Hands out the operations in order, and begins anew. Every slot must be filled.
    pub fn drain(&mut self, mut hand: impl FnMut(OpId)) {
        debug_assert!(!self.order.contains(&OPEN), "every slot is filled");
        self.before.put_in_order_by_key(|&(place, _)| place);
        let mut before = self.before.drain(..).peekable();
        for (place, op) in self.order.drain(..).enumerate() {
            while let Some((_, earlier)) = before.next_if(|&(at, _)| at as usize == place) {
                hand(earlier);
            }
            hand(op);
        }
        before.for_each(|(_, op)| hand(op));
    }
}

impl Trace for Keep {
    const KEEPS: bool = true;

    fn place(&mut self, op: OpId) -> Place {
        self.order.push(op);
        Place(self.order.len() as u32 - 1)
    }

    fn slot(&mut self) -> Place {
        self.place(OPEN)
    }

    fn fill(&mut self, slot: Place, op: OpId) {
        self.order[slot.0 as usize] = op;
    }

    fn before(&mut self, place: Place, op: OpId) {
        self.before.push((place.0, op));
    }
}
