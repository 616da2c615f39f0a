//! The bounds of an exploration as words, and how many operations its threads can call.

use crate::options::{LAG, MemoryModel, Options, Synchronise};
use seriatim_lang::flow::successors;
use seriatim_lang::steps::{Op, Pc, Steps};
use seriatim_lang::{Program, lower};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The bounds of an exploration, as words.
pub fn bounds(program: &Program, options: &Options, steps: Option<&Steps>) -> String {
    let count =
        |number: u32, noun: &str| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
    let threads = steps.map_or(options.threads, |steps| steps.threads.len() as u32);
    let mut parts = vec![count(threads, "thread")];
    if let Some(client) = &options.client {
        parts.push(format!("client {client}"));
    }
    if let Some(capacity) = options.capacity {
        parts.push(format!("at most {} added to the object", count(capacity, "node")));
    }
    if let Some(nodes) = options.nodes {
        parts.push(format!("at most {} alive", count(nodes, "node")));
    }
    parts.push(count(options.values, "value"));
    parts.push(count(options.keys, "key"));
    if let Some(model) = options.memory {
        parts.push(format!("memory {}", model.text()));
    }
    let called = steps.map_or(Some(0), operations);
    let called = match options.operations.filter(|_| is_weak(options)) {
        None => called,
        most => called.min(most).or(most),
    };
    parts.push(match called {
        None => "any number of operations".to_owned(),
        Some(0) => "no operation".to_owned(),
        Some(most) => format!("at most {} a thread", count(most, "operation")),
    });
    if is_weak(options) {
        parts.push(
            match options.clients() {
                Synchronise::Nothing => "clients that synchronise nothing",
                Synchronise::Everything => "clients that synchronise every call",
                Synchronise::Anything => "clients that synchronise what they like",
            }
            .to_owned(),
        );
        if let Some(lag) = options.lag.or(options.operations.is_none().then_some(LAG)) {
            parts.push(format!("at most {} of a word in sight", count(lag, "value")));
        }
    }
    let constants = constants(program);
    if !constants.is_empty() {
        parts.push(constants);
    }
    parts.join(", ")
}

/// Whether a memory model is asked for that is weaker than sequential consistency.
fn is_weak(options: &Options) -> bool {
    options.memory.is_some_and(|model| model != MemoryModel::Sc)
}

/// The constants of a program as words: what was found out is about these values of them.
pub fn constants(program: &Program) -> String {
    let consts = program.facts.consts.iter();
    consts.map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

/// Whether some instruction of a method can wait, or a step of it need not end; if not, no object of
/// this program ever stands still. A step does not end in a loop without an access of its own: one
/// inside of `atomic`, or one over registers. That is an error (*local code that never ends*), but
/// who has not ruled the error out must not say either that nobody stands still.
pub fn can_wait(program: &Program) -> bool {
    let Ok(steps) = lower(program, 1, None) else { return true };
    let waits = |op: &Op| matches!(op, Op::Lock(_) | Op::Assume(_));
    let mut bodies = steps.methods.iter().map(|m| m.entry.0..m.end.0);
    bodies.any(|body| {
        let mut code = steps.code[body.start as usize..body.end as usize].iter();
        code.any(|instr| waits(&instr.op)) || has_endless_step(&steps, body)
    })
}

/// Whether a loop of a method contains no access that begins a step.
fn has_endless_step(steps: &Steps, body: Range<u32>) -> bool {
    let begins_step = |pc: u32| steps.code[pc as usize].accesses();
    let inside = |pc: u32| body.contains(&pc) && !begins_step(pc);
    // Whatever leads nowhere within the step is taken away; what is left goes round.
    let mut left: BTreeSet<u32> = body.clone().filter(|pc| inside(*pc)).collect();
    loop {
        let goes_on = |pc: &u32| {
            let next = successors(&steps.code[*pc as usize].op, Pc(*pc));
            next.iter().any(|next| left.contains(&next.0))
        };
        let stay: BTreeSet<u32> = left.iter().copied().filter(goes_on).collect();
        if stay.len() == left.len() {
            return !left.is_empty();
        }
        left = stay;
    }
}

/// The most operations that one thread can call; `None` if there is no end to them.
fn operations(steps: &Steps) -> Option<u32> {
    let mut calls = Calls { steps, known: BTreeMap::new() };
    steps.threads.iter().try_fold(0, |most, thread| Some(calls.longest(thread.entry)?.max(most)))
}

/// The calls of clients, as a graph: from each to those that may be next.
struct Calls<'s> {
    steps: &'s Steps,
    /// How many calls can be made from this one on; `None` while that is being found out.
    known: BTreeMap<Pc, Option<u32>>,
}

impl Calls<'_> {
    /// The most calls from a position on; `None` if one of them can be made again and again.
    fn longest(&mut self, from: Pc) -> Option<u32> {
        let mut most = 0;
        for call in self.next(from) {
            let own = match self.known.get(&call) {
                Some(known) => (*known)?,
                None => {
                    self.known.insert(call, None);
                    let own = 1 + self.longest(Pc(call.0 + 1))?;
                    self.known.insert(call, Some(own));
                    own
                }
            };
            most = most.max(own);
        }
        Some(most)
    }

    /// The calls that a client's code may make first, from a position on.
    fn next(&self, from: Pc) -> Vec<Pc> {
        let (mut todo, mut seen, mut found) = (vec![from], BTreeSet::from([from]), vec![]);
        while let Some(pc) = todo.pop() {
            let op = &self.steps.code[pc.0 as usize].op;
            match op {
                Op::Invoke { .. } => found.push(pc),
                _ => todo.extend(successors(op, pc).into_iter().filter(|next| seen.insert(*next))),
            }
        }
        found
    }
}
