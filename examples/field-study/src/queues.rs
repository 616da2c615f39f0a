//! Queues and channels.

use crate::Study;
use crate::models::{Outcome, two_places};
use concurrent_queue::ConcurrentQueue;
use crossbeam::channel;
use crossbeam::deque::{Injector, Steal};
use crossbeam::queue::{ArrayQueue, SegQueue};
use seriatim_harness::{Caller, IntoReply, Reply, distinct, test};
use std::collections::VecDeque;
use std::sync::{Mutex, mpsc};
use std::time::Duration;

pub const STUDIES: &[Study] = &[
    Study { name: "crossbeam SegQueue", operations: "push pop", run: seg_queue },
    Study {
        name: "crossbeam SegQueue, size",
        operations: "push pop len is_empty",
        run: seg_queue_size,
    },
    Study { name: "crossbeam ArrayQueue(2)", operations: "push pop", run: array_queue },
    Study {
        name: "crossbeam ArrayQueue(2), size",
        operations: "push pop len is_full",
        run: array_queue_size,
    },
    Study {
        name: "crossbeam ArrayQueue(2), force_push",
        operations: "push force_push pop",
        run: array_queue_force,
    },
    Study { name: "crossbeam Injector", operations: "push steal", run: injector },
    Study {
        name: "crossbeam channel unbounded",
        operations: "send try_recv len",
        run: crossbeam_channel,
    },
    Study {
        name: "crossbeam channel bounded(2)",
        operations: "try_send try_recv len",
        run: crossbeam_bounded,
    },
    Study { name: "concurrent-queue unbounded", operations: "push pop", run: concurrent_unbounded },
    Study {
        name: "concurrent-queue unbounded, size",
        operations: "push pop len is_empty",
        run: concurrent_unbounded_size,
    },
    Study { name: "concurrent-queue bounded(2)", operations: "push pop", run: concurrent_bounded },
    Study { name: "concurrent-queue single", operations: "push pop", run: concurrent_single },
    Study { name: "std mpsc channel", operations: "send try_recv", run: std_mpsc },
    Study { name: "std mpsc sync_channel(2)", operations: "try_send try_recv", run: std_sync },
    Study { name: "flume unbounded", operations: "send try_recv len", run: flume_unbounded },
    Study { name: "flume bounded(2)", operations: "try_send try_recv len", run: flume_bounded },
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
        .model(VecDeque::new(), two_places)
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
        .model(VecDeque::new(), two_places)
        .budget(budget)
        .run()
}

fn array_queue_force(budget: Duration) -> Outcome {
    test(|| ArrayQueue::new(2))
        .operation("push", distinct::<u32>(), |queue, value| queue.push(value).is_ok())
        .operation("force_push", distinct::<u32>(), |queue, value| queue.force_push(value))
        .operation("pop", (), |queue, ()| queue.pop())
        .model(VecDeque::new(), two_places)
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
        .model(VecDeque::new(), two_places)
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
        .model(VecDeque::new(), two_places)
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
    .model(VecDeque::new(), two_places)
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
        .model(VecDeque::new(), two_places)
        .budget(budget)
        .run()
}
