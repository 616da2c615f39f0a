//! What an object does wrong outside of its calls, and what a test does wrong that no verdict should
//! be based on. In every build: on real threads, under Shuttle, under Loom.

#![allow(missing_docs)]

use seriatim_harness::{Caller, Failed, Failure, IntoReply, Reply, Test, distinct, test};
use seriatim_spec::{Next, Spec};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(500);

/// A counter that counts behind a lock, which no explorer sees, and that may panic when it goes.
#[derive(Default)]
struct Counter {
    count: Mutex<u32>,
    panics_at: Option<u32>,
}

impl Counter {
    fn dropped_badly_at(count: u32) -> Self {
        Counter { count: Mutex::new(0), panics_at: Some(count) }
    }

    fn increment(&self) -> u32 {
        let mut count = self.count.lock().unwrap();
        *count += 1;
        *count - 1
    }
}

impl Drop for Counter {
    fn drop(&mut self) {
        let count = *self.count.lock().unwrap();
        assert!(self.panics_at.is_none_or(|at| count < at), "dropped at {count}");
    }
}

fn counting(make: impl Fn() -> Counter + Send + Sync + 'static) -> Test<Counter> {
    test(make)
        .operation("increment", (), |counter, ()| counter.increment())
        .spec("fetch-and-add")
        .budget(SHORT)
}

fn panic(failed: &Failed) -> (&str, &str) {
    let Failure::Panic { call, message } = &failed.failure else { panic!("{}", failed.report) };
    (call, message)
}

#[test]
fn an_object_that_cannot_be_made_is_a_failure() {
    let failed = counting(|| panic!("no room")).run().expect_err("there is no object");
    let (doing, message) = panic(&failed);
    assert_eq!(doing, "making the object");
    assert!(message.starts_with("no room"), "{message}");
    assert!(failed.report.contains("making the object panicked: no room"), "{}", failed.report);
    static MADE: AtomicU64 = AtomicU64::new(0);
    let now_and_then = || match MADE.fetch_add(1, SeqCst) % 50 {
        49 => panic!("no more room"),
        _ => Counter::default(),
    };
    let failed = counting(now_and_then).run().expect_err("one of fifty cannot be made");
    assert_eq!(panic(&failed).0, "making the object");
}

#[test]
fn an_object_that_panics_when_it_is_dropped_is_a_failure() {
    let always = counting(|| Counter::dropped_badly_at(0)).run().expect_err("none can be dropped");
    assert_eq!(panic(&always).0, "dropping the object");
    // Only if it was used: the report shows the calls that it takes.
    let used = counting(|| Counter::dropped_badly_at(2)).run().expect_err("two calls are too much");
    let (doing, message) = panic(&used);
    assert_eq!(doing, "dropping the object");
    assert!(message.starts_with("dropped at 2"), "{message}");
    assert_eq!(used.calls, 2, "{}", used.report);
}

/// A handle that panics when it is dropped by the caller of its choice.
struct Handle<'a>(Option<&'a str>);

impl Drop for Handle<'_> {
    fn drop(&mut self) {
        if let Some(message) = self.0 {
            panic!("{message}");
        }
    }
}

#[test]
fn a_handle_that_panics_when_it_is_made_or_dropped_is_a_failure() {
    for unlucky in [Caller::Main, Caller::Thread(0), Caller::Thread(1)] {
        let made = test(|| ())
            .handles(move |(), caller| {
                assert!(caller != unlucky, "none for you");
            })
            .operation("ask", (), |_, ()| true)
            .model((), |_, _| true.reply());
        let failed = made.budget(SHORT).run().expect_err("somebody has no handle");
        assert_eq!(panic(&failed).0, "making a thread's handle", "{}", failed.report);
        let dropped = test(|| ())
            .handles(move |(), caller| Handle((caller == unlucky).then_some("not mine")))
            .operation("ask", (), |_, ()| true)
            .model((), |_, _| true.reply());
        let failed = dropped.budget(SHORT).run().expect_err("somebody cannot let go");
        let (doing, message) = panic(&failed);
        assert_eq!(doing, "dropping a thread's handle", "{}", failed.report);
        assert!(message.starts_with("not mine"), "{message}");
    }
}

