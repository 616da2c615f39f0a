//! Which operations were seen to overlap. Calls that never overlap are tested one after another,
//! and a pass says nothing of them.

use crate::run::{Called, End, Run};
use crate::scenario::KindId;
use crate::subject::{Caller, Subject};
use seriatim_history::Time;

/// Executions of more calls than this are not looked at.
const LONGEST: usize = 64;

/// Two operations and in how many different executions calls of them overlapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// The operations; the same one twice if two of its calls can overlap.
    pub operations: (String, String),
    /// The number of different executions.
    pub executions: u64,
}

/// Counts overlaps.
#[derive(Clone, Debug)]
pub(crate) struct Coverage {
    kinds: usize,
    /// For each pair of operations, the smaller one first.
    counts: Vec<u64>,
}

impl Coverage {
    pub fn new(kinds: usize) -> Self {
        Coverage { kinds, counts: vec![0; kinds * kinds] }
    }

    /// Looks at an execution.
    pub fn see(&mut self, run: &Run) {
        let calls: Vec<(Caller, &Called)> = run.calls().collect();
        if calls.len() > LONGEST {
            return;
        }
        let mut pairs: Vec<usize> = Vec::new();
        for (place, (caller, called)) in calls.iter().enumerate() {
            for (other, beside) in &calls[..place] {
                if caller != other && overlap(called, beside) {
                    pairs.push(self.place(called.step.kind, beside.step.kind));
                }
            }
        }
        pairs.sort_unstable();
        pairs.dedup();
        pairs.into_iter().for_each(|pair| self.counts[pair] += 1);
    }

    fn place(&self, one: KindId, other: KindId) -> usize {
        let (low, high) = (one.index().min(other.index()), one.index().max(other.index()));
        low * self.kinds + high
    }

    /// What was seen of all pairs of operations that can overlap.
    pub fn overlaps(&self, subject: &dyn Subject) -> Vec<Overlap> {
        let ids = || (0..self.kinds as u32).map(KindId);
        let pairs = ids().flat_map(|one| ids().map(move |other| (one, other)));
        // A call that is to be dropped is another way to make one, and need not meet every other.
        let is_whole = |id: KindId| subject.kind(id).name == subject.kind(id).method;
        let possible = pairs.filter(|&(one, other)| {
            one.0 <= other.0 && is_whole(one) && is_whole(other) && can(subject, one, other)
        });
        let name = |kind: KindId| subject.kind(kind).name.to_string();
        let overlap = |(one, other)| Overlap {
            operations: (name(one), name(other)),
            executions: self.counts[self.place(one, other)],
        };
        possible.map(overlap).collect()
    }
}

/// Whether calls of two operations can overlap at all.
fn can(subject: &dyn Subject, one: KindId, other: KindId) -> bool {
    let (first, second) = (subject.kind(one), subject.kind(other));
    let twice = one != other || first.at_most > 1;
    let drawn = first.weight > 0 && second.weight > 0;
    match (first.callers.thread(), second.callers.thread()) {
        (Some(thread), Some(other)) => drawn && thread != other,
        _ => drawn && twice,
    }
}

/// Whether two calls were under way at the same time.
fn overlap(one: &Called, other: &Called) -> bool {
    let end = |called: &Called| match called.slot.end {
        End::Returned(ret, _) => ret,
        _ => Time::MAX,
    };
    one.slot.call <= end(other) && other.slot.call <= end(one)
}

/// The sentences that warn of operations that never overlapped.
pub(crate) fn gaps(overlaps: &[Overlap]) -> Vec<String> {
    if !overlaps.is_empty() && overlaps.iter().all(|overlap| overlap.executions == 0) {
        return vec!["no two calls ever overlapped".to_owned()];
    }
    let never = overlaps.iter().filter(|overlap| overlap.executions == 0);
    let sentence = |overlap: &Overlap| match &overlap.operations {
        (one, other) if one == other => format!("no two calls of `{one}` ever overlapped"),
        (one, other) => format!("no `{one}` ever overlapped a `{other}`"),
    };
    never.map(sentence).collect()
}
