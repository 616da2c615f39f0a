//! Checks certificates of proofs. It shares the language with the prover, and nothing else: what a
//! view means, what a step does to it, what others notice of a step and what must hold are written
//! down here a second time, from the theorem.
//!
//! A certificate is a set of *views* and a set of *effects*. A view describes pairs of a concrete
//! state and a thread: where the thread is, what it has seen and done since its call, and
//! everything that it can reach, as a heap graph with segments of nodes that nobody names
//! ([`heap_graph`]). An effect describes pairs of shared states before and after a step
//! ([`effect`], `path_constraint`).
//!
//! *Theorem.* Suppose that
//! 1. the content of the object is empty at the start, and an idle thread is described there by a
//!    view;
//! 2. for every view, every step of its thread changes the content as its operation may or not at
//!    all, a result that is returned is the correct one (`content`), and the thread is described by
//!    a view afterwards;
//! 3. every such step that others can see is described by an effect;
//! 4. every effect, in every way in which it fits a view of another thread, leads to a state
//!    described by a view.
//!
//! Then, by induction on the length of a run with any number of threads, every thread is described
//! by a view in every state, so that every step of every run passed the checks of 2, and every
//! history is linearizable: an operation that changes the content takes effect at that step,
//! another one at the moment that its history bit stands for. That one tracked key stands for all,
//! and two colours for all values, is the locality of linearizability (Herlihy and Wing, TOPLAS
//! 1990) and data independence (Wolper, POPL 1986); the checker refuses programs that do more with
//! keys than compare them, or more with values than copy them.
//!
//! Published records and elimination (`record`, `help`), cells with installed operations (`cell`,
//! `meaning`) and contents that are a number (`counter`, `number_spec`) have theorems of their own,
//! in these files, with the same induction. What others notice of such steps is not in the
//! certificate but collected from all steps, between 2 and 4.
//!
//! *Side conditions*, each with its place in the code: facts are compared only by those for whom
//! they mean the same (`sort`); a view claims nothing that the state does not ([`cover`]); an
//! effect says nothing that is not certain for the acting thread, and everything that the step
//! changed ([`effect`]); an effect is left out of a view only where it cannot happen
//! (`interference`); what the checker does not understand, in the program ([`object`]), in a step
//! (`execute`) or in the text ([`certificate`]), it rejects; and it gives up within limits, which
//! is a rejection as well (`limits`). The certificate is taken to be written by an enemy. What such
//! a one might try is listed in `docs/certificates.md`, with a test for each.
//!
//! There is no search, no join and no fixpoint here: every state that comes up is looked for in the
//! certificate ([`cover`]). *Cost:* views times effects, times the ways to fit. What the checker
//! does not understand, it rejects. *What would make it unsound*: a view that is held to cover a
//! state that it does not describe; a case that is forgotten when a segment is split or an effect
//! is fitted; an effect that says more than is certain; a check that is left out. Each file says
//! which of these it has to avoid.
//!
//! ```
//! let source = "object o : stack
//! struct Node { val: value, next: Node? }
//! var top: Node? = null
//! method push(v: value) { atomic { top = new Node { val: v, next: top } } }
//! method pop() -> value? {
//!   atomic {
//!     let t = top
//!     if t == null { return empty }
//!     top = t.next
//!     return t.val
//!   }
//! }";
//! let program = seriatim_lang::check(source).unwrap();
//! let outcome = seriatim_prove::prove(&program, &seriatim_prove::Options::default());
//! let seriatim_prove::Outcome::Proved(proof) = outcome else { panic!() };
//! let certificate = proof.certificate(&program).unwrap();
//! assert!(seriatim_certify::certify(&program, &certificate).is_ok());
//! assert!(seriatim_certify::certify(&program, "seriatim certificate 1\n").is_err());
//! ```

#![forbid(unsafe_code)]

mod alike;
mod cell;
pub mod certificate;
mod content;
mod counter;
pub mod cover;
pub mod draw;
pub mod effect;
mod execute;
pub mod heap_graph;
mod help;
mod index;
mod interference;
mod limits;
mod list_spec;
mod lock_order;
mod meaning;
mod names;
pub mod needs;
mod number;
mod number_spec;
pub mod object;
pub mod pass;
mod path_constraint;
mod record;
mod reduce;
pub mod scalar;
mod sort;
pub mod state;
mod steps_text;
mod trim;

pub use certificate::{Certificate, Unreadable};
pub use object::Object;
pub use pass::{Pass, Rejection};
pub use steps_text::steps_text;
pub use trim::{trimmed, trimmed_and_certified};

use seriatim_lang::Program;

/// What was accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Accepted {
    /// How many views there were.
    pub views: usize,
    /// How many effects.
    pub effects: usize,
    /// The shared variable from which the content is reached.
    pub root: String,
    /// Whether threads take their locks in an order, and wait for nothing else: then they never all
    /// stand still.
    pub locks_in_order: bool,
}

/// Why a certificate was not accepted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// The program is outside of the class that the checker understands.
    Program(String),
    /// The text is no certificate of this program.
    Text(Unreadable),
    /// The certificate proves nothing.
    Proof(String),
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Program(why) => {
                write!(f, "the checker does not understand the program: {why}")
            }
            Refusal::Text(why) => write!(f, "{why}"),
            Refusal::Proof(why) => write!(f, "the certificate proves nothing: {why}"),
        }
    }
}

impl std::error::Error for Refusal {}

/// Checks a certificate of a program.
pub fn certify(program: &Program, text: &str) -> Result<Accepted, Refusal> {
    certify_within(program, text, limits::WORK)
}

/// Checks a certificate of a program, and rejects it if it has more cases than this.
pub fn certify_within(program: &Program, text: &str, work: u64) -> Result<Accepted, Refusal> {
    let object = Object::named_in(program, text).map_err(Refusal::Program)?;
    let certificate = certificate::read(text, &object).map_err(Refusal::Text)?;
    accepted(program, &object, &certificate, work)
}

fn accepted(
    program: &Program,
    object: &Object,
    certificate: &Certificate,
    work: u64,
) -> Result<Accepted, Refusal> {
    let pass = Pass::new(object, certificate).within(work);
    pass.run().map_err(|rejection| Refusal::Proof(rejection.told(program, object)))?;
    let variables = certificate.content.variables();
    let names: Vec<&str> = variables.map(|v| object.steps.shared[v].name.as_str()).collect();
    Ok(Accepted {
        views: certificate.views.len(),
        effects: certificate.effects.len(),
        root: names.join(", "),
        locks_in_order: lock_order::is_kept(program, object, certificate),
    })
}
