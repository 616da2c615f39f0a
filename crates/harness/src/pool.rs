//! Threads that run the same scenario on many objects, all of them at once on each.
//!
//! The threads live as long as the test: starting one takes longer than a whole execution. They
//! meet at a gate before each object, so that they really overlap, and wait a random moment before
//! each call. A thread that never comes back cannot be stopped in Rust; the pool is abandoned then
//! and leaves it behind.

use crate::Clock;
use crate::gate::Gate;
use crate::interruption::{Interrupter, Meeting, Pace, Stop, inside};
use crate::mishap::Mishap;
use crate::pressure::{Pressure, processors};
use crate::random::Random;
use crate::run::{Called, End, Slot};
use crate::scenario::{Scenario, Step};
use crate::subject::{Attached, Blocking, Caller, Instance, Subject};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The work of a batch: one scenario, many objects.
pub(crate) struct Batch {
    pub subject: Arc<dyn Subject>,
    pub scenario: Arc<Scenario>,
    pub instances: Vec<Box<dyn Instance>>,
    pub clock: Arc<Clock>,
    pub seed: u64,
    pub pressure: Pressure,
    gate: Gate,
    meeting: Meeting,
    boards: Vec<Board>,
    /// For each object, whether a system call ended early because a thread was stopped in it.
    disturbed: Vec<AtomicBool>,
}

/// What one thread shows of itself.
#[derive(Default)]
struct Board {
    /// Whether it is inside a call that may wait for ever.
    waits: AtomicBool,
    /// The number of the call that it is in, from 1; 0 between calls.
    at: AtomicUsize,
    /// Why it could not go on.
    crash: Mutex<Option<Mishap>>,
    /// The calls of the executions so far.
    executions: Mutex<Vec<Vec<Called>>>,
}

/// What decides how the threads of a batch meet.
pub(crate) struct Luck {
    pub pressure: Pressure,
    pub seed: u64,
}

impl Batch {
    pub fn new(
        subject: Arc<dyn Subject>,
        scenario: Arc<Scenario>,
        instances: Vec<Box<dyn Instance>>,
        clock: Arc<Clock>,
        luck: Luck,
    ) -> Self {
        let threads = scenario.threads.len();
        let gate = Gate::of(threads, processors());
        let boards = (0..threads).map(|_| Board::default()).collect();
        let Luck { pressure, seed } = luck;
        let meeting = Meeting::of(threads, processors());
        let disturbed = instances.iter().map(|_| AtomicBool::new(false)).collect();
        Batch {
            subject,
            scenario,
            instances,
            clock,
            seed,
            pressure,
            gate,
            meeting,
            boards,
            disturbed,
        }
    }

    /// Whether a system call ended early in an execution because we stopped its thread.
    pub fn is_disturbed(&self, execution: usize) -> bool {
        self.disturbed[execution].load(Ordering::Relaxed)
    }

    /// The calls of a thread in all executions, as far as it got.
    pub fn calls(&self, thread: usize) -> Vec<Vec<Called>> {
        let mut executions = self.boards[thread].executions.lock().expect("nobody panics inside");
        std::mem::take(&mut *executions)
    }

    /// A thread cannot go on.
    fn crash(&self, thread: usize, mishap: Mishap) {
        *self.boards[thread].crash.lock().expect("nobody panics inside") = Some(mishap);
        self.gate.abandon();
    }

    /// Why a thread could not go on.
    fn crashed(&self) -> Option<Mishap> {
        let crash = |board: &Board| board.crash.lock().expect("nobody panics inside").take();
        self.boards.iter().find_map(crash)
    }

    /// The threads that are inside a call that may wait for ever.
    pub fn waiting(&self) -> Vec<usize> {
        let waits = |&thread: &usize| self.boards[thread].waits.load(Ordering::Acquire);
        (0..self.boards.len()).filter(waits).collect()
    }

