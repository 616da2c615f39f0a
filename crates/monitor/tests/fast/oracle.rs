//! The oracle: tries every order of the operations of a small history. Shares nothing with the
//! monitors.

use seriatim_history::{
    Builder, Call, Event, History, Horizon, Interval, OpId, Outcome, Return, Value,
};
use seriatim_monitor::fast::{Called, Declined, Online, Returned, Stop};
use seriatim_spec::Claim;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;
use std::hash::Hash;

/// An operation of a test history.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    pub method: &'static str,
    pub arg: Option<Value>,
    /// `None`: pending, or nothing returned.
    pub result: Option<Value>,
    pub call: u64,
    pub ret: Option<u64>,
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.method)?;
        if let Some(arg) = &self.arg {
            write!(f, "{arg}")?;
        }
        write!(f, ")")?;
        match (&self.result, self.ret) {
            (_, None) => write!(f, " -> ? [{}, ..)", self.call),
            (Some(result), Some(ret)) => write!(f, " -> {result} [{}, {ret}]", self.call),
            (None, Some(ret)) => write!(f, " [{}, {ret}]", self.call),
        }
    }
}

impl Op {
    /// The operation as it is known at a moment.
    pub fn until(&self, moment: u64) -> Op {
        match self.ret {
            Some(ret) if ret <= moment => self.clone(),
            _ => Op { ret: None, result: None, ..self.clone() },
        }
    }
}

/// A sequential object.
pub trait Model {
    type State: Clone + Eq + Hash + fmt::Debug;

    fn initial(&self) -> Self::State;

    /// The states after an operation; all possible results if it is pending.
    fn step(&self, state: &Self::State, op: &Op) -> Vec<Self::State>;

    /// Whether no operations after a state can explain a completed operation that is still to come.
    fn is_hopeless(&self, _: &Self::State, _: &Op) -> bool {
        false
    }

    /// The same history with fewer states to try: linearizable iff the given one is.
    fn simplified<'o>(&self, ops: &'o [Op]) -> Cow<'o, [Op]> {
        Cow::Borrowed(ops)
    }

    /// What a query answers, where there are too many answers to try them all.
    fn answer(&self, _: &Self::State) -> Option<Value> {
        None
    }
}

/// Text of a history for failing tests.
pub fn show(ops: &[Op]) -> String {
    let lines: Vec<String> = ops.iter().map(|op| format!("  {op}")).collect();
    lines.join("\n")
}

/// Whether some order of the operations is right.
pub fn linearizable<M: Model>(model: &M, ops: &[Op]) -> bool {
    assert!(ops.len() <= 32);
    let mut seen = HashSet::new();
    search(model, &model.simplified(ops), 0, &model.initial(), &mut seen)
}

fn search<M: Model>(
    model: &M,
    ops: &[Op],
    done: u32,
    state: &M::State,
    seen: &mut HashSet<(u32, M::State)>,
) -> bool {
    let open = |index: &usize| done >> index & 1 == 0;
    let first_return = (0..ops.len()).filter(open).filter_map(|i| ops[i].ret).min();
    let Some(first_return) = first_return else {
        return true;
    };
    if !seen.insert((done, state.clone())) {
        return false;
    }
    if (0..ops.len()).filter(open).any(|i| model.is_hopeless(state, &ops[i])) {
        return false;
    }
    (0..ops.len()).filter(open).filter(|&i| ops[i].call <= first_return).any(|i| {
        let next = model.step(state, &ops[i]);
        next.iter().any(|next| search(model, ops, done | 1 << i, next, seen))
    })
}

/// Whether an order of operations is a linearization.
pub fn is_linearization<M: Model>(model: &M, ops: &[Op], order: &[OpId]) -> Result<(), String> {
    let mut states = vec![model.initial()];
    let mut placed = HashSet::new();
    let mut latest_call = 0;
    for op in order {
        if !placed.insert(*op) {
            return Err(format!("{op:?} is placed twice"));
        }
        let op = &ops[op.index()];
        if op.ret.is_some_and(|ret| ret < latest_call) {
            return Err(format!("{op} is placed behind a later operation"));
        }
        latest_call = latest_call.max(op.call);
        states = states.iter().flat_map(|s| model.step(s, op)).collect();
        if states.is_empty() {
            return Err(format!("{op} is not possible where it is placed"));
        }
    }
    let missing = |i: &usize| ops[*i].ret.is_some() && !placed.contains(&OpId::from(*i));
    match (0..ops.len()).find(missing) {
        Some(index) => Err(format!("{} is not placed", ops[index])),
        None => Ok(()),
    }
}

