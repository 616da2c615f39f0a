//! What the tests of the search share: a brute-force oracle, and all small histories.

use seriatim_history::{
    Builder, Call, History, MethodId, OpId, Outcome, ProcessId, Return, Value, ValueId,
};
use seriatim_spec::{
    Automaton, Cancel, ChosenReader, Failures, Interpretation, SpecChoice, StateId,
};

/// A recorded operation of a small history: method, argument, and its result if it returned.
#[derive(Clone, Copy, Debug)]
pub struct Letter {
    pub method: &'static str,
    pub arg: Arg,
    pub result: Answer,
}

/// What an operation of a small history is given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arg {
    None,
    Int(i64),
    Key(&'static str),
    Entry(&'static str, &'static str),
}

impl From<Option<i64>> for Arg {
    fn from(arg: Option<i64>) -> Self {
        arg.map_or(Arg::None, Arg::Int)
    }
}

/// What an operation of a small history returns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    Nothing,
    Int(i64),
    Bool(bool),
    Nil,
    Text(&'static str),
    Never,
}

pub fn letter(method: &'static str, arg: impl Into<Arg>, result: Answer) -> Letter {
    Letter { method, arg: arg.into(), result }
}

pub fn reader(spec: &str) -> ChosenReader {
    let choice = SpecChoice::parse(spec).expect("the test names a known specification");
    ChosenReader { choice, failures: Failures::default() }
}

/// Whether an order exists, by trying all of them: no memory, no reduction, no cleverness.
pub fn brute_force(history: &History, reading: &Interpretation) -> bool {
    let operations: Vec<OpId> = reading.operations().collect();
    let mut automaton = reading.alphabet.automaton(&Cancel::never());
    let start = automaton.initial();
    let mut oracle = Oracle { history, reading, operations, automaton };
    oracle.can_finish(start, &mut Vec::new())
}

struct Oracle<'o> {
    history: &'o History,
    reading: &'o Interpretation,
    operations: Vec<OpId>,
    automaton: Box<dyn Automaton + 'o>,
}

impl Oracle<'_> {
    fn can_finish(&mut self, state: StateId, done: &mut Vec<OpId>) -> bool {
        let left: Vec<OpId> =
            self.operations.iter().copied().filter(|op| !done.contains(op)).collect();
        if left.iter().all(|&op| self.history.ret(op).is_none()) {
            return true;
        }
        for &op in &left {
            let operation = self.history.operation(op);
            if left.iter().any(|&other| self.history.operation(other).precedes(&operation)) {
                continue;
            }
            let class = self.reading.class(op).expect("only operations that happened");
            let mut next = Vec::new();
            self.automaton.step(state, class, &mut next);
            done.push(op);
            let finished = next.into_iter().any(|state| self.can_finish(state, done));
            done.pop();
            if finished {
                return true;
            }
        }
        false
    }
}

/// The history of an overlap whose operations are the letters of a word.
pub fn build(overlap: &[Option<usize>], word: &[Letter]) -> History {
    let mut builder = Builder::new("generated");
    let mut called = 0;
    for (line, event) in overlap.iter().enumerate() {
        let line = line as u64 + 1;
        match event {
            None => {
                let process = builder.process(&Value::Int(called as i64));
                let method: MethodId = builder.method(word[called].method);
                let values = builder.values();
                let call = match word[called].arg {
                    Arg::None => Call::new(method),
                    Arg::Int(arg) => Call::new(method).arg(values.intern_int(arg)),
                    Arg::Key(key) => Call::new(method).key(values.intern_text(key)),
                    Arg::Entry(key, text) => {
                        Call::new(method).key(values.intern_text(key)).arg(values.intern_text(text))
                    }
                };
                builder.call(line, process, call).expect("a legal call");
                called += 1;
            }
            Some(op) => {
                let result = match word[*op].result {
                    Answer::Nothing | Answer::Never => ValueId::ABSENT,
                    Answer::Int(value) => builder.values().intern_int(value),
                    Answer::Bool(truth) => ValueId::from(truth),
                    Answer::Nil => ValueId::NIL,
                    Answer::Text(text) => builder.values().intern_text(text),
                };
                let ret = Return::new(Outcome::Ok, result);
                builder.ret(line, ProcessId::from(*op), ret).expect("a legal return");
            }
        }
    }
    builder.finish().expect("a legal history")
}
