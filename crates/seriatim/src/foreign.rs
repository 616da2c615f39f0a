//! Specifications that live in another language.
//!
//! The host gives numbers to its states and to its operations, a result included, and is asked for
//! steps between states. Nothing that it does becomes a wrong verdict by accident:
//!
//! - **It fails** (an exception, a panic, an answer that makes no sense): the check stops, and
//!   there is no verdict.
//! - **It is no function**: the answers to the first [`REMEMBERED`] different steps are remembered.
//!   A step that comes up again is asked again; only if the answer is the same is it answered from
//!   memory from then on. When there is a verdict, up to [`ASKED_AGAIN`] of them are asked once
//!   more for no other reason. A difference is told, and there is no verdict.
//! - **It changes its states**: a host that can see that says so in [`Model::complaint`].
//! - **It asks about itself**: a model may ask about another history while it is asked, but only
//!   [`NESTED`] deep, so that no host runs out of stack in code of ours.
//!
//! **What would make it unsound**: two different states under one number, operations with different
//! results under one number, or a model whose answers change in places that nobody looks at twice.
//! (Equal states under two numbers only cost time.) An operation that is open at the horizon of a
//! counterexample keeps its number: it may take effect with the result that it had later, or not at
//! all. That is fair: if the whole history has an order, so has each prefix, with these results.

use crate::question::{Answered, Question, Refused};
use rustc_hash::FxHashMap;
use seriatim_history::{
    Builder, Call, History, InputError, Interval, Outcome, Outside, Return, Time, Value, ValueId,
    json_value,
};
use seriatim_limits::checkpoint_now;
use seriatim_monitor::Options;
use seriatim_spec::{Bound, Cancel, Interpretation, Next, Reader, Spec, Verdict};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many steps are remembered, to see whether a model is a function; and how many states they may
/// lead to in all, so that a model with very many does not fill the memory.
pub const REMEMBERED: usize = 1 << 16;
const REMEMBERED_STATES: usize = 1 << 20;

/// How many of them are asked again at the end.
pub const ASKED_AGAIN: usize = 1 << 10;

/// How deep models may ask about models while they are asked.
pub const NESTED: usize = 16;

thread_local! {
    /// Where on this thread's stack checks of models wait for an answer. A host may abandon them
    /// without unwinding (Go ends a goroutine so): those lie below whoever looks, and count no more.
    static WAITING: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// A check of a model that waits for its answers; its place on the stack.
struct Waiting(usize);

impl Waiting {
    fn at(here: usize, name: &str) -> Result<Waiting, Refused> {
        WAITING.with_borrow_mut(|waiting| {
            waiting.retain(|outer| *outer > here);
            if waiting.len() >= NESTED {
                return Err(Refused(format!(
                    "{name} is asked while it is asked: checks of models nest at most {NESTED} deep"
                )));
            }
            waiting.push(here);
            Ok(Waiting(here))
        })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITING.with_borrow_mut(|waiting| waiting.retain(|place| *place != self.0));
    }
}

/// A sequential object of the host.
pub trait Model: Send + Sync + 'static {
    /// The specification's name, for messages.
    fn name(&self) -> String;

    /// The number of the state before the first operation.
    fn initial(&self) -> u32;

    /// The states after the operation in a state; none if it is impossible there. `Err`: the model
    /// failed, and why.
    fn step(&self, state: u32, operation: u32) -> Result<Next<u32>, String>;

    /// What is wrong with the model although every step had an answer; asked once, when there is a
    /// verdict.
    fn complaint(&self) -> Option<String> {
        None
    }

    /// The independent part of the object that the operation acts on; see [`Spec::key`].
    fn part(&self, _operation: u32) -> Option<u64> {
        None
    }

    /// The operation as a person reads it: `dequeue() -> 7`.
    fn describe(&self, operation: u32) -> String {
        format!("operation {operation}")
    }

    /// The state as a person reads it.
    fn show(&self, state: u32) -> String {
        format!("state {state}")
    }
}

