//! Results as text: the two verdicts on a composition, and tables of them.

use crate::decide::{Outcome, Verdict};
use std::fmt::Write;

/// An outcome as text: the two questions and what they took.
pub fn render(outcome: &Outcome) -> String {
    let mut out = String::new();
    verdict_line(&mut out, "same elements", &outcome.elements);
    if let Some(list) = &outcome.list {
        verdict_line(&mut out, "same list", list);
    }
    let (states, cases) = (outcome.states, outcome.cases);
    let _ = writeln!(out, "  {states} abstract states in {cases} cases");
    out
}

fn verdict_line(out: &mut String, question: &str, verdict: &Verdict) {
    let why = match verdict {
        Verdict::Unknown(reason) => format!(" ({})", reason.text()),
        _ => String::new(),
    };
    let _ = writeln!(out, "  {question}: {}{why}", verdict.word());
}

fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell}{}", " ".repeat(width - cell.chars().count())));
        let line = cells.collect::<Vec<_>>().join("  |  ");
        let _ = writeln!(out, "  {}", line.trim_end());
    }
    out
}

/// A table of outcomes, one line each.
pub fn table_text(outcomes: &[Outcome]) -> String {
    let head = ["composition", "same elements", "same list", "states", "steps"];
    let mut rows = vec![head.map(str::to_string).to_vec()];
    rows.extend(outcomes.iter().map(|o| {
        vec![
            o.composition.to_string(),
            o.elements.word().to_string(),
            o.list.as_ref().map_or("-", Verdict::word).to_string(),
            o.states.to_string(),
            o.transitions.to_string(),
        ]
    }));
    columns(&rows)
}
