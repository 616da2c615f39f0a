//! One thread of a run, executed by itself: it is given the values that the run says it read, and
//! must come to make each access that the run says it made.
//!
//! This is the second reading of the instructions, beside `step`: it knows no memory, no other
//! thread and no choice that is not written down, so that an error in `step` cannot hide here.

use super::event::{Done, Event, Named};
use super::evidence::Witness;
use super::memory::Content;
use seriatim_lang::machine::{Fault, Stop, check, evaluate, offset};
use seriatim_lang::steps::{Ex, NULL, Op, Ordering, Pc, Place, Reg, Root};

/// A thread by itself: nodes are called by their names.
pub(super) struct Thread<'w> {
    witness: &'w Witness<'w>,
    thread: usize,
    pc: Pc,
    caller: Pc,
    registers: Vec<i32>,
}

/// What the run says of an update.
struct Updated<'u> {
    before: &'u Content,
    after: &'u Content,
    order: Ordering,
}

impl<'w> Thread<'w> {
    pub fn new(witness: &'w Witness<'w>, thread: usize) -> Thread<'w> {
        let machine = &witness.subject.machine;
        let steps = &machine.steps;
        let registers = match machine.clone().initial() {
            Ok(state) => {
                let first = machine.register_base(thread);
                state.words[first..first + steps.register_count()].to_vec()
            }
            Err(_) => vec![NULL; steps.register_count()],
        };
        let pc = steps.threads[thread].entry;
        Thread { witness, thread, pc, caller: Pc(0), registers }
    }

    fn op(&self) -> &'w Op {
        &self.witness.subject.machine.steps.code[self.pc.0 as usize].op
    }

    pub fn value(&self, ex: &Ex, pc: Pc) -> Result<i32, Stop> {
        evaluate(ex, &self.registers, self.thread, pc)
    }

    fn values(&self, all: &[Ex], pc: Pc) -> Result<Vec<i32>, String> {
        let values: Result<_, Stop> = all.iter().map(|ex| self.value(ex, pc)).collect();
        values.map_err(|stop| format!("{stop:?}"))
    }

    fn set(&mut self, first: Reg, values: impl IntoIterator<Item = i32>) {
        let registers = &mut self.registers[first.0 as usize..];
        registers.iter_mut().zip(values).for_each(|(register, value)| *register = value);
    }

    /// The word that a place means.
    pub fn named(&self, place: &Place, pc: Pc) -> Result<Named, Stop> {
        let first =
            (place.offset + offset(&place.dims, &self.registers, self.thread, pc)?) as usize;
        let (words, node) = match &place.root {
            Root::Shared => (&self.witness.layout.shared, None),
            Root::Node(node, id) => match self.value(node, pc)? {
                NULL => return Err(Stop::Fault(Fault::NullDereference, pc)),
                node => (&self.witness.layout.structs[id.0 as usize], Some(node as u32)),
            },
        };
        let word = words.iter().position(|w| w.slots.contains(&first)).unwrap_or(0);
        Ok((node, word))
    }

    /// The slots of a word that a place means.
    fn skip(&self, place: &Place, pc: Pc) -> usize {
        let first =
            place.offset + offset(&place.dims, &self.registers, self.thread, pc).unwrap_or(0);
        let words = match &place.root {
            Root::Shared => &self.witness.layout.shared,
            Root::Node(_, id) => &self.witness.layout.structs[id.0 as usize],
        };
        let word = words.iter().find(|w| w.slots.contains(&(first as usize)));
        word.map_or(0, |word| first as usize - word.slots.start)
    }

    /// Runs code that touches nothing but registers, up to this position.
    pub fn run_to(&mut self, pc: Pc) -> Result<(), String> {
        for _ in 0..100_000 {
            if self.pc == pc {
                return Ok(());
            }
            let next = Pc(self.pc.0 + 1);
            let at = self.pc;
            match self.op() {
                Op::Set { dst, value } => {
                    let values = self.values(value, at)?;
                    self.set(*dst, values);
                }
                Op::SetAt { base, dims, value, .. } => {
                    let values = self.values(value, at)?;
                    let far = offset(dims, &self.registers, self.thread, at);
                    let far = far.map_err(|stop| format!("{stop:?}"))?;
                    self.set(Reg(base.0 + far), values);
                }
                Op::Branch { cond, otherwise } => {
                    let holds = self.values(std::slice::from_ref(cond), at)?[0] != 0;
                    self.pc = if holds { next } else { *otherwise };
                    continue;
                }
                Op::Jump(to) => {
                    self.pc = *to;
                    continue;
                }
                Op::Assume(cond) | Op::Assert(cond) => {
                    if self.values(std::slice::from_ref(cond), at)?[0] == 0 {
                        return Err("it passes a condition that does not hold".to_owned());
                    }
                }
                Op::Check { value, kind } => {
                    let value = self.values(std::slice::from_ref(value), at)?[0];
                    check(value, *kind, at).map_err(|stop| format!("{stop:?}"))?;
                }
                Op::Lin { .. } | Op::Atomic => {}
                _ => return Err("it leaves out an access of its code".to_owned()),
            }
            self.pc = next;
        }
        Err("it does not come there".to_owned())
    }

    /// Makes an access of the run, which must be the one that the code makes.
    pub fn follow(&mut self, event: &Event) -> Result<(), String> {
        if let Done::Flush(_) | Done::Learns(_) = event.done {
            return Ok(());
        }
        self.run_to(event.pc)?;
        let at = self.pc;
        let next = Pc(at.0 + 1);
        let orders = self.witness.subject.machine.steps.code[at.0 as usize].orders;
        let wrong = || Err("its code does something else there".to_owned());
        let stopped = |stop: Stop| format!("{stop:?}");
        match (self.op(), &event.done) {
            (_, Done::Fault(_)) => return Ok(()),
            (Op::Choose(targets), Done::Chose(to)) => {
                let Some(to) = targets.iter().find(|t| t.0 as i32 == *to) else { return wrong() };
                self.pc = *to;
                return Ok(());
            }
            (Op::Any { dst, .. }, Done::Chose(value)) => self.set(*dst, [*value]),
            (Op::Invoke { method, args, .. }, Done::Call(called, given)) => {
                if method != called || self.values(args, at)? != *given {
                    return wrong();
                }
                let info = &self.witness.subject.machine.steps.methods[*method as usize];
                self.registers[info.first_param.0 as usize..].fill(NULL);
                self.set(info.first_param, given.iter().copied());
                (self.caller, self.pc) = (at, info.entry);
                return Ok(());
            }
            (Op::Return(value), Done::Return(given)) => {
                if self.values(value, at)? != *given {
                    return wrong();
                }
                let steps = &self.witness.subject.machine.steps;
                if let Op::Invoke { dst: Some(dst), .. } = &steps.code[self.caller.0 as usize].op {
                    self.set(*dst, given.iter().copied());
                }
                self.registers[steps.persistent.len()..].fill(NULL);
                self.pc = Pc(self.caller.0 + 1);
                return Ok(());
            }
            (Op::Fence, Done::Fence(order)) if *order == orders.access => {}
            (Op::New { dst, fields, .. }, Done::New(node, slots)) => {
                if self.values(fields, at)? != *slots {
                    return wrong();
                }
                self.set(*dst, [*node as i32]);
            }
            (Op::Free(node), Done::Free(name)) => {
                if self.value(node, at).map_err(stopped)? != *name as i32 {
                    return wrong();
                }
            }
            (Op::Load { dst, place }, Done::Read { word, content, order, .. }) => {
                let is_right = order.is_none_or(|order| order == orders.access);
                if self.named(place, at).map_err(stopped)? != *word || !is_right {
                    return wrong();
                }
                let skip = self.skip(place, at);
                let values: Vec<i32> =
                    content.slots().skip(skip).take(place.width as usize).collect();
                self.set(*dst, values);
            }
            (Op::Store { place, value }, Done::Write { word, content, order, .. }) => {
                let is_right = order.is_none_or(|order| order == orders.access)
                    && content.slots().eq(self.values(value, at)?);
                if self.named(place, at).map_err(stopped)? != *word || !is_right {
                    return wrong();
                }
            }
            (Op::Unlock(place), Done::Write { word, content, .. }) => {
                if self.named(place, at).map_err(stopped)? != *word || content.first != 0 {
                    return wrong();
                }
            }
            (op, Done::Update { word, before, content, order, .. }) => {
                let Some(place) = op.place() else { return wrong() };
                if self.named(place, at).map_err(stopped)? != *word {
                    return wrong();
                }
                let update = Updated { before, after: content, order: *order };
                self.update(op, at, &update)?;
            }
            (Op::Cas { place, old, fail, .. }, Done::Read { word, content, order, .. }) => {
                let differs = !content.slots().eq(self.values(old, at)?);
                let is_right = differs && *order == Some(orders.failure);
                if self.named(place, at).map_err(stopped)? != *word || !is_right {
                    return wrong();
                }
                self.pc = *fail;
                return Ok(());
            }
            _ => return wrong(),
        }
        self.pc = next;
        Ok(())
    }

    fn update(&mut self, op: &Op, at: Pc, update: &Updated<'_>) -> Result<(), String> {
        let Updated { before, after, order } = *update;
        let orders = self.witness.subject.machine.steps.code[at.0 as usize].orders;
        let is_right = match op {
            Op::Cas { old, new, .. } => {
                before.slots().eq(self.values(old, at)?)
                    && after.slots().eq(self.values(new, at)?)
                    && order == orders.access
            }
            Op::Swap { dst, value, .. } => {
                let is_right = after.slots().eq(self.values(value, at)?) && order == orders.access;
                self.set(*dst, before.slots().collect::<Vec<_>>());
                is_right
            }
            Op::FetchAdd { dst, amount, kind, .. } => {
                let amount = self.values(std::slice::from_ref(amount), at)?[0];
                self.set(*dst, [before.first]);
                before.first.saturating_add(amount) == after.first
                    && check(after.first, *kind, at).is_ok()
                    && order == orders.access
            }
            Op::Lock(_) => before.first == 0 && after.first == 1 && order == Ordering::Acquire,
            _ => false,
        };
        if is_right { Ok(()) } else { Err("its code writes something else there".to_owned()) }
    }

    /// Whether the instruction at which the thread stands is this error on what it holds.
    pub fn is_error(&self, fault: Fault, events: &[Event]) -> bool {
        let at = self.pc;
        let own = |stop: &Stop| matches!(stop, Stop::Fault(found, _) if *found == fault);
        let op = self.op();
        let mut found = false;
        seriatim_lang::flow::expressions(op, &mut |ex| {
            found |= self.value(ex, at).as_ref().is_err_and(own);
        });
        let place = op.place().map(|place| self.named(place, at));
        found |= matches!(&place, Some(Err(stop)) if own(stop));
        let freed = |node: u32| {
            let lives = events.iter().rev().find_map(|e| match e.done {
                Done::New(name, _) if name == node => Some(true),
                Done::Free(name) if name == node => Some(false),
                _ => None,
            });
            lives == Some(false)
        };
        found
            || match (op, fault) {
                (Op::Assert(cond), Fault::Assertion) => self.value(cond, at) == Ok(0),
                (Op::Check { value, kind }, _) => {
                    let value = self.value(value, at);
                    value.is_ok_and(|value| check(value, *kind, at).as_ref().is_err_and(own))
                }
                (Op::Free(node), Fault::DoubleFree | Fault::NullDereference) => {
                    let node = self.value(node, at).unwrap_or(NULL);
                    node == NULL || freed(node as u32)
                }
                (_, Fault::UseAfterFree) => {
                    matches!(place, Some(Ok((Some(node), _))) if freed(node))
                }
                (Op::FetchAdd { amount, kind, .. }, _) => {
                    let amount = self.value(amount, at).unwrap_or(0);
                    let held = |e: &Event| match &e.done {
                        Done::Write { word, content, .. } | Done::Update { word, content, .. } => {
                            matches!(&place, Some(Ok(named)) if named == word)
                                .then_some(content.first)
                        }
                        _ => None,
                    };
                    let fails = |value: i32| {
                        let after = value.saturating_add(amount);
                        check(after, *kind, at).as_ref().is_err_and(own)
                    };
                    events.iter().filter_map(held).any(fails)
                }
                (Op::Unlock(_), Fault::UnlockFree) => {
                    let mine = events.iter().filter(|e| e.thread == self.thread);
                    let held = mine.rev().find_map(|e| match &e.done {
                        Done::Write { word, .. } if Some(Ok(*word)) == place => Some(false),
                        Done::Update { word, .. } if Some(Ok(*word)) == place => Some(true),
                        _ => None,
                    });
                    held != Some(true)
                }
                (_, Fault::Endless) => true,
                _ => false,
            }
    }
}
