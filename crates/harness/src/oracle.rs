//! The judge of executions: specification, final checks, panics, calls that never end.

use crate::constancy::Constancy;
use crate::coverage::Coverage;
use crate::failure::Failure;
use crate::lost_wake_up::waiting;
use crate::model::ModelCall;
use crate::quiet;
use crate::run::{Called, End, Run};
use crate::scenario::KindId;
use crate::second_opinion::{Opinion, second_opinion};
use crate::subject::{Blocking, Subject};
use seriatim_history::{History, InputError, OpId};
use seriatim_monitor::{Checked, Detail, Options, check};
use seriatim_spec::{Reader, Verdict};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many different executions of a scenario are remembered.
const REMEMBERED: usize = 1 << 18;

/// In so many executions it is looked whether the specification is a function, and in those that it
/// blames.
const DOUBTED: u64 = 16;

/// Why a test ends without a word on its object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It cannot be run as it is declared.
    Misuse(String),
    /// Seriatim contradicts itself.
    Internal(String),
}

/// Asks a model about a call, in its first state; panics if the model does not know the call.
pub(crate) type Probe = Arc<dyn Fn(&ModelCall) + Send + Sync>;

/// What the right behaviour is.
#[derive(Clone)]
pub(crate) struct Oracle {
    pub reader: Arc<dyn Reader + Send>,
    /// The specification's name for history files, where it has one.
    pub spec: Option<String>,
    pub cost: Cost,
    pub probe: Option<Probe>,
    /// Whether it is a function, where that is in question.
    pub constancy: Option<Constancy>,
}

/// What a judgement costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cost {
    /// Long histories are welcome.
    Cheap,
    /// The general search decides: long histories only as far as they turn out to be cheap.
    Searches,
    /// Short histories only: the object is run again.
    Reruns,
}

/// Judges the executions of one scenario after another and remembers which it has seen.
pub(crate) struct Judge {
    subject: Arc<dyn Subject>,
    oracle: Oracle,
    seen: HashSet<u128>,
    /// How long the check of one execution may take, once one was decided.
    patience: Duration,
    /// How long it may take before that.
    first_patience: Duration,
    /// The number of executions judged, of different ones, and of those that took too long.
    pub executions: u64,
    pub different: u64,
    pub undecided: u64,
    /// The number of executions that an explorer showed although they cannot happen.
    pub impossible: u64,
    /// The number of failures that are not believed: a system call ended early because of us.
    pub disturbed: u64,
    /// The number of calls in different executions, and of those whose answer somebody knows.
    pub calls: u64,
    pub answered: u64,
    /// The time that the checks took.
    pub checking: Duration,
    pub coverage: Coverage,
    /// The operations that were seen to have to wait in some state of the specification.
    waiting: HashSet<KindId>,
}

fn unreadable(error: InputError) -> Trouble {
    Trouble::Misuse(format!("the specification cannot read the test: {error}"))
}

impl Judge {
    pub fn new(subject: Arc<dyn Subject>, oracle: Oracle, budget: Duration) -> Self {
        let coverage = Coverage::new(subject.kinds().len());
        Judge {
            subject,
            oracle,
            seen: HashSet::new(),
            // One execution must not eat up the time of all others.
            patience: (budget / 20).clamp(Duration::from_millis(50), Duration::from_secs(10)),
            first_patience: budget / 2,
            executions: 0,
            different: 0,
            undecided: 0,
            impossible: 0,
            disturbed: 0,
            calls: 0,
            answered: 0,
            checking: Duration::ZERO,
            coverage,
            waiting: HashSet::new(),
        }
    }

    /// Forgets what was seen: another scenario comes, or a failure must be seen again.
    pub fn forget(&mut self) {
        self.seen.clear();
    }

    /// Counts an execution and says whether it must be judged: one that was seen before need not.
    pub fn is_new(&mut self, run: &Run) -> bool {
        self.executions += 1;
        if self.seen.len() > REMEMBERED {
            self.seen.clear();
        }
        let new = run.fingerprint().is_none_or(|fingerprint| self.seen.insert(fingerprint));
        if new {
            self.different += 1;
            self.coverage.see(run);
            self.count_answers(run);
        }
        new
    }

    fn count_answers(&mut self, run: &Run) {
        let is_answered = |called: &Called| match called.slot.end {
            End::Returned(..) | End::Panicked(_) => true,
            // What may wait only while another call would get a certain reply is judged by that.
            End::Stuck => {
                !matches!(self.subject.kind(called.step.kind).blocking, Blocking::Pending)
            }
            End::Running => false,
        };
        self.answered += run.calls().filter(|(_, called)| is_answered(called)).count() as u64;
        self.calls += run.calls().count() as u64;
    }

    /// What is wrong with an execution, if anything.
    pub fn judge(&mut self, run: &Run) -> Result<Option<Failure>, Trouble> {
        if let Some((_, called, message)) = run.panic() {
            let (call, message) = (called.step.text(&*self.subject), message.to_owned());
            return Ok(Some(Failure::Panic { call, message }));
        }
        if let Some(mishap) = run.mishap.clone() {
            return Ok(Some(mishap.into()));
        }
        let stuck: Vec<String> =
            run.stuck(&*self.subject).map(|(_, called)| called.step.text(&*self.subject)).collect();
        if !stuck.is_empty() {
            return Ok(Some(Failure::Deadlock { calls: stuck }));
        }
        if let Some(message) = run.complaint.clone() {
            return Ok(Some(Failure::Invariant { message }));
        }
        let begin = Instant::now();
        let (_, checked) = self.check(run, Detail::Plain)?;
        self.checking += begin.elapsed();
        match checked.verdict {
            Verdict::Violation(counterexample) => {
                return Ok(Some(Failure::disagreement(counterexample, run)));
            }
            Verdict::Linearizable(_) => {
                if let Some(lost) = self.lost_wake_up(run)? {
                    return Ok(Some(lost));
                }
            }
            Verdict::Unknown(_) => self.undecided += 1,
        }
        Ok(run.imbalance.map(Failure::from))
    }

