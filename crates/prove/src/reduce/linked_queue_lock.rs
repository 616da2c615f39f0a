//! Takes a shared reference to the last of those who wait for a lock, each of whom is told by the
//! one before it.
//!
//! *Decided*: structs with one boolean, the *word*, and one reference to the same struct, the
//! *link*, and one shared variable, the *tail*, that are used as the queue lock of Mellor-Crummey
//! and Scott. A method *makes* a node without a link and *queues* it by a swap with the tail. If
//! there was *none before*, it has the lock. Otherwise it writes `true` to its own word, or made it
//! so, *links* its node behind the one before, and *looks* at its own word until that is `false`. In
//! the end it *yields* by exchanging its own node in the tail for null, or it knows from its own link
//! which node comes next and *passes on* by writing `false` to the word of that. On every way through
//! a method these come in this order ([`Lock::is_in_order`]), and the references are used for nothing
//! else. The tail begins with null.
//!
//! *Why it is sound*: every node is queued once, so at most one thread gets a certain node for it,
//! and the link of a node is written once, by that thread, to the node behind. Call a thread served
//! from finding none before, or its word `false`, until it yields or passes on. A thread that waits
//! wrote `true` to its word before it was linked; only the thread of the node before can find it,
//! and writes `false` when it passes on. Who finds none before found the tail empty: nobody queued
//! yet, or the thread of the last node yielded. So by induction on the order of the swaps whoever is
//! served comes when all before it have left, and nobody behind it is served: in `Q`, where the lock
//! is held while a thread is served, it is free then, and held by the thread that leaves. In `Q` every
//! answer is possible where `P` asks for null or for the word; making, queueing and linking leave no
//! trace.
//!
//! *What would make it unsound*: a look at the own word before it is `true` or after the thread was
//! served; a word or a link written by anybody else or at another time; a node that is queued twice
//! or given back; an exchange of anything but the own node by anybody but who is served.

use super::tail::{self, TRUTH, Tail};
use super::ways::{self, Parts, follows_at_once, is_alone, perhaps};
use super::{nothing, replace};
use seriatim_lang::steps::{BinOp, Ex, NULL, Op, Pc, Place, Reg, Root, Steps};
use seriatim_lang::types::{Kind, Scalar};
use std::collections::BTreeMap;

/// Makes locks of all variables that are the tail of such a queue.
pub fn locks(steps: &mut Steps) {
    tail::locks(steps, |steps, tail| Lock::of(steps, tail).map(|lock| lock.make(steps)));
}

/// What an instruction does for the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// Asks whether there was none before, or looks at the word: where to go on when the thread is
    /// served, and when not.
    Served(Pc, Option<Pc>),
    /// Asks whether a reference is null.
    Asks(Pc, Pc),
    /// Exchanges the own node for null; where to go on if that fails.
    Yields(Pc),
    /// Passes on.
    Passes,
    /// Reads a link: a step that leaves no trace.
    Reads,
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
    /// There is a node before.
    Behind,
    Linked,
    Served,
}

/// What a register has to do with the node of a method.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Node {
    Own,
    Before,
    /// The own link, which may be null.
    Link,
    /// The node behind the own one.
    After,
}

/// A way through a method.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Way {
    fate: Fate,
    /// The own word is `true`.
    armed: bool,
    /// The own link is not null.
    followed: bool,
    regs: BTreeMap<Reg, Node>,
}

impl Way {
    const fn none() -> Way {
        Way { fate: Fate::None, armed: false, followed: false, regs: BTreeMap::new() }
    }

    fn is(&self, reg: Reg, node: Node) -> bool {
        self.regs.get(&reg) == Some(&node)
    }

    fn link(&self) -> Node {
        if self.followed { Node::After } else { Node::Link }
    }
}

struct Lock {
    tail: Tail,
    word: u32,
    link: u32,
    parts: Parts<Part>,
}

