//! A specification in the algorithm language that hears of operations as they happen.

use crate::seri_reader::{Invocation, SeriObject, Texts};
use crate::seri_words::Words;
use seriatim_history::{Conventions, OpId, Outcome, Values};
use seriatim_lang::spec::{Datum, SpecState};
use seriatim_spec::live::{Effects, Live, Sample, Told, recorded};
use seriatim_spec::{Decoded, Split};
use std::sync::Arc;

/// A specification of a `.seri` file that hears of operations.
///
/// *Side condition*, checked at every record: no text stands where the specification wants a `key`.
/// The number of such a text is its place among all texts of a history, which nobody knows while it
/// goes on. Nor is a version heard that is sparse.
pub struct SeriLive {
    object: Arc<SeriObject>,
    conventions: Conventions,
    split: Split,
    values: Values,
}

impl SeriLive {
    pub(crate) fn new(object: Arc<SeriObject>, sample: Sample<'_>) -> Self {
        let values = Values::clone(sample.history.values());
        SeriLive { object, conventions: sample.conventions, split: sample.split, values }
    }
}

impl Live for SeriLive {
    type State = SpecState;
    type Op = Invocation;
    type Answer = Datum;

    fn hear(&mut self, told: Told<'_>) -> Result<Decoded<Invocation, Datum>, String> {
        if self.object.is_sparse() {
            return Err("a sparse version cannot be heard, since others may still tell what is \
                        between two versions: check the log when it is complete"
                .to_owned());
        }
        let history = recorded(told, std::mem::take(&mut self.values), self.conventions);
        let mut history = history.map_err(|problem| problem.to_string())?;
        self.object.name_items(&mut history);
        let texts = Texts::of(&history, &self.object.spec);
        let decoded = match (texts.is_empty(), told.outcome) {
            (_, Outcome::Failed) => Ok(Decoded::Dropped),
            (false, _) => {
                Err("texts as keys cannot be heard, since their order is that of all texts"
                    .to_owned())
            }
            (true, _) => match self.object.decode(history.operation(OpId(0)), &texts) {
                Ok((invocation, None)) => Ok(Decoded::Pending(invocation)),
                Ok((invocation, Some(result))) => Ok(Decoded::Completed(invocation, result)),
                Err(problem) => Err(problem.to_string()),
            },
        };
        let values = Arc::clone(history.values());
        drop(history);
        self.values = Arc::unwrap_or_clone(values);
        decoded
    }

    fn initial(&self) -> SpecState {
        self.object.initial()
    }

    fn part(&self, op: &Invocation) -> Option<u64> {
        match self.split {
            Split::Parts => self.object.key(op),
            Split::Whole => None,
        }
    }

    fn effects(&self, state: &SpecState, op: &Invocation) -> Effects<SpecState, Datum> {
        let outcomes = self.object.outcomes(state, op).into_iter();
        let changed = |after: SpecState| (after != *state).then_some(after);
        outcomes.map(|(after, answer)| (answer, changed(after))).collect()
    }

    fn is_same(&self, called: &Invocation, returned: &Invocation) -> bool {
        called == returned
    }

    fn is_borne_out(&self, called: (&Invocation, &Datum), returned: (&Invocation, &Datum)) -> bool {
        called.1 == returned.1
    }

    fn leaves_unchanged(&self, op: &Invocation, answer: &Datum) -> bool {
        self.object.is_read_only(op, Some(answer))
    }

    fn explain(&self, state: &SpecState, op: &Invocation, answer: &Datum) -> String {
        let is_possible =
            self.object.outcomes(state, op).iter().any(|(_, result)| result == answer);
        match is_possible {
            true => String::new(),
            // Texts as keys are never heard, so there are none to name.
            false => {
                let words = Words { values: &self.values, texts: &Texts::default() };
                self.object.explain(&words, state, op, Some(answer))
            }
        }
    }
}
