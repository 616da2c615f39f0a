//! A specification bound to a history, in numbers.
//!
//! Engines do not know what a queue is. They see *classes* (all operations of the history with the
//! same method, arguments and result are one class) and *states*, both small numbers, and ask an
//! [`Automaton`] for the successors of a state under a class. Typed specifications are turned into
//! this form by [`Bound`], once; the engines are compiled once, whatever the number of
//! specifications, and the inner loop compares integers.

use crate::states::{Once, States};
use crate::version::Rebased;
use crate::{Cancel, Next, Rise, Spec, Version, Versioned, checkpoint, checkpoint_after};
use hashbrown::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A state of an [`Automaton`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct StateId(pub u32);

/// Operations that the specification cannot tell apart: same method, arguments and result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct ClassId(pub u32);

/// The classes of operations that occur in a history, and what the specification says of them.
pub trait Alphabet: Send + Sync {
    /// The number of classes.
    fn len(&self) -> usize;

    /// Whether there is no class.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether operations of the class never change the state.
    fn is_read_only(&self, class: ClassId) -> bool;

    /// The part of the object that the class acts on; see [`Spec::key`].
    fn key(&self, class: ClassId) -> Option<u64>;

    /// The name of that part; see [`Spec::key_name`].
    fn key_name(&self, class: ClassId) -> Option<String>;

    /// Whether the two classes commute; see [`Spec::commute`].
    fn commute(&self, a: ClassId, b: ClassId) -> bool;

    /// A class among these that nothing among them can explain; see [`Spec::inexplicable`].
    fn inexplicable(&self, classes: &[ClassId]) -> Option<(ClassId, String)>;

    /// The data values that the class names; see [`Spec::data`].
    fn data(&self, class: ClassId) -> Vec<u64>;

    /// Whether the class may make possible again what a state precludes; see [`Spec::reopens`].
    fn reopens(&self, class: ClassId) -> bool;

    /// A fresh automaton, which numbers states as it meets them. Once `cancel` is raised, its
    /// answers mean nothing.
    fn automaton(&self, cancel: &Cancel) -> Box<dyn Automaton + '_>;

    /// The automaton of an object whose results tell its version; `None` if they do not.
    fn versioned(&self) -> Option<Box<dyn Versioned + '_>> {
        None
    }

    /// A walk from the initial state, which asks the specification anew at each step.
    fn walk(&self) -> Box<dyn Walk + '_>;

    /// The version that a class tells, of an object whose version also rises by itself.
    fn sparse_version(&self, _class: ClassId) -> Option<u64> {
        None
    }
}

/// One sequence of operations under a specification, without any memory but the states in which the
/// object may be.
pub trait Walk {
    /// Does an operation; the reason if it is impossible.
    fn step(&mut self, class: ClassId) -> Result<(), String>;

    /// Forgets the states whose version is none of these, if others are left.
    fn stay_within(&mut self, _versions: RangeInclusive<u64>) {}
}

/// The state machine of a specification over an [`Alphabet`], explored lazily.
pub trait Automaton: Send {
    /// The initial state.
    fn initial(&mut self) -> StateId;

    /// Appends the successors of a state under a class to `next`, each once.
    fn step(&mut self, state: StateId, class: ClassId, next: &mut Vec<StateId>);

    /// Whether a class can never happen from this state on; see [`Spec::precludes`].
    fn precludes(&self, state: StateId, class: ClassId) -> bool;

    /// Why a class is impossible in a state.
    fn explain(&self, state: StateId, class: ClassId) -> String;

    /// A state as a person reads it.
    fn show(&self, state: StateId) -> String;

    /// The number of states met so far.
    fn states(&self) -> usize;

    /// An estimate of the memory in use, in bytes.
    fn bytes(&self) -> usize;
}

/// A typed specification with the classes of a history.
///
/// ```
/// use seriatim_spec::{Alphabet, Bound, Cancel, Next, Spec};
/// # struct Flag;
/// # impl Spec for Flag {
/// #     type State = bool; type Op = (); type Ret = bool;
/// #     fn initial(&self) -> bool { false }
/// #     fn step(&self, state: &bool, _: &(), ret: Option<&bool>) -> Next<bool> {
/// #         Next::when(ret.is_none_or(|seen| seen == state), || true)
/// #     }
/// # }
/// // `Flag` has one operation, test-and-set, which returns the old state.
/// let mut bound = Bound::new(Flag);
/// let first = bound.class((), Some(false));
/// let mut automaton = bound.automaton(&Cancel::never());
/// let (start, mut next) = (automaton.initial(), Vec::new());
/// automaton.step(start, first, &mut next);
/// assert_eq!(automaton.show(next[0]), "true");
/// ```
pub struct Bound<S: Spec> {
    spec: Arc<S>,
    classes: Vec<(S::Op, Option<S::Ret>)>,
    index: HashMap<(S::Op, Option<S::Ret>), ClassId>,
}

impl<S: Spec> Bound<S> {
    /// A specification without classes yet.
    pub fn new(spec: impl Into<Arc<S>>) -> Self {
        Bound { spec: spec.into(), classes: Vec::new(), index: HashMap::new() }
    }

    /// The class of an operation; `None` for a result that nobody knows.
    pub fn class(&mut self, op: S::Op, ret: Option<S::Ret>) -> ClassId {
        let next = ClassId(self.classes.len() as u32);
        match self.index.entry((op, ret)) {
            hashbrown::hash_map::Entry::Occupied(known) => *known.get(),
            hashbrown::hash_map::Entry::Vacant(new) => {
                self.classes.push(new.key().clone());
                *new.insert(next)
            }
        }
    }

