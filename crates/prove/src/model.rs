//! The program as the prover sees it: which slot plays which part, and whether the program is in
//! the class at all.
//!
//! In the class: a specification of a stack, queue, set or map ([`crate::list_spec`]), of a cell
//! ([`crate::cell_spec`]) or of a number ([`crate::number_spec`]); one struct for the nodes of a
//! list (none for a cell or a number), with one link to itself and at most one key, value, mark and
//! lock; structs without links, for records; shared variables that are references, locks, booleans
//! or numbers, and arrays of these; garbage collection; no thread variables, no load-linked.
//! Everything else is refused here, or stops the abstract semantics where it is met. Keys are only
//! compared and values only copied in this language; comparing values stops the semantics, too,
//! except in cells. Threads can only be compared, stored and used as indices: their number shows in
//! the lengths of arrays and nowhere else, and nothing here looks at those.

use crate::cell_spec::{CellRole, CellSpec};
use crate::list_spec::{self, OnKey};
use crate::number::is_unbounded;
use crate::number_spec::NumberSpec;
use crate::reduce::Reduction;
use crate::segment::Emptiness;
use crate::value::{ANY_COLOUR, Values};
use crate::view::{ARGS, FIELDS};
use seriatim_lang::liveness::Liveness;
use seriatim_lang::machine::{Bounds, Granularity, Machine, State};
use seriatim_lang::steps::{Ex, Op, Pc, Root, Slot, Steps};
use seriatim_lang::types::{Scalar, StructId, Type};
use seriatim_lang::{Program, lower};

/// What is tracked of the data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Tracking {
    /// One arbitrary key: for sets; and two colours of values, for maps.
    Key,
    /// Two colours of values: for sequences.
    Colour,
    /// One arbitrary value, distinguished from all others: for cells.
    Value,
    /// Numbers, up to unknown ones: for counters.
    Number,
}

impl Tracking {
    /// Whether views tell empty segments from others.
    pub fn emptiness(self) -> Emptiness {
        match self {
            Tracking::Key => Emptiness::Open,
            Tracking::Colour | Tracking::Value | Tracking::Number => Emptiness::Exact,
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
    /// A set of keys, or a map from keys to values.
    Set,
    /// One value that is read, written and swapped.
    Cell,
    /// One number, boolean or variant.
    Number,
}

/// What a method does to the content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Role {
    /// Puts its argument to the end where items are put.
    Put,
    /// Takes the item at the other end; if there is none, it waits or says so.
    Take {
        /// Whether it waits.
        waits: bool,
    },
    /// Tells that item and leaves it.
    Peek {
        /// Whether it waits if there is none.
        waits: bool,
    },
    /// Tells whether there is none.
    IsEmpty {
        /// What it says then.
        says: bool,
    },
    /// An operation on a set or a map.
    OnKey(OnKey),
    /// An operation on a cell.
    Cell(CellRole),
    /// An operation on a number: what it does is for the specification to say.
    Number,
}

/// Shared slots that are accessed by an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Array {
    /// The first slot.
    pub first: u32,
    /// How many slots there are.
    pub len: u32,
    /// The number of the thread's own element among those that a view knows, if there is one for
    /// each thread.
    pub slot: Option<u8>,
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
    /// The struct of the nodes of the list.
    pub list: Option<StructId>,
    /// What the slots of a node are for.
    pub fields: Vec<Field>,
    /// The shared arrays.
    pub arrays: Vec<Array>,
    /// The specification.
    pub kind: Kind,
    /// What is tracked of the data.
    pub tracking: Tracking,
    /// What the methods do.
    pub roles: Vec<Role>,
    /// The specification, if it is that of a cell.
    pub cell: Option<CellSpec>,
    /// The specification, if its state is a number.
    pub number: Option<NumberSpec>,
    /// The state at the start.
    pub initial: State,
    /// The concrete machine, for its layout.
    pub machine: Machine,
}

