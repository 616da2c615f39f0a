//! Minimal counterexamples: from a part that is not linearizable to a small one that shows it.
//!
//! Every reduction is *fair*: if the smaller history is not linearizable, neither is the larger
//! one.
//! 1. *Prefix*: linearizability is closed under prefixes, so nothing after the first return at
//!    which the history goes wrong is needed. Operations open at that moment are pending. A
//!    monitor's counterexample may go wrong before the history does: it leaves out a pending `pop`,
//!    say, which could not have taken a value only because somebody else returns that value later.
//!    Nobody could follow such evidence, so the prefix is taken only if the whole part goes wrong
//!    in it.
//! 2. *Values*: where the specification treats values alike ([`Spec::data`](seriatim_spec::Spec)),
//!    all operations that name a value are taken out together; values that an operation ties
//!    together go together.
//! 3. *Read-only operations* are taken out one by one: without them every order stays right.
//! 4. *Context*: the breadth-first search knows operations that can be taken first without loss.
//!    They are replaced by the state that they leave.
//!
//! Values come first where that is cheap: what is left is decided at once, while a prefix of everything
//! may be as hard as everything, or harder.
//!
//! Taking out any other operation (a write whose value is still read) would make evidence up, so it
//! is not done. A reduction whose check runs out of effort is not made. The effort is counted in
//! configurations, so the result is the same on every machine and for any number of threads, unless
//! the time for explanations ends first; then it is the best that was reached.

use crate::fast::{self, Allowance, Object};
use crate::grounds::NO_ORDER;
use crate::sabotage::{Sabotage, is_broken};
use crate::search::{Engine, Memory, Part, Progress, Strategy, explain};
use hashbrown::{HashMap, HashSet};
use seriatim_history::{Event, History, Horizon, OpId, Time};
use seriatim_limits::InOrder;
use seriatim_spec::{
    Cancel, Claim, ClassId, Context, Counterexample, Explanation, Interpretation, LeftOut, Reader,
};

/// The expansions that one check of a candidate may take in each direction.
const EFFORT: u64 = 30_000;

/// The work that a monitor that branches may do for one candidate before the search is asked.
const MONITOR_WORK: usize = 1 << 16;

/// The configurations that all checks together may meet.
const ALLOWANCE: u64 = 600_000;

/// The same for a first attempt to do without most values.
const FIRST_ALLOWANCE: u64 = 10_000;

/// Of a longer part, single operations are taken out only if nothing else makes it small.
const LONG: usize = 2_000;

/// What a part is made small with.
pub struct Shrinker<'a> {
    /// The history of the part.
    pub history: &'a History,
    /// All operations of the part.
    pub part: &'a [OpId],
    /// The specification.
    pub reader: &'a dyn Reader,
    /// The object whose monitor decides candidates, where there is one.
    pub object: Option<Object>,
    /// Ends the work; what was reached is given.
    pub cancel: &'a Cancel,
    /// Bounds the memory of the searches.
    pub memory: &'a Memory,
    /// The configurations that may still be met.
    pub left: u64,
    /// How hard a candidate is tried.
    effort: Effort,
}

/// How hard a candidate is tried.
#[derive(Clone, Copy)]
struct Effort {
    /// The expansions that one check may take in each direction.
    expansions: u64,
    /// How many operations are read for the price of a configuration.
    reading: u64,
}

/// What is worth it once nothing else helps.
const FULL: Effort = Effort { expansions: EFFORT, reading: u64::MAX };
/// What is worth it for an attempt that may be hopeless.
const LITTLE: Effort = Effort { expansions: 1_000, reading: 16 };

