//! One step of one thread on a memory model.
//!
//! A step makes one visible access, and takes along what nobody else can notice: work on registers,
//! plain accesses, new nodes, fences that are not `seqcst`. Plain accesses and frees are as good as
//! local because a race is found in whichever order its two accesses are made: each leaves behind
//! that it happened, and the other must know of it.
//!
//! *Movers* (Lipton, CACM 1975). Where the model says so ([`Memory::MOVERS`]), a load that is not
//! `seqcst` moves to the right of every step of other threads: the message stays readable, since
//! only the thread's own view bounds it from below. A store that is not `seqcst` moves to the left:
//! it may take its place in modification order at any later time as well as now, and nobody must
//! read it. So a step is `load* (update | seqcst access | seqcst fence)? store*`. A call and a
//! return of a client that does not synchronise everything move to the right and to the left: what a
//! call is told it can be told later as well. Those of a client that does tell others something, and
//! stay.
//!
//! *Queues.* Where writes wait in queues ([`Memory::QUEUES`]), a write that joins the queue of its
//! thread changes nothing that another thread does, and nothing that they do changes it: it moves to
//! the left. It does not move to the right of the thread's own reads and updates, since memory may
//! take it before them, and others may answer. A fence that finds the queue empty does nothing. A
//! call and a return of a client that does not synchronise everything move as above: what a call is
//! told it is told later as well, a return tells sooner, and both only add to what is known; that
//! changes no access, and the more is known, the fewer orders explain a run. So a step is `call?
//! (read | update)? queued* return?`, and the moment at which memory takes a write is a step of its
//! own.
//!
//! *Freed nodes.* Where nodes are freed, a new one may take the place of any that is free when it is
//! made, so that moment matters: making one moves to the right only, and what comes after a free
//! does not belong to its step unless it moves to the left. (Whoever looks at a node that was made,
//! and was not told of it, finds it freed in another order of the same steps.)
//!
//! *It would be unsound* to go on across an access that may wait, since what came before it in the
//! step would be undone with it: the thread rests before an `await`, an `assume`, a lock and
//! whatever waits for an empty queue if it has done anything in the step. It rests before a write
//! for which a bounded queue has no room, too: memory may take an older one first. A loop would
//! never end: a step does not pass a position twice.

use super::code::{Layout, Node, Target};
use super::event::{Done, Event};
use super::memory::Memory;
use crate::options::Synchronise;
use crate::subject::Subject;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Fault, Stop, evaluate};
use seriatim_lang::steps::{Ex, Instr, Op, Ordering, Pc, Place, Reg};

/// How many instructions a step may take before it is called endless.
pub(super) const FUEL: u32 = 20_000;

/// Where a thread stands and what it holds.
#[derive(Clone, Debug)]
pub struct Thread {
    /// Where it stands.
    pub pc: Pc,
    /// The client's call that it executes; 0 if it is idle.
    pub caller: Pc,
    /// Its registers.
    pub registers: Vec<i32>,
    /// How many operations it has called, where there is a bound.
    pub called: u32,
}

/// A state: threads, heap, memory. What the specification says of it is kept elsewhere.
#[derive(Clone, Debug)]
pub struct State<M> {
    /// The threads.
    pub threads: Vec<Thread>,
    /// The nodes.
    pub nodes: Vec<Node>,
    /// Memory.
    pub memory: M,
    /// How many accesses and nodes there have been: numbers for those who tell of the run.
    pub clock: u32,
}

/// What a step did that the client sees.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The method and arguments of the operation that began, with the operations that are known to
    /// have returned.
    pub call: Option<(u32, Vec<i32>, u64)>,
    /// The result of the operation that ended.
    pub ret: Option<Vec<i32>>,
}

/// How steps are made.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// What the client synchronises.
    pub clients: Synchronise,
    /// The most operations of a thread.
    pub operations: Option<u32>,
    /// Whether movers are joined.
    pub movers: bool,
    /// The most nodes alive.
    pub nodes: Option<u32>,
    /// The most values of a word that can be seen, or writes of a thread that wait.
    pub lag: Option<u32>,
}