impl Role {
    /// Whether it depends on the value of the first item, or of the tracked key.
    pub fn asks_value(self) -> bool {
        match self {
            Role::Peek { .. } => true,
            Role::OnKey(does) => does.asks_value(),
            _ => false,
        }
    }
}

impl Model {
    /// Whether some method depends on the value of the first item, or of the tracked key.
    pub fn asks_values(&self) -> bool {
        self.roles.iter().any(|role| role.asks_value())
    }

    /// The colour of a node of the content, as a bit, if it has one only and some method asks.
    pub fn told_colour(&self, values: Values) -> Values {
        if self.asks_values() && values.count_ones() == 1 { values & ANY_COLOUR } else { 0 }
    }

    /// The program as a model, or why it is refused; none if the reduction is no other than the one
    /// before.
    pub fn of(
        program: &Program,
        reduction: Reduction,
        threads: u32,
    ) -> Result<Option<Model>, String> {
        seriatim_lang::sequential::required(program, "the prover").map_err(|d| d.message)?;
        let number = match reduction {
            Reduction::Valued => NumberSpec::of_values(program),
            Reduction::Sliced | Reduction::Locked => NumberSpec::of(program),
        };
        let (kind, roles) = match (reduction, &number) {
            (Reduction::Valued, Err(why)) => return Err(why.clone()),
            (Reduction::Valued, Ok(_)) => numerical(program),
            _ => kind(program)?,
        };
        let mut steps = lower(program, threads, None).map_err(|d| d.message.clone())?;
        if !reduction.apply(&mut steps, kind == Kind::Set) {
            return Ok(None);
        }
        refuse(&steps)?;
        let tracking = match kind {
            Kind::Set => Tracking::Key,
            Kind::Stack | Kind::Queue => Tracking::Colour,
            Kind::Cell => Tracking::Value,
            Kind::Number => Tracking::Number,
        };
        let cell = if kind == Kind::Cell { Some(CellSpec::of(program)?) } else { None };
        let number = if kind == Kind::Number { Some(number?) } else { None };
        let (list, fields) = fields(&steps, tracking)?;
        let arrays = arrays(&steps)?;
        check_records(&steps, tracking, list)?;
        check_parameters(&steps, tracking)?;
        match kind {
            Kind::Cell => check_cell(&steps)?,
            Kind::Number if !steps.structs.is_empty() || !arrays.is_empty() => {
                return Err(
                    "its number is not in one variable: it has structs or arrays".to_string()
                );
            }
            _ => {}
        }
        check_shared(&steps, &arrays, tracking, list)?;
        let roles = match &cell {
            Some(spec) => spec.roles.iter().map(|r| Role::Cell(*r)).collect(),
            None => roles,
        };
        let values = if kind == Kind::Cell { 3 } else { 2 };
        let bounds = Bounds { values, keys: 3, nodes: None, capacity: None };
        let local = steps.code.iter().map(|instr| instr.fused).collect();
        let granularity = Granularity::Fused { local, locks_join: false };
        let mut machine = Machine::new(steps.clone(), bounds, granularity);
        let initial = machine.initial().map_err(|_| "its initialisation fails".to_string())?;
        let liveness = Liveness::of(&steps);
        Ok(Some(Model {
            steps,
            liveness,
            list,
            fields,
            arrays,
            kind,
            tracking,
            roles,
            cell,
            number,
            initial,
            machine,
        }))
    }

    /// Whether the nodes can be marked.
    pub fn has_marks(&self) -> bool {
        self.fields.contains(&Field::Mark)
    }

    /// Whether a shared variable is a reference into the list.
    pub fn is_reference(&self, global: usize) -> bool {
        match self.steps.shared[global].kind.scalar {
            Scalar::Ref(of) => Some(of) == self.list && self.array(global).is_none(),
            _ => false,
        }
    }

