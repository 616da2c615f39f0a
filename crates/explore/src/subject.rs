//! What is explored: the machine of a program, its specification, and where its threads can rest.
//!
//! A *location* is a resting point together with the client's call that led to it; each has its
//! list of the registers that matter there (the live ones, or all).

use crate::granularity::granularity;
use crate::options::{Mode, Options, Reductions};
use seriatim_lang::choices::Choices;
use seriatim_lang::liveness::Liveness;
use seriatim_lang::lock_order::LockOrder;
use seriatim_lang::machine::{Bounds, Granularity, Machine, State};
use seriatim_lang::scalarset::threads_are_alike;
use seriatim_lang::spec::{Datum, Spec, SpecState, SpecStop};
use seriatim_lang::steps::{Op, Pc, Steps, ThreadArray};
use seriatim_lang::types::{Kind, Type};
use seriatim_lang::{Diagnostic, Program, lower, lower_points};
use seriatim_trace::Words;
use std::sync::Arc;

/// A resting point of a thread and what it knows there.
#[derive(Clone, Debug)]
pub struct Location {
    /// Where it stands.
    pub pc: Pc,
    /// The client's call that it executes; 0 if it is idle.
    pub caller: Pc,
    /// Whether it is outside of every operation.
    pub idle: bool,
    /// The registers that matter.
    pub registers: Vec<(u32, Kind)>,
}

/// The program under exploration.
pub struct Subject {
    /// Runs its steps.
    pub machine: Machine,
    /// Runs its steps one access at a time.
    pub fine: Machine,
    /// Its text.
    pub source: Arc<str>,
    /// What it must refine.
    pub spec: Spec,
    /// The specification's method for each of the object's.
    methods: Vec<SpecMethod>,
    /// All locations.
    pub locations: Vec<Location>,
    /// For each position, its locations by caller.
    numbers: Vec<Vec<(u32, u32)>>,
    /// For each position the only location that it has, or [`SEVERAL`].
    only: Vec<u32>,
    /// Whether the variables of a thread count for ever, as in the models of PAT.
    keeps_object: bool,
    /// For each shared slot the array by thread in which it lies.
    arrays: Vec<Option<ThreadArray>>,
}

/// A position with other than one location.
const SEVERAL: u32 = u32::MAX;

struct SpecMethod {
    index: usize,
    params: Vec<(Type, usize)>,
    result: Type,
}

