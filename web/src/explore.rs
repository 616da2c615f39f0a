//! Algorithms: every run of some threads within bounds.

use crate::text::{program, refusal};
use crate::{Refusal, Told};
use serde::Deserialize;
use seriatim::explore::{Limits, Options, SecondOpinion, Statistics, run_with, starting_bounds};
use seriatim::question::judged;
use seriatim::report::run::{self, Examined};
use seriatim::report::terminal::Style;
use seriatim::verify::Verified;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// An algorithm, and the bounds; those that are not given are those of its file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Algorithm {
    name: String,
    text: String,
    threads: Option<u32>,
    values: Option<u32>,
    keys: Option<u32>,
    nodes: Option<u32>,
    capacity: Option<u32>,
    milliseconds: Option<u64>,
}

/// What an exploration may use of the memory of a page.
const MEMORY: usize = 1 << 30;

impl Algorithm {
    /// The report on it.
    pub fn answer(&self, progress: &mut dyn FnMut(&str)) -> Result<Told, Refusal> {
        let first = program(&self.name, &self.text, &BTreeMap::new())?;
        let (start, constants) = starting_bounds(&first);
        let program = program(&self.name, &self.text, &constants)?;
        let mut told = |statistics: &Statistics| {
            let Statistics { kept, waiting, depth, .. } = statistics;
            progress(&format!("{kept} states, {waiting} waiting, depth {depth}"));
        };
        let outcome = run_with(&program, &self.bounds(start), &mut told);
        let outcome = outcome.map_err(|diagnostic| refusal(&diagnostic, &self.name, &self.text))?;
        let verified = Verified::explored(outcome);
        let recorded = verified.recorded(&program);
        let judged = recorded.as_ref().map(judged);
        let again = self.again();
        let spec = program.spec.as_ref().map_or("", |spec| &spec.name);
        let mut examined = Examined::new(&self.name, spec, &program.source, &verified.answer);
        examined.judged = judged.as_ref();
        examined.replay = Some(&*again).filter(|_| examined.run().is_some());
        Ok(Told {
            exit: verified.answer.exit_code(),
            spec: spec.to_owned(),
            candidates: Vec::new(),
            json: run::json::render(&examined),
            text: run::terminal::report(&examined, &Style::plain(100)),
            html: run::html::render(&examined),
        })
    }

    fn bounds(&self, start: Options) -> Options {
        let time = self.milliseconds.map(Duration::from_millis);
        Options {
            threads: self.threads.unwrap_or(start.threads),
            values: self.values.unwrap_or(start.values),
            keys: self.keys.unwrap_or(start.keys),
            nodes: self.nodes.or(start.nodes),
            capacity: self.capacity.or(start.capacity),
            limits: Limits { time, memory: MEMORY, states: None },
            jobs: 1,
            second_opinion: SecondOpinion::FULL,
            ..start
        }
    }

    /// The command that finds the run again.
    fn again(&self) -> String {
        let mut words = format!("seriatim verify {} --engine explore", self.name);
        let bounds = [
            ("threads", self.threads),
            ("values", self.values),
            ("keys", self.keys),
            ("nodes", self.nodes),
            ("capacity", self.capacity),
        ];
        for (name, bound) in bounds {
            if let Some(bound) = bound {
                write!(words, " --{name} {bound}").expect("a string takes everything");
            }
        }
        words
    }
}
