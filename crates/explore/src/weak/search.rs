//! Breadth first through all states within the bounds: the first run that goes wrong is a shortest
//! one.

use super::canonical::Canonical;
use super::client::rest;
use super::code::{Layout, demands};
use super::event::Event;
use super::judge::{Judge, Standing};
use super::memory::Memory;
use super::step::{Manner, Seen, State, Stepper, Thread};
use crate::options::{LAG, MemoryModel, Options, Synchronise};
use crate::outcome::{Cuts, Move, Reason, Statistics, ViolationKind};
use crate::subject::Subject;
use rustc_hash::{FxHashMap, FxHashSet};
use seriatim_lang::choices::Choices;
use seriatim_lang::machine::{Cut, State as Concrete, Stop};
use seriatim_lang::spec::SpecStop;
use seriatim_spec::{Stopped, checkpoint};
use std::collections::{BTreeSet, VecDeque};
use std::time::Instant;

/// After how many states the limits are looked at.
const ROUND: u64 = 256;
/// How many nodes, and how many values of a word, a key can tell apart.
const MOST: usize = 120;

/// What is searched.
pub struct Task<'s> {
    pub subject: &'s Subject,
    pub layout: &'s Layout,
    pub options: &'s Options,
    pub manner: Manner,
}

/// How a search ended.
pub enum Ending {
    /// It saw everything within the bounds.
    Complete,
    /// These moves lead to a run that goes wrong.
    Violation(Vec<Move>, ViolationKind),
    /// It was given up.
    Unknown(Reason),
}

/// What a search found out.
pub struct Searched {
    pub ending: Ending,
    pub statistics: Statistics,
}

impl<'s> Task<'s> {
    /// The task of a subject on a memory model.
    pub fn new(
        subject: &'s Subject,
        layout: &'s Layout,
        options: &'s Options,
        model: MemoryModel,
    ) -> Task<'s> {
        let lag = options.lag.or(options.operations.is_none().then_some(LAG));
        let manner = Manner {
            clients: match model {
                MemoryModel::Sc => Synchronise::Everything,
                MemoryModel::Tso | MemoryModel::Rc20 => options.clients(),
            },
            operations: options.operations,
            movers: options.reductions.fusion,
            nodes: options.nodes,
            lag,
        };
        Task { subject, layout, options, manner }
    }

    /// The state in which the threads begin.
    pub fn start<M: Memory>(&self, initial: &Concrete) -> State<M> {
        let machine = &self.subject.machine;
        let steps = &machine.steps;
        let (words, nodes) = self.layout.start(initial, machine.node_stride());
        let count = machine.thread_count();
        let memory = M::start(words, count, demands(steps, self.manner.clients));
        let threads = (0..count).map(|thread| {
            let first = machine.register_base(thread);
            let registers = initial.words[first..first + steps.register_count()].to_vec();
            let pc = rest(self.subject, steps.threads[thread].entry);
            Thread { pc, caller: seriatim_lang::steps::Pc(0), registers, called: 0 }
        });
        let threads = threads.collect();
        let clock = nodes.len() as u32;
        State { threads, nodes, memory, clock }
    }

    /// Makes a thread take a step; `log` hears what it does.
    pub fn step<M: Memory>(
        &self,
        state: &mut State<M>,
        thread: usize,
        choices: &mut Choices,
        log: Option<&mut Vec<Event>>,
    ) -> Result<Seen, Stop> {
        let (subject, layout, manner) = (self.subject, self.layout, self.manner);
        Stepper { subject, layout, manner, state, choices, thread, log }.step()
    }

    /// The method that a thread executes.
    pub fn method<M>(&self, state: &State<M>, thread: usize) -> Option<u32> {
        let methods = &self.subject.machine.steps.methods;
        let pc = state.threads[thread].pc;
        methods.iter().position(|m| m.entry <= pc && pc < m.end).map(|m| m as u32)
    }

    /// Searches.
    pub fn search<M: Memory>(
        &self,
        initial: &Concrete,
        progress: &mut dyn FnMut(&Statistics),
    ) -> Searched {
        let mut search = match Search::<M>::new(self, initial) {
            Ok(search) => search,
            Err(stop) => {
                let ending = Ending::Unknown(defect(stop));
                return Searched { ending, statistics: Statistics::default() };
            }
        };
        let ending = search.run(progress);
        search.refresh();
        Searched { ending, statistics: search.statistics }
    }
}

