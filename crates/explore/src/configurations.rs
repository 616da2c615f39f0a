//! Sets of specification configurations, interned, with memoised successors.
//!
//! A *configuration* is a state of the specification together with, for each thread, whether it is
//! idle, has called an operation, or has taken effect with a result. The set that belongs to a run
//! holds every configuration that the calls and returns so far allow; it is closed under effects (a
//! called operation may take effect at any time). Only the *roots* are stored, the configurations
//! that are no effect-successors of others: they determine the set, a call changes them thread by
//! thread, and only a return needs the closure. Roots are unique because effects are acyclic.
//!
//! With linearization points there is no closure: an operation takes effect exactly when it is told
//! to.
//!
//! The sets are shared by all workers ([`Configurations`]); what is computed from them each worker
//! remembers for itself ([`Memos`]), so that workers meet only where something new is interned.
//! Numbers of sets depend on who came first, so nothing is ordered by them:
//! [`Configurations::print`] gives a number that depends on the content alone.

use crate::intern::{Interner, SliceInterner};
use crate::memo::Memo;
use crate::options::Mode;
use crate::subject::Subject;
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};
use seriatim_lang::spec::{Datum, SpecState, SpecStop};
use seriatim_lang::steps::NULL;
use seriatim_lang::types::{Kind, Scalar};
use seriatim_limits::InOrder;
use std::collections::hash_map::Entry;
use std::hash::{Hash, Hasher};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// An interned set of configurations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct SetId(pub u32);

/// A configuration: 16 bits for each thread, the specification's state above them.
type Config = u128;

/// The most threads that fit into a configuration.
pub const MAX_THREADS: usize = 6;

const IDLE: u16 = 0;
const STATE_SHIFT: u32 = 96;
/// The tables of sets, so that workers seldom want the same one.
const SHARDS: u32 = 16;
/// How many answers of each sort a worker remembers.
const REMEMBERED: usize = 1 << 18;

/// So many configurations are sooner looked through than hashed.
const FEW: usize = 24;

/// The set without configurations: the run so far is not allowed by the specification.
pub const EMPTY: SetId = SetId(0);

/// A permutation of threads and of data values, both as maps from old to new.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Renaming {
    /// Where each thread goes.
    pub threads: [u8; MAX_THREADS],
    /// What each value becomes.
    pub values: [u8; 8],
}

impl Hash for Renaming {
    /// As two words: renamings are looked up for every state that is found.
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let threads = self.threads.iter().fold(0, |all, thread| all << 8 | u64::from(*thread));
        hasher.write_u64(threads);
        hasher.write_u64(u64::from_le_bytes(self.values));
    }
}

impl Renaming {
    /// The renaming that changes nothing.
    pub const IDENTITY: Renaming =
        Renaming { threads: [0, 1, 2, 3, 4, 5], values: [0, 1, 2, 3, 4, 5, 6, 7] };
}

/// A method with its arguments or with its result.
pub type Message = (u32, Vec<i32>);

/// What an operation may do: the state after it and its result.
type Effects = Box<[(u32, u16)]>;

/// The sets of one table: the configurations, and what is known about each set.
#[derive(Default)]
struct Sets {
    slices: SliceInterner<Config>,
    /// The values that occur, and a number that depends on the content alone.
    facts: Vec<(u8, u64)>,
}

/// All sets that a search meets.
pub struct Configurations {
    mode: Mode,
    threads: usize,
    states: RwLock<Interner<SpecState>>,
    operations: RwLock<Interner<Message>>,
    results: RwLock<Interner<Message>>,
    sets: Vec<RwLock<Sets>>,
}

