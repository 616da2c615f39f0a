//! Linearizability of a multi-register by the engine for transactions.
//!
//! A multi-register whose transactions are operations is linearizable exactly if it is strictly
//! serializable. Where every value that a register is given differs, the engine for transactions
//! decides long histories that the general search does not. The order that it finds is replayed as
//! any other order. Of a violation the general search is asked, for a while, whether there is an
//! order of everything; if it finds one, that is a defect and no verdict. Which few operations show
//! the violation is what the engine knows at once and the search would have to find out by trying:
//! so they are the engine's, if the search refutes them by themselves as well, and in its words.
//!
//! `--engine search` is answered by a search as well, but by one whose state is the set of
//! transactions that are done, not what the registers hold: with distinct values that is all that
//! matters. What it refutes must be refuted by the engine, too, which says why.

use crate::question::Refused;
use crate::{Checked, Counterexample, History, OpId, Options, Verdict, Witness, check_with};
use seriatim_history::{Horizon, Nil};
use seriatim_limits::Instant;
use seriatim_monitor::{Detail, Monitors};
use seriatim_spec::{
    Confirmation, DecidedBy, Explanation, Failures, LeftOut, Limit, PartStanding, PartVerdict,
    Reader, Strategy, Unknown, replay,
};
use seriatim_transactions::{
    self as transactions, Defect, End, KeyId, Kind, Level, NilReads, Op, Searched, Standing,
    Transactions, TxnId, Violation, Witness as Order, Writers, of_history, search_through_time,
    words,
};
use std::time::Duration;

/// So many operations are searched at once.
const FEW: usize = 64;

/// How long the general search may look at a violation.
const SECOND_LOOK: Duration = Duration::from_secs(2);

/// The verdict on a history of a multi-register; `None` if the engine cannot be asked or does not
/// know.
pub fn decide(
    history: &mut History,
    reader: &dyn Reader,
    options: &Options<'_>,
) -> Result<Option<Checked>, Refused> {
    let Some(transactions) = readable(history, reader) else { return Ok(None) };
    let mut limits = transactions::Options::default();
    limits.time = options.time;
    if options.monitors == Monitors::Skip {
        let both_ways = options.strategies.len() > 1;
        return if both_ways {
            searched(history, reader, &transactions, &limits)
        } else {
            Ok(None)
        };
    }
    let answer = match transactions::check(&transactions, Level::StrictSerializable, &limits) {
        Ok(answer) => answer,
        Err(Defect(reason)) => return Ok(Some(contradicted(history, reason))),
    };
    match answer.standing {
        Standing::Satisfied(Order::Serial(order)) => ordered(history, reader, &order, BY_ENGINE),
        Standing::Violated(violation) => {
            let explained = explained(history, reader, (&transactions, &violation), options)?;
            let detail = if explained.is_some() { Detail::Plain } else { options.detail };
            let searched = check_with(history, reader, &second_look(options, detail))?;
            Ok(match searched.verdict {
                Verdict::Violation(_) => Some(match explained {
                    Some(explained) => with_core(searched, explained),
                    None => searched,
                }),
                Verdict::Unknown(_) => Some(violated(history, &violation, BY_ENGINE)),
                Verdict::Linearizable(_) => {
                    let reason =
                        "the search finds an order for what the engine for transactions refutes";
                    Some(contradicted(history, reason.to_owned()))
                }
            })
        }
        Standing::Satisfied(_) | Standing::Unknown(_) => Ok(None),
    }
}

/// How the general search looks at a violation.
fn second_look<'o>(options: &Options<'o>, detail: Detail) -> Options<'o> {
    let time = Some(options.time.map_or(SECOND_LOOK, |time| time.min(SECOND_LOOK)));
    let strategies = options.strategies.clone();
    Options { time, strategies, detail, observer: None, ..*options }
}

/// The engine's counterexample in the words of the general search, which is asked about these
/// operations alone; `None` if no words are wanted, or if there is an order of them.
fn explained(
    history: &History,
    reader: &dyn Reader,
    (transactions, violation): (&Transactions, &Violation),
    options: &Options<'_>,
) -> Result<Option<Checked>, Refused> {
    if options.detail == Detail::Plain {
        return Ok(None);
    }
    let Some(operations) = with_writers(transactions, violation) else { return Ok(None) };
    let mut alone = history.restricted(&operations, Horizon::Whole);
    let mut told = check_with(&mut alone, reader, &second_look(options, options.detail))?;
    let Verdict::Violation(core) = &mut told.verdict else { return Ok(None) };
    let rename = |op: &mut OpId| *op = operations[op.index()];
    core.operations.iter_mut().for_each(rename);
    core.context.iter_mut().flat_map(|context| &mut context.order).for_each(rename);
    for attempt in &mut core.explanation.attempts {
        attempt.order.iter_mut().for_each(rename);
        attempt.stuck.iter_mut().for_each(|(op, _)| rename(op));
    }
    told.left_out.by_monitor += history.len() - operations.len();
    Ok(Some(told))
}

/// The operations of the engine's counterexample, of which it may have used only some reads, and
/// everybody who wrote what is read in them. To leave out all others is fair: an order of everything
/// stays right without them, since a read still comes after its own writer, with fewer others in
/// between. `None` if these are many.
fn with_writers(transactions: &Transactions, violation: &Violation) -> Option<Vec<OpId>> {
    let writers = Writers::new(transactions);
    let mut ids = violation.part.ids.clone();
    let mut next = 0;
    while let Some(&id) = ids.get(next) {
        next += 1;
        for op in &transactions.get(id).ops {
            let Op::Read(key, value) = *op else { continue };
            for writer in writers.of(key, value) {
                if !ids.contains(writer) {
                    ids.push(*writer);
                }
            }
        }
        if ids.len() > FEW {
            return None;
        }
    }
    ids.sort_unstable();
    Some(ids.into_iter().map(|txn| OpId(txn.0)).collect())
}

