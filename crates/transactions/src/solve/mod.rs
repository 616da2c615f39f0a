//! Serializability, snapshot isolation and prefix consistency, with or without sessions and real
//! time: conflict-driven clause learning over a maintained topological order.
//!
//! **Theorem.** A history satisfies the level if and only if, for every two versions of a key, one
//! can be said to come before the other so that the graph of `graph.rs` is acyclic.
//! (Serializability: Papadimitriou 1979, Adya's PL-3. Snapshot isolation: the begin–commit form of
//! Adya's start-ordered graph; Cerone and Gotsman 2018. Prefix: Biswas and Enea 2019, with the
//! snapshot of a transaction as the shortest prefix that holds what it read and its session.) Any
//! topological order then explains every read: the last writer before a reader is the one it read
//! from, since each other writer was put before that one or after the reader.
//!
//! **Laziness.** A pair of versions becomes a variable only when the order at hand, replayed, is
//! wrong about it. So *yes* means that a replay of the whole order found nothing wrong, whatever
//! variables there are, and *no* that the known edges and the clauses learnt from cycles contradict
//! each other.
//!
//! **Wishes.** Where real time is not demanded it is still the best guess of the order; where it is
//! not recorded, the order of sessions is. Its edges are guards, decided true before any other
//! choice of the stretch they lie in; a clause that blames guards and choices makes the choices
//! give way. A conflict that rests on guards alone drops all of them for ever: one of them is the
//! culprit, a stale read perhaps, and a culprit that stays makes one honest wish after another look
//! wrong. No verdict rests on a guard: a refutation is one without any decision.
//!
//! It would be unsound to learn a clause with a literal missing (a false *no*; a short clause
//! passes tiny tests), to undo an assignment but not its edges, or to keep a state of the sweep
//! behind a place that moved. A fault whose variable is decided already means that an edge is
//! missing: that is a defect of ours and reported as such.

mod conflict;
mod graph;
mod guide;
mod interval;
mod shortest;
mod sweep;

use crate::level::{Demand, Level};
use crate::mutation::{Mutant, is_on};
use crate::order::{Edge, Node, Order, Tag};
use crate::prepare::{Prepared, Version};
use conflict::{Clause, ClauseId, Origin};
pub use graph::{Event, Layout, Shape, version_edge};
use graph::{Graph, KNOWN, choice_edges};
use hashbrown::HashMap;
use seriatim_limits::InOrder;
use seriatim_limits::{Instant, stopped};
pub use shortest::short_refutation;
use sweep::{Fault, Sweep};

/// A variable or its negation: twice the variable, plus one if negated. It is the tag of its edges.
type Lit = Tag;

/// How long to try.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// Give up after so many conflicts.
    pub conflicts: Option<u64>,
    /// Give up at this moment.
    pub deadline: Option<Instant>,
}

impl Limits {
    /// Whether to give up: the moment has come, or the whole process has to stop.
    pub fn is_over(&self) -> bool {
        stopped().is_some() || self.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }
}

/// What the solver did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    /// The pairs of versions that became variables.
    pub variables: usize,
    /// The pairs that were decided by a choice.
    pub decisions: u64,
    /// The pairs that were forced.
    pub forced: u64,
    /// The conflicts that were learnt from.
    pub conflicts: u64,
}

/// What the solver found.
#[derive(Debug)]
pub enum Outcome {
    /// An order of the events that explains every read.
    Ordered(Vec<Event>),
    /// There is none; these transactions alone have none.
    Refuted(Vec<u32>),
    /// A limit was reached.
    GaveUp,
}

/// Something that cannot be if the solver is right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Defect(pub String);

/// Decides a level that `weak` does not.
pub fn solve(
    prepared: &Prepared,
    level: Level,
    limits: Limits,
) -> Result<(Outcome, Statistics), Defect> {
    let graph = Graph::new(prepared, level);
    if let Some(stronger) = with_sessions(level).filter(|_| !graph.wished.is_empty()) {
        let most = limits.conflicts.unwrap_or(u64::MAX).min(prepared.txns.len() as u64);
        let limits = Limits { conflicts: Some(most), ..limits };
        let (outcome, statistics) = solve_graph(prepared, Graph::new(prepared, stronger), limits)?;
        if matches!(outcome, Outcome::Ordered(_)) {
            return Ok((outcome, statistics));
        }
    }
    solve_graph(prepared, graph, limits)
}

