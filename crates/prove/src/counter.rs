//! Objects whose content is numbers: counters, and whatever else [`crate::number_spec`] understands.
//! The checks on every step, and what other threads see of a step.
//!
//! The content is the values of some shared variables, one for each word of the state of the
//! specification. *Theorem.* Let every step leave the content as
//! it is, or change it to what the operation of its thread makes of it by the specification, once
//! per operation. Let an operation that changed it return what the specification says for that
//! change, and let one that did not return what it would have returned, without a change, at some
//! moment since its call. Then every history is linearizable: the first take effect at their step,
//! the others at that moment. The view lists the *moments*: what the content was since the call.
//! Which results are correct there is asked when the operation returns, with all that it has found
//! out by then.
//!
//! Numbers without bounds are whole numbers here: a proof says nothing about what happens when a
//! word overflows, and `explore` counts that as an error. Numbers with bounds are exact up to 128
//! and unknown numbers beyond, and to leave the bounds is an error of the algorithm here, too.
//!
//! What others see: the shared variables that the acting thread knows exactly and locks before the
//! step, and what was written. A variable that is written with a number that has a base only gets a
//! new unknown number in their views, so nothing is claimed about how it relates to what they have
//! read. A number that the acting thread knows exactly may be one that another view excludes: then
//! the step does not take place there.
//!
//! It would be unsound to keep a moment before the call, to justify a result by a moment at which
//! the operation would also change the content, to keep the relation of a register to a variable
//! that another thread has written, or to compare the bases of two views.

use crate::content::Abstraction;
use crate::difference::compare;
use crate::effect::{as_seen_by_others, scalars_agree};
use crate::model::Model;
use crate::number::is_unbounded;
use crate::number_spec::Told;
use crate::outcome::Obstacle;
use crate::own::{Ran, Run};
use crate::value::Val;
use crate::view::View;
use seriatim_lang::steps::Pc;

/// What a step writes to a shared variable, as others see it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Written {
    /// Nothing, or what was there.
    Nothing,
    /// This.
    This(Val),
    /// Some number.
    Unknown,
}

/// A step on the shared variables, as others see it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Update {
    /// The step.
    pub pc: Pc,
    /// The variables before it; [`Val::Dead`] for those that are not known exactly.
    pub before: Vec<Val>,
    /// What was written.
    pub written: Vec<Written>,
}

/// Whether the object begins with what its specification says.
pub fn starts_right(model: &Model, abstraction: &Abstraction) -> bool {
    let roots: Vec<usize> = abstraction.roots().collect();
    let words = model.number.as_ref().map(|spec| spec.initial.len());
    words == Some(roots.len()) && may_begin(model, &roots)
}

/// Whether the first words of the content may be in these variables: they begin right.
pub fn may_begin(model: &Model, roots: &[usize]) -> bool {
    let begins = |(root, word): (&usize, &i32)| model.initial.words.get(*root) == Some(word);
    model.number.as_ref().is_some_and(|spec| roots.iter().zip(&spec.initial).all(begins))
}

/// The content, word by word.
fn content(abstraction: &Abstraction, view: &View) -> Vec<Val> {
    abstraction.roots().map(|root| view.globals[root].plain()).collect()
}

fn outcome(model: &Model, view: &View, content: &[Val]) -> Told {
    match (&model.number, &view.busy) {
        (Some(spec), Some(busy)) => {
            spec.outcome(busy.method as usize, &busy.args, content, &view.numbers.facts)
        }
        _ => Told::Unclear,
    }
}

/// Checks a step of the observed operation; if it took effect, there is one answer left.
pub fn advance(
    model: &Model,
    abstraction: &Abstraction,
    before: &View,
    after: &mut View,
) -> Result<(), Obstacle> {
    let (old, new) = (content(abstraction, before), content(abstraction, after));
    if old == new {
        return Ok(());
    }
    let told = outcome(model, after, &old);
    let busy = after.busy.as_mut().ok_or(Obstacle::IllegalChange)?;
    match told {
        Told::Becomes(content, result) if content == new && !busy.ghost.done => {
            busy.ghost.done = true;
            after.numbers.moments.clear();
            after.numbers.answer = Some(result);
            Ok(())
        }
        _ => Err(Obstacle::IllegalChange),
    }
}