/// What was found of everything, with a counterexample of a few operations.
fn with_core(searched: Checked, explained: Checked) -> Checked {
    let confirmation = match (searched.confirmation, explained.confirmation) {
        (whole @ Some(Confirmation::Whole), _) => whole,
        // It was all that there was when these operations were looked at, and no more.
        (_, Some(Confirmation::Whole)) => Some(Confirmation::Core),
        (_, of_core) => of_core,
    };
    let (verdict, left_out) = (explained.verdict, explained.left_out);
    Checked { verdict, confirmation, left_out, ..searched }
}

/// The operations of the engine's counterexample.
fn operations_of(violation: &Violation) -> Vec<OpId> {
    violation.part.ids.iter().map(|txn| OpId(txn.0)).collect()
}

const BY_ENGINE: DecidedBy = DecidedBy::Monitor("transaction engine");

/// The verdict of the search through sets of transactions; `None` if it gives up.
fn searched(
    history: &mut History,
    reader: &dyn Reader,
    transactions: &Transactions,
    limits: &transactions::Options,
) -> Result<Option<Checked>, Refused> {
    let by_search = DecidedBy::Search(Strategy::DepthFirst);
    let deadline = limits.time.map(|time| Instant::now() + time);
    match search_through_time(transactions, deadline) {
        Searched::Order(order) => ordered(history, reader, &order, by_search),
        Searched::GaveUp => Ok(None),
        Searched::Nothing => {
            let answer = match transactions::check(transactions, Level::StrictSerializable, limits)
            {
                Ok(answer) => answer,
                Err(Defect(reason)) => return Ok(Some(contradicted(history, reason))),
            };
            match answer.standing {
                Standing::Violated(violation) => Ok(Some(violated(history, &violation, by_search))),
                Standing::Unknown(_) => Ok(None),
                Standing::Satisfied(_) => {
                    let reason =
                        "the engine for transactions finds an order for what the search refutes";
                    Ok(Some(contradicted(history, reason.to_owned())))
                }
            }
        }
    }
}

/// The verdict that an order shows, once it is replayed.
fn ordered(
    history: &mut History,
    reader: &dyn Reader,
    order: &[TxnId],
    by: DecidedBy,
) -> Result<Option<Checked>, Refused> {
    let order = order.iter().map(|txn| OpId(txn.0)).collect();
    let replayed = replay(history, reader, Witness { order })?;
    let verdict = replayed.ok().map(Verdict::Linearizable);
    Ok(verdict.map(|verdict| checked(history, verdict, PartStanding::Linearizable, by)))
}

/// The history as transactions, if that means the same.
fn readable(history: &History, reader: &dyn Reader) -> Option<Transactions> {
    let chosen = reader.chosen()?;
    let parameters = chosen.choice.parameters();
    let is_plain = chosen.choice.name() == "multi-register"
        && parameters.value("init").is_none()
        && !history.has_objects()
        && !history.has_open_ties()
        && (chosen.failures == Failures::Drop || !history.has_failures());
    if !is_plain {
        return None;
    }
    let nil_reads = match (parameters.value("strict"), history.nil()) {
        (None, Nil::Unknown) => NilReads::AreUnknown,
        _ => NilReads::SawNothing,
    };
    let transactions = of_history(history, history.source(), nil_reads).ok()?;
    let is_register = |key| transactions.kind(KeyId(key)) == Kind::Register;
    (0..transactions.key_count() as u32).all(is_register).then_some(transactions)
}

fn checked(
    history: &History,
    verdict: Verdict,
    standing: PartStanding,
    decided_by: DecidedBy,
) -> Checked {
    let part = PartVerdict {
        label: String::new(),
        operations: history.len(),
        standing,
        decided_by,
        fell_back: None,
    };
    Checked { parts: vec![part], ..Checked::new(verdict) }
}

/// No verdict: two engines contradict each other.
fn contradicted(history: &History, reason: String) -> Checked {
    let (decided, open) = (Vec::new(), Vec::new());
    let defect = Some(reason);
    let unknown = Unknown { limit: Limit::Defect, linearizable_events: 0, decided, open, defect };
    checked(history, Verdict::Unknown(unknown), PartStanding::Open, BY_ENGINE)
}

/// A violation that the general search did not look at.
fn violated(history: &History, violation: &Violation, by: DecidedBy) -> Checked {
    let operations = operations_of(violation);
    let by_monitor = history.len() - operations.len();
    let core = Counterexample {
        operations,
        horizon: Horizon::Whole,
        context: None,
        explanation: Explanation::because(sentence(violation)),
    };
    let confirmation = match violation.confirmation {
        transactions::Confirmation::Searched => {
            Confirmation::Engine("an exhaustive search of the reads that matter")
        }
        transactions::Confirmation::Missing => Confirmation::None,
    };
    Checked {
        confirmation: Some(confirmation),
        left_out: LeftOut { by_monitor, ..LeftOut::default() },
        ..checked(history, Verdict::Violation(core), PartStanding::Violation, by)
    }
}

fn sentence(violation: &Violation) -> String {
    let (part, explanation) = (&violation.part.history, &violation.explanation);
    let anomaly = &explanation.anomaly;
    match &explanation.proof.end {
        End::Cycle(cycle) => {
            let arrows: Vec<String> = cycle.iter().map(|arrow| words(part, arrow)).collect();
            format!("{anomaly}: {}", arrows.join("; "))
        }
        _ => anomaly.to_string(),
    }
}
