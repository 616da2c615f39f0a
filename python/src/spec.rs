//! Specifications in Python: states and operations are objects, which get numbers here.
//!
//! Objects that are equal have one number, by a dict; so states have to be hashable. But 1, True and
//! 1.0 are equal, and a step may tell them apart: states are one only if they are of one kind, too,
//! and so on inside of tuples and frozensets. An operation that cannot be hashed gets a number of its
//! own, which only costs time.
//!
//! **What would make it unsound** is a step that changes the state it is given: one number would be
//! two states. Such a state usually has another hash afterwards, and every hash is compared when
//! there is a verdict; an object that has no hash of its own but attributes is refused at once.

use crate::rows::row;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyFrozenSet, PyInt, PyList, PyString, PyTuple};
use seriatim::Next;
use seriatim::foreign::{Model, Operation};
use std::cell::Cell;
use std::sync::{Arc, Mutex, PoisonError};

/// Steps between two looks for signals.
const LOOK_EVERY: u32 = 1 << 10;

const NO_STATE: &str = "None is no state, as a step returns it where an operation is impossible: \
     let `initial`, and what follows, be something else, as () or \"nothing\"";

/// How deep in tuples it is looked for what is compared by identity.
const DEEPEST: u32 = 32;

thread_local! {
    static STEPS: Cell<u32> = const { Cell::new(0) };
}

/// A specification in Python, and the operations that it is asked about.
pub struct PythonSpec {
    name: String,
    step: Py<PyAny>,
    /// Of each number of an operation: its name, argument and result.
    calls: Vec<(Py<PyAny>, Py<PyAny>, Py<PyAny>)>,
    unknown: Py<PyAny>,
    parts: Option<Vec<u64>>,
    states: Mutex<Numbers>,
    /// What was raised.
    pub error: Arc<Mutex<Option<PyErr>>>,
}

/// The numbers of objects.
struct Numbers {
    objects: Vec<Py<PyAny>>,
    /// What they had when they got their numbers.
    hashes: Vec<isize>,
    /// Of objects that are equal, the last one.
    index: Py<PyDict>,
    /// Of each object, the one before it that is equal and of another kind.
    before: Vec<Option<u32>>,
}

impl Numbers {
    fn new(py: Python<'_>) -> Self {
        let index = PyDict::new(py).unbind();
        Numbers { objects: Vec::new(), hashes: Vec::new(), index, before: Vec::new() }
    }

    /// Equal objects have one number.
    fn of(&mut self, object: &Bound<'_, PyAny>) -> PyResult<u32> {
        match self.equal(object)? {
            Some(known) => Ok(known),
            None => self.add(object, None),
        }
    }

    /// Equal states of one kind have one number. None is no state: a step that returned such a state
    /// would say that its operation is impossible.
    fn of_state(&mut self, object: &Bound<'_, PyAny>) -> PyResult<u32> {
        if object.is_none() {
            return Err(PyTypeError::new_err(NO_STATE));
        }
        let equal = self.equal(object)?;
        let mut place = equal;
        while let Some(known) = place {
            if are_of_one_kind(self.objects[known as usize].bind(object.py()), object)? {
                return Ok(known);
            }
            place = self.before[known as usize];
        }
        self.add(object, equal)
    }

    fn equal(&self, object: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
        let known = self.index.bind(object.py()).get_item(object)?;
        known.map(|known| known.extract()).transpose()
    }

    fn add(&mut self, object: &Bound<'_, PyAny>, before: Option<u32>) -> PyResult<u32> {
        if let Some(kind) = compared_by_identity(object, DEEPEST)? {
            return Err(PyTypeError::new_err(format!(
                "{kind} has no __eq__ and __hash__ of its own, so equal ones would differ: \
                 a tuple or a frozen dataclass has"
            )));
        }
        let (next, hash) = (self.objects.len() as u32, object.hash()?);
        self.index.bind(object.py()).set_item(object, next)?;
        self.before.push(before);
        self.objects.push(object.clone().unbind());
        self.hashes.push(hash);
        Ok(next)
    }

