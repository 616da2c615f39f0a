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

/// How often the size of a process is looked at.
const LOOK: Duration = Duration::from_millis(1);

/// Waits for a process and tells what it took. Its output should be read meanwhile.
///
/// The system counts the size of whoever started a process as a size of the process, so its own
/// high-water mark is read for as long as it runs, where there is one.
#[cfg(unix)]
pub fn wait(child: Child) -> io::Result<Usage> {
    use std::os::unix::process::ExitStatusExt;
    let process = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let mut peak = None;
    while is_running(process)? {
        peak = high_water(process).max(peak);
        std::thread::sleep(LOOK);
    }
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
        peak: peak.unwrap_or(usage.ru_maxrss as u64 * unit),
        cpu: time(usage.ru_utime) + time(usage.ru_stime),
        status: ExitStatus::from_raw(status),
    })
}

/// Whether a child has not ended yet; it is not waited for.
#[cfg(unix)]
fn is_running(process: libc::pid_t) -> io::Result<bool> {
    // SAFETY: numbers may all be zero.
    let mut ended: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the pointer is to a valid place for the answer.
    match unsafe { libc::waitid(libc::P_PID, process as libc::id_t, &mut ended, how) } {
        // SAFETY: `waitid` has filled it in, or left its zeros.
        0 => Ok(unsafe { ended.si_pid() } == 0),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The largest resident size of a process so far, in bytes; `None` where the system does not tell.
#[cfg(unix)]
fn high_water(process: libc::pid_t) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
