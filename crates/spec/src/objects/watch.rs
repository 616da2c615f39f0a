//! Watch cell: the value that was sent last, and for each receiver whether it has seen it.
//!
//! Instead of versions there is the set of receivers that have seen the value since it was sent:
//! nobody can tell the two apart, and states that differ only in a count are one.

use super::receiver::{Receiver, is_closed, processes};
use crate::catalogue::Entry;
use crate::machine::{Answer, Effect, Flow, Machine, unexplained_value};
use crate::parameters::{Parameter, Parameters};
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Vocabulary, intern_lists, interpret,
};
use seriatim_history::{History, Operation, Value, ValueId, Values};
use seriatim_persistent::Entries;
use std::sync::Arc;

/// A watch cell.
#[derive(Clone, Debug)]
pub struct Watch {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
    /// The names of the processes, for messages.
    pub processes: Box<[Value]>,
    /// The value before the first one that is sent.
    pub init: ValueId,
}

/// What a watch cell is like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The value.
    pub value: ValueId,
    /// Who has seen it; `None`: everybody, since nothing was sent.
    pub seen_by: Option<Entries<Receiver, ()>>,
    /// Whether it was closed: `send` is refused, and nobody waits.
    pub is_closed: bool,
}

/// An operation of a watch cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Replaces the value.
    Send(ValueId),
    /// Replaces the value, closed or not, and gives back the one before.
    Replace(ValueId),
    /// Shows the value.
    Read,
    /// Shows the value and whether it is new to a receiver, who has seen it then.
    Update(Receiver),
    /// Whether there is a value that a receiver has not seen.
    HasChanged(Receiver),
    /// Waits for a value that a receiver has not seen; it has seen it then.
    Changed(Receiver),
    /// A receiver begins: it has seen the value.
    Subscribe(Receiver),
    /// `send` is refused from now on, and nobody waits.
    Close,
}

const METHODS: &[Method] = &[
    Method {
        names: &["send", "write", "set", "publish"],
        signature: "(value) -> bool",
        meaning: "replace the value; false if closed",
    },
    Method {
        names: &["send_replace", "replace", "swap"],
        signature: "(value) -> value",
        meaning: "replace the value, closed or not, and return the one before",
    },
    Method {
        names: &["read", "borrow", "get", "load"],
        signature: "() -> value",
        meaning: "the value",
    },
    Method {
        names: &["update", "borrow_and_update"],
        signature: "(receiver) -> [value, bool]",
        meaning: "the value, and whether it is new to the receiver, who has seen it then",
    },
    Method {
        names: &["has_changed", "is_new"],
        signature: "(receiver) -> bool",
        meaning: "whether there is a value that the receiver has not seen",
    },
    Method {
        names: &["changed", "wait"],
        signature: "(receiver) -> nothing or \"closed\"",
        meaning: "wait for a value that the receiver has not seen; it has seen it then",
    },
    Method {
        names: &["subscribe", "mark_unchanged"],
        signature: "(receiver)",
        meaning: "the receiver has seen the value",
    },
    Method {
        names: &["close"],
        signature: "()",
        meaning: "send is refused, and nobody waits any more",
    },
];

/// The watch cell in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "watch",
    aliases: &["watch-cell", "watch-channel"],
    meaning: "the value that was sent last, and who has seen it",
    parameters: &[Parameter::value("init", "nil", "the value at the start, which all have seen")],
    methods: METHODS,
    bind: |parameters, history, failures| {
        let cell = Watch::build(parameters, history);
        interpret("watch", cell, history, failures)
    },
};

impl Watch {
    /// The cell that the parameters describe.
    pub fn build(parameters: &Parameters, history: &mut History) -> Self {
        intern_lists(history, 1);
        let init = history.intern(parameters.value("init").unwrap_or(&Value::Nil));
        Watch { values: history.values().clone(), processes: processes(history), init }
    }
}

impl State {
    /// Whether a receiver has seen the value.
    fn is_seen(&self, by: Receiver) -> bool {
        self.seen_by.as_ref().is_none_or(|seen_by| seen_by.get(&by).is_some())
    }

