//! Pure iterations (failed attempts of a retry loop) leave no trace, and what will not change can
//! be read at once.
//!
//! An *iteration* of a method begins at its first shared access, the *restart*, and ends when it
//! comes back there. It is *pure* if it changes nothing that others see.
//!
//! *Theorem*. Within the bounds, if some run goes wrong (a return that nobody can explain, an
//! error, threads that all wait) or breaks the precondition below, then the search meets such a run
//! although it drops
//! 1. every step that ends a pure iteration, and
//! 2. every state in which some iteration is *doomed*, that is: has changed nothing so far and will
//!    change nothing, whatever the others do,
//!
//! and although it takes a step at once, together with the step before it, and no other step in its
//! place, if that step is
//! 3. *overdue*: it writes nothing, makes no node, has one outcome, and reads only what will never
//!    change, or is a `cas` that can only fail.
//!
//! *Proof*. Take a run that goes wrong, with as few steps as possible that are not overdue. Suppose
//! that it has an iteration as in (1) or (2). Without it, or without as much of it as was taken,
//! the other threads do what they did. The thread stands at the restart with the same registers
//! (`code`, conditions on the code) and goes on as it did; if the iteration was the first of its
//! operation, its call comes later, which makes the interval shorter and the history only harder to
//! explain. The iteration has no return, no error and no waiting in it, except for locks in a fixed
//! order, which nobody waits for for ever; so this run goes wrong, too. It is shorter, for the step
//! from the restart was no overdue one ([`PureIterations::is_overdue`] never takes it): a
//! contradiction. An overdue step commutes with every step of the others, now and later, so a run
//! that goes wrong still does if the step is moved forward or put in; a return in it comes earlier,
//! which makes the interval shorter. If it dooms or ends its iteration, that iteration began with a
//! step that was not overdue, and what was said of (1) and (2) applies. Symmetry maps runs to runs
//! of the same length. The antichain replaces a run by one to a better state that was found no
//! later: a state is only ever replaced by one of the same level or of one before it (`search`), so
//! that the number of steps does not grow.
//!
//! *Conditions on the state*, each of which has its function:
//! - *retired*: a node is retired for a shared variable if the variable does not reach it and it is
//!   no fresh node of some thread; then the variable will never hold it again
//!   ([`PureIterations::retired`]);
//! - *published*: what `final_fields` says about fields holds for nodes that no thread has for
//!   itself alone ([`Retired::is_published`]), because writes to fresh nodes are not counted there;
//! - *unseen*: a step that ends a pure iteration leaves every word of the state as it was that is
//!   not its thread's own (`Worker::is_unseen`), reservations of others included; and if it begins
//!   with the call and makes nodes, it writes nothing, not even to them.
//!
//! *Precondition*: retired nodes stay retired and are not written, except for their locks. This is
//! not assumed: the search checks it at every step that it takes ([`Retired::stays`]), and starts
//! again without this reduction if it fails once.
//!
//! *Why not simpler*: loop purity alone (Flanagan and Qadeer, TLDI 2005: pure iterations are
//! skipped, without 2 and 3) was measured and hardly helps an explicit search, for it drops an
//! iteration only when it has been walked through to its end: the decision of 2026-11-16 on second
//! opinions has the figures.

mod code;

use crate::final_fields::{FinalFields, Rule};
use crate::sabotage::{Sabotage, is_broken};
use crate::subject::Subject;
use code::{Analysis, Method, Premise};
use seriatim_lang::choices::Choices;
use seriatim_lang::liveness::Liveness;
use seriatim_lang::locality::{local_accesses, private_registers};
use seriatim_lang::machine::{FREED, Machine, Seen, State, VACANT};
use seriatim_lang::steps::*;
use seriatim_lang::types::{Kind, Scalar};
use std::ops::Range;

/// The most shared slots with references, and the most references at a location.
const MOST: usize = 16;

