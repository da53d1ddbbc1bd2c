//! Exchange with NumPy through its array interface: out without a copy, in with one.
//!
//! Invariant: what goes out is read-only and never changes; what comes in is copied before the call returns.

use crate::error::raise;
use crate::loc::here;
use crate::submit;
use forerun::{Array, DType, Layout, Shape, Snapshot, ops};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use std::ffi::{c_char, c_int, c_void};

/// Keeps the bytes alive that a NumPy array looks at.
#[pyclass(frozen, name = "snapshot", module = "forerun.np")]
pub(crate) struct PySnapshot(Snapshot);

#[pymethods]
impl PySnapshot {
    /// NumPy's array interface, version 3.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (layout, dtype) = (self.0.layout(), self.0.dtype());
        let strides = layout.strides().iter().map(|stride| stride * dtype.size() as isize);
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", PyTuple::new(py, layout.shape.iter())?)?;
        interface.set_item("typestr", type_text(dtype))?;
        interface.set_item("strides", PyTuple::new(py, strides.collect::<Vec<_>>())?)?;
        interface.set_item("data", (self.0.ptr() as usize, true))?;
        Ok(interface)
    }
}

/// The array's value as a read-only NumPy array over the same bytes.
pub(crate) fn to_numpy<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyAny>> {
    static AS_ARRAY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let snapshot = crate::wait::read(py, array, |array, wait| array.snapshot_with(wait))?;
    AS_ARRAY.import(py, "numpy", "asarray")?.call1((PySnapshot(snapshot),))
}

/// A copy of a NumPy array of a supported dtype.
#[pyfunction]
pub(crate) fn from_numpy(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let capsule = array.getattr(intern!(py, "__array_struct__"))?;
    // SAFETY: the capsule is alive and the GIL is held; a capsule without a name is what the protocol prescribes.
    let interface = unsafe { ffi::PyCapsule_GetPointer(capsule.as_ptr(), std::ptr::null()) }.cast::<ArrayStruct>();
    if interface.is_null() {
        return Err(PyErr::fetch(py));
    }
    // SAFETY: the protocol promises this struct, alive as long as the capsule.
    let interface = unsafe { &*interface };
    let size = interface.itemsize as isize;
    let dtype = match (interface.typekind as u8, size) {
        (b'b', 1) => DType::Bool,
        (b'i', 4) => DType::I32,
        (b'i', 8) => DType::I64,
        (b'f', 4) => DType::F32,
        (b'f', 8) => DType::F64,
        _ => return Err(crate::dtype::refused(&array.getattr("dtype")?)),
    };
    let rank = interface.nd as usize;
    // SAFETY: both point at one number for each dimension; without a dimension they may be null and are not read.
    let (shape, strides) = unsafe { (numbers(interface.shape, rank), numbers(interface.strides, rank)) };
    let plain = interface.flags & (ALIGNED | NOT_SWAPPED) == ALIGNED | NOT_SWAPPED;
    if !plain || strides.iter().any(|stride| stride % size != 0) {
        return from_numpy(py, &array.call_method1("astype", (dtype.name(),))?);
    }
    let shape: Vec<usize> = shape.iter().map(|extent| *extent as usize).collect();
    let strides: Vec<isize> = strides.iter().map(|stride| stride / size).collect();
    let layout = Layout::strided(Shape::new(&shape).map_err(raise)?, &strides);
    // SAFETY: the protocol promises that many elements at this address for as long as the array lives, and it
    // lives through this call; the GIL keeps other threads of Python from writing meanwhile.
    let copied = unsafe { ops::from_host(interface.data.cast(), dtype, layout, here(py)) };
    submit::object(py, copied)
}

/// NumPy's array interface as a C struct, as far as it is read here.
#[repr(C)]
struct ArrayStruct {
    two: c_int,
    nd: c_int,
    typekind: c_char,
    itemsize: c_int,
    flags: c_int,
    shape: *const isize,
    strides: *const isize,
    data: *const c_void,
}

const ALIGNED: c_int = 0x100;
const NOT_SWAPPED: c_int = 0x200;

/// # Safety
/// Unless `count` is 0, that many numbers must lie at `first` for as long as the result is used.
unsafe fn numbers<'a>(first: *const isize, count: usize) -> &'a [isize] {
    match count {
        0 => &[],
        // SAFETY: the caller promises it.
        _ => unsafe { std::slice::from_raw_parts(first, count) },
    }
}

/// How the array interface names a dtype.
fn type_text(dtype: DType) -> &'static str {
    const LITTLE: bool = cfg!(target_endian = "little");
    match dtype {
        DType::Bool => "|b1",
        DType::I32 => {
            if LITTLE {
                "<i4"
            } else {
                ">i4"
            }
        }
        DType::I64 => {
            if LITTLE {
                "<i8"
            } else {
                ">i8"
            }
        }
        DType::F32 => {
            if LITTLE {
                "<f4"
            } else {
                ">f4"
            }
        }
        DType::F64 => {
            if LITTLE {
                "<f8"
            } else {
                ">f8"
            }
        }
    }
}
