//! Not one broken algorithm is proved.

mod common;

use common::{library, program};
use seriatim_prove::{Options, Outcome, prove};

/// The short run gives up early on the larger ones.
fn options() -> Options {
    let views = if common::long() { 100_000 } else { 4_000 };
    Options { views, ..Options::default() }
}

#[test]
fn no_broken_algorithm_is_proved() {
    let (mut unknown, mut refused) = (0, 0);
    for path in library("algorithms/broken") {
        let source = std::fs::read_to_string(&path).expect("readable");
        match prove(&program(&source), &options()) {
            Outcome::Proved(_) => panic!("{} is broken, and proved", path.display()),
            Outcome::Unknown(stuck) => {
                let name = path.file_stem().unwrap_or_default().display().to_string();
                eprintln!("{name}: unknown after {} views: {}", stuck.views, stuck.obstacle.text());
                unknown += 1;
            }
            Outcome::Refused(_) => refused += 1,
        }
    }
    eprintln!("{unknown} unknown, {refused} refused");
    assert!(unknown >= 30, "only {unknown} broken algorithms are in the class");
}

/// The wrong algorithms that Poling certifies, by the soundness probes of the research notes.
#[test]
fn what_a_published_prover_accepts_wrongly_is_not_proved() {
    let probes = [
        "treiber_push_twice",
        "treiber_pop_twice",
        "treiber_as_queue",
        "two_lock_queue_any_value",
        "vechev_dcas_duplicates",
        "vechev_dcas_wrong_result",
        "vechev_dcas_remove_wrong_result",
        "orvyy_set_skipping_contains",
    ];
    for name in probes {
        let source = common::algorithm(&format!("broken/{name}"));
        let outcome = prove(&program(&source), &options());
        assert!(matches!(outcome, Outcome::Unknown(_)), "{name} is proved or refused");
    }
}
