//! What the tests of the formats share: the corpus and a small random generator.
#![allow(dead_code)]

use std::path::PathBuf;

/// The corpus of real histories, if it is there.
pub fn corpus() -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpus");
    let folder = std::env::var_os("SERIATIM_CORPUS").map_or(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: no corpus at {} (set SERIATIM_CORPUS)", folder.display());
    None
}

/// The files of a folder of the corpus.
pub fn corpus_files(folder: &str) -> Vec<PathBuf> {
    let Some(corpus) = corpus() else {
        return Vec::new();
    };
    let entries = std::fs::read_dir(corpus.join(folder)).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "the corpus has no {folder}");
    files
}

/// A small random generator (splitmix64): the same numbers for the same seed, everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}
