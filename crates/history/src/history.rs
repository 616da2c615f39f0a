//! A history: all operations of one run, compactly.
//!
//! Each attribute is a [`Column`]; operations are sorted by call. An operation of an integer
//! history takes 15 to 40 bytes. Moments are *stamps* whose order is the real-time order: for logs
//! of events the rank of the event (so that the order of the lines decides, whatever the resolution
//! of the clock), for logs of operations the recorded times themselves.

use crate::rows::{Rows, Seats};
use crate::{
    Column, Conventions, Echo, MethodId, Nil, OpId, Operation, Outcome, ProcessId, Time, Timescale,
    Value, ValueId, Values,
};
use hashbrown::HashMap;
use std::sync::{Arc, OnceLock};

/// A recorded run: operations in call order, with the values they name.
///
/// Made by a [`Builder`](crate::Builder), mostly through [`read`](crate::read).
#[derive(Clone, Debug)]
pub struct History {
    pub(crate) source: Arc<str>,
    pub(crate) spec: Option<String>,
    pub(crate) conventions: Conventions,
    /// Whether processes are tied in a way that stamps cannot tell; see `ties`.
    pub(crate) open_ties: bool,
    /// Whether open ties are taken as overlaps: then the processes order nothing.
    pub(crate) is_loose: bool,
    /// Whether the operations of each process happened in their order, whatever the stamps say.
    pub(crate) keeps_turns: bool,
    pub(crate) values: Arc<Values>,
    pub(crate) process_names: Vec<Value>,
    /// Of processes that have a new name since they went on after a pending operation: who they are
    /// in the source.
    pub(crate) went_on: HashMap<ProcessId, ProcessId>,
    /// Where the source names no processes: the rows that take their place, once somebody asks.
    pub(crate) seats: Option<OnceLock<Seats>>,
    pub(crate) methods: Vec<Box<str>>,
    pub(crate) process: Column,
    pub(crate) method: Column,
    pub(crate) object: Column,
    pub(crate) key: Column,
    pub(crate) arg: Column,
    pub(crate) result: Column,
    pub(crate) call: Column,
    /// 0 for a pending operation, else its duration plus one.
    pub(crate) span: Column,
    pub(crate) failed: Column,
    pub(crate) line: Column,
    /// Where stamps are ranks: the time of each, for display.
    pub(crate) clock: Column,
    pub(crate) timescale: Timescale,
    /// Whether stamps are the ranks of events.
    pub(crate) is_event_log: bool,
    /// Whether these are some of the operations of another history.
    pub(crate) is_excerpt: bool,
    pub(crate) annotations: Vec<Annotation>,
    pub(crate) remarks: Vec<String>,
    pub(crate) missing_logs: u64,
    pub(crate) notes: HashMap<OpId, Value>,
}

/// Something that happened around the operations: a fault injected, a leader elected. For display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// When it began, as a stamp of the history.
    pub start: Time,
    /// When it ended; the same as `start` for a moment.
    pub end: Time,
    /// What belongs together: `nemesis`, a server's name, …
    pub group: String,
    /// What happened.
    pub text: String,
    /// A colour (a name or `#rrggbb`), if the recorder chose one.
    pub colour: Option<String>,
}

impl History {
    pub(crate) fn empty(source: &str) -> Self {
        History {
            source: source.into(),
            spec: None,
            conventions: Conventions::default(),
            open_ties: false,
            is_loose: false,
            keeps_turns: false,
            values: Arc::default(),
            process_names: Vec::new(),
            went_on: HashMap::new(),
            seats: None,
            methods: Vec::new(),
            process: Column::default(),
            method: Column::default(),
            object: Column::default(),
            key: Column::default(),
            arg: Column::default(),
            result: Column::default(),
            call: Column::default(),
            span: Column::default(),
            failed: Column::default(),
            line: Column::default(),
            clock: Column::default(),
            timescale: Timescale::default(),
            is_event_log: false,
            is_excerpt: false,
            annotations: Vec::new(),
            remarks: Vec::new(),
            missing_logs: 0,
            notes: HashMap::new(),
        }
    }

    /// Where the history was read from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The specification that the source names, if it names one.
    pub fn spec(&self) -> Option<&str> {
        self.spec.as_deref()
    }

    /// Whether these are some of the operations of another history, so that what they do not say
    /// that one may.
    pub fn is_excerpt(&self) -> bool {
        self.is_excerpt
    }

    /// Says which specification the history is for.
    pub fn name_spec(&mut self, spec: &str) {
        self.spec = Some(spec.to_owned());
    }

    /// What a result `nil` of the source means.
    pub fn nil(&self) -> Nil {
        self.conventions.nil
    }

    /// What a result of the source means that is the operation's argument.
    pub fn echo(&self) -> Echo {
        self.conventions.echo
    }

