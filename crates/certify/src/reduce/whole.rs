//! The program with whole sections: what is written under a lock, or while a number is odd, is written
//! in one atomic block, and what is read between two looks at such a number is read in one.
//!
//! *A lock.* Some variables are accessed only between taking and giving back one lock, and in between
//! nothing else is shared, nobody waits, and no way leaves or enters. The block begins with taking the
//! lock and ends with giving it back.
//!
//! *A number* (sequence lock): an `int` without bounds that is even where it begins. The methods may
//! 1. look at it, also within a section;
//! 2. open a section: `cas(n, s, s + 1)` where s is the last look, found even by `s % 2`; or a store of
//!    s + 1 where s is the last look, and one lock has been held since before it. All do the same, and if
//!    it is a lock, it is the same lock;
//! 3. close it: a store of s + 2, or of one more than a look within the section;
//! 4. write other shared variables within sections only: these are the *data*. Within a section,
//!    nothing else is accessed, not even beside data in one word, and nobody waits;
//! 5. read data within a section, or after a look s; then it is *pending* and may not be used before
//!    the next look is compared with s, which was found even, and is equal. Between the two looks, no
//!    register of what is pending is written; between the second one and the comparison, no step is
//!    made.
//!
//! The stand-in opens the block where the section opens, and does not close it before the section does.
//! It reads what is pending where the looks are compared, in one block, or goes on as if they differed.
//! Of the number, parity and looks remain as steps that do nothing, with either outcome.
//!
//! *Simulation.* The number grows with every store to it: by 2 and 3 it is odd if and only if a section
//! is open, and there is one at most. (2 with a `cas`: the number was even. 2 with a lock: from its look
//! on, nobody else had the lock, so nobody opened a section, and one that was open would be of somebody
//! who holds the lock.) If two looks are equal and even, no section was open between them, so data did
//! not change, and holds what the closed sections left. The stand-in reads it in a step that follows the
//! second look at once. Let the stand-in execute a section when the
//! program closes it: until then nobody uses what it wrote, since whoever reads data has looked before,
//! and looks again. So the stand-in has the same data whenever no section is open, and reads at the
//! comparison what the program has read before. A thread that gives back a lock that it does not hold
//! fails in the proof of the stand-in, where the locks are as they were. For a lock as the guard: others
//! that access the data wait until the section is over, so it can happen at once at its end.
//!
//! It would be unsound to accept a number that may return to an earlier value, an access to data beside
//! sections and looks, the use of what is pending, or sections that do not exclude each other.

use super::{Rewriting, Where, all_slots, at_block, body_of, each, touched};
use seriatim_lang::flow;
use seriatim_lang::steps::{BinOp, Ex, Instr, Op, Pc, Place, Reg, Root, Steps};
use seriatim_lang::types::{Kind, Scalar};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The program with whole sections, if it has any.
pub fn with_whole_sections(steps: &Steps) -> Option<Steps> {
    let shared = all_slots(steps).into_iter().filter(|(of, _)| of.is_none());
    let all: Vec<u32> = shared.map(|(_, slot)| slot).collect();
    let kind = |slot: &u32| steps.shared[*slot as usize].kind;
    let numbers = all.iter().filter(|slot| is_endless(kind(slot)));
    let locks = all.iter().filter(|slot| kind(slot).scalar == Scalar::Lock);
    let guards = numbers.map(|n| (*n, false)).chain(locks.map(|lock| (*lock, true)));
    each(steps, guards.collect::<Vec<_>>(), |steps, (slot, is_lock)| {
        Some(Whole::of(steps, slot, is_lock)?.stand_in(steps))
    })
}

fn is_endless(kind: Kind) -> bool {
    matches!(kind.scalar, Scalar::Int(range) if range.is_default()) && !kind.nullable
}

/// What stands in the place of an instruction.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Act {
    /// It stays as it is.
    Stays,
    /// It stays, in the block.
    StaysInside,
    Nothing,
    NothingInside,
    Idle,
    Either(Pc, Pc),
    TakesLock,
    Begins,
    MayBegin(Pc),
    /// What is read in one block, and where it goes on then; where it goes on without.
    MayRead(Vec<(Reg, u32)>, Pc, Pc),
}

