//! The trait that a sequential specification implements.

use crate::{Cancel, VersionsOf};
use std::fmt::Debug;
use std::hash::{BuildHasher, Hash};

/// A sequential object: what each operation may return and do in each state.
///
/// A register in twenty lines:
///
/// ```
/// use seriatim_spec::{Next, Spec};
///
/// struct Register;
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug)]
/// enum Op { Read, Write(i64) }
///
/// impl Spec for Register {
///     type State = i64;
///     type Op = Op;
///     type Ret = i64; // what a read saw; a write answers 0
///
///     fn initial(&self) -> i64 { 0 }
///
///     fn step(&self, state: &i64, op: &Op, ret: Option<&i64>) -> Next<i64> {
///         match op {
///             Op::Write(value) => Next::to(*value),
///             Op::Read => Next::when(ret.is_none_or(|seen| seen == state), || *state),
///         }
///     }
///
///     fn is_read_only(&self, op: &Op, _: Option<&i64>) -> bool { matches!(op, Op::Read) }
/// }
///
/// assert!(Register.step(&3, &Op::Read, Some(&4)).is_empty());
/// ```
///
/// The contract, which engines rely on:
/// - `step` is a function: same arguments, same answer, no side effect.
/// - [`is_read_only`](Spec::is_read_only) holds only if the operation with that result changes no
///   state in which it may happen.
/// - Operations with different [`key`](Spec::key)s act on independent parts of the state (the
///   object is *P-compositional* for the keys): neither what one returns nor what it changes
///   depends on the other. `seriatim check --check-partition` tries to refute this on a history.
/// - [`is_dispensable`](Spec::is_dispensable) holds only if every sequence of operations that may
///   follow the operation, whatever it returned, may also follow the state before it.
/// - [`commute`](Spec::commute) holds only if, from every state, the two operations with any
///   results may happen in one order exactly if they may in the other, with the same states at the
///   end.
pub trait Spec: Send + Sync {
    /// The object's state.
    type State: Clone + Eq + Hash + Debug + Send;
    /// An operation with its arguments.
    type Op: Clone + Eq + Hash + Debug + Send + Sync;
    /// A result.
    type Ret: Clone + Eq + Hash + Debug + Send + Sync;

    /// The state before the first operation.
    fn initial(&self) -> Self::State;

    /// The states in which the object may be after `op` returned `ret` in `state`; none if it
    /// cannot return that. `None` for `ret` is an operation whose result nobody knows: every
    /// result is possible.
    fn step(
        &self,
        state: &Self::State,
        op: &Self::Op,
        ret: Option<&Self::Ret>,
    ) -> Next<Self::State>;

    /// [`step`](Spec::step) for specifications whose steps may take long: an implementation looks
    /// at `cancel` now and then and may give up with any answer once it is raised.
    fn step_or_cancel(
        &self,
        state: &Self::State,
        op: &Self::Op,
        ret: Option<&Self::Ret>,
        _cancel: &Cancel,
    ) -> Next<Self::State> {
        self.step(state, op, ret)
    }

    /// Whether the operation with this result never changes the state.
    fn is_read_only(&self, _op: &Self::Op, _ret: Option<&Self::Ret>) -> bool {
        false
    }

    /// Whether whatever may happen after the operation may happen without it. One that is never
    /// known to have happened is left out then.
    fn is_dispensable(&self, op: &Self::Op) -> bool {
        self.is_read_only(op, None)
    }

    /// The part of the object that the operation acts on, for objects that consist of independent
    /// parts (the keys of a map). Any hash will do: parts whose keys collide are checked as one.
    /// `None`: the operation may act on everything.
    fn key(&self, _op: &Self::Op) -> Option<u64> {
        None
    }

    /// The name of that part, for people: `key "a"`. `None`: the history itself tells it.
    fn key_name(&self, _op: &Self::Op) -> Option<String> {
        None
    }

    /// Whether the two operations commute whatever they return.
    fn commute(&self, a: &Self::Op, b: &Self::Op) -> bool {
        matches!((self.key(a), self.key(b)), (Some(a), Some(b)) if a != b)
    }

    /// Why `step` allows nothing, in words: "cannot dequeue 7: the front is 3".
    fn explain(&self, state: &Self::State, op: &Self::Op, ret: Option<&Self::Ret>) -> String {
        match ret {
            Some(ret) => format!("{op:?} cannot return {ret:?} in state {state:?}"),
            None => format!("{op:?} is impossible in state {state:?}"),
        }
    }

