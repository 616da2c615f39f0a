//! Whatever the prover proves, of mutants as well, the checker accepts: where they disagree, one of them is wrong.
//! `SERIATIM_LONG=1` takes more algorithms.

mod common;
#[path = "../../prove/tests/common/mod.rs"]
mod prover;

use seriatim_certify::certify;
use seriatim_lang::check;
use seriatim_prove::{Options, Outcome, prove};

const SHORT: [&str; 3] = ["treiber", "coarse_queue", "two_lock_queue"];
const LONG: [&str; 6] =
    ["michael_scott", "dglm", "coarse_stack", "coarse_set", "lock_coupling", "vechev_dcas"];

#[test]
fn the_certificates_of_proved_mutants_are_accepted() {
    let more = if common::long() { &LONG[..] } else { &[] };
    let mut accepted = 0;
    for name in SHORT.iter().chain(more) {
        for mutant in prover::mutants(&prover::algorithm(name)) {
            let Ok(program) = check(&mutant) else { continue };
            let options = Options { views: 4_000, ..Options::default() };
            let Outcome::Proved(proof) = prove(&program, &options) else { continue };
            let certificate = proof.certificate(&program).expect("it is about a list");
            if let Err(refusal) = certify(&program, &certificate) {
                panic!("{refusal}\n{mutant}");
            }
            accepted += 1;
        }
    }
    eprintln!("{accepted} certificates of mutants accepted");
    assert!(accepted > 50, "only {accepted}");
}
