//! What the studies found: lines of a file, and the table that the book has.

use seriatim_harness::{Failed, Passed};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

/// What is studied.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Subject {
    krate: String,
    version: String,
    object: String,
    operations: String,
}

impl Subject {
    pub fn of(krate: &str, object: &str, operations: &str) -> Self {
        let [krate, object, operations] = [krate, object, operations].map(str::to_owned);
        Subject { version: version(&krate), krate, object, operations }
    }
}

/// The version of a crate that this program was built with.
fn version(krate: &str) -> String {
    let lock = include_str!("../Cargo.lock");
    let name = format!("name = \"{krate}\"");
    let entry =
        lock.split("[[package]]").filter(|entry| entry.lines().any(|line| line == name)).last();
    let version = entry.and_then(|entry| entry.split("version = \"").nth(1)?.split('"').next());
    version.unwrap_or("1.89 or newer").to_owned()
}

/// What a study found.
#[derive(Clone, Debug)]
pub struct Outcome {
    executions: u64,
    different: u64,
    /// `no failure`, or the kind of failure.
    verdict: String,
    /// The seconds until a failure was found, and the calls of the smallest scenario.
    found: Option<(f64, usize)>,
    /// The smallest scenario, or what warns that the test was weak.
    remark: String,
    report: Option<String>,
}

const PASSED: &str = "no failure";

impl Outcome {
    pub fn of(outcome: std::result::Result<Passed, Box<Failed>>) -> Self {
        match outcome {
            Ok(passed) => Outcome {
                executions: passed.executions,
                different: passed.different,
                verdict: PASSED.to_owned(),
                found: None,
                remark: passed.warnings().join("; "),
                report: None,
            },
            Err(failed) => Outcome {
                executions: failed.executions,
                different: 0,
                verdict: failed.failure.word().to_owned(),
                found: Some((failed.found_after.as_secs_f64(), failed.calls)),
                remark: failed.scenario.clone(),
                report: Some(failed.report),
            },
        }
    }

    /// The process of the study ended without a word.
    pub fn crash(status: &str) -> Self {
        let (executions, different, found, report) = (0, 0, None, None);
        let (verdict, remark) = ("crash".to_owned(), status.to_owned());
        Outcome { executions, different, verdict, found, remark, report }
    }

    pub fn report(&self) -> Option<&str> {
        self.report.as_deref()
    }

    pub fn line(&self) -> String {
        let Outcome { executions, different, verdict, found, remark, .. } = self;
        let (seconds, calls) = found.unwrap_or_default();
        format!("{executions}\t{different}\t{verdict}\t{seconds:.3}\t{calls}\t{remark}")
    }

    pub fn from_line(line: &str) -> Option<Self> {
        let mut words = line.split('\t');
        let (executions, different) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let verdict = words.next()?.to_owned();
        let found = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let found = (found.1 > 0).then_some(found);
        let remark = words.next()?.to_owned();
        Some(Outcome { executions, different, verdict, found, remark, report: None })
    }
}

/// What a study found, and of what.
#[derive(Clone, Debug)]
pub struct Result {
    pub subject: Subject,
    pub seconds: f64,
    pub outcome: Outcome,
}

impl Result {
    pub fn passed(&self) -> bool {
        self.outcome.verdict == PASSED
    }

    pub fn executions(&self) -> u64 {
        self.outcome.executions
    }

    /// The seconds until a failure was found, and its calls.
    pub fn found(&self) -> Option<(f64, usize)> {
        self.outcome.found
    }

    fn from_line(line: &str) -> Option<Self> {
        let mut words = line.splitn(6, '\t');
        let mut word = || words.next().map(str::to_owned);
        let (krate, version, object, operations) = (word()?, word()?, word()?, word()?);
        let seconds = word()?.parse().ok()?;
        let outcome = Outcome::from_line(&word()?)?;
        Some(Result { subject: Subject { krate, version, object, operations }, seconds, outcome })
    }

