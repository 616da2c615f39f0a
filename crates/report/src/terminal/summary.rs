//! The verdict in a line, and what stands around it: sizes, who decided, what ran out, warnings.

use super::Page;
use super::style::Paint;
use crate::report::Report;
use crate::text;
use seriatim_spec::{Limit, Unknown, Verdict};

/// The most parts that are named.
const MOST_PARTS: usize = 8;

/// The verdict line.
pub(super) fn headline(report: &Report<'_>, page: &mut Page<'_>) {
    let style = page.style;
    let object = text::with_article(report.spec);
    let source = style.clean(report.history.source());
    let (mark, paint, word, rest) = match report.verdict {
        Verdict::Linearizable(_) => (
            style.pick("✓", "[ok]"),
            Paint::Good,
            "LINEARIZABLE",
            format!("{source} is linearizable as {object}"),
        ),
        Verdict::Violation(_) => (
            style.pick("✗", "[x]"),
            Paint::Bad,
            "VIOLATION",
            format!("{source} is not linearizable as {object}"),
        ),
        Verdict::Unknown(unknown) => (
            style.pick("?", "[?]"),
            Paint::Open,
            "UNKNOWN",
            format!("whether {source} is linearizable as {object}: {}", unknown.limit),
        ),
    };
    let head = style.paint(paint, &format!("{mark} {word}"));
    page.text.push_str(&format!("{head}  {rest}\n"));
}

/// Sizes, parts, who decided, what it cost.
pub(super) fn summary(report: &Report<'_>, page: &mut Page<'_>) {
    let history = report.history;
    let tally = history.tally();
    let mut sizes = text::count(history.len(), "operation");
    let special: Vec<String> = [(tally.pending, "pending"), (tally.failed, "failed")]
        .into_iter()
        .filter(|&(number, _)| number > 0)
        .map(|(number, word)| format!("{} {word}", text::grouped(number)))
        .collect();
    if !special.is_empty() {
        sizes = format!("{sizes} ({})", special.join(", "));
    }
    let mut facts = vec![format!("{sizes} of {}", text::count(history.process_count(), "process"))];
    facts.extend(parts(report));
    facts.extend(decided_by(report));
    if let Some(elapsed) = report.statistics.elapsed {
        facts.push(format!("in {}", text::duration(elapsed)));
    }
    if report.statistics.configurations > 0 {
        facts.push(text::count(report.statistics.configurations as usize, "configuration"));
    }
    page.faint(&page.style.clean(&facts.join("; ")));
}

fn parts(report: &Report<'_>) -> Option<String> {
    if report.parts.len() < 2 {
        return None;
    }
    let (good, bad, open) = report.standings();
    let standings = [(good, "linearizable"), (bad, "violated"), (open, "open")];
    let standings: Vec<String> = standings
        .into_iter()
        .filter(|&(number, _)| number > 0)
        .map(|(number, word)| format!("{} {word}", text::grouped(number)))
        .collect();
    Some(format!("{}: {}", text::count(report.parts.len(), "part"), standings.join(", ")))
}

fn decided_by(report: &Report<'_>) -> Option<String> {
    let deciders = report.deciders();
    let names: Vec<String> = match &deciders[..] {
        [] => return None,
        [(name, _)] => vec![(*name).to_owned()],
        several => several
            .iter()
            .map(|(name, number)| format!("{name} ({})", text::count(*number, "part")))
            .collect(),
    };
    Some(format!("decided by {}", names.join(", ")))
}

/// What ran out, how far it got, what may help.
pub(super) fn unknown(report: &Report<'_>, unknown: &Unknown, page: &mut Page<'_>) {
    if let Some(defect) = &unknown.defect {
        page.blank();
        page.line(&page.style.clean(&format!("Internal error: {defect}.")));
    }
    let events = 2 * report.history.len() - report.history.tally().pending;
    page.blank();
    if unknown.limit == Limit::Incomplete {
        let missing = text::count(report.history.missing_logs() as usize, "log");
        page.line(&format!(
            "Known: no order explains the history as it is, and {missing} are missing."
        ));
        return what_may_help(report, unknown, page);
    }
    page.line(&format!(
        "Known: no violation was found. {} ({} in all) have an order.",
        match unknown.linearizable_events {
            0 => "So far none of the events of the open parts".to_owned(),
            number => format!("The first {} of the open parts", text::count(number, "event")),
        },
        text::count(events, "event"),
    ));
    named(page, "Linearizable", &unknown.decided);
    named(page, "Undecided", &unknown.open);
    what_may_help(report, unknown, page);
}

