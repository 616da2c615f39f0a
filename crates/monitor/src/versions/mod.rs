//! Histories whose results tell a version, decided along the versions.
//!
//! A service with a global version (etcd's revision, a log's offset) cannot be split by key, and
//! what times out is pending for ever: the general search tries which of hundreds of pending
//! operations happened. But completed operations say where they stand. Let φ be the version of a
//! state, and V1–V4 and P what the object declares of it (the table at
//! [`Versions`](seriatim_spec::Versions)).
//!
//! **Theorem.** A history is linearizable exactly if (1) no two updates tell one version, and no
//! operation of a later slot returned before one of an earlier slot was called ([`layout`]); and
//! (2) there is an injective choice of a pending operation for each gap up to the highest version
//! told, each called before everything in its slot and later ones returned, such that for each key
//! the sequence of its operations along the slots (told updates, chosen ones, reads) is right with
//! the versions in which they stand.
//!
//! *Proof.* By V1 and V2 every order has the completed operations in the order of their slots, so
//! (1) is necessary; and between two neighbours in it φ rises by one (V4), so exactly one operation
//! makes each gap's version. A pending operation that makes no version changes nothing (V3) and can
//! be left out, as can all that come after the highest version told. By P the whole order is right
//! exactly if the sequence of each key is, started at the initial state and stepped at the versions
//! of its slots. Conversely a choice as in (2) gives an order along the slots, with the reads of a
//! slot in the order of their calls, which respects real time by (1) and by what was asked of the
//! choice. ∎
//!
//! *Sparse versions.* If the version also rises by itself, V4 gives at most one operation for each
//! gap instead of exactly one, and the rest of the proof stands: read "a choice for some gaps".
//!
//! *Silent operations*: completed ones that tell no version. Each fills a gap while it lasts, or
//! stands somewhere without a change, or comes behind the highest version told. A key that has done
//! neither when it had to does not fit ([`standing`]): a condition that every order meets, so a *no*
//! stays one. For a *yes* those that fill no gap are put into the order that was found ([`silent`]).
//!
//! *Asides* change a part of the state at no version of its own ([`aside`]): they and those that look
//! at that part are put between the others.
//!
//! So keys interact only through which of them fills which gap: the engine looks ahead key by key
//! ([`key`]), then matches gaps and pending operations ([`search`]); where that is hard, it asks
//! whether keys contend for gaps in vain ([`contest`]). Keys that one operation touches together
//! count as one.
//!
//! What is trusted: a *yes* is replayed by the object's own steps on the whole state, so it rests
//! on no declaration. A *no* rests on them. V2, V3 and V4 are compared with every step that is
//! taken ([`steps`]), and P with steps of the whole object along the history ([`examine`]); a
//! mismatch ends in the general search instead. The core of a *no* is refuted once more by the
//! general search, which knows nothing of gaps and keys ([`core`]).

mod arrange;
mod aside;
mod contest;
mod core;
mod dues;
mod examine;
mod key;
mod layout;
mod search;
mod silent;
mod standing;
mod steps;
mod table;

use self::core::Core;
use crate::sabotage::{Sabotage, is_broken};
use arrange::arrange;
use key::{Filling, Keys, Used};
use layout::{Index, Layout};
use search::{Found, Search};
use seriatim_history::{History, Horizon, OpId};
use seriatim_limits::InOrder;
use seriatim_spec::{
    Cancel, Counterexample, Explanation, Interpretation, Rise, StateId, Stopped, Versioned,
};
use steps::Steps;

/// Looking ahead goes as deep as there are gaps, hence no deeper than there are pending operations.
/// With more of them than this it gets a thread with a stack of its own.
const SHALLOW: usize = 300;
const STACK: usize = 1 << 30;

/// What the engine finds.
pub(crate) enum Answer {
    /// An order, which nobody has replayed yet, with the version behind each operation.
    Linearizable(Vec<(OpId, u64)>),
    /// A violation, and whether the general search refutes its core, too.
    Violation(Counterexample, Confirmed),
    /// Nothing, for this reason.
    Declined(String),
    /// The object has no versions.
    NoVersions,
}

