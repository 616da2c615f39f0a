//! A quick look at whether a specification can read a history, without reading all of it.
//!
//! Fast monitors read recorded operations themselves and know less about odd input than the
//! specification does. Whether an operation makes sense depends on its method and on the shapes of its
//! argument and result (a number, a text, nothing, the argument repeated), of which there are few. So one
//! operation of each kind is shown to the specification; if it can read those, it can read all.

use hashbrown::HashMap;
use seriatim_history::{History, Horizon, MethodId, OpId, Outcome, ValueId};
use seriatim_spec::Reader;

/// Whether the specification can read one operation of each kind.
pub fn is_readable(history: &History, reader: &dyn Reader) -> bool {
    let mut kinds: HashMap<Kind, OpId> = HashMap::new();
    let mut last = None;
    for op in (0..history.len()).map(OpId::from) {
        let kind = Kind::of(history, op);
        if last != Some(kind) {
            kinds.entry(kind).or_insert(op);
            last = Some(kind);
        }
    }
    let mut examples: Vec<OpId> = kinds.into_values().collect();
    examples.sort_unstable();
    reader.read(&mut history.restricted(&examples, Horizon::Whole)).is_ok()
}

/// What decides whether an operation can be read.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Kind {
    method: MethodId,
    outcome: Outcome,
    has_key: bool,
    arg: Shape,
    result: Shape,
}

/// What a value looks like.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Shape {
    Absent,
    Nil,
    True,
    False,
    Echo,
    Number,
    Negative,
    Ok,
    Pair,
    Other,
}

impl Kind {
    #[inline]
    fn of(history: &History, op: OpId) -> Self {
        let (arg, result) = (history.arg(op), history.result(op));
        let echoes = arg == result && arg.is_present();
        Kind {
            method: history.method(op),
            outcome: history.outcome(op),
            has_key: history.key(op).is_present(),
            arg: Shape::of(history, arg),
            result: if echoes { Shape::Echo } else { Shape::of(history, result) },
        }
    }
}

impl Shape {
    #[inline]
    fn of(history: &History, id: ValueId) -> Self {
        match id {
            ValueId::ABSENT => Shape::Absent,
            ValueId::NIL => Shape::Nil,
            ValueId::TRUE => Shape::True,
            ValueId::FALSE => Shape::False,
            id => match id.as_inline_int() {
                Some(0..) => Shape::Number,
                Some(_) => Shape::Negative,
                None => Shape::of_other(history, id),
            },
        }
    }

    fn of_other(history: &History, id: ValueId) -> Self {
        let values = history.values();
        match values.as_str(id) {
            Some(word) if word.eq_ignore_ascii_case("ok") => Shape::Ok,
            None if values.as_pair(id).is_some() => Shape::Pair,
            _ => Shape::Other,
        }
    }
}
