//! Makes atomic blocks of the sections in which data is written that nobody else looks at meanwhile.
//!
//! *Decided*, for one *guard*, a lock or a number:
//!
//! - A lock: what is accessed while it is held is accessed at no other time.
//! - A number without bounds that begins even (a sequence lock). A section *opens* with the step that
//!   adds one to it: a `cas` that expects what was read and found even, or a store while the writers'
//!   lock is held, under which the number was read, too; all sections open in the same way. It
//!   *closes* with a store of one more. Everything that methods store elsewhere than in the number is
//!   stored in sections, and everything else that accesses this *data* is a *reading*: the number is
//!   read and found even, data is read, the number is read again and found equal. What was read is
//!   used in no way before that, and never if the numbers differ. The numbers are compared at once:
//!   between the second look and the comparison there is no other step.
//!
//! In a section nothing shared is accessed but the data, nothing waits, and no way leads in or out
//! elsewhere. `Q` executes it as one step where it opens; a reading is one step where the numbers are
//! compared, which may also find them different; and the number is gone.
//!
//! *Why it is sound*: for a lock, this is Lipton's reduction: taking it can be put off, giving it back
//! can be brought forward, and nobody sees what lies between. For a number: it never gets smaller, and
//! is odd while a section is open. Two sections are never open at once: a `cas` opens one only if the
//! number is even, so none is; and the lock keeps out others from the read of the number to the end.
//! Who finds the number even and later the same has seen no section open in between. So the data was
//! as the sections that had closed before have left it, all of them as one step each; `Q`, which reads
//! it at the comparison, reads the same. The steps of a section are not seen by anybody but by
//! readings that come to nothing, so they may all happen at its end; no section, no reading, depends on
//! what others do before that. Whether only the holder gives the lock back is what the proof of `Q`
//! shows, in which the lock stays.
//!
//! *What would make it unsound*: a number that comes back, by bounds or a store; a reading that is
//! used although the number was odd or has changed, or so late that `Q`, which reads at the comparison,
//! reads something newer; data that is read or written elsewhere; a section that accesses anything
//! else, be it beside data; sections that open in two ways, one of which knows nothing of the other.

use super::ways::{self, Parts};
use super::{inner, method, nothing, replace_each};
use seriatim_lang::flow::{definitions, uses};
use seriatim_lang::steps::{BinOp, Ex, Op, Pc, Place, Reg, Root, Steps};
use seriatim_lang::types::Scalar;
use std::collections::{BTreeMap, BTreeSet};

/// Makes atomic blocks of all sections; says whether there are any.
pub fn atomic(steps: &mut Steps) -> bool {
    let all = 0..steps.shared.len() as u32;
    let numbers = all.clone().filter(|slot| is_number(steps, *slot)).map(Guard::Number);
    let locks = all.filter(|slot| steps.shared[*slot as usize].kind.scalar == Scalar::Lock);
    let guards: Vec<Guard> = numbers.chain(locks.map(Guard::Lock)).collect();
    let mut found = false;
    for guard in guards {
        if let Some(sections) = Sections::of(steps, guard) {
            sections.make(steps);
            found = true;
        }
    }
    if found {
        super::slice::slice(steps);
    }
    found
}

fn is_number(steps: &Steps, slot: u32) -> bool {
    let slot = &steps.shared[slot as usize];
    let endless = matches!(slot.kind.scalar, Scalar::Int(range) if range.is_default());
    endless && !slot.kind.nullable && !slot.joined && !slot.plain
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Guard {
    Lock(u32),
    Number(u32),
}

/// What an instruction does for a section or a reading.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Part {
    Outside,
    Inside,
    /// Only goes on; inside or outside.
    Gone(bool),
    /// A step that leaves no trace.
    Step,
    /// Asks whether a number is even: either may be.
    Asks(Pc, Pc),
    /// Takes the lock that is the guard.
    Takes,
    Opens,
    /// Opens by a `cas`, or goes on here.
    OpensIf(Pc),
    /// Compares two numbers: what was read, where it goes on if they are equal, and if not.
    Compares(Vec<Load>, Pc, Pc),
}

/// A register and the variable that is read into it.
type Load = (Reg, u32);

/// What a register holds that does not hold the same in `Q`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Holds {
    /// The number, as it was read at this position.
    Number(Pc),
    /// The number, as it was read in the section.
    Odd,
    /// Data.
    Unsure(Pc),
    Lost,
}

