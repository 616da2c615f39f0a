//! One question about one history: is it linearizable, and under which specification? The command
//! and every binding ask it here, so that all of them give the same verdict and the same report.

use crate::routed;
use seriatim_history::{History, InputError};
use seriatim_limits::{Instant, Patient};
use seriatim_monitor::{
    Detail, Options, StopAt, Turns, check, keep_turns, tell_initial_values, vacuous, violated_parts,
};
use seriatim_report::terminal::{self, Style};
use seriatim_report::{Report, States, doubt, html, json};
use seriatim_scale::judge::SharedReader;
use seriatim_spec::{
    Cancel, Checked, ChosenReader, Failures, SpecChoice, SpecError, Verdict, ViolatedPart,
};
use seriatim_verify::{Recorded, SeriReader};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

/// What a history is held against, and how hard to try.
///
/// ```
/// use seriatim::question::{Question, Specified};
///
/// let history = seriatim::read_str(
///     "# @object queue\n\
///      [1] call enq(1)\n[1] return\n\
///      [1] call enq(2)\n[1] return\n\
///      [2] call deq\n[2] return 2\n",
/// )?;
/// let question = Question { spec: Specified::Name("queue"), ..Question::default() };
/// let answered = question.answer(history)?;
/// assert_eq!(answered.exit_code(), 1);
/// assert!(answered.json().starts_with(r#"{"schema":1,"verdict":"violation""#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Question<'q> {
    /// The specification.
    pub spec: Specified<'q>,
    /// The constants of a specification in the algorithm language.
    pub constants: BTreeMap<String, i32>,
    /// What a failed operation tells.
    pub failures: Failures,
    /// How to check. The time runs from the question on, choosing a specification included.
    pub options: Options<'q>,
}

/// Who says which specification a history is held against.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Specified<'s> {
    /// The history does; if it names none, all specifications that can read it are asked, and have
    /// to agree.
    #[default]
    ByHistory,
    /// This name: a built-in specification, a service, or a file `FILE.seri` or `FILE.seri#NAME`.
    Name(&'s str),
    /// This text, in the algorithm language.
    Seri(&'s str),
}

/// The specification of a history, and how it came to it.
pub struct Chosen {
    /// What reads histories under it.
    pub reader: SharedReader,
    /// Who chose it.
    pub by: ChosenBy,
}

/// Who chose a specification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChosenBy {
    /// The user, or the history.
    Name,
    /// Nobody: all specifications that can read it give the same verdict.
    Agreement,
}

/// What the verdict on widened intervals leaves open.
const IN_VAIN: &str = "an order that also keeps the order of each process was looked for in vain, for as long as is \
     sensible: in the order that was found, operations of one process may have changed places";

/// More threads than this are never begun, however many may be used. Each takes some of the mappings
/// that a process may have, 65,530 on Linux; a thread that finds none for its stack ends the process.
pub const MOST_THREADS: usize = 256;

/// How long one of several specifications may take over a history that names none, without a time
/// limit.
const TIME_TO_GUESS: Duration = Duration::from_secs(10);

