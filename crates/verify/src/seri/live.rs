//! A specification in the algorithm language that hears of operations as they happen.

use crate::seri::object::{Invocation, SeriObject};
use crate::seri::texts::Texts;
use crate::seri::words::Words;
use seriatim_history::{Conventions, OpId, Outcome, ValueId};
use seriatim_lang::spec::{Datum, SpecState};
use seriatim_spec::live::{Effects, Listened, Live, Named, Sample, Told, recorded};
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
    values: Listened,
}

impl SeriLive {
    pub(crate) fn new(object: Arc<SeriObject>, sample: Sample<'_>) -> Self {
        let mut known = Arc::clone(sample.history.values());
        let named = object.name_texts(|text| Arc::make_mut(&mut known).intern_text(text));
        let object = object.with_texts(&named, &Texts::default());
        let values = Listened::to(known, sample.most_values);
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
        if self.object.names_keys() {
            return Err(
                "texts as keys cannot be heard, since their order is that of all texts".to_owned()
            );
        }
        let history = recorded(told, self.values.take(), self.conventions);
        let mut history = history.map_err(|problem| problem.to_string())?;
        self.object.name_items(&mut history);
        let texts = Texts::of(&history, &self.object.spec, &[]);
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
        self.values.put(Arc::clone(history.values()));
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

    fn is_dispensable(&self, op: &Invocation) -> bool {
        self.object.is_read_only(op, None)
    }

    fn weight(&self, answer: &Datum) -> usize {
        let items = match answer {
            Datum::Map(entries) => entries.len(),
            _ => answer.count(),
        };
        1 + items
    }

    fn explain(&self, state: &SpecState, op: &Invocation, answer: &Datum) -> String {
        let is_possible =
            self.object.outcomes(state, op).iter().any(|(_, result)| result == answer);
        match is_possible {
            true => String::new(),
            // Texts as keys are never heard, so there are none to name.
            false => {
                let words = Words { values: self.values.values(), texts: &Texts::default() };
                self.object.explain(&words, state, op, Some(answer))
            }
        }
    }

    fn steps(&self, state: &SpecState, op: &Invocation, answer: Option<&Datum>) -> Vec<SpecState> {
        let outcomes = self.object.outcomes(state, op).into_iter();
        let fits = |result: &Datum| answer.is_none_or(|answer| answer == result);
        outcomes.filter(|(_, result)| fits(result)).map(|(after, _)| after).collect()
    }

    fn is_full(&self) -> bool {
        self.values.is_full()
    }

    fn mention(&self, by: Named<'_, Self>, tell: &mut dyn FnMut(ValueId)) {
        match by {
            Named::State(state) => state.iter().for_each(|datum| mention(datum, tell)),
            Named::Op(op) => op.1.iter().for_each(|datum| mention(datum, tell)),
            Named::Answer(answer) => mention(answer, tell),
        }
    }

    fn keep_only(&mut self, named: Vec<ValueId>) {
        self.values.keep_only(named);
    }
}

/// Tells the values that are in a datum: opaque data are ids of values.
fn mention(datum: &Datum, tell: &mut dyn FnMut(ValueId)) {
    match datum {
        Datum::Value(id) => tell(ValueId(*id as u32)),
        Datum::Tuple(_)
        | Datum::List(_)
        | Datum::LongList(_)
        | Datum::Set(_)
        | Datum::LongSet(_) => datum.elements().for_each(|item| mention(item, tell)),
        Datum::Map(entries) => {
            for (key, value) in entries {
                mention(key, tell);
                mention(value, tell);
            }
        }
        Datum::Null
        | Datum::Bool(_)
        | Datum::Int(_)
        | Datum::Key(_)
        | Datum::Variant(_)
        | Datum::Tid(_) => {}
    }
}
