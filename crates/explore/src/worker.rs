//! One worker of a search: takes the steps from a state, follows their calls and returns through
//! the configuration sets, and finds the representatives of what comes out. It owns all that it
//! writes; what it shares with others is read-only (`subject`, `pure_iterations`, `codec`) or made
//! for sharing (`configurations`).

use crate::canonical::{Canonical, TooManyNodes};
use crate::codec::{Codec, node_count};
use crate::configurations::{Configurations, Context, EMPTY, Memos, Message, SetId};
use crate::deadlock::{Commitment, Known, deadlock};
use crate::options::{Mode, Options};
use crate::outcome::{Cuts, Reason, ViolationKind};
use crate::pure_iterations::{Dooms, PureIterations, Retired};
use crate::sabotage::{Sabotage, is_broken};
use crate::subject::Subject;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Machine, Seen, State, Stop};
use seriatim_lang::spec::SpecStop;
use seriatim_limits::{InOrder, checkpoint};
use std::ops::Range;

/// What all workers of a search share.
pub struct Common<'s> {
    /// What is explored.
    pub subject: &'s Subject,
    /// How.
    pub options: &'s Options,
    /// The configuration sets.
    pub configurations: Configurations,
    /// Writes and reads states.
    pub codec: Codec,
    /// Which iterations need not be explored, if any.
    pub pure_iterations: Option<PureIterations>,
}

/// A step of a thread.
pub struct Transition<'s> {
    /// Who takes it.
    pub thread: usize,
    /// What is seen of it.
    pub seen: &'s Seen,
    /// The state before it.
    pub from: &'s State,
    /// The state after it; what is taken with it is taken there.
    pub to: &'s mut State,
}

/// The most overdue steps that are taken together with one step.
const MOST_OVERDUE: usize = 64;

/// Why an expansion stops the search.
#[derive(Clone, Debug)]
pub enum Halt {
    /// A run goes wrong.
    Violation(ViolationKind),
    /// There is no answer.
    Unknown(Reason),
    /// A reduction relies on something that is not so.
    Unfounded(Premise),
}

/// What a reduction relies on; the search checks it as it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Premise {
    /// Retired nodes stay retired.
    Retirement,
    /// Locks are taken in a fixed order.
    LockOrder,
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

/// A defect of the specification as a reason.
pub fn reason(stop: SpecStop) -> Reason {
    match stop {
        SpecStop::NotEnabled => Reason::Specification("it is not enabled".to_string()),
        SpecStop::Broken(why) => Reason::Specification(why),
    }
}

/// What a worker counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// States expanded.
    pub expanded: u64,
    /// Steps taken.
    pub transitions: u64,
    /// Most nodes of a state.
    pub nodes: u32,
    /// Which bounds cut off a run.
    pub cuts: Cuts,
}

/// A step that is taken together with another one: who, and from which state.
pub struct Taken {
    /// Which thread.
    pub thread: usize,
    /// The state before it.
    pub from: State,
}

/// A worker.
pub struct Worker<'s> {
    common: &'s Common<'s>,
    /// Finds representatives.
    pub canonical: Canonical,
    /// What it remembers about configuration sets.
    pub memos: Memos,
    /// What it counted.
    pub counts: Counts,
    dooms: Dooms,
    orbit: Vec<(u64, SetId)>,
    /// The last result, in a place that is not asked for anew each time.
    message: Message,
    to: State,
    scratch: State,
}

/// Takes the representative of a state that was found: its encoding, and the sets that it may have,
/// best first.
pub type Sink<'a> = &'a mut dyn FnMut(&[u32], &[(u64, SetId)]);

impl<'s> Worker<'s> {
    /// A worker of a search.
    pub fn new(common: &'s Common<'s>) -> Self {
        Worker {
            common,
            canonical: Canonical::new(common.subject, &common.options.reductions),
            memos: Memos::default(),
            counts: Counts::default(),
            dooms: Dooms::default(),
            orbit: vec![],
            message: Message::default(),
            to: State::default(),
            scratch: State::default(),
        }
    }

    /// How many bytes its memory takes.
    pub fn bytes(&self) -> usize {
        self.memos.bytes()
    }

    /// Takes every step from a state.
    pub fn expand(&mut self, from: &State, set: SetId, sink: Sink<'_>) -> Result<(), Halt> {
        let mut to = std::mem::take(&mut self.to);
        let result = self.take_steps(from, set, &mut to, sink);
        self.to = to;
        result
    }

