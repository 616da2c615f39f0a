//! The order of a set's history, key by key in one pass over the calls.
//!
//! Most operations on a key begin when the one before them on that key has returned. Such an
//! operation needs nothing but the key's state, one bit, and may take effect at its call. So the
//! operations are read in call order, without their returns being merged in; a key remembers its
//! last operation and its states before and after. Only where operations on a key overlap is their
//! *window*, up to the next moment at which nothing is open on the key, handed to `flag`.
//!
//! Each operation takes effect at a call: its own, or, in a window, the latest call among those in
//! front of it in the window's order. So the order of everything is that of these calls. O(n), plus
//! sorting the returns in windows; memory: a word per key and one per operation, and four for each
//! operation in a window that is open.

use crate::fast::containers::container::Dense;
use crate::fast::objects::flag::{Flag, Impossible, Side};
use crate::fast::objects::set::{Method, Reader};
use crate::fast::online::trace::Keep;
use crate::fast::structures::buckets::Buckets;
use crate::fast::{Declined, Part};
use seriatim_history::{History, MethodId, OpId, Stretch, Time, ValueId};
use std::collections::VecDeque;

/// The last operation on a key, as its position plus one (0 for none), the key's state before and
/// after it, and whether it is wrong if nothing overlaps it.
#[derive(Clone, Copy)]
struct Last(u32);

const BEFORE: u32 = 1 << 31;
const AFTER: u32 = 1 << 30;
const WRONG: u32 = 1 << 29;
/// The key has a window. Also the most operations that there may be.
const WINDOW: u32 = WRONG - 1;

fn side(bit: u32) -> Side {
    if bit == 0 { Side::Down } else { Side::Up }
}

fn bit(side: Side, bit: u32) -> u32 {
    if side == Side::Up { bit } else { 0 }
}

impl Last {
    fn position(self) -> u32 {
        self.0 & WINDOW
    }

    fn before(self) -> Side {
        side(self.0 & BEFORE)
    }

    fn after(self) -> Result<Side, Impossible> {
        match self.0 & WRONG {
            0 => Ok(side(self.0 & AFTER)),
            _ => Err(Impossible),
        }
    }
}

/// An operation that may have done something to its key: all that a window has to know of it.
#[derive(Clone, Copy)]
struct Member {
    call: Time,
    /// [`NEVER`] if it does not return.
    ret: Time,
    position: u32,
    method: Method,
    /// Whether it succeeded, if it returns.
    success: bool,
}

const NEVER: Time = Time::MAX;

/// Operations on one key that overlap.
#[derive(Default)]
struct Window {
    /// Whether the key was present before.
    state: Side,
    /// By call.
    members: Vec<Member>,
    /// The last return.
    until: Time,
}

/// What was found.
pub(in crate::fast) enum Found {
    /// The operations in order.
    Order(Vec<OpId>),
    /// There is no order; of the operations on this key alone, if it is named.
    None(Option<ValueId>),
}

/// The order of a part's operations.
pub(in crate::fast) fn order(part: &Part<'_>, reader: &Reader<'_>) -> Result<Found, Declined> {
    if part.len() >= WINDOW as usize {
        return Ok(Found::None(None));
    }
    let mut keys = Keys {
        part,
        reader,
        history: part.history,
        last: Vec::new(),
        returned: Returned::default(),
        windows: Vec::new(),
        free: Vec::new(),
        window_of: Vec::new(),
        late: Vec::new(),
        in_window: vec![0; part.len().div_ceil(64)],
        wrong: 0,
        room: Room::default(),
    };
    let mut ids = Ids::new(part, reader);
    keys.make_room(ids.expected());
    let quick = Quick::new(part.history, reader);
    let mut stretch = Stretch::default();
    for start in (0..part.len()).step_by(Stretch::LONGEST) {
        part.read_stretch(start, &mut stretch);
        keys.returned.advance(start, &stretch);
        if keys.add_stretch(start, &stretch, &quick, &mut ids)?.is_err() {
            return Ok(Found::None(ids.key(keys.wrong)));
        }
    }
    Ok(match keys.finish() {
        Ok(()) => Found::Order(keys.order()),
        Err(Impossible) => Found::None(ids.key(keys.wrong)),
    })
}

