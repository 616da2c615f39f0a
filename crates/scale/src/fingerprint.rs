//! What tells one log from another: the sizes of its files and a hash of every byte of them.
//!
//! Verdicts of different runs are put together, and a run goes on where another ended, only if they
//! are about the same log. A verdict that is kept depends on all of the log, so all of it is
//! hashed: samples would let an edited line pass for the line that was judged. That costs a small
//! part of the scan, which reads the same bytes. The fingerprint guards against mistakes, not
//! against malice.

use crate::ScaleError;
use crate::split::{PartHash, stirred};
use seriatim_history::{InputError, Problem, name_of};
use std::fs::File;
use std::io::Read;
use std::path::Path;

const BLOCK: usize = 1 << 20;

/// The fingerprint of a log, 16 hexadecimal digits. The names of the files do not count, their
/// order does.
pub fn fingerprint<P: AsRef<Path>>(files: &[P]) -> Result<String, ScaleError> {
    let mut all = Vec::new();
    for path in files {
        let path = path.as_ref();
        let hash = of_file(path).map_err(|error| {
            let problem = Problem::of_reading(&error);
            InputError::new(&name_of(path), 0, problem)
        })?;
        all.extend_from_slice(&hash.to_le_bytes());
    }
    Ok(format!("{:016x}", PartHash::of(&all).0))
}

fn of_file(path: &Path) -> std::io::Result<u64> {
    let mut file = File::open(path)?;
    let mut block = vec![0; BLOCK];
    let (mut hash, mut length) = (0, 0);
    loop {
        let filled = fill(&mut file, &mut block)?;
        hash = of_block(hash, &block[..filled]);
        length += filled as u64;
        if filled < BLOCK {
            return Ok(stirred(hash ^ stirred(length)));
        }
    }
}

/// Reads until the block is full or the file ends, so that blocks are the same however a read is
/// cut.
fn fill(file: &mut File, block: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < block.len() {
        match file.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Eight bytes at a time; each step can be undone, so a single changed word always shows.
fn of_block(mut hash: u64, block: &[u8]) -> u64 {
    let mut step = |word: u64| {
        hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    };
    let words = block.chunks_exact(8);
    let rest = words.remainder();
    words.for_each(|word| step(u64::from_le_bytes(word.try_into().expect("eight bytes"))));
    rest.iter().for_each(|&byte| step(u64::from(byte)));
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_single_byte_of_a_log_counts() {
        let path = std::env::temp_dir().join(format!("seriatim-log-{}", std::process::id()));
        let mut log: Vec<u8> = (0..3000u32).map(|byte| (byte % 251) as u8).collect();
        let of = |log: &[u8]| {
            std::fs::write(&path, log).unwrap();
            fingerprint(&[&path]).unwrap()
        };
        let first = of(&log);
        for place in (0..log.len()).step_by(7) {
            log[place] ^= 1;
            assert_ne!(of(&log), first, "byte {place}");
            log[place] ^= 1;
        }
        assert_ne!(of(&log[..2999]), first);
        assert_eq!(of(&log), first);
        std::fs::remove_file(&path).unwrap();
    }
}
