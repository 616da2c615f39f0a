//! Exploration by Loom: all schedules up to a bound on preemptions, and the stale values that C11
//! lets loads return.
//!
//! What it can see beyond interleavings: relaxed and acquire–release effects, data races on its
//! `UnsafeCell`. Limits, which are Loom's: four threads besides the main one, seven remembered
//! stores an atomic, SeqCst accesses treated as acquire–release (SeqCst fences are right), no load
//! buffering; and an execution in which calls wait for ever is judged, but it is the last one that
//! Loom looks at in its scenario.
//!
//! Real time needs care. Linearizability takes for granted that an operation which returned before
//! another was called happened before it. Loom knows nothing of the recorder's clock, so that a
//! thread could return from a write, another one call a read "later" and be given the old value: a
//! false alarm on a correct register. So each execution has a clock, an atomic number that Loom
//! sees: a return adds to it with release, a call with acquire. Since additions continue release
//! sequences, real time implies happens-before, which is what the definition assumes; and Loom
//! explores the orders of returns and calls as it does those of any accesses. The clock must not be
//! made of fences: a fence before a call would make releases of the relaxed stores inside it, and
//! hide just those mistakes that one looks for with Loom. (Nor may the order be tighter: a return
//! does not acquire and a call does not release, so that calls which overlap learn nothing from
//! each other.)
//!
//! Nor is Loom believed in what it lets threads read: an execution that breaks the rules of
//! [coherence](crate::coherence) is counted, and not judged.

use crate::coherence::{self, Event, What};
use crate::engine::{Effort, Engine, Found, Hunted, Schedule};
use crate::execution_log::{ExecutionLog, Scene, open};
use crate::failure::Failure;
use crate::growth;
use crate::oracle::{Judge, Trouble};
use crate::quiet;
use crate::random::Random;
use crate::run::{Accessed, End, Run, Trace};
use crate::scenario::{Scenario, Shape, Step};
use crate::subject::{Attached, Caller, Stamps, Subject, kept};
use loom::sync::atomic::AtomicUsize;
use loom::thread::ThreadId;
use seriatim_history::Time;
use seriatim_sync::trace::{self, Ear, Listening};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The bound on preemptions.
const PREEMPTIONS: usize = 2;
/// More branches than this in one execution are a loop without end.
const BRANCHES: usize = 20_000;

/// The engine.
pub(crate) struct Loom {
    subject: Arc<dyn Subject>,
    random: Random,
}

/// What executions and the engine tell each other. All but the clock is invisible to Loom.
struct Channel {
    /// The clock of the present execution; this alone is visible to Loom.
    clock: Mutex<Option<Arc<AtomicUsize>>>,
    stamps: AtomicU64,
    executions: AtomicU64,
    deadlocked: AtomicBool,
    log: ExecutionLog,
    results: Mutex<Vec<(Run, u64)>>,
    effort: Effort,
    /// The only execution that is looked at, in a replay.
    only: Option<u64>,
    trace: Trace,
    /// The numbers of the threads by Loom's names: 0 for the main one, then those of the scenario,
    /// then those that the object began.
    threads: Mutex<HashMap<ThreadId, usize>>,
    /// What the threads of the present execution did.
    events: Mutex<Vec<Event>>,
    /// The number of executions that cannot happen.
    impossible: AtomicU64,
}

/// Ends an exploration from the inside.
struct Enough;

impl Channel {
    fn new(effort: Effort, only: Option<u64>) -> Self {
        Channel {
            clock: Mutex::default(),
            stamps: AtomicU64::new(0),
            executions: AtomicU64::new(0),
            deadlocked: AtomicBool::new(false),
            log: ExecutionLog::default(),
            results: Mutex::default(),
            effort,
            only,
            trace: Trace::Off,
            threads: Mutex::default(),
            events: Mutex::default(),
            impossible: AtomicU64::new(0),
        }
    }

    /// The next stamp. Loom lets other threads go on before the clock is advanced, not after it.
    fn tick(&self, order: Ordering, what: What) -> Time {
        let clock = open(&self.clock).clone();
        if let Some(clock) = clock {
            clock.fetch_add(1, order);
        }
        self.note(what);
        self.stamps.fetch_add(1, Ordering::Relaxed)
    }

