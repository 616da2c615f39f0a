//! The sorts of facts: what may be compared by whom.
//!
//! A certificate speaks of one state from the sides of several threads, and the same words mean
//! different things there. Every fact has one of four sorts.
//!
//! | sort | facts | who may compare |
//! | --- | --- | --- |
//! | *common* | null, key classes, colours of values, booleans, small numbers, variants; whether a node is marked; links, reach, path constraints, what is behind a reference, which references are equal; content and control values of a window | everybody: they are the same for all threads |
//! | *viewer* | the holder of a lock (`mine`, `other`), whether this operation changed a variable last, a mark or lock *by me*, privacy, history bits, moments and answer, whose window it is | one thread with itself; two threads only by [`Holder::agrees`] and [`Attribute::agrees`](crate::scalar::Attribute::agrees), which say what both can see at one moment |
//! | *named* | nodes `#n`, records `rn`, threads `tn` of a view, places `pn` of an effect | inside of the view or effect; between two, only by an injective pairing ([`crate::cover`], [`crate::interference`], [`crate::help`]) |
//! | *based* | unknown numbers `nk+c` | inside of the view; between two, only by a translation of bases ([`crate::number`]) |
//!
//! What one thread tells and another one hears has the type [`Told`]. It is no [`Scalar`], so that
//! it cannot be compared with one by `==`: the acting thread asks [`Told::is_so`], another one
//! [`Told::may_be`], and what another one sees written is [`Told::to_others`]. References to nodes
//! that are compared with each other have the type [`Reference`]: of no other variable can it be
//! said that it equals another one.
//!
//! When a certificate is read, every scalar is admitted only where its sort has a meaning
//! ([`Place`]). It would be unsound to compare facts of the sort *viewer* of two threads as if they
//! were common, to let the acting thread say of a lock that it becomes another's, or to take a name
//! of one view for a name of another one.

//! *The last changer.* A shared variable that holds a boolean, a number or a variant has a ghost
//! beside it: the operation of which the last step was that changed it (left it with another value
//! than it found it), as long as that operation runs. [`Scalar::Own`] says: it is the observed one.
//! At any moment it is one operation or none, so two views of one state cannot both say it; it says
//! nothing else than `Int` to everybody else, and less is always true. A step that leaves a
//! variable as it found it, whatever it wrote meanwhile, does not change it and leaves the ghost
//! alone; the step of another operation that changes it, and the return, take it away. It would be
//! unsound to take it for a write that changes nothing, or to keep it past the change of another
//! operation or past the return.

use crate::number::{is_number, is_unbounded};
use crate::object::{Object, Spec};
use crate::scalar::{Class, Holder, Scalar};
use crate::state::State;
use seriatim_lang::types::{Kind, Scalar as ScalarType};

impl Holder {
    /// Whether a lock can look like this to one thread and like `other` to another one at the same
    /// moment.
    pub fn agrees(self, other: Holder) -> bool {
        match (self, other) {
            (Holder::Free, Holder::Free) => true,
            (Holder::Free, _) | (_, Holder::Free) => false,
            (Holder::Mine, Holder::Mine) => false,
            (Holder::Mine | Holder::Other, Holder::Mine | Holder::Other) => true,
        }
    }
}

/// A shared variable that refers to a node of the list: whether two of them are equal is the same
/// for everybody.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Reference(usize);

impl Reference {
    /// A variable as a reference, if it is one.
    pub fn of(object: &Object, variable: usize) -> Option<Reference> {
        object.is_reference(variable).then_some(Reference(variable))
    }

    /// The number of the variable.
    pub fn variable(self) -> usize {
        self.0
    }

    /// Whether two references are equal, in a view that knows both.
    pub fn equals(self, other: Reference, shared: &[Scalar]) -> bool {
        shared[self.0] == shared[other.0]
    }
}

/// What an acting thread says of a shared variable, as it sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Told(Scalar);

impl Told {
    /// Nothing is said.
    pub const NOTHING: Told = Told(Scalar::Unknown);

    /// The acting thread says this.
    pub fn by_actor(scalar: Scalar) -> Told {
        Told(scalar)
    }

    /// Whether anything is said.
    pub fn is_something(self) -> bool {
        self.0 != Scalar::Unknown
    }

    /// What is said, to show it.
    pub fn shown(self) -> Scalar {
        self.0
    }

    /// Whether the acting thread, which sees this itself, speaks the truth.
    pub fn is_so(self, seen_by_actor: Scalar) -> bool {
        match self.0 {
            Scalar::Unknown => true,
            // What everybody sees is true of what the actor knows more about.
            Scalar::Int(_) => self.0 == seen_by_actor.plain(),
            scalar => scalar == seen_by_actor,
        }
    }

