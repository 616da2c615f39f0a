//! Objects that answer: the form in which the built-in specifications are written.
//!
//! Nearly every object is *deterministic*: its state and the operation decide the answer and the
//! next state. Such an object says what it does in one function, [`Machine::run`]; everything that
//! a [`Spec`] owes (which recorded answers are possible, which are not and why) follows from it
//! here, once, so that no object can get it wrong.

use crate::{Next, Spec};
use seriatim_history::{ValueId, Values};
use seriatim_persistent::Text;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

/// What an operation returned. The order is any.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Answer {
    /// It is done, and says no more than that.
    Done,
    /// True: it succeeded, the answer to its question is yes.
    Yes,
    /// False: it failed, the answer to its question is no.
    No,
    /// A value.
    Value(ValueId),
    /// There was no value: the container is empty, the index is beyond the end.
    Empty,
    /// A number: a size, an index.
    Number(i64),
    /// A number that has more than 64 bits, as none that a log tells.
    Beyond,
    /// Several values.
    Items(Box<[ValueId]>),
    /// A text that the history does not name, so that it has no id.
    Text(Text),
    /// There is nothing, and never will be: it is closed.
    Closed,
    /// So many values were missed.
    Lagged(i64),
    /// It returned, and nobody wrote down what.
    Unrecorded,
}

impl Answer {
    /// Yes or no.
    pub fn from_truth(truth: bool) -> Self {
        if truth { Answer::Yes } else { Answer::No }
    }

    /// A number of any size.
    pub fn from_number(number: i128) -> Self {
        i64::try_from(number).map_or(Answer::Beyond, Answer::Number)
    }

    /// A value, or [`Answer::Empty`].
    pub fn from_option(value: Option<ValueId>) -> Self {
        value.map_or(Answer::Empty, Answer::Value)
    }
}

/// What an object does when an operation happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect<S> {
    /// What the operation returns.
    pub answer: Answer,
    /// The state after it; `None` if it is the same as before.
    pub after: Option<S>,
}

impl<S> Effect<S> {
    /// The operation changes the state.
    pub fn change(answer: Answer, after: S) -> Option<Self> {
        let after = Some(after);
        Some(Effect { answer, after })
    }

    /// The operation leaves the state alone.
    pub fn none(answer: Answer) -> Option<Self> {
        let after = None;
        Some(Effect { answer, after })
    }
}

/// A deterministic object. Every machine is a [`Spec`] whose results are [`Answer`]s.
pub trait Machine: Send + Sync {
    /// The object's state.
    type State: Clone + Eq + Hash + Debug + Send;
    /// An operation with its arguments.
    type Op: Clone + Eq + Hash + Debug + Send + Sync;

    /// The values of the history, for messages.
    fn values(&self) -> &Values;

    /// Takes over the values of a history that has grown: those that are known already keep their
    /// ids.
    fn go_on_with(&mut self, values: Arc<Values>);

    /// The state before the first operation.
    fn start(&self) -> Self::State;

    /// What the operation does; `None` if it cannot happen in this state (a lock that is held).
    fn run(&self, state: &Self::State, op: &Self::Op) -> Option<Effect<Self::State>>;

    /// The answer, where it is told sooner than the state after it: that state need not be made
    /// where another answer is recorded.
    fn answer_in_advance(&self, _state: &Self::State, _op: &Self::Op) -> Option<Answer> {
        None
    }

    /// Whether a recorded answer says the same as the true one.
    fn agrees(&self, _op: &Self::Op, recorded: &Answer, answer: &Answer) -> bool {
        *recorded == Answer::Unrecorded || recorded == answer
    }

    /// The states after the operation gave the recorded answer, any answer for `None`. Only an
    /// object that leaves a choice says more than [`run`](Machine::run) does.
    fn successors(
        &self,
        state: &Self::State,
        op: &Self::Op,
        recorded: Option<&Answer>,
    ) -> Next<Self::State> {
        if let Some(recorded) = recorded
            && let Some(answer) = self.answer_in_advance(state, op)
            && !self.agrees(op, recorded, &answer)
        {
            return Next::None;
        }
        match self.run(state, op) {
            Some(effect) if recorded.is_none_or(|ret| self.agrees(op, ret, &effect.answer)) => {
                Next::One(effect.after.unwrap_or_else(|| state.clone()))
            }
            _ => Next::None,
        }
    }

