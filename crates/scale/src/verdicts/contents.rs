//! Reading a verdict file: what it says, and whether it may be believed.
//!
//! Lines are taken one after another until one is not as it was written. If a later line proves
//! that everything before it was safe on the disk, the file was damaged or edited, and is refused.
//! Else the file ends there, as after a crash; see the [module](super).

use super::About;
use super::line::{Totals, seal_of};
use super::medium::{Medium, open_to_read};
use crate::ScaleError;
use crate::judge::Judgement;
use crate::split::PartHash;
use serde_json::Value;
use std::collections::HashMap;
use std::io::BufRead;
use std::path::Path;

/// What a verdict file says of a part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    /// The part, for people.
    pub label: String,
    /// How many operations it has.
    pub operations: u64,
    /// The verdict, in a word.
    pub word: Word,
    /// The line, with its end.
    pub line: String,
    /// The checksum of the line.
    pub(crate) sum: u64,
    /// The number of the line in its file.
    number: u64,
}

/// A verdict in a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    /// It is linearizable.
    Linearizable,
    /// It is not.
    Violation,
    /// Nobody knows.
    Unknown,
    /// It cannot be read.
    Refused,
}

impl Word {
    /// The word for what is known of a part.
    pub fn of(judgement: &Judgement) -> Self {
        match judgement {
            Judgement::Linearizable => Word::Linearizable,
            Judgement::Violation(_) => Word::Violation,
            Judgement::Unknown(_) => Word::Unknown,
            Judgement::Refused(_) => Word::Refused,
        }
    }

    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "linearizable" => Word::Linearizable,
            "violation" => Word::Violation,
            "unknown" => Word::Unknown,
            "refused" => Word::Refused,
            _ => return None,
        })
    }
}

/// The content of a verdict file.
#[derive(Clone, Debug)]
pub struct Contents {
    /// What it is about.
    pub about: About,
    /// What it says of each part: the line that decides it, or else its last one.
    pub parts: HashMap<PartHash, Known>,
    /// Whether no part is missing.
    pub is_complete: bool,
    /// What could not be read of the log.
    pub problems: Vec<String>,
    /// What the lines that count amount to.
    pub(crate) totals: Totals,
    /// How many lines there are.
    pub(crate) lines: u64,
    /// How many bytes they have; what stands behind them is the remnant of a crash.
    pub(crate) whole: u64,
}

/// What is wrong with a line.
#[derive(Debug)]
enum Wrong {
    /// A crash may have left it.
    Torn(String),
    /// It is one of those above; a crash may have repeated it.
    Repeated(String),
    /// It may stand nowhere.
    Forged(String),
}

impl Contents {
    /// Whether another run would find nothing to do.
    pub fn is_finished(&self) -> bool {
        self.is_complete && self.parts.values().all(|known| known.word != Word::Unknown)
    }

    /// The parts that need not be looked at again, in ascending order.
    pub fn decided(&self) -> Vec<PartHash> {
        let known = self.parts.iter().filter(|(_, known)| known.word != Word::Unknown);
        let mut decided: Vec<PartHash> = known.map(|(hash, _)| *hash).collect();
        decided.sort_unstable();
        decided
    }

    /// Reads a verdict file that nobody writes.
    pub fn read(path: &Path) -> Result<Self, ScaleError> {
        let mut file = open_to_read(path).map_err(|error| ScaleError::verdicts(path, error))?;
        Contents::read_from(&mut file, path)
    }

    /// Reads a verdict file from its medium; `path` is its name in messages.
    pub fn read_from(medium: &mut dyn Medium, path: &Path) -> Result<Self, ScaleError> {
        let failed = |error| ScaleError::verdicts(path, format!("cannot read: {error}"));
        let mut reader = medium.reader().map_err(failed)?;
        let mut text = Vec::new();
        let mut next = |text: &mut Vec<u8>| {
            text.clear();
            reader.read_until(b'\n', text).map_err(failed)
        };
        next(&mut text)?;
        let mut contents = Contents::begin(&text).map_err(|wrong| refuse(path, 1, wrong))?;
        // What is wrong with the first line that cannot be believed. It is no remnant of a crash if
        // a later line proves that so many lines had been safe on the disk.
        let mut wrong: Option<(u64, String)> = None;
        let mut number = 1;
        while next(&mut text)? > 0 {
            number += 1;
            match &wrong {
                None => match contents.take(&text, number) {
                    Ok(()) => {}
                    Err(Wrong::Forged(problem)) => return Err(refuse(path, number, problem)),
                    // What was written after a sync is no longer in the file twice after a crash.
                    Err(Wrong::Repeated(problem)) => wrong = Some((number - 1, problem)),
                    Err(Wrong::Torn(problem)) => wrong = Some((number, problem)),
                },
                Some((most, problem)) if contents.safe_before(&text) >= *most => {
                    return Err(refuse(path, contents.lines + 1, problem));
                }
                Some(_) => {}
            }
        }
        Ok(contents)
    }

    /// The file as its first line begins it.
    fn begin(text: &[u8]) -> Result<Self, String> {
        let expected = || "expected the first line of a verdict file (\"seriatim-verdicts\":2)";
        let line: Value = serde_json::from_slice(text).map_err(|_| expected())?;
        if line["seriatim-verdicts"] == 1 {
            return Err("was written by an older version, without checksums; expected \
                        \"seriatim-verdicts\":2: remove the file to decide the log again"
                .to_owned());
        }
        let about = About::read(&line).ok_or_else(expected)?;
        seal_of(0, text).ok_or_else(|| changed().to_owned())?;
        Ok(Contents {
            about,
            parts: HashMap::new(),
            is_complete: false,
            problems: Vec::new(),
            totals: Totals::default(),
            lines: 1,
            whole: text.len() as u64,
        })
    }

