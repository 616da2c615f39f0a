//! Reading a source in blocks: line by line, or byte by byte.
//!
//! All readers stand on this one. The memory is one block, whatever the size of the source; only a
//! line longer than the block makes it grow, up to [`LONGEST_LINE`]. Lines end with `\n` or `\r\n`;
//! a byte-order mark at the very beginning is not part of the text.

use crate::{InputError, Problem};
use memchr::{memchr, memrchr};
use seriatim_limits::checkpoint_now;
use std::io::{ErrorKind, Read};
use std::sync::atomic::{AtomicU64, Ordering};

/// How much was read of all sources.
static BYTES: AtomicU64 = AtomicU64::new(0);

/// How many bytes this process has read from sources of histories, decompressed: how far it came,
/// if it is stopped while it reads.
pub fn bytes_read() -> u64 {
    BYTES.load(Ordering::Relaxed)
}

const BLOCK: usize = 128 << 10;

/// The size of the first block: most logs are short, and room that is not used is cleared all the
/// same.
const FIRST: usize = 4 << 10;

/// How many times larger the next one is, until a block has its full size.
const GROWTH: usize = 8;

/// How many bytes of the buffer stay free behind the text.
const SLACK: usize = 8;

/// The longest line that is read; a longer one is an error.
pub(super) const LONGEST_LINE: usize = 64 << 20;

/// A source read in blocks.
pub(super) struct Block<'r> {
    input: &'r mut dyn Read,
    source: &'r str,
    buffer: Vec<u8>,
    /// The unread part of the buffer.
    start: usize,
    end: usize,
    /// How many line ends were passed.
    lines: u64,
    /// How many bytes the buffer has at least when it is filled.
    step: usize,
}

/// One line of a source, without its end.
#[derive(Clone, Copy)]
pub(super) struct Line<'b> {
    pub source: &'b str,
    pub number: u64,
    pub bytes: &'b [u8],
}

impl<'b> Line<'b> {
    /// The error that something else was expected in this line.
    #[cold]
    pub fn expected(&self, expected: &str, found: &[u8]) -> InputError {
        expected_found(self.source, self.number, expected, found)
    }

    /// The line as if it had only these bytes.
    pub fn with_bytes<'c>(&self, bytes: &'c [u8]) -> Line<'c>
    where
        'b: 'c,
    {
        Line { source: self.source, number: self.number, bytes }
    }

    /// Whether there is nothing but blanks.
    pub fn is_blank(&self) -> bool {
        self.bytes.iter().all(u8::is_ascii_whitespace)
    }

    /// The error of a problem in this line.
    #[cold]
    pub fn problem(&self, problem: Problem) -> InputError {
        InputError::new(self.source, self.number, problem)
    }
}

/// A syntax error that shows the found bytes as well as they can be shown.
#[cold]
pub(super) fn expected_found(source: &str, line: u64, expected: &str, found: &[u8]) -> InputError {
    let found = &found[..found.len().min(256)];
    let text: String = String::from_utf8_lossy(found)
        .chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    InputError::syntax(source, line, expected, &text)
}

impl<'r> Block<'r> {
    /// A reader of a source; the name is for messages.
    pub fn new(input: &'r mut dyn Read, source: &'r str) -> Result<Self, InputError> {
        let mut block =
            Block { input, source, buffer: Vec::new(), start: 0, end: 0, lines: 0, step: BLOCK };
        if block.prefix(3)?.starts_with(b"\xef\xbb\xbf") {
            block.start = 3;
        }
        Ok(block)
    }

    /// A reader of a text at hand; `nothing` is an empty source.
    pub fn of_text(text: &[u8], nothing: &'r mut std::io::Empty, source: &'r str) -> Self {
        Block {
            input: nothing,
            source,
            buffer: [text, &[b'\n'; SLACK]].concat(),
            start: 0,
            end: text.len(),
            lines: 0,
            step: 16,
        }
    }