/// What a worker remembers about sets.
pub struct Memos {
    effects: FxHashMap<(u32, u16, u8), Effects>,
    calls: Memo<(SetId, u8, u16), SetId>,
    returns: Memo<(SetId, u8, u16), SetId>,
    renamed: Memo<(SetId, Renaming), SetId>,
    renamed_states: FxHashMap<(u32, Renaming), u32>,
    renamed_words: FxHashMap<(u16, Renaming), u16>,
    included: Memo<(SetId, SetId), bool>,
    known: Memo<SetId, (u8, u64)>,
    /// Of states of the specification: the values that occur, and the beginning of a hash.
    described: Vec<Option<(u8, FxHasher)>>,
    operations: FxHashMap<Message, u16>,
    results: FxHashMap<Message, u16>,
}

impl Default for Memos {
    fn default() -> Self {
        Memos {
            effects: FxHashMap::default(),
            calls: Memo::new(REMEMBERED),
            returns: Memo::new(REMEMBERED),
            renamed: Memo::new(REMEMBERED),
            renamed_states: FxHashMap::default(),
            renamed_words: FxHashMap::default(),
            included: Memo::new(REMEMBERED),
            known: Memo::new(REMEMBERED),
            described: vec![],
            operations: FxHashMap::default(),
            results: FxHashMap::default(),
        }
    }
}

impl Memos {
    /// How many bytes it takes, roughly.
    pub fn bytes(&self) -> usize {
        let memos = self.calls.bytes() + self.returns.bytes() + self.renamed.bytes();
        let tables = self.effects.len() * 64
            + self.renamed_states.len() * 24
            + self.described.len() * size_of::<Option<(u8, FxHasher)>>();
        memos + self.included.bytes() + self.known.bytes() + tables
    }
}

/// What a worker brings to every question about sets.
pub struct Context<'w> {
    /// What is explored.
    pub subject: &'w Subject,
    /// What the worker remembers.
    pub memos: &'w mut Memos,
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

impl Configurations {
    /// The sets of a subject, and the set at the start.
    pub fn new(subject: &Subject, mode: Mode) -> Result<(Configurations, SetId), SpecStop> {
        let all = Configurations {
            mode,
            threads: subject.machine.thread_count(),
            states: RwLock::default(),
            operations: RwLock::default(),
            results: RwLock::default(),
            sets: (0..SHARDS).map(|_| RwLock::default()).collect(),
        };
        {
            let mut first = write(&all.sets[0]);
            first.slices.intern(&[]);
            first.facts.push((0, 0));
        }
        let mut initial = subject.spec.initial()?;
        if mode == Mode::Compat {
            initial.extend((0..all.threads).map(|_| Datum::Int(0)));
        }
        let state = write(&all.states).intern(initial);
        let context = &mut Context { subject, memos: &mut Memos::default() };
        let start = all.intern(context, vec![Config::from(state) << STATE_SHIFT]);
        Ok((all, start))
    }

    /// How many bytes the sets take, roughly.
    pub fn bytes(&self) -> usize {
        let sets = self.sets.iter().map(|s| {
            let sets = read(s);
            sets.slices.bytes() + sets.facts.capacity() * 16
        });
        sets.sum::<usize>() + read(&self.states).len() * 128
    }

    /// How many sets there are.
    pub fn len(&self) -> usize {
        self.sets.iter().map(|s| read(s).slices.len()).sum()
    }

    fn copy(&self, set: SetId) -> Vec<Config> {
        read(&self.sets[(set.0 % SHARDS) as usize]).slices.get(set.0 / SHARDS).to_vec()
    }

    /// The set after a thread called an operation.
    pub fn call(
        &self,
        context: &mut Context<'_>,
        set: SetId,
        thread: usize,
        message: &Message,
    ) -> Result<SetId, SpecStop> {
        let operation = number(&mut context.memos.operations, &self.operations, message)?;
        let key = (set, thread as u8, operation);
        if let Some(found) = context.memos.calls.get(&key) {
            return Ok(found);
        }
        let status = called(operation);
        let mut next = self.copy(set);
        next.iter_mut().for_each(|c| *c = with_status(*c, thread, status));
        let result = self.intern(context, next);
        context.memos.calls.insert(key, result);
        Ok(result)
    }

