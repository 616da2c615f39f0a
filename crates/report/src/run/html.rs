//! The page of an algorithm: the claims; and of a run that contradicts one, the source beside the
//! run, memory as boxes and arrows, and the history with the orders that were tried, on the
//! timeline of the page of histories.
//!
//! `page` says what every page is. The run stands in it as JSON (`id="report"`); where scripts are
//! forbidden, the terminal's report is shown instead.

use super::page_data::PageData;
use super::{Examined, terminal, unjudged};
use crate::html;
use crate::markup::escaped;
use crate::page;
use crate::report::Report;
use crate::terminal::Style;
use std::io::{self, Write};

static SKELETON: &str = include_str!("../../web/run.html");
/// The scripts of this page, after those of every page.
static SCRIPTS: [&str; 3] = [
    include_str!("../../web/heap.js"),
    include_str!("../../web/source.js"),
    include_str!("../../web/run.js"),
];

/// The page.
pub fn render(examined: &Examined<'_>) -> String {
    let mut bytes = Vec::new();
    write(examined, &mut bytes).expect("a vector takes every byte");
    String::from_utf8(bytes).expect("every part is UTF-8")
}

/// Writes the page.
pub fn write(examined: &Examined<'_>, out: &mut impl Write) -> io::Result<()> {
    page::write(SKELETON, &SCRIPTS, out, &mut |place, out| match place {
        "title" => out.write_all(escaped(examined.name).as_bytes()),
        "plain" => {
            let text = terminal::report(examined, &Style::plain(100));
            out.write_all(escaped(&text).as_bytes())
        }
        "report" => out.write_all(page::json(&PageData::of(examined))?.as_bytes()),
        "history" => write_history(examined, out),
        other => unreachable!("the skeleton has no place {other}"),
    })
}

/// What the timeline draws: the history of the run, judged if somebody did.
fn write_history(examined: &Examined<'_>, out: &mut impl Write) -> io::Result<()> {
    if let Some(judged) = examined.judged {
        return html::write_history(judged, out);
    }
    let Some(history) = examined.run().and_then(|(run, _)| run.history_of_threads("").ok()) else {
        return Ok(());
    };
    let verdict = unjudged();
    html::write_unjudged(&Report::new(&history, examined.spec, &verdict), out)
}
