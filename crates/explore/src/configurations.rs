//! Sets of specification configurations, interned, with memoised successors.
//!
//! A *configuration* is a state of the specification together with, for each thread, whether it is idle, has called an
//! operation, or has taken effect with a result. The set that belongs to a run holds every configuration that the calls
//! and returns so far allow; it is closed under effects (a called operation may take effect at any time). Only the
//! *roots* are stored, the configurations that are no effect-successors of others: they determine the set, a call
//! changes them thread by thread, and only a return needs the closure. Roots are unique because effects are acyclic.
//!
//! With linearization points there is no closure: an operation takes effect exactly when it is told to.

use crate::intern::{Interner, SliceInterner};
use crate::options::Mode;
use crate::subject::Subject;
use rustc_hash::{FxHashMap, FxHashSet};
use seriatim_lang::spec::{Datum, SpecState, SpecStop};
use seriatim_lang::steps::NULL;
use seriatim_lang::types::{Kind, Scalar};

/// An interned set of configurations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct SetId(pub u32);

/// A configuration: 16 bits for each thread, the specification's state above them.
type Config = u128;

/// The most threads that fit into a configuration.
pub const MAX_THREADS: usize = 6;

const IDLE: u16 = 0;
const STATE_SHIFT: u32 = 96;

/// The set without configurations: the run so far is not allowed by the specification.
pub const EMPTY: SetId = SetId(0);

/// A permutation of threads and of data values, both as maps from old to new.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Renaming {
    /// Where each thread goes.
    pub threads: [u8; MAX_THREADS],
    /// What each value becomes.
    pub values: [u8; 8],
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

/// All sets that a search meets.
pub struct Configurations {
    mode: Mode,
    threads: usize,
    states: Interner<SpecState>,
    operations: Interner<Message>,
    results: Interner<Message>,
    sets: SliceInterner<Config>,
    effects: FxHashMap<(u32, u16, u8), Effects>,
    calls: FxHashMap<(SetId, u8, u16), SetId>,
    returns: FxHashMap<(SetId, u8, u16), SetId>,
    renamed: FxHashMap<(SetId, Renaming), SetId>,
    renamed_states: FxHashMap<(u32, [u8; 8]), u32>,
    included: FxHashMap<(SetId, SetId), bool>,
    values_in: FxHashMap<SetId, u8>,
}

impl Configurations {
    /// The sets of a subject, and the set at the start.
    pub fn new(subject: &Subject, mode: Mode) -> Result<(Configurations, SetId), SpecStop> {
        let mut all = Configurations {
            mode,
            threads: subject.machine.thread_count(),
            states: Interner::default(),
            operations: Interner::default(),
            results: Interner::default(),
            sets: SliceInterner::default(),
            effects: FxHashMap::default(),
            calls: FxHashMap::default(),
            returns: FxHashMap::default(),
            renamed: FxHashMap::default(),
            renamed_states: FxHashMap::default(),
            included: FxHashMap::default(),
            values_in: FxHashMap::default(),
        };
        all.sets.intern(&[]);
        let mut initial = subject.spec.initial()?;
        if mode == Mode::Compat {
            initial.extend((0..all.threads).map(|_| Datum::Int(0)));
        }
        let state = all.states.intern(initial);
        let start = all.sets.intern(&[Config::from(state) << STATE_SHIFT]);
        Ok((all, SetId(start)))
    }

    /// How many bytes the sets and their memos take, roughly.
    pub fn bytes(&self) -> usize {
        let memo = self.calls.len() + self.returns.len() + self.renamed.len() + self.included.len();
        self.sets.bytes() + memo * 32 + self.effects.len() * 64 + self.states.len() * 128
    }

    /// How many sets there are.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// The set after a thread called an operation.
    pub fn call(
        &mut self,
        set: SetId,
        thread: usize,
        message: &Message,
    ) -> Result<SetId, SpecStop> {
        let operation = small(self.operations.intern_ref(message))?;
        let key = (set, thread as u8, operation);
        if let Some(found) = self.calls.get(&key) {
            return Ok(*found);
        }
        let status = called(operation);
        let next: Vec<Config> =
            self.sets.get(set.0).iter().map(|c| with_status(*c, thread, status)).collect();
        let result = self.intern(next);
        self.calls.insert(key, result);
        Ok(result)
    }

