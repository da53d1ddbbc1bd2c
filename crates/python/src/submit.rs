//! Submission from number slots: converts operands and returns a new array object.
//!
//! Invariant: an operand that is neither array nor number gives `NotImplemented`, so that Python tries the other
//! operand.

use crate::array::PyArray;
use crate::error::raise;
use crate::loc::here;
use crate::new_object;
use crate::operand::{self, Operand};
use crate::pycall;
use forerun::{Arg, Array, Point, Result, ops};
use pyo3::prelude::*;

/// Creates an array object.
#[inline(always)]
pub(crate) fn object(py: Python<'_>, array: Result<Array>) -> PyResult<Py<PyAny>> {
    match array {
        Ok(array) => {
            crate::wait::leave_room(py)?;
            new_object::object(py, array)
        }
        Err(error) => Err(raise(error)),
    }
}

/// `x op other`, or with `flip` `other op x`.
#[inline]
pub(crate) fn binary(
    py: Python<'_>,
    point: Point,
    x: &PyArray,
    other: &Bound<'_, PyAny>,
    flip: bool,
) -> PyResult<Py<PyAny>> {
    let Some(arg) = operand::quick(other) else { return convert_binary(py, point, x, other, flip) };
    pair(py, point, x, arg, flip)
}

#[inline]
fn pair(py: Python<'_>, point: Point, x: &PyArray, arg: Arg<'_>, flip: bool) -> PyResult<Py<PyAny>> {
    let x = Arg::Array(&x.0);
    let args = if flip { [arg, x] } else { [x, arg] };
    object(py, ops::pointwise(point, &args, here(py)))
}

#[cold]
#[inline(never)]
fn convert_binary(
    py: Python<'_>,
    point: Point,
    x: &PyArray,
    other: &Bound<'_, PyAny>,
    flip: bool,
) -> PyResult<Py<PyAny>> {
    // pandas classes have this attribute to request that their own operator is used, as NumPy arrays respect.
    if pycall::has(other, "__pandas_priority__")? {
        return Ok(py.NotImplemented());
    }
    match operand::convert(other, Some(&x.0))? {
        Some(operand) => pair(py, point, x, operand.arg(), flip),
        None => Ok(py.NotImplemented()),
    }
}

/// `op x`.
#[inline]
pub(crate) fn unary(py: Python<'_>, point: Point, x: &PyArray) -> PyResult<Py<PyAny>> {
    object(py, ops::pointwise(point, &[Arg::Array(&x.0)], here(py)))
}

/// `x op= other`.
pub(crate) fn in_place(py: Python<'_>, point: Point, x: &PyArray, other: &Bound<'_, PyAny>) -> PyResult<()> {
    with_operand(other, &x.0, point.row().name, |arg| ops::in_place(point, &x.0, arg, here(py)))?;
    crate::wait::leave_room(py)
}

/// `x[...] = value`.
pub(crate) fn assign(py: Python<'_>, x: &Array, value: &Bound<'_, PyAny>) -> PyResult<()> {
    with_operand(value, x, "assign", |arg| ops::assign(x, arg, here(py)))?;
    crate::wait::leave_room(py)
}

pub(crate) fn with_operand<T>(
    other: &Bound<'_, PyAny>,
    beside: &Array,
    op: &'static str,
    submit: impl FnOnce(Arg<'_>) -> Result<T>,
) -> PyResult<T> {
    if let Some(arg) = operand::quick(other) {
        return submit(arg).map_err(raise);
    }
    match operand::convert(other, Some(beside))? {
        Some(operand) => submit(operand.arg()).map_err(raise),
        None => operand::required(other, op).and_then(|operand| submit(operand.arg()).map_err(raise)),
    }
}

/// `x @ other`, or with `flip` `other @ x`.
pub(crate) fn matmul(py: Python<'_>, x: &PyArray, other: &Bound<'_, PyAny>, flip: bool) -> PyResult<Py<PyAny>> {
    let Some(Operand::Array(other)) = operand::convert(other, Some(&x.0))? else { return Ok(py.NotImplemented()) };
    let (a, b) = if flip { (&other.get().0, &x.0) } else { (&x.0, &other.get().0) };
    object(py, ops::matmul(a, b, here(py)))
}
