//! The array object's methods that return other arrays, with the names of NumPy and MXNet.
//!
//! Invariant: as for [`crate::array`].

use crate::array::{Any, PyArray};
use crate::autograd;
use crate::device::{self, PyDevice};
use crate::dtype;
use crate::error::raise;
use crate::index;
use crate::layers;
use crate::loc::here;
use crate::operand::{self, Operand};
use crate::pycall;
use crate::submit;
use forerun::frontend::on_device;
use forerun::{Arg, Array, ReduceKind, ops};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PySlice, PyTuple};
use std::slice::from_ref;

impl PyArray {
    /// A sum or product in the requested dtype; by default, small integers give a wide dtype.
    fn total(
        &self,
        py: Python<'_>,
        kind: ReduceKind,
        axes: Option<&[isize]>,
        dtype: Option<Any>,
        keepdims: bool,
    ) -> PyResult<forerun::Result<Array>> {
        let (asked, x) = (dtype::optional(dtype)?, self.as_dtype(py, dtype)?);
        Ok(ops::reduce(kind, &x, axes, keepdims, here(py)).and_then(|total| match asked {
            Some(dtype) if dtype != total.dtype() => ops::cast(&total, dtype, here(py)),
            _ => Ok(total),
        }))
    }

    /// The array, or with order "F" its transpose.
    fn columns_first(&self, order: &str) -> PyResult<forerun::Result<Array>> {
        Ok(if by_columns(order)? { ops::transpose(&self.0, None) } else { Ok(self.0.clone()) })
    }

    /// A copy.
    pub(crate) fn copy(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        submit::object(py, ops::copy(&self.0, here(py)))
    }

    fn as_dtype(&self, py: Python<'_>, dtype: Option<Any>) -> PyResult<Array> {
        match dtype::optional(dtype)? {
            Some(dtype) if dtype != self.0.dtype() => ops::cast(&self.0, dtype, here(py)).map_err(raise),
            _ => Ok(self.0.clone()),
        }
    }
}

#[pymethods]
impl PyArray {
    /// The elements in another dtype. Without ``copy``, the array itself if it already has that dtype. ``order`` and
    /// ``subok`` are accepted for NumPy and have no effect.
    #[pyo3(signature = (dtype, order = None, casting = "unsafe", subok = true, copy = true))]
    fn astype(
        slf: &Bound<'_, Self>,
        dtype: Any,
        order: Option<Any>,
        casting: &str,
        subok: bool,
        copy: bool,
    ) -> PyResult<Py<PyAny>> {
        let _ = (order, subok);
        let (py, array, dtype) = (slf.py(), &slf.get().0, dtype::dtype_of(dtype)?);
        if casting != "unsafe" {
            let (from, to) = (dtype::object(py, array.dtype()), dtype::object(py, dtype));
            if !face(py, "can_cast", (from, to, casting))?.is_truthy()? {
                let text = format!("cannot cast {} to {dtype} according to the rule '{casting}'", array.dtype());
                return Err(PyTypeError::new_err(format!("astype: {text}")));
            }
        }
        match (dtype == array.dtype(), copy) {
            (true, false) => Ok(slf.clone().into_any().unbind()),
            (true, true) => submit::object(py, ops::copy(array, here(py))),
            (false, _) => submit::object(py, ops::cast(array, dtype, here(py))),
        }
    }

    /// A copy. NumPy's ``order`` has no effect: elements are always row-major.
    #[pyo3(name = "copy", signature = (order = "C"))]
    fn copy_in(&self, py: Python<'_>, order: &str) -> PyResult<Py<PyAny>> {
        let _ = by_columns(order)?;
        self.copy(py)
    }

    /// Makes the array a variable: backward writes, or adds to, its gradient.
    #[pyo3(signature = (grad_req = "write"))]
    fn attach_grad(&self, py: Python<'_>, grad_req: &str) -> PyResult<()> {
        autograd::attach_grad(&self.0, grad_req, here(py))
    }

    /// The gradient of a variable; None for other arrays.
    #[getter]
    fn grad(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        autograd::gradient(py, &self.0)
    }

    /// Takes the array off the tape.
    fn drop_grad(&self) {
        forerun::grad::drop_grad(&self.0);
    }

    /// The same elements, through which no gradient flows back.
    fn detach(&self) -> PyArray {
        PyArray(self.0.detach())
    }

