//! All parts of a history, both directions, any number of threads: everybody takes turns.
//!
//! Parts are independent (P-compositionality), so each is searched for itself. A part that runs for
//! long goes back into the queue and those with less effort behind them come first, so an easy
//! violation is found whatever hard part stands before it. A part that its depth-first search does
//! not decide in the first turn gets a breadth-first one as a competitor; with several threads the
//! two run at the same time, and the first answer wins.
//!
//! A fast monitor that turns out to be slow ([`Rival`]) works beside the searches, on one thread:
//! whenever it has done some work, the searches go on for as long, if need be in the middle of a
//! turn. So the first answer takes about twice as long as it would alone, whoever gives it.
//!
//! Which violation is *the first* does not depend on who is faster. Every turn has a `Place` in the
//! order in which one thread would take turns, and what a turn finds depends on nothing but the
//! part; so the first violation is the one whose turn has the first place. Once there is one, turns
//! with an earlier place are still taken, later ones are not, and what they found meanwhile is
//! forgotten.

use super::engine::{Engine, operations_of};
use super::{Memory, Part, Progress};
use crate::fast::Budget;
use seriatim_history::{History, OpId};
use seriatim_spec::Strategy;
use seriatim_spec::{Cancel, Interpretation, Limit};
use std::cell::Cell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock};
use std::thread::Builder;

/// What is known of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// It is linearizable in this order.
    Linearizable(Vec<OpId>),
    /// It is not.
    Violation,
    /// Something ran out; so many of its events are linearizable.
    Open(Limit, usize),
}

/// What to decide and when to stop.
pub struct Plan<'a> {
    /// The history.
    pub history: &'a History,
    /// The history as the specification reads it.
    pub reading: &'a Interpretation,
    /// The operations of each part, in call order.
    pub parts: &'a [Vec<OpId>],
    /// The directions to try, the first one first.
    pub strategies: &'a [Strategy],
    /// The number of threads.
    pub threads: usize,
    /// When the first violation is found, the rest is left open.
    pub stop_at_first: StopAt,
    /// Who may stop it.
    pub cancel: &'a Cancel,
    /// The memory that it may use.
    pub memory: &'a Memory,
    /// Told now and then how it goes.
    pub observer: Option<&'a (dyn Fn(Standing) + Sync)>,
}

/// When to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopAt {
    /// At the first violation.
    FirstViolation,
    /// When all parts are decided.
    End,
}

/// How a long check stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    /// Parts decided.
    pub parts_decided: usize,
    /// All parts.
    pub parts: usize,
    /// Operations in decided parts.
    pub operations_decided: usize,
    /// All operations.
    pub operations: usize,
    /// Configurations met so far.
    pub configurations: usize,
}

/// Somebody else who may decide parts, and may take long.
pub struct Rival<'r> {
    /// The parts that it is asked about, by their places in the plan.
    pub parts: &'r [usize],
    /// Decides a part, unless the budget stops it or it gives up.
    pub decide: &'r dyn Fn(usize, &dyn Budget) -> Option<Finding>,
}

/// What was found, and how.
pub struct Outcome {
    /// What is known of each part.
    pub findings: Vec<Finding>,
    /// Which direction decided each part.
    pub strategies: Vec<Strategy>,
    /// Configurations met in all parts.
    pub configurations: usize,
}

/// The expansions of a first turn, beyond one for each operation.
const FIRST_TURN: u64 = 1 << 11;
/// The expansions of the longest turn.
const LONGEST_TURN: u64 = 1 << 16;

/// The work of a monitor that takes as long as one expansion.
const WORK_OF_EXPANSION: u64 = 3;
/// The expansions with which the searches begin, beyond one for each operation: a history that few
/// choices are wrong for is decided by then.
const HEAD_START: u64 = if cfg!(test) { 0 } else { 1 << 9 };
/// The work of a monitor after which the searches go on.
const WORK_OF_SLICE: u64 = 1 << 10;

/// What an expansion weighs: breadth first, it makes all successors, and most of them are entered
/// only once everything before them is.
fn weight(strategy: Strategy) -> u64 {
    match strategy {
        Strategy::DepthFirst => 1,
        Strategy::BreadthFirst => 2,
    }
}

