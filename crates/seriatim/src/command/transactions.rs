//! `seriatim check --level`: does a history of transactions satisfy an isolation level?

use super::limits;
use super::output::{recorded_line, remark, say, write_bytes};
use super::{Exit, Failure};

pub mod bank;
pub mod junit;

use serde_json::{Value as Json, json};
use seriatim::InputError;
use seriatim::history::harmless_json;
use seriatim::limits::Cancel;
use seriatim::transactions::{
    Answer, Checker, Confirmation, Defect, End, Glyphs, KeyAnswer, Level, Moment, NilReads,
    Options, Proof, Standing, Transactions, TxnId, Unknown, Violation, Why, Witness, check_keys,
    draw, limit_in_words, of_history, page, read, read_independent, standing_word, words,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is asked about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    levels: Vec<Level>,
    /// Whether every key is linearizable by itself.
    keys: bool,
    /// Whether everything was asked for, so that what cannot be asked is left out.
    all: bool,
}

/// The levels of some names, with commas between them.
pub fn asked(names: &str) -> Result<Asked, String> {
    let mut asked = Asked { levels: Vec::new(), keys: false, all: false };
    for name in names.split(',').map(str::trim) {
        match name {
            "all" => asked = Asked { levels: Level::ALL.to_vec(), keys: true, all: true },
            PER_KEY | "per-key" => asked.keys = true,
            name => {
                let level = name.parse();
                let unknown = |error| format!("{error}; `{PER_KEY}` and `all` can be asked, too");
                asked.levels.push(level.map_err(unknown)?);
            }
        }
    }
    Ok(asked)
}

/// The name of the question whether every key is linearizable by itself.
const PER_KEY: &str = "linearizable-per-key";

/// How to print what was found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Print {
    Line,
    Json,
    Report(Glyphs),
}

/// What is asked, and how the answer is printed.
pub struct Request<'r> {
    pub asked: &'r Asked,
    pub spec: Option<&'r str>,
    pub time: Option<Duration>,
    pub independent: bool,
    pub print: Print,
    pub html: Option<&'r Path>,
    pub junit: Option<&'r Path>,
}

/// The specifications whose histories are transactions.
const SPECS: [&str; 6] = ["transactions", "multi-register", "registers", "register", "map", "kv"];

/// Carries out `seriatim check --level` for some files.
pub fn run(request: &Request<'_>, paths: &[PathBuf]) -> Result<Exit, Failure> {
    if let Some(spec) = request.spec
        && !SPECS.contains(&spec)
    {
        let reason = "--level is asked of transactions, registers and maps; expected --spec \
                      transactions, register or map, or none";
        return Err(Failure(format!("{reason}, found --spec {spec}")));
    }
    let mut suites = String::new();
    let mut pages = 0;
    let exit = limits::each(paths, |path| {
        let histories = match request.independent {
            true => read_independent(path),
            false => read_as(path, request.spec).map(|history| vec![history]),
        };
        let histories = match histories {
            Ok(histories) => histories,
            Err(error) => {
                remark(&format!("error: {error}"));
                suites += &junit::unreadable(&path.display().to_string(), &error.to_string());
                return Ok(Exit::BadInput);
            }
        };
        let mut exit = Exit::Holds;
        for history in histories {
            let answers = match Answers::of(request, &history) {
                Ok(answers) => answers,
                Err(defect) => {
                    let source = history.source();
                    let text = format!("unknown: {defect}; please report it, with the log");
                    remark(&format!("{source}: {text}"));
                    suites += &junit::unreadable(source, &text);
                    exit = exit.and(Exit::Unknown);
                    continue;
                }
            };
            // What is known is told, however late it is.
            Cancel::undisturbed(|| say(&answers.text(request.print)))?;
            exit = exit.and(answers.exit());
            suites += &junit::suite(&answers);
            if let Some(path) = request.html {
                pages += 1;
                if pages > 1 {
                    let reason = "--html takes one history; there are several";
                    return Err(Failure(reason.to_owned()));
                }
                let page = || page(answers.history, &answers.levels, &answers.keys);
                write_bytes(path, Cancel::undisturbed(page))?;
            }
        }
        Ok(exit)
    })?;
    if let Some(path) = request.junit {
        write_bytes(path, junit::document(&suites))?;
    }
    Ok(exit)
}