impl Lock {
    fn of(steps: &Steps, tail: u32) -> Option<Lock> {
        let slot = &steps.shared[tail as usize];
        let Scalar::Ref(of) = slot.kind.scalar else { return None };
        let next = Kind { scalar: Scalar::Ref(of), nullable: true };
        let slots = &steps.structs[of.0 as usize].slots;
        let [word, link] = [TRUTH, next].map(|kind| slots.iter().position(|s| s.kind == kind));
        let plain = slots.iter().chain([slot]).any(|slot| slot.plain || slot.joined);
        if plain || slots.len() != 2 || slot.kind != next || !is_alone(steps, of, tail) {
            return None;
        }
        let (word, link) = (word? as u32, link? as u32);
        let tail = Tail { variable: tail, of };
        let mut lock = Lock { tail, word, link, parts: Parts::none() };
        let whole = lock.begins_empty(steps)
            && (0..steps.methods.len()).all(|of| lock.is_in_order(steps, of).is_some());
        let waits = lock.parts.any(|part| matches!(part, Part::Served(..)));
        let closed = whole
            && waits
            && lock.parts.cover(steps, |op| lock.tail.concerns(op))
            && lock.has_no_side_entrance(steps);
        closed.then_some(lock)
    }

    /// The register of the node of which an access touches this slot, and no other.
    fn node_of(&self, place: &Place, slot: u32) -> Option<Reg> {
        match &place.root {
            Root::Node(Ex::Reg(reg), of) if *of == self.tail.of => {
                (place.offset == slot && place.width == 1 && place.dims.is_empty()).then_some(*reg)
            }
            _ => None,
        }
    }

    /// The initialisation sets the tail to null once, and makes no nodes.
    fn begins_empty(&mut self, steps: &Steps) -> bool {
        let mut set = 0;
        for (at, op) in self.tail.initial(steps) {
            let Op::Store { place, value } = op else { return false };
            if value[..] != [Ex::Const(NULL)] || !place.dims.is_empty() {
                return false;
            }
            self.parts.play(at, Part::Begin);
            set += 1;
        }
        set == 1
    }

    /// On every way through a method the parts come in this order.
    fn is_in_order(&mut self, steps: &Steps, of: usize) -> Option<()> {
        ways::follow(steps, of, Way::none(), |pc, way| self.follow(steps, pc, way))
    }

