//! Values that notice when an object leaks them or drops them twice.

use crate::Argument;
use crate::reply::{IntoReply, IntoValue, Reply};
use seriatim_history::Value;
use std::fmt;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// The account of a generator's values: how many live, how many died twice.
#[derive(Debug, Default)]
pub struct Ledger {
    live: AtomicI64,
    died_twice: AtomicU64,
}

impl Ledger {
    pub(crate) fn open() -> &'static Ledger {
        Box::leak(Box::default())
    }

    /// How many values have been made and not dropped.
    pub fn live(&self) -> i64 {
        self.live.load(Ordering::SeqCst)
    }

    /// How often a value was dropped in the place in which it was dropped already. A value that was
    /// copied bit by bit and dropped in both places shows as one live value less than none.
    pub fn died_twice(&self) -> u64 {
        self.died_twice.load(Ordering::SeqCst)
    }
}

/// What some accounts said at one moment.
pub(crate) struct Balance(Vec<(&'static Ledger, i64, u64)>);

/// What is wrong with the accounts after everything was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Imbalance {
    Leaked(i64),
    DroppedTwice(u64),
}

impl Balance {
    /// What they say now.
    pub fn of(ledgers: &[&'static Ledger]) -> Self {
        let entry = |&ledger: &&'static Ledger| (ledger, ledger.live(), ledger.died_twice());
        Balance(ledgers.iter().map(entry).collect())
    }

    /// What has become wrong since, now that everything made since is dropped.
    pub fn imbalance(&self) -> Option<Imbalance> {
        self.0.iter().find_map(|&(ledger, live, twice)| {
            let (live_now, twice_now) = (ledger.live(), ledger.died_twice());
            if twice_now > twice {
                return Some(Imbalance::DroppedTwice(twice_now - twice));
            }
            match live_now - live {
                0 => None,
                more if more > 0 => Some(Imbalance::Leaked(more)),
                fewer => Some(Imbalance::DroppedTwice(fewer.unsigned_abs())),
            }
        })
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
    mark: u64,
    /// Never freed: an object that drops a value twice must not free its account twice.
    ledger: &'static Ledger,
}

const ALIVE: u64 = 0x5e51_a71a_a11f_e000;
const DEAD: u64 = 0x5e51_a71a_dead_0000;

impl Tracked {
    pub(crate) fn new(number: i64, ledger: &'static Ledger) -> Self {
        ledger.live.fetch_add(1, Ordering::SeqCst);
        Tracked { number, mark: ALIVE, ledger }
    }

    /// The number.
    pub fn number(&self) -> i64 {
        self.number
    }
}

impl Clone for Tracked {
    fn clone(&self) -> Self {
        Tracked::new(self.number, self.ledger)
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
        self.ledger.live.fetch_sub(1, Ordering::SeqCst);
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
