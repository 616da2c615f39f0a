//! A test that is declared wrongly is refused before anything runs, with everything that is wrong.

#![allow(missing_docs)]
#![cfg(not(any(feature = "shuttle", feature = "loom")))]

use seriatim_harness::{
    Borrows, Caller, Failure, IntoReply, ModelCall, Reply, Test, distinct, ends, methods, test,
};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(200);

type Queue = Mutex<VecDeque<u32>>;

fn queue() -> Test<Queue> {
    test(|| Mutex::new(VecDeque::new()))
        .operation("enqueue", distinct(), |queue, value| queue.lock().unwrap().push_back(value))
        .operation("dequeue", (), |queue, ()| queue.lock().unwrap().pop_front())
}

/// What a test says that cannot be run.
fn refusal<T: Send + Sync + 'static, H: 'static, V>(test: Test<T, H, V>) -> String {
    let refused = catch_unwind(AssertUnwindSafe(|| test.budget(SHORT).run().is_ok()));
    let payload = refused.expect_err("the test must be refused");
    let message = payload.downcast_ref::<String>().expect("it says why").clone();
    assert!(message.contains("this test cannot be run: "), "{message}");
    message
}

/// The operation that drains is called by the main thread, without argument, without patience.
#[test]
fn whatever_the_main_thread_cannot_drain_is_refused() {
    let bound = refusal(queue().only_on_thread(0).spec("queue").drain("dequeue"));
    assert!(bound.contains("`dequeue`, which is declared for one thread only"), "{bound}");
    let takes = refusal(queue().spec("queue").drain("enqueue"));
    assert!(takes.contains("`enqueue` without an argument"), "{takes}");
    let waits = refusal(queue().blocking().spec("queue").drain("dequeue"));
    assert!(waits.contains("may wait for ever"), "{waits}");
    let waits =
        refusal(queue().blocking_while("dequeue", None::<u32>).spec("queue").drain("dequeue"));
    assert!(waits.contains("may wait for ever"), "{waits}");
    let missing = refusal(queue().spec("queue").drain("pop"));
    assert!(missing.contains("`drain` names `pop`"), "{missing}");
}

#[test]
fn an_operation_that_no_thread_can_call_is_refused() {
    let message = refusal(queue().only_on_thread(3).threads(2..=2).spec("queue"));
    assert!(message.contains("`dequeue` is for thread 3 only"), "{message}");
}

#[test]
fn a_replay_line_whose_calls_are_on_wrong_threads_is_refused() {
    let line = "dequeue() >> enqueue(1) >> @ stress";
    let message = refusal(queue().only_on_thread(0).spec("queue").replay(line));
    assert!(message.contains("`dequeue()` is called by a thread that must not"), "{message}");
}

fn unknown_to(call: &ModelCall) -> Reply {
    match call.name() {
        "enqueue" => ().reply(),
        other => panic!("no model for {other}"),
    }
}

/// All names that the specification lacks are told at once, at the start.
#[test]
fn every_name_that_the_specification_lacks_is_told() {
    let strange = || queue().operation("peek", (), |_, ()| 1_u32).operation("poke", (), |_, ()| ());
    let named = refusal(strange().spec("queue"));
    assert!(named.contains("`poke`") && !named.contains("`enqueue`:"), "{named}");
    let model = refusal(strange().model((), |_, call| unknown_to(call)));
    for name in ["dequeue", "peek", "poke"] {
        assert!(model.contains(&format!("`{name}`: no model for {name}")), "{model}");
    }
    let type_wrong = refusal(queue().model(0, |_, call| call.arg::<bool>().reply()));
    assert!(type_wrong.contains("`enqueue`: the model asks for another"), "{type_wrong}");
}

/// A cell that is swapped under a condition, and a method of no argument.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Cell(u32);

impl Cell {
    fn cas(&mut self, old: u32, new: u32) -> bool {
        let same = self.0 == old;
        self.0 = if same { new } else { self.0 };
        same
    }

