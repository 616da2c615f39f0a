//! The built-in specifications by name: `queue`, `cas-register(init=0)`, `priority-queue(max)`.
//!
//! Each object file describes itself in an [`Entry`]; this file finds entries by name, checks the
//! parameters against what the entry declares, binds a history, and tells which specifications a
//! history that names none may be meant for.

use crate::notation::{self, Given};
use crate::objects;
use crate::vocabulary::{Failures, Interpretation, Method, Reader};
use seriatim_history::{History, InputError, Value, ValueId};
use std::fmt;

/// A built-in specification as the catalogue describes it.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// Other names that are understood.
    pub aliases: &'static [&'static str],
    /// What it is, in a few words.
    pub meaning: &'static str,
    /// What can be configured.
    pub parameters: &'static [Parameter],
    /// Its operations.
    pub methods: &'static [Method],
    /// Reads a history under it.
    pub(crate) bind: fn(&Parameters, &mut History, Failures) -> Result<Interpretation, InputError>,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Entry").field(&self.name).finish()
    }
}

/// A parameter of a specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// What holds when it is not given, as one would write it.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

/// What a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing: it is there or not.
    Nothing,
    /// Any value.
    Value,
    /// An integer.
    Integer,
    /// An integer that is not negative.
    Natural,
    /// A list.
    List,
    /// A list without `nil`, which is what an empty container answers.
    Items,
    /// A map.
    Map,
}

impl Parameter {
    /// A parameter that takes any value.
    pub(crate) const fn value(
        name: &'static str,
        default: &'static str,
        meaning: &'static str,
    ) -> Self {
        let takes = Takes::Value;
        Parameter { name, takes, default, meaning }
    }

    /// A parameter that takes a list.
    pub(crate) const fn list(
        name: &'static str,
        default: &'static str,
        meaning: &'static str,
    ) -> Self {
        let takes = Takes::List;
        Parameter { name, takes, default, meaning }
    }

    /// What a container holds at the start.
    pub(crate) const fn items(meaning: &'static str) -> Self {
        Parameter { name: "init", takes: Takes::Items, default: "[]", meaning }
    }

    /// A parameter that takes a map.
    pub(crate) const fn map(
        name: &'static str,
        default: &'static str,
        meaning: &'static str,
    ) -> Self {
        let takes = Takes::Map;
        Parameter { name, takes, default, meaning }
    }

    /// A parameter that takes an integer.
    pub(crate) const fn integer(
        name: &'static str,
        default: &'static str,
        meaning: &'static str,
    ) -> Self {
        let takes = Takes::Integer;
        Parameter { name, takes, default, meaning }
    }

    /// A parameter that takes an integer from 0 on.
    pub(crate) const fn natural(
        name: &'static str,
        default: &'static str,
        meaning: &'static str,
    ) -> Self {
        let takes = Takes::Natural;
        Parameter { name, takes, default, meaning }
    }

    /// A parameter that is there or not.
    pub(crate) const fn flag(name: &'static str, meaning: &'static str) -> Self {
        let (takes, default) = (Takes::Nothing, "not given");
        Parameter { name, takes, default, meaning }
    }
}

/// The parameters that were given to a specification, all of them as it declares.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    given: Vec<(&'static str, Value)>,
}

impl Parameters {
    /// The value of a parameter, if it was given.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.given.iter().find_map(|(known, value)| (*known == name).then_some(value))
    }

    /// Whether a flag was given.
    pub fn flag(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// The names of the parameters that were given.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.given.iter().map(|&(name, _)| name)
    }

    /// The value of an integer parameter, or what holds without it.
    pub fn integer(&self, name: &str, default: i64) -> i64 {
        self.value(name).and_then(Value::as_int).unwrap_or(default)
    }

    /// The items of a list parameter, interned; none if it was not given.
    pub(crate) fn items(&self, name: &str, history: &mut History) -> Vec<ValueId> {
        let items = self.value(name).and_then(Value::as_list).unwrap_or_default();
        let intern = |item| history.intern(item);
        items.iter().map(intern).collect()
    }

    /// The entries of a map parameter, interned, in ascending order of the keys.
    pub(crate) fn entries(&self, name: &str, history: &mut History) -> Vec<(ValueId, ValueId)> {
        let Some(Value::Map(entries)) = self.value(name) else {
            return Vec::new();
        };
        let mut entries: Vec<_> = entries
            .iter()
            .map(|(key, value)| (history.intern(key), history.intern(value)))
            .collect();
        entries.sort_unstable();
        entries
    }
}

