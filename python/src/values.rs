//! Values of Python in histories.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use seriatim::Value;
use seriatim::history::json_value;

/// How deep lists and maps may nest, as in the formats of histories; a list that holds itself is
/// deeper.
const DEPTH: usize = 128;

/// A value of a history. What has no equal there is refused: its text could make two equal values
/// differ.
pub fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    nested(object, DEPTH)
}

fn nested(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if object.is_none() {
        return Ok(Value::Nil);
    }
    if let Ok(truth) = object.cast::<PyBool>() {
        return Ok(Value::Bool(truth.is_true()));
    }
    if object.is_instance_of::<PyInt>() {
        return match object.extract::<i64>() {
            Ok(number) => Ok(Value::Int(number)),
            Err(_) => number::<PyInt>(object),
        };
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Ok(Value::text(text.to_cow()?.as_ref()));
    }
    if object.is_instance_of::<PyFloat>() {
        return number::<PyFloat>(object);
    }
    let Some(deeper) = depth.checked_sub(1) else {
        return Err(PyTypeError::new_err(format!("lists and dicts nest at most {DEPTH} deep")));
    };
    if object.is_instance_of::<PyList>() || object.is_instance_of::<PyTuple>() {
        let items = object.try_iter()?.map(|item| nested(&item?, deeper));
        return Ok(Value::list(items.collect::<PyResult<Vec<_>>>()?));
    }
    if let Ok(entries) = object.cast::<PyDict>() {
        let entries =
            entries.iter().map(|(key, value)| Ok((nested(&key, deeper)?, nested(&value, deeper)?)));
        return Ok(Value::map(entries.collect::<PyResult<Vec<_>>>()?));
    }
    Err(refused(object))
}

/// A number by its digits: nothing is rounded. They are those of its kind `K`: a class of the user's
/// may show itself in any way.
fn number<K: PyTypeInfo>(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    let digits = object.py().get_type::<K>().call_method1("__repr__", (object,))?;
    json_value(&digits.cast::<PyString>()?.to_cow()?).map_err(|_| refused(object))
}

fn refused(object: &Bound<'_, PyAny>) -> PyErr {
    let found = object.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
    PyTypeError::new_err(format!(
        "expected None, a bool, an int, a finite float, a str, a list, a tuple or a dict, found {found}"
    ))
}
