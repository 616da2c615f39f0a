//! Exploration by Shuttle: its schedulers decide at every access of a primitive of `seriatim-sync`
//! which thread goes on. Random, PCT (Burckhardt et al., ASPLOS 2010) and, for what is small, depth
//! first through all schedules.
//!
//! What it can see: every interleaving of whole accesses. What it cannot: effects of memory
//! ordering (all accesses are sequentially consistent), and accesses that do not go through the
//! primitives. Three things are needed around Shuttle, all of them here:
//! - It switches only *before* its primitives, so that nothing of another thread would ever come
//!   between a return and the next call; the harness accesses a primitive of its own before each
//!   call.
//! - It takes it for a failure when threads wait for ever, and for a panic of the whole run. Here
//!   the main thread does not join: [`Watched`] lets it go on only when nothing else can, and then
//!   whoever has not finished waits for ever. The oracle decides whether that is correct.
//! - It sets a panic hook for the whole process, which prints. The hook before it is put back.

use crate::columns::STEP_SHIFT;
use crate::engine::{Effort, Engine, Found, Hunted, Schedule};
use crate::execution_log::{ExecutionLog, Scene, open};
use crate::failure::{Failure, busy_threads};
use crate::growth;
use crate::oracle::{Judge, Trouble};
use crate::quiet;
use crate::random::Random;
use crate::run::{Accessed, End, Run, Trace};
use crate::scenario::{Scenario, Shape, Step};
use crate::subject::{Attached, Caller, Stamps, Subject, kept};
use seriatim_history::Time;
use seriatim_sync::trace::{self, Ear, Listening};
use shuttle::scheduler::{
    DfsScheduler, PctScheduler, RandomScheduler, RoundRobinScheduler, Schedule as Seeded,
    Scheduler, Task, TaskId,
};
use shuttle::sync::atomic::AtomicBool as Point;
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

/// An execution of more steps than this is not waited for.
const STEPS: usize = 20_000;
/// The number of executions between two judgements.
const SLICE: u64 = 50;

/// The engine.
pub(crate) struct Shuttle {
    subject: Arc<dyn Subject>,
    random: Random,
}

/// Which of Shuttle's schedulers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Strategy {
    Random(u64),
    Pct(u64),
    DepthFirst,
}

/// What an execution and its scheduler tell each other and the engine. Everything here is invisible
/// to Shuttle.
#[derive(Default)]
struct Channel {
    /// The main thread has nothing to do before the others are done.
    main_waits: AtomicBool,
    /// The execution is over; who still unwinds is being cleared away.
    over: AtomicBool,
    stamps: AtomicU64,
    /// The task of each step so far.
    steps: Mutex<Vec<usize>>,
    log: ExecutionLog,
    /// The executions that differ from all before them, with their steps.
    results: Mutex<Vec<(Run, Vec<usize>)>>,
    /// The execution that did not end.
    endless: Mutex<Option<(Run, Vec<usize>)>>,
    executions: AtomicU64,
    trace: Trace,
}

impl Channel {
    /// The next stamp: the number of steps so far, and within a step one after another.
    fn tick(&self) -> Time {
        let first = (open(&self.steps).len() as Time) << STEP_SHIFT;
        let stamp = first.max(self.stamps.load(Ordering::Relaxed) + 1);
        self.stamps.store(stamp, Ordering::Relaxed);
        stamp
    }

    fn clear(&self, threads: usize) {
        self.main_waits.store(false, Ordering::Relaxed);
        self.over.store(false, Ordering::Relaxed);
        self.stamps.store(0, Ordering::Relaxed);
        self.log.begin(threads);
    }

    fn publish(&self, run: Run) {
        self.executions.fetch_add(1, Ordering::Relaxed);
        if self.log.is_new(&run) {
            let steps = open(&self.steps).clone();
            open(&self.results).push((run, steps));
        }
    }
}