/// How a state was reached first: from which, by whom, with which choices.
type Parent = (u32, u8, Box<[u32]>);

struct Search<'t, 's, M> {
    task: &'t Task<'s>,
    canonical: Canonical<'s>,
    judge: Judge<'s>,
    known: FxHashMap<Box<[u8]>, ()>,
    parents: Vec<Parent>,
    queue: VecDeque<(State<M>, Standing, u32, u32)>,
    bytes: u64,
    hanging: u32,
    statistics: Statistics,
    clock: Instant,
}

impl<'t, 's, M: Memory> Search<'t, 's, M> {
    fn new(task: &'t Task<'s>, initial: &Concrete) -> Result<Self, SpecStop> {
        let Task { subject, layout, options, manner, .. } = task;
        let (judge, standing) = Judge::new(subject, manner.is_stamped())?;
        let canonical = Canonical::new(subject, layout, options.reductions, manner.operations);
        let mut search = Search {
            task,
            canonical,
            judge,
            known: FxHashMap::default(),
            parents: vec![],
            queue: VecDeque::new(),
            bytes: 0,
            hanging: 0,
            statistics: Statistics::default(),
            clock: Instant::now(),
        };
        let mut start = task.start::<M>(initial);
        search.canonical.tidy(&mut start);
        search.hanging = search.canonical.hanging(&start);
        search.arrive(start, standing, (0, 0, Box::default()), 0)?;
        Ok(search)
    }

    /// Keeps a state that was not seen before.
    fn arrive(
        &mut self,
        state: State<M>,
        standing: Standing,
        parent: Parent,
        depth: u32,
    ) -> Result<(), SpecStop> {
        let key = self.canonical.key(&state, &standing, &mut self.judge)?;
        let size = key.len();
        if self.known.insert(key.into_boxed_slice(), ()).is_none() {
            self.bytes += size as u64 + 48 + 8 * parent.2.len() as u64;
            let number = self.parents.len() as u32;
            self.parents.push(parent);
            self.statistics.nodes = self.statistics.nodes.max(state.nodes.len() as u32);
            self.queue.push_back((state, standing, number, depth));
        }
        Ok(())
    }

    fn run(&mut self, progress: &mut dyn FnMut(&Statistics)) -> Ending {
        let request = self.task.options.limits.request();
        request.during(|| self.walk(progress)).unwrap_or_else(|Stopped(reason)| {
            self.refresh();
            Ending::Unknown(reason.into())
        })
    }

    fn walk(&mut self, progress: &mut dyn FnMut(&Statistics)) -> Ending {
        while let Some((state, standing, number, depth)) = self.queue.pop_front() {
            self.statistics.expanded += 1;
            // All states that are so far from the start are known.
            self.statistics.depth = depth;
            if self.statistics.expanded.is_multiple_of(ROUND) {
                self.refresh();
                progress(&self.statistics);
                if let Some(reason) = self.task.options.limits.reached(&self.statistics) {
                    return Ending::Unknown(reason);
                }
            }
            for thread in 0..state.threads.len() {
                match self.expand(&state, &standing, number, depth, thread) {
                    Ok(None) => {}
                    Ok(Some((choices, kind))) => {
                        let mut moves = self.moves(number);
                        moves.push(Move { thread, choices, waits: false });
                        return Ending::Violation(moves, kind);
                    }
                    Err(reason) => return Ending::Unknown(reason),
                }
            }
        }
        Ending::Complete
    }

    /// All steps of a thread from a state; one that goes wrong ends the search.
    fn expand(
        &mut self,
        from: &State<M>,
        standing: &Standing,
        number: u32,
        depth: u32,
        thread: usize,
    ) -> Result<Option<(Vec<u32>, ViolationKind)>, Reason> {
        if !self.canonical.acts(from, thread) && !from.memory.can_flush(thread) {
            return Ok(None);
        }
        let method = self.task.method(from, thread);
        let mut choices = Choices::default();
        loop {
            checkpoint();
            let mut state = from.clone();
            match self.task.step(&mut state, thread, &mut choices, None) {
                Ok(seen) => {
                    self.statistics.transitions += 1;
                    let after = self.judge.after(standing, thread, method, &seen);
                    let Some(after) = after.map_err(defect)? else {
                        return Ok(Some((choices.picks(), ViolationKind::NotLinearizable)));
                    };
                    self.canonical.tidy(&mut state);
                    if self.fits(&state)? {
                        let parent = (number, thread as u8, choices.picks().into_boxed_slice());
                        self.arrive(state, after, parent, depth + 1).map_err(defect)?;
                    }
                }
                Err(Stop::Fault(fault, _)) => {
                    return Ok(Some((choices.picks(), ViolationKind::Fault(fault))));
                }
                Err(Stop::Bounded(cut)) => self.statistics.cuts.add(cut),
                Err(Stop::Waits | Stop::Ended | Stop::Disordered) => {}
            }
            if !choices.advance() {
                return Ok(None);
            }
        }
    }