/// The history of some operations, which must be sorted by call.
pub fn history(ops: &[Op]) -> History {
    let mut builder = Builder::new("test");
    for (index, op) in ops.iter().enumerate() {
        let mut call = Call::new(builder.method(op.method));
        if let Some(arg) = &op.arg {
            call.arg = builder.values().intern(arg);
        }
        let mut ret = Return::ok();
        if let Some(result) = &op.result {
            ret = Return::new(Outcome::Ok, builder.values().intern(result));
        }
        let interval = Interval { call: op.call, ret: op.ret };
        builder.operation(index as u64 + 1, None, call, interval, ret).unwrap();
    }
    builder.finish().unwrap()
}

/// What a comparison found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Agreed {
    Linearizable,
    Violation,
    Declined,
}

/// Compares a monitor with the oracle on one history: the verdict, the witness, the core.
pub fn agree<M: Model>(
    model: &M,
    check: impl Fn(&History) -> Result<Claim, Declined>,
    ops: &[Op],
) -> Agreed {
    let history = history(ops);
    let verdict = match check(&history) {
        Ok(verdict) => verdict,
        Err(_) => return Agreed::Declined,
    };
    let expected = linearizable(model, ops);
    match verdict {
        Claim::Linearizable(witness) => {
            assert!(expected, "false linearizable:\n{}", show(ops));
            if let Err(reason) = is_linearization(model, ops, &witness.order) {
                let order: Vec<String> =
                    witness.order.iter().map(|op| ops[op.index()].to_string()).collect();
                panic!("{reason}:\n{}\nwitness:\n  {}", show(ops), order.join("\n  "));
            }
            Agreed::Linearizable
        }
        Claim::Violation(counterexample) => {
            assert!(
                !expected,
                "false violation ({}):\n{}",
                counterexample.explanation.sentence,
                show(ops)
            );
            let known = |op: &OpId| match counterexample.horizon {
                Horizon::Whole => ops[op.index()].clone(),
                Horizon::Until(until) => ops[op.index()].until(until),
            };
            let core: Vec<Op> = counterexample.operations.iter().map(known).collect();
            assert!(
                !linearizable(model, &core),
                "the core is linearizable:\n{}\ncore ({}):\n{}",
                show(ops),
                counterexample.explanation.sentence,
                show(&core)
            );
            Agreed::Violation
        }
    }
}

/// What an online monitor says of one history.
pub fn listen(mut monitor: impl Online, history: &History) -> Agreed {
    for event in history.events() {
        match tell(&mut monitor, history, event) {
            Ok(()) => {}
            Err(Stop::Violation(_)) => return Agreed::Violation,
            Err(Stop::Declined(_)) => return Agreed::Declined,
        }
    }
    Agreed::Linearizable
}

/// Tells an online monitor of one event.
fn tell(monitor: &mut impl Online, history: &History, event: Event) -> Result<(), Stop> {
    let values = history.values();
    match event {
        Event::Call(op) => {
            let operation = history.operation(op);
            let (method, key, arg) = (operation.method(), operation.key(), operation.arg());
            monitor.call(Called { op, method, key, arg, values })
        }
        Event::Return(op) => {
            let (outcome, result) = (Outcome::Ok, history.result(op));
            monitor.ret(Returned { op, outcome, result, values })
        }
    }
}

/// What the oracle said of the beginnings of the last history: the next one often begins as it did.
#[derive(Default)]
pub struct Beginnings {
    events: Vec<(Event, Op)>,
    right: Vec<bool>,
}

impl Beginnings {
    /// Whether the history up to its `index`-th event is right; `prefix` is what is known by then.
    fn is_right<M: Model>(&mut self, model: &M, index: usize, event: Event, prefix: &[Op]) -> bool {
        let (Event::Call(op) | Event::Return(op)) = event;
        let latest = (event, prefix[op.index()].clone());
        if self.events.get(index) != Some(&latest) {
            self.events.truncate(index);
            self.right.truncate(index);
            self.events.push(latest);
            self.right.push(linearizable(model, prefix));
        }
        self.right[index]
    }
}

/// Compares an online monitor with the oracle after every event of one history.
pub fn agree_online<M: Model>(
    model: &M,
    mut monitor: impl Online,
    ops: &[Op],
    beginnings: &mut Beginnings,
) -> Agreed {
    let history = history(ops);
    let mut prefix: Vec<Op> = Vec::new();
    for (index, event) in history.events().enumerate() {
        match event {
            Event::Call(op) => {
                let op = &ops[op.index()];
                prefix.push(Op { ret: None, result: None, ..op.clone() });
            }
            Event::Return(op) => prefix[op.index()] = ops[op.index()].clone(),
        }
        let step = tell(&mut monitor, &history, event);
        let right = beginnings.is_right(model, index, event, &prefix);
        match step {
            Ok(()) => assert!(right, "missed at {event:?}:\n{}", show(&prefix)),
            Err(Stop::Violation(violation)) => {
                let reason = violation.reason;
                assert!(!right, "{reason}, wrongly, at {event:?}:\n{}", show(&prefix));
                return Agreed::Violation;
            }
            Err(Stop::Declined(_)) => return Agreed::Declined,
        }
    }
    Agreed::Linearizable
}
