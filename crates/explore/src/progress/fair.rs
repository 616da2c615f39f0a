//! Livelocks and starvation: fair cycles in the product of the states with the explanations of
//! their histories. See the header of `progress` for the theorems.

use super::circle::{Cycle, Edge, Graph};
use super::lasso::{self, Known};
use super::steps::{Message, Step, Steps, Stored, is_in_time};
use crate::options::Guarantee;
use crate::outcome::{Counterexample, Reason};
use crate::sabotage::{Sabotage, is_broken};
use crate::search::Search;
use crate::second_opinion::judge::Explanations;
use crate::subject::Subject;
use crate::trace::Start;
use crate::worker::reason;
use rustc_hash::FxHashMap;
use seriatim_lang::spec::{Datum, SpecStop};
use seriatim_limits::InOrder;
use std::collections::VecDeque;

/// The mark that a thread gets its turn: it takes a step, or cannot, or is idle.
const fn turn(thread: usize) -> u32 {
    1 << thread
}

/// The mark that a thread does not starve: it returns, or is idle.
const fn rests(thread: usize) -> u32 {
    1 << (8 + thread)
}

/// The marks of a fair run.
fn turns(threads: usize) -> u32 {
    match is_broken(Sabotage::IgnoredTurn) {
        true => 0,
        false => (0..threads).fold(0, |marks, thread| marks | turn(thread)),
    }
}

/// The mark that no explanation has kept the starving threads blocked.
const BREAKPOINT: u32 = 1 << 16;

/// A run in which all threads get their turn and nobody returns.
pub fn livelock_free(
    search: &Search<'_>,
    start: Start<'_>,
) -> Result<Option<Counterexample>, Reason> {
    let product = Product::new(search, start)?;
    let turns = turns(product.threads);
    let graph = product.graph(u32::MAX, 0);
    for set in graph.sets(turns) {
        let nearest = product.nearest(&set);
        let starved = product.inside(nearest);
        let all = product.explanations(nearest);
        if starved != 0 && !all.block(product.subject).map_err(reason)? {
            let cycle = graph.walk(&set, nearest, turns);
            return product
                .run(search, start, &cycle, (Guarantee::LivelockFree, starved))
                .map(Some);
        }
    }
    Ok(None)
}

/// A run in which all threads get their turn and somebody never returns.
pub fn starvation_free(
    search: &Search<'_>,
    start: Start<'_>,
) -> Result<Option<Counterexample>, Reason> {
    let mut product = Product::new(search, start)?;
    let all = 0..product.threads;
    let turns = turns(product.threads);
    let mut subsets: Vec<u32> = (1..1 << product.threads).collect();
    subsets.put_in_order_by_key(|who| (who.count_ones(), *who));
    for who in subsets {
        let others = all.clone().filter(|thread| who >> thread & 1 == 0);
        let mut needed = others.fold(turns, |marks, thread| marks | rests(thread));
        if is_broken(Sabotage::SeparateExcuses) {
            needed = turns;
            if who.count_ones() > 1 {
                break;
            }
        }
        let graph = product.graph(who, who);
        for set in graph.sets(needed) {
            if let Some(cycle) = product.unexcused(&graph, &set, who, needed)? {
                let kind = (Guarantee::StarvationFree, who);
                return product.run(search, start, &cycle, kind).map(Some);
            }
        }
    }
    Ok(None)
}

/// The states with the explanations of their histories.
struct Product<'p, 's> {
    subject: &'p Subject,
    search: &'p Search<'s>,
    threads: usize,
    stored: Stored<'p, 's>,
    /// The steps from each stored state.
    steps: Vec<Steps>,
    known: Vec<Explanations>,
    /// For each node its state and its explanations, in the order of their distance.
    nodes: Vec<(u32, u32)>,
    /// For each node where its edges lead, in the order of the steps of its state.
    next: Vec<Vec<u32>>,
    /// How each node was reached: from which node, by which of its edges.
    came: Vec<Option<(u32, u32)>>,
}

impl<'p, 's> Product<'p, 's> {
    fn new(search: &'p Search<'s>, start: Start<'_>) -> Result<Self, Reason> {
        let subject = search.common.subject;
        let mut stored = Stored::new(search);
        let count = stored.records.len() as u32;
        let steps = (0..count).map(|number| stored.steps(number)).collect::<Result<_, _>>()?;
        let first = stored.find(start.initial, 0)?.0;
        let threads = subject.machine.thread_count();
        let known = vec![Explanations::start(subject).map_err(reason)?];
        let nodes = vec![(first, 0)];
        let mut product = Product {
            subject,
            search,
            threads,
            stored,
            steps,
            known,
            nodes,
            next: vec![],
            came: vec![None],
        };
        product.explore()?;
        Ok(product)
    }

