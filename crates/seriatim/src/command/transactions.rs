//! `seriatim check --level`: does a history of transactions satisfy an isolation level?

use super::output::{remark, say};
use super::{Exit, Failure};
use serde_json::{Value as Json, json};
use seriatim::transactions::{
    Answer, Checker, Confirmation, End, Glyphs, Level, Moment, Options, Proof, Standing,
    Transactions, TxnId, Unknown, Violation, Why, Witness, draw, read, words,
};
use std::path::PathBuf;
use std::time::Duration;

/// The levels that are asked about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked {
    One(Level),
    All,
}

/// The level of a name.
pub fn asked(name: &str) -> Result<Asked, String> {
    match name {
        "all" => Ok(Asked::All),
        name => name.parse().map(Asked::One).map_err(|error| format!("{error}, or all")),
    }
}

/// How to print what was found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Print {
    Line,
    Json,
    Report(Glyphs),
}

/// What is asked, and how the answer is printed.
pub struct Request<'r> {
    pub asked: Asked,
    pub spec: Option<&'r str>,
    pub time: Option<Duration>,
    pub print: Print,
}

/// Carries out `seriatim check --level` for some files.
pub fn run(request: &Request<'_>, paths: &[PathBuf]) -> Result<Exit, Failure> {
    if let Some(spec) = request.spec
        && !["transactions", "multi-register", "registers"].contains(&spec)
    {
        let reason = "--level is asked of transactions; expected --spec transactions, or none";
        return Err(Failure(format!("{reason}, found --spec {spec}")));
    }
    let mut exit = Exit::Holds;
    for path in paths {
        match read(path) {
            Ok(history) => exit = exit.and(answer(request, &history)?),
            Err(error) => {
                remark(&format!("error: {error}"));
                exit = exit.and(Exit::BadInput);
            }
        }
    }
    Ok(exit)
}

fn answer(request: &Request<'_>, history: &Transactions) -> Result<Exit, Failure> {
    let mut options = Options::default();
    options.time = request.time;
    let mut checker = Checker::new(history, &options);
    let levels = match request.asked {
        Asked::One(level) => vec![level],
        Asked::All => Level::ALL.to_vec(),
    };
    let mut answers = Vec::new();
    for level in levels {
        answers.push(checker.check(level)?);
    }
    say(&match request.print {
        Print::Json => format!("{}\n", report_json(history, &answers)),
        Print::Line => format!("{}: {}\n", history.source(), in_a_line(&answers)),
        Print::Report(glyphs) => report(history, &answers, glyphs),
    })?;
    Ok(exit(request.asked, &answers))
}

fn exit(asked: Asked, answers: &[Answer]) -> Exit {
    let one = |answer: &Answer| match &answer.standing {
        Standing::Satisfied(_) => Exit::Holds,
        Standing::Violated(_) => Exit::Violated,
        // Among all levels, those that cannot be asked of a history without times are left out.
        Standing::Unknown(Unknown::NoTimes) if asked == Asked::All => Exit::Holds,
        Standing::Unknown(_) => Exit::Unknown,
    };
    answers.iter().map(one).fold(Exit::Holds, Exit::and)
}

fn verdict(answer: &Answer) -> &'static str {
    match answer.standing {
        Standing::Satisfied(_) => "satisfied",
        Standing::Violated(_) => "violated",
        Standing::Unknown(_) => "unknown",
    }
}

/// What there is to say of an answer in a few words.
fn remarks(answer: &Answer) -> String {
    match &answer.standing {
        Standing::Satisfied(_) => String::new(),
        Standing::Violated(violation) => {
            let doubt = match violation.confirmation {
                Confirmation::Searched => "",
                Confirmation::Missing => "; not confirmed by a second engine",
            };
            let (count, anomaly) = (violation.part.ids.len(), &violation.explanation.anomaly);
            let noun = if count == 1 { "transaction" } else { "transactions" };
            format!("{anomaly}, {count} {noun}{doubt}")
        }
        Standing::Unknown(Unknown::Limit) => "a limit was reached".to_owned(),
        Standing::Unknown(Unknown::NoTimes) => "no times are recorded".to_owned(),
        Standing::Unknown(Unknown::Ambiguous(reads)) => {
            format!("ambiguous: {reads} reads of values that were written more than once")
        }
    }
}

