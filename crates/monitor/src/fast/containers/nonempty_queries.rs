//! Which value a query that saw a container not empty may have seen.
//!
//! Where some value is certainly inside during such a query, there is nothing to choose. Else some
//! value that comes or goes while the query runs must have been inside at a moment of it. To say
//! which one only makes the demands greater: that value was inserted before the query returned and
//! not removed before it was called. So a choice under which there is an order shows that the
//! history is linearizable; one under which there is none shows nothing, and the monitor declines.
//! The choice: the value whose insertion or removal has to be moved least. O(n + queries · open
//! operations).

use crate::fast::containers::container::{Container, Item, NEVER, Peek, Rank, Span};
use crate::fast::containers::coverage::Coverage;
use seriatim_limits::InOrder;

/// For each of some queries that nothing forces a value that it may have seen; `None` if one has
/// none.
pub(in crate::fast) fn choose(
    container: &Container,
    coverage: &Coverage,
    queries: &[Span],
) -> Option<Vec<Peek>> {
    let sweep = Sweep::new(container, coverage);
    let calls = sweep.leaving_at(queries.iter().map(|query| query.call).collect());
    let returns = sweep.entering_at(queries.iter().map(|query| query.ret).collect());
    let mut chosen = Vec::with_capacity(queries.len());
    for (index, &span) in queries.iter().enumerate() {
        let passing =
            sweep.passing[span.ret as usize].filter(|&item| coverage.hi[item.index()] > span.call);
        let open = calls[index].iter().chain(&returns[index]).copied();
        let moved = |item: &Item| {
            let (lo, hi) = (coverage.lo[item.index()], coverage.hi[item.index()]);
            lo.saturating_sub(span.ret) + span.call.saturating_sub(hi)
        };
        let item = passing.or_else(|| open.min_by_key(moved))?;
        chosen.push(Peek { item, span });
    }
    Some(chosen)
}

/// The operations of the values by event.
struct Sweep<'c> {
    container: &'c Container,
    coverage: &'c Coverage,
    /// By event, of the values that are never certainly inside and were inserted for certain before
    /// it, the one whose removal may be the latest.
    passing: Vec<Option<Item>>,
}

impl<'c> Sweep<'c> {
    fn new(container: &'c Container, coverage: &'c Coverage) -> Self {
        let mut passing: Vec<Option<Item>> = vec![None; container.end as usize + 2];
        for item in container.items().filter(|&item| !coverage.is_critical(item)) {
            passing[coverage.lo[item.index()] as usize + 1] = Some(item);
        }
        let hi = |item: Item| coverage.hi[item.index()];
        for event in 1..passing.len() {
            let before = passing[event - 1];
            passing[event] = match (before, passing[event]) {
                (Some(before), Some(item)) if hi(before) < hi(item) => Some(item),
                (before, item) => before.or(item),
            };
        }
        Sweep { container, coverage, passing }
    }

    /// At each of some events, the values whose insertion may still be open.
    fn entering_at(&self, events: Vec<Rank>) -> Vec<Vec<Item>> {
        let span =
            |item: Item| (self.container.insert[item.index()].call, self.coverage.lo[item.index()]);
        open_at(self.container.items().map(|item| (item, span(item))), events)
    }

    /// At each of some events, the values whose removal may be open.
    fn leaving_at(&self, events: Vec<Rank>) -> Vec<Vec<Item>> {
        let removed = self.container.items().filter(|item| self.remove(*item).exists());
        let span = |item: Item| (self.coverage.hi[item.index()], self.remove(item).ret);
        open_at(removed.map(|item| (item, span(item))), events)
    }

    fn remove(&self, item: Item) -> Span {
        self.container.remove[item.index()]
    }
}

/// At each of some events, the items whose spans hold it.
fn open_at(items: impl Iterator<Item = (Item, (Rank, Rank))>, events: Vec<Rank>) -> Vec<Vec<Item>> {
    let mut spans: Vec<(Rank, Rank, Item)> =
        items.map(|(item, (from, to))| (from, to, item)).collect();
    spans.put_in_order();
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.put_in_order_by_key(|&index| events[index]);
    let mut found = vec![Vec::new(); events.len()];
    let mut open: Vec<(Rank, Item)> = Vec::new();
    let mut next = spans.into_iter().peekable();
    for index in order {
        let event = events[index];
        while let Some((_, to, item)) = next.next_if(|&(from, ..)| from < event) {
            open.push((to, item));
        }
        open.retain(|&(to, _)| to > event || to == NEVER);
        found[index] = open.iter().map(|&(_, item)| item).collect();
    }
    found
}
