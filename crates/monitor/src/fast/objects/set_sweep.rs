//! The order of a set's history, key by key in one pass over the calls.
//!
//! Most operations on a key begin when the one before them on that key has returned. Such an
//! operation needs nothing but the key's state, one bit, and may take effect at its call. So the
//! operations are read in call order, without their returns being merged in; a key remembers its
//! last operation, its states before and after, and when nothing is open on it any more. Only where
//! operations on a key overlap is their *window*, up to the next moment at which nothing is open on
//! the key, handed to `set_window`.
//!
//! Each operation takes effect at a call: its own, or, in a window, the latest call among those in
//! front of it in the window's order. So the order of everything is that of these calls. As a
//! window's own calls are meant, those that take effect at one call stand side by side in one
//! window, and nothing has to be sorted. O(n), plus sorting the returns in windows; memory: two
//! words per key and one per operation, and three for each operation in a window that is open.

use crate::fast::containers::container::Dense;
use crate::fast::objects::flag::{Impossible, Side};
use crate::fast::objects::set::{Method, Reader};
use crate::fast::objects::set_window::{Does, Member, NEVER, Orders};
use crate::fast::{Declined, Part};
use seriatim_history::{History, MethodId, OpId, Stretch, Time, ValueId};

/// The last operation on a key, as its position plus one (0 for none), the key's state before and
/// after it, and whether it is wrong if nothing overlaps it.
#[derive(Clone, Copy, Default)]
struct Last(u32);

const BEFORE: u32 = 1 << 31;
const AFTER: u32 = 1 << 30;
const WRONG: u32 = 1 << 29;
/// The most operations that there may be.
const MOST: u32 = WRONG - 1;
/// The key has a window.
const WINDOW: Last = Last(WRONG | MOST);

fn side(bit: u32) -> Side {
    if bit == 0 { Side::Down } else { Side::Up }
}

fn bit(side: Side, bit: u32) -> u32 {
    if side == Side::Up { bit } else { 0 }
}

impl Last {
    /// An operation on a key on which nothing else is open.
    fn alone(position: u32, before: Side, does: Does) -> Self {
        let is_right = (before != does.to) == does.moves;
        let wrong = if is_right { 0 } else { WRONG };
        Last((position + 1) | bit(before, BEFORE) | bit(does.to, AFTER) | wrong)
    }

    fn position(self) -> u32 {
        self.0 & MOST
    }

    fn has_window(self) -> bool {
        self.position() == MOST
    }

    /// Whether the operation has no window and is right if nothing overlaps it.
    fn is_usual(self) -> bool {
        self.0 & WRONG == 0
    }

    fn before(self) -> Side {
        side(self.0 & BEFORE)
    }

    fn does(self) -> Does {
        let to = side(self.0 & AFTER);
        Does { to, moves: (self.before() != to) == self.is_usual() }
    }

    fn after(self) -> Result<Side, Impossible> {
        match self.is_usual() {
            true => Ok(side(self.0 & AFTER)),
            false => Err(Impossible),
        }
    }
}

/// What is remembered of a key.
#[derive(Clone, Copy, Default)]
struct Key {
    /// The first moment at which nothing is open on it.
    quiet: Time,
    last: Last,
    /// The place of its window, if it has one.
    window: u32,
}

/// Operations on one key that overlap.
#[derive(Default)]
struct Window {
    /// Whether the key was present before.
    state: Side,
    /// By call.
    members: Vec<Member>,
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
    if part.len() >= MOST as usize {
        return Ok(Found::None(None));
    }
    let mut ids = Ids::new(part, reader);
    let mut keys = Keys {
        part,
        reader,
        keys: vec![Key::default(); ids.expected()],
        windows: Vec::new(),
        free: Vec::new(),
        orders: Orders::default(),
        at_call: vec![ITSELF; part.len()],
        late: Vec::new(),
        wrong: 0,
    };
    let quick = Quick::new(part.history, reader);
    let mut stretch = Stretch::default();
    for start in (0..part.len()).step_by(Stretch::LONGEST) {
        part.read_stretch(start, &mut stretch);
        if keys.add_stretch(start, &stretch, &quick, &mut ids)?.is_err() {
            return Ok(Found::None(ids.key(keys.wrong)));
        }
    }
    Ok(match keys.finish() {
        Ok(()) => Found::Order(keys.order()),
        Err(Impossible) => Found::None(ids.key(keys.wrong)),
    })
}

/// What operations that return do, by method and result.
struct Quick(Vec<Option<Does>>);

impl Quick {
    fn new(history: &History, reader: &Reader<'_>) -> Self {
        let results = [ValueId::ABSENT, ValueId::NIL, ValueId::FALSE, ValueId::TRUE];
        let methods = (0..history.method_count()).map(MethodId::from);
        let has_failures = history.has_failures();
        let what = methods.flat_map(|method| results.map(|result| reader.effect(method, result)));
        let what = what.map(|what| what.filter(|_| !has_failures));
        Quick(what.map(|what| what.map(|(method, success)| does(method, success))).collect())
    }

    /// What an operation that returned does; `None` if that has to be looked up.
    #[inline]
    fn does(&self, method: u32, result: u32) -> Option<Does> {
        let place = (method << 2 | result >> 2 & 3) as usize;
        self.0[place].filter(|_| result & !(3 << 2) == 0)
    }
}

