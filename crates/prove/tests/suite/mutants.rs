//! Mutants of proved algorithms, made by a program. A mutant that is proved must be correct:
//! `explore` looks at it with two and three threads and with the clients of the file, and must not
//! find a violation. `SERIATIM_LONG=1` mutates every algorithm, with larger bounds.

use crate::common::{algorithm, explored, long, mutants};
use seriatim_lang::check;
use seriatim_prove::{Options, Outcome, prove};

/// Algorithms, and how many views their mutants may need in the short run.
const ALGORITHMS: [(&str, usize); 72] = [
    ("treiber", 2_500),
    ("two_lock_queue", 2_500),
    ("michael_scott", 2_500),
    ("lock_coupling", 2_500),
    ("hsy_stack", 6_000),
    ("ccas", 1_500),
    ("dglm", 0),
    ("vechev_dcas", 0),
    ("orvyy_set", 0),
    ("lazy_list", 0),
    ("vechev_cas", 0),
    ("coarse_set", 0),
    ("cas_counter", 2_000),
    ("faa_counter", 2_000),
    ("lock_counter", 2_000),
    ("int_register", 2_000),
    ("spin_lock", 2_000),
    ("spin_stack", 2_500),
    ("spin_counter", 2_000),
    ("spin_queue", 0),
    ("spin_set", 0),
    ("spin_coupling", 0),
    ("treiber_peek", 2_500),
    ("michael_scott_front", 0),
    ("blocking_buffer", 0),
    ("named_set", 2_500),
    ("treiber_statistics", 2_500),
    ("lock_coupling_signed", 0),
    ("cas_counter_retries", 2_000),
    ("michael_scott_stamped", 0),
    ("owner_stack", 2_500),
    ("int_coupling", 2_000),
    ("owner_coupling", 0),
    ("spin_lazy_list", 0),
    ("trylock_list", 0),
    ("ticket_counter", 2_000),
    ("ticket_stack", 2_500),
    ("ticket_queue", 2_500),
    ("ticket_set", 0),
    ("swap_register", 2_000),
    ("once_cell", 2_000),
    ("consensus", 2_000),
    ("boxed_register", 2_000),
    ("boxed_counter", 2_000),
    ("lazy_value", 2_000),
    ("hash_set", 2_500),
    ("hash_spin_set", 0),
    ("hash_lazy_list", 0),
    ("clh_counter", 2_000),
    ("clh_stack", 2_500),
    ("clh_queue", 2_500),
    ("clh_set", 0),
    ("mcs_counter", 2_000),
    ("mcs_stack", 0),
    ("mcs_queue", 0),
    ("mcs_set", 0),
    ("treiber_versioned", 2_500),
    ("treiber_versioned_peek", 2_500),
    ("treiber_versioned_anew", 0),
    ("pool_versioned", 0),
    ("lock_coupling_map", 2_500),
    ("counted_map", 2_500),
    ("coarse_map", 0),
    ("lazy_map", 0),
    ("hash_map", 0),
    ("harris_michael_map", 0),
    ("coarse_pair", 2_000),
    ("spin_accounts", 2_000),
    ("ticket_snapshot", 2_000),
    ("seqlock_cas", 2_000),
    ("seqlock_locked", 2_000),
    ("seqlock_statistics", 2_000),
];

#[test]
fn a_mutant_that_is_proved_is_right() {
    let wanted = std::env::var("SERIATIM_MUTATE").ok();
    let (mut tried, mut proved, mut confirmed) = (0, 0, 0);
    for (name, short) in ALGORITHMS {
        let views = if long() { 60_000 } else { short };
        let states = if long() { 100_000 } else { 6_000 };
        let listed = wanted.as_ref().is_none_or(|names| names.split(',').any(|n| n == name));
        if !listed || views == 0 {
            continue;
        }
        for mutant in mutants(&algorithm(name)) {
            let Ok(program) = check(&mutant) else { continue };
            tried += 1;
            let options = Options { views, ..Options::default() };
            if let Outcome::Proved(_) = prove(&program, &options) {
                proved += 1;
                let answers = explored(&program, states);
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
