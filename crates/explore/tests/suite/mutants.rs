//! Small changes to correct algorithms, one at a time: the reductions that look into the program
//! must not change what is found out about any of them, and every history that is accused is
//! guilty.

use crate::common::{algorithm, is_linearizable};
use seriatim_explore::{Limits, Options, Reductions, Verdict, ViolationKind, run};
use seriatim_lang::check;

/// Every how many mutants are tried with three threads: all of them take minutes.
const STRIDE: usize = 7;

fn weaker() -> [Reductions; 8] {
    let all = Reductions::ALL;
    [
        all,
        Reductions { thread_symmetry: false, ..all },
        Reductions { pure_iterations: false, ..all },
        Reductions { dead_fields: false, ..all },
        Reductions { lock_movers: false, ..all },
        Reductions { lock_nesting: false, ..all },
        Reductions { final_fields: false, ..all },
        Reductions {
            pure_iterations: false,
            final_fields: false,
            dead_fields: false,
            lock_movers: false,
            lock_nesting: false,
            value_symmetry: false,
            ..all
        },
    ]
}

/// All texts that differ from `source` in one place.
fn mutants(source: &str) -> Vec<String> {
    const SWAPS: [(&str, &str); 11] = [
        ("==", "!="),
        ("!=", "=="),
        (" < ", " <= "),
        (">=", ">"),
        ("true", "false"),
        ("false", "true"),
        ("&&", "||"),
        ("if !", "if "),
        ("if cas(", "if !cas("),
        (".next", ".next.next"),
        ("continue 'retry", "break 'retry"),
    ];
    let mut found = Vec::new();
    for (from, to) in SWAPS {
        for (at, _) in source.match_indices(from) {
            found.push(format!("{}{to}{}", &source[..at], &source[at + from.len()..]));
        }
    }
    for (at, _) in source.match_indices("cas(") {
        found.extend(plain_store(source, at));
    }
    let lines: Vec<&str> = source.lines().collect();
    for drop in 0..lines.len() {
        let kept = lines.iter().enumerate().filter(|(i, _)| *i != drop).map(|(_, l)| *l);
        found.push(kept.collect::<Vec<_>>().join("\n"));
        let twice =
            lines.iter().enumerate().flat_map(|(i, l)| vec![*l; 1 + usize::from(i == drop)]);
        found.push(twice.collect::<Vec<_>>().join("\n"));
        if drop > 0 {
            let mut swapped = lines.clone();
            swapped.swap(drop - 1, drop);
            found.push(swapped.join("\n"));
        }
    }
    found
}

/// `if cas(place, old, new) {` becomes `place = new; if true {`.
fn plain_store(source: &str, at: usize) -> Option<String> {
    let start = source[..at].rfind("if ")?;
    let end = at + source[at..].find(" {")?;
    let inside = source[at + 4..end].strip_suffix(')')?;
    let place = inside.split(',').next()?;
    let new = inside.rsplit(", ").next()?;
    let old_form = &source[start..end];
    let true_now = if old_form.contains('!') { "false" } else { "true" };
    Some(format!("{}{place} = {new}; if {true_now}{}", &source[..start], &source[end..]))
}

#[track_caller]
fn agree(name: &str, source: &str, base: &Options) -> usize {
    let mut tried = 0;
    let stride = if base.threads > 2 { STRIDE } else { 1 };
    for mutant in mutants(source).into_iter().step_by(stride) {
        let Ok(program) = check(&mutant) else { continue };
        let mut verdicts = Vec::new();
        for reductions in weaker() {
            let Ok(outcome) = run(&program, &Options { reductions, ..base.clone() }) else {
                continue;
            };
            match outcome.verdict {
                Verdict::Holds => verdicts.push(true),
                Verdict::Unknown(_) => {}
                Verdict::Violation(found) => {
                    let guilty = found.kind != ViolationKind::NotLinearizable
                        || !is_linearizable(&program, &found.history);
                    assert!(guilty, "{name}: an innocent history is accused\n{mutant}");
                    verdicts.push(false);
                }
            }
        }
        tried += 1;
        assert!(verdicts.windows(2).all(|w| w[0] == w[1]), "{name}: {verdicts:?}\n{mutant}");
    }
    tried
}

fn all_agree(threads: u32, states: u64) -> usize {
    let limits = Limits { states: Some(states), ..Options::default().limits };
    let lists = Options { threads, keys: 1, limits, ..Options::default() };
    let capacity = Some(if threads > 2 { 1 } else { 2 });
    let queues = Options { capacity, nodes: Some(7), values: 2, ..lists.clone() };
    agree("treiber", &algorithm("treiber"), &queues)
        + agree("michael_scott", &algorithm("michael_scott"), &queues)
        + agree("two_lock_queue", &algorithm("two_lock_queue"), &queues)
        + agree("lazy_list", &algorithm("lazy_list"), &lists)
        + agree("lock_coupling", &algorithm("lock_coupling"), &lists)
        + agree("harris_michael", &algorithm("harris_michael"), &lists)
        + agree("hsy_stack", &algorithm("hsy_stack"), &Options { values: 1, ..queues })
}

#[test]
fn reductions_agree_on_mutants_with_two_threads() {
    let tried = all_agree(2, 6_000);
    assert!(tried > 300, "{tried}");
}

#[test]
fn reductions_agree_on_mutants_with_three_threads() {
    let tried = all_agree(3, 8_000);
    assert!(tried > 50, "{tried}");
}
