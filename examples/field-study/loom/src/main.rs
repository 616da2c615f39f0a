//! Published crates that can be built for Loom, explored by the harness.
//!
//! ```text
//! RUSTFLAGS='--cfg loom --cfg crossbeam_loom' cargo run --release -- 30
//! ```
//!
//! The number is the budget of each study in seconds. Of the crates of the field study these two
//! take the version of Loom that the harness has; sharded-slab and st3 take an older one, thingbuf
//! and tachyonix use it in their own tests only, and the others have no such build.

use concurrent_queue::ConcurrentQueue;
use crossbeam_epoch::{Atomic, Owned, Shared, pin};
use seriatim_harness::{Failed, Passed, distinct, test};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::time::Duration;

type Ran = Result<Passed, Box<Failed>>;

/// What is studied: the crate, the object, and the test.
const STUDIES: &[(&str, &str, fn(Duration) -> Ran)] = &[
    ("concurrent-queue 2.5.0", "bounded(2): push pop", |budget| {
        bounded(2).spec("bounded-deque(capacity=2)").drain("pop").budget(budget).run()
    }),
    ("concurrent-queue 2.5.0", "bounded(2): push pop len", |budget| {
        let sized = bounded(2).operation("len", (), |queue, ()| queue.len());
        sized.spec("bounded-deque(capacity=2)").budget(budget).run()
    }),
    ("concurrent-queue 2.5.0", "bounded(1): push pop", |budget| {
        bounded(1).spec("bounded-deque(capacity=1)").drain("pop").budget(budget).run()
    }),
    ("concurrent-queue 2.5.0", "bounded(2): force_push pop is_full", |budget| {
        test(|| ConcurrentQueue::<u32>::bounded(2))
            .operation("force_push", distinct(), |queue, value| queue.force_push(value).unwrap())
            .operation("pop", (), |queue, ()| queue.pop().ok())
            .operation("is_full", (), |queue, ()| queue.is_full())
            .spec("bounded-deque(capacity=2)")
            .budget(budget)
            .run()
    }),
    ("concurrent-queue 2.5.0", "unbounded: push pop", |budget| {
        test(ConcurrentQueue::<u32>::unbounded)
            .operation("enqueue", distinct(), |queue, value| queue.push(value).unwrap())
            .operation("dequeue", (), |queue, ()| queue.pop().ok())
            .spec("queue")
            .drain("dequeue")
            .budget(budget)
            .run()
    }),
    ("crossbeam-epoch 0.9.21", "a Treiber stack on it: push pop", |budget| {
        test(Stack::default)
            .operation("push", distinct(), Stack::push)
            .operation("pop", (), |stack, ()| stack.pop())
            .spec("stack")
            .drain("pop")
            .budget(budget)
            .run()
    }),
];

fn bounded(capacity: usize) -> seriatim_harness::Test<ConcurrentQueue<u32>> {
    test(move || ConcurrentQueue::<u32>::bounded(capacity))
        .operation("push", distinct(), |queue, value| queue.push(value).is_ok())
        .operation("pop", (), |queue, ()| queue.pop().ok())
}

/// Treiber's stack, whose nodes are reclaimed by epochs.
#[derive(Default)]
struct Stack {
    top: Atomic<Node>,
}

struct Node {
    value: u32,
    below: Atomic<Node>,
}

impl Stack {
    fn push(&self, value: u32) {
        let guard = pin();
        let mut node = Owned::new(Node { value, below: Atomic::null() });
        loop {
            let top = self.top.load(Relaxed, &guard);
            node.below.store(top, Relaxed);
            match self.top.compare_exchange(top, node, Release, Relaxed, &guard) {
                Ok(_) => return,
                Err(failed) => node = failed.new,
            }
        }
    }

    fn pop(&self) -> Option<u32> {
        let guard = pin();
        loop {
            let top = self.top.load(Acquire, &guard);
            // Sound: a node that was read is not destroyed while the guard lives.
            let node = unsafe { top.as_ref() }?;
            let below = node.below.load(Relaxed, &guard);
            if self.top.compare_exchange(top, below, AcqRel, Relaxed, &guard).is_ok() {
                // Sound: nobody reaches it any more.
                unsafe { guard.defer_destroy(top) };
                return Some(node.value);
            }
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        while self.pop().is_some() {}
        // What is left is null.
        self.top.store(Shared::null(), Relaxed);
    }
}

fn main() {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10.0);
    let budget = Duration::from_secs_f64(seconds);
    println!("| crate | object | executions | different | scenarios seen whole | verdict |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (krate, object, run) in STUDIES {
        match run(budget) {
            Ok(passed) => {
                let Passed { executions, different, complete, .. } = passed;
                println!(
                    "| {krate} | {object} | {executions} | {different} | {complete} | no failure |"
                );
            }
            Err(failed) => {
                let (executions, word) = (failed.executions, failed.failure.word());
                let (calls, scenario) = (failed.calls, failed.scenario.replace('|', "\\|"));
                println!(
                    "| {krate} | {object} | {executions} | | | **{word}**, {calls} calls: `{scenario}` |"
                );
                eprintln!("\n## {krate}, {object}\n{}", failed.report);
            }
        }
    }
}
