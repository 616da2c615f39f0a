//! The list that an abstract run is about, and the run on it.
//!
//! An abstract run says who takes which step, and what the threads see after each one. It is
//! followed on the list of the case whose segments are *opened and never closed*: where a step
//! reads into a segment, both possibilities are tried, and those after which some thread stands
//! elsewhere, or sees a node of another class, mark or lock than in the abstract run, are given up.
//! At the end the nodes that were opened are the list; what nobody read stays empty. The same walk
//! on this list, which has no segments left, is the concrete run.
//!
//! *Bound*: each step opens at most the nodes that it reads, so the list has at most as many nodes
//! as the run has reads; there is no other limit on its length. *Cost*: the abstract run decides
//! nearly every choice; a budget of steps ends the rest. *Incomplete* where merging has joined runs
//! of different lists: then the walk finds nothing.

use crate::cases::{Case, Input, Interval};
use crate::monitor::Monitor;
use crate::normal::{Buffers, Mode, normalise};
use crate::search::{Choice, Found};
use crate::state::{Class, ListState};
use crate::step::{Ended, Trail, Turn, step};
use crate::subject::Subject;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::VACANT;
use seriatim_lang::steps::NULL;
use seriatim_lang::types::Scalar;
use seriatim_limits::checkpoint;
use std::collections::BTreeMap;

/// What an abstract run looks like: after each step who took it, how it ended, and the state.
struct Guide {
    steps: Vec<(usize, Ended, ListState)>,
}

/// A walk along a guide.
struct Walk<'s> {
    subject: &'s Subject,
    monitor: &'s mut Monitor,
    guide: &'s Guide,
    /// How many steps may still be tried.
    budget: u64,
    path: Vec<Choice>,
    /// The nodes that were opened: key, and whether they were marked.
    opened: BTreeMap<i32, bool>,
}

/// The list of a case on which an abstract run goes, and the run.
pub fn follow(
    subject: &Subject,
    case: &Case,
    input: Input,
    candidate: &Found,
    budget: u64,
) -> Option<(Vec<Interval>, Found)> {
    let mut monitor = Monitor::new(subject.operations.clone());
    let set = monitor.initial(case.members());
    let mut open = case.state(subject, &case.any_length(input));
    open.configurations = set;
    let guide = guide(subject, &mut monitor, &open, candidate)?;
    let opened = walk(subject, &mut monitor, &guide, &open, budget)?.1;
    let intervals: Vec<Interval> = (0..=case.present.len() as u32)
        .map(|rank| {
            let own = opened.iter().filter(|(key, _)| Class::of(**key).0 == 2 * rank + 1);
            Interval::Nodes(own.map(|(_, marked)| *marked).collect())
        })
        .collect();
    let mut list = case.state(subject, &intervals);
    list.configurations = set;
    let path = walk(subject, &mut monitor, &guide, &list, budget)?.0;
    Some((intervals, Found { violation: candidate.violation, path }))
}

/// Runs the abstract run again.
fn guide(
    subject: &Subject,
    monitor: &mut Monitor,
    start: &ListState,
    candidate: &Found,
) -> Option<Guide> {
    let mut state = start.clone();
    let mut buffers = Buffers::default();
    let mut trail = Trail::default();
    normalise(subject, &mut state, Mode::Abstract, &mut buffers);
    let mut steps = vec![];
    for (thread, number) in &candidate.path {
        let mut choices = Choices::default();
        let mut next = state.clone();
        let mut ended = step(
            subject,
            monitor,
            &mut next,
            Turn { thread: *thread, choices: &mut choices },
            &mut trail,
        );
        for _ in 0..*number {
            checkpoint();
            if !choices.advance() {
                return None;
            }
            next = state.clone();
            ended = step(
                subject,
                monitor,
                &mut next,
                Turn { thread: *thread, choices: &mut choices },
                &mut trail,
            );
        }
        if ended == Ended::Well {
            normalise(subject, &mut next, Mode::Abstract, &mut buffers);
        }
        state = next;
        steps.push((*thread, ended, state.clone()));
    }
    Some(Guide { steps })
}

fn walk(
    subject: &Subject,
    monitor: &mut Monitor,
    guide: &Guide,
    start: &ListState,
    budget: u64,
) -> Option<(Vec<Choice>, BTreeMap<i32, bool>)> {
    let (path, opened) = (vec![], BTreeMap::new());
    let mut walk = Walk { subject, monitor, guide, budget, path, opened };
    walk.descend(start).then_some((walk.path, walk.opened))
}

impl Walk<'_> {
    /// Follows the rest of the guide, trying all choices.
    fn descend(&mut self, state: &ListState) -> bool {
        let Some((thread, wanted, seen)) = self.guide.steps.get(self.path.len()) else {
            return true;
        };
        let mut choices = Choices::default();
        let mut number = 0;
        loop {
            checkpoint();
            if self.budget == 0 {
                return false;
            }
            self.budget -= 1;
            let mut next = state.clone();
            let turn = Turn { thread: *thread, choices: &mut choices };
            let ended = step(self.subject, self.monitor, &mut next, turn, &mut Trail::default());
            let fits = ended == *wanted && (ended != Ended::Well || self.agrees(seen, &next));
            if fits {
                let before = self.opened.clone();
                self.note_opened(&next);
                self.path.push((*thread, number));
                if self.descend(&next) {
                    return true;
                }
                self.path.pop();
                self.opened = before;
            }
            number += 1;
            if !choices.advance() {
                return false;
            }
        }
    }

    /// Remembers the nodes of open classes, and their marks when they are seen first.
    fn note_opened(&mut self, state: &ListState) {
        let shape = &self.subject.code.shape;
        let heap = &state.machine.heap;
        for node in 0..state.segments.len() {
            let key = heap[self.subject.slot(node, shape.key)];
            let vacant = heap[node * self.subject.machine.node_stride()] == VACANT;
            if state.segments[node].is_node() && !vacant && Class::of(key).is_open() {
                let marked = shape.mark.is_some_and(|m| heap[self.subject.slot(node, m)] == 1);
                self.opened.entry(key).or_insert(marked);
            }
        }
    }

    /// Whether the threads stand at the same places and see the same.
    fn agrees(&self, guide: &ListState, state: &ListState) -> bool {
        if guide.configurations != state.configurations {
            return false;
        }
        let machine = &self.subject.machine;
        let (a, b) = (&guide.machine.words, &state.machine.words);
        (0..machine.thread_count()).all(|thread| {
            let base = machine.thread_base(thread);
            let registers = machine.register_base(thread);
            a[base..registers] == b[base..registers]
                && self.subject.code.live[a[base] as usize].iter().all(|(reg, kind)| {
                    let at = registers + *reg as usize;
                    match kind.scalar {
                        Scalar::Ref(_) => self.looks(guide, a[at]) == self.looks(state, b[at]),
                        Scalar::Key if a[at] == NULL || b[at] == NULL => a[at] == b[at],
                        Scalar::Key => Class::of(a[at]) == Class::of(b[at]),
                        _ => a[at] == b[at],
                    }
                })
        })
    }

    /// What a thread sees of a node: class, mark, lock.
    fn looks(&self, state: &ListState, node: i32) -> Option<(Class, i32, i32)> {
        let shape = &self.subject.code.shape;
        let slot = |slot| state.machine.heap[self.subject.slot(node as usize, slot)];
        let flag = |field: Option<usize>| field.map_or(0, slot);
        (node != NULL).then(|| (Class::of(slot(shape.key)), flag(shape.mark), flag(shape.lock)))
    }
}
