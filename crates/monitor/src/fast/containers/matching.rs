//! A first guess at which of several equal insertions each removal removed.
//!
//! A guess only: `repeated_values` tests it and repairs it. Where operations saw the container
//! empty, each is given a moment at which, counting copies, it can have been empty; every copy that
//! was certainly inserted before that moment must be removed by a removal called before it. Between
//! two such moments each removal, by return, gets the latest called copy that is left (what a stack
//! does when nothing waits: pushes at their calls, pops at their returns), or the earliest.

use crate::fast::containers::container::{Rank, Span};
use seriatim_limits::InOrder;
use std::collections::VecDeque;

/// Which of the equal insertions a removal is given first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::fast) enum Guess {
    /// The one that was called last.
    Latest,
    /// The one that was called first.
    Earliest,
}

/// The insertions and removals of one value: insertions by call, removals by return.
#[derive(Clone, Copy)]
pub(in crate::fast) struct Copies<'v> {
    pub inserts: &'v [Span],
    pub removes: &'v [Span],
}

/// Cells at which the container can have been empty, one for each operation that saw it so, if
/// there is one.
pub(in crate::fast) fn cuts<'v>(
    end: Rank,
    empties: &[Span],
    values: impl Iterator<Item = Copies<'v>>,
) -> Vec<Rank> {
    if empties.is_empty() {
        return Vec::new();
    }
    // By event: the value that has one copy more for certain, or one that may be gone.
    let mut events: Vec<(Rank, usize, i32)> = Vec::new();
    let mut count = 0;
    for (value, copies) in values.enumerate() {
        events.extend(copies.inserts.iter().map(|insert| (insert.ret, value, 1)));
        events.extend(copies.removes.iter().map(|remove| (remove.call, value, -1)));
        count = value + 1;
    }
    events.put_in_order();
    let mut events = events.into_iter().peekable();
    let mut inside = vec![0; count];
    let mut present = 0;
    let mut last = Vec::with_capacity(end as usize + 1);
    let mut latest = None;
    for cell in 0..=end {
        while let Some((_, value, delta)) = events.next_if(|&(rank, ..)| rank < cell) {
            present -= i32::from(inside[value] > 0);
            inside[value] += delta;
            present += i32::from(inside[value] > 0);
        }
        if present == 0 {
            latest = Some(cell);
        }
        last.push(latest);
    }
    let cell = |empty: &Span| last[empty.ret as usize].filter(|&cell| cell > empty.call);
    let mut cuts: Vec<Rank> = empties.iter().filter_map(cell).collect();
    cuts.put_in_order();
    cuts.dedup();
    cuts
}

/// By insertion, the removal that it is given; `None` if there are not enough insertions.
pub(in crate::fast) fn guess(
    copies: Copies<'_>,
    cuts: &[Rank],
    guess: Guess,
) -> Option<Vec<Option<u32>>> {
    between_cuts(copies, cuts, guess).or_else(|| between_cuts(copies, &[], guess))
}

fn between_cuts(copies: Copies<'_>, cuts: &[Rank], guess: Guess) -> Option<Vec<Option<u32>>> {
    let mut window = Window {
        copies,
        guess,
        inserts: (0..copies.inserts.len() as u32).collect(),
        removes: (0..copies.removes.len() as u32).collect(),
        matched: vec![None; copies.inserts.len()],
    };
    let first = copies.inserts.first().map_or(0, |insert| insert.call);
    for &cut in &cuts[cuts.partition_point(|&cut| cut <= first)..] {
        if window.removes.is_empty() {
            break;
        }
        window.until(cut)?;
    }
    window.rest()?;
    Some(window.matched)
}

/// What is not matched yet.
struct Window<'v> {
    copies: Copies<'v>,
    guess: Guess,
    /// Insertions, by call.
    inserts: Vec<u32>,
    /// Removals, by return.
    removes: Vec<u32>,
    matched: Vec<Option<u32>>,
}

impl Window<'_> {
    /// Matches whatever must have happened before a cell at which nothing is inside.
    fn until(&mut self, cut: Rank) -> Option<()> {
        let Copies { inserts, removes } = self.copies;
        let returned = |spans: &[Span], index: u32| spans[index as usize].ret < cut;
        let mut certain = self.inserts.iter().filter(|&&i| returned(inserts, i)).count();
        let (done, open): (Vec<u32>, Vec<u32>) = (self.removes.iter())
            .filter(|&&index| removes[index as usize].call < cut)
            .partition(|&&index| returned(removes, index));
        // Each removal that has returned takes a copy; one that stays only if enough others are
        // left for those that must go.
        let mut left: VecDeque<u32> = VecDeque::new();
        let mut next = self.inserts.clone().into_iter().peekable();
        for (position, &remove) in done.iter().enumerate() {
            let ret = removes[remove as usize].ret;
            while let Some(insert) = next.next_if(|&i| inserts[i as usize].call < ret) {
                left.push_back(insert);
            }
            let others = done.len() - position - 1 + open.len();
            let fits = |&&insert: &&u32| certain <= others || returned(inserts, insert);
            let insert = match self.guess {
                Guess::Latest => left.iter().rev().find(fits),
                Guess::Earliest => left.iter().find(fits),
            };
            let insert = insert.copied().or_else(|| left.back().copied())?;
            left.retain(|&other| other != insert);
            certain -= usize::from(returned(inserts, insert));
            self.matched[insert as usize] = Some(remove);
        }
        // What must go and is left goes by removals that are still open.
        let rest = left.into_iter().chain(next).filter(|&insert| returned(inserts, insert));
        let rest: Vec<u32> = rest.collect();
        if rest.len() > open.len() {
            return None;
        }
        for (&insert, &remove) in rest.iter().rev().zip(&open) {
            self.matched[insert as usize] = Some(remove);
        }
        self.removes.retain(|remove| {
            done.binary_search(remove).is_err() && open[..rest.len()].binary_search(remove).is_err()
        });
        let matched = &self.matched;
        self.inserts.retain(|&insert| matched[insert as usize].is_none());
        Some(())
    }

    /// Gives each removal that is left an insertion that was called before it returned. Whichever
    /// is taken, as many are left for the others.
    fn rest(&mut self) -> Option<()> {
        let Copies { inserts, removes } = self.copies;
        let mut left: VecDeque<u32> = VecDeque::new();
        let mut next = self.inserts.iter().copied().peekable();
        for &remove in &self.removes {
            let ret = removes[remove as usize].ret;
            while let Some(insert) = next.next_if(|&i| inserts[i as usize].call < ret) {
                left.push_back(insert);
            }
            let insert = match self.guess {
                Guess::Latest => left.pop_back(),
                Guess::Earliest => left.pop_front(),
            };
            self.matched[insert? as usize] = Some(remove);
        }
        Some(())
    }
}