/// Writes down the accesses of the threads from now on, if that is wanted.
fn listen(channel: &Arc<Channel>) -> Option<Listening> {
    let heard = channel.clone();
    (channel.trace == Trace::On).then(|| {
        let hear = move |access| {
            let task = open(&heard.steps).last().copied().unwrap_or(0);
            // Task 0 is the main thread, whose calls nothing disturbs.
            if let Some(thread) = task.checked_sub(1) {
                let (stamp, trace::Access { what, place }) = (heard.tick(), access);
                heard.log.access(Accessed { stamp, thread, what, place });
            }
        };
        trace::listen(Ear { accesses: Some(Box::new(hear)), effects: None })
    })
}

/// The stamps of an execution, in the order in which things happen, as only one thread runs.
struct Ticks<'d> {
    channel: &'d Channel,
}

impl Stamps for Ticks<'_> {
    fn call(&self) -> Time {
        self.channel.tick()
    }

    fn ret(&self) -> Time {
        self.channel.tick()
    }

    fn is_over(&self) -> bool {
        self.channel.over.load(Ordering::Relaxed)
    }
}

/// One execution of a scenario, inside Shuttle.
fn execute(subject: &Arc<dyn Subject>, scenario: &Arc<Scenario>, channel: &Arc<Channel>) {
    channel.clear(scenario.threads.len());
    let _listening = listen(channel);
    let mut scene = match Scene::of(&**subject) {
        Ok(scene) => scene,
        Err(mishap) => return channel.publish(channel.log.run().spoilt_by(mishap)),
    };
    channel.log.main_calls(&mut *scene.main, &scenario.before, &Ticks { channel });
    let point = Arc::new(Point::new(false));
    for thread in 0..scenario.threads.len() {
        let (instance, scenario) = (scene.instance.clone(), scenario.clone());
        let (channel, point) = (channel.clone(), point.clone());
        // A task and not a thread of Shuttle's, because only a task can be left waiting for ever.
        drop(shuttle::future::spawn(async move {
            let mut attached = match instance.attach(Caller::Thread(thread)) {
                Ok(attached) => attached,
                Err(mishap) => return instance.mishaps().note(mishap),
            };
            drop(instance);
            for step in &scenario.threads[thread] {
                // Here another thread may come between a return and the next call.
                point.load(Ordering::SeqCst);
                if !thread_call(&mut *attached, step, thread, &channel) {
                    break;
                }
            }
            kept::keep(attached);
        }));
    }
    channel.main_waits.store(true, Ordering::Relaxed);
    shuttle::thread::yield_now();
    channel.main_waits.store(false, Ordering::Relaxed);
    let mut run = channel.log.run();
    let stuck = run.calls().any(|(_, called)| called.slot.end == End::Stuck);
    if !stuck && run.panic().is_none() {
        run = channel.log.close(scene, scenario, &Ticks { channel });
    }
    kept::let_go();
    channel.publish(run);
    channel.over.store(true, Ordering::Relaxed);
}

/// Makes a call of a thread; false if it panicked.
fn thread_call(attached: &mut dyn Attached, step: &Step, thread: usize, channel: &Channel) -> bool {
    channel.log.call(thread, step, channel.tick());
    let slot = attached.run(step, &Ticks { channel });
    let panicked = matches!(slot.end, End::Panicked(_));
    channel.log.end(thread, slot);
    !panicked
}

/// A scheduler that keeps the main thread waiting, writes down what it decides, and gives up on
/// executions without end.
struct Watched<S> {
    /// Never dropped: Shuttle's random scheduler prints its seed then.
    inner: ManuallyDrop<S>,
    channel: Arc<Channel>,
    left: u64,
    effort: Effort,
    /// Whether a thread that can go on always gets its turn some time: then no end means no end.
    fair: bool,
    /// Set when the inner scheduler has no more schedules.
    exhausted: Arc<AtomicBool>,
}

