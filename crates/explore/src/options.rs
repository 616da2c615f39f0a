//! What to explore, within which bounds, with which reductions, for how long.

use crate::outcome::{Reason, Statistics};
use seriatim_spec::Cancel;
use seriatim_spec::answer::Property;
use std::ops::RangeInclusive;
use std::time::Duration;

/// How many threads can be explored.
pub(crate) const MOST_THREADS: RangeInclusive<u32> = 1..=6;
/// How many data values.
pub(crate) const MOST_VALUES: RangeInclusive<u32> = 1..=8;
/// How many keys.
pub(crate) const MOST_KEYS: RangeInclusive<u32> = 0..=64;

/// The most values of a word that threads can still see, if nothing else is said.
pub(crate) const LAG: u32 = 3;

/// The reductions, each of which can be switched off. None of them changes a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reductions {
    /// Registers that no run reads again are forgotten.
    pub dead_registers: bool,
    /// Fields of nodes that nobody can read again are forgotten.
    pub dead_fields: bool,
    /// Calls and returns are fused with shared accesses; accesses that no other thread notices are
    /// local.
    pub fusion: bool,
    /// Releasing a lock joins the step before it, taking one the step after it.
    pub lock_movers: bool,
    /// Locks that are taken in a row, in a fixed order, are taken in one step.
    pub lock_nesting: bool,
    /// Heap nodes are numbered in the order in which they are reached.
    pub heap_symmetry: bool,
    /// Threads of one role are interchangeable.
    pub thread_symmetry: bool,
    /// Data values are interchangeable.
    pub value_symmetry: bool,
    /// Pure iterations of retry loops, and those that are bound to be pure, are left out.
    pub pure_iterations: bool,
    /// Fields that will not change any more are read at once.
    pub final_fields: bool,
    /// A state with more specification configurations than one seen before is dropped.
    pub antichain: bool,
}

impl Reductions {
    /// All of them.
    pub const ALL: Reductions = Reductions {
        dead_registers: true,
        dead_fields: true,
        fusion: true,
        lock_movers: true,
        lock_nesting: true,
        heap_symmetry: true,
        thread_symmetry: true,
        value_symmetry: true,
        pure_iterations: true,
        final_fields: true,
        antichain: true,
    };

    /// Those that PAT's models have built in: what is dead in them is not part of their states.
    pub const COMPAT: Reductions = Reductions { dead_registers: true, ..Reductions::NONE };

    /// None of them.
    pub const NONE: Reductions = Reductions {
        dead_registers: false,
        dead_fields: false,
        fusion: false,
        lock_movers: false,
        lock_nesting: false,
        heap_symmetry: false,
        thread_symmetry: false,
        value_symmetry: false,
        pure_iterations: false,
        final_fields: false,
        antichain: false,
    };

    /// The combination with this number out of 2048: one bit for each reduction.
    pub fn numbered(number: u32) -> Reductions {
        let bit = |i: u32| number >> i & 1 == 1;
        Reductions {
            dead_registers: bit(0),
            fusion: bit(1),
            lock_movers: bit(2),
            heap_symmetry: bit(3),
            thread_symmetry: bit(4),
            value_symmetry: bit(5),
            antichain: bit(6),
            pure_iterations: bit(7),
            dead_fields: bit(8),
            lock_nesting: bit(9),
            final_fields: bit(10),
        }
    }
}

/// How linearizability is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// By refinement, without regard to annotations.
    Refinement,
    /// Every operation takes effect where the annotations say.
    Points,
    /// As [`Mode::Refinement`], but each thread has its own copy of the specification's variable
    /// `scratch`, which outlives its operations as in the models of PAT: for comparing numbers of
    /// states with published ones.
    Compat,
    /// A guarantee of progress is asked about, not linearizability.
    Progress(Guarantee),
}

/// What can be guaranteed about progress. Each is defined in the header of `progress`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Guarantee {
    /// In every infinite run operations keep returning.
    LockFree,
    /// An operation that goes on alone returns.
    ObstructionFree,
    /// In every fair run operations keep returning, unless the specification blocks.
    LivelockFree,
    /// In every fair run every operation returns, unless the specification blocks it.
    StarvationFree,
}

impl Guarantee {
    /// All of them.
    pub const ALL: [Guarantee; 4] = [
        Guarantee::LockFree,
        Guarantee::ObstructionFree,
        Guarantee::LivelockFree,
        Guarantee::StarvationFree,
    ];

    /// The guarantee of this name, which is written with hyphens or, in files, with underscores.
    pub fn named(name: &str) -> Option<Guarantee> {
        let name = name.replace('_', "-");
        Guarantee::ALL.into_iter().find(|guarantee| guarantee.property().word() == name)
    }

    /// The property that it is.
    pub fn property(self) -> Property {
        match self {
            Guarantee::LockFree => Property::LockFree,
            Guarantee::ObstructionFree => Property::ObstructionFree,
            Guarantee::LivelockFree => Property::LivelockFree,
            Guarantee::StarvationFree => Property::StarvationFree,
        }
    }

    /// Whether it speaks of fair runs, and of what the specification lets proceed.
    pub fn is_fair(self) -> bool {
        matches!(self, Guarantee::LivelockFree | Guarantee::StarvationFree)
    }
}

/// Which memory the threads share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryModel {
    /// Sequential consistency: all threads see one memory.
    Sc,
    /// Total store order, as on x86.
    Tso,
    /// C++20 and Rust without load buffering.
    Rc20,
}

impl MemoryModel {
    /// All of them.
    pub const ALL: [MemoryModel; 3] = [MemoryModel::Sc, MemoryModel::Tso, MemoryModel::Rc20];

