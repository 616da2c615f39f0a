//! Histories of Elle and Jepsen, in EDN or JSON: `invoke`, then `ok`, `fail` or `info`.
//!
//! ```text
//! {:type :invoke, :process 0, :f :txn, :value [[:r x nil] [:w y 2]], :index 0}
//! {:type :ok,     :process 0, :f :txn, :value [[:r x 1]   [:w y 2]], :index 1}
//! ```
//!
//! Events of a register, `{:type :ok, :process 0, :f :write, :value 3}`, are transactions of one
//! operation.
//!
//! `ok` committed, `fail` aborted, `info` (or no completion at all) is unknown. The order of the
//! events is the order in which they stand. A completion repeats its call, with the values that
//! were read (`agree.rs`). Without `:process` every transaction is a session of its own, and a
//! completion belongs to the one open call that it repeats. A completion without a call is a
//! transaction that may have been called at any earlier time. An `:info` of a process that is not a
//! number and has no open call, such as `:nemesis`, is left out. A read of `nil` saw the initial
//! state.

use super::agree::{Repeats, disagreement};
use super::form::{Forms, Notation};
use super::history::{Plain, register};
use crate::builder::Builder;
use crate::transaction::{Op, Outcome, SessionId, Transaction, Transactions};
use hashbrown::HashMap;
use seriatim_history::{InputError, Time, Value};
use seriatim_limits::InOrder;

pub fn read(source: &str, bytes: &[u8], notation: Notation) -> Result<Transactions, InputError> {
    let mut forms = Forms::new(source, bytes, notation);
    let mut reader = Reader {
        source,
        builder: Builder::new(source),
        open: HashMap::new(),
        list: Vec::new(),
        now: 0,
        nameless: 0,
    };
    while let Some((byte, line)) = forms.next()? {
        // One vector or list around all events.
        if matches!(byte, b'[' | b'(' | b']' | b')') {
            forms.take();
            continue;
        }
        let event = forms.form(0)?;
        reader.event(&event, line)?;
    }
    reader.finish()
}

/// A call that has not completed.
struct Call {
    at: Time,
    line: u64,
    /// Its place in the order of calls.
    place: usize,
    value: Value,
}

struct Reader<'s> {
    source: &'s str,
    builder: Builder,
    /// By process; `None` is that of events without one.
    open: HashMap<Option<Value>, Vec<Call>>,
    /// With their places in the order of calls.
    list: Vec<(usize, Transaction)>,
    now: Time,
    nameless: i64,
}

