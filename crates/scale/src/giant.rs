//! A part that does not fit in memory, watched as if it happened now.
//!
//! Splitting ends at a part: one giant key, or an object that has no keys. Its operations are sorted by call
//! on disk, and an online monitor sees the events in their order, a return before a call only if it is
//! earlier (intervals are closed). Memory follows the open operations and the object, not the length of
//! the log. A monitor that declines, and an object that has none, leave the part open: it needs more
//! memory, or a log that is recorded in smaller objects.
//!
//! *Side conditions*, each a check that leaves the part open if it fails: the specification reads every
//! operation ([`Vetting`]: monitors know less about odd input than it does); all operations are of one
//! object and, where keys are watched as registers, of one key (parts whose hashes collide are one part,
//! and an object that must be read whole may stand beside others); no process calls at the very moment of
//! its last return, which a stream of events with closed intervals cannot express; a result `nil` that
//! may mean *unknown* is a value only for a register that begins with it.

use crate::ScaleError;
use crate::judge::{Evidence, Judge, PartVerdict, Standing};
use crate::record::{self, Damaged, Rank, Row};
use crate::sort::Sorter;
use crate::spill::{Bucket, Scratch, damaged};
use crate::split::{PartHash, Splitting};
use seriatim_history::{Nil, OpId, Outcome, Time, Value, ValueId, Values};
use seriatim_monitor::fast::{Called, Online, Returned, Stop, register};
use seriatim_monitor::watch;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// What a thing that an online monitor remembers is taken to cost, in bytes.
const REMEMBERED: usize = 128;

