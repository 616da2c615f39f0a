//! The answers about isolation levels as JSON.

use super::{Answers, remarks};
use serde_json::{Value as Json, json};
use seriatim_transactions::{
    Answer, Arrow, Confirmation, End, KeyAnswer, Moment, Proof, Standing, Step, Transactions,
    TxnId, Violation, Why, Witness, standing_word, words,
};

/// The answers as one object.
pub fn report(found: &Answers<'_>) -> Json {
    let Answers { history, levels, keys, .. } = found;
    let levels: Vec<Json> = levels.iter().map(|answer| answer_json(history, answer)).collect();
    let keys = found.of_keys().map(|(verdict, _)| {
        let keys: Vec<Json> = keys.iter().map(|answer| key_json(history, answer)).collect();
        json!({ "verdict": verdict, "keys": keys })
    });
    json!({
        "schema": 1,
        "source": history.source(),
        "transactions": history.len(),
        "keys": history.key_count(),
        "sessions": history.session_count(),
        "levels": levels,
        "linearizable_per_key": keys,
        "warnings": found.warnings(),
    })
}

/// What became of a key; its transactions are named by their places in the whole history.
fn key_json(history: &Transactions, answer: &KeyAnswer) -> Json {
    let mut object = json!({
        "key": history.shown_key(answer.key),
        "verdict": standing_word(&answer.standing),
    });
    match &answer.standing {
        Standing::Satisfied(Witness::Serial(order)) => {
            let places = order.iter().map(|txn| answer.ids[txn.index()].0);
            object["witness"] = json!({ "order": places.collect::<Vec<_>>() });
        }
        Standing::Satisfied(_) => {}
        Standing::Violated(violation) => {
            object["violation"] =
                violation_json(&answer.history, violation, |id| answer.ids[id.index()]);
        }
        Standing::Unknown(_) => object["reason"] = json!(remarks(&answer.standing)),
    }
    object
}

fn answer_json(history: &Transactions, answer: &Answer) -> Json {
    let mut object =
        json!({ "level": answer.level.name(), "verdict": standing_word(&answer.standing) });
    match &answer.standing {
        Standing::Satisfied(witness) => object["witness"] = witness_json(witness),
        Standing::Violated(violation) => {
            object["violation"] = violation_json(history, violation, |id| id);
        }
        Standing::Unknown(_) => object["reason"] = json!(remarks(&answer.standing)),
    }
    object
}

/// Transactions are named by their place in the history, from 0.
fn witness_json(witness: &Witness) -> Json {
    let numbers = |order: &[TxnId]| order.iter().map(|txn| txn.0).collect::<Vec<_>>();
    match witness {
        Witness::Serial(order) => json!({ "order": numbers(order) }),
        Witness::Commits(order) => json!({ "commits": numbers(order) }),
        Witness::Events(events) => {
            let event = |&(txn, moment): &(TxnId, Moment)| match moment {
                Moment::Begin => json!(["begin", txn.0]),
                Moment::Commit => json!(["commit", txn.0]),
            };
            json!({ "events": events.iter().map(event).collect::<Vec<_>>() })
        }
    }
}

fn violation_json(
    history: &Transactions,
    violation: &Violation,
    place: impl Fn(TxnId) -> TxnId,
) -> Json {
    let part = &violation.part.history;
    let txn = |(index, id): (usize, &TxnId)| {
        let kept = &part.list()[index];
        let ops = kept.ops.iter().map(|op| part.shown_op(op)).collect::<Vec<_>>();
        let all = history.get(*id).ops.iter().map(|op| history.shown_op(op)).collect::<Vec<_>>();
        json!({
            "name": format!("T{}", index + 1),
            "transaction": place(*id).0,
            "line": (kept.line != 0).then_some(kept.line),
            "session": part.shown_session(kept.session),
            "operations": ops,
            "recorded": all,
        })
    };
    let txns: Vec<Json> = violation.part.ids.iter().enumerate().map(txn).collect();
    let anomaly = &violation.explanation.anomaly;
    json!({
        "anomaly": format!("{}{}", anomaly.name, anomaly.suffix),
        "meaning": anomaly.words,
        "confirmed": violation.confirmation == Confirmation::Searched,
        "transactions": txns,
        "needed": violation.part.needed.map(|needed| {
            json!({ "at_least": needed.at_least, "among": needed.among })
        }),
        "proof": proof_json(part, &violation.explanation.proof),
    })
}

fn name(txn: Option<TxnId>) -> String {
    txn.map_or("initial".to_owned(), |txn| format!("T{}", txn.0 + 1))
}

fn cycle_json(part: &Transactions, cycle: &[Arrow]) -> Json {
    let arrow = |arrow: &Arrow| {
        let (why, key) = match arrow.why {
            Why::WriteRead(key) => ("wr", Some(key)),
            Why::WriteWrite(key) => ("ww", Some(key)),
            Why::ReadWrite(key) => ("rw", Some(key)),
            Why::Missed(key, _) => ("missed", Some(key)),
            Why::Session => ("session", None),
            Why::RealTime => ("real-time", None),
            Why::HadRead(_) => ("had-read", None),
            Why::Initial => ("initial", None),
        };
        json!({
            "from": name(arrow.from),
            "to": name(arrow.to),
            "why": why,
            "key": key.map(|key| part.shown_key(key)),
            "words": words(part, arrow),
        })
    };
    cycle.iter().map(arrow).collect()
}

fn proof_json(part: &Transactions, proof: &Proof) -> Json {
    let step = |step: &Step| {
        json!({
            "key": part.shown_key(step.key),
            "earlier": name(step.earlier),
            "later": name(step.later),
            "contrary": cycle_json(part, &step.contrary),
        })
    };
    let mut object = json!({ "steps": proof.steps.iter().map(step).collect::<Vec<_>>() });
    match &proof.end {
        End::Cycle(cycle) => object["cycle"] = cycle_json(part, cycle),
        End::Cases { key, writers, proofs } => {
            object["cases"] = json!({
                "key": part.shown_key(*key),
                "writers": writers.map(name),
                "proofs": [proof_json(part, &proofs[0]), proof_json(part, &proofs[1])],
            });
        }
        End::Flaw(_, key) => object["key"] = json!(part.shown_key(*key)),
        End::Open => {}
    }
    object
}
