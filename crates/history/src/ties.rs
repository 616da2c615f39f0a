//! Ties: operations of one process that touch at an instant of a coarse clock.
//!
//! Intervals are closed, so an operation that returns at the instant at which another is called
//! overlaps it. One process, though, does one thing after another: where it calls at the instant at
//! which it returned, it takes its *turn* from the first operation to the second, and the first
//! comes before.
//!
//! **How stamps tell it.** The moments of the history become ranks. An instant with `g` turns has
//! `g + 1` ranks: the operation that ends with turn `i` returns at rank `i` of the instant, the one
//! that begins with it is called at rank `i + 1`; all others that are called then are called at
//! rank 0, and all others that return then return at rank `g`. So a turn orders its two operations,
//! and nothing else is ordered that was not: every call of another process at that instant still
//! comes at or before every return there.
//!
//! **Where they cannot.** If two processes take turns at one instant, `a` then `b` and `c` then
//! `d`, no intervals order just these two pairs: whichever turn is first also orders `a` before
//! `d`, or `c` before `b`. The log does not say which was first. Such ties are left *open*, as
//! overlaps, and [`History::open_ties`] tells them. A history is linearizable iff it is for some
//! order of the turns ([`History::with_turns`]): an order of the operations that respects every
//! process gives an order of the turns that allows it (sort the turns by the operation that ends),
//! and the other way round each order of the turns only adds to what the processes say.
//!
//! **Operations that were given up.** A process may go on though an operation of its own is
//! pending. What it does next does not wait for that one, but for the last that returned: this one
//! takes a turn to each of them, and returns at the rank of the first.

use crate::{Column, History, OpId, ProcessId, Time};
use hashbrown::HashMap;
use seriatim_limits::InOrder;

/// A process goes from one operation to the next within an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// Who does.
    pub process: ProcessId,
    /// The operation that returned.
    pub before: OpId,
    /// The operation that is called.
    pub after: OpId,
}

/// Sorts operations by call; of those that are called together the ones that take no time are
/// first.
pub(crate) fn sort(history: &mut History) {
    let key = |op: &u32| {
        let op = OpId(*op);
        let call = history.call(op);
        (call, history.ret(op).filter(|ret| *ret > call).unwrap_or(call))
    };
    let mut order: Vec<u32> = (0..history.len() as u32).collect();
    order.put_in_order_by_key(key);
    history.permute(&order);
}

/// Orders the operations of every process that takes turns by itself, and notes whether several do
/// at one instant.
pub(crate) fn order(history: &mut History) {
    let instants = instants(history);
    let is_open = |turns: &&Vec<Turn>| turns.iter().any(|turn| turn.process != turns[0].process);
    history.open_ties = instants.iter().any(|turns| is_open(&turns));
    let settled: Vec<Vec<Turn>> = instants.into_iter().filter(|turns| !is_open(&turns)).collect();
    if !settled.is_empty() {
        stamp(history, &settled);
    }
}

/// The turns of each instant that has any, those of one process in their order.
fn instants(history: &History) -> Vec<Vec<Turn>> {
    let mut last: Vec<Option<OpId>> = vec![None; history.process_count()];
    let mut instants: Vec<(Time, Vec<Turn>)> = Vec::new();
    for operation in history.operations() {
        let (process, after, now) = (operation.process(), operation.id, operation.call());
        let before = last[process.index()];
        if operation.ret().is_some() {
            last[process.index()] = Some(after);
        }
        let Some(before) = before.filter(|op| history.ret(*op) == Some(now)) else { continue };
        let turn = Turn { process, before, after };
        match instants.last_mut() {
            Some((time, turns)) if *time == now => turns.push(turn),
            _ => instants.push((now, vec![turn])),
        }
    }
    instants.into_iter().map(|(_, turns)| turns).collect()
}