    /// The set after a thread returned with a result; [`EMPTY`] if the specification does not allow that.
    pub fn give_back(
        &mut self,
        subject: &Subject,
        set: SetId,
        thread: usize,
        message: &Message,
    ) -> Result<SetId, SpecStop> {
        let result = small(self.results.intern_ref(message))?;
        let key = (set, thread as u8, result);
        if let Some(found) = self.returns.get(&key) {
            return Ok(*found);
        }
        let all = match self.mode {
            Mode::Points => self.sets.get(set.0).to_vec(),
            _ => self.closure(subject, self.sets.get(set.0).to_vec())?,
        };
        let wanted = done(result);
        let left = all.into_iter().filter(|c| status(*c, thread) == wanted);
        let left: Vec<Config> = left.map(|c| with_status(c, thread, IDLE)).collect();
        let roots = match self.mode {
            Mode::Points => left,
            _ => self.roots(subject, left)?,
        };
        let found = self.intern(roots);
        self.returns.insert(key, found);
        Ok(found)
    }

    /// The set after the operation of a thread was said to take effect; [`EMPTY`] if it cannot.
    pub fn effect(
        &mut self,
        subject: &Subject,
        set: SetId,
        thread: usize,
    ) -> Result<SetId, SpecStop> {
        let mut next = Vec::new();
        for config in self.sets.get(set.0).to_vec() {
            self.push_effects(subject, config, thread, &mut next)?;
        }
        Ok(self.intern(next))
    }

    /// The set with threads and values renamed.
    pub fn rename(
        &mut self,
        subject: &Subject,
        set: SetId,
        by: &Renaming,
    ) -> Result<SetId, SpecStop> {
        if *by == Renaming::IDENTITY {
            return Ok(set);
        }
        if let Some(found) = self.renamed.get(&(set, *by)) {
            return Ok(*found);
        }
        let mut next = Vec::new();
        for config in self.sets.get(set.0).to_vec() {
            next.push(self.rename_config(subject, config, by)?);
        }
        let result = self.intern(next);
        self.renamed.insert((set, *by), result);
        Ok(result)
    }

    /// Whether every configuration of `small` is one of `large`.
    pub fn includes(
        &mut self,
        subject: &Subject,
        large: SetId,
        small: SetId,
    ) -> Result<bool, SpecStop> {
        if large == small || small == EMPTY {
            return Ok(true);
        }
        if let Some(found) = self.included.get(&(large, small)) {
            return Ok(*found);
        }
        let mut all = self.sets.get(large.0).to_vec();
        if self.mode != Mode::Points {
            all = self.closure(subject, all)?;
        }
        let all: FxHashSet<Config> = all.into_iter().collect();
        let found = self.sets.get(small.0).iter().all(|c| all.contains(c));
        self.included.insert((large, small), found);
        Ok(found)
    }

    /// Which data values occur in a set, as a mask.
    pub fn values(&mut self, subject: &Subject, set: SetId) -> u8 {
        if let Some(found) = self.values_in.get(&set) {
            return *found;
        }
        let mut mask = 0;
        for config in self.sets.get(set.0) {
            for datum in self.states.get((config >> STATE_SHIFT) as u32) {
                mark_values(datum, &mut mask);
            }
            for thread in 0..self.threads {
                match Status::of(status(*config, thread)) {
                    Status::Idle => {}
                    Status::Called(op) => {
                        let (method, args) = self.operations.get(u32::from(op));
                        mark_words(
                            &subject.machine.steps.methods[*method as usize].params,
                            args,
                            &mut mask,
                        );
                    }
                    Status::Done(result) => {
                        let (method, words) = self.results.get(u32::from(result));
                        mark_words(
                            &subject.machine.steps.methods[*method as usize].result,
                            words,
                            &mut mask,
                        );
                    }
                }
            }
        }
        self.values_in.insert(set, mask);
        mask
    }

    fn intern(&mut self, mut configs: Vec<Config>) -> SetId {
        configs.sort_unstable();
        configs.dedup();
        SetId(self.sets.intern(&configs))
    }

    /// All configurations that effects lead to, the given ones included.
    fn closure(&mut self, subject: &Subject, from: Vec<Config>) -> Result<Vec<Config>, SpecStop> {
        let mut seen: FxHashSet<Config> = from.iter().copied().collect();
        let mut all = from;
        let mut next = Vec::new();
        let mut at = 0;
        while at < all.len() {
            for thread in 0..self.threads {
                self.push_effects(subject, all[at], thread, &mut next)?;
            }
            all.extend(next.drain(..).filter(|c| seen.insert(*c)));
            at += 1;
        }
        Ok(all)
    }

