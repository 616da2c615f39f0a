//! The program with locks for ticket locks.
//!
//! Two shared numbers without bounds, `next` and `serving`, are a ticket lock if methods do nothing
//! with them but this, outside of atomic blocks unless said otherwise:
//! - *draw*: `t = fetch_add(next, 1)`;
//! - *look*: `s = serving`, and at once a branch on `s == t` or `s != t`; or the same as an `await`,
//!   an atomic block of exactly this;
//! - *pass*: `fetch_add(serving, 1)` whose result nobody uses; `s = serving` and at once
//!   `serving = s + 1`; or `serving = t + 1`;
//!
//! and if the registers `t` are written by draws only, `t` and `s` are used in these places only,
//! and nothing jumps between two instructions that belong together.
//!
//! The lock of the stand-in is held by the thread that saw its ticket in `serving` and has not
//! passed since. *Invariant*: the ticket of the holder equals `serving`. All tickets differ, because
//! `next` only grows and whole numbers do not come round. A look that finds the ticket is the taking
//! of a free lock: a holder would have the same ticket, so it would be the same thread with the same
//! draw, and a ticket is looked for only until it is found (condition `Drawn`, below). A pass is a
//! release, and the stand-in fails unless it is the holder's. Then `serving` was this thread's from
//! the read to the store, and grows by one; for `serving = t + 1` the ticket must be one that was
//! found (condition `Found`). Then nobody is the holder. Other looks do nothing.
//!
//! It would be unsound to accept a ticket that is looked for again after it was found, a number with
//! bounds, or any other access to the two.

use super::{
    Asked, Rewriting, asked, at_block, becomes_lock, body_of, each, either, is_jumped_to, touched,
};
use seriatim_lang::flow;
use seriatim_lang::steps::{BinOp, Ex, Op, Pc, Place, Reg, Root, Steps};
use seriatim_lang::types::Scalar;
use std::collections::{BTreeMap, BTreeSet};

/// The program with locks, if there are ticket locks in it.
pub fn with_locks(steps: &Steps) -> Option<Steps> {
    let slots = 0..steps.shared.len() as u32;
    let pairs = slots.clone().flat_map(|next| slots.clone().map(move |serving| (next, serving)));
    let distinct = pairs.filter(|(next, serving)| next != serving);
    each(steps, distinct, |steps, (next, serving)| {
        Some(TicketLock::of(steps, next, serving)?.stand_in(steps))
    })
}

/// What an instruction is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    Draw(Reg),
    /// For which ticket, where it goes on if it is found, and else.
    Look(Reg, Pc, Option<Pc>),
    /// With which ticket, if with one.
    Pass(Option<Reg>),
    /// It goes with the instruction before it or, at the begin of a look or a pass, the next one.
    With,
}

/// What has become of a ticket, on the way to a position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Fate {
    None,
    Drawn,
    Found,
}

struct TicketLock {
    serving: u32,
    acts: BTreeMap<usize, Act>,
    /// Registers with what was read of `serving`, by the code that they belong to.
    read: BTreeSet<(usize, Reg)>,
}

impl TicketLock {
    fn of(steps: &Steps, next: u32, serving: u32) -> Option<TicketLock> {
        let whole = |slot: u32| {
            let slot = &steps.shared[slot as usize];
            let number = matches!(slot.kind.scalar, Scalar::Int(range) if range.is_default());
            number && !slot.kind.nullable && !slot.joined && !slot.plain
        };
        if !(whole(next) && whole(serving)) {
            return None;
        }
        let mut lock = TicketLock { serving, acts: BTreeMap::new(), read: BTreeSet::new() };
        for at in 0..steps.code.len() {
            let Some(place) = steps.code[at].op.place() else { continue };
            let words = touched(place);
            let of_lock = |slot| words.contains(&(None, slot));
            if !of_lock(next) && !of_lock(serving) || lock.acts.contains_key(&at) {
                continue;
            }
            if words.len() != 1 || !place.dims.is_empty() {
                return None;
            }
            match body_of(steps, at) {
                0 => {
                    let Op::Store { value, .. } = &steps.code[at].op else { return None };
                    matches!(value[0], Ex::Const(_)).then_some(())?;
                }
                _ if of_lock(next) => lock.draw(steps, at)?,
                _ => lock.serve(steps, at)?,
            }
        }
        let tickets = lock.tickets(steps);
        let is_one = !tickets.is_empty()
            && lock.acts.values().any(|act| matches!(act, Act::Look(..)))
            && lock.is_closed(steps)
            && lock.is_private(steps, &tickets)
            && tickets.iter().all(|(body, ticket)| lock.is_in_order(steps, *body, *ticket));
        is_one.then_some(lock)
    }