    /// The number of operations, pending ones included.
    pub fn len(&self) -> usize {
        self.call.len()
    }

    /// Whether there is no operation.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The operations in call order.
    pub fn operations(&self) -> impl ExactSizeIterator<Item = Operation<'_>> {
        (0..self.len()).map(|index| self.operation(OpId::from(index)))
    }

    /// One operation.
    pub fn operation(&self, id: OpId) -> Operation<'_> {
        Operation { history: self, id }
    }

    /// The interned values.
    pub fn values(&self) -> &Arc<Values> {
        &self.values
    }

    /// The id of a value, which is added to the history's values if it is new.
    pub fn intern(&mut self, value: &Value) -> ValueId {
        // The values are shared with restricted histories: copy them only if something is new.
        match self.values.find(value) {
            Some(known) => known,
            None => Arc::make_mut(&mut self.values).intern(value),
        }
    }

    /// The items of a list, as ids.
    pub fn items(&mut self, list: ValueId) -> Option<Vec<ValueId>> {
        if let Some((first, second)) = self.values.as_pair(list) {
            return Some(vec![first, second]);
        }
        let list = self.values.get(list);
        list.as_list().map(|items| items.iter().map(|item| self.intern(item)).collect())
    }

    /// The number of processes.
    pub fn process_count(&self) -> usize {
        self.process_names().len()
    }

    /// Whether the source names processes. Where it does not, operations have rows that take their
    /// place, and no operation follows another for the sake of its row.
    pub fn names_processes(&self) -> bool {
        self.seats.is_none() && !self.is_loose
    }

    /// Whether the source names no processes: those of the operations are made up, and mean
    /// nothing.
    pub fn invents_processes(&self) -> bool {
        self.seats.is_some()
    }

    /// A process's name in the source.
    pub fn process_name(&self, process: ProcessId) -> &Value {
        &self.process_names()[process.index()]
    }

    /// The names of all processes.
    pub(crate) fn process_names(&self) -> &[Value] {
        match &self.seats {
            None => &self.process_names,
            Some(seats) => &seats.get_or_init(|| self.seated()).names,
        }
    }

    /// Gives every operation the first row that is free at its call.
    fn seated(&self) -> Seats {
        let mut rows = Rows::default();
        let ops = (0..self.len()).map(OpId::from);
        let place = ops.map(|op| rows.place(self.call(op), self.ret(op).unwrap_or(Time::MAX)));
        let process = place.collect();
        let names = (0..rows.count() as i64).map(Value::Int).collect();
        Seats { process, names }
    }

    /// The number of different methods.
    pub fn method_count(&self) -> usize {
        self.methods.len()
    }

    /// A method's name.
    pub fn method_name(&self, method: MethodId) -> &str {
        &self.methods[method.index()]
    }

    /// The process that called an operation.
    #[inline]
    pub fn process(&self, op: OpId) -> ProcessId {
        let column = match &self.seats {
            None => &self.process,
            Some(seats) => &seats.get_or_init(|| self.seated()).process,
        };
        ProcessId(column.get(op.index()) as u32)
    }

    /// The process that called an operation, as the source names it: the same one also after an
    /// operation of its whose outcome nobody knows.
    pub fn caller(&self, op: OpId) -> ProcessId {
        let process = self.process(op);
        self.went_on.get(&process).copied().unwrap_or(process)
    }

    /// The method of an operation.
    #[inline]
    pub fn method(&self, op: OpId) -> MethodId {
        MethodId(self.method.get(op.index()) as u32)
    }

    /// The object of an operation.
    #[inline]
    pub fn object(&self, op: OpId) -> ValueId {
        ValueId(self.object.get(op.index()) as u32)
    }

    /// The key of an operation.
    #[inline]
    pub fn key(&self, op: OpId) -> ValueId {
        ValueId(self.key.get(op.index()) as u32)
    }

    /// The argument of an operation.
    #[inline]
    pub fn arg(&self, op: OpId) -> ValueId {
        ValueId(self.arg.get(op.index()) as u32)
    }

    /// The result of an operation.
    #[inline]
    pub fn result(&self, op: OpId) -> ValueId {
        ValueId(self.result.get(op.index()) as u32)
    }

    /// The call of an operation.
    #[inline]
    pub fn call(&self, op: OpId) -> Time {
        self.call.get(op.index())
    }

    /// The return of an operation; `None` when it is pending.
    #[inline]
    pub fn ret(&self, op: OpId) -> Option<Time> {
        match self.span.get(op.index()) {
            0 => None,
            span => Some(self.call.get(op.index()) + (span - 1)),
        }
    }

    /// How an operation ended.
    #[inline]
    pub fn outcome(&self, op: OpId) -> Outcome {
        match (self.span.get(op.index()), self.failed.get(op.index())) {
            (0, _) => Outcome::Pending,
            (_, 0) => Outcome::Ok,
            _ => Outcome::Failed,
        }
    }

    /// The line of an operation's call in the source; 0 when unknown.
    pub fn line(&self, op: OpId) -> u64 {
        self.line.get(op.index())
    }

    /// The recorded time of a stamp, for display: the stamp itself unless the source is an event
    /// log with times.
    pub fn display_time(&self, stamp: Time) -> Time {
        match usize::try_from(stamp) {
            Ok(index) if index < self.clock.len() => self.clock.get(index),
            _ => stamp,
        }
    }

    /// Whether stamps are ranks, and not the recorded times.
    pub(crate) fn has_ranks(&self) -> bool {
        self.is_event_log || !self.clock.is_empty()
    }

    /// Whether there are recorded times.
    pub(crate) fn has_times(&self) -> bool {
        !self.is_event_log || !self.clock.is_empty()
    }

    /// What the recorded times count, and since when.
    pub fn timescale(&self) -> Timescale {
        self.timescale
    }

    /// When a stamp was, with its unit; nothing where no times were recorded.
    pub fn moment(&self, stamp: Time) -> Option<String> {
        self.has_times().then(|| self.timescale.moment(self.display_time(stamp)))
    }

    /// How many processes recorded something that is not in the history, as far as its recorder
    /// knows. What such a history cannot explain, a missing operation may explain.
    pub fn missing_logs(&self) -> u64 {
        self.missing_logs
    }

    /// What whoever reads a report on the history has to know of how it was read: records that were
    /// left out, processes that were renamed.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Adds a remark.
    pub fn remark(&mut self, remark: impl Into<String>) {
        self.remarks.push(remark.into());
    }

    /// What happened around the operations.
    pub fn annotations(&self) -> &[Annotation] {
        &self.annotations
    }

    /// What the source says of an operation beyond its call and result: a server's name, an error.
    pub fn note(&self, op: OpId) -> Option<&Value> {
        self.notes.get(&op)
    }

    /// How many operations ended how.
    pub fn tally(&self) -> Tally {
        let pending = self.span.zeros();
        // What never returned did not fail either.
        let failed = self.len() - self.failed.zeros();
        Tally { ok: self.len() - pending - failed, failed, pending }
    }

    /// Whether some operation said that it failed.
    pub fn has_failures(&self) -> bool {
        self.failed.zeros() < self.len()
    }

    /// Whether some operation names its object.
    pub fn has_objects(&self) -> bool {
        self.object.zeros() < self.len()
    }

    /// Whether some operation names a key apart from its argument.
    pub fn has_keys(&self) -> bool {
        self.key.zeros() < self.len()
    }

    /// The operations from a position on, as many as fit, for whoever looks at all of them quickly.
    ///
    /// ```
    /// use seriatim_history::{Stretch, ValueId, read_str};
    /// let history = read_str("# stack\npush 7 1 2\npop 7 3 4\n").unwrap();
    /// let mut stretch = Stretch::default();
    /// history.read_stretch(0, &mut stretch);
    /// assert_eq!((stretch.len, stretch.call[1]), (2, 3));
    /// assert_eq!(stretch.arg[0], ValueId::inline_int(7).unwrap().0);
    /// ```
    #[inline]
    pub fn read_stretch(&self, start: usize, stretch: &mut Stretch) {
        let len = (self.len() - start).min(Stretch::LONGEST);
        stretch.len = len;
        self.method.read(start, &mut stretch.method[..len]);
        self.arg.read(start, &mut stretch.arg[..len]);
        self.result.read(start, &mut stretch.result[..len]);
        self.call.read(start, &mut stretch.call[..len]);
        self.span.read(start, &mut stretch.span[..len]);
    }

    /// An estimate of the heap memory in use, in bytes.
    pub fn bytes(&self) -> usize {
        let seats = self.seats.as_ref().and_then(OnceLock::get);
        let rows = seats.map_or(0, |seats| seats.process.bytes());
        self.columns().map(Column::bytes).sum::<usize>() + rows + self.values.bytes()
    }

    /// The history of some of the operations: a counterexample, a part. `keep` names them in
    /// ascending order; with `Until(stamp)` every operation that returns later is pending.
    pub fn restricted(&self, keep: &[OpId], horizon: Horizon) -> History {
        let mut part = self.excerpt(keep);
        part.process_names = self.process_names().to_vec();
        part.went_on = self.went_on.clone();
        part.seats = None;
        part.process = keep.iter().map(|&op| u64::from(self.process(op).0)).collect();
        part.clock = self.clock.clone();
        part.annotations = self.annotations.clone();
        for (new, old) in keep.iter().enumerate() {
            if let Some(note) = self.notes.get(old) {
                part.notes.insert(OpId::from(new), note.clone());
            }
        }
        if let Horizon::Until(stamp) = horizon {
            part.forget_after(stamp);
        }
        part
    }

    /// Some of the operations, named in ascending order, as they were called and returned; by whom,
    /// and what happened around them, is left out.
    pub fn excerpt(&self, keep: &[OpId]) -> History {
        let order: Vec<u32> = keep.iter().map(|op| op.0).collect();
        let mut part = History { values: self.values.clone(), ..History::empty(&self.source) };
        part.spec = self.spec.clone();
        part.conventions = self.conventions;
        part.timescale = self.timescale;
        part.missing_logs = self.missing_logs;
        part.is_event_log = self.is_event_log;
        part.is_excerpt = true;
        part.is_loose = self.is_loose;
        part.keeps_turns = self.keeps_turns;
        part.methods = self.methods.clone();
        for (target, source) in part.columns_mut().into_iter().zip(self.columns()) {
            *target = source.permuted(&order);
        }
        part.seats = Some(OnceLock::new());
        part
    }

    /// Puts the operations in an order; `order` names each of them once.
    pub(crate) fn permute(&mut self, order: &[u32]) {
        for column in self.columns_mut() {
            *column = column.permuted(order);
        }
        if !self.notes.is_empty() {
            let mut place = vec![0; order.len()];
            for (new, &old) in order.iter().enumerate() {
                place[old as usize] = new;
            }
            let notes = std::mem::take(&mut self.notes);
            self.notes =
                notes.into_iter().map(|(op, note)| (place[op.index()].into(), note)).collect();
        }
    }

    fn forget_after(&mut self, stamp: Time) {
        for index in 0..self.len() {
            if self.ret(OpId::from(index)).is_some_and(|ret| ret > stamp) {
                self.span.set(index, 0);
                self.result.set(index, u64::from(ValueId::ABSENT.0));
                self.failed.set(index, 0);
            }
        }
    }

    fn columns(&self) -> impl Iterator<Item = &Column> {
        [
            &self.process,
            &self.method,
            &self.object,
            &self.key,
            &self.arg,
            &self.result,
            &self.call,
            &self.span,
            &self.failed,
            &self.line,
        ]
        .into_iter()
    }

    pub(crate) fn columns_mut(&mut self) -> [&mut Column; 10] {
        [
            &mut self.process,
            &mut self.method,
            &mut self.object,
            &mut self.key,
            &mut self.arg,
            &mut self.result,
            &mut self.call,
            &mut self.span,
            &mut self.failed,
            &mut self.line,
        ]
    }
}

