//! Mutex: held or free. With `owner`, only the process that acquired it may release it; a log that
//! names no processes does not say who that was, and is refused.

use crate::catalogue::Entry;
use crate::machine::{Answer, Effect, Machine};
use crate::parameters::{Parameter, Parameters};
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Vocabulary, interpret,
};
use seriatim_history::{History, Operation, ProcessId, Value, ValueId, Values};
use std::sync::Arc;

/// A mutex.
#[derive(Clone, Debug)]
pub struct Mutex {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
    /// Who may release it.
    pub release: Release,
    /// The names of the processes.
    names: Vec<Value>,
}

/// Who may release a mutex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Anybody.
    ByAnyone,
    /// The process that acquired it.
    ByOwner,
}

/// Who calls: a process where owners count, else the same for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Caller(u32);

/// An operation of a mutex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Makes the free mutex held; waits for that.
    Acquire(Caller),
    /// Makes the held mutex free.
    Release(Caller),
    /// Makes the mutex held if it is free, and says so.
    TryAcquire(Caller),
    /// Whether the mutex is held.
    IsHeld,
}

const METHODS: &[Method] = &[
    Method { names: &["acquire", "lock"], signature: "()", meaning: "hold the free mutex" },
    Method { names: &["release", "unlock"], signature: "()", meaning: "free the held mutex" },
    Method {
        names: &["try_acquire", "try-acquire", "try_lock", "try-lock", "tryLock", "tryAcquire"],
        signature: "() -> bool",
        meaning: "hold it if it is free; false if it is held",
    },
    Method {
        names: &["is_locked", "is-locked", "isLocked", "locked", "read"],
        signature: "() -> bool",
        meaning: "whether it is held",
    },
];

/// The mutex in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "mutex",
    aliases: &["lock", "spinlock"],
    meaning: "held or free",
    parameters: &[Parameter::flag("owner", "only the process that acquired it may release it")],
    methods: METHODS,
    bind: |parameters, history, failures| {
        interpret("mutex", Mutex::build(parameters, history), history, failures)
    },
};

impl Mutex {
    /// The mutex that the parameters describe.
    pub fn build(parameters: &Parameters, history: &mut History) -> Self {
        let process = |index: usize| history.process_name(index.into()).clone();
        Mutex {
            values: history.values().clone(),
            release: match parameters.flag("owner") {
                true => Release::ByOwner,
                false => Release::ByAnyone,
            },
            names: (0..history.process_count()).map(process).collect(),
        }
    }

    /// A process as this mutex's operations name it.
    pub fn caller(&self, process: ProcessId) -> Caller {
        match self.release {
            Release::ByOwner => Caller(process.0),
            Release::ByAnyone => Caller(0),
        }
    }
}

impl Machine for Mutex {
    /// Who holds the mutex.
    type State = Option<Caller>;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn go_on_with(&mut self, values: Arc<Values>) {
        self.values = values;
    }

    fn start(&self) -> Option<Caller> {
        None
    }

    fn run(&self, state: &Option<Caller>, op: &Op) -> Option<Effect<Option<Caller>>> {
        match (*op, *state) {
            (Op::Acquire(caller), None) => Effect::change(Answer::Done, Some(caller)),
            (Op::Acquire(_), Some(_)) => None,
            (Op::Release(caller), Some(holder)) if caller == holder => {
                Effect::change(Answer::Done, None)
            }
            (Op::Release(_), _) => None,
            (Op::TryAcquire(caller), None) => Effect::change(Answer::Yes, Some(caller)),
            (Op::TryAcquire(_), Some(_)) => Effect::none(Answer::No),
            (Op::IsHeld, holder) => Effect::none(Answer::from_truth(holder.is_some())),
        }
    }

    fn leaves_unchanged(&self, op: &Op, answer: Option<&Answer>) -> bool {
        match op {
            Op::Acquire(_) | Op::Release(_) => false,
            Op::TryAcquire(_) => answer == Some(&Answer::No),
            Op::IsHeld => true,
        }
    }

    fn verb(&self, op: &Op) -> String {
        match op {
            Op::Acquire(_) => "acquire",
            Op::Release(_) => "release",
            Op::TryAcquire(_) => "try_acquire",
            Op::IsHeld => "is_locked",
        }
        .to_owned()
    }

    fn fact(&self, state: &Option<Caller>, _: &Op) -> String {
        format!("the mutex is {}", self.describe(state))
    }

    fn describe(&self, state: &Option<Caller>) -> String {
        match (state, self.release) {
            (None, _) => "free".to_owned(),
            (Some(_), Release::ByAnyone) => "held".to_owned(),
            (Some(Caller(process)), Release::ByOwner) => {
                format!("held by process {}", self.names[*process as usize])
            }
        }
    }
}

impl Vocabulary for Mutex {
    fn methods(&self) -> &'static [Method] {
        METHODS
    }

    fn decode(
        &self,
        operation: Operation<'_>,
        failures: Failures,
    ) -> Result<Decoded<Op, Answer>, Misfit> {
        let recorded = Recorded { operation, failures };
        if self.release == Release::ByOwner && operation.history.invents_processes() {
            return Misfit::expected(
                "operations with their processes: only the owner may release it",
            );
        }
        let caller = self.caller(operation.caller());
        let refused = Failure::Speaks(Answer::No);
        match recorded.method(METHODS)? {
            "acquire" if operation.result() == ValueId::FALSE => {
                recorded.settle(Op::TryAcquire(caller), refused, Ok(Answer::No))
            }
            "acquire" => recorded.settle(Op::Acquire(caller), Failure::Silent, recorded.done()),
            "release" => recorded.settle(Op::Release(caller), Failure::Silent, recorded.done()),
            "try_acquire" => {
                let answer = recorded.success(Answer::Yes);
                recorded.settle(Op::TryAcquire(caller), refused, answer)
            }
            _ => recorded.settle(Op::IsHeld, Failure::Silent, recorded.truth()),
        }
    }
}
