//! Plain operations on their way into the columns of a history.
//!
//! Appending to ten columns, each of which may have any width, costs more than reading a line. So
//! operations that have nothing unusual (no object, no key, no process, returned, not failed) are
//! gathered, and each column takes many at once.

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

const MOST: usize = 256;

/// Operations that are not in the columns yet.
pub(crate) struct Batch {
    len: usize,
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

    /// Adds an operation; there must be room.
    #[inline]
    pub fn push(&mut self, plain: Plain) -> &Self {
        let place = self.len;
        self.method[place] = plain.method.0;
        self.arg[place] = plain.arg.0;
        self.result[place] = plain.result.0;
        self.call[place] = plain.call;
        self.span[place] = (plain.ret - plain.call).saturating_add(1);
        self.line[place] = plain.line;
        self.len += 1;
        self
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
        history.process.append_zeros(len);
        history.method.append(&self.method[..len]);
        history.object.append_zeros(len);
        history.key.append_zeros(len);
        history.arg.append(&self.arg[..len]);
        history.result.append(&self.result[..len]);
        history.call.append(&self.call[..len]);
        history.span.append(&self.span[..len]);
        history.failed.append_zeros(len);
        history.line.append(&self.line[..len]);
    }
}
