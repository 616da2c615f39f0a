//! From representatives to a run: a path to a cycle of representatives becomes a run with real
//! thread numbers whose end can be repeated for ever.
//!
//! A cycle of representatives need not be one of states: after a round, threads, values and nodes
//! may have changed their names, and registers that nobody reads may differ. The rounds are taken
//! until a state comes again, up to names of nodes. That happens, since there are finitely many. The
//! states that are compared are those of the moves alone, taken from the start: what the run itself
//! goes on from may have forgotten what nobody reads, and comes again too soon.

use super::judge::{is_same, with_room};
use super::nonblocking::waits;
use super::steps::Message;
use crate::options::Guarantee;
use crate::outcome::{Counterexample, Move, Reason, ViolationKind};
use crate::path::Milestone;
use crate::search::Search;
use crate::second_opinion::plain::throw_away;
use crate::trace::{Found, Rebuilt, Start, advance, follow, note};
use crate::worker::Worker;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Machine, Seen, State};

/// The most steps of an unrolled run: a defect if it takes more.
const MOST_STEPS: usize = 100_000;

/// A cycle of representatives.
pub struct Circle {
    /// What it contradicts.
    pub guarantee: Guarantee,
    /// The representatives, from the one after the first step to the first one again.
    pub around: Vec<Milestone>,
    /// The place of the thread that takes all steps, if one does, in the representative at which
    /// the cycle begins.
    pub alone: Option<usize>,
}

/// A step whose thread is known.
pub struct Known {
    /// Who takes it.
    pub thread: usize,
    /// The operation that it begins.
    pub call: Option<Message>,
    /// The operation that it ends.
    pub ret: Option<Message>,
    /// The representative of the state after it.
    pub to: Milestone,
}

impl Known {
    fn is(&self, thread: usize, seen: &Seen) -> bool {
        let ret = self.ret.as_ref().map(|(_, words)| words);
        thread == self.thread && seen.call == self.call && seen.ret.as_ref() == ret
    }
}

/// The run along a path and round a circle.
pub fn unrolled(
    search: &Search<'_>,
    start: Start<'_>,
    path: &[Milestone],
    circle: &Circle,
) -> Result<Counterexample, Reason> {
    let mut worker = Worker::new(&search.common);
    let mut run = followed(search, &mut worker, start, path)?;
    let alone = match circle.alone {
        Some(place) => Some(at_place(search, &mut worker, &run.state, place)?),
        None => None,
    };
    let is_wanted = |thread: usize, seen: &Seen| {
        seen.ret.is_none() && alone.is_none_or(|alone| alone == thread)
    };
    let repeats = rounds(search, start.initial, &mut run, &mut |run| {
        for next in &circle.around {
            step(search, &mut worker, run, next, &is_wanted)?;
        }
        Ok(())
    })?;
    let starved = alone.map_or_else(|| inside(search, &run.state), |thread| 1 << thread);
    let kind = ViolationKind::NoProgress { guarantee: circle.guarantee, repeats, starved };
    Ok(run.finish(search, kind))
}

/// The run that takes some steps, and then others for ever.
pub fn known(
    search: &Search<'_>,
    start: Start<'_>,
    (prefix, circle): (&[Known], &[Known]),
    (guarantee, starved): (Guarantee, u32),
) -> Result<Counterexample, Reason> {
    let mut worker = Worker::new(&search.common);
    let mut run = Rebuilt::new(search, start.initial, start.set);
    for next in prefix {
        step(search, &mut worker, &mut run, &next.to, &|thread, seen| next.is(thread, seen))?;
    }
    let mut repeats = 0;
    if !circle.is_empty() {
        repeats = rounds(search, start.initial, &mut run, &mut |run| {
            for next in circle {
                step(search, &mut worker, run, &next.to, &|thread, seen| next.is(thread, seen))?;
            }
            Ok(())
        })?;
    }
    Ok(run.finish(search, ViolationKind::NoProgress { guarantee, repeats, starved }))
}

