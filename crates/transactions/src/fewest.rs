//! The fewest transactions that show a violation, and a proof that fewer do not.
//!
//! A *correction set* is a set of transactions without which the others satisfy the level. A
//! violated part has a transaction of every correction set: else it would be a part of a satisfied
//! history, and so satisfied ([`Transactions::part`]). Conversely, what has one of every correction
//! set is violated, since what it leaves out is no correction set. So the smallest violated parts
//! are the smallest sets that meet all correction sets (Reiter 1987; Ignatiev et al., "Smallest MUS
//! extraction with minimal hitting set dualization", 2015), and a smallest set that meets *some* of
//! them says how many are needed at least.
//!
//! Correction sets are found one by one: a smallest set that meets those at hand is violated, and
//! then it is a smallest violated part; or it is satisfied, and what cannot be added to it without
//! a violation is one more correction set. What is told rests on satisfied parts alone, each of
//! them replayed.

use crate::minimise::{Judge, Look};
use crate::solve::Limits;
use crate::transaction::{Transactions, TxnId, Writers};
use seriatim_limits::InOrder;

/// How many transactions a violation needs, of some that were looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Needed {
    /// No violated part of these transactions has fewer.
    pub at_least: usize,
    /// How many there are.
    pub among: usize,
}

/// How many correction sets are looked for: a word has a bit for each.
const MOST_SETS: usize = 128;

/// How many parts are decided.
const MOST_LOOKS: usize = 1000;

/// How many choices a smallest set that meets all others may take.
const MOST_CHOICES: usize = 100_000;

/// A smallest violated part of a history, if it is smaller than a known one, and how many
/// transactions every violated part needs.
pub fn fewest(
    history: &Transactions,
    known: &[TxnId],
    limits: Limits,
    judge: &mut dyn Judge,
) -> (Option<Vec<TxnId>>, Needed) {
    let writers = Writers::new(history);
    let best = known.to_vec();
    let mut search = Search { history, writers, judge, looks: 0, limits, best };
    let mut sets: Vec<Vec<TxnId>> = Vec::new();
    let mut needed = Needed { at_least: 1, among: history.len() };
    while needed.at_least < search.best.len() && sets.len() < MOST_SETS && !search.is_over() {
        let most = search.best.len();
        let Some(meets) = smallest_meeting(&sets, needed.at_least, most) else { break };
        needed.at_least = needed.at_least.max(meets.len());
        if meets.len() >= most {
            break;
        }
        match search.look(&meets) {
            Look::Violated(_) => search.best = meets,
            Look::Satisfied => sets.push(search.correction(meets, &sets, known)),
            Look::Unknown => break,
        }
    }
    needed.at_least = needed.at_least.min(search.best.len());
    let is_smaller = search.best.len() < known.len();
    (is_smaller.then_some(search.best), needed)
}

struct Search<'h, 'j> {
    history: &'h Transactions,
    writers: Writers,
    judge: &'j mut dyn Judge,
    looks: usize,
    limits: Limits,
    /// The smallest violated part so far.
    best: Vec<TxnId>,
}

impl Search<'_, '_> {
    fn is_over(&self) -> bool {
        self.looks >= MOST_LOOKS || self.limits.is_over()
    }

    fn look(&mut self, ids: &[TxnId]) -> Look {
        self.looks += 1;
        let mut ids = ids.to_vec();
        ids.put_in_order();
        let look = self.judge.look(&self.history.part(&ids, &self.writers));
        if let Look::Violated(core) = &look
            && core.len() < self.best.len()
        {
            let core: Vec<TxnId> = core.iter().map(|id| ids[id.index()]).collect();
            self.keep_if_smaller(core);
        }
        look
    }

    /// What the refutation of a part rests on may be a smaller part than the best one.
    fn keep_if_smaller(&mut self, core: Vec<TxnId>) {
        let part = self.history.part(&core, &self.writers);
        if !core.is_empty() && matches!(self.judge.look(&part), Look::Violated(_)) {
            self.best = core;
        }
    }

    /// What is left over when a satisfied part is made as large as can be. What is in other
    /// correction sets is added first, so that this one has little in common with them; what is in
    /// a known violated part comes last, so that it is small.
    fn correction(
        &mut self,
        satisfied: Vec<TxnId>,
        sets: &[Vec<TxnId>],
        known: &[TxnId],
    ) -> Vec<TxnId> {
        let is_used = |id: &TxnId| sets.iter().any(|set| set.contains(id));
        let others = (0..self.history.len() as u32).map(TxnId).filter(|id| !satisfied.contains(id));
        let (used, unused): (Vec<TxnId>, Vec<TxnId>) = others.partition(is_used);
        let (last, free): (Vec<TxnId>, Vec<TxnId>) =
            unused.into_iter().partition(|id| known.contains(id));
        let mut kept = satisfied;
        let mut left = Vec::new();
        for some in [used, free, last] {
            self.add(&mut kept, &some, &mut left);
        }
        left
    }

