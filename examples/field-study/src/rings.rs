//! Ring buffers, intrusive and lock-free queues, stacks, bags.

use crate::models::{Outcome, as_queue, as_two_places};
use crate::{Study, study};
use magnetic::{Consumer as _, Producer as _};
use ringbuf::traits::{Consumer as _, Observer as _, Producer as _, Split as _};
use seriatim_harness::{distinct, ends, test};
use std::num::NonZeroUsize;
use std::time::Duration;

pub const STUDIES: &[Study] = &[
    study("thingbuf", "ThingBuf(2)", "push pop len", thingbuf_len),
    study("rtrb", "RingBuffer(2)", "push slots | pop slots", rtrb_slots),
    study("ringbuf", "HeapRb(2)", "try_push vacant_len | try_pop occupied_len", ringbuf_len),
    study("heapless", "mpmc::Queue(2)", "enqueue dequeue", heapless_mpmc),
    study("lockfree", "Queue", "push pop", lockfree_queue),
    study("lockfree", "Stack", "push pop", lockfree_stack),
    study("lockfree", "channel::mpmc", "send recv", lockfree_mpmc),
    study("scc", "Queue", "push pop peek", scc_queue),
    study("scc", "Stack", "push pop peek", scc_stack),
    study("scc", "Bag", "push pop len", scc_bag),
    study("magnetic", "mpmc_queue(2)", "try_push try_pop", magnetic_mpmc),
    study("magnetic", "spsc_queue(2)", "try_push | try_pop", magnetic_spsc),
    study("may_queue", "spsc::Queue", "push len | pop", may_spsc),
    study("st3", "fifo Worker and Stealer", "push pop | steal_and_pop", st3_fifo),
    study("ring-channel", "ring_channel(2)", "send try_recv", ring_channel),
    study("deadqueue", "limited::Queue(2)", "try_push try_pop", deadqueue_limited),
    study("deadqueue", "unlimited::Queue", "push try_pop", deadqueue_unlimited),
    study("crossbeam-deque", "Worker and Stealer", "push pop | steal", worker),
];

fn thingbuf_len(budget: Duration) -> Outcome {
    let test = test(|| thingbuf::ThingBuf::<u32>::new(2))
        .operation("push", distinct(), |queue, value| queue.push(value).is_ok())
        .operation("pop", (), |queue, ()| queue.pop())
        .operation("len", (), |queue, ()| queue.len());
    as_two_places(test, budget)
}

fn rtrb_slots(budget: Duration) -> Outcome {
    let test = ends(|| rtrb::RingBuffer::<u32>::new(2))
        .producer("push", distinct(), |producer, value| producer.push(value).is_ok())
        .producer("free", (), |producer, ()| producer.slots())
        .consumer("pop", (), |consumer, ()| consumer.pop().ok())
        .consumer("len", (), |consumer, ()| consumer.slots());
    as_two_places(test, budget)
}

fn ringbuf_len(budget: Duration) -> Outcome {
    let test = ends(|| ringbuf::HeapRb::<u32>::new(2).split())
        .producer("push", distinct(), |producer, value| producer.try_push(value).is_ok())
        .producer("free", (), |producer, ()| producer.vacant_len())
        .consumer("pop", (), |consumer, ()| consumer.try_pop())
        .consumer("len", (), |consumer, ()| consumer.occupied_len());
    as_two_places(test, budget)
}

#[allow(deprecated)]
fn heapless_mpmc(budget: Duration) -> Outcome {
    let test = test(heapless::mpmc::Queue::<u32, 2>::new)
        .operation("push", distinct(), |queue, value| queue.enqueue(value).is_ok())
        .operation("pop", (), |queue, ()| queue.dequeue());
    as_two_places(test, budget)
}

fn lockfree_queue(budget: Duration) -> Outcome {
    test(lockfree::queue::Queue::<u32>::new)
        .operation("enqueue", distinct(), |queue, value| queue.push(value))
        .operation("dequeue", (), |queue, ()| queue.pop())
        .spec("queue")
        .drain("dequeue")
        .budget(budget)
        .run()
}

fn lockfree_stack(budget: Duration) -> Outcome {
    test(lockfree::stack::Stack::<u32>::new)
        .operation("push", distinct(), |stack, value| stack.push(value))
        .operation("pop", (), |stack, ()| stack.pop())
        .spec("stack")
        .drain("pop")
        .budget(budget)
        .run()
}

fn lockfree_mpmc(budget: Duration) -> Outcome {
    test(lockfree::channel::mpmc::create::<u32>)
        .operation("enqueue", distinct(), |(sender, _), value| sender.send(value).unwrap())
        .operation("dequeue", (), |(_, receiver), ()| receiver.recv().ok())
        .spec("queue")
        .drain("dequeue")
        .budget(budget)
        .run()
}

fn scc_queue(budget: Duration) -> Outcome {
    test(scc::Queue::<u32>::default)
        .operation("enqueue", distinct(), |queue, value| {
            queue.push(value);
        })
        .operation("dequeue", (), |queue, ()| queue.pop().map(|entry| **entry))
        .operation("peek", (), |queue, ()| queue.peek_with(|entry| entry.map(|entry| **entry)))
        .spec("queue")
        .drain("dequeue")
        .budget(budget)
        .run()
}

