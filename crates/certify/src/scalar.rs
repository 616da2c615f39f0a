//! Single scalars as a certificate speaks of them: key classes, attributes of nodes and sets of
//! these, data values, locks.

/// Where a key lies, relative to one arbitrary key that is tracked.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Class {
    /// The sentinel below all keys.
    MinusInf,
    /// Some key below the tracked one.
    Below,
    /// The tracked key.
    Tracked,
    /// Some key above the tracked one.
    Above,
    /// The sentinel above all keys.
    PlusInf,
}

impl Class {
    /// All classes in ascending order.
    pub const ALL: [Class; 5] =
        [Class::MinusInf, Class::Below, Class::Tracked, Class::Above, Class::PlusInf];

    /// Whether two keys of the class may differ.
    pub fn is_many(self) -> bool {
        matches!(self, Class::Below | Class::Above)
    }
}

/// Whether a node is marked, and whether the observed operation is known to have marked it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Mark {
    /// Not marked.
    No,
    /// Marked, by whomever.
    Yes,
    /// Marked by the observed operation.
    ByMe,
}

impl Mark {
    /// Whether the node is marked.
    pub fn is_set(self) -> bool {
        self != Mark::No
    }

    /// What is left when nothing is known about who set it.
    pub fn by_anybody(self) -> Mark {
        if self.is_set() { Mark::Yes } else { Mark::No }
    }
}

/// What is known about a node apart from its value and its link.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Attribute {
    /// The class of its key.
    pub class: Class,
    /// Its mark.
    pub mark: Mark,
    /// Whether the observed operation is known to hold its lock.
    pub locked: bool,
}

impl Attribute {
    /// The place of the attribute in a set.
    fn index(self) -> u32 {
        self.class as u32 + 5 * self.mark as u32 + 15 * u32::from(self.locked)
    }

    /// Whether this says no more than `other` says: every node that looks like `other` also looks
    /// like this.
    pub fn is_weaker(self, other: Attribute) -> bool {
        self.class == other.class
            && self.mark.is_set() == other.mark.is_set()
            && (self.mark != Mark::ByMe || other.mark == Mark::ByMe)
            && (!self.locked || other.locked)
    }

    /// Whether one node can look like this to one operation and like `other` to another one at the
    /// same moment.
    pub fn agrees(self, other: Attribute) -> bool {
        self.class == other.class
            && self.mark.is_set() == other.mark.is_set()
            && !(self.mark == Mark::ByMe && other.mark == Mark::ByMe)
            && !(self.locked && other.locked)
    }

    /// What is left of it for an operation that neither marked nor locked the node.
    pub fn of_another(self) -> Attribute {
        Attribute { mark: self.mark.by_anybody(), locked: false, ..self }
    }
}

/// A set of attributes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Attributes(u32);

impl Attributes {
    /// With one more.
    pub fn with(self, attribute: Attribute) -> Attributes {
        Attributes(self.0 | 1 << attribute.index())
    }