    fn swap(&mut self, new: u32) -> u32 {
        std::mem::replace(&mut self.0, new)
    }

    fn read(&mut self) -> u32 {
        self.0
    }
}

methods!(Cell { cas(old: u32, new: u32), swap(new: u32), read() });

/// The methods of a type are operations of none, one and two arguments; others are told at the
/// start.
#[test]
fn the_methods_of_a_type_are_a_model() {
    let cell = || {
        test(|| Mutex::new(Cell::default()))
            .operation("cas", (0..3_u32, distinct::<u32>()), |cell, (old, new)| {
                cell.lock().unwrap().cas(old, new)
            })
            .operation("swap", distinct(), |cell, new| cell.lock().unwrap().swap(new))
            .operation("read", (), |cell, ()| cell.lock().unwrap().read())
            .budget(SHORT)
    };
    cell().object(Cell::default()).check();
    let failed = cell().object(Cell(7)).run().unwrap_err();
    assert!(matches!(failed.failure, Failure::Disagreement(_)), "{}", failed.report);
    let strange = cell().operation("peek", (), |_, ()| 1_u32).operation("poke", (), |_, ()| ());
    let message = refusal(strange.object(Cell::default()));
    for name in ["peek", "poke"] {
        let told = format!("`{name}`: Cell has no method `{name}`, only cas, swap, read");
        assert!(message.contains(&told), "{message}");
    }
}

/// A model that panics later on is to blame itself, not the object.
#[test]
fn a_model_that_panics_is_not_the_objects_fault() {
    let model = |held: &mut u32, call: &ModelCall| {
        *held += u32::from(call.name() == "enqueue");
        assert!(*held < 3, "the model holds two values only");
        Reply::Answer(None)
    };
    let test = test(|| ()).operation("enqueue", distinct::<u32>(), |_, _| ());
    let message = refusal(test.model(0, model));
    assert!(message.contains("panicked: the model holds two values only"), "{message}");
}

/// Halves that are neither `Sync` nor `Clone`, drained by the main thread.
#[test]
fn a_channel_is_tested_by_its_two_ends() {
    let passed = ends(mpsc::channel::<u32>)
        .producer("enqueue", distinct(), |sender, value| sender.send(value).unwrap())
        .consumer("dequeue", (), |receiver, ()| receiver.try_recv().ok())
        .spec("queue")
        .drain("dequeue")
        .budget(SHORT)
        .run()
        .unwrap();
    assert!(passed.executions > 0);
    let failed = ends(mpsc::channel::<u32>)
        .producer("push", distinct(), |sender, value| sender.send(value).unwrap())
        .consumer("pop", (), |receiver, ()| receiver.try_recv().ok())
        .spec("stack")
        .run()
        .unwrap_err();
    assert!(matches!(failed.failure, Failure::Disagreement(_)), "{}", failed.report);
    assert_eq!(failed.calls, 3, "{}", failed.report);
}

/// A handle that borrows the object and is dropped before it.
struct Reader<'a> {
    queue: &'a Queue,
    seen: usize,
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        assert!(self.queue.lock().unwrap().len() < 100_000 && self.seen < 100_000);
    }
}

struct Reads;

impl Borrows<Queue> for Reads {
    type Handle<'a> = Reader<'a>;

    fn handle(queue: &Queue, _: Caller) -> Reader<'_> {
        Reader { queue, seen: 0 }
    }
}

#[test]
fn a_handle_may_borrow_the_object() {
    test(|| Mutex::new(VecDeque::new()))
        .borrowing::<Reads>()
        .operation("enqueue", distinct(), |reader, value: u32| {
            reader.queue.lock().unwrap().push_back(value);
        })
        .operation("dequeue", (), |reader, ()| {
            reader.seen += 1;
            reader.queue.lock().unwrap().pop_front()
        })
        .spec("queue")
        .drain("dequeue")
        .budget(SHORT)
        .check();
}
