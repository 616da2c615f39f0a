//! A number that operations raise and lower by one and look at: a counter, a key of a multiset, a
//! semaphore.
//!
//! **Decides** whether such a history is linearizable, breadth first.
//!
//! **How.** A configuration is a count and the open operations that have taken effect. At a return
//! every configuration is extended until the returning operation has taken effect. Three things
//! keep them few: a query that fits the count takes effect at once, free of charge; of the open
//! raises only the one that returns first need be tried, and of the open lowerings likewise (two
//! that do the same and are both open can be swapped); and where nothing is open there is one
//! configuration.
//!
//! **Cost.** O(n · configurations); exponential in the queries open at once at worst.
//!
//! **Precondition.** At most 64 operations open at once and [`CONFIGURATIONS`] configurations, else
//! declined. Needs a recorded history: it looks ahead to see which operation returns first.

use super::shrink::shrink;
use super::violation::counterexample_until;
use super::{Declined, Part};
use hashbrown::HashMap;
use seriatim_history::{Event, History, Horizon, OpId, Time};
use seriatim_spec::{Verdict, Witness};

/// How an operation changes the count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Change {
    Same,
    Up,
    Down,
}

/// When an operation is possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Guard {
    None,
    Positive,
    Exactly(i64),
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Deed {
    pub op: OpId,
    pub change: Change,
    pub guard: Guard,
}

impl Deed {
    fn allows(&self, count: i64) -> bool {
        match self.guard {
            Guard::None => true,
            Guard::Positive => count > 0,
            Guard::Exactly(seen) => seen == count,
        }
    }

    fn apply(&self, count: i64) -> i64 {
        match self.change {
            Change::Same => count,
            Change::Up => count + 1,
            Change::Down => count - 1,
        }
    }
}

/// How many configurations there may be.
const CONFIGURATIONS: usize = 20_000;

/// Decides the deeds of a part, which are in call order; pending ones must not be queries.
pub(super) fn decide(part: &Part<'_>, deeds: &[Deed], initial: i64) -> Result<Verdict, Declined> {
    match order(part.history, deeds, initial)? {
        Ok(order) => Ok(Verdict::Linearizable(Witness { order })),
        Err(wrong) => Ok(violation(part.history, deeds, initial, wrong)),
    }
}

/// The order of some deeds, or the operation whose return is wrong.
pub(super) fn order(
    history: &History,
    deeds: &[Deed],
    initial: i64,
) -> Result<Result<Vec<OpId>, OpId>, Declined> {
    let mut search = Search::new(initial);
    let mut next = deeds.iter();
    for event in history.events_of(deeds.iter().map(|deed| deed.op)) {
        match event {
            Event::Call(op) => {
                if let Some(&deed) = next.next() {
                    search.call(deed, history.ret(op).unwrap_or(Time::MAX))?;
                }
            }
            Event::Return(op) => {
                if !search.ret(op)? {
                    return Ok(Err(op));
                }
            }
        }
    }
    Ok(Ok(search.order()))
}

/// A step of an order: an operation behind others.
#[derive(Clone, Copy)]
struct Step {
    op: OpId,
    before: u32,
}

const NOTHING: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Configuration {
    count: i64,
    /// Which open operations, by row, have taken effect.
    done: u64,
}

struct Search {
    /// Operations now open: by row.
    open: Vec<Option<(Deed, Time)>>,
    /// Each with the last step of its order.
    configurations: HashMap<Configuration, u32>,
    steps: Vec<Step>,
}

impl Search {
    fn new(initial: i64) -> Self {
        let start = Configuration { count: initial, done: 0 };
        Search {
            open: Vec::new(),
            configurations: HashMap::from_iter([(start, NOTHING)]),
            steps: Vec::new(),
        }
    }

    fn call(&mut self, deed: Deed, ret: Time) -> Result<(), Declined> {
        let row = match self.open.iter().position(Option::is_none) {
            Some(row) => row,
            None if self.open.len() < 64 => {
                self.open.push(None);
                self.open.len() - 1
            }
            None => {
                let tried = self.configurations.len();
                return Err(Declined::TooManyChoices { tried });
            }
        };
        self.open[row] = Some((deed, ret));
        Ok(())
    }