/// What is known of a register that is not the same in the stand-in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Known {
    /// The number, seen by the look at this position.
    Seen(u32),
    /// The number, seen within the section.
    SeenInside,
    /// Read after that look.
    Pending(u32),
    Useless,
}

/// A look at the number.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Look {
    position: u32,
    is_even: bool,
    /// Whether other steps were made since.
    is_past: bool,
    /// Locks held at the look and ever since.
    held: BTreeSet<u32>,
    pending: Vec<(Reg, u32)>,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Facts {
    inside: bool,
    held: BTreeSet<u32>,
    registers: BTreeMap<Reg, Known>,
    /// The last look but one, and the last one.
    looks: Vec<Look>,
}

impl Facts {
    /// A register is written with something that is the same in the stand-in. That must not be one
    /// which is still to be read there.
    fn write(&mut self, reg: Reg) -> Option<()> {
        let waits = self.looks.iter().any(|look| look.pending.iter().any(|(r, _)| *r == reg));
        self.registers.remove(&reg);
        (!waits).then_some(())
    }

    fn look(&mut self, position: u32) {
        for known in self.registers.values_mut() {
            if *known == Known::Seen(position) || *known == Known::Pending(position) {
                *known = Known::Useless;
            }
        }
        self.looks.retain(|look| look.position != position);
        if self.looks.len() == 2 {
            self.looks.remove(0);
        }
        let held = self.held.clone();
        let (is_even, is_past, pending) = (false, false, vec![]);
        self.looks.push(Look { position, is_even, is_past, held, pending });
    }

    /// Whether a register has the last look, behind which no data was read.
    fn is_last(&self, reg: Reg) -> Option<&Look> {
        let last = self.looks.last().filter(|look| look.pending.is_empty())?;
        (self.registers.get(&reg) == Some(&Known::Seen(last.position))).then_some(last)
    }

    fn seen(&self, ex: &Ex) -> Option<(Reg, u32)> {
        match ex {
            Ex::Reg(reg) => match self.registers.get(reg)? {
                Known::Seen(position) => Some((*reg, *position)),
                _ => None,
            },
            _ => None,
        }
    }
}

type Onward = Vec<(Pc, Facts)>;

struct Whole {
    slot: u32,
    is_lock: bool,
    data: HashSet<u32>,
    /// How sections open: under this lock, or by a `cas`.
    how: Option<Option<u32>>,
    acts: BTreeMap<usize, Act>,
}

/// The one variable that is accessed.
fn only(place: &Place) -> Option<u32> {
    match (touched(place).as_slice(), place.dims.is_empty()) {
        ([(None, slot)], true) => Some(*slot),
        _ => None,
    }
}

fn accesses(op: &Op, slot: u32) -> bool {
    op.place().is_some_and(|place| touched(place).contains(&(None, slot)))
}

impl Whole {
    fn of(steps: &Steps, slot: u32, is_lock: bool) -> Option<Whole> {
        let layout = &steps.shared[slot as usize];
        (!layout.joined && !layout.plain).then_some(())?;
        let data = data(steps, slot, is_lock);
        let mut whole = Whole { slot, is_lock, data, how: None, acts: BTreeMap::new() };
        for instr in (0..steps.code.len()).filter(|at| body_of(steps, *at) == 0) {
            let op = &steps.code[instr].op;
            if is_lock || !accesses(op, slot) {
                continue;
            }
            let Op::Store { place, value } = op else { return None };
            let [Ex::Const(start)] = value[..] else { return None };
            (only(place).is_some() && start.rem_euclid(2) == 0).then_some(())?;
        }
        for method in &steps.methods {
            let mut met: HashSet<(Pc, Facts)> = HashSet::new();
            let mut open = vec![(method.entry, Facts::default())];
            while let Some((pc, facts)) = open.pop() {
                (method.entry <= pc && pc < method.end).then_some(())?;
                if met.insert((pc, facts.clone())) {
                    // A program with very many ways is not looked through.
                    (met.len() < 100_000).then_some(())?;
                    open.extend(whole.behind(&steps.code[pc.0 as usize], pc, facts)?);
                }
            }
        }
        let begins = |act: &Act| matches!(act, Act::TakesLock | Act::Begins | Act::MayBegin(_));
        whole.acts.values().any(begins).then_some(whole)
    }

