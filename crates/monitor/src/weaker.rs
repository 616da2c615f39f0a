//! Orders that need not respect real time: sequential consistency, and less.
//!
//! **Definition.** A history is *sequentially consistent* (Lamport 1979) if some order of its
//! operations keeps the order of every process and is right for the object: every completed
//! operation stands in it once, and of those that never returned some. With [`Order::Nothing`] any
//! order will do.
//!
//! **Clocks that differ.** Widened intervals ([`History::widen`]) say less than is known: one clock
//! timed all operations of a process. [`Order::Skewed`] asks for both, the widened real time and the
//! order of each process. The engines decide the first alone. Their *no* stands: more is asked than
//! they refute. Their order is kept if it keeps the processes' order by chance; else there is a
//! search ([`keep_turns`]), and where that is too much the answer is one to the weaker question, and
//! says so.
//!
//! **Search.** Depth first through all orders that the processes allow; a configuration is how far
//! each process has come, which pending operations have taken effect, and the state of every
//! object. One that was met before is not searched again. Two facts make it smaller:
//! - *An operation that may come next and never changes any state comes next.* (In any order that
//!   goes on from here it can be moved to the front: it is the next of its process, and nothing
//!   else notices it. A write that happens to leave the state as it is must not: later it may be
//!   needed.)
//! - *Without any order, operations of one class are interchangeable*, so each class is taken for a
//!   process of its own.
//!
//! **What is not done.** The history is not split: sequential consistency is not local, neither for
//! objects nor for keys (Herlihy and Wing 1990, section 3.3), so an order of each part says nothing
//! of the whole. A part without an order does refute the whole (drop the others from an order of
//! all), and [`Order::Nothing`] can be split, since nothing binds the parts together. The monitors,
//! and prefixes of the history, speak of real time: they are not asked, except that an order which
//! respects real time respects the processes too.
//!
//! **Evidence.** An order is [replayed](seriatim_spec::replay_under) under the order that was asked
//! for; a violation is made smaller only by taking out operations that change nothing and all
//! operations of a value, where the object treats values alike, and is
//! [refuted](seriatim_spec::refute_under) once more.

use crate::check::check;
use crate::grounds::NO_ORDER;
use crate::options::{Detail, Options};
use crate::partition::{Part, Partitioning, partition};
use crate::sabotage::{Sabotage, is_broken};
use crate::search::Memory;
use hashbrown::{HashMap, HashSet};
use seriatim_history::{History, Horizon, InputError, OpId, Outcome, Time};
use seriatim_limits::InOrder;
use seriatim_spec::{
    Attempt, Automaton, Cancel, Checked, ClassId, Confirmation, Counterexample, DecidedBy,
    Explanation, Interpretation, Limit, Order, PartStanding, PartVerdict, Reader, Refutation,
    StateId, Stopped, Strategy, Unknown, Verdict, Witness, refute_under, replay_under,
};
use std::time::Duration;

/// What is known of a history under an order weaker than real time.
#[derive(Clone, Debug)]
pub struct Weaker {
    /// Whether there is such an order. (Here *linearizable* means: there is one.)
    pub verdict: Verdict,
    /// What stands behind a violation besides the search.
    pub confirmation: Option<Confirmation>,
    /// Whether even real time is respected.
    pub is_linearizable: bool,
    /// The number of configurations that the search met.
    pub configurations: usize,
}

/// How long an order that respects real time is looked for first.
const FIRST: Duration = Duration::from_secs(2);

/// The configurations that one look at a smaller violation may meet.
const LOOK: usize = 100_000;

/// The configurations that the second opinion may meet.
const SECOND: usize = 200_000;

