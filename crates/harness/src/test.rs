//! The declaration of a test: an object, its operations, what is right.

use crate::campaign::{Budget, Campaign, Ran};
use crate::constancy::Constancy;
use crate::engine::Engine;
use crate::failure::Failed;
use crate::generator::Generator;
use crate::identity::{Identity, Order};
use crate::methods::Methods;
use crate::misuse;
use crate::model::{Model, ModelCall, ModelReader, OwnReader};
use crate::oracle::{Cost, Oracle, Probe, Trouble};
use crate::passed::Passed;
use crate::pressure::Pressure;
use crate::random::Random;
use crate::reply::{IntoReply, Reply};
use crate::scenario::KindId;
use crate::sequential::Sequential;
use crate::stress::{MainCall, Manner, Stress};
use crate::subject::{
    Blocking, Caller, Callers, Declaration, Declared, Erased, Kind, MakeHandle, Subject,
};
use crate::tracked::Ledger;
use seriatim_spec::{ChosenReader, Failures, Reader, Spec, SpecChoice};
use seriatim_sync::Backend;
use std::fmt::Debug;
use std::hash::Hash;
use std::io::Write;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// Starts the declaration of a test of an object.
///
/// ```
/// use seriatim_harness::{distinct, test};
/// use std::collections::VecDeque;
/// use std::sync::Mutex;
///
/// test(|| Mutex::new(VecDeque::new()))
///     .operation("enqueue", distinct::<u32>(), |queue, value| queue.lock().unwrap().push_back(value))
///     .operation("dequeue", (), |queue, ()| queue.lock().unwrap().pop_front())
///     .spec("queue")
/// #   .budget(std::time::Duration::from_millis(100))
///     .check();
/// ```
///
/// The closure makes a new object; it is called for every execution. The object is shared between
/// the threads by reference.
pub fn test<T: Send + Sync + 'static>(make: impl Fn() -> T + Send + Sync + 'static) -> Test<T> {
    Test::new(make)
}

/// Threads use the object itself.
pub struct Shared;

/// Threads use handles of their own.
pub struct Own;

/// A test under declaration. See [`test()`].
///
/// `H` is what a thread holds: the shared object, or a handle of its own (see
/// [`handles`](Test::handles)).
#[must_use = "a test does nothing until `check` or `run`"]
pub struct Test<T, H = Arc<T>, V = Shared> {
    declaration: Declaration<T, H>,
    settings: Settings,
    view: PhantomData<V>,
}

struct Settings {
    right: Option<Right>,
    budget: Budget,
    hang_after: Duration,
    pressure: Pressure,
    threads: std::ops::RangeInclusive<usize>,
    drain: Option<String>,
    seed: Option<u64>,
    name: Option<String>,
    replay: Option<String>,
    failures: Failures,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            right: None,
            budget: Budget {
                time: Duration::from_secs(2),
                executions: u64::MAX,
                shrinking: Duration::from_secs(10),
            },
            hang_after: Duration::from_secs(20),
            pressure: Pressure::default(),
            threads: 2..=4,
            drain: None,
            seed: None,
            name: None,
            replay: None,
            failures: Failures::default(),
        }
    }
}

/// What is right.
enum Right {
    Named(String),
    Itself,
    Model(Arc<dyn Reader + Send>, Probe, Constancy),
    Own(Arc<dyn Reader + Send>, Constancy),
    Reader(Arc<dyn Reader + Send>),
}

