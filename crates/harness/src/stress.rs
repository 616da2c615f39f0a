//! Stress: real threads, thousands of short executions and some long ones.
//!
//! Sees what the machine really does, memory ordering included, but only what happens to happen: a
//! rare interleaving may never come. A batch of executions runs while the one before it is judged.

use crate::Clock;
use crate::engine::{Effort, Engine, Found, Hunted, Schedule};
use crate::failure::{Failure, busy_threads};
use crate::growth::{self, Fate, Pace, SIGHTINGS};
use crate::mishap::{Mishap, Mishaps};
use crate::oracle::{Cost, Judge, Trouble};
use crate::pool::{Batch, Ended, Luck, Pool};
use crate::pressure::{Others, Pressure, processors};
use crate::random::Random;
use crate::run::{Called, End, Run, Slot, drain};
use crate::scenario::{Scenario, Shape, Step};
use crate::subject::{Attached, Caller, Subject};
use crate::tracked::{Era, Imbalance};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The engine of real threads.
pub(crate) struct Stress {
    subject: Arc<dyn Subject>,
    cost: Cost,
    clock: Arc<Clock>,
    pool: Pool,
    pressure: Pressure,
    _others: Option<Others>,
    random: Random,
    hang_after: Duration,
    main_call: Arc<MainCall>,
    /// The batch whose threads were left behind last, and which of them wait.
    waiting: Option<(Arc<Batch>, Vec<usize>)>,
    /// Threads that were left behind in calls that wait for ever.
    left_behind: usize,
    /// The scenarios whose values outlived their objects, to be looked at again.
    outlived: Vec<Outlived>,
    /// The values that were kept for good, an entry for each scenario.
    kept: Vec<i64>,
    patient: Patient,
    /// The number of executions in the first batch of a scenario, as fast as the object is.
    first_batch: usize,
    /// The most calls of a thread in a long scenario, as far as checking them is affordable.
    longest: usize,
}

/// Values that outlived the objects of a scenario.
struct Outlived {
    scenario: Arc<Scenario>,
    /// One of the executions.
    run: Run,
    era: Era,
    /// The number of scenarios since.
    age: u32,
}

/// How long values that outlive their objects are left alone before they are followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Patient {
    /// Not at all: nothing is known of the object, or it was seen to leak.
    Never,
    /// For some scenarios: the object was seen to drop values late.
    ForAWhile,
}

/// The age at which values that outlive their objects are followed.
const OLD: u32 = 16;

/// What following the values of one scenario may take.
const FOLLOWING: Duration = Duration::from_secs(1);

/// A batch under way, with what the main thread did on its objects.
struct Running {
    batch: Arc<Batch>,
    before: Vec<Before>,
}

/// The main thread's view of one object, and its calls so far.
struct Before {
    attached: Box<dyn Attached>,
    calls: Vec<Called>,
}

/// The call that the main thread is in, for those who watch it: it may never return either.
#[derive(Default)]
pub(crate) struct MainCall(Mutex<Option<(Arc<Scenario>, Step, Instant)>>);

impl MainCall {
    fn set(&self, now: Option<(Arc<Scenario>, Step, Instant)>) {
        *self.0.lock().expect("nobody panics with the lock") = now;
    }

    /// The scenario and the call, if it has lasted longer than this.
    pub fn longer_than(&self, patience: Duration) -> Option<(Arc<Scenario>, Step)> {
        let now = self.0.lock().expect("nobody panics with the lock");
        let (scenario, step, since) = now.as_ref()?;
        (since.elapsed() > patience).then(|| (scenario.clone(), step.clone()))
    }
}

/// The most calls of a thread.
const LONG: usize = 150;

/// What the check of a long execution may take.
const AFFORDABLE: Duration = Duration::from_millis(2);

/// The most executions in the first batch of a scenario, and in the largest.
const FIRST_BATCH: usize = 64;
const BATCH: usize = 1024;

/// A batch that takes less is followed by a larger one: waking the threads up takes its time, on a
/// busy machine more than all executions.
const BATCH_TIME: Duration = Duration::from_millis(50);

/// Batches of scenarios with more calls do not become larger.
const SHORT: usize = 25;

/// After a batch that takes more, first batches are smaller: the object is slow.
const LONG_BATCH: Duration = Duration::from_millis(500);

