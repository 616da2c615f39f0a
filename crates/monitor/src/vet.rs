//! A quick look at whether a specification can read a history, without reading all of it.
//!
//! Fast monitors read recorded operations themselves and know less about odd input than the
//! specification does. Whether an operation makes sense depends on its method and on the shapes of
//! its argument and result (a number, a text, nothing, the argument repeated), of which there are
//! few. So one operation of each kind is shown to the specification; if it can read those, it can
//! read all. What its parameters say is compared with the values of all.

use hashbrown::HashSet;
use seriatim_history::{History, OpId, Stretch, ValueId};
use seriatim_limits::both;
use seriatim_spec::Reader;
use std::ops::Range;

/// From so many operations on, two threads look at half of them each.
const LONG: usize = 50_000;

/// Whether the specification can read one operation of each kind.
pub fn is_readable(history: &History, reader: &dyn Reader, threads: usize) -> bool {
    let middle = match threads > 1 && history.len() >= LONG {
        true => history.len() / 2 / Stretch::LONGEST * Stretch::LONGEST,
        false => history.len(),
    };
    let first = || examples(history, 0..middle);
    let examples = match middle < history.len() {
        false => first(),
        true => {
            let (mut first, second) = both(first, || examples(history, middle..history.len()));
            first.extend(second);
            first
        }
    };
    let is_in_kind = reader.chosen().is_none_or(|chosen| chosen.choice.is_in_kind(history));
    is_in_kind && reader.read(&mut history.excerpt(&examples)).is_ok()
}

/// One operation of each kind among some, in call order.
fn examples(history: &History, range: Range<usize>) -> Vec<OpId> {
    let mut seen = Seen::new(history);
    let mut examples = Vec::new();
    let mut stretch = Stretch::default();
    let is_plain = !history.has_failures() && !history.has_keys();
    for start in range.clone().step_by(Stretch::LONGEST) {
        history.read_stretch(start, &mut stretch);
        for offset in 0..stretch.len.min(range.end - start) {
            let op = OpId::from(start + offset);
            let manner = match is_plain {
                true => u32::from(stretch.span[offset] == 0),
                false => manner(history, op),
            };
            let (arg, result) = (stretch.arg[offset], stretch.result[offset]);
            let shapes = shapes(history, ValueId(arg), ValueId(result));
            if seen.is_new(stretch.method[offset], manner << 8 | shapes) {
                examples.push(op);
            }
        }
    }
    examples
}

/// How an operation ended and whether it has a key: below 8.
fn manner(history: &History, op: OpId) -> u32 {
    let has_key = u32::from(history.key(op).is_present());
    history.outcome(op) as u32 | has_key << 2
}

/// The kinds that have been seen.
struct Seen {
    /// By method and what else makes a kind, for the first methods.
    table: Vec<bool>,
    others: HashSet<(u32, u32)>,
}

/// How many kinds a method may have.
const KINDS: usize = 8 << 8;

impl Seen {
    fn new(history: &History) -> Self {
        let tabled = history.method_count().min(32);
        Seen { table: vec![false; tabled * KINDS], others: HashSet::new() }
    }

    #[inline]
    fn is_new(&mut self, method: u32, kind: u32) -> bool {
        match self.table.get_mut(method as usize * KINDS + kind as usize) {
            Some(seen) => !std::mem::replace(seen, true),
            None => self.others.insert((method, kind)),
        }
    }
}

/// The shapes of an argument and a result: below 256.
#[inline]
fn shapes(history: &History, arg: ValueId, result: ValueId) -> u32 {
    let echoes = arg == result && arg.is_present();
    let of_result = match echoes {
        true => Shape::Echo,
        false => Shape::of(history, result),
    };
    (Shape::of(history, arg) as u32) << 4 | of_result as u32
}

/// What a value looks like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Absent,
    Nil,
    False,
    True,
    Echo,
    Number,
    Negative,
    Ok,
    Pair,
    Other,
}

/// The shapes of the values that every history has, by id.
const FIRST: [(ValueId, Shape); 4] = [
    (ValueId::ABSENT, Shape::Absent),
    (ValueId::NIL, Shape::Nil),
    (ValueId::FALSE, Shape::False),
    (ValueId::TRUE, Shape::True),
];

impl Shape {
    #[inline]
    fn of(history: &History, id: ValueId) -> Self {
        if let Some(number) = id.as_inline_int() {
            return if number < 0 { Shape::Negative } else { Shape::Number };
        }
        match FIRST.get((id.0 >> 2) as usize) {
            Some(&(first, shape)) if first == id => shape,
            _ => Shape::of_other(history, id),
        }
    }

    #[cold]
    fn of_other(history: &History, id: ValueId) -> Self {
        let values = history.values();
        match values.as_str(id) {
            Some(word) if word.eq_ignore_ascii_case("ok") => Shape::Ok,
            None if values.as_pair(id).is_some() => Shape::Pair,
            _ => Shape::Other,
        }
    }
}
