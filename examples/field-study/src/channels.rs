//! Channels, with the calls that do not wait.

use crate::models::{Outcome, Queue, as_queue, as_two_places, bounded};
use crate::{Study, study};
use seriatim_harness::{IntoReply, distinct, ends, test};
use std::sync::Mutex;
use std::time::Duration;

pub const STUDIES: &[Study] = &[
    study("async-channel", "bounded(2)", "try_send try_recv len", async_bounded),
    study("async-channel", "bounded(2), closed", "try_send try_recv close", async_closed),
    study("kanal", "bounded(2)", "try_send try_recv len", kanal_bounded),
    study("kanal", "unbounded", "try_send try_recv len is_empty", kanal_unbounded),
    study("loole", "bounded(2)", "try_send try_recv len", loole_bounded),
    study("loole", "unbounded", "send try_recv len", loole_unbounded),
    study("tokio", "mpsc::channel(2)", "try_send | try_recv", tokio_bounded),
    study("tokio", "mpsc::unbounded_channel", "send | try_recv len", tokio_unbounded),
    study("tokio", "broadcast(2)", "send try_recv with Lagged, len, subscribe", tokio_broadcast),
    study("crossfire", "mpmc::bounded_blocking(2)", "try_send try_recv", crossfire_bounded),
    study("crossfire", "mpmc::unbounded_blocking", "try_send try_recv", crossfire_unbounded),
    study("async-broadcast", "broadcast(2)", "try_broadcast | try_recv", async_broadcast_two),
    study("async-broadcast", "broadcast(2), overflow", "try_broadcast try_recv", overflowing),
    study("bus", "Bus(2)", "try_broadcast | try_recv", bus_two),
    study("futures-channel", "mpsc::unbounded", "unbounded_send | try_recv", futures_unbounded),
    study("tachyonix", "channel(2)", "try_send | try_recv", tachyonix_two),
];

fn async_bounded(budget: Duration) -> Outcome {
    let test = test(|| async_channel::bounded::<u32>(2))
        .operation("push", distinct(), |(sender, _), value| sender.try_send(value).is_ok())
        .operation("pop", (), |(_, receiver), ()| receiver.try_recv().ok())
        .operation("len", (), |(sender, _), ()| sender.len());
    as_two_places(test, budget)
}

fn async_closed(budget: Duration) -> Outcome {
    use async_channel::{TryRecvError, TrySendError};
    test(|| async_channel::bounded::<u32>(2))
        .operation("push", distinct(), |(sender, _), value| match sender.try_send(value) {
            Ok(()) => "sent",
            Err(TrySendError::Full(_)) => "full",
            Err(TrySendError::Closed(_)) => "closed",
        })
        .operation("pop", (), |(_, receiver), ()| match receiver.try_recv() {
            Ok(value) => value.to_string(),
            Err(TryRecvError::Empty) => "empty".to_owned(),
            Err(TryRecvError::Closed) => "closed".to_owned(),
        })
        .operation("close", (), |(sender, _), ()| sender.close())
        .once()
        .model((Queue::new(), false), |(held, closed), call| match call.name() {
            "push" if *closed => "closed".reply(),
            "push" if held.len() == 2 => "full".reply(),
            "push" => {
                held.push_back(call.arg());
                "sent".reply()
            }
            "pop" => match held.pop_front() {
                Some(value) => value.to_string().reply(),
                None if *closed => "closed".reply(),
                None => "empty".reply(),
            },
            _ => (!std::mem::replace(closed, true)).reply(),
        })
        .budget(budget)
        .run()
}

fn kanal_bounded(budget: Duration) -> Outcome {
    let test = test(|| kanal::bounded::<u32>(2))
        .operation("push", distinct(), |(sender, _), value| sender.try_send(value).unwrap())
        .operation("pop", (), |(_, receiver), ()| receiver.try_recv().unwrap())
        .operation("len", (), |(sender, _), ()| sender.len());
    as_two_places(test, budget)
}

fn kanal_unbounded(budget: Duration) -> Outcome {
    let test = test(kanal::unbounded::<u32>)
        .operation("push", distinct(), |(sender, _), value| sender.try_send(value).unwrap())
        .operation("pop", (), |(_, receiver), ()| receiver.try_recv().unwrap())
        .operation("len", (), |(sender, _), ()| sender.len())
        .operation("is_empty", (), |(_, receiver), ()| receiver.is_empty());
    as_queue(test, budget)
}

fn loole_bounded(budget: Duration) -> Outcome {
    let test = test(|| loole::bounded::<u32>(2))
        .operation("push", distinct(), |(sender, _), value| sender.try_send(value).is_ok())
        .operation("pop", (), |(_, receiver), ()| receiver.try_recv().ok())
        .operation("len", (), |(sender, _), ()| sender.len());
    as_two_places(test, budget)
}

fn loole_unbounded(budget: Duration) -> Outcome {
    let test = test(loole::unbounded::<u32>)
        .operation("push", distinct(), |(sender, _), value| sender.send(value).is_ok())
        .operation("pop", (), |(_, receiver), ()| receiver.try_recv().ok())
        .operation("len", (), |(_, receiver), ()| receiver.len());
    as_queue(test, budget)
}

fn tokio_bounded(budget: Duration) -> Outcome {
    let test = test(|| {
        let (sender, receiver) = tokio::sync::mpsc::channel::<u32>(2);
        (sender, Mutex::new(receiver))
    })
    .operation("push", distinct(), |(sender, _), value| sender.try_send(value).is_ok())
    .operation("pop", (), |(_, receiver), ()| receiver.lock().unwrap().try_recv().ok())
    .only_on_thread(0);
    as_two_places(test, budget)
}

