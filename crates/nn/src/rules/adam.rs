//! Adam and the rules that descend from it: steps along a running mean of gradients, scaled by a running mean of squares.

use super::step::{Rule, WeightStep};
use super::term::Term;
use forerun_base::Result;

/// Adam: `m = b1 m + (1 - b1) g'`, `v = b2 v + (1 - b2) g'^2` with `g' = g + decay w`, `w -= r m / (sqrt(v) + epsilon)`, where `r = rate
/// sqrt(1 - b2^t) / (1 - b1^t)` in step `t`. Decoupled (AdamW): `g' = g`, `w -= r (m / (sqrt(v) + epsilon) + decay w)`.
#[derive(Clone, Copy, Debug)]
pub struct AdamRule {
    /// The decay rates of the running means of gradients and of squares.
    pub betas: (f64, f64),
    /// Added to the divisor.
    pub epsilon: f64,
    /// Whether the zero initialisation of the means is corrected through the rate; otherwise `r = rate`.
    pub correct_bias: bool,
    /// Whether epsilon is corrected too, as in PyTorch: it is then compared with the corrected root.
    pub correct_epsilon: bool,
    /// Whether the decay is applied to the weight directly, not through the gradient.
    pub decoupled: bool,
}

impl Default for AdamRule {
    fn default() -> AdamRule {
        AdamRule { betas: (0.9, 0.999), epsilon: 1e-8, correct_bias: true, correct_epsilon: false, decoupled: false }
    }
}

impl Rule for AdamRule {
    fn name(&self) -> &'static str {
        if self.decoupled { "adamw" } else { "adam" }
    }

    fn kinds(&self) -> usize {
        2
    }

    fn update(&self, step: &WeightStep<'_>) -> Result<()> {
        let (rate, root) = if self.correct_bias { corrected(step, self.betas)? } else { (step.rate, 1.0) };
        let epsilon = if self.correct_epsilon { self.epsilon * root } else { self.epsilon };
        let (m, v) = if self.decoupled {
            moments(step, self.betas, &step.gradient())?
        } else {
            moments(step, self.betas, &step.full_gradient())?
        };
        let d = m / (v.sqrt() + epsilon);
        step.descend(if self.decoupled { step.decayed(d) } else { d } * rate)
    }
}

/// Updates the running means of gradients and of squares.
pub(super) fn moments(step: &WeightStep<'_>, betas: (f64, f64), g: &Term) -> Result<(Term, Term)> {
    Ok((step.average(0, betas.0, g.clone())?, step.average(1, betas.1, g.square())?))
}

/// The corrected rate, and the root that it was multiplied by.
fn corrected(step: &WeightStep<'_>, betas: (f64, f64)) -> Result<(f64, f64)> {
    let root = step.correction(betas.1)?.sqrt();
    Ok((step.rate * root / step.correction(betas.0)?, root))
}

/// Adamax: `m = b1 m + (1 - b1) g'`, `u = max(b2 u, |g'|)` with `g' = g + decay w`, `w -= rate / (1 - b1^t) m / (u + epsilon)`.
#[derive(Clone, Copy, Debug)]
pub struct Adamax {
    /// The decay rates of the running mean and of the maximum.
    pub betas: (f64, f64),
    /// Added to the divisor.
    pub epsilon: f64,
}

impl Default for Adamax {
    fn default() -> Adamax {
        Adamax { betas: (0.9, 0.999), epsilon: 1e-8 }
    }
}

impl Rule for Adamax {
    fn name(&self) -> &'static str {
        "adamax"
    }

    fn kinds(&self) -> usize {
        2
    }

    fn update(&self, step: &WeightStep<'_>) -> Result<()> {
        let rate = step.rate / step.correction(self.betas.0)?;
        let g = step.full_gradient();
        let m = step.average(0, self.betas.0, g.clone())?;
        let u = step.set(1, &(step.state(1) * self.betas.1).maximum(g.abs()))?;
        step.descend(m / (u + self.epsilon) * rate)
    }
}

/// Nadam: Adam with Nesterov momentum. With `g' = g + decay w`, `mu_t = b1 (1 - 0.96^(t schedule_decay) / 2)` and `p_t = mu_1 ... mu_t`:
/// `w -= rate (mu_(t+1) m / (1 - p_(t+1)) + (1 - mu_t) g' / (1 - p_t)) / (sqrt(v / (1 - b2^t)) + epsilon)`.
#[derive(Clone, Copy, Debug)]
pub struct Nadam {
    /// The decay rates of the running means of gradients and of squares.
    pub betas: (f64, f64),
    /// Added to the divisor.
    pub epsilon: f64,
    /// How fast the momentum approaches the first beta.
    pub schedule_decay: f64,
}

