//! Map with everything that acts on one key: `get`, `put`, `insert`, `delete`, `cas`, `contains`,
//! `append`.
//!
//! ```text
//!   a: |--put 1--|    |------delete: true------|        a key is a cell that holds a value or nothing
//!   b:      |----get: 1----|      |--insert 2: true--|
//! ```
//!
//! **Decides** whether a history of a map is linearizable, all keys in one sweep over the events.
//!
//! **Theorem.** Linearizability is local, so each key is judged by itself. A *way* is one in which
//! everything so far may have happened to a key: what the key holds, and which of the open
//! operations have taken effect. (1) An operation that with its recorded answer never changes
//! anything (`get`, `contains`, what had no success) takes effect as soon as it can: whatever is
//! right with it later is right with it earlier, since nobody notices. (2) Every other operation
//! takes effect only when a return needs it: at a return, a way in which the operation has not
//! taken effect yet tries all open operations, one after another, until it has. Waiting loses
//! nothing, since there is no event between. So after each event the ways are all that there are,
//! up to what (1) and (2) leave open, and the key's history is right iff one is left (Lowe's
//! just-in-time linearization, with early reads). The order: operations by the event at which they
//! took effect in a way that is left, which lies between call and return.
//!
//! **Cost.** O(1) an event while a key has one way, which it has nearly always; else the number of
//! ways. Memory: some bytes a key, and the order.
//!
//! **Precondition.** No operation looks at the whole map; at most 64 operations of a key are open at
//! a time; the ways stay few ([`MOST`]). Else declined. A pending operation that changes nothing
//! says nothing. Where texts are appended, the history is whole, nothing is compared and set, there
//! are few processes for each key, and an order is found; else declined (`appends`).

use super::appends::{Ahead, Expected};
use super::deeds::{Deed, Judge, Recorded};
use super::texts::Texts;
use crate::fast::containers::container::Reach;
use crate::fast::violation::counterexample_until;
use crate::fast::{Allowance, Declined, Part, part_allowance};
use hashbrown::HashSet;
use seriatim_history::{Event, History, OpId, Time, ValueId};
use seriatim_limits::InOrder;
use seriatim_limits::{both, checkpoint};
use seriatim_spec::{Claim, Witness};
use std::ops::Range;

/// How many ways may be looked at for one event.
const MOST: usize = 1 << 10;
/// The same where texts are appended: with so many, the general search is the better engine.
const MOST_TEXTS: usize = 64;

/// One way in which everything so far may have happened to a key.
#[derive(Clone, Copy)]
struct Way {
    held: ValueId,
    /// The open operations that have taken effect, by their places.
    done: u64,
    /// What took effect last of all that is not placed yet; [`NONE`] if all is, as it always is
    /// between events where there is no other way.
    last: u32,
}

const NONE: u32 = u32::MAX;

/// An operation that took effect in some way, at an event, after another.
#[derive(Clone, Copy)]
struct Step {
    op: OpId,
    event: u32,
    before: u32,
}

/// A key.
struct Cell {
    ways: Vec<Way>,
    /// The operations that are or were open, by their places.
    open: Vec<(OpId, Deed)>,
    /// The places of those that are.
    is_open: u64,
    /// The places of those that only look.
    looks: u64,
    /// The queries to come, where texts are appended.
    ahead: Option<Box<Ahead>>,
}

impl Cell {
    fn new(ahead: Option<Box<Ahead>>) -> Self {
        let start = Way { held: ValueId::ABSENT, done: 0, last: NONE };
        Cell { ways: vec![start], open: Vec::new(), is_open: 0, looks: 0, ahead }
    }

    /// What is asked of a text that is made in a way in which some have taken effect.
    fn expected(&self, done: u64) -> Expected {
        let Some(ahead) = &self.ahead else { return Expected::Anything };
        let mut undone = places(self.is_open & !done);
        let waits = undone.any(|place| self.open[place].1.overwrites());
        let looked = self.is_open & self.looks & done;
        ahead.expected(|get| places(looked).any(|place| self.open[place].0 == get), waits)
    }

    /// Opens an operation; its place, if there is one.
    fn open(&mut self, op: OpId, deed: Deed) -> Option<usize> {
        let place = self.is_open.trailing_ones() as usize;
        match self.open.get_mut(place) {
            Some(free) => *free = (op, deed),
            None if place < 64 => self.open.push((op, deed)),
            None => return None,
        }
        self.is_open |= 1 << place;
        self.looks = self.looks & !(1 << place) | u64::from(deed.only_looks()) << place;
        Some(place)
    }

