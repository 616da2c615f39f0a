//! Which texts a key may hold where texts are appended: those that the next `get` allows.
//!
//! **Theorem.** Follow one way in which everything so far may have happened to a key (`cells`), and
//! let `g` be the `get` that returns next among those that have not taken effect in it. If every
//! open operation that changes the key otherwise than by appending has taken effect, and none is
//! called before `g` returns, then only appends take effect before `g` does: so what `g` returns
//! begins with what the key holds now. A way in which it does not is none. If there is no such
//! `get`, nobody asks for the text any more, and all texts are as good as one.
//!
//! So the results tell the order of the appends, and there are few ways where else there would be
//! one for each order of what is open. **Cost:** one more pass over the events.
//!
//! **What would make it unsound:** nothing that is believed. An order is replayed; and a key that
//! has no way left is left to the general search, so that no violation rests on this.

use super::deeds::{Deed, Recorded};
use crate::fast::Declined;
use crate::fast::containers::container::Dense;
use seriatim_history::{Event, OpId, ValueId};

/// The queries of a key that are to come.
#[derive(Default)]
pub(super) struct Ahead {
    /// By return.
    gets: Vec<Get>,
    /// The first that has not returned yet.
    next: usize,
    /// How many operations have been called that change the key otherwise than by appending.
    called: u32,
}

struct Get {
    op: OpId,
    value: ValueId,
    /// How many of those operations are called before it returns.
    called: u32,
}

/// What is asked of a text.
#[derive(Clone, Copy)]
pub(super) enum Expected {
    /// Anything may be.
    Anything,
    /// Nobody asks.
    Nothing,
    /// That this text begins with it.
    Begins(ValueId),
}

impl Ahead {
    /// The queries of all keys, by the keys' numbers.
    pub fn of_keys(
        recorded: &Recorded<'_>,
        events: impl Iterator<Item = Event>,
        mut keys: Dense,
    ) -> Result<Vec<Ahead>, Declined> {
        let mut all: Vec<Ahead> = Vec::new();
        for event in events {
            let (Event::Call(op) | Event::Return(op)) = event;
            let (key, Some(deed)) = recorded.read(op)? else { continue };
            let key = keys.number(key, all.len() as u32) as usize;
            if key == all.len() {
                all.push(Ahead::default());
            }
            let ahead = &mut all[key];
            match (event, deed) {
                (Event::Call(_), _) => ahead.call(deed),
                (Event::Return(_), Deed::Saw(value)) => {
                    ahead.gets.push(Get { op, value, called: ahead.called });
                }
                _ => {}
            }
        }
        all.iter_mut().for_each(|ahead| ahead.called = 0);
        Ok(all)
    }

    /// An operation of the key is called.
    pub fn call(&mut self, deed: Deed) {
        self.called += u32::from(deed.overwrites());
    }

    /// An operation of the key has returned.
    pub fn ret(&mut self, deed: Deed) {
        self.next += usize::from(matches!(deed, Deed::Saw(_)));
    }

    /// What is asked of a text in a way; `waits` says whether an operation that changes the key
    /// otherwise than by appending has not taken effect.
    pub fn expected(&self, is_done: impl Fn(OpId) -> bool, waits: bool) -> Expected {
        match self.gets[self.next..].iter().find(|get| !is_done(get.op)) {
            None => Expected::Nothing,
            Some(get) if get.called == self.called && !waits => Expected::Begins(get.value),
            Some(_) => Expected::Anything,
        }
    }
}
