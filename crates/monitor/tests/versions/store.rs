//! A store of cells with a global revision, as etcd has one: the object of these tests.

use seriatim_monitor::{Checked, Options, Recording};
use seriatim_persistent::Map;
use seriatim_spec::{Aside, Next, Sparse, Spec, Version, Versions};

/// A cell's content and the revision that wrote it last.
pub type Cell = (i64, u64);

/// The revision, the cells that hold something, and the revision up to which the past is gone.
pub type State = (u64, Map<u32, Cell>, u64);

/// What is called.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    Put(u32, i64),
    Get(u32),
    /// Writes if the cell was last written by this revision, 0 if it is empty.
    Txn(u32, u64, i64),
    Delete(u32),
    /// Multiplies by five and adds: what it leaves tells what was there.
    Append(u32, i64),
    /// An event of a watch: what a revision wrote.
    Watch(u32),
    /// Two cells at once.
    Pair(u32, u32),
    /// Writes two cells at once.
    PutBoth(u32, u32, i64),
    /// A get, a put and a delete that do not tell the revision.
    Peek(u32),
    QuietPut(u32, i64),
    QuietDelete(u32),
    /// Takes the past away up to a revision, which changes no revision.
    Compact(u64),
    QuietCompact(u64),
    /// What a cell holds, if it was written by a revision that is not gone.
    Past(u32, u64),
    QuietPast(u32, u64),
}

impl Op {
    fn is_silent(&self) -> bool {
        let is_quiet = matches!(self, Op::QuietCompact(_) | Op::QuietPast(..));
        is_quiet || matches!(self, Op::Peek(_) | Op::QuietPut(..) | Op::QuietDelete(_))
    }
}

/// Whether it did something, what it saw, the revision.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Ret {
    pub flag: u64,
    pub seen: Vec<Option<i64>>,
    pub revision: u64,
}

/// Ways in which the store may lie about itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Lie {
    #[default]
    None,
    /// A get sees the cell of another key.
    WrongKey,
    /// A put writes the next cell, too.
    HiddenWrite,
    /// Deletes that find something do not raise the revision, and say that they do.
    StillDelete,
    /// Every third revision is left out.
    Jump,
    /// Puts say that they read.
    PutReads,
    /// What a get returns depends on the revision.
    Mood,
    /// What acts on two cells names the first of them.
    ShortRange,
    /// A compaction empties a cell.
    WideCompact,
    /// Whether there is a compaction depends on a cell.
    CuriousCompact,
    /// A compaction raises the revision.
    RisingCompact,
    /// A put writes what is left of the past.
    CuriousPut,
    /// What sees the past does not say that it looks at what is left of it.
    BlindPast,
}

impl Lie {
    /// Whether it is about compaction.
    pub fn is_aside(self) -> bool {
        use Lie::*;
        matches!(self, WideCompact | CuriousCompact | RisingCompact | CuriousPut | BlindPast)
    }
}

/// The store.
#[derive(Clone, Copy, Debug, Default)]
pub struct Store {
    pub lie: Lie,
}

/// The revision at the start.
pub const FIRST: u64 = 1;

impl Store {
    pub fn run(&self, state: &State, op: &Op) -> (State, Ret) {
        let mut after = state.clone();
        let mut next = state.0 + 1;
        if self.lie == Lie::Jump && next.is_multiple_of(3) {
            next += 1;
        }
        let cell = |key: &u32| state.1.get(key).copied();
        let content = |key: &u32| cell(key).map(|cell| cell.0);
        let mut ret = Ret { flag: 0, seen: Vec::new(), revision: state.0 };
        let mut write = |key: u32, mut value: i64| {
            if self.lie == Lie::CuriousPut {
                value += state.2 as i64;
            }
            after.0 = next;
            after.1.insert(key, (value, next));
            if self.lie == Lie::HiddenWrite {
                after.1.insert(key + 1, (value, next));
            }
        };
        match *op {
            Op::Put(key, value) | Op::QuietPut(key, value) => write(key, value),
            Op::Append(key, value) => write(key, content(&key).unwrap_or(0) * 5 + value),
            Op::Get(key) if self.lie == Lie::WrongKey => ret.seen.push(content(&(key ^ 1))),
            Op::Get(key) if self.lie == Lie::Mood && state.0.is_multiple_of(2) => {
                ret.seen.push(content(&(key ^ 1)));
            }
            Op::Get(key) | Op::Peek(key) => ret.seen.push(content(&key)),
            Op::Watch(key) => {
                ret.seen.push(content(&key));
                ret.flag = cell(&key).map_or(0, |cell| cell.1);
            }
            Op::Txn(key, expected, value) => {
                if cell(&key).map_or(0, |cell| cell.1) == expected {
                    ret.flag = 1;
                    write(key, value);
                }
            }
            Op::Delete(key) | Op::QuietDelete(key) => {
                if cell(&key).is_some() {
                    ret.flag = 1;
                    after.1.remove(&key);
                    after.0 = if self.lie == Lie::StillDelete { state.0 } else { next };
                }
            }
            Op::Compact(at) | Op::QuietCompact(at) => {
                let is_willing = self.lie != Lie::CuriousCompact || cell(&0).is_some();
                if at > state.2 && at <= state.0 && is_willing {
                    (ret.flag, after.2) = (1, at);
                    match self.lie {
                        Lie::WideCompact => after.1.remove(&0),
                        Lie::RisingCompact => after.0 = next,
                        _ => {}
                    }
                }
            }
            Op::Past(key, at) | Op::QuietPast(key, at) => {
                if at >= state.2 && at <= state.0 {
                    ret.flag = 1;
                    ret.seen.push(cell(&key).filter(|cell| cell.1 <= at).map(|cell| cell.0));
                }
            }
            Op::Pair(a, b) => ret.seen.extend([content(&a), content(&b)]),
            Op::PutBoth(a, b, value) => {
                write(a, value);
                write(b, value);
            }
        }
        ret.revision = if op.is_silent() { 0 } else { after.0 };
        (after, ret)
    }
}

