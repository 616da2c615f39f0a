//! What is known about the differences of unknown numbers: the answers that comparisons gave.
//!
//! A fact is about the difference of two bases, or about one base: that it is not `d`, is less than
//! `d`, or is at least `d`. A base stands for one number as long as a view names it, so a fact
//! stays true whatever other threads do. Law: an answer is given only if all numbers that fulfil
//! the facts agree on it. It would be unsound to keep a fact about a base whose name has gone to
//! another number.

use crate::value::Val;
use std::cmp::Ordering;

/// Constants beyond this one are not remembered.
const LARGEST: i32 = 128;
/// So many facts are remembered.
const MOST: usize = 12;

/// How a difference compares with a constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Relation {
    /// It is another one.
    IsNot,
    /// It is less.
    Less,
    /// It is the same or greater.
    AtLeast,
}

/// `a - b` compares with `by` like this; without `b`, `a` does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Fact {
    /// A base.
    pub a: u8,
    /// Another base.
    pub b: Option<u8>,
    /// How they compare.
    pub relation: Relation,
    /// With what.
    pub by: i32,
}

/// The difference of two numbers as that of two bases and a constant: `a - b + by`, with `a` before
/// `b`; and whether it is the negated one.
fn difference(x: Val, y: Val) -> Option<(u8, Option<u8>, i32, bool)> {
    match (x, y) {
        (Val::Num(a, i), Val::Int(n)) => Some((a, None, i32::from(i).checked_sub(n)?, false)),
        (Val::Int(n), Val::Num(a, i)) => Some((a, None, i32::from(i).checked_sub(n)?, true)),
        (Val::Num(a, i), Val::Num(b, j)) if a < b => {
            Some((a, Some(b), i32::from(i) - i32::from(j), false))
        }
        (Val::Num(a, i), Val::Num(b, j)) if b < a => {
            Some((b, Some(a), i32::from(j) - i32::from(i), true))
        }
        _ => None,
    }
}

/// How two numbers compare, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Known {
    /// Whether they are equal.
    pub equal: Option<bool>,
    /// Whether the first is less.
    pub less: Option<bool>,
}

/// How two numbers compare.
pub fn compare(x: Val, y: Val, facts: &[Fact]) -> Known {
    let exact = match (x, y) {
        (Val::Int(a), Val::Int(b)) => Some(a.cmp(&b)),
        (Val::Num(a, i), Val::Num(b, j)) if a == b => Some(i.cmp(&j)),
        _ => None,
    };
    if let Some(order) = exact {
        return Known {
            equal: Some(order == Ordering::Equal),
            less: Some(order == Ordering::Less),
        };
    }
    let Some((a, b, by, negated)) = difference(x, y) else {
        return Known { equal: None, less: None };
    };
    // The difference of the bases is compared with `at`; the numbers are equal if it is that.
    let (mut low, mut high, at) = (i64::MIN, i64::MAX, -i64::from(by));
    let mut excluded = false;
    for fact in facts.iter().filter(|f| (f.a, f.b) == (a, b)) {
        let d = i64::from(fact.by);
        match fact.relation {
            Relation::IsNot => excluded |= d == at,
            Relation::Less => high = high.min(d - 1),
            Relation::AtLeast => low = low.max(d),
        }
    }
    let equal = (excluded || at < low || high < at).then_some(false);
    let (below, above) = (high < at, low > at);
    let never = |strictly: bool| equal == Some(false) && strictly;
    let less = match negated {
        false if below || never(high == at) => Some(true),
        false if low >= at => Some(false),
        true if above || never(low == at) => Some(true),
        true if high <= at => Some(false),
        _ => None,
    };
    Known { equal, less }
}

/// Remembers that two numbers differ.
pub fn learn_different(x: Val, y: Val, facts: &mut Vec<Fact>) {
    if let Some((a, b, by, _)) = difference(x, y) {
        learn(Fact { a, b, relation: Relation::IsNot, by: -by }, facts);
    }
}

