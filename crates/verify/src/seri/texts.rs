//! The texts of a history as ordered data of a specification.

use crate::seri::decode::parts;
use seriatim_history::{History, ValueId};
use seriatim_lang::program::FunctionInfo;
use seriatim_lang::types::Type;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The texts of a history, in their order: a `key` of a specification is a number, and a text
/// counts as its place among all texts of the history.
#[derive(Default)]
pub(crate) struct Texts {
    ranks: BTreeMap<ValueId, i32>,
    /// What stood first where a `key` is wanted: a number and a text that counts as that number
    /// would be one key.
    first_key: OnceLock<KeyKind>,
    /// Whether another kind stood there later.
    is_mixed: OnceLock<()>,
}

/// How a history writes its keys.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyKind {
    Number,
    Text,
}

impl Texts {
    /// The texts, if the specification has ordered data; those that it names are among them.
    pub(crate) fn of(
        history: &History,
        spec: &seriatim_lang::spec::Spec,
        named: &[(ValueId, bool)],
    ) -> Texts {
        let mut methods = spec.info().methods.iter();
        let has_keys = |method: &FunctionInfo| {
            method.params.iter().map(|p| &p.ty).chain([&method.result]).any(has_key)
        };
        let mut texts: BTreeMap<&str, ValueId> = BTreeMap::new();
        if methods.any(has_keys) {
            let values = history.values();
            let mut waiting: Vec<ValueId> =
                history.operations().flat_map(|o| [o.key(), o.arg(), o.result()]).collect();
            waiting.extend(named.iter().filter(|(_, is_key)| *is_key).map(|(id, _)| *id));
            while let Some(id) = waiting.pop() {
                if id.as_inline_int().is_some() || !id.is_present() {
                    continue;
                }
                match values.as_str(id) {
                    Some(text) => drop(texts.insert(text, id)),
                    None => {
                        let whole = values.get(id);
                        waiting.extend(parts(&whole).filter_map(|part| values.find(part)));
                    }
                }
            }
        }
        Texts { ranks: texts.into_values().zip(0..).collect(), ..Texts::default() }
    }

    /// The text that a key stands for, if keys are texts here.
    pub(crate) fn text(&self, key: i32) -> Option<ValueId> {
        let is_text = self.first_key.get() == Some(&KeyKind::Text);
        let ranks = is_text.then_some(&self.ranks)?;
        ranks.iter().find_map(|(id, rank)| (*rank == key).then_some(*id))
    }

    /// The key that a number or a text is, unless keys of the other kind came before.
    pub(crate) fn key(&self, id: ValueId, number: Option<i32>) -> Option<i32> {
        let (kind, key) = match number {
            Some(number) => (KeyKind::Number, number),
            None => (KeyKind::Text, self.rank(id)?),
        };
        let is_first = *self.first_key.get_or_init(|| kind) == kind;
        if !is_first {
            self.is_mixed.get_or_init(|| ());
        }
        is_first.then_some(key)
    }

    /// Whether both numbers and texts stood where a key is wanted.
    pub(crate) fn is_mixed(&self) -> bool {
        self.is_mixed.get().is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ranks.is_empty()
    }

    fn rank(&self, id: ValueId) -> Option<i32> {
        self.ranks.get(&id).copied()
    }
}

/// Whether a type holds ordered data.
fn has_key(ty: &Type) -> bool {
    match ty {
        Type::Key => true,
        Type::Opt(of) | Type::Seq(of) | Type::Set(of) | Type::Array(of, _) => has_key(of),
        Type::Tuple(parts) => parts.iter().any(has_key),
        Type::Map(key, value) => has_key(key) || has_key(value),
        Type::Record(record) => record.fields.iter().any(|(_, ty)| has_key(ty)),
        _ => false,
    }
}
