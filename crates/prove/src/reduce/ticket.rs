//! Takes two counters that are used as a ticket lock for a lock.
//!
//! *Decided*: the pairs of numbers without bounds, `next` and `serving`, to which methods do
//! nothing but this: *draw* `t = fetch_add(next, 1)`; *wait*, read `serving` and compare it with the
//! ticket at once; *pass on*, add one to `serving`, or read it and store one more at once, or store
//! one more than the ticket. A ticket is in one register, in which nothing else is ever put and
//! which is used for nothing else.
//!
//! *Why it is sound*: every draw gives another number. In `Q` the lock is held by the thread whose
//! ticket was served, until it passes on; the invariant is that its ticket equals `serving`. If a
//! thread finds its own ticket in `serving`, nobody holds the lock: a holder would have the same
//! ticket, that is, would be this thread, which [`Ticket::is_served_once`] excludes. Passing on is
//! releasing the lock, which fails in `Q` unless the thread holds it; then nobody else changes
//! `serving`, so what a holder read is still there, and the ticket is that number too
//! ([`Ticket::is_passed_on_when_served`]). Waiting in vain is a step that does nothing.
//!
//! *What would make it unsound*: numbers that come round, with bounds or a remainder; a ticket that
//! is served twice, kept for later or handed on; a `serving` that is written otherwise.

use super::ways::{is_entered_from_before, perhaps};
use super::{method, nothing, replace};
use seriatim_lang::flow::{definitions, successors, uses};
use seriatim_lang::steps::{BinOp, Ex, Instr, Op, Pc, Place, Reg, Root, Steps};
use seriatim_lang::types::{Kind, Scalar};
use std::collections::{BTreeMap, BTreeSet};

/// Makes locks of all pairs of counters that are one.
pub fn locks(steps: &mut Steps) {
    let count = steps.shared.len() as u32;
    let pairs = (0..count).flat_map(|next| (0..count).map(move |serving| (next, serving)));
    let mut found = false;
    for (next, serving) in pairs.filter(|(next, serving)| next != serving) {
        if let Some(ticket) = Ticket::of(steps, next, serving) {
            ticket.make(steps);
            found = true;
        }
    }
    if found {
        // Of what was drawn, nothing is left that decides anything.
        super::slice::slice(steps);
    }
}

/// What an instruction does for the lock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Draws a ticket.
    Draw(Reg),
    /// Reads and compares with a ticket: where to go on when served, and when not.
    Wait(Reg, Pc, Option<Pc>),
    /// Passes on, with the ticket itself.
    PassTicket(Reg),
    /// Passes on.
    Pass,
    /// Belongs to what is done before or behind it.
    Along,
}

/// A ticket lock: what the instructions do for it.
struct Ticket {
    serving: u32,
    parts: BTreeMap<usize, Part>,
}

fn is_counter(steps: &Steps, slot: u32) -> bool {
    let slot = &steps.shared[slot as usize];
    let any_number = matches!(slot.kind.scalar, Scalar::Int(range) if range.is_default());
    any_number && !slot.kind.nullable && !slot.joined && !slot.plain
}

fn accesses(op: &Op, slot: u32) -> bool {
    op.place().is_some_and(|p| p.root == Root::Shared && p.slots().contains(&slot))
}

fn is_one_slot(place: &Place) -> bool {
    place.width == 1 && place.dims.is_empty()
}

