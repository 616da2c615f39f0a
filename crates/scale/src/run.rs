//! A log in one process: scan, spill, decide bucket by bucket.
//!
//! What is decided: every part of the log, by the ordinary check. Memory: a sixteenth of the limit
//! for the bucket at hand, a little more for the index of its operations, up to half for the
//! histories of the parts that are being decided (they need about [`IN_MEMORY`] times the bytes of
//! their operations), a quarter for the searches. A bucket that is larger is spread again; a single
//! part that is larger is *watched* by an online monitor, or stays open. Disk: about 40 bytes per
//! operation.
//!
//! Two things may show only on the way, and the scan begins anew: an operation without key, after
//! which the log is split by object only; and in a log of operations one that was called before the
//! one above it, after which all are sorted on disk first; and turns (`turns.rs`) that cross from
//! part to part, after which nothing is split. The order is needed to see that a process does one
//! thing at a time, and by the online monitors.

use crate::ScaleError;
use crate::giant::watch_part;
use crate::judge::{Judge, JudgedPart, Judgement, Records, SharedReader};
use crate::record::{self, StreamedOperation, take_frame};
use crate::scan::{self, FileInfo, Layout, Share, Sink};
use crate::sort::Sorter;
use crate::spill::{Bucket, Scratch, Spill, damaged};
use crate::split::{Membership, PartHash, Splitter, Splitting};
use crate::turns::{Disorder, Turns};
use seriatim_history::{
    Header, InputError, Outcome, Problem, Tally, Tells, Timescale, Values, is_stdin_kept, name_of,
};
use seriatim_monitor::partition::Partitioning;
use seriatim_monitor::{Monitors, Strategy};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Instant;

/// How much more memory a history takes while it is checked than its operations take on disk.
pub const IN_MEMORY: u64 = 8;

/// The files of a log.
#[derive(Clone)]
pub struct Log {
    /// The files, each as its beginning shows it.
    pub files: Arc<[FileInfo]>,
    /// What the log says of itself.
    pub header: Header,
    /// What cannot be read of it, as far as its beginnings show.
    pub problems: Vec<InputError>,
}

/// Whether a log of which something cannot be read is read nevertheless.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defects {
    /// The first one ends everything.
    End,
    /// They are noted, and the parts that they may belong to stay open. A failure of the system is
    /// no defect of the log: it ends everything, because what is decided without the operations
    /// that it kept back would be taken for decided once they can be read.
    Note,
}

impl Defects {
    /// Whether a problem ends everything.
    fn end_at(self, problem: &InputError) -> bool {
        self == Defects::End || matches!(problem.problem, Problem::Failed(_))
    }
}

/// Whether a path names a pipe or a device: the second time, there would be nothing in it.
fn is_read_once(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

impl Log {
    /// Looks at the files of a log. Several files can only be one log if they hold whole
    /// operations, whose times are compared.
    pub fn open(
        paths: &[PathBuf],
        read: impl Tells + 'static,
        defects: Defects,
    ) -> Result<Self, ScaleError> {
        let read: Arc<dyn Tells> = Arc::new(read);
        let mut problems = Vec::new();
        let mut files: Vec<FileInfo> = Vec::new();
        for path in paths {
            if path == Path::new("-") && !is_stdin_kept() {
                let reason = "standard input cannot be read twice; expected files";
                return Err(ScaleError::NotOneLog { reason: reason.to_owned() });
            }
            if is_read_once(path) {
                let name = name_of(path);
                let reason = format!(
                    "{name} can be read only once, and a check from disk reads a log several times; \
                     expected a file, or standard input (`-`)"
                );
                return Err(ScaleError::NotOneLog { reason });
            }
            match FileInfo::of(path, Arc::clone(&read)) {
                Ok(info) => files.push(info),
                Err(problem) if defects.end_at(&problem) => return Err(problem.into()),
                Err(problem) => {
                    problems.push(problem);
                    files.push(FileInfo::unreadable(path, Arc::clone(&read)));
                }
            }
        }
        let told = files.iter().filter(|info| info.layout != Layout::Nothing);
        if paths.len() > 1
            && let Some(info) = told.clone().find(|info| info.layout == Layout::Events)
        {
            let reason = format!(
                "{}: a log of events cannot be one of several files: nobody knows the order of events in \
                 different files; expected operations with their times, or one file",
                info.name
            );
            return Err(ScaleError::NotOneLog { reason });
        }
        let mut headings = told.map(|info| (&info.name, &info.header));
        let header = headings.next().map_or(Header::default(), |(_, header)| header.clone());
        if let Some((name, other)) = headings.find(|(_, other)| **other != header) {
            let reason = format!(
                "{name}: its header says {other:?}, that of {} {header:?}; expected the same in all \
                 files of a log",
                files[0].name
            );
            return Err(ScaleError::NotOneLog { reason });
        }
        Ok(Log { files: files.into(), header, problems })
    }

    /// What the moments of its operations count. Those of events are the numbers of the events.
    fn timescale(&self) -> Timescale {
        match self.files.iter().any(|info| info.layout == Layout::Events) {
            true => Timescale::default(),
            false => self.header.timescale,
        }
    }

    /// What is to be said of files of which nothing was an operation; the others are read again.
    fn remarks(&self) -> Vec<String> {
        let empty = self.files.iter().filter(|info| info.layout == Layout::Nothing);
        empty.flat_map(|info| info.header.remarks.iter().cloned()).collect()
    }
}

/// The parts that a run looks at: those whose hash falls to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shard {
    /// Which, counted from 0.
    pub index: u32,
    /// Of how many.
    pub count: u32,
}