    /// The model of this name.
    pub fn named(name: &str) -> Option<MemoryModel> {
        MemoryModel::ALL.into_iter().find(|model| model.text() == name)
    }

    /// How it is written.
    pub fn text(self) -> &'static str {
        match self {
            MemoryModel::Sc => "sc",
            MemoryModel::Tso => "tso",
            MemoryModel::Rc20 => "rc20",
        }
    }
}

/// What clients synchronise between their calls, on weak memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Synchronise {
    /// Nothing: happens-before is what the object itself makes.
    Nothing,
    /// Every return with every later call.
    Everything,
    /// Any returns with any later calls, by a release and an acquire of their own: all clients.
    Anything,
}

impl Synchronise {
    /// All of them.
    pub const ALL: [Synchronise; 3] =
        [Synchronise::Nothing, Synchronise::Everything, Synchronise::Anything];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Synchronise> {
        Synchronise::ALL.into_iter().find(|clients| clients.text() == name)
    }

    /// How it is written.
    pub fn text(self) -> &'static str {
        match self {
            Synchronise::Nothing => "nothing",
            Synchronise::Everything => "everything",
            Synchronise::Anything => "anything",
        }
    }
}

/// The limits of the search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long it may take.
    pub time: Option<Duration>,
    /// How many bytes the states and configuration sets may take.
    pub memory: usize,
    /// How many states may be kept.
    pub states: Option<u64>,
}

impl Limits {
    /// What ends a search that begins now.
    pub(crate) fn request(&self) -> Cancel {
        let request = Cancel::of_process();
        // So long a time is no limit, and no clock goes so far.
        let time = self.time.filter(|time| *time < Duration::from_secs(1 << 32));
        time.map_or_else(|| request.clone(), |time| request.within(time))
    }

    /// Which limit, the process's own ones included, a search has reached that took so much.
    pub(crate) fn reached(&self, took: &Statistics) -> Option<Reason> {
        if let Some(reason) = Cancel::of_process().reason() {
            return Some(reason.into());
        }
        if self.time.is_some_and(|limit| took.time >= limit) {
            return Some(Reason::Time);
        }
        if (took.state_bytes + took.set_bytes + took.memo_bytes) as usize >= self.memory {
            return Some(Reason::Memory);
        }
        self.states.is_some_and(|limit| took.stored >= limit).then_some(Reason::States)
    }
}

/// How much is spent on a second opinion after *holds*: until the space of plain runs is covered,
/// or one of these is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecondOpinion {
    /// Its share of the time of the search, in percent.
    pub percent: u32,
    /// How long it may take at least; a limit on time goes first.
    pub least: Duration,
    /// How many random runs.
    pub runs: u64,
    /// How many states the space of plain runs may have to be explored whole.
    pub states: u64,
}

impl SecondOpinion {
    /// What an answer needs that someone relies on: a fifth of the time, and half a second at
    /// least.
    pub const FULL: SecondOpinion = SecondOpinion {
        percent: 20,
        least: Duration::from_millis(500),
        runs: u64::MAX,
        states: 100_000,
    };

    /// A few runs, for those who explore thousands of small programs.
    pub const BRIEF: SecondOpinion =
        SecondOpinion { percent: 20, least: Duration::from_millis(500), runs: 6, states: 100 };
}

/// What to explore and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many threads.
    pub threads: u32,
    /// How many data values.
    pub values: u32,
    /// How many keys, not counting `-inf` and `+inf`.
    pub keys: u32,
    /// How many heap nodes may be alive at once.
    pub nodes: Option<u32>,
    /// How many nodes more than at the start may hang from the shared variables.
    pub capacity: Option<u32>,
    /// Which client; `None` stands for the most general one.
    pub client: Option<String>,
    /// Which memory; `None` stands for sequential consistency if that is all that the program asks
    /// for, else for RC20.
    pub memory: Option<MemoryModel>,
    /// How many operations a thread calls at most, on weak memory; happens-before is exact then.
    pub operations: Option<u32>,
    /// What clients synchronise, on weak memory; `None` stands for nothing if their operations are
    /// bounded, else for everything.
    pub synchronise: Option<Synchronise>,
    /// The most values of a word that threads can still see, on weak memory; only where operations
    /// are bounded is there no need for it.
    pub lag: Option<u32>,
    /// With or without linearization points.
    pub mode: Mode,
    /// Which reductions.
    pub reductions: Reductions,
    /// Remembers 64 bits of each state instead of the state (`hash_compaction`): for hunting, since
    /// then nothing *holds*.
    pub hash_compaction: bool,
    /// When to give up.
    pub limits: Limits,
    /// How many workers search; none is taken as one. Neither verdicts nor numbers of states depend
    /// on it.
    pub jobs: usize,
    /// How much is spent on a second opinion after *holds*.
    pub second_opinion: SecondOpinion,
}

impl Options {
    /// What clients synchronise on weak memory.
    pub fn clients(&self) -> Synchronise {
        self.synchronise.unwrap_or(match self.operations {
            Some(_) => Synchronise::Nothing,
            None => Synchronise::Everything,
        })
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            threads: 2,
            values: 3,
            keys: 2,
            nodes: None,
            capacity: None,
            client: None,
            memory: None,
            operations: None,
            synchronise: None,
            lag: None,
            mode: Mode::Refinement,
            reductions: Reductions::ALL,
            hash_compaction: false,
            limits: Limits {
                time: None,
                memory: seriatim_limits::addressable(8 << 30),
                states: None,
            },
            jobs: 1,
            second_opinion: SecondOpinion::BRIEF,
        }
    }
}
