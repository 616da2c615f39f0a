//! The cases that together cover every input: all orders and equalities of the arguments, and for
//! each argument whether the list has its key, and marked or not. Between the keys lie segments of
//! any length.

use crate::composition::Composition;
use crate::state::{ListState, MARKED, Segment, UNMARKED, argument_key, interval_key};
use crate::subject::Subject;

/// What is assumed about the list at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Input {
    /// Strictly sorted, no node is marked.
    #[default]
    Unmarked,
    /// Strictly sorted, any nodes may be marked.
    Marked,
}

/// Whether a key is in the list at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Presence {
    /// There is no node with this key.
    Absent,
    /// There is an unmarked node.
    Unmarked,
    /// There is a marked node.
    Marked,
}

/// An order of the arguments and what the list knows of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The rank of each operation's argument.
    pub ranks: Vec<u32>,
    /// What the list has at each rank.
    pub present: Vec<Presence>,
}

/// The list between two arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interval {
    /// Any number of nodes with these labels.
    Any(u8),
    /// These nodes; true for marked ones.
    Nodes(Vec<bool>),
}

/// All weak orders of the operations' arguments, one for each class of orders that only rename
/// threads with the same calls.
pub fn orders(composition: &Composition) -> Vec<Vec<u32>> {
    let count: usize = composition.threads.iter().map(Vec::len).sum();
    let mut found = vec![];
    let mut ranks = vec![0u32; count];
    loop {
        let used = ranks.iter().max().map_or(0, |m| m + 1);
        let onto = (0..used).all(|rank| ranks.contains(&rank));
        if onto && is_first_of_its_kind(composition, &ranks) {
            found.push(ranks.clone());
        }
        let Some(at) = ranks.iter().position(|r| (*r as usize) + 1 < count) else { break };
        ranks[..at].fill(0);
        ranks[at] += 1;
    }
    found
}

fn is_first_of_its_kind(composition: &Composition, ranks: &[u32]) -> bool {
    let mut parts = vec![];
    let mut at = 0;
    for calls in &composition.threads {
        parts.push((calls, &ranks[at..at + calls.len()]));
        at += calls.len();
    }
    (0..parts.len()).all(|j| (0..j).all(|i| parts[i].0 != parts[j].0 || parts[i].1 <= parts[j].1))
}

/// All cases of a composition, small ones first.
pub fn cases(composition: &Composition, input: Input) -> Vec<Case> {
    let options: &[Presence] = match input {
        Input::Unmarked => &[Presence::Absent, Presence::Unmarked],
        Input::Marked => &[Presence::Absent, Presence::Unmarked, Presence::Marked],
    };
    let mut found = vec![];
    for ranks in orders(composition) {
        let keys = ranks.iter().max().map_or(0, |r| r + 1);
        let mut lists: Vec<Vec<Presence>> = vec![vec![]];
        for _ in 0..keys {
            let longer = lists
                .iter()
                .flat_map(|list| options.iter().map(move |p| [list.as_slice(), &[*p]].concat()));
            lists = longer.collect();
        }
        found.extend(lists.into_iter().map(|present| Case { ranks: ranks.clone(), present }));
    }
    found.sort_by_key(|case| case.present.len());
    found
}

impl Case {
    /// The members among the arguments at the start, as bits.
    pub fn members(&self) -> u32 {
        let unmarked = |(rank, p): (usize, &Presence)| u32::from(*p == Presence::Unmarked) << rank;
        self.present.iter().enumerate().map(unmarked).sum()
    }

    /// The intervals of any length.
    pub fn any_length(&self, input: Input) -> Vec<Interval> {
        let labels = match input {
            Input::Unmarked => UNMARKED,
            Input::Marked => UNMARKED | MARKED,
        };
        vec![Interval::Any(labels); self.present.len() + 1]
    }

    /// The state at the start, with these intervals around the arguments.
    pub fn state(&self, subject: &Subject, intervals: &[Interval]) -> ListState {
        let mut machine = subject.code.empty.clone();
        for thread in 0..subject.machine.thread_count() {
            let base = subject.machine.thread_base(thread);
            machine.words[base] = subject.machine.steps.threads[thread].entry.0 as i32;
        }
        let mut state =
            ListState { machine, segments: vec![Segment::NODE; 2], ..Default::default() };
        let mut last = state.machine.words[subject.code.shape.head] as usize;
        for (rank, interval) in intervals.iter().enumerate() {
            match interval {
                Interval::Any(labels) => {
                    let key = interval_key(rank as u32, 0);
                    last = insert(subject, &mut state, last, key, false);
                    state.segments[last] = Segment::new(*labels, 0);
                }
                Interval::Nodes(marks) => {
                    for (index, marked) in marks.iter().enumerate() {
                        let key = interval_key(rank as u32, index as u32);
                        last = insert(subject, &mut state, last, key, *marked);
                    }
                }
            }
            match self.present.get(rank) {
                None | Some(Presence::Absent) => {}
                Some(presence) => {
                    let (key, marked) = (argument_key(rank as u32), *presence == Presence::Marked);
                    last = insert(subject, &mut state, last, key, marked);
                }
            }
        }
        state
    }
}

/// Inserts a node behind another one; gives its place.
fn insert(subject: &Subject, state: &mut ListState, last: usize, key: i32, marked: bool) -> usize {
    let shape = &subject.code.shape;
    let stride = subject.machine.node_stride();
    let heap = &mut state.machine.heap;
    let node = heap.len() / stride;
    heap.resize((node + 1) * stride, 0);
    heap[subject.slot(node, shape.key)] = key;
    heap[subject.slot(node, shape.next)] = heap[subject.slot(last, shape.next)];
    heap[subject.slot(last, shape.next)] = node as i32;
    if let Some(mark) = shape.mark {
        heap[subject.slot(node, mark)] = i32::from(marked);
    }
    state.segments.push(Segment::NODE);
    node
}

/// All ways to put `count` nodes into the intervals of a case.
pub fn explicit_lists(case: &Case, input: Input, count: usize) -> Vec<Vec<Interval>> {
    let intervals = case.present.len() + 1;
    let marks: &[bool] = if input == Input::Marked { &[false, true] } else { &[false] };
    let mut found: Vec<Vec<(usize, bool)>> = vec![vec![]];
    for _ in 0..count {
        let longer = found.iter().flat_map(|list| {
            let least = list.last().map_or(0, |(interval, _)| *interval);
            let places = (least..intervals).flat_map(|i| marks.iter().map(move |m| (i, *m)));
            places.map(move |place| [list.as_slice(), &[place]].concat())
        });
        found = longer.collect();
    }
    let build = |list: Vec<(usize, bool)>| {
        let nodes = |interval: usize| list.iter().filter(move |n| n.0 == interval).map(|n| n.1);
        (0..intervals).map(|i| Interval::Nodes(nodes(i).collect())).collect()
    };
    found.into_iter().map(build).collect()
}
