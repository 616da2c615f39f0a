//! Lock-freedom: in every infinite run some operation returns, again and again.
//!
//! *Theorem*: threads and states being finite in number, an infinite run without returns ends in a cycle of states
//! none of whose steps returns; and a thread that waits for a lock or a condition waits for ever if the others stop. So the
//! object is lock-free within the bounds iff no reachable state has a waiting thread and the graph of steps that do not
//! return has no cycle.
//!
//! The graph is that of representatives: a cycle of representatives unrolls to a cycle of states, because
//! renamings have finite order. Reductions that leave out iterations or shorten runs are switched off, and so is
//! the specification. *Cost*: the states once for the search and once for the edges.

use crate::options::{Mode, Options, Reductions};
use crate::outcome::{Counterexample, Outcome, Verdict, ViolationKind};
use crate::search::{Ending, Search};
use crate::store::StateRef;
use crate::subject::Subject;
use crate::trace;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{State, Stop};
use seriatim_lang::{Diagnostic, Program};

/// Decides whether the object is lock-free within the bounds.
pub fn run_progress(program: &Program, options: &Options) -> Result<Outcome, Diagnostic> {
    let kept = Reductions { lock_movers: false, retries: false, ..options.reductions };
    let options = Options { mode: Mode::Progress, reductions: kept, ..options.clone() };
    let mut subject = Subject::new(program, &options)?;
    let initial = subject.machine.initial().map_err(|stop| crate::bad_start(&subject, stop))?;
    let (mut search, start) = match Search::new(&subject, &options) {
        Ok(ready) => ready,
        Err(reason) => return Ok(crate::unknown(&options, reason)),
    };
    let verdict = match search.run(&initial, start, &mut |_| {}) {
        Ending::Complete => match find_stall(&mut search, &initial) {
            None => Verdict::Holds,
            Some((path, kind)) => {
                let found = trace::along(&mut search, (&initial, start), path);
                Verdict::Violation(Box::new(Counterexample { kind, ..found }))
            }
        },
        Ending::Violation(at, kind) => {
            let found = trace::counterexample(&mut search, (&initial, start), at, kind);
            Verdict::Violation(Box::new(found))
        }
        Ending::Unknown(reason) => Verdict::Unknown(reason),
        Ending::RetiredCameBack => Verdict::Holds,
    };
    Ok(Outcome { verdict, statistics: search.statistics, bounds: crate::bounds(&options) })
}

/// A run to a state with a waiting thread, or around a cycle without returns.
fn find_stall(search: &mut Search<'_>, initial: &State) -> Option<(Vec<StateRef>, ViolationKind)> {
    let mut records = Vec::new();
    let mut next = search.store.first();
    while let Some(record) = next {
        records.push(record);
        next = search.store.after(record);
    }
    let mut state = initial.clone();
    let mut edges: Vec<Vec<u32>> = Vec::with_capacity(records.len());
    for record in &records {
        search.codec.decode(search.subject, search.store.key(*record), &mut state);
        match quiet_successors(search, &state) {
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
    path.extend(cycle[1..].iter().chain(&cycle[..1]).map(|n| records[*n]));
    Some((path, ViolationKind::NoProgress { repeats }))
}

fn path_to(search: &Search<'_>, record: StateRef) -> Vec<StateRef> {
    let parent = |r: &StateRef| Some(search.store.parent(*r)).filter(|p| *p != crate::store::NONE);
    let mut path: Vec<StateRef> = std::iter::successors(Some(record), parent).collect();
    path.reverse();
    path
}

/// The states after steps that do not return; `None` if a thread waits.
fn quiet_successors(search: &mut Search<'_>, from: &State) -> Option<Vec<StateRef>> {
    let subject = search.subject;
    let mut found = Vec::new();
    let mut to = State::default();
    let mut records = Vec::new();
    for thread in 0..subject.machine.thread_count() {
        let mut choices = Choices::default();
        loop {
            match subject.machine.run(from, thread, &mut choices, &mut to) {
                Ok(seen) if seen.ret.is_none() => {
                    search.lookup(&to, &mut records);
                    found.extend(records.first());
                }
                Err(Stop::Waits) => return None,
                _ => {}
            }
            if !choices.advance() {
                break;
            }
        }
    }
    Some(found)
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
