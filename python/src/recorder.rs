//! The recorder: operations of threads and tasks as they happen.
//!
//! Its clock is one counter that every call and every return increments, so an interval contains
//! its operation whatever the machine's clocks do. Arguments and results are kept as they are;
//! lists, tuples, dicts and sets, which may change afterwards, are copied. An operation that ends
//! with an exception is pending, and its thread or task goes on under another name: nobody knows
//! whether the operation happened, or when.

use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PySet, PyTuple};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Numbers of threads, each used once.
static THREADS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static THREAD: u64 = THREADS.fetch_add(1, Ordering::Relaxed);
}

#[derive(Default)]
struct Recorded {
    operations: Vec<Recording>,
    /// The number of each caller; a task is kept, so that no other gets its address.
    callers: HashMap<Caller, u64>,
    tasks: Vec<Py<PyAny>>,
    next: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Caller {
    Thread(u64),
    Task(usize),
}

struct Recording {
    process: Process,
    op: Py<PyAny>,
    arg: Option<Py<PyAny>>,
    result: Option<Py<PyAny>>,
    call: u64,
    ret: Option<u64>,
}

enum Process {
    Numbered(u64),
    Named(Py<PyAny>),
}

impl Recording {
    fn clone_ref(&self, py: Python<'_>) -> Recording {
        let same = |object: &Option<Py<PyAny>>| object.as_ref().map(|object| object.clone_ref(py));
        Recording {
            process: match &self.process {
                Process::Numbered(number) => Process::Numbered(*number),
                Process::Named(name) => Process::Named(name.clone_ref(py)),
            },
            op: self.op.clone_ref(py),
            arg: same(&self.arg),
            result: same(&self.result),
            ..*self
        }
    }
}

/// Records operations of threads and tasks.
#[pyclass(frozen, subclass, module = "seriatim")]
pub struct Recorder {
    clock: AtomicU64,
    recorded: Mutex<Recorded>,
}

impl Recorder {
    fn recorded(&self) -> MutexGuard<'_, Recorded> {
        self.recorded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// A copy. Whatever makes objects may run the collector, and that whatever users have: nobody
    /// may hold the lock meanwhile.
    fn snapshot(&self, py: Python<'_>) -> Vec<Recording> {
        self.recorded().operations.iter().map(|recording| recording.clone_ref(py)).collect()
    }
}

#[pymethods]
impl Recorder {
    #[new]
    fn new() -> Self {
        Recorder { clock: AtomicU64::new(0), recorded: Mutex::default() }
    }

    /// An operation, to be used with `with`: it is called on entering and returns on leaving.
    #[pyo3(signature = (name, arg=None, *, process=None))]
    fn op(
        slf: Py<Self>,
        name: Py<PyAny>,
        arg: Option<Bound<'_, PyAny>>,
        process: Option<Py<PyAny>>,
    ) -> PyResult<Handle> {
        let arg = arg.map(kept).transpose()?;
        Ok(Handle { recorder: slf, called: Some((name, arg, process)), index: None, result: None })
    }

    /// Calls a function as an operation, and gives its result.
    #[pyo3(signature = (name, function, *args))]
    fn call<'py>(
        slf: Bound<'py, Self>,
        name: Py<PyAny>,
        function: &Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let arg = match args.len() {
            0 => None,
            1 => Some(args.get_item(0)?),
            _ => Some(args.clone().into_any()),
        };
        let mut handle = Recorder::op(slf.unbind(), name, arg, None)?;
        handle.begin(function.py())?;
        match function.call1(args) {
            Ok(result) => {
                handle.result = Some(result.clone().unbind());
                handle.end(function.py())?;
                Ok(result)
            }
            Err(error) => {
                handle.give_up(function.py())?;
                Err(error)
            }
        }
    }

    /// What was recorded so far, as rows `(process, op, arg, result, call, return)`.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        for recording in self.snapshot(py) {
            let Recording { process, op, arg, result, call, ret } = recording;
            let process = match process {
                Process::Numbered(number) => number.into_pyobject(py)?.into_any(),
                Process::Named(name) => name.into_bound(py),
            };
            rows.append((process, op, arg, result, call, ret))?;
        }
        Ok(rows)
    }

    fn __len__(&self) -> usize {
        self.recorded().operations.len()
    }
}

/// What is called: the name, the argument, and the process if it is named.
type Called = (Py<PyAny>, Option<Py<PyAny>>, Option<Py<PyAny>>);

/// An operation of a recorder.
#[pyclass(module = "seriatim")]
pub struct Handle {
    recorder: Py<Recorder>,
    called: Option<Called>,
    index: Option<usize>,
    /// What it returns; set before it is left.
    #[pyo3(get, set)]
    result: Option<Py<PyAny>>,
}

