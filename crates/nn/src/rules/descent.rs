//! Gradient descent and its variants with momentum, noise and signs.

use super::step::{Rule, WeightStep, zeros};
use forerun_array::{Array, ops};
use forerun_base::{Loc, Result};

/// Stochastic gradient descent: `m = momentum m + rate (g + decay w)`, `w -= m`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SgdRule {
    /// The fraction of the last step that is added to the next; without one there is no state.
    pub momentum: f64,
    /// Whether the state is a velocity that does not depend on rates, as in PyTorch: `v = momentum v + g + decay w`, `w
    /// -= rate v`.
    pub velocity: bool,
}

impl Rule for SgdRule {
    fn name(&self) -> &'static str {
        "sgd"
    }

    fn kinds(&self) -> usize {
        (self.momentum != 0.0) as usize
    }

    fn update(&self, step: &WeightStep<'_>) -> Result<()> {
        if self.momentum == 0.0 {
            return step.descend(step.descent());
        }
        let m = if self.velocity {
            step.blend(0, self.momentum, step.full_gradient())? * step.rate
        } else {
            step.blend(0, self.momentum, step.descent())?
        };
        step.descend(m)
    }
}

/// Nesterov's accelerated gradient: `m = momentum m + rate (g + decay w)`, `w -= momentum m + rate (g + decay w)`.
#[derive(Clone, Copy, Debug)]
pub struct Nag {
    /// The fraction of the last step that is added to the next; without one there is no state.
    pub momentum: f64,
}

impl Default for Nag {
    fn default() -> Nag {
        Nag { momentum: 0.9 }
    }
}

impl Rule for Nag {
    fn name(&self) -> &'static str {
        "nag"
    }

    fn kinds(&self) -> usize {
        (self.momentum != 0.0) as usize
    }

    fn update(&self, step: &WeightStep<'_>) -> Result<()> {
        let descent = step.descent();
        if self.momentum == 0.0 {
            return step.descend(descent);
        }
        let m = step.blend(0, self.momentum, descent.clone())?;
        step.descend(m * self.momentum + descent)
    }
}

/// Descent with delay compensation: `d = g' + lamda g'^2 (w - p)` with `g' = g + decay w`, `m = momentum m + rate d`, `p =
/// w`, `w -= m`.
#[derive(Clone, Copy, Debug)]
pub struct Dcasgd {
    /// The fraction of the last step that is added to the next; without one there is no such state.
    pub momentum: f64,
    /// The factor of the compensation.
    pub lamda: f64,
}

impl Default for Dcasgd {
    fn default() -> Dcasgd {
        Dcasgd { momentum: 0.0, lamda: 0.04 }
    }
}

impl Rule for Dcasgd {
    fn name(&self) -> &'static str {
        "dcasgd"
    }

    fn kinds(&self) -> usize {
        1 + (self.momentum != 0.0) as usize
    }

    fn states(&self, weight: &Array, loc: Loc) -> Result<Vec<Array>> {
        let mut states = vec![ops::copy(&weight.detach(), loc)?];
        if self.momentum != 0.0 {
            states.insert(0, zeros(weight, &weight.shape(), loc)?);
        }
        Ok(states)
    }

    fn update(&self, step: &WeightStep<'_>) -> Result<()> {
        let (g, previous) = (step.full_gradient(), self.kinds() - 1);
        let away = step.weight() - step.state(previous);
        let d = (g.square() * away * self.lamda + g) * step.rate;
        step.set(previous, &step.weight())?;
        step.descend(if self.momentum == 0.0 { d } else { step.blend(0, self.momentum, d)? })
    }
}

/// Langevin dynamics: `w -= rate / 2 (g + decay w) + n`, where `n` is normal with variance `rate`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sgld;

impl Rule for Sgld {
    fn name(&self) -> &'static str {
        "sgld"
    }

    fn kinds(&self) -> usize {
        0
    }

    fn update(&self, step: &WeightStep<'_>) -> Result<()> {
        step.descend(step.full_gradient() * (step.rate / 2.0) + step.noise(step.rate.sqrt()))
    }
}

/// Descent by signs: `m = momentum m + (1 - momentum) (g + decay w)`, `w = (1 - rate shrink) w - rate sign(m)`; without
/// momentum `w = (1 - rate (decay + shrink)) w - rate sign(g)`.
#[derive(Clone, Copy, Debug)]
pub struct Signum {
    /// The fraction of the running mean that a step keeps; without one there is no state.
    pub momentum: f64,
    /// The weight decay that does not go through the sign.
    pub shrink: f64,
}

impl Default for Signum {
    fn default() -> Signum {
        Signum { momentum: 0.9, shrink: 0.0 }
    }
}

impl Rule for Signum {
    fn name(&self) -> &'static str {
        "signum"
    }

    fn kinds(&self) -> usize {
        (self.momentum != 0.0) as usize
    }

    fn update(&self, step: &WeightStep<'_>) -> Result<()> {
        if self.momentum == 0.0 {
            return step.shrink(1.0 - step.rate * (step.decay + self.shrink), step.raw().sign() * step.rate);
        }
        let m = step.average(0, self.momentum, step.full_gradient())?;
        step.shrink(1.0 - step.rate * self.shrink, m.sign() * step.rate)
    }
}
