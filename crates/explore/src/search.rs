//! Breadth-first search through the product of the implementation and the sets of specification configurations.
//!
//! *Theorem* (paper 004: refinement checking): an implementation is linearizable iff each of its traces of calls and
//! returns is a trace of the specification in which an operation is call, one invisible atomic effect, return. The product
//! pairs a state with the set of all configurations that the same trace allows; the implementation fails iff some
//! return empties the set.
//!
//! *Antichain*: if `(s, S)` was met with `S ⊆ T`, then every trace that empties `T` from `s` empties `S`, so `(s, T)` need
//! not be explored; it is checked when a state is discovered, and states that a better one replaces are skipped.
//!
//! *Cost*: the number of states times the steps from each. *Precondition*: threads, nodes and data are bounded; the
//! number of operations is not. What is outside of the bounds is not explored, and the outcome says so.

use crate::canonical::{Canonical, TooManyNodes};
use crate::codec::Codec;
use crate::configurations::{Configurations, EMPTY, Message, SetId};
use crate::deadlock::commitments;
use crate::options::{Mode, Options};
use crate::outcome::{Reason, Statistics, ViolationKind};
use crate::retries::{Retired, Retries};
use crate::store::{Index, NONE, StateRef, Store};
use crate::subject::Subject;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Seen, State, Stop};
use seriatim_lang::spec::SpecStop;
use std::time::{Duration, Instant};

/// How often limits are looked at, in expanded states.
const CHECK_EVERY: u64 = 1024;

/// Tells someone how far the search is.
pub type Progress<'a> = dyn FnMut(&Statistics) + 'a;

/// How a search ended.
pub enum Ending {
    /// Everything within the bounds was explored.
    Complete,
    /// A run goes wrong: it leads to this state, and its last step fails.
    Violation(StateRef, ViolationKind),
    /// It ended early.
    Unknown(Reason),
    /// A retired node came back: retries must be explored after all.
    RetiredCameBack,
}

/// A search under way.
pub struct Search<'s> {
    /// What is explored.
    pub subject: &'s Subject,
    options: &'s Options,
    /// The configuration sets.
    pub configurations: Configurations,
    /// Finds representatives.
    pub canonical: Canonical,
    /// Writes and reads states.
    pub codec: Codec,
    /// The states met so far.
    pub store: Store,
    /// What it took so far.
    pub statistics: Statistics,
    retries: Option<Retries>,
    found: Vec<StateRef>,
    orbit: Vec<SetId>,
}

/// A step that is taken together with another one: who, and from which state.
pub struct Taken {
    /// Which thread.
    pub thread: usize,
    /// The state before it.
    pub from: State,
}

/// Why an expansion stops the search.
pub enum Halt {
    /// A run goes wrong.
    Violation(ViolationKind),
    /// There is no answer.
    Unknown(Reason),
    /// A retired node came back.
    RetiredCameBack,
}

impl From<SpecStop> for Halt {
    fn from(stop: SpecStop) -> Halt {
        Halt::Unknown(reason(stop))
    }
}

impl From<TooManyNodes> for Halt {
    fn from(_: TooManyNodes) -> Halt {
        Halt::Unknown(Reason::Nodes)
    }
}

fn reason(stop: SpecStop) -> Reason {
    match stop {
        SpecStop::NotEnabled => Reason::Specification("it is not enabled".to_string()),
        SpecStop::Broken(why) => Reason::Specification(why),
    }
}

impl<'s> Search<'s> {
    /// A search that has not begun.
    pub fn new(subject: &'s Subject, options: &'s Options) -> Result<(Self, SetId), Reason> {
        let (configurations, start) = Configurations::new(subject, options.mode).map_err(reason)?;
        let search = Search {
            subject,
            options,
            configurations,
            canonical: Canonical::new(subject, &options.reductions),
            codec: Codec::new(subject, &options.reductions),
            store: Store::new(match options.reductions.antichain {
                true => Index::State,
                false => Index::StateAndSet,
            }),
            statistics: Statistics::default(),
            retries: retries(subject, options),
            found: vec![],
            orbit: vec![],
        };
        Ok((search, start))
    }

