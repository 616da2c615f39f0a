//! Which orderings of an algorithm are needed: as text, as JSON, as a page.

use crate::json::SCHEMA;
use crate::markup::escaped;
use crate::page;
use serde::Serialize;
use seriatim_history::harmless_json;
use std::fmt::Write as _;
use std::io::Write as _;

static SKELETON: &str = include_str!("../../web/orderings.html");

/// What is known of the orderings of an algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Orderings {
    /// The algorithm.
    pub algorithm: String,
    /// Within which bounds.
    pub bounds: String,
    /// The orderings, in the order of the source.
    pub orderings: Vec<Ordering>,
    /// All minimal choices, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minima: Option<Minima>,
    /// Why nothing can be said of any ordering: the algorithm does not hold as it stands, or has
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nothing: Option<String>,
    /// How many explorations there were.
    pub explorations: u32,
    /// How many states they had together.
    pub states: u64,
}

/// An ordering, and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ordering {
    /// The line of the access.
    pub line: u32,
    /// The access, as it stands there.
    pub access: String,
    /// Whether it is the ordering of a `cas` that fails.
    pub if_it_fails: bool,
    /// The ordering of the source.
    pub given: &'static str,
    /// What is known of it by itself.
    #[serde(flatten)]
    pub alone: Alone,
    /// The ordering in the minimum that was found greedily.
    pub minimum: &'static str,
    /// Whether a weaker one may do as well, because it was not decided.
    #[serde(skip_serializing_if = "is_false")]
    pub minimum_may_be_weaker: bool,
    /// Whether that relies on there being no load buffering.
    pub relies_on_no_load_buffering: bool,
}

/// What is known of an ordering by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "alone", rename_all = "snake_case")]
pub enum Alone {
    /// There is no weaker one.
    Weakest,
    /// A weaker one holds.
    MayBe {
        /// The weakest of them.
        ordering: &'static str,
    },
    /// No weaker one holds.
    Needed {
        /// The next weaker one.
        with: &'static str,
        /// What goes wrong with it.
        how: String,
        /// After how many steps.
        steps: usize,
        /// What it does on x86: `holds`, `holds_if_synchronised`, `fails` or `unknown`.
        on_tso: &'static str,
    },
    /// It was not decided.
    Unknown {
        /// Why not.
        why: String,
    },
}

/// The minimal choices, each with one ordering for each access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Minima {
    /// The choices.
    pub choices: Vec<Vec<&'static str>>,
    /// Whether there are no others.
    pub complete: bool,
}

impl Alone {
    fn text(&self) -> String {
        match self {
            Alone::Weakest => "cannot be weaker".to_owned(),
            Alone::MayBe { ordering } => format!("may be {ordering} by itself"),
            Alone::Needed { with, how, steps, on_tso } => {
                let hidden = match *on_tso {
                    "holds" => "fails on rc20, holds on tso: tests on x86 cannot show this",
                    "holds_if_synchronised" => {
                        "fails on rc20, holds on tso: tests on x86 cannot show this if they \
                         synchronise every call"
                    }
                    "fails" => "fails on tso as well",
                    _ => "not decided on tso",
                };
                format!("needed: with {with}, {how} ({steps} steps); {hidden}")
            }
            Alone::Unknown { why } => format!("unknown: {why}"),
        }
    }
}

impl Ordering {
    fn place(&self) -> String {
        let failure = if self.if_it_fails { ", if it fails" } else { "" };
        format!("{}{failure}", self.access)
    }

    fn in_minimum(&self) -> String {
        let relies =
            if self.relies_on_no_load_buffering { ", relies on no load buffering" } else { "" };
        let open =
            if self.minimum_may_be_weaker { " or weaker (not all were decided)" } else { "" };
        format!("{}{open}{relies}", self.minimum)
    }
}

fn is_false(is: &bool) -> bool {
    !is
}

/// The table as text.
pub fn text(found: &Orderings) -> String {
    if let Some(why) = &found.nothing {
        return format!("nothing can be said of its orderings: {why}\n");
    }
    let mut out = format!("{}: orderings on rc20, {}\n", found.algorithm, found.bounds);
    for ordering in &found.orderings {
        let (line, place, given) = (ordering.line, ordering.place(), ordering.given);
        let (alone, minimum) = (ordering.alone.text(), ordering.in_minimum());
        let _ =
            writeln!(out, "  line {line}: {place}: {given}\n    {alone}\n    minimum: {minimum}");
    }
    if let Some(minima) = &found.minima {
        out.push_str(&choices(found, minima));
    }
    out
}

/// The minimal choices: what each changes.
fn choices(found: &Orderings, minima: &Minima) -> String {
    let count = minima.choices.len();
    let mut out = match (minima.complete, count) {
        (true, 1) => "one minimal choice, and no other:\n".to_owned(),
        (true, _) => format!("all minimal choices, {count}:\n"),
        (false, _) => format!("minimal choices, {count}; there may be others:\n"),
    };
    for (number, choice) in minima.choices.iter().enumerate() {
        let _ = writeln!(out, "  {}.", number + 1);
        let sites =
            found.orderings.iter().zip(choice).filter(|(site, order)| site.given != **order);
        let mut is_changed = false;
        for (site, order) in sites {
            is_changed = true;
            let _ = writeln!(out, "    line {}: {}: {order}", site.line, site.place());
        }
        if !is_changed {
            out.push_str("    as in the source\n");
        }
    }
    out
}

/// The table as one line of JSON, whose schema is the definition `orderings` of
/// `docs/report-schema.json`.
pub fn json(found: &Orderings) -> String {
    #[derive(Serialize)]
    struct Document<'o> {
        schema: u32,
        #[serde(flatten)]
        found: &'o Orderings,
    }
    let document = Document { schema: SCHEMA, found };
    let text = serde_json::to_string(&document).expect("every part can be written");
    harmless_json(&text).into_owned() + "\n"
}

/// The table as a page, which needs no script.
pub fn html(found: &Orderings) -> String {
    let mut bytes = Vec::new();
    page::write(SKELETON, &[], &mut bytes, &mut |place, out| {
        let text = match place {
            "title" | "name" => escaped(&found.algorithm),
            "bounds" => escaped(&found.bounds),
            "rows" => found.orderings.iter().map(row).collect(),
            "minima" => all_minima(found),
            "cost" => cost(found),
            other => unreachable!("the skeleton has no place {other}"),
        };
        out.write_all(text.as_bytes())
    })
    .expect("a vector takes every byte");
    String::from_utf8(bytes).expect("every part is UTF-8")
}

/// What the table took, and what it does not say.
fn cost(found: &Orderings) -> String {
    let known = match (&found.nothing, &found.minima) {
        (Some(why), _) => format!("Nothing can be said of them: {}.", escaped(why)),
        (None, None) => "Minima are not unique.".to_owned(),
        (None, Some(_)) => String::new(),
    };
    format!("{} explorations, {} states. {known}", found.explorations, found.states)
}

/// All minimal choices, if they were asked for.
fn all_minima(found: &Orderings) -> String {
    let minima = found.minima.as_ref().map(|minima| escaped(&choices(found, minima)));
    minima.map(|choices| format!("<pre>{choices}</pre>\n")).unwrap_or_default()
}

fn row(ordering: &Ordering) -> String {
    format!(
        "<tr><td>{}</td><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        ordering.line,
        escaped(&ordering.place()),
        ordering.given,
        escaped(&ordering.alone.text()),
        escaped(&ordering.in_minimum()),
    )
}