/// Decides whether a history has an order that respects `order`.
///
/// # Errors
/// If the specification cannot read the history, or processes are asked for and the log names none.
pub fn check_under(
    history: &mut History,
    reader: &dyn Reader,
    order: Order,
    options: &Options<'_>,
) -> Result<Weaker, InputError> {
    if order == Order::Process && !history.names_processes() {
        let expected = "operations with their processes, for an order of each process";
        return Err(InputError::syntax(history.source(), 0, expected, "a log that names none"));
    }
    let cancel = options.request();
    if let Some(found) = in_real_time(history, reader, order, options)? {
        return Ok(found);
    }
    let reading = reader.read(history)?;
    let memory = Memory::new(options.memory);
    let effort = usize::MAX;
    let search =
        Question { history, reading: &reading, order, effort, cancel: &cancel, memory: &memory };
    let (answer, configurations) = search.answer();
    let (verdict, confirmation) = match answer {
        Answer::Order(witness) => (replayed(history, reader, witness, (order, &cancel))?, None),
        Answer::Open(limit) => (unknown(limit, None), None),
        // A missing operation may explain what nothing else does.
        Answer::None(_) if history.missing_logs() > 0 => (unknown(Limit::Incomplete, None), None),
        Answer::None(operations) => conclude(&search, reader, operations, options)?,
    };
    Ok(Weaker { verdict, confirmation, is_linearizable: false, configurations })
}

/// What a verdict says of the order of each process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Turns {
    /// It was asked for, and the verdict answers that.
    Kept,
    /// Nobody asked: stamps tell it, or nobody knows it (the log names no processes, or one did two
    /// things at once).
    NotAsked,
    /// It was asked for in vain: the verdict is on the widened intervals alone.
    Open,
}

/// The configurations that the search for an order may meet which keeps the processes' order, too.
const IN_TURN: usize = 300_000;

/// Asks of a widened history that was accepted for an order that keeps the order of each process.
///
/// # Errors
/// If the specification cannot read the history.
pub fn keep_turns(
    history: &mut History,
    reader: &dyn Reader,
    checked: Checked,
    options: &Options<'_>,
) -> Result<(Checked, Turns), InputError> {
    let Verdict::Linearizable(found) = &checked.verdict else { return Ok((checked, Turns::Kept)) };
    if !history.keeps_turns() {
        return Ok((checked, Turns::NotAsked));
    }
    let witness = Witness { order: found.order.clone() };
    let cancel = options.request();
    let replay = || replay_under(history, reader, witness, Order::Skewed);
    let Ok(kept) = cancel.patient().during(replay) else { return Ok((checked, Turns::Open)) };
    if kept?.is_ok() {
        return Ok((checked, Turns::Kept));
    }
    let reading = reader.read(history)?;
    let memory = Memory::new(options.memory);
    let (order, effort) = (Order::Skewed, IN_TURN);
    let search =
        Question { history, reading: &reading, order, effort, cancel: &cancel, memory: &memory };
    let (answer, configurations) = search.answer();
    let (verdict, confirmation) = match answer {
        Answer::Order(witness) => (replayed(history, reader, witness, (order, &cancel))?, None),
        Answer::Open(_) => return Ok((checked, Turns::Open)),
        Answer::None(_) if history.missing_logs() > 0 => (unknown(Limit::Incomplete, None), None),
        Answer::None(operations) => conclude(&search, reader, operations, options)?,
    };
    let configurations = checked.configurations + configurations;
    let parts = vec![the_whole(history, &verdict)];
    Ok((Checked { verdict, confirmation, configurations, parts, ..checked }, Turns::Kept))
}

/// A verdict on a history that was not split.
fn the_whole(history: &History, verdict: &Verdict) -> PartVerdict {
    let by_search = DecidedBy::Search(Strategy::DepthFirst);
    let (standing, decided_by) = match verdict {
        Verdict::Linearizable(_) => (PartStanding::Linearizable, by_search),
        Verdict::Violation(_) => (PartStanding::Violation, by_search),
        Verdict::Unknown(_) => (PartStanding::Open, DecidedBy::Nobody),
    };
    let (label, operations, fell_back) = (String::new(), history.len(), None);
    PartVerdict { label, operations, standing, decided_by, fell_back }
}