    /// The specification.
    pub fn spec(&self) -> &S {
        &self.spec
    }

    /// The number of classes.
    pub(crate) fn class_count(&self) -> usize {
        self.classes.len()
    }

    /// The operation and result of a class.
    pub fn members(&self, class: ClassId) -> (&S::Op, Option<&S::Ret>) {
        let (op, ret) = &self.classes[class.0 as usize];
        (op, ret.as_ref())
    }
}

impl<S: Spec> Alphabet for Bound<S> {
    fn len(&self) -> usize {
        self.classes.len()
    }

    fn is_read_only(&self, class: ClassId) -> bool {
        let (op, ret) = self.members(class);
        self.spec.is_read_only(op, ret)
    }

    fn key(&self, class: ClassId) -> Option<u64> {
        self.spec.key(self.members(class).0)
    }

    fn key_name(&self, class: ClassId) -> Option<String> {
        self.spec.key_name(self.members(class).0)
    }

    fn commute(&self, a: ClassId, b: ClassId) -> bool {
        self.spec.commute(self.members(a).0, self.members(b).0)
    }

    fn inexplicable(&self, classes: &[ClassId]) -> Option<(ClassId, String)> {
        let operations: Vec<_> = classes.iter().map(|&class| self.members(class)).collect();
        let (position, reason) = self.spec.inexplicable(&operations)?;
        Some((classes[position], reason))
    }

    fn data(&self, class: ClassId) -> Vec<u64> {
        let (op, ret) = self.members(class);
        self.spec.data(op, ret)
    }

    fn reopens(&self, class: ClassId) -> bool {
        self.spec.reopens(self.members(class).0)
    }

    fn automaton(&self, cancel: &Cancel) -> Box<dyn Automaton + '_> {
        Box::new(Interned { bound: self, cancel: cancel.clone(), states: States::default() })
    }

    fn versioned(&self) -> Option<Box<dyn Versioned + '_>> {
        let versions = self.spec.versions()?;
        Some(Box::new(Rebased::new(self, versions)))
    }

    fn walk(&self) -> Box<dyn Walk + '_> {
        Box::new(Walking { bound: self, states: vec![self.spec.initial()] })
    }

    fn sparse_version(&self, class: ClassId) -> Option<u64> {
        let versions = self.spec.versions().filter(|versions| versions.rise() == Rise::Sparse)?;
        let (op, ret) = self.members(class);
        versions.version(op, ret?).map(Version::number)
    }
}

/// The states in which the object of a typed specification may be.
struct Walking<'b, S: Spec> {
    bound: &'b Bound<S>,
    states: Vec<S::State>,
}

impl<S: Spec> Walk for Walking<'_, S> {
    fn step(&mut self, class: ClassId) -> Result<(), String> {
        let (op, ret) = self.bound.members(class);
        let spec = &self.bound.spec;
        let mut next = States::default();
        for state in &self.states {
            checkpoint_after(STEP);
            for after in spec.step(state, op, ret) {
                checkpoint();
                next.intern(after, |_| 0);
            }
        }
        if next.len() == 0 {
            return Err(spec.explain(&self.states[0], op, ret));
        }
        self.states = next.into_all();
        Ok(())
    }

    fn stay_within(&mut self, wanted: RangeInclusive<u64>) {
        let Some(versions) = self.bound.spec.versions().filter(|_| self.states.len() > 1) else {
            return;
        };
        let is_wanted = |state: &S::State| wanted.contains(&versions.version_of(state));
        // Some are kept to say what is wrong.
        if self.states.iter().any(is_wanted) {
            self.states.retain(is_wanted);
        }
    }
}

/// What a step weighs beside a state that it leads to, as work between two looks at the limits: it may
/// be written by anybody.
pub(crate) const STEP: u32 = 8;

/// The states of a typed specification by their numbers.
struct Interned<'b, S: Spec> {
    bound: &'b Bound<S>,
    cancel: Cancel,
    states: States<S::State>,
}

impl<S: Spec> Interned<'_, S> {
    fn intern(&mut self, state: S::State) -> StateId {
        self.states.intern(state, |state| self.bound.spec.state_bytes(state))
    }
}

impl<S: Spec> Automaton for Interned<'_, S> {
    fn initial(&mut self) -> StateId {
        self.intern(self.bound.spec.initial())
    }

    fn step(&mut self, state: StateId, class: ClassId, next: &mut Vec<StateId>) {
        let (op, ret) = self.bound.members(class);
        let state = self.states.get(state);
        checkpoint_after(STEP);
        let next_states = self.bound.spec.step_or_cancel(state, op, ret, &self.cancel);
        match next_states {
            Next::None => {}
            Next::One(successor) => next.push(self.intern(successor)),
            Next::Many(successors) => {
                let mut once = Once::after(next.len());
                for successor in successors {
                    checkpoint();
                    let id = self.intern(successor);
                    once.push(next, id);
                }
            }
        }
    }

    fn precludes(&self, state: StateId, class: ClassId) -> bool {
        let (op, ret) = self.bound.members(class);
        self.bound.spec.precludes(self.states.get(state), op, ret)
    }

    fn explain(&self, state: StateId, class: ClassId) -> String {
        let (op, ret) = self.bound.members(class);
        self.bound.spec.explain(self.states.get(state), op, ret)
    }

    fn show(&self, state: StateId) -> String {
        self.bound.spec.show(self.states.get(state))
    }

    fn states(&self) -> usize {
        self.states.len()
    }

    fn bytes(&self) -> usize {
        self.states.bytes()
    }
}
