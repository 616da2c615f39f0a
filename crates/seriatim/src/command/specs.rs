//! `seriatim specs`: what the built-in specifications are and take.

use super::output::say;
use super::{Exit, Failure};
use seriatim::SpecChoice;
use seriatim::spec::{Entry, Takes, catalogue};

/// List the built-in specifications with their operations and parameters
///
/// A specification is chosen by its name, with parameters in brackets: --spec queue,
/// --spec 'cas-register(init=0)', --spec 'priority-queue(max)'.
#[derive(clap::Args)]
pub struct Arguments {
    /// Show only this one
    #[arg(value_name = "SPEC")]
    name: Option<String>,
}

/// Carries out `seriatim specs`.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let texts: Vec<String> = match &arguments.name {
        Some(name) => vec![described(SpecChoice::parse(name)?.entry())],
        None => catalogue().map(described).collect(),
    };
    say(&texts.join("\n"))?;
    Ok(Exit::Holds)
}

fn described(entry: &Entry) -> String {
    let mut lines = vec![format!("{}: {}", entry.name, entry.meaning)];
    if !entry.aliases.is_empty() {
        lines.push(format!("    also called {}", entry.aliases.join(", ")));
    }
    for method in entry.methods {
        let call = format!("{}{}", method.names[0], method.signature);
        lines.push(format!("    {call:<42} {}", method.meaning));
        if method.names.len() > 1 {
            lines.push(format!("    {:<42} also {}", "", method.names[1..].join(", ")));
        }
    }
    for parameter in entry.parameters {
        let (name, default, meaning) = (parameter.name, parameter.default, parameter.meaning);
        lines.push(match parameter.takes {
            Takes::Nothing => format!("    parameter {name}: {meaning}"),
            _ => format!("    parameter {name}=…: {meaning} [default: {default}]"),
        });
    }
    lines.push(String::new());
    lines.join("\n")
}
