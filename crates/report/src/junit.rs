//! The report for pipelines: JUnit's XML, in the form that CI systems read.
//!
//! Each report is a test case. A violation is a failure whose text is the terminal's report; a
//! check without answer and a history that cannot be read are errors, so that they never look like
//! a pass; warnings go to the standard error of their case.

use crate::markup::escaped;
use crate::report::Report;
use crate::terminal::{self, Style};
use crate::text;
use seriatim_spec::Verdict;
use std::fmt::Write;

/// The columns of the text inside a failure.
const WIDTH: usize = 100;

/// A test case.
pub enum Case<'c> {
    /// A history that was checked.
    Checked(Box<Report<'c>>),
    /// A history that was not.
    Unreadable {
        /// Its source.
        source: &'c str,
        /// What is wrong with it.
        problem: &'c str,
    },
}

/// The cases as one test suite.
///
/// ```
/// use seriatim_report::{Report, junit::{self, Case}};
/// # let history = seriatim_history::Builder::new("a<b.jsonl").finish().unwrap();
/// # let replayed = seriatim_spec::Replayed::on_record();
/// # let verdict = seriatim_spec::Verdict::Linearizable(replayed);
/// let xml = junit::render(&[Case::Checked(Box::new(Report::new(&history, "queue", &verdict)))]);
/// assert!(xml.contains("name=\"a&lt;b.jsonl\""));
/// ```
pub fn render(cases: &[Case<'_>]) -> String {
    let total: f64 = cases.iter().map(seconds).sum();
    let ended = |word| cases.iter().filter(|case| outcome(case) == word).count();
    let (failures, errors) = (ended(Outcome::Failure), ended(Outcome::Error));
    let sizes = format!("tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"", cases.len());
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites {sizes} time=\"{total:.3}\">");
    let _ =
        writeln!(xml, "  <testsuite name=\"seriatim\" {sizes} skipped=\"0\" time=\"{total:.3}\">");
    for case in cases {
        let (name, class) = match case {
            Case::Checked(report) => (report.history.source(), report.spec),
            Case::Unreadable { source, .. } => (*source, "input"),
        };
        let (name, class, time) = (escaped(name), escaped(class), seconds(case));
        let _ = writeln!(
            xml,
            "    <testcase name=\"{name}\" classname=\"{class}\" time=\"{time:.3}\">"
        );
        match case {
            Case::Checked(report) => checked(report, &mut xml),
            Case::Unreadable { problem, .. } => {
                let problem = escaped(&text::middle(problem, text::SCREEN));
                let _ = writeln!(xml, "      <error type=\"input\" message=\"{problem}\"></error>");
            }
        }
        xml.push_str("    </testcase>\n");
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

#[derive(PartialEq, Eq)]
enum Outcome {
    Pass,
    Failure,
    Error,
}

fn outcome(case: &Case<'_>) -> Outcome {
    match case {
        Case::Unreadable { .. } => Outcome::Error,
        Case::Checked(report) => match report.verdict {
            Verdict::Linearizable(_) => Outcome::Pass,
            Verdict::Violation(_) => Outcome::Failure,
            Verdict::Unknown(_) => Outcome::Error,
        },
    }
}

fn seconds(case: &Case<'_>) -> f64 {
    match case {
        Case::Checked(report) => report.statistics.elapsed.map_or(0.0, |time| time.as_secs_f64()),
        Case::Unreadable { .. } => 0.0,
    }
}

fn checked(report: &Report<'_>, xml: &mut String) {
    let told = match report.verdict {
        Verdict::Linearizable(_) => None,
        Verdict::Violation(found) => {
            Some(("failure", "violation", found.explanation.sentence.clone()))
        }
        Verdict::Unknown(unknown) => {
            let defect = unknown.defect.as_ref().map(|defect| format!(": {defect}"));
            let message = format!("{}{}", unknown.limit, defect.unwrap_or_default());
            Some(("error", "unknown", message))
        }
    };
    if let Some((element, kind, message)) = told {
        let whole = escaped(&terminal::render(report, &Style::plain(WIDTH)));
        let message = escaped(&text::middle(&message, text::SCREEN));
        let _ = writeln!(
            xml,
            "      <{element} type=\"{kind}\" message=\"{message}\">{whole}</{element}>"
        );
    }
    if !report.warnings.is_empty() {
        let warnings = report.warnings.iter().map(|told| text::middle(told, text::SCREEN));
        let warnings = escaped(&warnings.collect::<Vec<_>>().join("\n"));
        let _ = writeln!(xml, "      <system-err>{warnings}</system-err>");
    }
}
