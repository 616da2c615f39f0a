//! A second opinion on *holds*. A space that was explored under reductions is no evidence by
//! itself: a reduction that drops what it must not drop makes the search quicker and the answer
//! wrong, and nobody notices.
//!
//! After a search that found nothing, plain runs of the same program within the same bounds are
//! taken ([`plain`]): no fusion, no symmetry, no attempts left out. While the space of these runs
//! is small it is explored whole; otherwise there are random runs of several kinds (`schedule`).
//! Each of them is judged three times:
//! - its history, by the definition of linearizability (`judge`), and each of its steps, by whether
//!   it is an error;
//! - each state in which all threads are between two operations, by whether the search met it, up
//!   to renaming;
//! - each state in which no thread can go on, by whether the specification would wait as well
//!   (`docs/answers.md`). Calls are steps of their own here, so nothing is hidden behind them
//!   (compare `deadlock`). A random run whose operations cannot be brought to their end lets idle
//!   threads call, until somebody can go on or nobody.
//!
//! *Theorem*: every state of a plain run in which all threads are idle is stored by a search that
//! is correct. Fusion and lock movers only reorder steps that commute, and no step is left half
//! done when all threads are idle; a pure iteration that is left out leaves the state at the end of
//! the operation as it was; a better state of the antichain has the same encoding; symmetry is
//! undone by comparing representatives. *Exception*: where the bound on nodes cut off a run, the
//! order of steps decides which runs are cut, and states are not compared ([`Reviewed::compared`]).
//!
//! *What it trusts*: the machine with fine steps, the interpreter of specifications, and for the
//! comparison of states (not for the histories) the representatives themselves. *What it cannot
//! see*: what no run in its share of the time comes to. A disagreement is a defect of the explorer,
//! and there is no verdict then.

pub(crate) mod judge;
pub(crate) mod plain;
mod schedule;

use crate::options::{Mode, Options};
use crate::search::{Search, locked};
use crate::store::{hash, shard_of};
use crate::worker::Worker;
use judge::Explanations;
use plain::{Next, Position, Step};
use rustc_hash::FxHashSet;
use schedule::{Random, Schedule};
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Fault, State};
use seriatim_lang::spec::SpecStop;
use seriatim_limits::{Cancel, Instant, checkpoint};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::time::Duration;

/// How many steps a random run takes for each thread, before the operations that it began are
/// brought to their end.
const STEPS: usize = 24;
/// How many choices of a thread are tried before another one is asked.
const TRIES: usize = 3;

/// What a second opinion is based on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reviewed {
    /// Random runs.
    pub runs: u64,
    /// Steps of plain runs, those of the whole space included.
    pub steps: u64,
    /// States with all threads idle that were looked up.
    pub compared: u64,
    /// Whether the whole space of plain runs was explored, and how many states it has.
    pub whole: Option<u64>,
    /// How long it took.
    pub time: Duration,
}

/// How a plain run contradicts a search that found nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disagreement {
    /// Nothing explains its history.
    Unexplained,
    /// One of its steps is an error.
    Fault(Fault),
    /// It comes to a state that was not explored.
    Unexplored,
    /// It comes to a state in which no thread can go on, though the specification could.
    Deadlock,
    /// The specification fails on it.
    Specification(SpecStop),
}

impl Disagreement {
    /// The disagreement as words.
    pub fn text(&self) -> String {
        match self {
            Disagreement::Unexplained => "a plain run is not linearizable".to_owned(),
            Disagreement::Fault(fault) => format!("a plain run has an error: {}", fault.text()),
            Disagreement::Unexplored => "a plain run comes to a state that was not explored".into(),
            Disagreement::Deadlock => "a plain run deadlocks".into(),
            Disagreement::Specification(stop) => format!("the specification fails: {stop:?}"),
        }
    }
}

