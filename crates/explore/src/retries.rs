//! Failed attempts leave no trace: which iterations of a retry loop need not be explored.
//!
//! An *iteration* of a method begins at its first shared access, the *restart*, and ends when it comes back there. It is
//! *pure* if it writes nothing that others see. Taking a pure iteration out of a run changes nothing for the other
//! threads, and the thread itself stands at the restart with the same registers as before; in the first iteration its
//! call just comes later, which makes its interval shorter. Hence
//! - a step that ends a pure iteration can be left out, and
//! - a state in which some iteration is *bound* to be pure can be left out: the state in which it has not begun is
//!   reached, too, and by a shorter run.
//!
//! A node is *retired* for a shared variable if the variable does not reach it and it is no fresh node of some thread.
//! An iteration is bound to be pure if it holds a reference to such a node and every way to a write or a return first
//! finds that reference in the variable, by comparison or by `cas`.
//!
//! A `cas` on a node that is retired for all variables fails for ever once it fails, for nobody writes such nodes. A `cas` that is bound
//! to fail in an iteration that did write something is not left out but taken at once, together with the step that doomed
//! it: it commutes with everything.
//!
//! *Precondition*: retired nodes stay retired and are not written. This is not assumed: the search checks it at every
//! step that it takes, and starts again without this reduction if it fails once. Also required, and found by data flow: the registers that
//! are live at the restart do not change within an iteration, and fields of fresh nodes that change are overwritten
//! before they are read. Nothing on the way may be able to fail or to wait.

use crate::subject::Subject;
use seriatim_lang::choices::Choices;
use seriatim_lang::flow::{definitions, successors};
use seriatim_lang::liveness::Liveness;
use seriatim_lang::locality::{local_accesses, private_registers};
use seriatim_lang::machine::{FREED, Machine, State};
use seriatim_lang::steps::*;
use seriatim_lang::types::{Kind, Scalar};
use std::collections::BTreeSet;

/// What is known about a location.
#[derive(Clone, Debug, Default)]
struct Attempt {
    /// Nothing was written since the iteration began.
    clean: bool,
    /// It is the restart of its method.
    restart: bool,
    /// References that doom the iteration once they are retired, and for which slot.
    crucial: Vec<(u32, u32)>,
    /// The reference to the node on which the next step, a `cas`, works, if its failure dooms the iteration.
    fragile: bool,
    /// References that make the next step, a `cas`, fail once they are retired, and for which slot.
    expected: Vec<(u32, u32)>,
    /// The reference to the node on which the next step, a `cas`, works.
    target: Option<u32>,
    /// References to fresh nodes.
    fresh: Vec<u32>,
}

/// What is known about all locations.
pub struct Retries {
    attempts: Vec<Attempt>,
    /// The shared slots that hold references.
    slots: Vec<u32>,
}

/// For which shared slots each node of a state is retired: a mask, all ones if for every slot.
pub struct Retired {
    marks: Vec<u64>,
}

impl Retries {
    /// Analyses the methods of a subject; `None` if the program frees nodes, so that references can come back.
    pub fn of(subject: &Subject) -> Option<Retries> {
        let machine = &subject.machine;
        let shared = machine.steps.shared.iter().enumerate();
        let slots: Vec<u32> =
            shared.filter(|(_, s)| is_reference(s.kind)).map(|(at, _)| at as u32).collect();
        if machine.steps.frees || slots.len() > 16 {
            return None;
        }
        let live = Liveness::of(&machine.steps);
        let local = local_accesses(&machine.steps, &live);
        let mut attempts = vec![Attempt::default(); subject.locations.len()];
        for method in &machine.steps.methods {
            let fresh = private_registers(&machine.steps, &live, method);
            let analysis = Analysis { machine, live: &live, local: &local, method };
            let loops = analysis
                .restart()
                .filter(|l| analysis.is_stable(*l))
                .map(|l| (l, analysis.dirty(l)));
            for (location, attempt) in subject.locations.iter().zip(&mut attempts) {
                if location.idle || !(method.entry <= location.pc && location.pc < method.end) {
                    attempt.clean |= location.idle;
                    continue;
                }
                let known =
                    fresh[(location.pc.0 - method.entry.0) as usize].clone().unwrap_or_default();
                attempt.fresh = known.into_iter().collect();
                (attempt.expected, attempt.target) = cas_references(analysis.op(location.pc));
                let Some((restart, dirty)) = &loops else { continue };
                attempt.restart = location.pc == *restart;
                attempt.clean = !dirty.contains(&location.pc);
                let references = location.registers.iter().filter(|(_, kind)| is_reference(*kind));
                for (register, _) in references {
                    let doom =
                        |slot: &u32| analysis.dooms(location.pc, (*register, *slot), *restart);
                    let slots = slots.iter().filter(|s| doom(s));
                    attempt.crucial.extend(slots.map(|slot| (*register, *slot)));
                }
                attempt.fragile = analysis.is_fragile(location.pc, *restart);
            }
        }
        Some(Retries { attempts, slots })
    }

