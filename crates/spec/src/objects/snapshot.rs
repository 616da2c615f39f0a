//! Snapshot: segments that are updated one by one and read all at once.

use crate::catalogue::Entry;
use crate::machine::{Answer, Effect, Machine, listed};
use crate::parameters::{Parameter, Parameters};
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Vocabulary, intern_lists, interpret,
};
use seriatim_history::{History, Operation, ValueId, Values};
use seriatim_persistent::Entries;
use std::sync::Arc;

/// A snapshot object.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
    /// The segments before the first operation.
    pub init: Vec<ValueId>,
}

/// A segment, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment(pub u32);

/// The segments that do not hold `nil`.
pub type Segments = Entries<u32, ValueId>;

/// An operation of a snapshot object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Replaces the value of a segment.
    Update(Segment, ValueId),
    /// The value of a segment.
    Read(Segment),
    /// The values of all segments.
    Scan,
}

const METHODS: &[Method] = &[
    Method {
        names: &["update", "write"],
        signature: "(segment, value)",
        meaning: "replace the value of a segment, counted from 0",
    },
    Method {
        names: &["read", "get"],
        signature: "(segment) -> value",
        meaning: "the value of a segment",
    },
    Method {
        names: &["scan", "snapshot", "read_all", "read-all"],
        signature: "() -> list",
        meaning: "the values of all segments",
    },
];

/// The snapshot in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "snapshot",
    aliases: &["atomic-snapshot"],
    meaning: "segments that are updated one by one and scanned all at once",
    parameters: &[Parameter::list(
        "init",
        "nil in every segment that the history names",
        "the segments at the start",
    )],
    methods: METHODS,
    bind: |parameters, history, failures| {
        let snapshot = Snapshot::build(parameters, history);
        interpret("snapshot", snapshot, history, failures)
    },
};

/// More segments than anybody has: an index beyond is a mistake in the input.
const MOST_SEGMENTS: i64 = 1 << 16;

impl Snapshot {
    /// The snapshot that the parameters describe.
    pub fn build(parameters: &Parameters, history: &mut History) -> Self {
        intern_lists(history, 1);
        let mut init = parameters.items("init", history);
        if !parameters.flag("init") {
            let values = history.values();
            let named = |operation: Operation<'_>| {
                let pair = values.as_pair(operation.arg()).map(|pair| pair.0);
                let segment = if operation.key().is_present() {
                    operation.key()
                } else {
                    pair.unwrap_or(operation.arg())
                };
                let index = values.as_int(segment).filter(|i| (0..MOST_SEGMENTS).contains(i));
                let scanned = match operation.result() {
                    result if METHODS[2].is(operation.method()) => {
                        values.get(result).as_list().map_or(0, <[_]>::len)
                    }
                    _ => 0,
                };
                scanned.max(index.map_or(0, |index| index as usize + 1))
            };
            let size = history.operations().map(named).max().unwrap_or(0);
            init.resize(size, ValueId::NIL);
        }
        let values = history.values().clone();
        Snapshot { values, init }
    }

    /// The values of all segments.
    fn all(&self, state: &Segments) -> Vec<ValueId> {
        let mut all = vec![ValueId::NIL; self.init.len()];
        state.iter().for_each(|(&segment, &value)| all[segment as usize] = value);
        all
    }

    fn segment(&self, recorded: Recorded<'_>, index: ValueId) -> Result<Segment, Misfit> {
        let index = recorded.values().as_int(index);
        match index.and_then(|index| u32::try_from(index).ok()) {
            Some(index) if (index as usize) < self.init.len() => Ok(Segment(index)),
            _ => Misfit::expected(format!("a segment below {}", self.init.len())),
        }
    }
}

impl Machine for Snapshot {
    type State = Segments;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn go_on_with(&mut self, values: Arc<Values>) {
        self.values = values;
    }

    fn start(&self) -> Segments {
        let segments = (0_u32..).zip(self.init.iter().copied());
        segments.filter(|(_, value)| *value != ValueId::NIL).collect()
    }

