//! Mutants of proved algorithms, made by a program. A mutant that is proved must be right: `explore` looks at it with two
//! and three threads and must not find a violation. `SERIATIM_LONG=1` mutates every algorithm, with larger bounds.

mod common;

use common::{algorithm, explored, long, mutants};
use seriatim_lang::check;
use seriatim_prove::{Options, Outcome, prove};

const SHORT: [&str; 4] = ["treiber", "two_lock_queue", "michael_scott", "lock_coupling"];
const LONG: [&str; 10] = [
    "treiber",
    "two_lock_queue",
    "michael_scott",
    "dglm",
    "lock_coupling",
    "vechev_dcas",
    "orvyy_set",
    "lazy_list",
    "vechev_cas",
    "coarse_set",
];

#[test]
fn a_mutant_that_is_proved_is_right() {
    let names: Vec<String> = match std::env::var("SERIATIM_MUTATE") {
        Ok(names) => names.split(',').map(str::to_string).collect(),
        Err(_) if long() => LONG.map(str::to_string).to_vec(),
        Err(_) => SHORT.map(str::to_string).to_vec(),
    };
    let (views, states) = if long() { (60_000, 300_000) } else { (2_500, 15_000) };
    let (mut tried, mut proved, mut confirmed) = (0, 0, 0);
    for name in &names {
        for mutant in mutants(&algorithm(name)) {
            let Ok(program) = check(&mutant) else { continue };
            tried += 1;
            let options = Options { views, ..Options::default() };
            if let Outcome::Proved(_) = prove(&program, &options) {
                proved += 1;
                let answers = [2, 3].map(|threads| explored(&program, threads, states));
                assert!(!answers.contains(&Some(false)), "proved, but broken:\n{mutant}");
                confirmed += u32::from(answers[0] == Some(true));
                if long() {
                    eprintln!(
                        "proved; explored: {answers:?}\n{}",
                        difference(&algorithm(name), &mutant)
                    );
                }
            }
        }
        eprintln!("{name}: {tried} mutants so far, {proved} proved, {confirmed} of them explored");
    }
    assert!(tried >= 60, "only {tried} mutants: too few to mean anything");
}

/// The lines in which a mutant differs.
fn difference(original: &str, mutant: &str) -> String {
    let old: Vec<&str> = original.lines().filter(|l| !l.starts_with("expect")).collect();
    let new: Vec<&str> = mutant.lines().collect();
    let same = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let most = old.len().min(new.len()) - same;
    let back = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count().min(most);
    let old_end = (old.len() - back).max(same);
    let new_end = (new.len() - back).max(same);
    format!("  - {}\n  + {}", old[same..old_end].join(" / "), new[same..new_end].join(" / "))
}