    /// After a receiver has seen the value.
    fn seen(&self, by: Receiver) -> State {
        let Some(seen_by) = self.seen_by.as_ref().filter(|_| !self.is_seen(by)) else {
            return self.clone();
        };
        State { seen_by: Some(seen_by.with(by, ())), ..self.clone() }
    }

    /// After a value was sent.
    fn sent(&self, value: ValueId) -> State {
        State { value, seen_by: Some(Entries::default()), is_closed: self.is_closed }
    }
}

impl Op {
    /// The receiver whose operation it is: it concerns nobody else.
    fn receiver(&self) -> Option<Receiver> {
        match self {
            Op::Update(by) | Op::HasChanged(by) | Op::Changed(by) | Op::Subscribe(by) => Some(*by),
            Op::Send(_) | Op::Replace(_) | Op::Read | Op::Close => None,
        }
    }
}

impl Machine for Watch {
    type State = State;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn go_on_with(&mut self, values: Arc<Values>) {
        self.values = values;
    }

    fn start(&self) -> State {
        State { value: self.init, seen_by: None, is_closed: false }
    }

    fn run(&self, state: &State, op: &Op) -> Option<Effect<State>> {
        match *op {
            Op::Send(_) if state.is_closed => Effect::none(Answer::No),
            Op::Send(value) => Effect::change(Answer::Yes, state.sent(value)),
            Op::Replace(value) => Effect::change(Answer::Value(state.value), state.sent(value)),
            Op::Read => Effect::none(Answer::Value(state.value)),
            Op::Update(by) => {
                let is_new = ValueId::from(!state.is_seen(by));
                Effect::change(Answer::Items([state.value, is_new].into()), state.seen(by))
            }
            Op::HasChanged(by) => Effect::none(Answer::from_truth(!state.is_seen(by))),
            Op::Changed(by) if !state.is_seen(by) => Effect::change(Answer::Done, state.seen(by)),
            Op::Changed(_) if state.is_closed => Effect::none(Answer::Closed),
            Op::Changed(_) => None,
            Op::Subscribe(by) => Effect::change(Answer::Done, state.seen(by)),
            Op::Close => Effect::change(Answer::Done, State { is_closed: true, ..state.clone() }),
        }
    }

    fn leaves_unchanged(&self, op: &Op, answer: Option<&Answer>) -> bool {
        match op {
            Op::Read | Op::HasChanged(_) => true,
            Op::Send(_) => answer == Some(&Answer::No),
            Op::Update(_) => {
                matches!(answer, Some(Answer::Items(shown)) if shown[1] == ValueId::FALSE)
            }
            Op::Changed(_) => answer == Some(&Answer::Closed),
            Op::Replace(_) | Op::Subscribe(_) | Op::Close => false,
        }
    }

    fn swaps(&self, a: &Op, b: &Op) -> bool {
        let both_read = self.leaves_unchanged(a, None) && self.leaves_unchanged(b, None);
        let concern = (a.receiver(), b.receiver());
        let is_elsewhere = matches!(concern, (Some(one), Some(other)) if one != other);
        let is_beside = matches!((a, b), (Op::Read, _)) && concern.1.is_some()
            || matches!((a, b), (_, Op::Read)) && concern.0.is_some();
        both_read || is_elsewhere || is_beside
    }

    fn verb(&self, op: &Op) -> String {
        let by =
            op.receiver().map(|by| by.shown(&self.values, &self.processes)).unwrap_or_default();
        match op {
            Op::Send(value) => format!("send {}", self.values.get(*value)),
            Op::Replace(value) => format!("replace by {} what was", self.values.get(*value)),
            Op::Read => "read".to_owned(),
            Op::Update(_) => format!("update of {by}"),
            Op::HasChanged(_) => format!("has_changed of {by}"),
            Op::Changed(_) => format!("changed of {by}"),
            Op::Subscribe(_) => format!("subscribe {by}"),
            Op::Close => "close".to_owned(),
        }
    }

