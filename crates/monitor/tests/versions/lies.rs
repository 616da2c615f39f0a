//! An object that declares versions or keys which it does not have is caught, and decided without
//! them.

use crate::draw::{Kind, small_of};
use crate::store::{Lie, Store, check, sparse, told};
use seriatim_monitor::{DecidedBy, Monitors, Options};

#[test]
fn a_lie_never_changes_a_verdict() {
    let lies = [
        Lie::WrongKey,
        Lie::HiddenWrite,
        Lie::StillDelete,
        Lie::Jump,
        Lie::PutReads,
        Lie::Mood,
        Lie::ShortRange,
        Lie::WideCompact,
        Lie::CuriousCompact,
        Lie::RisingCompact,
        Lie::CuriousPut,
        Lie::BlindPast,
    ];
    let believing = Options { threads: 1, ..Options::default() };
    let plain = Options { threads: 1, monitors: Monitors::Skip, ..Options::default() };
    for lie in lies {
        let store = Store { lie };
        let mut caught = 0;
        for seed in 0..1_000 {
            let kind = if lie.is_aside() { Kind::Aside } else { Kind::Told };
            let events = small_of(kind, store, seed);
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

/// How far a sparse version had risen when an operation returned without it is not to be declared:
/// no step could show that it had risen farther.
#[test]
fn nobody_is_believed_how_far_a_sparse_version_rose_unseen() {
    let store = Store::default();
    let (mut refused, mut taken) = (0, 0);
    for seed in 0..1_000 {
        let events = small_of(Kind::Silent, store, seed);
        let is_silent = |(told, returned): (Option<_>, bool)| told.is_none() && returned;
        let returned = events.iter().map(|event| event.ret.is_some());
        let is_open = told(store, &events).zip(returned).any(is_silent);
        assert_eq!(sparse(store, &events).is_none(), is_open, "{seed}: {events:#?}");
        *(if is_open { &mut refused } else { &mut taken }) += 1;
    }
    assert!(refused > 300 && taken > 100, "{refused} {taken}");
}
