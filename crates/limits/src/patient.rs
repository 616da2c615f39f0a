//! Reading from somebody who may never write: a pipe, a terminal, a device.

use crate::checkpoint_now;
use std::fs::File;
use std::io::{self, Read};

/// A source that can be left while nothing comes.
///
/// Each read is a place at which work can be left, and so is each moment of waiting.
pub struct Patient<R>(R);

impl Patient<File> {
    /// Standard input, past the buffer of the standard library: what waits in a buffer is not seen
    /// by who waits for the system.
    #[cfg(unix)]
    pub fn stdin() -> io::Result<Self> {
        use std::os::fd::AsFd;
        Ok(Patient(File::from(io::stdin().as_fd().try_clone_to_owned()?)))
    }

    /// A file that is open; it may be a pipe.
    pub fn file(file: File) -> Self {
        Patient(file)
    }
}

#[cfg(not(unix))]
impl Patient<io::Stdin> {
    /// Standard input.
    pub fn stdin() -> io::Result<Self> {
        Ok(Patient(io::stdin()))
    }
}

#[cfg(unix)]
impl<R: Read + std::os::fd::AsRawFd> Read for Patient<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !is_ready(self.0.as_raw_fd()) {
            checkpoint_now();
        }
        checkpoint_now();
        self.0.read(buffer)
    }
}

#[cfg(not(unix))]
impl<R: Read> Read for Patient<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        checkpoint_now();
        self.0.read(buffer)
    }
}

/// Waits a moment; whether there is something to read, its end, or an error.
#[cfg(unix)]
fn is_ready(fd: std::os::fd::RawFd) -> bool {
    let mut asked = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one valid place is asked about.
    let answer = unsafe { libc::poll(&mut asked, 1, 20) };
    answer != 0 && !(answer < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted)
}
