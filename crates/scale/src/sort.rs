//! Sorting more operations than fit in memory: sorted runs on disk, merged.
//!
//! Operations are sorted by a number (their call), equal ones stay in the order in which they came.
//! A run is as large as the memory given; when there are `FAN` runs of a level they are merged into
//! one of the next, so that no merge has more than that many files open and every operation is
//! written once a level.

use crate::ScaleError;
use crate::record::{put_frame, take_frame};
use crate::spill::{Scratch, Temporary, read_frame};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::BufReader;

/// How many runs are merged at once.
const FAN: usize = 32;
/// What is written at once.
const BLOCK: usize = 256 << 10;

/// Takes operations in any order and gives them back sorted.
pub struct Sorter {
    scratch: Scratch,
    /// How many bytes a run may have.
    most: usize,
    frames: Vec<u8>,
    /// The number and the place of each frame.
    index: Vec<(u64, usize)>,
    /// The runs of each level, the oldest first.
    levels: Vec<Vec<Temporary>>,
}

impl Sorter {
    /// A sorter that keeps about so many bytes in memory.
    pub fn new(scratch: &Scratch, memory: usize) -> Self {
        let most = (memory / 2).max(BLOCK);
        let (frames, index, levels) = (Vec::new(), Vec::new(), Vec::new());
        Sorter { scratch: scratch.clone(), most, frames, index, levels }
    }

    /// Adds an operation.
    pub fn push(&mut self, number: u64, operation: &[u8]) -> Result<(), ScaleError> {
        self.index.push((number, self.frames.len()));
        put_frame(&mut self.frames, number, operation);
        if self.frames.len() >= self.most { self.write_run() } else { Ok(()) }
    }

    fn write_run(&mut self) -> Result<(), ScaleError> {
        // Places grow in the order in which operations came.
        self.index.sort_unstable();
        let mut out = Output { file: self.scratch.file()?, block: Vec::new() };
        for &(_, place) in &self.index {
            let mut rest = &self.frames[place..];
            let (number, operation) =
                take_frame(&mut rest).expect("the frames are what was put there");
            out.put(number, operation)?;
        }
        self.index.clear();
        self.frames.clear();
        let run = out.finish()?;
        self.add_run(0, run)
    }

    fn add_run(&mut self, level: usize, run: Temporary) -> Result<(), ScaleError> {
        if self.levels.len() == level {
            self.levels.push(Vec::new());
        }
        self.levels[level].push(run);
        if self.levels[level].len() < FAN {
            return Ok(());
        }
        let runs = std::mem::take(&mut self.levels[level]);
        let mut out = Output { file: self.scratch.file()?, block: Vec::new() };
        merge(runs, |number, operation| out.put(number, operation))?;
        let run = out.finish()?;
        self.add_run(level + 1, run)
    }

    /// Tells of all operations in order.
    pub fn each(
        mut self,
        tell: impl FnMut(u64, &[u8]) -> Result<(), ScaleError>,
    ) -> Result<(), ScaleError> {
        if !self.index.is_empty() {
            self.write_run()?;
        }
        // What a higher level holds came earlier.
        let runs: Vec<Temporary> = self.levels.into_iter().rev().flatten().collect();
        merge(runs, tell)
    }
}

struct Output {
    file: Temporary,
    block: Vec<u8>,
}

impl Output {
    fn put(&mut self, number: u64, operation: &[u8]) -> Result<(), ScaleError> {
        put_frame(&mut self.block, number, operation);
        if self.block.len() < BLOCK {
            return Ok(());
        }
        self.file.write(&self.block)?;
        self.block.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<Temporary, ScaleError> {
        self.file.write(&self.block)?;
        Ok(self.file)
    }
}

/// Merges runs; of equal numbers the earlier run comes first.
fn merge(
    mut runs: Vec<Temporary>,
    mut tell: impl FnMut(u64, &[u8]) -> Result<(), ScaleError>,
) -> Result<(), ScaleError> {
    let Some(first) = runs.first() else { return Ok(()) };
    let folder = first.failed(std::io::Error::other("unreadable"));
    let ScaleError::Spill { folder, .. } = folder else { return Err(folder) };
    let failed = |error| ScaleError::Spill { folder: folder.clone(), error };
    let mut readers: Vec<(BufReader<&File>, Vec<u8>)> = Vec::new();
    for run in &mut runs {
        readers.push((run.rewound()?, Vec::new()));
    }
    let mut heads = BinaryHeap::new();
    for (index, (reader, operation)) in readers.iter_mut().enumerate() {
        heads.extend(read_frame(reader, operation).map_err(failed)?.map(|n| Reverse((n, index))));
    }
    while let Some(Reverse((number, index))) = heads.pop() {
        let (reader, operation) = &mut readers[index];
        tell(number, operation)?;
        heads.extend(read_frame(reader, operation).map_err(failed)?.map(|n| Reverse((n, index))));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_runs_come_out_sorted_and_equal_ones_in_their_order() {
        let scratch = Scratch::new(std::env::temp_dir());
        let mut sorter = Sorter::new(&scratch, 0);
        sorter.most = 300;
        let mut expected = Vec::new();
        let mut seed = 5u64;
        for index in 0..30_000u32 {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let number = (seed >> 40) % 500;
            sorter.push(number, &index.to_le_bytes()).unwrap();
            expected.push((number, index));
        }
        assert!(sorter.levels.len() > 2, "more than one merge was needed");
        expected.sort();
        let mut seen = Vec::new();
        let note = |number, operation: &[u8]| {
            seen.push((number, u32::from_le_bytes(operation.try_into().unwrap())));
            Ok(())
        };
        sorter.each(note).unwrap();
        assert_eq!(seen, expected);
    }
}
