//! Append-only log with indices: `append` that returns an index, `read(index)`, `length`.
//!
//! **Decides** whether a history of a log is linearizable in which appends tell, or reads show, at
//! which index a value stands.
//!
//! **Theorem.** The appends have an order, the log. What an append returned, and what a read saw at
//! an index, *pins* an append to its index; two that are pinned to one index, or one to two, are a
//! violation. A query needs a number of appends before it between its *least* (beyond the index
//! that it saw a value at; the length that it saw) and its *most* (the index at which it saw
//! nothing; that length). Going early never hurts: let every append take effect as soon as it is
//! called, the one before it has taken effect and so have the queries that must be before it; and
//! every query as soon as it is called and its least is reached. The history is linearizable iff
//! everything then takes effect by its return. Indices that nothing is pinned to are filled by the
//! appends that are not pinned, the lowest first, each by that which returns first of those that
//! are called in time for what is pinned behind it and for the queries: an append fits the indices
//! from one on up to another, both later for one that is called, or returns, later, and for such
//! intervals this greedy matching is right.
//!
//! **Cost.** O(n log n + what is read).
//!
//! **Precondition.** A value that is seen at an index which no append returned was appended once,
//! else declined. Pending queries are forgotten; a pending append takes effect only to fill an
//! index, and if there are such indices and also appends that returned without one, it is declined:
//! which of them fill the indices is a choice then.

use crate::fast::containers::container::{NEVER, Rank, Span};
use crate::fast::objects::log::{Method, contents, returned_int};
use crate::fast::shrink::shrink;
use crate::fast::violation::counterexample;
use crate::fast::{Declined, Part};
use hashbrown::HashMap;
use seriatim_history::{History, OpId, Outcome, Value, ValueId};
use seriatim_limits::InOrder;
use seriatim_spec::{Claim, Witness};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// How many operations a history may have for its counterexample to be made small.
const SHRINKABLE: usize = 4000;

/// An append and the index that it returned.
#[derive(Clone, Debug)]
struct Append {
    span: Span,
    value: Value,
    index: Option<i64>,
}

/// A query and what it saw.
#[derive(Clone, Debug)]
struct Query {
    span: Span,
    /// The numbers of appends before it.
    least: i64,
    most: i64,
    /// The values that it saw, from an index on.
    from: i64,
    saw: Vec<Value>,
}

/// Decides a part of a log's history.
pub(in crate::fast) fn check(part: Part<'_>) -> Result<Claim, Declined> {
    let (appends, queries) = read(&part)?;
    let wrong = match decide(&appends, &queries)? {
        Ok(order) => return Ok(Claim::Linearizable(Witness { order })),
        Err(wrong) => wrong,
    };
    let queries = match part.len() <= SHRINKABLE {
        true => shrink(queries, |queries| matches!(decide(&appends, queries), Ok(Err(_)))),
        false => queries,
    };
    let operations = appends.iter().map(|append| append.span.op);
    let operations = operations.chain(queries.iter().map(|query| query.span.op)).collect();
    Ok(counterexample(operations, wrong.sentence(part.history)))
}

/// Why there is no order.
enum Wrong {
    /// The operation says something of an index that others contradict.
    Index(OpId),
    /// The operation saw less than nothing.
    Negative(OpId),
    /// The operation would take effect after its return.
    Late(OpId),
    /// Somebody knows of an index that no append can have filled.
    Unfilled(i64),
}

impl Wrong {
    fn sentence(&self, history: &History) -> String {
        match *self {
            Wrong::Index(op) => {
                format!("{} contradicts what others say of that index", history.operation(op))
            }
            Wrong::Negative(op) => {
                format!("{}, but a log has no fewer values than none", history.operation(op))
            }
            Wrong::Late(op) => format!(
                "{} returned before what its index or length demands can have happened",
                history.operation(op)
            ),
            Wrong::Unfilled(index) => format!("nothing was appended at index {index}"),
        }
    }
}

fn read(part: &Part<'_>) -> Result<(Vec<Append>, Vec<Query>), Declined> {
    let history = part.history;
    let ranks = part.ranks();
    let (mut appends, mut queries) = (Vec::new(), Vec::new());
    for (position, op) in part.operations().enumerate() {
        let span = ranks.span(position, op);
        let method = Method::named(history.operation(op).method())?;
        match (method, history.outcome(op)) {
            (_, Outcome::Failed) => {}
            (Method::Append, outcome) => {
                let index = returned_int(history, op).filter(|_| outcome == Outcome::Ok);
                let value = history.values().get(history.arg(op));
                appends.push(Append { span, value, index });
            }
            (_, Outcome::Pending) => {}
            (method, Outcome::Ok) => queries.push(query(history, method, span)?),
        }
    }
    match appends.iter().find(|append| append.value == Value::Nil) {
        Some(append) => Err(unreadable(history, append.span.op, "a value other than nil")),
        None => Ok((appends, queries)),
    }
}

