//! Events that are watched as they happen: what the watch says is what the check says of the same events, and
//! a wrong online monitor cannot make it say that a wrong history is linearizable.

use seriatim_history::{
    Conventions, Format, History, ReadOptions, ValueId, listen, read_str, write,
};
use seriatim_monitor::fast::{Called, Online, Returned, Stop, Violation};
use seriatim_monitor::{Options, WATCHED, check, watch};
use seriatim_scale::Standing;
use seriatim_scale::judge::Evidence;
use seriatim_scale::live::{Listening, WINDOW, Watch};
use seriatim_spec::generate::{Generator, Profile, Repetition, Violation as Planted};
use seriatim_spec::{ChosenReader, Failures, SpecChoice};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// The windows that are tried: some that are full all the time, and one that never is.
const WINDOWS: [usize; 3] = [8, 24, WINDOW];

fn reader(object: &str) -> ChosenReader {
    let choice = SpecChoice::parse(object).unwrap();
    ChosenReader { choice, failures: Failures::default() }
}

/// The events of a random history: half of them have a planted violation, some operations never return.
fn events(object: &str, seed: u64) -> String {
    let operations = 10 + seed % 50;
    let profile = Profile {
        operations,
        threads: 1 + (seed % 4) as u32,
        overlap: [0.0, 0.4, 0.9][(seed / 2 % 3) as usize],
        pending: if object != "mutex" && seed.is_multiple_of(3) { 0.05 } else { 0.0 },
        keys: 1 + seed % 3,
        values: [Repetition::Among(3), Repetition::Distinct][(seed / 3 % 2) as usize],
        violation: match seed % 2 {
            0 => Planted::At(operations / 2),
            _ => Planted::None,
        },
        shares: match object {
            // No online monitor takes a counter that goes down.
            "counter" => vec![("dec".to_owned(), 0.0), ("add".to_owned(), 0.0)],
            _ => Vec::new(),
        },
        seed,
        ..Profile::default()
    };
    let choice = SpecChoice::parse(object).unwrap();
    let history = Generator::new(&choice, profile).unwrap().history().unwrap().history;
    written(&history)
}