/// Up to where all operations have returned before the present stretch, or never do.
#[derive(Default)]
struct Returned {
    /// All operations before this position.
    until: usize,
    /// The last return of each stretch that is not among them, the first in front.
    open: VecDeque<Time>,
}

impl Returned {
    /// A stretch that starts at a position is looked at next.
    #[inline]
    fn advance(&mut self, start: usize, stretch: &Stretch) {
        while self.open.front().is_some_and(|&last| last < stretch.call[0]) {
            self.open.pop_front();
        }
        self.until = start - self.open.len() * Stretch::LONGEST;
        // The return of one that never returns is its call minus one: it has a window.
        let times = stretch.call[..stretch.len].iter().zip(&stretch.span);
        let last = times.map(|(&call, &span)| (call + span).saturating_sub(1));
        self.open.push_back(last.fold(0, Time::max));
    }
}

/// What operations that return do, by method and result: whether they are right in each state of
/// their key and what it is then.
struct Quick {
    /// By method, four results each.
    does: Vec<Effect>,
    /// The same for windows: the method, and whether it succeeded.
    what: Vec<Option<(Method, bool)>>,
}

/// What an operation does to a key on which nothing else is open, by the key's state.
#[derive(Clone, Copy)]
struct Effect([u32; 2]);

/// An effect that has to be looked up: the result is not the usual.
const UNUSUAL: u32 = u32::MAX;

impl Quick {
    fn new(history: &History, reader: &Reader<'_>) -> Self {
        let results = [ValueId::ABSENT, ValueId::NIL, ValueId::FALSE, ValueId::TRUE];
        let methods = (0..history.method_count()).map(MethodId::from);
        let has_failures = history.has_failures();
        let what = methods.flat_map(|method| results.map(|result| reader.effect(method, result)));
        let what: Vec<_> = what.map(|what| what.filter(|_| !has_failures)).collect();
        let effect = |what: &Option<(Method, bool)>| match *what {
            None => Effect([UNUSUAL; 2]),
            Some((method, success)) => {
                Effect([Side::Down, Side::Up].map(|state| match alone(method, success, state) {
                    Ok(after) => bit(after, AFTER) | bit(state, BEFORE),
                    Err(Impossible) => WRONG | bit(state, BEFORE),
                }))
            }
        };
        Quick { does: what.iter().map(effect).collect(), what }
    }

    /// The method of an operation that returned, and whether it succeeded.
    #[inline]
    fn what(&self, method: u32, result: u32) -> Option<(Method, bool)> {
        let place = (method << 2 | result >> 2 & 3) as usize;
        self.what[place].filter(|_| result & !(3 << 2) == 0)
    }

    /// What an operation that returned does to a key in a state.
    #[inline]
    fn effect(&self, method: u32, result: u32, state: u32) -> Option<u32> {
        let place = (method << 2 | result >> 2 & 3) as usize;
        let effect = self.does[place].0[usize::from(state != 0)];
        (result & !(3 << 2) == 0 && effect != UNUSUAL).then_some(effect)
    }
}

/// The state after an operation during which nothing else is open on its key.
fn alone(method: Method, success: bool, state: Side) -> Result<Side, Impossible> {
    let (needs, after) = match (method, success) {
        (Method::Insert, true) => (Side::Down, Side::Up),
        (Method::Remove, true) => (Side::Up, Side::Down),
        (Method::Insert, false) | (Method::Contains, true) => (Side::Up, Side::Up),
        (Method::Remove | Method::Contains, false) => (Side::Down, Side::Down),
    };
    if needs == state { Ok(after) } else { Err(Impossible) }
}

