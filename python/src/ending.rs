//! What becomes of checks that are under way when the interpreter ends.
//!
//! Before 3.14, Python ends a daemon thread that wants its lock at that time by unwinding it, and
//! nothing may unwind through Rust: the process would abort. So `atexit` stops every check before
//! it comes to that, and waits until their threads are out of here.

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use seriatim::limits::Cancel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the interpreter waits for checks to end.
const PATIENCE: Duration = Duration::from_secs(5);

struct State {
    next: u64,
    checks: Vec<(u64, Cancel)>,
    is_ending: bool,
}

static STATE: Mutex<State> = Mutex::new(State { next: 0, checks: Vec::new(), is_ending: false });

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A check that is under way.
pub struct Underway(u64);

impl Underway {
    pub fn new(cancel: &Cancel) -> PyResult<Underway> {
        let mut state = state();
        if state.is_ending {
            return Err(PyRuntimeError::new_err("no check begins while Python ends"));
        }
        state.next += 1;
        let number = state.next;
        state.checks.push((number, cancel.clone()));
        Ok(Underway(number))
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        state().checks.retain(|(number, _)| *number != self.0);
    }
}

/// Has `atexit` stop what is under way.
pub fn prepare(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let stop = wrap_pyfunction!(stop_checks, module)?;
    let py = module.py();
    py.import("atexit")?.call_method1("register", (stop,))?;
    // The checks of a process are not those of its children. (Not every system can fork.)
    if let Some(register) = py.import("os")?.getattr_opt("register_at_fork")? {
        let named = PyDict::new(py);
        named.set_item("after_in_child", wrap_pyfunction!(forget_checks, module)?)?;
        register.call((), Some(&named))?;
    }
    Ok(())
}

#[pyfunction]
fn forget_checks() {
    state().checks.clear();
}

#[pyfunction]
fn stop_checks(py: Python<'_>) {
    let is_idle = {
        let mut state = state();
        state.is_ending = true;
        state.checks.iter().for_each(|(_, cancel)| cancel.raise());
        state.checks.is_empty()
    };
    if is_idle {
        return;
    }
    let end = Instant::now() + PATIENCE;
    py.detach(|| {
        while !state().checks.is_empty() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
}
