//! The functions under `forerun.npx` and those with indices: converts Python arguments and calls the catalogue's ops.

use crate::advanced::as_places;
use crate::array::PyArray;
use crate::dtype;
use crate::error::raise;
use crate::index;
use crate::loc::here;
use crate::operand::{array, home, scalar};
use crate::submit;
use forerun::grad::{is_on_tape, is_recording, is_training};
use forerun::ops::{self, Activation, AttentionOptions, BatchNormOptions, Channels};
use forerun::{Array, Beyond};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

fn mode(name: &str) -> PyResult<Beyond> {
    Beyond::from_name(name)
        .ok_or_else(|| PyValueError::new_err(format!("mode must be 'raise', 'clip' or 'wrap', not '{name}'")))
}

/// Rows along an axis, selected by indices; without an axis, elements of the flattened array.
#[pyfunction]
#[pyo3(signature = (x, indices, axis = None, mode = "raise"))]
pub(crate) fn take(py: Python<'_>, x: Any, indices: Any, axis: Option<isize>, mode: &str) -> PyResult<Py<PyAny>> {
    let home = home([x, indices]);
    let (x, indices) = (array(x, "take", home)?, array(indices, "take", home)?);
    taken(py, &x, &indices, axis, mode)
}

/// The common part of [`take`] and the method, on arrays.
pub(crate) fn taken(
    py: Python<'_>,
    x: &Array,
    indices: &Array,
    axis: Option<isize>,
    mode: &str,
) -> PyResult<Py<PyAny>> {
    let (beyond, loc) = (self::mode(mode)?, here(py));
    let indices = &as_places(indices, py)?;
    match axis {
        Some(axis) => submit::object(py, ops::take(x, indices, axis, beyond, loc)),
        None => {
            let flat = ops::reshape(x, &[-1], loc).map_err(raise)?;
            submit::object(py, ops::take(&flat, indices, 0, beyond, loc))
        }
    }
}

/// The base with updates added to the rows that indices select.
#[pyfunction]
#[pyo3(signature = (base, indices, updates, axis = 0, mode = "raise"))]
pub(crate) fn scatter_add(
    py: Python<'_>,
    base: &Bound<'_, PyArray>,
    indices: Any,
    updates: Any,
    axis: isize,
    mode: &str,
) -> PyResult<Py<PyAny>> {
    let home = base.get().0.device();
    let (indices, updates) = (array(indices, "scatter_add", home)?, array(updates, "scatter_add", home)?);
    submit::object(py, ops::scatter_add(&base.get().0, &indices, &updates, axis, self::mode(mode)?, here(py)))
}

/// The elements that indices select along an axis.
#[pyfunction]
pub(crate) fn pick(py: Python<'_>, x: Any, index: Any, axis: isize, keepdims: bool, mode: &str) -> PyResult<Py<PyAny>> {
    let home = home([x, index]);
    let (x, index) = (array(x, "pick", home)?, array(index, "pick", home)?);
    submit::object(py, ops::pick(&x, &index, axis, keepdims, self::mode(mode)?, here(py)))
}

/// Rows of a table.
#[pyfunction]
pub(crate) fn embedding(py: Python<'_>, indices: Any, weight: Any) -> PyResult<Py<PyAny>> {
    let home = home([indices, weight]);
    let (indices, weight) = (array(indices, "embedding", home)?, array(weight, "embedding", home)?);
    submit::object(py, ops::embedding(&indices, &weight, here(py)))
}

/// One value at the index given by each element, another elsewhere.
#[pyfunction]
pub(crate) fn one_hot(
    py: Python<'_>,
    indices: Any,
    depth: usize,
    on: Any,
    off: Any,
    dtype: Any,
) -> PyResult<Py<PyAny>> {
    let indices = array(indices, "one_hot", home([indices]))?;
    let dtype = dtype::dtype_of(dtype)?;
    submit::object(py, ops::one_hot(&indices, depth, scalar(on)?, scalar(off)?, dtype, here(py)))
}

/// The softmax along an axis.
#[pyfunction]
pub(crate) fn softmax(py: Python<'_>, x: Any, axis: isize) -> PyResult<Py<PyAny>> {
    submit::object(py, ops::softmax(&array(x, "softmax", home([x]))?, axis, here(py)))
}

/// The logarithm of the softmax.
#[pyfunction]
pub(crate) fn log_softmax(py: Python<'_>, x: Any, axis: isize) -> PyResult<Py<PyAny>> {
    submit::object(py, ops::log_softmax(&array(x, "log_softmax", home([x]))?, axis, here(py)))
}

/// An activation by name; `slope` applies to `leaky` and `elu`.
#[pyfunction]
#[pyo3(signature = (x, kind, slope = 0.25))]
pub(crate) fn activation(py: Python<'_>, x: Any, kind: &str, slope: f64) -> PyResult<Py<PyAny>> {
    let kind = Activation::from_name(kind, slope)
        .ok_or_else(|| PyValueError::new_err(format!("activation: unknown activation '{kind}'")))?;
    submit::object(py, ops::activation(kind, &array(x, "activation", home([x]))?, here(py)))
}

/// Sets random elements to zero and scales up the others.
#[pyfunction]
pub(crate) fn dropout(py: Python<'_>, x: Any, p: f64, axes: Any, training: bool) -> PyResult<Py<PyAny>> {
    let axes = index::integers(axes)?;
    submit::object(py, ops::dropout(&array(x, "dropout", home([x]))?, p, &axes, training, here(py)))
}

