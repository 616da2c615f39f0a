//! `seriatim map`, and `--map`: logs in any format.

use super::input::text_of;
use super::limits;
use super::output::say;
use super::{Exit, Failure};
use clap::Args;
use seriatim::history::{Operation, Outcome, name_of, open, path_in_line};
use seriatim::map::{ByMap, Map, Mapped, Unmatched, ready_map, ready_maps};
use seriatim::{History, InputError};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// What the records of a log mean.
#[derive(Args, Default)]
#[cfg_attr(test, derive(Debug))]
pub struct Mapping {
    /// What the records of a log in another format mean: a file of rules, or a ready map (`seriatim
    /// map` lists them)
    #[arg(long, value_name = "MAP", conflicts_with = "format")]
    pub map: Option<String>,

    /// The map, once it is read
    #[arg(skip)]
    loaded: OnceLock<Map>,

    /// Skip records that match no rule of the map, and count them
    #[arg(long, requires = "map")]
    skip_unmatched: bool,
}

/// What the command says of the keys of a log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// No more than its map.
    AsMapped,
    /// They are independent objects.
    Independent,
}

impl Mapping {
    /// Reads the map, if there is one: inside the limits of the process, as any file.
    pub fn load(&self, keys: Keys) -> Result<(), Failure> {
        if let (Some(name), None) = (&self.map, self.loaded.get()) {
            let map = map_named(name).map_err(|Failure(why)| Failure(format!("--map: {why}")))?;
            self.loaded.get_or_init(|| match keys {
                Keys::Independent => map.independent(),
                Keys::AsMapped => map,
            });
        }
        Ok(())
    }

    /// Whether the map says that each key is an object of its own.
    pub fn is_independent(&self) -> bool {
        self.loaded.get().is_some_and(Map::is_independent)
    }

    /// The specification that the map names, if there is one.
    pub fn spec(&self) -> Option<&str> {
        self.loaded.get().and_then(Map::spec)
    }

    /// Reads some files as one log, if a map says how.
    pub fn read(&self, log: &[PathBuf]) -> Option<Result<History, InputError>> {
        let map = self.loaded.get()?;
        Some(read(map, log, self.unmatched()).map(|mapped| mapped.history))
    }

    /// The way to read a log operation by operation, if a map says how.
    pub fn by_map(&self) -> Option<ByMap> {
        let map = self.loaded.get()?.clone();
        Some(ByMap { map, unmatched: self.unmatched() })
    }

    fn unmatched(&self) -> Unmatched {
        if self.skip_unmatched { Unmatched::Skip } else { Unmatched::Refuse }
    }
}

fn read(map: &Map, log: &[PathBuf], unmatched: Unmatched) -> Result<Mapped, InputError> {
    let names: Vec<String> = log.iter().map(|path| name_of(path)).collect();
    limits::prepare(&names.join(", "));
    let mut parts: Vec<(String, Box<dyn Read>)> = Vec::new();
    for path in log {
        parts.push((name_of(path), open(path)?));
    }
    map.read_all(&names.join(", "), parts, unmatched)
}

/// The map of a file, or the ready map of a name.
fn map_named(name: &str) -> Result<Map, Failure> {
    if let Some(ready) = ready_map(name) {
        return Ok(Map::parse(name, ready.text)?);
    }
    let text = text_of(Path::new(name)).map_err(|Failure(why)| {
        let names: Vec<&str> = ready_maps().map(|ready| ready.name).collect();
        Failure(format!("{why}; the ready maps are {}", names.join(", ")))
    })?;
    let source = path_in_line(Path::new(name));
    Map::parse(&source, &text).map_err(|error| match is_of_a_log(&text) {
        true => Failure(format!(
            "{source} looks like a log; a map is a file of rules in TOML, and comes before the log: \
             `seriatim map MAP --try LOG`, `seriatim check --map MAP LOG`"
        )),
        false => error.into(),
    })
}

/// Whether a text that is no map begins as JSON or EDN do: no TOML begins so.
fn is_of_a_log(text: &str) -> bool {
    let text = text.trim_start();
    let inner = text.strip_prefix('[').map(str::trim_start);
    text.starts_with(['{', '(']) || inner.is_some_and(|inner| inner.starts_with(['{', '#']))
}

/// List the ready maps, show one, or try a map on a log
///
/// A map says what the records of a log in another format mean: JSON Lines, JSON lists, EDN, CSV,
/// TSV. The page docs/map.md is its manual. Without a map, --try tries all ready maps.
#[derive(clap::Args)]
pub struct Arguments {
    /// A ready map, or a file
    #[arg(value_name = "MAP")]
    map: Option<String>,

    /// Show the first ten operations of a log as the map understands them, and how often each rule
    /// matched
    #[arg(long = "try", value_name = "FILE")]
    attempt: Option<PathBuf>,

    /// Skip records that match no rule of the map, and count them
    #[arg(long, requires = "attempt")]
    skip_unmatched: bool,
}

/// Carries out `seriatim map`.
pub fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match (&arguments.map, &arguments.attempt) {
        (None, None) => list(),
        (Some(name), None) => show(name),
        (Some(name), Some(log)) => {
            let map = map_named(name)?;
            let unmatched =
                if arguments.skip_unmatched { Unmatched::Skip } else { Unmatched::Refuse };
            let mapped = read(&map, std::slice::from_ref(log), unmatched)?;
            say(&understood(&mapped))?;
            Ok(Exit::Holds)
        }
        (None, Some(log)) => try_all(log),
    }
}

