//! Changes that have happened and that no operation has owned up to yet, by time.
//!
//! A slot is claimed by an operation that was called before it. As the earlier slots are the harder
//! ones to find an operation for, an operation claims the first behind its call. Claimed slots are
//! skipped by links that grow shorter when they are followed, and thrown out when they are most:
//! O(log n) a claim, amortized.

use crate::fast::objects::flag::Moment;
use crate::fast::online::trace::Place;

/// A change that some open operation has made.
#[derive(Clone, Copy, Debug)]
pub(in crate::fast) struct Slot {
    pub at: Moment,
    pub place: Place,
}

/// Slots by time.
#[derive(Clone, Debug, Default)]
pub(in crate::fast) struct Slots {
    slots: Vec<Slot>,
    /// By slot, itself if it is free, else one behind it that may be.
    next: Vec<u32>,
    free: usize,
}

impl Slots {
    /// How many are not claimed.
    pub fn len(&self) -> usize {
        self.free
    }

    /// The slots that are not claimed.
    pub fn iter(&self) -> impl Iterator<Item = &Slot> {
        let slots = self.slots.iter().zip(&self.next).zip(0..);
        slots.filter(|&((_, &next), index)| next == index).map(|((slot, _), _)| slot)
    }

    /// Adds a slot, not earlier than the last.
    pub fn push(&mut self, slot: Slot) {
        self.next.push(self.slots.len() as u32);
        self.slots.push(slot);
        self.free += 1;
    }

    /// Claims the first slot behind a call.
    pub fn claim(&mut self, call: Moment) -> Option<Place> {
        let mut index = self.slots.partition_point(|slot| slot.at <= call);
        while let Some(&next) = self.next.get(index)
            && next as usize != index
        {
            if let Some(&behind) = self.next.get(next as usize) {
                self.next[index] = behind;
            }
            index = next as usize;
        }
        let place = self.slots.get(index)?.place;
        self.next[index] = index as u32 + 1;
        self.free -= 1;
        if self.free == 0 {
            self.slots.clear();
            self.next.clear();
        } else if self.slots.len() > 2 * self.free + 32 {
            self.slots = self.iter().copied().collect();
            self.next = (0..self.slots.len() as u32).collect();
        }
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fast::online::open_calls::OpenCalls;
    use crate::fast::online::trace::{Keep, Trace};
    use seriatim_history::OpId;

    /// The same by looking at all of them.
    #[test]
    fn slots_and_open_calls_are_plain_lists() {
        let mut seed = 7u64;
        let mut below = |limit: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % limit
        };
        for (largest, numbers) in [(5, 1_000_000), (300, 1_000_000), (300, 400)] {
            let (mut slots, mut plain) = (Slots::default(), Vec::new());
            let (mut open, mut plain_open) = (OpenCalls::default(), Vec::<(u32, u64)>::new());
            let mut places = Keep::default();
            for now in 1..5_000u64 {
                let grows = below(largest) as usize >= plain.len();
                if grows {
                    let place = places.slot();
                    slots.push(Slot { at: now, place });
                    plain.push((now, place));
                } else {
                    let call = below(now);
                    let first = plain.iter().position(|&(at, _)| at > call);
                    let expected = first.map(|index| plain.remove(index).1);
                    assert_eq!(slots.claim(call), expected);
                }
                let number = now as u32 % numbers;
                if grows && plain_open.iter().all(|&(op, _)| op != number) {
                    open.push(OpId(number), now);
                    plain_open.push((number, now));
                } else if !plain_open.is_empty() {
                    let (op, call) = plain_open.remove(below(plain_open.len() as u64) as usize);
                    assert_eq!(open.take(OpId(op)), Some(call));
                    assert_eq!(open.take(OpId(op)), None);
                }
                assert!(slots.iter().map(|slot| (slot.at, slot.place)).eq(plain.iter().copied()));
                let all = open.iter().map(|open| (open.op.0, open.call));
                assert!(all.eq(plain_open.iter().copied()));
                assert_eq!((slots.len(), open.len()), (plain.len(), plain_open.len()));
            }
        }
    }
}
