//! What the page asks, answered inside the browser: is this log linearizable, what is wrong with
//! this text, does every run of this algorithm obey its specification?
//!
//! A question and its answer are one line of JSON each ([`ask`]); the bytes of a log stand beside
//! the question. The answers are those of the command, in its words and its forms: everything is
//! decided and rendered by the crates that the command uses. `host` is the way through
//! WebAssembly.
//!
//! The page has no threads, no files and no clock of ours: the host passes a clock in. It has no
//! unwinding either, so a panic ends the instance; its words reach the page before it does.

mod check;
mod explore;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
pub mod host;
mod library;
mod text;

use serde::{Deserialize, Serialize};

/// What the page may ask.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "lowercase")]
enum Question {
    /// Is this log linearizable?
    Check(check::Log),
    /// Is this text an algorithm, and with which bounds would it be explored?
    Text(text::Text),
    /// Does every run of this algorithm obey its specification?
    Explore(explore::Algorithm),
    /// Which specifications and algorithms are built in?
    Library {},
}

/// Answers a question, one line of JSON, about the bytes of a log where it needs one.
///
/// ```
/// let log = br#"{"process":0,"op":"write","arg":1,"call":1,"return":2}
/// {"process":1,"op":"read","result":null,"call":3,"return":4}"#;
/// let question = r#"{"ask":"check","source":"run.jsonl","spec":"register"}"#;
/// let answer = seriatim_web::ask(question, log.to_vec(), &mut |_| {});
/// assert!(answer.starts_with(r#"{"exit":1,"spec":"register""#), "{answer}");
/// ```
pub fn ask(question: &str, log: Vec<u8>, progress: &mut dyn FnMut(&str)) -> String {
    let question = match serde_json::from_str(question) {
        Ok(question) => question,
        Err(error) => return json(&Refusal::new(format!("no question of the page: {error}"))),
    };
    match question {
        Question::Check(question) => told(question.answer(log)),
        Question::Text(question) => told(question.answer()),
        Question::Explore(question) => told(question.answer(progress)),
        Question::Library {} => json(&library::library()),
    }
}

/// A report, with the exit code of the command.
#[derive(Serialize)]
struct Told {
    exit: u8,
    /// The specification, as the report names it.
    spec: String,
    /// The specifications that fit a log that names none.
    candidates: Vec<String>,
    json: String,
    text: String,
    html: String,
}

/// Why there is none: the command's message, and where in a text it points to.
#[derive(Serialize)]
struct Refusal {
    exit: u8,
    error: String,
    place: Option<text::Place>,
    candidates: Vec<String>,
}

impl Refusal {
    fn new(error: impl Into<String>) -> Self {
        Refusal { exit: 2, error: error.into(), place: None, candidates: Vec::new() }
    }
}

fn told<T: Serialize>(answer: Result<T, Refusal>) -> String {
    match answer {
        Ok(told) => json(&told),
        Err(refusal) => json(&refusal),
    }
}

fn json(answer: &impl Serialize) -> String {
    serde_json::to_string(answer).expect("answers have texts as keys")
}