    /// Whether a state is within the bounds.
    fn fits(&mut self, state: &State<M>) -> Result<bool, Reason> {
        let lag = state.memory.lag();
        if state.nodes.len() > MOST {
            return Err(Reason::Nodes);
        }
        if lag as usize > MOST {
            return Err(Reason::Lag);
        }
        if self.task.manner.lag.is_some_and(|most| lag > most) {
            self.statistics.cuts.join(Cuts { lag: true, ..Cuts::default() });
            return Ok(false);
        }
        if let Some(capacity) = self.task.options.capacity
            && self.canonical.hanging(state) > self.hanging.saturating_add(capacity)
        {
            self.statistics.cuts.add(Cut::Capacity);
            return Ok(false);
        }
        Ok(true)
    }

    /// The moves that lead to a state.
    fn moves(&self, mut number: u32) -> Vec<Move> {
        let mut moves = vec![];
        while number != 0 {
            let (from, thread, choices) = &self.parents[number as usize];
            moves.push(Move { thread: *thread as usize, choices: choices.to_vec(), waits: false });
            number = *from;
        }
        moves.reverse();
        moves
    }

    fn refresh(&mut self) {
        let statistics = &mut self.statistics;
        statistics.stored = self.parents.len() as u64;
        statistics.kept = statistics.stored;
        statistics.waiting = self.queue.len() as u64;
        statistics.state_bytes = self.bytes + 1000 * self.queue.len() as u64;
        statistics.sets = self.judge.configurations.len() as u64;
        statistics.set_bytes = self.judge.configurations.bytes() as u64;
        statistics.memo_bytes = self.judge.memos.bytes() as u64;
        statistics.time = self.clock.elapsed();
    }
}

/// Why the specification gave no outcome, as a reason.
pub fn defect(stop: SpecStop) -> Reason {
    match stop {
        SpecStop::Broken(why) => Reason::Specification(why),
        SpecStop::NotEnabled => Reason::Specification("it allows nothing".to_owned()),
    }
}

/// All outcomes of clients that end: results, and the last values of the shared variables.
pub fn outcomes<M: Memory>(task: &Task<'_>, initial: &Concrete) -> BTreeSet<Vec<i32>> {
    let canonical =
        Canonical::new(task.subject, task.layout, task.options.reductions, task.manner.operations);
    let Ok((mut judge, _)) = Judge::new(task.subject, false) else { return BTreeSet::new() };
    let mut start = task.start::<M>(initial);
    canonical.tidy(&mut start);
    let threads = start.threads.len();
    let mut known = FxHashSet::default();
    let mut found = BTreeSet::new();
    let mut todo = vec![(start, vec![vec![]; threads])];
    while let Some((from, results)) = todo.pop() {
        let acts = |t: usize| canonical.acts(&from, t) || from.memory.can_flush(t);
        if !(0..threads).any(acts) {
            let mut outcome: Vec<i32> = results.concat();
            let shared = 0..task.layout.shared.len();
            outcome.extend(shared.flat_map(|word| from.memory.last(word).slots()));
            found.insert(outcome);
        }
        for thread in (0..threads).filter(|t| acts(*t)) {
            let mut choices = Choices::default();
            loop {
                let mut state = from.clone();
                if let Ok(seen) = task.step(&mut state, thread, &mut choices, None) {
                    let mut results: Vec<Vec<i32>> = results.clone();
                    results[thread].extend(seen.ret.into_iter().flatten());
                    canonical.tidy(&mut state);
                    let standing = Standing::Exact(vec![Default::default(); threads]);
                    let key = canonical.key(&state, &standing, &mut judge).unwrap_or_default();
                    if known.insert((key, results.clone())) {
                        todo.push((state, results));
                    }
                }
                if !choices.advance() {
                    break;
                }
            }
        }
    }
    found
}
