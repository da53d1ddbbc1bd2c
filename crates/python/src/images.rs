//! Convolutions and pooling: arguments as Python writes them, handed to the catalogue.

use crate::loc::here;
use crate::operand::{array, home};
use crate::submit;
use forerun::ops::{self, List, Pool, PoolKind, Window};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// Stride, padding, dilation and spatial extents of the result.
type Lists = [Vec<i64>; 4];

fn window([stride, padding, dilation, extents]: Lists, groups: i64, channels_last: bool) -> Window {
    let list = |values: Vec<i64>| List::from_vec(values);
    let (stride, padding, dilation, extents) = (list(stride), list(padding), list(dilation), list(extents));
    Window { stride, padding, dilation, extents, groups, channels_last }
}

/// A convolution, plus a bias per filter.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "what a convolution is described by")]
pub(crate) fn convolution(
    py: Python<'_>,
    x: Any,
    weight: Any,
    bias: Option<Any>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    groups: i64,
    channels_last: bool,
) -> PyResult<Py<PyAny>> {
    let name = "convolution";
    let home = home([x, weight].into_iter().chain(bias));
    let (x, weight) = (array(x, name, home)?, array(weight, name, home)?);
    let bias = bias.map(|bias| array(bias, name, home)).transpose()?;
    let window = window([stride, padding, dilation, Vec::new()], groups, channels_last);
    submit::object(py, ops::convolution(&x, &weight, bias.as_ref(), &window, here(py)))
}

/// A transposed convolution, plus a bias per channel.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "what a convolution is described by")]
pub(crate) fn deconvolution(
    py: Python<'_>,
    x: Any,
    weight: Any,
    bias: Option<Any>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    dilation: Vec<i64>,
    extents: Vec<i64>,
    adjust: Vec<i64>,
    groups: i64,
    channels_last: bool,
) -> PyResult<Py<PyAny>> {
    let name = "deconvolution";
    let home = home([x, weight].into_iter().chain(bias));
    let (x, weight) = (array(x, name, home)?, array(weight, name, home)?);
    let bias = bias.map(|bias| array(bias, name, home)).transpose()?;
    let window = window([stride, padding, dilation, extents], groups, channels_last);
    submit::object(py, ops::convolution_transpose(&x, &weight, bias.as_ref(), &window, &adjust, here(py)))
}

/// Windows reduced to one element each; an empty kernel is one window over all of an image.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "what pooling is described by")]
pub(crate) fn pooling(
    py: Python<'_>,
    x: Any,
    kind: &str,
    kernel: Vec<i64>,
    stride: Vec<i64>,
    padding: Vec<i64>,
    p: f64,
    count_padding: bool,
    ceil: bool,
    adaptive: bool,
    channels_last: bool,
) -> PyResult<Py<PyAny>> {
    let kind = match kind {
        "max" => PoolKind::Max,
        "avg" => PoolKind::Average(count_padding && !adaptive),
        "sum" => PoolKind::Sum,
        "lp" => PoolKind::Lp(p),
        _ => {
            let text = format!("pooling: pool_type must be 'max', 'avg', 'sum' or 'lp', not '{kind}'");
            return Err(PyValueError::new_err(text));
        }
    };
    let (x, loc) = (array(x, "pooling", home([x]))?, here(py));
    if kernel.is_empty() {
        return submit::object(py, ops::global_pooling(&x, kind, channels_last, loc));
    }
    let list = |values: Vec<i64>| List::from_vec(values);
    let (kernel, stride, padding) = (list(kernel), list(stride), list(padding));
    let pool = Pool { kernel, stride, padding, extents: List::new(), divisor: 0, ceil, adaptive, channels_last };
    submit::object(py, ops::pooling(&x, kind, &pool, loc))
}
