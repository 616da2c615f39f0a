//! Which of the values that are not tracked are equal, during one step on a cell.
//!
//! All of them look alike in a view, and two may be equal or not. A step may compare the same two
//! twice and must get the same answer: at its begin every place gets a name for its value, copies
//! keep it, and answers are remembered. Afterwards the names are forgotten. For every concrete step
//! there are answers that it gives, so no case is lost; answers that no values give are not given.

use crate::scalar::Scalar;
use crate::state::State;
use seriatim_lang::choices::Choices;

/// The first name: below are the colours.
const FIRST: u8 = 2;

/// Names, and what is known of them.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// For each name its group; those in one group are equal.
    group: Vec<u8>,
    /// Groups that are different.
    apart: Vec<(u8, u8)>,
}

impl Names {
    /// A value that is not tracked, of which nothing else is known; without a name if there are too
    /// many.
    pub fn another(&mut self) -> Scalar {
        let name = self.group.len() as u8;
        if usize::from(FIRST) + self.group.len() >= 250 {
            return Scalar::Value(0);
        }
        self.group.push(name);
        Scalar::Value(FIRST + name)
    }

    /// Gives names to all values of a state that are not tracked.
    pub fn give(&mut self, state: &mut State, registers: &mut [Scalar]) {
        let fields = state.records.iter_mut().flat_map(|r| &mut r.fields);
        let scalars = state.graph.shared.iter_mut().chain(registers).chain(fields);
        for scalar in scalars.filter(|w| **w == Scalar::Value(0)) {
            *scalar = self.another();
        }
    }

    /// Whether two values are equal; both answers are picked where it is not known.
    pub fn equal(&mut self, a: u8, b: u8, choices: &mut Choices) -> bool {
        match (a.checked_sub(FIRST), b.checked_sub(FIRST)) {
            (Some(a), Some(b)) => self.equal_names(a, b, choices),
            // The tracked value is none of the others.
            _ if a == 1 || b == 1 => a == b,
            _ => choices.pick(2) == 1,
        }
    }

    fn equal_names(&mut self, a: u8, b: u8, choices: &mut Choices) -> bool {
        let (a, b) = (self.group[a as usize], self.group[b as usize]);
        if a == b {
            return true;
        }
        if self.apart.contains(&(a, b)) || self.apart.contains(&(b, a)) {
            return false;
        }
        let equal = choices.pick(2) == 1;
        if equal {
            let join = |group: &mut u8| *group = if *group == a { b } else { *group };
            self.group.iter_mut().for_each(join);
            self.apart.iter_mut().for_each(|(c, d)| {
                join(c);
                join(d);
            });
        } else {
            self.apart.push((a, b));
        }
        equal
    }
}

/// A scalar without its name.
pub fn nameless(scalar: Scalar) -> Scalar {
    match scalar {
        Scalar::Value(name) if name >= FIRST => Scalar::Value(0),
        other => other,
    }
}

/// Forgets all names in a state.
pub fn forget(state: &mut State, registers: &mut [Scalar]) {
    let fields = state.records.iter_mut().flat_map(|r| &mut r.fields);
    let scalars = state.graph.shared.iter_mut().chain(registers).chain(fields);
    scalars.for_each(|w| *w = nameless(*w));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All answers to all questions about four values, each asked twice, are those of the fifteen
    /// ways to be equal.
    #[test]
    fn answers_are_those_of_some_values_and_all_of_them_come_up() {
        let pairs: Vec<(u8, u8)> = (0..4).flat_map(|a| (0..a).map(move |b| (a, b))).collect();
        let mut found = std::collections::BTreeSet::new();
        let mut choices = Choices::default();
        loop {
            let mut names = Names::default();
            let values: Vec<u8> = (0..4)
                .map(|_| if let Scalar::Value(name) = names.another() { name } else { 0 })
                .collect();
            let mut ask = |(a, b): &(u8, u8)| {
                names.equal(values[*a as usize], values[*b as usize], &mut choices)
            };
            let answers: Vec<bool> = pairs.iter().map(&mut ask).collect();
            assert_eq!(answers, pairs.iter().map(ask).collect::<Vec<_>>());
            found.insert(answers);
            if !choices.advance() {
                break;
            }
        }
        let mut wanted = std::collections::BTreeSet::new();
        for code in 0..256usize {
            let value = |i: u8| code >> (2 * i) & 3;
            wanted.insert(pairs.iter().map(|(a, b)| value(*a) == value(*b)).collect::<Vec<_>>());
        }
        assert_eq!(found, wanted);
        assert_eq!(wanted.len(), 15);
    }
}