impl Question<'_> {
    /// Checks a history.
    pub fn answer(&self, mut history: History) -> Result<Answered, Refused> {
        let request = self.request();
        let mut notes: Vec<String> = name_successors(&mut history).into_iter().collect();
        let chosen = match self.unknown_start(&history)? {
            None => self.choose(&history, &request)?,
            Some((reader, write)) => {
                let options = self.options_under(&request);
                let told = tell_initial_values(&mut history, &*reader, write, &options)?;
                notes.push(format!(
                    "the start is unknown; values that were there, or may have been, are written by `before`: {told}"
                ));
                Chosen { reader, by: ChosenBy::Name }
            }
        };
        let answered = self.answer_under(history, chosen, &request)?;
        Ok(Answered { notes, ..answered })
    }

    /// The specification of a history whose start is unknown (`register(init=unknown)`), and what
    /// its writes are called.
    fn unknown_start(
        &self,
        history: &History,
    ) -> Result<Option<(SharedReader, &'static str)>, Refused> {
        let named = match self.spec {
            Specified::ByHistory => history.spec(),
            Specified::Name(name) => Some(name),
            Specified::Seri(_) => None,
        };
        // What cannot be read here is refused, in the usual words, by whoever reads it next.
        let open = named.and_then(|name| SpecChoice::parse_open(name).ok().flatten());
        let Some(choice) = open else { return Ok(None) };
        if let Some(other) = choice.parameters().names().next() {
            return Err(Refused(format!("init=unknown does not go with {other}")));
        }
        let write = match choice.name() {
            "register" | "cas-register" => "write",
            "map" | "kv" => "put",
            other => {
                return Err(Refused(format!(
                    "init=unknown: {other} computes what it returns; expected register, cas-register, map or kv"
                )));
            }
        };
        Ok(Some((Arc::new(ChosenReader { choice, failures: self.failures }), write)))
    }

    /// Checks a history under a specification that is at hand.
    pub fn answer_by(&self, history: History, reader: SharedReader) -> Result<Answered, Refused> {
        let request = self.request();
        self.answer_under(history, Chosen { reader, by: ChosenBy::Name }, &request)
    }

    fn answer_under(
        &self,
        mut history: History,
        Chosen { reader, by }: Chosen,
        request: &Cancel,
    ) -> Result<Answered, Refused> {
        let start = Instant::now();
        let options = self.options_under(request);
        let checked = match routed::decide(&mut history, &*reader, &options)? {
            Some(checked) => checked,
            None => check(&mut history, &*reader, &options)?,
        };
        let (checked, turns) = keep_turns(&mut history, &*reader, checked, &options)?;
        let violated = match options.stop_at == StopAt::End && options.detail == Detail::Minimal {
            true => violated_parts(&mut history, &*reader, &checked, &options)?,
            false => Vec::new(),
        };
        let elapsed = start.elapsed();
        let vacuous = vacuous(&mut history, &*reader)?;
        let remarks = history.remarks().iter().cloned();
        let warnings = vacuous.into_iter().chain(doubt(&checked)).chain(remarks).collect();
        let name = match by {
            ChosenBy::Name => reader.name(),
            ChosenBy::Agreement => format!("{} (guessed)", reader.name()),
        };
        let notes = match turns {
            Turns::Kept | Turns::NotAsked => Vec::new(),
            Turns::Open => vec![IN_VAIN.to_owned()],
        };
        Ok(Answered { history, reader, by, name, checked, violated, elapsed, notes, warnings })
    }

    /// What ends the answer to a question that is asked now.
    pub(crate) fn request(&self) -> Cancel {
        let request = self.options.cancel.cloned().unwrap_or_else(Cancel::of_process);
        self.options.time.map_or_else(|| request.clone(), |time| request.within(time))
    }

    /// The options, with one limit for all that is asked.
    fn options_under<'o>(&'o self, request: &'o Cancel) -> Options<'o> {
        let (cancel, strategies) = (Some(request), self.options.strategies.clone());
        let threads = self.options.threads.min(MOST_THREADS);
        Options { cancel, strategies, threads, ..self.options }
    }

    /// The specification for a history. Where nobody names it, every specification that can read
    /// the history is asked: only if they all say the same is one of them taken. So no guess
    /// convicts or acquits.
    fn choose(&self, history: &History, request: &Cancel) -> Result<Chosen, Refused> {
        let named = match (self.spec, history.spec()) {
            (Specified::ByHistory, None) => return self.agreed(history, request),
            (Specified::ByHistory, Some(name)) => self.named(name)?,
            (Specified::Name(name), _) => self.named(name)?,
            (Specified::Seri(source), _) => {
                let reader = SeriReader::parse_with(source, None, &self.constants);
                Arc::new(reader.map_err(Refused)?)
            }
        };
        Ok(Chosen { reader: named, by: ChosenBy::Name })
    }

    fn agreed(&self, history: &History, request: &Cancel) -> Result<Chosen, Refused> {
        let refused = |reason: String| Refused(format!("{}: {reason}", history.source()));
        let candidates = SpecChoice::candidates(history, self.failures)
            .map_err(|error| refused(error.to_string()))?;
        let failures = self.failures;
        let readers: Vec<ChosenReader> =
            candidates.into_iter().map(|choice| ChosenReader { choice, failures }).collect();
        if readers.len() > 1 {
            let mut verdicts = Vec::new();
            for reader in &readers {
                verdicts.push((reader.choice.to_string(), self.word(history, reader, request)?));
            }
            if verdicts.iter().any(|(_, verdict)| *verdict != verdicts[0].1) {
                return Err(refused(disagreement(&verdicts)));
            }
        }
        let first = readers.into_iter().next();
        let reader = first.ok_or_else(|| refused("no specification can read it".to_owned()))?;
        Ok(Chosen { reader: Arc::new(reader), by: ChosenBy::Agreement })
    }

    /// The verdict of a specification that nobody named, in a word.
    fn word(
        &self,
        history: &History,
        reader: &ChosenReader,
        request: &Cancel,
    ) -> Result<&'static str, InputError> {
        let options = self.options_under(request);
        let time = Some(options.time.map_or(TIME_TO_GUESS, |limit| limit.min(TIME_TO_GUESS)));
        let options = Options { time, detail: Detail::Plain, observer: None, ..options };
        let history = &mut history.clone();
        let checked = check(history, reader, &options)?;
        Ok(keep_turns(history, reader, checked, &options)?.0.verdict.word())
    }

    /// The specification of a name.
    pub fn named(&self, name: &str) -> Result<SharedReader, Refused> {
        match written(name, &self.constants)? {
            Some(reader) => Ok(Arc::new(reader)),
            None if !self.constants.is_empty() => {
                Err(Refused(format!("--set: {name} is no file FILE.seri and has no constants")))
            }
            None => {
                let choice = SpecChoice::parse(name)?;
                Ok(Arc::new(ChosenReader { choice, failures: self.failures }))
            }
        }
    }
}

