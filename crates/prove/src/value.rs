//! What a view knows about single words: abstract scalars, key classes, and the attributes of a
//! node.
//!
//! Data is abstracted without loss for the question asked. Keys are seen relative to one arbitrary
//! tracked key `x`; values as one of two colours, for every colouring; a lock as mine, someone
//! else's, or free. Whatever is not understood is not represented at all: the semantics stops
//! instead ([`crate::outcome::Obstacle`]).

/// Where a key lies, relative to the tracked key.
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
    /// All classes, in order.
    pub const ALL: [Class; 5] =
        [Class::MinusInf, Class::Below, Class::Tracked, Class::Above, Class::PlusInf];

    /// Whether two keys of this class can differ.
    pub fn is_many(self) -> bool {
        matches!(self, Class::Below | Class::Above)
    }
}

/// Who holds a lock among the shared variables.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Holder {
    /// Nobody.
    Free,
    /// The observed operation.
    Mine,
    /// Another operation (or an earlier one of the same thread).
    Other,
}

/// An abstract scalar.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Val {
    /// A register that nobody reads any more.
    Dead,
    /// `null`.
    Null,
    /// An explicit node of the view.
    Node(u8),
    /// A key.
    Key(Class),
    /// A data value, by its colour.
    Colour(u8),
    /// A boolean, a number, a variant.
    Int(i32),
    /// A lock.
    Lock(Holder),
    /// In a shared variable, never in a register: a boolean, a number or a variant, and the last
    /// step that changed the variable was one of the observed operation. Who changed it last is one
    /// operation, so that of all views of a state at most one says this: a boolean that is taken
    /// and given back is a lock, whoever wrote the code.
    Own(i32),
    /// A record of the view: a struct without links, whose fields do not change once it is public.
    Record(u8),
    /// A thread: 0 is the observed one, others are numbered in the order in which the view names
    /// them.
    Tid(u8),
    /// An element of a shared array: not represented.
    Hidden,
    /// A number that is not known, its base, plus a constant ([`crate::number`]).
    Num(u8, i16),
}

impl Val {
    /// The node it points to.
    pub fn node(self) -> Option<usize> {
        match self {
            Val::Node(n) => Some(n as usize),
            _ => None,
        }
    }

    /// As everybody sees it: without who changed it last.
    pub fn plain(self) -> Val {
        match self {
            Val::Own(number) => Val::Int(number),
            other => other,
        }
    }

    /// The record it points to.
    pub fn record(self) -> Option<usize> {
        match self {
            Val::Record(n) => Some(n as usize),
            _ => None,
        }
    }

    /// The unknown number on which it is based.
    pub fn base(self) -> Option<u8> {
        match self {
            Val::Num(base, _) => Some(base),
            _ => None,
        }
    }

    /// The thread that it names.
    pub fn tid(self) -> Option<u8> {
        match self {
            Val::Tid(n) => Some(n),
            _ => None,
        }
    }
}

/// The observed thread.
pub const ME: Val = Val::Tid(0);
/// Where single values are tracked and compared: the tracked value.
pub const TRACKED_VALUE: Val = Val::Colour(1);
/// Where single values are tracked and compared: some other value.
pub const OTHER_VALUE: Val = Val::Colour(0);

/// A set of possible data values: a bit for each colour and one for `null`.
pub type Values = u8;
/// The bit of `null` in [`Values`].
pub const NULL_VALUE: Values = 4;
/// Both colours.
pub const ANY_COLOUR: Values = 3;

/// The set that contains one value only.
pub fn only(value: Val) -> Option<Values> {
    match value {
        Val::Null => Some(NULL_VALUE),
        Val::Colour(c) => Some(1 << c),
        _ => None,
    }
}

/// What is known about a node apart from its value and its link: the class of its key, whether it
/// is marked, whether the observed operation is known to have set the mark, whether it is known to
/// hold the node's lock. The last two say nothing when they are absent.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Attr(pub u8);

const MARKED: u8 = 8;
const MARKED_BY_ME: u8 = 16;
const LOCKED_BY_ME: u8 = 32;

impl Attr {
    /// An unmarked, unlocked node with a key of this class.
    pub fn of(class: Class) -> Attr {
        Attr(class as u8)
    }

    /// The class of the key.
    pub fn class(self) -> Class {
        Class::ALL[(self.0 & 7) as usize]
    }

    /// Whether it is marked.
    pub fn marked(self) -> bool {
        self.0 & MARKED != 0
    }

    /// Whether the observed operation is known to have set the mark.
    pub fn marked_by_me(self) -> bool {
        self.0 & MARKED_BY_ME != 0
    }

    /// Whether the observed operation is known to hold the lock.
    pub fn locked_by_me(self) -> bool {
        self.0 & LOCKED_BY_ME != 0
    }

    /// With a key of another class.
    pub fn with_class(self, class: Class) -> Attr {
        Attr(self.0 & !7 | class as u8)
    }

    /// With the mark as given, set by somebody else or before.
    pub fn with_mark(self, marked: bool) -> Attr {
        match marked {
            true => Attr(self.0 | MARKED),
            false => Attr(self.0 & !(MARKED | MARKED_BY_ME)),
        }
    }

    /// With the mark set by the observed operation.
    pub fn with_my_mark(self) -> Attr {
        Attr(self.0 | MARKED | MARKED_BY_ME)
    }

    /// With the lock held, or not known to be held, by the observed operation.
    pub fn with_my_lock(self, held: bool) -> Attr {
        match held {
            true => Attr(self.0 | LOCKED_BY_ME),
            false => Attr(self.0 & !LOCKED_BY_ME),
        }
    }

    /// Without what only the observed operation knows: what every thread may rely on.
    pub fn common(self) -> Attr {
        Attr(self.0 & !(MARKED_BY_ME | LOCKED_BY_ME))
    }

    /// As a bit in a set of attributes.
    pub fn bit(self) -> u64 {
        1 << self.0
    }

    /// Whether one node can look like this to one operation and like `other` to another operation
    /// at the same moment.
    pub fn agrees(self, other: Attr) -> bool {
        self.common() == other.common()
            && !(self.marked_by_me() && other.marked_by_me())
            && !(self.locked_by_me() && other.locked_by_me())
    }
}

/// The attributes of all nodes with the tracked key.
pub const TRACKED: u64 = 0x0404_0404_0404_0404;

/// The attributes in a set.
pub fn attrs(set: u64) -> impl Iterator<Item = Attr> {
    let mut rest = set;
    std::iter::from_fn(move || {
        let lowest = (rest != 0).then(|| rest.trailing_zeros() as u8)?;
        rest &= rest - 1;
        Some(Attr(lowest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_operation_knows_of_itself_excludes_the_same_of_another() {
        for a in attrs(u64::MAX).filter(|a| a.0 & 7 < 5) {
            for b in attrs(u64::MAX).filter(|b| b.0 & 7 < 5) {
                assert_eq!(a.agrees(b), b.agrees(a));
                assert!(!a.agrees(b) || a.common() == b.common());
                assert!(a.common() != b.common() || a.common().agrees(b));
            }
        }
    }
}
