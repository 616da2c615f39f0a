//! The whole check of a recorded history: read, split, decide, explain.

use crate::assemble::{assemble, filled};
use crate::choose;
use crate::confirm::{Contradiction, Means, confirm};
use crate::decision::Decision;
use crate::fast::{self, Allowance, Budget, Declined, Object};
use crate::minimise::{Shrinker, illustrate, minimise};
use crate::options::{Detail, Monitors, Options};
use crate::partition::{Part, partition};
use crate::sabotage::{Sabotage, is_broken};
use crate::search::Memory;
use crate::search::dovetail::{self, Finding, Plan, Rival, StopAt};
use crate::ties::check_tied;
use crate::versions::{self, Answer, Confirmed};
use crate::vet;
use seriatim_history::{History, Horizon, InputError, OpId, Problem};
use seriatim_limits::Instant;
use seriatim_spec::{
    Cancel, Checked, Claim, ClassId, Confirmation, Counterexample, DecidedBy, Explanation,
    Interpretation, Invalid, LeftOut, Limit, PartStanding, PartVerdict, Reader, Refutation,
    Replayed, Stopped, Unknown, Verdict, Witness, refute, replay, replay_by_steps,
};
use std::cell::RefCell;

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
    let checked = decide(history, reader, options)?;
    Ok(match (&checked.verdict, history.missing_logs()) {
        // A missing operation may explain what nothing else does.
        (Verdict::Violation(_), 1..) => {
            Checked::new(Verdict::Unknown(Unknown { limit: Limit::Incomplete, ..rejected(None) }))
        }
        _ => checked,
    })
}

fn decide(
    history: &mut History,
    reader: &dyn Reader,
    options: &Options<'_>,
) -> Result<Checked, InputError> {
    if history.has_open_ties() {
        return check_tied(history, reader, options);
    }
    let cancel = options.request();
    let monitor = Monitor::of(history, reader, options);
    let declined = match monitor.check_whole(history, reader, &cancel) {
        Whole::Stopped(limit) => {
            return Ok(Checked::new(Verdict::Unknown(Unknown { limit, ..rejected(None) })));
        }
        Whole::Decided(claim, part) => {
            let object = monitor.object();
            return conclude_whole(history, reader, options, object, (claim, part));
        }
        Whole::Declined(declined) => Some(declined),
        Whole::NotAsked => None,
    };
    let reading = reader.read(history)?;
    let memory = Memory::new(options.memory);
    let parts = partition(history, &reading, options.partitioning);
    let object = monitor.object();
    let reading = &reading;
    let job = Job { history, reader, reading, options, monitor, declined, cancel, memory };
    let (mut decisions, configurations) = job.run(&parts);
    let memory = job.memory.peak();
    if let Some(defect) = reader.defect() {
        let problem = Problem::BrokenSpec { spec: reader.name(), defect };
        return Err(InputError::new(history.source(), 0, problem));
    }
    let replayed = replay_parts(history, reader, reading, &parts, &decisions)?;
    if replayed.is_err() && decisions.iter().any(|decision| decision.decided_by == BY_VERSIONS) {
        return check_without_versions(history, reader, options);
    }
    let mut defect = None;
    let replayed = replayed.map_err(|invalid| {
        distrust(&parts, &mut decisions, &invalid);
        defect = Some(invalid.to_string());
    });
    let witness = Witnesses { history, reader, options, object };
    let grounds = witness.violation(&parts, &mut decisions, &mut defect)?;
    let (verdict, confirmation, left_out) = match (grounds, replayed) {
        (Some(grounds), _) => {
            let Grounds { core, confirmation, left_out, defect: unfair } = grounds;
            defect = defect.or(unfair);
            (Verdict::Violation(core), Some(confirmation), left_out)
        }
        (None, Ok(replayed)) if decisions.iter().all(Decision::is_linearizable) => {
            (Verdict::Linearizable(replayed), None, LeftOut::default())
        }
        (None, _) => {
            let unknown = Unknown { defect: defect.clone(), ..unknown(&parts, &decisions) };
            (Verdict::Unknown(unknown), None, LeftOut::default())
        }
    };
    let parts = parts.iter().zip(decisions).map(report).collect();
    Ok(Checked { verdict, parts, configurations, memory, defect, confirmation, left_out })
}

