//! A number that operations raise and lower by one and look at: a counter, a key of a multiset, a
//! semaphore.
//!
//! **Decides** whether such a history is linearizable, breadth first.
//!
//! **How.** A configuration is the set of open operations that have taken effect; it gives the
//! count. At a return every configuration is extended until the returning operation has taken
//! effect. Four things keep them few. A query that fits the count takes effect at once, free of
//! charge. Of the open raises only the one that returns first need be tried, and of the open
//! lowerings likewise (two that do the same and are both open can be swapped). Nothing moves
//! without need: what comes right before the returning operation and shows no query a count that it
//! waits for can as well come right after it, where nobody forces it yet; so the count goes
//! straight to the next count that an open query waits for, up or down, or the operation takes
//! effect where the count is. And a configuration is forgotten if another has satisfied the same
//! queries, or more, with some of the same changes only: it can still make the others, raises
//! first.
//!
//! **Cost.** O(n · configurations · operations open). Without open queries there is one
//! configuration; where nobody looks at the count at all, O(n log n) and no limit.
//!
//! **Precondition.** At most 64 operations open at once and [`CONFIGURATIONS`] configurations, else
//! declined. Needs a recorded history: it looks ahead to see which operation returns first.
//!
//! **What would make it unsound:** lowerings some of which need a positive count and some of which
//! do not, or raises that are not always possible: then operations that change alike could not be
//! swapped.

use crate::fast::shrink::shrink;
use crate::fast::violation::counterexample_until;
use crate::fast::{Declined, Part};
use hashbrown::HashSet;
use seriatim_history::{Event, History, Horizon, OpId, Time};
use seriatim_limits::InOrder;
use seriatim_spec::{Claim, Witness};

/// How an operation changes the count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fast) enum Change {
    Same,
    Up,
    Down,
}

/// When an operation is possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fast) enum Guard {
    None,
    Positive,
    Exactly(i64),
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fast) struct Action {
    pub op: OpId,
    pub change: Change,
    pub guard: Guard,
}

impl Action {
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
const CONFIGURATIONS: usize = 4_000;

/// What extending a configuration costs, in operations of a monitor.
const WORK: usize = 4;

/// Decides the actions of a part, which are in call order; pending ones must not be queries.
pub(in crate::fast) fn decide(
    part: &Part<'_>,
    actions: &[Action],
    initial: i64,
) -> Result<Claim, Declined> {
    match order(part, actions, initial)? {
        Ok(order) => Ok(Claim::Linearizable(Witness { order })),
        Err(wrong) => Ok(violation(part, actions, initial, wrong)),
    }
}

/// The order of some actions, or the operation whose return is wrong.
pub(in crate::fast) fn order(
    part: &Part<'_>,
    actions: &[Action],
    initial: i64,
) -> Result<Result<Vec<OpId>, OpId>, Declined> {
    let history = part.history;
    if actions.iter().all(|action| action.change != Change::Same) {
        return Ok(unobserved(history, actions, initial));
    }
    let mut search = Search::new(initial);
    let mut next = actions.iter();
    for event in history.events_of(actions.iter().map(|action| action.op)) {
        match event {
            Event::Call(op) => {
                if let Some(&action) = next.next() {
                    search.call(action, history.ret(op).unwrap_or(Time::MAX))?;
                }
            }
            Event::Return(op) => {
                if !search.ret(op, part)? {
                    return Ok(Err(op));
                }
            }
        }
    }
    Ok(Ok(search.order()))
}

/// The order of actions none of which looks at the count, or the operation whose return is wrong.
/// Everything happens as late as possible: at its return, or, for a raise, when somebody needs the
/// count to be positive.
fn unobserved(history: &History, actions: &[Action], mut count: i64) -> Result<Vec<OpId>, OpId> {
    let mut order = Vec::with_capacity(actions.len());
    let mut placed = vec![false; actions.len()];
    // Raises that are open, or were; from some on none has taken effect by being needed.
    let (mut raises, mut next_raise) = (Vec::new(), 0);
    let mut called = 0;
    for event in history.events_of(actions.iter().map(|action| action.op)) {
        let op = match event {
            Event::Call(_) => {
                if actions[called].change == Change::Up {
                    raises.push(called);
                }
                called += 1;
                continue;
            }
            Event::Return(op) => op,
        };
        let index = actions[..called].partition_point(|action| action.op < op);
        if placed[index] {
            continue;
        }
        while !actions[index].allows(count) {
            let Some(&raise) = raises.get(next_raise) else {
                return Err(op);
            };
            next_raise += 1;
            if !std::mem::replace(&mut placed[raise], true) {
                order.push(actions[raise].op);
                count += 1;
            }
        }
        placed[index] = true;
        order.push(op);
        count = actions[index].apply(count);
    }
    Ok(order)
}

/// A step of an order: an operation behind others.
#[derive(Clone, Copy)]
struct Step {
    op: OpId,
    before: u32,
}

const NOTHING: u32 = u32::MAX;

#[derive(Clone, Copy)]
struct Configuration {
    count: i64,
    /// Which open operations, by row, have taken effect.
    done: u64,
    /// The last step of its order.
    last: u32,
}

/// From how many steps on those that are certain are written down.
const MANY_STEPS: usize = 1 << 12;

struct Search {
    /// Operations now open: by row.
    open: Vec<Option<(Action, Time)>>,
    /// The rows of queries.
    queries: u64,
    /// None is forgotten for the sake of another.
    configurations: Vec<Configuration>,
    /// Configurations that are to be extended.
    work: Vec<Configuration>,
    /// Which were, for the present return.
    seen: HashSet<u64>,
    /// The steps of all configurations, behind those of `order`.
    steps: Vec<Step>,
    order: Vec<OpId>,
}

impl Search {
    fn new(initial: i64) -> Self {
        Search {
            open: Vec::new(),
            queries: 0,
            configurations: vec![Configuration { count: initial, done: 0, last: NOTHING }],
            work: Vec::new(),
            seen: HashSet::new(),
            steps: Vec::new(),
            order: Vec::new(),
        }
    }

