//! All minimal choices of orderings that hold.
//!
//! *Theorem.* What holds with weaker orderings holds with stronger ones: a stronger ordering only
//! adds to happens-before and to the order of `seqcst` events, so that every execution with it is
//! one without it (Lahav, Vafeiadis, Kang, Hur and Dreyer, PLDI 2017). The choices that hold are
//! therefore closed upwards, and those that fail downwards. A choice above a known minimal one
//! holds, one below a known maximal failing one fails; any other is tried, and gives a new minimal
//! one, by weakening, or a new maximal failing one, by strengthening. When there is none left, all
//! minima are known (as in the enumeration of minimal unsatisfiable sets by Liffiton, Previti,
//! Malik and Marques-Silva, 2016).
//!
//! *It would be unsound* to take a choice that was not decided for one that fails: then the list is
//! said to be incomplete. Every minimum was itself explored.

use seriatim_lang::steps::Ordering;
use seriatim_spec::Cancel;

/// The minimal choices, one ordering for each site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Minima {
    /// The choices that were found.
    pub choices: Vec<Vec<Ordering>>,
    /// Whether there are no others.
    pub complete: bool,
}

/// What an exploration says of a choice: it holds, it fails, or neither is known.
pub(super) type Known = Option<bool>;

/// The most explorations for one list.
const MOST: u32 = 4096;

/// Whether an ordering asks for no more than another.
pub(super) fn is_at_most(weaker: Ordering, stronger: Ordering) -> bool {
    use Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
    weaker == stronger
        || matches!((weaker, stronger), (Relaxed, _) | (_, SeqCst) | (Acquire | Release, AcqRel))
}

/// The minimal choices that hold; `ladders` has for each site the orderings that it may have,
/// weaker ones first and that of the source last.
pub(super) fn minima<E>(
    ladders: &[Vec<Ordering>],
    try_out: &mut dyn FnMut(&[Ordering]) -> Result<Known, E>,
) -> Result<Minima, E> {
    let mut hunt = Hunt { ladders, minimal: vec![], failing: vec![], left: MOST, complete: true };
    while let Some(choice) = hunt.unexplored() {
        if hunt.left == 0 || Cancel::of_process().is_raised() {
            hunt.complete = false;
            break;
        }
        match hunt.holds(&choice, try_out)? {
            Some(true) => {
                let minimal = hunt.pushed(choice, true, try_out)?;
                hunt.minimal.push(minimal);
            }
            Some(false) => {
                let maximal = hunt.pushed(choice, false, try_out)?;
                hunt.failing.push(maximal);
            }
            None => hunt.failing.push(choice),
        }
    }
    Ok(Minima { choices: hunt.minimal, complete: hunt.complete })
}

struct Hunt<'h> {
    ladders: &'h [Vec<Ordering>],
    minimal: Vec<Vec<Ordering>>,
    /// Maximal ones, and those of which nothing is known.
    failing: Vec<Vec<Ordering>>,
    left: u32,
    complete: bool,
}

