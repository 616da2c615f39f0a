//! A checked file: the syntax tree together with what the checker found out about it. Everything
//! that comes after (lowering, the specification interpreter, the printers) reads this and needs no
//! further checks.

use crate::front::ast::{Block, Expr, ExprId, File, Rise};
use crate::front::types::{EnumId, Record, Shown, StructId, Type};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Numbers the shared variables.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct VarId(pub u32);

/// Numbers the local variables of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct LocalId(pub u32);

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A local variable or a parameter.
    Local(LocalId),
    /// A shared variable (in a specification: a variable of its state).
    Shared(VarId),
    /// A variable of the thread.
    Thread(VarId),
    /// A number.
    Const(i32),
    /// A variant of an enum.
    Variant(EnumId, u32),
    /// A built-in function.
    Builtin(Builtin),
    /// A text, by its place among those of the file.
    Text(u32),
    /// A helper function, by its place in the list of its scope.
    Function(u32),
    /// A method, by its place in the list.
    Method(u32),
}

/// The built-in functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builtin {
    /// `cas(place, old, new)`.
    Cas,
    /// `swap(place, new)`.
    Swap,
    /// `fetch_add(place, amount)`.
    FetchAdd,
    /// `load(place, ordering)`.
    Load,
    /// `store(place, new, ordering)`.
    Store,
    /// `fence(ordering)`.
    Fence,
    /// `ll(var)`.
    LoadLinked,
    /// `sc(var, new)`.
    StoreConditional,
    /// `lock(place)`.
    Lock,
    /// `unlock(place)`.
    Unlock,
    /// `free(node)`.
    Free,
    /// `recycle(node)`.
    Recycle,
    /// `hash(key, size)`: a number below the size, the same for the same key.
    Hash,
    /// `len(collection)`.
    Len,
    /// `min(collection)`.
    Min,
    /// `max(collection)`.
    Max,
    /// `remove(sequence, element)`: without its first occurrence.
    Remove,
}

impl Builtin {
    /// The function of this name.
    pub fn named(name: &str) -> Option<Builtin> {
        Some(match name {
            "cas" => Builtin::Cas,
            "swap" => Builtin::Swap,
            "fetch_add" => Builtin::FetchAdd,
            "load" => Builtin::Load,
            "store" => Builtin::Store,
            "fence" => Builtin::Fence,
            "ll" => Builtin::LoadLinked,
            "sc" => Builtin::StoreConditional,
            "lock" => Builtin::Lock,
            "unlock" => Builtin::Unlock,
            "free" => Builtin::Free,
            "recycle" => Builtin::Recycle,
            "hash" => Builtin::Hash,
            "len" => Builtin::Len,
            "min" => Builtin::Min,
            "max" => Builtin::Max,
            "remove" => Builtin::Remove,
            _ => return None,
        })
    }

    /// How many arguments it takes before its orderings.
    pub fn arguments(self) -> usize {
        match self {
            Builtin::Fence => 0,
            Builtin::Cas => 3,
            Builtin::Swap
            | Builtin::FetchAdd
            | Builtin::Store
            | Builtin::StoreConditional
            | Builtin::Hash
            | Builtin::Remove => 2,
            _ => 1,
        }
    }

    /// The numbers of orderings that it takes after its arguments.
    pub fn orderings(self) -> std::ops::RangeInclusive<usize> {
        match self {
            Builtin::Load | Builtin::Store | Builtin::Fence => 1..=1,
            Builtin::Swap | Builtin::FetchAdd => 0..=1,
            Builtin::Cas => 0..=2,
            _ => 0..=0,
        }
    }

    /// Whether files may have a function of this name, which goes first then: it came into the
    /// language after files were written.
    pub fn gives_way(self) -> bool {
        matches!(
            self,
            Builtin::Load | Builtin::Store | Builtin::Fence | Builtin::Recycle | Builtin::Hash
        )
    }

    /// Whether it belongs to specifications (else: to algorithms).
    pub fn is_for_specs(self) -> bool {
        matches!(self, Builtin::Len | Builtin::Min | Builtin::Max | Builtin::Remove)
    }
}

/// A struct.
#[derive(Clone, Debug)]
pub struct StructInfo {
    /// Its name.
    pub name: String,
    /// Its fields.
    pub fields: Vec<FieldInfo>,
}

/// A field of a struct.
#[derive(Clone, Debug)]
pub struct FieldInfo {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its default value.
    pub default: Option<Expr>,
    /// Whether it is accessed without synchronisation.
    pub plain: bool,
}

/// An enum.
#[derive(Clone, Debug)]
pub struct EnumInfo {
    /// Its name.
    pub name: String,
    /// Its variants.
    pub variants: Vec<String>,
}