    fn call(&mut self, action: Action, ret: Time) -> Result<(), Declined> {
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
        self.open[row] = Some((action, ret));
        match action.change {
            Change::Same => self.queries |= 1 << row,
            Change::Up | Change::Down => self.queries &= !(1 << row),
        }
        Ok(())
    }

    /// Whether some configuration is left after an operation returned.
    fn ret(&mut self, op: OpId, part: &Part<'_>) -> Result<bool, Declined> {
        let is_it = |open: &Option<(Action, Time)>| open.is_some_and(|(action, _)| action.op == op);
        let Some(row) = self.open.iter().position(is_it) else {
            return Ok(true);
        };
        std::mem::swap(&mut self.configurations, &mut self.work);
        self.configurations.clear();
        self.seen.clear();
        while let Some(configuration) = self.work.pop() {
            let configuration = self.look(configuration);
            if configuration.done >> row & 1 == 1 {
                self.keep(configuration, row);
                continue;
            }
            if !self.seen.insert(configuration.done) {
                continue;
            }
            if self.seen.len() > CONFIGURATIONS {
                let tried = self.seen.len();
                return Err(Declined::TooManyChoices { tried });
            }
            part.spend(WORK)?;
            self.extend(configuration, row);
        }
        self.open[row] = None;
        if self.steps.len() > MANY_STEPS
            && let [only] = &mut self.configurations[..]
        {
            let last = std::mem::replace(&mut only.last, NOTHING);
            self.write_down(last);
        }
        Ok(!self.configurations.is_empty())
    }

    /// Keeps a configuration in which the returning operation has taken effect, unless another one
    /// is as good.
    fn keep(&mut self, mut configuration: Configuration, row: usize) {
        configuration.done &= !(1 << row);
        let (done, queries) = (configuration.done, self.queries & !(1 << row));
        let is_as_good = |a: u64, b: u64| a & !b & !queries == 0 && b & !a & queries == 0;
        if self.configurations.iter().any(|other| is_as_good(other.done, done)) {
            return;
        }
        self.configurations.retain(|other| !is_as_good(done, other.done));
        self.configurations.push(configuration);
    }

    /// Lets every open query that fits take effect.
    fn look(&mut self, mut configuration: Configuration) -> Configuration {
        let mut waiting = self.queries & !configuration.done;
        while waiting != 0 {
            let row = waiting.trailing_zeros() as usize;
            waiting &= waiting - 1;
            if let Some((action, _)) = self.open[row]
                && action.allows(configuration.count)
            {
                configuration = self.step(configuration, row, action);
            }
        }
        configuration
    }

    /// Lets an operation take effect.
    fn step(&mut self, configuration: Configuration, row: usize, action: Action) -> Configuration {
        self.steps.push(Step { op: action.op, before: configuration.last });
        Configuration {
            count: action.apply(configuration.count),
            done: configuration.done | 1 << row,
            last: self.steps.len() as u32 - 1,
        }
    }

    /// Lets the returning operation take effect where the count is, and moves the count up and down
    /// to where an operation waits for it.
    fn extend(&mut self, configuration: Configuration, row: usize) {
        let Some((action, _)) = self.open[row] else {
            return;
        };
        let is_possible = action.allows(configuration.count);
        if is_possible && action.change != Change::Same {
            let next = self.step(configuration, row, action);
            self.keep(next, row);
        }
        let own = (!is_possible && action.guard == Guard::Positive).then_some(1);
        for change in [Change::Up, Change::Down] {
            if action.change != change || !is_possible {
                let moved = self.walk(configuration, change, own);
                self.work.extend(moved);
            }
        }
    }