    /// The place of an operation that is open.
    fn place(&self, op: OpId) -> Option<usize> {
        let mut places = places(self.is_open);
        places.find(|&place| self.open[place].0 == op)
    }
}

/// The places in a set of them.
fn places(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let place = set.trailing_zeros() as usize;
        set &= set.wrapping_sub(1);
        (place < 64).then_some(place)
    })
}

/// From so many operations on, two threads take half of the keys each.
const LONG: usize = 50_000;

/// Decides a part of a map's history; `default` is what a key reads as that holds nothing.
pub(super) fn check(part: Part<'_>, default: ValueId) -> Result<Claim, Declined> {
    let recorded = Recorded::new(part.history);
    let Some(declined) = recorded.declined_texts() else { return decide(part, default, &recorded) };
    if part.chosen().is_some() || recorded.compares() || is_crowded(part, &recorded)? {
        return Err(declined);
    }
    match decide(part, default, &recorded) {
        Ok(Claim::Linearizable(witness)) => Ok(Claim::Linearizable(witness)),
        _ => Err(declined),
    }
}

/// With so many processes for each key, appends leave more ways than are worth following.
const CROWD: usize = 3;

/// Whether too many processes append to too few keys.
fn is_crowded(part: Part<'_>, recorded: &Recorded<'_>) -> Result<bool, Declined> {
    let mut keys = HashSet::new();
    for op in part.operations() {
        keys.insert(recorded.read(op)?.0);
    }
    let history = part.history;
    Ok(history.names_processes() && history.process_count() >= CROWD * keys.len())
}

fn decide(part: Part<'_>, default: ValueId, recorded: &Recorded<'_>) -> Result<Claim, Declined> {
    let is_long = part.len() >= LONG && part.history.len() <= Named::MOST;
    if part.threads > 1 && is_long {
        let by_halves = check_halves(part, default, recorded);
        if let Some(claim) = by_halves {
            return Ok(claim);
        }
    }
    let mut reach = Reach::default();
    for op in part.operations() {
        reach.add(recorded.read(op)?.0);
    }
    let mut sweep = Sweep::new(part, default, part.len());
    match sweep.run(recorded, reach, part.operations(), |_| {})? {
        Some(wrong) => Ok(sweep.violation(wrong)),
        None => {
            let order = sweep.finish().by_event().map(|(_, op)| op).collect();
            Ok(Claim::Linearizable(Witness { order }))
        }
    }
}

/// The same with two threads; none if one of them declines, for it may be that it would not have
/// come so far. At each event something happens to one key only: so the orders of the halves, joined
/// by event, are the order of the whole, and of two keys that are wrong the first is told.
fn check_halves(part: Part<'_>, default: ValueId, recorded: &Recorded<'_>) -> Option<Claim> {
    let (history, chosen, middle) = (part.history, part.chosen(), part.len() / 2);
    let alone = || Part::on(history, chosen, 1);
    let (first, second) = both(
        || Split::of(alone(), 0..middle, recorded),
        || Split::of(alone(), middle..alone().len(), recorded),
    );
    let (first, second) = (first.ok()?, second.ok()?);
    let reach = first.reach.with(second.reach);
    let half = |half: usize| {
        // Half of what one thread may do: two that keep to it together keep to the whole.
        let allowance = Allowance::new(part_allowance(alone().len()) / 2);
        let sweep = Sweep::new(alone().within(&allowance), default, alone().len() / 2);
        sweep.run_half(recorded, reach, [&first.halves[half], &second.halves[half]])
    };
    let (first, second) = both(|| half(0), || half(1));
    match (first.ok()?, second.ok()?) {
        (Swept::Right(first), Swept::Right(second)) => {
            let mut order = Vec::with_capacity(first.len() + second.len());
            let mut second = second.into_iter().peekable();
            for (event, op) in first {
                let moment = event.moment(history);
                let is_earlier = |other: &(Named, OpId)| other.0.moment(history) < moment;
                while let Some((_, earlier)) = second.next_if(is_earlier) {
                    order.push(earlier);
                }
                order.push(op);
            }
            order.extend(second.map(|(_, op)| op));
            Some(Claim::Linearizable(Witness { order }))
        }
        (Swept::Wrong(a, first), Swept::Wrong(b, second)) => {
            Some(if a.moment(history) < b.moment(history) { first } else { second })
        }
        (Swept::Wrong(_, claim), _) | (_, Swept::Wrong(_, claim)) => Some(claim),
    }
}