/// Makes ranks of the stamps, with room for the turns of some instants in the order in which they
/// are given.
fn stamp(history: &mut History, instants: &[Vec<Turn>]) {
    let ops = || (0..history.len()).map(OpId::from);
    let mut times: Vec<Time> =
        ops().flat_map(|op| [Some(history.call(op)), history.ret(op)]).flatten().collect();
    times.put_in_order();
    times.dedup();
    let turns_at: HashMap<Time, u64> =
        instants.iter().map(|turns| (history.call(turns[0].after), turns.len() as u64)).collect();
    let (mut first, mut clock) = (Vec::with_capacity(times.len()), Column::default());
    for &time in &times {
        first.push(clock.len() as Time);
        let ranks = 1 + turns_at.get(&time).copied().unwrap_or(0);
        (0..ranks).for_each(|_| clock.push(history.display_time(time)));
    }
    let end = clock.len() as Time;
    let place = |time: Time| times.partition_point(|known| *known < time);
    let first_rank = |time: Time| first.get(place(time)).copied().unwrap_or(end);
    let last_rank = |time: Time| first_rank(time) + turns_at.get(&time).copied().unwrap_or(0);
    let mut calls: Vec<Time> = ops().map(|op| first_rank(history.call(op))).collect();
    let mut rets: Vec<Option<Time>> = ops().map(|op| history.ret(op).map(last_rank)).collect();
    for turns in instants {
        let base = first_rank(history.call(turns[0].after));
        for (turn, rank) in turns.iter().zip(base..) {
            let ret = &mut rets[turn.before.index()];
            *ret = (*ret).min(Some(rank));
            calls[turn.after.index()] = rank + 1;
        }
    }
    for annotation in &mut history.annotations {
        annotation.start = first_rank(annotation.start);
        annotation.end = first_rank(annotation.end).max(annotation.start);
    }
    let span = |(&call, ret): (&Time, &Option<Time>)| ret.map_or(0, |ret| ret - call + 1);
    history.span = calls.iter().zip(&rets).map(span).collect();
    let mut order: Vec<u32> = (0..history.len() as u32).collect();
    order.put_in_order_by_key(|&op| calls[op as usize]);
    history.call = calls.into_iter().collect();
    history.clock = clock;
    history.permute(&order);
}

impl History {
    /// Whether several processes take turns at one instant, so that the log does not say who was
    /// first.
    pub fn has_open_ties(&self) -> bool {
        self.open_ties
    }

    /// The turns of the instants at which several processes take some; see
    /// [`History::has_open_ties`]. Those of one process are in their order.
    pub fn open_ties(&self) -> Vec<Vec<Turn>> {
        match self.open_ties {
            true => instants(self),
            false => Vec::new(),
        }
    }

    /// The history in which open ties are overlaps, as if each operation had a process of its own
    /// there.
    pub fn overlapping(&self) -> History {
        History { open_ties: false, is_loose: true, ..self.clone() }
    }

    /// The history in which the turns of each instant happened in this order. Operations are
    /// numbered anew where that changes the order of their calls.
    pub fn with_turns(&self, instants: &[Vec<Turn>]) -> History {
        let mut history = self.clone();
        history.open_ties = false;
        stamp(&mut history, instants);
        history
    }
}

#[cfg(test)]
mod tests {
    use crate::{History, read_str};

