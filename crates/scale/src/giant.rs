//! A part that does not fit in memory, watched as if it happened now.
//!
//! Splitting ends at a part: one giant key, or an object that has no keys. Its operations are
//! sorted by call on disk, and an online monitor sees the events in their order, a return before a
//! call only if it is earlier (intervals are closed). Memory follows the open operations and the
//! object, not the length of the log. A part is called linearizable only if an order of its
//! operations was made and replayed too, window by window ([`Streamed`]); that decides parts that
//! have no monitor, or whose monitor declines, as well. Where neither comes to an answer the part
//! stays open: it needs more memory, or a log that is recorded in smaller objects. A violation is
//! looked for again by the ordinary check in what happened until then, if that fits in memory
//! ([`Prefix`]).
//!
//! *Side conditions*, each a check that leaves the part open if it fails: the specification reads
//! every operation ([`Vetting`]: monitors know less about odd input than it does); all operations
//! are of one object and, where keys are watched as registers, of one key (parts whose hashes
//! collide are one part, and an object that must be read whole may stand beside others); no process
//! calls at the very moment of its last return, which a stream of events with closed intervals
//! cannot express; a result `nil` that may mean *unknown* is a value only for a register that
//! begins with it.

use crate::ScaleError;
use crate::judge::{Evidence, Judge, JudgedPart, Judgement, Until};
use crate::record::{self, Damaged, Rank};
use crate::sort::Sorter;
use crate::spill::{Bucket, Scratch, damaged};
use crate::split::{PartHash, Splitting};
use crate::windows::Streamed;
use seriatim_history::{Nil, OpId, Outcome, Time, Value, ValueId, Values};
use seriatim_monitor::DecidedBy;
use seriatim_monitor::fast::{Called, Online, Returned, Stop, register};
use seriatim_monitor::watch;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Who decides a part that does not fit in memory: the online monitor, or the order that was
/// replayed in windows.
const ONLINE: &str = "online monitor";
const WINDOWS: &str = "check of windows";

/// What a thing that an online monitor remembers is taken to cost, in bytes.
const REMEMBERED: usize = 128;

/// Decides the only part of a bucket with little memory, if that can be.
pub fn watch_part(
    judge: &Judge,
    bucket: Bucket,
    scratch: &Scratch,
    memory: usize,
) -> Result<JudgedPart, ScaleError> {
    let (rows, bytes) = (bucket.rows(), bucket.bytes());
    let mut hash = PartHash(0);
    let mut sorter = Sorter::new(scratch, memory / 8);
    let mut damaged_file = None;
    bucket.each(|number, operation| {
        hash = PartHash(number);
        let (call, file, _) = record::rank(operation).map_err(|_| failed(scratch))?;
        if judge.damaged_files.contains(&file) {
            damaged_file = Some(file);
        }
        sorter.push(call, operation)
    })?;
    let mut verdict = JudgedPart {
        hash,
        label: String::new(),
        operations: rows,
        first: (0, 0, 0),
        judgement: Judgement::Linearizable,
        decided_by: DecidedBy::Monitor(ONLINE),
    };
    if let Some(file) = damaged_file {
        let name = &judge.files[file as usize].name;
        verdict.decided_by = DecidedBy::Nobody;
        verdict.judgement = Judgement::Unknown(format!(
            "it has operations in {name}, of which a part cannot be read"
        ));
        return Ok(verdict);
    }
    let mut watching = Watching::new(judge, memory);
    let mut splitter = judge.splitter();
    sorter.each(|_, operation| {
        if verdict.first == (0, 0, 0) {
            verdict.first = record::rank(operation).map_err(|_| failed(scratch))?;
            verdict.label = judge.label(operation, &mut splitter);
        }
        watching.take(operation).map_err(|Damaged| failed(scratch))
    })?;
    (verdict.judgement, verdict.decided_by) =
        watching.finish(|reason| too_large(rows, bytes, reason));
    Ok(verdict)
}

/// Everybody who looks at the operations of a part as they come.
struct Watching<'j> {
    judge: &'j Judge,
    memory: usize,
    watcher: Watcher,
    vetting: Vetting<'j>,
    subject: Subject,
    witness: Streamed,
    prefix: Prefix<'j>,
    /// Why the online monitor listens no longer.
    ended: Option<Ended>,
}

