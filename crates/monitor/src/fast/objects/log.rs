//! Append-only log: `append(value)`, `read` of the whole. Also online.
//!
//! **Decides** whether a history of a log whose values are appended once each is linearizable.
//!
//! **Theorem.** What is read is a prefix of the final log, so that the longest read gives the order
//! of all values that anybody saw; of two reads one must be a prefix of the other. A read of length
//! `k` happens between the `k`-th and the next append; appends that nobody saw come after every
//! read. The history is linearizable iff real time allows this order (`chain`); appends that nobody
//! saw stand in the order of their calls.
//!
//! **Cost.** O(n + the lengths of what is read). Online: O(the length of what is read) a return;
//! memory: the log.
//!
//! **Precondition.** Every value is appended once, else declined. A pending append that nobody saw
//! is forgotten; one that somebody saw took effect. Where appends return their index, or somebody
//! reads one index or asks for the length: see `log_index`; online they are declined.

use crate::fast::containers::container::{NEVER, Span};
use crate::fast::objects::flag::Moment;
use crate::fast::objects::log_index;
use crate::fast::online::{Called, Online, Returned, Stop};
use crate::fast::structures::chain::reversed;
use crate::fast::violation::counterexample;
use crate::fast::{Declined, Part};
use hashbrown::HashMap;
use seriatim_history::{Echo, History, OpId, Outcome, Value, ValueId, Values};
use seriatim_limits::InOrder;
use seriatim_spec::{Claim, Witness, names};

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fast) enum Method {
    Append,
    Read,
    Length,
}

impl Method {
    pub fn named(name: &str) -> Result<Self, Declined> {
        let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        if is(const { names("log", "append") }) {
            Ok(Method::Append)
        } else if is(const { names("log", "read") }) {
            Ok(Method::Read)
        } else if is(const { names("log", "length") }) {
            Ok(Method::Length)
        } else {
            let method = name.to_owned();
            Err(Declined::UnknownMethod { method })
        }
    }
}

/// The values that a read saw.
pub(in crate::fast) fn contents(values: &Values, result: ValueId) -> Option<Vec<Value>> {
    match values.get(result) {
        Value::List(items) => Some(items.to_vec()),
        _ => None,
    }
}

/// The integer that an operation returned which may return nothing: not the argument, where the
/// source repeats arguments.
pub(in crate::fast) fn returned_int(history: &History, op: OpId) -> Option<i64> {
    let is_echo = history.echo() == Echo::Argument && history.result(op) == history.arg(op);
    history.values().as_int(history.result(op)).filter(|_| !is_echo)
}

/// A read: when, and how much it saw.
struct Read {
    span: Span,
    length: usize,
}

/// Decides a part of a log's history.
pub fn check(part: Part<'_>) -> Result<Claim, Declined> {
    let history = part.history;
    let ranks = part.ranks();
    let mut appends: HashMap<Value, Span> = HashMap::new();
    let mut reads: Vec<Read> = Vec::new();
    let mut longest: (Vec<Value>, Option<OpId>) = (Vec::new(), None);
    for (position, op) in part.operations().enumerate() {
        let operation = history.operation(op);
        let method = Method::named(operation.method())?;
        let span = ranks.span(position, op);
        let by_index = match method {
            Method::Append => returned_int(history, op).is_some(),
            Method::Read => history.arg(op).is_present() && history.arg(op) != ValueId::NIL,
            Method::Length => true,
        };
        if by_index && history.outcome(op) == Outcome::Ok {
            return log_index::check(part);
        }
        match (method, history.outcome(op)) {
            (_, Outcome::Failed) | (Method::Read | Method::Length, Outcome::Pending) => {}
            (Method::Append, _) => {
                let value = history.values().get(history.arg(op));
                if appends.insert(value.clone(), span).is_some() {
                    let value = value.to_string();
                    return Err(Declined::RepeatedValue { value });
                }
            }
            (Method::Read | Method::Length, Outcome::Ok) => {
                let seen = contents(history.values(), history.result(op));
                let seen = seen.ok_or_else(|| Declined::Unreadable {
                    operation: operation.to_string(),
                    expected: "a list as result",
                })?;
                reads.push(Read { span, length: seen.len() });
                let common = seen.len().min(longest.0.len());
                if seen[..common] != longest.0[..common] {
                    let other = longest.1.unwrap_or(op);
                    return Ok(disagreeing(history, op, other));
                }
                if seen.len() > longest.0.len() {
                    longest = (seen, Some(op));
                }
            }
        }
    }
    let reader = longest.1;
    Ok(decide(part, appends, reads, &longest.0, reader))
}

