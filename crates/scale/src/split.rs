//! Which part of the object an operation belongs to, inferred from the operation alone.
//!
//! *Which theorem.* Locality (Herlihy & Wing 1990) and P-compositionality (Horn & Kroening 2015):
//! the operations of one object, and of one key of an object whose keys are independent, are
//! decided by themselves. The specification says what the key of an operation is ([`Spec::key`]);
//! here we find out *where it stands* (apart, as the argument, as the argument's first item), so
//! that the value itself can be hashed: the same key has the same hash in every process and every
//! run.
//!
//! *How.* An operation is shown to the specification, and the place of its key is the one whose
//! value has the key that the specification gives. If there is none, the object is not split by
//! key. One operation without key (`size` of a map) forbids it for the whole log. Where the log is
//! not split by key, nothing is asked: every operation belongs to its object, whatever it means.
//!
//! *What is remembered.* Where the key of a *built-in* specification stands depends on the method,
//! on whether a key is told apart, and on the shapes of the argument and the result: the `Kind`.
//! That, and only that, is remembered by kind. Whether an operation did not happen or says nothing
//! depends on its values too (`add 0` that never returned), so it is asked anew each time, and so
//! is everything about a specification that is not built in.
//!
//! *What would make it unsound.* A built-in specification whose key stands in different places of
//! two operations of the same kind. A test goes through all methods of all of them with odd values.
//!
//! [`Spec::key`]: seriatim_spec::Spec::key

use crate::judge::SharedReader;
use crate::record::{StreamedOperation, put_id};
use seriatim_history::{
    Builder, Call, Conventions, History, InputError, Interval, OpId, Outcome, Return, Value,
    ValueId, Values,
};
use seriatim_spec::{Reader, key_of};

/// The hash of a part. Parts whose hashes are equal are decided together, which is as right.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct PartHash(pub u64);

impl PartHash {
    /// The hash of the bytes of a part. (FNV-1a, then stirred so that every bit depends on all.)
    pub fn of(bytes: &[u8]) -> Self {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for &byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        PartHash(stirred(hash))
    }

    /// Which of `count` shards the part belongs to.
    pub fn shard(self, count: u32) -> u32 {
        ((u128::from(self.0) * u128::from(count)) >> 64) as u32
    }

    /// Which of `count` buckets the part belongs to; levels spread differently.
    pub fn bucket(self, level: u32, count: usize) -> usize {
        let hash = stirred(self.0 ^ (u64::from(level) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        ((u128::from(hash) * count as u128) >> 64) as usize
    }
}

/// A hash of which every bit depends on every bit of another.
pub(crate) fn stirred(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ (hash >> 33)
}

/// How finely a log is split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Splitting {
    /// By object and key.
    ByKey,
    /// By object.
    ByObject,
    /// Not at all.
    Whole,
}

/// Specifications that look at the whole history when they read one object of it, so that not even
/// its objects may be read apart.
const LOOK_AT_ALL: &[&str] = &["counter", "fetch-and-add", "log", "snapshot"];

impl Splitting {
    /// How a log is split whose operations do not all have keys.
    pub fn by_object(reader: &dyn Reader) -> Self {
        let looks = |name: &str| LOOK_AT_ALL.contains(&name);
        match reader.chosen().is_some_and(|chosen| looks(chosen.choice.name())) {
            true => Splitting::Whole,
            false => Splitting::ByObject,
        }
    }
}

/// Where an operation of some kind has its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Apart,
    Argument,
    FirstOfArgument,
    Nowhere,
    /// It did not happen: it belongs to no part.
    Dropped,
}

/// The part of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Membership {
    /// It belongs to this part.
    Of(PartHash),
    /// The specification says that it did not happen, or that it says nothing.
    Dropped,
    /// It has no key, so the log must not be split by key.
    NoKey,
}

/// Tells the parts of operations apart.
#[derive(Clone)]
pub struct Splitter {
    reader: SharedReader,
    splitting: Splitting,
    conventions: Conventions,
    methods: Vec<Box<str>>,
    /// Where the key of a kind stands, for the kinds of which that is known for certain.
    kinds: Vec<(Kind, Place)>,
    bytes: Vec<u8>,
}

impl Splitter {
    /// A splitter for a log whose results are read in this way.
    pub fn new(reader: SharedReader, splitting: Splitting, conventions: Conventions) -> Self {
        let (methods, kinds, bytes) = (Vec::new(), Vec::new(), Vec::new());
        Splitter { reader, splitting, conventions, methods, kinds, bytes }
    }