/// What is known about a location.
#[derive(Clone, Debug, Default)]
struct Attempt {
    /// The restart of its method.
    restart: Option<Pc>,
    /// Nothing was written since the iteration began.
    clean: bool,
    /// The registers that hold references, and the structs to which they refer.
    references: Vec<(u32, u32)>,
    /// References that make the next step, a `cas`, fail once they are retired, and for which slot.
    expected: Vec<(u32, u32)>,
    /// The reference to the node on which the next step, a `cas`, works.
    target: Option<u32>,
    /// The next step loads these fields of the node to which this register refers.
    load: Option<(u32, u32, Range<u32>)>,
    /// References to fresh nodes.
    fresh: Vec<u32>,
    /// An iteration that has come here may be doomed.
    may_be_doomed: bool,
    /// The next step may be overdue.
    may_be_overdue: bool,
}

/// What is known about all locations.
pub struct PureIterations {
    attempts: Vec<Attempt>,
    /// The shared slots that hold references.
    slots: Vec<u32>,
    /// For each struct, where in a node the fields lie that hold references.
    fields: Vec<Vec<usize>>,
    final_fields: Option<FinalFields>,
    live: Liveness,
    local: Vec<bool>,
}

/// What was found out about premises at locations: which references are null is part of the
/// question. Has room for a state to try a step in.
#[derive(Default)]
pub struct Dooms {
    /// For each location and each set of references that are null, the premises that may doom an
    /// iteration there. There are few, so that the code is asked only of those that hold.
    suspicions: Vec<Vec<(u16, Vec<Suspicion>)>>,
    scratch: State,
}

/// A premise that dooms an iteration, or of which that is not yet known.
#[derive(Clone, Copy)]
struct Suspicion {
    premise: Premise,
    proven: bool,
}

/// For which shared slots each node of a state is retired. Nodes from the 65th on never count as
/// retired.
#[derive(Clone, Copy)]
pub struct Retired {
    slots: usize,
    /// Every node of the state.
    nodes: u64,
    /// The nodes that a thread has for itself alone.
    fresh: u64,
    /// For each slot, the nodes that it reaches.
    reached: [u64; MOST],
}

/// A reference that a thread holds: to a node of which struct, and to which.
#[derive(Clone, Copy)]
struct Held {
    id: u32,
    word: i32,
}

impl PureIterations {
    /// Analyses the methods of a subject; `None` if the program frees nodes, so that references can
    /// come back.
    pub fn of(subject: &Subject, final_fields: Option<FinalFields>) -> Option<PureIterations> {
        let machine = &subject.machine;
        let shared = machine.steps.shared.iter().enumerate();
        let slots: Vec<u32> =
            shared.filter(|(_, s)| is_reference(s.kind)).map(|(at, _)| at as u32).collect();
        if machine.steps.frees || slots.len() > MOST {
            return None;
        }
        let live = Liveness::of(&machine.steps);
        let local = local_accesses(&machine.steps, &live);
        let mut attempts = vec![Attempt::default(); subject.locations.len()];
        for method in &machine.steps.methods {
            let fresh = private_registers(&machine.steps, &live, method);
            let known = Analysis { machine, live: &live, local: &local, method }.run();
            for (location, attempt) in subject.locations.iter().zip(&mut attempts) {
                if location.idle || !(method.entry <= location.pc && location.pc < method.end) {
                    attempt.clean |= location.idle;
                    continue;
                }
                let fresh = fresh[(location.pc.0 - method.entry.0) as usize].clone();
                attempt.fresh = fresh.unwrap_or_default().into_iter().collect();
                let reference = |(register, kind): &(u32, Kind)| match kind.scalar {
                    Scalar::Ref(id) => Some((*register, id.0)),
                    _ => None,
                };
                attempt.references = location.registers.iter().filter_map(reference).collect();
                attempt.note_step(&machine.steps.code[location.pc.0 as usize].op);
                if let Some(Method { restart, dirty }) = &known {
                    attempt.restart = Some(*restart);
                    attempt.clean = !dirty.contains(&location.pc);
                }
                attempt.note_chances(location.pc);
            }
        }
        let fields = machine.steps.structs.iter().map(|layout| {
            let slots = layout.slots.iter().zip(1..);
            slots.filter(|(slot, _)| is_reference(slot.kind)).map(|(_, at)| at).collect()
        });
        let fields = fields.collect();
        Some(PureIterations { attempts, slots, fields, final_fields, live, local })
    }

