//! A violation drawn for the terminal: the transactions, the cycle, and every arrow in words.

use crate::check::{Confirmation, Violation};
use crate::explain::{Arrow, End, Proof, Why};
use crate::prepare::FlawKind;
use crate::transaction::{Transactions, TxnId};

/// What to draw with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Glyphs {
    /// Lines and arrowheads.
    Unicode,
    /// ASCII only.
    Ascii,
}

/// Draws a violation.
pub fn draw(violation: &Violation, glyphs: Glyphs) -> String {
    let drawing = Drawing { part: &violation.part.history, glyphs };
    let mut text = String::new();
    drawing.transactions(&mut text);
    text.push('\n');
    drawing.proof(&violation.explanation.proof, "", &mut text);
    if violation.confirmation == Confirmation::Missing {
        text.push_str("\nNot confirmed: the part is too large for the second engine.\n");
    }
    text
}

struct Drawing<'v> {
    part: &'v Transactions,
    glyphs: Glyphs,
}

/// The name of a transaction of a part in a drawing.
pub(crate) fn name(txn: Option<TxnId>) -> String {
    match txn {
        Some(id) => format!("T{}", id.0 + 1),
        None => "the initial state".to_owned(),
    }
}

impl Drawing<'_> {
    fn transactions(&self, text: &mut String) {
        for (index, txn) in self.part.list().iter().enumerate() {
            let ops: Vec<String> = txn.ops.iter().map(|op| self.part.shown_op(op)).collect();
            let mut about = format!("session {}", self.part.shown_session(txn.session));
            if txn.line > 0 {
                about.push_str(&format!(", line {}", txn.line));
            }
            match txn.outcome {
                crate::Outcome::Committed => {}
                crate::Outcome::Aborted => about.push_str(", aborted"),
                crate::Outcome::Unknown => about.push_str(", outcome unknown"),
            }
            let name = name(Some(TxnId(index as u32)));
            text.push_str(&format!("  {name:<3} {}  ({about})\n", ops.join("  ")));
        }
    }

    fn proof(&self, proof: &Proof, indent: &str, text: &mut String) {
        for step in &proof.steps {
            let (earlier, later) = (name(step.earlier), name(step.later));
            let key = self.part.shown_key(step.key);
            text.push_str(&format!(
                "{indent}{earlier} writes {key} before {later} does, since the contrary closes:\n\n"
            ));
            self.cycle(&step.contrary, indent, text);
            text.push('\n');
        }
        match &proof.end {
            End::Cycle(cycle) => {
                if !proof.steps.is_empty() {
                    text.push_str(&format!("{indent}And so this closes:\n\n"));
                }
                self.cycle(cycle, indent, text);
            }
            End::Cases { key, writers, proofs } => {
                let key = self.part.shown_key(*key);
                let deeper = format!("{indent}    ");
                for (case, (first, second)) in [(0, 1), (1, 0)].into_iter().enumerate() {
                    let (first, second) = (name(writers[first]), name(writers[second]));
                    text.push_str(&format!("{indent}If {first} writes {key} before {second}:\n\n"));
                    self.proof(&proofs[case], &deeper, text);
                    text.push('\n');
                }
            }
            End::Flaw(kind, key) => {
                let key = self.part.shown_key(*key);
                text.push_str(&format!("{indent}{}\n", flaw_words(*kind, &key)));
            }
            End::Open => text.push_str(&format!("{indent}No order explains these reads.\n")),
        }
    }

    /// The arrows in a line, the last one leading back above it, and each in words.
    fn cycle(&self, cycle: &[Arrow], indent: &str, text: &mut String) {
        let Some((last, chain)) = cycle.split_last() else { return };
        let (line, head, left, right, side, down) = match self.glyphs {
            Glyphs::Unicode => ("─", "▶", "┌", "┐", "│", "▼"),
            Glyphs::Ascii => ("-", ">", "+", "+", "|", "v"),
        };
        let label = |arrow: &Arrow| arrow_label(self.part, arrow);
        let mut row = name(cycle[0].from);
        for arrow in chain {
            row.push_str(&format!(
                " {line}{line} {} {line}{head} {}",
                label(arrow),
                name(arrow.to)
            ));
        }
        let width = row.chars().count().max(6) - 2;
        let back = label(last);
        text.push_str(&format!("{indent}    {left}{}{right}\n", line.repeat(width - 1)));
        let gap = " ".repeat(width - 1);
        text.push_str(&format!("{indent}    {down}{gap}{side} {back}\n"));
        text.push_str(&format!("{indent}    {row}\n\n"));
        for arrow in cycle {
            text.push_str(&format!("{indent}    {}\n", self.words(arrow)));
        }
    }

    fn words(&self, arrow: &Arrow) -> String {
        words(self.part, arrow)
    }
}

