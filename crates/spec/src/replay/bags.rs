//! Objects that keep values without an order of their own: set, multiset, priority queue.

use super::priority::Priorities;
use super::record::{Record, Said};
use super::table::Table;
use super::{Model, Setup};
use seriatim_history::{Outcome, Value, ValueId, Values};
use std::collections::BinaryHeap;
use std::hash::{Hash, Hasher};

/// Each value is an element or not.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Set {
    elements: Table<bool>,
    size: usize,
}

verbs! {
    /// What a set does.
    SetVerb {
        Add: "add" | "insert" | "put",
        Remove: "remove" | "delete" | "erase",
        Contains: "contains" | "member" | "has" | "find" | "search" | "lookup",
        Size: "size" | "len" | "length" | "count",
        IsEmpty: "is_empty" | "is-empty" | "isempty" | "empty",
        Read: "read" | "elements" | "get" | "to_list",
    }
}

impl Model for Set {
    type Verb = SetVerb;

    fn start(setup: &Setup<'_>) -> Self {
        let mut set = Set { elements: Table::with_room(setup.room), size: 0 };
        for element in setup.items("init") {
            set.size += usize::from(!set.elements.get(element));
            set.elements.set(element, true);
        }
        set
    }

    fn observes(verb: SetVerb, _: &Record<'_>) -> bool {
        matches!(verb, SetVerb::Add | SetVerb::Remove)
    }

    #[inline]
    fn step(&mut self, verb: SetVerb, record: &Record<'_>) -> bool {
        let is_in = || self.elements.get(record.arg);
        match verb {
            SetVerb::Add => {
                let is_new = !is_in();
                self.elements.set(record.arg, true);
                self.size += usize::from(is_new);
                record.success(Said::Nothing).fits(is_new)
            }
            SetVerb::Remove => {
                let was_in = is_in();
                self.elements.set(record.arg, false);
                self.size -= usize::from(was_in);
                record.success(Said::Nothing).fits(was_in)
            }
            SetVerb::Contains => record.truth().fits(is_in()),
            SetVerb::Size => record.number().fits(self.size as i64),
            SetVerb::IsEmpty => record.truth().fits(self.size == 0),
            SetVerb::Read => holds_exactly(record, self.size, |element, times| {
                times == 1 && self.elements.get(element)
            }),
        }
    }
}

/// Whether a list that the log shows names that many items, each as often as it is there.
fn holds_exactly(
    record: &Record<'_>,
    size: usize,
    is_there: impl Fn(ValueId, u32) -> bool,
) -> bool {
    let mut list = match record.list() {
        Said::Nothing => return true,
        Said::Nonsense => return false,
        Said::This(list) => list,
    };
    list.sort_unstable();
    let mut groups = list.chunk_by(Value::eq);
    list.len() == size
        && groups.all(|group| {
            let known = record.values().find(&group[0]);
            known.is_some_and(|item| is_there(item, group.len() as u32))
        })
}

/// Each value any number of times.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Multiset {
    copies: Table<u32>,
    size: usize,
}

verbs! {
    /// What a multiset does.
    MultisetVerb {
        Add: "add" | "insert" | "put" | "push" | "enqueue",
        Remove: "remove" | "delete" | "erase",
        Take: "take" | "pop" | "poll" | "get" | "dequeue",
        Contains: "contains" | "member" | "has" | "find",
        Copies: "multiplicity" | "occurrences",
        Size: "size" | "len" | "length" | "count",
        IsEmpty: "is_empty" | "is-empty" | "isempty" | "empty",
        Read: "read" | "items" | "elements",
    }
}

impl Multiset {
    fn remove(&mut self, value: ValueId) -> bool {
        let copies = self.copies.get(value);
        if copies > 0 {
            self.copies.set(value, copies - 1);
            self.size -= 1;
        }
        copies > 0
    }

    /// Whether the operation takes out some value that the log does not name.
    fn is_blind(verb: MultisetVerb, record: &Record<'_>) -> bool {
        let takes = verb == MultisetVerb::Take
            || (verb == MultisetVerb::Remove && record.given().is_none());
        takes && record.ended == Outcome::Pending
    }
}

impl Model for Multiset {
    type Verb = MultisetVerb;

    fn start(setup: &Setup<'_>) -> Self {
        // Where a removal may be pending, multisets are copied and listed: then they had better be
        // small.
        let room = if setup.history.tally().pending > 0 { 0 } else { setup.room };
        let mut multiset = Multiset { copies: Table::with_room(room), size: 0 };
        for item in setup.items("init") {
            multiset.copies.set(item, multiset.copies.get(item) + 1);
            multiset.size += 1;
        }
        multiset
    }

    fn observes(verb: MultisetVerb, _: &Record<'_>) -> bool {
        matches!(verb, MultisetVerb::Remove | MultisetVerb::Take)
    }

    fn choices(&self, verb: MultisetVerb, record: &Record<'_>) -> Option<Vec<Self>> {
        let has_choice = self.size > 0 && Multiset::is_blind(verb, record);
        has_choice.then(|| {
            let without = |item: ValueId| {
                let mut smaller = self.clone();
                smaller.remove(item);
                smaller
            };
            self.copies.set_ids().into_iter().map(without).collect()
        })
    }

