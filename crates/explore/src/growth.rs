//! Growing bounds until the time is up: small bounds first, where bugs show soonest, then larger ones.
//!
//! A round has a *size*: threads and data grow in turn, so that the largest bounds that were covered are as balanced
//! as time allows. The answer is a violation as soon as a round finds one; otherwise it lists what was covered.

use crate::options::{Limits, Options};
use crate::outcome::{Outcome, Verdict};
use crate::{configurations::MAX_THREADS, run};
use seriatim_lang::{Diagnostic, Program};
use std::time::{Duration, Instant};

/// The most data (capacity or keys) that a round asks for.
const MOST_DATA: u32 = 8;

/// What growing bounds covered.
#[derive(Clone, Debug)]
pub struct Growth {
    /// The rounds that were completed, smallest first.
    pub covered: Vec<Outcome>,
    /// The round that found a violation, if one did.
    pub violation: Option<Outcome>,
}

/// Explores larger and larger bounds for so long. Bounds that `base` sets (client, nodes, constants) stay; threads, capacity
/// and keys grow.
pub fn grow(program: &Program, base: &Options, budget: Duration) -> Result<Growth, Diagnostic> {
    let clock = Instant::now();
    let mut growth = Growth { covered: vec![], violation: None };
    for options in rounds(base) {
        let Some(left) = budget.checked_sub(clock.elapsed()).filter(|d| !d.is_zero()) else {
            break;
        };
        let limits = Limits { time: Some(left), ..options.limits };
        let outcome = run(program, &Options { limits, ..options })?;
        match outcome.verdict {
            Verdict::Holds => growth.covered.push(outcome),
            Verdict::Violation(_) => {
                growth.violation = Some(outcome);
                break;
            }
            Verdict::Unknown(_) => {}
        }
    }
    Ok(growth)
}

/// The bounds of the rounds: threads and data of growing sum.
fn rounds(base: &Options) -> Vec<Options> {
    let most = if base.client.is_some() { base.threads } else { MAX_THREADS as u32 };
    let least = if base.client.is_some() { base.threads } else { 2 };
    let mut found = Vec::new();
    for size in least + 1..=most + MOST_DATA {
        for threads in (least..=most).filter(|t| (1..=MOST_DATA).contains(&size.saturating_sub(*t)))
        {
            let data = size - threads;
            let capacity = Some(data);
            found.push(Options { threads, capacity, keys: data, ..base.clone() });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_grow_in_both_directions() {
        let all = rounds(&Options::default());
        let sizes: Vec<(u32, u32)> = all.iter().take(4).map(|o| (o.threads, o.keys)).collect();
        assert_eq!(sizes, [(2, 1), (2, 2), (3, 1), (2, 3)]);
        assert_eq!(all.len(), 5 * MOST_DATA as usize);
    }
}
