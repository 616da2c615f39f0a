//! Everything that can be wrong with an object is found by stress and told as what it is.

#![allow(missing_docs)]
#![cfg(not(any(feature = "shuttle", feature = "loom")))]

use seriatim_harness::{
    Failed, Failure, IntoReply, Passed, Reply, Test, distinct, drawn_by, test, tracked,
};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(300);

fn locked_queue() -> Test<Mutex<VecDeque<u32>>> {
    test(|| Mutex::new(VecDeque::new()))
        .operation("enqueue", distinct(), |queue, value| queue.lock().unwrap().push_back(value))
        .operation("dequeue", (), |queue, ()| queue.lock().unwrap().pop_front())
}

fn failure<T: Send + Sync + 'static, H: 'static, V>(
    test: Test<T, H, V>,
) -> Box<seriatim_harness::Failed> {
    test.budget(Duration::from_secs(60)).run().expect_err("the object is broken")
}

#[test]
fn a_queue_behind_a_lock_is_right_by_name_by_itself_and_by_a_model() {
    let named = locked_queue().spec("queue").budget(SHORT).run().unwrap();
    assert!(named.executions > 0 && named.different > 1 && named.undecided == 0);
    locked_queue().sequential().budget(SHORT).check();
    locked_queue()
        .model(VecDeque::new(), |queue: &mut VecDeque<u32>, call| match call.name() {
            "enqueue" => {
                queue.push_back(call.arg());
                ().reply()
            }
            _ => queue.pop_front().reply(),
        })
        .drain("dequeue")
        .budget(SHORT)
        .check();
}

#[test]
fn a_stack_is_no_queue_and_the_report_says_why() {
    let failed = failure(
        test(|| Mutex::new(Vec::new()))
            .operation("enqueue", distinct::<u32>(), |s, value| s.lock().unwrap().push(value))
            .operation("dequeue", (), |s, ()| s.lock().unwrap().pop())
            .spec("queue")
            .name("a stack"),
    );
    assert!(matches!(failed.failure, Failure::Disagreement(_)));
    assert_eq!(failed.calls, 3, "{}", failed.report);
    assert!(
        failed.report.starts_with("a stack: wrong already on one thread: "),
        "{}",
        failed.report
    );
    assert!(failed.report.contains("replay: SERIATIM_REPLAY='"), "{}", failed.report);
    let file = failed.file.expect("the history is written");
    assert_eq!(seriatim_history::read(&file).unwrap().len(), failed.history.len());
    // What the report prints can be given back.
    let again = test(|| Mutex::new(Vec::new()))
        .operation("enqueue", distinct::<u32>(), |s, value| s.lock().unwrap().push(value))
        .operation("dequeue", (), |s, ()| s.lock().unwrap().pop())
        .spec("queue")
        .replay(&failed.replay)
        .run()
        .unwrap_err();
    assert_eq!(again.scenario, failed.scenario);
}

#[test]
fn a_panic_is_told_with_its_call_and_message() {
    let failed = failure(
        test(|| AtomicU32::new(0))
            .operation("increment", (), |counter, ()| {
                assert!(counter.fetch_add(1, SeqCst) < 2, "three is too much");
            })
            .spec("counter"),
    );
    let Failure::Panic { call, message } = &failed.failure else { panic!("{}", failed.report) };
    assert_eq!(call, "increment()");
    assert!(message.starts_with("three is too much"), "{message}");
    assert_eq!(failed.calls, 3, "{}", failed.report);
}

#[test]
fn a_call_that_never_returns_is_a_hang() {
    let failed = test(|| AtomicBool::new(false))
        .operation("spin", (), |over, ()| {
            while !over.load(SeqCst) {
                std::thread::sleep(Duration::from_millis(5));
            }
        })
        .sequential()
        .threads(2..=2)
        .hang_after(Duration::from_millis(200))
        .budget(SHORT)
        .run()
        .unwrap_err();
    let Failure::Hang { calls, .. } = &failed.failure else { panic!("{}", failed.report) };
    assert!(calls.iter().all(|call| call == "spin()") && !calls.is_empty(), "{calls:?}");
}

#[test]
fn values_that_are_never_dropped_are_a_leak() {
    let failed = failure(
        test(|| ()).operation("put", tracked(), |_, value| std::mem::forget(value)).sequential(),
    );
    assert!(matches!(failed.failure, Failure::Leak { .. }), "{}", failed.report);
}

#[test]
fn values_that_are_dropped_twice_are_told_apart_from_leaks() {
    let failed = failure(
        test(|| ())
            .operation("put", tracked(), |_, value| {
                // What a broken stack does when it gives one node to two threads. Sound here: the
                // copy owns nothing that could be freed twice.
                drop(unsafe { std::ptr::read(&value) });
            })
            .sequential(),
    );
    assert!(matches!(failed.failure, Failure::DroppedTwice { .. }), "{}", failed.report);
}

