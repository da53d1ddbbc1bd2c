//! Losses for Python: converts names and options for the losses of `nn`.

use crate::loc::here;
use crate::operand::{array, home};
use crate::submit;
use forerun::nn::{Average, Classes, Loss, Poisson};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// A loss by name: per sample along an axis, or without one per element. `bound` is the threshold of "huber", the margin
/// of "hinge", "squared_hinge", "triplet" and "cosine", the smoothing of "metric" and the epsilon of "poisson"; `other` is
/// the third array of "triplet" and "cosine".
#[pyfunction]
#[pyo3(signature = (
    kind, pred, label, sample_weight = None, weight = 1.0, batch_axis = None, *, bound = 1.0, pos_weight = None,
    axis = -1, sparse = true, from_logits = false, ignore = None, other = None, full = false
))]
#[expect(clippy::too_many_arguments, reason = "the options of all losses")]
pub(crate) fn loss(
    py: Python<'_>,
    kind: &str,
    pred: Any,
    label: Any,
    sample_weight: Option<Any>,
    weight: f64,
    batch_axis: Option<isize>,
    bound: f64,
    pos_weight: Option<Any>,
    axis: isize,
    sparse: bool,
    from_logits: bool,
    ignore: Option<i64>,
    other: Option<Any>,
    full: bool,
) -> PyResult<Py<PyAny>> {
    let home = home([pred, label]);
    let optional = |x: Option<Any>| x.map(|x| array(x, "loss", home)).transpose();
    let (pred, label) = (array(pred, "loss", home)?, array(label, "loss", home)?);
    let (positive, sample_weight, other) = (optional(pos_weight)?, optional(sample_weight)?, optional(other)?);
    let third = || other.as_ref().ok_or_else(|| PyValueError::new_err(format!("loss: '{kind}' needs a third array")));
    let classes = Classes { axis, sparse, from_logits, ignore };
    let loss = match kind {
        "l2" => Loss::L2,
        "l1" => Loss::L1,
        "huber" => Loss::Huber(bound),
        "hinge" => Loss::Hinge(bound),
        "squared_hinge" => Loss::SquaredHinge(bound),
        "logistic" => Loss::Logistic,
        "sigmoid" => Loss::Sigmoid(positive.as_ref()),
        "binary" => Loss::Binary(positive.as_ref()),
        "softmax" => Loss::Softmax(classes),
        "divergence" => Loss::Divergence(classes),
        "poisson" => Loss::Poisson(Poisson { from_logits, full, epsilon: bound }),
        "triplet" => Loss::Triplet { margin: bound, negative: third()? },
        "cosine" => Loss::Cosine { margin: bound, other: third()? },
        "metric" => Loss::Metric(bound),
        _ => return Err(PyValueError::new_err(format!("loss: unknown loss '{kind}'"))),
    };
    let losses = match batch_axis {
        Some(batch_axis) => {
            let average = Average { weight, batch_axis, sample_weight: sample_weight.as_ref() };
            loss.per_sample(&pred, &label, average, here(py))
        }
        None => loss.per_element(&pred, &label, here(py)),
    };
    submit::object(py, losses)
}
