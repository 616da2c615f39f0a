//! The histories that a command reads.

use super::map::{Keys, Mapping};
use super::{Failure, limits};
use clap::Args;
use seriatim::history::{Format, ReadOptions, expand, path_in_line, read_on, read_with};
use seriatim::limits::Patient;
use seriatim::question::{Question as Asked, Specified};
use seriatim::scale::fingerprint::fingerprint;
use seriatim::scale::judge::SharedReader;
use seriatim::{Failures, History, InputError, Options};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Which files to read, and how.
#[derive(Args, Default)]
#[cfg_attr(test, derive(Debug))]
pub struct Input {
    /// Histories: files, patterns such as 'runs/*.edn', or - for standard input; .gz and .zst files
    /// are decompressed
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<String>,

    /// The format of the files [default: inferred from their first bytes]
    #[arg(long, value_name = "FORMAT", value_parser = format_named)]
    pub format: Option<Format>,

    /// Jepsen's independent keys: every value is [key value], and each key is a separate object
    #[arg(long)]
    pub independent: bool,

    #[command(flatten)]
    pub mapping: Mapping,
}

/// The text of a file that is read whole. It may be a pipe or a device that never ends: limits end
/// that.
pub fn text_of(path: &Path) -> Result<String, Failure> {
    let name = path_in_line(path);
    limits::prepare(&name);
    let mut text = String::new();
    let read = patient(path).and_then(|mut file| file.read_to_string(&mut text));
    read.map_err(|error| Failure(format!("{name}: cannot read: {error}")))?;
    Ok(text)
}

/// The bytes of a secret: a megabyte at most.
#[cfg(feature = "cluster")]
pub fn secret_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    patient(path)?.take(1 << 20).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn patient(path: &Path) -> io::Result<Patient<File>> {
    File::open(path).map(Patient::file)
}

impl Input {
    /// The files that the patterns name. What they mean is read before them.
    pub fn paths(&self) -> Result<Vec<PathBuf>, Failure> {
        self.mapping.load(if self.independent { Keys::Independent } else { Keys::AsMapped })?;
        Ok(expand(&self.files)?)
    }

    /// Whether each key of the log is an object of its own, as the command or its map says.
    pub fn is_independent(&self) -> bool {
        self.independent || self.mapping.is_independent()
    }

    /// Reads some of them as one log.
    pub fn read_log(&self, log: &[PathBuf], threads: usize) -> Result<History, Failure> {
        match (log, self.mapping.read(log)) {
            (_, Some(mapped)) => Ok(mapped?),
            ([path], None) => Ok(read_on(path, self.options(), threads)?),
            (_, None) => {
                Err(Failure("several files are one log only with --map or --one-log".to_owned()))
            }
        }
    }

    /// Reads some of them as one log, whole, in memory.
    pub fn read_joined(&self, name: &str, log: &[PathBuf]) -> Result<History, InputError> {
        match (log, self.mapping.read(log)) {
            (_, Some(mapped)) => mapped,
            ([path], None) => read_with(path, self.options()),
            (_, None) => {
                let parts: Result<Vec<History>, InputError> =
                    log.iter().map(|path| read_with(path, self.options())).collect();
                History::joined(name, &parts?)
            }
        }
    }

    /// Reads one of them.
    pub fn read(&self, path: &Path) -> Result<History, InputError> {
        if let Some(mapped) = self.mapping.read(&[path.to_owned()]) {
            return mapped;
        }
        read_with(path, self.options())
    }

    fn options(&self) -> ReadOptions {
        ReadOptions { format: self.format, independent: self.independent }
    }
}

/// What the histories are held against.
#[derive(Args, Default)]
#[cfg_attr(test, derive(Debug))]
pub struct Against {
    /// The specification: queue, 'cas-register(init=0)', … (`seriatim specs` lists them), or a file
    /// FILE.seri or FILE.seri#NAME with one in the algorithm language [default: the one that the
    /// history names; if it names none, every specification that can read it is asked, and they
    /// must agree]
    #[arg(long, value_name = "SPEC")]
    pub spec: Option<String>,

    /// Set a constant of a specification FILE.seri, as in K=4
    #[arg(long = "set", value_name = "NAME=NUMBER", value_parser = constant)]
    pub constants: Vec<(String, i32)>,

    /// What a failed operation (Jepsen's :fail) means: it did not happen, or it observed that its
    /// condition did not hold (a cas that found another value)
    #[arg(long, value_name = "drop|observe", default_value = "drop", value_parser = failures_named)]
    pub failures: Failures,
}

impl Against {
    /// What is asked of histories that are held against it.
    pub fn question<'q>(&'q self, options: Options<'q>) -> Asked<'q> {
        Asked {
            spec: self.spec.as_deref().map_or(Specified::ByHistory, Specified::Name),
            constants: self.constants.iter().cloned().collect(),
            failures: self.failures,
            options,
        }
    }

    /// The specification for a log that is not read whole and names this one, if any.
    pub fn named_reader(&self, named: Option<&str>) -> Result<SharedReader, Failure> {
        match self.spec.as_deref().or(named) {
            Some(name) => Ok(self.question(Options::default()).named(name)?),
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
