//! The dataflow: operations travel to the worker that decides their part.
//!
//! ```text
//! share of the files -> parcels -> exchange by part -> spill on disk      (every worker)
//!                                                          |
//!                                    frontier empty: all is read -> decide, part by part
//! ```
//!
//! A worker advances its epoch every [`EPOCH`] bytes and waits while some worker is more than two
//! epochs behind, so that what is on the way stays small. The frontier of the probe becomes empty
//! when every worker has read its share and every operation has arrived; only then are parts
//! decided, since one operation more could change the verdict.
//!
//! Whether parts may be decided one by one is known by then, too (`turns.rs`), or after two more
//! rounds of the same kind: all workers have heard the same and go through the same rounds. Only
//! then do the processes let go of each other.

use crate::meeting::meet;
use crate::reading::{
    FAILED, NO_KEY, PROBLEM, Parcel, ROWS, Reading, SPANS, STEPS, TURNS, Workers, problem_parcel,
};
use crate::secret::Secret;
use crate::turns::{Crossings, Steps};
use seriatim_history::{InputError, Tally, Value};
use seriatim_scale::record::{take_frame, take_number};
use seriatim_scale::run::{Decider, Limits};
use seriatim_scale::sort::Sorter;
use seriatim_scale::spill::{Spill, damaged};
use seriatim_scale::split::{PartHash, Splitting};
use seriatim_scale::{JudgedPart, Plan, ScaleError};
use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{SyncSender, TryRecvError, sync_channel};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;
use timely::WorkerConfig;
use timely::communication::allocator::ProcessBuilder;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::{AllocatorBuilder, Config as Communication, Hooks};
use timely::dataflow::InputHandle;
use timely::dataflow::operators::{Exchange, Input, InspectCore, Probe};
use timely::execute::execute_from;
use timely::worker::Worker;

/// How many bytes a worker sends in an epoch.
const EPOCH: usize = 8 << 20;
/// How long a worker sleeps that has nothing to do.
const PAUSE: Duration = Duration::from_millis(1);

/// The processes of a cluster, and which of them this is.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Their addresses; a single process needs none.
    pub addresses: Vec<String>,
    /// This process, counted from 0.
    pub process: usize,
    /// How many workers each process has.
    pub threads: usize,
    /// How long to wait for the other processes to appear, and for a sign of life of each
    /// afterwards. A thread panics when a process is lost while operations travel, as Timely's
    /// threads do.
    pub patience: Duration,
    /// What the processes know and strangers do not.
    pub secret: Secret,
    /// What they are to decide, in words that are the same for all: those of different questions
    /// refuse each other.
    pub question: String,
    /// Raised by whoever knows that another process is gone: nobody waits for it then.
    pub lost: Arc<AtomicBool>,
}

/// Why a cluster gave no verdicts.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClusterError {
    /// The processes could not be brought together, or a worker failed.
    Failed(String),
    /// The log could not be decided.
    Scale(ScaleError),
}

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClusterError::Failed(reason) => write!(f, "the cluster failed: {reason}"),
            ClusterError::Scale(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ClusterError {}

impl From<ScaleError> for ClusterError {
    fn from(error: ScaleError) -> Self {
        ClusterError::Scale(error)
    }
}

/// What a process of a cluster went through.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How the operations ended that this process read.
    pub tally: Tally,
    /// How many bytes waited on disk.
    pub spilled: u64,
    /// How many parts fell to it.
    pub parts: u64,
    /// What could not be read of the log, by whoever read it.
    pub problems: Vec<String>,
}

