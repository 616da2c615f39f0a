//! Weighted semaphore: permits that are taken and given several at a time, until it is closed.
//!
//! Who takes several takes all of them or none. The queue of those who wait is no part of the
//! object: a semaphore that keeps permits back for somebody who waits for more of them is refused
//! as soon as somebody else is told that there are too few.

use super::receiver::is_closed;
use crate::catalogue::Entry;
use crate::machine::{Answer, Effect, Machine};
use crate::parameters::{Parameter, Parameters};
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Vocabulary, interpret,
};
use seriatim_history::{History, Operation, Values};
use std::sync::Arc;

/// A weighted semaphore.
#[derive(Clone, Debug)]
pub struct WeightedSemaphore {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
    /// The permits before the first operation.
    pub init: i64,
}

/// What a weighted semaphore is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The permits that nobody has.
    pub permits: i128,
    /// Whether it was closed.
    pub is_closed: bool,
}

/// An operation of a weighted semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Takes permits; waits until there are enough.
    Acquire(i64),
    /// Takes permits if there are enough, and says so.
    TryAcquire(i64),
    /// Gives permits.
    Release(i64),
    /// Takes permits away, as far as there are any, and says how many.
    Forget(i64),
    /// Gives no permit to anybody any more.
    Close,
    /// Whether it is closed.
    IsClosed,
    /// The number of permits.
    Permits,
}

const METHODS: &[Method] = &[
    Method {
        names: &["acquire", "acquire_many", "acquire-many", "acquireMany"],
        signature: "(count) -> nothing or \"closed\"",
        meaning: "take so many permits at once, 1 without a count; waits for them",
    },
    Method {
        names: &["try_acquire", "try_acquire_many", "try-acquire", "tryAcquire"],
        signature: "(count) -> bool or \"closed\"",
        meaning: "take so many permits at once; false if there are too few",
    },
    Method {
        names: &["release", "add_permits", "release_many", "add-permits", "addPermits"],
        signature: "(count)",
        meaning: "give so many permits",
    },
    Method {
        names: &["forget", "forget_permits", "forget-permits", "forgetPermits"],
        signature: "(count) -> integer",
        meaning: "take away so many permits or as many as there are; how many",
    },
    Method { names: &["close"], signature: "()", meaning: "give no permit any more" },
    Method {
        names: &["is_closed", "is-closed", "isClosed"],
        signature: "() -> bool",
        meaning: "whether it is closed",
    },
    Method {
        names: &["permits", "available", "available_permits", "availablePermits"],
        signature: "() -> integer",
        meaning: "how many permits there are",
    },
];

/// The weighted semaphore in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "weighted-semaphore",
    aliases: &["permits", "batch-semaphore"],
    meaning: "permits that are taken and given several at a time, until it is closed",
    parameters: &[Parameter::natural("init", "0", "the permits at the start")],
    methods: METHODS,
    bind: |parameters, history, failures| {
        let semaphore = WeightedSemaphore::build(parameters, history);
        interpret("weighted-semaphore", semaphore, history, failures)
    },
};

impl WeightedSemaphore {
    /// The semaphore that the parameters describe.
    pub fn build(parameters: &Parameters, history: &mut History) -> Self {
        let init = parameters.integer("init", 0);
        let values = history.values().clone();
        WeightedSemaphore { values, init }
    }
}

impl State {
    /// With so many permits more.
    fn with(self, more: i128) -> State {
        State { permits: self.permits + more, ..self }
    }

    fn take(self, count: i128, taken: Answer) -> Option<Effect<State>> {
        Effect::change(taken, self.with(-count))
    }

    fn has(self, count: i64) -> bool {
        self.permits >= count.into()
    }
}

impl Machine for WeightedSemaphore {
    type State = State;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn go_on_with(&mut self, values: Arc<Values>) {
        self.values = values;
    }

    fn start(&self) -> State {
        State { permits: self.init.into(), is_closed: false }
    }

    fn run(&self, &state: &State, op: &Op) -> Option<Effect<State>> {
        match *op {
            Op::Acquire(_) | Op::TryAcquire(_) if state.is_closed => Effect::none(Answer::Closed),
            Op::Acquire(count) if state.has(count) => state.take(count.into(), Answer::Done),
            Op::Acquire(_) => None,
            Op::TryAcquire(count) if state.has(count) => state.take(count.into(), Answer::Yes),
            Op::TryAcquire(_) => Effect::none(Answer::No),
            Op::Release(count) => Effect::change(Answer::Done, state.with(count.into())),
            Op::Forget(count) => {
                let gone = state.permits.min(count.into());
                state.take(gone, Answer::from_number(gone))
            }
            Op::Close => Effect::change(Answer::Done, State { is_closed: true, ..state }),
            Op::IsClosed => Effect::none(Answer::from_truth(state.is_closed)),
            Op::Permits => Effect::none(Answer::from_number(state.permits)),
        }
    }