/// The level with sessions that implies this one. If all wishes for sessions can come true, an
/// order for that one is found sooner: its edges are never in doubt.
fn with_sessions(level: Level) -> Option<Level> {
    match level {
        Level::Serializable => Some(Level::StrongSessionSerializable),
        Level::SnapshotIsolation => Some(Level::StrongSessionSnapshotIsolation),
        _ => None,
    }
}

fn solve_graph(
    prepared: &Prepared,
    mut graph: Graph,
    limits: Limits,
) -> Result<(Outcome, Statistics), Defect> {
    let Some(start) = guide::initial_order(prepared, &graph) else {
        let cycle = graph.order.cycle().ok_or_else(|| defect("no order, but no cycle either"))?;
        let core = Core::of_known_cycle(prepared, &graph.layout, &cycle);
        return Ok((Outcome::Refuted(core), Statistics::default()));
    };
    if !graph.order.start(start) {
        return Err(defect("the initial order disagrees with known edges"));
    }
    graph.sort_wishes();
    let mut solver = Solver::new(prepared, graph, limits);
    let outcome = solver.run()?;
    solver.statistics.variables = solver.pairs.len();
    Ok((outcome, solver.statistics))
}

/// An order of all transactions by reads-from, known versions and what is demanded, which explains
/// many reads; `None` if these are cyclic.
pub fn sensible_order(prepared: &Prepared, demand: Demand) -> Option<Vec<Node>> {
    let level = match demand {
        Demand::Nothing => Level::Serializable,
        Demand::Sessions => Level::StrongSessionSerializable,
        Demand::RealTime => Level::StrictSerializable,
    };
    let graph = Graph::new(prepared, level);
    let nodes = guide::initial_order(prepared, &graph)?.into_iter();
    Some(nodes.filter(|&node| node < graph.layout.nodes()).collect())
}

fn defect(text: &str) -> Defect {
    Defect(text.to_owned())
}

/// What a variable says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meaning {
    /// The first version comes before the second.
    Before(Version, Version),
    /// This wish for real time holds.
    Guard(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Truth {
    Open,
    True,
    False,
}

/// What is known of a variable.
struct Variable {
    meaning: Meaning,
    truth: Truth,
    /// What it was last.
    phase: Truth,
    /// The level of the decision that it rests on; 0 if it rests on none, wherever it was assigned.
    level: u32,
    reason: Option<ClauseId>,
    /// The literal that holds without decision, and why; it outlasts going back.
    fact: Option<(Lit, Option<ClauseId>)>,
}

/// Why the run ends before the sweep is through.
enum Stop {
    Refuted(ClauseId),
    GaveUp,
    Defect(Defect),
}

struct Solver<'p> {
    prepared: &'p Prepared,
    layout: Layout,
    order: Order,
    limits: Limits,
    statistics: Statistics,
    variables: Vec<Variable>,
    pairs: HashMap<(Version, Version), u32>,
    guards: Vec<(Node, Node)>,
    guard_variables: Vec<Option<u32>>,
    /// The guards that were given up.
    is_dropped: Vec<bool>,
    /// The first guard that may be open.
    next_guard: usize,
    clauses: Vec<Clause>,
    /// The literals of all clauses, and the nodes of the cycles that they come from.
    lits: Vec<Lit>,
    nodes: Vec<Node>,
    watches: Vec<Vec<ClauseId>>,
    /// The literals that hold, with the height of the order before each.
    trail: Vec<(Lit, usize)>,
    /// Where each decision level starts on the trail.
    decisions: Vec<usize>,
    propagated: usize,
    // What is used again and again, to save its making.
    edges: Vec<(Node, Node)>,
    path: Vec<Edge>,
}

impl<'p> Solver<'p> {
    fn new(prepared: &'p Prepared, graph: Graph, limits: Limits) -> Self {
        Solver {
            prepared,
            layout: graph.layout,
            order: graph.order,
            limits,
            statistics: Statistics::default(),
            variables: Vec::new(),
            pairs: HashMap::new(),
            guard_variables: vec![None; graph.guards.len()],
            is_dropped: vec![false; graph.guards.len()],
            guards: graph.guards,
            next_guard: 0,
            clauses: Vec::new(),
            lits: Vec::new(),
            nodes: Vec::new(),
            watches: Vec::new(),
            trail: Vec::new(),
            decisions: Vec::new(),
            propagated: 0,
            edges: Vec::new(),
            path: Vec::new(),
        }
    }

