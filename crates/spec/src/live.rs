//! Specifications that hear of operations as they happen.
//!
//! A history is read as a whole: its values are numbered, priorities are ranked, and the
//! specification knows all operations before the first step. A stream has no whole. A [`Live`]
//! specification reads one record after another, and what it said of earlier ones (states,
//! operations, answers) stays true: values keep their ids, and no state depends on what will be
//! heard. Where that cannot be kept (a text among priorities that were numbers so far, a segment
//! that nobody had named) it refuses the record, and whoever watches begins again with a
//! specification that was made from everything heard so far ([`Sample`]).
//!
//! Besides what a [`Spec`] says, it tells what an operation *would answer*, since an
//! operation takes effect before anybody knows its result.

use crate::kinds::{self, Unseen};
use crate::machine::{Answer, Machine};
use crate::objects::bounded_deque::BoundedDeque;
use crate::objects::broadcast::Broadcast;
use crate::objects::cache::Cache;
use crate::objects::counter::{Counter, Flavour as Counting};
use crate::objects::deque::Deque;
use crate::objects::line::Line;
use crate::objects::log::Log;
use crate::objects::map::Map;
use crate::objects::multi_register::MultiRegister;
use crate::objects::multiset::Multiset;
use crate::objects::mutex::Mutex;
use crate::objects::once_cell::OnceCell;
use crate::objects::priority_queue::PriorityQueue;
use crate::objects::register::{Flavour, Register};
use crate::objects::semaphore::Semaphore;
use crate::objects::set::Set;
use crate::objects::snapshot::Snapshot;
use crate::objects::sorted_map::SortedMap;
use crate::objects::watch::Watch;
use crate::objects::weighted_semaphore::WeightedSemaphore;
use crate::objects::{queue, stack};
use crate::vocabulary::{Decoded, Failures, Misfit, Split, Vocabulary, intern_lists};
use crate::{ChosenReader, Mentions, Next, Spec, SpecChoice};
use seriatim_history::{
    Builder, Call, Conventions, History, InputError, Interval, Mark, OpId, Outcome, Outside,
    Return, Value, ValueId, Values,
};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

/// What is told of an operation so far: at its call that it is pending, at its return how it ended.
#[derive(Clone, Copy)]
pub struct Told<'v> {
    /// The method's name.
    pub method: &'v str,
    /// The key, where it is apart from the argument.
    pub key: ValueId,
    /// The argument.
    pub arg: ValueId,
    /// How it ended.
    pub outcome: Outcome,
    /// Its result.
    pub result: ValueId,
    /// The values of the stream.
    pub values: &'v Values,
}

/// What an operation may do in a state: its answer, and the state after it unless that is the same.
pub type Effects<S, A> = Vec<(A, Option<S>)>;

/// A specification that hears of operations as they happen.
pub trait Live {
    /// The object's state.
    type State: Clone + Eq + Hash;
    /// An operation with its arguments.
    type Op: Clone;
    /// An answer.
    type Answer: Clone + Ord + Hash + Debug;

