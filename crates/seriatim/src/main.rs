//! The command `seriatim`.

#![forbid(unsafe_code)]

mod command;

use seriatim::limits::account::Counting;
use std::time::Instant;

/// Every byte counts: `--memory` is the memory of the process, not of one engine.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> std::process::ExitCode {
    command::run(Instant::now())
}