fn unreadable(history: &History, op: OpId, expected: &'static str) -> Declined {
    Declined::Unreadable { operation: history.operation(op).to_string(), expected }
}

fn query(history: &History, method: Method, span: Span) -> Result<Query, Declined> {
    let (values, arg, result) = (history.values(), history.arg(span.op), history.result(span.op));
    let query = |least, most| Query { span, least, most, from: 0, saw: Vec::new() };
    let by_index = arg.is_present() && arg != ValueId::NIL;
    match method {
        Method::Length => match values.as_int(result) {
            Some(length) => Ok(query(length, length)),
            None => Err(unreadable(history, span.op, "a number as result")),
        },
        Method::Read if by_index => {
            let index = values.as_int(arg).filter(|&index| (0..i64::MAX).contains(&index));
            let index = index.ok_or_else(|| unreadable(history, span.op, "an index"))?;
            Ok(match result {
                ValueId::ABSENT => query(0, i64::MAX),
                ValueId::NIL => query(0, index),
                seen => {
                    let saw = vec![values.get(seen)];
                    Query { from: index, saw, ..query(index + 1, i64::MAX) }
                }
            })
        }
        Method::Read | Method::Append => {
            let saw = contents(values, result);
            let saw = saw.ok_or_else(|| unreadable(history, span.op, "a list as result"))?;
            Ok(Query { saw: saw.clone(), ..query(saw.len() as i64, saw.len() as i64) })
        }
    }
}

/// An order of the operations, or why there is none.
fn decide(appends: &[Append], queries: &[Query]) -> Result<Result<Vec<OpId>, Wrong>, Declined> {
    let pinned = match pin(appends, queries)? {
        Ok(pinned) => pinned,
        Err(wrong) => return Ok(Err(wrong)),
    };
    let known = queries.iter().map(|query| query.least);
    let pinned_to = pinned.iter().map(|(index, _)| index.saturating_add(1));
    let known = known.chain(pinned_to).max().unwrap_or(0);
    if let Some(query) = queries.iter().find(|query| query.most < 0) {
        return Ok(Err(Wrong::Negative(query.span.op)));
    }
    if known > appends.len() as i64 {
        // Without looking at each of the indices, of which there may be very many.
        return Ok(Err(Wrong::Unfilled(known - 1)));
    }
    let is_pinned = pinned.numbers(appends.len());
    let free = appends.iter().enumerate().filter(|(number, _)| !is_pinned[*number]);
    let (pending, mut free): (Vec<Span>, Vec<Span>) =
        free.map(|(_, append)| append.span).partition(|span| span.ret == NEVER);
    let count = pinned.iter().count();
    if known > count as i64 && !pending.is_empty() {
        if !free.is_empty() {
            // Which indices the pending ones fill is a choice.
            return Err(Declined::TooManyChoices { tried: 1 });
        }
        free = pending;
    }
    let total = known.max((count + free.len()) as i64);
    let latest = latest(queries, appends, &pinned, total);
    let at = |index: i64| pinned.get(index).map(|number| appends[number].span);
    Ok(schedule(queries, at, Free::new(free), &latest))
}

/// By index, the number of the append that is pinned to it.
struct Pins {
    /// Of the indices that a log of all appends has.
    near: Vec<Option<u32>>,
    /// Of other indices; there are few of them unless the history is wrong.
    far: HashMap<i64, u32>,
}

impl Pins {
    fn get(&self, index: i64) -> Option<usize> {
        let near = usize::try_from(index).ok().and_then(|index| self.near.get(index));
        let number = near.map_or_else(|| self.far.get(&index).copied(), |number| *number);
        number.map(|number| number as usize)
    }

    /// Pins an append to an index that has none.
    fn insert(&mut self, index: i64, number: usize) {
        let near = usize::try_from(index).ok().and_then(|index| self.near.get_mut(index));
        match near {
            Some(place) => *place = Some(number as u32),
            None => _ = self.far.insert(index, number as u32),
        }
    }

    /// All indices and the appends that are pinned to them.
    fn iter(&self) -> impl Iterator<Item = (i64, usize)> {
        let near = (0..).zip(&self.near).filter_map(|(index, number)| Some((index, (*number)?)));
        let far = self.far.iter().map(|(&index, &number)| (index, number));
        near.chain(far).map(|(index, number)| (index, number as usize))
    }

    /// For each append whether it is pinned.
    fn numbers(&self, appends: usize) -> Vec<bool> {
        let mut is_pinned = vec![false; appends];
        self.iter().for_each(|(_, number)| is_pinned[number] = true);
        is_pinned
    }
}

/// The appends of each value.
fn by_value(appends: &[Append]) -> HashMap<&Value, Vec<usize>> {
    let mut by_value: HashMap<&Value, Vec<usize>> = HashMap::new();
    for (number, append) in appends.iter().enumerate() {
        by_value.entry(&append.value).or_default().push(number);
    }
    by_value
}

