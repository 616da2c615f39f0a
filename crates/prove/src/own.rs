//! The abstract meaning of a thread's own step: the instructions of `seriatim-lang`, executed on a
//! view.
//!
//! Decided: all views after one step. Every nondeterminism (the order of two keys of one class, the
//! first node of a segment, the colour of a node, a choice of the program) is a pick, and the
//! caller enumerates the picks. What the semantics does not cover is an [`Obstacle`], never a
//! skipped case; that is what keeps it sound. The view before the step is narrowed along with the
//! view after it, so that both number the same nodes alike and can be compared.
//!
//! Law (tested against the concrete machine): if a view describes a state, the views after a step
//! describe the state after it.

use crate::equality::Equality;
use crate::model::{Field, Model, Tracking};
use crate::outcome::Obstacle;
use crate::record::{Foreign, Shape};
use crate::segment::{Which, cuts};
use crate::value::{ANY_COLOUR, Attr, Class, Holder, ME, NULL_VALUE, Val, Values, only};
use crate::view::{MOST, Node, Segment, View};
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::Fault;
use seriatim_lang::steps::*;
use seriatim_lang::types::{Kind, Scalar, StructId};

/// How many instructions a step may take.
const FUEL: u32 = 2_000;

/// How a step ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// The thread rests here.
    Rest(Pc),
    /// The operation returned this.
    Return(Vec<Val>),
}

/// Why an execution has no end.
pub enum Halt {
    /// The thread waits: there is no such step.
    Waits,
    /// The proof is stuck.
    Stuck(Obstacle),
}

impl From<Obstacle> for Halt {
    fn from(obstacle: Obstacle) -> Halt {
        Halt::Stuck(obstacle)
    }
}

impl From<Fault> for Halt {
    fn from(fault: Fault) -> Halt {
        Halt::Stuck(Obstacle::Fault(fault))
    }
}

/// The result of abstract execution.
pub type Ran<T> = Result<T, Halt>;

/// An execution in progress.
pub struct Run<'a> {
    /// The program.
    pub model: &'a Model,
    /// The view before the step, narrowed to the case at hand.
    pub before: View,
    /// The view now.
    pub after: View,
    /// The picks.
    pub choices: &'a mut Choices,
    /// The records that threads publish.
    pub shapes: &'a [Shape],
    /// Which values that are not tracked are equal.
    pub equality: Equality,
    /// What the step wrote to another thread's element of an array.
    pub foreign: Option<Foreign>,
    /// Where the content is a number: the first name that no unknown number has had in this step.
    pub bases: u8,
    /// The last instruction executed.
    pub pc: Pc,
}

/// A place, found.
#[derive(Clone, Copy)]
pub(crate) enum Spot {
    /// A shared variable.
    Shared(usize),
    /// A slot of a node.
    Heap(usize, usize),
    /// A field of a record.
    Field(usize, usize, StructId),
    /// The thread's own element of an array.
    Mine(usize),
    /// An element of an array, at this shared slot or another one of the array; of this thread, if
    /// it is one of an array with one element for each.
    Hidden(usize, Option<(u8, u8)>),
}

pub(crate) fn strange<T>(what: &'static str) -> Ran<T> {
    Err(Halt::Stuck(Obstacle::NotUnderstood(what)))
}