/// A variable.
#[derive(Clone, Debug)]
pub struct VarInfo {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its initial value.
    pub init: Option<Expr>,
    /// Whether it is accessed without synchronisation.
    pub plain: bool,
    /// How it rises, if it is declared to be the version of a specification.
    pub version: Option<Rise>,
}

/// A method or a helper function.
#[derive(Clone, Debug)]
pub struct FunctionInfo {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub params: Vec<ParamInfo>,
    /// Its result; [`Type::Unit`] if it has none.
    pub result: Type,
    /// How often it may be under way at once, if it says so; more is an error of the algorithm.
    pub depth: Option<u32>,
    /// Its body.
    pub body: Block,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct ParamInfo {
    /// Its name.
    pub name: String,
    /// The local variable that holds it.
    pub local: LocalId,
    /// Its type.
    pub ty: Type,
}

/// A text that a specification names.
#[derive(Clone, Debug)]
pub struct TextInfo {
    /// What it says.
    pub text: String,
    /// Whether it stands for ordered data somewhere.
    pub is_key: bool,
}

/// What names and types a file uses, as the checker found them.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The types of expressions.
    pub types: Vec<Option<Type>>,
    /// What names mean, by the expression or binding that they stand in.
    pub meanings: Vec<Option<Meaning>>,
    /// The types of local variables.
    pub locals: Vec<(String, Type)>,
    /// The structs.
    pub structs: Vec<StructInfo>,
    /// The enums.
    pub enums: Vec<EnumInfo>,
    /// The constants.
    pub consts: BTreeMap<String, i32>,
    /// The records of specifications.
    pub records: Vec<Arc<Record>>,
    /// The texts that specifications name.
    pub texts: Vec<TextInfo>,
}

impl Facts {
    /// The type of an expression.
    pub fn type_of(&self, expr: &Expr) -> &Type {
        self.types[expr.id.0 as usize].as_ref().unwrap_or(&Type::Never)
    }

    /// What the name in an expression or a binding means.
    pub fn meaning(&self, id: ExprId) -> Option<Meaning> {
        self.meanings[id.0 as usize]
    }

    /// A type as written.
    pub fn show(&self, ty: &Type) -> String {
        let structs = |id: StructId| self.structs[id.0 as usize].name.clone();
        let enums = |id: EnumId| self.enums[id.0 as usize].name.clone();
        Shown { ty, structs: &structs, enums: &enums }.to_string()
    }

    /// The struct of this number.
    pub fn structure(&self, id: StructId) -> &StructInfo {
        &self.structs[id.0 as usize]
    }

    /// How many variants an enum has.
    pub fn variants(&self, id: EnumId) -> u32 {
        self.enums[id.0 as usize].variants.len() as u32
    }
}

/// A checked specification.
#[derive(Clone, Debug)]
pub struct SpecInfo {
    /// Its name.
    pub name: String,
    /// Its state.
    pub vars: Vec<VarInfo>,
    /// Its methods.
    pub methods: Vec<FunctionInfo>,
    /// Its helper functions.
    pub functions: Vec<FunctionInfo>,
    /// The facts of the file it stands in.
    pub facts: Arc<Facts>,
}

/// A role of a checked client.
#[derive(Clone, Debug)]
pub struct RoleInfo {
    /// Its name.
    pub name: String,
    /// How many threads play it; `None` for all that remain.
    pub count: Option<u32>,
    /// What each of them runs.
    pub body: Block,
}

/// A checked client.
#[derive(Clone, Debug)]
pub struct ClientInfo {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its roles.
    pub roles: Vec<RoleInfo>,
}

/// A checked file.
#[derive(Clone, Debug)]
pub struct Program {
    /// The object's name; empty in a file that has only specifications.
    pub name: String,
    /// The source text.
    pub source: Arc<str>,
    /// The syntax tree.
    pub file: File,
    /// What the checker found out.
    pub facts: Arc<Facts>,
    /// The shared variables.
    pub shared: Vec<VarInfo>,
    /// The thread variables.
    pub thread_vars: Vec<VarInfo>,
    /// The methods.
    pub methods: Vec<FunctionInfo>,
    /// The helper functions.
    pub functions: Vec<FunctionInfo>,
    /// The specification that the object must refine.
    pub spec: Option<SpecInfo>,
    /// What the parameters of that specification stand for, as far as the object says.
    pub arguments: Vec<i32>,
    /// All specifications written in the file.
    pub specs: Vec<SpecInfo>,
    /// The clients.
    pub clients: Vec<ClientInfo>,
}
