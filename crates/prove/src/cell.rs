//! Cells: the content of an object that holds one value, the checks on every step, and what other
//! threads see of a step.
//!
//! The content is the value in the cell, or *held* while a record is installed there: the record
//! stands for an operation that some thread, its owner or a helper, will complete. *Theorem.* Let
//! every step leave the content and the control variable alone, or change them as the operation of
//! its thread may, once; or install a record that only its thread knew, for its own pending swap;
//! or complete the installed record, to what the swap yields from the content at the installation
//! and from a value that the control variable had at some moment since. Let an operation that took
//! effect return what the change says, and let one that did not return what was correct at some
//! moment without a record. Then every history is linearizable: a completed swap takes effect at
//! that moment between installation and completion. Nobody else's moment lies there, except those
//! of operations on the control variable, which do not look at the content.
//!
//! Values are seen through one arbitrary value x: they are null, x, or another one. Two others may
//! be equal or not. A wrong content w after a change from b shows for x = w, if w is neither b nor
//! the argument that may be written; and for x = b otherwise, because all comparisons of a cell are
//! with its content and b is then distinguished from all others. A wrong result r shows for x = r
//! or x = b in the same way. So results that are no tracked value need no justification: the same
//! run is covered with them as x.
//!
//! It would be unsound to let a record be installed twice, to let an operation return while its
//! record is installed, to count a moment with a record as one that others may have seen, or to
//! skip the check on any step.

use crate::cell_spec::{Answer, CellRole};
use crate::content::Abstraction;
use crate::effect::{as_seen_by_others, scalars_agree};
use crate::model::Model;
use crate::outcome::Obstacle;
use crate::value::{OTHER_VALUE, TRACKED_VALUE, Val};
use crate::view::{Busy, FIELDS, Record, View, Window};
use seriatim_lang::steps::Pc;

/// What a cell holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Content {
    Plain(Val),
    /// The installed record.
    Held(usize),
}

/// The shared state as one thread sees it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Shared {
    /// The shared variables; all records are called 0.
    pub globals: Vec<Val>,
    /// The fields of the installed record.
    pub held: Option<[Val; FIELDS]>,
    /// What is known about its operation.
    pub window: Option<Window>,
}

/// A step on the shared state of a cell, as the acting thread sees it. Everything here is a
/// function of the shared state and its past, or of who acts.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Exchange {
    /// The step.
    pub pc: Pc,
    /// The state before it.
    pub before: Shared,
    /// The state after it.
    pub after: Shared,
}

fn content(model: &Model, abstraction: &Abstraction, view: &View) -> Content {
    let held = model.descriptor().and_then(|d| view.globals[d].record());
    held.map_or(Content::Plain(view.globals[abstraction.root]), Content::Held)
}

fn control(model: &Model, view: &View) -> i32 {
    match model.control().map(|c| view.globals[c]) {
        Some(Val::Int(n)) => n,
        _ => 0,
    }
}

fn code(result: Val) -> Option<u8> {
    match result {
        Val::Colour(c) => Some(c),
        Val::Null => Some(2),
        Val::Int(n) => Some(3 + (n != 0) as u8),
        _ => None,
    }
}

/// What the operation must return, if some outcome leads to `to`: nothing in particular, if several
/// results would be correct.
fn result(
    outcomes: impl Iterator<Item = (Val, i32, Option<Val>)>,
    to: (Val, i32),
) -> Option<Option<u8>> {
    let mut results = outcomes.filter(|o| (o.0, o.1) == to).map(|o| o.2.and_then(code));
    let first = results.next()?;
    Some(first.filter(|f| results.all(|r| r == Some(*f))))
}

/// What the operation of an installed record must return when the content becomes `to`; `None` if
/// it may not become that.
fn completion(model: &Model, window: &Window, to: Val) -> Option<Option<u8>> {
    completed(model.cell_role(window.method as usize)?, window, to)
}

