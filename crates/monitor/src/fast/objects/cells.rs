//! Map with everything that acts on one key: `get`, `put`, `insert`, `delete`, `cas`, `contains`.
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
//! **Precondition.** No operation looks at the whole map or appends; at most 64 operations of a key
//! are open at a time; the ways stay few ([`MOST`]). Else declined. A pending operation that
//! changes nothing says nothing.

use crate::fast::containers::container::Reach;
use crate::fast::violation::counterexample_until;
use crate::fast::{Allowance, Declined, Part, part_allowance};
use seriatim_history::{Event, History, MethodId, OpId, Outcome, ValueId};
use seriatim_limits::both;
use seriatim_spec::{Claim, Witness, names};

/// How many ways may be looked at for one event.
const MOST: usize = 1 << 10;

/// What a method does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Method {
    Get,
    Put,
    Insert,
    Delete,
    Cas,
    Contains,
}

impl Method {
    fn named(name: &str) -> Result<Self, Declined> {
        let is = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(name));
        let known = [
            (const { names("map", "get") }, Method::Get),
            (const { names("map", "put") }, Method::Put),
            (const { names("map", "insert") }, Method::Insert),
            (const { names("map", "delete") }, Method::Delete),
            (const { names("map", "cas") }, Method::Cas),
            (const { names("map", "contains") }, Method::Contains),
        ];
        let found = known.into_iter().find(|(names, _)| is(names)).map(|(_, method)| method);
        found.ok_or_else(|| Declined::UnknownMethod { method: name.to_owned() })
    }
}

/// What an operation does to its key and what it answered; no answer is known of what is pending.
#[derive(Clone, Copy, Debug)]
enum Deed {
    /// It saw this value, or the default where there is none.
    Saw(ValueId),
    /// It saw whether there is a value.
    Found(bool),
    /// A value is put.
    Put(ValueId),
    /// A value is put where there is none; whether it was.
    Insert(ValueId, Option<bool>),
    /// The value is taken away; whether there was one.
    Delete(Option<bool>),
    /// The first value is replaced by the second; whether it was there.
    Cas(ValueId, ValueId, Option<bool>),
}

impl Deed {
    /// Whether with its answer it never changes anything.
    fn only_looks(self) -> bool {
        match self {
            Deed::Saw(_) | Deed::Found(_) => true,
            Deed::Put(_) => false,
            Deed::Insert(_, done) | Deed::Delete(done) | Deed::Cas(_, _, done) => {
                done == Some(false)
            }
        }
    }

    /// What a key holds after it, [`ValueId::ABSENT`] being nothing; `None` if its answer does not
    /// fit.
    #[inline]
    fn after(self, held: ValueId, default: ValueId) -> Option<ValueId> {
        let seen = if held.is_present() { held } else { default };
        let (succeeds, next, told) = match self {
            Deed::Saw(value) => return (seen == value).then_some(held),
            Deed::Found(told) => return (held.is_present() == told).then_some(held),
            Deed::Put(value) => return Some(value),
            Deed::Insert(value, told) => (!held.is_present(), value, told),
            Deed::Delete(told) => (held.is_present(), ValueId::ABSENT, told),
            Deed::Cas(old, new, told) => (seen == old, new, told),
        };
        let fits = told.is_none_or(|told| told == succeeds);
        fits.then_some(if succeeds { next } else { held })
    }
}

/// Reads recorded operations.
struct Recorded<'h> {
    history: &'h History,
    methods: Vec<Result<Method, Declined>>,
}

impl<'h> Recorded<'h> {
    fn new(history: &'h History) -> Self {
        let names = (0..history.method_count()).map(|id| history.method_name(MethodId::from(id)));
        Recorded { history, methods: names.map(Method::named).collect() }
    }