fn list() -> Result<Exit, Failure> {
    for ready in ready_maps() {
        let map = Map::parse(ready.name, ready.text)?;
        say(&format!("{:<16} {}\n", ready.name, map.about()))?;
    }
    Ok(Exit::Holds)
}

/// The text of a ready map, to start one's own from; of a file, that nothing is wrong with it.
fn show(name: &str) -> Result<Exit, Failure> {
    match ready_map(name) {
        Some(ready) => say(ready.text)?,
        None => {
            map_named(name)?;
            say(&format!(
                "{}: nothing is wrong with this map; --try FILE tries it on a log\n",
                path_in_line(Path::new(name))
            ))?;
        }
    }
    Ok(Exit::Holds)
}

/// Tries the ready maps, and shows what those that read the whole log make of it.
fn try_all(log: &Path) -> Result<Exit, Failure> {
    if is_map(log) {
        let name = path_in_line(log);
        return Err(Failure(format!("{name} is a map; to try it: seriatim map {name} --try LOG")));
    }
    let mut exit = Exit::BadInput;
    let mut refusals = Vec::new();
    for ready in ready_maps() {
        let map = Map::parse(ready.name, ready.text)?;
        match read(&map, &[log.to_owned()], Unmatched::Refuse) {
            Ok(mapped) if !mapped.history.is_empty() => {
                exit = Exit::Holds;
                say(&format!("--map {} reads all of it:\n{}", ready.name, understood(&mapped)))?;
            }
            Ok(_) => {}
            Err(error) => refusals.push(format!("  {}: {error}\n", ready.name)),
        }
    }
    if exit != Exit::Holds {
        say(&format!("no ready map reads {}:\n{}", path_in_line(log), refusals.concat()))?;
        say(&starter(log))?;
    }
    Ok(exit)
}

/// Whether a file is a map, as its name says.
fn is_map(path: &Path) -> bool {
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    is_toml && text_of(path).is_ok_and(|text| Map::parse("", &text).is_ok())
}

/// A map to start one's own from, for a log that no ready map reads: what stands in capitals is for
/// a person to fill in.
fn starter(log: &Path) -> String {
    let first = std::fs::File::open(log).ok().and_then(|file| {
        let mut line = String::new();
        BufReader::new(file.take(FIRST_LINE)).read_line(&mut line).ok()?;
        Some(line.chars().filter(|c| !c.is_control() || *c == '\t').collect::<String>())
    });
    let first = first.unwrap_or_default();
    let format = match first.starts_with(['{', '[']) {
        true => "",
        false if first.contains('\t') => "format = \"tsv\"\n",
        false => "format = \"csv\"\n",
    };
    format!(
        "\nTo start a map of your own, write this to mine.toml, put fields of your records in the place of the\n\
         words in capitals, and try it: seriatim map mine.toml --try {}\n\n\
         # The log begins with: {first}\n\
         {format}spec = \"map\"            # seriatim specs lists them\n\
         unit = \"ms\"             # of times: ns, us, ms, s, iso8601\n\
         order = \"time\"\n\n\
         [[rule]]\n\
         is = \"operation\"        # or call, return, fail, unknown: one record for each event\n\
         process = 'CLIENT'\n\
         op = 'METHOD'           # what the specification calls it: \"put\", \"get\"\n\
         key = 'KEY?'            # ? : may be missing\n\
         arg = 'VALUE?'\n\
         result = 'RESULT?'\n\
         call = 'START'\n\
         return = 'END?'         # missing: nobody knows whether it happened\n",
        path_in_line(log)
    )
}

/// How much of the first line of a log is looked at.
const FIRST_LINE: u64 = 300;

/// How many operations are shown.
const SHOWN: usize = 10;

/// The first operations, and how often each rule matched.
fn understood(mapped: &Mapped) -> String {
    let history = &mapped.history;
    let mut text = String::new();
    for operation in history.operations().take(SHOWN) {
        text.push_str(&format!("  {}\n", line(history, operation)));
    }
    let tally = history.tally();
    text.push_str(&format!(
        "{} operations: {} returned, {} failed, {} unknown\n",
        history.len(),
        tally.ok,
        tally.failed,
        tally.pending
    ));
    if let Some(spec) = history.spec() {
        text.push_str(&format!("specification: {spec}\n"));
    }
    for rule in &mapped.rules {
        text.push_str(&format!("{:>8} records: {}\n", rule.records, rule.title));
    }
    if mapped.skipped > 0 {
        text.push_str(&format!("{:>8} records were left out\n", mapped.skipped));
    }
    text
}

fn line(history: &History, operation: Operation<'_>) -> String {
    let process = match history.names_processes() {
        true => format!("process {}: ", history.process_name(operation.process())),
        false => String::new(),
    };
    let end = match (operation.outcome(), operation.ret().and_then(|ret| history.moment(ret))) {
        (Outcome::Pending, _) => " … unknown".to_owned(),
        (_, Some(moment)) => format!(" … {moment}"),
        (_, None) => String::new(),
    };
    let call = history.moment(operation.call()).map(|moment| format!(", {moment}"));
    let (number, call) = (operation.line(), call.unwrap_or_default());
    format!("line {number}{call}{end}: {process}{operation}")
}