/// The product with a transposed weight, plus a bias.
#[pyfunction]
pub(crate) fn fully_connected(
    py: Python<'_>,
    x: Any,
    weight: Any,
    bias: Option<Any>,
    flatten: bool,
) -> PyResult<Py<PyAny>> {
    let name = "fully_connected";
    let home = home([x, weight].into_iter().chain(bias));
    let (x, weight) = (array(x, name, home)?, array(weight, name, home)?);
    let bias = bias.map(|bias| array(bias, name, home)).transpose()?;
    submit::object(py, ops::fully_connected(&x, &weight, bias.as_ref(), flatten, here(py)))
}

/// Normalises to mean 0 and variance 1 along an axis, then scales and shifts.
#[pyfunction]
pub(crate) fn layer_norm(py: Python<'_>, x: Any, gamma: Any, beta: Any, axis: isize, eps: f64) -> PyResult<Py<PyAny>> {
    let name = "layer_norm";
    let home = home([x, gamma, beta]);
    let (x, gamma, beta) = (array(x, name, home)?, array(gamma, name, home)?, array(beta, name, home)?);
    submit::object(py, ops::layer_norm(&x, &gamma, &beta, axis, eps, here(py)))
}

/// Divides by the root of the mean square along an axis, then scales.
#[pyfunction]
pub(crate) fn rms_norm(py: Python<'_>, x: Any, gamma: Any, axis: isize, eps: f64) -> PyResult<Py<PyAny>> {
    let home = home([x, gamma]);
    let (x, gamma) = (array(x, "rms_norm", home)?, array(gamma, "rms_norm", home)?);
    submit::object(py, ops::rms_norm(&x, &gamma, axis, eps, here(py)))
}

/// Normalises each group of channels of each sample to mean 0 and variance 1, then scales and shifts.
#[pyfunction]
pub(crate) fn group_norm(
    py: Python<'_>,
    x: Any,
    gamma: Any,
    beta: Any,
    groups: usize,
    eps: f64,
) -> PyResult<Py<PyAny>> {
    let name = "group_norm";
    let home = home([x, gamma, beta]);
    let (x, gamma, beta) = (array(x, name, home)?, array(gamma, name, home)?, array(beta, name, home)?);
    submit::object(py, ops::group_norm(&x, &gamma, &beta, groups, eps, here(py)))
}

/// Normalises each channel of each sample to mean 0 and variance 1, then scales and shifts.
#[pyfunction]
pub(crate) fn instance_norm(
    py: Python<'_>,
    x: Any,
    gamma: Any,
    beta: Any,
    axis: isize,
    eps: f64,
) -> PyResult<Py<PyAny>> {
    let name = "instance_norm";
    let home = home([x, gamma, beta]);
    let (x, gamma, beta) = (array(x, name, home)?, array(gamma, name, home)?, array(beta, name, home)?);
    submit::object(py, ops::instance_norm(&x, &gamma, &beta, axis, eps, here(py)))
}

/// Multiplies negative elements by a slope, one for all or one per channel.
#[pyfunction]
pub(crate) fn prelu(py: Python<'_>, x: Any, slope: Any) -> PyResult<Py<PyAny>> {
    let home = home([x, slope]);
    submit::object(py, ops::prelu(&array(x, "prelu", home)?, &array(slope, "prelu", home)?, here(py)))
}

/// Normalises every channel to mean 0 and variance 1, then scales and shifts. Returns the result and the mean and
/// variance used, one element per channel.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "as many as the function of that name takes in Python")]
pub(crate) fn batch_norm(
    py: Python<'_>,
    x: Any,
    gamma: Any,
    beta: Any,
    mean: &Bound<'_, PyArray>,
    variance: &Bound<'_, PyArray>,
    axis: isize,
    eps: f64,
    momentum: f64,
    fix_gamma: bool,
    training: bool,
) -> PyResult<(Py<PyAny>, Py<PyAny>, Py<PyAny>)> {
    let name = "batch_norm";
    let home = home([x, gamma, beta]);
    let (x, gamma, beta) = (array(x, name, home)?, array(gamma, name, home)?, array(beta, name, home)?);
    let channels = Channels { gamma: &gamma, beta: &beta, mean: &mean.get().0, variance: &variance.get().0 };
    let how = BatchNormOptions { axis, eps, momentum, fix_gamma, training };
    let [y, mean, variance] = ops::batch_norm(&x, channels, how, here(py)).map_err(raise)?;
    let flat = |array: &Array| submit::object(py, ops::reshape(array, &[-1], here(py)));
    Ok((submit::object(py, Ok(y))?, flat(&mean)?, flat(&variance)?))
}

/// Values weighted by the softmax of the scaled products of queries and keys.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "as many as the function of that name takes in Python")]
pub(crate) fn scaled_dot_product_attention(
    py: Python<'_>,
    query: Any,
    key: Any,
    value: Any,
    mask: Option<Any>,
    dropout: f64,
    causal: bool,
    scale: Option<f64>,
) -> PyResult<Py<PyAny>> {
    let name = "scaled_dot_product_attention";
    let home = home([query, key, value].into_iter().chain(mask));
    let (query, key, value) = (array(query, name, home)?, array(key, name, home)?, array(value, name, home)?);
    let mask = mask.map(|mask| array(mask, name, home)).transpose()?;
    let mask_gradient = is_recording() && mask.as_ref().is_some_and(is_on_tape);
    let how = AttentionOptions { scale, causal, dropout, training: is_training(), mask_gradient };
    submit::object(py, ops::scaled_dot_product_attention([&query, &key, &value], mask.as_ref(), how, here(py)))
}
