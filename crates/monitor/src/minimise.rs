//! From a part that is not linearizable to a small one that shows it.
//!
//! Every reduction is *fair*: if the smaller history is not linearizable, neither is the larger one.
//! 1. *Prefix*: linearizability is closed under prefixes, so the shortest bad prefix is found by
//!    bisection. Operations open at its end are pending.
//! 2. *Values*: where the specification treats values alike ([`Spec::data`](seriatim_spec::Spec)),
//!    all operations that name a value are taken out together; values that an operation ties together
//!    go together.
//! 3. *Read-only operations* are taken out one by one: without them every order stays right.
//! 4. *Context*: the breadth-first search knows operations that can be taken first without loss. They
//!    are replaced by the state that they leave.
//!
//! Taking out any other operation (a write whose value is still read) would make evidence up, so it is
//! not done. A reduction whose check runs out of effort is not made.

use crate::search::{Engine, Memory, Part, Progress, Strategy, explain};
use hashbrown::HashMap;
use seriatim_history::{History, Horizon, OpId, Time};
use seriatim_spec::{
    Cancel, ClassId, Context, Counterexample, Explanation, Interpretation, Reader,
};

/// The expansions that one check of a candidate may take.
const EFFORT: u64 = 300_000;

/// Makes a violating part small. `cancel` and `memory` bound the work: when they run out, what was
/// reached is given.
pub fn minimise(
    history: &History,
    reader: &dyn Reader,
    operations: &[OpId],
    cancel: &Cancel,
    memory: &Memory,
) -> Counterexample {
    let mut shrinker = Shrinker { history, reader, cancel, memory };
    let mut candidate = Candidate { operations: operations.to_vec(), horizon: Horizon::Whole };
    shrinker.shorten(&mut candidate);
    shrinker.take_out_values(&mut candidate);
    shrinker.take_out_read_only(&mut candidate);
    shrinker.conclude(candidate)
}

/// Adds to a small counterexample the partial orders that go farthest and where each fails.
pub fn illustrate(history: &History, reader: &dyn Reader, counterexample: &mut Counterexample) {
    if counterexample.operations.len() > LARGEST_ILLUSTRATED {
        return;
    }
    let mut part = history.restricted(&counterexample.operations, counterexample.horizon);
    let Ok(reading) = reader.read(&mut part) else { return };
    let operations: Vec<OpId> = reading.operations().collect();
    let (_, mut attempts) = explain(&Part::new(&part, &reading, &operations));
    let rename = |op: &mut OpId| *op = counterexample.operations[op.index()];
    for attempt in &mut attempts {
        attempt.order.iter_mut().for_each(rename);
        attempt.stuck.iter_mut().for_each(|(op, _)| rename(op));
    }
    counterexample.explanation.attempts = attempts;
}

/// Counterexamples of more operations are not illustrated: nobody reads their orders.
const LARGEST_ILLUSTRATED: usize = 40;

/// A sub-history: some operations, up to a horizon.
#[derive(Clone)]
struct Candidate {
    operations: Vec<OpId>,
    horizon: Horizon,
}

struct Shrinker<'a> {
    history: &'a History,
    reader: &'a dyn Reader,
    cancel: &'a Cancel,
    memory: &'a Memory,
}

