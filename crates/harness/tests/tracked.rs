//! Tracked values: every one is watched wherever it stands, a leak is a leak only if it grows, and
//! whatever an object holds back for a while is none.

#![allow(missing_docs)]
#![cfg(not(any(feature = "shuttle", feature = "loom")))]

use seriatim_harness::{
    Draw, Failed, Failure, Generator, Passed, Reply, Tracked, array_of, list_of, maybe, test,
    tracked,
};
use std::cell::RefCell;
use std::mem::forget;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

/// Where values wait to be dropped after their object is gone.
trait Reclaimer: 'static {
    fn retire(value: Tracked);
}

/// As epochs do it: a bag for each thread, which goes to a common heap when it is full or the
/// thread ends; the heap is cleared now and then, except for what came last.
struct Bags;

struct Bag(Vec<Tracked>);

static HEAP: Mutex<Vec<Vec<Tracked>>> = Mutex::new(Vec::new());

impl Drop for Bag {
    fn drop(&mut self) {
        HEAP.lock().unwrap().push(std::mem::take(&mut self.0));
    }
}

thread_local! {
    static BAG: RefCell<Bag> = const { RefCell::new(Bag(Vec::new())) };
}

impl Reclaimer for Bags {
    fn retire(value: Tracked) {
        static TURN: AtomicU64 = AtomicU64::new(0);
        BAG.with_borrow_mut(|bag| {
            bag.0.push(value);
            if bag.0.len() == 64 {
                drop(Bag(std::mem::take(&mut bag.0)));
            }
        });
        if TURN.fetch_add(1, SeqCst).is_multiple_of(128) {
            let mut heap = HEAP.lock().unwrap();
            let old = heap.len().saturating_sub(3);
            let garbage: Vec<_> = heap.drain(..old.min(8)).collect();
            drop(heap);
            drop(garbage);
        }
    }
}

/// As hazard pointers do it: one list, scanned when it is long enough.
struct Threshold;

impl Reclaimer for Threshold {
    fn retire(value: Tracked) {
        static RETIRED: Mutex<Vec<Tracked>> = Mutex::new(Vec::new());
        let mut retired = RETIRED.lock().unwrap();
        retired.push(value);
        if retired.len() > 500 {
            retired.drain(..400);
        }
    }
}

/// A pool that keeps the first values for ever, but no more than these.
struct Pool;

impl Reclaimer for Pool {
    fn retire(value: Tracked) {
        static POOL: Mutex<Vec<Tracked>> = Mutex::new(Vec::new());
        let mut pool = POOL.lock().unwrap();
        if pool.len() < 300 {
            pool.push(value);
        }
    }
}

/// A test of a cell whose old values a reclaimer drops, and of which every so many-th is lost.
fn cell<R: Reclaimer>(lost: Option<u64>) -> Result<Passed, Box<Failed>> {
    let count = AtomicU64::new(0);
    // A leak ends the test as soon as it is found, however slow the machine is.
    let budget = Duration::from_millis(if lost.is_some() { 10_000 } else { 400 });
    test(|| Mutex::new(None))
        .operation("write", tracked(), move |cell, value: Tracked| {
            let is_lost = lost.is_some_and(|lost| count.fetch_add(1, SeqCst) % lost == lost - 1);
            match cell.lock().unwrap().replace(value) {
                Some(old) if is_lost => forget(old),
                Some(old) => R::retire(old),
                None => {}
            }
        })
        .model((), |_, _| Reply::Answer(None))
        .budget(budget)
        .run()
}

fn holds_back_but_does_not_leak<R: Reclaimer>() {
    if let Err(failed) = cell::<R>(None) {
        panic!("{}", failed.report);
    }
    for lost in [2, 50] {
        let failed = cell::<R>(Some(lost)).expect_err("values are lost for good");
        assert!(matches!(failed.failure, Failure::Leak { .. }), "{}", failed.report);
    }
}

