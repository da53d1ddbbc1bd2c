//! Functions under `forerun.np` that rearrange or repeat arrays, or create one like another.
//!
//! Functions that return `None` leave unusual arguments to the Python function, which reports what is wrong with them.

use crate::array::{Any, PyArray};
use crate::device::{PyDevice, on};
use crate::dtype;
use crate::error::raise;
use crate::index;
use crate::loc::here;
use crate::operand::{self, array, home, scalar};
use crate::pycall;
use crate::submit;
use forerun::device::current_device;
use forerun::frontend::on_device;
use forerun::{Arg, Array, DType, Scalar, ops};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Larger numbers of copies are left to the Python function, which checks that they fit into memory.
const MOST_COPIES: i64 = 1024;

/// The value of an object that is exactly an int.
fn whole(object: Any) -> Option<i64> {
    match operand::quick(object) {
        Some(Arg::Scalar(Scalar::Int(value))) => Some(value),
        _ => None,
    }
}

/// An optional axis: None, or exactly an int; anything else is `Err`.
fn axis_of(object: Option<Any>) -> Result<Option<isize>, ()> {
    object.map_or(Ok(None), |object| whole(object).map(|axis| Some(axis as isize)).ok_or(()))
}

/// A view with the elements along axes reversed.
#[pyfunction]
#[pyo3(signature = (x, axis = None, /))]
pub(crate) fn flip(py: Python<'_>, x: Any, axis: Option<Any>) -> PyResult<Py<PyAny>> {
    let axes = index::axes(axis)?;
    submit::object(py, ops::flip(&array(x, "flip", current_device())?, axes.as_deref()))
}

/// A view with two dimensions exchanged.
#[pyfunction]
#[pyo3(signature = (x, first, second, /))]
pub(crate) fn swapaxes(py: Python<'_>, x: Any, first: isize, second: isize) -> PyResult<Py<PyAny>> {
    submit::object(py, ops::swapaxes(&array(x, "swapaxes", current_device())?, first, second))
}

/// A view of a diagonal of two axes, as the last axis.
#[pyfunction]
#[pyo3(signature = (x, offset = 0, first = 0, second = 1, /))]
pub(crate) fn diagonal(py: Python<'_>, x: Any, offset: isize, first: isize, second: isize) -> PyResult<Py<PyAny>> {
    submit::object(py, ops::diagonal(&array(x, "diagonal", current_device())?, offset, first, second))
}

/// Shifts elements along an axis, by exactly an int; `None` for anything else.
#[pyfunction]
#[pyo3(signature = (x, shift, axis = None, /))]
pub(crate) fn roll(py: Python<'_>, x: Any, shift: Any, axis: Option<Any>) -> PyResult<Option<Py<PyAny>>> {
    let (Some(shift), Ok(axis)) = (whole(shift), axis_of(axis)) else { return Ok(None) };
    let x = array(x, "roll", current_device())?;
    submit::object(py, ops::roll(&x, shift as isize, axis, here(py))).map(Some)
}

/// An array without the row at one position of an axis, or of the flattened array; `None` for other kinds of positions.
#[pyfunction]
#[pyo3(signature = (x, position, axis = None, /))]
pub(crate) fn without(py: Python<'_>, x: Any, position: Any, axis: Option<Any>) -> PyResult<Option<Py<PyAny>>> {
    let (Some(position), Ok(axis), loc) = (whole(position), axis_of(axis), here(py)) else { return Ok(None) };
    let x = array(x, "delete", current_device())?;
    let x = if axis.is_none() && x.ndim() != 1 { ops::reshape(&x, &[-1], loc).map_err(raise)? } else { x };
    let Ok(axis) = x.shape().axis(axis.unwrap_or(0)) else { return Ok(None) };
    let extent = x.shape()[axis] as i64;
    if position < -extent || position >= extent {
        return Ok(None);
    }
    let position = position.rem_euclid(extent) as usize;
    submit::object(py, ops::without(&x, position, axis, loc)).map(Some)
}

