//! The report on a terminal: the verdict first, then what makes one believe it.
//!
//! A violation is drawn as a timeline (one row per process, one bar per operation, the order of
//! events kept and their distances not), followed by the orders that were tried and the step at
//! which each fails. Everything that a colour says is also said by a glyph or a word.

mod attempts;
mod explanation;
mod layout;
mod style;
mod summary;
mod timeline;
mod window;

pub use attempts::attempts;
pub use style::{Colour, Glyphs, Style};

use crate::labels::Labels;
use crate::report::{Report, returns_within, stuck_operations};
use crate::text;
use seriatim_history::{Horizon, OpId};
use seriatim_spec::{Counterexample, Explanation, Verdict, ViolatedPart};
use std::collections::BTreeSet;
use style::Paint;

/// The report as text for a terminal, with a line break at its end.
pub fn render(report: &Report<'_>, style: &Style) -> String {
    let mut page = Page { style, text: String::new() };
    summary::headline(report, &mut page);
    match report.verdict {
        Verdict::Linearizable(_) => summary::summary(report, &mut page),
        Verdict::Violation(counterexample) => {
            summary::summary(report, &mut page);
            violation(report, counterexample, &mut page);
        }
        Verdict::Unknown(unknown) => {
            summary::summary(report, &mut page);
            summary::unknown(report, unknown, &mut page);
        }
    }
    summary::evidence(report, &mut page);
    summary::notes(report, &mut page);
    summary::warnings(report, &mut page);
    page.text
}

/// The drawing of a report without its head and its foot: what no order explains and why; or all
/// operations, where the verdict is another one.
pub(crate) fn drawing(report: &Report<'_>, style: &Style) -> String {
    let mut page = Page { style, text: String::new() };
    match report.verdict {
        Verdict::Violation(counterexample) => violation(report, counterexample, &mut page),
        _ => everything(report, &mut page),
    }
    page.text
}

/// All operations as a timeline, nothing of which is wrong.
fn everything(report: &Report<'_>, page: &mut Page<'_>) {
    let whole = Counterexample {
        operations: (0..report.history.len()).map(OpId::from).collect(),
        horizon: Horizon::Whole,
        context: None,
        explanation: Explanation::default(),
    };
    page.blank();
    let labels = Labels::of(report.history);
    for line in timeline::timeline(&labels, &whole, &whole.operations, &[], page.style) {
        page.raw(&line);
    }
    page.blank();
    legend(report, &whole, &whole.operations, &[], page);
}

fn violation(report: &Report<'_>, counterexample: &Counterexample, page: &mut Page<'_>) {
    let (history, style) = (report.history, page.style);
    let stuck = stuck_operations(counterexample);
    let window = window::window(history, counterexample, &stuck);
    page.blank();
    page.line(&style.clean(&introduction(report, counterexample)));
    if window.earlier > 0 {
        let earlier = text::count(window.earlier, "operation");
        page.faint(&format!("({earlier} before these not drawn)"));
    }
    page.blank();
    let labels = Labels::of(history);
    let hidden = window.earlier + window.others;
    let last = last_change(report, counterexample, &stuck);
    let mut shown = window.shown;
    shown.splice(0..0, last);
    for line in timeline::timeline(&labels, counterexample, &shown, &stuck, style) {
        page.raw(&line);
    }
    page.blank();
    legend(report, counterexample, &shown, &stuck, page);
    if let Some(last) = last {
        let name = labels.whole(last, Horizon::Whole, style.arrow());
        let stuck = Vec::from_iter(stuck_methods(report, &stuck)).join(" or ");
        let which = format!("Of the earlier operations, {name} is the last that is not {stuck}.");
        page.faint(&style.clean(&which));
    }
    if hidden > 0 {
        page.line(&format!(
            "{} not drawn; --html and --json show the whole counterexample.",
            text::count(hidden, "operation"),
        ));
    }
    if let Some(times) = times(report, counterexample) {
        page.faint(&style.clean(&times));
    }
    explanation::write(report, counterexample, &labels, page);
    violated_parts(report, &labels, page);
}

/// When the operations of a counterexample were, and how long they took together, where times have
/// a unit.
fn times(report: &Report<'_>, counterexample: &Counterexample) -> Option<String> {
    let history = report.history;
    history.timescale().unit.name()?;
    let calls = counterexample.operations.iter().map(|&op| history.call(op));
    let ends = counterexample.operations.iter().map(|&op| {
        let ret = history.ret(op).filter(|_| returns_within(history, op, counterexample.horizon));
        ret.unwrap_or(history.call(op))
    });
    let (from, to) = (calls.min()?, ends.max()?);
    let span = history.display_time(to).saturating_sub(history.display_time(from));
    Some(format!(
        "From {} to {}: {}.",
        history.moment(from)?,
        history.moment(to)?,
        history.timescale().duration(span)
    ))
}