fn what_may_help(report: &Report<'_>, unknown: &Unknown, page: &mut Page<'_>) {
    page.blank();
    page.line("What may help:");
    for hint in hints(report, unknown) {
        page.item(page.style.pick("•", "-"), &hint, Paint::Plain);
    }
}

fn named(page: &mut Page<'_>, title: &str, labels: &[String]) {
    let names: Vec<&str> = labels.iter().map(String::as_str).filter(|l| !l.is_empty()).collect();
    if names.is_empty() {
        return;
    }
    let mut list = names[..names.len().min(MOST_PARTS)].join(", ");
    if names.len() > MOST_PARTS {
        list = format!("{list} and {} more", text::grouped(names.len() - MOST_PARTS));
    }
    page.line(&page.style.clean(&format!("{title}: {list}.")));
}

/// What the user can do about a defect of ours.
const REPORT_IT: &str = "to report it: this is a defect of Seriatim, and with the log we can fix it; \
    --engine search asks another engine";

/// What the user can do about logs that are missing.
const HAND_IN: &str = "to hand in the logs of all processes before the history is taken: no order explains what is there, \
    and a missing operation may";

fn hints(report: &Report<'_>, unknown: &Unknown) -> Vec<String> {
    let tally = report.history.tally();
    let mut hints = Vec::new();
    hints.push(match unknown.limit {
        Limit::Time => "more time (--time)".to_owned(),
        Limit::Memory => "more memory (--memory)".to_owned(),
        Limit::Cancelled => "to let the check run to its end".to_owned(),
        Limit::Defect => return vec![REPORT_IT.to_owned()],
        Limit::Ties => "finer times, or a log of events".to_owned(),
        Limit::Incomplete => return vec![HAND_IN.to_owned()],
    });
    if tally.pending > 0 {
        hints.push(format!(
            "fewer pending operations: each of the {} may take effect at any later time or never; \
             a client that learns the outcome of a timed-out call saves most of the work",
            text::grouped(tally.pending)
        ));
    }
    if unknown.open.len() + unknown.decided.len() <= 1 {
        hints.push(
            "a specification that splits the object by key, if its keys are independent".to_owned(),
        );
    }
    hints.extend(what_to_record(report));
    hints
}

/// What a recorder could add so that such a history is decided.
fn what_to_record(report: &Report<'_>) -> Vec<String> {
    let history = report.history;
    let mut args: Vec<_> =
        history.operations().map(|op| (op.object(), op.key(), op.arg())).collect();
    args.retain(|(_, _, arg)| arg.is_present());
    let recorded = args.len();
    args.sort_unstable();
    args.dedup();
    let mut hints = Vec::new();
    if args.len() < recorded {
        hints.push(
            "a value of its own for every write, so that a read tells which write it saw"
                .to_owned(),
        );
    }
    if history.tally().pending > 0 {
        hints.push(
            "the version that the service tells with each answer (a revision, an offset), in a specification that has it: it \
             says which of the pending operations took effect, and when"
                .to_owned(),
        );
    }
    hints
}

/// What stands behind the verdict.
pub(super) fn evidence(report: &Report<'_>, page: &mut Page<'_>) {
    let Some(evidence) = &report.evidence else { return };
    page.line(&page.style.clean(&evidence.text));
}

/// What else was checked, and held.
pub(super) fn notes(report: &Report<'_>, page: &mut Page<'_>) {
    for note in &report.notes {
        page.line(&page.style.clean(note));
    }
}

/// What the reader should know before believing the verdict.
pub(super) fn warnings(report: &Report<'_>, page: &mut Page<'_>) {
    for warning in &report.warnings {
        let warning = page.style.clean(warning);
        page.item("warning:", &warning, Paint::Open);
    }
}
