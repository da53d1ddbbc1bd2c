//! Errors of the engine as the exceptions NumPy would raise.

use crate::loc::here;
use crate::outcall;
use forerun::{Error, ErrorKind, Loc};
use pyo3::exceptions::{
    PyFloatingPointError, PyIndexError, PyKeyboardInterrupt, PyMemoryError, PyOverflowError, PyRuntimeError,
    PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::PyList;

/// The exception for an error. Its text is the error's own, with the lines that submitted and read. Needs the GIL.
#[cold]
pub(crate) fn raise(error: Error) -> PyErr {
    // What is refused when it is called has no line of its own yet: the caller's.
    let unplaced = error.submitted() == Loc::UNKNOWN && error.read() == Loc::UNKNOWN;
    let error = match Python::try_attach(here) {
        Some(line) if unplaced && error.kind() != ErrorKind::Interrupted => error.submitted_at(line),
        _ => error,
    };
    let text = error.to_string();
    match error.kind() {
        ErrorKind::Value => PyValueError::new_err(text),
        ErrorKind::Type => PyTypeError::new_err(text),
        ErrorKind::Index => PyIndexError::new_err(text),
        ErrorKind::Overflow => PyOverflowError::new_err(text),
        ErrorKind::Float => PyFloatingPointError::new_err(text),
        ErrorKind::Memory => PyMemoryError::new_err(text),
        ErrorKind::Interrupted => PyKeyboardInterrupt::new_err(text),
        ErrorKind::Runtime => PyRuntimeError::new_err(text),
    }
}

/// One exception for several errors: the only one itself, else a group.
#[cold]
pub(crate) fn raise_all(py: Python<'_>, errors: Vec<Error>) -> PyErr {
    let mut errors = errors;
    if errors.len() == 1 {
        return raise(errors.remove(0));
    }
    let title = format!("{} operations failed", errors.len());
    let group = || -> PyResult<PyErr> {
        let exceptions = PyList::new(py, errors.into_iter().map(|error| raise(error).into_value(py)))?;
        let group = outcall::call(&outcall::function(py, "builtins", "ExceptionGroup")?, (title, exceptions))?;
        Ok(PyErr::from_value(group))
    };
    group().unwrap_or_else(|error| error)
}
