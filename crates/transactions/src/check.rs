//! Asking whether a history satisfies a level, and believing the answer.
//!
//! A *yes* comes with an order, which [`replay`](crate::replay) has accepted. A *no* comes with a
//! part of the history, which [`brute`](crate::brute) has decided again by the definition of the
//! level, where it is small enough; else the answer says that nobody confirmed it. If the second
//! opinion differs, that is a [`Defect`] of ours and no answer.
//!
//! **Repeated values.** With the ambiguous reads left out, a *no* is a *no*; a *yes* whose order
//! explains all reads by their values is a *yes*. In between, all ways to choose the writers are
//! tried if they are few. Else the answer is *ambiguous*.
//!
//! **Limits.** What a limit ends is not known; a *no* that was found before stays one, with the part
//! as small as it had become, and says if nobody could confirm it in time.

use crate::brute;
use crate::counter;
use crate::explain::{Explanation, explain, unexplained};
use crate::level::{Demand, Level};
use crate::minimise::{Judge, Look, Part, minimise};
use crate::prepare::{Choice, Prepared, prepare};
use crate::replay::{Rejection, replay};
use crate::session;
use crate::solve::{self, Event, Limits, Statistics};
use crate::transaction::{Clock, Transactions, TxnId};
use crate::weak;
use crate::window;
use crate::witness::{Moment, Witness};
use seriatim_limits::{Cancel, Instant};
use std::borrow::Borrow;
use std::fmt;
use std::time::Duration;

/// How hard to try.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Give up after this time.
    pub time: Option<Duration>,
    /// Give up after so many conflicts of the solver.
    pub conflicts: Option<u64>,
    /// Stop making a violated part smaller after this time.
    pub shrink: Duration,
    /// In how many ways the writers of ambiguous reads are chosen at most.
    pub choices: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { time: None, conflicts: None, shrink: Duration::from_secs(10), choices: 512 }
    }
}

/// The answer for a level.
#[derive(Debug)]
pub struct Answer {
    /// The level.
    pub level: Level,
    /// What became of it.
    pub standing: Standing,
    /// What the solver did for the whole history.
    pub statistics: Statistics,
}

/// What became of a level.
#[derive(Debug)]
pub enum Standing {
    /// It holds: this order explains every read, and was replayed.
    Satisfied(Witness),
    /// It does not hold.
    Violated(Box<Violation>),
    /// Nobody knows.
    Unknown(Unknown),
}

/// Why nobody knows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unknown {
    /// A limit was reached, or the whole process has to stop.
    Limit,
    /// So many reads could come from several writers.
    Ambiguous(usize),
    /// The level speaks of real time, and no times are recorded.
    NoTimes,
    /// Counters were read, and the levels at which they are decided do not hold: below nothing is
    /// known.
    Counters,
}

/// A part of a history that does not satisfy a level.
#[derive(Debug)]
pub struct Violation {
    /// The part.
    pub part: Part,
    /// Who else says so.
    pub confirmation: Confirmation,
    /// Why no order explains the part.
    pub explanation: Explanation,
}

/// Whether a *no* was decided twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Confirmation {
    /// An exhaustive search says so too: by the level's definition, or for strict serializability
    /// through real time.
    Searched,
    /// The part is too large to be searched.
    Missing,
}

/// Two engines of ours contradict each other: a defect of Seriatim, not a verdict.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Defect(pub String);

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this is a defect of Seriatim: {}", self.0)
    }
}

impl std::error::Error for Defect {}

impl From<solve::Defect> for Defect {
    fn from(defect: solve::Defect) -> Self {
        Defect(defect.0)
    }
}

/// How many steps the search for a second opinion may take.
const STEPS: u64 = 200_000;

/// Asks whether a history satisfies a level.
///
/// # Errors
/// If two engines contradict each other.
pub fn check(history: &Transactions, level: Level, options: &Options) -> Result<Answer, Defect> {
    Checker::new(history, options).check(level)
}

/// A history that is asked about several levels.
pub struct Checker<'h> {
    history: &'h Transactions,
    options: Options,
    prepared: Prepared,
    answers: Vec<(Level, bool)>,
}

impl<'h> Checker<'h> {
    /// Prepares a history.
    pub fn new(history: &'h Transactions, options: &Options) -> Self {
        let prepared = prepare(history, &[]);
        Checker { history, options: *options, prepared, answers: Vec::new() }
    }

