//! Helping by elimination: one step that completes two operations, a `push` and a `pop` that meet.
//!
//! Threads publish records in their own element (*slot*) of a shared array. A step that exchanges
//! another thread's slot is taken as the moment at which both operations take effect, the `push`
//! immediately before the `pop`: the content of a stack is the same after both. Nothing is assumed
//! about the owner of the slot. What the acting thread knows of the record that it displaced
//! becomes an effect, and *every* view whose own slot holds such a record must be a pending
//! operation of the other sort that has not taken effect; if the owner pushes, its argument must be
//! the value that the acting `pop` takes from the record. The owner is a thread like all others, so
//! its view is among these.
//!
//! Theorem: as in [`crate::content`]; two operations take effect in one step, each once, with
//! matching values. It would be unsound to accept an owner that is idle or done; to let the acting
//! thread's own slot count as another's; to do this for queues, where an exchange is legal only
//! while they are empty.

use crate::model::{Kind, Model, Role};
use crate::outcome::Obstacle;
use crate::own::Run;
use crate::value::{ME, Val};
use crate::view::{FIELDS, MOST, Record, View};
use seriatim_lang::steps::Pc;

/// The fields of a record as an effect tells them: thread 0 is the acting one, 1 the owner of the
/// slot, 2 any other.
pub type Told = [Val; FIELDS];

/// The effect of a step that exchanged another thread's slot.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Help {
    /// The step.
    pub pc: Pc,
    /// Which of the thread's slots.
    pub slot: u8,
    /// The record that the slot held.
    pub old: Told,
    /// The record that it holds now, if any.
    pub new: Option<Told>,
    /// Whether the owner of the slot pushes; else it pops.
    pub owner_puts: bool,
    /// The colour of the value that changes hands.
    pub colour: u8,
}

/// The effect of an exchange by the observed operation, which takes effect by it.
pub fn help(model: &Model, run: &mut Run, pc: Pc) -> Result<Option<Help>, Obstacle> {
    let Some(foreign) = run.foreign else { return Ok(None) };
    let told = |record: &Record| {
        record.fields.map(|v| match v.tid() {
            Some(0) => Val::Tid(0),
            Some(tid) if tid == foreign.target => Val::Tid(1),
            Some(_) => Val::Tid(2),
            None => v,
        })
    };
    let records = &run.after.records;
    let (old, new) = match (foreign.old, foreign.new) {
        (Val::Record(old), Val::Null) => (told(&records[old as usize]), None),
        (Val::Record(old), Val::Record(new)) => {
            (told(&records[old as usize]), Some(told(&records[new as usize])))
        }
        _ => return Err(Obstacle::NotUnderstood("an exchange that is no help")),
    };
    let busy = run.after.busy.as_mut().ok_or(Obstacle::IllegalChange)?;
    let role = model.roles[busy.method as usize];
    if model.kind != Kind::Stack || busy.ghost.done {
        return Err(Obstacle::IllegalChange);
    }
    let colours: Vec<u8> = old.iter().filter_map(|v| colour(*v)).collect();
    let (owner_puts, colour) = match (role, colour(busy.args[0]), colours.as_slice()) {
        (Role::Put, Some(colour), _) => (false, colour),
        (Role::Take { .. }, _, [colour]) => {
            busy.ghost.got = Some(*colour);
            (true, *colour)
        }
        _ => return Err(Obstacle::IllegalChange),
    };
    busy.ghost.done = true;
    Ok(Some(Help { pc, slot: foreign.slot, old, new, owner_puts, colour }))
}

fn colour(value: Val) -> Option<u8> {
    match value {
        Val::Colour(c) => Some(c),
        _ => None,
    }
}

/// Whether a record of the owner's view can be the one that an effect tells of.
fn agrees(told: &Told, fields: &[Val; FIELDS]) -> bool {
    told.iter().zip(fields).all(|pair| match pair {
        (Val::Tid(1), field) => *field == ME,
        (Val::Tid(_), field) => field.tid().is_some_and(|t| t != 0),
        (told, field) => told == field,
    })
}