/// Pins appends to the indices that they returned, or at which their value was seen.
fn pin(appends: &[Append], queries: &[Query]) -> Result<Result<Pins, Wrong>, Declined> {
    let mut pinned = Pins { near: vec![None; appends.len()], far: HashMap::new() };
    for (number, append) in appends.iter().enumerate() {
        let Some(index) = append.index else { continue };
        if index < 0 || pinned.get(index).is_some() {
            return Ok(Err(Wrong::Index(append.span.op)));
        }
        pinned.insert(index, number);
    }
    let mut is_pinned = pinned.numbers(appends.len());
    // Most histories tell the index of every append that is seen, and need no table of the values.
    let mut values = None;
    for query in queries {
        for (seen, index) in query.saw.iter().zip(query.from..) {
            if let Some(number) = pinned.get(index) {
                if appends[number].value != *seen {
                    return Ok(Err(Wrong::Index(query.span.op)));
                }
                continue;
            }
            let by_value = values.get_or_insert_with(|| by_value(appends));
            match by_value.get(seen).map_or(&[][..], Vec::as_slice) {
                [] => return Ok(Err(Wrong::Index(query.span.op))),
                &[only] if !is_pinned[only] => {
                    is_pinned[only] = true;
                    pinned.insert(index, only);
                }
                // It stands at another index.
                [_] => return Ok(Err(Wrong::Index(query.span.op))),
                _ => return Err(Declined::RepeatedValue { value: seen.to_string() }),
            }
        }
    }
    Ok(Ok(pinned))
}

/// By index, when its append must have taken effect for those that are pinned to it or behind it,
/// and for the queries that come after it.
fn latest(queries: &[Query], appends: &[Append], pinned: &Pins, total: i64) -> Vec<Rank> {
    let mut latest = vec![NEVER; total as usize];
    let mut by = |index: i64, ret: Rank| {
        if let Some(place) = usize::try_from(index).ok().and_then(|index| latest.get_mut(index)) {
            *place = ret.min(*place);
        }
    };
    for query in queries {
        by(query.least - 1, query.span.ret);
    }
    for (index, number) in pinned.iter() {
        by(index, appends[number].span.ret);
    }
    for index in (1..latest.len()).rev() {
        latest[index - 1] = latest[index - 1].min(latest[index]);
    }
    latest
}

/// Lets everything take effect as early as possible.
fn schedule(
    queries: &[Query],
    pinned: impl Fn(i64) -> Option<Span>,
    mut free: Free,
    latest: &[Rank],
) -> Result<Vec<OpId>, Wrong> {
    let mut by_least: Vec<&Query> = queries.iter().collect();
    by_least.put_in_order_by_own_key(|query| (query.least, query.span.call));
    let mut by_least = by_least.into_iter().peekable();
    // Queries that may take effect, by the greatest number of appends before them.
    let mut ready: BinaryHeap<Reverse<(i64, Rank)>> = BinaryHeap::new();
    // When what took effect, behind how many appends.
    let mut placed: Vec<(Rank, i64, Span)> = Vec::new();
    let mut now = 0;
    for count in 0.. {
        while let Some(query) = by_least.next_if(|query| query.least <= count) {
            let at = now.max(query.span.call);
            placed.push((at, 2 * count, query.span));
            ready.push(Reverse((query.most, at)));
        }
        while let Some(&Reverse((most, at))) = ready.peek()
            && most <= count
        {
            now = now.max(at);
            ready.pop();
        }
        let Some(&latest) = latest.get(count as usize) else { break };
        let span = match pinned(count) {
            Some(span) => span,
            None => free.next(latest).ok_or(Wrong::Unfilled(count))?,
        };
        now = now.max(span.call);
        placed.push((now, 2 * count + 1, span));
    }
    match placed.iter().find(|(at, _, span)| *at >= span.ret) {
        Some((.., span)) => Err(Wrong::Late(span.op)),
        None => {
            placed.put_in_order_by_own_key(|&(at, stage, span)| (at, stage, span.call));
            Ok(placed.into_iter().map(|(.., span)| span.op).collect())
        }
    }
}

/// Appends that no index is known of.
struct Free {
    /// By call, the last first.
    to_come: Vec<Span>,
    /// Called, by return.
    called: BinaryHeap<Reverse<(Rank, Rank, OpId)>>,
}

impl Free {
    fn new(mut spans: Vec<Span>) -> Self {
        spans.put_in_order_by_own_key(|span| Reverse(span.call));
        Free { to_come: spans, called: BinaryHeap::new() }
    }

    /// Of those called before a moment that which returns first.
    fn next(&mut self, moment: Rank) -> Option<Span> {
        while let Some(span) = self.to_come.pop_if(|span| span.call < moment) {
            self.called.push(Reverse((span.ret, span.call, span.op)));
        }
        let Reverse((ret, call, op)) = self.called.pop()?;
        Some(Span { op, call, ret })
    }
}
