//! Making the verdict that a history is wrong.

use seriatim_history::{Horizon, OpId, Time};
use seriatim_limits::InOrder;
use seriatim_spec::{Claim, Counterexample, Explanation};

/// A violation shown by some operations.
pub(super) fn counterexample(operations: Vec<OpId>, sentence: String) -> Claim {
    violation(operations, Horizon::Whole, sentence)
}

/// A violation shown by some operations up to a moment.
pub(super) fn counterexample_until(operations: Vec<OpId>, until: Time, sentence: String) -> Claim {
    violation(operations, Horizon::Until(until), sentence)
}

fn violation(mut operations: Vec<OpId>, horizon: Horizon, sentence: String) -> Claim {
    operations.put_in_order();
    operations.dedup();
    Claim::Violation(Counterexample {
        operations,
        horizon,
        context: None,
        explanation: Explanation::because(sentence),
    })
}
