//! Rows for the operations of a log that names no processes: each gets the first row that is free
//! at its call.

use crate::{Column, Time, Value};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The rows that take the place of processes.
#[derive(Clone, Debug)]
pub(crate) struct Seats {
    /// By operation, its row.
    pub process: Column,
    /// By row, its name: a number.
    pub names: Vec<Value>,
}

/// Rows that intervals are laid in, the first free one for each.
///
/// The first rows are searched one by one, which is fast for the usual few; the others wait in
/// heaps.
#[derive(Default)]
pub(crate) struct Rows {
    first_busy_until: Vec<Time>,
    busy_until: BinaryHeap<Reverse<(Time, u64)>>,
    free: BinaryHeap<Reverse<u64>>,
    others: u64,
}

impl Rows {
    /// How many rows are looked through before a heap takes over.
    pub(crate) const SEARCHED: usize = 16;

    /// The number of rows.
    pub fn count(&self) -> u64 {
        self.first_busy_until.len() as u64 + self.others
    }

    /// The row of an interval; intervals come in the order of their calls.
    #[inline]
    pub fn place(&mut self, call: Time, until: Time) -> u64 {
        // All rows are looked at: which one is free cannot be foretold, and a wrong guess costs
        // more.
        let mut free = 0u32;
        for (row, &busy_until) in self.first_busy_until.iter().enumerate() {
            free |= u32::from(busy_until < call) << row;
        }
        if free != 0 {
            let row = free.trailing_zeros();
            self.first_busy_until[row as usize] = until;
            return u64::from(row);
        }
        if self.first_busy_until.len() < Self::SEARCHED {
            self.first_busy_until.push(until);
            return self.first_busy_until.len() as u64 - 1;
        }
        self.place_among_others(call, until)
    }

    fn place_among_others(&mut self, call: Time, until: Time) -> u64 {
        while let Some(&Reverse((busy_until, row))) = self.busy_until.peek() {
            if busy_until >= call {
                break;
            }
            self.busy_until.pop();
            self.free.push(Reverse(row));
        }
        let row = self.free.pop().map_or_else(
            || {
                self.others += 1;
                self.count() - 1
            },
            |Reverse(row)| row,
        );
        self.busy_until.push(Reverse((until, row)));
        row
    }
}
