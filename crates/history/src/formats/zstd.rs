//! Logs that zstd has compressed: every frame of a file, one after another, with its checksum.
//!
//! The decoder knows single frames only. A file may be several (`cat a.zst b.zst`, or a writer that
//! flushes), with frames between them that readers must skip; to stop after the first would lose
//! operations without a word, and a history with operations missing may get the wrong verdict.

use crate::failure_behind;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, Read};

/// Whether a source that begins with these four bytes is zstd's: a frame, or one to be skipped.
pub(super) fn begins_with(magic: &[u8]) -> bool {
    matches!(magic, [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18])
}

/// How much is decoded at a time.
const AT_A_TIME: usize = 1 << 16;

/// The content of all frames of a source.
pub(super) struct ZstdReader<R> {
    source: BufReader<R>,
    decoder: FrameDecoder,
    /// Whether the decoder is in the middle of a frame.
    in_frame: bool,
}

impl<R: Read> ZstdReader<R> {
    pub(super) fn new(source: R) -> Self {
        ZstdReader { source: BufReader::new(source), decoder: FrameDecoder::new(), in_frame: false }
    }

    /// Begins the next frame, if there is one, or skips one that is there to be skipped.
    fn begin_frame(&mut self) -> io::Result<()> {
        match self.decoder.reset(&mut self.source) {
            Ok(()) => self.in_frame = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let skipped =
                    io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
                if skipped < length.into() {
                    return Err(damaged("it ends within a frame"));
                }
            }
            Err(error) => return Err(failed(&error)),
        }
        Ok(())
    }

    /// Ends a frame of which everything was read: what was decoded must be what was compressed.
    fn end_frame(&mut self) -> io::Result<()> {
        self.in_frame = false;
        let stored = self.decoder.get_checksum_from_data();
        if stored.is_some() && stored != self.decoder.get_calculated_checksum() {
            return Err(damaged("a checksum is wrong"));
        }
        Ok(())
    }
}

impl<R: Read> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.in_frame {
                if self.source.fill_buf()?.is_empty() {
                    return Ok(0);
                }
                self.begin_frame()?;
                continue;
            }
            let read = self.decoder.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            if self.decoder.is_finished() {
                self.end_frame()?;
                continue;
            }
            let portion = BlockDecodingStrategy::UptoBytes(AT_A_TIME);
            self.decoder
                .decode_blocks(&mut self.source, portion)
                .map_err(|error| failed(&error))?;
        }
    }
}

/// The error of the decoder: the system failed, or the data are damaged.
fn failed(error: &FrameDecoderError) -> io::Error {
    failure_behind(error).unwrap_or_else(|| damaged(&error.to_string()))
}

fn damaged(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged zstd data: {reason}"))
}