    /// The set after a thread returned with a result; [`EMPTY`] if the specification does not allow
    /// that.
    pub fn give_back(
        &self,
        context: &mut Context<'_>,
        set: SetId,
        thread: usize,
        message: &Message,
    ) -> Result<SetId, SpecStop> {
        let result = number(&mut context.memos.results, &self.results, message)?;
        let key = (set, thread as u8, result);
        if let Some(found) = context.memos.returns.get(&key) {
            return Ok(found);
        }
        let all = match self.mode {
            Mode::Points => self.copy(set),
            _ => self.closure(context, self.copy(set))?,
        };
        let wanted = done(result);
        let left = all.into_iter().filter(|c| status(*c, thread) == wanted);
        let left: Vec<Config> = left.map(|c| with_status(c, thread, IDLE)).collect();
        let roots = match self.mode {
            Mode::Points => left,
            _ => self.roots(context, left)?,
        };
        let found = self.intern(context, roots);
        context.memos.returns.insert(key, found);
        Ok(found)
    }

    /// The set after the operation of a thread was said to take effect; [`EMPTY`] if it cannot.
    pub fn effect(
        &self,
        context: &mut Context<'_>,
        set: SetId,
        thread: usize,
    ) -> Result<SetId, SpecStop> {
        let mut next = Vec::new();
        for config in self.copy(set) {
            self.push_effects(context, config, thread, &mut next)?;
        }
        Ok(self.intern(context, next))
    }