impl<S: Scheduler> Scheduler for Watched<S> {
    fn new_execution(&mut self) -> Option<Seeded> {
        if self.left == 0 || self.effort.is_over() {
            return None;
        }
        self.left -= 1;
        open(&self.channel.steps).clear();
        let next = self.inner.new_execution();
        if next.is_none() {
            self.exhausted.store(true, Ordering::Relaxed);
        }
        next
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let main = TaskId::from(0);
        let others: Vec<&Task> = match self.channel.main_waits.load(Ordering::Relaxed) {
            true => runnable.iter().copied().filter(|task| task.id() != main).collect(),
            false => runnable.to_vec(),
        };
        let chosen = match others.is_empty() {
            true => Some(main),
            // A scheduler that panics does so inside a call of the object, which must not be
            // blamed.
            false => quiet::catch(|| self.inner.next_task(&others, current, is_yielding))
                .unwrap_or_default(),
        };
        let mut steps = open(&self.channel.steps);
        if steps.len() >= STEPS || chosen.is_none() {
            // Depth first would spin in the same loop for ever.
            self.left = 0;
            if self.fair && chosen.is_some() {
                let endless = (self.channel.log.run(), steps.clone());
                open(&self.channel.endless).get_or_insert(endless);
            }
            return None;
        }
        steps.extend(chosen.map(usize::from));
        chosen
    }

    fn next_u64(&mut self) -> u64 {
        self.inner.next_u64()
    }
}

/// Follows a schedule step by step; where it does not fit any more, the first thread that can goes
/// on.
struct Follow {
    steps: std::vec::IntoIter<usize>,
    begun: bool,
}

impl Follow {
    fn new(steps: Vec<usize>) -> Self {
        Follow { steps: steps.into_iter(), begun: false }
    }
}

impl Scheduler for Follow {
    fn new_execution(&mut self) -> Option<Seeded> {
        let first = !self.begun;
        self.begun = true;
        first.then(|| Seeded::new(0))
    }

    fn next_task(&mut self, runnable: &[&Task], _: Option<TaskId>, _: bool) -> Option<TaskId> {
        let wanted = self.steps.next().map(TaskId::from);
        let fits = runnable.iter().map(|task| task.id()).find(|&task| Some(task) == wanted);
        fits.or_else(|| runnable.first().map(|task| task.id()))
    }

    fn next_u64(&mut self) -> u64 {
        0
    }
}

fn config() -> Config {
    let mut config = Config::new();
    config.stack_size = 1 << 18;
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::None;
    config.silence_warnings = true;
    config
}

/// Lets Shuttle set its panic hook, which it does once a process, and puts back the one before it:
/// the hook prints schedules that nobody needs here.
fn prepare() {
    static PREPARED: Once = Once::new();
    PREPARED.call_once(|| {
        let before = std::panic::take_hook();
        Runner::new(RoundRobinScheduler::new(1), config()).run(|| {});
        drop(std::panic::take_hook());
        std::panic::set_hook(before);
    });
}

/// Runs something that uses Shuttle's primitives, by itself.
pub(crate) fn isolated<R: Send + 'static>(run: impl Fn() -> R + Send + Sync + 'static) -> R {
    prepare();
    let result = Arc::new(Mutex::new(None));
    let inner = result.clone();
    let run = move || *open(&inner) = Some(run());
    Runner::new(RoundRobinScheduler::new(1), config()).run(run);
    open(&result).take().expect("the one execution ran to its end")
}

impl Shuttle {
    pub fn new(subject: Arc<dyn Subject>, seed: u64) -> Self {
        prepare();
        Shuttle { subject, random: Random::of(seed) }
    }

