//! The answers about isolation levels as JUnit XML: a suite for each history, a case for each
//! level.

use seriatim::levels::{Answers, PER_KEY, remarks};
use seriatim::report::markup::escaped;
use seriatim::transactions::{Glyphs, Standing, draw, standing_word};

/// All suites in one document.
pub fn document(suites: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"seriatim\">\n{suites}</testsuites>\n"
    )
}

/// The suite of a file that cannot be read.
pub fn unreadable(source: &str, problem: &str) -> String {
    let problem = escaped(problem);
    let case = format!("    <testcase name=\"read\"><error message=\"{problem}\"/></testcase>\n");
    wrapped(source, &[(case, Kind::Error)])
}

/// The suite of a history.
pub fn suite(answers: &Answers<'_>) -> String {
    let mut cases = Vec::new();
    for answer in &answers.levels {
        let drawing = match &answer.standing {
            Standing::Violated(violation) => draw(violation, Glyphs::Ascii),
            _ => String::new(),
        };
        let verdict = standing_word(&answer.standing);
        cases.push(case(answer.level.name(), verdict, (&remarks(&answer.standing), &drawing)));
    }
    if let Some((verdict, remarks)) = answers.of_keys() {
        cases.push(case(PER_KEY, verdict, (&remarks, "")));
    }
    wrapped(answers.history.source(), &cases)
}

/// What became of a case.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Passed,
    Failure,
    Skipped,
    Error,
}

/// The case of a question: its verdict in a word, what there is to say, and a drawing.
pub fn case(name: &str, verdict: &str, (remarks, drawing): (&str, &str)) -> (String, Kind) {
    let (message, drawing) = (escaped(remarks), escaped(drawing));
    let (inner, kind) = match verdict {
        "satisfied" => (String::new(), Kind::Passed),
        "violated" => {
            (format!("<failure message=\"{message}\">{drawing}</failure>"), Kind::Failure)
        }
        _ => (format!("<skipped message=\"{message}\"/>"), Kind::Skipped),
    };
    (format!("    <testcase name=\"{name}\">{inner}</testcase>\n"), kind)
}

/// The suite of some cases.
pub fn wrapped(source: &str, cases: &[(String, Kind)]) -> String {
    let count = |kind: Kind| cases.iter().filter(|case| case.1 == kind).count();
    let body: String = cases.iter().map(|case| case.0.as_str()).collect();
    format!(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\" errors=\"{}\">\n{body}  </testsuite>\n",
        escaped(source),
        cases.len(),
        count(Kind::Failure),
        count(Kind::Skipped),
        count(Kind::Error)
    )
}
