//! Optimisers: one call updates all parameters. Rates are scalars in the records, so setting one costs no new plan.

use crate::parameter::Parameter;
use crate::rules::{self, Correction, Step};
use crate::terms::value;
use forerun_array::ops::{self, Preparation};
use forerun_array::{Array, Wait, on_device};
use forerun_base::{Loc, Result, Scalar};

/// The parameters that are trained, each once.
struct Trained {
    parameters: Vec<Parameter>,
}

/// Their weights and gradients, for one step.
struct Turn {
    weights: Vec<Array>,
    gradients: Vec<Array>,
    how: Preparation,
}

impl Turn {
    /// Runs an update rule with one rate and one decay for all weights.
    fn with(&self, rate: f64, decay: f64, rule: impl FnOnce(&Step<'_>) -> Result<()>) -> Result<()> {
        let count = self.weights.len();
        rule(&Step {
            weights: &all(&self.weights),
            gradients: &all(&self.gradients),
            rates: &vec![rate; count],
            decays: &vec![decay; count],
            preparation: self.how,
        })
    }
}

impl Trained {
    fn of(parameters: Vec<Parameter>) -> Trained {
        let mut trained: Vec<Parameter> = Vec::with_capacity(parameters.len());
        for parameter in parameters.into_iter().filter(Parameter::is_trainable) {
            if !trained.iter().any(|p| p.is_same(&parameter)) {
                trained.push(parameter);
            }
        }
        Trained { parameters: trained }
    }

    /// Nothing is written before everything is there.
    fn turn(&self, op: &'static str, batch: usize) -> Result<Turn> {
        if batch == 0 {
            return Err(value(op, "the batch must have samples".to_owned()));
        }
        let how = Preparation { rescale: 1.0 / batch as f64, clip: None };
        let mut turn = Turn { weights: Vec::new(), gradients: Vec::new(), how };
        for parameter in &self.parameters {
            let Some(gradient) = parameter.gradient() else {
                return Err(value(op, format!("`{}` has no gradient: no forward has reached it", parameter.name())));
            };
            turn.weights.push(parameter.array()?);
            turn.gradients.push(gradient);
        }
        Ok(turn)
    }
}

/// Takes back the steps that failed: of the weights, and of each kind of state. Says how many. States from before the
/// first step that is left are forgotten: the next step makes them.
fn restore(trained: &Trained, states: &mut [&mut Vec<Array>], steps: &mut u32, loc: Loc) -> Result<u32> {
    let wait = Wait::at(loc, "restore");
    let mut most = 0;
    for parameter in &trained.parameters {
        most = most.max(parameter.array()?.restore_with(&wait)?);
    }
    *steps = steps.saturating_sub(most);
    for state in states {
        if *steps == 0 {
            state.clear();
        }
        state.iter().try_for_each(|array| array.restore_with(&wait).map(drop))?;
    }
    Ok(most)
}

/// Zeros like each weight, made at the first step.
fn zeros(states: &mut Vec<Array>, weights: &[Array], loc: Loc) -> Result<()> {
    if states.is_empty() {
        let made: Result<Vec<Array>> = weights
            .iter()
            .map(|w| on_device(w.device(), || ops::full(&w.shape(), Scalar::Int(0), w.dtype(), loc)))
            .collect();
        *states = made?;
    }
    Ok(())
}

fn all(arrays: &[Array]) -> Vec<&Array> {
    arrays.iter().collect()
}

/// Stochastic gradient descent, with momentum and weight decay where asked for.
pub struct Sgd {
    trained: Trained,
    rate: f64,
    momentum: f64,
    decay: f64,
    momenta: Vec<Array>,
    steps: u32,
}

impl Sgd {
    /// Trains these parameters; those without gradients are left alone.
    pub fn new(parameters: Vec<Parameter>, learning_rate: f64) -> Sgd {
        Sgd {
            trained: Trained::of(parameters),
            rate: learning_rate,
            momentum: 0.0,
            decay: 0.0,
            momenta: Vec::new(),
            steps: 0,
        }
    }

