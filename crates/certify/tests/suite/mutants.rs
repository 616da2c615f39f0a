//! Whatever the prover proves, of mutants as well, the checker accepts: where they disagree, one of
//! them is wrong. And what it proves of a correct program, offered for a mutant or for a broken
//! variant, is rejected, unless the mutant is correct. `SERIATIM_LONG=1` takes more algorithms.

#[path = "../../../prove/tests/suite/common/mod.rs"]
pub mod prover;

use crate::common::{ELEVEN, made_out_for, proved};
use seriatim_certify::{Object, Refusal, certify};
use seriatim_lang::check;
use seriatim_prove::{Options, Outcome, prove};

const SHORT: [&str; 17] = [
    "treiber",
    "coarse_queue",
    "two_lock_queue",
    "ccas_waits",
    "cas_counter",
    "lock_counter",
    "int_register",
    "owner_stack",
    "ticket_counter",
    "ticket_stack",
    "once_cell",
    "boxed_register",
    "hash_set",
    "hash_spin_set",
    "coarse_pair",
    "spin_accounts",
    "seqlock_locked",
];
const LONG: [&str; 16] = [
    "michael_scott",
    "dglm",
    "coarse_stack",
    "coarse_set",
    "lock_coupling",
    "vechev_dcas",
    "hsy_stack",
    "ccas",
    "rdcss",
    "treiber_statistics",
    "lock_coupling_signed",
    "int_coupling",
    "owner_coupling",
    "ticket_queue",
    "seqlock_cas",
    "seqlock_statistics",
];

fn names() -> Vec<&'static str> {
    let more = if crate::common::long() { &LONG[..] } else { &[] };
    [&SHORT[..], more].concat()
}

#[test]
fn the_certificates_of_proved_mutants_are_accepted() {
    let mut accepted = 0;
    for name in names() {
        let before = accepted;
        for mutant in prover::mutants(&prover::algorithm(name)) {
            let Ok(program) = check(&mutant) else { continue };
            let views = if crate::common::long() { 60_000 } else { 2_000 };
            let options = Options { views, ..Options::default() };
            let Outcome::Proved(proof) = prove(&program, &options) else { continue };
            let certificate = proof.certificate(&program).expect("it has one");
            if let Err(refusal) = certify(&program, &certificate) {
                panic!("{refusal}\n{mutant}");
            }
            accepted += 1;
        }
        eprintln!("{name}: {} certificates of mutants accepted", accepted - before);
    }
    assert!(accepted > 50, "only {accepted}");
}

/// A mutant for which the certificate is accepted must be correct; `explore` judges.
#[test]
fn the_certificate_of_a_right_program_proves_no_wrong_mutant() {
    let (mut rejected, mut right) = (0, 0);
    for name in names().into_iter().filter(|n| crate::common::long() || *n != "treiber") {
        let certificate = proved(&crate::common::program(name)).expect("it is proved");
        for mutant in prover::mutants(&prover::algorithm(name)) {
            let Ok(program) = check(&mutant) else { continue };
            if Object::of(&program).is_err() {
                continue;
            }
            match certify(&program, &made_out_for(&program, &certificate)) {
                Err(_) => rejected += 1,
                Ok(_) => {
                    let answers = prover::explored(&program, 6_000);
                    assert!(!answers.contains(&Some(false)), "accepted, but broken:\n{mutant}");
                    right += 1;
                }
            }
        }
    }
    eprintln!("{rejected} rejected, {right} accepted and right");
    assert!(rejected > 4 * right && rejected > 50, "{rejected}, {right}");
}

/// The certificates of right programs, made out for the broken variants that the library has of
/// them.
#[test]
fn no_certificate_proves_a_broken_variant() {
    let quick = |name: &&str| {
        crate::common::long() || !["lazy_list", "vechev_cas", "orvyy_set"].contains(name)
    };
    let (mut tried, mut by_proof) = (0, 0);
    for name in ELEVEN
        .into_iter()
        .filter(quick)
        .chain(["rdcss"].into_iter().filter(|_| crate::common::long()))
    {
        let certificate = proved(&crate::common::program(name)).expect("it is proved");
        for path in prover::library("algorithms/broken") {
            let variant = path.file_stem().unwrap_or_default().display().to_string();
            if !variant.starts_with(&format!("{name}_")) {
                continue;
            }
            let program = crate::common::program(&format!("broken/{variant}"));
            if Object::of(&program).is_err() {
                continue;
            }
            let refusal = certify(&program, &made_out_for(&program, &certificate));
            let refusal = refusal.expect_err("it is broken");
            tried += 1;
            by_proof += u32::from(matches!(refusal, Refusal::Proof(_)));
        }
    }
    eprintln!("{tried} broken variants, {by_proof} of them by a check");
    assert!(tried >= 20 && by_proof >= 5, "{tried}, {by_proof}");
}
