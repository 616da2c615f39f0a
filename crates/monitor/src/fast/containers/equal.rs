//! A container into which only one value is ever put.
//!
//! **Theorem.** Queue, stack and priority queue of one value are the same object: a number of
//! copies. An insertion raises it, a removal lowers it where it is positive, a query looks at it.
//! See `tally` for how such a number is monitored, at what cost and within which limits.
//!
//! **Precondition.** No operation names another value.

use crate::fast::containers::container::{Meaning, Names, meaning};
use crate::fast::objects::tally::{self, Action, Change, Guard};
use crate::fast::{Declined, Part};
use seriatim_history::ValueId;
use seriatim_spec::Claim;

/// Decides a part of a container's history; `None` if its values are not all equal.
pub(in crate::fast) fn decide(part: Part<'_>, names: &Names) -> Result<Option<Claim>, Declined> {
    let methods = names.methods(part.history);
    let mut only = None;
    let mut actions = Vec::with_capacity(part.len());
    for op in part.operations() {
        let mut is_only = |value: ValueId| *only.get_or_insert(value) == value;
        let (change, guard) = match meaning(&methods, part.history, op)? {
            Meaning::Insert(value) if is_only(value) => (Change::Up, Guard::None),
            Meaning::Remove(value) if is_only(value) => (Change::Down, Guard::Positive),
            Meaning::Peek(value) if is_only(value) => (Change::Same, Guard::Positive),
            Meaning::Insert(_) | Meaning::Remove(_) | Meaning::Peek(_) => return Ok(None),
            Meaning::PendingRemoval => (Change::Down, Guard::Positive),
            Meaning::SawEmpty => (Change::Same, Guard::Exactly(0)),
            Meaning::SawValues => (Change::Same, Guard::Positive),
            Meaning::SawSize(size) => (Change::Same, Guard::Exactly(size)),
            Meaning::Nothing => continue,
        };
        actions.push(Action { op, change, guard });
    }
    tally::decide(&part, &actions, 0).map(Some)
}
