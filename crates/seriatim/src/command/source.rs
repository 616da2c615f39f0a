//! Algorithms that a command reads: files, or names of the library.

use super::Failure;
use super::input::text_of;
use seriatim::history::{in_line, path_in_line};
use seriatim::lang::{Diagnostic, Program, check_with};
use std::collections::BTreeMap;
use std::path::Path;

/// The text of an algorithm and what to call it in messages.
pub struct Source {
    /// The file, or the name in the library.
    pub name: String,
    /// The text.
    pub text: String,
}

impl Source {
    /// Reads a file, or finds an algorithm of the library.
    pub fn find(name: &str) -> Result<Self, Failure> {
        if !std::path::Path::new(name).exists() {
            if let Some(found) = seriatim::algorithm(name) {
                return Ok(Source { name: name.to_owned(), text: found.source.to_owned() });
            }
            if !name.ends_with(".seri") {
                return Err(Failure(format!(
                    "there is neither a file nor an algorithm of the library called {} \
                     (`seriatim algorithms` lists them)",
                    in_line(name)
                )));
            }
        }
        let text = text_of(Path::new(name))?;
        Ok(Source { name: path_in_line(Path::new(name)), text })
    }

    /// The checked program, with some constants overridden.
    pub fn program(&self, consts: &BTreeMap<String, i32>) -> Result<Program, Failure> {
        check_with(&self.text, consts).map_err(|error| self.complain(&error))
    }

    /// A complaint about the text, with the place shown.
    pub fn complain(&self, diagnostic: &Diagnostic) -> Failure {
        let complaint = diagnostic.render(&self.text, &self.name);
        // Whoever prints a failure says that it is an error.
        Failure(complaint.strip_prefix("error: ").unwrap_or(&complaint).to_owned())
    }
}