/// The answer, if there is even an order that respects real time.
fn in_real_time(
    history: &mut History,
    reader: &dyn Reader,
    order: Order,
    options: &Options<'_>,
) -> Result<Option<Weaker>, InputError> {
    let time = Some(options.time.map_or(FIRST, |time| time.min(FIRST)));
    let strategies = options.strategies.clone();
    let plain = Options { time, strategies, detail: Detail::Plain, observer: None, ..*options };
    let checked = check(&mut history.clone(), reader, &plain)?;
    let Verdict::Linearizable(found) = checked.verdict else { return Ok(None) };
    let witness = Witness { order: found.order.clone() };
    let configurations = checked.configurations;
    let replay = || replay_under(history, reader, witness, order);
    let Ok(replayed) = options.request().patient().during(replay) else { return Ok(None) };
    Ok(replayed?.ok().map(|replayed| Weaker {
        verdict: Verdict::Linearizable(replayed),
        confirmation: None,
        is_linearizable: true,
        configurations,
    }))
}

/// The verdict of an order that was found.
fn replayed(
    history: &mut History,
    reader: &dyn Reader,
    witness: Witness,
    (order, cancel): (Order, &Cancel),
) -> Result<Verdict, InputError> {
    let replay = || replay_under(history, reader, witness, order);
    Ok(match cancel.patient().during(replay) {
        Ok(replayed) => match replayed? {
            Ok(replayed) => Verdict::Linearizable(replayed),
            Err(invalid) => unknown(Limit::Defect, Some(invalid.to_string())),
        },
        Err(Stopped(reason)) => unknown(reason.into(), None),
    })
}

fn unknown(limit: Limit, defect: Option<String>) -> Verdict {
    let (decided, open) = (Vec::new(), Vec::new());
    Verdict::Unknown(Unknown { limit, linearizable_events: 0, decided, open, defect })
}

/// Makes a violation smaller and asks for a second opinion.
fn conclude(
    question: &Question<'_>,
    reader: &dyn Reader,
    operations: Vec<OpId>,
    options: &Options<'_>,
) -> Result<(Verdict, Option<Confirmation>), InputError> {
    let operations = match options.detail {
        Detail::Plain => operations,
        Detail::Minimal => {
            let cancel = &question.cancel.within(options.explain);
            Question { cancel, ..*question }.smaller(operations)
        }
    };
    let mut excerpt = question.history.restricted(&operations, Horizon::Whole);
    let refute = || refute_under(&mut excerpt, reader, question.order, SECOND);
    let refuted = question.cancel.patient().during(refute);
    let confirmation = match refuted.unwrap_or(Ok(Refutation::TooLarge))? {
        Refutation::Confirmed => Confirmation::Core,
        Refutation::TooLarge => Confirmation::None,
        Refutation::Contradicted => {
            let defect = "the second checker finds an order for what is called a violation";
            return Ok((unknown(Limit::Defect, Some(defect.to_owned())), None));
        }
    };
    let explanation = question.explanation(&operations);
    let (horizon, context) = (Horizon::Whole, None);
    let core = Counterexample { operations, horizon, context, explanation };
    Ok((Verdict::Violation(core), Some(confirmation)))
}

enum Answer {
    /// There is this order.
    Order(Witness),
    /// There is none of these operations.
    None(Vec<OpId>),
    /// Nobody knows.
    Open(Limit),
}

struct Question<'q> {
    history: &'q History,
    reading: &'q Interpretation,
    order: Order,
    /// The configurations that the search of the whole may meet.
    effort: usize,
    cancel: &'q Cancel,
    memory: &'q Memory,
}

