//! Set: `insert`, `remove`, `contains`, each answering true or false. Also online.
//!
//! **Decides** whether a history of a set is linearizable, keys coming and going as often as they
//! like.
//!
//! **Theorem.** A set is as many independent flags as it has keys, and linearizability is local:
//! see `flag` for one key. A failed insertion has seen its key present, a failed removal has seen
//! it absent.
//!
//! **How.** A key on which nothing is open is one bit. Only keys with open operations have more.
//!
//! **Cost.** O(1) an event (plus the operations open on its key), O(n) for all; memory: the
//! operations open and a bit a key.
//!
//! **Precondition.** None. An operation that never returned may or may not have happened.

use crate::fast::objects::flag::{Flag, Impossible, Moment, Side};
use crate::fast::objects::set_sweep::{self, Found};
use crate::fast::online::trace::{Forget, Keep, Trace};
use crate::fast::online::{Called, Online, Returned, Stop, rename_keys};
use crate::fast::shrink::shrink;
use crate::fast::violation::counterexample_until;
use crate::fast::{Declined, Part};
use hashbrown::{HashMap, HashSet};
use seriatim_history::{Event, History, Horizon, MethodId, OpId, Outcome, ValueId};
use seriatim_limits::InOrder;
use seriatim_spec::{Claim, Witness, names};

/// Decides a part of a set's history.
pub fn check(part: Part<'_>) -> Result<Claim, Declined> {
    decide(part, &DIALECT)
}

const DIALECT: Dialect = Dialect {
    insert: &[names("set", "add")],
    remove: names("set", "remove"),
    contains: names("set", "contains"),
    keys: KeyRule::Argument,
    explain: |operation, key, presence| match presence {
        Presence::Present => {
            format!("{operation} found {key} in the set, but at no moment of it {key} was inside")
        }
        Presence::Absent => {
            format!("{operation} did not find {key} in the set, but {key} was inside all the time")
        }
    },
};

/// How a history speaks of keys that come and go.
pub(in crate::fast) struct Dialect {
    /// The names of the operations that insert, operation by operation.
    pub insert: &'static [&'static [&'static str]],
    pub remove: &'static [&'static str],
    pub contains: &'static [&'static str],
    pub keys: KeyRule,
    /// Why an operation that found its key present, or absent, is wrong.
    pub explain: fn(String, String, Presence) -> String,
}

/// Which key an operation acts on, and what it answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fast) enum KeyRule {
    /// Its argument; it answers true or false.
    Argument,
    /// There is one only; an answer other than true or false means true.
    One,
}

/// What an operation found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fast) enum Presence {
    Present,
    Absent,
}

/// Decides a part of a history of keys that come and go.
pub(in crate::fast) fn decide(part: Part<'_>, dialect: &Dialect) -> Result<Claim, Declined> {
    let reader = Reader::new(part.history, dialect);
    match set_sweep::order(&part, &reader)? {
        Found::Order(order) => return Ok(Claim::Linearizable(Witness { order })),
        Found::None(Some(key)) => {
            let on_key = |op: &OpId| part.history.arg(*op) == key;
            let operations: Vec<OpId> = part.operations().filter(on_key).collect();
            let on_key = Part::of(part.history, &operations);
            if let Some(op) = run(&mut Keys::new(Forget), on_key, dialect)? {
                return Ok(violation(on_key, dialect, op));
            }
        }
        Found::None(None) => {}
    }
    let mut set = Keys::new(Keep::with_capacity(part.len()));
    match run(&mut set, part, dialect)? {
        None => {
            let order = set.finish().into_order();
            Ok(Claim::Linearizable(Witness { order }))
        }
        Some(op) => Ok(violation(part, dialect, op)),
    }
}

/// What an operation does to its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fast) enum Method {
    Insert,
    Remove,
    Contains,
}

impl Method {
    /// The operation is called on its key.
    pub(in crate::fast) fn call(self, key: &mut Flag, op: OpId, now: Moment) {
        match self {
            Method::Insert => key.call(Side::Up, op, now),
            Method::Remove => key.call(Side::Down, op, now),
            Method::Contains => key.call_query(op, now),
        }
    }

    /// The operation returns from its key.
    pub(in crate::fast) fn ret(
        self,
        key: &mut Flag,
        success: bool,
        op: OpId,
        now: Moment,
        trace: &mut impl Trace,
    ) -> Result<(), Impossible> {
        match (self, success) {
            (Method::Insert, true) => key.moved(Side::Up, op, now, trace),
            (Method::Insert, false) => key.failed(Side::Up, op, now, trace),
            (Method::Remove, true) => key.moved(Side::Down, op, now, trace),
            (Method::Remove, false) => key.failed(Side::Down, op, now, trace),
            (Method::Contains, true) => key.looked(Side::Up, op, now, trace),
            (Method::Contains, false) => key.looked(Side::Down, op, now, trace),
        }
    }
}

