//! Set: `add`, `remove`, `contains`; also `size`, `is_empty` and `read` of the whole.
//!
//! Elements are independent of each other, so a history is checked element by element, unless an
//! operation looks at the whole set: then nothing may be split.

use crate::catalogue::Entry;
use crate::collection::Collection;
use crate::machine::{Answer, Effect, Flow, Machine, listed, unexplained_value};
use crate::parameters::{Parameter, Parameters};
use crate::spec::key_of;
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Split, Vocabulary, intern_lists,
    interpret,
};
use hashbrown::HashMap;
use seriatim_history::{History, Operation, ValueId, Values};
use seriatim_limits::InOrder;
use std::sync::Arc;

/// A set.
#[derive(Clone, Debug)]
pub struct Set {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
    /// The elements before the first operation.
    pub init: Vec<ValueId>,
    /// Whether elements may be checked apart.
    pub split: Split,
    /// Where each element stands in a bit set, if there are few.
    bits: HashMap<ValueId, u8>,
    elements: Vec<ValueId>,
}

/// An element, with its place in a bit set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Element {
    /// The element.
    pub value: ValueId,
    bit: u8,
}

/// An operation of a set.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Makes a value an element; succeeds if it was none.
    Add(Element),
    /// Makes a value no element; succeeds if it was one.
    Remove(Element),
    /// Whether a value is an element.
    Contains(Element),
    /// The number of elements.
    Size,
    /// Whether there is no element.
    IsEmpty,
    /// All elements.
    Read,
}

/// The elements of a set: bits where the history knows at most 64 values, else a tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Members {
    /// One bit for each value of the history.
    Few(u64),
    /// The elements, each once.
    Many(Collection),
}

const METHODS: &[Method] = &[
    Method {
        names: &["add", "insert", "put"],
        signature: "(value) -> bool",
        meaning: "make it an element; true if it was none",
    },
    Method {
        names: &["remove", "delete", "erase"],
        signature: "(value) -> bool",
        meaning: "make it no element; true if it was one",
    },
    Method {
        names: &["contains", "member", "has", "find", "search", "lookup"],
        signature: "(value) -> bool",
        meaning: "whether it is an element",
    },
    Method::size("how many elements there are"),
    Method::IS_EMPTY,
    Method {
        names: &["read", "elements", "get", "to_list"],
        signature: "() -> list",
        meaning: "all elements, in any order",
    },
];

/// The set in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "set",
    aliases: &["atomic-set", "hashset", "grow-only-set"],
    meaning: "each value is an element or not; checked element by element where possible",
    parameters: &[Parameter::list("init", "[]", "the elements at the start")],
    methods: METHODS,
    bind: |parameters, history, failures| {
        let set = Set::build(parameters, history);
        interpret("set", set, history, failures)
    },
};

impl Set {
    /// The set that the parameters describe.
    pub fn build(parameters: &Parameters, history: &mut History) -> Self {
        let init = parameters.items("init", history);
        let split = Split::unless_used(history, &METHODS[3..]);
        if split == Split::Whole {
            intern_lists(history, 1);
        }
        let mut elements: Vec<ValueId> = history.operations().map(|op| op.arg()).collect();
        elements.extend(&init);
        elements.sort_unstable();
        elements.dedup();
        Set::over(history.values().clone(), elements, init, split)
    }

    /// The same set for operations that name other elements as well.
    #[must_use]
    pub fn of_any(self) -> Self {
        let Set { values, init, split, .. } = self;
        Set::over(values, Vec::new(), init, split)
    }

    /// A set whose operations name these elements, in ascending order; any, if there are none.
    fn over(
        values: Arc<Values>,
        mut elements: Vec<ValueId>,
        init: Vec<ValueId>,
        split: Split,
    ) -> Self {
        if elements.len() > 64 {
            elements.clear();
        }
        let places = elements.iter().enumerate();
        Set {
            values,
            init,
            split,
            bits: places.map(|(bit, &element)| (element, bit as u8)).collect(),
            elements,
        }
    }

    /// A value as this set's operations name it.
    pub fn element(&self, value: ValueId) -> Element {
        let bit = self.bits.get(&value).copied().unwrap_or(0);
        Element { value, bit }
    }

    fn has(&self, state: &Members, element: Element) -> bool {
        match state {
            Members::Few(bits) => bits >> element.bit & 1 == 1,
            Members::Many(tree) => tree.count(element.value.0) > 0,
        }
    }

    fn flipped(&self, state: &Members, element: Element) -> Members {
        match state {
            Members::Few(bits) => Members::Few(bits ^ 1 << element.bit),
            Members::Many(tree) if tree.count(element.value.0) > 0 => {
                Members::Many(tree.without(element.value.0))
            }
            Members::Many(tree) => Members::Many(tree.with(element.value.0)),
        }
    }

    fn size(&self, state: &Members) -> i64 {
        match state {
            Members::Few(bits) => i64::from(bits.count_ones()),
            Members::Many(tree) => tree.len() as i64,
        }
    }

    fn members(&self, state: &Members) -> Box<[ValueId]> {
        match state {
            Members::Few(bits) => (0..self.elements.len())
                .filter(|place| bits >> place & 1 == 1)
                .map(|place| self.elements[place])
                .collect(),
            Members::Many(tree) => tree.items().map(ValueId).collect(),
        }
    }
}