impl Spec for Store {
    type State = State;
    type Op = Op;
    type Ret = Ret;

    fn initial(&self) -> State {
        (FIRST, Map::new(), 0)
    }

    fn step(&self, state: &State, op: &Op, ret: Option<&Ret>) -> Next<State> {
        let (after, answer) = self.run(state, op);
        Next::when(ret.is_none_or(|ret| *ret == answer), || after)
    }

    fn is_read_only(&self, op: &Op, _: Option<&Ret>) -> bool {
        let sees_past = matches!(op, Op::Past(..) | Op::QuietPast(..));
        sees_past || matches!(op, Op::Get(_) | Op::Peek(_) | Op::Watch(_) | Op::Pair(..))
    }

    fn versions(&self) -> Option<&dyn Versions<State, Op, Ret>> {
        Some(self)
    }
}

impl Versions<State, Op, Ret> for Store {
    fn version(&self, op: &Op, ret: &Ret) -> Option<Version> {
        if op.is_silent() {
            return None;
        }
        let is_update = match op {
            Op::Put(..) => self.lie != Lie::PutReads,
            Op::Append(..) | Op::PutBoth(..) => true,
            Op::Txn(..) | Op::Delete(_) => ret.flag == 1,
            _ => false,
        };
        let version = if is_update { Version::Update } else { Version::Read };
        Some(version(ret.revision))
    }

    fn version_of(&self, state: &State) -> u64 {
        state.0
    }

    fn trial(&self, state: &State, op: &Op, ret: Option<&Ret>) -> Result<Next<State>, String> {
        Ok(self.step(state, op, ret))
    }

    fn at_version(&self, state: State, version: u64) -> State {
        (version, state.1, state.2)
    }

    fn keys(&self, op: &Op) -> Option<Vec<u64>> {
        Some(match *op {
            Op::Pair(a, _) | Op::PutBoth(a, ..) if self.lie == Lie::ShortRange => vec![a.into()],
            Op::Pair(a, b) | Op::PutBoth(a, b, _) => vec![a.into(), b.into()],
            Op::Put(key, _) | Op::Get(key) | Op::Txn(key, ..) => vec![key.into()],
            Op::Delete(key) | Op::Append(key, _) | Op::Watch(key) => vec![key.into()],
            Op::Peek(key) | Op::QuietPut(key, _) | Op::QuietDelete(key) => vec![key.into()],
            Op::Past(key, _) | Op::QuietPast(key, _) => vec![key.into()],
            Op::Compact(_) | Op::QuietCompact(_) => Vec::new(),
        })
    }

    fn aside(&self, op: &Op) -> Aside {
        match op {
            Op::Compact(_) | Op::QuietCompact(_) => Aside::Changes,
            Op::Past(..) | Op::QuietPast(..) if self.lie != Lie::BlindPast => Aside::Looks,
            _ => Aside::Apart,
        }
    }

    fn with_aside(&self, state: State, other: &State) -> State {
        (state.0, state.1, other.2)
    }

    fn split(&self, op: &Op, ret: &Ret) -> Option<Vec<(Op, Ret)>> {
        let Op::Pair(a, b) = *op else { return None };
        if self.lie == Lie::ShortRange {
            return None;
        }
        let one = |key: u32, seen: usize| {
            let seen = vec![*ret.seen.get(seen)?];
            Some((Op::Get(key), Ret { seen, ..ret.clone() }))
        };
        Some(vec![one(a, 0)?, one(b, 1)?])
    }
}

