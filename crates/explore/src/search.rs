//! Breadth-first search through the product of the implementation and the sets of specification
//! configurations.
//!
//! The theorem is that of `refinement`: the implementation fails iff some return empties the set of
//! configurations that the trace allows.
//!
//! *Antichain*: if `(s, S)` was met with `S ⊆ T`, then every trace that empties `T` from `s`
//! empties `S`, so `(s, T)` need not be explored; it is checked when a state is discovered, and
//! states that a better one replaces are skipped unless they belong to an earlier level: the run to
//! the better state must not be longer, for the theorem of `pure_iterations` counts steps.
//!
//! *All cores*: level by level, and within a level in rounds. In the first half of a round each
//! worker takes some shards and expands some of their states; what it finds goes to a parcel for
//! the shard where it belongs. In the second half each worker takes some shards and stores what
//! lies in the parcels for them, in the order of the shards that sent them. Nobody writes what
//! another reads, and the order of the states does not depend on the number of workers: verdicts,
//! numbers of states and counterexamples are the same for any number, and counterexamples are
//! shortest.
//!
//! *Cost*: the number of states times the steps from each. *Precondition*: threads, nodes and data
//! are bounded; the number of operations is not. What is outside of the bounds is not explored, and
//! the outcome says so.

use crate::codec::{Codec, length};
use crate::configurations::{Configurations, Context, SetId};
use crate::final_fields::FinalFields;
use crate::options::{Mode, Options};
use crate::outcome::{Reason, Statistics, ViolationKind};
use crate::pure_iterations::PureIterations;
use crate::store::{SHARDS, Shard, StateRef, hash, shard_of};
use crate::subject::Subject;
use crate::worker::{Common, Counts, Halt, Premise, Worker, reason};
use seriatim_lang::machine::State;
use seriatim_limits::{Cancel, Instant, Stopped};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::Builder;

/// How many states of each shard are expanded in a round.
const PORTION: usize = 64;
/// How many words a parcel has room for at first.
const PARCEL: usize = 64;
/// A round of fewer states is not worth waking the other workers.
const WORTHWHILE: u32 = 512;

/// Tells someone how far the search is.
pub type Progress<'a> = dyn FnMut(&Statistics) + 'a;

/// How a search ended.
pub enum Ending {
    /// Everything within the bounds was explored.
    Complete,
    /// A run goes wrong: it leads to this state, and its last step fails.
    Violation(StateRef, ViolationKind),
    /// It ended early.
    Unknown(Reason),
    /// A reduction relies on something that is not so.
    Unfounded(Premise),
}

/// A search under way.
pub struct Search<'s> {
    /// What all workers share.
    pub common: Common<'s>,
    /// The states met so far.
    pub shards: Vec<Mutex<Shard>>,
    /// For each level, where it begins in each shard.
    pub levels: Vec<Vec<u32>>,
    /// What it took so far.
    pub statistics: Statistics,
    /// When it was made.
    pub begun: Instant,
    parcels: Vec<Mutex<Vec<Vec<u32>>>>,
    /// For each shard that sends parcels, those that get something, as a mask.
    sent: Vec<AtomicU64>,
    claimed: AtomicUsize,
    /// What ends it, also in the middle of a step: of a wide specification a step may take long.
    request: Cancel,
}

/// What a worker does next.
#[derive(Clone, Copy)]
enum Task {
    Expand,
    Merge,
}

/// What came of a task: what the worker counted, its memory, and where it had to stop.
struct Report {
    counts: Counts,
    bytes: usize,
    halt: Option<(StateRef, Halt)>,
}

impl Report {
    /// The report of a worker that failed: nothing that the search says afterwards can be relied
    /// on.
    fn failed() -> Report {
        let halt = (StateRef { shard: 0, at: 0 }, Halt::Unknown(Reason::Internal));
        Report { counts: Counts::default(), bytes: 0, halt: Some(halt) }
    }
}

/// Other workers: where to send tasks, and where reports come from.
struct Team {
    tasks: Vec<Sender<Task>>,
    reports: Receiver<Report>,
}

