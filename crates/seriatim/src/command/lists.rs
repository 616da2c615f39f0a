//! `seriatim verify --engine lists`: these methods on every list.

use super::output::{Detail, say};
use super::source::Source;
use super::verify::{Arguments, Question, report};
use super::{Exit, Failure};
use clap::{Args, ValueEnum};
use seriatim::lang::{Program, Span};
use seriatim::lists::{
    Composition, Input, Options, Outcome, Refusal, Verdict, all_compositions, decide,
    parse_composition, render, table_text,
};

/// What the lists engine is asked.
#[derive(Args)]
pub struct Lists {
    /// The methods that run in parallel, as in 'remove || add' or '(add; remove) || contains'
    #[arg(long, value_name = "COMPOSITION", conflicts_with = "all")]
    methods: Option<String>,

    /// All compositions of so many methods: 2 for every pair, 3 for every triple [default: both]
    #[arg(long, value_name = "NUMBER", num_args = 0..=1, value_parser = clap::value_parser!(u8).range(1..=6))]
    all: Option<Option<u8>>,

    /// Lists may hold marked nodes at the start
    #[arg(long)]
    marked: bool,

    /// What the exit code tells: whether the elements are right, or also the list that holds them
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
}

/// Decides compositions of a program's methods on lists of any length.
pub fn run(arguments: &Arguments, question: &Question<'_>) -> Result<Exit, Failure> {
    let asked = &arguments.lists;
    let Question { source, program, .. } = *question;
    let options = Options {
        input: if asked.marked { Input::Marked } else { Input::Unmarked },
        ..Options::default()
    };
    let compositions = compositions(asked, program)?;
    let mut outcomes = Vec::new();
    for composition in &compositions {
        let outcome =
            decide(program, composition, &options).map_err(|refusal| refused(source, &refusal))?;
        outcomes.push(outcome);
    }
    match &outcomes[..] {
        [] => {
            return Err(Failure("the object has no methods that could run in parallel".to_owned()));
        }
        [only] => {
            report(arguments, question, &only.answer(program))?;
            if arguments.detail() == Detail::Claims {
                say(&render(only))?;
            }
        }
        _ => say(&table_text(&outcomes))?,
    }
    let exits = outcomes.iter().map(|outcome| exit_of(program, outcome, asked.equality));
    Ok(exits.fold(Exit::Holds, Exit::and))
}

/// A refusal as a message; one that is about no place shows none.
fn refused(source: &Source, refusal: &Refusal) -> Failure {
    match refusal.span == Span::default() {
        true => Failure(refusal.reason.clone()),
        false => source.complain(&refusal.diagnostic()),
    }
}

fn compositions(arguments: &Lists, program: &Program) -> Result<Vec<Composition>, Failure> {
    match &arguments.methods {
        Some(text) => {
            Ok(vec![parse_composition(text).map_err(|error| Failure(error.to_string()))?])
        }
        None => {
            let sizes = match arguments.all {
                None => vec![2],
                Some(None) => vec![2, 3],
                Some(Some(size)) => vec![size],
            };
            Ok(sizes
                .iter()
                .flat_map(|size| all_compositions(program, usize::from(*size)))
                .collect())
        }
    }
}

/// The claims count, and the list at the end where that was asked.
fn exit_of(program: &Program, outcome: &Outcome, equality: Equality) -> Exit {
    let claims = Exit::of(&outcome.answer(program));
    let list = match (equality, &outcome.list) {
        (Equality::List, Some(Verdict::Fails(_))) => Exit::Violated,
        (Equality::List, Some(Verdict::Unknown(_))) => Exit::Unknown,
        _ => Exit::Holds,
    };
    claims.and(list)
}
