//! What another process takes, as the system tells it.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::Duration;

/// What a process took until it ended.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// The largest resident size, in bytes.
    pub peak: u64,
    /// The CPU time of all its threads.
    pub cpu: Duration,
    /// How it ended.
    pub status: ExitStatus,
}

/// Waits for a process and tells what it took. Its output should be read meanwhile.
#[cfg(unix)]
pub fn wait(child: Child) -> io::Result<Usage> {
    use std::os::unix::process::ExitStatusExt;
    let process = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let mut status = 0;
    // SAFETY: numbers may all be zero.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to valid places for the answer.
    if unsafe { libc::wait4(process, &mut status, 0, &mut usage) } != process {
        return Err(io::Error::last_os_error());
    }
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    };
    // Kilobytes on Linux, bytes on macOS.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    Ok(Usage {
        peak: usage.ru_maxrss as u64 * unit,
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        status: ExitStatus::from_raw(status),
    })
}
