//! Proofs are accepted by the checker; proofs with anything taken away are not.

use crate::common::{algorithm, long, program};
use seriatim_prove::{Options, Outcome, Proof, certify, prove};

fn proof(name: &str) -> Proof {
    match prove(&program(&algorithm(name)), &Options::default()) {
        Outcome::Proved(proof) => proof,
        _ => panic!("{name} is not proved"),
    }
}

#[test]
fn every_proof_is_accepted() {
    let short =
        ["treiber", "two_lock_queue", "michael_scott", "dglm", "lock_coupling", "hsy_stack"];
    let more = ["vechev_dcas", "coarse_set", "orvyy_set", "lazy_list", "vechev_cas", "ccas"];
    for name in short.iter().chain(if long() { &more[..] } else { &[] }) {
        assert_eq!(certify(&program(&algorithm(name)), &proof(name)), Ok(()), "{name}");
    }
}

#[test]
fn a_proof_without_one_of_its_views_is_rejected() {
    for name in ["coarse_queue", "two_lock_queue", "lock_coupling"] {
        let (program, whole) = (program(&algorithm(name)), proof(name));
        for missing in (0..whole.views.len()).step_by(if long() { 1 } else { 7 }) {
            let mut less = whole.clone();
            less.views.remove(missing);
            assert!(certify(&program, &less).is_err(), "{name} without view {missing}");
        }
    }
}

#[test]
fn a_proof_with_one_attribute_less_in_a_segment_is_rejected() {
    let (program, whole) = (program(&algorithm("lock_coupling")), proof("lock_coupling"));
    let mut tried = 0;
    for view in (0..whole.views.len()).step_by(if long() { 1 } else { 9 }) {
        for node in 0..whole.views[view].nodes.len() {
            let attrs = whole.views[view].nodes[node].segment.attrs;
            let mut less = whole.clone();
            less.views[view].nodes[node].segment.attrs = attrs & (attrs.wrapping_sub(1));
            if attrs != 0 {
                tried += 1;
                assert!(certify(&program, &less).is_err(), "view {view}, node {node}");
            }
        }
    }
    assert!(tried > 50);
}

#[test]
fn a_proof_of_one_algorithm_is_no_proof_of_another() {
    let mutant = algorithm("two_lock_queue").replace("lock(tail_lock)", "lock(head_lock)");
    assert!(certify(&program(&mutant), &proof("two_lock_queue")).is_err());
}
