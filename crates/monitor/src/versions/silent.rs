//! Where completed operations stand that tell no version.
//!
//! Given the order of all others, with the object's state before each of them, a silent operation
//! may stand between those that returned before it was called and those that were called after it
//! returned, where its result fits and nothing changes. To take them in the order of their calls,
//! each at the first such place behind the silent ones that precede it, is exact: what precedes an
//! operation was called before it, and an early place never hinders a later operation. Those that
//! have none and may come after the last operation that tells a version are the *end* of the
//! order, which is searched for, with operations that never returned among them where it helps.
//!
//! If there are no gaps, nothing but told updates happened before the last operation that tells a
//! version: then one that has to stand before that and has no place is a violation. Else another
//! filling might have one for it.

use super::Outcome;
use super::core::{Core, Meanwhile};
use super::key::Keys;
use super::layout::{Index, NEVER};
use hashbrown::HashSet;
use seriatim_limits::InOrder;
use seriatim_spec::{StateId, Version};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Puts the silent operations into an order of the others.
pub(super) fn place(keys: &mut Keys<'_>, start: StateId, order: Vec<(Index, u64)>) -> Outcome {
    let mut is_placed = vec![false; keys.layout.records.len()];
    order.iter().for_each(|&(index, _)| is_placed[index as usize] = true);
    let open = keys.layout.silent.iter().copied().filter(|&index| !is_placed[index as usize]);
    let open: Vec<Index> = open.collect();
    if open.is_empty() {
        return in_time(keys, order);
    }
    let Some(walk) = Walk::along(keys, start, &order) else {
        return Outcome::Open("the order along the versions is not right for the whole object");
    };
    let mut places: Vec<(usize, Index)> = Vec::with_capacity(open.len());
    let mut end: Vec<Index> = Vec::new();
    // Those that have returned by now raise the floor for all that are called later.
    let mut lasting: BinaryHeap<Reverse<(u32, usize)>> = BinaryHeap::new();
    let mut floor = 0;
    for index in open {
        let record = keys.layout.record(index);
        while let Some(&Reverse((ret, place))) = lasting.peek()
            && ret < record.call
        {
            floor = floor.max(place);
            lasting.pop();
        }
        let (low, high) = walk.window(record.call, record.ret);
        let ret = record.ret;
        let found = (low.max(floor)..=high).find(|&place| walk.fits(keys, index, place));
        let is_certain = keys.layout.gaps.is_empty();
        match found {
            Some(place) => {
                lasting.push(Reverse((ret, place)));
                places.push((place, index));
            }
            None if high == order.len() => {
                lasting.push(Reverse((ret, order.len() + 1)));
                end.push(index);
            }
            None if is_certain && floor <= low => {
                return Outcome::Core(walk.core(keys, index, low..=high));
            }
            None if is_certain => return Outcome::Core(Core::of_silents(keys.layout)),
            None => return Outcome::Open(NOWHERE),
        }
    }
    let lasting = |&&index: &&Index| keys.layout.record(index).ret == NEVER;
    let helpers = keys.layout.pending.iter().filter(lasting);
    let helpers = helpers.copied().filter(|&index| !is_placed[index as usize]).collect();
    let last = walk.states[order.len()];
    let Ending::Order(end) = ending(keys, last, end, helpers) else {
        return Outcome::Open(NOWHERE);
    };
    let mut all = merged(&walk, places);
    all.extend(end);
    in_time(keys, all)
}

const NOWHERE: &str = "an operation that tells no version fits nowhere";

/// An order, if it respects real time: what fills gaps was not compared with one another.
fn in_time(keys: &Keys<'_>, order: Vec<(Index, u64)>) -> Outcome {
    let mut latest = 0;
    for &(index, _) in &order {
        let record = keys.layout.record(index);
        if record.ret < latest {
            return Outcome::Open("what fills the gaps does not respect real time");
        }
        latest = latest.max(record.call);
    }
    Outcome::Order(order)
}

/// The operations with those that were placed before some of them.
fn merged(walk: &Walk<'_>, mut places: Vec<(usize, Index)>) -> Vec<(Index, u64)> {
    let order = walk.order;
    places.put_in_order_by_key(|&(place, _)| place);
    let mut all = Vec::with_capacity(order.len() + places.len());
    let mut waiting = places.into_iter().peekable();
    for place in 0..=order.len() {
        while let Some((_, index)) = waiting.next_if(|&(at, _)| at == place) {
            all.push((index, walk.states[place].1));
        }
        all.extend(order.get(place));
    }
    all
}

/// How many ways to end are looked at.
const ENDS: usize = 20_000;

/// How an order may end.
pub(super) enum Ending {
    /// With these operations, each with the version behind it.
    Order(Vec<(Index, u64)>),
    /// In no way.
    None,
    /// There are too many ways.
    TooMany,
}