impl Dialect {
    fn method(&self, name: &str) -> Option<Method> {
        let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        if self.insert.iter().any(|names| is(names)) {
            Some(Method::Insert)
        } else if is(self.remove) {
            Some(Method::Remove)
        } else {
            is(self.contains).then_some(Method::Contains)
        }
    }

    /// The key that an argument names.
    fn key(&self, arg: ValueId) -> Option<ValueId> {
        match self.keys {
            KeyRule::One => Some(ValueId::NIL),
            KeyRule::Argument => Some(arg).filter(|arg| arg.is_present()),
        }
    }

    /// Whether an operation succeeded; one on the only key may say so by saying nothing.
    fn success(&self, result: ValueId) -> Option<bool> {
        match (self.keys, result) {
            (KeyRule::One, ValueId::ABSENT | ValueId::NIL) => Some(true),
            (_, result) => result.as_bool(),
        }
    }

    /// Whether an operation of this name must say whether it succeeded.
    fn must_tell(&self, name: &str) -> bool {
        let asks = self.contains.iter().any(|known| known.eq_ignore_ascii_case(name));
        asks || name.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("try"))
    }
}

/// The keys that are present, one bit each where the ids are small.
#[derive(Clone, Debug, Default)]
struct Present {
    bits: Vec<u64>,
    others: HashSet<ValueId>,
}

/// Ids below this have a bit.
const SMALL: u32 = 1 << 27;

impl Present {
    fn get(&self, key: ValueId) -> Side {
        let present = match key.0 < SMALL {
            true => {
                self.bits.get(key.0 as usize >> 6).is_some_and(|word| word >> (key.0 & 63) & 1 == 1)
            }
            false => self.others.contains(&key),
        };
        if present { Side::Up } else { Side::Down }
    }

    fn set(&mut self, key: ValueId, side: Side) {
        if key.0 >= SMALL {
            match side {
                Side::Up => self.others.insert(key),
                Side::Down => self.others.remove(&key),
            };
            return;
        }
        let (word, bit) = (key.0 as usize >> 6, 1 << (key.0 & 63));
        if word >= self.bits.len() {
            self.bits.resize(word + 1, 0);
        }
        match side {
            Side::Up => self.bits[word] |= bit,
            Side::Down => self.bits[word] &= !bit,
        }
    }

    /// Gives the keys that are present new ids.
    fn rename(&mut self, new_id: &mut dyn FnMut(ValueId) -> ValueId) {
        let mut old: Vec<ValueId> = self.others.drain().collect();
        for (word, bits) in self.bits.iter_mut().enumerate() {
            // Integers are their own ids, which are odd.
            let mut interned = *bits & 0x5555_5555_5555_5555;
            *bits &= !interned;
            while interned != 0 {
                old.push(ValueId((word as u32) << 6 | interned.trailing_zeros()));
                interned &= interned - 1;
            }
        }
        for key in old {
            self.set(new_id(key), Side::Up);
        }
    }
}

/// All keys of a set.
struct Keys<T> {
    trace: T,
    present: Present,
    active: HashMap<ValueId, u32>,
    flags: Vec<Flag>,
    idle: Vec<u32>,
    now: Moment,
}

impl<T: Trace> Keys<T> {
    fn new(trace: T) -> Self {
        Keys {
            trace,
            present: Present::default(),
            active: HashMap::new(),
            flags: Vec::new(),
            idle: Vec::new(),
            now: 0,
        }
    }

    fn call(&mut self, op: OpId, method: Method, key: ValueId) {
        self.now += 1;
        let (present, flags, idle) = (&self.present, &mut self.flags, &mut self.idle);
        let index = *self.active.entry(key).or_insert_with(|| {
            let state = present.get(key);
            match idle.pop() {
                Some(index) => {
                    flags[index as usize].reset(state);
                    index
                }
                None => {
                    flags.push(Flag::new(state));
                    flags.len() as u32 - 1
                }
            }
        });
        method.call(&mut self.flags[index as usize], op, self.now);
    }

    fn ret(
        &mut self,
        op: OpId,
        method: Method,
        key: ValueId,
        result: bool,
    ) -> Result<(), Impossible> {
        self.now += 1;
        let Some(&index) = self.active.get(&key) else {
            return Ok(());
        };
        let flag = &mut self.flags[index as usize];
        method.ret(flag, result, op, self.now, &mut self.trace)?;
        if flag.is_idle() {
            self.present.set(key, flag.state());
            self.active.remove(&key);
            self.idle.push(index);
        }
        Ok(())
    }