/// Whether the general search refutes the core of a violation by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Confirmed {
    /// It does.
    Yes,
    /// The core takes all operations, or too many for it.
    No,
}

/// Decides some operations of a history, if their object tells its version.
pub(crate) fn decide(
    history: &History,
    reading: &Interpretation,
    operations: &[OpId],
    cancel: &Cancel,
) -> Answer {
    let Some(automaton) = reading.alphabet.versioned() else { return Answer::NoVersions };
    let question = Question { history, reading, operations, cancel };
    question.on_a_deep_stack(automaton, Question::decide).unwrap_or_else(Answer::Declined)
}

/// Cores of the keys that cannot be completed, whatever the others do: one for each, in the order of
/// the keys' first operations; at most so many.
pub(crate) fn violated_keys(
    history: &History,
    reading: &Interpretation,
    operations: &[OpId],
    cancel: &Cancel,
    most: usize,
) -> Vec<Counterexample> {
    let Some(automaton) = reading.alphabet.versioned() else { return Vec::new() };
    let question = Question { history, reading, operations, cancel };
    let ask = |question: &Question<'_>| question.violated_keys(most);
    question.on_a_deep_stack(automaton, ask).unwrap_or_default()
}

/// Whether a completed operation tells a version.
fn automaton_tells(automaton: &dyn Versioned, reading: &Interpretation, op: OpId) -> bool {
    reading.class(op).is_some_and(|class| automaton.version(class).is_some())
}

struct Question<'q> {
    history: &'q History,
    reading: &'q Interpretation,
    operations: &'q [OpId],
    cancel: &'q Cancel,
}

