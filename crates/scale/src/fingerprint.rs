//! What tells one log from another: the sizes of its files and samples of their content.
//!
//! Verdicts of different runs are put together only if they are about the same log. Reading all of a large
//! log for that would cost as much as a scan, so the first and last 64 KiB of each file and 64 blocks of
//! 4 KiB between them are hashed. A change of a few bytes in the middle that keeps the size may go
//! unnoticed: the fingerprint guards against mistakes, not against malice.

use crate::ScaleError;
use crate::split::PartHash;
use seriatim_history::{InputError, Problem};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

const EDGE: u64 = 64 << 10;
const SAMPLE: u64 = 4 << 10;
const SAMPLES: u64 = 64;

/// The fingerprint of a log, 16 hexadecimal digits. The names of the files do not count, their order does.
pub fn fingerprint<P: AsRef<Path>>(files: &[P]) -> Result<String, ScaleError> {
    let mut all = Vec::new();
    for path in files {
        let path = path.as_ref();
        let hash = of_file(path).map_err(|error| {
            let problem = Problem::Unreadable(error.to_string());
            InputError::new(&path.display().to_string(), 0, problem)
        })?;
        all.extend_from_slice(&hash.to_le_bytes());
    }
    Ok(format!("{:016x}", PartHash::of(&all).0))
}

fn of_file(path: &Path) -> std::io::Result<u64> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut sampled = length.to_le_bytes().to_vec();
    let mut sample = |from: u64, bytes: u64| {
        file.seek(SeekFrom::Start(from))?;
        Read::by_ref(&mut file).take(bytes).read_to_end(&mut sampled)
    };
    sample(0, EDGE)?;
    for index in 1..=SAMPLES {
        sample(length / (SAMPLES + 1) * index, SAMPLE)?;
    }
    sample(length.saturating_sub(EDGE), EDGE)?;
    Ok(PartHash::of(&sampled).0)
}