    /// Notes what stands in the place of an instruction; it is the same on every way.
    fn takes(&mut self, pc: Pc, act: Act) -> Option<()> {
        let known = self.acts.entry(pc.0 as usize).or_insert_with(|| act.clone());
        (*known == act).then_some(())
    }

    fn behind(&mut self, instr: &Instr, pc: Pc, mut facts: Facts) -> Option<Onward> {
        let is_guard = accesses(&instr.op, self.slot);
        let is_data = self.data.iter().any(|slot| accesses(&instr.op, *slot));
        let of_data = |(of, slot): &Where| of.is_none() && self.data.contains(slot);
        let is_data_only = instr.op.place().is_some_and(|p| touched(p).iter().all(of_data));
        if instr.inside_atomic && (is_guard || is_data || facts.inside) {
            return None;
        }
        if is_guard && !self.is_lock {
            return self.at_number(&instr.op, pc, facts);
        }
        if is_guard {
            only(instr.op.place()?)?;
            let act = match (&instr.op, facts.inside) {
                (Op::Lock(_), false) => Act::TakesLock,
                (Op::Unlock(_), true) => Act::StaysInside,
                _ => return None,
            };
            facts.inside = !facts.inside;
            self.takes(pc, act)?;
            return Some(vec![(Pc(pc.0 + 1), facts)]);
        }
        if is_data && !facts.inside {
            let Op::Load { dst, place } = &instr.op else { return None };
            let slot = only(place)?;
            facts.write(*dst)?;
            let look = facts.looks.last_mut().filter(|_| !self.is_lock)?;
            look.pending.push((*dst, slot));
            let position = look.position;
            facts.registers.insert(*dst, Known::Pending(position));
            self.takes(pc, Act::Idle)?;
            return Some(vec![(Pc(pc.0 + 1), facts)]);
        }
        if let Op::Branch { cond, otherwise } = &instr.op {
            let (cond, next) = match cond {
                Ex::Not(cond) => (&**cond, (*otherwise, Pc(pc.0 + 1))),
                cond => (cond, (Pc(pc.0 + 1), *otherwise)),
            };
            if let Ex::Bin(BinOp::Eq, a, b) = cond {
                if let Ex::Bin(BinOp::Rem, seen, two) = &**a
                    && let Some((_, position)) = facts.seen(seen)
                    && **two == Ex::Const(2)
                {
                    return self.parity(pc, position, b, next, facts);
                }
                if let (Some(a), Some(b)) = (facts.seen(a), facts.seen(b)) {
                    return self.compared(pc, (a, b), next, facts);
                }
            }
        }
        if let Some(with) = Self::of_numbers(&instr.op, &facts) {
            for (reg, known) in with? {
                facts.write(reg)?;
                facts.registers.insert(reg, known);
            }
            let act = if facts.inside { Act::NothingInside } else { Act::Nothing };
            self.takes(pc, act)?;
            return Some(vec![(Pc(pc.0 + 1), facts)]);
        }
        self.as_it_is(&instr.op, is_data_only, pc, facts)
    }

