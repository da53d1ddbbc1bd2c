//! One step of an optimiser over all weights, and what the rules are written in.

use super::term::Term;
use crate::terms::value;
use forerun_array::{Arg, Array, on_device, ops};
use forerun_base::{Loc, Result, Scalar};
use forerun_ops::Point;

/// The update rule of an optimiser, with its options.
pub trait Rule {
    /// The name used in messages.
    fn name(&self) -> &'static str;

    /// The number of state arrays per weight.
    fn kinds(&self) -> usize;

    /// New states of a weight: zeros of its shape, unless the rule says otherwise.
    fn states(&self, weight: &Array, loc: Loc) -> Result<Vec<Array>> {
        (0..self.kinds()).map(|_| zeros(weight, &weight.shape(), loc)).collect()
    }

    /// Updates one weight and its states.
    fn update(&self, step: &WeightStep<'_>) -> Result<()>;
}

/// Zeros with the dtype and the device of a weight.
pub(super) fn zeros(weight: &Array, shape: &[usize], loc: Loc) -> Result<Array> {
    on_device(weight.device(), || ops::full(shape, Scalar::Int(0), weight.dtype(), loc))
}

/// What is done to every gradient before it is used.
#[derive(Clone, Copy, Debug)]
pub struct Preparation {
    /// Multiplied with this.
    pub rescale: f64,
    /// Then clipped to between minus this and this.
    pub clip: Option<f64>,
}

/// The input of a step: one of everything per weight.
pub struct WeightUpdate<'a> {
    /// The weights.
    pub weights: &'a [&'a Array],
    /// Their gradients.
    pub gradients: &'a [&'a Array],
    /// Their states, as many as the rule has. With one more, the first is a master copy in a wider dtype: it is updated
    /// in its dtype, and the weight is set to it.
    pub states: &'a [Vec<&'a Array>],
    /// Their learning rates.
    pub rates: &'a [f64],
    /// Their weight decays.
    pub decays: &'a [f64],
    /// The numbers of their steps, starting at 1.
    pub counts: &'a [u64],
    /// Whether a rule may scale the step by norms of the weight and its gradient; for all of them if not given.
    pub adapts: Option<&'a [bool]>,
    /// How gradients are prepared before use.
    pub preparation: Preparation,
}

impl WeightUpdate<'_> {
    /// Updates all weights by a rule.
    pub fn apply(&self, rule: &dyn Rule, loc: Loc) -> Result<()> {
        self.check(rule)?;
        for (i, weight) in self.weights.iter().enumerate() {
            let (master, states) = self.states[i].split_at(self.states[i].len() - rule.kinds());
            let gradient = Term::new(self.gradients[i], loc);
            let step = WeightStep {
                rule: rule.name(),
                weight: master.first().unwrap_or(weight),
                gradient: master.first().map_or(gradient.clone(), |master| gradient.cast(master.dtype())),
                states,
                rate: self.rates[i],
                decay: self.decays[i],
                count: self.counts[i],
                adapts: self.adapts.is_none_or(|adapts| adapts[i]),
                preparation: self.preparation,
                loc,
            };
            rule.update(&step)?;
            if let Some(master) = master.first() {
                let narrow = Term::new(master, loc).cast(weight.dtype());
                replace(weight, &narrow, &narrow)?;
            }
        }
        Ok(())
    }

    /// Checks, before anything is written, that there is one of everything per weight.
    fn check(&self, rule: &dyn Rule) -> Result<()> {
        let count = self.weights.len();
        let lists = [self.gradients.len(), self.states.len(), self.rates.len(), self.decays.len(), self.counts.len()];
        if lists.iter().any(|other| *other != count) || self.adapts.is_some_and(|adapts| adapts.len() != count) {
            let text = format!("{count} weights need as many gradients, states, rates, decays and counts");
            return Err(value(rule.name(), text));
        }
        for (weight, states) in self.weights.iter().zip(self.states) {
            let extra = states.len().checked_sub(rule.kinds());
            if extra.is_none_or(|extra| extra > 1) {
                let text =
                    format!("a weight of shape {} needs {} states, got {}", weight.shape(), rule.kinds(), states.len());
                return Err(value(rule.name(), text));
            }
        }
        Ok(())
    }
}

/// Writes a value that does not depend on the old one. The write still reads the old one, so that it can be restored if
/// the witness fails.
fn replace(array: &Array, new: &Term, witness: &Term) -> Result<()> {
    ops::copy_where(array, &witness.always().made?, Arg::Array(new.made.as_ref().map_err(Clone::clone)?), new.loc)
}

/// One weight in a step: what its rule reads and writes.
pub struct WeightStep<'a> {
    rule: &'static str,
    weight: &'a Array,
    gradient: Term,
    states: &'a [&'a Array],
    pub(super) rate: f64,
    pub(super) decay: f64,
    pub(super) count: u64,
    pub(super) adapts: bool,
    preparation: Preparation,
    loc: Loc,
}

