//! Why a text names no specification, in the words that the user reads.

use crate::parameters::{Parameter, Takes};
use seriatim_history::Outside;
use std::fmt;

/// Why a text names no specification.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecError {
    /// No specification has that name.
    Unknown {
        /// The name.
        name: String,
        /// The name that may have been meant.
        nearest: Option<&'static str>,
        /// All names.
        known: Vec<&'static str>,
    },
    /// The specification has no such parameter.
    UnknownParameter {
        /// The specification.
        spec: &'static str,
        /// What was given.
        parameter: String,
        /// The parameters that it has.
        known: Vec<&'static str>,
    },
    /// A parameter was given twice.
    Repeated {
        /// The specification.
        spec: &'static str,
        /// The parameter.
        parameter: String,
    },
    /// Two flags that exclude each other.
    Contradiction {
        /// The specification.
        spec: &'static str,
        /// The flags.
        flags: [&'static str; 2],
    },
    /// The start is left open where it has to be known.
    OpenStart {
        /// The specification.
        spec: String,
    },
    /// The parameter does not take this.
    BadParameter {
        /// The specification.
        spec: &'static str,
        /// The parameter.
        parameter: Parameter,
        /// What was given.
        found: String,
    },
    /// The text cannot be read.
    Syntax {
        /// What was expected.
        expected: &'static str,
        /// What stands there.
        found: String,
        /// The place, in characters from 1 on.
        place: usize,
    },
    /// A history names no specification, and its methods do not tell which one is meant.
    Ambiguous {
        /// The methods of the history.
        methods: Vec<String>,
        /// The specifications that have all of them.
        candidates: Vec<&'static str>,
    },
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpecError::Unknown { name, nearest, known } => {
                write!(f, "there is no specification `{name}`")?;
                if let Some(nearest) = nearest {
                    write!(f, "; did you mean `{nearest}`?")?;
                }
                write!(f, " (known: {})", known.join(", "))
            }
            SpecError::OpenStart { spec } => write!(
                f,
                "{spec}: init=unknown is understood only by `seriatim check` of a whole log in real time; expected the value at the start"
            ),
            SpecError::UnknownParameter { spec, parameter, known } if known.is_empty() => {
                write!(f, "{spec} takes no parameters, but `{parameter}` was given")
            }
            SpecError::UnknownParameter { spec, parameter, known } => write!(
                f,
                "{spec} has no parameter `{parameter}`; expected one of: {}",
                known.join(", ")
            ),
            SpecError::Repeated { spec, parameter } => {
                write!(f, "{parameter} of {spec} is given twice")
            }
            SpecError::Contradiction { spec, flags: [one, other] } => {
                write!(f, "{one} and {other} of {spec} exclude each other; expected one of them")
            }
            SpecError::BadParameter { spec, parameter, found } => {
                let expected = match parameter.takes {
                    Takes::Nothing => "no value: it is a flag",
                    Takes::Value => "a value",
                    Takes::Integer => "an integer of 64 bits",
                    Takes::Natural => "an integer of 64 bits from 0 on",
                    Takes::List => "a list such as [1, 2]",
                    Takes::Items => {
                        "a list such as [1, 2] without nil, the answer of an empty container"
                    }
                    Takes::Map => "a map such as {\"x\": 0, \"y\": 0}",
                };
                let name = parameter.name;
                write!(f, "{name} of {spec} takes {expected}, found {}", Outside(found))
            }
            SpecError::Syntax { expected, found, place } => {
                write!(
                    f,
                    "cannot read the specification: expected {expected}, found {} at character \
                     {place}; write it as name, name(parameter=value) or name(flag), and a value as \
                     JSON or as EDN: {{\"x\": 0}}, {{:x 0}}",
                    Outside(found)
                )
            }
            SpecError::Ambiguous { methods, candidates } if methods.is_empty() => write!(
                f,
                "the history has no operations and names no specification; name one with --spec \
                 (one of: {})",
                candidates.join(", ")
            ),
            SpecError::Ambiguous { methods, candidates } if candidates.is_empty() => write!(
                f,
                "no specification has all the operations of the history ({}) and can read them; name \
                 one with --spec to see what it lacks",
                listed(methods)
            ),
            SpecError::Ambiguous { methods, candidates } => write!(
                f,
                "the history names no specification, and several have its operations ({}); give \
                 one of: {}",
                listed(methods),
                candidates
                    .iter()
                    .map(|name| format!("--spec {name}"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        }
    }
}

/// The names of operations of a log, as part of a message.
fn listed(methods: &[String]) -> String {
    let names: Vec<String> = methods.iter().map(|name| Outside(name).to_string()).collect();
    names.join(", ")
}

impl std::error::Error for SpecError {}