/// An operation of the host, by number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// Who called it; either all operations of a history say so or none.
    pub process: Option<i64>,
    /// When it was called.
    pub call: Time,
    /// When it returned; `None` if nobody knows whether it happened.
    pub ret: Option<Time>,
    /// Its number, which stands for its result, too.
    pub operation: u32,
}

/// Checks operations under a model. The number of threads is one: hosts seldom like more.
///
/// ```
/// use seriatim::foreign::{Model, Operation, check_model};
/// use seriatim::{Next, question::Question};
///
/// /// Tickets: operation n takes the ticket n.
/// struct Tickets;
/// impl Model for Tickets {
///     fn name(&self) -> String { "tickets".into() }
///     fn initial(&self) -> u32 { 0 }
///     fn step(&self, state: u32, operation: u32) -> Result<Next<u32>, String> {
///         Ok(Next::when(state == operation, || state + 1))
///     }
///     fn describe(&self, operation: u32) -> String { format!("take() -> {operation}") }
/// }
///
/// let take = |operation, call, ret| Operation { process: None, call, ret: Some(ret), operation };
/// let answered = check_model(Tickets, &[take(1, 0, 1), take(0, 2, 3)], &Question::default())?;
/// assert!(answered.text(100).contains("take → 1"));
/// # Ok::<(), seriatim::question::Refused>(())
/// ```
pub fn check_model(
    model: impl Model,
    operations: &[Operation],
    question: &Question<'_>,
) -> Result<Answered, Refused> {
    let name = Outside(&model.name()).to_string();
    let mark = 0_u8;
    let _waiting = Waiting::at(&raw const mark as usize, &name)?;
    let request = question.request();
    let watched = Arc::new(Watched::new(model, &request));
    let history = history_of(&watched, &name, operations)?;
    let numbers = operations.iter().map(|operation| operation.operation).collect();
    let reader = Arc::new(ModelReader { model: watched.clone(), numbers, name });
    let options = &question.options;
    let strategies = options.strategies.clone();
    let options = Options { threads: 1, strategies, cancel: Some(&request), ..*options };
    let question = Question { options, ..Question::default() };
    let answered = question.answer_by(history, reader);
    let is_decided = |answered: &Answered| !matches!(answered.checked.verdict, Verdict::Unknown(_));
    if answered.as_ref().is_ok_and(is_decided) {
        watched.ask_again();
    }
    watched.ask_for_complaints();
    match watched.failure() {
        Some(failure) => Err(Refused(failure)),
        None => answered,
    }
}

fn history_of<M: Model>(
    model: &Watched<M>,
    name: &str,
    operations: &[Operation],
) -> Result<History, InputError> {
    let mut builder = Builder::new(name);
    for (index, operation) in operations.iter().enumerate() {
        let process = operation.process.map(|process| builder.process(&Value::Int(process)));
        // Names can be done without once the time is over.
        let name = match model.request.is_raised() {
            true => format!("operation {}", operation.operation),
            false => model.describe(operation.operation),
        };
        let (call, result) = told(&mut builder, &name);
        let interval = Interval { call: operation.call, ret: operation.ret };
        let ret = Return::new(Outcome::Ok, result);
        builder.operation(index as u64 + 1, process, call, interval, ret)?;
    }
    builder.finish()
}

/// An operation from the text that describes it: `put(k, 1) -> true` has a name, an argument and a
/// result.
fn told(builder: &mut Builder, text: &str) -> (Call, ValueId) {
    let (call, result) = text.split_once(" -> ").unwrap_or((text, ""));
    let inner = call.strip_suffix(')').and_then(|call| call.split_once('('));
    let (name, argument) = inner.unwrap_or((call, ""));
    let mut value = |text: &str| match text.is_empty() {
        true => ValueId::ABSENT,
        false => {
            let value = json_value(text).unwrap_or_else(|_| Value::Name(text.into()));
            builder.values().intern(&value)
        }
    };
    let (argument, result) = (value(argument), value(result));
    (Call::new(builder.method(name)).arg(argument), result)
}

