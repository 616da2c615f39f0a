//! An object that declares versions or keys which it does not have is caught, and decided without
//! them.

use crate::draw::small;
use crate::store::{Lie, Store, check};
use seriatim_monitor::{DecidedBy, Monitors, Options};

#[test]
fn a_lie_never_changes_a_verdict() {
    let lies =
        [Lie::WrongKey, Lie::HiddenWrite, Lie::StillDelete, Lie::Jump, Lie::PutReads, Lie::Mood];
    let believing = Options { threads: 1, ..Options::default() };
    let plain = Options { threads: 1, monitors: Monitors::Skip, ..Options::default() };
    for lie in lies {
        let store = Store { lie };
        let mut caught = 0;
        for seed in 0..1_000 {
            let events = small(store, seed);
            let checked = check(store, &events, &believing);
            let expected = check(store, &events, &plain);
            let words = (checked.verdict.word(), expected.verdict.word());
            assert_eq!(words.0, words.1, "{lie:?} {seed}: {events:#?}");
            assert_eq!(checked.defect, None, "{lie:?} {seed}");
            let by_versions = DecidedBy::Monitor("versions");
            caught += usize::from(checked.parts.iter().any(|part| part.decided_by != by_versions));
        }
        assert!(caught > 50, "{lie:?} was caught in {caught} of 1000 histories");
    }
}