    fn attempt(&self, subject: &Subject, state: &State, thread: usize) -> (u32, &Attempt) {
        let location = subject.location(state, thread);
        (location, &self.attempts[location as usize])
    }

    /// Whether a step from one location to another ended an iteration; it must have written
    /// nothing.
    pub fn ends_iteration(&self, subject: &Subject, from: u32, to: u32) -> bool {
        let pc = subject.locations[to as usize].pc;
        self.attempts[from as usize].clean && self.attempts[to as usize].restart == Some(pc)
    }

    /// Which nodes of a state are retired.
    pub fn retired(&self, subject: &Subject, state: &State) -> Retired {
        let machine = &subject.machine;
        let mut reached = [0; MOST];
        let is_small = state.heap.len() <= 64 * machine.node_stride();
        for (slot, reached) in self.slots.iter().zip(&mut reached) {
            *reached = match is_small {
                true => self.reached_of_few(machine, state, *slot as usize),
                false => nodes_reached(machine, state, *slot as usize),
            };
        }
        let (nodes, fresh) = (nodes(machine, state), self.fresh(subject, state));
        Retired { slots: self.slots.len(), nodes, fresh, reached }
    }

    /// The same after a step that left memory as it was.
    pub fn retired_later(&self, subject: &Subject, before: &Retired, state: &State) -> Retired {
        Retired { fresh: self.fresh(subject, state), ..*before }
    }

    /// The nodes that a thread has for itself alone.
    fn fresh(&self, subject: &Subject, state: &State) -> u64 {
        let machine = &subject.machine;
        let mut fresh = 0;
        for thread in 0..machine.thread_count() {
            let base = machine.register_base(thread);
            for register in &self.attempt(subject, state, thread).1.fresh {
                let word = state.words[base + *register as usize];
                if (0..64).contains(&word) {
                    fresh |= 1 << word;
                }
            }
        }
        fresh
    }

    /// The nodes that a shared slot reaches, of a state that has at most 64.
    fn reached_of_few(&self, machine: &Machine, state: &State, slot: usize) -> u64 {
        let stride = machine.node_stride();
        let node = |word: i32| if word == NULL { 0 } else { 1u64 << word };
        let mut seen = node(state.words[slot]);
        let mut todo = seen;
        while todo != 0 {
            let at = todo.trailing_zeros() as usize * stride;
            todo &= todo - 1;
            let references = &self.fields[(state.heap[at] & (FREED - 1)) as usize];
            let next = references.iter().fold(0, |all, field| all | node(state.heap[at + field]));
            todo |= next & !seen;
            seen |= next;
        }
        seen
    }

    /// Whether a register of a thread refers to a node that is retired for a slot.
    fn holds(&self, retired: &Retired, word: i32, slot: u32) -> bool {
        let bit = self.slots.iter().position(|s| *s == slot);
        bit.is_some_and(|bit| contains(retired.gone(bit), word))
    }

    /// Whether the next step of a thread is a failing `cas` on a node that is retired for every
    /// slot.
    fn strikes_retired(
        &self,
        subject: &Subject,
        state: &State,
        retired: &Retired,
        thread: usize,
        scratch: &mut State,
    ) -> bool {
        let base = subject.machine.register_base(thread);
        let target = self.attempt(subject, state, thread).1.target;
        target.is_some_and(|register| {
            contains(retired.everywhere(), state.words[base + register as usize])
                && fails_now(&subject.machine, state, thread, scratch)
        })
    }