/// What an operation that returned did.
fn does(method: Method, success: bool) -> Does {
    match (method, success) {
        (Method::Insert, moves) => Does { to: Side::Up, moves },
        (Method::Remove, moves) => Does { to: Side::Down, moves },
        (Method::Contains, true) => Does { to: Side::Up, moves: false },
        (Method::Contains, false) => Does { to: Side::Down, moves: false },
    }
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
    keys: Vec<Key>,
    /// The windows that are open, and some that are not.
    windows: Vec<Window>,
    /// The places among them that are not.
    free: Vec<u32>,
    orders: Orders,
    /// By position, what takes effect at the call: the operation [itself](ITSELF), [nothing](NOTHING),
    /// or those in `late` from a place on, up to the one that is marked as the [last](END).
    at_call: Vec<u32>,
    /// The positions of operations in windows.
    late: Vec<u32>,
    /// The key that was found wrong, if one was.
    wrong: usize,
}

const ITSELF: u32 = 0;
const NOTHING: u32 = u32::MAX;
const END: u32 = 1 << 31;

impl Keys<'_> {
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
            let does = match *ids {
                Ids::Itself(_) if stretch.span[offset] != 0 => {
                    quick.does(stretch.method[offset], stretch.result[offset])
                }
                _ => None,
            };
            let done = match does {
                Some(does) => {
                    let call = stretch.call[offset];
                    let ret = call + (stretch.span[offset] - 1);
                    let key = stretch.arg[offset] as usize >> 2;
                    self.add(key, Member { call, ret, position: position as u32, does })
                }
                None => self.add_any(position, ids)?,
            };
            if done.is_err() {
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
        let sum = keys.fold(0u32, |sum, &key| sum ^ self.keys[key as usize >> 2].last.0);
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
            self.at_call[position] = NOTHING;
            return Ok(Ok(()));
        };
        let key = ids.number(key);
        if key >= self.keys.len() {
            self.keys.resize(key + 1, Key::default());
        }
        Ok(self.add(key, member))
    }

    /// What a window has to know of an operation, and its key; `None` if it did nothing.
    fn member(&self, position: u32) -> Result<Option<(Member, ValueId)>, Declined> {
        let (op, history) = (self.part.operation(position as usize), self.part.history);
        let Some((method, key)) = self.reader.what(op)? else { return Ok(None) };
        let (ret, success) = match history.ret(op) {
            Some(ret) => (ret, self.reader.success(op)?),
            // A query that does not return says nothing.
            None => (NEVER, true),
        };
        let member = Member { call: history.call(op), ret, position, does: does(method, success) };
        Ok(Some((member, key)))
    }

    /// Adds an operation to its key.
    #[inline]
    fn add(&mut self, number: usize, member: Member) -> Result<(), Impossible> {
        let key = &mut self.keys[number];
        if key.quiet <= member.call && key.last.is_usual() && member.ret != NEVER {
            let before = side(key.last.0 & AFTER);
            key.last = Last::alone(member.position, before, member.does);
            key.quiet = member.ret + 1;
            return Ok(());
        }
        self.wrong = number;
        self.add_unusual(number, member)
    }

    /// Adds an operation that overlaps another one, or follows one that did, or never returns.
    fn add_unusual(&mut self, number: usize, member: Member) -> Result<(), Impossible> {
        let Key { quiet, last, window } = self.keys[number];
        if quiet > member.call {
            let place = match last.has_window() {
                true => window,
                false => self.open_window(number),
            };
            self.put(number, place, member);
            return Ok(());
        }
        let state = match last.has_window() {
            true => self.close(window)?,
            false => last.after()?,
        };
        let key = &mut self.keys[number];
        (key.last, key.quiet) =
            (Last::alone(member.position, state, member.does), member.ret.saturating_add(1));
        if member.ret == NEVER {
            let place = self.window(state);
            self.put(number, place, member);
        }
        Ok(())
    }

    /// Opens a window on a key on which an operation is open that had begun alone.
    fn open_window(&mut self, number: usize) -> u32 {
        let Key { quiet, last, .. } = self.keys[number];
        let place = self.window(last.before());
        let position = last.position() - 1;
        self.put(number, place, Member { call: 0, ret: quiet - 1, position, does: last.does() });
        place
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
    fn put(&mut self, number: usize, place: u32, member: Member) {
        let quiet = self.keys[number].quiet.max(member.ret.saturating_add(1));
        self.keys[number] = Key { quiet, last: WINDOW, window: place };
        self.windows[place as usize].members.push(member);
    }

    /// The state after a window, and the order within it.
    fn close(&mut self, place: u32) -> Result<Side, Impossible> {
        let window = &mut self.windows[place as usize];
        let (order, state) = self.orders.find(&window.members, window.state)?;
        for member in &window.members {
            self.at_call[member.position as usize] = NOTHING;
        }
        let mut latest = None;
        for &position in order {
            if latest < Some(position) {
                latest = Some(position);
                if let Some(last) = self.late.last_mut() {
                    *last |= END;
                }
                self.at_call[position as usize] = self.late.len() as u32 + 1;
            }
            self.late.push(position);
        }
        window.members.clear();
        self.free.push(place);
        Ok(state)
    }

    /// What is left when there are no more calls.
    fn finish(&mut self) -> Result<(), Impossible> {
        for number in 0..self.keys.len() {
            self.wrong = number;
            let Key { last, window, .. } = self.keys[number];
            match last.has_window() {
                true => self.close(window)?,
                false => last.after()?,
            };
        }
        if let Some(last) = self.late.last_mut() {
            *last |= END;
        }
        Ok(())
    }

    fn order(self) -> Vec<OpId> {
        let mut order = Vec::with_capacity(self.part.len());
        for (op, at_call) in self.part.operations().zip(self.at_call) {
            match at_call {
                ITSELF => order.push(op),
                NOTHING => {}
                place => {
                    for position in &self.late[place as usize - 1..] {
                        order.push(self.part.operation((position & !END) as usize));
                        if position & END != 0 {
                            break;
                        }
                    }
                }
            }
        }
        order
    }
}
