//! The warden of the process: limits, signals, and the last word when work does not stop by itself.

use crate::{Reason, account, stop, stopped};
use std::fmt;
use std::io::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The limits of a process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// The time from its start.
    pub time: Option<Duration>,
    /// The resident memory, in bytes.
    pub memory: Option<usize>,
}

/// What is said when the process is ended: the reason, and how far it came, stand between two
/// halves.
#[derive(Clone, Debug, Default)]
pub struct LastWords {
    /// What comes before the reason.
    pub before: String,
    /// Says how far it came and what would help. Must take no memory.
    pub how_far: Option<fn(Reason, &mut dyn fmt::Write) -> fmt::Result>,
    /// What comes after it.
    pub after: String,
    /// The exit code.
    pub exit: u8,
}

/// Why the process ends.
#[derive(Clone, Copy)]
pub(crate) enum Ended {
    /// By a limit, or by somebody.
    By(Reason),
    /// The system gave no memory below the limit.
    Refused,
}

/// Who ends the process.
pub(crate) enum Guarded {
    /// The allocator, in the middle of anything: it must not wait for a lock.
    Allocator,
    /// The warden.
    Warden,
}

/// What will be said. A prepared answer is replaced as the work goes on.
static WORDS: Mutex<Option<LastWords>> = Mutex::new(None);
/// Whether somebody is saying it.
static IS_ENDING: AtomicBool = AtomicBool::new(false);

/// The time between two looks.
const PAUSE: Duration = Duration::from_millis(10);
/// How long work may take to stop after it was asked to, besides a share of its time. In CPU time:
/// on a busy machine work that does nothing wrong takes longer by the clock.
const GRACE: Duration = Duration::from_millis(150);
/// The same by the clock, for work that does nothing but wait.
const PATIENCE: Duration = Duration::from_secs(2);
/// The share of the time limit that stopping may take besides, as a divisor.
const SHARE: u32 = 25;
/// What the resident size may be beyond the limit and a tenth: the program itself, the stacks, a
/// report.
const BEYOND: usize = 24 << 20;
/// The part of it that the account does not see: the program, and what the system's allocator keeps.
const UNSEEN: usize = 8 << 20;

/// Sets the limits of the process and begins to watch them. `start` is when its time began.
pub fn install(limits: Limits, start: Instant) -> std::io::Result<()> {
    system::tune_allocator();
    system::listen_to_signals()?;
    let bound =
        limits.memory.map_or(usize::MAX, |memory| memory.saturating_add(memory / 10 + BEYOND));
    account::limit(limits.memory.unwrap_or(usize::MAX), bound - UNSEEN);
    let warden = Warden { limits, start, bound, asked: None };
    system::set_to_watch(warden)
}

/// Prepares what is said if the process has to be ended, in place of what was prepared before.
pub fn prepare(words: LastWords) {
    if let Ok(mut prepared) = WORDS.lock() {
        *prepared = Some(words);
    }
}

/// Nothing has to be said any more: the answer is out.
pub fn silence() {
    if let Ok(mut prepared) = WORDS.lock() {
        *prepared = None;
    }
}

struct Warden {
    limits: Limits,
    start: Instant,
    bound: usize,
    /// When the work was asked to stop, in CPU time and by the clock.
    asked: Option<(Duration, Instant)>,
}

impl Warden {
    fn watch(mut self) -> ! {
        loop {
            let elapsed = self.start.elapsed();
            let left = self.limits.time.map_or(PAUSE, |time| time.saturating_sub(elapsed));
            std::thread::sleep(left.clamp(Duration::from_millis(1), PAUSE));
            if self.limits.time.is_some_and(|time| self.start.elapsed() >= time) {
                stop(Reason::Time);
            }
            self.look_at_memory();
            self.look_at_work();
        }
    }

    /// The account does not see what the allocator keeps for later, nor stacks: the system does.
    fn look_at_memory(&self) {
        if system::resident().is_some_and(|resident| resident > self.bound) {
            system::give_back();
            if system::resident().is_some_and(|resident| resident > self.bound) {
                stop(Reason::Memory);
                end(Ended::By(Reason::Memory), Guarded::Warden);
            }
        }
    }