    /// The state as a person reads it.
    fn show(&self, state: &Self::State) -> String {
        format!("{state:?}")
    }

    /// Looks at all operations of a part, whatever their order, for one whose result nothing among
    /// them can explain: a read of a value that nobody wrote. Gives its position and the reason.
    /// Finding none says nothing.
    fn inexplicable(
        &self,
        _operations: &[(&Self::Op, Option<&Self::Ret>)],
    ) -> Option<(usize, String)> {
        None
    }

    /// The data values that the operation with this result names, as numbers, for objects that
    /// treat their values alike: taking all operations that name a value out of a linearizable
    /// history leaves a linearizable one. Counterexamples are made smaller that way. An operation
    /// that names several values ties them together; one that names none is never taken out for
    /// this reason.
    fn data(&self, _op: &Self::Op, _ret: Option<&Self::Ret>) -> Vec<u64> {
        Vec::new()
    }

    /// Whether from this state on the operation can never return this, whatever happens before an
    /// operation that [`reopens`](Spec::reopens): a text that does not begin with what was already
    /// appended. Lets searches give up early; `false` is always right.
    fn precludes(&self, _state: &Self::State, _op: &Self::Op, _ret: Option<&Self::Ret>) -> bool {
        false
    }

    /// Whether the operation may make possible again what a state [`precludes`](Spec::precludes).
    /// `true` is always right.
    fn reopens(&self, _op: &Self::Op) -> bool {
        true
    }

    /// What results tell of the object's version, if they do: see [`Versions`](crate::Versions). It
    /// lets histories be decided in which thousands of operations never returned.
    fn versions(&self) -> Option<VersionsOf<'_, Self>> {
        None
    }

    /// An estimate of the heap memory that a state holds, in bytes.
    fn state_bytes(&self, _state: &Self::State) -> usize {
        0
    }
}

/// The states after a step: none, one, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next<S> {
    /// The step is impossible.
    None,
    /// The usual case.
    One(S),
    /// A nondeterministic specification leaves a choice.
    Many(Vec<S>),
}

impl<S> Next<S> {
    /// The step leads to a state.
    #[inline]
    pub fn to(state: S) -> Self {
        Next::One(state)
    }

    /// The step leads to a state if a condition holds, else it is impossible.
    #[inline]
    pub fn when(possible: bool, state: impl FnOnce() -> S) -> Self {
        if possible { Next::One(state()) } else { Next::None }
    }

    /// Adds a state, unless it is there.
    #[inline]
    pub fn add(&mut self, state: S)
    where
        S: PartialEq,
    {
        *self = match std::mem::replace(self, Next::None) {
            Next::None => Next::One(state),
            Next::One(known) if known == state => Next::One(known),
            Next::One(known) => Next::Many(vec![known, state]),
            Next::Many(mut states) => {
                if !states.contains(&state) {
                    states.push(state);
                }
                Next::Many(states)
            }
        };
    }

    /// The states, each changed into something else.
    #[inline]
    pub fn map<T>(self, mut change: impl FnMut(S) -> T) -> Next<T> {
        match self {
            Next::None => Next::None,
            Next::One(state) => Next::One(change(state)),
            Next::Many(states) => Next::Many(states.into_iter().map(change).collect()),
        }
    }

    /// Whether the step is impossible.
    pub fn is_empty(&self) -> bool {
        match self {
            Next::None => true,
            Next::One(_) => false,
            Next::Many(states) => states.is_empty(),
        }
    }
}

impl<S> IntoIterator for Next<S> {
    type Item = S;
    type IntoIter = std::iter::Chain<std::option::IntoIter<S>, std::vec::IntoIter<S>>;

    fn into_iter(self) -> Self::IntoIter {
        let (one, many) = match self {
            Next::None => (None, Vec::new()),
            Next::One(state) => (Some(state), Vec::new()),
            Next::Many(states) => (None, states),
        };
        one.into_iter().chain(many)
    }
}

/// A [`Spec::key`] for anything that can be hashed. Equal parts have equal keys, in every run.
///
/// ```
/// assert_eq!(seriatim_spec::key_of(&"a"), seriatim_spec::key_of(&"a"));
/// ```
pub fn key_of(part: &impl Hash) -> u64 {
    std::hash::BuildHasherDefault::<std::hash::DefaultHasher>::default().hash_one(part)
}
