//! The class of programs that this engine decides, recognised from the checked program and its
//! steps.
//!
//! A program is in the class if it implements the built-in specification `set` by one singly linked
//! list: one struct with a key, a nullable reference to the next node, at most one `bool` (the
//! mark) and at most one lock; one shared reference (the head) that no method writes, with the
//! initial list −∞ → +∞; methods that never write keys, never free nodes, never take a mark back (a
//! `bool` that is set and cleared is somebody's own lock), and use neither thread numbers, data
//! values nor `any`. One fact is checked while the program runs, because it is a fact
//! about runs: a new node has the key of an argument. A program outside of the class is refused
//! with the reason and the line where it leaves it.

use seriatim_lang::diagnostic::Diagnostic;
use seriatim_lang::flow::reads_own_number;
use seriatim_lang::machine::{Machine, State};
use seriatim_lang::program::Program;
use seriatim_lang::span::Span;
use seriatim_lang::steps::*;
use seriatim_lang::types::{Scalar, StructId};

/// Why a program or a composition is not decided by this engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason, as one sentence without a final stop.
    pub reason: String,
    /// Where in the source it shows; empty if it concerns no place.
    pub span: Span,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Refusal {}

impl Refusal {
    /// A refusal at a place.
    pub fn new(span: Span, reason: impl Into<String>) -> Refusal {
        Refusal { reason: reason.into(), span }
    }

    /// The refusal as an error message for the source that it speaks of.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic::new(self.span, self.reason.clone())
            .hint("the engine `lists` takes sorted list-based sets; `explore` takes any program")
    }
}

impl From<Diagnostic> for Refusal {
    fn from(error: Diagnostic) -> Refusal {
        Refusal::new(error.span, error.message)
    }
}

/// What a method does to the set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Effect {
    /// Inserts the key; true if it was absent.
    Add,
    /// Deletes the key; true if it was there.
    Remove,
    /// Says whether the key is there.
    Contains,
}

/// Where a node keeps what: slot numbers within the struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The key.
    pub key: usize,
    /// The reference to the next node.
    pub next: usize,
    /// The mark, if nodes have one.
    pub mark: Option<usize>,
    /// The lock, if nodes have one.
    pub lock: Option<usize>,
    /// The shared variable that holds the first sentinel.
    pub head: usize,
}

/// The effect of each method, in their order.
pub fn effects(program: &Program) -> Result<Vec<Effect>, Refusal> {
    let object = object_span(program);
    let builtin = program.spec.as_ref().is_some_and(|s| s.name == "set");
    if !builtin || program.specs.iter().any(|s| s.name == "set") {
        return Err(Refusal::new(object, "the object does not implement the built-in `set`"));
    }
    let effect = |name: &str| match name {
        "add" => Some(Effect::Add),
        "remove" => Some(Effect::Remove),
        "contains" => Some(Effect::Contains),
        _ => None,
    };
    let named = |(index, name): (usize, &str)| {
        let span = program.file.methods.get(index).map_or(object, |m| m.name.span);
        let reason = "a method is none of `add`, `remove` and `contains`";
        effect(name).ok_or_else(|| Refusal::new(span, reason))
    };
    program.methods.iter().map(|m| m.name.as_str()).enumerate().map(named).collect()
}

/// Where the object is named.
fn object_span(program: &Program) -> Span {
    program.file.object.as_ref().map(|o| o.name.span).unwrap_or_default()
}

/// Where a shared variable is declared.
fn variable_span(program: &Program, name: &str) -> Span {
    let found = program.file.vars.iter().find(|v| v.name.text == name);
    found.map_or(object_span(program), |v| v.name.span)
}

/// Where the field of a slot is declared; parts of a tuple belong to one field.
fn field_span(program: &Program, slot: &Slot) -> Span {
    let name = slot.name.split('.').next().unwrap_or_default();
    let mut fields = program.file.structs.iter().flat_map(|s| &s.fields);
    let found = fields.find(|f| f.name.text == name);
    found.map_or(object_span(program), |f| f.name.span)
}

/// Recognises the list and checks every instruction of the methods.
pub fn recognise(program: &Program, steps: &Steps) -> Result<Shape, Refusal> {
    let refuse = |reason: &str| Err(Refusal::new(object_span(program), reason));
    if steps.object_registers > 0 || !steps.links.is_empty() {
        return refuse("the object has variables of threads or uses load-linked");
    }
    if steps.uses_tids {
        return refuse("the object uses thread numbers");
    }
    let shape = node_shape(program, steps)?;
    for (method, declared) in steps.methods.iter().zip(&program.file.methods) {
        for slot in &method.regs {
            if matches!(slot.kind.scalar, Scalar::Value | Scalar::Tid) {
                let reason = "a method uses data values or thread numbers";
                return Err(Refusal::new(declared.name.span, reason));
            }
        }
        for instr in &steps.code[method.entry.0 as usize..method.end.0 as usize] {
            instruction(&shape, instr)?;
        }
    }
    Ok(shape)
}

