//! The command `seriatim`.

#![forbid(unsafe_code)]

use seriatim::command;
use seriatim::limits::account::Counting;
use std::process::ExitCode;
use std::time::Instant;

/// Every byte counts: `--memory` is the memory of the process, not of one engine.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    ExitCode::from(command::run(std::env::args_os(), Instant::now()))
}