impl Ticket {
    fn of(steps: &Steps, next: u32, serving: u32) -> Option<Ticket> {
        if !is_counter(steps, next) || !is_counter(steps, serving) {
            return None;
        }
        let mut ticket = Ticket { serving, parts: BTreeMap::new() };
        for (at, instr) in steps.code.iter().enumerate() {
            let (draws, serves) = (accesses(&instr.op, next), accesses(&instr.op, serving));
            if !(draws || serves) || ticket.parts.contains_key(&at) {
                continue;
            }
            if !is_one_slot(instr.op.place()?) {
                return None;
            }
            match method(steps, at) {
                None => matches!(&instr.op, Op::Store { value, .. } if matches!(value[..], [Ex::Const(_)]))
                    .then_some(())?,
                Some(_) if draws => {
                    let reg = draw(instr)?;
                    ticket.parts.insert(at, Part::Draw(reg));
                }
                Some(_) => ticket.serve(steps, at)?,
            }
        }
        let complete = |part: fn(&Part) -> bool| ticket.parts.values().any(part);
        let whole = complete(|p| matches!(p, Part::Draw(_)))
            && complete(|p| matches!(p, Part::Wait(..)))
            && ticket.has_no_side_entrance(steps)
            && ticket.is_used_for_nothing_else(steps)
            && ticket.is_served_once(steps)
            && ticket.is_passed_on_when_served(steps);
        whole.then_some(ticket)
    }

    /// What begins with an access to `serving`.
    fn serve(&mut self, steps: &Steps, at: usize) -> Option<()> {
        let code = |offset: usize| steps.code.get(at + offset).map(|i| &i.op);
        let instr = &steps.code[at];
        match &instr.op {
            Op::FetchAdd { dst, amount: Ex::Const(1), .. } if !instr.inside_atomic => {
                is_unused(steps, at, *dst).then_some(())?;
                self.parts.insert(at, Part::Pass);
            }
            Op::Store { value, .. } if !instr.inside_atomic => {
                let [Ex::Bin(BinOp::Add, ticket, one)] = &value[..] else { return None };
                let (Ex::Reg(ticket), Ex::Const(1)) = (&**ticket, &**one) else { return None };
                self.parts.insert(at, Part::PassTicket(*ticket));
                if matches!(steps.code.get(at.checked_sub(1)?)?.op, Op::Check { ref value, .. } if is_one_more(value, *ticket))
                {
                    self.parts.insert(at - 1, Part::Along);
                }
            }
            Op::Load { dst, .. } => {
                let (served, unserved, ticket) = match code(1)? {
                    Op::Branch { cond: Ex::Not(cond), otherwise } => {
                        (*otherwise, Some(Pc(at as u32 + 2)), compared(cond, *dst))
                    }
                    Op::Branch { cond, otherwise } => {
                        (Pc(at as u32 + 2), Some(*otherwise), compared(cond, *dst))
                    }
                    Op::Assume(cond) => (Pc(at as u32 + 2), None, compared(cond, *dst)),
                    _ => return self.read_and_pass(steps, at, *dst),
                };
                let Some(ticket) = ticket else { return self.read_and_pass(steps, at, *dst) };
                // An `await` is an atomic block of its own: its marker, the read, the condition.
                let alone = |i: Option<&Instr>| i.is_some_and(|i| !i.inside_atomic);
                let right = match (instr.inside_atomic, unserved) {
                    (false, Some(_)) => true,
                    (true, None) => {
                        let before = &steps.code[at - 1];
                        self.parts.insert(at - 1, Part::Along);
                        matches!(before.op, Op::Atomic) && alone(steps.code.get(at + 2))
                    }
                    _ => false,
                };
                self.parts.insert(at, Part::Wait(ticket, served, unserved));
                self.parts.insert(at + 1, Part::Along);
                right.then_some(())?;
            }
            _ => return None,
        }
        Some(())
    }

    /// `serving = serving + 1`: a read, a check, a store.
    fn read_and_pass(&mut self, steps: &Steps, at: usize, read: Reg) -> Option<()> {
        let [load, check, store] = steps.code.get(at..at + 3)? else { return None };
        let (Op::Check { value, .. }, Op::Store { place, value: stored }) = (&check.op, &store.op)
        else {
            return None;
        };
        let right = is_one_more(value, read)
            && matches!(&stored[..], [ex] if is_one_more(ex, read))
            && place.root == Root::Shared
            && place.offset == self.serving
            && is_one_slot(place)
            && !load.inside_atomic;
        self.parts.extend([(at, Part::Along), (at + 1, Part::Along), (at + 2, Part::Pass)]);
        right.then_some(())
    }

