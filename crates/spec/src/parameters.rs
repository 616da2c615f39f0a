//! The parameters of a specification: what it declares, and what was given to it.

use seriatim_history::{History, Value, ValueId};
use seriatim_limits::InOrder;

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
    pub(crate) given: Vec<(&'static str, Value)>,
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
        entries.put_in_order();
        entries
    }
}
