//! Graphs for Python: traced from captures, read from files, run on arrays.

use crate::archive::{path_of, refused};
use crate::array::PyArray;
use crate::autograd::{Arrays, handles};
use crate::capture::PyCaptured;
use crate::dtype::{self, PyDType};
use crate::error::raise;
use crate::loc::here;
use crate::wait;
use forerun::nn::{GraphModel, NamedArray, Role, trace_graph};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The ops of a network, without the elements of its parameters.
#[pyclass(frozen, name = "Graph", module = "forerun._forerun")]
pub(crate) struct PyGraph(GraphModel);

/// Name, shape, dtype and role of a parameter.
type Described<'py> = (String, Vec<usize>, Bound<'py, PyDType>, &'static str);

#[pymethods]
impl PyGraph {
    /// Reads a graph file and checks it.
    #[staticmethod]
    fn open(py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<PyGraph> {
        let (path, loc) = (path_of(path)?, here(py));
        let opened = py.detach(|| GraphModel::open(&path, loc));
        opened.map(PyGraph).map_err(|error| refused(py, &path, error))
    }

    /// Reads the text of a graph file.
    #[staticmethod]
    fn parse(text: &str) -> PyResult<PyGraph> {
        GraphModel::parse(text.as_bytes()).map(PyGraph).map_err(PyValueError::new_err)
    }

    /// Makes a graph from captures of one function, each with its batch size, or from one without. A parameter is a
    /// name, an array, and whether it is trained. Also returns the arrays of the graph's parameters. Waits only for
    /// arrays that `forward` created from host data.
    #[staticmethod]
    fn trace(
        py: Python<'_>,
        captures: Vec<(Option<usize>, Bound<'_, PyCaptured>)>,
        inputs: Vec<String>,
        parameters: Vec<(String, Bound<'_, PyArray>, bool)>,
    ) -> PyResult<(PyGraph, Vec<(String, PyArray)>)> {
        let programs: Vec<_> = captures.iter().map(|(batch, captured)| (*batch, captured.get().program())).collect();
        let role = |trained| if trained { Role::Trained } else { Role::Auxiliary };
        let named = parameters.into_iter().map(|(name, array, trained)| {
            let array = array.get().0.clone();
            NamedArray { name, array, role: role(trained) }
        });
        let traced = trace_graph(&programs, &inputs, &named.collect::<Vec<_>>(), here(py)).map_err(raise)?;
        for (one, other) in &traced.pairs {
            let bytes = |x| wait::read(py, x, "export", |x, wait| Ok(x.snapshot_with(wait)?.to_bytes()));
            if bytes(one)? != bytes(other)? {
                let text = "export: the elements of an array that forward creates depend on the batch size";
                return Err(PyValueError::new_err(text));
            }
        }
        let arrays = traced.parameters.into_iter().map(|given| (given.name, PyArray(given.array.detach()))).collect();
        Ok((PyGraph(traced.model), arrays))
    }

    /// Writes the graph file, which is replaced atomically.
    fn save(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<()> {
        let path = path_of(path)?;
        py.detach(|| self.0.save(&path)).map_err(|error| refused(py, &path, error))
    }

    /// Submits the ops with these inputs and arrays of parameters.
    fn run(&self, py: Python<'_>, inputs: Arrays<'_>, parameters: Arrays<'_>) -> PyResult<Vec<PyArray>> {
        wait::leave_room(py)?;
        let made = self.0.run(&handles(&inputs), &handles(&parameters), here(py)).map_err(raise)?;
        Ok(made.into_iter().map(PyArray).collect())
    }

    /// The batch size of the example that was traced; `None` if every shape is fixed.
    #[getter]
    fn batch(&self) -> Option<usize> {
        self.0.batch()
    }

    /// Name, extents and dtype of each input; `None` for an extent that depends on the batch size.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> Vec<(String, Vec<Option<usize>>, Bound<'py, PyDType>)> {
        let described = self.0.inputs().iter();
        described.map(|input| (input.name.clone(), input.extents(), dtype::object(py, input.dtype).clone())).collect()
    }

    /// Name, shape, dtype and role of each parameter.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> Vec<Described<'py>> {
        let described = self.0.parameters().iter();
        let one = described.map(|known| {
            let dtype = dtype::object(py, known.dtype).clone();
            (known.name.clone(), known.shape.to_vec(), dtype, known.role.name())
        });
        one.collect()
    }

    /// The number of ops.
    fn __len__(&self) -> usize {
        self.0.ops()
    }

    /// For copies and pickles.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        let own = py.get_type::<PyGraph>();
        Ok((crate::pycall::attribute(&own, "parse")?, (self.0.to_text(),)))
    }
}