#[test]
fn a_final_check_that_complains_is_a_failure() {
    let failed = failure(
        test(|| AtomicU32::new(0))
            .operation("increment", (), |counter, ()| {
                counter.fetch_add(1, SeqCst);
            })
            .spec("counter")
            .finally(|counter| match counter.load(SeqCst) {
                0..3 => Ok(()),
                count => Err(format!("counted to {count}")),
            }),
    );
    assert!(
        matches!(&failed.failure, Failure::Invariant { message } if message.contains("counted to"))
    );
    assert_eq!(failed.calls, 3);
}

#[test]
fn a_time_out_leaves_the_operation_pending() {
    // Every other write is reported as unknown; it may have happened or not, so nothing is wrong.
    test(|| Mutex::new((0, false)))
        .operation("write", distinct::<i64>(), |cell, value| {
            let mut cell = cell.lock().unwrap();
            cell.1 = !cell.1;
            if value % 2 == 0 {
                cell.0 = value;
            }
            if cell.1 && value % 2 == 0 { ().reply() } else { Reply::Unknown }
        })
        .operation("read", (), |cell, ()| cell.lock().unwrap().0)
        .spec("register(init=0)")
        .budget(SHORT)
        .check();
}

#[test]
fn a_blocking_call_may_wait_for_ever() {
    test(|| (Mutex::new(VecDeque::new()), Condvar::new()))
        .operation("send", distinct::<u32>(), |(queue, arrived), value| {
            queue.lock().unwrap().push_back(value);
            arrived.notify_one();
        })
        .operation("receive", (), |(queue, arrived), ()| {
            let empty = |queue: &mut VecDeque<u32>| queue.is_empty();
            arrived.wait_while(queue.lock().unwrap(), empty).unwrap().pop_front()
        })
        .blocking()
        .spec("queue")
        .budget(SHORT)
        .check();
}

/// A semaphore on real threads; `wake` says whom a release wakes.
fn semaphore(wake: fn(&Condvar)) -> Result<Passed, Box<Failed>> {
    test(|| (Mutex::new(0_u32), Condvar::new()))
        .operation("release", (), move |(permits, given), ()| {
            *permits.lock().unwrap() += 1;
            wake(given);
        })
        .operation("acquire", (), |(permits, given), ()| {
            let none = |permits: &mut u32| *permits == 0;
            *given.wait_while(permits.lock().unwrap(), none).unwrap() -= 1;
        })
        .blocking()
        .operation("permits", (), |(permits, _), ()| *permits.lock().unwrap())
        .spec("semaphore")
        .hang_after(Duration::from_millis(700))
        .budget(Duration::from_secs(3))
        .run()
}

#[test]
fn a_call_that_nobody_wakes_is_a_failure_on_real_threads_too() {
    let failed = semaphore(|_| {}).unwrap_err();
    assert!(matches!(failed.failure, Failure::LostWakeUp { .. }), "{}", failed.report);
    assert!(failed.report.contains("waits for ever"), "{}", failed.report);
    semaphore(Condvar::notify_one).unwrap();
}

#[test]
fn operations_are_drawn_as_they_are_declared() {
    let passed = test(|| Mutex::new(Vec::new()))
        .operation("push", drawn_by(|draw| draw.below(3) as u32), |log, value| {
            log.lock().unwrap().push(value);
        })
        .weight(3)
        .operation("pop", (), |log, ()| log.lock().unwrap().pop())
        .operation("clear_once", (), |log, ()| log.lock().unwrap().len() < 1000)
        .once()
        .sequential()
        .budget(SHORT)
        .run();
    assert!(passed.is_ok());
}

#[test]
fn a_test_in_which_nothing_ran_does_not_pass() {
    let wrong = || {
        test(|| AtomicU32::new(5))
            .operation("read", (), |counter, ()| counter.load(SeqCst))
            .spec("fetch-and-add")
    };
    let failed = wrong().budget(Duration::ZERO).run().expect_err("nothing is known of it");
    assert!(matches!(failed.failure, Failure::Undecided { executions: 0 }), "{}", failed.report);
    assert!(failed.report.contains("not one execution ran"), "{}", failed.report);
    assert!(matches!(failure(wrong()).failure, Failure::Disagreement(_)));
}

#[test]
#[should_panic(expected = "every operation has weight 0")]
fn operations_that_are_never_called_are_refused() {
    let counter = test(|| AtomicU32::new(5)).spec("fetch-and-add");
    drop(counter.operation("read", (), |counter, ()| counter.load(SeqCst)).weight(0).run());
}

#[test]
#[should_panic(expected = "there is no specification `qeue`")]
fn a_wrong_specification_is_refused() {
    locked_queue().spec("qeue").check();
}

#[test]
#[should_panic(expected = "has no operation `enqeue`")]
fn an_operation_that_the_specification_does_not_have_is_refused() {
    test(|| ()).operation("enqeue", 0..3_u8, |_, _| ()).spec("queue").budget(SHORT).check();
}

#[test]
#[should_panic(expected = "it does not say what is right")]
fn a_test_without_a_specification_is_refused() {
    locked_queue().check();
}

#[test]
#[should_panic(expected = "the test has no operation `enq`")]
fn a_replay_line_of_another_test_is_refused() {
    locked_queue().spec("queue").replay(">> enq(1) >> @ stress").check();
}
