//! Semaphore: `release`, `acquire`, `try_acquire`, `available`.
//!
//! **Decides** whether a history of a counting semaphore is linearizable: `acquire` and a
//! `try_acquire` that succeeds take a permit that is there, a `try_acquire` that answers false has
//! seen none.
//!
//! **How, cost, precondition:** see `tally`. An operation that says that it failed did not happen.

use crate::fast::objects::tally::{self, Action, Change, Guard};
use crate::fast::{Declined, Part};
use seriatim_history::{Outcome, ValueId};
use seriatim_spec::{Claim, names};

const ACQUIRE: &[&str] = names("semaphore", "acquire");
const TRY_ACQUIRE: &[&str] = names("semaphore", "try_acquire");
const PERMITS: &[&str] = names("semaphore", "permits");

/// Decides a part of a semaphore's history, given its permits at the start.
pub fn check(part: Part<'_>, permits: u32) -> Result<Claim, Declined> {
    let history = part.history;
    let mut actions = Vec::with_capacity(part.len());
    for op in part.operations() {
        let operation = history.operation(op);
        let name = operation.method();
        let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        let unreadable =
            |expected| Declined::Unreadable { operation: operation.to_string(), expected };
        if history.outcome(op) == Outcome::Failed {
            continue;
        }
        let pending = history.outcome(op) == Outcome::Pending;
        // Some recorders write as an argument whether there was a permit.
        let result = match history.result(op) {
            ValueId::ABSENT if is(TRY_ACQUIRE) && !pending => history.arg(op),
            result => result,
        };
        let failed = result == ValueId::FALSE;
        let is_plain =
            matches!(result, ValueId::ABSENT | ValueId::NIL) || result.as_bool().is_some();
        if !is_plain && !is(PERMITS) {
            return Err(unreadable("true or false as result, or none"));
        }
        let (change, guard) = if is(const { names("semaphore", "release") }) {
            // Whether it succeeded may be told by its argument, also while it is pending; what says
            // anything else is for the specification to read, or to refuse.
            let told = if result.is_present() { result } else { history.arg(op) };
            let succeeds = matches!(told, ValueId::ABSENT | ValueId::NIL | ValueId::TRUE)
                || told.as_inline_int() == Some(1);
            match succeeds {
                true => (Change::Up, Guard::None),
                false => return Err(unreadable("a release that does not fail")),
            }
        } else if is(ACQUIRE) || is(TRY_ACQUIRE) {
            match failed {
                true => (Change::Same, Guard::Exactly(0)),
                false => (Change::Down, Guard::Positive),
            }
        } else if is(PERMITS) {
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
        actions.push(Action { op, change, guard });
    }
    tally::decide(&part, &actions, i64::from(permits))
}
