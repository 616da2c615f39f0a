//! Histories that `seriatim-history` reads: operations whose argument and result are lists of
//! micro-operations `[f, key, value]`.

use crate::transaction::{Builder, Op, Outcome, Transaction, Transactions};
use seriatim_history::{History, InputError, Operation, Value, ValueId};

/// What a micro-operation must look like.
pub const MICRO: &str =
    "a micro-operation [r, key, value], [w, key, value] or [append, key, value]";

/// The transactions of a history.
///
/// # Errors
/// If an operation is none, with its line.
pub fn read(history: &History) -> Result<Transactions, InputError> {
    let mut builder = Builder::new(history.source());
    for operation in history.operations() {
        let txn = transaction(history, operation, &mut builder)?;
        builder.add(txn);
    }
    builder.finish()
}

fn transaction(
    history: &History,
    operation: Operation<'_>,
    builder: &mut Builder,
) -> Result<Transaction, InputError> {
    let outcome = match operation.outcome() {
        seriatim_history::Outcome::Ok => Outcome::Committed,
        seriatim_history::Outcome::Failed => Outcome::Aborted,
        seriatim_history::Outcome::Pending => Outcome::Unknown,
    };
    let is_told = !matches!(operation.result(), ValueId::ABSENT | ValueId::NIL);
    let told = match outcome {
        Outcome::Committed if is_told => operation.result(),
        _ => operation.arg(),
    };
    let value = history.values().get(told);
    let misfit = |expected: &str, found: &Value| {
        InputError::syntax(history.source(), operation.line(), expected, &found.to_string())
    };
    let Value::List(items) = &value else {
        return Err(misfit("a transaction, a list of [f, key, value]", &value));
    };
    let mut ops = Vec::with_capacity(items.len());
    for item in items {
        ops.push(micro(builder, item).ok_or_else(|| misfit(MICRO, item))?);
    }
    // Without a result, what was read is not known.
    if outcome != Outcome::Committed || !is_told {
        ops.retain(|op| op.written().is_some());
    }
    Ok(Transaction {
        session: builder.session(history.process_name(operation.process())),
        call: operation.call(),
        ret: operation.ret().filter(|_| outcome == Outcome::Committed),
        outcome,
        ops,
        line: operation.line(),
    })
}

/// A micro-operation, if it is one.
pub fn micro(builder: &mut Builder, item: &Value) -> Option<Op> {
    let [f, key, value] = item.as_list()? else { return None };
    let key = builder.key(key);
    match (f.as_str()?, value) {
        ("r" | "read", Value::List(items)) => {
            let items = items.iter().map(|item| builder.values().intern(item)).collect();
            Some(Op::ReadList(key, items))
        }
        ("r" | "read", value) => Some(Op::Read(key, builder.values().intern(value))),
        ("w" | "write", value) => Some(Op::Write(key, builder.values().intern(value))),
        ("append", value) => Some(Op::Append(key, builder.values().intern(value))),
        _ => None,
    }
}
