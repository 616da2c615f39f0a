//! A file that others still write to: its end is not the end.
//!
//! Logs that are rotated by cutting them off are read again from their beginning. If they begin
//! with the same header as before, it is left out: what follows belongs to the same stream. A log may
//! have grown beyond the place that was read last before anybody looks: so what stands before that
//! place is compared with what was read there, or events would be skipped without a word.

use crate::command::Failure;
use crate::command::output::remark;
use seriatim::history::path_in_line;
use seriatim::limits::checkpoint_now;
use std::fs::File;
use std::io::{Read, Result, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

/// The pause before looking again.
const PAUSE: Duration = Duration::from_millis(20);

/// How a header begins.
const HEADER: &[u8] = b"{\"seriatim\"";

/// How much of what was read last is remembered.
const TAIL: usize = 64;

/// The longest line that is remembered as a header.
const LONGEST: usize = 1 << 16;

/// The file, and what is known of its beginning.
pub struct Growing {
    file: File,
    /// Whether one can go back in it: it is no pipe.
    is_file: bool,
    /// The last bytes that were read.
    tail: Vec<u8>,
    /// The first line, as far as it was read.
    first_line: Vec<u8>,
    /// How many bytes of a file that was cut are known to be the first line again.
    repeated: Option<usize>,
    /// What was taken for the header and turned out to be something else.
    waiting: Vec<u8>,
}

impl Growing {
    /// Opens a file.
    pub fn open(path: &Path) -> std::result::Result<Self, Failure> {
        let file = File::open(path);
        let file = file.map_err(|error| Failure(format!("{}: {error}", path_in_line(path))))?;
        let is_file = file.metadata().is_ok_and(|file| file.is_file());
        let (tail, first_line, waiting) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Growing { file, is_file, tail, first_line, repeated: None, waiting })
    }

    /// Whether the file ends before the place that was read last.
    fn is_cut(&mut self) -> Result<bool> {
        Ok(self.file.metadata()?.len() < self.file.stream_position()?)
    }

    /// Whether something else stands now before the bytes that were just read than was read there.
    fn is_written_anew(&mut self, read: usize) -> Result<bool> {
        if !self.is_file || self.tail.is_empty() {
            return Ok(false);
        }
        let place = self.file.stream_position()?;
        self.file.seek(SeekFrom::Start(place - (read + self.tail.len()) as u64))?;
        let mut before = [0; TAIL];
        let before = &mut before[..self.tail.len()];
        let is_same = self.file.read_exact(before).is_ok() && *before == self.tail[..];
        self.file.seek(SeekFrom::Start(place))?;
        Ok(!is_same)
    }

    /// Remembers the last bytes.
    fn note_tail(&mut self, read: &[u8]) {
        self.tail.extend_from_slice(&read[read.len().saturating_sub(TAIL)..]);
        self.tail.drain(..self.tail.len().saturating_sub(TAIL));
    }

    /// Remembers the first line.
    fn note_first_line(&mut self, read: &[u8]) {
        if !self.first_line.ends_with(b"\n") && self.first_line.len() < LONGEST {
            let end = read.iter().position(|&byte| byte == b'\n').map_or(read.len(), |at| at + 1);
            self.first_line.extend_from_slice(&read[..end]);
        }
    }

    /// Begins again; a header that was whole may come again.
    fn begin_again(&mut self, why: &str) -> Result<()> {
        remark(&format!("the file {why}: it is read again from its beginning"));
        self.file.rewind()?;
        self.tail.clear();
        // What was held back of the file before it was cut again is gone with it.
        self.waiting.clear();
        let is_header = self.first_line.starts_with(HEADER) && self.first_line.ends_with(b"\n");
        self.repeated = is_header.then_some(0);
        Ok(())
    }

    /// Leaves out what was read as far as it repeats the first line. Returns how many bytes are
    /// left in the buffer.
    fn leave_out_header(&mut self, buffer: &mut [u8], read: usize) -> usize {
        let Some(repeated) = self.repeated else { return read };
        let expected = &self.first_line[repeated..];
        let same = expected.iter().zip(&buffer[..read]).take_while(|(a, b)| a == b).count();
        if same == expected.len() {
            self.repeated = None;
        } else if same == read {
            self.repeated = Some(repeated + same);
        } else {
            // It is another line: all of it must be read.
            self.waiting = [&self.first_line[..repeated], &buffer[..read]].concat();
            self.repeated = None;
            return 0;
        }
        buffer.copy_within(same..read, 0);
        read - same
    }

    /// Hands over what waits.
    fn hand_over(&mut self, buffer: &mut [u8]) -> usize {
        let count = buffer.len().min(self.waiting.len());
        buffer[..count].copy_from_slice(&self.waiting[..count]);
        self.waiting.drain(..count);
        count
    }
}

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            checkpoint_now();
            if !self.waiting.is_empty() {
                return Ok(self.hand_over(buffer));
            }
            match self.file.read(buffer)? {
                0 if self.is_cut()? => self.begin_again("has become shorter")?,
                0 => std::thread::sleep(PAUSE),
                read if self.is_written_anew(read)? => self.begin_again("was written anew")?,
                read => {
                    self.note_tail(&buffer[..read]);
                    self.note_first_line(&buffer[..read]);
                    match self.leave_out_header(buffer, read) {
                        0 => {}
                        left => return Ok(left),
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// What is read of a file that is cut off once, however small the pieces are.
    fn read_of(before: &str, after: &str, piece: usize) -> String {
        let path = std::env::temp_dir().join(format!(
            "seriatim-growing-{}-{piece}-{}",
            std::process::id(),
            after.len()
        ));
        std::fs::write(&path, before).unwrap();
        let mut growing = Growing::open(&path).map_err(|failure| failure.0).unwrap();
        let mut seen = Vec::new();
        let mut take = |count: usize, growing: &mut Growing| {
            let mut left = count;
            while left > 0 {
                let mut buffer = vec![0; piece.min(left)];
                let read = growing.read(&mut buffer).unwrap();
                seen.extend_from_slice(&buffer[..read]);
                left -= read;
            }
        };
        take(before.len(), &mut growing);
        let file = std::fs::OpenOptions::new().write(true).truncate(true).open(&path);
        file.unwrap().write_all(after.as_bytes()).unwrap();
        let header = before.lines().next().unwrap_or("").len() + 1;
        let is_left_out =
            before.starts_with("{\"seriatim\"") && after.starts_with(&before[..header]);
        take(after.len() - if is_left_out { header } else { 0 }, &mut growing);
        std::fs::remove_file(&path).unwrap();
        String::from_utf8(seen).unwrap()
    }

    #[test]
    fn a_header_that_comes_again_is_left_out_and_nothing_else() {
        let header = "{\"seriatim\":1,\"spec\":\"queue\"}\n";
        let event = "{\"process\":1}\n";
        let long = format!("{header}{event}{event}{event}");
        let other = "{\"seriatim\":1,\"spec\":\"stack\"}\n";
        for piece in [1, 2, 7, 1000] {
            assert_eq!(
                read_of(&long, &format!("{header}{event}"), piece),
                format!("{long}{event}")
            );
            assert_eq!(read_of(&long, event, piece), format!("{long}{event}"));
            assert_eq!(read_of(&long, other, piece), format!("{long}{other}"));
            let without = event.repeat(3);
            assert_eq!(read_of(&without, event, piece), format!("{without}{event}"));
            // It has grown beyond what was read before anybody looked.
            let more = format!("{header}{}", "{\"process\":2}\n".repeat(9));
            let events = more.strip_prefix(header).unwrap();
            assert_eq!(read_of(&long, &more, piece), format!("{long}{events}"));
            assert_eq!(read_of(&without, events, piece), format!("{without}{events}"));
        }
    }
}