    /// Everything that the operation may do in this state. Only an object that leaves a choice says
    /// more than [`run`](Machine::run) does.
    fn effects(&self, state: &Self::State, op: &Self::Op) -> Vec<Effect<Self::State>> {
        self.run(state, op).into_iter().collect()
    }

    /// Whether the record of a return means the operation that the record of its call meant. Some
    /// records say at the return only what was done.
    fn is_same(&self, called: &Self::Op, returned: &Self::Op) -> bool {
        called == returned
    }

    /// Whether the answer that an operation gave when it took effect is the one that is recorded
    /// when it returns, as the same operation.
    fn is_borne_out(&self, called: (&Self::Op, &Answer), returned: (&Self::Op, &Answer)) -> bool {
        self.agrees(called.0, returned.1, called.1)
    }

    /// Whether the operation with this answer never changes the state; `None`: with any answer.
    fn leaves_unchanged(&self, op: &Self::Op, answer: Option<&Answer>) -> bool;

    /// See [`Spec::is_dispensable`].
    fn is_dispensable(&self, op: &Self::Op) -> bool {
        self.leaves_unchanged(op, None)
    }

    /// See [`Spec::key`].
    fn part(&self, _op: &Self::Op) -> Option<u64> {
        None
    }

    /// See [`Spec::key_name`].
    fn part_name(&self, _op: &Self::Op) -> Option<String> {
        None
    }

    /// See [`Spec::commute`].
    fn swaps(&self, a: &Self::Op, b: &Self::Op) -> bool {
        let both_read = self.leaves_unchanged(a, None) && self.leaves_unchanged(b, None);
        both_read || matches!((self.part(a), self.part(b)), (Some(a), Some(b)) if a != b)
    }

    /// The operation as a verb: `dequeue`, `insert 3`.
    fn verb(&self, op: &Self::Op) -> String;

    /// What is true in a state that decides the operation's answer: `the front is 3`.
    fn fact(&self, state: &Self::State, op: &Self::Op) -> String;

    /// The state as a person reads it.
    fn describe(&self, state: &Self::State) -> String;

    /// See [`Spec::inexplicable`].
    fn unexplained(&self, _operations: &[(&Self::Op, Option<&Answer>)]) -> Option<(usize, String)> {
        None
    }

    /// See [`Spec::data`].
    fn names(&self, _op: &Self::Op, _answer: Option<&Answer>) -> Vec<u64> {
        Vec::new()
    }

    /// See [`Spec::precludes`].
    fn rules_out(&self, _state: &Self::State, _op: &Self::Op, _answer: Option<&Answer>) -> bool {
        false
    }

    /// See [`Spec::reopens`].
    fn undoes(&self, _op: &Self::Op) -> bool {
        true
    }

    /// See [`Spec::state_bytes`].
    fn heap(&self, _state: &Self::State) -> usize {
        0
    }
}

impl<M: Machine> Spec for M {
    type State = M::State;
    type Op = M::Op;
    type Ret = Answer;

    fn initial(&self) -> M::State {
        self.start()
    }

    fn step(&self, state: &M::State, op: &M::Op, ret: Option<&Answer>) -> Next<M::State> {
        self.successors(state, op, ret)
    }

    fn is_read_only(&self, op: &M::Op, ret: Option<&Answer>) -> bool {
        self.leaves_unchanged(op, ret.filter(|&ret| *ret != Answer::Unrecorded))
    }

    fn is_dispensable(&self, op: &M::Op) -> bool {
        Machine::is_dispensable(self, op)
    }

    fn key(&self, op: &M::Op) -> Option<u64> {
        self.part(op)
    }