/// Decides the only part of a bucket with little memory, if that can be.
pub fn watch_part(
    judge: &Judge,
    bucket: Bucket,
    scratch: &Scratch,
    memory: usize,
) -> Result<PartVerdict, ScaleError> {
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
    let mut verdict = PartVerdict {
        hash,
        label: String::new(),
        operations: rows,
        first: (0, 0, 0),
        standing: Standing::Linearizable,
        by: "online monitor".to_owned(),
    };
    if let Some(file) = damaged_file {
        let name = &judge.files[file as usize].name;
        verdict.by.clear();
        verdict.standing = Standing::Unknown(format!(
            "it has operations in {name}, of which a part cannot be read"
        ));
        return Ok(verdict);
    }
    let mut values = Values::default();
    let monitor = match monitor(judge, &mut values) {
        Ok(monitor) => monitor,
        Err(reason) => {
            verdict.by.clear();
            verdict.standing = Standing::Unknown(too_large(rows, bytes, &reason));
            return Ok(verdict);
        }
    };
    let mut watcher = Watcher::new(monitor, values);
    let mut vetting = Vetting { judge, rows: Vec::new() };
    let mut ended = None;
    let mut splitter = judge.splitter();
    sorter.each(|_, operation| {
        if verdict.first == (0, 0, 0) {
            verdict.first = record::rank(operation).map_err(|_| failed(scratch))?;
            verdict.label = judge.label(operation, &mut splitter);
        }
        if let Err(refused) = vetting.look(operation).map_err(|_| failed(scratch))? {
            ended = Some(Ended::Refused(refused));
        }
        if ended.is_none() {
            ended = watcher.hear(judge, operation).map_err(|()| failed(scratch))?;
            let held = watcher.monitor.remembered() * REMEMBERED + watcher.values.bytes();
            if ended.is_none() && held > memory / 2 {
                let reason = format!("the online monitor has to remember {held} bytes");
                ended = Some(Ended::Unknown(reason));
            }
        }
        Ok(())
    })?;
    let refused = vetting.finish().err().map(Ended::Refused);
    let ended = refused.or(ended).or_else(|| watcher.return_until(Time::MAX).err());
    verdict.standing = match ended {
        None => Standing::Linearizable,
        Some(Ended::Refused(reason)) => {
            verdict.by.clear();
            Standing::Refused(reason)
        }
        Some(Ended::Violation(evidence)) => Standing::Violation(evidence),
        Some(Ended::Unknown(reason)) => {
            verdict.by.clear();
            Standing::Unknown(too_large(rows, bytes, &reason))
        }
    };
    Ok(verdict)
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
    if judge.nil == Nil::Unknown && choice.name() == "register" && *begins_with != Value::Nil {
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

enum Ended {
    Violation(Box<Evidence>),
    Unknown(String),
    Refused(String),
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
        let read = self.judge.history(&rows);
        let read = read.and_then(|(mut history, _)| self.judge.reader.read(&mut history));
        read.map(|_| ()).map_err(|problem| problem.to_string())
    }
}

/// An operation that the monitor knows.
struct Open {
    result: ValueId,
    file: u32,
    line: u64,
    caller: Option<Value>,
}

struct Watcher {
    monitor: Box<dyn Online>,
    values: Values,
    open: Vec<Open>,
    free: Vec<OpId>,
    /// The returns to come.
    returns: BinaryHeap<Reverse<(Time, u32)>>,
    /// When the processes return that are busy.
    busy: HashMap<Value, Time>,
    /// The object and the key of the part.
    subject: Option<(Value, Value)>,
}

impl Watcher {
    fn new(monitor: Box<dyn Online>, values: Values) -> Self {
        Watcher {
            monitor,
            values,
            open: Vec::new(),
            free: Vec::new(),
            returns: BinaryHeap::new(),
            busy: HashMap::new(),
            subject: None,
        }
    }

    /// Why an operation cannot be watched together with those before it, if it cannot.
    fn unfit(&mut self, row: &Row<'_>, is_map: bool) -> Option<String> {
        let [object, key, ..] = row.ids;
        let named = |id: ValueId| match id.is_present() {
            true => self.values.get(id),
            false => Value::Nil,
        };
        let subject = (named(object), if is_map { named(key) } else { Value::Nil });
        if *self.subject.get_or_insert_with(|| subject.clone()) != subject {
            return Some("several objects or keys cannot be watched as one".to_owned());
        }
        let caller = row.caller.as_ref()?;
        let is_tied = self.busy.get(caller) == Some(&row.interval.call);
        self.busy.extend(row.interval.ret.map(|ret| (caller.clone(), ret)));
        is_tied.then(|| "a process calls at the moment of its last return".to_owned())
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
        let is_map = judge.reader.chosen().is_some_and(|chosen| {
            let name = chosen.choice.name();
            name == "map" || name == "kv"
        });
        if let Some(reason) = self.unfit(&row, is_map) {
            return Ok(Some(Ended::Unknown(reason)));
        }
        let (method, key) = match (is_map, row.method.to_ascii_lowercase().as_str()) {
            (false, _) => (row.method, key),
            (true, "get" | "read" | "lookup") if key.is_present() => ("read", ValueId::ABSENT),
            (true, "put" | "write" | "set") if key.is_present() => ("write", ValueId::ABSENT),
            (true, other) => {
                let reason = format!("`{other}` of a map cannot be watched");
                return Ok(Some(Ended::Unknown(reason)));
            }
        };
        let open = Open { result, file: row.file, line: row.line, caller: row.caller };
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
        let heard = self.monitor.call(called);
        Ok(heard.err().map(|stop| self.ended(op, stop)))
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
            self.monitor.ret(returned).map_err(|stop| self.ended(op, stop))?;
            if let Some(caller) = self.open[op.index()].caller.take() {
                self.busy.remove(&caller);
            }
            self.free.push(op);
        }
        Ok(())
    }

    fn ended(&self, op: OpId, stop: Stop) -> Ended {
        match stop {
            Stop::Declined(declined) => {
                Ended::Unknown(format!("the online monitor declines: {declined}"))
            }
            Stop::Violation(violation) => {
                let Open { file, line, .. } = self.open[op.index()];
                let sentence = violation.reason;
                Ended::Violation(Box::new(Evidence::Told { sentence, file, line }))
            }
        }
    }
}