fn completed(role: CellRole, window: &Window, to: Val) -> Option<Option<u8>> {
    let seen = (0..32).filter(|c| window.seen >> c & 1 == 1);
    let all = seen.flat_map(|c| role.outcomes(&window.args, window.base, c));
    result(all.map(|(content, _, result)| (content, 0, result)), (to, 0))
}

/// Whether a cell holds at the start what its specification says.
pub fn starts_right(model: &Model, abstraction: &Abstraction, view: &View) -> bool {
    let Some(spec) = &model.cell else { return false };
    content(model, abstraction, view) == Content::Plain(spec.content)
        && spec.control.unwrap_or(0) == control(model, view)
        && spec.control.is_some() == model.control().is_some()
}

/// Checks a step of the observed operation and brings its ghost state and the window up to date.
pub fn advance(
    model: &Model,
    abstraction: &Abstraction,
    before: &View,
    after: &mut View,
) -> Result<(), Obstacle> {
    const ILLEGAL: Obstacle = Obstacle::IllegalChange;
    let (old, new) = (content(model, abstraction, before), content(model, abstraction, after));
    let (was, now) = (control(model, before), control(model, after));
    let busy = after.busy.as_ref().ok_or(ILLEGAL)?;
    let role = model.cell_role(busy.method as usize).ok_or(ILLEGAL)?;
    let mut window = before.window;
    let took: Option<Option<u8>> = match (old, new) {
        (Content::Plain(from), Content::Plain(to)) if (from, was) == (to, now) => None,
        (Content::Plain(from), Content::Plain(to)) => {
            let all = role.outcomes(&busy.args, from, was).into_iter();
            Some(result(all, (to, now)).ok_or(ILLEGAL)?)
        }
        (Content::Plain(base), Content::Held(record)) => {
            let mine = before.records[record].private && !busy.ghost.done && was == now;
            if !mine || !matches!(role, CellRole::Swap(_)) {
                return Err(ILLEGAL);
            }
            let (method, args) = (busy.method as u8, busy.args);
            window = Some(Window { mine: true, method, args, base, seen: 1 << now });
            None
        }
        (Content::Held(a), Content::Held(b)) if a == b => {
            window.as_mut().ok_or(ILLEGAL)?.seen |= 1 << now;
            match role {
                _ if was == now => None,
                CellRole::SetControl if busy.args[0] == Val::Int(now) => Some(None),
                _ => return Err(ILLEGAL),
            }
        }
        (Content::Held(_), Content::Held(_)) => return Err(ILLEGAL),
        (Content::Held(_), Content::Plain(to)) => {
            let held = window.take().filter(|_| was == now).ok_or(ILLEGAL)?;
            let result = completion(model, &held, to).ok_or(ILLEGAL)?;
            held.mine.then_some(result)
        }
    };
    after.window = window;
    match (took, &mut after.busy) {
        (Some(result), Some(busy)) => take_effect(busy, result),
        _ => Ok(()),
    }
}

fn take_effect(busy: &mut Busy, result: Option<u8>) -> Result<(), Obstacle> {
    if busy.ghost.done {
        return Err(Obstacle::IllegalChange);
    }
    busy.ghost.done = true;
    busy.ghost.got = result;
    Ok(())
}

/// Records which results would be right now without a change. While a record is installed, that is
/// nobody's moment except for the control variable.
pub fn observe(model: &Model, abstraction: &Abstraction, view: &mut View) {
    let (content, control) = (content(model, abstraction, view), control(model, view));
    let Some(busy) = &mut view.busy else { return };
    let Some(role) = model.cell_role(busy.method as usize) else { return };
    let content = match content {
        Content::Plain(content) => content,
        Content::Held(_) if role == CellRole::SetControl => Val::Null,
        Content::Held(_) => return,
    };
    let outcomes = role.outcomes(&busy.args, content, control);
    let Some(first) = outcomes.first().filter(|f| outcomes.iter().all(|o| o == *f)) else { return };
    let unknown = role == CellRole::Write && content == OTHER_VALUE;
    if (first.0, first.1) != (content, control) || unknown {
        return;
    }
    match first.2 {
        None | Some(TRACKED_VALUE) | Some(Val::Int(1)) => busy.ghost.saw_yes = true,
        Some(Val::Null) | Some(Val::Int(0)) => busy.ghost.saw_no = true,
        _ => {}
    }
}

