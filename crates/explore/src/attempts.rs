//! What the code of a method says about its attempts: where an iteration begins, where it has written nothing yet, and which
//! facts about a state make it certain that it will write nothing.
//!
//! The *restart* of a method is its first shared access, if there is exactly one, and if an iteration leaves what is
//! live there as it was: the registers, and the fields of fresh nodes unless they are overwritten before they are read.
//! Registers that are set just before the restart, from constants or from what stays the same, are the same again.
//!
//! [`Method::is_doomed`] walks all ways from a position under a *premise* that, once true, stays true (a register refers to a
//! node that a shared variable will never hold again; a field of its node is final). What is known besides is which references are
//! null. The premise decides branches and makes `cas` fail. If every way comes to the restart without writing, returning, waiting
//! or being able to fail, the iteration is bound to be pure. Whatever is not understood counts as a write.

use seriatim_lang::flow::{definitions, expressions, successors};
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

/// What is known on a way: registers that hold what the premise is about, and references that are null or not.
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
        let restart = self.restart().filter(|restart| self.is_stable(*restart))?;
        Some(Method { restart, dirty: self.dirty(restart) })
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

    /// The first of the instructions that lead straight to the restart and give the same registers each time.
    fn head(&self, restart: Pc) -> Pc {
        let mut into = vec![0u32; self.machine.steps.code.len()];
        for pc in (self.method.entry.0..self.method.end.0).map(Pc) {
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

    /// Whether an iteration that stands at a position is bound to be pure under a premise; `null` says of references whether
    /// they are null.
    pub fn is_doomed(
        &self,
        (from, restart): (Pc, Pc),
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
