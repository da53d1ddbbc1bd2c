//! Python indices that contain arrays: integer arrays, masks, and lists of either.
//!
//! Invariant: only the count of a mask's true elements is waited for, and only where it determines a shape.

use crate::array::PyArray;
use crate::error::raise;
use crate::index::one;
use crate::loc::here;
use crate::operand;
use crate::pycall;
use crate::submit;
use crate::wait;
use forerun::frontend::on_device;
use forerun::ops::{self, Item};
use forerun::{Array, DType, Error, ErrorKind, Kind, Scalar};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyTuple};
use std::sync::atomic::{AtomicBool, Ordering};

/// `x[index]`: a copy of the selected elements.
#[cold]
pub(crate) fn get(py: Python<'_>, x: &Array, index: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let items = items(index, x)?;
    let counts = counts(py, ops::uncounted(&items, false), "__getitem__")?;
    submit::object(py, ops::getitem(x, &items, &counts, here(py)))
}

/// `x[index] = value`.
#[cold]
pub(crate) fn set(py: Python<'_>, x: &Array, index: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let items = items(index, x)?;
    let counts = counts(py, ops::uncounted(&items, true), "__setitem__")?;
    submit::with_operand(value, x, "setitem", |arg| ops::setitem(x, &items, &counts, arg, here(py)))?;
    wait::leave_room(py)
}

/// The positions where a mask is true, as an array with one row per dimension. Waits for their number.
#[pyfunction]
pub(crate) fn nonzero(py: Python<'_>, mask: &Bound<'_, PyArray>) -> PyResult<Py<PyAny>> {
    let mask = &mask.get().0;
    let counts = counts(py, vec![mask], "nonzero")?;
    submit::object(py, ops::nonzero(mask, counts[0], here(py)))
}

/// Writes a value where a mask is true.
#[pyfunction]
pub(crate) fn copy_where(
    py: Python<'_>,
    x: &Bound<'_, PyArray>,
    mask: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let (x, loc) = (&x.get().0, here(py));
    let mask = operand::array(mask, "copy_where", x.device())?;
    submit::with_operand(value, x, "copy_where", |arg| ops::copy_where(x, &mask, arg, loc))?;
    wait::leave_room(py)
}

fn counts(py: Python<'_>, masks: Vec<&Array>, call: &'static str) -> PyResult<Vec<usize>> {
    let one = |mask: &Array| {
        let count = ops::count(mask, here(py)).map_err(raise)?;
        match wait::read(py, &count, call, |array, wait| array.item_with(wait))? {
            Scalar::Int(count) => Ok(count as usize),
            _ => unreachable!("a count is a whole number"),
        }
    };
    masks.into_iter().map(one).collect()
}

/// The items of an index.
fn items(index: &Bound<'_, PyAny>, x: &Array) -> PyResult<Vec<Item>> {
    match index.cast::<PyTuple>() {
        Ok(parts) => parts.iter_borrowed().map(|part| item(&part, x)).collect(),
        Err(_) => Ok(vec![item(index, x)?]),
    }
}

fn item(part: &Bound<'_, PyAny>, x: &Array) -> PyResult<Item> {
    if let Some(basic) = one(part)? {
        return Ok(Item::Basic(basic));
    }
    if let Ok(truth) = part.cast::<PyBool>() {
        return Ok(Item::Truth(truth.is_true()));
    }
    if let Ok(array) = part.cast::<PyArray>() {
        return named(&array.get().0, x, part.py());
    }
    let convert = pycall::function(part.py(), "forerun._convert", "places")?;
    let converted = on_device(x.device(), || pycall::call(&convert, (part,)))?;
    match converted.cast::<PyArray>() {
        Ok(array) => named(&array.get().0, x, part.py()),
        Err(_) => Ok(Item::Truth(converted.cast::<PyBool>()?.is_true())),
    }
}

/// Whether float arrays may be indices, as in MXNet.
static FLOATS: AtomicBool = AtomicBool::new(false);

/// Sets whether float arrays may be indices; they are truncated. Returns the previous setting.
#[pyfunction]
pub(crate) fn set_float_indices(on: bool) -> bool {
    FLOATS.swap(on, Ordering::Relaxed)
}

/// Indices as integers: floats are cast if that is allowed.
pub(crate) fn as_places(array: &Array, py: Python<'_>) -> PyResult<Array> {
    match array.dtype().kind() {
        Kind::Float if FLOATS.load(Ordering::Relaxed) => ops::cast(array, DType::I64, here(py)).map_err(raise),
        _ => Ok(array.clone()),
    }
}

fn named(array: &Array, x: &Array, py: Python<'_>) -> PyResult<Item> {
    if array.device() != x.device() {
        let text = format!(
            "the array is on {} and its index on {}: move them to one device with as_in_ctx",
            x.device(),
            array.device()
        );
        return Err(raise(Error::new(ErrorKind::Value, text).in_op("getitem")));
    }
    let array = &as_places(array, py)?;
    match array.dtype().kind() {
        Kind::Int => Ok(Item::Places(array.clone())),
        Kind::Bool => Ok(Item::Mask(array.clone())),
        Kind::Float | Kind::Complex => {
            Err(PyIndexError::new_err("arrays used as indices must be of integer (or boolean) type"))
        }
    }
}
