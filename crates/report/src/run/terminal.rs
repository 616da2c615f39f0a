//! The report about an algorithm for the terminal: the claims; and of a run one column for each
//! thread, memory after each step that changed it, the history as a timeline, and the orders that
//! were tried.

use super::memory::lines;
use super::{Examined, claims, headline, stuck, unjudged};
use crate::report::Report;
use crate::terminal::{self, Style};
use crate::text;
use seriatim_history::Value;
use seriatim_spec::run::{Access, Event, Run};
use std::fmt::Write;

/// Between two columns, and the least and the most width of one. A longer line runs into the
/// columns to its right: names may have any length, and a format string takes no width beyond
/// 65,535.
const GAP: usize = 2;
const LEAST: usize = 12;
const MOST: usize = 100;

/// The whole report: the claims, the run, its history with the orders that were tried, the command
/// that shows it again.
pub fn report(examined: &Examined<'_>, style: &Style) -> String {
    let head = headline(examined.name, examined.answer) + &claims(examined.answer);
    let mut out = cleaned(&head, style);
    if let Some((run, how)) = examined.run() {
        out += &format!("\n{}\n{}", columns(run, style), cleaned(how, style));
        out += &history(examined, run, style);
    }
    if let Some(stuck) = examined.stuck {
        out += &format!("\n{}", stuck::render(stuck, style));
    }
    if let Some(command) = examined.replay {
        out += &format!("\nsee it again with: {}", cleaned(command, style));
    }
    out
}

/// The lines of a text, without what a terminal would obey and shortened to a screen each.
pub(super) fn cleaned(text: &str, style: &Style) -> String {
    let clean = |line| style.clean(&text::middle(line, text::SCREEN)) + "\n";
    text.lines().map(clean).collect()
}

/// The history of the run as a timeline, and the orders that were tried if somebody did.
fn history(examined: &Examined<'_>, run: &Run, style: &Style) -> String {
    if let Some(judged) = examined.judged {
        return terminal::drawing(judged, style);
    }
    let verdict = unjudged();
    let drawn = |history| terminal::drawing(&Report::new(&history, "", &verdict), style);
    run.history_of_threads("").map(drawn).unwrap_or_default()
}

/// The run, how it goes wrong, and its history as a list of events.
pub fn render(run: &Run, how: &str) -> String {
    let mut out = format!("{}\n{how}\n\nhistory\n", columns(run, &Style::plain(0)));
    for event in &run.history {
        let _ = writeln!(out, "  {}", said(event));
    }
    out
}

/// The run: one column for each thread, memory after each step that changed it.
pub(super) fn columns(run: &Run, style: &Style) -> String {
    let accesses = run.steps.iter().flat_map(|step| &step.accesses);
    let widest = accesses.map(|access| line(access, style).chars().count()).max().unwrap_or(0);
    let width = widest.clamp(LEAST, MOST) + GAP;
    let mut out = String::new();
    let name = |thread| format!("{:width$}", style.clean(&run.thread_name(thread)));
    let head: String = (0..run.threads).map(name).collect();
    let _ = writeln!(out, "{}", head.trim_end());
    let circle = run.steps.len() - run.repeats.unwrap_or(0).min(run.steps.len());
    for ((number, step), memory) in run.steps.iter().enumerate().zip(run.pictures()) {
        if run.repeats.is_some() && number == circle {
            let _ = writeln!(out, "    {} from here on, again and again", style.pick("↻", "@"));
        }
        for access in &step.accesses {
            let _ = writeln!(out, "{}{}", " ".repeat(width * step.thread), line(access, style));
        }
        for line in memory.into_iter().flat_map(lines) {
            let _ = write!(out, "    {} {}", style.pick("│", "|"), cleaned(&line, style));
        }
    }
    out
}

/// An access behind its line of the source.
fn line(access: &Access, style: &Style) -> String {
    let text = access.text();
    let text = style.clean(&text::middle(&text, text::SCREEN));
    match access.line {
        Some(line) => format!("{line}: {text}"),
        None => text,
    }
}

/// A call or a return in words.
fn said(event: &Event) -> String {
    match event {
        Event::Call { thread, method, args } => {
            let args: Vec<String> = args.iter().map(Value::to_string).collect();
            format!("t{thread} calls   {method}({})", args.join(", "))
        }
        Event::Return { thread, method, result: Some(result) } => {
            format!("t{thread} returns {method} = {result}")
        }
        Event::Return { thread, method, result: None } => format!("t{thread} returns {method}"),
    }
}
