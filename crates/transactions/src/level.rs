//! The isolation levels, their names and which implies which.
//!
//! ```text
//! strict serializable ──────────► strong snapshot isolation
//!     │                                     │
//! strong session serializable ──► strong session snapshot isolation ──► prefix
//!     │                                     │                             │
//! serializable ─────────────────► snapshot isolation                    causal
//!                                           │                             │
//!                                           │                         read atomic
//!                                           │                             │
//!                                           │                  read committed (Biswas–Enea)
//!                                           ▼                             ▼
//!                                        read committed (Adya) ◄───────────
//! ```
//!
//! Causal also implies each of the four session guarantees, and each of these read committed
//! (Adya).

use std::fmt;
use std::str::FromStr;

/// An isolation level.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// One order of all transactions that explains every read and respects real time.
    StrictSerializable,
    /// One order that explains every read and respects each session.
    StrongSessionSerializable,
    /// One order that explains every read (Adya's PL-3).
    Serializable,
    /// Snapshot isolation whose snapshots are the latest by real time.
    StrongSnapshotIsolation,
    /// Snapshot isolation whose snapshots hold what the session did before.
    StrongSessionSnapshotIsolation,
    /// Reads as of a moment; of two concurrent writers of a key only one commits.
    SnapshotIsolation,
    /// Reads as of a prefix of one commit order that holds what the session did before; concurrent
    /// writers may overwrite each other.
    Prefix,
    /// Reads never miss what their causal past wrote.
    Causal,
    /// Reads see all of a transaction or nothing of it.
    ReadAtomic,
    /// Read committed as Biswas and Enea define it: later reads of a transaction do not go back
    /// behind earlier ones.
    ReadCommitted,
    /// A client sees its own writes.
    ReadYourWrites,
    /// What a client reads does not go back behind what it read before.
    MonotonicReads,
    /// The writes of a client take effect in its order.
    MonotonicWrites,
    /// The writes of a client take effect after all that it had read.
    WritesFollowReads,
    /// Read committed as Adya defines it (PL-2): nothing aborted, intermediate or circular is read.
    ReadCommittedAdya,
}

/// The order that a level demands beside what the reads say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Demand {
    /// None.
    Nothing,
    /// The order of each session.
    Sessions,
    /// The order of each session, and that of transactions one of which returned before the other
    /// was called.
    RealTime,
}

