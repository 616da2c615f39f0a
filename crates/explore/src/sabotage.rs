//! Ways to break the explorer on purpose, for the test that asks whether anybody would notice. They
//! exist only with the feature `sabotage`, which no release has, and one of them is chosen by the
//! environment variable `SERIATIM_SABOTAGE`.

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sabotage {
    /// While one thread is inside of an operation, steps of the others are lost.
    DroppedSuccessor,
    /// All data values get the same name.
    WrongCanonicalForm,
    /// Stores are taken for something that no other thread notices.
    ForgottenEffect,
    /// What is known about fields is believed of nodes that a thread still has for itself alone.
    DroppedPremise,
    /// A failing `cas` is taken at once from where an iteration begins, too.
    DroppedRestart,
    /// A return that nothing explains is let through.
    BlindReturn,
    /// Errors are not reported.
    LostFault,
    /// Threads that all wait are taken for threads that are right to wait.
    BlindDeadlock,
    /// Of the rules of RC20: a `seqcst` read may read what others of its kind know to be old.
    SeqCstReadsOld,
    /// An update does not continue a release sequence.
    CutReleaseSequence,
    /// An acquire fence does nothing.
    NoAcquireFence,
    /// A release fence does nothing.
    NoReleaseFence,
    /// A `seqcst` fence is no release fence.
    SeqCstFenceKeepsBack,
    /// A `seqcst` fence does not learn from others of its kind.
    SeqCstFenceLearnsNothing,
    /// A `seqcst` fence learns what others of its kind knew of returns and plain words.
    SeqCstFenceSynchronises,
    /// A relaxed read acquires.
    RelaxedAcquires,
    /// A write comes after all others in modification order.
    LastPlaceOnly,
    /// Another write may come between an update and what it read.
    SplitUpdate,
    /// Of the rules of progress: a run is called fair though a thread does not get its turn.
    IgnoredTurn,
    /// An idle thread must call.
    IdleMustCall,
    /// A specification that blocks excuses nothing.
    IgnoredExcuse,
    /// A specification that blocked once excuses everything afterwards.
    LastingExcuse,
    /// Threads that never return are excused each by itself.
    SeparateExcuses,
    /// A thread that waits is overlooked.
    BlindWaiting,
    /// A thread that goes on alone is taken for another one after its step.
    LostPlace,
    /// Threads are interchangeable where fairness is asked about.
    SymmetricThreads,
}

/// Whether this is broken.
#[cfg(not(feature = "sabotage"))]
pub(crate) const fn is_broken(_: Sabotage) -> bool {
    false
}

/// Whether this is broken.
#[cfg(feature = "sabotage")]
pub(crate) fn is_broken(way: Sabotage) -> bool {
    use std::sync::OnceLock;
    static CHOSEN: OnceLock<Option<String>> = OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| std::env::var("SERIATIM_SABOTAGE").ok());
    chosen.as_ref().is_some_and(|chosen| *chosen == format!("{way:?}"))
}
