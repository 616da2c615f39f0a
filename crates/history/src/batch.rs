//! Plain operations on their way into the columns of a history.
//!
//! Appending to ten columns, each of which may have any width, costs more than reading a line. So
//! operations that a log tells whole are gathered, and each column takes many at once. Those that
//! have nothing unusual (no object, no key, no process, returned, not failed) do not even name what
//! they do not have.

use crate::{History, MethodId, Time, ValueId};

/// An operation that returned, of a log that names no processes.
#[derive(Clone, Copy)]
pub(crate) struct Plain {
    pub line: u64,
    pub method: MethodId,
    pub arg: ValueId,
    pub result: ValueId,
    pub call: Time,
    /// At or after the call.
    pub ret: Time,
}

/// What an operation has besides.
#[derive(Clone, Copy)]
pub(crate) struct Besides {
    pub process: u32,
    pub object: ValueId,
    pub key: ValueId,
    /// 0 for a pending operation, else its duration plus one.
    pub span: u64,
    pub failed: bool,
}

/// As many as make the price of a turn through the columns small: room for more is cleared, and touched
/// for the first time, for the shortest log as well.
const MOST: usize = 64;

/// Operations that are not in the columns yet.
pub(crate) struct Batch {
    len: usize,
    /// Whether the operations have something besides: all or none.
    has_besides: bool,
    process: [u32; MOST],
    object: [u32; MOST],
    key: [u32; MOST],
    failed: [u8; MOST],
    method: [u32; MOST],
    arg: [u32; MOST],
    result: [u32; MOST],
    call: [u64; MOST],
    span: [u64; MOST],
    line: [u64; MOST],
}

impl Default for Batch {
    fn default() -> Self {
        Batch {
            len: 0,
            has_besides: false,
            process: [0; MOST],
            object: [0; MOST],
            key: [0; MOST],
            failed: [0; MOST],
            method: [0; MOST],
            arg: [0; MOST],
            result: [0; MOST],
            call: [0; MOST],
            span: [0; MOST],
            line: [0; MOST],
        }
    }
}

impl Batch {
    /// How many operations wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it must be flushed before the next operation.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len == MOST
    }

    /// Adds an operation that has nothing besides; there must be room.
    #[inline]
    pub fn push(&mut self, plain: Plain, history: &mut History) -> &Self {
        if self.has_besides {
            self.flush(history);
            self.has_besides = false;
        }
        self.put(plain);
        self
    }

    /// Adds an operation with what it has besides; there must be room.
    #[inline]
    pub fn push_with(&mut self, plain: Plain, besides: Besides, history: &mut History) -> &Self {
        if !self.has_besides {
            self.flush(history);
            self.has_besides = true;
        }
        let place = self.len;
        self.put(plain);
        self.process[place] = besides.process;
        self.object[place] = besides.object.0;
        self.key[place] = besides.key.0;
        self.failed[place] = u8::from(besides.failed);
        self.span[place] = besides.span;
        self
    }

    #[inline]
    fn put(&mut self, plain: Plain) {
        let place = self.len;
        self.method[place] = plain.method.0;
        self.arg[place] = plain.arg.0;
        self.result[place] = plain.result.0;
        self.call[place] = plain.call;
        self.span[place] = (plain.ret - plain.call).saturating_add(1);
        self.line[place] = plain.line;
        self.len += 1;
    }

    /// Appends the operations to the columns of a history.
    #[inline]
    pub fn flush(&mut self, history: &mut History) {
        if self.len > 0 {
            self.flush_some(history);
        }
    }

    #[inline(never)]
    fn flush_some(&mut self, history: &mut History) {
        let len = std::mem::take(&mut self.len);
        if self.has_besides {
            history.process.append(&self.process[..len]);
            history.object.append(&self.object[..len]);
            history.key.append(&self.key[..len]);
            history.failed.append(&self.failed[..len]);
        } else {
            let columns = [&mut history.process, &mut history.object, &mut history.key];
            columns.into_iter().for_each(|column| column.append_zeros(len));
            history.failed.append_zeros(len);
        }
        history.method.append(&self.method[..len]);
        history.arg.append(&self.arg[..len]);
        history.result.append(&self.result[..len]);
        history.call.append(&self.call[..len]);
        history.span.append(&self.span[..len]);
        history.line.append(&self.line[..len]);
    }
}
