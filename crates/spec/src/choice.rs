//! The choice of a built-in specification: by name (`queue`, `cas-register(init=0)`,
//! `priority-queue(max)`), or by what a history that names none can be read as.
//!
//! A name is looked up in the catalogue and its parameters are checked against what the entry
//! declares. Where several specifications can read a history, nobody guesses: they are all named.

use crate::catalogue::{Entry, catalogue};
use crate::kinds;
use crate::notation::{self, Given, Said, Written};
use crate::objects;
use crate::parameters::{Parameter, Parameters, Takes};
use crate::spec_error::SpecError;
use crate::vocabulary::{Failures, Interpretation, Reader};
use seriatim_history::{History, InputError, Value};
use seriatim_limits::InOrder;
use std::fmt;

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
        SpecChoice::given(&name, given)
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
        SpecChoice::given(&name, given).map(Some)
    }

    fn given(name: &str, given: Vec<Given>) -> Result<Self, SpecError> {
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
        let guessed = |entry: &&Entry| !objects::ONLY_BY_NAME.contains(&entry.name);
        let choices = catalogue().filter(guessed).filter(has_all).flat_map(SpecChoice::variants);
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
        fitting.put_in_order_by_key(|choice| !own_names(choice));
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

    /// The same with another value in place of one that its parameters say.
    pub(crate) fn with(&self, value: &Value, other: &Value) -> SpecChoice {
        let given = self.parameters.given.iter();
        let given = given.map(|(name, known)| (*name, replaced(known, value, other))).collect();
        SpecChoice { entry: self.entry, parameters: Parameters { given } }
    }

    /// Whether a history has the values of the parameters in the kinds in which they say them, or not
    /// at all. [`SpecChoice::bind`] refuses others; it cannot tell from an excerpt.
    pub fn is_in_kind(&self, history: &History) -> bool {
        kinds::compare(self, history).is_ok()
    }

    /// Reads a history under the specification.
    pub fn bind(
        &self,
        history: &mut History,
        failures: Failures,
    ) -> Result<Interpretation, InputError> {
        kinds::compare(self, history)?;
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
                None => write!(f, "{name}={}", Written(value))?,
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

/// A value with another one in place of one of its parts.
fn replaced(whole: &Value, value: &Value, other: &Value) -> Value {
    match whole {
        _ if whole == value => other.clone(),
        Value::List(items) => Value::list(items.iter().map(|item| replaced(item, value, other))),
        Value::Map(entries) => Value::map(
            entries
                .iter()
                .map(|(key, held)| (replaced(key, value, other), replaced(held, value, other))),
        ),
        _ => whole.clone(),
    }
}

/// Whether something given says that nobody knows the start: `init=unknown`.
fn leaves_start_open(given: &Given) -> bool {
    let is_init = given.name.as_ref().is_none_or(|name| name.eq_ignore_ascii_case("init"));
    is_init && given.said == Said::Unknown
}

/// The parameter that something given means, and its value.
fn fit(entry: &'static Entry, given: Given) -> Result<(&'static str, Value), SpecError> {
    let takes_it = |parameter: &&Parameter| match &given.name {
        Some(name) => parameter.name.eq_ignore_ascii_case(name),
        None => parameter.takes != Takes::Nothing,
    };
    let Some(parameter) = entry.parameters.iter().find(takes_it) else {
        let (spec, parameter) = (entry.name, given.to_string());
        let known = entry.parameters.iter().map(|known| known.name).collect();
        return Err(SpecError::UnknownParameter { spec, parameter, known });
    };
    let value = match (parameter.takes, given.said) {
        (Takes::Nothing, Said::Nothing) => Ok(Value::Bool(true)),
        (Takes::Value, Said::Value(value)) => Ok(value),
        (Takes::Integer, Said::Value(value @ Value::Int(_)))
        | (Takes::Natural, Said::Value(value @ Value::Int(0..))) => Ok(value),
        (Takes::List, Said::Value(value @ Value::List(_))) => Ok(value),
        (Takes::Items, Said::Value(Value::List(items))) if !items.contains(&Value::Nil) => {
            Ok(Value::List(items))
        }
        (Takes::Map, Said::Value(value @ Value::Map(_))) => Ok(value),
        (_, found) => Err(SpecError::BadParameter {
            spec: entry.name,
            parameter: *parameter,
            found: found.to_string(),
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
        assert_eq!(plain(&["write", "read"]), ok("register cas-register rmw"));
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
