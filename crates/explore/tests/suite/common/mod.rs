//! What the tests share (not every test uses all of it): an independent judge of histories, and the
//! algorithms.

use seriatim_explore::{Counterexample, Event, headline};
use seriatim_lang::machine::Bounds;
use seriatim_lang::spec::{Datum, Spec, SpecState};
use seriatim_lang::{Program, check};

pub use seriatim_testing::{algorithm, algorithms as library};

/// The checked program of a text; the text must be correct.
pub fn program(source: &str) -> Program {
    check(source).unwrap_or_else(|error| panic!("{}", error.render(source, "test.seri")))
}

/// A counterexample as plain lines, for messages.
pub fn shown(counterexample: &Counterexample) -> String {
    format!("{}\n{}\n", counterexample.run(), headline(counterexample))
}

struct Operation {
    thread: usize,
    method: usize,
    args: Vec<Datum>,
    result: Option<Datum>,
    call: usize,
    ret: usize,
}

/// Whether some order of the operations of a history explains their results: tries them all.
pub fn is_linearizable(program: &Program, history: &[Event]) -> bool {
    let info = program.spec.clone().expect("the object has a specification");
    let bounds = Bounds { values: 8, keys: 8, nodes: None, capacity: None };
    let spec = Spec::new(info, bounds);
    let mut operations: Vec<Operation> = Vec::new();
    for (time, event) in history.iter().enumerate() {
        match event {
            Event::Call { thread, method, args } => operations.push(Operation {
                thread: *thread,
                method: spec.method(method).expect("the specification has the method"),
                args: args.clone(),
                result: None,
                call: time,
                ret: usize::MAX,
            }),
            Event::Return { thread, result, .. } => {
                let open = operations.iter_mut().rev().find(|o| o.thread == *thread);
                let open = open.expect("a return follows its call");
                open.result = Some(result.clone());
                open.ret = time;
            }
        }
    }
    let state = spec.initial().expect("the specification has an initial state");
    search(&spec, &operations, &mut vec![false; operations.len()], &state)
}

fn search(spec: &Spec, operations: &[Operation], done: &mut Vec<bool>, state: &SpecState) -> bool {
    let open = |done: &[bool]| {
        operations
            .iter()
            .zip(done)
            .filter(|(o, d)| !**d && o.ret != usize::MAX)
            .map(|(o, _)| o.ret)
            .min()
    };
    let Some(limit) = open(done) else { return true };
    for (index, operation) in operations.iter().enumerate() {
        if done[index] || operation.call > limit {
            continue;
        }
        done[index] = true;
        for (next, result) in
            spec.outcomes(state, operation.method, &operation.args).unwrap_or_default()
        {
            let agrees = operation.result.as_ref().is_none_or(|r| *r == result);
            if agrees && search(spec, operations, done, &next) {
                return true;
            }
        }
        done[index] = false;
    }
    false
}
