//! Rows of Python as histories.

use crate::values::from_python;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use seriatim::history::{
    Builder, Call, History, InputError, Interval, Outcome, Return, Time, ValueId,
};

/// One operation: process, op, arg (`None` is none), result, call, return (`None` if it is
/// pending).
pub type Row<'py> = (
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Bound<'py, PyAny>,
    Time,
    Option<Time>,
);

/// The fields of a row.
pub fn row<'py>(index: usize, row: &Bound<'py, PyAny>) -> PyResult<Row<'py>> {
    row.extract().map_err(|error| {
        PyTypeError::new_err(format!(
            "row {index}: expected (process, op, arg, result, call, return), found {}: {error}",
            row.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string())
        ))
    })
}

/// The history that rows tell.
pub fn history(rows: &Bound<'_, PyAny>, source: &str) -> PyResult<History> {
    let refused = |error: InputError| PyValueError::new_err(error.to_string());
    let mut builder = Builder::new(source);
    for (index, told) in rows.try_iter()?.enumerate() {
        let (process, op, arg, result, call, ret) = row(index, &told?)?;
        let process = match process.is_none() {
            true => None,
            false => Some(builder.process(&from_python(&process)?)),
        };
        let mut called = Call::new(builder.method(&op.extract::<String>()?));
        if !arg.is_none() {
            called = called.arg(interned(&mut builder, &arg)?);
        }
        let result = match ret {
            Some(_) => interned(&mut builder, &result)?,
            None => ValueId::ABSENT,
        };
        let outcome = if ret.is_some() { Outcome::Ok } else { Outcome::Pending };
        let interval = Interval { call, ret };
        let returned = Return::new(outcome, result);
        builder
            .operation(index as u64 + 1, process, called, interval, returned)
            .map_err(refused)?;
    }
    builder.finish().map_err(refused)
}

fn interned(builder: &mut Builder, object: &Bound<'_, PyAny>) -> PyResult<ValueId> {
    let value = from_python(object)?;
    Ok(builder.values().intern(&value))
}