    fn step(&mut self, verb: MultisetVerb, record: &Record<'_>) -> bool {
        match (verb, record.given()) {
            (MultisetVerb::Add, _) => {
                self.copies.set(record.arg, self.copies.get(record.arg) + 1);
                self.size += 1;
                record.is_done()
            }
            (MultisetVerb::Remove, Some(value)) => {
                record.success(Said::This(true)).fits(self.remove(value))
            }
            (MultisetVerb::Remove | MultisetVerb::Take, _) => match record.taken() {
                Said::This(Some(value)) => self.remove(value),
                // With anything in, an unknown value was taken, and `choices` says so.
                Said::This(None) | Said::Nothing => self.size == 0,
                Said::Nonsense => false,
            },
            (MultisetVerb::Contains, _) => record.truth().fits(self.copies.get(record.arg) > 0),
            (MultisetVerb::Copies, _) => {
                record.number().fits(i64::from(self.copies.get(record.arg)))
            }
            (MultisetVerb::Size, _) => record.number().fits(self.size as i64),
            (MultisetVerb::IsEmpty, _) => record.truth().fits(self.size == 0),
            (MultisetVerb::Read, _) => {
                holds_exactly(record, self.size, |item, times| self.copies.get(item) == times)
            }
        }
    }
}

/// The first by priority leaves first.
#[derive(Clone)]
pub struct PriorityQueue {
    heap: BinaryHeap<(i64, ValueId)>,
    priorities: Priorities,
}

impl PartialEq for PriorityQueue {
    fn eq(&self, other: &Self) -> bool {
        self.heap.clone().into_sorted_vec() == other.heap.clone().into_sorted_vec()
    }
}

impl Eq for PriorityQueue {}

impl Hash for PriorityQueue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.heap.clone().into_sorted_vec().hash(state);
    }
}

verbs! {
    /// What a priority queue does.
    PriorityVerb {
        Insert: "insert" | "add" | "push" | "put" | "offer",
        Extract: "extract" | "poll" | "pop" | "remove" | "take" | "extract-min" | "extract_min"
            | "delete-min" | "delete_min" | "extract-max" | "extract_max" | "delete-max"
            | "delete_max",
        Peek: "peek" | "first" | "top" | "min" | "max" | "find-min" | "find-max",
        Size: "size" | "len" | "length" | "count",
        IsEmpty: "is_empty" | "is-empty" | "isempty" | "empty",
    }
}

impl PriorityQueue {
    /// The values of which any may leave first.
    fn firsts(&self) -> Vec<ValueId> {
        let best = self.best();
        let mut firsts: Vec<ValueId> =
            self.heap.iter().filter(|entry| Some(entry.0) == best).map(|entry| entry.1).collect();
        firsts.sort_unstable();
        firsts.dedup();
        firsts
    }

    fn best(&self) -> Option<i64> {
        self.heap.peek().map(|&(priority, _)| priority)
    }

    /// Whether a value is there and nothing comes before it.
    fn is_first(&self, values: &Values, value: ValueId) -> bool {
        let top = self.heap.peek().map(|&(_, top)| top);
        let is_best = self.priorities.of_value(values, value) == self.best();
        top == Some(value) || (top.is_some() && is_best && self.firsts().contains(&value))
    }

    /// Takes out a value; false if it is not among the first.
    fn take(&mut self, value: ValueId) -> bool {
        let mut others = Vec::new();
        let mut is_found = false;
        let best = self.best();
        while !is_found && best.is_some() && self.best() == best {
            match self.heap.pop() {
                Some((_, first)) if first == value => is_found = true,
                other => others.extend(other),
            }
        }
        others.into_iter().for_each(|other| self.heap.push(other));
        is_found
    }
}

impl Model for PriorityQueue {
    type Verb = PriorityVerb;

    fn start(setup: &Setup<'_>) -> Self {
        let init = setup.items("init");
        let priorities = Priorities::of(setup.history, &init, setup.flag("max"));
        let values = setup.history.values();
        let entry = |value| priorities.of_value(values, value).map(|priority| (priority, value));
        let heap = init.into_iter().filter_map(entry).collect();
        PriorityQueue { heap, priorities }
    }

    fn observes(verb: PriorityVerb, _: &Record<'_>) -> bool {
        matches!(verb, PriorityVerb::Extract | PriorityVerb::Peek)
    }

    fn choices(&self, verb: PriorityVerb, record: &Record<'_>) -> Option<Vec<Self>> {
        let is_blind = verb == PriorityVerb::Extract && record.ended == Outcome::Pending;
        let firsts = if is_blind { self.firsts() } else { Vec::new() };
        (firsts.len() > 1).then(|| {
            let without = |first: ValueId| {
                let mut smaller = self.clone();
                smaller.take(first);
                smaller
            };
            firsts.into_iter().map(without).collect()
        })
    }

    #[inline]
    fn step(&mut self, verb: PriorityVerb, record: &Record<'_>) -> bool {
        match verb {
            PriorityVerb::Insert => {
                let priority = self.priorities.of_value(record.values(), record.arg);
                let Some(priority) = priority else { return false };
                self.heap.push((priority, record.arg));
                record.is_done()
            }
            PriorityVerb::Extract | PriorityVerb::Peek => match record.taken() {
                Said::This(Some(value)) if verb == PriorityVerb::Extract => self.take(value),
                Said::This(Some(value)) => self.is_first(record.values(), value),
                Said::This(None) => self.heap.is_empty(),
                Said::Nothing if verb == PriorityVerb::Peek => true,
                Said::Nothing => {
                    self.heap.pop();
                    true
                }
                Said::Nonsense => false,
            },
            PriorityVerb::Size => record.number().fits(self.heap.len() as i64),
            PriorityVerb::IsEmpty => record.truth().fits(self.heap.is_empty()),
        }
    }
}
