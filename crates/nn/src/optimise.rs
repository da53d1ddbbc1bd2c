//! Optimisers: one call updates all parameters. Rates are scalars in the records, so a new rate needs no new plan.

use crate::parameter::Parameter;
use crate::rules::{self, Preparation, Rule, WeightUpdate};
use crate::terms::value;
use forerun_array::{Array, Wait, ops};
use forerun_base::{DType, Loc, Result};

/// Trains parameters with a rule, one of [`rules`].
pub struct Optimiser<R> {
    /// The trained parameters, each once.
    trained: Vec<Parameter>,
    rate: f64,
    decay: f64,
    clip: Option<f64>,
    multi_precision: bool,
    rule: R,
    /// The states of each parameter, after a master copy if there is one; created at the first step.
    states: Vec<Vec<Array>>,
    steps: u32,
}

/// Stochastic gradient descent, with optional momentum and weight decay.
pub type Sgd = Optimiser<rules::SgdRule>;

/// Adam: steps scaled by running means and variances of the gradients.
pub type Adam = Optimiser<rules::AdamRule>;

impl Sgd {
    /// Trains these parameters, except those without gradients.
    pub fn new(parameters: Vec<Parameter>, learning_rate: f64) -> Sgd {
        Optimiser::with(rules::SgdRule::default(), parameters, learning_rate)
    }

    /// Sets the momentum: the fraction of the last step that is added to the next.
    pub fn momentum(mut self, momentum: f64) -> Sgd {
        self.rule.momentum = momentum;
        self
    }
}

impl Adam {
    /// Trains these parameters, except those without gradients.
    pub fn new(parameters: Vec<Parameter>, learning_rate: f64) -> Adam {
        Optimiser::with(rules::AdamRule::default(), parameters, learning_rate)
    }

    /// Sets the decay rates of the running means and variances.
    pub fn betas(mut self, mean: f64, variance: f64) -> Adam {
        self.rule.betas = (mean, variance);
        self
    }

    /// Sets the term added to the divisor.
    pub fn epsilon(mut self, epsilon: f64) -> Adam {
        self.rule.epsilon = epsilon;
        self
    }
}

impl<R: Rule> Optimiser<R> {
    /// Trains these parameters, except those without gradients, by a rule.
    pub fn with(rule: R, parameters: Vec<Parameter>, learning_rate: f64) -> Optimiser<R> {
        let mut trained: Vec<Parameter> = Vec::with_capacity(parameters.len());
        for parameter in parameters.into_iter().filter(Parameter::is_trainable) {
            if !trained.iter().any(|p| p.is_same(&parameter)) {
                trained.push(parameter);
            }
        }
        let (states, steps) = (Vec::new(), 0);
        Optimiser { trained, rate: learning_rate, decay: 0.0, clip: None, multi_precision: false, rule, states, steps }
    }

    /// Sets the weight decay.
    pub fn weight_decay(mut self, decay: f64) -> Optimiser<R> {
        self.decay = decay;
        self
    }

    /// Sets the largest absolute value of an element of a gradient, which is clipped before it is used.
    pub fn clip_gradient(mut self, limit: f64) -> Optimiser<R> {
        self.clip = Some(limit);
        self
    }

    /// Updates half floats through a master copy of the weight in float32.
    pub fn multi_precision(mut self) -> Optimiser<R> {
        self.multi_precision = true;
        self
    }

    /// The learning rate.
    pub fn learning_rate(&self) -> f64 {
        self.rate
    }

    /// Sets the learning rate from the next step on.
    pub fn set_learning_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// Performs one step with gradients summed over this many samples. Nothing is written unless all gradients exist.
    #[track_caller]
    pub fn step(&mut self, batch: usize) -> Result<()> {
        let loc = Loc::caller();
        if batch == 0 {
            return Err(value(self.rule.name(), "the batch size must be at least 1, got 0".to_owned()));
        }
        let (mut weights, mut gradients) = (Vec::new(), Vec::new());
        for parameter in &self.trained {
            let Some(gradient) = parameter.gradient() else {
                let text = format!("`{}` has no gradient: no forward pass has used it", parameter.name());
                return Err(value(self.rule.name(), text));
            };
            weights.push(parameter.array()?);
            gradients.push(gradient);
        }
        if self.states.is_empty() {
            self.states = weights.iter().map(|weight| self.begin(weight, loc)).collect::<Result<_>>()?;
        }
        self.steps = self.steps.saturating_add(1);
        let states: Vec<Vec<&Array>> = self.states.iter().map(|own| own.iter().collect()).collect();
        let adapts: Vec<bool> = self.trained.iter().map(|parameter| adapts(parameter.name())).collect();
        let step = WeightUpdate {
            weights: &weights.iter().collect::<Vec<_>>(),
            gradients: &gradients.iter().collect::<Vec<_>>(),
            states: &states,
            rates: &vec![self.rate; weights.len()],
            decays: &vec![self.decay; weights.len()],
            counts: &vec![self.steps.into(); weights.len()],
            adapts: Some(&adapts),
            preparation: Preparation { rescale: 1.0 / batch as f64, clip: self.clip },
        };
        step.apply(&self.rule, loc)
    }

    /// New states of a weight, after a master copy if it needs one.
    fn begin(&self, weight: &Array, loc: Loc) -> Result<Vec<Array>> {
        if !self.multi_precision || !matches!(weight.dtype(), DType::F16 | DType::BF16) {
            return self.rule.states(weight, loc);
        }
        let master = ops::cast(&weight.detach(), DType::F32, loc)?;
        let states = self.rule.states(&master, loc)?;
        Ok([master].into_iter().chain(states).collect())
    }

    /// Undoes the steps that failed, of weights, states and the step count; returns how many. Waits. Training continues
    /// as if the failed batches had not existed; a parameter whose gradient did not depend on the failure keeps its
    /// step. If no step is left, the states are dropped and the next step creates them.
    #[track_caller]
    pub fn restore(&mut self) -> Result<u32> {
        let wait = Wait::at(Loc::caller(), "restore");
        let mut most = 0;
        for parameter in &self.trained {
            most = most.max(parameter.array()?.restore_with(&wait)?);
        }
        self.steps = self.steps.saturating_sub(most);
        if self.steps == 0 {
            self.states.clear();
        }
        self.states.iter().flatten().try_for_each(|array| array.restore_with(&wait).map(drop))?;
        Ok(most)
    }
}

/// Whether the rate of a parameter may depend on norms: not for biases and the parameters of normalisations.
fn adapts(name: &str) -> bool {
    !["bias", "gamma", "beta"].iter().any(|end| name.ends_with(end))
}
