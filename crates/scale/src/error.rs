//! What can keep a log from being decided, said for the person who has to fix it.

use seriatim_history::{InputError, path_in_line};
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why there is no verdict.
#[derive(Debug)]
#[non_exhaustive]
pub enum ScaleError {
    /// The log cannot be read.
    Input(InputError),
    /// Temporary files cannot be written or read.
    Spill {
        /// The folder that they are in.
        folder: PathBuf,
        /// What happened.
        error: io::Error,
    },
    /// A verdict file cannot be used.
    Verdicts {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Another reader of the log failed.
    NotRead {
        /// Why.
        reason: String,
    },
    /// The files cannot be one log.
    NotOneLog {
        /// Why.
        reason: String,
    },
}

impl ScaleError {
    /// A verdict file cannot be used.
    pub fn verdicts(path: impl Into<PathBuf>, problem: impl fmt::Display) -> Self {
        ScaleError::Verdicts { path: path.into(), problem: problem.to_string() }
    }
}

impl fmt::Display for ScaleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScaleError::Input(error) => error.fmt(f),
            ScaleError::Spill { folder, error } if error.kind() == io::ErrorKind::StorageFull => {
                write!(
                    f,
                    "{}: no space is left for temporary files, which need about 40 bytes per operation; \
                     name another folder with --temp",
                    path_in_line(folder)
                )
            }
            ScaleError::Spill { folder, error } => {
                write!(f, "{}: cannot use temporary files: {error}", path_in_line(folder))
            }
            ScaleError::Verdicts { path, problem } => {
                write!(f, "{}: {problem}", path_in_line(path))
            }
            ScaleError::NotRead { reason } => {
                write!(f, "a reader of the log failed, start all processes again: {reason}")
            }
            ScaleError::NotOneLog { reason } => f.write_str(reason),
        }
    }
}

impl std::error::Error for ScaleError {}

impl From<InputError> for ScaleError {
    fn from(error: InputError) -> Self {
        ScaleError::Input(error)
    }
}
