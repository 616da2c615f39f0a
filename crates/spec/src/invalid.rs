//! What is said of an order that the replay rejects.

use seriatim_history::OpId;
use std::fmt;

/// Why a witness is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Invalid {
    /// A completed operation is not in the order.
    Missing(OpId),
    /// An operation is in the order twice.
    Repeated(OpId),
    /// The order names an operation that is not in the history, or that did not happen.
    Foreign(OpId),
    /// The first is placed before the second, which returned before the first was called.
    AgainstTime(OpId, OpId),
    /// The first is placed before the second, which its process did before it.
    OutOfTurn(OpId, OpId),
    /// The specification does not allow the operation at this position of the order.
    Illegal {
        /// The position, counted from 0.
        position: usize,
        /// The operation.
        op: OpId,
        /// Why it is impossible there.
        reason: String,
    },
}

impl Invalid {
    /// The operation at which the order fails.
    pub fn culprit(&self) -> OpId {
        match *self {
            Invalid::Missing(op) | Invalid::Repeated(op) | Invalid::Foreign(op) => op,
            Invalid::AgainstTime(op, _) | Invalid::OutOfTurn(op, _) => op,
            Invalid::Illegal { op, .. } => op,
        }
    }

    /// The same with other names for the operations.
    pub fn renamed(self, name: impl Fn(OpId) -> OpId) -> Self {
        match self {
            Invalid::Missing(op) => Invalid::Missing(name(op)),
            Invalid::Repeated(op) => Invalid::Repeated(name(op)),
            Invalid::Foreign(op) => Invalid::Foreign(name(op)),
            Invalid::AgainstTime(a, b) => Invalid::AgainstTime(name(a), name(b)),
            Invalid::OutOfTurn(a, b) => Invalid::OutOfTurn(name(a), name(b)),
            Invalid::Illegal { position, op, reason } => {
                Invalid::Illegal { position, op: name(op), reason }
            }
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Invalid::Missing(op) => write!(f, "completed operation {} is missing", op.0),
            Invalid::Repeated(op) => write!(f, "operation {} is placed twice", op.0),
            Invalid::Foreign(op) => write!(f, "operation {} did not happen", op.0),
            Invalid::AgainstTime(early, late) => write!(
                f,
                "operation {} is placed before {}, which had returned before it was called",
                early.0, late.0
            ),
            Invalid::OutOfTurn(early, late) => write!(
                f,
                "operation {} is placed before {}, which the same process did first",
                early.0, late.0
            ),
            Invalid::Illegal { position, op, reason } => {
                write!(f, "operation {} is impossible at position {position}: {reason}", op.0)
            }
        }
    }
}

impl std::error::Error for Invalid {}