    /// Whether some configuration is left after an operation returned.
    fn ret(&mut self, op: OpId) -> Result<bool, Declined> {
        let is_it = |open: &Option<(Deed, Time)>| open.is_some_and(|(deed, _)| deed.op == op);
        let Some(row) = self.open.iter().position(is_it) else {
            return Ok(true);
        };
        let mut seen: HashMap<Configuration, u32> = HashMap::new();
        let mut after = HashMap::new();
        let mut work: Vec<(Configuration, u32)> = self.configurations.drain().collect();
        while let Some((configuration, last)) = work.pop() {
            let (configuration, last) = self.look(configuration, last);
            if configuration.done >> row & 1 == 1 {
                let done = configuration.done & !(1 << row);
                let count = configuration.count;
                after.entry(Configuration { count, done }).or_insert(last);
                continue;
            }
            if seen.insert(configuration, last).is_some() {
                continue;
            }
            if seen.len() > CONFIGURATIONS {
                let tried = seen.len();
                return Err(Declined::TooManyChoices { tried });
            }
            for change in [Change::Up, Change::Down] {
                work.extend(self.change(configuration, last, change));
            }
        }
        self.open[row] = None;
        self.configurations = after;
        Ok(!self.configurations.is_empty())
    }

    /// Lets every open query that fits take effect.
    fn look(&mut self, mut configuration: Configuration, mut last: u32) -> (Configuration, u32) {
        for (row, open) in self.open.iter().enumerate() {
            let Some((deed, _)) = open else {
                continue;
            };
            let waits = configuration.done >> row & 1 == 0 && deed.change == Change::Same;
            if waits && deed.allows(configuration.count) {
                configuration.done |= 1 << row;
                let (op, before) = (deed.op, last);
                self.steps.push(Step { op, before });
                last = self.steps.len() as u32 - 1;
            }
        }
        (configuration, last)
    }

    /// Lets the open operation of a kind that returns first take effect.
    fn change(
        &mut self,
        configuration: Configuration,
        last: u32,
        change: Change,
    ) -> Option<(Configuration, u32)> {
        let rows = self.open.iter().enumerate();
        let rows = rows.filter_map(|(row, open)| open.map(|(deed, ret)| (row, deed, ret)));
        let rows = rows
            .filter(|&(row, deed, _)| configuration.done >> row & 1 == 0 && deed.change == change);
        let (row, deed, _) = rows.min_by_key(|&(_, _, ret)| ret)?;
        if !deed.allows(configuration.count) {
            return None;
        }
        let (op, before) = (deed.op, last);
        self.steps.push(Step { op, before });
        let next = Configuration {
            count: deed.apply(configuration.count),
            done: configuration.done | 1 << row,
        };
        Some((next, self.steps.len() as u32 - 1))
    }

    fn order(&self) -> Vec<OpId> {
        let mut last = self.configurations.values().next().copied().unwrap_or(NOTHING);
        let mut order = Vec::new();
        while last != NOTHING {
            let step = self.steps[last as usize];
            order.push(step.op);
            last = step.before;
        }
        order.reverse();
        order
    }
}

/// The violation at the return of an operation.
pub(super) fn violation(history: &History, deeds: &[Deed], initial: i64, wrong: OpId) -> Verdict {
    let operation = history.operation(wrong);
    let sentence = format!("no order of the operations before it explains {operation}");
    let until = history.ret(wrong).unwrap_or(0);
    counterexample_until(core(history, deeds, initial, wrong), until, sentence)
}

/// What shows that the return of an operation is wrong: what was called until then, without the
/// queries that do not matter.
pub(super) fn core(history: &History, deeds: &[Deed], initial: i64, wrong: OpId) -> Vec<OpId> {
    let until = history.ret(wrong).unwrap_or(0);
    let called = deeds.iter().filter(|deed| history.call(deed.op) <= until);
    let (queries, changes): (Vec<Deed>, Vec<Deed>) =
        called.partition(|deed| deed.change == Change::Same && deed.op != wrong);
    let with = |queries: &[Deed]| {
        let mut deeds = [&changes, queries].concat();
        deeds.sort_unstable_by_key(|deed| deed.op);
        deeds
    };
    let done = |deed: &Deed| history.ret(deed.op).is_some_and(|ret| ret <= until);
    let queries = queries.into_iter().filter(done).collect();
    let queries = shrink(queries, |queries| {
        let deeds = with(queries);
        let keep: Vec<OpId> = deeds.iter().map(|deed| deed.op).collect();
        let part = history.restricted(&keep, Horizon::Until(until));
        let deeds: Vec<Deed> = deeds
            .iter()
            .zip(0..)
            .map(|(deed, op)| Deed { op: OpId(op), ..*deed })
            .filter(|deed| deed.change != Change::Same || part.ret(deed.op).is_some())
            .collect();
        matches!(order(&part, &deeds, initial), Ok(Err(_)))
    });
    with(&queries).iter().map(|deed| deed.op).collect()
}