impl<T: Send + Sync + 'static> Test<T, Arc<T>, Shared> {
    /// Declares an operation: its name, where its arguments come from, how to call it.
    ///
    /// The name is the one that the specification knows (`push`, `dequeue`, `contains`, …).
    pub fn operation<G: Generator, R: IntoReply>(
        self,
        name: &str,
        arguments: G,
        call: impl Fn(&T, G::Item) -> R + Send + Sync + 'static,
    ) -> Self {
        self.declare(name, arguments, move |object: &mut Arc<T>, item| call(object, item))
    }

    /// Gives every thread a handle of its own, made from the shared object: for objects that are
    /// used through a sender, a receiver, a guard, a cached position. A handle is made on the
    /// thread that uses it and need not be `Send`. To be called before the operations, which then
    /// take `&mut` handles.
    ///
    /// ```
    /// use seriatim_harness::{distinct, test, Caller};
    /// use std::sync::{Mutex, mpsc};
    ///
    /// struct Ends { sender: mpsc::Sender<u32>, receiver: Option<mpsc::Receiver<u32>> }
    ///
    /// test(|| { let (sender, receiver) = mpsc::channel(); (sender, Mutex::new(Some(receiver))) })
    ///     .handles(|(sender, receiver), caller| Ends {
    ///         sender: sender.clone(),
    ///         receiver: match caller {
    ///             Caller::Thread(0) => receiver.lock().unwrap().take(),
    ///             _ => None,
    ///         },
    ///     })
    ///     // A receiver that is gone takes nothing, and nobody will see what it did not take.
    ///     .operation("enqueue", distinct(), |ends, value| { ends.sender.send(value).ok(); })
    ///     .operation("dequeue", (), |ends, ()| ends.receiver.as_ref().unwrap().try_recv().ok())
    ///     .only_on_thread(0)
    ///     .spec("queue")
    /// #   .budget(std::time::Duration::from_millis(50))
    ///     .check();
    /// ```
    pub fn handles<H: 'static>(
        self,
        handle: impl Fn(&T, Caller) -> H + Send + Sync + 'static,
    ) -> Test<T, H, Own> {
        self.with_handles(Box::new(move |object, caller| handle(object, caller)))
    }
}

impl<T: Send + Sync + 'static, V> Test<T, Arc<T>, V> {
    pub(crate) fn new(make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        Test {
            declaration: Declaration {
                make: Box::new(make),
                handle: Box::new(|object, _| object.clone()),
                operations: Vec::new(),
                inspections: Vec::new(),
                ledger: Ledger::open(),
            },
            settings: Settings::default(),
            view: PhantomData,
        }
    }

    /// Lets threads hold something else than the object.
    pub(crate) fn with_handles<H: 'static, W>(self, handle: MakeHandle<T, H>) -> Test<T, H, W> {
        assert!(
            self.declaration.operations.is_empty(),
            "say what threads hold before the operations, which take it"
        );
        let Declaration { make, inspections, ledger, .. } = self.declaration;
        Test {
            declaration: Declaration { make, handle, operations: Vec::new(), inspections, ledger },
            settings: self.settings,
            view: PhantomData,
        }
    }
}

impl<T: Send + Sync + 'static, H: 'static> Test<T, H, Own> {
    /// Declares an operation on a handle: its name, where its arguments come from, how to call it.
    pub fn operation<G: Generator, R: IntoReply>(
        self,
        name: &str,
        arguments: G,
        call: impl Fn(&mut H, G::Item) -> R + Send + Sync + 'static,
    ) -> Self {
        self.declare(name, arguments, call)
    }
}

impl<T: Send + Sync + 'static, H: 'static, V> Test<T, H, V> {
    pub(crate) fn declare<G: Generator, R: IntoReply>(
        mut self,
        name: &str,
        arguments: G,
        call: impl Fn(&mut H, G::Item) -> R + Send + Sync + 'static,
    ) -> Self {
        let declared = Declared::new(name, arguments, self.declaration.ledger, call);
        self.declaration.operations.push(declared);
        self
    }

    /// Says how often each way to call an operation is drawn.
    pub(crate) fn weigh(&mut self, weight: impl Fn(&Kind) -> u32) {
        for declared in &mut self.declaration.operations {
            declared.kind.weight = declared.kind.weight.saturating_mul(weight(&declared.kind));
        }
    }

    /// What is declared, each way to call an operation by itself.
    #[cfg(test)]
    pub(crate) fn kinds(&self) -> impl Iterator<Item = &Kind> {
        self.declaration.operations.iter().map(|declared| &declared.kind)
    }

    /// The operation declared last, by each of the ways to call it.
    pub(crate) fn last(&mut self) -> impl Iterator<Item = &mut Declared<H>> {
        let operations = &mut self.declaration.operations;
        let last = operations.last().expect("say this after the operation that is meant");
        let method = last.kind.method.clone();
        operations.iter_mut().rev().take_while(move |declared| declared.kind.method == method)
    }