    /// Names the thread that is running.
    fn name(&self, number: usize) {
        open(&self.threads).insert(loom::thread::current().id(), number);
    }

    /// The number of the thread that is running.
    fn thread(&self) -> usize {
        let mut threads = open(&self.threads);
        let last = threads.values().max().copied().unwrap_or(0);
        let next = last.max(self.log.threads()) + 1;
        *threads.entry(loom::thread::current().id()).or_insert(next)
    }

    /// The running thread did something.
    fn note(&self, what: What) {
        let event = Event { thread: self.thread(), what };
        open(&self.events).push(event);
    }

    /// Whether an execution is new, and one that can happen.
    fn is_worth_judging(&self, run: &Run) -> bool {
        if self.log.has_seen(run) {
            return false;
        }
        if !coherence::is_possible(&open(&self.events)) {
            self.impossible.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        self.log.is_new(run)
    }

    fn publish(&self, run: Run) {
        let number = self.executions.load(Ordering::Relaxed);
        let deadlocked = self.deadlocked.load(Ordering::Relaxed);
        if deadlocked || self.only.is_some_and(|only| only != number) {
            return;
        }
        if self.is_worth_judging(&run) {
            open(&self.results).push((run, number));
        }
    }

    /// Everybody waits. Loom tells it by a panic of the thread that was the last to wait; what
    /// happens after that happens in no execution.
    fn deadlock(&self) {
        self.publish(self.log.run());
        self.deadlocked.store(true, Ordering::Relaxed);
    }

    /// Begins the next execution, or ends the exploration.
    fn begin(&self, threads: usize) {
        let number = self.executions.load(Ordering::Relaxed) + 1;
        let over = self.only.is_some_and(|only| number > only);
        if over || number > self.effort.executions || self.effort.is_over() {
            std::panic::panic_any(Enough);
        }
        self.executions.store(number, Ordering::Relaxed);
        self.stamps.store(0, Ordering::Relaxed);
        self.deadlocked.store(false, Ordering::Relaxed);
        *open(&self.clock) = Some(Arc::new(AtomicUsize::new(0)));
        open(&self.events).clear();
        open(&self.threads).clear();
        self.name(0);
        self.log.begin(threads);
    }
}

impl Stamps for Channel {
    fn call(&self) -> Time {
        self.tick(Ordering::Acquire, What::Call)
    }