    /// The name of the source.
    pub fn source(&self) -> &'r str {
        self.source
    }

    /// The line of the next byte, counted from 1.
    pub fn line_number(&self) -> u64 {
        self.lines + 1
    }

    /// The next bytes without taking them: at least `len`, or all there are.
    pub fn prefix(&mut self, len: usize) -> Result<&[u8], InputError> {
        while self.end - self.start < len && self.fill()? {}
        Ok(&self.buffer[self.start..self.end])
    }

    /// The next line.
    #[inline]
    pub fn next_line(&mut self) -> Result<Option<Line<'_>>, InputError> {
        let begin = self.start;
        let (begin, end) = match memchr(b'\n', &self.buffer[begin..self.end]) {
            Some(length) => {
                self.start = begin + length + 1;
                (begin, begin + length)
            }
            None => match self.long_line()? {
                Some(bounds) => bounds,
                None => return Ok(None),
            },
        };
        self.lines += 1;
        let bytes = &self.buffer[begin..end];
        Ok(Some(Line {
            source: self.source,
            number: self.lines,
            bytes: bytes.strip_suffix(b"\r").unwrap_or(bytes),
        }))
    }

    /// The unread bytes that are in the buffer, and a few behind them, the first of which is `\n`.
    #[inline]
    pub fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end + SLACK]
    }

    /// The unread bytes that are in the buffer.
    #[inline]
    pub fn at_hand(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Takes a line of this length, its end included, if all of it is in the buffer; its number.
    #[inline]
    pub fn take_line(&mut self, length: usize) -> Option<u64> {
        if length > self.end - self.start {
            return None;
        }
        self.start += length;
        self.lines += 1;
        Some(self.lines)
    }

    /// The bounds of a line whose end is not in the buffer yet.
    #[cold]
    fn long_line(&mut self) -> Result<Option<(usize, usize)>, InputError> {
        let mut searched = 0;
        loop {
            let unread = &self.buffer[self.start + searched..self.end];
            if let Some(length) = memchr(b'\n', unread) {
                let begin = self.start;
                let end = begin + searched + length;
                self.start = end + 1;
                return Ok(Some((begin, end)));
            }
            searched = self.end - self.start;
            if !self.fill()? {
                let bounds = (self.start, self.end);
                self.start = self.end;
                return Ok((searched > 0).then_some(bounds));
            }
        }
    }

    /// The next lines, about so many bytes; none at the end. Their ends are not counted: that is
    /// for whoever takes them apart ([`pass`](Block::pass)).
    pub fn next_lines(&mut self, about: usize) -> Result<Option<Vec<u8>>, InputError> {
        let mut wanted = about;
        loop {
            let text = self.prefix(wanted)?;
            if text.is_empty() {
                return Ok(None);
            }
            // What is shorter than wanted ends where the source does.
            let whole = match text.len() < wanted {
                true => Some(text.len()),
                false => memrchr(b'\n', text).map(|end| end + 1),
            };
            if let Some(length) = whole {
                let lines = text[..length].to_vec();
                self.start += length;
                return Ok(Some(lines));
            }
            wanted = text.len() + 1;
        }
    }

    /// The whole lines that were read and not taken yet, if the source cannot be read on.
    pub fn lines_at_hand(&mut self) -> Option<Vec<u8>> {
        let text = &self.buffer[self.start..self.end];
        let lines = text[..=memrchr(b'\n', text)?].to_vec();
        self.start += lines.len();
        Some(lines)
    }

    /// Counts lines that were taken by [`next_lines`](Block::next_lines).
    pub fn pass(&mut self, lines: u64) {
        self.lines += lines;
    }

    /// The next byte without taking it.
    #[inline]
    pub fn peek(&mut self) -> Result<Option<u8>, InputError> {
        if self.start == self.end && !self.fill()? {
            return Ok(None);
        }
        Ok(Some(self.buffer[self.start]))
    }

    /// Takes the byte that `peek` showed.
    #[inline]
    pub fn take(&mut self) {
        self.lines += u64::from(self.buffer[self.start] == b'\n');
        self.start += 1;
    }

    /// Takes the next bytes as long as they pass, and appends them to `text`.
    pub fn take_while(
        &mut self,
        text: &mut Vec<u8>,
        passes: impl Fn(u8) -> bool,
    ) -> Result<(), InputError> {
        loop {
            let unread = &self.buffer[self.start..self.end];
            let length = unread.iter().position(|&byte| !passes(byte));
            let taken = &unread[..length.unwrap_or(unread.len())];
            text.extend_from_slice(taken);
            self.lines += taken.iter().filter(|&&byte| byte == b'\n').count() as u64;
            self.start += taken.len();
            if text.len() > LONGEST_LINE {
                return Err(self.too_long());
            }
            if length.is_some() || !self.fill()? {
                return Ok(());
            }
        }
    }

    /// The error that something else was expected at the next byte.
    #[cold]
    pub fn expected(&mut self, expected: &str) -> InputError {
        let line = self.line_number();
        let source = self.source;
        match self.prefix(64) {
            Ok(rest) => {
                let end = memchr(b'\n', rest).unwrap_or(rest.len());
                if rest.is_empty() {
                    return InputError::new(
                        source,
                        line,
                        Problem::Syntax {
                            expected: expected.into(),
                            found: "the end of the file".into(),
                        },
                    );
                }
                expected_found(source, line, expected, &rest[..end.max(1)])
            }
            Err(error) => error,
        }
    }

    /// Reads more; `false` at the end of the source.
    fn fill(&mut self) -> Result<bool, InputError> {
        checkpoint_now();
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.end + SLACK >= self.buffer.len() {
            let least = (self.buffer.len() * GROWTH).max(FIRST).min(self.step);
            if self.end >= LONGEST_LINE {
                return Err(self.too_long());
            }
            self.buffer.resize((self.end * 2).max(least) + SLACK, 0);
        }
        let free = self.buffer.len() - SLACK;
        loop {
            match self.input.read(&mut self.buffer[self.end..free]) {
                Ok(read) => {
                    self.end += read;
                    BYTES.fetch_add(read as u64, Ordering::Relaxed);
                    self.buffer[self.end] = b'\n';
                    return Ok(read > 0);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    let problem = Problem::of_reading(&error);
                    return Err(InputError::new(self.source, self.line_number(), problem));
                }
            }
        }
    }

    #[cold]
    fn too_long(&self) -> InputError {
        let expected = format!("a line of at most {} MiB", LONGEST_LINE >> 20);
        let found = &self.buffer[self.start..self.end.min(self.start + 64)];
        expected_found(self.source, self.line_number(), &expected, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives a few bytes at a time, to cut lines everywhere.
    struct Drip<'t>(&'t [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let count = self.1.min(self.0.len()).min(out.len());
            out[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    fn lines(text: &[u8], step: usize) -> Vec<(u64, Vec<u8>)> {
        let mut input = Drip(text, step);
        let mut block = Block::new(&mut input, "text").unwrap();
        let mut lines = Vec::new();
        while let Some(line) = block.next_line().unwrap() {
            lines.push((line.number, line.bytes.to_vec()));
        }
        lines
    }

    #[test]
    fn lines_are_the_same_however_the_source_is_cut() {
        let text = b"\xef\xbb\xbfone\r\n\n two \nlast";
        let expected = vec![
            (1, b"one".to_vec()),
            (2, b"".to_vec()),
            (3, b" two ".to_vec()),
            (4, b"last".to_vec()),
        ];
        for step in 1..=text.len() {
            assert_eq!(lines(text, step), expected, "{step} bytes at a time");
        }
    }

    #[test]
    fn a_line_longer_than_a_block_is_one_line() {
        let mut text = vec![b'x'; 3 * BLOCK];
        text.extend(b"\ny\n");
        let lines = lines(&text, 1000);
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].1.len(), 3 * BLOCK);
        assert_eq!(lines[1], (2, b"y".to_vec()));
    }

    #[test]
    fn an_endless_line_is_an_error_and_not_endless_memory() {
        let mut input = std::io::repeat(b'x');
        let mut block = Block::new(&mut input, "zeros").unwrap();
        let error = block.next_line().err().unwrap();
        assert!(error.to_string().contains("at most 64 MiB"), "{error}");
    }
}
