//! `seriatim specs`: what the built-in specifications are and take.

use super::output::say;
use super::{Exit, Failure};
use seriatim::SpecChoice;
use seriatim::spec::{Entry, Takes, catalogue};
use seriatim_services::{Service, service, services};

/// List the built-in specifications and the models of services, with their operations and
/// parameters
///
/// Choose a specification by name, with parameters in parentheses: --spec queue,
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
        Some(name) => match service(name) {
            Some(service) => vec![service.source.to_owned()],
            None => vec![described(SpecChoice::parse(name)?.entry())],
        },
        None => catalogue().map(described).chain(services().map(outlined)).collect(),
    };
    say(&texts.join("\n"))?;
    Ok(Exit::Holds)
}

/// A service with the signatures of its operations; its own text says the rest.
fn outlined(service: Service) -> String {
    let mut lines = vec![format!("{}: {}", service.name, service.summary())];
    let methods = service.source.lines().filter_map(|line| line.trim().strip_prefix("method "));
    for method in methods {
        let signature = method.split(" {").next().unwrap_or(method);
        lines.push(format!("    {signature}"));
    }
    lines.push(String::new());
    lines.join("\n")
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
