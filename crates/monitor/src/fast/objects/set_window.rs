//! The order of operations on one key of a set that overlap.
//!
//! **Decides** whether the operations of a *window*, from a moment at which nothing is open on the
//! key to the next one, have an order from a state of the key, and finds it.
//!
//! **Theorem.** As in `flag`, the key changes as late as possible: when an operation returns whose
//! result demands it, some open operation has changed it by then. Which one is learnt there only
//! when it returns; here all returns are known, and it is the open one that returns first. For let
//! an order choose another, and the two change places: what returns later is open for as long as
//! the other was, the key takes the same states, and so the exchanged order is one, too. One that
//! never returns is chosen last and need not be chosen at all.
//!
//! **Cost.** Up to 64 operations are bits of a word, by return: sorting them, then O(1) for each but
//! for those that look at what was before the last change, which are put in front of it. Larger
//! windows go through `flag`.
//!
//! **What would make it unsound:** nothing that is not found by the replay of the whole order. A
//! wrong *no* would come of an open operation that is overlooked: one is open from its call, even
//! where that is the very moment of a return, up to its own return.

use crate::fast::objects::flag::{Flag, Impossible, Side};
use crate::fast::online::trace::Keep;
use seriatim_history::{OpId, Time};

/// What an operation does to its key: it leaves it on a side, which it has seen or made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fast) struct Does {
    pub to: Side,
    /// Whether the key was on the other side before.
    pub moves: bool,
}

/// An operation that may have done something to its key.
#[derive(Clone, Copy, Debug)]
pub(in crate::fast) struct Member {
    /// Its call; for the first of a window, any moment up to it.
    pub call: Time,
    /// [`NEVER`] if it does not return; then it moves the key, or has not happened.
    pub ret: Time,
    pub position: u32,
    pub does: Does,
}

pub(in crate::fast) const NEVER: Time = Time::MAX;

/// How many operations a small window has at most.
const SMALL: usize = u64::BITS as usize;

/// Finds the orders of windows, in room that is used again and again.
#[derive(Default)]
pub(in crate::fast) struct Orders {
    order: Vec<u32>,
}

impl Orders {
    /// The positions of a window's operations in an order from a state, and the state behind them.
    /// The operations are given by call; those that never return may be left out.
    pub fn find(&mut self, members: &[Member], state: Side) -> Result<(&[u32], Side), Impossible> {
        self.order.clear();
        let state = match members.len() <= SMALL {
            true => Bits::new(state).run(members, &Returns::of(members), &mut self.order)?,
            false => self.find_by_flag(members, state)?,
        };
        Ok((&self.order, state))
    }

    fn find_by_flag(&mut self, members: &[Member], state: Side) -> Result<Side, Impossible> {
        let (mut flag, mut trace) = (Flag::new(state), Keep::default());
        let returns = members.iter().zip(0..).map(|(member, index)| (member.ret, index));
        let mut returns: Vec<(Time, usize)> = returns.collect();
        returns.sort_unstable();
        let op = |member: &Member| OpId(member.position);
        let mut calls = members.iter().peekable();
        let mut now = 0;
        for (ret, index) in returns {
            while let Some(member) = calls.next_if(|member| member.call <= ret) {
                now += 1;
                match member.does.moves {
                    true => flag.call(member.does.to, op(member), now),
                    false => flag.call_query(op(member), now),
                }
            }
            if ret == NEVER {
                break;
            }
            now += 1;
            let member = &members[index];
            match member.does.moves {
                true => flag.moved(member.does.to, op(member), now, &mut trace)?,
                false => flag.looked(member.does.to, op(member), now, &mut trace)?,
            }
        }
        flag.close(&mut trace);
        trace.drain(|op| self.order.push(op.0));
        Ok(flag.state())
    }
}

/// The operations of a small window by return.
struct Returns {
    /// By operation, how many return before it.
    bit: [u8; SMALL],
    /// The other way round.
    place: [u8; SMALL],
}

/// Up to so many operations are sorted by comparing all with all, which needs no guesses.
const FEW: usize = 16;

impl Returns {
    #[inline]
    fn of(members: &[Member]) -> Self {
        let mut returns = Returns { bit: [0; SMALL], place: [0; SMALL] };
        let Returns { bit, place } = &mut returns;
        if members.len() <= FEW {
            for (at, member) in members.iter().enumerate() {
                let mut before = 0;
                for (bit, other) in bit[..at].iter_mut().zip(members) {
                    let is_later = u8::from(other.ret > member.ret);
                    *bit += is_later;
                    before += 1 - is_later;
                }
                bit[at] = before;
            }
            for (at, &bit) in bit[..members.len()].iter().enumerate() {
                place[usize::from(bit) % SMALL] = at as u8;
            }
        } else {
            let place = &mut place[..members.len()];
            place.iter_mut().zip(0..).for_each(|(place, at)| *place = at);
            place.sort_by_key(|&place| members[usize::from(place)].ret);
            for (at, &place) in place.iter().enumerate() {
                bit[usize::from(place) % SMALL] = at as u8;
            }
        }
        returns
    }
}