impl<'j> Watching<'j> {
    fn new(judge: &'j Judge, memory: usize) -> Self {
        let mut values = Values::default();
        let (monitor, ended) = match monitor(judge, &mut values) {
            Ok(monitor) => (Some(monitor), None),
            Err(reason) => (None, Some(Ended::Unknown(reason))),
        };
        Watching {
            judge,
            memory,
            watcher: Watcher::new(monitor, values),
            vetting: Vetting { judge, rows: Vec::new() },
            subject: Subject { is_map: is_map(judge), first: None, busy: HashMap::new() },
            witness: Streamed::new(judge, memory / 4),
            prefix: Prefix { judge, rows: Vec::new(), bytes: 0, most: memory as u64 / 4 },
            ended,
        }
    }

    /// The next operation, by call.
    fn take(&mut self, operation: &[u8]) -> Result<(), Damaged> {
        if let Err(refused) = self.vetting.look(operation)? {
            self.ended.get_or_insert(Ended::Refused(refused));
        }
        if let Some(reason) = self.subject.unfit(operation)? {
            self.ended.get_or_insert(Ended::Unfit(reason));
        }
        if matches!(self.ended, None | Some(Ended::Unknown(_))) {
            self.witness.take(operation)?;
        }
        if self.ended.is_none() {
            self.ended = self.watcher.hear(self.judge, operation).map_err(|()| Damaged)?;
            self.prefix.keep(operation)?;
            let held = self.watcher.remembered();
            if self.ended.is_none() && held > self.memory / 2 {
                let reason = format!("the online monitor has to remember {held} bytes");
                self.ended = Some(Ended::Unknown(reason));
            }
        }
        Ok(())
    }

    /// What they have found, and who. Only an order that was replayed shows that the part is
    /// linearizable, whoever says so.
    fn finish(mut self, too_large: impl Fn(&str) -> String) -> (Judgement, DecidedBy) {
        let refused = self.vetting.finish().err().map(Ended::Refused);
        let ended = refused.or(self.ended).or_else(|| self.watcher.return_until(Time::MAX).err());
        let unknown = |reason: &str| (Judgement::Unknown(too_large(reason)), DecidedBy::Nobody);
        match ended {
            Some(Ended::Refused(reason)) => (Judgement::Refused(reason), DecidedBy::Nobody),
            Some(Ended::Unfit(reason)) => unknown(&reason),
            Some(Ended::Violation(told, moment)) => match self.prefix.confirmed(told, moment) {
                open @ (Judgement::Unknown(_) | Judgement::Refused(_)) => (open, DecidedBy::Nobody),
                confirmed => (confirmed, DecidedBy::Monitor(ONLINE)),
            },
            Some(Ended::Unknown(reason)) => match self.witness.finish() {
                Ok(()) => (Judgement::Linearizable, DecidedBy::Monitor(WINDOWS)),
                Err(other) => unknown(&format!(
                    "{reason}; nor could an order be replayed in windows: {other}"
                )),
            },
            None => match self.witness.finish() {
                Ok(()) => (Judgement::Linearizable, DecidedBy::Monitor(ONLINE)),
                Err(reason) => unknown(&format!(
                    "the online monitor found nothing wrong, but no order could be replayed in windows: \
                     {reason}"
                )),
            },
        }
    }
}

/// The operations of the part so far, as long as they fit in memory: a violation is shown with
/// them.
struct Prefix<'j> {
    judge: &'j Judge,
    rows: Vec<(Rank, Vec<u8>)>,
    bytes: u64,
    /// How many bytes the check of the prefix may need.
    most: u64,
}

impl Prefix<'_> {
    fn keep(&mut self, operation: &[u8]) -> Result<(), Damaged> {
        self.bytes += operation.len() as u64;
        match self.fits() {
            true => self.rows.push((record::rank(operation)?, operation.to_vec())),
            false => self.rows = Vec::new(),
        }
        Ok(())
    }

    fn fits(&self) -> bool {
        self.bytes * crate::run::IN_MEMORY <= self.most
    }

    /// The violation with its counterexample, if the ordinary check finds it in what happened until
    /// then.
    fn confirmed(&self, told: Finding, moment: Time) -> Judgement {
        let Finding { sentence, file, line } = told;
        if !self.fits() {
            let sentence = format!(
                "{sentence} (so says the online monitor alone: what came before is too long to be checked \
                 again in memory)"
            );
            return Judgement::Violation(Box::new(Evidence::Sentence { sentence, file, line }));
        }
        let judgement = match self.judge.history(&self.rows, Until::Moment(moment)) {
            Ok((history, files)) => self.judge.decide(history, files).0,
            Err(problem) => Judgement::Unknown(problem.to_string()),
        };
        match judgement {
            Judgement::Violation(evidence) => Judgement::Violation(evidence),
            other => Judgement::Unknown(format!(
                "the online monitor says \"{sentence}\" at line {line}, but the check in memory says \
                 {}: one of them is wrong, please report this log",
                other.word()
            )),
        }
    }
}