/// A number that was read, and what was read behind it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Reading {
    at: Pc,
    even: bool,
    /// No other step was taken since then.
    at_once: bool,
    /// The locks that are held all the time since then.
    under: BTreeSet<u32>,
    loads: Vec<Load>,
}

/// What is known on a way through a method.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Way {
    open: bool,
    regs: BTreeMap<Reg, Holds>,
    held: BTreeSet<u32>,
    earlier: Option<Reading>,
    latest: Option<Reading>,
}

impl Way {
    fn lose(&mut self, which: impl Fn(Holds) -> bool) {
        self.regs.values_mut().filter(|h| which(**h)).for_each(|h| *h = Holds::Lost);
    }

    /// The number is read at this position; what was read there before is forgotten.
    fn read(&mut self, at: Pc, dst: Reg) {
        self.lose(|holds| matches!(holds, Holds::Number(of) | Holds::Unsure(of) if of == at));
        let latest = self.latest.take().filter(|latest| latest.at != at);
        self.earlier = latest.or(self.earlier.take()).filter(|earlier| earlier.at != at);
        let under = self.held.clone();
        self.latest = Some(Reading { at, even: false, at_once: true, under, loads: vec![] });
        self.regs.insert(dst, Holds::Number(at));
    }

    fn close(&mut self) {
        self.lose(|_| true);
        (self.open, self.earlier, self.latest) = (false, None, None);
    }

    /// The number that is the latest one, if a register holds it and no data was read since.
    fn latest_in(&self, reg: Reg) -> Option<&Reading> {
        let latest = self.latest.as_ref()?;
        let holds = self.regs.get(&reg) == Some(&Holds::Number(latest.at));
        (holds && latest.loads.is_empty()).then_some(latest)
    }

    /// What a register held is gone. What `Q` is to read later must not be overwritten before.
    fn define(&mut self, reg: Reg) -> Option<()> {
        let readings = self.earlier.iter().chain(&self.latest);
        let mut loads = readings.flat_map(|reading| &reading.loads);
        (!loads.any(|(dst, _)| *dst == reg)).then_some(())?;
        self.regs.remove(&reg);
        Some(())
    }
}

struct Sections {
    guard: Guard,
    /// What is written in sections.
    data: BTreeSet<u32>,
    /// The lock under which sections open; none if they open by a `cas`.
    writers: Option<Option<u32>>,
    parts: Parts<Part>,
}

fn slot_of(place: &Place) -> Option<u32> {
    let single = place.width == 1 && place.dims.is_empty();
    (place.root == Root::Shared && single).then_some(place.offset)
}

impl Sections {
    fn of(steps: &Steps, guard: Guard) -> Option<Sections> {
        let data = match guard {
            Guard::Number(number) => stored(steps, number),
            Guard::Lock(lock) => accessed_under(steps, lock),
        };
        let mut sections = Sections { guard, data, writers: None, parts: Parts::none() };
        sections.begins_right(steps).then_some(())?;
        for of in 0..steps.methods.len() {
            ways::follow(steps, of, Way::default(), |pc, way| sections.follow(steps, pc, way))?;
        }
        let opens = |part: &Part| matches!(part, Part::Takes | Part::Opens | Part::OpensIf(_));
        sections.parts.any(opens).then_some(sections)
    }

    /// The number begins even.
    fn begins_right(&self, steps: &Steps) -> bool {
        let Guard::Number(number) = self.guard else { return true };
        let before = (0..steps.code.len()).filter(|at| method(steps, *at).is_none());
        before.map(|at| &steps.code[at].op).all(|op| match op {
            Op::Store { place, value } if touches(op, number) => {
                slot_of(place).is_some() && matches!(value[..], [Ex::Const(n)] if n % 2 == 0)
            }
            op => !touches(op, number),
        })
    }

    fn is_data(&self, op: &Op) -> bool {
        self.data.iter().any(|slot| touches(op, *slot))
    }

    /// Besides data, nothing is accessed: a tuple may be data in one part only.
    fn is_only_data(&self, op: &Op) -> bool {
        op.place().is_some_and(|place| {
            place.root == Root::Shared && place.slots().all(|slot| self.data.contains(&slot))
        })
    }

