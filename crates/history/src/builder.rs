//! Building a history, event by event or operation by operation, with every check that needs no
//! specification: calls and returns pair up, a process does one thing at a time, time runs forward,
//! ids are unique.

mod events;
mod finish;
mod streaming;

pub use events::{Call, Interval, Return};

use crate::batch::{Batch, Besides, Plain};
use crate::history::{Annotation, History};
use crate::live::Listener;
use crate::{Conventions, InputError, MethodId, Nil, OpId, Outcome, Problem, ProcessId, Time};
use crate::{Timescale, Value, ValueId, Values};
use hashbrown::HashMap;

/// Builds a [`History`] and refuses what cannot be one.
///
/// ```
/// use seriatim_history::{Builder, Return, Value};
/// let mut builder = Builder::new("example");
/// let client = builder.process(&Value::Int(0));
/// let error = builder.ret(1, client, Return::ok()).unwrap_err();
/// assert!(error.to_string().contains("no open call"));
/// ```
pub struct Builder {
    history: History,
    values: Values,
    processes: HashMap<ValueId, ProcessId>,
    small_processes: Vec<u32>,
    method_ids: HashMap<Box<str>, MethodId>,
    /// The open operation of each process, plus one; 0 when it has none.
    open: Vec<u32>,
    ids: HashMap<ValueId, OpId>,
    events: u64,
    last_time: Time,
    in_call_order: bool,
    /// Operations of a log that names no processes.
    anonymous: bool,
    /// Operations that are not in the history's columns yet.
    batch: Batch,
    listening: Option<Listening>,
    /// How many interned values there may be before those that nothing names are forgotten.
    most_values: usize,
    /// How many processes there may be before those that do nothing are forgotten.
    most_processes: usize,
}

/// What a builder needs that tells a listener instead of keeping a history.
struct Listening {
    listener: Box<dyn Listener>,
    /// Places of operations that have returned, to be used again.
    free: Vec<OpId>,
    /// Places of processes that were forgotten, to be used again.
    free_processes: Vec<ProcessId>,
}

impl Builder {
    /// A builder for the history of a source (a file's name, for messages).
    pub fn new(source: &str) -> Self {
        Builder {
            history: History::empty(source),
            values: Values::default(),
            processes: HashMap::new(),
            small_processes: Vec::new(),
            method_ids: HashMap::new(),
            open: Vec::new(),
            ids: HashMap::new(),
            events: 0,
            last_time: 0,
            in_call_order: true,
            anonymous: false,
            batch: Batch::default(),
            listening: None,
            most_values: streaming::MOST_VALUES,
            most_processes: streaming::MOST_PROCESSES,
        }
    }

    /// A builder that tells a listener of every event and keeps only the operations that are open.
    /// Nobody asks it for a history.
    pub fn listening(source: &str, listener: Box<dyn Listener>) -> Self {
        let listening = Some(Listening { listener, free: Vec::new(), free_processes: Vec::new() });
        Builder { listening, ..Builder::new(source) }
    }

    /// Whether somebody hears of every event, so that nothing is kept.
    pub(crate) fn is_listening(&self) -> bool {
        self.listening.is_some()
    }

    /// The same builder, going on with the values of another history: what was named there has the
    /// same id here.
    #[must_use]
    pub fn with_values(self, values: Values) -> Self {
        Builder { values, ..self }
    }

    /// The interned values.
    pub fn values(&mut self) -> &mut Values {
        &mut self.values
    }

    /// Says what a result `nil` of the source means.
    pub fn nil_means(&mut self, nil: Nil) {
        self.history.conventions.nil = nil;
    }

    /// Says how the results of the source are to be read.
    pub fn follow(&mut self, conventions: Conventions) {
        self.history.conventions = conventions;
    }

    /// Says what the times of the source count.
    pub fn measure_in(&mut self, timescale: Timescale) {
        self.history.timescale = timescale;
    }

    /// Says that so many processes recorded something that is missing.
    pub fn misses_logs(&mut self, count: u64) {
        self.history.missing_logs = count;
    }

    /// Says something of how the source was read that whoever reads a report has to know.
    pub fn remark(&mut self, remark: impl Into<String>) {
        self.history.remark(remark);
    }

