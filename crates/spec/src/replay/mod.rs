//! The replayer that believes nobody: no history is called linearizable before it has accepted the
//! order that an engine claims.
//!
//! **Theorem.** A history is linearizable if there is an order of operations such that (a) it holds
//! every operation that completed exactly once, of those that never returned some, each once, and
//! nothing else; (b) none stands before another that returned before it was called, and the
//! operations of one process stand in the process's order; (c) the object, taken through the
//! operations in this order from its initial state, returns what the log says. That is the
//! definition; [`replay`] checks (a), (b) and (c) one operation after another. Cost: O(1) an
//! operation for most objects, and the length of what it shows for one that shows a whole object.
//!
//! Nothing is shared with the engines or with the specifications that they read: the methods'
//! names, the meaning of results, the order of priorities and the objects themselves are written
//! down here once more, in the plainest form (an array, a deque, a heap that is changed in place).
//! Objects are replayed whole, so that nobody has to believe that their keys are independent. What
//! is trusted is the reading of the log into a [`History`] and the equality of its [`ValueId`]s.
//!
//! A specification of the user's own has no second description:
//! [`replay_by_steps`](crate::replay_by_steps) replays it by its own `step`.

#[macro_use]
mod verbs;

mod bags;
mod cells;
mod entries;
mod lines;
mod numbers;
mod order;
mod priority;
mod record;
mod refute;
mod signals;
mod table;

pub use order::Order;
pub(crate) use order::Sequencer;
pub(crate) use refute::{Objects as Tried, State, after, search_over};
pub use refute::{Refutation, refute};

use crate::validate::replay_by_steps_under;
use crate::{ChosenReader, Failures, Invalid, Parameters, Reader, Replayed, Witness};
use record::Record;
use seriatim_history::{History, InputError, OpId, Outcome, Outside, Value, ValueId};
use seriatim_limits::checkpoint;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use verbs::Verb;

/// A plain object that is taken through a history.
pub(crate) trait Model: Clone + Eq + Hash + 'static {
    /// What it does.
    type Verb: Verb;

    /// The object before the first operation.
    fn start(setup: &Setup<'_>) -> Self;

    /// What a name means, in small letters.
    fn verb(name: &str) -> Option<Self::Verb> {
        Self::Verb::of(name)
    }

    /// Whether the items of the operation's argument enter the state, so that they need ids.
    fn names_items(_verb: Self::Verb) -> bool {
        false
    }

    /// Whether the failure of an operation says something of the object, if the user wants
    /// failures observed. Any other failed operation did not happen.
    fn observes(_verb: Self::Verb, _record: &Record<'_>) -> bool {
        false
    }

    /// Does the operation; whether the log fits.
    fn step(&mut self, verb: Self::Verb, record: &Record<'_>) -> bool;

    /// The states after the operation, where the log leaves a choice.
    #[inline]
    fn choices(&self, _verb: Self::Verb, _record: &Record<'_>) -> Option<Vec<Self>> {
        None
    }
}

/// How tables of values are kept.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tables {
    /// In an array: for one object that goes from state to state.
    Dense,
    /// In a tree: where states are copied and compared, or there are many of them.
    Sparse,
}

/// What a model starts from.
pub(crate) struct Setup<'h> {
    history: &'h History,
    parameters: &'h Parameters,
    /// The specification's name.
    name: &'static str,
    /// The room for dense tables.
    room: usize,
}

impl<'h> Setup<'h> {
    fn of(history: &'h History, reader: &'h ChosenReader, tables: Tables) -> Self {
        let room = match tables {
            Tables::Dense => history.len() * 2 + 16,
            Tables::Sparse => 0,
        };
        let (name, parameters) = (reader.choice.name(), reader.choice.parameters());
        Setup { history, parameters, name, room }
    }

    /// The id of a value, which [`intern_parameters`] has made known.
    fn id(&self, value: &Value) -> ValueId {
        self.history.values().find(value).unwrap_or(ValueId::ABSENT)
    }

    fn value(&self, name: &str, usual: &Value) -> ValueId {
        self.id(self.parameters.value(name).unwrap_or(usual))
    }

    fn items(&self, name: &str) -> Vec<ValueId> {
        let items = self.parameters.value(name).and_then(Value::as_list).unwrap_or_default();
        items.iter().map(|item| self.id(item)).collect()
    }

    fn entries(&self, name: &str) -> Vec<(ValueId, ValueId)> {
        let Some(Value::Map(entries)) = self.parameters.value(name) else { return Vec::new() };
        entries.iter().map(|(key, value)| (self.id(key), self.id(value))).collect()
    }

    fn integer(&self, name: &str) -> i64 {
        self.parameters.value(name).and_then(Value::as_int).unwrap_or(0)
    }

    fn flag(&self, name: &str) -> bool {
        self.parameters.value(name).is_some()
    }
}

#[inline]
fn read(history: &History, op: OpId, ended: Outcome) -> Record<'_> {
    Record { history, op, arg: history.arg(op), result: history.result(op), ended }
}

