//! Runs as the language defines them: one access at a time, calls and returns by themselves,
//! nothing left out and nothing renamed. The only thing that is done to a state is to throw away
//! nodes that no variable and no register reaches.

use super::Disagreement;
use super::judge::Explanations;
use crate::subject::Subject;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{FREED, Machine, State, Stop, VACANT};
use seriatim_lang::steps::{NULL, Reg};
use seriatim_lang::types::{Kind, Scalar};
use std::rc::Rc;

/// Where a plain run has got to.
#[derive(Clone, Hash)]
pub struct Position {
    /// The state.
    pub state: State,
    /// What explains its history.
    pub explanations: Rc<Explanations>,
}

/// Whether a step of a plain run ended an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// It did not.
    Within,
    /// It did.
    Returned,
}

/// What came of an attempt to take a step.
pub enum Next {
    /// It was taken.
    To(Position, Step),
    /// The thread waits, or its client has ended.
    Waits,
    /// The step leaves the bounds: the thread goes on, but nobody looks at it.
    Cut,
}

/// Takes a step, if there is one.
pub fn step(
    subject: &Subject,
    from: &Position,
    thread: usize,
    choices: &mut Choices,
    judges: bool,
) -> Result<Next, Disagreement> {
    let mut state = State::default();
    let seen = match subject.fine.run(&from.state, thread, choices, &mut state) {
        Ok(seen) => seen,
        Err(Stop::Fault(fault, _)) => return Err(Disagreement::Fault(fault)),
        Err(Stop::Waits | Stop::Ended) => return Ok(Next::Waits),
        Err(Stop::Bounded(_) | Stop::Disordered) => return Ok(Next::Cut),
    };
    let mut explanations = Rc::clone(&from.explanations);
    if let Some(call) = seen.call.as_ref().filter(|_| judges) {
        explanations = Rc::new(explanations.call(thread, call));
    }
    if let Some(words) = seen.ret.as_ref().filter(|_| judges) {
        let method = method(&subject.fine, &from.state, thread, &seen.call);
        let result = subject.result(method, words);
        let left = explanations.give_back(subject, thread, &result);
        explanations = Rc::new(left.map_err(Disagreement::Specification)?);
        if explanations.is_empty() {
            return Err(Disagreement::Unexplained);
        }
    }
    throw_away(&subject.fine, &mut state);
    let step = if seen.ret.is_some() { Step::Returned } else { Step::Within };
    Ok(Next::To(Position { state, explanations }, step))
}

/// The method that a thread executes in a step.
pub(crate) fn method(
    machine: &Machine,
    from: &State,
    thread: usize,
    call: &Option<(u32, Vec<i32>)>,
) -> u32 {
    let pc = machine.pc(from, thread);
    let inside = machine.steps.methods.iter().position(|m| m.entry <= pc && pc < m.end);
    call.as_ref().map(|(method, _)| *method).or(inside.map(|m| m as u32)).unwrap_or(0)
}

/// Makes room where nodes lie that nothing reaches.
pub(crate) fn throw_away(machine: &Machine, state: &mut State) {
    let stride = machine.node_stride();
    let mut reached = vec![false; state.heap.len() / stride];
    let mut todo = Vec::new();
    let mut visit = |kind: Kind, word: i32, todo: &mut Vec<usize>| {
        let is_node = matches!(kind.scalar, Scalar::Ref(_)) && word != NULL;
        if is_node && !std::mem::replace(&mut reached[word as usize], true) {
            todo.push(word as usize);
        }
    };
    for (slot, word) in machine.steps.shared.iter().zip(&state.words) {
        visit(slot.kind, *word, &mut todo);
    }
    for thread in 0..machine.thread_count() {
        let (first, end) = (machine.register_base(thread), machine.thread_base(thread + 1));
        let pc = machine.pc(state, thread);
        for (register, word) in state.words[first..end].iter().enumerate() {
            if let Some(slot) = machine.steps.register(pc, Reg(register as u32)) {
                visit(slot.kind, *word, &mut todo);
            }
        }
    }
    while let Some(node) = todo.pop() {
        let cells = &state.heap[node * stride..(node + 1) * stride];
        let layout = &machine.steps.structs[(cells[0] & (FREED - 1)) as usize];
        for (slot, word) in layout.slots.iter().zip(&cells[1..]) {
            visit(slot.kind, *word, &mut todo);
        }
    }
    vacate(machine, state, &reached);
}

/// Makes room where other nodes lie than those to be kept; nothing refers to them any more.
pub(crate) fn keep_only(machine: &Machine, state: &mut State, kept: &[bool]) {
    let forget = |kind: Kind, word: &mut i32| {
        if matches!(kind.scalar, Scalar::Ref(_)) && *word != NULL && !kept[*word as usize] {
            *word = NULL;
        }
    };
    let shared = machine.steps.shared.iter().zip(&mut state.words);
    shared.for_each(|(slot, word)| forget(slot.kind, word));
    for thread in 0..machine.thread_count() {
        let (first, end) = (machine.register_base(thread), machine.thread_base(thread + 1));
        let pc = machine.pc(state, thread);
        for (register, word) in state.words[first..end].iter_mut().enumerate() {
            if let Some(slot) = machine.steps.register(pc, Reg(register as u32)) {
                forget(slot.kind, word);
            }
        }
    }
    for (node, cells) in state.heap.chunks_mut(machine.node_stride()).enumerate() {
        if kept[node] {
            let layout = &machine.steps.structs[(cells[0] & (FREED - 1)) as usize];
            let slots = layout.slots.iter().zip(&mut cells[1..]);
            slots.for_each(|(slot, word)| forget(slot.kind, word));
        }
    }
    vacate(machine, state, kept);
}

/// Empties the cells of all other nodes.
fn vacate(machine: &Machine, state: &mut State, kept: &[bool]) {
    let stride = machine.node_stride();
    for (node, cells) in state.heap.chunks_mut(stride).enumerate() {
        if !kept[node] {
            cells.fill(0);
            cells[0] = VACANT;
        }
    }
    let used = kept.iter().rposition(|kept| *kept).map_or(0, |last| last + 1);
    state.heap.truncate(used * stride);
}
