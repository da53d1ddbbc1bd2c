//! The functions under `forerun.np`: converts Python arguments and calls the catalogue's ops.

use crate::array::PyArray;
use crate::device::{PyDevice, on};
use crate::dtype;
use crate::error::raise;
use crate::index;
use crate::loc::here;
use crate::operand::{self, Operand, array, home, required, scalar};
use crate::pycall;
use crate::submit;
use forerun::frontend::on_device;
use forerun::frontend::samples::Value;
use forerun::frontend::{Attribute, AttributeKind, Encoded};
use forerun::{Arg, Array, DType, Kind, Point, ReduceKind, Routine, ops};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The number of a pointwise op, by its name in the catalogue.
#[pyfunction]
pub(crate) fn point(name: &str) -> PyResult<u8> {
    let point = Point::from_name(name).ok_or_else(|| PyValueError::new_err(format!("no pointwise op {name}")))?;
    Ok(point as u8)
}

/// A pointwise op, by its number, on arrays and numbers.
#[pyfunction]
#[pyo3(signature = (number, x1, x2 = None, x3 = None, /))]
pub(crate) fn pointwise(
    py: Python<'_>,
    number: u8,
    x1: &Bound<'_, PyAny>,
    x2: Option<&Bound<'_, PyAny>>,
    x3: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let point = Point::ALL.get(number as usize).copied();
    let point = point.ok_or_else(|| PyValueError::new_err(format!("no pointwise op {number}")))?;
    let objects = [Some(x1), x2, x3];
    let count = objects.iter().flatten().count();
    let quick = objects.map(|object| object.and_then(operand::quick));
    // Scalars alone have no array that determines their width.
    let has_array = quick.iter().flatten().any(|arg| matches!(arg, Arg::Array(_)));
    let [first, second, third] = quick;
    match (first, second, third) {
        (Some(x), None, None) if has_array && count == 1 => submit::object(py, ops::pointwise(point, &[x], here(py))),
        (Some(x), Some(y), None) if has_array && count == 2 => {
            submit::object(py, ops::pointwise(point, &[x, y], here(py)))
        }
        _ => convert_pointwise(py, point, objects),
    }
}