fn in_a_line(answers: &[Answer]) -> String {
    let one = |answer: &Answer| match remarks(answer) {
        remarks if remarks.is_empty() => format!("{} {}", answer.level, verdict(answer)),
        remarks => format!("{} {} ({remarks})", answer.level, verdict(answer)),
    };
    answers.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn report(history: &Transactions, answers: &[Answer], glyphs: Glyphs) -> String {
    let (count, keys) = (history.len(), history.key_count());
    let sessions = history.session_count();
    let source = history.source();
    let mut text = format!("{source}: {count} transactions, {keys} keys, {sessions} sessions\n\n");
    let width = answers.iter().map(|answer| answer.level.name().len()).max().unwrap_or(0);
    for answer in answers {
        let line = format!("  {:width$}  {:9}  {}", answer.level, verdict(answer), remarks(answer));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    if answers.len() > 1 {
        text.push_str(&extremes(answers));
    }
    let weakest = answers.iter().rev().find_map(|answer| match &answer.standing {
        Standing::Violated(violation) => Some((answer.level, violation)),
        _ => None,
    });
    if let Some((level, violation)) = weakest {
        text.push_str(&format!("\nWhy {level} is violated:\n\n{}", draw(violation, glyphs)));
    }
    text
}

/// The strongest levels that hold and the weakest that do not.
fn extremes(answers: &[Answer]) -> String {
    let with = |is_wanted: fn(&Standing) -> bool| -> Vec<Level> {
        let wanted = answers.iter().filter(|answer| is_wanted(&answer.standing));
        wanted.map(|answer| answer.level).collect()
    };
    let holding = with(|standing| matches!(standing, Standing::Satisfied(_)));
    let failing = with(|standing| matches!(standing, Standing::Violated(_)));
    let is_implied =
        |level: &Level, by: &[Level]| by.iter().any(|other| other.implies().contains(level));
    let strongest: Vec<&str> =
        holding.iter().filter(|level| !is_implied(level, &holding)).map(|l| l.name()).collect();
    let implies_one = |level: &Level| failing.iter().any(|other| level.implies().contains(other));
    let weakest: Vec<&str> =
        failing.iter().filter(|level| !implies_one(level)).map(|l| l.name()).collect();
    let list = |names: &[&str]| match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    let (strongest, weakest) = (list(&strongest), list(&weakest));
    format!("\n  strongest that hold: {strongest}\n  weakest that fail:   {weakest}\n")
}

fn report_json(history: &Transactions, answers: &[Answer]) -> Json {
    let levels: Vec<Json> = answers.iter().map(|answer| answer_json(history, answer)).collect();
    json!({
        "source": history.source(),
        "transactions": history.len(),
        "keys": history.key_count(),
        "sessions": history.session_count(),
        "levels": levels,
    })
}

fn answer_json(history: &Transactions, answer: &Answer) -> Json {
    let mut object = json!({ "level": answer.level.name(), "verdict": verdict(answer) });
    match &answer.standing {
        Standing::Satisfied(witness) => object["witness"] = witness_json(witness),
        Standing::Violated(violation) => {
            object["violation"] = violation_json(history, violation);
        }
        Standing::Unknown(_) => object["reason"] = json!(remarks(answer)),
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

fn violation_json(history: &Transactions, violation: &Violation) -> Json {
    let part = &violation.part.history;
    let txn = |(index, id): (usize, &TxnId)| {
        let kept = &part.list()[index];
        let ops = kept.ops.iter().map(|op| part.op_text(op)).collect::<Vec<_>>();
        let all = history.get(*id).ops.iter().map(|op| history.op_text(op)).collect::<Vec<_>>();
        json!({
            "name": format!("T{}", index + 1),
            "transaction": id.0,
            "line": kept.line,
            "session": part.session_name(kept.session).to_string(),
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
        "proof": proof_json(part, &violation.explanation.proof),
    })
}

fn name(txn: Option<TxnId>) -> String {
    txn.map_or("initial".to_owned(), |txn| format!("T{}", txn.0 + 1))
}

fn cycle_json(part: &Transactions, cycle: &[seriatim::transactions::Arrow]) -> Json {
    let arrow = |arrow: &seriatim::transactions::Arrow| {
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
            "key": key.map(|key| part.key_name(key).to_string()),
            "words": words(part, arrow),
        })
    };
    cycle.iter().map(arrow).collect()
}

fn proof_json(part: &Transactions, proof: &Proof) -> Json {
    let step = |step: &seriatim::transactions::Step| {
        json!({
            "key": part.key_name(step.key).to_string(),
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
                "key": part.key_name(*key).to_string(),
                "writers": writers.map(name),
                "proofs": [proof_json(part, &proofs[0]), proof_json(part, &proofs[1])],
            });
        }
        End::Flaw(_, key) => object["key"] = json!(part.key_name(*key).to_string()),
        End::Open => {}
    }
    object
}
