//! Whole numbers that are not known: a base plus a constant, and what comparisons have said about
//! them.
//!
//! Where the content of an object is a number, an `int` without bounds stands for any whole number.
//! `Scalar::Number(base, offset)` is the number of the base plus the offset; in one state a base is
//! one number, and two bases may be equal or not. A sum with a constant keeps the base, any other
//! sum is a new number. A comparison of which nothing is known goes both ways; the answer is
//! remembered as a *fact*, or, if the numbers are equal, one base is replaced by the other
//! everywhere, before the step and now.
//!
//! It would be unsound to give an answer that not all numbers give that fulfil the facts, to
//! replace a base in some places only, or to give a new number the base of an old one.

use crate::execute::{Execution, Objection};
use crate::scalar::Scalar;
use crate::state::State;
use seriatim_lang::steps::BinOp;
use seriatim_lang::types::Scalar as ScalarType;

/// How two numbers compare.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Relation {
    /// The first is less than the second.
    Less,
    /// The first is at least the second.
    AtLeast,
    /// They differ.
    Differ,
}

/// What a comparison has said.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Fact {
    /// The first number.
    pub first: Scalar,
    /// How it compares.
    pub relation: Relation,
    /// The second number.
    pub second: Scalar,
}

/// What is known about numbers, and about the past of a content that is one.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Numbers {
    /// What comparisons have said.
    pub facts: Vec<Fact>,
    /// What the content was at moments since the call.
    pub moments: Vec<Vec<Scalar>>,
    /// What an operation that took effect must return; the empty list if nothing.
    pub answer: Option<Vec<Scalar>>,
}

/// Whether a scalar stands for any whole number, where numbers are the content.
pub fn is_unbounded(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::Int(range) if range.is_default())
}

/// Whether a scalar is a number.
pub fn is_number(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Int(_) | Scalar::Number(..))
}

/// A number plus a constant.
pub fn shifted(scalar: Scalar, by: i32) -> Option<Scalar> {
    match scalar {
        Scalar::Int(n) => n.checked_add(by).map(Scalar::Int),
        Scalar::Number(base, offset) => Some(Scalar::Number(base, offset.checked_add(by)?)),
        _ => None,
    }
}

/// The sum or difference of two numbers, if it can be said.
pub fn sum(op: BinOp, a: Scalar, b: Scalar) -> Option<Scalar> {
    match (op, a, b) {
        (BinOp::Add, a, Scalar::Int(b)) => shifted(a, b),
        (BinOp::Add, Scalar::Int(a), b) => shifted(b, a),
        (BinOp::Sub, a, Scalar::Int(b)) => shifted(a, b.checked_neg()?),
        (BinOp::Sub, Scalar::Number(a, i), Scalar::Number(b, j)) if a == b => {
            i.checked_sub(j).map(Scalar::Int)
        }
        _ => None,
    }
}

/// The base and the constant of a number.
fn parts(scalar: Scalar) -> Option<(Option<u32>, i64)> {
    match scalar {
        Scalar::Int(n) => Some((None, n.into())),
        Scalar::Number(base, offset) => Some((Some(base), offset.into())),
        _ => None,
    }
}

/// What is known of the difference of two numbers: the least and the greatest that it can be, and
/// whether it can be zero.
struct Difference {
    low: i64,
    high: i64,
    zero: bool,
}

fn difference(a: Scalar, b: Scalar, facts: &[Fact]) -> Option<Difference> {
    let ((x, i), (y, j)) = (parts(a)?, parts(b)?);
    if x == y {
        return Some(Difference { low: i - j, high: i - j, zero: i == j });
    }
    let mut found = Difference { low: i64::MIN, high: i64::MAX, zero: true };
    for fact in facts {
        let ((p, k), (q, l)) = (parts(fact.first)?, parts(fact.second)?);
        // Where the fact is about the same bases: first - second = sign * (a - b) + c.
        let (same, c) = match () {
            () if (p, q) == (x, y) => (true, (k - l) - (i - j)),
            () if (p, q) == (y, x) => (false, (k - l) + (i - j)),
            () => continue,
        };
        match (fact.relation, same) {
            (Relation::Differ, true) => found.zero &= -c != 0,
            (Relation::Differ, false) => found.zero &= c != 0,
            (Relation::Less, true) => found.high = found.high.min(-c - 1),
            (Relation::AtLeast, true) => found.low = found.low.max(-c),
            (Relation::Less, false) => found.low = found.low.max(c + 1),
            (Relation::AtLeast, false) => found.high = found.high.min(c),
        }
    }
    found.zero &= found.low <= 0 && 0 <= found.high;
    Some(found)
}

