//! Recorded values as data of a specification, by the types that its methods declare: integers are
//! numbers or keys where the specification wants those, any value is opaque data, `nil` is `empty`.
//!
//! A set holds an element once and a map a key once. A result that lists one twice stays the list that
//! it is, which no specification returns; an argument that does is not accepted. It would be unsound to
//! make a set or a map of either: what was repeated would be forgotten.

use crate::seri::object::{Invocation, SeriObject};
use crate::seri::texts::Texts;
use seriatim_history::{History, InputError, Operation, Outcome, Problem, Value, ValueId, Values};
use seriatim_lang::program::FunctionInfo;
use seriatim_lang::spec::Datum;
use seriatim_lang::types::{Record, Type};

/// An operation that is being read.
#[derive(Clone, Copy)]
struct Reading<'r> {
    operation: Operation<'r>,
    texts: &'r Texts,
    what: What,
}

/// What of an operation is being read.
#[derive(Clone, Copy, PartialEq)]
enum What {
    Argument,
    Result,
}

impl SeriObject {
    /// Gives ids to the items of lists, if the specification looks into lists.
    pub(crate) fn name_items(&self, history: &mut History) {
        let looks_inside = |method: &FunctionInfo| {
            let mut types = method.params.iter().map(|p| &p.ty).chain([&method.result]);
            let has_parts = |ty: &Type| {
                !matches!(ty, Type::Bool | Type::Int(_) | Type::Value | Type::Key | Type::Enum(_))
            };
            method.params.len() > 2 || types.any(|ty| has_parts(ty.required()))
        };
        if self.spec.info().methods.iter().any(looks_inside) {
            let data: Vec<ValueId> =
                history.operations().flat_map(|o| [o.arg(), o.result()]).collect();
            data.into_iter().for_each(|list| name_items(history, list));
        }
    }

    pub(crate) fn decode(
        &self,
        operation: Operation<'_>,
        texts: &Texts,
    ) -> Result<(Invocation, Option<Datum>), InputError> {
        let argument = Reading { operation, texts, what: What::Argument };
        let refuse =
            |problem| InputError::new(operation.history.source(), operation.line(), problem);
        let info = self.spec.info();
        let Some(method) = self.spec.method(operation.method()) else {
            let known: Vec<&str> = info.methods.iter().map(|m| m.name.as_str()).collect();
            return Err(refuse(Problem::UnknownOperation {
                name: operation.method().to_owned(),
                spec: info.name.clone(),
                known: known.join(", "),
            }));
        };
        let function = &info.methods[method];
        let types: Vec<Type> = function.params.iter().map(|param| param.ty.clone()).collect();
        let misfit = |expected: String| {
            let expected = match texts.is_mixed() {
                true => "keys that are all numbers or all texts".to_owned(),
                false => expected,
            };
            refuse(Problem::BadOperation { operation: operation.to_string(), expected })
        };
        let args = arguments(operation, types.len())
            .and_then(|ids| {
                ids.iter().zip(&types).map(|(&id, ty)| self.datum(argument, id, ty)).collect()
            })
            .ok_or_else(|| {
                misfit(format!("{} arguments as `{}` takes", types.len(), function.name))
            })?;
        let result = match operation.outcome() {
            Outcome::Pending => None,
            _ if function.result == Type::Unit => Some(Datum::unit()),
            _ => {
                let reading = Reading { what: What::Result, ..argument };
                let result = self.datum(reading, operation.result(), &function.result);
                Some(result.ok_or_else(|| misfit("a result of the method's type".to_owned()))?)
            }
        };
        Ok(((method, args), result))
    }
}

impl SeriObject {
    /// The datum of a type that a recorded value stands for. A variant is told by its name or its
    /// number.
    fn datum(&self, reading: Reading<'_>, id: ValueId, ty: &Type) -> Option<Datum> {
        let Reading { operation, texts, what } = reading;
        let values = operation.history.values();
        let number = || i32::try_from(values.as_int(id)?).ok();
        let all = |ids: Vec<ValueId>, of: &Type| -> Option<Vec<Datum>> {
            ids.into_iter().map(|id| self.datum(reading, id, of)).collect()
        };
        match ty {
            Type::Opt(_) if matches!(id, ValueId::NIL | ValueId::ABSENT) => Some(Datum::Null),
            Type::Opt(inner) => self.datum(reading, id, inner),
            Type::Bool => id.as_bool().map(Datum::Bool),
            Type::Int(..) => values.as_int(id).map(Datum::Int),
            Type::Key => texts.key(id, number()).map(Datum::Key),
            Type::Tid => number().and_then(|n| u32::try_from(n).ok()).map(Datum::Tid),
            Type::Tuple(parts) => {
                let items = items(operation, id).filter(|items| items.len() == parts.len())?;
                let data = items.iter().zip(parts).map(|(i, ty)| self.datum(reading, *i, ty));
                data.collect::<Option<Vec<_>>>().map(|data| Datum::Tuple(data.into()))
            }
            Type::Record(record) => self.record(reading, id, record),
            Type::Array(of, _) | Type::Seq(of) => {
                Some(Datum::list(all(items(operation, id)?, of)?))
            }
            Type::Set(of) => {
                let elements = all(items(operation, id)?, of)?;
                match repeats(elements.iter()) {
                    false => Some(Datum::set(elements)),
                    true => (what == What::Result).then(|| Datum::list(elements)),
                }
            }
            Type::Map(key, value) => {
                let entries = entries_of(values, id)?.into_iter();
                let entries = entries.map(|(k, v)| {
                    Some((self.datum(reading, k, key)?, self.datum(reading, v, value)?))
                });
                let entries: Vec<(Datum, Datum)> = entries.collect::<Option<_>>()?;
                let pair = |(k, v)| Datum::Tuple([k, v].into());
                match repeats(entries.iter().map(|(key, _)| key)) {
                    false => Some(Datum::map(entries)),
                    true => (what == What::Result)
                        .then(|| Datum::list(entries.into_iter().map(pair).collect())),
                }
            }
            Type::Enum(of) => {
                let variants = &self.spec.info().facts.enums[of.0 as usize].variants;
                let named = |text: &str| variants.iter().position(|variant| variant == text);
                let place = match values.as_str(id) {
                    Some(text) => named(text)?,
                    None => usize::try_from(number()?).ok().filter(|n| *n < variants.len())?,
                };
                Some(Datum::Variant(place as u32))
            }
            // Opaque data are only compared: the id is as good as the value.
            Type::Value => id.is_present().then_some(Datum::Value(id.0 as i32)),
            Type::Unit => Some(Datum::unit()),
            _ => None,
        }
    }

