//! What is asked about a program, and why it may not be answered.

use seriatim_explore as explore;
use seriatim_lang::{Diagnostic, Program};
use seriatim_lists::{Composition, Equality, Input, Refusal, all_compositions};
use std::fmt;
use std::time::Duration;

/// Who decides, within which bounds.
#[derive(Clone, Default)]
pub struct Options<'o> {
    /// Who decides.
    pub engine: Engine,
    /// The bounds of explorations, their reductions and limits.
    pub bounds: explore::Options,
    /// Hears how explorations go.
    pub observer: Option<&'o dyn Fn(&explore::Statistics)>,
}

impl Options<'_> {
    /// All engines, with the bounds that the first `expect explore` line of the program names. The
    /// constants of that line are not among them: for those the program must be checked again
    /// ([`explore::starting_bounds`]).
    ///
    /// ```
    /// let source = "object o : counter
    /// var n: int = 0
    /// method read() -> int { return n }
    /// expect explore(threads: 3) holds";
    /// let program = seriatim_lang::check(source).unwrap();
    /// assert_eq!(seriatim_verify::Options::of(&program).bounds.threads, 3);
    /// ```
    pub fn of(program: &Program) -> Options<'static> {
        let (bounds, _) = explore::starting_bounds(program);
        Options { bounds, ..Options::default() }
    }
}

/// Who decides.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Engine {
    /// All of them, each for what it does best.
    #[default]
    Auto,
    /// Every run of some threads within bounds.
    Explore {
        /// For how long the bounds are raised; without it they stay as they are.
        budget: Option<Duration>,
    },
    /// Methods of a list-based set in parallel, on lists of any length.
    Lists(Lists),
    /// A proof for any number of threads, beside a short exploration.
    Prove,
}

/// What the lists engine is asked.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Lists {
    /// What runs in parallel.
    pub compositions: Vec<Composition>,
    /// What is assumed about the list at the start.
    pub input: Input,
    /// When two lists count as the same.
    pub equality: Equality,
}

impl Lists {
    /// All compositions of so many methods, for each of the sizes.
    pub fn all(program: &Program, sizes: &[usize]) -> Lists {
        let compositions = sizes.iter().flat_map(|size| all_compositions(program, *size)).collect();
        Lists { compositions, ..Lists::default() }
    }
}

/// Why a question cannot be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The program cannot be explored.
    Program(Diagnostic),
    /// The engine for lists does not take the program.
    NoList(Refusal),
    /// There is no composition of methods to decide.
    NothingToCompose,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Program(diagnostic) => f.write_str(&diagnostic.message),
            Error::NoList(refusal) => f.write_str(&refusal.reason),
            Error::NothingToCompose => {
                f.write_str("the object has no methods that could run in parallel")
            }
        }
    }
}

impl std::error::Error for Error {}

impl From<Diagnostic> for Error {
    fn from(diagnostic: Diagnostic) -> Error {
        Error::Program(diagnostic)
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::NoList(refusal)
    }
}