    /// Whether all still have the hashes that they had.
    fn are_unchanged(&self, py: Python<'_>) -> PyResult<bool> {
        for (object, hash) in self.objects.iter().zip(&self.hashes) {
            if object.bind(py).hash()? != *hash {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether equal objects are of one type, and what is in tuples and frozensets, too; and zeros have
/// one sign. What is in an object of a user's class is the matter of its `__eq__`.
fn are_of_one_kind(one: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
    if one.is(other) {
        return Ok(true);
    }
    if !one.get_type().is(other.get_type()) {
        return Ok(false);
    }
    if let (Ok(one), Ok(other)) = (one.cast::<PyFloat>(), other.cast::<PyFloat>()) {
        return Ok(one.value().to_bits() == other.value().to_bits());
    }
    if let (Ok(one), Ok(other)) = (one.cast::<PyTuple>(), other.cast::<PyTuple>()) {
        return all_of_one_kind(one.iter().zip(other.iter()));
    }
    if let (Ok(one), Ok(other)) = (one.cast::<PyFrozenSet>(), other.cast::<PyFrozenSet>()) {
        let items = PyDict::new(one.py());
        one.iter().try_for_each(|item| items.set_item(&item, &item))?;
        let pairs = other.iter().map(|item| Ok((items.get_item(&item)?, item)));
        let pairs: Vec<_> = pairs.collect::<PyResult<_>>()?;
        return all_of_one_kind(pairs.into_iter().filter_map(|(one, item)| Some((one?, item))));
    }
    Ok(true)
}

fn all_of_one_kind<'py>(
    pairs: impl IntoIterator<Item = (Bound<'py, PyAny>, Bound<'py, PyAny>)>,
) -> PyResult<bool> {
    for (one, other) in pairs {
        if !are_of_one_kind(&one, &other)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The class of an object, or of one in a tuple or a frozenset, that a user wrote and that equals only
/// itself although it has attributes.
fn compared_by_identity(object: &Bound<'_, PyAny>, deep: u32) -> PyResult<Option<String>> {
    if object.is_instance_of::<PyTuple>() || object.is_instance_of::<PyFrozenSet>() {
        // Lists made of pairs go on for as long as they like.
        let items = (deep > 0).then(|| object.try_iter()).transpose()?;
        for item in items.into_iter().flatten() {
            if let Some(kind) = compared_by_identity(&item?, deep - 1)? {
                return Ok(Some(kind));
            }
        }
        return Ok(None);
    }
    let kind = object.get_type();
    // SAFETY: the flags of a type that lives.
    let flags = unsafe { pyo3::ffi::PyType_GetFlags(kind.as_type_ptr()) };
    if flags & pyo3::ffi::Py_TPFLAGS_HEAPTYPE == 0 {
        return Ok(None);
    }
    let every = object.py().get_type::<PyAny>();
    let has_attributes = || -> PyResult<bool> {
        let own = object.getattr_opt("__dict__")?;
        let own = own.map(|own| own.len()).transpose()?.unwrap_or(0);
        Ok(own > 0 || kind.hasattr("__slots__")?)
    };
    let is_own = kind.getattr("__hash__")?.is(every.getattr("__hash__")?) && has_attributes()?;
    is_own.then(|| kind.name().map(|name| name.to_string())).transpose()
}

/// Reads rows under a specification.
pub fn read(
    rows: &Bound<'_, PyAny>,
    spec: &Bound<'_, PyAny>,
    unknown: &Bound<'_, PyAny>,
) -> PyResult<(PythonSpec, Vec<Operation>)> {
    let py = rows.py();
    let key = spec.getattr("key").ok().filter(|key| !key.is_none());
    let (mut processes, mut keys, mut states) =
        (Numbers::new(py), Numbers::new(py), Numbers::new(py));
    states.of_state(&spec.getattr("initial")?)?;
    let (classes, mut calls, mut operations) = (PyDict::new(py), Vec::new(), Vec::new());
    let mut parts = key.as_ref().map(|_| Vec::new());
    for (index, told) in rows.try_iter()?.enumerate() {
        let (process, op, arg, result, call, ret) = row(index, &told?)?;
        let result = if ret.is_some() { result } else { unknown.clone() };
        let same = same_call(&op, &arg, &result)?;
        let known = classes.get_item(&same).ok().flatten();
        let operation = match known {
            Some(known) => known.extract()?,
            None => {
                let next = calls.len() as u32;
                if same.hash().is_ok() {
                    classes.set_item(&same, next)?;
                }
                if let (Some(parts), Some(key)) = (&mut parts, &key) {
                    parts.push(u64::from(keys.of(&key.call1((&op, &arg))?)?));
                }
                calls.push((op.unbind(), arg.unbind(), result.unbind()));
                next
            }
        };
        let process = match process.is_none() {
            true => None,
            false => Some(i64::from(processes.of(&process)?)),
        };
        if let Some(ret) = ret.filter(|ret| *ret < call) {
            return Err(PyValueError::new_err(format!(
                "row {index}: the operation returns at {ret}, before its call at {call}"
            )));
        }
        operations.push(Operation { process, call, ret, operation });
    }
    let model = PythonSpec {
        name: spec.get_type().name()?.to_string(),
        step: spec.getattr("step")?.unbind(),
        calls,
        unknown: unknown.clone().unbind(),
        parts,
        states: Mutex::new(states),
        error: Arc::default(),
    };
    Ok((model, operations))
}

/// What operations with one number have in common. Things that are equal but not the same (1 and
/// True) are told apart by their types, and those inside other things by how they are shown.
fn same_call<'py>(
    op: &Bound<'py, PyAny>,
    arg: &Bound<'py, PyAny>,
    result: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = op.py();
    let calls = PyTuple::new(py, [op, arg, result])?;
    let kinds = PyTuple::new(py, [op.get_type(), arg.get_type(), result.get_type()])?;
    let is_simple = |object: &&Bound<'py, PyAny>| {
        object.is_none()
            || object.is_exact_instance_of::<PyInt>()
            || object.is_exact_instance_of::<PyString>()
            || object.is_exact_instance_of::<PyBool>()
    };
    let shown = match [op, arg, result].iter().all(is_simple) {
        true => py.None().into_bound(py),
        false => calls.repr()?.into_any(),
    };
    PyTuple::new(py, [calls.into_any(), kinds.into_any(), shown])
}

impl PythonSpec {
    fn try_step(&self, py: Python<'_>, state: u32, operation: u32) -> PyResult<Next<u32>> {
        let steps = STEPS.get().wrapping_add(1);
        STEPS.set(steps);
        if steps.is_multiple_of(LOOK_EVERY) {
            py.check_signals()?;
        }
        let state = self.state(py, state);
        let (op, arg, result) = &self.calls[operation as usize];
        let next = self.step.bind(py).call1((state, op, arg, result))?;
        if next.is_none() {
            return Ok(Next::None);
        }
        let mut states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        if let Ok(several) = next.cast::<PyList>() {
            let several = several.iter().map(|state| states.of_state(&state));
            return Ok(Next::Many(several.collect::<PyResult<_>>()?));
        }
        Ok(Next::One(states.of_state(&next)?))
    }

    /// Keeps what was raised, and says so.
    fn raised(&self, error: PyErr) -> String {
        let told = format!("{}.step raised {error}", self.name);
        self.error.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        told
    }

    fn state(&self, py: Python<'_>, number: u32) -> Py<PyAny> {
        let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
        states.objects[number as usize].clone_ref(py)
    }
}

fn shown(object: &Bound<'_, PyAny>) -> String {
    object.repr().map_or_else(|_| "?".to_owned(), |text| text.to_string())
}

impl Model for PythonSpec {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn initial(&self) -> u32 {
        0
    }

    fn step(&self, state: u32, operation: u32) -> Result<Next<u32>, String> {
        Python::attach(|py| self.try_step(py, state, operation).map_err(|error| self.raised(error)))
    }

    fn complaint(&self) -> Option<String> {
        Python::attach(|py| {
            let states = self.states.lock().unwrap_or_else(PoisonError::into_inner);
            match states.are_unchanged(py) {
                Ok(true) => None,
                Ok(false) => Some(format!("{}.step changes the state that it is given", self.name)),
                Err(error) => Some(self.raised(error)),
            }
        })
    }

    fn part(&self, operation: u32) -> Option<u64> {
        self.parts.as_ref().map(|parts| parts[operation as usize])
    }

    fn describe(&self, operation: u32) -> String {
        Python::attach(|py| {
            let (op, arg, result) = &self.calls[operation as usize];
            let (op, arg, result) = (op.bind(py), arg.bind(py), result.bind(py));
            let argument = if arg.is_none() { String::new() } else { shown(arg) };
            let name = op.str().map_or_else(|_| "?".to_owned(), |text| text.to_string());
            match result.is(self.unknown.bind(py)) || result.is_none() {
                true => format!("{name}({argument})"),
                false => format!("{name}({argument}) -> {}", shown(result)),
            }
        })
    }

    fn show(&self, state: u32) -> String {
        Python::attach(|py| shown(self.state(py, state).bind(py)))
    }
}
