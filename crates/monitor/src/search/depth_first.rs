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
use super::space::{Configuration, Kind, Order, Space, Step, Successors};
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
    farthest: Rank,
    turn: Turn,
}

/// A configuration that is met but not entered.
struct Open<M> {
    configuration: Configuration<M>,
    origin: OriginId,
    /// A dive has begun with it.
    is_taken: bool,
    /// Which of its successors are still to be tried: these and the later kinds.
    kind: Kind,
}

impl<M> Open<M> {
    fn new(configuration: Configuration<M>, origin: OriginId) -> Self {
        Open { configuration, origin, is_taken: false, kind: Kind::Plain }
    }
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
            farthest: Rank(0),
            turn: Turn { number: 0, left },
        }
    }

    /// The configuration to enter next.
    fn next(&mut self) -> Option<Open<M>> {
        if self.turn.left == 0 {
            self.pass_on();
        }
        self.turn.left -= 1;
        let (first, second) = match self.turn.is_dive() {
            true => (&mut self.left_open, &mut self.main),
            false => (&mut self.main, &mut self.left_open),
        };
        let mut open = || first.pop().or_else(|| second.pop());
        loop {
            let next = open()?;
            if !next.is_taken {
                return Some(next);
            }
        }
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
        match chosen.checked_sub(self.main.len()) {
            None => {
                let open = &mut self.main[chosen];
                let (configuration, kind) = (open.configuration.clone(), open.kind);
                let copy = Open { kind, ..Open::new(configuration, open.origin) };
                open.is_taken = true;
                self.left_open.push(copy);
            }
            Some(index) => {
                let last = self.left_open.len() - 1;
                self.left_open.swap(index, last);
            }
        }
    }

    /// Generates the successors of a configuration that are next.
    fn enter(&mut self, open: Open<M>) {
        let Open { configuration, origin, kind, .. } = open;
        let next = self.space.expand_kind(&configuration, kind, &mut self.successors);
        let rest = next.map(|kind| Open { kind, ..Open::new(configuration, origin) });
        self.push_successors(origin, rest);
    }

    /// The last successor is pushed first, so that the first is entered first; what is left of the
    /// parent comes after all of them.
    fn push_successors(&mut self, parent: OriginId, rest: Option<Open<M>>) {
        let open = match self.turn.is_dive() {
            true => &mut self.left_open,
            false => &mut self.main,
        };
        open.extend(rest);
        for (configuration, steps) in self.successors.iter().rev() {
            checkpoint();
            if self.seen.insert(configuration, &self.space.uses) {
                let origin = self.origins.add(parent, steps);
                open.push(Open::new(configuration.clone(), origin));
            }
        }
    }

    /// An estimate of the memory in use, in bytes.
    fn bytes(&self) -> usize {
        let open = (self.main.len() + self.left_open.len()) * size_of::<Open<M>>();
        self.space.bytes() + self.seen.bytes() + open + self.origins.bytes()
    }
}

impl<M: Mask> Search for DepthFirst<'_, M> {
    fn run(&mut self, effort: &mut Effort<'_>) -> Progress {
        while let Some(open) = self.next() {
            if self.space.is_complete(&open.configuration) {
                self.settled.extend(self.origins.path(open.origin));
                return Progress::Found(std::mem::take(&mut self.settled));
            }
            self.farthest = self.farthest.max(open.configuration.frontier);
            self.enter(open);
            if let Some(pause) = effort.spend(self.successors.len(), || self.bytes()) {
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
