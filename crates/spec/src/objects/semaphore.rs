//! Semaphore: a number of permits that never falls below zero.

use crate::catalogue::Entry;
use crate::machine::{Answer, Effect, Machine};
use crate::parameters::{Parameter, Parameters};
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Vocabulary, interpret,
};
use seriatim_history::{History, Operation, ValueId, Values};
use std::sync::Arc;

/// A semaphore.
#[derive(Clone, Debug)]
pub struct Semaphore {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
    /// The permits before the first operation.
    pub init: i64,
}

/// An operation of a semaphore.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Takes a permit; waits for one.
    Acquire,
    /// Gives a permit.
    Release,
    /// Takes a permit if there is one, and says so.
    TryAcquire,
    /// The number of permits.
    Read,
}

const METHODS: &[Method] = &[
    Method { names: &["acquire", "down", "wait", "p"], signature: "()", meaning: "take a permit" },
    Method {
        names: &["release", "incr", "up", "signal", "post", "v"],
        signature: "()",
        meaning: "give a permit",
    },
    Method {
        names: &["try_acquire", "decr", "try-acquire", "tryAcquire", "try_wait"],
        signature: "() -> bool",
        meaning: "take a permit; false if there is none",
    },
    Method {
        names: &["permits", "read", "available", "available_permits", "availablePermits"],
        signature: "() -> integer",
        meaning: "how many permits there are",
    },
];

/// The semaphore in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "semaphore",
    aliases: &["counting-semaphore"],
    meaning: "permits that are taken and given, never fewer than none",
    parameters: &[Parameter::natural("init", "0", "the permits at the start")],
    methods: METHODS,
    bind: |parameters, history, failures| {
        let semaphore = Semaphore::build(parameters, history);
        interpret("semaphore", semaphore, history, failures)
    },
};

impl Semaphore {
    /// The semaphore that the parameters describe.
    pub fn build(parameters: &Parameters, history: &mut History) -> Self {
        let init = parameters.integer("init", 0);
        let values = history.values().clone();
        Semaphore { values, init }
    }

    /// Success or not, which some recorders write as an argument, and as 1 or 0.
    fn outcome(recorded: Recorded<'_>) -> Result<Answer, Misfit> {
        let (arg, result) = (recorded.operation.arg(), recorded.operation.result());
        let told = if result.is_present() { result } else { arg };
        match (told, told.as_inline_int()) {
            (ValueId::ABSENT | ValueId::NIL | ValueId::TRUE, _) | (_, Some(1)) => Ok(Answer::Yes),
            (ValueId::FALSE, _) | (_, Some(0)) => Ok(Answer::No),
            _ if recorded.is_bare() => Ok(Answer::Yes),
            _ => Misfit::expected("true or false (1 or 0) as result"),
        }
    }
}

impl Machine for Semaphore {
    type State = i128;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn go_on_with(&mut self, values: Arc<Values>) {
        self.values = values;
    }

    fn start(&self) -> i128 {
        self.init.into()
    }

    fn run(&self, &state: &i128, op: &Op) -> Option<Effect<i128>> {
        match op {
            Op::Acquire if state > 0 => Effect::change(Answer::Done, state - 1),
            Op::Acquire => None,
            Op::Release => Effect::change(Answer::Done, state + 1),
            Op::TryAcquire if state > 0 => Effect::change(Answer::Yes, state - 1),
            Op::TryAcquire => Effect::none(Answer::No),
            Op::Read => Effect::none(Answer::from_number(state)),
        }
    }

    fn leaves_unchanged(&self, op: &Op, answer: Option<&Answer>) -> bool {
        match op {
            Op::Acquire | Op::Release => false,
            Op::TryAcquire => answer == Some(&Answer::No),
            Op::Read => true,
        }
    }

    fn swaps(&self, a: &Op, b: &Op) -> bool {
        matches!(
            (a, b),
            (Op::Acquire, Op::Acquire) | (Op::Release, Op::Release) | (Op::Read, Op::Read)
        )
    }

    fn verb(&self, op: &Op) -> String {
        match op {
            Op::Acquire => "acquire",
            Op::Release => "release",
            Op::TryAcquire => "try_acquire",
            Op::Read => "permits",
        }
        .to_owned()
    }

    fn fact(&self, state: &i128, _: &Op) -> String {
        match state {
            0 => "there is no permit".to_owned(),
            1 => "there is 1 permit".to_owned(),
            permits => format!("there are {permits} permits"),
        }
    }

    fn describe(&self, state: &i128) -> String {
        state.to_string()
    }
}

impl Vocabulary for Semaphore {
    fn methods(&self) -> &'static [Method] {
        METHODS
    }

    fn decode(
        &self,
        operation: Operation<'_>,
        failures: Failures,
    ) -> Result<Decoded<Op, Answer>, Misfit> {
        let recorded = Recorded { operation, failures };
        let refused = Failure::Speaks(Answer::No);
        match recorded.method(METHODS)? {
            "acquire" if operation.result() == ValueId::FALSE => {
                recorded.settle(Op::TryAcquire, refused, Ok(Answer::No))
            }
            "acquire" => recorded.settle(Op::Acquire, Failure::Silent, recorded.done()),
            "release" => match Self::outcome(recorded) {
                Ok(Answer::No) => Misfit::expected("a release that succeeds: it always can"),
                outcome => {
                    let answer = outcome.map(|_| Answer::Done);
                    recorded.settle(Op::Release, Failure::Silent, answer)
                }
            },
            "try_acquire" => recorded.settle(Op::TryAcquire, refused, Self::outcome(recorded)),
            _ => recorded.settle(Op::Read, Failure::Silent, recorded.number()),
        }
    }
}
