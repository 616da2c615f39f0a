//! The course of a test: draw a scenario, run it, judge it, until something fails or the time is over;
//! then shrink, confirm, and report.

use crate::engine::{Effort, Engine, Found, Schedule};
use crate::failure::{Failed, Failure, busy_threads, columns, explanation};
use crate::oracle::{Judge, Law, Misuse};
use crate::random::Random;
use crate::run::Run;
use crate::scenario::{KindId, Scenario, Step};
use crate::shrink::shrink;
use crate::subject::Subject;
use seriatim_history::{Format, History, write};
use seriatim_monitor::Detail;
use seriatim_spec::{Counterexample, Verdict};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a test that found nothing has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// How the object was run.
    pub engine: String,
    /// The number of scenarios.
    pub scenarios: u64,
    /// The number of executions of all scenarios.
    pub executions: u64,
    /// The number of executions that differed in a result or in the order of the operations.
    pub different: u64,
    /// The number of scenarios of which every execution was seen, up to the engine's bound.
    pub complete: u64,
    /// The number of executions that could not be decided in time.
    pub undecided: u64,
}

impl std::fmt::Display for Passed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Passed { engine, scenarios, executions, different, complete, undecided } = self;
        write!(
            f,
            "no failure found by {engine}: {scenarios} scenarios, {executions} executions, \
             {different} different ones"
        )?;
        if *complete > 0 {
            write!(f, ", {complete} scenarios explored completely")?;
        }
        if *undecided > 0 {
            write!(f, ", {undecided} executions undecided")?;
        }
        Ok(())
    }
}

/// What became of a test: it passed, it failed, or it cannot be run.
pub(crate) type Ran = Result<Result<Passed, Box<Failed>>, Misuse>;

/// A declared test, ready to run.
pub(crate) struct Campaign {
    pub subject: Arc<dyn Subject>,
    pub law: Law,
    pub name: String,
    pub budget: Duration,
    pub drain: Option<KindId>,
    pub threads: std::ops::RangeInclusive<usize>,
    pub seed: u64,
}

impl Campaign {
    /// Runs the test.
    pub fn run(&self, engine: &mut dyn Engine) -> Ran {
        let mut judge = Judge::new(self.subject.clone(), self.law.clone());
        let until = Instant::now() + self.budget;
        let mut random = Random::of(self.seed);
        let (mut scenarios, mut complete) = (0, 0);
        while scenarios == 0 || Instant::now() < until {
            let scenario = Arc::new(self.draw(engine, scenarios, &mut random));
            scenarios += 1;
            judge.forget();
            let effort = Effort { executions: engine.patience(&scenario), until };
            let hunted = engine.hunt(&mut judge, &scenario, effort)?;
            complete += u64::from(hunted.complete);
            if let Some(found) = hunted.found {
                return self.conclude(engine, &mut judge, found).map(Err);
            }
        }
        let Judge { executions, different, undecided, .. } = judge;
        let engine = engine.describe();
        Ok(Ok(Passed { engine, scenarios, executions, different, complete, undecided }))
    }

    /// Runs one execution again.
    pub fn replay(&self, engine: &mut dyn Engine, line: &str) -> Ran {
        let misread = |error| Misuse(format!("cannot replay `{line}`: {error}"));
        let (scenario, schedule) = line
            .rsplit_once('@')
            .ok_or_else(|| misread("expected a scenario, `@` and a schedule".to_owned()))?;
        let scenario = Scenario::from_line(scenario.trim(), &*self.subject).map_err(misread)?;
        let schedule = Schedule::from_text(schedule.trim()).map_err(misread)?;
        let mut judge = Judge::new(self.subject.clone(), self.law.clone());
        let effort = Effort { executions: u64::MAX, until: Instant::now() + self.budget };
        let hunted = engine.replay(&mut judge, &Arc::new(scenario), &schedule, effort)?;
        match hunted.found {
            Some(found) => {
                let found = engine.retrace(&mut judge, found, effort);
                self.report(&mut judge, found, 1).map(Err)
            }
            None => Ok(Ok(Passed {
                engine: format!("replay ({})", engine.describe()),
                scenarios: 1,
                executions: judge.executions,
                different: judge.different,
                complete: 0,
                undecided: judge.undecided,
            })),
        }
    }

    /// The report of a call of the main thread that does not return.
    pub fn hang(
        &self,
        scenario: Arc<Scenario>,
        step: &Step,
        patience: Duration,
    ) -> Result<Box<Failed>, Misuse> {
        let calls = vec![step.text(&*self.subject)];
        let failure = Failure::Hang { calls, patience: format!("{patience:?}") };
        let run = Run::default();
        let found = Found { scenario, failure, run, schedule: Schedule::Stress };
        self.report(&mut Judge::new(self.subject.clone(), self.law.clone()), found, 0)
    }

