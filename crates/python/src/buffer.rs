//! Python's buffer protocol: `memoryview(x)`, `bytes(x)` and `file.write(x)` access an array's bytes without a copy.
//!
//! Invariant: as with NumPy conversion, the contents of a view never change. It is read-only unless the program
//! requested writable conversions; each view then has a copy of its own.

use crate::array::PyArray;
use crate::error::raise;
use crate::exchange::writable;
use crate::loc::here;
use crate::wait;
use forerun::{Array, DType, Layout, Loc, Snapshot, ops};
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::cell::RefCell;
use std::ffi::{CStr, c_int, c_long};

/// Data that must live as long as a view.
struct Exported {
    _snapshot: Snapshot,
    shape: Vec<isize>,
    strides: Vec<isize>,
}

thread_local! {
    /// The error of this thread's last failed view, with its array and line.
    static MISSED: RefCell<Option<(usize, Loc, PyErr)>> = const { RefCell::new(None) };
}

/// Fills in a view.
///
/// # Safety
/// `view` is null or points at a buffer to fill in, as Python's buffer protocol requires.
pub(crate) unsafe fn fill(slf: &Bound<'_, PyArray>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
    let (py, array) = (slf.py(), &slf.get().0);
    if view.is_null() {
        return Err(PyBufferError::new_err("memoryview: the view is null"));
    }
    // SAFETY: the caller guarantees a valid view. A view that is not filled in has no object.
    unsafe { (*view).obj = std::ptr::null_mut() };
    let format = format_of(array.dtype())?;
    let writable = writable();
    if flags & ffi::PyBUF_WRITABLE != 0 && !writable {
        return Err(PyBufferError::new_err("memoryview: the elements of an array are read-only"));
    }
    let snapshot = match snapshot(py, array, writable) {
        Ok(snapshot) => snapshot,
        Err(error) => {
            let missed = (slf.as_ptr().addr(), here(py), error.clone_ref(py));
            MISSED.set(Some(missed));
            return Err(error);
        }
    };
    let layout = snapshot.layout();
    check_order(&layout, flags)?;
    let size = snapshot.dtype().size() as isize;
    let exported = Box::new(Exported {
        shape: layout.shape.iter().map(|extent| *extent as isize).collect(),
        strides: layout.strides().iter().map(|stride| stride * size).collect(),
        _snapshot: snapshot,
    });
    let wants = |bits: c_int| flags & bits == bits;
    // SAFETY: the caller guarantees a valid view. What the view points at lives in `exported` until the view is
    // released, which happens once, and the view's reference keeps the array alive.
    unsafe {
        let view = &mut *view;
        view.buf = exported._snapshot.ptr().cast_mut().cast();
        view.len = layout.shape.size() as isize * size;
        view.itemsize = size;
        view.readonly = c_int::from(!writable);
        view.ndim = exported.shape.len() as c_int;
        view.format = if wants(ffi::PyBUF_FORMAT) { format.as_ptr().cast_mut() } else { std::ptr::null_mut() };
        let numbers = |wanted, numbers: &Vec<isize>| match wanted {
            true => numbers.as_ptr().cast_mut(),
            false => std::ptr::null_mut(),
        };
        view.shape = numbers(wants(ffi::PyBUF_ND), &exported.shape);
        view.strides = numbers(wants(ffi::PyBUF_STRIDES), &exported.strides);
        view.suboffsets = std::ptr::null_mut();
        view.internal = Box::into_raw(exported).cast();
        view.obj = slf.clone().into_ptr();
    }
    Ok(())
}

/// Frees the data of a view.
///
/// # Safety
/// Called once, for a view that [`fill`] filled in.
pub(crate) unsafe fn release(view: *mut ffi::Py_buffer) {
    // SAFETY: `internal` came from `Box::into_raw`.
    drop(unsafe { Box::from_raw((*view).internal.cast::<Exported>()) });
}

/// Raises the error for which the same call could not get a view of the same array. NumPy tries a view first and
/// discards any error, even an interrupt, before it calls `__array__`.
pub(crate) fn raise_missed(slf: &Bound<'_, PyArray>) -> PyResult<()> {
    match MISSED.take() {
        Some((array, loc, error)) if array == slf.as_ptr().addr() && loc == here(slf.py()) => Err(error),
        _ => Ok(()),
    }
}

fn snapshot(py: Python<'_>, array: &Array, copied: bool) -> PyResult<Snapshot> {
    MISSED.set(None);
    let own = if copied { Some(ops::copy(&array.detach(), here(py)).map_err(raise)?) } else { None };
    wait::read(py, own.as_ref().unwrap_or(array), "memoryview", |array, wait| array.snapshot_with(wait))
}

/// The bytes of the elements in row-major or column-major order.
pub(crate) fn bytes_of<'py>(py: Python<'py>, array: &Array, order: &str) -> PyResult<Bound<'py, PyBytes>> {
    let ordered = match order {
        "C" => array.detach(),
        "F" => ops::transpose(&array.detach(), None).map_err(raise)?,
        _ => return Err(PyValueError::new_err(format!("tobytes: order must be 'C' or 'F', got {order:?}"))),
    };
    let dense = if ordered.layout().is_dense() { ordered } else { ops::copy(&ordered, here(py)).map_err(raise)? };
    let snapshot = wait::read(py, &dense, "tobytes", |array, wait| array.snapshot_with(wait))?;
    let count = dense.size() * dense.dtype().size();
    // SAFETY: the elements are dense and in bytes that the snapshot keeps; without elements nothing is read.
    let bytes = if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(snapshot.ptr(), count) } };
    Ok(PyBytes::new(py, bytes))
}

/// Fails for a request for an order that the elements do not have.
fn check_order(layout: &Layout, flags: c_int) -> PyResult<()> {
    let rank = layout.shape.rank();
    let reversed: Vec<usize> = (0..rank).rev().collect();
    let (rows, columns) = (layout.is_dense(), layout.permute(&reversed).is_dense());
    // Every request for an order includes the bits for strides.
    let wants = |bits: c_int| flags & bits == bits;
    let fits = if wants(ffi::PyBUF_ANY_CONTIGUOUS) {
        rows || columns
    } else if wants(ffi::PyBUF_F_CONTIGUOUS) {
        columns
    } else if wants(ffi::PyBUF_C_CONTIGUOUS) || !wants(ffi::PyBUF_STRIDES) {
        rows
    } else {
        true
    };
    if fits {
        return Ok(());
    }
    Err(PyBufferError::new_err(format!("memoryview: the elements of shape {} are not contiguous", layout.shape)))
}

/// The protocol's format string of a dtype.
fn format_of(dtype: DType) -> PyResult<&'static CStr> {
    // NumPy's 64-bit integers are C's `long` where that has 64 bits.
    let long = size_of::<c_long>() == 8;
    Ok(match dtype.name() {
        "bool" => c"?",
        "int8" => c"b",
        "uint8" => c"B",
        "int16" => c"h",
        "uint16" => c"H",
        "int32" => c"i",
        "uint32" => c"I",
        "int64" if long => c"l",
        "int64" => c"q",
        "uint64" if long => c"L",
        "uint64" => c"Q",
        "float16" => c"e",
        "float32" => c"f",
        "float64" => c"d",
        "complex64" => c"Zf",
        "complex128" => c"Zd",
        name => return Err(PyBufferError::new_err(format!("memoryview: no buffer format for {name}"))),
    })
}