    fn run(&mut self) -> Result<Outcome, Defect> {
        match self.sweep() {
            Ok(()) => {
                let events = self.order.sequence().iter().map(|&node| self.layout.event(node));
                let is_real = |event: &Event| !matches!(event, Event::Moment);
                Ok(Outcome::Ordered(events.filter(is_real).collect()))
            }
            Err(Stop::Refuted(clause)) => Ok(Outcome::Refuted(self.core(clause))),
            Err(Stop::GaveUp) => Ok(Outcome::GaveUp),
            Err(Stop::Defect(defect)) => Err(defect),
        }
    }

    /// Sweeps and repairs until the whole order is explained.
    fn sweep(&mut self) -> Result<(), Stop> {
        self.assert_known()?;
        let mut sweep = Sweep::new(self.prepared, &self.layout, self.order.len());
        let mut forced_only = true;
        self.order.take_lowest_moved();
        // Invariant: the order respects all edges, and explains everything before the next chunk.
        while !sweep.is_through() {
            self.check_limits()?;
            self.assume_guards(sweep.horizon())?;
            if let Some(place) = self.order.take_lowest_moved() {
                forced_only |= sweep.rewind(place);
            }
            let faults = sweep.replay(self.prepared, &self.layout, &self.order);
            if faults.is_empty() {
                forced_only = true;
                continue;
            }
            // What must be is settled before anything is guessed.
            let forced = self.repair(&faults, forced_only)?;
            forced_only = forced_only && forced > 0;
            if let Some(place) = self.order.take_lowest_moved() {
                forced_only |= sweep.rewind(place);
            }
        }
        Ok(())
    }

    fn check_limits(&self) -> Result<(), Stop> {
        if self.limits.is_over() { Err(Stop::GaveUp) } else { Ok(()) }
    }

    /// What lists and read-modify-writes say of versions holds without choice.
    fn assert_known(&mut self) -> Result<(), Stop> {
        for &(earlier, later) in &self.prepared.known {
            let lit = self.literal(earlier, later);
            match self.truth(lit) {
                Truth::True => {}
                Truth::Open => {
                    if let Err(conflict) = self.assign(lit, None) {
                        return Err(Stop::Refuted(conflict));
                    }
                }
                Truth::False => {
                    return Err(Stop::Refuted(self.keep_unit(lit)));
                }
            }
        }
        self.propagated = self.trail.len();
        Ok(())
    }

    /// Decides the wishes for real time up to a place.
    fn assume_guards(&mut self, horizon: usize) -> Result<(), Stop> {
        while let Some(&(from, to)) = self.guards.get(self.next_guard) {
            let moment = if from >= self.layout.nodes() { from } else { to };
            if self.order.place(moment) as usize >= horizon {
                break;
            }
            let index = self.next_guard;
            self.next_guard += 1;
            if self.is_dropped[index] {
                continue;
            }
            let lit = self.guard_literal(index);
            if self.truth(lit) != Truth::Open {
                continue;
            }
            let outcome = match self.recall(lit / 2) {
                Some(recalled) => recalled.map(|_| ()),
                None => {
                    self.decisions.push(self.trail.len());
                    self.assign(lit, None)
                }
            };
            let outcome = outcome.and_then(|()| self.propagate());
            self.settle(outcome)?;
        }
        Ok(())
    }

    /// Repairs what the order is wrong about, in one pass. Gives how many pairs were forced.
    fn repair(&mut self, faults: &[Fault], forced_only: bool) -> Result<usize, Stop> {
        let mut forced = 0;
        for fault in faults {
            if !self.is_still_wrong(fault) {
                continue;
            }
            let lit = self.literal(fault.wanted, fault.found);
            if self.truth(lit) != Truth::Open {
                let (wanted, found) = (fault.wanted, fault.found);
                let text = format!(
                    "the order is wrong about versions {wanted} and {found}, which are ordered"
                );
                return Err(Stop::Defect(Defect(text)));
            }
            let outcome = if let Some(recalled) = self.recall(lit / 2) {
                forced += 1;
                recalled.map(|_| ())
            } else if let Some(reason) = self.blocked(lit ^ 1) {
                forced += 1;
                self.assign(lit, Some(reason))
            } else if let Some(reason) = self.blocked(lit) {
                forced += 1;
                self.assign(lit ^ 1, Some(reason))
            } else if !forced_only {
                self.decide(lit)
            } else {
                continue;
            };
            let outcome = outcome.and_then(|()| self.propagate());
            self.settle(outcome)?;
        }
        self.statistics.forced += forced as u64;
        Ok(forced)
    }

