//! Splitting a history into parts that can be checked one by one.
//!
//! *Theorem* (Herlihy & Wing 1990, locality): a history is linearizable iff its operations on each
//! object are. *Theorem* (Horn & Kroening 2015, P-compositionality): the same holds for the keys of
//! an object whose operations on different keys are independent. The specification names the key of
//! each operation; where one operation of an object has none, the object is not split.
//!
//! *It would be unsound to* split an object of which an operation concerns several keys, or whose
//! specification says of keys that they are independent when they are not: `--check-partition`
//! looks in a history for evidence of the latter ([`refute_partition`](crate::refute_partition)).

use hashbrown::HashMap;
use seriatim_history::{History, OpId, ValueId};
use seriatim_spec::Interpretation;

/// How finely to split.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Partitioning {
    /// By object and, where the specification names keys, by key.
    #[default]
    ByKey,
    /// By object only.
    ByObject,
}

/// Operations that are checked for themselves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// What they have in common, for people: a key, an object; empty where nothing was split.
    pub label: String,
    /// The operations, in call order.
    pub operations: Vec<OpId>,
}

/// Splits the operations that happened or may have happened. Together the parts hold each of them
/// once.
pub fn partition(
    history: &History,
    reading: &Interpretation,
    partitioning: Partitioning,
) -> Vec<Part> {
    let key = |op: OpId| reading.class(op).and_then(|class| reading.alphabet.key(class));
    let named: HashMap<ValueId, bool> = match partitioning {
        Partitioning::ByObject => HashMap::new(),
        Partitioning::ByKey => objects_with_keys(history, reading, key),
    };
    let mut index: HashMap<(ValueId, u64), usize> = HashMap::new();
    let mut parts: Vec<Part> = Vec::new();
    for op in reading.operations() {
        let object = history.object(op);
        let is_split = named.get(&object).copied().unwrap_or(false);
        let key = if is_split { key(op).unwrap_or(0) } else { 0 };
        let place = *index.entry((object, key)).or_insert(parts.len());
        if place == parts.len() {
            let label = label(history, reading, op, is_split);
            parts.push(Part { label, operations: Vec::new() });
        }
        parts[place].operations.push(op);
    }
    parts
}

/// For each object whether all its operations name a key.
fn objects_with_keys(
    history: &History,
    reading: &Interpretation,
    key: impl Fn(OpId) -> Option<u64>,
) -> HashMap<ValueId, bool> {
    let mut all_named = HashMap::new();
    for op in reading.operations() {
        *all_named.entry(history.object(op)).or_insert(true) &= key(op).is_some();
    }
    all_named
}

fn label(history: &History, reading: &Interpretation, op: OpId, is_split: bool) -> String {
    let values = history.values();
    let mut names = Vec::new();
    let (object, key) = (history.object(op), history.key(op));
    if object.is_present() {
        names.push(format!("object {}", values.get(object)));
    }
    if is_split {
        let name = reading.class(op).and_then(|class| reading.alphabet.key_name(class));
        let told = if key.is_present() { key } else { history.arg(op) };
        names.push(name.unwrap_or_else(|| format!("key {}", values.get(told))));
    }
    names.join(", ")
}