/// Small numbers for keys: the number itself where keys are small numbers.
enum Ids {
    /// With the largest number.
    Itself(usize),
    Dense(Dense, usize),
}

impl Ids {
    fn new(part: &Part<'_>, reader: &Reader<'_>) -> Self {
        let mut stretch = Stretch::default();
        let (mut most, mut all) = (0, 3);
        for start in (0..part.len()).step_by(Stretch::LONGEST) {
            part.read_stretch(start, &mut stretch);
            for &key in &stretch.arg[..stretch.len] {
                most = key.max(most);
                all &= key ^ 2;
            }
        }
        // The numbers that are not negative end with the bits 01.
        match all & 3 == 3
            && reader.keys_are_arguments()
            && (most as usize >> 2) < 2 * part.len() + 64
        {
            true => Ids::Itself(most as usize >> 2),
            false => Ids::Dense(Dense::hashed(), 0),
        }
    }

    /// The key of a number, if the number tells it.
    fn key(&self, number: usize) -> Option<ValueId> {
        match self {
            Ids::Itself(_) => Some(ValueId((number as u32) << 2 | 1)),
            Ids::Dense(..) => None,
        }
    }

    /// How many numbers there will be, if that is known.
    fn expected(&self) -> usize {
        match self {
            Ids::Itself(most) => most + 1,
            Ids::Dense(..) => 0,
        }
    }

    #[inline]
    fn number(&mut self, key: ValueId) -> usize {
        match self {
            Ids::Itself(_) => key.0 as usize >> 2,
            Ids::Dense(dense, next) => {
                let number = dense.number(key, *next as u32) as usize;
                *next = (*next).max(number + 1);
                number
            }
        }
    }
}

struct Keys<'p> {
    part: &'p Part<'p>,
    reader: &'p Reader<'p>,
    history: &'p History,
    last: Vec<Last>,
    returned: Returned,
    /// The windows that are open, and some that are not.
    windows: Vec<Window>,
    /// The places among them that are not.
    free: Vec<u32>,
    /// By key that has a window, its place.
    window_of: Vec<u32>,
    /// Operations in windows, each behind the position of the call at which it takes effect.
    late: Vec<(u32, u32)>,
    /// By position, whether the operation is in a window or not in the order at all.
    in_window: Vec<u64>,
    /// The key that was found wrong, if one was.
    wrong: usize,
    room: Room,
}

/// Room for windows, used again and again: most are of two or three operations.
#[derive(Default)]
struct Room {
    /// Returns, each with its place in the window.
    returns: Vec<(Time, u32)>,
    flag: Option<Flag>,
    trace: Keep,
}

impl Room {
    /// A flag in a state, on which nothing is open.
    fn flag(&mut self, state: Side) -> Flag {
        match self.flag.take().filter(Flag::is_idle) {
            Some(mut flag) => {
                flag.reset(state);
                flag
            }
            None => Flag::new(state),
        }
    }
}

