//! What is known of compositions of methods on lists of any length: two questions about one of
//! them, a table of several.

use std::fmt::Write;

/// What was decided of a composition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The composition: `add || remove`.
    pub composition: String,
    /// Whether results and elements are those of some order.
    pub elements: Finding,
    /// Whether the list at the end is, too; none if that was not asked.
    pub list: Option<Finding>,
    /// How many abstract states there are.
    pub states: u64,
    /// How many steps between them.
    pub steps: u64,
    /// How many cases of arguments and lists.
    pub cases: u64,
}

/// How a question was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The answer: `holds`, `fails`, `unknown`.
    pub word: &'static str,
    /// Why there is none.
    pub why: Option<&'static str>,
}

/// One composition: the questions and what they took.
///
/// ```
/// use seriatim_report::run::compositions::{Decided, Finding, one};
/// let holds = Finding { word: "holds", why: None };
/// let decided = Decided {
///     composition: "add || add".to_owned(),
///     elements: holds,
///     list: None,
///     states: 12,
///     steps: 30,
///     cases: 3,
/// };
/// assert_eq!(one(&decided), "  same elements: holds\n  12 abstract states in 3 cases\n");
/// ```
pub fn one(decided: &Decided) -> String {
    let mut out = String::new();
    let mut line = |question: &str, finding: &Finding| {
        let why = finding.why.map(|why| format!(" ({why})")).unwrap_or_default();
        let _ = writeln!(out, "  {question}: {}{why}", finding.word);
    };
    line("same elements", &decided.elements);
    if let Some(list) = &decided.list {
        line("same list", list);
    }
    let _ = writeln!(out, "  {} abstract states in {} cases", decided.states, decided.cases);
    out
}

/// Several compositions, one line each.
pub fn table(all: &[Decided]) -> String {
    let head = ["composition", "same elements", "same list", "states", "steps"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(all.iter().map(|decided| {
        [
            decided.composition.clone(),
            decided.elements.word.to_owned(),
            decided.list.as_ref().map_or("-", |list| list.word).to_owned(),
            decided.states.to_string(),
            decided.steps.to_string(),
        ]
    }));
    let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut out = String::new();
    for row in &rows {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.chars().count())));
        let line = cells.collect::<Vec<_>>().join("  |  ");
        let _ = writeln!(out, "  {}", line.trim_end());
    }
    out
}
