//! Three ways in which a harness around an explorer goes wrong, each with the object that shows it.

#![allow(missing_docs)]
#![cfg(any(feature = "shuttle", feature = "loom"))]

use seriatim_harness::{Failure, Tracked, test, tracked};
use seriatim_sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::time::Duration;

/// Loom lets a load return an old value unless something happened in between; the order of returns
/// and calls must count as that, or a correct register fails. It also shows loads that no order of the
/// stores explains; those executions must not be judged.
#[test]
fn a_register_of_one_word_is_linearizable_under_every_ordering() {
    const ORDERINGS: [(Ordering, Ordering); 3] = [
        (Ordering::SeqCst, Ordering::SeqCst),
        (Ordering::Release, Ordering::Acquire),
        (Ordering::Relaxed, Ordering::Relaxed),
    ];
    for (store, load) in ORDERINGS {
        test(|| AtomicU32::new(0))
            .operation("write", 1..3_u32, move |word, value| word.store(value, store))
            .operation("read", (), move |word, ()| word.load(load))
            .spec("register(init=0)")
            .budget(Duration::from_secs(60))
            .executions(3_000)
            .check();
    }
}

/// A register whose reader looks once and then remembers: sequentially consistent, not linearizable. It
/// is seen only if another thread's write fits between a return and the next call.
#[test]
fn a_remembered_read_is_a_violation() {
    struct Reader {
        remembered: Option<u32>,
        word: std::sync::Arc<AtomicU32>,
    }
    let failed = test(|| std::sync::Arc::new(AtomicU32::new(0)))
        .handles(|word, _| Reader { remembered: None, word: word.clone() })
        .operation("write", 1..3_u32, |reader, value| reader.word.store(value, Ordering::SeqCst))
        .only_on_thread(0)
        .operation("read", (), |reader, ()| {
            let word = reader.word.clone();
            *reader.remembered.get_or_insert_with(|| word.load(Ordering::SeqCst))
        })
        .only_on_thread(1)
        .spec("register(init=0)")
        .budget(Duration::from_secs(5))
        .run()
        .unwrap_err();
    assert!(matches!(failed.failure, Failure::Violation(_)));
    assert_eq!(failed.calls, 3, "{}", failed.report);
}

/// Panics inside an exploration are caught, counted as failures of the object, and leave the next
/// exploration of the same process in peace.
#[test]
fn a_panic_under_an_explorer_is_a_failure_like_any_other() {
    for _ in 0..2 {
        let failed = test(|| AtomicU32::new(0))
            .operation("increment", (), |count, ()| {
                let before = count.load(Ordering::SeqCst);
                count.store(before + 1, Ordering::SeqCst);
                assert_eq!(count.load(Ordering::SeqCst), before + 1, "somebody else counts");
            })
            .spec("counter")
            .budget(Duration::from_secs(5))
            .run()
            .unwrap_err();
        let Failure::Panic { message, .. } = &failed.failure else { panic!("{}", failed.report) };
        assert!(message.contains("somebody else counts"), "{message}");
        assert!(failed.threads == 2 && failed.calls <= 3, "{}", failed.report);
    }
}

/// A place for one value. Two threads that find it empty both fill it, and the value that was there for a moment is
/// never dropped. Its answers are right all the time.
struct Place(AtomicPtr<Tracked>);

impl Place {
    fn fill(&self, value: Tracked) {
        if self.0.load(Ordering::SeqCst).is_null() {
            self.0.store(Box::into_raw(Box::new(value)), Ordering::SeqCst);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let value = self.0.load(Ordering::SeqCst);
        if !value.is_null() {
            // Sound: the pointer came from a box and nobody else is left.
            drop(unsafe { Box::from_raw(value) });
        }
    }
}

#[test]
fn a_leak_that_needs_an_interleaving_is_found() {
    let failed = test(|| Place(AtomicPtr::new(std::ptr::null_mut())))
        .operation("fill", tracked(), |place, value| place.fill(value))
        .model((), |_, _| seriatim_harness::Reply::Answer(None))
        .budget(Duration::from_secs(5))
        .run()
        .unwrap_err();
    assert!(matches!(failed.failure, Failure::Leak { values: 1 }), "{}", failed.report);
    assert_eq!((failed.threads, failed.calls), (2, 2), "{}", failed.report);
    // The report shows two looks that found nothing, and two stores. Shuttle's looks come first; Loom may show one
    // that comes too late to see the store.
    let at = |what: &str| failed.report.match_indices(what).map(|(at, _)| at).collect::<Vec<_>>();
    let (loads, stores) = (at("load -> null"), at("store(#"));
    let come_first = cfg!(feature = "loom") || loads[1] < stores[0];
    assert!(loads.len() == 2 && stores.len() == 2 && come_first, "{}", failed.report);
}

/// Two locks in two orders.
#[test]
fn a_deadlock_is_told_with_the_calls_that_wait() {
    use seriatim_sync::Mutex;
    let failed = test(|| (Mutex::new(0), Mutex::new(0)))
        .operation("left_first", (), |(left, right), ()| {
            let (mut a, mut b) = (left.lock().unwrap(), right.lock().unwrap());
            (*a, *b) = (*a + 1, *b + 1);
        })
        .operation("right_first", (), |(left, right), ()| {
            let (mut a, mut b) = (right.lock().unwrap(), left.lock().unwrap());
            (*a, *b) = (*a + 1, *b + 1);
        })
        .sequential()
        .budget(Duration::from_secs(5))
        .run()
        .unwrap_err();
    let Failure::Deadlock { calls } = &failed.failure else { panic!("{}", failed.report) };
    assert_eq!(calls.len(), 2, "{}", failed.report);
    assert_eq!(failed.calls, 2, "{}", failed.report);
}

/// A loop that waits for what never comes.
#[test]
#[cfg(feature = "shuttle")]
fn a_livelock_is_a_hang() {
    let failed = test(|| AtomicU32::new(0))
        .operation("wait", (), |word, ()| {
            while word.load(Ordering::SeqCst) == 0 {
                seriatim_sync::hint::spin_loop();
            }
        })
        .blocking()
        .operation("nothing", (), |_, ()| ())
        .model((), |_, _| seriatim_harness::Reply::Answer(None))
        .budget(Duration::from_secs(3))
        .run()
        .unwrap_err();
    let Failure::Hang { calls, .. } = &failed.failure else { panic!("{}", failed.report) };
    assert!(calls.iter().all(|call| call == "wait()"), "{}", failed.report);
}