    /// How many lines were safe on the disk when a line was written, as far as it proves that.
    fn safe_before(&self, text: &[u8]) -> u64 {
        let is_proof = text.starts_with(b"{\"synced\":") || text.starts_with(b"{\"end\":");
        if !is_proof || seal_of(self.about.seed(), text).is_none() {
            return 0;
        }
        let line: Value = serde_json::from_slice(text).unwrap_or_default();
        line["synced"].as_u64().unwrap_or(0)
    }

    /// Takes the next line.
    fn take(&mut self, text: &[u8], number: u64) -> Result<(), Wrong> {
        let line: Value = serde_json::from_slice(text)
            .ok()
            .filter(|line: &Value| line.is_object() && text.ends_with(b"\n"))
            .ok_or_else(|| Wrong::Torn("expected a whole line of JSON".to_owned()))?;
        if text == self.about.line().as_bytes() {
            return Err(Wrong::Repeated("the first line again".to_owned()));
        }
        let sum = seal_of(self.about.seed(), text);
        let sum = sum.ok_or_else(|| Wrong::Forged(changed().to_owned()))?;
        match (line["synced"].as_u64(), line["end"] == true) {
            (Some(lines), true) => self.synced(lines).and_then(|()| self.end(&line))?,
            (Some(lines), false) => self.synced(lines)?,
            (None, _) => self.part(&line, text, (sum, number))?,
        }
        self.lines += 1;
        self.whole += text.len() as u64;
        Ok(())
    }

    fn synced(&mut self, lines: u64) -> Result<(), Wrong> {
        if lines == self.lines {
            return Ok(());
        }
        let here = self.lines;
        let problem = format!("{lines} lines were written before this one, but there are {here}");
        // A crash may leave this line twice, with nothing between.
        Err(if lines < self.lines { Wrong::Repeated(problem) } else { Wrong::Forged(problem) })
    }

    fn end(&mut self, line: &Value) -> Result<(), Wrong> {
        let bad = || Wrong::Forged("expected how many parts and operations there are".to_owned());
        let told = Totals {
            parts: line["parts"].as_u64().ok_or_else(bad)?,
            operations: line["operations"].as_u64().ok_or_else(bad)?,
            lines: line["lines"]
                .as_str()
                .and_then(|digits| u64::from_str_radix(digits, 16).ok())
                .ok_or_else(bad)?,
        };
        if told != self.totals {
            let Totals { parts, operations, .. } = self.totals;
            return Err(Wrong::Forged(format!(
                "the file should hold {} parts with {} operations, but the lines above have {parts} with \
                 {operations}{}: lines are missing, or were exchanged",
                told.parts,
                told.operations,
                if (told.parts, told.operations) == (parts, operations) { " (others)" } else { "" },
            )));
        }
        let problems = line["problems"].as_array().ok_or_else(bad)?.iter();
        self.problems = problems.filter_map(|p| p.as_str().map(str::to_owned)).collect();
        self.is_complete = true;
        Ok(())
    }

    fn part(&mut self, line: &Value, text: &[u8], (sum, number): (u64, u64)) -> Result<(), Wrong> {
        let bad = || Wrong::Forged("expected a verdict on a part".to_owned());
        let text_of = |name: &str| line[name].as_str().ok_or_else(bad);
        let hash = PartHash(u64::from_str_radix(text_of("hash")?, 16).map_err(|_| bad())?);
        let known = Known {
            label: text_of("part")?.to_owned(),
            operations: line["operations"].as_u64().ok_or_else(bad)?,
            word: Word::named(text_of("verdict")?).ok_or_else(bad)?,
            line: String::from_utf8(text.to_vec()).map_err(|_| bad())?,
            sum,
            number,
        };
        let shard = self.about.shard;
        if !shard.has(hash) {
            let problem = format!("the part is not of shard {}/{}", shard.index, shard.count);
            return Err(Wrong::Forged(problem));
        }
        match self.parts.get(&hash) {
            None if self.is_complete => {
                let problem = "a part that was not there when the file ended";
                return Err(Wrong::Forged(problem.to_owned()));
            }
            None => self.totals.add(known.operations, sum),
            Some(before) => {
                before.may_be_followed_by(&known, self.is_complete)?;
                self.totals.replace(before.sum, sum);
            }
        }
        self.is_complete = false;
        self.parts.insert(hash, known);
        Ok(())
    }
}

impl Known {
    /// Whether a line for the same part may come after this one: only if nothing was decided.
    fn may_be_followed_by(&self, later: &Known, is_complete: bool) -> Result<(), Wrong> {
        let number = self.number;
        // A crash may repeat what was just written; nothing is lost if it is written off.
        if self.line == later.line && !is_complete {
            return Err(Wrong::Repeated(format!("the verdict of line {number} again")));
        }
        if self.word != Word::Unknown {
            let problem = format!("the part was decided in line {number}: a second verdict on it");
            return Err(Wrong::Forged(problem));
        }
        if self.operations != later.operations {
            let problem =
                format!("the part has another number of operations than in line {number}");
            return Err(Wrong::Forged(problem));
        }
        Ok(())
    }
}

fn changed() -> &'static str {
    "the line is not as it was written: its checksum is wrong; remove the file to decide the log again"
}

fn refuse(path: &Path, line: u64, problem: impl std::fmt::Display) -> ScaleError {
    ScaleError::verdicts(path, format!("line {line}: {problem}"))
}