    fn is_still_wrong(&self, fault: &Fault) -> bool {
        let (first, then) = (self.prepared.writer(fault.wanted), self.prepared.writer(fault.found));
        let begin = |txn| self.order.place(self.layout.begin(txn));
        let commit = |txn| self.order.place(self.layout.commit(txn));
        match fault.reader {
            Some(reader) => commit(first) < commit(then) && commit(then) < begin(reader),
            None => begin(first).max(begin(then)) < commit(first).min(commit(then)),
        }
    }

    /// Decides a pair as it was last, or else so that what was read comes first.
    fn decide(&mut self, lit: Lit) -> Result<(), ClauseId> {
        self.statistics.decisions += 1;
        self.decisions.push(self.trail.len());
        let lit = match self.variables[(lit / 2) as usize].phase {
            Truth::Open => lit,
            Truth::True => lit & !1,
            Truth::False => lit | 1,
        };
        self.assign(lit, None)
    }

    /// The literal "`earlier` comes before `later`".
    fn literal(&mut self, earlier: Version, later: Version) -> Lit {
        let pair = (earlier.min(later), earlier.max(later));
        let variable = match self.pairs.get(&pair) {
            Some(&variable) => variable,
            None => {
                let variable = self.new_variable(Meaning::Before(pair.0, pair.1));
                self.pairs.insert(pair, variable);
                variable
            }
        };
        2 * variable + u32::from(earlier > later)
    }

    fn guard_literal(&mut self, index: usize) -> Lit {
        let variable = match self.guard_variables[index] {
            Some(variable) => variable,
            None => self.new_variable(Meaning::Guard(index as u32)),
        };
        self.guard_variables[index] = Some(variable);
        2 * variable
    }

    fn new_variable(&mut self, meaning: Meaning) -> u32 {
        let (truth, phase) = (Truth::Open, Truth::Open);
        self.variables.push(Variable { meaning, truth, phase, level: 0, reason: None, fact: None });
        self.watches.extend([Vec::new(), Vec::new()]);
        self.variables.len() as u32 - 1
    }

    #[inline]
    fn truth(&self, lit: Lit) -> Truth {
        match (self.variables[(lit / 2) as usize].truth, lit & 1) {
            (Truth::Open, _) => Truth::Open,
            (Truth::True, 0) | (Truth::False, 1) => Truth::True,
            _ => Truth::False,
        }
    }

    /// The edges of a literal into `self.edges`; `false` if it cannot hold at all.
    fn find_edges(&mut self, lit: Lit) -> bool {
        let pair = match self.variables[(lit / 2) as usize].meaning {
            Meaning::Guard(index) => {
                self.edges.clear();
                if lit & 1 == 0 {
                    self.edges.push(self.guards[index as usize]);
                }
                return true;
            }
            Meaning::Before(first, second) if lit & 1 == 0 => (first, second),
            Meaning::Before(first, second) => (second, first),
        };
        choice_edges(self.prepared, &self.layout, pair, &mut self.edges)
    }

    /// Makes a literal hold, with its edges.
    ///
    /// # Errors
    /// The clause that forbids it, if an edge closes a cycle.
    fn assign(&mut self, lit: Lit, reason: Option<ClauseId>) -> Result<(), ClauseId> {
        let truth = if lit & 1 == 0 { Truth::True } else { Truth::False };
        let is_fact = self.rests_on_nothing(lit, reason);
        let level = if is_fact { 0 } else { self.decisions.len() as u32 };
        let variable = &mut self.variables[(lit / 2) as usize];
        *variable = Variable { truth, phase: truth, level, reason, ..*variable };
        if is_fact && variable.fact.is_none() {
            variable.fact = Some((lit, reason));
        }
        self.trail.push((lit, self.order.height()));
        if !self.find_edges(lit) {
            return Err(self.keep_unit(lit ^ 1));
        }
        for index in 0..self.edges.len() {
            let (from, to) = self.edges[index];
            if !self.order.add(from, to, lit, &mut self.path) {
                return Err(self.keep_against(lit, (from, to)));
            }
        }
        Ok(())
    }

    fn rests_on_nothing(&self, lit: Lit, reason: Option<ClauseId>) -> bool {
        let is_fact =
            |&other: &Lit| other == lit || self.variables[(other / 2) as usize].level == 0;
        match reason {
            None => self.decisions.is_empty() || is_on(Mutant::WishesAreFacts),
            Some(reason) => self.lits_of(reason).iter().all(is_fact),
        }
    }

