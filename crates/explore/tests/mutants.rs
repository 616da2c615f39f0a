//! Small changes to right algorithms, one at a time: the reductions that look into the program must not change what is
//! found out about any of them, and every history that is accused is guilty.

mod common;

use common::{algorithm, is_linearizable};
use seriatim_explore::{Limits, Options, Reductions, Verdict, ViolationKind, run};
use seriatim_lang::check;

/// Every how many mutants are tried: all of them take minutes.
const STRIDE: usize = 9;

fn weaker() -> [Reductions; 5] {
    let all = Reductions::ALL;
    [
        all,
        Reductions { retries: false, ..all },
        Reductions { dead_fields: false, ..all },
        Reductions { lock_movers: false, ..all },
        Reductions {
            retries: false,
            dead_fields: false,
            lock_movers: false,
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
    for mutant in mutants(source).into_iter().step_by(STRIDE) {
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

#[test]
fn reductions_agree_on_mutants() {
    let limits = Limits { states: Some(12_000), ..Options::default().limits };
    let lists = Options { keys: 1, limits, ..Options::default() };
    let queues =
        Options { capacity: Some(2), nodes: Some(7), values: 2, limits, ..Options::default() };
    let mut tried = 0;
    tried += agree("treiber", &algorithm("treiber"), &queues);
    tried += agree("michael_scott", &algorithm("michael_scott"), &queues);
    tried += agree("two_lock_queue", &algorithm("two_lock_queue"), &queues);
    tried += agree("lazy_list", &algorithm("lazy_list"), &lists);
    tried += agree("lock_coupling", &algorithm("lock_coupling"), &lists);
    tried += agree("harris_michael", &algorithm("harris_michael"), &lists);
    assert!(tried > 20, "{tried}");
}
