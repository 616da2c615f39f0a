//! Logs that are checked from disk, part by part: alone, or a shard of them with a verdict file.

use super::input::Input;
use super::question::{Done, Question};
use super::verdicts;
use super::{Exit, Failure};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use seriatim::history::{
    Builder, Horizon, ReadOptions, harmless_json, is_stdin_kept, keep_stdin, open,
};
use seriatim::question::{Answered, ChosenBy};
use seriatim::report::{SCREEN, doubt, middle};
use seriatim::scale::judge::Evidence;
use seriatim::scale::record::Rank;
use seriatim::scale::run::{Defects, Limits, Log, Plan, Shard};
use seriatim::scale::spill::Scratch;
use seriatim::scale::verdicts::{About, Line, Writer};
use seriatim::scale::{JudgedPart, Judgement, ScaleError, run};
use seriatim::spec::{Explanation, Limit, Replayed};
use seriatim::{Checked, Counterexample, History, SpecChoice, Unknown, Verdict};
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Where a log waits while it is checked, and which parts of it are.
#[derive(Args, Default)]
#[cfg_attr(test, derive(Debug))]
pub struct Scale {
    /// Whether operations are kept on disk, so that a log may be larger than memory
    #[arg(long, value_enum, default_value_t)]
    spill: Spilling,

    /// The folder for temporary files [default: the system's]
    #[arg(long, value_name = "FOLDER")]
    temp: Option<PathBuf>,

    /// The files form one log: whole operations with comparable times
    #[arg(long)]
    pub one_log: bool,

    /// Check only the parts of shard I of N, counted from 0
    #[arg(long, value_name = "I/N", requires = "verdicts", value_parser = shard_named)]
    shard: Option<Shard>,

    /// Append each result to this file, one line per part; if it exists, continue where it ends
    #[arg(long, value_name = "FILE")]
    pub verdicts: Option<PathBuf>,

    #[cfg(feature = "cluster")]
    #[command(flatten)]
    pub cluster: super::cluster::Processes,
}

#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
#[cfg_attr(test, derive(Debug))]
enum Spilling {
    /// If the log might not fit in memory
    #[default]
    Auto,
    Always,
    Never,
}

/// Smaller files are always read whole.
const SMALL: u64 = 256 << 20;
/// How much memory a byte of a file may need when it is read whole.
const EXPANDED: u64 = 16;
/// The same for an object that cannot be split and that a fast monitor decides: in the end it has
/// to be in memory whole, so that the way through the disk only costs more.
const EXPANDED_WHOLE: u64 = 5;
/// These objects.
const WHOLE: [&str; 10] = [
    "queue",
    "stack",
    "priority-queue",
    "register",
    "cas-register",
    "counter",
    "fetch-and-add",
    "mutex",
    "semaphore",
    "log",
];
/// The same for a compressed file.
const UNPACKED: u64 = 200;

fn shard_named(text: &str) -> Result<Shard, String> {
    let expected = "expected the shard and how many there are, as in 0/4 (counted from 0)";
    let (index, count) = text.split_once('/').ok_or(expected)?;
    match (index.parse(), count.parse()) {
        (Ok(index), Ok(count)) if index < count => Ok(Shard { index, count }),
        _ => Err(expected.to_owned()),
    }
}

impl Scale {
    /// Whether a file is checked from disk under a specification, if one is named.
    pub fn is_spilled(&self, path: &Path, spec: Option<&str>, memory: usize) -> bool {
        match self.spill {
            Spilling::Always => true,
            Spilling::Never => false,
            Spilling::Auto if is_kept(path) => exceeds(path, SMALL.max(memory as u64) / EXPANDED),
            Spilling::Auto => {
                let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
                let name = path.to_string_lossy();
                let is_packed = name.ends_with(".gz") || name.ends_with(".zst");
                let choice = spec.and_then(|spec| SpecChoice::parse(spec).ok());
                let is_whole = choice.is_some_and(|choice| WHOLE.contains(&choice.name()));
                let factor = match (is_packed, is_whole) {
                    (true, _) => UNPACKED,
                    (false, true) => EXPANDED_WHOLE,
                    (false, false) => EXPANDED,
                };
                bytes.saturating_mul(factor) > SMALL.max(memory as u64)
            }
        }
    }

