//! Which operations depend on each other.
//!
//! Two operations are independent if they commute whatever they return. The search linearizes
//! before the frontier's operation only what is connected with it by dependent pairs: for a map
//! that is not partitioned, operations on the same key.

use super::part::{Part, PendingId, Rank};
use seriatim_spec::{Alphabet, ClassId};

/// The dependence between the classes of a part.
pub enum Dependence<'a> {
    /// Everything depends on everything.
    Total,
    /// Classes of the same key depend on each other, others do not: the key of each class.
    ByKey(Vec<u64>),
    /// As the specification says of each pair.
    Pairwise {
        /// Who says so.
        alphabet: &'a dyn Alphabet,
        /// By class, whether it is known to depend on every pending operation of the part.
        depends_on_pending: Vec<Option<bool>>,
    },
}

impl<'a> Dependence<'a> {
    /// The dependence between the classes that occur in a part.
    pub fn new(alphabet: &'a dyn Alphabet, occurring: &[ClassId]) -> Self {
        let keys: Option<Vec<u64>> = occurring.iter().map(|&class| alphabet.key(class)).collect();
        match keys {
            Some(keys) if keys.windows(2).all(|pair| pair[0] == pair[1]) => Dependence::Total,
            Some(keys) => {
                let classes = occurring.last().map_or(0, |last| last.0 as usize + 1);
                let mut table = vec![0; classes];
                for (class, key) in occurring.iter().zip(keys) {
                    table[class.0 as usize] = key;
                }
                Dependence::ByKey(table)
            }
            None if some_commute(alphabet, occurring) => {
                let classes = occurring.last().map_or(0, |last| last.0 as usize + 1);
                Dependence::Pairwise { alphabet, depends_on_pending: vec![None; classes] }
            }
            None => Dependence::Total,
        }
    }

    /// Keeps of the candidates (the first is the frontier's operation) and of the pending classes
    /// those that are connected with the first candidate.
    pub fn keep_relevant(
        &mut self,
        part: &Part<'_>,
        candidates: &mut Vec<Rank>,
        pending: &mut Vec<PendingId>,
    ) {
        let Some(&first) = candidates.first() else {
            return;
        };
        match self {
            Dependence::Total => {}
            Dependence::ByKey(keys) => {
                let key = |class: ClassId| keys[class.0 as usize];
                let wanted = key(part.class(first));
                candidates.retain(|&rank| key(part.class(rank)) == wanted);
                pending.retain(|&id| key(part.pending_class(id)) == wanted);
            }
            Dependence::Pairwise { alphabet, depends_on_pending } => {
                let from = part.class(first);
                let depends = |class: ClassId| class == from || !alphabet.commute(from, class);
                // Nearly always everything does, which is seen without a list.
                let all_pending = || part.pending().all(|id| depends(part.pending_class(id)));
                if candidates.iter().all(|&rank| depends(part.class(rank)))
                    && *depends_on_pending[from.0 as usize].get_or_insert_with(all_pending)
                {
                    return;
                }
                let all = candidates.iter().map(|&rank| part.class(rank));
                let all = all.chain(pending.iter().map(|&id| part.pending_class(id)));
                let apart = apart(*alphabet, from, all);
                if !apart.is_empty() {
                    candidates.retain(|&rank| !apart.contains(&part.class(rank)));
                    pending.retain(|&id| !apart.contains(&part.pending_class(id)));
                }
            }
        }
    }
}

/// The classes among some that are not connected with the first.
fn apart(
    alphabet: &dyn Alphabet,
    first: ClassId,
    all: impl Iterator<Item = ClassId>,
) -> Vec<ClassId> {
    let mut reached = vec![first];
    let mut apart: Vec<ClassId> = all.filter(|&class| class != first).collect();
    let mut next = 0;
    while next < reached.len() && !apart.is_empty() {
        let from = reached[next];
        apart.retain(|&class| {
            let commutes = alphabet.commute(from, class);
            reached.extend((!commutes).then_some(class));
            commutes
        });
        next += 1;
    }
    apart
}

/// Whether it is worth asking about pairs: some of the first classes commute.
fn some_commute(alphabet: &dyn Alphabet, occurring: &[ClassId]) -> bool {
    let sample = &occurring[..occurring.len().min(32)];
    sample.iter().any(|&a| sample.iter().any(|&b| a != b && alphabet.commute(a, b)))
}
