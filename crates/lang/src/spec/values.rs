//! The data of specifications: like the scalars of algorithms, but tagged with their sort, and with
//! collections.

use crate::front::types::{Kind, Length, Scalar, Type};
use crate::steps::{MINUS_INF, NULL, PLUS_INF};
use seriatim_persistent::{Map, Sequence};
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
    /// A sequence or an array of at most `LONG` elements.
    List(Arc<[Datum]>),
    /// One of more, whose copies share what they have in common.
    LongList(Arc<Sequence<Datum>>),
    /// A set of at most `LONG` elements: sorted, without repetition.
    Set(Arc<[Datum]>),
    /// One of more, whose copies share what they have in common.
    LongSet(Map<Datum, ()>),
    /// A map. Copies share what they have in common: states differ in an entry or two.
    Map(Map<Datum, Datum>),
}

/// A short list or set is copied with every change: nothing is faster. Which form one has follows
/// from its length, so that equal ones have the same.
const LONG: usize = 128;

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
            (_, Type::Seq(of) | Type::Array(of, _) | Type::Set(of)) => {
                self.elements().all(|part| part.is_within(of))
            }
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
            Datum::Map(entries) => entries.values().for_each(|v| v.scalars(into)),
            _ => self.elements().for_each(|part| part.scalars(into)),
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
            Datum::LongList(_) => {
                Datum::list(self.elements().map(|d| d.renamed(values, threads)).collect())
            }
            Datum::Set(_) | Datum::LongSet(_) => {
                Datum::set(self.elements().map(|d| d.renamed(values, threads)).collect())
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
    pub fn elements(&self) -> impl Iterator<Item = &Datum> {
        let (few, list, set) = match self {
            Datum::Tuple(parts) | Datum::List(parts) | Datum::Set(parts) => (&**parts, None, None),
            Datum::LongList(list) => (&[][..], Some(list.iter()), None),
            Datum::LongSet(set) => (&[][..], None, Some(set.keys())),
            _ => (&[][..], None, None),
        };
        few.iter().chain(list.into_iter().flatten()).chain(set.into_iter().flatten())
    }

    /// How many elements or parts there are.
    pub fn count(&self) -> usize {
        match self {
            Datum::Tuple(parts) | Datum::List(parts) | Datum::Set(parts) => parts.len(),
            Datum::LongList(list) => list.len(),
            Datum::LongSet(set) => set.len(),
            _ => 0,
        }
    }

    /// The element or the part in a place.
    pub(super) fn element(&self, place: usize) -> Option<&Datum> {
        match self {
            Datum::Tuple(parts) | Datum::List(parts) | Datum::Set(parts) => parts.get(place),
            Datum::LongList(list) => list.get(place),
            _ => self.elements().nth(place),
        }
    }

    /// Whether it is an element.
    pub(super) fn has(&self, element: &Datum) -> bool {
        match self {
            Datum::Map(entries) => entries.get(element).is_some(),
            Datum::Set(parts) => parts.binary_search(element).is_ok(),
            Datum::LongSet(set) => set.get(element).is_some(),
            _ => self.elements().any(|known| known == element),
        }
    }

    pub(super) fn into_parts(self) -> Vec<Datum> {
        match &self {
            Datum::Tuple(parts) | Datum::List(parts) | Datum::Set(parts) => parts.to_vec(),
            Datum::LongList(_) | Datum::LongSet(_) => self.elements().cloned().collect(),
            Datum::Map(entries) => entries.keys().cloned().collect(),
            _ => vec![self],
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
            Datum::Map(entries) => {
                for (key, value) in entries {
                    key.numbers(tell);
                    value.numbers(tell);
                }
            }
            _ => self.elements().for_each(|part| part.numbers(tell)),
        }
    }

    /// The list of some data.
    pub fn list(parts: Vec<Datum>) -> Datum {
        match parts.len() {
            0..=LONG => Datum::List(parts.into()),
            _ => Datum::LongList(Arc::new(parts.into_iter().collect())),
        }
    }

    /// A list from its long form.
    fn of_sequence(list: Sequence<Datum>) -> Datum {
        match list.len() {
            0..=LONG => Datum::List(list.iter().cloned().collect()),
            _ => Datum::LongList(Arc::new(list)),
        }
    }

    /// The elements of two lists, one after the other. The shorter one is added to the longer one.
    pub(super) fn concat(&self, other: &Datum) -> Datum {
        match (self, other) {
            (Datum::LongList(list), _) if other.count() <= list.len() => {
                let list = Sequence::clone(list);
                let longer = other.elements().cloned().fold(list, |list, new| list.with_back(new));
                Datum::of_sequence(longer)
            }
            (_, Datum::LongList(list)) => {
                let front: Vec<Datum> = self.elements().cloned().collect();
                let list = Sequence::clone(list);
                let longer = front.into_iter().rev().fold(list, |list, new| list.with_front(new));
                Datum::of_sequence(longer)
            }
            _ => Datum::list(self.elements().chain(other.elements()).cloned().collect()),
        }
    }

    /// The elements in some places, if there are such places.
    pub(super) fn slice(&self, low: usize, high: usize) -> Option<Datum> {
        match self {
            _ if low > high || high > self.count() => None,
            Datum::LongList(list) => Some(Datum::of_sequence(list.slice(low..high))),
            _ => Some(Datum::list(self.elements().skip(low).take(high - low).cloned().collect())),
        }
    }

    /// A list with another element in a place, if there is such a place.
    pub(super) fn with_element(self, place: usize, value: Datum) -> Option<Datum> {
        if let Datum::LongList(list) = &self {
            return (place < list.len()).then(|| Datum::of_sequence(list.with(place, value)));
        }
        let mut parts = self.into_parts();
        *parts.get_mut(place)? = value;
        Some(Datum::list(parts))
    }

    /// A list without the first element that is this one, a set without it, a map without this
    /// key.
    pub(super) fn without(self, element: &Datum) -> Datum {
        match &self {
            Datum::Set(_) | Datum::LongSet(_) => {
                return self.difference(&Datum::Set([element.clone()].into()));
            }
            Datum::Map(_) => return self.with_entry(element.clone(), Datum::Null),
            _ => {}
        }
        let place = self.elements().position(|known| known == element);
        let Some(place) = place else { return self };
        let (before, behind) = (self.slice(0, place), self.slice(place + 1, self.count()));
        before.zip(behind).map_or(self, |(before, behind)| before.concat(&behind))
    }

    /// The element of a collection, or the key of a map, with the least number.
    pub(super) fn least(&self) -> Option<Datum> {
        match self.ordered_ends() {
            Some((first, _)) => Some(first.clone()),
            None => self.members().min_by_key(|one| one.number()).cloned(),
        }
    }

    /// The element of a collection, or the key of a map, with the greatest number.
    pub(super) fn greatest(&self) -> Option<Datum> {
        match self.ordered_ends() {
            Some((_, last)) => Some(last.clone()),
            None => self.members().max_by_key(|one| one.number()).cloned(),
        }
    }

    fn members(&self) -> impl Iterator<Item = &Datum> {
        let keys = match self {
            Datum::Map(entries) => Some(entries.keys()),
            _ => None,
        };
        self.elements().chain(keys.into_iter().flatten())
    }

    /// The first and the last element of a long set whose elements are all in the order of their
    /// numbers: those between two of one such sort are of that sort.
    fn ordered_ends(&self) -> Option<(&Datum, &Datum)> {
        let Datum::LongSet(set) = self else { return None };
        let ends = (set.first()?.0, set.last()?.0);
        let is_ordered = matches!(
            ends,
            (Datum::Int(_), Datum::Int(_))
                | (Datum::Value(_), Datum::Value(_))
                | (Datum::Key(_), Datum::Key(_))
        );
        is_ordered.then_some(ends)
    }

    /// The set of some data.
    pub fn set(mut parts: Vec<Datum>) -> Datum {
        parts.sort();
        parts.dedup();
        match parts.len() {
            0..=LONG => Datum::Set(parts.into()),
            _ => Datum::LongSet(parts.into_iter().map(|part| (part, ())).collect()),
        }
    }

    /// A set from its long form.
    fn of_elements(set: Map<Datum, ()>) -> Datum {
        match set.len() {
            0..=LONG => Datum::Set(set.keys().cloned().collect()),
            _ => Datum::LongSet(set),
        }
    }

    /// The elements of two sets.
    pub(super) fn union(&self, other: &Datum) -> Datum {
        let (large, small) = match self.count() < other.count() {
            true => (other, self),
            false => (self, other),
        };
        match large {
            Datum::LongSet(set) => {
                let mut set = set.clone();
                small.elements().for_each(|element| set.insert(element.clone(), ()));
                Datum::LongSet(set)
            }
            _ => Datum::set(self.elements().chain(other.elements()).cloned().collect()),
        }
    }

    /// The elements of a set that are not in another one.
    pub(super) fn difference(&self, other: &Datum) -> Datum {
        match self {
            Datum::LongSet(set) if other.count() < set.len() => {
                let mut set = set.clone();
                other.elements().for_each(|element| set.remove(element));
                Datum::of_elements(set)
            }
            _ => Datum::set(self.elements().filter(|one| !other.has(one)).cloned().collect()),
        }
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
        let list = || self.elements().map(Datum::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Datum::Null => write!(f, "empty"),
            Datum::Bool(b) => write!(f, "{b}"),
            Datum::Key(MINUS_INF) => write!(f, "-inf"),
            Datum::Key(PLUS_INF) => write!(f, "+inf"),
            Datum::Int(n) => write!(f, "{n}"),
            Datum::Value(n) | Datum::Key(n) => write!(f, "{n}"),
            Datum::Variant(n) => write!(f, "#{n}"),
            Datum::Tid(n) => write!(f, "t{n}"),
            Datum::Tuple(_) => write!(f, "({})", list()),
            Datum::List(_) | Datum::LongList(_) => write!(f, "[{}]", list()),
            Datum::Set(_) | Datum::LongSet(_) => write!(f, "{{{}}}", list()),
            Datum::Map(entries) => {
                let entries: Vec<_> = entries.iter().map(|(k, v)| format!("{k}: {v}")).collect();
                write!(f, "{{{}}}", entries.join(", "))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    fn hashed(datum: &Datum) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(datum)
    }

    fn is_same(one: &Datum, other: &Datum) -> bool {
        one == other && hashed(one) == hashed(other) && one.cmp(other).is_eq()
    }

    fn drawn(random: &mut u64, below: usize) -> usize {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (*random >> 33) as usize % below
    }

    fn data(numbers: &[i64]) -> Vec<Datum> {
        numbers.iter().copied().map(Datum::Int).collect()
    }

    #[test]
    fn long_lists_are_what_short_ones_are() {
        let mut random = 1;
        let (mut list, mut plain) = (Datum::list(Vec::new()), Vec::new());
        for round in 0..6000 {
            let few: Vec<i64> =
                (0..drawn(&mut random, 4)).map(|i| (i as i64 + round) % 5).collect();
            let place = drawn(&mut random, plain.len().max(1));
            // It grows for some time, and shrinks.
            match (drawn(&mut random, 6), round / 500 % 2) {
                (0 | 1, 0) => {
                    list = list.concat(&Datum::list(data(&few)));
                    plain = [plain, few].concat();
                }
                (2, 0) => {
                    list = Datum::list(data(&few)).concat(&list);
                    plain = [few, plain].concat();
                }
                (0..3, _) if !plain.is_empty() => {
                    let low = drawn(&mut random, 4).min(plain.len());
                    let high = plain.len() - drawn(&mut random, 3).min(plain.len() - low);
                    list = list.slice(low, high).expect("places that there are");
                    plain = plain[low..high].to_vec();
                }
                (3, _) if place < plain.len() => {
                    list = list.with_element(place, Datum::Int(7)).expect("a place that there is");
                    plain[place] = 7;
                }
                (4, _) => {
                    list = list.without(&Datum::Int(3));
                    plain.iter().position(|&one| one == 3).map(|first| plain.remove(first));
                }
                _ => assert_eq!(list.slice(plain.len(), plain.len() + 1), None),
            }
            let fresh = Datum::list(data(&plain));
            assert!(is_same(&list, &fresh) && list.to_string() == fresh.to_string());
            assert!(list.elements().eq(&data(&plain)) && list.count() == plain.len());
            assert_eq!(list.element(place), data(&plain).get(place));
            assert_eq!(list.has(&Datum::Int(7)), plain.contains(&7));
        }
    }

    #[test]
    fn long_sets_are_what_short_ones_are() {
        let mut random = 1;
        let (mut set, mut plain) = (Datum::set(Vec::new()), BTreeSet::new());
        for round in 0..6000 {
            let few: BTreeSet<i64> = (0..4).map(|_| drawn(&mut random, 400) as i64 - 200).collect();
            let other = Datum::set(data(&few.iter().copied().collect::<Vec<_>>()));
            match (drawn(&mut random, 4), round / 500 % 2) {
                (0, _) => {
                    set = set.without(&Datum::Int(*few.first().expect("one")));
                    plain.remove(few.first().expect("one"));
                }
                (_, 0) => {
                    set = if round % 2 == 0 { set.union(&other) } else { other.union(&set) };
                    plain.extend(&few);
                }
                _ => {
                    set = set.difference(&other);
                    plain.retain(|one| !few.contains(one));
                }
            }
            let fresh = Datum::set(data(&plain.iter().copied().collect::<Vec<_>>()));
            assert!(is_same(&set, &fresh) && set.to_string() == fresh.to_string());
            assert_eq!(set.least(), plain.first().copied().map(Datum::Int));
            assert_eq!(set.greatest(), plain.last().copied().map(Datum::Int));
            assert!(few.iter().all(|one| set.has(&Datum::Int(*one)) == plain.contains(one)));
        }
    }

    #[test]
    fn a_key_is_removed_from_a_map() {
        let entry = |key: i64| (Datum::Int(key), Datum::Bool(true));
        let map = Datum::map(vec![entry(1), entry(2)]);
        assert_eq!(map.without(&Datum::Int(1)), Datum::map(vec![entry(2)]));
    }
}
