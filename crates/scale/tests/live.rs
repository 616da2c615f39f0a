//! Events that are watched as they happen: what the watch says is what the check says of the same
//! events, and a wrong online monitor cannot make it say that a wrong history is linearizable.

use seriatim_history::{
    Conventions, Format, History, ReadOptions, ValueId, listen, read_str, write,
};
use seriatim_monitor::fast::{Called, Online, Returned, Stop, Violation};
use seriatim_monitor::frontier::frontier;
use seriatim_monitor::{Options, WATCHED, check};
use seriatim_scale::Judgement;
use seriatim_scale::judge::Evidence;
use seriatim_scale::live::{Begins, Listening, WINDOW, Watch};
use seriatim_spec::generate::{Generator, Profile, Repetition, Violation as Planted};
use seriatim_spec::{ChosenReader, Failures, SpecChoice, catalogue};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// The windows that are tried: some that are full all the time, and one that never is.
const WINDOWS: [usize; 3] = [8, 24, WINDOW];

fn reader(object: &str) -> ChosenReader {
    let choice = SpecChoice::parse(object).unwrap();
    ChosenReader { choice, failures: Failures::default() }
}

/// The events of a random history: half of them have a planted violation, some operations never
/// return.
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

/// A watch of an object.
fn of(object: &str, window: usize) -> Watch {
    Watch::new(Arc::new(reader(object))).unwrap().with_window(window)
}

/// What a watch with a monitor says of events.
fn watched(object: &str, events: &str, monitor: Box<dyn Online>, window: usize) -> Judgement {
    let chosen = reader(object);
    let begins: Begins = Box::new(move |sample| frontier(&chosen, sample));
    let watch = Watch::of(Arc::new(reader(object)), Some(monitor), begins).unwrap();
    heard(events, watch.with_window(window)).0
}

/// What a watch says, and after how many events it stopped.
fn heard(events: &str, watch: Watch) -> (Judgement, u64) {
    let watch = Rc::new(RefCell::new(watch));
    let listening = Box::new(Listening(Rc::clone(&watch)));
    listen(events.as_bytes(), "events", ReadOptions::default(), listening).unwrap();
    let mut watch = watch.borrow_mut();
    (watch.conclude(Conventions::default()), watch.events())
}

/// How many events make a history wrong: the length of its shortest beginning that is.
fn wrong_after(object: &str, events: &str) -> Option<u64> {
    let (header, lines) = events.split_once('\n').unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    let is_wrong = |&end: &usize| {
        let beginning = format!("{header}\n{}\n", lines[..end].join("\n"));
        checked(object, &beginning) == "violation"
    };
    (1..=lines.len()).find(is_wrong).map(|end| end as u64)
}

/// An object as the generator's log names it, with the parameters that it assumes.
fn named(events: &str) -> String {
    read_str(events).unwrap().spec().expect("the generator names it").to_owned()
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
fn the_watch_says_what_the_check_says_at_the_event_at_which_it_becomes_true() {
    let (mut alone, mut decided_in_all) = ([0, 0], [0, 0]);
    for object in catalogue().map(|entry| entry.name) {
        let mut decided = [0, 0];
        for seed in 0..40 {
            let events = events(object, seed);
            let object = &named(&events);
            let word = checked(object, &events);
            let wrong_after = wrong_after(object, &events);
            for window in WINDOWS {
                let at = format!("{object}, seed {seed}, {window}\n{events}");
                let (judgement, stopped) = heard(&events, of(object, window));
                assert_eq!(judgement.word(), word, "{judgement:?} {at}");
                assert_eq!(wrong_after.unwrap_or(stopped), stopped, "{at}");
                // Nobody's word alone convicts while everything is kept.
                if let Judgement::Violation(evidence) = &judgement {
                    assert!(matches!(**evidence, Evidence::Shown { .. }), "{at}");
                }
                let (without, _) = heard(&events, of(object, window).keeping(0));
                if !matches!(without, Judgement::Unknown(_)) {
                    assert_eq!(without.word(), word, "{without:?} {at}");
                    alone[usize::from(word == "violation")] += 1;
                }
                decided[usize::from(word == "violation")] += 1;
            }
        }
        assert!(decided[0] > 20 && decided[1] > 20, "{object}: {decided:?}");
        decided_in_all = [decided_in_all[0] + decided[0], decided_in_all[1] + decided[1]];
    }
    println!("a watch that keeps nothing decides {alone:?} of {decided_in_all:?}");
    assert!(alone[0] > 500 && alone[1] > 500, "a watch that keeps nothing decides only {alone:?}");
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
                let judgement = watched(object, &events, Box::new(Wrong::Yes), window);
                assert_eq!(judgement.word(), "unknown", "{object}, seed {seed}\n{events}");
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
            let judgement = watched(object, &events, monitor, WINDOW);
            assert_eq!(judgement.word(), "unknown", "{object}, seed {seed}\n{events}");
        }
    }
}

#[test]
fn windows_grow_with_a_queue_so_that_what_comes_late_is_explained() {
    let call = |process: u32, op: &str, arg: &str| {
        format!("{{\"process\":{process},\"type\":\"call\",\"op\":\"{op}\",\"arg\":{arg}}}\n")
    };
    let ret = |process: u32, result: &str| {
        format!("{{\"process\":{process},\"type\":\"return\",\"result\":{result}}}\n")
    };
    let operation =
        |op: &str, arg: &str, result: &str| format!("{}{}", call(0, op, arg), ret(0, result));
    let fill = |from: u32| -> String {
        (from..from + 60).map(|value| operation("enqueue", &value.to_string(), "null")).collect()
    };
    // Which of 60 and 61 comes first shows when all others have left.
    let at_once =
        [call(1, "enqueue", "60"), call(2, "enqueue", "61"), ret(1, "null"), ret(2, "null")];
    for last in [["60", "61"], ["61", "60"], ["60", "62"]] {
        let leave: String =
            (0..60).map(|value| operation("dequeue", "null", &value.to_string())).collect();
        let leave =
            last.iter().fold(leave, |all, value| all + &operation("dequeue", "null", value));
        let events = format!("{}{}{}{leave}", fill(0), at_once.concat(), fill(62));
        let word = if last[1] == "62" { "violation" } else { "linearizable" };
        assert_eq!(heard(&events, of("queue", 8)).0.word(), word);
        assert_eq!(heard(&events, of("queue", 8).keeping(0)).0.word(), word);
    }
}

#[test]
fn several_objects_are_not_watched_as_one() {
    let events = "{\"process\":0,\"type\":\"call\",\"op\":\"enqueue\",\"arg\":1,\"object\":\"a\"}\n\
                  {\"process\":0,\"type\":\"return\"}\n\
                  {\"process\":0,\"type\":\"call\",\"op\":\"dequeue\",\"object\":\"b\"}\n\
                  {\"process\":0,\"type\":\"return\",\"result\":null}\n";
    assert_eq!(checked("queue", events), "linearizable");
    assert_eq!(heard(events, of("queue", WINDOW)).0.word(), "unknown");
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
        let judgement = watched("set", &events, Box::new(Wrong::Yes), 8);
        assert_eq!(judgement.word(), word, "{judgement:?}");
    }
}