    fn ret(&self) -> Time {
        self.tick(Ordering::Release, What::Return)
    }
}

/// Writes down what the threads do from now on, also in words if that is wanted.
fn listen(channel: &Arc<Channel>) -> Listening {
    let heard = channel.clone();
    let effects = move |effect| heard.note(What::Access(effect));
    let wanted = channel.only == Some(channel.executions.load(Ordering::Relaxed));
    let accesses = (wanted && channel.trace == Trace::On).then(|| in_words(channel.clone()));
    trace::listen(Ear { accesses, effects: Some(Box::new(effects)) })
}

/// Writes down the accesses of the threads of the scenario as the report shows them.
fn in_words(heard: Arc<Channel>) -> Box<dyn FnMut(trace::Access)> {
    Box::new(move |trace::Access { what, place }| {
        let threads = 1..=heard.log.threads();
        let number = heard.thread();
        if threads.contains(&number) {
            // Without the clock: listening must not change what is seen.
            let stamp = heard.stamps.fetch_add(1, Ordering::Relaxed);
            heard.log.access(Accessed { stamp, thread: number - 1, what, place });
        }
    })
}

/// One execution of a scenario, inside Loom.
fn execute(subject: &Arc<dyn Subject>, scenario: &Arc<Scenario>, channel: &Arc<Channel>) {
    channel.begin(scenario.threads.len());
    let _listening = listen(channel);
    let mut scene = match Scene::of(&**subject) {
        Ok(scene) => scene,
        Err(mishap) => return channel.publish(channel.log.run().spoilt_by(mishap)),
    };
    channel.log.main_calls(&mut *scene.main, &scenario.before, &**channel);
    let threads: Vec<_> = (0..scenario.threads.len())
        .map(|thread| {
            let (instance, scenario) = (scene.instance.clone(), scenario.clone());
            let channel = channel.clone();
            channel.note(What::Spawn(thread + 1));
            loom::thread::spawn(move || {
                channel.name(thread + 1);
                let attached = instance.attach(Caller::Thread(thread));
                let mut attached = match attached {
                    Ok(attached) => attached,
                    Err(mishap) => return instance.mishaps().note(mishap),
                };
                drop(instance);
                for step in &scenario.threads[thread] {
                    if !thread_call(&mut *attached, step, thread, &channel) {
                        break;
                    }
                }
                kept::keep(attached);
            })
        })
        .collect();
    for (thread, handle) in threads.into_iter().enumerate() {
        let _ = handle.join();
        channel.note(What::Join(thread + 1));
    }
    let mut run = channel.log.run();
    if run.panic().is_none() {
        run = channel.log.close(scene, scenario, &**channel);
    }
    kept::let_go();
    channel.publish(run);
}

/// Whether a panic is Loom's way to say that all threads wait.
fn is_deadlock(message: &str) -> bool {
    message.starts_with("deadlock; threads")
}

/// Makes a call of a thread; false if it panicked.
fn thread_call(attached: &mut dyn Attached, step: &Step, thread: usize, channel: &Channel) -> bool {
    let call = channel.stamps.fetch_add(1, Ordering::Relaxed);
    channel.log.call(thread, step, call);
    let slot = attached.run(step, channel);
    if matches!(&slot.end, End::Panicked(message) if is_deadlock(message)) {
        channel.deadlock();
        return false;
    }
    let panicked = matches!(slot.end, End::Panicked(_));
    channel.log.end(thread, slot);
    !panicked
}

fn model(preemptions: usize) -> loom::model::Builder {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = BRANCHES;
    builder
}

/// Runs something that uses Loom's primitives, by itself.
pub(crate) fn isolated<R: Send + 'static>(run: impl Fn() -> R + Send + Sync + 'static) -> R {
    let result = Arc::new(Mutex::new(None));
    let inner = result.clone();
    model(0).check(move || *open(&inner) = Some(run()));
    open(&result).take().expect("an execution ran to its end")
}

impl Loom {
    pub fn new(subject: Arc<dyn Subject>, seed: u64) -> Self {
        Loom { subject, random: Random::of(seed) }
    }

    fn explore(
        &mut self,
        judge: &mut Judge,
        scenario: &Arc<Scenario>,
        channel: Arc<Channel>,
        preemptions: usize,
    ) -> Result<Hunted, Trouble> {
        let (subject, planned, inner) = (self.subject.clone(), scenario.clone(), channel.clone());
        let run = move || execute(&subject, &planned, &inner);
        let mut complete = false;
        match quiet::catch_all(|| model(preemptions).check(run)) {
            Ok(()) => complete = true,
            Err(panic) if panic.payload().is::<Enough>() => {}
            Err(panic) => {
                // Loom itself complains: a deadlock, a leak, a race outside of a call.
                let mut run = channel.log.run();
                run.complaint = Some(panic.message());
                channel.publish(run);
            }
        }
        judge.impossible += channel.impossible.load(Ordering::Relaxed);
        let results = std::mem::take(&mut *open(&channel.results));
        let executions = channel.executions.load(Ordering::Relaxed);
        judge.executions += executions - (results.len() as u64).min(executions);
        for (run, execution) in results {
            let run = without_deadlock(run);
            if is_unfair(&run) {
                judge.undecided += 1;
                continue;
            }
            if judge.is_new(&run)
                && let Some(failure) = judge.judge(&run)?
                && self.is_lasting(scenario, &failure, preemptions, execution)
            {
                let schedule = Schedule::Loom { preemptions, execution };
                let found = Some(Found { scenario: scenario.clone(), failure, run, schedule });
                return Ok(Hunted { found, complete: false });
            }
        }
        Ok(Hunted { found: None, complete })
    }

