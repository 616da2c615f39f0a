//! Broadcast: every receiver gets every value, in the order in which they were sent, as long as it
//! is not too slow.
//!
//! The last `capacity` values are kept. A receiver that waited for one that is gone is told how many
//! it missed, and goes on with the oldest that is there. It has missed nothing before it is told.

use super::receiver::{Receiver, is_closed, lag, processes};
use crate::catalogue::Entry;
use crate::machine::{Answer, Effect, Flow, Machine, listed, unexplained_value};
use crate::parameters::{Parameter, Parameters};
use crate::sequence::Sequence;
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Vocabulary, intern_lists, interpret,
};
use seriatim_history::{History, Operation, Value, ValueId, Values};
use seriatim_persistent::Entries;
use std::sync::Arc;

/// A broadcast.
#[derive(Clone, Debug)]
pub struct Broadcast {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
    /// The names of the processes, for messages.
    pub processes: Box<[Value]>,
    /// The number of values that are kept.
    pub capacity: usize,
}

/// What a broadcast is like.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    /// The last values, the oldest first.
    pub kept: Sequence,
    /// How many were sent.
    pub sent: i64,
    /// How many a receiver is past; one that is not here none.
    pub past: Entries<Receiver, i64>,
    /// Whether nothing can be sent any more.
    pub is_closed: bool,
}

/// An operation of a broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Sends a value to all.
    Send(ValueId),
    /// The next value of a receiver; waits for it.
    Receive(Receiver),
    /// The next value of a receiver, if there is one.
    TryReceive(Receiver),
    /// How many values a receiver has not got yet, those that it missed included.
    Behind(Receiver),
    /// A receiver begins: it gets what is sent from now on.
    Subscribe(Receiver),
    /// Nothing is sent any more.
    Close,
}

const METHODS: &[Method] = &[
    Method {
        names: &["send", "broadcast", "publish"],
        signature: "(value) -> bool",
        meaning: "send to all; false if closed",
    },
    Method {
        names: &["recv", "receive"],
        signature: "(receiver) -> value, [\"lagged\", count] or \"closed\"",
        meaning: "the receiver's next value, or how many are gone; waits for one",
    },
    Method {
        names: &["try_recv", "try_receive", "poll"],
        signature: "(receiver) -> the same or nil",
        meaning: "the same without waiting: nil if there is none",
    },
    Method {
        names: &["len", "behind", "size"],
        signature: "(receiver) -> integer",
        meaning: "how many values the receiver has not got yet, those that are gone included",
    },
    Method {
        names: &["subscribe", "resubscribe"],
        signature: "(receiver)",
        meaning: "the receiver gets what is sent from now on",
    },
    Method { names: &["close"], signature: "()", meaning: "nothing can be sent any more" },
];

/// The broadcast in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "broadcast",
    aliases: &["broadcast-channel", "lossy-broadcast"],
    meaning: "values that every receiver gets in order, or is told how many it missed",
    parameters: &[Parameter::natural("capacity", "any", "the number of values that are kept")],
    methods: METHODS,
    bind: |parameters, history, failures| {
        let broadcast = Broadcast::build(parameters, history);
        interpret("broadcast", broadcast, history, failures)
    },
};

impl Broadcast {
    /// The broadcast that the parameters describe; every receiver is there from the start.
    pub fn build(parameters: &Parameters, history: &mut History) -> Self {
        intern_lists(history, 1);
        let capacity = parameters.integer("capacity", i64::MAX);
        let values = history.values().clone();
        let capacity = usize::try_from(capacity).unwrap_or(usize::MAX);
        Broadcast { values, processes: processes(history), capacity }
    }

    /// After a value was sent.
    fn sent(&self, state: &State, value: ValueId) -> State {
        let kept = state.kept.push(value);
        let kept = if kept.len() > self.capacity { kept.without_oldest() } else { kept };
        State { kept, sent: state.sent + 1, ..state.clone() }
    }
}

impl State {
    /// How many values a receiver is past.
    fn past(&self, by: Receiver) -> i64 {
        self.past.get(&by).copied().unwrap_or(0)
    }

    /// The state in which a receiver is past so many.
    fn at(&self, by: Receiver, past: i64) -> State {
        let all = match past {
            0 => self.past.without(&by),
            past => self.past.with(by, past),
        };
        State { past: all, ..self.clone() }
    }

    /// What a receiver gets; `None` if there is nothing for it.
    fn receive(&self, by: Receiver) -> Option<Effect<State>> {
        let oldest = self.sent - self.kept.len() as i64;
        let past = self.past(by);
        match usize::try_from(past - oldest) {
            Err(_) => Effect::change(Answer::Lagged(oldest - past), self.at(by, oldest)),
            Ok(place) => {
                let value = self.kept.get(place)?;
                Effect::change(Answer::Value(value), self.at(by, past + 1))
            }
        }
    }
}

impl Op {
    /// The receiver whose operation it is: it concerns nobody else.
    fn receiver(&self) -> Option<Receiver> {
        match self {
            Op::Receive(by) | Op::TryReceive(by) | Op::Behind(by) | Op::Subscribe(by) => Some(*by),
            Op::Send(_) | Op::Close => None,
        }
    }
}

impl Machine for Broadcast {
    type State = State;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn go_on_with(&mut self, values: Arc<Values>) {
        self.values = values;
    }

    fn start(&self) -> State {
        State { kept: Sequence::default(), sent: 0, past: Entries::default(), is_closed: false }
    }

