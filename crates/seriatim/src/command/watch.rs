//! `seriatim watch`: check events as they happen.

mod growing;

use super::input::{failures_named, format_named};
use super::output::{remark, say};
use super::{Exit, Failure, limits};
use growing::Growing;
use seriatim::history::{Conventions, Format, Header, ReadOptions, listen, open, path_in_line};
use seriatim::limits::Stopped;
use seriatim::monitor::frontier::frontier_of;
use seriatim::question::written;
use seriatim::scale::Judgement;
use seriatim::scale::judge::Evidence;
use seriatim::scale::live::{Begins, Listening, Watch};
use seriatim::{ChosenReader, Failures, SpecChoice, Verdict};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// Check calls and returns as they happen, and stop at the event that violates linearizability
///
/// Reads events (one per line) from standard input or a growing file. Open operations count as
/// pending, so the verdict is correct after every event. While a monitor looks for violations, an
/// order is constructed and replayed, window by window; nothing is called linearizable without it.
/// Memory depends on the number of open operations and the size of the object, not on the length of
/// the stream. If too many operations overlap to be followed, the command says so and decides at
/// the end of the events.
#[derive(clap::Args)]
pub struct Arguments {
    /// The specification, as for check: queue, 'cas-register(init=0)', …, FILE.seri or
    /// FILE.seri#NAME
    #[arg(value_name = "SPEC")]
    spec: String,

    /// A log of events, or - for standard input
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,

    /// The format of the log
    #[arg(long, value_name = "FORMAT", default_value = "jsonl-events", value_parser = format_named)]
    format: Format,

    /// What a failed operation (Jepsen's :fail) means: it did not happen, or it observed that its
    /// condition did not hold (a cas that found another value)
    #[arg(long, value_name = "drop|observe", default_value = "drop", value_parser = failures_named)]
    failures: Failures,

    /// Wait for more events at the end of the file
    #[arg(long)]
    follow: bool,
}

/// Carries out `seriatim watch`.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let name = path_in_line(&arguments.file);
    limits::prepare(&name);
    let watched = Rc::new(RefCell::new(begun(arguments)?));
    let options = ReadOptions { format: Some(arguments.format), ..ReadOptions::default() };
    let listener = Box::new(Listening(Rc::clone(&watched)));
    let heard = limits::within(|| match arguments.follow {
        true => Ok(listen(Growing::open(&arguments.file)?, &name, options, listener)?),
        false => Ok(listen(open(&arguments.file)?, &name, options, listener)?),
    });
    let watched = &mut watched.borrow_mut();
    match heard {
        Ok(Ok(Header { conventions, .. })) => report(&name, watched, conventions),
        Ok(Err(failure)) => {
            say(&so_far(&name, watched, "the next one cannot be read"))?;
            Err(failure)
        }
        Err(Stopped(reason)) => {
            say(&so_far(&name, watched, reason.text()))?;
            Ok(Exit::Unknown)
        }
    }
}

/// The watch of the specification that was named.
fn begun(arguments: &Arguments) -> Result<Watch, Failure> {
    let failures = arguments.failures;
    let watch = match written(&arguments.spec, &BTreeMap::new())? {
        Some(reader) => {
            let reader = Arc::new(reader);
            let live = Arc::clone(&reader);
            let begins: Begins = Box::new(move |sample| Ok(frontier_of(live.live(sample))));
            Watch::of(reader, None, begins)
        }
        None => {
            let choice = SpecChoice::parse(&arguments.spec)?;
            Watch::new(Arc::new(ChosenReader { choice, failures }))
        }
    };
    let tell =
        |why: &str| remark(&format!("nobody can follow any more ({why}): decided at the end"));
    Ok(watch.map_err(Failure)?.telling(tell))
}

/// What is known of events that did not come to their end: a violation would have ended them.
fn so_far(name: &str, watched: &Watch, why: &str) -> String {
    let (events, operations) = (watched.events(), watched.operations());
    let place = watched.line().map_or_else(|| name.to_owned(), |line| format!("{name}:{line}"));
    match watched.followed() {
        None => format!(
            "{place}: unknown; {why}; no violation in {operations} operations, {events} events until there\n"
        ),
        Some((heard, followed)) => format!(
            "{place}: unknown; {why}; no violation in the first {followed} of {events} events, of the first \
             {heard} of {operations} operations; nobody could follow the others, and they were not decided\n"
        ),
    }
}

/// Says what was found.
fn report(name: &str, watched: &mut Watch, conventions: Conventions) -> Result<Exit, Failure> {
    let (events, operations) = (watched.events(), watched.operations());
    let place = watched.line().map_or_else(|| name.to_owned(), |line| format!("{name}:{line}"));
    let judgement = match limits::within(|| watched.conclude(conventions)) {
        Ok(judgement) => judgement,
        Err(Stopped(reason)) => {
            say(&so_far(name, watched, reason.text()))?;
            return Ok(Exit::Unknown);
        }
    };
    match judgement {
        Judgement::Linearizable => {
            say(&format!(
                "{place}: linearizable so far, {operations} operations, {events} events\n"
            ))?;
            if operations == 0 {
                remark("warning: there was no operation: nothing was checked");
            }
            Ok(Exit::Holds)
        }
        Judgement::Violation(evidence) => {
            let when = if watched.was_heard() { "at event" } else { "within the events up to" };
            say(&format!("{place}: VIOLATION {when} {events}: {}", shown(&evidence)))?;
            Ok(Exit::Violated)
        }
        Judgement::Unknown(reason) => {
            say(&format!(
                "{place}: unknown after {operations} operations, {events} events: {reason}\n"
            ))?;
            Ok(Exit::Unknown)
        }
        Judgement::Refused(problem) => Err(Failure(format!("{place}: {problem}"))),
    }
}

/// Why a history is wrong, and the operations that show it where there are such.
fn shown(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Sentence { sentence, .. } => format!("{sentence}\n"),
        Evidence::Shown { history, checked, .. } => {
            let Verdict::Violation(core) = &checked.verdict else { return "\n".to_owned() };
            let mut text = format!("{}\n", core.explanation.sentence);
            for &op in &core.operations {
                text.push_str(&format!("  line {}: {}\n", history.line(op), history.operation(op)));
            }
            text
        }
    }
}
