//! How many values a container can have held, whatever its discipline.
//!
//! **Theorem** (necessary, not sufficient). At a cell there were at least as many values inside as
//! insertions had returned less the removals that had been called, and at most as many as
//! insertions had been called less the removals that had returned. So a query for the size needs a
//! cell of its own whose bounds hold its answer. O(n + the events during the queries).
//!
//! Whether a history with such queries is linearizable is decided by `query_search` where it can
//! be. Counting alone is not enough: two queries may each have a cell and not both.

use crate::fast::containers::container::{Container, Rank, Span};
use crate::fast::violation::{counterexample, counterexample_until};
use seriatim_history::{History, OpId};
use seriatim_spec::Claim;

/// By cell, the least and the greatest number of values inside.
struct Bounds {
    least: Vec<i64>,
    most: Vec<i64>,
}

impl Bounds {
    fn new(container: &Container) -> Self {
        let cells = container.end as usize + 2;
        let (mut least, mut most) = (vec![0i64; cells], vec![0i64; cells]);
        let count = |cells: &mut Vec<i64>, rank: Rank, change: i64| {
            if rank < container.end {
                cells[rank as usize + 1] += change;
            }
        };
        for insert in container.insert.iter().chain(&container.unseen) {
            count(&mut least, insert.ret, 1);
            count(&mut most, insert.call, 1);
        }
        let removes = container.remove.iter().filter(|remove| remove.exists());
        for remove in removes.chain(&container.pending) {
            count(&mut least, remove.call, -1);
            count(&mut most, remove.ret, -1);
        }
        for cell in 1..cells {
            least[cell] += least[cell - 1];
            most[cell] += most[cell - 1];
        }
        Bounds { least, most }
    }

    /// The least and the greatest number during a query.
    fn during(&self, query: Span) -> (i64, i64) {
        let cells = query.call as usize + 1..=query.ret as usize;
        let least = self.least[cells.clone()].iter().min().copied().unwrap_or(0);
        let most = self.most[cells].iter().max().copied().unwrap_or(0);
        (least.max(0), most)
    }

    fn allow(&self, query: Span, size: i64) -> bool {
        let mut cells = query.call as usize + 1..=query.ret as usize;
        cells.any(|cell| self.least[cell].max(0) <= size && size <= self.most[cell])
    }
}

/// The violation of a query that saw a size which the container cannot have had.
pub(in crate::fast) fn out_of_bounds(history: &History, container: &Container) -> Option<Claim> {
    if container.sizes.is_empty() {
        return None;
    }
    let bounds = Bounds::new(container);
    let wrong = container.sizes.iter().find(|&&(query, size)| !bounds.allow(query, size));
    let &(query, _) = wrong?;
    let (least, most) = bounds.during(query);
    let operation = history.operation(query.op);
    let sentence = match least == most {
        true => format!("{operation}, but all the time {least} values were inside"),
        false => format!("{operation}, but from {least} to {most} values can have been inside"),
    };
    // What was over when the query was called counts once for and once against.
    let over = |&(insert, remove): &(&Span, &Span)| {
        insert.ret.max(remove.ret) < query.call || insert.call > query.ret
    };
    let items = container.insert.iter().zip(&container.remove).filter(|item| !over(item));
    let spans = items.flat_map(|(&insert, &remove)| [insert, remove]);
    let others = container.pending.iter().chain(&container.unseen).copied();
    let spans = spans.chain(others).filter(|span| span.exists() && span.call < query.ret);
    let operations: Vec<OpId> = spans.map(|span| span.op).chain([query.op]).collect();
    Some(counterexample_until(operations, history.ret(query.op)?, sentence))
}

/// The violation that the queries of a container have no order together with the rest. (Which of
/// them is to blame cannot be told from what happened until then: what is still to come forbids
/// orders.)
pub(in crate::fast) fn unexplained(history: &History, container: &Container, wrong: OpId) -> Claim {
    let operation = history.operation(wrong);
    let sentence = format!("no order of the operations leaves a place for {operation}");
    let peeks = container.peeks.iter().map(|peek| peek.span);
    let sizes = container.sizes.iter().map(|&(span, _)| span);
    let spans = container.insert.iter().chain(&container.remove).chain(&container.empties);
    let spans = spans.chain(&container.nonempties).copied().chain(peeks).chain(sizes);
    let operations = spans.filter(|span| span.exists()).map(|span| span.op);
    counterexample(operations.collect(), sentence)
}