    /// Whether a step from one location to another ended an iteration; it must have written nothing.
    pub fn ends_iteration(&self, from: u32, to: u32) -> bool {
        self.attempts[from as usize].clean && self.attempts[to as usize].restart
    }

    /// Which nodes of a state are retired.
    pub fn retired(&self, subject: &Subject, state: &State) -> Retired {
        let machine = &subject.machine;
        let mut marks = vec![u64::MAX; state.heap.len() / machine.node_stride()];
        for (bit, slot) in self.slots.iter().enumerate() {
            for node in reached(machine, state, *slot as usize) {
                marks[node] &= !(1 << bit);
            }
        }
        let every = (1 << self.slots.len()) - 1;
        for mark in &mut marks {
            *mark = if *mark & every == every { u64::MAX } else { *mark & every };
        }
        for thread in 0..machine.thread_count() {
            let base = machine.thread_base(thread) + 2;
            for register in &self.attempts[subject.location(state, thread) as usize].fresh {
                let word = state.words[base + *register as usize];
                if word != NULL {
                    marks[word as usize] = 0;
                }
            }
        }
        Retired { marks }
    }

    /// Whether a register of a thread refers to a node that is retired for a slot.
    fn holds(
        &self,
        (subject, state): (&Subject, &State),
        retired: &Retired,
        thread: usize,
        (register, slot): (u32, u32),
    ) -> bool {
        let bit = self.slots.iter().position(|s| *s == slot);
        let word = state.words[subject.machine.thread_base(thread) + 2 + register as usize];
        word != NULL && bit.is_some_and(|bit| retired.marks[word as usize] >> bit & 1 == 1)
    }

    /// Whether the next step of a thread is a failing `cas` on a node that is retired for every slot.
    fn strikes_retired(
        &self,
        subject: &Subject,
        state: &State,
        retired: &Retired,
        thread: usize,
    ) -> bool {
        let attempt = &self.attempts[subject.location(state, thread) as usize];
        attempt.target.is_some_and(|register| {
            let word = state.words[subject.machine.thread_base(thread) + 2 + register as usize];
            word != NULL
                && retired.marks[word as usize] == u64::MAX
                && fails_now(&subject.machine, state, thread)
        })
    }

    /// Whether an iteration of some thread is bound to be pure.
    pub fn is_doomed(&self, subject: &Subject, state: &State, retired: &Retired) -> bool {
        (0..subject.machine.thread_count()).any(|thread| {
            let attempt = &self.attempts[subject.location(state, thread) as usize];
            attempt.clean
                && (attempt
                    .crucial
                    .iter()
                    .any(|c| self.holds((subject, state), retired, thread, *c))
                    || attempt.fragile && self.strikes_retired(subject, state, retired, thread))
        })
    }

    /// A thread whose next step is a `cas` that is bound to fail, in an iteration that is not pure.
    pub fn overdue(&self, subject: &Subject, state: &State, retired: &Retired) -> Option<usize> {
        (0..subject.machine.thread_count()).find(|thread| {
            let attempt = &self.attempts[subject.location(state, *thread) as usize];
            let holds = |c: &(u32, u32)| self.holds((subject, state), retired, *thread, *c);
            attempt.expected.iter().any(holds) && fails_now(&subject.machine, state, *thread)
                || self.strikes_retired(subject, state, retired, *thread)
        })
    }
}

/// Whether the next step of a thread writes nothing and has one outcome.
fn fails_now(machine: &Machine, state: &State, thread: usize) -> bool {
    let mut choices = Choices::default();
    let mut to = State::default();
    let seen = machine.run(state, thread, &mut choices, &mut to);
    seen.is_ok_and(|seen| !seen.wrote) && !choices.advance()
}

/// The references that a `cas` expects in a shared slot, and the one to the node on which it works.
fn cas_references(op: &Op) -> (Vec<(u32, u32)>, Option<u32>) {
    let Op::Cas { place, old, .. } = op else { return (vec![], None) };
    match &place.root {
        Root::Shared if place.dims.is_empty() => {
            let slots = old.iter().zip(place.offset..);
            let pairs = slots.filter_map(|(ex, slot)| match ex {
                Ex::Reg(r) => Some((r.0, slot)),
                _ => None,
            });
            (pairs.collect(), None)
        }
        Root::Node(Ex::Reg(node), _) => (vec![], Some(node.0)),
        _ => (vec![], None),
    }
}

