//! The space that both searches walk: configurations and their successors.
//!
//! A configuration says which operations are linearized, how many pending ones were used, and the
//! state that results. A history is linearizable iff a configuration in which every completed
//! operation is linearized can be reached from the initial one. From a configuration, an open
//! operation can be linearized if the specification allows its result in the state.
//!
//! Not every successor is generated. Each rule below keeps this promise: *if a configuration can be
//! completed, one of its generated successors can.* Let `f` be the operation at the frontier, the
//! first to return of those not yet linearized.
//!
//! - **Reads at once** ([`Space::settle`]). An open operation that changes no state and fits the
//!   present one is linearized now: taking it out of its later place changes nothing there, and
//!   here it is allowed.
//! - **Only what matters for `f`** ([`Dependence`]). Before `f`, only operations connected with it
//!   by non-commuting pairs among the open ones need be linearized: the others commute with all of
//!   those and can be moved behind `f`, whose return they do not precede in real time.
//! - **Equals in the order of their returns.** Of open operations of one class, only the first to
//!   return is tried: exchanging the two leaves both within their intervals.
//! - **A pending operation only where it is needed** (`pending_operations`).
//! - **Nothing without hope** ([`Lookahead`]). A configuration whose state precludes a result that
//!   must still be seen is dropped: it cannot be completed.
//!
//! The rules hold together because each is a transformation of a completion that does not raise the
//! number of pending operations, so a completion with the fewest can be brought into the form that
//! all of them demand. What would make it unsound: a specification whose `is_read_only` or
//! `commute` lies.

use super::dependence::Dependence;
use super::lookahead::Lookahead;
use super::mask::Mask;
use super::odds::Odds;
use super::part::{Part, PendingId, Rank};
use super::pending_operations::Enabling;
use super::transitions::{Answer, Transitions};
use super::used::{UseId, Uses};
use crate::sabotage::{Sabotage, is_broken};
use seriatim_limits::checkpoint;
use seriatim_spec::{Cancel, ClassId, StateId};

/// Which operations are linearized and what state that leaves.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Configuration<M> {
    /// Every completed operation before it is linearized, the one at it is not.
    pub frontier: Rank,
    /// The state of the object.
    pub state: StateId,
    /// The pending operations used.
    pub used: UseId,
    /// The slots of the open operations that are linearized.
    pub linearized: M,
}

/// One operation put at the end of a linearization.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// A completed operation.
    Completed(Rank),
    /// A pending operation of a class.
    Pending(PendingId),
}

/// Successors by what they take, the cheapest to find first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A completed operation.
    Plain,
    /// A completed operation after a pending one that helps it.
    Helped,
    /// A completed operation after several pending ones, each of which helps the next.
    Chained,
}

/// Whether some pending operation is there that may help.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Helpers {
    /// None is.
    None,
    /// At least one is.
    Some,
}

/// The successors of a configuration, each with the steps that lead to it.
pub struct Successors<M> {
    /// Each successor with the end of its steps in `steps`.
    list: Vec<(Configuration<M>, u32)>,
    steps: Vec<Step>,
}

impl<M> Default for Successors<M> {
    fn default() -> Self {
        Successors { list: Vec::new(), steps: Vec::new() }
    }
}

impl<M> Successors<M> {
    pub fn clear(&mut self) {
        self.list.clear();
        self.steps.clear();
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The successors with their steps, in the order in which they were found.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (&Configuration<M>, &[Step])> {
        (0..self.list.len()).map(|index| {
            let start = index.checked_sub(1).map_or(0, |before| self.list[before].1) as usize;
            let (configuration, end) = &self.list[index];
            (configuration, &self.steps[start..*end as usize])
        })
    }
}

/// A part of a history with all that is needed to walk its configurations.
pub struct Space<'a> {
    /// The part.
    pub part: &'a Part<'a>,
    /// The specification's steps.
    pub transitions: Transitions<'a>,
    /// The uses of pending operations met so far.
    pub uses: Uses,
    /// The open operations that change nothing, frontier by frontier.
    observers: Observers,
    dependence: Dependence<'a>,
    lookahead: Option<Lookahead>,
    pub(super) enabling: Enabling,
    candidates: Vec<Rank>,
    /// By class, of how many choices of candidates the last one is that has one of it.
    chosen: Vec<u64>,
    choices: u64,
    helpers: Vec<PendingId>,
    odds: Odds,
    /// The order in which candidates are tried.
    pub order: Order,
}

/// The order in which operations are tried. Any will do; which one finds a witness soon is luck,
/// which the [odds](Odds) make likelier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// What seldom fits first, then the first to return.
    Odds,
    /// The same, changed by chance, otherwise for each number.
    Mixed(u64),
}

/// The open operations that change nothing, frontier by frontier.
struct Observers {
    /// Those of frontier `f` are `open[starts[f]..starts[f + 1]]`.
    open: Vec<Rank>,
    starts: Vec<u32>,
}