impl Default for Nadam {
    fn default() -> Nadam {
        Nadam { betas: (0.9, 0.999), epsilon: 1e-8, schedule_decay: 0.004 }
    }
}

impl Nadam {
    /// The momentum of a step.
    fn momentum(&self, count: u64) -> f64 {
        self.betas.0 * (1.0 - 0.5 * 0.96f64.powf(count as f64 * self.schedule_decay))
    }

    /// The product of the momenta up to a step. It is below a half to the power of the step, so that only the first few
    /// factors matter next to 1.
    fn product(&self, count: u64) -> f64 {
        let mut product = 1.0;
        for step in 1..=count {
            product *= self.momentum(step);
            if product.abs() < 1e-18 {
                return 0.0;
            }
        }
        product
    }
}

impl Rule for Nadam {
    fn name(&self) -> &'static str {
        "nadam"
    }

    fn kinds(&self) -> usize {
        2
    }

    fn update(&self, step: &WeightStep<'_>) -> Result<()> {
        let (now, next) = (self.momentum(step.count), self.momentum(step.count + 1));
        let (product, later) = (self.product(step.count), self.product(step.count + 1));
        let spread = step.correction(self.betas.1)?;
        let g = step.full_gradient();
        let (m, v) = moments(step, self.betas, &g)?;
        let mean = m * (next / (1.0 - later)) + g * ((1.0 - now) / (1.0 - product));
        step.descend(mean / ((v / spread).sqrt() + self.epsilon) * step.rate)
    }
}

/// AdaBelief: `m = b1 m + (1 - b1) g'`, `s = b2 s + (1 - b2) (g' - m)^2 + epsilon` with `g' = clip(g + decay w)`, `w -= r m / (sqrt(s) +
/// epsilon)`, where `r` is the rate of [`AdamRule`].
#[derive(Clone, Copy, Debug)]
pub struct AdaBelief {
    /// The decay rates of the running means of gradients and of squares.
    pub betas: (f64, f64),
    /// Added to the mean of squares, and to the divisor.
    pub epsilon: f64,
    /// Whether the zero initialisation of the means is corrected through the rate.
    pub correct_bias: bool,
}

impl Default for AdaBelief {
    fn default() -> AdaBelief {
        AdaBelief { betas: (0.9, 0.999), epsilon: 1e-6, correct_bias: true }
    }
}

impl Rule for AdaBelief {
    fn name(&self) -> &'static str {
        "adabelief"
    }

    fn kinds(&self) -> usize {
        2
    }

    fn update(&self, step: &WeightStep<'_>) -> Result<()> {
        let rate = if self.correct_bias { corrected(step, self.betas)?.0 } else { step.rate };
        let g = step.clipped(step.decayed(step.rescaled()));
        let m = step.average(0, self.betas.0, g.clone())?;
        let surprise = (g - &m).square() * (1.0 - self.betas.1) + self.epsilon;
        let s = step.blend(1, self.betas.1, surprise)?;
        step.descend(m / (s.sqrt() + self.epsilon) * rate)
    }
}

/// Follow the moving leader: `v = b2 v + (1 - b2) g'^2` with `g' = g + decay w`, `d' = (1 - b1^t) / rate (sqrt(v / (1 - b2^t)) + epsilon)`,
/// `z = b1 z + (1 - b1) g' - (d' - b1 d) w`, `d = d'`, `w = -z / d`.
#[derive(Clone, Copy, Debug)]
pub struct Ftml {
    /// The decay rates of `z` and `d`, and of the running mean of squares.
    pub betas: (f64, f64),
    /// Added to the root of the mean of squares.
    pub epsilon: f64,
}

impl Default for Ftml {
    fn default() -> Ftml {
        Ftml { betas: (0.6, 0.999), epsilon: 1e-8 }
    }
}

impl Rule for Ftml {
    fn name(&self) -> &'static str {
        "ftml"
    }

    fn kinds(&self) -> usize {
        3
    }

    fn update(&self, step: &WeightStep<'_>) -> Result<()> {
        step.refuse_zero_rate()?;
        let (mean, spread) = (step.correction(self.betas.0)?, step.correction(self.betas.1)?);
        let g = step.full_gradient();
        let v = step.average(1, self.betas.1, g.square())?;
        let old = step.state(0) * self.betas.0;
        let d = ((v / spread).sqrt() + self.epsilon) * (mean / step.rate);
        let pull = (&d - old) * step.weight();
        let z = step.blend(2, self.betas.0, g * (1.0 - self.betas.0) - pull)?;
        step.set(0, &d)?;
        step.set_weight(&(z * -1.0 / d))
    }
}
