//! Errors: which of them are the same, and those for which the harness itself is to blame.

#![allow(missing_docs)]
#![cfg(not(any(feature = "shuttle", feature = "loom")))]

use seriatim_harness::{Failed, IntoReply, Passed, distinct, test};
use std::collections::VecDeque;
use std::net::UdpSocket;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::Duration;

type Ran = Result<Passed, Box<Failed>>;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Refused {
    Full,
    Closed,
}

/// What a push into a queue of two places is told.
fn push(full: bool, closed: bool) -> Result<(), Refused> {
    match (closed, full) {
        (true, _) => Err(Refused::Closed),
        (_, true) => Err(Refused::Full),
        _ => Ok(()),
    }
}

/// A queue of two places that can be closed, whose `push` says what `told` makes of the truth.
fn queue<E: std::fmt::Debug + 'static>(
    told: fn(Refused) -> Refused,
    right: fn(Refused) -> E,
) -> Ran {
    test(|| Mutex::new((VecDeque::new(), false)))
        .operation("push", distinct::<u32>(), move |queue, value| {
            let (held, closed) = &mut *queue.lock().unwrap();
            let refused = push(held.len() == 2, *closed);
            if refused.is_ok() {
                held.push_back(value);
            }
            refused.map_err(told)
        })
        .operation("close", (), |queue, ()| queue.lock().unwrap().1 = true)
        .model((0, false), move |(count, closed), call| match call.name() {
            "push" => {
                let refused = push(*count == 2, *closed);
                *count += u32::from(refused.is_ok());
                refused.map_err(right).reply()
            }
            _ => {
                *closed = true;
                ().reply()
            }
        })
        .budget(Duration::from_millis(400))
        .shrink_for(Duration::from_millis(200))
        .run()
}

#[test]
fn another_error_is_another_reply() {
    assert!(queue(|truth| truth, |right| right).is_ok());
    // Who says only that it fails agrees with every error.
    assert!(queue(|truth| truth, |_| ()).is_ok());
    for lie in [|_| Refused::Full, |_| Refused::Closed] {
        let failed = queue(lie, |right| right).expect_err("the errors are not the same");
        assert!(failed.report.contains("Full") && failed.report.contains("Closed"), "{failed}");
    }
}

#[test]
fn the_object_itself_as_specification_tells_errors_apart() {
    let ran = test(|| AtomicU32::new(0))
        .operation("enter", (), |count, ()| match count.fetch_add(1, SeqCst) {
            0 => Ok(()),
            before => Err(before.min(2)),
        })
        .sequential()
        .budget(Duration::from_millis(200))
        .run();
    assert!(ran.is_ok(), "{}", ran.unwrap_err());
}

/// A counter whose `add` waits for a message that never comes, a system call that a signal ends
/// early; what `add` says then is none of the object's faults.
fn waiting(add: fn(&AtomicU32) -> u32) -> Ran {
    test(|| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(Duration::from_micros(500))).unwrap();
        (AtomicU32::new(0), socket)
    })
    .operation("add", (), move |(count, socket), ()| match socket.recv(&mut [0]) {
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => Err("interrupted"),
        _ => Ok(add(count)),
    })
    .operation("read", (), |(count, _), ()| count.load(SeqCst))
    .model(0_u32, |count, call| match call.name() {
        "add" => {
            *count += 1;
            (*count - 1).reply()
        }
        _ => (*count).reply(),
    })
    .budget(Duration::from_millis(1500))
    .shrink_for(Duration::from_millis(200))
    .run()
}

#[test]
fn a_system_call_that_ended_early_because_of_us_is_no_failure() {
    // A run of calls that sleep is short: a busy machine may interrupt none of them, and that shows nothing.
    let mut disturbed = (0..20).map(|_| {
        let ran = waiting(|count| count.fetch_add(1, SeqCst));
        ran.unwrap_or_else(|failed| panic!("{failed}")).disturbed
    });
    assert!(disturbed.any(|count| count > 0) || !cfg!(target_os = "linux"), "never interrupted");
}

#[test]
fn who_waits_in_system_calls_is_tested_all_the_same() {
    let twice = |count: &AtomicU32| {
        let before = count.load(SeqCst);
        count.store(before + 1, SeqCst);
        std::thread::yield_now();
        before.min(1)
    };
    assert!(waiting(twice).is_err(), "two additions found the same number");
}
