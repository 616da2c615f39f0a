//! What the tests share (not every test uses all of it): the algorithms, mutants of them, and a
//! judge of mutants.

#![allow(dead_code)]

use seriatim_explore::{Limits, Verdict, ViolationKind};
use seriatim_lang::machine::Fault;
use seriatim_lang::{Program, check};

pub use seriatim_testing::{algorithm, algorithms as library};

/// The checked program of a text; the text must be correct.
pub fn program(source: &str) -> Program {
    check(source).unwrap_or_else(|error| panic!("{}", error.render(source, "test.seri")))
}

/// Whether the test is to take its time.
pub fn long() -> bool {
    seriatim_testing::long()
}

/// What `explore` says about a program at small bounds: with two and with three threads that call
/// whatever they like, and with the clients of the file.
pub fn explored(program: &Program, states: u64) -> Vec<Option<bool>> {
    let mut runs = vec![(2, None), (3, None)];
    for client in program.clients.iter().filter(|c| !c.name.is_empty()) {
        // A role for all that remain is played by as many as make three.
        let fixed: u32 = client.roles.iter().filter_map(|r| r.count).sum();
        let open = client.roles.iter().any(|r| r.count.is_none());
        let threads = if open { (fixed + 1).max(3) } else { fixed };
        runs.push((threads, Some(client.name.clone())));
    }
    runs.into_iter()
        .map(|(threads, client)| explored_by(program, threads, client, states))
        .collect()
}

/// What `explore` says: `Some(false)` if it found a run that is not linearizable or an error
/// (deadlocks and endless walks are no business of linearizability), `Some(true)` if it saw all
/// runs.
fn explored_by(
    program: &Program,
    threads: u32,
    client: Option<String>,
    states: u64,
) -> Option<bool> {
    let base = seriatim_explore::Options::default();
    let limits = Limits { states: Some(states), ..base.limits };
    let options = seriatim_explore::Options {
        threads,
        values: if client.is_some() { 1 } else { 2 },
        keys: 2,
        capacity: if client.is_some() { None } else { Some(2) },
        nodes: if client.is_some() { None } else { Some(6) },
        client,
        limits,
        ..base
    };
    match seriatim_explore::run(program, &options).ok()?.verdict {
        Verdict::Holds => Some(true),
        Verdict::Unknown(_) => None,
        Verdict::Violation(found) => match found.kind {
            ViolationKind::Deadlock | ViolationKind::Fault(Fault::Endless) => None,
            // Numbers without bounds are whole numbers to the prover, and words to `explore`.
            ViolationKind::Fault(Fault::OutOfRange) if program.source.contains(": int = ") => None,
            _ => Some(false),
        },
    }
}

/// Single tokens and what they become.
const EXCHANGES: [(&str, &str); 36] = [
    ("==", "!="),
    ("!=", "=="),
    ("&&", "||"),
    ("||", "&&"),
    (" < ", " <= "),
    (" <= ", " < "),
    ("true", "false"),
    ("false", "true"),
    ("!", ""),
    ("unlock", "lock"),
    ("(c, false)", "(c, true)"),
    ("(s, false)", "(c, false)"),
    ("next: c", "next: p"),
    ("c.next", "c"),
    ("tail", "head"),
    ("head", "tail"),
    ("Push", "Pop"),
    ("Pop", "Push"),
    ("mine", "other"),
    ("other", "mine"),
    ("him", "self"),
    ("self", "him"),
    ("d.next", "d.old"),
    ("d.old", "d.next"),
    ("(null, d)", "(old, null)"),
    (" + 1", " + 2"),
    (" - 1", " + 1"),
    (" + 2", " + 1"),
    (", 1)", ", -1)"),
    (", -1)", ", 0)"),
    ("return c", "return c + 1"),
    ("c.val", "p.val"),
    ("= c.val", "= v"),
    ("val: v", "val: c.val"),
    ("return old", "return v"),
    ("return empty", "return c.val"),
];

/// The text with one line of a method dropped, doubled, exchanged with the next one, or changed in
/// one place: a guard made constant or negated, a token exchanged, two arguments of a `cas`
/// swapped, a `cas` turned into a store.
pub fn mutants(source: &str) -> Vec<String> {
    let lines: Vec<&str> = source.lines().filter(|l| !l.starts_with("expect")).collect();
    let mut found = Vec::new();
    let mut inside = false;
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with("method ") || line.starts_with("fn ") {
            inside = !line.trim_end().ends_with('}');
            continue;
        }
        inside &= !line.starts_with('}');
        if !inside {
            continue;
        }
        let mut with = |replacement: &[&str], count: usize| {
            let changed = [&lines[..at], replacement, &lines[at + count..]].concat();
            found.push(changed.join("\n") + "\n");
        };
        with(&[], 1);
        with(&[line, line], 1);
        with(&[lines[at + 1], line], 2);
        for changed in in_line(line) {
            with(&[&changed], 1);
        }
    }
    found
}

fn in_line(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (old, new) in EXCHANGES.iter().filter(|(old, _)| line.contains(old)) {
        found.push(line.replacen(old, new, 1));
    }
    if let (Some(start), Some(end)) = (line.find("if "), line.find('{')) {
        let guard = &line[start + 3..end];
        for guard in ["true ", "false ", &format!("!({}) ", guard.trim())] {
            found.push(format!("{}if {guard}{}", &line[..start], &line[end..]));
        }
        for (i, _) in guard.match_indices("&&") {
            let (left, right) = (&guard[..i], &guard[i + 2..]);
            found.push(format!("{}if {left}{}", &line[..start], &line[end..]));
            found.push(format!("{}if {} {}", &line[..start], right.trim(), &line[end..]));
        }
    }
    if let Some((before, place, old, new, after)) = cas(line) {
        found.push(format!("{before}cas({place}, {new}, {old}){after}"));
        found.push(format!("{before}cas({place}, {old}, {old}){after}"));
        found.push(format!("{before}cas({place}, {new}, {new}){after}"));
        if before.trim().is_empty() {
            found.push(format!("{before}{place} = {new}{after}"));
        }
    }
    found
}

/// The parts of a line with a `cas`: what comes before it, its arguments, what comes after it.
fn cas(line: &str) -> Option<(&str, &str, &str, &str, &str)> {
    let start = line.find("cas(")?;
    let inner = &line[start + 4..];
    let (mut depth, mut commas, mut end) = (0, vec![], None);
    for (i, c) in inner.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => {
                end = Some(i);
                break;
            }
            ')' => depth -= 1,
            ',' if depth == 0 => commas.push(i),
            _ => {}
        }
    }
    let (end, [first, second]) = (end?, <[usize; 2]>::try_from(commas).ok()?);
    let part = |a: usize, b: usize| inner[a..b].trim();
    Some((
        &line[..start],
        part(0, first),
        part(first + 1, second),
        part(second + 1, end),
        &inner[end + 1..],
    ))
}