    /// The part of an operation; an error if the specification cannot read it.
    pub fn part(
        &mut self,
        told: &StreamedOperation<'_>,
        source: &str,
    ) -> Result<Membership, InputError> {
        let place = match self.splitting {
            Splitting::Whole => return Ok(Membership::Of(PartHash::of(&[]))),
            Splitting::ByObject => None,
            Splitting::ByKey => Some(self.place(told, source)?),
        };
        self.bytes.clear();
        put_id(&mut self.bytes, told.values, told.call.object);
        match place {
            None => put_id(&mut self.bytes, told.values, ValueId::ABSENT),
            Some(Place::Apart) => put_id(&mut self.bytes, told.values, told.call.key),
            Some(Place::Argument) => put_id(&mut self.bytes, told.values, told.call.arg),
            Some(Place::FirstOfArgument) => {
                put_first(&mut self.bytes, told.values, told.call.arg);
            }
            Some(Place::Nowhere) => return Ok(Membership::NoKey),
            Some(Place::Dropped) => return Ok(Membership::Dropped),
        }
        Ok(Membership::Of(PartHash::of(&self.bytes)))
    }

    /// What the operations of the part have in common, for people; empty where nothing is split.
    pub fn label(&mut self, told: &StreamedOperation<'_>, source: &str) -> String {
        let mut names = Vec::new();
        if told.call.object.is_present() && self.splitting != Splitting::Whole {
            names.push(format!("object {}", told.values.get(told.call.object)));
        }
        let place = match self.splitting {
            Splitting::ByKey => self.place(told, source).unwrap_or(Place::Nowhere),
            Splitting::ByObject | Splitting::Whole => Place::Nowhere,
        };
        let key = match place {
            Place::Apart => Some(told.values.get(told.call.key)),
            Place::Argument => Some(told.values.get(told.call.arg)),
            Place::FirstOfArgument => {
                told.values.get(told.call.arg).as_list().and_then(|items| items.first().cloned())
            }
            Place::Nowhere | Place::Dropped => None,
        };
        names.extend(key.map(|key| format!("key {key}")));
        names.join(", ")
    }

    fn place(&mut self, told: &StreamedOperation<'_>, source: &str) -> Result<Place, InputError> {
        let method = match self.methods.iter().position(|name| **name == *told.method) {
            Some(known) => known,
            None => {
                self.methods.push(told.method.into());
                self.methods.len() - 1
            }
        };
        let kind = Kind::of(method, told);
        if let Some(&(_, place)) = self.kinds.iter().find(|(known, _)| *known == kind) {
            return Ok(place);
        }
        let (place, certainty) = self.ask(told, source)?;
        if self.reader.chosen().is_some() && self.kinds.len() < MOST_KINDS {
            let rule = match certainty {
                Certainty::OfKind => Some(place),
                Certainty::ByChance => self.ask_of_kind(told, source, (method, kind)),
                Certainty::Here => None,
            };
            // Another place than here would be no rule of the kind.
            let rule = rule.filter(|rule| *rule == place);
            self.kinds.extend(rule.map(|place| (kind, place)));
        }
        Ok(place)
    }

    /// Where the key of a kind stands, told by another operation of the kind: one whose argument is
    /// not by chance its key. A log of nothing but such chances would be asked about every time.
    fn ask_of_kind(
        &self,
        told: &StreamedOperation<'_>,
        source: &str,
        (method, kind): (usize, Kind),
    ) -> Option<Place> {
        let arg = ValueId::inline_int(told.call.arg.as_inline_int()? ^ 1)?;
        let other = StreamedOperation { call: Call { arg, ..told.call }, ..*told };
        let is_of_kind = Kind::of(method, &other) == kind;
        match is_of_kind.then(|| self.ask(&other, source))? {
            Ok((place, Certainty::OfKind)) => Some(place),
            _ => None,
        }
    }

