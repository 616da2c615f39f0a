//! Lock-freedom: in every infinite run some operation returns, again and again.
//!
//! *Theorem*: threads and states being finite in number, an infinite run without returns ends in a
//! cycle of states none of whose steps returns; and a thread that waits for a lock or a condition
//! waits for ever if the others stop. So the object is lock-free within the bounds iff no reachable
//! state has a waiting thread and the graph of steps that do not return has no cycle.
//!
//! A thread *waits* if none of its choices lets it take a step. A choice that an `assume` forbids
//! is no waiting as long as there is another one: `let o: tid = any; assume o != self` chooses
//! another thread and waits for nobody.
//!
//! The graph is that of representatives: a cycle of representatives unrolls to a cycle of states,
//! because renamings have finite order. Reductions that leave out iterations or shorten runs are
//! switched off, and so is the specification. *Cost*: the states once for the search and once for
//! the edges.

use crate::options::{Options, Reductions};
use crate::outcome::{Outcome, Reason, Statistics, Verdict, ViolationKind};
use crate::path::{Milestone, milestone, path_to};
use crate::search::{Ending, Search, locked};
use crate::store::{StateRef, hash, shard_of};
use crate::subject::Subject;
use crate::trace::{self, Start};
use crate::worker::Worker;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{State, Stop};
use seriatim_lang::{Diagnostic, Program};

/// Decides whether the object is lock-free within the bounds.
pub fn lock_freedom(
    program: &Program,
    options: &Options,
    progress: &mut dyn FnMut(&Statistics),
) -> Result<Outcome, Diagnostic> {
    if let Some(why) = crate::refinement::refusal(options) {
        return Ok(crate::refinement::unknown(program, options, Reason::Unsupported(why)));
    }
    let kept = Reductions {
        lock_movers: false,
        lock_nesting: false,
        pure_iterations: false,
        antichain: true,
        ..options.reductions
    };
    let options = Options { reductions: kept, ..options.clone() };
    let mut subject = Subject::new(program, &options)?;
    let initial =
        subject.machine.initial().map_err(|stop| crate::refinement::bad_start(&subject, stop))?;
    let (mut search, start) = match Search::new(&subject, &options) {
        Ok(ready) => ready,
        Err(reason) => return Ok(crate::refinement::unknown(program, &options, reason)),
    };
    let verdict = match search.run(&initial, start, progress) {
        Ending::Complete => match find_stall(&search) {
            None => crate::refinement::reviewed(&mut search, &initial),
            Some((path, kind)) => {
                let found =
                    trace::along(&search, Start { initial: &initial, set: start }, &path, kind);
                Verdict::Violation(Box::new(found))
            }
        },
        Ending::Violation(at, kind) => {
            let found =
                trace::counterexample(&search, Start { initial: &initial, set: start }, at, kind);
            Verdict::Violation(Box::new(found))
        }
        Ending::Unknown(reason) => Verdict::Unknown(reason),
        Ending::Unfounded(_) => Verdict::Unknown(Reason::Unsupported(
            "a reduction that is switched off for progress was used".to_string(),
        )),
    };
    Ok(Outcome::new(program, &options, &subject, verdict, search.statistics))
}

/// A run to a state with a waiting thread, or around a cycle without returns.
fn find_stall(search: &Search<'_>) -> Option<(Vec<Milestone>, ViolationKind)> {
    let mut worker = Worker::new(&search.common);
    let records = records(search);
    let mut state = State::default();
    let mut edges: Vec<Vec<u32>> = Vec::with_capacity(records.len());
    for record in &records {
        let here = milestone(search, *record);
        search.common.codec.decode(search.common.subject, &here.key, &mut state);
        match quiet_successors(search, &mut worker, &state) {
            Some(found) => {
                let number = |r: &StateRef| records.binary_search(r).ok().map(|n| n as u32);
                edges.push(found.iter().filter_map(number).collect());
            }
            None => return Some((path_to(search, *record), ViolationKind::Waits)),
        }
    }
    let cycle = find_cycle(&edges)?;
    let mut path = path_to(search, records[cycle[0]]);
    let repeats = cycle.len();
    let around = cycle[1..].iter().chain(&cycle[..1]);
    path.extend(around.map(|n| milestone(search, records[*n])));
    Some((path, ViolationKind::NoProgress { repeats }))
}

/// All states, in the order of their references.
fn records(search: &Search<'_>) -> Vec<StateRef> {
    let mut found = Vec::new();
    for (number, shard) in search.shards.iter().enumerate() {
        let shard = locked(shard);
        let mut at = 0;
        while at < shard.end() {
            found.push(StateRef { shard: number as u32, at });
            at = shard.after(at);
        }
    }
    found
}

/// The states after steps that do not return; `None` if a thread waits.
fn quiet_successors(
    search: &Search<'_>,
    worker: &mut Worker<'_>,
    from: &State,
) -> Option<Vec<StateRef>> {
    let machine = &search.common.subject.machine;
    let mut found = Vec::new();
    let mut to = State::default();
    for thread in 0..machine.thread_count() {
        let mut choices = Choices::default();
        loop {
            match machine.run(from, thread, &mut choices, &mut to) {
                Ok(seen) if seen.ret.is_none() => found.extend(stored(search, worker, &to)),
                _ => {}
            }
            if !choices.advance() {
                break;
            }
        }
        if waits(search.common.subject, from, thread) {
            return None;
        }
    }
    Some(found)
}

/// Whether a thread waits now, or would behind some beginning of a step. Calls and accesses that
/// ride along have no state of their own where steps are fused, so they are taken one by one on the
/// machine with fine steps (see `deadlock`).
fn waits(subject: &Subject, from: &State, thread: usize) -> bool {
    let mut choices = Choices::default();
    let mut to = State::default();
    let (mut moves, mut waiting, mut later) = (false, false, false);
    loop {
        match subject.fine.run(from, thread, &mut choices, &mut to) {
            Ok(seen) => {
                moves = true;
                later |= seen.ret.is_none()
                    && subject.is_beginning(from, thread, &choices)
                    && waits(subject, &to, thread);
            }
            Err(Stop::Waits) => waiting = true,
            Err(_) => moves = true,
        }
        if !choices.advance() {
            return later || waiting && !moves;
        }
    }
}

/// The stored representative of a state.
fn stored(search: &Search<'_>, worker: &mut Worker<'_>, state: &State) -> Option<StateRef> {
    worker.find(state).ok()?;
    let key = &worker.canonical.key;
    let number = shard_of(key);
    let shard = locked(&search.shards[number]);
    let mut places = Vec::new();
    shard.find(key, hash(key, 0) as u32, &mut places);
    places.first().map(|at| StateRef { shard: number as u32, at: *at })
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
