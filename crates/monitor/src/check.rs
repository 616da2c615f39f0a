//! The whole check of a recorded history: read, split, decide, explain.

use crate::assemble::assemble;
use crate::minimise::minimise;
use crate::partition::{Partitioning, Portion, partition};
use crate::search::dovetail::{self, Finding, Plan, Standing, StopAt};
use crate::search::{Memory, Strategy};
use seriatim_history::{History, InputError, OpId};
use seriatim_spec::{
    Cancel, ClassId, Counterexample, Explanation, Interpretation, Limit, Reader, Unknown, Verdict,
};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How to check.
pub struct Options<'o> {
    /// The time limit.
    pub time: Option<Duration>,
    /// The memory limit of the searches, in bytes.
    pub memory: usize,
    /// The number of threads.
    pub threads: usize,
    /// How finely to split.
    pub partitioning: Partitioning,
    /// Whether to go on after the first violation.
    pub stop_at: StopAt,
    /// The directions of the general search, the first one first.
    pub strategies: Vec<Strategy>,
    /// How much to say of a violation.
    pub detail: Detail,
    /// Told now and then how it goes.
    pub observer: Option<&'o (dyn Fn(Standing) + Sync)>,
}

/// How much to say of a violation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// The violating part as it is.
    Plain,
    /// A minimal counterexample.
    Minimal,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            time: None,
            memory: 4 << 30,
            threads: all_cores(),
            partitioning: Partitioning::ByKey,
            stop_at: StopAt::FirstViolation,
            strategies: vec![Strategy::DepthFirst, Strategy::BreadthFirst],
            detail: Detail::Minimal,
            observer: None,
        }
    }
}

/// The number of cores, asked once: the answer takes a look at the file system.
fn all_cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// What a check found.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The verdict on the whole history.
    pub verdict: Verdict,
    /// What is known of each part.
    pub parts: Vec<PartReport>,
    /// The number of configurations that the general search met.
    pub configurations: usize,
    /// The peak of the searches' memory by their own estimate, in bytes.
    pub memory: usize,
}

/// What is known of one part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartReport {
    /// The key or object; empty where nothing was split.
    pub label: String,
    /// The number of operations.
    pub operations: usize,
    /// What is known.
    pub standing: PartStanding,
    /// Who found out.
    pub decided_by: DecidedBy,
}

/// What is known of one part, in a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartStanding {
    /// It is linearizable.
    Linearizable,
    /// It is not.
    Violation,
    /// Nobody knows.
    Open,
}

/// Who decided a part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DecidedBy {
    /// A look at the operations alone: a result that nothing can explain.
    Inspection,
    /// The general search in one of its directions.
    Search(Strategy),
    /// Nobody yet.
    Nobody,
}

/// Decides whether a history is linearizable under a specification.
///
/// ```
/// use seriatim_monitor::{Options, check};
/// use seriatim_spec::{ChosenReader, Failures, SpecChoice, Verdict};
/// # use seriatim_history::{Builder, Call, Outcome, Return, Value};
/// # let mut builder = Builder::new("example");
/// # let client = builder.process(&Value::Int(0));
/// # let read = builder.method("read");
/// # builder.call(1, client, Call::new(read)).unwrap();
/// # let seven = builder.values().intern_int(7);
/// # builder.ret(2, client, Return::new(Outcome::Ok, seven)).unwrap();
/// # let mut history = builder.finish().unwrap();
/// let choice = SpecChoice::parse("register").unwrap();
/// let reader = ChosenReader { choice, failures: Failures::default() };
/// // One client reads 7 from a register that nobody wrote.
/// let checked = check(&mut history, &reader, &Options::default()).unwrap();
/// assert!(matches!(checked.verdict, Verdict::Violation(_)));
/// ```
pub fn check(
    history: &mut History,
    reader: &dyn Reader,
    options: &Options<'_>,
) -> Result<Checked, InputError> {
    let reading = reader.read(history)?;
    let cancel = Cancel::at(options.time.map(|time| Instant::now() + time));
    let memory = Memory::new(options.memory);
    let portions = partition(history, &reading, options.partitioning);
    let history = &*history;
    let job = Job { history, reader, reading: &reading, options, cancel, memory };
    Ok(job.run(&portions))
}

struct Job<'j> {
    history: &'j History,
    reader: &'j dyn Reader,
    reading: &'j Interpretation,
    options: &'j Options<'j>,
    cancel: Cancel,
    memory: Memory,
}