impl Subject {
    /// The words for its steps and states.
    pub fn words(&self) -> Words<'_> {
        Words::of(&self.machine, &self.source)
    }

    /// Prepares a program for exploration.
    pub fn new(program: &Program, options: &Options) -> Result<Subject, Diagnostic> {
        let Some(info) = program.spec.clone() else {
            let span = program.file.object.as_ref().map(|o| o.name.span).unwrap_or_default();
            return Err(Diagnostic::new(span, "the object names no specification")
                .hint("write `object NAME : SPEC`"));
        };
        if program.methods.is_empty() {
            let span = program.file.object.as_ref().map(|o| o.name.span).unwrap_or_default();
            return Err(Diagnostic::new(span, "the object has no methods: nothing can be called")
                .hint("write `method NAME(…) { … }`"));
        }
        let bounds = Bounds {
            values: options.values,
            keys: options.keys,
            nodes: options.nodes,
            capacity: options.capacity,
        };
        let lower = if options.mode == Mode::Points { lower_points } else { lower };
        let steps = lower(program, options.threads, options.client.as_deref())?;
        let liveness = Liveness::of(&steps);
        let granularity = granularity(&steps, &liveness, &options.reductions);
        let fine = Machine::new(steps.clone(), bounds, Granularity::Fine);
        let order = match granularity {
            Granularity::Fused { locks_join: true, .. } if options.reductions.lock_nesting => {
                LockOrder::of(&steps, &liveness)
            }
            _ => None,
        };
        let mut machine = Machine::new(steps, bounds, granularity);
        if let Some(order) = order {
            machine.nest_locks(order);
        }
        let methods = program.methods.iter().map(|m| SpecMethod {
            index: info.methods.iter().position(|s| s.name == m.name).unwrap_or(0),
            params: m
                .params
                .iter()
                .map(|p| (p.ty.clone(), p.ty.width(options.threads) as usize))
                .collect(),
            result: m.result.clone(),
        });
        let methods = methods.collect();
        let spec = Spec::new(info, bounds);
        let mut subject = Subject {
            machine,
            fine,
            source: program.source.clone(),
            spec,
            methods,
            locations: vec![],
            numbers: vec![],
            only: vec![],
            keeps_object: options.mode == Mode::Compat,
            arrays: vec![],
        };
        subject.arrays = arrays(&subject.machine.steps);
        subject.find_locations(&liveness, &options.reductions);
        Ok(subject)
    }

    /// Whether a step of the machine with fine steps is no more than the beginning of one of the
    /// other machine: it neither makes an access that is a step there, nor returns.
    pub fn is_beginning(&self, from: &State, thread: usize, choices: &Choices) -> bool {
        let mut choices = choices.clone();
        choices.rewind();
        let (executed, seen) = self.fine.trace(from, thread, &mut choices);
        // A fused step goes on across a pause.
        let is_step =
            |pc: Pc| self.machine.is_boundary(pc) && !self.fine.steps.code[pc.0 as usize].pauses;
        seen.ret.is_none() && !executed.iter().any(|done| is_step(done.pc))
    }

    /// The number of the location at which a thread rests.
    #[inline]
    pub fn location(&self, state: &State, thread: usize) -> u32 {
        let base = self.machine.thread_base(thread);
        let pc = state.words[base] as u32;
        match self.only[pc as usize] {
            SEVERAL => self.location_of_caller(pc, state.words[base + 1] as u32),
            number => number,
        }
    }

    fn location_of_caller(&self, pc: u32, caller: u32) -> u32 {
        let mut here = self.numbers[pc as usize].iter();
        here.find(|(c, _)| *c == caller).map_or(0, |(_, number)| *number)
    }

    /// The array by thread in which a shared slot lies.
    pub fn thread_array(&self, slot: usize) -> Option<ThreadArray> {
        self.arrays[slot]
    }

    /// Whether threads of one role are interchangeable. The specification must know no threads,
    /// either.
    pub fn threads_are_alike(&self) -> bool {
        let knows = |ty: &Type| ty.has_tid() || ty.has_thread_array();
        let info = self.spec.info();
        threads_are_alike(&self.machine.steps)
            && (!self.machine.steps.uses_tids || !info.vars.iter().any(|v| knows(&v.ty)))
    }

    /// All outcomes of a method of the object according to the specification.
    pub fn spec_outcomes(
        &self,
        state: &SpecState,
        method: u32,
        args: &[i32],
    ) -> Result<Vec<(SpecState, Datum)>, SpecStop> {
        let data = self.arguments(method, args);
        self.spec.outcomes(state, self.methods[method as usize].index, &data)
    }

    /// The place of the specification's variable `scratch`, if it has one.
    pub fn scratch(&self) -> Option<usize> {
        self.spec.info().vars.iter().position(|v| v.name == "scratch")
    }

    /// The arguments of a method as data.
    pub fn arguments(&self, method: u32, words: &[i32]) -> Vec<Datum> {
        let kinds = &self.machine.steps.methods[method as usize].params;
        let mut data = Vec::new();
        let mut at = 0;
        for (ty, width) in &self.methods[method as usize].params {
            data.push(Datum::from_scalars(ty, &kinds[at..at + width], &words[at..at + width]));
            at += width;
        }
        data
    }

    /// The result of a method as a datum.
    pub fn result(&self, method: u32, words: &[i32]) -> Datum {
        let kinds = &self.machine.steps.methods[method as usize].result;
        Datum::from_scalars(&self.methods[method as usize].result, kinds, words)
    }

    fn find_locations(&mut self, liveness: &Liveness, reductions: &Reductions) {
        let steps = &self.machine.steps;
        let mut found: Vec<Location> = Vec::new();
        let mut add = |pc: Pc, caller: Pc, idle: bool| {
            if found.iter().all(|l| (l.pc, l.caller) != (pc, caller)) {
                let registers = self.registers(liveness, reductions, pc, caller, idle);
                found.push(Location { pc, caller, idle, registers });
            }
        };
        for thread in &steps.threads {
            add(rest(steps, thread.entry), Pc(0), true);
        }
        for (index, instr) in steps.code.iter().enumerate() {
            let Op::Invoke { method, .. } = &instr.op else { continue };
            let caller = Pc(index as u32);
            add(rest(steps, Pc(caller.0 + 1)), Pc(0), true);
            let code = &steps.methods[*method as usize];
            for pc in (code.entry.0..code.end.0).map(Pc) {
                if self.machine.is_boundary(pc) {
                    add(pc, caller, false);
                }
            }
        }
        let mut numbers = vec![vec![]; steps.code.len()];
        for (number, location) in found.iter().enumerate() {
            numbers[location.pc.0 as usize].push((location.caller.0, number as u32));
        }
        let only = numbers.iter().map(|here| match here[..] {
            [(_, number)] => number,
            _ => SEVERAL,
        });
        self.only = only.collect();
        self.numbers = numbers;
        self.locations = found;
    }

    fn registers(
        &self,
        liveness: &Liveness,
        reductions: &Reductions,
        pc: Pc,
        caller: Pc,
        idle: bool,
    ) -> Vec<(u32, Kind)> {
        let steps = &self.machine.steps;
        let matters = |reg: usize| {
            !reductions.dead_registers
                || self.keeps_object && reg < steps.object_registers as usize
                || liveness.is_needed(steps, pc, (!idle).then_some(caller), reg)
        };
        let own = steps.method_at(pc).map_or(0, |m| m.regs.len());
        let all = (0..steps.persistent.len() + own).filter(|r| matters(*r));
        let kind = |r: usize| {
            let slot = steps.register(pc, seriatim_lang::steps::Reg(r as u32));
            slot.map(|s| (r as u32, s.kind))
        };
        all.filter_map(kind).collect()
    }
}

fn arrays(steps: &Steps) -> Vec<Option<ThreadArray>> {
    let threads = steps.threads.len() as u32;
    let holds = |array: &&ThreadArray, slot: u32| {
        (array.first..array.first + array.stride * threads).contains(&slot)
    };
    let array = |slot| steps.thread_arrays.iter().find(|a| holds(a, slot)).copied();
    (0..steps.shared.len() as u32).map(array).collect()
}

fn rest(steps: &Steps, mut pc: Pc) -> Pc {
    for _ in 0..steps.code.len() {
        match steps.code[pc.0 as usize].op {
            Op::Jump(to) => pc = to,
            _ => return pc,
        }
    }
    pc
}