/// The operations of a model, with the meaning that it gives them.
struct ModelReader<M: Model> {
    model: Arc<Watched<M>>,
    /// By their number in the history, which is the line less one.
    numbers: Vec<u32>,
    name: String,
}

impl<M: Model> Reader for ModelReader<M> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn defect(&self) -> Option<String> {
        self.model.failure()
    }

    fn read(&self, history: &mut History) -> Result<Interpretation, InputError> {
        let mut bound: Bound<Watched<M>> = Bound::new(self.model.clone());
        let mut classes = Vec::with_capacity(history.len());
        for operation in history.operations() {
            let number = self.numbers[operation.line() as usize - 1];
            classes.push(Some(bound.class(number, operation.ret().map(|_| ()))));
        }
        Ok(Interpretation::new(Arc::new(bound), classes))
    }
}

/// A model under observation.
struct Watched<M> {
    model: M,
    /// What ends the check: the model is not asked for more than an answer needs from then on.
    request: Cancel,
    /// Whether there is a failure in `seen`; looked at for each step.
    has_failed: AtomicBool,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    failure: Option<String>,
    steps: FxHashMap<(u32, u32), Remembered>,
    /// The states in `steps`.
    states: usize,
}

struct Remembered {
    next: Next<u32>,
    /// Whether the model said so twice.
    is_confirmed: bool,
}

impl<M: Model> Watched<M> {
    fn new(model: M, request: &Cancel) -> Self {
        let (request, has_failed) = (request.clone(), AtomicBool::new(false));
        Watched { model, request, has_failed, seen: Mutex::default() }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failure(&self) -> Option<String> {
        self.seen().failure.clone()
    }

    /// The states after a step, by memory or by asking.
    fn next(&self, state: u32, operation: u32) -> Next<u32> {
        if let Some(known) = self.seen().steps.get(&(state, operation))
            && known.is_confirmed
        {
            return known.next.clone();
        }
        self.ask(state, operation)
    }

    /// Asks the model, unless it has failed before.
    fn ask(&self, state: u32, operation: u32) -> Next<u32> {
        if self.has_failed.load(Ordering::Relaxed) {
            return Next::None;
        }
        // How long a model takes for an answer nobody knows.
        checkpoint_now();
        let asked = guarded(|| self.model.step(state, operation));
        let mut seen = self.seen();
        let problem = match asked.and_then(|answer| answer) {
            Err(problem) => problem,
            Ok(next) => match seen.steps.get_mut(&(state, operation)) {
                Some(known) if known.next != next => self.contradiction(state, operation),
                Some(known) => {
                    known.is_confirmed = true;
                    return next;
                }
                None => {
                    let states = match &next {
                        Next::Many(states) => states.len(),
                        Next::None | Next::One(_) => 1,
                    };
                    let has_room =
                        seen.steps.len() < REMEMBERED && seen.states + states <= REMEMBERED_STATES;
                    if has_room {
                        seen.states += states;
                        let known = Remembered { next: next.clone(), is_confirmed: false };
                        seen.steps.insert((state, operation), known);
                    }
                    return next;
                }
            },
        };
        seen.failure.get_or_insert(problem);
        self.has_failed.store(true, Ordering::Relaxed);
        Next::None
    }

    fn contradiction(&self, state: u32, operation: u32) -> String {
        format!(
            "{} is no function: {} in {} led to one state and then to another",
            self.model.name(),
            self.describe(operation),
            self.show_number(state)
        )
    }

    fn ask_again(&self) {
        let steps: Vec<(u32, u32)> = {
            let seen = self.seen();
            let stride = seen.steps.len().div_ceil(ASKED_AGAIN).max(1);
            seen.steps.keys().copied().step_by(stride).collect()
        };
        for (state, operation) in steps {
            if self.request.is_raised() {
                return;
            }
            self.ask(state, operation);
        }
    }

    fn ask_for_complaints(&self) {
        if let Some(problem) = guarded(|| self.model.complaint()).unwrap_or_else(Some) {
            self.seen().failure.get_or_insert(problem);
        }
    }

    fn describe(&self, operation: u32) -> String {
        guarded(|| self.model.describe(operation))
            .unwrap_or_else(|_| format!("operation {operation}"))
    }

    fn show_number(&self, state: u32) -> String {
        guarded(|| self.model.show(state)).unwrap_or_else(|_| format!("state {state}"))
    }
}

/// Does something of the host's; a panic is a failure. It may ask about other histories meanwhile: our
/// own limit does not reach into the host, which could not be unwound.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // A model that panicked is not asked again.
    Cancel::undisturbed(|| catch_unwind(AssertUnwindSafe(work))).map_err(|panic| {
        let said = panic.downcast_ref::<String>().map(String::as_str);
        let said = said.or(panic.downcast_ref::<&str>().copied());
        format!("the model panicked: {}", said.unwrap_or("without a word"))
    })
}

