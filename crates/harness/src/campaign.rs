//! The course of a test: one thread first, then scenarios one after another, each run and judged,
//! until something fails or the budget is spent; then shrink, confirm, and report.

use crate::columns::columns;
use crate::coverage::Overlap;
use crate::engine::{Effort, Engine, Found, Schedule};
use crate::failure::{Failed, Failure, busy_threads};
use crate::identity::Identity;
use crate::oracle::{Judge, Oracle, Trouble};
use crate::passed::Passed;
use crate::random::Random;
use crate::run::{End, Run};
use crate::scenario::{KindId, Scenario, Shape, Step};
use crate::shrink::{Course, Ending, HANDFUL, shrink};
use crate::steps::{source, steps};
use crate::subject::{Blocking, Caller, Subject};
use seriatim_history::{Format, History, write};
use seriatim_monitor::Detail;
use seriatim_report::terminal::attempts;
use seriatim_spec::{Counterexample, Verdict};
use std::fmt::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What became of a test: it passed, it failed, or there is no word on its object.
pub(crate) type Ran = Result<Result<Passed, Box<Failed>>, Trouble>;

/// A declared test, ready to run.
pub(crate) struct Campaign {
    pub subject: Arc<dyn Subject>,
    pub oracle: Oracle,
    pub identity: Identity,
    pub budget: Budget,
    pub drain: Option<KindId>,
    pub threads: std::ops::RangeInclusive<usize>,
    pub seed: u64,
}

/// How much to spend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// On looking for a failure.
    pub time: Duration,
    /// On looking for a failure, whichever ends first.
    pub executions: u64,
    /// On shrinking it.
    pub shrinking: Duration,
}

/// The share of the budget for one thread by itself.
const ONE_THREAD_SHARE: u32 = 10;
/// The most that one thread by itself is given, if the machine is not too busy for some scenarios.
const ONE_THREAD: Duration = Duration::from_millis(200);
/// The scenarios of one thread that are wanted, as long as they do not take a third of the budget.
const ONE_THREAD_SCENARIOS: u64 = 100;
const ONE_THREAD_LIMIT: u32 = 3;

/// A campaign under way.
struct Progress {
    judge: Judge,
    random: Random,
    begin: Instant,
    scenarios: u64,
    complete: u64,
}

impl Campaign {
    /// Runs the test.
    pub fn run(&self, engine: &mut dyn Engine) -> Ran {
        let mut progress = Progress {
            judge: self.judge(),
            random: Random::of(self.seed),
            begin: Instant::now(),
            scenarios: 0,
            complete: 0,
        };
        let found = match self.on_one_thread(engine, &mut progress)? {
            Some(found) => Some(found),
            None => self.on_threads(engine, &mut progress)?,
        };
        if let Some(found) = found {
            return self.conclude(engine, &mut progress, found).map(Err);
        }
        self.passed(engine, progress)
    }

    fn judge(&self) -> Judge {
        Judge::new(self.subject.clone(), self.oracle.clone(), self.budget.time)
    }

