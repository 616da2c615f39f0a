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
use crate::fast::{Declined, Part};
use seriatim_history::{Event, History, MethodId, OpId, Outcome, ValueId};
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
    /// What took effect last of all that is not placed yet; [`NONE`] if all is.
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
    open: Vec<Option<(OpId, Deed)>>,
}

impl Cell {
    fn new() -> Self {
        let start = Way { held: ValueId::ABSENT, done: 0, last: NONE };
        Cell { ways: vec![start], open: Vec::new() }
    }

    /// Opens an operation; its place, if there is one.
    fn open(&mut self, op: OpId, deed: Deed) -> Option<usize> {
        let free = self.open.iter().position(Option::is_none);
        let place = free.unwrap_or(self.open.len());
        match free {
            Some(place) => self.open[place] = Some((op, deed)),
            None => self.open.push(Some((op, deed))),
        }
        (place < 64).then_some(place)
    }

    /// The open operations that have not taken effect in a way, with their places.
    fn undone(&self, way: Way) -> impl Iterator<Item = (usize, OpId, Deed)> + '_ {
        let open = self.open.iter().enumerate();
        open.filter_map(move |(place, open)| {
            let (op, deed) = (*open)?;
            (way.done >> place & 1 == 0).then_some((place, op, deed))
        })
    }
}

/// Decides a part of a map's history; `default` is what a key reads as that holds nothing.
pub(super) fn check(part: Part<'_>, default: ValueId) -> Result<Claim, Declined> {
    let recorded = Recorded::new(part.history);
    let mut reach = Reach::default();
    for op in part.operations() {
        reach.add(recorded.read(op)?.0);
    }
    let mut keys = reach.dense(part.len());
    let mut sweep = Sweep {
        part,
        default,
        cells: Vec::new(),
        of: vec![NONE; part.len()],
        steps: Vec::new(),
        branching: 0,
        event: 0,
        order: Vec::with_capacity(part.len()),
        late: Vec::new(),
    };
    for (event, at) in part.events().zip(0..) {
        sweep.event = at;
        match event {
            Event::Call(op) => {
                let (key, deed) = recorded.read(op)?;
                let Some(deed) = deed else { continue };
                let key = keys.number(key, sweep.cells.len() as u32);
                sweep.call(op, key, deed)?;
            }
            Event::Return(op) => {
                if !sweep.ret(op)? {
                    return Ok(sweep.violation(op));
                }
            }
        }
    }
    Ok(Claim::Linearizable(Witness { order: sweep.finish() }))
}

struct Sweep<'h> {
    part: Part<'h>,
    default: ValueId,
    cells: Vec<Cell>,
    /// The key of each operation, by its position; [`NONE`] if it says nothing.
    of: Vec<u32>,
    /// What took effect in ways of keys that have several.
    steps: Vec<Step>,
    /// How many keys have several ways.
    branching: usize,
    event: u32,
    /// What took effect for certain, by event.
    order: Vec<(u32, OpId)>,
    /// What turned out later to have taken effect, in the order of each key.
    late: Vec<(u32, OpId)>,
}

