//! A line with two ends and room for so many values: `bounded-deque`.

use super::lines::size_verb;
use super::record::{Record, Said};
use super::{Model, Setup};
use seriatim_history::{Outcome, ValueId};
use std::collections::VecDeque;

/// A bounded deque.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Bounded {
    values: VecDeque<ValueId>,
    capacity: i64,
}

/// What a bounded deque does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum BoundedVerb {
    PushBack,
    PushFront,
    ForceBack,
    ForceFront,
    PopFront,
    PopBack,
    Front,
    Back,
    Drain,
    Size,
    IsEmpty,
    IsFull,
}

impl Bounded {
    fn is_full(&self) -> bool {
        self.values.len() as i64 >= self.capacity
    }

    /// Lets a value in whatever the room; the one that goes for it.
    fn force(&mut self, verb: BoundedVerb, value: ValueId) -> Option<ValueId> {
        let is_full = self.is_full();
        match verb {
            BoundedVerb::ForceFront => self.values.push_front(value),
            _ => self.values.push_back(value),
        }
        match (is_full, verb) {
            (false, _) => None,
            (true, BoundedVerb::ForceFront) => self.values.pop_back(),
            (true, _) => self.values.pop_front(),
        }
    }

    fn push(&mut self, verb: BoundedVerb, record: &Record<'_>) -> bool {
        let has_room = !self.is_full();
        match verb {
            _ if !has_room => {}
            BoundedVerb::PushFront => self.values.push_front(record.arg),
            _ => self.values.push_back(record.arg),
        }
        record.success(Said::This(true)).fits(has_room)
    }
}

impl Model for Bounded {
    type Verb = BoundedVerb;

    fn start(setup: &Setup<'_>) -> Self {
        let capacity = if setup.flag("capacity") { setup.integer("capacity") } else { i64::MAX };
        Bounded { values: VecDeque::new(), capacity }
    }

    fn verb(name: &str) -> Option<BoundedVerb> {
        use BoundedVerb::*;
        Some(match name {
            "push_back" | "push" | "enqueue" | "send" | "try_push" | "try_send" | "offer" => {
                PushBack
            }
            "push_front" | "try_push_front" => PushFront,
            "force_push" | "force_push_back" | "force_send" => ForceBack,
            "force_push_front" => ForceFront,
            "pop_front" | "pop" | "dequeue" | "receive" | "try_pop" | "try_recv" | "poll" => {
                PopFront
            }
            "pop_back" | "try_pop_back" => PopBack,
            "front" | "peek" => Front,
            "back" | "peek_back" => Back,
            "drain" | "take_all" => Drain,
            "is_full" | "is-full" | "isfull" | "full" => IsFull,
            _ => return size_verb(name, Size, IsEmpty),
        })
    }

    fn observes(verb: BoundedVerb, _: &Record<'_>) -> bool {
        use BoundedVerb::*;
        matches!(verb, PushBack | PushFront | PopFront | PopBack | Front | Back)
    }

    fn step(&mut self, verb: BoundedVerb, record: &Record<'_>) -> bool {
        use BoundedVerb::*;
        match verb {
            PushBack | PushFront => self.push(verb, record),
            ForceBack | ForceFront => {
                let gone = self.force(verb, record.arg);
                match (record.ended, record.result) {
                    (Outcome::Pending, _) | (_, ValueId::ABSENT) => true,
                    (_, ValueId::NIL) => gone.is_none(),
                    (_, told) => gone == Some(told),
                }
            }
            PopFront => record.taken().fits(self.values.pop_front()),
            PopBack => record.taken().fits(self.values.pop_back()),
            Front => record.taken().fits(self.values.front().copied()),
            Back => record.taken().fits(self.values.back().copied()),
            Drain => {
                let all = self.values.drain(..).map(|value| record.values().get(value));
                record.list().fits(all.collect())
            }
            Size => record.number().fits(self.values.len() as i64),
            IsEmpty => record.truth().fits(self.values.is_empty()),
            IsFull => record.truth().fits(self.is_full()),
        }
    }
}
