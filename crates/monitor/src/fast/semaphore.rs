//! Semaphore: `release`, `acquire`, `try_acquire`, `available`.
//!
//! **Decides** whether a history of a counting semaphore is linearizable: `acquire` and a `try_acquire` that
//! succeeds take a permit that is there, a `try_acquire` that answers false has seen none.
//!
//! **How, cost, precondition:** see `tally`. An operation that says that it failed has seen no permit if it
//! is an acquisition, and is declined if it is a release.

use super::tally::{self, Change, Deed, Guard};
use super::{Declined, Part};
use seriatim_history::{Outcome, ValueId};
use seriatim_spec::Verdict;

/// Decides a part of a semaphore's history, given its permits at the start.
pub fn check(part: Part<'_>, permits: u32) -> Result<Verdict, Declined> {
    let history = part.history;
    let mut deeds = Vec::with_capacity(part.len());
    for op in part.operations() {
        let operation = history.operation(op);
        let name = operation.method();
        let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        let unreadable =
            |expected| Declined::Unreadable { operation: operation.to_string(), expected };
        let failed = history.outcome(op) == Outcome::Failed || history.result(op) == ValueId::FALSE;
        let pending = history.outcome(op) == Outcome::Pending;
        let (change, guard) = if is(&["release", "incr", "inc", "signal", "post", "up"]) {
            match failed {
                true => return Err(unreadable("a release that does not fail")),
                false => (Change::Up, Guard::None),
            }
        } else if is(&["acquire", "try_acquire", "decr", "dec", "wait", "down"]) {
            match failed {
                true => (Change::Same, Guard::Exactly(0)),
                false => (Change::Down, Guard::Positive),
            }
        } else if is(&["available", "permits", "read", "value"]) {
            if pending {
                continue;
            }
            let seen = history.values().as_int(history.result(op));
            let seen = seen.ok_or_else(|| unreadable("a number as result"))?;
            (Change::Same, Guard::Exactly(seen))
        } else {
            let method = name.to_owned();
            return Err(Declined::UnknownMethod { method });
        };
        deeds.push(Deed { op, change, guard });
    }
    tally::decide(&part, &deeds, i64::from(permits))
}
