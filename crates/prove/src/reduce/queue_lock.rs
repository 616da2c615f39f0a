//! Takes a shared reference to the last of those who wait for a lock.
//!
//! *Decided*: structs with one boolean, the *word*, and one shared variable, the *tail*, that are
//! used as the queue lock of Craig, and of Landin and Hagersten: a method *makes* a node with the
//! word `true`, *queues* it by a swap with the tail, *looks* at the word of the node that it got for
//! it until that is `false`, and in the end *passes on* by writing `false` to its own word. On every
//! way through a method these come in this order ([`Lock::is_in_order`]), and the references are
//! used for nothing else. The tail begins with a node whose word is `false`.
//!
//! *Why it is sound*: let n1, n2, … be the nodes in the order of the swaps, and n0 the first tail.
//! Every node is queued once, so the one that got n(i-1) for it is n(i). Its word is `true` until its
//! own thread passes on, which it does only after it found the word of n(i-1) `false`. So when the
//! thread of n(i) finds that, all before it have passed on, and none behind it has found anything:
//! in `Q`, where the lock is held from the look that succeeds until the thread passes on, it is free
//! then, and passing on is releasing a lock that is held. Looking in vain is a step that does
//! nothing, making and queueing leave no trace.
//!
//! *What would make it unsound*: a node that is queued twice, or used again; a word that is written
//! by anybody else or at another time; a look at any other word; a node that others could have.

use super::tail::{self, TRUTH, Tail};
use super::ways::{self, Parts, is_alone, perhaps};
use super::{method, nothing, replace};
use seriatim_lang::flow::uses;
use seriatim_lang::steps::{Ex, Op, Pc, Place, Reg, Root, Steps};
use seriatim_lang::types::Scalar;
use std::collections::BTreeSet;

/// Makes locks of all variables that are the tail of such a queue.
pub fn locks(steps: &mut Steps) {
    tail::locks(steps, |steps, tail| Lock::of(steps, tail).map(|lock| lock.make(steps)));
}

/// What an instruction does for the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// Looks: where to go on when it is its turn, and when not.
    Look(Pc, Option<Pc>),
    /// Passes on.
    Pass,
    /// Leaves no trace.
    Gone,
    /// Sets the tail at the start.
    Begin,
}

/// What has become of the node of a method, on a way through it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Fate {
    None,
    Made,
    Queued,
    Found,
}

/// A way through a method: the fate, and which registers have the own node, or the one before it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Way {
    fate: Fate,
    own: BTreeSet<Reg>,
    before: BTreeSet<Reg>,
}

struct Lock {
    tail: Tail,
    parts: Parts<Part>,
}

impl Lock {
    fn of(steps: &Steps, tail: u32) -> Option<Lock> {
        let slot = &steps.shared[tail as usize];
        let Scalar::Ref(of) = slot.kind.scalar else { return None };
        let [word] = &steps.structs[of.0 as usize].slots[..] else { return None };
        let is_word = word.kind == TRUTH && !word.plain;
        if !is_word || slot.kind.nullable || slot.joined || slot.plain || !is_alone(steps, of, tail)
        {
            return None;
        }
        let mut lock = Lock { tail: Tail { variable: tail, of }, parts: Parts::none() };
        let whole = lock.begins_free(steps)
            && (0..steps.methods.len()).all(|of| lock.is_in_order(steps, of).is_some());
        let looks = lock.parts.any(|part| matches!(part, Part::Look(..)));
        let closed = whole
            && looks
            && lock.parts.cover(steps, |op| lock.tail.concerns(op))
            && lock.has_no_side_entrance(steps);
        closed.then_some(lock)
    }

    /// The register with the node whose word an access touches.
    fn word_of(&self, place: &Place) -> Option<Option<Reg>> {
        match &place.root {
            Root::Node(node, of) if *of == self.tail.of => match node {
                Ex::Reg(reg) => Some(Some(*reg)),
                _ => Some(None),
            },
            _ => None,
        }
    }

    /// The initialisation makes one node with the word `false` and puts it into the tail.
    fn begins_free(&mut self, steps: &Steps) -> bool {
        let (mut made, mut set) = (None, false);
        for (at, instr) in steps.code.iter().enumerate() {
            if method(steps, at).is_some() {
                continue;
            }
            match &instr.op {
                Op::New { dst, of, fields } if *of == self.tail.of => {
                    if made.is_some() || fields[..] != [Ex::Const(0)] {
                        return false;
                    }
                    made = Some(*dst);
                    self.parts.play(at, Part::Gone);
                }
                Op::Store { place, value } if self.tail.is(place) => {
                    let right = made.is_some_and(|made| value[..] == [Ex::Reg(made)]);
                    if set || !right || !place.dims.is_empty() {
                        return false;
                    }
                    set = true;
                    self.parts.play(at, Part::Begin);
                }
                Op::Check { kind, .. } if kind.scalar == Scalar::Ref(self.tail.of) => {
                    self.parts.play(at, Part::Gone);
                }
                op => {
                    let mut named = self.tail.concerns(op);
                    uses(op, &mut |reg| named |= Some(reg) == made);
                    if named {
                        return false;
                    }
                }
            }
        }
        set
    }

