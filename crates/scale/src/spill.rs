//! Operations that wait on disk, in buckets by the hash of their part.
//!
//! A [`Spill`] has a fixed number of buckets with a small buffer each, so its memory does not
//! depend on how much is spilled. A bucket that is too large to be read back at once is spilled
//! again at the next level, where its parts are spread differently.
//!
//! Temporary files have no name, or none for longer than it takes to open them (where the system
//! allows that), so that nothing is left behind, however the process ends.

use crate::ScaleError;
use crate::record::{put_frame, take_frame, take_number};
use crate::split::PartHash;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of buckets of one level.
pub const BUCKETS: usize = 128;
/// What a bucket buffers before it writes.
const BUFFER: usize = 32 << 10;

/// A folder for temporary files.
#[derive(Clone, Debug)]
pub struct Scratch {
    folder: PathBuf,
}

/// A temporary file. It vanishes with the value, or with the process.
#[derive(Debug)]
pub struct Temporary {
    file: File,
    folder: PathBuf,
    /// Its name, where a file cannot be used without one.
    path: Option<PathBuf>,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // A file that is gone already needs no removing.
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Scratch {
    /// Temporary files go to this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Scratch { folder: folder.into() }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// A new temporary file.
    pub fn file(&self) -> Result<Temporary, ScaleError> {
        let (file, path) = self.create().map_err(|error| self.failed(error))?;
        Ok(Temporary { file, folder: self.folder.clone(), path })
    }

    /// A new file without a name, for whoever keeps it until the process ends.
    pub fn unnamed(&self) -> io::Result<File> {
        match self.create()? {
            (file, None) => Ok(file),
            (file, Some(path)) => {
                drop(file);
                std::fs::remove_file(path)?;
                Err(io::ErrorKind::Unsupported.into())
            }
        }
    }

    /// Creates a file, and the name that it keeps where it cannot be without one.
    fn create(&self) -> io::Result<(File, Option<PathBuf>)> {
        if let Ok(file) = unnamed(&self.folder) {
            return Ok((file, None));
        }
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("seriatim-{}-{number}.tmp", std::process::id());
        let path = self.folder.join(name);
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
        let path = if std::fs::remove_file(&path).is_ok() { None } else { Some(path) };
        Ok((file, path))
    }

    fn failed(&self, error: io::Error) -> ScaleError {
        ScaleError::Spill { folder: self.folder.clone(), error }
    }
}

/// A file that never has a name, so that nothing is left whenever the process is killed; not every
/// system and file system has such files.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_TMPFILE).mode(0o600).open(folder)
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_folder: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

impl Temporary {
    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), ScaleError> {
        self.file.write_all(bytes).map_err(|error| self.failed(error))
    }

    /// Reads from the beginning.
    pub fn rewound(&mut self) -> Result<BufReader<&File>, ScaleError> {
        match self.file.seek(SeekFrom::Start(0)) {
            Ok(_) => Ok(BufReader::with_capacity(BUFFER, &self.file)),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// The error of a failure with this file.
    pub fn failed(&self, error: io::Error) -> ScaleError {
        ScaleError::Spill { folder: self.folder.clone(), error }
    }
}

/// Reads one frame; `None` at the end.
pub fn read_frame(reader: &mut impl Read, operation: &mut Vec<u8>) -> io::Result<Option<u64>> {
    let mut head = [0; 8];
    match reader.read_exact(&mut head[..1]) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    reader.read_exact(&mut head[1..])?;
    let mut length = Vec::with_capacity(2);
    loop {
        let mut byte = [0];
        reader.read_exact(&mut byte)?;
        length.push(byte[0]);
        if byte[0] < 0x80 || length.len() > 9 {
            break;
        }
    }
    let length = take_number(&mut &length[..]).map_err(|_| damaged())?;
    operation.resize(usize::try_from(length).map_err(|_| damaged())?, 0);
    reader.read_exact(operation)?;
    Ok(Some(u64::from_le_bytes(head)))
}

/// The error of a temporary file that is not what was written.
pub fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "a temporary file has changed since it was written")
}

/// Operations of some parts, on disk.
#[derive(Debug)]
pub struct Bucket {
    file: Option<Temporary>,
    buffer: Vec<u8>,
    bytes: u64,
    rows: u64,
    level: u32,
    /// The least and the greatest hash.
    hashes: (u64, u64),
}

impl Bucket {
    fn new(level: u32) -> Self {
        let hashes = (u64::MAX, 0);
        Bucket { file: None, buffer: Vec::new(), bytes: 0, rows: 0, level, hashes }
    }

    /// How many bytes it holds.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many operations it holds.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Whether all its operations are of one part.
    pub fn is_of_one_part(&self) -> bool {
        self.hashes.0 >= self.hashes.1
    }