    /// The key of an operation and what it does; no deed if it says nothing.
    #[inline]
    fn read(&self, op: OpId) -> Result<(ValueId, Option<Deed>), Declined> {
        let history = self.history;
        let method = self.methods[history.method(op).index()].clone()?;
        let (key, arg) = self.key_and_rest(op, method)?;
        let is_over = match history.outcome(op) {
            // It did not happen.
            Outcome::Failed => return Ok((key, None)),
            Outcome::Ok => true,
            Outcome::Pending => false,
        };
        let result = history.result(op);
        let told = || match (is_over, result) {
            (false, _) | (true, ValueId::ABSENT | ValueId::NIL) => Ok(None),
            (true, ValueId::TRUE) => Ok(Some(true)),
            (true, ValueId::FALSE) => Ok(Some(false)),
            _ => Err(self.unreadable(op, "true or false as result")),
        };
        let deed = match method {
            Method::Get => (is_over && result.is_present()).then_some(Deed::Saw(result)),
            Method::Contains => told()?.map(Deed::Found),
            Method::Put => Some(Deed::Put(arg)),
            Method::Insert => Some(Deed::Insert(arg, told()?)),
            Method::Delete => Some(Deed::Delete(told()?)),
            Method::Cas => {
                let pair = history.values().as_pair(arg);
                let (old, new) = pair.ok_or_else(|| self.unreadable(op, "two values"))?;
                // One that says no more than that it is over had success.
                let told = told()?.or(is_over.then_some(true));
                Some(Deed::Cas(old, new, told))
            }
        };
        Ok((key, deed))
    }

    #[inline]
    fn key_and_rest(&self, op: OpId, method: Method) -> Result<(ValueId, ValueId), Declined> {
        let (key, arg) = (self.history.key(op), self.history.arg(op));
        if key.is_present() {
            return Ok((key, arg));
        }
        let pair = self.history.values().as_pair(arg);
        match (method, pair) {
            (Method::Put | Method::Insert, Some(pair)) => Ok(pair),
            (Method::Put | Method::Insert | Method::Cas, _) => Err(self.unreadable(op, "a key")),
            // A read that repeats its unknown value.
            (_, Some((key, ValueId::NIL))) => Ok((key, ValueId::ABSENT)),
            _ if arg.is_present() => Ok((arg, ValueId::ABSENT)),
            _ => Err(self.unreadable(op, "a key")),
        }
    }

    fn unreadable(&self, op: OpId, expected: &'static str) -> Declined {
        Declined::Unreadable { operation: self.history.operation(op).to_string(), expected }
    }
}

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
}

