//! Verdict files: what is known of the parts of a log, a line each, appended as it becomes known.
//!
//! ```text
//! {"seriatim-verdicts":2,"input":"5d2c…","spec":"map","options":"…","shard":[0,2],"files":[["run.jsonl",812]],"sum":"…"}
//! {"hash":"00c1…","part":"key 17","operations":1000,"verdict":"linearizable","by":"map monitor","sum":"…"}
//! {"synced":1,"sum":"…"}
//! {"hash":"01f7…","part":"key 3","operations":1003,"verdict":"violation","by":"map monitor","counterexample":{…},"sum":"…"}
//! {"end":true,"synced":3,"parts":50011,"operations":50011003,"lines":"…","problems":[],"sum":"…"}
//! ```
//!
//! The first line says what the verdicts are about; files about different things are never put
//! together. Every line ends with a checksum of itself and of what the file is about, so that an
//! edited line, or one of another file, is refused. A part is *decided* once its line says
//! `linearizable`, `violation` or `refused`, and nothing may be said of it again. `unknown` is
//! tried again by the next run, whose line counts. The line `end` says that no part is missing: how
//! many parts and operations there are, and the sum of the checksums of the lines that count, all
//! of which is compared.
//!
//! *A power cut loses only a suffix.* Lines are appended, and now and then the file is synced. What
//! is written after that begins with a line `synced`, which says how many lines stand before it. So
//! of a file that is read after a crash, everything before the last `synced` or `end` was safe on
//! the disk, and a line there that is not as it was written is *damage*, which is refused. Behind
//! it the disk may have lost, torn, exchanged or repeated what was written; there the file ends at
//! the first line that is not whole, and the parts behind it are decided again. A whole line of
//! JSON whose checksum is wrong is no remnant of a crash but somebody's edit, and is refused
//! wherever it stands.
//!
//! *One writer.* The file is locked as long as it is written; a second writer, and a reader, are
//! refused.
//!
//! Nothing in the line of a part depends on when, where or in which order parts were decided: the
//! sorted lines of parts of two runs can be compared byte by byte.

mod contents;
mod line;
mod medium;
mod writer;

#[cfg(test)]
mod crash_tests;

pub use contents::{Contents, Known, Word};
pub use line::{Line, Totals, end_line};
pub use medium::Medium;
pub use writer::Writer;

use crate::run::Shard;
use crate::scan::FileInfo;
use crate::split::PartHash;
use crate::{ScaleError, fingerprint};
use serde_json::{Value, json};
use std::path::Path;

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

    /// In what two abouts differ, if they cannot be put together. Shards and names of files may
    /// differ.
    pub fn difference(&self, other: &About) -> Option<String> {
        let pairs = [
            ("the log", &self.input, &other.input),
            ("the specification", &self.spec, &other.spec),
            ("the options", &self.options, &other.options),
        ];
        let differs = pairs.iter().find(|(_, a, b)| a != b);
        differs.map(|(what, a, b)| format!("{what}: {a} here, {b} there"))
    }

    /// What the checksums of all lines about the same thing begin with, whatever the shard.
    pub(crate) fn seed(&self) -> u64 {
        PartHash::of(json!([self.input, self.spec, self.options]).to_string().as_bytes()).0
    }

    /// The first line.
    pub fn line(&self) -> String {
        let About { input, spec, options, shard, files } = self;
        let mut line = format!("{{\"seriatim-verdicts\":2,\"input\":{}", json!(input));
        line.push_str(&format!(",\"spec\":{}", json!(spec)));
        line.push_str(&format!(",\"options\":{}", json!(options)));
        line.push_str(&format!(",\"shard\":[{},{}]", shard.index, shard.count));
        line.push_str(&format!(",\"files\":{}", json!(files)));
        line::sealed(0, line)
    }

    fn read(line: &Value) -> Option<Self> {
        let text = |name: &str| line[name].as_str().map(str::to_owned);
        let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
        let shard = Shard { index: number(&line["shard"][0])?, count: number(&line["shard"][1])? };
        let file = |file: &Value| Some((file[0].as_str()?.to_owned(), file[1].as_u64()?));
        let files = line["files"].as_array()?.iter().map(file).collect::<Option<_>>()?;
        (line["seriatim-verdicts"] == 2 && shard.index < shard.count).then_some(())?;
        let (input, spec, options) = (text("input")?, text("spec")?, text("options")?);
        Some(About { input, spec, options, shard, files })
    }
}