impl Shard {
    /// All parts.
    pub const ALL: Shard = Shard { index: 0, count: 1 };

    /// Whether a part falls to it.
    #[inline]
    pub fn has(self, part: PartHash) -> bool {
        self.count == 1 || part.shard(self.count) == self.index
    }
}

/// What a run may use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Memory, in bytes.
    pub memory: usize,
    /// Threads.
    pub threads: usize,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// Where temporary files go.
    pub scratch: Scratch,
}

/// What is to be decided, and how.
#[derive(Clone)]
pub struct Plan {
    /// The log.
    pub log: Log,
    /// The specification.
    pub reader: SharedReader,
    /// How finely to split.
    pub partitioning: Partitioning,
    /// Whether the fast monitors are asked first.
    pub monitors: Monitors,
    /// The directions of the general search.
    pub strategies: Vec<Strategy>,
    /// What it may use.
    pub limits: Limits,
    /// Which parts.
    pub shard: Shard,
    /// What to do about lines that cannot be read.
    pub defects: Defects,
    /// The parts that were decided before, in ascending order; they are left out.
    pub decided: Arc<[PartHash]>,
}

/// What a run went through.
#[derive(Clone, Debug)]
pub struct Summary {
    /// How the operations of the log ended.
    pub tally: Tally,
    /// How the log was split.
    pub splitting: Splitting,
    /// How many bytes waited on disk.
    pub spilled: u64,
    /// What could not be read.
    pub problems: Vec<InputError>,
    /// What there is to say of how the log was read.
    pub remarks: Vec<String>,
    /// How many parts were decided or found open.
    pub parts: u64,
    /// Whether parts were left because somebody had heard enough.
    pub is_cut_short: bool,
}

/// Decides all parts of a log; `tell` hears of each as soon as it is decided, and may say that it
/// has heard enough.
pub fn run(
    plan: &Plan,
    tell: &mut dyn FnMut(JudgedPart) -> Result<ControlFlow<()>, ScaleError>,
) -> Result<Summary, ScaleError> {
    let mut splitting = plan.first_splitting();
    let mut order = Order::AsRead;
    let collected = loop {
        match collect(plan, splitting, order)? {
            Collected::Spilled(route) => break route,
            Collected::Halted(Halt::NoKey) => splitting = Splitting::by_object(&*plan.reader),
            Collected::Halted(Halt::Unsorted) => order = Order::Sorted,
            Collected::Halted(Halt::Crossing) => splitting = Splitting::Whole,
        }
    };
    let Route { spill, tally, problems, remarks, .. } = *collected;
    let damaged_files = plan.damaged_files(&problems);
    let judge = plan.judge(splitting, damaged_files);
    let spilled = spill.bytes();
    let flow = ControlFlow::Continue(());
    let mut decider = Decider { judge, limits: plan.limits.clone(), parts: 0, tell, flow };
    decider.spill(spill)?;
    let parts = decider.parts;
    let is_cut_short = decider.flow.is_break();
    Ok(Summary { tally, splitting, spilled, problems, remarks, parts, is_cut_short })
}

