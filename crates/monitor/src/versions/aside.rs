//! What changes at no version of its own: the part of a state that stands aside.
//!
//! etcd's compaction takes effect and leaves the revision alone. By A (see
//! [`Versions`](seriatim_spec::Versions)) such an *aside* looks at φ and at a part of the state that
//! nothing else changes, and only reads look at that part: call them *lookers*. So updates and all
//! other reads can be laid along the slots as if there were no asides, and asides and lookers are
//! put between them: each into one slot, in an order that respects real time.
//!
//! **Claim.** Given the updates of all slots, the history is right exactly if the others are and
//! asides and lookers can be put into slots, each into one at which the object stood while it lasted,
//! so that they keep real time among themselves, each aside does what it returned, and each looker
//! fits the state of its slot with what stands aside by then. For a plain read and a sequence of
//! asides and lookers in one slot can always be merged: a read that precedes one of them and follows
//! an earlier one would put the two into the wrong order.
//!
//! A [`Course`] goes through the slots with all *ways* in which that can have gone: what stands
//! aside, and which operations that may have happened have not. A looker that fits happens at once
//! (it changes nothing, and hinders nobody any more), an aside now or later. A way that has left out
//! an operation whose last slot is over is none; one that owes more than another with the same aside
//! part can be left out. The cost is the number of ways, which grows with asides that overlap or
//! never returned: where it is too large, nothing is claimed ([`Course::MOST`]).
//!
//! It is asked three times: without lookers, for what may stand aside at a slot ([`Possible`]), which
//! is what the look-ahead of keys goes by; with all gaps filled, where a way is the order, and a
//! looker sees its keys as the filling leaves them ([`Sights`]); and, where the first filling leaves
//! no place for them, with lookers that fit *some* state in which their key can be, where no way left
//! means *no*. To find an order takes less than to follow all states of all keys, so it comes first.
//! In the first and the last, operations that never returned may be used again and again, and times
//! of what fills gaps are not compared, which allows more. It would be unsound there to let a looker
//! fail for a reason that rests on a choice: it fits if any state does.

use super::Outcome;
use super::core::{Core, Story};
use super::key::{Keys, Pending, Place};
use super::layout::{Bounds, Index, Layout, NEVER};
use super::silent::{self, Ending};
use super::standing::Standing;
use super::steps::Steps;
use hashbrown::{HashMap, HashSet};
use seriatim_spec::{Aside, ClassId, StateId};

/// What may stand aside along the slots.
pub(super) enum Possible {
    /// It never changes.
    Constant,
    /// Along the slots.
    Runs(Vec<Run>),
    /// Nobody knows.
    Anything,
}

/// What may stand aside from a slot on, up to the next run.
pub(super) struct Run {
    first: u32,
    states: Vec<StateId>,
    /// The operations that made it so.
    makers: Vec<Index>,
}

impl Possible {
    /// What may stand aside at a slot; `None`: anything.
    pub fn at(&self, slot: u32) -> Option<&[StateId]> {
        self.run(slot).map(|run| &run.states[..])
    }

    /// The operations that made it so.
    pub fn makers(&self, slot: u32) -> &[Index] {
        self.run(slot).map_or(&[], |run| &run.makers)
    }

    fn run(&self, slot: u32) -> Option<&Run> {
        match self {
            Possible::Runs(runs) => {
                let run = runs.partition_point(|run| run.first <= slot).checked_sub(1)?;
                Some(&runs[run])
            }
            Possible::Constant | Possible::Anything => None,
        }
    }
}

/// An aside or a looker, with the slots at which it may stand.
struct Loose {
    index: Index,
    first: u32,
    last: u32,
    /// Whether it must have happened by the last of them.
    is_due: bool,
}

/// One way in which things can have gone, up to a slot.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Way {
    /// What stands aside.
    aside: StateId,
    /// The operations, by number, that may have happened and have not.
    undone: Vec<u32>,
    /// Those used that never returned, if that is counted.
    used: Vec<u32>,
}

