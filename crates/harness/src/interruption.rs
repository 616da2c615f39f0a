//! Threads that are stopped in the middle of a call, wherever they are, while the others go on.
//!
//! Most defects need a whole call of one thread to happen between two instructions of another.
//! Threads that merely run side by side almost never do that: a call takes a hundred times longer
//! than the gap that it would have to fit into. So each thread has a timer of the system whose
//! signal comes at a moment that nobody chose. If it finds the thread inside a call, its handler
//! keeps it there until the others have made some calls, or all of theirs, or until somebody else
//! is stopped (who then waits for this one: two threads interrupt each other), or until a moment
//! has passed (the others may wait for what this one holds).
//!
//! Nothing is inferred: the thread is slow, as if the system had taken its processor away, and the
//! history is what happened. The handler reads atomics and the clock, and nothing else: it may run
//! inside the allocator. It is installed once for a signal whose default is to be ignored; signals
//! that are none of ours are handed on. Linux only; elsewhere nothing is interrupted.
//!
//! Some system calls (`poll`, `epoll_wait`, whatever has a timeout) end early with `EINTR` when a
//! signal is handled, whatever its handler asks for. A thread that was stopped in one of them is not
//! merely slow: it is told something that it would not have been told without us, and what it makes
//! of that is no word on the object. The handler sees it in the registers that the thread goes on
//! with, and marks the execution as *disturbed*: a failure in it is not believed.

use crate::random::Random;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// What the threads of a batch show each other: how many calls each has made, and how often
/// somebody was stopped.
pub(crate) struct Meeting {
    made: Vec<Made>,
    stops: AtomicU64,
    /// Whether a thread may need the processor of another.
    crowded: bool,
}

/// The calls that a thread has made, on a cache line of its own.
#[repr(align(128))]
#[derive(Default)]
struct Made(AtomicU64);

impl Meeting {
    pub fn of(threads: usize, processors: usize) -> Self {
        Meeting {
            made: (0..threads).map(|_| Made::default()).collect(),
            stops: AtomicU64::new(0),
            crowded: threads > processors,
        }
    }

    /// A thread has made a call.
    pub fn count(&self, thread: usize) {
        self.made[thread].0.fetch_add(1, Ordering::Relaxed);
    }

    /// The calls of all threads.
    pub fn total(&self) -> u64 {
        self.made.iter().map(|made| made.0.load(Ordering::Relaxed)).sum()
    }

    fn of_others(&self, thread: usize) -> u64 {
        self.total() - self.made[thread].0.load(Ordering::Relaxed)
    }
}

/// How a thread that is stopped in an execution waits.
pub(crate) struct Stop<'m> {
    pub meeting: &'m Meeting,
    pub thread: usize,
    /// The calls that the others have made when they are done with the execution.
    pub all: u64,
    /// The calls that are waited for.
    pub calls: u64,
    /// Whether a system call ended early because of a stop.
    pub disturbed: &'m AtomicBool,
}

/// How long a thread takes for its calls when nobody stops it, roughly: the time within which a stop
/// finds it inside of them. A stop that comes later finds nobody, and most executions are short.
pub(crate) struct Pace(u64);

impl Default for Pace {
    fn default() -> Self {
        Pace(10_000)
    }
}

/// The least and the most nanoseconds within which a timer goes off. One that is wound up goes off
/// no sooner than the system comes back.
const WITHIN: std::ops::RangeInclusive<u64> = 2_000..=20_000;

impl Pace {
    /// The time within which a stop is of use.
    pub fn within(&self) -> u64 {
        (self.0 * 3 / 2).clamp(*WITHIN.start(), *WITHIN.end())
    }

    /// An execution took so long. One that took much longer was stopped, or the processor was gone;
    /// if all do, the pace follows slowly.
    pub fn took(&mut self, time: Duration) {
        let time = time.as_nanos() as u64;
        self.0 = match time <= 2 * self.0 {
            true => (self.0 * 7 + time) / 8,
            false => self.0 + self.0 / 32 + 1,
        };
    }
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{Interrupter, inside};

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use std::cell::Cell;
    use std::ptr::{null, null_mut};
    use std::sync::OnceLock;
    use std::sync::atomic::compiler_fence;
    use std::time::Instant;

    /// The longest time that a thread is stopped.
    const LONGEST: Duration = Duration::from_micros(60);

    thread_local! {
        /// How to stop: set while the thread is inside a call. Without a destructor, so that a
        /// handler may look at it at any time.
        static HERE: Cell<*const Stop<'static>> = const { Cell::new(null()) };
        /// Whether the timer of the thread has run down.
        static IDLE: Cell<bool> = const { Cell::new(true) };
        /// Whether the thread has a timer of ours.
        static OURS: Cell<bool> = const { Cell::new(false) };
    }

    /// Makes a call in which the thread may be stopped.
    pub(crate) fn inside<R>(stop: &Stop<'_>, call: impl FnOnce() -> R) -> R {
        HERE.set((&raw const *stop).cast());
        compiler_fence(Ordering::SeqCst);
        let result = call();
        compiler_fence(Ordering::SeqCst);
        HERE.set(null());
        result
    }

    /// What the system calls.
    extern "C" fn on_signal(
        signal: libc::c_int,
        info: *mut libc::siginfo_t,
        context: *mut libc::c_void,
    ) {
        if !OURS.get() {
            return hand_on(signal, info, context);
        }
        IDLE.set(true);
        let here = HERE.replace(null());
        if !here.is_null() {
            // SAFETY: it is set only while `inside` holds a reference.
            let stop = unsafe { &*here };
            // SAFETY: this is what the system gives to a handler with `SA_SIGINFO`.
            if unsafe { ended_early(context) } {
                stop.disturbed.store(true, Ordering::Relaxed);
            }
            stop.wait();
        }
    }

