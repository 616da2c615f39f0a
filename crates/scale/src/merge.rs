//! One verdict from the verdict files of all shards.
//!
//! The parts of a log are independent, so the log is linearizable iff every part is. The files must
//! be about the same log, specification and options, and together hold every shard, each complete;
//! otherwise there is no verdict, and the message says what is missing.

use crate::ScaleError;
use crate::run::Shard;
use crate::split::PartHash;
use crate::verdicts::{About, Contents, Known, Totals, Word, end_line};
use seriatim_history::path_in_line;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The verdicts of all shards.
#[derive(Debug)]
pub struct Merged {
    /// What they are about.
    pub about: About,
    /// Every part, by its hash.
    pub parts: BTreeMap<PartHash, Known>,
    /// What could not be read of the log.
    pub problems: Vec<String>,
}

impl Merged {
    /// The parts with a verdict.
    pub fn with(&self, word: Word) -> impl Iterator<Item = &Known> {
        self.parts.values().filter(move |known| known.word == word)
    }

    /// The verdict on the log: violated parts before what could not be read, that before what is
    /// not known. Where a part of the log could not be read, nothing about it is proved.
    pub fn word(&self) -> Word {
        if !self.problems.is_empty() || self.with(Word::Refused).next().is_some() {
            return match (self.with(Word::Violation).next(), self.problems.is_empty()) {
                (Some(_), true) => Word::Violation,
                _ => Word::Refused,
            };
        }
        let has = |word| self.with(word).next().is_some();
        match (has(Word::Violation), has(Word::Unknown)) {
            (true, _) => Word::Violation,
            (false, true) => Word::Unknown,
            (false, false) => Word::Linearizable,
        }
    }

    /// How many operations the parts have.
    pub fn operations(&self) -> u64 {
        self.parts.values().map(|known| known.operations).sum()
    }

    /// All verdicts as one file, sorted: the same bytes, however the log was divided.
    pub fn text(&self) -> String {
        let about = About { shard: Shard::ALL, ..self.about.clone() };
        let mut text = about.line();
        self.parts.values().for_each(|known| text.push_str(&known.line));
        let mut totals = Totals::default();
        self.parts.values().for_each(|known| totals.add(known.operations, known.sum));
        text.push_str(&end_line(about.seed(), 1 + totals.parts, totals, &self.problems));
        text
    }
}

/// Puts verdict files together.
pub fn merge(paths: &[PathBuf]) -> Result<Merged, ScaleError> {
    let read = |path: &PathBuf| Ok((path.clone(), Contents::read(path)?));
    merge_contents(paths.iter().map(read).collect::<Result<_, ScaleError>>()?)
}

/// Puts together what was read from verdict files of these names.
pub fn merge_contents(files: Vec<(PathBuf, Contents)>) -> Result<Merged, ScaleError> {
    let mut merged: Option<(Merged, PathBuf)> = None;
    let mut seen: BTreeMap<u32, PathBuf> = BTreeMap::new();
    for (path, contents) in files {
        if !contents.is_complete {
            let problem = format!(
                "is not complete ({} parts so far): run its shard again to go on",
                contents.parts.len()
            );
            return Err(ScaleError::verdicts(path, problem));
        }
        if let Some(problem) = merged.as_ref().and_then(|merged| unlike(&contents, merged)) {
            return Err(ScaleError::verdicts(path, problem));
        }
        if let Some(other) = seen.insert(contents.about.shard.index, path.clone()) {
            let problem = format!("is of the same shard as {}", path_in_line(&other));
            return Err(ScaleError::verdicts(path, problem));
        }
        let (merged, _) = merged.get_or_insert_with(|| {
            let (about, parts) = (contents.about.clone(), BTreeMap::new());
            (Merged { about, parts, problems: Vec::new() }, path)
        });
        // Every file was seen to hold parts of its own shard only, so none is replaced.
        merged.parts.extend(contents.parts);
        merged.problems.extend(contents.problems);
    }
    let Some((mut merged, first)) = merged else {
        return Err(ScaleError::NotOneLog { reason: "expected verdict files".to_owned() });
    };
    let count = merged.about.shard.count;
    let missing: Vec<String> = (0..count)
        .filter(|index| !seen.contains_key(index))
        .map(|index| format!("{index}/{count}"))
        .collect();
    if !missing.is_empty() {
        let missing = missing.join(", ");
        return Err(ScaleError::verdicts(first, format!("other shards are missing: {missing}")));
    }
    merged.problems.sort();
    merged.problems.dedup();
    Ok(merged)
}

/// Why a file cannot be put together with those before it, if it cannot.
fn unlike(contents: &Contents, (merged, first): &(Merged, PathBuf)) -> Option<String> {
    let (here, there) = (contents.about.shard.count, merged.about.shard.count);
    let shards = (here != there).then(|| format!("the shards: of {here} here, of {there} there"));
    let difference = contents.about.difference(&merged.about).or(shards)?;
    Some(format!("is about something else than {}: {difference}", path_in_line(first)))
}
