//! A run for the terminal: one column for each thread, memory after each step that changed it, then the history.

use seriatim_history::Value;
use seriatim_spec::run::{Access, Event, Run};
use std::fmt::Write;

/// Between two columns, and the least and the most width of one. A longer line runs into the columns to its right: names
/// may have any length, and a format string takes no width beyond 65,535.
const GAP: usize = 2;
const LEAST: usize = 12;
const MOST: usize = 100;

/// The run, how it goes wrong, and its history.
pub fn render(run: &Run, how: &str) -> String {
    let lines = run.steps.iter().flat_map(|step| &step.accesses).map(line);
    let widest = lines.map(|line| line.chars().count()).max().unwrap_or(0);
    let width = widest.clamp(LEAST, MOST) + GAP;
    let mut out = String::new();
    let head: String =
        (0..run.threads).map(|t| format!("{:width$}", format!("thread {t}"))).collect();
    let _ = writeln!(out, "{}", head.trim_end());
    let circle = run.steps.len() - run.repeats.unwrap_or(0).min(run.steps.len());
    for (number, step) in run.steps.iter().enumerate() {
        if run.repeats.is_some() && number == circle {
            let _ = writeln!(out, "    ↻ from here on, again and again");
        }
        for access in &step.accesses {
            let _ = writeln!(out, "{}{}", " ".repeat(width * step.thread), line(access));
        }
        for line in step.memory.iter().flat_map(|memory| &memory.lines) {
            let _ = writeln!(out, "    │ {line}");
        }
    }
    let _ = writeln!(out, "\n{how}\n\nhistory");
    for event in &run.history {
        let _ = writeln!(out, "  {}", said(event));
    }
    out
}

/// An access behind its line of the source.
fn line(access: &Access) -> String {
    match access.line {
        Some(line) => format!("{line}: {}", access.text()),
        None => access.text(),
    }
}

/// A call or a return in words.
pub(super) fn said(event: &Event) -> String {
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
