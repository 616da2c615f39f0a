//! Seriatim for Python: the extension module `seriatim._seriatim`. What users see is in
//! `seriatim/__init__.py`.
//!
//! A check of a built-in specification runs without the interpreter's lock, on a thread of its own;
//! the thread that asked looks for signals meanwhile, so that Ctrl-C ends it. A specification in
//! Python is asked by the thread that called, which has the lock already. Checks that are under way
//! when the interpreter ends are stopped first (`ending`).

mod ending;
mod recorder;
mod rows;
mod spec;
mod values;

use crate::ending::Underway;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use seriatim::foreign::check_model;
use seriatim::history::{ReadOptions, read_bytes, read_with};
use seriatim::limits::Cancel;
use seriatim::limits::account::Counting;
use seriatim::question::{Answered, Question, Refused, Specified};
use seriatim::{Failures, History, Options};
use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The command is in here, and its limits count every byte.
#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// An answered question.
#[pyclass(frozen)]
struct Answer(Answered);

#[pymethods]
impl Answer {
    #[getter]
    fn verdict(&self) -> &'static str {
        self.0.checked.verdict.word()
    }

    fn json(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.json())
    }

    fn text(&self, py: Python<'_>, width: usize) -> String {
        py.detach(|| self.0.text(width))
    }

    fn html<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let page = py.detach(|| self.0.html());
        PyBytes::new(py, &page)
    }
}

/// How to check.
#[derive(FromPyObject)]
struct Asked {
    #[pyo3(item)]
    spec: Option<String>,
    #[pyo3(item)]
    seri: Option<String>,
    #[pyo3(item)]
    source: String,
    #[pyo3(item)]
    time: Option<f64>,
    #[pyo3(item)]
    memory: Option<usize>,
    #[pyo3(item)]
    threads: Option<usize>,
    #[pyo3(item)]
    observe: bool,
    #[pyo3(item)]
    independent: bool,
}

impl Asked {
    /// The time limit, and when it is over.
    fn time(&self) -> PyResult<Option<(Duration, Instant)>> {
        let Some(seconds) = self.time else { return Ok(None) };
        let refused = |reason: String| PyValueError::new_err(format!("time: {reason}"));
        let time =
            Duration::try_from_secs_f64(seconds).map_err(|error| refused(error.to_string()))?;
        let end = Instant::now().checked_add(time);
        Ok(Some((time, end.ok_or_else(|| refused(format!("{seconds} seconds are too many")))?)))
    }

    fn question<'q>(&'q self, cancel: &'q Cancel, time: Option<Duration>) -> Question<'q> {
        let usual = Options::default();
        let options = Options {
            time,
            memory: self.memory.unwrap_or(usual.memory),
            threads: self.threads.unwrap_or(usual.threads).max(1),
            cancel: Some(cancel),
            ..usual
        };
        let spec = match (&self.seri, &self.spec) {
            (Some(source), _) => Specified::Seri(source),
            (None, Some(name)) => Specified::Name(name),
            (None, None) => Specified::ByHistory,
        };
        let failures = if self.observe { Failures::Observe } else { Failures::Drop };
        Question { spec, failures, options, ..Question::default() }
    }

    /// Reads a history and checks it, with an ear for signals.
    fn answer(
        &self,
        py: Python<'_>,
        read: impl FnOnce() -> Result<History, Refused> + Send,
    ) -> PyResult<Answer> {
        let (time, end) = self.time()?.unzip();
        let cancel = Cancel::at(end);
        let _underway = Underway::new(&cancel)?;
        let work = || {
            let history = read()?;
            self.question(&cancel, time).answer(history)
        };
        let answered = py.detach(|| heeding_signals(&cancel, work))?;
        answered.map(Answer).map_err(|Refused(message)| PyValueError::new_err(message))
    }
}

/// Does something on another thread. A signal that Python makes an exception of ends it.
fn heeding_signals<T: Send>(cancel: &Cancel, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    std::thread::scope(|scope| {
        let (done, waiting) = channel();
        scope.spawn(move || {
            // Whoever panics hangs up.
            let _ = done.send(cancel.during(work));
        });
        let mut interruption = None;
        loop {
            match waiting.recv_timeout(LOOK) {
                Ok(Ok(result)) => break interruption.map_or(Ok(result), Err),
                // Time is no reason to leave a reader: it gives what it has, or an answer
                // "unknown".
                Ok(Err(stopped)) => {
                    let late = || PyValueError::new_err(format!("unknown: {}", stopped.0));
                    break Err(interruption.unwrap_or_else(late));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    break Err(PyValueError::new_err(
                        "this is a defect of Seriatim; please report it",
                    ));
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(signal) = Python::attach(|py| py.check_signals()) {
                        cancel.raise();
                        interruption.get_or_insert(signal);
                    }
                }
            }
        }
    })
}

/// Checks a history in any format.
#[pyfunction]
fn check_text(py: Python<'_>, text: &[u8], asked: Asked) -> PyResult<Answer> {
    let options = ReadOptions { format: None, independent: asked.independent };
    asked.answer(py, || Ok(read_bytes(text.to_vec(), &asked.source, options)?))
}

/// Checks the history in a file.
#[pyfunction]
fn check_file(py: Python<'_>, path: PathBuf, asked: Asked) -> PyResult<Answer> {
    let options = ReadOptions { format: None, independent: asked.independent };
    asked.answer(py, || Ok(read_with(&path, options)?))
}

/// Checks rows `(process, op, arg, result, call, return)`.
#[pyfunction]
fn check_rows(py: Python<'_>, rows: &Bound<'_, PyAny>, asked: Asked) -> PyResult<Answer> {
    let history = rows::history(rows, &asked.source)?;
    asked.answer(py, || Ok(history))
}

/// Checks rows under a specification in Python.
#[pyfunction]
fn check_spec(
    rows: &Bound<'_, PyAny>,
    spec: &Bound<'_, PyAny>,
    unknown: &Bound<'_, PyAny>,
    asked: Asked,
) -> PyResult<Answer> {
    let (time, end) = asked.time()?.unzip();
    let cancel = Cancel::at(end);
    let _underway = Underway::new(&cancel)?;
    let (model, operations) = spec::read(rows, spec, unknown)?;
    let error = model.error.clone();
    let answered = check_model(model, &operations, &asked.question(&cancel, time));
    if let Some(error) = error.lock().ok().and_then(|mut error| error.take()) {
        return Err(error);
    }
    answered.map(Answer).map_err(|Refused(message)| PyValueError::new_err(message))
}

/// The command, in this process: its words without the name of the program.
#[pyfunction]
fn command(py: Python<'_>, words: Vec<std::ffi::OsString>) -> u8 {
    let words = std::iter::once("seriatim".into()).chain(words);
    py.detach(|| seriatim::command::run(words, Instant::now()))
}

#[pymodule]
fn _seriatim(module: &Bound<'_, PyModule>) -> PyResult<()> {
    recorder::prepare(module.py())?;
    ending::prepare(module)?;
    module.add_class::<Answer>()?;
    module.add_class::<recorder::Recorder>()?;
    module.add_function(wrap_pyfunction!(check_text, module)?)?;
    module.add_function(wrap_pyfunction!(check_file, module)?)?;
    module.add_function(wrap_pyfunction!(check_rows, module)?)?;
    module.add_function(wrap_pyfunction!(check_spec, module)?)?;
    module.add_function(wrap_pyfunction!(command, module)?)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
