//! Tests a real object on real threads, and shrinks its mistake to a few calls. In a project of
//! your own this would be a `#[test]` that ends in `.check()`.

use seriatim::harness::{Test, test};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// Hands out tickets 0, 1, 2, …, or so it seems.
#[derive(Default)]
struct Tickets(AtomicU64);

impl Tickets {
    fn take(&self) -> u64 {
        let next = self.0.load(SeqCst);
        std::thread::yield_now();
        // Somebody else may have taken the same ticket in the meantime.
        self.0.store(next + 1, SeqCst);
        next
    }
}

fn tickets() -> Test<Tickets> {
    test(Tickets::default)
        .operation("increment", (), |tickets, ()| tickets.take())
        .spec("fetch-and-add")
        .budget(Duration::from_secs(10))
}

fn main() {
    match tickets().run() {
        Ok(passed) => println!("{passed}"),
        Err(failed) => println!("{}", failed.report),
    }
}