    /// Asks whether the history satisfies a level.
    ///
    /// # Errors
    /// If two engines contradict each other, or two answers do.
    pub fn check(&mut self, level: Level) -> Result<Answer, Defect> {
        if self.lacks_times(level) {
            let standing = Standing::Unknown(Unknown::NoTimes);
            return Ok(Answer { level, standing, statistics: Statistics::default() });
        }
        let question = self.question(level);
        let (found, statistics) = question.decide_in_time(self.history, || &self.prepared)?;
        let standing = match found {
            Found::Witness(witness) => Standing::Satisfied(witness),
            Found::Unknown(unknown) => Standing::Unknown(unknown),
            Found::Core(core) => {
                let violation = Cancel::undisturbed(|| self.violation(&question, core))?;
                Standing::Violated(Box::new(violation))
            }
        };
        self.compare(level, &standing)?;
        Ok(Answer { level, standing, statistics })
    }

    /// What the engine thinks before anybody has confirmed it, for the benchmark that measures what
    /// the evidence costs: not an answer, and hidden from those who want one. `None` if it does not know.
    ///
    /// # Errors
    /// If two engines contradict each other.
    #[doc(hidden)]
    pub fn unconfirmed(&self, level: Level) -> Result<Option<bool>, Defect> {
        if self.lacks_times(level) {
            return Ok(None);
        }
        Ok(match self.question(level).decide(self.history, &self.prepared)?.0 {
            Found::Witness(_) => Some(true),
            Found::Core(_) => Some(false),
            Found::Unknown(_) => None,
        })
    }

    fn lacks_times(&self, level: Level) -> bool {
        level.demand() == Demand::RealTime && self.history.clock() == Clock::Absent
    }

    fn question(&self, level: Level) -> Question {
        let limits = Limits {
            conflicts: self.options.conflicts,
            deadline: self.options.time.map(|time| Instant::now() + time),
        };
        Question { level, limits, choices: self.options.choices }
    }

    fn violation(&self, question: &Question, core: Vec<TxnId>) -> Result<Violation, Defect> {
        let level = question.level;
        let limits =
            Limits { deadline: Some(Instant::now() + self.options.shrink), ..Limits::default() };
        let mut judge = Engines { question, defect: None };
        let part = minimise(self.history, core, limits, &mut judge);
        if let Some(defect) = judge.defect {
            return Err(defect);
        }
        let part = part.ok_or_else(|| {
            Defect(format!("{level} was refuted, but the part that shows it is not"))
        })?;
        let search = || {
            brute::satisfies(&part.history, level).or_else(|| match level {
                Level::StrictSerializable => window::strictly_serializable(&part.history, STEPS),
                _ => None,
            })
        };
        let confirmation = match Cancel::last().during(search).unwrap_or(None) {
            Some(false) => Confirmation::Searched,
            None => Confirmation::Missing,
            Some(true) => {
                let reason = "was refuted, but a search of the part that shows it finds an order";
                return Err(Defect(format!("{level} {reason}")));
            }
        };
        let explain = || explain(&part.history, level);
        let explanation = Cancel::last().during(explain).unwrap_or_else(|_| unexplained(level));
        Ok(Violation { part, confirmation, explanation })
    }

    /// A level that holds must not imply one that does not.
    fn compare(&mut self, level: Level, standing: &Standing) -> Result<(), Defect> {
        let holds = match standing {
            Standing::Satisfied(_) => true,
            Standing::Violated(_) => false,
            Standing::Unknown(_) => return Ok(()),
        };
        self.answers.push((level, holds));
        for &(strong, _) in self.answers.iter().filter(|answer| answer.1) {
            for &(weak, _) in self.answers.iter().filter(|answer| !answer.1) {
                if implies(strong, weak) {
                    return Err(Defect(format!("{strong} holds, but {weak} does not")));
                }
            }
        }
        Ok(())
    }
}

/// The engines as the judge of parts of a history.
struct Engines<'q> {
    question: &'q Question,
    /// The first contradiction between engines.
    defect: Option<Defect>,
}

impl Judge for Engines<'_> {
    fn look(&mut self, part: &Transactions) -> Look {
        match self.question.decide_in_time(part, || prepare(part, &[])) {
            Ok((Found::Core(core), _)) => Look::Violated(core),
            Ok((Found::Witness(_), _)) => Look::Satisfied,
            Ok((Found::Unknown(_), _)) => Look::Unknown,
            Err(found) => {
                self.defect.get_or_insert(found);
                Look::Unknown
            }
        }
    }

    fn short_core(&mut self, part: &Transactions, most: usize) -> Option<Vec<TxnId>> {
        let level = self.question.level;
        let derive = || {
            let prepared = prepare(part, &[]);
            if level.orders_commits() || !prepared.flaws.is_empty() {
                return None;
            }
            let nodes = solve::short_refutation(&prepared, level, most)?;
            Some(nodes.into_iter().filter_map(|node| prepared.txns[node as usize].id).collect())
        };
        self.question.cancel().during(derive).unwrap_or(None)
    }
}

