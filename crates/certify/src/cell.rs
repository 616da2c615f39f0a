//! Cells: an object that holds one value, its content and checks, and what others notice of a step.
//!
//! The content is the value in the cell, or *held* while a record is installed: the record stands
//! for an operation that its owner or a helper will complete. *Theorem.* Suppose that every step
//! - leaves the content and the control variable as they are, or changes them as its operation may,
//!   once; or
//! - installs a record that only its thread knew, for its own pending operation, which keeps the
//!   control variable; or
//! - changes the control variable while a record is installed, as its operation may, which does not
//!   look at the content; or
//! - completes the installed operation, to what it yields from the content at the installation and
//!   from a value that the control variable has had since.
//!
//! Suppose that an operation returns what its change or its completion requires; or, if there was
//! none, what was correct at some moment since its call at which no record was installed, or at any
//! moment if it does not look at the content. Then every history is linearizable: a completed
//! operation takes effect at a moment between installation and completion at which the control
//! variable had that value. No moment of another operation lies between, except of those that do
//! not look at the content. While a record is installed, its owner may not return, and nobody else
//! can install one. That one tracked value is enough, is the lemma of [`crate::meaning`].
//!
//! A view knows all of the shared state of a cell. What others notice of a step is that state
//! before and after it, which is collected from the steps; it happens in the views that know the
//! same state. It would be unsound to let a record be installed twice or by another than its owner,
//! to count a moment with a record as one that others have seen, to skip the check on a step, or to
//! leave out a view that may know the same state.

use crate::execute::{Execution, Objection};
use crate::meaning::{Outcome, Sight, required};
use crate::object::Cell;
use crate::scalar::{RecordId, Scalar};
use crate::sort::Told;
use crate::state::{Operation, State, Window};

/// What a cell holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Content {
    Plain(Scalar),
    Held(RecordId),
}

/// The shared state of a cell as a thread knows it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Known {
    shared: Vec<Told>,
    held: Option<Vec<Told>>,
    window: Option<Window>,
}

/// What others notice of a step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Exchange {
    before: Known,
    after: Known,
}

impl Cell {
    fn content(&self, shared: &[Scalar]) -> Result<Content, Objection> {
        match (self.installed.map(|i| shared[i]), shared[self.root]) {
            (Some(Scalar::Record(id)), _) => Ok(Content::Held(id)),
            (None | Some(Scalar::Null), scalar @ (Scalar::Null | Scalar::Value(_))) => {
                Ok(Content::Plain(scalar))
            }
            _ => Err("a cell that holds something else".to_owned()),
        }
    }

    fn control(&self, shared: &[Scalar]) -> Result<i32, Objection> {
        match self.control.map(|c| shared[c]) {
            None => Ok(0),
            Some(Scalar::Int(n)) if (0..32).contains(&n) => Ok(n),
            Some(_) => Err("a control variable that holds something else".to_owned()),
        }
    }

    /// Whether the cell holds at the start what the specification says.
    pub fn starts_right(&self, shared: &[Scalar]) -> Result<bool, Objection> {
        let right = self.content(shared)? == Content::Plain(Scalar::Null);
        Ok(right && self.control(shared)? == self.meaning.control.unwrap_or(0))
    }

    fn known(&self, state: &State, shared: &[Scalar], window: Option<&Window>) -> Known {
        let mut held = None;
        let mut plain = |scalar: &Scalar| match scalar {
            Scalar::Record(id) => {
                let fields = state.record(*id).fields.iter();
                held = Some(fields.map(|field| Told::by_actor(*field)).collect());
                Scalar::Record(RecordId(0))
            }
            other => *other,
        };
        let shared = shared.iter().map(|scalar| Told::by_actor(plain(scalar))).collect();
        Known { shared, held, window: window.cloned() }
    }

    /// The operation of the window is completed: what it must return then.
    fn completion(&self, window: &Window, to: Scalar) -> Result<Option<Scalar>, Objection> {
        let method = &self.meaning.methods[window.method as usize];
        let call = (&window.arguments[..], window.base);
        let outcomes: Vec<Outcome> = method.completing(call, window.seen, to);
        match outcomes.is_empty() {
            true => Err("an installed operation is completed with a wrong content".to_owned()),
            false => Ok(required(&outcomes)),
        }
    }

    /// Notes what the operation of a state shows at this moment.
    pub fn observe(&self, state: &mut State) -> Result<(), Objection> {
        let content = self.content(&state.graph.shared)?;
        let control = self.control(&state.graph.shared)?;
        let Some(operation) = &mut state.operation else { return Ok(()) };
        let method = &self.meaning.methods[operation.method as usize];
        let content = match content {
            Content::Plain(content) => content,
            Content::Held(_) if method.leaves_content => Scalar::Null,
            Content::Held(_) => return Ok(()),
        };
        match method.shows(&operation.arguments, content, control) {
            Some(Sight::Yes) => operation.ghost.saw_yes = true,
            Some(Sight::No) => operation.ghost.saw_no = true,
            Some(Sight::Nothing) | None => {}
        }
        Ok(())
    }

    /// Checks a result.
    pub fn conclude(&self, state: &State, operation: &Operation, result: &[Scalar]) -> bool {
        let ghost = &operation.ghost;
        let method = &self.meaning.methods[operation.method as usize];
        if state.window.as_ref().is_some_and(|w| w.mine) {
            return false;
        }
        match (ghost.done, ghost.got) {
            (true, None) => return true,
            (true, Some(got)) => return result == [got],
            (false, _) => {}
        }
        let vague = method.is_vague(&operation.arguments);
        match result {
            [] | [Scalar::Value(1)] | [Scalar::Int(1)] => ghost.saw_yes || vague,
            [Scalar::Null] | [Scalar::Int(0)] => ghost.saw_no || vague,
            [Scalar::Value(0)] => true,
            _ => false,
        }
    }
}

