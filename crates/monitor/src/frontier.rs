//! Any specification, checked exactly while events happen, by everything that may be true of the
//! past.
//!
//! ```text
//!   a: |--push 1--|              after this event ──► the stack is [1], or [1,2], or [2,1] …
//!   b:      |--push 2----- …     and of b nobody knows yet whether it has taken effect
//! ```
//!
//! A *configuration* tells one way in which everything so far may have happened: the state of the
//! object; which of the *open* operations (called, not returned) have changed it, with the answers
//! that they gave; and for each other open operation the answers that it could have given, since
//! its call, without changing anything. The *frontier* is the set of configurations.
//!
//! **Theorem.** Let the frontier begin with the initial state. At a call, the new operation notes
//! what it would answer in each configuration if that changes nothing. At a return, configurations
//! let open operations take effect one after another, in every way, each new state being noted for
//! all that are still open, until the one that returns has taken effect with the answer that the
//! log tells: as a change, or because such an answer was noted. All others are dropped, and of the
//! rest those that another one covers (same state, same effects, more answers noted). Then the
//! events so far are linearizable, with open operations taken as pending, iff the frontier is not
//! empty. *Proof.* Each configuration is reached by an order of operations that fits the log: an
//! operation that changes nothing where its answer was noted can be put into the order there, and
//! does not disturb the others. Conversely take an order that fits the log. Leave out what is open
//! and was not needed, and let every other operation wait for the first return, its own or
//! another's, before which it must have taken effect; the order of effects is the same, so by
//! induction over the returns there is a configuration with the order's state and effects, or one
//! with fewer effects from which they can still happen, in which every answer of an operation that
//! changes nothing is noted, since its call was before and its place comes after it. An operation
//! that failed and did not happen leaves those configurations in which it had no effect. ∎
//!
//! **What may wait.** Before a return, only those open operations take effect that are *concerned*:
//! that do not commute with the one that returns, or with one that is concerned. *Proof.* Take an
//! order that fits the log. Whatever stands before the operation that returns, has not returned and
//! is not concerned commutes with all that are concerned, so it can be put behind them, in the same
//! order as before, with the same answers and states; it still stands before its own return, for
//! which it is concerned. (There it may find nothing to change, as the second of two equal writes,
//! so it notes its answer even after operations with which it commutes.) An operation whose result
//! is lost is forgotten if whatever may happen after it may happen without it
//! ([`Live::is_dispensable`]): every order is one without it as well. ∎
//!
//! Between *quiet moments*, at which nothing is open, the frontier grows with the operations that
//! overlap; at a quiet moment it is a set of states. The work is bounded: with more than [`MOST`]
//! configurations the frontier gives up and says so ([`Declined::TooManyChoices`]), and likewise
//! with more than [`MOST_NOTED`] answers that open operations may give
//! ([`Declined::TooManyAnswers`]) and with more than [`MOST_OPEN`] open operations
//! ([`Declined::TooManyOpen`]): what is never returned must not slow down everything after it.
//! Configurations share what is noted, and states what they hold. Objects that
//! consist of independent parts (keys) have a frontier for each part, until an operation looks at
//! the whole ([`Declined::Whole`]).
//!
//! *Unsound if* a specification's [`effects`](Live::effects) were not all that an operation may do,
//! if its parts depended on each other, or if it called operations commuting that do not. That is
//! why nobody believes it alone: the ordinary check decides what the frontier calls wrong, as for
//! every online monitor.

mod configuration;
mod order;
mod part;
mod path;

use crate::fast::{Declined, Stop};
use hashbrown::HashMap;
use part::Part;
use seriatim_history::{OpId, Time, ValueId};
use seriatim_spec::live::{Live, Sample, Told, WantsLive, live};
use seriatim_spec::{ChosenReader, Decoded};

/// How many configurations may be looked at for one event.
pub const MOST: usize = 1 << 13;

/// How many effects and noted operations all configurations that are looked at for one event may
/// have together: what they take in memory.
pub const MOST_HELD: usize = 1 << 19;

/// How many operations of a part may be open. Each change asks all of them what they would answer.
pub const MOST_OPEN: usize = 1 << 10;

/// How many answers of open operations may be noted in a configuration, by their weight.
pub const MOST_NOTED: usize = 1 << 18;

