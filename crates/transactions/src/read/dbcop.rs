//! dbcop's JSON and text.
//!
//! ```text
//! [[{"events": [{"Write": {"variable": 0, "version": 1}}], "committed": true}], …]   by sessions
//!
//! [x:=1 y==0] [x==?]!     transactions of a session; ! did not commit
//! ---                     the next session
//! ```

use super::form::{Forms, Notation};
use super::{finish_untimed, untimed};
use crate::builder::Builder;
use crate::transaction::{Op, Outcome, Transaction, Transactions};
use seriatim_history::{InputError, Value};

pub fn read_json(source: &str, bytes: &[u8]) -> Result<Transactions, InputError> {
    let mut forms = Forms::new(source, bytes, Notation::Json);
    let whole = forms.form(0)?;
    if forms.next()?.is_some() {
        return Err(forms.expected("the end of the file"));
    }
    let sessions = match &whole {
        Value::Map(_) => field(&whole, "data").and_then(Value::as_list),
        _ => whole.as_list(),
    };
    // Forms do not keep their lines, so the session is named instead.
    let misfit =
        |what: &str, found: &Value| InputError::syntax(source, 0, what, &found.to_string());
    let sessions = sessions.ok_or_else(|| misfit("a list of sessions", &whole))?;
    let mut builder = Builder::new(source);
    let mut list = Vec::new();
    for (index, session) in sessions.iter().enumerate() {
        let txns = session.as_list();
        let txns = txns.ok_or_else(|| misfit("a session, a list of transactions", session))?;
        for txn in txns {
            let read = transaction(&mut builder, txn, index as i64);
            let expected = format!("a transaction {{events, committed}} in session {}", index + 1);
            list.push(read.ok_or_else(|| misfit(&expected, txn))?);
        }
    }
    finish_untimed(builder, list)
}

fn field<'v>(map: &'v Value, name: &str) -> Option<&'v Value> {
    let Value::Map(entries) = map else { return None };
    entries.iter().find(|(key, _)| key.as_str() == Some(name)).map(|(_, value)| value)
}

fn transaction(builder: &mut Builder, value: &Value, session: i64) -> Option<Transaction> {
    let mut txn = untimed(builder, session, 0);
    for event in field(value, "events")?.as_list()? {
        let (event, is_read) = match (field(event, "Read"), field(event, "Write")) {
            (Some(event), None) => (event, true),
            (None, Some(event)) => (event, false),
            _ => return None,
        };
        let key = builder.key(field(event, "variable")?);
        let version = builder.values().intern(field(event, "version")?);
        txn.ops.push(if is_read { Op::Read(key, version) } else { Op::Write(key, version) });
    }
    match field(value, "committed")? {
        Value::Bool(true) => {}
        Value::Bool(false) => abort(&mut txn),
        _ => return None,
    }
    Some(txn)
}

fn abort(txn: &mut Transaction) {
    txn.outcome = Outcome::Aborted;
    txn.ops.retain(|op| op.changes().is_some());
}

pub fn read_text(source: &str, text: &str) -> Result<Transactions, InputError> {
    let mut builder = Builder::new(source);
    let mut list = Vec::new();
    let mut session = 0;
    for (index, line) in text.lines().enumerate() {
        let number = index as u64 + 1;
        let line = line.split("//").next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if line.chars().all(|c| c == '-') {
            session += 1;
            continue;
        }
        let mut rest = line;
        while !rest.is_empty() {
            let parsed = text_transaction(&mut builder, rest, (session, number));
            let (txn, more) = parsed.ok_or_else(|| {
                let expected = "a transaction such as [x:=1 y==2] or [x==?]!";
                InputError::syntax(source, number, expected, rest)
            })?;
            list.push(txn);
            rest = more;
        }
    }
    finish_untimed(builder, list)
}

/// The first transaction of a line, and the rest of the line.
fn text_transaction<'l>(
    builder: &mut Builder,
    line: &'l str,
    (session, number): (i64, u64),
) -> Option<(Transaction, &'l str)> {
    let (inner, rest) = line.strip_prefix('[')?.split_once(']')?;
    let mut txn = untimed(builder, session, number);
    for event in inner.split_whitespace() {
        let (key, value, is_read) = match (event.split_once(":="), event.split_once("==")) {
            (Some((key, value)), _) => (key, value, false),
            (None, Some((key, value))) => (key, value, true),
            (None, None) => return None,
        };
        let key = builder.key(&Value::Name(key.into()));
        let value = match value {
            "?" if is_read => Value::Nil,
            number => Value::Int(number.parse().ok()?),
        };
        let value = builder.values().intern(&value);
        txn.ops.push(if is_read { Op::Read(key, value) } else { Op::Write(key, value) });
    }
    let rest = match rest.strip_prefix('!') {
        Some(rest) => {
            abort(&mut txn);
            rest
        }
        None => rest,
    };
    Some((txn, rest.trim_start()))
}
