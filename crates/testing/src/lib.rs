//! What the tests and benchmarks of several crates share: random numbers, long campaigns, skips
//! that cannot be overlooked, measures, and the algorithms of the library. It depends on nothing of
//! ours and is not published.

mod algorithms;
mod instructions;
mod measure;
mod random;
mod skip;

pub use algorithms::{algorithm, algorithms, proved_algorithms};
pub use instructions::{Counts, bless_counts, can_count, compare_counts, instructions};
pub use measure::{cpu_seconds, peak_memory};
pub use random::Random;
pub use skip::{corpus, skipped};

/// Whether long campaigns are asked for: `SERIATIM_LONG=1`.
pub fn long() -> bool {
    std::env::var_os("SERIATIM_LONG").is_some()
}
