//! Basic indices, shapes and axes as Python writes them.

use crate::array::PyArray;
use crate::error::raise;
use crate::loc::here;
use crate::operand::{self, Operand};
use crate::outcall;
use forerun::{Array, DType, Index, Kind, ops};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PyList, PySlice, PyTuple};

/// Positions alone, `x[i]` and `x[i, j]`: what loops write. The numbers, and how many there are.
pub(crate) struct Positions([isize; MOST], usize);

/// More positions than any array has dimensions are told apart from the rest by the general way.
const MOST: usize = 8;

impl Positions {
    /// The index if it is nothing but integers of Python's own.
    #[inline]
    pub(crate) fn of(index: &Bound<'_, PyAny>) -> Option<Positions> {
        let mut found = Positions([0; MOST], 1);
        if let Some(position) = position(index) {
            found.0[0] = position;
            return Some(found);
        }
        let parts = index.cast_exact::<PyTuple>().ok()?;
        found.1 = parts.len();
        for (to, part) in found.0.get_mut(..found.1)?.iter_mut().zip(parts.iter_borrowed()) {
            *to = position(&part)?;
        }
        Some(found)
    }

    /// One for each of the first dimensions.
    #[inline]
    pub(crate) fn all(&self) -> &[isize] {
        &self.0[..self.1]
    }
}

#[inline]
fn position(part: &Bound<'_, PyAny>) -> Option<isize> {
    if !part.is_exact_instance_of::<PyInt>() {
        return None;
    }
    let mut overflow = 0;
    // SAFETY: the object is exactly an int, for which nothing but overflow can happen, and that sets no error.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(part.as_ptr(), &mut overflow) };
    (overflow == 0).then_some(value as isize)
}

/// The view of what an index selects.
#[inline]
pub(crate) fn view(x: &Array, index: &Bound<'_, PyAny>) -> PyResult<Array> {
    match Positions::of(index) {
        Some(positions) => ops::at(x, positions.all()).map_err(raise),
        None => ops::index(x, &indices(index)?).map_err(raise),
    }
}

/// The parts of `x[index]`.
pub(crate) fn indices(index: &Bound<'_, PyAny>) -> PyResult<Vec<Index>> {
    match index.cast::<PyTuple>() {
        Ok(parts) => parts.iter_borrowed().map(|part| one(&part)).collect(),
        Err(_) => Ok(vec![one(index)?]),
    }
}

/// The array in `x[array]` or `x[array, :, ...]`: one of integers, and nothing but whole dimensions after it, as many as `x`
/// has at the most.
pub(crate) fn rows(index: &Bound<'_, PyAny>, x: &Array) -> PyResult<Option<Array>> {
    if index.is_exact_instance_of::<PyInt>() || index.is_exact_instance_of::<PySlice>() {
        return Ok(None);
    }
    let parts = index.cast::<PyTuple>().ok();
    let first = match parts {
        Some(parts) if parts.is_empty() => return Ok(None),
        Some(parts) => parts.get_item(0)?,
        None => index.clone(),
    };
    let numbers =
        first.is_instance_of::<PyArray>() || first.is_instance_of::<PyList>() || outcall::has(&first, "__array__")?;
    if !numbers {
        return Ok(None);
    }
    let mut named = 1;
    for part in parts.into_iter().flat_map(|parts| parts.iter().skip(1)) {
        if is_whole(&part)? {
            named += 1;
        } else if !part.is_instance_of::<PyEllipsis>() {
            return Ok(None);
        }
    }
    if named > x.ndim() {
        return Ok(None);
    }
    let loc = here(index.py());
    let Some(Operand::Array(array)) = operand::convert(&first, Some(x))? else { return Ok(None) };
    let array = &array.get().0;
    match array.dtype().kind() {
        _ if array.ndim() == 0 => Ok(None),
        Kind::Int => Ok(Some(array.clone())),
        // An empty list has no integers to tell its dtype by.
        Kind::Float if array.size() == 0 => ops::cast(array, DType::I64, loc).map(Some).map_err(raise),
        Kind::Float | Kind::Complex => Err(PyIndexError::new_err("arrays used as indices must be of integers")),
        Kind::Bool => Err(boolean()),
    }
}

fn boolean() -> PyErr {
    PyTypeError::new_err("indexing with a boolean is not supported yet")
}

