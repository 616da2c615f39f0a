//! Writing a verdict file: appended, synced now and then, by one writer at a time.

use super::About;
use super::contents::{Contents, Word};
use super::line::{Line, Totals, end_line, synced_line};
use super::medium::{Medium, open_to_write};
use crate::ScaleError;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How many bytes, or for how long, may be lost by a power cut.
const UNSYNCED: (u64, Duration) = (1 << 20, Duration::from_secs(1));

/// A verdict file that is being written.
pub struct Writer<M: Medium = File> {
    path: PathBuf,
    medium: M,
    seed: u64,
    /// What was in the file before.
    pub before: Option<Contents>,
    totals: Totals,
    lines: u64,
    pace: Pace,
    /// Whether a write failed: what it left would stand in the middle of the file.
    is_broken: bool,
}

/// What was written since the file was synced.
struct Pace {
    most: u64,
    unsynced: u64,
    since: Instant,
    /// Whether the next line has to say that those before it are safe.
    is_to_be_said: bool,
}

impl Writer {
    /// Opens a verdict file to append to it; begins one if there is none. A file about something
    /// else is refused, and one that somebody else writes.
    pub fn open(path: &Path, about: &About) -> Result<Self, ScaleError> {
        let file = open_to_write(path).map_err(|error| ScaleError::verdicts(path, error))?;
        Writer::on(file, path, about)
    }
}

impl<M: Medium> Writer<M> {
    /// Goes on with what a medium holds; `path` is its name in messages.
    pub fn on(mut medium: M, path: &Path, about: &About) -> Result<Self, ScaleError> {
        let failed = |error: std::io::Error| ScaleError::verdicts(path, error);
        let before = match is_barely_begun(&mut medium, about).map_err(failed)? {
            true => None,
            false => Some(Contents::read_from(&mut medium, path)?),
        };
        if let Some(problem) = before.as_ref().and_then(|before| is_about_other(before, about)) {
            return Err(ScaleError::verdicts(path, problem));
        }
        // What a crash left is cut off, and what is kept is made safe before more is written.
        medium.truncate(before.as_ref().map_or(0, |before| before.whole)).map_err(failed)?;
        let (mut totals, mut lines) = (Totals::default(), 1);
        match &before {
            Some(before) => (totals, lines) = (before.totals, before.lines),
            None => medium.append(about.line().as_bytes()).map_err(failed)?,
        }
        medium.sync().map_err(failed)?;
        let most = UNSYNCED.0;
        let is_to_be_said = before.is_some();
        let pace = Pace { most, unsynced: 0, since: Instant::now(), is_to_be_said };
        let (path, seed) = (path.to_owned(), about.seed());
        Ok(Writer { path, medium, seed, before, totals, lines, pace, is_broken: false })
    }

    /// Syncs after so many bytes.
    #[cfg(test)]
    pub(crate) fn sync_every(&mut self, bytes: u64) {
        self.pace.most = bytes;
    }

    /// Appends the line of a part. A part that was decided must not be told of again.
    pub fn append(&mut self, line: &Line) -> Result<(), ScaleError> {
        let (text, sum) = line.sealed(self.seed);
        let before = self.before.as_ref().and_then(|before| before.parts.get(&line.hash));
        match before {
            None => self.totals.add(line.operations, sum),
            Some(open) if open.word == Word::Unknown && open.operations == line.operations => {
                self.totals.replace(open.sum, sum);
            }
            Some(_) => {
                let problem = format!(
                    "part {:016x} is in the file already, with another verdict or another number of \
                     operations; this is a defect of ours, please report it",
                    line.hash.0
                );
                return Err(self.failed(problem));
            }
        }
        self.write(text)?;
        let pace = &self.pace;
        match pace.unsynced >= pace.most || pace.since.elapsed() >= UNSYNCED.1 {
            true => self.sync(),
            false => Ok(()),
        }
    }

    /// Says that no part is missing, and waits until the disk has everything.
    pub fn finish(mut self, problems: &[String]) -> Result<M, ScaleError> {
        // The last line proves that those before it are safe, so they must be.
        self.sync()?;
        self.pace.is_to_be_said = false;
        let end = end_line(self.seed, self.lines, self.totals, problems);
        self.write(end)?;
        self.sync()?;
        Ok(self.medium)
    }

    fn write(&mut self, line: String) -> Result<(), ScaleError> {
        if self.is_broken {
            return Err(self.failed("a line before could not be written"));
        }
        let mut text = String::new();
        if std::mem::take(&mut self.pace.is_to_be_said) {
            text = synced_line(self.seed, self.lines);
            self.lines += 1;
        }
        text.push_str(&line);
        self.lines += 1;
        self.pace.unsynced += text.len() as u64;
        let written = self.medium.append(text.as_bytes());
        self.note(written)
    }

    fn sync(&mut self) -> Result<(), ScaleError> {
        if self.is_broken {
            return Err(self.failed("a line before could not be written"));
        }
        let synced = self.medium.sync();
        self.note(synced)?;
        let most = self.pace.most;
        self.pace = Pace { most, unsynced: 0, since: Instant::now(), is_to_be_said: true };
        Ok(())
    }

    fn note(&mut self, done: std::io::Result<()>) -> Result<(), ScaleError> {
        done.map_err(|error| {
            self.is_broken = true;
            self.failed(format!("cannot write: {error}"))
        })
    }

    fn failed(&self, problem: impl std::fmt::Display) -> ScaleError {
        ScaleError::verdicts(&self.path, problem)
    }
}

/// Whether there is nothing, or what crashes may have left of the first line, which is written
/// alone. Anything else is somebody's file, and is not overwritten.
fn is_barely_begun(medium: &mut impl Medium, about: &About) -> std::io::Result<bool> {
    let first = about.line().into_bytes();
    let most = 8 * first.len();
    let mut bytes = Vec::new();
    medium.reader()?.take(most as u64 + 1).read_to_end(&mut bytes)?;
    let mut pieces = bytes.split(|&byte| byte == 0).enumerate();
    let mut is_remnant = || pieces.all(|(index, piece)| is_left_of(piece, &first, index > 0));
    Ok(!bytes.starts_with(&first) && bytes.len() <= most && is_remnant())
}

/// Whether a piece without zeros is made of beginnings of a line, torn and repeated. Behind a hole
/// it may begin within the line.
fn is_left_of(piece: &[u8], line: &[u8], behind_hole: bool) -> bool {
    let common =
        |from: &[u8], with: &[u8]| from.iter().zip(with).take_while(|(a, b)| a == b).count();
    // Up to where the piece can be explained, in how many ways ever.
    let mut explained = vec![false; piece.len() + 1];
    explained[0] = true;
    for place in 0..piece.len() {
        let starts = if place == 0 && behind_hole { line.len() } else { 1 };
        for start in (0..starts).filter(|_| explained[place]).collect::<Vec<_>>() {
            let length = common(&piece[place..], &line[start..]);
            explained[place + 1..=place + length].fill(true);
        }
    }
    explained[piece.len()]
}

/// Why the verdicts of a file cannot be gone on with.
fn is_about_other(before: &Contents, about: &About) -> Option<String> {
    let (a, b) = (before.about.shard, about.shard);
    let shards = (a != b)
        .then(|| format!("the shard: {}/{} here, {}/{} there", a.index, a.count, b.index, b.count));
    let difference = before.about.difference(about).or(shards)?;
    Some(format!(
        "holds verdicts on something else ({difference} is asked for); name another file, or remove it"
    ))
}
