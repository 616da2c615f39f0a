//! One part of a log, from its bytes to a verdict.
//!
//! The operations of the part are put into a history of their own, sorted by call (then by file and
//! line, so that the history does not depend on the way by which they came), and the ordinary check
//! decides it: the same monitors, the same search, the same counterexample as for a history that is
//! read whole.

use crate::record::{self, Damaged, Rank};
use crate::scan::FileInfo;
use crate::spill::damaged;
use crate::split::{PartHash, Splitter, Splitting};
use seriatim_history::{
    Builder, Call, Conventions, History, InputError, Interval, Outcome, Problem, Return, Time,
    Timescale, Value, ValueId, Values,
};
use seriatim_monitor::partition::Partitioning;
use seriatim_monitor::{Checked, DecidedBy, Detail, Monitors, Options, Strategy, check};
use seriatim_spec::{Limit, Reader, Unknown, Verdict};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A specification that several threads read.
pub type SharedReader = Arc<dyn Reader + Send>;

/// What parts are judged by.
#[derive(Clone)]
pub struct Judge {
    /// The specification.
    pub reader: SharedReader,
    /// The files of the log.
    pub files: Arc<[FileInfo]>,
    /// How results are to be read.
    pub conventions: Conventions,
    /// What moments count.
    pub timescale: Timescale,
    /// How the log is split.
    pub splitting: Splitting,
    /// How finely the check may split.
    pub partitioning: Partitioning,
    /// Whether the fast monitors are asked first.
    pub monitors: Monitors,
    /// The directions of the general search.
    pub strategies: Vec<Strategy>,
    /// The memory that one search may use.
    pub memory: usize,
    /// When to give up.
    pub deadline: Option<Instant>,
    /// The files in which something could not be read. Parts with operations in them stay open.
    pub damaged_files: Vec<u32>,
}

/// A part of a log with what was found out about it. It holds its own evidence, since the log
/// itself is never in memory; what reports call a [`PartVerdict`](seriatim_spec::PartVerdict)
/// belongs to a history that is.
#[derive(Clone, Debug)]
pub struct JudgedPart {
    /// The part.
    pub hash: PartHash,
    /// What its operations have in common, for people.
    pub label: String,
    /// How many operations it has.
    pub operations: u64,
    /// Where its first operation stands.
    pub first: Rank,
    /// What is known.
    pub judgement: Judgement,
    /// Who found out.
    pub decided_by: DecidedBy,
}

/// What is known of a part of a log.
#[derive(Clone, Debug)]
pub enum Judgement {
    /// It is linearizable.
    Linearizable,
    /// It is not.
    Violation(Box<Evidence>),
    /// Nobody knows, for this reason.
    Unknown(String),
    /// It cannot be read: this is wrong with it.
    Refused(String),
}

/// What shows that a part is not linearizable.
#[derive(Clone, Debug)]
pub enum Evidence {
    /// The history of the part, with a minimal counterexample.
    Shown {
        /// The history of the part.
        history: Box<History>,
        /// The file of each operation.
        files: Vec<u32>,
        /// What the check found.
        checked: Box<Checked>,
    },
    /// The event at which it shows, where the part is too large for more.
    Sentence {
        /// Why.
        sentence: String,
        /// The file.
        file: u32,
        /// The line of the call whose return it is.
        line: u64,
    },
}

impl Judgement {
    /// The judgement in a word.
    pub fn word(&self) -> &'static str {
        match self {
            Judgement::Linearizable => "linearizable",
            Judgement::Violation(_) => "violation",
            Judgement::Unknown(_) => "unknown",
            Judgement::Refused(_) => "refused",
        }
    }
}

/// The operations of a part as bytes, by rank.
pub type Records<'r> = Vec<(Rank, &'r [u8])>;

/// How much of an operation's life counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Until {
    /// All of it.
    End,
    /// What returns after this moment is pending.
    Moment(Time),
}

impl Until {
    fn has(self, moment: Time) -> bool {
        match self {
            Until::End => true,
            Until::Moment(last) => moment <= last,
        }
    }
}

impl Judge {
    /// A splitter of the log's operations.
    pub fn splitter(&self) -> Splitter {
        Splitter::new(Arc::clone(&self.reader), self.splitting, self.conventions)
    }

