//! Takes a word that is used as a lock for one: a boolean, a number, a variant or a thread that is
//! set if it has its first value, and set back.
//!
//! *Decided*: the slots that begin with a constant, the *free* value, and to which methods do
//! nothing but this: `cas(word, free, taken)`, `swap(word, taken)`, storing `free`,
//! `cas(word, taken, free)`, reading. `taken` is one other constant, or the thread itself.
//!
//! *Why it is sound*: a run of `P` is a run of `Q` in which the lock is held by whoever set the word
//! last, and free while it is `free`. Setting it is taking the lock; failing to set it is a step
//! that does nothing, and in `Q` it may always fail. A read may give both values. Giving it back is
//! releasing the lock, which fails in `Q` unless the thread holds it: so `cas(word, taken, free)`
//! of a holder finds what it put there.
//!
//! *What would make it unsound*: another write, which would give the word away or take it while it
//! is held ([`Uses::of`] knows no other); a swap that writes the name of a thread over that of the
//! holder; reading the name of a holder ([`only_asked_whether_free`]); a word that is set when its
//! node is made; an access inside of an atomic block, where taking the lock would be waiting.

use super::ways::perhaps;
use super::{Word, home, inner, method, replace};
use seriatim_lang::flow::uses;
use seriatim_lang::steps::{BinOp, Ex, Instr, NULL, Op, Pc, Place, Reg, Root, Steps};
use seriatim_lang::types::{Kind, Scalar, StructId};

/// Makes locks of all words that are used as one; says whether there are any.
pub fn locks(steps: &mut Steps) -> bool {
    let structs = steps.structs.iter().zip(0..).flat_map(|(layout, of)| {
        let home = Some(StructId(of));
        (0..layout.slots.len() as u32).map(move |slot| Word { home, slot })
    });
    let shared = (0..steps.shared.len() as u32).map(|slot| Word { home: None, slot });
    let all: Vec<Word> = shared.chain(structs).collect();
    let mut found = false;
    for word in all {
        if let Some(lock) = Uses::of(steps, word) {
            lock.make(steps);
            found = true;
        }
    }
    found
}

/// How a lock is used.
struct Uses {
    word: Word,
    free: i32,
    taken: Ex,
}

/// What an instruction does with the word.
enum Use {
    Take,
    TakeBySwap(Reg),
    GiveBack,
    Read(Reg),
}

impl Uses {
    /// How a word is used, if it is used as a lock.
    fn of(steps: &Steps, word: Word) -> Option<Uses> {
        let slots = match word.home {
            None => &steps.shared,
            Some(of) => &steps.structs[of.0 as usize].slots,
        };
        let slot = &slots[word.slot as usize];
        let kind = slot.kind;
        let joined = slots.get(word.slot as usize + 1).is_some_and(|next| next.joined);
        let sort = match kind.scalar {
            Scalar::Bool | Scalar::Int(_) | Scalar::Enum(_) => !kind.nullable,
            Scalar::Tid => kind.nullable,
            _ => false,
        };
        if !sort || slot.joined || joined {
            return None;
        }
        let free = first_value(steps, word)?;
        let taken = taken_value(steps, word, free)?;
        let by_name = taken == Ex::SelfTid;
        let found = Uses { word, free, taken };
        let mut takes = false;
        for (at, instr) in accesses(steps, word).filter(|(at, _)| method(steps, *at).is_some()) {
            let place = instr.op.place()?;
            if place.width != 1 || !place.dims.is_empty() || instr.inside_atomic {
                return None;
            }
            match found.of_instruction(&instr.op)? {
                Use::Take => takes = true,
                Use::TakeBySwap(_) if by_name => return None,
                Use::TakeBySwap(_) => takes = true,
                Use::Read(reg) if by_name && !only_asked_whether_free(steps, at, reg) => {
                    return None;
                }
                Use::Read(_) | Use::GiveBack => {}
            }
        }
        takes.then_some(found)
    }

    fn of_instruction(&self, op: &Op) -> Option<Use> {
        let is_free = |ex: &Ex| *ex == Ex::Const(self.free);
        let is_taken = |ex: &Ex| *ex == self.taken;
        match op {
            Op::Cas { old, new, .. } => match (&old[..], &new[..]) {
                ([old], [new]) if is_free(old) && is_taken(new) => Some(Use::Take),
                ([old], [new]) if is_taken(old) && is_free(new) => Some(Use::GiveBack),
                _ => None,
            },
            Op::Swap { dst, value, .. } => match &value[..] {
                [value] if is_taken(value) => Some(Use::TakeBySwap(*dst)),
                _ => None,
            },
            Op::Store { value, .. } => match &value[..] {
                [value] if is_free(value) => Some(Use::GiveBack),
                _ => None,
            },
            Op::Load { dst, .. } => Some(Use::Read(*dst)),
            _ => None,
        }
    }