    fn run(&self, state: &State, op: &Op) -> Option<Effect<State>> {
        match *op {
            Op::Send(_) if state.is_closed => Effect::none(Answer::No),
            Op::Send(value) => Effect::change(Answer::Yes, self.sent(state, value)),
            Op::Receive(by) | Op::TryReceive(by) => state.receive(by).or_else(|| match op {
                _ if state.is_closed => Effect::none(Answer::Closed),
                Op::Receive(_) => None,
                _ => Effect::none(Answer::Empty),
            }),
            Op::Behind(by) => Effect::none(Answer::Number(state.sent - state.past(by))),
            Op::Subscribe(by) => Effect::change(Answer::Done, state.at(by, state.sent)),
            Op::Close => Effect::change(Answer::Done, State { is_closed: true, ..state.clone() }),
        }
    }

    fn leaves_unchanged(&self, op: &Op, answer: Option<&Answer>) -> bool {
        match op {
            Op::Send(_) => answer == Some(&Answer::No),
            Op::Receive(_) | Op::TryReceive(_) => {
                matches!(answer, Some(Answer::Empty | Answer::Closed))
            }
            Op::Behind(_) => true,
            Op::Subscribe(_) | Op::Close => false,
        }
    }

    fn swaps(&self, a: &Op, b: &Op) -> bool {
        let both_read = self.leaves_unchanged(a, None) && self.leaves_unchanged(b, None);
        let concern = (a.receiver(), b.receiver());
        both_read || matches!(concern, (Some(one), Some(other)) if one != other)
    }

    fn verb(&self, op: &Op) -> String {
        let by =
            op.receiver().map(|by| by.shown(&self.values, &self.processes)).unwrap_or_default();
        match op {
            Op::Send(value) => format!("send {}", self.values.get(*value)),
            Op::Receive(_) => format!("recv of {by}"),
            Op::TryReceive(_) => format!("try_recv of {by}"),
            Op::Behind(_) => format!("len of {by}"),
            Op::Subscribe(_) => format!("subscribe {by}"),
            Op::Close => "close".to_owned(),
        }
    }

    fn fact(&self, state: &State, op: &Op) -> String {
        let closed = if state.is_closed { ", and it is closed" } else { "" };
        let Some(by) = op.receiver() else { return format!("{} were sent{closed}", state.sent) };
        let next = match state.receive(by).map(|effect| effect.answer) {
            Some(Answer::Value(value)) => format!("its next value is {}", self.values.get(value)),
            Some(Answer::Lagged(count)) => format!("it missed {count}"),
            _ => "there is nothing for it".to_owned(),
        };
        format!("{next}, and {} were sent since{closed}", state.sent - state.past(by))
    }

    fn describe(&self, state: &State) -> String {
        let past = |(by, past): (&Receiver, &i64)| {
            format!("{}: {past}", by.shown(&self.values, &self.processes))
        };
        let past: Vec<String> = state.past.iter().map(past).collect();
        let closed = if state.is_closed { ", closed" } else { "" };
        let kept = listed(&self.values, &state.kept.oldest_first());
        format!("{} sent, {kept} kept, received {{{}}}{closed}", state.sent, past.join(", "))
    }

    fn unexplained(&self, operations: &[(&Op, Option<&Answer>)]) -> Option<(usize, String)> {
        unexplained_value([], operations, |op, ret| match (op, ret) {
            (Op::Send(value), _) => Some(Flow::Brings(*value)),
            (_, Some(Answer::Value(value))) => Some(Flow::Shows(*value)),
            _ => None,
        })
    }

    fn heap(&self, state: &State) -> usize {
        state.kept.own_bytes() + state.past.own_bytes()
    }
}

impl Broadcast {
    /// A value that can be told from all other results.
    fn message(&self, recorded: Recorded<'_>) -> Result<ValueId, Misfit> {
        match recorded.item()? {
            word if is_closed(&self.values, word) || lag(&self.values, word).is_some() => {
                Misfit::expected("a value that is not the result of receiving nothing")
            }
            value => Ok(value),
        }
    }

    /// The answer of receiving.
    fn received(&self, recorded: Recorded<'_>) -> Result<Answer, Misfit> {
        let result = recorded.operation.result();
        match lag(&self.values, result) {
            Some(count) => Ok(Answer::Lagged(count)),
            None if is_closed(&self.values, result) => Ok(Answer::Closed),
            None => recorded.found(),
        }
    }
}

impl Vocabulary for Broadcast {
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
        match recorded.method(METHODS)? {
            "send" => {
                let op = Op::Send(self.message(recorded)?);
                let answer = recorded.success(Answer::Yes);
                recorded.settle(op, Failure::Speaks(Answer::No), answer)
            }
            "recv" => {
                let answer = self.received(recorded).and_then(|answer| match answer {
                    Answer::Empty => Misfit::expected("a value as result: it waits for one"),
                    answer => Ok(answer),
                });
                recorded.settle(Op::Receive(Receiver::of(recorded)?), silent, answer)
            }
            "try_recv" => {
                let op = Op::TryReceive(Receiver::of(recorded)?);
                recorded.settle(op, Failure::Speaks(Answer::Empty), self.received(recorded))
            }
            "len" => {
                recorded.settle(Op::Behind(Receiver::of(recorded)?), silent, recorded.number())
            }
            "subscribe" => {
                recorded.settle(Op::Subscribe(Receiver::of(recorded)?), silent, recorded.done())
            }
            _ => {
                recorded.no_arg()?;
                recorded.settle(Op::Close, silent, recorded.done())
            }
        }
    }
}
