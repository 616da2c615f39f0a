//! A worker's share of the log, read in a thread of its own and packed for the workers it is for.
//!
//! Operations for one worker are gathered into parcels of [`PARCEL`] bytes, so that an exchange
//! handles thousands of operations at once. The channel to the worker holds a few parcels: a reader
//! that is faster than the network waits.
//!
//! Processes whose operations are scattered over shares are read a second time (`turns.rs`).

use crate::turns::{Walks, put_step, put_turn};
use seriatim_history::{InputError, Outcome, Tally, Value};
use seriatim_scale::ScaleError;
use seriatim_scale::record::{self, StreamedOperation, put_frame, put_number, put_value};
use seriatim_scale::run::{Noting, Plan, scan_share};
use seriatim_scale::scan::{Layout, Sink, shares};
use seriatim_scale::split::{Membership, PartHash, Splitter, Splitting};
use seriatim_scale::turns::Step;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// What travels: the worker that it is for, what it is, and its bytes.
pub type Parcel = (u64, u8, Vec<u8>);

/// A parcel of operations, as frames with the hash of their part.
pub const ROWS: u8 = 0;
/// A parcel that tells of a line that cannot be read: the number of the file, and the message.
pub const PROBLEM: u8 = 1;
/// A parcel that says that the log must not be split by key.
pub const NO_KEY: u8 = 2;
/// A parcel of turns that cross from part to part.
pub const TURNS: u8 = 3;
/// A parcel of the spans of a share's processes.
pub const SPANS: u8 = 4;
/// A parcel of steps of scattered processes.
pub const STEPS: u8 = 5;
/// A parcel that says that a reader failed, and why: nobody has all operations.
pub const FAILED: u8 = 6;

/// How large a parcel of operations is.
const PARCEL: usize = 64 << 10;

/// Who is who in a cluster.
#[derive(Clone, Copy, Debug)]
pub struct Workers {
    /// How many processes there are.
    pub processes: u32,
    /// How many workers each has.
    pub threads: usize,
}

impl Workers {
    /// How many workers there are.
    pub fn count(self) -> usize {
        self.processes as usize * self.threads
    }

    /// The worker that decides a part: one of the process that has the part's shard.
    pub fn of(self, part: PartHash) -> usize {
        // A level of its own: buckets on disk are spread by others.
        const LEVEL: u32 = 1 << 20;
        part.shard(self.processes) as usize * self.threads + part.bucket(LEVEL, self.threads)
    }
}

/// What a reader reads: the share of one worker.
pub struct Reading {
    /// The log.
    pub plan: Plan,
    /// How it is split.
    pub splitting: Splitting,
    /// The workers.
    pub workers: Workers,
    /// Which of them this is.
    pub worker: usize,
}

impl Reading {
    /// Reads the share and sends its operations off.
    pub fn operations(self, channel: SyncSender<Parcel>) -> Result<Tally, ScaleError> {
        let post = Post::new(self.workers, channel, ROWS);
        let (walks, turns) = (Walks::default(), Vec::new());
        let (splitter, tally) = (self.splitter(), Tally::default());
        let packer =
            Packer { reading: self, splitter, post, walks, turns, tally, bytes: Vec::new() };
        let mut packer = packer.read()?;
        packer.post.flush();
        packer.post.tell_all(TURNS, &packer.turns);
        packer.post.tell_all(SPANS, &packer.walks.spans());
        Ok(packer.tally)
    }

    /// Reads the share and sends the steps of scattered processes to who follows them.
    pub fn steps(
        self,
        scattered: HashSet<Value>,
        channel: SyncSender<Parcel>,
    ) -> Result<(), ScaleError> {
        let post = Post::new(self.workers, channel, STEPS);
        let splitter = self.splitter();
        let follower = Follower { reading: self, splitter, post, scattered, bytes: Vec::new() };
        follower.read()?.post.flush();
        Ok(())
    }

    fn splitter(&self) -> Splitter {
        let conventions = self.plan.log.header.conventions;
        Splitter::new(Arc::clone(&self.plan.reader), self.splitting, conventions)
    }

    /// Whether the processes of a file have to be followed: nothing is lost where nothing is split,
    /// and no two events happen at once.
    fn has_turns(&self, file: u32) -> bool {
        self.splitting != Splitting::Whole
            && self.plan.log.files[file as usize].layout == Layout::Operations
    }
}

/// A sink that reads the share of a worker.
trait Reads: Noting + Sized {
    fn reading(&self) -> &Reading;
    fn post(&self) -> &Post;

    fn read(self) -> Result<Self, ScaleError> {
        let mut others = Post::new(self.reading().workers, self.post().channel.clone(), FAILED);
        let read = self.read_share();
        if let Err(error) = &read {
            others.tell_all(FAILED, error.to_string().as_bytes());
        }
        read
    }

    fn read_share(self) -> Result<Self, ScaleError> {
        let mut sink = self;
        let Reading { plan, workers, worker, .. } = sink.reading();
        let plan = plan.clone();
        for share in shares(&plan.log.files, workers.count(), *worker) {
            let layout = plan.log.files[share.file as usize].layout;
            if layout != Layout::Nothing && !sink.post().is_over {
                sink = scan_share(&plan, share, sink, |sink| sink.post().is_over)?;
            }
        }
        Ok(sink)
    }

