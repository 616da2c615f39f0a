//! The program as the checker sees it, and the class of programs that it understands.
//!
//! In the class: a built-in `stack`, `queue` or `set`; one struct with one link to itself and at most one key, value, mark and
//! lock; shared variables that are references, locks, truth values, numbers or variants; no thread numbers, thread variables, `free`
//! or load-linked. Values may only be copied and keys only compared; the execution of steps sees to that.

use seriatim_lang::steps::Steps;
use seriatim_lang::types::Scalar;
use seriatim_lang::{Program, lower};

/// Positions in certificates are those of the program as lowered for so many threads. The code of methods is the same for any
/// number, because programs with thread numbers are outside of the class.
const THREADS: u32 = 2;

/// The specification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Spec {
    /// Last in, first out.
    Stack,
    /// First in, first out.
    Queue,
    /// A set of keys.
    Set,
}

/// What a method is for.
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

/// A program in the class.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its steps.
    pub steps: Steps,
    /// Its specification.
    pub spec: Spec,
    /// The roles of its methods.
    pub roles: Vec<Role>,
    /// What the slots of its nodes are for.
    pub fields: Vec<Field>,
}

impl Object {
    /// The program as an object, or why it is outside of the class.
    pub fn of(program: &Program) -> Result<Object, String> {
        let spec = program.spec.as_ref().ok_or("it names no specification")?;
        if program.specs.iter().any(|own| own.name == spec.name) {
            return Err(format!("its specification `{}` is not a built-in one", spec.name));
        }
        let spec = match spec.name.as_str() {
            "stack" => Spec::Stack,
            "queue" => Spec::Queue,
            "set" => Spec::Set,
            other => return Err(format!("the checker knows no content for `{other}`")),
        };
        let steps =
            lower(program, THREADS, None).map_err(|diagnostic| diagnostic.message.clone())?;
        outside(&steps).map_or(Ok(()), |why| Err(why.to_owned()))?;
        let role = |name: &str| role(spec, name).ok_or(format!("`{name}` has no known role"));
        let roles = steps.methods.iter().map(|m| role(&m.name)).collect::<Result<_, _>>()?;
        let fields = fields(&steps)?;
        Ok(Object { steps, spec, roles, fields })
    }

    /// A number that tells this program from others: Fowler, Noll and Vo's hash of its steps. A certificate of another
    /// program is refused by it with a clear message; that no wrong proof is accepted does not rest on it.
    pub fn hash(&self) -> u64 {
        hash(&seriatim_lang::show::listing(&self.steps))
    }

    /// Whether nodes have this field.
    pub fn has(&self, field: Field) -> bool {
        self.fields.contains(&field)
    }

    /// Whether a shared variable is a reference.
    pub fn is_reference(&self, variable: usize) -> bool {
        matches!(self.steps.shared[variable].kind.scalar, Scalar::Ref(_))
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
        (steps.uses_tids, "it uses thread numbers"),
        (!steps.links.is_empty(), "it uses load-linked"),
        (steps.object_registers > 0, "it has thread variables"),
        (steps.structs.len() != 1, "it does not have exactly one struct"),
        (steps.shared.len() > 32, "it has more than 32 shared variables"),
    ];
    reasons.into_iter().find(|(applies, _)| *applies).map(|(_, why)| why)
}

fn role(spec: Spec, name: &str) -> Option<Role> {
    Some(match (spec, name) {
        (Spec::Stack, "push") | (Spec::Queue, "enqueue") => Role::Put,
        (Spec::Stack, "pop") | (Spec::Queue, "dequeue") => Role::Take,
        (Spec::Set, "add") => Role::Add,
        (Spec::Set, "remove") => Role::Remove,
        (Spec::Set, "contains") => Role::Contains,
        _ => return None,
    })
}

fn fields(steps: &Steps) -> Result<Vec<Field>, String> {
    let mut fields = Vec::new();
    for slot in &steps.structs[0].slots {
        let field = match slot.kind.scalar {
            Scalar::Ref(_) => Field::Link,
            Scalar::Key if !slot.kind.nullable => Field::Key,
            Scalar::Value => Field::Value,
            Scalar::Bool if !slot.kind.nullable => Field::Mark,
            Scalar::Lock => Field::Lock,
            _ => return Err(format!("the checker knows no use of the field `{}`", slot.name)),
        };
        if fields.contains(&field) {
            return Err(format!("the field `{}` is a second one of its kind", slot.name));
        }
        fields.push(field);
    }
    let data = |s: &Scalar| matches!(s, Scalar::Key | Scalar::Value | Scalar::Tid);
    if let Some(slot) = steps.shared.iter().find(|s| data(&s.kind.scalar)) {
        return Err(format!("the shared variable `{}` holds data", slot.name));
    }
    Ok(fields)
}
