//! The report as a page: one file, no network, nothing to install.
//!
//! The page holds the history in compressed columns, the verdict as JSON, and the
//! scripts of `web/`, which draw on a canvas. It asks nobody for anything: its own content security
//! policy forbids it. Where scripts are forbidden, the terminal's report is shown instead.

mod base64;
mod columns;
mod page_data;

use crate::report::Report;
use crate::terminal::{self, Style};
use columns::Ranks;
use page_data::PageData;
use seriatim_spec::Verdict;
use std::io::{self, Write};

/// The scripts of the page, in the order in which they need each other.
const SCRIPTS: [&str; 8] = [
    include_str!("../../web/decode.js"),
    include_str!("../../web/history.js"),
    include_str!("../../web/axis.js"),
    include_str!("../../web/colours.js"),
    include_str!("../../web/timeline.js"),
    include_str!("../../web/gestures.js"),
    include_str!("../../web/panel.js"),
    include_str!("../../web/main.js"),
];
const SKELETON: &str = include_str!("../../web/page.html");
const STYLES: &str = include_str!("../../web/style.css");

/// The page as bytes, for a server.
pub fn render(report: &Report<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(report, &mut bytes).expect("a vector takes every byte");
    bytes
}

/// Writes the page.
///
/// ```
/// use seriatim_report::{Report, html};
/// # let history = seriatim_history::Builder::new("run.jsonl").finish().unwrap();
/// # let replayed = seriatim_spec::Replayed::on_record();
/// # let verdict = seriatim_spec::Verdict::Linearizable(replayed);
/// let mut page = Vec::new();
/// html::write(&Report::new(&history, "queue", &verdict), &mut page).unwrap();
/// assert!(page.starts_with(b"<!doctype html>"));
/// ```
pub fn write(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    let ranks = Ranks::of(report.history);
    for piece in pieces() {
        match piece {
            Piece::Text(text) => out.write_all(text.as_bytes())?,
            Piece::Place("title") => out.write_all(escaped(report.history.source()).as_bytes())?,
            Piece::Place("styles") => out.write_all(STYLES.as_bytes())?,
            Piece::Place("plain") => {
                let text = terminal::render(report, &Style::plain(100));
                out.write_all(escaped(&text).as_bytes())?;
            }
            Piece::Place("verdict") => write_json(&PageData::of(report, &ranks), out)?,
            Piece::Place("columns") => {
                let bytes = columns::deflated(report.history, &ranks, shown_order(report.verdict));
                out.write_all(&base64::encode(&bytes))?;
            }
            Piece::Place("scripts") => {
                for script in SCRIPTS {
                    out.write_all(script.as_bytes())?;
                }
            }
            Piece::Place(other) => unreachable!("the skeleton has no place {other}"),
        }
    }
    Ok(())
}

/// The order that is drawn over the whole history: the witness, or what comes before the
/// counterexample.
fn shown_order(verdict: &Verdict) -> &[seriatim_history::OpId] {
    match verdict {
        Verdict::Linearizable(witness) => &witness.order,
        Verdict::Violation(found) => found.context.as_ref().map_or(&[], |context| &context.order),
        Verdict::Unknown(_) => &[],
    }
}

enum Piece {
    Text(&'static str),
    Place(&'static str),
}

/// The skeleton, cut at its places, which are written `{{name}}`.
fn pieces() -> impl Iterator<Item = Piece> {
    SKELETON.split("{{").enumerate().flat_map(|(index, piece)| {
        let place = piece.split_once("}}").filter(|_| index > 0);
        let (place, text) = place.map_or((None, piece), |(name, text)| (Some(name), text));
        place.map(Piece::Place).into_iter().chain([Piece::Text(text)])
    })
}

/// JSON that may stand inside a script element.
fn write_json(data: &PageData<'_>, out: &mut impl Write) -> io::Result<()> {
    let json = serde_json::to_string(data)?;
    out.write_all(json.replace('<', "\\u003c").as_bytes())
}

/// Text that may stand in an element.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