    /// Nobody comes into the middle of what is taken for one thing.
    fn has_no_side_entrance(&self, steps: &Steps) -> bool {
        is_entered_from_before(steps, |at| {
            let before = at.checked_sub(1).and_then(|before| self.parts.get(&before));
            let behind = matches!(before, Some(Part::Wait(..) | Part::Along));
            behind && self.parts.contains_key(&at)
        })
    }

    /// The tickets of a method.
    fn tickets(&self, steps: &Steps) -> BTreeSet<(Option<usize>, Reg)> {
        let drawn = self.parts.iter().filter_map(|(at, part)| match part {
            Part::Draw(reg) => Some((method(steps, *at), *reg)),
            _ => None,
        });
        drawn.collect()
    }

    /// What is in the registers of tickets, and what was read of `serving`, is used here only; and
    /// nothing else gets into a ticket.
    fn is_used_for_nothing_else(&self, steps: &Steps) -> bool {
        let tickets = self.tickets(steps);
        let mut kept = tickets.clone();
        for (at, instr) in steps.code.iter().enumerate() {
            if let (true, Op::Load { dst, .. }) = (accesses(&instr.op, self.serving), &instr.op) {
                kept.insert((method(steps, at), *dst));
            }
        }
        let waits = self.parts.iter().all(|(at, part)| match part {
            Part::Wait(reg, ..) | Part::PassTicket(reg) => {
                tickets.contains(&(method(steps, *at), *reg))
            }
            _ => true,
        });
        let elsewhere =
            steps.code.iter().enumerate().filter(|(at, _)| !self.parts.contains_key(at));
        let untouched = |(at, instr): (usize, &Instr)| {
            let of = method(steps, at);
            let mut used = false;
            uses(&instr.op, &mut |reg| used |= kept.contains(&(of, reg)));
            let defined = definitions(&instr.op).any(|reg| tickets.contains(&(of, Reg(reg))));
            !used && !defined
        };
        let parameters = steps.methods.iter().enumerate().any(|(of, m)| {
            let mut all = m.first_param.0..m.first_param.0 + m.params.len() as u32;
            all.any(|reg| tickets.contains(&(Some(of), Reg(reg))))
        });
        waits && !parameters && elsewhere.into_iter().all(untouched)
    }

    /// No way leads to a wait without a ticket, or with one that was served already.
    fn is_served_once(&self, steps: &Steps) -> bool {
        self.tickets(steps).into_iter().all(|(of, ticket)| {
            let Some(entry) = of.map(|of| steps.methods[of].entry) else { return false };
            let served = self.parts.values().filter_map(|part| match part {
                Part::Wait(reg, served, _) if *reg == ticket => Some(*served),
                _ => None,
            });
            let mut starts = served.filter(|pc| method(steps, pc.0 as usize) == of);
            let waits = |part: &Part| matches!(part, Part::Wait(reg, ..) if *reg == ticket);
            let draws = |part: &Part| matches!(part, Part::Draw(reg) if *reg == ticket);
            let comes_to_wait =
                |start: Pc| self.reaches(steps, start, &|part, _| draws(part), &waits);
            !comes_to_wait(entry) && !starts.any(comes_to_wait)
        })
    }