/// The verdict of the general search, where an order along the versions was not right: then the
/// object does not have the versions that it declares.
fn check_without_versions(
    history: &mut History,
    reader: &dyn Reader,
    options: &Options<'_>,
) -> Result<Checked, InputError> {
    let strategies = options.strategies.clone();
    let mut checked =
        check(history, reader, &Options { monitors: Monitors::Skip, strategies, ..*options })?;
    let reason = "the order along the versions is not right for the whole object";
    checked.parts.iter_mut().for_each(|part| part.fell_back = Some(reason.to_owned()));
    Ok(checked)
}

/// Who decides histories along their versions.
const BY_VERSIONS: DecidedBy = DecidedBy::Monitor("versions");

/// The answer to a history that a monitor decided as a whole.
fn conclude_whole(
    history: &mut History,
    reader: &dyn Reader,
    options: &Options<'_>,
    object: Option<Object>,
    (claim, mut part): (Claim, PartVerdict),
) -> Result<Checked, InputError> {
    let (mut defect, mut confirmation, mut left_out) = (None, None, LeftOut::default());
    let mut unfair = None;
    let verdict = match claim {
        Claim::Linearizable(witness) => match replay_filled(history, reader, witness)? {
            Ok(replayed) => Verdict::Linearizable(replayed),
            Err(invalid) => {
                defect = Some(invalid.to_string());
                Verdict::Unknown(rejected(defect.clone()))
            }
        },
        Claim::Violation(core) => {
            let witnesses = Witnesses { history, reader, options, object };
            let all: Vec<OpId> = (0..history.len()).map(OpId::from).collect();
            match witnesses.grounds(&all, &part.decided_by, core)? {
                Ok(grounds) => {
                    (confirmation, left_out) = (Some(grounds.confirmation), grounds.left_out);
                    unfair = grounds.defect;
                    Verdict::Violation(grounds.core)
                }
                Err(Contradiction) => {
                    defect = Some(CONTRADICTED.to_owned());
                    Verdict::Unknown(rejected(defect.clone()))
                }
            }
        }
    };
    if defect.is_some() {
        part.standing = PartStanding::Open;
    }
    let (parts, configurations, memory) = (vec![part], 0, 0);
    let defect = defect.or(unfair);
    Ok(Checked { verdict, parts, configurations, memory, defect, confirmation, left_out })
}

/// What is wrong with an engine's violation.
const CONTRADICTED: &str = "the second checker finds an order for what is called a violation";

/// What is wrong with a counterexample that was made small; the violation stands without it.
const UNFAIR: &str = "the second checker finds an order for a counterexample that was made small";

/// Whoever is asked about a violation after an engine has found it.
struct Witnesses<'w> {
    history: &'w History,
    reader: &'w dyn Reader,
    options: &'w Options<'w>,
    object: Option<Object>,
}

/// What a violation rests on.
struct Grounds {
    core: Counterexample,
    confirmation: Confirmation,
    left_out: LeftOut,
    /// What is wrong with the way in which it was to be made small.
    defect: Option<String>,
}

