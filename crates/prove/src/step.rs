//! One transition of the observed thread: an abstract step, together with every check of the specification.

use crate::content::{Abstraction, Change, is_justified};
use crate::effect::{Effect, effect};
use crate::model::{Model, Role, Tracking};
use crate::outcome::{At, Obstacle};
use crate::own::{End, Halt, Ran, Run};
use crate::value::{Class, Holder, Val};
use crate::view::{Busy, Ghost, View};
use seriatim_lang::choices::Choices;
use seriatim_lang::steps::Pc;

/// A view after a transition, and what other threads see of it.
pub struct Stepped {
    /// The view, in canonical form.
    pub view: View,
    /// The effect on others.
    pub effect: Option<Effect>,
    /// The step.
    pub at: At,
}

/// All transitions of the observed thread out of a view; an error says where the proof is stuck.
pub fn transitions(
    model: &Model,
    abstraction: &Abstraction,
    view: &View,
) -> Result<Vec<Stepped>, (Obstacle, At)> {
    let mut found = Vec::new();
    match &view.busy {
        Some(busy) => {
            let at = At::Own(busy.pc);
            each(model, view, &mut found, at, &|run| step(abstraction, run, busy.pc))?;
        }
        None => {
            for method in 0..model.steps.methods.len() as u32 {
                for arg in arguments(model, method) {
                    let at = At::Call(method);
                    each(model, view, &mut found, at, &|run| call(abstraction, run, method, arg))?;
                }
            }
        }
    }
    Ok(found)
}

/// Collects the outcomes of all picks.
fn each(
    model: &Model,
    view: &View,
    found: &mut Vec<Stepped>,
    at: At,
    transition: &dyn Fn(&mut Run) -> Ran<Option<Effect>>,
) -> Result<(), (Obstacle, At)> {
    let mut choices = Choices::default();
    loop {
        let (before, after) = (view.clone(), view.clone());
        let mut run = Run { model, before, after, choices: &mut choices, pc: Pc(0) };
        match transition(&mut run) {
            Ok(effect) => {
                let view = run.after.canonical(model.tracking);
                found.push(Stepped { view, effect, at });
            }
            Err(Halt::Waits) => {}
            Err(Halt::Stuck(obstacle)) => {
                let at = if run.pc == Pc(0) { at } else { At::Own(run.pc) };
                return Err((obstacle, at));
            }
        }
        if !choices.advance() {
            return Ok(());
        }
    }
}

fn arguments(model: &Model, method: u32) -> Vec<Val> {
    match (model.tracking, model.roles[method as usize]) {
        (Tracking::Key, _) => [Class::Below, Class::Tracked, Class::Above].map(Val::Key).to_vec(),
        (Tracking::Colour, Role::Put) => vec![Val::Colour(0), Val::Colour(1)],
        (Tracking::Colour, _) => vec![Val::Dead],
    }
}

fn call(abstraction: &Abstraction, run: &mut Run, method: u32, arg: Val) -> Ran<Option<Effect>> {
    let model = run.model;
    let code = &model.steps.methods[method as usize];
    let mut regs = vec![Val::Null; model.steps.register_count()];
    if arg != Val::Dead {
        regs[code.first_param.0 as usize] = arg;
    }
    run.after.busy = Some(Busy { pc: code.entry, method, arg, regs, ghost: Ghost::default() });
    abstraction.observe(model, &mut run.after)?;
    let end = run.execute(code.entry, 0)?;
    finish(run, end)?;
    Ok(None)
}

fn step(abstraction: &Abstraction, run: &mut Run, pc: Pc) -> Ran<Option<Effect>> {
    let model = run.model;
    let end = run.execute(pc, 1)?;
    let fresh = run.after.publish();
    let change = abstraction.change(model, &run.before, &run.after)?;
    let got = match change {
        Change::Removed(node) => match run.value(node)? {
            Val::Colour(colour) => Some(colour),
            _ => return Err(Obstacle::IllegalChange.into()),
        },
        _ => None,
    };
    if let (true, Some(busy)) = (change != Change::None, &mut run.after.busy) {
        busy.ghost.done = true;
        busy.ghost.got = got;
    }
    abstraction.observe(model, &mut run.after)?;
    let effect = effect(pc, &run.before, &run.after, &fresh);
    finish(run, end)?;
    Ok(effect)
}

/// Puts the thread to rest, or checks the result and ends the operation.
fn finish(run: &mut Run, end: End) -> Ran<()> {
    let model = run.model;
    let Some(busy) = &mut run.after.busy else { return Ok(()) };
    match end {
        End::Rest(pc) => {
            busy.pc = pc;
            for (reg, value) in busy.regs.iter_mut().enumerate() {
                if !model.liveness.is_live(pc, reg) {
                    *value = Val::Dead;
                }
            }
        }
        End::Return(result) => {
            if !is_justified(model, busy, &result) {
                return Err(Obstacle::UnjustifiedResult.into());
            }
            run.after.retire();
        }
    }
    Ok(())
}

impl View {
    /// Ends the operation: what only it knew is forgotten.
    pub fn retire(&mut self) {
        self.busy = None;
        self.nodes.iter_mut().for_each(|n| n.attr = n.attr.common());
        for global in &mut self.globals {
            if *global == Val::Lock(Holder::Mine) {
                *global = Val::Lock(Holder::Other);
            }
        }
    }
}
