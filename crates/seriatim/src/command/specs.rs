//! `seriatim specs`: what the built-in specifications are and take.

use super::{Exit, Failure};
use seriatim::SpecChoice;
use seriatim::spec::{Entry, catalogue};

/// List the built-in specifications with their operations and parameters
#[derive(clap::Args)]
pub struct Arguments {
    /// Show only this one
    #[arg(value_name = "SPEC")]
    name: Option<String>,
}

/// Carries out `seriatim specs`.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.name {
        Some(name) => print(SpecChoice::parse(name)?.entry()),
        None => catalogue().for_each(print),
    }
    Ok(Exit::Holds)
}

fn print(entry: &Entry) {
    println!("{}: {}", entry.name, entry.meaning);
    if !entry.aliases.is_empty() {
        println!("    also called {}", entry.aliases.join(", "));
    }
    for method in entry.methods {
        let call = format!("{}{}", method.names[0], method.signature);
        println!("    {call:<42} {}", method.meaning);
        if method.names.len() > 1 {
            println!("    {:<42} also {}", "", method.names[1..].join(", "));
        }
    }
    for parameter in entry.parameters {
        let (name, default, meaning) = (parameter.name, parameter.default, parameter.meaning);
        println!("    parameter {name}: {meaning} [default: {default}]");
    }
    println!();
}
