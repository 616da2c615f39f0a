//! The program as the checker sees it, and the class of programs that it understands.
//!
//! In the class: a specification of a stack, queue, set or map (`crate::list_spec`), or of a cell
//! (`crate::meaning`). A list has one struct with one link to itself and at most one key, value,
//! mark and lock; shared variables are references to its nodes, locks, booleans, numbers or
//! variants. Other structs are *records*: they have no links, and are found in shared arrays only.
//! A cell has no list and no arrays; it has one shared value, at most one reference to a record and
//! at most one boolean or enum, the control variable. A number (`crate::number_spec`) has no
//! structs and no arrays at all. No thread variables, no `free`, no load-linked. Values may only be
//! copied and keys only compared; the execution of steps sees to that. Threads may be compared,
//! stored and used as indices; that the code is the same for any number of them is checked by
//! comparing it for two numbers, and the arrays with one element for each thread are those whose
//! length differs.

use crate::list_spec::{self, OnKey};
use crate::meaning::Meaning;
use crate::number::is_unbounded;
use crate::number_spec::NumberSpec;
use crate::reduce::{StandIn, stand_ins};
use crate::scalar::Scalar;
use seriatim_lang::steps::{Instr, Orders, Place, Root, Steps};
use seriatim_lang::types::{Kind, Scalar as ScalarType, StructId};
use seriatim_lang::{Program, lower};

/// Positions in certificates are those of the program as lowered for so many threads.
const THREADS: u32 = 2;

/// The bases of numbers that come with a call: above those of certificates.
const NEW: u32 = 1_000;

/// The specification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spec {
    /// Last in, first out.
    Stack,
    /// First in, first out.
    Queue,
    /// A set of keys, or a map from keys to values.
    Set,
    /// One value that is read, written and swapped.
    Cell,
    /// One number.
    Number,
}

/// What a method is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// Puts its argument into a sequence.
    Put,
    /// Takes an item out of a sequence.
    Take {
        /// Whether it waits if there is none; else it returns null.
        waits: bool,
    },
    /// Tells the item that would be taken.
    Peek {
        /// Whether it waits if there is none; else it returns null.
        waits: bool,
    },
    /// Tells whether there is an item.
    IsEmpty {
        /// What it returns if there is none.
        says: bool,
    },
    /// A method of a set or a map.
    OnKey(OnKey),
    /// A method of a cell or of a number.
    OnCell,
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

/// Shared slots that are accessed by an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Array {
    /// The first slot.
    pub first: u32,
    /// How many slots there are, for two threads.
    pub len: u32,
    /// If there is one element for each thread: the place of the thread's own among those of a
    /// state.
    pub own: Option<usize>,
}

/// The variables of a cell.
#[derive(Clone, Debug)]
pub struct Cell {
    /// What its methods do.
    pub meaning: Meaning,
    /// The value.
    pub root: usize,
    /// The reference to the installed record.
    pub installed: Option<usize>,
    /// The control variable.
    pub control: Option<usize>,
}

/// A program in the class.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its steps.
    pub steps: Steps,
    /// Its specification.
    pub spec: Spec,
    /// The roles of its methods.
    pub roles: Vec<Role>,
    /// The struct of its nodes.
    pub list: Option<StructId>,
    /// What the slots of its nodes are for.
    pub fields: Vec<Field>,
    /// Its shared arrays.
    pub arrays: Vec<Array>,
    /// Its variables, if it is a cell.
    pub cell: Option<Cell>,
    /// Its specification, if its content is a number.
    pub number_spec: Option<NumberSpec>,
}

impl Object {
    /// The program as an object, or why it is outside of the class: the nearest that may stand for
    /// it and is in the class.
    pub fn of(program: &Program) -> Result<Object, String> {
        let mut all = Object::all(program);
        let first = all.iter().position(Result::is_ok).unwrap_or(0);
        all.swap_remove(first)
    }