    /// An access to the number.
    fn at_number(&mut self, op: &Op, pc: Pc, mut facts: Facts) -> Option<Onward> {
        let next = Pc(pc.0 + 1);
        only(op.place()?)?;
        match op {
            Op::Load { dst, .. } => {
                facts.write(*dst)?;
                let (known, act) = match facts.inside {
                    true => (Known::SeenInside, Act::NothingInside),
                    false => {
                        facts.look(pc.0);
                        (Known::Seen(pc.0), Act::Idle)
                    }
                };
                facts.registers.insert(*dst, known);
                self.takes(pc, act)?;
            }
            Op::Store { value, .. } if facts.inside => {
                let (reg, by) = sum(&value[0])?;
                match facts.registers.get(&reg)? {
                    Known::SeenInside if by == 1 => {}
                    Known::Seen(at) if by == 2 && facts.looks.last()?.position == *at => {}
                    _ => return None,
                }
                facts.registers.values_mut().for_each(|known| *known = Known::Useless);
                facts.looks.clear();
                facts.inside = false;
                self.takes(pc, Act::NothingInside)?;
            }
            Op::Store { value, .. } => {
                let (reg, 1) = sum(&value[0])? else { return None };
                let lock = facts.is_last(reg)?.held.iter().next().copied()?;
                self.enter(Some(lock), &mut facts)?;
                self.takes(pc, Act::Begins)?;
            }
            Op::Cas { old, new, fail, .. } if !facts.inside => {
                let [Ex::Reg(reg)] = old[..] else { return None };
                (sum(&new[0])? == (reg, 1) && facts.is_last(reg)?.is_even).then_some(())?;
                let not = facts.clone();
                self.enter(None, &mut facts)?;
                self.takes(pc, Act::MayBegin(*fail))?;
                return Some(vec![(next, facts), (*fail, not)]);
            }
            _ => return None,
        }
        Some(vec![(next, facts)])
    }

    fn enter(&mut self, how: Option<u32>, facts: &mut Facts) -> Option<()> {
        facts.inside = true;
        // Only the last look is of use in a section, and nothing that was read before.
        facts.looks.drain(..facts.looks.len() - 1);
        for known in facts.registers.values_mut() {
            if matches!(known, Known::Pending(_)) {
                *known = Known::Useless;
            }
        }
        (*self.how.get_or_insert(how) == how).then_some(())
    }

    fn parity(
        &mut self,
        pc: Pc,
        position: u32,
        rest: &Ex,
        (yes, no): (Pc, Pc),
        facts: Facts,
    ) -> Option<Onward> {
        let mut even = facts.clone();
        for look in &mut even.looks {
            look.is_even |= look.position == position;
        }
        let ways = match rest {
            Ex::Const(0) => vec![(yes, even), (no, facts.clone())],
            Ex::Const(1) => vec![(no, even), (yes, facts.clone())],
            _ => return None,
        };
        self.takes(pc, Act::Either(yes, no))?;
        (!facts.inside).then_some(ways)
    }

    fn compared(
        &mut self,
        pc: Pc,
        (a, b): ((Reg, u32), (Reg, u32)),
        (yes, no): (Pc, Pc),
        facts: Facts,
    ) -> Option<Onward> {
        let [earlier, last] = &facts.looks[..] else { return None };
        let other = match (facts.is_last(a.0), facts.is_last(b.0)) {
            (Some(_), _) => b.1,
            (_, Some(_)) => a.1,
            _ => return None,
        };
        (other == earlier.position && earlier.is_even).then_some(())?;
        (!last.is_past && !facts.inside).then_some(())?;
        self.takes(pc, Act::MayRead(earlier.pending.clone(), yes, no))?;
        let mut equal = facts.clone();
        let first = equal.looks.remove(0);
        equal.registers.retain(|_, known| *known != Known::Pending(first.position));
        Some(vec![(yes, equal), (no, facts)])
    }

    /// Whether an instruction only copies looks, or checks that there are no bounds: what registers
    /// hold then. The outer none: it is something else.
    #[allow(clippy::option_option)]
    fn of_numbers(op: &Op, facts: &Facts) -> Option<Option<Vec<(Reg, Known)>>> {
        let look = |reg: &Reg| match facts.registers.get(reg) {
            Some(known @ (Known::Seen(_) | Known::SeenInside)) => Some(*known),
            _ => None,
        };
        match op {
            Op::Check { value, kind } => {
                look(&sum(value)?.0)?;
                Some(is_endless(*kind).then(Vec::new))
            }
            Op::Set { dst, value } => {
                let copied = value.iter().zip(dst.0..).map(|(ex, to)| match ex {
                    Ex::Reg(from) => Some((Reg(to), look(from)?)),
                    _ => None,
                });
                copied.collect::<Option<Vec<_>>>().map(Some)
            }
            _ => None,
        }
    }

