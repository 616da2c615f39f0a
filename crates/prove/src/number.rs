//! Numbers without bounds, in views and during one step.
//!
//! Where the content of an object is a number, an `int` without bounds stands for any whole number:
//! [`Val::Num`] is an unknown number, its *base*, plus a constant. In one view, the same base is
//! the same number; two bases may be equal or not. A sum with a constant keeps the base; a sum of
//! two unknown numbers is a new one. An equation of two numbers goes both ways where it is not
//! known, and where it holds, one base is expressed by the other, before and after the step, in
//! registers, arguments and ghost state alike. Other answers are remembered as facts
//! ([`crate::difference`]). Numbers of types with bounds are known exactly, as [`Val::Int`], as
//! long as they are small (128 at most); beyond that they have a base, too.
//!
//! Law: each base has one meaning during a step, no new base gets the name of an old one, and a
//! base is replaced by what is equal to it only. It would be unsound to take two offsets of one
//! base for equal, or two bases for different. That `x + 1` differs from `x` is true of whole
//! numbers and of words of two or more values; that is all that is used.

use crate::difference::{compare, learn_different, learn_order, translated};
use crate::model::Tracking;
use crate::own::{Ran, Run, strange};
use crate::value::Val;
use crate::view::{Numbers, View};
use seriatim_lang::steps::BinOp;
use seriatim_lang::types::Scalar;

/// Offsets beyond this one, and constants in registers beyond [`LARGEST`], are forgotten between
/// steps.
const FARTHEST: i16 = 4;
/// See [`FARTHEST`].
const LARGEST: i32 = 128;

/// Whether a scalar stands for any whole number, where numbers are the content.
pub fn is_unbounded(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Int(range) if range.is_default())
}

fn shifted(base: u8, offset: i16, by: i32) -> Option<Val> {
    let offset = i32::from(offset).checked_add(by)?;
    i16::try_from(offset).ok().map(|offset| Val::Num(base, offset))
}

/// The sum or the difference of two numbers, if it is one that has a name.
pub fn combine(op: BinOp, a: Val, b: Val) -> Option<Val> {
    match (op, a, b) {
        (BinOp::Add, Val::Int(a), Val::Int(b)) => a.checked_add(b).map(Val::Int),
        (BinOp::Sub, Val::Int(a), Val::Int(b)) => a.checked_sub(b).map(Val::Int),
        (BinOp::Add, Val::Num(base, offset), Val::Int(by))
        | (BinOp::Add, Val::Int(by), Val::Num(base, offset)) => shifted(base, offset, by),
        (BinOp::Sub, Val::Num(base, offset), Val::Int(by)) => {
            shifted(base, offset, by.checked_neg()?)
        }
        (BinOp::Sub, Val::Num(a, i), Val::Num(b, j)) if a == b => {
            Some(Val::Int(i32::from(i) - i32::from(j)))
        }
        _ => None,
    }
}

impl View {
    /// All places in which a number may stand, ghost state last.
    pub fn numbers_mut(&mut self) -> impl Iterator<Item = &mut Val> {
        let (regs, args) = match &mut self.busy {
            Some(busy) => (&mut busy.regs[..], &mut busy.args[..]),
            None => (&mut [][..], &mut [][..]),
        };
        let Numbers { moments, answer, .. } = &mut self.numbers;
        let ghosts = moments.iter_mut().chain(answer).flatten();
        self.globals.iter_mut().chain(regs).chain(args).chain(ghosts)
    }

    /// A number that no base of the view has.
    pub fn unused_base(&mut self) -> u8 {
        let bases = self.numbers_mut().filter_map(|v| v.base());
        bases.max().map_or(0, |base| base.saturating_add(1))
    }

    /// Replaces a base by what it is equal to, a number or another base with an offset. Gives
    /// `None` if the result has no name.
    pub fn replace_base(&mut self, base: u8, by: Val) -> Option<()> {
        for value in self.numbers_mut() {
            if let Val::Num(b, offset) = *value
                && b == base
            {
                *value = combine(BinOp::Add, by, Val::Int(offset.into()))?;
            }
        }
        let to = |b: u8| Some(if b == base { by } else { Val::Num(b, 0) });
        self.numbers.facts = translated(&self.numbers.facts, to);
        Some(())
    }

