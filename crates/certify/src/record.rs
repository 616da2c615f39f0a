//! Records, threads and shared arrays in the steps of the observed thread.
//!
//! A record is private until it is stored among the shared variables, and never changes from then
//! on. Of a shared array, a state knows the element of the observed thread, if there is one for
//! each thread, and nothing of the others: there may be nothing, any thread, any record that the
//! state names and that is not private, or one that it does not name. What the last looks like, the
//! *shapes* of the certificate tell: every record that becomes public in a program with arrays must
//! have one of them, with its publisher as thread 0 and all other threads as thread 1, and keeps it
//! for ever. A comparison with an element that is not known goes both ways. To exchange another
//! thread's element is a step that its owner must learn of: [`crate::help`].
//!
//! It would be unsound to let a public record change, to accept the publication of a record without
//! a shape, or to leave out something that an element may hold.

use crate::execute::{Execution, Objection};
use crate::scalar::{RecordId, Scalar};
use crate::state::{Record, State};
use seriatim_lang::steps::{Ex, Place, Root};
use seriatim_lang::types::{Scalar as ScalarType, StructId};

/// How many records a state may name.
const MOST: usize = 64;

/// The fields of a record that threads publish.
pub type Shape = Vec<Scalar>;

/// Where a place lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spot {
    /// Among the shared variables.
    Shared,
    /// In a node.
    Node(crate::scalar::NodeId),
    /// In a record of this struct.
    Record(RecordId, StructId),
    /// The thread's own element of an array.
    Own(usize),
    /// Another element of the array that begins here; whose, if it is one of an array with one for
    /// each thread.
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
    pub old: Scalar,
    /// What it holds now.
    pub new: Scalar,
}

type Run<T> = Result<T, Objection>;

impl State {
    /// A number that is greater than that of every thread that is named, the registers given.
    pub fn threads(&self, registers: &[Scalar]) -> u32 {
        let fields = self.records.iter().flat_map(|r| &r.fields);
        let scalars = self.graph.shared.iter().chain(&self.own).chain(registers).chain(fields);
        let numbers = scalars.filter_map(|w| match w {
            Scalar::Thread(number) => Some(*number),
            _ => None,
        });
        numbers.max().map_or(1, |most| most + 1)
    }

    /// Names one more record that others know.
    pub fn name_record(&mut self, fields: Vec<Scalar>) -> Run<RecordId> {
        if self.records.len() >= MOST {
            return Err("a state with very many records".to_owned());
        }
        self.records.push(Record { fields, private: false, was_private: false });
        Ok(RecordId(self.records.len() as u32 - 1))
    }

