//! `seriatim check --order process|none`: an order of the operations that need not respect real
//! time.

mod page;

use super::limits;
use super::output::{recorded_line, remark, say, write_bytes};
use super::question::Question;
use super::transactions::junit;
use super::{Exit, Failure};
use clap::ValueEnum;
use serde_json::{Value as Json, json};
use seriatim::history::harmless_json;
use seriatim::limits::Cancel;
use seriatim::monitor::{Confirmation, Detail, Weaker, check_under};
use seriatim::report::{NAME, SCREEN, evidence, middle, with_article};
use seriatim::spec::{Attempt, Order, Reader};
use seriatim::{History, OpId, Options, Verdict};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What an order of the operations has to respect.
#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
#[cfg_attr(test, derive(Debug))]
pub enum Respects {
    /// Real time: linearizability
    #[default]
    RealTime,
    /// The order of each process: sequential consistency
    Process,
    /// Nothing but the object
    None,
}

/// How to print what was found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Print {
    Line,
    Json,
    Report,
}

/// What is asked, and where the answer goes.
pub struct Request<'r> {
    pub question: &'r Question,
    pub respects: Respects,
    pub print: Print,
    pub html: Option<&'r Path>,
    pub junit: Option<&'r Path>,
}

/// Carries out the check for some files.
pub fn run(request: &Request<'_>, paths: &[PathBuf]) -> Result<Exit, Failure> {
    let mut suites = String::new();
    let exit =
        limits::each(paths, |path| match answer(request.question, request.respects, path) {
            Ok(found) => Cancel::undisturbed(|| {
                match request.print {
                    Print::Line => say(&format!("{}\n", found.headline()))?,
                    Print::Json => say(&format!("{}\n", harmless_json(&found.json().to_string())))?,
                    Print::Report => say(&found.report())?,
                }
                if let Some(html) = request.html {
                    write_bytes(html, page::render(&found))?;
                }
                suites += &found.suite();
                Ok(found.exit())
            }),
            Err(Failure(problem)) => {
                remark(&format!("error: {problem}"));
                suites += &junit::unreadable(&path.display().to_string(), &problem);
                Ok(Exit::BadInput)
            }
        })?;
    if let Some(path) = request.junit {
        write_bytes(path, junit::document(&suites))?;
    }
    Ok(exit)
}

fn answer(question: &Question, respects: Respects, path: &Path) -> Result<Found, Failure> {
    let order = match respects {
        Respects::RealTime => Order::RealTime,
        Respects::Process => Order::Process,
        Respects::None => Order::Nothing,
    };
    let mut history = question.input.read(path)?;
    let options = Options { detail: Detail::Minimal, ..question.options() };
    let reader = question.reader(&history)?;
    let weaker = check_under(&mut history, &*reader, order, &options)?;
    Ok(Found { history, spec: Reader::name(&*reader), order, weaker })
}

/// What was found, with what a report needs.
struct Found {
    history: History,
    spec: String,
    order: Order,
    weaker: Weaker,
}

impl Found {
    fn exit(&self) -> Exit {
        match self.weaker.verdict {
            Verdict::Linearizable(_) => Exit::Holds,
            Verdict::Violation(_) => Exit::Violated,
            Verdict::Unknown(_) => Exit::Unknown,
        }
    }