    /// Whether these threads wait on for so long, and no call ends meanwhile. Counted in naps, so
    /// that a process that was stopped for a while is not taken for one that waited.
    pub fn waits_on(&self, threads: &[usize], patience: Duration) -> bool {
        let calls = self.meeting.total();
        let naps = (patience.as_millis() / NAP.as_millis()).max(1);
        (0..naps).all(|_| {
            std::thread::sleep(NAP);
            self.meeting.total() == calls && self.waiting() == threads
        })
    }

    /// Which of some threads are in which of their calls.
    fn inside_calls(&self, threads: &[usize]) -> Vec<(usize, usize)> {
        let at = |thread: usize| self.boards[thread].at.load(Ordering::Relaxed).checked_sub(1);
        threads.iter().filter_map(|&thread| Some((thread, at(thread)?))).collect()
    }

    /// One thread's share of the batch.
    ///
    /// The handles live until the main thread is done with the objects as well: a receiver that
    /// goes early would close the channel.
    fn work(&self, worker: &mut Worker) {
        let thread = worker.number;
        let board = &self.boards[thread];
        let mut random = Random::of(self.seed ^ (thread as u64) << 32);
        let steps = &self.scenario.threads[thread];
        let others =
            (self.scenario.threads.iter().map(Vec::len).sum::<usize>() - steps.len()) as u64;
        for (execution, instance) in self.instances.iter().enumerate() {
            let mut attached = match instance.attach(Caller::Thread(thread)) {
                Ok(attached) => attached,
                Err(mishap) => return self.crash(thread, mishap),
            };
            let mut calls = Vec::with_capacity(steps.len());
            let all = others * (execution as u64 + 1);
            let meeting = &self.meeting;
            let disturbed = &self.disturbed[execution];
            let waited_for = 1 + random.below(others.max(1));
            let stop = Stop { meeting, thread, all, calls: waited_for, disturbed };
            if !self.gate.pass(execution) {
                return;
            }
            if let Some(interrupter) = &worker.interrupter {
                interrupter.wind(&mut random, worker.pace.within());
            }
            let begin = Instant::now();
            for (place, step) in steps.iter().enumerate() {
                self.pressure.think(&mut random);
                board.at.store(place + 1, Ordering::Relaxed);
                let slot = inside(&stop, || self.call(board, &calls, step, &mut *attached));
                board.at.store(0, Ordering::Relaxed);
                let panicked = matches!(slot.end, End::Panicked(_));
                calls.push(Called { step: step.clone(), slot });
                meeting.count(thread);
                if panicked {
                    break;
                }
            }
            worker.pace.took(begin.elapsed());
            let mut executions = board.executions.lock().expect("nobody panics inside");
            executions.truncate(execution);
            executions.push(calls);
            drop(executions);
            worker.handles.push(attached);
        }
    }

    fn call(
        &self,
        board: &Board,
        before: &[Called],
        step: &Step,
        attached: &mut dyn Attached,
    ) -> Slot {
        if matches!(self.subject.kind(step.kind).blocking, Blocking::Never) {
            return attached.run(step, &*self.clock);
        }
        // Should it never return, this is what will be known of it.
        let slot = Slot { call: self.clock.call(), end: End::Running };
        let calls = before.iter().cloned().chain([Called { step: step.clone(), slot }]).collect();
        board.executions.lock().expect("nobody panics inside").push(calls);
        board.waits.store(true, Ordering::Release);
        let slot = attached.run(step, &*self.clock);
        board.waits.store(false, Ordering::Release);
        board.executions.lock().expect("nobody panics inside").pop();
        slot
    }
}

/// How a batch ended.
pub(crate) enum Ended {
    /// Every thread did all of it.
    Done,
    /// The threads that did not finish wait in calls that may wait for ever.
    Waiting,
    /// Nothing moved for too long in these threads and their calls.
    Hanging(Vec<(usize, usize)>),
    /// A thread could not go on.
    Crashed(Mishap),
}

/// A thread of the pool.
struct Worker {
    number: usize,
    interrupter: Option<Interrupter>,
    pace: Pace,
    /// Those of the last batch.
    handles: Vec<Box<dyn Attached>>,
}

