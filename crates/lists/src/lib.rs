//! Decides whether a parallel composition of methods of a sorted list-based set is linearizable on
//! *every* list of *any* length with *any* keys.
//!
//! *Theorem*: for fixed compositions this is decidable (Černý, Radhakrishna, Zufferey, Chaudhuri,
//! Alur, CAV 2010). *Method*: not theirs, but a finite abstraction of the list into nodes that
//! matter and segments between them; see `docs/lists.md` for the rules and why a *yes* is a proof.
//! *Cost*: thousands of states for two operations, millions for three. *Precondition*: the program
//! is in the class that the module `class` recognises; others get a [`Refusal`] with the place. A
//! *no* is a concrete run, executed by the machine; without one the answer is *unknown*.
//!
//! ```
//! # let source = include_str!("../../../algorithms/broken/harris_michael_first_printing.seri");
//! use seriatim_lists::{Options, Verdict, decide, parse_composition};
//!
//! let program = seriatim_lang::check(source).unwrap();
//! let twice = parse_composition("remove || remove").unwrap();
//! let outcome = decide(&program, &twice, &Options::default()).unwrap();
//! let Verdict::Fails(run) = &outcome.elements else { panic!("one element was removed twice") };
//! assert!(run.how(&program).contains("remove(1) = true, remove(1) = true"));
//! ```

#![forbid(unsafe_code)]

#[cfg(test)]
mod agreement;
mod answer;
mod cases;
mod class;
mod composition;
mod decide;
mod expectation;
#[cfg(test)]
mod explored;
mod guide;
mod monitor;
mod movers;
#[cfg(test)]
mod mutants;
mod normal;
mod opinion;
mod oracle;
#[cfg(test)]
mod random;
mod replay;
mod run;
mod search;
#[cfg(test)]
mod simulation;
mod state;
mod step;
mod store;
mod subject;

pub use cases::{Case, Input, Presence};
pub use class::{Effect, Refusal};
pub use composition::{
    Composition, CompositionError, MAX_OPERATIONS, all_compositions, parse_composition,
};
pub use decide::{Options, Outcome, Reason, Verdict, decide, table};
pub use expectation::{Equality, Expectation, client_composition, expectations};
pub use monitor::Operation;
pub use movers::Reductions;
pub use opinion::Opinion;
pub use replay::{Counterexample, Effort, Pictured, PicturedKey, ShownOperation, ShownStep};
pub use run::picture;
pub use search::Violation;
pub use step::Access;
