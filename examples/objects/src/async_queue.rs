//! A queue whose operations wait: with and without a lock that is held while they do.

use seriatim_sync::Mutex;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::task::{Poll, Waker};

/// How a dequeue goes from looking to taking.
pub trait Between: Send + Sync + 'static {
    /// Whether it holds the lock meanwhile.
    const LOCKED: bool;
}

/// It holds the lock.
pub struct Locked;
/// It does not: another may take what this one has seen.
pub struct Careless;

impl Between for Locked {
    const LOCKED: bool = true;
}

impl Between for Careless {
    const LOCKED: bool = false;
}

/// A lock that is waited for without blocking: a flag, and who wants to be told when it is free.
#[derive(Default)]
struct Gate(Mutex<(bool, Vec<Waker>)>);

struct Held<'g>(&'g Gate);

impl Gate {
    async fn lock(&self) -> Held<'_> {
        poll_fn(|context| {
            let mut gate = self.0.lock().unwrap();
            if gate.0 {
                gate.1.push(context.waker().clone());
                return Poll::Pending;
            }
            gate.0 = true;
            Poll::Ready(Held(self))
        })
        .await
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        let mut gate = self.0.0.lock().unwrap();
        gate.0 = false;
        let waiting = std::mem::take(&mut gate.1);
        drop(gate);
        waiting.into_iter().for_each(Waker::wake);
    }
}

/// Lets others go first, once.
async fn let_others_go() {
    let mut has_waited = false;
    poll_fn(|context| match std::mem::replace(&mut has_waited, true) {
        true => Poll::Ready(()),
        false => {
            context.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await;
}

/// The queue.
pub struct Queue<B> {
    gate: Gate,
    items: Mutex<VecDeque<u32>>,
    between: PhantomData<B>,
}

impl<B: Between> Queue<B> {
    /// An empty one.
    pub fn new() -> Self {
        Queue { gate: Gate::default(), items: Mutex::new(VecDeque::new()), between: PhantomData }
    }

    /// Puts a value at the end.
    pub async fn enqueue(&self, value: u32) {
        let _held = self.gate.lock().await;
        self.items.lock().unwrap().push_back(value);
    }

    /// Looks at the front, waits, and takes it.
    pub async fn dequeue(&self) -> Option<u32> {
        let _held = match B::LOCKED {
            true => Some(self.gate.lock().await),
            false => None,
        };
        let front = self.items.lock().unwrap().front().copied();
        let_others_go().await;
        self.items.lock().unwrap().pop_front();
        front
    }
}

impl<B: Between> Default for Queue<B> {
    fn default() -> Self {
        Queue::new()
    }
}