/// Takes plain runs of what was searched, and says what they contradict.
pub fn second_opinion(search: &Search<'_>, initial: &State) -> Result<Reviewed, Disagreement> {
    let subject = search.common.subject;
    let options = search.common.options;
    if options.mode == Mode::Compat {
        // The specification of that mode has variables of its own for each thread, and it is there
        // to count states.
        return Ok(Reviewed::default());
    }
    let start = Position {
        state: initial.clone(),
        explanations: Rc::new(Explanations::start(subject).map_err(Disagreement::Specification)?),
    };
    let mut review = Review::new(search, start);
    let is_whole = Cancel::if_possible(|| review.whole()).unwrap_or(Ok(false))?;
    if !is_whole {
        review.random_runs()?;
    }
    review.reviewed.time = review.clock.elapsed();
    Ok(review.reviewed)
}

/// A second opinion in the making.
struct Review<'r, 's> {
    search: &'r Search<'s>,
    start: Position,
    worker: Worker<'r>,
    /// All encodings, where the store finds states only together with their sets.
    keys: Option<FxHashSet<Vec<u32>>>,
    clock: Instant,
    share: Duration,
    reviewed: Reviewed,
}

impl<'r, 's> Review<'r, 's> {
    fn new(search: &'r Search<'s>, start: Position) -> Self {
        let share = share(search.common.options, search.statistics.time);
        let keys = (!search.common.options.reductions.antichain).then(|| all_keys(search));
        let worker = Worker::new(&search.common);
        let reviewed = Reviewed::default();
        Review { search, start, worker, keys, clock: Instant::now(), share, reviewed }
    }

    /// Explores the whole space, depth first, if it is small; `false` if it is not.
    ///
    /// However long the search took: a small space is always looked at whole, if the limits allow
    /// it. It is not even begun where the search has more states than that, each of which stands for
    /// a plain one at least.
    fn whole(&mut self) -> Result<bool, Disagreement> {
        let most = self.search.common.options.second_opinion.states;
        let deadline = self.search.common.options.limits.time;
        let took = self.search.statistics.time;
        let is_late =
            |clock: &Instant| deadline.is_some_and(|limit| took + clock.elapsed() > limit);
        if self.search.statistics.stored > most {
            return Ok(false);
        }
        let mut seen = FxHashSet::from_iter([print(&self.start)]);
        let mut todo = vec![self.start.clone()];
        while let Some(from) = todo.pop() {
            checkpoint();
            if seen.len() as u64 > most || is_late(&self.clock) {
                return Ok(false);
            }
            let next = self.successors(&from)?;
            todo.extend(next.into_iter().filter(|next| seen.insert(print(next))));
        }
        self.reviewed.whole = Some(seen.len() as u64);
        Ok(true)
    }

    /// All positions after one step. There are some, or all threads are right to wait.
    fn successors(&mut self, from: &Position) -> Result<Vec<Position>, Disagreement> {
        let (mut found, mut goes_on) = (Vec::new(), false);
        for thread in 0..self.search.common.subject.fine.thread_count() {
            let mut choices = Choices::default();
            loop {
                match self.step(from, thread, &mut choices)? {
                    Next::To(next, _) => found.push(next),
                    Next::Cut => goes_on = true,
                    Next::Waits => {}
                }
                if !choices.advance() {
                    break;
                }
            }
        }
        if found.is_empty() && !goes_on {
            self.may_stand_still(from)?;
        }
        Ok(found)
    }

    /// No thread can go on: the specification must not be able to either.
    fn may_stand_still(&self, at: &Position) -> Result<(), Disagreement> {
        let common = &self.search.common;
        let fine = &common.subject.fine;
        let is_idle = (0..fine.thread_count()).all(|thread| fine.is_idle(&at.state, thread));
        // Where progress is asked about, nobody follows the histories.
        if is_idle || matches!(common.options.mode, Mode::Progress(_)) {
            return Ok(());
        }
        match at.explanations.block(common.subject).map_err(Disagreement::Specification)? {
            true => Ok(()),
            false => Err(Disagreement::Deadlock),
        }
    }

    fn random_runs(&mut self) -> Result<(), Disagreement> {
        // What it took to see that the space is not small does not count.
        let clock = Instant::now();
        while self.reviewed.runs < self.search.common.options.second_opinion.runs
            && clock.elapsed() < self.share
        {
            self.random_run()?;
            self.reviewed.runs += 1;
        }
        Ok(())
    }