impl Run<'_> {
    /// Executes from `pc` until the next shared access after `accesses` of them, or until the
    /// method returns.
    pub fn execute(&mut self, mut pc: Pc, mut accesses: u32) -> Ran<End> {
        let model = self.model;
        for _ in 0..FUEL {
            let instr = &model.steps.code[pc.0 as usize];
            if instr.is_step() {
                if accesses == 0 {
                    return Ok(End::Rest(pc));
                }
                accesses -= 1;
            }
            self.pc = pc;
            if let Op::Return(values) = &instr.op {
                return Ok(End::Return(self.evaluate_all(values)?));
            }
            pc = self.instruction(pc, &instr.op)?;
        }
        Err(Fault::Endless.into())
    }

    fn instruction(&mut self, pc: Pc, op: &Op) -> Ran<Pc> {
        let next = Pc(pc.0 + 1);
        match op {
            Op::Set { dst, value } => {
                let values = self.evaluate_all(value)?;
                self.set_registers(*dst, &values);
            }
            Op::Load { dst, place } => {
                let values = self.read(place)?;
                self.set_registers(*dst, &values);
            }
            Op::Store { place, value } => {
                let values = self.evaluate_all(value)?;
                self.write(place, &values)?;
            }
            Op::Cas { place, old, new, fail } if !place.dims.is_empty() => {
                if !self.exchange(place, old, new)? {
                    return Ok(*fail);
                }
            }
            Op::Cas { place, old, new, fail } => {
                let found = self.read(place)?;
                for (found, old) in found.into_iter().zip(old) {
                    let old = self.evaluate(old)?;
                    if !self.equal(found, old)? {
                        return Ok(*fail);
                    }
                }
                let values = self.evaluate_all(new)?;
                self.write(place, &values)?;
            }
            Op::Swap { dst, place, value } => {
                let found = self.read(place)?;
                let values = self.evaluate_all(value)?;
                self.write(place, &values)?;
                self.set_registers(*dst, &found);
            }
            Op::FetchAdd { dst, place, amount, kind } => {
                let found = self.read(place)?;
                let sum = match (found.first(), self.evaluate(amount)?) {
                    (Some(Val::Int(a)), Val::Int(b)) => Val::Int(a.saturating_add(b)),
                    (Some(a), b) => self.calculate(BinOp::Add, *a, b)?,
                    _ => return strange("addition to something that is no number"),
                };
                self.check(sum, *kind)?;
                self.write(place, &[sum])?;
                self.set_registers(*dst, &found);
            }
            Op::Lock(place) => self.lock(place)?,
            Op::Unlock(place) => self.unlock(place)?,
            Op::New { dst, of, fields } => {
                let values = self.evaluate_all(fields)?;
                let fresh = match self.model.list == Some(*of) {
                    true => self.allocate(&values)?,
                    false => self.allocate_record(&values)?,
                };
                self.set_registers(*dst, &[fresh]);
            }
            Op::Branch { cond, otherwise } => {
                if !self.truth(cond)? {
                    return Ok(*otherwise);
                }
            }
            Op::Jump(to) => return Ok(*to),
            Op::Choose(targets) => {
                return Ok(targets[self.choices.pick(targets.len() as u32) as usize]);
            }
            Op::Any { dst, kind } => {
                let value = self.any(*kind)?;
                self.set_registers(*dst, &[value]);
            }
            Op::Assume(cond) => {
                if !self.truth(cond)? {
                    return Err(Halt::Waits);
                }
            }
            Op::Assert(cond) => {
                if !self.truth(cond)? {
                    return Err(Fault::Assertion.into());
                }
            }
            Op::Check { value, kind } => {
                let value = self.evaluate(value)?;
                self.check(value, *kind)?;
            }
            Op::Atomic | Op::Fence | Op::Lin { .. } => {}
            Op::SetAt { .. } => return strange("arrays"),
            Op::StoreConditional { .. } => return strange("store-conditional"),
            Op::Free(_) => return strange("free"),
            Op::Return(_) | Op::Invoke { .. } | Op::End => return strange("client code"),
        }
        Ok(next)
    }

    fn registers(&mut self) -> Ran<&mut Vec<Val>> {
        match &mut self.after.busy {
            Some(busy) => Ok(&mut busy.regs),
            None => strange("a step outside of an operation"),
        }
    }

    fn set_registers(&mut self, first: Reg, values: &[Val]) {
        if let Ok(regs) = self.registers() {
            let first = first.0 as usize;
            regs[first..first + values.len()].copy_from_slice(values);
        }
    }

    fn evaluate_all(&mut self, values: &[Ex]) -> Ran<Vec<Val>> {
        values.iter().map(|v| self.evaluate(v)).collect()
    }

    fn truth(&mut self, ex: &Ex) -> Ran<bool> {
        match self.evaluate(ex)? {
            Val::Int(n) => Ok(n != 0),
            _ => strange("a condition that is no boolean"),
        }
    }

    pub(crate) fn evaluate(&mut self, ex: &Ex) -> Ran<Val> {
        Ok(match ex {
            Ex::Const(n) => constant(*n),
            Ex::Reg(reg) => match self.registers()?[reg.0 as usize] {
                Val::Dead => return strange("a register that should be dead"),
                value => value,
            },
            Ex::Not(a) => Val::Int(i32::from(!self.truth(a)?)),
            Ex::Neg(a) => match self.evaluate(a)? {
                Val::Int(n) => Val::Int(n.saturating_neg()),
                _ => return strange("negation of something that is no number"),
            },
            Ex::Bin(BinOp::And, a, b) => Val::Int(i32::from(self.truth(a)? && self.truth(b)?)),
            Ex::Bin(BinOp::Or, a, b) => Val::Int(i32::from(self.truth(a)? || self.truth(b)?)),
            Ex::Bin(BinOp::Eq, a, b) => {
                let (a, b) = (self.evaluate(a)?, self.evaluate(b)?);
                Val::Int(i32::from(self.equal(a, b)?))
            }
            Ex::Bin(BinOp::Lt, a, b) => {
                let (a, b) = (self.evaluate(a)?, self.evaluate(b)?);
                Val::Int(i32::from(self.less(a, b)?))
            }
            Ex::Bin(op, a, b) => match (self.evaluate(a)?, self.evaluate(b)?) {
                (Val::Int(a), Val::Int(b)) => Val::Int(arithmetic(*op, a, b)?),
                (a, b) => self.calculate(*op, a, b)?,
            },
            Ex::If(c, a, b) => match self.truth(c)? {
                true => self.evaluate(a)?,
                false => self.evaluate(b)?,
            },
            Ex::At { .. } => return strange("arrays"),
            Ex::SelfTid => ME,
        })
    }

    pub(crate) fn equal(&mut self, a: Val, b: Val) -> Ran<bool> {
        match (a, b) {
            (Val::Null, Val::Null) => Ok(true),
            (Val::Dead | Val::Hidden | Val::Lock(_), _) => strange("a comparison of this sort"),
            (_, Val::Dead | Val::Hidden | Val::Lock(_)) => strange("a comparison of this sort"),
            (Val::Null, _) | (_, Val::Null) => Ok(false),
            (Val::Record(a), Val::Record(b)) | (Val::Tid(a), Val::Tid(b)) => Ok(a == b),
            (Val::Node(a), Val::Node(b)) => Ok(a == b),
            (Val::Int(_) | Val::Num(..), Val::Int(_) | Val::Num(..)) => self.same_number(a, b),
            (Val::Key(a), Val::Key(b)) if a == b && a.is_many() => Ok(self.choices.pick(2) == 1),
            (Val::Key(a), Val::Key(b)) => Ok(a == b),
            (Val::Colour(a), Val::Colour(b)) if self.model.tracking == Tracking::Value => {
                Ok(self.equality.compare(a, b, self.choices))
            }
            (Val::Colour(_), Val::Colour(_)) => strange("values are compared"),
            _ => strange("a comparison of different things"),
        }
    }

    fn less(&mut self, a: Val, b: Val) -> Ran<bool> {
        match (a, b) {
            (Val::Int(_) | Val::Num(..), Val::Int(_) | Val::Num(..)) => {
                Ok(self.smaller_number(a, b))
            }
            (Val::Key(a), Val::Key(b)) if a == b && a.is_many() => Ok(self.choices.pick(2) == 1),
            (Val::Key(a), Val::Key(b)) => Ok(a < b),
            _ => strange("an order of different things"),
        }
    }

    pub(crate) fn any(&mut self, kind: Kind) -> Ran<Val> {
        let options: Vec<Val> = match kind.scalar {
            scalar if self.is_unbounded(scalar) => vec![self.unknown_number()?],
            Scalar::Bool => vec![Val::Int(0), Val::Int(1)],
            Scalar::Enum(count) => (0..count as i32).map(Val::Int).collect(),
            Scalar::Int(range) if range.count() <= 16 => {
                (range.low..=range.high).map(Val::Int).collect()
            }
            _ => return strange("an arbitrary value of this type"),
        };
        let count = options.len() as u32 + u32::from(kind.nullable);
        let pick = self.choices.pick(count) as usize;
        Ok(options.get(pick).copied().unwrap_or(Val::Null))
    }

    fn allocate(&mut self, values: &[Val]) -> Ran<Val> {
        let number = self.after.nodes.len();
        if number >= MOST {
            return strange("a view with very many nodes");
        }
        let node = Node {
            attr: Attr::of(Class::Below),
            values: 0,
            to: Val::Null,
            segment: Segment::EMPTY,
            private: true,
        };
        self.before.nodes.push(node);
        self.after.nodes.push(node);
        for (slot, value) in values.iter().enumerate() {
            self.write_slot(number, self.model.fields[slot], *value)?;
        }
        Ok(Val::Node(number as u8))
    }

    pub(crate) fn resolve(&mut self, place: &Place) -> Ran<Spot> {
        match (&place.root, place.dims.as_slice()) {
            (Root::Shared, []) => Ok(Spot::Shared(place.offset as usize)),
            (Root::Shared, [dim]) => self.element(place.offset as usize, &dim.index),
            (_, [_, ..]) => strange("arrays of this sort"),
            (Root::Node(node, of), []) => match self.evaluate(node)? {
                Val::Node(n) => Ok(Spot::Heap(n as usize, place.offset as usize)),
                Val::Record(n) => Ok(Spot::Field(n as usize, place.offset as usize, *of)),
                Val::Null => Err(Fault::NullDereference.into()),
                _ => strange("a field of something that is no node"),
            },
        }
    }

    fn read(&mut self, place: &Place) -> Ran<Vec<Val>> {
        let spot = self.resolve(place)?;
        (0..place.width as usize)
            .map(|i| match spot {
                Spot::Shared(at) => match self.after.globals[at + i] {
                    Val::Lock(_) => strange("a lock that is read"),
                    value => Ok(value.plain()),
                },
                Spot::Heap(node, slot) => self.read_slot(node, self.model.fields[slot + i]),
                Spot::Field(record, slot, of) => self.field(record, slot + i, of),
                Spot::Mine(slot) => Ok(self.after.slots[slot]),
                Spot::Hidden(at, _) => self.unknown_element(at),
            })
            .collect()
    }

    fn read_slot(&mut self, node: usize, field: Field) -> Ran<Val> {
        match field {
            Field::Link => self.follow(node),
            Field::Key => Ok(Val::Key(self.after.nodes[node].attr.class())),
            Field::Mark => Ok(Val::Int(i32::from(self.after.nodes[node].attr.marked()))),
            Field::Value => self.value(node),
            Field::Lock => strange("a lock that is read"),
        }
    }

    /// The next node behind `node`: the next explicit one, or the first one of the segment, made
    /// explicit.
    fn follow(&mut self, node: usize) -> Ran<Val> {
        let segment = self.after.nodes[node].segment;
        if segment.is_empty() {
            return Ok(self.after.nodes[node].to);
        }
        if self.after.nodes.len() >= MOST {
            return strange("a view with very many nodes");
        }
        let cuts = cuts(segment, u64::MAX, Which::First, self.model.tracking.emptiness());
        let count = cuts.len() as u32 + u32::from(segment.optional);
        match cuts.get(self.choices.pick(count) as usize) {
            None => {
                self.before.close(node);
                self.after.close(node);
            }
            Some(cut) => {
                self.before.cut(node, cut);
                self.after.cut(node, cut);
            }
        }
        Ok(self.after.nodes[node].to)
    }

    /// The value of a node, narrowed to one.
    pub fn value(&mut self, node: usize) -> Ran<Val> {
        let values = self.after.nodes[node].values;
        let one = self.pick_value(values)?;
        let before = &mut self.before.nodes[node].values;
        // What the step wrote says nothing of what was there before.
        if *before == values {
            *before = one;
        }
        self.after.nodes[node].values = one;
        Ok(if one == NULL_VALUE { Val::Null } else { Val::Colour(one.trailing_zeros() as u8) })
    }

    /// Narrows the value that a node had before the step to one.
    pub fn know_value_before(&mut self, node: usize) -> Ran<()> {
        let values = self.before.nodes[node].values;
        if values == self.after.nodes[node].values {
            return self.value(node).map(|_| ());
        }
        self.before.nodes[node].values = self.pick_value(values)?;
        Ok(())
    }

    fn pick_value(&mut self, values: Values) -> Ran<Values> {
        let options: Vec<Values> = (0..3).map(|b| 1 << b).filter(|b| values & b != 0).collect();
        match options.as_slice() {
            [] => strange("a node without a value"),
            [one] => Ok(*one),
            _ => Ok(options[self.choices.pick(options.len() as u32) as usize]),
        }
    }

    fn write(&mut self, place: &Place, values: &[Val]) -> Ran<()> {
        match self.resolve(place)? {
            Spot::Shared(at) => {
                for (i, value) in values.iter().enumerate() {
                    if matches!(self.after.globals[at + i], Val::Lock(_)) {
                        return strange("a lock that is written");
                    }
                    if self.after.globals[at + i] == Val::Hidden {
                        return strange("an array that is written as a whole");
                    }
                    self.after.globals[at + i] = self.with_changer(at + i, *value);
                }
            }
            Spot::Heap(node, slot) => {
                for (i, value) in values.iter().enumerate() {
                    self.write_slot(node, self.model.fields[slot + i], *value)?;
                }
            }
            Spot::Field(record, slot, _) => {
                if !self.after.records[record].private {
                    return strange("the data of a public record changes");
                }
                for (i, value) in values.iter().enumerate() {
                    self.after.records[record].fields[slot + i] = *value;
                }
            }
            Spot::Mine(slot) => self.after.slots[slot] = self.storable(values[0])?,
            Spot::Hidden(_, None) => {
                self.storable(values[0])?;
            }
            Spot::Hidden(_, Some(_)) => return strange("another thread's element is overwritten"),
        }
        Ok(())
    }

    /// What a shared variable holds after a write, and whether the observed operation changed it
    /// last. A step that leaves what was there before it, whatever it wrote meanwhile, changes
    /// nothing: others see no change. Of 0 nobody asks who wrote it.
    fn with_changer(&self, global: usize, value: Val) -> Val {
        match value {
            Val::Int(number) if self.model.has_changer(global) => {
                let before = self.before.globals[global];
                match before.plain() == value {
                    true => before,
                    false if number == 0 => value,
                    false => Val::Own(number),
                }
            }
            value => value,
        }
    }

    fn write_slot(&mut self, n: usize, field: Field, value: Val) -> Ran<()> {
        let private = self.after.nodes[n].private;
        // The value of an entry of a map may change; that of an item of a sequence may not.
        let may_change = private || self.model.tracking == Tracking::Key;
        if field == Field::Link && !private {
            self.follow(n)?;
        }
        let node = &mut self.after.nodes[n];
        match (field, value) {
            (Field::Link, Val::Null | Val::Node(_)) => {
                node.to = value;
                node.segment = Segment::EMPTY;
            }
            // A mark that was there before the step is not mine, even if the step took it away for
            // a moment: others see no change and keep what they know about who set it.
            (Field::Mark, Val::Int(1)) if !private && !self.before.nodes[n].attr.marked() => {
                node.attr = node.attr.with_my_mark();
            }
            (Field::Mark, Val::Int(mark)) => {
                if node.attr.marked() != (mark != 0) {
                    node.attr = node.attr.with_mark(mark != 0);
                }
            }
            (Field::Key, Val::Key(class)) if private => node.attr = node.attr.with_class(class),
            (Field::Value, _) if may_change => match only(value) {
                Some(values) => node.values = values,
                None => return strange("a value of an unknown sort"),
            },
            (Field::Lock, Val::Int(0)) if private => {}
            (Field::Key | Field::Value, _) => return strange("the data of a public node changes"),
            _ => return strange("a write of this sort"),
        }
        Ok(())
    }

    fn check(&self, value: Val, kind: Kind) -> Ran<()> {
        match (value, kind.scalar) {
            (Val::Null, _) if kind.nullable => Ok(()),
            (Val::Null, _) => Err(Fault::UnexpectedNull.into()),
            (Val::Int(_) | Val::Num(..), scalar) if self.is_unbounded(scalar) => Ok(()),
            (Val::Int(n), Scalar::Int(range)) if !range.contains(n) => {
                Err(Fault::OutOfRange.into())
            }
            (Val::Int(_), Scalar::Int(..) | Scalar::Bool | Scalar::Enum(_)) => Ok(()),
            (Val::Key(_), Scalar::Key) | (Val::Colour(_), Scalar::Value) => Ok(()),
            (Val::Node(_) | Val::Record(_), Scalar::Ref(_)) | (Val::Tid(_), Scalar::Tid) => Ok(()),
            _ => strange("a value of the wrong sort"),
        }
    }

    fn lock(&mut self, place: &Place) -> Ran<()> {
        match self.resolve(place)? {
            Spot::Shared(at) => match self.after.globals[at] {
                Val::Lock(Holder::Free) => self.after.globals[at] = Val::Lock(Holder::Mine),
                Val::Lock(_) => return Err(Halt::Waits),
                _ => return strange("a lock of an unknown sort"),
            },
            Spot::Field(..) | Spot::Mine(_) | Spot::Hidden(..) => return strange("a lock here"),
            Spot::Heap(node, _) => {
                let attr = self.after.nodes[node].attr;
                if attr.locked_by_me() {
                    return Err(Halt::Waits);
                }
                self.after.nodes[node].attr = attr.with_my_lock(true);
            }
        }
        Ok(())
    }

    fn unlock(&mut self, place: &Place) -> Ran<()> {
        match self.resolve(place)? {
            Spot::Shared(at) => match self.after.globals[at] {
                Val::Lock(Holder::Mine) => self.after.globals[at] = Val::Lock(Holder::Free),
                _ => return Err(Obstacle::ForeignUnlock.into()),
            },
            Spot::Field(..) | Spot::Mine(_) | Spot::Hidden(..) => return strange("a lock here"),
            Spot::Heap(node, _) => {
                let attr = self.after.nodes[node].attr;
                if !attr.locked_by_me() {
                    return Err(Obstacle::ForeignUnlock.into());
                }
                self.after.nodes[node].attr = attr.with_my_lock(false);
            }
        }
        Ok(())
    }
}

fn constant(n: i32) -> Val {
    match n {
        NULL => Val::Null,
        MINUS_INF => Val::Key(Class::MinusInf),
        PLUS_INF => Val::Key(Class::PlusInf),
        n => Val::Int(n),
    }
}

fn arithmetic(op: BinOp, a: i32, b: i32) -> Result<i32, Fault> {
    match op {
        BinOp::Add => a.checked_add(b).ok_or(Fault::OutOfRange),
        BinOp::Sub => a.checked_sub(b).ok_or(Fault::OutOfRange),
        BinOp::Mul => a.checked_mul(b).ok_or(Fault::OutOfRange),
        BinOp::Div => a.checked_div_euclid(b).ok_or(Fault::DivisionByZero),
        BinOp::Rem => a.checked_rem_euclid(b).ok_or(Fault::DivisionByZero),
        BinOp::Eq | BinOp::Lt | BinOp::And | BinOp::Or => Err(Fault::Assertion),
    }
}

/// The values that a node published by another thread may hold, colours forgotten.
pub fn colour_blind(values: Values) -> Values {
    let coloured = if values & ANY_COLOUR != 0 { ANY_COLOUR } else { 0 };
    coloured | values & NULL_VALUE
}