fn take_effect(operation: &mut Operation, got: Option<Scalar>) -> Result<(), Objection> {
    if std::mem::replace(&mut operation.ghost.done, true) {
        return Err("the operation takes effect a second time".to_owned());
    }
    operation.ghost.got = got;
    Ok(())
}

impl Execution<'_> {
    /// Compares the cell before the step with the cell now, and notes what was done; gives what
    /// others notice.
    pub fn account_cell(
        &mut self,
        cell: &Cell,
        operation: &mut Operation,
    ) -> Result<Option<Exchange>, Objection> {
        let graph = &self.state.graph;
        let (before, now) = (graph.shared_before.clone(), graph.shared.clone());
        let window_before = self.state.window.clone();
        let (was, is) = (cell.control(&before)?, cell.control(&now)?);
        let method = &cell.meaning.methods[operation.method as usize];
        match (cell.content(&before)?, cell.content(&now)?) {
            (Content::Plain(from), Content::Plain(to)) => {
                if (from, was) != (to, is) {
                    let call = (&operation.arguments[..], from, was);
                    let leading = method.leading(call, (to, is));
                    if leading.is_empty() {
                        return Err("the step changes the cell as it must not".to_owned());
                    }
                    take_effect(operation, required(&leading))?;
                }
            }
            (Content::Plain(base), Content::Held(id)) => {
                let own = self.state.record(id).was_private && !operation.ghost.done;
                if !own || was != is || !method.keeps_control {
                    return Err("a record is installed that must not be".to_owned());
                }
                let arguments = operation.arguments.clone();
                let (method, seen) = (operation.method, 1 << is);
                self.state.window = Some(Window { mine: true, method, arguments, base, seen });
            }
            (Content::Held(a), Content::Held(b)) if a == b => {
                let window = self.state.window.as_mut().ok_or("a record without a window")?;
                window.seen |= 1 << is;
                if was != is {
                    let call = (&operation.arguments[..], Scalar::Null, was);
                    let leading = method.leading(call, (Scalar::Null, is));
                    if !method.leaves_content || leading.is_empty() {
                        return Err("the step changes the control variable".to_owned());
                    }
                    take_effect(operation, required(&leading))?;
                }
            }
            (Content::Held(_), Content::Held(_)) => {
                return Err("a record is installed over another one".to_owned());
            }
            (Content::Held(_), Content::Plain(to)) => {
                let window = self.state.window.take().ok_or("a record without a window")?;
                let got = cell.completion(&window, to)?;
                if was != is {
                    return Err("a completion that changes the control variable".to_owned());
                }
                if window.mine {
                    take_effect(operation, got)?;
                }
            }
        }
        let state = &self.state;
        let before = cell.known(state, &before, window_before.as_ref());
        let after = cell.known(state, &now, state.window.as_ref());
        Ok((before != after).then_some(Exchange { before, after }))
    }
}

impl Exchange {
    /// The state of another thread after the step, if that thread can know the same state before
    /// it.
    pub fn apply(&self, cell: &Cell, view: &State) -> Result<Option<State>, Objection> {
        if !self.fits(view) {
            return Ok(None);
        }
        let mut state = view.clone();
        let stays = self.before.held.is_some() && self.after.held.is_some();
        for (variable, to) in self.after.shared.iter().enumerate() {
            if self.before.shared[variable] == *to {
                continue;
            }
            state.graph.shared[variable] = match (to.to_others(), &self.after.held) {
                (Some(scalar), _) => scalar,
                // The record has another name here.
                (None, Some(fields)) if !stays && cell.installed == Some(variable) => {
                    let seen = |told: &Told| told.to_others().unwrap_or(Scalar::Unknown);
                    Scalar::Record(state.name_record(fields.iter().map(seen).collect())?)
                }
                (None, _) => return Err("others cannot understand what is written".to_owned()),
            };
        }
        let owner = view.window.as_ref().filter(|w| w.mine);
        let still = stays && owner.is_some();
        state.window = self.after.window.clone().map(|w| Window { mine: still, ..w });
        if let (Some(window), None) = (owner, &state.window) {
            let Content::Plain(to) = cell.content(&state.graph.shared)? else {
                return Err("a record without a window".to_owned());
            };
            let got = cell.completion(window, to)?;
            let operation = state.operation.as_mut().ok_or("a window of an idle thread")?;
            take_effect(operation, got)?;
        }
        Ok(Some(state))
    }

    /// Whether another thread with this view can be in the state before the step.
    fn fits(&self, view: &State) -> bool {
        let shared = &view.graph.shared;
        if !self.before.shared.iter().zip(shared).all(|(told, mine)| told.may_be(*mine)) {
            return false;
        }
        let held = shared.iter().find_map(|scalar| match scalar {
            Scalar::Record(id) => Some(*id),
            _ => None,
        });
        let windows = match (&self.before.window, &view.window) {
            (Some(a), Some(b)) => {
                !(a.mine && b.mine)
                    && (a.method, a.base, a.seen) == (b.method, b.base, b.seen)
                    && a.arguments == b.arguments
            }
            (a, b) => a.is_none() && b.is_none(),
        };
        let fields = match (&self.before.held, held) {
            (Some(told), Some(id)) => {
                let mine = &view.record(id).fields;
                told.len() == mine.len()
                    && told.iter().zip(mine).all(|(told, mine)| told.may_be(*mine))
            }
            _ => true,
        };
        windows && fields
    }
}
