//! Why no order is right: the sentence, and the orders that get farthest.

use super::style::{Paint, Style};
use super::{Page, window};
use crate::labels::Labels;
use crate::report::Report;
use crate::text;
use seriatim_history::OpId;
use seriatim_spec::{Attempt, Counterexample};

/// The most steps of one order that are named.
const MOST_STEPS: usize = 16;
/// The most operations that cannot come next that are named for one order.
const MOST_STUCK: usize = 5;

/// Writes the explanation of a counterexample.
pub(super) fn write(
    report: &Report<'_>,
    counterexample: &Counterexample,
    labels: &Labels<'_>,
    page: &mut Page<'_>,
) {
    let explanation = &counterexample.explanation;
    let style = page.style;
    page.blank();
    page.item(
        "Why:",
        &style.clean(&capitalised(&text::middle(&explanation.sentence, text::SCREEN))),
        Paint::Strong,
    );
    let says_something =
        |attempt: &&Attempt| !attempt.order.is_empty() || !attempt.stuck.is_empty();
    let attempts: Vec<&Attempt> = explanation.attempts.iter().filter(says_something).collect();
    if attempts.is_empty() {
        return;
    }
    page.blank();
    page.line(&match attempts.len() {
        1 => "The order that gets farthest:".to_owned(),
        several => format!("The {several} orders that get farthest:"),
    });
    let names = Names { report, counterexample, labels, style };
    for (index, attempt) in attempts.iter().enumerate() {
        write_attempt(&names, index, attempt, page);
    }
}

fn write_attempt(names: &Names<'_>, index: usize, attempt: &Attempt, page: &mut Page<'_>) {
    let style = page.style;
    let hidden = attempt.order.len().saturating_sub(MOST_STEPS);
    let steps: Vec<String> = attempt.order[hidden..].iter().map(|&op| names.name(op)).collect();
    let mut shown = steps.join(style.pick(" · ", "; "));
    if hidden > 0 {
        let skipped = style.pick("…", "...");
        let number = text::count(hidden, "operation");
        shown = format!("{skipped} {number} {skipped} {shown}");
    }
    if steps.is_empty() {
        shown = "No operation can come first:".to_owned();
    }
    page.item(&format!("{}.", index + 1), &shown, Paint::Plain);
    if !attempt.state.is_empty() {
        let state = text::middle(&attempt.state, 300);
        let object = names.report.object_name();
        let state = match steps.is_empty() {
            true => format!("the {object} is in state {state}"),
            false => format!("leaves the {object} in state {state}"),
        };
        page.nested(" ", &style.clean(&state), Paint::Faint);
    }
    for (op, reason) in attempt.stuck.iter().take(MOST_STUCK) {
        let stuck =
            format!("{}: {}", names.place(*op), style.clean(&text::middle(reason, text::SCREEN)));
        page.nested(style.pick("✗", "x"), &stuck, Paint::Bad);
    }
    if let Some(more) = attempt.stuck.len().checked_sub(MOST_STUCK).filter(|&more| more > 0) {
        let more = format!("and {} that cannot come next either", text::count(more, "operation"));
        page.nested(" ", &more, Paint::Plain);
    }
}

/// What operations are called in an explanation.
struct Names<'n> {
    report: &'n Report<'n>,
    counterexample: &'n Counterexample,
    labels: &'n Labels<'n>,
    style: &'n Style,
}

impl Names<'_> {
    /// The operation, with its process if another one of the counterexample reads the same.
    fn name(&self, op: OpId) -> String {
        let name = self.plain(op);
        let twins = window::nearby(self.counterexample, op);
        let is_ambiguous = twins.into_iter().any(|other| other != op && self.plain(other) == name);
        if is_ambiguous { format!("{name} ({})", self.process(op)) } else { name }
    }

    /// The operation with its process and line.
    fn place(&self, op: OpId) -> String {
        let line = self.report.history.line(op);
        let line = if line == 0 { String::new() } else { format!(", line {line}") };
        format!("{} ({}{line})", self.plain(op), self.process(op))
    }

    fn plain(&self, op: OpId) -> String {
        let name = self.labels.whole(op, self.counterexample.horizon, self.style.arrow());
        self.style.clean(&text::shortened(&name, 60))
    }

    fn process(&self, op: OpId) -> String {
        let history = self.report.history;
        self.style.clean(&text::process(history, history.process(op)))
    }
}

/// A sentence with a capital and a full stop, unless it begins with the name of an operation.
fn capitalised(sentence: &str) -> String {
    let mut text = sentence.trim().to_owned();
    let first_word = text.split(' ').next().unwrap_or_default();
    if first_word.chars().all(|character| character.is_ascii_lowercase())
        && let Some(first) = text.get_mut(..1)
    {
        first.make_ascii_uppercase();
    }
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}