impl<M: Model> Spec for Watched<M> {
    type State = u32;
    type Op = u32;
    type Ret = ();

    fn initial(&self) -> u32 {
        self.model.initial()
    }

    fn step(&self, state: &u32, operation: &u32, _: Option<&()>) -> Next<u32> {
        self.next(*state, *operation)
    }

    fn step_or_cancel(
        &self,
        state: &u32,
        operation: &u32,
        _: Option<&()>,
        cancel: &Cancel,
    ) -> Next<u32> {
        let next = self.next(*state, *operation);
        if next.is_empty() && self.has_failed.load(Ordering::Relaxed) {
            cancel.raise();
        }
        next
    }

    fn key(&self, operation: &u32) -> Option<u64> {
        self.model.part(*operation)
    }

    fn explain(&self, state: &u32, operation: &u32, _: Option<&()>) -> String {
        format!("{} is impossible in {}", self.describe(*operation), self.show_number(*state))
    }

    fn show(&self, state: &u32) -> String {
        self.show_number(*state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    /// Each operation leads from any state to very many.
    struct Wide {
        request: Cancel,
        last: usize,
        asked: Arc<AtomicUsize>,
    }

    impl Model for Wide {
        fn name(&self) -> String {
            "wide".to_owned()
        }

        fn initial(&self) -> u32 {
            0
        }

        fn step(&self, state: u32, operation: u32) -> Result<Next<u32>, String> {
            if self.asked.fetch_add(1, Ordering::Relaxed) + 1 == self.last {
                self.request.raise();
            }
            match operation {
                0 => Ok(Next::Many((1..100).collect())),
                looked => Ok(Next::when(looked == state, || state)),
            }
        }
    }

    /// What a model is asked after the request, for requests from the first question to the last:
    /// while it is searched, replayed, made small, confirmed and asked again.
    #[test]
    fn a_model_is_not_asked_once_more_when_the_time_is_over() {
        let at = |operation, call, ret| Operation { process: None, call, ret, operation };
        for (looked, exit) in [(7, 0), (300, 1)] {
            let operations =
                [at(0, 0, Some(2)), at(0, 1, Some(3)), at(looked, 4, Some(5)), at(0, 4, None)];
            let mut exits = Vec::new();
            for last in (1..8).chain((3..).map(|power| 3 << power)) {
                let (request, asked) = (Cancel::never(), Arc::<AtomicUsize>::default());
                let options = Options { cancel: Some(&request), ..Options::default() };
                let question = Question { options, ..Question::default() };
                let model = Wide { request: request.clone(), last, asked: asked.clone() };
                let answered = check_model(model, &operations, &question).expect("no failure");
                exits.push(answered.checked.verdict.exit_code());
                if !request.is_raised() {
                    break;
                }
                assert_eq!(asked.load(Ordering::Relaxed), last, "asked in vain");
                assert!([exit, 3].contains(&exits[exits.len() - 1]), "{exits:?}");
            }
            assert_eq!((exits[0], exits[exits.len() - 1]), (3, exit));
        }
    }
}
