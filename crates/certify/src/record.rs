//! Records, threads and shared arrays in the steps of the observed thread.
//!
//! A record is private until it is stored among the shared variables, and never changes from then on. Of a shared array, a
//! state knows the element of the observed thread, if there is one for each thread, and nothing of the others: there may be nothing, any
//! thread, any record that the state names and that is not private, or one that it does not name. What the last looks like,
//! the *shapes* of the certificate tell: every record that becomes public in a program with arrays must have one of them, with its
//! publisher as thread 0 and all other threads as thread 1, and keeps it for ever. A comparison with an element that is not
//! known goes both ways. To exchange another thread's element is a step that its owner must learn of: [`crate::help`].
//!
//! It would be unsound to let a public record change, to accept the publication of a record without a shape, or to leave out something
//! that an element may hold.

use crate::execute::{Execution, Objection};
use crate::state::{Record, State};
use crate::word::{RecordId, Word};
use seriatim_lang::steps::{Ex, Place, Root};
use seriatim_lang::types::{Scalar, StructId};

/// How many records a state may name.
const MOST: usize = 64;

/// The fields of a record that threads publish.
pub type Shape = Vec<Word>;

/// Where a place lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spot {
    /// Among the shared variables.
    Shared,
    /// In a node.
    Node(crate::word::NodeId),
    /// In a record of this struct.
    Record(RecordId, StructId),
    /// The thread's own element of an array.
    Own(usize),
    /// Another element of the array that begins here; whose, if it is one of an array with one for each thread.
    Element(usize, Option<(usize, u32)>),
}

/// An exchange of another thread's element of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Foreign {
    /// Which of the thread's own elements.
    pub own: usize,
    /// Whose.
    pub target: u32,
    /// What it held.
    pub old: Word,
    /// What it holds now.
    pub new: Word,
}

type Run<T> = Result<T, Objection>;

impl State {
    /// A number that is greater than that of every thread that is named, the registers given.
    pub fn threads(&self, registers: &[Word]) -> u32 {
        let fields = self.records.iter().flat_map(|r| &r.fields);
        let words = self.picture.shared.iter().chain(&self.own).chain(registers).chain(fields);
        let numbers = words.filter_map(|w| match w {
            Word::Thread(number) => Some(*number),
            _ => None,
        });
        numbers.max().map_or(1, |most| most + 1)
    }

    /// Names one more record that others know.
    pub fn name_record(&mut self, fields: Vec<Word>) -> Run<RecordId> {
        if self.records.len() >= MOST {
            return Err("a state with very many records".to_owned());
        }
        self.records.push(Record { fields, private: false, was_private: false });
        Ok(RecordId(self.records.len() as u32 - 1))
    }

    /// Makes a record public if the word is one.
    pub fn expose(&mut self, word: Word) {
        if let Word::Record(id) = word {
            self.records[id.0 as usize].private = false;
        }
    }

    /// Whether every record that the step made public has one of the shapes.
    pub fn publishes_only(&self, shapes: &[Shape]) -> bool {
        let mut published = self.records.iter().filter(|r| r.was_private && !r.private);
        published.all(|record| shapes.iter().any(|shape| has_shape(record, shape)))
    }
}

fn has_shape(record: &Record, shape: &Shape) -> bool {
    let said = |word: &Word| match word {
        Word::Thread(number) => Word::Thread((*number).min(1)),
        other => *other,
    };
    record.fields.len() == shape.len()
        && record.fields.iter().zip(shape).all(|(f, s)| *s == Word::Unknown || said(f) == *s)
}