    /// The configurations of a closed set that are no effect-successors of others.
    fn roots(&mut self, subject: &Subject, closed: Vec<Config>) -> Result<Vec<Config>, SpecStop> {
        let mut later = Vec::new();
        for config in &closed {
            for thread in 0..self.threads {
                self.push_effects(subject, *config, thread, &mut later)?;
            }
        }
        let later: FxHashSet<Config> = later.into_iter().collect();
        Ok(closed.into_iter().filter(|c| !later.contains(c)).collect())
    }

    fn push_effects(
        &mut self,
        subject: &Subject,
        config: Config,
        thread: usize,
        into: &mut Vec<Config>,
    ) -> Result<(), SpecStop> {
        let Status::Called(operation) = Status::of(status(config, thread)) else { return Ok(()) };
        let state = (config >> STATE_SHIFT) as u32;
        let who = if self.mode == Mode::Compat { thread as u8 } else { 0 };
        let key = (state, operation, who);
        if !self.effects.contains_key(&key) {
            let outcomes = self.outcomes(subject, state, operation, thread)?;
            self.effects.insert(key, outcomes);
        }
        let rest = config & ((1 << STATE_SHIFT) - 1);
        for (state, result) in &self.effects[&key] {
            let moved = rest | Config::from(*state) << STATE_SHIFT;
            into.push(with_status(moved, thread, done(*result)));
        }
        Ok(())
    }

    fn outcomes(
        &mut self,
        subject: &Subject,
        state: u32,
        operation: u16,
        thread: usize,
    ) -> Result<Effects, SpecStop> {
        let (method, args) = self.operations.get(u32::from(operation)).clone();
        let mut before = self.states.get(state).clone();
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
            let state = self.states.intern(after);
            let mut words = Vec::new();
            result.scalars(&mut words);
            found.push((state, small(self.results.intern((method, words)))?));
        }
        Ok(found.into_boxed_slice())
    }

    fn rename_config(
        &mut self,
        subject: &Subject,
        config: Config,
        by: &Renaming,
    ) -> Result<Config, SpecStop> {
        let state = (config >> STATE_SHIFT) as u32;
        let mut renamed = Config::from(self.rename_state(state, by)) << STATE_SHIFT;
        for thread in 0..self.threads {
            let moved = match Status::of(status(config, thread)) {
                Status::Idle => IDLE,
                Status::Called(op) => called(self.rename_operation(subject, op, by)?),
                Status::Done(result) => done(self.rename_result(subject, result, by)?),
            };
            renamed = with_status(renamed, usize::from(by.threads[thread]), moved);
        }
        Ok(renamed)
    }

    fn rename_state(&mut self, state: u32, by: &Renaming) -> u32 {
        if by.values == Renaming::IDENTITY.values {
            return state;
        }
        if let Some(found) = self.renamed_states.get(&(state, by.values)) {
            return *found;
        }
        let values: Vec<u32> = by.values.iter().map(|v| u32::from(*v)).collect();
        let moved = self.states.get(state).iter().map(|d| d.renamed(&values, &[])).collect();
        let result = self.states.intern(moved);
        self.renamed_states.insert((state, by.values), result);
        result
    }

    fn rename_operation(
        &mut self,
        subject: &Subject,
        operation: u16,
        by: &Renaming,
    ) -> Result<u16, SpecStop> {
        let (method, mut words) = self.operations.get(u32::from(operation)).clone();
        rename_words(&subject.machine.steps.methods[method as usize].params, &mut words, by);
        small(self.operations.intern((method, words)))
    }

    fn rename_result(
        &mut self,
        subject: &Subject,
        result: u16,
        by: &Renaming,
    ) -> Result<u16, SpecStop> {
        let (method, mut words) = self.results.get(u32::from(result)).clone();
        rename_words(&subject.machine.steps.methods[method as usize].result, &mut words, by);
        small(self.results.intern((method, words)))
    }
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

fn mark_values(datum: &Datum, mask: &mut u8) {
    match datum {
        Datum::Value(v) => *mask |= 1 << v,
        Datum::Tuple(parts) | Datum::List(parts) | Datum::Set(parts) => {
            parts.iter().for_each(|p| mark_values(p, mask));
        }
        Datum::Map(entries) => entries.iter().for_each(|(k, v)| {
            mark_values(k, mask);
            mark_values(v, mask);
        }),
        _ => {}
    }
}