    /// Shows an operation to the specification.
    fn ask(
        &self,
        told: &StreamedOperation<'_>,
        source: &str,
    ) -> Result<(Place, Certainty), InputError> {
        let mut history = alone(told, source, self.conventions)?;
        let op = OpId(0);
        let reading = self.reader.read(&mut history)?;
        let Some(class) = reading.class(op) else {
            return Ok((Place::Dropped, Certainty::Here));
        };
        let Some(key) = reading.alphabet.key(class) else {
            return Ok((Place::Nowhere, Certainty::Here));
        };
        let first = match history.items(history.arg(op)) {
            Some(items) => items.first().copied().unwrap_or(ValueId::ABSENT),
            None => ValueId::ABSENT,
        };
        let candidates = [
            (Place::Apart, history.key(op)),
            (Place::Argument, history.arg(op)),
            (Place::FirstOfArgument, first),
        ];
        let fits = |&&(_, id): &&(Place, ValueId)| id.is_present() && key_of(&id) == key;
        let fitting: Vec<Place> = candidates.iter().filter(fits).map(|&(place, _)| place).collect();
        Ok(match fitting[..] {
            [] => (Place::Nowhere, Certainty::Here),
            [only] => (only, Certainty::OfKind),
            // The key happens to be the argument too: right here, but no rule for others.
            [first, ..] => (first, Certainty::ByChance),
        })
    }
}

/// How many kinds are remembered: lists of every length are a kind each.
const MOST_KINDS: usize = 64;

/// How far an answer reaches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Certainty {
    /// To all operations of the kind, if the specification is a built-in one.
    OfKind,
    /// To this operation, whose key stands in several places.
    ByChance,
    /// To this operation.
    Here,
}

/// The history of one operation.
fn alone(
    told: &StreamedOperation<'_>,
    source: &str,
    conventions: Conventions,
) -> Result<History, InputError> {
    let mut builder = Builder::new(source);
    builder.follow(conventions);
    push(&mut builder, told)?;
    builder.finish()
}

/// Puts an operation into a history.
fn push(builder: &mut Builder, told: &StreamedOperation<'_>) -> Result<OpId, InputError> {
    let method = builder.method(told.method);
    let process = told.caller.map(|caller| builder.process(caller));
    let mut copy = |id: ValueId| match id.is_present() {
        true => builder.values().intern(&told.values.get(id)),
        false => id,
    };
    let (object, key, arg) = (copy(told.call.object), copy(told.call.key), copy(told.call.arg));
    let ret = Return::new(told.outcome, copy(told.result));
    let call = Call { object, key, arg, ..Call::new(method) };
    let interval = Interval {
        ret: told.interval.ret.filter(|_| told.outcome != Outcome::Pending),
        ..told.interval
    };
    builder.operation(told.line, process, call, interval, ret)
}

/// Appends the first item of a list.
fn put_first(out: &mut Vec<u8>, values: &Values, list: ValueId) {
    match values.as_pair(list) {
        Some((first, _)) => put_id(out, values, first),
        None => {
            let list = values.get(list);
            let first = list.as_list().and_then(<[Value]>::first);
            crate::record::put_value(out, first.unwrap_or(&Value::Nil));
        }
    }
}

/// What decides where the key of an operation stands, for built-in specifications.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kind {
    method: usize,
    outcome: Outcome,
    has_key: bool,
    arg: Shape,
    result: Shape,
}

/// What a value looks like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Absent,
    Nil,
    True,
    False,
    Echo,
    Number,
    Negative,
    EmptyText,
    Ok,
    Text,
    List(usize),
    Other,
}

impl Kind {
    #[inline]
    fn of(method: usize, told: &StreamedOperation<'_>) -> Self {
        let (arg, result) = (told.call.arg, told.result);
        let echoes = arg == result && arg.is_present();
        Kind {
            method,
            outcome: told.outcome,
            has_key: told.call.key.is_present(),
            arg: Shape::of(told.values, arg),
            result: if echoes { Shape::Echo } else { Shape::of(told.values, result) },
        }
    }
}

impl Shape {
    #[inline]
    fn of(values: &Values, id: ValueId) -> Self {
        match id {
            ValueId::ABSENT => Shape::Absent,
            ValueId::NIL => Shape::Nil,
            ValueId::TRUE => Shape::True,
            ValueId::FALSE => Shape::False,
            id => match id.as_inline_int() {
                Some(0..) => Shape::Number,
                Some(_) => Shape::Negative,
                None => Shape::of_other(values, id),
            },
        }
    }

