//! `seriatim verify --engine lists`: these methods on every list.

use super::output::say;
use super::source::Source;
use super::{Exit, Failure};
use clap::Args;
use seriatim::lang::Program;
use seriatim::lists::{
    Composition, Input, Options, Outcome, Verdict, all_compositions, decide, parse_composition,
    render, table_text,
};

/// What the lists engine is asked.
#[derive(Args)]
pub struct Lists {
    /// The methods that run in parallel, as in 'remove || add' or '(add; remove) || contains'
    #[arg(long, value_name = "COMPOSITION", conflicts_with = "all")]
    methods: Option<String>,

    /// All compositions of so many methods: 2 for every pair, 3 for every triple
    #[arg(long, value_name = "NUMBER", num_args = 0..=1, default_missing_value = "2")]
    all: Option<usize>,

    /// Lists may hold marked nodes at the start
    #[arg(long)]
    marked: bool,
}

impl Lists {
    /// Whether any of this was given.
    pub fn is_asked(&self) -> bool {
        self.methods.is_some() || self.all.is_some() || self.marked
    }
}

/// Decides compositions of a program's methods on lists of any length.
pub fn run(arguments: &Lists, source: &Source, program: &Program) -> Result<Exit, Failure> {
    let options = Options {
        input: if arguments.marked { Input::Marked } else { Input::Unmarked },
        ..Options::default()
    };
    let compositions = compositions(arguments, program)?;
    let mut outcomes = Vec::new();
    for composition in &compositions {
        let outcome = decide(program, composition, &options)
            .map_err(|refusal| source.complain(&refusal.diagnostic()))?;
        outcomes.push(outcome);
    }
    match &outcomes[..] {
        [only] => say(&render(program, only))?,
        _ => say(&table_text(&outcomes))?,
    }
    Ok(outcomes.iter().map(exit_of).fold(Exit::Holds, Exit::and))
}

fn compositions(arguments: &Lists, program: &Program) -> Result<Vec<Composition>, Failure> {
    match &arguments.methods {
        Some(text) => {
            Ok(vec![parse_composition(text).map_err(|error| Failure(error.to_string()))?])
        }
        None => Ok(all_compositions(program, arguments.all.unwrap_or(2))),
    }
}

/// The answers and the elements decide; the shape of the list is told beside them.
fn exit_of(outcome: &Outcome) -> Exit {
    match outcome.elements {
        Verdict::Holds => Exit::Holds,
        Verdict::Fails(_) => Exit::Violated,
        Verdict::Unknown(_) => Exit::Unknown,
    }
}