impl Question<'_> {
    /// Asks on a stack that is as deep as looking ahead may be; `Err`: why it cannot be asked.
    fn on_a_deep_stack<T: Send>(
        &self,
        automaton: Box<dyn Versioned + '_>,
        ask: impl FnOnce(&Self) -> T + Send,
    ) -> Result<T, String> {
        let is_untold = |op: &&OpId| {
            self.history.ret(**op).is_none() || !automaton_tells(&*automaton, self.reading, **op)
        };
        let untold = self.operations.iter().filter(is_untold).count();
        drop(automaton);
        if untold <= SHALLOW {
            return Ok(ask(self));
        }
        std::thread::scope(|scope| {
            let builder = std::thread::Builder::new().stack_size(STACK);
            let asked = builder.spawn_scoped(scope, || self.cancel.during(|| ask(self)));
            match asked.map_err(|error| error.to_string())?.join() {
                Ok(answer) => answer.map_err(|Stopped(reason)| reason.to_string()),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        })
    }

    fn decide(&self) -> Answer {
        let Some(mut automaton) = self.reading.alphabet.versioned() else {
            return Answer::NoVersions;
        };
        let layout = Layout::new(self.history, self.reading, self.operations, &mut *automaton);
        let (layout, fault) = match layout {
            Ok(laid) => laid,
            Err(why) => return Answer::Declined(why),
        };
        if let Some(fault) = fault.filter(|_| !is_broken(Sabotage::BlindVersions)) {
            let core = Core::of_fault(&layout, fault);
            return self.violation(core, &mut *automaton);
        }
        let (start, _) = automaton.initial();
        let keys = arrange(&layout, &mut *automaton);
        let steps = Steps::new(automaton, self.cancel);
        let mut keys = Keys::new(&layout, steps, keys);
        let mut fillings: Vec<Filling> = Vec::with_capacity(keys.keys.len());
        let answer = search(&mut keys, start, &mut fillings);
        match (keys.steps.declined.take(), answer) {
            (Some(why), _) => Answer::Declined(why),
            (None, Outcome::Order(order)) => {
                let named =
                    order.iter().map(|&(index, version)| (layout.record(index).op, version));
                Answer::Linearizable(named.collect())
            }
            (None, Outcome::Open(why)) => Answer::Declined(why.to_owned()),
            (None, Outcome::Core(core)) => {
                let fillings = fillings.iter().copied().enumerate();
                if let Some(why) = examine::independence(&mut keys, start, fillings) {
                    return Answer::Declined(why);
                }
                self.violation(core, &mut *keys.steps.automaton)
            }
        }
    }

    /// See [`violated_keys`]. Where versions contradict each other, or what stands aside, no key is
    /// to blame.
    fn violated_keys(&self, most: usize) -> Vec<Counterexample> {
        let Some(mut automaton) = self.reading.alphabet.versioned() else { return Vec::new() };
        let layout = Layout::new(self.history, self.reading, self.operations, &mut *automaton);
        let Ok((layout, None)) = layout else { return Vec::new() };
        let (start, _) = automaton.initial();
        let keys = arrange(&layout, &mut *automaton);
        let steps = Steps::new(automaton, self.cancel);
        let mut keys = Keys::new(&layout, steps, keys);
        let (possible, contradiction) = aside::possible(&layout, &mut keys.steps, start);
        if contradiction.is_some() {
            return Vec::new();
        }
        keys.steps.possible = possible;
        let (mut cores, mut fillings) = (Vec::new(), Vec::new());
        for key in 0..keys.keys.len() {
            let first = keys.keys[key].start(start);
            match keys.viable(key, 0, first, &Used::new()) {
                Ok(filling) => fillings.push((key, filling)),
                Err(_) if cores.len() == most => break,
                Err(_) => cores.push(Core::of_key(&mut keys, key, start)),
            }
        }
        let is_declined = keys.steps.declined.is_some()
            || examine::independence(&mut keys, start, fillings.into_iter()).is_some();
        if is_declined {
            return Vec::new();
        }
        let violations =
            cores.into_iter().map(|core| self.violation(core, &mut *keys.steps.automaton));
        let found = violations.filter_map(|answer| match answer {
            Answer::Violation(core, _) => Some(core),
            _ => None,
        });
        found.collect()
    }

    /// A violation, if the general search does not find an order for its core; else one with a
    /// larger core, if there is one.
    fn violation(&self, core: Core, automaton: &mut dyn Versioned) -> Answer {
        match (core.confirm(self.history, automaton), core.otherwise) {
            (Some(confirmed), _) => {
                Answer::Violation(counterexample(core.sentence, core.operations), confirmed)
            }
            (None, Some(wide)) => self.violation(*wide, automaton),
            (None, None) => {
                Answer::Declined("the general search finds an order for its core".to_owned())
            }
        }
    }
}

fn counterexample(sentence: String, mut operations: Vec<OpId>) -> Counterexample {
    operations.put_in_order();
    // A read of several keys that count as one is there once for each of them.
    operations.dedup();
    let sentence = format!("No order explains everything that was recorded: {sentence}.");
    let explanation = Explanation::because(sentence);
    let horizon = Horizon::Whole;
    Counterexample { operations, horizon, context: None, explanation }
}