    fn leaves_unchanged(&self, op: &Op, answer: Option<&Answer>) -> bool {
        match op {
            Op::Acquire(0) | Op::TryAcquire(0) | Op::Release(0) | Op::Forget(0) => true,
            Op::Acquire(_) | Op::TryAcquire(_) => {
                matches!(answer, Some(Answer::No | Answer::Closed))
            }
            Op::Forget(_) => answer == Some(&Answer::Number(0)),
            Op::Release(_) | Op::Close => false,
            Op::IsClosed | Op::Permits => true,
        }
    }

    fn swaps(&self, a: &Op, b: &Op) -> bool {
        let both_read = self.leaves_unchanged(a, None) && self.leaves_unchanged(b, None);
        let is_alike = matches!(
            (a, b),
            (Op::Acquire(_), Op::Acquire(_))
                | (Op::Release(_), Op::Release(_))
                | (Op::Close, Op::Close)
        );
        both_read || is_alike
    }

    fn verb(&self, op: &Op) -> String {
        match op {
            Op::Acquire(count) => format!("acquire {count}"),
            Op::TryAcquire(count) => format!("try_acquire {count}"),
            Op::Release(count) => format!("release {count}"),
            Op::Forget(count) => format!("forget {count}"),
            Op::Close => "close".to_owned(),
            Op::IsClosed => "is_closed".to_owned(),
            Op::Permits => "permits".to_owned(),
        }
    }

    fn fact(&self, state: &State, _: &Op) -> String {
        let closed = if state.is_closed { ", and it is closed" } else { "" };
        match state.permits {
            0 => format!("there is no permit{closed}"),
            1 => format!("there is 1 permit{closed}"),
            permits => format!("there are {permits} permits{closed}"),
        }
    }

    fn describe(&self, state: &State) -> String {
        let closed = if state.is_closed { ", closed" } else { "" };
        format!("{}{closed}", state.permits)
    }
}

/// How many permits an operation is about: 1 if it does not say.
fn count(recorded: Recorded<'_>) -> Result<i64, Misfit> {
    match recorded.no_arg() {
        Ok(()) => Ok(1),
        Err(_) => match recorded.int_arg() {
            Ok(count) if count >= 0 => Ok(count),
            _ => Misfit::expected("a number of permits as argument, 0 or more"),
        },
    }
}

impl Vocabulary for WeightedSemaphore {
    fn methods(&self) -> &'static [Method] {
        METHODS
    }

    fn decode(
        &self,
        operation: Operation<'_>,
        failures: Failures,
    ) -> Result<Decoded<Op, Answer>, Misfit> {
        let recorded = Recorded { operation, failures };
        let is_closed = is_closed(&self.values, operation.result());
        let unless_closed = |answer: Result<Answer, Misfit>| match is_closed {
            true => Ok(Answer::Closed),
            false => answer,
        };
        let method = recorded.method(METHODS)?;
        if matches!(method, "close" | "is_closed" | "permits") {
            recorded.no_arg()?;
        }
        match method {
            "acquire" => {
                let answer = unless_closed(recorded.done());
                recorded.settle(Op::Acquire(count(recorded)?), Failure::Silent, answer)
            }
            "try_acquire" => {
                let op = Op::TryAcquire(count(recorded)?);
                let answer = unless_closed(recorded.success(Answer::Yes));
                recorded.settle(op, Failure::Speaks(Answer::No), answer)
            }
            "release" => {
                recorded.settle(Op::Release(count(recorded)?), Failure::Silent, recorded.done())
            }
            "forget" => {
                recorded.settle(Op::Forget(count(recorded)?), Failure::Silent, recorded.number())
            }
            "close" => recorded.settle(Op::Close, Failure::Silent, recorded.done()),
            "is_closed" => recorded.settle(Op::IsClosed, Failure::Silent, recorded.truth()),
            _ => recorded.settle(Op::Permits, Failure::Silent, recorded.number()),
        }
    }
}