    /// Assigns what is known of an open variable, if anything is. Gives the literal that holds
    /// then.
    fn recall(&mut self, variable: u32) -> Option<Result<Lit, ClauseId>> {
        let (lit, reason) = self.variables[variable as usize].fact?;
        Some(self.assign(lit, reason).map(|()| lit))
    }

    /// If a literal would close a cycle now: the clause that says why not.
    fn blocked(&mut self, lit: Lit) -> Option<ClauseId> {
        if !self.find_edges(lit) {
            return Some(self.keep_unit(lit ^ 1));
        }
        for index in 0..self.edges.len() {
            let (from, to) = self.edges[index];
            if self.order.place(from) < self.order.place(to) {
                continue;
            }
            if self.order.path(to, from, &mut self.path) {
                return Some(self.keep_against(lit, (from, to)));
            }
        }
        None
    }

    /// The clause "not this literal, or not all of those on the path that it closes", kept.
    fn keep_against(&mut self, lit: Lit, edge: (Node, Node)) -> ClauseId {
        let start = self.lits.len();
        let tags = self.path.iter().filter(|e| e.tag != KNOWN).map(|e| e.tag ^ 1);
        self.lits.extend(tags);
        if is_on(Mutant::ShortReason) && self.lits.len() > start {
            self.lits.pop();
        }
        // The literal that the clause forces or forbids is watched first.
        self.lits.push(lit ^ 1);
        let lits = &mut self.lits[start..];
        lits.put_in_order();
        let mut count = 0;
        for index in 0..lits.len() {
            if index == 0 || lits[index] != lits[count - 1] {
                lits[count] = lits[index];
                count += 1;
            }
        }
        let place = lits[..count].iter().position(|&other| other == lit ^ 1);
        lits.swap(0, place.expect("it was pushed"));
        self.lits.truncate(start + count);
        let first = self.nodes.len();
        self.nodes.extend([edge.0, edge.1]);
        self.nodes.extend(self.path.iter().map(|e| e.to));
        let nodes = first as u32..self.nodes.len() as u32;
        self.keep(start, Origin::Theory(nodes))
    }

    /// Undoes all decisions above a level.
    fn back(&mut self, level: usize) {
        let Some(&height) = self.decisions.get(level) else { return };
        self.decisions.truncate(level);
        while self.trail.len() > height {
            let (lit, edges) = self.trail.pop().expect("the trail is higher");
            if !is_on(Mutant::EdgesStay) {
                self.order.undo(edges);
            }
            let variable = &mut self.variables[(lit / 2) as usize];
            variable.truth = Truth::Open;
            if let Meaning::Guard(index) = variable.meaning {
                self.next_guard = self.next_guard.min(index as usize);
            }
        }
        self.propagated = self.propagated.min(self.trail.len());
    }
}

/// Transactions that a refutation rests on.
struct Core<'p> {
    prepared: &'p Prepared,
    is_in: Vec<bool>,
}

impl<'p> Core<'p> {
    fn new(prepared: &'p Prepared) -> Self {
        Core { prepared, is_in: vec![false; prepared.txns.len()] }
    }

    fn of_known_cycle(prepared: &Prepared, layout: &Layout, cycle: &[Edge]) -> Vec<u32> {
        let mut core = Core::new(prepared);
        cycle.iter().for_each(|edge| core.add_node(layout, edge.from));
        core.finish()
    }

    fn add_node(&mut self, layout: &Layout, node: Node) {
        if let Some(txn) = layout.txn(node) {
            self.is_in[txn as usize] = true;
        }
    }

    fn add_version(&mut self, version: Version) {
        self.is_in[self.prepared.writer(version) as usize] = true;
    }

    /// The order of a list is known from its longest read: whoever appended to it needs that
    /// reader.
    fn finish(mut self) -> Vec<u32> {
        let mut readers = Vec::new();
        for (txn, info) in self.prepared.txns.iter().enumerate() {
            if self.is_in[txn] && txn != 0 {
                let keys = info.writes.iter().map(|write| write.0);
                readers.extend(keys.filter_map(|key| self.prepared.longest.get(&key)));
            }
        }
        if !readers.is_empty() {
            for (txn, info) in self.prepared.txns.iter().enumerate().skip(1) {
                self.is_in[txn] |= info.id.is_some_and(|id| readers.contains(&&id));
            }
        }
        (1..self.is_in.len() as u32).filter(|&txn| self.is_in[txn as usize]).collect()
    }
}
