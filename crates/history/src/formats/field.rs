//! The fields of our JSON Lines, and which of them each kind of line has.

/// A field's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(super) enum Field {
    Process,
    Op,
    Arg,
    Result,
    Key,
    Object,
    Id,
    Call,
    Return,
    Failed,
    Type,
    Time,
    Note,
    Seriatim,
    Spec,
    Nil,
    Echo,
    Unit,
    Since,
    Missing,
    Annotation,
    Group,
    Start,
    End,
    Colour,
}

const ALL: [(Field, &str); 25] = [
    (Field::Process, "process"),
    (Field::Op, "op"),
    (Field::Arg, "arg"),
    (Field::Result, "result"),
    (Field::Key, "key"),
    (Field::Object, "object"),
    (Field::Id, "id"),
    (Field::Call, "call"),
    (Field::Return, "return"),
    (Field::Failed, "failed"),
    (Field::Type, "type"),
    (Field::Time, "time"),
    (Field::Note, "note"),
    (Field::Seriatim, "seriatim"),
    (Field::Spec, "spec"),
    (Field::Nil, "nil"),
    (Field::Echo, "echo"),
    (Field::Unit, "unit"),
    (Field::Since, "since"),
    (Field::Missing, "missing"),
    (Field::Annotation, "annotation"),
    (Field::Group, "group"),
    (Field::Start, "start"),
    (Field::End, "end"),
    (Field::Colour, "colour"),
];

/// What other tools call our fields.
const SYNONYMS: [(&str, Field); 16] = [
    ("f", Field::Op),
    ("method", Field::Op),
    ("operation", Field::Op),
    ("name", Field::Op),
    ("value", Field::Arg),
    ("input", Field::Arg),
    ("args", Field::Arg),
    ("output", Field::Result),
    ("ret", Field::Return),
    ("invoke", Field::Call),
    ("client", Field::Process),
    ("clientid", Field::Process),
    ("thread", Field::Process),
    ("kind", Field::Type),
    ("index", Field::Id),
    ("color", Field::Colour),
];

impl Field {
    /// The field of a name.
    #[inline]
    pub fn named(name: &str) -> Option<Field> {
        Some(match name {
            "process" => Field::Process,
            "op" => Field::Op,
            "arg" => Field::Arg,
            "result" => Field::Result,
            "call" => Field::Call,
            "return" => Field::Return,
            _ => ALL.iter().find(|(_, known)| *known == name)?.0,
        })
    }

    /// The field that a wrong name may mean.
    pub fn meant(name: &str) -> Option<Field> {
        let name = name.to_lowercase();
        let synonym = SYNONYMS.iter().find(|(known, _)| *known == name);
        synonym.map(|&(_, field)| field).or_else(|| {
            let near = ALL.iter().map(|&(field, known)| (distance(&name, known), field));
            let limit = if name.len() > 3 { 2 } else { 1 };
            let (distance, field) = near.min_by_key(|&(distance, _)| distance)?;
            (distance <= limit).then_some(field)
        })
    }

    /// The name.
    pub fn name(self) -> &'static str {
        ALL[self as usize].1
    }

    /// All names, for a message.
    pub fn all_names() -> String {
        ALL.map(|(_, name)| name).join(", ")
    }
}

/// How many letters must be put in, left out or changed to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut corner = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let changed = corner + usize::from(x != y);
            corner = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

/// Some fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct FieldSet(u32);

impl FieldSet {
    /// No field.
    pub const NONE: FieldSet = FieldSet(0);

    /// The fields that most lines have.
    pub const COMMON: FieldSet = {
        use Field::*;
        FieldSet::of(&[Process, Type, Op, Arg, Result, Key, Object, Id, Call, Return, Time])
    };

    const fn of(fields: &[Field]) -> FieldSet {
        let mut set = 0;
        let mut index = 0;
        while index < fields.len() {
            set |= 1 << fields[index] as u32;
            index += 1;
        }
        FieldSet(set)
    }

