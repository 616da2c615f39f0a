//! Provers that are broken on purpose: what they take for a proof is rejected, and nobody reads
//! *proved*.

use seriatim_certify::{Object, certify};
use seriatim_lang::Program;
use seriatim_prove::sabotage::Sabotage;
use seriatim_prove::{Options, Outcome, prove};

const WAYS: [Sabotage; 4] =
    [Sabotage::NoInterference, Sabotage::ForgottenViews, Sabotage::NoJoin, Sabotage::OneEffect];

/// The certificate that a prover with this defect writes, if it takes the program for proved.
fn claimed(program: &Program, way: Sabotage) -> Option<String> {
    let options = Options { views: 2_000, sabotage: Some(way), ..Options::default() };
    match prove(program, &options) {
        Outcome::Proved(proof) => proof.certificate(program).ok(),
        _ => None,
    }
}

#[test]
fn what_a_broken_prover_takes_for_a_proof_is_rejected() {
    for way in WAYS {
        let mut rejected = 0;
        for name in ["treiber", "coarse_stack", "two_lock_queue", "michael_scott", "dglm"] {
            let program = crate::common::program(name);
            let Some(certificate) = claimed(&program, way) else { continue };
            assert!(certify(&program, &certificate).is_err(), "{way:?}: {name}");
            rejected += 1;
        }
        assert!(rejected > 0, "{way:?} claims nothing");
    }
}

/// On programs that are wrong, a broken prover can be wrong, and the checker is all that stands
/// between it and the user.
#[test]
fn a_broken_prover_and_a_broken_program_are_not_proved() {
    let mut claims = [0; WAYS.len()];
    for name in [
        "broken/treiber_pop_store",
        "broken/michael_scott_head_store",
        "broken/two_lock_queue_one_lock",
    ] {
        let path = format!("{}/../../algorithms/{name}.seri", env!("CARGO_MANIFEST_DIR"));
        if !std::path::Path::new(&path).exists() {
            panic!("{name} is not in the library");
        }
        let program = crate::common::program(name);
        assert!(Object::of(&program).is_ok(), "{name} is in the class");
        for (number, way) in WAYS.into_iter().enumerate() {
            let Some(certificate) = claimed(&program, way) else { continue };
            assert!(certify(&program, &certificate).is_err(), "{way:?}: {name}");
            claims[number] += 1;
        }
    }
    assert!(claims[0] > 0, "without interference something broken must look right: {claims:?}");
}
