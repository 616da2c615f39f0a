//! The catalogue of built-in specifications: what each is called, what can be configured, and which
//! operations it has under which names.
//!
//! Each object file describes itself in an [`Entry`]. Monitors, the generator, the language and the
//! book take the names from here, so that no two of them differ.

use crate::objects;
use crate::parameters::{Parameter, Parameters};
use crate::vocabulary::{Failures, Interpretation, Method};
use seriatim_history::{History, InputError};
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
