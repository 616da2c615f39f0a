//! From a scenario that fails to the smallest one that still does.
//!
//! First everything goes that the counterexample of the failing execution does not need; then threads,
//! parts and single calls are left out one after another as long as what remains fails in the same
//! way. If that ends with more than a handful of calls, which happens when every smaller scenario fails too rarely
//! to be caught, scenarios of a handful of calls are drawn at random as long as there is time; at
//! last distinct values are numbered anew. Every step is run again, so that the result is
//! a failure that was seen and not one that was inferred. It ends when nothing can be left out or
//! the time is over.

use crate::engine::{Effort, Engine, Found};
use crate::oracle::{Judge, Misuse};
use crate::random::Random;
use crate::scenario::{Scenario, Shape, Step};
use crate::subject::{Caller, Subject};
use seriatim_history::Value;
use std::collections::{HashMap, HashSet};
use std::mem::discriminant;
use std::sync::Arc;

/// Makes a failure as small as possible.
pub(crate) fn shrink(
    engine: &mut dyn Engine,
    judge: &mut Judge,
    subject: &dyn Subject,
    found: Found,
    effort: Effort,
) -> Result<Found, Misuse> {
    let mut shrinking =
        Shrinking { engine, judge, subject, effort, tried: HashSet::new(), random: Random::of(1) };
    let mut found = found;
    if let Some(smaller) = shrinking.by_counterexample(&found)? {
        found = smaller;
    }
    loop {
        while let Some(smaller) = shrinking.by_leaving_out(&found)? {
            found = smaller;
        }
        match shrinking.by_luck(&found)? {
            Some(smaller) => found = smaller,
            None => break,
        }
    }
    let scenario = renumbered(&found.scenario, subject);
    if scenario != *found.scenario
        && let Some(renumbered) = shrinking.attempt(&found, scenario)?
    {
        found = renumbered;
    }
    shrinking.judge.forget();
    Ok(engine.simplify(judge, found, effort))
}

struct Shrinking<'s> {
    engine: &'s mut dyn Engine,
    judge: &'s mut Judge,
    subject: &'s dyn Subject,
    effort: Effort,
    tried: HashSet<Scenario>,
    random: Random,
}

/// So many calls are easy to follow.
const HANDFUL: usize = 5;

impl Shrinking<'_> {
    /// Runs a candidate; gives the failure if it fails like the original.
    fn attempt(&mut self, found: &Found, candidate: Scenario) -> Result<Option<Found>, Misuse> {
        let same = |other: &Found| discriminant(&other.failure) == discriminant(&found.failure);
        Ok(self.try_out(found, candidate)?.filter(same))
    }

    /// Runs a candidate; gives the failure if it fails somehow.
    fn try_out(&mut self, found: &Found, candidate: Scenario) -> Result<Option<Found>, Misuse> {
        let useless = candidate.threads.iter().all(Vec::is_empty) && candidate.parallel() == 0;
        if useless && found.scenario.parallel() > 0 && candidate.before.is_empty() {
            return Ok(None);
        }
        if self.effort.is_over() || !self.tried.insert(candidate.clone()) {
            return Ok(None);
        }
        self.judge.forget();
        let executions = 8 * self.engine.patience(&candidate);
        let effort = Effort { executions, ..self.effort };
        let hunted = self.engine.hunt(self.judge, &Arc::new(candidate), effort)?;
        Ok(hunted.found)
    }

    /// Only the calls that the counterexample of the failing execution names.
    fn by_counterexample(&mut self, found: &Found) -> Result<Option<Found>, Misuse> {
        let Some(culprits) = self.judge.culprits(&found.run) else {
            return Ok(None);
        };
        let mut scenario = (*found.scenario).clone();
        let keep = |wanted: &dyn Fn(Caller, usize) -> bool, caller, steps: &mut Vec<Step>, from| {
            let mut place: usize = from;
            steps.retain(|_| {
                place += 1;
                wanted(caller, place - 1)
            });
        };
        let named: HashSet<(Caller, usize)> = places(found, &culprits);
        let wanted = |caller, place| named.contains(&(caller, place));
        let before = scenario.before.len();
        keep(&wanted, Caller::Main, &mut scenario.before, 0);
        keep(&wanted, Caller::Main, &mut scenario.after, before);
        for (thread, steps) in scenario.threads.iter_mut().enumerate() {
            keep(&wanted, Caller::Thread(thread), steps, 0);
        }
        scenario.threads.retain(|steps| !steps.is_empty() || self.subject_binds_threads());
        let drains = found.run.main.len() > before + found.scenario.after.len();
        let calls_at_end = named.iter().any(|&(caller, place)| {
            caller == Caller::Main && place >= before + found.scenario.after.len()
        });
        if drains && !calls_at_end {
            scenario.drain = None;
        }
        self.attempt(found, scenario)
    }

    /// Whether operations are bound to threads, whose numbers must then stay.
    fn subject_binds_threads(&self) -> bool {
        self.subject.kinds().iter().any(|kind| kind.thread.is_some())
    }

    /// A scenario of a handful of calls, drawn at random, if the present one is larger.
    fn by_luck(&mut self, found: &Found) -> Result<Option<Found>, Misuse> {
        let threads_are_bound = self.subject_binds_threads();
        while found.scenario.len() > HANDFUL && !self.effort.is_over() {
            let threads = match threads_are_bound {
                true => found.scenario.threads.len(),
                false => self.random.between(1, 3),
            };
            let shape = Shape {
                threads,
                calls: self.random.between(1, HANDFUL.div_ceil(threads)),
                before: self.random.between(0, 2),
                after: self.random.between(0, 2),
            };
            let luck = Random::of(self.random.any());
            let mut candidate = Scenario::draw(self.subject, shape, luck);
            candidate.drain = found.scenario.drain;
            // A small scenario that fails in another way is worth more than a large one.
            if candidate.len() <= HANDFUL
                && let Some(smaller) = self.try_out(found, candidate)?
            {
                return Ok(Some(smaller));
            }
        }
        Ok(None)
    }

    /// One thread, part or call less.
    fn by_leaving_out(&mut self, found: &Found) -> Result<Option<Found>, Misuse> {
        for candidate in smaller(&found.scenario, self.subject_binds_threads()) {
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

/// The scenarios that leave something out, the boldest first.
fn smaller(scenario: &Scenario, threads_are_bound: bool) -> Vec<Scenario> {
    let mut smaller = Vec::new();
    for thread in 0..scenario.threads.len() {
        let mut candidate = scenario.clone();
        match threads_are_bound {
            true => candidate.threads[thread].clear(),
            false => drop(candidate.threads.remove(thread)),
        }
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
    let nothing_left = |candidate: &Scenario| candidate.len() == 0;
    smaller.retain(|candidate| candidate != scenario && !nothing_left(candidate));
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
