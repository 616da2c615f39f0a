//! Rows for the operations of a log that names no processes: each gets the first row that is free at
//! its call.

use crate::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

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
        let rows = self.first_busy_until.iter_mut().enumerate();
        for (row, busy_until) in rows {
            if *busy_until < call {
                *busy_until = until;
                return row as u64;
            }
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
