//! Texts in the algorithm language: what is wrong with one, while it is written.

use crate::Refusal;
use serde::{Deserialize, Serialize};
use seriatim::explore::starting_bounds;
use seriatim::lang::{Diagnostic, Program, check_with};
use std::collections::BTreeMap;

/// A text.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    name: String,
    text: String,
}

/// A place in a text, as JavaScript counts: in units of UTF-16.
#[derive(Serialize)]
pub struct Place {
    start: usize,
    end: usize,
    line: usize,
}

/// The bounds within which an algorithm would be explored: those that its file asks for first.
#[derive(Serialize)]
pub struct Bounds {
    exit: u8,
    object: String,
    threads: u32,
    values: u32,
    keys: u32,
    nodes: Option<u32>,
    capacity: Option<u32>,
}

impl Text {
    /// The bounds of the algorithm.
    pub fn answer(&self) -> Result<Bounds, Refusal> {
        let program = program(&self.name, &self.text, &BTreeMap::new())?;
        let (bounds, _) = starting_bounds(&program);
        Ok(Bounds {
            exit: 0,
            object: program.name,
            threads: bounds.threads,
            values: bounds.values,
            keys: bounds.keys,
            nodes: bounds.nodes,
            capacity: bounds.capacity,
        })
    }
}

/// The algorithm of a text.
pub fn program(
    name: &str,
    text: &str,
    constants: &BTreeMap<String, i32>,
) -> Result<Program, Refusal> {
    check_with(text, constants).map_err(|diagnostic| refusal(&diagnostic, name, text))
}

/// What is wrong with a text, as the command says it, and where.
pub fn refusal(diagnostic: &Diagnostic, name: &str, text: &str) -> Refusal {
    let units = |bytes: u32| {
        let before = text.char_indices().take_while(|(at, _)| *at < bytes as usize);
        before.map(|(_, character)| character.len_utf16()).sum()
    };
    let span = diagnostic.span;
    let place = Place { start: units(span.start), end: units(span.end), line: span.line(text) };
    Refusal { place: Some(place), ..Refusal::new(diagnostic.render(text, name)) }
}

#[test]
fn places_are_counted_as_javascript_does() {
    let text = "// ∀ 𝄞\nobject o : nothing_of_the_kind\n";
    let question = Text { name: "o.seri".to_owned(), text: text.to_owned() };
    let refusal = question.answer().err().expect("there is no such specification");
    let place = refusal.place.expect("it is somewhere");
    let units: Vec<u16> = text.encode_utf16().collect();
    let marked = String::from_utf16(&units[place.start..place.end]).expect("whole characters");
    assert!(marked.contains("nothing_of_the_kind"), "{marked}: {}", refusal.error);
    assert_eq!(place.line, 2);
}