/// The content of a lock, also if a worker panicked.
pub fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'s> Search<'s> {
    /// A search that has not begun.
    pub fn new(subject: &'s Subject, options: &'s Options) -> Result<(Self, SetId), Reason> {
        let (configurations, start) = Configurations::new(subject, options.mode).map_err(reason)?;
        let codec = Codec::new(subject, &options.reductions);
        let pure_iterations = pure_iterations(subject, options);
        let search = Search {
            common: Common { subject, options, configurations, codec, pure_iterations },
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            levels: vec![],
            statistics: Statistics::default(),
            begun: Instant::now(),
            parcels: (0..SHARDS).map(|_| Mutex::new(vec![vec![]; SHARDS])).collect(),
            sent: (0..SHARDS).map(|_| AtomicU64::new(0)).collect(),
            claimed: AtomicUsize::new(0),
            request: options.limits.request(),
        };
        Ok((search, start))
    }

    /// Explores everything that can be reached from a state.
    pub fn run(&mut self, initial: &State, start: SetId, progress: &mut Progress<'_>) -> Ending {
        let clock = Instant::now();
        self.request = self.common.options.limits.request();
        let mut levels = Vec::new();
        let mut statistics = Statistics::default();
        let ending = std::thread::scope(|scope| {
            let (sender, reports) = channel();
            let mut tasks = Vec::new();
            for _ in 1..self.common.options.jobs.max(1) {
                let (task, inbox) = channel::<Task>();
                let (this, outbox) = (&*self, sender.clone());
                let help = move || {
                    let mut worker = Worker::new(&this.common);
                    for task in inbox {
                        let work = AssertUnwindSafe(|| this.work(&mut worker, task));
                        // Whoever leads waits for a report, also for one of a worker that failed.
                        let report = catch_unwind(work).unwrap_or_else(|_| Report::failed());
                        if outbox.send(report).is_err() {
                            break;
                        }
                    }
                };
                // Where no more threads are to be had, those that there are do the work.
                if Builder::new().spawn_scoped(scope, help).is_err() {
                    break;
                }
                tasks.push(task);
            }
            let team = Team { tasks, reports };
            let mut lead = Lead {
                search: self,
                team,
                clock,
                levels: &mut levels,
                statistics: &mut statistics,
            };
            lead.explore(initial, start, progress)
        });
        self.levels = levels;
        self.statistics = statistics;
        ending
    }

    /// Does a worker's share of a task.
    fn work(&self, worker: &mut Worker<'_>, task: Task) -> Report {
        worker.counts = Counts::default();
        let mut halt = None;
        loop {
            let shard = self.claimed.fetch_add(1, Ordering::Relaxed);
            if shard >= SHARDS {
                break;
            }
            let done = self.request.during(|| match task {
                Task::Expand => self.expand(worker, shard),
                Task::Merge => self.merge(worker, shard),
            });
            // What is left half done is not looked at again: the search is over. A violation that
            // somebody else finds in the same round goes before.
            let left = |Stopped(reason)| Err((StateRef::LAST, Halt::Unknown(reason.into())));
            if let Err(found) = done.unwrap_or_else(left) {
                halt = first(halt, found);
            }
        }
        Report { counts: worker.counts, bytes: worker.bytes(), halt }
    }

    /// Expands some states of a shard.
    fn expand(&self, worker: &mut Worker<'_>, shard: usize) -> Result<(), (StateRef, Halt)> {
        let mut states = locked(&self.shards[shard]);
        let mut parcels = locked(&self.parcels[shard]);
        parcels.iter_mut().for_each(Vec::clear);
        let mut sent = 0;
        let mut from = State::default();
        for _ in 0..PORTION {
            let at = states.next;
            if at >= states.level_end {
                break;
            }
            states.next = states.after(at);
            if states.is_dead(at) {
                continue;
            }
            self.common.codec.decode(self.common.subject, states.key(at), &mut from);
            let result = worker.expand(&from, states.set(at), &mut |key, orbit| {
                let hash = hash(key, 0);
                let target = shard_of(hash);
                sent |= 1 << target;
                let parcel = &mut parcels[target];
                if parcel.capacity() == 0 {
                    parcel.reserve(PARCEL);
                }
                parcel.extend([hash as u32, orbit.len() as u32]);
                parcel.extend(orbit.iter().map(|(_, set)| set.0));
                parcel.extend_from_slice(key);
            });
            if let Err(halt) = result {
                return Err((StateRef { shard: shard as u32, at }, halt));
            }
        }
        self.sent[shard].store(sent, Ordering::Relaxed);
        Ok(())
    }

    /// Stores what was found for a shard.
    fn merge(&self, worker: &mut Worker<'_>, shard: usize) -> Result<(), (StateRef, Halt)> {
        let mut states = locked(&self.shards[shard]);
        let mut found = Vec::new();
        let mut orbit = Vec::new();
        for (parcels, sent) in self.parcels.iter().zip(&self.sent) {
            // Written before the first half of the round ended, whose end everybody has heard of.
            if sent.load(Ordering::Relaxed) >> shard & 1 == 0 {
                continue;
            }
            let parcel = std::mem::take(&mut locked(parcels)[shard]);
            let mut at = 0;
            while at < parcel.len() {
                let (hash, count) = (parcel[at], parcel[at + 1] as usize);
                let start = at + 2 + count;
                orbit.clear();
                orbit.extend(parcel[at + 2..start].iter().map(|set| SetId(*set)));
                let key = &parcel[start..start + length(parcel[start])];
                at = start + key.len();
                let result = self.discover(worker, &mut states, (key, hash), &orbit, &mut found);
                if let Err(halt) = result {
                    return Err((StateRef { shard: shard as u32, at: states.end() }, halt));
                }
            }
            let mut parcel = parcel;
            parcel.clear();
            locked(parcels)[shard] = parcel;
        }
        Ok(())
    }

    /// Stores a product state, given with the hash of its words alone, unless one that is at least
    /// as good was met.
    fn discover(
        &self,
        worker: &mut Worker<'_>,
        states: &mut Shard,
        (key, plain): (&[u32], u32),
        orbit: &[SetId],
        found: &mut Vec<u32>,
    ) -> Result<(), Halt> {
        let antichain = self.common.options.reductions.antichain;
        let configurations = &self.common.configurations;
        let hash = match antichain {
            true => plain,
            false => hash(key, configurations.print(&mut worker.memos, orbit[0]) as u32) as u32,
        };
        states.find(key, hash, found);
        if found.iter().any(|at| orbit.contains(&states.set(*at))) {
            return Ok(());
        }
        if antichain && self.is_covered(worker, states, orbit, found)? {
            return Ok(());
        }
        let mut seed = |set: SetId| match antichain {
            true => 0,
            false => configurations.print(&mut worker.memos, set) as u32,
        };
        states.insert(key, orbit[0], hash, &mut seed);
        Ok(())
    }

    /// Whether a better state was met; kills those that the newcomer replaces, unless they are due
    /// before it.
    fn is_covered(
        &self,
        worker: &mut Worker<'_>,
        states: &mut Shard,
        orbit: &[SetId],
        found: &[u32],
    ) -> Result<bool, Halt> {
        let (subject, configurations) = (self.common.subject, &self.common.configurations);
        for at in found {
            for set in orbit {
                let context = &mut Context { subject, memos: &mut worker.memos };
                if configurations.includes(context, *set, states.set(*at))? {
                    return Ok(true);
                }
            }
        }
        for at in found {
            let context = &mut Context { subject, memos: &mut worker.memos };
            let is_due = (states.next..states.level_end).contains(at);
            if !is_due && configurations.includes(context, states.set(*at), orbit[0])? {
                states.kill(*at);
            }
        }
        Ok(false)
    }
}