impl Level {
    /// All of them, strong ones before those that they imply.
    pub const ALL: [Level; 15] = [
        Level::StrictSerializable,
        Level::StrongSessionSerializable,
        Level::Serializable,
        Level::StrongSnapshotIsolation,
        Level::StrongSessionSnapshotIsolation,
        Level::SnapshotIsolation,
        Level::Prefix,
        Level::Causal,
        Level::ReadAtomic,
        Level::ReadCommitted,
        Level::ReadYourWrites,
        Level::MonotonicReads,
        Level::MonotonicWrites,
        Level::WritesFollowReads,
        Level::ReadCommittedAdya,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Level::StrictSerializable => "strict-serializable",
            Level::StrongSessionSerializable => "strong-session-serializable",
            Level::Serializable => "serializable",
            Level::StrongSnapshotIsolation => "strong-snapshot-isolation",
            Level::StrongSessionSnapshotIsolation => "strong-session-snapshot-isolation",
            Level::SnapshotIsolation => "snapshot-isolation",
            Level::Prefix => "prefix",
            Level::Causal => "causal",
            Level::ReadAtomic => "read-atomic",
            Level::ReadCommitted => "read-committed",
            Level::ReadYourWrites => "read-your-writes",
            Level::MonotonicReads => "monotonic-reads",
            Level::MonotonicWrites => "monotonic-writes",
            Level::WritesFollowReads => "writes-follow-reads",
            Level::ReadCommittedAdya => "read-committed-adya",
        }
    }

    /// Short names that people use.
    pub fn aliases(self) -> &'static [&'static str] {
        match self {
            Level::StrictSerializable => &["sser", "strict-serializability", "strong-serializable"],
            Level::StrongSessionSerializable => &["strong-session-ser", "ssser"],
            Level::Serializable => &["ser", "serializability", "pl-3"],
            Level::StrongSnapshotIsolation => &["strong-si"],
            Level::StrongSessionSnapshotIsolation => &["strong-session-si"],
            Level::SnapshotIsolation => &["si", "pl-si"],
            Level::Prefix => &["prefix-consistency", "pc"],
            Level::Causal => &["causal-consistency", "cc", "tcc"],
            Level::ReadAtomic => &["ra"],
            Level::ReadCommitted => &["rc"],
            Level::ReadYourWrites => &["ryw"],
            Level::MonotonicReads => &["mr"],
            Level::MonotonicWrites => &["mw"],
            Level::WritesFollowReads => &["wfr"],
            Level::ReadCommittedAdya => &["pl-2"],
        }
    }

    /// Whether it is one of the four session guarantees, each of which speaks of some operations of
    /// a session only.
    pub fn is_session_guarantee(self) -> bool {
        matches!(
            self,
            Level::ReadYourWrites
                | Level::MonotonicReads
                | Level::MonotonicWrites
                | Level::WritesFollowReads
        )
    }

    /// Whether an order of commits shows it: causal consistency and the levels below.
    pub fn orders_commits(self) -> bool {
        let is_weak = matches!(
            self,
            Level::Causal | Level::ReadAtomic | Level::ReadCommitted | Level::ReadCommittedAdya
        );
        is_weak || self.is_session_guarantee()
    }

    /// The order that the level demands beside what the reads say.
    pub fn demand(self) -> Demand {
        match self {
            Level::StrictSerializable | Level::StrongSnapshotIsolation => Demand::RealTime,
            Level::Serializable | Level::SnapshotIsolation | Level::ReadCommittedAdya => {
                Demand::Nothing
            }
            level if level.is_session_guarantee() => Demand::Nothing,
            _ => Demand::Sessions,
        }
    }

    /// The levels that hold wherever this one does, by the arrows of the picture above.
    pub fn implies(self) -> &'static [Level] {
        match self {
            Level::StrictSerializable => {
                &[Level::StrongSessionSerializable, Level::StrongSnapshotIsolation]
            }
            Level::StrongSessionSerializable => {
                &[Level::Serializable, Level::StrongSessionSnapshotIsolation]
            }
            Level::Serializable => &[Level::SnapshotIsolation],
            Level::StrongSnapshotIsolation => &[Level::StrongSessionSnapshotIsolation],
            Level::StrongSessionSnapshotIsolation => &[Level::SnapshotIsolation, Level::Prefix],
            Level::SnapshotIsolation => &[Level::ReadCommittedAdya],
            Level::Prefix => &[Level::Causal],
            Level::Causal => &[
                Level::ReadAtomic,
                Level::ReadYourWrites,
                Level::MonotonicReads,
                Level::MonotonicWrites,
                Level::WritesFollowReads,
            ],
            Level::ReadAtomic => &[Level::ReadCommitted],
            Level::ReadCommitted
            | Level::ReadYourWrites
            | Level::MonotonicReads
            | Level::MonotonicWrites
            | Level::WritesFollowReads => &[Level::ReadCommittedAdya],
            Level::ReadCommittedAdya => &[],
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A name that no level has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnknownLevel(pub String);

impl fmt::Display for UnknownLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = Level::ALL.iter().map(|level| level.name()).collect();
        write!(f, "expected a level ({}), found {}", names.join(", "), self.0)
    }
}

impl std::error::Error for UnknownLevel {}

impl FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(name: &str) -> Result<Self, UnknownLevel> {
        let wanted = name.to_ascii_lowercase().replace('_', "-");
        let named = |level: &&Level| level.name() == wanted || level.aliases().contains(&&*wanted);
        Level::ALL.iter().find(named).copied().ok_or_else(|| UnknownLevel(name.to_owned()))
    }
}
