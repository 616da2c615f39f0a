//! Which silent operations are still to happen, of all keys together, while gaps are filled.
//!
//! Slot by slot, in the order of their calls, each silent operation happens as soon as it can: all
//! that had returned before its call have happened, and its result fits. That is exact for those
//! that change nothing: what precedes an operation was called before it, and an early place never
//! hinders a later operation. One that might also have filled a later gap counts as having happened
//! as soon as it fits, which forbids less. So it is a dead end if one had to happen by a slot and
//! has not; and what fills a gap was called before all returned that have not happened by then.

use super::key::Keys;
use super::layout::{Index, NEVER};
use hashbrown::HashMap;
use seriatim_limits::InOrder;
use seriatim_spec::ClassId;
use std::ops::Range;

/// A silent operation of a key.
struct Silent {
    key: usize,
    index: Index,
    class: ClassId,
    call: u32,
    ret: u32,
    first: u32,
    last: u32,
    due: Option<u32>,
}

/// The silent operations of all keys.
pub(super) struct Dues {
    /// In the order of their calls, hence of the first slots at which they may stand.
    silents: Vec<Silent>,
    numbers: HashMap<Index, u32>,
    /// How many may have happened by now, and those of them that have not, in their order.
    opened: u32,
    open: Vec<u32>,
}

/// What became of silent operations during some slots.
pub(super) struct Happened {
    opened: u32,
    open: Vec<u32>,
}

impl Dues {
    pub fn of(keys: &Keys<'_>) -> Dues {
        let mut silents = Vec::new();
        for (key, one) in keys.keys.iter().enumerate() {
            for silent in &one.silents {
                let record = keys.layout.record(silent.index);
                let super::standing::Silent { index, class, first, last, due } = *silent;
                let (call, ret) = (record.call, record.ret);
                silents.push((index, Silent { key, index, class, call, ret, first, last, due }));
            }
        }
        silents.put_in_order_by_key(|(_, silent)| silent.call);
        let numbers = silents.iter().map(|&(index, _)| index).zip(0..).collect();
        let silents = silents.into_iter().map(|(_, silent)| silent).collect();
        Dues { silents, numbers, opened: 0, open: Vec::new() }
    }

    /// The earliest return of those that have not happened: what was called later cannot, either.
    pub fn earliest(&self) -> u32 {
        self.open.iter().map(|&silent| self.silents[silent as usize].ret).min().unwrap_or(NEVER)
    }

    /// Those that have not happened and might have.
    pub fn open(&self) -> &[u32] {
        &self.open
    }

    /// What is to be known to [go back](Dues::undo).
    pub fn save(&self) -> Happened {
        Happened { opened: self.opened, open: self.open.clone() }
    }

    pub fn undo(&mut self, happened: &Happened) {
        self.opened = happened.opened;
        self.open.clone_from(&happened.open);
    }

    /// An operation fills a gap.
    pub fn fill(&mut self, index: Index) {
        if let Some(number) = self.numbers.get(&index) {
            self.open.retain(|open| open != number);
        }
    }

    /// Lets happen what can during some slots; false if something had to and did not.
    pub fn pass(
        &mut self,
        slots: Range<u32>,
        mut fits: impl FnMut(usize, (Index, ClassId), u32) -> bool,
    ) -> bool {
        while let Some(next) = self.silents.get(self.opened as usize)
            && next.first < slots.end
        {
            self.open.push(self.opened);
            self.opened += 1;
        }
        let mut left: Vec<u32> = Vec::with_capacity(self.open.len());
        let mut happened: Vec<(u32, u32)> = Vec::new();
        let mut earliest = NEVER;
        for &number in &self.open {
            let silent = &self.silents[number as usize];
            let before = happened.iter().filter(|&&(ret, _)| ret < silent.call);
            let floor = before.map(|&(_, slot)| slot).max().unwrap_or(0);
            let mut while_open =
                floor.max(silent.first).max(slots.start)..slots.end.min(silent.last + 1);
            let found = match silent.call < earliest {
                true => {
                    while_open.find(|&slot| fits(silent.key, (silent.index, silent.class), slot))
                }
                false => None,
            };
            match found {
                Some(slot) => happened.push((silent.ret, slot)),
                None if silent.due.is_some_and(|due| due < slots.end) => return false,
                None => {
                    earliest = earliest.min(silent.ret);
                    left.push(number);
                }
            }
        }
        self.open = left;
        true
    }
}
