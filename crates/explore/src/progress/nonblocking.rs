//! Lock-freedom and obstruction-freedom: threads that wait, and cycles of steps without returns.
//! See the header of `progress` for the theorems.

use super::lasso::{self, Circle};
use super::steps::Stored;
use crate::options::Guarantee;
use crate::outcome::{Counterexample, Reason};
use crate::path::path_to;
use crate::sabotage::{Sabotage, is_broken};
use crate::search::Search;
use crate::subject::Subject;
use crate::trace::Start;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{State, Stop};

/// A run in which threads go on for ever and nobody returns, or a thread waits.
pub fn lock_free(search: &Search<'_>, start: Start<'_>) -> Result<Option<Counterexample>, Reason> {
    let mut stored = Stored::new(search);
    let mut edges: Vec<Vec<u32>> = Vec::with_capacity(stored.records.len());
    for number in 0..stored.records.len() as u32 {
        if let Some(found) = waiting(search, start, &stored, number, Guarantee::LockFree)? {
            return Ok(Some(found));
        }
        let steps = stored.steps(number)?.steps;
        edges.push(steps.iter().filter(|s| s.ret.is_none()).map(|s| s.to).collect());
    }
    let Some(cycle) = find_cycle(&edges) else { return Ok(None) };
    let path = path_to(search, stored.records[cycle[0]]);
    let around = cycle[1..].iter().chain(&cycle[..1]);
    let around = around.map(|n| stored.milestone(*n as u32)).collect();
    let circle = Circle { guarantee: Guarantee::LockFree, around, alone: None };
    lasso::unrolled(search, start, &path, &circle).map(Some)
}

/// A run in which a thread goes on alone and does not return, or waits.
pub fn obstruction_free(
    search: &Search<'_>,
    start: Start<'_>,
) -> Result<Option<Counterexample>, Reason> {
    let threads = search.common.subject.machine.thread_count();
    let mut stored = Stored::new(search);
    // A node for each state and each place of the thread that goes on alone.
    let mut edges: Vec<Vec<u32>> = vec![vec![]; stored.records.len() * threads];
    for number in 0..stored.records.len() as u32 {
        if let Some(found) = waiting(search, start, &stored, number, Guarantee::ObstructionFree)? {
            return Ok(Some(found));
        }
        for step in stored.steps(number)?.steps.iter().filter(|s| s.ret.is_none()) {
            let place = if is_broken(Sabotage::LostPlace) { 0 } else { step.place };
            let node = step.to * threads as u32 + place as u32;
            edges[number as usize * threads + step.thread].push(node);
        }
    }
    let Some(cycle) = find_cycle(&edges) else { return Ok(None) };
    let path = path_to(search, stored.records[cycle[0] / threads]);
    let around = cycle[1..].iter().chain(&cycle[..1]);
    let around = around.map(|n| stored.milestone((n / threads) as u32)).collect();
    let alone = Some(cycle[0] % threads);
    let circle = Circle { guarantee: Guarantee::ObstructionFree, around, alone };
    lasso::unrolled(search, start, &path, &circle).map(Some)
}

/// The run to a state and on to where a thread waits, if one does.
fn waiting(
    search: &Search<'_>,
    start: Start<'_>,
    stored: &Stored<'_, '_>,
    number: u32,
    guarantee: Guarantee,
) -> Result<Option<Counterexample>, Reason> {
    let subject = search.common.subject;
    let state = stored.state(number);
    let threads = 0..subject.machine.thread_count();
    let mut waits = threads.map(|thread| waits(subject, &state, thread).is_some());
    if !waits.any(|waits| waits) || is_broken(Sabotage::BlindWaiting) {
        return Ok(None);
    }
    let path = path_to(search, stored.records[number as usize]);
    lasso::waiting(search, start, &path, guarantee).map(Some)
}

/// The beginning of a step behind which a thread waits, if there is one. Calls and accesses that
/// ride along have no state of their own where steps are fused, so they are taken one by one on the
/// machine with fine steps (see `deadlock`). What an idle thread waits for is its client's matter.
pub fn waits(subject: &Subject, from: &State, thread: usize) -> Option<Vec<Choices>> {
    let mut choices = Choices::default();
    let mut to = State::default();
    let (mut moves, mut waiting) = (subject.fine.is_idle(from, thread), false);
    loop {
        match subject.fine.run(from, thread, &mut choices, &mut to) {
            Ok(seen) => {
                moves = true;
                if seen.ret.is_none()
                    && subject.is_beginning(from, thread, &choices)
                    && let Some(mut rest) = waits(subject, &to, thread)
                {
                    rest.insert(0, choices);
                    return Some(rest);
                }
            }
            Err(Stop::Waits) => waiting = true,
            Err(_) => moves = true,
        }
        if !choices.advance() {
            return (waiting && !moves).then(Vec::new);
        }
    }
}

/// The nodes of a cycle, by depth-first search without recursion.
fn find_cycle(edges: &[Vec<u32>]) -> Option<Vec<usize>> {
    let mut done = vec![false; edges.len()];
    let mut place: Vec<Option<usize>> = vec![None; edges.len()];
    for root in 0..edges.len() {
        let mut path: Vec<(usize, usize)> = Vec::new();
        if !done[root] {
            path.push((root, 0));
            place[root] = Some(0);
        }
        while let Some((node, next)) = path.last_mut() {
            let node = *node;
            let Some(target) = edges[node].get(*next).map(|t| *t as usize) else {
                done[node] = true;
                place[node] = None;
                path.pop();
                continue;
            };
            *next += 1;
            if let Some(start) = place[target] {
                return Some(path[start..].iter().map(|(n, _)| *n).collect());
            }
            if !done[target] {
                place[target] = Some(path.len());
                path.push((target, 0));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_found_only_where_there_is_one() {
        assert_eq!(find_cycle(&[vec![1, 2], vec![2], vec![]]), None);
        assert_eq!(find_cycle(&[vec![1], vec![2], vec![1]]), Some(vec![1, 2]));
        assert_eq!(find_cycle(&[vec![], vec![1]]), Some(vec![1]));
    }
}