impl Plan {
    /// How the log is split, as long as nothing forbids it.
    pub fn first_splitting(&self) -> Splitting {
        let by_object = Splitting::by_object(&*self.reader);
        match self.partitioning {
            // What must be read as a whole must not even be asked about its keys one by one.
            Partitioning::ByKey if by_object == Splitting::Whole => Splitting::Whole,
            Partitioning::ByKey => Splitting::ByKey,
            Partitioning::ByObject => by_object,
        }
    }

    /// The files that problems are in.
    pub fn damaged_files(&self, problems: &[InputError]) -> Vec<u32> {
        let files = self.log.files.iter().zip(0..);
        let is_damaged = |name: &str| problems.iter().any(|problem| &*problem.source == name);
        files.filter(|(info, _)| is_damaged(&info.name)).map(|(_, index)| index).collect()
    }

    /// The judge of the log's parts.
    pub fn judge(&self, splitting: Splitting, damaged_files: Vec<u32>) -> Judge {
        Judge {
            reader: Arc::clone(&self.reader),
            files: Arc::clone(&self.log.files),
            conventions: self.log.header.conventions,
            timescale: self.log.timescale(),
            splitting,
            partitioning: self.partitioning,
            monitors: self.monitors,
            strategies: self.strategies.clone(),
            memory: self.limits.memory / 4 / self.limits.threads,
            deadline: self.limits.deadline,
            damaged_files,
        }
    }
}

/// In which order operations are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    AsRead,
    Sorted,
}

/// Why a scan has to begin anew.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Halt {
    /// An operation has no key.
    NoKey,
    /// Operations do not come in the order of their calls.
    Unsorted,
    /// Processes go from part to part at one instant: see [`Turns`].
    Crossing,
}

enum Collected {
    Spilled(Box<Route>),
    Halted(Halt),
}

fn collect(plan: &Plan, splitting: Splitting, order: Order) -> Result<Collected, ScaleError> {
    let route = Route::new(plan, splitting);
    let mut route = match order {
        Order::AsRead => scan_files(plan, route, |route| route.halt.is_some())?,
        Order::Sorted => sorted(plan, route)?,
    };
    match (route.halt, route.error.take()) {
        (_, Some(error)) => Err(error),
        (Some(halt), None) => Ok(Collected::Halted(halt)),
        (None, None) => Ok(Collected::Spilled(Box::new(route))),
    }
}

/// A sink that keeps what could not be read.
pub trait Noting: Sink + 'static {
    /// Notes a line that cannot be read.
    fn note(&mut self, problem: InputError);
}

/// How many lines of a share may be unreadable before the rest of it is left.
const MOST_PROBLEMS: usize = 20;

/// Reads a share to its end, past lines that cannot be read if the plan says so.
pub fn scan_share<S: Noting>(
    plan: &Plan,
    share: Share,
    sink: S,
    is_over: impl Fn(&S) -> bool,
) -> Result<S, ScaleError> {
    let info = &plan.log.files[share.file as usize];
    let (mut sink, mut share) = (sink, share);
    for _ in 0..MOST_PROBLEMS {
        let (back, scanned) = scan::scan(info, share, sink);
        sink = back;
        let Err(problem) = scanned else { break };
        if plan.defects.end_at(&problem) {
            return Err(problem.into());
        }
        let line = problem.line;
        sink.note(problem);
        match scan::behind(info, share, line)? {
            Some(rest) if !is_over(&sink) => share = rest,
            _ => break,
        }
    }
    Ok(sink)
}

fn scan_files<S: Noting>(
    plan: &Plan,
    mut sink: S,
    is_over: impl Fn(&S) -> bool + Copy,
) -> Result<S, ScaleError> {
    for file in 0..plan.log.files.len() as u32 {
        if plan.log.files[file as usize].layout != Layout::Nothing && !is_over(&sink) {
            sink = scan_share(plan, Share::whole(file), sink, is_over)?;
        }
    }
    Ok(sink)
}