/// A monitor of any specification that hears of events as they happen. After it has stopped it must
/// not be used again.
pub trait Exact {
    /// An operation is called; no two open ones have the same number.
    fn call(&mut self, op: OpId, told: Told<'_>) -> Result<(), Stop>;

    /// An operation returns. One whose outcome is pending stays open for ever.
    fn ret(&mut self, op: OpId, told: Told<'_>) -> Result<(), Stop>;

    /// How many configurations and open operations are remembered.
    fn remembered(&self) -> usize;

    /// Whether an order of everything that happened was replayed; an error says why not. Nothing
    /// can be heard afterwards.
    fn finish(&mut self) -> Result<(), &'static str>;
}

/// The frontier of a built-in specification; an error says why there is none.
pub fn frontier(reader: &ChosenReader, sample: Sample<'_>) -> Result<Box<dyn Exact>, String> {
    struct Boxed;
    impl WantsLive for Boxed {
        type Made = Box<dyn Exact>;

        fn take<L: Live + 'static>(self, live: L) -> Box<dyn Exact> {
            frontier_of(live)
        }
    }
    live(reader, sample, Boxed)
}

/// The frontier of a specification.
pub fn frontier_of<L: Live + 'static>(live: L) -> Box<dyn Exact> {
    let first = live.initial();
    Box::new(Watched { live, first, open: HashMap::new(), parts: HashMap::new(), now: 0 })
}

/// What is watched: the frontiers of all parts.
struct Watched<L: Live> {
    live: L,
    /// The state before the first operation.
    first: L::State,
    /// The part of each open operation.
    open: HashMap<OpId, Option<u64>>,
    parts: HashMap<Option<u64>, Part<L>>,
    /// How many events there were: the time.
    now: Time,
}

impl<L: Live> Exact for Watched<L> {
    fn call(&mut self, op: OpId, told: Told<'_>) -> Result<(), Stop> {
        let Decoded::Pending(what) = self.hear(told)? else {
            return unheard(format!("{} is over before it has begun", told.method));
        };
        let name = self.live.part(&what);
        let is_mixed = match name {
            None => self.parts.keys().any(Option::is_some),
            Some(_) => self.parts.contains_key(&None),
        };
        if is_mixed {
            return Err(Declined::Whole.into());
        }
        self.open.insert(op, name);
        let (live, first) = (&self.live, &self.first);
        let part = self.parts.entry(name).or_insert_with(|| Part::new(live, first, &what));
        part.call(live, self.now, op, what);
        Ok(())
    }

    fn ret(&mut self, op: OpId, told: Told<'_>) -> Result<(), Stop> {
        let decoded = self.hear(told)?;
        let name = self.open.get(&op).copied();
        let Some((name, part)) = name.and_then(|name| Some((name, self.parts.get_mut(&name)?)))
        else {
            return unheard("a return without a call".to_owned());
        };
        let objection = match decoded {
            Decoded::Pending(_) => {
                if !part.lose(&self.live, op) {
                    return Ok(());
                }
                None
            }
            Decoded::Dropped => (!part.fail(op))
                .then(|| format!("{} failed, and something saw its effect", told.method)),
            Decoded::Completed(what, answer) => {
                part.ret(&self.live, self.now, op, (what, answer))?
            }
        };
        self.open.remove(&op);
        if objection.is_none() && part.is_as_at_first(&self.first) {
            self.parts.remove(&name);
        }
        match objection {
            Some(reason) => Err(Stop::violation(op, reason)),
            None => Ok(()),
        }
    }

    fn remembered(&self) -> usize {
        self.open.len() + self.parts.values().map(Part::remembered).sum::<usize>()
    }

    fn finish(&mut self) -> Result<(), &'static str> {
        self.parts.values_mut().try_for_each(|part| part.finish(&self.live))
    }
}

impl<L: Live> Watched<L> {
    fn hear(&mut self, told: Told<'_>) -> Result<Decoded<L::Op, L::Answer>, Stop> {
        self.now += 1;
        if self.live.is_full() {
            self.forget_values();
        }
        self.live.hear(told).map_err(|why| Declined::Unheard { why }.into())
    }

    /// Forgets the values that nothing names any more.
    fn forget_values(&mut self) {
        let mut named: Vec<ValueId> = Vec::new();
        for part in self.parts.values() {
            part.mention(&self.live, &mut |value| named.push(value));
        }
        self.live.keep_only(named);
    }
}

fn unheard(why: String) -> Result<(), Stop> {
    Err(Declined::Unheard { why }.into())
}