/// An order of silent operations behind all others, from a state and its version, with some that
/// never returned where these help.
pub(super) fn ending(
    keys: &mut Keys<'_>,
    (state, version): (StateId, u64),
    silent: Vec<Index>,
    helpers: Vec<Index>,
) -> Ending {
    let wanted = silent.len();
    let all = [silent, helpers].concat();
    let mut seen: HashSet<(Vec<bool>, StateId)> = HashSet::new();
    let mut way = vec![End { done: vec![false; all.len()], state, version, next: 0, last: None }];
    while let Some(at) = way.last_mut() {
        if at.done[..wanted].iter().all(|&done| done) {
            return Ending::Order(way.iter().filter_map(|at| at.last).collect());
        }
        let place = at.next;
        at.next += 1;
        if place == all.len() {
            way.pop();
            continue;
        }
        let record = *keys.layout.record(all[place]);
        let is_over = |other: usize| keys.layout.record(all[other]).ret < record.call;
        if at.done[place] || (0..wanted).any(|other| !at.done[other] && is_over(other)) {
            continue;
        }
        let (mut done, state, version) = (at.done.clone(), at.state, at.version);
        done[place] = true;
        for (state, version) in keys.steps.outcomes(state, record.class, version) {
            if seen.len() == ENDS {
                return Ending::TooMany;
            }
            if seen.insert((done.clone(), state)) {
                let last = Some((all[place], version));
                way.push(End { done: done.clone(), state, version, next: 0, last });
            }
        }
    }
    Ending::None
}

/// One step of the end of an order.
struct End {
    done: Vec<bool>,
    state: StateId,
    version: u64,
    /// The next operation to try from here.
    next: usize,
    /// The operation that led here.
    last: Option<(Index, u64)>,
}

/// The object along an order.
struct Walk<'o> {
    order: &'o [(Index, u64)],
    /// The state and the version before each operation, and behind all.
    states: Vec<(StateId, u64)>,
    /// The earliest return from each place on, the latest call up to each place.
    returns: Vec<u32>,
    calls: Vec<u32>,
}

impl<'o> Walk<'o> {
    fn along(keys: &mut Keys<'_>, start: StateId, order: &'o [(Index, u64)]) -> Option<Self> {
        let layout = keys.layout;
        let mut states = vec![(start, layout.first)];
        for &(index, version) in order {
            let (state, _) = *states.last()?;
            let record = layout.record(index);
            let after = match record.told {
                Some(told) => keys.steps.told(state, record.class, told)?,
                None => keys.steps.untold(state, record.class, version)?,
            };
            states.push((after, version));
        }
        let mut calls: Vec<u32> = order.iter().map(|&(i, _)| layout.record(i).call).collect();
        (1..calls.len()).for_each(|place| calls[place] = calls[place].max(calls[place - 1]));
        let mut returns: Vec<u32> = order.iter().map(|&(i, _)| layout.record(i).ret).collect();
        let later = (1..returns.len()).rev();
        later.for_each(|place| returns[place - 1] = returns[place - 1].min(returns[place]));
        Some(Walk { order, states, returns, calls })
    }

    /// The first and the last place of an operation with this call and return.
    fn window(&self, call: u32, ret: u32) -> (usize, usize) {
        let low = self.returns.partition_point(|&earliest| earliest < call);
        (low, self.calls.partition_point(|&latest| latest <= ret))
    }

    /// Whether a silent operation may stand at a place.
    fn fits(&self, keys: &mut Keys<'_>, index: Index, place: usize) -> bool {
        let class = keys.layout.record(index).class;
        let (state, version) = self.states[place];
        keys.steps.unchanged(state, class, version)
    }

    fn core(
        &self,
        keys: &Keys<'_>,
        silent: Index,
        window: std::ops::RangeInclusive<usize>,
    ) -> Core {
        let layout = keys.layout;
        let (start, since) = self.states[*window.start()];
        let keys_of = |index: Index| keys.steps.automaton.keys(layout.record(index).class);
        let own = keys_of(silent);
        let concerns = |index: &Index| match (&own, keys_of(*index)) {
            (Some(own), Some(others)) => others.iter().any(|key| own.contains(key)),
            _ => true,
        };
        let is_update =
            |index: &Index| matches!(layout.record(*index).told, Some(Version::Update(_)));
        let meanwhile = &self.order[*window.start()..*window.end()];
        let updates = meanwhile.iter().map(|&(index, _)| index);
        let updates = updates.filter(is_update).filter(concerns).collect();
        let mut versions: Vec<u64> = self.states[window].iter().map(|&(_, v)| v).collect();
        versions.dedup();
        Core::of_silent(layout, silent, Meanwhile { start, since, versions, updates })
    }
}
