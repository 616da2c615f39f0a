//! What all ways to run a scenario have in common.

use crate::failure::Failure;
use crate::oracle::{Judge, Trouble};
use crate::run::Run;
use crate::scenario::{Scenario, Shape};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How hard to try.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// The number of executions.
    pub executions: u64,
    /// The end of the time.
    pub until: Instant,
}

impl Effort {
    pub fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// The same, but no longer than so many nanoseconds from now.
    pub fn within(self, nanoseconds: u64) -> Self {
        let now = Instant::now();
        let limit = now.checked_add(Duration::from_nanos(nanoseconds)).unwrap_or(self.until);
        Effort { until: self.until.min(limit), ..self }
    }
}

/// How the threads of an execution were scheduled, as far as it can be repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// By the operating system: run it again and again.
    Stress,
    /// The task that goes on at each step, as (task, steps) one after another.
    Shuttle(Vec<(usize, usize)>),
    /// The number of an execution in Loom's order under a bound on preemptions.
    Loom { preemptions: usize, execution: u64 },
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Stress => f.write_str("stress"),
            Schedule::Shuttle(steps) => {
                f.write_str("shuttle")?;
                steps.iter().try_for_each(|(task, steps)| write!(f, " {task}*{steps}"))
            }
            Schedule::Loom { preemptions, execution } => {
                write!(f, "loom {preemptions}/{execution}")
            }
        }
    }
}

impl Schedule {
    /// Reads what [`Display`](fmt::Display) writes; the error says what was expected.
    pub fn from_text(text: &str) -> Result<Schedule, String> {
        let expected =
            || format!("expected `stress`, `shuttle 0*1 …` or `loom 2/7`, found `{text}`");
        let mut words = text.split_whitespace();
        let pair = |word: &str, separator| -> Option<(usize, usize)> {
            let (first, second) = word.split_once(separator)?;
            Some((first.parse().ok()?, second.parse().ok()?))
        };
        match words.next() {
            Some("stress") => Some(Schedule::Stress),
            Some("shuttle") => {
                words.map(|word| pair(word, '*')).collect::<Option<_>>().map(Schedule::Shuttle)
            }
            Some("loom") => words.next().and_then(|word| pair(word, '/')).map(|(bound, number)| {
                Schedule::Loom { preemptions: bound, execution: number as u64 }
            }),
            _ => None,
        }
        .ok_or_else(expected)
    }
}

/// An execution that fails.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub scenario: Arc<Scenario>,
    pub failure: Failure,
    pub run: Run,
    pub schedule: Schedule,
}

#[cfg(any(feature = "shuttle", feature = "loom"))]
impl Found {
    /// Another sight of this failure, if that is what was found; else this one.
    pub fn seen_again(self, again: Result<Hunted, Trouble>) -> Found {
        match again.ok().and_then(|hunted| hunted.found) {
            Some(again) if self.failure.is_like(&again.failure) => again,
            _ => self,
        }
    }
}

/// What a hunt ended with.
#[derive(Debug)]
pub(crate) struct Hunted {
    pub found: Option<Found>,
    /// Whether all executions (up to the engine's bound) were seen.
    pub complete: bool,
}

/// A way to run a scenario many times.
pub(crate) trait Engine {
    /// Its name and what it can see, for the summary.
    fn describe(&self) -> String;

    /// How large the next scenario is to be.
    fn shape(&mut self, turn: u64) -> Shape;

    /// Runs a scenario until it fails or the effort is spent.
    fn hunt(
        &mut self,
        judge: &mut Judge,
        scenario: &Arc<Scenario>,
        effort: Effort,
    ) -> Result<Hunted, Trouble>;

    /// The number of executions of a scenario before the next one has its turn.
    fn patience(&self, scenario: &Scenario) -> u64;

    /// Repeats an execution; what cannot be repeated exactly is hunted.
    fn replay(
        &mut self,
        judge: &mut Judge,
        scenario: &Arc<Scenario>,
        schedule: &Schedule,
        effort: Effort,
    ) -> Result<Hunted, Trouble>;

    /// Makes the schedule of a failure simpler, if the engine controls it.
    fn simplify(&mut self, judge: &mut Judge, found: Found, effort: Effort) -> Found;

    /// The most calls of a scenario of one thread. Objects for an explorer are often made small.
    fn longest_alone(&self) -> usize {
        8
    }

    /// The number of values that outlived their objects without becoming more.
    fn outlived(&self) -> i64 {
        0
    }

    /// Repeats a failure once more, with the accesses of its calls written down, if the engine can.
    fn retrace(&mut self, _judge: &mut Judge, found: Found, _effort: Effort) -> Found {
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schedule_can_be_read_back() {
        let schedules = [
            Schedule::Stress,
            Schedule::Shuttle(vec![(0, 3), (2, 1)]),
            Schedule::Loom { preemptions: 2, execution: 417 },
        ];
        for schedule in schedules {
            assert_eq!(Schedule::from_text(&schedule.to_string()), Ok(schedule));
        }
        assert!(Schedule::from_text("loom two").unwrap_err().contains("expected"));
    }
}