/// Whether an operation on a cell may return this.
pub fn is_justified(model: &Model, busy: &Busy, result: &[Val]) -> bool {
    let Some(role) = model.cell_role(busy.method as usize) else { return false };
    let ghost = busy.ghost;
    if ghost.done {
        return match (ghost.got, result) {
            (None, _) => true,
            (Some(got), [one]) => code(*one) == Some(got),
            (Some(_), _) => false,
        };
    }
    // Of two values that are not tracked, nobody knows whether they are equal; the same run is
    // covered with either as x.
    let vague = match role {
        CellRole::Write => busy.args[0] == OTHER_VALUE,
        CellRole::Swap(swap) if swap.answer == Answer::Success => {
            busy.args[swap.old as usize] == OTHER_VALUE
        }
        _ => false,
    };
    match result {
        [OTHER_VALUE] => true,
        [] | [TRACKED_VALUE] | [Val::Int(1)] => ghost.saw_yes || vague,
        [Val::Null] | [Val::Int(0)] => ghost.saw_no || vague,
        _ => false,
    }
}

/// A scalar in which all records are called 0.
fn plain(scalar: &Val) -> Val {
    if scalar.record().is_some() { Val::Record(0) } else { *scalar }
}

fn shared(model: &Model, view: &View) -> Shared {
    let held = model.descriptor().and_then(|d| view.globals[d].record());
    Shared {
        globals: view.globals.iter().map(plain).collect(),
        held: held.map(|n| view.records[n].fields),
        window: view.window,
    }
}

/// What others see of a step; nothing if the shared state is the same after it.
pub fn exchange(model: &Model, pc: Pc, before: &View, after: &View) -> Option<Exchange> {
    let (before, after) = (shared(model, before), shared(model, after));
    (before != after).then_some(Exchange { pc, before, after })
}

/// Whether the windows of two threads can be of one state.
fn windows_agree(acting: Option<Window>, mine: Option<Window>) -> bool {
    match (acting, mine) {
        (Some(a), Some(b)) => {
            !(a.mine && b.mine) && Window { mine: false, ..a } == Window { mine: false, ..b }
        }
        (a, b) => a == b,
    }
}

impl Exchange {
    /// Whether another thread with this view can be in the state before the step.
    fn fits(&self, model: &Model, view: &View) -> bool {
        let mut pairs = self.before.globals.iter().zip(&view.globals);
        let held = || model.descriptor().and_then(|d| view.globals[d].record());
        pairs.all(|(acting, mine)| scalars_agree(*acting, plain(mine)))
            && self.before.held == held().map(|n| view.records[n].fields)
            && windows_agree(self.before.window, view.window)
    }

    /// Whether another step does the same to every view.
    pub fn is_same(&self, other: &Exchange) -> bool {
        (&self.before, &self.after) == (&other.before, &other.after)
    }

