//! Update rules of optimisers: one call updates all weights. All frontends call these and have no arithmetic of their
//! own.
//!
//! Weights and states are written in place, once per step (decoupled decay writes a weight once more), so that
//! restoring after a failed gradient undoes whole steps.

use crate::terms::value;
use forerun_array::ops::{self, Preparation};
use forerun_array::{Arg, Array};
use forerun_base::{Loc, Result, Scalar};
use forerun_ops::Point;

/// The input of a step: weights and gradients, each with a learning rate and a weight decay.
pub struct WeightUpdate<'a> {
    /// The weights.
    pub weights: &'a [&'a Array],
    /// Their gradients.
    pub gradients: &'a [&'a Array],
    /// Their learning rates.
    pub rates: &'a [f64],
    /// The fraction of each weight that is added to its gradient, or with decoupled decay subtracted from the weight.
    pub decays: &'a [f64],
    /// How gradients are prepared before use.
    pub preparation: Preparation,
}

impl WeightUpdate<'_> {
    /// Stochastic gradient descent: `m = momentum m + rate (g + decay w)`, `w -= m`; without momenta `w -= rate (g +
    /// decay w)`.
    ///
    /// With `last_rates`, the rates of the momenta's last update, a momentum is rescaled if its rate has changed: then
    /// `m` is the rate times a velocity that does not depend on rates, as in PyTorch.
    pub fn sgd(&self, momenta: Option<&[&Array]>, momentum: f64, last_rates: Option<&[f64]>, loc: Loc) -> Result<()> {
        let (weights, gradients) = (self.weights, self.gradients);
        if let (Some(momenta), Some(last_rates)) = (momenta, last_rates) {
            self.check("sgd_update", &[momenta.len(), last_rates.len()])?;
            for (momentum, (rate, last)) in momenta.iter().zip(self.rates.iter().zip(last_rates)) {
                let ratio = if *last == 0.0 { 0.0 } else { rate / last };
                if rate != last {
                    ops::in_place(Point::Multiply, momentum, Arg::Scalar(Scalar::Float(ratio)), loc)?;
                }
            }
        }
        ops::sgd_update(weights, gradients, momenta, self.rates, self.decays, momentum, self.preparation, loc)
    }

    /// Adam: `m = b1 m + (1 - b1) g`, `v = b2 v + (1 - b2) g^2`, `w -= rate m / (sqrt(v) + epsilon)`. `counts` are the
    /// step numbers, starting at 1.
    pub fn adam(
        &self,
        means: &[&Array],
        variances: &[&Array],
        counts: &[u64],
        rule: &AdamOptions,
        loc: Loc,
    ) -> Result<()> {
        self.check("adam_update", &[means.len(), variances.len(), counts.len()])?;
        let (weights, gradients) = (self.weights, self.gradients);
        if rule.decoupled && self.decays.iter().any(|decay| *decay != 0.0) {
            // A step of plain descent with zero gradients applies only the decay.
            let only_decay = Preparation { rescale: 0.0, clip: None };
            ops::sgd_update(weights, gradients, None, self.rates, self.decays, 0.0, only_decay, loc)?;
        }
        for (i, count) in counts.iter().enumerate() {
            let (rate, epsilon) = rule.corrected(self.rates[i], *count)?;
            ops::adam_update(
                &weights[i..=i],
                &gradients[i..=i],
                &means[i..=i],
                &variances[i..=i],
                &[rate],
                &[if rule.decoupled { 0.0 } else { self.decays[i] }],
                rule.betas,
                epsilon,
                self.preparation,
                loc,
            )?;
        }
        Ok(())
    }

    /// Checks, before anything is written, that there is one of everything per weight.
    fn check(&self, op: &'static str, others: &[usize]) -> Result<()> {
        let count = self.weights.len();
        let own = [self.gradients.len(), self.rates.len(), self.decays.len()];
        if own.iter().chain(others).any(|other| *other != count) {
            let text = format!("{count} weights need as many gradients, rates, decays and states of each kind");
            return Err(value(op, text));
        }
        Ok(())
    }
}

/// Options of Adam.
#[derive(Clone, Debug)]
pub struct AdamOptions {
    /// Decay rates of the running means and variances.
    pub betas: (f64, f64),
    /// Added to the divisor.
    pub epsilon: f64,
    /// How the zero initialisation of means and variances is corrected.
    pub correction: Correction,
    /// Whether the decay is applied to the weights directly before the step (AdamW), not through the gradient.
    pub decoupled: bool,
}

/// How Adam corrects for the zero initialisation of means and variances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correction {
    /// No correction.
    None,
    /// Through the learning rate, as MXNet does: epsilon is compared with the uncorrected root.
    Rate,
    /// Through the learning rate and epsilon, as in PyTorch and in the paper's first algorithm.
    Full,
}

impl AdamOptions {
    /// The corrected learning rate and epsilon of a step.
    fn corrected(&self, rate: f64, count: u64) -> Result<(f64, f64)> {
        if self.correction == Correction::None {
            return Ok((rate, self.epsilon));
        }
        let lack = |beta: f64| 1.0 - beta.powf(count as f64);
        let (mean, root) = (lack(self.betas.0), lack(self.betas.1).sqrt());
        if mean == 0.0 || root.is_nan() {
            let text = format!("betas {:?} leave nothing to correct at step {count}: each must be below 1", self.betas);
            return Err(value("adam_update", text));
        }
        let full = self.correction == Correction::Full;
        Ok((rate * root / mean, if full { self.epsilon * root } else { self.epsilon }))
    }
}