#[test]
fn values_in_bags_of_an_epoch_are_no_leak_but_lost_ones_are() {
    holds_back_but_does_not_leak::<Bags>();
}

#[test]
fn values_under_a_threshold_are_no_leak_but_lost_ones_are() {
    holds_back_but_does_not_leak::<Threshold>();
}

#[test]
fn values_kept_by_a_bounded_pool_are_no_leak_but_lost_ones_are() {
    holds_back_but_does_not_leak::<Pool>();
}

/// The last of the tracked values of an argument, the others being dropped.
trait Last {
    fn last(self) -> Option<Tracked>;
}

impl Last for Tracked {
    fn last(self) -> Option<Tracked> {
        Some(self)
    }
}

impl<L: Last> Last for Option<L> {
    fn last(self) -> Option<Tracked> {
        self.and_then(L::last)
    }
}

impl<L: Last> Last for Vec<L> {
    fn last(self) -> Option<Tracked> {
        self.into_iter().last().and_then(L::last)
    }
}

impl<L: Last, const N: usize> Last for [L; N] {
    fn last(self) -> Option<Tracked> {
        self.into_iter().last().and_then(L::last)
    }
}

macro_rules! last_of_tuples {
    ($(($($other:ident),*; $last:ident))*) => {$(
        impl<$($other,)* $last: Last> Last for ($($other,)* $last,) {
            #[allow(non_snake_case, unused_variables)]
            fn last(self) -> Option<Tracked> {
                let ($($other,)* $last,) = self;
                $last.last()
            }
        }
    )*};
}

last_of_tuples! { (; A) (A; B) (A, B; C) (A, B, C; D) (A, B, C, D, E, F, G; H) }

/// An object that forgets one value of its argument, wherever it stands, fails.
fn is_watched<G: Generator<Item: Last>>(arguments: G) {
    let failed = test(|| ())
        .operation("put", arguments, |_, argument| forget(argument.last()))
        .model((), |_, _| Reply::Answer(None))
        .shrink_for(Duration::from_millis(100))
        .budget(Duration::from_millis(500))
        .run()
        .expect_err("a value is lost");
    assert!(matches!(failed.failure, Failure::Leak { .. }), "{}", failed.report);
}

/// A generator of the user's own around the one of the harness.
struct Wrapped<G>(G);

impl<G: Generator> Generator for Wrapped<G> {
    type Item = G::Item;

    fn draw(&self, draw: &mut Draw) -> Option<seriatim_history::Value> {
        self.0.draw(draw)
    }

    fn build(&self, value: Option<&seriatim_history::Value>) -> Option<G::Item> {
        self.0.build(value)
    }
}

#[test]
fn a_tracked_value_is_watched_wherever_it_stands() {
    let t = tracked;
    is_watched((t(),));
    is_watched((t(), t()));
    is_watched((1..3_u8, t(), t()));
    is_watched((t(), 1..3_u8, t(), t()));
    is_watched((1..3_u8, t(), t(), t(), t(), t(), t(), t()));
    is_watched(maybe(t()));
    is_watched(list_of(0..=3, t()));
    is_watched(array_of::<3, _>(t()));
    is_watched((t(), maybe(list_of(1..=2, (1..3_u8, array_of::<2, _>(maybe(t())))))));
    is_watched(Wrapped((t(), Wrapped(t()))));
}

/// One value lost and another one dropped twice: as many as there should be, but not the same ones.
#[test]
fn a_loss_does_not_hide_a_second_drop() {
    let failed = test(|| ())
        .operation("put", (tracked(), tracked()), |_, (lost, doubled)| {
            forget(lost);
            // Sound here: the copy owns nothing that could be freed twice.
            drop(unsafe { std::ptr::read(&doubled) });
        })
        .model((), |_, _| Reply::Answer(None))
        .budget(Duration::from_millis(500))
        .run()
        .expect_err("memory is mistreated");
    assert!(matches!(failed.failure, Failure::DroppedTwice { .. }), "{}", failed.report);
}
