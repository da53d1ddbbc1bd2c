//! Rules that divide each element's step by what its gradients were.

use super::step::{Rule, WeightStep, zeros};
use forerun_array::Array;
use forerun_base::{Error, Loc, Result};

/// AdaGrad: `h += g'^2` with `g' = g + decay w`, `w -= rate g' / (sqrt(h) + epsilon)`.
#[derive(Clone, Copy, Debug)]
pub struct AdaGrad {
    /// Added to the divisor.
    pub epsilon: f64,
}

impl Default for AdaGrad {
    fn default() -> AdaGrad {
        AdaGrad { epsilon: 1e-6 }
    }
}

impl Rule for AdaGrad {
    fn name(&self) -> &'static str {
        "adagrad"
    }

    fn kinds(&self) -> usize {
        1
    }

    fn update(&self, step: &WeightStep<'_>) -> Result<()> {
        let g = step.full_gradient();
        let h = step.blend(0, 1.0, g.square())?;
        step.descend(g / (h.sqrt() + self.epsilon) * step.rate)
    }
}

/// AdaGrad with one history per row of a matrix: `h += mean(g^2)` over each row, `w -= rate g / (sqrt(h) + epsilon)`. It
/// has no weight decay.
#[derive(Clone, Copy, Debug)]
pub struct GroupAdaGrad {
    /// Added to the divisor.
    pub epsilon: f64,
}

impl Default for GroupAdaGrad {
    fn default() -> GroupAdaGrad {
        GroupAdaGrad { epsilon: 1e-6 }
    }
}

impl Rule for GroupAdaGrad {
    fn name(&self) -> &'static str {
        "groupadagrad"
    }

    fn kinds(&self) -> usize {
        1
    }

    fn states(&self, weight: &Array, loc: Loc) -> Result<Vec<Array>> {
        let shape = weight.shape();
        match *shape {
            [rows, _] => Ok(vec![zeros(weight, &[rows, 1], loc)?]),
            _ => Err(self.refused(format!("weights must have 2 dimensions, got shape {shape}"))),
        }
    }

    fn update(&self, step: &WeightStep<'_>) -> Result<()> {
        if step.decay != 0.0 {
            return Err(self.refused(format!("weight decay is not supported, got {}", step.decay)));
        }
        let g = step.gradient();
        let h = step.blend(0, 1.0, g.square().row_means())?;
        step.descend(g / (h.sqrt() + self.epsilon) * step.rate)
    }
}

impl GroupAdaGrad {
    fn refused(&self, text: String) -> Error {
        crate::terms::value(self.name(), text)
    }
}

/// AdaDelta: `a = rho a + (1 - rho) g'^2` with `g' = g + decay w`, `d = sqrt(b + epsilon) / sqrt(a + epsilon) g'`, `b = rho b
/// + (1 - rho) d^2`, `w -= rate d`.
#[derive(Clone, Copy, Debug)]
pub struct AdaDelta {
    /// The decay rate of both running means.
    pub rho: f64,
    /// Added to both means.
    pub epsilon: f64,
}

impl Default for AdaDelta {
    fn default() -> AdaDelta {
        AdaDelta { rho: 0.9, epsilon: 1e-6 }
    }
}

impl Rule for AdaDelta {
    fn name(&self) -> &'static str {
        "adadelta"
    }

    fn kinds(&self) -> usize {
        2
    }

    fn update(&self, step: &WeightStep<'_>) -> Result<()> {
        let g = step.full_gradient();
        let gradients = step.average(0, self.rho, g.square())?;
        let steps = step.state(1) + self.epsilon;
        let d = steps.sqrt() / (gradients + self.epsilon).sqrt() * g;
        step.average(1, self.rho, d.square())?;
        step.descend(d * step.rate)
    }
}

/// RMSProp: `v = rho v + (1 - rho) g'^2` with `g' = g + decay w`, `w -= rate g' / (sqrt(v) + epsilon)`. Centred: also `m = rho
/// m + (1 - rho) g'`, `d = momentum d + rate g' / sqrt(v - m^2 + epsilon)`, `w -= d`.
#[derive(Clone, Copy, Debug)]
pub struct RmsProp {
    /// The decay rate of the running means.
    pub rho: f64,
    /// The fraction of the last step that is added to the next, if centred.
    pub momentum: f64,
    /// Added to the divisor, or if centred to the variance.
    pub epsilon: f64,
    /// Whether squares are taken around the running mean.
    pub centered: bool,
    /// The largest absolute value of an updated weight.
    pub clip_weights: Option<f64>,
}

impl Default for RmsProp {
    fn default() -> RmsProp {
        RmsProp { rho: 0.9, momentum: 0.9, epsilon: 1e-8, centered: false, clip_weights: None }
    }
}

impl Rule for RmsProp {
    fn name(&self) -> &'static str {
        "rmsprop"
    }

    fn kinds(&self) -> usize {
        if self.centered { 3 } else { 1 }
    }

    fn update(&self, step: &WeightStep<'_>) -> Result<()> {
        let g = step.full_gradient();
        let d = if self.centered {
            let m = step.average(0, self.rho, g.clone())?;
            let v = step.average(1, self.rho, g.square())?;
            let deviation = (v - m.square() + self.epsilon).sqrt();
            step.blend(2, self.momentum, g * step.rate / deviation)?
        } else {
            let v = step.average(0, self.rho, g.square())?;
            g / (v.sqrt() + self.epsilon) * step.rate
        };
        match self.clip_weights {
            None => step.descend(d),
            Some(limit) => step.set_weight(&(step.weight() - d).clip(limit)),
        }
    }
}

/// Follow the regularised leader: `z += g - (sqrt(n + g^2) - sqrt(n)) / rate w`, `n += g^2`, `w = -soft(z) / ((beta + sqrt(n)) /
/// rate + decay)`, where `soft` moves its argument towards 0 by `lamda1`.
#[derive(Clone, Copy, Debug)]
pub struct Ftrl {
    /// The coefficient of the absolute weights.
    pub lamda1: f64,
    /// Added to the root of `n`.
    pub beta: f64,
}

impl Default for Ftrl {
    fn default() -> Ftrl {
        Ftrl { lamda1: 0.01, beta: 1.0 }
    }
}

impl Rule for Ftrl {
    fn name(&self) -> &'static str {
        "ftrl"
    }

    fn kinds(&self) -> usize {
        2
    }

    fn update(&self, step: &WeightStep<'_>) -> Result<()> {
        step.refuse_zero_rate()?;
        let g = step.gradient();
        let before = step.state(1).sqrt();
        let root = step.blend(1, 1.0, g.square())?.sqrt();
        let z = step.blend(0, 1.0, g - (&root - before) / step.rate * step.weight())?;
        let divisor = (root + self.beta) / step.rate + step.decay;
        step.set_weight(&((z.clip(self.lamda1) - z) / divisor))
    }
}
