//! Threads that all wait, and whether they are right to wait.
//!
//! *Claim*: an object deadlocks if, in some reachable state, no thread can go on, some thread is inside of an operation,
//! and the specification would let one of the pending operations go on.
//!
//! *Definition*. The specification *blocks as well* after a history if some linearization of its completed operations,
//! without any of the pending ones, leads to a state in which no pending operation is enabled. An operation that is not
//! enabled there cannot take effect, so no object that refines the specification could let it return: the object
//! waits because it must (`take` on an empty buffer). If there is no such linearization, then in whatever order the
//! completed operations took effect, the specification lets some pending operation take effect, or needs that one has
//! done so already: an object that stands still there is at fault, however few of its operations stand still.
//!
//! *Theorem*. The configuration set `S` of a run holds all configurations that the history allows (see
//! `configurations`). The specification blocks as well iff a configuration of `S` has no thread that took effect
//! without having returned, and none whose called operation has an effect. Such a configuration is no
//! effect-successor of another one, since an effect leaves a thread that took effect; so it is one of the roots, and
//! looking at the stored roots is enough. *Antichain*: `S ⊆ T` and blocking as well in `S` give the same in `T`, so a
//! deadlock with `T` is one with `S`, and dropping `(s, T)` for `(s, S)` loses none.
//!
//! *Calls that wait at once*. With fused steps a call is no step of its own: an idle thread either takes a call together
//! with its first access or stays idle. A thread that has called a method which waits at once is therefore nowhere
//! among the states, and a deadlock in which such threads take part would be missed. It is found from the state
//! before these calls: calls write nothing shared, so the threads can make them one after another, and what waits
//! now still waits afterwards. A thread that waits in its client, outside of every operation, is the client's matter.
//!
//! *Decided*: whether threads that are idle in a state can make calls such that then every thread waits or has ended,
//! and the specification does not block as well. Exact: the calls are taken one by one on the machine with fine
//! steps, and all choices are tried until one of them is a deadlock.
//! *Cost*: the product of the choices of the idle threads in the worst case; it is asked only of states in which each
//! thread has some step that waits.
//!
//! It would be unsound to judge with the set before the calls (a pending operation would be overlooked), or to stop at
//! the first calls after which all wait (the specification may block there, and not after others).

use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Machine, Seen, State, Stop};

/// A call after which its thread waits.
pub struct Commitment {
    /// Which thread.
    pub thread: usize,
    /// The state before the call.
    pub from: State,
    /// The choices of the call.
    pub choices: Choices,
    /// What others see of the call.
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

/// Says whether the object must not wait after these calls, or why nobody knows.
pub type Judge<'j, E> = &'j mut dyn FnMut(&[Commitment]) -> Result<bool, E>;

/// Calls after which no thread can go on though the specification could, if there are any; `fine` has fine steps.
pub fn deadlock<E>(
    fine: &Machine,
    state: &State,
    known: Known,
    is_unjustified: Judge<'_, E>,
) -> Result<Option<Vec<Commitment>>, E> {
    let mut hunt = Hunt { fine, known, is_unjustified, made: Vec::new() };
    let found = hunt.commit(state, 0)?;
    Ok(found.then_some(hunt.made))
}

struct Hunt<'h, E> {
    fine: &'h Machine,
    known: Known,
    is_unjustified: Judge<'h, E>,
    made: Vec<Commitment>,
}

impl<E> Hunt<'_, E> {
    /// Tries to make all threads from this one on wait.
    fn commit(&mut self, state: &State, thread: usize) -> Result<bool, E> {
        if thread == self.fine.thread_count() {
            return (self.is_unjustified)(&self.made);
        }
        match (self.fine.is_idle(state, thread), next_step(self.fine, state, thread)) {
            // An idle thread that waits does so in its client: it cannot even call.
            (true, Next::Ended | Next::Waits) | (false, Next::Waits) => {
                self.commit(state, thread + 1)
            }
            (true, Next::Moves) => self.call(state, thread),
            (false, _) if self.known == Known::AllWait => self.commit(state, thread + 1),
            (false, _) => Ok(false),
        }
    }

    /// Tries all calls of an idle thread after which it waits.
    fn call(&mut self, state: &State, thread: usize) -> Result<bool, E> {
        let mut choices = Choices::default();
        let mut to = State::default();
        loop {
            let called = self.fine.run(state, thread, &mut choices, &mut to);
            if let Ok(seen) = called
                && (self.known == Known::AllWait
                    || next_step(self.fine, &to, thread) == Next::Waits)
            {
                let (from, choices) = (state.clone(), choices.clone());
                self.made.push(Commitment { thread, from, choices, seen });
                if self.commit(&to, thread + 1)? {
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

/// Whether a thread can take a step, with some choices at least. A step that leaves the bounds counts: the run that
/// takes it is real, though nobody looks at it.
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
