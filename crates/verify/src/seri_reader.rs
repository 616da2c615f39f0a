//! Specifications written in the algorithm language, for recorded histories; and histories of runs
//! of algorithms.
//!
//! A `spec { … }` of a `.seri` file runs in the interpreter of `seriatim-lang`. This file turns
//! recorded values into its data and back: integers are numbers or keys where the specification
//! wants those, any value is opaque data, `nil` is `empty`.

use crate::seri_live::SeriLive;
use crate::seri_nature::Nature;
use crate::seri_words::Words;
use seriatim_explore::{Event, event};
use seriatim_history::{History, InputError, Operation, Outcome, Problem, Value, ValueId, Values};
use seriatim_lang::Program;
use seriatim_lang::machine::Bounds;
use seriatim_lang::program::{FunctionInfo, SpecInfo};
use seriatim_lang::spec::{Datum, SpecState, SpecStop};
use seriatim_lang::types::{Record, Type};
use seriatim_spec::live::Sample;
use seriatim_spec::run::Run;
use seriatim_spec::{
    Bound, Interpretation, Next, Reader, Sparse, Spec, Version, Versions, VersionsOf, key_of,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

/// A specification of a `.seri` file that reads recorded histories.
///
/// ```
/// use seriatim_history::read_str;
/// use seriatim_monitor::{Options, check};
/// use seriatim_verify::SeriReader;
///
/// let source = "spec flag {
///   var up: bool = false
///   method raise() -> bool { let old = up; up = true; return old }
/// }";
/// let reader = SeriReader::parse(source, None).unwrap();
/// let mut history = read_str(
///     "{\"process\":0,\"op\":\"raise\",\"result\":false,\"call\":1,\"return\":2}\n\
///      {\"process\":0,\"op\":\"raise\",\"result\":false,\"call\":3,\"return\":4}\n",
/// )?;
/// let checked = check(&mut history, &reader, &Options::default())?;
/// assert_eq!(checked.verdict.word(), "violation");
/// # Ok::<(), seriatim_history::InputError>(())
/// ```
pub struct SeriReader {
    object: Arc<SeriObject>,
}

impl SeriReader {
    /// The specification of that name in a source text; the only one, or the one that the object
    /// must refine, without a name.
    pub fn parse(source: &str, name: Option<&str>) -> Result<Self, String> {
        Self::parse_with(source, name, &BTreeMap::new())
    }

    /// As [`SeriReader::parse`], with other values for constants of the source text.
    ///
    /// ```
    /// # use std::collections::{BTreeMap, BTreeSet};
    /// let source = "const MOST = 2
    /// spec bounded { var n: int = 0
    ///   method add() -> bool { if n == MOST { return false }
    ///                          n = n + 1
    ///                          return true } }";
    /// let five = BTreeMap::from([("MOST".to_owned(), 5)]);
    /// assert!(seriatim_verify::SeriReader::parse_with(source, None, &five).is_ok());
    /// let unknown = BTreeMap::from([("LEAST".to_owned(), 5)]);
    /// assert!(seriatim_verify::SeriReader::parse_with(source, None, &unknown).is_err());
    /// ```
    pub fn parse_with(
        source: &str,
        name: Option<&str>,
        constants: &BTreeMap<String, i32>,
    ) -> Result<Self, String> {
        let program = seriatim_lang::check_with(source, constants)
            .map_err(|error| error.render(source, "spec").replacen("error: ", "", 1))?;
        let names = || program.specs.iter().map(|s| s.name.as_str()).collect::<Vec<_>>().join(", ");
        let info = match (name, &program.specs[..]) {
            (Some(name), specs) => specs.iter().find(|spec| spec.name == name).cloned(),
            (None, [only]) => Some(only.clone()),
            (None, _) => program.spec.clone(),
        };
        let info = info.ok_or_else(|| format!("name one of its specifications: {}", names()))?;
        Self::new(info)
    }

    /// The specification that a program refines, if it has one that has an initial state.
    pub fn of(program: &Program) -> Option<Self> {
        Self::new(program.spec.clone()?).ok()
    }

    /// The specification as one that hears of operations while they happen.
    pub fn live(&self, sample: Sample<'_>) -> SeriLive {
        SeriLive::new(Arc::clone(&self.object), sample)
    }

    fn new(info: SpecInfo) -> Result<Self, String> {
        let object = SeriObject::new(info);
        match object.spec.initial() {
            Ok(_) => Ok(SeriReader { object: Arc::new(object) }),
            Err(stop) => Err(format!("the specification has no initial state: {stop:?}")),
        }
    }
}

impl Reader for SeriReader {
    fn name(&self) -> String {
        self.object.spec.info().name.clone()
    }

    fn defect(&self) -> Option<String> {
        self.object.defect.get().cloned()
    }

    fn read(&self, history: &mut History) -> Result<Interpretation, InputError> {
        self.object.name_items(history);
        let named = self.object.name_texts(|text| history.intern(&Value::text(text)));
        let texts = Arc::new(Texts::of(history, &self.object.spec, &named));
        let own = self.object.with_texts(&named, &texts);
        let mut decoded: Vec<Option<(Invocation, Option<Datum>)>> =
            Vec::with_capacity(history.len());
        for operation in history.operations() {
            if operation.outcome() == Outcome::Failed {
                decoded.push(None);
                continue;
            }
            let (invocation, result) = own.decode(operation, &texts)?;
            // What never returned and changes nothing says nothing.
            let is_silent = result.is_none() && self.object.is_read_only(&invocation, None);
            decoded.push((!is_silent).then_some((invocation, result)));
        }
        let object = SeriHistory {
            object: own,
            values: Arc::clone(history.values()),
            texts: Arc::clone(&texts),
            keys: self.object.keys_of(decoded.iter().flatten().map(|(invocation, _)| invocation)),
            mentions: self.object.mentions(decoded.iter().flatten()),
        };
        if !self.object.nature.is_sparse {
            return Ok(bind(object, decoded));
        }
        let tells =
            |(op, ret): &(Invocation, Option<Datum>)| self.object.nature.told(op.0, ret.as_ref()?);
        match Sparse::new(object, decoded.iter().flatten().map(tells)) {
            Some(sparse) => Ok(bind(sparse, decoded)),
            None => {
                let defect = "its version is sparse and starts below 0, or the log's versions are too far \
                     apart to try them all for operations that tell none";
                let (spec, defect) = (self.name(), defect.to_owned());
                Err(InputError::new(history.source(), 0, Problem::BrokenSpec { spec, defect }))
            }
        }
    }
}

/// A history under an object.
fn bind<S>(object: S, decoded: Vec<Option<(Invocation, Option<Datum>)>>) -> Interpretation
where
    S: Spec<Op = Invocation, Ret = Datum> + 'static,
{
    let mut bound = Bound::new(object);
    let classes = decoded.into_iter().map(|read| read.map(|(op, ret)| bound.class(op, ret)));
    let classes: Vec<_> = classes.collect();
    Interpretation::new(Arc::new(bound), classes)
}

/// An operation that is being read.
#[derive(Clone, Copy)]
struct Reading<'r> {
    operation: Operation<'r>,
    texts: &'r Texts,
}

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
    fn key(&self, id: ValueId, number: Option<i32>) -> Option<i32> {
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

/// A specification of the language as an object of the library.
pub(crate) struct SeriObject {
    pub(crate) spec: seriatim_lang::spec::Spec,
    /// What its text says about its methods.
    nature: Arc<Nature>,
    /// What went wrong inside the specification, if anything did.
    defect: Arc<OnceLock<String>>,
}

/// A method, by number, with its arguments.
pub(crate) type Invocation = (usize, Vec<Datum>);

impl SeriObject {
    fn new(info: SpecInfo) -> Self {
        // `any` in a specification ranges over these; recorded data are not limited by them.
        let bounds = Bounds { values: 3, keys: 3, nodes: None, capacity: None };
        let nature = Arc::new(Nature::of(&info));
        let spec = seriatim_lang::spec::Spec::for_logs(info, bounds);
        SeriObject { spec, nature, defect: Arc::default() }
    }

    /// The texts that the specification names, as a history has them, and whether they are keys.
    pub(crate) fn name_texts(&self, mut id: impl FnMut(&str) -> ValueId) -> Vec<(ValueId, bool)> {
        self.spec.info().facts.texts.iter().map(|text| (id(&text.text), text.is_key)).collect()
    }

    /// Whether the specification names a text as ordered data.
    pub(crate) fn names_keys(&self) -> bool {
        self.spec.info().facts.texts.iter().any(|text| text.is_key)
    }

    /// The specification with the texts that it names as a history has them.
    pub(crate) fn with_texts(
        self: &Arc<Self>,
        named: &[(ValueId, bool)],
        texts: &Texts,
    ) -> Arc<SeriObject> {
        if named.is_empty() {
            return Arc::clone(self);
        }
        let data = named.iter().map(|&(id, is_key)| {
            let key = if is_key { texts.key(id, None) } else { None };
            (Datum::Value(id.0 as i32), key.map_or(Datum::Null, Datum::Key))
        });
        let spec = self.spec.with_texts(data.collect());
        let (nature, defect) = (Arc::clone(&self.nature), Arc::clone(&self.defect));
        Arc::new(SeriObject { spec, nature, defect })
    }

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

    /// What a method may do in a state. A specification that fails there is remembered as wrong.
    pub(crate) fn outcomes(&self, state: &SpecState, op: &Invocation) -> Vec<(SpecState, Datum)> {
        match self.spec.outcomes(state, op.0, &op.1) {
            Ok(found) => found,
            Err(SpecStop::NotEnabled) => Vec::new(),
            Err(SpecStop::Broken(defect)) => {
                self.defect.get_or_init(|| defect);
                Vec::new()
            }
        }
    }

    /// The states after a method with a result, or with any; `None` for the state before. `Err`: the
    /// specification fails there.
    fn after(
        &self,
        state: &SpecState,
        op: &Invocation,
        ret: Option<&Datum>,
    ) -> Result<Next<Option<SpecState>>, String> {
        let mut next = Next::None;
        let found = self.spec.after(state, (op.0, &op.1), ret, |after| next.add(after));
        match found {
            Ok(()) | Err(SpecStop::NotEnabled) => Ok(next),
            Err(SpecStop::Broken(why)) => Err(why),
        }
    }

    pub(crate) fn decode(
        &self,
        operation: Operation<'_>,
        texts: &Texts,
    ) -> Result<(Invocation, Option<Datum>), InputError> {
        let reading = Reading { operation, texts };
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
            let expected = match texts.is_mixed.get() {
                Some(()) => "keys that are all numbers or all texts".to_owned(),
                None => expected,
            };
            refuse(Problem::BadOperation { operation: operation.to_string(), expected })
        };
        let args = arguments(operation, types.len())
            .and_then(|ids| {
                ids.iter().zip(&types).map(|(&id, ty)| self.datum(reading, id, ty)).collect()
            })
            .ok_or_else(|| {
                misfit(format!("{} arguments as `{}` takes", types.len(), function.name))
            })?;
        let result = match operation.outcome() {
            Outcome::Pending => None,
            _ if function.result == Type::Unit => Some(Datum::unit()),
            _ => {
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
        let Reading { operation, texts } = reading;
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
                Some(Datum::List(all(items(operation, id)?, of)?.into()))
            }
            Type::Set(of) => Some(Datum::set(all(items(operation, id)?, of)?)),
            Type::Map(key, value) => {
                let entries = entries_of(values, id)?.into_iter();
                let data = entries.map(|(k, v)| {
                    Some((self.datum(reading, k, key)?, self.datum(reading, v, value)?))
                });
                data.collect::<Option<Vec<_>>>().map(Datum::map)
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
    /// be empty may be left out; one that the record does not have is not accepted.
    fn record(&self, reading: Reading<'_>, id: ValueId, record: &Record) -> Option<Datum> {
        let values = reading.operation.history.values();
        let ids: Vec<ValueId> = match &values.get(id) {
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
        (ids.len() == record.fields.len()).then_some(())?;
        let fields = ids.into_iter().zip(&record.fields);
        let parts = fields.map(|(id, (_, ty))| self.datum(reading, id, ty));
        parts.collect::<Option<Vec<_>>>().map(|parts| Datum::Tuple(parts.into()))
    }
}

impl SeriObject {
    /// Whether its version also rises by itself.
    pub(crate) fn is_sparse(&self) -> bool {
        self.nature.is_sparse
    }

    pub(crate) fn initial(&self) -> SpecState {
        self.spec.initial().expect("it was tried when the specification was read")
    }

    pub(crate) fn is_read_only(&self, op: &Invocation, ret: Option<&Datum>) -> bool {
        self.nature.leaves_unchanged(op.0, ret)
    }

    pub(crate) fn key(&self, op: &Invocation) -> Option<u64> {
        self.nature.key(op.0).map(|parameter| key_of(&op.1[parameter]))
    }

    /// All keys that some operations name, ascending, those aside that only list entries; `None` if
    /// one of them may act on others.
    fn keys_of<'a>(&self, all: impl Iterator<Item = &'a Invocation>) -> Option<Vec<Datum>> {
        let mut keys: BTreeSet<&Datum> = BTreeSet::new();
        for (method, args) in all.filter(|op| self.nature.lists(op.0).is_none()) {
            keys.extend(self.nature.entries(*method, args)?);
        }
        Some(keys.into_iter().cloned().collect())
    }

    /// All numbers that some operations and the text name, if no more is done with a version that is
    /// sparse than to copy and compare it.
    fn mentions<'a>(
        &self,
        all: impl Iterator<Item = &'a (Invocation, Option<Datum>)>,
    ) -> Option<Vec<u64>> {
        let mut numbers = self.nature.literals.clone().filter(|_| self.nature.is_sparse)?;
        for ((_, args), result) in all {
            args.iter().chain(result).for_each(|datum| {
                datum.numbers(&mut |number| numbers.push(number));
            });
        }
        numbers.sort_unstable();
        numbers.dedup();
        Some(numbers.into_iter().filter_map(|number| u64::try_from(number).ok()).collect())
    }

    /// Why the method cannot return that.
    pub(crate) fn explain(
        &self,
        words: &Words<'_>,
        state: &SpecState,
        op: &Invocation,
        ret: Option<&Datum>,
    ) -> String {
        let method = &self.spec.info().methods[op.0];
        let name = &method.name;
        let shown = |result: &Datum| words.of(self.spec.info(), &method.result, result);
        let outcomes = self.outcomes(state, op);
        let allowed: Vec<String> = outcomes.iter().map(|(_, result)| shown(result)).collect();
        match (ret, &allowed[..]) {
            (_, []) => format!("{name} is not enabled"),
            (Some(ret), _) => {
                let (ret, allowed) = (shown(ret), allowed.join(" or "));
                format!("{name} cannot return {ret}: it would return {allowed}")
            }
            (None, _) => format!("{name} is impossible"),
        }
    }
}

/// A specification of the language for one history, whose values it can show.
struct SeriHistory {
    object: Arc<SeriObject>,
    values: Arc<Values>,
    texts: Arc<Texts>,
    /// All keys that operations name, ascending; `None` if some operation may act on others.
    keys: Option<Vec<Datum>>,
    /// All numbers that operations and the text name, if the version is only copied and compared.
    mentions: Option<Vec<u64>>,
}

impl SeriHistory {
    fn words(&self) -> Words<'_> {
        Words { values: &self.values, texts: &self.texts }
    }
}

impl Spec for SeriHistory {
    type State = SpecState;
    type Op = Invocation;
    type Ret = Datum;

    fn initial(&self) -> SpecState {
        self.object.initial()
    }

    fn step(&self, state: &SpecState, op: &Invocation, ret: Option<&Datum>) -> Next<SpecState> {
        match self.object.after(state, op, ret) {
            Ok(next) => next.map(|after| after.unwrap_or_else(|| state.clone())),
            Err(defect) => {
                self.object.defect.get_or_init(|| defect);
                Next::None
            }
        }
    }

    fn is_read_only(&self, op: &Invocation, ret: Option<&Datum>) -> bool {
        self.object.is_read_only(op, ret)
    }

    fn key(&self, op: &Invocation) -> Option<u64> {
        self.object.key(op)
    }

    fn commute(&self, a: &Invocation, b: &Invocation) -> bool {
        let nature = &self.object.nature;
        let both_read = self.is_read_only(a, None) && self.is_read_only(b, None);
        let are_apart = || match (nature.entries(a.0, &a.1), nature.entries(b.0, &b.1)) {
            (Some(a), Some(b)) => !a.iter().any(|entry| b.contains(entry)),
            _ => false,
        };
        both_read || nature.version.is_none() && are_apart()
    }

    fn versions(&self) -> Option<VersionsOf<'_, Self>> {
        let version = self.object.nature.version?;
        let start = self.initial();
        matches!(start[version.0 as usize], Datum::Int(0..)).then_some(self as _)
    }

    fn explain(&self, state: &SpecState, op: &Invocation, ret: Option<&Datum>) -> String {
        self.object.explain(&self.words(), state, op, ret)
    }

    fn show(&self, state: &SpecState) -> String {
        let info = self.object.spec.info();
        let shown = info.vars.iter().zip(state).map(|(var, value)| {
            format!("{} = {}", var.name, self.words().of(info, &var.ty, value))
        });
        shown.collect::<Vec<_>>().join(", ")
    }
}