impl Keys<'_> {
    fn mark(&mut self, position: u32) {
        self.in_window[position as usize >> 6] |= 1 << (position & 63);
    }

    /// Makes room for so many keys.
    fn make_room(&mut self, keys: usize) {
        self.last.resize(keys, Last(0));
        self.window_of.resize(keys, 0);
    }

    /// Adds the operations of a stretch.
    fn add_stretch(
        &mut self,
        start: usize,
        stretch: &Stretch,
        quick: &Quick,
        ids: &mut Ids,
    ) -> Result<Result<(), Impossible>, Declined> {
        if let Ids::Itself(_) = ids {
            self.touch(stretch);
        }
        for offset in 0..stretch.len {
            let position = start + offset;
            let done = match *ids {
                Ids::Itself(_) if stretch.span[offset] != 0 => {
                    self.add_usual(position as u32, stretch, offset, quick)?
                }
                _ => None,
            };
            let done = match done {
                Some(done) => done,
                None => self.add_any(position, ids)?,
            };
            if done.is_err() {
                return Ok(Err(Impossible));
            }
        }
        Ok(Ok(()))
    }

    /// Adds an operation that returns, on a key that is its own number, if its result is usual.
    #[inline]
    fn add_usual(
        &mut self,
        position: u32,
        stretch: &Stretch,
        offset: usize,
        quick: &Quick,
    ) -> Result<Option<Result<(), Impossible>>, Declined> {
        let key = stretch.arg[offset] as usize >> 2;
        let (call, last) = (stretch.call[offset], self.last[key]);
        let (method, result) = (stretch.method[offset], stretch.result[offset]);
        if self.is_quiet(last, call) && last.0 & WRONG == 0 {
            let effect = quick.effect(method, result, last.0 & AFTER);
            return Ok(effect.map(|effect| {
                self.last[key] = Last((position + 1) | effect);
                Ok(())
            }));
        }
        let Some((method, success)) = quick.what(method, result) else { return Ok(None) };
        let ret = call + stretch.span[offset] - 1;
        self.add(key, Member { call, ret, position, method, success }).map(Some)
    }

    /// Looks at the keys of a stretch, all at once: what is far away in memory comes near
    /// meanwhile.
    #[inline]
    fn touch(&self, stretch: &Stretch) {
        let keys = stretch.arg[..stretch.len].iter();
        let sum = keys.fold(0u32, |sum, &key| sum ^ self.last[key as usize >> 2].0);
        std::hint::black_box(sum);
    }

    /// Adds any operation.
    #[inline(never)]
    fn add_any(
        &mut self,
        position: usize,
        ids: &mut Ids,
    ) -> Result<Result<(), Impossible>, Declined> {
        let Some((member, key)) = self.member(position as u32)? else {
            self.mark(position as u32);
            return Ok(Ok(()));
        };
        let key = ids.number(key);
        if key >= self.last.len() {
            self.make_room(key + 1);
        }
        self.add(key, member)
    }

    /// What a window has to know of an operation, and its key; `None` if it did nothing.
    fn member(&self, position: u32) -> Result<Option<(Member, ValueId)>, Declined> {
        let op = self.part.operation(position as usize);
        let Some((method, key)) = self.reader.what(op)? else { return Ok(None) };
        let call = self.history.call(op);
        let (ret, success) = match self.history.ret(op) {
            Some(ret) => (ret, self.reader.success(op)?),
            None => (NEVER, false),
        };
        Ok(Some((Member { call, ret, position, method, success }, key)))
    }

    /// Adds an operation to its key.
    fn add(&mut self, key: usize, member: Member) -> Result<Result<(), Impossible>, Declined> {
        self.wrong = key;
        let last = self.last[key];
        if last.position() == WINDOW {
            return Ok(self.add_to_window(key, member));
        }
        if !self.is_quiet(last, member.call) {
            return self.open_window(key, member).map(Ok);
        }
        Ok(last.after().map(|state| self.begin(key, state, member)))
    }

    /// Whether nothing is open on a key at a call, by its last operation.
    #[inline]
    fn is_quiet(&self, last: Last, call: Time) -> bool {
        // One that never returns has a window, so that all before `returned` have returned.
        let position = last.position();
        position as usize <= self.returned.until
            || (position != WINDOW && self.has_returned(position as usize - 1, call))
    }

    /// Whether the operation at a position returned before a call, or never does.
    fn has_returned(&self, position: usize, call: Time) -> bool {
        let ret = self.history.ret(self.part.operation(position));
        ret.is_none_or(|ret| ret < call)
    }

    /// An operation is called on a key on which nothing is open.
    #[inline]
    fn begin(&mut self, key: usize, state: Side, member: Member) {
        if member.ret == NEVER {
            let place = self.window(state);
            self.put(key, place, member);
            return;
        }
        let after = match alone(member.method, member.success, state) {
            Ok(after) => bit(after, AFTER),
            Err(Impossible) => WRONG,
        };
        self.last[key] = Last((member.position + 1) | bit(state, BEFORE) | after);
    }

    /// An operation is called on a key on which one is open that had begun alone.
    fn open_window(&mut self, key: usize, member: Member) -> Result<(), Declined> {
        let last = self.last[key];
        let first = self.member(last.position() - 1)?;
        let place = self.window(last.before());
        for member in first.map(|(first, _)| first).into_iter().chain([member]) {
            self.put(key, place, member);
        }
        Ok(())
    }

    /// A window in which nothing is, in a place of its own.
    fn window(&mut self, state: Side) -> u32 {
        let place = self.free.pop().unwrap_or_else(|| {
            self.windows.push(Window::default());
            self.windows.len() as u32 - 1
        });
        self.windows[place as usize].state = state;
        place
    }

    /// Puts an operation into the window of a key.
    fn put(&mut self, key: usize, place: u32, member: Member) {
        (self.last[key], self.window_of[key]) = (Last(WINDOW), place);
        let window = &mut self.windows[place as usize];
        window.until = window.until.max(member.ret);
        window.members.push(member);
    }

    fn add_to_window(&mut self, key: usize, member: Member) -> Result<(), Impossible> {
        let place = self.window_of[key];
        if self.windows[place as usize].until >= member.call {
            self.put(key, place, member);
            return Ok(());
        }
        let state = self.close(place)?;
        self.begin(key, state, member);
        Ok(())
    }

    /// The state after a window, and the order within it.
    fn close(&mut self, place: u32) -> Result<Side, Impossible> {
        let mut window = std::mem::take(&mut self.windows[place as usize]);
        let mut flag = self.room.flag(window.state);
        let mut trace = std::mem::take(&mut self.room.trace);
        let mut returns = std::mem::take(&mut self.room.returns);
        returns.clear();
        for (member, index) in window.members.iter().zip(0..) {
            self.mark(member.position);
            returns.extend((member.ret != NEVER).then_some((member.ret, index)));
        }
        returns.sort_unstable();
        let op = |member: &Member| self.part.operation(member.position as usize);
        let mut calls = window.members.iter().peekable();
        let mut now = 0;
        for &(ret, index) in &returns {
            while let Some(member) = calls.next_if(|member| member.call <= ret) {
                now += 1;
                member.method.call(&mut flag, op(member), now);
            }
            now += 1;
            let member = &window.members[index as usize];
            member.method.ret(&mut flag, member.success, op(member), now, &mut trace)?;
        }
        for member in calls {
            now += 1;
            member.method.call(&mut flag, op(member), now);
        }
        flag.close(&mut trace);
        let mut latest = 0;
        trace.drain(|op| {
            latest = latest.max(self.part.position(op) as u32);
            self.late.push((latest, op.0));
        });
        let state = flag.state();
        window.members.clear();
        window.until = 0;
        self.windows[place as usize] = window;
        self.free.push(place);
        self.room = Room { returns, trace, flag: Some(flag) };
        Ok(state)
    }

    /// What is left when there are no more calls.
    fn finish(&mut self) -> Result<(), Impossible> {
        for key in 0..self.last.len() {
            self.wrong = key;
            match self.last[key] {
                last if last.position() == WINDOW => _ = self.close(self.window_of[key])?,
                last if last.position() != 0 => _ = last.after()?,
                _ => {}
            }
        }
        Ok(())
    }

    fn order(self) -> Vec<OpId> {
        let late = Buckets::new(self.part.len(), self.late.iter().copied());
        let mut order = Vec::with_capacity(self.part.len());
        for (position, op) in self.part.operations().enumerate() {
            if self.in_window[position >> 6] >> (position & 63) & 1 == 0 {
                order.push(op);
            }
            order.extend(late.of(position).iter().map(|&op| OpId(op)));
        }
        order
    }
}