/// All built-in specifications.
///
/// ```
/// assert!(seriatim_spec::catalogue().any(|entry| entry.name == "queue"));
/// ```
pub fn catalogue() -> impl Iterator<Item = &'static Entry> {
    objects::CATALOGUE.iter().copied().flatten()
}

/// The names under which histories record an operation of a built-in object, by the object's name
/// and the operation's own. Engines that know an object take the names from here while they are
/// compiled, in a constant: a name that the catalogue does not have does not compile, and none is
/// forgotten.
///
/// ```
/// const DEQUEUE: &[&str] = seriatim_spec::names("queue", "dequeue");
/// assert!(DEQUEUE.contains(&"poll"));
/// ```
///
/// # Panics
///
/// If there is no such object or operation.
pub const fn names(object: &str, operation: &str) -> &'static [&'static str] {
    let mut group = 0;
    while group < objects::CATALOGUE.len() {
        let entries = objects::CATALOGUE[group];
        let mut entry = 0;
        while entry < entries.len() {
            if is_same(entries[entry].name, object) {
                return names_among(entries[entry].methods, operation);
            }
            entry += 1;
        }
        group += 1;
    }
    panic!("the catalogue has no such object")
}

const fn names_among(methods: &'static [Method], operation: &str) -> &'static [&'static str] {
    let mut method = 0;
    while method < methods.len() {
        if is_same(methods[method].names[0], operation) {
            return methods[method].names;
        }
        method += 1;
    }
    panic!("the object has no such operation")
}

/// Whether two texts are the same; `==` is not for constants.
const fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// A specification that was chosen by name, with its parameters.
///
/// ```
/// use seriatim_spec::SpecChoice;
/// let choice = SpecChoice::parse("cas-register(init=0)").unwrap();
/// assert_eq!(choice.name(), "cas-register");
/// let error = SpecChoice::parse("qeue").unwrap_err();
/// assert!(error.to_string().contains("did you mean `queue`"));
/// ```
#[derive(Clone, Debug)]
pub struct SpecChoice {
    entry: &'static Entry,
    parameters: Parameters,
}

impl PartialEq for SpecChoice {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name() && self.parameters == other.parameters
    }
}

impl Eq for SpecChoice {}

