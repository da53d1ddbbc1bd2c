//! Converts engine errors to the exceptions that NumPy would raise.

use crate::loc::here;
use crate::pycall;
use forerun::{Array, Error, ErrorKind, Loc};
use pyo3::exceptions::{
    PyFloatingPointError, PyIndexError, PyKeyboardInterrupt, PyMemoryError, PyOverflowError, PyRuntimeError,
    PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyType};
use std::sync::{Mutex, PoisonError};

pyo3::create_exception!(
    forerun.np.linalg,
    LinAlgError,
    PyValueError,
    "A matrix that an op cannot take: singular, not positive definite, or without a decomposition that was found."
);

/// The classes that a dialect raises instead of the built-in ones: a dictionary from the one to the other.
static CLASSES: Mutex<Option<Py<PyDict>>> = Mutex::new(None);

/// Sets the exception classes that engine errors are raised as, by the built-in class; `None` for the built-in ones.
/// Returns the previous setting. Each class must derive from the one that it replaces.
#[pyfunction]
pub(crate) fn set_error_classes(classes: Option<Py<PyDict>>) -> Option<Py<PyDict>> {
    std::mem::replace(&mut CLASSES.lock().unwrap_or_else(PoisonError::into_inner), classes)
}

/// The class that replaces a built-in exception.
fn replacement<'py>(py: Python<'py>, plain: &Bound<'py, PyType>) -> Option<Bound<'py, PyType>> {
    let classes = CLASSES.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.clone_ref(py).into_bound(py);
    classes.get_item(plain).ok()??.cast_into().ok()
}

/// The exception for an error. Its text is the error's own, with the lines that submitted and read. Needs the GIL.
#[cold]
pub(crate) fn raise(error: Error) -> PyErr {
    raise_with(error, "")
}

/// The exception for a failed read of an array. If a failed write left a previous value, the text mentions `restore()`.
#[cold]
pub(crate) fn raise_read(array: &Array, error: Error) -> PyErr {
    let left = error.kind() != ErrorKind::Interrupted && array.is_restorable();
    raise_with(error, if left { "\n  restore() returns the array to its value before the failed write" } else { "" })
}

#[cold]
fn raise_with(error: Error, hint: &str) -> PyErr {
    // An error raised by the call itself has no line yet: it gets the caller's.
    let unplaced = error.submitted() == Loc::UNKNOWN && error.read() == Loc::UNKNOWN;
    let error = match Python::try_attach(here) {
        Some(line) if unplaced && error.kind() != ErrorKind::Interrupted => error.submitted_at(line),
        _ => error,
    };
    let text = format!("{error}{hint}");
    Python::attach(|py| {
        let plain = match error.kind() {
            ErrorKind::Value => py.get_type::<PyValueError>(),
            ErrorKind::Type => py.get_type::<PyTypeError>(),
            ErrorKind::Index => py.get_type::<PyIndexError>(),
            ErrorKind::Overflow => py.get_type::<PyOverflowError>(),
            ErrorKind::Float => py.get_type::<PyFloatingPointError>(),
            ErrorKind::Linear => py.get_type::<LinAlgError>(),
            ErrorKind::Memory => py.get_type::<PyMemoryError>(),
            ErrorKind::Interrupted => py.get_type::<PyKeyboardInterrupt>(),
            ErrorKind::Runtime => py.get_type::<PyRuntimeError>(),
        };
        PyErr::from_type(replacement(py, &plain).unwrap_or(plain), text)
    })
}

/// One exception for several errors: a single error as it is, several as a group. Python 3.10 has no groups; there each
/// error is the cause of the previous one.
#[cold]
pub(crate) fn raise_all(py: Python<'_>, errors: Vec<Error>, more: usize) -> PyErr {
    let title = match more {
        0 => format!("{} operations failed", errors.len()),
        _ => format!("{} operations failed, of which {} are listed", errors.len() + more, errors.len()),
    };
    let exceptions: Vec<PyErr> = errors.into_iter().map(raise).collect();
    match pycall::function(py, "builtins", "ExceptionGroup") {
        Ok(kind) if exceptions.len() > 1 => {
            let exceptions = PyList::new(py, exceptions.into_iter().map(|exception| exception.into_value(py)));
            let group = exceptions.and_then(|exceptions| pycall::call(&kind, (title, exceptions)));
            group.map_or_else(|error| error, PyErr::from_value)
        }
        _ => {
            let chained = exceptions.into_iter().rev().reduce(|later, earlier| {
                earlier.set_cause(py, Some(later));
                earlier
            });
            chained.unwrap_or_else(|| PyRuntimeError::new_err(title))
        }
    }
}
