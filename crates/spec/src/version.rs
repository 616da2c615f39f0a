//! Objects whose results tell a version: etcd's revision, Kafka's offset, a log's sequence number.
//!
//! A version of the whole object ties all keys together, so that none of them can be checked apart.
//! But it also says in which order things happened. An object declares that by implementing
//! [`Versions`] and returning itself from [`Spec::versions`]; the engine that uses it
//! (`seriatim-monitor`, `versions`) checks what is declared at every step that it takes, and gives
//! way to the general search where a step contradicts it.
//!
//! This file also brings the steps of such an object into the numeric form that engines read: a
//! state is kept *without* its version, and a step is taken at a version that the engine names.

use crate::alphabet::STEP;
use crate::states::{Once, States};
use crate::{Bound, ClassId, Next, Spec, StateId, checkpoint, checkpoint_after};
use hashbrown::HashMap;

/// What the result of an operation says of the object's version.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Version {
    /// The operation changed the object, which has had this version since then.
    Update(u64),
    /// The operation changed nothing; the object had this version.
    Read(u64),
}

impl Version {
    /// The number of the version.
    pub fn number(self) -> u64 {
        match self {
            Version::Update(number) | Version::Read(number) => number,
        }
    }
}

/// How the version of an object rises.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Rise {
    /// By one, with every change.
    #[default]
    ByOne,
    /// By one with every change, and between operations by any number: others use up versions
    /// (sessions, control records, elections).
    Sparse,
}

/// What an operation has to do with what stands *aside*: a part of the state that changes while the
/// version stands still, as etcd's compacted revision does.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Aside {
    /// It neither looks at it nor changes it.
    #[default]
    Apart,
    /// It looks at it, and changes nothing at all.
    Looks,
    /// It may change it, depending on it and on the version, and does nothing else.
    Changes,
}

/// What an object declares of its versions. With φ for the version of a state:
///
/// | | condition |
/// | --- | --- |
/// | V1 | no step lowers φ |
/// | V2 | an operation that tells `Update(v)` leaves φ = v and found φ < v; one that tells `Read(v)` changes nothing and found φ = v |
/// | V3 | a step that changes anything raises φ |
/// | V4 | a step raises φ by one or not at all; if the version is [`Rise::Sparse`], it also rises by itself, which changes nothing else |
/// | P | a state is φ and one part for each key; a step looks at and changes φ and the parts of its own keys only |
/// | A | there may be one more part, which stands [aside](Aside): V2, V3 and P are about the rest of the state; operations that change that part look at it and φ only and change nothing else; of all others only those look at it that say so, and these change nothing |
///
/// All conditions are about states that the object can reach, with φ replaced by any version.
///
/// ```
/// use seriatim_spec::{Next, Spec, Version, Versions};
///
/// /// Cells with a common revision: `(cell, Some(content))` writes, `(cell, None)` reads.
/// struct Cells;
/// type State = (u64, Vec<u8>);
///
/// impl Spec for Cells {
///     type State = State;
///     type Op = (usize, Option<u8>);
///     type Ret = (u8, u64); // the content and the revision
///     fn initial(&self) -> State { (0, vec![0; 4]) }
///     fn step(&self, state: &State, op: &Self::Op, ret: Option<&Self::Ret>) -> Next<State> {
///         let mut after = state.clone();
///         if let Some(content) = op.1 {
///             after.0 += 1;
///             after.1[op.0] = content;
///         }
///         let answer = (after.1[op.0], after.0);
///         Next::when(ret.is_none_or(|ret| *ret == answer), || after)
///     }
///     fn versions(&self) -> Option<&dyn Versions<State, Self::Op, Self::Ret>> { Some(self) }
/// }
///
/// impl Versions<State, (usize, Option<u8>), (u8, u64)> for Cells {
///     fn version(&self, op: &(usize, Option<u8>), ret: &(u8, u64)) -> Option<Version> {
///         Some(if op.1.is_some() { Version::Update(ret.1) } else { Version::Read(ret.1) })
///     }
///     fn version_of(&self, state: &State) -> u64 { state.0 }
///     fn trial(
///         &self,
///         state: &State,
///         op: &(usize, Option<u8>),
///         ret: Option<&(u8, u64)>,
///     ) -> Result<Next<State>, String> {
///         Ok(self.step(state, op, ret)) // it never fails
///     }
///     fn at_version(&self, state: State, version: u64) -> State { (version, state.1) }
///     fn keys(&self, op: &(usize, Option<u8>)) -> Option<Vec<u64>> { Some(vec![op.0 as u64]) }
/// }
/// ```
pub trait Versions<State, Op, Ret>: Sync {
    /// What an operation with this result tells; `None` if it tells no version.
    fn version(&self, op: &Op, ret: &Ret) -> Option<Version>;

