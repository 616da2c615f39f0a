//! A rule: which records it is for, what they are, and where their parts stand.

use crate::evaluate::{Lack, Scope};
use crate::expression::Expression;
use seriatim_history::{Outcome, Value};

/// What a record is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Call,
    /// The end of a call: it returned, failed, or nobody knows.
    End(Outcome),
    /// A record that holds call and end.
    Operation(Outcome),
    Annotation,
    Skip,
}

impl Kind {
    /// The kinds by the name that `is` has.
    pub const ALL: [(&'static str, Kind); 9] = [
        ("call", Kind::Call),
        ("return", Kind::End(Outcome::Ok)),
        ("fail", Kind::End(Outcome::Failed)),
        ("unknown", Kind::End(Outcome::Pending)),
        ("operation", Kind::Operation(Outcome::Ok)),
        ("failed-operation", Kind::Operation(Outcome::Failed)),
        ("unknown-operation", Kind::Operation(Outcome::Pending)),
        ("annotation", Kind::Annotation),
        ("skip", Kind::Skip),
    ];

    /// The name.
    pub fn name(self) -> &'static str {
        Kind::ALL.iter().find(|(_, kind)| *kind == self).map_or("", |&(name, _)| name)
    }

    /// Whether a record of this kind may have a part.
    pub fn may_have(self, part: Part) -> bool {
        use Part::*;
        match self {
            Kind::Call => matches!(part, Process | Op | Arg | Key | Object | Id | Time | Note),
            Kind::End(Outcome::Pending) => matches!(part, Process | Id | Time | Note),
            Kind::End(_) => matches!(part, Process | Id | Result | Time | Note),
            Kind::Operation(Outcome::Pending) => {
                matches!(part, Process | Op | Arg | Key | Object | Id | Call | Note)
            }
            Kind::Operation(_) => {
                matches!(
                    part,
                    Process | Op | Arg | Key | Object | Id | Result | Call | Return | Note
                )
            }
            Kind::Annotation => matches!(part, Text | Group | Start | End | Time),
            Kind::Skip => false,
        }
    }

    /// The parts that a record of this kind must have.
    pub fn needs(self) -> &'static [Part] {
        match self {
            Kind::Call => &[Part::Op],
            Kind::Operation(Outcome::Pending) => &[Part::Op, Part::Call],
            Kind::Operation(_) => &[Part::Op, Part::Call, Part::Return],
            Kind::Annotation => &[Part::Text],
            Kind::End(_) | Kind::Skip => &[],
        }
    }
}

/// A part of a record that has a meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Process,
    Op,
    Arg,
    Key,
    Object,
    Id,
    Result,
    Time,
    Call,
    Return,
    Note,
    Text,
    Group,
    Start,
    End,
}

impl Part {
    /// The parts, each at the place of its number, with the name of its field.
    pub const ALL: [(&'static str, Part); 15] = [
        ("process", Part::Process),
        ("op", Part::Op),
        ("arg", Part::Arg),
        ("key", Part::Key),
        ("object", Part::Object),
        ("id", Part::Id),
        ("result", Part::Result),
        ("time", Part::Time),
        ("call", Part::Call),
        ("return", Part::Return),
        ("note", Part::Note),
        ("text", Part::Text),
        ("group", Part::Group),
        ("start", Part::Start),
        ("end", Part::End),
    ];

    /// The part of a name.
    pub fn named(name: &str) -> Option<Part> {
        Part::ALL.iter().find(|(known, _)| *known == name).map(|&(_, part)| part)
    }

    /// The name.
    pub fn name(self) -> &'static str {
        Part::ALL[self as usize].0
    }
}

/// Where parts stand.
pub(crate) type Parts = [Option<Expression>; Part::ALL.len()];

/// A rule of a map.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// Where the map has it.
    pub line: usize,
    pub kind: Kind,
    /// The records that it is for; those that no other rule is for, without a condition.
    pub when: Option<Condition>,
    pub parts: Parts,
}

/// A condition, and how it is written.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub expression: Expression,
    pub text: String,
}

impl Rule {
    /// The value of a part, if the rule has it and the record need not or does have it.
    pub fn part(&self, scope: &Scope<'_>, part: Part) -> Result<Option<Value>, Lack> {
        match &self.parts[part as usize] {
            None => Ok(None),
            Some(expression) => scope.value(expression).map_err(|lack| lack.in_part(part)),
        }
    }

    /// How a message calls it.
    pub fn title(&self) -> String {
        match &self.when {
            Some(condition) => {
                format!("`{}` ({}, line {})", condition.text, self.kind.name(), self.line)
            }
            None => format!("otherwise ({}, line {})", self.kind.name(), self.line),
        }
    }
}

impl Lack {
    /// The lack, with the part for which it is one.
    pub fn in_part(self, part: Part) -> Lack {
        let named = |text: String| format!("{}: {text}", part.name());
        match self {
            Lack::Missing(text) => Lack::Missing(named(text)),
            Lack::Wrong(text) => Lack::Wrong(named(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_own_place_and_every_kind_may_have_what_it_needs() {
        for (place, &(name, part)) in Part::ALL.iter().enumerate() {
            assert_eq!((part as usize, part.name(), Part::named(name)), (place, name, Some(part)));
        }
        for (name, kind) in Kind::ALL {
            assert_eq!(kind.name(), name);
            assert!(kind.needs().iter().all(|&part| kind.may_have(part)), "{name}");
        }
    }
}
