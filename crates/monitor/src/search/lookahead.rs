//! What is still to be seen, and which states can no longer lead there.
//!
//! A recorded history tells the future. If a text has been appended to in the wrong order, a later
//! `get` that returned the right order can never be explained, but a search that meets that `get`
//! only when it is called has tried all orders of everything in between by then. The specification
//! says which results a state *precludes* until an operation *reopens* the object (a `put` for a
//! text). So from each configuration we look ahead to the last operation that changes nothing and
//! returns before any reopening operation that is not yet linearized is called: if the state
//! precludes its result, no completion exists and the configuration is dropped.
//!
//! Sound because nothing that could reopen the object can come before that operation. Pending
//! operations that reopen are taken into account like completed ones.

use super::mask::Mask;
use super::part::{Part, Rank};
use super::space::Configuration;
use hashbrown::HashMap;
use seriatim_limits::InOrder;
use seriatim_spec::ClassId;

/// The observations and the reopening operations of a part, by key.
pub struct Lookahead {
    group_of: HashMap<ClassId, usize>,
    groups: Vec<Group>,
}

/// The operations of one key.
#[derive(Default)]
struct Group {
    /// Completed operations that change nothing, ascending.
    observations: Vec<Rank>,
    /// Completed operations that reopen, in call order, each with the highest rank so far.
    reopenings: Vec<(Rank, Rank)>,
    /// The first frontier at which a pending operation that reopens is called.
    pending_from: Option<Rank>,
}

impl Lookahead {
    /// The lookahead of a part; `None` where the specification precludes nothing.
    pub fn new(part: &Part<'_>, occurring: &[ClassId]) -> Option<Self> {
        let alphabet = part.alphabet;
        if occurring.iter().all(|&class| alphabet.reopens(class)) {
            return None;
        }
        let mut keys = HashMap::new();
        let mut lookahead = Lookahead { group_of: HashMap::new(), groups: Vec::new() };
        for &class in occurring {
            let next = keys.len();
            let group = *keys.entry(alphabet.key(class)).or_insert(next);
            lookahead.group_of.insert(class, group);
        }
        lookahead.groups.resize_with(keys.len(), Group::default);
        lookahead.sort_in(part);
        Some(lookahead)
    }

    fn sort_in(&mut self, part: &Part<'_>) {
        let mut reopenings = Vec::new();
        for rank in (0..part.end().0).map(Rank) {
            let class = part.class(rank);
            if part.alphabet.is_read_only(class) {
                self.groups[self.group_of[&class]].observations.push(rank);
            } else if part.alphabet.reopens(class) {
                reopenings.push(rank);
            }
        }
        reopenings.put_in_order_by_key(|&rank| part.called_at(rank));
        for rank in reopenings {
            let group = &mut self.groups[self.group_of[&part.class(rank)]];
            let highest = group.reopenings.last().map_or(rank, |&(_, before)| before.max(rank));
            group.reopenings.push((rank, highest));
        }
        for pending in part.pending() {
            let class = part.pending_class(pending);
            if part.alphabet.reopens(class) {
                let group = &mut self.groups[self.group_of[&class]];
                let from = part.available_from(pending);
                group.pending_from = Some(group.pending_from.map_or(from, |other| other.min(from)));
            }
        }
    }

    /// The observation that the state of a configuration must not preclude, after an operation of a
    /// class was linearized.
    pub fn ahead<M: Mask>(
        &self,
        part: &Part<'_>,
        configuration: &Configuration<M>,
        class: ClassId,
    ) -> Option<ClassId> {
        let group = &self.groups[*self.group_of.get(&class)?];
        let frontier = configuration.frontier;
        let is_linearized = |rank: Rank| {
            let is_open = part.called_at(rank) <= frontier;
            rank < frontier || is_open && configuration.linearized.has(part.slot(rank))
        };
        let start = group.reopenings.partition_point(|&(_, highest)| highest < frontier);
        let mut waiting = group.reopenings[start..].iter().map(|&(rank, _)| rank);
        let reopened = waiting.find(|&rank| !is_linearized(rank)).map(|rank| part.called_at(rank));
        let end = reopened.into_iter().chain(group.pending_from).min().unwrap_or(part.end());
        let place = group.observations.partition_point(|&rank| rank < end);
        let mut before = group.observations[..place].iter().rev().copied();
        let last = before.find(|&rank| rank < frontier || !is_linearized(rank))?;
        (last >= frontier).then(|| part.class(last))
    }
}
