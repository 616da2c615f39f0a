//! What is wrong with the declaration of a test: all of it at once, before anything runs.

use crate::generator::Draw;
use crate::model::ModelCall;
use crate::oracle::Oracle;
use crate::quiet;
use crate::random::Random;
use crate::run::{Called, End, Run, Slot};
use crate::scenario::{KindId, Step};
use crate::subject::{Blocking, Caller, Kind, Subject};
use std::ops::RangeInclusive;

/// The problems of a declaration, if it has any.
pub(crate) fn problems(
    subject: &dyn Subject,
    oracle: &Oracle,
    drain: Option<&str>,
    threads: &RangeInclusive<usize>,
) -> Vec<String> {
    let mut problems = Vec::new();
    problems.extend(drain.and_then(|name| about_drain(subject, name)));
    for kind in subject.kinds() {
        problems.extend(about_thread(kind, threads));
    }
    if subject.kinds().iter().all(|kind| kind.weight == 0) {
        problems.push("every operation has weight 0, so that none is ever called".to_owned());
    }
    problems.extend(about_names(subject, oracle));
    problems
}

/// The main thread drains, without an argument and without waiting.
fn about_drain(subject: &dyn Subject, name: &str) -> Option<String> {
    let Some(place) = subject.kinds().iter().position(|kind| *kind.name == *name) else {
        return Some(format!("`drain` names `{name}`, which is no operation of the test"));
    };
    let (id, kind) = (KindId(place as u32), &subject.kinds()[place]);
    if !kind.callers.admits(Caller::Main) {
        return Some(format!(
            "`drain` lets the main thread call `{name}`, which is declared for one thread only"
        ));
    }
    if !subject.accepts(id, None) {
        return Some(format!("`drain` calls `{name}` without an argument, but it takes one"));
    }
    let waits = !matches!(kind.blocking, Blocking::Never);
    waits.then(|| format!("`drain` calls `{name}`, which may wait for ever when nothing is left"))
}

fn about_thread(kind: &Kind, threads: &RangeInclusive<usize>) -> Option<String> {
    let thread = kind.callers.thread().filter(|thread| thread >= threads.end())?;
    let (name, most) = (&kind.name, threads.end());
    Some(format!("`{name}` is for thread {thread} only, but scenarios have {most} threads at most"))
}

/// Whether the specification knows every operation, tried with an argument that was drawn for it.
fn about_names(subject: &dyn Subject, oracle: &Oracle) -> Option<String> {
    let mut unknown = Vec::new();
    for (place, kind) in subject.kinds().iter().enumerate() {
        let id = KindId(place as u32);
        let arg = subject.draw(id, &mut Draw::new(Random::of(1)));
        let step = Step { kind: id, arg };
        if let Err(problem) = understood(subject, oracle, step) {
            unknown.push(format!("`{}`: {problem}", kind.name));
        }
    }
    let name = oracle.reader.name();
    let list = unknown.join("; ");
    (!unknown.is_empty())
        .then(|| format!("the specification ({name}) cannot read the test: {list}"))
}

fn understood(subject: &dyn Subject, oracle: &Oracle, step: Step) -> Result<(), String> {
    if let Some(probe) = &oracle.probe {
        let call = ModelCall::of(subject, &step, Caller::Thread(0));
        return quiet::catch(|| probe(&call)).map_err(|panic| panic.message());
    }
    let pending = Slot { call: 1, end: End::Running };
    let run = Run { threads: vec![vec![Called { step, slot: pending }]], ..Run::default() };
    let text = |error: seriatim_history::InputError| error.to_string();
    let mut history = run.history(subject, oracle.spec.as_deref()).map_err(text)?;
    match quiet::catch(|| oracle.reader.read(&mut history)) {
        Ok(read) => read.map(drop).map_err(text),
        Err(panic) => Err(panic.message()),
    }
}