    /// The calls that wait at the end of an execution although they need not, if there are any.
    fn lost_wake_up(&mut self, run: &Run) -> Result<Option<Failure>, Trouble> {
        let is_pending = |called: &Called| {
            matches!(self.subject.kind(called.step.kind).blocking, Blocking::Pending)
        };
        let calls: Vec<&Called> = run.calls().map(|(_, called)| called).collect();
        let waits = |called: &Called| called.slot.end == End::Stuck && is_pending(called);
        if !calls.iter().any(|called| waits(called)) {
            return Ok(None);
        }
        let spec = self.oracle.spec.as_deref();
        let mut history = run.history(&*self.subject, spec).map_err(unreadable)?;
        let called_by = |history: &History, op: OpId| calls[history.line(op) as usize - 1];
        let stuck: Vec<OpId> = (0..history.len())
            .map(OpId::from)
            .filter(|&op| waits(called_by(&history, op)))
            .collect();
        let found = waiting(&mut history, &*self.oracle.reader, &stuck).map_err(unreadable)?;
        let Some(found) = found else { return Ok(None) };
        self.waiting.extend(found.waited.iter().map(|&op| called_by(&history, op).step.kind));
        // One that never has to wait in the specification waits for something else.
        let judged =
            stuck.iter().all(|&op| self.waiting.contains(&called_by(&history, op).step.kind));
        let text = |&op: &OpId| called_by(&history, op).step.text(&*self.subject);
        let calls = stuck.iter().map(text).collect();
        Ok((judged && !found.rightly).then_some(Failure::LostWakeUp { calls }))
    }

    /// Looks at the evidence of a verdict. A linearizable execution was replayed and a violation
    /// was confirmed where they were found; a violation is moreover judged once more here, before
    /// the object is blamed. Evidence that does not hold is no word on the object.
    fn examine(&self, history: &mut History, checked: &Checked) -> Result<(), Trouble> {
        if let Some(defect) = &checked.defect {
            return Err(Trouble::Internal(defect.clone()));
        }
        let blamed = matches!(checked.verdict, Verdict::Violation(_));
        match blamed.then(|| second_opinion(history, &*self.oracle.reader)).transpose() {
            Ok(Some(Opinion::Linearizable)) => Err(Trouble::Internal(
                "a violation was found, but an order explains the history".to_owned(),
            )),
            Ok(_) => Ok(()),
            Err(error) => Err(unreadable(error)),
        }
    }

    /// How long a check may take. A slow model (an object that sleeps, run once more by itself) may
    /// need more than its share for every execution: one that is decided beats many that are not.
    fn patience(&self) -> Duration {
        match self.different.saturating_sub(1) <= self.undecided {
            true => self.first_patience.max(self.patience),
            false => self.patience,
        }
    }

    /// Checks the history of an execution.
    pub fn check(&self, run: &Run, detail: Detail) -> Result<(History, Checked), Trouble> {
        let spec = self.oracle.spec.as_deref();
        let mut history = run.history(&*self.subject, spec).map_err(unreadable)?;
        let time = Some(self.patience());
        let options = Options { time, threads: 1, detail, ..Options::default() };
        let checked = quiet::catch(|| {
            let checked =
                check(&mut history, &*self.oracle.reader, &options).map_err(unreadable)?;
            let examined = self.examine(&mut history, &checked);
            let is_right = matches!(checked.verdict, Verdict::Linearizable(_));
            if examined.is_err() || !is_right || self.different <= DOUBTED {
                self.doubt(&history)?;
            }
            examined.map(|()| checked)
        });
        let checked = checked.map_err(|panic| {
            let name = self.oracle.reader.name();
            Trouble::Misuse(format!("the specification ({name}) panicked: {}", panic.message()))
        })?;
        Ok((history, checked?))
    }

    /// A specification that is no function of its state says nothing of the object.
    fn doubt(&self, history: &History) -> Result<(), Trouble> {
        let told = self.oracle.constancy.as_ref().and_then(|constancy| constancy(history));
        let name = self.oracle.reader.name();
        told.map_or(Ok(()), |told| {
            Err(Trouble::Misuse(format!(
                "the specification ({name}) is not a function of its state: {told}; whatever it \
                 remembers must be part of the state, and it must not depend on time or chance"
            )))
        })
    }

    /// The calls of a minimal counterexample: the places among [`Run::calls`].
    pub fn culprits(&self, run: &Run) -> Option<Vec<usize>> {
        let (history, checked) = self.check(run, Detail::Minimal).ok()?;
        let Verdict::Violation(counterexample) = checked.verdict else {
            return None;
        };
        let context = counterexample.context.iter().flat_map(|context| &context.order);
        let place = |&op: &OpId| history.line(op) as usize - 1;
        Some(counterexample.operations.iter().chain(context).map(place).collect())
    }

    /// Whether calls of the test may wait for ever.
    pub fn may_block(&self) -> bool {
        let mut kinds = self.subject.kinds().iter();
        kinds.any(|kind| !matches!(kind.blocking, Blocking::Never))
    }
}
