//! What the operations of a value tell about when the value was inside a container.
//!
//! For a value with its insertion, its removal and its peeks: the insertion has happened by `lo`,
//! the first return of any of its operations; the removal has not happened before `hi`, the last
//! call of any of them. Where `lo < hi` the value is *critical*: it is certainly inside in the
//! cells `lo + 1 ..= hi`, which it *covers*. A value that is never removed covers the cells up to
//! the end. An insertion is as good as one in `[call, lo]`, a removal as one in `[hi, ret]`. O(n).
//!
//! An operation that saw the container empty needs a cell that no value covers, for every
//! discipline; all such cells can be empty at once, so that each such operation is judged alone.

use crate::fast::containers::container::{Container, Flaw, Item, NEVER, Rank, Span};
use crate::fast::containers::container_driver::Core;
use seriatim_limits::InOrder;

/// When the values of a container were certainly inside.
#[derive(Clone, Debug)]
pub(in crate::fast) struct Coverage {
    /// By when the insertion has happened.
    pub lo: Vec<Rank>,
    /// Before when the removal has not happened; the end for a value that is never removed.
    pub hi: Vec<Rank>,
}

impl Coverage {
    /// What the operations of each value tell.
    pub fn new(container: &Container) -> Result<Self, Flaw> {
        let values = container.insert.iter().zip(&container.remove);
        let (mut lo, mut hi) = (Vec::new(), Vec::new());
        lo.reserve_exact(container.len());
        hi.reserve_exact(container.len());
        for (insert, remove) in values {
            if remove.ret < insert.call {
                let (insert, seen) = (insert.op, remove.op);
                return Err(Flaw::SeenBeforeInsertion { insert, seen });
            }
            lo.push(insert.ret.min(remove.ret));
            hi.push(match remove.exists() {
                true => insert.call.max(remove.call),
                false => container.end,
            });
        }
        for peek in &container.peeks {
            let item = peek.item.index();
            let (insert, remove) = (container.insert[item], container.remove[item]);
            let seen = peek.span.op;
            if peek.span.ret < insert.call {
                let insert = insert.op;
                return Err(Flaw::SeenBeforeInsertion { insert, seen });
            }
            if remove.ret < peek.span.call {
                return Err(Flaw::SeenAfterRemoval { insert: insert.op, remove: remove.op, seen });
            }
            lo[item] = lo[item].min(peek.span.ret);
            hi[item] = hi[item].max(peek.span.call);
        }
        for chosen in &container.chosen {
            let item = chosen.item.index();
            lo[item] = lo[item].min(chosen.span.ret);
            hi[item] = hi[item].max(chosen.span.call);
        }
        debug_assert!(!lo.contains(&NEVER));
        Ok(Coverage { lo, hi })
    }

    /// Whether a value is certainly inside at some moment.
    #[inline]
    pub fn is_critical(&self, item: Item) -> bool {
        self.lo[item.index()] < self.hi[item.index()]
    }
}

/// For each cell, the last cell up to it that no value covers, or the last that some value covers.
struct LastCells {
    last: Vec<u32>,
}

/// Which cells are looked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Covered,
    Uncovered,
}

impl LastCells {
    fn new(container: &Container, coverage: &Coverage, wanted: Wanted) -> Self {
        let mut last = vec![0u32; container.end as usize + 3];
        for item in container.items().filter(|&item| coverage.is_critical(item)) {
            // One more from `lo + 1` on, one less from `hi + 1` on, modulo 2³².
            let (from, to) = (coverage.lo[item.index()] + 1, coverage.hi[item.index()] + 1);
            last[from as usize] = last[from as usize].wrapping_add(1);
            last[to as usize] = last[to as usize].wrapping_sub(1);
        }
        let (mut count, mut latest) = (0u32, 0);
        for (cell, place) in last.iter_mut().enumerate() {
            count = count.wrapping_add(*place);
            if (count == 0) == (wanted == Wanted::Uncovered) {
                latest = cell as u32;
            }
            *place = latest;
        }
        LastCells { last }
    }

    /// A wanted cell of an operation.
    fn of(&self, span: Span) -> Option<u32> {
        let cell = self.last[span.ret as usize];
        (cell > span.call).then_some(cell)
    }
}

/// Cells for the operations that saw the container empty, or the covered one with values that
/// cover it.
pub(in crate::fast) fn empty_cells(
    container: &Container,
    coverage: &Coverage,
) -> Result<Vec<u32>, Core> {
    if container.empties.is_empty() {
        return Ok(Vec::new());
    }
    let uncovered = LastCells::new(container, coverage, Wanted::Uncovered);
    let mut cells = Vec::with_capacity(container.empties.len());
    for (index, &empty) in container.empties.iter().enumerate() {
        cells.push(uncovered.of(empty).ok_or_else(|| Core {
            items: chain_over(coverage, empty, container.items()),
            empty: Some(index as u32),
        })?);
    }
    Ok(cells)
}

/// Cells for the queries that saw that the container was not empty in which some value is certainly
/// inside; `None` where there is none.
pub(in crate::fast) fn nonempty_cells(
    container: &Container,
    coverage: &Coverage,
) -> Vec<Option<u32>> {
    if container.nonempties.is_empty() {
        return Vec::new();
    }
    let covered = LastCells::new(container, coverage, Wanted::Covered);
    container.nonempties.iter().map(|&span| covered.of(span)).collect()
}

/// Few of the candidates whose coverages together hold every cell of an operation.
///
/// Greedy: of those that begin in time, the one that reaches farthest. O(candidates · log).
pub(in crate::fast) fn chain_over(
    coverage: &Coverage,
    span: Span,
    candidates: impl Iterator<Item = Item>,
) -> Vec<Item> {
    let mut by_start: Vec<Item> = candidates
        .filter(|&item| coverage.is_critical(item))
        .filter(|item| {
            coverage.lo[item.index()] < span.ret && coverage.hi[item.index()] > span.call
        })
        .collect();
    by_start.put_in_order_by_key(|item| coverage.lo[item.index()]);
    let mut chain = Vec::new();
    let mut cell = span.call + 1;
    let mut next = 0;
    let mut best: Option<Item> = None;
    while cell <= span.ret {
        while next < by_start.len() && coverage.lo[by_start[next].index()] < cell {
            let item = by_start[next];
            if best.is_none_or(|best| coverage.hi[best.index()] < coverage.hi[item.index()]) {
                best = Some(item);
            }
            next += 1;
        }
        let Some(item) = best.filter(|item| coverage.hi[item.index()] >= cell) else {
            break;
        };
        chain.push(item);
        cell = coverage.hi[item.index()] + 1;
    }
    debug_assert!(cell > span.ret, "the candidates cover the operation");
    chain
}