/// What a thread of the pool is to do.
enum Order {
    /// Work on a batch and keep the handles.
    Work(Arc<Batch>),
    /// Drop the handles of the last batch.
    Release,
}

/// A set of threads that wait for batches.
pub(crate) struct Pool {
    orders: Vec<Sender<Order>>,
    done: Receiver<usize>,
    report: Sender<usize>,
    threads: Vec<JoinHandle<()>>,
    pressure: Pressure,
    /// The processor of the first thread.
    first: usize,
}

/// How long to sleep between two looks at threads that wait.
const NAP: Duration = Duration::from_millis(20);

/// How long a thread in a call that may wait for ever is given.
const WAITING: Duration = Duration::from_millis(100);

impl Pool {
    pub fn new(pressure: Pressure) -> Self {
        let (report, done) = channel();
        let first = Random::fresh_seed() as usize % processors();
        Pool { orders: Vec::new(), done, report, threads: Vec::new(), pressure, first }
    }

    /// Starts a batch.
    pub fn start(&mut self, batch: &Arc<Batch>) {
        while self.orders.len() < batch.boards.len() {
            self.hire();
        }
        for order in &self.orders[..batch.boards.len()] {
            order
                .send(Order::Work(batch.clone()))
                .expect("a thread of the pool lives as long as the pool");
        }
    }

    fn hire(&mut self) {
        let (order, orders) = channel::<Order>();
        let (thread, report) = (self.orders.len(), self.report.clone());
        let (pressure, first) = (self.pressure, self.first);
        let work = move || {
            pressure.settle(thread, first);
            let interrupter = pressure.interrupter();
            let pace = Pace::default();
            let mut worker = Worker { number: thread, interrupter, pace, handles: Vec::new() };
            for order in orders {
                match order {
                    Order::Work(batch) => batch.work(&mut worker),
                    Order::Release => worker.handles.clear(),
                }
                if report.send(thread).is_err() {
                    return;
                }
            }
        };
        let name = format!("seriatim-{thread}");
        let thread = std::thread::Builder::new().name(name).spawn(work);
        self.threads.push(thread.expect("the system starts threads"));
        self.orders.push(order);
    }

    /// Ends the threads of a pool that has nothing to do, so that whatever they keep for themselves
    /// goes.
    pub fn dismiss(&mut self) {
        self.orders.clear();
        for thread in self.threads.drain(..) {
            // A panic in the destructor of a thread's own data is none of a call.
            let _ = thread.join();
        }
    }

    /// Lets the threads drop their handles of a batch and waits until they have.
    pub fn release(&mut self, batch: &Batch) {
        let orders = &self.orders[..batch.boards.len()];
        let sent = orders.iter().filter(|order| order.send(Order::Release).is_ok());
        for _ in 0..sent.count() {
            self.done.recv().expect("the pool holds a sender");
        }
    }

    /// Waits for the end of a batch. A pool whose batch did not end well is of no more use.
    pub fn finish(&mut self, batch: &Batch, hang_after: Duration) -> Ended {
        let mut unfinished: Vec<usize> = (0..batch.boards.len()).collect();
        let (mut progress, mut since) = (batch.meeting.total(), Instant::now());
        while !unfinished.is_empty() {
            match self.done.recv_timeout(NAP) {
                Ok(thread) => unfinished.retain(|&other| other != thread),
                Err(RecvTimeoutError::Disconnected) => unreachable!("the pool holds a sender"),
                Err(RecvTimeoutError::Timeout) => {}
            }
            let now = batch.meeting.total();
            if now != progress {
                (progress, since) = (now, Instant::now());
            }
            let waiting = |&thread: &usize| batch.boards[thread].waits.load(Ordering::Acquire);
            if since.elapsed() > WAITING && unfinished.iter().all(waiting) && !unfinished.is_empty()
            {
                batch.gate.abandon();
                return Ended::Waiting;
            }
            if since.elapsed() > hang_after {
                batch.gate.abandon();
                return Ended::Hanging(batch.inside_calls(&unfinished));
            }
        }
        batch.crashed().map_or(Ended::Done, Ended::Crashed)
    }
}
