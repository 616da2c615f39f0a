//! A second opinion on a guarantee that holds: the whole space of plain runs, one access at a time
//! and nothing renamed, if it is small; judged by fixpoints instead of cycles.
//!
//! *Theorem* (Emerson and Lei 1986): the greatest set of nodes from each of which, inside of the
//! set, something that meets each mark can be reached is the set of nodes from which some infinite
//! run meets each mark again and again. Standing still is a step here.

use super::judge::is_inside;
use super::steps::is_in_time;
use crate::options::Guarantee;
use crate::outcome::Reason;
use crate::search::Search;
use crate::second_opinion::Reviewed;
use crate::second_opinion::judge::Explanations;
use crate::second_opinion::plain::{method, throw_away};
use crate::subject::Subject;
use crate::worker::reason;
use rustc_hash::FxHashMap;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{State, Stop};
use seriatim_lang::spec::{Datum, SpecStop};
use seriatim_limits::{Instant, checkpoint, checkpoint_now};

/// The most positions where explanations are followed, too.
const MOST_EXPLAINED: u64 = 10_000;

/// A step from a position.
struct Step {
    to: usize,
    thread: usize,
    call: Option<(u32, Vec<i32>)>,
    ret: Option<Datum>,
}

/// A position: who is inside, who can go on, what explains its history, its steps.
struct Position {
    inside: u32,
    able: u32,
    explanations: Explanations,
    steps: Vec<Step>,
}

/// What the whole space says: what it took if it agrees, nothing if it is too large.
pub fn whole(
    search: &Search<'_>,
    initial: &State,
    guarantee: Guarantee,
) -> Result<Option<Reviewed>, Reason> {
    let clock = Instant::now();
    let most = search.common.options.second_opinion.states;
    let most = if guarantee.is_fair() { most.min(MOST_EXPLAINED) } else { most };
    if search.statistics.stored > most {
        return Ok(None);
    }
    let Some(space) = space(search, initial, most, guarantee.is_fair())? else { return Ok(None) };
    let subject = search.common.subject;
    let stalls = match guarantee {
        Guarantee::LockFree => someone_waits(&space) || goes_on(&space, u32::MAX),
        Guarantee::ObstructionFree => {
            let mut threads = 0..subject.fine.thread_count();
            someone_waits(&space) || threads.any(|thread| goes_on(&space, 1 << thread))
        }
        Guarantee::LivelockFree => livelocks(subject, &space).map_err(reason)?,
        Guarantee::StarvationFree => starves(search, &space)?,
    };
    if stalls {
        let why = "a plain run makes no progress".to_owned();
        return Err(Reason::Disagreement(why));
    }
    let steps = space.iter().map(|position| position.steps.len() as u64).sum();
    let whole = Some(space.len() as u64);
    Ok(Some(Reviewed { steps, whole, time: clock.elapsed(), ..Reviewed::default() }))
}

/// All positions, if there are not too many.
fn space(
    search: &Search<'_>,
    initial: &State,
    most: u64,
    explains: bool,
) -> Result<Option<Vec<Position>>, Reason> {
    let subject = search.common.subject;
    let fine = &subject.fine;
    let start = Explanations::start(subject).map_err(reason)?;
    let mut found = vec![(initial.clone(), start)];
    let mut numbers = FxHashMap::from_iter([(found[0].clone(), 0)]);
    let mut space: Vec<Position> = Vec::new();
    while space.len() < found.len() {
        if found.len() as u64 > most {
            return Ok(None);
        }
        checkpoint();
        is_in_time(search)?;
        let (from, explanations) = found[space.len()].clone();
        let inside = is_inside(subject, &from);
        let mut here = Position { inside, able: 0, explanations, steps: Vec::new() };
        for thread in 0..fine.thread_count() {
            let mut choices = Choices::default();
            loop {
                let mut to = State::default();
                let taken = fine.run(&from, thread, &mut choices, &mut to);
                here.able |= u32::from(!matches!(taken, Err(Stop::Waits | Stop::Ended))) << thread;
                if let Ok(seen) = taken {
                    let result = |words: &Vec<i32>| {
                        subject.result(method(fine, &from, thread, &seen.call), words)
                    };
                    let ret = seen.ret.as_ref().map(result);
                    throw_away(fine, &mut to);
                    let mut step = Step { to: 0, thread, call: seen.call.clone(), ret };
                    let after = match explains {
                        true => after(subject, &here.explanations, &step).map_err(reason)?,
                        false => here.explanations.clone(),
                    };
                    let target = (to, after);
                    step.to = *numbers.entry(target.clone()).or_insert(found.len());
                    if step.to == found.len() {
                        found.push(target);
                    }
                    here.steps.push(step);
                }
                if !choices.advance() {
                    break;
                }
            }
        }
        space.push(here);
    }
    Ok(Some(space))
}