    /// The program as an object and all that may stand for it (`reduce.rs`), or why they are outside
    /// of the class.
    pub fn all(program: &Program) -> Vec<Result<Object, String>> {
        let lowered = |threads| lower(program, threads, None).map_err(|d| d.message.clone());
        match (lowered(THREADS), lowered(THREADS + 1)) {
            (Ok(steps), Ok(more)) => {
                let by_key = matches!(list_spec::of(program), Some((Spec::Set, _)));
                let pairs = stand_ins(&steps, by_key).into_iter().zip(stand_ins(&more, by_key));
                pairs.map(|(one, more)| Object::with_steps(program, one, &more.steps)).collect()
            }
            (Err(why), _) | (_, Err(why)) => vec![Err(why)],
        }
    }

    /// Of a program and all that may stand for it, the one of which a certificate speaks; if it
    /// speaks of none of them, the nearest in the class.
    pub fn named_in(program: &Program, certificate: &str) -> Result<Object, String> {
        let name = certificate.lines().nth(1).and_then(|line| line.rsplit_once(' '));
        let mut all = Object::all(program);
        let is_named = |object: &Result<Object, String>| match (object, name) {
            (Ok(object), Some((_, sum))) => sum == format!("{:016x}", object.hash()),
            _ => false,
        };
        match all.iter().position(is_named) {
            Some(named) => all.swap_remove(named),
            None => Object::of(program),
        }
    }

    fn with_steps(program: &Program, one: StandIn, more: &Steps) -> Result<Object, String> {
        let StandIn { steps, numbers_for_values } = one;
        program.spec.as_ref().ok_or("it names no specification")?;
        let on_cell = |spec| (spec, vec![Role::OnCell; program.methods.len()]);
        let (spec, roles) = match list_spec::of(program) {
            _ if numbers_for_values => on_cell(Spec::Number),
            Some(found) => found,
            None if NumberSpec::of(program).is_ok() => on_cell(Spec::Number),
            None => on_cell(Spec::Cell),
        };
        outside(&steps).map_or(Ok(()), |why| Err(why.to_owned()))?;
        let arrays = arrays(&steps, more)?;
        let (list, fields, cell) = match spec {
            Spec::Cell => (None, vec![], Some(cell(program, &steps, &arrays)?)),
            Spec::Number => {
                check_numbers(&steps)?;
                (None, vec![], None)
            }
            _ => {
                let (list, fields) = fields(&steps)?;
                check_shared(&steps, list, &arrays)?;
                (Some(list), fields, None)
            }
        };
        check_records(&steps, list)?;
        let names = steps.methods.iter().map(|m| &m.name);
        if !names.eq(program.methods.iter().map(|m| &m.name)) {
            return Err("its methods are not those of its steps".to_owned());
        }
        let number_spec = match spec {
            Spec::Number if numbers_for_values => Some(NumberSpec::of_values(program)?),
            Spec::Number => Some(NumberSpec::of(program)?),
            _ => None,
        };
        let object = Object { steps, spec, roles, list, fields, arrays, cell, number_spec };
        (0..object.roles.len()).try_for_each(|m| object.check_parameters(m))?;
        (0..object.roles.len()).try_for_each(|m| object.check_calls(m))?;
        Ok(object)
    }

    /// Whether there are records, threads, windows: states have further parts then.
    pub fn has_records(&self) -> bool {
        matches!(self.spec, Spec::Cell | Spec::Number)
            || self.steps.structs.len() > 1
            || !self.arrays.is_empty()
    }

    /// Whether a shared variable has a last changer (`sort.rs`).
    pub fn has_changer(&self, variable: usize) -> bool {
        let kind = self.steps.shared[variable].kind;
        let discrete =
            matches!(kind.scalar, ScalarType::Bool | ScalarType::Int(_) | ScalarType::Enum(_));
        let unbounded = self.spec == Spec::Number && is_unbounded(kind.scalar);
        let beside = self.spec != Spec::Cell && self.array(variable).is_none();
        beside && discrete && !unbounded && !kind.nullable
    }

    /// What a variable holds after the observed operation wrote to it: before the step it held
    /// `before`.
    pub fn with_changer(&self, variable: usize, scalar: Scalar, before: Scalar) -> Scalar {
        match scalar {
            _ if before.plain() == scalar => before,
            Scalar::Int(number) if self.has_changer(variable) => Scalar::Own(number),
            scalar => scalar,
        }
    }

    /// The array to which a shared slot belongs.
    pub fn array(&self, slot: usize) -> Option<&Array> {
        let inside = |a: &&Array| (a.first..a.first + a.len).contains(&(slot as u32));
        self.arrays.iter().find(inside)
    }