    /// Finds everything that can be reached, nearest first.
    fn explore(&mut self) -> Result<(), Reason> {
        let mut numbers = FxHashMap::from_iter([(self.nodes[0], 0u32)]);
        let mut kinds = FxHashMap::from_iter([(self.known[0].clone(), 0u32)]);
        let mut memo: FxHashMap<(u32, usize, Option<Message>, Option<Message>), u32> =
            FxHashMap::default();
        let mut edges = 0;
        while self.next.len() < self.nodes.len() {
            let node = self.next.len();
            if node.is_multiple_of(1024) {
                is_in_time(self.search)?;
                self.has_room(edges)?;
            }
            let (state, explained) = self.nodes[node];
            let mut targets = Vec::new();
            for (number, step) in self.steps[state as usize].steps.iter().enumerate() {
                let mut after = explained;
                if step.call.is_some() || step.ret.is_some() {
                    let key = (explained, step.thread, step.call.clone(), step.ret.clone());
                    after = match memo.get(&key) {
                        Some(after) => *after,
                        None => {
                            let all = &self.known[explained as usize];
                            let all = after_step(self.subject, all, step).map_err(reason)?;
                            let fresh = self.known.len() as u32;
                            let after = *kinds.entry(all.clone()).or_insert(fresh);
                            if after == fresh {
                                self.known.push(all);
                            }
                            memo.insert(key, after);
                            after
                        }
                    };
                }
                let fresh = self.nodes.len() as u32;
                let target = *numbers.entry((step.to, after)).or_insert(fresh);
                if target == fresh {
                    self.nodes.push((step.to, after));
                    self.came.push(Some((node as u32, number as u32)));
                }
                targets.push(target);
            }
            edges += targets.len();
            self.next.push(targets);
        }
        Ok(())
    }

    /// Whether the product fits into memory, roughly: nodes, edges, what is known of each, and the
    /// graph that is made of them.
    fn has_room(&self, edges: usize) -> Result<(), Reason> {
        let bytes = self.nodes.len() * 64 + edges * 32 + self.known.len() * 512;
        let before = self.search.statistics.state_bytes as usize;
        match bytes + before > self.search.common.options.limits.memory {
            true => Err(Reason::Memory),
            false => Ok(()),
        }
    }

    fn inside(&self, node: u32) -> u32 {
        self.steps[self.nodes[node as usize].0 as usize].inside
    }

    fn explanations(&self, node: u32) -> &Explanations {
        &self.known[self.nodes[node as usize].1 as usize]
    }

    fn step(&self, node: u32, number: u32) -> &Step {
        &self.steps[self.nodes[node as usize].0 as usize].steps[number as usize]
    }

    /// The node of a set that is nearest to the start.
    fn nearest(&self, set: &[u32]) -> u32 {
        set.iter().copied().min().unwrap_or(0)
    }

    /// The graph without returns of some threads, and of nodes in which some are inside; others
    /// have no marks and no edges.
    fn graph(&self, silent: u32, inside: u32) -> Graph {
        let mut graph = Graph::default();
        for (node, (state, _)) in self.nodes.iter().enumerate() {
            let here = &self.steps[*state as usize];
            let is_of_interest = here.inside & inside == inside;
            graph.marks.push(if is_of_interest { self.marks(here) } else { 0 });
            let steps = here.steps.iter().zip(&self.next[node]).enumerate();
            let kept = steps.filter(|(_, (step, to))| {
                is_of_interest
                    && !(step.ret.is_some() && silent >> step.thread & 1 == 1)
                    && self.inside(**to) & inside == inside
            });
            let edge = |(number, (step, to)): (usize, (&Step, &u32))| {
                let rested = if step.ret.is_some() { rests(step.thread) } else { 0 };
                Edge { to: *to, marks: turn(step.thread) | rested, step: number as u32 }
            };
            graph.edges.push(kept.map(edge).collect());
        }
        graph
    }

    /// What is met where nobody moves.
    fn marks(&self, here: &Steps) -> u32 {
        let mut marks = 0;
        for thread in 0..self.threads {
            let is_idle = here.inside >> thread & 1 == 0;
            let is_able = here.able >> thread & 1 == 1;
            if is_idle {
                marks |= rests(thread);
            }
            let is_idle = is_idle && !is_broken(Sabotage::IdleMustCall);
            if is_idle || !is_able {
                marks |= turn(thread);
            }
        }
        marks
    }