    /// Where a way goes on behind an instruction; none if it may not be there.
    fn follow(&mut self, steps: &Steps, pc: Pc, mut way: Way) -> Option<Vec<(Pc, Way)>> {
        let at = pc.0 as usize;
        let instr = &steps.code[at];
        let guards = match self.guard {
            Guard::Lock(slot) | Guard::Number(slot) => touches(&instr.op, slot),
        };
        let data = self.is_data(&instr.op);
        (!instr.inside_atomic || !(way.open || guards || data)).then_some(())?;
        let part = match self.guard {
            Guard::Number(_) if guards => return self.number(&instr.op, pc, way),
            Guard::Number(_) if data && !way.open => {
                let Op::Load { dst, place } = &instr.op else { return None };
                self.reads(*dst, slot_of(place)?, &mut way)?
            }
            Guard::Lock(_) if guards => match (&instr.op, way.open) {
                (Op::Lock(place), false) => {
                    slot_of(place)?;
                    way.open = true;
                    Part::Takes
                }
                (Op::Unlock(place), true) => {
                    slot_of(place)?;
                    way.open = false;
                    Part::Inside
                }
                _ => return None,
            },
            Guard::Lock(_) if data && !way.open => return None,
            _ => {
                if let Op::Branch { cond, otherwise } = &instr.op
                    && let Some(onward) = self.asks(cond, (pc, *otherwise), &way)
                {
                    return onward;
                }
                self.rest(&instr.op, &mut way)?
            }
        };
        self.parts.play(at, part)?;
        Some(ways::go_on(&instr.op, pc, &way))
    }

    /// An access to the number.
    fn number(&mut self, op: &Op, pc: Pc, mut way: Way) -> Option<Vec<(Pc, Way)>> {
        slot_of(op.place()?)?;
        let next = Pc(pc.0 + 1);
        let part = match op {
            Op::Load { dst, .. } if way.open => {
                way.define(*dst)?;
                way.regs.insert(*dst, Holds::Odd);
                Part::Gone(true)
            }
            Op::Load { dst, .. } => {
                way.define(*dst)?;
                way.read(pc, *dst);
                Part::Step
            }
            Op::Store { value, .. } if way.open => {
                let (reg, more) = plus(value.first()?)?;
                let right = match way.regs.get(&reg)? {
                    Holds::Odd => more == 1,
                    Holds::Number(of) => {
                        more == 2 && way.latest.as_ref().is_some_and(|latest| latest.at == *of)
                    }
                    _ => false,
                };
                right.then_some(())?;
                way.close();
                Part::Gone(true)
            }
            Op::Store { value, .. } => {
                let (reg, 1) = plus(value.first()?)? else { return None };
                let lock = *way.latest_in(reg)?.under.first()?;
                self.opens(Some(lock), &mut way)?;
                Part::Opens
            }
            Op::Cas { old, new, fail, .. } if !way.open => {
                let ([Ex::Reg(reg)], (of, 1)) = (&old[..], plus(new.first()?)?) else {
                    return None;
                };
                (of == *reg && way.latest_in(*reg)?.even).then_some(())?;
                let mut open = way.clone();
                self.opens(None, &mut open)?;
                self.parts.play(pc.0 as usize, Part::OpensIf(*fail))?;
                return Some(vec![(next, open), (*fail, way)]);
            }
            _ => return None,
        };
        self.parts.play(pc.0 as usize, part)?;
        Some(vec![(next, way)])
    }

    /// A section opens, as all others do.
    fn opens(&mut self, lock: Option<u32>, way: &mut Way) -> Option<()> {
        (*self.writers.get_or_insert(lock) == lock).then_some(())?;
        way.earlier = None;
        way.lose(|holds| matches!(holds, Holds::Unsure(_)));
        way.open = true;
        Some(())
    }

    /// Data is read behind a number.
    fn reads(&self, dst: Reg, slot: u32, way: &mut Way) -> Option<Part> {
        way.define(dst)?;
        let latest = way.latest.as_mut()?;
        latest.loads.push((dst, slot));
        let at = latest.at;
        way.regs.insert(dst, Holds::Unsure(at));
        Some(Part::Step)
    }