    /// How many elements of arrays belong to a thread.
    pub fn own_elements(&self) -> usize {
        self.arrays.iter().filter(|a| a.own.is_some()).count()
    }

    /// All arguments with which a method can be called, as far as data is told apart.
    pub fn calls(&self, method: usize) -> Vec<Vec<Scalar>> {
        let mut calls: Vec<Vec<Scalar>> = vec![vec![]];
        for (place, kind) in self.steps.methods[method].params.iter().enumerate() {
            let options = match self.spec == Spec::Number && is_unbounded(kind.scalar) {
                true => vec![Scalar::Number(NEW + place as u32, 0)],
                false => self.arguments(*kind),
            };
            let longer = |call: &Vec<Scalar>, o: &Scalar| [&call[..], &[*o]].concat();
            calls = calls.iter().flat_map(|c| options.iter().map(move |o| longer(c, o))).collect();
        }
        calls
    }

    fn arguments(&self, kind: Kind) -> Vec<Scalar> {
        use crate::scalar::Class::{Above, Below, Tracked};
        let mut options: Vec<Scalar> = match kind.scalar {
            ScalarType::Key => [Below, Tracked, Above].map(Scalar::Key).to_vec(),
            ScalarType::Value => vec![Scalar::Value(0), Scalar::Value(1)],
            ScalarType::Bool => vec![Scalar::Int(0), Scalar::Int(1)],
            ScalarType::Enum(count) => (0..count as i32).map(Scalar::Int).collect(),
            ScalarType::Int(range) => (range.low..=range.high).map(Scalar::Int).collect(),
            _ => vec![],
        };
        if kind.nullable {
            options.push(Scalar::Null);
        }
        options
    }

    /// Calls are tried one by one: there must not be too many.
    fn check_calls(&self, method: usize) -> Result<(), String> {
        let counts = self.steps.methods[method].params.iter().map(|kind| {
            let unbounded = self.spec == Spec::Number && is_unbounded(kind.scalar);
            if unbounded { 1 } else { self.arguments(*kind).len() as u64 }
        });
        let name = &self.steps.methods[method].name;
        match counts.fold(1u64, u64::saturating_mul) <= 4_096 {
            true => Ok(()),
            false => Err(format!("`{name}` can be called in too many ways")),
        }
    }

    fn check_parameters(&self, method: usize) -> Result<(), String> {
        let code = &self.steps.methods[method];
        let scalars: Vec<ScalarType> = code.params.iter().map(|k| k.scalar).collect();
        let nullable = code.params.iter().any(|k| k.nullable);
        let right = match (self.roles[method], &scalars[..]) {
            (Role::Put, [ScalarType::Value])
            | (Role::OnKey(_), [ScalarType::Key] | [ScalarType::Key, ScalarType::Value]) => {
                !nullable
            }
            (Role::Take { .. } | Role::Peek { .. } | Role::IsEmpty { .. }, []) => true,
            (Role::OnCell, scalars) => scalars.iter().all(|s| match (self.spec, s) {
                (_, ScalarType::Bool | ScalarType::Enum(_)) | (Spec::Cell, ScalarType::Value) => {
                    true
                }
                (Spec::Number, ScalarType::Int(range)) => {
                    !nullable && (is_unbounded(*s) || range.count() <= 64)
                }
                _ => false,
            }),
            _ => false,
        };
        right.then_some(()).ok_or(format!("the parameters of `{}` are strange", code.name))
    }

    /// A number that tells this program from others: Fowler, Noll and Vo's hash of its steps. A
    /// certificate of another program is refused by it with a clear message; that no wrong proof is
    /// accepted does not rest on it.
    pub fn hash(&self) -> u64 {
        hash(&seriatim_lang::show::listing(&self.steps))
    }

    /// Whether nodes have this field.
    pub fn has(&self, field: Field) -> bool {
        self.fields.contains(&field)
    }

    /// Whether a shared variable is a reference to a node.
    pub fn is_reference(&self, variable: usize) -> bool {
        match self.steps.shared[variable].kind.scalar {
            ScalarType::Ref(of) => Some(of) == self.list,
            _ => false,
        }
    }
}

