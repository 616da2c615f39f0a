//! The data of specifications: like the scalars of algorithms, but tagged with their sort, and with
//! collections.

use crate::front::types::{Kind, Length, Scalar, Type};
use crate::steps::{MINUS_INF, NULL, PLUS_INF};
use seriatim_persistent::Map;
use std::fmt;
use std::ops::Bound;
use std::sync::{Arc, LazyLock};

/// A datum. Copies share what they consist of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Datum {
    /// `null`, `empty`.
    #[default]
    Null,
    /// A boolean.
    Bool(bool),
    /// A number.
    Int(i64),
    /// Opaque data.
    Value(i32),
    /// Ordered data.
    Key(i32),
    /// A variant of an enum.
    Variant(u32),
    /// A thread.
    Tid(u32),
    /// A tuple or a record; the empty one is the result of a method without result.
    Tuple(Arc<[Datum]>),
    /// A sequence or an array.
    List(Arc<[Datum]>),
    /// A set: sorted, without repetition.
    Set(Arc<[Datum]>),
    /// A map. Copies share what they have in common: states differ in an entry or two.
    Map(Map<Datum, Datum>),
}

/// No parts.
static NOTHING: LazyLock<Arc<[Datum]>> = LazyLock::new(|| Arc::from([]));

impl Datum {
    /// The result of a method without result.
    pub fn unit() -> Datum {
        Datum::Tuple(NOTHING.clone())
    }

    /// The number that it is, as one of an algorithm.
    pub fn small(&self) -> Option<i32> {
        match self {
            Datum::Int(number) => i32::try_from(*number).ok(),
            _ => None,
        }
    }

    /// Whether every number in it lies in the range that the program states for it.
    pub fn is_within(&self, ty: &Type) -> bool {
        !is_bounded(ty) || self.is_within_bounds(ty)
    }

    fn is_within_bounds(&self, ty: &Type) -> bool {
        match (self, ty) {
            (Datum::Int(n), Type::Int(range)) => {
                range.is_default() || i32::try_from(*n).is_ok_and(|n| range.contains(n))
            }
            (datum, Type::Opt(inner)) => datum.is_within(inner),
            (Datum::Tuple(parts), Type::Tuple(types)) => {
                parts.iter().zip(types).all(|(part, ty)| part.is_within(ty))
            }
            (Datum::Tuple(parts), Type::Record(record)) => {
                parts.iter().zip(&record.fields).all(|(part, (_, ty))| part.is_within(ty))
            }
            (Datum::List(parts), Type::Seq(of) | Type::Array(of, _))
            | (Datum::Set(parts), Type::Set(of)) => parts.iter().all(|part| part.is_within(of)),
            (Datum::Map(entries), Type::Map(key, value)) => {
                entries.iter().all(|(k, v)| k.is_within(key) && v.is_within(value))
            }
            _ => true,
        }
    }

    /// The datum that a scalar of an algorithm stands for.
    pub fn from_scalar(kind: Kind, word: i32) -> Datum {
        if word == NULL {
            return Datum::Null;
        }
        match kind.scalar {
            Scalar::Bool | Scalar::Lock => Datum::Bool(word != 0),
            Scalar::Int(..) | Scalar::Ref(_) => Datum::Int(word.into()),
            Scalar::Value => Datum::Value(word),
            Scalar::Key => Datum::Key(word),
            Scalar::Tid => Datum::Tid(word as u32),
            Scalar::Enum(_) => Datum::Variant(word as u32),
        }
    }

    /// The datum of this type that consecutive scalars stand for.
    pub fn from_scalars(ty: &Type, kinds: &[Kind], words: &[i32]) -> Datum {
        let chunks = |count: usize| {
            let width = (words.len() / count.max(1)).max(1);
            words.chunks(width).zip(kinds.chunks(width))
        };
        match ty {
            Type::Tuple(parts) => {
                let mut at = 0;
                let mut data = Vec::new();
                for part in parts {
                    let end = at + part.width(1) as usize;
                    data.push(Datum::from_scalars(part, &kinds[at..end], &words[at..end]));
                    at = end;
                }
                Datum::Tuple(data.into())
            }
            Type::Array(element, Length::Fixed(n)) => {
                let one = |(w, k): (&[i32], &[Kind])| Datum::from_scalars(element, k, w);
                Datum::List(chunks(*n as usize).map(one).collect())
            }
            Type::Unit => Datum::unit(),
            _ => match (kinds.first(), words.first()) {
                (Some(kind), Some(word)) => Datum::from_scalar(*kind, *word),
                _ => Datum::unit(),
            },
        }
    }

    /// The scalars of an algorithm that stand for this datum, whose numbers have 32 bits.
    pub fn scalars(&self, into: &mut Vec<i32>) {
        match self {
            Datum::Null => into.push(NULL),
            Datum::Bool(b) => into.push(i32::from(*b)),
            Datum::Int(n) => into.push(*n as i32),
            Datum::Value(n) | Datum::Key(n) => into.push(*n),
            Datum::Variant(n) | Datum::Tid(n) => into.push(*n as i32),
            Datum::Tuple(parts) | Datum::List(parts) | Datum::Set(parts) => {
                parts.iter().for_each(|p| p.scalars(into));
            }
            Datum::Map(entries) => entries.values().for_each(|v| v.scalars(into)),
        }
    }