fn after(subject: &Subject, all: &Explanations, step: &Step) -> Result<Explanations, SpecStop> {
    let called = step.call.as_ref().map(|call| all.call(step.thread, call));
    let all = called.unwrap_or_else(|| all.clone());
    match &step.ret {
        Some(result) => all.give_back(subject, step.thread, result),
        None => Ok(all),
    }
}

/// Whether some thread is inside and cannot go on.
fn someone_waits(space: &[Position]) -> bool {
    space.iter().any(|position| position.inside & !position.able != 0)
}

/// Whether some of these threads can go on for ever without a return: what is left when positions
/// without a next one are taken away, again and again.
fn goes_on(space: &[Position], who: u32) -> bool {
    let mut left = vec![true; space.len()];
    loop {
        checkpoint_now();
        let has_next = |left: &[bool], position: &Position| {
            let mut steps = position.steps.iter();
            steps.any(|s| s.ret.is_none() && who >> s.thread & 1 == 1 && left[s.to])
        };
        let gone: Vec<usize> =
            (0..space.len()).filter(|at| left[*at] && !has_next(&left, &space[*at])).collect();
        if gone.is_empty() {
            return left.contains(&true);
        }
        gone.into_iter().for_each(|at| left[at] = false);
    }
}

/// A node of a graph for fixpoints: marks, and edges with theirs.
#[derive(Default)]
struct Node {
    marks: u32,
    edges: Vec<(usize, u32)>,
}

/// Whether from some node of those that are left a run meets all these marks again and again.
fn meets(nodes: &[Node], mut left: Vec<bool>, needed: u32) -> bool {
    loop {
        let before = left.iter().filter(|left| **left).count();
        for mark in (0..u32::BITS).map(|bit| 1 << bit).filter(|mark| needed & mark != 0) {
            left = reaching(nodes, &left, mark);
        }
        let after = left.iter().filter(|left| **left).count();
        if after == before {
            return after > 0;
        }
    }
}

/// Of the nodes that are left those that reach a mark among themselves.
fn reaching(nodes: &[Node], left: &[bool], mark: u32) -> Vec<bool> {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    let mut reaches = vec![false; nodes.len()];
    let mut todo = Vec::new();
    checkpoint_now();
    for (at, node) in nodes.iter().enumerate().filter(|(at, _)| left[*at]) {
        let mut meets = node.marks & mark != 0;
        for (to, marks) in node.edges.iter().filter(|(to, _)| left[*to]) {
            meets |= marks & mark != 0;
            before[*to].push(at);
        }
        if meets {
            reaches[at] = true;
            todo.push(at);
        }
    }
    while let Some(at) = todo.pop() {
        for from in &before[at] {
            if !std::mem::replace(&mut reaches[*from], true) {
                todo.push(*from);
            }
        }
    }
    reaches
}

/// For each thread two marks: it gets its turn, it does not starve.
fn turn(thread: usize) -> u32 {
    1 << (2 * thread)
}
fn rests(thread: usize) -> u32 {
    2 << (2 * thread)
}
const RAN_OUT: u32 = 1 << 31;