/// A key while a window is followed. Operations are bits, the first to return the lowest.
struct Bits {
    state: Side,
    /// Open operations that move the key to a side and have not done so yet.
    open: [u64; 2],
    /// The moment behind the last change, 0 if there was none, and its place in the order.
    changed: Time,
    changed_at: usize,
}

impl Bits {
    fn new(state: Side) -> Self {
        Bits { state, open: [0; 2], changed: 0, changed_at: 0 }
    }

    /// The state behind all operations, which are put into an order.
    fn run(
        mut self,
        members: &[Member],
        returns: &Returns,
        order: &mut Vec<u32>,
    ) -> Result<Side, Impossible> {
        let place = |bit: usize| usize::from(returns.place[bit]);
        let position = |bit: usize| members[place(bit)].position;
        let mut called = 0;
        for bit in 0..members.len() {
            let Member { call, ret, does, .. } = members[place(bit)];
            if ret == NEVER {
                break;
            }
            while let Some(member) = members.get(called)
                && member.call <= ret
            {
                let to = member.does.to as usize;
                self.open[to] |= u64::from(member.does.moves) << returns.bit[called];
                called += 1;
            }
            let open = &mut self.open[does.to as usize];
            if does.moves && *open >> bit & 1 == 0 {
                // Somebody relied on it before.
                continue;
            }
            *open &= !(u64::from(does.moves) << bit);
            if (self.state == does.to) == does.moves {
                if !does.moves && call < self.changed {
                    // It saw what was before the last change.
                    order.insert(self.changed_at, position(bit));
                    self.changed_at += 1;
                    continue;
                }
                let other = self.change(ret, order.len())?;
                order.push(position(other));
            }
            if does.moves {
                self.changes(ret, order.len());
            }
            order.push(position(bit));
        }
        Ok(self.state)
    }

    /// Some open operation changes the key: which one.
    fn change(&mut self, ret: Time, at: usize) -> Result<usize, Impossible> {
        self.changes(ret, at);
        let open = &mut self.open[self.state as usize];
        let first = open.trailing_zeros() as usize;
        if *open == 0 {
            return Err(Impossible);
        }
        *open &= *open - 1;
        Ok(first)
    }

    fn changes(&mut self, ret: Time, at: usize) {
        self.state = self.state.other();
        (self.changed, self.changed_at) = (ret + 1, at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seriatim_testing::Random;

    /// Operations whose calls and returns are any moments, some the same, some never.
    fn window(random: &mut Random, size: usize) -> Vec<Member> {
        let moments = 1 + random.below(4 * size as u64);
        let mut members: Vec<Member> = (0..size)
            .map(|_| {
                let call = random.below(moments);
                let ret = call + random.below(1 + moments / 2);
                let to = *random.pick(&[Side::Up, Side::Down]);
                let is_pending = random.one_in(8);
                let does = Does { to, moves: is_pending || random.one_in(2) };
                let ret = if is_pending { NEVER } else { ret };
                Member { call, ret, position: 0, does }
            })
            .collect();
        members.sort_by_key(|member| member.call);
        members.iter_mut().zip(0..).for_each(|(member, position)| member.position = position);
        members
    }

    /// The flag of live streams knows no returns in advance, and finds the very same orders.
    #[test]
    fn an_order_is_found_where_the_flag_finds_one_and_is_the_same() {
        let mut random = Random(16);
        let (mut found, mut all) = (0, 0);
        for size in (1..=6).chain([9, 17, 64]) {
            for _ in 0..20_000 / size {
                let members = window(&mut random, size);
                let state = *random.pick(&[Side::Up, Side::Down]);
                let (mut here, mut there) = (Orders::default(), Orders::default());
                let here = here.find(&members, state).map(|(order, after)| (order.to_vec(), after));
                let after = there.find_by_flag(&members, state);
                assert_eq!(here, after.map(|after| (there.order.clone(), after)), "{members:?}");
                (found, all) = (found + u32::from(here.is_ok()), all + 1);
            }
        }
        assert!(found > all / 20 && found < all, "{found} of {all} have an order");
    }

    /// An order exists where trying all of them finds one.
    #[test]
    fn no_order_is_overlooked() {
        let mut random = Random(61);
        for round in 0..20_000 {
            let members = window(&mut random, 1 + round % 6);
            let state = *random.pick(&[Side::Up, Side::Down]);
            let is_found = Orders::default().find(&members, state).is_ok();
            assert_eq!(is_found, some_order(&members, state, 0), "{members:?} from {state:?}");
        }
    }

    /// Whether those of the operations that are not done have an order.
    fn some_order(members: &[Member], state: Side, done: u32) -> bool {
        let left = || members.iter().zip(0..).filter(move |&(_, at)| done >> at & 1 == 0);
        let first_return = left().map(|(member, _)| member.ret).min().unwrap_or(NEVER);
        first_return == NEVER
            || left().any(|(member, at)| {
                member.call <= first_return
                    && (state != member.does.to) == member.does.moves
                    && some_order(members, member.does.to, done | 1 << at)
            })
    }
}