    fn finish(mut self) -> T {
        for &index in self.active.values() {
            self.flags[index as usize].close(&mut self.trace);
        }
        self.trace
    }
}

/// What the recorded operations mean in a dialect.
pub(in crate::fast) struct Reader<'h> {
    history: &'h History,
    dialect: &'h Dialect,
    methods: Vec<Option<Method>>,
}

impl<'h> Reader<'h> {
    pub(in crate::fast) fn new(history: &'h History, dialect: &'h Dialect) -> Self {
        let names = (0..history.method_count()).map(|id| history.method_name(MethodId::from(id)));
        Reader { history, dialect, methods: names.map(|name| dialect.method(name)).collect() }
    }

    /// The method and the key of an operation; `None` if it did not happen or says nothing.
    #[inline]
    pub(in crate::fast) fn what(&self, op: OpId) -> Result<Option<(Method, ValueId)>, Declined> {
        let Some(method) = self.methods[self.history.method(op).index()] else {
            let method = self.history.operation(op).method().to_owned();
            return Err(Declined::UnknownMethod { method });
        };
        let Some(key) = self.dialect.key(self.history.arg(op)) else {
            return Err(self.unreadable(op, "a key as argument"));
        };
        let silent = match self.history.outcome(op) {
            Outcome::Ok => false,
            Outcome::Failed => true,
            Outcome::Pending => method == Method::Contains,
        };
        Ok((!silent).then_some((method, key)))
    }

    /// What an operation of a method that returned a result does; `None` if that is not known.
    pub(in crate::fast) fn effect(
        &self,
        method: MethodId,
        result: ValueId,
    ) -> Option<(Method, bool)> {
        let is_silent = self.dialect.keys == KeyRule::One && result.as_bool().is_none();
        if is_silent && self.dialect.must_tell(self.history.method_name(method)) {
            return None;
        }
        self.methods[method.index()].zip(self.dialect.success(result))
    }

    /// Whether the key of an operation is its argument.
    pub(in crate::fast) fn keys_are_arguments(&self) -> bool {
        self.dialect.keys == KeyRule::Argument
    }

    #[inline]
    pub(in crate::fast) fn success(&self, op: OpId) -> Result<bool, Declined> {
        let result = self.history.result(op);
        let is_silent = self.dialect.keys == KeyRule::One && result.as_bool().is_none();
        let name = || self.history.method_name(self.history.method(op));
        self.dialect
            .success(result)
            .filter(|_| !is_silent || !self.dialect.must_tell(name()))
            .ok_or_else(|| self.unreadable(op, "true or false as result"))
    }

    fn unreadable(&self, op: OpId, expected: &'static str) -> Declined {
        Declined::Unreadable { operation: self.history.operation(op).to_string(), expected }
    }
}

/// Runs all events; gives the operation whose return is wrong.
fn run<T: Trace>(
    set: &mut Keys<T>,
    part: Part<'_>,
    dialect: &Dialect,
) -> Result<Option<OpId>, Declined> {
    let reader = Reader::new(part.history, dialect);
    for event in part.events() {
        let (Event::Call(op) | Event::Return(op)) = event;
        let Some((method, key)) = reader.what(op)? else {
            continue;
        };
        if let Event::Call(op) = event {
            set.call(op, method, key);
        } else if set.ret(op, method, key, reader.success(op)?).is_err() {
            return Ok(Some(op));
        }
    }
    Ok(None)
}

/// The violation at the return of an operation: the operations on its key since nothing was open on
/// it, with an insertion before them if the key was present then, without the queries that do not
/// matter.
fn violation(part: Part<'_>, dialect: &Dialect, wrong: OpId) -> Claim {
    let history = part.history;
    let reader = Reader::new(history, dialect);
    let until = history.ret(wrong).unwrap_or(0);
    let returned = |op: OpId| history.ret(op).filter(|&ret| ret <= until);
    let moves = |op: OpId| match reader.what(op) {
        Ok(Some((Method::Contains, _)) | None) | Err(_) => None,
        Ok(Some((method, _))) => match returned(op) {
            Some(_) => reader.success(op).ok()?.then_some(method),
            None => Some(method),
        },
    };
    let window = window(part, &reader, wrong, &moves);
    let (changes, queries): (Vec<OpId>, Vec<OpId>) =
        window.into_iter().partition(|&op| moves(op).is_some());
    let with = |queries: &[OpId]| {
        let mut operations = [&changes, queries].concat();
        operations.put_in_order();
        operations
    };
    let queries = shrink(queries, |queries| {
        let part = history.restricted(&with(queries), Horizon::Until(until));
        let wrong = run(&mut Keys::new(Forget), Part::whole(&part), dialect);
        matches!(wrong, Ok(Some(_)))
    });
    let (method, key) =
        reader.what(wrong).ok().flatten().unwrap_or((Method::Contains, ValueId::NIL));
    let presence = match (method, reader.success(wrong)) {
        (Method::Insert, Ok(true)) | (Method::Remove | Method::Contains, Ok(false)) => {
            Presence::Absent
        }
        _ => Presence::Present,
    };
    let key = history.values().get(key).to_string();
    let sentence = (dialect.explain)(history.operation(wrong).to_string(), key, presence);
    counterexample_until(with(&queries), until, sentence)
}

