//! From a concrete state to the view that describes it: where the fixpoint begins, and what it is tested against.

use crate::model::{Field, Model};
use crate::outcome::Obstacle;
use crate::value::{Attr, Class, Holder, NULL_VALUE, Val};
use crate::view::{Gap, MOST, Node, View};
use seriatim_lang::machine::State;
use seriatim_lang::steps::{MINUS_INF, NULL, PLUS_INF};

/// How data of a concrete state is seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lens {
    /// No key may occur: it would have to be compared with an arbitrary one.
    NoKeys,
    /// Keys are compared with this one.
    Key(i32),
}

impl Lens {
    /// The class of a concrete key.
    pub fn class(self, key: i32) -> Option<Class> {
        match (key, self) {
            (MINUS_INF, _) => Some(Class::MinusInf),
            (PLUS_INF, _) => Some(Class::PlusInf),
            (_, Lens::NoKeys) => None,
            (key, Lens::Key(x)) => Some(match key.cmp(&x) {
                std::cmp::Ordering::Less => Class::Below,
                std::cmp::Ordering::Equal => Class::Tracked,
                std::cmp::Ordering::Greater => Class::Above,
            }),
        }
    }
}

fn reference(word: i32) -> Val {
    if word == NULL { Val::Null } else { Val::Node(word as u8) }
}

/// The shared part of a concrete state as a view of an idle thread; a held lock is someone else's, every node is public.
pub fn shared_view(model: &Model, state: &State, lens: Lens) -> Result<View, Obstacle> {
    let global = |(index, word): (usize, &i32)| match *word {
        word if model.is_reference(index) => reference(word),
        0 if model.is_lock(index) => Val::Lock(Holder::Free),
        _ if model.is_lock(index) => Val::Lock(Holder::Other),
        word => Val::Int(word),
    };
    let words = &state.words[..model.steps.shared.len()];
    let stride = model.machine.node_stride();
    let nodes = state.heap.chunks(stride).map(|cells| node(model, &cells[1..], lens));
    Ok(View {
        busy: None,
        globals: words.iter().enumerate().map(global).collect(),
        nodes: nodes.collect::<Result<_, _>>()?,
    })
}

fn node(model: &Model, cells: &[i32], lens: Lens) -> Result<Node, Obstacle> {
    let mut node = Node {
        attr: Attr::of(Class::Below),
        values: 0,
        to: Val::Null,
        gap: Gap::EMPTY,
        private: false,
    };
    for (field, word) in model.fields.iter().zip(cells) {
        match field {
            Field::Link => node.to = reference(*word),
            Field::Key => {
                let class = lens.class(*word);
                let class = class.ok_or(Obstacle::NotUnderstood("a key at the start"))?;
                node.attr = node.attr.with_class(class);
            }
            Field::Value if *word == NULL => node.values = NULL_VALUE,
            Field::Value => node.values = 1 << (*word & 1),
            Field::Mark => node.attr = node.attr.with_mark(*word != 0),
            Field::Lock => {}
        }
    }
    Ok(node)
}

/// The view with which every thread begins.
pub fn initial_view(model: &Model) -> Result<View, Obstacle> {
    let locked =
        (0..model.steps.shared.len()).any(|g| model.is_lock(g) && model.initial.words[g] != 0);
    if locked || model.initial.heap.len() / model.machine.node_stride() > MOST / 2 {
        return Err(Obstacle::NotUnderstood("a lock that is held at the start, or a large heap"));
    }
    shared_view(model, &model.initial, Lens::NoKeys)
}
