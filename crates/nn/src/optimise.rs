//! Optimisers: one call updates all parameters. Rates are scalars in the records, so a new rate needs no new plan.

use crate::parameter::Parameter;
use crate::rules::{self, Correction, Preparation, WeightUpdate};
use crate::terms::value;
use forerun_array::{Array, Wait, on_device, ops};
use forerun_base::{Loc, Result, Scalar};

/// The update rule of an optimiser.
pub trait Rule {
    /// The name used in messages.
    const NAME: &'static str;
    /// Number of state arrays per weight.
    fn kinds(&self) -> usize;
    /// Performs one step; `states` are the arrays of each kind, `count` is the number of the step, starting at 1.
    fn update(&self, step: &WeightUpdate<'_>, states: &[Vec<&Array>], count: u32, loc: Loc) -> Result<()>;
}

/// Trains parameters with a rule.
pub struct Optimiser<R> {
    /// The trained parameters, each once.
    trained: Vec<Parameter>,
    rate: f64,
    decay: f64,
    rule: R,
    /// The state arrays of the rule, by kind; created at the first step.
    states: Vec<Vec<Array>>,
    steps: u32,
}

/// Stochastic gradient descent, with optional momentum and weight decay.
pub type Sgd = Optimiser<Descent>;

/// Adam: steps scaled by running means and variances of the gradients.
pub type Adam = Optimiser<rules::AdamOptions>;

/// The rule of [`Sgd`].
#[derive(Default)]
pub struct Descent {
    momentum: f64,
}

impl Rule for Descent {
    const NAME: &'static str = "sgd";

    fn kinds(&self) -> usize {
        (self.momentum != 0.0) as usize
    }

    fn update(&self, step: &WeightUpdate<'_>, states: &[Vec<&Array>], _count: u32, loc: Loc) -> Result<()> {
        step.sgd(states.first().map(Vec::as_slice), self.momentum, None, loc)
    }
}

impl Rule for rules::AdamOptions {
    const NAME: &'static str = "adam";

    fn kinds(&self) -> usize {
        2
    }

    fn update(&self, step: &WeightUpdate<'_>, states: &[Vec<&Array>], count: u32, loc: Loc) -> Result<()> {
        step.adam(&states[0], &states[1], &vec![count.into(); step.weights.len()], self, loc)
    }
}

impl Sgd {
    /// Trains these parameters, except those without gradients.
    pub fn new(parameters: Vec<Parameter>, learning_rate: f64) -> Sgd {
        Optimiser::with(Descent::default(), parameters, learning_rate)
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
        let correction = Correction::Rate;
        let rule = rules::AdamOptions { betas: (0.9, 0.999), epsilon: 1e-8, correction, decoupled: false };
        Optimiser::with(rule, parameters, learning_rate)
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
    fn with(rule: R, parameters: Vec<Parameter>, rate: f64) -> Optimiser<R> {
        let mut trained: Vec<Parameter> = Vec::with_capacity(parameters.len());
        for parameter in parameters.into_iter().filter(Parameter::is_trainable) {
            if !trained.iter().any(|p| p.is_same(&parameter)) {
                trained.push(parameter);
            }
        }
        Optimiser { trained, rate, decay: 0.0, rule, states: Vec::new(), steps: 0 }
    }

    /// Sets the weight decay: this fraction of each weight is added to its gradient.
    pub fn weight_decay(mut self, decay: f64) -> Optimiser<R> {
        self.decay = decay;
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
            return Err(value(R::NAME, "the batch size must be at least 1, got 0".to_owned()));
        }
        let (mut weights, mut gradients) = (Vec::new(), Vec::new());
        for parameter in &self.trained {
            let Some(gradient) = parameter.gradient() else {
                let text = format!("`{}` has no gradient: no forward pass has used it", parameter.name());
                return Err(value(R::NAME, text));
            };
            weights.push(parameter.array()?);
            gradients.push(gradient);
        }
        if self.states.is_empty() {
            let zeros = |w: &Array| on_device(w.device(), || ops::full(&w.shape(), Scalar::Int(0), w.dtype(), loc));
            let kinds = 0..self.rule.kinds();
            self.states = kinds.map(|_| weights.iter().map(zeros).collect()).collect::<Result<_>>()?;
        }
        self.steps = self.steps.saturating_add(1);
        let states: Vec<Vec<&Array>> = self.states.iter().map(|kind| kind.iter().collect()).collect();
        let step = WeightUpdate {
            weights: &weights.iter().collect::<Vec<_>>(),
            gradients: &gradients.iter().collect::<Vec<_>>(),
            rates: &vec![self.rate; weights.len()],
            decays: &vec![self.decay; weights.len()],
            preparation: Preparation { rescale: 1.0 / batch as f64, clip: None },
        };
        self.rule.update(&step, &states, self.steps, loc)
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