fn decide(
    part: Part<'_>,
    mut appends: HashMap<Value, Span>,
    mut reads: Vec<Read>,
    log: &[Value],
    reader: Option<OpId>,
) -> Claim {
    let history = part.history;
    reads.put_in_order_by_key(|read| read.length);
    let mut reads = reads.into_iter().peekable();
    let mut order: Vec<Span> = Vec::new();
    for (position, value) in log.iter().enumerate() {
        while let Some(read) = reads.next_if(|read| read.length == position) {
            order.push(read.span);
        }
        match appends.remove(value) {
            Some(append) => order.push(append),
            None => {
                let operations = reader.into_iter().collect();
                let sentence = format!("{value} was read and was never appended, or twice");
                return counterexample(operations, sentence);
            }
        }
    }
    order.extend(reads.map(|read| read.span));
    let mut unseen: Vec<Span> = appends.into_values().filter(|a| a.ret != NEVER).collect();
    unseen.put_in_order_by_own_key(|append| append.call);
    order.extend(unseen);
    if let Some((first, second)) = reversed(&order) {
        let show = |span: Span| history.operation(span.op).to_string();
        let (first_text, second_text) = (show(first), show(second));
        let sentence = format!(
            "what was read puts {first_text} before {second_text}, which returned before the former \
             was called"
        );
        let operations = pair_core(&part, first, second, reader);
        return counterexample(operations, sentence);
    }
    let order = order.into_iter().map(|span| span.op).collect();
    Claim::Linearizable(Witness { order })
}

/// Two operations in the wrong order, with all appends and the read that shows their order.
fn pair_core(part: &Part<'_>, first: Span, second: Span, reader: Option<OpId>) -> Vec<OpId> {
    let name = |op: OpId| part.history.operation(op).method();
    let all = part.operations();
    let all = all.filter(|&op| Method::named(name(op)) == Ok(Method::Append));
    all.chain([first.op, second.op]).chain(reader).collect()
}

fn disagreeing(history: &History, a: OpId, b: OpId) -> Claim {
    let sentence = format!(
        "{} and {} disagree about what was appended first",
        history.operation(a),
        history.operation(b)
    );
    counterexample(vec![a, b], sentence)
}

/// An append: when.
#[derive(Clone, Copy, Debug)]
struct Append {
    call: Moment,
    /// [`OPEN`] while it is open.
    ret: Moment,
}

const OPEN: Moment = Moment::MAX;

/// An open operation.
#[derive(Clone, Debug)]
enum Open {
    Append(Value),
    /// A read with its call and the length of the longest read that had returned by then.
    Read(Moment, usize),
}

/// The log monitor for live streams.
#[derive(Default)]
pub struct Watch {
    now: Moment,
    open: HashMap<OpId, Open>,
    /// The values that were read, in order.
    log: Vec<(Value, Append)>,
    place: HashMap<Value, usize>,
    /// Values appended, or being appended, that nobody has read.
    unseen: HashMap<Value, Append>,
    longest: usize,
}

impl Watch {
    fn appended(&mut self, value: &Value) {
        let now = self.now;
        if let Some(append) = self.unseen.get_mut(value) {
            append.ret = now;
        } else if let Some(&place) = self.place.get(value) {
            self.log[place].1.ret = now;
        }
    }

