//! Rules whose steps depend on the norms of a weight and of its gradient.

use super::adam::moments;
use super::descent::SgdRule;
use super::step::{Rule, WeightStep};
use super::term::Term;
use forerun_base::Result;

/// Descent with layer-wise rates: [`SgdRule`] with the rate times `eta |w| / (|g| + decay |w| + epsilon)`, where both norms are
/// positive and the weight adapts. `|g|` is the norm of the gradient before clipping.
#[derive(Clone, Copy, Debug)]
pub struct Lars {
    /// The fraction of the last step that is added to the next; without one there is no state.
    pub momentum: f64,
    /// The factor of the ratio of norms.
    pub eta: f64,
    /// Added to the divisor.
    pub epsilon: f64,
}

impl Default for Lars {
    fn default() -> Lars {
        Lars { momentum: 0.0, eta: 0.001, epsilon: 1e-8 }
    }
}

impl Rule for Lars {
    fn name(&self) -> &'static str {
        "lars"
    }

    fn kinds(&self) -> usize {
        (self.momentum != 0.0) as usize
    }

    fn update(&self, step: &WeightStep<'_>) -> Result<()> {
        let plain = SgdRule { momentum: self.momentum, velocity: false };
        if !step.adapts {
            return plain.update(step);
        }
        let (w, g) = (step.weight().norm(), step.rescaled().norm());
        let divisor = &g + &w * step.decay + self.epsilon;
        let ratio = (&w * self.eta / divisor).or_one_unless_positive(&w.minimum(&g));
        let descent = step.full_gradient() * (ratio * step.rate);
        step.descend(if self.momentum == 0.0 { descent } else { step.blend(0, self.momentum, descent)? })
    }
}

/// LAMB: `d = m' / (sqrt(v') + epsilon) + decay w`, `w -= rate |w| / |d| d`, where `m'` and `v'` are the running means of [`AdamRule`] with the
/// gradient without decay, corrected, and the ratio is 1 if a norm is 0.
///
/// [`AdamRule`]: super::AdamRule
#[derive(Clone, Copy, Debug)]
pub struct Lamb {
    /// The decay rates of the running means of gradients and of squares.
    pub betas: (f64, f64),
    /// Added to the divisor.
    pub epsilon: f64,
    /// The smallest and the largest norm of a weight that is used.
    pub bounds: (Option<f64>, Option<f64>),
    /// Whether the zero initialisation of the means is corrected.
    pub bias_correction: bool,
}

impl Default for Lamb {
    fn default() -> Lamb {
        Lamb { betas: (0.9, 0.999), epsilon: 1e-6, bounds: (None, None), bias_correction: true }
    }
}

impl Lamb {
    /// The norm of the weight, within the bounds.
    fn size(&self, step: &WeightStep<'_>) -> Term {
        let mut size = step.weight().norm();
        if let Some(low) = self.bounds.0 {
            size = size.maximum(low);
        }
        if let Some(high) = self.bounds.1 {
            size = size.minimum(high);
        }
        size
    }
}

/// The step with the size of the weight, times a rate.
fn resized(step: Term, size: &Term, rate: f64) -> Term {
    let own = step.norm();
    let ratio = (size / &own).or_one_unless_positive(&own.minimum(size));
    step * (ratio * rate)
}

impl Rule for Lamb {
    fn name(&self) -> &'static str {
        "lamb"
    }

    fn kinds(&self) -> usize {
        2
    }

    fn update(&self, step: &WeightStep<'_>) -> Result<()> {
        let size = self.size(step);
        let (mut m, mut v) = moments(step, self.betas, &step.gradient())?;
        if self.bias_correction {
            (m, v) = (m / step.correction(self.betas.0)?, v / step.correction(self.betas.1)?);
        }
        let d = step.decayed(m / (v.sqrt() + self.epsilon));
        step.descend(resized(d, &size, step.rate))
    }
}

/// LANS: LAMB with normalised gradients and Nesterov momentum. With `g' = clip(g / |g|)`, `d = m' / (sqrt(v') + epsilon) + decay w` and `e = g'
/// / (sqrt(v') + epsilon) + decay w`: `w -= rate (b1 |w| / |d| d + (1 - b1) |w| / |e| e)`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lans(
    /// The options; the means are always corrected.
    pub Lamb,
);

impl Rule for Lans {
    fn name(&self) -> &'static str {
        "lans"
    }

    fn kinds(&self) -> usize {
        2
    }

    fn update(&self, step: &WeightStep<'_>) -> Result<()> {
        let Lamb { betas, epsilon, .. } = self.0;
        let size = self.0.size(step);
        let (gradient, norm) = (step.rescaled(), step.rescaled().norm());
        let g = step.clipped(gradient / norm.or_one_unless_positive(&norm));
        let (m, v) = moments(step, betas, &g)?;
        let divisor = (v / step.correction(betas.1)?).sqrt() + epsilon;
        let mean = step.decayed(m / step.correction(betas.0)? / &divisor);
        let newest = step.decayed(g / divisor);
        let along = resized(mean, &size, step.rate * betas.0);
        step.descend(along + resized(newest, &size, step.rate * (1.0 - betas.0)))
    }
}
