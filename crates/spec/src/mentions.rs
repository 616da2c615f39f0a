//! Which values something names by their ids.
//!
//! Whoever listens to a stream without end forgets the values that nothing names any more, and
//! gives their ids to others. *Unsound if* something names a value and does not say so.

use crate::machine::Answer;
use crate::objects::multi_register::Micro;
use crate::objects::receiver::Receiver;
use crate::objects::{
    bounded_deque, broadcast, cache, counter, deque, line, log, map, multi_register, multiset,
    mutex, once_cell, priority_queue, register, semaphore, set, snapshot, sorted_map, watch,
    weighted_semaphore,
};
use crate::{Collection, Sequence};
use seriatim_history::ValueId;
use seriatim_persistent::{Deque, Entries};

/// Something that names values by their ids.
pub trait Mentions {
    /// Tells every id that is named.
    fn mention(&self, tell: &mut dyn FnMut(ValueId));
}

impl Mentions for ValueId {
    fn mention(&self, tell: &mut dyn FnMut(ValueId)) {
        tell(*self);
    }
}

/// A number names no value.
impl Mentions for u32 {
    fn mention(&self, _: &mut dyn FnMut(ValueId)) {}
}

/// A number names no value.
impl Mentions for i128 {
    fn mention(&self, _: &mut dyn FnMut(ValueId)) {}
}

/// A number names no value.
impl Mentions for i64 {
    fn mention(&self, _: &mut dyn FnMut(ValueId)) {}
}

impl<T: Mentions> Mentions for Option<T> {
    fn mention(&self, tell: &mut dyn FnMut(ValueId)) {
        self.iter().for_each(|one| one.mention(tell));
    }
}

impl<T: Mentions> Mentions for Box<[T]> {
    fn mention(&self, tell: &mut dyn FnMut(ValueId)) {
        self.iter().for_each(|one| one.mention(tell));
    }
}

impl<K: Mentions, V: Mentions> Mentions for Entries<K, V> {
    fn mention(&self, tell: &mut dyn FnMut(ValueId)) {
        for (key, value) in self.iter() {
            key.mention(tell);
            value.mention(tell);
        }
    }
}

impl Mentions for Deque<ValueId> {
    fn mention(&self, tell: &mut dyn FnMut(ValueId)) {
        self.iter().copied().for_each(tell);
    }
}

impl Mentions for () {
    fn mention(&self, _: &mut dyn FnMut(ValueId)) {}
}

impl<A: Mentions, B: Mentions> Mentions for (A, B) {
    fn mention(&self, tell: &mut dyn FnMut(ValueId)) {
        self.0.mention(tell);
        self.1.mention(tell);
    }
}

impl Mentions for Sequence {
    fn mention(&self, tell: &mut dyn FnMut(ValueId)) {
        self.newest_first().for_each(tell);
    }
}

/// A collection of ids. If it is one of other numbers, too much is kept, which hurts nobody.
impl Mentions for Collection {
    fn mention(&self, tell: &mut dyn FnMut(ValueId)) {
        self.counts().into_iter().for_each(|(number, _)| tell(ValueId(number)));
    }
}

impl Mentions for Answer {
    fn mention(&self, tell: &mut dyn FnMut(ValueId)) {
        match self {
            Answer::Value(value) => tell(*value),
            Answer::Items(items) => items.mention(tell),
            Answer::Done
            | Answer::Yes
            | Answer::No
            | Answer::Empty
            | Answer::Number(_)
            | Answer::Beyond
            | Answer::Text(_)
            | Answer::Closed
            | Answer::Lagged(_)
            | Answer::Unrecorded => {}
        }
    }
}

/// What an operation names: how many values, one line for each variant.
macro_rules! operation_mentions {
    ($object:ident: $($variant:pat => [$($named:expr),*];)+) => {
        impl Mentions for $object::Op {
            fn mention(&self, tell: &mut dyn FnMut(ValueId)) {
                #[allow(clippy::enum_glob_use)]
                use $object::Op::*;
                let _ = &tell;
                match self {
                    $($variant => { $($named.mention(tell);)* })+
                }
            }
        }
    };
}

