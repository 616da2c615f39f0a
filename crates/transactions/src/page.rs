//! The answers about a history as a page that any browser opens, without anything from elsewhere.
//!
//! A table of the levels; for each level that is violated the anomaly, its cycles drawn (boxes are
//! transactions with their operations, arrows say who comes first), every arrow in words, and the
//! transactions with their lines and all that they read.

use crate::check::{Answer, Confirmation, Standing, Unknown, Violation};
use crate::draw::{arrow_label, flaw_words, name, words};
use crate::explain::{Arrow, End, Proof};
use crate::per_key::KeyAnswer;
use crate::transaction::{Transactions, TxnId};
use seriatim_limits::{Reason, stopped};
use seriatim_report::markup::escaped;
use std::fmt::Write;

/// What became of a level, in a word.
pub fn standing_word(standing: &Standing) -> &'static str {
    match standing {
        Standing::Satisfied(_) => "satisfied",
        Standing::Violated(_) => "violated",
        Standing::Unknown(_) => "unknown",
    }
}

/// Why a limit was reached, as far as that is known.
pub fn limit_in_words() -> &'static str {
    stopped().map_or("a limit was reached", Reason::text)
}

/// The page of some answers; `keys` are those of [`check_keys`](crate::check_keys), if it was
/// asked.
pub fn page(history: &Transactions, answers: &[Answer], keys: &[KeyAnswer]) -> String {
    let source = escaped(history.source());
    let mut text = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>{source}: isolation levels</title>\n<style>{STYLE}</style></head><body>\n\
         <h1>{source}</h1>\n<p>{}</p>\n",
        history.size_text()
    );
    text += "<table><tr><th>level</th><th>verdict</th><th></th></tr>\n";
    for answer in answers {
        let row = [answer.level.name(), standing_word(&answer.standing), &remark(&answer.standing)];
        text += &table_row(row, &format!("#{}", answer.level.name()));
    }
    for answer in keys {
        let name = format!("key {} linearizable", history.shown_key(answer.key));
        let row = [name.as_str(), standing_word(&answer.standing), &remark(&answer.standing)];
        text += &table_row(row, &format!("#key-{}", answer.key.0));
    }
    text += "</table>\n";
    for answer in answers {
        if let Standing::Violated(violation) = &answer.standing {
            let title = format!("Why {} is violated", answer.level);
            text += &section(history, violation, &title, answer.level.name());
        }
    }
    for answer in keys {
        if let Standing::Violated(violation) = &answer.standing {
            let name = history.shown_key(answer.key);
            let title = format!("Why key {name} is not linearizable");
            text += &section(&answer.history, violation, &title, &format!("key-{}", answer.key.0));
        }
    }
    text + "</body></html>\n"
}

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem;\
color:#1b1b1f;background:#fff}table{border-collapse:collapse}td,th{text-align:left;padding:.2rem 1rem .2rem 0;\
border-bottom:1px solid #ddd;vertical-align:top}.satisfied{color:#17662c}.violated{color:#a3190b}.unknown{color:#7a5b00}\
.drawing{overflow-x:auto}svg text{font:13px ui-monospace,monospace}svg .label{fill:#a3190b}code{font-family:ui-monospace,monospace}\
details{margin:.5rem 0}@media(prefers-color-scheme:dark){body{color:#e6e6ea;background:#17171b}td,th{border-color:#444}\
.satisfied{color:#7fd99a}.violated,svg .label{color:#ff8d7f;fill:#ff8d7f}.unknown{color:#e8c76a}\
svg text{fill:#e6e6ea}svg .label{fill:#ff8d7f}}";

fn table_row([name, word, remark]: [&str; 3], link: &str) -> String {
    let name = match word {
        "violated" => format!("<a href=\"{link}\">{}</a>", escaped(name)),
        _ => escaped(name),
    };
    format!(
        "<tr><td>{name}</td><td class=\"{word}\">{word}</td><td>{}</td></tr>\n",
        escaped(remark)
    )
}

fn remark(standing: &Standing) -> String {
    match standing {
        Standing::Satisfied(_) => String::new(),
        Standing::Violated(violation) => violation.explanation.anomaly.to_string(),
        Standing::Unknown(Unknown::Limit) => limit_in_words().to_owned(),
        Standing::Unknown(Unknown::NoTimes) => "no times are recorded".to_owned(),
        Standing::Unknown(Unknown::Ambiguous(reads)) => format!("{reads} ambiguous reads"),
        Standing::Unknown(Unknown::Counters) => "counters were read".to_owned(),
    }
}

fn section(whole: &Transactions, violation: &Violation, title: &str, anchor: &str) -> String {
    let part = &violation.part.history;
    let mut text = format!("<h2 id=\"{anchor}\">{}</h2>\n", escaped(title));
    text += &proof(part, &violation.explanation.proof);
    text += "<h3>The transactions</h3>\n<table><tr><th></th><th>what matters</th><th>line</th><th>session</th></tr>\n";
    for (index, id) in violation.part.ids.iter().enumerate() {
        let kept = &part.list()[index];
        let recorded = whole.get(*id).ops.iter().map(|op| whole.shown_op(op));
        let recorded: Vec<String> = recorded.collect();
        let _ = writeln!(
            text,
            "<tr><td>T{}</td><td><code>{}</code><details><summary>all of it</summary><code>{}</code>\
             </details></td><td>{}</td><td>{}</td></tr>",
            index + 1,
            escaped(&operations(part, index)),
            escaped(&recorded.join("  ")),
            kept.line,
            escaped(&part.shown_session(kept.session))
        );
    }
    text += "</table>\n";
    let confirmed = match violation.confirmation {
        Confirmation::Searched => {
            "Decided a second time by exhaustive search of these transactions."
        }
        Confirmation::Missing => "Not confirmed by a second engine: too many transactions.",
    };
    format!("{text}<p>{confirmed}</p>\n")
}

fn operations(part: &Transactions, index: usize) -> String {
    let ops: Vec<String> = part.list()[index].ops.iter().map(|op| part.shown_op(op)).collect();
    ops.join("  ")
}

fn proof(part: &Transactions, proof: &Proof) -> String {
    let mut text = String::new();
    for step in &proof.steps {
        let (earlier, later) = (name(step.earlier), name(step.later));
        let key = escaped(&part.shown_key(step.key));
        let _ = writeln!(
            text,
            "<p>{earlier} writes {key} before {later} does, since the contrary closes:</p>"
        );
        text += &cycle(part, &step.contrary);
    }
    match &proof.end {
        End::Cycle(arrows) => {
            if !proof.steps.is_empty() {
                text += "<p>And so this closes:</p>\n";
            }
            text + &cycle(part, arrows)
        }
        End::Cases { key, writers, proofs } => {
            let key = escaped(&part.shown_key(*key));
            for (case, [first, then]) in
                proofs.iter().zip([[writers[0], writers[1]], [writers[1], writers[0]]])
            {
                let (first, then) = (name(first), name(then));
                let _ = writeln!(text, "<p>If {first} writes {key} before {then} does:</p><div>");
                text += &self::proof(part, case);
                text += "</div>\n";
            }
            text
        }
        End::Flaw(kind, key) => {
            let key = part.shown_key(*key);
            format!("{text}<p>{}</p>\n", escaped(&flaw_words(*kind, &key)))
        }
        End::Open => format!("{text}<p>No order of these transactions explains all reads.</p>\n"),
    }
}

/// The boxes of a cycle in a row, the last arrow leading back above them, and each arrow in words.
fn cycle(part: &Transactions, cycle: &[Arrow]) -> String {
    let Some((last, chain)) = cycle.split_last() else { return String::new() };
    let mut boxes = vec![cycle[0].from];
    boxes.extend(chain.iter().map(|arrow| arrow.to));
    let (mut drawing, mut ends) = (String::new(), Vec::new());
    let mut x = 10.0;
    for (index, txn) in boxes.iter().enumerate() {
        let lines: Vec<String> = match txn {
            Some(id) => [format!("T{}", id.0 + 1)]
                .into_iter()
                .chain(part.get(*id).ops.iter().map(|op| part.shown_op(op)))
                .collect(),
            None => vec!["initial state".to_owned()],
        };
        let longest = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
        let (width, height) = (longest as f64 * 8.0 + 20.0, lines.len() as f64 * 18.0 + 10.0);
        let _ = write!(
            drawing,
            "<rect x=\"{x}\" y=\"70\" width=\"{width}\" height=\"{height}\" rx=\"6\" fill=\"none\" stroke=\"currentColor\"/>"
        );
        for (row, line) in lines.iter().enumerate() {
            let y = 88.0 + row as f64 * 18.0;
            let _ = write!(drawing, "<text x=\"{}\" y=\"{y}\">{}</text>", x + 10.0, escaped(line));
        }
        ends.push((x, x + width));
        x += width;
        if let Some(arrow) = chain.get(index) {
            let label = arrow_label(part, arrow);
            let gap = label.chars().count() as f64 * 8.0 + 30.0;
            let _ = write!(
                drawing,
                "<path d=\"M{} 88H{}\" stroke=\"currentColor\" marker-end=\"url(#head)\"/>\
                 <text class=\"label\" x=\"{}\" y=\"82\">{}</text>",
                x + 2.0,
                x + gap - 8.0,
                x + 12.0,
                escaped(&label)
            );
            x += gap;
        }
    }
    let height = 90.0 + 18.0 * tallest(part, &boxes) as f64;
    let back = arrow_label(part, last);
    let (from, to) = ((ends[ends.len() - 1].0 + ends[ends.len() - 1].1) / 2.0, ends[0].0 + 15.0);
    let from = if boxes.len() == 1 { ends[0].1 - 10.0 } else { from };
    let width = x.max(to + back.chars().count() as f64 * 8.0 + 60.0) + 10.0;
    let mut text = format!(
        "<div class=\"drawing\"><svg width=\"{width}\" height=\"{height}\" role=\"img\" aria-label=\"a cycle\">\
         <defs><marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"currentColor\"/></marker></defs>{drawing}\
         <path d=\"M{from} 70V34H{to}V66\" fill=\"none\" stroke=\"currentColor\" marker-end=\"url(#head)\"/>\
         <text class=\"label\" x=\"{}\" y=\"28\">{}</text></svg></div>\n<ul>\n",
        to + 10.0,
        escaped(&back)
    );
    for arrow in cycle {
        let _ = writeln!(text, "<li>{}</li>", escaped(&words(part, arrow)));
    }
    text + "</ul>\n"
}

fn tallest(part: &Transactions, boxes: &[Option<TxnId>]) -> usize {
    let lines = |txn: &Option<TxnId>| 1 + txn.map_or(0, |id| part.get(id).ops.len());
    boxes.iter().map(lines).max().unwrap_or(1)
}