impl Way {
    /// Whether this way can do whatever the other one can.
    fn surpasses(&self, other: &Way) -> bool {
        let within = |few: &[u32], many: &[u32]| few.iter().all(|one| many.contains(one));
        self.aside == other.aside
            && within(&self.undone, &other.undone)
            && within(&self.used, &other.used)
    }
}

/// One operation that happened on a way, and what had happened before it.
struct Happened {
    before: Option<u32>,
    number: u32,
    slot: u32,
}

/// A way with the last that happened on it.
type Walked = (Way, Option<u32>);

/// Where a course ends.
enum End {
    /// Behind all slots, with these ways.
    Through(Vec<Walked>),
    /// At a slot by which something had to happen and did not, on none of these ways.
    Stuck(u32, Vec<Walked>),
    /// There are too many ways.
    TooMany,
}

/// Whether a looker fits at a slot, with this aside.
type Fits<'f> = dyn FnMut(&mut Steps<'_>, Index, u32, StateId) -> bool + 'f;

struct Course<'l> {
    layout: &'l Layout,
    /// In the order of the first slots.
    loose: Vec<Loose>,
    /// Whether operations that never returned are used once each.
    is_counted: bool,
    happened: Vec<Happened>,
    /// Those that never returned and may happen by now.
    pending: Vec<u32>,
    /// Where it was last certain what stood aside, with nothing undone: the slot, and that.
    certain: (u32, StateId),
    /// What may have stood aside at which slots.
    seen: Vec<Run>,
}

impl<'l> Course<'l> {
    /// The most ways at one slot.
    const MOST: usize = 2_000;

    fn new(
        layout: &'l Layout,
        bounds: &Bounds,
        all: impl Iterator<Item = Index>,
        start: StateId,
    ) -> Self {
        let loose = |index: Index| {
            let (first, last, is_free) = layout.stands_among(bounds, index);
            let is_due = !is_free && layout.record(index).ret != NEVER;
            Loose { index, first, last, is_due }
        };
        let mut loose: Vec<Loose> = all.map(loose).collect();
        loose.sort_by_key(|loose| loose.first);
        let (is_counted, certain) = (false, (0, start));
        let (happened, pending, seen) = (Vec::new(), Vec::new(), Vec::new());
        Course { layout, loose, is_counted, happened, pending, certain, seen }
    }

    fn run(&mut self, steps: &mut Steps<'_>, fits: &mut Fits<'_>) -> End {
        let start = Way { aside: self.certain.1, undone: Vec::new(), used: Vec::new() };
        self.seen.push(Run { first: 0, states: vec![start.aside], makers: Vec::new() });
        let mut ways: Vec<Walked> = vec![(start, None)];
        let mut next = 0;
        for slot in 0..self.layout.updates.len() as u32 {
            while let Some(loose) = self.loose.get(next)
                && loose.first <= slot
            {
                match self.layout.record(loose.index).ret {
                    NEVER => self.pending.push(next as u32),
                    _ => ways.iter_mut().for_each(|(way, _)| way.undone.push(next as u32)),
                }
                next += 1;
            }
            if self.pending.is_empty() && ways.iter().all(|(way, _)| way.undone.is_empty()) {
                continue;
            }
            let Some(all) = self.spread(steps, ways, slot, fits) else { return End::TooMany };
            self.see(slot, &all);
            let is_over = |number: &u32| {
                let loose = &self.loose[*number as usize];
                loose.is_due && loose.last <= slot
            };
            let (late, left) =
                all.into_iter().partition(|(way, _): &Walked| way.undone.iter().any(is_over));
            ways = left;
            match &ways[..] {
                [] => return End::Stuck(slot, late),
                [(way, _)] if way.undone.is_empty() => self.certain = (slot, way.aside),
                _ => {}
            }
            self.see(slot + 1, &ways);
        }
        End::Through(ways)
    }

