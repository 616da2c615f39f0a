//! Shrinking: from a scenario that fails to the smallest one that still does.
//!
//! First everything goes that the counterexample of the failing execution does not need (or all but
//! that and what was under way at the same time), and it is tried whether the calls fail also one after another on one thread. Then threads, parts and
//! single calls are left out one after another as long as what remains fails in the same way. If
//! that ends with more than a handful of calls, which happens when every smaller scenario fails too
//! rarely to be caught, handfuls of the calls that the counterexample names, and handfuls drawn at
//! random, are tried for a while; then leaving out begins again with more executions for each
//! candidate. At last distinct values are numbered anew. Every step is run again, so that the
//! result is a failure that was seen and not one that was inferred. It ends when nothing can be
//! left out of a handful, or when its time is over, and says which.

use crate::engine::{Effort, Engine, Found};
use crate::failure::busy_threads;
use crate::oracle::{Judge, Trouble};
use crate::random::Random;
use crate::run::{Called, End};
use crate::scenario::{Scenario, Shape, Step};
use crate::subject::{Caller, Subject};
use seriatim_history::{Time, Value};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How the shrinking went.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    pub time: Duration,
    /// The number of scenarios that were tried.
    pub tried: u64,
    pub end: Ending,
}

/// Why it ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Ending {
    /// Nothing was tried.
    #[default]
    NotTried,
    /// Nothing that is smaller was seen to fail.
    Nothing,
    /// The time was over.
    Time,
}

/// Makes a failure as small as possible.
pub(crate) fn shrink(
    engine: &mut dyn Engine,
    judge: &mut Judge,
    subject: &dyn Subject,
    found: Found,
    effort: Effort,
) -> Result<(Found, Course), Trouble> {
    let begin = Instant::now();
    let mut shrinking = Shrinking {
        engine,
        judge,
        subject,
        effort,
        tried: HashSet::new(),
        attempts: 0,
        patience: FIRST_PATIENCE,
        random: Random::of(1),
    };
    let mut found = shrinking.smallest(found)?;
    let end = match shrinking.effort.is_over() {
        true => Ending::Time,
        false => Ending::Nothing,
    };
    let scenario = renumbered(&found.scenario, subject);
    if scenario != *found.scenario
        && let Some(renumbered) = shrinking.attempt(&found, scenario)?
    {
        found = renumbered;
    }
    shrinking.judge.forget();
    let tried = shrinking.attempts;
    let found = engine.simplify(judge, found, effort);
    Ok((found, Course { time: begin.elapsed(), tried, end }))
}

struct Shrinking<'s> {
    engine: &'s mut dyn Engine,
    judge: &'s mut Judge,
    subject: &'s dyn Subject,
    effort: Effort,
    tried: HashSet<Scenario>,
    attempts: u64,
    /// How long a candidate is tried, in units of the engine's patience.
    patience: u64,
    random: Random,
}

/// So many calls are easy to follow.
pub(crate) const HANDFUL: usize = 5;
/// What a candidate is given at first, in units of the engine's patience; each round gives it four
/// times more.
const FIRST_PATIENCE: u64 = 2;
/// So long handfuls are tried between two rounds.
const LUCKY: Duration = Duration::from_secs(1);