impl Retired {
    /// Whether a step neither brought a retired node back nor wrote one that is retired for every slot.
    pub fn stays(&self, later: &Retired, written: u64) -> bool {
        let untouched = |node: usize| written >> node.min(63) & 1 == 0;
        let mut both = self.marks.iter().zip(&later.marks).enumerate();
        both.all(|(node, (before, after))| {
            before & !after == 0 && (*before != u64::MAX || untouched(node))
        })
    }
}

fn is_reference(kind: Kind) -> bool {
    matches!(kind.scalar, Scalar::Ref(_))
}

/// The nodes that a shared slot reaches.
fn reached(machine: &Machine, state: &State, slot: usize) -> Vec<usize> {
    let stride = machine.node_stride();
    let mut seen = vec![false; state.heap.len() / stride];
    let mut found = Vec::new();
    let mut visit = |kind: Kind, word: i32, found: &mut Vec<usize>| {
        if is_reference(kind) && word != NULL && !seen[word as usize] {
            seen[word as usize] = true;
            found.push(word as usize);
        }
    };
    visit(machine.steps.shared[slot].kind, state.words[slot], &mut found);
    let mut at = 0;
    while at < found.len() {
        let cells = &state.heap[found[at] * stride..(found[at] + 1) * stride];
        let layout = &machine.steps.structs[(cells[0] & (FREED - 1)) as usize];
        for (slot, word) in layout.slots.iter().zip(&cells[1..]) {
            visit(slot.kind, *word, &mut found);
        }
        at += 1;
    }
    found
}

struct Analysis<'a> {
    machine: &'a Machine,
    live: &'a Liveness,
    local: &'a [bool],
    method: &'a MethodCode,
}