impl Hunt<'_> {
    fn holds<E>(
        &mut self,
        choice: &[Ordering],
        try_out: &mut dyn FnMut(&[Ordering]) -> Result<Known, E>,
    ) -> Result<Known, E> {
        self.left = self.left.saturating_sub(1);
        let known = try_out(choice)?;
        self.complete &= known.is_some();
        Ok(known)
    }

    /// Makes a choice that holds minimal, or one that fails maximal, site by site: once a site can
    /// go no further, it never can.
    fn pushed<E>(
        &mut self,
        mut choice: Vec<Ordering>,
        holds: bool,
        try_out: &mut dyn FnMut(&[Ordering]) -> Result<Known, E>,
    ) -> Result<Vec<Ordering>, E> {
        for (site, ladder) in self.ladders.iter().enumerate() {
            let now = choice[site];
            let is_further = |order: Ordering| match holds {
                true => order != now && is_at_most(order, now),
                false => order != now && is_at_most(now, order),
            };
            let mut further: Vec<Ordering> =
                ladder.iter().copied().filter(|&order| is_further(order)).collect();
            // The furthest first.
            if !holds {
                further.reverse();
            }
            for order in further {
                let pushed = with(&choice, site, order);
                if self.holds(&pushed, try_out)? == Some(holds) {
                    choice = pushed;
                    break;
                }
            }
        }
        Ok(choice)
    }

    /// A choice of which nothing follows from what is known.
    fn unexplored(&self) -> Option<Vec<Ordering>> {
        let mut choice = vec![];
        self.search(&mut choice).then_some(choice)
    }

    fn search(&self, choice: &mut Vec<Ordering>) -> bool {
        if !self.can_escape(choice) {
            return false;
        }
        let Some(ladder) = self.ladders.get(choice.len()) else { return true };
        for order in ladder.iter().rev() {
            choice.push(*order);
            if self.search(choice) {
                return true;
            }
            choice.pop();
        }
        false
    }

    /// Whether the sites that are still open can take a choice out of the reach of all that is
    /// known.
    fn can_escape(&self, choice: &[Ordering]) -> bool {
        let open = choice.len()..self.ladders.len();
        let below = |known: &Vec<Ordering>| {
            choice.iter().zip(known).any(|(order, known)| !is_at_most(*known, *order))
                || open.clone().any(|site| !is_at_most(known[site], self.ladders[site][0]))
        };
        let above = |known: &Vec<Ordering>| {
            let top = |site: usize| self.ladders[site][self.ladders[site].len() - 1];
            choice.iter().zip(known).any(|(order, known)| !is_at_most(*order, *known))
                || open.clone().any(|site| !is_at_most(top(site), known[site]))
        };
        self.minimal.iter().all(below) && self.failing.iter().all(above)
    }
}

/// The choice with another ordering at a site.
fn with(choice: &[Ordering], site: usize, order: Ordering) -> Vec<Ordering> {
    let mut other = choice.to_vec();
    other[site] = order;
    other
}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_testing::Random;

    const LADDERS: [&[Ordering]; 4] = [
        &Ordering::ALL,
        &[Ordering::Relaxed, Ordering::Acquire],
        &[Ordering::Relaxed, Ordering::Release, Ordering::SeqCst],
        &Ordering::ALL,
    ];

    fn all(ladders: &[Vec<Ordering>]) -> Vec<Vec<Ordering>> {
        ladders.iter().fold(vec![vec![]], |all, ladder| {
            let longer = |choice: &Vec<Ordering>| -> Vec<Vec<Ordering>> {
                ladder.iter().map(|order| [&choice[..], &[*order]].concat()).collect()
            };
            all.iter().flat_map(longer).collect()
        })
    }

    fn covers(weaker: &[Ordering], stronger: &[Ordering]) -> bool {
        weaker.iter().zip(stronger).all(|(a, b)| is_at_most(*a, *b))
    }

    #[test]
    fn every_minimum_of_a_random_demand_is_found_and_nothing_else() {
        let mut random = Random(7);
        let ladders: Vec<Vec<Ordering>> = LADDERS.iter().map(|ladder| ladder.to_vec()).collect();
        let all = all(&ladders);
        for _ in 0..200 {
            let seeds: Vec<&Vec<Ordering>> =
                (0..random.index(4)).map(|_| &all[random.index(all.len())]).collect();
            let holds = |choice: &[Ordering]| seeds.iter().any(|seed| covers(seed, choice));
            let is_minimal = |choice: &&Vec<Ordering>| {
                holds(choice) && !all.iter().any(|c| c != *choice && covers(c, choice) && holds(c))
            };
            let mut expected: Vec<Vec<Ordering>> = all.iter().filter(is_minimal).cloned().collect();
            let found = minima::<()>(&ladders, &mut |choice| Ok(Some(holds(choice)))).unwrap();
            let mut choices = found.choices;
            choices.sort();
            expected.sort();
            assert!(found.complete);
            assert_eq!(choices, expected);
        }
    }

    #[test]
    fn what_is_not_decided_makes_the_list_incomplete() {
        let ladders = [vec![Ordering::Relaxed, Ordering::Acquire]];
        let known = |choice: &[Ordering]| (choice[0] == Ordering::Acquire).then_some(true);
        let found = minima::<()>(&ladders, &mut |choice| Ok(known(choice))).unwrap();
        assert_eq!(found, Minima { choices: vec![vec![Ordering::Acquire]], complete: false });
    }
}