    /// Whether the specification blocks as well: in some configuration no thread has taken effect
    /// without having returned, and no called operation can. The roots are all that can be such;
    /// see `deadlock`.
    pub fn blocks(&self, context: &mut Context<'_>, set: SetId) -> Result<bool, SpecStop> {
        let mut effects = Vec::new();
        for config in self.copy(set) {
            let is_done = |t| matches!(Status::of(status(config, t)), Status::Done(_));
            if (0..self.threads).any(is_done) {
                continue;
            }
            effects.clear();
            for thread in 0..self.threads {
                self.push_effects(context, config, thread, &mut effects)?;
            }
            if effects.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The set with threads and values renamed.
    pub fn rename(
        &self,
        context: &mut Context<'_>,
        set: SetId,
        by: &Renaming,
    ) -> Result<SetId, SpecStop> {
        if *by == Renaming::IDENTITY {
            return Ok(set);
        }
        if let Some(found) = context.memos.renamed.get(&(set, *by)) {
            return Ok(found);
        }
        let mut next = self.copy(set);
        for config in &mut next {
            *config = self.rename_config(context, *config, by)?;
        }
        let result = self.intern(context, next);
        context.memos.renamed.insert((set, *by), result);
        Ok(result)
    }

    /// Whether every configuration of `small` is one of `large`.
    pub fn includes(
        &self,
        context: &mut Context<'_>,
        large: SetId,
        small: SetId,
    ) -> Result<bool, SpecStop> {
        if large == small || small == EMPTY {
            return Ok(true);
        }
        if let Some(found) = context.memos.included.get(&(large, small)) {
            return Ok(found);
        }
        let wanted = self.copy(small);
        let mut all = self.copy(large);
        let mut found = wanted.iter().all(|c| all.binary_search(c).is_ok());
        if !found && self.mode != Mode::Points {
            all = self.closure(context, all)?;
            let all: FxHashSet<Config> = all.into_iter().collect();
            found = wanted.iter().all(|c| all.contains(c));
        }
        context.memos.included.insert((large, small), found);
        Ok(found)
    }

    fn facts(&self, memos: &mut Memos, set: SetId) -> (u8, u64) {
        if let Some(known) = memos.known.get(&set) {
            return known;
        }
        let facts = read(&self.sets[(set.0 % SHARDS) as usize]).facts[(set.0 / SHARDS) as usize];
        memos.known.insert(set, facts);
        facts
    }

    /// The values that occur in a set, as a mask.
    pub fn values(&self, memos: &mut Memos, set: SetId) -> u8 {
        self.facts(memos, set).0
    }

    /// A number of a set that depends on its content alone.
    pub fn print(&self, memos: &mut Memos, set: SetId) -> u64 {
        self.facts(memos, set).1
    }

    fn intern(&self, context: &mut Context<'_>, mut configs: Vec<Config>) -> SetId {
        if configs.is_empty() {
            return EMPTY;
        }
        configs.put_in_order();
        configs.dedup();
        let shard = (hash_of(&configs) >> 32) as u32 % SHARDS;
        let lock = &self.sets[shard as usize];
        if let Some(number) = read(lock).slices.find(&configs) {
            return SetId(number * SHARDS + shard);
        }
        let facts = self.describe(context, &configs);
        let mut sets = write(lock);
        let number = sets.slices.intern(&configs);
        if number as usize == sets.facts.len() {
            sets.facts.push(facts);
        }
        SetId(number * SHARDS + shard)
    }

    /// The values that occur in configurations, and a number that depends on their content alone.
    fn describe(&self, context: &mut Context<'_>, configs: &[Config]) -> (u8, u64) {
        let (states, operations, results) =
            (read(&self.states), read(&self.operations), read(&self.results));
        let methods = &context.subject.machine.steps.methods;
        let described = &mut context.memos.described;
        described.resize(described.len().max(states.len()), None);
        let mut mask = 0;
        let mut print = 0u64;
        for config in configs {
            let state = (config >> STATE_SHIFT) as u32;
            let describe = || describe_state(states.get(state));
            let (values, hasher) = described[state as usize].get_or_insert_with(describe);
            mask |= *values;
            let mut hasher = hasher.clone();
            for thread in 0..self.threads {
                let (kind, message) = match Status::of(status(*config, thread)) {
                    Status::Idle => (0, None),
                    Status::Called(op) => (1, Some(operations.get(u32::from(op)))),
                    Status::Done(result) => (2, Some(results.get(u32::from(result)))),
                };
                (kind, message).hash(&mut hasher);
                if let Some((method, words)) = message {
                    let method = &methods[*method as usize];
                    let kinds = if kind == 1 { &method.params } else { &method.result };
                    mark_words(kinds, words, &mut mask);
                }
            }
            let hash = hasher.finish();
            print = print.wrapping_add((hash ^ hash >> 31).wrapping_mul(0x9fb2_1c65_1e98_df25));
        }
        (mask, print)
    }

    /// All configurations that effects lead to, the given ones included.
    fn closure(
        &self,
        context: &mut Context<'_>,
        from: Vec<Config>,
    ) -> Result<Vec<Config>, SpecStop> {
        let mut seen = FxHashSet::default();
        let mut all = from;
        let mut next = Vec::new();
        let mut at = 0;
        while at < all.len() {
            for thread in 0..self.threads {
                self.push_effects(context, all[at], thread, &mut next)?;
            }
            for config in next.drain(..) {
                let is_new = match all.len() <= FEW {
                    true => !all.contains(&config),
                    false => {
                        if seen.is_empty() {
                            seen.extend(all.iter().copied());
                        }
                        seen.insert(config)
                    }
                };
                if is_new {
                    all.push(config);
                }
            }
            at += 1;
        }
        Ok(all)
    }

    /// The configurations of a closed set that are no effect-successors of others.
    fn roots(
        &self,
        context: &mut Context<'_>,
        closed: Vec<Config>,
    ) -> Result<Vec<Config>, SpecStop> {
        let mut later = Vec::new();
        for config in &closed {
            for thread in 0..self.threads {
                self.push_effects(context, *config, thread, &mut later)?;
            }
        }
        if later.len() <= FEW {
            return Ok(closed.into_iter().filter(|c| !later.contains(c)).collect());
        }
        let later: FxHashSet<Config> = later.into_iter().collect();
        Ok(closed.into_iter().filter(|c| !later.contains(c)).collect())
    }

    #[inline]
    fn push_effects(
        &self,
        context: &mut Context<'_>,
        config: Config,
        thread: usize,
        into: &mut Vec<Config>,
    ) -> Result<(), SpecStop> {
        match Status::of(status(config, thread)) {
            Status::Called(operation) => {
                self.push_effects_of(context, config, (thread, operation), into)
            }
            _ => Ok(()),
        }
    }

    fn push_effects_of(
        &self,
        context: &mut Context<'_>,
        config: Config,
        (thread, operation): (usize, u16),
        into: &mut Vec<Config>,
    ) -> Result<(), SpecStop> {
        let state = (config >> STATE_SHIFT) as u32;
        let who = if self.mode == Mode::Compat { thread as u8 } else { 0 };
        let key = (state, operation, who);
        let outcomes = match context.memos.effects.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                new.insert(self.outcomes(context.subject, state, operation, thread)?)
            }
        };
        let rest = config & ((1 << STATE_SHIFT) - 1);
        for (state, result) in outcomes.iter() {
            let moved = rest | Config::from(*state) << STATE_SHIFT;
            into.push(with_status(moved, thread, done(*result)));
        }
        Ok(())
    }

