//! What the tests of several crates share: random numbers, long campaigns, and skips that cannot be
//! overlooked. It depends on nothing and is not published.

mod random;
mod skip;

pub use random::Random;
pub use skip::{corpus, skipped};

/// Whether long campaigns are asked for: `SERIATIM_LONG=1`.
pub fn long() -> bool {
    std::env::var_os("SERIATIM_LONG").is_some()
}
