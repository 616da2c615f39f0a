//! Events of every object as they happen: what a watch says, the check says of the same events.
//!
//! The first byte chooses the object, the second how many operations a watch keeps; then each four
//! bytes are an event. A process that is idle calls, a busy one returns.

use crate::operations::{VALUES, methods};
use crate::shown::is_text;
use seriatim_history::{Conventions, ReadOptions, listen, read_from};
use seriatim_monitor::{Options, check};
use seriatim_scale::Judgement;
use seriatim_scale::live::{Listening, Watch};
use seriatim_spec::{ChosenReader, Failures, SpecChoice, Verdict, catalogue};
use std::cell::RefCell;
use std::fmt::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The most events: the check must be able to decide them.
const MOST: usize = 24;

/// Watches events, with a window that is small and one that never fills, and checks them.
pub fn events(bytes: &[u8]) {
    let [object, window, events @ ..] = bytes else { return };
    let entries: Vec<_> = catalogue().collect();
    let entry = &entries[usize::from(*object) % entries.len()];
    let log = log(&methods(entry), events);
    let choice = SpecChoice::parse(entry.name).expect("a name of the catalogue");
    let reader = ChosenReader { choice, failures: Failures::default() };
    let Some(word) = checked(&log, &reader) else { return };
    for window in [2 + usize::from(*window % 16), 4096] {
        for kept in [0, u64::MAX] {
            let judgement = watched(&log, &reader, window, kept);
            if let Some((said, watch)) = judgement.filter(|(said, _)| *said != "unknown") {
                assert_eq!(said, word, "{}, window {window}, {watch:?}\n{log}", entry.name);
            }
        }
    }
}

/// The events as JSON Lines.
fn log(methods: &[&str], bytes: &[u8]) -> String {
    let value = |byte: u8| VALUES[usize::from(byte) % VALUES.len()];
    let mut is_busy = [false; 4];
    let mut log = String::new();
    for event in bytes.chunks_exact(4).take(MOST) {
        let process = event[0] & 3;
        let is_busy = &mut is_busy[usize::from(process)];
        let _ = write!(log, "{{\"process\":{process}");
        match (*is_busy, event[0] >> 6) {
            (false, _) => {
                let method = methods[usize::from(event[1]) % methods.len()];
                let _ = write!(log, ",\"type\":\"call\",\"op\":\"{method}\"");
                if event[2] < 0x80 {
                    let _ = write!(log, ",\"arg\":{}", value(event[2]));
                }
            }
            (true, 0) => log.push_str(",\"type\":\"fail\""),
            (true, _) => {
                let _ = write!(log, ",\"type\":\"return\",\"result\":{}", value(event[3]));
            }
        }
        *is_busy = !*is_busy;
        log.push_str("}\n");
    }
    log
}

/// What the check says, if it can read the events and decides them.
fn checked(log: &str, reader: &ChosenReader) -> Option<&'static str> {
    let mut history = read_from(log.as_bytes(), "fuzzed", ReadOptions::default()).ok()?;
    let time = Some(Duration::from_secs(1));
    let options = Options { time, threads: 1, memory: 64 << 20, ..Options::default() };
    let verdict = check(&mut history, reader, &options).ok()?.verdict;
    (!matches!(verdict, Verdict::Unknown(_))).then(|| verdict.word())
}

/// What a watch says of the same events; nothing if it does not take this object or these events.
fn watched(
    log: &str,
    reader: &ChosenReader,
    window: usize,
    kept: u64,
) -> Option<(&'static str, Judgement)> {
    let watch = Watch::new(Arc::new(reader.clone())).ok()?.with_window(window).keeping(kept);
    let watch = Rc::new(RefCell::new(watch));
    let listening = Box::new(Listening(Rc::clone(&watch)));
    listen(log.as_bytes(), "events", ReadOptions::default(), listening).ok()?;
    let judgement = watch.borrow_mut().conclude(Conventions::default());
    if let Judgement::Unknown(reason) = &judgement {
        is_text(&reason.to_string(), "the terminal");
    }
    Some((judgement.word(), judgement))
}
