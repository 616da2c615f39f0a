//! A concrete engine that shares nothing with the abstraction: all runs of a composition on one
//! list, by the machine with its own atomic blocks, without the search's steps, normal forms,
//! monitor or reductions. A state is remembered together with its whole history, and every history
//! is judged by trying all linearizations.

use crate::replay::{Pictured, PicturedKey};
use crate::replay::{ShownOperation, elements, explained, key_names, picture};
use crate::state::{ListState, argument_key};
use crate::subject::Subject;
use rustc_hash::FxHashSet;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Bounds, Granularity, Machine, State, Stop};
use seriatim_lang::steps::NULL;
use seriatim_lang::types::Scalar;
use seriatim_limits::checkpoint;

/// What is wrong with the runs on a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// No linearization explains the results of some run.
    pub wrong_result: bool,
    /// Some run ends with an error.
    pub fault: bool,
    /// The results can be explained, but not together with the elements at the end.
    pub wrong_elements: bool,
    /// The elements are correct, but the list is not.
    pub wrong_list: bool,
}

impl Findings {
    /// What was found on one list or on another one.
    pub fn and(self, other: Findings) -> Findings {
        Findings {
            wrong_result: self.wrong_result | other.wrong_result,
            fault: self.fault | other.fault,
            wrong_elements: self.wrong_elements | other.wrong_elements,
            wrong_list: self.wrong_list | other.wrong_list,
        }
    }

    /// Whether a run is not linearizable, or has an error.
    pub fn fails(&self) -> bool {
        self.wrong_result || self.fault || self.wrong_elements
    }
}

/// A call, or a return with its result, of an operation.
type Event = (usize, Option<bool>);

struct Oracle<'s> {
    subject: &'s Subject,
    start: &'s ListState,
    machine: Machine,
    findings: Findings,
}

/// How many states are too many.
const MOST_STATES: usize = 300_000;

/// Looks at all runs on a list; `None` if they are too many. May be left at each of their steps.
pub fn all_runs(subject: &Subject, start: &ListState) -> Option<Findings> {
    let mut steps = subject.machine.steps.clone();
    for (instr, atomic) in steps.code.iter_mut().zip(&subject.code.atomic) {
        instr.inside_atomic = *atomic;
    }
    let local = vec![false; steps.code.len()];
    let bounds = Bounds { values: 0, keys: 0, nodes: None, capacity: None };
    let machine = Machine::new(steps, bounds, Granularity::Fused { local, locks_join: false });
    let mut oracle = Oracle { subject, start, machine, findings: Findings::default() };
    let mut seen: FxHashSet<(State, Vec<Event>)> = FxHashSet::default();
    let mut todo = vec![(start.machine.clone(), vec![])];
    while let Some(entry) = todo.pop() {
        if !seen.insert(entry.clone()) {
            continue;
        }
        if seen.len() > MOST_STATES {
            return None;
        }
        for thread in 0..oracle.machine.thread_count() {
            oracle.advance(&entry, thread, &mut todo);
        }
    }
    Some(oracle.findings)
}

impl Oracle<'_> {
    fn advance(
        &mut self,
        (state, history): &(State, Vec<Event>),
        thread: usize,
        todo: &mut Vec<(State, Vec<Event>)>,
    ) {
        let mut choices = Choices::default();
        loop {
            checkpoint();
            let mut next = State::default();
            match self.machine.run(state, thread, &mut choices, &mut next) {
                Err(Stop::Fault(..)) => self.findings.fault = true,
                Err(_) => {}
                Ok(what) => {
                    let mut history = history.clone();
                    let pc = self.machine.pc(state, thread).0 as usize;
                    let op = match self.machine.is_idle(state, thread) {
                        true => self.subject.code.called[pc],
                        false => self.subject.current(state, thread),
                    };
                    let op = op.expect("a step belongs to an operation");
                    history.extend(what.call.map(|_| (op, None)));
                    history.extend(what.ret.as_ref().map(|value| (op, Some(*value == [1]))));
                    if what.ret.is_none() || !self.judge(&next, &history) {
                        self.forget(&mut next);
                        todo.push((next, history));
                    }
                }
            }
            if !choices.advance() {
                return;
            }
        }
    }

    /// Whether a run that has just returned from an operation is wrong.
    fn judge(&mut self, state: &State, history: &[Event]) -> bool {
        let names = key_names(self.subject, self.start);
        let time = |event: &dyn Fn(&Event) -> bool| history.iter().position(event);
        let operations = self.subject.operations.iter().enumerate().map(|(op, operation)| {
            let returned = time(&|e| e.0 == op && e.1.is_some());
            ShownOperation {
                operation: *operation,
                key: names[&argument_key(operation.rank)],
                called: time(&|e| *e == (op, None)),
                returned: returned.and_then(|at| history[at].1.map(|result| (at, result))),
            }
        });
        let operations: Vec<_> = operations.collect();
        let before = elements(&picture(self.subject, self.start, &names));
        if !explained(&operations, &before, None) {
            self.findings.wrong_result = true;
            return true;
        }
        if !self.subject.is_final(state) {
            return false;
        }
        let whole = ListState { machine: state.clone(), ..ListState::default() };
        let list = picture(self.subject, &whole, &names);
        let right = explained(&operations, &before, Some(&elements(&list)));
        self.findings.wrong_elements |= !right;
        self.findings.wrong_list |= right && !is_sorted_and_clean(&list);
        !right
    }

    /// Resets registers that are not read again and drops nodes that nobody can reach; numbers the
    /// others as they are reached.
    fn forget(&self, state: &mut State) {
        let shape = &self.subject.code.shape;
        let mut references = vec![shape.head];
        for thread in 0..self.machine.thread_count() {
            let base = self.machine.thread_base(thread);
            let registers = self.machine.register_base(thread);
            let live = &self.subject.code.live[state.words[base] as usize];
            for reg in 0..self.machine.steps.register_count() {
                match live.iter().find(|(live, _)| *live as usize == reg) {
                    None => state.words[registers + reg] = NULL,
                    Some((_, kind)) if matches!(kind.scalar, Scalar::Ref(_)) => {
                        references.push(registers + reg);
                    }
                    Some(_) => {}
                }
            }
        }
        let stride = self.machine.node_stride();
        let mut order: Vec<i32> = vec![];
        for at in &references {
            let mut node = state.words[*at];
            while node != NULL && !order.contains(&node) {
                order.push(node);
                node = state.heap[node as usize * stride + 1 + shape.next];
            }
        }
        let place = |node: i32| order.iter().position(|n| *n == node).map_or(NULL, |p| p as i32);
        references.iter().for_each(|at| state.words[*at] = place(state.words[*at]));
        let mut heap = vec![];
        for node in &order {
            let at = *node as usize * stride;
            let first = heap.len();
            heap.extend_from_slice(&state.heap[at..at + stride]);
            heap[first + 1 + shape.next] = place(heap[first + 1 + shape.next]);
        }
        state.heap = heap;
    }
}

fn is_sorted_and_clean(list: &[Pictured]) -> bool {
    list.windows(2).all(|pair| pair[0].key < pair[1].key)
        && list.iter().all(|node| !node.marked)
        && list.last().is_some_and(|node| node.key == PicturedKey::Greatest)
}