/// The operations on the key of a wrong one, called until it returned, since nothing was open on
/// the key; with an insertion before them if the key was present then.
fn window(
    part: Part<'_>,
    reader: &Reader<'_>,
    wrong: OpId,
    moves: &impl Fn(OpId) -> Option<Method>,
) -> Vec<OpId> {
    let history = part.history;
    let until = history.ret(wrong).unwrap_or(0);
    let key_of = |op: OpId| reader.what(op).ok().flatten().map(|(_, key)| key);
    let key = key_of(wrong);
    let mut window = Vec::new();
    let mut inserted = None;
    let mut inside = 0;
    // When all operations so far have returned, if they all have.
    let mut quiet = None;
    for op in part.operations().filter(|&op| key_of(op) == key) {
        if history.call(op) > until {
            break;
        }
        let silent = |at| window.is_empty() || at < history.call(op);
        if quiet.is_some_and(silent) {
            window.clear();
            window.extend(inserted.filter(|_| inside > 0));
        }
        let ret = history.ret(op).filter(|&ret| ret <= until);
        quiet = match (quiet, ret, window.is_empty()) {
            (_, ret, true) => ret,
            (Some(latest), Some(ret), false) => Some(latest.max(ret)),
            _ => None,
        };
        window.push(op);
        match moves(op).filter(|_| ret.is_some()) {
            Some(Method::Insert) => (inserted, inside) = (Some(op), inside + 1),
            Some(Method::Remove) => inside -= 1,
            _ => {}
        }
    }
    window
}

/// The monitor of a live stream of keys that come and go.
pub struct Watch {
    dialect: &'static Dialect,
    keys: Keys<Forget>,
    open: HashMap<OpId, Open>,
}

/// An operation that has not returned.
#[derive(Clone, Copy, Debug)]
struct Open {
    method: Method,
    key: ValueId,
    /// Whether its result must say whether it succeeded.
    must_tell: bool,
}

impl Default for Watch {
    fn default() -> Self {
        Watch::new(&DIALECT)
    }
}

impl Watch {
    pub(in crate::fast) fn new(dialect: &'static Dialect) -> Self {
        Watch { dialect, keys: Keys::new(Forget), open: HashMap::new() }
    }
}

impl Online for Watch {
    fn call(&mut self, called: Called<'_>) -> Result<(), Stop> {
        let method = self.dialect.method(called.method);
        let method =
            method.ok_or_else(|| Declined::UnknownMethod { method: called.method.to_owned() })?;
        let key = self.dialect.key(called.arg);
        let key = key.ok_or_else(|| Declined::Unreadable {
            operation: called.method.to_owned(),
            expected: "a key as argument",
        })?;
        let must_tell = self.dialect.must_tell(called.method);
        self.open.insert(called.op, Open { method, key, must_tell });
        self.keys.call(called.op, method, key);
        Ok(())
    }

    fn ret(&mut self, returned: Returned<'_>) -> Result<(), Stop> {
        let op = returned.op;
        match returned.outcome {
            Outcome::Pending => return Ok(()),
            // It did not happen, but another may have relied on it.
            Outcome::Failed => return Err(Stop::failed(op)),
            Outcome::Ok => {}
        }
        let Some(open) = self.open.remove(&op) else {
            return Ok(());
        };
        let is_silent = returned.result.as_bool().is_none();
        let success = self.dialect.success(returned.result);
        let success = success.filter(|_| !is_silent || !open.must_tell);
        let success = success.ok_or_else(|| Declined::Unreadable {
            operation: format!("operation {}", op.0),
            expected: "true or false as result",
        })?;
        self.keys.ret(op, open.method, open.key, success).map_err(|Impossible| {
            Stop::violation(op, "no order of the operations on its key explains its result")
        })
    }

    fn rename(&mut self, new_id: &mut dyn FnMut(ValueId) -> ValueId) {
        rename_keys(&mut self.keys.active, new_id);
        self.keys.present.rename(new_id);
        self.open.values_mut().for_each(|open| open.key = new_id(open.key));
    }

    fn remembered(&self) -> usize {
        self.open.len() + self.keys.active.len() + self.keys.present.others.len()
    }
}
