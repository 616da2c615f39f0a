//! Depth first: the search of Wing & Gong with Lowe's memory of configurations.
//!
//! *Theorem* (Wing & Gong 1993; Lowe 2017): a history is linearizable iff repeatedly linearizing
//! some operation that no unlinearized one precedes, as the specification allows, reaches the end;
//! and a configuration that was left without success need never be entered again. The paper's bit
//! set of all operations is replaced by the frontier and a set of slots ([`part`](super::part)), so
//! that a remembered configuration takes a few words whatever the length of the history.
//!
//! It finds a witness fast where there is one, since it commits to choices; it must exhaust the
//! space to refute. Cost: one expansion a configuration; memory: all configurations met.
//!
//! *Dives.* One wrong choice early on can hide every witness behind more configurations than
//! anybody can visit, and which choice is wrong depends on nothing but luck: the time to a witness
//! has a heavy tail (Gomes, Selman & Kautz 1998). So, after a while, three turns of four are dives:
//! each enters another choice that is still open and tries operations in another order there.
//! Nothing is done twice, since all that was met is remembered; nothing is lost, since what a dive
//! leaves open stays open; and a witness takes at most four times as long as without dives. Usually
//! a dive begins far along, near where the others are stuck; now and then early, in case that is
//! where they went wrong.
//!
//! *One successor at a time.* Of a configuration's candidates the next one is tried when all before
//! it have failed, so that on the way to a witness hardly a state is made that is never entered.
//!
//! *Pending operations last.* Which of them help is expensive to find out (every one of them,
//! before every open operation, and in chains), and most configurations on the way to a witness
//! need none. So what takes no pending operation is tried first, then what takes one, then what
//! takes several; each is generated when all before it has failed.

use super::engine::Search;
use super::mask::Mask;
use super::odds::mixed;
use super::origins::{OriginId, Origins};
use super::part::Rank;
use super::seen::Seen;
use super::space::{Configuration, Helpers, Kind, Order, Space, Step, Successors};
use super::{Effort, Progress};
use seriatim_limits::checkpoint;
use std::cmp::Ordering;

/// A depth-first search that can be paused.
pub struct DepthFirst<'a, M> {
    space: Space<'a>,
    seen: Seen<M>,
    /// What the main line has still to enter, the last one first.
    main: Vec<Open<M>>,
    /// What dives have left open, that of the present one last.
    left_open: Vec<Open<M>>,
    /// How each configuration was reached, from the one that `settled` leads to.
    origins: Origins,
    settled: Vec<Step>,
    successors: Successors<M>,
    /// Lists of candidates that are not in use.
    spare: Vec<Vec<Rank>>,
    /// How many candidates there are in lists that are in use.
    listed: usize,
    farthest: Rank,
    turn: Turn,
}

/// A configuration with successors that are still to be tried.
struct Open<M> {
    configuration: Configuration<M>,
    origin: OriginId,
    /// A dive has begun with it before it was entered.
    is_taken: bool,
    rest: Rest,
}

/// What is still to be tried of a configuration.
enum Rest {
    /// Everything: it is not entered.
    All,
    /// These candidates, the next one last, and then what takes pending operations if some may
    /// help.
    Candidates(Vec<Rank>, Helpers),
    /// Successors of this kind and of the later ones.
    Kind(Kind),
    /// Nothing.
    Nothing,
}

impl<M> Open<M> {
    fn new(configuration: Configuration<M>, origin: OriginId) -> Self {
        Open { configuration, origin, is_taken: false, rest: Rest::All }
    }

    fn is_entered(&self) -> bool {
        !matches!(self.rest, Rest::All)
    }

    fn is_exhausted(&self) -> bool {
        matches!(self.rest, Rest::Nothing)
    }
}

/// Where configurations with something left to try are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line {
    Main,
    LeftOpen,
}

/// Whose turn it is.
struct Turn {
    /// Every fourth one is the main line's, the others are dives.
    number: u64,
    /// The expansions that are left to it.
    left: u64,
}

impl Turn {
    fn is_dive(&self) -> bool {
        !self.number.is_multiple_of(4)
    }
}

/// Expansions of the main line before the first dive, besides some for each operation.
const FIRST_TURN: u64 = 1 << 11;
/// Expansions of every later turn.
const TURN: u64 = if cfg!(test) { 2 } else { 128 };

/// Where dives begin, in turn: of so many open configurations the one that is farthest along, or
/// least far.
const BEGINNINGS: [(u64, Ordering); 4] =
    [(2, Ordering::Greater), (2, Ordering::Less), (2, Ordering::Greater), (4, Ordering::Greater)];