    /// What became of it, in a word.
    fn word(&self) -> &'static str {
        match self.weaker.verdict {
            Verdict::Linearizable(_) => "satisfied",
            Verdict::Violation(_) => "violated",
            Verdict::Unknown(_) => "unknown",
        }
    }

    /// The answer as a suite of one case.
    fn suite(&self) -> String {
        let case = junit::case(self.property(), self.word(), (&self.headline(), &self.report()));
        junit::wrapped(self.history.source(), &[case])
    }

    fn property(&self) -> &'static str {
        match self.order {
            Order::RealTime | Order::Skewed => "linearizable",
            Order::Process => "sequentially consistent",
            Order::Nothing => "right in some order",
        }
    }

    fn headline(&self) -> String {
        let (source, property) = (self.history.source(), self.property());
        let object = with_article(&self.spec);
        match &self.weaker.verdict {
            Verdict::Linearizable(_) => format!("{source} is {property} as {object}"),
            Verdict::Violation(_) => format!("{source} is not {property} as {object}"),
            Verdict::Unknown(unknown) => {
                format!("whether {source} is {property} as {object}: {}", unknown.limit)
            }
        }
    }

    fn report(&self) -> String {
        let mark = match self.weaker.verdict {
            Verdict::Linearizable(_) => "✓ HOLDS",
            Verdict::Violation(_) => "✗ VIOLATION",
            Verdict::Unknown(_) => "? UNKNOWN",
        };
        let mut text = format!("{mark}  {}\n", self.headline());
        let (operations, processes) = (self.history.len(), self.history.process_count());
        text += &format!("  {operations} operations of {processes} processes\n");
        if operations == 0 {
            text += "  warning: the history is empty: nothing was checked\n";
        }
        match &self.weaker.verdict {
            Verdict::Linearizable(_) => {
                let more = match self.weaker.is_linearizable {
                    true => "  It is even linearizable.\n",
                    false => "  The order that was found does not respect real time.\n",
                };
                text + more + "  The order that was found was replayed.\n"
            }
            Verdict::Violation(core) => {
                text += &format!("\n  {}:\n\n", capital(&core.explanation.sentence));
                text += &self.columns(&core.operations);
                for attempt in &core.explanation.attempts {
                    text += &self.attempt(attempt);
                }
                text + &self.confirmation()
            }
            Verdict::Unknown(unknown) => match &unknown.defect {
                Some(defect) => format!("{text}  This is a defect of Seriatim: {defect}\n"),
                None => text,
            },
        }
    }

    /// The operations of each process, in its order.
    fn columns(&self, operations: &[OpId]) -> String {
        let processes = self.by_process(operations);
        let shown = |name: &str| middle(name, NAME).into_owned();
        let width = processes.keys().map(|name| shown(name).chars().count()).max().unwrap_or(0);
        let line = |(name, ops): (&String, &Vec<OpId>)| {
            let ops: Vec<String> = ops.iter().map(|&op| self.text(op)).collect();
            format!("  {:width$}  {}\n", shown(name), ops.join(" · "))
        };
        processes.iter().map(line).collect()
    }

    fn by_process(&self, operations: &[OpId]) -> BTreeMap<String, Vec<OpId>> {
        let mut processes: BTreeMap<String, Vec<OpId>> = BTreeMap::new();
        for &op in operations {
            let name = self.history.process_name(self.history.process(op)).to_string();
            processes.entry(name).or_default().push(op);
        }
        processes
    }

    /// An operation for people; JSON has all of it.
    fn text(&self, op: OpId) -> String {
        middle(&self.history.operation(op).to_string(), SCREEN).into_owned()
    }

    fn attempt(&self, attempt: &Attempt) -> String {
        let placed: Vec<String> = attempt.order.iter().map(|&op| self.text(op)).collect();
        let mut text = "\n  The order that gets farthest:\n".to_owned();
        if !placed.is_empty() {
            text += &format!("    {}\n", placed.join(" · "));
        }
        for (op, reason) in &attempt.stuck {
            let line = self.history.operation(*op).line();
            let reason = middle(reason, SCREEN);
            text += &format!("    ✗ {} (line {line}): {reason}\n", self.text(*op));
        }
        text
    }

    fn confirmation(&self) -> String {
        let sentence = match self.weaker.confirmation {
            Some(Confirmation::None) | None => evidence::UNCONFIRMED.to_owned(),
            Some(_) => evidence::confirmed("brute force", "these operations"),
        };
        format!("  {sentence}\n")
    }

    fn json(&self) -> Json {
        let order = match self.order {
            Order::RealTime | Order::Skewed => "real-time",
            Order::Process => "process",
            Order::Nothing => "none",
        };
        let mut object = json!({
            "schema": 1,
            "source": self.history.source(),
            "spec": self.spec,
            "order": order,
            "operations": self.history.len(),
            "verdict": self.word(),
        });
        let ids = |ops: &[OpId]| ops.iter().map(|op| op.0).collect::<Vec<_>>();
        match &self.weaker.verdict {
            Verdict::Linearizable(witness) => {
                object["linearizable"] = json!(self.weaker.is_linearizable);
                object["witness"] = json!(ids(&witness.order));
            }
            Verdict::Violation(core) => {
                let operation = |&op: &OpId| {
                    json!({
                        "operation": op.0,
                        "process": self.history.process_name(self.history.process(op)).to_string(),
                        "text": self.history.operation(op).to_string(),
                        "line": recorded_line(self.history.operation(op).line()),
                    })
                };
                object["violation"] = core.operations.iter().map(operation).collect();
                object["confirmed"] =
                    json!(!matches!(self.weaker.confirmation, None | Some(Confirmation::None)));
            }
            Verdict::Unknown(unknown) => {
                object["reason"] = json!(unknown.limit.to_string());
            }
        }
        object
    }
}

fn capital(sentence: &str) -> String {
    let mut characters = sentence.chars();
    let first = characters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + characters.as_str()
}
