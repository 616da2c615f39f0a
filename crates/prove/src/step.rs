//! One transition of the observed thread: an abstract step, together with every check of the
//! specification.

use crate::cell;
use crate::content::{Abstraction, Change, Paths, answer, is_justified};
use crate::counter;
use crate::effect::{Effect, effect};
use crate::equality::{Equality, unnamed};
use crate::help::help;
use crate::interference::Interference;
use crate::model::{Field, Kind, Model, Tracking};
use crate::number::is_unbounded;
use crate::outcome::{At, Obstacle};
use crate::own::{End, Halt, Ran, Run};
use crate::record::{Shape, published};
use crate::value::{Class, Holder, OTHER_VALUE, TRACKED_VALUE, Val};
use crate::view::{ARGS, Busy, Ghost, Numbers, View};
use seriatim_lang::choices::Choices;
use seriatim_lang::steps::Pc;
use seriatim_lang::types::Scalar;
use seriatim_spec::checkpoint;

/// What all transitions of a proof have in common.
#[derive(Clone, Copy)]
pub struct Setting<'s> {
    /// The program.
    pub model: &'s Model,
    /// The content.
    pub abstraction: &'s Abstraction,
    /// The records that threads publish.
    pub shapes: &'s [Shape],
}

/// A view after a transition, and what other threads see of it.
pub struct Stepped {
    /// The view, in canonical form.
    pub view: View,
    /// The effect on others.
    pub interference: Option<Interference>,
    /// The records that it published.
    pub shapes: Vec<Shape>,
    /// Whether it took out several nodes at once, and its effect leaves out what lay on the path.
    pub path_untold: bool,
    /// The step.
    pub at: At,
}

/// What others see of a transition, the records that it published, and whether a path was left out.
type Took = (Option<Interference>, Vec<Shape>, bool);

/// All transitions of the observed thread out of a view; an error says where the proof is stuck.
pub fn transitions(setting: Setting, view: &View) -> Result<Vec<Stepped>, (Obstacle, At)> {
    let mut found = Vec::new();
    match &view.busy {
        Some(busy) => {
            let step = |run: &mut Run| step(setting.abstraction, run, busy.pc);
            each(setting, view, &mut found, At::Own(busy.pc), &step)?;
        }
        None => {
            for method in 0..setting.model.steps.methods.len() as u32 {
                for args in arguments(setting.model, method) {
                    let call = |run: &mut Run| call(setting.abstraction, run, method, args);
                    each(setting, view, &mut found, At::Call(method), &call)?;
                }
            }
        }
    }
    Ok(found)
}