impl Question<'_> {
    /// Looks at the parts, where they say something, and then at the whole.
    fn answer(&self) -> (Answer, usize) {
        let parts = partition(self.history, self.reading, Partitioning::ByKey);
        let mut configurations = 0;
        let mut orders = Vec::new();
        if parts.len() > 1 {
            let effort = if self.order == Order::Nothing { usize::MAX } else { LOOK };
            for Part { operations, .. } in &parts {
                let (outcome, met) = self.search(operations, effort);
                configurations += met;
                match outcome {
                    Finding::Exhausted(_) => {
                        return (Answer::None(operations.clone()), configurations);
                    }
                    Finding::Stopped(limit) if self.order == Order::Nothing => {
                        return (Answer::Open(limit), configurations);
                    }
                    Finding::Found(order) => orders.extend(order),
                    Finding::Stopped(_) => {}
                }
            }
            if self.order == Order::Nothing {
                return (Answer::Order(Witness { order: orders }), configurations);
            }
        }
        let all: Vec<OpId> = self.reading.operations().collect();
        let (outcome, met) = self.search(&all, self.effort);
        let answer = match outcome {
            Finding::Found(order) => Answer::Order(Witness { order }),
            Finding::Exhausted(_) => Answer::None(all),
            Finding::Stopped(limit) => Answer::Open(limit),
        };
        (answer, configurations + met)
    }

    fn search(&self, operations: &[OpId], effort: usize) -> (Finding, usize) {
        let searched = self.cancel.during(|| {
            let mut search = Search::new(self, operations);
            let outcome = search.run(effort, self.cancel, self.memory);
            let met = search.seen.len();
            self.memory.report(&mut search.reported, 0);
            (outcome, met)
        });
        searched.unwrap_or_else(|Stopped(reason)| (Finding::Stopped(reason.into()), 0))
    }

    fn is_violated(&self, operations: &[OpId]) -> bool {
        matches!(self.search(operations, LOOK).0, Finding::Exhausted(_))
    }

    /// Takes out operations that change nothing, and all operations of a value, as long as the rest
    /// has no order.
    fn smaller(&self, operations: Vec<OpId>) -> Vec<OpId> {
        let mut best = operations;
        for group in self.groups(&best) {
            if self.cancel.is_raised() {
                break;
            }
            let rest: Vec<OpId> =
                best.iter().copied().filter(|op| group.binary_search(op).is_err()).collect();
            if rest.len() < best.len() && !rest.is_empty() && self.is_violated(&rest) {
                best = rest;
            }
        }
        best
    }

    /// What may be taken out together: the operations of values that are tied together, then single
    /// operations that change nothing.
    fn groups(&self, operations: &[OpId]) -> Vec<Vec<OpId>> {
        let alphabet = &self.reading.alphabet;
        let class = |op: OpId| self.reading.class(op);
        let mut by_value: HashMap<u64, Vec<OpId>> = HashMap::new();
        let mut ties: HashMap<u64, u64> = HashMap::new();
        for &op in operations {
            let data = class(op).map(|class| alphabet.data(class)).unwrap_or_default();
            for &value in &data {
                by_value.entry(value).or_default().push(op);
                let (a, b) = (root(&mut ties, data[0]), root(&mut ties, value));
                ties.insert(a, b);
            }
        }
        let mut groups: HashMap<u64, Vec<OpId>> = HashMap::new();
        for (value, ops) in by_value {
            groups.entry(root(&mut ties, value)).or_default().extend(ops);
        }
        let mut groups: Vec<Vec<OpId>> = groups.into_values().collect();
        groups.iter_mut().for_each(|group| {
            group.put_in_order();
            group.dedup();
        });
        groups.put_in_order();
        let is_silent = |op: &OpId| class(*op).is_some_and(|class| alphabet.is_read_only(class));
        groups.extend(operations.iter().copied().filter(is_silent).map(|op| vec![op]));
        groups
    }

    fn explanation(&self, operations: &[OpId]) -> Explanation {
        let sentence = match self.order {
            Order::Process | Order::Skewed => {
                "no order that keeps the order of each process explains these operations"
            }
            _ => NO_ORDER,
        };
        let attempts = match self.search(operations, LOOK).0 {
            Finding::Exhausted(attempt) => vec![attempt],
            _ => Vec::new(),
        };
        Explanation { sentence: sentence.to_owned(), attempts }
    }
}

/// The value that stands for all that are tied to one.
fn root(ties: &mut HashMap<u64, u64>, value: u64) -> u64 {
    let mut value = value;
    while let Some(&next) = ties.get(&value).filter(|&&next| next != value) {
        value = next;
    }
    value
}

enum Finding {
    Found(Vec<OpId>),
    /// There is no order; this one goes farthest.
    Exhausted(Attempt),
    Stopped(Limit),
}

/// One of the operations to be ordered.
#[derive(Clone, Copy)]
struct Item {
    op: OpId,
    class: ClassId,
    /// The object, or the key of it, whose state it changes.
    part: usize,
}