fn implies(strong: Level, weak: Level) -> bool {
    strong == weak || strong.implies().iter().any(|&next| implies(next, weak))
}

/// A level, and how hard to try.
struct Question {
    level: Level,
    limits: Limits,
    choices: usize,
}

enum Found {
    Witness(Witness),
    Core(Vec<TxnId>),
    Unknown(Unknown),
}

impl Question {
    /// Decides, or does not know when the limits are reached.
    fn decide_in_time<P: Borrow<Prepared>>(
        &self,
        history: &Transactions,
        prepared: impl FnOnce() -> P,
    ) -> Result<(Found, Statistics), Defect> {
        let decide = || self.decide(history, prepared().borrow());
        let stopped = || Ok((Found::Unknown(Unknown::Limit), Statistics::default()));
        self.cancel().during(decide).unwrap_or_else(|_| stopped())
    }

    fn cancel(&self) -> Cancel {
        Cancel::at(self.limits.deadline)
    }

    fn decide(
        &self,
        history: &Transactions,
        prepared: &Prepared,
    ) -> Result<(Found, Statistics), Defect> {
        if let Some(flaw) = prepared.flaws.iter().find(|flaw| flaw.kind.violates(self.level)) {
            return Ok((Found::Core(flaw.core(history)), Statistics::default()));
        }
        let (found, statistics) = self.decide_prepared(prepared)?;
        let Found::Witness(witness) = found else {
            return Ok((found, statistics));
        };
        if history.reads_counters() && replay(history, self.level, &witness).is_err() {
            return Ok((self.decide_counters(history, prepared)?, statistics));
        }
        let found = match replay(history, self.level, &witness) {
            Ok(()) => Found::Witness(witness),
            Err(Rejection::Untraceable(_)) => self.decide_ambiguous(history, prepared)?,
            Err(_) if !prepared.is_complete() => self.decide_ambiguous(history, prepared)?,
            Err(rejection) => return Err(self.rejected(&rejection)),
        };
        Ok((found, statistics))
    }

    /// Decides a history whose other reads can be explained, with its counters.
    fn decide_counters(
        &self,
        history: &Transactions,
        prepared: &Prepared,
    ) -> Result<Found, Defect> {
        if !prepared.is_complete() {
            let unclear = prepared.ambiguous.len() + prepared.unclear_lists.len();
            return Ok(Found::Unknown(Unknown::Ambiguous(unclear)));
        }
        let itself = [self.level];
        let levels = match self.level.orders_commits() {
            true => self.stronger(),
            false => &itself,
        };
        let mut found = Found::Unknown(Unknown::Counters);
        for &level in levels {
            // What a weak level lets pass a stronger one may not.
            if prepared.flaws.iter().any(|flaw| flaw.kind.violates(level)) {
                continue;
            }
            match counter::search(history, prepared, level, self.limits) {
                counter::Outcome::Ordered(witness) => match replay(history, level, &witness) {
                    Ok(()) => return Ok(Found::Witness(witness)),
                    Err(rejection) => return Err(self.rejected(&rejection)),
                },
                counter::Outcome::Refuted if level == self.level => {
                    found = Found::Core((0..history.len() as u32).map(TxnId).collect());
                }
                counter::Outcome::Refuted => {}
                counter::Outcome::GaveUp => found = Found::Unknown(Unknown::Limit),
            }
        }
        Ok(found)
    }

