//! `seriatim check --spec 'bank(total=100)'`: the invariant of Jepsen's bank.
//!
//! Transfers move amounts between accounts and reads see all balances, `{account balance, …}`.
//! Whatever the isolation level promises beyond it, every read sees the same total, and no balance
//! below zero unless that is allowed (`bank(total=100, negative)`). Without `total`, it is that of
//! the first read. Only the invariant is asked: a store may keep it and still lose transfers.

use crate::command::input::Input;
use crate::command::limits;
use crate::command::order::Print;
use crate::command::output::{remark, say, write_bytes};
use crate::command::transactions::junit;
use crate::command::{Exit, Failure};
use serde_json::json;
use seriatim::history::{Outcome, harmless_json};
use seriatim::limits::{Cancel, checkpoint};
use seriatim::report::{SCREEN, middle};
use seriatim::{History, InputError, Value};
use std::path::{Path, PathBuf};

/// What every read has to see.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Invariant {
    total: Option<i64>,
    may_be_negative: bool,
}

impl Invariant {
    /// The invariant of a specification such as `bank(total=100, negative)`; `None` if it is no
    /// bank.
    ///
    /// # Errors
    /// What is wrong with the parameters.
    pub fn named(spec: &str) -> Option<Result<Invariant, Failure>> {
        let rest = spec.trim().strip_prefix("bank")?.trim();
        if rest.is_empty() {
            return Some(Ok(Invariant::default()));
        }
        let inner = rest.strip_prefix('(')?.strip_suffix(')')?;
        let mut invariant = Invariant::default();
        for parameter in inner.split(',').map(str::trim).filter(|text| !text.is_empty()) {
            let total = parameter.strip_prefix("total=").map(|number| number.trim().parse());
            match (parameter, total) {
                ("negative", _) => invariant.may_be_negative = true,
                (_, Some(Ok(total))) => invariant.total = Some(total),
                _ => {
                    let expected = "expected bank(total=NUMBER, negative)";
                    return Some(Err(Failure(format!("{expected}, found {spec}"))));
                }
            }
        }
        Some(Ok(invariant))
    }

    /// Carries out the check for some files.
    pub fn check(
        self,
        input: &Input,
        paths: &[PathBuf],
        (print, junit): (Print, Option<&Path>),
    ) -> Result<Exit, Failure> {
        let mut suites = String::new();
        let exit = limits::each(paths, |path| {
            let found = input.read(path).and_then(|history| {
                let faults = self.faults(&history)?;
                Ok((history, faults))
            });
            match found {
                Ok((history, (reads, faults))) => {
                    Cancel::undisturbed(|| say(&told(&history, reads, &faults, print)))?;
                    suites += &suite(&history, reads, &faults);
                    Ok(if faults.is_empty() { Exit::Holds } else { Exit::Violated })
                }
                Err(error) => {
                    remark(&format!("error: {error}"));
                    suites += &junit::unreadable(&path.display().to_string(), &error.to_string());
                    Ok(Exit::BadInput)
                }
            }
        })?;
        if let Some(path) = junit {
            write_bytes(path, junit::document(&suites))?;
        }
        Ok(exit)
    }

    /// How many reads there are, and which of them break the invariant.
    fn faults(self, history: &History) -> Result<(usize, Vec<Fault>), InputError> {
        let (mut reads, mut total, mut faults) = (0, self.total.map(i128::from), Vec::new());
        for operation in history.operations() {
            checkpoint();
            let is_read = match operation.method() {
                "read" => true,
                "transfer" => false,
                method => {
                    let expected = "read or transfer, the operations of a bank";
                    let (source, line) = (history.source(), operation.line());
                    return Err(InputError::syntax(source, line, expected, method));
                }
            };
            if !is_read || operation.outcome() != Outcome::Ok {
                continue;
            }
            let seen = history.values().get(operation.result());
            let balances = balances(&seen).ok_or_else(|| {
                let expected = "balances {account number, …} as the result of a read";
                let (source, line) = (history.source(), operation.line());
                InputError::syntax(source, line, expected, &seen.to_string())
            })?;
            reads += 1;
            let sum: i128 = balances.iter().map(|&balance| i128::from(balance)).sum();
            let expected = *total.get_or_insert(sum);
            let is_negative = balances.iter().any(|&balance| balance < 0);
            let why = if sum != expected {
                format!("the total is {sum}, not {expected}")
            } else if is_negative && !self.may_be_negative {
                "a balance is negative".to_owned()
            } else {
                continue;
            };
            let text = middle(&operation.to_string(), SCREEN).into_owned();
            faults.push(Fault { line: operation.line(), text, why });
        }
        Ok((reads, faults))
    }
}

/// A read that breaks the invariant.
struct Fault {
    line: u64,
    text: String,
    why: String,
}

/// The balances of a map, or of a list of pairs.
fn balances(value: &Value) -> Option<Vec<i64>> {
    match value {
        Value::Map(entries) => entries.iter().map(|(_, balance)| balance.as_int()).collect(),
        Value::List(items) => {
            let balance = |item: &Value| match item.as_list()? {
                [_, balance] => balance.as_int(),
                _ => None,
            };
            items.iter().map(balance).collect()
        }
        _ => None,
    }
}

/// How many faults are listed.
const LISTED: usize = 10;

/// The results as JUnit has them.
fn suite(history: &History, reads: usize, faults: &[Fault]) -> String {
    let verdict = if faults.is_empty() { "satisfied" } else { "violated" };
    let report = told(history, reads, faults, Print::Report);
    let headline = report.lines().next().unwrap_or_default();
    junit::wrapped(history.source(), &[junit::case("bank", verdict, (headline, &report))])
}

fn told(history: &History, reads: usize, faults: &[Fault], print: Print) -> String {
    let source = history.source();
    if print == Print::Json {
        let fault =
            |fault: &Fault| json!({ "line": fault.line, "read": fault.text, "why": fault.why });
        let verdict = if faults.is_empty() { "satisfied" } else { "violated" };
        let faults: Vec<_> = faults.iter().map(fault).collect();
        let report = json!({
            "schema": 1, "source": source, "spec": "bank", "verdict": verdict, "reads": reads, "faults": faults,
        });
        return format!("{}\n", harmless_json(&report.to_string()));
    }
    if faults.is_empty() {
        return format!("✓ HOLDS  all {reads} reads of {source} see the same total\n");
    }
    let mut text = format!("✗ VIOLATION  {} of {reads} reads of {source}:\n", faults.len());
    if print == Print::Line {
        return text;
    }
    for fault in faults.iter().take(LISTED) {
        text += &format!("  line {}: {}: {}\n", fault.line, fault.why, fault.text);
    }
    if faults.len() > LISTED {
        text += &format!("  and {} more\n", faults.len() - LISTED);
    }
    text
}