/// Repeats each element along an axis; `None` unless the count is exactly an int, and not large.
#[pyfunction]
#[pyo3(signature = (x, count, axis = None, /))]
pub(crate) fn repeat(py: Python<'_>, x: Any, count: Any, axis: Option<Any>) -> PyResult<Option<Py<PyAny>>> {
    let (Some(count @ 1..=MOST_COPIES), Ok(axis)) = (whole(count), axis_of(axis)) else { return Ok(None) };
    let (x, loc) = (array(x, "repeat", current_device())?, here(py));
    let x = if axis.is_none() && x.ndim() != 1 { ops::reshape(&x, &[-1], loc).map_err(raise)? } else { x };
    let Ok(axis) = x.shape().axis(axis.unwrap_or(0)) else { return Ok(None) };
    match ops::repeat(&x, count as usize, axis, loc).transpose() {
        Some(made) => submit::object(py, made).map(Some),
        None => Ok(None),
    }
}

/// Tiles an array; `None` unless the counts are exactly ints, positive, and their product is not large.
#[pyfunction]
#[pyo3(signature = (x, counts, /))]
pub(crate) fn tile(py: Python<'_>, x: Any, counts: Any) -> PyResult<Option<Py<PyAny>>> {
    let counts: Option<Vec<i64>> = match counts.cast_exact::<PyTuple>() {
        Ok(counts) => counts.iter_borrowed().map(|count| whole(&count)).collect(),
        Err(_) => whole(counts).map(|count| vec![count]),
    };
    let Some(counts) = counts.filter(|counts| counts.iter().all(|count| *count > 0)) else { return Ok(None) };
    if counts.iter().fold(1, |all: i64, count| all.saturating_mul(*count)) > MOST_COPIES {
        return Ok(None);
    }
    let counts: Vec<usize> = counts.into_iter().map(|count| count as usize).collect();
    match ops::tile(&array(x, "tile", current_device())?, &counts, here(py)).transpose() {
        Some(made) => submit::object(py, made).map(Some),
        None => Ok(None),
    }
}

/// Concatenates arrays along an axis after extending each to at least `least` dimensions.
#[pyfunction]
#[pyo3(signature = (arrays, least, axis, /))]
pub(crate) fn join(py: Python<'_>, arrays: Any, least: usize, axis: isize) -> PyResult<Py<PyAny>> {
    let arrays: Vec<Bound<'_, PyAny>> = pycall::listed(arrays)?.iter().collect();
    let home = home(&arrays);
    let arrays = arrays.iter().map(|x| array(x, "concatenate", home)).collect::<PyResult<Vec<Array>>>()?;
    submit::object(py, ops::join(&arrays.iter().collect::<Vec<_>>(), least, axis, here(py)))
}

/// An array filled with one value, with the shape, the device and by default the dtype of another array.
#[pyfunction]
#[pyo3(signature = (x, value, dtype = None, /))]
pub(crate) fn full_like(py: Python<'_>, x: &Bound<'_, PyArray>, value: Any, dtype: Option<Any>) -> PyResult<Py<PyAny>> {
    let (x, value) = (&x.get().0, scalar(value)?);
    let dtype = dtype::optional(dtype)?.unwrap_or(x.dtype());
    submit::object(py, on_device(x.device(), || ops::full(&x.shape(), value, dtype, here(py))))
}

/// An array with uninitialised elements.
#[pyfunction]
#[pyo3(signature = (shape, dtype = None, device = None, /))]
pub(crate) fn empty(
    py: Python<'_>,
    shape: Any,
    dtype: Option<Any>,
    device: Option<&Bound<'_, PyDevice>>,
) -> PyResult<Py<PyAny>> {
    let (shape, dtype) = (index::shape(shape)?, dtype::optional(dtype)?.unwrap_or(DType::default_float()));
    submit::object(py, on(device, || ops::empty(&shape, dtype, here(py)))?)
}

/// The same with the shape, the device and by default the dtype of another array.
#[pyfunction]
#[pyo3(signature = (x, dtype = None, /))]
pub(crate) fn empty_like(py: Python<'_>, x: &Bound<'_, PyArray>, dtype: Option<Any>) -> PyResult<Py<PyAny>> {
    let x = &x.get().0;
    let dtype = dtype::optional(dtype)?.unwrap_or(x.dtype());
    submit::object(py, on_device(x.device(), || ops::empty(&x.shape(), dtype, here(py))))
}