/// Whether two numbers are equal, if the facts decide that.
pub fn equal(a: Scalar, b: Scalar, facts: &[Fact]) -> Option<bool> {
    let Difference { low, high, zero } = difference(a, b, facts)?;
    match (low, high) {
        (0, 0) if zero => Some(true),
        _ if !zero => Some(false),
        _ => None,
    }
}

/// Whether a number is less than another, if the facts decide that.
pub fn less(a: Scalar, b: Scalar, facts: &[Fact]) -> Option<bool> {
    let Difference { low, high, zero } = difference(a, b, facts)?;
    match () {
        () if high < 0 || (high == 0 && !zero) => Some(true),
        () if low >= 0 => Some(false),
        () => None,
    }
}

/// Whether facts imply another one.
pub fn implied(fact: &Fact, facts: &[Fact]) -> bool {
    match fact.relation {
        Relation::Differ => equal(fact.first, fact.second, facts) == Some(false),
        Relation::Less => less(fact.first, fact.second, facts) == Some(true),
        Relation::AtLeast => less(fact.first, fact.second, facts) == Some(false),
    }
}

impl State {
    /// All places of a state in which a number may stand.
    fn numbers_mut(&mut self) -> impl Iterator<Item = &mut Scalar> {
        let graph = &mut self.graph;
        let shared = graph.shared.iter_mut().chain(&mut graph.shared_before);
        let operation = self.operation.iter_mut();
        let operation = operation.flat_map(|o| o.arguments.iter_mut().chain(&mut o.registers));
        let Numbers { facts, moments, answer } = &mut self.numbers;
        let facts = facts.iter_mut().flat_map(|f| [&mut f.first, &mut f.second]);
        let ghosts = moments.iter_mut().chain(answer).flatten();
        shared.chain(operation).chain(facts).chain(ghosts)
    }

    /// A number of which nothing is known.
    pub fn new_number(&mut self, registers: &[Scalar]) -> Scalar {
        let base = |scalar: &Scalar| match scalar {
            Scalar::Number(base, _) => Some(*base),
            _ => None,
        };
        let most = self.numbers_mut().filter_map(|w| base(w)).max();
        let most = most.max(registers.iter().filter_map(base).max());
        Scalar::Number(most.map_or(0, |base| base + 1), 0)
    }
}

impl Execution<'_> {
    /// The result of a calculation with numbers of which one is not known.
    pub fn calculate(&mut self, op: BinOp, a: Scalar, b: Scalar) -> Result<Scalar, Objection> {
        if !is_number(a) || !is_number(b) {
            return Err(format!("{op:?} of {a:?} and {b:?}"));
        }
        match (op, sum(op, a, b)) {
            (_, Some(known)) => Ok(known),
            (BinOp::Add | BinOp::Sub | BinOp::Mul, None) => {
                Ok(self.state.new_number(&self.registers))
            }
            _ => Err("arithmetic with a number that is not known".to_owned()),
        }
    }

    /// Whether two numbers are equal.
    pub fn equal_numbers(&mut self, a: Scalar, b: Scalar) -> Result<bool, Objection> {
        if let Some(known) = equal(a, b, &self.state.numbers.facts) {
            return Ok(known);
        }
        if self.choices.pick(2) == 0 {
            let fact = Fact { first: a, relation: Relation::Differ, second: b };
            self.state.numbers.facts.push(fact);
            return Ok(false);
        }
        let (base, by) = match (a, b) {
            (Scalar::Number(base, offset), other) | (other, Scalar::Number(base, offset)) => {
                (base, offset.checked_neg().and_then(|back| shifted(other, back)))
            }
            _ => return Err("numbers that cannot be compared".to_owned()),
        };
        let by = by.ok_or("a number that is too large")?;
        for scalar in self.state.numbers_mut().chain(&mut self.registers) {
            if let Scalar::Number(found, offset) = *scalar
                && found == base
            {
                *scalar = shifted(by, offset).ok_or("a number that is too large")?;
            }
        }
        Ok(true)
    }

    /// Whether a number is less than another.
    pub fn less_number(&mut self, a: Scalar, b: Scalar) -> bool {
        if let Some(known) = less(a, b, &self.state.numbers.facts) {
            return known;
        }
        let is_less = self.choices.pick(2) == 1;
        let relation = if is_less { Relation::Less } else { Relation::AtLeast };
        self.state.numbers.facts.push(Fact { first: a, relation, second: b });
        is_less
    }
}