impl SpecChoice {
    /// The specification that a text names: `queue`, `cas-register(init=0)`,
    /// `multi-register {:x 0 :y 0}`, `cas-register, init 0`.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let (name, given) = notation::parse(text)?;
        if given.iter().any(leaves_start_open) {
            return Err(SpecError::OpenStart { spec: name });
        }
        SpecChoice::with(&name, given)
    }

    /// The specification that a text names and whose start it leaves open, as
    /// `register(init=unknown)` does; `None` if it does not. Where the start has to be known, such a
    /// text is refused: `unknown` is no value.
    ///
    /// ```
    /// use seriatim_spec::SpecChoice;
    /// let open = SpecChoice::parse_open("register( init = unknown )").unwrap();
    /// assert_eq!(open.unwrap().to_string(), "register");
    /// assert!(SpecChoice::parse_open("register(init=0)").unwrap().is_none());
    /// assert!(SpecChoice::parse("register(init=unknown)").is_err());
    /// assert!(SpecChoice::parse("register(init=\"unknown\")").is_ok());
    /// ```
    pub fn parse_open(text: &str) -> Result<Option<Self>, SpecError> {
        let (name, mut given) = notation::parse(text)?;
        let count = given.len();
        given.retain(|given| !leaves_start_open(given));
        if given.len() == count {
            return Ok(None);
        }
        SpecChoice::with(&name, given).map(Some)
    }

    fn with(name: &str, given: Vec<Given>) -> Result<Self, SpecError> {
        let entry = find(name).ok_or_else(|| unknown(name))?;
        let mut parameters = Parameters::default();
        for given in given {
            let (parameter, value) = fit(entry, given)?;
            if parameters.flag(parameter) {
                let (spec, parameter) = (entry.name, parameter.to_owned());
                return Err(SpecError::Repeated { spec, parameter });
            }
            parameters.given.push((parameter, value));
        }
        if parameters.flag("min") && parameters.flag("max") {
            let (spec, flags) = (entry.name, ["min", "max"]);
            return Err(SpecError::Contradiction { spec, flags });
        }
        Ok(SpecChoice { entry, parameters })
    }

    /// The specification of a history that nobody named: the one that its source names, else the
    /// only one that can read it. Where several can, it does not guess: see
    /// [`candidates`](SpecChoice::candidates).
    pub fn guess(history: &History) -> Result<Self, SpecError> {
        match &SpecChoice::candidates(history, Failures::Drop)?[..] {
            [only] => Ok(only.clone()),
            several => Err(SpecError::Ambiguous {
                methods: methods(history),
                candidates: several.iter().map(SpecChoice::name).collect(),
            }),
        }
    }

    /// The specifications that a history may be meant for: the one that its source names, else all
    /// that have its operations, by whatever name, and can read every one of them. Those whose own
    /// names it uses come first. An error if there is none.
    ///
    /// ```
    /// use seriatim_spec::{Failures, SpecChoice};
    /// # use seriatim_history::{Builder, Call, Return, Value};
    /// # let mut builder = Builder::new("example");
    /// # let client = builder.process(&Value::Int(0));
    /// # let push = builder.method("push");
    /// # let one = builder.values().intern_int(1);
    /// # builder.call(1, client, Call::new(push).arg(one)).unwrap();
    /// # builder.ret(2, client, Return::ok()).unwrap();
    /// # let history = builder.finish().unwrap();
    /// // Somebody pushes: on a stack, or one of the others that know the word.
    /// let candidates = SpecChoice::candidates(&history, Failures::Drop).unwrap();
    /// assert_eq!(candidates[0].name(), "stack");
    /// assert!(candidates.iter().any(|candidate| candidate.name() == "queue"));
    /// ```
    pub fn candidates(history: &History, failures: Failures) -> Result<Vec<Self>, SpecError> {
        if let Some(named) = history.spec() {
            return Ok(vec![SpecChoice::parse(named)?]);
        }
        let used = methods(history);
        let has_all = |entry: &&Entry| {
            used.iter().all(|name| entry.methods.iter().any(|method| method.is(name)))
        };
        let choices = catalogue().filter(has_all).flat_map(SpecChoice::variants);
        let reads = |choice: &SpecChoice| choice.bind(&mut history.clone(), failures).is_ok();
        let mut fitting: Vec<SpecChoice> = match used.is_empty() {
            true => choices.collect(),
            false => choices.filter(reads).collect(),
        };
        if fitting.is_empty() || used.is_empty() {
            let candidates = fitting.iter().map(SpecChoice::name).collect();
            return Err(SpecError::Ambiguous { methods: used, candidates });
        }
        let own_names = |choice: &SpecChoice| {
            used.iter().all(|name| {
                let mut methods = choice.entry.methods.iter();
                methods.any(|method| method.names[0].eq_ignore_ascii_case(name))
            })
        };
        fitting.sort_by_key(|choice| !own_names(choice));
        Ok(fitting)
    }

    /// The objects of one name that a history may be meant for if nobody says which: the usual one,
    /// and where there is a choice of order the opposite one.
    fn variants(entry: &'static Entry) -> impl Iterator<Item = SpecChoice> {
        let flags = entry.parameters.iter().filter(|parameter| parameter.name == "max");
        let opposite = flags.map(|flag| vec![(flag.name, Value::Bool(true))]);
        let given = std::iter::once(Vec::new()).chain(opposite);
        given.map(move |given| SpecChoice { entry, parameters: Parameters { given } })
    }

    /// The specification's name in the catalogue.
    pub fn name(&self) -> &'static str {
        self.entry.name
    }

    /// Its description.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// The parameters that were given, for algorithms that know the object: `Queue::build`.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Reads a history under the specification.
    pub fn bind(
        &self,
        history: &mut History,
        failures: Failures,
    ) -> Result<Interpretation, InputError> {
        (self.entry.bind)(&self.parameters, history, failures)
    }
}

