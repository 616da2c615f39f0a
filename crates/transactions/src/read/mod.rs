//! Reading histories of transactions.
//!
//! | format | how it is recognised | file |
//! | --- | --- | --- |
//! | Elle's and Jepsen's EDN | maps with keyword keys, one after another or in a vector | `events.rs` |
//! | the same as JSON | objects with `"type"`, in lines or in an array | `events.rs` |
//! | our JSON Lines and all else that `seriatim check` reads | by `seriatim-history` | `history.rs` |
//! | AWDIT's and Plume's texts | `w(key,value,session,transaction)`; `w key value`, `---`, `===` | `awdit.rs` |
//! | dbcop's JSON and text | `"events"`; `[x:=1 y==0]`, `---` | `dbcop.rs` |
//!
//! The texts of AWDIT and dbcop record no times. In them, a read of 0 from a key to which nobody
//! writes 0 is a read of the initial state.

mod agree;
mod awdit;
mod dbcop;
mod events;
mod form;
mod history;

use crate::builder::Builder;
use crate::transaction::{KeyId, Op, Outcome, Transaction, Transactions};
use form::Notation;
use hashbrown::HashSet;
pub use history::{NilReads, read_with as of_history};
use seriatim_history::{History, Horizon, InputError, OpId, Problem, ReadOptions, Value, ValueId};
use std::collections::BTreeMap;
use std::io::{Error, Read};
use std::path::Path;

/// Reads a history from a file (`-` is standard input; `.gz` and `.zst` are unpacked).
///
/// # Errors
/// If it cannot be read, or is no history of transactions; with the line.
pub fn read(path: &Path) -> Result<Transactions, InputError> {
    read_from(&seriatim_history::path_in_line(path), seriatim_history::open(path)?)
}

/// Reads a history that is at hand; what gzip or zstd has compressed is unpacked.
///
/// # Errors
/// If it is no history of transactions; with the line.
pub fn read_bytes(source: &str, bytes: Vec<u8>) -> Result<Transactions, InputError> {
    let unpacked = seriatim_history::unpacked(bytes);
    let unreadable = |error: Error| InputError::new(source, 0, Problem::of_reading(&error));
    read_from(source, unpacked.map_err(unreadable)?)
}

fn read_from(source: &str, mut reader: Box<dyn Read>) -> Result<Transactions, InputError> {
    let mut bytes = Vec::new();
    let unreadable = |error: Error| InputError::new(source, 0, Problem::of_reading(&error));
    reader.read_to_end(&mut bytes).map_err(unreadable)?;
    recognised(source, &bytes)
}

/// Reads a file of Jepsen's independent keys: a value is `[key value]`, and what happened to each
/// key is a history of its own.
///
/// # Errors
/// If it cannot be read, or is no history of transactions; with the line.
pub fn read_independent(path: &Path) -> Result<Vec<Transactions>, InputError> {
    let options = ReadOptions { independent: true, ..ReadOptions::default() };
    keys_of(&seriatim_history::read_with(path, options)?)
}

/// What happened to each key of a history of Jepsen's independent keys.
///
/// # Errors
/// If that is no history of transactions; with the line.
pub fn keys_of(whole: &History) -> Result<Vec<Transactions>, InputError> {
    let mut keys: BTreeMap<ValueId, Vec<OpId>> = BTreeMap::new();
    for op in (0..whole.len()).map(OpId::from) {
        keys.entry(whole.object(op)).or_default().push(op);
    }
    let one = |(key, ops): (ValueId, Vec<OpId>)| {
        let part = whole.restricted(&ops, Horizon::Whole);
        let name = format!("{} (key {})", whole.source(), whole.values().get(key));
        history::read(&part, &name)
    };
    keys.into_iter().map(one).collect()
}

/// Reads a history from a text.
///
/// ```
/// let text = r#"
/// {:type :invoke, :process 0, :value [[:append x 1] [:r x nil]]}
/// {:type :ok, :process 0, :value [[:append x 1] [:r x [1]]]}
/// "#;
/// let history = seriatim_transactions::read_str("example", text)?;
/// assert_eq!(history.len(), 1);
/// # Ok::<(), seriatim_history::InputError>(())
/// ```
///
/// # Errors
/// If it is no history of transactions; with the line.
pub fn read_str(source: &str, text: &str) -> Result<Transactions, InputError> {
    recognised(source, text.as_bytes())
}