    fn draw(&self, engine: &mut dyn Engine, turn: u64, random: &mut Random) -> Scenario {
        let mut shape = engine.shape(turn);
        shape.threads = shape.threads.clamp(*self.threads.start(), *self.threads.end());
        let mut scenario = Scenario::draw(&*self.subject, shape, Random::of(random.any()));
        scenario.drain = self.drain;
        scenario
    }

    fn conclude(
        &self,
        engine: &mut dyn Engine,
        judge: &mut Judge,
        found: Found,
    ) -> Result<Box<Failed>, Misuse> {
        let executions = judge.executions;
        // A hang costs its whole time-out at each attempt and leaves threads behind.
        let found = match found.failure {
            Failure::Hang { .. } => found,
            _ => {
                let time = self.budget.clamp(Duration::from_secs(1), Duration::from_secs(10));
                let effort = Effort { executions: u64::MAX, until: Instant::now() + time };
                let smallest = shrink(engine, judge, &*self.subject, found, effort)?;
                let effort = Effort { until: Instant::now() + time, ..effort };
                engine.retrace(judge, smallest, effort)
            }
        };
        self.report(judge, found, executions)
    }

    fn report(
        &self,
        judge: &mut Judge,
        mut found: Found,
        executions: u64,
    ) -> Result<Box<Failed>, Misuse> {
        let (mut why, mut shown) = (String::new(), None);
        let history = match &found.failure {
            Failure::Violation(_) => {
                let (history, checked) = judge.check(&found.run, Detail::Minimal)?;
                if let Verdict::Violation(counterexample) = checked.verdict {
                    why = explanation(&counterexample, &history);
                    shown = shown_calls(&found.run, &counterexample, &history);
                    found.failure = Failure::Violation(counterexample);
                }
                history
            }
            _ => {
                let misuse = |error| Misuse(format!("the execution is no history: {error}"));
                let spec = self.law.spec.as_deref();
                found.run.history(&*self.subject, spec).map_err(misuse)?
            }
        };
        let scenario = found.scenario.to_line(&*self.subject);
        let file = self.save(&history);
        let replay = format!("{scenario} @ {}", found.schedule);
        let mut failed = Failed {
            failure: found.failure,
            threads: busy_threads(&found.scenario),
            calls: found.scenario.len(),
            scenario,
            history,
            file,
            replay,
            executions,
            report: String::new(),
        };
        let columns = match shown {
            Some(run) => {
                format!(
                    "the calls that matter:\n{}",
                    columns(&run, &*self.subject, &found.schedule)
                )
            }
            None => columns(&found.run, &*self.subject, &found.schedule),
        };
        failed.report = self.text(&failed, &columns, &why);
        Ok(Box::new(failed))
    }

    fn text(&self, failed: &Failed, columns: &str, why: &str) -> String {
        let mut text = format!("{}: {}\n", self.name, failed.failure.sentence());
        let _ = writeln!(text, "\nscenario: {}\n", failed.scenario);
        text.push_str(columns);
        if !why.is_empty() {
            let _ = write!(
                text,
                "\nno order explains these results (specification: {}):\n{why}",
                self.law.reader.name()
            );
        }
        let _ = writeln!(text, "\nfound after {} executions", failed.executions);
        if let Some(file) = &failed.file {
            let _ = writeln!(text, "history: {}", file.display());
        }
        let quoted = failed.replay.replace('\'', "'\\''");
        let _ = writeln!(text, "replay: SERIATIM_REPLAY='{quoted}' cargo test {}", self.name);
        text
    }

    /// Writes the history where build results live; a test must not fail for want of a file.
    fn save(&self, history: &History) -> Option<PathBuf> {
        let folder = output_folder();
        std::fs::create_dir_all(&folder).ok()?;
        let name: String =
            self.name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
        let path = folder.join(format!("{name}.jsonl"));
        let mut file = std::fs::File::create(&path).ok()?;
        write(history, Format::JsonLines, &mut file).ok()?;
        Some(path)
    }
}

/// The part of a long execution that the counterexample names; `None` if it is short enough as it is.
fn shown_calls(run: &Run, counterexample: &Counterexample, history: &History) -> Option<Run> {
    let named: Vec<usize> =
        counterexample.operations.iter().map(|&op| history.line(op) as usize - 1).collect();
    (run.calls().count() > 16).then(|| run.restricted(&named))
}

/// `SERIATIM_OUT`, else the folder `seriatim` beside the test binary's, else a temporary one.
fn output_folder() -> PathBuf {
    if let Some(folder) = std::env::var_os("SERIATIM_OUT") {
        return folder.into();
    }
    let binary = std::env::current_exe().unwrap_or_default();
    let beside = binary.ancestors().find(|folder| folder.file_name().is_some_and(|n| n == "deps"));
    let target = beside.and_then(|deps| deps.parent()?.parent());
    target.map_or_else(std::env::temp_dir, PathBuf::from).join("seriatim")
}