    /// Explores everything that can be reached from a state.
    pub fn run(&mut self, initial: &State, start: SetId, progress: &mut Progress<'_>) -> Ending {
        let clock = Instant::now();
        let ending = self.explore(initial, start, clock, progress);
        self.refresh(clock.elapsed());
        ending
    }

    fn explore(
        &mut self,
        initial: &State,
        start: SetId,
        clock: Instant,
        progress: &mut Progress<'_>,
    ) -> Ending {
        if let Err(halt) = self.discover(initial, start, NONE) {
            return ending(halt, NONE);
        }
        let mut layer_end = self.store.end();
        let mut next = self.store.first();
        let (mut from, mut to) = (State::default(), State::default());
        while let Some(current) = next {
            if current.0 >= layer_end {
                self.statistics.depth += 1;
                layer_end = self.store.end();
            }
            if !self.store.is_dead(current) {
                self.codec.decode(self.subject, self.store.key(current), &mut from);
                let set = self.store.set(current);
                self.statistics.expanded += 1;
                if let Err(halt) = self.expand(&from, set, current, &mut to) {
                    return ending(halt, current);
                }
            }
            if self.statistics.expanded.is_multiple_of(CHECK_EVERY) {
                self.refresh(clock.elapsed());
                progress(&self.statistics);
                if let Some(reason) = self.exhausted(clock.elapsed()) {
                    return Ending::Unknown(reason);
                }
            }
            next = self.store.after(current);
        }
        Ending::Complete
    }

    fn refresh(&mut self, time: Duration) {
        self.statistics.stored = self.store.len();
        self.statistics.kept = self.store.kept();
        self.statistics.sets = self.configurations.len() as u64;
        self.statistics.state_bytes = self.store.bytes() as u64;
        self.statistics.set_bytes = self.configurations.bytes() as u64;
        self.statistics.time = time;
    }

    fn exhausted(&self, time: Duration) -> Option<Reason> {
        let limits = &self.options.limits;
        let bytes = (self.statistics.state_bytes + self.statistics.set_bytes) as usize;
        if limits.time.is_some_and(|limit| time >= limit) {
            return Some(Reason::Time);
        }
        if bytes >= limits.memory || !self.store.has_room() {
            return Some(Reason::Memory);
        }
        limits.states.is_some_and(|limit| self.store.len() >= limit).then_some(Reason::States)
    }

    /// Takes every step from a state.
    fn expand(
        &mut self,
        from: &State,
        set: SetId,
        current: StateRef,
        to: &mut State,
    ) -> Result<(), Halt> {
        let subject = self.subject;
        let (mut moved, mut waits, mut bounded) = (false, false, false);
        let mut all_may_wait = true;
        let retired = self.retired(from);
        for thread in 0..subject.machine.thread_count() {
            if self.is_redundant(from, thread) {
                continue;
            }
            let mut choices = Choices::default();
            let mut may_wait = false;
            loop {
                match subject.machine.run(from, thread, &mut choices, to) {
                    Ok(seen) => {
                        moved = true;
                        self.statistics.transitions += 1;
                        let next = self.events(from, set, thread, &seen)?;
                        let kept = self.settle(
                            (from, to),
                            next,
                            (thread, &seen),
                            retired.as_ref(),
                            &mut vec![],
                        )?;
                        if let Some(next) = kept {
                            self.discover(to, next, current)?;
                        }
                    }
                    Err(Stop::Waits) => (waits, may_wait) = (true, true),
                    Err(Stop::Bounded) => bounded = true,
                    Err(Stop::Ended) => may_wait = true,
                    Err(Stop::Fault(fault, _)) => {
                        return Err(Halt::Violation(ViolationKind::Fault(fault)));
                    }
                }
                if !choices.advance() {
                    break;
                }
            }
            all_may_wait &= may_wait;
        }
        self.statistics.bounded |= bounded;
        let hidden = waits && all_may_wait && self.options.reductions.fusion;
        if waits && !moved && !bounded || hidden && commitments(&subject.fine, from).is_some() {
            return Err(Halt::Violation(ViolationKind::Deadlock));
        }
        Ok(())
    }

