//! Which values that are not tracked are equal, during one step.
//!
//! In a view, all values other than the tracked one look alike, and two of them may be equal or
//! not. Within one step a program may compare the same two values twice, and must get the same
//! answer: at the begin of a step each place gets a name for its value, copies keep the name, and
//! answers are remembered. At the end the names are forgotten. Law: for every concrete step there
//! are answers that it gives; answers that contradict each other are given by none.

use crate::value::{OTHER_VALUE, Val};
use crate::view::View;
use seriatim_lang::choices::Choices;

/// The first name: 0 and 1 are colours.
const FIRST: u8 = 2;

/// The names of values, and what is known about their equality.
#[derive(Clone, Debug, Default)]
pub struct Equality {
    /// For each name, one that is known to be equal, or itself.
    equal: Vec<u8>,
    different: Vec<(u8, u8)>,
}

impl Equality {
    /// Gives a name to the value of every place of a view that holds one which is not tracked.
    pub fn name(&mut self, view: &mut View) {
        let fields = view.records.iter_mut().flat_map(|r| &mut r.fields);
        let regs = view.busy.iter_mut().flat_map(|b| &mut b.regs);
        for value in view.globals.iter_mut().chain(regs).chain(fields) {
            if *value == OTHER_VALUE && self.equal.len() < usize::from(u8::MAX - FIRST) {
                *value = Val::Colour(FIRST + self.equal.len() as u8);
                self.equal.push(self.equal.len() as u8);
            }
        }
    }

    fn representative(&self, name: u8) -> u8 {
        let mut at = name;
        while self.equal[at as usize] != at {
            at = self.equal[at as usize];
        }
        at
    }

    /// Whether two colours are equal; where it is not known, both answers are picked.
    pub fn compare(&mut self, a: u8, b: u8, choices: &mut Choices) -> bool {
        match (a.checked_sub(FIRST), b.checked_sub(FIRST)) {
            (Some(a), Some(b)) => self.compare_names(a, b, choices),
            // Places beyond the last name have none.
            (None, None) if Val::Colour(a) == OTHER_VALUE && a == b => choices.pick(2) == 1,
            (None, None) => a == b,
            (Some(_), None) if Val::Colour(b) == OTHER_VALUE => choices.pick(2) == 1,
            (None, Some(_)) if Val::Colour(a) == OTHER_VALUE => choices.pick(2) == 1,
            _ => false,
        }
    }

    fn compare_names(&mut self, a: u8, b: u8, choices: &mut Choices) -> bool {
        let (a, b) = (self.representative(a), self.representative(b));
        if a == b {
            return true;
        }
        let told = |(c, d): &(u8, u8)| {
            let (c, d) = (self.representative(*c), self.representative(*d));
            (c, d) == (a, b) || (d, c) == (a, b)
        };
        if self.different.iter().any(told) {
            return false;
        }
        let equal = choices.pick(2) == 1;
        match equal {
            true => self.equal[a as usize] = b,
            false => self.different.push((a, b)),
        }
        equal
    }
}

/// The value without its name.
pub fn unnamed(value: Val) -> Val {
    match value {
        Val::Colour(c) if c >= FIRST => OTHER_VALUE,
        other => other,
    }
}

impl View {
    /// Forgets the names of values.
    pub fn forget_names(&mut self) {
        let fields = self.records.iter_mut().flat_map(|r| &mut r.fields);
        let regs = self.busy.iter_mut().flat_map(|b| &mut b.regs);
        for value in self.globals.iter_mut().chain(regs).chain(fields) {
            *value = unnamed(*value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All answers to all comparisons of three values, each asked twice: exactly those of the five
    /// ways in which three values can be equal.
    #[test]
    fn answers_are_those_of_some_values() {
        let mut choices = Choices::default();
        let mut found = Vec::new();
        loop {
            let globals = vec![OTHER_VALUE; 3];
            let mut view = View { globals, ..View::default() };
            let mut equality = Equality::default();
            equality.name(&mut view);
            let name = |i: usize| match view.globals[i] {
                Val::Colour(c) => c,
                _ => 0,
            };
            let pairs = [(0, 1), (1, 2), (0, 2), (1, 0), (2, 1), (2, 0)];
            let mut ask = |(a, b)| equality.compare(name(a), name(b), &mut choices);
            let answers = pairs.map(&mut ask);
            assert_eq!(answers[..3], answers[3..]);
            found.push([answers[0], answers[1], answers[2]]);
            view.forget_names();
            assert_eq!(view.globals, vec![OTHER_VALUE; 3]);
            if !choices.advance() {
                break;
            }
        }
        found.sort_unstable();
        let mut wanted = Vec::new();
        for values in [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [0, 1, 2]] {
            let [a, b, c] = values;
            wanted.push([a == b, b == c, a == c]);
        }
        wanted.sort_unstable();
        assert_eq!(found, wanted);
    }
}
