//! `watch`: events from a generator, from a recorder at work, and the moment at which a history
//! goes wrong.

use crate::run::{file, folder, seriatim, seriatim_reading};
use seriatim_harness::{Clock, Recorder};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

fn events(spec: &str, more: &[&str]) -> Vec<u8> {
    let arguments = [&["gen", spec, "-n", "500", "--to", "jsonl-events"], more].concat();
    seriatim(&arguments).exits(0).out.into_bytes()
}

#[test]
fn what_is_linearizable_is_so_at_every_event() {
    for spec in ["set", "register", "mutex", "stack", "priority-queue", "deque", "map", "log"] {
        for more in [&[][..], &["--values", "3", "--threads", "3"]] {
            let watched = seriatim_reading(&events(spec, more), &["watch", spec]);
            watched.exits(0).says("linearizable so far, 50");
        }
    }
    let plain = ["--shares", "enqueue=1,dequeue=1,front=0"];
    let log = events("queue", &plain);
    seriatim_reading(&log, &["watch", "queue"]).exits(0).says("linearizable so far");
}

#[test]
fn the_event_that_makes_a_history_wrong_is_named() {
    let log = "{\"process\":0,\"type\":\"call\",\"op\":\"enqueue\",\"arg\":1}\n\
               {\"process\":0,\"type\":\"return\"}\n\
               {\"process\":0,\"type\":\"call\",\"op\":\"dequeue\"}\n\
               {\"process\":0,\"type\":\"return\",\"result\":null}\n\
               {\"process\":0,\"type\":\"call\",\"op\":\"enqueue\",\"arg\":2}\n";
    let watched = seriatim_reading(log.as_bytes(), &["watch", "queue"]);
    watched.exits(1).says("-:4: VIOLATION at event 4");
}

#[test]
fn what_cannot_be_watched_is_refused() {
    seriatim_reading(b"", &["watch", "mutex(owner)"]).exits(2).complains("cannot be watched");
    let operation = b"{\"process\":0,\"op\":\"read\",\"call\":1,\"return\":2}\n";
    seriatim_reading(operation, &["watch", "register"]).exits(2).complains("one event per line");
    seriatim_reading(b"garbage\n", &["watch", "queue"]).exits(2).complains("-:1:");
}

#[test]
fn a_specification_in_a_file_can_be_watched() {
    let source = "spec flag {\n  var up: bool = false\n  \
                  method raise() -> bool { let old = up; up = true; return old }\n}\n";
    let spec = &file(&folder("watched-specification"), "flag.seri", source);
    let event = |process: u32, text: &str| format!("{{\"process\":{process},{text}}}\n");
    let call = "\"type\":\"call\",\"op\":\"raise\"";
    let ret = |old: bool| format!("\"type\":\"return\",\"result\":{old}");
    let log = |last: bool| {
        [event(0, call), event(1, call), event(1, &ret(false)), event(0, &ret(last))].concat()
    };
    let right = seriatim_reading(log(true).as_bytes(), &["watch", spec]);
    right.exits(0).says("linearizable so far, 2 operations, 4 events");
    let wrong = seriatim_reading(log(false).as_bytes(), &["watch", spec]);
    wrong.exits(1).says("-:4: VIOLATION at event 4");
}

#[test]
fn receivers_that_only_their_processes_name_are_decided_at_the_end() {
    let update = |is_new: bool| {
        format!(
            "{{\"process\":1,\"type\":\"call\",\"op\":\"update\"}}\n\
             {{\"process\":1,\"type\":\"return\",\"result\":[5,{is_new}]}}\n"
        )
    };
    let send = "{\"process\":0,\"type\":\"call\",\"op\":\"send\",\"arg\":5}\n\
                {\"process\":0,\"type\":\"return\",\"result\":true}\n";
    for (is_new, exit) in [(false, 0), (true, 1)] {
        let events = [send, &update(true), &update(is_new)].concat();
        seriatim_reading(events.as_bytes(), &["watch", "watch"]).exits(exit);
        seriatim_reading(events.as_bytes(), &["check", "--spec", "watch", "-"]).exits(exit);
    }
}

#[test]
fn where_nobody_can_follow_the_end_decides() {
    // So many enqueues overlap that their orders are too many for the frontier; the values repeat,
    // which the queue's own monitor does not take.
    let enqueues = |kind: &str, from: u32| {
        let one = |process: u32| match kind {
            "call" => format!(
                "{{\"process\":{process},\"type\":\"call\",\"op\":\"enqueue\",\"arg\":{}}}\n",
                process / 2
            ),
            _ => format!("{{\"process\":{process},\"type\":\"return\"}}\n"),
        };
        (from..24).map(one).collect::<String>()
    };
    let take = |value: &str| {
        format!(
            "{{\"process\":30,\"type\":\"call\",\"op\":\"dequeue\"}}\n\
             {{\"process\":30,\"type\":\"return\",\"result\":{value}}}\n"
        )
    };
    let before = enqueues("call", 0) + &enqueues("return", 0);
    let right = seriatim_reading((before.clone() + &take("5")).as_bytes(), &["watch", "queue"]);
    right.exits(0).complains("nobody can follow any more").says("linearizable so far, 25");
    let wrong = seriatim_reading((before + &take("50")).as_bytes(), &["watch", "queue"]);
    wrong.exits(1).says("VIOLATION within the events up to 50");
}

#[test]
fn a_removal_of_anything_may_have_removed_what_is_missing() {
    for anything in ["", ",\"arg\":null"] {
        let events = format!(
            "{{\"type\":\"call\",\"process\":1,\"op\":\"add\",\"arg\":1}}\n\
             {{\"type\":\"return\",\"process\":1}}\n\
             {{\"type\":\"call\",\"process\":2,\"op\":\"remove\"{anything}}}\n\
             {{\"type\":\"call\",\"process\":1,\"op\":\"contains\",\"arg\":1}}\n\
             {{\"type\":\"return\",\"process\":1,\"result\":false}}\n"
        );
        seriatim_reading(events.as_bytes(), &["watch", "multiset"]).exits(0);
        seriatim_reading(events.as_bytes(), &["check", "--spec", "multiset", "-"]).exits(0);
    }
}

#[test]
fn a_recorder_at_work_can_be_watched() {
    let (recorder, stream) = Recorder::live(Clock::fenced());
    let (enqueue, dequeue) = (recorder.method("enqueue"), recorder.method("dequeue"));
    let queue = Mutex::new(VecDeque::new());
    let mut lines = Vec::new();
    std::thread::scope(|scope| {
        for process in 0..3_i64 {
            let (mut log, queue) = (recorder.log(process), &queue);
            scope.spawn(move || {
                for value in 0..100 {
                    let value = process * 1_000 + value;
                    log.record(enqueue, value, || queue.lock().expect("alive").push_back(value));
                    log.record(dequeue, (), || queue.lock().expect("alive").pop_front());
                }
            });
        }
        drop(recorder);
        stream
            .write_until_closed(&mut lines, Duration::from_millis(1))
            .expect("a vector is writable");
    });
    seriatim_reading(&lines, &["watch", "queue"]).exits(0).says("600 operations, 1200 events");
}