    /// Notes which specification the source names.
    pub fn name_spec(&mut self, spec: &str) {
        self.history.spec = Some(spec.to_owned());
    }

    /// The number of operations so far.
    pub fn len(&self) -> usize {
        self.history.len() + self.batch.len()
    }

    /// Whether there is no operation yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The process of a name.
    pub fn process(&mut self, name: &Value) -> ProcessId {
        let id = self.values.intern(name);
        self.process_of(id)
    }

    /// The process whose name is an interned value.
    #[inline]
    pub fn process_of(&mut self, name: ValueId) -> ProcessId {
        let small = name.as_inline_int().and_then(|number| usize::try_from(number).ok());
        match small.filter(|&number| number < self.small_processes.len()) {
            Some(number) if self.small_processes[number] != 0 => {
                ProcessId(self.small_processes[number] - 1)
            }
            _ => self.new_or_known_process(name, small),
        }
    }

    /// The process of an interned name, if it has been seen.
    pub(crate) fn known_process(&self, name: ValueId) -> Option<ProcessId> {
        self.processes.get(&name).copied()
    }

    fn new_or_known_process(&mut self, name: ValueId, small: Option<usize>) -> ProcessId {
        if let Some(&process) = self.processes.get(&name) {
            return process;
        }
        let process = self.new_process(name);
        self.processes.insert(name, process);
        if let Some(number) = small.filter(|&number| number < 1 << 12) {
            if self.small_processes.len() <= number {
                self.small_processes.resize(number + 1, 0);
            }
            self.small_processes[number] = process.0 + 1;
        }
        process
    }

    fn new_process(&mut self, name: ValueId) -> ProcessId {
        let name = self.values.get(name);
        let free = self.listening.as_mut().and_then(|listening| listening.free_processes.pop());
        if let Some(process) = free {
            self.history.process_names[process.index()] = name;
            return process;
        }
        self.history.process_names.push(name);
        self.open.push(0);
        ProcessId::from(self.open.len() - 1)
    }

    /// The method of a name.
    pub fn method(&mut self, name: &str) -> MethodId {
        if let Some(&method) = self.method_ids.get(name) {
            return method;
        }
        let method = MethodId::from(self.history.methods.len());
        self.history.methods.push(name.into());
        self.method_ids.insert(name.into(), method);
        method
    }

    /// The name of a method.
    pub fn method_name(&self, method: MethodId) -> &str {
        self.history.method_name(method)
    }

    /// The open operation of a process.
    pub fn open_operation(&self, process: ProcessId) -> Option<OpId> {
        self.open[process.index()].checked_sub(1).map(OpId)
    }

    /// What an operation calls.
    pub fn call_of(&mut self, op: OpId) -> Call {
        self.batch.flush(&mut self.history);
        let history = &self.history;
        Call {
            object: history.object(op),
            key: history.key(op),
            arg: history.arg(op),
            ..Call::new(history.method(op))
        }
    }

    /// Changes the argument of an operation, for formats that tell it only at the return.
    pub fn set_arg(&mut self, op: OpId, arg: ValueId) {
        self.batch.flush(&mut self.history);
        self.history.arg.set(op.index(), u64::from(arg.0));
    }

    /// The note of an operation so far.
    pub(crate) fn note_of(&self, op: OpId) -> Option<&Value> {
        self.history.notes.get(&op)
    }

    /// The stamp of the next event.
    pub(crate) fn now(&self) -> Time {
        self.events
    }