impl Handle {
    fn begin(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some((op, arg, process)) = self.called.take() else {
            return Err(PyRuntimeError::new_err("an operation is called once"));
        };
        let process = match process {
            Some(name) => Process::Named(name),
            None => Process::Numbered(caller(py, self.recorder.get())?),
        };
        let recorder = self.recorder.get();
        let mut recorded = recorder.recorded();
        self.index = Some(recorded.operations.len());
        recorded.operations.push(Recording { process, op, arg, result: None, call: 0, ret: None });
        // Last: what is before the operation is no part of it.
        let last = recorded.operations.len() - 1;
        recorded.operations[last].call = recorder.now();
        Ok(())
    }

    fn end(&mut self, py: Python<'_>) -> PyResult<()> {
        let now = self.recorder.get().now();
        let result =
            self.result.as_ref().map(|result| kept(result.bind(py).clone())).transpose()?;
        let Some(index) = self.index.take() else {
            return Err(PyRuntimeError::new_err("an operation returns once, after it was called"));
        };
        let mut recorded = self.recorder.get().recorded();
        let recording = &mut recorded.operations[index];
        (recording.result, recording.ret) = (result, Some(now));
        Ok(())
    }

    /// It stays pending: the caller goes on under another number.
    fn give_up(&mut self, py: Python<'_>) -> PyResult<()> {
        self.index = None;
        let (caller, _) = who(py)?;
        self.recorder.get().recorded().callers.remove(&caller);
        Ok(())
    }
}

#[pymethods]
impl Handle {
    fn __enter__(mut slf: PyRefMut<'_, Self>) -> PyResult<PyRefMut<'_, Self>> {
        let py = slf.py();
        slf.begin(py)?;
        Ok(slf)
    }

    #[pyo3(signature = (kind, _error, _trace))]
    fn __exit__(
        &mut self,
        py: Python<'_>,
        kind: Option<Py<PyAny>>,
        _error: Option<Py<PyAny>>,
        _trace: Option<Py<PyAny>>,
    ) -> PyResult<bool> {
        match kind {
            None => self.end(py)?,
            Some(_) => self.give_up(py)?,
        }
        Ok(false)
    }
}

/// The number of whoever calls: a task if one is running, else a thread.
fn caller(py: Python<'_>, recorder: &Recorder) -> PyResult<u64> {
    let (caller, task) = who(py)?;
    let mut recorded = recorder.recorded();
    if let Some(&number) = recorded.callers.get(&caller) {
        return Ok(number);
    }
    let number = recorded.next;
    recorded.next += 1;
    recorded.callers.insert(caller, number);
    recorded.tasks.extend(task);
    Ok(number)
}

fn who(py: Python<'_>) -> PyResult<(Caller, Option<Py<PyAny>>)> {
    let here = Caller::Thread(THREAD.with(|number| *number));
    let Some((running_loop, current_task)) = asyncio(py)? else { return Ok((here, None)) };
    let running = running_loop.bind(py).call0()?;
    if running.is_none() {
        return Ok((here, None));
    }
    let task = current_task.bind(py).call1((running,))?;
    match task.is_none() {
        true => Ok((here, None)),
        false => Ok((Caller::Task(task.as_ptr() as usize), Some(task.unbind()))),
    }
}

/// What tells the running loop of asyncio, and its task; `None` if nobody has loaded asyncio: then
/// there is no task. It is not loaded from here: a process that forks meanwhile would have a child
/// that waits for ever.
fn asyncio(py: Python<'_>) -> PyResult<Option<&'static (Py<PyAny>, Py<PyAny>)>> {
    static FUNCTIONS: PyOnceLock<(Py<PyAny>, Py<PyAny>)> = PyOnceLock::new();
    if let Some(known) = FUNCTIONS.get(py) {
        return Ok(Some(known));
    }
    let modules = MODULES.import(py, "sys", "modules")?.cast::<PyDict>()?;
    let Some(module) = modules.get_item(intern!(py, "asyncio"))? else { return Ok(None) };
    // Half loaded it has neither.
    let running_loop = module.getattr_opt(intern!(py, "_get_running_loop"))?;
    let current_task = module.getattr_opt(intern!(py, "current_task"))?;
    let (Some(running_loop), Some(current_task)) = (running_loop, current_task) else {
        return Ok(None);
    };
    Ok(Some(FUNCTIONS.get_or_init(py, || (running_loop.unbind(), current_task.unbind()))))
}

static MODULES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static COPY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Loads what recorders need, so that none of them loads anything while it records.
pub fn prepare(py: Python<'_>) -> PyResult<()> {
    MODULES.import(py, "sys", "modules")?;
    COPY.import(py, "copy", "deepcopy")?;
    Ok(())
}

/// A value as it is now.
fn kept(value: Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let may_change = value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
        || value.is_instance_of::<PyDict>()
        || value.is_instance_of::<PySet>();
    match may_change {
        false => Ok(value.unbind()),
        true => Ok(COPY.import(value.py(), "copy", "deepcopy")?.call1((value,))?.unbind()),
    }
}
