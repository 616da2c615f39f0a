//! A certificate: what the prover says it found, as data. [`read`] makes it from text.

mod text;

pub use text::{Unreadable, VERSION, end_of, read};

use crate::content::Content;
use crate::path_constraint::PathConstraint;
use crate::record::Shape;
use crate::scalar::{Attribute, Values};
use crate::sort::{Reference, Told};
use crate::state::State;

/// A certificate.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// How the list stands for the content.
    pub content: Content,
    /// The views, with their lines.
    pub views: Vec<(State, u32)>,
    /// What steps do to the views of others, with their lines.
    pub effects: Vec<(Effect, u32)>,
    /// The records that threads publish.
    pub shapes: Vec<Shape>,
}

/// Where a reference leads, in an effect.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// Nowhere.
    Null,
    /// To this place of the effect.
    At(usize),
    /// To a node that is no place of the effect.
    Elsewhere,
    /// Nothing is said.
    Unknown,
}

/// What lies behind the node to which a shared variable points.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Behind {
    /// There is no such node.
    NoNode,
    /// Nothing.
    Nothing,
    /// A node.
    Something,
    /// Nothing is said.
    Unknown,
}

/// A node of an effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Whether only the acting thread could reach it before the step.
    pub fresh: bool,
    /// Its attribute for the acting thread before the step; of a fresh node: after it.
    pub attribute: Attribute,
    /// The shared variables from which it could be reached, as bits.
    pub reach: u32,
    /// Its link before the step; of a fresh node: after it.
    pub link: Target,
    /// The values that it may hold; said of fresh nodes only.
    pub values: Values,
    /// What lay between it and another place before the step, if that is said; never of a fresh
    /// node.
    pub path: Option<PathConstraint>,
}

/// What a step does to the views of others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Effect {
    /// Its nodes: all different.
    pub places: Vec<Place>,
    /// Where the shared references pointed before the step; `Unknown` for other variables.
    pub references: Vec<Target>,
    /// The other shared variables before the step; nothing is said of references here.
    pub scalars: Vec<Told>,
    /// What was behind the nodes of the shared references.
    pub behind: Vec<Behind>,
    /// Pairs of shared references and whether they were equal.
    pub equal: Vec<(Reference, Reference, bool)>,
    /// Links written.
    pub links: Vec<(usize, Target)>,
    /// Marks written.
    pub marks: Vec<(usize, bool)>,
    /// Values written: what the node may hold afterwards.
    pub values: Vec<(usize, Values)>,
    /// Shared references written.
    pub moves: Vec<(Reference, Target)>,
    /// Other shared variables written.
    pub stores: Vec<(usize, Told)>,
}
