//! Records and shared arrays, as a thread's own steps see them.
//!
//! Of a shared array, the view knows at most the thread's own element. Any other element may hold
//! whatever fits: no record, a record that the view names, or one that it does not name and that
//! some thread has published. What records threads publish is collected over all views as *shapes*,
//! and a new shape sends all views back to work; a record found in an array has one of the shapes,
//! with any threads in the place of the threads that it names. A record never changes once it is
//! public (the semantics stops otherwise), so a shape stays true. Threads that a view names are
//! different; a thread found in an array is any of these, or another one.
//!
//! A comparison with an element that is not known goes both ways. To write an element of another
//! thread is a step that its owner must learn of: that is [`crate::help`].
//!
//! It would be unsound to leave a shape out, or to let a record change in public.

use crate::own::{Halt, Ran, Run, Spot, strange};
use crate::value::{ME, OTHER_VALUE, TRACKED_VALUE, Val};
use crate::view::{FIELDS, MOST, Record, View};
use seriatim_lang::machine::Fault;
use seriatim_lang::steps::{Ex, Place};
use seriatim_lang::types::{Scalar, StructId};

/// What is known about a published record: its fields, where thread 0 is the one that published it
/// and any other number stands for any other thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Shape {
    /// The fields.
    pub fields: [Val; FIELDS],
}

impl Shape {
    /// The shape of a record that the observed thread publishes.
    pub fn of(record: &Record) -> Shape {
        let fields = record.fields.map(|v| match v.tid() {
            Some(tid) => Val::Tid(tid.min(1)),
            None => v,
        });
        Shape { fields }
    }
}

/// A successful exchange of another thread's element of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Foreign {
    /// Which of the arrays with one element for each thread.
    pub slot: u8,
    /// The thread.
    pub target: u8,
    /// What the element held.
    pub old: Val,
    /// What it holds now.
    pub new: Val,
}

/// The shapes of the records that a step made public.
pub fn published(before: &View, after: &View) -> impl Iterator<Item = Shape> {
    let pairs = before.records.iter().zip(&after.records);
    pairs.filter(|(b, a)| b.private && !a.private).map(|(_, a)| Shape::of(a))
}

impl Run<'_> {
    /// Allocates a record.
    pub(crate) fn allocate_record(&mut self, values: &[Val]) -> Ran<Val> {
        let number = self.after.records.len();
        if number >= MOST {
            return strange("a view with very many records");
        }
        let mut fields = [Val::Dead; FIELDS];
        fields[..values.len()].copy_from_slice(values);
        let record = Record { fields, private: true };
        self.before.records.push(record);
        self.after.records.push(record);
        Ok(Val::Record(number as u8))
    }

    /// The element of an array of shared slots.
    pub(crate) fn element(&mut self, first: usize, index: &Ex) -> Ran<Spot> {
        let Some(array) = self.model.array(first).copied() else {
            return strange("an array that is not known");
        };
        match (array.slot, self.evaluate(index)?) {
            (Some(slot), ME) => Ok(Spot::Mine(slot as usize)),
            (Some(slot), Val::Tid(tid)) => Ok(Spot::Hidden(first, Some((slot, tid)))),
            (_, Val::Null) => Err(Halt::from(Fault::UnexpectedNull)),
            (None, Val::Int(n)) if (0..array.len as i32).contains(&n) => {
                Ok(Spot::Hidden(first, None))
            }
            (None, Val::Int(_)) => Err(Halt::from(Fault::OutOfRange)),
            _ => strange("an index of this sort"),
        }
    }

    /// A field of a record; any value, if it is not represented.
    pub(crate) fn field(&mut self, record: usize, slot: usize, of: StructId) -> Ran<Val> {
        let known = self.after.records[record].fields[slot];
        if known != Val::Hidden {
            return Ok(known);
        }
        let kind = self.model.steps.structs[of.0 as usize].slots[slot].kind;
        match kind.scalar {
            Scalar::Value => {
                let options = [OTHER_VALUE, TRACKED_VALUE, Val::Null];
                let count = if kind.nullable { 3 } else { 2 };
                Ok(options[self.choices.pick(count) as usize])
            }
            _ => self.any(kind),
        }
    }

    /// Any value that an element of an array may hold which the view does not know.
    pub(crate) fn unknown_element(&mut self, at: usize) -> Ran<Val> {
        let kind = self.model.steps.shared[at].kind;
        if kind.nullable && self.choices.pick(2) == 0 {
            return Ok(Val::Null);
        }
        match kind.scalar {
            Scalar::Tid => Ok(self.any_thread()),
            Scalar::Ref(_) => self.any_record(),
            _ => self.any(kind),
        }
    }

    fn any_thread(&mut self) -> Val {
        let named = self.after.named_threads();
        Val::Tid(self.choices.pick(u32::from(named) + 1) as u8)
    }

    fn any_record(&mut self) -> Ran<Val> {
        let public = |n: &usize| !self.after.records[*n].private;
        let known: Vec<usize> = (0..self.after.records.len()).filter(public).collect();
        let pick = self.choices.pick((known.len() + self.shapes.len()).max(1) as u32) as usize;
        if let Some(record) = known.get(pick) {
            return Ok(Val::Record(*record as u8));
        }
        // Where no thread publishes records, there is none to be found.
        let Some(shape) = self.shapes.get(pick - known.len()).copied() else {
            return Err(Halt::Waits);
        };
        if self.after.records.len() >= MOST {
            return strange("a view with very many records");
        }
        let mut publisher = None;
        let number = self.after.records.len();
        self.after.records.push(Record { fields: [Val::Dead; FIELDS], private: false });
        for i in 0..FIELDS {
            let field = match (shape.fields[i], publisher) {
                (Val::Tid(0), Some(publisher)) => publisher,
                (Val::Tid(0), None) => {
                    let found = self.any_thread();
                    *publisher.insert(found)
                }
                (Val::Tid(_), _) => self.any_thread(),
                (other, _) => other,
            };
            self.after.records[number].fields[i] = field;
        }
        self.before.records.push(self.after.records[number]);
        Ok(Val::Record(number as u8))
    }

    /// Compares an element of an array with values and exchanges it; says whether it was equal.
    pub(crate) fn exchange(&mut self, place: &Place, old: &[Ex], new: &[Ex]) -> Ran<bool> {
        let spot = self.resolve(place)?;
        let ([old], [new]) = (old, new) else { return strange("an array of tuples") };
        let (old, new) = (self.evaluate(old)?, self.evaluate(new)?);
        match spot {
            Spot::Mine(slot) => {
                let equal = self.equal(self.after.slots[slot], old)?;
                if equal {
                    self.after.slots[slot] = self.storable(new)?;
                }
                Ok(equal)
            }
            Spot::Hidden(_, None) => {
                let equal = self.choices.pick(2) == 1;
                if equal {
                    self.storable(new)?;
                }
                Ok(equal)
            }
            Spot::Hidden(_, Some((slot, target))) => {
                if self.choices.pick(2) == 0 {
                    return Ok(false);
                }
                let new = self.storable(new)?;
                if self.foreign.is_some() {
                    return strange("two exchanges of other threads' elements in one step");
                }
                self.foreign = Some(Foreign { slot, target, old, new });
                Ok(true)
            }
            _ => strange("an array of this sort"),
        }
    }

    /// A value that may be stored in an array; a record becomes public by it.
    pub(crate) fn storable(&mut self, value: Val) -> Ran<Val> {
        match value {
            Val::Null | Val::Tid(_) | Val::Int(_) => {}
            Val::Record(n) => self.after.records[n as usize].private = false,
            _ => return strange("an array of this sort"),
        }
        Ok(value)
    }
}