    /// Runs some executions under a scheduler; true if it has no more schedules.
    fn explore<S: Scheduler + 'static>(
        &self,
        scenario: &Arc<Scenario>,
        channel: &Arc<Channel>,
        scheduler: S,
        (effort, fair): (Effort, bool),
    ) -> bool {
        let exhausted = Arc::new(AtomicBool::new(false));
        let watched = Watched {
            inner: ManuallyDrop::new(scheduler),
            channel: channel.clone(),
            left: effort.executions,
            effort,
            fair,
            exhausted: exhausted.clone(),
        };
        let (subject, scenario, channel) =
            (self.subject.clone(), scenario.clone(), channel.clone());
        let clearing = channel.clone();
        let run = move || execute(&subject, &scenario, &channel);
        if let Err(panic) = quiet::catch_all(|| Runner::new(watched, config()).run(run)) {
            // Not a call but the harness's own part panicked: making or dropping the object.
            let mut run = clearing.log.run();
            run.complaint = Some(panic.message());
            clearing.publish(run);
        }
        exhausted.load(Ordering::Relaxed)
    }

    fn slice(
        &mut self,
        judge: &mut Judge,
        scenario: &Arc<Scenario>,
        strategy: Strategy,
        effort: Effort,
    ) -> Result<Hunted, Trouble> {
        let channel = Arc::new(Channel::default());
        let rounds = effort.executions as usize;
        let complete = match strategy {
            Strategy::Random(seed) => {
                let scheduler = RandomScheduler::new_from_seed(seed, rounds);
                self.explore(scenario, &channel, scheduler, (effort, true));
                false
            }
            Strategy::Pct(seed) => {
                let scheduler = PctScheduler::new_from_seed(seed, 3, rounds);
                self.explore(scenario, &channel, scheduler, (effort, false));
                false
            }
            Strategy::DepthFirst => {
                self.explore(scenario, &channel, DfsScheduler::new(None, true), (effort, false))
            }
        };
        self.judge(judge, scenario, &channel, complete)
    }

    fn judge(
        &self,
        judge: &mut Judge,
        scenario: &Arc<Scenario>,
        channel: &Channel,
        complete: bool,
    ) -> Result<Hunted, Trouble> {
        let found = |failure, run, steps: Vec<usize>| {
            let (scenario, schedule) = (scenario.clone(), Schedule::Shuttle(segments(&steps)));
            Hunted { found: Some(Found { scenario, failure, run, schedule }), complete: false }
        };
        let results = std::mem::take(&mut *open(&channel.results));
        judge.executions += channel.executions.load(Ordering::Relaxed) - results.len() as u64;
        for (run, steps) in results {
            if judge.is_new(&run)
                && let Some(failure) = judge.judge(&run)?
                && self.is_lasting(scenario, &failure, &steps)
            {
                return Ok(found(failure, run, steps));
            }
        }
        if let Some((run, steps)) = open(&channel.endless).take() {
            let unfinished = run.calls().filter(|(_, called)| called.slot.end == End::Stuck);
            let calls = unfinished.map(|(_, called)| called.step.text(&*self.subject)).collect();
            let failure = Failure::Hang { calls, patience: format!("{STEPS} steps") };
            return Ok(found(failure, run, Vec::from(&steps[..200])));
        }
        Ok(Hunted { found: None, complete })
    }

    /// Whether a failure is one also if the object drops values late: a leak must grow with every
    /// repetition of its execution.
    fn is_lasting(&self, scenario: &Arc<Scenario>, failure: &Failure, steps: &[usize]) -> bool {
        if !matches!(failure, Failure::Leak { .. }) {
            return true;
        }
        let until = Instant::now() + Duration::from_secs(5);
        let mut repeat = |count| {
            for _ in 0..count {
                let scheduler = Follow::new(steps.to_vec());
                let effort = Effort { executions: 1, until };
                self.explore(scenario, &Arc::default(), scheduler, (effort, true));
            }
        };
        growth::grows(self.subject.ledger(), 256, &mut repeat)
    }

    fn follow(
        &mut self,
        judge: &mut Judge,
        scenario: &Arc<Scenario>,
        schedule: &[(usize, usize)],
        effort: Effort,
        trace: Trace,
    ) -> Result<Hunted, Trouble> {
        let steps: Vec<usize> =
            schedule.iter().flat_map(|&(task, steps)| std::iter::repeat_n(task, steps)).collect();
        let channel = Arc::new(Channel { trace, ..Channel::default() });
        let scheduler = Follow::new(steps);
        let effort = Effort { executions: 1, ..effort };
        self.explore(scenario, &channel, scheduler, (effort, true));
        judge.forget();
        self.judge(judge, scenario, &channel, false)
    }
}