    /// Where a way goes on behind an instruction; none if it is not one of such a lock.
    fn follow(&mut self, steps: &Steps, pc: Pc, mut way: Way) -> Option<Vec<(Pc, Way)>> {
        let at = pc.0 as usize;
        let (instr, next) = (&steps.code[at], Pc(pc.0 + 1));
        let alone = !instr.inside_atomic;
        let part = match &instr.op {
            Op::New { dst, of, fields } if *of == self.tail.of => {
                let word = &fields[self.word as usize];
                let bare = fields[self.link as usize] == Ex::Const(NULL)
                    && matches!(word, Ex::Const(0 | 1));
                (way.fate == Fate::None && bare && alone).then_some(())?;
                way = Way { fate: Fate::Made, armed: *word == Ex::Const(1), ..Way::none() };
                way.regs.insert(*dst, Node::Own);
                Part::Gone
            }
            Op::Swap { dst, place, value } if self.tail.is(place) => {
                let [Ex::Reg(node)] = value[..] else { return None };
                let right = way.fate == Fate::Made && way.is(node, Node::Own);
                (right && alone && place.dims.is_empty()).then_some(())?;
                way.fate = Fate::Queued;
                way.regs.insert(*dst, Node::Before);
                Part::Gone
            }
            Op::Cas { place, old, new, fail } if self.tail.is(place) => {
                let ([Ex::Reg(node)], [Ex::Const(NULL)]) = (&old[..], &new[..]) else {
                    return None;
                };
                let right = way.fate == Fate::Served && way.is(*node, Node::Own);
                (right && alone && place.dims.is_empty()).then_some(())?;
                self.parts.play(at, Part::Yields(*fail))?;
                return Some(vec![(next, Way::none()), (*fail, way)]);
            }
            Op::Store { place, value } if self.tail.is_in_node(place) => {
                alone.then_some(())?;
                self.written(place, value.first()?, &mut way)?
            }
            Op::Load { dst, place } if self.tail.is_in_node(place) => {
                let Some(node) = self.node_of(place, self.link) else {
                    let node = self.node_of(place, self.word)?;
                    let right = way.fate == Fate::Linked && way.is(node, Node::Own);
                    right.then_some(())?;
                    return self.look(steps, at, *dst, way);
                };
                (way.fate == Fate::Served && way.is(node, Node::Own)).then_some(())?;
                if !alone {
                    return self.waits_for_link(steps, at, *dst, way);
                }
                way.regs.insert(*dst, way.link());
                Part::Reads
            }
            Op::Branch { cond, otherwise } if self.asks_null(steps, at, cond).is_some() => {
                let (reg, holds) = self.asks_null(steps, at, cond)?;
                let (null, other) = if holds { (next, *otherwise) } else { (*otherwise, next) };
                return self.asked(at, reg, (null, other), way).filter(|_| alone);
            }
            Op::Set { dst, value }
                if value.iter().any(|ex| self.tail.reference(steps, at, ex).is_some()) =>
            {
                // One at a time: which register holds what is then plain.
                let ([Ex::Reg(from)], true) = (&value[..], alone) else { return None };
                let node = *way.regs.get(from)?;
                way.regs.insert(*dst, node);
                Part::Gone
            }
            Op::Check { value: Ex::Reg(reg), kind } if kind.scalar == Scalar::Ref(self.tail.of) => {
                let there = match way.regs.get(reg)? {
                    Node::Own | Node::After => true,
                    Node::Before => matches!(way.fate, Fate::Behind | Fate::Linked),
                    Node::Link => false,
                };
                ((there || kind.nullable) && alone).then_some(())?;
                Part::Gone
            }
            Op::Return(_) if way.fate != Fate::None => return None,
            op => return self.tail.is_foreign(steps, at).then(|| ways::go_on(op, pc, &way)),
        };
        self.parts.play(at, part)?;
        Some(vec![(next, way)])
    }

    /// A slot of a node is written: the own word before it is linked, the link of the node before,
    /// the word of the node behind.
    fn written(&self, place: &Place, value: &Ex, way: &mut Way) -> Option<Part> {
        if let Some(node) = self.node_of(place, self.link) {
            let Ex::Reg(own) = value else { return None };
            let right = way.is(node, Node::Before) && way.is(*own, Node::Own);
            (right && way.fate == Fate::Behind && way.armed).then_some(())?;
            way.fate = Fate::Linked;
            return Some(Part::Gone);
        }
        let node = self.node_of(place, self.word)?;
        match (value, way.fate) {
            (Ex::Const(1), Fate::Made | Fate::Queued | Fate::Behind) if way.is(node, Node::Own) => {
                way.armed = true;
                Some(Part::Gone)
            }
            (Ex::Const(0), Fate::Served) if way.is(node, Node::After) => {
                *way = Way::none();
                Some(Part::Passes)
            }
            _ => None,
        }
    }

    /// A reference was compared with null.
    fn asked(
        &mut self,
        at: usize,
        reg: Reg,
        (null, other): (Pc, Pc),
        way: Way,
    ) -> Option<Vec<(Pc, Way)>> {
        let (mut none, mut some) = (way.clone(), way.clone());
        match way.regs.get(&reg)? {
            Node::Before if way.fate == Fate::Queued => {
                (none.fate, some.fate) = (Fate::Served, Fate::Behind);
                none.regs.retain(|_, node| *node == Node::Own);
                self.parts.play(at, Part::Served(null, Some(other)))?;
            }
            Node::Link if way.fate == Fate::Served => {
                none.regs.remove(&reg);
                some.regs.insert(reg, Node::After);
                some.followed = true;
                self.parts.play(at, Part::Asks(null, other))?;
            }
            _ => return None,
        }
        Some(vec![(null, none), (other, some)])
    }