    /// Takes the steps that are bound to fail; `None` if the state need not be explored. See `retries`.
    pub fn settle(
        &mut self,
        (from, to): (&State, &mut State),
        set: SetId,
        (thread, seen): (usize, &Seen),
        before: Option<&Retired>,
        taken: &mut Vec<Taken>,
    ) -> Result<Option<SetId>, Halt> {
        let Some(before) = before else { return Ok(Some(set)) };
        let subject = self.subject;
        let Some(retries) = self.retries.take() else { return Ok(Some(set)) };
        let (old, new) = (subject.location(from, thread), subject.location(to, thread));
        let ended = !seen.wrote && seen.ret.is_none() && retries.ends_iteration(old, new);
        let result = if ended {
            Ok(None)
        } else {
            self.catch_up(&retries, to, set, (before, seen.written), taken)
        };
        self.retries = Some(retries);
        result
    }

    fn catch_up(
        &mut self,
        retries: &Retries,
        to: &mut State,
        mut set: SetId,
        (before, written): (&Retired, u64),
        taken: &mut Vec<Taken>,
    ) -> Result<Option<SetId>, Halt> {
        let subject = self.subject;
        let after = retries.retired(subject, to);
        if !before.stays(&after, written) {
            return Err(Halt::RetiredCameBack);
        }
        for _ in 0..64 {
            if retries.is_doomed(subject, to, &after) {
                return Ok(None);
            }
            let Some(thread) = retries.overdue(subject, to, &after) else { break };
            let from = to.clone();
            let Ok(seen) = subject.machine.run(&from, thread, &mut Choices::default(), to) else {
                to.clone_from(&from);
                break;
            };
            taken.push(Taken { thread, from: from.clone() });
            set = self.events(&from, set, thread, &seen)?;
        }
        Ok(Some(set))
    }

    /// The retired nodes of a state, if retries are left out.
    pub fn retired(&self, state: &State) -> Option<Retired> {
        self.retries.as_ref().map(|r| r.retired(self.subject, state))
    }

    /// Whether an idle thread does what the one before it does.
    fn is_redundant(&self, state: &State, thread: usize) -> bool {
        if thread == 0 || !self.canonical.threads_are_alike() {
            return false;
        }
        let machine = &self.subject.machine;
        let location = |t| self.subject.location(state, t);
        let idle = self.subject.locations[location(thread) as usize].idle;
        let role = |t: usize| machine.steps.threads[t].role;
        let known = |t: usize| &state.words[machine.thread_base(t) + 2..machine.thread_base(t + 1)];
        idle && role(thread) == role(thread - 1)
            && location(thread) == location(thread - 1)
            && known(thread) == known(thread - 1)
    }

    /// The configuration set after the calls, effects and returns of a step.
    fn events(
        &mut self,
        from: &State,
        set: SetId,
        thread: usize,
        seen: &Seen,
    ) -> Result<SetId, Halt> {
        let mut set = set;
        let mode = self.options.mode;
        if mode == Mode::Progress {
            return Ok(set);
        }
        if let Some(call) = &seen.call {
            set = self.configurations.call(set, thread, call)?;
        }
        if mode == Mode::Points {
            if seen.helped {
                let why = "annotations that help other threads are not followed";
                return Err(Halt::Unknown(Reason::Unsupported(why.to_string())));
            }
            for _ in 0..seen.effects {
                set = self.configurations.effect(self.subject, set, thread)?;
            }
        }
        if let Some(result) = &seen.ret {
            let message: Message = (self.method(from, thread, seen), result.clone());
            set = self.configurations.give_back(self.subject, set, thread, &message)?;
        }
        if set == EMPTY {
            return Err(Halt::Violation(match mode {
                Mode::Points => ViolationKind::WrongPoint,
                _ => ViolationKind::NotLinearizable,
            }));
        }
        Ok(set)
    }

    /// The method that a thread executes in a step.
    fn method(&self, from: &State, thread: usize, seen: &Seen) -> u32 {
        if let Some((method, _)) = &seen.call {
            return *method;
        }
        let pc = self.subject.machine.pc(from, thread);
        let methods = &self.subject.machine.steps.methods;
        methods.iter().position(|m| m.entry <= pc && pc < m.end).unwrap_or(0) as u32
    }

