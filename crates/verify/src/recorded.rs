//! The history of a run, judged as if it had been recorded: by the monitors, which know nothing of algorithms.
//!
//! The engine that found the run knows only that no order is left. The monitors see calls and returns; they shrink what is
//! wrong with these to a few operations, and say of each order how far it gets.

use crate::SeriReader;
use seriatim_history::History;
use seriatim_lang::Program;
use seriatim_monitor::{Options, check};
use seriatim_spec::run::Run;
use seriatim_spec::{ChosenReader, Failures, Reader, SpecChoice, Verdict};

/// The history of a run that starts at the initial state, with the verdict of the monitors on it.
pub struct Recorded {
    /// The history; its processes are called as the columns of the run are.
    pub history: History,
    /// The specification, by its name.
    pub spec: String,
    /// What gives its operations their meaning.
    pub reader: Box<dyn Reader>,
    /// The verdict. For a run that contradicts linearizability it must be a violation.
    pub verdict: Verdict,
}

impl Recorded {
    /// Judges the history of a run: by the built-in specification of the object if there is one that can read it, else
    /// by the one that the program gives.
    pub fn of(program: &Program, run: &Run) -> Option<Recorded> {
        let name = match program.spec.as_ref()?.name.as_str() {
            // The language's counter returns the value before, as the library's fetch-and-add does.
            "counter" => "fetch-and-add".to_owned(),
            name => name.replace('_', "-"),
        };
        let built_in = SpecChoice::parse(&name).ok().map(|choice| -> Box<dyn Reader> {
            Box::new(ChosenReader { choice, failures: Failures::Drop })
        });
        let written = || Some(Box::new(SeriReader::of(program)?) as Box<dyn Reader>);
        let judged = built_in.and_then(|reader| judged(reader, run));
        judged.or_else(|| written().and_then(|reader| self::judged(reader, run)))
    }
}

fn judged(reader: Box<dyn Reader>, run: &Run) -> Option<Recorded> {
    let mut history = run.history_of_threads("the run").ok()?;
    let verdict = check(&mut history, &*reader, &Options::default()).ok()?.verdict;
    Some(Recorded { history, spec: reader.name(), reader, verdict })
}