    /// What a record means; an error says why it cannot be read, or not any more.
    fn hear(&mut self, told: Told<'_>) -> Result<Decoded<Self::Op, Self::Answer>, String>;

    /// The state before the first operation.
    fn initial(&self) -> Self::State;

    /// The part of the object that the operation acts on; `None` if that may be everything.
    fn part(&self, op: &Self::Op) -> Option<u64>;

    /// Everything that the operation may do in a state.
    fn effects(&self, state: &Self::State, op: &Self::Op) -> Effects<Self::State, Self::Answer>;

    /// Whether the record of the return means the operation that was called.
    fn is_same(&self, called: &Self::Op, returned: &Self::Op) -> bool;

    /// Whether the answer that a called operation gave when it took effect is the recorded one.
    fn is_borne_out(
        &self,
        called: (&Self::Op, &Self::Answer),
        returned: (&Self::Op, &Self::Answer),
    ) -> bool;

    /// Whether the operation with this answer never changes the state.
    fn leaves_unchanged(&self, op: &Self::Op, answer: &Self::Answer) -> bool;

    /// Whether the operation may be forgotten if nobody will ever know its result: see
    /// [`Spec::is_dispensable`].
    fn is_dispensable(&self, op: &Self::Op) -> bool;

    /// Whether two operations commute: see [`Spec::commute`]. `false` is always right.
    fn commute(&self, _a: &Self::Op, _b: &Self::Op) -> bool {
        false
    }

    /// How many values an answer holds, roughly: what it costs to remember it.
    fn weight(&self, answer: &Self::Answer) -> usize;

    /// Why the operation cannot have returned this in a state.
    fn explain(&self, state: &Self::State, op: &Self::Op, answer: &Self::Answer) -> String;

    /// The states after the operation gave this answer, or any answer: what a replay believes, and
    /// nothing that [`effects`](Live::effects) says.
    fn steps(
        &self,
        state: &Self::State,
        op: &Self::Op,
        answer: Option<&Self::Answer>,
    ) -> Vec<Self::State>;

    /// Whether it has heard of so many values that those which nobody names should be forgotten.
    fn is_full(&self) -> bool;

    /// Tells the values that something names.
    fn mention(&self, by: Named<'_, Self>, tell: &mut dyn FnMut(ValueId));

    /// Forgets the values that were not known at the beginning and are none of these. Their ids may
    /// mean others from now on.
    fn keep_only(&mut self, named: Vec<ValueId>);
}

/// Something that names values.
pub enum Named<'a, L: Live + ?Sized> {
    /// A state of the object.
    State(&'a L::State),
    /// An operation.
    Op(&'a L::Op),
    /// An answer.
    Answer(&'a L::Answer),
}

/// How many values are heard of before the first are forgotten.
pub const MOST_VALUES: usize = 100_000;

/// What is known of a stream when a live specification is made.
pub struct Sample<'h> {
    /// Everything that was heard so far.
    pub history: &'h mut History,
    /// How the results of the stream are to be read.
    pub conventions: Conventions,
    /// Whether the parts of the object may be taken apart.
    pub split: Split,
    /// How many values are heard of before those that nobody names are forgotten, for the first
    /// time; usually [`MOST_VALUES`].
    pub most_values: usize,
}

/// Somebody who wants a live specification of whatever type.
pub trait WantsLive {
    /// What it makes of it.
    type Made;

    /// Takes the specification.
    fn take<L: Live + 'static>(self, live: L) -> Self::Made;
}

/// Makes the live specification of a built-in one; an error says why there is none.
///
/// A mutex that only its owner may release has none: records of a stream do not say who calls.
pub fn live<W: WantsLive>(
    reader: &ChosenReader,
    sample: Sample<'_>,
    wants: W,
) -> Result<W::Made, String> {
    let (name, parameters) = (reader.choice.name(), reader.choice.parameters());
    let Sample { history, conventions, split, most_values } = sample;
    kinds::compare(&reader.choice, history).map_err(|error| error.problem.to_string())?;
    let choice = &reader.choice;
    let failures = reader.failures;
    // Which registers belong together is known only when all transactions are.
    let split = if name == "multi-register" { Split::Whole } else { split };
    macro_rules! hearing {
        ($machine:expr) => {{
            let machine = $machine;
            let values = Listened::to(history.values().clone(), most_values);
            let (choice, unseen) = (choice.clone(), Unseen::of(choice));
            Ok(wants.take(Hearing {
                choice,
                machine,
                failures,
                conventions,
                split,
                values,
                unseen,
            }))
        }};
    }
    match name {
        "register" => hearing!(Register::build(parameters, history, Flavour::Plain)),
        "cas-register" => hearing!(Register::build(parameters, history, Flavour::Cas)),
        "rmw" => hearing!(Register::build(parameters, history, Flavour::Rmw)),
        "multi-register" => hearing!(MultiRegister::build(parameters, history)),
        "map" => hearing!(Map::build(parameters, history, &Value::Nil)),
        "kv" => hearing!(Map::build(parameters, history, &Value::text(""))),
        "set" => hearing!(Set::build(parameters, history).of_any()),
        "multiset" => hearing!(Multiset::build(parameters, history)),
        "stack" => hearing!(Line::build(stack::STACK, parameters, history)),
        "queue" => hearing!(Line::build(queue::QUEUE, parameters, history)),
        "priority-queue" => hearing!(PriorityQueue::build(parameters, history).of_integers()),
        "deque" => hearing!(Deque::build(parameters, history)),
        "counter" => hearing!(Counter::build(parameters, history, Counting::Counter)),
        "fetch-and-add" => hearing!(Counter::build(parameters, history, Counting::FetchAndAdd)),
        "mutex" if !parameters.flag("owner") => hearing!(Mutex::build(parameters, history)),
        "semaphore" => hearing!(Semaphore::build(parameters, history)),
        "log" => hearing!(Log::build(parameters, history)),
        "snapshot" => hearing!(Snapshot::build(parameters, history)),
        "sorted-map" => hearing!(SortedMap::build(parameters, history)),
        "bounded-deque" => hearing!(BoundedDeque::build(parameters, history)),
        "cache" => hearing!(Cache::build(parameters, history)),
        "once-cell" => hearing!(OnceCell::build(parameters, history)),
        "weighted-semaphore" => hearing!(WeightedSemaphore::build(parameters, history)),
        "watch" => hearing!(Watch::build(parameters, history)),
        "broadcast" => hearing!(Broadcast::build(parameters, history)),
        _ => Err(format!("{} cannot be watched", reader.choice)),
    }
}

/// A record as a history of one operation whose values are numbered as before, and the values of
/// the lists in it too. The values must not be shared, or they are copied.
pub fn recorded(
    told: Told<'_>,
    values: Values,
    conventions: Conventions,
) -> Result<History, InputError> {
    let mut builder = Builder::new("a stream").with_values(values);
    builder.follow(conventions);
    let mut own = |id: ValueId| match id {
        ValueId::ABSENT | ValueId::NIL | ValueId::TRUE | ValueId::FALSE => id,
        _ if id.as_inline_int().is_some() => id,
        _ => builder.values().intern(&told.values.get(id)),
    };
    let (key, arg, result) = (own(told.key), own(told.arg), own(told.result));
    let call = Call { key, arg, ..Call::new(builder.method(told.method)) };
    let interval = Interval { call: 0, ret: (told.outcome != Outcome::Pending).then_some(1) };
    builder.operation(0, None, call, interval, Return::new(told.outcome, result))?;
    let mut history = builder.finish()?;
    if [arg, result].iter().any(|id| id.as_inline_int().is_none() && id.is_present()) {
        intern_lists(&mut history, 2);
    }
    Ok(history)
}

/// A built-in specification that hears of operations.
struct Hearing<M> {
    choice: SpecChoice,
    machine: M,
    failures: Failures,
    conventions: Conventions,
    split: Split,
    /// The values heard so far; the machine has them too.
    values: Listened,
    unseen: Unseen,
}

/// The values that were heard of and are not forgotten.
pub struct Listened {
    values: Arc<Values>,
    /// What is known from the beginning stays: whoever listens may name it.
    beginning: Mark,
    /// How many there may be.
    most: usize,
    least: usize,
}

impl Listened {
    /// Values of which at most so many more are remembered before some are forgotten.
    pub fn to(values: Arc<Values>, most: usize) -> Self {
        let (beginning, least) = (values.mark(), most);
        let most = values.interned() + least;
        Listened { values, beginning, most, least }
    }

    /// The values. They are not shared any more if nobody else has them.
    pub fn take(&mut self) -> Values {
        Arc::unwrap_or_clone(std::mem::take(&mut self.values))
    }

    /// Puts the values back, perhaps with others.
    pub fn put(&mut self, values: Arc<Values>) {
        self.values = values;
    }

    /// The values, for messages.
    pub fn values(&self) -> &Arc<Values> {
        &self.values
    }

    /// Whether it is time to forget some.
    pub fn is_full(&self) -> bool {
        self.values.interned() > self.most
    }

    /// Forgets all but what was known at the beginning and these.
    pub fn keep_only(&mut self, named: Vec<ValueId>) {
        let mut values = self.take();
        values.keep_only(self.beginning, named);
        self.most = 2 * values.interned() + self.least;
        self.put(Arc::new(values));
    }
}

impl<M> Live for Hearing<M>
where
    M: Machine,
    <M as Machine>::State: Mentions,
    <M as Machine>::Op: Mentions,
    M: Vocabulary<State = <M as Machine>::State, Op = <M as Machine>::Op, Ret = Answer>,
{
    type State = <M as Machine>::State;
    type Op = <M as Machine>::Op;
    type Answer = Answer;

    fn hear(&mut self, told: Told<'_>) -> Result<Decoded<Self::Op, Answer>, String> {
        self.machine.go_on_with(Arc::default());
        let history = recorded(told, self.values.take(), self.conventions);
        let history = history.map_err(|problem| problem.to_string())?;
        self.values.put(Arc::clone(history.values()));
        self.machine.go_on_with(Arc::clone(history.values()));
        let operation = history.operation(OpId(0));
        self.unseen.look(operation);
        if let Some((_, problem)) = self.unseen.stranger(&self.choice) {
            return Err(problem.to_string());
        }
        if operation.key().is_present() && !self.machine.takes_key() {
            return Err(format!("{} takes no key", self.choice.name()));
        }
        match self.machine.decode(operation, self.failures) {
            Ok(decoded) => Ok(decoded),
            Err(Misfit::Unknown) => {
                Err(format!("{} has no operation {}", self.choice.name(), Outside(told.method)))
            }
            Err(Misfit::Expected(expected)) => Err(format!("{operation}: expected {expected}")),
        }
    }

    fn initial(&self) -> Self::State {
        self.machine.start()
    }

    fn part(&self, op: &Self::Op) -> Option<u64> {
        match self.split {
            Split::Parts => self.machine.part(op),
            Split::Whole => None,
        }
    }

    fn effects(&self, state: &Self::State, op: &Self::Op) -> Effects<Self::State, Answer> {
        let effects = self.machine.effects(state, op).into_iter();
        let changed = |after: Option<Self::State>| after.filter(|after| after != state);
        effects.map(|effect| (effect.answer, changed(effect.after))).collect()
    }

    fn is_same(&self, called: &Self::Op, returned: &Self::Op) -> bool {
        self.machine.is_same(called, returned)
    }

    fn is_borne_out(&self, called: (&Self::Op, &Answer), returned: (&Self::Op, &Answer)) -> bool {
        self.machine.is_borne_out(called, returned)
    }

    fn leaves_unchanged(&self, op: &Self::Op, answer: &Answer) -> bool {
        Spec::is_read_only(&self.machine, op, Some(answer))
    }

    fn is_dispensable(&self, op: &Self::Op) -> bool {
        Spec::is_dispensable(&self.machine, op)
    }

    fn commute(&self, a: &Self::Op, b: &Self::Op) -> bool {
        self.machine.swaps(a, b)
    }

    fn weight(&self, answer: &Answer) -> usize {
        match answer {
            Answer::Items(items) => 1 + items.len(),
            // Its end; the rest it shares with the state.
            Answer::Text(_) => 2,
            _ => 1,
        }
    }

    fn explain(&self, state: &Self::State, op: &Self::Op, answer: &Answer) -> String {
        Spec::explain(&self.machine, state, op, Some(answer))
    }
    fn steps(
        &self,
        state: &Self::State,
        op: &Self::Op,
        answer: Option<&Answer>,
    ) -> Vec<Self::State> {
        match Spec::step(&self.machine, state, op, answer) {
            Next::None => Vec::new(),
            Next::One(after) => vec![after],
            Next::Many(after) => after,
        }
    }

    fn is_full(&self) -> bool {
        self.values.is_full()
    }

    fn mention(&self, by: Named<'_, Self>, tell: &mut dyn FnMut(ValueId)) {
        match by {
            Named::State(state) => state.mention(tell),
            Named::Op(op) => op.mention(tell),
            Named::Answer(answer) => answer.mention(tell),
        }
    }

    fn keep_only(&mut self, named: Vec<ValueId>) {
        self.machine.go_on_with(Arc::default());
        self.values.keep_only(named);
        self.machine.go_on_with(Arc::clone(self.values.values()));
    }
}
