//! What a step does, access by access, in the words of the source: temporaries and positions of the
//! machine do not show.

use crate::Words;
use crate::places::{Held, Shape, whole};
use seriatim_lang::machine::{Accessed, Executed};
use seriatim_lang::show::variable;
use seriatim_lang::steps::{Ex, Op, Reg, Slot};
use seriatim_spec::run::{Access, Action};

impl<'m> Words<'m> {
    /// The accesses of a step, each with the place of its instruction among those executed.
    pub fn accesses(&self, executed: &[Executed]) -> Vec<(usize, Access)> {
        let accesses = executed.iter().enumerate().filter_map(|(at, done)| {
            let instr = &self.machine.steps.code[done.pc.0 as usize];
            let after = executed.get(at + 1);
            let action = self.action(done, after)?;
            let source = instr.span.text(self.source).lines().next().unwrap_or("").trim();
            let line = Some(instr.span.line(self.source));
            Some((at, Access { line, source: source.to_owned(), action, memory: None }))
        });
        accesses.collect()
    }

    /// The line of the `return` with which a step ends.
    pub fn returning_line(&self, executed: &[Executed]) -> Option<usize> {
        let instr = &self.machine.steps.code[executed.last()?.pc.0 as usize];
        let line = instr.span.line(self.source);
        // The end of a body returns, too, but stands nowhere.
        let is_written = self.source.lines().nth(line - 1).is_some_and(|l| l.contains("return"));
        (matches!(instr.op, Op::Return(_)) && is_written).then_some(line)
    }

    /// What an instruction of a method did; `None` if it is no matter of others, or belongs to the
    /// client.
    fn action(&self, done: &Executed, after: Option<&Executed>) -> Option<Action> {
        let steps = &self.machine.steps;
        steps.method_at(done.pc)?;
        let op = &steps.code[done.pc.0 as usize].op;
        let Some(next) = done.next else {
            let why = match op {
                Op::Lock(_) | Op::Assume(_) => "waits",
                Op::Assert(_) => "does not hold",
                _ => "fails",
            };
            return Some(Action::Stop { why: why.to_owned() });
        };
        let made = || done.made.map(|node| Action::Allocate { node: format!("#{node}") });
        let Some(access) = &done.access else {
            return match op {
                Op::New { .. } => made(),
                Op::Free(_) | Op::Assume(_) => Some(Action::Local),
                _ => None,
            };
        };
        let (place, shape, slots) = self.place(access);
        let value = |words: &[i32]| self.value(&shape, Held { slots, words });
        let (before, now) = (value(&access.before), value(&access.after));
        Some(match op {
            Op::Load { dst, .. } => {
                let own = steps.method_at(done.pc).and_then(|method| variable(steps, method, *dst));
                let into = own.map(str::to_owned).or_else(|| self.kept(*dst, after));
                // A tuple goes to all parts of a variable, and `dst` is the first of them.
                let into = into.map(|name| match slots.len() {
                    1 => name,
                    _ => whole(&name).to_owned(),
                });
                Action::Read { place, into, value: before }
            }
            Op::Cas { fail, .. } | Op::StoreConditional { fail, .. } => {
                let failed = next == *fail;
                Action::CompareAndSwap { place, found: before, after: (!failed).then_some(now) }
            }
            Op::Lock(_) => Action::Lock { place },
            Op::Unlock(_) => Action::Unlock { place },
            _ => Action::Write { place, before, after: now },
        })
    }

    /// The variable of the source that gets what a temporary holds, if the next instruction moves
    /// it there.
    fn kept(&self, temporary: Reg, after: Option<&Executed>) -> Option<String> {
        let steps = &self.machine.steps;
        let pc = after?.pc;
        match &steps.code[pc.0 as usize].op {
            Op::Set { dst, value } if value.first() == Some(&Ex::Reg(temporary)) => {
                variable(steps, steps.method_at(pc)?, *dst).map(str::to_owned)
            }
            _ => None,
        }
    }

    /// A place as the source would name it, `top`, `#1.next`, `items[0]`, and what its slots are.
    fn place(&self, access: &Accessed) -> (String, Shape, &'m [Slot]) {
        let steps = &self.machine.steps;
        let (all, places) = match access.node {
            None => (&steps.shared, Some(&self.places.shared)),
            Some(_) => {
                let of = access.of as usize;
                (&steps.structs[of].slots, self.places.structs.get(of))
            }
        };
        let slots = &all[access.slot..access.slot + access.before.len()];
        let place = places.into_iter().flatten().rfind(|place| place.first <= access.slot);
        let (name, shape) = match place.map(|place| place.part(access.slot, slots.len())) {
            Some((name, shape)) if shape.width() == slots.len() => (name, shape.clone()),
            _ => {
                let name = slots.first().map_or("", |slot| &slot.name);
                (name.to_owned(), Shape::Tuple(vec![Shape::Scalar; slots.len()]))
            }
        };
        let name = match access.node {
            None => name,
            Some(node) => format!("#{node}.{name}"),
        };
        (name, shape, slots)
    }
}
