//! Values that notice when an object leaks them or drops them twice.
//!
//! A test keeps one [`Ledger`] for all tracked values that its generators build, in whatever
//! container they are built: while an argument is built, the ledger of the test is the one in force
//! on the thread, so that no generator has to say which values it makes. The ledger counts by
//! *era*. An era is a stretch of executions whose objects are all gone at its end; of its values
//! nothing should be left then. Counting by era tells values that an object's reclamation has
//! merely put off (they die in a later era, but are booked off their own) from those of the era at
//! hand. Besides the number of the living an era keeps the sum of their serial numbers: one value
//! lost and another dropped twice leave the number as it was, but not the sum.
//! [`growth`](crate::growth) says when values that are left are a leak.

use crate::Argument;
use crate::reply::{IntoReply, IntoValue, Reply};
use seriatim_history::Value;
use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

/// So many eras whose values live can be told apart.
const ERAS: usize = 1024;

/// The account of a test's tracked values.
#[derive(Debug)]
pub(crate) struct Ledger {
    eras: [Account; ERAS],
    current: AtomicUsize,
    serial: AtomicU64,
    died_twice: AtomicU64,
}

/// The values of one era that live.
#[derive(Debug, Default)]
struct Account {
    live: AtomicI64,
    /// The sum of their serial numbers.
    sum: AtomicU64,
}

/// An era, and what its account said when it began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Era {
    ledger: &'static Ledger,
    place: usize,
    live: i64,
    sum: u64,
    died_twice: u64,
}

/// What is wrong with an account after everything was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Imbalance {
    Leaked(i64),
    DroppedTwice(u64),
}

thread_local! {
    /// The ledger for the values that are built now.
    static IN_FORCE: Cell<Option<&'static Ledger>> = const { Cell::new(None) };
}

impl Ledger {
    /// A new ledger. It is never freed: an object that drops a value twice must not free its
    /// account twice.
    pub fn open() -> &'static Ledger {
        Box::leak(Box::new(Ledger {
            eras: std::array::from_fn(|_| Account::default()),
            current: AtomicUsize::new(0),
            serial: AtomicU64::new(1),
            died_twice: AtomicU64::new(0),
        }))
    }

    /// Whether any value was ever tracked.
    pub fn is_used(&self) -> bool {
        self.serial.load(Ordering::Relaxed) > 1
    }

    /// Builds something whose tracked values are booked here.
    pub fn watch<R>(&'static self, build: impl FnOnce() -> R) -> R {
        let before = IN_FORCE.replace(Some(self));
        let built = build();
        IN_FORCE.set(before);
        built
    }

    /// The ledger in force; values that nobody watches are booked in a ledger that nobody reads.
    fn in_force() -> &'static Ledger {
        static NOBODYS: std::sync::OnceLock<&'static Ledger> = std::sync::OnceLock::new();
        IN_FORCE.get().unwrap_or_else(|| NOBODYS.get_or_init(Ledger::open))
    }

    /// Begins an era: where nothing is booked, or at worst on top of what is booked now.
    pub fn begin(&'static self) -> Era {
        let current = self.current.load(Ordering::SeqCst);
        let places = (0..ERAS).map(|step| (current + step) % ERAS);
        let place = places.into_iter().find(|&place| self.eras[place].is_empty());
        let place = place.unwrap_or(current);
        self.current.store(place, Ordering::SeqCst);
        let account = &self.eras[place];
        Era {
            ledger: self,
            place,
            live: account.live.load(Ordering::SeqCst),
            sum: account.sum.load(Ordering::SeqCst),
            died_twice: self.died_twice.load(Ordering::SeqCst),
        }
    }

    /// How many values live, of all eras.
    #[cfg(any(feature = "shuttle", feature = "loom"))]
    pub fn live(&self) -> i64 {
        self.eras.iter().map(|account| account.live.load(Ordering::SeqCst)).sum()
    }
}

