//! What is searched: the machine of a program whose threads make the calls of a composition, for
//! one order of the arguments.
//!
//! The machine runs single accesses. A step of the search is one access that others can notice
//! together with the call before it, the accesses after it that nobody can notice (constant fields,
//! private nodes), the rest of its atomic block, and the return: intervals as short as they can be,
//! so no violation of the order of time is missed.

use crate::class::{Effect, Refusal, Shape, effects, initial_list, recognise};
use crate::composition::{Composition, MAX_OPERATIONS};
use crate::monitor::Operation;
use crate::movers::{Mover, Reductions, left_movers};
use crate::state::argument_key;
use seriatim_lang::liveness::Liveness;
use seriatim_lang::machine::{Bounds, Granularity, Machine, State};
use seriatim_lang::program::Program;
use seriatim_lang::span::Span;
use seriatim_lang::steps::*;
use seriatim_lang::types::Kind;
use seriatim_lang::{MAX_THREADS, lower};
use std::sync::Arc;

/// What is known about the code.
#[derive(Debug)]
pub struct Code {
    /// Where nodes keep what.
    pub shape: Shape,
    /// For each position, whether it lies inside an atomic block.
    pub atomic: Vec<bool>,
    /// For each position, whether its access is a left mover, fused with the step before it.
    pub movers: Vec<Mover>,
    /// For each position, the registers that matter there.
    pub live: Vec<Vec<(u32, Kind)>>,
    /// For each position, the operation that is called there.
    pub called: Vec<Option<usize>>,
    /// The heap with the empty list.
    pub empty: State,
    /// The text of the program.
    pub source: Arc<str>,
    steps: Steps,
    methods: Vec<(usize, u32, Effect)>,
}

/// A program, a composition, an order of the arguments.
#[derive(Clone, Debug)]
pub struct Subject {
    /// Runs single accesses.
    pub machine: Machine,
    /// What is known about the code.
    pub code: Arc<Code>,
    /// The operations.
    pub operations: Vec<Operation>,
    /// How many different arguments there are.
    pub ranks: u32,
}

impl Code {
    /// Prepares a program for a composition.
    pub fn new(
        program: &Program,
        composition: &Composition,
        reductions: Reductions,
    ) -> Result<Code, Refusal> {
        let effects = effects(program)?;
        let threads = composition.threads.len();
        if threads == 0 || threads > MAX_THREADS as usize {
            return Err(Refusal::new(Span::default(), "there is no such number of threads"));
        }
        let count = composition.threads.iter().map(Vec::len).sum::<usize>();
        if count > MAX_OPERATIONS {
            let reason = format!("{count} operations; at most {MAX_OPERATIONS} are possible");
            return Err(Refusal::new(Span::default(), reason));
        }
        seriatim_lang::sequential::required(program, "the engine for lists")?;
        let mut steps = lower(program, threads as u32, None)?;
        let shape = recognise(program, &steps)?;
        let mut methods = vec![];
        for (thread, calls) in composition.threads.iter().enumerate() {
            steps.threads[thread].entry = Pc(steps.code.len() as u32);
            for name in calls {
                let method = program.methods.iter().position(|m| m.name == *name);
                let Some(method) = method else {
                    let names = program.methods.iter().map(|m| m.name.as_str());
                    let names = names.collect::<Vec<_>>().join(", ");
                    let reason = format!("no method `{name}`; there are {names}");
                    return Err(Refusal::new(Span::default(), reason));
                };
                methods.push((thread, method as u32, effects[method]));
                let args = vec![Ex::Const(0)];
                let op = Op::Invoke { method: method as u32, args, dst: None };
                steps.code.push(Instr {
                    op,
                    span: Span::default(),
                    orders: Orders::default(),
                    inside_atomic: false,
                    fused: false,
                    pauses: false,
                });
            }
            steps.code.push(Instr {
                op: Op::End,
                span: Span::default(),
                orders: Orders::default(),
                inside_atomic: false,
                fused: false,
                pauses: false,
            });
        }
        let liveness = Liveness::of(&steps);
        let movers = left_movers(&steps, &liveness, reductions);
        let atomic = steps.code.iter().map(|i| i.inside_atomic).collect();
        steps.code.iter_mut().for_each(|i| i.inside_atomic = false);
        let first = steps.threads[0].entry.0 as usize;
        let mut called = vec![None; steps.code.len()];
        let calls = (first..steps.code.len()).filter(|i| !matches!(steps.code[*i].op, Op::End));
        calls.enumerate().for_each(|(number, index)| called[index] = Some(number));
        let live = (0..steps.code.len() as u32).map(|pc| live_at(&steps, &liveness, Pc(pc)));
        let live = live.collect();
        let mut machine = machine(&steps);
        let empty = machine
            .initial()
            .map_err(|_| Refusal::new(Span::default(), "the initialisation of the object fails"))?;
        initial_list(program, &shape, &machine, &empty)?;
        let source = program.source.clone();
        Ok(Code { shape, atomic, movers, live, called, empty, source, steps, methods })
    }
}

fn machine(steps: &Steps) -> Machine {
    let bounds = Bounds { values: 0, keys: 0, nodes: None, capacity: None };
    Machine::new(steps.clone(), bounds, Granularity::Fine)
}

fn live_at(steps: &Steps, liveness: &Liveness, pc: Pc) -> Vec<(u32, Kind)> {
    let Some(method) = steps.method_at(pc) else { return vec![] };
    let first = steps.persistent.len();
    let own = method.regs.iter().enumerate().map(|(i, slot)| (first + i, slot.kind));
    own.filter(|(r, _)| liveness.is_live(pc, *r)).map(|(r, kind)| (r as u32, kind)).collect()
}

impl Subject {
    /// The subject for arguments with these ranks, one for each operation.
    pub fn new(code: &Arc<Code>, ranks: &[u32]) -> Subject {
        let mut steps = code.steps.clone();
        for (pc, number) in code.called.iter().enumerate() {
            if let (Some(number), Op::Invoke { args, .. }) = (number, &mut steps.code[pc].op) {
                args[0] = Ex::Const(argument_key(ranks[*number]));
            }
        }
        let operations = code.methods.iter().zip(ranks).map(|((thread, method, effect), rank)| {
            Operation { thread: *thread, method: *method, effect: *effect, rank: *rank }
        });
        Subject {
            machine: machine(&steps),
            operations: operations.collect(),
            code: code.clone(),
            ranks: ranks.iter().max().map_or(0, |r| r + 1),
        }
    }

    /// The operation that a thread executes.
    pub fn current(&self, state: &State, thread: usize) -> Option<usize> {
        if self.machine.is_idle(state, thread) {
            return None;
        }
        self.code.called[self.machine.caller(state, thread).0 as usize]
    }

    /// Whether every thread has made all its calls.
    pub fn is_final(&self, state: &State) -> bool {
        let ended = |t| matches!(self.op(self.machine.pc(state, t)), Op::End);
        (0..self.machine.thread_count()).all(ended)
    }

    /// The instruction at a position.
    pub fn op(&self, pc: Pc) -> &Op {
        &self.machine.steps.code[pc.0 as usize].op
    }

    /// The index in the heap of a slot of a node.
    pub fn slot(&self, node: usize, slot: usize) -> usize {
        node * self.machine.node_stride() + 1 + slot
    }
}
