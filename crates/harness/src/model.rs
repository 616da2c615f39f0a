//! A specification from a closure: the object as one would write it for one thread.

use crate::constancy::{Constancy, Taken, inconstancy};
use crate::reply::Reply;
use crate::scenario::{Step, call_text};
use crate::subject::{Caller, Subject};
use seriatim_history::{History, InputError, Operation, Outcome, Value, ValueId};
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

    /// A step of a scenario as a model is asked about it.
    pub(crate) fn of(subject: &dyn Subject, step: &Step, caller: Caller) -> Self {
        let name = subject.kind(step.kind).method.clone();
        ModelCall { name, arg: step.arg.clone(), caller }
    }

    pub(crate) fn value(&self) -> Option<&Value> {
        self.arg.as_ref()
    }
}

impl Debug for ModelCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&call_text(&self.name, self.arg.as_ref()))
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

impl<M, F> Model<M, F>
where
    M: Clone + Eq + Hash + Debug + Send + Sync + 'static,
    F: Fn(&mut M, &ModelCall) -> Reply + Send + Sync + 'static,
{
    /// Whether the one function is one.
    pub fn constancy(self: Arc<Self>) -> Constancy {
        Arc::new(move |history| {
            let calls: Vec<ModelCall> = history.operations().map(call_of).collect();
            inconstancy(&self.initial, &calls, |state, call| {
                let mut after = state.clone();
                let answer = Answered((self.step)(&mut after, call));
                Taken { answer, after: Some(after) }
            })
        })
    }
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
        let possible = reply != Reply::Waits && ret.is_none_or(|ret| ret.0.is_as(&reply));
        Next::when(possible, || after)
    }

    fn explain(&self, state: &M, op: &ModelCall, ret: Option<&Answered>) -> String {
        let reply = (self.step)(&mut state.clone(), op);
        match (reply, ret) {
            (Reply::Waits, _) => format!("{op:?} would have to wait in state {state:?}"),
            (reply, Some(ret)) if !ret.0.is_as(&reply) => {
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
        let spec = self.spec.clone();
        Ok(interpreted(spec, history, |call, reply| (call, reply.map(Answered))))
    }
}

/// Reads the histories of a test under a user's own specification.
pub(crate) struct OwnReader<S, O, R> {
    pub spec: Arc<S>,
    pub op: O,
    pub ret: R,
}

impl<S, O, R> OwnReader<S, O, R>
where
    S: Spec + 'static,
    O: Fn(&ModelCall) -> S::Op + Send + Sync + 'static,
    R: Fn(&ModelCall, &Reply) -> S::Ret + Send + Sync + 'static,
{
    /// Whether the steps of the specification are always the same.
    pub fn constancy(self: Arc<Self>) -> Constancy {
        Arc::new(move |history| {
            let meant = |operation| {
                let (call, reply) = (call_of(operation), reply_of(operation));
                ((self.op)(&call), reply.map(|reply| (self.ret)(&call, &reply)))
            };
            let calls: Vec<(S::Op, Option<S::Ret>)> = history.operations().map(meant).collect();
            inconstancy(&self.spec.initial(), &calls, |state, (op, ret)| {
                let next = self.spec.step(state, op, ret.as_ref());
                let any = self.spec.step(state, op, None);
                let after = next.clone().into_iter().chain(any.clone()).next();
                Taken { answer: (next, any), after }
            })
        })
    }
}

impl<S, O, R> Reader for OwnReader<S, O, R>
where
    S: Spec + 'static,
    O: Fn(&ModelCall) -> S::Op + Send + Sync,
    R: Fn(&ModelCall, &Reply) -> S::Ret + Send + Sync,
{
    fn name(&self) -> String {
        std::any::type_name::<S>().to_owned()
    }

    fn read(&self, history: &mut History) -> Result<Interpretation, InputError> {
        Ok(interpreted(self.spec.clone(), history, |call, reply| {
            ((self.op)(&call), reply.map(|reply| (self.ret)(&call, &reply)))
        }))
    }
}

/// The operations of a history as a specification knows them; a reply is `None` if nobody knows it.
fn interpreted<S: Spec + 'static>(
    spec: Arc<S>,
    history: &History,
    read: impl Fn(ModelCall, Option<Reply>) -> (S::Op, Option<S::Ret>),
) -> Interpretation {
    let mut bound: Bound<S> = Bound::new(spec);
    let classes: Vec<_> = history
        .operations()
        .map(|operation| {
            let (op, ret) = read(call_of(operation), reply_of(operation));
            Some(bound.class(op, ret))
        })
        .collect();
    Interpretation::new(Arc::new(bound), classes)
}

fn present(operation: Operation<'_>, id: ValueId) -> Option<Value> {
    id.is_present().then(|| operation.history.values().get(id))
}

pub(crate) fn call_of(operation: Operation<'_>) -> ModelCall {
    let process = operation.history.process_name(operation.process());
    let thread = process.as_int().and_then(|number| usize::try_from(number).ok());
    ModelCall {
        name: operation.method().into(),
        arg: present(operation, operation.arg()),
        caller: thread.map_or(Caller::Main, Caller::Thread),
    }
}

fn reply_of(operation: Operation<'_>) -> Option<Reply> {
    let result = present(operation, operation.result());
    match operation.outcome() {
        Outcome::Ok => Some(Reply::Answer(result)),
        Outcome::Failed => Some(Reply::Failed(result)),
        Outcome::Pending => None,
    }
}
