//! Multi-register: transactions of reads and writes of several registers.
//!
//! A transaction is a list of micro-operations `[f register value]`, as Jepsen and Knossos write
//! them: `[:write :x 3]`, `[:read :x nil]`, and in the result `[:read :x 3]`. It happens at once,
//! its micro-operations in order. As in Knossos, a read of Jepsen's histories whose recorded value
//! is `nil` says nothing; with `strict`, and in every other format, it saw `nil`.
//!
//! Registers that no transaction touches together are independent: the history is checked by the
//! connected components of registers.

use crate::catalogue::Entry;
use crate::machine::{Answer, Effect, Machine};
use crate::parameters::{Parameter, Parameters};
use crate::vocabulary::{
    Decoded, Failure, Failures, Method, Misfit, Recorded, Vocabulary, intern_lists, interpret,
    known_items,
};
use hashbrown::{HashMap, HashSet};
use seriatim_history::{History, Nil, Operation, ValueId, Values};
use seriatim_limits::InOrder;
use seriatim_persistent::Entries;
use std::sync::Arc;

/// Several registers.
#[derive(Clone, Debug)]
pub struct MultiRegister {
    /// The values of the history, for messages.
    pub values: Arc<Values>,
    /// The registers before the first operation; others hold `nil`.
    pub init: Vec<(ValueId, ValueId)>,
    /// What a read that is recorded as `nil` says.
    pub nil_reads: NilReads,
    /// The component of each register: one register that stands for all.
    components: HashMap<ValueId, ValueId>,
    /// The number of registers of each component.
    sizes: HashMap<ValueId, usize>,
}

/// What a read that is recorded as `nil` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NilReads {
    /// Nothing.
    AreUnknown,
    /// The register held `nil`.
    SawNil,
}

/// A read or write inside a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Micro {
    /// Reads a register.
    Read(ValueId),
    /// Writes a register.
    Write(ValueId, ValueId),
}

impl Micro {
    fn register(&self) -> ValueId {
        match *self {
            Micro::Read(register) | Micro::Write(register, _) => register,
        }
    }
}

/// A transaction. Its answer has the values of its reads in order, [`ValueId::ABSENT`] where one
/// is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Op(pub Box<[Micro]>);

/// The registers that do not hold `nil`.
pub type Registers = Entries<ValueId, ValueId>;

const METHODS: &[Method] = &[Method {
    names: &["txn", "transaction", "read", "write", "read-write"],
    signature: "([[f, register, value], …]) -> the same with values read",
    meaning: "reads and writes of registers, at once",
}];

/// The multi-register in the catalogue.
pub const ENTRY: Entry = Entry {
    name: "multi-register",
    aliases: &["registers", "transactions"],
    meaning: "several registers, read and written in transactions",
    parameters: &[
        Parameter::map("init", "{}", "the registers at the start; others hold nil"),
        Parameter::flag("strict", "a read recorded as nil saw nil also in Jepsen's histories"),
    ],
    methods: METHODS,
    bind: |parameters, history, failures| {
        let registers = MultiRegister::build(parameters, history);
        interpret("multi-register", registers, history, failures)
    },
};

impl MultiRegister {
    /// The registers that the parameters describe.
    pub fn build(parameters: &Parameters, history: &mut History) -> Self {
        intern_lists(history, 2);
        let init = parameters.entries("init", history);
        let mut registers = MultiRegister {
            values: history.values().clone(),
            init,
            nil_reads: match (parameters.flag("strict"), history.nil()) {
                (false, Nil::Unknown) => NilReads::AreUnknown,
                _ => NilReads::SawNil,
            },
            components: HashMap::new(),
            sizes: HashMap::new(),
        };
        for operation in history.operations() {
            // What cannot be read is refused when it is decoded.
            if let Ok((micros, _)) = registers.transaction(operation.arg()) {
                registers.join(&micros);
            }
        }
        let known: Vec<ValueId> = registers.components.keys().copied().collect();
        for register in known {
            let root = registers.root(register);
            registers.components.insert(register, root);
            *registers.sizes.entry(root).or_insert(0) += 1;
        }
        registers
    }