/// Decides the parts of a log that fall to this process; `tell` hears of each as soon as it is
/// decided.
pub fn run(
    plan: &Plan,
    cluster: &Cluster,
    tell: &mut (dyn FnMut(JudgedPart) -> Result<(), ScaleError> + Send),
) -> Result<Outcome, ClusterError> {
    let mut splitting = plan.first_splitting();
    let mut round = 0;
    let arrived = loop {
        let arrived = exchange(plan, cluster, splitting, round)?;
        round += 1;
        splitting = match arrived.first() {
            Some(worker) if worker.no_key => Splitting::by_object(&*plan.reader),
            Some(worker) if worker.crossings.forbid_to_split() => Splitting::Whole,
            _ => break arrived,
        };
    };
    decide(plan, splitting, arrived, tell)
}

/// What arrived at a worker.
struct Arrived {
    spill: Spill,
    decided: Arc<[PartHash]>,
    damaged_files: BTreeSet<u32>,
    problems: BTreeSet<String>,
    no_key: bool,
    crossings: Crossings,
    steps: Steps,
    tally: Tally,
    error: Option<ScaleError>,
}

fn exchange(
    plan: &Plan,
    cluster: &Cluster,
    splitting: Splitting,
    round: u32,
) -> Result<Vec<Arrived>, ClusterError> {
    let processes = cluster.addresses.len().max(1) as u32;
    let workers = Workers { processes, threads: cluster.threads };
    let shared = plan.clone();
    let (builders, connections) = allocators(cluster, round)?;
    let guards = execute_from(builders, connections, WorkerConfig::default(), move |worker| {
        work(worker, &shared, splitting, workers)
    });
    let mut arrived = Vec::new();
    for worker in guards.map_err(ClusterError::Failed)?.join() {
        let worker = worker.map_err(ClusterError::Failed)?;
        match worker.error {
            Some(error) => return Err(error.into()),
            None => arrived.push(worker),
        }
    }
    Ok(arrived)
}

/// What the workers of this process talk by: memory among themselves, sealed connections to other
/// processes. The second part keeps the connections open.
fn allocators(
    cluster: &Cluster,
    round: u32,
) -> Result<(Vec<AllocatorBuilder>, Box<dyn Any + Send>), ClusterError> {
    let (threads, hooks) = (cluster.threads, Hooks::default());
    if cluster.addresses.len() <= 1 {
        let built = Communication::Process(threads).try_build_with(hooks);
        return built.map_err(ClusterError::Failed);
    }
    let sockets = meet(cluster, round)?;
    let within =
        ProcessBuilder::new_typed_vector(threads, hooks.refill.clone(), hooks.spill.clone());
    let connected =
        initialize_networking_from_sockets(within, sockets, cluster.process, threads, hooks);
    let (builders, guard) = connected.map_err(|error| ClusterError::Failed(error.to_string()))?;
    Ok((builders.into_iter().map(AllocatorBuilder::Tcp).collect(), Box::new(guard)))
}

/// Reads, sends and receives.
fn work(worker: &mut Worker, plan: &Plan, splitting: Splitting, workers: Workers) -> Arrived {
    let arrived = Rc::new(RefCell::new(Arrived::at_the_start(plan)));
    let index = worker.index();
    let reading = || Reading { plan: plan.clone(), splitting, workers, worker: index };
    let first = reading();
    let read = round(worker, &arrived, move |channel| first.operations(channel));
    match read {
        Ok(tally) => arrived.borrow_mut().tally = tally,
        Err(error) => arrived.borrow_mut().fail(error),
    }
    let scattered = arrived.borrow_mut().scattered();
    if !scattered.is_empty() {
        let second = reading();
        let read = round(worker, &arrived, move |channel| second.steps(scattered, channel));
        arrived.borrow_mut().follow(plan, read);
        let (turns, problems) = arrived.borrow_mut().followed(plan);
        round(worker, &arrived, move |channel| {
            let parcels = problems.iter().map(|bytes| (PROBLEM, bytes)).chain([(TURNS, &turns)]);
            for (kind, bytes) in parcels {
                for worker in 0..workers.count() as u64 {
                    // A worker that does not listen any more says why itself.
                    let _ = channel.send((worker, kind, bytes.clone()));
                }
            }
        });
    }
    arrived.replace(Arrived::at_the_start(plan))
}