    /// Work that was asked to stop and does not is ended. Work that ran out of memory is given
    /// until the bound.
    fn look_at_work(&mut self) {
        let reason = stopped().filter(|&reason| reason != Reason::Memory);
        let Some(reason) = reason else { return };
        let now = system::cpu_time().unwrap_or_else(|| self.start.elapsed());
        let (since, moment) = *self.asked.get_or_insert((now, Instant::now()));
        let share = match reason {
            Reason::Time => self.limits.time.unwrap_or_default() / SHARE,
            _ => Duration::ZERO,
        };
        if now.saturating_sub(since) > GRACE + share || moment.elapsed() > PATIENCE + share {
            end(Ended::By(reason), Guarded::Warden);
        }
    }
}

/// What is said without taking memory.
struct Said;

impl fmt::Write for Said {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        system::print(text);
        Ok(())
    }
}

/// Says the last words and ends the process. It allocates nothing, and nobody can be in its way.
pub(crate) fn end(why: Ended, by: Guarded) {
    if IS_ENDING.swap(true, Ordering::Relaxed) {
        // Another thread is at it, or what it does allocates: let it.
        return;
    }
    let words = match by {
        Guarded::Warden => WORDS.lock().ok(),
        Guarded::Allocator => WORDS.try_lock().ok(),
    };
    let reason = match why {
        Ended::By(reason) => reason.text(),
        Ended::Refused => "the system had no more memory",
    };
    let exit = match words.as_deref() {
        Some(Some(LastWords { before, how_far, after, exit })) => {
            system::print(before);
            system::print(reason);
            if let (Ended::By(reason), Some(how_far)) = (why, how_far) {
                // What goes past all buffers has nobody to fail to.
                let _ = how_far(reason, &mut Said);
            }
            system::print(after);
            *exit
        }
        // The answer is out, or there was nothing to ask yet.
        _ => {
            let mut stderr = std::io::stderr();
            let _ = stderr.write_all(b"unknown: ");
            let _ = stderr.write_all(reason.as_bytes());
            let _ = stderr.write_all(b"\n");
            3
        }
    };
    system::leave(exit);
}

#[cfg(unix)]
mod system {
    //! What only the system knows or does.

    use super::Warden;
    use crate::{Reason, stop, stopped};
    use std::time::Duration;

    /// The stack of the warden.
    const STACK: libc::size_t = 64 << 10;