    /// Notes what may stand aside from a slot on.
    fn see(&mut self, slot: u32, ways: &[Walked]) {
        let mut states: Vec<StateId> = ways.iter().map(|(way, _)| way.aside).collect();
        states.sort_unstable();
        states.dedup();
        if self.seen.last().is_some_and(|run| run.states == states) {
            return;
        }
        let maker = |&(_, last): &Walked| {
            let happened = &self.happened[last? as usize];
            Some(self.loose[happened.number as usize].index)
        };
        let mut makers: Vec<Index> = ways.iter().filter_map(maker).collect();
        makers.sort_unstable();
        makers.dedup();
        self.seen.pop_if(|run| run.first == slot);
        self.seen.push(Run { first: slot, states, makers });
    }

    /// All that ways may become during a slot; `None` if that is too much.
    fn spread(
        &mut self,
        steps: &mut Steps<'_>,
        mut waiting: Vec<Walked>,
        slot: u32,
        fits: &mut Fits<'_>,
    ) -> Option<Vec<Walked>> {
        let version = self.layout.version(slot);
        let mut known: HashSet<Way> = HashSet::new();
        let mut all: Vec<Walked> = Vec::new();
        while let Some((mut way, mut last)) = waiting.pop() {
            self.look(steps, (&mut way, &mut last), slot, fits);
            if all.iter().any(|(other, _)| other.surpasses(&way)) || !known.insert(way.clone()) {
                continue;
            }
            if known.len() > Self::MOST || steps.declined.is_some() {
                return None;
            }
            let candidates = way.undone.iter().chain(&self.pending).copied();
            for number in candidates.collect::<Vec<u32>>() {
                let record = *self.layout.record(self.loose[number as usize].index);
                if record.aside != Aside::Changes
                    || way.used.contains(&number)
                    || !self.is_enabled(&way, number)
                {
                    continue;
                }
                for aside in steps.changes(way.aside, record.class, version) {
                    let is_pending = record.ret == NEVER;
                    if is_pending && aside == way.aside {
                        continue;
                    }
                    let mut after = Way { aside, ..way.clone() };
                    after.undone.retain(|&undone| undone != number);
                    if is_pending && self.is_counted {
                        after.used.push(number);
                        after.used.sort_unstable();
                    }
                    let last = self.note(last, number, slot);
                    waiting.push((after, Some(last)));
                }
            }
            all.retain(|(other, _)| !way.surpasses(other));
            all.push((way, last));
        }
        Some(all)
    }

    /// Lets lookers happen that fit.
    fn look(
        &mut self,
        steps: &mut Steps<'_>,
        (way, last): (&mut Way, &mut Option<u32>),
        slot: u32,
        fits: &mut Fits<'_>,
    ) {
        loop {
            let is_looker = |index: Index| self.layout.record(index).aside != Aside::Changes;
            let found = way.undone.iter().position(|&number| {
                let index = self.loose[number as usize].index;
                is_looker(index)
                    && self.is_enabled(way, number)
                    && fits(steps, index, slot, way.aside)
            });
            let Some(place) = found else { return };
            let number = way.undone.remove(place);
            *last = Some(self.note(*last, number, slot));
        }
    }

    /// Whether all have happened that had returned before an operation was called.
    fn is_enabled(&self, way: &Way, number: u32) -> bool {
        let record = |number: u32| self.layout.record(self.loose[number as usize].index);
        let call = record(number).call;
        way.undone.iter().all(|&other| record(other).ret >= call)
    }

    fn note(&mut self, before: Option<u32>, number: u32, slot: u32) -> u32 {
        self.happened.push(Happened { before, number, slot });
        self.happened.len() as u32 - 1
    }

    /// What happened on a way, in order, with the slots.
    fn story(&self, last: Option<u32>) -> Vec<(u32, Index)> {
        let step = |last: u32| &self.happened[last as usize];
        let all = std::iter::successors(last.map(step), |one| one.before.map(step));
        let named = |one: &Happened| (one.slot, self.loose[one.number as usize].index);
        let mut story: Vec<(u32, Index)> = all.map(named).collect();
        story.reverse();
        story
    }

