//! Exchange with NumPy through its array interface: out without a copy, in with one.
//!
//! Invariant: what goes out is read-only and never changes; what comes in is copied before the call returns.

use crate::error::raise;
use crate::loc::here;
use crate::submit;
use forerun::{Array, DType, Layout, Shape, Snapshot, ops};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

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

/// A copy of a NumPy array of a supported dtype, aligned and in the machine's byte order.
#[pyfunction]
pub(crate) fn from_numpy(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let interface = array.getattr("__array_interface__")?;
    let typestr: String = interface.get_item("typestr")?.extract()?;
    let dtype = DType::ALL.into_iter().find(|dtype| type_text(*dtype) == typestr);
    let dtype = dtype.ok_or_else(|| PyTypeError::new_err(format!("dtype {typestr} is not supported")))?;
    let shape = Shape::new(&interface.get_item("shape")?.extract::<Vec<usize>>()?).map_err(raise)?;
    let layout = match interface.get_item("strides")?.extract::<Option<Vec<isize>>>()? {
        None => Layout::dense(shape),
        Some(strides) => {
            let size = dtype.size() as isize;
            if strides.iter().any(|stride| stride % size != 0) {
                return Err(PyValueError::new_err("strides are not a multiple of the element size"));
            }
            Layout::strided(shape, &strides.iter().map(|stride| stride / size).collect::<Vec<_>>())
        }
    };
    let (address, _read_only): (usize, bool) = interface.get_item("data")?.extract()?;
    // SAFETY: the array interface promises that many elements at this address for as long as the array lives, and it
    // lives through this call; the GIL keeps other threads of Python from writing meanwhile.
    let copied = unsafe { ops::from_host(address as *const u8, dtype, layout, here(py)) };
    submit::object(py, copied)
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