impl Shrinking<'_> {
    fn smallest(&mut self, mut found: Found) -> Result<Found, Trouble> {
        if let Some(smaller) = self.by_counterexample(&found)? {
            found = smaller;
        }
        if let Some(smaller) = self.by_one_thread(&found)? {
            found = smaller;
        }
        loop {
            while let Some(smaller) = self.by_leaving_out(&found)? {
                found = smaller;
                self.patience = FIRST_PATIENCE;
            }
            if found.scenario.len() <= HANDFUL || self.effort.is_over() {
                return Ok(found);
            }
            match self.by_luck(&found)? {
                Some(smaller) => found = smaller,
                None => {
                    self.patience *= 4;
                    self.tried.clear();
                }
            }
        }
    }

    /// Runs a candidate; gives the failure if it fails like the original.
    fn attempt(&mut self, found: &Found, candidate: Scenario) -> Result<Option<Found>, Trouble> {
        let same = |other: &Found| found.failure.is_like(&other.failure);
        Ok(self.try_out(candidate)?.filter(same))
    }

    /// Runs a candidate; gives the failure if it fails somehow.
    fn try_out(&mut self, candidate: Scenario) -> Result<Option<Found>, Trouble> {
        let candidate = candidate.tidied(self.subject);
        if candidate.len() == 0 && candidate.drain.is_none() {
            return Ok(None);
        }
        if self.effort.is_over() || !self.tried.insert(candidate.clone()) {
            return Ok(None);
        }
        self.attempts += 1;
        self.judge.forget();
        let executions = self.patience * self.engine.patience(&candidate);
        let effort = Effort { executions, ..self.effort };
        let hunted = self.engine.hunt(self.judge, &Arc::new(candidate), effort)?;
        Ok(hunted.found)
    }

    /// Only the calls that the counterexample of the failing execution names.
    fn by_counterexample(&mut self, found: &Found) -> Result<Option<Found>, Trouble> {
        let Some(culprits) = self.judge.culprits(&found.run) else {
            return Ok(None);
        };
        if let Some(smaller) = self.by_named(found, places(found, &culprits))? {
            return Ok(Some(smaller));
        }
        // Calls that no order explains need not contain the one to blame: a push that is stopped
        // half-way and returns nothing. It was under way at the same time.
        let beside = overlapping(found, &culprits);
        let patience = std::mem::replace(&mut self.patience, FIRST_PATIENCE * 4);
        let smaller = self.by_named(found, places(found, &beside));
        self.patience = patience;
        smaller
    }

    /// Only some calls.
    fn by_named(
        &mut self,
        found: &Found,
        named: HashSet<(Caller, usize)>,
    ) -> Result<Option<Found>, Trouble> {
        let mut scenario = found.scenario.only(|caller, place| named.contains(&(caller, place)));
        let main = found.scenario.before.len() + found.scenario.after.len();
        let drained = |&(caller, place): &(Caller, usize)| caller == Caller::Main && place >= main;
        if found.run.main.len() > main && !named.iter().any(drained) {
            scenario.drain = None;
        }
        self.attempt(found, scenario)
    }

    /// The same calls one after another on one thread, in the order in which they were made.
    fn by_one_thread(&mut self, found: &Found) -> Result<Option<Found>, Trouble> {
        let main = |(_, step): (Caller, &Step)| step.may_be_called(self.subject, Caller::Main);
        if busy_threads(&found.scenario) == 0 || !found.scenario.steps().all(main) {
            return Ok(None);
        }
        let mut calls: Vec<&Called> = found.run.calls().map(|(_, called)| called).collect();
        calls.sort_by_key(|called| called.slot.call);
        let before = calls.into_iter().map(|called| called.step.clone()).collect();
        self.attempt(found, Scenario { before, ..Scenario::default() })
    }

    /// A handful of calls: some of those that the counterexample names, or others at random.
    fn by_luck(&mut self, found: &Found) -> Result<Option<Found>, Trouble> {
        let culprits = self.judge.culprits(&found.run);
        let named = culprits.map(|culprits| places(found, &culprits)).unwrap_or_default();
        let named: Vec<(Caller, usize)> = named.into_iter().collect();
        let until = Instant::now() + LUCKY;
        // Many candidates for a moment each, rather than few for long.
        let patience = std::mem::replace(&mut self.patience, 1);
        let lucky = self.until_lucky(found, &named, until);
        self.patience = patience;
        lucky
    }

    fn until_lucky(
        &mut self,
        found: &Found,
        named: &[(Caller, usize)],
        until: Instant,
    ) -> Result<Option<Found>, Trouble> {
        while Instant::now() < until && !self.effort.is_over() {
            let candidate = match self.random.below(2) {
                0 if named.len() > 1 => self.some_of(found, named),
                _ => self.drawn(found),
            };
            // A small scenario that fails in another way is worth more than a large one.
            if candidate.len() <= HANDFUL
                && let Some(smaller) = self.try_out(candidate)?
            {
                return Ok(Some(smaller));
            }
        }
        Ok(None)
    }

    fn some_of(&mut self, found: &Found, named: &[(Caller, usize)]) -> Scenario {
        let count = self.random.between(2, HANDFUL);
        let mut pick = || named[self.random.below(named.len() as u64) as usize];
        let chosen: HashSet<(Caller, usize)> = (0..count).map(|_| pick()).collect();
        let mut some = found.scenario.only(|caller, place| chosen.contains(&(caller, place)));
        if !self.subject.binds_threads() {
            some.threads.retain(|steps| !steps.is_empty());
            // Two threads meet more easily than three.
            while some.threads.len() > 2 {
                let last = some.threads.pop().unwrap_or_default();
                some.threads[self.random.below(2) as usize].extend(last);
            }
        }
        some
    }

    fn drawn(&mut self, found: &Found) -> Scenario {
        let threads = match self.subject.binds_threads() {
            true => found.scenario.threads.len(),
            false => [1, 2, 2, 2, 2, 3][self.random.below(6) as usize],
        };
        let shape = Shape {
            threads,
            calls: self.random.between(1, HANDFUL.div_ceil(threads.max(1))),
            before: self.random.between(0, 2),
            after: self.random.between(0, 2),
        };
        let luck = Random::of(self.random.any());
        let drain = found.scenario.drain;
        Scenario { drain, ..Scenario::draw(self.subject, shape, luck) }
    }

    /// One thread, part or call less.
    fn by_leaving_out(&mut self, found: &Found) -> Result<Option<Found>, Trouble> {
        for candidate in smaller(&found.scenario) {
            if let Some(smaller) = self.attempt(found, candidate)? {
                return Ok(Some(smaller));
            }
        }
        Ok(None)
    }
}

