//! A call and its completion tell of one transaction: the same micro-operations, in the same order.
//!
//! Whoever recorded a call that writes 1 and a completion that wrote 2 recorded something else than
//! one transaction; to believe either would be a guess. Only the values of reads differ: these are
//! told by the completion alone, and whatever stands in their place in the call says nothing. A
//! transaction that did not commit may have been told of up to where it came.

use seriatim_history::Value;

/// How much of its call a completion repeats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Repeats {
    /// All micro-operations: it committed.
    All,
    /// As many as were tried.
    AtMost,
}

/// What a completion should say by its call, and what it says instead; `None` if they agree, or if
/// one of them is no list and so tells of no micro-operation.
pub fn disagreement(
    call: &Value,
    completion: &Value,
    repeats: Repeats,
) -> Option<(String, String)> {
    let (called, told) = (call.as_list()?, completion.as_list()?);
    let is_whole = match repeats {
        Repeats::All => told.len() == called.len(),
        Repeats::AtMost => told.len() <= called.len(),
    };
    if !is_whole {
        let count = |ops: &[Value]| match ops.len() {
            1 => "1 micro-operation".to_owned(),
            count => format!("{count} micro-operations"),
        };
        return Some((count(called), count(told)));
    }
    let differ = |(called, told): &(&Value, &Value)| !agree(called, told);
    let (called, told) = called.iter().zip(told).find(differ)?;
    Some((called.to_string(), told.to_string()))
}

/// Whether two micro-operations are one, seen before and after.
fn agree(called: &Value, told: &Value) -> bool {
    let (Some([f, key, value]), Some([told_f, told_key, told_value])) =
        (called.as_list(), told.as_list())
    else {
        // What is no micro-operation is refused where it is read.
        return called == told;
    };
    let is_read = matches!(told_f.as_str(), Some("r" | "read"));
    name(f) == name(told_f) && key == told_key && (is_read || value == told_value)
}

/// What a micro-operation does, by one name.
fn name(f: &Value) -> Option<&str> {
    f.as_str().map(|name| match name {
        "read" => "r",
        "write" => "w",
        "increment" => "inc",
        "decrement" => "dec",
        name => name,
    })
}
