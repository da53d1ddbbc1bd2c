//! Captured functions: called once in Python, then replayed as one submission.

use crate::array::PyArray;
use crate::error::raise;
use crate::loc::here;
use crate::pycall;
use forerun::Array;
use forerun::frontend::{Capture, CapturedProgram, whole_inputs, write_back};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// A captured function, which can be replayed on other inputs.
#[pyclass(frozen, name = "Captured", module = "forerun._forerun")]
pub(crate) struct PyCaptured(CapturedProgram);

// SAFETY: as for arrays, Python code reaches a program only with the GIL held, so one thread at a time uses it.
unsafe impl Sync for PyCaptured {}

impl PyCaptured {
    /// The captured ops.
    pub(crate) fn program(&self) -> &CapturedProgram {
        &self.0
    }
}

#[pymethods]
impl PyCaptured {
    /// Submits everything again with other inputs of the same shapes and dtypes.
    fn replay(&self, py: Python<'_>, inputs: Vec<Bound<'_, PyArray>>) -> PyResult<Vec<PyArray>> {
        let inputs: Vec<&Array> = inputs.iter().map(|x| &x.get().0).collect();
        Ok(self.0.replay(&inputs, here(py)).map_err(raise)?.into_iter().map(PyArray).collect())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

/// Calls a function that takes arrays and returns a list of arrays, and captures what it submits. The capture is None
/// if the submissions cannot be replayed.
#[pyfunction]
pub(crate) fn capture<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    inputs: Vec<Bound<'py, PyArray>>,
) -> PyResult<(Option<PyCaptured>, Vec<Bound<'py, PyArray>>)> {
    let given: Vec<&Array> = inputs.iter().map(|x| &x.get().0).collect();
    let whole = whole_inputs(&given, here(py)).map_err(raise)?;
    let arguments = PyTuple::new(py, whole.iter().map(|x| PyArray(x.clone())))?;
    let capture = Capture::begin(&whole);
    let called = pycall::call(function, arguments).and_then(|outputs| outputs.extract::<Vec<Bound<'py, PyArray>>>());
    match called {
        Ok(outputs) => {
            let shown: Vec<&Array> = outputs.iter().map(|y| &y.get().0).collect();
            let written = capture.written();
            let program = capture.finish(&shown);
            write_back(&given, &whole, &written, here(py)).map_err(raise)?;
            Ok((program.map(PyCaptured), outputs))
        }
        Err(exception) => {
            capture.abandon();
            Err(exception)
        }
    }
}
