//! What operations are called in a report: `enq(7)`, `deq → 3`.
//!
//! Some recorders (Jepsen's, for one) write `nil` where a call has no argument, and repeat the
//! argument as the result of a write. A person reads `read → 2` and `write(2)` faster than
//! `read(nil) → 2` and `write(2) → 2`. So an argument is left out if it is nil in *all* calls of
//! its method, and a result if *all* results of its method, for different arguments, are their
//! arguments: then they say nothing.

use crate::report::returns_within;
use crate::text;
use seriatim_history::{History, Horizon, OpId, Outcome, Outside, Seen, ValueId};

/// So many returns must repeat their arguments before we call it a habit.
const HABIT: usize = 3;

/// The names of a history's operations.
pub struct Labels<'h> {
    pub history: &'h History,
    /// For each method whether its arguments say nothing.
    pub silent_args: Vec<bool>,
    /// For each method whether its results say nothing.
    pub silent_results: Vec<bool>,
}

/// What the returns of one method have in common.
#[derive(Clone, Default)]
struct Habit {
    returns: usize,
    first_arg: Option<ValueId>,
    has_different_args: bool,
    is_broken: bool,
    has_args: bool,
}

impl<'h> Labels<'h> {
    /// Looks at all operations of a history. Cost: O(n).
    pub fn of(history: &'h History) -> Self {
        let mut habits = vec![Habit::default(); history.method_count()];
        for op in (0..history.len()).map(OpId::from) {
            let habit = &mut habits[history.method(op).index()];
            let (arg, result) = (history.arg(op), history.result(op));
            habit.has_args |= arg.is_present() && arg != ValueId::NIL;
            if history.outcome(op) == Outcome::Ok {
                habit.returns += 1;
                habit.is_broken |= result != arg || !arg.is_present();
                let first = *habit.first_arg.get_or_insert(arg);
                habit.has_different_args |= first != arg;
            }
        }
        let is_echo =
            |habit: &Habit| habit.returns >= HABIT && habit.has_different_args && !habit.is_broken;
        Labels {
            history,
            silent_args: habits.iter().map(|habit| !habit.has_args).collect(),
            silent_results: habits.iter().map(is_echo).collect(),
        }
    }

    /// The operation with its result as far as a part of the history knows: `enq(7)`, `deq → 3`; of
    /// a transaction its steps, `r(x)=1 w(y)=2`.
    pub fn whole(&self, op: OpId, horizon: Horizon, arrow: &str) -> String {
        if let Some(steps) = self.steps(op, horizon) {
            return text::middle(&steps, text::NAME).into_owned();
        }
        match self.result(op, horizon) {
            Some(result) => format!("{} {arrow} {result}", self.call(op)),
            None => self.call(op),
        }
    }

    /// The operation without its result; of a transaction its steps, `r(x) w(y)=2`.
    pub fn unreturned(&self, op: OpId, horizon: Horizon) -> String {
        match self.steps(op, horizon) {
            Some(steps) => text::middle(&steps, text::NAME).into_owned(),
            None => self.call(op),
        }
    }

    /// The call: `enq(7)`, `deq`.
    pub fn call(&self, op: OpId) -> String {
        let operation = self.history.operation(op);
        let text = match self.silent_args[self.history.method(op).index()] {
            true if !operation.key().is_present() => operation.method().to_owned(),
            true => format!("{}({})", Outside(operation.method()), self.value(operation.key())),
            false => operation.call_text(),
        };
        let text = text::middle(text.strip_suffix("()").unwrap_or(&text), text::NAME);
        match operation.object() {
            object if object.is_present() => format!("{}.{text}", self.value(object)),
            _ => text.into_owned(),
        }
    }