    /// The version of a state: φ.
    fn version_of(&self, state: &State) -> u64;

    /// The same state at another version.
    fn at_version(&self, state: State, version: u64) -> State;

    /// The keys on whose parts the operation acts; `None`: it may act on everything.
    fn keys(&self, op: &Op) -> Option<Vec<u64>>;

    /// [`Spec::step`] from a state that the object may never come to, since it was put together
    /// along the versions. `Err`: the specification itself fails there, which says nothing of the
    /// specification.
    fn trial(&self, state: &State, op: &Op, ret: Option<&Ret>) -> Result<Next<State>, String>;

    /// As [`trial`](Versions::trial), with `None` for a state that is the same as before.
    fn effects(
        &self,
        state: &State,
        op: &Op,
        ret: Option<&Ret>,
    ) -> Result<Next<Option<State>>, String>
    where
        State: PartialEq,
    {
        let changed = |after: State| (after != *state).then_some(after);
        Ok(self.trial(state, op, ret)?.map(changed))
    }

    /// What an operation has to do with what stands aside.
    fn aside(&self, _op: &Op) -> Aside {
        Aside::Apart
    }

    /// The state with what stands aside in another one.
    fn with_aside(&self, state: State, _other: &State) -> State {
        state
    }

    /// How the version rises. An object whose version is sparse is made by
    /// [`Sparse`](crate::Sparse).
    fn rise(&self) -> Rise {
        Rise::ByOne
    }

    /// All numbers that the history names, if the object does no more with versions than copy and
    /// compare them, and a method that makes one does not see the version before it. Then all other
    /// numbers may be replaced by others in the same order, and of those that nobody names a few
    /// will do. `None`: how far versions are apart may matter.
    fn mentions(&self) -> Option<&[u64]> {
        None
    }

    /// The highest version, besides those that are told, at which something may be seen. Of interest
    /// if the version is sparse and a completed operation tells none: it may have happened behind all
    /// that do, when the version had risen by itself to any number. No step shows that a number is
    /// too low, so only an object whose text was read may say one. `None`: nobody knows, and such
    /// histories are not decided.
    fn beyond(&self) -> Option<u64> {
        None
    }

    /// A read of several keys as reads of one key each, which together say the same at the same
    /// version. `None`: it cannot be said so, and its keys are looked at together.
    fn split(&self, _op: &Op, _ret: &Ret) -> Option<Vec<(Op, Ret)>> {
        None
    }
}

/// The versions of a specification.
pub type VersionsOf<'s, S> =
    &'s dyn Versions<<S as Spec>::State, <S as Spec>::Op, <S as Spec>::Ret>;

/// The state machine of an object with versions. Its states are kept without their version.
pub trait Versioned: Send {
    /// The initial state, and its version.
    fn initial(&mut self) -> (StateId, u64);

    /// How the version rises.
    fn rise(&self) -> Rise;

    /// See [`Versions::mentions`].
    fn mentions(&self) -> Option<&[u64]>;

    /// See [`Versions::beyond`].
    fn beyond(&self) -> Option<u64>;

    /// What a class tells; `None` if it tells no version, or never returned.
    fn version(&self, class: ClassId) -> Option<Version>;

    /// The keys on whose parts a class acts; `None`: it may act on everything.
    fn keys(&self, class: ClassId) -> Option<Vec<u64>>;

    /// What a class has to do with what stands aside.
    fn aside(&self, class: ClassId) -> Aside;

    /// The state with what stands aside in another one.
    fn with_aside(&mut self, state: StateId, other: StateId) -> StateId;

    /// Whether what stands aside is the same in two states.
    fn is_same_aside(&self, state: StateId, other: StateId) -> bool;

    /// The classes that together say what this one says, if there are such; they are classes of
    /// this automaton only.
    fn split(&mut self, class: ClassId) -> Option<Vec<ClassId>>;

    /// Appends the successors of a state under a class, if it has the version `before`, each with
    /// its own version. `Err`: the specification fails there.
    fn step(
        &mut self,
        state: StateId,
        class: ClassId,
        before: u64,
        next: &mut Vec<(StateId, u64)>,
    ) -> Result<(), String>;

    /// Why a class is impossible in a state that has the version `before`.
    fn explain(&self, state: StateId, class: ClassId, before: u64) -> String;

    /// A state at a version as a person reads it.
    fn show(&self, state: StateId, version: u64) -> String;

    /// An estimate of the memory in use, in bytes.
    fn bytes(&self) -> usize;
}