    /// Computes the gradients of all variables that this array was computed from while recording.
    #[pyo3(signature = (out_grad = None, retain_graph = false, train_mode = true))]
    fn backward(
        &self,
        py: Python<'_>,
        out_grad: Option<&Bound<'_, PyArray>>,
        retain_graph: bool,
        train_mode: bool,
    ) -> PyResult<()> {
        let _ = train_mode;
        autograd::backward_from(py, &self.0, out_grad, retain_graph)
    }

    /// The array on a device.
    fn as_in_ctx(slf: &Bound<'_, Self>, device: &Bound<'_, PyDevice>) -> PyResult<Py<PyAny>> {
        if *device.get() == slf.get().device() {
            return Ok(slf.clone().into_any().unbind());
        }
        let py = slf.py();
        submit::object(py, ops::transfer(&slf.get().0, device.get().0, here(py)))
    }

    /// The array on a device, under MXNet's older name.
    fn as_in_context(slf: &Bound<'_, Self>, device: &Bound<'_, PyDevice>) -> PyResult<Py<PyAny>> {
        PyArray::as_in_ctx(slf, device)
    }

    /// The array on a device, under the name of the array API; a string may name the device. Work is ordered by its
    /// data dependencies, so there are no streams.
    #[pyo3(signature = (device, /, *, stream = None))]
    fn to_device(slf: &Bound<'_, Self>, device: Any, stream: Option<Any>) -> PyResult<Py<PyAny>> {
        match stream {
            None => PyArray::as_in_ctx(slf, &Bound::new(slf.py(), device::of(device)?)?),
            Some(_) => Err(PyValueError::new_err("to_device: streams are not supported")),
        }
    }