/// A specification chosen by name that reads failed operations in a given way.
#[derive(Clone, Debug)]
pub struct ChosenReader {
    /// The specification.
    pub choice: SpecChoice,
    /// What a failed operation tells.
    pub failures: Failures,
}

impl Reader for ChosenReader {
    fn name(&self) -> String {
        self.choice.to_string()
    }

    fn chosen(&self) -> Option<&ChosenReader> {
        Some(self)
    }

    fn read(&self, history: &mut History) -> Result<Interpretation, InputError> {
        self.choice.bind(history, self.failures)
    }
}

impl fmt::Display for SpecChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        for (index, (name, value)) in self.parameters.given.iter().enumerate() {
            f.write_str(if index == 0 { "(" } else { ", " })?;
            let flag = |p: &&Parameter| p.name == *name && p.takes == Takes::Nothing;
            match self.entry.parameters.iter().find(flag) {
                Some(_) => f.write_str(name)?,
                None => write!(f, "{name}={value}")?,
            }
        }
        f.write_str(if self.parameters.given.is_empty() { "" } else { ")" })
    }
}

/// The names of the methods of a history.
fn methods(history: &History) -> Vec<String> {
    let name = |method: usize| history.method_name(method.into()).to_owned();
    (0..history.method_count()).map(name).collect()
}

fn find(name: &str) -> Option<&'static Entry> {
    let plain = |text: &str| text.to_ascii_lowercase().replace(['-', '_', ' '], "");
    let wanted = plain(name);
    catalogue().find(|entry| {
        let mut names = entry.aliases.iter().chain([&entry.name]);
        names.any(|known| plain(known) == wanted)
    })
}

fn unknown(name: &str) -> SpecError {
    let names = catalogue().flat_map(|entry| entry.aliases.iter().chain([&entry.name]));
    let nearest = names
        .map(|&known| (distance(known, name), known))
        .min()
        .filter(|&(distance, known)| distance <= 1 + known.len() / 4);
    SpecError::Unknown {
        name: name.to_owned(),
        nearest: nearest.map(|(_, known)| known),
        known: catalogue().map(|entry| entry.name).collect(),
    }
}

/// Whether something given says that nobody knows the start: `init=unknown`.
fn leaves_start_open(given: &Given) -> bool {
    let is_init = given.name.as_ref().is_none_or(|name| name.eq_ignore_ascii_case("init"));
    is_init && matches!(&given.value, Some(Value::Name(name)) if &**name == "unknown")
}

