//! Threads that all wait, some of them right after their call.
//!
//! With fused steps a call is no step of its own: an idle thread either takes a call together with its first access or
//! stays idle. A thread that has called a method which waits at once is therefore nowhere among the states, and a
//! deadlock in which such threads take part would be missed. It is found from the state before these calls: calls write
//! nothing shared, so the threads can make them one after another, and what waits now still waits afterwards.
//!
//! *Decided*: whether threads that are idle in a state can make calls such that then every thread waits or has ended,
//! and at least one waits. Exact: the calls are taken one by one on the machine with fine steps, all choices are tried.
//! *Cost*: the product of the choices of the idle threads in the worst case; it is asked only of states in which each
//! thread has some step that waits.

use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Machine, State, Stop};

/// A call after which its thread waits: who, from which state, with which choices.
pub struct Commitment {
    /// Which thread.
    pub thread: usize,
    /// The state before the call.
    pub from: State,
    /// The choices of the call.
    pub choices: Choices,
}

/// Calls after which no thread can go on, if there are any; `fine` has fine steps.
pub fn commitments(fine: &Machine, state: &State) -> Option<Vec<Commitment>> {
    let mut made = Vec::new();
    commit(fine, state, (0, false), &mut made).then_some(made)
}

/// Tries to make all threads from this one on wait; `waits` says whether an earlier one does.
fn commit(
    fine: &Machine,
    state: &State,
    (thread, waits): (usize, bool),
    made: &mut Vec<Commitment>,
) -> bool {
    if thread == fine.thread_count() {
        return waits;
    }
    match next_step(fine, state, thread) {
        Next::Ended => return commit(fine, state, (thread + 1, waits), made),
        Next::Waits => return commit(fine, state, (thread + 1, true), made),
        Next::Moves if !fine.is_idle(state, thread) => return false,
        Next::Moves => {}
    }
    let mut choices = Choices::default();
    let mut to = State::default();
    loop {
        let called = fine.run(state, thread, &mut choices, &mut to).is_ok();
        if called && next_step(fine, &to, thread) == Next::Waits {
            let commitment = Commitment { thread, from: state.clone(), choices: choices.clone() };
            made.push(commitment);
            if commit(fine, &to, (thread + 1, true), made) {
                return true;
            }
            made.pop();
        }
        if !choices.advance() {
            return false;
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Moves,
    Waits,
    Ended,
}

/// Whether a thread can take a step, with some choices at least.
fn next_step(fine: &Machine, state: &State, thread: usize) -> Next {
    let mut choices = Choices::default();
    let mut to = State::default();
    let mut found = Next::Ended;
    loop {
        match fine.run(state, thread, &mut choices, &mut to) {
            Err(Stop::Waits) => found = Next::Waits,
            Err(Stop::Ended) => {}
            Ok(_) | Err(Stop::Bounded | Stop::Disordered | Stop::Fault(..)) => return Next::Moves,
        }
        if !choices.advance() {
            return found;
        }
    }
}
