//! Verdict files: what is known of the parts of a log, a line each, appended as it becomes known.
//!
//! ```text
//! {"seriatim-verdicts":1,"input":"5d2c…","spec":"map","options":"…","shard":[0,2],"files":[["run.jsonl",812]]}
//! {"hash":"00c1…","part":"key 17","operations":1000,"verdict":"linearizable","by":"map monitor"}
//! {"hash":"01f7…","part":"key 3","operations":1003,"verdict":"violation","by":"map monitor","counterexample":{…}}
//! {"end":true,"parts":50011,"operations":50011003,"problems":[]}
//! ```
//!
//! The first line says what the verdicts are about; files about different things are never put together. A
//! line is written whole or not at all as far as the system allows, and a torn last line, which a crash
//! may leave, is cut off when the file is opened again: that part was not decided. A part is *decided* once
//! its line says `linearizable`, `violation` or `refused`; `unknown` is tried again by the next run, and
//! of two lines of a part the later one counts. The line `end` says that no part is missing.
//!
//! Nothing in a line depends on when, where or in which order parts were decided, so that the sorted lines
//! of two runs can be compared byte by byte.

use crate::judge::{Evidence, PartVerdict, Standing};
use crate::run::Shard;
use crate::scan::FileInfo;
use crate::split::PartHash;
use crate::{ScaleError, fingerprint};
use serde_json::{Value, json};
use seriatim_report::{Report, json};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// What verdicts are about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct About {
    /// The fingerprint of the log.
    pub input: String,
    /// The specification.
    pub spec: String,
    /// What else decides what a verdict means: how failures are read, whether keys are split.
    pub options: String,
    /// The parts that it covers.
    pub shard: Shard,
    /// The files of the log, with their sizes; for people.
    pub files: Vec<(String, u64)>,
}

impl About {
    /// What verdicts on a log are about.
    pub fn new(
        files: &[FileInfo],
        spec: &str,
        options: &str,
        shard: Shard,
    ) -> Result<Self, ScaleError> {
        let paths: Vec<&Path> = files.iter().map(|info| &*info.path).collect();
        Ok(About {
            input: fingerprint::fingerprint(&paths)?,
            spec: spec.to_owned(),
            options: options.to_owned(),
            shard,
            files: files.iter().map(|info| (info.name.clone(), info.bytes)).collect(),
        })
    }

    /// In what two abouts differ, if they cannot be put together. Shards and names of files may differ.
    pub fn difference(&self, other: &About) -> Option<String> {
        let pairs = [
            ("the log", &self.input, &other.input),
            ("the specification", &self.spec, &other.spec),
            ("the options", &self.options, &other.options),
        ];
        let differs = pairs.iter().find(|(_, a, b)| a != b);
        differs.map(|(what, a, b)| format!("{what}: {a} here, {b} there"))
    }

    /// The first line.
    pub fn line(&self) -> String {
        let About { input, spec, options, shard, files } = self;
        let mut line = format!("{{\"seriatim-verdicts\":1,\"input\":\"{input}\",\"spec\":");
        line.push_str(&Value::from(spec.as_str()).to_string());
        line.push_str(&format!(",\"options\":{}", Value::from(options.as_str())));
        line.push_str(&format!(",\"shard\":[{},{}]", shard.index, shard.count));
        line.push_str(&format!(",\"files\":{}}}\n", json!(files)));
        line
    }

    fn read(line: &Value) -> Option<Self> {
        let text = |name: &str| line[name].as_str().map(str::to_owned);
        let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        let shard = Shard { index: number(&line["shard"][0])?, count: number(&line["shard"][1])? };
        let file = |file: &Value| Some((file[0].as_str()?.to_owned(), file[1].as_u64()?));
        let files = line["files"].as_array()?.iter().map(file).collect::<Option<_>>()?;
        (line["seriatim-verdicts"] == 1 && shard.index < shard.count).then_some(())?;
        let (input, spec, options) = (text("input")?, text("spec")?, text("options")?);
        Some(About { input, spec, options, shard, files })
    }
}

/// The line of a part.
pub fn line(verdict: &PartVerdict, files: &[FileInfo], spec: &str) -> String {
    let mut line = format!("{{\"hash\":\"{:016x}\"", verdict.hash.0);
    line.push_str(&format!(",\"part\":{}", Value::from(verdict.label.as_str())));
    line.push_str(&format!(",\"operations\":{}", verdict.operations));
    line.push_str(&format!(",\"verdict\":\"{}\"", verdict.standing.word()));
    if !verdict.by.is_empty() {
        line.push_str(&format!(",\"by\":{}", Value::from(verdict.by.as_str())));
    }
    match &verdict.standing {
        Standing::Linearizable => {}
        Standing::Unknown(reason) | Standing::Refused(reason) => {
            line.push_str(&format!(",\"reason\":{}", Value::from(reason.as_str())));
        }
        Standing::Violation(evidence) => {
            line.push_str(&format!(
                ",\"counterexample\":{}",
                counterexample(evidence, files, spec)
            ));
        }
    }
    line.push_str("}\n");
    line
}