impl Analysis<'_> {
    fn op(&self, pc: Pc) -> &Op {
        &self.machine.steps.code[pc.0 as usize].op
    }

    /// The first shared access, if there is exactly one.
    fn restart(&self) -> Option<Pc> {
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut todo = vec![self.method.entry];
        while let Some(pc) = todo.pop() {
            if self.machine.is_boundary(pc) {
                found.insert(pc);
            } else if seen.insert(pc) {
                todo.extend(successors(self.op(pc), pc));
            }
        }
        if found.len() == 1 { found.first().copied() } else { None }
    }

    /// Everything that can be reached from some positions without passing `stop`.
    fn region(&self, from: Vec<Pc>, stop: Option<Pc>) -> BTreeSet<Pc> {
        let mut seen = BTreeSet::new();
        let mut todo = from;
        while let Some(pc) = todo.pop() {
            if Some(pc) != stop && seen.insert(pc) {
                todo.extend(successors(self.op(pc), pc));
            }
        }
        seen
    }

    /// Whether an iteration leaves what is live at the restart as it was.
    fn is_stable(&self, restart: Pc) -> bool {
        let live = |reg: u32| self.live.is_live(restart, reg as usize);
        self.region(vec![restart], None).into_iter().all(|pc| match self.op(pc) {
            Op::SetAt { first, span, .. } => !(first.0..first.0 + span).any(live),
            Op::Store {
                place: Place { root: Root::Node(Ex::Reg(node), _), offset, .. }, ..
            } if self.local[pc.0 as usize] && live(node.0) => {
                self.is_overwritten(restart, *node, *offset)
            }
            op => !definitions(op).any(live),
        })
    }

    /// Whether a field of a fresh node is written before it is read and before the node is passed on.
    fn is_overwritten(&self, restart: Pc, node: Reg, field: u32) -> bool {
        let mut seen = BTreeSet::new();
        let mut todo = vec![restart];
        while let Some(pc) = todo.pop() {
            if !seen.insert(pc) {
                continue;
            }
            let op = self.op(pc);
            match op {
                Op::Store {
                    place: Place { root: Root::Node(Ex::Reg(reg), _), offset, dims, .. },
                    value,
                } if *reg == node
                    && *offset == field
                    && dims.is_empty()
                    && !mentions_all(value, node) =>
                {
                    continue;
                }
                _ if mentions(op, node) => return false,
                _ => todo.extend(successors(op, pc)),
            }
        }
        true
    }

    /// The positions that a write may precede within an iteration.
    fn dirty(&self, restart: Pc) -> BTreeSet<Pc> {
        let mut after = Vec::new();
        for pc in (self.method.entry.0..self.method.end.0).map(Pc) {
            let writes = match self.op(pc) {
                Op::Store { .. } => !self.local[pc.0 as usize],
                Op::Cas { .. } | Op::StoreConditional { .. } | Op::Swap { .. } => true,
                Op::FetchAdd { .. } | Op::Lock(_) | Op::Unlock(_) | Op::Free(_) => true,
                _ => false,
            };
            if writes {
                after.push(Pc(pc.0 + 1));
            }
        }
        self.region(after, Some(restart))
    }

    /// Whether the next step is a `cas` on a node after whose failure nothing is written before the restart.
    fn is_fragile(&self, pc: Pc, restart: Pc) -> bool {
        match self.op(pc) {
            Op::Cas { place: Place { root: Root::Node(Ex::Reg(_), _), .. }, fail, .. } => {
                self.is_harmless(*fail, None, restart)
            }
            _ => false,
        }
    }

    /// Whether no run from here writes, returns, fails or waits before it restarts, if a register is retired for a slot.
    fn dooms(&self, from: Pc, crucial: (u32, u32), restart: Pc) -> bool {
        from != restart && self.is_harmless(from, Some(crucial), restart)
    }

    fn is_harmless(&self, from: Pc, crucial: Option<(u32, u32)>, restart: Pc) -> bool {
        let mut seen: BTreeSet<(Pc, BTreeSet<u32>)> = BTreeSet::new();
        let mut todo = vec![(from, BTreeSet::new())];
        while let Some((pc, shared)) = todo.pop() {
            if pc == restart || !seen.insert((pc, shared.clone())) {
                continue;
            }
            if seen.len() > 500 {
                return false;
            }
            let Some(next) = self.harmless(pc, crucial, shared) else { return false };
            todo.extend(next);
        }
        true
    }

    /// What may follow an instruction that does no harm; `shared` are registers read from the slot since.
    fn harmless(
        &self,
        pc: Pc,
        crucial: Option<(u32, u32)>,
        mut shared: BTreeSet<u32>,
    ) -> Option<Vec<(Pc, BTreeSet<u32>)>> {
        let op = self.op(pc);
        let (register, slot) = crucial.unwrap_or((u32::MAX, u32::MAX));
        if definitions(op).contains(&register) {
            return None;
        }
        let next = Pc(pc.0 + 1);
        let targets = match op {
            Op::Load { dst, place } => {
                let plain = place.dims.is_empty();
                match &place.root {
                    Root::Shared if plain => {
                        shared.retain(|reg| !definitions(op).contains(reg));
                        if (place.offset..place.offset + place.width).contains(&slot) {
                            shared.insert(dst.0 + slot - place.offset);
                        }
                        return Some(vec![(next, shared)]);
                    }
                    Root::Node(Ex::Reg(node), _) if plain && node.0 == register => vec![next],
                    _ => return None,
                }
            }
            Op::Cas { place, old, fail, .. } => {
                let expects = place.root == Root::Shared
                    && place.dims.is_empty()
                    && old
                        .iter()
                        .zip(place.offset..)
                        .any(|(ex, s)| s == slot && *ex == Ex::Reg(Reg(register)));
                if !expects {
                    return None;
                }
                vec![*fail]
            }
            Op::Branch { cond, otherwise } => match decided(cond, register, &shared) {
                Some(true) => vec![next],
                Some(false) => vec![*otherwise],
                None => vec![next, *otherwise],
            },
            Op::Store { .. } if self.local[pc.0 as usize] => vec![next],
            Op::Set { .. } | Op::New { .. } | Op::Jump(_) | Op::Choose(_) => successors(op, pc),
            _ => return None,
        };
        for reg in definitions(op) {
            shared.remove(&reg);
        }
        Some(targets.into_iter().map(|t| (t, shared.clone())).collect())
    }
}

/// The value of a condition that follows from `register` not being in the slot.
fn decided(cond: &Ex, register: u32, shared: &BTreeSet<u32>) -> Option<bool> {
    match cond {
        Ex::Not(inner) => decided(inner, register, shared).map(|b| !b),
        Ex::Bin(BinOp::Eq, a, b) => match (&**a, &**b) {
            (Ex::Reg(a), Ex::Reg(b)) | (Ex::Reg(b), Ex::Reg(a))
                if (a.0 == register && shared.contains(&b.0))
                    || (b.0 == register && shared.contains(&a.0)) =>
            {
                Some(false)
            }
            (Ex::Reg(a), Ex::Const(NULL)) | (Ex::Const(NULL), Ex::Reg(a)) if a.0 == register => {
                Some(false)
            }
            _ => None,
        },
        Ex::Bin(BinOp::And, a, b) => {
            match (decided(a, register, shared), decided(b, register, shared)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            }
        }
        _ => None,
    }
}

fn mentions(op: &Op, register: Reg) -> bool {
    let mut found = false;
    seriatim_lang::flow::uses(op, &mut |r| found |= r == register);
    found
}

fn mentions_all(values: &[Ex], register: Reg) -> bool {
    let mut found = false;
    for value in values {
        seriatim_lang::flow::expression_uses(value, &mut |r| found |= r == register);
    }
    found
}