/// The nanoseconds that an execution is expected to take at most. A scenario whose executions take
/// longer (more threads than processors) is given no more time for that.
const EXPECTED: u64 = 25_000;

/// However slow they are, a test has time for so many scenarios, and for so many batches.
const SCENARIOS: u32 = 40;
const BATCHES: u32 = 200;

/// After so many failures that are not believed, threads are stopped no more.
const DISBELIEVED: u64 = 16;

/// More threads than this are not left behind.
const LEFT_BEHIND: usize = 256;

/// How executions are run.
#[derive(Clone, Copy)]
pub(crate) struct Manner {
    /// A call that takes longer does not end.
    pub hang_after: Duration,
    /// What makes the threads meet.
    pub pressure: Pressure,
}

impl Stress {
    pub fn new(
        subject: Arc<dyn Subject>,
        cost: Cost,
        manner: Manner,
        seed: u64,
        main_call: Arc<MainCall>,
    ) -> Self {
        Stress {
            subject,
            cost,
            clock: Arc::new(Clock::fenced()),
            pool: Pool::new(manner.pressure),
            pressure: manner.pressure,
            _others: manner.pressure.others(),
            random: Random::of(seed),
            hang_after: manner.hang_after,
            main_call,
            waiting: None,
            left_behind: 0,
            outlived: Vec::new(),
            kept: Vec::new(),
            patient: Patient::Never,
            first_batch: 1,
            longest: if cost == Cost::Cheap { LONG } else { 10 },
        }
    }

    fn start(&mut self, scenario: &Arc<Scenario>, executions: usize) -> Result<Running, Mishap> {
        let mut before = Vec::with_capacity(executions);
        let mut instances = Vec::with_capacity(executions);
        for _ in 0..executions {
            let instance = self.subject.fresh()?;
            let mut attached = instance.attach(Caller::Main)?;
            let calls = self.call_all(scenario, &mut *attached, &scenario.before);
            before.push(Before { attached, calls });
            instances.push(instance);
        }
        let (subject, clock) = (self.subject.clone(), self.clock.clone());
        let luck = Luck { pressure: self.pressure, seed: self.random.any() };
        let batch = Arc::new(Batch::new(subject, scenario.clone(), instances, clock, luck));
        self.pool.start(&batch);
        Ok(Running { batch, before })
    }

    fn call_all(
        &self,
        scenario: &Arc<Scenario>,
        attached: &mut dyn Attached,
        steps: &[Step],
    ) -> Vec<Called> {
        let mut calls = Vec::with_capacity(steps.len());
        for step in steps {
            let slot = self.call(scenario, attached, step);
            let panicked = matches!(slot.end, End::Panicked(_));
            calls.push(Called { step: step.clone(), slot });
            if panicked {
                break;
            }
        }
        calls
    }

    fn call(&self, scenario: &Arc<Scenario>, attached: &mut dyn Attached, step: &Step) -> Slot {
        self.main_call.set(Some((scenario.clone(), step.clone(), Instant::now())));
        let slot = attached.run(step, &*self.clock);
        self.main_call.set(None);
        slot
    }

    /// Waits for a batch and lets the main thread do the rest.
    fn finish(&mut self, running: Running) -> Result<Vec<Run>, Box<Failure>> {
        let Running { batch, before } = running;
        let scenario = batch.scenario.clone();
        let threads = scenario.threads.len();
        let ended = self.pool.finish(&batch, self.hang_after);
        if !matches!(ended, Ended::Done) {
            self.pool = Pool::new(self.pressure);
            self.left_behind += threads;
        }
        match ended {
            Ended::Hanging(hanging) => {
                let text = |(thread, place): (usize, usize)| {
                    scenario.threads[thread][place].text(&*self.subject)
                };
                let calls = hanging.into_iter().map(text).collect();
                let patience = format!("{:?}", self.hang_after);
                return Err(Box::new(Failure::Hang { calls, patience }));
            }
            Ended::Crashed(mishap) => return Err(Box::new(mishap.into())),
            Ended::Done | Ended::Waiting => {}
        }
        let waiting = batch.waiting();
        let mut calls: Vec<_> = (0..threads).map(|t| batch.calls(t).into_iter()).collect();
        let runs = before.into_iter().enumerate().map(|(execution, before)| {
            let threads = calls.iter_mut().map(|calls| calls.next().unwrap_or_default()).collect();
            let is_disturbed = batch.is_disturbed(execution);
            let mut run = Run { main: before.calls, threads, is_disturbed, ..Run::default() };
            if matches!(ended, Ended::Waiting) {
                leave_waiting(&mut run, &waiting);
            }
            if matches!(ended, Ended::Done) {
                self.end(&mut run, before.attached, &scenario);
                run.complaint = batch.instances[execution].inspect().err();
            }
            run
        });
        let mut runs: Vec<Run> = runs.collect();
        if matches!(ended, Ended::Done) {
            self.pool.release(&batch);
            let_go(batch, &mut runs);
        } else {
            self.waiting = Some((batch, waiting));
        }
        Ok(runs)
    }

