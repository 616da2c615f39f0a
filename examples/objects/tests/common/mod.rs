//! The tests of all objects, declared once: the correct and the broken version of an object have
//! the same test. They run by stress, Shuttle or Loom, whichever the build has.

#![allow(dead_code)]

use seriatim_examples::bounded::{Fullness, Ring};
use seriatim_examples::channel::{Channel, Waking};
use seriatim_examples::lazy_set::{LazySet, Validation};
use seriatim_examples::mailbox::{Mailbox, Orderings};
use seriatim_examples::michael_scott::{Linking, MichaelScott};
use seriatim_examples::seqlock::{SecondLook, SeqLock};
use seriatim_examples::sharded::{Sharded, Single};
use seriatim_examples::treiber::{Tags, Treiber};
use seriatim_harness::{IntoReply, Test, distinct, test};
use std::collections::VecDeque;

/// More values than any scenario stores.
const PLENTY: usize = match seriatim_sync::BACKEND {
    seriatim_sync::Backend::Std => 1024,
    _ => 16,
};

pub fn treiber<T: Tags>() -> Test<Treiber<T>> {
    test(|| Treiber::<T>::new(PLENTY))
        .operation("push", distinct(), |stack, value| stack.push(value))
        .operation("pop", (), |stack, ()| stack.pop())
        .spec("stack")
        .threads(2..=2)
        .drain("pop")
}

pub fn queue<L: Linking>() -> Test<MichaelScott<L>> {
    test(|| MichaelScott::<L>::new(PLENTY))
        .operation("enqueue", distinct(), |queue, value| queue.enqueue(value))
        .operation("dequeue", (), |queue, ()| queue.dequeue())
        .spec("queue")
        .drain("dequeue")
}

pub fn set<V: Validation>() -> Test<LazySet<V>> {
    test(|| LazySet::<V>::new(PLENTY))
        .operation("add", 1..3_u32, |set, key| set.add(key))
        .operation("remove", 1..3_u32, |set, key| set.remove(key))
        .operation("contains", 1..3_u32, |set, key| set.contains(key))
        .spec("set")
}

pub fn ring<F: Fullness>() -> Test<Ring<F>> {
    test(|| Ring::<F>::new(2))
        .operation("push", distinct::<u32>(), |ring, value| ring.push(value))
        .only_on_thread(0)
        .operation("pop", (), |ring, ()| ring.pop())
        .only_on_thread(1)
        .threads(2..=2)
        .model(VecDeque::new(), |held, call| match call.name() {
            "push" => {
                let room = held.len() < 2;
                if room {
                    held.push_back(call.arg::<u32>());
                }
                room.reply()
            }
            _ => held.pop_front().reply(),
        })
}

pub fn sharded() -> Test<Sharded> {
    test(|| Sharded::new(2))
        .operation("add", distinct(), |counter, amount| counter.add(amount))
        .operation("read", (), |counter, ()| counter.sum())
        .spec("counter")
}

pub fn single() -> Test<Single> {
    test(Single::default)
        .operation("add", distinct(), |counter, amount| counter.add(amount))
        .operation("read", (), |counter, ()| counter.sum())
        .spec("counter")
}

pub fn seqlock<L: SecondLook>() -> Test<SeqLock<L>> {
    test(SeqLock::<L>::default)
        .operation("write", distinct(), |pair, value| pair.write(value, value))
        .operation("read", (), |pair, ()| pair.read())
        .model((0, 0), |pair, call| match call.name() {
            "write" => {
                *pair = (call.arg(), call.arg());
                ().reply()
            }
            _ => pair.reply(),
        })
}

pub fn mailbox<O: Orderings>() -> Test<Mailbox<O>> {
    test(Mailbox::<O>::default)
        .operation("put", distinct::<u32>(), |mailbox, letter| mailbox.put(letter))
        .only_on_thread(0)
        .operation("take", (), |mailbox, ()| mailbox.take())
        .only_on_thread(1)
        .threads(2..=2)
        .sequential()
}

pub fn channel<W: Waking>() -> Test<Channel<W>> {
    test(Channel::<W>::default)
        .operation("send", distinct(), |channel, value| channel.send(value))
        .operation("receive", (), |channel, ()| channel.receive())
        .blocking_while("receive", None::<u32>)
        .spec("queue")
}