    /// A read of the own word and at once a branch, or an `await` of its own, on what was read.
    fn look(&mut self, steps: &Steps, at: usize, read: Reg, way: Way) -> Option<Vec<(Pc, Way)>> {
        let (found, waits) =
            tail::look(steps, (at, read), &mut self.parts, Part::Served, Part::Gone)?;
        let mut served = Way { fate: Fate::Served, ..way.clone() };
        served.regs.retain(|_, node| *node == Node::Own);
        Some([(found, served)].into_iter().chain(waits.map(|pc| (pc, way))).collect())
    }

    /// An `await` until the own link is not null.
    fn waits_for_link(
        &mut self,
        steps: &Steps,
        at: usize,
        read: Reg,
        mut way: Way,
    ) -> Option<Vec<(Pc, Way)>> {
        let is_null = |ex: &Ex| asks_null(ex) == Some((read, true));
        let is_there = |ex: &Ex| asks_null(ex) == Some((read, false));
        let (behind, None) = follows_at_once(steps, at, &is_null, &is_there)? else { return None };
        for at in at - 1..=at + 1 {
            self.parts.play(at, Part::Gone)?;
        }
        way.followed = true;
        way.regs.insert(read, Node::After);
        Some(vec![(behind, way)])
    }

    /// The register of such a node that a condition compares with null, and whether it holds then.
    fn asks_null(&self, steps: &Steps, at: usize, cond: &Ex) -> Option<(Reg, bool)> {
        asks_null(cond).filter(|(reg, _)| self.tail.is_reference(steps, at, *reg))
    }

    /// Nobody jumps between a read, its condition and the marker before it.
    fn has_no_side_entrance(&self, steps: &Steps) -> bool {
        let reads = |at: usize| {
            let op = &steps.code[at].op;
            let alone = self.parts.at(at) == Some(&Part::Reads);
            matches!(op, Op::Load { .. }) && self.tail.concerns(op) && !alone
        };
        ways::is_entered_from_before(steps, |at| {
            let awaits = reads(at) && steps.code[at].inside_atomic;
            awaits || at.checked_sub(1).is_some_and(reads)
        })
    }

    fn make(&self, steps: &mut Steps) {
        let place = self.tail.place();
        for at in self.parts.positions() {
            steps.code[at].inside_atomic = false;
        }
        replace(steps, |pc, _| {
            let lock = || Op::Lock(place.clone());
            let unlock = || Op::Unlock(place.clone());
            Some(match *self.parts.at(pc.0 as usize)? {
                Part::Served(served, Some(waits)) => perhaps(lock(), served, waits),
                Part::Served(_, None) => vec![lock()],
                Part::Asks(null, other) => vec![Op::Choose(vec![null, other])],
                Part::Yields(fail) => perhaps(unlock(), Pc(pc.0 + 1), fail),
                Part::Passes => vec![unlock()],
                Part::Reads => vec![Op::Atomic, nothing(pc)],
                Part::Gone => vec![nothing(pc)],
                Part::Begin => vec![Op::Store { place: place.clone(), value: vec![Ex::Const(0)] }],
            })
        });
        self.tail.becomes_lock(steps);
    }
}

/// The register that a condition compares with null, and whether it holds then.
fn asks_null(cond: &Ex) -> Option<(Reg, bool)> {
    match cond {
        Ex::Not(inside) => asks_null(inside).map(|(reg, holds)| (reg, !holds)),
        Ex::Bin(BinOp::Eq, a, b) => match (&**a, &**b) {
            (Ex::Reg(reg), Ex::Const(NULL)) | (Ex::Const(NULL), Ex::Reg(reg)) => Some((*reg, true)),
            _ => None,
        },
        _ => None,
    }
}