/// A pending operation: it may come once its process has come so far, or never.
struct Pending {
    item: Item,
    chain: usize,
    after: u32,
}

/// A step that may come next.
#[derive(Clone, Copy)]
struct Step {
    item: Item,
    /// The chain, or past all chains the pending operation, that it belongs to.
    place: usize,
    before: StateId,
    after: StateId,
}

/// A configuration on the way, and what was tried from it.
struct Frame {
    steps: Vec<Step>,
    next: usize,
}

struct Search<'q> {
    history: &'q History,
    order: Order,
    reading: &'q Interpretation,
    automaton: Box<dyn Automaton + 'q>,
    chains: Vec<Vec<Item>>,
    pending: Vec<Pending>,
    /// How far each chain has come, whether each pending operation has happened, and all states.
    configuration: Vec<u32>,
    left: usize,
    seen: HashSet<Box<[u32]>>,
    trail: Vec<OpId>,
    longest: Attempt,
    reported: usize,
}

impl<'q> Search<'q> {
    fn new(question: &Question<'q>, operations: &[OpId]) -> Self {
        let Question { history, reading, order, cancel, .. } = *question;
        let mut automaton = reading.alphabet.automaton(cancel);
        let is_split = |&op: &OpId| {
            reading.class(op).is_some_and(|class| reading.alphabet.key(class).is_some())
        };
        let is_split = operations.iter().all(is_split);
        let mut parts: HashMap<(u32, Option<u64>), usize> = HashMap::new();
        let mut index: HashMap<(bool, u32), usize> = HashMap::new();
        let (mut chains, mut pending) = (Vec::<Vec<Item>>::new(), Vec::new());
        for &op in operations {
            let Some(class) = reading.class(op) else { continue };
            let key = reading.alphabet.key(class).filter(|_| is_split);
            let count = parts.len();
            let part = *parts.entry((history.object(op).0, key)).or_insert(count);
            let of_class = order == Order::Nothing;
            let name = if of_class { class.0 } else { history.process(op).0 };
            let chain = *index.entry((of_class, name)).or_insert_with(|| {
                chains.push(Vec::new());
                chains.len() - 1
            });
            let item = Item { op, class, part };
            if history.outcome(op) == Outcome::Pending {
                let after = if of_class { 0 } else { chains[chain].len() as u32 };
                pending.push(Pending { item, chain, after });
            } else {
                chains[chain].push(item);
            }
        }
        let mut configuration = vec![0; chains.len() + pending.len()];
        configuration.extend(std::iter::repeat_n(automaton.initial().0, parts.len()));
        let left = chains.iter().map(Vec::len).sum();
        let longest = Attempt { order: Vec::new(), state: String::new(), stuck: Vec::new() };
        let (seen, trail) = (HashSet::new(), Vec::new());
        Search {
            history,
            order,
            reading,
            automaton,
            chains,
            pending,
            configuration,
            left,
            seen,
            trail,
            longest,
            reported: 0,
        }
    }

    fn reads_only(&self, class: ClassId) -> bool {
        self.reading.alphabet.is_read_only(class)
    }

    fn state(&self, part: usize) -> StateId {
        StateId(self.configuration[self.chains.len() + self.pending.len() + part])
    }

    fn set_state(&mut self, part: usize, state: StateId) {
        let place = self.chains.len() + self.pending.len() + part;
        self.configuration[place] = state.0;
    }

    fn run(&mut self, effort: usize, cancel: &Cancel, memory: &Memory) -> Finding {
        if is_broken(Sabotage::NoOrder) {
            return Finding::Exhausted(self.longest.clone());
        }
        let mut stack = Vec::new();
        // Invariant: `trail` leads to the configuration at hand through the frames of the stack.
        loop {
            if self.left == 0 {
                return Finding::Found(self.trail.clone());
            }
            if let Some(limit) = self.limit(effort, cancel, memory) {
                return Finding::Stopped(limit);
            }
            let steps = match self.seen.insert(self.configuration.clone().into()) {
                true => self.steps(),
                false => Vec::new(),
            };
            stack.push(Frame { steps, next: 0 });
            while !self.advance(stack.last_mut().expect("one was pushed")) {
                stack.pop();
                let Some(frame) = stack.last() else {
                    return Finding::Exhausted(self.longest.clone());
                };
                self.undo(frame.steps[frame.next - 1]);
            }
        }
    }

