//! Texts of AWDIT: its own, for tests, and Plume's.
//!
//! ```text
//! w 0 1        an operation, key, value        w(0,1,2,7)   key, value, session, transaction;
//! ---          the next transaction                         transaction -1 aborted
//! r 0 1
//! ===          the next session
//! ```

use super::{finish_untimed, untimed};
use crate::builder::Builder;
use crate::transaction::{Op, Outcome, Transaction, Transactions};
use hashbrown::HashMap;
use seriatim_history::{InputError, Value};

pub fn read_test(source: &str, text: &str) -> Result<Transactions, InputError> {
    let mut builder = Builder::new(source);
    let mut list: Vec<Transaction> = Vec::new();
    let mut session = 0;
    let mut is_new = true;
    for (index, line) in text.lines().enumerate() {
        let number = index as u64 + 1;
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => {}
            [bar] if bar.chars().all(|c| c == '=') => {
                session += 1;
                is_new = true;
            }
            [bar] if bar.chars().all(|c| c == '-') => is_new = true,
            [f, key, value] => {
                let op = operation(&mut builder, f, key, value).ok_or_else(|| {
                    InputError::syntax(source, number, "r KEY VALUE or w KEY VALUE", line)
                })?;
                if std::mem::take(&mut is_new) {
                    list.push(untimed(&mut builder, session, number));
                }
                list.last_mut().expect("one was pushed").ops.push(op);
            }
            _ => {
                let expected = "r KEY VALUE, w KEY VALUE, ---- or ====";
                return Err(InputError::syntax(source, number, expected, line));
            }
        }
    }
    finish_untimed(builder, list)
}

fn operation(builder: &mut Builder, f: &str, key: &str, value: &str) -> Option<Op> {
    let key = builder.key(&Value::Int(key.parse().ok()?));
    let value = builder.values().intern_int(value.parse().ok()?);
    match f {
        "r" => Some(Op::Read(key, value)),
        "w" => Some(Op::Write(key, value)),
        _ => None,
    }
}

pub fn read_plume(source: &str, text: &str) -> Result<Transactions, InputError> {
    let mut builder = Builder::new(source);
    let mut list: Vec<Transaction> = Vec::new();
    let mut places: HashMap<i64, usize> = HashMap::new();
    // The operations of a transaction mostly stand side by side.
    let mut last: Option<(i64, usize)> = None;
    for (index, line) in text.lines().enumerate() {
        let number = index as u64 + 1;
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let Some((op, session, txn)) = plume_line(&mut builder, line) else {
            let expected = "r(KEY,VALUE,SESSION,TRANSACTION) or w(…)";
            return Err(InputError::syntax(source, number, expected, line));
        };
        if txn == -1 {
            let mut aborted = untimed(&mut builder, session, number);
            aborted.outcome = Outcome::Aborted;
            aborted.ops.extend(op.changes().is_some().then_some(op));
            list.push(aborted);
            continue;
        }
        let place = match last.filter(|last| last.0 == txn) {
            Some((_, place)) => place,
            None => *places.entry(txn).or_insert_with(|| {
                list.push(untimed(&mut builder, session, number));
                list.len() - 1
            }),
        };
        last = Some((txn, place));
        let (of, here) = (list[place].session, builder.session(&Value::Int(session)));
        if of != here {
            let expected = format!("transaction {txn} in the session of line {}", list[place].line);
            return Err(InputError::syntax(source, number, &expected, line));
        }
        list[place].ops.push(op);
    }
    finish_untimed(builder, list)
}

/// The operation, its session and its transaction.
fn plume_line(builder: &mut Builder, line: &str) -> Option<(Op, i64, i64)> {
    let (f, rest) = line.split_once('(')?;
    let mut parts = rest.strip_suffix(')')?.split(',').map(str::trim);
    let [key, value, session, txn] = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
    if parts.next().is_some() {
        return None;
    }
    let op = operation(builder, f, key, value)?;
    Some((op, session.parse().ok()?, txn.parse().ok()?))
}
