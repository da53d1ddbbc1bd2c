//! Update rules of optimisers: one call updates all weights. All frontends call these and have no arithmetic of their
//! own.
//!
//! Rates are scalars in the records, so they may change with every step without a new plan. Weights and states are written
//! in place, once per step (decoupled decay writes a weight once more), so that restoring after a failed gradient takes
//! back whole steps.

use crate::terms::{one, two, value};
use forerun_array::{Arg, Array, ops};
use forerun_base::{Loc, Result};
use forerun_ops::Point;

/// What is done to every gradient before it is used.
#[derive(Clone, Copy, Debug)]
pub struct Preparation {
    /// Multiplied with this.
    pub rescale: f64,
    /// Then clipped to between minus this and this.
    pub clip: Option<f64>,
}

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
        let count = self.weights.len();
        self.check("sgd_update", &[momenta.map_or(count, <[_]>::len), last_rates.map_or(count, <[_]>::len)])?;
        for (i, weight) in self.weights.iter().enumerate() {
            let step = self.descent(i, self.preparation, loc)?;
            let Some(momenta) = momenta else {
                ops::in_place(Point::Subtract, weight, Arg::Array(&step), loc)?;
                continue;
            };
            if let Some(last) = last_rates.map(|rates| rates[i])
                && last != self.rates[i]
            {
                let ratio = if last == 0.0 { 0.0 } else { self.rates[i] / last };
                ops::in_place(Point::Multiply, momenta[i], ratio.into(), loc)?;
            }
            ops::in_place_of(Point::MultiplyAdd, momenta[i], &[momentum.into(), Arg::Array(&step)], loc)?;
            ops::in_place(Point::Subtract, weight, Arg::Array(momenta[i]), loc)?;
        }
        Ok(())
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
        let decouples = rule.decoupled && self.decays.iter().any(|decay| *decay != 0.0);
        for (i, weight) in self.weights.iter().enumerate() {
            let (rate, epsilon) = rule.corrected(self.rates[i], counts[i])?;
            if decouples {
                // Applies the decay alone: the gradient is multiplied by zero. It is still an input, so that a failed
                // gradient fails this write too.
                let step = self.descent(i, Preparation { rescale: 0.0, clip: None }, loc)?;
                ops::in_place(Point::Subtract, weight, Arg::Array(&step), loc)?;
            }
            let decay = if rule.decoupled { 0.0 } else { self.decays[i] };
            let gradient = self.prepared(i, decay, self.preparation, loc)?;
            let moving = |state: &Array, sample: &Array, beta: f64| {
                let share = two(Point::Multiply, sample, 1.0 - beta, loc)?;
                ops::in_place_of(Point::MultiplyAdd, state, &[beta.into(), Arg::Array(&share)], loc)
            };
            moving(means[i], &gradient, rule.betas.0)?;
            moving(variances[i], &one(Point::Square, &gradient, loc)?, rule.betas.1)?;
            let spread = two(Point::Add, &one(Point::Sqrt, variances[i], loc)?, epsilon, loc)?;
            let step = two(Point::Multiply, &two(Point::Divide, means[i], &spread, loc)?, rate, loc)?;
            ops::in_place(Point::Subtract, weight, Arg::Array(&step), loc)?;
        }
        Ok(())
    }

    /// The step of plain descent: `rate (g + decay w)`.
    fn descent(&self, i: usize, how: Preparation, loc: Loc) -> Result<Array> {
        if how.clip.is_none() && self.decays[i] == 0.0 {
            // With neither clipping nor decay in between, the rescaling and the rate are one multiplication.
            return two(Point::Multiply, self.gradients[i], self.rates[i] * how.rescale, loc);
        }
        two(Point::Multiply, &self.prepared(i, self.decays[i], how, loc)?, self.rates[i], loc)
    }

    /// The gradient, rescaled, clipped, and with the weight's decay.
    fn prepared(&self, i: usize, decay: f64, how: Preparation, loc: Loc) -> Result<Array> {
        let mut gradient = self.gradients[i].clone();
        if how.rescale != 1.0 {
            gradient = two(Point::Multiply, &gradient, how.rescale, loc)?;
        }
        if let Some(limit) = how.clip {
            gradient = two(Point::Maximum, &two(Point::Minimum, &gradient, limit, loc)?, -limit, loc)?;
        }
        if decay != 0.0 {
            gradient = two(Point::Add, &gradient, &two(Point::Multiply, self.weights[i], decay, loc)?, loc)?;
        }
        Ok(gradient)
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
        // The sum of the weights of a running mean after `count` steps, which starts from zero.
        let weight_sum = |beta: f64| 1.0 - beta.powf(count as f64);
        let (mean, root) = (weight_sum(self.betas.0), weight_sum(self.betas.1).sqrt());
        if mean == 0.0 || root.is_nan() {
            let text = format!("betas {:?} leave nothing to correct at step {count}: each must be below 1", self.betas);
            return Err(value("adam_update", text));
        }
        let full = self.correction == Correction::Full;
        Ok((rate * root / mean, if full { self.epsilon * root } else { self.epsilon }))
    }
}