/// Something that is done with the model of an object.
pub(crate) trait Visitor {
    type Answer;

    fn visit<M: Model>(self) -> Self::Answer;
}

/// Finds the model of a specification; `None` if there is none of that name.
pub(crate) fn with_model<V: Visitor>(name: &str, visitor: V) -> Option<V::Answer> {
    Some(match name {
        "register" | "cas-register" | "rmw" => visitor.visit::<cells::Register>(),
        "map" | "kv" => visitor.visit::<cells::Map>(),
        "snapshot" => visitor.visit::<cells::Snapshot>(),
        "multi-register" => visitor.visit::<cells::MultiRegister>(),
        "set" => visitor.visit::<bags::Set>(),
        "multiset" => visitor.visit::<bags::Multiset>(),
        "priority-queue" => visitor.visit::<bags::PriorityQueue>(),
        "queue" => visitor.visit::<lines::Line<lines::Fifo>>(),
        "stack" => visitor.visit::<lines::Line<lines::Lifo>>(),
        "deque" => visitor.visit::<lines::Line<lines::Deque>>(),
        "log" => visitor.visit::<lines::Log>(),
        "counter" | "fetch-and-add" => visitor.visit::<numbers::Number>(),
        "mutex" => visitor.visit::<numbers::Mutex>(),
        "semaphore" => visitor.visit::<numbers::Semaphore>(),
        "sorted-map" => visitor.visit::<entries::SortedMap>(),
        "cache" => visitor.visit::<entries::Cache>(),
        "once-cell" => visitor.visit::<entries::OnceCell>(),
        "weighted-semaphore" => visitor.visit::<signals::Permits>(),
        "watch" | "broadcast" => visitor.visit::<signals::Sent>(),
        "bounded-deque" => visitor.visit::<lines::Line<lines::Bounded>>(),
        _ => return None,
    })
}

/// Gives ids to the values that only the parameters name.
pub(crate) fn intern_parameters(history: &mut History, parameters: &Parameters) {
    for name in parameters.names() {
        match parameters.value(name) {
            Some(Value::List(items)) => items.iter().for_each(|item| _ = history.intern(item)),
            Some(Value::Map(entries)) => entries.iter().for_each(|(key, value)| {
                history.intern(key);
                history.intern(value);
            }),
            Some(value) => _ = history.intern(value),
            None => {}
        }
    }
    // What an absent key of `kv` reads as, and the first value of `rmw`.
    history.intern(&Value::text(""));
    history.intern(&Value::Int(0));
}

/// Gives ids to the items of arguments from which items enter the state.
pub(crate) fn intern_items<M: Model>(history: &mut History) {
    let verbs = verbs::<M>(history);
    let nests = |verb: &Option<M::Verb>| verb.is_some_and(M::names_items);
    if !verbs.iter().any(nests) {
        return;
    }
    for op in (0..history.len()).map(OpId::from) {
        if nests(&verbs[history.method(op).index()]) {
            history.items(history.arg(op));
        }
    }
}

/// What each method of a history means.
fn verbs<M: Model>(history: &History) -> Vec<Option<M::Verb>> {
    let names = (0..history.method_count()).map(|method| history.method_name(method.into()));
    names.map(|name| M::verb(&name.to_ascii_lowercase())).collect()
}

/// Replays a witness; see the module's header. A specification of the user's own is read once more
/// for that, unless the caller has done so and calls [`replay_by_steps`](crate::replay_by_steps)
/// itself.
///
/// ```
/// use seriatim_history::{OpId, read_str};
/// use seriatim_spec::{ChosenReader, Failures, SpecChoice, Witness, replay};
/// let mut history = read_str("# stack\npush 7 1 2\npop 7 3 4\n").unwrap();
/// let choice = SpecChoice::parse("stack").unwrap();
/// let reader = ChosenReader { choice, failures: Failures::default() };
/// let order = |ids: [u32; 2]| Witness { order: ids.map(OpId).to_vec() };
/// assert!(replay(&mut history, &reader, order([0, 1])).unwrap().is_ok());
/// assert!(replay(&mut history, &reader, order([1, 0])).unwrap().is_err());
/// ```
pub fn replay(
    history: &mut History,
    reader: &dyn Reader,
    witness: Witness,
) -> Result<Result<Replayed, Invalid>, InputError> {
    replay_under(history, reader, witness, Order::RealTime)
}

/// Replays a witness that has to respect an order which may be weaker than real time.
pub fn replay_under(
    history: &mut History,
    reader: &dyn Reader,
    witness: Witness,
    order: Order,
) -> Result<Result<Replayed, Invalid>, InputError> {
    if let Some(chosen) = reader.chosen() {
        intern_parameters(history, chosen.choice.parameters());
        let replay = Replay { history, reader: chosen, witness: &witness, order };
        if let Some(replayed) = with_model(chosen.choice.name(), replay) {
            return Ok(replayed.map(|()| Replayed::new(witness)));
        }
    }
    let reading = reader.read(history)?;
    Ok(replay_by_steps_under(history, &reading, witness, order))
}