/// The parameter that something given means, and its value.
fn fit(entry: &'static Entry, given: Given) -> Result<(&'static str, Value), SpecError> {
    let takes_it = |parameter: &&Parameter| match (&given.name, &given.value) {
        (Some(name), _) => parameter.name.eq_ignore_ascii_case(name),
        (None, Some(_)) => parameter.takes != Takes::Nothing,
        (None, None) => false,
    };
    let Some(parameter) = entry.parameters.iter().find(takes_it) else {
        let (spec, parameter) = (entry.name, given.to_string());
        let known = entry.parameters.iter().map(|known| known.name).collect();
        return Err(SpecError::UnknownParameter { spec, parameter, known });
    };
    let value = match (parameter.takes, given.value) {
        (Takes::Nothing, None) => Ok(Value::Bool(true)),
        (Takes::Value, Some(value)) => Ok(value),
        (Takes::Integer, Some(value @ Value::Int(_)))
        | (Takes::Natural, Some(value @ Value::Int(0..))) => Ok(value),
        (Takes::List, Some(value @ Value::List(_))) => Ok(value),
        (Takes::Items, Some(Value::List(items))) if !items.contains(&Value::Nil) => {
            Ok(Value::List(items))
        }
        (Takes::Map, Some(value @ Value::Map(_))) => Ok(value),
        (_, found) => Err(SpecError::BadParameter {
            spec: entry.name,
            parameter: *parameter,
            found: found.map_or("nothing".to_owned(), |value| value.to_string()),
        }),
    };
    Ok((parameter.name, value?))
}