    /// Decides several parts at once, each sorted by rank; `None` if they must be looked at one by
    /// one.
    ///
    /// Linearizability is local, so if all their operations together are linearizable, each part
    /// is. Only that is taken from them together, and only from a monitor that took them as a
    /// whole: it would have said the same of each, so that nothing in a verdict tells how parts
    /// were put together.
    pub fn judge_together(
        &self,
        parts: &[(PartHash, Records<'_>)],
        splitter: &mut Splitter,
    ) -> Option<Vec<JudgedPart>> {
        if !self.damaged_files.is_empty() {
            return None;
        }
        let mut rows: Vec<(Rank, &[u8])> = parts.iter().flat_map(|part| part.1.clone()).collect();
        rows.sort_unstable_by_key(|row| row.0);
        let (mut history, _) = self.history(&rows, Until::End).ok()?;
        if history.has_objects() {
            return None;
        }
        let options = Options { detail: Detail::Plain, ..self.options()? };
        let checked = check(&mut history, &*self.reader, &options).ok()?;
        match (&checked.verdict, &checked.parts[..]) {
            (Verdict::Linearizable(_), [part])
                if matches!(part.decided_by, DecidedBy::Monitor(_)) => {}
            _ => return None,
        }
        let decided_by = who(&checked);
        let verdict = |(hash, rows): &(PartHash, Vec<(Rank, &[u8])>)| {
            let judgement = Judgement::Linearizable;
            JudgedPart { judgement, decided_by, ..self.unseen(*hash, rows, splitter) }
        };
        Some(parts.iter().map(verdict).collect())
    }

    /// A part of which nothing is known.
    pub(crate) fn unseen(
        &self,
        hash: PartHash,
        rows: &[(Rank, &[u8])],
        splitter: &mut Splitter,
    ) -> JudgedPart {
        JudgedPart {
            hash,
            label: rows.first().map(|row| self.label(row.1, splitter)).unwrap_or_default(),
            operations: rows.len() as u64,
            first: rows.first().map_or((0, 0, 0), |row| row.0),
            judgement: Judgement::Unknown("nobody looked".to_owned()),
            decided_by: DecidedBy::Nobody,
        }
    }

    /// What is wrong with the operations of a part, if anything is, without deciding it.
    pub fn refusal(&self, rows: &[(Rank, &[u8])]) -> Option<String> {
        let is_damaged = |row: &(Rank, &[u8])| self.damaged_files.contains(&row.0.1);
        if rows.iter().any(is_damaged) {
            return None;
        }
        let read = |(mut history, _): (History, _)| self.reader.read(&mut history).map(|_| ());
        let problem = self.history(rows, Until::End).and_then(read).err()?;
        Some(problem.to_string())
    }

    /// Decides a part, whose operations are sorted by rank.
    pub fn judge(
        &self,
        hash: PartHash,
        rows: &[(Rank, &[u8])],
        splitter: &mut Splitter,
    ) -> JudgedPart {
        let mut verdict = self.unseen(hash, rows, splitter);
        if let Some(&((_, file, _), _)) =
            rows.iter().find(|((_, file, _), _)| self.damaged_files.contains(file))
        {
            let name = &self.files[file as usize].name;
            verdict.judgement = Judgement::Unknown(format!(
                "it has operations in {name}, of which a part cannot be read"
            ));
            return verdict;
        }
        match self.history(rows, Until::End) {
            Ok((history, files)) => {
                (verdict.judgement, verdict.decided_by) = self.decide(history, files);
            }
            Err(problem) => verdict.judgement = Judgement::Refused(problem.to_string()),
        }
        verdict
    }

    pub(crate) fn label(&self, bytes: &[u8], splitter: &mut Splitter) -> String {
        let mut values = Values::default();
        match record::take(bytes, &mut values) {
            Ok(row) => splitter.label(&row.told(&values), ""),
            Err(Damaged) => String::new(),
        }
    }

    /// The history of some operations, and the file of each.
    pub(crate) fn history<B: AsRef<[u8]>>(
        &self,
        rows: &[(Rank, B)],
        until: Until,
    ) -> Result<(History, FilesOf), InputError> {
        let first = rows.first().map_or(0, |row| row.0.1);
        let is_of_one_file = rows.iter().all(|row| row.0.1 == first);
        // Events that are watched come from no file.
        let name = self.files.get(first as usize).map_or("events", |file| &file.name);
        let source = match is_of_one_file {
            true => name.to_owned(),
            false => format!("{name} and other files"),
        };
        let mut builder = Builder::new(&source);
        builder.follow(self.conventions);
        builder.measure_in(self.timescale);
        builder.name_spec(&self.reader.name());
        for (_, bytes) in rows {
            let Ok(row) = record::take(bytes.as_ref(), builder.values()) else {
                let problem = Problem::Unreadable(damaged().to_string());
                return Err(InputError::new(&source, 0, problem));
            };
            let [object, key, arg, result] = row.ids;
            let process = row.caller.as_ref().map(|caller| builder.process(caller));
            let call = Call { object, key, arg, ..Call::new(builder.method(row.method)) };
            let interval =
                Interval { ret: row.interval.ret.filter(|&r| until.has(r)), ..row.interval };
            let ret = match interval.ret {
                Some(_) => Return::new(row.outcome, result),
                None => Return::new(Outcome::Pending, ValueId::ABSENT),
            };
            builder.operation(row.line, process, call, interval, ret)?;
        }
        let history = builder.finish()?;
        let files = match is_of_one_file {
            true => FilesOf::One(first),
            false => FilesOf::several(rows)?,
        };
        Ok((history, files))
    }

    /// What the ordinary check says of a history, and who of it decided.
    pub(crate) fn decide(&self, mut history: History, files: FilesOf) -> (Judgement, DecidedBy) {
        let Some(options) = self.options() else {
            return (Judgement::Unknown(Limit::Time.to_string()), DecidedBy::Nobody);
        };
        let checked = match check(&mut history, &*self.reader, &options) {
            Ok(checked) => checked,
            Err(problem) => return (Judgement::Refused(problem.to_string()), DecidedBy::Nobody),
        };
        let decided_by = who(&checked);
        let judgement = match &checked.verdict {
            Verdict::Linearizable(_) => Judgement::Linearizable,
            Verdict::Unknown(Unknown { limit, defect: Some(defect), .. }) => {
                Judgement::Unknown(format!("{limit}: {defect}"))
            }
            Verdict::Unknown(unknown) => Judgement::Unknown(unknown.limit.to_string()),
            Verdict::Violation(_) => {
                let files = files.of(&history);
                let (history, checked) = (Box::new(history), Box::new(checked));
                Judgement::Violation(Box::new(Evidence::Shown { history, files, checked }))
            }
        };
        (judgement, decided_by)
    }

    /// How a part is checked; `None` if no time is left.
    pub(crate) fn options(&self) -> Option<Options<'static>> {
        Some(Options {
            time: self.time_left()?,
            memory: self.memory,
            threads: 1,
            partitioning: self.partitioning,
            monitors: self.monitors,
            strategies: self.strategies.clone(),
            ..Options::default()
        })
    }

    /// How much time is left; `None` if none is, `Some(None)` if there is no limit.
    fn time_left(&self) -> Option<Option<Duration>> {
        match self.deadline {
            None => Some(None),
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                (!left.is_zero()).then_some(Some(left))
            }
        }
    }
}

