//! Histories of a user's own specification, in the user's own types.
//!
//! A program that records its operations itself need not go through files and names: it tells a
//! [`Recording`] what was called and what came back, in the types of its [`Spec`], and checks. A
//! [`History`] is made when somebody wants to see it, or when the recording is not decided
//! [without](crate::short).

use crate::{Checked, Options, check, short};
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use seriatim_history::{
    Builder, Call, History, InputError, Interval, OpId, Outcome, Problem, Return, Time, Value,
    ValueId, json_value,
};
use seriatim_spec::{Bound, Interpretation, Reader, Spec, Timed};
use std::fmt::Debug;
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
    operations: Vec<Timed<S::Op, S::Ret>>,
    /// The number of calls and returns so far, which stands for the time.
    events: Time,
    /// The open operation of each process that has one.
    open: HashMap<i64, usize>,
    /// Whether operations were told whole, with times of the caller's.
    is_timed: bool,
}

/// What recordings are called in messages.
const SOURCE: &str = "recording";

/// For how many operations there is room at first.
const FEW: usize = 16;

impl<S: Spec + 'static> Recording<S> {
    /// Nothing recorded yet.
    pub fn new(spec: S) -> Self {
        Recording {
            spec: Arc::new(spec),
            operations: Vec::with_capacity(FEW),
            events: 0,
            open: HashMap::new(),
            is_timed: false,
        }
    }

    /// A process calls an operation.
    pub fn call(&mut self, process: i64, op: S::Op) -> Result<(), InputError> {
        let call = self.next_event();
        match self.open.entry(process) {
            Entry::Vacant(free) => _ = free.insert(self.operations.len()),
            Entry::Occupied(busy) => {
                let (process, open_since) = (process.to_string(), *busy.get() as u64 + 1);
                let problem = Problem::ProcessBusy { process, open_since };
                return Err(InputError::new(SOURCE, self.operations.len() as u64 + 1, problem));
            }
        }
        self.operations.push(Timed { process, op, call, returned: None });
        Ok(())
    }

    /// A process returns from the operation that it called. One that never does is pending.
    pub fn ret(&mut self, process: i64, ret: S::Ret) -> Result<(), InputError> {
        let time = self.next_event();
        let Some(at) = self.open.remove(&process) else {
            let problem = Problem::ReturnWithoutCall { process: process.to_string() };
            return Err(InputError::new(SOURCE, 0, problem));
        };
        self.operations[at].returned = Some((time, ret));
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
        self.is_timed = true;
        let operation = Timed { process, op, call: call_time, returned };
        add(&mut Builder::new(SOURCE), self.operations.len(), &operation)?;
        self.operations.push(operation);
        Ok(())
    }

    /// Ends the recording: what was recorded, to be checked and shown.
    pub fn finish(self) -> Result<Recorded<S>, InputError> {
        let mut builder = Builder::new(SOURCE);
        for (at, operation) in self.operations.iter().enumerate() {
            add(&mut builder, at, operation)?;
        }
        let Recording { spec, operations, is_timed, .. } = self;
        Ok(Recorded { history: builder.finish()?, spec, operations, is_timed })
    }

    /// Decides whether the recorded operations are linearizable. Whoever wants to show a violation
    /// keeps the history: [`finish`](Recording::finish), then [`Recorded::check`].
    pub fn check(self, options: &Options<'_>) -> Result<Checked, InputError> {
        if !self.is_timed
            && let Some(checked) = short::check(&*self.spec, &self.operations, options)
        {
            return Ok(checked);
        }
        self.finish()?.check_history(options)
    }

    fn next_event(&mut self) -> Time {
        self.events += 1;
        self.events - 1
    }
}

/// Adds an operation to a history, as reports show it: a result that is a number or a boolean as
/// what it is, all else as its text.
fn add<O: Debug, R: Debug>(
    builder: &mut Builder,
    at: usize,
    operation: &Timed<O, R>,
) -> Result<OpId, InputError> {
    let process = builder.process(&Value::Int(operation.process));
    let call = Call::new(builder.method(&format!("{:?}", operation.op)));
    let result = operation.result().map_or(ValueId::ABSENT, |result| {
        let text = format!("{result:?}");
        let value = json_value(&text).unwrap_or_else(|_| Value::text(&text));
        builder.values().intern(&value)
    });
    let ret = operation.returned.as_ref().map(|&(time, _)| time);
    let interval = Interval { call: operation.call, ret };
    let ret = Return::new(Outcome::Ok, result);
    builder.operation(at as u64 + 1, Some(process), call, interval, ret)
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
/// assert_eq!(recorded.history().operation(found.operations[0]).to_string(), "() -> 2");
/// assert_eq!(recorded.name(), "Counter");
/// # Ok::<(), seriatim_history::InputError>(())
/// ```
pub struct Recorded<S: Spec> {
    history: History,
    spec: Arc<S>,
    /// By their number in the recording, which is the line of the history less one.
    operations: Vec<Timed<S::Op, S::Ret>>,
    is_timed: bool,
}

impl<S: Spec + 'static> Recorded<S> {
    /// What was recorded, as a history.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// Decides whether it is linearizable.
    pub fn check(&self, options: &Options<'_>) -> Result<Checked, InputError> {
        if !self.is_timed
            && let Some(checked) = short::check(&*self.spec, &self.operations, options)
        {
            return Ok(checked);
        }
        self.check_history(options)
    }

    fn check_history(&self, options: &Options<'_>) -> Result<Checked, InputError> {
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
            let told = &self.operations[operation.line() as usize - 1];
            let ret = operation.ret().and(told.result().cloned());
            let says_nothing = ret.is_none() && self.spec.is_dispensable(&told.op);
            classes.push((!says_nothing).then(|| bound.class(told.op.clone(), ret)));
        }
        Ok(Interpretation::new(Arc::new(bound), classes))
    }
}