impl<'a, M: Mask> DepthFirst<'a, M> {
    /// A search of a space, before its first step.
    pub fn new(mut space: Space<'a>) -> Self {
        let (root, settled) = space.root();
        let mut seen = Seen::default();
        seen.insert(&root, &space.uses);
        let left = match cfg!(test) {
            true => 1,
            false => FIRST_TURN + u64::from(space.part.end().0) * 2,
        };
        DepthFirst {
            space,
            seen,
            main: vec![Open::new(root, OriginId::ROOT)],
            left_open: Vec::new(),
            origins: Origins::default(),
            settled,
            successors: Successors::default(),
            spare: Vec::new(),
            listed: 0,
            farthest: Rank(0),
            turn: Turn { number: 0, left },
        }
    }

    /// The line whose last configuration is next: that of the turn, or the other one.
    fn line(&mut self) -> Option<Line> {
        let lines = match self.turn.is_dive() {
            true => [Line::LeftOpen, Line::Main],
            false => [Line::Main, Line::LeftOpen],
        };
        for line in lines {
            let open = self.open(line);
            while open.pop_if(|last| last.is_taken).is_some() {}
            if !open.is_empty() {
                return Some(line);
            }
        }
        None
    }

    fn open(&mut self, line: Line) -> &mut Vec<Open<M>> {
        match line {
            Line::Main => &mut self.main,
            Line::LeftOpen => &mut self.left_open,
        }
    }

    /// How the last configuration of a line was reached, if it is complete.
    fn completed(&self, line: Line) -> Option<OriginId> {
        let last = match line {
            Line::Main => self.main.last(),
            Line::LeftOpen => self.left_open.last(),
        };
        last.filter(|last| self.space.is_complete(&last.configuration)).map(|last| last.origin)
    }

    /// Ends a turn and begins the next one.
    fn pass_on(&mut self) {
        self.turn = Turn { number: self.turn.number + 1, left: TURN };
        self.space.order = match self.turn.is_dive() {
            true => Order::Mixed(self.turn.number),
            false => Order::Odds,
        };
        if self.turn.is_dive() {
            self.begin_dive();
        }
    }

    /// Takes the configuration that a dive begins with from those that are open.
    fn begin_dive(&mut self) {
        let count = self.main.len() + self.left_open.len();
        let (candidates, wanted) = BEGINNINGS[(self.turn.number / 2) as usize % BEGINNINGS.len()];
        // Cut to its lower half before it is divided, a number would lead elsewhere on 32 bits.
        let random = |nth| (mixed(self.turn.number * 16 + nth) % count.max(1) as u64) as usize;
        let open = |index: usize| match index.checked_sub(self.main.len()) {
            None => &self.main[index],
            Some(index) => &self.left_open[index],
        };
        let choices = (0..candidates).map(random).filter(|&index| index < count);
        let better = |one: usize, other: usize| {
            let order = open(other).configuration.frontier.cmp(&open(one).configuration.frontier);
            if order == wanted { other } else { one }
        };
        let Some(chosen) = choices.filter(|&index| !open(index).is_taken).reduce(better) else {
            return;
        };
        let (line, index) = match chosen.checked_sub(self.main.len()) {
            None => (Line::Main, chosen),
            Some(index) => (Line::LeftOpen, index),
        };
        let chosen = &mut self.open(line)[index];
        if chosen.is_entered() {
            // With one of its successors.
            while !self.go_on(line, index) && !self.open(line)[index].is_exhausted() {}
        } else {
            chosen.is_taken = true;
            let copy = Open::new(chosen.configuration.clone(), chosen.origin);
            self.left_open.push(copy);
        }
    }

    /// Enters a configuration: puts its candidates in order; gives their number.
    fn enter(&mut self, line: Line) -> usize {
        let mut candidates = self.spare.pop().unwrap_or_default();
        let open = match line {
            Line::Main => self.main.last_mut(),
            Line::LeftOpen => self.left_open.last_mut(),
        };
        let open = open.expect("there is a configuration to enter");
        self.farthest = self.farthest.max(open.configuration.frontier);
        let helpers = self.space.candidates(&open.configuration, &mut candidates);
        candidates.reverse();
        let count = candidates.len();
        self.listed += count;
        open.rest = Rest::Candidates(candidates, helpers);
        count
    }

    /// Tries what is next of a configuration that is entered; whether that leads to a new one.
    fn go_on(&mut self, line: Line, index: usize) -> bool {
        let open = match line {
            Line::Main => &mut self.main[index],
            Line::LeftOpen => &mut self.left_open[index],
        };
        let (configuration, successors) = (&open.configuration, &mut self.successors);
        match &mut open.rest {
            Rest::Candidates(candidates, helpers) => {
                let next = candidates.pop().expect("a list without candidates is put away");
                self.space.try_candidate(configuration, next, successors);
                self.listed -= 1;
                if candidates.is_empty() {
                    self.spare.push(std::mem::take(candidates));
                    open.rest = match helpers {
                        Helpers::None => Rest::Nothing,
                        Helpers::Some => Rest::Kind(Kind::Helped),
                    };
                }
            }
            Rest::Kind(kind) => {
                let next = self.space.expand_kind(configuration, *kind, successors);
                open.rest = next.map_or(Rest::Nothing, Rest::Kind);
            }
            Rest::All | Rest::Nothing => successors.clear(),
        }
        let parent = open.origin;
        self.push_successors(parent)
    }

