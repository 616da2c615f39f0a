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

#[test]
fn receivers_that_wait_are_right_also_if_some_are_dropped() {
    for cancel in [0.0, 0.4] {
        let test = channel::test(cancel).hang_after(Duration::from_secs(60));
        let passed = test.executions(60).budget(Duration::from_secs(60)).run();
        assert!(passed.unwrap_or_else(|failed| panic!("{failed}")).executions > 0);
    }
}

/// A counter behind a turn that is waited for. A call that is dropped while it has the turn gives it back, or does not.
#[test]
#[cfg(feature = "shuttle")]
fn a_turn_that_is_lost_with_a_dropped_call_is_a_deadlock() {
    use seriatim_sync::Mutex;
    use std::future::poll_fn;
    use std::task::{Poll, Waker};

    #[derive(Default)]
    struct Turns(Mutex<(bool, Vec<Waker>)>, Mutex<u32>);

    impl Turns {
        fn give_back(&self) {
            let mut turns = self.0.lock().unwrap();
            turns.0 = false;
            turns.1.drain(..).for_each(Waker::wake);
        }
    }

    struct Turn<'t>(&'t Turns, bool);

    impl Drop for Turn<'_> {
        fn drop(&mut self) {
            if self.1 {
                self.0.give_back();
            }
        }
    }

    let test = |gives_back: bool, cancel: f64| {
        test_async(Turns::default)
            .operation("fetch_add", 1..3_u32, move |turns, more| async move {
                poll_fn(|context| {
                    let mut held = turns.0.lock().unwrap();
                    if held.0 {
                        held.1.push(context.waker().clone());
                        return Poll::Pending;
                    }
                    held.0 = true;
                    Poll::Ready(())
                })
                .await;
                let mut turn = Turn(&turns, gives_back);
                let mut waited = false;
                poll_fn(|context| match std::mem::replace(&mut waited, true) {
                    true => Poll::Ready(()),
                    false => {
                        context.waker().wake_by_ref();
                        Poll::Pending
                    }
                })
                .await;
                let mut count = turns.1.lock().unwrap();
                let saw = *count;
                *count += more;
                turn.1 = true;
                saw
            })
            .cancel(cancel)
            .spec("fetch-and-add")
            .budget(Duration::from_secs(120))
    };
    for seed in 0..3 {
        let failed = test(false, 0.3).seed(seed).executions(2000).run().unwrap_err();
        assert!(failed.replay.contains("fetch_add~"), "{failed}");
        assert!(failed.to_string().contains("deadlock"), "{failed}");
        for (gives_back, cancel) in [(true, 0.3), (false, 0.0)] {
            let passed = test(gives_back, cancel).seed(seed).executions(300).run();
            assert!(passed.is_ok(), "{}", passed.unwrap_err());
        }
    }
}

#[test]
#[cfg(not(feature = "shuttle"))]
fn the_executor_may_be_named_after_the_operations() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
    let driven = Arc::new(AtomicU64::new(0));
    let counted = driven.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let test = queue::<Locked>().on(move |operation| {
        counted.fetch_add(1, SeqCst);
        runtime.block_on(operation);
    });
    test.spec("queue").executions(20).run().unwrap_or_else(|failed| panic!("{failed}"));
    assert!(driven.load(SeqCst) > 0, "another executor drove them");
}

/// A channel whose receivers wait for a value, each behind a waker in a line. Who is dropped while it is in the line leaves it; what
/// it was woken for has to be passed on.
mod channel {
    use seriatim_harness::{AsyncTest, Reply, Test, test_async};
    use seriatim_harness::{IntoReply, ModelCall, Shared, distinct};
    use seriatim_sync::Mutex;
    use std::collections::VecDeque;
    use std::future::poll_fn;
    use std::sync::Arc;
    use std::task::{Poll, Waker};

    #[derive(Default)]
    struct State {
        values: VecDeque<u32>,
        line: VecDeque<(u64, Waker)>,
        tickets: u64,
    }

    impl State {
        fn wake_one(&mut self) {
            if let Some((_, waker)) = self.line.pop_front() {
                waker.wake();
            }
        }
    }

    pub struct Channel {
        state: Mutex<State>,
        closed: Mutex<u32>,
    }

    /// A receiver's place in the line, given up when it is dropped.
    struct Place<'c>(&'c Channel, Option<u64>);

    impl Drop for Place<'_> {
        fn drop(&mut self) {
            let Some(ticket) = self.1 else { return };
            let mut state = self.0.state.lock().unwrap();
            let waits = state.line.len();
            state.line.retain(|(other, _)| *other != ticket);
            if state.line.len() == waits && !state.values.is_empty() {
                state.wake_one();
            }
        }
    }

    impl Channel {
        fn new() -> Self {
            Channel { state: Mutex::new(State::default()), closed: Mutex::new(0) }
        }

        fn send(&self, value: u32) {
            let mut state = self.state.lock().unwrap();
            state.values.push_back(value);
            state.wake_one();
        }

        async fn receive(&self) -> u32 {
            let mut place = Place(self, None);
            poll_fn(|context| {
                let mut state = self.state.lock().unwrap();
                if let Some(value) = state.values.pop_front() {
                    if let Some(ticket) = place.1.take() {
                        state.line.retain(|(other, _)| *other != ticket);
                    }
                    return Poll::Ready(value);
                }
                state.tickets += 1;
                let ticket = state.tickets;
                state.line.push_back((ticket, context.waker().clone()));
                place.1 = Some(ticket);
                Poll::Pending
            })
            .await
        }

        /// How often it was closed.
        fn closed(&self) -> u32 {
            *self.closed.lock().unwrap()
        }
    }

    fn operations() -> AsyncTest<Channel> {
        test_async(Channel::new)
            .operation(
                "receive",
                (),
                |channel: Arc<Channel>, ()| async move { channel.receive().await },
            )
            .blocking()
            .operation("send", distinct::<u32>(), |channel, value| async move {
                channel.send(value);
            })
            .operation("close", (), |channel, ()| async move {
                *channel.closed.lock().unwrap() += 1;
            })
            .once()
    }

    pub fn test(cancel: f64) -> Test<Channel, Arc<Channel>, Shared> {
        let model = |values: &mut VecDeque<u32>, call: &ModelCall| match call.name() {
            "send" => {
                values.push_back(call.arg());
                ().reply()
            }
            "close" => ().reply(),
            _ => values.pop_front().map_or(Reply::Waits, u32::reply),
        };
        operations().cancel(cancel).declared().model(VecDeque::new(), model).finally(|channel| {
            match channel.closed() {
                0 | 1 => Ok(()),
                times => Err(format!("closed {times} times")),
            }
        })
    }
}
