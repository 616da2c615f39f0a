//! Whether threads can wait for each other for ever: not if they take their locks in an order.
//!
//! *Theorem.* Let a certificate be accepted, and suppose that
//! 1. methods wait at locks only; the program of which the certificate speaks has no other locks
//!    than that of the file; and nobody holds one at the start ([`waits_at_locks_only`]);
//! 2. on every way through a method it is known how many locks of which *sort* are held (a shared
//!    variable or array, or a field of the nodes), and none at a return ([`Held::of`]);
//! 3. sorts can be ranked such that a lock is taken only while locks of lower sorts are held, or
//!    locks in nodes of the same sort ([`Held::is_ranked`]);
//! 4. in the latter case: in every view that rests there, as many nodes as are counted are known to
//!    be locked by the operation, not that of the lock which it takes, and their keys are lower than
//!    its key as far as the view says: in a lower class, or in the same one, if that has many keys
//!    ([`follows`]). Or they are higher, in all views.
//!
//! Then, in every state that can be reached and in which an operation runs, some thread can take a
//! step.
//!
//! *Proof.* If not, every operation waits for a lock (1) that another running operation holds, for
//! none is held at a return (2) and only holders release (an accepted certificate has no faults);
//! that one waits in turn. Along this chain sorts never descend (3), and where they stay the same,
//! keys ascend: let a thread hold the lock of a and wait for that of b, with key(a) ≥ key(b). Views
//! describe the thread for every choice of the tracked key. If key(a) is an infinity, a has a class
//! of its own in all of them, and b is in it or below. Otherwise take key(a): then a is tracked, and
//! b tracked or below. Both are excluded (4). So the chain never comes back; but there are only
//! finitely many threads. Descending keys are ascending ones in a mirror.
//!
//! Stand-ins do not matter: all that the program of the file does is done by the stand-in, or by one
//! of several, with the same locks in the same hands (1); so if all stand still, all stand still
//! there. (But for locks whose sections are one step of the stand-in: who holds one of them waits for
//! nothing before giving it back, so nobody else waits for it for ever.)
//!
//! *What would make it unsound*: a lock that is held and not counted, or not shown by the view; a
//! lock of the same node twice; a wait for anything but a lock.

use crate::certificate::Certificate;
use crate::object::{Field, Object};
use crate::reduce::owner;
use crate::scalar::{Class, Scalar};
use crate::state::State;
use seriatim_lang::flow;
use seriatim_lang::steps::{Ex, Op, Pc, Place, Root, Steps};
use seriatim_lang::types::StructId;
use seriatim_lang::{Program, lower};
use std::collections::{BTreeMap, BTreeSet};

/// More ways to come to positions than this are not followed.
const MOST: usize = 100_000;

/// A sort of locks: in which struct, if in one, and which slots.
type Sort = (Option<StructId>, u32, u32);

/// Whether the threads of a program never all stand still, by the order of its locks, if this
/// certificate of it was accepted.
pub fn is_kept(program: &Program, object: &Object, certificate: &Certificate) -> bool {
    let Some(held) = Held::of(&object.steps) else { return false };
    let mut views = certificate.views.iter().map(|(view, _)| view);
    waits_at_locks_only(program, &object.steps)
        && held.is_ranked(&object.steps)
        && (views.clone().all(|view| held.follow(object, view, Keys::Ascend))
            || views.all(|view| held.follow(object, view, Keys::Descend)))
}

/// How keys go, from the nodes whose locks are held to the one whose lock is taken.
#[derive(Clone, Copy)]
enum Keys {
    Ascend,
    Descend,
}

/// Condition 1.
fn waits_at_locks_only(program: &Program, steps: &Steps) -> bool {
    let Ok(file) = lower(program, 2, None) else { return false };
    let count = |steps: &Steps, wanted: fn(&Op) -> bool| {
        let bodies = steps.methods.iter().map(|m| m.entry.0 as usize..m.end.0 as usize);
        bodies.flat_map(|body| &steps.code[body]).filter(|i| wanted(&i.op)).count()
    };
    let locks: fn(&Op) -> bool = |op| matches!(op, Op::Lock(_));
    let unlocks: fn(&Op) -> bool = |op| matches!(op, Op::Unlock(_));
    let all = file.code.iter().filter(|i| locks(&i.op)).count();
    // Outside of atomic blocks: inside of one, a lock that is taken keeps the whole block waiting.
    let inside = file.code.iter().any(|i| locks(&i.op) && i.inside_atomic);
    count(&file, |op| matches!(op, Op::Assume(_))) == 0
        && count(&file, locks) == count(steps, locks)
        && count(&file, unlocks) == count(steps, unlocks)
        && all == count(&file, locks)
        && !inside
}