    /// This much of the last step goes into the next.
    pub fn momentum(mut self, momentum: f64) -> Sgd {
        self.momentum = momentum;
        self
    }

    /// This much of each weight is added to its gradient.
    pub fn weight_decay(mut self, decay: f64) -> Sgd {
        self.decay = decay;
        self
    }

    /// The learning rate.
    pub fn learning_rate(&self) -> f64 {
        self.rate
    }

    /// Another learning rate from the next step on.
    pub fn set_learning_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// One step, by gradients that were summed over this many samples.
    #[track_caller]
    pub fn step(&mut self, batch: usize) -> Result<()> {
        let loc = Loc::caller();
        let turn = self.trained.turn("sgd", batch)?;
        if self.momentum != 0.0 {
            zeros(&mut self.momenta, &turn.weights, loc)?;
        }
        self.steps = self.steps.saturating_add(1);
        let momenta = all(&self.momenta);
        let momenta = (self.momentum != 0.0).then_some(momenta.as_slice());
        turn.with(self.rate, self.decay, |step| step.sgd(momenta, self.momentum, None, loc))
    }

    /// Takes back the steps that failed, of weights and momenta; says how many. Waits. Training goes on as if the batches
    /// had not been there; a parameter whose gradient did not depend on what failed keeps its step.
    #[track_caller]
    pub fn restore(&mut self) -> Result<u32> {
        restore(&self.trained, &mut [&mut self.momenta], &mut self.steps, Loc::caller())
    }
}

/// Adam: steps scaled by running means and variances of the gradients.
pub struct Adam {
    trained: Trained,
    rate: f64,
    rule: rules::Adam,
    decay: f64,
    means: Vec<Array>,
    variances: Vec<Array>,
    steps: u32,
}

impl Adam {
    /// Trains these parameters; those without gradients are left alone.
    pub fn new(parameters: Vec<Parameter>, learning_rate: f64) -> Adam {
        Adam {
            trained: Trained::of(parameters),
            rate: learning_rate,
            rule: rules::Adam { betas: (0.9, 0.999), epsilon: 1e-8, correction: Correction::Rate, decoupled: false },
            decay: 0.0,
            means: Vec::new(),
            variances: Vec::new(),
            steps: 0,
        }
    }

    /// How much of the running means and variances stays at each step.
    pub fn betas(mut self, mean: f64, variance: f64) -> Adam {
        self.rule.betas = (mean, variance);
        self
    }

    /// This is added to what divides.
    pub fn epsilon(mut self, epsilon: f64) -> Adam {
        self.rule.epsilon = epsilon;
        self
    }

    /// This much of each weight is added to its gradient.
    pub fn weight_decay(mut self, decay: f64) -> Adam {
        self.decay = decay;
        self
    }

    /// The learning rate.
    pub fn learning_rate(&self) -> f64 {
        self.rate
    }

    /// Another learning rate from the next step on.
    pub fn set_learning_rate(&mut self, rate: f64) {
        self.rate = rate;
    }

    /// One step, by gradients that were summed over this many samples.
    #[track_caller]
    pub fn step(&mut self, batch: usize) -> Result<()> {
        let loc = Loc::caller();
        let turn = self.trained.turn("adam", batch)?;
        zeros(&mut self.means, &turn.weights, loc)?;
        zeros(&mut self.variances, &turn.weights, loc)?;
        self.steps = self.steps.saturating_add(1);
        let (means, variances, counts) =
            (all(&self.means), all(&self.variances), vec![self.steps.into(); turn.weights.len()]);
        turn.with(self.rate, self.decay, |step| step.adam(&means, &variances, &counts, &self.rule, loc))
    }

    /// Takes back the steps that failed, of weights, means, variances and the count of steps; says how many. Waits. Training
    /// goes on as if the batches had not been there; a parameter whose gradient did not depend on what failed keeps its step.
    #[track_caller]
    pub fn restore(&mut self) -> Result<u32> {
        restore(&self.trained, &mut [&mut self.means, &mut self.variances], &mut self.steps, Loc::caller())
    }
}