/// Sorts all operations on disk before they take their route.
fn sorted(plan: &Plan, mut route: Route) -> Result<Route, ScaleError> {
    let sorter = Sorter::new(&plan.limits.scratch, plan.limits.memory / 8);
    let (problems, remarks) = (Vec::new(), Vec::new());
    let sink = Sorting { sorter, bytes: Vec::new(), problems, remarks, error: None };
    let sink = scan_files(plan, sink, |sink| sink.error.is_some())?;
    if let Some(error) = sink.error {
        return Err(error);
    }
    route.problems.extend(sink.problems);
    route.remarks.extend(sink.remarks);
    let mut values = Values::default();
    let scratch = &plan.limits.scratch;
    sink.sorter.each(|_, operation| {
        if values.bytes() > 1 << 20 {
            values = Values::default();
        }
        let row = record::take(operation, &mut values).map_err(|_| ScaleError::Spill {
            folder: scratch.folder().to_owned(),
            error: damaged(),
        })?;
        if route.halt.is_none() && route.error.is_none() {
            let _ = route.row(row.told(&values));
        }
        Ok(())
    })?;
    Ok(route)
}

struct Sorting {
    sorter: Sorter,
    bytes: Vec<u8>,
    problems: Vec<InputError>,
    remarks: Vec<String>,
    error: Option<ScaleError>,
}

impl Sink for Sorting {
    fn row(&mut self, told: StreamedOperation<'_>) -> ControlFlow<()> {
        self.bytes.clear();
        record::put(&mut self.bytes, &told);
        match self.sorter.push(told.interval.call, &self.bytes) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    fn remark(&mut self, mut remarks: Vec<String>) {
        self.remarks.append(&mut remarks);
    }
}

impl Noting for Sorting {
    fn note(&mut self, problem: InputError) {
        self.problems.push(problem);
    }
}

/// The way of an operation from the log into its bucket.
struct Route {
    splitter: Splitter,
    spill: Spill,
    shard: Shard,
    decided: Arc<[PartHash]>,
    files: Arc<[FileInfo]>,
    defects: Defects,
    tally: Tally,
    turns: Turns,
    bytes: Vec<u8>,
    problems: Vec<InputError>,
    remarks: Vec<String>,
    halt: Option<Halt>,
    error: Option<ScaleError>,
}

impl Route {
    fn new(plan: &Plan, splitting: Splitting) -> Self {
        let conventions = plan.log.header.conventions;
        Route {
            splitter: Splitter::new(Arc::clone(&plan.reader), splitting, conventions),
            spill: Spill::new(&plan.limits.scratch),
            shard: plan.shard,
            decided: Arc::clone(&plan.decided),
            files: Arc::clone(&plan.log.files),
            defects: plan.defects,
            tally: Tally::default(),
            turns: Turns::default(),
            bytes: Vec::new(),
            problems: plan.log.problems.clone(),
            remarks: plan.log.remarks(),
            halt: None,
            error: None,
        }
    }

    /// Checks that operations come in the order of their calls, that a process does one thing at a
    /// time, and that the parts may be looked at one by one.
    fn in_order(
        &mut self,
        told: &StreamedOperation<'_>,
        part: Option<PartHash>,
    ) -> Result<(), Wrong> {
        let info = &self.files[told.file as usize];
        if info.layout != Layout::Operations {
            return Ok(());
        }
        self.turns.take(told, part).map_err(|disorder| match disorder {
            Disorder::Unsorted => Wrong::Halt(Halt::Unsorted),
            Disorder::Crossing => Wrong::Halt(Halt::Crossing),
            Disorder::Busy(problem) => {
                Wrong::Input(InputError::new(&info.name, told.line, problem))
            }
        })
    }

