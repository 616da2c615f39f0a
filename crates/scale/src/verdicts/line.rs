//! A line of a verdict file: how it is written, and the checksum that seals it.

use crate::judge::{Evidence, JudgedPart, Judgement};
use crate::scan::FileInfo;
use crate::split::PartHash;
use crate::verdicts::Word;
use serde_json::{Value, json};
use seriatim_monitor::DecidedBy;
use seriatim_report::{Report, json};

/// What stands between the content of a line and its checksum.
const SEAL: &str = ",\"sum\":\"";
/// What stands behind the checksum.
const CLOSE: &str = "\"}\n";
/// How many digits a checksum has.
const DIGITS: usize = 16;

/// A line without its closing brace, sealed: with its checksum and its end.
pub(crate) fn sealed(seed: u64, open: String) -> String {
    let sum = sum(seed, open.as_bytes());
    let mut line = open;
    line.push_str(&format!("{SEAL}{sum:016x}{CLOSE}"));
    line
}

/// The checksum of a line; `None` if it is not that of its content.
pub(crate) fn seal_of(seed: u64, line: &[u8]) -> Option<u64> {
    let rest = line.strip_suffix(CLOSE.as_bytes())?;
    let (rest, digits) = rest.split_at_checked(rest.len().checked_sub(DIGITS)?)?;
    let open = rest.strip_suffix(SEAL.as_bytes())?;
    let told = u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    (told == sum(seed, open)).then_some(told)
}

fn sum(seed: u64, bytes: &[u8]) -> u64 {
    PartHash::of(&[&seed.to_le_bytes(), bytes].concat()).0
}

/// The line of a part, before it is sealed.
#[derive(Clone, Debug)]
pub struct Line {
    /// The part.
    pub hash: PartHash,
    /// How many operations it has.
    pub operations: u64,
    /// What is known of it.
    pub word: Word,
    /// The content, without the closing brace.
    open: String,
}

impl Line {
    /// The line of a part.
    pub fn of(verdict: &JudgedPart, files: &[FileInfo], spec: &str) -> Self {
        let word = Word::of(&verdict.judgement);
        let mut line = format!("{{\"hash\":\"{:016x}\"", verdict.hash.0);
        line.push_str(&format!(",\"part\":{}", Value::from(verdict.label.as_str())));
        line.push_str(&format!(",\"operations\":{}", verdict.operations));
        line.push_str(&format!(",\"verdict\":\"{}\"", verdict.judgement.word()));
        if let Some(by) = told(verdict.decided_by) {
            line.push_str(&format!(",\"by\":{}", Value::from(by)));
        }
        match &verdict.judgement {
            Judgement::Linearizable => {}
            Judgement::Unknown(reason) | Judgement::Refused(reason) => {
                line.push_str(&format!(",\"reason\":{}", Value::from(reason.as_str())));
            }
            Judgement::Violation(evidence) => {
                let found = counterexample(evidence, files, spec);
                line.push_str(&format!(",\"counterexample\":{found}"));
            }
        }
        Line { hash: verdict.hash, operations: verdict.operations, word, open: line }
    }

    /// The line with its checksum, and the checksum.
    pub(crate) fn sealed(&self, seed: u64) -> (String, u64) {
        (sealed(seed, self.open.clone()), sum(seed, self.open.as_bytes()))
    }
}

/// Who decided. Which direction of the search was first is a matter of luck, and not told.
fn told(decided_by: DecidedBy) -> Option<&'static str> {
    match decided_by {
        DecidedBy::Monitor(name) => Some(name),
        DecidedBy::Inspection => Some("inspection"),
        DecidedBy::Search(_) => Some("search"),
        DecidedBy::Nobody => None,
    }
}

/// The evidence as the JSON report tells it, with the file of each operation.
fn counterexample(evidence: &Evidence, files: &[FileInfo], spec: &str) -> Value {
    let name = |file: u32| Value::from(files[file as usize].name.as_str());
    match evidence {
        Evidence::Sentence { sentence, file, line } => json!({
            "explanation": { "sentence": sentence },
            "operations": [{ "file": name(*file), "line": line }],
        }),
        Evidence::Shown { history, files: file_of, checked } => {
            let text = json::render(&Report::new(history, spec, &checked.verdict));
            let mut report: Value = serde_json::from_str(&text).unwrap_or_default();
            let mut found = report["counterexample"].take();
            for operation in found["operations"].as_array_mut().into_iter().flatten() {
                let id = operation["id"].as_u64().unwrap_or_default() as usize;
                operation["file"] = name(file_of[id]);
            }
            found
        }
    }
}

/// What a file holds, as its last line says: how much there is, and the sum of the checksums.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Totals {
    /// How many parts.
    pub parts: u64,
    /// How many operations they have.
    pub operations: u64,
    /// The sum of the checksums of the lines that count; it does not depend on their order.
    pub lines: u64,
}

impl Totals {
    /// A part more.
    pub(crate) fn add(&mut self, operations: u64, sum: u64) {
        self.parts += 1;
        self.operations += operations;
        self.lines = self.lines.wrapping_add(sum);
    }

    /// A line that does not count any more.
    pub(crate) fn replace(&mut self, old: u64, new: u64) {
        self.lines = self.lines.wrapping_sub(old).wrapping_add(new);
    }
}

/// The last line, behind so many others.
pub fn end_line(seed: u64, before: u64, totals: Totals, problems: &[String]) -> String {
    let Totals { parts, operations, lines } = totals;
    let problems = json!(problems);
    sealed(
        seed,
        format!(
            "{{\"end\":true,\"synced\":{before},\"parts\":{parts},\"operations\":{operations},\"lines\":\"{lines:016x}\",\
             \"problems\":{problems}"
        ),
    )
}

/// The line that says that so many lines before it are safe on the disk.
pub(crate) fn synced_line(seed: u64, lines: u64) -> String {
    sealed(seed, format!("{{\"synced\":{lines}"))
}