    /// What an operation gave back as far as a part of the history knows; `None` if it says
    /// nothing.
    pub fn result(&self, op: OpId, horizon: Horizon) -> Option<String> {
        let is_silent = self.silent_results[self.history.method(op).index()];
        let is_known = returns_within(self.history, op, horizon);
        let is_ok = self.history.outcome(op) == Outcome::Ok;
        let result =
            result(self.history, op, horizon).filter(|_| !(is_silent && is_known && is_ok));
        result.map(|text| text::middle(&text, text::NAME).into_owned())
    }

    /// The steps of a transaction, with what it read if that is known.
    fn steps(&self, op: OpId, horizon: Horizon) -> Option<String> {
        let seen = match returns_within(self.history, op, horizon) {
            true => Seen::Known,
            false => Seen::Unknown,
        };
        self.history.operation(op).steps_text(seen)
    }

    fn value(&self, id: ValueId) -> String {
        self.history.values().get(id).to_string()
    }
}

/// What an operation gave back as far as a part of a history knows, whole; `None` if it gave
/// nothing.
pub fn result(history: &History, op: OpId, horizon: Horizon) -> Option<String> {
    match returns_within(history, op, horizon) {
        false => Some("?".into()),
        true => Some(history.operation(op).result_text()).filter(|text| !text.is_empty()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_history::{Builder, Call, Interval, Return, Value};

    /// The labels of operations of one method, from arguments and results.
    fn labels(method: &str, operations: &[(Value, Value)]) -> Vec<String> {
        let mut builder = Builder::new("");
        let process = builder.process(&Value::Int(0));
        let method = builder.method(method);
        for (index, (arg, result)) in operations.iter().enumerate() {
            let arg = builder.values().intern(arg);
            let result = builder.values().intern(result);
            let at = index as u64 * 2;
            let interval = Interval { call: at, ret: Some(at + 1) };
            let (call, ret) = (Call::new(method).arg(arg), Return::new(Outcome::Ok, result));
            builder.operation(1, Some(process), call, interval, ret).unwrap();
        }
        let history = builder.finish().unwrap();
        let labels = Labels::of(&history);
        let all = (0..history.len()).map(OpId::from);
        all.map(|op| labels.whole(op, Horizon::Whole, "→")).collect()
    }

    #[test]
    fn a_transaction_is_its_steps() {
        let step = |kind: &str, key: &str, value: Value| {
            Value::list([Value::text(kind), Value::text(key), value])
        };
        let asked = Value::list([step("r", "x", Value::Nil), step("w", "y", Value::Int(2))]);
        let told = Value::list([step("r", "x", Value::Int(1)), step("w", "y", Value::Int(2))]);
        assert_eq!(labels("txn", &[(asked.clone(), told)]), ["r(x)=1 w(y)=2"]);
        assert_eq!(labels("txn", &[(asked, Value::Nil)]), ["r(x) w(y)=2"]);
        let cas = Value::list([Value::Int(1), Value::Int(2)]);
        assert_eq!(labels("cas", &[(cas, Value::Bool(true))]), ["cas(1, 2) → true"]);
    }

    #[test]
    fn what_says_nothing_is_left_out_and_nothing_else() {
        let (nil, int) = (Value::Nil, Value::Int);
        assert_eq!(labels("read", &[(nil.clone(), int(2))]), ["read → 2"]);
        let echo = [(int(1), int(1)), (int(2), int(2)), (int(1), int(1))];
        assert_eq!(labels("write", &echo), ["write(1)", "write(2)", "write(1)"]);
        // Two returns are no habit, one argument is no habit, and one exception breaks a habit.
        assert_eq!(labels("add", &echo[..2]), ["add(1) → 1", "add(2) → 2"]);
        let ones = [(int(1), int(1)), (int(1), int(1)), (int(1), int(1))];
        assert_eq!(labels("add", &ones), ["add(1) → 1"; 3]);
        let mixed = [(int(1), int(1)), (int(2), int(2)), (int(3), int(6)), (nil.clone(), nil)];
        let expected = ["add(1) → 1", "add(2) → 2", "add(3) → 6", "add(nil) → nil"];
        assert_eq!(labels("add", &mixed), expected);
    }
}
