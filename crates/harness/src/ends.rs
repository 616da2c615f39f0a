//! Objects that come in two halves, each with one owner: the producer and the consumer of a ring
//! buffer, the sender and the receiver of a channel.

use crate::generator::Generator;
use crate::reply::IntoReply;
use crate::subject::Callers;
use crate::test::Test;
use std::sync::{Arc, Mutex, MutexGuard};

/// Starts the declaration of a test of an object in two halves. Thread 0 owns the first half,
/// thread 1 the second; the main thread uses both before the two start and after they are done. The
/// halves need not be `Sync` nor `Clone`.
///
/// ```
/// use seriatim_harness::{distinct, ends};
/// use std::sync::mpsc;
///
/// ends(|| mpsc::channel::<u32>())
///     .producer("enqueue", distinct(), |sender, value| sender.send(value).unwrap())
///     .consumer("dequeue", (), |receiver, ()| receiver.try_recv().ok())
///     .spec("queue")
///     .drain("dequeue")
/// #   .budget(std::time::Duration::from_millis(50))
///     .check();
/// ```
pub fn ends<P: Send + 'static, C: Send + 'static>(
    make: impl Fn() -> (P, C) + Send + Sync + 'static,
) -> Test<Ends<P, C>, Arc<Ends<P, C>>, Halves> {
    let make = move || {
        let (producer, consumer) = make();
        Ends { producer: Mutex::new(producer), consumer: Mutex::new(consumer) }
    };
    Test::new(make).threads(2..=2)
}

/// Threads own halves of the object.
pub struct Halves;

/// The two halves of an object. The locks are never contended: whoever may use a half is alone.
pub struct Ends<P, C> {
    producer: Mutex<P>,
    consumer: Mutex<C>,
}

/// A half, also if a call that panicked had it.
fn half<T>(half: &Mutex<T>) -> MutexGuard<'_, T> {
    half.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl<P: Send + 'static, C: Send + 'static> Test<Ends<P, C>, Arc<Ends<P, C>>, Halves> {
    /// Declares an operation of the first half: its name, where its arguments come from, how to
    /// call it.
    pub fn producer<G: Generator, R: IntoReply>(
        self,
        name: &str,
        arguments: G,
        call: impl Fn(&mut P, G::Item) -> R + Send + Sync + 'static,
    ) -> Self {
        let call = move |ends: &mut Arc<Ends<P, C>>, item| call(&mut *half(&ends.producer), item);
        self.declare(name, arguments, call).bind(Callers::ThreadOrMain(0))
    }

    /// Declares an operation of the second half.
    pub fn consumer<G: Generator, R: IntoReply>(
        self,
        name: &str,
        arguments: G,
        call: impl Fn(&mut C, G::Item) -> R + Send + Sync + 'static,
    ) -> Self {
        let call = move |ends: &mut Arc<Ends<P, C>>, item| call(&mut *half(&ends.consumer), item);
        self.declare(name, arguments, call).bind(Callers::ThreadOrMain(1))
    }
}
