//! The history inside a page: columns of numbers, deflated.
//!
//! Each attribute of the operations is one column of LEB128 numbers, plain or as differences,
//! whichever is shorter; a column of equal numbers is one number. Moments are replaced by their
//! *rank* among the moments at which something happens, so that a page compares small integers and
//! loses nothing of the real-time order (equal moments have equal ranks); the recorded time of each
//! rank is a column of its own. `web/decode.js` reads what this file writes, in the same order.

use crate::text;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use hashbrown::HashMap;
use seriatim_history::{History, OpId, Outcome, Time, Value, ValueId};
use std::io::Write;

/// Where a moment stands among the moments of a history.
pub struct Ranks {
    moments: Vec<Time>,
}

impl Ranks {
    /// The moments at which an operation is called or returns.
    pub fn of(history: &History) -> Ranks {
        let operations = || (0..history.len()).map(OpId::from);
        let mut moments = Vec::with_capacity(2 * history.len());
        moments.extend(operations().map(|op| history.call(op)));
        moments.extend(operations().filter_map(|op| history.ret(op)));
        // Calls are sorted and returns nearly so: a stable sort makes use of it.
        moments.sort();
        moments.dedup();
        Ranks { moments }
    }

    /// The rank of a moment, if something happens then; else that of the next one, less a half.
    pub fn nearest(&self, moment: Time) -> f64 {
        match self.moments.binary_search(&moment) {
            Ok(rank) => rank as f64,
            Err(rank) => rank as f64 - 0.5,
        }
    }

    /// The number of ranks.
    pub fn len(&self) -> usize {
        self.moments.len()
    }
}

/// The history and an order of operations (a witness, or what comes before a counterexample), as
/// the bytes that a page inflates.
pub fn deflated(history: &History, ranks: &Ranks, order: &[OpId]) -> Vec<u8> {
    let mut columns = Columns::new(history);
    columns.operations();
    columns.moments(ranks);
    columns.order(order);
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(LEVEL));
    let strings = columns.strings();
    let written = encoder.write_all(&strings).and_then(|()| encoder.write_all(&columns.bytes));
    written.and_then(|()| encoder.finish()).expect("a vector takes every byte")
}

/// Higher levels save less than a hundredth of the size.
const LEVEL: u32 = 2;

struct Columns<'h> {
    history: &'h History,
    bytes: Vec<u8>,
    /// The values that are not small integers, in the order in which they occur.
    table: Vec<ValueId>,
    places: HashMap<ValueId, u32>,
}

impl<'h> Columns<'h> {
    fn new(history: &'h History) -> Self {
        Columns { history, bytes: Vec::new(), table: Vec::new(), places: HashMap::new() }
    }

    fn operations(&mut self) {
        let history = self.history;
        let all = || (0..history.len()).map(OpId::from);
        number(&mut self.bytes, history.len() as u64);
        self.column(all().map(|op| u64::from(history.process(op).0)));
        self.column(all().map(|op| {
            let failed = history.outcome(op) == Outcome::Failed;
            u64::from(history.method(op).0) << 1 | u64::from(failed)
        }));
        for value in [History::object, History::key, History::arg, History::result] {
            let codes: Vec<u64> = all().map(|op| self.code(value(history, op))).collect();
            self.column(codes.iter().copied());
        }
        self.column(all().map(|op| history.line(op)));
    }

    /// Calls, durations and recorded times.
    fn moments(&mut self, ranks: &Ranks) {
        let history = self.history;
        let moments = &ranks.moments;
        let mut rank = 0;
        let mut calls = Vec::with_capacity(history.len());
        let mut spans = Vec::with_capacity(history.len());
        for op in (0..history.len()).map(OpId::from) {
            let call = history.call(op);
            while moments[rank] < call {
                rank += 1;
            }
            calls.push(rank as u64);
            spans.push(history.ret(op).map_or(0, |ret| {
                let distance = gallop(&moments[rank..], ret);
                distance as u64 + 1
            }));
        }
        self.column(calls.iter().copied());
        self.column(spans.iter().copied());
        let first = moments.first().map_or(0, |&moment| history.display_time(moment));
        let times = moments.iter().map(|&moment| history.display_time(moment).wrapping_sub(first));
        let times: Vec<u64> = times.collect();
        let are_ranks = times.iter().enumerate().all(|(rank, &time)| rank as u64 == time);
        number(&mut self.bytes, if are_ranks { 0 } else { times.len() as u64 });
        if !are_ranks {
            self.column(times.iter().copied());
        }
    }

    fn order(&mut self, order: &[OpId]) {
        number(&mut self.bytes, order.len() as u64);
        self.column(order.iter().map(|op| u64::from(op.0)));
    }

    /// A value in a number: small integers as they are, others by their place in the table.
    fn code(&mut self, value: ValueId) -> u64 {
        if value.as_inline_int().is_some() {
            return u64::from(value.0);
        }
        if !value.is_present() {
            return 0;
        }
        let table = &mut self.table;
        let place = *self.places.entry(value).or_insert_with(|| {
            table.push(value);
            table.len() as u32
        });
        u64::from(place) << 1
    }

