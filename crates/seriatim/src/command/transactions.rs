//! `seriatim check --level`: does a history of transactions satisfy an isolation level?

use super::input::Input;
use super::limits;
use super::output::{remark, say, write_bytes};
use super::{Exit, Failure};

pub mod bank;
pub mod junit;

use seriatim::InputError;
use seriatim::levels::{Answers, Asked, fits};
use seriatim::limits::Cancel;
use seriatim::transactions::{
    Glyphs, NilReads, Transactions, keys_of, of_history, read, read_independent,
};
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
    pub input: &'r Input,
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
        let histories = match request.histories(path) {
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

impl Request<'_> {
    /// The histories of transactions in a file: one, or one for each independent key. The
    /// operations of a register or a map are transactions, too.
    fn histories(&self, path: &Path) -> Result<Vec<Transactions>, InputError> {
        let of_operations = matches!(self.spec, Some("register" | "map" | "kv"));
        let history = match self.input.mapping.read(&[path.to_owned()]) {
            Some(mapped) => mapped?,
            None if self.input.independent => return read_independent(path),
            None if of_operations => seriatim::history::read(path)?,
            None => return Ok(vec![read(path)?]),
        };
        match self.input.is_independent() {
            true => keys_of(&history),
            false => Ok(vec![of_history(&history, history.source(), NilReads::SawNothing)?]),
        }
    }
}

/// The answers in the form that was asked for.
fn told(answers: &Answers<'_>, print: Print) -> String {
    match print {
        Print::Json => answers.json(),
        Print::Line => answers.line(),
        Print::Report(glyphs) => answers.text(glyphs),
    }
}
