//! The types, which values fit where, and how a type is laid out in scalar slots.

use crate::front::range::Range;
use std::fmt;
use std::sync::Arc;

/// Numbers the structs of a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct StructId(pub u32);

/// Numbers the enums of a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct EnumId(pub u32);

/// A type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// Booleans.
    Bool,
    /// Whole numbers between two bounds.
    Int(Range),
    /// Opaque data: copied and compared for equality.
    Value,
    /// Ordered data.
    Key,
    /// The identity of a thread.
    Tid,
    /// A lock.
    Lock,
    /// One of the names of an enum.
    Enum(EnumId),
    /// A reference to a heap node, never null.
    Ref(StructId),
    /// Or null.
    Opt(Box<Type>),
    /// Several parts in one word.
    Tuple(Vec<Type>),
    /// A fixed number of elements.
    Array(Box<Type>, Length),
    /// A sequence (specifications only).
    Seq(Box<Type>),
    /// A finite set (specifications only).
    Set(Box<Type>),
    /// A finite map (specifications only).
    Map(Box<Type>, Box<Type>),
    /// A record (specifications only).
    Record(Arc<Record>),
    /// No value.
    Unit,
    /// The type of `null`'s content and of the elements of `[]`: fits everywhere.
    Never,
}

/// A record of a specification: a tuple whose parts have names.
#[derive(Debug, PartialEq, Eq)]
pub struct Record {
    /// Its name.
    pub name: String,
    /// Its fields.
    pub fields: Vec<(String, Type)>,
}

impl Record {
    /// The place of a field.
    pub fn place(&self, field: &str) -> Option<usize> {
        self.fields.iter().position(|(name, _)| name == field)
    }
}

/// The length of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Known from the text.
    Fixed(u32),
    /// One element for each thread: `[T; tid]`.
    Threads,
}

/// Whether a value of one type may stand where another is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// Every value does.
    Always,
    /// Some values do: the machine checks.
    Checked,
    /// None does.
    Never,
}

/// The sort of a scalar slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scalar {
    /// 0 or 1.
    Bool,
    /// Between two bounds.
    Int(Range),
    /// Data.
    Value,
    /// Ordered data.
    Key,
    /// A thread.
    Tid,
    /// 0 (free) or 1 (held).
    Lock,
    /// A variant out of so many.
    Enum(u32),
    /// A heap node of this struct.
    Ref(StructId),
}

/// What a slot may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// Its sort.
    pub scalar: Scalar,
    /// Whether it may be null.
    pub nullable: bool,
}

impl Type {
    /// `T?` of this type; `T??` is `T?`.
    pub fn optional(self) -> Type {
        match self {
            Type::Opt(_) => self,
            other => Type::Opt(Box::new(other)),
        }
    }

    /// The type without its `?`.
    pub fn required(&self) -> &Type {
        match self {
            Type::Opt(inner) => inner,
            other => other,
        }
    }

    /// Whether `self` may stand where `to` is wanted.
    pub fn fits(&self, to: &Type) -> Fit {
        match (self, to) {
            (Type::Never, _) => Fit::Always,
            (Type::Int(a), Type::Int(b)) if a.is_within(*b) => Fit::Always,
            (Type::Int(..), Type::Int(..)) => Fit::Checked,
            (Type::Opt(a), Type::Opt(b)) => a.fits(b),
            (a, Type::Opt(b)) => a.fits(b),
            (Type::Opt(a), b) => a.fits(b).max(Fit::Checked),
            (Type::Tuple(a), Type::Tuple(b)) if a.len() == b.len() => {
                a.iter().zip(b).map(|(a, b)| a.fits(b)).max().unwrap_or(Fit::Always)
            }
            (Type::Array(a, m), Type::Array(b, n)) if m == n => a.fits(b),
            (Type::Seq(a), Type::Array(b, _)) if **a == Type::Never => a.fits(b),
            (Type::Seq(a), Type::Seq(b)) | (Type::Set(a), Type::Set(b)) => a.fits(b),
            (Type::Set(a), Type::Map(..)) if **a == Type::Never => Fit::Always,
            (Type::Map(a, v), Type::Map(b, w)) => a.fits(b).max(v.fits(w)),
            (a, b) if a == b => Fit::Always,
            _ => Fit::Never,
        }
    }