    /// The operation that had to happen by a slot and did not on any way, if there is one.
    fn culprit(&self, slot: u32, ways: &[Walked]) -> Option<Index> {
        let is_over = |number: &u32| {
            let loose = &self.loose[*number as usize];
            loose.is_due && loose.last <= slot
        };
        let (first, others) = ways.split_first()?;
        let mut over = first.0.undone.iter().filter(|number| is_over(number));
        let missing = over.find(|number| others.iter().all(|(way, _)| way.undone.contains(number)));
        missing.map(|&number| self.loose[number as usize].index)
    }

    /// The core of a course that got stuck at a slot: asides since it was last certain what stood
    /// aside, and the operation that fits nowhere, on one of these states.
    fn core(
        &self,
        steps: &mut Steps<'_>,
        (slot, ways): (u32, &[Walked]),
        states: impl FnOnce(Index) -> Option<Vec<StateId>>,
    ) -> Core {
        let (since, aside) = self.certain;
        let is_new = |loose: &&Loose| {
            let is_pending = self.layout.record(loose.index).ret == NEVER;
            loose.first <= slot && (is_pending || loose.first > since || since == 0)
        };
        let recent: Vec<&Loose> = self.loose.iter().filter(is_new).collect();
        let all = recent.iter().map(|loose| loose.index).collect();
        let culprit = self.culprit(slot, ways);
        let states = culprit.and_then(states);
        let (Some(culprit), Some(states)) = (culprit, states) else {
            return Core::of_asides(self.layout, all);
        };
        let changes = |loose: &&&Loose| {
            self.layout.record(loose.index).aside == Aside::Changes || loose.index == culprit
        };
        let stands = |loose: &Loose| {
            let slots = loose.first.max(since)..=loose.last.min(slot);
            slots.map(|slot| self.layout.version(slot)).collect()
        };
        let members = recent.iter().filter(changes).map(|loose| {
            let is_later = !loose.is_due || loose.last > slot;
            (loose.index, stands(loose), is_later)
        });
        let members = members.collect();
        let starts = states.into_iter().map(|state| steps.automaton.with_aside(state, aside));
        let story =
            Story { members, starts: starts.collect(), since: self.layout.version(since), culprit };
        Core::of_aside(self.layout, story, all)
    }
}

/// What may stand aside at which slots, by asides alone, and the core if they cannot be explained.
pub(super) fn possible(
    layout: &Layout,
    steps: &mut Steps<'_>,
    start: StateId,
) -> (Possible, Option<Core>) {
    if layout.asides.is_empty() {
        return (Possible::Constant, None);
    }
    let bounds = layout.bounds(&layout.updates);
    let mut course = Course::new(layout, &bounds, layout.asides.iter().copied(), start);
    let core = match course.run(steps, &mut |_, _, _, _| true) {
        End::Through(_) => None,
        End::TooMany => return (Possible::Anything, None),
        End::Stuck(slot, ways) => Some(course.core(steps, (slot, &ways), |_| Some(vec![start]))),
    };
    (Possible::Runs(course.seen), core)
}

/// Whether lookers contradict one another or asides, whatever their keys went through: the core.
pub(super) fn contradiction(keys: &mut Keys<'_>, start: StateId) -> Option<Core> {
    let layout = keys.layout;
    if layout.asides.is_empty() {
        return None;
    }
    let views = views(keys, start);
    let lookers = completed_lookers(layout);
    let bounds = layout.bounds(&layout.updates);
    let all = layout.asides.iter().copied().chain(lookers);
    let mut course = Course::new(layout, &bounds, all, start);
    let fits = |steps: &mut Steps<'_>, index: Index, slot: u32, aside: StateId| {
        let Some(views) = views.get(&index) else { return true };
        views.iter().all(|View { class, states }| {
            let mut fits = |state: &StateId| {
                let joined = steps.automaton.with_aside(*state, aside);
                steps.fits_at(layout, slot, (index, *class), joined)
            };
            states.as_ref().is_none_or(|states| states.iter().any(&mut fits))
        })
    };
    match course.run(&mut keys.steps, &mut { fits }) {
        End::Through(_) | End::TooMany => None,
        End::Stuck(slot, ways) => {
            let states = |culprit: Index| match views.get(&culprit).map(|views| &views[..]) {
                None => Some(vec![start]),
                Some([only]) => only.states.clone(),
                Some(_) => None,
            };
            Some(course.core(&mut keys.steps, (slot, &ways), states))
        }
    }
}

