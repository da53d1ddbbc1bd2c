//! Optimiser steps for Python: one call updates many weights by a rule of `nn`.

use crate::autograd::{Arrays, handles};
use crate::error::raise;
use crate::loc::here;
use forerun::Array;
use forerun::nn::rules::{self, Lamb, Preparation, Rule, WeightUpdate};
use pyo3::exceptions::{PyKeyError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// One step, in place. `states` are the arrays of each weight: those of the rule, after a master copy if there is one.
/// `counts` are the step numbers, `options` those of the rule, `adapts` whether rates may depend on norms.
#[pyfunction]
#[pyo3(signature = (rule, weights, grads, states, lrs, wds, counts, options, rescale = 1.0, clip = None, adapts = None))]
#[expect(clippy::too_many_arguments, reason = "one call updates everything")]
pub(crate) fn update_weights(
    py: Python<'_>,
    rule: &str,
    weights: Arrays<'_>,
    grads: Arrays<'_>,
    states: Vec<Arrays<'_>>,
    lrs: Vec<f64>,
    wds: Vec<f64>,
    counts: Vec<u64>,
    options: &Bound<'_, PyDict>,
    rescale: f64,
    clip: Option<f64>,
    adapts: Option<Vec<bool>>,
) -> PyResult<()> {
    let rule = named(rule, &Options(options))?;
    let states: Vec<Vec<&Array>> = states.iter().map(|own| handles(own)).collect();
    let step = WeightUpdate {
        weights: &handles(&weights),
        gradients: &handles(&grads),
        states: &states,
        rates: &lrs,
        decays: &wds,
        counts: &counts,
        adapts: adapts.as_deref(),
        preparation: Preparation { rescale, clip },
    };
    step.apply(&*rule, here(py)).map_err(raise)
}

/// The options of a rule, by name.
struct Options<'a, 'py>(&'a Bound<'py, PyDict>);

impl Options<'_, '_> {
    fn optional(&self, name: &str) -> PyResult<Option<f64>> {
        let found = self.0.get_item(name)?;
        found.ok_or_else(|| PyKeyError::new_err(format!("update_weights: no option '{name}'")))?.extract()
    }

    fn number(&self, name: &str) -> PyResult<f64> {
        let missing = || PyValueError::new_err(format!("update_weights: option '{name}' is None"));
        self.optional(name)?.ok_or_else(missing)
    }

    fn flag(&self, name: &str) -> PyResult<bool> {
        Ok(self.number(name)? != 0.0)
    }

    fn betas(&self) -> PyResult<(f64, f64)> {
        Ok((self.number("beta1")?, self.number("beta2")?))
    }

    fn lamb(&self, bias_correction: bool) -> PyResult<Lamb> {
        let bounds = (self.optional("lower_bound")?, self.optional("upper_bound")?);
        Ok(Lamb { betas: self.betas()?, epsilon: self.number("epsilon")?, bounds, bias_correction })
    }
}

/// A rule by name.
fn named(name: &str, options: &Options<'_, '_>) -> PyResult<Box<dyn Rule>> {
    let number = |name| options.number(name);
    Ok(match name {
        "sgd" => Box::new(rules::SgdRule { momentum: number("momentum")?, velocity: options.flag("velocity")? }),
        "nag" => Box::new(rules::Nag { momentum: number("momentum")? }),
        "dcasgd" => Box::new(rules::Dcasgd { momentum: number("momentum")?, lamda: number("lamda")? }),
        "sgld" => Box::new(rules::Sgld),
        "signum" => Box::new(rules::Signum { momentum: number("momentum")?, shrink: number("wd_lh")? }),
        "lars" => {
            Box::new(rules::Lars { momentum: number("momentum")?, eta: number("eta")?, epsilon: number("epsilon")? })
        }
        "lamb" => Box::new(options.lamb(options.flag("bias_correction")?)?),
        "lans" => Box::new(rules::Lans(options.lamb(true)?)),
        "adam" => Box::new(rules::AdamRule {
            betas: options.betas()?,
            epsilon: number("epsilon")?,
            correct_bias: options.flag("correct_bias")?,
            correct_epsilon: options.flag("correct_epsilon")?,
            decoupled: options.flag("decoupled")?,
        }),
        "adamax" => Box::new(rules::Adamax { betas: options.betas()?, epsilon: number("epsilon")? }),
        "nadam" => Box::new(rules::Nadam {
            betas: options.betas()?,
            epsilon: number("epsilon")?,
            schedule_decay: number("schedule_decay")?,
        }),
        "adabelief" => Box::new(rules::AdaBelief {
            betas: options.betas()?,
            epsilon: number("epsilon")?,
            correct_bias: options.flag("correct_bias")?,
        }),
        "ftml" => Box::new(rules::Ftml { betas: options.betas()?, epsilon: number("epsilon")? }),
        "adagrad" => Box::new(rules::AdaGrad { epsilon: number("epsilon")? }),
        "groupadagrad" => Box::new(rules::GroupAdaGrad { epsilon: number("epsilon")? }),
        "adadelta" => Box::new(rules::AdaDelta { rho: number("rho")?, epsilon: number("epsilon")? }),
        "rmsprop" => Box::new(rules::RmsProp {
            rho: number("rho")?,
            momentum: number("momentum")?,
            epsilon: number("epsilon")?,
            centered: options.flag("centered")?,
            clip_weights: options.optional("clip_weights")?,
        }),
        "ftrl" => Box::new(rules::Ftrl { lamda1: number("lamda1")?, beta: number("beta")? }),
        _ => return Err(PyValueError::new_err(format!("update_weights: unknown rule '{name}'"))),
    })
}
