//! The report for pipelines: JUnit's XML, in the form that CI systems read.
//!
//! Each report is a test case. A violation is a failure whose text is the terminal's report; a check
//! without answer is an error, so that it never looks like a pass; warnings go to the standard error
//! of their case.

use crate::report::Report;
use crate::terminal::{self, Style};
use seriatim_spec::Verdict;
use std::fmt::Write;

/// The columns of the text inside a failure.
const WIDTH: usize = 100;

/// The reports as one test suite.
///
/// ```
/// use seriatim_report::{Report, junit};
/// # let history = seriatim_history::Builder::new("a<b.jsonl").finish().unwrap();
/// # let verdict = seriatim_spec::Verdict::Linearizable(Default::default());
/// let xml = junit::render(&[Report::new(&history, "queue", &verdict)]);
/// assert!(xml.contains("name=\"a&lt;b.jsonl\""));
/// ```
pub fn render(reports: &[Report<'_>]) -> String {
    let seconds = |report: &Report<'_>| report.statistics.elapsed.map_or(0.0, |e| e.as_secs_f64());
    let total: f64 = reports.iter().map(seconds).sum();
    let failures = reports.iter().filter(|r| matches!(r.verdict, Verdict::Violation(_))).count();
    let errors = reports.iter().filter(|r| matches!(r.verdict, Verdict::Unknown(_))).count();
    let sizes = format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", reports.len());
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites {sizes} time=\"{total:.3}\">");
    let _ =
        writeln!(xml, "  <testsuite name=\"seriatim\" {sizes} skipped=\"0\" time=\"{total:.3}\">");
    for report in reports {
        let (name, class) = (escaped(report.history.source()), escaped(report.spec));
        let time = seconds(report);
        let _ = writeln!(
            xml,
            "    <testcase name=\"{name}\" classname=\"{class}\" time=\"{time:.3}\">"
        );
        outcome(report, &mut xml);
        if !report.warnings.is_empty() {
            let warnings = escaped(&report.warnings.join("\n"));
            let _ = writeln!(xml, "      <system-err>{warnings}</system-err>");
        }
        xml.push_str("    </testcase>\n");
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

fn outcome(report: &Report<'_>, xml: &mut String) {
    let (element, kind, message) = match report.verdict {
        Verdict::Linearizable(_) => return,
        Verdict::Violation(found) => ("failure", "violation", found.explanation.sentence.clone()),
        Verdict::Unknown(unknown) => ("error", "unknown", unknown.limit.to_string()),
    };
    let text = escaped(&terminal::render(report, &Style::plain(WIDTH)));
    let message = escaped(&message);
    let _ =
        writeln!(xml, "      <{element} type=\"{kind}\" message=\"{message}\">{text}</{element}>");
}

/// A text that may stand in an attribute or an element; what XML forbids becomes U+FFFD.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(character),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ => escaped.push(character),
        }
    }
    escaped
}