impl Help {
    /// The views of the owner after the step; none if the view cannot be the owner's. Law: the
    /// owner's view of a state in which the step takes place goes to one that describes the state
    /// after it.
    pub fn applied(&self, model: &Model, view: &View) -> Result<Vec<View>, Obstacle> {
        let slot = self.slot as usize;
        let holds = view.slots[slot].record().map(|r| &view.records[r].fields);
        if !holds.is_some_and(|fields| agrees(&self.old, fields)) {
            return Ok(vec![]);
        }
        let mut after = view.clone();
        let busy = after.busy.as_mut().ok_or(Obstacle::IllegalChange)?;
        let fits = match (model.roles[busy.method as usize], self.owner_puts) {
            (Role::Put, true) => busy.args[0] == Val::Colour(self.colour),
            (Role::Take { .. }, false) => true,
            _ => false,
        };
        if busy.ghost.done || !fits {
            return Err(Obstacle::IllegalChange);
        }
        busy.ghost.done = true;
        busy.ghost.got = (!self.owner_puts).then_some(self.colour);
        let Some(told) = &self.new else {
            after.slots[slot] = Val::Null;
            return Ok(vec![after]);
        };
        let mut found = Vec::new();
        for (number, record) in view.records.iter().enumerate() {
            if !record.private && agrees(told, &record.fields) {
                let mut known = after.clone();
                known.slots[slot] = Val::Record(number as u8);
                found.push(known);
            }
        }
        if after.records.len() >= MOST {
            return Err(Obstacle::NotUnderstood("a view with very many records"));
        }
        after.records.push(Record { fields: [Val::Dead; FIELDS], private: false });
        after.slots[slot] = Val::Record(after.records.len() as u8 - 1);
        found.extend(filled(after, told, 0));
        Ok(found)
    }
}

/// The views in which the last record has the fields of which the effect tells, from the field `at`
/// on: a thread that is not the owner is any other one.
fn filled(view: View, told: &Told, at: usize) -> Vec<View> {
    let Some(field) = told.get(at) else { return vec![view] };
    let options: Vec<Val> = match field {
        Val::Tid(1) => vec![ME],
        Val::Tid(_) => (1..=view.named_threads()).map(Val::Tid).collect(),
        other => vec![*other],
    };
    let with = |value: Val| {
        let mut view = view.clone();
        if let Some(record) = view.records.last_mut() {
            record.fields[at] = value;
        }
        filled(view, told, at + 1)
    };
    options.into_iter().flat_map(with).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(tid: u8, colour: u8) -> [Val; FIELDS] {
        [Val::Tid(tid), Val::Int(0), Val::Colour(colour), Val::Dead]
    }

    /// For three threads and all ways in which a record can name one: the acting thread's telling
    /// agrees with the owner's view exactly if both can speak of the same record.
    #[test]
    fn a_telling_agrees_with_the_view_of_the_owner_alone() {
        for named in 0..3u8 {
            for colour in 0..2 {
                // Thread 0 acts, thread 1 owns the slot.
                let told = fields(named, colour);
                for mine in 0..3u8 {
                    let view = fields(
                        match mine {
                            1 => 0,
                            0 => 1,
                            other => other,
                        },
                        0,
                    );
                    let same = colour == 0 && (named == 1) == (mine == 1);
                    assert_eq!(agrees(&told, &view), same, "{named} {mine}");
                }
            }
        }
    }

    #[test]
    fn a_record_of_another_thread_may_name_any_other_thread() {
        let record = Record { fields: [Val::Dead; FIELDS], private: false };
        let known = Record { fields: fields(1, 0), private: false };
        let view = View { records: vec![known, record], ..View::default() };
        let found = filled(view, &fields(0, 1), 0);
        let names: Vec<Val> = found.iter().map(|v| v.records[1].fields[0]).collect();
        assert_eq!(names, [Val::Tid(1), Val::Tid(2)], "the known one, and one that is not known");
        assert!(found.iter().all(|v| v.records[1].fields[2] == Val::Colour(1)));
    }
}