/// An event by its own name: twice its operation, one more for the return.
#[derive(Clone, Copy)]
struct Named(u32);

impl Named {
    /// How many operations have such names.
    const MOST: usize = 1 << 31;

    #[inline]
    fn of(event: Event) -> Self {
        match event {
            Event::Call(op) => Named(op.0 << 1),
            Event::Return(op) => Named(op.0 << 1 | 1),
        }
    }

    /// Where the event stands among all: at one moment calls come before returns, and each of
    /// them in the order of the operations.
    #[inline]
    fn moment(self, history: &History) -> (Time, bool, OpId) {
        let op = OpId(self.0 >> 1);
        match self.0 & 1 {
            0 => (history.call(op), false, op),
            _ => (history.ret(op).unwrap_or(Time::MAX), true, op),
        }
    }
}

/// Operations by the half that their key belongs to, by chance.
struct Split {
    halves: [Vec<OpId>; 2],
    reach: Reach,
}

impl Split {
    fn of(
        part: Part<'_>,
        positions: Range<usize>,
        recorded: &Recorded<'_>,
    ) -> Result<Self, Declined> {
        let mut split = Split { halves: [Vec::new(), Vec::new()], reach: Reach::default() };
        for position in positions {
            checkpoint();
            let op = part.operation(position);
            let (key, _) = recorded.read(op)?;
            split.reach.add(key);
            split.halves[(key.0.wrapping_mul(0x9e37_79b1) >> 31) as usize].push(op);
        }
        Ok(split)
    }
}

/// What the sweep of a half found: an order by event, or the event that cannot be.
enum Swept {
    Right(Vec<(Named, OpId)>),
    Wrong(Named, Claim),
}

struct Sweep<'h> {
    part: Part<'h>,
    judge: Judge<'h>,
    /// By key that has no cell yet, the queries to come; none if no texts are appended.
    ahead: Option<std::vec::IntoIter<Ahead>>,
    cells: Vec<Cell>,
    /// The key of each operation, by its position; [`NONE`] if it says nothing.
    of: Vec<u32>,
    /// How many keys have several ways.
    branching: usize,
    trail: Trail,
    /// Room for the ways of a key at a return.
    ways: Vec<Way>,
    waiting: Vec<Way>,
    met: Vec<(ValueId, u64)>,
}

/// What took effect.
struct Trail {
    /// The number of the event.
    event: u32,
    /// What took effect in ways of keys that have several.
    steps: Vec<Step>,
    placed: Placed,
}

/// What took effect for certain.
struct Placed {
    /// By event.
    order: Vec<(u32, OpId)>,
    /// What turned out later to have, in the order of each key.
    late: Vec<(u32, OpId)>,
}

impl Placed {
    /// Everything by event.
    fn by_event(mut self) -> impl Iterator<Item = (u32, OpId)> {
        // Stable: what took effect at one event stays in its order, and all of it is of one key.
        self.late.put_in_order_by_key(|late| late.0);
        let mut order = self.order.into_iter().peekable();
        let mut late = self.late.into_iter().peekable();
        std::iter::from_fn(move || match (order.peek(), late.peek()) {
            (Some(&(event, _)), Some(&(earlier, _))) if earlier < event => late.next(),
            (None, _) => late.next(),
            _ => order.next(),
        })
    }
}

impl Trail {
    /// An operation takes effect in a way without changing anything.
    fn take(&mut self, way: &mut Way, place: usize, op: OpId) {
        self.steps.push(Step { op, event: self.event, before: way.last });
        way.done |= 1 << place;
        way.last = (self.steps.len() - 1) as u32;
    }

    /// An operation takes effect for certain, now.
    fn settle(&mut self, op: OpId) {
        self.placed.order.push((self.event, op));
    }

    /// Places what took effect up to a step.
    fn place(&mut self, last: u32) {
        let Placed { order, late } = &mut self.placed;
        let (from, now) = (order.len(), self.event);
        let (mut at, before) = (last, late.len());
        while at != NONE {
            let step = self.steps[at as usize];
            match step.event == now {
                true => order.push((now, step.op)),
                false => late.push((step.event, step.op)),
            }
            at = step.before;
        }
        order[from..].reverse();
        late[before..].reverse();
    }
}

impl<'h> Sweep<'h> {
    fn new(part: Part<'h>, default: ValueId, room: usize) -> Self {
        let placed = Placed { order: Vec::with_capacity(room), late: Vec::new() };
        let judge = Judge { default, texts: Texts::new(part.history.values()) };
        Sweep {
            part,
            judge,
            ahead: None,
            cells: Vec::new(),
            of: vec![NONE; part.len()],
            branching: 0,
            trail: Trail { event: 0, steps: Vec::new(), placed },
            ways: Vec::new(),
            waiting: Vec::new(),
            met: Vec::new(),
        }
    }

