//! Clauses, and learning from conflicts.
//!
//! A clause comes from the theory (a cycle: not all of these literals) or was learnt: the first
//! unique implication point of a conflict, by resolution of the conflict with the reasons of its
//! literals. Clauses remember what they came from, so that a refutation names the transactions it
//! rests on.

use super::{Core, Lit, Meaning, Solver, Stop, Truth};
use crate::mutation::{Mutant, is_on};
use hashbrown::HashSet;
use seriatim_limits::InOrder;
use std::ops::Range;

/// A clause, by its place.
pub type ClauseId = u32;

/// Where a clause comes from.
pub enum Origin {
    /// A cycle through the nodes of this stretch of [`Solver::nodes`].
    Theory(Range<u32>),
    /// Resolution of these clauses and of the reasons of these variables, which hold without
    /// decision.
    Learnt { clauses: Box<[ClauseId]>, facts: Box<[u32]> },
}

/// At least one literal of a stretch of [`Solver::lits`] holds. The first two are watched.
pub struct Clause {
    pub lits: Range<u32>,
    pub origin: Origin,
}

/// What a conflict comes to.
struct Learnt {
    /// The negation of the first unique implication point.
    asserted: Lit,
    /// What else the clause holds; all false.
    others: Vec<Lit>,
    origin: Origin,
}

