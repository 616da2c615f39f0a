//! Logs.

use crate::{Refusal, Told};
use serde::Deserialize;
use seriatim::history::{ReadOptions, read_bytes};
use seriatim::question::{Question, Refused, Specified};
use seriatim::{Failures, History, Options, SpecChoice};
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
    #[serde(default)]
    observe_failures: bool,
    #[serde(default)]
    independent: bool,
    milliseconds: Option<u64>,
}

/// What the searches may use of the memory of a page.
const MEMORY: usize = 1 << 30;

impl Log {
    /// The report on it.
    pub fn answer(&self, bytes: Vec<u8>) -> Result<Told, Refusal> {
        let read = ReadOptions { format: None, independent: self.independent };
        let history = read_bytes(bytes, &self.source, read).map_err(Refused::from);
        let history = history.map_err(|Refused(error)| Refusal::new(error))?;
        let spec = match (&self.seri, &self.spec) {
            (Some(text), _) => Specified::Seri(text),
            (None, Some(name)) => Specified::Name(name),
            (None, None) => Specified::ByHistory,
        };
        let time = self.milliseconds.map(Duration::from_millis);
        let options = Options { time, memory: MEMORY, threads: 1, ..Options::default() };
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
}

/// The specifications that can read a log, by their names.
fn candidates(history: &History, failures: Failures) -> Vec<String> {
    let fitting = SpecChoice::candidates(history, failures).unwrap_or_default();
    fitting.iter().map(SpecChoice::to_string).collect()
}