impl Observers {
    fn new(part: &Part<'_>, changes_nothing: impl Fn(ClassId) -> bool) -> Self {
        let (mut open, mut starts) = (Vec::new(), vec![0]);
        for frontier in (0..part.end().0).map(Rank) {
            let all = part.open(frontier).iter().copied();
            open.extend(all.filter(|&rank| changes_nothing(part.class(rank))));
            starts.push(open.len() as u32);
        }
        Observers { open, starts }
    }

    #[inline]
    fn open(&self, frontier: Rank) -> &[Rank] {
        let frontier = frontier.0 as usize;
        &self.open[self.starts[frontier] as usize..self.starts[frontier + 1] as usize]
    }

    fn bytes(&self) -> usize {
        size_of_val(&self.open[..]) + size_of_val(&self.starts[..])
    }
}

impl<'a> Space<'a> {
    /// The space of a part.
    pub fn new(part: &'a Part<'a>, cancel: &Cancel) -> Self {
        let alphabet = part.alphabet;
        let occurring = part.occurring_classes();
        let classes = occurring.last().map_or(0, |last| last.0 as usize + 1);
        let mut read_only = vec![false; classes];
        for &class in &occurring {
            read_only[class.0 as usize] =
                alphabet.is_read_only(class) || is_broken(Sabotage::ForgottenEffect);
        }
        let observers = Observers::new(part, |class| read_only[class.0 as usize]);
        Space {
            part,
            transitions: Transitions::new(alphabet.automaton(cancel), part.end().0 as usize),
            uses: Uses::default(),
            observers,
            dependence: Dependence::new(alphabet, &occurring),
            lookahead: Lookahead::new(part, &occurring),
            enabling: Enabling::default(),
            candidates: Vec::new(),
            chosen: vec![0; classes],
            choices: 0,
            helpers: Vec::new(),
            odds: Odds::default(),
            order: Order::Odds,
        }
    }

    /// The space with those configurations, too, that cannot be completed for a reason that lies
    /// ahead: an explanation shows the moment at which an order fails, not the moment at which it
    /// is doomed.
    pub fn without_outlook(self) -> Self {
        Space { lookahead: None, ..self }
    }

    /// The configuration before anything is linearized, with the steps that are taken at once.
    pub fn root<M: Mask>(&mut self) -> (Configuration<M>, Vec<Step>) {
        let mut steps = Vec::new();
        let mut root = Configuration {
            frontier: Rank(0),
            state: self.start(),
            used: UseId::NOTHING,
            linearized: M::empty(self.part.slot_count()),
        };
        self.settle(&mut root, &mut steps);
        (root, steps)
    }

    fn start(&mut self) -> StateId {
        let mut state = self.transitions.initial();
        for &class in self.part.preamble() {
            if let Answer::One(next) = self.transitions.step(state, class) {
                state = next;
            }
        }
        state
    }

    /// Whether every completed operation is linearized.
    pub fn is_complete<M>(&self, configuration: &Configuration<M>) -> bool {
        configuration.frontier == self.part.end()
    }

    /// Generates the successors of a configuration that is not complete.
    pub fn expand<M: Mask>(
        &mut self,
        configuration: &Configuration<M>,
        successors: &mut Successors<M>,
    ) {
        successors.clear();
        let (candidates, helpers) = self.begin(configuration);
        for kind in [Kind::Plain, Kind::Helped, Kind::Chained] {
            self.emit_kind(configuration, kind, (&candidates, &helpers), successors);
        }
        (self.candidates, self.helpers) = (candidates, helpers);
    }

    /// Writes down the operations that are tried first, in the order in which they are tried.
    pub fn candidates<M: Mask>(
        &mut self,
        configuration: &Configuration<M>,
        candidates: &mut Vec<Rank>,
    ) -> Helpers {
        self.choose_candidates(configuration);
        self.odds.sort(&mut self.candidates, self.order, |rank| self.part.class(rank));
        candidates.extend_from_slice(&self.candidates);
        match self.helpers[..] {
            [] => Helpers::None,
            _ => Helpers::Some,
        }
    }

    /// Generates the successors in which one of the [candidates](Space::candidates) is linearized.
    #[inline]
    pub fn try_candidate<M: Mask>(
        &mut self,
        configuration: &Configuration<M>,
        candidate: Rank,
        successors: &mut Successors<M>,
    ) {
        successors.clear();
        self.transitions.begin();
        self.emit_plain(configuration, &[candidate], successors);
    }

    /// Generates the successors of one kind; gives the next kind, if there may be any.
    pub fn expand_kind<M: Mask>(
        &mut self,
        configuration: &Configuration<M>,
        kind: Kind,
        successors: &mut Successors<M>,
    ) -> Option<Kind> {
        successors.clear();
        let (candidates, helpers) = self.begin(configuration);
        self.emit_kind(configuration, kind, (&candidates, &helpers), successors);
        (self.candidates, self.helpers) = (candidates, helpers);
        match (kind, self.helpers.len()) {
            (Kind::Plain, 1..) => Some(Kind::Helped),
            (Kind::Helped, 1..) => Some(Kind::Chained),
            _ => None,
        }
    }

