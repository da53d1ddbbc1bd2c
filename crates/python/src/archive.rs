//! Files of named arrays: converts Python paths, dictionaries and exceptions for the safetensors files of `nn`.

use crate::array::PyArray;
use crate::error::raise;
use crate::loc::here;
use crate::pycall;
use crate::wait;
use forerun::nn::{ArrayFile, FileError, Notes, save_arrays as write_all};
use forerun::{fail_point, ops};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::{Path, PathBuf};

/// A path given as text or as an object with a path.
pub(crate) fn path_of(path: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    pycall::call(&pycall::function(path.py(), "os", "fspath")?, (path,))?.extract()
}

/// The exception for a file: an `OSError` that names the user's path, or the exception of an invalid content.
pub(crate) fn refused(py: Python<'_>, path: &Path, error: FileError) -> PyErr {
    let error = match error {
        FileError::Content(error) => return raise(error),
        FileError::Os(error) => error,
    };
    let Some(code) = error.raw_os_error() else { return PyOSError::new_err(format!("{}: {error}", path.display())) };
    let text = pycall::function(py, "os", "strerror").and_then(|strerror| pycall::call(&strerror, (code,)));
    text.map_or_else(|error| error, |text| PyOSError::new_err((code, text.unbind(), path.as_os_str().to_owned())))
}

/// Writes named arrays and notes to a file, which is replaced atomically. Waits for the values.
#[pyfunction]
#[pyo3(signature = (path, arrays, notes = None))]
pub(crate) fn save_arrays(
    py: Python<'_>,
    path: &Bound<'_, PyAny>,
    arrays: &Bound<'_, PyDict>,
    notes: Option<Notes>,
) -> PyResult<()> {
    let (path, loc) = (path_of(path)?, here(py));
    let mut snapshots = Vec::with_capacity(arrays.len());
    for (name, array) in arrays.iter() {
        fail_point!("file.write", error => return Err(raise(error.read_at(loc))));
        let array = array.cast::<PyArray>()?.get().0.detach();
        let dense = if array.layout().is_dense() { array } else { ops::copy(&array, loc).map_err(raise)? };
        let snapshot = wait::read(py, &dense, "save", |array, wait| array.snapshot_with(wait))?;
        snapshots.push((name.extract()?, snapshot));
    }
    let notes = notes.unwrap_or_default();
    py.detach(|| write_all(&path, &snapshots, &notes, loc)).map_err(|error| refused(py, &path, error))
}

/// Reads named arrays and notes from a file. The header is checked before anything is allocated.
#[pyfunction]
pub(crate) fn load_arrays<'py>(py: Python<'py>, path: &Bound<'py, PyAny>) -> PyResult<(Bound<'py, PyDict>, Notes)> {
    let (path, loc) = (path_of(path)?, here(py));
    let file = py.detach(|| ArrayFile::open(&path, loc)).map_err(|error| refused(py, &path, error))?;
    let arrays = PyDict::new(py);
    for stored in file.arrays() {
        fail_point!("file.read", error => return Err(raise(error.read_at(loc))));
        let bytes = py.detach(|| file.read(stored)).map_err(|error| refused(py, &path, error))?;
        wait::make_host_room(py, bytes.len())?;
        let array = ops::from_bytes(&bytes, stored.dtype, &stored.shape, loc).map_err(raise)?;
        arrays.set_item(&stored.name, PyArray(array))?;
    }
    Ok((arrays, file.notes().clone()))
}