/// What is met where nobody moves.
fn still(threads: usize, position: &Position) -> u32 {
    let marks = |thread: usize| match (position.inside >> thread & 1, position.able >> thread & 1) {
        (0, _) => turn(thread) | rests(thread),
        (_, 0) => turn(thread),
        _ => 0,
    };
    (0..threads).fold(0, |all, thread| all | marks(thread))
}

fn livelocks(subject: &Subject, space: &[Position]) -> Result<bool, SpecStop> {
    let threads = subject.fine.thread_count();
    let mut nodes = Vec::new();
    let mut left = Vec::new();
    for position in space {
        checkpoint();
        let steps = position.steps.iter().filter(|step| step.ret.is_none());
        let edges = steps.map(|step| (step.to, turn(step.thread))).collect();
        nodes.push(Node { marks: still(threads, position), edges });
        left.push(position.inside != 0 && !position.explanations.block(subject)?);
    }
    let needed = (0..threads).fold(0, |all, thread| all | turn(thread));
    // Calls lead to other explanations, so the positions from which a run begins are those in which
    // it stays: those that block may be left out.
    Ok(meets(&nodes, left, needed))
}

fn starves(search: &Search<'_>, space: &[Position]) -> Result<bool, Reason> {
    let threads = search.common.subject.fine.thread_count();
    for who in 1..1u32 << threads {
        is_in_time(search)?;
        let nodes = followed(search.common.subject, space, who).map_err(reason)?;
        let left = vec![true; nodes.len()];
        let others = (0..threads).filter(|thread| who >> thread & 1 == 0);
        let needed = (0..threads).fold(RAN_OUT, |all, thread| all | turn(thread));
        let needed = others.fold(needed, |all, thread| all | rests(thread));
        if meets(&nodes, left, needed) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The positions in which some threads are inside, without their returns, each with the
/// explanations that have kept them blocked since there was none left.
fn followed(subject: &Subject, space: &[Position], who: u32) -> Result<Vec<Node>, SpecStop> {
    let is_of_interest = |at: usize| space[at].inside & who == who;
    let mut keys: Vec<(usize, Explanations)> = Vec::new();
    for at in (0..space.len()).filter(|at| is_of_interest(*at)) {
        keys.push((at, space[at].explanations.blocking(subject, who)?));
    }
    let mut numbers: FxHashMap<(usize, Explanations), usize> =
        keys.iter().cloned().enumerate().map(|(number, key)| (key, number)).collect();
    let mut nodes: Vec<Node> = Vec::new();
    while nodes.len() < keys.len() {
        checkpoint();
        let (at, since) = keys[nodes.len()].clone();
        let ran_out = if since.is_empty() { RAN_OUT } else { 0 };
        let marks = still(subject.fine.thread_count(), &space[at]) | ran_out;
        let mut node = Node { marks, edges: Vec::new() };
        for step in space[at].steps.iter().filter(|step| is_of_interest(step.to)) {
            let is_starving = who >> step.thread & 1 == 1;
            if is_starving && step.ret.is_some() {
                continue;
            }
            let mut since = since.clone();
            if let Some(call) = &step.call {
                since = since.call(step.thread, call).still_blocking(subject, who)?;
            }
            if let Some(result) = &step.ret {
                since = since.returned(step.thread, result).still_blocking(subject, who)?;
            }
            let mut marks = turn(step.thread) | ran_out;
            marks |= if step.ret.is_some() { rests(step.thread) } else { 0 };
            if since.is_empty() {
                marks |= RAN_OUT;
                since = space[step.to].explanations.blocking(subject, who)?;
            }
            let key = (step.to, since);
            let fresh = keys.len();
            let to = *numbers.entry(key.clone()).or_insert(fresh);
            if to == fresh {
                keys.push(key);
            }
            node.edges.push((to, marks));
        }
        nodes.push(node);
    }
    Ok(nodes)
}