/// The one of two stops that comes first in the order of states.
fn first(a: Option<(StateRef, Halt)>, b: (StateRef, Halt)) -> Option<(StateRef, Halt)> {
    match a {
        Some(a) if a.0 <= b.0 => Some(a),
        _ => Some(b),
    }
}

/// The worker that also leads the others.
struct Lead<'l, 's> {
    search: &'l Search<'s>,
    team: Team,
    clock: Instant,
    levels: &'l mut Vec<Vec<u32>>,
    statistics: &'l mut Statistics,
}

impl Lead<'_, '_> {
    fn explore(&mut self, initial: &State, start: SetId, progress: &mut Progress<'_>) -> Ending {
        let search = self.search;
        let mut worker = Worker::new(&search.common);
        if let Err(halt) = worker.represent(initial, start) {
            return ending(halt, StateRef { shard: 0, at: 0 });
        }
        let orbit: Vec<SetId> = worker.orbit().iter().map(|(_, set)| *set).collect();
        let key = worker.canonical.key.clone();
        let hash = hash(&key, 0);
        let mut states = locked(&search.shards[shard_of(hash)]);
        let first = (&*key, hash as u32);
        if let Err(halt) = search.discover(&mut worker, &mut states, first, &orbit, &mut vec![]) {
            return ending(halt, StateRef { shard: 0, at: 0 });
        }
        drop(states);
        while self.begin_level() {
            while self.waiting() > 0 {
                if let Some((at, halt)) = self.round(&mut worker) {
                    self.refresh();
                    return ending(halt, at);
                }
                self.refresh();
                progress(self.statistics);
                if let Some(reason) = self.exhausted() {
                    return Ending::Unknown(reason);
                }
            }
        }
        Ending::Complete
    }