/// One round of the exchange: sends what is produced in a thread of its own, until everybody's
/// parcels have arrived.
fn round<T: Send + 'static>(
    worker: &mut Worker,
    arrived: &Rc<RefCell<Arrived>>,
    produce: impl FnOnce(SyncSender<Parcel>) -> T + Send + 'static,
) -> T {
    let mut input: InputHandle<u64, _> = InputHandle::new();
    let probe = worker.dataflow(|scope| {
        let arrived = Rc::clone(arrived);
        scope
            .input_from(&mut input)
            .container::<Vec<Parcel>>()
            .exchange(|parcel: &Parcel| parcel.0)
            .inspect_container(move |event| {
                if let Ok((_, parcels)) = event {
                    parcels.iter().for_each(|parcel| arrived.borrow_mut().take(parcel));
                }
            })
            .probe()
            .0
    });
    let (sender, receiver) = sync_channel::<Parcel>(4);
    let producer = std::thread::spawn(move || produce(sender));
    let (mut epoch, mut sent) = (0, 0);
    loop {
        match receiver.try_recv() {
            Ok(parcel) => {
                sent += parcel.2.len();
                input.send(parcel);
            }
            Err(TryRecvError::Empty) => {
                input.flush();
                worker.step_or_park(Some(PAUSE));
            }
            Err(TryRecvError::Disconnected) => break,
        }
        if sent >= EPOCH {
            (sent, epoch) = (0, epoch + 1);
            input.advance_to(epoch);
            while probe.less_than(&epoch.saturating_sub(2)) {
                worker.step_or_park(Some(PAUSE));
            }
        }
        worker.step();
    }
    input.close();
    while !probe.done() {
        worker.step_or_park(Some(PAUSE));
    }
    match producer.join() {
        Ok(produced) => produced,
        Err(_) => std::panic::panic_any("a reader of the log failed"),
    }
}

/// A sorter with a worker's share of the memory.
fn sorter(plan: &Plan) -> Sorter {
    Sorter::new(&plan.limits.scratch, plan.limits.memory / 8 / plan.limits.threads.max(1))
}

impl Arrived {
    fn at_the_start(plan: &Plan) -> Self {
        Arrived {
            spill: Spill::new(&plan.limits.scratch),
            decided: Arc::clone(&plan.decided),
            damaged_files: plan.damaged_files(&plan.log.problems).into_iter().collect(),
            problems: plan.log.problems.iter().map(ToString::to_string).collect(),
            no_key: false,
            crossings: Crossings::default(),
            steps: Steps::new(sorter(plan)),
            tally: Tally::default(),
            error: None,
        }
    }

    fn fail(&mut self, error: ScaleError) {
        self.error.get_or_insert(error);
    }

    /// The processes that have to be followed in rounds of their own, the same for all workers.
    fn scattered(&mut self) -> HashSet<Value> {
        let scattered = self.crossings.scattered();
        match self.no_key || self.crossings.forbid_to_split() {
            true => HashSet::new(),
            false => scattered,
        }
    }

    /// Follows the processes whose steps have arrived.
    fn follow(&mut self, plan: &Plan, read: Result<(), ScaleError>) {
        let followed = self.steps.follow(sorter(plan));
        if let Err(error) = read.and(followed) {
            self.fail(error);
        }
    }

    /// What was seen of the processes that this worker followed: their crossing turns, and what is
    /// wrong with them.
    fn followed(&mut self, plan: &Plan) -> (Vec<u8>, Vec<Vec<u8>>) {
        let problems = std::mem::take(&mut self.steps.problems).into_iter();
        let parcel = |(file, line, problem): (u32, u64, _)| {
            let name = &plan.log.files[file as usize].name;
            problem_parcel(plan, &InputError::new(name, line, problem))
        };
        (std::mem::take(&mut self.steps.turns), problems.map(parcel).collect())
    }

