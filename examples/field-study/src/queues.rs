//! Queues and channels.

use crate::models::{Outcome, bounded};
use crate::{Study, study};
use concurrent_queue::ConcurrentQueue;
use crossbeam::channel;
use crossbeam::deque::{Injector, Steal};
use crossbeam::queue::{ArrayQueue, SegQueue};
use seriatim_harness::{Caller, IntoReply, Reply, distinct, test};
use std::collections::VecDeque;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

pub const STUDIES: &[Study] = &[
    study("crossbeam-queue", "crossbeam SegQueue", "push pop", seg_queue),
    study("crossbeam-queue", "crossbeam SegQueue, size", "push pop len is_empty", seg_queue_size),
    study("crossbeam-queue", "crossbeam ArrayQueue(2)", "push pop", array_queue),
    study(
        "crossbeam-queue",
        "crossbeam ArrayQueue(2), size",
        "push pop len is_full",
        array_queue_size,
    ),
    study(
        "crossbeam-queue",
        "crossbeam ArrayQueue(2), force_push",
        "push force_push pop",
        array_queue_force,
    ),
    study("crossbeam-deque", "crossbeam Injector", "push steal", injector),
    study(
        "crossbeam-channel",
        "crossbeam channel unbounded",
        "send try_recv len",
        crossbeam_channel,
    ),
    study(
        "crossbeam-channel",
        "crossbeam channel bounded(2)",
        "try_send try_recv len",
        crossbeam_bounded,
    ),
    study("concurrent-queue", "concurrent-queue unbounded", "push pop", concurrent_unbounded),
    study(
        "concurrent-queue",
        "concurrent-queue unbounded, size",
        "push pop len is_empty",
        concurrent_unbounded_size,
    ),
    study("concurrent-queue", "concurrent-queue bounded(2)", "push pop", concurrent_bounded),
    study("concurrent-queue", "concurrent-queue single", "push pop", concurrent_single),
    study("std", "std mpsc channel", "send try_recv", std_mpsc),
    study("std", "std mpsc sync_channel(2)", "try_send try_recv", std_sync),
    study("flume", "flume unbounded", "send try_recv len", flume_unbounded),
    study("flume", "flume bounded(2)", "try_send try_recv len", flume_bounded),
];

fn seg_queue(budget: Duration) -> Outcome {
    test(SegQueue::new)
        .operation("push", distinct::<u32>(), |queue, value| queue.push(value))
        .operation("pop", (), |queue, ()| queue.pop())
        .spec("queue")
        .drain("pop")
        .budget(budget)
        .run()
}

fn seg_queue_size(budget: Duration) -> Outcome {
    test(SegQueue::new)
        .operation("push", distinct::<u32>(), |queue, value| queue.push(value))
        .operation("pop", (), |queue, ()| queue.pop())
        .operation("len", (), |queue, ()| queue.len())
        .operation("is_empty", (), |queue, ()| queue.is_empty())
        .spec("queue")
        .budget(budget)
        .run()
}

fn array_queue(budget: Duration) -> Outcome {
    test(|| ArrayQueue::new(2))
        .operation("push", distinct::<u32>(), |queue, value| queue.push(value).is_ok())
        .operation("pop", (), |queue, ()| queue.pop())
        .model(VecDeque::new(), bounded(2))
        .drain("pop")
        .budget(budget)
        .run()
}

fn array_queue_size(budget: Duration) -> Outcome {
    test(|| ArrayQueue::new(2))
        .operation("push", distinct::<u32>(), |queue, value| queue.push(value).is_ok())
        .operation("pop", (), |queue, ()| queue.pop())
        .operation("len", (), |queue, ()| queue.len())
        .operation("is_full", (), |queue, ()| queue.is_full())
        .model(VecDeque::new(), bounded(2))
        .budget(budget)
        .run()
}

fn array_queue_force(budget: Duration) -> Outcome {
    test(|| ArrayQueue::new(2))
        .operation("push", distinct::<u32>(), |queue, value| queue.push(value).is_ok())
        .operation("force_push", distinct::<u32>(), |queue, value| queue.force_push(value))
        .operation("pop", (), |queue, ()| queue.pop())
        .model(VecDeque::new(), bounded(2))
        .drain("pop")
        .budget(budget)
        .run()
}

fn injector(budget: Duration) -> Outcome {
    test(Injector::new)
        .operation("push", distinct::<u32>(), |queue, value| queue.push(value))
        .operation("pop", (), |queue, ()| {
            loop {
                match queue.steal() {
                    Steal::Success(value) => return Some(value),
                    Steal::Empty => return None,
                    Steal::Retry => std::thread::yield_now(),
                }
            }
        })
        .spec("queue")
        .drain("pop")
        .budget(budget)
        .run()
}

fn crossbeam_channel(budget: Duration) -> Outcome {
    test(channel::unbounded::<u32>)
        .operation("push", distinct(), |(sender, _), value| sender.send(value).is_ok())
        .operation("pop", (), |(_, receiver), ()| receiver.try_recv().ok())
        .operation("len", (), |(_, receiver), ()| receiver.len())
        .spec("queue")
        .budget(budget)
        .run()
}