/// From which files the operations of a history come.
pub(crate) enum FilesOf {
    /// All from this one.
    One(u32),
    /// The files of the operations of a line and a process, as their process did them.
    Several(HashMap<(u64, Option<Value>), VecDeque<u32>>),
}

impl FilesOf {
    fn several<B: AsRef<[u8]>>(rows: &[(Rank, B)]) -> Result<Self, InputError> {
        let mut told = Vec::with_capacity(rows.len());
        for ((call, file, line), bytes) in rows {
            let row = record::take(bytes.as_ref(), &mut Values::default())
                .map_err(|_| InputError::new("", 0, Problem::Unreadable(damaged().to_string())))?;
            // As a history sorts them: what takes no time comes first.
            let end = row.interval.ret.unwrap_or(*call);
            told.push(((*call, end, *file), (*line, row.caller)));
        }
        told.sort_by_key(|operation| operation.0);
        let mut files: HashMap<_, VecDeque<u32>> = HashMap::new();
        for ((.., file), line) in told {
            files.entry(line).or_default().push_back(file);
        }
        Ok(FilesOf::Several(files))
    }

    /// The file of each operation. Ties may have been settled meanwhile, and operations numbered
    /// anew; those of one process stay in their order.
    fn of(self, history: &History) -> Vec<u32> {
        match self {
            FilesOf::One(file) => vec![file; history.len()],
            FilesOf::Several(mut files) => history
                .operations()
                .map(|operation| {
                    let process = history.process_name(operation.process()).clone();
                    let callers = [Some(process), None].map(|caller| (operation.line(), caller));
                    let known = callers.iter().find(|caller| files.contains_key(caller));
                    let waiting = known.and_then(|caller| files.get_mut(caller));
                    waiting.and_then(VecDeque::pop_front).unwrap_or(0)
                })
                .collect(),
        }
    }
}

/// Who decided.
fn who(checked: &Checked) -> DecidedBy {
    let by = checked.parts.iter().map(|part| part.decided_by);
    by.into_iter().find(|by| *by != DecidedBy::Nobody).unwrap_or(DecidedBy::Nobody)
}
