//! The options of `seriatim verify --engine lists`: which methods, on which lists.

use super::Failure;
use clap::{Args, ValueEnum};
use seriatim::lang::Program;
use seriatim::lists::{self, Input, parse_composition};
use seriatim::verify;

/// What the lists engine is asked.
#[derive(Args)]
pub struct Lists {
    /// The methods that run in parallel, as in 'remove || add' or '(add; remove) || contains'
    #[arg(long, value_name = "COMPOSITION", conflicts_with = "all")]
    methods: Option<String>,

    /// All compositions of this many methods: 2 for every pair, 3 for every triple [default: both]
    #[arg(long, value_name = "NUMBER", num_args = 0..=1, value_parser = clap::value_parser!(u8).range(1..=6))]
    all: Option<Option<u8>>,

    /// Lists may contain marked nodes at the start
    #[arg(long)]
    marked: bool,

    /// What the exit code is about: whether the elements are correct, or also the list that
    /// contains them
    #[arg(long, value_enum, default_value_t = Equality::Elements)]
    equality: Equality,
}

/// When two lists count as the same.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Equality {
    Elements,
    List,
}

impl Lists {
    /// Whether any of this was given.
    pub fn is_asked(&self) -> bool {
        self.methods.is_some() || self.all.is_some() || self.marked
    }

    /// The question for a program: without any of it, all pairs of methods.
    pub fn question(&self, program: &Program) -> Result<verify::Lists, Failure> {
        let asked = match (&self.methods, self.all) {
            (Some(text), _) => {
                let compositions = vec![parse_composition(text)?];
                verify::Lists { compositions, ..verify::Lists::default() }
            }
            (None, None) => verify::Lists::all(program, &[2]),
            (None, Some(None)) => verify::Lists::all(program, &[2, 3]),
            (None, Some(Some(size))) => verify::Lists::all(program, &[usize::from(size)]),
        };
        let input = if self.marked { Input::Marked } else { Input::Unmarked };
        let equality = match self.equality {
            Equality::Elements => lists::Equality::Elements,
            Equality::List => lists::Equality::List,
        };
        Ok(verify::Lists { input, equality, ..asked })
    }
}
