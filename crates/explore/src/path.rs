//! How a state was reached. The store does not say; it knows the level of each state, and every
//! state of a level was found from one of the level before. So the states of the level before are
//! expanded once more until one of them leads there, and so on to the start. *Cost*: at most the
//! search once more, and only for a run that is shown.

use crate::configurations::SetId;
use crate::search::{Search, locked};
use crate::store::{SHARDS, StateRef};
use crate::worker::Worker;
use seriatim_lang::machine::State;

/// A state on a path: its encoding and its configuration set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Milestone {
    /// The encoding.
    pub key: Vec<u32>,
    /// The set.
    pub set: SetId,
}

/// The states on a shortest path to a state, from the first to the last.
pub fn path_to(search: &Search<'_>, state: StateRef) -> Vec<Milestone> {
    let mut worker = Worker::new(&search.common);
    let mut path = vec![milestone(search, state)];
    let level = search.levels.iter().rposition(|starts| starts[state.shard as usize] <= state.at);
    for level in (0..level.unwrap_or(0)).rev() {
        let Some(before) = predecessor(search, &mut worker, level, &path[path.len() - 1]) else {
            break;
        };
        path.push(before);
    }
    path.reverse();
    path
}

/// The encoding and the set of a stored state.
pub fn milestone(search: &Search<'_>, state: StateRef) -> Milestone {
    let shard = locked(&search.shards[state.shard as usize]);
    Milestone { key: shard.key(state.at).to_vec(), set: shard.set(state.at) }
}

/// A state of a level from which a step leads to the target.
fn predecessor(
    search: &Search<'_>,
    worker: &mut Worker<'_>,
    level: usize,
    target: &Milestone,
) -> Option<Milestone> {
    let mut from = State::default();
    for shard in 0..SHARDS {
        let states = locked(&search.shards[shard]);
        let end = search.levels[level + 1][shard];
        let mut at = search.levels[level][shard];
        while at < end {
            let mut found = false;
            search.common.codec.decode(search.common.subject, states.key(at), &mut from);
            let _ = worker.expand(&from, states.set(at), &mut |key, orbit| {
                found |= key == target.key && orbit[0].1 == target.set;
            });
            if found {
                return Some(Milestone { key: states.key(at).to_vec(), set: states.set(at) });
            }
            at = states.after(at);
        }
    }
    None
}