fn recognised(source: &str, bytes: &[u8]) -> Result<Transactions, InputError> {
    match detect(bytes) {
        Format::Events(notation) => events::read(source, bytes, notation),
        Format::Plume => awdit::read_plume(source, text(source, bytes)?),
        Format::AwditTest => awdit::read_test(source, text(source, bytes)?),
        Format::DbcopJson => dbcop::read_json(source, bytes),
        Format::DbcopText => dbcop::read_text(source, text(source, bytes)?),
        Format::Other => {
            let history = seriatim_history::read_from(bytes, source, ReadOptions::default())?;
            history::read(&history, source)
        }
    }
}

fn text<'t>(source: &str, bytes: &'t [u8]) -> Result<&'t str, InputError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|&&b| b == b'\n').count();
        InputError::syntax(source, line as u64, "text in UTF-8", "other bytes")
    })
}

enum Format {
    Events(Notation),
    Plume,
    AwditTest,
    DbcopJson,
    DbcopText,
    Other,
}

/// What the first characters that are no comment and no blank look like.
fn detect(bytes: &[u8]) -> Format {
    let start = String::from_utf8_lossy(&bytes[..bytes.len().min(4096)]);
    let line = start
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with(';') && !line.starts_with("//"));
    let Some(line) = line else { return Format::Other };
    let squeezed: String =
        start[start.find(line).unwrap_or(0)..].chars().filter(|c| !c.is_whitespace()).collect();
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_edn = |text: &str| text.starts_with("{:") || text.starts_with('#');
    let inner = squeezed.trim_start_matches(['[', '(']);
    if is_edn(inner) && !line.starts_with("# ") {
        return Format::Events(Notation::Edn);
    }
    if inner.starts_with("{\"") {
        return json_format(&squeezed);
    }
    match words.as_slice() {
        ["r" | "w", _, _] => Format::AwditTest,
        [only] if only.chars().all(|c| c == '=' || c == '-') => Format::AwditTest,
        [only] if is_plume(only) => Format::Plume,
        _ if line.starts_with('[') && (line.contains(":=") || line.contains("==")) => {
            Format::DbcopText
        }
        _ => Format::Other,
    }
}

fn is_plume(word: &str) -> bool {
    (word.starts_with("r(") || word.starts_with("w(")) && word.matches(',').count() == 3
}

fn json_format(squeezed: &str) -> Format {
    let first = squeezed.split('}').next().unwrap_or(squeezed);
    let is_event = ["invoke", "ok", "fail", "info"]
        .iter()
        .any(|kind| squeezed.contains(&format!("\"type\":\"{kind}\"")));
    let is_dbcop = squeezed.starts_with("[[") || squeezed.contains("\"events\":");
    if is_dbcop || first.contains("\"params\":") {
        Format::DbcopJson
    } else if is_event && squeezed.contains("\"value\":") {
        Format::Events(Notation::Json)
    } else {
        Format::Other
    }
}

/// Finishes a history without times: all that is known is the order of each session.
fn finish_untimed(
    mut builder: Builder,
    mut list: Vec<Transaction>,
) -> Result<Transactions, InputError> {
    builder.without_times();
    let zero = builder.values().intern_int(0);
    let writes = list.iter().flat_map(|txn| txn.ops.iter().filter_map(Op::written));
    let with_zero: HashSet<KeyId> =
        writes.filter(|write| write.1 == zero).map(|write| write.0).collect();
    for op in list.iter_mut().flat_map(|txn| &mut txn.ops) {
        if let Op::Read(key, value) = op
            && *value == zero
            && !with_zero.contains(key)
        {
            *value = ValueId::NIL;
        }
    }
    list.into_iter().for_each(|txn| builder.add(txn));
    builder.finish()
}

/// A transaction without times.
fn untimed(builder: &mut Builder, session: i64, line: u64) -> Transaction {
    Transaction {
        session: builder.session(&Value::Int(session)),
        call: 0,
        ret: None,
        outcome: Outcome::Committed,
        ops: Vec::new(),
        line,
    }
}