    fn fact(&self, state: &State, op: &Op) -> String {
        let value = self.values.get(state.value);
        let closed = if state.is_closed { ", and the cell is closed" } else { "" };
        match op.receiver() {
            Some(by) if state.is_seen(by) => {
                format!(
                    "the value is {value}, which {} has seen{closed}",
                    by.shown(&self.values, &self.processes)
                )
            }
            Some(by) => {
                format!(
                    "the value is {value}, new to {}{closed}",
                    by.shown(&self.values, &self.processes)
                )
            }
            None => format!("the value is {value}{closed}"),
        }
    }

    fn describe(&self, state: &State) -> String {
        let value = self.values.get(state.value);
        let closed = if state.is_closed { ", closed" } else { "" };
        let Some(seen_by) = &state.seen_by else { return format!("{value}{closed}") };
        let names: Vec<String> =
            seen_by.iter().map(|(by, ())| by.shown(&self.values, &self.processes)).collect();
        match names.is_empty() {
            true => format!("{value}, new to all{closed}"),
            false => format!("{value}, new to all but {}{closed}", names.join(", ")),
        }
    }

    fn unexplained(&self, operations: &[(&Op, Option<&Answer>)]) -> Option<(usize, String)> {
        // What a replacement brings must not hide what it shows, so that is not looked at.
        unexplained_value([self.init], operations, |op, ret| match (op, ret) {
            (Op::Send(value) | Op::Replace(value), _) => Some(Flow::Brings(*value)),
            (Op::Read, Some(Answer::Value(value))) => Some(Flow::Shows(*value)),
            (Op::Update(_), Some(Answer::Items(shown))) => Some(Flow::Shows(shown[0])),
            _ => None,
        })
    }

    fn heap(&self, state: &State) -> usize {
        state.seen_by.as_ref().map_or(0, |seen_by| seen_by.own_bytes())
    }
}

/// The answer of an update: a value and whether it is new.
fn shown(recorded: Recorded<'_>) -> Result<Answer, Misfit> {
    let result = recorded.operation.result();
    match recorded.values().as_pair(result) {
        Some((value, is_new)) if is_new.as_bool().is_some() => {
            Ok(Answer::Items([value, is_new].into()))
        }
        None if result == ValueId::ABSENT => Ok(Answer::Unrecorded),
        _ => Misfit::expected("the value and whether it is new as result, as in [3, true]"),
    }
}

impl Vocabulary for Watch {
    fn methods(&self) -> &'static [Method] {
        METHODS
    }

    fn decode(
        &self,
        operation: Operation<'_>,
        failures: Failures,
    ) -> Result<Decoded<Op, Answer>, Misfit> {
        let recorded = Recorded { operation, failures };
        let silent = Failure::Silent;
        let method = recorded.method(METHODS)?;
        if matches!(method, "read" | "close") {
            recorded.no_arg()?;
        }
        match method {
            "send" => {
                let answer = recorded.success(Answer::Yes);
                recorded.settle(Op::Send(recorded.arg()?), Failure::Speaks(Answer::No), answer)
            }
            "send_replace" => {
                recorded.settle(Op::Replace(recorded.arg()?), silent, recorded.read())
            }
            "read" => recorded.settle(Op::Read, silent, recorded.read()),
            "update" => {
                recorded.settle(Op::Update(Receiver::of(recorded)?), silent, shown(recorded))
            }
            "has_changed" => {
                recorded.settle(Op::HasChanged(Receiver::of(recorded)?), silent, recorded.truth())
            }
            "changed" => {
                let answer = match is_closed(&self.values, operation.result()) {
                    true => Ok(Answer::Closed),
                    false => recorded.done(),
                };
                let refused = Failure::Speaks(Answer::Closed);
                recorded.settle(Op::Changed(Receiver::of(recorded)?), refused, answer)
            }
            "subscribe" => {
                recorded.settle(Op::Subscribe(Receiver::of(recorded)?), silent, recorded.done())
            }
            _ => recorded.settle(Op::Close, silent, recorded.done()),
        }
    }
}