impl Account {
    fn is_empty(&self) -> bool {
        self.live.load(Ordering::SeqCst) == 0 && self.sum.load(Ordering::SeqCst) == 0
    }
}

impl Era {
    /// Ends the era and begins another one.
    pub fn next(&self) -> Era {
        self.ledger.begin()
    }

    /// What is wrong with the era's account, now that everything made in it should be dropped.
    pub fn imbalance(&self) -> Option<Imbalance> {
        let account = &self.ledger.eras[self.place];
        let died_twice = self.ledger.died_twice.load(Ordering::SeqCst) - self.died_twice;
        if died_twice > 0 {
            return Some(Imbalance::DroppedTwice(died_twice));
        }
        match account.live.load(Ordering::SeqCst) - self.live {
            // As many as should be, but not the same ones.
            0 if account.sum.load(Ordering::SeqCst) != self.sum => Some(Imbalance::DroppedTwice(1)),
            0 => None,
            more if more > 0 => Some(Imbalance::Leaked(more)),
            fewer => Some(Imbalance::DroppedTwice(fewer.unsigned_abs())),
        }
    }
}

/// A number that is accounted for, drawn by [`tracked`](crate::tracked).
///
/// ```
/// # use seriatim_harness::{test, tracked};
/// # use std::sync::Mutex;
/// # use std::time::Duration;
/// test(|| Mutex::new(Vec::new()))
///     .operation("push", tracked(), |stack, value| stack.lock().unwrap().push(value))
///     .operation("pop", (), |stack, ()| stack.lock().unwrap().pop())
///     .spec("stack")
///     .budget(Duration::from_millis(50))
///     .check();
/// ```
pub struct Tracked {
    number: i64,
    serial: u64,
    era: usize,
    mark: u64,
    ledger: &'static Ledger,
}

const ALIVE: u64 = 0x5e51_a71a_a11f_e000;
const DEAD: u64 = 0x5e51_a71a_dead_0000;

impl Tracked {
    /// A value that the ledger in force accounts for.
    pub(crate) fn new(number: i64) -> Self {
        Tracked::booked(number, Ledger::in_force())
    }

    fn booked(number: i64, ledger: &'static Ledger) -> Self {
        let serial = ledger.serial.fetch_add(1, Ordering::Relaxed);
        let era = ledger.current.load(Ordering::SeqCst);
        ledger.eras[era].live.fetch_add(1, Ordering::SeqCst);
        ledger.eras[era].sum.fetch_add(serial, Ordering::SeqCst);
        Tracked { number, serial, era, mark: ALIVE, ledger }
    }

    /// The number.
    pub fn number(&self) -> i64 {
        self.number
    }
}

impl Clone for Tracked {
    fn clone(&self) -> Self {
        Tracked::booked(self.number, self.ledger)
    }
}

impl Drop for Tracked {
    fn drop(&mut self) {
        if self.mark == DEAD {
            self.ledger.died_twice.fetch_add(1, Ordering::SeqCst);
            return;
        }
        // The mark must reach memory although the value dies: a second drop looks for it.
        unsafe { std::ptr::write_volatile(&mut self.mark, DEAD) };
        let account = &self.ledger.eras[self.era];
        account.live.fetch_sub(1, Ordering::SeqCst);
        account.sum.fetch_sub(self.serial, Ordering::SeqCst);
    }
}

impl PartialEq for Tracked {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Tracked {}

impl PartialOrd for Tracked {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Tracked {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.number.cmp(&other.number)
    }
}

impl std::hash::Hash for Tracked {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

impl fmt::Debug for Tracked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number)
    }
}

impl IntoValue for Tracked {
    fn into_value(self) -> Value {
        self.number.to_value()
    }
}

impl IntoReply for Tracked {
    fn reply(self) -> Reply {
        Reply::Answer(Some(self.into_value()))
    }
}
