//! What a verdict file is written to: a locked file, or in tests a disk that fails on purpose.

use seriatim_spec::Patient;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::Path;

/// Bytes that are read from the beginning and written at the end. What is written is there after a
/// crash only once [`sync`](Medium::sync) has returned.
pub trait Medium {
    /// Reads from the beginning.
    fn reader(&mut self) -> io::Result<Box<dyn BufRead + '_>>;

    /// Writes at the end.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Cuts off what stands behind a place.
    fn truncate(&mut self, bytes: u64) -> io::Result<()>;

    /// Waits until everything is on the disk.
    fn sync(&mut self) -> io::Result<()>;
}

impl Medium for File {
    fn reader(&mut self) -> io::Result<Box<dyn BufRead + '_>> {
        self.seek(SeekFrom::Start(0))?;
        // It may be a device that never ends a line.
        let file = Patient::file(self.try_clone()?);
        Ok(Box::new(BufReader::with_capacity(256 << 10, file)))
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::End(0))?;
        self.write_all(bytes)
    }

    fn truncate(&mut self, bytes: u64) -> io::Result<()> {
        self.set_len(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Opens a file for the only one who writes it. It is made if there is none, and its name is safe
/// on the disk when this returns.
pub(super) fn open_to_write(path: &Path) -> io::Result<File> {
    let is_new = !path.exists();
    let mut options = OpenOptions::new();
    let file = options.create(true).truncate(false).read(true).write(true).open(path)?;
    unless_taken(file.try_lock(), "another process writes or reads it")?;
    if is_new {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        sync_folder(folder.unwrap_or(Path::new(".")))?;
    }
    Ok(file)
}

/// Opens a file that nobody writes.
pub(super) fn open_to_read(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    unless_taken(file.try_lock_shared(), "a process still writes it")?;
    Ok(file)
}

fn unless_taken(locked: Result<(), TryLockError>, taken: &str) -> io::Result<()> {
    match locked {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(io::Error::new(io::ErrorKind::WouldBlock, taken)),
        Err(TryLockError::Error(error)) => {
            Err(io::Error::new(error.kind(), format!("cannot be locked: {error}")))
        }
    }
}

/// Makes the names in a folder safe, where the system can.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
