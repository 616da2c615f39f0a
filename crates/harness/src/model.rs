//! A specification from a closure: the object as one would write it for one thread.

use crate::reply::Reply;
use crate::subject::Caller;
use seriatim_history::{History, InputError, Outcome, Value, ValueId};
use seriatim_spec::{Bound, Interpretation, Next, Reader, Spec};
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

/// A call that a model is asked about.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ModelCall {
    name: Arc<str>,
    arg: Option<Value>,
    caller: Caller,
}

impl ModelCall {
    /// The operation's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The argument.
    ///
    /// # Panics
    /// If the operation takes none, or another type.
    pub fn arg<A: crate::Argument>(&self) -> A {
        let arg = self.arg.as_ref().and_then(A::from_value);
        arg.unwrap_or_else(|| {
            panic!("the model asks for another argument type than `{self:?}` has")
        })
    }

    /// Who calls.
    pub fn caller(&self) -> Caller {
        self.caller
    }

    pub(crate) fn value(&self) -> Option<&Value> {
        self.arg.as_ref()
    }
}

impl Debug for ModelCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let arg = self.arg.as_ref().map(Value::to_string).unwrap_or_default();
        write!(f, "{}({arg})", self.name)
    }
}

/// What a call returned, as the history has it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Answered(pub Reply);

impl Debug for Answered {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Reply::Answer(None) => f.write_str("nothing"),
            Reply::Answer(Some(value)) => write!(f, "{value}"),
            Reply::Failed(None) => f.write_str("a failure"),
            Reply::Failed(Some(value)) => write!(f, "the failure {value}"),
            Reply::Unknown | Reply::Waits => f.write_str("nothing known"),
        }
    }
}

/// A model's state and its one function.
pub(crate) struct Model<M, F> {
    pub initial: M,
    pub step: F,
}

impl<M, F> Spec for Model<M, F>
where
    M: Clone + Eq + Hash + Debug + Send + Sync,
    F: Fn(&mut M, &ModelCall) -> Reply + Send + Sync,
{
    type State = M;
    type Op = ModelCall;
    type Ret = Answered;

    fn initial(&self) -> M {
        self.initial.clone()
    }

    fn step(&self, state: &M, op: &ModelCall, ret: Option<&Answered>) -> Next<M> {
        let mut after = state.clone();
        let reply = (self.step)(&mut after, op);
        let possible = reply != Reply::Waits && ret.is_none_or(|ret| ret.0 == reply);
        Next::when(possible, || after)
    }

    fn explain(&self, state: &M, op: &ModelCall, ret: Option<&Answered>) -> String {
        let reply = (self.step)(&mut state.clone(), op);
        match (reply, ret) {
            (Reply::Waits, _) => format!("{op:?} would have to wait in state {state:?}"),
            (reply, Some(ret)) if reply != ret.0 => {
                let right = Answered(reply);
                format!("{op:?} cannot return {ret:?} in state {state:?}: it returns {right:?}")
            }
            _ => String::new(),
        }
    }
}

/// Reads the histories of a test under a specification over [`ModelCall`]s.
pub(crate) struct ModelReader<S> {
    pub spec: Arc<S>,
    pub name: String,
}

impl<S: Spec<Op = ModelCall, Ret = Answered> + 'static> Reader for ModelReader<S> {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn read(&self, history: &mut History) -> Result<Interpretation, InputError> {
        let mut bound: Bound<S> = Bound::new(self.spec.clone());
        let classes: Vec<_> = history
            .operations()
            .map(|operation| {
                let values = history.values();
                let get = |id: ValueId| id.is_present().then(|| values.get(id));
                let process = history.process_name(operation.process());
                let thread = process.as_int().and_then(|number| usize::try_from(number).ok());
                let op = ModelCall {
                    name: operation.method().into(),
                    arg: get(operation.arg()),
                    caller: thread.map_or(Caller::Main, Caller::Thread),
                };
                let ret = match operation.outcome() {
                    Outcome::Ok => Some(Reply::Answer(get(operation.result()))),
                    Outcome::Failed => Some(Reply::Failed(get(operation.result()))),
                    Outcome::Pending => None,
                };
                Some(bound.class(op, ret.map(Answered)))
            })
            .collect();
        Ok(Interpretation::new(Arc::new(bound), classes))
    }
}
