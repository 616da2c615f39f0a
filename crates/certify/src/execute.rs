//! What a step of the observed thread does to its state: the instructions of the language on heap
//! graphs.
//!
//! Nondeterminism (which node comes first in a segment, which of its possible values a node holds,
//! how two keys of one class compare, choices of the program) is asked of [`Choices`], so that a
//! run is straight-line code and all runs together are all cases. What the checker does not
//! understand is an error, never a guess.
//!
//! It would be unsound to let a comparison give one answer only where two are possible, to execute
//! more than one shared access outside of an atomic block, or to let data of a public node change.

use crate::heap_graph::{Face, Node, To};
use crate::names::Names;
use crate::number::{is_number, is_unbounded};
use crate::object::{Field, Object, Spec};
use crate::record::{Foreign, Shape, Spot};
use crate::scalar::{Class, Holder, Mark, NodeId, Scalar, Values};
use crate::state::State;
use seriatim_lang::choices::Choices;
use seriatim_lang::steps::{BinOp, Ex, MINUS_INF, NULL, Op, PLUS_INF, Pc, Place};
use seriatim_lang::types::{Kind, Scalar as ScalarType};

/// How many local instructions a step may execute in a row.
const FUEL: u32 = 2_000;

/// How one run of a step ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The thread rests before its next shared access.
    Rests,
    /// The operation returned this.
    Returned(Vec<Scalar>),
    /// A loop inside of the step goes round: from here on, run again.
    Loops,
    /// There is no such step: the thread waits.
    Waits,
}

/// Why a step is not accepted.
pub type Objection = String;

type Run<T> = Result<T, Objection>;

/// Executes one step.
pub struct Execution<'a> {
    /// The program.
    pub object: &'a Object,
    /// The state, changed in place.
    pub state: State,
    /// The choices of this run.
    pub choices: &'a mut Choices,
    /// The registers.
    pub registers: Vec<Scalar>,
    /// The records that threads publish.
    pub shapes: &'a [Shape],
    /// What it did to another thread's element of an array.
    pub foreign: Option<Foreign>,
    /// Which values that are not tracked are equal.
    pub names: Names,
}

/// Whether the run begins at a shared access, which belongs to the step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// It does.
    AtAccess,
    /// It does not: after a call, or inside of a step.
    Within,
}