    /// Copies the elements into another array, which is returned, or to a device, as a new array.
    fn copyto<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        let loc = here(py);
        if let Ok(device) = other.cast::<PyDevice>() {
            return submit::object(py, ops::transfer(&self.0, device.get().0, loc));
        }
        let Ok(array) = other.cast::<PyArray>() else {
            let kind = other.get_type().name()?;
            return Err(PyTypeError::new_err(format!("copyto: needs an array or a device, not {kind}")));
        };
        ops::assign(&array.get().0, Arg::Array(&self.0), loc).map_err(raise)?;
        crate::wait::leave_room(py)?;
        Ok(other.clone().unbind())
    }

    /// The elements under another shape; one dimension may be -1. A view if possible. With ``order="F"`` the first
    /// index changes fastest.
    #[pyo3(signature = (*shape, order = "C"))]
    fn reshape(&self, py: Python<'_>, shape: &Bound<'_, PyTuple>, order: &str) -> PyResult<Py<PyAny>> {
        let (mut shape, loc) = (index::spread(shape)?, here(py));
        if !by_columns(order)? {
            return submit::object(py, ops::reshape(&self.0, &shape, loc));
        }
        shape.reverse();
        let turned = ops::transpose(&self.0, None).and_then(|x| ops::reshape(&x, &shape, loc));
        submit::object(py, turned.and_then(|x| ops::transpose(&x, None)))
    }

    /// A view with the dimensions in another order; without an order, reversed.
    #[pyo3(signature = (*axes))]
    fn transpose(&self, py: Python<'_>, axes: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        let reversed = axes.is_empty() || (axes.len() == 1 && axes.get_item(0)?.is_none());
        let axes = if reversed { None } else { Some(index::spread(axes)?) };
        submit::object(py, ops::transpose(&self.0, axes.as_deref()))
    }

    /// A view without dimensions of extent 1.
    #[pyo3(signature = (axis = None))]
    fn squeeze(&self, py: Python<'_>, axis: Option<Any>) -> PyResult<Py<PyAny>> {
        submit::object(py, ops::squeeze(&self.0, index::axes(axis)?.as_deref()))
    }

    /// A view with one more dimension.
    fn expand_dims(&self, py: Python<'_>, axis: isize) -> PyResult<Py<PyAny>> {
        submit::object(py, ops::expand_dims(&self.0, axis))
    }

    /// A view with repeated dimensions.
    fn broadcast_to(&self, py: Python<'_>, shape: Any) -> PyResult<Py<PyAny>> {
        submit::object(py, ops::broadcast_to(&self.0, &index::shape(shape)?))
    }

    /// A view with two dimensions exchanged.
    fn swapaxes<'py>(slf: &Bound<'py, Self>, axis1: isize, axis2: isize) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "swapaxes", (slf, axis1, axis2))
    }

    /// Repeats each element along an axis; without one, those of the flattened array.
    #[pyo3(signature = (repeats, axis = None))]
    fn repeat<'py>(slf: &Bound<'py, Self>, repeats: Any<'_, 'py>, axis: Option<isize>) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "repeat", (slf, repeats, axis))
    }

    /// Repeats the whole array.
    fn tile<'py>(slf: &Bound<'py, Self>, reps: Any<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "tile", (slf, reps))
    }

    /// Rounds to ``decimals`` decimals, ties to even.
    #[pyo3(signature = (decimals = 0))]
    fn round<'py>(slf: &Bound<'py, Self>, decimals: i32) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "round", (slf, decimals))
    }

    /// A diagonal of two axes, as the last axis.
    #[pyo3(signature = (offset = 0, axis1 = 0, axis2 = 1))]
    fn diagonal<'py>(slf: &Bound<'py, Self>, offset: isize, axis1: isize, axis2: isize) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "diagonal", (slf, offset, axis1, axis2))
    }

    /// The sum of a diagonal of two axes.
    #[pyo3(signature = (offset = 0, axis1 = 0, axis2 = 1, dtype = None))]
    fn trace<'py>(
        slf: &Bound<'py, Self>,
        offset: isize,
        axis1: isize,
        axis2: isize,
        dtype: Option<Any<'_, 'py>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "trace", (slf, offset, axis1, axis2, dtype))
    }

    /// A 1-d copy; with ``order="F"`` the first index changes fastest.
    #[pyo3(signature = (order = "C"))]
    fn flatten(&self, py: Python<'_>, order: &str) -> PyResult<Py<PyAny>> {
        let loc = here(py);
        let copy = self.columns_first(order)?.and_then(|x| ops::copy(&x, loc));
        submit::object(py, copy.and_then(|copy| ops::reshape(&copy, &[-1], loc)))
    }

    /// The flattened elements; a view if possible. With ``order="F"`` the first index changes fastest.
    #[pyo3(signature = (order = "C"))]
    fn ravel(&self, py: Python<'_>, order: &str) -> PyResult<Py<PyAny>> {
        submit::object(py, self.columns_first(order)?.and_then(|x| ops::reshape(&x, &[-1], here(py))))
    }

    /// NumPy's dot.
    #[pyo3(signature = (other, out = None))]
    fn dot(slf: &Bound<'_, Self>, other: Any, out: Option<Any>) -> PyResult<Py<PyAny>> {
        let (py, x) = (slf.py(), &slf.get().0);
        if out.is_some() {
            return face(py, "dot", (slf, other, out)).map(Bound::unbind);
        }
        submit::object(py, ops::dot(x, &operand::array(other, "dot", x.device())?, here(py)))
    }

    /// Limits the elements to the range from ``min`` to ``max``.
    #[pyo3(signature = (min = None, max = None, out = None))]
    fn clip(slf: &Bound<'_, Self>, min: Option<Any>, max: Option<Any>, out: Option<Any>) -> PyResult<Py<PyAny>> {
        let (py, x) = (slf.py(), &slf.get().0);
        if out.is_some() {
            return face(py, "clip", (slf, min, max, out)).map(Bound::unbind);
        }
        let bound = |object| on_device(x.device(), || operand::required(object, "clip"));
        let (low, high) = (min.map(bound).transpose()?, max.map(bound).transpose()?);
        let (low, high) = (low.as_ref().map(Operand::arg), high.as_ref().map(Operand::arg));
        submit::object(py, ops::clip(x, low, high, here(py)))
    }

    /// Rows along an axis, selected by indices; without an axis, elements of the flattened array.
    #[pyo3(signature = (indices, axis = None, out = None, mode = "raise"))]
    fn take(
        slf: &Bound<'_, Self>,
        indices: Any,
        axis: Option<isize>,
        out: Option<Any>,
        mode: &str,
    ) -> PyResult<Py<PyAny>> {
        let (py, x) = (slf.py(), &slf.get().0);
        if out.is_some() {
            return face(py, "take", (slf, indices, axis, out, mode)).map(Bound::unbind);
        }
        layers::taken(py, x, &operand::array(indices, "take", x.device())?, axis, mode)
    }

    /// The positions of nonzero elements, one array per dimension.
    fn nonzero<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "nonzero", (slf,))
    }

    /// Writes values at positions in the flattened array.
    #[pyo3(signature = (indices, values, mode = "raise"))]
    fn put(slf: &Bound<'_, Self>, indices: Any, values: Any, mode: &str) -> PyResult<()> {
        if let ("raise", Some(Arg::Array(places)), Some(value)) =
            (mode, operand::quick(indices), operand::quick(values))
            && ops::put(&slf.get().0, places, value, here(slf.py())).map_err(raise)?
        {
            return crate::wait::leave_room(slf.py());
        }
        face(slf.py(), "put", (slf, indices, values, mode)).map(|_| ())
    }

    /// The rows along an axis for which a condition holds.
    #[pyo3(signature = (condition, axis = None))]
    fn compress<'py>(
        slf: &Bound<'py, Self>,
        condition: Any<'_, 'py>,
        axis: Option<isize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "compress", (condition, slf, axis))
    }

    /// For each element, the value from the choice with that number.
    #[pyo3(signature = (choices, mode = "raise"))]
    fn choose<'py>(slf: &Bound<'py, Self>, choices: Any<'_, 'py>, mode: &str) -> PyResult<Bound<'py, PyAny>> {
        face(slf.py(), "choose", (slf, choices, mode))
    }

    /// Sets all elements to one value.
    fn fill(&self, py: Python<'_>, value: Any) -> PyResult<()> {
        submit::assign(py, &self.0, value)
    }

    /// An iterator over the flattened elements, which can also be indexed and written.
    #[getter]
    fn flat<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        pycall::call(&pycall::function(slf.py(), "forerun.np._iteration", "flatiter")?, (slf,))
    }

    #[setter]
    fn set_flat(slf: &Bound<'_, Self>, values: Any) -> PyResult<()> {
        let everywhere = PySlice::full(slf.py());
        pycall::method(&PyArray::flat(slf)?, "__setitem__", (everywhere, values)).map(|_| ())
    }

    /// The index of the first maximum along an axis.
    #[pyo3(signature = (axis = None, *, keepdims = false))]
    fn argmax(&self, py: Python<'_>, axis: Option<isize>, keepdims: bool) -> PyResult<Py<PyAny>> {
        submit::object(py, ops::reduce(ReduceKind::ArgMax, &self.0, axis.as_ref().map(from_ref), keepdims, here(py)))
    }

    /// The index of the first minimum along an axis.
    #[pyo3(signature = (axis = None, *, keepdims = false))]
    fn argmin(&self, py: Python<'_>, axis: Option<isize>, keepdims: bool) -> PyResult<Py<PyAny>> {
        submit::object(py, ops::reduce(ReduceKind::ArgMin, &self.0, axis.as_ref().map(from_ref), keepdims, here(py)))
    }
}

