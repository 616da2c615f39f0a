//! The end of a queue of waiters: the variable that refers to the node of whoever came last, and the
//! nodes themselves. Threads that exchange it for a node of their own stand in a queue, and such a
//! queue is a lock ([`super::queue_lock`], [`super::linked_queue_lock`]).

use super::method;
use super::ways::{Parts, follows_at_once, is_used_once};
use seriatim_lang::flow::{definitions, uses};
use seriatim_lang::steps::{Ex, Op, Pc, Place, Reg, Root, Steps};
use seriatim_lang::types::{Kind, Scalar, StructId};

pub const TRUTH: Kind = Kind { scalar: Scalar::Bool, nullable: false };

#[derive(Clone, Copy)]
pub struct Tail {
    pub variable: u32,
    pub of: StructId,
}

/// Makes locks of all variables of which `make` finds that they are the tail of its kind of queue.
pub fn locks(steps: &mut Steps, make: impl Fn(&mut Steps, u32) -> Option<()>) {
    let mut found = false;
    for tail in 0..steps.shared.len() as u32 {
        found |= make(steps, tail).is_some();
    }
    if found {
        super::slice::slice(steps);
    }
}

impl Tail {
    pub fn is(&self, place: &Place) -> bool {
        place.root == Root::Shared && place.slots().contains(&self.variable)
    }

    pub fn is_in_node(&self, place: &Place) -> bool {
        matches!(place.root, Root::Node(_, of) if of == self.of)
    }

    /// Whether an instruction accesses the tail or a node, or makes one.
    pub fn concerns(&self, op: &Op) -> bool {
        op.place().is_some_and(|place| self.is(place) || self.is_in_node(place))
            || matches!(op, Op::New { of, .. } if *of == self.of)
    }

    pub fn is_reference(&self, steps: &Steps, at: usize, reg: Reg) -> bool {
        steps.register(Pc(at as u32), reg).is_some_and(|s| s.kind.scalar == Scalar::Ref(self.of))
    }

    /// The register with a reference to a node that an expression is.
    pub fn reference(&self, steps: &Steps, at: usize, ex: &Ex) -> Option<Reg> {
        match ex {
            Ex::Reg(reg) => self.is_reference(steps, at, *reg).then_some(*reg),
            _ => None,
        }
    }

    /// Whether an instruction neither concerns the queue nor uses or defines a reference to a node.
    pub fn is_foreign(&self, steps: &Steps, at: usize) -> bool {
        let op = &steps.code[at].op;
        let mut named = self.concerns(op);
        uses(op, &mut |reg| named |= self.is_reference(steps, at, reg));
        named |= definitions(op).any(|reg| self.is_reference(steps, at, Reg(reg)));
        !named
    }

    /// The stores of the initialisation that concern the tail, and the instructions that make nodes.
    pub fn initial<'s>(&self, steps: &'s Steps) -> impl Iterator<Item = (usize, &'s Op)> {
        let of_none = (0..steps.code.len()).filter(|at| method(steps, *at).is_none());
        let tail = *self;
        of_none.map(|at| (at, &steps.code[at].op)).filter(move |(_, op)| tail.concerns(op))
    }

    pub fn place(&self) -> Place {
        Place { root: Root::Shared, offset: self.variable, dims: vec![], width: 1 }
    }

    /// The tail is a lock from now on, and what referred to a node holds nothing any more.
    pub fn becomes_lock(&self, steps: &mut Steps) {
        steps.shared[self.variable as usize].kind = Kind { scalar: Scalar::Lock, nullable: false };
        let regs = steps.methods.iter_mut().flat_map(|m| &mut m.regs).chain(&mut steps.init_regs);
        let links = &mut steps.structs[self.of.0 as usize].slots;
        for slot in regs.chain(links).filter(|slot| slot.kind.scalar == Scalar::Ref(self.of)) {
            slot.kind = TRUTH;
        }
        if steps.structs.len() == 1 {
            steps.structs.clear();
        }
    }
}

/// A read of a boolean and at once a branch, or an `await` of its own, on what was read: where it
/// goes on if it is clear, and, where it does not wait, if it is set. The read plays the part
/// `looks`; what goes with it is `gone`.
pub fn look<P: PartialEq + Copy>(
    steps: &Steps,
    (at, read): (usize, Reg),
    parts: &mut Parts<P>,
    looks: impl Fn(Pc, Option<Pc>) -> P,
    gone: P,
) -> Option<(Pc, Option<Pc>)> {
    let is_set = |ex: &Ex| *ex == Ex::Reg(read);
    let is_clear = |ex: &Ex| matches!(ex, Ex::Not(inside) if is_set(inside));
    let (clear, set) = follows_at_once(steps, at, &is_set, &is_clear)?;
    is_used_once(steps, at, read).then_some(())?;
    if set.is_none() {
        parts.play(at - 1, gone)?;
    }
    parts.play(at, looks(clear, set))?;
    parts.play(at + 1, gone)?;
    Some((clear, set))
}