/// The most states of a key that are kept in mind.
const STATES: usize = 200;

/// What a looker may see of a key.
struct View {
    class: ClassId,
    /// The states in which the key can be while it looks; `None`: any.
    states: Option<Vec<StateId>>,
}

fn completed_lookers(layout: &Layout) -> impl Iterator<Item = Index> {
    (0..layout.records.len() as Index).filter(|&index| {
        let record = layout.record(index);
        record.aside == Aside::Looks && record.ret != NEVER
    })
}

/// The states in which the keys of lookers can be while these last, if operations that tell nothing
/// could be used again and again.
fn views(keys: &mut Keys<'_>, start: StateId) -> HashMap<Index, Vec<View>> {
    let layout = keys.layout;
    let looks = |index: Index| layout.record(index).aside == Aside::Looks;
    let mut views: HashMap<Index, Vec<View>> = HashMap::new();
    for key in 0..keys.keys.len() {
        let one = &keys.keys[key];
        // A looker, its class here, and the slots at which it may see the key.
        let told = one.reads.iter().filter(|read| looks(read.0)).filter_map(|&(index, class)| {
            let slot = layout.slot(layout.record(index).told?.number()) as u32;
            Some((index, class, slot, slot))
        });
        let silent = one.silents.iter().filter(|silent| looks(silent.index));
        let silent = silent.map(|s| (s.index, s.class, s.first, s.due.map_or(NEVER, |_| s.last)));
        let lookers: Vec<(Index, ClassId, u32, u32)> = told.chain(silent).collect();
        if lookers.is_empty() {
            continue;
        }
        let states = along(keys, key, start);
        let places = &keys.keys[key].places;
        for (index, class, first, last) in lookers {
            let from = places.partition_point(|place| place.slot <= first).saturating_sub(1);
            let end = places.partition_point(|place| place.slot <= last).max(from);
            let states = union(&states[from..end]);
            views.entry(index).or_default().push(View { class, states });
        }
    }
    views
}

/// The states in which a key can be behind each of its places; `None`: any.
fn along(keys: &mut Keys<'_>, key: usize, start: StateId) -> Vec<Option<Vec<StateId>>> {
    let mut now = Some(vec![keys.keys[key].start(start)]);
    let mut all = Vec::with_capacity(keys.keys[key].places.len());
    for at in 0..keys.keys[key].places.len() as u32 {
        now = now.map(|now| after(keys, key, at, &now)).filter(|now| now.len() <= STATES);
        let state = |&standing: &Standing| keys.keys[key].state(standing);
        all.push(now.as_ref().map(|now| now.iter().map(state).collect()));
    }
    all
}

/// All states of some sets; `None`: any.
fn union(sets: &[Option<Vec<StateId>>]) -> Option<Vec<StateId>> {
    let mut all: Vec<StateId> = Vec::new();
    for states in sets {
        all.extend(states.as_ref()?);
        all.sort_unstable();
        all.dedup();
        if all.len() > STATES {
            return None;
        }
    }
    Some(all)
}

/// The standings of a key behind a place.
fn after(keys: &mut Keys<'_>, key: usize, at: u32, before: &[Standing]) -> Vec<Standing> {
    let mut after = Vec::with_capacity(before.len());
    for &standing in before {
        after.extend(keys.pass(key, at, standing));
        if keys.keys[key].places[at as usize].is_gap {
            for pending in keys.fillers(key, at) {
                after.extend(keys.fill(key, at, standing, pending));
            }
        }
    }
    after.sort_unstable();
    after.dedup();
    after
}