/// The history of an algorithm's run as a report, with the states along the orders that were tried.
pub fn judged(recorded: &Recorded) -> Report<'_> {
    let Recorded { history, spec, reader, verdict } = recorded;
    let mut report = Report::new(history, spec, verdict);
    report.states = States::replay(history, &**reader, verdict, STEPS_OF_A_RUN);
    report
}

/// The most steps of an order of a run whose states are shown.
const STEPS_OF_A_RUN: usize = 1_000;

/// The specification in the algorithm language that a name means: a service, FILE.seri or
/// FILE.seri#NAME; none if it means something else.
pub fn written(
    name: &str,
    constants: &BTreeMap<String, i32>,
) -> Result<Option<SeriReader>, Refused> {
    let parse = |source: &str, part: Option<&str>, place: &str| {
        let reader = SeriReader::parse_with(source, part, constants);
        reader.map(Some).map_err(|reason| Refused(format!("{place}: {reason}")))
    };
    if let Some(service) = seriatim_services::service(name) {
        return parse(service.source, None, name);
    }
    let stem = name.split(|c: char| "({, ".contains(c)).next().unwrap_or_default();
    if stem != name && seriatim_services::service(stem).is_some() {
        return Err(Refused(format!(
            "{stem} takes no parameters; its start is a line of its text: seriatim specs {stem} > mine.seri"
        )));
    }
    match name.split_once(".seri") {
        Some((stem, part)) if part.is_empty() || part.starts_with('#') => {
            let path = format!("{stem}.seri");
            let mut source = String::new();
            // It may be a pipe that nobody writes to: limits end the wait.
            let read =
                File::open(&path).and_then(|file| Patient::file(file).read_to_string(&mut source));
            read.map_err(|error| Refused(format!("{path}: {error}")))?;
            parse(&source, part.strip_prefix('#'), &path)
        }
        _ => Ok(None),
    }
}

