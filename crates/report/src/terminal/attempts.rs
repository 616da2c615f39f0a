//! The orders that come closest to explaining a history, in a few lines: for reports that draw it
//! in another way.

use seriatim_history::{History, OpId};
use seriatim_spec::Counterexample;
use std::fmt::Write;

/// More calls than this are not repeated in a sentence: the drawing has them.
const LISTED: usize = 12;

/// Why no order explains a history: the attempts that come closest. What each of them is "after"
/// begins with the context of the counterexample, because its calls have made the state that the
/// attempt starts in.
pub fn attempts(counterexample: &Counterexample, history: &History) -> String {
    let mut text = String::new();
    let name = |op: &OpId| history.operation(*op).to_string();
    let context: Vec<String> =
        counterexample.context.iter().flat_map(|context| &context.order).map(name).collect();
    let mut told = Vec::new();
    for attempt in counterexample.explanation.attempts.iter().take(3) {
        // Two operations that look alike make two attempts that read alike.
        let start = text.len();
        let order: Vec<String> = attempt.order.iter().map(name).collect();
        let _ = writeln!(text, "  {}", what_came_before(&context, &order));
        let _ = writeln!(text, "    the state is {}", attempt.state);
        for (op, reason) in &attempt.stuck {
            let _ = writeln!(text, "    {} cannot be next: {reason}", name(op));
        }
        let attempt = text.split_off(start);
        if !told.contains(&attempt) {
            text.push_str(&attempt);
            told.push(attempt);
        }
    }
    text
}

fn what_came_before(context: &[String], order: &[String]) -> String {
    match (context.len(), order.len()) {
        (0, 0) => "at the start".to_owned(),
        (0..=LISTED, _) => {
            let all: Vec<&str> = context.iter().chain(order).map(String::as_str).collect();
            format!("after {}", all.join(", "))
        }
        (more, 0) => format!("after the {more} calls that come first"),
        (more, _) => format!("after the {more} calls that come first, then {}", order.join(", ")),
    }
}
