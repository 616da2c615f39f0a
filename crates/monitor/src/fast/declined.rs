//! Why a fast monitor does not decide a history.

use seriatim_history::Outside;
use std::fmt;

/// Why a monitor declines: its precondition does not hold. Another engine has to decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Declined {
    /// The monitor has no operation of that name.
    UnknownMethod {
        /// The method's name.
        method: String,
    },
    /// An operation lacks what the monitor needs to know: its argument or its result.
    Unreadable {
        /// The operation as text.
        operation: String,
        /// What was expected.
        expected: &'static str,
    },
    /// A value is inserted or written more than once.
    RepeatedValue {
        /// The value as text.
        value: String,
    },
    /// The query saw a container that was not empty, and nothing forces that it was not.
    UnforcedQuery {
        /// The operation as text.
        operation: String,
    },
    /// What happens cannot be read as it happens, or not any more; whoever has kept everything may
    /// begin again.
    Unheard {
        /// Why not.
        why: String,
    },
    /// An operation looks at the whole object, whose parts were watched apart.
    Whole,
    /// Whoever asked does not want to wait any longer.
    Stopped,
    /// Operations that do not return may have seen too much to remember.
    TooManyAnswers {
        /// How many answers they may give.
        noted: usize,
    },
    /// Too many operations are open at the same time.
    TooManyOpen {
        /// How many.
        open: usize,
    },
    /// Operations whose result nobody knows leave too many choices.
    TooManyChoices {
        /// How many cases were tried.
        tried: usize,
    },
}

impl fmt::Display for Declined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Declined::UnknownMethod { method } => {
                write!(f, "the monitor does not know the operation {}", Outside(method))
            }
            Declined::Unreadable { operation, expected } => {
                write!(f, "the monitor expected {expected} of {operation}")
            }
            Declined::RepeatedValue { value } => write!(f, "the value {value} occurs repeatedly"),
            Declined::UnforcedQuery { operation } => {
                write!(f, "nothing forces what {operation} saw")
            }
            Declined::Unheard { why } => f.write_str(why),
            Declined::Whole => f.write_str("an operation looks at the whole object"),
            Declined::Stopped => f.write_str("the search was faster"),
            Declined::TooManyAnswers { noted } => {
                write!(f, "open operations may give too many answers ({noted} were noted)")
            }
            Declined::TooManyOpen { open } => {
                write!(f, "too many operations are open ({open} are)")
            }
            Declined::TooManyChoices { tried } => {
                write!(f, "too many choices are open ({tried} were tried)")
            }
        }
    }
}

impl std::error::Error for Declined {}