    /// Notes that these registers occur in one transaction.
    fn join(&mut self, micros: &[Micro]) {
        let mut roots: Vec<ValueId> = micros.iter().map(|m| self.root(m.register())).collect();
        roots.put_in_order();
        roots.dedup();
        for &root in &roots {
            self.components.insert(root, roots[0]);
        }
        for micro in micros {
            self.components.insert(micro.register(), roots[0]);
        }
    }

    fn root(&self, mut register: ValueId) -> ValueId {
        while let Some(&parent) = self.components.get(&register).filter(|p| **p != register) {
            register = parent;
        }
        register
    }

    /// The micro-operations of a list, and the value that stands in each.
    fn transaction(&self, list: ValueId) -> Result<(Vec<Micro>, Vec<ValueId>), Misfit> {
        let wanted = "a list of [f, register, value] with f read or write";
        let Some(list) = known_items(&self.values, list) else {
            return Misfit::expected(wanted);
        };
        let mut micros = Vec::new();
        let mut held = Vec::new();
        for &micro in &list {
            let parts = known_items(&self.values, micro).unwrap_or_default();
            let (f, register, value) = match *parts {
                [f, register, value] => (f, register, value),
                [f, register] => (f, register, ValueId::NIL),
                _ => return Misfit::expected(wanted),
            };
            micros.push(match self.values.as_str(f) {
                Some("r" | "read") => Micro::Read(register),
                Some("w" | "write") => Micro::Write(register, value),
                _ => return Misfit::expected(wanted),
            });
            held.push(value);
        }
        Ok((micros, held))
    }

    fn reads(&self, micros: &[Micro], recorded: Recorded<'_>) -> Result<Answer, Misfit> {
        if recorded.is_unrecorded() {
            return Ok(Answer::Unrecorded);
        }
        let (told, held) = self.transaction(recorded.operation.result())?;
        if told != micros {
            return Misfit::expected("a result with the micro-operations of the call");
        }
        let known = |(micro, value): (&Micro, ValueId)| match (micro, value, self.nil_reads) {
            (Micro::Write(..), ..) => None,
            (Micro::Read(_), ValueId::NIL, NilReads::AreUnknown) => Some(ValueId::ABSENT),
            (Micro::Read(_), value, _) => Some(value),
        };
        Ok(Answer::Items(micros.iter().zip(held).filter_map(known).collect()))
    }
}

fn get(state: &Registers, register: ValueId) -> ValueId {
    state.get(&register).copied().unwrap_or(ValueId::NIL)
}

/// A register that holds `nil` is not kept: so it is the same as one that was never set.
fn set(state: &Registers, register: ValueId, value: ValueId) -> Registers {
    match value {
        ValueId::NIL => state.without(&register),
        value => state.with(register, value),
    }
}

impl Machine for MultiRegister {
    type State = Registers;
    type Op = Op;

    fn values(&self) -> &Values {
        &self.values
    }

    fn go_on_with(&mut self, values: Arc<Values>) {
        self.values = values;
    }

    fn start(&self) -> Registers {
        let set = |entry: &&(ValueId, ValueId)| entry.1 != ValueId::NIL;
        self.init.iter().filter(set).copied().collect()
    }

    fn run(&self, state: &Registers, op: &Op) -> Option<Effect<Registers>> {
        let mut after = state.clone();
        let mut reads = Vec::new();
        for micro in &op.0 {
            match *micro {
                Micro::Read(register) => reads.push(get(&after, register)),
                Micro::Write(register, value) => after = set(&after, register, value),
            }
        }
        let answer = Answer::Items(reads.into());
        match self.leaves_unchanged(op, None) {
            true => Effect::none(answer),
            false => Effect::change(answer, after),
        }
    }

    fn agrees(&self, _: &Op, recorded: &Answer, answer: &Answer) -> bool {
        match (recorded, answer) {
            (Answer::Unrecorded, _) => true,
            (Answer::Items(told), Answer::Items(true_ones)) => {
                let same = |(told, held): (&ValueId, &ValueId)| !told.is_present() || told == held;
                told.len() == true_ones.len() && told.iter().zip(true_ones).all(same)
            }
            _ => false,
        }
    }