impl Job<'_> {
    fn run(&self, portions: &[Portion]) -> Checked {
        if let Some((index, counterexample)) = self.inspect(portions) {
            return self.refuted_by_inspection(portions, index, counterexample);
        }
        // The smallest first: an easy violation shows at once.
        let mut order: Vec<usize> = (0..portions.len()).collect();
        order.sort_by_key(|&index| portions[index].operations.len());
        let parts: Vec<Vec<OpId>> =
            order.iter().map(|&index| portions[index].operations.clone()).collect();
        let outcome = dovetail::run(&Plan {
            history: self.history,
            reading: self.reading,
            parts: &parts,
            strategies: &self.options.strategies,
            threads: self.options.threads,
            stop_at_first: self.options.stop_at,
            cancel: &self.cancel,
            memory: &self.memory,
            observer: self.options.observer,
        });
        let mut reports = vec![None; portions.len()];
        for ((&index, finding), &strategy) in
            order.iter().zip(&outcome.findings).zip(&outcome.strategies)
        {
            reports[index] = Some(report(&portions[index], finding, strategy));
        }
        let verdict = self.verdict(portions, &order, outcome.findings);
        Checked {
            verdict,
            parts: reports.into_iter().flatten().collect(),
            configurations: outcome.configurations,
            memory: self.memory.peak(),
        }
    }

    /// Looks for a result that nothing in its part can explain.
    fn inspect(&self, portions: &[Portion]) -> Option<(usize, Counterexample)> {
        portions.iter().enumerate().find_map(|(index, portion)| {
            let classes: Vec<ClassId> =
                portion.operations.iter().filter_map(|&op| self.reading.class(op)).collect();
            let (class, reason) = self.reading.alphabet.inexplicable(&classes)?;
            let mut culprits = portion.operations.iter().copied();
            let culprit = culprits.find(|&op| self.reading.class(op) == Some(class))?;
            let sentence = format!("{} cannot be: {reason}", self.history.operation(culprit));
            let counterexample = Counterexample {
                operations: vec![culprit],
                horizon: seriatim_history::Horizon::Whole,
                context: None,
                explanation: Explanation::because(sentence),
            };
            Some((index, counterexample))
        })
    }

    fn refuted_by_inspection(
        &self,
        portions: &[Portion],
        culprit: usize,
        counterexample: Counterexample,
    ) -> Checked {
        let open = Finding::Open(Limit::Cancelled, 0);
        let mut parts: Vec<PartReport> =
            portions.iter().map(|portion| report(portion, &open, Strategy::DepthFirst)).collect();
        parts[culprit].standing = PartStanding::Violation;
        parts[culprit].decided_by = DecidedBy::Inspection;
        let verdict = Verdict::Violation(counterexample);
        Checked { verdict, parts, configurations: 0, memory: 0 }
    }

    fn verdict(&self, portions: &[Portion], order: &[usize], findings: Vec<Finding>) -> Verdict {
        let violation = findings.iter().position(|finding| *finding == Finding::Violation);
        if let Some(place) = violation {
            return Verdict::Violation(self.counterexample(&portions[order[place]]));
        }
        let mut limits = findings.iter().filter_map(|finding| match finding {
            Finding::Open(limit, _) => Some(*limit),
            _ => None,
        });
        match limits.next_back() {
            Some(limit) => Verdict::Unknown(self.unknown(portions, order, &findings, limit)),
            None => {
                let orders = findings.into_iter().filter_map(|finding| match finding {
                    Finding::Linearizable(order) => Some(order),
                    _ => None,
                });
                Verdict::Linearizable(assemble(self.history, orders.collect()))
            }
        }
    }

    fn counterexample(&self, portion: &Portion) -> Counterexample {
        match self.options.detail {
            Detail::Minimal => {
                minimise(self.history, self.reader, &portion.operations, &self.cancel, &self.memory)
            }
            Detail::Plain => Counterexample {
                operations: portion.operations.clone(),
                horizon: seriatim_history::Horizon::Whole,
                context: None,
                explanation: Explanation::because("no order of these operations is right"),
            },
        }
    }

    fn unknown(
        &self,
        portions: &[Portion],
        order: &[usize],
        findings: &[Finding],
        limit: Limit,
    ) -> Unknown {
        let mut unknown =
            Unknown { limit, linearizable_events: 0, decided: Vec::new(), open: Vec::new() };
        for (&index, finding) in order.iter().zip(findings) {
            let label = portions[index].label.clone();
            match finding {
                Finding::Open(_, events) => {
                    unknown.linearizable_events += events;
                    unknown.open.push(label);
                }
                _ => unknown.decided.push(label),
            }
        }
        unknown
    }
}

fn report(portion: &Portion, finding: &Finding, strategy: Strategy) -> PartReport {
    let (standing, decided_by) = match finding {
        Finding::Linearizable(_) => (PartStanding::Linearizable, DecidedBy::Search(strategy)),
        Finding::Violation => (PartStanding::Violation, DecidedBy::Search(strategy)),
        Finding::Open(..) => (PartStanding::Open, DecidedBy::Nobody),
    };
    let (label, operations) = (portion.label.clone(), portion.operations.len());
    PartReport { label, operations, standing, decided_by }
}
