//! Orders that need not respect real time, against the definition: all orders are tried.

use crate::oracle::reader;
use seriatim_history::{History, OpId, Outcome, read_str};
use seriatim_monitor::{Options, Turns, check, check_under, keep_turns};
use seriatim_spec::{Automaton, Cancel, Interpretation, Order, Reader, StateId, Verdict};
use std::fmt::Write;

struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// What operations of an object look like: method, argument and result as JSON.
type Letter = (&'static str, &'static str, &'static str);

/// Some operations of two or three processes, with results out of thin air.
fn history(dice: &mut Dice, letters: &[Letter]) -> History {
    let (length, processes) = (3 + dice.below(4), 2 + dice.below(2));
    let mut clocks = vec![0; processes];
    let mut text = String::new();
    for _ in 0..length {
        let process = dice.below(processes);
        let (method, arg, result) = letters[dice.below(letters.len())];
        let call = clocks[process] + 1 + dice.below(4);
        let end = call + 1 + dice.below(6);
        clocks[process] = end;
        write!(text, r#"{{"process":{process},"op":"{method}","call":{call}"#).unwrap();
        if !arg.is_empty() {
            write!(text, r#","arg":{arg}"#).unwrap();
        }
        match dice.below(8) {
            0 => clocks[process] = 1000,
            _ if result.is_empty() => write!(text, r#","return":{end}"#).unwrap(),
            _ => write!(text, r#","result":{result},"return":{end}"#).unwrap(),
        }
        text.push_str("}\n");
        if clocks[process] == 1000 {
            clocks[process] = 1000 * (1 + text.len());
        }
    }
    read_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Whether some order that respects `order` is right, by trying all of them.
fn brute_force(history: &History, reading: &Interpretation, order: Order) -> bool {
    let ops: Vec<OpId> = reading.operations().collect();
    let mut automaton = reading.alphabet.automaton(&Cancel::never());
    let start = automaton.initial();
    let mut oracle = Oracle { history, reading, order, ops, automaton };
    oracle.can_finish(start, &mut Vec::new())
}

struct Oracle<'h> {
    history: &'h History,
    reading: &'h Interpretation,
    order: Order,
    ops: Vec<OpId>,
    automaton: Box<dyn Automaton + 'h>,
}

impl Oracle<'_> {
    fn is_completed(&self, op: OpId) -> bool {
        self.history.outcome(op) != Outcome::Pending
    }

    fn comes_before(&self, first: OpId, then: OpId) -> bool {
        let is_same = self.history.process(first) == self.history.process(then);
        let in_turn = is_same && self.is_completed(first) && first < then;
        match self.order {
            Order::Process => in_turn,
            Order::Skewed => in_turn || self.is_over(first, then),
            _ => false,
        }
    }

    /// Whether an operation returned before another was called, as the stamps have it.
    fn is_over(&self, first: OpId, then: OpId) -> bool {
        self.history.ret(first).is_some_and(|ret| ret < self.history.call(then))
    }

    fn can_finish(&mut self, state: StateId, done: &mut Vec<OpId>) -> bool {
        if self.ops.iter().all(|op| done.contains(op) || !self.is_completed(*op)) {
            return true;
        }
        for op in self.ops.clone() {
            let waits = self
                .ops
                .iter()
                .any(|&other| self.comes_before(other, op) && !done.contains(&other));
            if done.contains(&op) || waits {
                continue;
            }
            let mut next = Vec::new();
            self.automaton.step(state, self.reading.class(op).expect("it happened"), &mut next);
            done.push(op);
            if next.into_iter().any(|state| self.can_finish(state, done)) {
                return true;
            }
            done.pop();
        }
        false
    }
}

fn agree_on(spec: &str, letters: &[Letter], histories: usize) {
    let (reader, mut dice) = (reader(spec), Dice(0x5EED));
    let mut told = [0, 0];
    for _ in 0..histories {
        let mut history = history(&mut dice, letters);
        let reading = reader.read(&mut history).expect("fits the specification");
        for order in [Order::Process, Order::Nothing] {
            let truth = brute_force(&history, &reading, order);
            told[usize::from(truth)] += 1;
            let options = Options { threads: 1, ..Options::default() };
            let found = check_under(&mut history, &reader, order, &options).expect("it is read");
            match found.verdict {
                Verdict::Linearizable(_) => assert!(truth, "{spec} {order:?} {history:?}"),
                Verdict::Violation(core) => {
                    assert!(!truth, "{spec} {order:?} {history:?}");
                    let whole = seriatim_history::Horizon::Whole;
                    let mut part = history.restricted(&core.operations, whole);
                    let reading = reader.read(&mut part).expect("a part reads as the whole");
                    assert!(!brute_force(&part, &reading, order), "unfair: {spec} {history:?}");
                }
                Verdict::Unknown(unknown) => panic!("{unknown:?} {spec} {order:?} {history:?}"),
            }
        }
    }
    assert!(told[0] > histories / 20 && told[1] > histories / 20, "{spec}: {told:?}");
}

#[test]
fn orders_that_ignore_real_time_are_found_exactly_where_there_are_some() {
    let write = [("write", "1", ""), ("write", "2", ""), ("write", "3", "")];
    let read = [("read", "", "1"), ("read", "", "2"), ("read", "", "3"), ("read", "", "null")];
    agree_on("register", &[&write[..], &read].concat(), 1500);
    let put = [("put", r#"["x",1]"#, ""), ("put", r#"["y",1]"#, ""), ("put", r#"["x",2]"#, "")];
    let get = [("get", r#""x""#, "1"), ("get", r#""y""#, "1"), ("get", r#""x""#, "null")];
    agree_on("map", &[&put[..], &get, &[("get", r#""y""#, "null")]].concat(), 1500);
    let put = [("enqueue", "1", ""), ("enqueue", "2", "")];
    let take = [("dequeue", "", "1"), ("dequeue", "", "2"), ("dequeue", "", "null")];
    agree_on("queue", &[&put[..], &take].concat(), 1000);
    let put = [("push", "1", ""), ("push", "2", "")];
    let take = [("pop", "", "1"), ("pop", "", "2"), ("pop", "", "null")];
    agree_on("stack", &[&put[..], &take].concat(), 1000);
}

/// With clocks that may be off, against the definition: real time between processes only where no
/// clock can be to blame, and every process in its order.
#[test]
fn clocks_that_differ_leave_every_process_in_its_order() {
    let write = [("write", "1", ""), ("write", "2", ""), ("write", "1", "")];
    let read = [("read", "", "1"), ("read", "", "2"), ("read", "", "null")];
    let put = [("put", r#"["x",1]"#, ""), ("put", r#"["y",1]"#, ""), ("put", r#"["x",2]"#, "")];
    let get = [("get", r#""x""#, "1"), ("get", r#""y""#, "1"), ("get", r#""y""#, "null")];
    let enqueue = [("enqueue", "1", ""), ("enqueue", "2", "")];
    let dequeue = [("dequeue", "", "1"), ("dequeue", "", "2"), ("dequeue", "", "null")];
    for (spec, letters) in [
        ("register", [&write[..], &read].concat()),
        ("map", [&put[..], &get].concat()),
        ("queue", [&enqueue[..], &dequeue].concat()),
    ] {
        let (reader, mut dice) = (reader(spec), Dice(0xC10C));
        // Accepted; refuted by the intervals alone; refuted only since processes keep their order.
        let mut told = [0, 0, 0];
        for _ in 0..1500 {
            let mut history = history(&mut dice, &letters);
            assert!(history.widen(1 + dice.below(4) as u64) && history.keeps_turns());
            let reading = reader.read(&mut history).expect("fits the specification");
            let truth = brute_force(&history, &reading, Order::Skewed);
            let options = Options { threads: 1, ..Options::default() };
            let checked = check(&mut history, &reader, &options).expect("it is read");
            let by_intervals = checked.verdict.word();
            let found = keep_turns(&mut history, &reader, checked, &options).expect("it is read");
            assert_eq!(found.1, Turns::Kept);
            let word = found.0.verdict.word();
            assert_eq!(word == "linearizable", truth, "{spec} {word} {history:?}");
            let kind = usize::from(!truth) + usize::from(!truth && by_intervals != word);
            told[kind] += 1;
        }
        assert!(told.iter().all(|&count| count > 15), "{spec}: {told:?}");
    }
}

#[test]
fn two_keys_that_are_sequentially_consistent_each_may_not_be_so_together() {
    // Each process writes a key and then misses what the other one wrote (Dekker).
    let text = r#"{"process":0,"op":"put","arg":["x",1],"call":1,"return":2}
{"process":1,"op":"put","arg":["y",1],"call":1,"return":2}
{"process":0,"op":"get","arg":"y","result":null,"call":3,"return":4}
{"process":1,"op":"get","arg":"x","result":null,"call":3,"return":4}
"#;
    let reader = reader("map");
    let options = Options::default();
    let mut whole = read_str(text).unwrap();
    let found = check_under(&mut whole, &reader, Order::Process, &options).unwrap();
    assert!(matches!(found.verdict, Verdict::Violation(_)));
    for key in ["\"x\"", "\"y\""] {
        let lines: String =
            text.lines().filter(|l| l.contains(key)).map(|l| format!("{l}\n")).collect();
        let mut part = read_str(&lines).unwrap();
        let found = check_under(&mut part, &reader, Order::Process, &options).unwrap();
        assert!(matches!(found.verdict, Verdict::Linearizable(_)));
    }
    let found = check_under(&mut whole, &reader, Order::Nothing, &options).unwrap();
    assert!(matches!(found.verdict, Verdict::Linearizable(_)));
}