    /// Whether another thread can see this at the moment of which the acting thread speaks.
    pub fn may_be(self, seen_by_other: Scalar) -> bool {
        use Scalar::{
            Int, Key, Lock, Node, Null, Number, Outside, Own, Record, Thread, Unknown, Value,
        };
        match (self.0, seen_by_other) {
            (Unknown, _) | (_, Unknown) => true,
            // By sort *viewer*.
            (Lock(actor), Lock(other)) => actor.agrees(other),
            (Own(_), Own(_)) => false,
            (Own(a), Int(b)) | (Int(a), Own(b)) => a == b,
            (Own(_), Number(..)) | (Number(..), Own(_)) => true,
            // By sort *named*: that there is a node, record or thread is common, which one is not
            // said.
            (Node(_) | Outside, Node(_) | Outside) => true,
            (Record(_), Record(_)) | (Thread(_), Thread(_)) => true,
            // By sort *based*.
            (Number(..), other) => is_number(other),
            (Int(_), Number(..)) => true,
            // By sort *common*.
            (Null, other) => other == Null,
            (Int(a), Int(b)) => a == b,
            (Key(a), Key(b)) => a == b,
            (Value(a), Value(b)) => a == b,
            (Int(_) | Own(_) | Key(_) | Value(_) | Lock(_), _) => false,
            (Node(_) | Outside | Record(_) | Thread(_), _) => false,
        }
    }

    /// What others see of a scalar that the acting thread has written; none if it cannot have
    /// written it, or if others could not understand it.
    pub fn to_others(self) -> Option<Scalar> {
        match self.0 {
            Scalar::Lock(Holder::Free) => Some(Scalar::Lock(Holder::Free)),
            Scalar::Lock(Holder::Mine) => Some(Scalar::Lock(Holder::Other)),
            // Nobody makes a lock another's.
            Scalar::Lock(Holder::Other) => None,
            Scalar::Own(number) => Some(Scalar::Int(number)),
            common @ (Scalar::Null | Scalar::Int(_) | Scalar::Key(_) | Scalar::Value(_)) => {
                Some(common)
            }
            Scalar::Unknown | Scalar::Outside => None,
            Scalar::Node(_) | Scalar::Record(_) | Scalar::Thread(_) | Scalar::Number(..) => None,
        }
    }
}

/// A place of a view in which a scalar stands.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// A shared variable.
    Shared(usize),
    /// A shared variable that is no reference to a node, in an effect: before the step.
    Before(usize),
    /// The same: what the step writes.
    Written(usize),
    /// A parameter of this kind.
    Argument(Kind),
    /// A register.
    Register,
    /// A field of a record, or of the shape of one.
    Field,
    /// A thread's own element of an array.
    Own,
    /// The content of a cell when a record was installed in it.
    Base,
    /// The content of an object that is numbers, at a moment.
    Moment,
    /// What an operation on numbers must return.
    Answer,
}

impl Place {
    /// Whether a scalar can stand here: its sort has a meaning in this place of this program.
    pub fn admits(self, object: &Object, scalar: Scalar) -> bool {
        let unbounded = |kind: Kind| object.spec == Spec::Number && is_unbounded(kind.scalar);
        let numerical = object.spec == Spec::Number;
        match self {
            Place::Shared(variable) => shared(object, variable, scalar),
            Place::Before(variable) => {
                !object.is_reference(variable)
                    && (scalar == Scalar::Unknown || shared(object, variable, scalar))
            }
            Place::Written(variable) => {
                let known = !object.is_reference(variable) && object.array(variable).is_none();
                let others = Told::by_actor(scalar).to_others().is_some();
                known && others && shared(object, variable, scalar)
            }
            Place::Argument(kind) => match scalar {
                Scalar::Null => kind.nullable,
                Scalar::Key(Class::Below | Class::Tracked | Class::Above) => {
                    kind.scalar == ScalarType::Key
                }
                Scalar::Value(_) => kind.scalar == ScalarType::Value,
                Scalar::Number(..) => unbounded(kind),
                Scalar::Int(_) => is_discrete(kind.scalar),
                _ => false,
            },
            Place::Register => match scalar {
                Scalar::Number(..) => numerical,
                Scalar::Lock(_) | Scalar::Own(_) | Scalar::Outside => false,
                _ => true,
            },
            Place::Field => matches!(
                scalar,
                Scalar::Unknown
                    | Scalar::Null
                    | Scalar::Value(_)
                    | Scalar::Int(_)
                    | Scalar::Thread(_)
            ),
            Place::Own => matches!(
                scalar,
                Scalar::Unknown
                    | Scalar::Null
                    | Scalar::Record(_)
                    | Scalar::Int(_)
                    | Scalar::Thread(_)
            ),
            Place::Base => matches!(scalar, Scalar::Null | Scalar::Value(_)),
            Place::Moment | Place::Answer => is_number(scalar),
        }
    }
}

fn is_discrete(scalar: ScalarType) -> bool {
    matches!(scalar, ScalarType::Bool | ScalarType::Int(_) | ScalarType::Enum(_))
}

