//! What rows cost in instructions: compared with `instructions.tsv`, or written down there.

use crate::rows::{folder, rows};
use seriatim_testing::{Counts, bless_counts, can_count, compare_counts, instructions};
use std::path::Path;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/compare/instructions.tsv");

/// Compares with what is written down; ends the process with 1 if some row costs more.
pub fn compare(command: &Path) {
    compare_counts(Path::new(FILE), || count_all(command));
}

/// Writes down what rows cost now.
pub fn bless(command: &Path) {
    if let Some(counts) = count_all(command) {
        bless_counts(Path::new(FILE), &counts);
    }
}

/// The instructions of each row that is counted; nothing where there is no valgrind.
fn count_all(command: &Path) -> Option<Counts> {
    if !can_count() {
        return None;
    }
    let folder = folder();
    let counts = rows().into_iter().filter(|row| row.is_counted).filter_map(|row| {
        let file = row.make(command, &folder)?;
        let count = instructions(&row.task.command(command, row.spec, &file, 1));
        row.unmake(&file);
        Some((row.name.to_owned(), count))
    });
    let counts = counts.collect();
    let _ = std::fs::remove_dir(folder);
    Some(counts)
}