/// Decides all parts, as far as the limits allow.
pub fn run(plan: &Plan<'_>, rival: &Rival<'_>) -> Outcome {
    let parts: Vec<OnceLock<Part<'_>>> = plan.parts.iter().map(|_| OnceLock::new()).collect();
    let queue = WorkQueue::new(plan, &parts);
    queue.compete(rival);
    // However many threads may be used, no more than there are searches have something to do.
    let workers = plan.threads.min(plan.parts.len() * plan.strategies.len());
    if workers <= 1 {
        queue.work();
    } else {
        std::thread::scope(|scope| {
            for _ in 0..workers {
                // Where no thread is to be had, this one does the work.
                if Builder::new().spawn_scoped(scope, || queue.work()).is_err() {
                    queue.work();
                    break;
                }
            }
        });
    }
    queue.outcome()
}

/// A search that waits for its turn.
struct Task<'a> {
    part: usize,
    strategy: Strategy,
    engine: Option<Engine<'a>>,
    turn: u64,
    /// The expansions of this turn that were made before it was interrupted.
    made: u64,
    effort: u64,
}

/// When a turn is taken: the least effort so far first, then the smallest part.
type Place = (u64, usize, Strategy);

impl Task<'_> {
    /// A search of a part, before its first turn.
    fn new(part: usize, strategy: Strategy) -> Self {
        Task { part, strategy, engine: None, turn: 0, made: 0, effort: 0 }
    }

    /// The place of its next turn.
    fn place(&self) -> Place {
        (self.effort, self.part, self.strategy)
    }

    fn urgency(&self) -> Reverse<Place> {
        Reverse(self.place())
    }
}

impl PartialEq for Task<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.urgency() == other.urgency()
    }
}

impl Eq for Task<'_> {}

impl PartialOrd for Task<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Task<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.urgency().cmp(&other.urgency())
    }
}

/// Where the threads fetch their work and leave their results.
struct WorkQueue<'p, 'a> {
    plan: &'p Plan<'a>,
    parts: &'p [OnceLock<Part<'p>>],
    state: Mutex<State<'p>>,
    changed: Condvar,
}

struct State<'p> {
    waiting: BinaryHeap<Task<'p>>,
    running: usize,
    findings: Vec<Option<Finding>>,
    strategies: Vec<Strategy>,
    standing: Standing,
    /// The place of the first violation, where that ends the search.
    first: Option<Place>,
}

