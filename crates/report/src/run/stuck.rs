//! Where a proof got stuck, for the terminal: the trail as a run, what is known there, and what
//! would have to be true.

use super::terminal::{cleaned, columns};
use crate::terminal::Style;
use seriatim_spec::answer::StuckProof;
use std::fmt::Write;

/// The whole place: the trail in columns, then the words.
pub(super) fn render(stuck: &StuckProof, style: &Style) -> String {
    let trail = columns(&stuck.run, style);
    format!("where the proof got stuck\n{trail}\n{}", cleaned(&words(stuck), style))
}

/// The words without the trail.
pub(super) fn words(stuck: &StuckProof) -> String {
    let mut out = format!("{}\n", stuck.obstacle);
    for fact in &stuck.known {
        let _ = writeln!(out, "  {fact}");
    }
    let _ = writeln!(out, "  with the abstract state: {}", stuck.content);
    let _ = writeln!(out, "  what would have to be true: {}", stuck.needs);
    if let Some(situation) = &stuck.situation {
        let _ = writeln!(out, "  {situation}");
    }
    for other in &stuck.others {
        let _ = writeln!(out, "  with another abstract state: {other}");
    }
    out
}