    /// A record, told as an object with its fields or as the list of their values. A field that may
    /// be empty may be left out, at the end of a list; one that the record does not have is not
    /// accepted.
    fn record(&self, reading: Reading<'_>, id: ValueId, record: &Record) -> Option<Datum> {
        let values = reading.operation.history.values();
        let mut ids: Vec<ValueId> = match &values.get(id) {
            Value::Map(entries) => {
                let is_known = |(name, _): &(Value, Value)| {
                    name.as_str().is_some_and(|name| record.place(name).is_some())
                };
                entries.iter().all(is_known).then_some(())?;
                let given = |field: &str| {
                    let entry = entries.iter().find(|(name, _)| name.as_str() == Some(field));
                    entry.map_or(Some(ValueId::ABSENT), |(_, value)| values.find(value))
                };
                record.fields.iter().map(|(field, _)| given(field)).collect::<Option<_>>()?
            }
            _ => items(reading.operation, id)?,
        };
        (ids.len() <= record.fields.len()).then_some(())?;
        ids.resize(record.fields.len(), ValueId::ABSENT);
        let fields = ids.into_iter().zip(&record.fields);
        let parts = fields.map(|(id, (_, ty))| self.datum(reading, id, ty));
        parts.collect::<Option<Vec<_>>>().map(|parts| Datum::Tuple(parts.into()))
    }
}

/// The arguments of a recorded operation: its key and its argument, or the items of the argument.
fn arguments(operation: Operation<'_>, wanted: usize) -> Option<Vec<ValueId>> {
    let present = [operation.key(), operation.arg()];
    let given: Vec<ValueId> = present.into_iter().filter(|id| id.is_present()).collect();
    match (given.len(), wanted) {
        (given_count, wanted) if given_count == wanted => Some(given),
        (1, 0) if given[0] == ValueId::NIL => Some(Vec::new()),
        (1, 2) => operation.history.values().as_pair(given[0]).map(|(a, b)| vec![a, b]),
        (1, wanted) => items(operation, given[0]).filter(|items| items.len() == wanted),
        // The key apart, and the others as a list.
        (2, wanted) => {
            let others = items(operation, given[1]).filter(|items| items.len() + 1 == wanted)?;
            Some([&given[..1], &others[..]].concat())
        }
        _ => None,
    }
}

/// Whether one of them is there twice.
fn repeats<'d>(data: impl Iterator<Item = &'d Datum>) -> bool {
    let mut data: Vec<&Datum> = data.collect();
    data.sort();
    data.windows(2).any(|two| two[0] == two[1])
}

/// The items of a list.
fn items(operation: Operation<'_>, list: ValueId) -> Option<Vec<ValueId>> {
    let values = operation.history.values();
    values.get(list).as_list()?.iter().map(|item| values.find(item)).collect()
}

/// The parts of a list, the keys and the values of a map.
pub(crate) fn parts(whole: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match whole {
        Value::List(items) => Box::new(items.iter()),
        Value::Map(entries) => Box::new(entries.iter().flat_map(|(key, value)| [key, value])),
        _ => Box::new(std::iter::empty()),
    }
}

/// The entries of a map, which may be told as a list of pairs.
fn entries_of(values: &Values, id: ValueId) -> Option<Vec<(ValueId, ValueId)>> {
    match &values.get(id) {
        Value::Map(entries) => {
            entries.iter().map(|(k, v)| Some((values.find(k)?, values.find(v)?))).collect()
        }
        Value::List(pairs) => pairs.iter().map(|pair| values.as_pair(values.find(pair)?)).collect(),
        _ => None,
    }
}

/// Gives ids to the parts of a value, and to theirs.
fn name_items(history: &mut History, id: ValueId) {
    if id.as_inline_int().is_some() || !id.is_present() || history.values().as_str(id).is_some() {
        return;
    }
    let whole = history.values().get(id);
    for part in parts(&whole) {
        let part = history.intern(part);
        name_items(history, part);
    }
}
