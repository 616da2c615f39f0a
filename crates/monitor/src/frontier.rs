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
//! Between *quiet moments*, at which nothing is open, the frontier grows with the operations that
//! overlap; at a quiet moment it is a set of states. The work is bounded: with more than [`MOST`]
//! configurations the frontier gives up and says so ([`Declined::TooManyChoices`]). Objects that
//! consist of independent parts (keys) have a frontier for each part, until an operation looks at
//! the whole ([`Declined::Whole`]).
//!
//! *Unsound if* a specification's [`effects`](Live::effects) were not all that an operation may do,
//! or if its parts depended on each other. That is why nobody believes it alone: the ordinary check
//! decides what the frontier calls wrong, as for every online monitor.

use crate::fast::{Declined, Stop};
use hashbrown::HashMap;
use seriatim_history::OpId;
use seriatim_spec::live::{Live, Sample, Told, WantsLive, live};
use seriatim_spec::{ChosenReader, Decoded, checkpoint};

/// How many configurations may be looked at for one event.
pub const MOST: usize = 1 << 13;

/// A monitor of any specification that hears of events as they happen. After it has stopped it must
/// not be used again.
pub trait Exact {
    /// An operation is called; no two open ones have the same number.
    fn call(&mut self, op: OpId, told: Told<'_>) -> Result<(), Stop>;

    /// An operation returns. One whose outcome is pending stays open for ever.
    fn ret(&mut self, op: OpId, told: Told<'_>) -> Result<(), Stop>;

    /// How many configurations and open operations are remembered.
    fn remembered(&self) -> usize;
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
    Box::new(Watched { live, open: HashMap::new(), parts: HashMap::new() })
}

/// What is watched: the frontiers of all parts.
struct Watched<L: Live> {
    live: L,
    /// The part of each open operation.
    open: HashMap<OpId, Option<u64>>,
    parts: HashMap<Option<u64>, Frontier<L>>,
}

impl<L: Live> Exact for Watched<L> {
    fn call(&mut self, op: OpId, told: Told<'_>) -> Result<(), Stop> {
        let Decoded::Pending(what) = self.hear(told)? else {
            return unheard(format!("{} is over before it has begun", told.method));
        };
        let part = self.live.part(&what);
        let is_mixed = match part {
            None => self.parts.keys().any(Option::is_some),
            Some(_) => self.parts.contains_key(&None),
        };
        if is_mixed {
            return Err(Declined::Whole.into());
        }
        self.open.insert(op, part);
        let live = &self.live;
        let frontier = self.parts.entry(part).or_insert_with(|| Frontier::new(live));
        frontier.call(live, op, what);
        Ok(())
    }

    fn ret(&mut self, op: OpId, told: Told<'_>) -> Result<(), Stop> {
        let decoded = self.hear(told)?;
        let part = self.open.get(&op).copied();
        let Some(frontier) = part.and_then(|part| self.parts.get_mut(&part)) else {
            return unheard("a return without a call".to_owned());
        };
        let reason = match decoded {
            Decoded::Pending(_) => {
                frontier.forget_answers(op);
                return Ok(());
            }
            Decoded::Dropped => {
                frontier.drop_operation(op);
                format!("{} failed, and something saw its effect", told.method)
            }
            Decoded::Completed(what, answer) => {
                let reason = frontier.objection(&self.live, &what, &answer);
                frontier.ret(&self.live, op, what, answer)?;
                reason
            }
        };
        self.open.remove(&op);
        match frontier.possible.is_empty() {
            true => Err(Stop::violation(op, reason)),
            false => Ok(()),
        }
    }

    fn remembered(&self) -> usize {
        self.open.len() + self.parts.values().map(|part| part.possible.len()).sum::<usize>()
    }
}

impl<L: Live> Watched<L> {
    fn hear(&mut self, told: Told<'_>) -> Result<Decoded<L::Op, L::Answer>, Stop> {
        self.live.hear(told).map_err(|why| Declined::Unheard { why }.into())
    }
}

fn unheard(why: String) -> Result<(), Stop> {
    Err(Declined::Unheard { why }.into())
}

/// The answers that open operations could have given without changing anything, by operation; only
/// some.
type Noted<A> = Vec<(OpId, Vec<A>)>;

/// The open operations that have changed the state, in ascending order, with their answers; `None`
/// where nobody will ever ask.
type Changes<A> = Vec<(OpId, Option<A>)>;

/// One way in which everything so far may have happened.
struct Configuration<L: Live> {
    state: L::State,
    changes: Changes<L::Answer>,
    noted: Noted<L::Answer>,
}

impl<L: Live> Clone for Configuration<L> {
    fn clone(&self) -> Self {
        let (changes, noted) = (self.changes.clone(), self.noted.clone());
        Configuration { state: self.state.clone(), changes, noted }
    }
}

impl<L: Live> Configuration<L> {
    fn has_changed(&self, op: OpId) -> bool {
        self.changes.binary_search_by_key(&op, |change| change.0).is_ok()
    }

    /// The answers that are noted for an operation.
    fn noted(&self, op: OpId) -> &[L::Answer] {
        let place = self.noted.binary_search_by_key(&op, |noted| noted.0);
        place.map_or(&[], |place| &self.noted[place].1)
    }

    /// The same without any trace of an operation.
    fn without(mut self, op: OpId) -> Self {
        self.changes.retain(|change| change.0 != op);
        self.noted.retain(|noted| noted.0 != op);
        self
    }

    /// The same after an open operation has changed the state and answered.
    fn after(&self, op: OpId, answer: L::Answer, state: L::State) -> Self {
        let mut next = self.clone().without(op);
        let place = next.changes.partition_point(|change| change.0 < op);
        next.changes.insert(place, (op, Some(answer)));
        next.state = state;
        next
    }

    fn note(&mut self, op: OpId, answer: L::Answer) {
        match self.noted.binary_search_by_key(&op, |noted| noted.0) {
            Ok(place) if self.noted[place].1.contains(&answer) => {}
            Ok(place) => self.noted[place].1.push(answer),
            Err(place) => self.noted.insert(place, (op, vec![answer])),
        }
    }
}

/// Whether every answer of the first is also among the second.
fn is_covered<A: Eq>(one: &Noted<A>, other: &Noted<A>) -> bool {
    one.iter().all(|(op, answers)| {
        let place = other.binary_search_by_key(op, |noted| noted.0);
        place.is_ok_and(|place| answers.iter().all(|answer| other[place].1.contains(answer)))
    })
}

/// What the effects so far have made: the state, and what has changed.
type Effects<L> = (<L as Live>::State, Changes<<L as Live>::Answer>);

/// Configurations of which none covers another.
struct Antichain<L: Live> {
    by_effects: HashMap<Effects<L>, Vec<Noted<L::Answer>>>,
    /// How many were ever added.
    count: usize,
}

impl<L: Live> Antichain<L> {
    fn new() -> Self {
        Antichain { by_effects: HashMap::new(), count: 0 }
    }

    /// Adds a configuration; whether it is new and none covers it.
    fn add(&mut self, new: &Configuration<L>) -> bool {
        let key = (new.state.clone(), new.changes.clone());
        let others = self.by_effects.entry(key).or_default();
        if others.iter().any(|other| is_covered(&new.noted, other)) {
            return false;
        }
        others.retain(|other| !is_covered(other, &new.noted));
        others.push(new.noted.clone());
        self.count += 1;
        true
    }

    fn into_configurations(self) -> Vec<Configuration<L>> {
        let each = self.by_effects.into_iter().flat_map(|((state, changes), all)| {
            let one = move |noted| Configuration {
                state: state.clone(),
                changes: changes.clone(),
                noted,
            };
            all.into_iter().map(one)
        });
        each.collect()
    }
}

/// An operation that was called and has not returned.
struct Open<O> {
    op: OpId,
    what: O,
    /// Whether it will never return: then nobody asks for its answer.
    is_lost: bool,
}

/// Everything that may be true of one part of the object.
struct Frontier<L: Live> {
    open: Vec<Open<L::Op>>,
    possible: Vec<Configuration<L>>,
}

impl<L: Live> Frontier<L> {
    fn new(live: &L) -> Self {
        let start = Configuration { state: live.initial(), changes: Vec::new(), noted: Vec::new() };
        Frontier { open: Vec::new(), possible: vec![start] }
    }

    fn call(&mut self, live: &L, op: OpId, what: L::Op) {
        for configuration in &mut self.possible {
            note(live, configuration, op, &what);
        }
        self.open.push(Open { op, what, is_lost: false });
    }

    /// An operation will never return.
    fn forget_answers(&mut self, op: OpId) {
        for open in self.open.iter_mut().filter(|open| open.op == op) {
            open.is_lost = true;
        }
        let mut kept = Antichain::new();
        for mut configuration in self.possible.drain(..) {
            configuration.noted.retain(|noted| noted.0 != op);
            for change in configuration.changes.iter_mut().filter(|change| change.0 == op) {
                change.1 = None;
            }
            kept.add(&configuration);
        }
        self.possible = kept.into_configurations();
    }

    /// An operation has failed and did not happen.
    fn drop_operation(&mut self, op: OpId) {
        self.open.retain(|open| open.op != op);
        let mut kept = Antichain::new();
        for configuration in self.possible.drain(..).filter(|one| !one.has_changed(op)) {
            kept.add(&configuration.without(op));
        }
        self.possible = kept.into_configurations();
    }

    /// Why a result is wrong in the first of the states that were possible before it.
    fn objection(&self, live: &L, what: &L::Op, answer: &L::Answer) -> String {
        let first = self.possible.first();
        let why = first.map(|first| live.explain(&first.state, what, answer)).unwrap_or_default();
        let others = self.possible.len().saturating_sub(1);
        match (why.is_empty(), others) {
            (true, _) => "no order of the operations explains this result".to_owned(),
            (false, 0) => why,
            (false, others) => format!("{why} (and {others} other states are as impossible)"),
        }
    }

    /// An operation returns: what is possible from now on.
    fn ret(&mut self, live: &L, due: OpId, returned: L::Op, answer: L::Answer) -> Result<(), Stop> {
        let Some(called) = self.open.iter().find(|open| open.op == due) else {
            return unheard("a return without a call".to_owned());
        };
        if !live.is_same(&called.what, &returned) {
            return unheard(
                "the return of an operation tells another one than its call".to_owned(),
            );
        }
        let settling = Settling { live, frontier: self, due, called: &called.what };
        let settled = settling.run(&returned, &answer)?;
        self.possible = settled.into_configurations();
        self.open.retain(|open| open.op != due);
        Ok(())
    }
}

/// Notes what an open operation would answer in a configuration's state without changing it.
fn note<L: Live>(live: &L, configuration: &mut Configuration<L>, op: OpId, what: &L::Op) {
    for (answer, after) in live.effects(&configuration.state, what) {
        if after.is_none() {
            configuration.note(op, answer);
        }
    }
}

/// The return of an operation that must have taken effect.
struct Settling<'f, L: Live> {
    live: &'f L,
    frontier: &'f Frontier<L>,
    due: OpId,
    called: &'f L::Op,
}

impl<L: Live> Settling<'_, L> {
    fn run(&self, returned: &L::Op, answer: &L::Answer) -> Result<Antichain<L>, Stop> {
        let Settling { live, frontier, due, called } = *self;
        let never_changes = live.leaves_unchanged(returned, answer);
        let fits = |given: &L::Answer| live.is_borne_out((called, given), (returned, answer));
        let mut settled = Antichain::new();
        let mut met = Antichain::new();
        let mut waiting: Vec<Configuration<L>> = frontier.possible.to_vec();
        // What waits has been met, and nothing that it reaches without the due operation is left
        // out.
        while let Some(one) = waiting.pop() {
            checkpoint();
            if let Some((_, given)) = one.changes.iter().find(|change| change.0 == due) {
                if given.as_ref().is_none_or(&fits) {
                    settled.add(&one.without(due));
                }
                continue;
            }
            if one.noted(due).iter().any(&fits) {
                settled.add(&one.clone().without(due));
                // Whatever could happen now can also happen later.
                if never_changes {
                    continue;
                }
            }
            for (given, after) in live.effects(&one.state, returned) {
                if live.is_borne_out((returned, &given), (returned, answer)) {
                    let next = one.clone().without(due);
                    settled.add(&match after {
                        Some(state) => self.noting(Configuration { state, ..next }).without(due),
                        None => next,
                    });
                }
            }
            self.steps(&one, |next| {
                if met.add(&next) {
                    waiting.push(next);
                }
            });
            let tried = met.count + settled.count;
            if tried > MOST {
                return Err(Declined::TooManyChoices { tried }.into());
            }
        }
        Ok(settled)
    }

    /// The configurations after one more operation, not the one that is due, has changed the state.
    fn steps(&self, from: &Configuration<L>, mut take: impl FnMut(Configuration<L>)) {
        for Open { op, what, is_lost } in &self.frontier.open {
            if *op == self.due || from.has_changed(*op) {
                continue;
            }
            for (answer, after) in self.live.effects(&from.state, what) {
                let Some(state) = after else { continue };
                let mut next = from.after(*op, answer, state);
                if *is_lost {
                    next.changes.iter_mut().filter(|c| c.0 == *op).for_each(|c| c.1 = None);
                }
                take(self.noting(next));
            }
        }
    }

    /// Notes the answers of what is still open in a configuration's new state.
    fn noting(&self, mut next: Configuration<L>) -> Configuration<L> {
        for Open { op, what, is_lost } in &self.frontier.open {
            if !is_lost && !next.has_changed(*op) {
                note(self.live, &mut next, *op, what);
            }
        }
        next
    }
}