    /// The levels that imply one of an order of commits, and whose orders tell what every read saw.
    fn stronger(&self) -> &'static [Level] {
        match self.level {
            Level::ReadCommittedAdya => &[Level::Prefix, Level::SnapshotIsolation],
            _ => &[Level::Prefix],
        }
    }

    /// Decides a history with reads that may come from several writers. An order of commits does
    /// not say from which one; a level that implies this one may hold.
    fn decide_ambiguous(
        &self,
        history: &Transactions,
        prepared: &Prepared,
    ) -> Result<Found, Defect> {
        let found = self.try_choices(history, prepared)?;
        if !self.level.orders_commits() || !matches!(found, Found::Unknown(_)) {
            return Ok(found);
        }
        for &level in self.stronger() {
            let question = Question { level, ..*self };
            if let Found::Witness(witness) = question.decide(history, prepared)?.0 {
                return Ok(Found::Witness(witness));
            }
        }
        Ok(found)
    }

    fn rejected(&self, rejection: &Rejection) -> Defect {
        let level = self.level;
        Defect(format!(
            "{level} was found to hold, but the replay rejects its order: {rejection:?}"
        ))
    }

    /// Decides a prepared history; of ambiguous reads it knows nothing.
    fn decide_prepared(&self, prepared: &Prepared) -> Result<(Found, Statistics), Defect> {
        if prepared.flaws.iter().any(|flaw| flaw.kind.violates(self.level)) {
            return Ok((Found::Core(Vec::new()), Statistics::default()));
        }
        let id = |node: u32| prepared.txns[node as usize].id;
        let ids = |nodes: Vec<u32>| nodes.into_iter().filter_map(id).collect::<Vec<TxnId>>();
        if self.level.orders_commits() {
            let outcome = match self.level.is_session_guarantee() {
                true => session::decide(prepared, self.level)?,
                false => weak::decide(prepared, self.level, self.limits)?,
            };
            let found = match outcome {
                weak::Outcome::Ordered(order) => Found::Witness(Witness::Commits(ids(order))),
                weak::Outcome::Refuted(core) => Found::Core(ids(core)),
                weak::Outcome::GaveUp => Found::Unknown(Unknown::Limit),
            };
            return Ok((found, Statistics::default()));
        }
        let (outcome, statistics) = solve::solve(prepared, self.level, self.limits)?;
        let found = match outcome {
            solve::Outcome::Ordered(events) => Found::Witness(witness(prepared, &events)),
            solve::Outcome::Refuted(core) => Found::Core(ids(core)),
            solve::Outcome::GaveUp => Found::Unknown(Unknown::Limit),
        };
        Ok((found, statistics))
    }

    /// Tries all ways to choose the writers of ambiguous reads.
    fn try_choices(&self, history: &Transactions, prepared: &Prepared) -> Result<Found, Defect> {
        let reads = &prepared.ambiguous;
        let unclear = reads.len() + prepared.unclear_lists.len();
        let ambiguous = Found::Unknown(Unknown::Ambiguous(unclear.max(1)));
        let ways = reads.iter().try_fold(1usize, |ways, &n| ways.checked_mul(n));
        let Some(ways) = ways.filter(|&ways| ways <= self.choices) else {
            return Ok(ambiguous);
        };
        let mut is_refuted = prepared.unclear_lists.is_empty();
        for way in 0..ways {
            let chosen = prepare(history, &choices(reads, way));
            match self.decide_prepared(&chosen)?.0 {
                Found::Core(_) => {}
                Found::Unknown(unknown) => return Ok(Found::Unknown(unknown)),
                Found::Witness(witness) => match replay(history, self.level, &witness) {
                    Ok(()) => return Ok(Found::Witness(witness)),
                    Err(_) => is_refuted = false,
                },
            }
        }
        // Elements of a set that were added twice: which of them a read saw first is no question at
        // all, but these levels would ask it.
        let tells_reads_apart = matches!(self.level, Level::ReadCommitted | Level::MonotonicReads);
        is_refuted &= !(tells_reads_apart && history.has_sets());
        let all = (0..history.len() as u32).map(TxnId).collect();
        Ok(if is_refuted { Found::Core(all) } else { ambiguous })
    }
}

/// One of the ways to choose, counted in the mixed radix of the candidates.
fn choices(reads: &[usize], mut way: usize) -> Vec<Choice> {
    let mut digit = |&count: &usize| {
        let choice = Choice::Candidate(way % count);
        way /= count;
        choice
    };
    reads.iter().map(&mut digit).collect()
}

fn witness(prepared: &Prepared, events: &[Event]) -> Witness {
    let id = |txn: u32| prepared.txns[txn as usize].id;
    let is_serial = events.iter().any(|event| matches!(event, Event::Whole(_)));
    if is_serial {
        let whole = |event: &Event| match *event {
            Event::Whole(txn) => id(txn),
            _ => None,
        };
        return Witness::Serial(events.iter().filter_map(whole).collect());
    }
    let moment = |event: &Event| match *event {
        Event::Begin(txn) => Some((id(txn)?, Moment::Begin)),
        Event::Commit(txn) => Some((id(txn)?, Moment::Commit)),
        Event::Whole(_) | Event::Moment => None,
    };
    Witness::Events(events.iter().filter_map(moment).collect())
}
