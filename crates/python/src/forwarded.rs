//! Methods of the array object that are functions of `forerun.np` with the array as the first argument.
//!
//! Invariant: as for [`crate::array`].

use crate::array::{Any, PyArray};
use crate::error::raise;
use crate::loc::here;
use crate::methods::face;
use crate::pycall;
use crate::submit;
use crate::{dtype, wait};
use forerun::{Arg, Point, ReduceKind, ops};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

type Args<'a, 'py> = &'a Bound<'py, PyTuple>;
type Named<'a, 'py> = &'a Bound<'py, PyDict>;

/// Calls the function of that name with the array as the first argument.
fn forward<'py>(
    x: &Bound<'py, PyArray>,
    name: &str,
    args: Args<'_, 'py>,
    named: Option<Named<'_, 'py>>,
) -> PyResult<Bound<'py, PyAny>> {
    let function = pycall::function(x.py(), "forerun.np", name)?;
    let all: Vec<_> = std::iter::once(x.clone().into_any()).chain(args.iter()).collect();
    pycall::call_with(&function, PyTuple::new(x.py(), all)?, named)
}

/// Writes the result of the function of that name into the array.
fn in_place<'py>(
    x: &Bound<'py, PyArray>,
    name: &str,
    args: Args<'_, 'py>,
    named: Option<Named<'_, 'py>>,
) -> PyResult<()> {
    let made = forward(x, name, args, named)?.cast_into::<PyArray>()?;
    ops::assign(&x.get().0, Arg::Array(&made.get().0), here(x.py())).map_err(raise)?;
    wait::leave_room(x.py())
}

/// Methods that call the function of the same name with the array as the first argument.
macro_rules! forwarded {
    ($($(#[$doc:meta])* $name:ident by $how:ident -> $made:ty;)*) => {
        #[pymethods]
        impl PyArray {
            $($(#[$doc])*
            #[pyo3(signature = (*args, **named))]
            fn $name<'py>(slf: &Bound<'py, Self>, args: Args<'_, 'py>, named: Option<Named<'_, 'py>>) -> PyResult<$made> {
                $how(slf, stringify!($name), args, named)
            })*
        }
    };
}

forwarded! {
    /// The cumulative sum along an axis; without one, of the flattened array.
    cumsum by forward -> Bound<'py, PyAny>;
    /// The cumulative product along an axis; without one, of the flattened array.
    cumprod by forward -> Bound<'py, PyAny>;
    /// The indices that would sort the array along an axis.
    argsort by forward -> Bound<'py, PyAny>;
    /// The indices that would partition the array along an axis.
    argpartition by forward -> Bound<'py, PyAny>;
    /// The positions where values would be inserted into the sorted array.
    searchsorted by forward -> Bound<'py, PyAny>;
    /// Sorts the array along an axis, in place.
    sort by in_place -> ();
    /// Partitions the array along an axis, in place.
    partition by in_place -> ();
}

#[pymethods]
impl PyArray {
    /// The complex conjugate.
    fn conjugate<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "conj", (slf,))
    }

    /// A view of the same elements. A view with another dtype is not supported.
    #[pyo3(signature = (dtype = None))]
    fn view(&self, py: Python<'_>, dtype: Option<Any>) -> PyResult<Py<PyAny>> {
        let mine = self.0.dtype();
        match dtype::optional(dtype)? {
            Some(other) if other != mine => Err(PyTypeError::new_err(format!(
                "view: {mine} elements cannot be viewed as {other}; np.frombuffer(x.tobytes(), '{other}') copies them"
            ))),
            _ => submit::object(py, ops::index(&self.0, &[])),
        }
    }

    /// Whether any element equals a number.
    fn __contains__(&self, py: Python<'_>, value: Any) -> PyResult<bool> {
        let same = submit::binary(py, Point::Equal, self, value, false)?.into_bound(py);
        let Ok(same) = same.cast::<PyArray>() else { return Ok(false) };
        if same.get().0.size() == 0 {
            return Ok(false);
        }
        let found = ops::reduce(ReduceKind::Max, &same.get().0, None, false, here(py)).map_err(raise)?;
        Bound::new(py, PyArray(found))?.is_truthy()
    }

    /// The array in Python's pickle format.
    fn dumps<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        pycall::call(&pycall::function(slf.py(), "pickle", "dumps")?, (slf,))
    }
}