fn scc_stack(budget: Duration) -> Outcome {
    test(scc::Stack::<u32>::default)
        .operation("push", distinct(), |stack, value| {
            stack.push(value);
        })
        .operation("pop", (), |stack, ()| stack.pop().map(|entry| **entry))
        .operation("peek", (), |stack, ()| stack.peek_with(|entry| entry.map(|entry| **entry)))
        .spec("stack")
        .drain("pop")
        .budget(budget)
        .run()
}

fn scc_bag(budget: Duration) -> Outcome {
    test(scc::Bag::<u32>::default)
        .operation("add", distinct(), |bag, value| bag.push(value))
        .operation("take", (), |bag, ()| bag.pop())
        .operation("size", (), |bag, ()| bag.len())
        .spec("multiset")
        .drain("take")
        .budget(budget)
        .run()
}

fn magnetic_mpmc(budget: Duration) -> Outcome {
    use magnetic::buffer::dynamic::DynamicBuffer;
    let test = test(|| magnetic::mpmc::mpmc_queue(DynamicBuffer::<u32>::new(2).unwrap()))
        .operation("push", distinct(), |(producer, _), value| producer.try_push(value).is_ok())
        .operation("pop", (), |(_, consumer), ()| consumer.try_pop().ok());
    as_two_places(test, budget)
}

fn magnetic_spsc(budget: Duration) -> Outcome {
    use magnetic::buffer::dynamic::DynamicBuffer;
    let test = ends(|| magnetic::spsc::spsc_queue(DynamicBuffer::<u32>::new(2).unwrap()))
        .producer("push", distinct(), |producer, value| producer.try_push(value).is_ok())
        .consumer("pop", (), |consumer, ()| consumer.try_pop().ok());
    as_two_places(test, budget)
}

fn may_spsc(budget: Duration) -> Outcome {
    test(may_queue::spsc::Queue::<u32>::new)
        .operation("push", distinct(), |queue, value| queue.push(value))
        .only_on_thread(0)
        .operation("size", (), |queue, ()| queue.len())
        .only_on_thread(0)
        .operation("pop", (), |queue, ()| queue.pop())
        .only_on_thread(1)
        .spec("queue")
        .budget(budget)
        .run()
}

fn st3_fifo(budget: Duration) -> Outcome {
    use st3::fifo::{Stealer, Worker};
    use std::sync::Mutex;
    struct Ends {
        worker: Mutex<Worker<u32>>,
        stealer: Stealer<u32>,
    }
    let test = test(|| {
        let worker = Worker::new(8);
        Ends { stealer: worker.stealer(), worker: Mutex::new(worker) }
    })
    .operation("push", distinct(), |ends, value| ends.worker.lock().unwrap().push(value).is_ok())
    .only_on_thread(0)
    .operation("pop", (), |ends, ()| ends.worker.lock().unwrap().pop())
    .only_on_thread(0)
    // Who is busy has stolen nothing, and says nothing of the queue.
    .operation("steal", (), |ends, ()| {
        let mine = Worker::new(8);
        loop {
            match ends.stealer.steal_and_pop(&mine, |_| 1) {
                Ok((value, _)) => return Some(value),
                Err(st3::StealError::Empty) => return None,
                Err(st3::StealError::Busy) => std::thread::yield_now(),
            }
        }
    });
    test.model(crate::models::Queue::new(), |held, call| {
        use seriatim_harness::IntoReply;
        match call.name() {
            "push" => {
                held.push_back(call.arg());
                true.reply()
            }
            _ => held.pop_front().reply(),
        }
    })
    .budget(budget)
    .run()
}

fn ring_channel(budget: Duration) -> Outcome {
    let two = NonZeroUsize::new(2).expect("two is not zero");
    let test = test(move || ring_channel::ring_channel::<u32>(two))
        .operation("force_push", distinct(), |(sender, _), value| sender.send(value).unwrap())
        .operation("pop", (), |(_, receiver), ()| receiver.try_recv().ok());
    as_two_places(test, budget)
}

fn deadqueue_limited(budget: Duration) -> Outcome {
    let test = test(|| deadqueue::limited::Queue::<u32>::new(2))
        .operation("push", distinct(), |queue, value| queue.try_push(value).is_ok())
        .operation("pop", (), |queue, ()| queue.try_pop());
    as_two_places(test, budget)
}

fn deadqueue_unlimited(budget: Duration) -> Outcome {
    let test = test(deadqueue::unlimited::Queue::<u32>::new)
        .operation("push", distinct(), |queue, value| {
            queue.push(value);
            true
        })
        .operation("pop", (), |queue, ()| queue.try_pop());
    as_queue(test, budget)
}

fn worker(budget: Duration) -> Outcome {
    use crossbeam::deque::{Steal, Worker};
    test(|| {
        let worker = Worker::<u32>::new_fifo();
        (worker.stealer(), std::sync::Mutex::new(worker))
    })
    .operation("enqueue", distinct(), |(_, worker), value| worker.lock().unwrap().push(value))
    .only_on_thread(0)
    .operation("dequeue", (), |(_, worker), ()| worker.lock().unwrap().pop())
    .only_on_thread(0)
    .operation("poll", (), |(stealer, _), ()| {
        loop {
            match stealer.steal() {
                Steal::Success(value) => return Some(value),
                Steal::Empty => return None,
                Steal::Retry => std::thread::yield_now(),
            }
        }
    })
    .spec("queue")
    .budget(budget)
    .run()
}
