//! What a step of the observed thread does to its state: the instructions of the language on pictures.
//!
//! Nondeterminism (which node comes first in a stretch, which of its possible values a node holds, how two keys of one class
//! compare, choices of the program) is asked of [`Choices`], so that a run is straight-line code and all
//! runs together are all cases. What the checker does not understand is an error, never a guess.
//!
//! It would be unsound to let a comparison give one answer only where two are possible, to execute more than one shared
//! access outside of an atomic block, or to let data of a public node change.

use crate::names::Names;
use crate::number::{is_number, is_unbounded};
use crate::object::{Field, Object, Spec};
use crate::picture::{Face, Node, To};
use crate::record::{Foreign, Shape, Spot};
use crate::state::State;
use crate::word::{Class, Holder, Mark, NodeId, Values, Word};
use seriatim_lang::choices::Choices;
use seriatim_lang::steps::{BinOp, Ex, MINUS_INF, NULL, Op, PLUS_INF, Pc, Place};
use seriatim_lang::types::{Kind, Scalar};

/// How many local instructions a step may execute in a row.
const FUEL: u32 = 2_000;

/// How one run of a step ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The thread rests before its next shared access.
    Rests,
    /// The operation returned this.
    Returned(Vec<Word>),
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
    pub registers: Vec<Word>,
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
                let words = value.iter().map(|v| self.evaluate(v)).collect::<Run<Vec<_>>>()?;
                self.set(dst.0, &words);
            }
            Op::Load { dst, place } => {
                let words = self.read_all(place)?;
                self.set(dst.0, &words);
            }
            Op::Store { place, value } => {
                let words = value.iter().map(|v| self.evaluate(v)).collect::<Run<Vec<_>>>()?;
                self.write_all(place, &words)?;
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
                let words = new.iter().map(|v| self.evaluate(v)).collect::<Run<Vec<_>>>()?;
                self.write_all(place, &words)?;
            }
            Op::Swap { dst, place, value } => {
                let held = self.read_all(place)?;
                let words = value.iter().map(|v| self.evaluate(v)).collect::<Run<Vec<_>>>()?;
                self.write_all(place, &words)?;
                self.set(dst.0, &held);
            }
            Op::FetchAdd { dst, place, amount, kind } => {
                let held = self.read_all(place)?;
                let sum = match (held.first(), self.evaluate(amount)?) {
                    (Some(Word::Int(a)), Word::Int(b)) => {
                        Word::Int(a.checked_add(b).ok_or("a sum that is too large")?)
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
                let words = fields.iter().map(|v| self.evaluate(v)).collect::<Run<Vec<_>>>()?;
                let word = match object.list == Some(*of) {
                    true => Word::Node(self.allocate(&words)?),
                    false => Word::Record(self.allocate_record(words)?),
                };
                self.set(dst.0, &[word]);
            }
            Op::Branch { cond, otherwise } => {
                return Ok(if self.holds(cond)? { next } else { Some(*otherwise) });
            }
            Op::Jump(to) => return Ok(Some(*to)),
            Op::Choose(ways) => {
                return Ok(Some(ways[self.choices.pick(ways.len() as u32) as usize]));
            }
            Op::Any { dst, kind } => {
                let word = self.any(*kind)?;
                self.set(dst.0, &[word]);
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
                let word = self.evaluate(value)?;
                self.fits(word, *kind)?;
            }
            Op::Atomic | Op::Lin { .. } => {}
            other => {
                return Err(format!("an instruction that the checker does not know: {other:?}"));
            }
        }
        Ok(next)
    }

    fn set(&mut self, first: u32, words: &[Word]) {
        let first = first as usize;
        self.registers[first..first + words.len()].copy_from_slice(words);
    }

    /// Any word of a kind that has few.
    pub fn any(&mut self, kind: Kind) -> Run<Word> {
        if self.is_unbounded(kind) {
            return Ok(self.state.new_number(&self.registers));
        }
        let (low, count) = match kind.scalar {
            Scalar::Bool => (0, 2),
            Scalar::Int(range) if range.count() <= 256 => (range.low, range.count()),
            Scalar::Enum(count) => (0, count),
            _ => return Err("`any` of data".to_owned()),
        };
        let pick = self.choices.pick(count + u32::from(kind.nullable));
        Ok(if pick == count { Word::Null } else { Word::Int(low + pick as i32) })
    }

    fn holds(&mut self, condition: &Ex) -> Run<bool> {
        truth(self.evaluate(condition)?)
    }

    /// The value of an expression.
    pub fn evaluate(&mut self, ex: &Ex) -> Run<Word> {
        Ok(match ex {
            Ex::Const(NULL) => Word::Null,
            Ex::Const(MINUS_INF) => Word::Key(Class::MinusInf),
            Ex::Const(PLUS_INF) => Word::Key(Class::PlusInf),
            Ex::Const(number) => Word::Int(*number),
            Ex::Reg(register) => self.registers[register.0 as usize],
            Ex::Not(a) => Word::Int(i32::from(!self.holds(a)?)),
            Ex::Neg(a) => match self.evaluate(a)? {
                Word::Int(n) => Word::Int(n.saturating_neg()),
                _ => return Err("a minus before something else than a number".to_owned()),
            },
            Ex::Bin(BinOp::And, a, b) => match self.holds(a)? {
                true => self.evaluate(b)?,
                false => Word::Int(0),
            },
            Ex::Bin(BinOp::Or, a, b) => match self.holds(a)? {
                true => Word::Int(1),
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
            Ex::SelfTid => Word::Thread(0),
            Ex::At { .. } => return Err("an array among the registers".to_owned()),
        })
    }

    fn binary(&mut self, op: BinOp, a: Word, b: Word) -> Run<Word> {
        match (op, a, b) {
            (BinOp::Eq, a, b) => Ok(Word::Int(i32::from(self.equal(a, b)?))),
            (BinOp::Lt, Word::Int(a), Word::Int(b)) => Ok(Word::Int(i32::from(a < b))),
            (BinOp::Lt, Word::Number(..), b) if is_number(b) => {
                Ok(Word::Int(i32::from(self.less_number(a, b))))
            }
            (BinOp::Lt, Word::Int(_), Word::Number(..)) => {
                Ok(Word::Int(i32::from(self.less_number(a, b))))
            }
            (BinOp::Lt, Word::Key(a), Word::Key(b)) => {
                let less = if a == b && a.is_many() { self.choices.pick(2) == 1 } else { a < b };
                Ok(Word::Int(i32::from(less)))
            }
            (op, Word::Int(a), Word::Int(b)) => {
                let result = match op {
                    BinOp::Add => a.checked_add(b),
                    BinOp::Sub => a.checked_sub(b),
                    BinOp::Mul => a.checked_mul(b),
                    BinOp::Div => a.checked_div_euclid(b),
                    BinOp::Rem => a.checked_rem_euclid(b),
                    _ => None,
                };
                result.map(Word::Int).ok_or_else(|| "arithmetic that may fail".to_owned())
            }
            (op, a, b) => self.calculate(op, a, b),
        }
    }

    /// Whether two words are equal.
    pub fn equal(&mut self, a: Word, b: Word) -> Run<bool> {
        match (a, b) {
            (Word::Unknown, _) | (_, Word::Unknown) => {
                Err("a comparison with a register of which the certificate says nothing".to_owned())
            }
            (Word::Value(a), Word::Value(b)) if self.object.spec == Spec::Cell => {
                Ok(self.names.equal(a, b, self.choices))
            }
            (Word::Value(_), Word::Value(_)) => Err("values that are compared".to_owned()),
            (Word::Lock(_), _) | (_, Word::Lock(_)) => Err("locks that are compared".to_owned()),
            (Word::Key(a), Word::Key(b)) if a == b && a.is_many() => Ok(self.choices.pick(2) == 1),
            (Word::Null, _) | (_, Word::Null) => Ok(a == b),
            (Word::Number(..), b) if is_number(b) => self.equal_numbers(a, b),
            (Word::Int(_), Word::Number(..)) => self.equal_numbers(a, b),
            (Word::Key(_), Word::Key(_))
            | (Word::Int(_), Word::Int(_))
            | (Word::Record(_), Word::Record(_))
            | (Word::Thread(_), Word::Thread(_))
            | (Word::Node(_), Word::Node(_)) => Ok(a == b),
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

    fn read_all(&mut self, place: &Place) -> Run<Vec<Word>> {
        let spot = self.spot(place)?;
        let slots = place.offset as usize..(place.offset + place.width) as usize;
        slots.map(|slot| self.read(spot, slot)).collect()
    }

    fn read(&mut self, spot: Spot, slot: usize) -> Run<Word> {
        let id = match spot {
            Spot::Shared => {
                return match self.state.picture.shared[slot] {
                    Word::Lock(_) => Err("a lock that is read".to_owned()),
                    Word::Unknown => Err("a variable that is not known is read".to_owned()),
                    word => Ok(word.plain()),
                };
            }
            Spot::Record(id, of) => return self.field(id, of, slot),
            Spot::Own(own) => return Ok(self.state.own[own]),
            Spot::Element(first, _) => return self.unknown_element(first),
            Spot::Node(id) => id,
        };
        let picture = &mut self.state.picture;
        match self.object.fields[slot] {
            Field::Link => picture
                .follow(id, self.choices)
                .ok_or_else(|| "a link that leads out of the picture".to_owned()),
            Field::Key => Ok(Word::Key(picture.node(id).class)),
            Field::Mark => Ok(Word::Int(i32::from(picture.node(id).now.mark.is_set()))),
            Field::Value => self.value_of(id),
            Field::Lock => Err("a lock that is read".to_owned()),
        }
    }

    /// The value of a node; one of those that it may hold, which it holds from here on.
    pub fn value_of(&mut self, id: NodeId) -> Run<Word> {
        let possible: Vec<Word> = self.state.picture.node(id).values.iter().collect();
        if possible.is_empty() {
            return Err("a node that holds no value".to_owned());
        }
        let word = match possible.len() {
            1 => possible[0],
            count => possible[self.choices.pick(count as u32) as usize],
        };
        self.state.picture.node_mut(id).values = Values::only(word).unwrap_or_default();
        Ok(word)
    }

    fn write_all(&mut self, place: &Place, words: &[Word]) -> Run<()> {
        let spot = self.spot(place)?;
        for (index, word) in words.iter().enumerate() {
            let slot = place.offset as usize + index;
            match spot {
                Spot::Node(id) => self.write(id, slot, *word)?,
                Spot::Shared => self.write_shared(slot, *word)?,
                Spot::Record(id, _) => self.write_field(id, slot, *word)?,
                Spot::Own(_) | Spot::Element(..) => self.write_element(spot, *word)?,
            }
        }
        self.state.picture.publish();
        Ok(())
    }

    fn write_shared(&mut self, slot: usize, word: Word) -> Run<()> {
        let kind = self.object.steps.shared[slot].kind;
        let is_reference = self.object.is_reference(slot);
        let is_cell = self.object.spec == Spec::Cell;
        let unbounded = self.is_unbounded(kind);
        let old = &mut self.state.picture.shared[slot];
        match (*old, word) {
            (Word::Lock(Holder::Free), Word::Int(0)) => return Ok(()),
            (Word::Lock(_), _) => return Err("a lock that is written".to_owned()),
            (_, Word::Node(_)) if is_reference => {}
            (_, Word::Record(_)) if is_cell && matches!(kind.scalar, Scalar::Ref(_)) => {}
            (_, Word::Value(_)) if is_cell && kind.scalar == Scalar::Value => {}
            (_, Word::Int(_)) if unbounded => {}
            // The language checks ranges before it stores; this does not rest on it.
            (_, Word::Int(_)) if !is_reference => fits(word, kind)?,
            (_, Word::Number(..)) if unbounded => {}
            (_, Word::Null) => {}
            _ => return Err(format!("a shared variable that gets {word:?}")),
        }
        *old = match self.state.picture.shared_before.get(slot) {
            Some(before) => self.object.with_changer(slot, word, *before),
            None => word,
        };
        self.state.expose(word);
        Ok(())
    }

    fn write(&mut self, id: NodeId, slot: usize, word: Word) -> Run<()> {
        let field = self.object.fields[slot];
        if field == Field::Link && !self.state.picture.node(id).now.private {
            // Effects speak of what was behind a node whose link is written: it must be drawn.
            self.state.picture.follow(id, self.choices);
        }
        let node = self.state.picture.node_mut(id);
        // A mark that others saw before the step and see after it is whose it was, whatever happened in between.
        let seen = node.before.filter(|face| !face.private).map_or(Mark::No, |face| face.mark);
        match (field, word) {
            (Field::Link, Word::Node(to)) => node.now.link = To::Node(to),
            (Field::Link, Word::Null) => node.now.link = To::Null,
            (Field::Mark, word) => {
                node.now.mark = match (truth(word)?, node.now.mark) {
                    (true, Mark::No) if seen.is_set() => seen,
                    (true, Mark::No) => Mark::ByMe,
                    (true, set) => set,
                    (false, _) => Mark::No,
                };
            }
            (Field::Key, Word::Key(class)) if node.now.private => node.class = class,
            (Field::Value, word) if node.now.private => {
                node.values = Values::only(word).ok_or("a value that is none")?;
            }
            (Field::Key | Field::Value, _) => {
                return Err("data of a node that others can reach changes".to_owned());
            }
            (field, word) => return Err(format!("{word:?} is written to {field:?}")),
        }
        Ok(())
    }

    fn allocate(&mut self, words: &[Word]) -> Run<NodeId> {
        let face = Face { link: To::Null, mark: Mark::No, locked: false, private: true };
        let class = Class::MinusInf;
        let node = Node { class, values: Values::NULL, before: None, now: face };
        let id = self.state.picture.draw(node);
        for (slot, word) in words.iter().enumerate() {
            match (self.object.fields[slot], word) {
                (Field::Lock, Word::Int(0)) => {}
                (Field::Lock, _) => return Err("a new node with a lock that is held".to_owned()),
                _ => self.write(id, slot, *word)?,
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
                let face = &mut self.state.picture.node_mut(id).now;
                Ok(!std::mem::replace(&mut face.locked, true))
            }
            None => match &mut self.state.picture.shared[slot] {
                Word::Lock(Holder::Free) => {
                    self.state.picture.shared[slot] = Word::Lock(Holder::Mine);
                    Ok(true)
                }
                Word::Lock(_) => Ok(false),
                other => Err(format!("a lock that is {other:?}")),
            },
        }
    }

    fn release_lock(&mut self, place: &Place) -> Run<()> {
        let slot = place.offset as usize;
        let held = match self.node_of(place)? {
            Some(id) => {
                self.must_be_lock(slot)?;
                let face = &mut self.state.picture.node_mut(id).now;
                std::mem::replace(&mut face.locked, false)
            }
            None => {
                let lock = &mut self.state.picture.shared[slot];
                std::mem::replace(lock, Word::Lock(Holder::Free)) == Word::Lock(Holder::Mine)
            }
        };
        held.then_some(()).ok_or_else(|| "a lock is released that is perhaps another's".to_owned())
    }

    fn is_unbounded(&self, kind: Kind) -> bool {
        self.object.spec == Spec::Number && is_unbounded(kind.scalar)
    }

    /// Checks that a word is of a kind. Numbers without bounds are of any size.
    fn fits(&self, word: Word, kind: Kind) -> Run<()> {
        match is_number(word) && self.is_unbounded(kind) {
            true => Ok(()),
            false => fits(word, kind),
        }
    }

    fn must_be_lock(&self, slot: usize) -> Run<()> {
        match self.object.fields[slot] {
            Field::Lock => Ok(()),
            _ => Err("a lock that is none".to_owned()),
        }
    }
}

fn truth(word: Word) -> Run<bool> {
    match word {
        Word::Int(0) => Ok(false),
        Word::Int(_) => Ok(true),
        other => Err(format!("{other:?} where a boolean is needed")),
    }
}

fn fits(word: Word, kind: Kind) -> Run<()> {
    let fits = match (word, kind.scalar) {
        (Word::Unknown, _) => false,
        (Word::Null, _) => kind.nullable,
        (Word::Int(n), Scalar::Int(range)) => range.contains(n),
        (Word::Int(n), Scalar::Bool) => (0..=1).contains(&n),
        (Word::Int(n), Scalar::Enum(count)) => (0..count as i32).contains(&n),
        (Word::Node(_) | Word::Record(_), Scalar::Ref(_))
        | (Word::Thread(_), Scalar::Tid)
        | (Word::Key(_), Scalar::Key)
        | (Word::Value(_), Scalar::Value) => true,
        _ => false,
    };
    fits.then_some(()).ok_or_else(|| format!("{word:?} where it does not fit"))
}
