//! What was found as a page that any browser opens, without anything from elsewhere.

use super::{Found, capital};
use seriatim::report::markup::escaped;
use seriatim::report::{NAME, SCREEN, middle};
use seriatim::spec::Attempt;
use seriatim::{OpId, Verdict};
use std::fmt::Write;

/// How many operations of an order are shown.
const STEPS: usize = 2_000;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem;\
color:#1b1b1f;background:#fff}table{border-collapse:collapse}td,th{text-align:left;padding:.2rem 1rem .2rem 0;\
border-bottom:1px solid #ddd;vertical-align:top}.satisfied{color:#17662c}.violated{color:#a3190b}\
.unknown{color:#7a5b00}code{font-family:ui-monospace,monospace}\
@media(prefers-color-scheme:dark){body{color:#e6e6ea;background:#17171b}td,th{border-color:#444}\
.satisfied{color:#7fd495}.violated{color:#ff8d7e}.unknown{color:#e5c15c}}";

/// The page.
pub fn render(found: &Found) -> String {
    let (headline, word) = (escaped(&found.headline()), found.word());
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{headline}</title>\n<style>{STYLE}</style></head><body>\n\
         <h1 class=\"{word}\">{headline}</h1>\n<p>{} operations of {} processes</p>\n",
        found.history.len(),
        found.history.process_count()
    );
    match &found.weaker.verdict {
        Verdict::Linearizable(witness) => {
            text += match found.weaker.is_linearizable {
                true => "<p>It is even linearizable.</p>\n",
                false => "<p>The order that was found does not respect real time.</p>\n",
            };
            text += "<h2>The order that was found, and replayed</h2>\n";
            text += &order(found, &witness.order);
        }
        Verdict::Violation(core) => {
            let _ = writeln!(text, "<h2>{}</h2>", escaped(&capital(&core.explanation.sentence)));
            text += &processes(found, &core.operations);
            for attempt in &core.explanation.attempts {
                text += &farthest(found, attempt);
            }
            let _ = writeln!(text, "<p>{}</p>", escaped(found.confirmation().trim()));
        }
        Verdict::Unknown(unknown) => {
            let defect = unknown.defect.as_deref().unwrap_or_default();
            let _ = writeln!(text, "<p>{}</p>", escaped(defect));
        }
    }
    text + "</body></html>\n"
}

/// A row for each process, its operations in its order with their lines.
fn processes(found: &Found, operations: &[OpId]) -> String {
    let mut text = "<table><tr><th>process</th><th>operations, in its order</th></tr>\n".to_owned();
    for (name, ops) in found.by_process(operations) {
        let ops: Vec<String> = ops.into_iter().map(|op| operation(found, op)).collect();
        let _ = writeln!(
            text,
            "<tr><td>{}</td><td>{}</td></tr>",
            escaped(&middle(&name, NAME)),
            ops.join(" · ")
        );
    }
    text + "</table>\n"
}

fn operation(found: &Found, op: OpId) -> String {
    let line = found.history.operation(op).line();
    format!("<code title=\"line {line}\">{}</code>", escaped(&found.text(op)))
}

fn order(found: &Found, operations: &[OpId]) -> String {
    let mut text = "<ol>\n".to_owned();
    for &op in operations.iter().take(STEPS) {
        let process = found.history.process_name(found.history.process(op)).to_string();
        let process = escaped(&middle(&process, NAME));
        let _ = writeln!(text, "<li>{} · process {process}</li>", operation(found, op));
    }
    text += "</ol>\n";
    if operations.len() > STEPS {
        let _ = writeln!(text, "<p>… and {} more.</p>", operations.len() - STEPS);
    }
    text
}

fn farthest(found: &Found, attempt: &Attempt) -> String {
    let mut text = "<h2>The order that gets farthest</h2>\n".to_owned();
    text += &order(found, &attempt.order);
    text += "<ul>\n";
    for (op, reason) in &attempt.stuck {
        let line = found.history.operation(*op).line();
        let _ = writeln!(
            text,
            "<li>✗ {} (line {line}): {}</li>",
            operation(found, *op),
            escaped(&middle(reason, SCREEN))
        );
    }
    text + "</ul>\n"
}
