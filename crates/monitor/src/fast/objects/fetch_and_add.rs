//! Fetch-and-add: `fetch_and_add(d)` returns the number before it; `read`.
//!
//! **Decides** whether a history of a number, 0 at first, to which positive amounts are added is
//! linearizable.
//!
//! **Theorem.** The number only grows, so that results force the order: the operations by result,
//! and before the one that saw `v` the reads of `v`. Each result is the previous one plus the
//! previous amount. A step that is missing was a pending operation: where all amounts are alike,
//! the pending ones are handed out by call to the missing steps from below, since a later step
//! leaves more time. The history is linearizable iff real time allows this order (`chain`).
//!
//! **Cost.** O(n log n), sorting by result.
//!
//! **Precondition.** Amounts are positive, and alike if a step is missing; else declined.

use crate::fast::containers::container::{NEVER, Span};
use crate::fast::structures::chain::reversed;
use crate::fast::violation::counterexample;
use crate::fast::{Declined, Part};
use seriatim_history::{History, OpId, Outcome, ValueId};
use seriatim_limits::InOrder;
use seriatim_spec::{Claim, Witness, names};

const ADD: &[&str] = names("fetch-and-add", "fetch_add");
const READ: &[&str] = names("fetch-and-add", "read");

/// Decides a part of a fetch-and-add object's history.
pub fn check(part: Part<'_>) -> Result<Claim, Declined> {
    let mut actions = Deeds::read(&part)?;
    actions.adds.put_in_order_by_own_key(|add| (add.saw, add.span.call));
    actions.reads.put_in_order_by_own_key(|read| (read.saw, read.span.call));
    if let Some(pair) = actions.adds.windows(2).find(|pair| pair[0].saw == pair[1].saw) {
        let history = part.history;
        let sentence = format!(
            "{} and {} saw the same number, though each adds to it",
            history.operation(pair[0].span.op),
            history.operation(pair[1].span.op)
        );
        return Ok(counterexample(vec![pair[0].span.op, pair[1].span.op], sentence));
    }
    let order = match actions.order()? {
        Ok(order) => order,
        Err(wrong) => {
            let text = part.history.operation(wrong).to_string();
            let sentence = format!("{text} saw a number that no additions explain");
            return Ok(counterexample(part.operations().collect(), sentence));
        }
    };
    if let Some((first, second)) = reversed(&order) {
        let show = |span: Span| part.history.operation(span.op).to_string();
        let (first, second) = (show(first), show(second));
        let sentence =
            format!("{second} returned before {first} was called, but saw a later number");
        return Ok(counterexample(part.operations().collect(), sentence));
    }
    let order = order.into_iter().map(|span| span.op).collect();
    Ok(Claim::Linearizable(Witness { order }))
}

/// An operation with the number that it saw and the amount that it adds.
#[derive(Clone, Copy, Debug)]
struct Action {
    span: Span,
    saw: i64,
    adds: i64,
}

struct Deeds {
    adds: Vec<Action>,
    reads: Vec<Action>,
    /// Additions without result, in call order.
    pending: Vec<Action>,
}

impl Deeds {
    fn read(part: &Part<'_>) -> Result<Self, Declined> {
        let history = part.history;
        let ranks = part.ranks();
        let mut actions = Deeds { adds: Vec::new(), reads: Vec::new(), pending: Vec::new() };
        for (position, op) in part.operations().enumerate() {
            let operation = history.operation(op);
            let name = operation.method();
            let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
            let span = ranks.span(position, op);
            let adds = if is(ADD) {
                amount(history, op)?
            } else if is(READ) {
                0
            } else {
                let method = name.to_owned();
                return Err(Declined::UnknownMethod { method });
            };
            let saw = match history.outcome(op) {
                Outcome::Failed => continue,
                Outcome::Pending => 0,
                Outcome::Ok => {
                    let saw = history.values().as_int(history.result(op));
                    saw.ok_or_else(|| Declined::Unreadable {
                        operation: operation.to_string(),
                        expected: "a number as result",
                    })?
                }
            };
            let action = Action { span, saw, adds };
            match (adds, span.ret) {
                (0, NEVER) => {}
                (0, _) => actions.reads.push(action),
                (_, NEVER) => actions.pending.push(action),
                _ => actions.adds.push(action),
            }
        }
        Ok(actions)
    }

    /// The operations in the order that their results force, or the one whose result nothing
    /// explains.
    fn order(&self) -> Result<Result<Vec<Span>, OpId>, Declined> {
        let mut order = Vec::with_capacity(self.adds.len() + self.reads.len());
        let mut pending = self.pending.iter();
        let mut adds = self.adds.iter().peekable();
        let mut reads = self.reads.iter().peekable();
        // A sum may have more bits than what a log tells.
        let mut number = 0_i128;
        loop {
            while let Some(read) = reads.next_if(|read| i128::from(read.saw) == number) {
                order.push(read.span);
            }
            if let Some(add) = adds.next_if(|add| i128::from(add.saw) == number) {
                order.push(add.span);
                number += i128::from(add.adds);
                continue;
            }
            let Some(wanted) = adds.peek().into_iter().chain(reads.peek()).min_by_key(|d| d.saw)
            else {
                return Ok(Ok(order));
            };
            if i128::from(wanted.saw) < number {
                return Ok(Err(wanted.span.op));
            }
            // A step is missing.
            let mut amounts = self.adds.iter().chain(&self.pending).map(|action| action.adds);
            let first = amounts.next();
            if !self.pending.is_empty() && amounts.any(|amount| Some(amount) != first) {
                return Err(Declined::Unreadable {
                    operation: format!("the operation that saw {number}"),
                    expected: "amounts that are all alike",
                });
            }
            let Some(filler) = pending.next() else {
                return Ok(Err(wanted.span.op));
            };
            order.push(filler.span);
            number += i128::from(filler.adds);
        }
    }
}

/// The positive amount that an operation adds: its argument, or 1.
fn amount(history: &History, op: OpId) -> Result<i64, Declined> {
    let amount = match history.arg(op) {
        ValueId::ABSENT | ValueId::NIL => Some(1),
        arg => history.values().as_int(arg),
    };
    let positive = amount.filter(|&amount| amount > 0);
    positive.ok_or_else(|| Declined::Unreadable {
        operation: history.operation(op).to_string(),
        expected: "a positive number as argument",
    })
}