    fn row(&self) -> String {
        let Subject { krate, version, object, operations } = &self.subject;
        let Outcome { executions, different, verdict, remark, .. } = &self.outcome;
        let verdict = match self.outcome.found {
            None if remark.is_empty() => verdict.clone(),
            None => format!("{verdict} ({remark})"),
            Some((seconds, calls)) => {
                let scenario = remark.replace('|', "\\|");
                format!("**{verdict}** after {seconds:.1} s, {calls} calls: `{scenario}`")
            }
        };
        let (object, operations) = (object.replace('|', "\\|"), operations.replace('|', "\\|"));
        format!(
            "| {krate} {version} | {object} | {operations} | {executions} | {different} | {verdict} |"
        )
    }
}

/// A line of the file.
impl fmt::Display for Result {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Subject { krate, version, object, operations } = &self.subject;
        let (seconds, outcome) = (self.seconds, self.outcome.line());
        write!(f, "{krate}\t{version}\t{object}\t{operations}\t{seconds}\t{outcome}")
    }
}

/// A file of results.
pub struct Results {
    file: &'static str,
    found: BTreeMap<Subject, Result>,
}

/// Where what the studies found is, and the controls.
pub const STUDIES: &str = "results.tsv";
pub const CONTROLS: &str = "controls.tsv";

const BEGIN: &str = "<!-- begin: examples/field-study, `table` -->";
const END: &str = "<!-- end -->";

fn in_this_folder(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

impl Results {
    /// What was found so far.
    pub fn read(file: &'static str) -> Self {
        let text = std::fs::read_to_string(in_this_folder(file)).unwrap_or_default();
        let results = text.lines().filter_map(Result::from_line);
        Results { file, found: results.map(|result| (result.subject.clone(), result)).collect() }
    }

    pub fn has(&self, subject: &Subject) -> bool {
        self.found.contains_key(subject)
    }

    /// Notes a result in the file.
    pub fn put(&mut self, result: Result) {
        self.found.insert(result.subject.clone(), result);
        let lines: String = self.found.values().map(|result| format!("{result}\n")).collect();
        std::fs::write(in_this_folder(self.file), lines).expect("the results can be written");
    }

    /// Notes a result that comes on top of those before; a failure stays one.
    pub fn add(&mut self, mut result: Result) {
        if let Some(before) = self.found.get(&result.subject) {
            let (more, sum) = (&result.outcome, &before.outcome);
            let kept = if before.passed() { more } else { sum };
            let (executions, different) =
                (sum.executions + more.executions, sum.different + more.different);
            result.outcome = Outcome { executions, different, ..kept.clone() };
            result.seconds += before.seconds;
        }
        self.put(result);
    }

    /// The number of executions of a subject so far, and of all.
    pub fn executions_of(&self, subject: &Subject) -> u64 {
        self.found.get(subject).map_or(0, Result::executions)
    }

    pub fn executions(&self) -> u64 {
        self.found.values().map(Result::executions).sum()
    }

    /// Whether something failed.
    pub fn failed(&self) -> bool {
        self.found.values().any(|result| !result.passed())
    }

    /// Writes the table into the book.
    pub fn write_table(&self) {
        let page = in_this_folder("../../docs/field-study.md");
        let text = std::fs::read_to_string(&page).expect("the page is there");
        let (before, rest) = text.split_once(BEGIN).expect("the page says where the table begins");
        let (_, after) = rest.split_once(END).expect("the page says where the table ends");
        let table = self.table();
        let text = format!("{before}{BEGIN}\n{table}{END}{after}");
        std::fs::write(&page, text).expect("the page can be written");
    }

    fn table(&self) -> String {
        let crates: std::collections::BTreeSet<&str> =
            self.found.keys().map(|subject| subject.krate.as_str()).collect();
        let failed = self.found.values().filter(|result| !result.passed()).count();
        let executions: u64 = self.found.values().map(|result| result.outcome.executions).sum();
        let rows: String = self.found.values().map(|result| result.row() + "\n").collect();
        format!(
            "{} studies of {} crates, {executions} executions; {failed} studies found a failure.\n\n\
             | crate | object | operations | executions | different | verdict |\n\
             | --- | --- | --- | --- | --- | --- |\n{rows}",
            self.found.len(),
            crates.len(),
        )
    }
}