    /// Rewrites the steps: the word is a lock.
    fn make(&self, steps: &mut Steps) {
        let slots = match self.word.home {
            None => &mut steps.shared,
            Some(of) => &mut steps.structs[of.0 as usize].slots,
        };
        slots[self.word.slot as usize].kind = Kind { scalar: Scalar::Lock, nullable: false };
        let methods: Vec<(u32, u32)> = steps.methods.iter().map(|m| (m.entry.0, m.end.0)).collect();
        let inside = |pc: Pc| methods.iter().any(|(begin, end)| (*begin..*end).contains(&pc.0));
        replace(steps, |pc, instr| match &instr.op {
            Op::New { dst, of, fields } if Some(*of) == self.word.home => {
                let mut fields = fields.clone();
                fields[self.word.slot as usize] = Ex::Const(0);
                Some(vec![Op::New { dst: *dst, of: *of, fields }])
            }
            op if op.place().is_some_and(|place| self.word.is_in(place)) => match inside(pc) {
                true => self.instead(pc, op),
                // A lock is free at the start.
                false => {
                    Some(vec![Op::Store { place: op.place()?.clone(), value: vec![Ex::Const(0)] }])
                }
            },
            _ => None,
        });
    }

    fn instead(&self, pc: Pc, op: &Op) -> Option<Vec<Op>> {
        let place = op.place()?.clone();
        let next = Pc(pc.0 + 1);
        let set = |dst: Reg, value: Ex| Op::Set { dst, value: vec![value] };
        let free = || Ex::Const(self.free);
        Some(match (self.of_instruction(op)?, op) {
            (Use::Take, Op::Cas { fail, .. }) => perhaps(Op::Lock(place), next, *fail),
            (Use::TakeBySwap(dst), _) => vec![
                Op::Choose(vec![inner(1), inner(4)]),
                Op::Lock(place),
                set(dst, free()),
                Op::Jump(next),
                Op::Atomic,
                set(dst, self.taken.clone()),
            ],
            (Use::GiveBack, _) => vec![Op::Unlock(place)],
            (Use::Read(dst), _) => vec![
                Op::Atomic,
                node_is_there(&place),
                Op::Choose(vec![inner(3), inner(5)]),
                set(dst, free()),
                Op::Jump(next),
                set(dst, self.taken.clone()),
            ],
            (Use::Take, _) => return None,
        })
    }
}

/// Fails if a place lies in a node that is not there.
fn node_is_there(place: &Place) -> Op {
    match &place.root {
        Root::Shared => Op::Assert(Ex::Const(1)),
        Root::Node(node, _) => {
            let null = Ex::Bin(BinOp::Eq, Box::new(node.clone()), Box::new(Ex::Const(NULL)));
            Op::Assert(Ex::Not(Box::new(null)))
        }
    }
}

fn accesses(steps: &Steps, word: Word) -> impl Iterator<Item = (usize, &Instr)> {
    let all = steps.code.iter().enumerate();
    all.filter(move |(_, instr)| instr.op.place().is_some_and(|place| word.is_in(place)))
}

/// The constant with which a word begins, wherever it begins.
fn first_value(steps: &Steps, word: Word) -> Option<i32> {
    let mut values: Vec<Option<i32>> = Vec::new();
    let constant = |ex: Option<&Ex>| match ex {
        Some(Ex::Const(n)) => Some(*n),
        _ => None,
    };
    for (at, instr) in steps.code.iter().enumerate() {
        match &instr.op {
            Op::New { of, fields, .. } if Some(*of) == word.home => {
                values.push(constant(fields.get(word.slot as usize)));
            }
            op if method(steps, at).is_none() && op.place().is_some_and(|p| word.is_in(p)) => {
                let Op::Store { place, value } = op else { return None };
                let alone = place.width == 1 && place.dims.is_empty() && home(place).is_none();
                values.push(constant(value.first()).filter(|_| alone));
            }
            _ => {}
        }
    }
    let first = (*values.first()?)?;
    values.iter().all(|value| *value == Some(first)).then_some(first)
}

/// What is written into a word in the place of its first value: always the same.
fn taken_value(steps: &Steps, word: Word, free: i32) -> Option<Ex> {
    let written = accesses(steps, word).find_map(|(_, instr)| match &instr.op {
        Op::Cas { old, new, .. } if old[..] == [Ex::Const(free)] => new.first(),
        Op::Swap { value, .. } => value.first(),
        _ => None,
    })?;
    match written {
        Ex::Const(n) if *n != free && *n != NULL => Some(written.clone()),
        Ex::SelfTid if free == NULL => Some(written.clone()),
        _ => None,
    }
}

/// Whether a register is used for nothing but to be compared with null.
fn only_asked_whether_free(steps: &Steps, at: usize, reg: Reg) -> bool {
    let of = method(steps, at);
    let code = steps.code.iter().enumerate().filter(|(at, _)| method(steps, *at) == of);
    code.into_iter().all(|(_, instr)| {
        let mut count = 0;
        uses(&instr.op, &mut |used| count += usize::from(used == reg));
        match &instr.op {
            Op::Branch { cond, .. } | Op::Assume(cond) => asked(cond, reg) == count,
            _ => count == 0,
        }
    })
}

/// How often a condition compares a register with null.
fn asked(ex: &Ex, reg: Reg) -> usize {
    match ex {
        Ex::Bin(BinOp::Eq, a, b) => {
            let with_null = |a: &Ex, b: &Ex| *a == Ex::Reg(reg) && *b == Ex::Const(NULL);
            usize::from(with_null(a, b) || with_null(b, a))
        }
        Ex::Not(a) => asked(a, reg),
        Ex::Bin(BinOp::And | BinOp::Or, a, b) => asked(a, reg) + asked(b, reg),
        _ => 0,
    }
}
