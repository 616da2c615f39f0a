//! Ways to make real threads meet: what a thread does between its calls, where it runs, and who
//! else wants the processor. `docs/harness.md` has what each of them finds.

use crate::interruption::Interrupter;
use crate::random::Random;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

/// How real threads are made to meet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Pressure {
    /// Calls follow each other as fast as they can.
    None,
    /// A pause of random length before each call, mostly none.
    Pauses,
    /// Pauses, and each thread stays on a processor of its own as far as there are enough. Linux
    /// only; elsewhere the same as pauses.
    Pinned,
    /// Pauses, and all threads stay on one processor, so that they meet only where the system
    /// interrupts them. Linux only; elsewhere the same as pauses.
    Crowded,
    /// Pauses, and as many busy threads as there are processors, so that threads are interrupted
    /// more often.
    Busy,
    /// As pinned, and a thread may be stopped anywhere inside a call, wherever a timer of the
    /// system finds it, until the others have made some calls. Linux only; elsewhere the same as
    /// pauses.
    #[default]
    Interrupted,
}

/// Every way, by its name.
const NAMES: [(&str, Pressure); 6] = [
    ("none", Pressure::None),
    ("pauses", Pressure::Pauses),
    ("pinned", Pressure::Pinned),
    ("crowded", Pressure::Crowded),
    ("busy", Pressure::Busy),
    ("interrupted", Pressure::Interrupted),
];

impl Pressure {
    /// What the environment says, if it says something.
    pub(crate) fn from_environment() -> Option<Self> {
        let text = std::env::var("SERIATIM_PRESSURE").ok()?;
        let named = NAMES.iter().find(|(name, _)| *name == text);
        let names = NAMES.map(|(name, _)| name).join(", ");
        let expected = || panic!("SERIATIM_PRESSURE is `{text}`; expected one of {names}");
        Some(named.unwrap_or_else(expected).1)
    }

    /// What a thread does before a call.
    pub(crate) fn think(self, random: &mut Random) {
        let longest = match self {
            Pressure::None => return,
            // Who is interrupted need not pause, and should be inside of calls as much as can be.
            // Who yields on a busy machine is gone for long, and the others wait for it.
            Pressure::Interrupted => 20,
            _ => 200,
        };
        match random.below(16) {
            0..8 => {}
            15 if self != Pressure::Interrupted => std::thread::yield_now(),
            _ => (0..random.below(longest)).for_each(|_| std::hint::spin_loop()),
        }
    }

    /// What a thread does when it starts. Tests that run side by side count from different
    /// processors.
    pub(crate) fn settle(self, thread: usize, first: usize) {
        match self {
            Pressure::Pinned | Pressure::Interrupted => stay_on((first + thread) % processors()),
            Pressure::Crowded => stay_on(first % processors()),
            Pressure::None | Pressure::Pauses | Pressure::Busy => {}
        }
    }

    /// What stops a thread inside its calls.
    pub(crate) fn interrupter(self) -> Option<Interrupter> {
        (self == Pressure::Interrupted).then(Interrupter::start).flatten()
    }

    /// Who else wants the processors.
    pub(crate) fn others(self) -> Option<Others> {
        (self == Pressure::Busy).then(Others::start)
    }
}

/// The number of processors, asked once: the answer takes a look at the file system.
pub(crate) fn processors() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Keeps the thread on one processor, if the system lets it; a wish, not a promise.
#[cfg(target_os = "linux")]
fn stay_on(processor: usize) {
    unsafe extern "C" {
        fn sched_setaffinity(process: i32, size: usize, mask: *const u64) -> i32;
    }
    let mut mask = [0_u64; 16];
    mask[processor / 64 % 16] |= 1 << (processor % 64);
    // Sound: the call reads the mask, whose size it is told; process 0 is this thread.
    unsafe { sched_setaffinity(0, size_of_val(&mask), mask.as_ptr()) };
}

#[cfg(not(target_os = "linux"))]
fn stay_on(_: usize) {}

/// Busy threads, until they are dropped.
pub(crate) struct Others {
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Others {
    fn start() -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let spin = |_| {
            let over = over.clone();
            std::thread::spawn(move || {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        let threads = (0..processors()).map(spin).collect();
        Others { over, threads }
    }
}

impl Drop for Others {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