/// What a test says that cannot be run.
fn refusal<T: Send + Sync + 'static>(test: Test<T>) -> String {
    let refused = catch_unwind(AssertUnwindSafe(|| test.seed(1).budget(SHORT).run().is_ok()));
    let payload = refused.expect_err("the test must be refused");
    payload.downcast_ref::<String>().expect("it says why").clone()
}

fn cell() -> Test<Mutex<u32>> {
    test(|| Mutex::new(0))
        .operation("write", 1..4_u32, |cell, value| *cell.lock().unwrap() = value)
        .operation("read", (), |cell, ()| *cell.lock().unwrap())
}

/// Three ways to be no function: memory outside of the state that answers differently, memory that
/// the next state depends on, and chance.
#[test]
fn a_model_that_is_no_function_of_its_state_is_refused_with_both_answers() {
    let outside = Mutex::new(0_u32);
    let remembers = cell().model((), move |(), call| {
        let mut outside = outside.lock().unwrap();
        match call.name() {
            "write" => {
                *outside = call.arg();
                ().reply()
            }
            _ => (*outside).reply(),
        }
    });
    let told = refusal(remembers);
    assert!(
        told.contains("is not a function of its state: in state () the call read() gave"),
        "{told}"
    );
    let count = AtomicU32::new(0);
    let counts = cell().model(0, move |state, call| match call.name() {
        "write" => {
            *state = count.fetch_add(1, SeqCst);
            ().reply()
        }
        _ => state.reply(),
    });
    let told = refusal(counts);
    assert!(told.contains("led to state ") && told.contains(" another time"), "{told}");
    assert!(!told.contains("internal error"), "{told}");
}

/// A register that may be written only at times of which it knows.
struct Moody(AtomicU32);

impl Spec for Moody {
    type State = u32;
    type Op = Option<u32>;
    type Ret = u32;

    fn initial(&self) -> u32 {
        0
    }

    fn step(&self, state: &u32, op: &Option<u32>, ret: Option<&u32>) -> Next<u32> {
        let is_good = !self.0.fetch_add(1, SeqCst).is_multiple_of(3);
        match op {
            Some(value) => Next::when(is_good, || *value),
            None => Next::when(ret.is_none_or(|seen| seen == state), || *state),
        }
    }
}

#[test]
fn a_specification_that_is_no_function_of_its_state_is_refused() {
    let moody = cell().own_spec(
        Moody(AtomicU32::new(0)),
        |call| (call.name() == "write").then(|| call.arg()),
        |_, reply| reply.value().unwrap_or(0),
    );
    let told = refusal(moody);
    assert!(told.contains("is not a function of its state"), "{told}");
    // The object itself is no specification if it does not do the same each time.
    static RUNS: AtomicU32 = AtomicU32::new(0);
    let unlike = test(|| RUNS.fetch_add(1, SeqCst)).operation("read", (), |number, ()| *number);
    let told = refusal(unlike.sequential());
    assert!(
        told.contains("is not a function of its state: in state new the call read()"),
        "{told}"
    );
}

#[test]
fn a_test_without_any_known_answer_does_not_pass() {
    let silent = || {
        test(|| Mutex::new(0))
            .operation("write", distinct::<u32>(), |cell, value| {
                *cell.lock().unwrap() = value;
                Reply::Unknown
            })
            .operation("read", (), |_, ()| Reply::Unknown)
            .spec("register")
    };
    let failed = silent().budget(SHORT).run().expect_err("nothing was tested");
    assert!(matches!(failed.failure, Failure::Unanswered { calls: 1.. }), "{}", failed.report);
    assert!(failed.report.contains("almost nothing was tested"), "{}", failed.report);
    // An answer now and then lets it pass, with a warning.
    static ASKED: AtomicU32 = AtomicU32::new(0);
    let seldom =
        test(|| ()).operation("read", (), |(), ()| match ASKED.fetch_add(1, SeqCst) % 40 {
            39 => None::<u32>.reply(),
            _ => Reply::Unknown,
        });
    let passed = seldom.spec("register").budget(SHORT).run().expect("nil is what it holds");
    let warnings = passed.warnings();
    assert!(warnings.iter().any(|told| told.contains("almost nothing was tested")), "{warnings:?}");
}