impl Versions<SpecState, Invocation, Datum> for SeriHistory {
    fn version(&self, op: &Invocation, ret: &Datum) -> Option<Version> {
        self.object.nature.told(op.0, ret)
    }

    fn version_of(&self, state: &SpecState) -> u64 {
        let version = self.object.nature.version.map_or(0, |version| version.0 as usize);
        match state[version] {
            Datum::Int(number) => number as u64,
            _ => 0,
        }
    }

    fn trial(
        &self,
        state: &SpecState,
        op: &Invocation,
        ret: Option<&Datum>,
    ) -> Result<Next<SpecState>, String> {
        Ok(self.effects(state, op, ret)?.map(|after| after.unwrap_or_else(|| state.clone())))
    }

    fn effects(
        &self,
        state: &SpecState,
        op: &Invocation,
        ret: Option<&Datum>,
    ) -> Result<Next<Option<SpecState>>, String> {
        self.object.after(state, op, ret)
    }

    fn at_version(&self, mut state: SpecState, version: u64) -> SpecState {
        if let Some(var) = self.object.nature.version {
            state[var.0 as usize] = Datum::Int(version as i64);
        }
        state
    }

    fn mentions(&self) -> Option<&[u64]> {
        self.mentions.as_deref()
    }

    fn keys(&self, op: &Invocation) -> Option<Vec<u64>> {
        Some(self.object.nature.entries(op.0, &op.1)?.into_iter().map(key_of).collect())
    }

    fn split(&self, op: &Invocation, ret: &Datum) -> Option<Vec<(Invocation, Datum)>> {
        let pieces = self.object.nature.lists(op.0)?.split(&op.1, ret, self.keys.as_ref()?)?;
        Some(pieces.into_iter().map(|(args, ret)| ((op.0, args), ret)).collect())
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

/// The items of a list.
fn items(operation: Operation<'_>, list: ValueId) -> Option<Vec<ValueId>> {
    let values = operation.history.values();
    values.get(list).as_list()?.iter().map(|item| values.find(item)).collect()
}

/// The parts of a list, the keys and the values of a map.
fn parts(whole: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
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

/// The history of a run of an algorithm, as any other history.
///
/// ```
/// let history = seriatim_verify::history_of(&[], "run").unwrap();
/// assert!(history.is_empty());
/// ```
pub fn history_of(events: &[Event], name: &str) -> Result<History, InputError> {
    let history = events.iter().map(event).collect();
    Run { history, ..Run::default() }.history(name)
}