/// Fowler, Noll and Vo's hash, in the variant 1a with 64 bits.
pub fn hash(text: &str) -> u64 {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    text.bytes().fold(0xcbf2_9ce4_8422_2325, mix)
}

fn outside(steps: &Steps) -> Option<&'static str> {
    let reasons = [
        (steps.frees, "it frees nodes"),
        (!steps.links.is_empty(), "it uses load-linked"),
        (steps.object_registers > 0, "it has thread variables"),
        (steps.shared.len() > 32, "it has more than 32 shared variables"),
        (steps.ranks_threads, "it tells threads apart by their order"),
        (!is_sequential(steps), "it asks for less than sequential consistency"),
    ];
    reasons.into_iter().find(|(applies, _)| *applies).map(|(_, why)| why)
}

/// Condition `sequentially-consistent-orderings`: every access is `seqcst` and nothing is plain.
/// The invariant of a certificate is about one memory that all threads see alike.
fn is_sequential(steps: &Steps) -> bool {
    let mut fields = steps.structs.iter().flat_map(|s| &s.slots);
    let ordered = |i: &Instr| i.orders == Orders::default();
    !steps.shared.iter().any(|s| s.plain)
        && !fields.any(|s| s.plain)
        && steps.code.iter().all(ordered)
}

/// The struct of the list, and what its slots are for.
fn fields(steps: &Steps) -> Result<(StructId, Vec<Field>), String> {
    let links = |id: &StructId| {
        let mut slots = steps.structs[id.0 as usize].slots.iter();
        slots.any(|s| s.kind.scalar == ScalarType::Ref(*id))
    };
    let lists: Vec<StructId> =
        (0..steps.structs.len() as u32).map(StructId).filter(links).collect();
    let &[list] = &lists[..] else {
        return Err("it does not have exactly one struct with a link to itself".to_owned());
    };
    let mut fields = Vec::new();
    for slot in &steps.structs[list.0 as usize].slots {
        let field = match slot.kind.scalar {
            ScalarType::Ref(of) if of == list => Field::Link,
            ScalarType::Key if !slot.kind.nullable => Field::Key,
            ScalarType::Value => Field::Value,
            ScalarType::Bool if !slot.kind.nullable => Field::Mark,
            ScalarType::Lock => Field::Lock,
            _ => return Err(format!("the checker knows no use of the field `{}`", slot.name)),
        };
        if fields.contains(&field) {
            return Err(format!("the field `{}` is a second one of its kind", slot.name));
        }
        fields.push(field);
    }
    Ok((list, fields))
}

/// Shared variables beside a list: no data, records and threads in arrays only, nodes never in
/// arrays.
fn check_shared(steps: &Steps, list: StructId, arrays: &[Array]) -> Result<(), String> {
    for (number, slot) in steps.shared.iter().enumerate() {
        let indexed = arrays.iter().any(|a| (a.first..a.first + a.len).contains(&(number as u32)));
        let fits = match slot.kind.scalar {
            ScalarType::Ref(of) => (of == list) != indexed,
            ScalarType::Tid => indexed,
            ScalarType::Lock => !indexed,
            ScalarType::Key | ScalarType::Value => false,
            ScalarType::Bool | ScalarType::Int(..) | ScalarType::Enum(_) => true,
        };
        if !fits {
            return Err(format!("the checker knows no use of the variable `{}`", slot.name));
        }
    }
    Ok(())
}

/// Structs other than that of the list: their fields are values, threads, booleans, numbers or
/// variants.
fn check_records(steps: &Steps, list: Option<StructId>) -> Result<(), String> {
    let records = (0..steps.structs.len() as u32).map(StructId).filter(|id| Some(*id) != list);
    for slot in records.flat_map(|id| &steps.structs[id.0 as usize].slots) {
        if matches!(slot.kind.scalar, ScalarType::Ref(_) | ScalarType::Key | ScalarType::Lock) {
            return Err(format!("the checker knows no use of the field `{}`", slot.name));
        }
    }
    Ok(())
}

