//! The history of a run, judged as if it had been recorded: by the monitors, which know nothing of algorithms.

use seriatim_lang::Program;
use seriatim_monitor::{Options, check};
use seriatim_spec::run::Run;
use seriatim_spec::{ChosenReader, Failures, SpecChoice, Verdict};

/// The verdict of the monitors on the history of a run, if the object has a built-in specification. For a run that
/// contradicts linearizability it must be a violation.
pub fn recorded_verdict(program: &Program, run: &Run) -> Option<Verdict> {
    let name = program.spec.as_ref()?.name.replace('_', "-");
    let choice = SpecChoice::parse(&name).ok()?;
    let mut history = run.history("run").ok()?;
    let reader = ChosenReader { choice, failures: Failures::Drop };
    Some(check(&mut history, &reader, &Options::default()).ok()?.verdict)
}