/// Looks at each key alone, and keeps what completes it; then at all together.
fn search(keys: &mut Keys<'_>, start: StateId, fillings: &mut Vec<Filling>) -> Outcome {
    if is_broken(Sabotage::BlindVersions) {
        return silent::place(keys, start, order(keys.layout, &[]));
    }
    if is_broken(Sabotage::UnfilledGaps) {
        return Outcome::Core(Core::of_gaps(keys.layout));
    }
    let (possible, contradiction) = aside::possible(keys.layout, &mut keys.steps, start);
    keys.steps.possible = possible;
    if let Some(core) = contradiction {
        return Outcome::Core(core);
    }
    for key in 0..keys.keys.len() {
        let first = keys.keys[key].start(start);
        match keys.viable(key, 0, first, &Used::new()) {
            Ok(filling) => fillings.push(filling),
            Err(_) => return Outcome::Core(Core::of_key(keys, key, start)),
        }
    }
    // To put asides into the first order that is found takes less than to ask whether one could be.
    let has_asides = !keys.layout.asides.is_empty();
    if has_asides
        && let Found::Filling(placed) = Search::new(keys, start, fillings)
            .run(EASY, |keys, filling| Some(aside::place(keys, start, filling)))
        && !matches!(placed, Outcome::Open(_))
    {
        return placed;
    }
    if let Some(core) = aside::contradiction(keys, start) {
        return Outcome::Core(core);
    }
    let has_few_gaps = keys.layout.gaps.len() <= FEW_GAPS;
    if has_few_gaps && contest::is_in_vain(keys, start) {
        return Outcome::Core(Core::of_gaps(keys.layout));
    }
    match attempts(keys, start, fillings, has_few_gaps) {
        Found::Filling(outcome) => outcome,
        Found::Nothing => Outcome::Core(Core::of_gaps(keys.layout)),
        Found::Refused => Outcome::Open("operations that tell no version fit nowhere"),
        Found::GaveUp => Outcome::Open("it takes too many steps"),
    }
}

/// Looks for a filling of all gaps in attempts, of which the last one is the longest.
fn attempts(
    keys: &mut Keys<'_>,
    start: StateId,
    fillings: &[Filling],
    was_contested: bool,
) -> Found<Outcome> {
    let mut search = Search::new(keys, start, fillings);
    let found = search.run(EASY, |keys, filling| placed(keys, start, filling));
    if !matches!(found, Found::GaveUp) {
        return found;
    }
    // It costs more than it saves where the first attempt ends.
    if !was_contested && contest::is_in_vain(search.keys(), start) {
        return Found::Nothing;
    }
    // Where every gap has to be filled, other choices do not help.
    let others = if search.keys().layout.rise == Rise::Sparse { ATTEMPTS } else { 0 };
    for attempt in (1..=others).chain([0]) {
        search.again(attempt, start, fillings);
        let limit = if attempt == 0 { NODES } else { EASY * (1 + attempt / 4) };
        let found = search.run(limit, |keys, filling| placed(keys, start, filling));
        if !matches!(found, Found::GaveUp) || search.keys().steps.declined.is_some() {
            return found;
        }
    }
    Found::GaveUp
}

/// A filling of the gaps with all silent operations in their places, or why there are none.
fn placed(keys: &mut Keys<'_>, start: StateId, filling: &[(u32, Index)]) -> Option<Outcome> {
    let outcome = match keys.layout.asides.is_empty() {
        true => silent::place(keys, start, order(keys.layout, filling)),
        false => aside::place(keys, start, filling),
    };
    match outcome {
        Outcome::Open(_) => None,
        outcome => Some(outcome),
    }
}

/// Up to so many gaps it is asked first whether keys contend for them in vain.
const FEW_GAPS: usize = 8;

/// How many gaps may be entered, besides once each, before that is asked of more; and before the
/// engine gives way to the general search.
const EASY: u64 = 2_000;
const NODES: u64 = 400_000;

/// How many attempts are made with other choices, before one that goes on to the end.
const ATTEMPTS: u64 = 40;

enum Outcome {
    /// An order of operations, each with the version of the object behind it.
    Order(Vec<(Index, u64)>),
    Core(Core),
    /// Nothing, for this reason.
    Open(&'static str),
}

/// The operations along the slots, with a filling of the gaps.
fn order(layout: &Layout, filling: &[(u32, Index)]) -> Vec<(Index, u64)> {
    let mut updates = layout.updates.clone();
    filling.iter().for_each(|&(slot, index)| updates[slot as usize] = Some(index));
    let mut order = Vec::with_capacity(layout.records.len());
    for ((update, reads), slot) in updates.iter().zip(&layout.reads).zip(0..) {
        let mut reads = reads.clone();
        reads.put_in_order_by_key(|&index| layout.record(index).call);
        order.extend(update.iter().chain(&reads).map(|&index| (index, layout.version(slot))));
    }
    order
}