/// Gives a process that went on after an operation whose outcome nobody knows a new name from there
/// on; gives what the report has to say of it.
pub fn name_successors(history: &mut History) -> Option<String> {
    let renamed = history.name_successors();
    let often = match renamed {
        0 => return None,
        1 => "once".to_owned(),
        _ => format!("{renamed} times"),
    };
    Some(format!(
        "{often} a process went on after an operation whose outcome nobody knows; it has a new name from there on, as \
         in `3 (2)`"
    ))
}

/// What specifications say of a history that names none of them.
fn disagreement(verdicts: &[(String, &'static str)]) -> String {
    let said: Vec<String> =
        verdicts.iter().map(|(name, verdict)| format!("{name}: {verdict}")).collect();
    let option = |(name, _): &(String, &str)| match name.contains('(') {
        true => format!("--spec '{name}'"),
        false => format!("--spec {name}"),
    };
    let options: Vec<String> = verdicts.iter().map(option).collect();
    format!(
        "the history names no specification, and those that can read it disagree ({}); give one of: {}",
        said.join(", "),
        options.join(", ")
    )
}

/// A checked history with what its report needs.
pub struct Answered {
    /// The history, whole.
    pub history: History,
    /// What reads it.
    pub reader: SharedReader,
    /// Who chose that.
    pub by: ChosenBy,
    /// The specification, as reports name it.
    pub name: String,
    /// The verdict, and how it came about.
    pub checked: Checked,
    /// Every violated part with its core, if all were to be decided.
    pub violated: Vec<ViolatedPart>,
    /// How long that took.
    pub elapsed: Duration,
    /// What else was checked, and held.
    pub notes: Vec<String>,
    /// What the reader of the report should know before believing it.
    pub warnings: Vec<String>,
}

/// The steps of a witness whose states a page shows.
const STEPS_OF_A_PAGE: usize = 2_000;

impl Answered {
    /// What the command exits with: 0 linearizable, 1 not, 3 unknown.
    pub fn exit_code(&self) -> u8 {
        match self.checked.verdict {
            Verdict::Linearizable(_) => 0,
            Verdict::Violation(_) => 1,
            Verdict::Unknown(_) => 3,
        }
    }

    /// The report, with the states along the verdict's orders: of a witness its first `steps`
    /// steps.
    pub fn report(&self, steps: usize) -> Report<'_> {
        let Answered { history, reader, name, checked, .. } = self;
        let mut report =
            Report::of(history, name, checked, &**reader).with_states(&**reader, steps);
        report.statistics.elapsed = Some(self.elapsed);
        report.notes.splice(0..0, self.notes.iter().cloned());
        report.warnings.clone_from(&self.warnings);
        report.violated.clone_from(&self.violated);
        report
    }

    /// The report that a page shows.
    pub fn page_report(&self) -> Report<'_> {
        self.report(STEPS_OF_A_PAGE)
    }

    /// The report as one line of JSON.
    pub fn json(&self) -> String {
        json::render(&self.report(0))
    }

    /// The report as text, without colours.
    pub fn text(&self, width: usize) -> String {
        terminal::render(&self.report(0), &Style::plain(width))
    }

    /// The report as a page.
    pub fn html(&self) -> Vec<u8> {
        html::render(&self.page_report())
    }
}

/// Why a question has no answer: it makes no sense, or not with this history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused(pub String);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refused {}

impl From<InputError> for Refused {
    fn from(error: InputError) -> Self {
        Refused(error.to_string())
    }
}

impl From<SpecError> for Refused {
    fn from(error: SpecError) -> Self {
        Refused(error.to_string())
    }
}

impl From<seriatim_transactions::Defect> for Refused {
    fn from(defect: seriatim_transactions::Defect) -> Self {
        Refused(defect.to_string())
    }
}
