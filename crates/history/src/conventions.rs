//! What a source means by words that say more than one thing.
//!
//! The formats differ: in Jepsen's histories an `:ok` repeats the argument where there is nothing
//! to return, and `nil` stands for results that nobody recorded; in our JSON Lines a `result` is
//! there because somebody wrote it down. The reader of a format knows which it is, and no one may
//! guess it from the values: a counter that returns 5 after `add 5` says something.

/// How the results of a source are to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Conventions {
    /// What a result `nil` means where the object cannot hold `nil`.
    pub nil: Nil,
    /// What a result that is the argument means.
    pub echo: Echo,
}

impl Conventions {
    /// Those of Jepsen's histories.
    pub const JEPSEN: Conventions = Conventions { nil: Nil::Unknown, echo: Echo::Argument };
}

/// What a recorded result `nil` means where the object cannot hold `nil`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Nil {
    /// The operation returned nothing: an observation like any other.
    #[default]
    Value,
    /// Nobody recorded the result. Jepsen's histories use `nil` so.
    Unknown,
}

/// What a recorded result means that is the operation's own argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Echo {
    /// It is a result like any other.
    #[default]
    Result,
    /// The source repeats arguments at the return; nothing is known of the result. Jepsen does so.
    Argument,
}