    /// Why a read that was called at `call` cannot have seen these values.
    fn read(&mut self, seen: Vec<Value>, call: Moment, longest: usize) -> Result<(), &'static str> {
        let known = self.log.len().min(seen.len());
        if seen.iter().zip(&self.log).any(|(seen, (value, _))| seen != value) {
            return Err("it disagrees with an earlier read about what was appended first");
        }
        let missing = self.log[known..].iter().map(|(_, append)| append);
        let mut missed = seen.len() < longest || missing.clone().any(|append| append.ret < call);
        let mut revealed = Vec::new();
        for value in &seen[known..] {
            let append = self.unseen.remove(value);
            let append = append.ok_or("it saw a value that was never appended, or one twice")?;
            revealed.push((value.clone(), append));
        }
        missed |= self.unseen.values().any(|append| append.ret < call);
        if missed {
            return Err("it misses a value that was there before it was called");
        }
        let mut first_return = self.unseen.values().map(|append| append.ret).min().unwrap_or(OPEN);
        for (_, append) in revealed.iter().rev() {
            if first_return < append.call {
                return Err("it saw values in another order than that in which they were appended");
            }
            first_return = first_return.min(append.ret);
        }
        for (value, append) in revealed {
            self.place.insert(value.clone(), self.log.len());
            self.log.push((value, append));
        }
        self.longest = self.longest.max(seen.len());
        Ok(())
    }
}

impl Online for Watch {
    fn call(&mut self, called: Called<'_>) -> Result<(), Stop> {
        self.now += 1;
        let open = match Method::named(called.method)? {
            Method::Length => {
                let method = called.method.to_owned();
                return Err(Stop::Declined(Declined::UnknownMethod { method }));
            }
            Method::Read if called.arg.is_present() && called.arg != ValueId::NIL => {
                return Err(Stop::Declined(Declined::Unreadable {
                    operation: called.method.to_owned(),
                    expected: "no index",
                }));
            }
            Method::Read => Open::Read(self.now, self.longest),
            Method::Append => {
                let value = called.values.get(called.arg);
                let append = Append { call: self.now, ret: OPEN };
                let before = self.unseen.insert(value.clone(), append);
                if before.is_some() || self.place.contains_key(&value) {
                    let value = value.to_string();
                    return Err(Stop::Declined(Declined::RepeatedValue { value }));
                }
                Open::Append(value)
            }
        };
        self.open.insert(called.op, open);
        Ok(())
    }

    fn ret(&mut self, returned: Returned<'_>) -> Result<(), Stop> {
        self.now += 1;
        let op = returned.op;
        let unreadable = |expected| {
            let operation = format!("operation {}", op.0);
            Stop::Declined(Declined::Unreadable { operation, expected })
        };
        match (returned.outcome, self.open.get(&op)) {
            (Outcome::Pending, _) | (_, None) => return Ok(()),
            // It did not happen, but a read may have relied on it.
            (Outcome::Failed, Some(Open::Append(_))) => return Err(Stop::failed(op)),
            (Outcome::Ok, Some(Open::Append(_)))
                if returned.values.as_int(returned.result).is_some() =>
            {
                return Err(unreadable("an append without an index as result"));
            }
            _ => {}
        }
        match self.open.remove(&op) {
            Some(Open::Append(value)) => self.appended(&value),
            Some(Open::Read(call, longest)) if returned.outcome == Outcome::Ok => {
                let seen = contents(returned.values, returned.result);
                let seen = seen.ok_or_else(|| unreadable("a list as result"))?;
                let read = self.read(seen, call, longest);
                read.map_err(|reason| Stop::violation(op, reason))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn rename(&mut self, _: &mut dyn FnMut(ValueId) -> ValueId) {
        // The log is kept as values, not as ids.
    }

    fn remembered(&self) -> usize {
        self.open.len() + self.log.len() + self.unseen.len()
    }
}