fn written(history: &History) -> String {
    let mut text = Vec::new();
    write(history, Format::JsonEvents, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

/// What the check in memory says of events, in a word.
fn checked(object: &str, events: &str) -> &'static str {
    let mut history = read_str(events).unwrap();
    let options = Options { threads: 1, ..Options::default() };
    check(&mut history, &reader(object), &options).unwrap().verdict.word()
}

/// What a watch with a monitor says of events.
fn watched(object: &str, events: &str, monitor: Box<dyn Online>, window: usize) -> Standing {
    heard(events, Watch::with_window(monitor, Arc::new(reader(object)), window))
}

/// What a watch that keeps nothing says.
fn watched_without(object: &str, events: &str, window: usize) -> Standing {
    let monitor = watch(&SpecChoice::parse(object).unwrap()).unwrap();
    heard(events, Watch::with_window(monitor, Arc::new(reader(object)), window).keeping(0))
}

fn heard(events: &str, watch: Watch) -> Standing {
    let watch = Rc::new(RefCell::new(watch));
    let listening = Box::new(Listening(Rc::clone(&watch)));
    listen(events.as_bytes(), "events", ReadOptions::default(), listening).unwrap();
    watch.borrow_mut().conclude(Conventions::default())
}

/// An online monitor that is wrong.
enum Wrong {
    /// Whatever happens is right.
    Yes,
    /// The return of this number, counted down, is wrong.
    NoAt(usize),
}

impl Online for Wrong {
    fn call(&mut self, _: Called<'_>) -> Result<(), Stop> {
        Ok(())
    }

    fn ret(&mut self, returned: Returned<'_>) -> Result<(), Stop> {
        match self {
            Wrong::Yes => return Ok(()),
            Wrong::NoAt(0) => {}
            Wrong::NoAt(left) => {
                *left -= 1;
                return Ok(());
            }
        }
        Err(Stop::Violation(Violation { op: returned.op, reason: "sabotage".to_owned() }))
    }

    fn rename(&mut self, _: &mut dyn FnMut(ValueId) -> ValueId) {}

    fn remembered(&self) -> usize {
        0
    }
}

#[test]
fn the_watch_says_what_the_check_says_or_that_it_does_not_know() {
    let (mut all, mut alone) = ([0, 0], 0);
    for object in WATCHED {
        let mut decided = [0, 0];
        for seed in 0..60 {
            let events = events(object, seed);
            let word = checked(object, &events);
            for window in WINDOWS {
                let monitor = watch(&SpecChoice::parse(object).unwrap()).unwrap();
                let standing = watched(object, &events, monitor, window);
                let without = watched_without(object, &events, window);
                for standing in [&standing, &without] {
                    if !matches!(standing, Standing::Unknown(_)) {
                        let at = format!("{object}, seed {seed}, {window}\n{events}");
                        assert_eq!(standing.word(), word, "{at}");
                    }
                }
                // Nobody's word alone convicts while everything is kept.
                if let Standing::Violation(evidence) = &standing {
                    assert!(matches!(**evidence, Evidence::Shown { .. }), "{object}, seed {seed}");
                    alone += usize::from(matches!(without, Standing::Violation(_)));
                }
                decided[0] += usize::from(matches!(standing, Standing::Linearizable));
                decided[1] += usize::from(matches!(standing, Standing::Violation(_)));
            }
        }
        println!("{object}: {} linearizable, {} violated of 180", decided[0], decided[1]);
        // The online monitor of the log declines all that the generator makes.
        assert!(decided[0] > 0 || *object == "log", "{object}: nothing was linearizable");
        all = [all[0] + decided[0], all[1] + decided[1]];
    }
    assert!(all[0] > 300 && all[1] > 200, "too few were decided: {all:?}");
    assert!(alone > 20, "only {alone} violations were told by a watch that keeps nothing");
}

#[test]
fn a_monitor_that_always_says_yes_does_not_make_a_wrong_history_linearizable() {
    for object in WATCHED {
        let mut caught = 0;
        for seed in (0..60).step_by(2) {
            let events = events(object, seed);
            if checked(object, &events) != "violation" {
                continue;
            }
            for window in WINDOWS {
                let standing = watched(object, &events, Box::new(Wrong::Yes), window);
                assert_eq!(standing.word(), "unknown", "{object}, seed {seed}\n{events}");
                caught += 1;
            }
        }
        assert!(caught > 10, "{object}: only {caught} were tried");
    }
}

#[test]
fn a_monitor_that_says_no_without_reason_is_contradicted() {
    for object in WATCHED {
        for seed in (1..60).step_by(2) {
            let events = events(object, seed);
            if checked(object, &events) != "linearizable" {
                continue;
            }
            let monitor = Box::new(Wrong::NoAt(seed as usize % 7));
            let standing = watched(object, &events, monitor, WINDOW);
            assert_eq!(standing.word(), "unknown", "{object}, seed {seed}\n{events}");
        }
    }
}

#[test]
fn a_queue_that_outgrows_every_window_is_decided_by_the_ordinary_check() {
    let operation = |process: u32, op: &str, field: &str, value: u32| {
        let (call, ret) = if field == "arg" {
            (value.to_string(), "null".into())
        } else {
            ("null".into(), value.to_string())
        };
        format!(
            "{{\"process\":{process},\"type\":\"call\",\"op\":\"{op}\",\"arg\":{call}}}\n\
             {{\"process\":{process},\"type\":\"return\",\"result\":{ret}}}\n"
        )
    };
    let fill: String = (0..60).map(|value| operation(0, "enqueue", "arg", value)).collect();
    for (last, word) in [(1, "linearizable"), (2, "violation")] {
        let events = format!(
            "{fill}{}{}",
            operation(1, "dequeue", "result", 0),
            operation(1, "dequeue", "result", last)
        );
        let monitor = watch(&SpecChoice::parse("queue").unwrap()).unwrap();
        assert_eq!(watched("queue", &events, monitor, 8).word(), word);
        let expected = if word == "violation" { word } else { "unknown" };
        assert_eq!(watched_without("queue", &events, 8).word(), expected);
    }
}

#[test]
fn several_objects_are_not_watched_as_one() {
    let events = "{\"process\":0,\"type\":\"call\",\"op\":\"enqueue\",\"arg\":1,\"object\":\"a\"}\n\
                  {\"process\":0,\"type\":\"return\"}\n\
                  {\"process\":0,\"type\":\"call\",\"op\":\"dequeue\",\"object\":\"b\"}\n\
                  {\"process\":0,\"type\":\"return\",\"result\":null}\n";
    let monitor = watch(&SpecChoice::parse("queue").unwrap()).unwrap();
    assert_eq!(checked("queue", events), "linearizable");
    assert_eq!(watched("queue", events, monitor, WINDOW).word(), "unknown");
}

#[test]
fn a_result_that_the_order_does_not_explain_is_noticed_when_it_comes() {
    // The first addition returns long after its effect was seen, and after it was placed.
    let call = |process: u32, op: &str| {
        format!("{{\"process\":{process},\"type\":\"call\",\"op\":\"{op}\",\"arg\":7}}\n")
    };
    let ret = |process: u32, result: bool| {
        format!("{{\"process\":{process},\"type\":\"return\",\"result\":{result}}}\n")
    };
    for (result, word) in [(true, "linearizable"), (false, "unknown")] {
        let mut events = call(0, "add");
        for _ in 0..40 {
            events += &call(1, "contains");
            events += &ret(1, true);
        }
        events += &ret(0, result);
        let standing = watched("set", &events, Box::new(Wrong::Yes), 8);
        assert_eq!(standing.word(), word, "{standing:?}");
    }
}
