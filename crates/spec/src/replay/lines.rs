//! Objects that keep values in a line: queue, stack, deque, log.

use super::record::{Record, Said};
use super::{Model, Setup};
use seriatim_history::{Outcome, Value, ValueId};
use std::collections::VecDeque;
use std::hash::Hash;
use std::marker::PhantomData;

/// A line of values from whose front they are taken.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Line<D> {
    values: VecDeque<ValueId>,
    discipline: PhantomData<D>,
}

/// Where a line takes values in, and what its methods are called.
pub trait Discipline: Clone + Eq + Hash {
    /// Puts a value in its place.
    fn add(line: &mut VecDeque<ValueId>, value: ValueId);

    /// What a name means, in small letters.
    fn verb(name: &str) -> Option<LineVerb>;
}

/// First in, first out: a queue.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Fifo;

/// Last in, first out: a stack.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Lifo;

/// What queues and stacks do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum LineVerb {
    Add,
    Take,
    See,
    Size,
    IsEmpty,
}

impl Discipline for Fifo {
    #[inline]
    fn add(line: &mut VecDeque<ValueId>, value: ValueId) {
        line.push_back(value);
    }

    fn verb(name: &str) -> Option<LineVerb> {
        Some(match name {
            "enqueue" | "enq" | "push" | "add" | "insert" | "put" | "offer" | "send" => {
                LineVerb::Add
            }
            "dequeue" | "deq" | "pop" | "remove" | "poll" | "take" | "receive" | "recv" => {
                LineVerb::Take
            }
            "front" | "peek" | "first" | "head" => LineVerb::See,
            _ => return None,
        })
    }
}

impl Discipline for Lifo {
    #[inline]
    fn add(line: &mut VecDeque<ValueId>, value: ValueId) {
        line.push_front(value);
    }

    fn verb(name: &str) -> Option<LineVerb> {
        Some(match name {
            "push" | "add" | "insert" | "put" => LineVerb::Add,
            "pop" | "remove" | "take" | "poll" => LineVerb::Take,
            "top" | "peek" => LineVerb::See,
            _ => return None,
        })
    }
}

impl<D: Discipline> Model for Line<D> {
    type Verb = LineVerb;

    fn start(setup: &Setup<'_>) -> Self {
        // The initial values came in one after another.
        let mut values = VecDeque::new();
        setup.items("init").into_iter().for_each(|value| D::add(&mut values, value));
        Line { values, discipline: PhantomData }
    }

    fn verb(name: &str) -> Option<LineVerb> {
        D::verb(name).or_else(|| size_verb(name, LineVerb::Size, LineVerb::IsEmpty))
    }

    fn observes(verb: LineVerb, _: &Record<'_>) -> bool {
        matches!(verb, LineVerb::Take | LineVerb::See)
    }

    #[inline]
    fn step(&mut self, verb: LineVerb, record: &Record<'_>) -> bool {
        match verb {
            LineVerb::Add => {
                D::add(&mut self.values, record.arg);
                record.is_done()
            }
            LineVerb::Take => record.taken().fits(self.values.pop_front()),
            LineVerb::See => record.taken().fits(self.values.front().copied()),
            LineVerb::Size => record.number().fits(self.values.len() as i64),
            LineVerb::IsEmpty => record.truth().fits(self.values.is_empty()),
        }
    }
}

/// The two questions that every container answers.
pub fn size_verb<V>(name: &str, size: V, is_empty: V) -> Option<V> {
    match name {
        "size" | "len" | "length" | "count" => Some(size),
        "is_empty" | "is-empty" | "isempty" | "empty" => Some(is_empty),
        _ => None,
    }
}

/// Values are added and taken at both ends.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Deque(VecDeque<ValueId>);

/// What a deque does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DequeVerb {
    PushFront,
    PushBack,
    PopFront,
    PopBack,
    Front,
    Back,
    Size,
    IsEmpty,
}

impl Model for Deque {
    type Verb = DequeVerb;

    fn start(setup: &Setup<'_>) -> Self {
        Deque(setup.items("init").into())
    }

