//! Threads that are stopped in the middle of a call, wherever they are, while the others go on.
//!
//! Most defects need a whole call of one thread to happen between two instructions of another. Threads
//! that merely run side by side almost never do that: a call takes a hundred times longer than the
//! gap that it would have to fit into. So each thread has a timer of the system whose signal comes
//! at a moment that nobody chose. If it finds the thread inside a call, its handler keeps it there
//! until the others have made some calls, or all of theirs, or until somebody else is stopped (who
//! then waits for this one: two threads interrupt each other), or until a moment has passed (the
//! others may wait for what this one holds).
//!
//! Nothing is inferred: the thread is slow, as if the system had taken its processor away, and the
//! history is what happened. The handler reads atomics and the clock, and nothing else: it may run
//! inside the allocator. It is installed once for a signal whose default is to be ignored; signals
//! that are none of ours are handed on. Linux only; elsewhere nothing is interrupted.

use crate::random::Random;
use std::sync::atomic::{AtomicU64, Ordering};

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
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{Interrupter, inside};

#[cfg(target_os = "linux")]
mod linux {
    use super::*;
    use std::cell::Cell;
    use std::ptr::null;
    use std::sync::OnceLock;
    use std::sync::atomic::compiler_fence;
    use std::time::{Duration, Instant};

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
    extern "C" fn on_signal(signal: i32, info: *mut u8, context: *mut u8) {
        if !OURS.get() {
            return hand_on(signal, info, context);
        }
        IDLE.set(true);
        let here = HERE.replace(null());
        if !here.is_null() {
            // Sound: it is set only while `inside` holds a reference.
            unsafe { &*here }.wait();
        }
    }

    impl Stop<'_> {
        fn wait(&self) {
            let Stop { meeting, thread, all, calls } = *self;
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

    /// The timer of a thread; stays on it.
    pub(crate) struct Interrupter {
        timer: i32,
        _stays: std::marker::PhantomData<*const ()>,
    }

    impl Interrupter {
        /// A timer for this thread; none if the system does not give one.
        pub fn start() -> Option<Self> {
            HANDLER.get_or_init(install).as_ref()?;
            let mut event =
                Event { value: 0, signal: SIGURG, notify: TO_THREAD, thread: 0, rest: [0; 11] };
            let mut timer = 0_i32;
            // Sound: the calls write and read what they are given.
            let made = unsafe {
                event.thread = syscall(calls::GETTID) as i32;
                syscall(calls::TIMER_CREATE, MONOTONIC, &raw mut event, &raw mut timer)
            };
            OURS.set(made == 0);
            (made == 0).then_some(Interrupter { timer, _stays: std::marker::PhantomData })
        }

        /// Winds the timer up if it has run down.
        pub fn wind(&self, random: &mut Random) {
            if !IDLE.replace(false) {
                return;
            }
            let nanoseconds = 1 + random.below(20_000) as i64;
            let once = Span { every: [0; 2], first: [0, nanoseconds] };
            // Sound: the call reads the span.
            unsafe { syscall(calls::TIMER_SETTIME, self.timer, 0_i32, &raw const once, 0_usize) };
        }
    }

    impl Drop for Interrupter {
        fn drop(&mut self) {
            // Sound: the timer is ours. A signal that is under way finds a thread that is outside of
            // calls.
            unsafe { syscall(calls::TIMER_DELETE, self.timer) };
        }
    }

    const SIGURG: i32 = 23;
    const MONOTONIC: i32 = 1;
    const TO_THREAD: i32 = 4;
    const WITH_INFO: i32 = 4;
    const RESTART: i32 = 0x1000_0000;

    /// `struct sigevent`.
    #[repr(C)]
    struct Event {
        value: usize,
        signal: i32,
        notify: i32,
        thread: i32,
        rest: [i32; 11],
    }

    /// `struct itimerspec`.
    #[repr(C)]
    struct Span {
        every: [i64; 2],
        first: [i64; 2],
    }

    /// `struct sigaction`, as the C libraries of 64-bit Linux have it.
    #[repr(C)]
    struct Action {
        handler: usize,
        mask: [u64; 16],
        flags: i32,
        restorer: usize,
    }

    unsafe extern "C" {
        fn sigaction(signal: i32, new: *const Action, old: *mut Action) -> i32;
        fn syscall(number: i64, ...) -> i64;
    }

    /// The numbers of the calls, where they are known.
    mod calls {
        #[cfg(target_arch = "x86_64")]
        const NUMBERS: [i64; 4] = [186, 222, 223, 226];
        #[cfg(target_arch = "aarch64")]
        const NUMBERS: [i64; 4] = [178, 107, 110, 111];
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        const NUMBERS: [i64; 4] = [-1; 4];
        pub const GETTID: i64 = NUMBERS[0];
        pub const TIMER_CREATE: i64 = NUMBERS[1];
        pub const TIMER_SETTIME: i64 = NUMBERS[2];
        pub const TIMER_DELETE: i64 = NUMBERS[3];
    }

    /// The action of whoever had the signal before; `None` if ours could not be installed.
    static HANDLER: OnceLock<Option<Action>> = OnceLock::new();

    fn install() -> Option<Action> {
        if cfg!(miri) || calls::GETTID < 0 {
            return None;
        }
        let ours = Action {
            handler: on_signal as *const () as usize,
            mask: [0; 16],
            flags: WITH_INFO | RESTART,
            restorer: 0,
        };
        let mut before = Action { handler: 0, mask: [0; 16], flags: 0, restorer: 0 };
        // Sound: the call reads one action and writes the other.
        let installed = unsafe { sigaction(SIGURG, &raw const ours, &raw mut before) };
        (installed == 0).then_some(before)
    }

    /// Lets whoever had the signal before have it.
    fn hand_on(signal: i32, info: *mut u8, context: *mut u8) {
        let Some(Some(before)) = HANDLER.get() else { return };
        // 0 and 1 are the default, which is to ignore this signal, and to ignore it.
        if before.handler > 1 {
            // Sound: the system had the address as a handler; the arguments that it does not take do
            // no harm.
            let handler: extern "C" fn(i32, *mut u8, *mut u8) =
                unsafe { std::mem::transmute(before.handler) };
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

        pub fn wind(&self, _: &mut Random) {
            match *self {}
        }
    }
}