/// The run along a path to where a thread waits.
pub fn waiting(
    search: &Search<'_>,
    start: Start<'_>,
    path: &[Milestone],
    guarantee: Guarantee,
) -> Result<Counterexample, Reason> {
    let subject = search.common.subject;
    let mut run = followed(search, &mut Worker::new(&search.common), start, path)?;
    let threads = 0..subject.fine.thread_count();
    let found = threads.filter_map(|t| Some((t, waits(subject, &run.state, t)?))).next();
    let (thread, beginnings) = found.ok_or(Reason::Internal)?;
    for mut choices in beginnings {
        let mut to = State::default();
        note(search, &subject.fine, &mut run, Found { thread, choices: choices.clone() });
        choices.rewind();
        let taken = subject.fine.run(&run.state, thread, &mut choices, &mut to);
        taken.map_err(|_| Reason::Internal)?;
        run.arrive(search, to, start.set);
        if let Some(last) = run.moves.last_mut() {
            last.waits = true;
        }
    }
    Ok(run.finish(search, ViolationKind::Waits(guarantee)))
}

/// The run along a path; it must lead where the path does.
fn followed(
    search: &Search<'_>,
    worker: &mut Worker<'_>,
    start: Start<'_>,
    path: &[Milestone],
) -> Result<Rebuilt, Reason> {
    let run = follow(search, worker, start, path).ok_or(Reason::Internal)?;
    worker.find(&run.state).map_err(|_| Reason::Nodes)?;
    let arrived = path.last().is_some_and(|last| last.key == worker.canonical.key);
    arrived.then_some(run).ok_or(Reason::Internal)
}

/// Takes one more step, and makes room where nodes lie that nothing reaches.
fn step(
    search: &Search<'_>,
    worker: &mut Worker<'_>,
    run: &mut Rebuilt,
    next: &Milestone,
    is_wanted: &dyn Fn(usize, &Seen) -> bool,
) -> Result<(), Reason> {
    match advance(search, worker, run, next, is_wanted) {
        true => {
            throw_away(&search.common.subject.machine, &mut run.state);
            Ok(())
        }
        false => Err(Reason::Internal),
    }
}

/// Goes round until a state comes again; says how many of the last steps can be repeated.
fn rounds(
    search: &Search<'_>,
    initial: &State,
    run: &mut Rebuilt,
    round: &mut dyn FnMut(&mut Rebuilt) -> Result<(), Reason>,
) -> Result<usize, Reason> {
    let machine = &with_room(&search.common.subject.machine);
    let mut plain = Plain { state: initial.clone(), taken: 0 };
    let mut seen: Vec<(usize, State)> = Vec::new();
    while run.moves.len() < MOST_STEPS {
        plain.catch_up(machine, &run.moves)?;
        let again = seen.iter().find(|(_, state)| is_same(machine, state, &plain.state));
        if let Some((moves, _)) = again {
            return Ok(run.moves.len() - moves);
        }
        seen.push((run.moves.len(), plain.state.clone()));
        round(run)?;
    }
    Err(Reason::Internal)
}

/// Where the moves of a run lead, and how many of them were taken.
struct Plain {
    state: State,
    taken: usize,
}

impl Plain {
    fn catch_up(&mut self, machine: &Machine, moves: &[Move]) -> Result<(), Reason> {
        for Move { thread, choices, .. } in &moves[self.taken..] {
            let mut to = State::default();
            let taken =
                machine.run(&self.state, *thread, &mut Choices::following(choices), &mut to);
            taken.map_err(|_| Reason::Internal)?;
            throw_away(machine, &mut to);
            self.state = to;
        }
        self.taken = moves.len();
        Ok(())
    }
}

/// The thread that stands at a place of the representative.
fn at_place(
    search: &Search<'_>,
    worker: &mut Worker<'_>,
    state: &State,
    place: usize,
) -> Result<usize, Reason> {
    worker.find(state).map_err(|_| Reason::Nodes)?;
    let threads = &worker.canonical.renamings[0].threads;
    let mut all = 0..search.common.subject.machine.thread_count();
    all.find(|thread| threads[*thread] as usize == place).ok_or(Reason::Internal)
}

/// The threads inside of an operation, as a mask.
fn inside(search: &Search<'_>, state: &State) -> u32 {
    let machine = &search.common.subject.machine;
    let inside = (0..machine.thread_count()).filter(|thread| !machine.is_idle(state, *thread));
    inside.fold(0, |mask, thread| mask | 1 << thread)
}