    /// The smallest type both fit, if they have anything in common.
    pub fn join(&self, other: &Type) -> Option<Type> {
        Some(match (self, other) {
            (Type::Never, t) | (t, Type::Never) => t.clone(),
            (Type::Int(a), Type::Int(b)) => Type::Int(a.join(*b)),
            (Type::Opt(a), b) | (b, Type::Opt(a)) => a.join(b.required())?.optional(),
            (Type::Tuple(a), Type::Tuple(b)) if a.len() == b.len() => {
                Type::Tuple(a.iter().zip(b).map(|(a, b)| a.join(b)).collect::<Option<_>>()?)
            }
            (Type::Array(a, m), Type::Array(b, n)) if m == n => {
                Type::Array(Box::new(a.join(b)?), *m)
            }
            (Type::Seq(a), Type::Seq(b)) => Type::Seq(Box::new(a.join(b)?)),
            (Type::Set(a), Type::Set(b)) => Type::Set(Box::new(a.join(b)?)),
            (Type::Set(a), m @ Type::Map(..)) | (m @ Type::Map(..), Type::Set(a))
                if **a == Type::Never =>
            {
                m.clone()
            }
            (a, b) if a == b => a.clone(),
            _ => return None,
        })
    }

    /// Whether the type contains one of the specification's collections or records.
    pub fn is_collection(&self) -> bool {
        match self {
            Type::Seq(_) | Type::Set(_) | Type::Map(..) | Type::Record(_) => true,
            Type::Opt(t) | Type::Array(t, _) => t.is_collection(),
            Type::Tuple(parts) => parts.iter().any(Type::is_collection),
            _ => false,
        }
    }

    /// Whether the type contains an array with one element for each thread.
    pub fn has_thread_array(&self) -> bool {
        match self {
            Type::Array(_, Length::Threads) => true,
            Type::Opt(t) | Type::Array(t, _) | Type::Seq(t) | Type::Set(t) => t.has_thread_array(),
            Type::Map(a, b) => a.has_thread_array() || b.has_thread_array(),
            Type::Record(record) => record.fields.iter().any(|(_, ty)| ty.has_thread_array()),
            Type::Tuple(parts) => parts.iter().any(Type::has_thread_array),
            _ => false,
        }
    }

    /// Whether the type contains thread numbers.
    pub fn has_tid(&self) -> bool {
        match self {
            Type::Tid => true,
            Type::Opt(t) | Type::Array(t, _) | Type::Seq(t) | Type::Set(t) => t.has_tid(),
            Type::Map(a, b) => a.has_tid() || b.has_tid(),
            Type::Record(record) => record.fields.iter().any(|(_, ty)| ty.has_tid()),
            Type::Tuple(parts) => parts.iter().any(Type::has_tid),
            _ => false,
        }
    }

    /// The number of scalar slots, for so many threads.
    pub fn width(&self, threads: u32) -> u32 {
        match self {
            Type::Unit => 0,
            Type::Tuple(parts) => parts.iter().map(|p| p.width(threads)).sum(),
            Type::Array(element, length) => element.width(threads) * length.count(threads),
            _ => 1,
        }
    }

    /// For each slot whether it lies in one memory word with the slot before it: the parts of a
    /// tuple do, the elements of an array do not.
    pub fn joined(&self, threads: u32) -> Vec<bool> {
        match self {
            Type::Tuple(_) => (0..self.width(threads)).map(|slot| slot > 0).collect(),
            Type::Array(element, length) => {
                let one = element.joined(threads);
                (0..length.count(threads)).flat_map(|_| one.iter().copied()).collect()
            }
            _ => vec![false; self.width(threads) as usize],
        }
    }