    /// The view after the step of another thread, if it can take place there. Law: a view knows the
    /// whole shared state of a cell, so the step takes place if both threads see the same state,
    /// and leaves what the acting thread sees.
    pub fn applied(
        &self,
        model: &Model,
        abstraction: &Abstraction,
        view: &View,
    ) -> Result<Option<View>, Obstacle> {
        if !self.fits(model, view) {
            return Ok(None);
        }
        let mut after = view.clone();
        let installed = model.descriptor().map(|d| view.globals[d]);
        let stays = self.before.held.is_some() && self.after.held.is_some();
        for (global, to) in after.globals.iter_mut().zip(&self.after.globals) {
            *global = match (to, installed, self.after.held) {
                (Val::Record(_), Some(record), _) if stays => record,
                (Val::Record(_), _, Some(fields)) => {
                    after.records.push(Record { fields, private: false });
                    Val::Record(after.records.len() as u8 - 1)
                }
                _ => as_seen_by_others(*to),
            };
        }
        let own = stays && view.window.is_some_and(|w| w.mine);
        after.window = self.after.window.map(|w| Window { mine: own, ..w });
        if let (Some(window), None, Some(busy)) = (view.window, after.window, &mut after.busy)
            && window.mine
        {
            let to = self.after.globals[abstraction.root];
            let result = completion(model, &window, to).ok_or(Obstacle::IllegalChange)?;
            take_effect(busy, result)?;
        }
        Ok(Some(after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell_spec::{Swap, When};

    const VALUES: [Option<u8>; 5] = [None, Some(0), Some(1), Some(2), Some(3)];

    /// A value as it is seen with `x` as the tracked one.
    fn seen(value: Option<u8>, x: u8) -> Val {
        match value {
            None => Val::Null,
            Some(v) if v == x => TRACKED_VALUE,
            Some(_) => OTHER_VALUE,
        }
    }

    fn swaps() -> Vec<CellRole> {
        let mut found = Vec::new();
        for when in [When::Always, When::Control(1), When::Argument(2)] {
            for answer in [Answer::Content, Answer::Success] {
                found.push(CellRole::Swap(Swap { old: 0, next: 1, when, answer }));
            }
        }
        found
    }

    /// What a swap does to concrete values.
    fn swapped(
        role: CellRole,
        args: [Option<u8>; 2],
        control: i32,
        base: Option<u8>,
    ) -> Option<u8> {
        let CellRole::Swap(swap) = role else { return base };
        let fits = match swap.when {
            When::Always => true,
            When::Control(wanted) => control == wanted,
            When::Argument(_) => control == 0,
        };
        if base == args[0] && fits { args[1] } else { base }
    }

    /// The argument of the header, for every content, all arguments, all contents after the step
    /// and all values of the control variable: a correct completion is accepted with every x, a
    /// wrong one is rejected with some x.
    #[test]
    fn a_wrong_completion_is_rejected_for_some_tracked_value() {
        for role in swaps() {
            for code in 0..5usize.pow(4) * 3 {
                let value = |i: u32| VALUES[code / 5usize.pow(i) % 5];
                let (base, args, to) = (value(0), [value(1), value(2)], value(3));
                let moments = code / 5usize.pow(4) + 1;
                let controls = (0..2).filter(|c| moments >> c & 1 == 1);
                let right = controls.clone().any(|c| swapped(role, args, c, base) == to);
                let accepted = |x: u8| {
                    let window = Window {
                        mine: false,
                        method: 0,
                        args: [seen(args[0], x), seen(args[1], x), Val::Int(0)],
                        base: seen(base, x),
                        seen: moments as u32,
                    };
                    completed(role, &window, seen(to, x)).is_some()
                };
                assert_eq!(right, (0..4).all(accepted), "{role:?} {base:?} {args:?} {to:?}");
            }
        }
    }

    /// The same for results without a change: what is justified with every x was correct at one of
    /// the moments.
    #[test]
    fn a_wrong_result_is_not_justified_for_some_tracked_value() {
        for role in swaps() {
            let CellRole::Swap(Swap { answer: Answer::Content, .. }) = role else { continue };
            for code in 0..5usize.pow(4) {
                let value = |i: u32| VALUES[code / 5usize.pow(i) % 5];
                let (content, args, result) = (value(0), [value(1), value(2)], value(3));
                for control in 0..2 {
                    let right =
                        swapped(role, args, control, content) == content && result == content;
                    let justified = |x: u8| {
                        let args = [seen(args[0], x), seen(args[1], x), Val::Int(0)];
                        let outcomes = role.outcomes(&args, seen(content, x), control);
                        let unchanged = outcomes.iter().all(|o| *o == outcomes[0])
                            && outcomes[0].0 == seen(content, x);
                        match seen(result, x) {
                            OTHER_VALUE => true,
                            exact => unchanged && outcomes[0].2 == Some(exact),
                        }
                    };
                    assert!(right || !(0..4).all(justified), "{role:?} {content:?} {args:?}");
                }
            }
        }
    }
}