impl WeightStep<'_> {
    pub(super) fn weight(&self) -> Term {
        Term::new(self.weight, self.loc)
    }

    pub(super) fn state(&self, kind: usize) -> Term {
        Term::new(self.states[kind], self.loc)
    }

    /// The gradient as it is.
    pub(super) fn raw(&self) -> &Term {
        &self.gradient
    }

    /// The gradient, rescaled.
    pub(super) fn rescaled(&self) -> Term {
        match self.preparation.rescale {
            1.0 => self.gradient.clone(),
            rescale => &self.gradient * rescale,
        }
    }

    /// A gradient, clipped.
    pub(super) fn clipped(&self, gradient: Term) -> Term {
        self.preparation.clip.map_or_else(|| gradient.clone(), |limit| gradient.clip(limit))
    }

    /// A gradient with the weight's decay.
    pub(super) fn decayed(&self, gradient: Term) -> Term {
        if self.decay == 0.0 { gradient } else { gradient + self.weight() * self.decay }
    }

    /// The gradient, rescaled and clipped.
    pub(super) fn gradient(&self) -> Term {
        self.clipped(self.rescaled())
    }

    /// The gradient, rescaled, clipped, and with the weight's decay.
    pub(super) fn full_gradient(&self) -> Term {
        self.decayed(self.gradient())
    }

    /// The step of plain descent: `rate (g + decay w)`.
    pub(super) fn descent(&self) -> Term {
        if self.preparation.clip.is_none() && self.decay == 0.0 {
            // With neither clipping nor decay in between, the rescaling and the rate are one multiplication.
            return &self.gradient * (self.rate * self.preparation.rescale);
        }
        self.full_gradient() * self.rate
    }

    /// `s = factor s + term`; returns the state.
    pub(super) fn blend(&self, kind: usize, factor: f64, term: Term) -> Result<Term> {
        let state = self.states[kind];
        let term = Arg::Array(&term.made?);
        match factor {
            1.0 => ops::in_place(Point::Add, state, term, self.loc)?,
            factor => ops::in_place_of(Point::MultiplyAdd, state, &[factor.into(), term], self.loc)?,
        }
        Ok(self.state(kind))
    }

    /// The running mean `s = beta s + (1 - beta) sample`; returns the state.
    pub(super) fn average(&self, kind: usize, beta: f64, sample: Term) -> Result<Term> {
        self.blend(kind, beta, sample * (1.0 - beta))
    }

    /// `s = new`, as a write that fails if the gradient has failed; returns the state.
    pub(super) fn set(&self, kind: usize, new: &Term) -> Result<Term> {
        replace(self.states[kind], new, &self.gradient)?;
        Ok(self.state(kind))
    }

    /// `w -= step`.
    pub(super) fn descend(&self, step: Term) -> Result<()> {
        ops::in_place(Point::Subtract, self.weight, Arg::Array(&step.made?), self.loc)
    }

    /// `w = factor w - step`.
    pub(super) fn shrink(&self, factor: f64, step: Term) -> Result<()> {
        if factor == 1.0 {
            return self.descend(step);
        }
        let step = (step * -1.0).made?;
        ops::in_place_of(Point::MultiplyAdd, self.weight, &[factor.into(), Arg::Array(&step)], self.loc)
    }

    /// `w = new`.
    pub(super) fn set_weight(&self, new: &Term) -> Result<()> {
        replace(self.weight, new, &self.gradient)
    }

    /// Normal numbers in the shape of the weight.
    pub(super) fn noise(&self, deviation: f64) -> Term {
        let weight = self.weight;
        let made =
            on_device(weight.device(), || ops::normal(&weight.shape(), 0.0, deviation, weight.dtype(), self.loc));
        Term { made, loc: self.loc }
    }

    /// The weight of a running mean's samples after all steps: `1 - beta^count`, by which its zero initialisation is
    /// corrected.
    pub(super) fn correction(&self, beta: f64) -> Result<f64> {
        let sum = 1.0 - beta.powf(self.count as f64);
        if sum > 0.0 {
            return Ok(sum);
        }
        Err(self
            .value(format!("a beta of {beta} leaves nothing to correct at step {}: it must be below 1", self.count)))
    }

    /// Fails for a learning rate that the rule would divide by.
    pub(super) fn refuse_zero_rate(&self) -> Result<()> {
        if self.rate == 0.0 { Err(self.value("the learning rate must not be 0".to_owned())) } else { Ok(()) }
    }

    /// An error about an argument.
    pub(super) fn value(&self, text: String) -> forerun_base::Error {
        value(self.rule, text)
    }
}