fn cell(program: &Program, steps: &Steps, arrays: &[Array]) -> Result<Cell, String> {
    let meaning = Meaning::of(program)?;
    let of_sort = |sort: &dyn Fn(Kind) -> bool| -> Vec<usize> {
        (0..steps.shared.len()).filter(|v| sort(steps.shared[*v].kind)).collect()
    };
    let roots = of_sort(&|k| k.scalar == ScalarType::Value);
    let records = of_sort(&|k| matches!(k.scalar, ScalarType::Ref(_)));
    let controls =
        of_sort(&|k| matches!(k.scalar, ScalarType::Bool | ScalarType::Enum(_)) && !k.nullable);
    let odd = of_sort(&|k| matches!(k.scalar, ScalarType::Key | ScalarType::Tid));
    let (&[root], [] | [_], [] | [_], [], []) =
        (&roots[..], &records[..], &controls[..], &odd[..], arrays)
    else {
        return Err("the checker cannot tell the variables of the cell".to_owned());
    };
    let control = controls.first().copied().filter(|_| meaning.control.is_some());
    let count = |kind: Kind| match kind.scalar {
        ScalarType::Enum(count) => count as i32,
        _ => 2,
    };
    let ranges = control.map(|c| count(steps.shared[c].kind));
    if ranges != meaning.control.map(|_| meaning.controls) || steps.uses_tids {
        return Err("the checker cannot tell the variables of the cell".to_owned());
    }
    Ok(Cell { meaning, root, installed: records.first().copied(), control })
}

/// A number has no heap: locks, booleans, numbers and variants.
fn check_numbers(steps: &Steps) -> Result<(), String> {
    let fits = |kind: Kind| match kind.scalar {
        ScalarType::Lock | ScalarType::Bool | ScalarType::Int(..) | ScalarType::Enum(_) => {
            !kind.nullable
        }
        _ => false,
    };
    match steps.structs.is_empty() && steps.shared.iter().all(|s| fits(s.kind)) {
        true if !steps.uses_tids => Ok(()),
        _ => Err("its number is not in one variable".to_owned()),
    }
}

/// The shared arrays; the second program is the first one for one more thread.
fn arrays(steps: &Steps, more: &Steps) -> Result<Vec<Array>, String> {
    let differs = || "its code is not the same for any number of threads".to_owned();
    let begin = |steps: &Steps| steps.methods.iter().map(|m| m.entry.0 as usize).min().unwrap_or(0);
    let (code, again) = (&steps.code[begin(steps)..], &more.code[begin(more)..]);
    let mut found: Vec<Array> = Vec::new();
    let mut plain: Vec<(u32, u32)> = Vec::new();
    if code.len() != again.len() || begin(steps) != begin(more) {
        return Err(differs());
    }
    for (a, b) in code.iter().zip(again) {
        let (mut op, mut other) = (a.op.clone(), b.op.clone());
        if let (Some(p), Some(q)) = (op.place_mut(), other.place_mut())
            && p.root == Root::Shared
        {
            let name = |steps: &Steps, p: &Place| steps.shared[p.offset as usize].name.clone();
            if name(steps, p) != name(more, q) || p.dims.len() != q.dims.len() {
                return Err(differs());
            }
            match (&p.dims[..], &q.dims[..]) {
                ([], _) => plain.push((p.offset, p.width)),
                ([d], [e]) if d.stride == 1 && p.width == 1 => {
                    let own = (d.len != e.len).then_some(0);
                    let array = Array { first: p.offset, len: d.len, own };
                    if !found.contains(&array) {
                        found.push(array);
                    }
                }
                _ => return Err("it has arrays of several dimensions or of tuples".to_owned()),
            }
            q.offset = p.offset;
            q.dims.iter_mut().zip(&p.dims).for_each(|(e, d)| e.len = d.len);
        }
        if op != other {
            return Err(differs());
        }
    }
    let all = found.iter().map(|a| (a.first, a.len)).chain(plain.iter().copied());
    let overlaps = |a: &Array, (first, len): (u32, u32)| {
        (a.first, a.len) != (first, len) && a.first < first + len && first < a.first + a.len
    };
    let mixed = |a: &Array| plain.iter().any(|p| overlaps(a, *p) || p.0 == a.first);
    if all.clone().any(|span| found.iter().any(|a| overlaps(a, span))) || found.iter().any(mixed) {
        return Err("it has an array that is also accessed in another way".to_owned());
    }
    let mut own = 0..;
    for array in found.iter_mut().filter(|a| a.own.is_some()) {
        array.own = own.next();
    }
    Ok(found)
}