    fn limit(&mut self, effort: usize, cancel: &Cancel, memory: &Memory) -> Option<Limit> {
        if self.seen.len() >= effort {
            return Some(Limit::Cancelled);
        }
        if !self.seen.len().is_multiple_of(256) {
            return None;
        }
        let width = size_of_val(&self.configuration[..]) + size_of::<Box<[u32]>>() + 16;
        let bytes = self.seen.len() * width + self.automaton.bytes();
        if !memory.report(&mut self.reported, bytes) {
            return Some(Limit::Memory);
        }
        cancel.reason().map(Limit::from)
    }

    /// What may come next, the earliest call first; only one, if that one changes nothing.
    fn steps(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut stuck = Vec::new();
        let mut after = Vec::new();
        let deadline = self.deadline();
        for place in 0..self.chains.len() {
            let come = self.configuration[place] as usize;
            let Some(&item) = self.chains[place].get(come) else { continue };
            if self.history.call(item.op) > deadline {
                continue;
            }
            let before = self.state(item.part);
            after.clear();
            self.automaton.step(before, item.class, &mut after);
            if after.is_empty() && is_broken(Sabotage::AnyResult) {
                after.push(before);
            }
            if !after.is_empty() && self.reads_only(item.class) {
                return vec![Step { item, place, before, after: before }];
            }
            if after.is_empty() {
                stuck.push(item);
            }
            steps.extend(after.iter().map(|&after| Step { item, place, before, after }));
        }
        steps.put_in_order_by_key(|step| step.item.op);
        for index in 0..self.pending.len() {
            let Pending { item, chain, after: needed } = self.pending[index];
            let place = self.chains.len() + index;
            let is_over = self.history.call(item.op) > deadline;
            if self.configuration[place] > 0 || self.configuration[chain] < needed || is_over {
                continue;
            }
            let before = self.state(item.part);
            after.clear();
            self.automaton.step(before, item.class, &mut after);
            let changed = after.iter().filter(|&&after| after != before);
            steps.extend(changed.map(|&after| Step { item, place, before, after }));
        }
        if steps.is_empty() {
            self.note_dead_end(&stuck);
        }
        steps
    }

    /// The earliest return of what is still to come: what was called later comes after it. (A
    /// process returns from one operation after another, so that the next of each tells.)
    fn deadline(&self) -> Time {
        if self.order != Order::Skewed {
            return Time::MAX;
        }
        let next = self.chains.iter().zip(&self.configuration);
        let next = next.filter_map(|(chain, &come)| chain.get(come as usize));
        next.filter_map(|item| self.history.ret(item.op)).min().unwrap_or(Time::MAX)
    }

    fn note_dead_end(&mut self, stuck: &[Item]) {
        if self.longest.order.len() > self.trail.len() || stuck.is_empty() {
            return;
        }
        let reason =
            |item: &Item| (item.op, self.automaton.explain(self.state(item.part), item.class));
        let parts: Vec<usize> = stuck.iter().map(|item| item.part).collect();
        let stuck: Vec<(OpId, String)> = stuck.iter().map(reason).collect();
        let state = self.automaton.show(self.state(parts[0]));
        self.longest = Attempt { order: self.trail.clone(), state, stuck };
    }

    fn advance(&mut self, frame: &mut Frame) -> bool {
        let Some(&Step { item, place, after, .. }) = frame.steps.get(frame.next) else {
            return false;
        };
        frame.next += 1;
        self.configuration[place] += 1;
        self.left -= usize::from(place < self.chains.len());
        self.set_state(item.part, after);
        self.trail.push(item.op);
        true
    }

    fn undo(&mut self, step: Step) {
        let Step { item, place, before, .. } = step;
        self.configuration[place] -= 1;
        self.left += usize::from(place < self.chains.len());
        self.set_state(item.part, before);
        self.trail.pop();
    }
}