operation_mentions! { register:
    Read => [];
    Write(value) | Swap(value) => [value];
    Cas(old, new) => [old, new];
}
operation_mentions! { map:
    Get(key) | Delete(key) | Contains(key) => [key];
    Put(key, value) | Insert(key, value) | Append(key, value) => [key, value];
    Cas(key, old, new) => [key, old, new];
    Size => [];
}
operation_mentions! { sorted_map:
    Get(key) | Take(key) | Contains(key) => [key];
    Put(key, value) | Update(key, value) | GetOrInsert(key, value) => [key, value];
    See(_) | Pop(_) | Range(..) | Size | IsEmpty => [];
}
operation_mentions! { cache:
    Get(key) | Take(key) | Contains(key) => [key];
    Put(key, value) | GetOrInsert(key, value) => [key, value];
    Clear => [];
}
operation_mentions! { set:
    Add(element) | Remove(element) | Contains(element) => [element.value];
    Size | IsEmpty | Read => [];
}
operation_mentions! { multiset:
    Add(value) | Remove(value) | Contains(value) | Count(value) => [value];
    Take | Size | IsEmpty | Read => [];
}
operation_mentions! { line:
    Add(value) => [value];
    Take | See | Size | IsEmpty => [];
}
operation_mentions! { deque:
    Push(_, value) => [value];
    Pop(_) | Peek(_) | Size | IsEmpty => [];
}
operation_mentions! { bounded_deque:
    Push(_, value) | Force(_, value) => [value];
    Pop(_) | Peek(_) | Drain | Size | IsEmpty | IsFull => [];
}
operation_mentions! { log:
    Append(value) => [value];
    Get(_) | Read | Length => [];
}
operation_mentions! { snapshot:
    Update(_, value) => [value];
    Read(_) | Scan => [];
}
operation_mentions! { once_cell:
    Set(value) | GetOrInit(value) => [value];
    Get => [];
}
// The ranks of a priority queue are small integers, or those of values that it knows from the
// beginning.
operation_mentions! { priority_queue: Insert(_) | Extract | Peek | Size | IsEmpty => []; }
operation_mentions! { counter: Add(_) | AddAndGet(_) | FetchAdd(_) | Read => []; }
operation_mentions! { mutex: Acquire(_) | Release(_) | TryAcquire(_) | IsHeld => []; }
operation_mentions! { weighted_semaphore:
    Acquire(_) | TryAcquire(_) | Release(_) | Forget(_) | Close | IsClosed | Permits => [];
}
operation_mentions! { watch:
    Send(value) | Replace(value) => [value];
    Update(receiver) | HasChanged(receiver) | Changed(receiver) | Subscribe(receiver) => [receiver];
    Read | Close => [];
}
operation_mentions! { broadcast:
    Send(value) => [value];
    Receive(receiver) | TryReceive(receiver) | Behind(receiver) | Subscribe(receiver) => [receiver];
    Close => [];
}
operation_mentions! { semaphore: Acquire | Release | TryAcquire | Read => []; }

impl Mentions for multi_register::Op {
    fn mention(&self, tell: &mut dyn FnMut(ValueId)) {
        for micro in &self.0 {
            match *micro {
                Micro::Read(register) => tell(register),
                Micro::Write(register, value) => [register, value].into_iter().for_each(&mut *tell),
            }
        }
    }
}

impl Mentions for sorted_map::Key {
    fn mention(&self, tell: &mut dyn FnMut(ValueId)) {
        tell(self.id);
    }
}

impl Mentions for map::Held {
    fn mention(&self, tell: &mut dyn FnMut(ValueId)) {
        match self {
            map::Held::Known(value) => tell(*value),
            map::Held::Text(_) => {}
        }
    }
}

impl Mentions for map::Entries {
    fn mention(&self, tell: &mut dyn FnMut(ValueId)) {
        match self {
            map::Entries::Empty => {}
            map::Entries::One(key, held) => {
                tell(*key);
                held.mention(tell);
            }
            map::Entries::Many(entries) => entries.mention(tell),
        }
    }
}

impl Mentions for set::Members {
    fn mention(&self, tell: &mut dyn FnMut(ValueId)) {
        match self {
            // Bits are numbers of elements that are known from the beginning.
            set::Members::Few(_) => {}
            set::Members::Many(elements) => elements.mention(tell),
        }
    }
}

/// Who holds a mutex is no value.
impl Mentions for mutex::Caller {
    fn mention(&self, _: &mut dyn FnMut(ValueId)) {}
}

/// Permits are no values.
impl Mentions for weighted_semaphore::State {
    fn mention(&self, _: &mut dyn FnMut(ValueId)) {}
}

impl Mentions for watch::State {
    fn mention(&self, tell: &mut dyn FnMut(ValueId)) {
        tell(self.value);
        self.seen_by.mention(tell);
    }
}

impl Mentions for broadcast::State {
    fn mention(&self, tell: &mut dyn FnMut(ValueId)) {
        self.kept.mention(tell);
        self.past.mention(tell);
    }
}

impl Mentions for Receiver {
    fn mention(&self, tell: &mut dyn FnMut(ValueId)) {
        match self {
            Receiver::Named(name) => tell(*name),
            Receiver::Of(_) => {}
        }
    }
}