    /// Moves the count in a direction to the next one that an open query waits for, or to one more.
    fn walk(
        &mut self,
        mut configuration: Configuration,
        change: Change,
        more: Option<i64>,
    ) -> Option<Configuration> {
        let target = self.target(&configuration, change, more)?;
        while configuration.count != target {
            let rows = self.open.iter().enumerate();
            let rows = rows.filter_map(|(row, open)| open.map(|(action, ret)| (row, action, ret)));
            let waits = |row: usize| configuration.done >> row & 1 == 0;
            let rows = rows.filter(|&(row, action, _)| action.change == change && waits(row));
            let (row, action, _) = rows.min_by_key(|&(_, _, ret)| ret)?;
            if !action.allows(configuration.count) {
                return None;
            }
            configuration = self.step(configuration, row, action);
        }
        Some(configuration)
    }

    /// The next count in a direction that an open query waits for, or one more.
    fn target(
        &self,
        configuration: &Configuration,
        change: Change,
        more: Option<i64>,
    ) -> Option<i64> {
        let queries = self.open.iter().enumerate().filter_map(|(row, open)| {
            let (action, _) = (*open)?;
            let waits = action.change == Change::Same && configuration.done >> row & 1 == 0;
            match action.guard {
                Guard::Exactly(count) if waits => Some(count),
                Guard::Positive if waits => Some(1),
                _ => None,
            }
        });
        let count = configuration.count;
        match change {
            Change::Up => queries.chain(more).filter(|&target| target > count).min(),
            _ => queries.chain(more).filter(|&target| target < count).max(),
        }
    }

    /// Writes down the steps up to one.
    fn write_down(&mut self, mut last: u32) {
        let from = self.order.len();
        while last != NOTHING {
            let step = self.steps[last as usize];
            self.order.push(step.op);
            last = step.before;
        }
        self.order[from..].reverse();
        self.steps.clear();
    }

    fn order(mut self) -> Vec<OpId> {
        let last = self.configurations.first().map_or(NOTHING, |configuration| configuration.last);
        self.write_down(last);
        self.order
    }
}

/// The violation at the return of an operation.
pub(in crate::fast) fn violation(
    part: &Part<'_>,
    actions: &[Action],
    initial: i64,
    wrong: OpId,
) -> Claim {
    let history = part.history;
    let operation = history.operation(wrong);
    let sentence = format!("no order of the operations before it explains {operation}");
    let until = told(history, actions, history.ret(wrong).unwrap_or(0));
    counterexample_until(core(part, actions, initial, wrong), until, sentence)
}

/// The moment at which it was known of all operations called until a moment whether they changed
/// anything. A removal that found nothing is a query only because of its result: as long as it is
/// open it may still take what the others miss.
fn told(history: &History, actions: &[Action], until: Time) -> Time {
    let queries = actions.iter().filter(|action| action.change == Change::Same);
    let open = queries.filter(|action| history.call(action.op) <= until);
    open.filter_map(|action| history.ret(action.op)).fold(until, Time::max)
}

/// What shows that the return of an operation is wrong: what was called until then, without the
/// queries that do not matter.
pub(in crate::fast) fn core(
    whole: &Part<'_>,
    actions: &[Action],
    initial: i64,
    wrong: OpId,
) -> Vec<OpId> {
    let history = whole.history;
    let until = history.ret(wrong).unwrap_or(0);
    let called = actions.iter().filter(|action| history.call(action.op) <= until);
    let (queries, changes): (Vec<Action>, Vec<Action>) =
        called.partition(|action| action.change == Change::Same && action.op != wrong);
    let with = |queries: &[Action]| {
        let mut actions = [&changes, queries].concat();
        actions.put_in_order_by_own_key(|action| action.op);
        actions
    };
    let done = |action: &Action| history.ret(action.op).is_some_and(|ret| ret <= until);
    let queries = queries.into_iter().filter(done).collect();
    let queries = shrink(queries, |queries| {
        let actions = with(queries);
        let keep: Vec<OpId> = actions.iter().map(|action| action.op).collect();
        let part = history.restricted(&keep, Horizon::Until(until));
        let actions: Vec<Action> = actions
            .iter()
            .zip(0..)
            .map(|(action, op)| Action { op: OpId(op), ..*action })
            .filter(|action| action.change != Change::Same || part.ret(action.op).is_some())
            .collect();
        let part = whole.like(&part);
        matches!(order(&part, &actions, initial), Ok(Err(_)))
    });
    with(&queries).iter().map(|action| action.op).collect()
}