    /// Whether a failure is one also if the object drops values late: a leak must grow with every
    /// repetition of its execution. Loom repeats one only by exploring up to it, so that it is
    /// repeated seven times.
    fn is_lasting(
        &self,
        scenario: &Arc<Scenario>,
        failure: &Failure,
        preemptions: usize,
        execution: u64,
    ) -> bool {
        if !matches!(failure, Failure::Leak { .. }) {
            return true;
        }
        let effort =
            Effort { executions: u64::MAX, until: Instant::now() + Duration::from_secs(5) };
        let mut repeat = |count| {
            for _ in 0..count {
                let (subject, planned) = (self.subject.clone(), scenario.clone());
                let channel = Arc::new(Channel::new(effort, Some(execution)));
                let run = move || execute(&subject, &planned, &channel);
                // It ends by the panic that ends every exploration before its end.
                let _ = quiet::catch_all(|| model(preemptions).check(run));
            }
        };
        growth::grows(self.subject.ledger(), 1, &mut repeat)
    }
}

/// Whether Loom gave up on an execution in which a thread waits in a loop for one that it does not
/// let go on: that says nothing of the object.
fn is_unfair(run: &Run) -> bool {
    let gave_up = |message: &str| message.contains("exceeded maximum number of branches");
    run.complaint.as_deref().is_some_and(gave_up)
        || run.mishap.as_ref().is_some_and(|mishap| gave_up(&mishap.message))
        || run.panic().is_some_and(|(_, _, message)| gave_up(message))
}

/// Whether the calls that wait were allowed to is for the judge to say.
fn without_deadlock(mut run: Run) -> Run {
    let waits = run.calls().any(|(_, called)| called.slot.end == End::Stuck);
    if waits && run.complaint.as_deref().is_some_and(is_deadlock) {
        run.complaint = None;
    }
    run
}

impl Engine for Loom {
    fn describe(&self) -> String {
        format!("Loom (C11-like memory, at most {PREEMPTIONS} preemptions)")
    }

    fn shape(&mut self, turn: u64) -> Shape {
        const SIZES: [(usize, usize); 6] = [(2, 1), (2, 2), (2, 1), (2, 2), (3, 1), (2, 3)];
        let (threads, calls) = SIZES[turn as usize % SIZES.len()];
        let before = self.random.between(0, 1);
        Shape { threads, calls, before, after: self.random.between(0, 1) }
    }

    fn hunt(
        &mut self,
        judge: &mut Judge,
        scenario: &Arc<Scenario>,
        effort: Effort,
    ) -> Result<Hunted, Trouble> {
        self.explore(judge, scenario, Arc::new(Channel::new(effort, None)), PREEMPTIONS)
    }

    fn patience(&self, _: &Scenario) -> u64 {
        4000
    }

    fn replay(
        &mut self,
        judge: &mut Judge,
        scenario: &Arc<Scenario>,
        schedule: &Schedule,
        effort: Effort,
    ) -> Result<Hunted, Trouble> {
        match *schedule {
            Schedule::Loom { preemptions, execution } => {
                let channel = Channel::new(effort, Some(execution));
                self.explore(judge, scenario, Arc::new(channel), preemptions)
            }
            _ => self.hunt(judge, scenario, effort),
        }
    }

    /// Fewer preemptions, if that is enough.
    fn simplify(&mut self, judge: &mut Judge, found: Found, effort: Effort) -> Found {
        for preemptions in 0..PREEMPTIONS {
            judge.forget();
            let effort = Effort { executions: 4000, ..effort };
            let channel = Arc::new(Channel::new(effort, None));
            let hunted = self.explore(judge, &found.scenario, channel, preemptions);
            if let Ok(Hunted { found: Some(simpler), .. }) = hunted {
                return simpler;
            }
        }
        found
    }

    fn retrace(&mut self, judge: &mut Judge, found: Found, effort: Effort) -> Found {
        let Schedule::Loom { preemptions, execution } = found.schedule else { return found };
        let effort = Effort { executions: u64::MAX, ..effort };
        let channel = Channel { trace: Trace::On, ..Channel::new(effort, Some(execution)) };
        judge.forget();
        let again = self.explore(judge, &found.scenario, Arc::new(channel), preemptions);
        found.seen_again(again)
    }
}
