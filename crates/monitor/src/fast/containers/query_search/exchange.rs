//! Exchanging the labels of values inside: which of two values that were inserted at once is which.
//!
//! **Theorem.** In a right order two insertions may take each other's places if each lies in the
//! other's interval, as long as neither has been seen at the head: nothing else tells them apart.
//! So an order of what is inside stands for all that come out of it by such exchanges, and which of
//! them it is need not be chosen before a value leaves or is seen.
//!
//! Not all exchanges are tried: only of the value at the head with one near it or with one whose
//! insertion is open. So nothing is concluded where no order is found.

use super::{Action, Configuration, Element, Head, QuerySearch, Step};
use crate::fast::containers::container::{Item, Rank};
use seriatim_history::ValueId;
use seriatim_limits::InOrder;
use seriatim_spec::Sequence;

/// How far from the head a value is looked for that may take the place of the one at the head.
const NEAR: usize = 32;

/// What becomes of the value at the head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// It is removed.
    Leaves,
    /// It is looked at.
    IsSeen,
}

impl QuerySearch<'_> {
    /// The value at the head has been seen.
    pub(super) fn see_head(&mut self, configuration: &mut Configuration) {
        match (self.head, configuration.inside.newest()) {
            (Head::Newest, Some(top)) => {
                let element = self.elements[top.0 as usize];
                let seen = self.number(Element { is_seen: true, ..element });
                configuration.inside = configuration.inside.without_newest().push(seen);
            }
            _ => configuration.is_seen = true,
        }
    }

    /// The number of an element.
    pub(super) fn number(&mut self, element: Element) -> ValueId {
        if element == Element::plain(element.item) {
            return ValueId(element.item.0);
        }
        let next = self.elements.len() as u32;
        let number = *self.numbers.entry(element).or_insert(next);
        if number == next {
            self.elements.push(element);
        }
        ValueId(number)
    }

    /// A configuration in which an item has been at the head: as it is, or because it and the one
    /// at the head take each other's place, as each could have been inserted in the other's cell.
    pub(super) fn exchanged(
        &mut self,
        from: &Configuration,
        item: Item,
        fate: Fate,
    ) -> Option<Configuration> {
        let oldest = matches!(self.head, Head::Oldest);
        let head = if oldest { from.inside.oldest() } else { from.inside.newest() }?;
        let head = self.elements[head.0 as usize];
        if head.item == item {
            return (fate == Fate::Leaves).then(|| self.without_head(from));
        }
        if from.is_seen || head.is_seen || !self.could_be_inserted(item, head.at) {
            return None;
        }
        let mut next = from.clone();
        let mut inside = self.near(from);
        match inside.iter().position(|element| element.item == item) {
            Some(place) => {
                let other = inside[place];
                if other.is_seen || !self.could_be_inserted(head.item, other.at) {
                    return None;
                }
                inside[place] = Element { item: head.item, ..other };
            }
            None => {
                let (mine, theirs) = (self.row_of(item)?, self.row_of(head.item)?);
                if from.is_done(mine) {
                    return None;
                }
                next.done = (from.done | 1 << mine) & !(1 << theirs);
            }
        }
        match fate {
            Fate::Leaves => {
                inside.remove(0);
                next.size -= 1;
                next.is_seen = false;
            }
            Fate::IsSeen => {
                inside[0] = Element { item, is_seen: !oldest, ..head };
                next.is_seen = oldest;
            }
        }
        next.inside = self.with_near(from, &inside);
        let op = |item: Item| self.container.insert[item.index()].op;
        let (op, instead) = (op(item), Some(op(head.item)));
        self.steps.push(Step { op, instead, before: next.last });
        next.last = self.steps.len() as u32 - 1;
        Some(next)
    }

    /// A configuration in which the removal of an item took the one at the head, which is equal:
    /// what was to take that one takes the item.
    pub(super) fn without_equal(
        &mut self,
        from: &Configuration,
        item: Item,
    ) -> Option<Configuration> {
        if matches!(self.head, Head::Least(_)) {
            return None;
        }
        let mut inside = self.near(from);
        let head = inside.first()?.item;
        let value = |item: Item| self.container.values[item.index()];
        if value(head) != value(item) {
            return None;
        }
        let mut next = self.without_head(from);
        match inside.iter().position(|element| element.item == item) {
            Some(place) => {
                inside[place] = Element::plain(head);
                inside.remove(0);
                next.inside = self.with_near(from, &inside);
            }
            None if self.is_outside(from, item) => {
                next.renamed.push((item, head));
                next.renamed.put_in_order();
            }
            None => return None,
        }
        Some(next)
    }

    /// Whether an item has not been inserted yet.
    fn is_outside(&self, from: &Configuration, item: Item) -> bool {
        let is_called = self.container.insert[item.index()].call < self.now;
        let row = self.row_of(item);
        (!is_called || row.is_some_and(|row| !from.is_done(row)))
            && from.renamed.iter().all(|&(renamed, _)| renamed != item)
    }

    /// Whether the insertion of an item may have happened in a cell.
    pub(super) fn could_be_inserted(&self, item: Item, cell: Rank) -> bool {
        let insert = self.container.insert[item.index()];
        insert.call < cell && cell <= insert.ret
    }

    /// The row of the insertion of an item, if it is open.
    fn row_of(&self, item: Item) -> Option<usize> {
        let mut rows = self.open.iter();
        rows.position(|open| {
            open.is_some_and(|action| self.actions[action].0 == Action::Insert(item))
        })
    }

    /// The elements next to the head, the head first.
    fn near(&self, from: &Configuration) -> Vec<Element> {
        let element = |id: ValueId| self.elements[id.0 as usize];
        match self.head {
            Head::Oldest => (0..NEAR).map_while(|at| from.inside.get(at)).map(element).collect(),
            _ => from.inside.newest_first().take(NEAR).map(element).collect(),
        }
    }

    /// What is inside with the elements next to the head replaced.
    fn with_near(&mut self, from: &Configuration, near: &[Element]) -> Sequence {
        let replaced = from.inside.len().min(NEAR);
        let near: Vec<ValueId> = near.iter().map(|&element| self.number(element)).collect();
        match self.head {
            Head::Oldest => {
                let far = (replaced..).map_while(|at| from.inside.get(at));
                Sequence::of(near.into_iter().chain(far))
            }
            _ => {
                let far = (0..replaced).fold(from.inside.clone(), |far, _| far.without_newest());
                near.into_iter().rev().fold(far, |inside, number| inside.push(number))
            }
        }
    }
}