    /// The operation declared last is called by one thread only (a single consumer): threads count
    /// from 0.
    pub fn only_on_thread(self, thread: usize) -> Self {
        self.bind(Callers::Thread(thread))
    }

    /// Binds the operation declared last to a thread, and has as many threads as that needs.
    pub(crate) fn bind(mut self, callers: Callers) -> Self {
        self.last().for_each(|declared| declared.kind.callers = callers);
        let thread = callers.thread().unwrap_or(0);
        let (least, most) = (*self.settings.threads.start(), *self.settings.threads.end());
        self.settings.threads = least.max(thread + 1)..=most.max(thread + 1);
        self
    }

    /// The operation declared last is drawn this many times as often as one of weight 1.
    pub fn weight(mut self, weight: u32) -> Self {
        let weighed = |declared: &mut Declared<H>| {
            declared.kind.weight = declared.kind.weight.saturating_mul(weight);
        };
        self.last().for_each(weighed);
        self
    }

    /// The operation declared last occurs at most once in a scenario: `close`.
    pub fn once(mut self) -> Self {
        self.last().for_each(|declared| declared.kind.at_most = 1);
        self
    }

    /// The operation declared last may wait for ever; the call is pending then. Where it waits in
    /// the specification too (`acquire` of a semaphore, a model that replies
    /// [`Reply::Waits`](crate::Reply::Waits)), it must not wait on when all other calls are done
    /// and the specification would let it go: that is a lost wake-up.
    pub fn blocking(mut self) -> Self {
        self.last().for_each(|declared| declared.kind.blocking = Blocking::Pending);
        self
    }

    /// The operation declared last may wait, but only as long as a call of `name` would reply
    /// `reply`: a `recv` may wait while a `dequeue` would find nothing, a `lock` while a `try_lock`
    /// would fail. A call that still waits when nothing else can happen is judged by that: a lost
    /// wake-up is a violation. An explorer knows that nothing else can happen; under stress a call
    /// has to wait for [`hang_after`](Test::hang_after) before it is blamed.
    pub fn blocking_while(mut self, name: &str, reply: impl IntoReply) -> Self {
        let waits = Blocking::While(name.into(), reply.reply());
        self.last().for_each(|declared| declared.kind.blocking = waits.clone());
        self
    }

    /// What is right: a built-in specification by name, with parameters as in
    /// `cas-register(init=0)`.
    pub fn spec(mut self, name: &str) -> Self {
        self.settings.right = Some(Right::Named(name.to_owned()));
        self
    }

    /// With a specification by name: what an `Err` tells.
    pub fn failures(mut self, failures: Failures) -> Self {
        self.settings.failures = failures;
        self
    }

    /// What is right: what the object itself does when its calls come one after another, as if it
    /// stood behind one lock. Needs nothing else; for short scenarios only.
    pub fn sequential(mut self) -> Self {
        self.settings.right = Some(Right::Itself);
        self
    }

    /// What is right: a model for one thread. `step` changes the state and gives the reply of a
    /// call.
    ///
    /// ```
    /// use seriatim_harness::{IntoReply, test};
    /// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    ///
    /// test(|| AtomicU32::new(0))
    ///     .operation("max", 0..10_u32, |object, value| object.fetch_max(value, SeqCst))
    ///     .model(0_u32, |largest, call| {
    ///         let before = *largest;
    ///         *largest = before.max(call.arg());
    ///         before.reply()
    ///     })
    /// #   .budget(std::time::Duration::from_millis(50))
    ///     .check();
    /// ```
    pub fn model<M>(
        mut self,
        initial: M,
        step: impl Fn(&mut M, &ModelCall) -> Reply + Send + Sync + 'static,
    ) -> Self
    where
        M: Clone + Eq + Hash + Debug + Send + Sync + 'static,
    {
        let (spec, name) = (Arc::new(Model { initial, step }), "the model".to_owned());
        let asked = spec.clone();
        let probe = move |call: &ModelCall| drop((asked.step)(&mut asked.initial.clone(), call));
        let constancy = spec.clone().constancy();
        let reader = Arc::new(ModelReader { spec, name });
        self.settings.right = Some(Right::Model(reader, Arc::new(probe), constancy));
        self
    }