/// Whether a shared variable can hold a scalar; of the elements of arrays nothing is ever said.
fn shared(object: &Object, variable: usize, scalar: Scalar) -> bool {
    let kind = object.steps.shared[variable].kind;
    if object.array(variable).is_some() {
        return scalar == Scalar::Unknown;
    }
    match scalar {
        Scalar::Null => kind.nullable || object.is_reference(variable),
        Scalar::Node(_) => object.is_reference(variable),
        Scalar::Record(_) => {
            !object.is_reference(variable) && matches!(kind.scalar, ScalarType::Ref(_))
        }
        Scalar::Lock(_) => kind.scalar == ScalarType::Lock,
        Scalar::Int(_) => is_discrete(kind.scalar),
        Scalar::Own(_) => object.has_changer(variable),
        Scalar::Number(..) => object.spec == Spec::Number && is_unbounded(kind.scalar),
        Scalar::Value(_) => kind.scalar == ScalarType::Value,
        Scalar::Unknown | Scalar::Outside | Scalar::Key(_) | Scalar::Thread(_) => false,
    }
}

/// What stands in a place where its sort has no meaning, or names something that the view does not
/// have.
pub fn ill_sorted(object: &Object, state: &State) -> Option<String> {
    let shared = state.graph.shared.iter().enumerate();
    let mut all: Vec<(Place, Scalar)> = shared.map(|(v, w)| (Place::Shared(v), *w)).collect();
    if let Some(operation) = &state.operation {
        let kinds = &object.steps.methods[operation.method as usize].params;
        all.extend(kinds.iter().map(|k| Place::Argument(*k)).zip(operation.arguments.clone()));
    }
    if let Some(window) = &state.window {
        let kinds = &object.steps.methods[window.method as usize].params;
        all.extend(kinds.iter().map(|k| Place::Argument(*k)).zip(window.arguments.clone()));
        all.push((Place::Base, window.base));
    }
    let of = |place: Place| move |scalar: &Scalar| (place, *scalar);
    all.extend(state.registers().iter().map(of(Place::Register)));
    all.extend(state.records.iter().flat_map(|r| &r.fields).map(of(Place::Field)));
    all.extend(state.own.iter().map(of(Place::Own)));
    all.extend(state.numbers.moments.iter().flatten().map(of(Place::Moment)));
    all.extend(state.numbers.answer.iter().flatten().map(of(Place::Answer)));
    let exists = |scalar: Scalar| match scalar {
        Scalar::Node(id) => (id.0 as usize) < state.graph.nodes.len(),
        Scalar::Record(id) => (id.0 as usize) < state.records.len(),
        _ => true,
    };
    let ill = all.iter().find(|(place, scalar)| !place.admits(object, *scalar) || !exists(*scalar));
    ill.map(|(place, scalar)| format!("{scalar:?} as {place:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three threads and one lock, held by nobody or by one of them: what one says and another one
    /// sees agrees exactly if there is such a state.
    #[test]
    fn two_threads_agree_on_a_lock_if_they_can_see_it_at_one_moment() {
        let all = [Holder::Free, Holder::Mine, Holder::Other];
        let seen = |holder: Option<u8>, by: u8| match holder {
            None => Holder::Free,
            Some(thread) if thread == by => Holder::Mine,
            Some(_) => Holder::Other,
        };
        for actor in all {
            for other in all {
                let mut states = [None, Some(0), Some(1), Some(2)].into_iter();
                let possible = states.any(|s| (seen(s, 0), seen(s, 1)) == (actor, other));
                let told = Told::by_actor(Scalar::Lock(actor));
                assert_eq!(told.may_be(Scalar::Lock(other)), possible, "{actor:?} {other:?}");
            }
        }
    }

    /// What the acting thread may write to a lock, and what another one sees afterwards, for all
    /// holders before and after.
    #[test]
    fn others_see_a_written_lock_as_it_is() {
        assert_eq!(Told::by_actor(Scalar::Lock(Holder::Other)).to_others(), None);
        for holder in [Holder::Free, Holder::Mine] {
            let seen = Told::by_actor(Scalar::Lock(holder)).to_others();
            let Some(Scalar::Lock(seen)) = seen else { panic!("a lock") };
            assert!(holder.agrees(seen) && seen != Holder::Mine);
        }
    }

    /// Three threads and a variable that one of them, or none that still runs, changed last: what
    /// one says and another one sees agrees exactly if there is such a state, and what is said of a
    /// variable that is written is what others see then.
    #[test]
    fn two_threads_agree_on_a_last_changer_if_there_is_one() {
        let all = [Scalar::Int(0), Scalar::Own(0), Scalar::Int(1), Scalar::Own(1)];
        let says = |scalar: Scalar, (value, changer): (i32, Option<u8>), by: u8| match scalar {
            Scalar::Own(number) => number == value && changer == Some(by),
            scalar => scalar == Scalar::Int(value),
        };
        let mut states = Vec::new();
        for value in [0, 1] {
            states.extend([None, Some(0), Some(1), Some(2)].map(|changer| (value, changer)));
        }
        for actor in all {
            let told = Told::by_actor(actor);
            for other in all {
                let possible = states.iter().any(|s| says(actor, *s, 0) && says(other, *s, 1));
                assert_eq!(told.may_be(other), possible, "{actor:?} {other:?}");
                let implied = states.iter().all(|s| !says(other, *s, 0) || says(actor, *s, 0));
                assert_eq!(told.is_so(other), implied, "{actor:?} {other:?}");
            }
            assert_eq!(told.to_others(), Some(actor.plain()));
        }
    }
}