    fn of_other(values: &Values, id: ValueId) -> Self {
        match values.as_str(id) {
            Some("") => Shape::EmptyText,
            Some(word) if word.eq_ignore_ascii_case("ok") => Shape::Ok,
            Some(_) => Shape::Text,
            None if values.as_pair(id).is_some() => Shape::List(2),
            None => match values.get(id) {
                Value::List(items) => Shape::List(items.len()),
                Value::Int(number) if number < 0 => Shape::Negative,
                Value::Int(_) => Shape::Number,
                _ => Shape::Other,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_spec::{ChosenReader, Failures, SpecChoice, catalogue};
    use std::sync::Arc;

    /// Values that specifications tell apart, some of the same shape.
    fn odd_values() -> Vec<Option<Value>> {
        let list = |items: &[i64]| Value::List(items.iter().map(|&n| Value::Int(n)).collect());
        let texts = ["", "ok", "a", "b"].map(Value::text);
        let numbers = [0, 1, 2, -1, i64::MAX].map(Value::Int);
        let mut values = vec![None, Some(Value::Nil), Some(Value::Bool(true))];
        values.extend(numbers.into_iter().chain(texts).map(Some));
        values.extend([list(&[0, 0]), list(&[1, 2]), list(&[2, 1]), list(&[1])].map(Some));
        values
    }

    #[test]
    fn what_one_operation_taught_is_never_wrong_for_another() {
        let (values, mut seen) = (odd_values(), 0);
        for entry in catalogue() {
            for failures in [Failures::Drop, Failures::Observe] {
                let choice = SpecChoice::parse(entry.name).unwrap();
                let reader: SharedReader = Arc::new(ChosenReader { choice, failures });
                let fresh =
                    || Splitter::new(Arc::clone(&reader), Splitting::ByKey, Conventions::default());
                let mut taught = fresh();
                let mut store = Values::default();
                let mut intern = |value: &Option<Value>| match value {
                    Some(value) => store.intern(value),
                    None => ValueId::ABSENT,
                };
                let ids: Vec<ValueId> = values.iter().map(&mut intern).collect();
                let keys = [ValueId::ABSENT, ids[4], ids[10]];
                for method in entry.methods.iter().map(|method| method.names[0]) {
                    for (&key, &arg) in keys.iter().flat_map(|k| ids.iter().map(move |a| (k, a))) {
                        for (outcome, ret) in [
                            (Outcome::Pending, None),
                            (Outcome::Ok, Some(2)),
                            (Outcome::Failed, Some(2)),
                        ] {
                            let results = if ret.is_some() { &ids[..] } else { &ids[..1] };
                            for &result in results.iter().step_by(2) {
                                let told = StreamedOperation {
                                    file: 0,
                                    line: 1,
                                    caller: None,
                                    method,
                                    call: Call {
                                        key,
                                        arg,
                                        ..Call::new(seriatim_history::MethodId(0))
                                    },
                                    interval: Interval { call: 1, ret },
                                    outcome,
                                    result,
                                    values: &store,
                                };
                                let alone = fresh().part(&told, "log").ok();
                                // An unreadable operation is refused by whoever decides its part.
                                let Some(alone) = alone else { continue };
                                assert_eq!(
                                    taught.part(&told, "log").ok(),
                                    Some(alone),
                                    "{} {method}",
                                    entry.name
                                );
                                seen += 1;
                            }
                        }
                    }
                }
            }
        }
        assert!(seen > 10_000, "only {seen} operations");
    }

    #[test]
    fn a_rule_is_learnt_although_every_argument_is_the_key_by_chance() {
        let choice = SpecChoice::parse("map").unwrap();
        let reader: SharedReader = Arc::new(ChosenReader { choice, failures: Failures::Drop });
        let mut splitter = Splitter::new(reader, Splitting::ByKey, Conventions::default());
        let (seven, values) = (ValueId::inline_int(7).unwrap(), Values::default());
        let put = StreamedOperation {
            file: 0,
            line: 1,
            caller: None,
            method: "put",
            call: Call { key: seven, arg: seven, ..Call::new(seriatim_history::MethodId(0)) },
            interval: Interval { call: 1, ret: Some(2) },
            outcome: Outcome::Ok,
            result: ValueId::ABSENT,
            values: &values,
        };
        splitter.part(&put, "log").unwrap();
        assert_eq!(splitter.kinds.iter().map(|kind| kind.1).collect::<Vec<_>>(), [Place::Apart]);
    }

    #[test]
    fn shards_and_buckets_are_even_and_independent_of_each_other() {
        let mut shards = [0u32; 4];
        let mut buckets = [0u32; 16];
        for key in 0..40_000u32 {
            let hash = PartHash::of(&key.to_le_bytes());
            shards[hash.shard(4) as usize] += 1;
            if hash.shard(4) == 2 {
                buckets[hash.bucket(0, 16)] += 1;
                assert!(hash.bucket(0, 16) < 16 && hash.bucket(7, 3) < 3);
            }
        }
        assert!(shards.iter().all(|&count| (9_500..10_500).contains(&count)), "{shards:?}");
        assert!(buckets.iter().all(|&count| (500..750).contains(&count)), "{buckets:?}");
    }
}