    fn draw(&mut self, steps: &Steps, at: usize) -> Option<()> {
        let instr = &steps.code[at];
        match &instr.op {
            Op::FetchAdd { dst, amount: Ex::Const(1), .. } if !instr.inside_atomic => {
                self.acts.insert(at, Act::Draw(*dst));
                Some(())
            }
            _ => None,
        }
    }

    /// A look or a pass, which begins with this access.
    fn serve(&mut self, steps: &Steps, at: usize) -> Option<()> {
        let instr = &steps.code[at];
        let body = body_of(steps, at);
        match &instr.op {
            Op::FetchAdd { dst, amount: Ex::Const(1), .. } if !instr.inside_atomic => {
                self.read.insert((body, *dst));
                self.acts.insert(at, Act::Pass(None));
            }
            Op::Store { value, .. } if !instr.inside_atomic => {
                let ticket = successor_of(value.first()?)?;
                self.acts.insert(at, Act::Pass(Some(ticket)));
                let checked = match &steps.code[at - 1].op {
                    Op::Check { value, .. } => successor_of(value) == Some(ticket),
                    _ => false,
                };
                if checked {
                    self.acts.insert(at - 1, Act::With);
                }
            }
            Op::Load { dst, .. } => {
                self.read.insert((body, *dst));
                match self.look(steps, at, *dst) {
                    Some(look) => {
                        self.acts.extend([(at, look), (at + 1, Act::With)]);
                        if instr.inside_atomic {
                            self.acts.insert(at - 1, Act::With);
                        }
                    }
                    None => {
                        self.read_then_store(steps, at, *dst)?;
                        self.acts.extend([(at, Act::With), (at + 1, Act::With)]);
                        self.acts.insert(at + 2, Act::Pass(None));
                    }
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn look(&self, steps: &Steps, at: usize, read: Reg) -> Option<Act> {
        let Asked { condition, holds, fails } = asked(steps, at)?;
        let Ex::Bin(BinOp::Eq, a, b) = condition else { return None };
        let ticket = match (&**a, &**b) {
            (Ex::Reg(a), Ex::Reg(b)) if *a == read => *b,
            (Ex::Reg(a), Ex::Reg(b)) if *b == read => *a,
            _ => return None,
        };
        (ticket != read).then_some(Act::Look(ticket, holds?, fails))
    }

    /// Behind the read: `check s + 1`, `serving = s + 1`.
    fn read_then_store(&self, steps: &Steps, at: usize, read: Reg) -> Option<()> {
        let (check, store) = (&steps.code.get(at + 1)?.op, &steps.code.get(at + 2)?.op);
        let (Op::Check { value: checked, .. }, Op::Store { place, value }) = (check, store) else {
            return None;
        };
        let right = touched(place) == [(None, self.serving)]
            && place.dims.is_empty()
            && [checked, value.first()?].iter().all(|ex| successor_of(ex) == Some(read))
            && !steps.code[at].inside_atomic;
        right.then_some(())
    }

    fn tickets(&self, steps: &Steps) -> BTreeSet<(usize, Reg)> {
        let drawn = self.acts.iter().filter_map(|(at, act)| match act {
            Act::Draw(reg) => Some((body_of(steps, *at), *reg)),
            _ => None,
        });
        drawn.collect()
    }

    /// Nothing jumps, and no method begins, between instructions that belong together.
    fn is_closed(&self, steps: &Steps) -> bool {
        !is_jumped_to(steps, |at| {
            let before = at.checked_sub(1).and_then(|before| self.acts.get(&before));
            matches!(before, Some(Act::With | Act::Look(..))) && self.acts.contains_key(&at)
        })
    }

    /// Tickets are written by draws only; they, and what was read, are used by the lock only.
    fn is_private(&self, steps: &Steps, tickets: &BTreeSet<(usize, Reg)>) -> bool {
        let asked = self.acts.iter().all(|(at, act)| match act {
            Act::Look(ticket, ..) | Act::Pass(Some(ticket)) => {
                tickets.contains(&(body_of(steps, *at), *ticket))
            }
            _ => true,
        });
        let mut private = asked;
        for (at, instr) in steps.code.iter().enumerate() {
            let body = body_of(steps, at);
            let is_ticket = |reg: u32| tickets.contains(&(body, Reg(reg)));
            let drawn = matches!(self.acts.get(&at), Some(Act::Draw(_)));
            private &= drawn || !flow::definitions(&instr.op).any(is_ticket);
            if !self.acts.contains_key(&at) {
                flow::uses(&instr.op, &mut |reg| {
                    private &= !is_ticket(reg.0) && !self.read.contains(&(body, reg));
                });
            }
        }
        for (body, method) in (1..).zip(&steps.methods) {
            let first = method.first_param.0;
            let mut parameters = first..first + method.params.len() as u32;
            private &= !parameters.any(|reg| tickets.contains(&(body, Reg(reg))));
        }
        private
    }

    /// On every way a ticket is drawn, then found, then perhaps passed on.
    fn is_in_order(&self, steps: &Steps, body: usize, ticket: Reg) -> bool {
        let Some(method) = body.checked_sub(1).map(|method| &steps.methods[method]) else {
            return false;
        };
        let mut seen = BTreeSet::new();
        let mut todo = vec![(method.entry, Fate::None)];
        while let Some((pc, fate)) = todo.pop() {
            let at = pc.0 as usize;
            if at >= steps.code.len() || !seen.insert((pc, fate)) {
                continue;
            }
            match self.acts.get(&at) {
                Some(Act::Draw(reg)) if *reg == ticket => {
                    todo.push((Pc(pc.0 + 1), Fate::Drawn));
                }
                Some(Act::Look(reg, found, otherwise)) if *reg == ticket => {
                    if fate != Fate::Drawn {
                        return false;
                    }
                    todo.push((*found, Fate::Found));
                    todo.extend(otherwise.map(|otherwise| (otherwise, fate)));
                }
                Some(Act::Look(_, found, otherwise)) => {
                    todo.push((*found, fate));
                    todo.extend(otherwise.map(|otherwise| (otherwise, fate)));
                }
                Some(Act::Pass(Some(reg))) if *reg == ticket && fate != Fate::Found => {
                    return false;
                }
                _ => {
                    let next = flow::successors(&steps.code[at].op, pc);
                    todo.extend(next.into_iter().map(|next| (next, fate)));
                }
            }
        }
        true
    }

    fn stand_in(&self, steps: &Steps) -> Steps {
        let mut result = steps.clone();
        becomes_lock(&mut result, (None, self.serving));
        for at in self.acts.keys() {
            result.code[*at].inside_atomic = false;
        }
        let place = || Place { root: Root::Shared, offset: self.serving, dims: vec![], width: 1 };
        let mut code = Rewriting::of(&result);
        let to = |pc: Pc| Op::Jump(at_block(pc.0 as usize, 0));
        for (at, act) in &self.acts {
            code.put(
                *at,
                match act {
                    Act::Draw(_) | Act::With => vec![to(Pc(*at as u32 + 1))],
                    Act::Look(_, found, Some(otherwise)) => {
                        either(*at, Op::Lock(place()), *found, *otherwise)
                    }
                    Act::Look(_, _, None) => vec![Op::Lock(place())],
                    Act::Pass(_) => vec![Op::Unlock(place())],
                },
            );
        }
        code.finish(&mut result);
        result
    }
}

/// The register of which an expression is the successor.
fn successor_of(ex: &Ex) -> Option<Reg> {
    match ex {
        Ex::Bin(BinOp::Add, a, b) => match (&**a, &**b) {
            (Ex::Reg(reg), Ex::Const(1)) => Some(*reg),
            _ => None,
        },
        _ => None,
    }
}
