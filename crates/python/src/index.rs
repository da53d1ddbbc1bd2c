//! Basic indices, shapes and axes from Python.

use crate::array::PyArray;
use crate::error::raise;
use crate::pycall;
use forerun::{Array, Error, ErrorKind, Index, ops};
use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PySlice, PyTuple};
use smallvec::{SmallVec, smallvec};

/// An index of integers only, `x[i]` and `x[i, j]`, as loops use. The numbers, and how many there are.
pub(crate) struct Positions([isize; MOST_INDICES], usize);

/// Maximum number of indices; longer ones take the general path.
const MOST_INDICES: usize = 8;

impl Positions {
    /// The index, if it consists only of Python integers.
    #[inline]
    pub(crate) fn of(index: &Bound<'_, PyAny>) -> Option<Positions> {
        let mut found = Positions([0; MOST_INDICES], 1);
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

    /// One position for each of the first dimensions.
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
    // SAFETY: the object is exactly an int, for which only overflow can occur, and that sets no error.
    let value = unsafe { ffi::PyLong_AsLongLongAndOverflow(part.as_ptr(), &mut overflow) };
    (overflow == 0).then_some(value as isize)
}

/// The view that an index selects.
#[inline]
pub(crate) fn view(x: &Array, index: &Bound<'_, PyAny>) -> PyResult<Array> {
    match Positions::of(index) {
        Some(positions) => ops::at(x, positions.all()).map_err(raise),
        None => ops::index(x, &indices(index)?).map_err(raise),
    }
}

/// The view that the arguments of `item` select: one position per dimension, or one in the flattened array.
pub(crate) fn element(x: &Array, index: &Bound<'_, PyTuple>) -> PyResult<Array> {
    let shape = x.shape();
    let flat = match Positions::of(index) {
        Some(positions) if index.len() == 1 && shape.rank() != 1 => positions.all()[0],
        _ => return view(x, index),
    };
    let size = shape.size() as isize;
    if flat < -size || flat >= size {
        let text = format!("index {flat} is out of bounds for an array of {size} elements");
        return Err(raise(Error::new(ErrorKind::Index, text).in_op("item")));
    }
    let mut left = if flat < 0 { flat + size } else { flat };
    let mut positions = vec![0; shape.rank()];
    for (position, extent) in positions.iter_mut().zip(shape.iter()).rev() {
        (*position, left) = (left % *extent as isize, left / *extent as isize);
    }
    ops::at(x, &positions).map_err(raise)
}

/// Whether an index names all of an array with dimensions: a slice without bounds, or an ellipsis.
#[inline]
pub(crate) fn is_whole(index: &Bound<'_, PyAny>) -> bool {
    match index.cast_exact::<PySlice>() {
        Ok(slice) => matches!(unpack(slice), Ok((0, isize::MAX, 1))),
        Err(_) => index.is_instance_of::<PyEllipsis>(),
    }
}

/// The start, the stop and the step of a slice. Bounds that are missing, or beyond the machine's integers, become the nearest
/// such integers, which select the same elements.
fn unpack(slice: &Bound<'_, PySlice>) -> PyResult<(isize, isize, isize)> {
    let (mut start, mut stop, mut step) = (0, 0, 0);
    // SAFETY: the object is a slice and the GIL is held.
    match unsafe { ffi::PySlice_Unpack(slice.as_ptr(), &mut start, &mut stop, &mut step) } {
        0 => Ok((start, stop, step)),
        _ => Err(PyErr::fetch(slice.py())),
    }
}

/// The parts of `x[index]`, if all of them are basic; else `None`.
pub(crate) fn basic(index: &Bound<'_, PyAny>) -> PyResult<Option<SmallVec<[Index; 4]>>> {
    match index.cast::<PyTuple>() {
        Ok(parts) => parts.iter_borrowed().map(|part| one(&part)).collect(),
        Err(_) => Ok(one(index)?.map(|part| smallvec![part])),
    }
}

/// The parts of an index that must be basic.
pub(crate) fn indices(index: &Bound<'_, PyAny>) -> PyResult<SmallVec<[Index; 4]>> {
    basic(index)?.ok_or_else(|| PyIndexError::new_err("only integers, slices, None and Ellipsis name one element"))
}

/// A basic item: an integer, a slice, None or an ellipsis. `None` for anything else.
pub(crate) fn one(part: &Bound<'_, PyAny>) -> PyResult<Option<Index>> {
    // Most indices are plain integers, and the checks below cost more than this one.
    if part.is_exact_instance_of::<PyInt>() {
        return Ok(Some(Index::At(part.extract()?)));
    }
    if part.is_none() {
        return Ok(Some(Index::NewAxis));
    }
    if part.is_instance_of::<PyEllipsis>() {
        return Ok(Some(Index::Ellipsis));
    }
    if let Ok(slice) = part.cast::<PySlice>() {
        let (start, stop, step) = unpack(slice)?;
        return Ok(Some(Index::Slice { start: Some(start), stop: Some(stop), step }));
    }
    // SAFETY: the object is alive and the GIL is held.
    let whole = unsafe { ffi::PyIndex_Check(part.as_ptr()) } != 0;
    // Arrays have the slot whatever they contain; they are handled elsewhere.
    if !whole || part.is_instance_of::<PyBool>() || part.is_instance_of::<PyArray>() {
        return Ok(None);
    }
    if pycall::has(part, "__array__")? && pycall::attribute(part, "ndim")?.extract::<usize>()? > 0 {
        return Ok(None);
    }
    match part.extract() {
        Ok(position) => Ok(Some(Index::At(position))),
        // A 0-d boolean array.
        Err(error) if error.is_instance_of::<PyTypeError>(part.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A shape: an integer or a sequence of them.
pub(crate) fn shape(object: &Bound<'_, PyAny>) -> PyResult<SmallVec<[usize; 4]>> {
    integers(object)?
        .into_iter()
        .map(|extent| usize::try_from(extent).map_err(|_| PyValueError::new_err("negative dimensions are not allowed")))
        .collect()
}

/// A few integers, without an allocation.
pub(crate) type Integers = SmallVec<[isize; 4]>;

/// An integer or a sequence of them.
pub(crate) fn integers(object: &Bound<'_, PyAny>) -> PyResult<Integers> {
    if let Some(value) = position(object) {
        return Ok(smallvec![value]);
    }
    if let Ok(items) = object.cast_exact::<PyTuple>() {
        return items.iter_borrowed().map(|item| item.extract()).collect();
    }
    // SAFETY: the object is alive and the GIL is held.
    if unsafe { ffi::PyIndex_Check(object.as_ptr()) } != 0 {
        return Ok(smallvec![object.extract()?]);
    }
    pycall::listed(object)?.iter().map(|item| item.extract()).collect()
}

/// Axes: none for all, an integer, or a sequence of them.
pub(crate) fn axes(object: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Integers>> {
    object.map(integers).transpose()
}

/// The integers of a call that takes them one by one or as one sequence: `x.reshape(2, 3)`, `x.reshape((2, 3))`.
pub(crate) fn spread(args: &Bound<'_, PyTuple>) -> PyResult<Integers> {
    if args.len() == 1 { integers(&args.get_item(0)?) } else { integers(args) }
}
