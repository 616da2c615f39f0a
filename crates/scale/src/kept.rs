//! All operations that were watched, kept on disk as long as they are not too many.
//!
//! The online monitor gives no evidence, and the order that is made beside it is one of many
//! (`windows`). If one of them fails, the ordinary check decides everything that happened from what
//! is kept here: with an order that is replayed, or a counterexample that is confirmed, as for any
//! recorded history. It needs about 30 bytes of disk an operation, and memory for all of them in
//! the end.

use crate::judge::{FilesOf, Judge, Until};
use crate::record::{self, Rank, StreamedOperation, put_frame};
use crate::spill::{Scratch, Temporary, read_frame};
use seriatim_history::{
    History, InputError, Interval, LiveCall, LiveReturn, OpId, Outcome, Time, Value, ValueId,
};
use std::collections::HashMap;

/// What is written at once.
const BLOCK: usize = 256 << 10;

/// The operations of a stream.
pub struct Kept {
    scratch: Scratch,
    file: Option<Temporary>,
    /// Frames that are not written yet.
    block: Vec<u8>,
    /// The operations that have not returned, by their numbers.
    open: Vec<Option<Open>>,
    operations: u64,
    most: u64,
    /// Whether everything is here: it was not too much, and the disk took it.
    is_whole: bool,
}

/// An operation that has not returned.
struct Open {
    call: Time,
    line: u64,
    /// Who called it: some objects ask whose an operation is.
    caller: Value,
    /// The operation, pending.
    bytes: Vec<u8>,
}

impl Kept {
    /// Keeps so many operations.
    pub fn new(scratch: Scratch, most: u64) -> Self {
        let (file, block, open) = (None, Vec::new(), Vec::new());
        Kept { scratch, file, block, open, operations: 0, most, is_whole: true }
    }

    /// An operation is called now.
    pub fn call(&mut self, now: Time, call: &LiveCall<'_>) {
        self.operations += 1;
        if self.operations > self.most {
            self.forget();
        }
        if !self.is_whole {
            return;
        }
        let LiveCall { op, line, caller, method, call, values, .. } = *call;
        // Few records are longer, and most are written twice.
        let mut bytes = Vec::with_capacity(48);
        record::put(
            &mut bytes,
            &StreamedOperation {
                file: 0,
                line,
                caller: Some(caller),
                method,
                call,
                interval: Interval { call: now, ret: None },
                outcome: Outcome::Pending,
                result: ValueId::ABSENT,
                values,
            },
        );
        if self.open.len() <= op.index() {
            self.open.resize_with(op.index() + 1, || None);
        }
        let open = Open { call: now, line, caller: caller.clone(), bytes };
        // A number is used again once its operation has returned; one that stays open is kept as it
        // is.
        if let Some(before) = self.open[op.index()].replace(open) {
            self.write(before.call, &before.bytes);
        }
    }

    /// An operation returns now.
    pub fn ret(&mut self, now: Time, ret: &LiveReturn<'_>) {
        let LiveReturn { op, method, call, ret, values, .. } = *ret;
        if !self.is_whole || ret.outcome == Outcome::Pending {
            return;
        }
        let Some(open) = self.open.get_mut(op.index()).and_then(Option::take) else {
            return self.forget();
        };
        let mut bytes = open.bytes;
        bytes.clear();
        record::put(
            &mut bytes,
            &StreamedOperation {
                file: 0,
                line: open.line,
                caller: Some(&open.caller),
                method,
                call,
                interval: Interval { call: open.call, ret: Some(now) },
                outcome: ret.outcome,
                result: ret.result,
                values,
            },
        );
        self.write(open.call, &bytes);
    }

    fn write(&mut self, call: Time, bytes: &[u8]) {
        put_frame(&mut self.block, call, bytes);
        if self.block.len() < BLOCK {
            return;
        }
        if self.file.is_none() {
            self.file = self.scratch.file().ok();
        }
        let written = self.file.as_mut().map(|file| file.write(&self.block));
        self.block.clear();
        if !matches!(written, Some(Ok(()))) {
            self.forget();
        }
    }

    fn forget(&mut self) {
        self.is_whole = false;
        (self.file, self.block, self.open) = (None, Vec::new(), Vec::new());
    }

    /// The number of each operation that has not returned, by the time of its call.
    pub fn open_numbers(&self) -> HashMap<Time, OpId> {
        let open = self.open.iter().enumerate();
        open.filter_map(|(at, open)| Some((open.as_ref()?.call, OpId::from(at)))).collect()
    }

    /// The history of everything that happened until now, if it is all here.
    pub fn history(&mut self, judge: &Judge) -> Option<Result<(History, FilesOf), InputError>> {
        let mut rows: Vec<(Rank, Vec<u8>)> = Vec::new();
        let mut add = |bytes: &[u8]| {
            rows.push((record::rank(bytes).ok()?, bytes.to_vec()));
            Some(())
        };
        if !self.is_whole {
            return None;
        }
        if let Some(file) = &mut self.file {
            let mut reader = file.rewound().ok()?;
            let mut bytes = Vec::new();
            while read_frame(&mut reader, &mut bytes).ok()?.is_some() {
                add(&bytes)?;
            }
        }
        let mut rest = &self.block[..];
        while !rest.is_empty() {
            add(record::take_frame(&mut rest).ok()?.1)?;
        }
        for open in self.open.iter().flatten() {
            add(&open.bytes)?;
        }
        rows.sort_unstable_by_key(|row| row.0);
        Some(judge.history(&rows, Until::End))
    }
}