    fn flow(&self) -> ControlFlow<()> {
        match self.post().is_over {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Parcels that are being filled, one for each worker.
struct Post {
    kind: u8,
    buffers: Vec<Vec<u8>>,
    channel: SyncSender<Parcel>,
    is_over: bool,
}

impl Post {
    fn new(workers: Workers, channel: SyncSender<Parcel>, kind: u8) -> Self {
        Post { kind, buffers: vec![Vec::new(); workers.count()], channel, is_over: false }
    }

    fn put(&mut self, worker: usize, put: impl FnOnce(&mut Vec<u8>)) {
        put(&mut self.buffers[worker]);
        if self.buffers[worker].len() >= PARCEL {
            self.send_off(worker);
        }
    }

    fn send_off(&mut self, worker: usize) {
        let bytes = std::mem::take(&mut self.buffers[worker]);
        if !bytes.is_empty() {
            self.send((worker as u64, self.kind, bytes));
        }
    }

    fn flush(&mut self) {
        (0..self.buffers.len()).for_each(|worker| self.send_off(worker));
    }

    fn send(&mut self, parcel: Parcel) {
        // Nobody listens any more: the worker is gone, and says why itself.
        self.is_over |= self.channel.send(parcel).is_err();
    }

    fn tell_all(&mut self, kind: u8, bytes: &[u8]) {
        for worker in 0..self.buffers.len() {
            self.send((worker as u64, kind, bytes.to_vec()));
        }
    }
}

/// A parcel that tells of a line that cannot be read.
pub fn problem_parcel(plan: &Plan, problem: &InputError) -> Vec<u8> {
    let files = &plan.log.files;
    let file = files.iter().position(|info| *info.name == *problem.source).unwrap_or(0);
    let mut bytes = Vec::new();
    put_number(&mut bytes, file as u64);
    bytes.extend_from_slice(problem.to_string().as_bytes());
    bytes
}

/// Packs operations for the workers that their parts fall to.
struct Packer {
    reading: Reading,
    splitter: Splitter,
    post: Post,
    walks: Walks,
    /// The crossing turns that were seen.
    turns: Vec<u8>,
    tally: Tally,
    bytes: Vec<u8>,
}

impl Packer {
    /// Follows the process of an operation.
    fn follow(&mut self, told: &StreamedOperation<'_>, part: Option<PartHash>) {
        let Some(caller) = told.caller.filter(|_| self.reading.has_turns(told.file)) else {
            return;
        };
        match self.walks.take(caller, Step::of(told, part)) {
            Ok(false) => {}
            Ok(true) => {
                put_turn(&mut self.turns, told.interval.call, caller);
                if self.turns.len() >= PARCEL {
                    self.post.tell_all(TURNS, &std::mem::take(&mut self.turns));
                }
            }
            Err(problem) => {
                let name = &self.reading.plan.log.files[told.file as usize].name;
                self.note(InputError::new(name, told.line, problem));
            }
        }
    }
}

impl Reads for Packer {
    fn reading(&self) -> &Reading {
        &self.reading
    }

    fn post(&self) -> &Post {
        &self.post
    }
}

impl Sink for Packer {
    fn row(&mut self, told: StreamedOperation<'_>) -> ControlFlow<()> {
        match told.outcome {
            Outcome::Ok => self.tally.ok += 1,
            Outcome::Failed => self.tally.failed += 1,
            Outcome::Pending => self.tally.pending += 1,
        }
        let name = &self.reading.plan.log.files[told.file as usize].name;
        match self.splitter.part(&told, name) {
            Err(problem) => self.note(problem),
            Ok(Membership::Dropped) => self.follow(&told, None),
            Ok(Membership::NoKey) => {
                self.post.tell_all(NO_KEY, &[]);
                self.post.is_over = true;
            }
            Ok(Membership::Of(part)) => {
                self.follow(&told, Some(part));
                self.bytes.clear();
                record::put(&mut self.bytes, &told);
                let worker = self.reading.workers.of(part);
                self.post.put(worker, |parcel| put_frame(parcel, part.0, &self.bytes));
            }
        }
        self.flow()
    }
}

impl Noting for Packer {
    fn note(&mut self, problem: InputError) {
        let bytes = problem_parcel(&self.reading.plan, &problem);
        self.post.tell_all(PROBLEM, &bytes);
    }
}

/// Packs steps of scattered processes for the workers that follow them.
struct Follower {
    reading: Reading,
    splitter: Splitter,
    post: Post,
    scattered: HashSet<Value>,
    bytes: Vec<u8>,
}

impl Reads for Follower {
    fn reading(&self) -> &Reading {
        &self.reading
    }

    fn post(&self) -> &Post {
        &self.post
    }
}

impl Sink for Follower {
    fn row(&mut self, told: StreamedOperation<'_>) -> ControlFlow<()> {
        let is_followed = |caller: &&Value| self.scattered.contains(*caller);
        let caller = told.caller.filter(|_| self.reading.has_turns(told.file)).filter(is_followed);
        let Some(caller) = caller else { return self.flow() };
        let name = &self.reading.plan.log.files[told.file as usize].name;
        let part = match self.splitter.part(&told, name) {
            Ok(Membership::Of(part)) => Some(part),
            // Without keys there would have been no second reading.
            Ok(Membership::Dropped | Membership::NoKey) => None,
            // What cannot be read was told by the first reader.
            Err(_) => return self.flow(),
        };
        self.bytes.clear();
        put_value(&mut self.bytes, caller);
        let worker = self.reading.workers.of(PartHash::of(&self.bytes));
        let step = Step::of(&told, part);
        self.post.put(worker, |parcel| put_step(parcel, caller, told.file, step));
        self.flow()
    }
}

impl Noting for Follower {
    fn note(&mut self, _: InputError) {
        // The first reader has told it.
    }
}