    /// The table of values: for each its length with a bit for lists of two, then its characters.
    /// Of a value that is longer than a screen the page has the beginning and the end.
    fn strings(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        number(&mut bytes, self.table.len() as u64);
        for &value in &self.table {
            let value = self.history.values().get(value);
            let (text, is_pair) = match &value {
                Value::List(items) if items.len() == 2 => {
                    (format!("{}, {}", items[0], items[1]), 1)
                }
                other => (other.to_string(), 0),
            };
            let text = text::middle(&text, text::SCREEN);
            number(&mut bytes, (text.len() as u64) << 1 | is_pair);
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes
    }

    /// One column: its mode (0 constant, 1 plain, 2 differences), then its numbers.
    fn column(&mut self, numbers: impl Iterator<Item = u64> + Clone) {
        let bytes = &mut self.bytes;
        let (mut plain, mut different, mut last) = (0, 0, 0);
        let mut is_constant = true;
        let first = numbers.clone().next().unwrap_or(0);
        for next in numbers.clone() {
            plain += length(next);
            different += length(difference(last, next));
            is_constant &= next == first;
            last = next;
        }
        if is_constant {
            bytes.push(0);
            number(bytes, first);
        } else if plain <= different {
            bytes.push(1);
            numbers.for_each(|next| number(bytes, next));
        } else {
            bytes.push(2);
            last = 0;
            for next in numbers {
                number(bytes, difference(last, next));
                last = next;
            }
        }
    }
}

/// The place of a moment in sorted moments, near their beginning.
fn gallop(moments: &[Time], moment: Time) -> usize {
    let mut reach = 1;
    while reach < moments.len() && moments[reach] < moment {
        reach *= 2;
    }
    let from = reach / 2;
    let to = (reach + 1).min(moments.len());
    from + moments[from..to].partition_point(|&other| other < moment)
}

/// The way from one number to another, small for small steps both ways (zigzag).
fn difference(last: u64, next: u64) -> u64 {
    let step = next.wrapping_sub(last) as i64;
    (step << 1 ^ step >> 63) as u64
}

/// The bytes that a number takes.
fn length(number: u64) -> usize {
    (64 - (number | 1).leading_zeros()).div_ceil(7) as usize
}

/// Appends a number, seven bits a byte, the low ones first (LEB128).
fn number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 128 {
        bytes.push(number as u8 | 128);
        number >>= 7;
    }
    bytes.push(number as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::DeflateDecoder;
    use seriatim_history::{Builder, Call, Interval, Return};
    use std::io::Read;

    /// Reads what `Columns` writes, as `web/decode.js` does.
    struct Reader(std::vec::IntoIter<u8>);

    impl Reader {
        fn number(&mut self) -> u64 {
            let mut value = 0;
            for shift in (0..).step_by(7) {
                let byte = self.0.next().expect("a byte");
                value |= u64::from(byte & 127) << shift;
                if byte < 128 {
                    break;
                }
            }
            value
        }

        fn column(&mut self, length: usize) -> Vec<u64> {
            let mode = self.0.next().expect("a mode");
            if mode == 0 {
                return vec![self.number(); length];
            }
            let mut last = 0u64;
            let numbers = (0..length).map(|_| {
                let number = self.number();
                let step = (number >> 1) as i64 ^ -((number & 1) as i64);
                last = if mode == 1 { number } else { last.wrapping_add(step as u64) };
                last
            });
            numbers.collect()
        }
    }

    #[test]
    fn columns_come_back_whatever_their_numbers() {
        let cases: [&[u64]; 7] = [
            &[],
            &[7],
            &[5, 5, 5],
            &[0, u64::MAX, 0, 1 << 63],
            &[1_000_000, 1_000_001, 999_999],
            &[3, 900, 2, 127, 128, 16_383, 16_384],
            &[u64::MAX, u64::MAX - 1],
        ];
        for case in cases {
            let history = Builder::new("").finish().unwrap();
            let mut columns = Columns::new(&history);
            columns.column(case.iter().copied());
            let mut reader = Reader(columns.bytes.into_iter());
            assert_eq!(reader.column(case.len()), case);
            assert_eq!(reader.0.next(), None, "nothing is left of {case:?}");
        }
    }

    #[test]
    fn ranks_keep_the_order_of_moments_and_their_equality() {
        let intervals = [(5, Some(9)), (5, None), (7, Some(7)), (9, Some(100)), (50, Some(60))];
        let mut builder = Builder::new("");
        let method = builder.method("m");
        for (index, (call, ret)) in intervals.into_iter().enumerate() {
            let process = builder.process(&Value::Int(index as i64));
            let interval = Interval { call, ret };
            builder.operation(1, Some(process), Call::new(method), interval, Return::ok()).unwrap();
        }
        let history = builder.finish().unwrap();
        let ranks = Ranks::of(&history);
        assert_eq!(ranks.moments, [5, 7, 9, 50, 60, 100]);
        assert_eq!([4, 5, 6, 100, 101].map(|at| ranks.nearest(at)), [-0.5, 0.0, 0.5, 5.0, 5.5]);
        let mut bytes = Vec::new();
        DeflateDecoder::new(&deflated(&history, &ranks, &[OpId(2), OpId(0)])[..])
            .read_to_end(&mut bytes)
            .unwrap();
        let mut reader = Reader(bytes.into_iter());
        assert_eq!((reader.number(), reader.number()), (0, 5), "no strings, five operations");
        let names = ["process", "method", "object", "key", "arg", "result", "line"];
        let columns = names.map(|_| reader.column(5));
        assert_eq!(columns[0], [0, 1, 2, 3, 4]);
        assert_eq!(reader.column(5), [0, 0, 1, 2, 3], "calls");
        assert_eq!(reader.column(5), [3, 0, 1, 4, 2], "spans");
        assert_eq!(reader.number(), 6, "times");
        assert_eq!(reader.column(6), [0, 2, 4, 45, 55, 95]);
        assert_eq!(reader.number(), 2, "the order");
        assert_eq!(reader.column(2), [2, 0]);
    }
}
