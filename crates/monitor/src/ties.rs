//! Histories in which several processes return and call again at one instant of a coarse clock.
//!
//! Which of them took its turn first the log does not say, and no intervals can leave it open
//! ([`History::open_ties`]). Such a history is linearizable iff it is for some order of the turns:
//!
//! 1. With the ties as overlaps less is ordered than in any of them: a violation there is one in
//!    all.
//! 2. An order of the operations that was found there, if it respects every process, gives the
//!    order of the turns that it needs: it is tried first.
//! 3. Then all orders of the turns are tried, if there are at most [`MOST`]: the first that is
//!    linearizable decides, and if none is, the history is not. If there are more, nobody knows.

use crate::{Checked, Detail, Options, check};
use hashbrown::HashMap;
use seriatim_history::{History, InputError, OpId, Turn};
use seriatim_limits::Instant;
use seriatim_spec::{Limit, Reader, Unknown, Verdict, Witness};
use std::time::Duration;

/// How many orders of the turns are tried.
const MOST: usize = 720;

/// Decides a history that has open ties. It becomes the one in which they are settled.
pub(crate) fn check_tied(
    history: &mut History,
    reader: &dyn Reader,
    options: &Options<'_>,
) -> Result<Checked, InputError> {
    let start = Instant::now();
    let ties = history.open_ties();
    let mut overlapping = history.overlapping();
    let mut checked = check(&mut overlapping, reader, options)?;
    let Verdict::Linearizable(witness) = &checked.verdict else {
        *history = overlapping;
        return Ok(checked);
    };
    let places = places(witness);
    let guided: Vec<Vec<Turn>> = ties.iter().map(|turns| follow(turns, &places)).collect();
    let all: Vec<Vec<Vec<Turn>>> = ties.iter().map(|turns| interleavings(turns)).collect();
    let count = all.iter().fold(1usize, |count, orders| count.saturating_mul(orders.len()));
    let mut left_open = count > MOST;
    for number in 0..=count.min(MOST) {
        let order = match number {
            0 => guided.clone(),
            _ => choice(&all, number - 1),
        };
        let mut settled = history.with_turns(&order);
        let time = options.time.map(|time| time.saturating_sub(start.elapsed()));
        let tried = check(&mut settled, reader, &plain(options, time))?;
        left_open |= matches!(tried.verdict, Verdict::Unknown(_));
        if matches!(tried.verdict, Verdict::Linearizable(_)) {
            *history = settled;
            return Ok(tried);
        }
        if number == count && !left_open {
            // Whichever order of the turns is told, it is a violation: this one as well as any.
            *history = settled;
            let mut checked = check(history, reader, options)?;
            if let Verdict::Violation(core) = &mut checked.verdict {
                core.explanation.sentence.push_str(&one_of_many(count));
            }
            return Ok(checked);
        }
    }
    *history = overlapping;
    let open = vec![format!("{} instants at which several processes call again", ties.len())];
    checked.verdict = Verdict::Unknown(Unknown {
        limit: Limit::Ties,
        linearizable_events: 0,
        decided: Vec::new(),
        open,
        defect: None,
    });
    Ok(checked)
}

/// What to say of a counterexample that is one of several.
fn one_of_many(count: usize) -> String {
    format!(
        ". Several processes returned and called again at one instant, and the log does not say in \
         which order: all {count} orders were tried, none is right, and this is the last of them"
    )
}

/// The same options for one of many tries.
fn plain<'o>(options: &Options<'o>, time: Option<Duration>) -> Options<'o> {
    let strategies = options.strategies.clone();
    Options { time, strategies, detail: Detail::Plain, ..*options }
}

/// The place of each operation in an order.
fn places(witness: &Witness) -> HashMap<OpId, usize> {
    witness.order.iter().enumerate().map(|(place, &op)| (op, place)).collect()
}

/// Turns in the order in which the operations that they end stand in an order of all operations;
/// those of one process stay in theirs.
fn follow(turns: &[Turn], places: &HashMap<OpId, usize>) -> Vec<Turn> {
    let mut left = turns.to_vec();
    let mut order = Vec::with_capacity(turns.len());
    while !left.is_empty() {
        let is_next = |&i: &usize| left[..i].iter().all(|turn| turn.process != left[i].process);
        let place = |&i: &usize| places.get(&left[i].before).copied().unwrap_or(0);
        let next = (0..left.len()).filter(is_next).min_by_key(place).unwrap_or(0);
        order.push(left.remove(next));
    }
    order
}

/// All orders of turns that keep those of one process in theirs; one more than [`MOST`] at most.
fn interleavings(turns: &[Turn]) -> Vec<Vec<Turn>> {
    let mut orders = vec![(Vec::new(), turns.to_vec())];
    for _ in turns {
        let mut longer = Vec::new();
        for (order, left) in orders {
            for i in 0..left.len() {
                if left[..i].iter().any(|turn| turn.process == left[i].process) {
                    continue;
                }
                let (mut order, mut left) = (order.clone(), left.clone());
                order.push(left.remove(i));
                longer.push((order, left));
            }
        }
        longer.truncate(MOST + 1);
        orders = longer;
    }
    orders.into_iter().map(|(order, _)| order).collect()
}

/// One order of the turns for each instant: the choice of that number.
fn choice(all: &[Vec<Vec<Turn>>], mut number: usize) -> Vec<Vec<Turn>> {
    let pick = |orders: &Vec<Vec<Turn>>| {
        let order = orders[number % orders.len()].clone();
        number /= orders.len();
        order
    };
    all.iter().map(pick).collect()
}
