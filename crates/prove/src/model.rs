//! The program as the prover sees it: which slot plays which part, and whether the program is in the class at all.
//!
//! In the class: a built-in `stack`, `queue` or `set`; one heap struct with one link to itself and at most one key, value,
//! mark and lock; shared variables that are references, locks, truth values or numbers; garbage collection; no thread
//! numbers, no thread variables, no load-linked. Everything else is refused here, or stops the abstract semantics where
//! it is met. Keys are only compared and values only copied in this language; comparing values also stops the semantics.

use crate::gap::Emptiness;
use seriatim_lang::liveness::Liveness;
use seriatim_lang::machine::{Bounds, Granularity, Machine, State};
use seriatim_lang::steps::{Op, Steps};
use seriatim_lang::types::Scalar;
use seriatim_lang::{Program, lower};

/// What is tracked of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Tracking {
    /// One arbitrary key: for sets.
    Key,
    /// Two colours of values: for sequences.
    Colour,
}

impl Tracking {
    /// Whether views tell empty gaps from others.
    pub fn emptiness(self) -> Emptiness {
        match self {
            Tracking::Key => Emptiness::Open,
            Tracking::Colour => Emptiness::Exact,
        }
    }
}

/// The specification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Last in, first out.
    Stack,
    /// First in, first out.
    Queue,
    /// A set of keys.
    Set,
}

/// What a method does to the content.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// `push`, `enqueue`.
    Put,
    /// `pop`, `dequeue`.
    Take,
    /// `add`.
    Add,
    /// `remove`.
    Remove,
    /// `contains`.
    Contains,
}

/// What a slot of a node is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Field {
    /// The next node.
    Link,
    /// The key.
    Key,
    /// The value.
    Value,
    /// The mark.
    Mark,
    /// The lock.
    Lock,
}

/// A program in the class of the prover.
#[derive(Clone, Debug)]
pub struct Model {
    /// Its steps.
    pub steps: Steps,
    /// Which registers are still read.
    pub liveness: Liveness,
    /// What the slots of a node are for.
    pub fields: Vec<Field>,
    /// The specification.
    pub kind: Kind,
    /// What is tracked of the data.
    pub tracking: Tracking,
    /// What the methods do.
    pub roles: Vec<Role>,
    /// The state at the start.
    pub initial: State,
    /// The concrete machine, for its layout.
    pub machine: Machine,
}

impl Model {
    /// The program as a model, or why it is refused.
    pub fn of(program: &Program, threads: u32) -> Result<Model, String> {
        let kind = kind(program)?;
        let steps = lower(program, threads, None).map_err(|d| d.message.clone())?;
        refuse(&steps)?;
        let tracking = if kind == Kind::Set { Tracking::Key } else { Tracking::Colour };
        let fields = fields(&steps, tracking)?;
        let roles = steps.methods.iter().map(|m| role(kind, &m.name)).collect::<Result<_, _>>()?;
        let bounds = Bounds { values: 2, keys: 3, nodes: None, capacity: None };
        let local = vec![false; steps.code.len()];
        let granularity = Granularity::Fused { local, locks_join: false };
        let mut machine = Machine::new(steps.clone(), bounds, granularity);
        let initial = machine.initial().map_err(|_| "its initialisation fails".to_string())?;
        let liveness = Liveness::of(&steps);
        Ok(Model { steps, liveness, fields, kind, tracking, roles, initial, machine })
    }

    /// Whether the nodes can be marked.
    pub fn has_marks(&self) -> bool {
        self.fields.contains(&Field::Mark)
    }

    /// Whether a shared variable is a reference.
    pub fn is_reference(&self, global: usize) -> bool {
        matches!(self.steps.shared[global].kind.scalar, Scalar::Ref(_))
    }

    /// Whether a shared variable is a lock.
    pub fn is_lock(&self, global: usize) -> bool {
        self.steps.shared[global].kind.scalar == Scalar::Lock
    }
}