#[cold]
#[inline(never)]
pub(crate) fn convert_pointwise(
    py: Python<'_>,
    point: Point,
    objects: [Option<&Bound<'_, PyAny>>; 3],
) -> PyResult<Py<PyAny>> {
    let home = home(objects.into_iter().flatten());
    let mut operands = Vec::with_capacity(3);
    for object in objects.into_iter().flatten() {
        operands.push(on_device(home, || required(object, point.row().name))?);
    }
    let loc = here(py);
    let numbers_alone = !operands.iter().any(|operand| matches!(operand, Operand::Array(_)));
    if numbers_alone {
        for (operand, object) in operands.iter_mut().zip(objects.into_iter().flatten()) {
            // Beside arrays, NumPy scalars do not affect the width; alone they keep theirs.
            if pycall::has(object, "dtype")? {
                *operand = Operand::Array(array_of(object)?);
            }
        }
    }
    let numbers_alone = !operands.iter().any(|operand| matches!(operand, Operand::Array(_)));
    if let Some(first) = operands.first_mut().filter(|_| numbers_alone) {
        *first = Operand::Array(Bound::new(py, PyArray(first.array(loc)?))?);
    }
    let args: Vec<Arg<'_>> = operands.iter().map(Operand::arg).collect();
    submit::object(py, ops::pointwise(point, &args, loc))
}

/// Converts an object with a dtype to an array.
fn array_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray>> {
    let made = pycall::call(&pycall::function(object.py(), "forerun._convert", "to_array")?, (object,))?;
    Ok(made.cast_into()?)
}

/// The attributes of a routine, from keyword arguments.
fn attributes(routine: Routine, named: Option<&Bound<'_, PyDict>>) -> PyResult<Encoded> {
    let declared = routine.attributes();
    let mut values = Vec::with_capacity(declared.len());
    for Attribute { name, kind } in declared {
        let Some(given) = named.map(|named| named.get_item(name)).transpose()?.flatten() else { continue };
        if given.is_none() {
            continue;
        }
        let value = match kind {
            AttributeKind::Axis | AttributeKind::Integer => Value::Int(given.extract()?),
            AttributeKind::Flag => Value::Bool(given.is_truthy()?),
            AttributeKind::Float | AttributeKind::OptionalFloat => Value::Float(given.extract()?),
            AttributeKind::Integers => Value::Ints(given.extract()?),
            AttributeKind::Floats => Value::Floats(given.extract()?),
            AttributeKind::Other(name) => unreachable!("{}: no routine takes a {name}", routine.name()),
        };
        values.push((*name, value));
    }
    for name in named.iter().flat_map(|named| named.keys()) {
        let name: String = name.extract()?;
        if declared.iter().all(|attribute| attribute.name != name) {
            return Err(PyTypeError::new_err(format!("{}: unexpected attribute {name}", routine.name())));
        }
    }
    routine.encode(&values).map_err(raise)
}

/// A routine, by its name in the catalogue, on arrays.
#[pyfunction]
#[pyo3(signature = (name, arrays, /, **named))]
pub(crate) fn routine(
    py: Python<'_>,
    name: &str,
    arrays: Vec<Bound<'_, PyAny>>,
    named: Option<&Bound<'_, PyDict>>,
) -> PyResult<Py<PyAny>> {
    let routine = Routine::from_name(name).ok_or_else(|| PyValueError::new_err(format!("no routine {name}")))?;
    let encoded = attributes(routine, named)?;
    let loc = here(py);
    let plain = |x| match operand::quick(x) {
        Some(Arg::Array(x)) => Some(x),
        _ => None,
    };
    if let Some(inputs) = arrays.iter().map(plain).collect::<Option<Vec<&Array>>>() {
        return submit::object(py, ops::routine_encoded(routine, &inputs, &encoded, loc));
    }
    let home = home(arrays.iter());
    let arrays = arrays.iter().map(|x| array(x, routine.name(), home)).collect::<PyResult<Vec<Array>>>()?;
    let inputs: Vec<&Array> = arrays.iter().collect();
    submit::object(py, ops::routine_encoded(routine, &inputs, &encoded, loc))
}

/// An array filled with one value.
#[pyfunction]
#[pyo3(signature = (shape, value, dtype = None, device = None))]
pub(crate) fn full(
    py: Python<'_>,
    shape: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyDevice>>,
) -> PyResult<Py<PyAny>> {
    let value = scalar(value)?;
    let (shape, dtype) = (index::shape(shape)?, dtype::optional(dtype)?.unwrap_or(value.default_dtype()));
    submit::object(py, on(device, || ops::full(&shape, value, dtype, here(py)))?)
}

/// Evenly spaced numbers from `start` to below `stop`.
#[pyfunction]
#[pyo3(signature = (start, stop, step, dtype = None, device = None))]
pub(crate) fn arange(
    py: Python<'_>,
    start: &Bound<'_, PyAny>,
    stop: &Bound<'_, PyAny>,
    step: &Bound<'_, PyAny>,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyDevice>>,
) -> PyResult<Py<PyAny>> {
    let dtype = dtype::optional(dtype)?;
    let (start, stop, step) = (scalar(start)?, scalar(stop)?, scalar(step)?);
    submit::object(py, on(device, || ops::arange(start, stop, step, dtype, here(py)))?)
}

/// Ones on a diagonal, zeros elsewhere.
#[pyfunction]
#[pyo3(signature = (rows, columns, diagonal = 0, dtype = None, device = None))]
pub(crate) fn eye(
    py: Python<'_>,
    rows: usize,
    columns: usize,
    diagonal: isize,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyDevice>>,
) -> PyResult<Py<PyAny>> {
    let dtype = dtype::optional(dtype)?.unwrap_or(DType::default_float());
    submit::object(py, on(device, || ops::eye(rows, columns, diagonal, dtype, here(py)))?)
}

/// Normally distributed random numbers.
#[pyfunction]
#[pyo3(signature = (shape, mean = 0.0, scale = 1.0, dtype = None, device = None))]
pub(crate) fn normal(
    py: Python<'_>,
    shape: &Bound<'_, PyAny>,
    mean: f64,
    scale: f64,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyDevice>>,
) -> PyResult<Py<PyAny>> {
    let (shape, dtype) = (index::shape(shape)?, dtype::optional(dtype)?.unwrap_or(DType::default_float()));
    submit::object(py, on(device, || ops::normal(&shape, mean, scale, dtype, here(py)))?)
}

/// Uniformly distributed random numbers.
#[pyfunction]
#[pyo3(signature = (shape, low = 0.0, high = 1.0, dtype = None, device = None))]
pub(crate) fn uniform(
    py: Python<'_>,
    shape: &Bound<'_, PyAny>,
    low: f64,
    high: f64,
    dtype: Option<&Bound<'_, PyAny>>,
    device: Option<&Bound<'_, PyDevice>>,
) -> PyResult<Py<PyAny>> {
    let (shape, dtype) = (index::shape(shape)?, dtype::optional(dtype)?.unwrap_or(DType::default_float()));
    submit::object(py, on(device, || ops::uniform(&shape, low, high, dtype, here(py)))?)
}

/// A reduction that is not a method of arrays, by its name, over axes or over all of them.
#[pyfunction]
#[pyo3(signature = (name, x, axis = None, keepdims = false, /))]
pub(crate) fn reduction(
    py: Python<'_>,
    name: &str,
    x: &Bound<'_, PyArray>,
    axis: Option<&Bound<'_, PyAny>>,
    keepdims: bool,
) -> PyResult<Py<PyAny>> {
    let (x, axes, loc) = (&x.get().0, index::axes(axis)?, here(py));
    let axes = axes.as_deref();
    let made = match name {
        "nanmax" => ops::reduce(ReduceKind::NanMax, x, axes, keepdims, loc),
        "nanmin" => ops::reduce(ReduceKind::NanMin, x, axes, keepdims, loc),
        "norm" => ops::norm(x, axes, keepdims, loc),
        _ => return Err(PyValueError::new_err(format!("no reduction {name}"))),
    };
    submit::object(py, made)
}

/// The matrix product.
#[pyfunction]
pub(crate) fn matmul(py: Python<'_>, a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    let loc = here(py);
    let home = home([a, b]);
    let (a, b) = (array(a, "matmul", home)?, array(b, "matmul", home)?);
    submit::object(py, ops::matmul(&a, &b, loc))
}

/// The sums over axes of the products of two arrays of one shape.
#[pyfunction]
pub(crate) fn sum_of_products(
    py: Python<'_>,
    x: &Bound<'_, PyArray>,
    y: &Bound<'_, PyArray>,
    axes: &Bound<'_, PyAny>,
) -> PyResult<Py<PyAny>> {
    submit::object(py, ops::sum_of_products(&x.get().0, &y.get().0, &index::integers(axes)?, here(py)))
}

// The following are exposed in `forerun.np` directly: a Python wrapper would take longer than they do.

/// Compute NumPy's dot product: an inner product, matrix product or scaling, depending on the dimensions.
///
/// Examples
/// --------
/// >>> from forerun import np
/// >>> np.dot(np.ones((2, 3)), np.ones((3, 2)))
/// array([[3., 3.],
///        [3., 3.]])
#[pyfunction]
#[pyo3(signature = (a, b, out = None))]
pub(crate) fn dot(
    py: Python<'_>,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    out: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let loc = here(py);
    let home = home([a, b]);
    let (a, b) = (array(a, "dot", home)?, array(b, "dot", home)?);
    let made = submit::object(py, ops::dot(&a, &b, loc))?;
    match out {
        None => Ok(made),
        Some(out) => {
            let written = pycall::function(py, "forerun._reducing", "written")?;
            pycall::call(&written, ("dot", made, out)).map(Bound::unbind)
        }
    }
}

/// Count the nonzero elements over axes.
///
/// Examples
/// --------
/// >>> from forerun import np
/// >>> np.count_nonzero(np.array([0, 1, 7]))
/// array(2)
#[pyfunction]
#[pyo3(signature = (a, axis = None, *, keepdims = false))]
pub(crate) fn count_nonzero(
    py: Python<'_>,
    a: &Bound<'_, PyAny>,
    axis: Option<&Bound<'_, PyAny>>,
    keepdims: bool,
) -> PyResult<Py<PyAny>> {
    let (x, axes) = (array(a, "count_nonzero", home([a]))?, index::axes(axis)?);
    submit::object(py, ops::count_nonzero(&x, axes.as_deref(), keepdims, here(py)))
}

/// The product of two real vectors of one length. For other operands, calls the function of this name in Python.
fn product(py: Python<'_>, a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>, of_any: &str) -> PyResult<Py<PyAny>> {
    match (operand::quick(a), operand::quick(b)) {
        (Some(Arg::Array(x)), Some(Arg::Array(y)))
            if (x.ndim(), y.ndim(), x.size()) == (1, 1, y.size()) && x.dtype().kind() != Kind::Complex =>
        {
            submit::object(py, ops::matmul(x, y, here(py)))
        }
        _ => pycall::call(&pycall::function(py, "forerun.np._products", of_any)?, (a, b)).map(Bound::unbind),
    }
}

/// Sum products over the last axes of two arrays.
///
/// Examples
/// --------
/// >>> from forerun import np
/// >>> np.inner(np.array([[1, 2], [3, 4]]), np.array([1, 1]))
/// array([3, 7])
#[pyfunction]
pub(crate) fn inner(py: Python<'_>, a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    product(py, a, b, "inner_of_any")
}

/// Compute the dot product of two flattened arrays, with the first one conjugated.
///
/// Examples
/// --------
/// >>> from forerun import np
/// >>> np.vdot(np.array([1, 2]), np.array([3, 4]))
/// array(11)
#[pyfunction]
pub(crate) fn vdot(py: Python<'_>, a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    product(py, a, b, "vdot_of_any")
}

/// Concatenates arrays along an axis.
#[pyfunction]
pub(crate) fn concatenate(py: Python<'_>, arrays: &Bound<'_, PyAny>, axis: isize) -> PyResult<Py<PyAny>> {
    let arrays = sequence(arrays, "concatenate")?;
    submit::object(py, ops::concatenate(&arrays.iter().collect::<Vec<_>>(), axis, here(py)))
}

/// Stacks arrays along a new axis.
#[pyfunction]
pub(crate) fn stack(py: Python<'_>, arrays: &Bound<'_, PyAny>, axis: isize) -> PyResult<Py<PyAny>> {
    let arrays = sequence(arrays, "stack")?;
    submit::object(py, ops::stack(&arrays.iter().collect::<Vec<_>>(), axis, here(py)))
}

fn sequence(arrays: &Bound<'_, PyAny>, op: &'static str) -> PyResult<Vec<Array>> {
    let arrays: Vec<Bound<'_, PyAny>> = pycall::listed(arrays)?.iter().collect();
    let home = home(&arrays);
    arrays.iter().map(|object| array(object, op, home)).collect()
}

/// A view with repeated dimensions.
#[pyfunction]
pub(crate) fn broadcast_to(py: Python<'_>, x: &Bound<'_, PyArray>, shape: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    submit::object(py, ops::broadcast_to(&x.get().0, &index::shape(shape)?))
}

/// A view with one more dimension.
#[pyfunction]
pub(crate) fn expand_dims(py: Python<'_>, x: &Bound<'_, PyArray>, axis: isize) -> PyResult<Py<PyAny>> {
    submit::object(py, ops::expand_dims(&x.get().0, axis))
}