impl Witnesses<'_> {
    /// The grounds of the first part that is violated. A part whose violation is contradicted is
    /// open, and the next one is looked at.
    fn violation(
        &self,
        parts: &[Part],
        decisions: &mut [Decision],
        defect: &mut Option<String>,
    ) -> Result<Option<Grounds>, InputError> {
        for (part, decision) in parts.iter().zip(decisions) {
            if decision.finding != Some(Finding::Violation) {
                continue;
            }
            let core = decision.core.take().unwrap_or_else(|| whole(&part.operations));
            if let Some(confirmation) = decision.confirmation {
                let by_monitor = part.operations.len() - core.operations.len();
                let left_out = LeftOut { by_monitor, ..LeftOut::default() };
                return Ok(Some(Grounds { core, confirmation, left_out, defect: None }));
            }
            match self.grounds(&part.operations, &decision.decided_by, core)? {
                Ok(grounds) => return Ok(Some(grounds)),
                Err(Contradiction) => {
                    decision.finding = Some(Finding::Open(Limit::Defect, 0));
                    *defect = Some(CONTRADICTED.to_owned());
                }
            }
        }
        Ok(None)
    }

    /// Makes a violation small, as far as that is wanted, and asks for a second opinion. A
    /// reduction that is contradicted is a defect and is not made. If what the engine found is
    /// contradicted, too, only the plainest search can still convict the part.
    fn grounds(
        &self,
        part: &[OpId],
        decided_by: &DecidedBy,
        mut found: Counterexample,
    ) -> Result<Result<Grounds, Contradiction>, InputError> {
        let by_monitor = part.len() - found.operations.len();
        let mut unfair = None;
        let is_reduced = self.options.detail == Detail::Minimal
            && *decided_by != DecidedBy::Inspection
            && !self.options.is_interrupted();
        if is_reduced {
            let cancel = Cancel::at(Some(Instant::now() + self.options.explain));
            let memory = Memory::new(self.options.memory);
            let mut shrinker = Shrinker::new(self.history, self.reader, part, &cancel, &memory);
            shrinker.object = self.object;
            let (core, mut left_out) =
                Cancel::undisturbed(|| minimise(&mut shrinker, found.clone()));
            left_out.by_monitor = by_monitor;
            if let Ok(confirmation) = self.second_opinion(part, decided_by, &core)? {
                return Ok(Ok(Grounds { core, confirmation, left_out, defect: None }));
            }
            unfair = Some(UNFAIR.to_owned());
        }
        if self.options.detail == Detail::Minimal {
            illustrate(self.history, self.reader, &mut found);
        }
        let left_out = LeftOut { by_monitor, ..LeftOut::default() };
        if let Ok(confirmation) = self.second_opinion(part, decided_by, &found)? {
            return Ok(Ok(Grounds { core: found, confirmation, left_out, defect: unfair }));
        }
        let all = whole(part);
        Ok(match self.second_opinion(part, decided_by, &all)? {
            Ok(confirmation @ Confirmation::Whole) => {
                let (left_out, defect) = (LeftOut::default(), Some(UNFAIR.to_owned()));
                Ok(Grounds { core: all, confirmation, left_out, defect })
            }
            _ => Err(Contradiction),
        })
    }

    fn second_opinion(
        &self,
        part: &[OpId],
        decided_by: &DecidedBy,
        core: &Counterexample,
    ) -> Result<Result<Confirmation, Contradiction>, InputError> {
        let means = match self.options.detail {
            Detail::Plain => Means { operations: 2_000, configurations: 500, expansions: 3_000 },
            Detail::Minimal => {
                Means { operations: 20_000, configurations: 100_000, expansions: 100_000 }
            }
        };
        let ask = || confirm(self.history, self.reader, part, core, (decided_by, means));
        Cancel::last().during(ask).unwrap_or(Ok(Ok(Confirmation::None)))
    }
}

/// A part that is violated, all of it.
fn whole(part: &[OpId]) -> Counterexample {
    Counterexample {
        operations: part.to_vec(),
        horizon: Horizon::Whole,
        context: None,
        explanation: Explanation::because("no order explains these operations"),
    }
}

/// What is told of a part.
fn report((part, decision): (&Part, Decision)) -> PartVerdict {
    PartVerdict {
        label: part.label.clone(),
        operations: part.operations.len(),
        standing: match decision.finding {
            Some(Finding::Linearizable(_)) => PartStanding::Linearizable,
            Some(Finding::Violation) => PartStanding::Violation,
            Some(Finding::Open(..)) | None => PartStanding::Open,
        },
        decided_by: decision.decided_by,
        fell_back: decision.fell_back,
    }
}

/// Replays the orders that were found for parts, all as one; where every part has an order, that is
/// an order of the whole history.
fn replay_parts(
    history: &mut History,
    reader: &dyn Reader,
    reading: &Interpretation,
    parts: &[Part],
    decisions: &[Decision],
) -> Result<Result<Replayed, Invalid>, InputError> {
    let mut orders = Vec::new();
    let mut kept = Vec::new();
    for (part, decision) in parts.iter().zip(decisions) {
        if let Some(Finding::Linearizable(order)) = &decision.finding {
            orders.push(order.clone());
            kept.extend_from_slice(&part.operations);
        }
    }
    let is_whole = orders.len() == parts.len();
    let witness = assemble(history, orders);
    if is_whole {
        return match reader.chosen() {
            Some(_) => replay_filled(history, reader, witness),
            None => Ok(replay_by_steps(history, reading, witness)),
        };
    }
    kept.sort_unstable();
    let place = |op: OpId| OpId::from(kept.binary_search(&op).unwrap_or(kept.len()));
    let order = witness.order.into_iter().map(place).collect();
    let mut excerpt = history.restricted(&kept, Horizon::Whole);
    let original = |op: OpId| kept.get(op.index()).copied().unwrap_or(op);
    let replayed = replay_filled(&mut excerpt, reader, Witness { order })?;
    Ok(replayed.map_err(|invalid| invalid.renamed(original)))
}