impl Reader<'_> {
    fn expected(&self, line: u64, expected: &str, found: &Value) -> InputError {
        InputError::syntax(self.source, line, expected, &found.to_string())
    }

    fn event(&mut self, event: &Value, line: u64) -> Result<(), InputError> {
        let Value::Map(entries) = event else {
            return Err(self.expected(line, "an event, a map such as {:type :ok, …}", event));
        };
        let get = |name: &str| {
            entries.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value)
        };
        let process = get("process").filter(|process| **process != Value::Nil).cloned();
        let kind = get("type").unwrap_or(&Value::Nil);
        let is_open = self.open.get(&process).is_some_and(|calls| !calls.is_empty());
        let is_named = matches!(process, Some(Value::Name(_) | Value::Text(_)));
        if is_named && kind.as_str() == Some("info") && !is_open {
            return Ok(());
        }
        self.now += 1;
        let value = get("value").cloned().unwrap_or(Value::Nil);
        let value = match get("f").and_then(Value::as_str).and_then(Plain::named) {
            // That a write is over may be told without what was written.
            Some(Plain::Write) if value == Value::Nil && is_open => value,
            Some(does) => as_transaction(does, value),
            None => value,
        };
        match kind.as_str() {
            Some("invoke") => self.invoke(process, value, line),
            Some("ok") => self.complete(process, Outcome::Committed, value, line),
            Some("fail") => self.complete(process, Outcome::Aborted, value, line),
            Some("info") => self.complete(process, Outcome::Unknown, value, line),
            _ => Err(self.expected(line, "invoke, ok, fail or info as type", kind)),
        }
    }

    fn invoke(
        &mut self,
        process: Option<Value>,
        value: Value,
        line: u64,
    ) -> Result<(), InputError> {
        let place = self.now as usize;
        let calls = self.open.entry(process.clone()).or_default();
        if let (Some(process), Some(open)) = (&process, calls.last()) {
            let expected = format!("process {process} to complete its call of line {}", open.line);
            return Err(InputError::syntax(self.source, line, &expected, "another call of it"));
        }
        calls.push(Call { at: self.now, line, place, value });
        Ok(())
    }

    fn complete(
        &mut self,
        process: Option<Value>,
        outcome: Outcome,
        value: Value,
        line: u64,
    ) -> Result<(), InputError> {
        let repeats = match outcome {
            Outcome::Committed => Repeats::All,
            _ => Repeats::AtMost,
        };
        let call = self.take_call(&process, &value, repeats, line)?;
        let (call_time, place) = call.as_ref().map_or((0, self.now as usize), |c| (c.at, c.place));
        let called = call.map(|call| call.value).filter(|called| *called != Value::Nil);
        // What a transaction meant to write is told by its call, what it read by its completion.
        let ops = match (outcome, called) {
            (Outcome::Committed, Some(called)) if is_write_of_a_register(&value, &called) => called,
            (Outcome::Committed, _) | (_, None) => value,
            (_, Some(called)) => called,
        };
        let session = self.session(process);
        let ops = self.ops(&ops, outcome, line)?;
        let ret = (outcome == Outcome::Committed).then_some(self.now);
        let txn = Transaction { session, call: call_time, ret, outcome, ops, line };
        self.list.push((place, txn));
        Ok(())
    }

    /// The open call that a completion completes.
    fn take_call(
        &mut self,
        process: &Option<Value>,
        value: &Value,
        repeats: Repeats,
        line: u64,
    ) -> Result<Option<Call>, InputError> {
        let Some(calls) = self.open.get_mut(process) else { return Ok(None) };
        let disagrees = |call: &Call| disagreement(&call.value, value, repeats);
        let fitting: Vec<usize> =
            (0..calls.len()).filter(|&index| disagrees(&calls[index]).is_none()).collect();
        match (calls.len(), fitting.as_slice()) {
            (0, _) => Ok(None),
            (_, [one]) => Ok(Some(calls.remove(*one))),
            (1, _) => {
                let told = disagrees(&calls[0]).expect("it does not fit");
                let expected = format!("{}, as the call of line {} says", told.0, calls[0].line);
                Err(InputError::syntax(self.source, line, &expected, &told.1))
            }
            (count, fitting) => {
                let expected = "a :process, or a completion that repeats one open call alone";
                let found = format!("one that repeats {} of {count} open calls", fitting.len());
                Err(InputError::syntax(self.source, line, expected, &found))
            }
        }
    }

    fn session(&mut self, process: Option<Value>) -> SessionId {
        match process {
            Some(process) => self.builder.session(&process),
            None => {
                self.nameless += 1;
                self.builder.session(&Value::text(&format!("#{}", self.nameless)))
            }
        }
    }

    fn ops(&mut self, value: &Value, outcome: Outcome, line: u64) -> Result<Vec<Op>, InputError> {
        let Value::List(items) = value else {
            let expected = "a transaction as value, a list such as [[:r x 1] [:w y 2]]";
            return Err(self.expected(line, expected, value));
        };
        let mut ops = Vec::with_capacity(items.len());
        for item in items {
            match super::history::micro(&mut self.builder, item) {
                Some(op) => ops.push(op),
                None => return Err(self.expected(line, super::history::MICRO, item)),
            }
        }
        if outcome != Outcome::Committed {
            ops.retain(|op| op.changes().is_some());
        }
        Ok(ops)
    }

    fn finish(mut self) -> Result<Transactions, InputError> {
        // What never completed may have happened.
        let open = std::mem::take(&mut self.open);
        for (process, calls) in open {
            for call in calls {
                let session = self.session(process.clone());
                let ops = self.ops(&call.value, Outcome::Unknown, call.line)?;
                let (outcome, ret) = (Outcome::Unknown, None);
                let txn =
                    Transaction { session, call: call.at, ret, outcome, ops, line: call.line };
                self.list.push((call.place, txn));
            }
        }
        self.list.put_in_order_by_key(|entry| entry.0);
        for (_, txn) in self.list {
            self.builder.add(txn);
        }
        self.builder.finish()
    }
}

/// Whether a completion tells nothing and its call is one write: then it was done as it was called.
fn is_write_of_a_register(completion: &Value, call: &Value) -> bool {
    let only = call.as_list().and_then(|ops| if let [op] = ops { op.as_list() } else { None });
    let is_write = only.is_some_and(|op| op[0].as_str() == Some("w") && op[1] == register());
    *completion == Value::Nil && is_write
}

/// A read or write of a register as a transaction; a value that is a list is one already.
fn as_transaction(does: Plain, value: Value) -> Value {
    if value.as_list().is_some() {
        return value;
    }
    let f = match does {
        Plain::Read => "r",
        Plain::Write => "w",
    };
    Value::list([Value::list([Value::Name(f.into()), register(), value])])
}