struct Replay<'r> {
    history: &'r mut History,
    reader: &'r ChosenReader,
    witness: &'r Witness,
    order: Order,
}

impl Visitor for Replay<'_> {
    type Answer = Result<(), Invalid>;

    fn visit<M: Model>(self) -> Result<(), Invalid> {
        intern_items::<M>(self.history);
        let history = &*self.history;
        let mut player: Player<'_, M> = Player::new(history, self.reader);
        let mut sequencer = Sequencer::new(history, self.order);
        for (position, &op) in self.witness.order.iter().enumerate() {
            checkpoint();
            if op.index() >= history.len() || !player.happened(op) {
                return Err(Invalid::Foreign(op));
            }
            sequencer.place(op)?;
            if !player.play(op) {
                return Err(Invalid::Illegal { position, op, reason: player.reason(op) });
            }
        }
        sequencer.is_complete(|op| player.happened(op))
    }
}

/// Takes the objects of a history through operations.
pub(crate) struct Player<'h, M: Model> {
    history: &'h History,
    failures: Failures,
    has_failures: bool,
    verbs: Vec<Option<M::Verb>>,
    objects: Objects<M>,
}

/// The states in which the objects may be.
enum Objects<M> {
    /// One object without a choice so far.
    One(M),
    /// Several objects, or several states; and how an object starts that was not met yet.
    Many(HashMap<ValueId, Vec<M>>, M),
}

impl<'h, M: Model> Player<'h, M> {
    /// Objects that are taken along one order.
    pub(crate) fn new(history: &'h History, reader: &ChosenReader) -> Self {
        let tables = if history.has_objects() { Tables::Sparse } else { Tables::Dense };
        Self::with_tables(history, reader, tables)
    }

    /// Objects whose tables are kept in one way or the other.
    pub(crate) fn with_tables(history: &'h History, reader: &ChosenReader, tables: Tables) -> Self {
        let start = M::start(&Setup::of(history, reader, tables));
        // A model may have large tables: a copy of them is made only where there are several
        // objects.
        let objects = match history.has_objects() {
            true => Objects::Many(HashMap::new(), start),
            false => Objects::One(start),
        };
        Player {
            history,
            failures: reader.failures,
            has_failures: history.has_failures(),
            verbs: verbs::<M>(history),
            objects,
        }
    }

    /// Whether an operation happened, or may have happened.
    #[inline]
    fn happened(&self, op: OpId) -> bool {
        if !self.has_failures || self.history.outcome(op) != Outcome::Failed {
            return true;
        }
        let verb = self.verbs[self.history.method(op).index()];
        let record = read(self.history, op, Outcome::Failed);
        self.failures == Failures::Observe && verb.is_some_and(|verb| M::observes(verb, &record))
    }

    /// Does an operation; whether the log fits.
    #[inline]
    fn play(&mut self, op: OpId) -> bool {
        let ended = match self.has_failures {
            true => self.history.outcome(op),
            false if self.history.ret(op).is_some() => Outcome::Ok,
            false => Outcome::Pending,
        };
        let record = read(self.history, op, ended);
        let Some(verb) = self.verbs[self.history.method(op).index()] else { return false };
        if let Objects::One(object) = &mut self.objects {
            if object.choices(verb, &record).is_none() {
                return object.step(verb, &record);
            }
            // There is one object, which was met.
            let (state, only) = (object.clone(), self.history.object(op));
            self.objects = Objects::Many(HashMap::from([(only, vec![state.clone()])]), state);
        }
        self.play_in_all(verb, &record)
    }

    /// Does an operation in each of the states that its object may have.
    fn play_in_all(&mut self, verb: M::Verb, record: &Record<'_>) -> bool {
        let Objects::Many(objects, start) = &mut self.objects else { return false };
        let object = self.history.object(record.op);
        let states = objects.entry(object).or_insert_with(|| vec![start.clone()]);
        let mut next: HashSet<M> = HashSet::new();
        for state in states.iter() {
            for after in successors(state, verb, record) {
                checkpoint();
                next.insert(after);
            }
        }
        *states = next.into_iter().collect();
        !states.is_empty()
    }

    fn reason(&self, op: OpId) -> String {
        let operation = self.history.operation(op);
        match self.verbs[self.history.method(op).index()] {
            Some(_) => format!("{operation} is not what the plain object does there"),
            None => format!("the plain object has no operation {}", Outside(operation.method())),
        }
    }
}

/// The states after an operation.
fn successors<M: Model>(state: &M, verb: M::Verb, record: &Record<'_>) -> Vec<M> {
    state.choices(verb, record).unwrap_or_else(|| {
        let mut after = state.clone();
        let fits = after.step(verb, record);
        fits.then_some(after).into_iter().collect()
    })
}