fn failed(scratch: &Scratch) -> ScaleError {
    ScaleError::Spill { folder: scratch.folder().to_owned(), error: damaged() }
}

fn too_large(rows: u64, bytes: u64, reason: &str) -> String {
    let needed = (bytes * crate::run::IN_MEMORY / (1 << 20)).max(1);
    format!(
        "{rows} operations of one part do not fit in memory (about {needed} MiB would do, --memory), \
         and {reason}"
    )
}

/// The online monitor of the parts of a log.
fn monitor(judge: &Judge, values: &mut Values) -> Result<Box<dyn Online>, String> {
    let Some(chosen) = judge.reader.chosen() else {
        return Err("its specification has no online monitor".to_owned());
    };
    let choice = &chosen.choice;
    let begins_with = choice.parameters().value("init").unwrap_or(&Value::Nil);
    if judge.conventions.nil == Nil::Unknown
        && choice.name() == "register"
        && *begins_with != Value::Nil
    {
        return Err("a result nil may mean that it is unknown".to_owned());
    }
    let default = match choice.name() {
        "map" => Value::Nil,
        "kv" => Value::text(""),
        _ => return watch(choice),
    };
    // A key of a map that is only read and written is a register.
    if judge.splitting != Splitting::ByKey || choice.parameters().flag("init") {
        return Err(format!("{} cannot be watched as a whole", choice.name()));
    }
    let default = choice.parameters().value("default").unwrap_or(&default);
    Ok(Box::new(register::Watch::new(values.intern(default))))
}

/// Where and why a part is violated, as an online monitor tells it.
struct Finding {
    sentence: String,
    file: u32,
    line: u64,
}

enum Ended {
    /// With the moment of the return that shows it.
    Violation(Finding, Time),
    Unknown(String),
    /// The part is none that can be decided so.
    Unfit(String),
    Refused(String),
}

fn is_map(judge: &Judge) -> bool {
    let name = judge.reader.chosen().map(|chosen| chosen.choice.name());
    matches!(name, Some("map" | "kv"))
}

/// Whose operations the part has: they must be of one object, and each process must have been seen
/// to do one thing after another.
struct Subject {
    is_map: bool,
    /// The object and, of a map, the key of the first operation.
    first: Option<[Option<Value>; 2]>,
    /// When the processes return that may be busy.
    busy: HashMap<Value, Time>,
}

/// How many processes are remembered before those that are not busy are forgotten.
const PROCESSES: usize = 1024;

impl Subject {
    /// Why an operation cannot be taken together with those before it, if it cannot.
    fn unfit(&mut self, operation: &[u8]) -> Result<Option<String>, Damaged> {
        let mut values = Values::default();
        let row = record::take(operation, &mut values)?;
        let [object, key, ..] = row.ids;
        let named = |id: ValueId| id.is_present().then(|| values.get(id));
        let subject = [named(object), named(key).filter(|_| self.is_map)];
        if *self.first.get_or_insert_with(|| subject.clone()) != subject {
            return Ok(Some("several objects or keys cannot be watched as one".to_owned()));
        }
        let call = row.interval.call;
        if self.busy.len() > PROCESSES {
            self.busy.retain(|_, &mut ret| ret >= call);
        }
        let Some(caller) = row.caller else { return Ok(None) };
        let last = match row.interval.ret {
            Some(ret) => self.busy.insert(caller, ret),
            None => self.busy.remove(&caller),
        };
        let is_tied = last == Some(call);
        Ok(is_tied.then(|| "a process calls at the moment of its last return".to_owned()))
    }
}

/// How many operations the specification reads at once.
const VETTED: usize = 4096;

/// Shows all operations of the part to the specification, some at a time.
struct Vetting<'j> {
    judge: &'j Judge,
    rows: Vec<(Rank, Vec<u8>)>,
}

