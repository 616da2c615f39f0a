//! Records to operations, by the rules of a map.
//!
//! Every record is for exactly one rule. Where the order of the records counts, calls and returns
//! go to the builder as they come, which pairs them by process. Where times count, they are paired
//! here, in the order of the records of each process, and go to the builder as whole operations:
//! its closed intervals make ties concurrent.

use crate::evaluate::{Lack, Scope};
use crate::moment::Round;
use crate::ready::ready_map;
use crate::rule::{Kind, Part, Rule};
use crate::toml_map::{Busy, Keys, Map, Order};
use seriatim_history::{
    Annotation, Builder, Call, Conventions, Header, History, InputError, Interval, Listener,
    MethodId, Notation, Outcome, Problem, Record, Return, Tells, Time, Value, ValueId,
    read_records,
};
use std::collections::HashMap;
use std::io::Read;

/// What to do with a record that no rule is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unmatched {
    /// It is an error.
    Refuse,
    /// It is left out, and counted.
    Skip,
}

/// A history, and how the records became it.
#[derive(Debug)]
pub struct Mapped {
    /// The history. Its remarks say what was left out and what never matched.
    pub history: History,
    /// How often each rule matched.
    pub rules: Vec<RuleUse>,
    /// How many records no rule was for.
    pub skipped: u64,
}

/// How often a rule matched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleUse {
    /// Its condition and what it makes of a record.
    pub title: String,
    /// How many records it was for.
    pub records: u64,
}

impl Map {
    /// Reads a log. `name` is for messages.
    pub fn read(
        &self,
        reader: impl Read,
        name: &str,
        unmatched: Unmatched,
    ) -> Result<Mapped, InputError> {
        self.read_all(name, vec![(name.to_owned(), Box::new(reader))], unmatched)
    }

    /// Reads several files as one log.
    pub fn read_all<'r>(
        &self,
        name: &str,
        parts: Vec<(String, Box<dyn Read + 'r>)>,
        unmatched: Unmatched,
    ) -> Result<Mapped, InputError> {
        let mut state = Reading::new(self, name, Builder::new(name), unmatched);
        for (name, reader) in parts {
            state.source = name;
            state.part(reader)?;
        }
        state.finish()
    }
}

/// Logs that are read by a map, operation by operation.
pub struct ByMap {
    /// The map.
    pub map: Map,
    /// What to do with records that no rule is for.
    pub unmatched: Unmatched,
}

impl Tells for ByMap {
    fn listen(
        &self,
        reader: Box<dyn Read>,
        name: &str,
        listener: Box<dyn Listener>,
    ) -> Result<Header, InputError> {
        let builder = Builder::listening(name, listener);
        let mut state = Reading::new(&self.map, name, builder, self.unmatched);
        match state.part(reader).and_then(|()| state.close_all()) {
            Ok(()) => state.remark(),
            Err(InputError { problem: Problem::Halted, .. }) => {}
            Err(other) => return Err(other),
        }
        Ok(state.builder.header())
    }

    /// The names of columns stand in the first line, a call and its end in several, and a list of
    /// records is one document.
    fn is_by_lines(&self) -> bool {
        false
    }
}

/// How much of a file is looked at to tell its notation.
const ENOUGH: u64 = 4 << 10;

struct Reading<'m> {
    map: &'m Map,
    builder: Builder,
    source: String,
    unmatched: Unmatched,
    skipped: u64,
    matched: Vec<u64>,
    /// The open calls, by process or id, where times count.
    open: HashMap<Value, Open>,
    /// The calls that were still open when their process called again.
    timed_out: u64,
    last_time: Time,
    steps_back: u64,
}

/// A call that has not ended.
struct Open {
    line: u64,
    called: Called,
    time: Time,
}

/// A key, and what belongs to it.
type KeyAndValue = (Option<Value>, Option<Value>);

/// What a rule makes of the parts of a record that calls have. They are values, not their ids: a
/// builder that tells a listener forgets ids between records.
struct Called {
    process: Option<Value>,
    method: MethodId,
    arg: Option<Value>,
    key: Option<Value>,
    object: Option<Value>,
    id: Option<Value>,
    note: Option<Value>,
}