    /// What the main thread does when the others are done.
    fn end(&self, run: &mut Run, mut attached: Box<dyn Attached>, scenario: &Arc<Scenario>) {
        if run.panic().is_some() {
            return;
        }
        run.main.extend(self.call_all(scenario, &mut *attached, &scenario.after));
        if let Some(kind) = scenario.drain.filter(|_| run.panic().is_none()) {
            run.main.extend(drain(kind, |step| self.call(scenario, &mut *attached, step)));
        }
    }

    /// Whether the calls of a failing execution that wait for ever do: they are given as long as
    /// calls that must not wait.
    fn is_certain(&self, run: &Run) -> bool {
        let waits = run.calls().any(|(_, called)| called.slot.end == End::Stuck);
        let mut waiting = self.waiting.iter();
        !waits || waiting.all(|(batch, threads)| batch.waits_on(threads, self.hang_after))
    }

    fn batch_size(&self, judge: &Judge, scenario: &Scenario) -> usize {
        if judge.may_block() {
            return 1;
        }
        (400 / scenario.len().max(1)).clamp(1, self.first_batch)
    }

    /// Judges executions as long as there is time; what nobody judged does not count.
    fn judge_all(
        &self,
        judge: &mut Judge,
        scenario: &Arc<Scenario>,
        runs: Vec<Run>,
        effort: Effort,
    ) -> Result<Option<Found>, Trouble> {
        for (place, run) in runs.into_iter().enumerate() {
            if place > 0 && effort.is_over() {
                break;
            }
            if judge.is_new(&run)
                && let Some(failure) = judge.judge(&run)?
            {
                if run.is_disturbed || !self.is_certain(&run) {
                    judge.disturbed += u64::from(run.is_disturbed);
                    judge.forget();
                    continue;
                }
                let (scenario, schedule) = (scenario.clone(), Schedule::Stress);
                return Ok(Some(Found { scenario, failure, run, schedule }));
            }
        }
        Ok(None)
    }
}

/// The last calls of some threads wait for ever.
fn leave_waiting(run: &mut Run, waiting: &[usize]) {
    for &thread in waiting {
        if let Some(last) = run.threads[thread].last_mut() {
            last.slot.end = End::Stuck;
        }
    }
}

/// Drops the objects of a batch, which nobody else holds any more, and writes down whose drop went
/// wrong.
fn let_go(batch: Arc<Batch>, runs: &mut [Run]) {
    let mishaps: Vec<Mishaps> = batch.instances.iter().map(|object| object.mishaps()).collect();
    drop(batch);
    for (run, mishaps) in runs.iter_mut().zip(mishaps) {
        run.mishap = mishaps.first();
    }
}