impl Manner {
    /// Whether the client synchronises every return with every later call.
    pub fn is_stamped(&self) -> bool {
        self.clients == Synchronise::Everything
    }
}

/// Makes a thread take a step.
pub struct Stepper<'s, M> {
    pub subject: &'s Subject,
    pub layout: &'s Layout,
    pub manner: Manner,
    pub state: &'s mut State<M>,
    pub choices: &'s mut Choices,
    pub thread: usize,
    pub log: Option<&'s mut Vec<Event>>,
}

/// How far a step has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing visible yet.
    Fresh,
    /// Right movers only.
    Right,
    /// The access that does not move is made.
    Left,
}

/// What comes of an instruction, or why it stops the step.
pub(super) type Ran<T> = Result<T, Stop>;

impl<M: Memory> Stepper<'_, M> {
    /// Takes a step.
    pub fn step(mut self) -> Ran<Seen> {
        let result = self.go_on();
        if let Err(Stop::Fault(fault, pc)) = result {
            let told = |log: &&mut Vec<Event>| {
                matches!(log.last(), Some(Event { done: Done::Fault(_), .. }))
            };
            if !self.log.as_ref().is_some_and(told) {
                self.state.clock += 1;
                self.note(pc, Done::Fault(fault));
            }
        }
        result
    }

    fn go_on(&mut self) -> Ran<Seen> {
        let mut seen = Seen::default();
        let mut phase = Phase::Fresh;
        let mut passed: Vec<Pc> = vec![];
        let mut did = false;
        if self.state.memory.can_flush(self.thread) && self.choices.pick(2) == 1 {
            let number = self.state.memory.flush(self.thread);
            self.note(Pc(0), Done::Flush(number));
            return Ok(seen);
        }
        if self.subject.machine.steps.method_at(self.own().pc).is_none() {
            self.call(&mut seen)?;
            did = true;
            if self.manner.is_stamped() || !self.joins() && !self.queues() {
                phase = Phase::Left;
            }
        }
        for _ in 0..FUEL {
            let pc = self.own().pc;
            let instr = &self.subject.machine.steps.code[pc.0 as usize];
            let may_rest = did && (may_wait(instr) || self.may_find_room(instr));
            let makes = self.layout.lives && matches!(instr.op, Op::New { .. });
            let may_rest = may_rest || makes && phase != Phase::Fresh;
            if may_rest || did && self.queues() && self.waits_for_queue(instr, pc) {
                return Ok(seen);
            }
            if let Some(kind) = self.visible(instr, pc)? {
                if !self.goes_on(phase, kind) || passed.contains(&pc) {
                    return Ok(seen);
                }
                passed.push(pc);
                if kind == Visible::Return {
                    self.give_back(pc, &mut seen)?;
                    return Ok(seen);
                }
                let moves_right = self.access(pc)? && self.joins();
                phase =
                    if moves_right && phase != Phase::Left { Phase::Right } else { Phase::Left };
                did = true;
            } else {
                did |=
                    instr.op.place().is_some() || matches!(instr.op, Op::New { .. } | Op::Free(_));
                if matches!(instr.op, Op::Free(_)) {
                    phase = Phase::Left;
                }
                self.local(pc)?;
            }
        }
        Err(Stop::Fault(Fault::Endless, self.own().pc))
    }

    pub(super) fn own(&self) -> &Thread {
        &self.state.threads[self.thread]
    }

    pub(super) fn joins(&self) -> bool {
        self.manner.movers && M::MOVERS
    }

    /// Whether writes that wait are joined.
    fn queues(&self) -> bool {
        self.manner.movers && M::QUEUES
    }

    fn goes_on(&self, phase: Phase, kind: Visible) -> bool {
        match (phase, kind) {
            (Phase::Fresh, _) | (_, Visible::Queued) => true,
            _ if !self.joins() && !self.queues() => false,
            (Phase::Right, _) => true,
            (Phase::Left, Visible::Store) => true,
            (Phase::Left, Visible::Return) => !self.manner.is_stamped(),
            (Phase::Left, Visible::Other) => false,
        }
    }

    /// Whether an instruction may have to wait for the thread's queue: until it is empty, or has
    /// room.
    fn waits_for_queue(&self, instr: &Instr, pc: Pc) -> bool {
        let waiting = self.state.memory.waiting(self.thread);
        match &instr.op {
            Op::Return(_) => self.manner.is_stamped() && waiting > 0,
            Op::Load { .. } => false,
            Op::Store { .. } | Op::Unlock(_) if !self.is_strong(instr, pc) => {
                self.manner.lag.is_some_and(|most| waiting >= most)
            }
            Op::Fence => self.is_strong(instr, pc) && waiting > 0,
            op => op.place().is_some() && waiting > 0,
        }
    }

    /// Whether a store or a fence is `seqcst`. Plain stores are not, and an unlock releases.
    fn is_strong(&self, instr: &Instr, pc: Pc) -> bool {
        let plain = |place| self.target(place, pc).is_ok_and(|target| target.plain);
        let weaker = matches!(instr.op, Op::Unlock(_)) || instr.op.place().is_some_and(plain);
        instr.orders.access == Ordering::SeqCst && !weaker
    }

    /// Whether others may notice an instruction, and how it moves.
    fn visible(&self, instr: &Instr, pc: Pc) -> Ran<Option<Visible>> {
        let visible = match &instr.op {
            Op::Return(_) => Some(Visible::Return),
            Op::Fence if !self.is_strong(instr, pc) => None,
            Op::Fence if self.queues() && !self.state.memory.can_flush(self.thread) => None,
            Op::Fence => Some(Visible::Other),
            op => match op.place() {
                None => None,
                Some(place) if M::RACES && self.target(place, pc)?.plain => None,
                Some(place) if self.is_own(instr, &self.target(place, pc)?) => None,
                Some(_) => Some(match op {
                    Op::Store { .. } | Op::Unlock(_) if self.is_strong(instr, pc) => Visible::Other,
                    Op::Store { .. } | Op::Unlock(_) if self.queues() => Visible::Queued,
                    Op::Store { .. } | Op::Unlock(_) => Visible::Store,
                    _ => Visible::Other,
                }),
            },
        };
        Ok(visible)
    }

    pub(super) fn target(&self, place: &Place, pc: Pc) -> Ran<Target> {
        self.layout.resolve(place, &self.state.nodes, &self.own().registers, self.thread, pc)
    }

    pub(super) fn value(&self, ex: &Ex, pc: Pc) -> Ran<i32> {
        evaluate(ex, &self.own().registers, self.thread, pc)
    }

    pub(super) fn values(&self, all: &[Ex], pc: Pc) -> Ran<Vec<i32>> {
        all.iter().map(|ex| self.value(ex, pc)).collect()
    }

    pub(super) fn set(&mut self, first: Reg, values: impl IntoIterator<Item = i32>) {
        let registers = &mut self.state.threads[self.thread].registers[first.0 as usize..];
        registers.iter_mut().zip(values).for_each(|(register, value)| *register = value);
    }

    pub(super) fn go(&mut self, pc: Pc) {
        self.state.threads[self.thread].pc = pc;
    }
}

/// How a visible instruction moves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visible {
    /// A store that is not `seqcst`.
    Store,
    /// A store that waits in the queue of its thread.
    Queued,
    /// A return.
    Return,
    /// A load, an update, a fence, or anything that is `seqcst`.
    Other,
}

/// Whether a thread may have to wait at an instruction.
fn may_wait(instr: &Instr) -> bool {
    instr.pauses || matches!(instr.op, Op::Atomic | Op::Lock(_))
}