/// The number of insertions, deletions and replacements between two words.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Why a text names no specification.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecError {
    /// No specification has that name.
    Unknown {
        /// The name.
        name: String,
        /// The name that may have been meant.
        nearest: Option<&'static str>,
        /// All names.
        known: Vec<&'static str>,
    },
    /// The specification has no such parameter.
    UnknownParameter {
        /// The specification.
        spec: &'static str,
        /// What was given.
        parameter: String,
        /// The parameters that it has.
        known: Vec<&'static str>,
    },
    /// A parameter was given twice.
    Repeated {
        /// The specification.
        spec: &'static str,
        /// The parameter.
        parameter: String,
    },
    /// Two flags that exclude each other.
    Contradiction {
        /// The specification.
        spec: &'static str,
        /// The flags.
        flags: [&'static str; 2],
    },
    /// The start is left open where it has to be known.
    OpenStart {
        /// The specification.
        spec: String,
    },
    /// The parameter does not take this.
    BadParameter {
        /// The specification.
        spec: &'static str,
        /// The parameter.
        parameter: Parameter,
        /// What was given.
        found: String,
    },
    /// The text cannot be read.
    Syntax {
        /// What was expected.
        expected: &'static str,
        /// What stands there.
        found: String,
        /// The place, in characters from 1 on.
        place: usize,
    },
    /// A history names no specification, and its methods do not tell which one is meant.
    Ambiguous {
        /// The methods of the history.
        methods: Vec<String>,
        /// The specifications that have all of them.
        candidates: Vec<&'static str>,
    },
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpecError::Unknown { name, nearest, known } => {
                write!(f, "there is no specification `{name}`")?;
                if let Some(nearest) = nearest {
                    write!(f, "; did you mean `{nearest}`?")?;
                }
                write!(f, " (known: {})", known.join(", "))
            }
            SpecError::OpenStart { spec } => write!(
                f,
                "{spec}: init=unknown is understood only by `seriatim check` of a whole log in real time; expected the value at the start"
            ),
            SpecError::UnknownParameter { spec, parameter, known } if known.is_empty() => {
                write!(f, "{spec} takes no parameters, but `{parameter}` was given")
            }
            SpecError::UnknownParameter { spec, parameter, known } => write!(
                f,
                "{spec} has no parameter `{parameter}`; expected one of: {}",
                known.join(", ")
            ),
            SpecError::Repeated { spec, parameter } => {
                write!(f, "{parameter} of {spec} is given twice")
            }
            SpecError::Contradiction { spec, flags: [one, other] } => {
                write!(f, "{one} and {other} of {spec} exclude each other; expected one of them")
            }
            SpecError::BadParameter { spec, parameter, found } => {
                let expected = match parameter.takes {
                    Takes::Nothing => "no value: it is a flag",
                    Takes::Value => "a value",
                    Takes::Integer => "an integer of 64 bits",
                    Takes::Natural => "an integer of 64 bits from 0 on",
                    Takes::List => "a list such as [1, 2]",
                    Takes::Items => {
                        "a list such as [1, 2] without nil, the answer of an empty container"
                    }
                    Takes::Map => "a map such as {x: 0, y: 0}",
                };
                let name = parameter.name;
                write!(f, "{name} of {spec} takes {expected}, found {found}")
            }
            SpecError::Syntax { expected, found, place } => {
                write!(
                    f,
                    "cannot read the specification: expected {expected}, found {found} at \
                     character {place}; write it as name, name(parameter=value) or name(flag), and \
                     a value as JSON, as EDN, or with names: {{x: 0, y: 0}}"
                )
            }
            SpecError::Ambiguous { methods, candidates } if methods.is_empty() => write!(
                f,
                "the history has no operations and names no specification; name one with --spec \
                 (one of: {})",
                candidates.join(", ")
            ),
            SpecError::Ambiguous { methods, candidates } if candidates.is_empty() => write!(
                f,
                "no specification has all the operations of the history ({}) and can read them; name \
                 one with --spec to see what it lacks",
                methods.join(", ")
            ),
            SpecError::Ambiguous { methods, candidates } => write!(
                f,
                "the history names no specification, and several have its operations ({}); give \
                 one of: {}",
                methods.join(", "),
                candidates
                    .iter()
                    .map(|name| format!("--spec {name}"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        }
    }
}

impl std::error::Error for SpecError {}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_history::{Builder, Call, Outcome, Return};

    /// The candidates for a history of these operations: method, key, result.
    fn candidates(operations: &[(&str, Option<&str>, Value)]) -> Result<String, String> {
        let mut builder = Builder::new("guess");
        let process = builder.process(&Value::Int(0));
        for (method, key, result) in operations {
            let mut call = Call::new(builder.method(method));
            if let Some(key) = key {
                call.key = builder.values().intern_text(key);
            }
            let adds = ["enq", "push", "add", "write", "put", "append", "contains"];
            if adds.contains(method) {
                call.arg = builder.values().intern_text("v");
            }
            builder.call(1, process, call).unwrap();
            let result = builder.values().intern(result);
            let ret = Return::new(Outcome::Ok, result);
            builder.ret(2, process, ret).unwrap();
        }
        let history = builder.finish().unwrap();
        let names = |choices: Vec<SpecChoice>| {
            choices.iter().map(SpecChoice::name).collect::<Vec<_>>().join(" ")
        };
        let candidates = SpecChoice::candidates(&history, Failures::Drop);
        candidates.map(names).map_err(|error| error.to_string())
    }

    #[test]
    fn every_specification_that_reads_a_history_is_a_candidate() {
        let nil = Value::Nil;
        let plain = |names: &[&'static str]| {
            let operations: Vec<_> = names.iter().map(|&name| (name, None, nil.clone())).collect();
            candidates(&operations)
        };
        let ok = |names: &str| Ok(names.to_owned());
        assert_eq!(plain(&["enq", "deq"]), ok("queue"));
        // A priority queue may serve either end first.
        let either = "stack multiset queue priority-queue priority-queue";
        assert_eq!(plain(&["push", "pop"]), ok(either));
        assert_eq!(plain(&["write", "read"]), ok("register cas-register rmw log"));
        let set = [("add", None, Value::Bool(false)), ("contains", None, Value::Bool(true))];
        assert_eq!(candidates(&set), ok("set"));
        let get = |value: &str| ("get", Some("k"), Value::text(value));
        let put = ("put", Some("k"), nil.clone());
        assert_eq!(candidates(&[put, get("v")]), ok("map kv"));
        assert_eq!(candidates(&[("append", Some("k"), nil.clone()), get("v")]), ok("map kv"));
        assert_eq!(plain(&["acquire", "release"]), ok("mutex semaphore"));
        assert!(plain(&["fly"]).unwrap_err().starts_with("no specification has all"));
        assert!(plain(&[]).unwrap_err().starts_with("the history has no operations"));
    }
}
