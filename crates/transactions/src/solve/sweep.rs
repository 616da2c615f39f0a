//! Replaying the order to find what it does not explain, chunk by chunk.
//!
//! The state at the start of every chunk is kept. When a repair moves nodes, the sweep goes back to
//! the chunk of the lowest place that changed; what lies before it is still explained.

use super::graph::{Event, Layout, Shape};
use crate::mutation::{Mutant, is_on};
use crate::order::Order;
use crate::prepare::{Prepared, Version};

/// How many places a chunk has, at least.
const CHUNK: usize = 256;

/// A place where the order is wrong about two versions of a key.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The version that was read, or whose writer is still open.
    pub wanted: Version,
    /// The version that is there instead, or whose writer begins.
    pub found: Version,
    /// The reader; `None` where two writers overlap.
    pub reader: Option<u32>,
}

#[derive(Clone)]
struct State {
    current: Vec<Version>,
    /// The version whose writer has begun and not committed, for each key.
    open: Vec<Option<Version>>,
}

/// How far the replay has come.
pub struct Sweep {
    /// The states at the starts of the chunks up to the one that is next.
    states: Vec<State>,
    width: usize,
    places: usize,
}

impl Sweep {
    pub fn new(prepared: &Prepared, layout: &Layout, places: usize) -> Sweep {
        let keys = prepared.key_count();
        let open = if layout.shape == Shape::Snapshot { vec![None; keys] } else { Vec::new() };
        let start = State { current: (0..keys as u32).collect(), open };
        // A state has an entry for every key: with many keys, fewer chunks.
        Sweep { states: vec![start], width: CHUNK.max(keys / 4), places }
    }

    /// Whether all of the order is explained.
    pub fn is_through(&self) -> bool {
        self.start() >= self.places
    }

    fn start(&self) -> usize {
        (self.states.len() - 1) * self.width
    }

    /// The place up to which wishes should be known before the next chunk is looked at.
    pub fn horizon(&self) -> usize {
        self.start() + 8 * self.width
    }

    /// Goes back to the chunk of a place that changed. Says whether that is before the next chunk.
    pub fn rewind(&mut self, place: usize) -> bool {
        let chunk = place / self.width;
        let is_before = chunk + 1 < self.states.len();
        if !is_on(Mutant::NoRewind) {
            self.states.truncate(chunk + 1);
        }
        is_before
    }

    /// Replays the next chunk; if nothing is wrong there, goes on behind it.
    pub fn replay(&mut self, prepared: &Prepared, layout: &Layout, order: &Order) -> Vec<Fault> {
        let mut state = self.states[self.states.len() - 1].clone();
        let start = self.start();
        let end = (start + self.width).min(self.places);
        let mut faults = Vec::new();
        for &node in &order.sequence()[start..end] {
            match layout.event(node) {
                Event::Moment | Event::Whole(0) | Event::Begin(0) | Event::Commit(0) => {}
                Event::Whole(txn) => {
                    state.reads(prepared, txn, &mut faults);
                    state.commits(prepared, txn);
                }
                Event::Begin(txn) => {
                    state.reads(prepared, txn, &mut faults);
                    state.begins(prepared, txn, &mut faults);
                }
                Event::Commit(txn) => state.commits(prepared, txn),
            }
        }
        if faults.is_empty() {
            self.states.push(state);
        }
        faults
    }
}

impl State {
    fn reads(&self, prepared: &Prepared, txn: u32, faults: &mut Vec<Fault>) {
        for &(key, wanted) in &prepared.txns[txn as usize].reads {
            let found = self.current[key.index()];
            if found != wanted {
                faults.push(Fault { wanted, found, reader: Some(txn) });
            }
        }
    }

    fn begins(&mut self, prepared: &Prepared, txn: u32, faults: &mut Vec<Fault>) {
        if self.open.is_empty() || is_on(Mutant::OverlapsPass) {
            return;
        }
        for &(key, found) in &prepared.txns[txn as usize].writes {
            if let Some(wanted) = self.open[key.index()].replace(found) {
                faults.push(Fault { wanted, found, reader: None });
            }
        }
    }

    fn commits(&mut self, prepared: &Prepared, txn: u32) {
        for &(key, version) in &prepared.txns[txn as usize].writes {
            self.current[key.index()] = version;
            if !self.open.is_empty() {
                self.open[key.index()].take_if(|open| *open == version);
            }
        }
    }
}
