//! Stress: real threads, thousands of short executions and some long ones.
//!
//! Sees what the machine really does, memory ordering included, but only what happens to happen: a rare
//! interleaving may never come. A batch of executions runs while the one before it is judged.

use crate::Clock;
use crate::engine::{Effort, Engine, Found, Hunted, Schedule};
use crate::failure::Failure;
use crate::oracle::{Cost, Judge, Misuse};
use crate::pool::{Batch, Ended, Pool};
use crate::random::Random;
use crate::run::{Called, End, Run, Slot, drain};
use crate::scenario::{Scenario, Shape, Step};
use crate::subject::{Attached, Caller, Subject};
use crate::tracked::Balance;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The engine of real threads.
pub(crate) struct Stress {
    subject: Arc<dyn Subject>,
    cost: Cost,
    clock: Arc<Clock>,
    pool: Pool,
    random: Random,
    hang_after: Duration,
    main_call: Arc<MainCall>,
    /// Threads that were left behind in calls that wait for ever.
    left_behind: usize,
}

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

/// More threads than this are not left behind.
const LEFT_BEHIND: usize = 256;

impl Stress {
    pub fn new(
        subject: Arc<dyn Subject>,
        cost: Cost,
        hang_after: Duration,
        seed: u64,
        main_call: Arc<MainCall>,
    ) -> Self {
        Stress {
            subject,
            cost,
            clock: Arc::new(Clock::fenced()),
            pool: Pool::new(),
            random: Random::of(seed),
            hang_after,
            main_call,
            left_behind: 0,
        }
    }

    fn start(&mut self, scenario: &Arc<Scenario>, executions: usize) -> Running {
        let mut before = Vec::with_capacity(executions);
        let mut instances = Vec::with_capacity(executions);
        for _ in 0..executions {
            let instance = self.subject.fresh();
            let mut attached = instance.attach(Caller::Main);
            let calls = self.call_all(scenario, &mut *attached, &scenario.before);
            before.push(Before { attached, calls });
            instances.push(instance);
        }
        let (subject, clock) = (self.subject.clone(), self.clock.clone());
        let seed = self.random.any();
        let batch = Arc::new(Batch::new(subject, scenario.clone(), instances, clock, seed));
        self.pool.start(&batch);
        Running { batch, before }
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
            self.pool = Pool::new();
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
            Ended::Crashed(message) => return Err(outside_of_a_call(message)),
            Ended::Done | Ended::Waiting => {}
        }
        let mut calls: Vec<_> = (0..threads).map(|t| batch.calls(t).into_iter()).collect();
        let runs = before.into_iter().enumerate().map(|(execution, before)| {
            let threads = calls.iter_mut().map(|calls| calls.next().unwrap_or_default()).collect();
            let mut run = Run { main: before.calls, threads, ..Run::default() };
            if matches!(ended, Ended::Done) {
                self.end(&mut run, before.attached, &scenario);
                run.complaint = batch.instances[execution].inspect().err();
            }
            run
        });
        let runs = runs.collect();
        match ended {
            Ended::Done => {
                self.pool.release(&batch).map_or(Ok(runs), |m| Err(outside_of_a_call(m)))
            }
            _ => Ok(runs),
        }
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

    fn batch_size(&self, judge: &Judge, scenario: &Scenario) -> usize {
        if judge.may_block() {
            return 1;
        }
        (400 / scenario.len().max(1)).clamp(1, 64)
    }

    fn judge_all(
        judge: &mut Judge,
        scenario: &Arc<Scenario>,
        runs: Vec<Run>,
    ) -> Result<Option<Found>, Misuse> {
        for run in runs {
            if judge.is_new(&run)
                && let Some(failure) = judge.judge(&run)?
            {
                let (scenario, schedule) = (scenario.clone(), Schedule::Stress);
                return Ok(Some(Found { scenario, failure, run, schedule }));
            }
        }
        Ok(None)
    }
}

fn outside_of_a_call(message: String) -> Box<Failure> {
    let call = "making or dropping a thread's handle".to_owned();
    Box::new(Failure::Panic { call, message })
}

impl Engine for Stress {
    fn describe(&self) -> String {
        "stress on real threads".to_owned()
    }

    fn shape(&mut self, turn: u64) -> Shape {
        let random = &mut self.random;
        if turn % 8 == 7 && self.cost == Cost::Cheap {
            let (threads, calls) = (random.between(2, 4), random.between(20, 150));
            return Shape { threads, calls, before: random.between(0, 5), after: 2 };
        }
        let threads = random.between(2, 3);
        let calls = random.between(1, if threads == 2 { 4 } else { 3 });
        Shape { threads, calls, before: random.between(0, 2), after: random.between(0, 2) }
    }

    fn hunt(
        &mut self,
        judge: &mut Judge,
        scenario: &Arc<Scenario>,
        effort: Effort,
    ) -> Result<Hunted, Misuse> {
        let nothing = |complete| Hunted { found: None, complete };
        if self.left_behind > LEFT_BEHIND {
            return Ok(nothing(false));
        }
        let balance = Balance::of(self.subject.ledgers());
        let size = self.batch_size(judge, scenario);
        let (mut started, mut done) = (0, Vec::new());
        while started < effort.executions && !effort.is_over() {
            started += size as u64;
            let running = self.start(scenario, size);
            let found = Self::judge_all(judge, scenario, std::mem::take(&mut done));
            match self.finish(running) {
                Ok(runs) => done = runs,
                Err(failure) => {
                    let failure = *failure;
                    let (scenario, schedule) = (scenario.clone(), Schedule::Stress);
                    let run =
                        Run { threads: vec![Vec::new(); scenario.threads.len()], ..Run::default() };
                    let found = Some(Found { scenario, failure, run, schedule });
                    return Ok(Hunted { found, complete: false });
                }
            }
            if let Some(found) = found? {
                return Ok(Hunted { found: Some(found), complete: false });
            }
            if let Some(imbalance) = balance.imbalance() {
                let panicked = Self::judge_all(judge, scenario, done.clone())?;
                if panicked.is_some() {
                    return Ok(Hunted { found: panicked, complete: false });
                }
                let (scenario, schedule) = (scenario.clone(), Schedule::Stress);
                let run = done.pop().unwrap_or_default();
                let failure = Failure::from(imbalance);
                let found = Some(Found { scenario, failure, run, schedule });
                return Ok(Hunted { found, complete: false });
            }
        }
        let found = Self::judge_all(judge, scenario, done)?;
        Ok(Hunted { found, complete: false })
    }

    fn patience(&self, scenario: &Scenario) -> u64 {
        if scenario.len() > 40 { 4 } else { 512 }
    }

    fn replay(
        &mut self,
        judge: &mut Judge,
        scenario: &Arc<Scenario>,
        _: &Schedule,
        effort: Effort,
    ) -> Result<Hunted, Misuse> {
        self.hunt(judge, scenario, effort)
    }

    fn simplify(&mut self, _: &mut Judge, found: Found, _: Effort) -> Found {
        found
    }
}