impl Shrinker<'_> {
    /// Finds the shortest bad prefix.
    fn shorten(&mut self, candidate: &mut Candidate) {
        let mut returns: Vec<Time> =
            candidate.operations.iter().filter_map(|&op| self.history.ret(op)).collect();
        returns.sort_unstable();
        returns.dedup();
        let (mut good, mut bad) = (0, returns.len());
        while good < bad {
            let middle = (good + bad) / 2;
            if self.is_violation(&self.prefix(candidate, returns[middle])) {
                bad = middle;
            } else {
                good = middle + 1;
            }
        }
        if let Some(&end) = returns.get(bad) {
            *candidate = self.prefix(candidate, end);
        }
    }

    fn prefix(&self, candidate: &Candidate, end: Time) -> Candidate {
        let called =
            candidate.operations.iter().copied().filter(|&op| self.history.call(op) <= end);
        Candidate { operations: called.collect(), horizon: Horizon::Until(end) }
    }

    /// Takes out whole values, large lots first.
    fn take_out_values(&mut self, candidate: &mut Candidate) {
        let mut lots = self.value_lots(candidate);
        // Values that occur late are those that the violation is about: try the early ones first.
        lots.sort_by_key(|lot| *lot.iter().max().expect("no lot is empty"));
        self.take_out(candidate, lots);
    }

    fn take_out_read_only(&mut self, candidate: &mut Candidate) {
        let mut part = self.restricted(candidate);
        let Ok(reading) = self.reader.read(&mut part) else { return };
        let is_read_only = |index: usize| {
            reading
                .class(OpId::from(index))
                .is_none_or(|class| reading.alphabet.is_read_only(class))
        };
        let lots = candidate.operations.iter().enumerate();
        let lots = lots.filter(|&(index, _)| is_read_only(index)).map(|(_, &op)| vec![op]);
        let lots = lots.collect();
        self.take_out(candidate, lots);
    }

    /// Takes out as many lots as possible: halves, quarters, … down to single ones.
    fn take_out(&mut self, candidate: &mut Candidate, mut lots: Vec<Vec<OpId>>) {
        let mut size = lots.len().div_ceil(2);
        while size > 0 {
            let mut start = 0;
            while start < lots.len() {
                let end = (start + size).min(lots.len());
                let mut smaller = candidate.clone();
                let gone: Vec<OpId> = lots[start..end].concat();
                smaller.operations.retain(|op| !gone.contains(op));
                if self.is_violation(&smaller) {
                    *candidate = smaller;
                    lots.drain(start..end);
                } else {
                    start = end;
                }
            }
            size /= 2;
        }
    }

    /// The operations of each value, or of values that some operation ties together.
    fn value_lots(&self, candidate: &Candidate) -> Vec<Vec<OpId>> {
        let mut part = self.restricted(candidate);
        let Ok(reading) = self.reader.read(&mut part) else { return Vec::new() };
        let mut lot_of: HashMap<u64, usize> = HashMap::new();
        let mut lots: Vec<Vec<OpId>> = Vec::new();
        for (index, &op) in candidate.operations.iter().enumerate() {
            let class = reading.class(OpId::from(index));
            let values = class.map(|class| reading.alphabet.data(class)).unwrap_or_default();
            let Some(&first) = values.first() else { continue };
            let target = *lot_of.entry(first).or_insert_with(|| {
                lots.push(Vec::new());
                lots.len() - 1
            });
            lots[target].push(op);
            for value in &values[1..] {
                let other = *lot_of.entry(*value).or_insert(target);
                if other != target {
                    let moved = std::mem::take(&mut lots[other]);
                    lots[target].extend(moved);
                    lot_of.values_mut().filter(|lot| **lot == other).for_each(|lot| *lot = target);
                }
            }
        }
        lots.retain(|lot| !lot.is_empty());
        lots
    }

    fn restricted(&self, candidate: &Candidate) -> History {
        self.history.restricted(&candidate.operations, candidate.horizon)
    }

    /// Whether a candidate is known not to be linearizable.
    fn is_violation(&self, candidate: &Candidate) -> bool {
        if self.cancel.is_raised() {
            return false;
        }
        let mut history = self.restricted(candidate);
        let Ok(reading) = self.reader.read(&mut history) else { return false };
        let operations: Vec<OpId> = reading.operations().collect();
        let part = Part::new(&history, &reading, &operations);
        [Strategy::DepthFirst, Strategy::BreadthFirst]
            .into_iter()
            .map(|strategy| {
                let mut engine = Engine::new(&part, strategy, self.cancel);
                let progress = engine.run(EFFORT, self.cancel, self.memory);
                engine.retire(self.memory);
                progress
            })
            .find(|progress| matches!(progress, Progress::Found(_) | Progress::Exhausted))
            .is_some_and(|progress| matches!(progress, Progress::Exhausted))
    }

    /// Replaces what comes first without loss by the state that it leaves, and explains the rest.
    fn conclude(&mut self, candidate: Candidate) -> Counterexample {
        let mut history = self.restricted(&candidate);
        let reading = self.reader.read(&mut history).ok();
        let reading = reading.as_ref();
        let original = |op: OpId| candidate.operations[op.index()];
        let mut operations: Vec<OpId> = reading.into_iter().flat_map(|r| r.operations()).collect();
        let mut context = None;
        let mut explanation = Explanation::default();
        if let Some(reading) = reading {
            let preamble = self.preamble(&history, reading, &operations);
            operations.retain(|op| !preamble.contains(op));
            let classes: Vec<ClassId> =
                preamble.iter().filter_map(|&op| reading.class(op)).collect();
            let part = Part::new(&history, reading, &operations).after(classes);
            let (state, attempts) = explain(&part);
            if !preamble.is_empty() {
                let order = preamble.iter().map(|&op| original(op)).collect();
                context = Some(Context { order, state });
            }
            explanation = explained(&history, reading, &operations, attempts);
        }
        let rename = |op: &mut OpId| *op = original(*op);
        operations.iter_mut().for_each(rename);
        for attempt in &mut explanation.attempts {
            attempt.order.iter_mut().for_each(rename);
            attempt.stuck.iter_mut().for_each(|(op, _)| rename(op));
        }
        Counterexample { operations, horizon: candidate.horizon, context, explanation }
    }

    /// Operations that can be taken first without loss, where that makes the rest much smaller and
    /// the specification leaves no choice in them.
    fn preamble(
        &self,
        history: &History,
        reading: &Interpretation,
        operations: &[OpId],
    ) -> Vec<OpId> {
        let part = Part::new(history, reading, operations);
        let mut engine = Engine::new(&part, Strategy::BreadthFirst, self.cancel);
        let progress = engine.run(EFFORT, self.cancel, self.memory);
        let settled = engine.settled();
        engine.retire(self.memory);
        let is_refuted = matches!(progress, Progress::Exhausted);
        let mut automaton = reading.alphabet.automaton(self.cancel);
        let mut state = automaton.initial();
        for class in settled.iter().filter_map(|&op| reading.class(op)) {
            let mut next = Vec::new();
            automaton.step(state, class, &mut next);
            match next[..] {
                [only] => state = only,
                _ => return Vec::new(),
            }
        }
        if is_refuted && settled.len() >= SMALL { settled } else { Vec::new() }
    }
}

/// A history of fewer operations is shown whole.
const SMALL: usize = 8;

/// The sentence that says why, from the attempts.
fn explained(
    history: &History,
    reading: &Interpretation,
    operations: &[OpId],
    attempts: Vec<seriatim_spec::Attempt>,
) -> Explanation {
    let classes: Vec<ClassId> = operations.iter().filter_map(|&op| reading.class(op)).collect();
    if let Some((class, reason)) = reading.alphabet.inexplicable(&classes) {
        let culprit = operations.iter().find(|&&op| reading.class(op) == Some(class));
        let culprit = culprit.map(|&op| history.operation(op).to_string()).unwrap_or_default();
        return Explanation { sentence: format!("{culprit} cannot be: {reason}"), attempts };
    }
    let stuck = attempts.iter().find_map(|attempt| attempt.stuck.first());
    let sentence = match stuck {
        Some((op, reason)) => format!(
            "every order of these operations fails; the longest gets stuck at {}: {reason}",
            history.operation(*op)
        ),
        None => "every order of these operations fails".to_owned(),
    };
    Explanation { sentence, attempts }
}