    /// The candidates in the order in which they are tried, and the pending operations.
    fn begin<M: Mask>(&mut self, configuration: &Configuration<M>) -> (Vec<Rank>, Vec<PendingId>) {
        self.transitions.begin();
        self.choose_candidates(configuration);
        let mut candidates = std::mem::take(&mut self.candidates);
        self.odds.sort(&mut candidates, self.order, |rank| self.part.class(rank));
        (candidates, std::mem::take(&mut self.helpers))
    }

    fn emit_kind<M: Mask>(
        &mut self,
        from: &Configuration<M>,
        kind: Kind,
        (candidates, helpers): (&[Rank], &[PendingId]),
        successors: &mut Successors<M>,
    ) {
        match kind {
            Kind::Plain => self.emit_plain(from, candidates, successors),
            _ if helpers.is_empty() => {}
            Kind::Helped => self.emit_helped(from, candidates, helpers, successors),
            Kind::Chained => self.emit_chained(from, candidates, helpers, successors),
        }
    }

    /// Tries every candidate as it is.
    fn emit_plain<M: Mask>(
        &mut self,
        from: &Configuration<M>,
        candidates: &[Rank],
        successors: &mut Successors<M>,
    ) {
        for &rank in candidates {
            let class = self.part.class(rank);
            let answer = self.transitions.step(from.state, class);
            self.odds.note(class, answer != Answer::None);
            for nth in 0..self.transitions.count(answer) {
                let after = self.transitions.nth(answer, nth);
                self.emit(from, from.used, &[], (rank, after), successors);
            }
        }
    }

    /// The open operations and the classes of pending ones that are worth trying: those that matter
    /// for the frontier's operation, of each class the first to return.
    fn choose_candidates<M: Mask>(&mut self, configuration: &Configuration<M>) {
        let part = self.part;
        let frontier = configuration.frontier;
        self.candidates.clear();
        self.helpers.clear();
        self.choices += 1;
        for &rank in part.open(frontier) {
            let chosen = &mut self.chosen[part.class(rank).0 as usize];
            if *chosen != self.choices && !configuration.linearized.has(part.slot(rank)) {
                *chosen = self.choices;
                self.candidates.push(rank);
            }
        }
        if !is_broken(Sabotage::DroppedPending) {
            self.helpers.extend(part.pending_at(frontier));
        }
        for &(pending, count) in self.uses.counts(configuration.used) {
            if part.available(pending, frontier) <= count as usize {
                self.helpers.retain(|&helper| helper != pending);
            }
        }
        self.dependence.keep_relevant(part, &mut self.candidates, &mut self.helpers);
    }

    /// Adds the successor in which some pending operations and then a completed one are linearized.
    pub(super) fn emit<M: Mask>(
        &mut self,
        from: &Configuration<M>,
        used: UseId,
        before: &[Step],
        (rank, state): (Rank, StateId),
        successors: &mut Successors<M>,
    ) {
        checkpoint();
        let mut next = Configuration { state, used, ..from.clone() };
        next.linearized.insert(self.part.slot(rank));
        if self.is_hopeless(&next, self.part.class(rank)) {
            return;
        }
        successors.steps.extend_from_slice(before);
        successors.steps.push(Step::Completed(rank));
        self.settle(&mut next, &mut successors.steps);
        successors.list.push((next, successors.steps.len() as u32));
    }

    /// Whether something still to be seen is precluded after an operation of a class was
    /// linearized.
    fn is_hopeless<M: Mask>(&self, configuration: &Configuration<M>, class: ClassId) -> bool {
        let Some(lookahead) = &self.lookahead else { return false };
        let ahead = lookahead.ahead(self.part, configuration, class);
        let automaton = self.transitions.automaton();
        ahead.is_some_and(|seen| automaton.precludes(configuration.state, seen))
    }

    /// Moves the frontier over what is linearized, and linearizes every open operation that changes
    /// nothing and fits.
    fn settle<M: Mask>(&mut self, configuration: &mut Configuration<M>, steps: &mut Vec<Step>) {
        let part = self.part;
        loop {
            while configuration.frontier < part.end()
                && configuration.linearized.has(part.slot(configuration.frontier))
            {
                configuration.linearized.remove(part.slot(configuration.frontier));
                configuration.frontier.0 += 1;
            }
            if configuration.frontier == part.end() {
                return;
            }
            for &rank in self.observers.open(configuration.frontier) {
                let (class, slot) = (part.class(rank), part.slot(rank));
                if !configuration.linearized.has(slot)
                    && self.transitions.is_possible(configuration.state, class)
                {
                    configuration.linearized.insert(slot);
                    steps.push(Step::Completed(rank));
                }
            }
            if !configuration.linearized.has(part.slot(configuration.frontier)) {
                return;
            }
        }
    }

    /// An estimate of the memory in use, in bytes.
    pub fn bytes(&self) -> usize {
        self.transitions.bytes()
            + self.uses.bytes()
            + self.enabling.bytes()
            + self.odds.bytes()
            + self.observers.bytes()
    }
}