    fn outcomes(
        &self,
        subject: &Subject,
        state: u32,
        operation: u16,
        thread: usize,
    ) -> Result<Effects, SpecStop> {
        let (method, args) = read(&self.operations).get(u32::from(operation)).clone();
        let mut before = read(&self.states).get(state).clone();
        let mut last = match self.mode {
            Mode::Compat => before.split_off(before.len() - self.threads),
            _ => vec![],
        };
        let mut found = Vec::new();
        let scratch = subject.scratch().filter(|_| self.mode == Mode::Compat);
        if let Some(scratch) = scratch {
            before[scratch] = last[thread].clone();
        }
        for (mut after, result) in subject.spec_outcomes(&before, method, &args)? {
            if let Some(scratch) = scratch {
                last[thread] = std::mem::replace(&mut after[scratch], Datum::Int(0));
            }
            after.extend(last.iter().cloned());
            let state = write(&self.states).intern(after);
            let mut words = Vec::new();
            result.scalars(&mut words);
            found.push((state, small(write(&self.results).intern((method, words)))?));
        }
        Ok(found.into())
    }

    fn rename_config(
        &self,
        context: &mut Context<'_>,
        config: Config,
        by: &Renaming,
    ) -> Result<Config, SpecStop> {
        let state = (config >> STATE_SHIFT) as u32;
        let mut renamed = Config::from(self.rename_state(context.memos, state, by)) << STATE_SHIFT;
        for thread in 0..self.threads {
            let moved = match status(config, thread) {
                IDLE => IDLE,
                code => self.rename_status(context, code, by)?,
            };
            renamed = with_status(renamed, usize::from(by.threads[thread]), moved);
        }
        Ok(renamed)
    }

    fn rename_state(&self, memos: &mut Memos, state: u32, by: &Renaming) -> u32 {
        if by.values == Renaming::IDENTITY.values {
            return state;
        }
        if let Some(found) = memos.renamed_states.get(&(state, *by)) {
            return *found;
        }
        let values: Vec<u32> = by.values.iter().map(|v| u32::from(*v)).collect();
        let threads: Vec<u32> = by.threads.iter().map(|t| u32::from(*t)).collect();
        let old = read(&self.states).get(state).clone();
        let moved = old.iter().map(|d| d.renamed(&values, &threads)).collect();
        let result = write(&self.states).intern(moved);
        memos.renamed_states.insert((state, *by), result);
        result
    }