/// An anomaly that needs no order, in words.
pub(crate) fn flaw_words(kind: FlawKind, key: &str) -> String {
    match kind {
        FlawKind::Unwritten => format!("A read of {key} saw a value that nobody wrote."),
        FlawKind::AbortedRead => {
            format!("A read of {key} saw what a transaction wrote that aborted.")
        }
        FlawKind::IntermediateRead => {
            format!("A read of {key} saw a value that its writer itself overwrote.")
        }
        FlawKind::FutureRead => format!("A read of {key} saw its reader's own later write."),
        FlawKind::Internal => {
            format!("A read of {key} did not see its transaction's own write.")
        }
        FlawKind::NonRepeatable => format!("Two reads of {key} in one transaction differ."),
        FlawKind::IncompatibleOrder => {
            format!("Two reads of list {key} cannot both be prefixes of one list.")
        }
        FlawKind::DuplicateElement => {
            format!("List {key} was read with an element twice that was appended once.")
        }
        FlawKind::BrokenAppends => {
            format!("List {key} was read with a transaction's appends not whole and in order.")
        }
    }
}

/// An arrow in a word or two.
pub(crate) fn arrow_label(part: &Transactions, arrow: &Arrow) -> String {
    match arrow.why {
        Why::WriteRead(key) => format!("wr {}", part.shown_key(key)),
        Why::WriteWrite(key) => format!("ww {}", part.shown_key(key)),
        Why::ReadWrite(key) => format!("rw {}", part.shown_key(key)),
        Why::Session => "session".to_owned(),
        Why::RealTime => "real time".to_owned(),
        Why::Missed(key, _) => format!("missed {}", part.shown_key(key)),
        Why::HadRead(_) => "had read".to_owned(),
        Why::Initial => "initial".to_owned(),
    }
}

/// An arrow in words.
pub fn words(part: &Transactions, arrow: &Arrow) -> String {
    let (from, to) = (name(arrow.from), name(arrow.to));
    let key = |key| part.shown_key(key);
    let because = match arrow.why {
        Why::WriteRead(k) => format!("{to} read {} as {from} left it", key(k)),
        Why::WriteWrite(k) => format!("{to} wrote {} after {from} did", key(k)),
        Why::ReadWrite(k) => format!("{from} read {} and did not see {to}'s write", key(k)),
        Why::Session => format!("{from} stands before {to} in their session"),
        Why::RealTime => {
            let txn = |id: Option<TxnId>| id.map(|id| part.get(id));
            let ret = txn(arrow.from).and_then(|txn| txn.ret).unwrap_or_default();
            let call = txn(arrow.to).map(|txn| txn.call).unwrap_or_default();
            format!("{from} returned at {ret}, before {to} was called at {call}")
        }
        Why::Missed(k, reader) => {
            let reader = name(Some(reader));
            format!("{reader} knows of {from}'s write of {}, yet read it from {to}", key(k))
        }
        Why::HadRead(reader) if Some(reader) == arrow.to => {
            format!("{to} wrote after it had read what {from} wrote")
        }
        Why::HadRead(reader) => {
            format!(
                "{to} wrote after its client, in {}, had read what {from} wrote",
                name(Some(reader))
            )
        }
        Why::Initial => "it was there before all others".to_owned(),
    };
    format!("{from} before {to}: {because}")
}