/// The numbers that the bases of a view are in a state.
#[derive(Clone, Default)]
pub struct Translation(Vec<(u32, Scalar)>);

impl Translation {
    /// Whether a number of the view can be this one of the state; a base is one number.
    pub fn pair(&mut self, base: u32, offset: i32, state: Scalar) -> bool {
        let meant = offset.checked_neg().and_then(|back| shifted(state, back));
        let Some(meant) = meant else { return false };
        match self.0.iter().find(|(known, _)| *known == base) {
            Some((_, number)) => *number == meant,
            None => {
                self.0.push((base, meant));
                true
            }
        }
    }

    /// A number of the view as one of the state; none if its base is not known there.
    pub fn scalar(&self, scalar: Scalar) -> Option<Scalar> {
        match scalar {
            Scalar::Number(base, offset) => {
                let known = self.0.iter().find(|(known, _)| *known == base)?;
                shifted(known.1, offset)
            }
            other => Some(other),
        }
    }

    /// Whether all that a view says about numbers is true in a state.
    pub fn describes(&self, view: &Numbers, state: &Numbers) -> bool {
        let fact = |fact: &Fact| {
            let both = self.scalar(fact.first).zip(self.scalar(fact.second));
            both.is_some_and(|(first, second)| {
                implied(&Fact { first, second, ..*fact }, &state.facts)
            })
        };
        let answer = |words: &Vec<Scalar>| words.iter().map(|w| self.scalar(*w)).collect();
        let answers: Option<Option<Vec<Scalar>>> = view.answer.as_ref().map(answer);
        view.facts.iter().all(fact)
            && view.moments.iter().all(|moment| state.moments.iter().any(|m| self.was(moment, m)))
            && answers == state.answer.clone().map(Some)
    }

    /// Whether a moment of the view is one of the state. A base that stands nowhere else in the view
    /// may be any number: each moment speaks of a time of its own.
    fn was(&self, view: &[Scalar], state: &[Scalar]) -> bool {
        let mut bases = self.clone();
        let mut same = |(view, state): (&Scalar, &Scalar)| match *view {
            Scalar::Number(base, offset) => bases.pair(base, offset, *state),
            view => view == *state,
        };
        view.len() == state.len() && view.iter().zip(state).all(&mut same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For two facts about two bases and a constant, and all worlds that fulfil them: an answer
    /// that is given is theirs.
    #[test]
    fn answers_are_those_of_all_numbers_that_fulfil_the_facts() {
        let scalars = [
            Scalar::Int(0),
            Scalar::Int(1),
            Scalar::Number(0, 0),
            Scalar::Number(0, 1),
            Scalar::Number(1, 0),
            Scalar::Number(1, -1),
        ];
        let meaning = |scalar: Scalar, world: &[i32; 2]| match scalar {
            Scalar::Number(base, offset) => world[base as usize] + offset,
            Scalar::Int(n) => n,
            _ => 0,
        };
        let holds = |f: &Fact, world: &[i32; 2]| {
            let (a, b) = (meaning(f.first, world), meaning(f.second, world));
            match f.relation {
                Relation::Less => a < b,
                Relation::AtLeast => a >= b,
                Relation::Differ => a != b,
            }
        };
        let mut facts = Vec::new();
        for first in scalars {
            for second in scalars {
                for relation in [Relation::Less, Relation::AtLeast, Relation::Differ] {
                    facts.push(Fact { first, relation, second });
                }
            }
        }
        let worlds: Vec<[i32; 2]> = (0..81).map(|w| [w % 9 - 4, w / 9 - 4]).collect();
        let mut decided = 0;
        for (f, g) in facts.iter().flat_map(|f| facts.iter().map(move |g| (*f, *g))) {
            let right = worlds.iter().filter(|w| holds(&f, w) && holds(&g, w));
            let right: Vec<_> = right.collect();
            for (a, b) in scalars.iter().flat_map(|a| scalars.iter().map(move |b| (*a, *b))) {
                let said = (equal(a, b, &[f, g]), less(a, b, &[f, g]));
                for world in &right {
                    let (x, y) = (meaning(a, world), meaning(b, world));
                    assert!(said.0.is_none_or(|e| e == (x == y)), "{f:?} {g:?} {a:?} {b:?}");
                    assert!(said.1.is_none_or(|l| l == (x < y)), "{f:?} {g:?} {a:?} {b:?}");
                    decided += u32::from(said.1.is_some());
                }
            }
        }
        assert!(decided > 10_000);
    }
}