/// The evidence as the JSON report tells it, with the file of each operation.
fn counterexample(evidence: &Evidence, files: &[FileInfo], spec: &str) -> Value {
    let name = |file: u32| Value::from(files[file as usize].name.as_str());
    match evidence {
        Evidence::Told { sentence, file, line } => json!({
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
    /// What it says of each part; of several lines the last.
    pub parts: HashMap<PartHash, Known>,
    /// Whether no part is missing.
    pub is_complete: bool,
    /// What could not be read of the log.
    pub problems: Vec<String>,
    /// How many bytes are whole lines.
    whole: u64,
    /// How many bytes there are.
    bytes: u64,
}

impl Contents {
    /// Whether the last line was torn.
    pub fn is_torn(&self) -> bool {
        self.whole < self.bytes
    }

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

    /// Reads a verdict file; `None` if it holds not even one whole line.
    pub fn read(path: &Path) -> Result<Option<Self>, ScaleError> {
        let file = File::open(path).map_err(|error| ScaleError::verdicts(path, error))?;
        let bytes = file.metadata().map_err(|error| ScaleError::verdicts(path, error))?.len();
        let mut reader = BufReader::new(file);
        let mut contents: Option<Contents> = None;
        let (mut text, mut number, mut whole) = (Vec::new(), 0, 0);
        loop {
            text.clear();
            let length = reader
                .read_until(b'\n', &mut text)
                .map_err(|error| ScaleError::verdicts(path, error))?
                as u64;
            number += 1;
            if length == 0 || text.last() != Some(&b'\n') {
                break;
            }
            let wrong = |expected: &str| {
                ScaleError::verdicts(path, format!("line {number}: expected {expected}"))
            };
            let line: Value = serde_json::from_slice(&text).map_err(|_| wrong("JSON"))?;
            match &mut contents {
                None => {
                    let about = About::read(&line).ok_or_else(|| {
                        wrong("the first line of a verdict file (\"seriatim-verdicts\":1)")
                    })?;
                    contents = Some(Contents {
                        about,
                        parts: HashMap::new(),
                        is_complete: false,
                        problems: Vec::new(),
                        whole: 0,
                        bytes,
                    });
                }
                Some(contents) => {
                    contents.add(&line, &text).ok_or_else(|| wrong("a verdict on a part"))?;
                }
            }
            whole += length;
        }
        Ok(contents.map(|contents| Contents { whole, ..contents }))
    }

    fn add(&mut self, line: &Value, text: &[u8]) -> Option<()> {
        if line["end"] == true {
            self.is_complete = true;
            let problems = line["problems"].as_array()?.iter();
            self.problems = problems.filter_map(|p| p.as_str().map(str::to_owned)).collect();
            return Some(());
        }
        self.is_complete = false;
        let hash = PartHash(u64::from_str_radix(line["hash"].as_str()?, 16).ok()?);
        let known = Known {
            label: line["part"].as_str()?.to_owned(),
            operations: line["operations"].as_u64()?,
            word: Word::named(line["verdict"].as_str()?)?,
            line: String::from_utf8(text.to_vec()).ok()?,
        };
        self.parts.insert(hash, known);
        Some(())
    }
}

/// The last line.
pub fn end_line(parts: u64, operations: u64, problems: &[String]) -> String {
    let problems = json!(problems);
    format!(
        "{{\"end\":true,\"parts\":{parts},\"operations\":{operations},\"problems\":{problems}}}\n"
    )
}

/// A verdict file that is being written.
pub struct Writer {
    path: PathBuf,
    file: File,
    /// What was in the file before.
    pub before: Option<Contents>,
}

impl Writer {
    /// Opens a verdict file to append to it; begins one if there is none. A file about something else is
    /// refused.
    pub fn open(path: &Path, about: &About) -> Result<Self, ScaleError> {
        let failed = |error: std::io::Error| ScaleError::verdicts(path, error);
        let before = if path.exists() { Contents::read(path)? } else { None };
        if let Some(contents) = &before {
            let mut difference = contents.about.difference(about);
            if contents.about.shard != about.shard {
                let (a, b) = (contents.about.shard, about.shard);
                let difference = &mut difference;
                difference.get_or_insert(format!(
                    "the shard: {}/{} here, {}/{} there",
                    a.index, a.count, b.index, b.count
                ));
            }
            if let Some(difference) = difference {
                let problem = format!(
                    "holds verdicts on something else ({difference} is asked for); name another file, or \
                     remove it"
                );
                return Err(ScaleError::verdicts(path, problem));
            }
        }
        let mut options = OpenOptions::new();
        let mut file =
            options.create(true).truncate(false).write(true).open(path).map_err(failed)?;
        let whole = before.as_ref().map_or(0, |contents| contents.whole);
        file.set_len(whole).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        let mut writer = Writer { path: path.to_owned(), file, before };
        if writer.before.is_none() {
            writer.append(&about.line())?;
        }
        Ok(writer)
    }

    /// Appends a line.
    pub fn append(&mut self, line: &str) -> Result<(), ScaleError> {
        let written = self.file.write_all(line.as_bytes());
        written.map_err(|error| ScaleError::verdicts(&self.path, format!("cannot write: {error}")))
    }

    /// Says that no part is missing, and waits until the disk has everything.
    pub fn finish(mut self, problems: &[String]) -> Result<(), ScaleError> {
        let contents = Contents::read(&self.path)?;
        let parts = contents.iter().flat_map(|contents| contents.parts.values());
        let (count, operations) =
            parts.fold((0, 0), |(count, sum), known| (count + 1, sum + known.operations));
        self.append(&end_line(count, operations, problems))?;
        let synced = self.file.sync_all();
        synced.map_err(|error| ScaleError::verdicts(&self.path, format!("cannot write: {error}")))
    }
}