    /// Nothing is written, or every register ends with the value that was read before it was
    /// written.
    fn leaves_unchanged(&self, op: &Op, answer: Option<&Answer>) -> bool {
        let mut reads = match answer {
            Some(Answer::Items(reads)) => reads.iter().copied(),
            _ => [].iter().copied(),
        };
        let mut seen: HashMap<ValueId, ValueId> = HashMap::new();
        let mut written: HashMap<ValueId, ValueId> = HashMap::new();
        for micro in &op.0 {
            match *micro {
                Micro::Read(register) => {
                    let value = reads.next().filter(|value| value.is_present());
                    if let Some(value) = value.filter(|_| !written.contains_key(&register)) {
                        seen.insert(register, value);
                    }
                }
                Micro::Write(register, value) => _ = written.insert(register, value),
            }
        }
        let restored = |(register, value): (&ValueId, &ValueId)| seen.get(register) == Some(value);
        written.iter().all(restored)
    }

    fn part(&self, op: &Op) -> Option<u64> {
        // An empty transaction acts on nothing: any part will do.
        let first = op.0.first().map(|first| self.root(first.register()));
        Some(u64::from(first.unwrap_or(ValueId::ABSENT).0))
    }

    fn part_name(&self, op: &Op) -> Option<String> {
        let root = self.root(op.0.first()?.register());
        let name = self.values.get(root);
        Some(match self.sizes.get(&root) {
            None | Some(1) => format!("register {name}"),
            Some(size) => format!("register {name} and {} used with it", size - 1),
        })
    }

    fn swaps(&self, a: &Op, b: &Op) -> bool {
        let registers: HashSet<ValueId> = a.0.iter().map(Micro::register).collect();
        let apart = b.0.iter().all(|micro| !registers.contains(&micro.register()));
        apart || (self.leaves_unchanged(a, None) && self.leaves_unchanged(b, None))
    }

    fn verb(&self, op: &Op) -> String {
        let micro = |micro: &Micro| match *micro {
            Micro::Read(register) => format!("read {}", self.values.get(register)),
            Micro::Write(register, value) => {
                format!("write {} to {}", self.values.get(value), self.values.get(register))
            }
        };
        op.0.iter().map(micro).collect::<Vec<_>>().join(", ")
    }

    fn fact(&self, state: &Registers, _: &Op) -> String {
        format!("the registers are {}", self.describe(state))
    }

    fn describe(&self, state: &Registers) -> String {
        let entry = |(&register, &value): (&ValueId, &ValueId)| {
            format!("{}: {}", self.values.get(register), self.values.get(value))
        };
        let entries: Vec<String> = state.iter().map(entry).collect();
        format!("{{{}}}", entries.join(", "))
    }

    fn unexplained(&self, operations: &[(&Op, Option<&Answer>)]) -> Option<(usize, String)> {
        let mut brought: HashSet<(ValueId, ValueId)> = self.init.iter().copied().collect();
        let micros = operations.iter().flat_map(|(op, _)| op.0.iter());
        brought.extend(micros.filter_map(|micro| match *micro {
            Micro::Write(register, value) => Some((register, value)),
            Micro::Read(_) => None,
        }));
        let unknown = |(op, ret): &(&Op, Option<&Answer>)| {
            let Some(Answer::Items(seen)) = ret else {
                return false;
            };
            let reads = op.0.iter().filter(|micro| matches!(micro, Micro::Read(_)));
            let mut seen = reads.map(Micro::register).zip(seen.iter().copied());
            seen.any(|read| {
                let initial = matches!(read.1, ValueId::ABSENT | ValueId::NIL);
                !initial && !brought.contains(&read)
            })
        };
        let position = operations.iter().position(unknown)?;
        let reason = "it reads a value that was never written".to_owned();
        Some((position, reason))
    }

    fn heap(&self, state: &Registers) -> usize {
        state.own_bytes()
    }
}

impl Vocabulary for MultiRegister {
    fn methods(&self) -> &'static [Method] {
        METHODS
    }

    fn decode(
        &self,
        operation: Operation<'_>,
        failures: Failures,
    ) -> Result<Decoded<Op, Answer>, Misfit> {
        let recorded = Recorded { operation, failures };
        recorded.method(METHODS)?;
        let (micros, _) = self.transaction(recorded.arg()?)?;
        let answer = self.reads(&micros, recorded);
        recorded.settle(Op(micros.into()), Failure::Silent, answer)
    }
}
