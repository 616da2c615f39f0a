//! All runs from one initial state, breadth first; what is wrong with them.

use crate::monitor::Monitor;
use crate::normal::{Buffers, Mode, normalise};
use crate::state::{Class, ListState, MARKED, UNMARKED};
use crate::step::{Ended, Trail, Turn, step};
use crate::store::{MAX_ITEMS, Origin, StateId, Store, decode, encode};
use crate::subject::Subject;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::Fault;
use seriatim_lang::steps::{NULL, Pc};
use seriatim_limits::{Cancel, Reason, Stopped, checkpoint};
use std::collections::BTreeSet;

/// What is wrong with a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Violation {
    /// No linearization explains the results.
    WrongResult,
    /// An error of the algorithm.
    Fault(Fault, Pc),
    /// Results are correct, but the elements at the end are not those of any linearization that
    /// explains them.
    WrongElements,
    /// Threads wait for each other for ever.
    Deadlock,
    /// The elements are correct, but the list is not the sorted list of the elements: a marked node
    /// is still linked, a key occurs twice, or the order is wrong.
    WrongList,
}

/// One choice of the scheduler: a thread, and which of its possible steps.
pub type Choice = (usize, u32);

/// A run that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What is wrong.
    pub violation: Violation,
    /// The run.
    pub path: Vec<Choice>,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// How many states there are.
    pub states: u64,
    /// How many steps.
    pub transitions: u64,
    /// A run with a wrong result or wrong elements, or an error; the search ends there.
    pub elements: Option<Found>,
    /// A run with correct elements and a wrong list.
    pub list: Option<Found>,
    /// A run after which threads wait for ever.
    pub deadlock: Option<Found>,
    /// How the runs end: the configurations and the list.
    pub ends: BTreeSet<End>,
    /// A position where a node is made whose key is no argument.
    pub foreign_key: Option<Pc>,
    /// Whether there are more states, longer words, or more outcomes of a step than allowed.
    pub exhausted: bool,
    /// Why it was left before its end, if it was.
    pub stopped: Option<Reason>,
    /// Whether some run leads to a number that is not represented.
    pub cut: bool,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    /// The set of configurations.
    pub configurations: u32,
    /// What the list contains.
    pub survey: Survey,
    /// Whether an element that is no argument may have been lost.
    pub lost: bool,
}

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Whether nodes may become segments.
    pub mode: Mode,
    /// The largest number of states.
    pub most: u64,
}

struct Search<'s> {
    subject: &'s Subject,
    monitor: &'s mut Monitor,
    plan: Plan,
    store: Store,
    bytes: Vec<u8>,
    next: ListState,
    trail: Trail,
    buffers: Buffers,
    result: Searched,
}

/// Searches all runs from an initial state. The request is heard in the middle of a step, too: one
/// step may have any number of outcomes. What was found until then stands.
pub fn search(
    subject: &Subject,
    monitor: &mut Monitor,
    start: &ListState,
    plan: Plan,
    request: &Cancel,
) -> Searched {
    let mut run = Search {
        subject,
        monitor,
        plan,
        store: Store::new(),
        bytes: vec![],
        next: ListState::default(),
        trail: Trail::default(),
        buffers: Buffers::default(),
        result: Searched::default(),
    };
    let mut first = start.clone();
    normalise(subject, &mut first, plan.mode, &mut run.buffers);
    run.next = first;
    run.keep(Origin { before: StateId(0), thread: 0, choice: 0 });
    let searched = request.during(|| {
        let mut next = 0;
        while next < run.store.len() && run.goes_on() {
            run.expand(StateId(next as u32));
            next += 1;
        }
    });
    run.result.stopped = searched.err().map(|Stopped(reason)| reason);
    run.result.states = run.store.len() as u64;
    run.result
}

