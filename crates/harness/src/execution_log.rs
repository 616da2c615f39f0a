//! The log of an execution inside an explorer: who called what, and how each call ended.
//!
//! A thread of an explorer may be left waiting for ever, or be unwound at any access; so each thing
//! is written down when it happens, and what is known of an execution is what stands here. The
//! locks are those of the standard library, which explorers do not see: writing the log is no step
//! of the execution.

use crate::mishap::Mishap;
use crate::run::{Accessed, Called, End, Run, Slot, drain};
use crate::scenario::{Scenario, Step};
use crate::subject::{Attached, Caller, Instance, Stamps, Subject, kept};
use crate::tracked::Era;
use seriatim_history::Time;
use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};

/// Opens a lock that a thread may have left by a panic.
pub(crate) fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// What is written down.
#[derive(Default)]
pub(crate) struct ExecutionLog {
    main: Mutex<Vec<Called>>,
    threads: Mutex<Vec<Vec<Called>>>,
    accesses: Mutex<Vec<Accessed>>,
    /// The fingerprints of the executions so far.
    seen: Mutex<HashSet<u128>>,
}

/// An object under test, and what the main thread has of it.
pub(crate) struct Scene {
    pub instance: Arc<dyn Instance>,
    pub main: Box<dyn Attached>,
    era: Era,
}

impl Scene {
    /// A fresh object.
    pub fn of(subject: &dyn Subject) -> Result<Self, Mishap> {
        let era = subject.ledger().begin();
        let instance: Arc<dyn Instance> = subject.fresh()?.into();
        let main = instance.attach(Caller::Main)?;
        Ok(Scene { instance, main, era })
    }
}

impl ExecutionLog {
    /// Begins those of an execution with so many threads.
    pub fn begin(&self, threads: usize) {
        open(&self.main).clear();
        open(&self.accesses).clear();
        *open(&self.threads) = vec![Vec::new(); threads];
    }

    /// The number of threads besides the main one.
    #[cfg(feature = "loom")]
    pub fn threads(&self) -> usize {
        open(&self.threads).len()
    }

    /// The execution so far.
    pub fn run(&self) -> Run {
        let (main, threads) = (open(&self.main).clone(), open(&self.threads).clone());
        let accesses = open(&self.accesses).clone();
        Run { main, threads, accesses, ..Run::default() }
    }

    /// Whether an execution like this one was counted as new before.
    #[cfg(feature = "loom")]
    pub fn has_seen(&self, run: &Run) -> bool {
        run.fingerprint().is_some_and(|print| open(&self.seen).contains(&print))
    }

    /// Whether no execution before was like this one.
    pub fn is_new(&self, run: &Run) -> bool {
        run.fingerprint().is_none_or(|print| open(&self.seen).insert(print))
    }

    /// A thread accessed a primitive.
    pub fn access(&self, access: Accessed) {
        open(&self.accesses).push(access);
    }

    /// A thread makes a call. Should it never return, this is what will be known of it.
    pub fn call(&self, thread: usize, step: &Step, call: Time) {
        let waiting = Called { step: step.clone(), slot: Slot { call, end: End::Stuck } };
        open(&self.threads)[thread].push(waiting);
    }

    /// The thread's last call ended.
    pub fn end(&self, thread: usize, slot: Slot) {
        let mut threads = open(&self.threads);
        threads[thread].last_mut().expect("a call comes before its end").slot = slot;
    }

    /// The main thread makes some calls, up to the first that panics.
    pub fn main_calls(&self, main: &mut dyn Attached, steps: &[Step], stamps: &dyn Stamps) {
        for step in steps {
            let slot = main.run(step, stamps);
            let panicked = matches!(slot.end, End::Panicked(_));
            open(&self.main).push(Called { step: step.clone(), slot });
            if panicked {
                return;
            }
        }
    }

    /// What comes when all threads are done: the last calls of the main thread, the final checks,
    /// the accounts.
    pub fn close(&self, scene: Scene, scenario: &Scenario, stamps: &dyn Stamps) -> Run {
        let Scene { instance, mut main, era } = scene;
        self.main_calls(&mut *main, &scenario.after, stamps);
        if let Some(kind) = scenario.drain.filter(|_| self.run().panic().is_none()) {
            let calls = drain(kind, |step| main.run(step, stamps));
            open(&self.main).extend(calls);
        }
        let mut run = self.run();
        run.complaint = instance.inspect().err();
        let mishaps = instance.mishaps();
        drop(main);
        kept::let_go();
        drop(instance);
        run.mishap = mishaps.first();
        run.imbalance = era.imbalance();
        run
    }
}