impl Machine for Set {
    type State = Members;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn go_on_with(&mut self, values: Arc<Values>) {
        self.values = values;
    }

    fn start(&self) -> Members {
        let empty = match self.elements.is_empty() {
            true => Members::Many(Collection::default()),
            false => Members::Few(0),
        };
        let add = |state: Members, &value: &ValueId| {
            let element = self.element(value);
            match self.has(&state, element) {
                true => state,
                false => self.flipped(&state, element),
            }
        };
        self.init.iter().fold(empty, add)
    }

    fn run(&self, state: &Members, op: &Op) -> Option<Effect<Members>> {
        let flip_if = |due: bool, element| match due {
            true => Effect::change(Answer::Yes, self.flipped(state, element)),
            false => Effect::none(Answer::No),
        };
        match *op {
            Op::Add(element) => flip_if(!self.has(state, element), element),
            Op::Remove(element) => flip_if(self.has(state, element), element),
            Op::Contains(element) => Effect::none(Answer::from_truth(self.has(state, element))),
            Op::Size => Effect::none(Answer::Number(self.size(state))),
            Op::IsEmpty => Effect::none(Answer::from_truth(self.size(state) == 0)),
            Op::Read => Effect::none(Answer::Items(self.members(state))),
        }
    }

    fn leaves_unchanged(&self, op: &Op, answer: Option<&Answer>) -> bool {
        match op {
            Op::Add(_) | Op::Remove(_) => answer == Some(&Answer::No),
            Op::Contains(_) | Op::Size | Op::IsEmpty | Op::Read => true,
        }
    }

    fn part(&self, op: &Op) -> Option<u64> {
        match (self.split, named(op)) {
            (Split::Parts, Some(element)) => Some(key_of(&element.value)),
            _ => None,
        }
    }

    fn swaps(&self, a: &Op, b: &Op) -> bool {
        let reads = |op| self.leaves_unchanged(op, None);
        match (named(a), named(b)) {
            (Some(x), Some(y)) if x != y => true,
            _ => reads(a) && reads(b),
        }
    }

    fn verb(&self, op: &Op) -> String {
        let show = |element: &Element| self.values.get(element.value);
        match op {
            Op::Add(element) => format!("add {}", show(element)),
            Op::Remove(element) => format!("remove {}", show(element)),
            Op::Contains(element) => format!("contains {}", show(element)),
            Op::Size => "size".to_owned(),
            Op::IsEmpty => "is_empty".to_owned(),
            Op::Read => "read".to_owned(),
        }
    }

    fn fact(&self, state: &Members, op: &Op) -> String {
        match named(op) {
            Some(element) => {
                let verb = if self.has(state, element) { "contains" } else { "does not contain" };
                format!("the set {verb} {}", self.values.get(element.value))
            }
            None => format!("the set is {}", self.describe(state)),
        }
    }

    fn describe(&self, state: &Members) -> String {
        let list = listed(&self.values, &self.members(state));
        format!("{{{}}}", &list[1..list.len() - 1])
    }

    fn unexplained(&self, operations: &[(&Op, Option<&Answer>)]) -> Option<(usize, String)> {
        unexplained_value(self.init.iter().copied(), operations, |op, ret| match (op, ret) {
            (Op::Add(element), _) => Some(Flow::Brings(element.value)),
            (Op::Remove(element) | Op::Contains(element), Some(Answer::Yes)) => {
                Some(Flow::Shows(element.value))
            }
            _ => None,
        })
    }

    fn heap(&self, state: &Members) -> usize {
        match state {
            Members::Few(_) => 0,
            Members::Many(tree) => tree.own_bytes(),
        }
    }
}

fn named(op: &Op) -> Option<Element> {
    match *op {
        Op::Add(element) | Op::Remove(element) | Op::Contains(element) => Some(element),
        Op::Size | Op::IsEmpty | Op::Read => None,
    }
}

impl Vocabulary for Set {
    fn methods(&self) -> &'static [Method] {
        METHODS
    }

    fn decode(
        &self,
        operation: Operation<'_>,
        failures: Failures,
    ) -> Result<Decoded<Op, Answer>, Misfit> {
        let recorded = Recorded { operation, failures };
        let element = || recorded.arg().map(|value| self.element(value));
        let refused = Failure::Speaks(Answer::No);
        match recorded.method(METHODS)? {
            "add" => {
                let answer = recorded.success(Answer::Unrecorded);
                recorded.settle(Op::Add(element()?), refused, answer)
            }
            "remove" => {
                let answer = recorded.success(Answer::Unrecorded);
                recorded.settle(Op::Remove(element()?), refused, answer)
            }
            "contains" => {
                recorded.settle(Op::Contains(element()?), Failure::Silent, recorded.truth())
            }
            "size" => recorded.settle(Op::Size, Failure::Silent, recorded.number()),
            "is_empty" => recorded.settle(Op::IsEmpty, Failure::Silent, recorded.truth()),
            _ => {
                recorded.no_arg()?;
                let answer = recorded.list().map(sorted);
                recorded.settle(Op::Read, Failure::Silent, answer)
            }
        }
    }
}

/// The elements of a list in ascending order, as often as they stand there: a read that shows an
/// element twice is no set.
fn sorted(answer: Answer) -> Answer {
    match answer {
        Answer::Items(items) => {
            let mut items = items.into_vec();
            items.put_in_order();
            Answer::Items(items.into())
        }
        other => other,
    }
}
