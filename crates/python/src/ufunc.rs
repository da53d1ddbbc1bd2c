//! The callable of a pointwise op in Python: a NumPy ufunc, except for its methods, which are Python code.
//!
//! Invariant: a plain call runs no Python code, so that `np.add(x, y)` costs the same as `x + y`.

use crate::functions;
use crate::loc::here;
use crate::operand;
use crate::pycall;
use crate::submit;
use forerun::{Arg, Point, ops};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// A callable pointwise op. `forerun._ufunc.ufunc` adds the methods.
#[pyclass(frozen, subclass, name = "Pointwise", module = "forerun._forerun")]
pub(crate) struct PyPointwise(Point);

#[pymethods]
impl PyPointwise {
    /// The op of that name in the catalogue.
    #[new]
    fn new(name: &str) -> PyResult<PyPointwise> {
        let point = Point::from_name(name).ok_or_else(|| PyValueError::new_err(format!("no pointwise op {name}")))?;
        Ok(PyPointwise(point))
    }

    /// The number of operands.
    #[getter]
    fn nin(&self) -> usize {
        self.0.row().arity
    }

    #[pyo3(signature = (*args, **options))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let (py, point) = (slf.py(), slf.get().0);
        if options.is_some() || args.len() != point.row().arity {
            let called = pycall::function(py, "forerun._ufunc", "called")?;
            return pycall::call(&called, (slf, args, options)).map(Bound::unbind);
        }
        match args.len() {
            1 => {
                let x = args.get_borrowed_item(0)?;
                if let Some(array @ Arg::Array(_)) = operand::quick(&x) {
                    return submit::object(py, ops::pointwise(point, &[array], here(py)));
                }
                functions::convert_pointwise(py, point, [Some(&x), None, None])
            }
            2 => {
                let (x, y) = (args.get_borrowed_item(0)?, args.get_borrowed_item(1)?);
                if let (Some(a), Some(b)) = (operand::quick(&x), operand::quick(&y))
                    // Scalars alone have no array that determines their width.
                    && (matches!(a, Arg::Array(_)) || matches!(b, Arg::Array(_)))
                {
                    return submit::object(py, ops::pointwise(point, &[a, b], here(py)));
                }
                functions::convert_pointwise(py, point, [Some(&x), Some(&y), None])
            }
            _ => {
                let [x, y, z] = [args.get_item(0)?, args.get_item(1)?, args.get_item(2)?];
                functions::convert_pointwise(py, point, [Some(&x), Some(&y), Some(&z)])
            }
        }
    }
}
