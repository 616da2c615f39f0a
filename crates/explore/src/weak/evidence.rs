//! The run of a violation, judged once more by code that shares nothing with the search: is it a
//! run of the program, does the memory model allow it, and does it go wrong?
//!
//! 1. Every thread is taken through its code by itself, with the values that the run says it read
//!    (`reexecution`): each access must be the one that the code makes there.
//! 2. The accesses are an execution graph (`execution`), which must satisfy the axioms of the model
//!    ([`Graph::broken`](super::graph::Graph::broken)): no views, no queues, no order of steps.
//! 3. What is said to be wrong is looked for in the graph: two accesses that race, operations that
//!    no linear extension of happens-before explains, an instruction that is an error on what its
//!    thread holds.

use super::code::Layout;
use super::event::{Done, Event};
use super::execution::Execution;
use super::graph::Relation;
use super::reexecution::Thread;
use crate::options::{MemoryModel, Synchronise};
use crate::outcome::ViolationKind;
use crate::subject::Subject;
use seriatim_lang::machine::Fault;
use seriatim_lang::spec::{Datum, SpecState};
use seriatim_limits::InOrder;
use std::collections::{BTreeMap, BTreeSet};

/// The two accesses of a race, as places in the run.
pub type Race = (usize, usize);

/// What the judgement rests on.
pub struct Witness<'w> {
    pub subject: &'w Subject,
    pub layout: &'w Layout,
    pub model: MemoryModel,
    /// What the client synchronises.
    pub clients: Synchronise,
    /// The run.
    pub events: &'w [Event],
}

/// An operation of the run: where it was called and returned.
struct Operation {
    method: u32,
    args: Vec<i32>,
    call: usize,
    ret: Option<(usize, Datum)>,
}

impl Witness<'_> {
    /// Accepts the run, with the two accesses if it is a race or a use after a free, or says what is
    /// wrong with it.
    pub fn accept(&self, kind: ViolationKind) -> Result<Option<Race>, String> {
        let mut threads: Vec<Thread<'_>> =
            (0..self.subject.machine.thread_count()).map(|t| Thread::new(self, t)).collect();
        for (at, event) in self.events.iter().enumerate() {
            let thread = threads.get_mut(event.thread).ok_or("there is no such thread")?;
            thread.follow(event).map_err(|why| format!("access {at} of the run: {why}"))?;
        }
        let execution = Execution::of(self)?;
        if let Some(axiom) = execution.graph.broken(self.model) {
            return Err(format!("the memory model does not allow it: {axiom}"));
        }
        let before = execution.graph.happens_before();
        match kind {
            ViolationKind::NotLinearizable => match self.explained(&execution, &before)? {
                true => Err("an order of its operations explains it".to_owned()),
                false => Ok(None),
            },
            ViolationKind::Fault(fault) => self.faulty(fault, &execution, &before, &threads),
            _ => Err("such a claim is not made of weak memory".to_owned()),
        }
    }

    fn faulty(
        &self,
        fault: Fault,
        execution: &Execution,
        before: &Relation,
        threads: &[Thread<'_>],
    ) -> Result<Option<Race>, String> {
        let last = self.events.last().ok_or("it is empty")?;
        if !matches!(last.done, Done::Fault(found) if found == fault) {
            return Err("its last access is not the error".to_owned());
        }
        if fault == Fault::DataRace {
            let race = execution.race(before, self.events.len() - 1);
            return race.map(Some).ok_or("no two accesses race".to_owned());
        }
        match threads[last.thread].is_error(fault, self.events) {
            true if fault == Fault::UseAfterFree => Ok(execution.freed(self.events)),
            true => Ok(None),
            false => Err("the instruction is no error".to_owned()),
        }
    }

    fn operations(&self) -> Vec<Operation> {
        let mut found: Vec<Operation> = vec![];
        let mut open: BTreeMap<usize, usize> = BTreeMap::new();
        for (at, event) in self.events.iter().enumerate() {
            match &event.done {
                Done::Call(method, args) => {
                    open.insert(event.thread, found.len());
                    let (method, args) = (*method, args.clone());
                    found.push(Operation { method, args, call: at, ret: None });
                }
                Done::Return(result) => {
                    if let Some(own) = open.remove(&event.thread) {
                        let result = self.subject.result(found[own].method, result);
                        found[own].ret = Some((at, result));
                    }
                }
                _ => {}
            }
        }
        found
    }

    /// Whether some order of the operations that extends happens-before is allowed.
    fn explained(&self, execution: &Execution, before: &Relation) -> Result<bool, String> {
        let operations = self.operations();
        let event = |at: usize| execution.numbers[at];
        let precedes = |a: &Operation, b: &Operation| {
            a.ret.as_ref().is_some_and(|(ret, _)| before.has(event(*ret), event(b.call)))
        };
        let initial = self.subject.spec.initial().map_err(|stop| format!("{stop:?}"))?;
        let mut seen: BTreeSet<(Vec<usize>, SpecState)> = BTreeSet::new();
        let mut todo: Vec<(Vec<usize>, SpecState)> = vec![(vec![], initial)];
        while let Some((done, state)) = todo.pop() {
            let is_open = |at: &usize| !done.contains(at);
            let open: Vec<usize> = (0..operations.len()).filter(is_open).collect();
            if open.iter().all(|at| operations[*at].ret.is_none()) {
                return Ok(true);
            }
            for at in &open {
                let next = &operations[*at];
                if open.iter().any(|other| other != at && precedes(&operations[*other], next)) {
                    continue;
                }
                let outcomes = self.subject.spec_outcomes(&state, next.method, &next.args);
                for (after, result) in outcomes.unwrap_or_default() {
                    if next.ret.as_ref().is_some_and(|(_, returned)| *returned != result) {
                        continue;
                    }
                    let mut longer = done.clone();
                    longer.push(*at);
                    longer.put_in_order();
                    if seen.insert((longer.clone(), after.clone())) {
                        todo.push((longer, after));
                    }
                }
            }
        }
        Ok(false)
    }
}