    /// Scenarios of one thread: what fails there needs no concurrency, and is told and shrunk as
    /// such.
    fn on_one_thread(
        &self,
        engine: &mut dyn Engine,
        progress: &mut Progress,
    ) -> Result<Option<Found>, Trouble> {
        let enough = progress.begin + (self.budget.time / ONE_THREAD_SHARE).min(ONE_THREAD);
        let until = progress.begin + self.budget.time / ONE_THREAD_LIMIT;
        let callers = self.lone_callers();
        for &caller in callers.iter().cycle() {
            let now = Instant::now();
            let is_enough = now >= enough && progress.scenarios >= ONE_THREAD_SCENARIOS;
            if is_enough || now >= until || progress.judge.executions >= self.budget.executions / 10
            {
                break;
            }
            let calls = progress.random.between(1, engine.longest_alone());
            let scenario = self.lone(caller, calls, Random::of(progress.random.any()));
            let effort = Effort { executions: 1, until };
            if let Some(found) = self.hunt(engine, progress, scenario, effort)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Who may make calls alone: the main thread if it may make them all, else each bound thread.
    fn lone_callers(&self) -> Vec<Caller> {
        let kinds = self.subject.kinds();
        if kinds.iter().all(|kind| kind.callers.admits(Caller::Main)) {
            return vec![Caller::Main];
        }
        let mut threads: Vec<usize> =
            kinds.iter().filter_map(|kind| kind.callers.thread()).collect();
        threads.sort_unstable();
        threads.dedup();
        threads.into_iter().map(Caller::Thread).collect()
    }

    fn lone(&self, caller: Caller, calls: usize, random: Random) -> Scenario {
        let (threads, before) = match caller {
            Caller::Main => (0, calls),
            Caller::Thread(thread) => (thread + 1, 0),
        };
        let shape = Shape { threads, calls, before, after: 0 };
        let mut scenario = Scenario::draw(&*self.subject, shape, random);
        for (thread, steps) in scenario.threads.iter_mut().enumerate() {
            // Alone, a call that may wait would wait for ever.
            let waits =
                |step: &Step| !matches!(self.subject.kind(step.kind).blocking, Blocking::Never);
            steps.retain(|step| caller == Caller::Thread(thread) && !waits(step));
        }
        scenario.drain = self.drain;
        scenario
    }

    fn on_threads(
        &self,
        engine: &mut dyn Engine,
        progress: &mut Progress,
    ) -> Result<Option<Found>, Trouble> {
        let until = progress.begin + self.budget.time;
        // Few executions are better spent on several scenarios than on the first.
        let share = (self.budget.executions / 10).max(1);
        let mut turn = 0;
        while turn == 0
            || Instant::now() < until && progress.judge.executions < self.budget.executions
        {
            let scenario = self.draw(engine, turn, &mut progress.random);
            turn += 1;
            let left = self.budget.executions.saturating_sub(progress.judge.executions).max(1);
            let patience = engine.patience(&scenario).min(share);
            let effort = Effort { executions: patience.min(left), until };
            if let Some(found) = self.hunt(engine, progress, scenario, effort)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn hunt(
        &self,
        engine: &mut dyn Engine,
        progress: &mut Progress,
        scenario: Scenario,
        effort: Effort,
    ) -> Result<Option<Found>, Trouble> {
        progress.scenarios += 1;
        progress.judge.forget();
        // Of one thread there is one interleaving, and seeing it is nothing to be proud of.
        let races = busy_threads(&scenario) > 1;
        let hunted = engine.hunt(&mut progress.judge, &Arc::new(scenario), effort)?;
        progress.complete += u64::from(hunted.complete && races);
        Ok(hunted.found)
    }

    fn draw(&self, engine: &mut dyn Engine, turn: u64, random: &mut Random) -> Scenario {
        let mut shape = engine.shape(turn);
        shape.threads = shape.threads.clamp(*self.threads.start(), *self.threads.end());
        let mut scenario = match self.may_wait() && random.below(2) == 0 {
            true => {
                // It takes three to leave one of two waiting.
                shape.threads = shape.threads.max(3).min(*self.threads.end());
                Scenario::draw_waiting(&*self.subject, shape, Random::of(random.any()))
            }
            false => Scenario::draw(&*self.subject, shape, Random::of(random.any())),
        };
        scenario.drain = self.drain;
        scenario
    }

    /// Whether calls may wait for those of other threads.
    fn may_wait(&self) -> bool {
        let mut kinds = self.subject.kinds().iter();
        *self.threads.end() > 1 && kinds.any(|kind| !matches!(kind.blocking, Blocking::Never))
    }

    fn passed(&self, engine: &mut dyn Engine, progress: Progress) -> Ran {
        let Progress { judge, scenarios, complete, begin, .. } = progress;
        // Also where none ran: a budget that is too small acquits nobody.
        if judge.undecided == judge.different {
            let failure = Failure::Undecided { executions: judge.different };
            return self.nothing_known(failure, &judge, begin.elapsed()).map(Err);
        }
        if judge.answered == 0 {
            let failure = Failure::Unanswered { calls: judge.calls };
            return self.nothing_known(failure, &judge, begin.elapsed()).map(Err);
        }
        Ok(Ok(Passed {
            engine: engine.describe(),
            scenarios,
            complete,
            outlived: engine.outlived(),
            ..self.counted(&judge, begin.elapsed())
        }))
    }

    /// What a judge has counted.
    fn counted(&self, judge: &Judge, time: Duration) -> Passed {
        let overlaps: Vec<Overlap> = match *self.threads.end() {
            0 | 1 => Vec::new(),
            _ => judge.coverage.overlaps(&*self.subject),
        };
        Passed {
            engine: String::new(),
            scenarios: 1,
            executions: judge.executions,
            different: judge.different,
            complete: 0,
            undecided: judge.undecided,
            impossible: judge.impossible,
            disturbed: judge.disturbed,
            calls: judge.calls,
            answered: judge.answered,
            time,
            overlaps,
            outlived: 0,
        }
    }

    /// Runs one execution again.
    pub fn replay(&self, engine: &mut dyn Engine, line: &str) -> Ran {
        let misread = |error| Trouble::Misuse(format!("cannot replay `{line}`: {error}"));
        let (scenario, schedule) = line
            .rsplit_once('@')
            .ok_or_else(|| misread("expected a scenario, `@` and a schedule".to_owned()))?;
        let scenario = Scenario::from_line(scenario.trim(), &*self.subject).map_err(misread)?;
        let schedule = Schedule::from_text(schedule.trim()).map_err(misread)?;
        let (mut judge, begin) = (self.judge(), Instant::now());
        let effort = Effort { executions: u64::MAX, until: begin + self.budget.time };
        let hunted = engine.replay(&mut judge, &Arc::new(scenario), &schedule, effort)?;
        match hunted.found {
            Some(found) => {
                let found = engine.retrace(&mut judge, found, effort);
                let executions = judge.executions;
                let search =
                    Search { executions, time: begin.elapsed(), course: Course::default() };
                self.report(&mut judge, found, search).map(Err)
            }
            None => Ok(Ok(Passed {
                engine: format!("replay ({})", engine.describe()),
                overlaps: Vec::new(),
                ..self.counted(&judge, begin.elapsed())
            })),
        }
    }

    /// The answer of a test that was told to rest while another is replayed.
    pub fn rest(&self) -> Passed {
        let engine = "nobody: another test is replayed".to_owned();
        Passed { engine, overlaps: Vec::new(), ..self.counted(&self.judge(), Duration::ZERO) }
    }

    /// The report of a call of the main thread that does not return.
    pub fn hang(
        &self,
        scenario: Arc<Scenario>,
        step: &Step,
        patience: Duration,
    ) -> Result<Box<Failed>, Trouble> {
        let calls = vec![step.text(&*self.subject)];
        let failure = Failure::Hang { calls, patience: format!("{patience:?}") };
        let run = Run::default();
        let found = Found { scenario, failure, run, schedule: Schedule::Stress };
        let search = Search { executions: 0, time: patience, course: Course::default() };
        self.report(&mut self.judge(), found, search)
    }

    fn nothing_known(
        &self,
        failure: Failure,
        judge: &Judge,
        time: Duration,
    ) -> Result<Box<Failed>, Trouble> {
        let (run, schedule) = (Run::default(), Schedule::Stress);
        let found = Found { scenario: Arc::default(), failure, run, schedule };
        let search = Search { executions: judge.executions, time, course: Course::default() };
        self.report(&mut self.judge(), found, search)
    }

    fn conclude(
        &self,
        engine: &mut dyn Engine,
        progress: &mut Progress,
        found: Found,
    ) -> Result<Box<Failed>, Trouble> {
        let judge = &mut progress.judge;
        let (executions, time) = (judge.executions, progress.begin.elapsed());
        let mut course = Course::default();
        // A hang costs its whole time-out at each attempt and leaves threads behind.
        let waits = found.run.calls().any(|(_, called)| called.slot.end == End::Stuck);
        let found = match found.failure {
            Failure::Hang { .. } => found,
            _ if waits && found.schedule == Schedule::Stress => found,
            _ => {
                let until = Instant::now() + self.budget.shrinking;
                let effort = Effort { executions: u64::MAX, until };
                let smallest;
                (smallest, course) = shrink(engine, judge, &*self.subject, found, effort)?;
                let until = Instant::now() + self.budget.shrinking.max(Duration::from_secs(1));
                engine.retrace(judge, smallest, Effort { until, ..effort })
            }
        };
        self.report(judge, found, Search { executions, time, course })
    }

    fn report(
        &self,
        judge: &mut Judge,
        mut found: Found,
        search: Search,
    ) -> Result<Box<Failed>, Trouble> {
        let (mut why, mut shown) = (String::new(), None);
        let history = match found.failure.counterexample() {
            Some(_) => {
                let (history, checked) = judge.check(&found.run, Detail::Minimal)?;
                if let Verdict::Violation(counterexample) = checked.verdict {
                    why = attempts(&counterexample, &history);
                    shown = shown_calls(&found.run, &counterexample, &history);
                    found.failure = Failure::disagreement(counterexample, &found.run);
                }
                history
            }
            None => {
                let misuse =
                    |error| Trouble::Misuse(format!("the execution is no history: {error}"));
                let spec = self.oracle.spec.as_deref();
                found.run.history(&*self.subject, spec).map_err(misuse)?
            }
        };
        let scenario = found.scenario.to_line(&*self.subject);
        let file = self.save(&history);
        let replay = format!("{scenario} @ {}", found.schedule);
        let source = source(&found.run);
        let mut failed = Failed {
            failure: found.failure,
            threads: busy_threads(&found.scenario),
            calls: found.scenario.len(),
            scenario,
            history,
            run: steps(&found.run, &*self.subject, !source.is_empty()),
            source,
            file,
            page: None,
            replay,
            executions: search.executions,
            found_after: search.time,
            shrunk_in: search.course.time,
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
        failed.page = self.save_page(&failed);
        failed.report = self.text(&failed, &columns, &why, &search.course);
        Ok(Box::new(failed))
    }

    fn text(&self, failed: &Failed, columns: &str, why: &str, course: &Course) -> String {
        let mut text = format!("{}: {}\n", self.identity.name, failed.failure.sentence());
        if !failed.failure.is_about_nothing() {
            let _ = writeln!(text, "\nscenario: {}\n", failed.scenario);
            text.push_str(columns);
        }
        if !why.is_empty() {
            let headline = match failed.failure {
                Failure::Disagreement(_) => "the specification gives other results",
                _ => "no order explains these results",
            };
            let name = self.oracle.reader.name();
            let _ = write!(text, "\n{headline} (specification: {name}):\n{why}");
        }
        let (executions, time) = (failed.executions, failed.found_after);
        let _ = writeln!(text, "\nfound after {executions} executions in {time:.1?}");
        text.push_str(&self.about_shrinking(failed, course));
        if let Some(file) = &failed.file {
            let _ = writeln!(text, "history: {}", file.display());
        }
        if let Some(page) = &failed.page {
            let _ = writeln!(text, "page: {}", page.display());
        }
        let _ = writeln!(text, "replay: {}", self.identity.replay_command(&failed.replay));
        text
    }

    /// How the shrinking went, and why it did not go farther.
    fn about_shrinking(&self, failed: &Failed, course: &Course) -> String {
        if course.end == Ending::NotTried {
            return String::new();
        }
        let (calls, tried, limit) = (failed.calls, course.tried, self.budget.shrinking);
        let took = course.time;
        let mut text = format!(
            "shrunk to {calls} calls in {took:.1?} of {limit:.1?}: {tried} scenarios tried"
        );
        match course.end {
            Ending::Time if calls > HANDFUL => text.push_str(
                "; the time was over, and no smaller scenario was seen to fail (it may need all of \
                 these calls, or fail too rarely; `shrink_for` gives more time)",
            ),
            Ending::Time => text.push_str("; the time was over"),
            Ending::Nothing | Ending::NotTried => {
                text.push_str("; nothing smaller was seen to fail");
            }
        }
        text.push('\n');
        text
    }

    /// Writes the history where build results live; a test must not fail for want of a file.
    fn save(&self, history: &History) -> Option<PathBuf> {
        let path = self.identity.file();
        std::fs::create_dir_all(path.parent()?).ok()?;
        let mut file = std::fs::File::create(&path).ok()?;
        write(history, Format::JsonLines, &mut file).ok()?;
        Some(path)
    }

    /// Writes the page beside the history.
    fn save_page(&self, failed: &Failed) -> Option<PathBuf> {
        let path = failed.file.as_ref()?.with_extension("html");
        let command = self.identity.replay_command(&failed.replay);
        let page = failed.page(&self.identity.name, &*self.oracle.reader, &command);
        std::fs::write(&path, page).ok()?;
        Some(path)
    }
}

/// How a failure was found.
struct Search {
    executions: u64,
    time: Duration,
    course: Course,
}

/// The part of a long execution that the counterexample and its explanation speak of, the calls of
/// the context included; `None` if the execution is short enough as it is.
fn shown_calls(run: &Run, counterexample: &Counterexample, history: &History) -> Option<Run> {
    let context = counterexample.context.iter().flat_map(|context| &context.order);
    let spoken_of = counterexample.operations.iter().chain(context);
    let named: Vec<usize> = spoken_of.map(|&op| history.line(op) as usize - 1).collect();
    (run.calls().count() > 16).then(|| run.restricted(&named))
}