    fn take(&mut self, told: &StreamedOperation<'_>) -> Result<(), Wrong> {
        let name = &self.files[told.file as usize].name;
        let part = match self.splitter.part(told, name).map_err(Wrong::Input)? {
            Membership::Of(part) => Some(part),
            Membership::Dropped => None,
            Membership::NoKey => return Err(Wrong::Halt(Halt::NoKey)),
        };
        self.in_order(told, part)?;
        match told.outcome {
            Outcome::Ok => self.tally.ok += 1,
            Outcome::Failed => self.tally.failed += 1,
            Outcome::Pending => self.tally.pending += 1,
        }
        let Some(part) = part else { return Ok(()) };
        if !self.shard.has(part) || self.decided.binary_search(&part).is_ok() {
            return Ok(());
        }
        self.bytes.clear();
        record::put(&mut self.bytes, told);
        self.spill.push(part, &self.bytes).map_err(Wrong::Failed)
    }
}

/// What keeps an operation from its bucket.
enum Wrong {
    Halt(Halt),
    Input(InputError),
    Failed(ScaleError),
}

impl Sink for Route {
    fn row(&mut self, told: StreamedOperation<'_>) -> ControlFlow<()> {
        match (self.take(&told), self.defects) {
            (Ok(()), _) => return ControlFlow::Continue(()),
            (Err(Wrong::Input(problem)), Defects::Note) => {
                self.problems.push(problem);
                return ControlFlow::Continue(());
            }
            (Err(Wrong::Halt(halt)), _) => self.halt = Some(halt),
            (Err(Wrong::Input(problem)), Defects::End) => self.error = Some(problem.into()),
            (Err(Wrong::Failed(error)), _) => self.error = Some(error),
        }
        ControlFlow::Break(())
    }

    fn remark(&mut self, mut remarks: Vec<String>) {
        self.remarks.append(&mut remarks);
    }
}

impl Noting for Route {
    fn note(&mut self, problem: InputError) {
        self.problems.push(problem);
    }
}

/// Decides what was spilled.
pub struct Decider<'d> {
    /// What decides.
    pub judge: Judge,
    /// What it may use.
    pub limits: Limits,
    /// How many parts there were.
    pub parts: u64,
    /// Hears of every part. When it has heard enough, the parts that are left are not decided, but
    /// it hears of those that cannot be read: a log with such a part has no verdict, as in memory.
    pub tell: &'d mut dyn FnMut(JudgedPart) -> Result<ControlFlow<()>, ScaleError>,
    /// Whether `tell` has heard enough.
    pub flow: ControlFlow<()>,
}

impl Decider<'_> {
    /// Decides all buckets of a spill.
    pub fn spill(&mut self, spill: Spill) -> Result<(), ScaleError> {
        spill.into_buckets().into_iter().try_for_each(|bucket| self.bucket(bucket))
    }

    fn bucket(&mut self, bucket: Bucket) -> Result<(), ScaleError> {
        // Places in a bucket are numbers of 32 bits.
        let most = (self.limits.memory as u64 / 16).min(1 << 30);
        let is_indexed = bucket.bytes() <= u64::from(u32::MAX);
        match (bucket.bytes() <= most, bucket.is_of_one_part()) {
            (true, _) => self.load(bucket),
            (false, false) => self.spill(Spill::again(&self.limits.scratch, bucket)?),
            // A single part may take all the memory there is.
            (false, true)
                if is_indexed && bucket.bytes() * (IN_MEMORY + 2) <= self.limits.memory as u64 =>
            {
                self.load(bucket)
            }
            // What does not fit in memory would have to be watched to be read.
            (false, true) if self.flow.is_break() => Ok(()),
            (false, true) => {
                let (scratch, memory) = (&self.limits.scratch, self.limits.memory);
                let verdict = watch_part(&self.judge, bucket, scratch, memory)?;
                self.parts += 1;
                self.flow = (self.tell)(verdict)?;
                Ok(())
            }
        }
    }

    /// Decides the parts of a bucket that fits in memory, several at the same time.
    fn load(&mut self, bucket: Bucket) -> Result<(), ScaleError> {
        let rows = bucket.rows() as usize;
        let bytes = bucket.load()?;
        let failed = |_| ScaleError::Spill {
            folder: self.limits.scratch.folder().to_owned(),
            error: damaged(),
        };
        let mut index: Vec<(PartHash, u32, u32)> = Vec::with_capacity(rows);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (hash, operation) = take_frame(&mut rest).map_err(failed)?;
            let end = bytes.len() - rest.len();
            index.push((PartHash(hash), (end - operation.len()) as u32, operation.len() as u32));
        }
        index.sort_unstable();
        let groups: Vec<&[(PartHash, u32, u32)]> = index.chunk_by(|a, b| a.0 == b.0).collect();
        if self.flow.is_continue() {
            self.parts += groups.len() as u64;
        }
        let batches = batches(&groups);
        let (judge, flow) = (&self.judge, self.flow);
        let next = AtomicUsize::new(0);
        let threads = self.limits.threads.min(batches.len());
        let tell = &mut *self.tell;
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel(64);
            for _ in 0..threads {
                let sender = sender.clone();
                let (next, batches, bytes) = (&next, &batches, &bytes);
                scope.spawn(move || {
                    let mut worker = Worker { judge, splitter: judge.splitter(), vain: 0 };
                    while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let verdicts = match flow {
                            ControlFlow::Continue(()) => worker.judge(batch, bytes),
                            ControlFlow::Break(()) => worker.refuse(batch, bytes),
                        };
                        if sender.send(verdicts).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            for verdicts in receiver {
                for verdict in verdicts.map_err(failed)? {
                    if tell(verdict)?.is_break() {
                        self.flow = ControlFlow::Break(());
                    }
                }
            }
            Ok(())
        })
    }
}

