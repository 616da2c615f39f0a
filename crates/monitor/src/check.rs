//! The whole check of a recorded history: read, split, decide, explain.

use crate::decision::{Decision, rejected, unknown};
use crate::engines::{BY_VERSIONS, Job};
use crate::grounds::{Grounds, Witnesses};
use crate::options::{Monitors, Options};
use crate::partition::partition;
use crate::replay_parts::{distrust, leave_open, replay_parts};
use crate::search::Memory;
use crate::ties::check_tied;
use crate::whole::{Monitor, Whole};
use seriatim_history::{History, InputError, Problem};
use seriatim_spec::{Checked, LeftOut, Limit, Reader, Stopped, Unknown, Verdict};

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
    // All that is asked on the way, of parts and of orders of turns, has this one limit.
    let (request, strategies) = (options.request(), options.strategies.clone());
    let options = &Options { cancel: Some(&request), strategies, ..*options };
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
    let declined = match monitor.check_whole(history, reader, options.threads, &cancel) {
        Whole::Stopped(limit) => {
            return Ok(Checked::new(Verdict::Unknown(Unknown { limit, ..rejected(None) })));
        }
        Whole::Decided(decided) => {
            return decided.conclude(history, reader, options, monitor.object());
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
    let mut defect = None;
    let replay = || replay_parts(history, reader, reading, &parts, &decisions);
    let replayed = match options.request().patient().during(replay) {
        Ok(Ok(replayed)) => replayed.map_err(Some),
        Ok(Err(error)) => return Err(error),
        Err(Stopped(reason)) => {
            leave_open(&mut decisions, reason.into());
            Err(None)
        }
    };
    let is_by_versions = |decision: &Decision| decision.decided_by == BY_VERSIONS;
    if matches!(replayed, Err(Some(_))) && decisions.iter().any(is_by_versions) {
        return check_without_versions(history, reader, options);
    }
    let replayed = replayed.map_err(|invalid| {
        let Some(invalid) = invalid else { return };
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
    let parts = parts.iter().zip(decisions).map(|(part, decision)| decision.told(part)).collect();
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
