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
use seriatim_limits::{Cancel, Instant};
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
    /// The request that ends it, if the search began then and may be ended by that request.
    pub fn request(self, search_began: Instant, of_search: &Cancel) -> Cancel {
        let share = search_began.elapsed() * self.percent / 100;
        of_search.within(share.max(self.least))
    }
}

/// What the oracle finds on short lists until it is asked to stop, and on how many.
pub fn on_short_lists(
    plain: &Arc<Code>,
    cases: &[Case],
    input: Input,
    request: &Cancel,
) -> (Findings, u64) {
    let (mut found, mut lists) = (Findings::default(), 0);
    for count in 0..=NODES {
        for case in cases {
            let subject = Subject::new(plain, &case.ranks);
            for intervals in explicit_lists(case, input, count) {
                let start = case.state(&subject, &intervals);
                match request.if_not_raised(|| all_runs(&subject, &start)) {
                    None => return (found, lists),
                    Some(None) => {}
                    Some(Some(more)) => {
                        found = found.and(more);
                        lists += 1;
                    }
                }
            }
        }
    }
    (found, lists)
}
