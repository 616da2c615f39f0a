//! Which operations of a long counterexample are drawn: those nearest to where it gets stuck.

use seriatim_history::{History, OpId, Time};
use seriatim_spec::Counterexample;

/// The most operations that are drawn on a terminal.
pub(super) const MOST: usize = 40;

/// A choice among the operations of a counterexample.
pub(super) struct Window {
    /// The operations to draw, in call order.
    pub shown: Vec<OpId>,
    /// How many come before the first of them.
    pub earlier: usize,
    /// How many others are left out.
    pub others: usize,
}

/// The operations to draw: all, or the [`MOST`] nearest to the stuck ones.
pub(super) fn window(history: &History, counterexample: &Counterexample, stuck: &[OpId]) -> Window {
    let all = &counterexample.operations;
    if all.len() <= MOST {
        return Window { shown: all.clone(), earlier: 0, others: 0 };
    }
    let last = all.last().copied();
    let centre = stuck.first().copied().or(last).map_or(0, |op| history.call(op));
    let mut nearest = all.clone();
    nearest.sort_by_key(|&op| (!stuck.contains(&op), distance(history, op, centre)));
    nearest.truncate(MOST);
    nearest.sort_unstable();
    let earlier = all.iter().take_while(|&op| Some(op) != nearest.first()).count();
    Window { earlier, others: all.len() - MOST - earlier, shown: nearest }
}

/// How far an operation is from a moment; operations that never return were last heard of at their
/// call.
fn distance(history: &History, op: OpId, moment: Time) -> Time {
    let (call, ret) = (history.call(op), history.ret(op));
    match ret.unwrap_or(call) {
        _ if call > moment => call - moment,
        ret if ret < moment => moment - ret,
        _ => 0,
    }
}

/// The operations among which names must not be ambiguous: those of a counterexample that may stand
/// beside `op` in a report.
pub(super) fn nearby(counterexample: &Counterexample, op: OpId) -> Vec<OpId> {
    let all = &counterexample.operations;
    let place = all.partition_point(|&other| other < op);
    all[place.saturating_sub(MOST)..(place + MOST).min(all.len())].to_vec()
}
