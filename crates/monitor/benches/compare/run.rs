//! One run of a program, and what it cost.

use std::io::Read;
use std::process::{Command, Stdio};

/// What a run cost, and what it printed.
#[derive(Clone, Debug)]
pub struct Cost {
    /// CPU seconds, from the start of the process to its end.
    pub seconds: f64,
    /// The seconds that went by meanwhile.
    pub wall: f64,
    /// The peak of the resident memory, in MB.
    pub peak: f64,
    pub output: String,
    pub code: Option<i32>,
}

/// Runs a program to its end.
pub fn run(command: &mut Command) -> std::io::Result<Cost> {
    let start = std::time::Instant::now();
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut output = String::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_string(&mut output)?;
    }
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::uninit());
    // SAFETY: the child is ours and nobody else waits for it; the call fills both places.
    let usage = unsafe {
        libc::wait4(child.id() as libc::pid_t, &mut status, 0, usage.as_mut_ptr());
        usage.assume_init()
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Cost {
        seconds: seconds(usage.ru_utime) + seconds(usage.ru_stime),
        wall: start.elapsed().as_secs_f64(),
        peak: usage.ru_maxrss as f64 / 1000.0,
        output,
        code: libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)),
    })
}

/// The middle one of some numbers.
pub fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}