/// Makes a violation small: that of a part, or what a monitor made of it.
pub fn minimise(
    shrinker: &mut Shrinker<'_>,
    violation: Counterexample,
) -> (Counterexample, LeftOut) {
    let Counterexample { operations, horizon, .. } = &violation;
    let mut candidate = Candidate { operations: operations.clone(), horizon: *horizon };
    let mut left_out = LeftOut::default();
    let mut count = candidate.operations.len();
    let mut gone = |candidate: &Candidate| {
        let before = std::mem::replace(&mut count, candidate.operations.len());
        before - candidate.operations.len()
    };
    let is_all = operations.len() == shrinker.part.len();
    if is_all && operations.len() > FEW {
        shrinker.try_without_values(&mut candidate);
        left_out.values = gone(&candidate);
    }
    shrinker.shorten(&mut candidate, is_all);
    left_out.later = gone(&candidate);
    let mut best = shrinker.conclude(&candidate, left_out);
    let is_long = candidate.operations.len() > LONG && best.0.operations.len() < SMALL;
    if best.0.operations.len() > 1 && !is_long {
        shrinker.take_out_values(&mut candidate);
        left_out.values += gone(&candidate);
        shrinker.take_out_read_only(&mut candidate);
        left_out.read_only = gone(&candidate);
        let other = shrinker.conclude(&candidate, left_out);
        // Who reads a context has more to believe than who reads a few operations more.
        let context = |core: &Counterexample| if core.context.is_some() { SMALL / 2 } else { 0 };
        let size = |core: &Counterexample| core.operations.len() + context(core);
        if size(&other.0) <= size(&best.0) {
            best = other;
        }
    }
    let is_found = best.0.operations == violation.operations && best.0.context.is_none();
    if is_found && violation.explanation.sentence != NO_ORDER {
        // Whoever found it says it better.
        best.0.explanation.sentence = violation.explanation.sentence;
    }
    best
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

impl<'a> Shrinker<'a> {
    /// Ready to make parts of a history small.
    pub fn new(
        history: &'a History,
        reader: &'a dyn Reader,
        part: &'a [OpId],
        cancel: &'a Cancel,
        memory: &'a Memory,
    ) -> Self {
        let (object, left, effort) = (None, ALLOWANCE, FULL);
        Shrinker { history, part, reader, object, cancel, memory, left, effort }
    }

    /// Takes out whole values as long as that takes little effort.
    fn try_without_values(&mut self, candidate: &mut Candidate) {
        let left = std::mem::replace(&mut self.left, FIRST_ALLOWANCE);
        self.effort = LITTLE;
        self.take_out_values(candidate);
        self.effort = FULL;
        self.left = left.saturating_sub(FIRST_ALLOWANCE - self.left);
    }

    /// Finds the shortest bad prefix: small ones first, farther and farther, then by bisection. If
    /// nothing was left out but by fair reductions, the whole part goes wrong there as well.
    fn shorten(&mut self, candidate: &mut Candidate, is_fair: bool) {
        let mut returns: Vec<Time> =
            candidate.operations.iter().filter_map(|&op| self.history.ret(op)).collect();
        if let Horizon::Until(end) = candidate.horizon {
            returns.retain(|&ret| ret <= end);
        }
        returns.put_in_order();
        returns.dedup();
        let (mut good, mut step) = (self.first_suspect(candidate, &returns), 1);
        let mut bad = loop {
            let next = good + step - 1;
            if next >= returns.len() {
                break returns.len();
            }
            if self.is_violation(&self.prefix(candidate, returns[next])) {
                break next;
            }
            (good, step) = (next + 1, step * 2);
        };
        while good < bad {
            let middle = (good + bad) / 2;
            if self.is_violation(&self.prefix(candidate, returns[middle])) {
                bad = middle;
            } else {
                good = middle + 1;
            }
        }
        if is_broken(Sabotage::EarlyEnd) {
            bad = bad.saturating_sub(1);
        }
        let Some(&end) = returns.get(bad) else { return };
        let whole = Candidate { operations: self.part.to_vec(), horizon: candidate.horizon };
        let is_right = is_fair || is_broken(Sabotage::EarlyEnd);
        if is_right || self.is_violation(&self.prefix(&whole, end)) {
            *candidate = self.prefix(candidate, end);
        }
    }

    /// The first return at which the history may go wrong, as far as the breadth-first search
    /// knows: up to there it found an order.
    fn first_suspect(&mut self, candidate: &Candidate, returns: &[Time]) -> usize {
        if self.object.is_some() {
            return 0;
        }
        let mut history = self.restricted(candidate);
        let Ok(reading) = self.reader.read(&mut history) else { return 0 };
        let operations: Vec<OpId> = reading.operations().collect();
        let part = Part::new(&history, &reading, &operations);
        let mut engine = Engine::new(&part, Strategy::BreadthFirst, self.cancel);
        engine.run(EFFORT, self.cancel, self.memory);
        let known = engine.linearizable_events();
        self.spend(&engine);
        engine.retire(self.memory);
        let events = history.events_of(operations.iter().copied()).take(known);
        let last = events.filter_map(|event| match event {
            Event::Return(op) => history.ret(op),
            Event::Call(_) => None,
        });
        last.max().map_or(0, |last| returns.partition_point(|&ret| ret <= last))
    }

    fn spend(&mut self, engine: &Engine<'_>) {
        self.left = self.left.saturating_sub(engine.configurations() as u64);
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
        lots.put_in_order_by_key(|lot| *lot.iter().max().expect("no lot is empty"));
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
                if self.is_spent() {
                    return;
                }
                let end = (start + size).min(lots.len());
                let mut smaller = candidate.clone();
                let gone: HashSet<OpId> = lots[start..end].iter().flatten().copied().collect();
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

    /// Whether nothing more can be found out.
    fn is_spent(&self) -> bool {
        self.cancel.is_raised() || self.left == 0
    }

    /// Whether a candidate is known not to be linearizable.
    fn is_violation(&mut self, candidate: &Candidate) -> bool {
        if self.is_spent() {
            return false;
        }
        let mut history = self.restricted(candidate);
        if let Some(object) = self.object
            && let allowance = Allowance::new(MONITOR_WORK + 8 * history.len())
            && let part = fast::Part::whole(&history).within(&allowance)
            && let Ok(Ok(claim)) = self.cancel.during(|| fast::check(object, part))
        {
            // A monitor is fast, but not for nothing.
            self.left = self.left.saturating_sub(1 + history.len() as u64 / 16);
            return matches!(claim, Claim::Violation(_));
        }
        self.left = self.left.saturating_sub(history.len() as u64 / self.effort.reading);
        let Ok(reading) = self.reader.read(&mut history) else { return false };
        let operations: Vec<OpId> = reading.operations().collect();
        let part = Part::new(&history, &reading, &operations);
        for strategy in [Strategy::DepthFirst, Strategy::BreadthFirst] {
            let mut engine = Engine::new(&part, strategy, self.cancel);
            let expansions = self.effort.expansions.min(self.left);
            let progress = engine.run(expansions, self.cancel, self.memory);
            self.spend(&engine);
            engine.retire(self.memory);
            match progress {
                Progress::Exhausted => return true,
                Progress::Found(_) => return false,
                _ => {}
            }
        }
        false
    }

    /// Replaces what comes first without loss by the state that it leaves, and explains the rest.
    fn conclude(
        &mut self,
        candidate: &Candidate,
        mut left_out: LeftOut,
    ) -> (Counterexample, LeftOut) {
        let mut history = self.restricted(candidate);
        let reading = self.reader.read(&mut history).ok();
        let reading = reading.as_ref();
        let original = |op: OpId| candidate.operations[op.index()];
        let mut operations: Vec<OpId> = reading.into_iter().flat_map(|r| r.operations()).collect();
        let mut context = None;
        let mut explanation = Explanation::default();
        if let Some(reading) = reading {
            let cancel = self.cancel;
            let shown = || {
                let preamble = self.preamble(&history, reading, &operations);
                let first: HashSet<OpId> = preamble.iter().copied().collect();
                let rest: Vec<OpId> =
                    operations.iter().copied().filter(|op| !first.contains(op)).collect();
                let classes: Vec<ClassId> =
                    preamble.iter().filter_map(|&op| reading.class(op)).collect();
                let part = Part::new(&history, reading, &rest).after(classes);
                let (state, attempts) = explain(&part);
                (preamble, rest, state, attempts)
            };
            // Where there is no time for it, all operations are shown and no order of them.
            let unshown = |_| (Vec::new(), operations.clone(), String::new(), Vec::new());
            let (preamble, rest, state, attempts) = cancel.during(shown).unwrap_or_else(unshown);
            operations = rest;
            if !preamble.is_empty() {
                left_out.context = preamble.len();
                let order = preamble.iter().map(|&op| original(op)).collect();
                context = Some(Context { order, state });
            }
            explanation = explained(&history, reading, &preamble, &operations, attempts);
        }
        let rename = |op: &mut OpId| *op = original(*op);
        operations.iter_mut().for_each(rename);
        for attempt in &mut explanation.attempts {
            attempt.order.iter_mut().for_each(rename);
            attempt.stuck.iter_mut().for_each(|(op, _)| rename(op));
        }
        let horizon = candidate.horizon;
        (Counterexample { operations, horizon, context, explanation }, left_out)
    }

    /// Operations that can be taken first without loss, where that makes the rest much smaller and
    /// the specification leaves no choice in them.
    fn preamble(
        &mut self,
        history: &History,
        reading: &Interpretation,
        operations: &[OpId],
    ) -> Vec<OpId> {
        let part = Part::new(history, reading, operations);
        // Whoever looks ahead gives up long before the moment at which the history goes wrong.
        let blind = Engine::blind(&part, Strategy::BreadthFirst, self.cancel);
        let settled = self.settled(blind, operations.len()).or_else(|| {
            let engine = Engine::new(&part, Strategy::BreadthFirst, self.cancel);
            self.settled(engine, operations.len())
        });
        let settled = settled.filter(|settled| settled.len() >= SMALL).unwrap_or_default();
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
        settled
    }

    /// The operations that a search takes first without loss before it refutes a part.
    fn settled(&mut self, mut engine: Engine<'_>, operations: usize) -> Option<Vec<OpId>> {
        // Where one configuration follows another, the length of the part is no effort.
        let effort = EFFORT + 2 * operations as u64;
        let progress = engine.run(effort, self.cancel, self.memory);
        let settled = engine.settled();
        self.spend(&engine);
        engine.retire(self.memory);
        matches!(progress, Progress::Exhausted).then_some(settled)
    }
}

/// A history of fewer operations is shown whole.
const SMALL: usize = 8;

/// Of so few operations every prefix is decided at once.
const FEW: usize = 64;

/// The sentence that says why, from the attempts.
fn explained(
    history: &History,
    reading: &Interpretation,
    preamble: &[OpId],
    operations: &[OpId],
    attempts: Vec<seriatim_spec::Attempt>,
) -> Explanation {
    // What the context put there was put there, too.
    let all = preamble.iter().chain(operations);
    let classes: Vec<ClassId> = all.filter_map(|&op| reading.class(op)).collect();
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