    /// What is right: a type for one thread whose methods are the operations. See
    /// [`methods!`](crate::methods).
    pub fn object<M>(self, initial: M) -> Self
    where
        M: Methods + Clone + Eq + Hash + Debug + Send + Sync + 'static,
    {
        self.model(initial, M::call)
    }

    /// What is right: a [`Spec`] of your own. `op` and `ret` say what a call and its reply are in
    /// its types.
    ///
    /// ```
    /// use seriatim_harness::test;
    /// use seriatim_spec::{Next, Spec};
    /// use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    ///
    /// /// A ticket machine may skip numbers, but never gives one twice.
    /// struct Tickets;
    ///
    /// impl Spec for Tickets {
    ///     type State = u32; // the last number
    ///     type Op = ();
    ///     type Ret = u32;
    ///     fn initial(&self) -> u32 { 0 }
    ///     fn step(&self, last: &u32, _: &(), ret: Option<&u32>) -> Next<u32> {
    ///         let number = ret.copied().unwrap_or(last + 1);
    ///         Next::when(number > *last, || number)
    ///     }
    /// }
    ///
    /// test(|| AtomicU32::new(0))
    ///     .operation("take", (), |machine, ()| machine.fetch_add(2, SeqCst) + 2)
    ///     .own_spec(Tickets, |_| (), |_, reply| reply.value().unwrap())
    /// #   .budget(std::time::Duration::from_millis(50))
    ///     .check();
    /// ```
    pub fn own_spec<S: Spec + 'static>(
        mut self,
        spec: S,
        op: impl Fn(&ModelCall) -> S::Op + Send + Sync + 'static,
        ret: impl Fn(&ModelCall, &Reply) -> S::Ret + Send + Sync + 'static,
    ) -> Self {
        let reader = Arc::new(OwnReader { spec: Arc::new(spec), op, ret });
        let constancy = reader.clone().constancy();
        self.settings.right = Some(Right::Own(reader, constancy));
        self
    }

    /// What is right: anything that reads histories, such as a specification of your own with its
    /// [`Vocabulary`](seriatim_spec::Vocabulary).
    pub fn reader(mut self, reader: impl Reader + Send + 'static) -> Self {
        self.settings.right = Some(Right::Reader(Arc::new(reader)));
        self
    }

    /// When the threads are done, the main thread calls this operation until it finds nothing more,
    /// so that lost values show. It must be one that the main thread may call, takes no argument
    /// and does not wait.
    pub fn drain(mut self, name: &str) -> Self {
        self.settings.drain = Some(name.to_owned());
        self
    }

    /// A check of the object at the end of every execution.
    pub fn finally(
        mut self,
        check: impl Fn(&T) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.declaration.inspections.push(Box::new(check));
        self
    }

    /// How long to look for a failure: 2 seconds if nothing is said. The environment variable
    /// `SERIATIM_BUDGET` (seconds) overrides it for all tests. Shrinking a failure has a budget of
    /// its own: see [`shrink_for`](Test::shrink_for).
    pub fn budget(mut self, budget: Duration) -> Self {
        self.settings.budget.time = budget;
        self
    }

    /// How many executions to look at, if the [`budget`](Test::budget) of time allows so many.
    /// Batches are run to their end, so that it may be some more.
    pub fn executions(mut self, executions: u64) -> Self {
        self.settings.budget.executions = executions;
        self
    }

    /// How long to make a failure smaller once there is one: 10 seconds if nothing is said.
    pub fn shrink_for(mut self, time: Duration) -> Self {
        self.settings.budget.shrinking = time;
        self
    }

    /// How many threads scenarios have: 2 to 4 if nothing is said.
    pub fn threads(mut self, threads: std::ops::RangeInclusive<usize>) -> Self {
        self.settings.threads = threads;
        self
    }

    /// After how long without any progress real threads count as hanging: 20 seconds if nothing is
    /// said.
    pub fn hang_after(mut self, patience: Duration) -> Self {
        self.settings.hang_after = patience;
        self
    }

    /// How real threads are made to meet; explorers need nothing of that. `SERIATIM_PRESSURE`
    /// (`none`, `pauses`, `pinned`, `crowded`, `busy`, `interrupted`) overrides it for all tests.
    pub fn pressure(mut self, pressure: Pressure) -> Self {
        self.settings.pressure = pressure;
        self
    }

    /// Draws the scenarios of a seed, so that runs are alike as far as the scheduling allows.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = Some(seed);
        self
    }

    /// The name in reports and files. If nothing is said, that of the running test; in a program
    /// that is no test, the file and the line of `check` or `run`.
    pub fn name(mut self, name: &str) -> Self {
        self.settings.name = Some(name.to_owned());
        self
    }

    /// Only repeats an execution that a report named. The environment variable `SERIATIM_REPLAY`
    /// does the same without a change of the program.
    pub fn replay(mut self, line: &str) -> Self {
        self.settings.replay = Some(line.to_owned());
        self
    }

    /// Runs the test.
    ///
    /// # Panics
    /// With the report if the object fails, or if the test is declared wrongly.
    ///
    /// A test that passes but is too weak (see [`Passed::warnings`]) warns on the standard error
    /// stream.
    #[track_caller]
    pub fn check(self) {
        let (name, result) = self.run_named(Location::caller());
        match result {
            Ok(passed) => {
                println!("{passed}");
                if let Some(warnings) = passed.told(&name) {
                    // Not by a macro: a test runner swallows what the macros print in a test that
                    // passes.
                    let _ = std::io::stderr().write_all(warnings.as_bytes());
                }
            }
            Err(failed) => panic!("{}", failed.report),
        }
    }

    /// Runs the test and gives back what was found.
    ///
    /// # Panics
    /// If the test is declared wrongly: no operation, no specification, one that cannot read the
    /// operations.
    #[track_caller]
    pub fn run(self) -> Result<Passed, Box<Failed>> {
        self.run_named(Location::caller()).1
    }

    fn run_named(self, place: &Location<'_>) -> (String, Result<Passed, Box<Failed>>) {
        let identity = Identity::of(self.settings.name.as_deref(), place);
        let name = identity.name.clone();
        match self.try_run(identity) {
            Ok(result) => (name, result),
            Err(Trouble::Misuse(problem)) => panic!("{name}: this test cannot be run: {problem}"),
            Err(Trouble::Internal(problem)) => panic!(
                "{name}: internal error of Seriatim, which says nothing about the object; please report it: \
                 {problem}"
            ),
        }
    }

    fn try_run(self, identity: Identity) -> Ran {
        let Test { declaration, settings, .. } = self;
        if declaration.operations.is_empty() {
            return Err(Trouble::Misuse("it declares no operation".to_owned()));
        }
        let subject: Arc<dyn Subject> = Arc::new(Erased::new(declaration));
        let oracle = settings.oracle(&subject)?;
        let drain = settings.drain.as_deref();
        let problems = misuse::problems(&*subject, &oracle, drain, &settings.threads);
        if !problems.is_empty() {
            return Err(Trouble::Misuse(problems.join("; and ")));
        }
        let time = budget_from_environment().unwrap_or(settings.budget.time);
        let order = match settings.replay.clone() {
            Some(line) => Order::Replay(line),
            None => identity.ordered(),
        };
        let seed = settings.seed.unwrap_or_else(Random::fresh_seed);
        let campaign = Campaign {
            identity,
            budget: Budget { time, ..settings.budget },
            threads: settings.threads.clone(),
            subject: subject.clone(),
            oracle: oracle.clone(),
            drain: drain.and_then(|name| find(&*subject, name)),
            seed,
        };
        match seriatim_sync::BACKEND {
            Backend::Std => {
                let Settings { hang_after, pressure, .. } = settings;
                let pressure = Pressure::from_environment().unwrap_or(pressure);
                stress(campaign, oracle.cost, Manner { hang_after, pressure }, order)
            }
            _ => go(&campaign, &mut *explorer(subject, seed), &order),
        }
    }
}