impl Called {
    fn call(&self, builder: &mut Builder) -> Call {
        let mut interned = |value: &Option<Value>| match value {
            Some(value) => builder.values().intern(value),
            None => ValueId::ABSENT,
        };
        let (arg, key) = (interned(&self.arg), interned(&self.key));
        let (object, id) = (interned(&self.object), interned(&self.id));
        Call { arg, key, object, id, ..Call::new(self.method) }
    }
}

impl<'m> Reading<'m> {
    fn new(map: &'m Map, name: &str, mut builder: Builder, unmatched: Unmatched) -> Self {
        builder.follow(Conventions { nil: map.nil, echo: map.echo });
        builder.measure_in(map.times.timescale());
        if let Some(spec) = &map.spec {
            builder.name_spec(spec);
        }
        Reading {
            map,
            builder,
            source: name.to_owned(),
            unmatched,
            skipped: 0,
            matched: vec![0; map.rules.len()],
            open: HashMap::new(),
            timed_out: 0,
            last_time: 0,
            steps_back: 0,
        }
    }

    /// Reads one file.
    fn part(&mut self, mut reader: Box<dyn Read + '_>) -> Result<(), InputError> {
        let mut prefix = Vec::new();
        let source = self.source.clone();
        let unreadable =
            |error: std::io::Error| InputError::new(&source, 0, Problem::of_reading(&error));
        reader.by_ref().take(ENOUGH).read_to_end(&mut prefix).map_err(unreadable)?;
        let notation = match self.map.notation {
            Some(notation) => notation,
            None => match Notation::of(prefix.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&prefix)) {
                Some(notation) => notation,
                None if prefix.iter().all(u8::is_ascii_whitespace) => return Ok(()),
                None => {
                    let found = String::from_utf8_lossy(&prefix);
                    let expected = "JSON or EDN, or a `format` in the map";
                    let first = found.lines().next().unwrap_or_default();
                    return Err(InputError::syntax(&source, 1, expected, first));
                }
            },
        };
        let whole = std::io::Cursor::new(prefix).chain(reader);
        let columns = &self.map.columns;
        read_records(whole, &source, notation, columns, &mut |record| self.document(record))
    }

    /// A document: a record, or what holds some.
    fn document(&mut self, document: Record) -> Result<(), InputError> {
        let Some(records) = &self.map.records else { return self.record(&document) };
        let scope = self.scope(&document.value);
        let items =
            scope.present(records).map_err(|lack| self.lacks(&document, &lack, "records"))?;
        let Value::List(items) = items else {
            let lack = Lack::Wrong(format!("a list of records, found {items}"));
            return Err(self.lacks(&document, &lack, "records"));
        };
        for value in items {
            self.record(&Record { line: document.line, value })?;
        }
        Ok(())
    }

    fn scope<'s>(&'s self, record: &'s Value) -> Scope<'s> {
        Scope { record, named: &self.map.named, local: None }
    }

    fn record(&mut self, record: &Record) -> Result<(), InputError> {
        self.builder.between_records();
        match self.rule_for(record)? {
            Some(place) => {
                self.matched[place] += 1;
                let map = self.map;
                self.follow(record, &map.rules[place])
            }
            None if self.unmatched == Unmatched::Skip => {
                self.skipped += 1;
                Ok(())
            }
            None => Err(self.no_rule(record)),
        }
    }

    /// The one rule that a record is for.
    fn rule_for(&self, record: &Record) -> Result<Option<usize>, InputError> {
        let scope = self.scope(&record.value);
        let mut found: Option<usize> = None;
        for (place, rule) in self.map.rules.iter().enumerate() {
            let Some(condition) = &rule.when else { continue };
            let is_for = match scope.truth(&condition.expression) {
                Ok(truth) => truth,
                Err(lack) => {
                    return Err(self.lacks(record, &lack, &format!("when of line {}", rule.line)));
                }
            };
            match found {
                Some(first) if is_for => {
                    let rules = &self.map.rules;
                    return Err(self.ambiguous(record, &rules[first], rule));
                }
                None if is_for => found = Some(place),
                _ => {}
            }
        }
        Ok(found.or_else(|| self.map.rules.iter().position(|rule| rule.when.is_none())))
    }

    fn follow(&mut self, record: &Record, rule: &Rule) -> Result<(), InputError> {
        match rule.kind {
            Kind::Skip => Ok(()),
            Kind::Call => self.call(record, rule),
            Kind::End(outcome) => self.end(record, rule, outcome),
            Kind::Operation(outcome) => self.operation(record, rule, outcome),
            Kind::Annotation => self.annotation(record, rule),
        }
    }

    fn call(&mut self, record: &Record, rule: &Rule) -> Result<(), InputError> {
        let called = self.called(record, rule)?;
        let who = self.who(record, rule)?;
        let time = self.time(record, rule, Part::Time, Round::Down)?;
        match self.map.order {
            Order::Records => {
                let process = self.builder.process(&who);
                if self.map.busy == Busy::TimedOut && self.builder.open_operation(process).is_some()
                {
                    self.timed_out += 1;
                    let given_up = Return::new(Outcome::Pending, ValueId::ABSENT);
                    self.builder
                        .ret(record.line, process, given_up)
                        .map_err(|error| self.placed(error))?;
                }
                let time = self.forward(time);
                let call = Call { time, ..called.call(&mut self.builder) };
                let op = self.builder.call(record.line, process, call);
                let op = op.map_err(|error| self.hinted(record, error))?;
                if let Some(note) = called.note {
                    self.builder.note(op, note);
                }
                Ok(())
            }
            Order::Time => {
                // Processes are numbered in the order of their first calls.
                called.process.iter().for_each(|name| _ = self.builder.process(name));
                let open = Open { line: record.line, called, time: time.unwrap_or_default() };
                match self.open.insert(who.clone(), open) {
                    Some(before) if self.map.busy == Busy::TimedOut => {
                        self.timed_out += 1;
                        self.close(before, None, Return::ok())
                    }
                    Some(before) => {
                        let process = who.to_string();
                        let problem = Problem::ProcessBusy { process, open_since: before.line };
                        Err(self
                            .hinted(record, InputError::new(&self.source, record.line, problem)))
                    }
                    None => Ok(()),
                }
            }
        }
    }

    fn end(&mut self, record: &Record, rule: &Rule, outcome: Outcome) -> Result<(), InputError> {
        let who = self.who(record, rule)?;
        let result = self.interned(record, rule, Part::Result)?;
        let time = self.time(record, rule, Part::Time, Round::Up)?;
        let ret = Return::new(outcome, result);
        match self.map.order {
            Order::Records => {
                let process = self.builder.process(&who);
                let id = self.interned(record, rule, Part::Id)?;
                let time = self.forward(time);
                let ret = match self.builder.open_operation(process) {
                    Some(op) => self.told(record, |builder| builder.call_of(op).object, ret)?,
                    None => ret,
                };
                let ret = Return { id, time, ..ret };
                let op = self.builder.ret(record.line, process, ret);
                let op = op.map_err(|error| self.placed(error))?;
                if let Some(note) = self.value(record, rule, Part::Note)? {
                    self.builder.note(op, note);
                }
                Ok(())
            }
            Order::Time => {
                let Some(open) = self.open.remove(&who) else {
                    let problem = Problem::ReturnWithoutCall { process: who.to_string() };
                    return Err(InputError::new(&self.source, record.line, problem));
                };
                let time = time.filter(|_| outcome != Outcome::Pending);
                let ret = self.told(record, |builder| open.called.call(builder).object, ret)?;
                self.close(open, time, ret)
            }
        }
    }

    /// A call with its end goes to the builder.
    fn close(&mut self, open: Open, end: Option<Time>, ret: Return) -> Result<(), InputError> {
        let Open { line, called, time } = open;
        let interval = Interval { call: time, ret: end };
        let process = called.process.as_ref().map(|name| self.builder.process(name));
        let call = called.call(&mut self.builder);
        let op = self.builder.operation(line, process, call, interval, ret);
        let op = op.map_err(|error| self.placed(error))?;
        if let Some(note) = called.note {
            self.builder.note(op, note);
        }
        Ok(())
    }

    fn operation(
        &mut self,
        record: &Record,
        rule: &Rule,
        outcome: Outcome,
    ) -> Result<(), InputError> {
        let called = self.called(record, rule)?;
        let result = self.interned(record, rule, Part::Result)?;
        let time = self.time(record, rule, Part::Call, Round::Down)?.unwrap_or_default();
        let end = match outcome {
            Outcome::Pending => None,
            _ => self.time(record, rule, Part::Return, Round::Up)?,
        };
        let ret = Return::new(outcome, result);
        let ret = self.told(record, |builder| called.call(builder).object, ret)?;
        self.close(Open { line: record.line, called, time }, end, ret)
    }

    fn annotation(&mut self, record: &Record, rule: &Rule) -> Result<(), InputError> {
        let text = |value: Option<Value>| {
            value.map_or(String::new(), |value| {
                value.as_str().map_or(value.to_string(), str::to_owned)
            })
        };
        let said = text(self.value(record, rule, Part::Text)?);
        let group = text(self.value(record, rule, Part::Group)?);
        let moment = self.time(record, rule, Part::Time, Round::Down)?;
        let start = self.time(record, rule, Part::Start, Round::Down)?.or(moment);
        let end = self.time(record, rule, Part::End, Round::Up)?.or(start);
        let is_timed = self.map.order == Order::Time || self.is_of_operations();
        match (start, end) {
            (Some(start), Some(end)) if is_timed => {
                let end = end.max(start);
                self.builder.annotate(Annotation { start, end, group, text: said, colour: None });
            }
            _ => self.builder.annotate_now(&group, &said),
        }
        Ok(())
    }

    /// Whether the log has whole operations.
    fn is_of_operations(&self) -> bool {
        self.map.rules.iter().any(|rule| matches!(rule.kind, Kind::Operation(_)))
    }

    fn called(&mut self, record: &Record, rule: &Rule) -> Result<Called, InputError> {
        let op = self.value(record, rule, Part::Op)?;
        let name = op.as_ref().and_then(Value::as_str);
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            let found = op.map_or("nothing".to_owned(), |op| op.to_string());
            let lack = Lack::Wrong(format!("op: the operation's name, a text, found {found}"));
            return Err(self.lacks(record, &lack, ""));
        };
        let method = self.builder.method(name);
        let mut arg = self.value(record, rule, Part::Arg)?;
        let key = self.value(record, rule, Part::Key)?;
        let mut object = self.value(record, rule, Part::Object)?;
        if self.map.keys == Keys::Independent {
            if object.is_some() {
                let expected = "no `object` in the rule, since independent keys are the objects";
                return Err(self.lacks(record, &Lack::Wrong(expected.to_owned()), ""));
            }
            (object, arg) = self.of_key(record, arg)?;
        }
        let id = self.value(record, rule, Part::Id)?;
        let process = self.value(record, rule, Part::Process)?;
        let note = self.value(record, rule, Part::Note)?;
        Ok(Called { process, method, arg, key, object, id, note })
    }

    /// The key and the value of an argument `[key, value]`.
    fn of_key(&mut self, record: &Record, arg: Option<Value>) -> Result<KeyAndValue, InputError> {
        let values = self.builder.values();
        let arg = arg.map_or(ValueId::ABSENT, |arg| values.intern(&arg));
        let (pair, found) = (values.as_keyed_pair(arg), values.get(arg));
        let Some((key, value)) = pair else {
            let expected = "arg: [key, value], since the keys are independent objects";
            return Err(self.lacks(record, &Lack::Wrong(format!("{expected}, found {found}")), ""));
        };
        Ok((Some(values.get(key)), Some(values.get(value))))
    }

    /// The result of an operation on the object of a key: what stands beside the key.
    fn told(
        &mut self,
        record: &Record,
        object: impl Fn(&mut Builder) -> ValueId,
        ret: Return,
    ) -> Result<Return, InputError> {
        let is_plain = self.map.keys == Keys::Plain || ret.result == ValueId::ABSENT;
        if is_plain || ret.outcome == Outcome::Pending {
            return Ok(ret);
        }
        let object = object(&mut self.builder);
        match self.builder.values().as_keyed_pair(ret.result) {
            Some((key, result)) if key == object => Ok(Return { result, ..ret }),
            // What failed may tell of an error instead.
            None if ret.outcome == Outcome::Failed => Ok(ret),
            _ => {
                let key = self.builder.values().get(object);
                let found = self.builder.values().get(ret.result);
                let expected = format!("result: [{key}, value], as the call says, found {found}");
                Err(self.lacks(record, &Lack::Wrong(expected), ""))
            }
        }
    }

    /// Whose event it is: a process, or an operation that has no process.
    fn who(&self, record: &Record, rule: &Rule) -> Result<Value, InputError> {
        let process = self.value(record, rule, Part::Process)?;
        let who = match process {
            Some(process) => Some(process),
            None => self.value(record, rule, Part::Id)?,
        };
        who.ok_or_else(|| {
            let lack = Lack::Missing("a `process` or an `id`".to_owned());
            self.lacks(record, &lack, "")
        })
    }

    fn value(&self, record: &Record, rule: &Rule, part: Part) -> Result<Option<Value>, InputError> {
        rule.part(&self.scope(&record.value), part).map_err(|lack| self.lacks(record, &lack, ""))
    }

    fn interned(
        &mut self,
        record: &Record,
        rule: &Rule,
        part: Part,
    ) -> Result<ValueId, InputError> {
        let value = self.value(record, rule, part)?;
        Ok(value.map_or(ValueId::ABSENT, |value| self.builder.values().intern(&value)))
    }

    fn time(
        &self,
        record: &Record,
        rule: &Rule,
        part: Part,
        round: Round,
    ) -> Result<Option<Time>, InputError> {
        let Some(value) = self.value(record, rule, part)? else { return Ok(None) };
        match self.map.times.moment(&value, round) {
            Ok(time) => Ok(Some(time)),
            Err(expected) => Err(self.lacks(record, &Lack::Wrong(expected).in_part(part), "")),
        }
    }

    /// Where the order of the records counts, times are for display and do not step back.
    fn forward(&mut self, time: Option<Time>) -> Option<Time> {
        let time = time?;
        self.steps_back += u64::from(time < self.last_time);
        self.last_time = self.last_time.max(time);
        Some(self.last_time)
    }

    /// The calls that never end.
    fn close_all(&mut self) -> Result<(), InputError> {
        let mut open: Vec<Open> = std::mem::take(&mut self.open).into_values().collect();
        open.sort_by_key(|open| open.line);
        open.into_iter().try_for_each(|open| self.close(open, None, Return::ok()))
    }

    /// Says what whoever reads a report has to know.
    fn remark(&mut self) {
        for remark in self.remarks() {
            self.builder.remark(remark);
        }
    }

    fn finish(mut self) -> Result<Mapped, InputError> {
        self.close_all()?;
        self.remark();
        let rules = self.map.rules.iter().zip(&self.matched);
        let rules =
            rules.map(|(rule, &records)| RuleUse { title: rule.title(), records }).collect();
        Ok(Mapped { history: self.builder.finish()?, rules, skipped: self.skipped })
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.skipped > 0 {
            remarks.push(format!(
                "{} of {} records were left out: no rule of {} is for them",
                self.skipped,
                self.skipped + self.matched.iter().sum::<u64>(),
                self.map.source
            ));
        }
        let unused = self.map.rules.iter().zip(&self.matched).filter(|(_, records)| **records == 0);
        let unused: Vec<&Rule> = unused.map(|(rule, _)| rule).collect();
        match &unused[..] {
            [] => {}
            // A ready map is for all logs of its format, and few of them have everything.
            _ if ready_map(&self.map.source).is_some() => {}
            [only] => remarks.push(format!(
                "{}: no record is for the rule {}",
                self.map.source,
                only.title()
            )),
            several => {
                let lines: Vec<String> = several.iter().map(|rule| rule.line.to_string()).collect();
                let (count, all) = (several.len(), self.map.rules.len());
                let (name, lines) = (&self.map.source, lines.join(", "));
                remarks.push(format!(
                    "{name}: no record is for {count} of its {all} rules, those of lines {lines}"
                ));
            }
        }
        if self.timed_out > 0 {
            remarks.push(format!(
                "{} calls were still open when their process called again: their outcome counts as unknown",
                self.timed_out
            ));
        }
        if self.steps_back > 0 {
            remarks.push(format!(
                "{} events carry a time before that of the event before them; the order of the records counts",
                self.steps_back
            ));
        }
        remarks
    }

    /// The error of a file that is one of several.
    fn placed(&self, error: InputError) -> InputError {
        InputError { source: self.source.as_str().into(), ..error }
    }

    /// The error of a call while another is open, with what may be meant.
    fn hinted(&self, record: &Record, error: InputError) -> InputError {
        let error = self.placed(error);
        match &error.problem {
            Problem::ProcessBusy { .. } => {
                let expected = format!(
                    "the end of that call first ({}). If a call without end is one that timed out, say `busy = \"timed-out\"` in {}; \
                     if several calls share a name, give another `process`",
                    error.problem, self.map.source
                );
                InputError::new(
                    &self.source,
                    record.line,
                    Problem::Syntax { expected, found: shown(&record.value) },
                )
            }
            _ => error,
        }
    }

    #[cold]
    fn lacks(&self, record: &Record, lack: &Lack, place: &str) -> InputError {
        let place = if place.is_empty() { String::new() } else { format!("{place}: ") };
        let whole = shown(&record.value);
        let (expected, found) = match lack {
            Lack::Missing(text) => {
                (format!("{text} (write `?` behind what may be missing)"), whole)
            }
            Lack::Wrong(text) => match text.rsplit_once(", found ") {
                Some((expected, found)) => (expected.to_owned(), format!("{found} in {whole}")),
                None => (text.clone(), whole),
            },
        };
        let problem = Problem::Syntax { expected: format!("{place}{expected}"), found };
        InputError::new(&self.source, record.line, problem)
    }

    #[cold]
    fn ambiguous(&self, record: &Record, first: &Rule, second: &Rule) -> InputError {
        let expected = format!(
            "one rule of {} for the record; it is for {} and for {}",
            self.map.source,
            first.title(),
            second.title()
        );
        let problem = Problem::Syntax { expected, found: shown(&record.value) };
        InputError::new(&self.source, record.line, problem)
    }

    #[cold]
    fn no_rule(&self, record: &Record) -> InputError {
        let rules: Vec<String> = self.map.rules.iter().map(Rule::title).collect();
        let expected = format!(
            "a record that a rule of {} is for: {} (--skip-unmatched leaves others out){}",
            self.map.source,
            rules.join(", "),
            self.near_miss(record)
        );
        let problem = Problem::Syntax { expected, found: shown(&record.value) };
        InputError::new(&self.source, record.line, problem)
    }

    /// What a rule compares with a text that differs from the record's only in letters being large
    /// or small.
    fn near_miss(&self, record: &Record) -> String {
        let scope = self.scope(&record.value);
        let conditions = self.map.rules.iter().filter_map(|rule| rule.when.as_ref());
        let near = conditions.filter_map(|condition| scope.near_miss(&condition.expression)).next();
        near.map_or(String::new(), |(path, wanted, found)| {
            format!("; `{path}` is \"{found}\", and a rule is for \"{wanted}\"")
        })
    }
}

/// The longest record that is shown whole, in characters.
const LONGEST: usize = 400;

/// A record as it is shown in a message, without control characters.
fn shown(record: &Value) -> String {
    let text: String =
        record.to_string().chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}