    /// Goes through the events of some operations; gives the operation whose return cannot be.
    fn run(
        &mut self,
        recorded: &Recorded<'_>,
        reach: Reach,
        operations: impl Iterator<Item = OpId> + Clone,
        mut listen: impl FnMut(Event),
    ) -> Result<Option<OpId>, Declined> {
        let history = self.part.history;
        let mut keys = reach.dense(self.part.len());
        if recorded.declined_texts().is_some() {
            let events = history.events_of(operations.clone());
            let all = Ahead::of_keys(recorded, events, reach.dense(self.part.len()))?;
            self.ahead = Some(all.into_iter());
        }
        for (event, at) in history.events_of(operations).zip(0..) {
            self.trail.event = at;
            listen(event);
            match event {
                Event::Call(op) => {
                    let (key, deed) = recorded.read(op)?;
                    let Some(deed) = deed else { continue };
                    let key = keys.number(key, self.cells.len() as u32);
                    self.call(op, key, deed)?;
                }
                Event::Return(op) => {
                    if !self.ret(op)? {
                        return Ok(Some(op));
                    }
                }
            }
        }
        Ok(None)
    }

    /// The same for one half of the keys, with the events by their own names: their numbers are
    /// not those of the whole.
    fn run_half(
        mut self,
        recorded: &Recorded<'_>,
        reach: Reach,
        operations: [&[OpId]; 2],
    ) -> Result<Swept, Declined> {
        let operations = operations.into_iter().flatten().inspect(|_| checkpoint()).copied();
        let mut events = Vec::with_capacity(2 * self.trail.placed.order.capacity());
        let wrong = self.run(recorded, reach, operations, |event| events.push(Named::of(event)))?;
        if let Some(op) = wrong {
            return Ok(Swept::Wrong(Named::of(Event::Return(op)), self.violation(op)));
        }
        let named = |(event, op): (u32, OpId)| (events[event as usize], op);
        Ok(Swept::Right(self.finish().by_event().map(named).collect()))
    }

    fn call(&mut self, op: OpId, key: u32, deed: Deed) -> Result<(), Declined> {
        self.of[self.part.position(op)] = key;
        if key as usize == self.cells.len() {
            self.cells.push(Cell::new(self.ahead.as_mut().and_then(Iterator::next).map(Box::new)));
        }
        let cell = &mut self.cells[key as usize];
        let place = cell.open(op, deed).ok_or(Declined::TooManyChoices { tried: MOST })?;
        if let Some(ahead) = &mut cell.ahead {
            ahead.call(deed);
        }
        if !deed.only_looks() {
            return Ok(());
        }
        let judge = &mut self.judge;
        if let [way] = &mut cell.ways[..] {
            if judge.fits(deed, way.held) {
                way.done |= 1 << place;
                self.trail.settle(op);
            }
        } else {
            let trail = &mut self.trail;
            cell.ways
                .iter_mut()
                .filter(|way| judge.fits(deed, way.held))
                .for_each(|way| trail.take(way, place, op));
        }
        Ok(())
    }

    /// An operation returns; whether that can be.
    fn ret(&mut self, op: OpId) -> Result<bool, Declined> {
        let key = self.of[self.part.position(op)] as usize;
        let Some(cell) = self.cells.get(key) else { return Ok(true) };
        let Some(due) = cell.place(op) else { return Ok(true) };
        let deed = cell.open[due].1;
        let can_be = self.close(key, due)?;
        if let Some(ahead) = &mut self.cells[key].ahead {
            ahead.ret(deed);
        }
        Ok(can_be)
    }

    /// The operation at a place of a key returns.
    fn close(&mut self, key: usize, due: usize) -> Result<bool, Declined> {
        let cell = &mut self.cells[key];
        if let [way] = &mut cell.ways[..] {
            let undone = cell.is_open & !way.done;
            if undone >> due & 1 == 0 {
                way.done &= !(1 << due);
                cell.is_open &= !(1 << due);
                return Ok(true);
            }
            if undone & !cell.looks & !(1 << due) == 0 {
                return Ok(self.follow(key, due));
            }
        }
        self.branch(key, due)
    }