    /// The history of operations `(process, call, return)`, each named by its place.
    fn history(operations: &[(u8, u64, u64)]) -> History {
        let line = |(index, (process, call, ret)): (usize, &(u8, u64, u64))| {
            format!(
                "{{\"process\":{process},\"op\":\"o{index}\",\"call\":{call},\"return\":{ret}}}\n"
            )
        };
        let text: String = operations.iter().enumerate().map(line).collect();
        read_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// Which operations come before which, by their places in the source.
    fn orders(history: &History, count: usize) -> Vec<(usize, usize)> {
        let named = |place: usize| {
            let name = format!("o{place}");
            history.operations().find(|operation| operation.method() == name).unwrap()
        };
        let pairs = (0..count).flat_map(|a| (0..count).map(move |b| (a, b)));
        pairs.filter(|&(a, b)| named(a).precedes(&named(b))).collect()
    }

    /// What the processes and the clock say, from the numbers alone.
    fn expected(operations: &[(u8, u64, u64)]) -> Vec<(usize, usize)> {
        let count = operations.len();
        let before = |a: usize, b: usize| {
            let ((p, call_a, ret_a), (q, call_b, ret_b)) = (operations[a], operations[b]);
            // Of one process, two that take no time at one instant come as their lines do.
            let first = (call_a, ret_a, a) < (call_b, ret_b, b);
            ret_a < call_b || (p == q && a != b && ret_a == call_b && first)
        };
        let pairs = (0..count).flat_map(|a| (0..count).map(move |b| (a, b)));
        pairs.filter(|&(a, b)| before(a, b)).collect()
    }

    #[test]
    fn all_small_logs_order_what_touches_in_a_process_and_nothing_else() {
        // Every log of two operations of one process and two of another on a clock of four ticks.
        let mut intervals = Vec::new();
        for call in 0..4 {
            intervals.extend((call..4).map(|ret| (call, ret)));
        }
        let (mut settled, mut open) = (0, 0);
        for &a in &intervals {
            for &b in intervals.iter().filter(|b| b.0 >= a.1) {
                for &c in &intervals {
                    for &d in intervals.iter().filter(|d| d.0 >= c.1) {
                        let log = [(0, a.0, a.1), (1, c.0, c.1), (0, b.0, b.1), (1, d.0, d.1)];
                        let history = history(&log);
                        if !history.has_open_ties() {
                            assert_eq!(orders(&history, 4), expected(&log), "{log:?}");
                            settled += 1;
                            continue;
                        }
                        // Together, the orders of the turns say what the processes say: no more.
                        let ties = history.open_ties();
                        assert_eq!(ties.len(), 1, "{log:?}");
                        let mut reversed = ties.clone();
                        reversed[0].reverse();
                        let (one, other) =
                            (history.with_turns(&ties), history.with_turns(&reversed));
                        let (one, other) = (orders(&one, 4), orders(&other, 4));
                        let both: Vec<_> =
                            one.iter().filter(|pair| other.contains(pair)).copied().collect();
                        assert_eq!(both, expected(&log), "{log:?}");
                        open += 1;
                    }
                }
            }
        }
        assert!(settled > 1000 && open > 30, "{settled} settled, {open} open");
    }

    #[test]
    fn what_follows_an_operation_that_was_given_up_comes_after_what_returned() {
        let text = r#"{"process":0,"op":"o0","call":0,"return":1}
            {"process":0,"op":"o1","call":1}
            {"process":0,"op":"o2","call":1,"return":2}
            {"process":1,"op":"o3","call":0,"return":1}
            {"process":1,"op":"o4","call":1,"return":2}"#;
        let history = read_str(text).unwrap();
        let ties = history.open_ties();
        let one = orders(&history.with_turns(&ties), 5);
        let other = orders(&history.with_turns(&[ties[0].iter().rev().copied().collect()]), 5);
        let both: Vec<_> = one.iter().filter(|pair| other.contains(pair)).copied().collect();
        assert_eq!(both, [(0, 1), (0, 2), (3, 4)]);
    }

    #[test]
    fn operations_that_take_no_time_stand_in_the_order_of_their_process() {
        let log = [(0, 5, 9), (0, 5, 5), (0, 1, 5), (0, 5, 5), (1, 0, 5)];
        let history = history(&log);
        let expected = [(1, 0), (1, 3), (2, 0), (2, 1), (2, 3), (3, 0)];
        assert_eq!(orders(&history, 5), expected);
        let last = history.operations().last().unwrap();
        assert_eq!((last.line(), history.display_time(last.call())), (1, 5));
    }
}