/// Replays a witness; if it leaves out operations that the engine took for silent, with those.
fn replay_filled(
    history: &mut History,
    reader: &dyn Reader,
    witness: Witness,
) -> Result<Result<Replayed, Invalid>, InputError> {
    let mut witness = witness;
    if is_broken(Sabotage::LostOperation) {
        witness.order.pop();
        return replay(history, reader, witness);
    }
    let count = witness.order.len();
    match replay(history, reader, witness.clone())? {
        Err(Invalid::Missing(_)) if count < history.len() => {
            replay(history, reader, filled(history, witness))
        }
        replayed => Ok(replayed),
    }
}

/// Takes back what was said of the part at which the replay failed.
fn distrust(parts: &[Part], decisions: &mut [Decision], invalid: &Invalid) {
    let culprit = invalid.culprit();
    let holds = |part: &Part| part.operations.binary_search(&culprit).is_ok();
    let is_known = parts.iter().any(holds);
    for (part, decision) in parts.iter().zip(decisions) {
        let is_found = matches!(decision.finding, Some(Finding::Linearizable(_)));
        if is_found && (holds(part) || !is_known) {
            decision.finding = Some(Finding::Open(Limit::Defect, 0));
        }
    }
}

/// Nobody knows, because the checker of an answer rejects it.
fn rejected(defect: Option<String>) -> Unknown {
    let limit = Limit::Defect;
    Unknown { limit, linearizable_events: 0, decided: Vec::new(), open: Vec::new(), defect }
}

struct Job<'j> {
    history: &'j History,
    reader: &'j dyn Reader,
    reading: &'j Interpretation,
    options: &'j Options<'j>,
    monitor: Monitor,
    /// Why the monitor declined the history as a whole, if it was asked.
    declined: Option<Declined>,
    cancel: Cancel,
    memory: Memory,
}

