//! Tests of objects whose operations are futures.
//!
//! A thread of a scenario is a task: it drives one future after another to its end, and where a
//! future waits, others go on. So everything that tests of plain objects have (scenarios,
//! schedules, shrinking, replays) is there without an engine of its own. Under an explorer the
//! wakers are made of primitives that it schedules, so that each wait of a future is a place at
//! which it may switch. Without one the futures run on real threads, by the executor here or by a
//! runtime of the test's ([`AsyncTest::on`]).
//!
//! **Cancellation** is what futures add: one that is dropped half-way is a *pending* operation; it
//! may have taken effect, or not. Whether and where a call is dropped is part of its name in
//! scenarios: `dequeue~2()` is dropped when it waits for the second time. So a replay drops the
//! same calls in the same places. One that ends before has ended.
//!
//! **What would make it unsound**: calling an operation of a dropped future anything but pending;
//! or a future that goes on after it was dropped (a task that it spawned), whose effect may come
//! after the execution was judged. Nobody can see the latter from outside; an object that does so
//! must be told to finish, by an operation or by [`finally`](Test::finally).

use crate::generator::{Draw, Generator};
use crate::reply::{IntoReply, Reply};
use crate::test::{Shared, Test};
use seriatim_history::Value;
use seriatim_sync::{Condvar, Mutex, thread};
use std::cell::Cell;
use std::future::Future;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};

/// Starts the declaration of a test of an object whose operations are `async`.
///
/// ```
/// use seriatim_harness::{distinct, test_async};
/// use std::collections::VecDeque;
/// use std::sync::Mutex;
///
/// #[derive(Default)]
/// struct Queue(Mutex<VecDeque<u32>>);
///
/// impl Queue {
///     async fn enqueue(&self, value: u32) { self.0.lock().unwrap().push_back(value) }
///     async fn dequeue(&self) -> Option<u32> { self.0.lock().unwrap().pop_front() }
/// }
///
/// test_async(Queue::default)
///     .operation("enqueue", distinct(), |queue, value| async move { queue.enqueue(value).await })
///     .operation("dequeue", (), |queue, ()| async move { queue.dequeue().await })
///     .cancel(0.1)
///     .spec("queue")
/// #   .budget(std::time::Duration::from_millis(100))
///     .check();
/// ```
pub fn test_async<T: Send + Sync + 'static>(
    make: impl Fn() -> T + Send + Sync + 'static,
) -> AsyncTest<T> {
    let executor: Executor = Arc::new(block_on);
    AsyncTest { test: Test::new(make), executor, chosen: Arc::default(), cancel: 0.0 }
}

/// A call of an async operation, to be driven to its end by whoever gets it.
pub type Operation = Pin<Box<dyn Future<Output = ()>>>;

type Executor = Arc<dyn Fn(Operation) + Send + Sync>;

/// A test of an async object under declaration. See [`test_async`].
#[must_use = "a test does nothing until `check` or `run`"]
pub struct AsyncTest<T> {
    test: Test<T, Arc<T>, Shared>,
    executor: Executor,
    /// The executor, once all is declared.
    chosen: Arc<OnceLock<Executor>>,
    cancel: f64,
}

/// A call is dropped at its first, second or third wait.
const WAITS: std::ops::RangeInclusive<u32> = 1..=3;

/// The weight of an operation, so that fractions of it are numbers: a third of a thousandth of a
/// percent is one.
const WEIGHT: u32 = 300_000;

impl<T: Send + Sync + 'static> AsyncTest<T> {
    /// The share of the calls that are dropped while they wait, from 0 to 1. Counts for the
    /// operations that are declared; to be said after them or before.
    ///
    /// # Panics
    ///
    /// If it is no share.
    pub fn cancel(mut self, share: f64) -> Self {
        assert!((0.0..=1.0).contains(&share), "expected a share from 0 to 1, found {share}");
        self.cancel = share;
        self
    }

    /// Who drives the futures, instead of an executor of our own: `move |operation|
    /// runtime.block_on(operation)`. It is for real threads: an explorer schedules only what is
    /// made of `seriatim-sync`.
    pub fn on(mut self, drive: impl Fn(Operation) + Send + Sync + 'static) -> Self {
        self.executor = Arc::new(drive);
        self
    }

    /// Declares an operation: its name, where its arguments come from, how to call it.
    pub fn operation<G, R, F>(
        mut self,
        name: &str,
        arguments: G,
        call: impl Fn(Arc<T>, G::Item) -> F + Send + Sync + 'static,
    ) -> Self
    where
        G: Generator,
        R: IntoReply + 'static,
        F: Future<Output = R> + 'static,
    {
        let (call, arguments) = (Arc::new(call), Arc::new(arguments));
        for waits in std::iter::once(None).chain(WAITS.map(Some)) {
            let (call, chosen) = (call.clone(), self.chosen.clone());
            let named = waits.map_or(name.to_owned(), |waits| format!("{name}~{waits}"));
            self.test = self.test.declare(&named, Same(arguments.clone()), move |object, item| {
                let executor = chosen.get().expect("calls are made when all is declared");
                drive(
                    &**executor,
                    Dropped { future: Some(Box::pin(call(object.clone(), item))), waits },
                )
            });
            let declared = self.test.last().next().expect("it was just declared");
            declared.kind.method = name.into();
        }
        self
    }

    /// The operation declared last may wait for ever. See [`Test::blocking`].
    pub fn blocking(mut self) -> Self {
        self.test = self.test.blocking();
        self
    }

    /// The operation declared last may wait as long as another one gets this reply. See
    /// [`Test::blocking_while`].
    pub fn blocking_while(mut self, name: &str, reply: impl IntoReply) -> Self {
        self.test = self.test.blocking_while(name, reply);
        self
    }

    /// The operation declared last is drawn this many times as often as one of weight 1.
    pub fn weight(mut self, weight: u32) -> Self {
        self.test = self.test.weight(weight);
        self
    }

    /// The operation declared last occurs at most once in a scenario.
    pub fn once(mut self) -> Self {
        self.test = self.test.once();
        self
    }

    /// The operation declared last is called by one thread only: threads count from 0.
    pub fn only_on_thread(mut self, thread: usize) -> Self {
        self.test = self.test.only_on_thread(thread);
        self
    }

    /// What is right: a built-in specification. See [`Test::spec`].
    pub fn spec(self, name: &str) -> Test<T, Arc<T>, Shared> {
        self.declared().spec(name)
    }

    /// The test with its operations, for everything else that tests can be told.
    pub fn declared(mut self) -> Test<T, Arc<T>, Shared> {
        let chosen = self.chosen.set(self.executor);
        assert!(chosen.is_ok(), "a test is declared once");
        let dropped = (f64::from(WEIGHT) * self.cancel).round() as u32;
        self.test.weigh(|kind| match kind.name == kind.method {
            true => WEIGHT - dropped,
            false => dropped / 3,
        });
        self.test
    }
}

