//! `verify --weaken`: which orderings of an algorithm are needed.

use super::output::{remark, say, write_and_tell};
use super::source::Source;
use super::{Exit, Failure};
use seriatim::explore::weak::{Alone, OnX86, SiteKind, Wanted, Weakened, Weakening, weaken};
use seriatim::explore::{self, Options, Verdict};
use seriatim::lang::Program;
use seriatim::lang::steps::Ordering;
use seriatim::report::run::{headline, orderings};
use std::path::Path;

/// What was asked.
pub struct Asked<'a> {
    /// How many minima.
    pub wanted: Wanted,
    /// Whether the answer is JSON.
    pub is_json: bool,
    /// Where to write the page, if one is wanted.
    pub page: Option<&'a Path>,
}

/// Says which orderings are needed.
pub fn run(
    asked: &Asked<'_>,
    source: &Source,
    program: &Program,
    bounds: &Options,
) -> Result<Exit, Failure> {
    let found =
        weaken(program, bounds, asked.wanted).map_err(|diagnostic| source.complain(&diagnostic))?;
    let table = table(source, program, &found);
    if let Some(path) = asked.page {
        write_and_tell(path, &orderings::html(&table), "report")?;
    }
    let answer = found.base.answer();
    let exit = match () {
        () if found.sites.is_empty() => Exit::of(&answer),
        () if is_decided(&found) => Exit::Holds,
        () => Exit::Unknown,
    };
    if asked.is_json {
        say(&orderings::json(&table))?;
        return Ok(exit);
    }
    if found.sites.is_empty() {
        say(&headline(&source.name, &answer))?;
    }
    say(&orderings::text(&table))?;
    let (runs, states) = (found.runs, found.states);
    let unique = if asked.wanted == Wanted::All { "" } else { "; minima are not unique" };
    remark(&format!("{runs} explorations, {states} states{unique}"));
    Ok(exit)
}

/// Whether everything that was asked is known.
fn is_decided(found: &Weakening) -> bool {
    let is_known =
        |weakened: &Weakened| weakened.is_minimal && !matches!(weakened.alone, Alone::Unknown(_));
    found.sites.iter().all(is_known) && found.minima.as_ref().is_none_or(|minima| minima.complete)
}

/// Why nothing is known of any ordering.
fn without_orderings(found: &Weakening) -> Option<String> {
    let why = match &found.base.verdict {
        Verdict::Violation(run) => explore::headline(run),
        Verdict::Unknown(reason) => reason.text(),
        Verdict::Holds => "it has no orderings".to_owned(),
    };
    found.sites.is_empty().then_some(why)
}

/// What is known of the orderings, for a report.
fn table(source: &Source, program: &Program, found: &Weakening) -> orderings::Orderings {
    let minima = found.minima.as_ref().map(|minima| {
        let sites = || found.sites.iter().map(|weakened| weakened.site.kind);
        let choice = |orders: &Vec<Ordering>| {
            sites().zip(orders).map(|(kind, order)| word(kind, *order)).collect()
        };
        let choices = minima.choices.iter().map(choice).collect();
        orderings::Minima { choices, complete: minima.complete }
    });
    orderings::Orderings {
        algorithm: source.name.to_string(),
        bounds: found.base.bounds.to_string(),
        orderings: found.sites.iter().map(|w| ordering(&program.source, w)).collect(),
        minima,
        nothing: without_orderings(found),
        explorations: found.runs,
        states: found.states,
    }
}

/// An ordering as a word: a fence that orders nothing is none.
fn word(kind: SiteKind, order: Ordering) -> &'static str {
    match (kind, order) {
        (SiteKind::Fence, Ordering::Relaxed) => "none",
        _ => order.text(),
    }
}

/// An ordering, and what is known of it.
fn ordering(source: &str, weakened: &Weakened) -> orderings::Ordering {
    let Weakened { site, alone, minimum, is_minimal } = weakened;
    let name = |order: Ordering| word(site.kind, order);
    let alone = match alone {
        Alone::Weakest => orderings::Alone::Weakest,
        Alone::MayBe(order) => orderings::Alone::MayBe { ordering: name(*order) },
        Alone::Needed { with, run, on_x86 } => orderings::Alone::Needed {
            with: name(*with),
            how: explore::headline(run),
            steps: run.steps.len(),
            on_tso: match on_x86 {
                OnX86::Holds => "holds",
                OnX86::HoldsIfSynchronised => "holds_if_synchronised",
                OnX86::Fails => "fails",
                OnX86::Unknown => "unknown",
            },
        },
        Alone::Unknown(reason) => orderings::Alone::Unknown { why: reason.text() },
    };
    orderings::Ordering {
        line: site.span.line(source) as u32,
        access: site.span.text(source).lines().next().unwrap_or("").trim().to_owned(),
        if_it_fails: site.kind == SiteKind::Failure,
        given: name(site.order),
        alone,
        minimum: name(*minimum),
        minimum_may_be_weaker: !is_minimal,
        relies_on_no_load_buffering: site.relies && !minimum.acquires(),
    }
}
