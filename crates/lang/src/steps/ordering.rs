//! How strongly an access is ordered with others, in the words of C++20 and Rust.
//!
//! An access by name alone is `seqcst`. What the orderings mean is said by a memory model; engines
//! that know only sequential consistency ask [`crate::sequential::required`] first.

/// The ordering of an atomic access or of a fence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ordering {
    /// Atomic, and nothing more.
    Relaxed,
    /// A read that takes over what the write of its value knew.
    Acquire,
    /// A write that hands on what its thread knows.
    Release,
    /// Both.
    AcqRel,
    /// Both, and in one order with all others of this kind.
    #[default]
    SeqCst,
}

impl Ordering {
    /// All of them, weaker ones first.
    pub const ALL: [Ordering; 5] = [
        Ordering::Relaxed,
        Ordering::Acquire,
        Ordering::Release,
        Ordering::AcqRel,
        Ordering::SeqCst,
    ];

    /// The ordering of this name.
    pub fn named(name: &str) -> Option<Ordering> {
        Ordering::ALL.into_iter().find(|ordering| ordering.text() == name)
    }

    /// How it is written.
    pub fn text(self) -> &'static str {
        match self {
            Ordering::Relaxed => "relaxed",
            Ordering::Acquire => "acquire",
            Ordering::Release => "release",
            Ordering::AcqRel => "acqrel",
            Ordering::SeqCst => "seqcst",
        }
    }

    /// Whether a read takes over what the write of its value knew.
    pub fn acquires(self) -> bool {
        matches!(self, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst)
    }

    /// Whether a write hands on what its thread knows.
    pub fn releases(self) -> bool {
        matches!(self, Ordering::Release | Ordering::AcqRel | Ordering::SeqCst)
    }

    /// What is left of it for a read alone: that of a `cas` that fails.
    pub fn of_read(self) -> Ordering {
        match self {
            Ordering::AcqRel => Ordering::Acquire,
            Ordering::Release => Ordering::Relaxed,
            other => other,
        }
    }
}

/// The orderings of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Orders {
    /// Of its access; for a `cas`, if it succeeds.
    pub access: Ordering,
    /// Of the read that a `cas` is if it fails.
    pub failure: Ordering,
}

impl Orders {
    /// Those of an access of this ordering.
    pub fn of(access: Ordering) -> Orders {
        Orders { access, failure: access.of_read() }
    }
}
