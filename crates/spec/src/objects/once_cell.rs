//! Once-cell: a place that is filled once and keeps what it got.

use crate::catalogue::Entry;
use crate::machine::{Answer, Effect, Flow, Machine, unexplained_value};
use crate::parameters::Parameters;
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Vocabulary, interpret,
};
use seriatim_history::{History, Operation, ValueId, Values};
use std::sync::Arc;

/// A once-cell.
#[derive(Clone, Debug)]
pub struct OnceCell {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
}

/// An operation of a once-cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// The value, if there is one.
    Get,
    /// Fills the cell if it is empty.
    Set(ValueId),
    /// Fills the cell if it is empty, and shows what is in it.
    GetOrInit(ValueId),
}

const METHODS: &[Method] = &[
    Method {
        names: &["get", "read", "load"],
        signature: "() -> value",
        meaning: "what is in the cell; nil when empty",
    },
    Method {
        names: &["set", "init", "try_insert"],
        signature: "(value) -> bool",
        meaning: "fill the cell; false if it is not empty",
    },
    Method {
        names: &["get_or_init", "get_or_insert", "get-or-init", "getOrInit", "call_once"],
        signature: "(value) -> value",
        meaning: "fill the cell if it is empty; what is in it then",
    },
];

/// The once-cell in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "once-cell",
    aliases: &["once", "once-lock", "lazy"],
    meaning: "a place that is filled once and keeps what it got",
    parameters: &[],
    methods: METHODS,
    bind: |parameters, history, failures| {
        let cell = OnceCell::build(parameters, history);
        interpret("once-cell", cell, history, failures)
    },
};

impl OnceCell {
    /// A cell, which is empty at the start.
    pub fn build(_: &Parameters, history: &mut History) -> Self {
        OnceCell { values: history.values().clone() }
    }
}

impl Machine for OnceCell {
    type State = Option<ValueId>;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn go_on_with(&mut self, values: Arc<Values>) {
        self.values = values;
    }

    fn start(&self) -> Option<ValueId> {
        None
    }

    fn run(&self, &state: &Option<ValueId>, op: &Op) -> Option<Effect<Option<ValueId>>> {
        match (*op, state) {
            (Op::Get, _) => Effect::none(Answer::from_option(state)),
            (Op::Set(_), Some(_)) => Effect::none(Answer::No),
            (Op::Set(value), None) => Effect::change(Answer::Yes, Some(value)),
            (Op::GetOrInit(_), Some(held)) => Effect::none(Answer::Value(held)),
            (Op::GetOrInit(value), None) => Effect::change(Answer::Value(value), Some(value)),
        }
    }

    fn leaves_unchanged(&self, op: &Op, answer: Option<&Answer>) -> bool {
        match op {
            Op::Get => true,
            Op::Set(_) => answer == Some(&Answer::No),
            Op::GetOrInit(value) => answer.is_some_and(|answer| *answer != Answer::Value(*value)),
        }
    }

    fn verb(&self, op: &Op) -> String {
        match op {
            Op::Get => "get".to_owned(),
            Op::Set(value) => format!("set {}", self.values.get(*value)),
            Op::GetOrInit(value) => format!("get or init with {} as", self.values.get(*value)),
        }
    }

    fn fact(&self, state: &Option<ValueId>, _: &Op) -> String {
        match state {
            Some(value) => format!("the cell holds {}", self.values.get(*value)),
            None => "the cell is empty".to_owned(),
        }
    }

    fn describe(&self, state: &Option<ValueId>) -> String {
        state.map_or("empty".to_owned(), |value| self.values.get(value).to_string())
    }

    fn unexplained(&self, operations: &[(&Op, Option<&Answer>)]) -> Option<(usize, String)> {
        unexplained_value([], operations, |op, ret| match (op, ret) {
            (Op::Set(value) | Op::GetOrInit(value), _) => Some(Flow::Brings(*value)),
            (_, Some(Answer::Value(value))) => Some(Flow::Shows(*value)),
            _ => None,
        })
    }
}

impl Vocabulary for OnceCell {
    fn methods(&self) -> &'static [Method] {
        METHODS
    }

    fn decode(
        &self,
        operation: Operation<'_>,
        failures: Failures,
    ) -> Result<Decoded<Op, Answer>, Misfit> {
        let recorded = Recorded { operation, failures };
        match recorded.method(METHODS)? {
            "get" => recorded.settle(Op::Get, Failure::Silent, recorded.found()),
            "set" => {
                let op = Op::Set(recorded.item()?);
                let answer = recorded.success(Answer::Unrecorded);
                recorded.settle(op, Failure::Speaks(Answer::No), answer)
            }
            _ => recorded.settle(Op::GetOrInit(recorded.item()?), Failure::Silent, recorded.kept()),
        }
    }
}
