//! Optimiser steps for Python: one call updates many weights by the rules of `nn`.

use crate::autograd::{Arrays, handles};
use crate::error::raise;
use crate::loc::here;
use forerun::nn::rules::{AdamOptions, Correction, Preparation, WeightUpdate};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// One step of stochastic gradient descent, in place. `last_rates` rescales momenta after a change of rates.
#[pyfunction]
#[pyo3(signature = (weights, grads, momenta, lrs, wds, momentum, rescale = 1.0, clip = None, last_rates = None))]
#[allow(clippy::too_many_arguments, reason = "one call updates everything")]
pub(crate) fn sgd_update(
    py: Python<'_>,
    weights: Arrays<'_>,
    grads: Arrays<'_>,
    momenta: Option<Arrays<'_>>,
    lrs: Vec<f64>,
    wds: Vec<f64>,
    momentum: f64,
    rescale: f64,
    clip: Option<f64>,
    last_rates: Option<Vec<f64>>,
) -> PyResult<()> {
    let (weights, gradients) = (handles(&weights), handles(&grads));
    let momenta = momenta.as_ref().map(|momenta| handles(momenta));
    let preparation = Preparation { rescale, clip };
    let step = WeightUpdate { weights: &weights, gradients: &gradients, rates: &lrs, decays: &wds, preparation };
    step.sgd(momenta.as_deref(), momentum, last_rates.as_deref(), here(py)).map_err(raise)
}

/// One step of Adam, in place. `counts` are the step numbers, `correction` is "none", "rate" or "full".
#[pyfunction]
#[pyo3(signature = (
    weights, grads, means, variances, lrs, wds, counts, betas, epsilon, rescale = 1.0, clip = None,
    correction = "rate", decoupled = false
))]
#[allow(clippy::too_many_arguments, reason = "one call updates everything")]
pub(crate) fn adam_update(
    py: Python<'_>,
    weights: Arrays<'_>,
    grads: Arrays<'_>,
    means: Arrays<'_>,
    variances: Arrays<'_>,
    lrs: Vec<f64>,
    wds: Vec<f64>,
    counts: Vec<u64>,
    betas: (f64, f64),
    epsilon: f64,
    rescale: f64,
    clip: Option<f64>,
    correction: &str,
    decoupled: bool,
) -> PyResult<()> {
    let correction = match correction {
        "none" => Correction::None,
        "rate" => Correction::Rate,
        "full" => Correction::Full,
        _ => return Err(PyValueError::new_err(format!("adam_update: unknown correction '{correction}'"))),
    };
    let (weights, gradients) = (handles(&weights), handles(&grads));
    let preparation = Preparation { rescale, clip };
    let step = WeightUpdate { weights: &weights, gradients: &gradients, rates: &lrs, decays: &wds, preparation };
    let rule = AdamOptions { betas, epsilon, correction, decoupled };
    step.adam(&handles(&means), &handles(&variances), &counts, &rule, here(py)).map_err(raise)
}
