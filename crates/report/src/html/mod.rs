//! The page of a history: one file, no network, nothing to install.
//!
//! It holds the history in compressed columns, the verdict as JSON, and the scripts of `web/`,
//! which draw on a canvas; `page` says what every page is. Where scripts are forbidden, the
//! terminal's report is shown instead.

mod base64;
mod columns;
mod page_data;

use crate::markup::escaped;
use crate::page;
use crate::report::Report;
use crate::terminal::{self, Style};
use columns::Ranks;
use page_data::PageData;
use seriatim_spec::Verdict;
use std::io::{self, Write};

static SKELETON: &str = include_str!("../../web/check.html");
/// The script of this page; `page` has those of every page.
static SCRIPT: &str = include_str!("../../web/check.js");

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
    page::write(SKELETON, &[SCRIPT], out, &mut |place, out| match place {
        "title" => out.write_all(escaped(report.history.source()).as_bytes()),
        "plain" => {
            let text = terminal::render(report, &Style::plain(100));
            out.write_all(escaped(&text).as_bytes())
        }
        "history" => write_history(report, out),
        other => unreachable!("the skeleton has no place {other}"),
    })
}

/// Writes what the timeline draws: the verdict, and the history in columns.
pub(crate) fn write_history(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    let ranks = Ranks::of(report.history);
    write_data(report, &ranks, &PageData::of(report, &ranks), out)
}

/// The same of a history that nobody judged: the verdict of the report is not told.
pub(crate) fn write_unjudged(report: &Report<'_>, out: &mut impl Write) -> io::Result<()> {
    let ranks = Ranks::of(report.history);
    write_data(report, &ranks, &PageData::of(report, &ranks).unjudged(), out)
}

fn write_data(
    report: &Report<'_>,
    ranks: &Ranks,
    data: &PageData<'_>,
    out: &mut impl Write,
) -> io::Result<()> {
    let verdict = page::json(data)?;
    writeln!(out, "<script type=\"application/json\" id=\"verdict\">{verdict}</script>")?;
    let bytes = columns::deflated(report.history, ranks, shown_order(report.verdict));
    out.write_all(b"<script type=\"text/plain\" id=\"columns\">")?;
    out.write_all(&base64::encode(&bytes))?;
    out.write_all(b"</script>\n")
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
