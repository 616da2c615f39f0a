//! What fuzzers have found worth keeping is tried again with every change.

use seriatim_fuzzing::TARGETS;
use std::path::Path;

#[test]
fn every_input_that_was_kept_is_handled() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, target) in TARGETS {
        let inputs = std::fs::read_dir(corpus.join(name)).expect("a corpus of each target");
        let mut tried = 0;
        for input in inputs {
            let path = input.expect("a file").path();
            let bytes = std::fs::read(&path).expect("an input");
            let outcome = std::panic::catch_unwind(|| target(&bytes));
            assert!(outcome.is_ok(), "{name} fails on {}", path.display());
            tried += 1;
        }
        assert!(tried > 0, "nothing is kept for {name}");
    }
}