    fn take_steps(
        &mut self,
        from: &State,
        set: SetId,
        to: &mut State,
        sink: Sink<'_>,
    ) -> Result<(), Halt> {
        let subject = self.common.subject;
        self.counts.expanded += 1;
        let (mut moved, mut waits, mut bounded) = (false, false, false);
        let mut all_may_wait = true;
        let retired = self.retired(from);
        for thread in 0..subject.machine.thread_count() {
            if self.is_redundant(from, thread) || is_lost(&subject.machine, from, thread) {
                continue;
            }
            let mut choices = Choices::default();
            let mut may_wait = false;
            loop {
                checkpoint();
                match subject.machine.run(from, thread, &mut choices, to) {
                    Ok(seen) => {
                        moved = true;
                        self.counts.transitions += 1;
                        let next = self.events(from, set, thread, &seen)?;
                        let step = Transition { thread, seen: &seen, from, to };
                        if let Some(next) = self.settle(step, next, retired.as_ref(), None)? {
                            self.name(to, next)?;
                            sink(&self.canonical.key, &self.orbit);
                        }
                    }
                    Err(Stop::Waits) => (waits, may_wait) = (true, true),
                    Err(Stop::Bounded(cut)) => {
                        bounded = true;
                        self.counts.cuts.add(cut);
                    }
                    Err(Stop::Ended) => may_wait = true,
                    Err(Stop::Disordered) => return Err(Halt::Unfounded(Premise::LockOrder)),
                    Err(Stop::Fault(..)) if is_broken(Sabotage::LostFault) => may_wait = true,
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
        let known = match !moved && !bounded {
            true => Some(Known::AllWait),
            false if self.common.options.reductions.fusion => Some(Known::EachMayWait),
            false => None,
        };
        if let Some(known) = known.filter(|_| waits && all_may_wait)
            && self.deadlock(from, set, known)?.is_some()
        {
            return Err(Halt::Violation(ViolationKind::Deadlock));
        }
        Ok(())
    }

    /// Beginnings after which no thread can go on though the specification could, if there are any.
    pub fn deadlock(
        &mut self,
        state: &State,
        set: SetId,
        known: Known,
    ) -> Result<Option<Vec<Commitment>>, Halt> {
        let common = self.common;
        if matches!(common.options.mode, Mode::Progress(_)) || is_broken(Sabotage::BlindDeadlock) {
            return Ok(None);
        }
        deadlock(common.subject, state, known, &mut |calls| {
            let mut set = set;
            for Commitment { thread, from, seen, .. } in calls {
                set = self.events(from, set, *thread, seen)?;
            }
            let (subject, memos) = (common.subject, &mut self.memos);
            let context = &mut Context { subject, memos };
            Ok(!common.configurations.blocks(context, set)?)
        })
    }

    /// Takes the steps that can be taken at once; `None` if the state need not be explored. See
    /// `pure_iterations`.
    fn settle(
        &mut self,
        step: Transition<'_>,
        mut set: SetId,
        before: Option<&Retired>,
        mut taken: Option<&mut Vec<Taken>>,
    ) -> Result<Option<SetId>, Halt> {
        let (Some(before), Some(pure_iterations)) = (before, &self.common.pure_iterations) else {
            return Ok(Some(set));
        };
        let subject = self.common.subject;
        if self.ends_pure_iteration(pure_iterations, &step) {
            return Ok(None);
        }
        let Transition { thread, seen, from, to } = step;
        let (mut after, mut asked) = self.concerned(pure_iterations, before, (thread, from, to));
        let mut due = asked.clone();
        if !before.stays(&after, seen.written) {
            return Err(Halt::Unfounded(Premise::Retirement));
        }
        // `to` and `set` are those after all overdue steps so far, `after` the retired nodes of
        // `to`. Whatever is still overdue at the end is taken as an ordinary step: a limit costs
        // states and changes no verdict.
        for _ in 0..MOST_OVERDUE {
            if pure_iterations.is_doomed(subject, to, &after, asked, &mut self.dooms) {
                return Ok(None);
            }
            let mut scratch = std::mem::take(&mut self.scratch);
            let found = pure_iterations.overdue(subject, to, &after, due.clone(), &mut scratch);
            std::mem::swap(&mut scratch, to);
            self.scratch = scratch;
            let Some((thread, seen)) = found else {
                std::mem::swap(&mut self.scratch, to);
                break;
            };
            if let Some(taken) = &mut taken {
                taken.push(Taken { thread, from: self.scratch.clone() });
            }
            let from = std::mem::take(&mut self.scratch);
            let next = self.events(&from, set, thread, &seen);
            let overdue = Transition { thread, seen: &seen, from: &from, to };
            let ended = self.ends_pure_iteration(pure_iterations, &overdue);
            self.scratch = from;
            if ended {
                return Ok(None);
            }
            set = next?;
            let step = (thread, &self.scratch, &*to);
            (after, asked) = self.concerned(pure_iterations, &after, step);
            due = due.start.min(asked.start)..due.end.max(asked.end);
        }
        Ok(Some(set))
    }

    /// The retired nodes after a step, and the threads for which it makes a difference.
    ///
    /// Whether an iteration is doomed or a step overdue depends on memory, on which nodes are
    /// retired and on what the thread itself knows. A step that leaves everything else as it was
    /// changes that for its own thread only: a node that is no longer fresh then is known to nobody.
    fn concerned(
        &self,
        pure_iterations: &PureIterations,
        before: &Retired,
        (thread, from, to): (usize, &State, &State),
    ) -> (Retired, Range<usize>) {
        let subject = self.common.subject;
        if self.keeps_to_itself(from, to, thread) && from.heap == to.heap {
            return (pure_iterations.retired_later(subject, before, to), thread..thread + 1);
        }
        (pure_iterations.retired(subject, to), 0..subject.machine.thread_count())
    }

    /// Whether a step brought its thread back to where its iteration began, and nobody sees a
    /// difference.
    fn ends_pure_iteration(&self, pure_iterations: &PureIterations, step: &Transition<'_>) -> bool {
        let Transition { thread, seen, from, ref to } = *step;
        let subject = self.common.subject;
        let (start, end) = (subject.location(from, thread), subject.location(to, thread));
        seen.ret.is_none()
            && pure_iterations.ends_iteration(subject, start, end)
            && (!seen.wrote || self.is_unseen(from, to, thread))
    }

    /// Whether a step of a thread changed nothing but what is its own: others see their
    /// reservations, too. A node that the step made within an iteration is gone at the restart
    /// (`pure_iterations::code`). One that it made before, in a step that begins with the call, is
    /// still there, and the iteration must leave it as it was made: this is not known if the step
    /// wrote something, be it to that node.
    fn is_unseen(&self, from: &State, to: &State, thread: usize) -> bool {
        let machine = &self.common.subject.machine;
        self.keeps_to_itself(from, to, thread)
            && to.heap.starts_with(&from.heap)
            && (!machine.is_idle(from, thread) || to.heap.len() == from.heap.len())
    }

    /// Whether a step left shared variables and what other threads know as they were.
    fn keeps_to_itself(&self, from: &State, to: &State, thread: usize) -> bool {
        let machine = &self.common.subject.machine;
        let (own, rest) = (machine.thread_base(thread), machine.thread_base(thread + 1));
        from.words[..own] == to.words[..own] && from.words[rest..] == to.words[rest..]
    }

    /// The retired nodes of a state, if pure iterations are left out.
    fn retired(&self, state: &State) -> Option<Retired> {
        self.common.pure_iterations.as_ref().map(|r| r.retired(self.common.subject, state))
    }

    /// Whether an idle thread does what the one before it does.
    fn is_redundant(&self, state: &State, thread: usize) -> bool {
        if thread == 0 || !self.canonical.threads_are_alike() {
            return false;
        }
        let subject = self.common.subject;
        let machine = &subject.machine;
        let location = |t| subject.location(state, t);
        let idle = subject.locations[location(thread) as usize].idle;
        let role = |t: usize| machine.steps.threads[t].role;
        let known = |t: usize| &state.words[machine.register_base(t)..machine.thread_base(t + 1)];
        idle && role(thread) == role(thread - 1)
            && location(thread) == location(thread - 1)
            && known(thread) == known(thread - 1)
            && (!machine.steps.uses_tids || self.nobody_knows(state, thread))
    }

    /// Whether nothing in a state tells a thread from the one before it: neither their numbers nor
    /// their elements of arrays by thread.
    fn nobody_knows(&self, state: &State, thread: usize) -> bool {
        let subject = self.common.subject;
        let arrays = subject.machine.steps.thread_arrays.iter();
        let mut alike = arrays.map(|array| {
            let (first, stride) = (array.first as usize, array.stride as usize);
            let element = |t: usize| &state.words[first + t * stride..first + (t + 1) * stride];
            element(thread) == element(thread - 1)
        });
        alike.all(|same| same)
            && self.canonical.named_threads(subject, state) >> (thread - 1) & 3 == 0
    }

    /// The configuration set after the calls, effects and returns of a step.
    pub fn events(
        &mut self,
        from: &State,
        set: SetId,
        thread: usize,
        seen: &Seen,
    ) -> Result<SetId, Halt> {
        let (before, mut set) = (set, set);
        let common = self.common;
        let mode = common.options.mode;
        if matches!(mode, Mode::Progress(_)) {
            return Ok(set);
        }
        if let Some(call) = &seen.call {
            let (subject, memos) = (common.subject, &mut self.memos);
            let context = &mut Context { subject, memos };
            set = common.configurations.call(context, set, thread, call)?;
        }
        if mode == Mode::Points {
            for who in &seen.effects {
                let (subject, memos) = (common.subject, &mut self.memos);
                let context = &mut Context { subject, memos };
                set = match who {
                    Some(who) => common.configurations.effect(context, set, *who as usize)?,
                    None => EMPTY,
                };
            }
        }
        if let Some(result) = &seen.ret {
            let mut message = std::mem::take(&mut self.message);
            message.0 = self.method(from, thread, seen);
            message.1.clone_from(result);
            let (subject, memos) = (common.subject, &mut self.memos);
            let context = &mut Context { subject, memos };
            let left = common.configurations.give_back(context, set, thread, &message);
            self.message = message;
            set = left?;
        }
        if set == EMPTY && is_broken(Sabotage::BlindReturn) {
            return Ok(before);
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
        let pc = self.common.subject.machine.pc(from, thread);
        let methods = &self.common.subject.machine.steps.methods;
        methods.iter().position(|m| m.entry <= pc && pc < m.end).unwrap_or(0) as u32
    }

    /// Finds the representative of a state, whatever its set, and leaves its encoding in
    /// `canonical`.
    pub fn find(&mut self, state: &State) -> Result<(), TooManyNodes> {
        self.canonical.run(self.common.subject, &self.common.codec, state, 0)
    }

    /// Computes the representative of a product state: its encoding is left in `canonical`, the
    /// best of its sets is returned.
    pub fn represent(&mut self, state: &State, set: SetId) -> Result<SetId, Halt> {
        self.name(state, set)?;
        Ok(self.orbit[0].1)
    }

    /// The sets that the last representative may have, best first.
    pub fn orbit(&self) -> &[(u64, SetId)] {
        &self.orbit
    }

    /// The set after the events of a step and of those that are taken with it, or how they go
    /// wrong.
    pub fn replay(
        &mut self,
        step: Transition<'_>,
        set: SetId,
        taken: &mut Vec<Taken>,
    ) -> Result<SetId, Halt> {
        let retired = self.retired(step.from);
        let next = self.events(step.from, set, step.thread, step.seen)?;
        Ok(self.settle(step, next, retired.as_ref(), Some(taken))?.unwrap_or(next))
    }

    fn name(&mut self, state: &State, set: SetId) -> Result<(), Halt> {
        let common = self.common;
        let mentioned = match common.options.reductions.value_symmetry {
            true => common.configurations.values(&mut self.memos, set),
            false => 0,
        };
        self.canonical.run(common.subject, &common.codec, state, mentioned)?;
        self.counts.nodes = self.counts.nodes.max(node_count(self.canonical.key[0]));
        self.orbit.clear();
        if let [only] = &self.canonical.renamings[..] {
            // One set has no order, and needs no number to be sorted by.
            let (subject, memos) = (common.subject, &mut self.memos);
            let context = &mut Context { subject, memos };
            self.orbit.push((0, common.configurations.rename(context, set, only)?));
            return Ok(());
        }
        for renaming in &self.canonical.renamings {
            let (subject, memos) = (common.subject, &mut self.memos);
            let context = &mut Context { subject, memos };
            let renamed = common.configurations.rename(context, set, renaming)?;
            if self.orbit.iter().all(|(_, known)| *known != renamed) {
                self.orbit.push((common.configurations.print(&mut self.memos, renamed), renamed));
            }
        }
        self.orbit.put_in_order();
        Ok(())
    }
}

/// Whether a step is lost on purpose; see `sabotage`.
fn is_lost(machine: &Machine, from: &State, thread: usize) -> bool {
    let is_busy = |other: usize| other != thread && !machine.is_idle(from, other);
    is_broken(Sabotage::DroppedSuccessor) && (0..machine.thread_count()).any(is_busy)
}