impl Job<'_> {
    /// What the engines find out about each part, and the number of configurations met.
    fn run(&self, parts: &[Part]) -> (Vec<Decision>, usize) {
        let mut decisions: Vec<Decision> = vec![Decision::default(); parts.len()];
        self.inspect(parts, &mut decisions);
        self.ask_monitor(parts, &mut decisions);
        self.follow_versions(parts, &mut decisions);
        let configurations = self.search(parts, &mut decisions);
        (decisions, configurations)
    }

    /// Whether enough is known.
    fn is_over(&self, decisions: &[Decision]) -> bool {
        decisions.iter().any(|decision| self.is_last(decision))
    }

    /// Whether nothing need be known besides: it is a violation, and the first one ends the check.
    fn is_last(&self, decision: &Decision) -> bool {
        self.options.stop_at == StopAt::FirstViolation
            && decision.finding == Some(Finding::Violation)
    }

    /// Asks the fast monitor about each part that is not decided yet.
    fn ask_monitor(&self, parts: &[Part], decisions: &mut [Decision]) {
        let object = match &self.monitor {
            Monitor::Ready(object) => *object,
            Monitor::Unfit(reason) => {
                return decisions
                    .iter_mut()
                    .for_each(|decision| decision.fell_back = Some(reason.clone()));
            }
            Monitor::Unwanted => return,
        };
        if self.is_over(decisions) {
            return;
        }
        for (index, part) in parts.iter().enumerate() {
            if decisions[index].finding.is_some() {
                continue;
            }
            let is_whole = part.operations.len() == self.history.len();
            let asked = fast::Part::of(self.history, &part.operations);
            let answer = match &self.declined {
                Some(declined) if is_whole => Err(declined.clone()),
                _ => match self.cancel.during(|| ask_first(object, asked)) {
                    Ok(answer) => answer,
                    // Nobody knows, and nobody has the time to find out.
                    Err(Stopped(_)) => return,
                },
            };
            decisions[index] = Decision::of(object, answer);
            if self.is_last(&decisions[index]) {
                return;
            }
        }
    }

    /// Asks the monitor about a part for which it needs longer, while the search takes turns.
    fn ask_beside(&self, part: &Part, budget: &dyn Budget) -> Decision {
        let Monitor::Ready(object) = self.monitor else { return Decision::default() };
        let asked = fast::Part::of(self.history, &part.operations);
        Decision::of(object, fast::check(object, asked.within(budget)))
    }

    /// Decides along their versions the parts that tell them.
    fn follow_versions(&self, parts: &[Part], decisions: &mut [Decision]) {
        if self.options.monitors == Monitors::Skip || self.is_over(decisions) {
            return;
        }
        for (index, part) in parts.iter().enumerate() {
            if decisions[index].finding.is_some() {
                continue;
            }
            let operations = &part.operations;
            decisions[index] =
                match versions::decide(self.history, self.reading, operations, &self.cancel) {
                    Answer::NoVersions => return,
                    Answer::Declined(why) => Decision::fallen_back(why),
                    Answer::Linearizable(witness) => {
                        let finding = Some(Finding::Linearizable(witness.order));
                        Decision { finding, decided_by: BY_VERSIONS, ..Decision::default() }
                    }
                    Answer::Violation(core, confirmed) => {
                        match self.second_look(operations, confirmed) {
                            Some(sure) => Decision {
                                confirmation: Some(sure),
                                ..Decision::violation(BY_VERSIONS, core)
                            },
                            None => Decision::fallen_back(LYING_VERSIONS.to_owned()),
                        }
                    }
                };
            if self.is_last(&decisions[index]) {
                return;
            }
        }
    }

    /// What the plainest search says of a part that is wrong by its versions; `None` if it finds an
    /// order.
    fn second_look(&self, part: &[OpId], confirmed: Confirmed) -> Option<Confirmation> {
        let by_search = match confirmed {
            Confirmed::Yes => Confirmation::Engine("the general search, given the versions"),
            Confirmed::No => Confirmation::None,
        };
        if part.len() > SMALL_PART {
            return Some(by_search);
        }
        let mut excerpt = self.history.restricted(part, Horizon::Whole);
        match refute(&mut excerpt, self.reader, SMALL_EFFORT) {
            Ok(Refutation::Confirmed) => Some(Confirmation::Whole),
            Ok(Refutation::Contradicted) => None,
            Ok(Refutation::TooLarge) | Err(_) => Some(by_search),
        }
    }

    /// Searches the parts that are not decided yet; gives the number of configurations met.
    fn search(&self, parts: &[Part], decisions: &mut [Decision]) -> usize {
        if self.is_over(decisions) {
            return 0;
        }
        // The smallest first: an easy violation shows at once.
        let mut order: Vec<usize> =
            (0..parts.len()).filter(|&index| decisions[index].finding.is_none()).collect();
        order.sort_by_key(|&index| parts[index].operations.len());
        let operations: Vec<Vec<OpId>> =
            order.iter().map(|&index| parts[index].operations.clone()).collect();
        let slow: Vec<usize> =
            (0..order.len()).filter(|&place| decisions[order[place]].is_slow).collect();
        let answers = RefCell::new(Vec::new());
        let ask = |place: usize, budget: &dyn Budget| {
            let decision = self.ask_beside(&parts[order[place]], budget);
            let finding = decision.finding.clone();
            answers.borrow_mut().push((order[place], decision));
            finding
        };
        let plan = Plan {
            history: self.history,
            reading: self.reading,
            parts: &operations,
            strategies: &self.options.strategies,
            threads: self.options.threads,
            stop_at_first: self.options.stop_at,
            cancel: &self.cancel,
            memory: &self.memory,
            observer: self.options.observer,
        };
        let outcome = dovetail::run(&plan, &Rival { parts: &slow, decide: &ask });
        let found = outcome.findings.into_iter().zip(outcome.strategies);
        for (&index, (finding, strategy)) in order.iter().zip(found) {
            decisions[index].decided_by = match finding {
                Finding::Open(..) => DecidedBy::Nobody,
                _ => DecidedBy::Search(strategy),
            };
            decisions[index].finding = Some(finding);
        }
        for (index, decision) in answers.into_inner() {
            if decision.finding.is_some() && decision.finding == decisions[index].finding {
                decisions[index] = decision;
            } else {
                decisions[index].fell_back = decision.fell_back;
            }
        }
        outcome.configurations
    }

    /// Looks for a result that nothing in its part can explain.
    fn inspect(&self, parts: &[Part], decisions: &mut [Decision]) {
        for (part, decision) in parts.iter().zip(decisions) {
            let classes: Vec<ClassId> =
                part.operations.iter().filter_map(|&op| self.reading.class(op)).collect();
            let Some((class, reason)) = self.reading.alphabet.inexplicable(&classes) else {
                continue;
            };
            let mut culprits = part.operations.iter().copied();
            let culprit = culprits.find(|&op| self.reading.class(op) == Some(class));
            let Some(culprit) = culprit else { continue };
            let sentence = format!("{} cannot be: {reason}", self.history.operation(culprit));
            let core = Counterexample {
                operations: vec![culprit],
                horizon: Horizon::Whole,
                context: None,
                explanation: Explanation::because(sentence),
            };
            *decision = Decision::violation(DecidedBy::Inspection, core);
            if self.options.stop_at == StopAt::FirstViolation {
                return;
            }
        }
    }
}