fn node_shape(program: &Program, steps: &Steps) -> Result<Shape, Refusal> {
    let [node] = steps.structs.as_slice() else {
        let reason = format!("there are {} structs instead of one", steps.structs.len());
        let span = program.file.structs.get(1).map_or(object_span(program), |s| s.name.span);
        return Err(Refusal::new(span, reason));
    };
    let one = |wanted: &dyn Fn(Scalar) -> bool, what: &str, least: usize| {
        let all = node.slots.iter().enumerate().filter(|(_, s)| wanted(s.kind.scalar));
        let all: Vec<usize> = all.map(|(i, _)| i).collect();
        if all.len() > 1 || all.len() < least {
            let declared = program.file.structs.first().map(|s| s.name.span);
            let span = match all.get(1) {
                Some(second) => field_span(program, &node.slots[*second]),
                None => declared.unwrap_or_default(),
            };
            let reason = format!("`{}` has {} fields of {what}", node.name, all.len());
            return Err(Refusal::new(span, reason));
        }
        Ok(all.first().copied())
    };
    let key = one(&|s| s == Scalar::Key, "type `key`", 1)?.unwrap_or(0);
    let next = one(&|s| s == Scalar::Ref(StructId(0)), "a node's type", 1)?.unwrap_or(0);
    let mark = one(&|s| s == Scalar::Bool, "type `bool`", 0)?;
    let lock = one(&|s| s == Scalar::Lock, "type `lock`", 0)?;
    let plain = [Some(key), mark, lock];
    for (index, slot) in node.slots.iter().enumerate() {
        let known = index == next || plain.contains(&Some(index)) && !slot.kind.nullable;
        if !known {
            let reason = format!("`{}` has fields beside key, next, mark and lock", node.name);
            return Err(Refusal::new(field_span(program, slot), reason));
        }
    }
    let head = head(program, steps)?;
    Ok(Shape { key, next, mark, lock, head })
}

/// The shared variable that holds the first sentinel.
fn head(program: &Program, steps: &Steps) -> Result<usize, Refusal> {
    let mut heads = vec![];
    for (index, slot) in steps.shared.iter().enumerate() {
        match slot.kind.scalar {
            Scalar::Ref(_) => heads.push(index),
            Scalar::Lock | Scalar::Bool if !slot.kind.nullable => {}
            _ => {
                let reason = format!("shared variable `{}` is no lock", slot.name);
                return Err(Refusal::new(variable_span(program, &slot.name), reason));
            }
        }
    }
    match heads.as_slice() {
        [head] => Ok(*head),
        _ => {
            let reason = format!("{} shared references instead of one", heads.len());
            let second = heads.get(1).map(|head| &steps.shared[*head].name);
            let span = second.map_or(object_span(program), |name| variable_span(program, name));
            Err(Refusal::new(span, reason))
        }
    }
}

fn instruction(shape: &Shape, instr: &Instr) -> Result<(), Refusal> {
    let refuse = |reason: &str| Err(Refusal::new(instr.span, reason));
    match &instr.op {
        Op::Free(_) => return refuse("a node is given back"),
        Op::Any { .. } => return refuse("`any` within a method"),
        Op::StoreConditional { .. } => return refuse("a store-conditional"),
        Op::FetchAdd { .. } => return refuse("an addition to shared state"),
        Op::SetAt { .. } => return refuse("an array"),
        _ => {}
    }
    if reads_own_number(&instr.op) {
        return refuse("a thread's own number");
    }
    let Some(place) = instr.op.place() else { return Ok(()) };
    if !place.dims.is_empty() {
        return refuse("an array");
    }
    let covers = |slot: usize| {
        (place.offset as usize..(place.offset + place.width) as usize).contains(&slot)
    };
    if let (Op::Store { value, .. }, Some(mark)) = (&instr.op, shape.mark)
        && place.width == 1
        && covers(mark)
        && matches!(place.root, Root::Node(..))
        && value[..] == [Ex::Const(0)]
    {
        return refuse("a mark that is taken back, as if it were a lock");
    }
    let reads = matches!(instr.op, Op::Load { .. });
    match &place.root {
        Root::Shared if !reads && covers(shape.head) => refuse("the head is written"),
        Root::Node(Ex::Reg(_), _) if !reads && covers(shape.key) => refuse("a key is written"),
        Root::Node(Ex::Reg(_), _) | Root::Shared => Ok(()),
        Root::Node(..) => refuse("a node that is chosen by an expression"),
    }
}

/// Checks that the list is −∞ → +∞ at the start.
pub fn initial_list(
    program: &Program,
    shape: &Shape,
    machine: &Machine,
    state: &State,
) -> Result<(), Refusal> {
    let span = variable_span(program, &machine.steps.shared[shape.head].name);
    let wrong = || Err(Refusal::new(span, "the list does not begin as −∞ → +∞, unmarked and free"));
    let stride = machine.node_stride();
    let head = state.words[shape.head];
    if !(0..2).contains(&head) || state.heap.len() != 2 * stride {
        return wrong();
    }
    let slot = |node: i32, slot: usize| state.heap[node as usize * stride + 1 + slot];
    let tail = slot(head, shape.next);
    if !(0..2).contains(&tail) || tail == head || slot(tail, shape.next) != NULL {
        return wrong();
    }
    let flags = [shape.mark, shape.lock].into_iter().flatten();
    let clean = flags.flat_map(|f| [slot(head, f), slot(tail, f)]).all(|f| f == 0);
    if !clean || slot(head, shape.key) != MINUS_INF || slot(tail, shape.key) != PLUS_INF {
        return wrong();
    }
    Ok(())
}
