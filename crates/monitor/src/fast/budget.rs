//! How long a monitor that branches may go on.
//!
//! Most monitors take little more time than reading takes. Some branch, though, where values repeat
//! or removals are pending, and then the general search may be faster by any factor. So these say
//! from time to time how much they have done, and whoever asked them says whether to go on;
//! meanwhile he may let the search take a turn.

use std::cell::Cell;

/// Says whether a monitor may go on. Work is counted in operations looked at, some hundred
/// nanoseconds each.
pub trait Budget {
    /// Spends some work; whether the monitor may go on.
    fn spend(&self, work: usize) -> bool;

    /// Whether a monitor may begin to guess, about so many operations.
    fn lets_guess(&self, _operations: usize) -> bool {
        true
    }
}

/// A monitor may take as long as it likes.
pub struct Unlimited;

impl Budget for Unlimited {
    fn spend(&self, _: usize) -> bool {
        true
    }
}

/// The work of a monitor that branches before it has to compete with the search, besides some for
/// each operation.
const FIRST_WORK: usize = 1 << 8;

/// Histories of more operations take long to be made ready for the search. Of shorter ones it often
/// finds an order before a guess is made.
const LONG: usize = 1 << 11;

/// The work that a monitor may do for so many operations before it has to compete with the search,
/// and begin anew: about two guesses, or some more where it takes the search as long to begin.
pub(crate) fn part_allowance(operations: usize) -> usize {
    FIRST_WORK + 2 * operations + 6 * operations.saturating_sub(LONG)
}

/// A monitor may do so much and no more.
pub struct Allowance {
    left: Cell<usize>,
}

impl Allowance {
    /// So much work.
    pub fn new(work: usize) -> Self {
        Allowance { left: Cell::new(work) }
    }

    /// Whether a monitor was stopped for lack of it.
    pub fn is_spent(&self) -> bool {
        self.left.get() == 0
    }
}

impl Budget for Allowance {
    fn spend(&self, work: usize) -> bool {
        self.left.set(self.left.get().saturating_sub(work));
        !self.is_spent()
    }

    fn lets_guess(&self, operations: usize) -> bool {
        if operations <= LONG {
            self.left.set(0);
        }
        !self.is_spent()
    }
}