    /// What has nothing to do with the number, or is done with data in a section.
    fn as_it_is(
        &mut self,
        op: &Op,
        is_data_only: bool,
        pc: Pc,
        mut facts: Facts,
    ) -> Option<Onward> {
        let marks = matches!(op, Op::Lin { .. });
        let mut same = true;
        flow::uses(op, &mut |reg| same &= !facts.registers.contains_key(&reg));
        (same || marks).then_some(())?;
        for reg in flow::definitions(op) {
            facts.write(Reg(reg))?;
        }
        let accesses = matches!(op, Op::Load { .. } | Op::Store { .. }) && is_data_only;
        let computes = matches!(
            op,
            Op::Set { .. } | Op::Branch { .. } | Op::Jump(_) | Op::Check { .. } | Op::Assert(_)
        );
        if facts.inside {
            (accesses || computes || marks).then_some(())?;
            self.takes(pc, Act::StaysInside)?;
        } else {
            if let Some(last) = facts.looks.last_mut() {
                last.is_past |= !computes && !marks;
            }
            match op {
                Op::Lock(place) => facts.held.extend(only(place)),
                Op::Unlock(place) => {
                    for (_, slot) in touched(place) {
                        facts.held.remove(&slot);
                        facts.looks.iter_mut().for_each(|look| {
                            look.held.remove(&slot);
                        });
                    }
                }
                _ => {}
            }
            self.takes(pc, Act::Stays)?;
        }
        let all = flow::successors(op, pc).into_iter();
        Some(all.map(|to| (to, facts.clone())).collect())
    }

    fn stand_in(&self, steps: &Steps) -> Steps {
        let mut result = steps.clone();
        let mut code = Rewriting::of(steps);
        let start = |pc: Pc| at_block(pc.0 as usize, 0);
        for (at, act) in &self.acts {
            let next = Op::Jump(start(Pc(*at as u32 + 1)));
            // Each instruction, and whether it lies in the block.
            let ops: Vec<(Op, bool)> = match act {
                Act::Stays => continue,
                Act::StaysInside => {
                    code.blocks[*at][0].inside_atomic = true;
                    continue;
                }
                Act::Nothing => vec![(next, false)],
                Act::NothingInside => vec![(next, true)],
                Act::Idle => vec![(Op::Atomic, false), (next, false)],
                Act::Either(yes, no) => {
                    vec![(Op::Choose(vec![start(*yes), start(*no)]), false)]
                }
                Act::TakesLock => {
                    vec![(Op::Atomic, false), (code.blocks[*at][0].op.clone(), true)]
                }
                Act::Begins => vec![(Op::Atomic, false)],
                Act::MayBegin(fail) => Self::perhaps(*at, &[], (Pc(*at as u32 + 1), *fail)),
                Act::MayRead(all, yes, no) => Self::perhaps(*at, all, (*yes, *no)),
            };
            let (ops, inside): (Vec<Op>, Vec<bool>) = ops.into_iter().unzip();
            code.put(*at, ops);
            for (instr, inside) in code.blocks[*at].iter_mut().zip(inside) {
                instr.inside_atomic = inside;
            }
        }
        code.finish(&mut result);
        result
    }

    /// The block in the place of an instruction that reads all this at once and goes on, or does not.
    /// However much it reads, the positions that are named in it are among the first ones.
    fn perhaps(at: usize, all: &[(Reg, u32)], (then, not): (Pc, Pc)) -> Vec<(Op, bool)> {
        let start = |pc: Pc| Op::Jump(at_block(pc.0 as usize, 0));
        let mut ops = vec![(Op::Choose(vec![at_block(at, 3), at_block(at, 1)]), false)];
        ops.extend([(Op::Atomic, false), (start(not), false), (Op::Atomic, false)]);
        for (dst, slot) in all {
            let place = Place { root: Root::Shared, offset: *slot, dims: vec![], width: 1 };
            ops.push((Op::Load { dst: *dst, place }, true));
        }
        ops.push((start(then), true));
        ops
    }
}