impl Cell {
    fn new() -> Self {
        let start = Way { held: ValueId::ABSENT, done: 0, last: NONE };
        Cell { ways: vec![start], open: Vec::new(), is_open: 0, looks: 0 }
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

/// Which keys are looked at.
#[derive(Clone, Copy)]
enum Keys {
    All,
    /// One half of them, by chance.
    Half(u32),
}

impl Keys {
    #[inline]
    fn has(self, key: ValueId) -> bool {
        match self {
            Keys::All => true,
            Keys::Half(half) => key.0.wrapping_mul(0x9e37_79b1) >> 31 == half,
        }
    }
}

/// From so many operations on, two threads take half of the keys each.
const LONG: usize = 50_000;

/// Decides a part of a map's history; `default` is what a key reads as that holds nothing.
pub(super) fn check(part: Part<'_>, default: ValueId) -> Result<Claim, Declined> {
    let recorded = Recorded::new(part.history);
    let mut reach = Reach::default();
    for op in part.operations() {
        reach.add(recorded.read(op)?.0);
    }
    if part.threads > 1 && part.len() >= LONG {
        let by_halves = check_halves(part, default, &recorded, reach);
        if let Some(claim) = by_halves {
            return Ok(claim);
        }
    }
    let sweep = Sweep::new(part, default, part.len());
    match sweep.run(&recorded, reach, Keys::All)? {
        Swept::Wrong(_, claim) => Ok(claim),
        Swept::Right(placed) => {
            let order = placed.by_event().map(|(_, op)| op).collect();
            Ok(Claim::Linearizable(Witness { order }))
        }
    }
}

/// The same with two threads; none if one of them declines, for it may be that it would not have
/// come so far. At each event something happens to one key only: so the orders of the halves, joined
/// by event, are the order of the whole, and of two keys that are wrong the first is told.
fn check_halves(
    part: Part<'_>,
    default: ValueId,
    recorded: &Recorded<'_>,
    reach: Reach,
) -> Option<Claim> {
    let (history, chosen, threads) = (part.history, part.chosen(), 1);
    let half = |half: u32| {
        // Half of what one thread may do: two that keep to it together keep to the whole.
        let allowance = part_allowance(chosen.map_or(history.len(), <[OpId]>::len)) / 2;
        let allowance = Allowance::new(allowance);
        let part = Part::on(history, chosen, threads).within(&allowance);
        Sweep::new(part, default, part.len() / 2).run(recorded, reach, Keys::Half(half))
    };
    let (first, second) = both(|| half(0), || half(1));
    match (first.ok()?, second.ok()?) {
        (Swept::Right(first), Swept::Right(second)) => {
            let mut order = Vec::with_capacity(first.len() + second.len());
            let mut second = second.by_event().peekable();
            for (event, op) in first.by_event() {
                while let Some((_, earlier)) = second.next_if(|&(other, _)| other < event) {
                    order.push(earlier);
                }
                order.push(op);
            }
            order.extend(second.map(|(_, op)| op));
            Some(Claim::Linearizable(Witness { order }))
        }
        (Swept::Wrong(a, first), Swept::Wrong(b, second)) => {
            Some(if a < b { first } else { second })
        }
        (Swept::Wrong(_, claim), _) | (_, Swept::Wrong(_, claim)) => Some(claim),
    }
}

/// What a sweep found: an order, or the event that cannot be.
enum Swept {
    Right(Placed),
    Wrong(u32, Claim),
}

struct Sweep<'h> {
    part: Part<'h>,
    default: ValueId,
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
    fn len(&self) -> usize {
        self.order.len() + self.late.len()
    }

    /// Everything by event.
    fn by_event(mut self) -> impl Iterator<Item = (u32, OpId)> {
        // Stable: what took effect at one event stays in its order, and all of it is of one key.
        self.late.sort_by_key(|late| late.0);
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
        Sweep {
            part,
            default,
            cells: Vec::new(),
            of: vec![NONE; part.len()],
            branching: 0,
            trail: Trail { event: 0, steps: Vec::new(), placed },
            ways: Vec::new(),
            waiting: Vec::new(),
            met: Vec::new(),
        }
    }

    fn run(mut self, recorded: &Recorded<'_>, reach: Reach, some: Keys) -> Result<Swept, Declined> {
        let mut keys = reach.dense(self.part.len());
        for (event, at) in self.part.events().zip(0..) {
            self.trail.event = at;
            match event {
                Event::Call(op) => {
                    let (key, deed) = recorded.read(op)?;
                    let Some(deed) = deed.filter(|_| some.has(key)) else { continue };
                    let key = keys.number(key, self.cells.len() as u32);
                    self.call(op, key, deed)?;
                }
                Event::Return(op) => {
                    if !self.ret(op)? {
                        return Ok(Swept::Wrong(at, self.violation(op)));
                    }
                }
            }
        }
        Ok(Swept::Right(self.finish()))
    }

    fn call(&mut self, op: OpId, key: u32, deed: Deed) -> Result<(), Declined> {
        self.of[self.part.position(op)] = key;
        if key as usize == self.cells.len() {
            self.cells.push(Cell::new());
        }
        let cell = &mut self.cells[key as usize];
        let place = cell.open(op, deed).ok_or(Declined::TooManyChoices { tried: MOST })?;
        if !deed.only_looks() {
            return Ok(());
        }
        let can_be = |way: &Way| deed.after(way.held, self.default).is_some();
        if let [way] = &mut cell.ways[..] {
            if can_be(way) {
                way.done |= 1 << place;
                self.trail.settle(op);
            }
        } else {
            let trail = &mut self.trail;
            cell.ways
                .iter_mut()
                .filter(|way| can_be(way))
                .for_each(|way| trail.take(way, place, op));
        }
        Ok(())
    }

    /// An operation returns; whether that can be.
    fn ret(&mut self, op: OpId) -> Result<bool, Declined> {
        let key = self.of[self.part.position(op)] as usize;
        let Some(cell) = self.cells.get_mut(key) else { return Ok(true) };
        let Some(due) = cell.place(op) else { return Ok(true) };
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
        let way = &mut cell.ways[0];
        let (op, deed) = cell.open[due];
        let Some(held) = deed.after(way.held, self.default) else { return false };
        way.held = held;
        self.trail.settle(op);
        for place in places(cell.is_open & !way.done & cell.looks & !(1 << due)) {
            let (op, deed) = cell.open[place];
            if deed.after(held, self.default).is_some() {
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
                let Some(held) = deed.after(way.held, self.default) else { continue };
                let mut next = Way { held, ..way };
                self.trail.take(&mut next, place, op);
                // All that only look and can do so at once.
                for place in places(cell.is_open & !next.done & cell.looks) {
                    let (op, deed) = cell.open[place];
                    if deed.after(held, self.default).is_some() {
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
            if tried > 4 {
                self.part.spend(tried)?;
            }
            if tried > MOST {
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
