//! From a violation in a long history to a small part that shows it.
//!
//! A part of a history that violates a level shows that the whole does ([`Transactions::part`]). So
//! transactions are dropped as long as the rest is still violated: first all that the refutation
//! did not use, then in halves, quarters, … (delta debugging; Zeller 2002). If the rest is not
//! small, the shortest derivation of a contradiction around it is looked for, then a smallest
//! violated part (`fewest.rs`). At last single operations are dropped.

use crate::fewest::{Needed, fewest};
use crate::solve::Limits;
use crate::transaction::{KeyId, Op, Transaction, Transactions, TxnId, Writers, restricted};
use seriatim_history::ValueId;
use seriatim_limits::InOrder;

/// A violated part of a history.
#[derive(Clone, Debug)]
pub struct Part {
    /// The transactions, in the order of the record, of which something is left.
    pub ids: Vec<TxnId>,
    /// What is left of them.
    pub history: Transactions,
    /// How many are needed, if it was asked: a part of few transactions is taken as it is.
    pub needed: Option<Needed>,
}

/// What a look at a part says.
pub enum Look {
    /// It is violated, and these of its transactions alone are.
    Violated(Vec<TxnId>),
    /// It is satisfied.
    Satisfied,
    /// That is not known.
    Unknown,
}

/// Who decides parts of a history.
pub trait Judge {
    /// Looks at a part.
    fn look(&mut self, part: &Transactions) -> Look;

    /// Some transactions of a violated part that may show it by themselves, so many at most if that
    /// can be.
    fn short_core(&mut self, part: &Transactions, most: usize) -> Option<Vec<TxnId>>;
}

/// Below how many transactions single operations are dropped.
const FEW: usize = 12;

/// A part of so few transactions is not tried to be found smaller from elsewhere.
const SMALL: usize = 8;

/// What a derivation of a contradiction may cost.
const MOST_COST: usize = 40;

/// How many transactions around a part are looked at for a smaller one.
const AROUND: usize = 400;

/// Makes a violated part smaller until nothing can be dropped, or until the limits are reached.
/// `None` if the part is not violated after all.
///
/// What is left then depends on the order in which things were dropped. If it is not small, all
/// that happened around it is looked at again.
pub fn minimise(
    whole: &Transactions,
    core: Vec<TxnId>,
    limits: Limits,
    judge: &mut dyn Judge,
) -> Option<Part> {
    let writers = Writers::new(whole);
    let ids = with_all_writers(whole, core, &writers);
    let mut looker = Looker { whole, writers, judge, limits };
    let Some(start) = looker.look(&ids) else {
        // Who has no time to look again keeps what was found.
        let is_kept = limits.is_over();
        let history = looker.whole.part(&ids, &looker.writers);
        return is_kept.then_some(Part { ids, history, needed: None });
    };
    let mut ids = looker.drop_all(start);
    if ids.len() > SMALL
        && let Some(other) = looker.shorter(&ids)
    {
        ids = other;
    }
    let mut needed = None;
    if ids.len() > SMALL {
        let (other, enough) = looker.fewest(&ids);
        ids = other.unwrap_or(ids);
        needed = Some(enough);
    }
    let history = whole.part(&ids, &looker.writers);
    let mut part = Part { ids, history, needed };
    if part.ids.len() <= FEW {
        while !looker.is_late() && drop_an_operation(&mut part, looker.judge) {}
    }
    Some(part)
}

/// The transactions that stand around some in the record, and these.
fn around(whole: &Transactions, ids: &[TxnId]) -> Vec<TxnId> {
    let (Some(first), Some(last)) = (ids.first(), ids.last()) else { return Vec::new() };
    let margin = AROUND.saturating_sub(last.index() - first.index()) / 2;
    let from = first.index().saturating_sub(margin);
    let to = (last.index() + margin).min(whole.len() - 1);
    let near = (from..=to).take(2 * AROUND).map(|index| TxnId(index as u32));
    let mut around: Vec<TxnId> = near.chain(ids.iter().copied()).collect();
    around.put_in_order();
    around.dedup();
    around
}

/// These transactions, and of the values they read that several wrote, all writers: without them
/// such a read would not stay.
fn with_all_writers(whole: &Transactions, core: Vec<TxnId>, writers: &Writers) -> Vec<TxnId> {
    let mut ids = core;
    for index in 0..ids.len() {
        for op in &whole.get(ids[index]).ops {
            let values: &[ValueId] = match op {
                Op::Read(_, value) => std::slice::from_ref(value),
                Op::ReadList(_, items) => items,
                _ => &[],
            };
            let sources = values.iter().map(|&value| writers.of(op.key(), value));
            ids.extend(sources.filter(|all| all.len() > 1).flatten());
        }
    }
    ids.put_in_order();
    ids.dedup();
    ids
}