/// Equal steps in a row as one.
fn segments(steps: &[usize]) -> Vec<(usize, usize)> {
    steps.chunk_by(|a, b| a == b).map(|chunk| (chunk[0], chunk.len())).collect()
}

impl Engine for Shuttle {
    fn describe(&self) -> String {
        "Shuttle's schedulers (interleavings, sequentially consistent memory)".to_owned()
    }

    fn shape(&mut self, turn: u64) -> Shape {
        const SIZES: [(usize, usize); 8] =
            [(2, 1), (2, 2), (3, 1), (2, 2), (2, 3), (3, 2), (2, 2), (3, 2)];
        let (threads, calls) = SIZES[turn as usize % SIZES.len()];
        let before = self.random.between(0, 2);
        Shape { threads, calls, before, after: self.random.between(0, 1) }
    }

    fn hunt(
        &mut self,
        judge: &mut Judge,
        scenario: &Arc<Scenario>,
        effort: Effort,
    ) -> Result<Hunted, Trouble> {
        let (mut left, mut quiet) = (effort.executions, 0);
        for turn in 0.. {
            // When a slice showed nothing new, there is little more to be seen in this scenario.
            let last = left <= SLICE || quiet >= 1;
            let strategy = match (last, turn % 2) {
                (true, _) if scenario.parallel() <= 2 && effort.executions >= SLICE => {
                    Strategy::DepthFirst
                }
                // PCT refuses to schedule what has no choice.
                (_, 1) if busy_threads(scenario) > 1 => Strategy::Pct(self.random.any()),
                _ => Strategy::Random(self.random.any()),
            };
            // What is small deserves to be seen whole.
            let executions = match strategy {
                Strategy::DepthFirst => 10 * SLICE,
                _ => SLICE.min(left),
            };
            let slice = Effort { executions, ..effort };
            let different = judge.different;
            let hunted = self.slice(judge, scenario, strategy, slice)?;
            if last || hunted.found.is_some() || effort.is_over() {
                return Ok(hunted);
            }
            quiet = if judge.different == different { quiet + 1 } else { 0 };
            left -= SLICE;
        }
        unreachable!("the executions run out")
    }

    fn patience(&self, _: &Scenario) -> u64 {
        4 * SLICE
    }

    fn replay(
        &mut self,
        judge: &mut Judge,
        scenario: &Arc<Scenario>,
        schedule: &Schedule,
        effort: Effort,
    ) -> Result<Hunted, Trouble> {
        match schedule {
            Schedule::Shuttle(steps) => self.follow(judge, scenario, steps, effort, Trace::Off),
            _ => self.hunt(judge, scenario, effort),
        }
    }

    /// Swaps neighbouring stretches of the schedule as long as that leaves fewer switches.
    fn simplify(&mut self, judge: &mut Judge, found: Found, effort: Effort) -> Found {
        let mut best = found;
        'again: while let Schedule::Shuttle(steps) = best.schedule.clone() {
            for place in 1..steps.len().saturating_sub(1) {
                if effort.is_over() {
                    break 'again;
                }
                let mut candidate = steps.clone();
                candidate.swap(place, place + 1);
                let hunted = self.follow(judge, &best.scenario, &candidate, effort, Trace::Off);
                if let Ok(Hunted { found: Some(found), .. }) = hunted
                    && best.failure.is_like(&found.failure)
                    && matches!(&found.schedule, Schedule::Shuttle(new) if new.len() < steps.len())
                {
                    best = found;
                    continue 'again;
                }
            }
            break;
        }
        best
    }

    fn retrace(&mut self, judge: &mut Judge, found: Found, effort: Effort) -> Found {
        let Schedule::Shuttle(steps) = &found.schedule else { return found };
        let again = self.follow(judge, &found.scenario, steps, effort, Trace::On);
        found.seen_again(again)
    }
}
