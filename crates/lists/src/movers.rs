//! Which accesses are left movers: fused with the step before them, because no other thread can
//! notice when they happen.
//!
//! *Theorem* (Lipton, CACM 1975): an access that commutes to the left with every access of other
//! threads can be moved to the step before it of its own thread, without changing the outcome.
//! Results cannot change, and operations that return earlier are in a stricter order of time; so no
//! violation is lost, and each fused run is a run.
//!
//! Three kinds of accesses are left movers: those of constant fields and private nodes (see
//! `seriatim_lang::locality`); *releases* of locks that the thread surely holds, for others can
//! only wait for them; *guarded* accesses: a read, if each write of the same field holds a lock
//! that the reader holds, too; a write, if each access of the field does. The lock is a shared one,
//! or the lock of the very node.
//!
//! *Precondition*: no thread releases a lock that it does not hold; see `seriatim_lang::held`.
//! Otherwise only the first kind moves. What would make this unsound: a second way to read or write
//! a lock, or a lock thought to be held that is not.

use seriatim_lang::held::Held;
use seriatim_lang::liveness::Liveness;
use seriatim_lang::locality::local_accesses;
use seriatim_lang::steps::*;
use std::collections::{BTreeMap, BTreeSet};

/// Which accesses may move beside those that nobody else can touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reductions {
    /// Those that a lock protects.
    pub locks: bool,
}

impl Reductions {
    /// None of them.
    pub const NONE: Reductions = Reductions { locks: false };
}

impl Default for Reductions {
    fn default() -> Reductions {
        Reductions { locks: true }
    }
}

/// What protects an access: a lock of the node, by its slot, or a shared lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Guard {
    Own(u32),
    Shared(u32),
}

/// A slot of the nodes or of the shared variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Field {
    OfNodes(u32),
    Shared(u32),
}

/// The locks that all writes, and all accesses, of a field hold.
#[derive(Clone, Debug, Default)]
struct Discipline {
    writes: Option<BTreeSet<Guard>>,
    accesses: Option<BTreeSet<Guard>>,
}

/// Whether the access of a position is a left mover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mover {
    /// It is not: others may notice when it happens.
    Not,
    /// It is: nobody else can touch what it touches.
    Local,
    /// It is: the thread holds a lock that keeps others away, or releases one.
    Guarded,
}

/// For every position, whether its access is a left mover.
pub fn left_movers(steps: &Steps, liveness: &Liveness, reductions: Reductions) -> Vec<Mover> {
    let local = local_accesses(steps, liveness);
    let guarded = match reductions.locks {
        true => guarded_accesses(steps, &local),
        false => vec![false; local.len()],
    };
    let mover = |(local, guarded)| match (local, guarded) {
        (true, _) => Mover::Local,
        (false, true) => Mover::Guarded,
        (false, false) => Mover::Not,
    };
    local.into_iter().zip(guarded).map(mover).collect()
}

fn guarded_accesses(steps: &Steps, local: &[bool]) -> Vec<bool> {
    let mut guarded = vec![false; steps.code.len()];
    let held = Held::of(steps);
    if !held.knows_releases(steps) {
        return guarded;
    }
    let mut fields: BTreeMap<Field, Discipline> = BTreeMap::new();
    for (pc, instr) in steps.code.iter().enumerate() {
        if held.at(Pc(pc as u32)).is_none() || local[pc] {
            continue;
        }
        let guards = guards(&held, pc, &instr.op);
        for field in fields_of(&instr.op) {
            let discipline = fields.entry(field).or_default();
            restrict(&mut discipline.accesses, &guards);
            if !matches!(instr.op, Op::Load { .. }) {
                restrict(&mut discipline.writes, &guards);
            }
        }
    }
    for (pc, instr) in steps.code.iter().enumerate() {
        let guards = guards(&held, pc, &instr.op);
        let protected = |field: Field| {
            let all = fields.get(&field).and_then(|discipline| match instr.op {
                Op::Load { .. } => discipline.writes.as_ref(),
                _ => discipline.accesses.as_ref(),
            });
            all.is_none_or(|all| !all.is_disjoint(&guards))
        };
        let moves = match &instr.op {
            Op::Unlock(_) => true,
            Op::Load { .. } | Op::Store { .. } => fields_of(&instr.op).into_iter().all(protected),
            _ => false,
        };
        guarded[pc] = moves && held.at(Pc(pc as u32)).is_some();
    }
    guarded
}

fn restrict(known: &mut Option<BTreeSet<Guard>>, guards: &BTreeSet<Guard>) {
    *known = Some(match known {
        Some(old) => old.intersection(guards).copied().collect(),
        None => guards.clone(),
    });
}

fn guards(held: &Held, pc: usize, op: &Op) -> BTreeSet<Guard> {
    let Some(locks) = held.at(Pc(pc as u32)) else { return BTreeSet::new() };
    let mut guards: BTreeSet<Guard> = locks.shared().map(Guard::Shared).collect();
    if let Some(Place { root: Root::Node(Ex::Reg(reg), _), .. }) = op.place() {
        guards.extend(locks.of_node(*reg).map(Guard::Own));
    }
    guards
}

/// The fields that an access touches; locks are no fields.
fn fields_of(op: &Op) -> Vec<Field> {
    let Some(place) = op.place() else { return vec![] };
    if matches!(op, Op::Lock(_) | Op::Unlock(_)) {
        return vec![];
    }
    let slots = place.offset..place.offset + place.width;
    match place.root {
        Root::Shared => slots.map(Field::Shared).collect(),
        Root::Node(..) => slots.map(Field::OfNodes).collect(),
    }
}
