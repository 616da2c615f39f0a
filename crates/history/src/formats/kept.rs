//! Standard input that can be read again: what is read of it is kept.
//!
//! The first bytes are kept in memory, which is enough for most; what comes then goes to a file.
//! Whoever reads again gets what was kept, and then goes on where the last reader stopped. If the
//! file cannot be written, the reader that is at it is not disturbed; only nobody can read again.

use seriatim_limits::Patient;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Makes the file, once it is needed.
type Make = Box<dyn Fn() -> io::Result<File> + Send>;

/// How much is kept in memory.
const HEAD: usize = 1 << 20;

/// What was read of standard input.
struct Kept {
    make: Make,
    head: Vec<u8>,
    rest: Option<File>,
    /// How much was read.
    length: u64,
    is_whole: bool,
    /// Why some of it is not kept.
    lost: Option<io::ErrorKind>,
}

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

/// Lets standard input be read more than once. `make` makes a file for what memory should not
/// keep.
pub fn keep_stdin(make: impl Fn() -> io::Result<File> + Send + 'static) {
    let (make, head) = (Box::new(make), Vec::new());
    let fresh = Kept { make, head, rest: None, length: 0, is_whole: false, lost: None };
    kept().get_or_insert(fresh);
}

/// Whether standard input can be read again.
pub fn is_stdin_kept() -> bool {
    kept().is_some()
}

/// A reader that was left in the middle has kept what it read: it is not worse for it.
fn kept() -> MutexGuard<'static, Option<Kept>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Kept {
    /// Keeps what was read next.
    fn keep(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.length += bytes.len() as u64;
        if self.rest.is_none() && self.head.len() + bytes.len() <= HEAD {
            self.head.extend_from_slice(bytes);
            return Ok(());
        }
        if self.rest.is_none() {
            self.rest = Some((self.make)()?);
        }
        let rest = self.rest.as_mut().expect("it was just made");
        rest.seek(SeekFrom::End(0))?;
        rest.write_all(bytes)
    }

    /// What was kept from a byte on.
    fn read_at(&mut self, at: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let head = self.head.len() as u64;
        if let Some(mut left) = (at < head).then(|| &self.head[at as usize..]) {
            return left.read(buffer);
        }
        let rest = self.rest.as_mut().expect("what is not in the head is in the file");
        rest.seek(SeekFrom::Start(at - head))?;
        rest.read(buffer)
    }
}

/// Standard input from its beginning.
pub(super) struct Stdin<R> {
    input: R,
    at: u64,
}

/// Standard input, from its beginning if it is kept.
pub(super) fn stdin() -> io::Result<Box<dyn Read>> {
    let input = Patient::stdin()?;
    Ok(if is_stdin_kept() { Box::new(Stdin { input, at: 0 }) } else { Box::new(input) })
}

impl<R: Read> Read for Stdin<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut kept = kept();
        let kept = kept.as_mut().expect("it is kept for good");
        let read = if self.at < kept.length {
            if let Some(kind) = kept.lost {
                let reason = "standard input can be read only once: it could not be kept";
                return Err(io::Error::new(kind, reason));
            }
            kept.read_at(self.at, buffer)?
        } else if kept.is_whole {
            0
        } else {
            let read = self.input.read(buffer)?;
            kept.is_whole = read == 0 && !buffer.is_empty();
            if kept.lost.is_some() {
                kept.length += read as u64;
            } else if let Err(error) = kept.keep(&buffer[..read]) {
                kept.lost = Some(error.kind());
            }
            read
        };
        self.at += read as u64;
        Ok(read)
    }
}
