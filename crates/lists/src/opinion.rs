//! A second opinion after every *holds*: short lists, looked at by code that shares nothing with
//! the abstraction.
//!
//! A *yes* of the search rests on segments, merging and movers. The [`oracle`](crate::oracle) has
//! none of these: it runs the machine alone on one concrete list, remembers whole histories and
//! tries all linearizations. It is asked about the lists of each case, the shortest first, for a
//! share of the time that the search took. If it finds a run that goes wrong on one of them, the
//! search has made a mistake, and the answer is *unknown* with a line that asks for a report, never
//! *holds*. If it finds nothing, the answer stands, as far as that goes: lists of up to three
//! further nodes, or those that fit into the time.

use crate::cases::{Case, Input, explicit_lists};
use crate::oracle::{Findings, all_runs};
use crate::subject::{Code, Subject};
use seriatim_limits::Instant;
use std::sync::Arc;
use std::time::Duration;

/// How many nodes beside those of the arguments the lists have at most.
const NODES: usize = 3;

/// How long the second opinion may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opinion {
    /// The least time that it gets, until all its lists are covered.
    pub least: Duration,
    /// The share of the time of the search that it gets, as its part of a hundred.
    pub percent: u32,
}

impl Default for Opinion {
    fn default() -> Opinion {
        Opinion { least: Duration::from_millis(50), percent: 20 }
    }
}

impl Opinion {
    /// When it has to end, if the search began then.
    pub fn deadline(self, search_began: Instant) -> Instant {
        let share = search_began.elapsed() * self.percent / 100;
        Instant::now() + share.max(self.least)
    }
}

/// What the oracle finds on short lists until the deadline, and on how many.
pub fn on_short_lists(
    plain: &Arc<Code>,
    cases: &[Case],
    input: Input,
    deadline: Instant,
) -> (Findings, u64) {
    let (mut found, mut lists) = (Findings::default(), 0);
    for count in 0..=NODES {
        for case in cases {
            let subject = Subject::new(plain, &case.ranks);
            for intervals in explicit_lists(case, input, count) {
                if Instant::now() >= deadline {
                    return (found, lists);
                }
                let start = case.state(&subject, &intervals);
                let Some(more) = all_runs(&subject, &start, deadline) else { continue };
                found = found.and(more);
                lists += 1;
            }
        }
    }
    (found, lists)
}
