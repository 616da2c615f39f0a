//! Small histories of every object: the monitors, the search and the reports.
//!
//! The first two bytes choose the object and how failures are read; then each six bytes are an
//! operation. So most inputs are histories, which random bytes in a format hardly ever are.

use crate::shown::is_text;
use seriatim_history::{History, ReadOptions, read_from};
use seriatim_monitor::{Detail, Monitors, Options, check};
use seriatim_report::junit::{self, Case};
use seriatim_report::terminal::{self, Style};
use seriatim_report::{Report, html, json};
use seriatim_spec::{
    Checked, ChosenReader, Entry, Failures, Reader, SpecChoice, Verdict, catalogue,
};
use std::fmt::Write;
use std::time::Duration;

/// The most operations: the plain search must be able to decide them.
const MOST: usize = 12;

/// Arguments and results that operations are made of.
pub const VALUES: [&str; 16] = [
    "null",
    "0",
    "1",
    "2",
    "-1",
    "true",
    "false",
    "\"ok\"",
    "\"empty\"",
    "[0,1]",
    "[1,2]",
    "[]",
    "1.5",
    "\"<script>\\u001b[31m\"",
    "[[\"w\",0,1],[\"r\",1,2]]",
    "{\"a\":1}",
];

/// Decides a small history by monitors and without them, and shows it in every way.
pub fn operations(bytes: &[u8]) {
    let [object, failures, operations @ ..] = bytes else { return };
    let entries: Vec<_> = catalogue().collect();
    let entry = &entries[usize::from(*object) % entries.len()];
    let methods = methods(entry);
    let mut log = String::new();
    for operation in operations.chunks_exact(6).take(MOST) {
        line(&mut log, &methods, operation);
    }
    let options = ReadOptions::default();
    let Ok(history) = read_from(log.as_bytes(), "fuzzed", options) else { return };
    let choice = SpecChoice::parse(entry.name).expect("a name of the catalogue");
    let failures = if failures & 1 == 0 { Failures::Drop } else { Failures::Observe };
    let reader = ChosenReader { choice, failures };
    let Some(fast) = decided(&history, &reader, Monitors::Use) else { return };
    let slow = decided(&history, &reader, Monitors::Skip).expect("both read it or neither");
    let words = [&fast, &slow].map(|checked| checked.verdict.word());
    let is_known = [&fast, &slow].iter().all(|c| !matches!(c.verdict, Verdict::Unknown(_)));
    assert!(!is_known || words[0] == words[1], "{}: {words:?}\n{log}", entry.name);
    assert_eq!(fast.defect, None, "{}\n{log}", entry.name);
    assert_eq!(slow.defect, None, "{}\n{log}", entry.name);
    show(&history, &reader, &fast);
}

/// The names of an object's operations.
pub fn methods(entry: &Entry) -> Vec<&'static str> {
    let named: Vec<_> = entry.methods.iter().flat_map(|method| method.names).copied().collect();
    if named.is_empty() { vec!["read"] } else { named }
}

/// One operation as JSON.
fn line(log: &mut String, methods: &[&str], bytes: &[u8]) {
    let value = |byte: u8| VALUES[usize::from(byte) % VALUES.len()];
    let method = methods[usize::from(bytes[0]) % methods.len()];
    let (process, call) = (bytes[1] & 3, u64::from(bytes[2]));
    let _ = write!(log, "{{\"process\":{process},\"op\":\"{method}\",\"call\":{call}");
    if bytes[3] < 0x80 {
        let _ = write!(log, ",\"arg\":{}", value(bytes[3]));
    }
    match bytes[5] >> 5 {
        0 => {}
        1 => {
            let _ =
                write!(log, ",\"return\":{},\"failed\":true", call + 1 + u64::from(bytes[5] & 31));
        }
        _ => {
            let end = call + 1 + u64::from(bytes[5] & 31);
            let _ = write!(log, ",\"result\":{},\"return\":{end}", value(bytes[4]));
        }
    }
    log.push_str("}\n");
}

fn decided(history: &History, reader: &ChosenReader, monitors: Monitors) -> Option<Checked> {
    let options = Options {
        time: Some(Duration::from_secs(1)),
        memory: 64 << 20,
        threads: 1,
        explain: Duration::from_millis(50),
        detail: if monitors == Monitors::Use { Detail::Minimal } else { Detail::Plain },
        monitors,
        ..Options::default()
    };
    check(&mut history.clone(), reader, &options).ok()
}

/// Shows what was found in every way.
fn show(history: &History, reader: &ChosenReader, checked: &Checked) {
    let name = reader.name();
    let report = Report::of(history, &name, checked, reader);
    is_text(&terminal::render(&report, &Style::plain(100)), "the terminal");
    let text = json::render(&report);
    is_text(&text, "JSON");
    serde_json::from_str::<serde_json::Value>(&text).expect("JSON");
    let page = String::from_utf8(html::render(&report)).expect("UTF-8");
    is_text(&page, "the page");
    assert!(!page.contains("<script>\u{1b}") && !page.contains("\"<script>"), "markup in the page");
    let xml = junit::render(&[Case::Checked(Box::new(report))]);
    is_text(&xml, "XML");
    assert!(!xml.contains("<script"), "markup in XML");
}
