//! The claims of an answer as lines of text: the verdict first, then each claim by itself.

use crate::text;
use seriatim_spec::answer::{Answer, Claim, Cost, Evidence, Property, Scope, Standing};
use std::fmt::Write;

/// The answer in one line: what is violated, else what is unknown, else what holds, for which runs
/// and at which cost.
pub fn headline(name: &str, answer: &Answer) -> String {
    let (property, standing) = leading(answer);
    let text = match standing {
        Standing::Violated { scope, .. } => {
            format!("VIOLATION for {}: not {property}", scope.words)
        }
        Standing::Unknown(why) => format!("unknown: {why}"),
        Standing::Holds { scope, evidence } if scope.is_unbounded() => {
            format!("PROVED {property} for {} ({})", scope.words, reason(evidence))
        }
        Standing::Holds { scope, .. } => {
            format!("{property} for {} ({})", scope.words, cost(&answer.cost))
        }
        Standing::NotAnswered(why) => format!("not answered: {why}"),
        Standing::NotAsked => "nothing was asked".to_owned(),
    };
    format!("{name}: {text}\n")
}

/// The claims, one line each, and what was cut. Bounds that the headline names are not repeated.
pub fn claims(answer: &Answer) -> String {
    let led = scope(leading(answer).1);
    let mut out = String::new();
    let mut said = String::new();
    let longest = answer.claims().map(|claim| claim.property.word().len()).max().unwrap_or(0);
    let width = longest + 2;
    for Claim { property, standing } in answer.claims() {
        let rest = match &standing {
            Standing::Holds { scope, .. } if Some(scope) != led => format!(" for {}", scope.words),
            Standing::Violated { how, .. } => format!(": {how}"),
            Standing::Unknown(why) | Standing::NotAnswered(why) => format!(": {why}"),
            Standing::Holds { .. } | Standing::NotAsked => String::new(),
        };
        let line = format!("{}{rest}", standing.word());
        // The same reason twice tells nobody more.
        let shown = match line == said && !rest.is_empty() {
            true => format!("{}, likewise", standing.word()),
            false => line.clone(),
        };
        let _ = writeln!(out, "  {:width$}{shown}", property.word());
        said = line;
    }
    for cut in cuts(answer) {
        let _ = writeln!(out, "  cut: {cut}");
    }
    out
}

/// The verdict in one word: what counts for the exit code, and whether all that holds is proved.
pub(super) fn verdict(answer: &Answer) -> &'static str {
    let holds = |s: &Standing| matches!(s, Standing::Holds { .. });
    let mut first = answer.claims().map(|c| c.standing).filter(holds);
    match answer.exit_code() {
        1 => "violation",
        0 => first.next().map_or("unknown", |standing| standing.word()),
        _ => "unknown",
    }
}

/// The verdict in a few words, for the head of a page.
pub(super) fn badge(answer: &Answer) -> String {
    let (property, standing) = leading(answer);
    match standing {
        Standing::Violated { .. } => format!("Not {property}"),
        Standing::Holds { scope, .. } if scope.is_unbounded() => format!("Proved {property}"),
        Standing::Holds { .. } => format!("Found {property}"),
        _ => "Unknown".to_owned(),
    }
}

/// What was asked, and within which bounds: the question that the badge answers.
pub(super) fn asked(answer: &Answer) -> String {
    let (property, standing) = leading(answer);
    match standing {
        Standing::Violated { scope, .. } | Standing::Holds { scope, .. } => {
            format!("Is every run {property}? Asked for {}.", scope.words)
        }
        Standing::Unknown(why) => format!("Is every run {property}? Unknown: {why}."),
        Standing::NotAnswered(why) => format!("Is every run {property}? Not answered: {why}."),
        Standing::NotAsked => String::new(),
    }
}

/// What the answer took, for the head of a page.
pub(super) fn facts(answer: &Answer) -> String {
    let Cost { time, states, steps, .. } = answer.cost;
    let mut facts = Vec::new();
    if (states, steps) != (0, 0) {
        facts.push(format!("{} states, {} steps", text::grouped(states), text::grouped(steps)));
    }
    if !time.is_zero() {
        facts.push(text::duration(time));
    }
    facts.join(", ")
}

/// The claim that the headline is about.
fn leading(answer: &Answer) -> (Property, &Standing) {
    let rank = |standing: &Standing| match standing {
        Standing::Violated { .. } => 0,
        Standing::Unknown(_) => 1,
        Standing::Holds { .. } => 2,
        Standing::NotAnswered(_) => 3,
        Standing::NotAsked => 4,
    };
    let all = Property::ALL.map(|property| (property, answer.standing(property)));
    let mut first = all[0];
    for next in &all[1..] {
        if rank(next.1) < rank(first.1) {
            first = *next;
        }
    }
    first
}

fn scope(standing: &Standing) -> Option<&Scope> {
    match standing {
        Standing::Holds { scope, .. } | Standing::Violated { scope, .. } => Some(scope),
        _ => None,
    }
}

/// What was cut in any of the scopes for which something holds.
pub(super) fn cuts(answer: &Answer) -> Vec<&String> {
    let mut found: Vec<&String> = Vec::new();
    for property in Property::ALL {
        let standing = answer.standing(property);
        let cut = scope(standing).map_or(&[][..], |scope| &scope.cut[..]);
        found.extend(
            cut.iter().filter(|c| matches!(standing, Standing::Holds { .. }) && !c.is_empty()),
        );
    }
    found.sort();
    found.dedup();
    found
}

fn reason(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Exploration { states, steps } => format!("{states} states, {steps} steps"),
        Evidence::Abstraction { states, cases } => {
            format!("{states} abstract states in {cases} cases")
        }
        Evidence::NeverWaits => "no instruction waits".to_owned(),
        Evidence::LockOrder => "locks are taken in an order".to_owned(),
        Evidence::Certificate { views, effects, root } => format!(
            "{views} views, {effects} effects; abstract state read from `{root}`; certificate accepted"
        ),
    }
}

fn cost(cost: &Cost) -> String {
    let Cost { time, states, steps, bytes } = cost;
    // An engine that does not store states one by one does not say how large they are.
    let size = match bytes.checked_div(*states) {
        None | Some(0) => String::new(),
        Some(each) => format!(" of {each} bytes"),
    };
    format!("{states} states{size}, {steps} steps, {:.2} s", time.as_secs_f64())
}
