//! Large histories: every fault is found, with a core of a few operations that a second engine
//! refutes.

use crate::draw::{Fault, Size, large};
use crate::store::{Store, check, check_opaque};
use seriatim_monitor::{Confirmation, DecidedBy, Options};
use seriatim_spec::Verdict;
use std::time::Duration;

#[test]
fn faults_of_large_histories_have_small_cores() {
    let some = (0..4).map(|seed| (seed, Size::new(12, 2_000, 5, 0.1)));
    let many = (0..2).map(|seed| (seed, Size::new(12, 700, 3, 0.5)));
    for (seed, size) in some.chain(many) {
        let checked =
            check(Store::default(), &large(seed, size, Fault::Nothing), &Options::default());
        assert!(matches!(checked.verdict, Verdict::Linearizable(_)), "{}", checked.verdict.word());
        for fault in
            [Fault::Wrong, Fault::Stale, Fault::Lost, Fault::Duplicate, Fault::Skipped, Fault::Old]
        {
            let events = large(seed, size, fault);
            let checked = check(Store::default(), &events, &Options::default());
            let told = format!("{fault:?} {seed}: {}", checked.verdict.word());
            assert_eq!(checked.parts[0].decided_by, DecidedBy::Monitor("versions"), "{told}");
            // A revision that was left out may be one that a pending operation made; with many of
            // them, so may what a fault shows.
            let Verdict::Violation(core) = checked.verdict else {
                assert!(fault == Fault::Skipped || size.unknown > 0.1, "{told}");
                continue;
            };
            assert!(core.operations.len() <= 20 || fault == Fault::Skipped, "{told}");
            let is_confirmed = checked.confirmation != Some(Confirmation::None);
            assert!(is_confirmed || fault == Fault::Skipped, "{told}");
        }
    }
}

/// Half of all updates unknown, on few keys with few values: what one key needs, another may need,
/// too.
#[test]
fn keys_that_contend_for_gaps_are_decided() {
    let size = Size { values: Some(6), ..Size::new(12, 2_000, 4, 0.5) };
    let options = Options { time: Some(Duration::from_secs(60)), ..Options::default() };
    for seed in 9..17 {
        let checked = check(Store::default(), &large(seed, size, Fault::Stale), &options);
        let told = format!("{seed}: {}", checked.verdict.word());
        assert_eq!(checked.parts[0].decided_by, DecidedBy::Monitor("versions"), "{told}");
    }
}

/// Updates that tell no revision have to fill gaps, and reads that tell none have to stand
/// somewhere: both are followed key by key. With many of both and time-outs among them it may be too
/// much, which is said.
#[test]
fn updates_and_reads_without_a_revision_are_decided() {
    for (seed, silent, unknown) in [(0, 0.2, 0.0), (0, 0.2, 0.1), (1, 0.5, 0.0), (2, 0.8, 0.0)] {
        let size = Size { silent, ..Size::new(12, 2_000, 5, unknown) };
        for fault in [Fault::Nothing, Fault::Wrong, Fault::Stale, Fault::Lost] {
            let events = large(seed, size, fault);
            let options = Options { time: Some(Duration::from_secs(60)), ..Options::default() };
            let checked = check(Store::default(), &events, &options);
            let part = &checked.parts[0];
            let told = format!("{fault:?} {seed}: {} {:?}", checked.verdict.word(), part.fell_back);
            assert_eq!(part.decided_by, DecidedBy::Monitor("versions"), "{told}");
            let Verdict::Violation(core) = checked.verdict else {
                // A read that tells no revision may have been slow instead of stale.
                assert!(!matches!(fault, Fault::Wrong | Fault::Lost), "{told}");
                continue;
            };
            assert!(fault != Fault::Nothing, "{told}");
            assert!(core.operations.len() <= 20, "{told}: {}", core.operations.len());
            assert!(checked.confirmation != Some(Confirmation::None), "{told}");
        }
    }
}

/// A version that also rises by itself, and three quarters of the operations tell none.
#[test]
fn sparse_versions_that_few_tell_are_decided() {
    let some = [(0, Fault::Nothing), (2, Fault::Nothing), (0, Fault::Wrong)].map(|of| (120, of));
    let many = [(439, (0, Fault::Nothing)), (439, (2, Fault::Nothing))];
    for (operations, (seed, fault)) in some.into_iter().chain(many) {
        let size = Size { silent: 0.75, rises: 0.3, ..Size::new(12, operations, 5, 0.0) };
        let events = large(seed, size, fault);
        let checked = check_opaque(Store::default(), &events, &Options::default());
        let part = &checked.parts[0];
        let told = format!("{fault:?} {seed}: {} {:?}", checked.verdict.word(), part.fell_back);
        assert_eq!(part.decided_by, DecidedBy::Monitor("versions"), "{told}");
        assert_eq!(checked.verdict.word() == "violation", fault == Fault::Wrong, "{told}");
    }
}