    /// No way leads from a draw to passing the ticket on, except over a wait that served it.
    fn is_passed_on_when_served(&self, steps: &Steps) -> bool {
        self.tickets(steps).into_iter().all(|(of, ticket)| {
            let drawn = self.parts.iter().filter(|(at, part)| {
                matches!(part, Part::Draw(reg) if *reg == ticket) && method(steps, **at) == of
            });
            let mut starts = drawn.map(|(at, _)| Pc(*at as u32 + 1));
            let serves = |part: &Part, to: Pc| {
                matches!(part, Part::Wait(reg, served, _) if *reg == ticket && *served == to)
            };
            let passes = |part: &Part| matches!(part, Part::PassTicket(reg) if *reg == ticket);
            !starts.any(|start| self.reaches(steps, start, &serves, &passes))
        })
    }

    /// Whether a way from `start` comes to such a part, on no edge that is a barrier.
    fn reaches(
        &self,
        steps: &Steps,
        start: Pc,
        barrier: &dyn Fn(&Part, Pc) -> bool,
        goal: &dyn Fn(&Part) -> bool,
    ) -> bool {
        let mut seen = BTreeSet::new();
        let mut todo = vec![start];
        while let Some(pc) = todo.pop() {
            let at = pc.0 as usize;
            if !seen.insert(at) || at >= steps.code.len() {
                continue;
            }
            let part = self.parts.get(&at);
            if part.is_some_and(goal) {
                return true;
            }
            let next = match part {
                Some(Part::Wait(_, served, unserved)) => {
                    [Some(*served), *unserved].into_iter().flatten().collect()
                }
                _ => successors(&steps.code[at].op, pc),
            };
            todo.extend(next.into_iter().filter(|to| !part.is_some_and(|part| barrier(part, *to))));
        }
        false
    }

    fn make(&self, steps: &mut Steps) {
        let slot = &mut steps.shared[self.serving as usize];
        slot.kind = Kind { scalar: Scalar::Lock, nullable: false };
        let place = Place { root: Root::Shared, offset: self.serving, dims: vec![], width: 1 };
        for at in self.parts.keys() {
            steps.code[*at].inside_atomic = false;
        }
        replace(steps, |pc, instr| {
            let lock = || Op::Lock(place.clone());
            Some(match self.parts.get(&(pc.0 as usize)) {
                Some(Part::Wait(_, served, Some(unserved))) => perhaps(lock(), *served, *unserved),
                Some(Part::Wait(..)) => vec![lock()],
                Some(Part::Pass | Part::PassTicket(_)) => vec![Op::Unlock(place.clone())],
                Some(Part::Draw(_) | Part::Along) => vec![nothing(pc)],
                // A lock is free at the start.
                None if accesses(&instr.op, self.serving) => {
                    vec![Op::Store { place: place.clone(), value: vec![Ex::Const(0)] }]
                }
                None => return None,
            })
        });
    }
}

/// The register of a ticket that is drawn.
fn draw(instr: &Instr) -> Option<Reg> {
    match &instr.op {
        Op::FetchAdd { dst, amount: Ex::Const(1), .. } if !instr.inside_atomic => Some(*dst),
        _ => None,
    }
}

/// The register that is compared with this one, if that is all that an expression says.
fn compared(ex: &Ex, with: Reg) -> Option<Reg> {
    let Ex::Bin(BinOp::Eq, a, b) = ex else { return None };
    match (&**a, &**b) {
        (Ex::Reg(a), Ex::Reg(b)) if *a == with && *b != with => Some(*b),
        (Ex::Reg(a), Ex::Reg(b)) if *b == with && *a != with => Some(*a),
        _ => None,
    }
}

fn is_one_more(ex: &Ex, than: Reg) -> bool {
    let Ex::Bin(BinOp::Add, a, b) = ex else { return false };
    **a == Ex::Reg(than) && **b == Ex::Const(1)
}

fn is_unused(steps: &Steps, at: usize, reg: Reg) -> bool {
    let of = method(steps, at);
    let code = steps.code.iter().enumerate().filter(|(at, _)| method(steps, *at) == of);
    code.into_iter().all(|(_, instr)| {
        let mut used = false;
        uses(&instr.op, &mut |r| used |= r == reg);
        !used
    })
}
