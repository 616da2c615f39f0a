//! `seriatim check --level`: does a history of transactions satisfy an isolation level?

use super::limits;
use super::output::{remark, say, write_bytes};
use super::{Exit, Failure};

pub mod bank;
pub mod junit;

use seriatim::InputError;
use seriatim::levels::{Answers, Asked, fits};
use seriatim::limits::Cancel;
use seriatim::transactions::{Glyphs, NilReads, Transactions, of_history, read, read_independent};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How to print what was found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Print {
    Line,
    Json,
    Report(Glyphs),
}

/// What is asked, and how the answer is printed.
pub struct Request<'r> {
    pub asked: &'r Asked,
    pub spec: Option<&'r str>,
    pub time: Option<Duration>,
    pub independent: bool,
    pub print: Print,
    pub html: Option<&'r Path>,
    pub junit: Option<&'r Path>,
}

/// Carries out `seriatim check --level` for some files.
pub fn run(request: &Request<'_>, paths: &[PathBuf]) -> Result<Exit, Failure> {
    fits(request.spec).map_err(Failure)?;
    let mut suites = String::new();
    let mut pages = 0;
    let exit = limits::each(paths, |path| {
        let histories = match request.independent {
            true => read_independent(path),
            false => read_as(path, request.spec).map(|history| vec![history]),
        };
        let histories = match histories {
            Ok(histories) => histories,
            Err(error) => {
                remark(&format!("error: {error}"));
                suites += &junit::unreadable(&path.display().to_string(), &error.to_string());
                return Ok(Exit::BadInput);
            }
        };
        let mut exit = Exit::Holds;
        for history in histories {
            let answers = match Answers::of(&history, request.asked, request.time) {
                Ok(answers) => answers,
                Err(defect) => {
                    let source = history.source();
                    let text = format!("unknown: {defect}; please report it, with the log");
                    remark(&format!("{source}: {text}"));
                    suites += &junit::unreadable(source, &text);
                    exit = exit.and(Exit::Unknown);
                    continue;
                }
            };
            // What is known is told, however late it is.
            Cancel::undisturbed(|| say(&told(&answers, request.print)))?;
            exit = exit.and(Exit::coded(answers.exit_code()));
            suites += &junit::suite(&answers);
            if let Some(path) = request.html {
                pages += 1;
                if pages > 1 {
                    let reason = "--html takes one history; there are several";
                    return Err(Failure(reason.to_owned()));
                }
                write_bytes(path, Cancel::undisturbed(|| answers.html()))?;
            }
        }
        Ok(exit)
    })?;
    if let Some(path) = request.junit {
        write_bytes(path, junit::document(&suites))?;
    }
    Ok(exit)
}

/// The operations of a register or a map, each a transaction; or else what is recorded as such.
fn read_as(path: &Path, spec: Option<&str>) -> Result<Transactions, InputError> {
    if !matches!(spec, Some("register" | "map" | "kv")) {
        return read(path);
    }
    let history = seriatim::history::read(path)?;
    of_history(&history, history.source(), NilReads::SawNothing)
}

/// The answers in the form that was asked for.
fn told(answers: &Answers<'_>, print: Print) -> String {
    match print {
        Print::Json => answers.json(),
        Print::Line => answers.line(),
        Print::Report(glyphs) => answers.text(glyphs),
    }
}