    /// Whether views know if their operation was the last one to change a shared variable: it is a
    /// boolean, number or variant beside the content, as that of a lock that somebody wrote.
    pub fn has_changer(&self, global: usize) -> bool {
        let kind = self.steps.shared[global].kind;
        let beside = match self.kind {
            Kind::Stack | Kind::Queue | Kind::Set => true,
            Kind::Number => self.steps.shared.len() > 1 && !is_unbounded(kind.scalar),
            Kind::Cell => false,
        };
        beside && is_small(kind) && self.array(global).is_none()
    }

    /// The array to which a shared slot belongs.
    pub fn array(&self, slot: usize) -> Option<&Array> {
        let inside = |a: &&Array| (a.first..a.first + a.len).contains(&(slot as u32));
        self.arrays.iter().find(inside)
    }

    /// How many elements of arrays a view knows.
    pub fn slot_count(&self) -> usize {
        self.arrays.iter().filter(|a| a.slot.is_some()).count()
    }

    /// The shared variable in which records are installed, for a cell.
    pub fn descriptor(&self) -> Option<usize> {
        let single = |g: &usize| self.array(*g).is_none();
        let is_record = |g: &usize| match self.steps.shared[*g].kind.scalar {
            Scalar::Ref(of) => Some(of) != self.list,
            _ => false,
        };
        (0..self.steps.shared.len()).filter(single).find(is_record)
    }

    /// The shared variable that is the control variable of a cell.
    pub fn control(&self) -> Option<usize> {
        self.cell.as_ref()?.control?;
        (0..self.steps.shared.len())
            .find(|g| self.array(*g).is_none() && is_control(self.steps.shared[*g].kind))
    }

    /// What the method of an operation does to a cell.
    pub fn cell_role(&self, method: usize) -> Option<CellRole> {
        match self.roles.get(method) {
            Some(Role::Cell(role)) => Some(*role),
            _ => None,
        }
    }

    /// Whether a shared variable is a lock.
    pub fn is_lock(&self, global: usize) -> bool {
        self.steps.shared[global].kind.scalar == Scalar::Lock
    }
}

fn numerical(program: &Program) -> (Kind, Vec<Role>) {
    (Kind::Number, vec![Role::Number; program.methods.len()])
}

/// The kind of the specification; with the roles of methods of a list or a number.
fn kind(program: &Program) -> Result<(Kind, Vec<Role>), String> {
    let spec = program.spec.as_ref().ok_or("it names no specification")?;
    let no_list = match list_spec::roles(program) {
        Ok(found) => return Ok(found),
        Err(why) => why,
    };
    if NumberSpec::of(program).is_ok() {
        return Ok(numerical(program));
    }
    match CellSpec::of(program) {
        Ok(_) => Ok((Kind::Cell, vec![])),
        Err(no_cell) => {
            let own = program.specs.iter().any(|s| s.name == spec.name);
            let owner = if own { ", which is its own," } else { "" };
            let is_list = spec.vars.iter().any(|v| matches!(v.ty, Type::Seq(_) | Type::Set(_)));
            let why = if is_list { no_list } else { no_cell };
            Err(format!(
                "there are no proofs for the specification `{}`{owner} yet: {why}",
                spec.name
            ))
        }
    }
}

/// Whether the initialisation makes no choices: the proof begins in the one state that the machine
/// finds.
fn starts_in_one_state(steps: &Steps) -> bool {
    let first = steps.init.min(steps.thread_init).0 as usize;
    let end = steps.methods.iter().map(|m| m.entry.0 as usize).min().unwrap_or(steps.code.len());
    let choice = |op: &Op| matches!(op, Op::Any { .. } | Op::Choose(_));
    first <= end && !steps.code[first..end].iter().any(|instr| choice(&instr.op))
}

