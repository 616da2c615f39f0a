//! The histories that a command reads.

use super::Failure;
use clap::Args;
use seriatim::history::{Format, ReadOptions, expand, read_with};
use seriatim::scale::fingerprint::fingerprint;
use seriatim::scale::judge::SharedReader;
use seriatim::{ChosenReader, Failures, History, InputError, SeriReader, SpecChoice};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which files to read, and how.
#[derive(Args)]
pub struct Input {
    /// Histories: files, patterns such as 'runs/*.edn', or - for standard input; .gz and .zst are
    /// unpacked
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,

    /// The format of the files [default: inferred from their first bytes]
    #[arg(long, value_name = "FORMAT", value_parser = format_named)]
    pub format: Option<Format>,

    /// Jepsen's independent keys: a value is [key value], and each key is an object of its own
    #[arg(long)]
    pub independent: bool,
}

impl Input {
    /// The files that the patterns name.
    pub fn paths(&self) -> Result<Vec<PathBuf>, Failure> {
        Ok(expand(&self.files)?)
    }

    /// Reads one of them.
    pub fn read(&self, path: &Path) -> Result<History, InputError> {
        read_with(path, ReadOptions { format: self.format, independent: self.independent })
    }
}

/// What the histories are held against.
#[derive(Args)]
pub struct Against {
    /// The specification: queue, 'cas-register(init=0)', … (`seriatim specs` lists them), or a file
    /// FILE.seri, FILE.seri#NAME that holds one in the algorithm language [default:
    /// what the file names, or what all specifications that can read it agree on]
    #[arg(long, value_name = "SPEC")]
    pub spec: Option<String>,

    /// A constant of a specification FILE.seri, as in K=4
    #[arg(long = "set", value_name = "NAME=NUMBER", value_parser = constant)]
    pub constants: Vec<(String, i32)>,

    /// What a failed operation (Jepsen's :fail) tells: it did not happen, or it saw that its
    /// condition did not hold (a cas that met another value)
    #[arg(long, value_name = "drop|observe", default_value = "drop", value_parser = failures_named)]
    pub failures: Failures,
}

/// The specification of a history, and how it came to it.
pub struct Chosen {
    pub reader: SharedReader,
    pub by: ChosenBy,
}

/// Who says which specification a history is held against.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ChosenBy {
    /// The user, or the history.
    Name,
    /// Nobody: all specifications that can read it give the same verdict.
    Agreement,
}

impl Against {
    /// The specification for a history. Where nobody names it, every specification that can read the
    /// history is asked (by `decide`, which gives a verdict in a word): only if they all say the same is
    /// one of them taken. So no guess convicts or acquits.
    pub fn choose(
        &self,
        history: &History,
        decide: impl Fn(&ChosenReader) -> Result<&'static str, InputError>,
    ) -> Result<Chosen, Failure> {
        let named = self.spec.as_deref().or(history.spec());
        if let Some(name) = named {
            return Ok(Chosen { reader: self.named(name)?, by: ChosenBy::Name });
        }
        let failed = |reason: String| Failure(format!("{}: {reason}", history.source()));
        let candidates = SpecChoice::candidates(history, self.failures)
            .map_err(|error| failed(error.to_string()))?;
        let readers: Vec<ChosenReader> = candidates
            .into_iter()
            .map(|choice| ChosenReader { choice, failures: self.failures })
            .collect();
        if readers.len() > 1 {
            let mut verdicts = Vec::new();
            for reader in &readers {
                verdicts.push((reader.choice.name(), decide(reader)?));
            }
            if verdicts.iter().any(|(_, verdict)| *verdict != verdicts[0].1) {
                return Err(failed(disagreement(&verdicts)));
            }
        }
        let first = readers.into_iter().next();
        let reader = first.ok_or_else(|| failed("no specification can read it".to_owned()))?;
        Ok(Chosen { reader: Arc::new(reader), by: ChosenBy::Agreement })
    }

    /// The specification for a log that is not read whole and names this one, if any.
    pub fn named_reader(&self, named: Option<&str>) -> Result<SharedReader, Failure> {
        match self.spec.as_deref().or(named) {
            Some(name) => self.named(name),
            None => Err(Failure(
                "a log that is checked from disk must be told its specification: name it with --spec, or in \
                 its first line"
                    .to_owned(),
            )),
        }
    }

    /// What a specification means beyond its name: the text of its file, and its constants.
    pub fn in_words(&self) -> String {
        let file = self.spec.as_deref().and_then(|name| name.split_once(".seri"));
        let text = |(stem, _): (&str, &str)| {
            format!(" text={}", fingerprint(&[format!("{stem}.seri")]).unwrap_or_default())
        };
        let set = |(name, value): &(String, i32)| format!(" {name}={value}");
        let constants = self.constants.iter().map(set);
        file.map(text).into_iter().chain(constants).collect()
    }

    fn named(&self, name: &str) -> Result<SharedReader, Failure> {
        let constants = self.constants.iter().cloned().collect();
        match written(name, &constants)? {
            Some(reader) => Ok(Arc::new(reader)),
            None if !self.constants.is_empty() => {
                Err(Failure(format!("--set: {name} is no file FILE.seri and has no constants")))
            }
            None => {
                let choice = SpecChoice::parse(name)?;
                Ok(Arc::new(ChosenReader { choice, failures: self.failures }))
            }
        }
    }
}

/// What specifications say of a history that names none of them.
fn disagreement(verdicts: &[(&'static str, &'static str)]) -> String {
    let said: Vec<String> =
        verdicts.iter().map(|(name, verdict)| format!("{name}: {verdict}")).collect();
    let options: Vec<String> = verdicts.iter().map(|(name, _)| format!("--spec {name}")).collect();
    format!(
        "the history names no specification, and those that can read it disagree ({}); give one of: {}",
        said.join(", "),
        options.join(", ")
    )
}

/// The specification in the algorithm language that a name means: a service, FILE.seri or FILE.seri#NAME; none if it means
/// something else.
pub fn written(
    name: &str,
    constants: &BTreeMap<String, i32>,
) -> Result<Option<SeriReader>, Failure> {
    let parse = |source: &str, part: Option<&str>, place: &str| {
        let reader = SeriReader::parse_with(source, part, constants);
        reader.map(Some).map_err(|reason| Failure(format!("{place}: {reason}")))
    };
    if let Some(service) = seriatim_services::service(name) {
        return parse(service.source, None, name);
    }
    match name.split_once(".seri") {
        Some((stem, part)) if part.is_empty() || part.starts_with('#') => {
            let path = format!("{stem}.seri");
            let source = std::fs::read_to_string(&path);
            let source = source.map_err(|error| Failure(format!("{path}: {error}")))?;
            parse(&source, part.strip_prefix('#'), &path)
        }
        _ => Ok(None),
    }
}

/// A constant and its value.
pub fn constant(text: &str) -> Result<(String, i32), String> {
    let expected = "expected a constant and its value, as in K=4";
    let (name, value) = text.split_once('=').ok_or(expected)?;
    Ok((name.to_owned(), value.parse().map_err(|_| expected)?))
}

/// The format of a name.
pub fn format_named(name: &str) -> Result<Format, String> {
    name.parse().map_err(|error| format!("{error}"))
}

/// What failed operations tell, by its name.
pub fn failures_named(name: &str) -> Result<Failures, String> {
    match name {
        "drop" => Ok(Failures::Drop),
        "observe" => Ok(Failures::Observe),
        _ => Err("expected drop or observe".to_owned()),
    }
}
