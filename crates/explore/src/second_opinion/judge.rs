//! Judges a history while it happens, by the definition and by nothing else: keeps every way in
//! which the specification explains the calls and returns so far.
//!
//! An *explanation* is a state of the specification and, for each thread, whether it is idle, has
//! called, or has taken effect with a result. A call changes the thread's part of each. Before a
//! return, operations that were called may take effect in any number and order; then those
//! explanations remain in which the operation took effect with the result that it returned. If none
//! remains, the history is not linearizable (Herlihy and Wing 1990: Definition of linearizability;
//! the subset construction makes the search deterministic).
//!
//! *Independent*: nothing is shared with `configurations` but the interpreter of specifications. No
//! roots, no renaming, no memory of earlier answers. *Cost*: the product of what pending operations
//! may do; meant for few threads.

use crate::subject::Subject;
use seriatim_lang::spec::{Datum, SpecState, SpecStop};
use std::collections::BTreeSet;

/// What a thread has done of its operation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Standing {
    Idle,
    Called(u32, Vec<i32>),
    TookEffect(Datum),
}

/// All explanations of a history.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Explanations(BTreeSet<(SpecState, Vec<Standing>)>);

impl Explanations {
    /// That of the empty history.
    pub fn start(subject: &Subject) -> Result<Explanations, SpecStop> {
        let idle = vec![Standing::Idle; subject.machine.thread_count()];
        Ok(Explanations(BTreeSet::from([(subject.spec.initial()?, idle)])))
    }

    /// A thread calls a method.
    pub fn call(&self, thread: usize, (method, args): &(u32, Vec<i32>)) -> Explanations {
        let called = self.0.iter().cloned().map(|(state, mut threads)| {
            threads[thread] = Standing::Called(*method, args.clone());
            (state, threads)
        });
        Explanations(called.collect())
    }

    /// A thread returns with a result; none is left if nothing explains it.
    pub fn give_back(
        &self,
        subject: &Subject,
        thread: usize,
        result: &Datum,
    ) -> Result<Explanations, SpecStop> {
        let returned = Standing::TookEffect(result.clone());
        let mut kept = BTreeSet::new();
        for (state, mut threads) in self.after_effects(subject)? {
            if threads[thread] == returned {
                threads[thread] = Standing::Idle;
                kept.insert((state, threads));
            }
        }
        Ok(Explanations(kept))
    }

    /// Whether nothing explains the history.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the specification would wait as well: some explanation has no operation that took
    /// effect without having returned, and none that could take effect now.
    pub fn block(&self, subject: &Subject) -> Result<bool, SpecStop> {
        for (state, threads) in &self.0 {
            if is_stuck(subject, state, threads)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The explanations, after any number of effects, in which each of some threads has called and
    /// can not take effect.
    pub fn blocking(&self, subject: &Subject, who: u32) -> Result<Explanations, SpecStop> {
        let all = Explanations(self.after_effects(subject)?);
        all.that_block(subject, who)
    }

    /// Those explanations, and those after effects of other threads, in which each of some threads
    /// has called and can not take effect; nor could it in between.
    pub fn still_blocking(&self, subject: &Subject, who: u32) -> Result<Explanations, SpecStop> {
        let mut kept = self.that_block(subject, who)?;
        loop {
            let after = Explanations(kept.after_one_effect(subject)?);
            let after = after.that_block(subject, who)?;
            let before = kept.0.len();
            kept.0.extend(after.0);
            if kept.0.len() == before {
                return Ok(kept);
            }
        }
    }

    /// The explanations in which a thread took effect with the result that it returns, if it did.
    pub fn returned(&self, thread: usize, result: &Datum) -> Explanations {
        let took = Standing::TookEffect(result.clone());
        let kept = self.0.iter().filter(|(_, threads)| threads[thread] == took);
        let idle = kept.cloned().map(|(state, mut threads)| {
            threads[thread] = Standing::Idle;
            (state, threads)
        });
        Explanations(idle.collect())
    }

    fn that_block(&self, subject: &Subject, who: u32) -> Result<Explanations, SpecStop> {
        let mut kept = BTreeSet::new();
        'all: for (state, threads) in &self.0 {
            for (_, standing) in threads.iter().enumerate().filter(|(t, _)| who >> t & 1 == 1) {
                let Standing::Called(method, args) = standing else { continue 'all };
                match subject.spec_outcomes(state, *method, args) {
                    Err(SpecStop::NotEnabled) => {}
                    outcomes if outcomes.as_ref().is_ok_and(Vec::is_empty) => {}
                    outcomes => {
                        outcomes?;
                        continue 'all;
                    }
                }
            }
            kept.insert((state.clone(), threads.clone()));
        }
        Ok(Explanations(kept))
    }

    fn after_one_effect(
        &self,
        subject: &Subject,
    ) -> Result<BTreeSet<(SpecState, Vec<Standing>)>, SpecStop> {
        let mut found = BTreeSet::new();
        for (state, threads) in &self.0 {
            for (thread, standing) in threads.iter().enumerate() {
                let Standing::Called(method, args) = standing else { continue };
                let outcomes = match subject.spec_outcomes(state, *method, args) {
                    Err(SpecStop::NotEnabled) => vec![],
                    outcomes => outcomes?,
                };
                for (next, result) in outcomes {
                    let mut after = threads.clone();
                    after[thread] = Standing::TookEffect(result);
                    found.insert((next, after));
                }
            }
        }
        Ok(found)
    }

    /// The explanations after any number of effects.
    fn after_effects(
        &self,
        subject: &Subject,
    ) -> Result<BTreeSet<(SpecState, Vec<Standing>)>, SpecStop> {
        let mut all = self.0.clone();
        let mut todo: Vec<_> = all.iter().cloned().collect();
        while let Some((state, threads)) = todo.pop() {
            for (thread, standing) in threads.iter().enumerate() {
                let Standing::Called(method, args) = standing else { continue };
                let outcomes = match subject.spec_outcomes(&state, *method, args) {
                    Err(SpecStop::NotEnabled) => vec![],
                    outcomes => outcomes?,
                };
                for (next, result) in outcomes {
                    let mut after = threads.clone();
                    after[thread] = Standing::TookEffect(result);
                    if all.insert((next.clone(), after.clone())) {
                        todo.push((next, after));
                    }
                }
            }
        }
        Ok(all)
    }
}

/// Whether no called operation can take effect, and none has.
fn is_stuck(subject: &Subject, state: &SpecState, threads: &[Standing]) -> Result<bool, SpecStop> {
    for standing in threads {
        let is_enabled = match standing {
            Standing::Idle => false,
            Standing::TookEffect(_) => true,
            Standing::Called(method, args) => match subject.spec_outcomes(state, *method, args) {
                Err(SpecStop::NotEnabled) => false,
                outcomes => !outcomes?.is_empty(),
            },
        };
        if is_enabled {
            return Ok(false);
        }
    }
    Ok(true)
}
