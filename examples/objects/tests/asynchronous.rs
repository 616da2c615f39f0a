//! Async objects: under Shuttle, on threads, and on a real runtime.

#![allow(missing_docs)]
// What a future waits for is no access that Loom could order.
#![cfg(not(feature = "loom"))]

#[cfg(feature = "shuttle")]
use seriatim_examples::async_queue::Careless;
use seriatim_examples::async_queue::{Between, Locked, Queue};
use seriatim_harness::{AsyncTest, distinct, test_async};
use std::time::Duration;

fn queue<B: Between>() -> AsyncTest<Queue<B>> {
    test_async(Queue::<B>::new)
        .operation("enqueue", distinct(), |queue, value| async move { queue.enqueue(value).await })
        .operation("dequeue", (), |queue, ()| async move { queue.dequeue().await })
}

#[test]
fn a_queue_that_waits_under_its_lock_is_a_queue() {
    let passed = queue::<Locked>().spec("queue").budget(Duration::from_secs(1)).run();
    assert!(passed.unwrap_or_else(|failed| panic!("{failed}")).executions > 0);
}

#[test]
fn calls_that_are_dropped_may_have_happened_or_not() {
    let passed = queue::<Locked>().cancel(0.3).spec("queue").budget(Duration::from_secs(1)).run();
    assert!(passed.unwrap_or_else(|failed| panic!("{failed}")).executions > 0);
}

#[test]
#[cfg(feature = "shuttle")]
fn the_careless_queue_is_found_within_200_executions_and_replayed_by_its_line() {
    for seed in 0..4 {
        let failed =
            queue::<Careless>().spec("queue").seed(seed).executions(200).run().unwrap_err();
        println!("seed {seed}: {} executions, {}", failed.executions, failed.replay);
        assert!(failed.executions <= 200, "{} executions", failed.executions);
        assert!(failed.threads <= 3 && failed.calls <= 5, "{failed}");
        let again = queue::<Careless>().spec("queue").replay(&failed.replay).run().unwrap_err();
        assert_eq!(again.scenario, failed.scenario);
        // Once to see it, and once more to write down its accesses.
        assert!(again.executions <= 2, "{} executions", again.executions);
    }
}

/// A register that writes in two steps: a write that is dropped between them is seen by some and
/// not by others.
#[cfg(feature = "shuttle")]
#[test]
fn a_write_that_is_dropped_half_way_is_found() {
    use seriatim_sync::Mutex;
    use std::future::poll_fn;
    use std::task::Poll;

    /// Two copies, and who may write: a reader takes turns between the copies.
    #[derive(Default)]
    struct Copies(Mutex<([u32; 2], usize)>);

    let written = |copies: std::sync::Arc<Copies>, value: u32| async move {
        copies.0.lock().unwrap().0[0] = value;
        let mut has_waited = false;
        poll_fn(|context| match std::mem::replace(&mut has_waited, true) {
            true => Poll::Ready(()),
            false => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
        })
        .await;
        copies.0.lock().unwrap().0[1] = value;
    };
    let declared = || {
        test_async(Copies::default)
            .operation("write", distinct(), written)
            .operation("read", (), |copies, ()| async move {
                let mut copies = copies.0.lock().unwrap();
                copies.1 += 1;
                copies.0[copies.1 % 2]
            })
            .cancel(0.5)
            .spec("register(init=0)")
            .threads(1..=1)
    };
    // On one thread only what is dropped half-way can be wrong.
    let failed = declared().run().unwrap_err();
    assert!(failed.replay.contains("write~1("), "{failed}");
}

#[test]
#[cfg(not(feature = "shuttle"))]
fn a_queue_of_tokio_is_a_queue_on_its_runtime() {
    use std::collections::VecDeque;
    use tokio::sync::Mutex;

    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let handle = runtime.handle().clone();
    let passed = test_async(|| Mutex::new(VecDeque::new()))
        .on(move |operation| handle.block_on(operation))
        .operation("enqueue", distinct::<u32>(), |queue, value| async move {
            let mut queue = queue.lock().await;
            tokio::task::yield_now().await;
            queue.push_back(value);
        })
        .operation("dequeue", (), |queue, ()| async move {
            let mut queue = queue.lock().await;
            tokio::task::yield_now().await;
            queue.pop_front()
        })
        .cancel(0.2)
        .spec("queue")
        .budget(Duration::from_secs(1))
        .run();
    assert!(passed.unwrap_or_else(|failed| panic!("{failed}")).executions > 0);
}