    /// Whether a file can be read more than once and surely fits into so much memory.
    pub fn is_small(&self, path: &Path, memory: usize) -> bool {
        let is_packed = path.extension().is_some_and(|ending| ending == "gz" || ending == "zst");
        let factor = if is_packed { UNPACKED } else { EXPANDED };
        let fits = |bytes: u64| bytes.saturating_mul(factor) <= memory as u64;
        let found = std::fs::metadata(path);
        self.spill != Spilling::Always && found.is_ok_and(|file| file.is_file() && fits(file.len()))
    }

    /// Whether a log may be checked from disk though it was not expected to be too large.
    pub fn may_spill(&self, log: &[PathBuf]) -> bool {
        let can_be_read_again = |path: &PathBuf| path.is_file() || is_kept(path);
        self.spill == Spilling::Auto && log.iter().all(can_be_read_again)
    }

    /// Lets standard input be read again, in case that it does not fit in memory.
    pub fn keep_stdin(&self) {
        if self.spill != Spilling::Never {
            let scratch = self.scratch();
            keep_stdin(move || scratch.unnamed());
        }
    }

    /// Where temporary files go.
    pub fn scratch(&self) -> Scratch {
        Scratch::new(self.temp.clone().unwrap_or_else(std::env::temp_dir))
    }

    /// What the verdict files of this run are about.
    pub fn shard(&self) -> Shard {
        self.shard.unwrap_or(Shard::ALL)
    }
}

/// Whether a path is standard input, and can be read again.
fn is_kept(path: &Path) -> bool {
    path == Path::new("-") && is_stdin_kept()
}

/// Whether what can be read more than once has more than so many bytes. What cannot be read is told
/// by whoever reads it next.
fn exceeds(path: &Path, bytes: u64) -> bool {
    let Ok(input) = open(path) else { return false };
    io::copy(&mut input.take(bytes + 1), &mut io::sink()).is_ok_and(|read| read > bytes)
}

/// Some files as one log, by a map if there is one.
fn log(question: &Question, paths: &[PathBuf], defects: Defects) -> Result<Log, ScaleError> {
    let Input { format, independent, mapping, .. } = &question.input;
    match mapping.by_map() {
        Some(by_map) => Log::open(paths, by_map, defects),
        None => {
            let options = ReadOptions { format: *format, independent: *independent };
            Log::open(paths, options, defects)
        }
    }
}

/// Whether the specification of a log is known before all of it is read: it is named by the user,
/// by the map, or in the first line of the log.
pub fn is_specified(question: &Question, paths: &[PathBuf]) -> bool {
    let names_it = || log(question, paths, Defects::End).is_ok_and(|log| log.header.spec.is_some());
    question.spec_beforehand().is_some() || names_it()
}

/// What is to be decided of some files.
pub fn plan(
    question: &Question,
    scale: &Scale,
    paths: &[PathBuf],
    defects: Defects,
) -> Result<Plan, Failure> {
    let log = log(question, paths, defects)?;
    let reader = question.shared_reader(log.header.spec.as_deref())?;
    let options = question.options();
    Ok(Plan {
        log,
        reader,
        partitioning: options.partitioning,
        monitors: options.monitors,
        strategies: options.strategies,
        limits: Limits {
            memory: options.memory,
            threads: options.threads,
            deadline: options.time.map(|time| Instant::now() + time),
            scratch: scale.scratch(),
        },
        shard: scale.shard(),
        defects,
        decided: Arc::new([]),
    })
}

/// What a check from disk found.
pub struct Spilled {
    /// The files.
    pub source: String,
    /// How many operations the log has.
    pub operations: u64,
    /// How many parts were looked at.
    pub parts: u64,
    /// How many of them are not linearizable.
    pub violations: u64,
    /// Those that are open or cannot be read, with the reason.
    pub open: Vec<(String, String)>,
    /// Whether parts were left out after a violation.
    pub is_cut_short: bool,
    /// How many bytes waited on disk.
    pub bytes: u64,
    /// Why the log is not linearizable, where there is nothing to draw.
    pub sentence: Option<String>,
}

/// The verdicts on the parts of a log, as they come.
#[derive(Default)]
struct Found {
    violations: u64,
    open: Vec<(String, String)>,
    /// The part that cannot be read and begins first: where it begins, and why.
    refused: Option<(Rank, String)>,
    /// The violated part that begins first.
    first: Option<JudgedPart>,
}

