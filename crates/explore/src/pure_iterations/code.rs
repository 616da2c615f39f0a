//! What the code of a method says about its iterations: where an iteration begins, where it has
//! written nothing yet, and which facts about a state make it certain that it will write nothing.
//!
//! The *restart* of a method is its first shared access. `pure_iterations` has the theorem that
//! uses it; these are its conditions on the code, and a method that fails one of them is not
//! reduced ([`Analysis::run`]):
//! - [`Analysis::restart`]: there is exactly one first access, so a call does nothing shared before
//!   it;
//! - [`Analysis::is_stable`]: an iteration leaves what is live at the restart as it was: the
//!   registers, and each slot of a fresh node unless it is overwritten before it is read. Registers
//!   that are set just before the restart, from constants or from what stays the same, are the same
//!   again. A thread variable is live everywhere, and so is the node that it refers to: both
//!   outlive the operation;
//! - [`Analysis::holds_no_lock`]: no lock is held at the restart, so an iteration that comes back
//!   has released what it took, and the access at the restart is never one step with a lock before
//!   it;
//! - [`Analysis::has_local_cycle`]: no cycle without a shared access, which would be an error of
//!   its own inside an iteration;
//! - [`Analysis::waits_locally`]: no `assume` over registers, at which an iteration could end for
//!   ever.
//!
//! [`Analysis::is_doomed`] walks all ways from a position under a *premise* that, once true, stays
//! true (a register refers to a node that a shared variable will never hold again; a field of its
//! node is final). What is known besides is which references are null. The premise decides branches
//! and makes `cas` fail. If every way comes to the restart without writing, returning, waiting or
//! being able to fail, the iteration is bound to be pure. Whatever is not understood counts as a
//! write.

use seriatim_lang::flow::{definitions, expressions, successors};
use seriatim_lang::held::Held;
use seriatim_lang::liveness::Liveness;
use seriatim_lang::machine::Machine;
use seriatim_lang::steps::*;
use std::collections::{BTreeMap, BTreeSet};

/// A fact that stays true once it is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Premise {
    /// The shared slot will never hold what the register holds.
    Retired {
        /// The register.
        register: u32,
        /// The shared slot.
        slot: u32,
    },
    /// A field of the node to which the register refers holds this scalar for ever.
    Holds {
        /// The register.
        register: u32,
        /// The field.
        slot: u32,
        /// The scalar.
        scalar: i32,
    },
    /// A field of the node to which the register refers will never hold this scalar.
    Lacks {
        /// The register.
        register: u32,
        /// The field.
        slot: u32,
        /// The scalar.
        scalar: i32,
    },
    /// The next step is a `cas` that fails.
    Fails,
}

/// What is known on a way: registers that hold what the premise is about, and references that are
/// null or not.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Known {
    tracked: BTreeSet<u32>,
    null: BTreeMap<u32, bool>,
    /// The register of the premise was overwritten: the premise says nothing any more.
    lost: bool,
}

/// A method whose attempts are understood.
pub struct Method {
    /// Where its iterations begin.
    pub restart: Pc,
    /// The positions that a write may precede within an iteration.
    pub dirty: BTreeSet<Pc>,
}

/// Looks at the code of one method.
pub struct Analysis<'a> {
    /// The steps.
    pub machine: &'a Machine,
    /// What is live where.
    pub live: &'a Liveness,
    /// The accesses that nobody else notices.
    pub local: &'a [bool],
    /// The method.
    pub method: &'a MethodCode,
}

