//! Objects whose content is numbers, booleans or variants: counters, locks, semaphores, pairs.
//!
//! The content is the values of some shared variables, one for each scalar in the state of the
//! specification. *Theorem.* Suppose that every step leaves the
//! content as it is, or changes it to what the operation of its thread makes of it, once; that an
//! operation that changed it returns what it then must; and that one that did not returns what it
//! would have returned, changing nothing, at some moment since its call. Then every history is
//! linearizable: changes take effect at their step, the others at that moment. A state lists the
//! *moments*: what the content has been since the call. Whole numbers have no bounds here; that a
//! word may overflow is not looked at.
//!
//! Others notice of a step the variables that are known exactly before it and what was written; a
//! variable without bounds gets a number of which nothing is known. This is collected from the steps. It
//! would be unsound to keep a moment from before the call, to justify a result by a moment at which
//! the operation would have changed something, or to leave out a view in which a step may happen.

use crate::content::Content;
use crate::execute::{Execution, Objection};
use crate::number::{Numbers, equal, is_number, is_unbounded};
use crate::number_spec::{Becomes, NumberCall, NumberSpec};
use crate::scalar::Scalar;
use crate::sort::Told;
use crate::state::{Operation, State};

/// What others notice of a step.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Update {
    /// The variables before it; nothing is said of those without bounds that are not known exactly.
    before: Vec<Told>,
    /// What was written, if anything.
    written: Vec<Option<Written>>,
}

/// What others see in a variable that was written.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Written {
    /// A number of which they know nothing.
    AnyNumber,
    /// This.
    Just(Scalar),
}

fn outcome(
    number_spec: &NumberSpec,
    state: &State,
    operation: &Operation,
    content: &[Scalar],
) -> Option<Becomes> {
    let call = called(operation);
    number_spec.outcome(call, content, &state.numbers.facts)
}

fn called(operation: &Operation) -> NumberCall<'_> {
    NumberCall { method: operation.method as usize, arguments: &operation.arguments }
}

impl Execution<'_> {
    /// Compares the content before the step with the content now, and notes what was done; gives
    /// what others notice.
    pub fn account_number(
        &mut self,
        number_spec: &NumberSpec,
        content: &Content,
        operation: &mut Operation,
    ) -> Result<Option<Update>, Objection> {
        let graph = &self.state.graph;
        let (was, is) = (content.scalars(&graph.shared_before), content.scalars(&graph.shared));
        if was != is {
            let right = outcome(number_spec, &self.state, operation, &was);
            let Some((_, result)) = right.filter(|(content, _)| *content == is) else {
                return Err("the step changes the content as its operation must not".to_owned());
            };
            if std::mem::replace(&mut operation.ghost.done, true) {
                return Err("the operation changes the content a second time".to_owned());
            }
            self.state.numbers.moments.clear();
            self.state.numbers.answer = Some(result);
        }
        self.update()
    }

    fn update(&self) -> Result<Option<Update>, Objection> {
        let graph = &self.state.graph;
        let variables = graph.shared_before.iter().zip(&graph.shared).enumerate();
        let (mut before, mut written) = (Vec::new(), Vec::new());
        for (variable, (was, is)) in variables {
            let unbounded = is_unbounded(self.object.steps.shared[variable].kind.scalar);
            // Of a number that is not known exactly, others can make nothing.
            let exact = !unbounded || matches!(was, Scalar::Int(_));
            before.push(if exact { Told::by_actor(*was) } else { Told::NOTHING });
            written.push(match (was != is, unbounded) {
                (false, _) => None,
                (true, true) => Some(Written::AnyNumber),
                (true, false) => {
                    let seen = Told::by_actor(*is).to_others();
                    Some(Written::Just(seen.ok_or("others cannot understand what is written")?))
                }
            });
        }
        Ok(written.iter().any(Option::is_some).then_some(Update { before, written }))
    }
}

/// Notes the content at this moment, and forgets moments that are of no use.
pub fn observe(number_spec: &NumberSpec, content: &Content, state: &mut State) {
    let content = content.scalars(&state.graph.shared);
    let Some(operation) = state.operation.as_ref().filter(|o| !o.ghost.done) else { return };
    let call = called(operation);
    let Numbers { facts, moments, .. } = &mut state.numbers;
    if !moments.contains(&content) {
        moments.push(content);
    }
    moments.retain(|moment| !number_spec.is_busy(call, moment, facts));
}

/// Whether an operation may return this.
pub fn may_return(
    number_spec: &NumberSpec,
    state: &State,
    operation: &Operation,
    result: &[Scalar],
) -> bool {
    if !result.iter().all(|scalar| is_number(*scalar)) {
        return false;
    }
    let right = |moment: &Vec<Scalar>| {
        let outcome = outcome(number_spec, state, operation, moment);
        outcome.is_some_and(|(to, told)| to == *moment && told == result)
    };
    match &state.numbers.answer {
        Some(answer) => answer == result,
        None => state.numbers.moments.iter().any(right),
    }
}

impl Update {
    /// The state of another thread after the step, if the step can happen there.
    pub fn apply(&self, view: &State) -> Option<State> {
        let facts = &view.numbers.facts;
        // What the view knows of a number may exclude what the acting thread saw there.
        let excluded = |told: &Told, mine: Scalar| match told.shown() {
            known @ Scalar::Int(_) => equal(mine, known, facts) == Some(false),
            _ => false,
        };
        let mut before = self.before.iter().zip(&view.graph.shared);
        if !before.all(|(told, mine)| told.may_be(*mine) && !excluded(told, *mine)) {
            return None;
        }
        let mut state = view.clone();
        for (variable, written) in self.written.iter().enumerate() {
            state.graph.shared[variable] = match written {
                None => continue,
                Some(Written::AnyNumber) => state.new_number(&[]),
                Some(Written::Just(scalar)) => *scalar,
            };
        }
        Some(state)
    }
}
