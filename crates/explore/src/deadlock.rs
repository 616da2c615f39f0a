//! Threads that all wait, and whether they are right to wait.
//!
//! *Claim*: an object deadlocks if, in some reachable state, no thread can go on, some thread is
//! inside of an operation, and the specification would let one of the pending operations go on.
//!
//! *Definition*. The specification *blocks as well* after a history if some linearization of its
//! completed operations, without any of the pending ones, leads to a state in which no pending
//! operation is enabled. An operation that is not enabled there cannot take effect, so no object
//! that refines the specification could let it return: the object waits because it must (`take` on
//! an empty buffer). If there is no such linearization, then in whatever order the completed
//! operations took effect, the specification lets some pending operation take effect, or needs that
//! one has done so already: an object that stands still there is at fault, however few of its
//! operations stand still.
//!
//! *Theorem*. The configuration set `S` of a run holds all configurations that the history allows
//! (see `configurations`). The specification blocks as well iff a configuration of `S` has no
//! thread that took effect without having returned, and none whose called operation has an effect.
//! Such a configuration is no effect-successor of another one, since an effect leaves a thread that
//! took effect; so it is one of the roots, and looking at the stored roots is enough. *Antichain*:
//! `S ⊆ T` and blocking as well in `S` give the same in `T`, so a deadlock with `T` is one with
//! `S`, and dropping `(s, T)` for `(s, S)` loses none.
//!
//! *Beginnings that wait*. With fused steps a call is no step of its own: an idle thread either
//! takes a call together with its first access or stays idle. Nor is a fused access
//! (`granularity`): before the first access that is a step, a thread may read what nobody writes,
//! fill its own nodes, and look at its registers. A thread that waits behind such a *beginning* is
//! therefore nowhere among the states: they have it where it stood before, idle or before a
//! condition over registers. A deadlock in which such threads take part would be missed. It is
//! found from the state before these beginnings: nobody notices what they do, so the threads can
//! take them one after another, and what waits now still waits afterwards. A thread that waits in
//! its client, outside of every operation, is the client's matter.
//!
//! *Decided*: whether threads can take beginnings such that then every thread waits or has ended,
//! and the specification does not block as well. Exact: the beginnings are taken access by access
//! on the machine with fine steps ([`Subject::is_beginning`] tells where they end), and all choices
//! are tried until one of them is a deadlock. *Cost*: the product of the choices of the threads in
//! the worst case; it is asked only of states in which each thread has some step that waits.
//!
//! It would be unsound to judge with the set before the calls (a pending operation would be
//! overlooked), to stop at the first calls after which all wait (the specification may block there,
//! and not after others), or to look no further than the call itself.

use crate::subject::Subject;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Machine, Seen, State, Stop};

/// A fine step of a beginning behind which its thread waits: the call, or a fused access.
pub struct Commitment {
    /// Which thread.
    pub thread: usize,
    /// The state before it.
    pub from: State,
    /// Its choices.
    pub choices: Choices,
    /// What others see of it.
    pub seen: Seen,
}

/// What is known of the threads in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// None of them can take a step, whatever it chooses; so an idle one waits after any call.
    AllWait,
    /// Each has some step that waits, and perhaps others.
    EachMayWait,
}

/// Says whether the object must not wait after these steps, or why nobody knows.
pub type Judge<'j, E> = &'j mut dyn FnMut(&[Commitment]) -> Result<bool, E>;

/// Beginnings after which no thread can go on though the specification could, if there are any.
pub fn deadlock<E>(
    subject: &Subject,
    state: &State,
    known: Known,
    is_unjustified: Judge<'_, E>,
) -> Result<Option<Vec<Commitment>>, E> {
    let mut hunt = Hunt { subject, known, is_unjustified, made: Vec::new() };
    let found = hunt.commit(state, 0)?;
    Ok(found.then_some(hunt.made))
}

struct Hunt<'h, E> {
    subject: &'h Subject,
    known: Known,
    is_unjustified: Judge<'h, E>,
    made: Vec<Commitment>,
}

impl<E> Hunt<'_, E> {
    /// Tries to make all threads from this one on wait.
    fn commit(&mut self, state: &State, thread: usize) -> Result<bool, E> {
        let fine = &self.subject.fine;
        if thread == fine.thread_count() {
            return (self.is_unjustified)(&self.made);
        }
        match (fine.is_idle(state, thread), next_step(fine, state, thread)) {
            // An idle thread that waits does so in its client: it cannot even call.
            (true, Next::Ended | Next::Waits) | (false, Next::Waits) => {
                self.commit(state, thread + 1)
            }
            (false, _) if self.known == Known::AllWait => self.commit(state, thread + 1),
            _ => self.begin(state, thread),
        }
    }

    /// Tries all ways to go on in a beginning behind which the thread waits.
    fn begin(&mut self, state: &State, thread: usize) -> Result<bool, E> {
        let mut choices = Choices::default();
        let mut to = State::default();
        loop {
            let taken = self.subject.fine.run(state, thread, &mut choices, &mut to);
            if let Ok(seen) = taken
                && self.subject.is_beginning(state, thread, &choices)
            {
                let (from, choices) = (state.clone(), choices.clone());
                self.made.push(Commitment { thread, from, choices, seen });
                if self.commit(&to, thread)? {
                    return Ok(true);
                }
                self.made.pop();
            }
            if !choices.advance() {
                return Ok(false);
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Moves,
    Waits,
    Ended,
}

/// Whether a thread can take a step, with some choices at least. A step that leaves the bounds
/// counts: the run that takes it is real, though nobody looks at it.
fn next_step(fine: &Machine, state: &State, thread: usize) -> Next {
    let mut choices = Choices::default();
    let mut to = State::default();
    let mut found = Next::Ended;
    loop {
        match fine.run(state, thread, &mut choices, &mut to) {
            Err(Stop::Waits) => found = Next::Waits,
            Err(Stop::Ended) => {}
            Ok(_) | Err(Stop::Bounded(_) | Stop::Disordered | Stop::Fault(..)) => {
                return Next::Moves;
            }
        }
        if !choices.advance() {
            return found;
        }
    }
}
