//! The sorts of facts: what may be compared by whom.
//!
//! A certificate speaks of one state from the sides of several threads, and the same words mean different things there. Every fact has
//! one of four sorts.
//!
//! | sort | facts | who may compare |
//! | --- | --- | --- |
//! | *common* | null, key classes, colours of values, booleans, small numbers, variants; whether a node is marked; links, reach, ways, what is behind a reference, which references are equal; content and control values of a window | everybody: they are the same for all threads |
//! | *viewer* | the holder of a lock (`mine`, `other`), whether this operation changed a variable last, a mark or lock *by me*, privacy, history bits, moments and answer, whose window it is | one thread with itself; two threads only by [`Holder::agrees`] and [`Attribute::agrees`](crate::word::Attribute::agrees), which say what both can see at one moment |
//! | *named* | nodes `#n`, records `rn`, threads `tn` of a view, places `pn` of an effect | inside of the view or effect; between two, only by an injective pairing ([`crate::cover`], [`crate::interference`], [`crate::help`]) |
//! | *based* | unknown numbers `nk+c` | inside of the view; between two, only by a translation of bases ([`crate::number`]) |
//!
//! What one thread tells and another one hears has the type [`Told`]. It is no [`Word`], so that it cannot be compared with one by `==`:
//! the acting thread asks [`Told::is_so`], another one [`Told::may_be`], and what another one sees written is
//! [`Told::to_others`]. References to nodes that are compared with each other have the type [`Reference`]: of no other variable can it
//! be said that it equals another one.
//!
//! When a certificate is read, every word is admitted only where its sort has a meaning ([`Place`]). It would be unsound to
//! compare facts of the sort *viewer* of two threads as if they were common, to let the acting thread say of a lock that it becomes another's,
//! or to take a name of one view for a name of another one.

//! *The last changer.* A shared variable that holds a boolean, a number or a variant has a ghost beside it: the operation of which the last
//! step was that changed it (left it with another value than it found it), as long as that operation runs. [`Word::Own`] says: it is
//! the observed one. At any moment it is one operation or none, so two views of one state cannot both say it; it says nothing else than
//! `Int` to everybody else, and less is always true. A step that leaves a variable as it found it, whatever it wrote meanwhile, does not
//! change it and leaves the ghost alone; the step of another operation that changes it, and the return, take it away. It would be unsound to
//! take it for a write that changes nothing, or to keep it past the change of another operation or past the return.

use crate::number::{is_number, is_unbounded};
use crate::object::{Object, Spec};
use crate::state::State;
use crate::word::{Class, Holder, Word};
use seriatim_lang::types::{Kind, Scalar};

impl Holder {
    /// Whether a lock can look like this to one thread and like `other` to another one at the same moment.
    pub fn agrees(self, other: Holder) -> bool {
        match (self, other) {
            (Holder::Free, Holder::Free) => true,
            (Holder::Free, _) | (_, Holder::Free) => false,
            (Holder::Mine, Holder::Mine) => false,
            (Holder::Mine | Holder::Other, Holder::Mine | Holder::Other) => true,
        }
    }
}

/// A shared variable that refers to a node of the list: whether two of them are equal is the same for everybody.
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
    pub fn equals(self, other: Reference, shared: &[Word]) -> bool {
        shared[self.0] == shared[other.0]
    }
}

/// What an acting thread says of a shared variable, as it sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Told(Word);

impl Told {
    /// Nothing is said.
    pub const NOTHING: Told = Told(Word::Unknown);

    /// The acting thread says this.
    pub fn by_actor(word: Word) -> Told {
        Told(word)
    }

    /// Whether anything is said.
    pub fn is_something(self) -> bool {
        self.0 != Word::Unknown
    }

    /// What is said, to show it.
    pub fn shown(self) -> Word {
        self.0
    }