    fn verb(name: &str) -> Option<DequeVerb> {
        use DequeVerb::*;
        Some(match name {
            "push_front" | "push-front" | "pushfront" | "addfirst" | "pushleft" | "push_left" => {
                PushFront
            }
            "push_back" | "push-back" | "pushback" | "addlast" | "pushright" | "push_right" => {
                PushBack
            }
            "pop_front" | "pop-front" | "popfront" | "removefirst" | "popleft" | "pop_left" => {
                PopFront
            }
            "pop_back" | "pop-back" | "popback" | "removelast" | "popright" | "pop_right" => {
                PopBack
            }
            "front" | "peek_front" | "peek-front" | "peekfront" | "peekfirst" => Front,
            "back" | "peek_back" | "peek-back" | "peekback" | "peeklast" => Back,
            _ => return size_verb(name, Size, IsEmpty),
        })
    }

    fn observes(verb: DequeVerb, _: &Record<'_>) -> bool {
        use DequeVerb::*;
        matches!(verb, PopFront | PopBack | Front | Back)
    }

    fn step(&mut self, verb: DequeVerb, record: &Record<'_>) -> bool {
        match verb {
            DequeVerb::PushFront => {
                self.0.push_front(record.arg);
                record.is_done()
            }
            DequeVerb::PushBack => {
                self.0.push_back(record.arg);
                record.is_done()
            }
            DequeVerb::PopFront => record.taken().fits(self.0.pop_front()),
            DequeVerb::PopBack => record.taken().fits(self.0.pop_back()),
            DequeVerb::Front => record.taken().fits(self.0.front().copied()),
            DequeVerb::Back => record.taken().fits(self.0.back().copied()),
            DequeVerb::Size => record.number().fits(self.0.len() as i64),
            DequeVerb::IsEmpty => record.truth().fits(self.0.is_empty()),
        }
    }
}

/// What is appended stays.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Log {
    values: Vec<ValueId>,
}

/// What a log does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum LogVerb {
    Append,
    Read,
    Length,
}

impl Model for Log {
    type Verb = LogVerb;

    fn start(setup: &Setup<'_>) -> Self {
        Log { values: setup.items("init") }
    }

    fn verb(name: &str) -> Option<LogVerb> {
        Some(match name {
            "append" | "add" | "push" | "write" | "send" => LogVerb::Append,
            "read" | "get" | "poll" => LogVerb::Read,
            "length" | "size" | "len" | "count" => LogVerb::Length,
            _ => return None,
        })
    }

    fn observes(verb: LogVerb, record: &Record<'_>) -> bool {
        verb == LogVerb::Read && record.given().is_some()
    }

    fn step(&mut self, verb: LogVerb, record: &Record<'_>) -> bool {
        match (verb, record.given()) {
            (LogVerb::Append, _) => {
                let index = self.values.len() as i64;
                self.values.push(record.arg);
                match record.tells_a_number() {
                    true => record.number().fits(index),
                    false => record.is_done(),
                }
            }
            (LogVerb::Read, None) => self.is_whole(record.list(), record),
            (LogVerb::Read, Some(index)) => self.is_at(index, record),
            (LogVerb::Length, _) => record.number().fits(self.values.len() as i64),
        }
    }
}

impl Log {
    fn is_whole(&self, said: Said<Vec<Value>>, record: &Record<'_>) -> bool {
        let same = |(item, held): (&Value, &ValueId)| record.values().find(item) == Some(*held);
        match said {
            Said::Nothing => true,
            Said::This(list) => {
                list.len() == self.values.len() && list.iter().zip(&self.values).all(same)
            }
            Said::Nonsense => false,
        }
    }

    fn is_at(&self, index: ValueId, record: &Record<'_>) -> bool {
        let Some(index) = record.values().as_int(index) else { return false };
        let held = usize::try_from(index).ok().and_then(|index| self.values.get(index));
        match (record.ended, record.result) {
            (Outcome::Pending, _) | (Outcome::Ok, ValueId::ABSENT) => true,
            (Outcome::Failed, _) | (Outcome::Ok, ValueId::NIL) => held.is_none(),
            (Outcome::Ok, seen) => held == Some(&seen),
        }
    }
}