    /// Makes a record public if the scalar is one.
    pub fn expose(&mut self, scalar: Scalar) {
        if let Scalar::Record(id) = scalar {
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
    let said = |scalar: &Scalar| match scalar {
        Scalar::Thread(number) => Scalar::Thread((*number).min(1)),
        other => *other,
    };
    record.fields.len() == shape.len()
        && record.fields.iter().zip(shape).all(|(f, s)| *s == Scalar::Unknown || said(f) == *s)
}

impl Execution<'_> {
    /// Finds a place.
    pub fn spot(&mut self, place: &Place) -> Run<Spot> {
        match (&place.root, &place.dims[..]) {
            (Root::Shared, []) => Ok(Spot::Shared),
            (Root::Shared, [dim]) => self.element(place.offset as usize, &dim.index),
            (Root::Node(ex, of), []) => match self.evaluate(ex)? {
                Scalar::Node(id) => Ok(Spot::Node(id)),
                Scalar::Record(id) => Ok(Spot::Record(id, *of)),
                Scalar::Null => Err("a field of null".to_owned()),
                other => Err(format!("a field of {other:?}")),
            },
            _ => Err("an array of this sort".to_owned()),
        }
    }

    fn element(&mut self, first: usize, index: &Ex) -> Run<Spot> {
        let array = self.object.arrays.iter().find(|a| a.first as usize == first);
        let array = *array.ok_or("an array that the checker does not know")?;
        match (array.own, self.evaluate(index)?) {
            (Some(own), Scalar::Thread(0)) => Ok(Spot::Own(own)),
            (Some(own), Scalar::Thread(of)) => Ok(Spot::Element(first, Some((own, of)))),
            (None, Scalar::Int(n)) if (0..array.len as i32).contains(&n) => {
                Ok(Spot::Element(first, None))
            }
            (_, other) => Err(format!("the index {other:?}")),
        }
    }

    /// Allocates a record.
    pub fn allocate_record(&mut self, fields: Vec<Scalar>) -> Run<RecordId> {
        let id = self.state.name_record(fields)?;
        let record = &mut self.state.records[id.0 as usize];
        (record.private, record.was_private) = (true, true);
        Ok(id)
    }

    /// A field of a record: anything of its kind, if it is not known.
    pub fn field(&mut self, id: RecordId, of: StructId, slot: usize) -> Run<Scalar> {
        let known = self.state.record(id).fields.get(slot).copied();
        let known = known.ok_or("a field that the record does not have")?;
        if known != Scalar::Unknown {
            return Ok(known);
        }
        let kind = self.object.steps.structs[of.0 as usize].slots[slot].kind;
        match kind.scalar {
            ScalarType::Value => {
                let pick = self.choices.pick(2 + u32::from(kind.nullable));
                Ok(match pick {
                    0 => self.names.another(),
                    1 => Scalar::Value(1),
                    _ => Scalar::Null,
                })
            }
            ScalarType::Tid => Err("a thread of which the certificate says nothing".to_owned()),
            _ => self.any(kind),
        }
    }

    /// Writes a field of a record.
    pub fn write_field(&mut self, id: RecordId, slot: usize, scalar: Scalar) -> Run<()> {
        let record = &mut self.state.records[id.0 as usize];
        if !record.private {
            return Err("a record changes that others know".to_owned());
        }
        let field = record.fields.get_mut(slot).ok_or("a field that the record does not have")?;
        *field = scalar;
        Ok(())
    }

    /// Anything that an element may hold of which nothing is known.
    pub fn unknown_element(&mut self, first: usize) -> Run<Scalar> {
        let kind = self.object.steps.shared[first].kind;
        let is_record = matches!(kind.scalar, ScalarType::Ref(_));
        let none =
            is_record && self.shapes.is_empty() && self.state.records.iter().all(|r| r.private);
        if kind.nullable && (none || self.choices.pick(2) == 0) {
            return Ok(Scalar::Null);
        }
        match kind.scalar {
            ScalarType::Tid => Ok(self.any_thread()),
            ScalarType::Ref(_) => self.any_record(),
            _ => self.any(seriatim_lang::types::Kind { nullable: false, ..kind }),
        }
    }

    fn any_thread(&mut self) -> Scalar {
        let named = self.state.threads(&self.registers);
        Scalar::Thread(self.choices.pick(named + 1))
    }

    /// Any record that others know. All arrays are taken to be of records of one sort: a record
    /// that does not fit only adds a case.
    fn any_record(&mut self) -> Run<Scalar> {
        let public = |n: &u32| !self.state.records[*n as usize].private;
        let known: Vec<u32> = (0..self.state.records.len() as u32).filter(public).collect();
        let cases = known.len() + self.shapes.len();
        if cases == 0 {
            return Err("a record that nobody publishes".to_owned());
        }
        let pick = self.choices.pick(cases as u32) as usize;
        if let Some(id) = known.get(pick) {
            return Ok(Scalar::Record(RecordId(*id)));
        }
        let shape = &self.shapes[pick - known.len()];
        let id = self.state.name_record(vec![])?;
        let mut publisher = None;
        for scalar in shape {
            let field = match (scalar, publisher) {
                (Scalar::Thread(0), Some(known)) => known,
                (Scalar::Thread(0), None) => *publisher.insert(self.any_thread()),
                (Scalar::Thread(_), _) => self.any_thread(),
                (scalar, _) => *scalar,
            };
            self.state.records[id.0 as usize].fields.push(field);
        }
        Ok(Scalar::Record(id))
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
    pub fn write_element(&mut self, spot: Spot, scalar: Scalar) -> Run<()> {
        let scalar = self.stored(scalar)?;
        match spot {
            Spot::Own(own) => self.state.own[own] = scalar,
            Spot::Element(_, None) => {}
            _ => return Err("another thread's element is overwritten".to_owned()),
        }
        Ok(())
    }

    /// What is stored in an array; a record becomes public by it.
    fn stored(&mut self, scalar: Scalar) -> Run<Scalar> {
        match scalar {
            Scalar::Null | Scalar::Thread(_) | Scalar::Int(_) => {}
            Scalar::Record(_) => self.state.expose(scalar),
            _ => return Err(format!("{scalar:?} in an array")),
        }
        Ok(scalar)
    }
}
