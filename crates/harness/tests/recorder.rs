//! The recorder: what it writes is what happened, in every format, also while it happens.

#![allow(missing_docs)]

use seriatim_harness::{Clock, Recorder};
use seriatim_history::{Format, Outcome, read_str, write};
use seriatim_monitor::{Options, check};
use seriatim_spec::{ChosenReader, Failures, SpecChoice, Verdict};
use std::sync::Mutex;
use std::time::Duration;

/// Four threads push and pop through a lock.
fn load(recorder: &Recorder, calls: i64) {
    let (push, pop) = (recorder.method("push"), recorder.method("pop"));
    let stack = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for process in 0..4_i64 {
            let (mut log, stack) = (recorder.log(process), &stack);
            scope.spawn(move || {
                for number in 0..calls {
                    let value = process * calls + number;
                    log.record(push, value, || stack.lock().unwrap().push(value));
                    log.record(pop, (), || stack.lock().unwrap().pop());
                }
            });
        }
    });
}

fn is_linearizable(mut history: seriatim_history::History) -> bool {
    let choice = SpecChoice::parse("stack").unwrap();
    let reader = ChosenReader { choice, failures: Failures::default() };
    let checked = check(&mut history, &reader, &Options::default()).unwrap();
    matches!(checked.verdict, Verdict::Linearizable(_))
}

#[test]
fn a_stack_behind_a_lock_is_linearizable_by_every_clock() {
    for clock in [Clock::fenced(), Clock::system(), Clock::counter()] {
        let recorder = Recorder::with_clock(clock);
        load(&recorder, 50);
        let history = recorder.history("stack").unwrap();
        assert_eq!(history.len(), 400);
        assert!(is_linearizable(history));
    }
}

#[test]
fn what_is_written_in_each_format_is_read_back() {
    let recorder = Recorder::new();
    load(&recorder, 5);
    let history = recorder.history("stack").unwrap();
    for (format, name) in Format::ALL {
        let mut text = Vec::new();
        match write(&history, format, &mut text) {
            Ok(()) => {}
            // Some formats know other objects only; then they say so.
            Err(error) => {
                assert!(error.to_string().contains(name), "{error}");
                continue;
            }
        }
        let back = read_str(&String::from_utf8(text).unwrap()).unwrap();
        assert_eq!(back.len(), history.len(), "{name}");
    }
}

#[test]
fn the_stream_tells_every_event_in_order_while_they_happen() {
    let (recorder, stream) = Recorder::live(Clock::fenced());
    let writer = std::thread::spawn(move || {
        let mut text = Vec::new();
        stream.write_until_closed(&mut text, Duration::from_millis(1)).unwrap();
        String::from_utf8(text).unwrap()
    });
    load(&recorder, 100);
    drop(recorder);
    let history = read_str(&writer.join().unwrap()).unwrap();
    assert_eq!(history.len(), 800);
    assert!(is_linearizable(history));
}

#[test]
fn a_call_that_was_given_up_or_never_returned_is_pending() {
    let recorder = Recorder::new();
    let push = recorder.method("push");
    let mut log = recorder.log("client");
    log.call(push, 1);
    log.give_up();
    log.call(push, 2);
    drop(log);
    let history = recorder.history("stack").unwrap();
    assert!(history.operations().all(|operation| operation.outcome() == Outcome::Pending));
    assert_eq!(history.len(), 2);
}

#[test]
#[should_panic(expected = "a process does one thing at a time")]
fn a_process_that_calls_twice_is_refused() {
    let recorder = Recorder::new();
    let read = recorder.method("read");
    let mut log = recorder.log(0);
    log.call(read, ());
    log.call(read, ());
}

#[test]
fn keys_objects_and_annotations_are_recorded_in_wall_clock_time() {
    let recorder = Recorder::timed();
    let put = recorder.method("put");
    let mut log = recorder.log("client");
    log.object("o").key("k").record(put, 7, || ());
    recorder.annotate("nemesis", "kill -9");
    log.record(put, 8, || ());
    drop(log);
    let history = recorder.history("").unwrap();
    let texts: Vec<String> = history.operations().map(|op| op.to_string()).collect();
    assert_eq!(texts, ["put(\"k\", 7)", "put(8)"]);
    assert!(history.operations().next().unwrap().object().is_present());
    let ops: Vec<_> = history.operations().collect();
    let kill = &history.annotations()[0];
    assert!(ops[0].ret().unwrap() <= kill.start && kill.end <= ops[1].call());
    let moment = history.moment(ops[0].call()).unwrap();
    assert!(moment.starts_with("20") && moment.ends_with('Z'), "{moment}");
}

#[test]
fn a_history_with_missing_logs_convicts_nobody() {
    let recorder = Recorder::new();
    let (push, pop) = (recorder.method("push"), recorder.method("pop"));
    let (mut writer, mut reader) = (recorder.log(0), recorder.log(1));
    writer.record(push, 1, || ());
    reader.record(pop, (), || Some(1));
    drop(reader);
    assert_eq!(recorder.open_logs(), 1);
    let history = recorder.history("stack").unwrap();
    assert_eq!(history.missing_logs(), 1);
    let choice = SpecChoice::parse("stack").unwrap();
    let spec = ChosenReader { choice, failures: Failures::default() };
    let verdict = |history: &seriatim_history::History| {
        check(&mut history.clone(), &spec, &Options::default()).unwrap().verdict.word()
    };
    assert_eq!(verdict(&history), "unknown");
    let mut text = Vec::new();
    write(&history, Format::JsonLines, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert_eq!(verdict(&read_str(&text).unwrap()), "unknown");
    assert_eq!(verdict(&read_str(&text.replace(",\"missing\":1", "")).unwrap()), "violation");
}