fn kind(program: &Program) -> Result<Kind, String> {
    let spec = program.spec.as_ref().ok_or("it names no specification")?;
    if program.specs.iter().any(|s| s.name == spec.name) {
        return Err(format!("its specification `{}` is its own", spec.name));
    }
    match spec.name.as_str() {
        "stack" => Ok(Kind::Stack),
        "queue" => Ok(Kind::Queue),
        "set" => Ok(Kind::Set),
        other => Err(format!("there are no proofs for the specification `{other}`")),
    }
}

fn role(kind: Kind, name: &str) -> Result<Role, String> {
    Ok(match (kind, name) {
        (Kind::Stack, "push") | (Kind::Queue, "enqueue") => Role::Put,
        (Kind::Stack, "pop") | (Kind::Queue, "dequeue") => Role::Take,
        (Kind::Set, "add") => Role::Add,
        (Kind::Set, "remove") => Role::Remove,
        (Kind::Set, "contains") => Role::Contains,
        _ => return Err(format!("the method `{name}` has no known meaning")),
    })
}

/// Whether the initialisation makes no choices: the proof begins in the one state that the machine finds.
fn starts_in_one_state(steps: &Steps) -> bool {
    let first = steps.init.min(steps.thread_init).0 as usize;
    let end = steps.methods.iter().map(|m| m.entry.0 as usize).min().unwrap_or(steps.code.len());
    let choice = |op: &Op| matches!(op, Op::Any { .. } | Op::Choose(_));
    first <= end && !steps.code[first..end].iter().any(|instr| choice(&instr.op))
}

fn refuse(steps: &Steps) -> Result<(), String> {
    let refusals = [
        (steps.frees, "it frees nodes"),
        (steps.uses_tids, "it uses thread numbers"),
        (!steps.links.is_empty(), "it uses load-linked"),
        (steps.object_registers > 0, "it has thread variables"),
        (steps.structs.len() != 1, "it does not have exactly one struct"),
        (steps.shared.len() > 32, "it has more than 32 shared slots"),
        (steps.register_count() > 255, "it has more than 255 registers"),
        (steps.methods.len() > 255, "it has more than 255 methods"),
        (!starts_in_one_state(steps), "its initial state is not the only one possible"),
    ];
    match refusals.iter().find(|(applies, _)| *applies) {
        Some((_, why)) => Err(why.to_string()),
        None => Ok(()),
    }
}

fn fields(steps: &Steps, tracking: Tracking) -> Result<Vec<Field>, String> {
    let mut fields = Vec::new();
    for slot in &steps.structs[0].slots {
        let field = match slot.kind.scalar {
            Scalar::Ref(_) => Field::Link,
            Scalar::Key if tracking == Tracking::Key && !slot.kind.nullable => Field::Key,
            Scalar::Value if tracking == Tracking::Colour => Field::Value,
            Scalar::Bool if !slot.kind.nullable => Field::Mark,
            Scalar::Lock => Field::Lock,
            _ => return Err(format!("the field `{}` is of no known use", slot.name)),
        };
        if fields.contains(&field) {
            return Err(format!("the field `{}` is a second one of its kind", slot.name));
        }
        fields.push(field);
    }
    for slot in &steps.shared {
        match slot.kind.scalar {
            Scalar::Ref(_) | Scalar::Lock => {}
            Scalar::Bool | Scalar::Int(..) | Scalar::Enum(_) if !slot.kind.nullable => {}
            _ => return Err(format!("the shared variable `{}` holds data", slot.name)),
        }
    }
    let wanted: &[Field] = match tracking {
        Tracking::Key => &[Field::Link, Field::Key],
        Tracking::Colour => &[Field::Link, Field::Value],
    };
    match wanted.iter().all(|w| fields.contains(w)) {
        true => Ok(fields),
        false => Err("its struct lacks a link or data".to_string()),
    }
}