    /// A cycle in a set that no explanation excuses, if there is one: the breakpoint construction.
    fn unexcused(
        &mut self,
        graph: &Graph,
        set: &[u32],
        who: u32,
        needed: u32,
    ) -> Result<Option<Cycle>, Reason> {
        let mut followed = Followed::default();
        for node in set {
            let all = self.explanations(*node);
            let blocked = all.blocking(self.subject, who).map_err(reason)?;
            let blocked = followed.known(blocked);
            followed.node(*node, blocked);
        }
        while followed.graph.edges.len() < followed.nodes.len() {
            is_in_time(self.search)?;
            self.follow(graph, set, who, &mut followed).map_err(reason)?;
        }
        let needed = needed | BREAKPOINT;
        let found = followed.graph.sets(needed).into_iter();
        let of = |member: u32| followed.nodes[member as usize].0;
        // The nearest to the start.
        let Some(found) = found.min_by_key(|found| found.iter().map(|m| of(*m)).min()) else {
            return Ok(None);
        };
        let start = found.iter().copied().min_by_key(|member| of(*member)).unwrap_or(found[0]);
        let mut cycle = followed.graph.walk(&found, start, needed);
        cycle.start = of(start);
        for (from, edge) in &mut cycle.edges {
            (*from, edge.to) = (of(*from), of(edge.to));
        }
        Ok(Some(cycle))
    }

    /// Adds the edges of the next node that has none yet.
    fn follow(
        &self,
        graph: &Graph,
        set: &[u32],
        who: u32,
        followed: &mut Followed,
    ) -> Result<(), SpecStop> {
        let (node, blocked) = followed.nodes[followed.graph.edges.len()];
        let since = followed.all[blocked as usize].clone();
        let is_out = since.is_empty() || is_broken(Sabotage::IgnoredExcuse);
        let ran_out = if is_out { BREAKPOINT } else { 0 };
        followed.graph.marks.push(graph.marks[node as usize] | ran_out);
        let mut edges = Vec::new();
        for edge in &graph.edges[node as usize] {
            if set.binary_search(&edge.to).is_err() {
                continue;
            }
            let step = self.step(node, edge.step);
            let mut marks = edge.marks | ran_out;
            let mut since = since.clone();
            if let Some(call) = &step.call {
                since = since.call(step.thread, call).still_blocking(self.subject, who)?;
            }
            if let Some(message) = &step.ret {
                let result = result(self.subject, message);
                since = since.returned(step.thread, &result).still_blocking(self.subject, who)?;
            }
            if since.is_empty() && is_broken(Sabotage::LastingExcuse) {
                since = followed.all[blocked as usize].clone();
            }
            if since.is_empty() {
                marks |= BREAKPOINT;
                since = self.explanations(edge.to).blocking(self.subject, who)?;
            }
            let blocked = followed.known(since);
            let to = followed.node(edge.to, blocked);
            edges.push(Edge { to, marks, step: edge.step });
        }
        followed.graph.edges.push(edges);
        Ok(())
    }

    /// The run to a cycle and round it.
    fn run(
        &self,
        search: &Search<'_>,
        start: Start<'_>,
        cycle: &Cycle,
        kind: (Guarantee, u32),
    ) -> Result<Counterexample, Reason> {
        let mut prefix = VecDeque::new();
        let mut at = cycle.start;
        while let Some((from, number)) = self.came[at as usize] {
            prefix.push_front(self.known_step(from, number));
            at = from;
        }
        let circle: Vec<Known> =
            cycle.edges.iter().map(|(from, edge)| self.known_step(*from, edge.step)).collect();
        lasso::known(search, start, (prefix.make_contiguous(), &circle), kind)
    }

    fn known_step(&self, from: u32, number: u32) -> Known {
        let Step { to, thread, call, ret, .. } = self.step(from, number).clone();
        Known { thread, call, ret, to: self.stored.milestone(to) }
    }
}

/// Nodes of a set, each with the explanations that have kept the starving threads blocked since the
/// last breakpoint.
#[derive(Default)]
struct Followed {
    all: Vec<Explanations>,
    kinds: FxHashMap<Explanations, u32>,
    nodes: Vec<(u32, u32)>,
    numbers: FxHashMap<(u32, u32), u32>,
    graph: Graph,
}

impl Followed {
    fn known(&mut self, explanations: Explanations) -> u32 {
        let fresh = self.all.len() as u32;
        let number = *self.kinds.entry(explanations.clone()).or_insert(fresh);
        if number == fresh {
            self.all.push(explanations);
        }
        number
    }

    fn node(&mut self, node: u32, blocked: u32) -> u32 {
        let fresh = self.nodes.len() as u32;
        let number = *self.numbers.entry((node, blocked)).or_insert(fresh);
        if number == fresh {
            self.nodes.push((node, blocked));
        }
        number
    }
}

fn result(subject: &Subject, (method, words): &Message) -> Datum {
    subject.result(*method, words)
}

/// The explanations after a step.
fn after_step(
    subject: &Subject,
    all: &Explanations,
    step: &Step,
) -> Result<Explanations, SpecStop> {
    let mut all = all.clone();
    if let Some(call) = &step.call {
        all = all.call(step.thread, call);
    }
    match &step.ret {
        Some(message) => all.give_back(subject, step.thread, &result(subject, message)),
        None => Ok(all),
    }
}