/// The data of a number: what else methods store in. That of a lock: what methods access that take it,
/// but locks.
fn data(steps: &Steps, guard: u32, is_lock: bool) -> HashSet<u32> {
    let bodies: Vec<usize> = (0..steps.code.len()).map(|at| body_of(steps, at)).collect();
    let of_guard = |at: &usize| accesses(&steps.code[*at].op, guard);
    let guarded: HashSet<usize> =
        (0..steps.code.len()).filter(of_guard).map(|at| bodies[at]).collect();
    let mut data = HashSet::new();
    for (instr, body) in steps.code.iter().zip(&bodies).filter(|(_, body)| **body > 0) {
        let counts = match &instr.op {
            _ if is_lock => guarded.contains(body),
            op => matches!(op, Op::Store { .. }),
        };
        let place = instr.op.place().filter(|_| counts);
        for (of, slot) in place.map(touched).unwrap_or_default() {
            let kind = steps.shared.get(slot as usize).map(|slot| slot.kind.scalar);
            if of.is_none() && slot != guard && kind != Some(Scalar::Lock) {
                data.insert(slot);
            }
        }
    }
    data
}

/// A register, and what is added to it: one or two, also one by one.
fn sum(ex: &Ex) -> Option<(Reg, i32)> {
    match ex {
        Ex::Reg(reg) => Some((*reg, 0)),
        Ex::Bin(BinOp::Add, a, b) => match (sum(a)?, &**b) {
            ((reg, 0), Ex::Const(n @ 1..=2)) => Some((reg, *n)),
            ((reg, 1), Ex::Const(n @ 1..=2)) => Some((reg, 1 + n)),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{library, lowered};
    use super::*;

    /// Whether the number or the lock of this name no longer guards anything.
    fn is_whole(source: &str, guard: &str) -> bool {
        with_whole_sections(&lowered(source)).is_some_and(|steps| {
            let code = steps.methods.iter().map(|m| m.entry.0 as usize..m.end.0 as usize);
            let mut ops = code.flat_map(|range| &steps.code[range]);
            let slot =
                steps.shared.iter().position(|slot| slot.name == guard).expect("it is there");
            ops.all(|instr| !accesses(&instr.op, slot as u32) || instr.inside_atomic)
        })
    }

    /// Each change takes away one condition.
    #[test]
    fn what_only_looks_like_a_sequence_lock_has_no_whole_sections() {
        let (cas, locked) = (library("seqlock_cas"), library("seqlock_locked"));
        for source in [&cas, &locked, &library("seqlock_statistics")] {
            assert!(is_whole(source, "seq"), "{source}");
        }
        let read = "    if seq == s { return (a, b) }";
        for (source, old, new) in [
            (&cas, "var seq: int = 0", "var seq: int = 3"),
            (&cas, "var seq: int = 0", "var seq: int 0..50 = 0"),
            (&cas, "s % 2 == 0", "s % 4 == 0"),
            (&cas, "s % 2 == 0", "s % 2 == 1"),
            (&cas, "s + 1)", "s + 2)"),
            (&cas, "cas(seq, s, s + 1)", "cas(seq, s + 1, s + 1)"),
            (&cas, "if cas(seq, s, s + 1) { return s }", "seq = s + 1; return s"),
            (&cas, "if cas(seq, s, s + 1)", "let t = seq; if cas(seq, s, s + 1)"),
            (&cas, "  seq = s + 2", "  seq = s + 1"),
            (&cas, "  seq = s + 2", "  seq = 2"),
            (&cas, "  seq = s + 2", "  seq = s + 2; right = b"),
            (&cas, "  seq = s + 2", "  let t = swap(seq, s + 2)"),
            (&cas, "  seq = s + 2", ""),
            (&cas, "  left = a\n", "  left = a; await right == b\n"),
            (&cas, "    if s % 2 == 1 { continue }\n", ""),
            (&cas, "if s % 2 == 1", "if s % 2 == 0"),
            (&cas, read, "    return (a, b)"),
            (&cas, read, "    if seq != s { return (a, b) }"),
            (&cas, read, "    if seq == s { return (a, right) }"),
            (&cas, read, "    if a == null { return (a, b) }"),
            (&cas, read, "    let t = seq; b = right; if t == s { return (a, b) }"),
            (&cas, read, "    b = null; if seq == s { return (a, b) }"),
            (&cas, read, "    let c = b; if seq == s { return (a, c) }"),
            (&cas, read, "    s = seq; if seq == s { return (a, b) }"),
            (&locked, "let again = seq", "let again = seq; lock(writers); unlock(writers)"),
            (&locked, "lock(writers)\n  seq = seq + 1\n", "seq = seq + 1\n  lock(writers)\n"),
            (
                &locked,
                "lock(writers)\n",
                "let s = seq\n  lock(writers)\n  seq = s + 1; seq = s + 2\n",
            ),
            (&locked, "  right = b\n  seq", "  unlock(writers); lock(writers)\n  right = b\n  seq"),
        ] {
            let changed = source.replacen(old, new, 1);
            assert_ne!(&changed, source, "{old}");
            assert!(!is_whole(&changed, "seq"), "{new}");
        }
    }

    /// Others change a part of a pair that is no data: what reads both parts twice may see that.
    #[test]
    fn a_section_that_reads_more_than_data_is_not_whole() {
        let source = library("seqlock_statistics")
            .replace("var seq", "var pair: (int, int) = (0, 0)\nvar seq")
            .replace("      last = v\n", "      let a = pair.0; pair.0 = a; last = v\n")
            .replace("{\n  loop", "{\n  let t = fetch_add(pair.1, 1)\n  loop");
        assert!(is_whole(&source, "seq"), "{source}");
        let both = source.replace("let a = pair.0", "let (a, b) = pair");
        assert_ne!(both, source);
        assert!(!is_whole(&both, "seq"), "{both}");
    }

    /// Positions inside of a block are limited; how much a reading reads is not.
    #[test]
    fn a_reading_of_very_much_goes_on_where_the_program_does() {
        let many: String = (0..40).map(|n| format!("    let a{n} = left\n")).collect();
        let source = library("seqlock_cas")
            .replace("    let b = right\n", &format!("{many}    let b = right\n"));
        let steps = with_whole_sections(&lowered(&source)).expect("it is whole");
        let reads = |at: usize| {
            let ops = steps.code[at..].iter().take_while(|i| i.inside_atomic).map(|i| &i.op);
            ops.filter(|op| matches!(op, Op::Load { .. })).count()
        };
        let at = (0..steps.code.len()).find(|at| reads(*at) > 40).expect("all in one block");
        let Op::Choose(ways) = &steps.code[at - 4].op else { panic!("it is read or not") };
        assert_eq!(ways[..], [Pc(at as u32 - 1), Pc(at as u32 - 3)]);
        let mut not = Pc(at as u32 - 2);
        while let Op::Jump(to) = steps.code[not.0 as usize].op {
            not = to;
        }
        let entry = steps.methods.last().expect("it reads").entry;
        assert_eq!(not, entry, "the loop begins again");
    }

    #[test]
    fn what_is_accessed_beside_a_lock_has_no_whole_sections() {
        let source = library("coarse_pair");
        assert!(is_whole(&source, "guard"));
        for (old, new) in [
            ("  lock(guard)\n  let a = left", "  let a = left\n  lock(guard)"),
            ("  right = b\n  unlock(guard)\n", "  unlock(guard)\n  right = b\n"),
            ("  unlock(guard)\n  return (a, b)", "  return (a, b)"),
            ("  right = b\n", "  right = b; await left != null\n"),
            ("  right = b\n", "  right = b; unlock(guard)\n"),
            ("  left = a\n", "  left = a; lock(guard)\n"),
            ("  left = a\n", "  atomic { left = a }\n"),
        ] {
            let changed = source.replacen(old, new, 1);
            assert_ne!(changed, source, "{old}");
            assert!(!is_whole(&changed, "guard"), "{new}");
        }
    }
}
