//! Accesses to shared words: loads, stores, updates and fences.
//!
//! The memory model chooses what an access reads and where its write goes. A load or a failed `cas`
//! that is not `seqcst` moves to the right; `step` joins accesses by that.

use super::code::Target;
use super::event::{Done, Named};
use super::memory::{Change, Content, Found, Memory, Updated, Who};
use super::step::{Ran, Stepper};
use seriatim_lang::machine::{Fault, Stop, check};
use seriatim_lang::steps::{Op, Ordering, Orders, Pc, Reg};

/// The word of an access: as the run calls it, and where it lies in the state.
struct Accessed {
    word: Named,
    target: Target,
}

impl<M: Memory> Stepper<'_, M> {
    /// Makes a visible access; says whether it moves to the right.
    pub(super) fn access(&mut self, pc: Pc) -> Ran<bool> {
        let instr = &self.subject.machine.steps.code[pc.0 as usize];
        let Orders { access: order, failure } = instr.orders;
        let next = Pc(pc.0 + 1);
        self.state.clock += 1;
        let who = Who { thread: self.thread, order, event: self.state.clock };
        let Some(place) = instr.op.place() else {
            self.state.memory.fence(self.thread, order)?;
            self.note(pc, Done::Fence(order));
            self.go(next);
            return Ok(false);
        };
        let target = self.target(place, pc)?;
        self.alive(&target, pc)?;
        let accessed = Accessed { word: self.named(&target), target };
        let Accessed { target, .. } = &accessed;
        let result = match &instr.op {
            Op::Load { dst, .. } => {
                let found = match target.plain {
                    true => self.state.memory.read_plain(who, target.word).map_err(faulty(pc)),
                    false => self.state.memory.read(who, target.word, self.choices),
                };
                found.map(|found| {
                    self.loaded(pc, &accessed, who, found, *dst);
                    order != Ordering::SeqCst
                })
            }
            Op::Store { value, .. } => {
                let content = match value.as_slice() {
                    [one] => Content::of(&[self.value(one, pc)?]),
                    several => Content::of(&self.values(several, pc)?),
                };
                self.store(pc, who, &accessed, content).map(|()| false)
            }
            Op::Unlock(_) => {
                if self.state.memory.known(self.thread, target.word).first == 0 {
                    return self.fault(Fault::UnlockFree, pc);
                }
                let who = Who { order: Ordering::Release, ..who };
                self.store(pc, who, &accessed, Content::of(&[0])).map(|()| false)
            }
            _ => return self.update(pc, who, failure, &accessed),
        };
        match result {
            Err(Stop::Fault(fault, _)) => self.fault(fault, pc),
            result => {
                if result.is_ok() {
                    self.go(next);
                }
                result
            }
        }
    }

    fn loaded(&mut self, pc: Pc, accessed: &Accessed, who: Who, found: Found, dst: Reg) {
        let Accessed { word, target } = accessed;
        let order = (!target.plain).then_some(who.order);
        let Found { content, from, behind } = found;
        let slots = target.slots.clone();
        let values: Vec<i32> = content.slots().skip(slots.start).take(slots.len()).collect();
        let content = self.told(target, content);
        self.note(pc, Done::Read { word: *word, content, from, behind, order });
        self.set(dst, values);
    }

    fn store(&mut self, pc: Pc, who: Who, accessed: &Accessed, content: Content) -> Ran<()> {
        let Accessed { word, target } = accessed;
        let written = self.told(target, content.clone());
        let instr = &self.subject.machine.steps.code[pc.0 as usize];
        let (after, order) = match target.plain {
            _ if self.is_own(instr, target) => {
                let after = self.state.memory.write_private(who, target.word, content);
                (after, (!target.plain).then_some(who.order))
            }
            true => {
                let after = self.state.memory.write_plain(who, target.word, content);
                (after.map_err(faulty(pc))?, None)
            }
            false => {
                let after = self.state.memory.write(who, target.word, content, self.choices)?;
                (after, Some(who.order))
            }
        };
        self.note(pc, Done::Write { word: *word, content: written, after, order });
        Ok(())
    }

    /// `cas`, `swap`, `fetch_add`, `lock`.
    fn update(&mut self, pc: Pc, who: Who, failure: Ordering, accessed: &Accessed) -> Ran<bool> {
        let Accessed { word, target } = accessed;
        let op = &self.subject.machine.steps.code[pc.0 as usize].op;
        let (old, new) = match op {
            Op::Cas { old, new, .. } => (self.values(old, pc)?, self.values(new, pc)?),
            Op::Swap { value, .. } => (vec![], self.values(value, pc)?),
            Op::FetchAdd { amount, .. } => (vec![], vec![self.value(amount, pc)?]),
            _ => (vec![0], vec![1]),
        };
        let mut written = None;
        let mut change = |found: &Content| {
            let change = changed(op, &old, &new, found, pc);
            if let Change::To(content) = &change {
                written = Some(content.clone());
            }
            change
        };
        // A lock acquires, whatever it finds: programs without `seqcst` keep no order of it.
        let (who, failure) = match op {
            Op::Lock(_) => (Who { order: Ordering::Acquire, ..who }, Ordering::Acquire),
            _ => (who, failure),
        };
        let updated =
            self.state.memory.update(who, failure, target.word, &mut change, self.choices);
        let Updated { found, wrote } = match updated {
            Err(Stop::Fault(fault, _)) => return self.fault(fault, pc),
            updated => updated?,
        };
        let Found { content: before, from, behind } = found;
        let told = self.told(target, before.clone());
        let done = match written {
            Some(content) if wrote => {
                let (before, content) = (told, self.told(target, content));
                Done::Update { word: *word, before, from, content, order: who.order }
            }
            _ => {
                let content = told;
                Done::Read { word: *word, content, from, behind, order: Some(failure) }
            }
        };
        self.note(pc, done);
        match op {
            Op::Swap { dst, .. } | Op::FetchAdd { dst, .. } => {
                self.set(*dst, before.slots().collect::<Vec<_>>());
            }
            _ => {}
        }
        match op {
            Op::Cas { fail, .. } if !wrote => self.go(*fail),
            _ => self.go(Pc(pc.0 + 1)),
        }
        Ok(!wrote && failure != Ordering::SeqCst)
    }
}

fn faulty(pc: Pc) -> impl Fn(Fault) -> Stop {
    move |fault| Stop::Fault(fault, pc)
}

/// What an update makes of a value.
fn changed(op: &Op, old: &[i32], new: &[i32], found: &Content, pc: Pc) -> Change {
    let is_equal = found.slots().eq(old.iter().copied());
    match op {
        Op::Cas { .. } if !is_equal => Change::Fails,
        Op::Lock(_) if !is_equal => Change::Waits,
        Op::FetchAdd { kind, .. } => {
            let after = found.first.saturating_add(new[0]);
            match check(after, *kind, pc) {
                Ok(()) => Change::To(Content::of(&[after])),
                Err(stop) => Change::Stops(stop),
            }
        }
        _ => Change::To(Content::of(new)),
    }
}