/// What is wrong with an object whose history is refuted along the versions, and not by brute
/// force.
const LYING_VERSIONS: &str = "the object does not have the versions that it declares";

/// The largest part that brute force looks at after it was refuted along the versions, and its
/// effort.
const SMALL_PART: usize = 400;
const SMALL_EFFORT: usize = 20_000;

/// The work of a monitor that branches before it has to compete with the search, besides some for
/// each operation.
const FIRST_WORK: usize = 1 << 12;

/// Asks a monitor; stops it if it takes long.
fn ask_first(object: Object, part: fast::Part<'_>) -> Result<Claim, Declined> {
    let allowance = Allowance::new(FIRST_WORK + 8 * part.len());
    let answer = fast::check(object, part.within(&allowance));
    answer.map_err(|declined| if allowance.is_spent() { Declined::Stopped } else { declined })
}

fn unknown(parts: &[Part], decisions: &[Decision]) -> Unknown {
    let limit = decisions.iter().find_map(|decision| match decision.finding {
        Some(Finding::Open(limit, _)) => Some(limit),
        _ => None,
    });
    let mut unknown = Unknown { limit: limit.unwrap_or(Limit::Defect), ..rejected(None) };
    for (part, decision) in parts.iter().zip(decisions) {
        match decision.finding {
            Some(Finding::Open(_, events)) => {
                unknown.linearizable_events += events;
                unknown.open.push(part.label.clone());
            }
            None | Some(Finding::Violation) => unknown.open.push(part.label.clone()),
            Some(Finding::Linearizable(_)) => unknown.decided.push(part.label.clone()),
        }
    }
    unknown
}

/// Whether a fast monitor can be asked.
enum Monitor {
    /// That of this object.
    Ready(Object),
    /// None fits, for this reason.
    Unfit(String),
    /// None is wanted, or the specification is not a built-in one.
    Unwanted,
}

/// What the monitor said of a whole history.
enum Whole {
    /// It claims this of the one part that the history is.
    Decided(Claim, PartVerdict),
    /// It declined, for this reason.
    Declined(Declined),
    /// It was stopped.
    Stopped(Limit),
    /// The parts have to be looked at.
    NotAsked,
}

impl Monitor {
    fn object(&self) -> Option<Object> {
        match self {
            Monitor::Ready(object) => Some(*object),
            Monitor::Unfit(_) | Monitor::Unwanted => None,
        }
    }

    fn of(history: &mut History, reader: &dyn Reader, options: &Options<'_>) -> Self {
        match (options.monitors, reader.chosen()) {
            (Monitors::Use, Some(chosen)) => {
                choose::object(chosen, history).map_or_else(Monitor::Unfit, Monitor::Ready)
            }
            _ => Monitor::Unwanted,
        }
    }

    /// The verdict on a whole history, without interpreting it first: for long histories that is
    /// half the time and most of the memory.
    fn check_whole(&self, history: &History, reader: &dyn Reader, cancel: &Cancel) -> Whole {
        let Monitor::Ready(object) = *self else { return Whole::NotAsked };
        let is_plain = !history.has_failures() && !history.has_objects();
        if history.is_empty() || !is_plain || !vet::is_readable(history, reader) {
            return Whole::NotAsked;
        }
        let claim = match cancel.during(|| ask_first(object, fast::Part::whole(history))) {
            Ok(Ok(claim)) => claim,
            Ok(Err(declined)) => return Whole::Declined(declined),
            Err(Stopped(reason)) => return Whole::Stopped(reason.into()),
        };
        let part = PartVerdict {
            label: String::new(),
            operations: history.len(),
            standing: match claim {
                Claim::Linearizable(_) => PartStanding::Linearizable,
                Claim::Violation(_) => PartStanding::Violation,
            },
            decided_by: DecidedBy::Monitor(choose::name(object)),
            fell_back: None,
        };
        Whole::Decided(claim, part)
    }
}