    /// The records of the representative of a state, whatever their sets.
    pub fn lookup(&mut self, state: &State, into: &mut Vec<StateRef>) {
        into.clear();
        if self.canonical.run(self.subject, &self.codec, state, 0).is_ok() {
            let first = self.store.first().map_or(EMPTY, |first| self.store.set(first));
            self.store.find(&self.canonical.key, first, into);
        }
    }

    /// Computes the representative of a product state: its key and the sets that it may have.
    pub fn represent(&mut self, state: &State, set: SetId) -> Result<Vec<SetId>, Reason> {
        self.name(state, set).map_err(|halt| match halt {
            Halt::Unknown(reason) => reason,
            _ => Reason::Nodes,
        })?;
        Ok(self.orbit.clone())
    }

    /// The set after the events of a step and of those that are taken with it; `None` if they are not allowed.
    pub fn replay(
        &mut self,
        (from, to): (&State, &mut State),
        set: SetId,
        (thread, seen): (usize, &Seen),
        taken: &mut Vec<Taken>,
    ) -> Option<SetId> {
        let retired = self.retired(from);
        let next = self.events(from, set, thread, seen).ok()?;
        match self.settle((from, to), next, (thread, seen), retired.as_ref(), taken) {
            Ok(Some(set)) => Some(set),
            Ok(None) => Some(next),
            Err(_) => None,
        }
    }

    fn name(&mut self, state: &State, set: SetId) -> Result<(), Halt> {
        let mentioned = match self.options.reductions.value_symmetry {
            true => self.configurations.values(self.subject, set),
            false => 0,
        };
        self.canonical.run(self.subject, &self.codec, state, mentioned)?;
        self.orbit.clear();
        for renaming in &self.canonical.renamings {
            let renamed = self.configurations.rename(self.subject, set, renaming)?;
            if !self.orbit.contains(&renamed) {
                self.orbit.push(renamed);
            }
        }
        self.orbit.sort_unstable();
        Ok(())
    }

    /// Stores a product state unless one that is at least as good was met.
    fn discover(&mut self, state: &State, set: SetId, parent: StateRef) -> Result<(), Halt> {
        self.name(state, set)?;
        let nodes = (self.canonical.key[0] & 0xff) as u8;
        self.statistics.nodes = self.statistics.nodes.max(u32::from(nodes));
        let mut found = std::mem::take(&mut self.found);
        self.store.find(&self.canonical.key, self.orbit[0], &mut found);
        let verdict = self.compare(&found);
        self.found = found;
        if verdict? {
            self.store.insert(&self.canonical.key, self.orbit[0], parent);
        }
        Ok(())
    }

    /// Whether the newcomer is worth keeping; kills the records that it replaces.
    fn compare(&mut self, found: &[StateRef]) -> Result<bool, Halt> {
        for record in found {
            let known = self.store.set(*record);
            if self.orbit.contains(&known) {
                return Ok(false);
            }
            if !self.options.reductions.antichain {
                continue;
            }
            for index in 0..self.orbit.len() {
                if self.configurations.includes(self.subject, self.orbit[index], known)? {
                    return Ok(false);
                }
            }
        }
        if self.options.reductions.antichain {
            for record in found {
                let known = self.store.set(*record);
                if self.configurations.includes(self.subject, known, self.orbit[0])? {
                    self.store.kill(*record);
                }
            }
        }
        Ok(true)
    }
}

fn ending(halt: Halt, at: StateRef) -> Ending {
    match halt {
        Halt::Violation(kind) => Ending::Violation(at, kind),
        Halt::Unknown(reason) => Ending::Unknown(reason),
        Halt::RetiredCameBack => Ending::RetiredCameBack,
    }
}

/// Retries are left out only where steps are fused, so that calls have no state of their own, and where
/// annotations do not make iterations visible.
fn retries(subject: &Subject, options: &Options) -> Option<Retries> {
    let wanted = options.reductions.retries
        && options.reductions.fusion
        && options.reductions.heap_symmetry
        && options.mode == Mode::Refinement;
    if wanted { Retries::of(subject) } else { None }
}
