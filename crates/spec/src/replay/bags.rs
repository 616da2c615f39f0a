//! Objects that keep values without an order of their own: set, multiset, priority queue.

use super::lines::size_verb;
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

/// What a set does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SetVerb {
    Add,
    Remove,
    Contains,
    Size,
    IsEmpty,
    Read,
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

    fn verb(name: &str) -> Option<SetVerb> {
        Some(match name {
            "add" | "insert" | "put" => SetVerb::Add,
            "remove" | "delete" | "erase" => SetVerb::Remove,
            "contains" | "member" | "has" | "find" | "search" | "lookup" => SetVerb::Contains,
            "read" | "elements" | "get" | "to_list" => SetVerb::Read,
            _ => return size_verb(name, SetVerb::Size, SetVerb::IsEmpty),
        })
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

/// What a multiset does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum MultisetVerb {
    Add,
    Remove,
    Take,
    Contains,
    Copies,
    Size,
    IsEmpty,
    Read,
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
        // Where choices are possible, multisets are copied and listed: then they had better be
        // small.
        let chooses = setup.any(|name, record| {
            Multiset::verb(name).is_some_and(|verb| Multiset::is_blind(verb, record))
        });
        let room = if chooses { 0 } else { setup.room };
        let mut multiset = Multiset { copies: Table::with_room(room), size: 0 };
        for item in setup.items("init") {
            multiset.copies.set(item, multiset.copies.get(item) + 1);
            multiset.size += 1;
        }
        multiset
    }

    fn verb(name: &str) -> Option<MultisetVerb> {
        Some(match name {
            "add" | "insert" | "put" | "push" | "enqueue" => MultisetVerb::Add,
            "remove" | "delete" | "erase" => MultisetVerb::Remove,
            "take" | "pop" | "poll" | "get" | "dequeue" => MultisetVerb::Take,
            "contains" | "member" | "has" | "find" => MultisetVerb::Contains,
            "multiplicity" | "occurrences" => MultisetVerb::Copies,
            "read" | "items" | "elements" => MultisetVerb::Read,
            _ => return size_verb(name, MultisetVerb::Size, MultisetVerb::IsEmpty),
        })
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

/// What a priority queue does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum PriorityVerb {
    Insert,
    Extract,
    Peek,
    Size,
    IsEmpty,
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
        self.heap.extend(others);
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

    fn verb(name: &str) -> Option<PriorityVerb> {
        Some(match name {
            "insert" | "add" | "push" | "put" | "offer" => PriorityVerb::Insert,
            "extract" | "poll" | "pop" | "remove" | "take" | "extract-min" | "extract_min"
            | "delete-min" | "delete_min" | "extract-max" | "extract_max" | "delete-max"
            | "delete_max" => PriorityVerb::Extract,
            "peek" | "first" | "top" | "min" | "max" | "find-min" | "find-max" => {
                PriorityVerb::Peek
            }
            _ => return size_verb(name, PriorityVerb::Size, PriorityVerb::IsEmpty),
        })
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
                self.heap.extend(priority.map(|priority| (priority, record.arg)));
                priority.is_some() && record.is_done()
            }
            PriorityVerb::Extract => match record.taken() {
                Said::This(Some(value)) => self.take(value),
                Said::This(None) => self.heap.is_empty(),
                Said::Nothing => {
                    self.heap.pop();
                    true
                }
                Said::Nonsense => false,
            },
            PriorityVerb::Peek => match record.taken() {
                Said::This(Some(value)) => self.is_first(record.values(), value),
                Said::This(None) => self.heap.is_empty(),
                Said::Nothing => true,
                Said::Nonsense => false,
            },
            PriorityVerb::Size => record.number().fits(self.heap.len() as i64),
            PriorityVerb::IsEmpty => record.truth().fits(self.heap.is_empty()),
        }
    }
}