    /// Whether the acting thread, which sees this itself, speaks the truth.
    pub fn is_so(self, seen_by_actor: Word) -> bool {
        match self.0 {
            Word::Unknown => true,
            // What everybody sees is true of what the actor knows more about.
            Word::Int(_) => self.0 == seen_by_actor.plain(),
            word => word == seen_by_actor,
        }
    }

    /// Whether another thread can see this at the moment of which the acting thread speaks.
    pub fn may_be(self, seen_by_other: Word) -> bool {
        use Word::{
            Int, Key, Lock, Node, Null, Number, Outside, Own, Record, Thread, Unknown, Value,
        };
        match (self.0, seen_by_other) {
            (Unknown, _) | (_, Unknown) => true,
            // By sort *viewer*.
            (Lock(actor), Lock(other)) => actor.agrees(other),
            (Own(_), Own(_)) => false,
            (Own(a), Int(b)) | (Int(a), Own(b)) => a == b,
            (Own(_), Number(..)) | (Number(..), Own(_)) => true,
            // By sort *named*: that there is a node, record or thread is common, which one is not said.
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

    /// What others see of a word that the acting thread has written; none if it cannot have written it, or if others
    /// could not understand it.
    pub fn to_others(self) -> Option<Word> {
        match self.0 {
            Word::Lock(Holder::Free) => Some(Word::Lock(Holder::Free)),
            Word::Lock(Holder::Mine) => Some(Word::Lock(Holder::Other)),
            // Nobody makes a lock another's.
            Word::Lock(Holder::Other) => None,
            Word::Own(number) => Some(Word::Int(number)),
            common @ (Word::Null | Word::Int(_) | Word::Key(_) | Word::Value(_)) => Some(common),
            Word::Unknown | Word::Outside => None,
            Word::Node(_) | Word::Record(_) | Word::Thread(_) | Word::Number(..) => None,
        }
    }
}

/// A place of a view in which a word stands.
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
    /// The content of an object that is a number, at a moment.
    Moment,
    /// What an operation on a number must return.
    Answer,
}

impl Place {
    /// Whether a word can stand here: its sort has a meaning in this place of this program.
    pub fn admits(self, object: &Object, word: Word) -> bool {
        let unbounded = |kind: Kind| object.spec == Spec::Number && is_unbounded(kind.scalar);
        let numerical = object.spec == Spec::Number;
        match self {
            Place::Shared(variable) => shared(object, variable, word),
            Place::Before(variable) => {
                !object.is_reference(variable)
                    && (word == Word::Unknown || shared(object, variable, word))
            }
            Place::Written(variable) => {
                let known = !object.is_reference(variable) && object.array(variable).is_none();
                let others = Told::by_actor(word).to_others().is_some();
                known && others && shared(object, variable, word)
            }
            Place::Argument(kind) => match word {
                Word::Null => kind.nullable,
                Word::Key(Class::Below | Class::Tracked | Class::Above) => {
                    kind.scalar == Scalar::Key
                }
                Word::Value(_) => kind.scalar == Scalar::Value,
                Word::Number(..) => unbounded(kind),
                Word::Int(_) => is_discrete(kind.scalar),
                _ => false,
            },
            Place::Register => match word {
                Word::Number(..) => numerical,
                Word::Lock(_) | Word::Own(_) | Word::Outside => false,
                _ => true,
            },
            Place::Field => matches!(
                word,
                Word::Unknown | Word::Null | Word::Value(_) | Word::Int(_) | Word::Thread(_)
            ),
            Place::Own => matches!(
                word,
                Word::Unknown | Word::Null | Word::Record(_) | Word::Int(_) | Word::Thread(_)
            ),
            Place::Base => matches!(word, Word::Null | Word::Value(_)),
            Place::Moment => is_number(word),
            Place::Answer => word == Word::Null || is_number(word),
        }
    }
}

fn is_discrete(scalar: Scalar) -> bool {
    matches!(scalar, Scalar::Bool | Scalar::Int(_) | Scalar::Enum(_))
}

/// Whether a shared variable can hold a word; of the elements of arrays nothing is ever said.
fn shared(object: &Object, variable: usize, word: Word) -> bool {
    let kind = object.steps.shared[variable].kind;
    if object.array(variable).is_some() {
        return word == Word::Unknown;
    }
    match word {
        Word::Null => kind.nullable || object.is_reference(variable),
        Word::Node(_) => object.is_reference(variable),
        Word::Record(_) => !object.is_reference(variable) && matches!(kind.scalar, Scalar::Ref(_)),
        Word::Lock(_) => kind.scalar == Scalar::Lock,
        Word::Int(_) => is_discrete(kind.scalar),
        Word::Own(_) => object.has_changer(variable),
        Word::Number(..) => object.spec == Spec::Number && is_unbounded(kind.scalar),
        Word::Value(_) => kind.scalar == Scalar::Value,
        Word::Unknown | Word::Outside | Word::Key(_) | Word::Thread(_) => false,
    }
}

/// What stands in a place where its sort has no meaning, or names something that the view does not have.
pub fn ill_sorted(object: &Object, state: &State) -> Option<String> {
    let shared = state.picture.shared.iter().enumerate();
    let mut all: Vec<(Place, Word)> = shared.map(|(v, w)| (Place::Shared(v), *w)).collect();
    if let Some(operation) = &state.operation {
        let kinds = &object.steps.methods[operation.method as usize].params;
        all.extend(kinds.iter().map(|k| Place::Argument(*k)).zip(operation.arguments.clone()));
    }
    if let Some(window) = &state.window {
        let kinds = &object.steps.methods[window.method as usize].params;
        all.extend(kinds.iter().map(|k| Place::Argument(*k)).zip(window.arguments.clone()));
        all.push((Place::Base, window.base));
    }
    let of = |place: Place| move |word: &Word| (place, *word);
    all.extend(state.registers().iter().map(of(Place::Register)));
    all.extend(state.records.iter().flat_map(|r| &r.fields).map(of(Place::Field)));
    all.extend(state.own.iter().map(of(Place::Own)));
    all.extend(state.numbers.moments.iter().map(of(Place::Moment)));
    all.extend(state.numbers.answer.iter().map(of(Place::Answer)));
    let exists = |word: Word| match word {
        Word::Node(id) => (id.0 as usize) < state.picture.nodes.len(),
        Word::Record(id) => (id.0 as usize) < state.records.len(),
        _ => true,
    };
    let ill = all.iter().find(|(place, word)| !place.admits(object, *word) || !exists(*word));
    ill.map(|(place, word)| format!("{word:?} as {place:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three threads and one lock, held by nobody or by one of them: what one says and another one sees agrees exactly if
    /// there is such a state.
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
                let told = Told::by_actor(Word::Lock(actor));
                assert_eq!(told.may_be(Word::Lock(other)), possible, "{actor:?} {other:?}");
            }
        }
    }

    /// What the acting thread may write to a lock, and what another one sees afterwards, for all holders before and after.
    #[test]
    fn others_see_a_written_lock_as_it_is() {
        assert_eq!(Told::by_actor(Word::Lock(Holder::Other)).to_others(), None);
        for holder in [Holder::Free, Holder::Mine] {
            let seen = Told::by_actor(Word::Lock(holder)).to_others();
            let Some(Word::Lock(seen)) = seen else { panic!("a lock") };
            assert!(holder.agrees(seen) && seen != Holder::Mine);
        }
    }

    /// Three threads and a variable that one of them, or none that still runs, changed last: what one says and another one sees agrees
    /// exactly if there is such a state, and what is said of a variable that is written is what others see then.
    #[test]
    fn two_threads_agree_on_a_last_changer_if_there_is_one() {
        let all = [Word::Int(0), Word::Own(0), Word::Int(1), Word::Own(1)];
        let says = |word: Word, (value, changer): (i32, Option<u8>), by: u8| match word {
            Word::Own(number) => number == value && changer == Some(by),
            word => word == Word::Int(value),
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