    fn run(&self, state: &Segments, op: &Op) -> Option<Effect<Segments>> {
        match *op {
            Op::Update(segment, ValueId::NIL) => {
                Effect::change(Answer::Done, state.without(&segment.0))
            }
            Op::Update(segment, value) => {
                Effect::change(Answer::Done, state.with(segment.0, value))
            }
            Op::Read(segment) => {
                let held = state.get(&segment.0).copied();
                Effect::none(Answer::Value(held.unwrap_or(ValueId::NIL)))
            }
            Op::Scan => Effect::none(Answer::Items(self.all(state).into())),
        }
    }

    fn leaves_unchanged(&self, op: &Op, _: Option<&Answer>) -> bool {
        !matches!(op, Op::Update(..))
    }

    fn swaps(&self, a: &Op, b: &Op) -> bool {
        match (*a, *b) {
            (Op::Update(x, v), Op::Update(y, w)) => x != y || v == w,
            (Op::Update(x, _), Op::Read(y)) | (Op::Read(y), Op::Update(x, _)) => x != y,
            (Op::Update(..), Op::Scan) | (Op::Scan, Op::Update(..)) => false,
            (Op::Read(_) | Op::Scan, Op::Read(_) | Op::Scan) => true,
        }
    }

    fn verb(&self, op: &Op) -> String {
        match op {
            Op::Update(Segment(index), value) => {
                format!("update {index} to {}", self.values.get(*value))
            }
            Op::Read(Segment(index)) => format!("read in segment {index}"),
            Op::Scan => "scan".to_owned(),
        }
    }

    fn fact(&self, state: &Segments, _: &Op) -> String {
        format!("the segments are {}", self.describe(state))
    }

    fn describe(&self, state: &Segments) -> String {
        listed(&self.values, &self.all(state))
    }

    fn unexplained(&self, operations: &[(&Op, Option<&Answer>)]) -> Option<(usize, String)> {
        let written = operations.iter().filter_map(|(op, _)| match op {
            Op::Update(segment, value) => Some((segment.0 as usize, *value)),
            _ => None,
        });
        let initial = self.init.iter().copied().enumerate();
        let brought: hashbrown::HashSet<_> = initial.chain(written).collect();
        let shows_unknown = |(op, ret): &(&Op, Option<&Answer>)| match (op, ret) {
            (Op::Read(segment), Some(Answer::Value(value))) => {
                !brought.contains(&(segment.0 as usize, *value))
            }
            (Op::Scan, Some(Answer::Items(items))) => {
                let mut items = items.iter().copied().enumerate();
                items.any(|item| !brought.contains(&item))
            }
            _ => false,
        };
        let position = operations.iter().position(shows_unknown)?;
        let reason = "it shows a value that the segment never had".to_owned();
        Some((position, reason))
    }

    fn heap(&self, state: &Segments) -> usize {
        state.own_bytes()
    }
}

impl Vocabulary for Snapshot {
    fn takes_key(&self) -> bool {
        true
    }

    fn methods(&self) -> &'static [Method] {
        METHODS
    }

    fn decode(
        &self,
        operation: Operation<'_>,
        failures: Failures,
    ) -> Result<Decoded<Op, Answer>, Misfit> {
        let recorded = Recorded { operation, failures };
        let keyed = operation.key().is_present();
        match recorded.method(METHODS)? {
            "update" => {
                let (segment, value) = match keyed {
                    true => (operation.key(), recorded.arg()?),
                    false => recorded.pair()?,
                };
                let op = Op::Update(self.segment(recorded, segment)?, value);
                recorded.settle(op, Failure::Silent, recorded.done())
            }
            "read" => {
                let segment = if keyed { operation.key() } else { recorded.arg()? };
                let op = Op::Read(self.segment(recorded, segment)?);
                recorded.settle(op, Failure::Silent, recorded.read())
            }
            _ => {
                recorded.no_arg()?;
                let answer = recorded.list().and_then(|answer| match answer {
                    Answer::Items(items) if items.len() != self.init.len() => {
                        let size = self.init.len();
                        Misfit::expected(format!("a list of {size} values as result"))
                    }
                    answer => Ok(answer),
                });
                recorded.settle(Op::Scan, Failure::Silent, answer)
            }
        }
    }
}
