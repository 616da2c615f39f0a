//! Objects that keep values in a line: queue, stack, deque, bounded deque, log.

use super::record::{Record, Said};
use super::{Model, Setup, Verb};
use seriatim_history::ValueId;
use std::collections::VecDeque;
use std::hash::Hash;
use std::marker::PhantomData;

/// A line with two ends and room for so many values. A queue takes values in at the back and a stack
/// at the front; both take them out at the front.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Line<S> {
    values: VecDeque<ValueId>,
    capacity: i64,
    sort: PhantomData<S>,
}

verbs! {
    /// What lines do, as a deque and a bounded deque call it.
    LineVerb {
        PushFront: "push_front" | "push-front" | "pushfront" | "addfirst" | "pushleft"
            | "push_left" | "try_push_front",
        PushBack: "push_back" | "push-back" | "pushback" | "addlast" | "pushright" | "push_right"
            | "push" | "enqueue" | "send" | "try_push" | "try_send" | "offer",
        ForceFront: "force_push_front",
        ForceBack: "force_push" | "force_push_back" | "force_send",
        PopFront: "pop_front" | "pop-front" | "popfront" | "removefirst" | "popleft" | "pop_left"
            | "pop" | "dequeue" | "receive" | "try_pop" | "try_recv" | "poll",
        PopBack: "pop_back" | "pop-back" | "popback" | "removelast" | "popright" | "pop_right"
            | "try_pop_back",
        Front: "front" | "peek_front" | "peek-front" | "peekfront" | "peekfirst" | "peek",
        Back: "back" | "peek_back" | "peek-back" | "peekback" | "peeklast",
        Drain: "drain" | "take_all",
        Size: "size" | "len" | "length" | "count",
        IsEmpty: "is_empty" | "is-empty" | "isempty" | "empty",
        IsFull: "is_full" | "is-full" | "isfull" | "full",
    }
}

/// What tells one sort of line from another.
pub trait Sort: 'static + Clone + Eq + Hash {
    /// Whether a push that failed found no room.
    const IS_BOUNDED: bool = false;

    /// What a name means, in small letters.
    fn verb(name: &str) -> Option<LineVerb> {
        LineVerb::of(name)
    }
}

/// First in, first out: a queue.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Fifo;

/// Last in, first out: a stack.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Lifo;

/// Both ends for both.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Deque;

/// The same with an end to it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Bounded;

/// The questions that every line answers.
fn size_verb(name: &str) -> Option<LineVerb> {
    LineVerb::of(name).filter(|verb| matches!(verb, LineVerb::Size | LineVerb::IsEmpty))
}

impl Sort for Fifo {
    fn verb(name: &str) -> Option<LineVerb> {
        Some(match name {
            "enqueue" | "enq" | "push" | "add" | "insert" | "put" | "offer" | "send" => {
                LineVerb::PushBack
            }
            "dequeue" | "deq" | "pop" | "remove" | "poll" | "take" | "receive" | "recv" => {
                LineVerb::PopFront
            }
            "front" | "peek" | "first" | "head" => LineVerb::Front,
            _ => return size_verb(name),
        })
    }
}

impl Sort for Lifo {
    fn verb(name: &str) -> Option<LineVerb> {
        Some(match name {
            "push" | "add" | "insert" | "put" => LineVerb::PushFront,
            "pop" | "remove" | "take" | "poll" => LineVerb::PopFront,
            "top" | "peek" => LineVerb::Front,
            _ => return size_verb(name),
        })
    }
}

impl Sort for Deque {}

impl Sort for Bounded {
    const IS_BOUNDED: bool = true;
}

impl<S> Line<S> {
    fn is_full(&self) -> bool {
        self.values.len() as i64 >= self.capacity
    }

    /// Lets a value in whatever the room; the one that goes for it.
    #[inline]
    fn force(&mut self, is_front: bool, value: ValueId) -> Option<ValueId> {
        let is_full = self.is_full();
        match is_front {
            true => self.values.push_front(value),
            false => self.values.push_back(value),
        }
        match is_front {
            _ if !is_full => None,
            true => self.values.pop_back(),
            false => self.values.pop_front(),
        }
    }

    #[inline]
    fn push(&mut self, is_front: bool, record: &Record<'_>) -> bool {
        let has_room = !self.is_full();
        if has_room {
            self.force(is_front, record.arg);
        }
        record.success(Said::This(true)).fits(has_room)
    }
}

impl<S: Sort> Model for Line<S> {
    type Verb = LineVerb;

    fn start(setup: &Setup<'_>) -> Self {
        let mut values: VecDeque<ValueId> = setup.items("init").into();
        // The top of a stack is given last.
        if setup.name == "stack" {
            values.make_contiguous().reverse();
        }
        let capacity = if setup.flag("capacity") { setup.integer("capacity") } else { i64::MAX };
        Line { values, capacity, sort: PhantomData }
    }

    fn verb(name: &str) -> Option<LineVerb> {
        S::verb(name)
    }

    fn observes(verb: LineVerb, _: &Record<'_>) -> bool {
        use LineVerb::*;
        matches!(verb, PopFront | PopBack | Front | Back)
            || S::IS_BOUNDED && matches!(verb, PushFront | PushBack)
    }

    #[inline]
    fn step(&mut self, verb: LineVerb, record: &Record<'_>) -> bool {
        match verb {
            LineVerb::PushFront => self.push(true, record),
            LineVerb::PushBack => self.push(false, record),
            LineVerb::ForceFront => record.found().fits(self.force(true, record.arg)),
            LineVerb::ForceBack => record.found().fits(self.force(false, record.arg)),
            LineVerb::PopFront => record.taken().fits(self.values.pop_front()),
            LineVerb::PopBack => record.taken().fits(self.values.pop_back()),
            LineVerb::Front => record.taken().fits(self.values.front().copied()),
            LineVerb::Back => record.taken().fits(self.values.back().copied()),
            LineVerb::Drain => {
                let all = self.values.drain(..).map(|value| record.values().get(value));
                record.list().fits(all.collect())
            }
            LineVerb::Size => record.number().fits(self.values.len() as i64),
            LineVerb::IsEmpty => record.truth().fits(self.values.is_empty()),
            LineVerb::IsFull => record.truth().fits(self.is_full()),
        }
    }
}

/// What is appended stays.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Log {
    values: Vec<ValueId>,
}

verbs! {
    /// What a log does.
    LogVerb {
        Append: "append" | "add" | "push" | "write" | "send",
        Read: "read" | "get" | "poll",
        Length: "length" | "size" | "len" | "count",
    }
}

impl Model for Log {
    type Verb = LogVerb;

    fn start(setup: &Setup<'_>) -> Self {
        Log { values: setup.items("init") }
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
            (LogVerb::Read, None) => {
                let all = self.values.iter().map(|&value| record.values().get(value));
                record.list().fits(all.collect())
            }
            (LogVerb::Read, Some(index)) => self.is_at(index, record),
            (LogVerb::Length, _) => record.number().fits(self.values.len() as i64),
        }
    }
}

impl Log {
    fn is_at(&self, index: ValueId, record: &Record<'_>) -> bool {
        let Some(index) = record.values().as_int(index) else { return false };
        let held = usize::try_from(index).ok().and_then(|index| self.values.get(index));
        record.found().fits(held.copied())
    }
}