impl View {
    /// Forgets the fields of public records that are not installed in a cell.
    pub fn forget_stale_records(&mut self) {
        let installed =
            self.globals.iter().filter_map(|v| v.record()).fold(0u64, |s, n| s | 1 << n);
        for (number, record) in self.records.iter_mut().enumerate() {
            if !record.private && installed >> number & 1 == 0 {
                record.fields = record.fields.map(|f| match f {
                    Val::Dead => Val::Dead,
                    _ => Val::Hidden,
                });
            }
        }
    }

    /// Drops the records that nobody names, numbers the others in the order of the places that name
    /// them, and does the same with threads.
    pub fn renumber_records(&mut self) {
        let old = std::mem::take(&mut self.records);
        let mut numbers = [u8::MAX; MOST];
        let mut kept: Vec<Record> = Vec::new();
        for place in self.references_mut() {
            if let Some(n) = place.record() {
                if numbers[n] == u8::MAX {
                    numbers[n] = kept.len() as u8;
                    kept.push(old[n]);
                }
                *place = Val::Record(numbers[n]);
            }
        }
        let mut names: Vec<u8> = vec![0];
        let mut rename = |value: &mut Val| {
            if let Some(tid) = value.tid() {
                let known = names.iter().position(|n| *n == tid);
                let number = known.unwrap_or_else(|| {
                    names.push(tid);
                    names.len() - 1
                });
                *value = Val::Tid(number as u8);
            }
        };
        self.references_mut().for_each(&mut rename);
        kept.iter_mut().flat_map(|r| &mut r.fields).for_each(&mut rename);
        self.records = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(slot: Val, global: Val) -> View {
        let record = |tid| Record {
            fields: [Val::Tid(tid), Val::Int(tid.into()), Val::Dead, Val::Dead],
            private: false,
        };
        let records = vec![record(3), record(0), record(5)];
        View { globals: vec![global, Val::Tid(5)], slots: vec![slot], records, ..View::default() }
    }

    /// Which records and threads are the same: all that numbers mean.
    fn meaning(view: &View) -> Vec<bool> {
        let fields = |v: &Val| v.record().map(|n| view.records[n].fields[0]);
        let places: Vec<Val> = view.globals.iter().chain(&view.slots).copied().collect();
        let names: Vec<Val> =
            places.iter().filter_map(fields).chain([view.globals[1], ME]).collect();
        let same = |all: &[Val]| -> Vec<bool> {
            all.iter().flat_map(|a| all.iter().map(move |b| a == b)).collect()
        };
        [same(&places), same(&names)].concat()
    }

    #[test]
    fn numbers_of_records_and_threads_mean_only_who_is_the_same() {
        let choices = [Val::Null, Val::Record(0), Val::Record(1), Val::Record(2)];
        for slot in choices {
            for global in choices {
                let old = view(slot, global);
                let mut new = old.clone();
                new.renumber_records();
                assert_eq!(meaning(&old), meaning(&new));
                let mut again = new.clone();
                again.renumber_records();
                assert_eq!(new, again, "a normal form");
                assert!(new.named_threads() <= 4);
            }
        }
    }

    #[test]
    fn a_shape_tells_the_publisher_from_all_others() {
        let record = |tid| Record { fields: [Val::Tid(tid); FIELDS], private: true };
        assert_eq!(Shape::of(&record(0)).fields[0], Val::Tid(0));
        assert_eq!(Shape::of(&record(2)), Shape::of(&record(7)));
        assert_ne!(Shape::of(&record(2)), Shape::of(&record(0)));
    }
}
