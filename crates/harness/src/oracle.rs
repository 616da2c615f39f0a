//! The judge of executions: specification, final checks, panics, calls that never end.

use crate::failure::Failure;
use crate::run::Run;
use crate::subject::{Blocking, Subject};
use seriatim_history::{History, OpId};
use seriatim_monitor::{Checked, Detail, Options, check};
use seriatim_spec::{Reader, Verdict};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// How long the check of one execution may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many different executions of a scenario are remembered.
const REMEMBERED: usize = 1 << 18;

/// A test that cannot be run as it is declared, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misuse(pub String);

/// What the right behaviour is.
#[derive(Clone)]
pub(crate) struct Law {
    pub reader: Arc<dyn Reader + Send>,
    /// The specification's name for history files, where it has one.
    pub spec: Option<String>,
    pub cost: Cost,
}

/// What a judgement costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cost {
    /// Long histories are welcome.
    Cheap,
    /// Short histories only: the object is run again.
    Reruns,
}

/// Judges the executions of one scenario after another and remembers which it has seen.
pub(crate) struct Judge {
    subject: Arc<dyn Subject>,
    law: Law,
    seen: HashSet<u128>,
    /// The number of executions judged, of different ones, and of those that took too long.
    pub executions: u64,
    pub different: u64,
    pub undecided: u64,
}

impl Judge {
    pub fn new(subject: Arc<dyn Subject>, law: Law) -> Self {
        let (executions, different, undecided) = (0, 0, 0);
        Judge { subject, law, seen: HashSet::new(), executions, different, undecided }
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
        self.different += u64::from(new);
        new
    }

    /// What is wrong with an execution, if anything.
    pub fn judge(&mut self, run: &Run) -> Result<Option<Failure>, Misuse> {
        if let Some((_, called, message)) = run.panic() {
            let (call, message) = (called.step.text(&*self.subject), message.to_owned());
            return Ok(Some(Failure::Panic { call, message }));
        }
        let stuck: Vec<String> =
            run.stuck(&*self.subject).map(|(_, called)| called.step.text(&*self.subject)).collect();
        if !stuck.is_empty() {
            return Ok(Some(Failure::Deadlock { calls: stuck }));
        }
        if let Some(message) = run.complaint.clone() {
            return Ok(Some(Failure::Invariant { message }));
        }
        let (_, checked) = self.check(run, Detail::Plain)?;
        if let Verdict::Violation(counterexample) = checked.verdict {
            return Ok(Some(Failure::Violation(counterexample)));
        }
        self.undecided += u64::from(matches!(checked.verdict, Verdict::Unknown(_)));
        Ok(run.imbalance.map(Failure::from))
    }

    /// Checks the history of an execution.
    pub fn check(&self, run: &Run, detail: Detail) -> Result<(History, Checked), Misuse> {
        let misuse = |error| Misuse(format!("the specification cannot read the test: {error}"));
        let spec = self.law.spec.as_deref();
        let mut history = run.history(&*self.subject, spec).map_err(misuse)?;
        let options = Options { time: Some(PATIENCE), threads: 1, detail, ..Options::default() };
        let checked = check(&mut history, &*self.law.reader, &options).map_err(misuse)?;
        Ok((history, checked))
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