    /// Names the bases in the order of the places in which they stand; the first place of a base
    /// has the offset 0. What is far from that gets a base of its own, the same for equal numbers.
    /// A moment of which nobody names a base is of no use: no result can be based on it. A word of
    /// another moment whose base nobody names has a base of its own.
    pub fn rename_numbers(&mut self) {
        let Numbers { facts, moments, answer } = std::mem::take(&mut self.numbers);
        let mut names = Names::default();
        self.numbers_mut().for_each(|v| *v = names.name(*v));
        let known = |moment: Vec<Val>| -> Vec<Option<Val>> {
            moment.into_iter().map(|v| names.known(v)).collect()
        };
        let mut all: Vec<Vec<Option<Val>>> = moments.into_iter().map(known).collect();
        all.retain(|moment| moment.iter().any(Option::is_some));
        all.sort_unstable();
        all.dedup();
        let told = |less: &[Option<Val>], more: &[Option<Val>]| {
            less != more && less.iter().zip(more).all(|(less, more)| less.is_none() || less == more)
        };
        let most: Vec<_> = all.iter().filter(|m| !all.iter().any(|more| told(m, more))).collect();
        let moments = most.into_iter().map(|moment| {
            moment.iter().map(|word| word.unwrap_or_else(|| names.nameless())).collect()
        });
        let moments = moments.collect();
        let answer = answer.map(|words| words.into_iter().map(|v| names.name(v)).collect());
        let facts = translated(&facts, |base| names.translation(base));
        self.numbers = Numbers { facts, moments, answer };
    }
}

/// New names of bases.
#[derive(Clone, Default)]
struct Names {
    /// For each new base, the old base and offset that it has.
    list: Vec<(u8, i16)>,
    /// The new bases of constants.
    constants: Vec<(i32, u8)>,
    next: u8,
}

impl Names {
    fn near(&self, base: u8, offset: i16) -> Option<Val> {
        let (new, distance) = self.list.iter().enumerate().find_map(|(new, (old, first))| {
            let distance = offset.checked_sub(*first)?;
            (*old == base && distance.abs() <= FARTHEST).then_some((new, distance))
        })?;
        Some(Val::Num(new as u8, distance))
    }

    /// The new name of a number, if it has one.
    fn known(&self, value: Val) -> Option<Val> {
        match value {
            Val::Num(base, offset) => self.near(base, offset),
            Val::Int(n) if n.abs() > LARGEST => {
                self.constants.iter().find(|c| c.0 == n).map(|c| Val::Num(c.1, 0))
            }
            other => Some(other),
        }
    }

    /// An old base as a number of the new ones.
    fn translation(&self, base: u8) -> Option<Val> {
        let new = self.list.iter().position(|(old, _)| *old == base)?;
        Some(Val::Num(new as u8, self.list[new].1.checked_neg()?))
    }

    fn fresh(&mut self, old: (u8, i16)) -> u8 {
        self.list.push(old);
        self.list.len() as u8 - 1
    }

    /// A base that no number of the view has: none is taken for near.
    fn unlike(&mut self) -> u8 {
        let base = self.fresh((u8::MAX - self.next, 0));
        self.next += 1;
        base
    }

    /// A number of which nothing is known, and which stands nowhere else.
    fn nameless(&mut self) -> Val {
        Val::Num(self.unlike(), 0)
    }

    fn name(&mut self, value: Val) -> Val {
        match value {
            Val::Num(base, offset) => {
                self.near(base, offset).unwrap_or_else(|| Val::Num(self.fresh((base, offset)), 0))
            }
            Val::Int(n) if n.abs() > LARGEST => {
                let known = self.constants.iter().find(|c| c.0 == n).map(|c| c.1);
                let base = known.unwrap_or_else(|| {
                    let base = self.unlike();
                    self.constants.push((n, base));
                    base
                });
                Val::Num(base, 0)
            }
            other => other,
        }
    }
}