    /// On every way through a method the node is made, queued, found and passed on, in this order.
    fn is_in_order(&mut self, steps: &Steps, of: usize) -> Option<()> {
        let start = Way { fate: Fate::None, own: BTreeSet::new(), before: BTreeSet::new() };
        ways::follow(steps, of, start, |pc, way| self.follow(steps, pc, way))
    }

    /// Where a way goes on behind an instruction; none if it is not one of such a lock.
    fn follow(&mut self, steps: &Steps, pc: Pc, mut way: Way) -> Option<Vec<(Pc, Way)>> {
        let at = pc.0 as usize;
        let (instr, next) = (&steps.code[at], Pc(pc.0 + 1));
        let reference = |ex: &Ex| self.tail.reference(steps, at, ex);
        let part = match &instr.op {
            Op::New { dst, of, fields } if *of == self.tail.of => {
                let right = way.fate == Fate::None && fields[..] == [Ex::Const(1)];
                (right && !instr.inside_atomic).then_some(())?;
                way = Way { fate: Fate::Made, own: [*dst].into(), before: BTreeSet::new() };
                Part::Gone
            }
            Op::Swap { dst, place, value } if self.tail.is(place) => {
                let [Ex::Reg(node)] = value[..] else { return None };
                let right = way.fate == Fate::Made && way.own.contains(&node);
                (right && !instr.inside_atomic && place.dims.is_empty()).then_some(())?;
                way.own.remove(dst);
                (way.fate, way.before) = (Fate::Queued, [*dst].into());
                Part::Gone
            }
            Op::Load { dst, place } if self.word_of(place).is_some() => {
                let node = self.word_of(place)??;
                (way.fate == Fate::Queued && way.before.contains(&node)).then_some(())?;
                return self.look(steps, at, *dst, way);
            }
            Op::Store { place, value } if self.word_of(place).is_some() => {
                let node = self.word_of(place)??;
                let right = way.fate == Fate::Found && way.own.contains(&node);
                (right && !instr.inside_atomic && value[..] == [Ex::Const(0)]).then_some(())?;
                way = Way { fate: Fate::None, own: BTreeSet::new(), before: BTreeSet::new() };
                Part::Pass
            }
            Op::Set { dst, value } if value.iter().any(|ex| reference(ex).is_some()) => {
                // One at a time: which register holds what is then plain.
                let ([ex], dst, false) = (&value[..], *dst, instr.inside_atomic) else {
                    return None;
                };
                let from = reference(ex)?;
                for all in [&mut way.own, &mut way.before] {
                    match all.contains(&from) {
                        true => all.insert(dst),
                        false => all.remove(&dst),
                    };
                }
                Part::Gone
            }
            Op::Check { value, kind } if kind.scalar == Scalar::Ref(self.tail.of) => {
                let reg = reference(value)?;
                let known = way.own.contains(&reg) || way.before.contains(&reg);
                (known && !instr.inside_atomic).then_some(())?;
                Part::Gone
            }
            Op::Return(_) if way.fate != Fate::None => return None,
            op => return self.tail.is_foreign(steps, at).then(|| ways::go_on(op, pc, &way)),
        };
        self.parts.play(at, part)?;
        Some(vec![(next, way)])
    }

    /// A read of the word and at once a branch, or an `await` of its own, on what was read.
    fn look(&mut self, steps: &Steps, at: usize, read: Reg, way: Way) -> Option<Vec<(Pc, Way)>> {
        let (found, waits) =
            tail::look(steps, (at, read), &mut self.parts, Part::Look, Part::Gone)?;
        let served = Way { fate: Fate::Found, ..way.clone() };
        Some([(found, served)].into_iter().chain(waits.map(|pc| (pc, way))).collect())
    }

    /// Nobody jumps between a look, its condition and the marker before it.
    fn has_no_side_entrance(&self, steps: &Steps) -> bool {
        let looks = |at: usize| matches!(self.parts.at(at), Some(Part::Look(..)));
        ways::is_entered_from_before(steps, |at| {
            at.checked_sub(1).is_some_and(|before| {
                looks(before) || looks(at) && matches!(steps.code[before].op, Op::Atomic)
            })
        })
    }

    fn make(&self, steps: &mut Steps) {
        let place = self.tail.place();
        for at in self.parts.positions() {
            steps.code[at].inside_atomic = false;
        }
        replace(steps, |pc, _| {
            let lock = || Op::Lock(place.clone());
            Some(match *self.parts.at(pc.0 as usize)? {
                Part::Look(found, Some(waits)) => perhaps(lock(), found, waits),
                Part::Look(_, None) => vec![lock()],
                Part::Pass => vec![Op::Unlock(place.clone())],
                Part::Gone => vec![nothing(pc)],
                Part::Begin => vec![Op::Store { place: place.clone(), value: vec![Ex::Const(0)] }],
            })
        });
        self.tail.becomes_lock(steps);
    }
}