    fn key_name(&self, op: &M::Op) -> Option<String> {
        self.part_name(op)
    }

    fn commute(&self, a: &M::Op, b: &M::Op) -> bool {
        self.swaps(a, b)
    }

    fn explain(&self, state: &M::State, op: &M::Op, ret: Option<&Answer>) -> String {
        if !self.step(state, op, ret).is_empty() {
            return String::new();
        }
        impossible(self.values(), &self.verb(op), ret, &self.fact(state, op))
    }

    fn show(&self, state: &M::State) -> String {
        self.describe(state)
    }

    fn inexplicable(&self, operations: &[(&M::Op, Option<&Answer>)]) -> Option<(usize, String)> {
        self.unexplained(operations)
    }

    fn data(&self, op: &M::Op, ret: Option<&Answer>) -> Vec<u64> {
        self.names(op, ret)
    }

    fn precludes(&self, state: &M::State, op: &M::Op, ret: Option<&Answer>) -> bool {
        self.rules_out(state, op, ret)
    }

    fn reopens(&self, op: &M::Op) -> bool {
        self.undoes(op)
    }

    fn state_bytes(&self, state: &M::State) -> usize {
        self.heap(state)
    }
}

/// Why an operation cannot return that: what decides it is another fact.
fn impossible(values: &Values, verb: &str, ret: Option<&Answer>, fact: &str) -> String {
    match ret {
        None | Some(Answer::Done | Answer::Unrecorded) => format!("cannot {verb}: {fact}"),
        Some(Answer::Value(value)) => format!("cannot {verb} {}: {fact}", values.get(*value)),
        Some(Answer::Text(text)) => format!("cannot {verb} {text:?}: {fact}"),
        Some(Answer::Empty) => format!("{verb} cannot find nothing: {fact}"),
        Some(Answer::Yes) => format!("{verb} cannot return true: {fact}"),
        Some(Answer::No) => format!("{verb} cannot return false: {fact}"),
        Some(Answer::Number(number)) => format!("{verb} cannot return {number}: {fact}"),
        Some(Answer::Beyond) => format!("{verb} cannot return so much: {fact}"),
        Some(Answer::Closed) => format!("{verb} cannot find it closed: {fact}"),
        Some(Answer::Lagged(count)) => format!("{verb} cannot miss {count}: {fact}"),
        Some(Answer::Items(items)) => {
            format!("{verb} cannot return {}: {fact}", listed(values, items))
        }
    }
}

/// Values as a person reads a list: `[1, 2]`.
pub(crate) fn listed<'v>(values: &Values, items: impl IntoIterator<Item = &'v ValueId>) -> String {
    let items: Vec<String> = items.into_iter().map(|&item| values.get(item).to_string()).collect();
    format!("[{}]", items.join(", "))
}

/// What an operation does to the values that an object holds, whatever the order.
pub(crate) enum Flow {
    /// It brings a value in.
    Brings(ValueId),
    /// It saw or took out a value.
    Shows(ValueId),
}

/// The first operation that shows a value which neither the initial state nor any operation brings.
/// Counts nothing, so an operation may be named once or as often as it happened.
pub(crate) fn unexplained_value<Op>(
    initial: impl IntoIterator<Item = ValueId>,
    operations: &[(&Op, Option<&Answer>)],
    flow: impl Fn(&Op, Option<&Answer>) -> Option<Flow>,
) -> Option<(usize, String)> {
    let mut brought: hashbrown::HashSet<ValueId> = initial.into_iter().collect();
    let mut shown = Vec::new();
    for (position, (op, ret)) in operations.iter().enumerate() {
        match flow(op, *ret) {
            Some(Flow::Brings(value)) => {
                brought.insert(value);
            }
            Some(Flow::Shows(value)) => shown.push((position, value)),
            None => {}
        }
    }
    let (position, _) = shown.into_iter().find(|(_, v)| !brought.contains(v))?;
    let reason = "it returns a value that nothing ever put there".to_owned();
    Some((position, reason))
}