impl Run<'_> {
    /// A number of which nothing is known.
    pub(crate) fn unknown_number(&mut self) -> Ran<Val> {
        match self.bases.checked_add(1).filter(|next| *next < 128) {
            Some(next) => {
                let number = Val::Num(self.bases, 0);
                self.bases = next;
                Ok(number)
            }
            None => strange("very many numbers"),
        }
    }

    /// The result of a calculation with numbers of which one is not known.
    pub(crate) fn calculate(&mut self, op: BinOp, a: Val, b: Val) -> Ran<Val> {
        let numbers = [a, b].iter().all(|v| matches!(v, Val::Int(_) | Val::Num(..)));
        match (op, combine(op, a, b)) {
            (_, Some(known)) => Ok(known),
            (BinOp::Add | BinOp::Sub | BinOp::Mul, None) if numbers => self.unknown_number(),
            _ => strange("arithmetic of this sort"),
        }
    }

    /// Whether two numbers are equal; where it is not known, both answers are picked and
    /// remembered.
    pub(crate) fn same_number(&mut self, a: Val, b: Val) -> Ran<bool> {
        if let Some(equal) = compare(a, b, &self.after.numbers.facts).equal {
            return Ok(equal);
        }
        if self.choices.pick(2) == 0 {
            learn_different(a, b, &mut self.after.numbers.facts);
            return Ok(false);
        }
        let (base, by) = match (a, b) {
            (Val::Num(base, offset), other) | (other, Val::Num(base, offset)) => {
                (base, combine(BinOp::Sub, other, Val::Int(offset.into())))
            }
            _ => return strange("a comparison of different things"),
        };
        let Some(by) = by else { return strange("a number of this size") };
        let replaced = self.before.replace_base(base, by).and(self.after.replace_base(base, by));
        match replaced {
            Some(()) => Ok(true),
            None => strange("a number of this size"),
        }
    }

    /// Whether one number is less than another, in the same way.
    pub(crate) fn smaller_number(&mut self, a: Val, b: Val) -> bool {
        if let Some(less) = compare(a, b, &self.after.numbers.facts).less {
            return less;
        }
        let less = self.choices.pick(2) == 1;
        learn_order(a, b, less, &mut self.after.numbers.facts);
        less
    }

    /// Whether numbers of this type are taken as any whole numbers.
    pub(crate) fn is_unbounded(&self, scalar: Scalar) -> bool {
        self.model.tracking == Tracking::Number && is_unbounded(scalar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a view says about its numbers, for the meaning of its bases.
    fn meaning(view: &View, bases: &[i32]) -> Vec<i32> {
        let number = |v: &Val| match v {
            Val::Int(n) => *n,
            Val::Num(base, offset) => bases[*base as usize] + i32::from(*offset),
            _ => i32::MIN,
        };
        view.globals.iter().map(number).collect()
    }

    fn views() -> Vec<View> {
        let numbers = [Val::Int(0), Val::Int(500), Val::Num(0, 0), Val::Num(0, 1), Val::Num(1, 0)];
        let more = [Val::Num(0, 90), Val::Num(1, -1)];
        let all: Vec<Val> = numbers.into_iter().chain(more).collect();
        let mut found = Vec::new();
        for code in 0..all.len().pow(3) {
            let pick = |i: u32| all[code / all.len().pow(i) % all.len()];
            found.push(View { globals: vec![pick(0), pick(1), pick(2)], ..View::default() });
        }
        found
    }

    /// For all views and all meanings of their bases, the view with new names has the same meaning
    /// for some bases.
    #[test]
    fn new_names_describe_what_the_old_ones_described() {
        for old in views() {
            let mut new = old.clone();
            new.rename_numbers();
            let mut again = new.clone();
            again.rename_numbers();
            assert_eq!(new, again, "a normal form");
            for bases in [[0, 0], [5, 7], [7, 6], [-3, 400]] {
                let wanted = meaning(&old, &bases);
                let mut found = [None; 4];
                for (value, number) in new.globals.iter().zip(&wanted) {
                    match *value {
                        Val::Num(base, offset) => {
                            let meant = number - i32::from(offset);
                            let known = *found[base as usize].get_or_insert(meant);
                            assert_eq!(known, meant, "{old:?} {new:?}");
                        }
                        Val::Int(n) => assert_eq!(n, *number),
                        _ => panic!("no number"),
                    }
                }
            }
        }
    }

    #[test]
    fn a_replaced_base_means_the_same() {
        for old in views() {
            for (by, meant) in [(Val::Int(9), 9), (Val::Num(1, 2), 6)] {
                let mut new = old.clone();
                assert_eq!(new.replace_base(0, by), Some(()));
                assert_eq!(meaning(&new, &[i32::MIN, 4]), meaning(&old, &[meant, 4]));
            }
        }
    }

    #[test]
    fn calculations_agree_with_those_of_numbers() {
        let numbers = [Val::Int(3), Val::Int(-2), Val::Num(0, 0), Val::Num(0, 2), Val::Num(1, -1)];
        for a in numbers {
            for b in numbers {
                for bases in [[0, 0], [4, 9], [9, 4]] {
                    let view = View { globals: vec![a, b], ..View::default() };
                    let [x, y] = meaning(&view, &bases)[..] else { panic!("two numbers") };
                    for (op, right) in [(BinOp::Add, x + y), (BinOp::Sub, x - y)] {
                        if let Some(found) = combine(op, a, b) {
                            let view = View { globals: vec![found], ..View::default() };
                            assert_eq!(meaning(&view, &bases), [right]);
                        }
                    }
                }
            }
        }
    }
}
