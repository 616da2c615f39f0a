//! A worker's share of the log, read in a thread of its own and packed for the workers it is for.
//!
//! Operations for one worker are gathered into parcels of [`PARCEL`] bytes, so that an exchange handles
//! thousands of operations at once. The channel to the worker holds a few parcels: a reader that is faster
//! than the network waits.

use seriatim_history::{InputError, Outcome, Tally};
use seriatim_scale::ScaleError;
use seriatim_scale::record::{self, StreamedOperation, put_frame, put_number};
use seriatim_scale::run::{Noting, Plan, scan_share};
use seriatim_scale::scan::{Layout, Sink, shares};
use seriatim_scale::split::{Membership, PartHash, Splitter, Splitting};
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

/// Reads what falls to a worker and sends it off.
pub fn read(
    plan: &Plan,
    splitting: Splitting,
    (workers, worker): (Workers, usize),
    channel: SyncSender<Parcel>,
) -> Result<Tally, ScaleError> {
    let splitter = Splitter::new(Arc::clone(&plan.reader), splitting, plan.log.header.conventions);
    let mut packer = Packer {
        plan: plan.clone(),
        splitter,
        workers,
        buffers: vec![Vec::new(); workers.count()],
        channel,
        bytes: Vec::new(),
        tally: Tally::default(),
        is_over: false,
    };
    for share in shares(&plan.log.files, workers.count(), worker) {
        let layout = plan.log.files[share.file as usize].layout;
        if layout != Layout::Nothing && !packer.is_over {
            packer = scan_share(plan, share, packer, |packer| packer.is_over)?;
        }
    }
    for worker in 0..workers.count() {
        packer.flush(worker);
    }
    Ok(packer.tally)
}

struct Packer {
    plan: Plan,
    splitter: Splitter,
    workers: Workers,
    buffers: Vec<Vec<u8>>,
    channel: SyncSender<Parcel>,
    bytes: Vec<u8>,
    tally: Tally,
    is_over: bool,
}

impl Packer {
    fn flush(&mut self, worker: usize) {
        let rows = std::mem::take(&mut self.buffers[worker]);
        if !rows.is_empty() {
            self.send((worker as u64, ROWS, rows));
        }
    }

    fn send(&mut self, parcel: Parcel) {
        // Nobody listens any more: the worker is gone, and says why itself.
        self.is_over |= self.channel.send(parcel).is_err();
    }

    fn tell_all(&mut self, kind: u8, bytes: &[u8]) {
        for worker in 0..self.workers.count() {
            self.send((worker as u64, kind, bytes.to_vec()));
        }
    }
}

impl Sink for Packer {
    fn row(&mut self, told: StreamedOperation<'_>) -> ControlFlow<()> {
        match told.outcome {
            Outcome::Ok => self.tally.ok += 1,
            Outcome::Failed => self.tally.failed += 1,
            Outcome::Pending => self.tally.pending += 1,
        }
        let name = &self.plan.log.files[told.file as usize].name;
        match self.splitter.part(&told, name) {
            Err(problem) => self.note(problem),
            Ok(Membership::Dropped) => {}
            Ok(Membership::NoKey) => {
                self.tell_all(NO_KEY, &[]);
                self.is_over = true;
            }
            Ok(Membership::Of(part)) => {
                let worker = self.workers.of(part);
                self.bytes.clear();
                record::put(&mut self.bytes, &told);
                put_frame(&mut self.buffers[worker], part.0, &self.bytes);
                if self.buffers[worker].len() >= PARCEL {
                    self.flush(worker);
                }
            }
        }
        match self.is_over {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

impl Noting for Packer {
    fn note(&mut self, problem: InputError) {
        let files = &self.plan.log.files;
        let file = files.iter().position(|info| *info.name == *problem.source).unwrap_or(0);
        let mut bytes = Vec::new();
        put_number(&mut bytes, file as u64);
        bytes.extend_from_slice(problem.to_string().as_bytes());
        self.tell_all(PROBLEM, &bytes);
    }
}