/// Runs something on a thread of its own, so that what a thread keeps for later goes with it.
fn on_own_thread<R: Send>(run: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("seriatim-main".to_owned());
        let thread = thread.spawn_scoped(scope, run).expect("the system starts threads");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

impl Stress {
    /// Runs a scenario until it fails, the effort is spent, or values that nobody may keep outlive
    /// their objects. Gives one of the executions if nothing failed.
    fn hunt_here(
        &mut self,
        judge: &mut Judge,
        scenario: &Arc<Scenario>,
        effort: Effort,
        era: Era,
    ) -> Result<Result<Run, Found>, Trouble> {
        let left = effort.until.saturating_duration_since(Instant::now());
        // Where the machine is busy, most of the time goes by until the threads are awake.
        let expected = effort.executions.saturating_mul(EXPECTED);
        let share = effort.within(expected.max((left / SCENARIOS).as_nanos() as u64));
        let soon = BATCH_TIME.max(left / BATCHES);
        let mut size = self.batch_size(judge, scenario).min(effort.executions as usize).max(1);
        let (mut started, mut done) = (0, Vec::new());
        // Where every processor is wanted by a thread of the scenario, judging at the same time
        // would keep the threads from meeting.
        let alone = scenario.threads.len() >= processors();
        while started < effort.executions && !share.is_over() {
            started += size as u64;
            let mut found = Ok(None);
            if alone {
                found = self.judge_all(judge, scenario, std::mem::take(&mut done), effort);
            }
            let begin = Instant::now();
            let running = match self.start(scenario, size) {
                Ok(running) => running,
                Err(mishap) => return Ok(Err(without_run(scenario, mishap.into()))),
            };
            if !alone {
                found = self.judge_all(judge, scenario, std::mem::take(&mut done), effort);
            }
            match self.finish(running) {
                Ok(runs) => done = runs,
                Err(failure) => return Ok(Err(without_run(scenario, *failure))),
            }
            let took = begin.elapsed();
            self.pace(took);
            if took < soon && scenario.len() <= SHORT && !judge.may_block() {
                size = (size * 4).min(BATCH);
            }
            if let Some(found) = found? {
                return Ok(Err(found));
            }
            match era.imbalance() {
                None => {}
                Some(Imbalance::Leaked(_)) if self.patient == Patient::ForAWhile => {}
                Some(_) => break,
            }
        }
        let run = done.last().cloned().unwrap_or_default();
        if let Some(found) = self.judge_all(judge, scenario, done, effort)? {
            return Ok(Err(found));
        }
        Ok(match era.imbalance() {
            Some(wrong @ Imbalance::DroppedTwice(_)) => Err(found_in(scenario, wrong.into(), run)),
            _ => Ok(run),
        })
    }

    /// Lets first batches grow as long as they are done soon, and shrink when they are not.
    fn pace(&mut self, took: Duration) {
        if took < BATCH_TIME {
            self.first_batch = (self.first_batch * 4).min(FIRST_BATCH);
        } else if took > LONG_BATCH {
            self.first_batch = (self.first_batch / 4).max(1);
        }
    }

    /// Lets long scenarios grow as long as checking them stays affordable, and shrink when it does
    /// not.
    fn adjust_length(&mut self, scenario: &Scenario, each: Duration) {
        let calls = scenario.threads.iter().map(Vec::len).max().unwrap_or(0);
        if each > AFFORDABLE && calls > 4 {
            self.longest = (self.longest.min(calls) / 2).max(4);
        } else if each < AFFORDABLE / 4 && calls * 2 > self.longest {
            self.longest = (self.longest + self.longest / 2).min(LONG);
        }
    }

    /// More executions of a scenario, whose objects and threads are gone at the end. Nobody judges
    /// them.
    fn repeat(&mut self, scenario: &Arc<Scenario>, executions: u64) {
        let size = (executions as usize).clamp(1, BATCH);
        on_own_thread(|| {
            for _ in 0..executions.div_ceil(size as u64) {
                let Ok(running) = self.start(scenario, size) else { return };
                if self.finish(running).is_err() {
                    return;
                }
            }
        });
        self.pool.dismiss();
    }

    /// Looks after the values that outlived their objects; gives what is wrong with them.
    fn follow_outlived(&mut self, pace: Pace) -> Option<Found> {
        let (mut due, mut young) = (Vec::new(), Vec::new());
        for mut outlived in self.outlived.drain(..) {
            outlived.age += 1;
            match outlived.era.imbalance() {
                None => self.patient = Patient::ForAWhile,
                Some(Imbalance::Leaked(_))
                    if self.patient == Patient::ForAWhile && outlived.age < OLD =>
                {
                    young.push(outlived);
                }
                Some(_) => due.push(outlived),
            }
        }
        self.outlived = young;
        due.into_iter().find_map(|outlived| {
            let wrong = self.follow(&outlived, pace)?;
            // Whoever asks again shrinks this failure, and wants to know at once.
            self.patient = Patient::Never;
            Some(found_in(&outlived.scenario, wrong.into(), outlived.run))
        })
    }

    fn follow(&mut self, outlived: &Outlived, pace: Pace) -> Option<Imbalance> {
        let scenario = outlived.scenario.clone();
        match growth::fate(outlived.era, pace, &mut |count| self.repeat(&scenario, count)) {
            Fate::Wrong(imbalance) => Some(imbalance),
            Fate::Dropped => {
                self.patient = Patient::ForAWhile;
                None
            }
            Fate::Kept => {
                let Some(Imbalance::Leaked(values)) = outlived.era.imbalance() else { return None };
                self.kept.push(values);
                let sum = self.kept.iter().sum();
                (self.kept.len() >= SIGHTINGS).then_some(Imbalance::Leaked(sum))
            }
        }
    }
}

fn found_in(scenario: &Arc<Scenario>, failure: Failure, run: Run) -> Found {
    Found { scenario: scenario.clone(), failure, run, schedule: Schedule::Stress }
}

/// A failure of which no execution is known.
fn without_run(scenario: &Arc<Scenario>, failure: Failure) -> Found {
    let threads = vec![Vec::new(); scenario.threads.len()];
    found_in(scenario, failure, Run { threads, ..Run::default() })
}

impl Engine for Stress {
    fn describe(&self) -> String {
        "stress on real threads".to_owned()
    }

    fn shape(&mut self, turn: u64) -> Shape {
        let random = &mut self.random;
        // More threads than processors hardly ever meet.
        let few = random.below(8) > 0 && processors() < 4;
        let most = if few { processors().max(2) } else { 4 };
        if turn % 8 == 7 && self.cost != Cost::Reruns {
            let calls = random.between(self.longest / 7 + 1, self.longest);
            let threads = random.between(2, most);
            return Shape { threads, calls, before: random.between(0, 5), after: 2 };
        }
        let threads = random.between(2, most.min(3));
        let calls = random.between(1, if threads == 2 { 4 } else { 3 });
        Shape { threads, calls, before: random.between(0, 2), after: random.between(0, 2) }
    }

    fn hunt(
        &mut self,
        judge: &mut Judge,
        scenario: &Arc<Scenario>,
        effort: Effort,
    ) -> Result<Hunted, Trouble> {
        if self.left_behind > LEFT_BEHIND {
            return Ok(Hunted { found: None, complete: false });
        }
        if judge.disturbed >= DISBELIEVED && self.pressure == Pressure::Interrupted {
            self.pressure = Pressure::Pinned;
            self.pool.dismiss();
            self.pool = Pool::new(self.pressure);
        }
        let ledger = self.subject.ledger();
        let (era, begin, before) = (ledger.begin(), Instant::now(), judge.executions);
        let (checked, checking) = (judge.different, judge.checking);
        let left_behind = self.left_behind;
        let run = match on_own_thread(|| self.hunt_here(judge, scenario, effort, era))? {
            Ok(run) => run,
            Err(found) => return Ok(Hunted { found: Some(found), complete: false }),
        };
        let checked = (judge.different - checked).max(1) as u32;
        self.adjust_length(scenario, (judge.checking - checking) / checked);
        // A thread that waits for ever keeps its object, and that is its right.
        if !ledger.is_used() || self.left_behind > left_behind {
            return Ok(Hunted { found: None, complete: false });
        }
        if era.imbalance().is_some() {
            self.outlived.push(Outlived { scenario: scenario.clone(), run, era, age: 0 });
        }
        let executions = u128::from(judge.executions - before).max(1);
        let each = (begin.elapsed().as_nanos() / executions).max(1);
        let found = self.follow_outlived(Pace::for_about((FOLLOWING.as_nanos() / each) as u64));
        Ok(Hunted { found, complete: false })
    }

    fn patience(&self, scenario: &Scenario) -> u64 {
        match scenario.len() {
            41.. => 4,
            // On one thread every execution is like the other.
            _ if busy_threads(scenario) <= 1 => 16,
            _ if scenario.threads.len() > processors() => 256,
            _ => 2048,
        }
    }

    fn longest_alone(&self) -> usize {
        24
    }

    fn outlived(&self) -> i64 {
        self.kept.iter().sum()
    }

    fn replay(
        &mut self,
        judge: &mut Judge,
        scenario: &Arc<Scenario>,
        _: &Schedule,
        effort: Effort,
    ) -> Result<Hunted, Trouble> {
        self.hunt(judge, scenario, effort)
    }

    fn simplify(&mut self, _: &mut Judge, found: Found, _: Effort) -> Found {
        found
    }
}