/// Every violated part, with its core in a line and the reason.
fn violated_parts(report: &Report<'_>, labels: &Labels<'_>, page: &mut Page<'_>) {
    let style = page.style;
    if report.violated.len() < 2 {
        return;
    }
    page.blank();
    let which = if report.violated.len() < ViolatedPart::MOST { "All" } else { "The first" };
    page.line(&format!(
        "{which} {} that are violated:",
        text::count(report.violated.len(), "part")
    ));
    for part in &report.violated {
        let shown = part.operations.iter().take(MOST_OF_A_PART);
        let mut core: Vec<String> =
            shown.map(|&op| labels.whole(op, Horizon::Whole, style.arrow())).collect();
        if part.operations.len() > MOST_OF_A_PART {
            core.push(style.pick("…", "...").to_owned());
        }
        let core = core.join(style.pick(" · ", "; "));
        let line = format!("{}: {core}", text::middle(&part.label, 300));
        page.item(style.pick("✗", "x"), &style.clean(&line), Paint::Bad);
        page.nested(" ", &style.clean(&text::middle(&part.why, 300)), Paint::Faint);
    }
}

/// The most operations of a part that are named in the list of all.
const MOST_OF_A_PART: usize = 6;

/// The objects from which operations take what others have put there: the last operation of another
/// kind says little.
const TAKEN_FROM: [&str; 8] =
    ["queue", "stack", "deque", "priority-queue", "multiset", "mutex", "semaphore", "log"];

/// Of the operations before a counterexample the last one of another kind than those that cannot be
/// placed: the write that a read has missed. It is drawn with them, for the eye; the claim does
/// without it.
fn last_change(report: &Report<'_>, found: &Counterexample, stuck: &[OpId]) -> Option<OpId> {
    if TAKEN_FROM.contains(&report.object_name()) {
        return None;
    }
    let history = report.history;
    let before = &found.context.as_ref()?.order;
    let methods: Vec<_> = stuck.iter().map(|&op| history.method(op)).collect();
    let is_other = |op: &&OpId| !methods.contains(&history.method(**op));
    before.iter().rev().find(is_other).copied().filter(|_| !methods.is_empty())
}

/// The names of the operations that cannot be placed, each once.
fn stuck_methods(report: &Report<'_>, stuck: &[OpId]) -> BTreeSet<String> {
    let history = report.history;
    stuck.iter().map(|&op| history.method_name(history.method(op)).to_owned()).collect()
}

fn introduction(report: &Report<'_>, counterexample: &Counterexample) -> String {
    let of_part = report.violated_part().map(|part| format!(" of {part}")).unwrap_or_default();
    let operations = match counterexample.operations.len() {
        1 => "this operation".to_owned(),
        all => format!("these {}", text::count(all, "operation")),
    };
    let after = counterexample.context.as_ref().map(|context| {
        let state = text::middle(&context.state, 300);
        let earlier = text::count(context.order.len(), "earlier operation");
        format!(" after {earlier}, which leave the {} in state {state}", report.object_name())
    });
    format!("No order explains {operations}{of_part}{}:", after.unwrap_or_default())
}

fn legend(
    report: &Report<'_>,
    found: &Counterexample,
    shown: &[OpId],
    stuck: &[OpId],
    page: &mut Page<'_>,
) {
    let style = page.style;
    let mut notes = vec!["Time runs to the right, not to scale.".to_owned()];
    if !stuck.is_empty() {
        notes.push(format!("{} cannot be placed.", style.pick("┣━┫", "#==#")));
    }
    let is_pending = |&op: &OpId| !returns_within(report.history, op, found.horizon);
    if shown.iter().any(is_pending) {
        let when = match found.horizon {
            Horizon::Whole => "never returned",
            Horizon::Until(_) => "has not returned by then",
        };
        notes.push(format!("{} {when}.", style.pick("├╌…", "|..>")));
    }
    page.faint(&notes.join(" "));
}

/// Where the report is written, line by line, indented by two columns.
struct Page<'s> {
    style: &'s Style,
    text: String,
}

impl Page<'_> {
    fn blank(&mut self) {
        self.text.push('\n');
    }

    /// A line that is as wide as it is.
    fn raw(&mut self, line: &str) {
        let line = line.trim_end();
        if !line.is_empty() {
            self.text.push_str("  ");
            self.text.push_str(line);
        }
        self.blank();
    }

    /// A paragraph.
    fn line(&mut self, text: &str) {
        self.block(2, "", text, Paint::Plain);
    }

    /// A paragraph of little weight.
    fn faint(&mut self, text: &str) {
        self.block(2, "", text, Paint::Faint);
    }

    /// A paragraph that hangs from its first word.
    fn item(&mut self, head: &str, text: &str, paint: Paint) {
        self.block(2, head, text, paint);
    }

    /// A paragraph under an item.
    fn nested(&mut self, head: &str, text: &str, paint: Paint) {
        self.block(5, head, text, paint);
    }

    fn block(&mut self, indent: usize, head: &str, text: &str, paint: Paint) {
        let hang = if head.is_empty() { 0 } else { text::columns(head) + 1 };
        let width = self.style.columns().saturating_sub(indent + hang);
        for (index, line) in text::wrapped(text, width).iter().enumerate() {
            self.text.push_str(&" ".repeat(indent));
            match (index, hang) {
                (_, 0) => {}
                (0, _) if !head.trim().is_empty() => {
                    self.text.push_str(&self.style.paint(paint, head));
                    self.text.push(' ');
                }
                _ => self.text.push_str(&" ".repeat(hang)),
            }
            let paint = if hang == 0 || paint == Paint::Faint { paint } else { Paint::Plain };
            self.text.push_str(&self.style.paint(paint, line));
            self.blank();
        }
    }
}