/// Collects the outcomes of all picks.
fn each(
    setting: Setting,
    view: &View,
    found: &mut Vec<Stepped>,
    at: At,
    transition: &dyn Fn(&mut Run) -> Ran<Took>,
) -> Result<(), (Obstacle, At)> {
    let Setting { model, shapes, .. } = setting;
    let mut choices = Choices::default();
    let bases = view.clone().unused_base();
    loop {
        checkpoint();
        let (before, after) = (view.clone(), view.clone());
        let (choices, equality) = (&mut choices, Equality::default());
        let (foreign, pc) = (None, Pc(0));
        let mut run = Run { model, before, after, choices, shapes, equality, foreign, bases, pc };
        match transition(&mut run) {
            Ok((interference, shapes, path_untold)) => {
                let view = run.after.canonical(model.tracking);
                found.push(Stepped { view, interference, shapes, path_untold, at });
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

/// All arguments of a method, up to what is tracked of data.
fn arguments(model: &Model, method: u32) -> Vec<[Val; ARGS]> {
    let mut found = vec![[Val::Dead; ARGS]];
    for (i, kind) in model.steps.methods[method as usize].params.iter().enumerate() {
        let mut options: Vec<Val> = match (model.tracking, kind.scalar) {
            (Tracking::Key, Scalar::Key) => Class::ALL[1..4].iter().map(|c| Val::Key(*c)).collect(),
            (Tracking::Key | Tracking::Colour, _) => vec![Val::Colour(0), Val::Colour(1)],
            (Tracking::Value, Scalar::Value) => vec![TRACKED_VALUE, OTHER_VALUE],
            (_, Scalar::Enum(count)) => (0..count as i32).map(Val::Int).collect(),
            // Any number: the call gives it a base.
            (Tracking::Number, scalar) if is_unbounded(scalar) => vec![Val::Hidden],
            (Tracking::Number, Scalar::Int(range)) => {
                (range.low..=range.high).map(Val::Int).collect()
            }
            (Tracking::Value | Tracking::Number, _) => vec![Val::Int(0), Val::Int(1)],
        };
        if kind.nullable {
            options.push(Val::Null);
        }
        let with = |args: &[Val; ARGS], option: Val| {
            let mut args = *args;
            args[i] = option;
            args
        };
        found = found.iter().flat_map(|a| options.iter().map(move |o| with(a, *o))).collect();
    }
    found
}

fn call(abstraction: &Abstraction, run: &mut Run, method: u32, mut args: [Val; ARGS]) -> Ran<Took> {
    let model = run.model;
    let code = &model.steps.methods[method as usize];
    for arg in args.iter_mut().filter(|arg| **arg == Val::Hidden) {
        *arg = run.unknown_number()?;
    }
    let mut regs = vec![Val::Null; model.steps.register_count()];
    let first = code.first_param.0 as usize;
    regs[first..first + code.params.len()].copy_from_slice(&args[..code.params.len()]);
    run.after.busy = Some(Busy { pc: code.entry, method, args, regs, ghost: Ghost::default() });
    observe(abstraction, run)?;
    let end = execute(run, code.entry, 0)?;
    finish(run, end)?;
    Ok((None, vec![], false))
}

fn step(abstraction: &Abstraction, run: &mut Run, pc: Pc) -> Ran<Took> {
    let model = run.model;
    let end = execute(run, pc, 1)?;
    let fresh = run.after.publish();
    let shapes = published(&run.before, &run.after).collect();
    let mut path_untold = false;
    let interference = match model.kind {
        Kind::Cell if run.foreign.is_some() => {
            return Err(Obstacle::NotUnderstood("an exchange that is no help").into());
        }
        Kind::Cell => {
            cell::advance(model, abstraction, &run.before, &mut run.after)?;
            abstraction.observe(model, &mut run.after)?;
            cell::exchange(model, pc, &run.before, &run.after).map(Interference::Cell)
        }
        Kind::Number => {
            counter::advance(model, abstraction, &run.before, &mut run.after)?;
            abstraction.observe(model, &mut run.after)?;
            counter::update(model, pc, &run.before, &run.after).map(Interference::Update)
        }
        _ => {
            let changed = change(abstraction, run)?;
            let help = help(model, run, pc)?;
            observe(abstraction, run)?;
            let mut effect = effect(pc, &run.before, &run.after, &fresh);
            if abstraction.paths == Paths::Untold {
                path_untold = effect.as_mut().is_some_and(Effect::forget_paths);
            }
            match (help, effect) {
                (None, effect) => effect.map(Interference::List),
                (Some(help), None) if changed == Change::None => Some(Interference::Help(help)),
                (Some(_), _) => return Err(Obstacle::IllegalChange.into()),
            }
        }
    };
    finish(run, end)?;
    Ok((interference, shapes, path_untold))
}

/// Records what the operation can see of the content now; of an item that it is to tell, the colour
/// is picked.
fn observe(abstraction: &Abstraction, run: &mut Run) -> Ran<()> {
    if let Some(first) = abstraction.told_item(run.model, &run.after)? {
        run.value(first)?;
    }
    Ok(abstraction.observe(run.model, &mut run.after)?)
}

/// Executes a step; where values are compared, equal answers are given to equal questions.
fn execute(run: &mut Run, pc: Pc, accesses: u32) -> Ran<End> {
    if run.model.tracking != Tracking::Value {
        return run.execute(pc, accesses);
    }
    run.equality.name(&mut run.after);
    let end = run.execute(pc, accesses);
    run.after.forget_names();
    run.before.forget_names();
    Ok(match end? {
        End::Return(result) => End::Return(result.into_iter().map(unnamed).collect()),
        rest => rest,
    })
}

/// What the step did to the content of a list; the operation takes effect by it.
fn change(abstraction: &Abstraction, run: &mut Run) -> Ran<Change> {
    know_values(abstraction, run)?;
    let change = abstraction.change(run.model, &run.before, &run.after)?;
    let got = match change {
        Change::Removed(node) => match run.value(node)? {
            Val::Colour(colour) => Some(colour),
            _ => return Err(Obstacle::IllegalChange.into()),
        },
        Change::Answered(result) => answer(&[result]),
        _ => None,
    };
    if let (true, Some(busy)) = (change != Change::None, &mut run.after.busy) {
        busy.ghost.done = true;
        busy.ghost.got = got;
    }
    Ok(change)
}

/// Of a map, picks the values that the tracked key had before the step and has now, if the step
/// changes which node is the one with the key, or what it holds.
fn know_values(abstraction: &Abstraction, run: &mut Run) -> Ran<()> {
    let model = run.model;
    if model.tracking != Tracking::Key || !model.fields.contains(&Field::Value) {
        return Ok(());
    }
    let (was, is) = (abstraction.entry(&run.before)?, abstraction.entry(&run.after)?);
    let written = |node: usize| run.before.nodes[node].values != run.after.nodes[node].values;
    if was != is || was.is_some_and(written) {
        was.map_or(Ok(()), |node| run.know_value_before(node))?;
        is.map_or(Ok(()), |node| run.value(node).map(|_| ()))?;
    }
    Ok(())
}

/// Puts the thread to rest, or checks the result and ends the operation.
fn finish(run: &mut Run, end: End) -> Ran<()> {
    let model = run.model;
    let pending = run.after.window.is_some_and(|w| w.mine);
    let answered = match &end {
        End::Return(result) => counter::is_justified(model, &run.after, result),
        End::Rest(_) => false,
    };
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
            let justified = match model.kind {
                Kind::Number => answered,
                _ => !pending && is_justified(model, busy, &result),
            };
            if !justified {
                return Err(Obstacle::UnjustifiedResult.into());
            }
            run.after.retire();
            if model.kind == Kind::Number {
                counter::forget(run)?;
            }
        }
    }
    Ok(())
}

impl View {
    /// Ends the operation: what only it knew is forgotten.
    pub fn retire(&mut self) {
        self.busy = None;
        self.numbers = Numbers::default();
        self.nodes.iter_mut().for_each(|n| n.attr = n.attr.common());
        for global in &mut self.globals {
            *global = match *global {
                Val::Lock(Holder::Mine) => Val::Lock(Holder::Other),
                other => other.plain(),
            };
        }
    }
}