impl Search<'_> {
    fn goes_on(&mut self) -> bool {
        self.result.exhausted |= self.store.len() as u64 > self.plan.most;
        let stops = self.result.elements.is_some() || self.result.foreign_key.is_some();
        !stops && !self.result.exhausted && !self.result.cut
    }

    fn keep(&mut self, origin: Origin) {
        encode(self.subject, &self.next, &mut self.bytes);
        self.store.insert(&self.bytes, origin);
    }

    fn expand(&mut self, id: StateId) {
        let state = decode(self.subject, self.store.get(id));
        if self.subject.is_final(&state.machine) {
            return self.judge(id, &state);
        }
        let before = self.result.transitions;
        for thread in 0..self.subject.machine.thread_count() {
            self.advance(id, &state, thread);
        }
        let stuck = self.result.transitions == before && self.result.elements.is_none();
        let known = self.result.deadlock.is_some() || self.result.foreign_key.is_some();
        if stuck && !known && !self.result.cut {
            let path = self.path(id);
            self.result.deadlock = Some(Found { violation: Violation::Deadlock, path });
        }
    }

    fn advance(&mut self, id: StateId, state: &ListState, thread: usize) {
        let mut choices = Choices::default();
        let mut number = 0_u32;
        loop {
            checkpoint();
            self.next.copy_from(state);
            let turn = Turn { thread, choices: &mut choices };
            match step(self.subject, self.monitor, &mut self.next, turn, &mut self.trail) {
                Ended::Well => {
                    self.result.transitions += 1;
                    let mode = self.plan.mode;
                    normalise(self.subject, &mut self.next, mode, &mut self.buffers);
                    match u16::try_from(number) {
                        Ok(choice) if self.next.segments.len() <= MAX_ITEMS => {
                            self.keep(Origin { before: id, thread: thread as u8, choice });
                        }
                        _ => self.result.exhausted = true,
                    }
                }
                Ended::Nowhere => {}
                Ended::Cut => self.result.cut = true,
                Ended::ForeignKey(pc) => self.result.foreign_key = Some(pc),
                Ended::WrongResult => self.wrong(id, (thread, number), Violation::WrongResult),
                Ended::Fault(fault, pc) => {
                    self.wrong(id, (thread, number), Violation::Fault(fault, pc));
                }
            }
            number += 1;
            if !choices.advance() {
                return;
            }
        }
    }

    fn wrong(&mut self, id: StateId, last: Choice, violation: Violation) {
        let mut path = self.path(id);
        path.push(last);
        self.result.elements.get_or_insert(Found { violation, path });
    }

    /// Looks at the list after the last step.
    fn judge(&mut self, id: StateId, state: &ListState) {
        let end = survey(self.subject, state);
        let (configurations, lost) = (state.configurations, state.lost);
        self.result.ends.insert(End { configurations, survey: end, lost });
        let explained = self.monitor.explains(state.configurations, end.members);
        if state.lost || end.unlinked || !explained {
            let path = self.path(id);
            self.result.elements = Some(Found { violation: Violation::WrongElements, path });
        } else if !end.clean && self.result.list.is_none() {
            let path = self.path(id);
            self.result.list = Some(Found { violation: Violation::WrongList, path });
        }
    }

    fn path(&self, mut id: StateId) -> Vec<Choice> {
        let mut path = vec![];
        while id != StateId(0) {
            let origin = self.store.origin(id);
            path.push((origin.thread as usize, u32::from(origin.choice)));
            id = origin.before;
        }
        path.reverse();
        path
    }
}

/// What a list contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Survey {
    /// The arguments that are linked and unmarked, as bits.
    pub members: u32,
    /// Whether the list is strictly sorted, ends well and has no mark.
    pub clean: bool,
    /// Whether an unmarked item of an open class is not linked.
    pub unlinked: bool,
}

/// Walks along a list.
pub fn survey(subject: &Subject, state: &ListState) -> Survey {
    let shape = &subject.code.shape;
    let heap = &state.machine.heap;
    let key = |item: usize| heap[subject.slot(item, shape.key)];
    let labels = |item: usize| match (state.segments[item], shape.mark) {
        (segment, _) if !segment.is_node() => segment.labels(),
        (_, Some(mark)) if heap[subject.slot(item, mark)] == 1 => MARKED,
        _ => UNMARKED,
    };
    let mut linked = vec![false; state.segments.len()];
    let (mut members, mut clean, mut last) = (0, true, None);
    let mut item = state.machine.words[shape.head];
    while item != NULL && !linked[item as usize] {
        let at = item as usize;
        linked[at] = true;
        clean &= labels(at) == UNMARKED && last.is_none_or(|last| last < key(at));
        if let Some(rank) = Class::of(key(at)).rank()
            && labels(at) == UNMARKED
        {
            members |= 1 << rank;
        }
        last = Some(key(at));
        item = heap[subject.slot(at, shape.next)];
    }
    clean &= item == NULL && last.map(Class::of) == Some(Class::LAST);
    let open = |i: &usize| Class::of(key(*i)).is_open() && labels(*i) & UNMARKED != 0;
    let unlinked = (0..linked.len()).filter(open).any(|i| !linked[i]);
    Survey { members, clean, unlinked }
}