/// The operations of a register or a map, each a transaction; or else what is recorded as such.
fn read_as(path: &Path, spec: Option<&str>) -> Result<Transactions, InputError> {
    if !matches!(spec, Some("register" | "map" | "kv")) {
        return read(path);
    }
    let history = seriatim::history::read(path)?;
    of_history(&history, history.source(), NilReads::SawNothing)
}

/// What was found out about a history.
pub struct Answers<'h> {
    pub history: &'h Transactions,
    pub levels: Vec<Answer>,
    /// What became of each key, if that was asked.
    pub keys: Vec<KeyAnswer>,
    asks_all: bool,
}

impl<'h> Answers<'h> {
    fn of(request: &Request<'_>, history: &'h Transactions) -> Result<Self, Defect> {
        let mut options = Options::default();
        options.time = request.time;
        let mut checker = Checker::new(history, &options);
        let mut levels = Vec::new();
        for &level in &request.asked.levels {
            levels.push(checker.check(level)?);
        }
        let keys = match request.asked.keys {
            true => check_keys(history, &options)?,
            false => Vec::new(),
        };
        let answers = Answers { history, levels, keys, asks_all: request.asked.all };
        answers.compare()?;
        Ok(answers)
    }

    /// What is strictly serializable is linearizable key by key.
    fn compare(&self) -> Result<(), Defect> {
        let is_strict = self.levels.iter().any(|answer| {
            let holds = matches!(answer.standing, Standing::Satisfied(_));
            answer.level == Level::StrictSerializable && holds
        });
        match is_strict && !self.failing().is_empty() {
            true => Err(Defect("strictly serializable, but a key is not linearizable".to_owned())),
            false => Ok(()),
        }
    }

    fn text(&self, print: Print) -> String {
        match print {
            Print::Json => format!("{}\n", harmless_json(&report_json(self).to_string())),
            Print::Line => format!("{}: {}\n", self.history.source(), self.in_a_line()),
            Print::Report(glyphs) => report(self, glyphs),
        }
    }

    fn exit(&self) -> Exit {
        let levels = self.levels.iter().map(|answer| &answer.standing);
        let all = levels.chain(self.keys.iter().map(|answer| &answer.standing));
        let one = |standing: &Standing| match standing {
            Standing::Satisfied(_) => Exit::Holds,
            Standing::Violated(_) => Exit::Violated,
            // Among all levels, those that cannot be asked of a history without times are left out.
            Standing::Unknown(Unknown::NoTimes) if self.asks_all => Exit::Holds,
            Standing::Unknown(_) => Exit::Unknown,
        };
        all.map(one).fold(Exit::Holds, Exit::and)
    }

    /// What to know before believing the verdicts.
    fn warnings(&self) -> Vec<&'static str> {
        let is_empty = self.history.is_empty();
        Vec::from_iter(is_empty.then_some("the history is empty: nothing was checked"))
    }

    /// The keys that are not linearizable.
    fn failing(&self) -> Vec<&KeyAnswer> {
        let fails = |answer: &&KeyAnswer| matches!(answer.standing, Standing::Violated(_));
        self.keys.iter().filter(fails).collect()
    }

    /// What became of the keys, and what there is to say of it.
    pub fn of_keys(&self) -> Option<(&'static str, String)> {
        let unknown = self.keys.iter().find_map(|answer| match &answer.standing {
            Standing::Unknown(_) => Some(remarks(&answer.standing)),
            _ => None,
        });
        let failing = self.failing();
        if self.keys.is_empty() {
            return None;
        }
        if failing.is_empty() {
            return Some(unknown.map_or(("satisfied", String::new()), |why| ("unknown", why)));
        }
        let names =
            failing.iter().take(8).map(|answer| self.history.key_name(answer.key).to_string());
        let mut names: Vec<String> = names.collect();
        if failing.len() > names.len() {
            names.push("…".to_owned());
        }
        let (count, all) = (failing.len(), self.keys.len());
        Some(("violated", format!("keys {} ({count} of {all})", names.join(", "))))
    }

    fn in_a_line(&self) -> String {
        let one = |name: &str, verdict: &str, remarks: String| match remarks.is_empty() {
            true => format!("{name} {verdict}"),
            false => format!("{name} {verdict} ({remarks})"),
        };
        let levels = self
            .levels
            .iter()
            .map(|answer| one(answer.level.name(), verdict(answer), remarks(&answer.standing)));
        let keys = self.of_keys().map(|(verdict, remarks)| one(PER_KEY, verdict, remarks));
        levels.chain(keys).collect::<Vec<_>>().join("; ")
    }
}