    fn push(&mut self, scratch: &Scratch, hash: u64, operation: &[u8]) -> Result<(), ScaleError> {
        let before = self.buffer.len();
        put_frame(&mut self.buffer, hash, operation);
        self.bytes += (self.buffer.len() - before) as u64;
        self.rows += 1;
        self.hashes = (self.hashes.0.min(hash), self.hashes.1.max(hash));
        if self.buffer.len() >= BUFFER { self.flush(scratch) } else { Ok(()) }
    }

    fn flush(&mut self, scratch: &Scratch) -> Result<(), ScaleError> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(scratch.file()?),
        };
        file.write(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// All its bytes: frames one after another.
    pub fn load(self) -> Result<Vec<u8>, ScaleError> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.bytes).unwrap_or(0));
        if let Some(mut file) = self.file {
            let read = file.rewound()?.read_to_end(&mut bytes);
            read.map_err(|error| file.failed(error))?;
        }
        bytes.extend_from_slice(&self.buffer);
        Ok(bytes)
    }

    /// Tells of every frame, with little memory.
    pub fn each(
        mut self,
        mut tell: impl FnMut(u64, &[u8]) -> Result<(), ScaleError>,
    ) -> Result<(), ScaleError> {
        let mut operation = Vec::new();
        if let Some(file) = &mut self.file {
            let folder = file.folder.clone();
            let mut reader = file.rewound()?;
            let failed = |error| ScaleError::Spill { folder: folder.clone(), error };
            while let Some(hash) = read_frame(&mut reader, &mut operation).map_err(failed)? {
                tell(hash, &operation)?;
            }
        }
        let mut rest = &self.buffer[..];
        while !rest.is_empty() {
            let frame = take_frame(&mut rest);
            let (hash, operation) = frame.expect("the buffer holds what was put into it");
            tell(hash, operation)?;
        }
        Ok(())
    }
}

/// Operations spread over buckets.
pub struct Spill {
    scratch: Scratch,
    level: u32,
    buckets: Vec<Bucket>,
}

impl Spill {
    /// Empty buckets.
    pub fn new(scratch: &Scratch) -> Self {
        Spill::at(scratch, 0)
    }

    fn at(scratch: &Scratch, level: u32) -> Self {
        let buckets = (0..BUCKETS).map(|_| Bucket::new(level)).collect();
        Spill { scratch: scratch.clone(), level, buckets }
    }

    /// Puts an operation into the bucket of its part.
    #[inline]
    pub fn push(&mut self, part: PartHash, operation: &[u8]) -> Result<(), ScaleError> {
        let bucket = &mut self.buckets[part.bucket(self.level, BUCKETS)];
        bucket.push(&self.scratch, part.0, operation)
    }

    /// How many bytes were spilled.
    pub fn bytes(&self) -> u64 {
        self.buckets.iter().map(Bucket::bytes).sum()
    }

    /// The buckets that are not empty.
    pub fn into_buckets(self) -> impl Iterator<Item = Bucket> {
        self.buckets.into_iter().filter(|bucket| bucket.rows > 0)
    }

    /// The operations of a bucket, spread over buckets of the next level.
    pub fn again(scratch: &Scratch, bucket: Bucket) -> Result<Self, ScaleError> {
        let mut spill = Spill::at(scratch, bucket.level + 1);
        bucket.each(|hash, operation| spill.push(PartHash(hash), operation))?;
        Ok(spill)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn scratch() -> Scratch {
        Scratch::new(std::env::temp_dir())
    }

    #[test]
    fn what_is_spilled_comes_back_by_part_and_in_order_also_from_the_next_level() {
        let mut spill = Spill::new(&scratch());
        let mut expected: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
        for index in 0..60_000u32 {
            let part = PartHash::of(&(index % 300).to_le_bytes());
            let operation = vec![index as u8; (index % 40) as usize];
            spill.push(part, &operation).unwrap();
            expected.entry(part.0).or_default().push(operation);
        }
        let mut seen: BTreeMap<u64, Vec<Vec<u8>>> = BTreeMap::new();
        for (index, bucket) in spill.into_buckets().enumerate() {
            let buckets: Vec<Bucket> = match index % 2 {
                0 => vec![bucket],
                _ => Spill::again(&scratch(), bucket).unwrap().into_buckets().collect(),
            };
            for bucket in buckets {
                let (rows, bytes) = (bucket.rows(), bucket.bytes());
                let loaded = bucket.load().unwrap();
                assert_eq!(loaded.len() as u64, bytes);
                let mut rest = &loaded[..];
                let mut count = 0;
                while !rest.is_empty() {
                    let (hash, operation) = take_frame(&mut rest).unwrap();
                    seen.entry(hash).or_default().push(operation.to_vec());
                    count += 1;
                }
                assert_eq!(count, rows);
            }
        }
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let nowhere = Scratch::new("no/such/folder");
        let error = nowhere.file().unwrap_err().to_string();
        assert!(error.starts_with("no/such/folder: cannot use temporary files"), "{error}");
    }
}
