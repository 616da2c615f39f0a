//! What the specification says of a run: histories are judged by happens-before.
//!
//! *Definition.* A run is correct if its operations have an order that the specification allows and
//! that has `a` before `b` whenever the return of `a` happens before the call of `b`. Raw time is
//! the wrong order on weak memory: a `pop` may answer `empty` after a `push` that was over before,
//! and no client can tell, since telling it would be to synchronise.
//!
//! - *Exact* (`operations` are bounded): a bit for each operation that has returned travels in the
//!   views of memory, so that at every call the operations before it are known; an order is looked
//!   for among the linear extensions.
//! - *Stamped* (any number of operations): every return releases a variable of the client and every
//!   call acquires it, so that the order in the run is happens-before, and the sets of
//!   configurations of the explorer proper apply. The client has no fences: with them, later
//!   relaxed stores of the algorithm would become releases, and bugs would vanish.

use super::client::{OPERATIONS, operation};
use super::step::Seen;
use crate::configurations::{Configurations, Context, EMPTY, Memos, SetId};
use crate::options::Mode;
use crate::subject::Subject;
use rustc_hash::{FxHashMap, FxHashSet};
use seriatim_lang::spec::{Datum, SpecState, SpecStop};
use std::rc::Rc;

/// An operation of a history.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Operation {
    /// Its method.
    pub method: u32,
    /// Its arguments.
    pub args: Vec<i32>,
    /// The operations whose returns happen before its call.
    pub before: u64,
    /// Its result, if it has returned.
    pub result: Option<Vec<i32>>,
}

/// What an operation may do: the state after it and its result.
type Outcomes = Vec<(SpecState, Datum)>;

/// The operations of each thread, in their order. Most steps leave them as they are.
pub type Operations = Vec<Rc<Vec<Operation>>>;

/// What is known of the history of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// All of it.
    Exact(Operations),
    /// The configurations of the specification that it allows.
    Stamped(SetId),
}

/// Judges histories, and remembers what it found.
pub struct Judge<'s> {
    subject: &'s Subject,
    /// The sets of configurations.
    pub configurations: Configurations,
    /// What is known about them.
    pub memos: Memos,
    verdicts: FxHashMap<Operations, bool>,
    outcomes: FxHashMap<(SpecState, u32, Vec<i32>), Outcomes>,
}

impl<'s> Judge<'s> {
    /// A judge, and what it knows at the start.
    pub fn new(subject: &'s Subject, stamped: bool) -> Result<(Judge<'s>, Standing), SpecStop> {
        let (configurations, start) = Configurations::new(subject, Mode::Refinement)?;
        let judge = Judge {
            subject,
            configurations,
            memos: Memos::default(),
            verdicts: FxHashMap::default(),
            outcomes: FxHashMap::default(),
        };
        let standing = match stamped {
            true => Standing::Stamped(start),
            false => Standing::Exact(vec![Rc::default(); subject.machine.thread_count()]),
        };
        Ok((judge, standing))
    }

    /// What is known after a step in which the thread executed `method` last; `None` if the
    /// specification does not explain it.
    pub fn after(
        &mut self,
        standing: &Standing,
        thread: usize,
        method: Option<u32>,
        seen: &Seen,
    ) -> Result<Option<Standing>, SpecStop> {
        match standing {
            Standing::Exact(operations) => self.exact(operations, thread, seen),
            Standing::Stamped(set) => self.stamped(*set, thread, method, seen),
        }
    }

    fn exact(
        &mut self,
        operations: &Operations,
        thread: usize,
        seen: &Seen,
    ) -> Result<Option<Standing>, SpecStop> {
        let mut operations = operations.clone();
        if let Some((method, args, before)) = &seen.call {
            let (method, args, before) = (*method, args.clone(), *before);
            Rc::make_mut(&mut operations[thread]).push(Operation {
                method,
                args,
                before,
                result: None,
            });
        }
        if let Some(result) = &seen.ret {
            if let Some(last) = Rc::make_mut(&mut operations[thread]).last_mut() {
                last.result = Some(result.clone());
            }
            let known = self.verdicts.get(&operations).copied();
            let is_right = match known {
                Some(known) => known,
                None => {
                    let found = self.explained(&operations)?;
                    self.verdicts.insert(operations.clone(), found);
                    found
                }
            };
            if !is_right {
                return Ok(None);
            }
        }
        Ok(Some(Standing::Exact(operations)))
    }

    fn stamped(
        &mut self,
        set: SetId,
        thread: usize,
        method: Option<u32>,
        seen: &Seen,
    ) -> Result<Option<Standing>, SpecStop> {
        let context = &mut Context { subject: self.subject, memos: &mut self.memos };
        let mut set = set;
        let mut method = method;
        if let Some((called, args, _)) = &seen.call {
            set = self.configurations.call(context, set, thread, &(*called, args.clone()))?;
            method = Some(*called);
        }
        if let (Some(result), Some(method)) = (&seen.ret, method) {
            let message = (method, result.clone());
            set = self.configurations.give_back(context, set, thread, &message)?;
        }
        Ok((set != EMPTY).then_some(Standing::Stamped(set)))
    }

    /// Whether some linear extension of happens-before is allowed by the specification.
    fn explained(&mut self, operations: &Operations) -> Result<bool, SpecStop> {
        let all: Vec<(u32, &Operation)> = (operations.iter().enumerate())
            .flat_map(|(t, own)| own.iter().zip(0..).map(move |(o, i)| (operation(t, i), o)))
            .collect();
        let bit = |number: u32| 1u64 << number;
        let returned = all.iter().filter(|(_, o)| o.result.is_some());
        let wanted = returned.fold(0, |mask, (number, _)| mask | bit(*number));
        let mut seen = FxHashSet::default();
        let mut todo = vec![(0u64, self.subject.spec.initial()?)];
        while let Some((done, state)) = todo.pop() {
            if done & wanted == wanted {
                return Ok(true);
            }
            for (number, operation) in &all {
                if done & bit(*number) != 0 || operation.before & !done != 0 {
                    continue;
                }
                let method = operation.method;
                let result = operation.result.as_ref().map(|r| self.subject.result(method, r));
                for (next, given) in self.outcomes(&state, method, &operation.args)? {
                    let fits = result.as_ref().is_none_or(|result| *result == given);
                    if fits && seen.insert((done | bit(*number), next.clone())) {
                        todo.push((done | bit(*number), next));
                    }
                }
            }
        }
        Ok(false)
    }

    fn outcomes(
        &mut self,
        state: &SpecState,
        method: u32,
        args: &[i32],
    ) -> Result<Outcomes, SpecStop> {
        let key = (state.clone(), method, args.to_vec());
        if let Some(known) = self.outcomes.get(&key) {
            return Ok(known.clone());
        }
        let found = match self.subject.spec_outcomes(state, method, args) {
            Err(SpecStop::NotEnabled) => vec![],
            found => found?,
        };
        self.outcomes.insert(key, found.clone());
        Ok(found)
    }
}

/// Whether so many operations of so many threads have numbers of their own.
pub fn countable(threads: u32, operations: u32) -> bool {
    operations <= OPERATIONS && threads * OPERATIONS <= u64::BITS
}
