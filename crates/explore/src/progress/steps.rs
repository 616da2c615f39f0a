//! The stored states and the steps between them, as a graph.

use crate::outcome::Reason;
use crate::path::{Milestone, milestone};
use crate::search::{Search, locked};
use crate::second_opinion::plain::method;
use crate::store::{StateRef, hash, shard_of};
use crate::worker::Worker;
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{State, Stop};
use seriatim_spec::Cancel;

/// A call: the method and its arguments. A return: the method and its result.
pub type Message = (u32, Vec<i32>);

/// A step from a stored state to a stored state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The number of the state after it.
    pub to: u32,
    /// Who takes it.
    pub thread: usize,
    /// At which place of the representative that thread stands after it.
    pub place: usize,
    /// The operation that it begins.
    pub call: Option<Message>,
    /// The operation that it ends.
    pub ret: Option<Message>,
}

/// The steps from a state, and who can take some.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    /// The steps.
    pub steps: Vec<Step>,
    /// Which threads can go on, as a mask.
    pub able: u32,
    /// Which threads are inside of an operation, as a mask.
    pub inside: u32,
}

/// The states that a search stored.
pub struct Stored<'g, 's> {
    search: &'g Search<'s>,
    worker: Worker<'g>,
    /// In the order of their references.
    pub records: Vec<StateRef>,
}

impl<'g, 's> Stored<'g, 's> {
    /// All states.
    pub fn new(search: &'g Search<'s>) -> Self {
        let mut records = Vec::new();
        for (number, shard) in search.shards.iter().enumerate() {
            let shard = locked(shard);
            let mut at = 0;
            while at < shard.end() {
                records.push(StateRef { shard: number as u32, at });
                at = shard.after(at);
            }
        }
        Stored { search, worker: Worker::new(&search.common), records }
    }

    /// How a state is written.
    pub fn milestone(&self, number: u32) -> Milestone {
        milestone(self.search, self.records[number as usize])
    }

    /// A state.
    pub fn state(&self, number: u32) -> State {
        let mut state = State::default();
        let key = self.milestone(number).key;
        self.search.common.codec.decode(self.search.common.subject, &key, &mut state);
        state
    }

    /// The steps from a state. A state that a step leads to and that was not stored is a defect.
    pub fn steps(&mut self, number: u32) -> Result<Steps, Reason> {
        if number.is_multiple_of(1024) {
            is_in_time(self.search)?;
        }
        let from = self.state(number);
        let machine = &self.search.common.subject.machine;
        let mut found = Steps::default();
        let mut to = State::default();
        for thread in 0..machine.thread_count() {
            found.inside |= u32::from(!machine.is_idle(&from, thread)) << thread;
            let mut choices = Choices::default();
            loop {
                match machine.run(&from, thread, &mut choices, &mut to) {
                    Ok(seen) => {
                        let method = || method(machine, &from, thread, &seen.call);
                        let ret = seen.ret.as_ref().map(|words| (method(), words.clone()));
                        let (to, place) = self.find(&to, thread)?;
                        found.able |= 1 << thread;
                        found.steps.push(Step { to, thread, place, call: seen.call, ret });
                    }
                    Err(Stop::Waits | Stop::Ended) => {}
                    Err(_) => found.able |= 1 << thread,
                }
                if !choices.advance() {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// The number of the representative of a state, and the place of a thread in it.
    pub fn find(&mut self, state: &State, thread: usize) -> Result<(u32, usize), Reason> {
        self.worker.find(state).map_err(|_| Reason::Nodes)?;
        let key = &self.worker.canonical.key;
        let place = self.worker.canonical.renamings[0].threads[thread] as usize;
        let hash = hash(key, 0);
        let number = shard_of(hash);
        let mut places = Vec::new();
        locked(&self.search.shards[number]).find(key, hash as u32, &mut places);
        let found = places.first().map(|at| StateRef { shard: number as u32, at: *at });
        let record = found.and_then(|found| self.records.binary_search(&found).ok());
        record.map(|record| (record as u32, place)).ok_or(Reason::Internal)
    }
}

/// Whether there is time to go on.
pub fn is_in_time(search: &Search<'_>) -> Result<(), Reason> {
    if let Some(reason) = Cancel::of_process().reason() {
        return Err(reason.into());
    }
    let limit = search.common.options.limits.time;
    match limit.is_some_and(|limit| search.begun.elapsed() >= limit) {
        true => Err(Reason::Time),
        false => Ok(()),
    }
}