struct Looker<'h, 'l> {
    whole: &'h Transactions,
    writers: Writers,
    judge: &'l mut dyn Judge,
    limits: Limits,
}

impl Looker<'_, '_> {
    fn is_late(&self) -> bool {
        self.limits.is_over()
    }

    /// Drops halves, quarters, …, single transactions, as long as the rest is violated.
    fn drop_all(&mut self, ids: Vec<TxnId>) -> Vec<TxnId> {
        let mut ids = ids;
        let mut size = ids.len().div_ceil(2);
        while size > 0 && !self.is_late() {
            let order = ids.clone();
            for chunk in order.chunks(size) {
                let rest: Vec<TxnId> =
                    ids.iter().copied().filter(|id| !chunk.contains(id)).collect();
                if rest.len() == ids.len() || self.is_late() {
                    continue;
                }
                if let Some(smaller) = self.look(&rest) {
                    ids = smaller;
                }
            }
            size = if size == 1 { 0 } else { size.div_ceil(2).min(ids.len()) };
        }
        ids
    }

    /// A smaller part than this one, by the shortest derivation of a contradiction around it.
    fn shorter(&mut self, ids: &[TxnId]) -> Option<Vec<TxnId>> {
        let around = around(self.whole, ids);
        let part = self.whole.part(&around, &self.writers);
        let core = self.judge.short_core(&part, MOST_COST)?;
        let core: Vec<TxnId> = core.iter().map(|id| around[id.index()]).collect();
        let start = self.look(&core)?;
        let other = self.drop_all(start);
        (other.len() < ids.len()).then_some(other)
    }

    /// A smallest violated part of what stands around one, and how many transactions it needs.
    fn fewest(&mut self, ids: &[TxnId]) -> (Option<Vec<TxnId>>, Needed) {
        let around = around(self.whole, ids);
        let part = self.whole.part(&around, &self.writers);
        let place = |id: &TxnId| TxnId(around.binary_search(id).expect("it is among them") as u32);
        let known: Vec<TxnId> = ids.iter().map(place).collect();
        let (other, needed) = fewest(&part, &known, self.limits, self.judge);
        let back = |other: Vec<TxnId>| {
            let mut other: Vec<TxnId> = other.iter().map(|id| around[id.index()]).collect();
            other.put_in_order();
            other
        };
        (other.map(back), needed)
    }

    /// If these transactions are violated: those of them that the violation rests on.
    fn look(&mut self, ids: &[TxnId]) -> Option<Vec<TxnId>> {
        let part = self.whole.part(ids, &self.writers);
        match self.judge.look(&part) {
            Look::Satisfied | Look::Unknown => None,
            Look::Violated(core) if core.len() == ids.len() || core.is_empty() => {
                Some(ids.to_vec())
            }
            Look::Violated(core) => {
                let mut smaller: Vec<TxnId> = core.iter().map(|id| ids[id.index()]).collect();
                smaller.put_in_order();
                // The refutation should need no more; if it does after all, nothing is lost.
                let again = self.judge.look(&self.whole.part(&smaller, &self.writers));
                let is_enough = matches!(again, Look::Violated(_));
                Some(if is_enough { smaller } else { ids.to_vec() })
            }
        }
    }
}

/// Drops one operation, and with a write all reads of it, if the rest is still violated.
fn drop_an_operation(part: &mut Part, judge: &mut dyn Judge) -> bool {
    for txn in 0..part.history.len() {
        for op in 0..part.history.list()[txn].ops.len() {
            let smaller = part.history.with(without(part.history.list(), txn, op));
            if matches!(judge.look(&smaller), Look::Violated(_)) {
                let keep = |&index: &usize| !smaller.list()[index].ops.is_empty();
                let kept: Vec<usize> = (0..smaller.len()).filter(keep).collect();
                part.ids = kept.iter().map(|&index| part.ids[index]).collect();
                let list = kept.iter().map(|&index| smaller.list()[index].clone()).collect();
                part.history = smaller.with(list);
                return true;
            }
        }
    }
    false
}

fn without(list: &[Transaction], txn: usize, op: usize) -> Vec<Transaction> {
    let mut list = list.to_vec();
    let dropped = list[txn].ops.remove(op);
    let (gone, counted) = (dropped.written(), dropped.changes());
    let stays = |key: KeyId, value: ValueId| Some((key, value)) != gone;
    list.iter().map(|txn| restricted(txn, stays, |key| Some(key) != counted)).collect()
}
