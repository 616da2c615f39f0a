//! The `expect explore(…) …` lines of a file as questions with known answers.

use crate::options::{Guarantee, MemoryModel, Mode, Options, Synchronise};
use crate::outcome::Outcome;
use seriatim_lang::Program;
use seriatim_lang::ast::OptionValue;
use seriatim_lang::types::Type;
use seriatim_spec::answer::Property;
use std::collections::BTreeMap;

/// A question that a file asks, and the answer that it expects.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The bounds.
    pub options: Options,
    /// The constants that are overridden: the program must be checked again with them.
    pub consts: BTreeMap<String, i32>,
    /// `holds`, `fails`, `unknown` or `refused`; or how it fails.
    pub verdict: String,
    /// Whether linearization points are to be followed.
    pub points: bool,
}

impl Expectation {
    /// Whether an outcome is what the file expects; a question that cannot be asked has none.
    pub fn is_met(&self, outcome: Option<&Outcome>) -> bool {
        let Some(outcome) = outcome else { return self.verdict == "refused" };
        let answer = outcome.answer();
        let violated = answer.violated();
        match self.verdict.as_str() {
            "holds" => answer.exit_code() == 0,
            "fails" => violated.is_some(),
            "not_linearizable" => violated == Some(Property::Linearizable),
            "faults" => violated == Some(Property::FaultFree),
            "out_of_range" => violated == Some(Property::InRange),
            "deadlocks" => violated == Some(Property::DeadlockFree),
            "unknown" => answer.exit_code() == 3,
            _ => false,
        }
    }
}

/// The expectations of a program for this engine. Options that are not bounds name constants.
pub fn expectations(program: &Program) -> Vec<Expectation> {
    let lines = program.file.expects.iter().filter(|e| e.engine.text == "explore");
    lines
        .map(|line| {
            let mut found = Expectation {
                options: Options::default(),
                consts: BTreeMap::new(),
                verdict: line.verdict.text.clone(),
                points: false,
            };
            for (key, value) in &line.options {
                set(&mut found, &key.text, value);
            }
            found
        })
        .collect()
}

/// The bounds that a file asks for first. If it asks for none and has a single client, that client.
/// A list without keys has no end by itself: at most two nodes more than at the start, then, so
/// that there is an end to begin with.
pub fn starting_bounds(program: &Program) -> (Options, BTreeMap<String, i32>) {
    if let Some(first) = expectations(program).into_iter().next() {
        return (Options { mode: Mode::Refinement, ..first.options }, first.consts);
    }
    let client = match program.clients.as_slice() {
        [only] if !only.name.is_empty() => Some(only.name.clone()),
        _ => None,
    };
    let takes = |ty: &Type| program.methods.iter().flat_map(|m| &m.params).any(|p| p.ty == *ty);
    let endless = !program.facts.structs.is_empty() && !takes(&Type::Key);
    let capacity = endless.then_some(2);
    (Options { client, capacity, ..Options::default() }, BTreeMap::new())
}

fn set(expectation: &mut Expectation, key: &str, value: &OptionValue) {
    let options = &mut expectation.options;
    match (key, value) {
        ("threads", OptionValue::Number(n)) => options.threads = *n as u32,
        ("values", OptionValue::Number(n)) => options.values = *n as u32,
        ("keys", OptionValue::Number(n)) => options.keys = *n as u32,
        ("nodes", OptionValue::Number(n)) => options.nodes = Some(*n as u32),
        ("capacity", OptionValue::Number(n)) => options.capacity = Some(*n as u32),
        ("operations", OptionValue::Number(n)) => options.operations = Some(*n as u32),
        ("lag", OptionValue::Number(n)) => options.lag = Some(*n as u32),
        ("synchronise", OptionValue::Word(what)) => {
            options.synchronise = Synchronise::named(what);
        }
        ("memory", OptionValue::Word(name)) => options.memory = MemoryModel::named(name),
        ("client", OptionValue::Word(name)) => options.client = Some(name.clone()),
        ("progress", OptionValue::Word(name)) => {
            options.mode = Guarantee::named(name).map_or(options.mode, Mode::Progress);
        }
        ("points", OptionValue::Word(_) | OptionValue::Number(_)) => expectation.points = true,
        (name, OptionValue::Number(n)) => {
            expectation.consts.insert(name.to_string(), *n as i32);
        }
        _ => {}
    }
}