    /// A branch on a number: whether it is even, or equal to another one. The outer none: it is on
    /// something else.
    #[allow(clippy::option_option)]
    fn asks(
        &mut self,
        cond: &Ex,
        (pc, otherwise): (Pc, Pc),
        way: &Way,
    ) -> Option<Option<Vec<(Pc, Way)>>> {
        let next = Pc(pc.0 + 1);
        let (cond, holds) = match cond {
            Ex::Not(cond) => (&**cond, false),
            cond => (cond, true),
        };
        let Ex::Bin(BinOp::Eq, a, b) = cond else { return None };
        let (yes, no) = if holds { (next, otherwise) } else { (otherwise, next) };
        let number = |ex: &Ex| match ex {
            Ex::Reg(reg) => match way.regs.get(reg) {
                Some(Holds::Number(of)) => Some((*reg, *of)),
                _ => None,
            },
            _ => None,
        };
        if let (Ex::Bin(BinOp::Rem, of, two), Ex::Const(rest @ (0 | 1))) = (&**a, &**b)
            && let (Some((_, of)), Ex::Const(2)) = (number(of), &**two)
        {
            let mut even = way.clone();
            let readings = even.earlier.iter_mut().chain(&mut even.latest);
            readings.filter(|reading| reading.at == of).for_each(|reading| reading.even = true);
            let (if_even, if_odd) = if *rest == 0 { (yes, no) } else { (no, yes) };
            let onward = (!way.open).then(|| vec![(if_even, even), (if_odd, way.clone())]);
            let played = self.parts.play(pc.0 as usize, Part::Asks(yes, no));
            return Some(played.and(onward));
        }
        let (a, b) = (number(a)?, number(b)?);
        Some(self.compared(pc, [a, b], (yes, no), way))
    }

    /// Two numbers are compared: the latest one, and the one before it.
    fn compared(
        &mut self,
        pc: Pc,
        [a, b]: [(Reg, Pc); 2],
        (yes, no): (Pc, Pc),
        way: &Way,
    ) -> Option<Vec<(Pc, Way)>> {
        let earlier = way.earlier.as_ref().filter(|earlier| earlier.even && !way.open)?;
        let latest = way.latest_in(a.0).map(|_| b.1).or(way.latest_in(b.0).map(|_| a.1))?;
        let at_once = way.latest.as_ref().is_some_and(|latest| latest.at_once);
        (latest == earlier.at && at_once).then_some(())?;
        self.parts.play(pc.0 as usize, Part::Compares(earlier.loads.clone(), yes, no))?;
        let mut equal = way.clone();
        equal.regs.retain(|_, holds| *holds != Holds::Unsure(earlier.at));
        equal.earlier = None;
        Some(vec![(yes, equal), (no, way.clone())])
    }

    /// An instruction that is left as it is, or only computes numbers.
    fn rest(&self, op: &Op, way: &mut Way) -> Option<Part> {
        if let Some(part) = on_numbers(op, way)? {
            return Some(part);
        }
        let mut sure = true;
        uses(op, &mut |reg| sure &= !way.regs.contains_key(&reg));
        (sure || matches!(op, Op::Lin { .. })).then_some(())?;
        for reg in definitions(op) {
            way.define(Reg(reg))?;
        }
        if way.open {
            let still = self.is_only_data(op) && matches!(op, Op::Load { .. } | Op::Store { .. });
            return (still || is_local(op)).then_some(Part::Inside);
        }
        if !is_local(op) {
            way.latest.iter_mut().for_each(|latest| latest.at_once = false);
        }
        match op {
            Op::Lock(place) => {
                way.held.extend(slot_of(place));
            }
            Op::Unlock(place) => {
                let given: BTreeSet<u32> = place.slots().collect();
                let readings = way.earlier.iter_mut().chain(&mut way.latest);
                let all = readings.map(|reading| &mut reading.under).chain([&mut way.held]);
                all.for_each(|held| held.retain(|lock| !given.contains(lock)));
            }
            _ => {}
        }
        Some(Part::Outside)
    }

    fn make(&self, steps: &mut Steps) {
        for at in self.parts.positions().filter(|at| self.parts.at(*at) == Some(&Part::Inside)) {
            steps.code[at].inside_atomic = true;
        }
        let load = |(dst, slot): &Load| {
            let place = Place { root: Root::Shared, offset: *slot, dims: vec![], width: 1 };
            (Op::Load { dst: *dst, place }, true)
        };
        // What is `true` lies inside an atomic block.
        replace_each(steps, |pc, instr| {
            let next = Pc(pc.0 + 1);
            Some(match self.parts.at(pc.0 as usize)? {
                Part::Outside | Part::Inside => return None,
                Part::Gone(inside) => vec![(nothing(pc), *inside)],
                Part::Step => vec![(Op::Atomic, false), (nothing(pc), false)],
                Part::Asks(yes, no) => vec![(Op::Choose(vec![*yes, *no]), false)],
                Part::Takes => vec![(Op::Atomic, false), (instr.op.clone(), true)],
                Part::Opens => vec![(Op::Atomic, false)],
                Part::OpensIf(fail) => attempt(vec![], next, *fail),
                Part::Compares(loads, yes, no) => {
                    attempt(loads.iter().map(load).collect(), *yes, *no)
                }
            })
        });
    }
}