    /// Adds what leaves a part satisfied: all at once, or half after half.
    fn add(&mut self, kept: &mut Vec<TxnId>, some: &[TxnId], left: &mut Vec<TxnId>) {
        if some.is_empty() {
            return;
        }
        let before = kept.len();
        kept.extend(some);
        if !self.is_over() && matches!(self.look(kept), Look::Satisfied) {
            return;
        }
        kept.truncate(before);
        if some.len() == 1 || self.is_over() {
            left.extend(some);
            return;
        }
        let (first, second) = some.split_at(some.len() / 2);
        self.add(kept, first, left);
        self.add(kept, second, left);
    }
}

/// A smallest set that meets all of some sets, looked for from a size on; `None` if it takes too
/// long. One of more than `most` elements need not meet them.
fn smallest_meeting(sets: &[Vec<TxnId>], from: usize, most: usize) -> Option<Vec<TxnId>> {
    if sets.is_empty() {
        return Some(Vec::new());
    }
    let mut meeting = Meeting::new(sets);
    let all = u128::MAX >> (128 - sets.len());
    for size in from.. {
        if size >= most {
            return Some(sets.iter().flatten().copied().take(size).collect());
        }
        match meeting.meet(all, size) {
            Some(true) => return Some(meeting.chosen.clone()),
            Some(false) => {}
            None => return None,
        }
    }
    None
}

/// The search for a set that meets others.
struct Meeting<'s> {
    sets: &'s [Vec<TxnId>],
    /// Which sets each element is in.
    hits: hashbrown::HashMap<TxnId, u128>,
    /// Which sets have an element in common with each.
    touch: Vec<u128>,
    chosen: Vec<TxnId>,
    choices: usize,
}

impl<'s> Meeting<'s> {
    fn new(sets: &'s [Vec<TxnId>]) -> Self {
        let mut hits = hashbrown::HashMap::new();
        for (index, set) in sets.iter().enumerate() {
            set.iter().for_each(|id| *hits.entry(*id).or_insert(0) |= 1u128 << index);
        }
        let touched = |set: &Vec<TxnId>| set.iter().fold(0, |all, id| all | hits[id]);
        let touch = sets.iter().map(touched).collect();
        Meeting { sets, hits, touch, chosen: Vec::new(), choices: 0 }
    }

    /// Whether so many more elements can meet these sets; `None` if it takes too long.
    fn meet(&mut self, open: u128, more: usize) -> Option<bool> {
        if open == 0 {
            return Some(true);
        }
        self.choices += 1;
        if self.choices > MOST_CHOICES {
            return None;
        }
        if self.disjoint(open) > more {
            return Some(false);
        }
        let smallest = bits(open).min_by_key(|&index| self.sets[index].len())?;
        let mut ids = self.sets[smallest].clone();
        ids.put_in_order_by_key(|id| std::cmp::Reverse((self.hits[id] & open).count_ones()));
        for id in ids {
            self.chosen.push(id);
            if self.meet(open & !self.hits[&id], more - 1)? {
                return Some(true);
            }
            self.chosen.pop();
        }
        Some(false)
    }

    /// So many of these sets have nothing in common, and need an element each.
    fn disjoint(&self, mut open: u128) -> usize {
        let mut count = 0;
        while let Some(index) = bits(open).min_by_key(|&index| self.sets[index].len()) {
            open &= !self.touch[index];
            count += 1;
        }
        count
    }
}

fn bits(mut word: u128) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(next)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_smallest_set_meets_all_sets() {
        let sets = |texts: &[&[u32]]| -> Vec<Vec<TxnId>> {
            texts.iter().map(|set| set.iter().copied().map(TxnId).collect()).collect()
        };
        let size = |texts: &[&[u32]]| {
            let sets = sets(texts);
            let meets = smallest_meeting(&sets, 0, 10).expect("few choices");
            assert!(sets.iter().all(|set| set.iter().any(|id| meets.contains(id))));
            meets.len()
        };
        assert_eq!(size(&[]), 0);
        assert_eq!(size(&[&[1], &[2], &[3]]), 3);
        assert_eq!(size(&[&[1, 2], &[2, 3], &[3, 1]]), 2);
        assert_eq!(size(&[&[1, 9], &[2, 9], &[3, 9], &[1, 2, 3]]), 2);
    }
}