    /// Whether an iteration of one of these threads is bound to be pure.
    pub fn is_doomed(
        &self,
        subject: &Subject,
        state: &State,
        retired: &Retired,
        mut threads: Range<usize>,
        dooms: &mut Dooms,
    ) -> bool {
        threads.any(|thread| {
            let (location, attempt) = self.attempt(subject, state, thread);
            if !attempt.may_be_doomed {
                return false;
            }
            let words = &state.words[subject.machine.register_base(thread)..];
            let null = attempt.null_references(words);
            let Dooms { suspicions, scratch } = dooms;
            let suspicions = self.suspicions(subject, location, null, suspicions);
            let mut at = 0;
            while let Some(Suspicion { premise, proven }) = suspicions.get(at).copied() {
                if !self.is_met(subject, state, retired, (thread, premise), scratch) {
                    at += 1;
                } else if proven || self.dooms(subject, location, null, premise) {
                    suspicions[at].proven = true;
                    return true;
                } else {
                    suspicions.swap_remove(at);
                }
            }
            false
        })
    }

    /// The premises that may doom an iteration at a location.
    fn suspicions<'d>(
        &self,
        subject: &Subject,
        location: u32,
        null: u16,
        known: &'d mut Vec<Vec<(u16, Vec<Suspicion>)>>,
    ) -> &'d mut Vec<Suspicion> {
        if known.is_empty() {
            known.resize_with(self.attempts.len(), Vec::new);
        }
        let here = &mut known[location as usize];
        let at = here.iter().position(|(mask, _)| *mask == null).unwrap_or_else(|| {
            let premises = self.premises(subject, &self.attempts[location as usize], null);
            let suspected = |premise| Suspicion { premise, proven: false };
            here.push((null, premises.into_iter().map(suspected).collect()));
            here.len() - 1
        });
        &mut here[at].1
    }

    /// All premises that there can be at a location about references that are not null.
    fn premises(&self, subject: &Subject, attempt: &Attempt, null: u16) -> Vec<Premise> {
        let mut found = vec![];
        for (bit, (register, id)) in attempt.references.iter().enumerate() {
            if null >> bit & 1 == 1 {
                continue;
            }
            let register = *register;
            found.extend(self.slots.iter().map(|slot| Premise::Retired { register, slot: *slot }));
            let Some(final_fields) = &self.final_fields else { continue };
            let count = subject.machine.steps.structs[*id as usize].slots.len() as u32;
            found.extend((0..count).filter_map(|slot| match final_fields.rule(*id, slot) {
                Rule::Once(scalar) => Some(Premise::Holds { register, slot, scalar }),
                Rule::Unless(guard, scalar) if guard == slot => {
                    Some(Premise::Lacks { register, slot, scalar })
                }
                _ => None,
            }));
        }
        found.extend(attempt.target.map(|_| Premise::Fails));
        found
    }

    /// Whether a premise is true of a thread in a state.
    fn is_met(
        &self,
        subject: &Subject,
        state: &State,
        retired: &Retired,
        (thread, premise): (usize, Premise),
        scratch: &mut State,
    ) -> bool {
        let base = subject.machine.register_base(thread);
        let word = |register: u32| state.words[base + register as usize];
        let stride = subject.machine.node_stride();
        let field = |register: u32, slot: u32| {
            let word = word(register);
            let is_known = word != NULL && retired.is_published(word);
            is_known.then(|| state.heap[word as usize * stride + 1 + slot as usize])
        };
        match premise {
            Premise::Retired { register, slot } => self.holds(retired, word(register), slot),
            Premise::Holds { register, slot, scalar } => field(register, slot) == Some(scalar),
            Premise::Lacks { register, slot, scalar } => {
                field(register, slot).is_some_and(|now| now != scalar)
            }
            Premise::Fails => self.strikes_retired(subject, state, retired, thread, scratch),
        }
    }

    /// Whether a premise dooms the iteration at a location, given which references are null.
    fn dooms(&self, subject: &Subject, location: u32, null: u16, premise: Premise) -> bool {
        let attempt = &self.attempts[location as usize];
        let machine = &subject.machine;
        let pc = subject.locations[location as usize].pc;
        let method = machine.steps.method_at(pc);
        let (Some(method), Some(restart)) = (method, attempt.restart) else { return false };
        let references = attempt.references.iter().enumerate();
        let null = references.map(|(bit, (register, _))| (*register, null >> bit & 1 == 1));
        let analysis = Analysis { machine, live: &self.live, local: &self.local, method };
        analysis.is_doomed(pc, restart, premise, null.collect())
    }

    /// The first of these threads whose next step can be taken at once, and what is seen of it: a
    /// `cas` that is bound to fail, or a load of final fields. The state after it is left in `to`.
    pub fn overdue(
        &self,
        subject: &Subject,
        state: &State,
        retired: &Retired,
        mut threads: Range<usize>,
        to: &mut State,
    ) -> Option<(usize, Seen)> {
        let thread =
            threads.find(|thread| self.is_overdue(subject, state, retired, *thread, to))?;
        let seen = subject.machine.run(state, thread, &mut Choices::default(), to).ok()?;
        Some((thread, seen))
    }

    /// Whether the next step of a thread can be taken at once.
    fn is_overdue(
        &self,
        subject: &Subject,
        state: &State,
        retired: &Retired,
        thread: usize,
        scratch: &mut State,
    ) -> bool {
        let attempt = self.attempt(subject, state, thread).1;
        if !attempt.may_be_overdue {
            return false;
        }
        let base = subject.machine.register_base(thread);
        let word = |register: u32| state.words[base + register as usize];
        let holds = |(register, slot): &(u32, u32)| self.holds(retired, word(*register), *slot);
        if let Some((register, id, slots)) = &attempt.load {
            let held = Held { id: *id, word: word(*register) };
            return self.is_final(&subject.machine, state, retired, held, slots.clone())
                && fails_now(&subject.machine, state, thread, scratch);
        }
        attempt.expected.iter().any(holds) && fails_now(&subject.machine, state, thread, scratch)
            || self.strikes_retired(subject, state, retired, thread, scratch)
    }

    /// Whether fields of a node are final.
    fn is_final(
        &self,
        machine: &Machine,
        state: &State,
        retired: &Retired,
        held: Held,
        slots: Range<u32>,
    ) -> bool {
        let Held { id, word, .. } = held;
        let Some(final_fields) = self.final_fields.as_ref().filter(|_| retired.is_published(word))
        else {
            return false;
        };
        let stride = machine.node_stride();
        let cells = &state.heap[word as usize * stride + 1..(word as usize + 1) * stride];
        contains(retired.everywhere(), word)
            || slots.into_iter().all(|slot| final_fields.is_final(id, slot, cells))
    }
}