/// A generator for several ways to call one operation.
struct Same<G>(Arc<G>);

impl<G: Generator> Generator for Same<G> {
    type Item = G::Item;

    fn draw(&self, draw: &mut Draw) -> Option<Value> {
        self.0.draw(draw)
    }

    fn build(&self, value: Option<&Value>) -> Option<G::Item> {
        self.0.build(value)
    }

    fn is_distinct(&self) -> bool {
        self.0.is_distinct()
    }
}

/// Drives a call to its end, or to where it is dropped.
fn drive<R: IntoReply + 'static>(
    executor: &(dyn Fn(Operation) + Send + Sync),
    call: Dropped<impl Future<Output = R> + 'static>,
) -> Reply {
    let reply = Rc::new(Cell::new(None));
    let told = reply.clone();
    executor(Box::pin(async move {
        let ended = call.await;
        told.set(Some(ended.map_or(Reply::Unknown, IntoReply::reply)));
    }));
    // An executor that gives up has dropped the call.
    reply.take().unwrap_or(Reply::Unknown)
}

/// A future that is dropped when it waits for the so-manieth time, if ever.
struct Dropped<F> {
    future: Option<Pin<Box<F>>>,
    waits: Option<u32>,
}

impl<F: Future> Future for Dropped<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(future) = &mut self.future else { return Poll::Ready(None) };
        if let Poll::Ready(output) = future.as_mut().poll(context) {
            return Poll::Ready(Some(output));
        }
        match &mut self.waits {
            None => Poll::Pending,
            Some(1) => {
                self.future = None;
                Poll::Ready(None)
            }
            Some(waits) => {
                *waits -= 1;
                Poll::Pending
            }
        }
    }
}

/// Waits for a wake-up.
struct Bell {
    has_rung: Mutex<bool>,
    rings: Condvar,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Ok(mut has_rung) = self.has_rung.lock() {
            *has_rung = true;
        }
        self.rings.notify_one();
    }
}

/// Drives a future to its end on this thread.
fn block_on(operation: Operation) {
    let bell = Arc::new(Bell { has_rung: Mutex::new(false), rings: Condvar::new() });
    let waker = Waker::from(bell.clone());
    let mut operation = pin!(operation);
    while operation.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
        let Ok(mut has_rung) = bell.has_rung.lock() else { return };
        if *has_rung {
            // It only let others go first.
            *has_rung = false;
            drop(has_rung);
            thread::yield_now();
            continue;
        }
        while !*has_rung {
            let Ok(woken) = bell.rings.wait(has_rung) else { return };
            has_rung = woken;
        }
        *has_rung = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distinct;

    /// The weights of the ways to call an operation: to its end, and dropped at each wait.
    fn weights(test: &Test<(), Arc<()>, Shared>, method: &str) -> Vec<u32> {
        test.kinds().filter(|kind| &*kind.method == method).map(|kind| kind.weight).collect()
    }

    #[test]
    fn a_share_of_the_calls_is_dropped_however_small_and_whatever_their_weight() {
        for share in [0.0, 0.0001, 0.1, 0.5, 1.0] {
            let test = test_async(|| ())
                .operation("push", distinct::<u32>(), |_, _| async {})
                .weight(3)
                .operation("pop", (), |_, ()| async {})
                .cancel(share)
                .declared();
            let (push, pop) = (weights(&test, "push"), weights(&test, "pop"));
            assert_eq!(push, pop.iter().map(|weight| 3 * weight).collect::<Vec<_>>());
            let dropped: u32 = pop[1..].iter().sum();
            let drawn = f64::from(dropped) / f64::from(pop.iter().sum::<u32>());
            assert!((drawn - share).abs() < 1e-5, "{drawn} of the calls instead of {share}");
            assert_eq!(dropped == 0, share == 0.0);
        }
    }

    #[test]
    fn what_is_said_of_an_operation_holds_for_every_way_to_call_it() {
        let test = test_async(|| ())
            .operation("close", (), |_, ()| async {})
            .once()
            .only_on_thread(1)
            .operation("recv", (), |_, ()| async {})
            .blocking()
            .declared();
        for kind in test.kinds() {
            let closes = &*kind.method == "close";
            assert_eq!(kind.at_most == 1, closes);
            assert_eq!(kind.callers.thread() == Some(1), closes);
            assert_eq!(matches!(kind.blocking, crate::subject::Blocking::Pending), !closes);
        }
    }
}
