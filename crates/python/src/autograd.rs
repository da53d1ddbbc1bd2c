//! Autograd for Python: switches of the tape, backward, functions with user-defined gradients.

use crate::array::PyArray;
use crate::error::raise;
use crate::loc::here;
use crate::pycall;
use crate::submit;
use forerun::grad::{self, Callback, GradReq};
use forerun::{Array, Error, ErrorKind, Loc};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::cell::Cell;
use std::sync::Arc;

/// Arrays, as a call takes them.
pub(crate) type Arrays<'py> = Vec<Bound<'py, PyArray>>;

/// The engine's arrays of Python objects.
pub(crate) fn handles<'a>(arrays: &'a [Bound<'_, PyArray>]) -> Vec<&'a Array> {
    arrays.iter().map(|a| &a.get().0).collect()
}

/// Turns recording on or off for this thread; returns the previous setting.
#[pyfunction]
pub(crate) fn set_recording(on: bool) -> bool {
    grad::set_recording(on)
}

/// Whether this thread records.
#[pyfunction]
pub(crate) fn is_recording() -> bool {
    grad::is_recording()
}

/// Turns training mode on or off for this thread; returns the previous setting.
#[pyfunction]
pub(crate) fn set_training(on: bool) -> bool {
    grad::set_training(on)
}

/// Whether this thread is in training mode.
#[pyfunction]
pub(crate) fn is_training() -> bool {
    grad::is_training()
}

/// Sets whether integer and boolean arrays have gradients. Returns the previous setting.
#[pyfunction]
pub(crate) fn set_integer_gradients(on: bool) -> bool {
    grad::set_integer_gradients(on)
}

fn grad_req(name: &str) -> PyResult<GradReq> {
    match name {
        "write" => Ok(GradReq::Write),
        "add" => Ok(GradReq::Add),
        "null" => Ok(GradReq::Null),
        _ => Err(PyValueError::new_err(format!("grad_req must be 'write', 'add' or 'null', not '{name}'"))),
    }
}

/// Makes an array a variable.
pub(crate) fn attach_grad(x: &Array, req: &str, loc: Loc) -> PyResult<()> {
    grad::attach_grad(x, grad_req(req)?, loc).map_err(raise)
}

/// Makes arrays variables whose gradients are stored in the given arrays.
#[pyfunction]
pub(crate) fn mark_variables(
    py: Python<'_>,
    variables: Arrays<'_>,
    gradients: Arrays<'_>,
    reqs: Vec<String>,
) -> PyResult<()> {
    if variables.len() != gradients.len() || variables.len() != reqs.len() {
        return Err(PyValueError::new_err("mark_variables: needs one gradient and one grad_req per variable"));
    }
    for ((x, gradient), req) in variables.iter().zip(&gradients).zip(&reqs) {
        grad::mark_variable(&x.get().0, &gradient.get().0, grad_req(req)?, here(py)).map_err(raise)?;
    }
    Ok(())
}

thread_local! {
    /// The exception of a user-defined gradient function, carried through the walk.
    static RAISED: Cell<Option<PyErr>> = const { Cell::new(None) };
}

fn raise_own(error: Error) -> PyErr {
    RAISED.take().unwrap_or_else(|| raise(error))
}

/// Computes the gradients of all variables that the heads were computed from.
#[pyfunction]
pub(crate) fn backward(
    py: Python<'_>,
    heads: Arrays<'_>,
    head_grads: Vec<Option<Bound<'_, PyArray>>>,
    retain_graph: bool,
) -> PyResult<()> {
    let grads: Vec<Option<&Array>> = head_grads.iter().map(|g| g.as_ref().map(|g| &g.get().0)).collect();
    grad::backward(&handles(&heads), &grads, retain_graph, here(py)).map_err(raise_own)
}

/// Computes the gradients of the given variables; their stored gradients do not change.
#[pyfunction]
pub(crate) fn gradients(
    py: Python<'_>,
    heads: Arrays<'_>,
    variables: Arrays<'_>,
    head_grads: Vec<Option<Bound<'_, PyArray>>>,
    retain_graph: bool,
    create_graph: bool,
) -> PyResult<Vec<PyArray>> {
    let grads: Vec<Option<&Array>> = head_grads.iter().map(|g| g.as_ref().map(|g| &g.get().0)).collect();
    let found = grad::gradients(&handles(&heads), &handles(&variables), &grads, retain_graph, create_graph, here(py));
    Ok(found.map_err(raise_own)?.into_iter().map(PyArray).collect())
}

/// Records that outputs were computed from inputs by a function whose gradient is the callback.
#[pyfunction]
pub(crate) fn record_function(
    py: Python<'_>,
    inputs: Arrays<'_>,
    outputs: Arrays<'_>,
    callback: Py<PyAny>,
) -> Vec<PyArray> {
    let own: Arc<Callback> = Arc::new(move |grads: Vec<Array>| {
        Python::attach(|py| {
            let called = || -> PyResult<Vec<Option<Array>>> {
                let grads: Vec<PyArray> = grads.into_iter().map(PyArray).collect();
                let back: Vec<Option<Bound<'_, PyArray>>> = pycall::call(callback.bind(py), (grads,))?.extract()?;
                Ok(back.into_iter().map(|b| b.map(|b| b.get().0.clone())).collect())
            };
            called().map_err(|exception| {
                RAISED.set(Some(exception));
                Error::new(ErrorKind::Runtime, "a user-defined gradient function raised").in_op("backward")
            })
        })
    });
    let fresh = grad::record_function(&handles(&inputs), &handles(&outputs), own, here(py));
    fresh.into_iter().map(PyArray).collect()
}

/// Calls a function of a list of arrays that returns a list of arrays. While recording, only its inputs are kept for
/// backward, which calls it again.
#[pyfunction]
pub(crate) fn checkpoint(py: Python<'_>, function: Py<PyAny>, inputs: Arrays<'_>) -> PyResult<Vec<PyArray>> {
    let again = Arc::new(move |inputs: Vec<Array>| {
        Python::attach(|py| {
            let called = || -> PyResult<Vec<Array>> {
                let inputs: Vec<PyArray> = inputs.into_iter().map(PyArray).collect();
                let outputs: Arrays<'_> = pycall::call(function.bind(py), (inputs,))?.extract()?;
                Ok(outputs.iter().map(|y| y.get().0.clone()).collect())
            };
            called().map_err(|exception| {
                RAISED.set(Some(exception));
                Error::new(ErrorKind::Runtime, "the function raised").in_op("checkpoint")
            })
        })
    });
    let outputs = grad::checkpoint(&handles(&inputs), again, here(py)).map_err(raise_own)?;
    Ok(outputs.into_iter().map(PyArray).collect())
}

/// A snapshot of the elements, off the tape; later writes to the array do not affect it.
#[pyfunction]
pub(crate) fn freeze(x: &Bound<'_, PyArray>) -> PyArray {
    PyArray(x.get().0.freeze())
}

/// Whether two arrays are handles to the same elements, or views of them.
#[pyfunction]
pub(crate) fn shares_cell(a: &Bound<'_, PyArray>, b: &Bound<'_, PyArray>) -> bool {
    a.get().0.shares_cell(&b.get().0)
}

/// Whether a gradient can flow to an array.
#[pyfunction]
pub(crate) fn is_on_tape(x: &Bound<'_, PyArray>) -> bool {
    grad::is_on_tape(&x.get().0)
}

/// Whether no gradient flows back through this handle.
#[pyfunction]
pub(crate) fn is_detached(x: &Bound<'_, PyArray>) -> bool {
    x.get().0.is_detached()
}

/// Runs backward from one array.
pub(crate) fn backward_from(
    py: Python<'_>,
    x: &Array,
    out_grad: Option<&Bound<'_, PyArray>>,
    retain_graph: bool,
) -> PyResult<()> {
    grad::backward(&[x], &[out_grad.map(|g| &g.get().0)], retain_graph, here(py)).map_err(raise_own)
}

/// The gradient of a variable.
pub(crate) fn gradient(py: Python<'_>, x: &Array) -> PyResult<Py<PyAny>> {
    match grad::gradient_of(x) {
        Some((gradient, _)) => submit::object(py, Ok(gradient)),
        None => Ok(py.None()),
    }
}

/// For each variable, whether backward wrote its gradient since it was last used.
#[pyfunction]
pub(crate) fn fresh_gradients(variables: Arrays<'_>) -> Vec<bool> {
    variables.iter().map(|x| grad::is_fresh(&x.get().0)).collect()
}

/// Marks the gradients of variables as used.
#[pyfunction]
pub(crate) fn use_gradients(variables: Arrays<'_>) {
    for x in &variables {
        grad::use_gradient(&x.get().0);
    }
}