impl Found {
    fn add(&mut self, verdict: JudgedPart) {
        match &verdict.judgement {
            Judgement::Linearizable => {}
            Judgement::Unknown(reason) => self.open.push((verdict.label, reason.clone())),
            Judgement::Refused(reason) => {
                if self.refused.as_ref().is_none_or(|first| verdict.first < first.0) {
                    self.refused = Some((verdict.first, reason.clone()));
                }
            }
            Judgement::Violation(_) => {
                self.violations += 1;
                if self.first.as_ref().is_none_or(|first| verdict.first < first.first) {
                    self.first = Some(verdict);
                }
            }
        }
    }
}

/// Checks one log from disk.
pub fn answer(question: &Question, scale: &Scale, paths: &[PathBuf]) -> Result<Done, Failure> {
    question.refuse_what_needs_all()?;
    let start = Instant::now();
    let plan = plan(question, scale, paths, Defects::End)?;
    let mut found = Found::default();
    let summary = run(&plan, &mut |verdict| {
        found.add(verdict);
        let is_enough = question.stops_at_first() && found.violations > 0;
        Ok(if is_enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    if let Some((_, reason)) = found.refused {
        return Err(Failure(reason));
    }
    let names: Vec<&str> = plan.log.files.iter().map(|info| &info.name[..]).collect();
    let mut spilled = Spilled {
        source: names.join(", "),
        operations: (summary.tally.ok + summary.tally.failed + summary.tally.pending) as u64,
        parts: summary.parts,
        violations: found.violations,
        open: found.open,
        is_cut_short: summary.is_cut_short,
        bytes: summary.spilled,
        sentence: None,
    };
    let (history, checked) = match found.first {
        Some(first) => violated(first, &plan, &mut spilled)?,
        None => unviolated(&spilled)?,
    };
    let mut warnings: Vec<String> =
        summary.tally.vacuous().map(str::to_owned).into_iter().collect();
    warnings.extend(doubt(&checked));
    warnings.extend(summary.remarks);
    let answered = Answered {
        history,
        name: plan.reader.name(),
        by: ChosenBy::Name,
        reader: plan.reader,
        checked,
        violated: Vec::new(),
        elapsed: start.elapsed(),
        notes: Vec::new(),
        warnings,
    };
    Ok(Done { answered, spilled: Some(spilled) })
}

/// What stands for a log without violation: an empty history, since its own was never in memory.
fn unviolated(spilled: &Spilled) -> Result<(History, Checked), Failure> {
    let verdict = match &spilled.open[..] {
        [] => Verdict::Linearizable(Replayed::on_record()),
        open => Verdict::Unknown(Unknown {
            linearizable_events: 0,
            decided: Vec::new(),
            open: open.iter().map(|(label, _)| label.clone()).collect(),
            ..limit_of(open)
        }),
    };
    Ok((Builder::new(&spilled.source).finish()?, Checked::new(verdict)))
}

/// What kept parts open, told by the reasons: a defect of ours goes before all limits. What does
/// not fit in memory is open for many reasons.
fn limit_of(open: &[(String, String)]) -> Unknown {
    let of = |limit: Limit| open.iter().find(|(_, reason)| reason.starts_with(&limit.to_string()));
    let limits = [Limit::Defect, Limit::Time, Limit::Ties];
    let limit = limits.into_iter().find(|limit| of(*limit).is_some()).unwrap_or(Limit::Memory);
    let reason = of(Limit::Defect).map(|(_, reason)| reason.clone());
    let (decided, open) = (Vec::new(), Vec::new());
    Unknown { limit, linearizable_events: 0, decided, open, defect: reason }
}

/// The history of the violated part that begins first.
fn violated(
    first: JudgedPart,
    plan: &Plan,
    spilled: &mut Spilled,
) -> Result<(History, Checked), Failure> {
    let Judgement::Violation(evidence) = first.judgement else {
        return unviolated(spilled);
    };
    match *evidence {
        Evidence::Shown { history, mut checked, .. } => {
            checked.parts.iter_mut().for_each(|part| part.label.clone_from(&first.label));
            Ok((*history, *checked))
        }
        Evidence::Sentence { sentence, file, line } => {
            let name = &plan.log.files[file as usize].name;
            spilled.sentence = Some(format!("{name}:{line}: {sentence}"));
            let counterexample = Counterexample {
                operations: Vec::new(),
                horizon: Horizon::Whole,
                context: None,
                explanation: Explanation::because(sentence),
            };
            let history = Builder::new(&spilled.source).finish()?;
            Ok((history, Checked::new(Verdict::Violation(counterexample))))
        }
    }
}

impl Spilled {
    /// The verdict and what stands around it, in a few lines; what can be drawn is drawn elsewhere.
    pub fn text(&self, done: &Done) -> String {
        let word = done.answered.checked.verdict.word().to_uppercase();
        let Spilled { source, operations, parts, violations, open, bytes, .. } = self;
        let mut text = format!("{word}  {source} as {}\n", done.answered.name);
        let megabytes = bytes.div_ceil(1 << 20);
        text.push_str(&format!(
            "  {operations} operations in {parts} parts, checked from disk ({megabytes} MiB) in {:.1} s\n",
            done.answered.elapsed.as_secs_f64()
        ));
        if *violations > 0 {
            let (noun, verb) = if *violations == 1 { ("part", "is") } else { ("parts", "are") };
            let rest = if self.is_cut_short {
                "; the others were not checked (--all checks them)"
            } else {
                ""
            };
            text.push_str(&format!("  {violations} {noun} {verb} not linearizable{rest}\n"));
        }
        for (label, reason) in open.iter().take(MOST_OPEN) {
            let label = if label.is_empty() { "all of it" } else { label };
            let label = middle(label, SCREEN);
            text.push_str(&format!("  open: {label}: {reason}\n"));
        }
        if open.len() > MOST_OPEN {
            text.push_str(&format!("  and {} more open parts\n", open.len() - MOST_OPEN));
        }
        if matches!(&done.answered.checked.verdict, Verdict::Unknown(unknown) if unknown.limit == Limit::Defect)
        {
            text.push_str("  This is a defect of Seriatim: please report it, with the log\n");
        }
        if let Some(sentence) = &self.sentence {
            text.push_str(&format!("  {sentence}\n"));
        }
        text
    }
}

impl Spilled {
    /// The JSON report on a part, completed by what is known of the whole log.
    pub fn json(&self, report: &str) -> String {
        let mut report: Value = serde_json::from_str(report).unwrap_or_default();
        report["source"] = self.source.as_str().into();
        report["spilled"] = json!({
            "operations": self.operations,
            "parts": self.parts,
            "violations": self.violations,
            "open": self.open,
            "bytes": self.bytes,
            "cut_short": self.is_cut_short,
        });
        format!("{}\n", harmless_json(&report.to_string()))
    }
}

/// How many open parts are named.
const MOST_OPEN: usize = 8;

/// What verdicts of this question are about.
pub fn about(question: &Question, plan: &Plan, shard: Shard) -> Result<About, Failure> {
    Ok(About::new(&plan.log.files, &plan.reader.name(), &question.in_words(), shard)?)
}

/// Checks a log, or a shard of it, and appends what is found out to its verdict file.
pub fn with_verdicts(
    question: &Question,
    scale: &Scale,
    paths: &[PathBuf],
    file: &Path,
) -> Result<Exit, Failure> {
    #[cfg(feature = "cluster")]
    if scale.cluster.is_asked() {
        return super::cluster::check(question, scale, paths, file);
    }
    question.refuse_what_needs_all()?;
    let mut plan = plan(question, scale, paths, Defects::Note)?;
    let about = about(question, &plan, plan.shard)?;
    let mut writer = Writer::open(file, &about)?;
    let decided = writer.before.as_ref().map(|before| before.decided()).unwrap_or_default();
    let is_done = writer.before.as_ref().is_some_and(|before| before.is_finished());
    if !is_done {
        plan.decided = decided.into();
        let (files, spec) = (Arc::clone(&plan.log.files), plan.reader.name());
        let summary = run(&plan, &mut |verdict| {
            writer.append(&Line::of(&verdict, &files, &spec))?;
            Ok(ControlFlow::Continue(()))
        })?;
        let problems: Vec<String> = summary.problems.iter().map(ToString::to_string).collect();
        writer.finish(&problems)?;
    } else {
        // The lock of a file that is only read must not stand in the way of its reader.
        drop(writer);
    }
    verdicts::tell_one(file)
}