impl Execution<'_> {
    /// Finds a place.
    pub fn spot(&mut self, place: &Place) -> Run<Spot> {
        match (&place.root, &place.dims[..]) {
            (Root::Shared, []) => Ok(Spot::Shared),
            (Root::Shared, [dim]) => self.element(place.offset as usize, &dim.index),
            (Root::Node(ex, of), []) => match self.evaluate(ex)? {
                Word::Node(id) => Ok(Spot::Node(id)),
                Word::Record(id) => Ok(Spot::Record(id, *of)),
                Word::Null => Err("a field of null".to_owned()),
                other => Err(format!("a field of {other:?}")),
            },
            _ => Err("an array of this sort".to_owned()),
        }
    }

    fn element(&mut self, first: usize, index: &Ex) -> Run<Spot> {
        let array = self.object.arrays.iter().find(|a| a.first as usize == first);
        let array = *array.ok_or("an array that the checker does not know")?;
        match (array.own, self.evaluate(index)?) {
            (Some(own), Word::Thread(0)) => Ok(Spot::Own(own)),
            (Some(own), Word::Thread(of)) => Ok(Spot::Element(first, Some((own, of)))),
            (None, Word::Int(n)) if (0..array.len as i32).contains(&n) => {
                Ok(Spot::Element(first, None))
            }
            (_, other) => Err(format!("the index {other:?}")),
        }
    }

    /// Allocates a record.
    pub fn allocate_record(&mut self, fields: Vec<Word>) -> Run<RecordId> {
        let id = self.state.name_record(fields)?;
        let record = &mut self.state.records[id.0 as usize];
        (record.private, record.was_private) = (true, true);
        Ok(id)
    }

    /// A field of a record: anything of its kind, if it is not known.
    pub fn field(&mut self, id: RecordId, of: StructId, slot: usize) -> Run<Word> {
        let known = self.state.record(id).fields.get(slot).copied();
        let known = known.ok_or("a field that the record does not have")?;
        if known != Word::Unknown {
            return Ok(known);
        }
        let kind = self.object.steps.structs[of.0 as usize].slots[slot].kind;
        match kind.scalar {
            Scalar::Value => {
                let pick = self.choices.pick(2 + u32::from(kind.nullable));
                Ok(match pick {
                    0 => self.names.another(),
                    1 => Word::Value(1),
                    _ => Word::Null,
                })
            }
            Scalar::Tid => Err("a thread of which the certificate says nothing".to_owned()),
            _ => self.any(kind),
        }
    }

    /// Writes a field of a record.
    pub fn write_field(&mut self, id: RecordId, slot: usize, word: Word) -> Run<()> {
        let record = &mut self.state.records[id.0 as usize];
        if !record.private {
            return Err("a record changes that others know".to_owned());
        }
        let field = record.fields.get_mut(slot).ok_or("a field that the record does not have")?;
        *field = word;
        Ok(())
    }

    /// Anything that an element may hold of which nothing is known.
    pub fn unknown_element(&mut self, first: usize) -> Run<Word> {
        let kind = self.object.steps.shared[first].kind;
        let is_record = matches!(kind.scalar, Scalar::Ref(_));
        let none =
            is_record && self.shapes.is_empty() && self.state.records.iter().all(|r| r.private);
        if kind.nullable && (none || self.choices.pick(2) == 0) {
            return Ok(Word::Null);
        }
        match kind.scalar {
            Scalar::Tid => Ok(self.any_thread()),
            Scalar::Ref(_) => self.any_record(),
            _ => self.any(seriatim_lang::types::Kind { nullable: false, ..kind }),
        }
    }

    fn any_thread(&mut self) -> Word {
        let named = self.state.threads(&self.registers);
        Word::Thread(self.choices.pick(named + 1))
    }

    /// Any record that others know. All arrays are taken to be of records of one sort: a record that does not fit only adds a
    /// case.
    fn any_record(&mut self) -> Run<Word> {
        let public = |n: &u32| !self.state.records[*n as usize].private;
        let known: Vec<u32> = (0..self.state.records.len() as u32).filter(public).collect();
        let cases = known.len() + self.shapes.len();
        if cases == 0 {
            return Err("a record that nobody publishes".to_owned());
        }
        let pick = self.choices.pick(cases as u32) as usize;
        if let Some(id) = known.get(pick) {
            return Ok(Word::Record(RecordId(*id)));
        }
        let shape = &self.shapes[pick - known.len()];
        let id = self.state.name_record(vec![])?;
        let mut publisher = None;
        for word in shape {
            let field = match (word, publisher) {
                (Word::Thread(0), Some(known)) => known,
                (Word::Thread(0), None) => *publisher.insert(self.any_thread()),
                (Word::Thread(_), _) => self.any_thread(),
                (word, _) => *word,
            };
            self.state.records[id.0 as usize].fields.push(field);
        }
        Ok(Word::Record(id))
    }

    /// Compares an element of an array and exchanges it; says whether it was equal.
    pub fn exchange(&mut self, place: &Place, old: &[Ex], new: &[Ex]) -> Run<bool> {
        let spot = self.spot(place)?;
        let ([old], [new]) = (old, new) else { return Err("an array of tuples".to_owned()) };
        let (old, new) = (self.evaluate(old)?, self.evaluate(new)?);
        let equal = match spot {
            Spot::Own(own) => self.equal(self.state.own[own], old)?,
            Spot::Element(..) => self.choices.pick(2) == 1,
            _ => return Err("an exchange of this sort".to_owned()),
        };
        match (equal, spot) {
            (false, _) => return Ok(false),
            (true, Spot::Element(_, Some((own, target)))) => {
                let new = self.stored(new)?;
                let foreign = Foreign { own, target, old, new };
                if self.foreign.replace(foreign).is_some() {
                    return Err("two exchanges of other threads' elements in one step".to_owned());
                }
            }
            (true, spot) => self.write_element(spot, new)?,
        }
        Ok(true)
    }

    /// Writes an element of an array without looking at it.
    pub fn write_element(&mut self, spot: Spot, word: Word) -> Run<()> {
        let word = self.stored(word)?;
        match spot {
            Spot::Own(own) => self.state.own[own] = word,
            Spot::Element(_, None) => {}
            _ => return Err("another thread's element is overwritten".to_owned()),
        }
        Ok(())
    }

    /// What is stored in an array; a record becomes public by it.
    fn stored(&mut self, word: Word) -> Run<Word> {
        match word {
            Word::Null | Word::Thread(_) | Word::Int(_) => {}
            Word::Record(_) => self.state.expose(word),
            _ => return Err(format!("{word:?} in an array")),
        }
        Ok(word)
    }
}