    /// The datum with every opaque value and thread renamed.
    pub fn renamed(&self, values: &[u32], threads: &[u32]) -> Datum {
        let all = |data: &[Datum]| -> Arc<[Datum]> {
            data.iter().map(|d| d.renamed(values, threads)).collect()
        };
        match self {
            Datum::Value(v) => Datum::Value(values[*v as usize] as i32),
            Datum::Tid(t) => Datum::Tid(threads[*t as usize]),
            Datum::Tuple(parts) => Datum::Tuple(all(parts)),
            Datum::List(parts) => Datum::List(all(parts)),
            Datum::Set(parts) => {
                let mut parts = all(parts).to_vec();
                parts.sort();
                Datum::Set(parts.into())
            }
            Datum::Map(entries) => {
                let rename = |(k, v): (&Datum, &Datum)| {
                    (k.renamed(values, threads), v.renamed(values, threads))
                };
                Datum::Map(entries.iter().map(rename).collect())
            }
            other => other.clone(),
        }
    }

    /// An empty set stands for an empty map where a map is wanted.
    pub(super) fn into_map(self) -> Datum {
        match &self {
            Datum::Set(parts) if parts.is_empty() => Datum::Map(Map::new()),
            _ => self,
        }
    }

    /// The elements of a list or a set, the parts of a tuple.
    pub(super) fn elements(&self) -> &[Datum] {
        match self {
            Datum::Tuple(parts) | Datum::List(parts) | Datum::Set(parts) => parts,
            _ => &[],
        }
    }

    pub(super) fn into_parts(self) -> Vec<Datum> {
        match self {
            Datum::Tuple(parts) | Datum::List(parts) | Datum::Set(parts) => parts.to_vec(),
            Datum::Map(entries) => entries.keys().cloned().collect(),
            other => vec![other],
        }
    }

    pub(super) fn number(&self) -> i64 {
        match self {
            Datum::Int(n) => *n,
            Datum::Value(n) | Datum::Key(n) => i64::from(*n),
            Datum::Bool(b) => i64::from(*b),
            Datum::Variant(n) | Datum::Tid(n) => i64::from(*n),
            _ => i64::from(NULL),
        }
    }

    /// Tells every number in it.
    pub fn numbers(&self, tell: &mut dyn FnMut(i64)) {
        match self {
            Datum::Int(number) => tell(*number),
            Datum::Tuple(parts) | Datum::List(parts) | Datum::Set(parts) => {
                parts.iter().for_each(|part| part.numbers(tell));
            }
            Datum::Map(entries) => {
                for (key, value) in entries {
                    key.numbers(tell);
                    value.numbers(tell);
                }
            }
            _ => {}
        }
    }

    /// The set of some data.
    pub fn set(mut parts: Vec<Datum>) -> Datum {
        parts.sort();
        parts.dedup();
        Datum::Set(parts.into())
    }

    /// The map with some entries; what is empty is no entry.
    pub fn map(entries: Vec<(Datum, Datum)>) -> Datum {
        let entries = entries.into_iter().filter(|(_, value)| *value != Datum::Null);
        Datum::Map(entries.collect())
    }

    /// The entries of a map from one key on and before another.
    pub(super) fn between(&self, low: Option<&Datum>, high: Option<&Datum>) -> Datum {
        let Datum::Map(entries) = self else { return Datum::Map(Map::new()) };
        let low = low.map_or(Bound::Unbounded, Bound::Included);
        let high = high.map_or(Bound::Unbounded, Bound::Excluded);
        Datum::Map(entries.range(low, high).map(|(k, v)| (k.clone(), v.clone())).collect())
    }

    pub(super) fn with_entry(self, key: Datum, value: Datum) -> Datum {
        let mut entries = match self {
            Datum::Map(entries) => entries,
            _ => Map::new(),
        };
        match value {
            Datum::Null => entries.remove(&key),
            value => entries.insert(key, value),
        }
        Datum::Map(entries)
    }
}

/// Whether a type states bounds for some number.
pub(super) fn is_bounded(ty: &Type) -> bool {
    match ty {
        Type::Int(range) => !range.is_default(),
        Type::Opt(of) | Type::Seq(of) | Type::Set(of) | Type::Array(of, _) => is_bounded(of),
        Type::Tuple(parts) => parts.iter().any(is_bounded),
        Type::Map(key, value) => is_bounded(key) || is_bounded(value),
        Type::Record(record) => record.fields.iter().any(|(_, ty)| is_bounded(ty)),
        _ => false,
    }
}

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list =
            |parts: &[Datum]| parts.iter().map(Datum::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Datum::Null => write!(f, "empty"),
            Datum::Bool(b) => write!(f, "{b}"),
            Datum::Key(MINUS_INF) => write!(f, "-inf"),
            Datum::Key(PLUS_INF) => write!(f, "+inf"),
            Datum::Int(n) => write!(f, "{n}"),
            Datum::Value(n) | Datum::Key(n) => write!(f, "{n}"),
            Datum::Variant(n) => write!(f, "#{n}"),
            Datum::Tid(n) => write!(f, "t{n}"),
            Datum::Tuple(parts) => write!(f, "({})", list(parts)),
            Datum::List(parts) => write!(f, "[{}]", list(parts)),
            Datum::Set(parts) => write!(f, "{{{}}}", list(parts)),
            Datum::Map(entries) => {
                let entries: Vec<_> = entries.iter().map(|(k, v)| format!("{k}: {v}")).collect();
                write!(f, "{{{}}}", entries.join(", "))
            }
        }
    }
}
