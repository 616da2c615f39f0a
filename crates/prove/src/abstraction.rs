//! From a concrete state to the view that describes it: where the fixpoint begins, and what it is
//! tested against.

use crate::model::{Field, Model, Tracking};
use crate::number::is_unbounded;
use crate::outcome::Obstacle;
use crate::value::{Attr, Class, Holder, NULL_VALUE, OTHER_VALUE, TRACKED_VALUE, Val};
use crate::view::{FIELDS, MOST, Node, Record, Segment, View};
use seriatim_lang::machine::State;
use seriatim_lang::steps::{MINUS_INF, NULL, PLUS_INF};
use seriatim_lang::types::Scalar;

/// How data of a concrete state is seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(not(test), expect(dead_code, reason = "tests look at states with data"))]
pub enum Lens {
    /// No key and no value may occur: it would have to be compared with an arbitrary one.
    NoData,
    /// Keys are compared with this one; values have the colour of their last bit.
    Key(i32),
    /// Values are compared with this one.
    Value(i32),
}

impl Lens {
    /// The class of a concrete key.
    pub fn class(self, key: i32) -> Option<Class> {
        match (key, self) {
            (MINUS_INF, _) => Some(Class::MinusInf),
            (PLUS_INF, _) => Some(Class::PlusInf),
            (key, Lens::Key(x)) => Some(match key.cmp(&x) {
                std::cmp::Ordering::Less => Class::Below,
                std::cmp::Ordering::Equal => Class::Tracked,
                std::cmp::Ordering::Greater => Class::Above,
            }),
            _ => None,
        }
    }

    /// A concrete scalar as a view shows it. References lead to nodes and records by their place in
    /// the heap; thread t is called t + 1, as nobody observes here.
    pub fn scalar(self, model: &Model, scalar: Scalar, word: i32) -> Option<Val> {
        Some(match scalar {
            _ if word == NULL => Val::Null,
            Scalar::Ref(of) if Some(of) == model.list => Val::Node(word as u8),
            Scalar::Ref(_) => Val::Record(word as u8),
            Scalar::Key => Val::Key(self.class(word)?),
            Scalar::Tid => Val::Tid(word as u8 + 1),
            Scalar::Lock => Val::Lock(if word == 0 { Holder::Free } else { Holder::Other }),
            Scalar::Value => match self {
                Lens::NoData => return None,
                Lens::Key(_) => Val::Colour(word as u8 & 1),
                Lens::Value(x) if x == word => TRACKED_VALUE,
                Lens::Value(_) => OTHER_VALUE,
            },
            _ => Val::Int(word),
        })
    }
}

const DATA: Obstacle = Obstacle::NotUnderstood("data at the start");

/// The shared part of a concrete state as a view of an idle thread; a held lock is someone else's,
/// all nodes and records are public.
pub fn shared_view(model: &Model, state: &State, lens: Lens) -> Result<View, Obstacle> {
    let global = |(index, word): (usize, &i32)| match model.array(index) {
        Some(_) => Some(Val::Hidden),
        None => lens.scalar(model, model.steps.shared[index].kind.scalar, *word),
    };
    let words = &state.words[..model.steps.shared.len()];
    let heap = || state.heap.chunks(model.machine.node_stride());
    let globals = words.iter().enumerate().map(global).collect::<Option<_>>();
    Ok(View {
        globals: globals.ok_or(DATA)?,
        nodes: heap().map(|cells| node(model, cells, lens)).collect::<Option<_>>().ok_or(DATA)?,
        records: heap().map(|c| record(model, c, lens)).collect::<Option<_>>().ok_or(DATA)?,
        ..View::default()
    })
}

/// The node in a place of the heap; of a record, something to which nothing leads.
fn node(model: &Model, cells: &[i32], lens: Lens) -> Option<Node> {
    let mut node = Node {
        attr: Attr::of(Class::Below),
        values: 0,
        to: Val::Null,
        segment: Segment::EMPTY,
        private: false,
    };
    if model.list.is_none_or(|list| cells[0] != list.0 as i32) {
        return Some(node);
    }
    for (field, word) in model.fields.iter().zip(&cells[1..]) {
        match field {
            Field::Link if *word == NULL => {}
            Field::Link => node.to = Val::Node(*word as u8),
            Field::Key => node.attr = node.attr.with_class(lens.class(*word)?),
            Field::Value if *word == NULL => node.values = NULL_VALUE,
            Field::Value => node.values = 1 << (*word & 1),
            Field::Mark => node.attr = node.attr.with_mark(*word != 0),
            Field::Lock => {}
        }
    }
    Some(node)
}

/// The record in a place of the heap; of a node, something to which nothing leads.
fn record(model: &Model, cells: &[i32], lens: Lens) -> Option<Record> {
    let mut fields = [Val::Dead; FIELDS];
    if model.list.is_none_or(|list| cells[0] != list.0 as i32) {
        let slots = &model.steps.structs[cells[0] as usize].slots;
        for ((field, slot), word) in fields.iter_mut().zip(slots).zip(&cells[1..]) {
            *field = lens.scalar(model, slot.kind.scalar, *word)?;
        }
    }
    Some(Record { fields, private: false })
}

/// The view with which every thread begins.
pub fn initial_view(model: &Model) -> Result<View, Obstacle> {
    let locked =
        (0..model.steps.shared.len()).any(|g| model.is_lock(g) && model.initial.words[g] != 0);
    if locked || model.initial.heap.len() / model.machine.node_stride() > MOST / 2 {
        return Err(Obstacle::NotUnderstood("a lock that is held at the start, or a large heap"));
    }
    let mut view = shared_view(model, &model.initial, Lens::NoData)?;
    for array in &model.arrays {
        let first = array.first as usize;
        let words = &model.initial.words[first..][..array.len as usize];
        // A record that no thread has published has no shape, and nobody would find it.
        let records = matches!(model.steps.shared[first].kind.scalar, Scalar::Ref(_));
        if (records || array.slot.is_some()) && words.iter().any(|w| *w != NULL) {
            return Err(Obstacle::NotUnderstood("an array that is not empty at the start"));
        }
        view.slots.extend(array.slot.map(|_| Val::Null));
    }
    if model.tracking == Tracking::Number {
        for (base, global) in view.globals.iter_mut().enumerate() {
            if is_unbounded(model.steps.shared[base].kind.scalar) {
                *global = Val::Num(base as u8, 0);
            }
        }
    }
    match view.globals.iter().any(|v| v.record().is_some()) {
        true => Err(Obstacle::NotUnderstood("a record that is there at the start")),
        false => Ok(view),
    }
}