impl Sweep<'_> {
    fn call(&mut self, op: OpId, key: u32, deed: Deed) -> Result<(), Declined> {
        self.of[self.part.position(op)] = key;
        if key as usize == self.cells.len() {
            self.cells.push(Cell::new());
        }
        let mut cell = std::mem::replace(
            &mut self.cells[key as usize],
            Cell { ways: Vec::new(), open: Vec::new() },
        );
        let place = cell.open(op, deed).ok_or(Declined::TooManyChoices { tried: MOST })?;
        if deed.only_looks() {
            for way in &mut cell.ways {
                if deed.after(way.held, self.default).is_some() {
                    self.take(way, place, op);
                }
            }
        }
        self.settle(&mut cell);
        self.cells[key as usize] = cell;
        Ok(())
    }

    /// An operation takes effect in a way without changing anything.
    fn take(&mut self, way: &mut Way, place: usize, op: OpId) {
        self.steps.push(Step { op, event: self.event, before: way.last });
        way.done |= 1 << place;
        way.last = (self.steps.len() - 1) as u32;
    }

    /// The way after an operation has taken effect in it, and all that only look and can.
    fn after(&mut self, cell: &Cell, way: Way, place: usize, op: OpId, held: ValueId) -> Way {
        let mut next = Way { held, ..way };
        self.take(&mut next, place, op);
        for (place, op, deed) in cell.undone(next).collect::<Vec<_>>() {
            if deed.only_looks() && deed.after(held, self.default).is_some() {
                self.take(&mut next, place, op);
            }
        }
        next
    }

    /// An operation returns; whether that can be.
    fn ret(&mut self, op: OpId) -> Result<bool, Declined> {
        let key = self.of[self.part.position(op)] as usize;
        let Some(cell) = self.cells.get_mut(key) else { return Ok(true) };
        let mut cell = std::mem::replace(cell, Cell { ways: Vec::new(), open: Vec::new() });
        let Some(due) = cell.open.iter().position(|open| open.is_some_and(|open| open.0 == op))
        else {
            self.cells[key] = cell;
            return Ok(true);
        };
        let mut ways = Vec::with_capacity(cell.ways.len());
        let mut waiting = Vec::new();
        for &way in &cell.ways {
            match way.done >> due & 1 {
                1 => ways.push(way),
                _ => waiting.push(way),
            }
        }
        if !waiting.is_empty() {
            self.force(&cell, due, waiting, &mut ways)?;
        }
        ways.iter_mut().for_each(|way| way.done &= !(1 << due));
        ways.sort_unstable_by_key(|way| (way.held, way.done));
        ways.dedup_by_key(|way| (way.held, way.done));
        self.branching -= usize::from(cell.ways.len() > 1);
        self.branching += usize::from(ways.len() > 1);
        let is_possible = !ways.is_empty();
        (cell.ways, cell.open[due]) = (ways, None);
        self.settle(&mut cell);
        self.cells[key] = cell;
        Ok(is_possible)
    }

    /// Lets open operations take effect in every way until one has that is due.
    fn force(
        &mut self,
        cell: &Cell,
        due: usize,
        mut waiting: Vec<Way>,
        settled: &mut Vec<Way>,
    ) -> Result<(), Declined> {
        let mut met: Vec<(ValueId, u64)> = waiting.iter().map(|way| (way.held, way.done)).collect();
        while let Some(way) = waiting.pop() {
            for (place, op, deed) in cell.undone(way).collect::<Vec<_>>() {
                if deed.only_looks() && place != due {
                    continue;
                }
                let Some(held) = deed.after(way.held, self.default) else { continue };
                let next = self.after(cell, way, place, op, held);
                if next.done >> due & 1 == 1 {
                    settled.push(next);
                } else if !met.contains(&(next.held, next.done)) {
                    met.push((next.held, next.done));
                    waiting.push(next);
                }
            }
            let tried = met.len() + settled.len();
            if tried > 4 {
                self.part.spend(tried)?;
            }
            if tried > MOST {
                return Err(Declined::TooManyChoices { tried });
            }
        }
        Ok(())
    }

    /// What took effect in the only way of a key has done so for certain.
    fn settle(&mut self, cell: &mut Cell) {
        if let [way] = &mut cell.ways[..] {
            self.place(way.last);
            way.last = NONE;
        }
        if self.branching == 0 {
            self.steps.clear();
        }
    }

    /// Places what took effect up to a step.
    fn place(&mut self, last: u32) {
        let (from, now) = (self.order.len(), self.event);
        let (mut at, late) = (last, self.late.len());
        while at != NONE {
            let step = self.steps[at as usize];
            match step.event == now {
                true => self.order.push((now, step.op)),
                false => self.late.push((step.event, step.op)),
            }
            at = step.before;
        }
        self.order[from..].reverse();
        self.late[late..].reverse();
    }

    /// The order of everything.
    fn finish(mut self) -> Vec<OpId> {
        self.event = NONE;
        for cell in std::mem::take(&mut self.cells) {
            if let Some(way) = cell.ways.first() {
                self.place(way.last);
            }
        }
        // Stable: what took effect at one event stays in its order, and all of it is of one key.
        self.late.sort_by_key(|late| late.0);
        let mut order = Vec::with_capacity(self.order.len() + self.late.len());
        let mut late = self.late.iter().peekable();
        for &(event, op) in &self.order {
            while let Some(&(_, earlier)) = late.next_if(|late| late.0 < event) {
                order.push(earlier);
            }
            order.push(op);
        }
        order.extend(late.map(|&(_, op)| op));
        order
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