impl Solver<'_> {
    /// Keeps a clause of the last literals as a reason; it is not watched.
    pub(super) fn keep(&mut self, start: usize, origin: Origin) -> ClauseId {
        let lits = start as u32..self.lits.len() as u32;
        self.clauses.push(Clause { lits, origin });
        self.clauses.len() as ClauseId - 1
    }

    /// Keeps a clause of one literal, which holds by what the versions are.
    pub(super) fn keep_unit(&mut self, lit: Lit) -> ClauseId {
        self.lits.push(lit);
        self.keep(self.lits.len() - 1, Origin::Theory(0..0))
    }

    /// The literals of a clause.
    #[inline]
    pub(super) fn lits_of(&self, id: ClauseId) -> &[Lit] {
        let Range { start, end } = self.clauses[id as usize].lits;
        &self.lits[start as usize..end as usize]
    }

    fn level(&self, lit: Lit) -> u32 {
        self.variables[(lit / 2) as usize].level
    }

    /// Assigns what clauses with one open literal force.
    pub(super) fn propagate(&mut self) -> Result<(), ClauseId> {
        while self.propagated < self.trail.len() {
            let falsified = self.trail[self.propagated].0 ^ 1;
            self.propagated += 1;
            let mut index = 0;
            // Invariant: the watches before `index` have a true or an open literal to watch.
            while let Some(&id) = self.watches[falsified as usize].get(index) {
                if self.moves_watch(id, falsified) {
                    self.watches[falsified as usize].swap_remove(index);
                    continue;
                }
                index += 1;
                let first = self.lits_of(id)[0];
                if self.truth(first) == Truth::Open && self.recall(first / 2).transpose()?.is_none()
                {
                    self.assign(first, Some(id))?;
                }
                if self.truth(first) == Truth::False {
                    return Err(id);
                }
            }
        }
        Ok(())
    }

    /// Makes a clause watch another literal than one that is false, if there is one and need be.
    fn moves_watch(&mut self, id: ClauseId, falsified: Lit) -> bool {
        let start = self.clauses[id as usize].lits.start as usize;
        if self.lits[start] == falsified {
            self.lits.swap(start, start + 1);
        }
        let lits = self.lits_of(id);
        if self.truth(lits[0]) == Truth::True {
            return false;
        }
        let mut rest = lits.iter().skip(2);
        let Some(place) = rest.position(|&lit| self.truth(lit) != Truth::False) else {
            return false;
        };
        self.lits.swap(start + 1, start + place + 2);
        let watched = self.lits[start + 1];
        self.watches[watched as usize].push(id);
        true
    }

    /// Learns from conflicts until there is none.
    ///
    /// # Errors
    /// If one rests on no decision (there is no order), or a limit is reached.
    pub(super) fn settle(&mut self, outcome: Result<(), ClauseId>) -> Result<(), Stop> {
        let mut outcome = outcome;
        while let Err(conflict) = outcome {
            self.statistics.conflicts += 1;
            if self.limits.conflicts.is_some_and(|limit| self.statistics.conflicts > limit) {
                return Err(Stop::GaveUp);
            }
            if self.statistics.conflicts.is_multiple_of(64) {
                self.check_limits()?;
            }
            let lits = self.lits_of(conflict);
            let top = lits.iter().map(|&lit| self.level(lit)).max().unwrap_or(0);
            if top == 0 {
                return Err(Stop::Refuted(conflict));
            }
            // A conflict may be noticed later than it arises.
            self.back(top as usize);
            if let Some(wishes) = self.mere_wishes(conflict) {
                self.drop_wishes(&wishes);
                outcome = Ok(());
                continue;
            }
            let learnt = self.analyse(conflict, top);
            outcome = self.learn(learnt, top);
        }
        Ok(())
    }

    /// The guards that a conflict rests on, if it rests on no other decision.
    fn mere_wishes(&self, conflict: ClauseId) -> Option<Vec<u32>> {
        let mut wishes = Vec::new();
        let mut seen: HashSet<u32> = HashSet::new();
        let mut open = vec![conflict];
        while let Some(clause) = open.pop() {
            for &lit in self.lits_of(clause) {
                if self.level(lit) == 0 || !seen.insert(lit / 2) {
                    continue;
                }
                let variable = &self.variables[(lit / 2) as usize];
                match (variable.reason, variable.meaning) {
                    (Some(reason), _) => open.push(reason),
                    (None, Meaning::Guard(index)) => wishes.push(index),
                    (None, Meaning::Before(..)) => return None,
                }
            }
        }
        Some(wishes)
    }

    /// Gives up these wishes for ever.
    fn drop_wishes(&mut self, wishes: &[u32]) {
        let mut lowest = u32::MAX;
        for &index in wishes {
            let variable = self.guard_variables[index as usize].expect("it was decided");
            lowest = lowest.min(self.variables[variable as usize].level);
            self.is_dropped[index as usize] = true;
        }
        self.back(lowest as usize - 1);
    }

    /// Resolves a conflict with reasons until one literal of its level is left.
    fn analyse(&self, conflict: ClauseId, top: u32) -> Learnt {
        let mut seen: HashSet<u32> = HashSet::new();
        let mut facts = Vec::new();
        let mut clauses = vec![conflict];
        let mut others = Vec::new();
        let mut of_top = 0;
        let mut place = self.trail.len();
        let mut resolved: Option<Lit> = None;
        let mut clause = conflict;
        // Invariant: the clause learnt is `others` and the `of_top` literals of the top level that
        // were seen and stand before `place` on the trail.
        loop {
            for &lit in self.lits_of(clause) {
                if Some(lit) == resolved || !seen.insert(lit / 2) {
                    continue;
                }
                match self.level(lit) {
                    0 => facts.push(lit / 2),
                    level if level == top => of_top += 1,
                    _ => others.push(lit),
                }
            }
            let lit = loop {
                place -= 1;
                let lit = self.trail[place].0;
                if seen.contains(&(lit / 2)) && self.level(lit) == top {
                    break lit;
                }
            };
            of_top -= 1;
            match self.variables[(lit / 2) as usize].reason {
                Some(reason) if of_top > 0 => {
                    clause = reason;
                    clauses.push(reason);
                    resolved = Some(lit);
                }
                _ => {
                    let (clauses, facts) = (clauses.into(), facts.into());
                    let origin = Origin::Learnt { clauses, facts };
                    return Learnt { asserted: lit ^ 1, others, origin };
                }
            }
        }
    }

    /// Adds a learnt clause, goes back, and asserts what it forces there.
    fn learn(&mut self, learnt: Learnt, top: u32) -> Result<(), ClauseId> {
        let Learnt { asserted, mut others, origin } = learnt;
        others.put_in_order_by_key(|&lit| std::cmp::Reverse(self.level(lit)));
        let below = others.first().map_or(0, |&lit| self.level(lit));
        let choice = others.iter().map(|&lit| self.level(lit)).find(|&level| !self.is_wish(level));
        let yields = choice.filter(|_| self.is_wish(top));
        if is_on(Mutant::ShortLearntClause) && others.len() > 1 {
            others.pop();
        }
        let asserted = if is_on(Mutant::WrongAssertion) { asserted ^ 1 } else { asserted };
        let start = self.lits.len();
        self.lits.push(asserted);
        self.lits.extend(&others);
        let is_watched = !others.is_empty();
        let watched = [asserted, *others.first().unwrap_or(&asserted)];
        let id = self.keep(start, origin);
        if is_watched {
            watched.into_iter().for_each(|lit| self.watches[lit as usize].push(id));
        }
        match yields {
            // A wish and a choice contradict each other: the choice is taken back, and when the
            // wish is made again the clause settles it.
            Some(level) => {
                self.back(level as usize - 1);
                Ok(())
            }
            None => {
                // What holds without decision needs no going back: it is kept as a fact.
                let level = if is_watched { below } else { top - 1 };
                self.back(level as usize);
                self.assign(asserted, Some(id)).and_then(|()| self.propagate())
            }
        }
    }

    /// Whether a level was opened by a guard.
    fn is_wish(&self, level: u32) -> bool {
        let start = self.decisions[level as usize - 1];
        let variable = (self.trail[start].0 / 2) as usize;
        matches!(self.variables[variable].meaning, Meaning::Guard(_))
    }

    /// The transactions that a refutation rests on.
    pub(super) fn core(&self, clause: ClauseId) -> Vec<u32> {
        let mut core = Core::new(self.prepared);
        let mut seen: HashSet<ClauseId> = HashSet::from_iter([clause]);
        let mut open = vec![clause];
        while let Some(id) = open.pop() {
            let clause = &self.clauses[id as usize];
            let mut more: Vec<ClauseId> = Vec::new();
            for &lit in self.lits_of(id) {
                let variable = &self.variables[(lit / 2) as usize];
                if let Meaning::Before(first, second) = variable.meaning {
                    core.add_version(first);
                    core.add_version(second);
                }
                // What holds without decision is part of the refutation; so are its reasons.
                more.extend(variable.fact.and_then(|fact| fact.1));
            }
            match &clause.origin {
                Origin::Theory(stretch) => {
                    let nodes = &self.nodes[stretch.start as usize..stretch.end as usize];
                    nodes.iter().for_each(|&node| core.add_node(&self.layout, node));
                }
                Origin::Learnt { clauses, facts } => {
                    more.extend(clauses);
                    let reason = |&fact: &u32| self.variables[fact as usize].fact?.1;
                    more.extend(facts.iter().filter_map(reason));
                }
            }
            open.extend(more.into_iter().filter(|&id| seen.insert(id)));
        }
        core.finish()
    }
}
