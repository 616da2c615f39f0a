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
//! sorting the operations in windows; memory: one word per key and one per operation.

use crate::fast::containers::container::Dense;
use crate::fast::objects::flag::{Flag, Impossible, Side};
use crate::fast::objects::set::{Method, Reader};
use crate::fast::online::trace::Keep;
use crate::fast::structures::buckets::Buckets;
use crate::fast::{Declined, Part};
use hashbrown::HashMap;
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

/// Operations on one key that overlap.
struct Window {
    state: Side,
    positions: Vec<u32>,
    /// The last return; `None` if one never returns.
    until: Option<Time>,
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
        windows: HashMap::new(),
        late: Vec::new(),
        in_window: vec![0; part.len().div_ceil(64)],
        wrong: 0,
        room: Room::default(),
    };
    let mut ids = Ids::new(part, reader);
    keys.last.resize(ids.expected(), Last(0));
    let quick = Quick::new(part.history, reader);
    let mut stretch = Stretch::default();
    for start in (0..part.len()).step_by(Stretch::LONGEST) {
        part.read_stretch(start, &mut stretch);
        keys.returned.advance(start, &stretch);
        if keys.add_stretch(start, &stretch, &quick, &mut ids)?.is_err() {
            return Ok(Found::None(ids.key(keys.wrong)));
        }
    }
    Ok(match keys.finish()? {
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
        let effect = |method: MethodId, result: ValueId| match reader.effect(method, result) {
            _ if has_failures => Effect([UNUSUAL; 2]),
            None => Effect([UNUSUAL; 2]),
            Some((method, success)) => {
                Effect([Side::Down, Side::Up].map(|state| match alone(method, success, state) {
                    Ok(after) => bit(after, AFTER) | bit(state, BEFORE),
                    Err(Impossible) => WRONG | bit(state, BEFORE),
                }))
            }
        };
        let does = methods.flat_map(|method| results.map(|result| effect(method, result)));
        Quick { does: does.collect() }
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
    windows: HashMap<u32, Window>,
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
    positions: Vec<Vec<u32>>,
    events: Vec<(Time, bool, u32)>,
    flag: Option<Flag>,
    trace: Keep,
}

impl Room {
    /// A list of positions.
    fn list(&mut self, positions: &[u32]) -> Vec<u32> {
        let mut list = self.positions.pop().unwrap_or_default();
        list.extend_from_slice(positions);
        list
    }

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
    fn mark(&mut self, position: usize) {
        self.in_window[position >> 6] |= 1 << (position & 63);
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
            if let Ids::Itself(_) = ids
                && stretch.span[offset] != 0
            {
                let key = stretch.arg[offset] as usize >> 2;
                let last = self.last[key];
                let is_quiet = last.position() as usize <= self.returned.until
                    || (last.position() != WINDOW
                        && self.has_returned(last.position() as usize - 1, stretch.call[offset]));
                let (method, result) = (stretch.method[offset], stretch.result[offset]);
                if is_quiet
                    && last.0 & WRONG == 0
                    && let Some(effect) = quick.effect(method, result, last.0 & AFTER)
                {
                    self.last[key] = Last((position as u32 + 1) | effect);
                    continue;
                }
            }
            if self.add_any(position, ids)?.is_err() {
                return Ok(Err(Impossible));
            }
        }
        Ok(Ok(()))
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
        let op = self.part.operation(position);
        let Some((_, key)) = self.reader.what(op)? else {
            self.mark(position);
            return Ok(Ok(()));
        };
        let key = ids.number(key);
        if key >= self.last.len() {
            self.last.resize(key + 1, Last(0));
        }
        self.wrong = key;
        let last = self.last[key];
        let call = self.history.call(op);
        let before = match last.position() {
            WINDOW => return self.add_to_window(position, op, key),
            before => before as usize,
        };
        // One that never returns has a window, so that all before `returned` have returned.
        if before <= self.returned.until || self.has_returned(before - 1, call) {
            return match last.after() {
                Ok(state) => self.begin(position, op, key, state).map(Ok),
                Err(Impossible) => Ok(Err(Impossible)),
            };
        }
        let earlier = self.part.operation(before - 1);
        let until = self.history.ret(earlier).zip(self.history.ret(op));
        let window = Window {
            state: last.before(),
            positions: self.room.list(&[before as u32 - 1, position as u32]),
            until: until.map(|(a, b)| a.max(b)),
        };
        self.windows.insert(key as u32, window);
        self.last[key] = Last(WINDOW);
        Ok(Ok(()))
    }

    /// Whether the operation at a position returned before a call, or never does.
    fn has_returned(&self, position: usize, call: Time) -> bool {
        let ret = self.history.ret(self.part.operation(position));
        ret.is_none_or(|ret| ret < call)
    }

    /// An operation is called on a key on which nothing is open.
    #[inline]
    fn begin(
        &mut self,
        position: usize,
        op: OpId,
        key: usize,
        state: Side,
    ) -> Result<(), Declined> {
        if self.history.ret(op).is_none() {
            let positions = self.room.list(&[position as u32]);
            let window = Window { state, positions, until: None };
            self.windows.insert(key as u32, window);
            self.last[key] = Last(WINDOW);
            return Ok(());
        }
        let after = match self.alone(op, state)? {
            Ok(after) => bit(after, AFTER),
            Err(Impossible) => WRONG,
        };
        self.last[key] = Last((position as u32 + 1) | bit(state, BEFORE) | after);
        Ok(())
    }

    fn add_to_window(
        &mut self,
        position: usize,
        op: OpId,
        key: usize,
    ) -> Result<Result<(), Impossible>, Declined> {
        let call = self.history.call(op);
        let Some(window) = self.windows.get_mut(&(key as u32)) else {
            return Ok(Ok(()));
        };
        if window.until.is_none_or(|until| until >= call) {
            window.positions.push(position as u32);
            let ret = self.history.ret(op);
            window.until = window.until.zip(ret).map(|(a, b)| a.max(b));
            return Ok(Ok(()));
        }
        let Some(window) = self.windows.remove(&(key as u32)) else {
            return Ok(Ok(()));
        };
        match self.close(window)? {
            Ok(state) => self.begin(position, op, key, state).map(Ok),
            Err(Impossible) => Ok(Err(Impossible)),
        }
    }

    /// The state after an operation during which nothing else is open on its key.
    fn alone(&self, op: OpId, state: Side) -> Result<Result<Side, Impossible>, Declined> {
        Ok(match self.reader.what(op)? {
            Some((method, _)) => alone(method, self.reader.success(op)?, state),
            None => Ok(state),
        })
    }

    /// The state after a window, and the order within it.
    fn close(&mut self, mut window: Window) -> Result<Result<Side, Impossible>, Declined> {
        let mut flag = self.room.flag(window.state);
        let mut trace = std::mem::take(&mut self.room.trace);
        let mut events = std::mem::take(&mut self.room.events);
        events.clear();
        for &position in &window.positions {
            self.mark(position as usize);
            let op = self.part.operation(position as usize);
            events.push((self.history.call(op), false, position));
            events.extend(self.history.ret(op).map(|ret| (ret, true, position)));
        }
        events.sort_unstable();
        for (&(_, returns, position), now) in events.iter().zip(1..) {
            let op = self.part.operation(position as usize);
            let Some((method, _)) = self.reader.what(op)? else {
                continue;
            };
            let done = match returns {
                false => {
                    method.call(&mut flag, op, now);
                    Ok(())
                }
                true => method.ret(&mut flag, self.reader.success(op)?, op, now, &mut trace),
            };
            if done.is_err() {
                return Ok(Err(Impossible));
            }
        }
        flag.close(&mut trace);
        let mut latest = 0;
        trace.drain(|op| {
            latest = latest.max(self.part.position(op) as u32);
            self.late.push((latest, op.0));
        });
        let state = flag.state();
        window.positions.clear();
        self.room.positions.push(window.positions);
        self.room = Room { events, trace, flag: Some(flag), ..std::mem::take(&mut self.room) };
        Ok(Ok(state))
    }

    /// What is left when there are no more calls.
    fn finish(&mut self) -> Result<Result<(), Impossible>, Declined> {
        let is_wrong = |last: &Last| {
            last.position() != 0 && last.position() != WINDOW && last.after().is_err()
        };
        if let Some(wrong) = self.last.iter().position(is_wrong) {
            self.wrong = wrong;
            return Ok(Err(Impossible));
        }
        for (key, window) in std::mem::take(&mut self.windows) {
            self.wrong = key as usize;
            if self.close(window)?.is_err() {
                return Ok(Err(Impossible));
            }
        }
        Ok(Ok(()))
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