impl Analysis<'_> {
    /// The restart and the dirty positions; `None` if there is no restart.
    pub fn run(&self) -> Option<Method> {
        let restart = self.restart()?;
        let understood = self.is_stable(restart)
            && self.holds_no_lock(restart)
            && !self.has_local_cycle()
            && !self.waits_locally();
        understood.then(|| Method { restart, dirty: self.dirty(restart) })
    }

    /// The positions of the method.
    fn positions(&self) -> impl Iterator<Item = Pc> + use<> {
        (self.method.entry.0..self.method.end.0).map(Pc)
    }

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

    /// The first of the instructions that lead straight to the restart and give the same registers
    /// each time.
    fn head(&self, restart: Pc) -> Pc {
        let mut into = vec![0u32; self.machine.steps.code.len()];
        for pc in self.positions() {
            successors(self.op(pc), pc).iter().for_each(|next| into[next.0 as usize] += 1);
        }
        into[self.method.entry.0 as usize] += 1;
        let mut head = restart;
        while head > self.method.entry && into[head.0 as usize] == 1 {
            let before = Pc(head.0 - 1);
            let repeats = match self.op(before) {
                Op::Set { .. } => true,
                Op::Load { place, .. } => {
                    place.root == Root::Shared
                        && place.dims.is_empty()
                        && self.local[before.0 as usize]
                }
                _ => false,
            };
            if !repeats {
                break;
            }
            head = before;
        }
        head
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
        let head = self.head(restart);
        let live = |reg: u32| self.live.is_live(head, reg as usize);
        self.region(vec![restart], None).into_iter().all(|pc| match self.op(pc) {
            Op::SetAt { first, span, .. } => !(first.0..first.0 + span).any(live),
            Op::Store {
                place: place @ Place { root: Root::Node(Ex::Reg(node), _), .. }, ..
            } if self.local[pc.0 as usize] && live(node.0) => {
                place.slots().all(|slot| self.is_overwritten(restart, *node, slot))
            }
            op => !definitions(op).any(live),
        })
    }

    /// Whether a slot of a fresh node is written before it is read and before the node is passed
    /// on. What a thread variable refers to is passed on to the next operation.
    fn is_overwritten(&self, restart: Pc, node: Reg, slot: u32) -> bool {
        let outlives = (node.0 as usize) < self.machine.steps.persistent.len();
        let mut seen = BTreeSet::new();
        let mut todo = vec![restart];
        while let Some(pc) = todo.pop() {
            let op = self.op(pc);
            if !seen.insert(pc) || overwrites(op, node, slot) {
                continue;
            }
            if mentions(op, node) || outlives && matches!(op, Op::Return(_)) {
                return false;
            }
            todo.extend(successors(op, pc));
        }
        true
    }

    /// Whether a thread surely holds no lock at the restart.
    fn holds_no_lock(&self, restart: Pc) -> bool {
        let held = Held::of(&self.machine.steps);
        held.at(restart).and_then(|locks| locks.all()).is_some_and(|locks| locks.is_empty())
    }

    /// Whether local code can come back to where it was without an access that is a step.
    fn has_local_cycle(&self) -> bool {
        let is_local = |pc: &Pc| !self.machine.is_boundary(*pc);
        self.positions().filter(is_local).any(|start| {
            let mut seen = BTreeSet::new();
            let mut todo = successors(self.op(start), start);
            while let Some(pc) = todo.pop() {
                if pc == start {
                    return true;
                }
                if is_local(&pc) && seen.insert(pc) {
                    todo.extend(successors(self.op(pc), pc));
                }
            }
            false
        })
    }

    /// Whether the method waits for a condition over registers.
    fn waits_locally(&self) -> bool {
        self.positions().any(|pc| self.machine.steps.code[pc.0 as usize].pauses)
    }

    /// The positions that a write may precede within an iteration.
    fn dirty(&self, restart: Pc) -> BTreeSet<Pc> {
        let mut after = Vec::new();
        for pc in self.positions() {
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

    /// Whether an iteration that stands at a position is bound to be pure under a premise; `null`
    /// says of references whether they are null.
    pub fn is_doomed(
        &self,
        from: Pc,
        restart: Pc,
        premise: Premise,
        null: BTreeMap<u32, bool>,
    ) -> bool {
        let start = match (premise, self.op(from)) {
            (Premise::Fails, Op::Cas { fail, .. }) => *fail,
            (Premise::Fails, _) => return false,
            _ => from,
        };
        let mut seen: BTreeSet<(Pc, Known)> = BTreeSet::new();
        let mut todo = vec![(start, Known { null, ..Known::default() })];
        while let Some((pc, known)) = todo.pop() {
            let is_new = pc != restart && seen.insert((pc, known.clone()));
            if !is_new {
                continue;
            }
            if seen.len() > 300 {
                return false;
            }
            let Some(next) = self.harmless(pc, premise, known) else { return false };
            todo.extend(next);
        }
        from != restart
    }

    /// What may follow an instruction that does no harm; `None` if it may do some.
    fn harmless(&self, pc: Pc, premise: Premise, mut known: Known) -> Option<Vec<(Pc, Known)>> {
        let op = self.op(pc);
        if !cannot_fail(op) {
            return None;
        }
        let premise = if known.lost { Premise::Fails } else { premise };
        known.lost |= definitions(op).contains(&premise.register());
        let next = Pc(pc.0 + 1);
        let targets = match op {
            Op::Load { dst, place } => {
                self.reach(place, &known)?;
                let tracked = premise.read_by(place).map(|at| dst.0 + at);
                known.forget(op);
                known.tracked.extend(tracked);
                return Some(vec![(next, known)]);
            }
            Op::Set { dst, value } => {
                known.copy(dst.0, value);
                return Some(vec![(next, known)]);
            }
            Op::New { dst, .. } => {
                known.forget(op);
                known.null.insert(dst.0, false);
                return Some(vec![(next, known)]);
            }
            Op::Cas { place, old, fail, .. } if premise.defeats(place, old) => {
                self.reach(place, &known)?;
                vec![*fail]
            }
            Op::Lock(place) | Op::Unlock(place) if self.machine.nests_locks() => {
                self.reach(place, &known)?;
                vec![next]
            }
            Op::Branch { cond, otherwise } => match known.decide(cond, premise) {
                Some(true) => vec![next],
                Some(false) => vec![*otherwise],
                None => vec![next, *otherwise],
            },
            Op::Store { .. } if self.local[pc.0 as usize] => vec![next],
            Op::Any { .. } | Op::Lin { .. } | Op::Jump(_) | Op::Choose(_) => successors(op, pc),
            _ => return None,
        };
        known.forget(op);
        Some(targets.into_iter().map(|t| (t, known.clone())).collect())
    }

    /// Whether a place surely exists.
    fn reach(&self, place: &Place, known: &Known) -> Option<()> {
        let exists = match &place.root {
            Root::Shared => true,
            Root::Node(Ex::Reg(node), _) => known.null.get(&node.0) == Some(&false),
            Root::Node(..) => false,
        };
        (exists && place.dims.is_empty()).then_some(())
    }
}

impl Premise {
    /// The register that it is about.
    fn register(self) -> u32 {
        match self {
            Premise::Retired { register, .. }
            | Premise::Holds { register, .. }
            | Premise::Lacks { register, .. } => register,
            Premise::Fails => u32::MAX,
        }
    }

    /// Which word of a load is the one that the premise is about.
    fn read_by(self, place: &Place) -> Option<u32> {
        let slot = match (self, &place.root) {
            (Premise::Retired { slot, .. }, Root::Shared) => slot,
            (
                Premise::Holds { register, slot, .. } | Premise::Lacks { register, slot, .. },
                Root::Node(Ex::Reg(node), _),
            ) if node.0 == register => slot,
            _ => return None,
        };
        (place.offset..place.offset + place.width).contains(&slot).then(|| slot - place.offset)
    }

    /// Whether a `cas` with these expectations surely fails.
    fn defeats(self, place: &Place, old: &[Ex]) -> bool {
        let Some(at) = self.read_by(place) else { return false };
        match (self, &old[at as usize]) {
            (Premise::Retired { register, .. }, Ex::Reg(r)) => r.0 == register,
            (Premise::Holds { scalar, .. }, Ex::Const(c)) => *c != scalar,
            (Premise::Lacks { scalar, .. }, Ex::Const(c)) => *c == scalar,
            _ => false,
        }
    }
}

impl Known {
    fn forget(&mut self, op: &Op) {
        for reg in definitions(op) {
            self.tracked.remove(&reg);
            self.null.remove(&reg);
        }
    }

    fn copy(&mut self, dst: u32, value: &[Ex]) {
        let before = self.clone();
        for (reg, ex) in (dst..).zip(value) {
            self.tracked.remove(&reg);
            self.null.remove(&reg);
            match ex {
                Ex::Reg(from) => {
                    if before.tracked.contains(&from.0) {
                        self.tracked.insert(reg);
                    }
                    let null = before.null.get(&from.0).map(|null| (reg, *null));
                    self.null.extend(null);
                }
                Ex::Const(NULL) => {
                    self.null.insert(reg, true);
                }
                _ => {}
            }
        }
    }

    /// The value of a condition that follows from what is known.
    fn decide(&self, cond: &Ex, premise: Premise) -> Option<bool> {
        match cond {
            Ex::Not(inner) => self.decide(inner, premise).map(|b| !b),
            Ex::Bin(BinOp::And, a, b) => match (self.decide(a, premise), self.decide(b, premise)) {
                (Some(false), _) | (_, Some(false)) => Some(false),
                (Some(true), Some(true)) => Some(true),
                _ => None,
            },
            Ex::Bin(BinOp::Or, a, b) => match (self.decide(a, premise), self.decide(b, premise)) {
                (Some(true), _) | (_, Some(true)) => Some(true),
                (Some(false), Some(false)) => Some(false),
                _ => None,
            },
            Ex::Bin(BinOp::Eq, a, b) => {
                self.equal(a, b, premise).or_else(|| self.equal(b, a, premise))
            }
            Ex::Reg(reg) if self.tracked.contains(&reg.0) => match premise {
                Premise::Holds { scalar, .. } => Some(scalar != 0),
                Premise::Lacks { scalar: 0, .. } => Some(true),
                _ => None,
            },
            Ex::Const(scalar) => Some(*scalar != 0),
            _ => None,
        }
    }

    fn equal(&self, a: &Ex, b: &Ex, premise: Premise) -> Option<bool> {
        let Ex::Reg(a) = a else { return None };
        let tracked = self.tracked.contains(&a.0);
        let null = self.null.get(&a.0).copied();
        match (b, premise) {
            (Ex::Reg(b), Premise::Retired { register, .. }) if tracked && b.0 == register => {
                Some(false)
            }
            (Ex::Const(c), Premise::Holds { scalar, .. }) if tracked => Some(*c == scalar),
            (Ex::Const(c), Premise::Lacks { scalar, .. }) if tracked && *c == scalar => Some(false),
            (Ex::Const(NULL), _) => null,
            (Ex::Reg(b), _) => match (null, self.null.get(&b.0)) {
                (Some(true), Some(true)) => Some(true),
                (Some(a), Some(b)) if a != *b => Some(false),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Whether no expression of an instruction can be an error.
fn cannot_fail(op: &Op) -> bool {
    fn is_safe(ex: &Ex) -> bool {
        match ex {
            Ex::Const(_) | Ex::Reg(_) | Ex::SelfTid => true,
            Ex::Not(a) => is_safe(a),
            Ex::Bin(BinOp::Eq | BinOp::Lt | BinOp::And | BinOp::Or, a, b) => {
                is_safe(a) && is_safe(b)
            }
            Ex::If(a, b, c) => is_safe(a) && is_safe(b) && is_safe(c),
            Ex::At { .. } | Ex::Neg(_) | Ex::Bin(..) => false,
        }
    }
    let mut safe = true;
    expressions(op, &mut |ex| safe &= is_safe(ex));
    safe
}

/// Whether an instruction writes a slot of a node, whatever it held, and reads nothing of the node.
fn overwrites(op: &Op, node: Reg, slot: u32) -> bool {
    match op {
        Op::Store { place, value } => {
            let hits = matches!(&place.root, Root::Node(Ex::Reg(reg), _) if *reg == node);
            let exact = place.dims.is_empty() && place.slots().contains(&slot);
            hits && exact && !mentions_all(value, node)
        }
        _ => false,
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