impl<'p, 'a: 'p> WorkQueue<'p, 'a> {
    fn new(plan: &'p Plan<'a>, parts: &'p [OnceLock<Part<'p>>]) -> Self {
        let first = plan.strategies[0];
        let waiting = (0..plan.parts.len()).map(|part| Task::new(part, first)).collect();
        let operations = plan.parts.iter().map(Vec::len).sum();
        let standing = Standing { parts: plan.parts.len(), operations, ..Standing::default() };
        let state = State {
            waiting,
            running: 0,
            findings: vec![None; plan.parts.len()],
            strategies: vec![first; plan.parts.len()],
            standing,
            first: None,
        };
        WorkQueue { plan, parts, state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Takes turns until nothing is left to do.
    fn work(&self) {
        while let Some(task) = self.fetch() {
            self.take_turn(task, u64::MAX);
        }
    }

    /// Lets a rival decide parts while the searches take turns.
    fn compete(&self, rival: &Rival<'_>) {
        for &part in rival.parts {
            // It has had a turn, or was not let begin: the searches do.
            let operations = self.plan.parts[part].len() as u64;
            let owed = Cell::new((HEAD_START + operations) * WORK_OF_EXPANSION);
            let turns = Turns { queue: self, part, owed };
            if turns.is_over() || !turns.spend(0) {
                continue;
            }
            if let Some(finding) = (rival.decide)(part, &turns) {
                let task = Task::new(part, self.plan.strategies[0]);
                self.state().record(&task, finding, self.plan);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State<'p>> {
        self.state.lock().expect("no thread panics with the lock")
    }

    fn fetch(&self) -> Option<Task<'p>> {
        let mut state = self.state();
        loop {
            match state.waiting.pop() {
                Some(task) if state.is_needless(&task) => self.retire(task),
                Some(task) => {
                    state.running += 1;
                    return Some(task);
                }
                None if state.running == 0 => return None,
                None => state = self.changed.wait(state).expect("no thread panics with the lock"),
            }
        }
    }

    /// Takes a turn, or as much of it as so many expansions are; gives those that it was meant to
    /// take.
    fn take_turn(&self, mut task: Task<'p>, most: u64) -> u64 {
        let plan = self.plan;
        let cell = &self.parts[task.part];
        let operations = &plan.parts[task.part];
        if cell.get().is_none() && !plan.memory.holds(Part::least_bytes(plan.history, operations)) {
            self.hand_in(task, Some(Finding::Open(Limit::Memory, 0)), 0);
            return 0;
        }
        if task.engine.is_none()
            && let Some(reason) = plan.cancel.reason()
        {
            self.hand_in(task, Some(Finding::Open(reason.into(), 0)), 0);
            return 0;
        }
        let part = cell.get_or_init(|| Part::new(plan.history, plan.reading, operations));
        let engine =
            task.engine.get_or_insert_with(|| Engine::new(part, task.strategy, plan.cancel));
        let whole = match task.turn {
            0 => FIRST_TURN + u64::from(part.end().0) * 2,
            turn => FIRST_TURN.saturating_mul(1 << turn.min(32)).min(LONGEST_TURN),
        };
        let expansions = most.min(whole - task.made);
        let before = engine.configurations();
        let progress = engine.run(expansions, plan.cancel, plan.memory);
        let met = engine.configurations() - before;
        let events = engine.linearizable_events();
        let finding = match progress {
            Progress::Found(steps) => Some(Finding::Linearizable(operations_of(part, &steps))),
            Progress::Exhausted => Some(Finding::Violation),
            Progress::Paused => None,
            Progress::OutOfMemory => Some(Finding::Open(Limit::Memory, events)),
            Progress::Cancelled => {
                let limit = plan.cancel.reason().map_or(Limit::Cancelled, Limit::from);
                Some(Finding::Open(limit, events))
            }
        };
        task.made += expansions;
        if finding.is_none() && task.made < whole {
            self.interrupt(task, met);
            return expansions;
        }
        if finding.is_none() {
            task.effort += whole * weight(task.strategy);
            task.made = 0;
        }
        self.hand_in(task, finding, met);
        expansions
    }

    /// Puts a task back in the middle of its turn, which goes on later at the same place.
    fn interrupt(&self, task: Task<'p>, met: usize) {
        let mut state = self.state();
        state.running -= 1;
        state.standing.configurations += met;
        state.waiting.push(task);
        drop(state);
        self.changed.notify_all();
    }

    fn hand_in(&self, mut task: Task<'p>, finding: Option<Finding>, met: usize) {
        let mut state = self.state();
        state.running -= 1;
        state.standing.configurations += met;
        if finding.is_none() && task.turn == 0 {
            self.add_competitors(&mut state, &task);
        }
        if state.is_needless(&task) {
            self.retire(task);
        } else if let Some(finding) = finding {
            state.record(&task, finding, self.plan);
            self.retire(task);
        } else {
            task.turn += 1;
            state.waiting.push(task);
        }
        if let Some(observer) = self.plan.observer {
            observer(state.standing);
        }
        drop(state);
        self.changed.notify_all();
    }

    fn add_competitors(&self, state: &mut State<'p>, task: &Task<'p>) {
        for &strategy in self.plan.strategies.iter().filter(|&&other| other != task.strategy) {
            let competes = task.strategy == self.plan.strategies[0];
            if competes {
                state.waiting.push(Task::new(task.part, strategy));
            }
        }
    }

    fn retire(&self, task: Task<'p>) {
        if let Some(engine) = task.engine {
            engine.retire(self.plan.memory);
        }
    }

    fn outcome(self) -> Outcome {
        let mut state = self.state.into_inner().expect("no thread panics with the lock");
        let open = Finding::Open(Limit::Cancelled, 0);
        if let Some((_, first, _)) = state.first {
            let others = state.findings.iter_mut().enumerate().filter(|&(part, _)| part != first);
            let violations = others.filter(|(_, finding)| **finding == Some(Finding::Violation));
            violations.for_each(|(_, finding)| *finding = None);
        }
        Outcome {
            findings: state.findings.into_iter().map(|f| f.unwrap_or(open.clone())).collect(),
            strategies: state.strategies,
            configurations: state.standing.configurations,
        }
    }
}

/// The searches' turns while a rival decides a part.
struct Turns<'t, 'p, 'a> {
    queue: &'t WorkQueue<'p, 'a>,
    part: usize,
    /// The rival's work that the searches have not made up for.
    owed: Cell<u64>,
}

impl<'p, 'a: 'p> Turns<'_, 'p, 'a> {
    /// Whether what the rival may find is not wanted any more.
    fn is_over(&self) -> bool {
        let state = self.queue.state();
        let finding = &state.findings[self.part];
        let is_decided = matches!(finding, Some(Finding::Linearizable(_) | Finding::Violation));
        is_decided || state.first.is_some()
    }
}

impl<'p, 'a: 'p> Budget for Turns<'_, 'p, 'a> {
    fn spend(&self, work: usize) -> bool {
        self.owed.set(self.owed.get() + work as u64);
        if self.owed.get() < WORK_OF_SLICE {
            return true;
        }
        while let most @ 1.. = self.owed.get() / WORK_OF_EXPANSION
            && !self.is_over()
            && let Some(task) = self.queue.fetch()
        {
            // A turn that could not begin is not taken again.
            let taken = self.queue.take_turn(task, most).max(1);
            self.owed.set(self.owed.get().saturating_sub(taken * WORK_OF_EXPANSION));
        }
        !self.is_over() && !self.queue.plan.cancel.is_raised()
    }
}

impl State<'_> {
    /// Whether what a task may find is not wanted any more: its part has its answer, or the first
    /// violation is known.
    fn is_needless(&self, task: &Task<'_>) -> bool {
        match (&self.findings[task.part], self.first) {
            (Some(Finding::Linearizable(_) | Finding::Open(Limit::Time, _)), _) => true,
            (_, Some(first)) => task.place() >= first,
            (Some(Finding::Violation), None) => true,
            _ => false,
        }
    }

    fn record(&mut self, task: &Task<'_>, finding: Finding, plan: &Plan<'_>) {
        if finding == Finding::Violation && plan.stop_at_first == StopAt::FirstViolation {
            self.first = Some(task.place());
        } else if self.findings[task.part] == Some(Finding::Violation) {
            return;
        }
        self.strategies[task.part] = task.strategy;
        let is_decided = matches!(finding, Finding::Linearizable(_) | Finding::Violation);
        if is_decided && self.findings[task.part] != Some(Finding::Violation) {
            self.standing.parts_decided += 1;
            self.standing.operations_decided += plan.parts[task.part].len();
        }
        self.findings[task.part] = Some(finding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_spec::generate::{Generator, Profile, Repetition, Violation};
    use seriatim_spec::{ChosenReader, Failures, Reader, SpecChoice};

    /// What is found of a stack whose values repeat, beside somebody who works and says this.
    fn found(seed: u64, is_wrong: bool, says: &dyn Fn(&dyn Budget) -> Option<Finding>) -> Outcome {
        let choice = SpecChoice::parse("stack").unwrap();
        let violation = if is_wrong { Violation::At(20) } else { Violation::None };
        let values = Repetition::Among(3);
        let profile =
            Profile { operations: 40, threads: 4, values, violation, seed, ..Profile::default() };
        let mut history = Generator::new(&choice, profile).unwrap().history().unwrap().history;
        let reader = ChosenReader { choice, failures: Failures::default() };
        let reading = reader.read(&mut history).unwrap();
        let plan = Plan {
            history: &history,
            reading: &reading,
            parts: &[reading.operations().collect()],
            strategies: &[Strategy::DepthFirst, Strategy::BreadthFirst],
            threads: 1,
            stop_at_first: StopAt::FirstViolation,
            cancel: &Cancel::never(),
            memory: &Memory::new(1 << 30),
            observer: None,
        };
        run(&plan, &Rival { parts: &[0], decide: &|_, budget| says(budget) })
    }

    #[test]
    fn whoever_works_beside_the_searches_changes_nothing_of_what_they_find() {
        for (seed, is_wrong) in (0..40).map(|seed| (seed, seed % 2 == 1)) {
            let alone = found(seed, is_wrong, &|_| None);
            assert_eq!(alone.findings[0] == Finding::Violation, is_wrong, "seed {seed}");
            for work in [1, 100, 5_000] {
                let endless = |budget: &dyn Budget| {
                    while budget.spend(work) {}
                    None
                };
                let beside = found(seed, is_wrong, &endless);
                assert_eq!(beside.findings, alone.findings, "seed {seed}, work {work}");
                assert_eq!(beside.strategies, alone.strategies, "seed {seed}, work {work}");
                assert_eq!(beside.configurations, alone.configurations, "seed {seed}, work {work}");
            }
        }
    }

    #[test]
    fn whoever_knows_before_the_searches_do_is_believed() {
        let order = vec![OpId(7)];
        let at_once = |_: &dyn Budget| Some(Finding::Linearizable(order.clone()));
        let outcome = found(0, false, &at_once);
        assert_eq!(outcome.findings, [Finding::Linearizable(order.clone())]);
        assert_eq!(outcome.configurations, 0);
    }
}