    /// The last successor is pushed first, so that the first is entered first; whether there is one
    /// that was not met before.
    fn push_successors(&mut self, parent: OriginId) -> bool {
        let open = match self.turn.is_dive() {
            true => &mut self.left_open,
            false => &mut self.main,
        };
        let before = open.len();
        for (configuration, steps) in self.successors.iter().rev() {
            checkpoint();
            if self.seen.insert(configuration, &self.space.uses) {
                let origin = self.origins.add(parent, steps);
                open.push(Open::new(configuration.clone(), origin));
            }
        }
        open.len() > before
    }

    /// An estimate of the memory in use, in bytes.
    fn bytes(&self) -> usize {
        let open = (self.main.len() + self.left_open.len()) * size_of::<Open<M>>();
        let lists = self.listed * size_of::<Rank>();
        self.space.bytes() + self.seen.bytes() + open + lists + self.origins.bytes()
    }
}

impl<M: Mask> Search for DepthFirst<'_, M> {
    fn run(&mut self, effort: &mut Effort<'_>) -> Progress {
        while let Some(line) = self.line() {
            let last = self.open(line).len() - 1;
            if self.open(line)[last].is_entered() {
                let is_cheap = matches!(self.open(line)[last].rest, Rest::Candidates(..));
                self.go_on(line, last);
                if self.open(line)[last].is_exhausted() {
                    self.open(line).remove(last);
                }
                if !is_cheap
                    && let Some(pause) = effort.spend(self.successors.len(), || self.bytes())
                {
                    return pause;
                }
                continue;
            }
            if let Some(origin) = self.completed(line) {
                self.settled.extend(self.origins.path(origin));
                return Progress::Found(std::mem::take(&mut self.settled));
            }
            if self.turn.left == 0 {
                self.pass_on();
                continue;
            }
            self.turn.left -= 1;
            let candidates = self.enter(line);
            if let Some(pause) = effort.spend(candidates, || self.bytes()) {
                return pause;
            }
        }
        Progress::Exhausted
    }

    fn farthest(&self) -> Rank {
        self.farthest
    }

    fn configurations(&self) -> usize {
        self.seen.len()
    }

    fn settled(&self) -> &[Step] {
        &[]
    }
}

#[cfg(test)]
mod tests {
    use crate::{Monitors, Options, Strategy, check};
    use seriatim_history::{Builder, Call, History, Return, Value, ValueId};
    use seriatim_spec::{ChosenReader, Failures, SpecChoice, Verdict};

    /// Twelve operations of four processes on a deque of two values, with results at random.
    fn history(seed: u64) -> History {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut below = |limit: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % limit
        };
        let mut builder = Builder::new("dives");
        let methods = ["push_front", "push_back", "pop_front", "pop_back"];
        let methods = methods.map(|name| builder.method(name));
        let values = [0, 1].map(|value| builder.values().intern_int(value));
        let processes = [0, 1, 2, 3].map(|process| builder.process(&Value::Int(process)));
        let mut open = [None; 4];
        for time in 0..24 {
            let process = below(4) as usize;
            let (method, value) = (below(4) as usize, values[below(2) as usize]);
            let is_push = method < 2;
            match open[process].take() {
                None => {
                    let call = Call::new(methods[method]);
                    let call = if is_push { call.arg(value) } else { call };
                    builder.call(time, processes[process], call).unwrap();
                    open[process] = Some(is_push);
                }
                Some(is_push) => {
                    let result = if is_push { ValueId::NIL } else { value };
                    let ret = Return { result, ..Return::ok() };
                    builder.ret(time, processes[process], ret).unwrap();
                }
            }
        }
        builder.finish().unwrap()
    }

    /// Turns are so short here that these histories take many dives.
    #[test]
    fn a_search_that_dives_all_the_time_is_as_right_as_one_that_never_does() {
        let choice = SpecChoice::parse("deque").unwrap();
        let reader = ChosenReader { choice, failures: Failures::default() };
        let mut found = [0, 0];
        for seed in 1..3_000 {
            let word = |strategy| {
                let options = Options {
                    strategies: vec![strategy],
                    monitors: Monitors::Skip,
                    threads: 1,
                    ..Options::default()
                };
                let checked = check(&mut history(seed), &reader, &options).unwrap();
                assert_eq!(checked.defect, None, "seed {seed}");
                matches!(checked.verdict, Verdict::Linearizable(_))
            };
            let dives = word(Strategy::DepthFirst);
            assert_eq!(dives, word(Strategy::BreadthFirst), "seed {seed}");
            found[usize::from(dives)] += 1;
        }
        assert!(found[0] > 100 && found[1] > 100, "{found:?}");
    }
}
