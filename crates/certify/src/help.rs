//! Elimination: one step that completes two operations on a stack, a `push` and a `pop` that meet.
//!
//! A step that exchanges another thread's element of an array is the moment of both: the `push`
//! takes effect immediately before the `pop`, and the content of the stack is what it was. Nothing
//! is assumed about the owner of the element. What the acting thread knows of the record that it
//! displaced is told to all: *every* view whose own element may hold that record must be that of a
//! pending operation of the other sort that has not taken effect; if it pushes, its argument has
//! the colour of the value that the acting `pop` takes from the record. The owner is in one of the
//! views, so all this is true of it. The view of any other thread knows nothing of the element, and
//! stays as it is.
//!
//! What is told is not in the certificate: it is collected from the steps. It would be unsound to
//! tell more than is certain, to leave a view out, to accept an owner that is idle or done, or to
//! do all this for a queue, where the two may meet only while it is empty.

use crate::execute::{Execution, Objection};
use crate::object::{Object, Role, Spec};
use crate::scalar::Scalar;
use crate::state::{Operation, State};
use seriatim_lang::choices::Choices;

/// The fields of a record as they are told: thread 0 is the acting one, 1 the owner of the element,
/// 2 any other.
type Told = Vec<Scalar>;

/// What is told of an exchange.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Help {
    own: usize,
    old: Told,
    new: Option<Told>,
    owner_pushes: bool,
    colour: Scalar,
}

impl Execution<'_> {
    /// What is to be told of the step, if it exchanged another thread's element; the operation
    /// takes effect by that.
    pub fn help(&mut self, operation: &mut Operation) -> Result<Option<Help>, Objection> {
        let Some(foreign) = self.foreign else { return Ok(None) };
        let told = |scalar: Scalar| match scalar {
            Scalar::Record(id) => {
                let fields = self.state.record(id).fields.iter().map(|f| match f {
                    Scalar::Thread(0) => Scalar::Thread(0),
                    Scalar::Thread(n) if *n == foreign.target => Scalar::Thread(1),
                    Scalar::Thread(_) => Scalar::Thread(2),
                    other => *other,
                });
                Some(fields.collect::<Told>())
            }
            _ => None,
        };
        let old = told(foreign.old).ok_or("an exchange that is no help")?;
        let new = told(foreign.new);
        if new.is_none() && foreign.new != Scalar::Null {
            return Err("an exchange that is no help".to_owned());
        }
        let role = self.object.roles[operation.method as usize];
        if self.object.spec != Spec::Stack || operation.ghost.done {
            return Err("an exchange by an operation that must not take effect".to_owned());
        }
        let values: Vec<Scalar> =
            old.iter().copied().filter(|w| matches!(w, Scalar::Value(_))).collect();
        let (owner_pushes, colour) = match (role, &values[..]) {
            (Role::Put, _) => (false, operation.argument()),
            (Role::Take { .. }, [colour]) => {
                operation.ghost.got = Some(*colour);
                (true, *colour)
            }
            _ => return Err("an exchange of no value".to_owned()),
        };
        operation.ghost.done = true;
        Ok(Some(Help { own: foreign.own, old, new, owner_pushes, colour }))
    }
}

/// Whether a record with these fields in the view of the owner can be the one that was told of.
fn agrees(told: &Told, fields: &[Scalar]) -> bool {
    let pair = |(told, field): (&Scalar, &Scalar)| match (told, field) {
        (Scalar::Unknown, _) | (_, Scalar::Unknown) => true,
        (Scalar::Thread(1), field) => *field == Scalar::Thread(0),
        (Scalar::Thread(_), Scalar::Thread(n)) => *n != 0,
        (told, field) => told == field,
    };
    told.len() == fields.len() && told.iter().zip(fields).all(pair)
}

impl Help {
    /// Whether the view can be that of the owner.
    pub fn concerns(&self, view: &State) -> bool {
        match view.own[self.own] {
            Scalar::Record(id) => agrees(&self.old, &view.record(id).fields),
            // A view that says nothing of its element can be that of the owner.
            Scalar::Unknown => true,
            _ => false,
        }
    }

    /// The state of the owner after the step, in the way that the choices say.
    pub fn apply(
        &self,
        object: &Object,
        view: &State,
        choices: &mut Choices,
    ) -> Result<State, Objection> {
        let mut state = view.clone();
        let operation = state.operation.as_mut();
        let operation = operation.ok_or("the element of an idle thread is exchanged")?;
        let role = object.roles[operation.method as usize];
        let pushes = role == Role::Put;
        let may = match role {
            Role::Put => self.owner_pushes && operation.argument() == self.colour,
            Role::Take { .. } => !self.owner_pushes,
            _ => false,
        };
        if operation.ghost.done || !may {
            return Err("the owner of an element that is exchanged may not take effect".to_owned());
        }
        operation.ghost.done = true;
        operation.ghost.got = (!pushes).then_some(self.colour);
        let Some(told) = &self.new else {
            state.own[self.own] = Scalar::Null;
            return Ok(state);
        };
        let known = |n: &u32| {
            let record = &view.records[*n as usize];
            !record.private && agrees(told, &record.fields)
        };
        let known: Vec<u32> = (0..view.records.len() as u32).filter(known).collect();
        let pick = choices.pick(known.len() as u32 + 1) as usize;
        let id = match known.get(pick) {
            Some(id) => crate::scalar::RecordId(*id),
            None => {
                let id = state.name_record(vec![])?;
                for scalar in told {
                    let threads = state.threads(view.registers());
                    let field = match scalar {
                        Scalar::Thread(1) => Scalar::Thread(0),
                        Scalar::Thread(_) => Scalar::Thread(1 + choices.pick(threads)),
                        other => *other,
                    };
                    state.records[id.0 as usize].fields.push(field);
                }
                id
            }
        };
        state.own[self.own] = Scalar::Record(id);
        Ok(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For three threads, of which 0 acts, 1 owns the element and 2 is another: what is told of a
    /// record that names one of them agrees with the owner's view of a record exactly if both can
    /// be the same.
    #[test]
    fn what_is_told_agrees_with_the_view_of_the_owner() {
        for told in 0..3u32 {
            for named in 0..3u32 {
                // The owner calls itself 0, and the other two in any way.
                let mine = [[1, 0, 2], [2, 0, 1]].map(|names| names[named as usize]);
                for mine in mine {
                    let same = (told == 1) == (named == 1);
                    let fields = [Scalar::Thread(mine), Scalar::Value(0)];
                    let telling = vec![Scalar::Thread(told), Scalar::Value(0)];
                    assert_eq!(agrees(&telling, &fields), same, "{told} {named}");
                    let another = vec![Scalar::Thread(told), Scalar::Value(1)];
                    assert!(!agrees(&another, &fields));
                }
            }
        }
    }
}