/// Reductions with NumPy's arguments: the names before and after `keepdims`, the signature, and the op. If arguments other than
/// a dtype are given, the function in Python is called instead.
macro_rules! reductions {
    ($(
        $(#[$doc:meta])*
        $name:ident($($before:ident),*; $($after:ident),*) $signature:tt = |$py:ident, $x:ident, $axes:ident, $keepdims:ident| $quick:expr;
    )*) => {
        #[pymethods]
        impl PyArray {
            $($(#[$doc])*
            #[pyo3(signature = $signature)]
            fn $name(
                slf: &Bound<'_, Self>,
                axis: Option<Any>,
                $($before: Option<Any>,)*
                $keepdims: bool,
                $($after: Option<Any>,)*
            ) -> PyResult<Py<PyAny>> {
                let ($py, $x) = (slf.py(), slf.get());
                let rest = [$((stringify!($before), $before),)* $((stringify!($after), $after),)*];
                if rest.iter().any(|(name, given)| *name != "dtype" && given.is_some()) {
                    return face_with(slf, stringify!($name), axis, $keepdims, &rest);
                }
                let axes = index::axes(axis)?;
                let $axes = axes.as_deref();
                submit::object($py, $quick)
            })*
        }
    };
}

reductions! {
    /// Whether every element over axes is true.
    all(out; r#where) (axis = None, out = None, keepdims = false, *, r#where = None)
        = |py, x, axes, keepdims| ops::all(&x.0, axes, keepdims, here(py));
    /// Whether any element over axes is true.
    any(out; r#where) (axis = None, out = None, keepdims = false, *, r#where = None)
        = |py, x, axes, keepdims| ops::any(&x.0, axes, keepdims, here(py));
    /// The sum over axes.
    sum(dtype, out; initial, r#where)
        (axis = None, dtype = None, out = None, keepdims = false, initial = None, r#where = None)
        = |py, x, axes, keepdims| x.total(py, ReduceKind::Sum, axes, dtype, keepdims)?;
    /// The product over axes.
    prod(dtype, out; initial, r#where)
        (axis = None, dtype = None, out = None, keepdims = false, initial = None, r#where = None)
        = |py, x, axes, keepdims| x.total(py, ReduceKind::Prod, axes, dtype, keepdims)?;
    /// The mean over axes; for integers, in float64.
    mean(dtype, out; r#where) (axis = None, dtype = None, out = None, keepdims = false, *, r#where = None)
        = |py, x, axes, keepdims| ops::mean(&x.as_dtype(py, dtype)?, axes, keepdims, here(py));
    /// The largest element over axes; NaN if any element is NaN.
    max(out; initial, r#where) (axis = None, out = None, keepdims = false, initial = None, r#where = None)
        = |py, x, axes, keepdims| ops::reduce(ReduceKind::Max, &x.0, axes, keepdims, here(py));
    /// The smallest element over axes; NaN if any element is NaN.
    min(out; initial, r#where) (axis = None, out = None, keepdims = false, initial = None, r#where = None)
        = |py, x, axes, keepdims| ops::reduce(ReduceKind::Min, &x.0, axes, keepdims, here(py));
}

/// Variance and standard deviation, which also take `ddof`.
macro_rules! spreads {
    ($($(#[$doc:meta])* $name:ident)*) => {
        #[pymethods]
        impl PyArray {
            $($(#[$doc])*
            #[pyo3(signature = (axis = None, dtype = None, out = None, ddof = 0.0, keepdims = false, *, r#where = None))]
            fn $name(
                slf: &Bound<'_, Self>,
                axis: Option<Any>,
                dtype: Option<Any>,
                out: Option<Any>,
                ddof: f64,
                keepdims: bool,
                r#where: Option<Any>,
            ) -> PyResult<Py<PyAny>> {
                let (py, x) = (slf.py(), slf.get());
                if out.is_some() || r#where.is_some() {
                    let ddof = PyFloat::new(py, ddof).into_any();
                    let rest = [("dtype", dtype), ("out", out), ("where", r#where), ("ddof", Some(&ddof))];
                    return face_with(slf, stringify!($name), axis, keepdims, &rest);
                }
                let axes = index::axes(axis)?;
                submit::object(py, ops::$name(&x.as_dtype(py, dtype)?, axes.as_deref(), ddof, keepdims, here(py)))
            })*
        }
    };
}

spreads! {
    /// The variance over axes; for integers, in float64.
    var
    /// The standard deviation over axes; for integers, in float64.
    std
}

/// Calls a function of `forerun.np` that is written in Python.
pub(crate) fn face<'py>(py: Python<'py>, name: &str, args: impl pycall::Args<'py>) -> PyResult<Bound<'py, PyAny>> {
    pycall::call(&pycall::function(py, "forerun.np", name)?, args)
}

/// Calls a reduction of `forerun.np` with arguments that the catalogue's lacks; missing ones are omitted.
fn face_with(
    x: &Bound<'_, PyArray>,
    name: &str,
    axis: Option<Any>,
    keepdims: bool,
    rest: &[(&str, Option<Any>)],
) -> PyResult<Py<PyAny>> {
    let named = PyDict::new(x.py());
    named.set_item("keepdims", keepdims)?;
    for (key, value) in rest {
        if let Some(value) = value {
            named.set_item(key.trim_start_matches("r#"), value)?;
        }
    }
    pycall::call_with(&pycall::function(x.py(), "forerun.np", name)?, (x, axis), Some(&named)).map(Bound::unbind)
}

/// Whether the first index changes fastest. "A" and "K" mean the array's own order, which is row-major.
fn by_columns(order: &str) -> PyResult<bool> {
    match order {
        "C" | "A" | "K" | "c" | "a" | "k" => Ok(false),
        "F" | "f" => Ok(true),
        _ => Err(PyValueError::new_err(format!("order must be C, F, A or K, got {order:?}"))),
    }
}
