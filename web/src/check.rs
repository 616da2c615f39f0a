//! Logs.

use crate::{Refusal, Told};
use serde::Deserialize;
use seriatim::history::{Problem, ReadOptions, read_bytes, unpacked};
use seriatim::levels::{self, Answers};
use seriatim::map::{Map, Unmatched};
use seriatim::question::{Question, Refused, Specified};
use seriatim::transactions::{Defect, Glyphs};
use seriatim::{Failures, History, InputError, Options, SpecChoice};
use std::io;
use std::time::Duration;

/// A log, and what it is held against.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// What it is called.
    source: String,
    /// The specification by its name.
    spec: Option<String>,
    /// The specification as a text in the algorithm language; goes before `spec`.
    seri: Option<String>,
    /// The isolation levels that are asked about instead of linearizability, with commas between.
    levels: Option<String>,
    /// What the records of a log in another format mean.
    map: Option<Records>,
    #[serde(default)]
    observe_failures: bool,
    #[serde(default)]
    independent: bool,
    milliseconds: Option<u64>,
}

/// A map: what it is called, and its rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Records {
    name: String,
    text: String,
    #[serde(default)]
    skip_unmatched: bool,
}

/// What the searches may use of the memory of a page.
const MEMORY: usize = 1 << 30;

impl Log {
    /// The report on it.
    pub fn answer(&self, bytes: Vec<u8>) -> Result<Told, Refusal> {
        match &self.levels {
            Some(names) => self.satisfied(names, bytes),
            None => self.linearizable(bytes),
        }
    }

    fn linearizable(&self, bytes: Vec<u8>) -> Result<Told, Refusal> {
        let history = self.history(bytes).map_err(|Refused(error)| Refusal::new(error))?;
        let spec = match (&self.seri, &self.spec) {
            (Some(text), _) => Specified::Seri(text),
            (None, Some(name)) => Specified::Name(name),
            (None, None) => Specified::ByHistory,
        };
        let options =
            Options { time: self.time(), memory: MEMORY, threads: 1, ..Options::default() };
        let failures = if self.observe_failures { Failures::Observe } else { Failures::Drop };
        let candidates = match (spec, history.spec()) {
            (Specified::ByHistory, None) => candidates(&history, failures),
            _ => Vec::new(),
        };
        let question = Question { spec, failures, options, ..Question::default() };
        match question.answer(history) {
            Ok(answered) => Ok(Told {
                exit: answered.exit_code(),
                spec: answered.name.clone(),
                candidates,
                json: answered.json(),
                text: answered.text(100),
                html: String::from_utf8_lossy(&answered.html()).into_owned(),
            }),
            Err(Refused(error)) => Err(Refusal { candidates, ..Refusal::new(error) }),
        }
    }

    fn time(&self) -> Option<Duration> {
        self.milliseconds.map(Duration::from_millis)
    }

    fn history(&self, bytes: Vec<u8>) -> Result<History, Refused> {
        match &self.map {
            Some(_) if self.independent => {
                Err(Refused("--independent does not go with --map".to_owned()))
            }
            Some(records) => records.history(bytes, &self.source),
            None => {
                let options = ReadOptions { format: None, independent: self.independent };
                Ok(read_bytes(bytes, &self.source, options)?)
            }
        }
    }

    /// Which isolation levels it satisfies.
    fn satisfied(&self, names: &str, bytes: Vec<u8>) -> Result<Told, Refusal> {
        if self.map.is_some() {
            return Err(Refusal::new("--map does not go with --level"));
        }
        let spec = self.spec.as_deref();
        let asked = levels::asked(names).map_err(|why| Refusal::new(format!("--level: {why}")))?;
        levels::fits(spec).map_err(Refusal::new)?;
        let found = levels::histories(bytes, &self.source, spec, self.independent);
        let found = found.map_err(|error| Refusal::new(error.to_string()))?;
        let mut told: Option<Told> = None;
        for history in &found {
            let answers = Answers::of(history, &asked, self.time());
            let next = match answers {
                Ok(answers) => Told::of_levels(&answers),
                Err(defect) => return Err(Refusal::contradicted(history.source(), &defect)),
            };
            told = Some(match told {
                None => next,
                Some(before) => before.and(next),
            });
        }
        told.ok_or_else(|| Refusal::new(format!("{}: there is no key in it", self.source)))
    }
}

impl Records {
    fn history(&self, bytes: Vec<u8>, source: &str) -> Result<History, Refused> {
        let map = Map::parse(&self.name, &self.text);
        let map = map.map_err(|error| Refused(format!("--map: {error}")))?;
        let unmatched = if self.skip_unmatched { Unmatched::Skip } else { Unmatched::Refuse };
        let unreadable = |error: io::Error| InputError::new(source, 0, Problem::of_reading(&error));
        let reader = unpacked(bytes).map_err(unreadable)?;
        Ok(map.read(reader, source, unmatched)?.history)
    }
}

impl Told {
    fn of_levels(answers: &Answers<'_>) -> Told {
        Told {
            exit: answers.exit_code(),
            spec: "transactions".to_owned(),
            candidates: Vec::new(),
            json: answers.json(),
            text: answers.text(Glyphs::Unicode),
            html: answers.html(),
        }
    }

    /// Both, one after the other, with the page of the first that is worst.
    fn and(self, next: Told) -> Told {
        let rank = |told: &Told| [0, 3, 2, 1][usize::from(told.exit.min(3))];
        let is_worse = rank(&next) > rank(&self);
        let (exit, html) = if is_worse { (next.exit, next.html) } else { (self.exit, self.html) };
        let (json, text) = (self.json + &next.json, self.text + "\n" + &next.text);
        Told { exit, json, text, html, ..self }
    }
}

impl Refusal {
    /// Two engines contradict each other: no verdict.
    fn contradicted(source: &str, defect: &Defect) -> Refusal {
        let error = format!("{source}: unknown: {defect}; please report it, with the log");
        Refusal { exit: UNKNOWN, ..Refusal::new(error) }
    }
}

/// The exit code of what is unknown.
const UNKNOWN: u8 = 3;

/// The specifications that can read a log, by their names.
fn candidates(history: &History, failures: Failures) -> Vec<String> {
    let fitting = SpecChoice::candidates(history, failures).unwrap_or_default();
    fitting.iter().map(SpecChoice::to_string).collect()
}