fn is_whole(part: &Bound<'_, PyAny>) -> PyResult<bool> {
    let Ok(slice) = part.cast::<PySlice>() else { return Ok(false) };
    let is_open = |name| Ok::<_, PyErr>(outcall::attribute(slice, name)?.is_none());
    Ok(is_open("start")? && is_open("stop")? && is_open("step")?)
}

fn one(part: &Bound<'_, PyAny>) -> PyResult<Index> {
    // Most indices are plain integers; what follows asks questions that cost more than the answer.
    if part.is_exact_instance_of::<PyInt>() {
        return Ok(Index::At(part.extract()?));
    }
    if part.is_none() {
        return Ok(Index::NewAxis);
    }
    if part.is_instance_of::<PyEllipsis>() {
        return Ok(Index::Ellipsis);
    }
    if let Ok(slice) = part.cast::<PySlice>() {
        let bound = |name| outcall::attribute(slice, name).and_then(|bound| clamped(&bound));
        let step = bound("step")?.unwrap_or(1);
        if step == 0 {
            return Err(PyValueError::new_err("slice step cannot be zero"));
        }
        return Ok(Index::Slice { start: bound("start")?, stop: bound("stop")?, step });
    }
    if part.is_instance_of::<PyBool>() {
        return Err(boolean());
    }
    let integers = || {
        PyTypeError::new_err("an array of integers can only be the first index, for reading, before whole dimensions")
    };
    if part.is_instance_of::<PyList>() {
        return Err(integers());
    }
    if let Ok(array) = part.cast::<PyArray>() {
        let array = &array.get().0;
        if array.dtype() == forerun::DType::Bool {
            return Err(boolean());
        }
        if array.ndim() > 0 {
            return Err(integers());
        }
    } else if outcall::has(part, "__array__")? && outcall::attribute(part, "ndim")?.extract::<usize>()? > 0 {
        return Err(integers());
    }
    // SAFETY: the object is alive and the GIL is held.
    if unsafe { ffi::PyIndex_Check(part.as_ptr()) } == 0 {
        return Err(PyIndexError::new_err(format!(
            "only integers, slices, None and Ellipsis are indices, not {}",
            part.get_type().name()?
        )));
    }
    Ok(Index::At(part.extract()?))
}

/// A slice's bound: beyond the machine's integers it may as well be the largest.
fn clamped(bound: &Bound<'_, PyAny>) -> PyResult<Option<isize>> {
    if bound.is_none() {
        return Ok(None);
    }
    // SAFETY: the object is alive and the GIL is held; a null type clips instead of raising an overflow.
    let value = unsafe { ffi::PyNumber_AsSsize_t(bound.as_ptr(), std::ptr::null_mut()) };
    match PyErr::take(bound.py()) {
        Some(error) if value == -1 => Err(error),
        _ => Ok(Some(value)),
    }
}

/// A shape: an integer or a sequence of them.
pub(crate) fn shape(object: &Bound<'_, PyAny>) -> PyResult<Vec<usize>> {
    integers(object)?
        .into_iter()
        .map(|extent| usize::try_from(extent).map_err(|_| PyValueError::new_err("negative dimensions are not allowed")))
        .collect()
}

/// An integer or a sequence of them.
pub(crate) fn integers(object: &Bound<'_, PyAny>) -> PyResult<Vec<isize>> {
    if let Ok(items) = object.cast_exact::<PyTuple>() {
        return items.iter_borrowed().map(|item| item.extract()).collect();
    }
    // SAFETY: the object is alive and the GIL is held.
    if unsafe { ffi::PyIndex_Check(object.as_ptr()) } != 0 {
        return Ok(vec![object.extract()?]);
    }
    outcall::listed(object)?.iter().map(|item| item.extract()).collect()
}

/// Axes: none for all, an integer, or a sequence of them.
pub(crate) fn axes(object: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Vec<isize>>> {
    object.map(integers).transpose()
}

/// The integers of a call that takes them one by one or as one sequence: `x.reshape(2, 3)`, `x.reshape((2, 3))`.
pub(crate) fn spread(args: &Bound<'_, PyTuple>) -> PyResult<Vec<isize>> {
    if args.len() == 1 { integers(&args.get_item(0)?) } else { integers(args) }
}