/// Remembers whether one number is less than another.
pub fn learn_order(x: Val, y: Val, less: bool, facts: &mut Vec<Fact>) {
    let Some((a, b, by, negated)) = difference(x, y) else { return };
    // Negated, `x < y` says that the difference is above `-by`.
    let (relation, by) = match (negated, less) {
        (false, true) => (Relation::Less, -by),
        (false, false) => (Relation::AtLeast, -by),
        (true, true) => (Relation::AtLeast, 1 - by),
        (true, false) => (Relation::Less, 1 - by),
    };
    learn(Fact { a, b, relation, by }, facts);
}

fn learn(fact: Fact, facts: &mut Vec<Fact>) {
    let same = |f: &Fact| (f.a, f.b, f.relation) == (fact.a, fact.b, fact.relation);
    if fact.by.abs() > LARGEST {
        return;
    }
    let known = facts.iter().position(|f| same(f) && f.relation != Relation::IsNot);
    match known {
        Some(at) if fact.relation == Relation::Less => facts[at].by = facts[at].by.min(fact.by),
        Some(at) => facts[at].by = facts[at].by.max(fact.by),
        None if facts.len() < MOST && !facts.contains(&fact) => facts.push(fact),
        None => {}
    }
}

/// The facts in terms of other bases: `to` gives a base as a number of those, or `None` if it is
/// gone. What becomes a fact about constants is known without.
pub fn translated(facts: &[Fact], to: impl Fn(u8) -> Option<Val>) -> Vec<Fact> {
    let mut found = Vec::new();
    for fact in facts {
        let (Some(x), Some(y)) = (to(fact.a), fact.b.map_or(Some(Val::Int(0)), &to)) else {
            continue;
        };
        let Some(y) =
            crate::number::combine(seriatim_lang::steps::BinOp::Add, y, Val::Int(fact.by))
        else {
            continue;
        };
        match fact.relation {
            Relation::IsNot => learn_different(x, y, &mut found),
            Relation::Less => learn_order(x, y, true, &mut found),
            Relation::AtLeast => learn_order(x, y, false, &mut found),
        }
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: [Val; 6] =
        [Val::Int(0), Val::Int(1), Val::Num(0, 0), Val::Num(0, 1), Val::Num(1, 0), Val::Num(1, -1)];

    fn meaning(value: Val, bases: &[i32; 2]) -> i32 {
        match value {
            Val::Num(base, offset) => bases[base as usize] + i32::from(offset),
            Val::Int(n) => n,
            _ => i32::MIN,
        }
    }

    /// Every pair of answers to two comparisons, and every third comparison: an answer that is
    /// given is that of all numbers which agree with the first two.
    #[test]
    fn answers_are_those_of_all_numbers_that_fulfil_the_facts() {
        let pairs: Vec<(Val, Val)> =
            NUMBERS.iter().flat_map(|x| NUMBERS.iter().map(|y| (*x, *y))).collect();
        let worlds: Vec<[i32; 2]> = (0..49).map(|w| [w % 7 - 3, w / 7 - 3]).collect();
        for (first, second) in pairs.iter().flat_map(|p| pairs.iter().map(move |q| (*p, *q))) {
            for world in worlds.iter().step_by(5) {
                let mut facts = Vec::new();
                let told = |w: &[i32; 2]| {
                    let less = meaning(second.0, w) < meaning(second.1, w);
                    (meaning(first.0, w) == meaning(first.1, w), less)
                };
                let (equal, less) = told(world);
                if !equal {
                    learn_different(first.0, first.1, &mut facts);
                }
                learn_order(second.0, second.1, less, &mut facts);
                let moved = |b: u8| Some(Val::Num(1 - b, 1));
                let other = translated(&facts, moved);
                for (x, y) in &pairs {
                    let known = compare(*x, *y, &facts);
                    let renamed = |v: Val| match v {
                        Val::Num(base, offset) => Val::Num(1 - base, offset + 1),
                        other => other,
                    };
                    assert_eq!(known, compare(renamed(*x), renamed(*y), &other));
                    // A fact that two numbers are equal is not remembered, but replaced.
                    let fulfils = |w: &&[i32; 2]| told(w).1 == less && (equal || !told(w).0);
                    for w in worlds.iter().filter(fulfils) {
                        let (x, y) = (meaning(*x, w), meaning(*y, w));
                        assert!(known.equal.is_none_or(|e| e == (x == y)));
                        assert!(known.less.is_none_or(|l| l == (x < y)), "{facts:?} {x} {y}");
                    }
                }
            }
        }
    }
}
