//! Mistakes that tests can switch on, to see that the tests would notice them, and that no verdict
//! rests on them.
//!
//! Outside of tests nothing is ever switched on, and the compiler drops the questions. (The feature
//! `sabotage`, which no release has, lets the tests of the command choose one by the environment
//! variable `SERIATIM_SABOTAGE`.)

/// A mistake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mutant {
    /// A learnt clause lacks a literal.
    ShortLearntClause,
    /// A reason from a cycle lacks a literal.
    ShortReason,
    /// Going back leaves edges in the order.
    EdgesStay,
    /// A choice does not bring the edges from the readers.
    NoReaderEdges,
    /// A refuted choice is asserted the wrong way round.
    WrongAssertion,
    /// The sweep does not go back when nodes move.
    NoRewind,
    /// Overlapping writers are not noticed.
    OverlapsPass,
    /// A wish for real time is taken for a fact.
    WishesAreFacts,
    /// Sessions are forgotten.
    NoSessions,
    /// A return at the instant of a call comes before it.
    EqualInstantsAreOrdered,
    /// Reads of aborted transactions pass.
    AbortedReadsPass,
    /// Reads of intermediate values pass.
    IntermediateReadsPass,
    /// Unknown transactions that were read are left out.
    UnknownNeverCommits,
    /// Appends that nobody read are not put after those that were.
    UnreadAppendsFloat,
    /// Torn appends pass.
    TornAppendsPass,
    /// The causal past is only the session.
    CausalPastIsSession,
    /// Read atomicity ignores the session.
    AtomicIgnoresSession,
    /// Read committed looks at later reads, too.
    CommittedLooksAhead,
    /// A writer in the past of a read of the initial state is not noticed.
    PastPassesInitial,
    /// A vector clock does not take over what those it read from knew.
    ClockSkipsReads,
    /// A vector clock does not hold the transactions themselves, only their pasts.
    ClockForgetsItself,
    /// Of the writers of a session that a past holds, the first one is taken, not the last.
    FirstWriterOfChain,
    /// All writers that a session knows come before the one it read from, that one included.
    ChainHoldsSource,
    /// Writers that a session came to know after the one it read from are not put before it.
    LaterWritersPass,
    /// A session does not know its own writes.
    OwnWritesPass,
    /// A session that read from a transaction knows only the key that it read.
    ReadsKnowOneKey,
    /// The writers of a session are not ordered.
    WritersOutOfOrder,
    /// A session has read only what its writer itself has read.
    WritesBeforeReads,
    /// What a transaction itself added to a counter counts as there before.
    SumWithoutOwn,
    /// Increments of unknown outcome are left out.
    UnknownNeverCounts,
    /// The search of counters overwrites versions that are still to be read.
    CounterOverwritesRead,
}

#[cfg(test)]
pub use switch::{is_on, with_mutant};

/// Whether a mistake is switched on.
#[cfg(all(not(test), feature = "sabotage"))]
pub fn is_on(mutant: Mutant) -> bool {
    use std::sync::OnceLock;
    static CHOSEN: OnceLock<Option<String>> = OnceLock::new();
    let chosen = CHOSEN.get_or_init(|| std::env::var("SERIATIM_SABOTAGE").ok());
    chosen.as_ref().is_some_and(|name| *name == format!("{mutant:?}"))
}

/// Whether a mistake is switched on: never.
#[cfg(not(any(test, feature = "sabotage")))]
#[inline(always)]
pub const fn is_on(_: Mutant) -> bool {
    false
}

#[cfg(test)]
mod switch {
    use super::Mutant;
    use std::cell::Cell;

    thread_local! {
        static CURRENT: Cell<Option<Mutant>> = const { Cell::new(None) };
    }

    impl Mutant {
        /// All of them.
        pub const ALL: [Mutant; 31] = [
            Mutant::ShortLearntClause,
            Mutant::ShortReason,
            Mutant::EdgesStay,
            Mutant::NoReaderEdges,
            Mutant::WrongAssertion,
            Mutant::NoRewind,
            Mutant::OverlapsPass,
            Mutant::WishesAreFacts,
            Mutant::NoSessions,
            Mutant::EqualInstantsAreOrdered,
            Mutant::AbortedReadsPass,
            Mutant::IntermediateReadsPass,
            Mutant::UnknownNeverCommits,
            Mutant::UnreadAppendsFloat,
            Mutant::TornAppendsPass,
            Mutant::CausalPastIsSession,
            Mutant::AtomicIgnoresSession,
            Mutant::CommittedLooksAhead,
            Mutant::PastPassesInitial,
            Mutant::ClockSkipsReads,
            Mutant::ClockForgetsItself,
            Mutant::FirstWriterOfChain,
            Mutant::ChainHoldsSource,
            Mutant::LaterWritersPass,
            Mutant::OwnWritesPass,
            Mutant::ReadsKnowOneKey,
            Mutant::WritersOutOfOrder,
            Mutant::WritesBeforeReads,
            Mutant::SumWithoutOwn,
            Mutant::UnknownNeverCounts,
            Mutant::CounterOverwritesRead,
        ];
    }

    /// Runs something with a mistake switched on, in this thread.
    pub fn with_mutant<T>(mutant: Mutant, run: impl FnOnce() -> T) -> T {
        CURRENT.set(Some(mutant));
        let result = run();
        CURRENT.set(None);
        result
    }

    /// Whether a mistake is switched on.
    pub fn is_on(mutant: Mutant) -> bool {
        CURRENT.get() == Some(mutant)
    }
}