/// The locks that are held where a lock is taken.
struct Held {
    /// By position: the sort that is taken, and how many of each sort are held.
    at: BTreeMap<u32, BTreeMap<Sort, usize>>,
}

impl Held {
    /// Condition 2.
    fn of(steps: &Steps) -> Option<Held> {
        let places = steps.code.iter().filter_map(|instr| match &instr.op {
            Op::Lock(place) | Op::Unlock(place) => Some(sort(place)),
            _ => None,
        });
        let sorts: BTreeSet<Sort> = places.collect();
        let overlap = |a: &Sort, b: &Sort| a != b && a.0 == b.0 && a.1 < b.2 && b.1 < a.2;
        if sorts.iter().any(|a| sorts.iter().any(|b| overlap(a, b))) {
            return None;
        }
        let mut held = Held { at: BTreeMap::new() };
        let mut seen: BTreeSet<(u32, BTreeMap<Sort, usize>)> = BTreeSet::new();
        let entries = steps.methods.iter().map(|m| (m.entry, BTreeMap::new()));
        let mut todo: Vec<(Pc, BTreeMap<Sort, usize>)> = entries.collect();
        while let Some((pc, mut has)) = todo.pop() {
            if !seen.insert((pc.0, has.clone())) {
                continue;
            }
            let op = &steps.code.get(pc.0 as usize)?.op;
            match op {
                Op::Lock(place) => {
                    // On every way the same are held.
                    (*held.at.entry(pc.0).or_insert(has.clone()) == has).then_some(())?;
                    *has.entry(sort(place)).or_insert(0) += 1;
                }
                Op::Unlock(place) => {
                    let count = has.get_mut(&sort(place)).filter(|count| **count > 0)?;
                    *count -= 1;
                    has.retain(|_, count| *count > 0);
                }
                Op::Return(_) => has.is_empty().then_some(())?,
                _ => {}
            }
            (seen.len() < MOST).then_some(())?;
            let next = flow::successors(op, pc).into_iter();
            todo.extend(next.map(|next| (next, has.clone())));
        }
        Some(held)
    }

    /// Condition 3.
    fn is_ranked(&self, steps: &Steps) -> bool {
        let mut above: BTreeMap<Sort, BTreeSet<Sort>> = BTreeMap::new();
        for (pc, has) in &self.at {
            let Op::Lock(place) = &steps.code[*pc as usize].op else { return false };
            let taken = sort(place);
            for sort in has.keys() {
                match *sort == taken {
                    true if sort.0.is_none() => return false,
                    true => {}
                    false => drop(above.entry(*sort).or_default().insert(taken)),
                }
            }
        }
        // A sort with nothing above it that is left is left out; in a ring of sorts there is none.
        let mut left: BTreeSet<Sort> = above.keys().copied().collect();
        loop {
            let before = left.len();
            let still = |sort: &Sort| above[sort].iter().any(|higher| left.contains(higher));
            left = left.iter().copied().filter(still).collect();
            if left.len() == before {
                return left.is_empty();
            }
        }
    }

    /// Condition 4, in a view.
    fn follow(&self, object: &Object, view: &State, keys: Keys) -> bool {
        let Some(operation) = &view.operation else { return true };
        let Op::Lock(place) = &object.steps.code[operation.pc.0 as usize].op else { return true };
        let Some(has) = self.at.get(&operation.pc.0) else { return false };
        let count = has.get(&sort(place)).copied().unwrap_or(0);
        count == 0 || object.has(Field::Key) && follows(place, view, count, keys)
    }
}

fn sort(place: &Place) -> Sort {
    let slots = place.slots();
    (owner(place), slots.start, slots.end)
}

/// Whether the node whose lock is taken follows those that the operation has locked, so many.
fn follows(place: &Place, view: &State, count: usize, keys: Keys) -> bool {
    let Root::Node(Ex::Reg(register), _) = &place.root else { return false };
    let Some(Scalar::Node(taken)) = view.registers().get(register.0 as usize) else { return false };
    let nodes = (0..).zip(&view.graph.nodes);
    let locked: Vec<(u32, Class)> =
        nodes.filter(|(_, node)| node.now.locked).map(|(id, node)| (id, node.class)).collect();
    let class = view.graph.node(*taken).class;
    let before = |held: Class| match keys {
        Keys::Ascend => held < class,
        Keys::Descend => held > class,
    };
    let may_be_before = |held: Class| before(held) || held == class && class.is_many();
    locked.len() == count && locked.iter().all(|(id, held)| *id != taken.0 && may_be_before(*held))
}