    /// The only way of a key goes on with the operation that is due, and with all that only look and
    /// can; whether it can be.
    fn follow(&mut self, key: usize, due: usize) -> bool {
        let cell = &mut self.cells[key];
        let Way { held, done, .. } = cell.ways[0];
        let (op, deed) = cell.open[due];
        let expected = || cell.expected(done | 1 << due);
        let Some(held) = self.judge.after(deed, held, expected) else { return false };
        let way = &mut cell.ways[0];
        way.held = held;
        self.trail.settle(op);
        for place in places(cell.is_open & !way.done & cell.looks & !(1 << due)) {
            let (op, deed) = cell.open[place];
            if self.judge.fits(deed, held) {
                way.done |= 1 << place;
                self.trail.settle(op);
            }
        }
        cell.is_open &= !(1 << due);
        true
    }

    /// The same where there are several ways, or may be.
    fn branch(&mut self, key: usize, due: usize) -> Result<bool, Declined> {
        self.ways.clear();
        self.waiting.clear();
        let before = self.cells[key].ways.len();
        for &way in &self.cells[key].ways {
            match way.done >> due & 1 {
                1 => self.ways.push(way),
                _ => self.waiting.push(way),
            }
        }
        if !self.waiting.is_empty() {
            self.force(key, due)?;
        }
        let ways = &mut self.ways;
        ways.iter_mut().for_each(|way| way.done &= !(1 << due));
        ways.sort_unstable_by_key(|way| (way.held, way.done));
        ways.dedup_by_key(|way| (way.held, way.done));
        self.branching -= usize::from(before > 1);
        self.branching += usize::from(ways.len() > 1);
        let cell = &mut self.cells[key];
        cell.is_open &= !(1 << due);
        std::mem::swap(&mut cell.ways, ways);
        // What took effect in the only way of a key has done so for certain.
        if let [way] = &mut cell.ways[..] {
            self.trail.place(way.last);
            way.last = NONE;
        }
        if self.branching == 0 {
            self.trail.steps.clear();
        }
        Ok(!cell.ways.is_empty())
    }

    /// Lets open operations take effect in every way that waits until one has that is due.
    fn force(&mut self, key: usize, due: usize) -> Result<(), Declined> {
        let cell = &self.cells[key];
        self.met.clear();
        self.met.extend(self.waiting.iter().map(|way| (way.held, way.done)));
        while let Some(way) = self.waiting.pop() {
            let undone = cell.is_open & !way.done;
            for place in places(undone & (!cell.looks | 1 << due)) {
                let (op, deed) = cell.open[place];
                let expected = || cell.expected(way.done | 1 << place);
                let Some(held) = self.judge.after(deed, way.held, expected) else { continue };
                let mut next = Way { held, ..way };
                self.trail.take(&mut next, place, op);
                // All that only look and can do so at once.
                for place in places(cell.is_open & !next.done & cell.looks) {
                    let (op, deed) = cell.open[place];
                    if self.judge.fits(deed, held) {
                        self.trail.take(&mut next, place, op);
                    }
                }
                if next.done >> due & 1 == 1 {
                    self.ways.push(next);
                } else if !self.met.contains(&(next.held, next.done)) {
                    self.met.push((next.held, next.done));
                    self.waiting.push(next);
                }
            }
            let tried = self.met.len() + self.ways.len();
            if tried > 4 && self.ahead.is_none() {
                self.part.spend(tried)?;
            }
            if tried > if self.ahead.is_none() { MOST } else { MOST_TEXTS } {
                return Err(Declined::TooManyChoices { tried });
            }
        }
        Ok(())
    }

    /// What took effect in all.
    fn finish(mut self) -> Placed {
        self.trail.event = NONE;
        for cell in &self.cells {
            if let Some(way) = cell.ways.first() {
                self.trail.place(way.last);
            }
        }
        self.trail.placed
    }

    /// The operations of a key, up to the moment at which all answers are known that were used:
    /// those of what was called before the return that nothing explains. What is called later
    /// cannot come before it, and explains nothing.
    fn violation(&self, op: OpId) -> Claim {
        let (history, part) = (self.part.history, &self.part);
        let key = self.of[part.position(op)];
        let over = history.ret(op).unwrap_or(history.call(op));
        let is_of_key = |other: &OpId| self.of[part.position(*other)] == key;
        let operations: Vec<OpId> = part.operations().filter(is_of_key).collect();
        let used = operations.iter().filter(|other| history.call(**other) <= over);
        let until = used.filter_map(|other| history.ret(*other)).max().unwrap_or(over);
        let sentence =
            format!("no order of the operations on its key explains {}", history.operation(op));
        counterexample_until(operations, until, sentence)
    }
}