fn tokio_unbounded(budget: Duration) -> Outcome {
    let test = test(|| {
        let (sender, receiver) = tokio::sync::mpsc::unbounded_channel::<u32>();
        (sender, Mutex::new(receiver))
    })
    .operation("push", distinct(), |(sender, _), value| sender.send(value).is_ok())
    .operation("len", (), |(_, receiver), ()| receiver.lock().unwrap().len())
    .only_on_thread(0)
    .operation("pop", (), |(_, receiver), ()| receiver.lock().unwrap().try_recv().ok())
    .only_on_thread(0);
    as_queue(test, budget)
}

/// Two receivers, which operations name.
fn tokio_broadcast(budget: Duration) -> Outcome {
    use tokio::sync::broadcast::{self, error::TryRecvError};
    test(|| {
        let (sender, receiver) = broadcast::channel::<u32>(2);
        let receivers = [sender.subscribe(), receiver].map(Mutex::new);
        (sender, receivers)
    })
    .operation("send", distinct(), |(sender, _), value| sender.send(value).is_ok())
    .operation("try_recv", 0..2_usize, |(_, receivers), receiver| {
        match receivers[receiver].lock().unwrap().try_recv() {
            Ok(value) => value.reply(),
            Err(TryRecvError::Empty) => None::<u32>.reply(),
            Err(TryRecvError::Lagged(count)) => ("lagged", count).reply(),
            Err(TryRecvError::Closed) => "closed".reply(),
        }
    })
    .operation("len", 0..2_usize, |(_, receivers), receiver| {
        receivers[receiver].lock().unwrap().len()
    })
    .operation("subscribe", 0..2_usize, |(sender, receivers), receiver| {
        let mut receiver = receivers[receiver].lock().unwrap();
        *receiver = sender.subscribe();
    })
    .spec("broadcast(capacity=2)")
    .budget(budget)
    .run()
}

/// What comes first goes when there is no room.
fn overflowing(budget: Duration) -> Outcome {
    use async_broadcast::TryRecvError;
    test(|| {
        let (mut sender, receiver) = async_broadcast::broadcast::<u32>(2);
        sender.set_overflow(true);
        let receivers = [receiver.clone(), receiver].map(Mutex::new);
        (sender, receivers)
    })
    .operation("send", distinct(), |(sender, _), value| sender.try_broadcast(value).is_ok())
    .operation("try_recv", 0..2_usize, |(_, receivers), receiver| {
        match receivers[receiver].lock().unwrap().try_recv() {
            Ok(value) => value.reply(),
            Err(TryRecvError::Empty) => None::<u32>.reply(),
            Err(TryRecvError::Overflowed(count)) => ("lagged", count).reply(),
            Err(TryRecvError::Closed) => "closed".reply(),
        }
    })
    .spec("broadcast(capacity=2)")
    .budget(budget)
    .run()
}

fn crossfire_bounded(budget: Duration) -> Outcome {
    let test = test(|| {
        let (sender, receiver) = crossfire::mpmc::bounded_blocking::<u32>(2);
        (Mutex::new(sender), Mutex::new(receiver))
    })
    .handles(|(sender, receiver), _| {
        (sender.lock().unwrap().clone(), receiver.lock().unwrap().clone())
    })
    .operation("push", distinct(), |(sender, _), value| sender.try_send(value).is_ok())
    .operation("pop", (), |(_, receiver), ()| receiver.try_recv().ok());
    as_two_places(test, budget)
}

fn crossfire_unbounded(budget: Duration) -> Outcome {
    let test = test(|| {
        let (sender, receiver) = crossfire::mpmc::unbounded_blocking::<u32>();
        (Mutex::new(sender), Mutex::new(receiver))
    })
    .handles(|(sender, receiver), _| {
        (sender.lock().unwrap().clone(), receiver.lock().unwrap().clone())
    })
    .operation("push", distinct(), |(sender, _), value| sender.try_send(value).is_ok())
    .operation("pop", (), |(_, receiver), ()| receiver.try_recv().ok());
    as_queue(test, budget)
}

fn async_broadcast_two(budget: Duration) -> Outcome {
    ends(|| async_broadcast::broadcast::<u32>(2))
        .producer("push", distinct(), |sender, value| sender.try_broadcast(value).is_ok())
        .consumer("pop", (), |receiver, ()| receiver.try_recv().ok())
        .model(Queue::new(), bounded(2))
        .budget(budget)
        .run()
}

fn bus_two(budget: Duration) -> Outcome {
    ends(|| {
        let mut bus = bus::Bus::<u32>::new(2);
        let reader = bus.add_rx();
        (bus, reader)
    })
    .producer("push", distinct(), |bus, value| bus.try_broadcast(value).is_ok())
    .consumer("pop", (), |reader, ()| reader.try_recv().ok())
    .model(Queue::new(), bounded(2))
    .budget(budget)
    .run()
}

fn futures_unbounded(budget: Duration) -> Outcome {
    let test = test(|| {
        let (sender, receiver) = futures_channel::mpsc::unbounded::<u32>();
        (sender, Mutex::new(receiver))
    })
    .operation("push", distinct(), |(sender, _), value| sender.unbounded_send(value).is_ok())
    .operation("pop", (), |(_, receiver), ()| receiver.lock().unwrap().try_recv().ok())
    .only_on_thread(0);
    as_queue(test, budget)
}

fn tachyonix_two(budget: Duration) -> Outcome {
    let test = test(|| {
        let (sender, receiver) = tachyonix::channel::<u32>(2);
        (sender, Mutex::new(receiver))
    })
    .operation("push", distinct(), |(sender, _), value| sender.try_send(value).is_ok())
    .operation("pop", (), |(_, receiver), ()| receiver.lock().unwrap().try_recv().ok())
    .only_on_thread(0);
    as_two_places(test, budget)
}
