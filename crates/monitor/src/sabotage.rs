//! Ways to break the engines on purpose, for the test that asks whether anybody would notice. They
//! exist only with the feature `sabotage`, which no release has, and one of them is chosen by the
//! environment variable `SERIATIM_SABOTAGE`.

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sabotage {
    /// The search forgets pending operations.
    DroppedPending,
    /// The search takes configurations for the same whose objects differ.
    WrongKey,
    /// The search takes every operation for one that changes nothing.
    ForgottenEffect,
    /// The queue's monitor takes every value for one that may go first.
    SwappedComparison,
    /// Monitors find every history right.
    BlindMonitor,
    /// Monitors find every history wrong.
    FalseCore,
    /// The counterexamples of monitors lack an operation.
    GapInCore,
    /// A counterexample ends before the history has gone wrong.
    EarlyEnd,
    /// The orders of parts are put one behind the other.
    WrongJoin,
    /// The last operation of every order is lost.
    LostOperation,
    /// The engine of versions looks neither at real time nor at what keys hold, and fills no gap.
    BlindVersions,
    /// The engine of versions never finds a way to fill the gaps.
    UnfilledGaps,
    /// The search without real time takes results for granted.
    AnyResult,
    /// The search without real time finds no order.
    NoOrder,
}

/// Whether this is broken.
#[cfg(not(feature = "sabotage"))]
pub(crate) const fn is_broken(_: Sabotage) -> bool {
    false
}

/// Whether this is broken.
#[cfg(feature = "sabotage")]
pub(crate) fn is_broken(way: Sabotage) -> bool {
    use Sabotage::*;
    use std::sync::OnceLock;
    static CHOSEN: OnceLock<Option<Sabotage>> = OnceLock::new();
    let all = [
        DroppedPending,
        WrongKey,
        ForgottenEffect,
        SwappedComparison,
        BlindMonitor,
        FalseCore,
        GapInCore,
        EarlyEnd,
        WrongJoin,
        LostOperation,
        BlindVersions,
        UnfilledGaps,
        AnyResult,
        NoOrder,
    ];
    let chosen = CHOSEN.get_or_init(|| {
        let name = std::env::var("SERIATIM_SABOTAGE").ok()?;
        all.into_iter().find(|way| format!("{way:?}") == name)
    });
    *chosen == Some(way)
}