    /// Makes what was found last the level to expand; `false` if nothing was.
    fn begin_level(&mut self) -> bool {
        let mut starts = Vec::new();
        let mut any = false;
        for shard in &self.search.shards {
            let mut shard = locked(shard);
            starts.push(shard.next);
            shard.level_end = shard.end();
            any |= shard.next < shard.level_end;
        }
        self.levels.push(starts);
        self.statistics.depth = self.levels.len() as u32 - 1;
        any
    }

    /// How many words of the level are still to be expanded.
    fn waiting(&self) -> u32 {
        let left = self.search.shards.iter().map(|shard| {
            let shard = locked(shard);
            shard.level_end - shard.next
        });
        left.fold(0, u32::saturating_add)
    }

    /// Expands some states and stores what they lead to.
    fn round(&mut self, worker: &mut Worker<'_>) -> Option<(StateRef, Halt)> {
        let together = !self.team.tasks.is_empty() && self.waiting() / 4 >= WORTHWHILE;
        let halt = self.phase(worker, Task::Expand, together);
        if halt.is_some() {
            return halt;
        }
        self.phase(worker, Task::Merge, together)
    }

    fn phase(
        &mut self,
        worker: &mut Worker<'_>,
        task: Task,
        together: bool,
    ) -> Option<(StateRef, Halt)> {
        self.search.claimed.store(0, Ordering::Relaxed);
        let others = if together { &self.team.tasks[..] } else { &[] };
        let sent = others.iter().filter(|inbox| inbox.send(task).is_ok()).count();
        let own = self.search.work(worker, task);
        let rest = (0..sent).filter_map(|_| self.team.reports.recv().ok());
        let reports: Vec<Report> = std::iter::once(own).chain(rest).collect();
        let mut halt = None;
        let mut desks = 0;
        for report in reports {
            self.statistics.expanded += report.counts.expanded;
            self.statistics.transitions += report.counts.transitions;
            self.statistics.nodes = self.statistics.nodes.max(report.counts.nodes);
            self.statistics.cuts.join(report.counts.cuts);
            desks += report.bytes as u64;
            halt = report.halt.map_or(halt.take(), |found| first(halt.take(), found));
        }
        self.statistics.memo_bytes = self.statistics.memo_bytes.max(desks);
        halt
    }

    fn refresh(&mut self) {
        let statistics = &mut self.statistics;
        (statistics.stored, statistics.kept, statistics.state_bytes) = (0, 0, 0);
        statistics.waiting = 0;
        for shard in &self.search.shards {
            let shard = locked(shard);
            statistics.stored += shard.len();
            statistics.kept += shard.kept();
            statistics.state_bytes += shard.bytes() as u64;
            let share = u64::from(shard.end() - shard.next) * shard.len();
            statistics.waiting += share.checked_div(shard.end().into()).unwrap_or(0);
        }
        statistics.sets = self.search.common.configurations.len() as u64;
        statistics.set_bytes = self.search.common.configurations.bytes() as u64;
        statistics.time = self.clock.elapsed();
    }

    fn exhausted(&self) -> Option<Reason> {
        let reached = self.search.common.options.limits.reached(self.statistics);
        let has_room = self.search.shards.iter().all(|shard| locked(shard).has_room());
        reached.or((!has_room).then_some(Reason::Memory))
    }
}

fn ending(halt: Halt, at: StateRef) -> Ending {
    match halt {
        Halt::Violation(kind) => Ending::Violation(at, kind),
        Halt::Unknown(reason) => Ending::Unknown(reason),
        Halt::Unfounded(premise) => Ending::Unfounded(premise),
    }
}

/// Pure iterations are left out only where steps are fused, so that calls have no state of their
/// own, and where annotations do not make iterations visible.
fn pure_iterations(subject: &Subject, options: &Options) -> Option<PureIterations> {
    let wanted = options.reductions.pure_iterations
        && options.reductions.fusion
        && options.reductions.heap_symmetry
        && options.mode == Mode::Refinement;
    let final_fields =
        options.reductions.final_fields.then(|| FinalFields::of(&subject.machine.steps));
    if wanted { PureIterations::of(subject, final_fields) } else { None }
}