impl Attempt {
    /// Notes what can be the case here at all. The step from the restart is never overdue: its
    /// iteration may turn out to be doomed, and then the state in which it has not begun must exist.
    fn note_chances(&mut self, pc: Pc) {
        let understood = self.restart.is_some_and(|restart| restart != pc);
        self.may_be_doomed = understood && self.clean && self.references.len() <= MOST;
        let restarts = self.restart == Some(pc) && !is_broken(Sabotage::DroppedRestart);
        let has_part = self.load.is_some() || !self.expected.is_empty() || self.target.is_some();
        self.may_be_overdue = !restarts && has_part;
    }

    /// Which references are null, as a mask.
    fn null_references(&self, words: &[i32]) -> u16 {
        let references = self.references.iter().enumerate();
        let bit = |(bit, (register, _)): (usize, &(u32, u32))| {
            u16::from(words[*register as usize] == NULL) << bit
        };
        references.map(bit).fold(0, |all, bit| all | bit)
    }

    /// Notes what the next step works on.
    fn note_step(&mut self, op: &Op) {
        match op {
            Op::Cas { place, old, .. } => match &place.root {
                Root::Shared if place.dims.is_empty() => {
                    let pairs = old.iter().zip(place.offset..).filter_map(|(ex, slot)| match ex {
                        Ex::Reg(r) => Some((r.0, slot)),
                        _ => None,
                    });
                    self.expected = pairs.collect();
                }
                Root::Node(Ex::Reg(node), _) => self.target = Some(node.0),
                _ => {}
            },
            Op::Load { place, .. } => {
                if let Root::Node(Ex::Reg(node), id) = &place.root {
                    self.load = Some((node.0, id.0, place.slots()));
                }
            }
            _ => {}
        }
    }
}

