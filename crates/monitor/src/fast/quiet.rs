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
//! sorting the operations in windows; memory: a word a key and a word an operation.

use super::container::Dense;
use super::flag::{Flag, Impossible, Side};
use super::set::{Method, Reader};
use super::trace::Keep;
use super::{Declined, Part};
use hashbrown::HashMap;
use seriatim_history::{History, OpId, Time, ValueId};

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

/// The order of a part's operations; `None` if there is none.
pub(super) fn order(part: &Part<'_>, reader: &Reader<'_>) -> Result<Option<Vec<OpId>>, Declined> {
    let mut keys = Keys {
        part,
        reader,
        history: part.history,
        last: Vec::new(),
        returned: 0,
        windows: HashMap::new(),
        late: Vec::new(),
        in_window: vec![0; part.len().div_ceil(64)],
    };
    if part.len() >= WINDOW as usize {
        return Ok(None);
    }
    let mut dense = Ids::new(part);
    for (position, op) in part.operations().enumerate() {
        let Some((_, key)) = reader.what(op)? else {
            keys.mark(position);
            continue;
        };
        let key = dense.number(key);
        if key == keys.last.len() {
            keys.last.push(Last(0));
        } else if key > keys.last.len() {
            keys.last.resize(key + 1, Last(0));
        }
        if keys.add(position, op, key)?.is_err() {
            return Ok(None);
        }
    }
    Ok(match keys.finish()? {
        Ok(()) => Some(keys.order()),
        Err(Impossible) => None,
    })
}

/// Small numbers for keys: the number itself where keys are small numbers.
enum Ids {
    Itself,
    Dense(Dense, usize),
}

impl Ids {
    fn new(part: &Part<'_>) -> Self {
        let small = |op: OpId| {
            let key = part.history.arg(op);
            key.0 & 3 == 1 && (key.0 as usize >> 2) < 2 * part.len() + 64
        };
        match part.operations().all(small) {
            true => Ids::Itself,
            false => Ids::Dense(Dense::hashed(), 0),
        }
    }

    #[inline]
    fn number(&mut self, key: ValueId) -> usize {
        match self {
            Ids::Itself => key.0 as usize >> 2,
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
    /// All operations before this position have returned, or never do.
    returned: usize,
    windows: HashMap<u32, Window>,
    /// Operations in windows: the position of the call at which each takes effect.
    late: Vec<(u32, OpId)>,
    /// By position, whether the operation is in a window or not in the order at all.
    in_window: Vec<u64>,
}

impl Keys<'_> {
    fn mark(&mut self, position: usize) {
        self.in_window[position >> 6] |= 1 << (position & 63);
    }

    #[inline]
    fn add(
        &mut self,
        position: usize,
        op: OpId,
        key: usize,
    ) -> Result<Result<(), Impossible>, Declined> {
        let last = self.last[key];
        let call = self.history.call(op);
        while self.returned < position && self.has_returned(self.returned, call) {
            self.returned += 1;
        }
        let before = match last.position() {
            WINDOW => return self.add_to_window(position, op, key),
            before => before as usize,
        };
        // One that never returns has a window, so that all before `returned` have returned.
        if before <= self.returned || self.has_returned(before - 1, call) {
            return match last.after() {
                Ok(state) => self.begin(position, op, key, state).map(Ok),
                Err(Impossible) => Ok(Err(Impossible)),
            };
        }
        let earlier = self.part.operation(before - 1);
        let until = self.history.ret(earlier).zip(self.history.ret(op));
        let window = Window {
            state: last.before(),
            positions: vec![before as u32 - 1, position as u32],
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
            let window = Window { state, positions: vec![position as u32], until: None };
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
        let Some((method, _)) = self.reader.what(op)? else {
            return Ok(Ok(state));
        };
        let moves = self.reader.success(op)?;
        let (needs, after) = match (method, moves) {
            (Method::Insert, true) => (Side::Down, Side::Up),
            (Method::Remove, true) => (Side::Up, Side::Down),
            (Method::Insert, false) | (Method::Contains, true) => (Side::Up, Side::Up),
            (Method::Remove | Method::Contains, false) => (Side::Down, Side::Down),
        };
        Ok(if needs == state { Ok(after) } else { Err(Impossible) })
    }

    /// The state after a window, and the order within it.
    fn close(&mut self, window: Window) -> Result<Result<Side, Impossible>, Declined> {
        let mut flag = Flag::new(window.state);
        let mut trace = Keep::default();
        let mut events: Vec<(Time, bool, u32)> = Vec::with_capacity(2 * window.positions.len());
        for &position in &window.positions {
            self.mark(position as usize);
            let op = self.part.operation(position as usize);
            events.push((self.history.call(op), false, position));
            events.extend(self.history.ret(op).map(|ret| (ret, true, position)));
        }
        events.sort_unstable();
        for ((_, returns, position), now) in events.into_iter().zip(1..) {
            let op = self.part.operation(position as usize);
            let Some((method, _)) = self.reader.what(op)? else {
                continue;
            };
            let done = match returns {
                false => {
                    method.call(&mut flag, op, now);
                    Ok(())
                }
                true => method.ret(&mut flag, self.reader.success(op)?, (op, now), &mut trace),
            };
            if done.is_err() {
                return Ok(Err(Impossible));
            }
        }
        flag.close(&mut trace);
        let mut latest = 0;
        for op in trace.into_order() {
            latest = latest.max(self.part.position(op) as u32);
            self.late.push((latest, op));
        }
        Ok(Ok(flag.state()))
    }

    /// What is left when there are no more calls.
    fn finish(&mut self) -> Result<Result<(), Impossible>, Declined> {
        let alone = |last: &&Last| last.position() != 0 && last.position() != WINDOW;
        if self.last.iter().filter(alone).any(|last| last.after().is_err()) {
            return Ok(Err(Impossible));
        }
        for (_, window) in std::mem::take(&mut self.windows) {
            if self.close(window)?.is_err() {
                return Ok(Err(Impossible));
            }
        }
        Ok(Ok(()))
    }

    fn order(mut self) -> Vec<OpId> {
        self.late.sort_by_key(|&(position, _)| position);
        let mut order = Vec::with_capacity(self.part.len());
        let mut late = self.late.into_iter().peekable();
        for (position, op) in self.part.operations().enumerate() {
            if self.in_window[position >> 6] >> (position & 63) & 1 == 0 {
                order.push(op);
            }
            while let Some((_, op)) = late.next_if(|&(at, _)| at as usize == position) {
                order.push(op);
            }
        }
        order
    }
}
