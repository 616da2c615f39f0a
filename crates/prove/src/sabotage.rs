//! Provers that are broken on purpose, for the test that the checker of certificates notices. Only
//! with the feature `sabotage`.

/// What the prover does wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sabotage {
    /// Steps of others do nothing to a view.
    NoInterference,
    /// Every fifth new view is forgotten.
    ForgottenViews,
    /// A view that should be joined with another one is dropped.
    NoJoin,
    /// Only the first effect that is found disturbs others.
    OneEffect,
}