/// The places of some calls of a run: who called, and the how-manieth call it was.
fn places(found: &Found, culprits: &[usize]) -> HashSet<(Caller, usize)> {
    let mut counts: HashMap<Caller, usize> = HashMap::new();
    let mut named = HashSet::new();
    for (index, (caller, _)) in found.run.calls().enumerate() {
        let count = counts.entry(caller).or_default();
        if culprits.contains(&index) {
            named.insert((caller, *count));
        }
        *count += 1;
    }
    named
}

/// Some calls of a run and those that overlap one of them.
fn overlapping(found: &Found, culprits: &[usize]) -> Vec<usize> {
    let interval = |called: &Called| match called.slot.end {
        End::Returned(ret, _) => (called.slot.call, ret),
        _ => (called.slot.call, Time::MAX),
    };
    let calls: Vec<(Time, Time)> = found.run.calls().map(|(_, called)| interval(called)).collect();
    let overlaps = |one: &usize, other: &usize| {
        calls[*one].0 <= calls[*other].1 && calls[*other].0 <= calls[*one].1
    };
    let meets = |call: &usize| culprits.iter().any(|culprit| overlaps(call, culprit));
    (0..calls.len()).filter(meets).collect()
}

/// The scenarios that leave something out, the boldest first.
fn smaller(scenario: &Scenario) -> Vec<Scenario> {
    let mut smaller = Vec::new();
    for thread in 0..scenario.threads.len() {
        let mut candidate = scenario.clone();
        candidate.threads[thread].clear();
        smaller.push(candidate);
    }
    if !scenario.before.is_empty() {
        smaller.push(Scenario { before: Vec::new(), ..scenario.clone() });
    }
    if !scenario.after.is_empty() {
        smaller.push(Scenario { after: Vec::new(), ..scenario.clone() });
    }
    if scenario.drain.is_some() {
        smaller.push(Scenario { drain: None, ..scenario.clone() });
    }
    let parts = scenario.parts().count();
    for part in 0..parts {
        let length = scenario.parts().nth(part).map_or(0, Vec::len);
        // Halves first: long scenarios lose much at once.
        let mut width = (length / 2).max(1);
        while width >= 1 && length > 0 {
            for start in (0..length).step_by(width) {
                let mut candidate = scenario.clone();
                let steps = candidate.parts_mut().nth(part).expect("the part is there");
                steps.drain(start..length.min(start + width));
                smaller.push(candidate);
            }
            if width == 1 {
                break;
            }
            width /= 2;
        }
    }
    smaller.retain(|candidate| candidate != scenario);
    smaller
}

/// The scenario with its distinct numbers counted from 1 again.
fn renumbered(scenario: &Scenario, subject: &dyn Subject) -> Scenario {
    let mut numbers: HashMap<Value, i64> = HashMap::new();
    let mut scenario = scenario.clone();
    for step in scenario.parts_mut().flatten() {
        if !subject.kind(step.kind).distinct {
            continue;
        }
        if let Some(arg) = &mut step.arg {
            let next = numbers.len() as i64 + 1;
            let number = *numbers.entry(arg.clone()).or_insert(next);
            *arg = Value::Int(number);
        }
    }
    scenario
}