    fn random_run(&mut self) -> Result<(), Disagreement> {
        let machine = &self.search.common.subject.fine;
        let threads = machine.thread_count();
        let mut random = Random::new(self.reviewed.runs);
        let mut schedule = Schedule::of(self.reviewed.runs, threads, &mut random);
        let mut at = self.start.clone();
        for number in 0..2 * STEPS * threads {
            let ends = number >= STEPS * threads;
            let order = schedule.order(&mut random).to_vec();
            let may_move = |thread: &usize| !ends || !machine.is_idle(&at.state, *thread);
            let order: Vec<usize> = order.into_iter().filter(may_move).collect();
            let mut taken = self.first_step(&at, &order, &mut random)?;
            if taken.is_none() && ends {
                // Those inside of an operation wait: for somebody who is idle, or for ever.
                let all: Vec<usize> = schedule.order(&mut random).to_vec();
                taken = self.first_step(&at, &all, &mut random)?;
            }
            let Some((thread, next, step)) = taken else {
                self.successors(&at)?;
                break;
            };
            schedule.moved(thread, step, &mut random);
            at = next;
        }
        Ok(())
    }

    /// The step of the first thread that can take one.
    fn first_step(
        &mut self,
        from: &Position,
        order: &[usize],
        random: &mut Random,
    ) -> Result<Option<(usize, Position, Step)>, Disagreement> {
        for thread in order {
            for _ in 0..TRIES {
                let mut choices = Choices::sampled(random.next());
                if let Next::To(next, step) = self.step(from, *thread, &mut choices)? {
                    return Ok(Some((*thread, next, step)));
                }
            }
        }
        Ok(None)
    }

    fn step(
        &mut self,
        from: &Position,
        thread: usize,
        choices: &mut Choices,
    ) -> Result<Next, Disagreement> {
        let common = &self.search.common;
        let judges = !matches!(common.options.mode, Mode::Progress(_));
        let found = plain::step(common.subject, from, thread, choices, judges)?;
        self.reviewed.steps += u64::from(matches!(found, Next::To(..)));
        if let Next::To(next, Step::Returned) = &found {
            self.compare(&next.state)?;
        }
        Ok(found)
    }

    /// Looks a state up if all threads are idle in it.
    fn compare(&mut self, state: &State) -> Result<(), Disagreement> {
        let common = &self.search.common;
        let machine = &common.subject.fine;
        let at_rest = (0..machine.thread_count()).all(|thread| machine.is_idle(state, thread));
        let comparable =
            common.options.reductions.heap_symmetry && !self.search.statistics.cuts.nodes;
        if !at_rest || !comparable || self.worker.find(state).is_err() {
            return Ok(());
        }
        self.reviewed.compared += 1;
        let key = &self.worker.canonical.key;
        let met = match &self.keys {
            Some(keys) => keys.contains(key),
            None => {
                let (hash, mut places) = (hash(key, 0), Vec::new());
                let shard = locked(&self.search.shards[shard_of(hash)]);
                shard.find(key, hash as u32, &mut places);
                !places.is_empty()
            }
        };
        if met { Ok(()) } else { Err(Disagreement::Unexplored) }
    }
}

/// How long a second opinion may take.
fn share(options: &Options, took: Duration) -> Duration {
    let asked = &options.second_opinion;
    let share = (took * asked.percent / 100).max(asked.least);
    match options.limits.time {
        Some(limit) => share.min(limit.saturating_sub(took)).max(asked.least / 10),
        None => share,
    }
}

/// The encodings of all states.
fn all_keys(search: &Search<'_>) -> FxHashSet<Vec<u32>> {
    let mut keys = FxHashSet::default();
    for shard in &search.shards {
        let shard = locked(shard);
        let mut at = 0;
        while at < shard.end() {
            keys.insert(shard.key(at).to_vec());
            at = shard.after(at);
        }
    }
    keys
}

/// A number of 128 bits for a position: two hashes that have nothing to do with each other.
pub(crate) fn print(position: &Position) -> (u64, u64) {
    let hashed = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        (salt, position).hash(&mut hasher);
        hasher.finish()
    };
    (hashed(1), hashed(2))
}