fn crossbeam_bounded(budget: Duration) -> Outcome {
    test(|| channel::bounded::<u32>(2))
        .operation("push", distinct(), |(sender, _), value| sender.try_send(value).is_ok())
        .operation("pop", (), |(_, receiver), ()| receiver.try_recv().ok())
        .operation("len", (), |(_, receiver), ()| receiver.len())
        .model(VecDeque::new(), bounded(2))
        .budget(budget)
        .run()
}

fn concurrent_unbounded(budget: Duration) -> Outcome {
    test(ConcurrentQueue::unbounded)
        .operation("push", distinct::<u32>(), |queue, value| queue.push(value).is_ok())
        .operation("pop", (), |queue, ()| queue.pop().ok())
        .spec("queue")
        .drain("pop")
        .budget(budget)
        .run()
}

fn concurrent_unbounded_size(budget: Duration) -> Outcome {
    test(ConcurrentQueue::unbounded)
        .operation("push", distinct::<u32>(), |queue, value| queue.push(value).is_ok())
        .operation("pop", (), |queue, ()| queue.pop().ok())
        .operation("len", (), |queue, ()| queue.len())
        .operation("is_empty", (), |queue, ()| queue.is_empty())
        .spec("queue")
        .budget(budget)
        .run()
}

fn concurrent_bounded(budget: Duration) -> Outcome {
    test(|| ConcurrentQueue::bounded(2))
        .operation("push", distinct::<u32>(), |queue, value| queue.push(value).is_ok())
        .operation("pop", (), |queue, ()| queue.pop().ok())
        .model(VecDeque::new(), bounded(2))
        .drain("pop")
        .budget(budget)
        .run()
}

fn concurrent_single(budget: Duration) -> Outcome {
    test(|| ConcurrentQueue::bounded(1))
        .operation("push", distinct::<u32>(), |queue, value| queue.push(value).is_ok())
        .operation("pop", (), |queue, ()| queue.pop().ok())
        .model(None, |held: &mut Option<u32>, call| match call.name() {
            "push" => {
                let room = held.is_none();
                if room {
                    *held = Some(call.arg());
                }
                room.reply()
            }
            _ => held.take().reply(),
        })
        .drain("pop")
        .budget(budget)
        .run()
}

/// A thread's end or ends of a channel with one receiver.
struct Ends<S> {
    sender: S,
    receiver: Option<mpsc::Receiver<u32>>,
}

impl<S: Clone> Ends<S> {
    fn of((sender, receiver): &(S, Mutex<Option<mpsc::Receiver<u32>>>), caller: Caller) -> Self {
        let mut receiver = receiver.lock().expect("nobody panics with the lock");
        let receiver = if caller == Caller::Thread(0) { receiver.take() } else { None };
        Ends { sender: sender.clone(), receiver }
    }

    fn pop(&self) -> Option<u32> {
        self.receiver.as_ref().and_then(|receiver| receiver.try_recv().ok())
    }
}

fn std_mpsc(budget: Duration) -> Outcome {
    test(|| {
        let (sender, receiver) = mpsc::channel();
        (sender, Mutex::new(Some(receiver)))
    })
    .handles(Ends::of)
    .operation("push", distinct(), |ends, value| ends.sender.send(value))
    .operation("pop", (), |ends, ()| ends.pop())
    .only_on_thread(0)
    .spec("queue")
    .budget(budget)
    .run()
}

fn std_sync(budget: Duration) -> Outcome {
    test(|| {
        let (sender, receiver) = mpsc::sync_channel(2);
        (sender, Mutex::new(Some(receiver)))
    })
    .handles(Ends::of)
    .operation("push", distinct(), |ends, value| match ends.sender.try_send(value) {
        Ok(()) => true.reply(),
        Err(mpsc::TrySendError::Full(_)) => false.reply(),
        // The receiver lives as long as the object is used.
        Err(mpsc::TrySendError::Disconnected(_)) => Reply::Failed(None),
    })
    .operation("pop", (), |ends, ()| ends.pop())
    .only_on_thread(0)
    .model(VecDeque::new(), bounded(2))
    .budget(budget)
    .run()
}

fn flume_unbounded(budget: Duration) -> Outcome {
    test(flume::unbounded::<u32>)
        .operation("push", distinct(), |(sender, _), value| sender.send(value).is_ok())
        .operation("pop", (), |(_, receiver), ()| receiver.try_recv().ok())
        .operation("len", (), |(_, receiver), ()| receiver.len())
        .spec("queue")
        .budget(budget)
        .run()
}

fn flume_bounded(budget: Duration) -> Outcome {
    test(|| flume::bounded::<u32>(2))
        .operation("push", distinct(), |(sender, _), value| sender.try_send(value).is_ok())
        .operation("pop", (), |(_, receiver), ()| receiver.try_recv().ok())
        .operation("len", (), |(_, receiver), ()| receiver.len())
        .model(VecDeque::new(), bounded(2))
        .budget(budget)
        .run()
}