impl Retired {
    /// The nodes that are retired for a slot.
    fn gone(&self, bit: usize) -> u64 {
        self.nodes & !self.fresh & !self.reached[bit]
    }

    /// The nodes that are retired for every slot.
    fn everywhere(&self) -> u64 {
        (0..self.slots).fold(self.nodes, |all, bit| all & self.gone(bit))
    }

    /// Whether a reference leads to a node that no thread has for itself alone. Nodes from the 65th
    /// on are not known to.
    fn is_published(&self, word: i32) -> bool {
        contains(self.nodes & !self.fresh, word)
            || word != NULL && is_broken(Sabotage::DroppedPremise)
    }

    /// Whether a step neither brought a retired node back nor wrote one that is retired for every
    /// slot.
    pub fn stays(&self, later: &Retired, written: u64) -> bool {
        (0..self.slots).all(|bit| self.gone(bit) & !later.gone(bit) == 0)
            && self.everywhere() & written == 0
    }
}

fn contains(nodes: u64, word: i32) -> bool {
    (0..64).contains(&word) && nodes >> word & 1 == 1
}

/// Whether the next step of a thread writes nothing, makes no node and has one outcome.
fn fails_now(machine: &Machine, state: &State, thread: usize, scratch: &mut State) -> bool {
    let mut choices = Choices::default();
    let seen = machine.run(state, thread, &mut choices, scratch);
    let is_quiet = seen.is_ok_and(|seen| !seen.wrote && !seen.allocated);
    is_quiet && !choices.advance()
}

fn is_reference(kind: Kind) -> bool {
    matches!(kind.scalar, Scalar::Ref(_))
}

/// Every node of a state: empty cells are none, for a new node may take their place.
fn nodes(machine: &Machine, state: &State) -> u64 {
    let cells = state.heap.chunks(machine.node_stride()).take(64).enumerate();
    cells.fold(0, |all, (node, cells)| all | u64::from(cells[0] != VACANT) << node)
}

/// The nodes that a shared slot reaches, those from the 65th on left out.
fn nodes_reached(machine: &Machine, state: &State, slot: usize) -> u64 {
    let stride = machine.node_stride();
    let mut seen = 0u64;
    let mut todo = [0u16; 256];
    let mut count = 0;
    let mut far = vec![];
    let mut visit = |word: i32, count: &mut usize, todo: &mut [u16; 256]| {
        if word == NULL {
            return;
        }
        let is_new = match word {
            0..64 => seen >> word & 1 == 0,
            _ => !far.contains(&word),
        };
        if is_new && *count < todo.len() {
            if word < 64 {
                seen |= 1 << word;
            } else {
                far.push(word);
            }
            todo[*count] = word as u16;
            *count += 1;
        }
    };
    visit(state.words[slot], &mut count, &mut todo);
    let mut at = 0;
    while at < count {
        if count == todo.len() {
            return u64::MAX;
        }
        let node = usize::from(todo[at]);
        let cells = &state.heap[node * stride..(node + 1) * stride];
        let layout = &machine.steps.structs[(cells[0] & (FREED - 1)) as usize];
        for (slot, word) in layout.slots.iter().zip(&cells[1..]) {
            if is_reference(slot.kind) {
                visit(*word, &mut count, &mut todo);
            }
        }
        at += 1;
    }
    seen
}