/// Puts asides, lookers and silent operations between the others, whose gaps are filled.
pub(super) fn place(keys: &mut Keys<'_>, start: StateId, filling: &[(u32, Index)]) -> Outcome {
    let layout = keys.layout;
    let mut updates = layout.updates.clone();
    filling.iter().for_each(|&(slot, index)| updates[slot as usize] = Some(index));
    let fillers: HashSet<Index> = filling.iter().map(|&(_, filler)| filler).collect();
    let silent = layout.silent.iter().copied().filter(|index| !fillers.contains(index));
    let told = completed_lookers(layout).filter(|&index| layout.record(index).told.is_some());
    let between: Vec<Index> = told.chain(silent).collect();
    let Some(sights) = Sights::along(keys, start, &updates, &between) else {
        return Outcome::Open("the order along the versions is not right for every key");
    };
    let all = layout.asides.iter().copied().chain(between);
    let mut course = Course::new(layout, &layout.bounds(&updates), all, start);
    course.is_counted = true;
    let fits = |steps: &mut Steps<'_>, index: Index, slot: u32, aside: StateId| {
        sights.of(index, slot).all(|(class, state)| {
            let joined = steps.automaton.with_aside(state, aside);
            steps.fits_at(layout, slot, (index, class), joined)
        })
    };
    match course.run(&mut keys.steps, &mut { fits }) {
        End::Through(ways) => finish(keys, &course, ways, (start, &updates)),
        End::Stuck(slot, ways) if layout.gaps.is_empty() => {
            let states = |culprit: Index| match &sights.of(culprit, slot).collect::<Vec<_>>()[..] {
                [] => Some(vec![start]),
                &[(_, state)] => Some(vec![state]),
                _ => None,
            };
            Outcome::Core(course.core(&mut keys.steps, (slot, &ways), states))
        }
        End::Stuck(..) => Outcome::Open("what changes at no version fits nowhere"),
        End::TooMany => Outcome::Open("what changes at no version may have gone in too many ways"),
    }
}

/// What operations see of their keys, once all gaps are filled.
struct Sights {
    start: StateId,
    /// The state of each key behind its places, by slot; nothing of a key that nobody sees.
    along: Vec<Vec<(u32, StateId)>>,
    /// The keys that an operation sees, with its class for each.
    pieces: HashMap<Index, Vec<(usize, ClassId)>>,
}

impl Sights {
    /// What some operations see; `None` if a key does not fit with these updates.
    fn along(
        keys: &mut Keys<'_>,
        start: StateId,
        updates: &[Option<Index>],
        seers: &[Index],
    ) -> Option<Sights> {
        let seers: HashSet<Index> = seers.iter().copied().collect();
        let along = vec![Vec::new(); keys.keys.len()];
        let mut sights = Sights { start, along, pieces: HashMap::new() };
        for key in 0..keys.keys.len() {
            let one = &keys.keys[key];
            let silents = one.silents.iter().map(|silent| (silent.index, silent.class));
            let all = one.reads.iter().copied().chain(silents);
            let mut is_seen = false;
            for (index, class) in all.filter(|(index, _)| seers.contains(index)) {
                sights.pieces.entry(index).or_default().push((key, class));
                is_seen = true;
            }
            if is_seen {
                sights.along[key] = filled(keys, key, start, updates)?;
            }
        }
        Some(sights)
    }

    /// The classes of an operation for the keys that it sees, with their states at a slot.
    fn of(&self, index: Index, slot: u32) -> impl Iterator<Item = (ClassId, StateId)> {
        let pieces = self.pieces.get(&index).into_iter().flatten();
        pieces.map(move |&(key, class)| {
            let along = &self.along[key];
            let place = along.partition_point(|&(at, _)| at <= slot).checked_sub(1);
            (class, place.map_or(self.start, |place| along[place].1))
        })
    }
}

/// The state of a key behind each of its places, by slot, with these updates.
fn filled(
    keys: &mut Keys<'_>,
    key: usize,
    start: StateId,
    updates: &[Option<Index>],
) -> Option<Vec<(u32, StateId)>> {
    let fillers: HashMap<Index, Pending> =
        keys.keys[key].pending.iter().copied().zip(0..).collect();
    let mut standing = keys.keys[key].start(start);
    let mut along = Vec::with_capacity(keys.keys[key].places.len());
    for at in 0..keys.keys[key].places.len() as u32 {
        let Place { slot, is_gap, .. } = keys.keys[key].places[at as usize];
        let filler = updates[slot as usize].filter(|_| is_gap);
        standing = match filler.and_then(|filler| fillers.get(&filler)) {
            Some(&pending) => keys.fill(key, at, standing, pending)?,
            None => keys.pass(key, at, standing)?,
        };
        along.push((slot, keys.keys[key].state(standing)));
    }
    Some(along)
}

