//! Iteration over an array: views of its rows, created on demand.

use crate::array::PyArray;
use crate::submit;
use forerun::{Array, ops};
use pyo3::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An iterator over the first dimension.
#[pyclass(frozen, name = "rows", module = "forerun.np")]
pub(crate) struct Rows {
    array: PyArray,
    next: AtomicUsize,
}

impl Rows {
    /// The rows of an array of at least one dimension.
    pub(crate) fn of(array: &Array) -> Rows {
        Rows { array: PyArray(array.clone()), next: AtomicUsize::new(0) }
    }
}

#[pymethods]
impl Rows {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __length_hint__(&self) -> usize {
        self.array.0.shape()[0].saturating_sub(self.next.load(Ordering::Relaxed))
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let row = self.next.fetch_add(1, Ordering::Relaxed);
        if row >= self.array.0.shape()[0] {
            return Ok(None);
        }
        submit::object(py, ops::at(&self.array.0, &[row as isize])).map(Some)
    }
}