/// A [`Versioned`] automaton of a typed specification.
pub(crate) struct Rebased<'b, S: Spec> {
    bound: &'b Bound<S>,
    versions: VersionsOf<'b, S>,
    /// The version that stands for all in the states that are kept.
    normal: u64,
    /// The classes that others were split into.
    pieces: Vec<(S::Op, S::Ret)>,
    states: States<S::State>,
    /// The state from which a step was taken last, at its version: many steps are tried from one.
    latest: Option<(StateId, u64, S::State)>,
    /// States with what stands aside in others.
    joined: HashMap<(StateId, StateId), StateId>,
}

impl<'b, S: Spec> Rebased<'b, S> {
    pub(crate) fn new(bound: &'b Bound<S>, versions: VersionsOf<'b, S>) -> Self {
        let normal = versions.version_of(&bound.spec().initial());
        let (pieces, states, latest) = (Vec::new(), States::default(), None);
        let joined = HashMap::new();
        Rebased { bound, versions, normal, pieces, states, latest, joined }
    }

    fn members(&self, class: ClassId) -> (&S::Op, Option<&S::Ret>) {
        match (class.0 as usize).checked_sub(self.bound.class_count()) {
            Some(piece) => (&self.pieces[piece].0, Some(&self.pieces[piece].1)),
            None => self.bound.members(class),
        }
    }

    fn intern(&mut self, state: S::State) -> StateId {
        self.states.intern(state, |state| self.bound.spec().state_bytes(state))
    }

    fn at(&self, state: StateId, version: u64) -> S::State {
        let state = self.states.get(state).clone();
        match version == self.normal {
            true => state,
            false => self.versions.at_version(state, version),
        }
    }
}

impl<S: Spec> Versioned for Rebased<'_, S> {
    fn initial(&mut self) -> (StateId, u64) {
        (self.intern(self.bound.spec().initial()), self.normal)
    }

    fn rise(&self) -> Rise {
        self.versions.rise()
    }

    fn mentions(&self) -> Option<&[u64]> {
        self.versions.mentions()
    }

    fn beyond(&self) -> Option<u64> {
        self.versions.beyond()
    }

    fn version(&self, class: ClassId) -> Option<Version> {
        let (op, ret) = self.members(class);
        self.versions.version(op, ret?)
    }

    fn keys(&self, class: ClassId) -> Option<Vec<u64>> {
        self.versions.keys(self.members(class).0)
    }

    fn aside(&self, class: ClassId) -> Aside {
        self.versions.aside(self.members(class).0)
    }

    fn with_aside(&mut self, state: StateId, other: StateId) -> StateId {
        if state == other {
            return state;
        }
        if let Some(&known) = self.joined.get(&(state, other)) {
            return known;
        }
        let joined = self.states.get(state).clone();
        let joined = self.versions.with_aside(joined, self.states.get(other));
        let joined = self.intern(joined);
        self.joined.insert((state, other), joined);
        joined
    }

    fn is_same_aside(&self, state: StateId, other: StateId) -> bool {
        let state = self.states.get(state);
        self.versions.with_aside(state.clone(), self.states.get(other)) == *state
    }

    fn split(&mut self, class: ClassId) -> Option<Vec<ClassId>> {
        let (op, ret) = self.members(class);
        let pieces = self.versions.split(op, ret?)?;
        let first = self.bound.class_count() + self.pieces.len();
        let classes = (first..first + pieces.len()).map(|class| ClassId(class as u32)).collect();
        self.pieces.extend(pieces);
        Some(classes)
    }

    fn step(
        &mut self,
        state: StateId,
        class: ClassId,
        before: u64,
        next: &mut Vec<(StateId, u64)>,
    ) -> Result<(), String> {
        let from = match self.latest.take() {
            Some((id, version, from)) if (id, version) == (state, before) => from,
            _ => self.at(state, before),
        };
        checkpoint_after(STEP);
        let (op, ret) = self.members(class);
        let successors = self.versions.effects(&from, op, ret);
        self.latest = Some((state, before, from));
        let mut once = Once::after(0);
        for after in successors? {
            checkpoint();
            // Most steps are reads, which leave the state that they found.
            let successor = match after {
                None => (state, before),
                Some(after) => {
                    let version = self.versions.version_of(&after);
                    let after = match version == self.normal {
                        true => after,
                        false => self.versions.at_version(after, self.normal),
                    };
                    (self.intern(after), version)
                }
            };
            once.push(next, successor);
        }
        Ok(())
    }

    fn explain(&self, state: StateId, class: ClassId, before: u64) -> String {
        let (op, ret) = self.members(class);
        self.bound.spec().explain(&self.at(state, before), op, ret)
    }

    fn show(&self, state: StateId, version: u64) -> String {
        self.bound.spec().show(&self.at(state, version))
    }

    fn bytes(&self) -> usize {
        self.states.bytes()
    }
}