/// Code that does this in an atomic block and goes on at `then`, still in the block, or does nothing
/// and goes on at `otherwise`.
fn attempt(block: Vec<(Op, bool)>, then: Pc, otherwise: Pc) -> Vec<(Op, bool)> {
    let ways = Op::Choose(vec![inner(3), inner(1)]);
    let not = [(Op::Atomic, false), (Op::Jump(otherwise), false)];
    let begin = [&[(ways, false)][..], &not, &[(Op::Atomic, false)]].concat();
    [begin, block, vec![(Op::Jump(then), true)]].concat()
}

/// What is done to numbers alone: they are copied, and checked for bounds that there are not. The outer
/// none: it may not be done.
#[allow(clippy::option_option)]
fn on_numbers(op: &Op, way: &mut Way) -> Option<Option<Part>> {
    match op {
        Op::Set { dst, value } => {
            let held = |ex: &Ex| match ex {
                Ex::Reg(reg) => match way.regs.get(reg) {
                    Some(holds @ (Holds::Number(_) | Holds::Odd)) => Some(*holds),
                    _ => None,
                },
                _ => None,
            };
            let Some(held) = value.iter().map(held).collect::<Option<Vec<Holds>>>() else {
                return Some(None);
            };
            for (reg, holds) in (dst.0..).map(Reg).zip(held) {
                way.define(reg)?;
                way.regs.insert(reg, holds);
            }
        }
        Op::Check { value, kind } => {
            let Some((reg, _)) = plus(value) else { return Some(None) };
            if !matches!(way.regs.get(&reg), Some(Holds::Number(_) | Holds::Odd)) {
                return Some(None);
            }
            let endless = matches!(kind.scalar, Scalar::Int(range) if range.is_default());
            endless.then_some(())?;
        }
        _ => return Some(None),
    }
    Some(Some(Part::Gone(way.open)))
}

/// Whether an instruction is never a step of its own, and never waits.
fn is_local(op: &Op) -> bool {
    match op {
        Op::Set { .. } | Op::Branch { .. } | Op::Jump(_) => true,
        op => matches!(op, Op::Check { .. } | Op::Assert(_) | Op::Lin { .. }),
    }
}

fn touches(op: &Op, slot: u32) -> bool {
    op.place().is_some_and(|place| place.root == Root::Shared && place.slots().contains(&slot))
}

/// What methods store in, but this.
fn stored(steps: &Steps, but: u32) -> BTreeSet<u32> {
    let inside = (0..steps.code.len()).filter(|at| method(steps, *at).is_some());
    let places = inside.filter_map(|at| match &steps.code[at].op {
        Op::Store { place, .. } if place.root == Root::Shared => Some(place),
        _ => None,
    });
    places.flat_map(Place::slots).filter(|slot| *slot != but).collect()
}

/// All variables that are no locks and accessed by a method that takes this lock.
fn accessed_under(steps: &Steps, lock: u32) -> BTreeSet<u32> {
    let takes = |of: usize| {
        let code = &steps.methods[of];
        let ops = steps.code[code.entry.0 as usize..code.end.0 as usize].iter().map(|i| &i.op);
        ops.clone().any(|op| touches(op, lock)).then_some(ops)
    };
    let ops = (0..steps.methods.len()).filter_map(takes).flatten();
    let places = ops.filter_map(Op::place).filter(|place| place.root == Root::Shared);
    let is_lock = |slot: &u32| steps.shared[*slot as usize].kind.scalar == Scalar::Lock;
    places.flat_map(Place::slots).filter(|slot| !is_lock(slot)).collect()
}

/// A register plus a number: `s`, `s + 1`, `s + 1 + 1`.
fn plus(ex: &Ex) -> Option<(Reg, i32)> {
    match ex {
        Ex::Reg(reg) => Some((*reg, 0)),
        Ex::Bin(BinOp::Add, a, b) => match (plus(a)?, &**b) {
            ((reg, more), Ex::Const(n @ (1 | 2))) if more < 2 => Some((reg, more + n)),
            _ => None,
        },
        _ => None,
    }
}