/// The places of the operations of a part.
type Group<'g> = &'g [(PartHash, u32, u32)];

/// How many operations are decided together at most. A history of its own for each of a million
/// keys would cost more than its operations.
const BATCH: usize = 512;

/// Parts that are small are decided together.
fn batches<'b, 'g>(groups: &'b [Group<'g>]) -> Vec<&'b [Group<'g>]> {
    let mut batches = Vec::new();
    let (mut start, mut operations) = (0, 0);
    for (index, group) in groups.iter().enumerate() {
        if index > start && operations + group.len() > BATCH {
            batches.push(&groups[start..index]);
            (start, operations) = (index, 0);
        }
        operations += group.len();
    }
    batches.extend((start < groups.len()).then(|| &groups[start..]));
    batches
}

/// How often in a row parts are looked at together in vain before that is left.
const VAIN: u32 = 3;

/// Who decides the parts of a bucket.
struct Worker<'j> {
    judge: &'j Judge,
    splitter: Splitter,
    /// How often in a row it was in vain to look at parts together.
    vain: u32,
}

impl Worker<'_> {
    /// Decides some parts: at once if they are all linearizable, else one by one.
    fn judge(
        &mut self,
        batch: &[Group<'_>],
        bytes: &[u8],
    ) -> Result<Vec<JudgedPart>, record::Damaged> {
        let parts = parts_of(batch, bytes)?;
        if parts.len() > 1 && self.vain < VAIN {
            if let Some(verdicts) = self.judge.judge_together(&parts, &mut self.splitter) {
                self.vain = 0;
                return Ok(verdicts);
            }
            self.vain += 1;
        }
        let alone = |(hash, rows): &(_, Vec<_>)| self.judge.judge(*hash, rows, &mut self.splitter);
        Ok(parts.iter().map(alone).collect())
    }

    /// Those of some parts that cannot be read.
    fn refuse(
        &mut self,
        batch: &[Group<'_>],
        bytes: &[u8],
    ) -> Result<Vec<JudgedPart>, record::Damaged> {
        let refused = |(hash, rows): &(_, Records<'_>)| {
            let judgement = Judgement::Refused(self.judge.refusal(rows)?);
            Some(JudgedPart { judgement, ..self.judge.unseen(*hash, rows, &mut self.splitter) })
        };
        Ok(parts_of(batch, bytes)?.iter().filter_map(refused).collect())
    }
}

/// The operations of each part, by rank.
fn parts_of<'b>(
    batch: &[Group<'_>],
    bytes: &'b [u8],
) -> Result<Vec<(PartHash, Records<'b>)>, record::Damaged> {
    let mut parts = Vec::with_capacity(batch.len());
    for group in batch {
        let mut rows: Records<'b> = Vec::with_capacity(group.len());
        for &(_, start, length) in *group {
            let operation = &bytes[start as usize..(start + length) as usize];
            rows.push((record::rank(operation)?, operation));
        }
        rows.sort_unstable_by_key(|row| row.0);
        parts.push((group[0].0, rows));
    }
    Ok(parts)
}