    /// The scalar slots, for so many threads; `variants` gives the size of each enum.
    pub fn slots(&self, threads: u32, variants: &dyn Fn(EnumId) -> u32) -> Vec<Kind> {
        let plain = |scalar| vec![Kind { scalar, nullable: false }];
        match self {
            Type::Bool => plain(Scalar::Bool),
            Type::Int(range) => plain(Scalar::Int(*range)),
            Type::Value => plain(Scalar::Value),
            Type::Key => plain(Scalar::Key),
            Type::Tid => plain(Scalar::Tid),
            Type::Lock => plain(Scalar::Lock),
            Type::Enum(id) => plain(Scalar::Enum(variants(*id))),
            Type::Ref(id) => plain(Scalar::Ref(*id)),
            Type::Opt(inner) => {
                let mut slots = inner.slots(threads, variants);
                if slots.is_empty() {
                    slots = plain(Scalar::Bool);
                }
                slots.iter_mut().for_each(|kind| kind.nullable = true);
                slots
            }
            Type::Tuple(parts) => parts.iter().flat_map(|p| p.slots(threads, variants)).collect(),
            Type::Array(element, length) => {
                let one = element.slots(threads, variants);
                (0..length.count(threads)).flat_map(|_| one.iter().copied()).collect()
            }
            Type::Unit
            | Type::Never
            | Type::Seq(_)
            | Type::Set(_)
            | Type::Map(..)
            | Type::Record(_) => vec![],
        }
    }
}

impl Length {
    /// The number of elements, for so many threads.
    pub fn count(self, threads: u32) -> u32 {
        match self {
            Length::Fixed(n) => n,
            Length::Threads => threads,
        }
    }
}

/// Prints a type with the names of its structs and enums.
pub struct Shown<'a> {
    /// The type.
    pub ty: &'a Type,
    /// The names of the structs.
    pub structs: &'a dyn Fn(StructId) -> String,
    /// The names of the enums.
    pub enums: &'a dyn Fn(EnumId) -> String,
}

impl Shown<'_> {
    fn with<'b>(&'b self, ty: &'b Type) -> Shown<'b> {
        Shown { ty, structs: self.structs, enums: self.enums }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ty {
            Type::Bool => write!(f, "bool"),
            Type::Int(range) if [Range::plain(), Range::wide()].contains(range) => {
                write!(f, "int")
            }
            Type::Int(Range { low, high, .. }) => write!(f, "int {low}..{high}"),
            Type::Value => write!(f, "value"),
            Type::Key => write!(f, "key"),
            Type::Tid => write!(f, "tid"),
            Type::Lock => write!(f, "lock"),
            Type::Enum(id) => write!(f, "{}", (self.enums)(*id)),
            Type::Ref(id) => write!(f, "{}", (self.structs)(*id)),
            Type::Opt(inner) if **inner == Type::Never => write!(f, "null"),
            Type::Opt(inner) => write!(f, "{}?", self.with(inner)),
            Type::Tuple(parts) => {
                let parts: Vec<_> = parts.iter().map(|p| self.with(p).to_string()).collect();
                write!(f, "({})", parts.join(", "))
            }
            Type::Array(element, Length::Fixed(n)) => write!(f, "[{}; {n}]", self.with(element)),
            Type::Array(element, Length::Threads) => write!(f, "[{}; tid]", self.with(element)),
            Type::Seq(element) => write!(f, "seq<{}>", self.with(element)),
            Type::Set(element) => write!(f, "set<{}>", self.with(element)),
            Type::Map(key, value) => write!(f, "map<{}, {}>", self.with(key), self.with(value)),
            Type::Record(record) => write!(f, "{}", record.name),
            Type::Unit => write!(f, "nothing"),
            Type::Never => write!(f, "_"),
        }
    }
}