    /// The status of a thread with the values of its operation or result renamed.
    fn rename_status(
        &self,
        context: &mut Context<'_>,
        code: u16,
        by: &Renaming,
    ) -> Result<u16, SpecStop> {
        if by.values == Renaming::IDENTITY.values {
            return Ok(code);
        }
        if let Some(found) = context.memos.renamed_words.get(&(code, *by)) {
            return Ok(*found);
        }
        let methods = &context.subject.machine.steps.methods;
        let renamed = match Status::of(code) {
            Status::Idle => IDLE,
            Status::Called(operation) => {
                let (method, mut words) = read(&self.operations).get(u32::from(operation)).clone();
                rename_words(&methods[method as usize].params, &mut words, by);
                called(small(write(&self.operations).intern((method, words)))?)
            }
            Status::Done(result) => {
                let (method, mut words) = read(&self.results).get(u32::from(result)).clone();
                rename_words(&methods[method as usize].result, &mut words, by);
                done(small(write(&self.results).intern((method, words)))?)
            }
        };
        context.memos.renamed_words.insert((code, *by), renamed);
        Ok(renamed)
    }
}

/// The number of an operation or a result, remembered by the worker.
fn number(
    known: &mut FxHashMap<Message, u16>,
    shared: &RwLock<Interner<Message>>,
    message: &Message,
) -> Result<u16, SpecStop> {
    if let Some(found) = known.get(message) {
        return Ok(*found);
    }
    let found = small(write(shared).intern(message.clone()))?;
    known.insert(message.clone(), found);
    Ok(found)
}

fn hash_of(configs: &[Config]) -> u64 {
    let mut hasher = FxHasher::default();
    configs.hash(&mut hasher);
    let hash = hasher.finish();
    hash ^ hash >> 17
}

/// A number that fits into the status of a thread.
fn small(number: u32) -> Result<u16, SpecStop> {
    match u16::try_from(number) {
        Ok(number) if number < 0x7ffe => Ok(number),
        _ => Err(SpecStop::Broken("there are too many different operations".to_string())),
    }
}

enum Status {
    Idle,
    Called(u16),
    Done(u16),
}

impl Status {
    fn of(code: u16) -> Status {
        match code {
            IDLE => Status::Idle,
            code if code & 1 == 1 => Status::Called(code >> 1),
            code => Status::Done((code >> 1) - 1),
        }
    }
}

fn called(operation: u16) -> u16 {
    operation << 1 | 1
}

fn done(result: u16) -> u16 {
    (result + 1) << 1
}

fn status(config: Config, thread: usize) -> u16 {
    (config >> (16 * thread)) as u16
}

fn with_status(config: Config, thread: usize, status: u16) -> Config {
    let shift = 16 * thread;
    config & !(0xffff << shift) | Config::from(status) << shift
}

fn rename_words(kinds: &[Kind], words: &mut [i32], by: &Renaming) {
    for (kind, word) in kinds.iter().zip(words) {
        if kind.scalar == Scalar::Value && *word != NULL {
            *word = i32::from(by.values[*word as usize]);
        }
    }
}

fn mark_words(kinds: &[Kind], words: &[i32], mask: &mut u8) {
    for (kind, word) in kinds.iter().zip(words) {
        if kind.scalar == Scalar::Value && *word != NULL {
            *mask |= 1 << word;
        }
    }
}

/// The values that occur in a state of the specification, and a hash that begins with it.
fn describe_state(state: &SpecState) -> (u8, FxHasher) {
    let (mut values, mut hasher) = (0, FxHasher::default());
    state.iter().for_each(|datum| mark_values(datum, &mut values));
    state.hash(&mut hasher);
    (values, hasher)
}

fn mark_values(datum: &Datum, mask: &mut u8) {
    match datum {
        Datum::Value(v) => *mask |= 1 << v,
        Datum::Map(entries) => entries.iter().for_each(|(k, v)| {
            mark_values(k, mask);
            mark_values(v, mask);
        }),
        _ => datum.elements().for_each(|part| mark_values(part, mask)),
    }
}