    /// The stamp of the first event at or after a recorded time; the time itself, as the number of
    /// an event, when the log has no times.
    pub(crate) fn stamp_at(&self, time: Time) -> Time {
        let clock = &self.history.clock;
        if clock.is_empty() {
            return time;
        }
        let (mut low, mut high) = (0, clock.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if clock.get(middle) < time {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low as Time
    }

    /// A process calls an operation: the next event of the log.
    pub fn call(&mut self, line: u64, process: ProcessId, call: Call) -> Result<OpId, InputError> {
        let stamp = self.next_stamp(line, call.time)?;
        let open = self.open[process.index()];
        if open != 0 {
            let open_since = self.history.line(OpId(open - 1));
            let process = self.history.process_name(process).to_string();
            return Err(self.error(line, Problem::ProcessBusy { process, open_since }));
        }
        let interval = Interval { call: stamp, ret: None };
        let op = match self.listening.as_mut().and_then(|listening| listening.free.pop()) {
            Some(free) => self.replace(free, line, process, call),
            None => self.push(line, process, call, interval, Return::ok()),
        };
        self.register_id(line, call.id, op)?;
        self.open[process.index()] = op.0 + 1;
        self.tell_call(op, line, call)?;
        Ok(op)
    }

    /// A process returns from its open operation: the next event of the log.
    pub fn ret(&mut self, line: u64, process: ProcessId, ret: Return) -> Result<OpId, InputError> {
        let stamp = self.next_stamp(line, ret.time)?;
        let op = self.returning(line, process, ret.id)?;
        self.open[process.index()] = 0;
        self.set_return(op, stamp, ret);
        self.tell_return(op, line, ret)?;
        Ok(op)
    }

    /// Puts an operation into the place of one that has returned.
    fn replace(&mut self, op: OpId, line: u64, process: ProcessId, call: Call) -> OpId {
        let (history, index) = (&mut self.history, op.index());
        history.process.set(index, u64::from(process.0));
        history.method.set(index, u64::from(call.method.0));
        history.object.set(index, u64::from(call.object.0));
        history.key.set(index, u64::from(call.key.0));
        history.arg.set(index, u64::from(call.arg.0));
        history.line.set(index, line);
        op
    }

    /// An operation that the log tells whole, with its times.
    #[inline]
    pub fn operation(
        &mut self,
        line: u64,
        process: Option<ProcessId>,
        call: Call,
        interval: Interval,
        ret: Return,
    ) -> Result<OpId, InputError> {
        if let Some(ret) = interval.ret.filter(|&ret| ret < interval.call || ret == Time::MAX) {
            return Err(self.bad_return(line, interval.call, ret));
        }
        if self.listening.is_some() {
            return self.tell_operation(line, process, call, interval, ret);
        }
        self.in_call_order &= self.last_time <= interval.call;
        self.last_time = interval.call;
        self.anonymous |= process.is_none();
        let process = process.unwrap_or(ProcessId(0));
        let op = OpId::from(self.len());
        let (span, result, failed) = end_of(interval, ret);
        let Call { method, arg, object, key, .. } = call;
        let plain = Plain { line, method, arg, result, call: interval.call, ret: interval.call };
        let besides = Besides { process: process.0, object, key, span, failed };
        if self.batch.push_with(plain, besides, &mut self.history).is_full() {
            self.batch.flush(&mut self.history);
        }
        self.register_id(line, call.id, op)?;
        Ok(op)
    }

    /// A plain operation of a log that names no processes and tells operations whole.
    #[inline]
    pub(crate) fn plain(&mut self, plain: Plain) -> Result<(), InputError> {
        let Plain { line, call, ret, .. } = plain;
        if ret < call || ret == Time::MAX {
            return Err(self.bad_return(line, call, ret));
        }
        if self.listening.is_some() {
            return self.tell_plain(plain);
        }
        self.in_call_order &= self.last_time <= call;
        self.last_time = call;
        self.anonymous = true;
        if self.batch.push(plain, &mut self.history).is_full() {
            self.batch.flush(&mut self.history);
        }
        Ok(())
    }

    /// Something that happened around the operations, at the present moment of an event log.
    pub fn annotate_now(&mut self, group: &str, text: &str) {
        let now = self.events;
        self.annotate(Annotation {
            start: now,
            end: now,
            group: group.to_owned(),
            text: text.to_owned(),
            colour: None,
        });
    }

    /// Something that happened around the operations.
    pub fn annotate(&mut self, annotation: Annotation) {
        if self.listening.is_none() {
            self.history.annotations.push(annotation);
        }
    }

    /// What the source says of an operation beyond its call and result.
    pub fn note(&mut self, op: OpId, note: Value) {
        if self.listening.is_none() {
            self.history.notes.insert(op, note);
        }
    }

    #[cold]
    fn bad_return(&self, line: u64, call: Time, ret: Time) -> InputError {
        let problem = match ret {
            Time::MAX => Problem::Syntax {
                expected: "times below 2^64 - 1".into(),
                found: format!("`{ret}`"),
            },
            _ => Problem::ReturnBeforeCall { call, ret },
        };
        self.error(line, problem)
    }

    #[cold]
    fn error(&self, line: u64, problem: Problem) -> InputError {
        InputError::new(&self.history.source, line, problem)
    }

    /// The stamp of the next event: its rank. The time is for display and must not run backwards.
    fn next_stamp(&mut self, line: u64, time: Option<Time>) -> Result<Time, InputError> {
        let stamp = self.events;
        self.events += 1;
        if let Some(now) = time {
            let before = self.last_time;
            if now < before {
                return Err(self.error(line, Problem::TimeRunsBackwards { before, now }));
            }
            self.last_time = now;
        }
        if self.listening.is_none() && (time.is_some() || !self.history.clock.is_empty()) {
            while (self.history.clock.len() as u64) < stamp {
                self.history.clock.push(0);
            }
            self.history.clock.push(self.last_time);
        }
        Ok(stamp)
    }

    /// Appends an operation; without return its result counts for nothing.
    #[inline]
    fn push(
        &mut self,
        line: u64,
        process: ProcessId,
        call: Call,
        interval: Interval,
        ret: Return,
    ) -> OpId {
        self.batch.flush(&mut self.history);
        let op = OpId::from(self.history.len());
        let (span, result, failed) = end_of(interval, ret);
        let history = &mut self.history;
        history.process.push(u64::from(process.0));
        history.method.push(u64::from(call.method.0));
        history.object.push(u64::from(call.object.0));
        history.key.push(u64::from(call.key.0));
        history.arg.push(u64::from(call.arg.0));
        history.result.push(u64::from(result.0));
        history.call.push(interval.call);
        history.span.push(span);
        history.failed.push(u64::from(failed));
        history.line.push(line);
        op
    }

    fn set_return(&mut self, op: OpId, stamp: Time, ret: Return) {
        let index = op.index();
        if ret.outcome == Outcome::Pending {
            return;
        }
        self.history.result.set(index, u64::from(ret.result.0));
        let span = stamp - self.history.call(op);
        self.history.span.set(index, span.saturating_add(1));
        self.history.failed.set(index, u64::from(ret.outcome == Outcome::Failed));
    }

    fn returning(
        &mut self,
        line: u64,
        process: ProcessId,
        id: ValueId,
    ) -> Result<OpId, InputError> {
        let open = self.open_operation(process);
        match open {
            Some(op) if !id.is_present() || self.ids.get(&id) == Some(&op) => Ok(op),
            _ => {
                let mut process = self.history.process_name(process).to_string();
                if id.is_present() {
                    process = format!("{process} (operation id {})", self.values.get(id));
                }
                Err(self.error(line, Problem::ReturnWithoutCall { process }))
            }
        }
    }

    #[inline]
    fn register_id(&mut self, line: u64, id: ValueId, op: OpId) -> Result<(), InputError> {
        if id.is_present() { self.register_new_id(line, id, op) } else { Ok(()) }
    }

    fn register_new_id(&mut self, line: u64, id: ValueId, op: OpId) -> Result<(), InputError> {
        match self.ids.insert(id, op) {
            None => Ok(()),
            Some(first) => {
                self.batch.flush(&mut self.history);
                let first = self.history.line(first);
                let id = self.values.get(id).to_string();
                Err(self.error(line, Problem::DuplicateId { id, first }))
            }
        }
    }
}

/// How an operation ended: 0 if it is pending, else its duration plus one; its result; and whether
/// it failed. Without return its result counts for nothing.
#[inline]
fn end_of(interval: Interval, ret: Return) -> (u64, ValueId, bool) {
    match (interval.ret, ret.outcome) {
        (None, _) | (_, Outcome::Pending) => (0, ValueId::ABSENT, false),
        (Some(stamp), outcome) => {
            let span = (stamp - interval.call).saturating_add(1);
            (span, ret.result, outcome == Outcome::Failed)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Rows;

    fn operations(times: &[(i64, Time, Option<Time>)]) -> Result<History, InputError> {
        let mut builder = Builder::new("log");
        let method = builder.method("m");
        for (index, &(process, call, ret)) in times.iter().enumerate() {
            let process = builder.process(&Value::Int(process));
            let line = index as u64 + 1;
            let interval = Interval { call, ret };
            builder.operation(line, Some(process), Call::new(method), interval, Return::ok())?;
        }
        builder.finish()
    }

    #[test]
    fn operations_come_out_in_call_order_with_their_lines() {
        let history = operations(&[(0, 5, Some(6)), (1, 1, None), (2, 3, Some(3))]).unwrap();
        let seen: Vec<_> =
            history.operations().map(|op| (op.line(), op.call(), op.ret())).collect();
        assert_eq!(seen, [(2, 1, None), (3, 3, Some(3)), (1, 5, Some(6))]);
    }

    #[test]
    fn overlapping_operations_of_one_process_are_refused() {
        let error = operations(&[(0, 1, Some(4)), (0, 3, Some(5))]).unwrap_err();
        assert_eq!(error.line, 2);
        assert!(matches!(error.problem, Problem::ProcessBusy { open_since: 1, .. }));
    }

    #[test]
    fn a_return_before_its_call_is_refused() {
        let error = operations(&[(0, 4, Some(3))]).unwrap_err();
        assert_eq!(error.problem, Problem::ReturnBeforeCall { call: 4, ret: 3 });
    }

    #[test]
    fn anonymous_operations_get_the_fewest_rows() {
        let mut builder = Builder::new("log");
        let method = builder.method("m");
        for (call, ret) in [(0, 10), (2, 3), (4, 6), (6, 9)] {
            let interval = Interval { call, ret: Some(ret) };
            builder.operation(1, None, Call::new(method), interval, Return::ok()).unwrap();
        }
        let history = builder.finish().unwrap();
        let rows: Vec<u32> = history.operations().map(|op| op.process().0).collect();
        assert_eq!(rows, [0, 1, 1, 2]);
    }

    #[test]
    fn rows_are_the_first_free_ones_however_many_there_are() {
        let mut rows = Rows::default();
        let mut busy_until: Vec<Time> = Vec::new();
        let mut seed = 1u64;
        for call in 0..5_000u64 {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let until = call + (seed >> 40) % 60;
            let free = busy_until.iter().position(|&busy| busy < call);
            let row = free.unwrap_or(busy_until.len());
            busy_until.resize(busy_until.len().max(row + 1), 0);
            busy_until[row] = until;
            assert_eq!(rows.place(call, until), row as u64);
        }
        assert_eq!(rows.count(), busy_until.len() as u64);
        assert!(busy_until.len() > 2 * Rows::SEARCHED);
    }

    #[test]
    fn an_integer_operation_takes_at_most_forty_bytes() {
        let mut builder = Builder::new("log");
        let method = builder.method("write");
        let process = builder.process(&Value::Int(0));
        for i in 0..10_000u64 {
            let arg = builder.values().intern_int(i as i64 * 10_000);
            let interval = Interval { call: i << 33, ret: Some((i << 33) + (1 << 20)) };
            let call = Call::new(method).arg(arg);
            let ret = Return::new(Outcome::Ok, arg);
            builder.operation(i + 1, Some(process), call, interval, ret).unwrap();
        }
        let history = builder.finish().unwrap();
        assert!(history.bytes() <= 40 * history.len(), "{} bytes", history.bytes());
    }

    #[test]
    fn an_id_names_one_operation() {
        let mut builder = Builder::new("log");
        let method = builder.method("m");
        let process = builder.process(&Value::Int(0));
        let id = builder.values().intern_text("a");
        let call = Call { id, ..Call::new(method) };
        builder.call(1, process, call).unwrap();
        builder.ret(2, process, Return { id, ..Return::ok() }).unwrap();
        let error = builder.call(3, process, call).unwrap_err();
        assert_eq!(error.problem, Problem::DuplicateId { id: "\"a\"".into(), first: 1 });
    }
}
