//! Histories that `seriatim-history` reads: operations whose argument and result are lists of
//! micro-operations `[f, key, value]`, and those of registers and maps, each a transaction of its
//! own.
//!
//! | operation | argument | result | as a transaction |
//! | --- | --- | --- | --- |
//! | `read`, `write` | the value written | the value read | of one key, the register |
//! | `get`, `put` | the key; the key and the value | the value read | of that key |

use super::agree::{Repeats, disagreement};
use crate::builder::Builder;
use crate::transaction::{Op, Outcome, Transaction, Transactions};
use seriatim_history::{History, InputError, Operation, Value, ValueId};

/// What a micro-operation must look like.
pub const MICRO: &str = "a micro-operation [r, key, value], [w, key, value], [append, key, value], [add, key, value] or [inc, key, number]";

/// The transactions of a history.
///
/// # Errors
/// If an operation is none, with its line.
pub fn read(history: &History, name: &str) -> Result<Transactions, InputError> {
    read_with(history, name, NilReads::SawNothing)
}

/// What a read tells that was recorded as `nil`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NilReads {
    /// The key held nothing.
    SawNothing,
    /// Nobody knows what it saw.
    AreUnknown,
}

/// The same, where reads recorded as `nil` may tell nothing. The transactions have the places of
/// the operations.
///
/// # Errors
/// If an operation is none, with its line.
pub fn read_with(
    history: &History,
    name: &str,
    nil_reads: NilReads,
) -> Result<Transactions, InputError> {
    if history.missing_logs() > 0 {
        let expected = "a history of which no log is missing: a missing transaction may explain what nothing else does";
        let found = format!("{} missing", history.missing_logs());
        return Err(InputError::syntax(name, 0, expected, &found));
    }
    let mut builder = Builder::new(name);
    let mut object = None;
    for operation in history.operations() {
        is_of_one_object(history, operation, &mut object)?;
        let mut txn = transaction(history, operation, &mut builder)?;
        if nil_reads == NilReads::AreUnknown {
            txn.ops.retain(|op| !matches!(op, Op::Read(_, ValueId::NIL)));
        }
        builder.add(txn);
    }
    builder.finish()
}

/// Transactions act on the keys of one object: what two objects call by one name is not one key.
fn is_of_one_object(
    history: &History,
    operation: Operation<'_>,
    first: &mut Option<ValueId>,
) -> Result<(), InputError> {
    let object = operation.object();
    if is_of_register(history, operation) || object == *first.get_or_insert(object) {
        return Ok(());
    }
    let found = format!("one of {}", history.values().get(object));
    let expected = "operations of one object";
    Err(InputError::syntax(history.source(), operation.line(), expected, &found))
}

/// Whether an operation reads or writes a register: it names no key, so that its object is one.
fn is_of_register(history: &History, operation: Operation<'_>) -> bool {
    let arg = operation.arg();
    let is_pair = || history.values().as_pair(arg).is_some();
    operation.key() == ValueId::ABSENT
        && match Plain::named(operation.method()) {
            Some(Plain::Read) => matches!(arg, ValueId::ABSENT | ValueId::NIL),
            Some(Plain::Write) => !operation.method().eq_ignore_ascii_case("put") || !is_pair(),
            None => false,
        }
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
    let session = builder.session(history.process_name(operation.process()));
    let ret = operation.ret().filter(|_| outcome == Outcome::Committed);
    let (call, line) = (operation.call(), operation.line());
    if let Some(op) = plain(history, operation, builder) {
        let is_known =
            op.changes().is_some() || (outcome == Outcome::Committed && is_told_of(operation));
        let ops = Vec::from_iter(is_known.then_some(op));
        return Ok(Transaction { session, call, ret, outcome, ops, line });
    }
    let value = history.values().get(told);
    let misfit = |expected: &str, found: &Value| {
        InputError::syntax(history.source(), operation.line(), expected, &found.to_string())
    };
    let (call_value, result) = (operation.arg(), operation.result());
    if is_told && call_value != ValueId::ABSENT {
        let values = history.values();
        let repeats = match outcome {
            Outcome::Committed => Repeats::All,
            _ => Repeats::AtMost,
        };
        let told = disagreement(&values.get(call_value), &values.get(result), repeats);
        if let Some((expected, found)) = told {
            let expected = format!("{expected} in the result, as the call says");
            return Err(InputError::syntax(history.source(), line, &expected, &found));
        }
    }
    let Value::List(items) = &value else {
        return Err(misfit("a transaction, a list of [f, key, value]", &value));
    };
    let mut ops = Vec::with_capacity(items.len());
    for item in items {
        ops.push(micro(builder, item).ok_or_else(|| misfit(MICRO, item))?);
    }
    // Without a result, what was read is not known.
    if outcome != Outcome::Committed || !is_told {
        ops.retain(|op| op.changes().is_some());
    }
    Ok(Transaction { session, call, ret, outcome, ops, line })
}

/// Whether a result was recorded, be it `nil`.
fn is_told_of(operation: Operation<'_>) -> bool {
    operation.result() != ValueId::ABSENT
}

/// An operation of a register or a map, as the one operation of a transaction.
fn plain(history: &History, operation: Operation<'_>, builder: &mut Builder) -> Option<Op> {
    let value = |id: ValueId| history.values().get(id);
    let (arg, result) = (operation.arg(), operation.result());
    let given = value(arg);
    let object = match is_of_register(history, operation) {
        true => operation.object(),
        false => ValueId::ABSENT,
    };
    let apart = [operation.key(), object].into_iter().find(|&key| key != ValueId::ABSENT);
    let does = Plain::named(operation.method())?;
    let (key, seen) = match (does, apart, given.as_list()) {
        (_, _, Some(items)) if items.iter().any(|item| item.as_list().is_some()) => return None,
        (Plain::Read, Some(key), _) => (value(key), value(result)),
        (Plain::Write, Some(key), _) => (value(key), given),
        (Plain::Read, None, _) if matches!(arg, ValueId::ABSENT | ValueId::NIL) => {
            (register(), value(result))
        }
        (Plain::Read, None, _) => (given, value(result)),
        (Plain::Write, None, Some([key, value])) => (key.clone(), value.clone()),
        (Plain::Write, None, _) => (register(), given),
    };
    let (key, seen) = (builder.key(&key), builder.values().intern(&seen));
    Some(match does {
        Plain::Read => Op::Read(key, seen),
        Plain::Write => Op::Write(key, seen),
    })
}

/// The name of the only key of a register.
pub fn register() -> Value {
    Value::Name("register".into())
}

/// What an operation of a register or a map does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Plain {
    Read,
    Write,
}

impl Plain {
    pub fn named(method: &str) -> Option<Plain> {
        match method.to_ascii_lowercase().as_str() {
            "read" | "get" | "load" | "lookup" => Some(Plain::Read),
            "write" | "put" | "set" | "store" => Some(Plain::Write),
            _ => None,
        }
    }
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
        ("append", value) => {
            let value = builder.values().intern(value);
            Some(builder.append(key, value))
        }
        ("add", value) => {
            let value = builder.values().intern(value);
            Some(builder.add_to_set(key, value))
        }
        ("inc" | "increment", Value::Int(by)) => Some(Op::Increment(key, *by)),
        ("dec" | "decrement", Value::Int(by)) => Some(Op::Increment(key, by.checked_neg()?)),
        _ => None,
    }
}