fn go(campaign: &Campaign, engine: &mut dyn Engine, order: &Order) -> Ran {
    match order {
        Order::Replay(line) => campaign.replay(engine, line),
        Order::Run => campaign.run(engine),
        Order::Rest => Ok(Ok(campaign.rest())),
    }
}

/// Stresses on a thread of its own and watches it: the object may hang in the main thread's calls
/// too.
fn stress(campaign: Campaign, cost: Cost, manner: Manner, order: Order) -> Ran {
    let campaign = Arc::new(campaign);
    let main_call = Arc::new(MainCall::default());
    let (inner, watched) = (campaign.clone(), main_call.clone());
    let run = move || {
        let (subject, seed) = (inner.subject.clone(), inner.seed);
        let mut engine = Stress::new(subject, cost, manner, seed, watched);
        go(&inner, &mut engine, &order)
    };
    let thread = std::thread::Builder::new().name(campaign.identity.name.clone());
    let thread = thread.spawn(run).expect("the system starts threads");
    let mut pause = Duration::from_micros(100);
    while !thread.is_finished() {
        std::thread::sleep(pause);
        pause = (2 * pause).min(Duration::from_millis(10));
        if let Some((scenario, step)) = main_call.longer_than(manner.hang_after) {
            return campaign.hang(scenario, &step, manner.hang_after).map(Err);
        }
    }
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The explorer of this build.
fn explorer(subject: Arc<dyn Subject>, seed: u64) -> Box<dyn Engine> {
    match seriatim_sync::BACKEND {
        #[cfg(feature = "shuttle")]
        Backend::Shuttle => Box::new(crate::shuttle_engine::Shuttle::new(subject, seed)),
        #[cfg(feature = "loom")]
        Backend::Loom => Box::new(crate::loom_engine::Loom::new(subject, seed)),
        other => unreachable!(
            "{other:?} explores nothing for {} operations and seed {seed}",
            subject.kinds().len()
        ),
    }
}

impl Settings {
    fn oracle(&self, subject: &Arc<dyn Subject>) -> Result<Oracle, Trouble> {
        match &self.right {
            None => Err(Trouble::Misuse(
                "it does not say what is right; expected `spec`, `sequential`, `model`, `own_spec` or `reader`"
                    .to_owned(),
            )),
            Some(Right::Named(name)) => {
                let choice = SpecChoice::parse(name).map_err(|error| Trouble::Misuse(error.to_string()))?;
                let spec = Some(choice.to_string());
                let reader = Arc::new(ChosenReader { choice, failures: self.failures });
                Ok(Oracle { reader, spec, cost: Cost::Cheap, probe: None, constancy: None })
            }
            Some(Right::Itself) => {
                let spec = Arc::new(Sequential::new(subject.clone()));
                let name = "the object itself, one call after another".to_owned();
                let constancy = Some(spec.clone().constancy());
                let reader = Arc::new(ModelReader { spec, name });
                Ok(Oracle { reader, spec: None, cost: Cost::Reruns, probe: None, constancy })
            }
            Some(Right::Model(reader, probe, constancy)) => {
                let (reader, probe) = (reader.clone(), Some(probe.clone()));
                let constancy = Some(constancy.clone());
                Ok(Oracle { reader, spec: None, cost: Cost::Searches, probe, constancy })
            }
            Some(Right::Own(reader, constancy)) => {
                let (reader, constancy) = (reader.clone(), Some(constancy.clone()));
                Ok(Oracle { reader, spec: None, cost: Cost::Searches, probe: None, constancy })
            }
            Some(Right::Reader(reader)) => {
                let (reader, cost) = (reader.clone(), Cost::Searches);
                Ok(Oracle { reader, spec: None, cost, probe: None, constancy: None })
            }
        }
    }
}

fn find(subject: &dyn Subject, name: &str) -> Option<KindId> {
    let place = subject.kinds().iter().position(|kind| *kind.name == *name);
    place.map(|place| KindId(place as u32))
}

fn budget_from_environment() -> Option<Duration> {
    let text = std::env::var("SERIATIM_BUDGET").ok()?;
    let seconds: f64 = text
        .parse()
        .unwrap_or_else(|_| panic!("SERIATIM_BUDGET is `{text}`; expected a number of seconds"));
    Some(Duration::from_secs_f64(seconds))
}