fn verdict(answer: &Answer) -> &'static str {
    standing_word(&answer.standing)
}

/// What there is to say of an answer in a few words.
pub fn remarks(standing: &Standing) -> String {
    match standing {
        Standing::Satisfied(_) => String::new(),
        Standing::Violated(violation) => {
            let doubt = match violation.confirmation {
                Confirmation::Searched => "",
                Confirmation::Missing => "; not confirmed by a second engine",
            };
            let (count, anomaly) = (violation.part.ids.len(), &violation.explanation.anomaly);
            let noun = if count == 1 { "transaction" } else { "transactions" };
            let needed = match violation.part.needed {
                None => String::new(),
                Some(needed) if needed.at_least >= count => {
                    format!(" (no fewer of the {} around them)", needed.among)
                }
                Some(needed) => {
                    format!(" (at least {} of the {} around them)", needed.at_least, needed.among)
                }
            };
            format!("{anomaly}, {count} {noun}{needed}{doubt}")
        }
        Standing::Unknown(Unknown::Limit) => limit_in_words().to_owned(),
        Standing::Unknown(Unknown::NoTimes) => "no times are recorded".to_owned(),
        Standing::Unknown(Unknown::Ambiguous(reads)) => {
            let reads = if *reads == 1 { "a read".into() } else { format!("{reads} reads") };
            format!("ambiguous: {reads} of values that were written more than once")
        }
        Standing::Unknown(Unknown::Counters) => {
            "counters were read: below prefix and snapshot isolation they are not decided"
                .to_owned()
        }
    }
}

fn report(found: &Answers<'_>, glyphs: Glyphs) -> String {
    let Answers { history, levels: answers, .. } = found;
    let mut text = format!("{}: {}\n", history.source(), history.size_text());
    for warning in found.warnings() {
        text += &format!("  warning: {warning}\n");
    }
    text.push('\n');
    let of_keys = found.of_keys();
    let names = answers.iter().map(|answer| answer.level.name().len());
    let width = names.chain(of_keys.iter().map(|_| PER_KEY.len())).max().unwrap_or(0);
    let mut row = |name: &str, verdict: &str, remarks: &str| {
        text.push_str(format!("  {name:width$}  {verdict:9}  {remarks}").trim_end());
        text.push('\n');
    };
    for answer in answers {
        row(answer.level.name(), verdict(answer), &remarks(&answer.standing));
    }
    if let Some((verdict, remarks)) = &of_keys {
        row(PER_KEY, verdict, remarks);
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
    if let Some(first) = found.failing().first()
        && let Standing::Violated(violation) = &first.standing
    {
        let key = history.key_name(first.key);
        let drawing = draw(violation, glyphs);
        text.push_str(&format!("\nWhy key {key} is not linearizable:\n\n{drawing}"));
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

fn report_json(found: &Answers<'_>) -> Json {
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
        "key": history.key_name(answer.key).to_string(),
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
    let mut object = json!({ "level": answer.level.name(), "verdict": verdict(answer) });
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
        let ops = kept.ops.iter().map(|op| part.op_text(op)).collect::<Vec<_>>();
        let all = history.get(*id).ops.iter().map(|op| history.op_text(op)).collect::<Vec<_>>();
        json!({
            "name": format!("T{}", index + 1),
            "transaction": place(*id).0,
            "line": recorded_line(kept.line),
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
        "needed": violation.part.needed.map(|needed| {
            json!({ "at_least": needed.at_least, "among": needed.among })
        }),
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