impl Execution<'_> {
    /// Runs from `pc` to the end of the step, and says where and how it ended.
    pub fn run(&mut self, mut pc: Pc, start: Start) -> Run<(Pc, Ended)> {
        let mut at_access = start == Start::AtAccess;
        for _ in 0..FUEL {
            let instr = &self.object.steps.code[pc.0 as usize];
            if instr.is_step() && !std::mem::take(&mut at_access) {
                return Ok((pc, Ended::Rests));
            }
            if let Op::Return(values) = &instr.op {
                let values = values.iter().map(|v| self.evaluate(v)).collect::<Run<_>>()?;
                return Ok((pc, Ended::Returned(values)));
            }
            let Some(next) = self.execute(pc)? else { return Ok((pc, Ended::Waits)) };
            if next <= pc && self.object.steps.code[next.0 as usize].inside_atomic {
                return Ok((next, Ended::Loops));
            }
            pc = next;
        }
        Err("local code that may never end".to_owned())
    }

    /// Executes an instruction; none if the thread has to wait.
    fn execute(&mut self, pc: Pc) -> Run<Option<Pc>> {
        let next = Some(Pc(pc.0 + 1));
        let object = self.object;
        match &object.steps.code[pc.0 as usize].op {
            Op::Set { dst, value } => {
                let scalars = value.iter().map(|v| self.evaluate(v)).collect::<Run<Vec<_>>>()?;
                self.set(dst.0, &scalars);
            }
            Op::Load { dst, place } => {
                let scalars = self.read_all(place)?;
                self.set(dst.0, &scalars);
            }
            Op::Store { place, value } => {
                let scalars = value.iter().map(|v| self.evaluate(v)).collect::<Run<Vec<_>>>()?;
                self.write_all(place, &scalars)?;
            }
            Op::Cas { place, old, new, fail } if !place.dims.is_empty() => {
                return Ok(if self.exchange(place, old, new)? { next } else { Some(*fail) });
            }
            Op::Cas { place, old, new, fail } => {
                for (held, old) in self.read_all(place)?.into_iter().zip(old) {
                    let old = self.evaluate(old)?;
                    if !self.equal(held, old)? {
                        return Ok(Some(*fail));
                    }
                }
                let scalars = new.iter().map(|v| self.evaluate(v)).collect::<Run<Vec<_>>>()?;
                self.write_all(place, &scalars)?;
            }
            Op::Swap { dst, place, value } => {
                let held = self.read_all(place)?;
                let scalars = value.iter().map(|v| self.evaluate(v)).collect::<Run<Vec<_>>>()?;
                self.write_all(place, &scalars)?;
                self.set(dst.0, &held);
            }
            Op::FetchAdd { dst, place, amount, kind } => {
                let held = self.read_all(place)?;
                let sum = match (held.first(), self.evaluate(amount)?) {
                    (Some(Scalar::Int(a)), Scalar::Int(b)) => {
                        Scalar::Int(a.checked_add(b).ok_or("a sum that is too large")?)
                    }
                    (Some(a), b) => self.calculate(BinOp::Add, *a, b)?,
                    _ => return Err("a sum of something else than numbers".to_owned()),
                };
                self.fits(sum, *kind)?;
                self.write_all(place, &[sum])?;
                self.set(dst.0, &held);
            }
            Op::Lock(place) => return Ok(if self.take_lock(place)? { next } else { None }),
            Op::Unlock(place) => self.release_lock(place)?,
            Op::New { dst, of, fields } => {
                let scalars = fields.iter().map(|v| self.evaluate(v)).collect::<Run<Vec<_>>>()?;
                let scalar = match object.list == Some(*of) {
                    true => Scalar::Node(self.allocate(&scalars)?),
                    false => Scalar::Record(self.allocate_record(scalars)?),
                };
                self.set(dst.0, &[scalar]);
            }
            Op::Branch { cond, otherwise } => {
                return Ok(if self.holds(cond)? { next } else { Some(*otherwise) });
            }
            Op::Jump(to) => return Ok(Some(*to)),
            Op::Choose(ways) => {
                return Ok(Some(ways[self.choices.pick(ways.len() as u32) as usize]));
            }
            Op::Any { dst, kind } => {
                let scalar = self.any(*kind)?;
                self.set(dst.0, &[scalar]);
            }
            Op::Assume(condition) => {
                return Ok(if self.holds(condition)? { next } else { None });
            }
            Op::Assert(condition) => {
                if !self.holds(condition)? {
                    return Err("an assertion may fail".to_owned());
                }
            }
            Op::Check { value, kind } => {
                let scalar = self.evaluate(value)?;
                self.fits(scalar, *kind)?;
            }
            Op::Atomic | Op::Fence | Op::Lin { .. } => {}
            other => {
                return Err(format!("an instruction that the checker does not know: {other:?}"));
            }
        }
        Ok(next)
    }

    fn set(&mut self, first: u32, scalars: &[Scalar]) {
        let first = first as usize;
        self.registers[first..first + scalars.len()].copy_from_slice(scalars);
    }

    /// Any scalar of a kind that has few.
    pub fn any(&mut self, kind: Kind) -> Run<Scalar> {
        if self.is_unbounded(kind) {
            return Ok(self.state.new_number(&self.registers));
        }
        let (low, count) = match kind.scalar {
            ScalarType::Bool => (0, 2),
            ScalarType::Int(range) if range.count() <= 256 => (range.low, range.count()),
            ScalarType::Enum(count) => (0, count),
            _ => return Err("`any` of data".to_owned()),
        };
        let pick = self.choices.pick(count + u32::from(kind.nullable));
        Ok(if pick == count { Scalar::Null } else { Scalar::Int(low + pick as i32) })
    }

    fn holds(&mut self, condition: &Ex) -> Run<bool> {
        truth(self.evaluate(condition)?)
    }

    /// The value of an expression.
    pub fn evaluate(&mut self, ex: &Ex) -> Run<Scalar> {
        Ok(match ex {
            Ex::Const(NULL) => Scalar::Null,
            Ex::Const(MINUS_INF) => Scalar::Key(Class::MinusInf),
            Ex::Const(PLUS_INF) => Scalar::Key(Class::PlusInf),
            Ex::Const(number) => Scalar::Int(*number),
            Ex::Reg(register) => self.registers[register.0 as usize],
            Ex::Not(a) => Scalar::Int(i32::from(!self.holds(a)?)),
            Ex::Neg(a) => match self.evaluate(a)? {
                Scalar::Int(n) => Scalar::Int(n.saturating_neg()),
                _ => return Err("a minus before something else than a number".to_owned()),
            },
            Ex::Bin(BinOp::And, a, b) => match self.holds(a)? {
                true => self.evaluate(b)?,
                false => Scalar::Int(0),
            },
            Ex::Bin(BinOp::Or, a, b) => match self.holds(a)? {
                true => Scalar::Int(1),
                false => self.evaluate(b)?,
            },
            Ex::Bin(op, a, b) => {
                let (a, b) = (self.evaluate(a)?, self.evaluate(b)?);
                self.binary(*op, a, b)?
            }
            Ex::If(condition, a, b) => match self.holds(condition)? {
                true => self.evaluate(a)?,
                false => self.evaluate(b)?,
            },
            Ex::SelfTid => Scalar::Thread(0),
            Ex::At { .. } => return Err("an array among the registers".to_owned()),
        })
    }

    fn binary(&mut self, op: BinOp, a: Scalar, b: Scalar) -> Run<Scalar> {
        match (op, a, b) {
            (BinOp::Eq, a, b) => Ok(Scalar::Int(i32::from(self.equal(a, b)?))),
            (BinOp::Lt, Scalar::Int(a), Scalar::Int(b)) => Ok(Scalar::Int(i32::from(a < b))),
            (BinOp::Lt, Scalar::Number(..), b) if is_number(b) => {
                Ok(Scalar::Int(i32::from(self.less_number(a, b))))
            }
            (BinOp::Lt, Scalar::Int(_), Scalar::Number(..)) => {
                Ok(Scalar::Int(i32::from(self.less_number(a, b))))
            }
            (BinOp::Lt, Scalar::Key(a), Scalar::Key(b)) => {
                let less = if a == b && a.is_many() { self.choices.pick(2) == 1 } else { a < b };
                Ok(Scalar::Int(i32::from(less)))
            }
            (op, Scalar::Int(a), Scalar::Int(b)) => {
                let result = match op {
                    BinOp::Add => a.checked_add(b),
                    BinOp::Sub => a.checked_sub(b),
                    BinOp::Mul => a.checked_mul(b),
                    BinOp::Div => a.checked_div_euclid(b),
                    BinOp::Rem => a.checked_rem_euclid(b),
                    _ => None,
                };
                result.map(Scalar::Int).ok_or_else(|| "arithmetic that may fail".to_owned())
            }
            (op, a, b) => self.calculate(op, a, b),
        }
    }

    /// Whether two scalars are equal.
    pub fn equal(&mut self, a: Scalar, b: Scalar) -> Run<bool> {
        match (a, b) {
            (Scalar::Unknown, _) | (_, Scalar::Unknown) => {
                Err("a comparison with a register of which the certificate says nothing".to_owned())
            }
            (Scalar::Value(a), Scalar::Value(b)) if self.object.spec == Spec::Cell => {
                Ok(self.names.equal(a, b, self.choices))
            }
            (Scalar::Value(_), Scalar::Value(_)) => Err("values that are compared".to_owned()),
            (Scalar::Lock(_), _) | (_, Scalar::Lock(_)) => {
                Err("locks that are compared".to_owned())
            }
            (Scalar::Key(a), Scalar::Key(b)) if a == b && a.is_many() => {
                Ok(self.choices.pick(2) == 1)
            }
            (Scalar::Null, _) | (_, Scalar::Null) => Ok(a == b),
            (Scalar::Number(..), b) if is_number(b) => self.equal_numbers(a, b),
            (Scalar::Int(_), Scalar::Number(..)) => self.equal_numbers(a, b),
            (Scalar::Key(_), Scalar::Key(_))
            | (Scalar::Int(_), Scalar::Int(_))
            | (Scalar::Record(_), Scalar::Record(_))
            | (Scalar::Thread(_), Scalar::Thread(_))
            | (Scalar::Node(_), Scalar::Node(_)) => Ok(a == b),
            _ => Err(format!("{a:?} compared with {b:?}")),
        }
    }

    /// The node of a place in a node; none for a place among the shared variables.
    fn node_of(&mut self, place: &Place) -> Run<Option<NodeId>> {
        match self.spot(place)? {
            Spot::Shared => Ok(None),
            Spot::Node(id) => Ok(Some(id)),
            _ => Err("a lock in a record or in an array".to_owned()),
        }
    }

    fn read_all(&mut self, place: &Place) -> Run<Vec<Scalar>> {
        let spot = self.spot(place)?;
        let slots = place.offset as usize..(place.offset + place.width) as usize;
        slots.map(|slot| self.read(spot, slot)).collect()
    }

    fn read(&mut self, spot: Spot, slot: usize) -> Run<Scalar> {
        let id = match spot {
            Spot::Shared => {
                return match self.state.graph.shared[slot] {
                    Scalar::Lock(_) => Err("a lock that is read".to_owned()),
                    Scalar::Unknown => Err("a variable that is not known is read".to_owned()),
                    scalar => Ok(scalar.plain()),
                };
            }
            Spot::Record(id, of) => return self.field(id, of, slot),
            Spot::Own(own) => return Ok(self.state.own[own]),
            Spot::Element(first, _) => return self.unknown_element(first),
            Spot::Node(id) => id,
        };
        let graph = &mut self.state.graph;
        match self.object.fields[slot] {
            Field::Link => graph
                .follow(id, self.choices)
                .ok_or_else(|| "a link that leads out of the graph".to_owned()),
            Field::Key => Ok(Scalar::Key(graph.node(id).class)),
            Field::Mark => Ok(Scalar::Int(i32::from(graph.node(id).now.mark.is_set()))),
            Field::Value => self.value_of(id),
            Field::Lock => Err("a lock that is read".to_owned()),
        }
    }

    /// The value of a node; one of those that it may hold, which it holds from here on.
    pub fn value_of(&mut self, id: NodeId) -> Run<Scalar> {
        let scalar = self.one_of(self.state.graph.node(id).values)?;
        self.state.graph.node_mut(id).values = Values::only(scalar).unwrap_or_default();
        Ok(scalar)
    }

    /// The value that a node had before the step; one of those that it may have had.
    pub fn value_before(&mut self, id: NodeId) -> Run<Scalar> {
        match self.state.graph.node(id).overwritten {
            None => self.value_of(id),
            Some(values) => {
                let scalar = self.one_of(values)?;
                self.state.graph.node_mut(id).overwritten = Values::only(scalar);
                Ok(scalar)
            }
        }
    }

    fn one_of(&mut self, values: Values) -> Run<Scalar> {
        let possible: Vec<Scalar> = values.iter().collect();
        match possible[..] {
            [] => Err("a node that holds no value".to_owned()),
            [one] => Ok(one),
            _ => Ok(possible[self.choices.pick(possible.len() as u32) as usize]),
        }
    }

    fn write_all(&mut self, place: &Place, scalars: &[Scalar]) -> Run<()> {
        let spot = self.spot(place)?;
        for (index, scalar) in scalars.iter().enumerate() {
            let slot = place.offset as usize + index;
            match spot {
                Spot::Node(id) => self.write(id, slot, *scalar)?,
                Spot::Shared => self.write_shared(slot, *scalar)?,
                Spot::Record(id, _) => self.write_field(id, slot, *scalar)?,
                Spot::Own(_) | Spot::Element(..) => self.write_element(spot, *scalar)?,
            }
        }
        self.state.graph.publish();
        Ok(())
    }

    fn write_shared(&mut self, slot: usize, scalar: Scalar) -> Run<()> {
        let kind = self.object.steps.shared[slot].kind;
        let is_reference = self.object.is_reference(slot);
        let is_cell = self.object.spec == Spec::Cell;
        let unbounded = self.is_unbounded(kind);
        let old = &mut self.state.graph.shared[slot];
        match (*old, scalar) {
            (Scalar::Lock(Holder::Free), Scalar::Int(0)) => return Ok(()),
            (Scalar::Lock(_), _) => return Err("a lock that is written".to_owned()),
            (_, Scalar::Node(_)) if is_reference => {}
            (_, Scalar::Record(_)) if is_cell && matches!(kind.scalar, ScalarType::Ref(_)) => {}
            (_, Scalar::Value(_)) if is_cell && kind.scalar == ScalarType::Value => {}
            (_, Scalar::Int(_)) if unbounded => {}
            // The language checks ranges before it stores; this does not rest on it.
            (_, Scalar::Int(_)) if !is_reference => fits(scalar, kind)?,
            (_, Scalar::Number(..)) if unbounded => {}
            (_, Scalar::Null) => {}
            _ => return Err(format!("a shared variable that gets {scalar:?}")),
        }
        *old = match self.state.graph.shared_before.get(slot) {
            Some(before) => self.object.with_changer(slot, scalar, *before),
            None => scalar,
        };
        self.state.expose(scalar);
        Ok(())
    }

    fn write(&mut self, id: NodeId, slot: usize, scalar: Scalar) -> Run<()> {
        let field = self.object.fields[slot];
        if field == Field::Link && !self.state.graph.node(id).now.private {
            // Effects speak of what was behind a node whose link is written: it must be drawn.
            self.state.graph.follow(id, self.choices);
        }
        let node = self.state.graph.node_mut(id);
        // A mark that others saw before the step and see after it is whose it was, whatever
        // happened in between.
        let seen = node.before.filter(|face| !face.private).map_or(Mark::No, |face| face.mark);
        match (field, scalar) {
            (Field::Link, Scalar::Node(to)) => node.now.link = To::Node(to),
            (Field::Link, Scalar::Null) => node.now.link = To::Null,
            (Field::Mark, scalar) => {
                node.now.mark = match (truth(scalar)?, node.now.mark) {
                    (true, Mark::No) if seen.is_set() => seen,
                    (true, Mark::No) => Mark::ByMe,
                    (true, set) => set,
                    (false, _) => Mark::No,
                };
            }
            (Field::Key, Scalar::Key(class)) if node.now.private => node.class = class,
            // A map may put another value where one is; items of sequences do not change.
            (Field::Value, scalar) if node.now.private || self.object.spec == Spec::Set => {
                let value = Values::only(scalar).ok_or("a value that is none")?;
                if node.before.is_some_and(|face| !face.private) {
                    node.overwritten = node.overwritten.or(Some(node.values));
                }
                node.values = value;
            }
            (Field::Key | Field::Value, _) => {
                return Err("data of a node that others can reach changes".to_owned());
            }
            (field, scalar) => return Err(format!("{scalar:?} is written to {field:?}")),
        }
        Ok(())
    }

    fn allocate(&mut self, scalars: &[Scalar]) -> Run<NodeId> {
        let face = Face { link: To::Null, mark: Mark::No, locked: false, private: true };
        let class = Class::MinusInf;
        let (values, overwritten) = (Values::NULL, None);
        let node = Node { class, values, overwritten, before: None, now: face };
        let id = self.state.graph.draw(node);
        for (slot, scalar) in scalars.iter().enumerate() {
            match (self.object.fields[slot], scalar) {
                (Field::Lock, Scalar::Int(0)) => {}
                (Field::Lock, _) => return Err("a new node with a lock that is held".to_owned()),
                _ => self.write(id, slot, *scalar)?,
            }
        }
        Ok(id)
    }

    /// Takes a lock; false if the thread has to wait.
    fn take_lock(&mut self, place: &Place) -> Run<bool> {
        let slot = place.offset as usize;
        match self.node_of(place)? {
            Some(id) => {
                self.must_be_lock(slot)?;
                let face = &mut self.state.graph.node_mut(id).now;
                Ok(!std::mem::replace(&mut face.locked, true))
            }
            None => match &mut self.state.graph.shared[slot] {
                Scalar::Lock(Holder::Free) => {
                    self.state.graph.shared[slot] = Scalar::Lock(Holder::Mine);
                    Ok(true)
                }
                Scalar::Lock(_) => Ok(false),
                other => Err(format!("a lock that is {other:?}")),
            },
        }
    }

    fn release_lock(&mut self, place: &Place) -> Run<()> {
        let slot = place.offset as usize;
        let held = match self.node_of(place)? {
            Some(id) => {
                self.must_be_lock(slot)?;
                let face = &mut self.state.graph.node_mut(id).now;
                std::mem::replace(&mut face.locked, false)
            }
            None => {
                let lock = &mut self.state.graph.shared[slot];
                std::mem::replace(lock, Scalar::Lock(Holder::Free)) == Scalar::Lock(Holder::Mine)
            }
        };
        held.then_some(()).ok_or_else(|| "a lock is released that is perhaps another's".to_owned())
    }

    fn is_unbounded(&self, kind: Kind) -> bool {
        self.object.spec == Spec::Number && is_unbounded(kind.scalar)
    }

    /// Checks that a scalar is of a kind. Numbers without bounds are of any size.
    fn fits(&self, scalar: Scalar, kind: Kind) -> Run<()> {
        match is_number(scalar) && self.is_unbounded(kind) {
            true => Ok(()),
            false => fits(scalar, kind),
        }
    }

    fn must_be_lock(&self, slot: usize) -> Run<()> {
        match self.object.fields[slot] {
            Field::Lock => Ok(()),
            _ => Err("a lock that is none".to_owned()),
        }
    }
}

fn truth(scalar: Scalar) -> Run<bool> {
    match scalar {
        Scalar::Int(0) => Ok(false),
        Scalar::Int(_) => Ok(true),
        other => Err(format!("{other:?} where a boolean is needed")),
    }
}

fn fits(scalar: Scalar, kind: Kind) -> Run<()> {
    let fits = match (scalar, kind.scalar) {
        (Scalar::Unknown, _) => false,
        (Scalar::Null, _) => kind.nullable,
        (Scalar::Int(n), ScalarType::Int(range)) => range.contains(n),
        (Scalar::Int(n), ScalarType::Bool) => (0..=1).contains(&n),
        (Scalar::Int(n), ScalarType::Enum(count)) => (0..count as i32).contains(&n),
        (Scalar::Node(_) | Scalar::Record(_), ScalarType::Ref(_))
        | (Scalar::Thread(_), ScalarType::Tid)
        | (Scalar::Key(_), ScalarType::Key)
        | (Scalar::Value(_), ScalarType::Value) => true,
        _ => false,
    };
    fits.then_some(()).ok_or_else(|| format!("{scalar:?} where it does not fit"))
}