    fn take(&mut self, (_, kind, bytes): &Parcel) {
        let taken = match *kind {
            ROWS => self.rows(bytes),
            NO_KEY => {
                self.no_key = true;
                Ok(())
            }
            PROBLEM => self.problem(bytes),
            FAILED => {
                Err(ScaleError::NotRead { reason: String::from_utf8_lossy(bytes).into_owned() })
            }
            STEPS => self.steps.take(bytes).unwrap_or_else(|_| Err(travelled_badly())),
            // Without these a worker would wait for rounds that the others leave out.
            TURNS => {
                self.crossings.turns(bytes).expect("turns travel undamaged");
                Ok(())
            }
            SPANS => {
                self.crossings.spans(bytes).expect("spans travel undamaged");
                Ok(())
            }
            _ => Err(travelled_badly()),
        };
        if let Err(error) = taken {
            self.fail(error);
        }
    }

    fn rows(&mut self, mut bytes: &[u8]) -> Result<(), ScaleError> {
        while !bytes.is_empty() && !self.no_key && self.error.is_none() {
            let (hash, operation) = take_frame(&mut bytes).map_err(|_| travelled_badly())?;
            let part = PartHash(hash);
            if self.decided.binary_search(&part).is_err() {
                self.spill.push(part, operation)?;
            }
        }
        Ok(())
    }

    fn problem(&mut self, mut bytes: &[u8]) -> Result<(), ScaleError> {
        let file = take_number(&mut bytes).map_err(|_| travelled_badly())?;
        self.damaged_files.insert(file as u32);
        self.problems.insert(String::from_utf8_lossy(bytes).into_owned());
        Ok(())
    }
}

fn travelled_badly() -> ScaleError {
    ScaleError::Spill { folder: "the network".into(), error: damaged() }
}

/// Every worker decides what it has.
fn decide(
    plan: &Plan,
    splitting: Splitting,
    arrived: Vec<Arrived>,
    tell: &mut (dyn FnMut(JudgedPart) -> Result<(), ScaleError> + Send),
) -> Result<Outcome, ClusterError> {
    let mut outcome =
        Outcome { tally: Tally::default(), spilled: 0, parts: 0, problems: Vec::new() };
    let mut problems = BTreeSet::new();
    let mut damaged_files = BTreeSet::new();
    for worker in &arrived {
        outcome.tally.ok += worker.tally.ok;
        outcome.tally.failed += worker.tally.failed;
        outcome.tally.pending += worker.tally.pending;
        outcome.spilled += worker.spill.bytes();
        problems.extend(worker.problems.iter().cloned());
        damaged_files.extend(&worker.damaged_files);
    }
    outcome.problems = problems.into_iter().collect();
    let judge = plan.judge(splitting, damaged_files.into_iter().collect());
    let memory = plan.limits.memory / arrived.len().max(1);
    let tell = Mutex::new(tell);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for worker in arrived {
            let (judge, tell, sender) = (judge.clone(), &tell, sender.clone());
            let limits = Limits { memory, threads: 1, ..plan.limits.clone() };
            scope.spawn(move || {
                let mut pass_on = |verdict: JudgedPart| {
                    let Ok(mut tell) = tell.lock() else { return Ok(ControlFlow::Break(())) };
                    tell(verdict).map(ControlFlow::Continue)
                };
                let flow = ControlFlow::Continue(());
                let mut decider = Decider { judge, limits, parts: 0, tell: &mut pass_on, flow };
                let decided = decider.spill(worker.spill);
                // The receiver lives as long as the scope.
                let _ = sender.send((decider.parts, decided));
            });
        }
    });
    drop(sender);
    for (parts, decided) in receiver {
        outcome.parts += parts;
        decided?;
    }
    Ok(outcome)
}