    /// Those of the set that fulfil a condition.
    pub fn filter(self, keep: impl Fn(Attribute) -> bool) -> Attributes {
        self.iter().filter(|a| keep(*a)).collect()
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The union.
    pub fn and(self, other: Attributes) -> Attributes {
        Attributes(self.0 | other.0)
    }

    /// The lowest and the highest class of key that occurs.
    pub fn classes(self) -> Option<(Class, Class)> {
        let bits = (0..6).fold(0, |bits, part| bits | self.0 >> (5 * part) & 0b11111);
        let highest = bits.checked_ilog2()?;
        Some((Class::ALL[bits.trailing_zeros() as usize], Class::ALL[highest as usize]))
    }

    /// The attributes of the set.
    pub fn iter(self) -> impl Iterator<Item = Attribute> {
        let mut rest = self.0;
        let all = std::iter::from_fn(move || {
            let lowest = (rest != 0).then(|| rest.trailing_zeros())?;
            rest &= rest - 1;
            Some(lowest)
        });
        all.map(|i| Attribute {
            class: Class::ALL[(i % 5) as usize],
            mark: [Mark::No, Mark::Yes, Mark::ByMe][(i / 5 % 3) as usize],
            locked: i >= 15,
        })
    }

    /// Whether of each attribute of another set, some attribute of this one says no more
    /// ([`Attribute::is_weaker`]): a set that has a node without my lock has the same with it, and
    /// one with somebody's mark has the same with mine.
    pub fn covers(self, other: Attributes) -> bool {
        const SOMEBODYS: u32 = 0b11111 << 5;
        let any_lock = self.0 | self.0 << 15;
        let any_mark = any_lock | (any_lock & (SOMEBODYS | SOMEBODYS << 15)) << 5;
        other.0 & !any_mark == 0
    }
}

impl FromIterator<Attribute> for Attributes {
    fn from_iter<I: IntoIterator<Item = Attribute>>(all: I) -> Attributes {
        all.into_iter().fold(Attributes::default(), Attributes::with)
    }
}

/// A set of data values: a bit for each of the two colours, and one for null.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Values(pub u8);

impl Values {
    /// Only null.
    pub const NULL: Values = Values(4);

    /// The values of the set.
    pub fn iter(self) -> impl Iterator<Item = Scalar> {
        [Scalar::Value(0), Scalar::Value(1), Scalar::Null]
            .into_iter()
            .enumerate()
            .filter(move |(i, _)| self.0 >> i & 1 == 1)
            .map(|(_, scalar)| scalar)
    }

    /// The set of a single value; none if the scalar is no value.
    pub fn only(scalar: Scalar) -> Option<Values> {
        match scalar {
            Scalar::Value(colour) => Some(Values(1 << colour)),
            Scalar::Null => Some(Values::NULL),
            _ => None,
        }
    }

    /// Whether all values of `other` are in this set.
    pub fn covers(self, other: Values) -> bool {
        other.0 & !self.0 == 0
    }
}

/// Who holds a lock among the shared variables.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Holder {
    /// Nobody.
    Free,
    /// The observed operation.
    Mine,
    /// Somebody else.
    Other,
}

/// Numbers the nodes of a heap graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// Numbers the records of a state.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct RecordId(pub u32);

/// The content of a register or of a shared variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Scalar {
    /// Nothing is known.
    Unknown,
    /// `null` or `empty`.
    Null,
    /// A node of the heap graph.
    Node(NodeId),
    /// A node that is not in the heap graph.
    Outside,
    /// A key.
    Key(Class),
    /// A value, by its colour; in a cell, 1 is the tracked value, and all others look alike.
    Value(u8),
    /// A record of the state.
    Record(RecordId),
    /// A thread: 0 is the observed one, different numbers are different threads.
    Thread(u32),
    /// A boolean, a number, a variant.
    Int(i32),
    /// In a shared variable, never in a register: a boolean, a number or a variant, and the last
    /// step that changed the variable was one of the observed operation.
    Own(i32),
    /// A lock.
    Lock(Holder),
    /// A whole number that is not known, its base, plus a constant.
    Number(u32, i32),
}

impl Scalar {
    /// As everybody sees it: without who changed it last.
    pub fn plain(self) -> Scalar {
        match self {
            Scalar::Own(number) => Scalar::Int(number),
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_attributes_gives_back_what_was_put_in() {
        let all: Vec<Attribute> = Attributes(u32::MAX >> 2).iter().collect();
        assert_eq!(all.len(), 30);
        for a in &all {
            assert_eq!(Attributes::default().with(*a).iter().collect::<Vec<_>>(), [*a]);
            assert!(a.of_another().is_weaker(*a));
            for b in &all {
                assert_eq!(a.agrees(*b), b.agrees(*a));
                let [one, other] = [a, b].map(|x| Attributes::default().with(*x));
                assert_eq!(one.covers(other), a.is_weaker(*b), "{a:?} {b:?}");
                let (low, high) = (a.class.min(b.class), a.class.max(b.class));
                assert_eq!(one.and(other).classes(), Some((low, high)));
            }
        }
    }
}
