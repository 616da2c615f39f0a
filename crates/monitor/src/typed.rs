//! Histories of a user's own specification, in the user's own types.
//!
//! A program that records its operations itself need not go through files and names: it tells a
//! [`Recording`] what was called and what came back, in the types of its [`Spec`], and checks.

use crate::{Checked, Options, check};
use seriatim_history::{
    Builder, Call, History, InputError, Interval, Outcome, ProcessId, Return, Time, Value, ValueId,
    json_value,
};
use seriatim_spec::{Bound, Interpretation, Reader, Spec};
use std::sync::Arc;

/// Operations of a specification `S` as they were called and returned.
///
/// ```
/// use seriatim_monitor::{Options, Recording};
/// use seriatim_spec::{Next, Spec, Verdict};
///
/// /// A counter; every increment returns the new count.
/// #[derive(Debug)]
/// struct Counter;
///
/// impl Spec for Counter {
///     type State = u32;
///     type Op = ();
///     type Ret = u32;
///     fn initial(&self) -> u32 { 0 }
///     fn step(&self, count: &u32, _: &(), ret: Option<&u32>) -> Next<u32> {
///         Next::when(ret.is_none_or(|seen| *seen == count + 1), || count + 1)
///     }
/// }
///
/// let mut recording = Recording::new(Counter);
/// recording.call(0, ())?;
/// recording.call(1, ())?;
/// recording.ret(0, 1)?;
/// recording.ret(1, 1)?; // two increments cannot both return 1
/// let checked = recording.check(&Options::default())?;
/// assert!(matches!(checked.verdict, Verdict::Violation(_)));
/// # Ok::<(), seriatim_history::InputError>(())
/// ```
pub struct Recording<S: Spec> {
    spec: Arc<S>,
    builder: Builder,
    operations: Vec<(S::Op, Option<S::Ret>)>,
}

impl<S: Spec + 'static> Recording<S> {
    /// Nothing recorded yet.
    pub fn new(spec: S) -> Self {
        Recording {
            spec: Arc::new(spec),
            builder: Builder::new("recording"),
            operations: Vec::new(),
        }
    }

    /// A process calls an operation.
    pub fn call(&mut self, process: i64, op: S::Op) -> Result<(), InputError> {
        let (process, call) = self.begin(process, &op);
        self.builder.call(self.operations.len() as u64 + 1, process, call)?;
        self.operations.push((op, None));
        Ok(())
    }

    /// A process returns from the operation that it called. One that never does is pending.
    pub fn ret(&mut self, process: i64, ret: S::Ret) -> Result<(), InputError> {
        let process = self.builder.process(&Value::Int(process));
        let result = self.shown(&ret);
        let op = self.builder.ret(0, process, Return::new(Outcome::Ok, result))?;
        self.operations[op.index()].1 = Some(ret);
        Ok(())
    }

    /// A process called an operation at a time and returned at another with a result; `None` if it
    /// is pending. Not to be mixed with [`call`](Recording::call) and [`ret`](Recording::ret).
    pub fn operation(
        &mut self,
        process: i64,
        op: S::Op,
        call_time: Time,
        returned: Option<(Time, S::Ret)>,
    ) -> Result<(), InputError> {
        let (process, call) = self.begin(process, &op);
        let result = returned.as_ref().map_or(ValueId::ABSENT, |(_, ret)| self.shown(ret));
        let interval = Interval { call: call_time, ret: returned.as_ref().map(|&(time, _)| time) };
        let line = self.operations.len() as u64 + 1;
        let ret = Return::new(Outcome::Ok, result);
        self.builder.operation(line, Some(process), call, interval, ret)?;
        self.operations.push((op, returned.map(|(_, ret)| ret)));
        Ok(())
    }

    /// Ends the recording: what was recorded, to be checked and shown.
    pub fn finish(self) -> Result<Recorded<S>, InputError> {
        let Recording { spec, builder, operations } = self;
        Ok(Recorded { history: builder.finish()?, spec, operations })
    }

    /// Decides whether the recorded operations are linearizable. Whoever wants to show a violation
    /// keeps the history: [`finish`](Recording::finish), then [`Recorded::check`].
    pub fn check(self, options: &Options<'_>) -> Result<Checked, InputError> {
        self.finish()?.check(options)
    }

    /// A result as reports show it: a number or a boolean as what it is, all else as its text.
    fn shown(&mut self, ret: &S::Ret) -> ValueId {
        let text = format!("{ret:?}");
        let value = json_value(&text).unwrap_or_else(|_| Value::text(&text));
        self.builder.values().intern(&value)
    }

    fn begin(&mut self, process: i64, op: &S::Op) -> (ProcessId, Call) {
        let process = self.builder.process(&Value::Int(process));
        (process, Call::new(self.builder.method(&format!("{op:?}"))))
    }
}

/// The operations of a [`Recording`] that has ended: a history, and the [`Reader`] that gives its
/// operations the meaning that they have in the specification. Both together are all that a report
/// needs.
///
/// ```
/// # use seriatim_monitor::{Options, Recording};
/// # use seriatim_spec::{Next, Reader, Spec, Verdict};
/// # #[derive(Debug)]
/// # struct Counter;
/// # impl Spec for Counter {
/// #     type State = u32;
/// #     type Op = ();
/// #     type Ret = u32;
/// #     fn initial(&self) -> u32 { 0 }
/// #     fn step(&self, count: &u32, _: &(), ret: Option<&u32>) -> Next<u32> {
/// #         Next::when(ret.is_none_or(|seen| *seen == count + 1), || count + 1)
/// #     }
/// # }
/// let mut recording = Recording::new(Counter);
/// recording.call(0, ())?;
/// recording.ret(0, 2)?; // the first increment gives 1
/// let recorded = recording.finish()?;
/// let Verdict::Violation(found) = recorded.check(&Options::default())?.verdict else { panic!() };
/// assert_eq!(recorded.history().operation(found.operations[0]).to_string(), "()() -> 2");
/// assert_eq!(recorded.name(), "Counter");
/// # Ok::<(), seriatim_history::InputError>(())
/// ```
pub struct Recorded<S: Spec> {
    history: History,
    spec: Arc<S>,
    /// By their number in the recording, which is the line of the history less one.
    operations: Vec<(S::Op, Option<S::Ret>)>,
}

impl<S: Spec + 'static> Recorded<S> {
    /// What was recorded, as a history.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Decides whether it is linearizable.
    pub fn check(&self, options: &Options<'_>) -> Result<Checked, InputError> {
        check(&mut self.history.clone(), self, options)
    }
}

impl<S: Spec + 'static> Reader for Recorded<S> {
    /// The name of the specification's type, without the modules that it is in.
    fn name(&self) -> String {
        let name = std::any::type_name::<S>();
        let plain = name.find('<').unwrap_or(name.len());
        let start = name[..plain].rfind("::").map_or(0, |colons| colons + 2);
        name[start..].to_owned()
    }

    fn read(&self, history: &mut History) -> Result<Interpretation, InputError> {
        let mut bound: Bound<S> = Bound::new(self.spec.clone());
        let mut classes = Vec::with_capacity(history.len());
        for operation in history.operations() {
            let (op, ret) = &self.operations[operation.line() as usize - 1];
            let ret = operation.ret().and(ret.clone());
            let says_nothing = ret.is_none() && self.spec.is_read_only(op, None);
            classes.push((!says_nothing).then(|| bound.class(op.clone(), ret)));
        }
        Ok(Interpretation::new(Arc::new(bound), classes))
    }
}