    /// Adds a field; `false` when it was there.
    #[inline]
    pub fn insert(&mut self, field: Field) -> bool {
        let before = self.0;
        self.0 |= 1 << field as u32;
        self.0 != before
    }

    /// Whether a field is there.
    #[inline]
    pub fn has(self, field: Field) -> bool {
        self.0 >> field as u32 & 1 == 1
    }

    /// Whether the other set has all of these fields.
    #[inline]
    pub fn is_within(self, other: FieldSet) -> bool {
        self.0 & !other.0 == 0
    }

    /// The first field that the other set does not have.
    #[inline]
    pub fn first_outside(self, other: FieldSet) -> Option<Field> {
        let outside = self.0 & !other.0;
        (outside != 0).then(|| ALL[outside.trailing_zeros() as usize].0)
    }
}

/// What a line tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LineKind {
    Header,
    Annotation,
    Event,
    Operation,
}

impl LineKind {
    /// The kind of a line with these fields.
    #[inline]
    pub fn of(fields: FieldSet) -> Option<LineKind> {
        if fields.has(Field::Call) {
            Some(LineKind::Operation)
        } else if fields.has(Field::Type) {
            Some(LineKind::Event)
        } else if fields.has(Field::Annotation) {
            Some(LineKind::Annotation)
        } else if fields.has(Field::Seriatim) {
            Some(LineKind::Header)
        } else {
            None
        }
    }

    /// The fields that such a line may have.
    #[inline]
    pub fn allowed(self) -> FieldSet {
        use Field::*;
        const HEADER: FieldSet = FieldSet::of(&[Seriatim, Spec, Nil, Echo, Unit, Since, Missing]);
        const ANNOTATION: FieldSet = FieldSet::of(&[Annotation, Group, Start, End, Colour]);
        const EVENT: FieldSet =
            FieldSet::of(&[Process, Type, Op, Arg, Result, Key, Object, Id, Time, Note]);
        const OPERATION: FieldSet =
            FieldSet::of(&[Process, Op, Arg, Result, Key, Object, Id, Call, Return, Failed, Note]);
        match self {
            LineKind::Header => HEADER,
            LineKind::Annotation => ANNOTATION,
            LineKind::Event => EVENT,
            LineKind::Operation => OPERATION,
        }
    }

    /// The fields that such a line must have.
    #[inline]
    pub fn required(self) -> FieldSet {
        use Field::*;
        const HEADER: FieldSet = FieldSet::of(&[Seriatim]);
        const ANNOTATION: FieldSet = FieldSet::of(&[Annotation]);
        const EVENT: FieldSet = FieldSet::of(&[Process, Type]);
        const OPERATION: FieldSet = FieldSet::of(&[Op, Call]);
        match self {
            LineKind::Header => HEADER,
            LineKind::Annotation => ANNOTATION,
            LineKind::Event => EVENT,
            LineKind::Operation => OPERATION,
        }
    }

    /// How a message calls it.
    pub fn name(self) -> &'static str {
        match self {
            LineKind::Header => "the header",
            LineKind::Annotation => "an annotation",
            LineKind::Event => "an event (a line with `type`)",
            LineKind::Operation => "an operation (a line with `call`)",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_its_own_name_and_place() {
        for (index, &(field, name)) in ALL.iter().enumerate() {
            assert_eq!(field as usize, index);
            assert_eq!((field.name(), Field::named(name)), (name, Some(field)));
            assert_eq!(Field::meant(name), Some(field));
        }
    }

    #[test]
    fn a_misspelt_field_is_guessed() {
        assert_eq!(Field::meant("proces"), Some(Field::Process));
        assert_eq!(Field::meant("Result"), Some(Field::Result));
        assert_eq!(Field::meant("method"), Some(Field::Op));
        assert_eq!(Field::meant("latitude"), None);
    }
}
