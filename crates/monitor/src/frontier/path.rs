//! How a configuration came about: its operations in the order in which they took effect.
//!
//! Configurations that come from the same one share the beginning of their paths.

use std::rc::Rc;

/// The number of an operation among all that were ever called.
pub type Serial = u64;

/// What an operation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It changed the state.
    Change(Serial),
    /// It saw the state after so many changes.
    Look(Serial, u64),
}

/// The steps that are not placed in an order yet; the newest is at hand.
#[derive(Clone, Default)]
pub struct Path {
    newest: Option<Rc<Node>>,
    /// How many changes were placed before.
    placed: u64,
}

struct Node {
    step: Step,
    /// How many changes there are up to here, those that were placed before included.
    changes: u64,
    length: usize,
    older: Option<Rc<Node>>,
}

impl Path {
    /// A path of these steps after so many changes.
    pub fn of(placed: u64, steps: impl IntoIterator<Item = Step>) -> Self {
        steps.into_iter().fold(Path { newest: None, placed }, |path, step| path.with(step))
    }

    /// The path with one more step.
    pub fn with(&self, step: Step) -> Self {
        let changes = self.changes() + u64::from(matches!(step, Step::Change(_)));
        let node = Node { step, changes, length: self.len() + 1, older: self.newest.clone() };
        Path { newest: Some(Rc::new(node)), placed: self.placed }
    }

    /// How many changes there were from the beginning.
    pub fn changes(&self) -> u64 {
        self.newest.as_ref().map_or(self.placed, |node| node.changes)
    }

    /// How many of them were placed before this path begins.
    pub fn placed(&self) -> u64 {
        self.placed
    }

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.newest.as_ref().map_or(0, |node| node.length)
    }

    /// The steps, oldest first.
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::with_capacity(self.len());
        let mut next = self.newest.as_ref();
        while let Some(node) = next {
            steps.push(node.step);
            next = node.older.as_ref();
        }
        steps.reverse();
        steps
    }
}

/// A long path is dropped step by step: the stack would not hold a call for each.
impl Drop for Path {
    fn drop(&mut self) {
        let mut next = self.newest.take();
        while let Some(Ok(mut node)) = next.map(Rc::try_unwrap) {
            next = node.older.take();
        }
    }
}
