//! The data of a specification in the words of the history that they were read from.

use crate::seri::texts::Texts;
use seriatim_history::{ValueId, Values};
use seriatim_lang::program::SpecInfo;
use seriatim_lang::spec::Datum;
use seriatim_lang::types::Type;

/// What the data of a history are called there: opaque data are ids of its values, and a key may be
/// the place of a text among its texts.
pub(crate) struct Words<'w> {
    pub values: &'w Values,
    pub texts: &'w Texts,
}

impl Words<'_> {
    /// A datum of a type, as the history writes it.
    pub fn of(&self, spec: &SpecInfo, ty: &Type, datum: &Datum) -> String {
        let shown = |ty: &Type, datum: &Datum| self.of(spec, ty, datum);
        let all = |ty: &Type| joined(datum.elements().map(|datum| shown(ty, datum)));
        match (ty, datum) {
            (_, Datum::Null) => datum.to_string(),
            (Type::Opt(of), _) => shown(of, datum),
            (_, Datum::Value(id)) => self.values.get(ValueId(*id as u32)).to_string(),
            (_, Datum::Key(key)) => match self.texts.text(*key) {
                Some(text) => self.values.get(text).to_string(),
                None => datum.to_string(),
            },
            (Type::Enum(of), Datum::Variant(place)) => {
                spec.facts.enums[of.0 as usize].variants[*place as usize].clone()
            }
            (Type::Tuple(types), Datum::Tuple(parts)) => {
                format!(
                    "({})",
                    joined(types.iter().zip(parts.iter()).map(|(ty, part)| shown(ty, part)))
                )
            }
            (Type::Record(record), Datum::Tuple(parts)) => {
                let fields = record.fields.iter().zip(parts.iter());
                let field = |((name, ty), part): (&(String, Type), _)| {
                    format!("{name}: {}", shown(ty, part))
                };
                format!("{{{}}}", joined(fields.map(field)))
            }
            (
                Type::Array(of, _) | Type::Seq(of) | Type::Set(of),
                Datum::List(_) | Datum::LongList(_),
            ) => format!("[{}]", all(of)),
            (Type::Map(key, value), Datum::List(_) | Datum::LongList(_)) => {
                format!("[{}]", all(&Type::Tuple(vec![(**key).clone(), (**value).clone()])))
            }
            (Type::Set(of), Datum::Set(_) | Datum::LongSet(_)) => format!("{{{}}}", all(of)),
            (Type::Map(key, value), Datum::Map(entries)) => {
                let entry =
                    |(k, v): (&Datum, &Datum)| format!("{}: {}", shown(key, k), shown(value, v));
                format!("{{{}}}", joined(entries.iter().map(entry)))
            }
            _ => datum.to_string(),
        }
    }
}

fn joined(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(", ")
}