/// Adds the moment at hand; leaves out moments at which the operation surely waits or changes
/// something.
pub fn observe(model: &Model, abstraction: &Abstraction, view: &mut View) {
    let content = content(abstraction, view);
    if view.busy.as_ref().is_none_or(|b| b.ghost.done) {
        return;
    }
    let mut moments = std::mem::take(&mut view.numbers.moments);
    if !moments.contains(&content) {
        moments.push(content);
    }
    let differ = |(a, b): (&Val, &Val)| compare(*a, *b, &view.numbers.facts).equal == Some(false);
    moments.retain(|moment| match outcome(model, view, moment) {
        Told::Becomes(to, _) => !to.iter().zip(moment).any(differ),
        Told::Unclear => true,
        Told::Waits => false,
    });
    view.numbers.moments = moments;
}

/// Whether the operation may return this.
pub fn is_justified(model: &Model, view: &View, result: &[Val]) -> bool {
    let right = |moment: &Vec<Val>| match outcome(model, view, moment) {
        Told::Becomes(to, told) => to == *moment && told == result,
        Told::Waits | Told::Unclear => false,
    };
    match &view.numbers.answer {
        Some(answer) => answer == result,
        None => view.numbers.moments.iter().any(right),
    }
}

/// Forgets the numbers in variables without bounds: an idle thread relies on none.
pub fn forget(run: &mut Run) -> Ran<()> {
    for global in 0..run.after.globals.len() {
        if is_unbounded(run.model.steps.shared[global].kind.scalar) {
            run.after.globals[global] = run.unknown_number()?;
        }
    }
    Ok(())
}

/// What others see of a step between two views that name their numbers alike.
pub fn update(model: &Model, pc: Pc, before: &View, after: &View) -> Option<Update> {
    let unbounded = |g: usize| is_unbounded(model.steps.shared[g].kind.scalar);
    let based = |view: &View, g: usize| unbounded(g) || view.globals[g].base().is_some();
    let known = |g: usize| match before.globals[g].base() {
        Some(_) => Val::Dead,
        None => before.globals[g],
    };
    let written = |global: usize| {
        let (old, new) = (before.globals[global], after.globals[global]);
        match (old == new, based(after, global)) {
            (true, _) => Written::Nothing,
            (false, true) => Written::Unknown,
            (false, false) => Written::This(new),
        }
    };
    let all = 0..before.globals.len();
    let written: Vec<Written> = all.clone().map(written).collect();
    let changed = written.iter().any(|w| *w != Written::Nothing);
    changed.then(|| Update { pc, before: all.map(known).collect(), written })
}

impl Update {
    /// The view after the step of another thread, if it can take place there. Law: the step takes
    /// place if both threads may see the same variables; what it writes is what the acting thread
    /// wrote, or some number.
    pub fn applied(&self, view: &View) -> Option<View> {
        let facts = &view.numbers.facts;
        let may_be = |acting: Val, mine: Val| match (acting, mine) {
            (Val::Dead, _) => true,
            (acting, Val::Num(..)) => compare(mine, acting.plain(), facts).equal != Some(false),
            _ => scalars_agree(acting, mine),
        };
        if !self.before.iter().zip(&view.globals).all(|(acting, mine)| may_be(*acting, *mine)) {
            return None;
        }
        let mut after = view.clone();
        for (global, written) in self.written.iter().enumerate() {
            after.globals[global] = match written {
                Written::Nothing => after.globals[global],
                Written::This(value) => as_seen_by_others(*value),
                Written::Unknown => Val::Num(after.unused_base(), 0),
            };
        }
        Some(after)
    }
}
