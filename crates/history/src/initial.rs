//! What was there before the first operation, as operations before all others.
//!
//! An object that was not empty at the start is one to which somebody wrote before: a write that
//! returns before anything else is called says just that, to every engine and in every report.

use crate::{Column, History, MethodId, OpId, ProcessId, Time, Value, ValueId};
use std::sync::OnceLock;

/// A value that was there at the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InitialWrite {
    /// The object, where there are several.
    pub object: ValueId,
    /// The key, where there are keys.
    pub key: ValueId,
    /// The value.
    pub arg: ValueId,
}

impl History {
    /// Puts writes before all operations, each by a process `before`; none of them tells a result.
    /// They must be of different objects or keys, since they overlap.
    ///
    /// ```
    /// use seriatim_history::{InitialWrite, Value, ValueId, read_str};
    /// let mut history = read_str(r#"{"process":0,"op":"read","result":7,"call":0,"return":1}"#)?;
    /// let (object, key, arg) = (ValueId::ABSENT, ValueId::ABSENT, history.intern(&Value::Int(7)));
    /// history.begin_with("write", &[InitialWrite { object, key, arg }]);
    /// let ops: Vec<_> = history.operations().collect();
    /// assert_eq!((ops[0].to_string(), ops[0].precedes(&ops[1])), ("write(7)".to_owned(), true));
    /// # Ok::<(), seriatim_history::InputError>(())
    /// ```
    pub fn begin_with(&mut self, method: &str, writes: &[InitialWrite]) {
        if writes.is_empty() {
            return;
        }
        let first = (0..self.len()).map(|op| self.call.get(op)).min().unwrap_or(0);
        // Ranks are counted from 0, and so may be times.
        let shift = if self.has_ranks() || first < 2 { 2 } else { 0 };
        let begin = first + shift - 2;
        self.shift(shift);
        let method = self.method_named(method);
        let process = ProcessId::from(self.process_names.len());
        if self.seats.is_some() {
            self.seats = Some(OnceLock::new());
        }
        let count = writes.len();
        let repeat = |value: u64| std::iter::repeat_n(value, count).collect::<Vec<u64>>();
        let of = |part: fn(&InitialWrite) -> ValueId| {
            writes.iter().map(|write| u64::from(part(write).0)).collect::<Vec<u64>>()
        };
        let processes = (0..count as u64).map(|number| u64::from(process.0) + number).collect();
        let fronts: [Vec<u64>; 10] = [
            processes,
            repeat(u64::from(method.0)),
            of(|write| write.object),
            of(|write| write.key),
            of(|write| write.arg),
            repeat(u64::from(ValueId::ABSENT.0)),
            repeat(begin),
            repeat(2),
            repeat(0),
            repeat(0),
        ];
        for (column, front) in self.columns_mut().into_iter().zip(fronts) {
            let old = (0..column.len()).map(|place| column.get(place));
            *column = front.into_iter().chain(old).collect();
        }
        self.process_names.extend((0..count).map(|_| Value::Name("before".into())));
        let notes = std::mem::take(&mut self.notes);
        self.notes =
            notes.into_iter().map(|(op, note)| (OpId::from(op.index() + count), note)).collect();
    }

    /// Whether writes were put before all operations.
    pub fn has_initial_writes(&self) -> bool {
        let first = self.operations().next();
        first.is_some_and(|first| {
            first.line() == 0 && *self.process_name(first.process()) == Value::Name("before".into())
        })
    }

    /// Moves everything later by so much.
    fn shift(&mut self, by: Time) {
        if by == 0 {
            return;
        }
        self.call = (0..self.call.len()).map(|op| self.call.get(op) + by).collect();
        for annotation in &mut self.annotations {
            annotation.start += by;
            annotation.end += by;
        }
        if !self.clock.is_empty() {
            let first = self.clock.get(0);
            let old: Vec<Time> = (0..self.clock.len()).map(|rank| self.clock.get(rank)).collect();
            let front = std::iter::repeat_n(first, by as usize);
            self.clock = front.chain(old).collect::<Column>();
        }
    }

    fn method_named(&mut self, name: &str) -> MethodId {
        let known = self.methods.iter().position(|known| **known == *name);
        MethodId::from(known.unwrap_or_else(|| {
            self.methods.push(name.into());
            self.methods.len() - 1
        }))
    }
}