/// An operation with its times; no return: it is pending.
#[derive(Clone, Debug)]
pub struct Event {
    pub op: Op,
    pub call: u64,
    pub ret: Option<(u64, Ret)>,
}

/// Records a history.
pub fn record(store: Store, events: &[Event]) -> Recording<Store> {
    recorded(store, events)
}

fn recorded<S: Spec<Op = Op, Ret = Ret> + 'static>(spec: S, events: &[Event]) -> Recording<S> {
    let mut recording = Recording::new(spec);
    for (process, event) in (0..).zip(events) {
        let Event { op, call, ret } = event.clone();
        recording.operation(process, op, call, ret).expect("a history");
    }
    recording
}

/// Checks a history.
pub fn check(store: Store, events: &[Event], options: &Options<'_>) -> Checked {
    record(store, events).check(options).expect("the history fits the store")
}

/// What the operations of a history tell.
pub fn told(store: Store, events: &[Event]) -> impl Iterator<Item = Option<Version>> {
    let tells = move |event: &Event| store.version(&event.op, &event.ret.as_ref()?.1);
    events.iter().map(tells)
}

/// Checks a history of a store whose revision also rises by itself.
pub fn check_sparse(store: Store, events: &[Event], options: &Options<'_>) -> Checked {
    let sparse = sparse(store, events).expect("versions that are close");
    recorded(sparse, events).check(options).expect("the history fits the store")
}

/// The store with a revision that also rises by itself, for a history.
pub fn sparse(store: Store, events: &[Event]) -> Option<Sparse<Store>> {
    Sparse::new(
        store,
        events.iter().map(|event| (&event.op, event.ret.as_ref().map(|(_, ret)| ret))),
    )
}

/// The store for one history, of whose numbers it knows that they are only copied and compared.
pub struct Opaque {
    store: Store,
    /// All numbers that the history names.
    numbers: Vec<u64>,
    /// Beyond them, one for each operation without a revision.
    beyond: u64,
}

impl Opaque {
    pub fn new(store: Store, events: &[Event]) -> Self {
        let mut numbers = vec![0, FIRST];
        for event in events {
            if let Op::Txn(_, expected, _) = event.op {
                numbers.push(expected);
            }
            numbers.extend(event.ret.iter().flat_map(|(_, ret)| [ret.revision, ret.flag]));
        }
        numbers.sort_unstable();
        numbers.dedup();
        let untold = told(store, events).filter(Option::is_none).count() as u64;
        let beyond = numbers.last().map_or(0, |last| last + untold + 1);
        Opaque { store, numbers, beyond }
    }

    /// The highest revision that matters.
    pub fn highest(&self) -> u64 {
        self.beyond
    }
}

impl Spec for Opaque {
    type State = State;
    type Op = Op;
    type Ret = Ret;

    fn initial(&self) -> State {
        self.store.initial()
    }

    fn step(&self, state: &State, op: &Op, ret: Option<&Ret>) -> Next<State> {
        self.store.step(state, op, ret)
    }

    fn is_read_only(&self, op: &Op, ret: Option<&Ret>) -> bool {
        self.store.is_read_only(op, ret)
    }

    fn versions(&self) -> Option<&dyn Versions<State, Op, Ret>> {
        Some(self)
    }
}

impl Versions<State, Op, Ret> for Opaque {
    fn version(&self, op: &Op, ret: &Ret) -> Option<Version> {
        self.store.version(op, ret)
    }

    fn version_of(&self, state: &State) -> u64 {
        self.store.version_of(state)
    }

    fn trial(&self, state: &State, op: &Op, ret: Option<&Ret>) -> Result<Next<State>, String> {
        self.store.trial(state, op, ret)
    }

    fn at_version(&self, state: State, version: u64) -> State {
        self.store.at_version(state, version)
    }

    fn keys(&self, op: &Op) -> Option<Vec<u64>> {
        self.store.keys(op)
    }

    fn split(&self, op: &Op, ret: &Ret) -> Option<Vec<(Op, Ret)>> {
        self.store.split(op, ret)
    }

    fn mentions(&self) -> Option<&[u64]> {
        Some(&self.numbers)
    }

    fn beyond(&self) -> Option<u64> {
        Some(self.beyond)
    }
}

/// Checks a history of a store whose revision also rises by itself, and is only compared.
pub fn check_opaque(store: Store, events: &[Event], options: &Options<'_>) -> Checked {
    let operations = events.iter().map(|event| (&event.op, event.ret.as_ref().map(|(_, ret)| ret)));
    let sparse = Sparse::new(Opaque::new(store, events), operations).expect("it is opaque");
    recorded(sparse, events).check(options).expect("the history fits the store")
}