impl Vetting<'_> {
    /// Takes an operation; an error inside if the specification cannot read it or one before it.
    fn look(&mut self, operation: &[u8]) -> Result<Result<(), String>, Damaged> {
        self.rows.push((record::rank(operation)?, operation.to_vec()));
        Ok(if self.rows.len() >= VETTED { self.finish() } else { Ok(()) })
    }

    fn finish(&mut self) -> Result<(), String> {
        let rows = std::mem::take(&mut self.rows);
        let read = self.judge.history(&rows, Until::End);
        let read = read.and_then(|(mut history, _)| self.judge.reader.read(&mut history));
        read.map(|_| ()).map_err(|problem| problem.to_string())
    }
}

/// An operation that the monitor knows.
struct Open {
    result: ValueId,
    file: u32,
    line: u64,
}

struct Watcher {
    /// Nobody, where the object has no online monitor.
    monitor: Option<Box<dyn Online>>,
    values: Values,
    open: Vec<Open>,
    free: Vec<OpId>,
    /// The returns to come.
    returns: BinaryHeap<Reverse<(Time, u32)>>,
}

impl Watcher {
    fn new(monitor: Option<Box<dyn Online>>, values: Values) -> Self {
        Watcher { monitor, values, open: Vec::new(), free: Vec::new(), returns: BinaryHeap::new() }
    }

    /// What it remembers, in bytes.
    fn remembered(&self) -> usize {
        let things = self.monitor.as_ref().map_or(0, |monitor| monitor.remembered());
        things * REMEMBERED + self.values.bytes()
    }

    /// The next operation is called, after all that returned before.
    fn hear(&mut self, judge: &Judge, operation: &[u8]) -> Result<Option<Ended>, ()> {
        let row = record::take(operation, &mut self.values).map_err(|_| ())?;
        if let Err(ended) = self.return_until(row.interval.call) {
            return Ok(Some(ended));
        }
        if row.outcome == Outcome::Failed {
            return Ok(Some(Ended::Unknown("failed operations cannot be watched".to_owned())));
        }
        let [_, key, arg, result] = row.ids;
        let (method, key) = match (is_map(judge), row.method.to_ascii_lowercase().as_str()) {
            (false, _) => (row.method, key),
            (true, "get" | "read" | "lookup") if key.is_present() => ("read", ValueId::ABSENT),
            (true, "put" | "write" | "set") if key.is_present() => ("write", ValueId::ABSENT),
            (true, other) => {
                let reason = format!("`{other}` of a map cannot be watched");
                return Ok(Some(Ended::Unknown(reason)));
            }
        };
        let open = Open { result, file: row.file, line: row.line };
        let op = match self.free.pop() {
            Some(op) => {
                self.open[op.index()] = open;
                op
            }
            None => {
                self.open.push(open);
                OpId::from(self.open.len() - 1)
            }
        };
        if let Some(ret) = row.interval.ret {
            self.returns.push(Reverse((ret, op.0)));
        }
        let called = Called { op, method, key, arg, values: &self.values };
        let heard = self.monitor.as_mut().map_or(Ok(()), |monitor| monitor.call(called));
        Ok(heard.err().map(|stop| self.ended(op, row.interval.call, stop)))
    }

    /// Operations return that do so before a moment.
    fn return_until(&mut self, moment: Time) -> Result<(), Ended> {
        while let Some(&Reverse((ret, op))) = self.returns.peek()
            && ret < moment
        {
            self.returns.pop();
            let op = OpId(op);
            let result = self.open[op.index()].result;
            let returned = Returned { op, outcome: Outcome::Ok, result, values: &self.values };
            let heard = self.monitor.as_mut().map_or(Ok(()), |monitor| monitor.ret(returned));
            heard.map_err(|stop| self.ended(op, ret, stop))?;
            self.free.push(op);
        }
        Ok(())
    }

    fn ended(&self, op: OpId, moment: Time, stop: Stop) -> Ended {
        match stop {
            Stop::Declined(declined) => {
                Ended::Unknown(format!("the online monitor declines: {declined}"))
            }
            Stop::Violation(violation) => {
                let Open { file, line, .. } = self.open[op.index()];
                Ended::Violation(Finding { sentence: violation.reason, file, line }, moment)
            }
        }
    }
}