/// The order of a course that came through: what has not happened by then comes behind all others,
/// with operations that never returned where these help. If no gap left a choice and nothing does,
/// the history is wrong.
fn finish(
    keys: &mut Keys<'_>,
    course: &Course<'_>,
    ways: Vec<Walked>,
    (start, updates): (StateId, &[Option<Index>]),
) -> Outcome {
    let layout = keys.layout;
    let is_done = |(way, _): &&Walked| way.undone.is_empty();
    if let Some(&(_, happened)) = ways.iter().find(is_done) {
        return Outcome::Order(merged(layout, updates, course.story(happened)));
    }
    let Some(last) = last_state(keys, start, updates) else {
        return Outcome::Open("the order along the versions is not right for the whole object");
    };
    let version = layout.version(updates.len() as u32 - 1);
    let mut is_certain = layout.gaps.is_empty();
    for (way, happened) in ways {
        let index = |&number: &u32| course.loose[number as usize].index;
        let silent: Vec<Index> = way.undone.iter().map(index).collect();
        let used: Vec<Index> = way.used.iter().map(index).collect();
        let lasting = layout.pending.iter().chain(&layout.asides).copied();
        let is_free = |&index: &Index| {
            let is_placed = updates.contains(&Some(index)) || used.contains(&index);
            layout.record(index).ret == NEVER && !is_placed
        };
        let helpers = lasting.filter(is_free).collect();
        let state = keys.steps.automaton.with_aside(last, way.aside);
        match silent::ending(keys, (state, version), silent, helpers) {
            Ending::Order(end) => {
                let mut order = merged(layout, updates, course.story(happened));
                order.extend(end);
                return Outcome::Order(order);
            }
            Ending::TooMany => is_certain = false,
            Ending::None => {}
        }
    }
    match is_certain {
        true => {
            let all = course.loose.iter().map(|loose| loose.index).collect();
            Outcome::Core(Core::of_asides(layout, all))
        }
        false => Outcome::Open("an operation that tells no version fits nowhere"),
    }
}

/// The state of the whole object behind all slots, what stands aside left as it was at the start.
fn last_state(keys: &mut Keys<'_>, start: StateId, updates: &[Option<Index>]) -> Option<StateId> {
    let mut state = start;
    for (update, slot) in updates.iter().zip(0..) {
        if let Some(index) = update {
            let record = *keys.layout.record(*index);
            state = match record.told {
                Some(told) => keys.steps.told(state, record.class, told)?,
                None => keys.steps.untold(state, record.class, keys.layout.version(slot))?,
            };
        }
    }
    Some(state)
}

/// The whole order: in each slot its update, then reads and what was put there. A read comes before
/// the first of those that was called after it had returned.
fn merged(
    layout: &Layout,
    updates: &[Option<Index>],
    story: Vec<(u32, Index)>,
) -> Vec<(Index, u64)> {
    let mut order = Vec::with_capacity(layout.records.len());
    let mut story = story.into_iter().peekable();
    for (slot, update) in (0..).zip(updates) {
        let version = layout.version(slot);
        order.extend(update.map(|index| (index, version)));
        let plain = |index: &&Index| layout.record(**index).aside == Aside::Apart;
        let mut reads: Vec<Index> =
            layout.reads[slot as usize].iter().filter(plain).copied().collect();
        reads.sort_by_key(|&index| layout.record(index).ret);
        let mut reads = reads.into_iter().peekable();
        while let Some((_, loose)) = story.next_if(|&(at, _)| at == slot) {
            let call = layout.record(loose).call;
            while let Some(read) = reads.next_if(|&read| layout.record(read).ret < call) {
                order.push((read, version));
            }
            order.push((loose, version));
        }
        order.extend(reads.map(|read| (read, version)));
    }
    order
}