    /// Lets the warden watch from now on, on a thread that has nothing but a stack: one of the
    /// standard library's prepares itself for all that a thread may do, in a heap of its own, which
    /// takes longer than to read and check a short history.
    pub fn set_to_watch(warden: Warden) -> std::io::Result<()> {
        extern "C" fn watch(warden: *mut libc::c_void) -> *mut libc::c_void {
            // SAFETY: it was made of a box, and nobody else has it.
            let warden = unsafe { Box::from_raw(warden.cast::<Warden>()) };
            warden.watch()
        }
        let warden = Box::into_raw(Box::new(warden));
        let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
        let mut thread = std::mem::MaybeUninit::<libc::pthread_t>::uninit();
        // SAFETY: the attributes are made before they are used, and the warden is handed over. It
        // never ends, so nobody waits for it.
        let failed = unsafe {
            libc::pthread_attr_init(attributes.as_mut_ptr());
            libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK);
            let failed = libc::pthread_create(
                thread.as_mut_ptr(),
                attributes.as_ptr(),
                watch,
                warden.cast(),
            );
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            failed
        };
        if failed == 0 {
            return Ok(());
        }
        // SAFETY: there is no thread that has it.
        drop(unsafe { Box::from_raw(warden) });
        Err(std::io::Error::from_raw_os_error(failed))
    }

    /// Writes to standard output, past all buffers. If nobody can hear it, there is nobody to tell.
    pub fn print(text: &str) {
        let mut bytes = text.as_bytes();
        while !bytes.is_empty() {
            // SAFETY: the buffer is valid for its length.
            let written = unsafe { libc::write(1, bytes.as_ptr().cast(), bytes.len()) };
            match usize::try_from(written) {
                Ok(written) if written > 0 => bytes = &bytes[written..],
                _ => return,
            }
        }
    }

    /// Ends the process, without a look back.
    pub fn leave(code: u8) -> ! {
        // SAFETY: takes no memory of ours.
        unsafe { libc::_exit(i32::from(code)) }
    }

    /// The CPU time of the process.
    pub fn cpu_time() -> Option<Duration> {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to a valid place for the answer.
        let failed = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
        let seconds = u64::try_from(time.tv_sec).ok()?;
        (failed == 0).then(|| Duration::new(seconds, time.tv_nsec as u32))
    }

    /// The resident size of the process, in bytes.
    #[cfg(target_os = "linux")]
    pub fn resident() -> Option<usize> {
        use std::io::Read;
        let mut text = [0; 128];
        let length = std::fs::File::open("/proc/self/statm").ok()?.read(&mut text).ok()?;
        let pages = std::str::from_utf8(&text[..length]).ok()?.split(' ').nth(1)?;
        // SAFETY: asks for a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        Some(pages.parse::<usize>().ok()? * usize::try_from(page).ok()?)
    }

    #[cfg(not(target_os = "linux"))]
    pub fn resident() -> Option<usize> {
        None
    }

    /// Large blocks go back to the system when they are freed, however many there were: then the
    /// resident size follows the account.
    pub fn tune_allocator() {
        // SAFETY: sets numbers of the allocator, before there are other threads.
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        unsafe {
            libc::mallopt(libc::M_MMAP_THRESHOLD, 4 << 20);
            libc::mallopt(libc::M_TRIM_THRESHOLD, 8 << 20);
            libc::mallopt(libc::M_ARENA_MAX, 4);
        }
    }

    /// Gives memory that is free, but was kept for later, back to the system.
    pub fn give_back() {
        // SAFETY: has no conditions.
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        unsafe {
            libc::malloc_trim(0);
        }
    }

    /// The first Ctrl-C or SIGTERM asks the work to stop; the second one ends the process.
    pub fn listen_to_signals() -> std::io::Result<()> {
        let heard: extern "C" fn(libc::c_int) = heard;
        for signal in [libc::SIGINT, libc::SIGTERM] {
            // SAFETY: the handler does only what a handler may: it looks at an atomic and changes
            // it, or ends the process.
            let before = unsafe { libc::signal(signal, heard as libc::sighandler_t) };
            if before == libc::SIG_ERR {
                return Err(std::io::Error::last_os_error());
            }
            if before == libc::SIG_IGN {
                // As under nohup: who ignores a signal for us wants it ignored.
                // SAFETY: as it was.
                unsafe { libc::signal(signal, libc::SIG_IGN) };
            }
        }
        Ok(())
    }

    extern "C" fn heard(signal: libc::c_int) {
        match stopped() {
            Some(Reason::Interrupted) => leave(128 + signal as u8),
            _ => stop(Reason::Interrupted),
        }
    }
}

#[cfg(not(unix))]
mod system {
    //! What is done where the system is not asked: no signals, and time by the clock.

    use super::Warden;
    use std::io::Write;
    use std::time::Duration;

    pub fn set_to_watch(warden: Warden) -> std::io::Result<()> {
        let watch = move || -> () { warden.watch() };
        std::thread::Builder::new().name("warden".to_owned()).spawn(watch).map(drop)
    }

    pub fn print(text: &str) {
        let _ = std::io::stdout().write_all(text.as_bytes());
    }

    pub fn leave(code: u8) -> ! {
        std::process::exit(i32::from(code))
    }

    pub fn cpu_time() -> Option<Duration> {
        None
    }

    pub fn resident() -> Option<usize> {
        None
    }

    pub fn tune_allocator() {}

    pub fn give_back() {}

    pub fn listen_to_signals() -> std::io::Result<()> {
        Ok(())
    }
}

/// Gives memory that is free back to the system, before something large begins.
pub fn give_back() {
    system::give_back();
}