fn refuse(steps: &Steps) -> Result<(), String> {
    let refusals = [
        (steps.frees, "it frees nodes"),
        (!steps.links.is_empty(), "it uses load-linked"),
        (steps.object_registers > 0, "it has thread variables"),
        (steps.ranks_threads, "it tells threads apart by their order"),
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

fn fields(steps: &Steps, tracking: Tracking) -> Result<(Option<StructId>, Vec<Field>), String> {
    let links = |id: &u32| {
        let slots = &steps.structs[*id as usize].slots;
        slots.iter().any(|s| s.kind.scalar == Scalar::Ref(StructId(*id)))
    };
    let lists: Vec<u32> = (0..steps.structs.len() as u32).filter(links).collect();
    let list = match (lists.as_slice(), tracking) {
        ([], Tracking::Value | Tracking::Number) => return Ok((None, vec![])),
        ([list], Tracking::Key | Tracking::Colour) => *list as usize,
        _ => return Err("it does not have exactly one struct with a link to itself".to_string()),
    };
    let mut fields = Vec::new();
    for slot in &steps.structs[list].slots {
        let field = match slot.kind.scalar {
            Scalar::Ref(of) if of.0 as usize == list => Field::Link,
            Scalar::Key if tracking == Tracking::Key && !slot.kind.nullable => Field::Key,
            Scalar::Value if matches!(tracking, Tracking::Colour | Tracking::Key) => Field::Value,
            Scalar::Bool if !slot.kind.nullable => Field::Mark,
            Scalar::Lock => Field::Lock,
            _ => return Err(format!("the field `{}` is of no known use", slot.name)),
        };
        if fields.contains(&field) {
            return Err(format!("the field `{}` is a second one of its kind", slot.name));
        }
        fields.push(field);
    }
    let data = if tracking == Tracking::Key { Field::Key } else { Field::Value };
    match fields.contains(&data) {
        true => Ok((Some(StructId(list as u32)), fields)),
        false => Err("its struct lacks a link or data".to_string()),
    }
}

/// Whether a scalar is one of finitely many that are known exactly.
pub fn is_finite(kind: seriatim_lang::types::Kind) -> bool {
    matches!(kind.scalar, Scalar::Bool | Scalar::Int(..) | Scalar::Enum(_)) && !kind.nullable
}

fn is_small(kind: seriatim_lang::types::Kind) -> bool {
    match kind.scalar {
        Scalar::Int(range) => !kind.nullable && range.count() <= 16,
        _ => is_control(kind),
    }
}

fn is_control(kind: seriatim_lang::types::Kind) -> bool {
    matches!(kind.scalar, Scalar::Bool | Scalar::Enum(_)) && !kind.nullable
}

/// A cell has one place for records and one control variable; which they are is then no question.
fn check_cell(steps: &Steps) -> Result<(), String> {
    let records = steps.shared.iter().filter(|s| matches!(s.kind.scalar, Scalar::Ref(_))).count();
    let controls = steps.shared.iter().filter(|s| is_control(s.kind)).count();
    // The values that a window has seen are the bits of a word.
    let many = |s: &Slot| matches!(s.kind.scalar, Scalar::Enum(count) if count > 32);
    if steps.shared.iter().any(many) {
        return Err("its control variable has too many values".to_string());
    }
    match (records, controls) {
        (0..=1, 0..=1) => Ok(()),
        _ => Err("it has several variables for records or for control".to_string()),
    }
}

fn check_records(steps: &Steps, tracking: Tracking, list: Option<StructId>) -> Result<(), String> {
    for (number, layout) in steps.structs.iter().enumerate() {
        if list == Some(StructId(number as u32)) {
            continue;
        }
        if layout.slots.len() > FIELDS {
            return Err(format!("the struct `{}` has too many fields", layout.name));
        }
        for slot in &layout.slots {
            let fits = match slot.kind.scalar {
                Scalar::Value => tracking != Tracking::Key,
                Scalar::Tid => tracking == Tracking::Colour || tracking == Tracking::Key,
                _ => is_finite(slot.kind),
            };
            if !fits {
                return Err(format!("the field `{}` is of no known use", slot.name));
            }
        }
    }
    Ok(())
}

fn check_shared(
    steps: &Steps,
    arrays: &[Array],
    tracking: Tracking,
    list: Option<StructId>,
) -> Result<(), String> {
    for (number, slot) in steps.shared.iter().enumerate() {
        let inside = |a: &Array| (a.first..a.first + a.len).contains(&(number as u32));
        let indexed = arrays.iter().any(inside);
        let fits = match slot.kind.scalar {
            Scalar::Ref(of) if Some(of) == list => !indexed,
            Scalar::Ref(_) => indexed || tracking == Tracking::Value,
            Scalar::Tid => indexed,
            Scalar::Lock => !indexed,
            Scalar::Value => tracking == Tracking::Value && !indexed,
            _ => is_finite(slot.kind),
        };
        if !fits {
            return Err(format!("the shared variable `{}` is of no known use", slot.name));
        }
    }
    Ok(())
}

fn check_parameters(steps: &Steps, tracking: Tracking) -> Result<(), String> {
    for method in &steps.methods {
        let fits = |kind: &seriatim_lang::types::Kind| match (tracking, kind.scalar) {
            (Tracking::Key, Scalar::Key | Scalar::Value) => !kind.nullable,
            (Tracking::Colour, Scalar::Value) => !kind.nullable,
            (Tracking::Value, Scalar::Value) => true,
            (Tracking::Value, _) => is_control(*kind),
            (Tracking::Number, scalar) => is_unbounded(scalar) || is_small(*kind),
            _ => false,
        };
        if method.params.len() > ARGS || !method.params.iter().all(fits) {
            return Err(format!("the parameters of `{}` are of no known use", method.name));
        }
    }
    Ok(())
}

/// The shared arrays: whatever is accessed by an index, in the code of the methods.
fn arrays(steps: &Steps) -> Result<Vec<Array>, String> {
    let mut found: Vec<Array> = Vec::new();
    let begin = steps.methods.iter().map(|m| m.entry.0 as usize).min().unwrap_or(0);
    let mut single = Vec::new();
    for (at, instr) in steps.code.iter().enumerate().skip(begin) {
        let Some(place) = instr.op.place().filter(|p| p.root == Root::Shared) else { continue };
        let dim = match place.dims.as_slice() {
            [] => {
                single.push((place.offset, place.width));
                continue;
            }
            [dim] if dim.stride == 1 && place.width == 1 => dim,
            _ => return Err("it has arrays of several dimensions or of tuples".to_string()),
        };
        let per_thread = match &dim.index {
            Ex::SelfTid => true,
            Ex::Reg(reg) => {
                let slot = steps.register(Pc(at as u32), *reg);
                slot.is_some_and(|s| s.kind.scalar == Scalar::Tid)
            }
            _ => false,
        };
        match found.iter().find(|a| a.first == place.offset) {
            Some(known) if known.slot.is_some() == per_thread && known.len == dim.len => {}
            Some(_) => return Err("it has an array with two kinds of indices".to_string()),
            None => {
                let slots = found.iter().filter(|a| a.slot.is_some()).count() as u8;
                let slot = per_thread.then_some(slots);
                found.push(Array { first: place.offset, len: dim.len, slot });
            }
        }
    }
    let overlaps =
        |a: &Array, first: u32, len: u32| a.first < first + len && first < a.first + a.len;
    let twice = found.iter().any(|a| {
        let others = found.iter().filter(|b| b.first != a.first);
        let mut all = others.map(|b| (b.first, b.len)).chain(single.iter().copied());
        all.any(|(first, len)| overlaps(a, first, len))
    });
    match twice {
        true => Err("it has an array that is also accessed without an index".to_string()),
        false => Ok(found),
    }
}