/// Some operations of a history that follow one another in call order, column by column: what most
/// of them are decided by, without looking at each column's width for each operation.
///
/// The outcome is not among them: a span of 0 is a pending operation's, and whether any failed is
/// known of the whole history ([`History::has_failures`]).
#[derive(Clone, Debug)]
pub struct Stretch {
    /// How many there are.
    pub len: usize,
    /// Their methods.
    pub method: [u32; Stretch::LONGEST],
    /// Their arguments.
    pub arg: [u32; Stretch::LONGEST],
    /// Their results.
    pub result: [u32; Stretch::LONGEST],
    /// Their calls.
    pub call: [Time; Stretch::LONGEST],
    /// Their durations plus one; 0 for a pending one.
    pub span: [Time; Stretch::LONGEST],
}

impl Stretch {
    /// The most operations of one stretch.
    pub const LONGEST: usize = 128;
}

impl Default for Stretch {
    fn default() -> Self {
        Stretch {
            len: 0,
            method: [0; Stretch::LONGEST],
            arg: [0; Stretch::LONGEST],
            result: [0; Stretch::LONGEST],
            call: [0; Stretch::LONGEST],
            span: [0; Stretch::LONGEST],
        }
    }
}

/// How far a restricted history reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Horizon {
    /// To the end: returns are kept.
    Whole,
    /// Up to a stamp: what returns after it is pending.
    Until(Time),
}

/// How many operations of a history ended how.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tally {
    /// Returned a result.
    pub ok: usize,
    /// Returned a failure.
    pub failed: usize,
    /// Never returned.
    pub pending: usize,
}

impl Tally {
    /// Why a verdict about such a history would say nothing, if so: it is *vacuous*.
    pub fn vacuous(&self) -> Option<&'static str> {
        match (self.ok, self.failed, self.pending) {
            (0, 0, 0) => Some("the history is empty: nothing was checked"),
            (0, _, 0) => Some("every operation failed: nothing was checked"),
            (0, 0, _) => Some("every operation is pending: nothing was observed"),
            (0, _, _) => Some("every operation failed or is pending: nothing was observed"),
            _ => None,
        }
    }
}