    /// Whether the thread goes on after a system call that returned `EINTR`.
    ///
    /// # Safety
    /// The context is that of a signal handler: the code that the thread goes on with can be read.
    #[cfg(target_arch = "x86_64")]
    unsafe fn ended_early(context: *mut libc::c_void) -> bool {
        const SYSCALL: [u8; 2] = [0x0f, 0x05];
        // SAFETY: as above; a system call lies in front of where its thread goes on.
        unsafe {
            let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
            let next = registers[libc::REG_RIP as usize] as *const u8;
            registers[libc::REG_RAX as usize] == -i64::from(libc::EINTR)
                && next.sub(SYSCALL.len()).cast::<[u8; 2]>().read_unaligned() == SYSCALL
        }
    }

    /// Whether the thread goes on after a system call that returned `EINTR`.
    ///
    /// # Safety
    /// The context is that of a signal handler: the code that the thread goes on with can be read.
    #[cfg(target_arch = "aarch64")]
    unsafe fn ended_early(context: *mut libc::c_void) -> bool {
        const SVC: u32 = 0xd400_0001;
        // SAFETY: as above; a system call lies in front of where its thread goes on.
        unsafe {
            let machine = &(*context.cast::<libc::ucontext_t>()).uc_mcontext;
            machine.regs[0] as i64 == -i64::from(libc::EINTR)
                && (machine.pc as *const u32).sub(1).read_unaligned() == SVC
        }
    }

    impl Stop<'_> {
        fn wait(&self) {
            let Stop { meeting, thread, all, calls, .. } = *self;
            let mine = meeting.stops.fetch_add(1, Ordering::Relaxed) + 1;
            let enough = all.min(meeting.of_others(thread) + calls);
            let begin = Instant::now();
            while meeting.of_others(thread) < enough
                && meeting.stops.load(Ordering::Relaxed) == mine
                && begin.elapsed() < LONGEST
            {
                match meeting.crowded {
                    true => std::thread::yield_now(),
                    false => std::hint::spin_loop(),
                }
            }
        }
    }

    /// The timer of a thread; stays on it, since a pointer does.
    pub(crate) struct Interrupter {
        timer: libc::timer_t,
    }

    impl Interrupter {
        /// A timer for this thread; none if the system does not give one.
        pub fn start() -> Option<Self> {
            HANDLER.get_or_init(install).as_ref()?;
            // SAFETY: all zeros are an event; the call reads it and writes the timer.
            let (made, timer) = unsafe {
                let mut event: libc::sigevent = std::mem::zeroed();
                event.sigev_signo = libc::SIGURG;
                event.sigev_notify = libc::SIGEV_THREAD_ID;
                event.sigev_notify_thread_id = libc::gettid();
                let mut timer = null_mut();
                let clock = libc::CLOCK_MONOTONIC;
                (libc::timer_create(clock, &raw mut event, &raw mut timer), timer)
            };
            OURS.set(made == 0);
            (made == 0).then_some(Interrupter { timer })
        }

        /// Winds the timer up if it has run down: it goes off within a time in nanoseconds.
        pub fn wind(&self, random: &mut Random, within: u64) {
            if !IDLE.replace(false) {
                return;
            }
            // SAFETY: all zeros are a span; the call reads it.
            unsafe {
                let mut once: libc::itimerspec = std::mem::zeroed();
                once.it_value.tv_nsec = 1 + random.below(within) as libc::c_long;
                libc::timer_settime(self.timer, 0, &raw const once, null_mut());
            }
        }
    }

    impl Drop for Interrupter {
        fn drop(&mut self) {
            // SAFETY: the timer is ours. A signal that is under way finds a thread that is outside
            // of calls.
            unsafe { libc::timer_delete(self.timer) };
        }
    }

    /// The action of whoever had the signal before; `None` if ours could not be installed.
    static HANDLER: OnceLock<Option<libc::sigaction>> = OnceLock::new();

    fn install() -> Option<libc::sigaction> {
        if cfg!(miri) {
            return None;
        }
        let handler: extern "C" fn(_, _, _) = on_signal;
        // SAFETY: all zeros are an action; the call reads one and writes the other.
        unsafe {
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = handler as libc::sighandler_t;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            let mut before: libc::sigaction = std::mem::zeroed();
            let installed = libc::sigaction(libc::SIGURG, &raw const ours, &raw mut before);
            (installed == 0).then_some(before)
        }
    }

    /// Lets whoever had the signal before have it.
    fn hand_on(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
        let Some(Some(before)) = HANDLER.get() else { return };
        if ![libc::SIG_DFL, libc::SIG_IGN].contains(&before.sa_sigaction) {
            // SAFETY: the system had the address as a handler; the arguments that it does not take
            // do no harm.
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                unsafe { std::mem::transmute(before.sa_sigaction) };
            handler(signal, info, context);
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::{Interrupter, inside};

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use super::*;

    /// Makes a call; nothing interrupts it here.
    pub(crate) fn inside<R>(_: &Stop<'_>, call: impl FnOnce() -> R) -> R {
        call()
    }

    /// There is none.
    pub(crate) enum Interrupter {}

    impl Interrupter {
        pub fn start() -> Option<Self> {
            None
        }

        pub fn wind(&self, _: &mut Random, _: u64) {
            match *self {}
        }
    }
}
