//! Layers that normalise their inputs.

use crate::init::Init;
use crate::layer::Layer;
use crate::parameter::Parameter;
use forerun_array::{Array, ops};
use forerun_base::{Loc, Result};
use forerun_grad::is_training;

/// Default term added to variances.
const EPSILON: f64 = 1e-5;

/// The vector along one axis, with the extent of the first input.
fn along(parameter: &Parameter, op: &'static str, x: &Array, axis: isize, loc: Loc) -> Result<Array> {
    let axis = x.shape().axis(axis).map_err(|e| e.in_op(op))?;
    parameter.array_for(&[x.shape()[axis]], loc)
}

/// Normalises to mean 0 and variance 1 along an axis, then scales and shifts.
pub struct LayerNorm {
    axis: isize,
    epsilon: f64,
    gamma: Parameter,
    beta: Parameter,
}

impl LayerNorm {
    /// Normalises along the last axis.
    pub fn new() -> LayerNorm {
        let gamma = Parameter::starting_as("gamma", &[None], Init::One);
        let beta = Parameter::starting_as("beta", &[None], Init::Zero);
        LayerNorm { axis: -1, epsilon: EPSILON, gamma, beta }
    }

    /// Sets the axis.
    pub fn axis(mut self, axis: isize) -> LayerNorm {
        self.axis = axis;
        self
    }

    /// Sets the term added to the variance.
    pub fn epsilon(mut self, epsilon: f64) -> LayerNorm {
        self.epsilon = epsilon;
        self
    }
}

impl Default for LayerNorm {
    fn default() -> LayerNorm {
        LayerNorm::new()
    }
}

impl Layer for LayerNorm {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        let gamma = along(&self.gamma, "layer_norm", x, self.axis, loc)?;
        let beta = along(&self.beta, "layer_norm", x, self.axis, loc)?;
        ops::layer_norm(x, &gamma, &beta, self.axis, self.epsilon, loc)
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![self.gamma.clone(), self.beta.clone()]
    }
}

/// Normalises every channel to mean 0 and variance 1, then scales and shifts. Training uses the batch statistics and
/// updates the running ones; otherwise the running ones are used.
pub struct BatchNorm {
    axis: isize,
    epsilon: f64,
    momentum: f64,
    gamma: Parameter,
    beta: Parameter,
    mean: Parameter,
    variance: Parameter,
}

impl BatchNorm {
    /// The channels are the second dimension.
    pub fn new() -> BatchNorm {
        BatchNorm {
            axis: 1,
            epsilon: EPSILON,
            momentum: 0.9,
            gamma: Parameter::starting_as("gamma", &[None], Init::One),
            beta: Parameter::starting_as("beta", &[None], Init::Zero),
            mean: Parameter::kept("running_mean", &[None], Init::Zero),
            variance: Parameter::kept("running_var", &[None], Init::One),
        }
    }

    /// Sets the channel axis.
    pub fn axis(mut self, axis: isize) -> BatchNorm {
        self.axis = axis;
        self
    }

    /// Sets the term added to the variance.
    pub fn epsilon(mut self, epsilon: f64) -> BatchNorm {
        self.epsilon = epsilon;
        self
    }

    /// Sets the fraction of the running statistics that an update keeps.
    pub fn momentum(mut self, momentum: f64) -> BatchNorm {
        self.momentum = momentum;
        self
    }
}

impl Default for BatchNorm {
    fn default() -> BatchNorm {
        BatchNorm::new()
    }
}

impl Layer for BatchNorm {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        let vector = |parameter| along(parameter, "batch_norm", x, self.axis, loc);
        let (gamma, beta) = (vector(&self.gamma)?, vector(&self.beta)?);
        let (mean, variance) = (vector(&self.mean)?, vector(&self.variance)?);
        let channels = ops::Channels { gamma: &gamma, beta: &beta, mean: &mean, variance: &variance };
        let how = ops::BatchNormOptions {
            axis: self.axis,
            eps: self.epsilon,
            momentum: self.momentum,
            fix_gamma: false,
            training: is_training(),
        };
        let [y, _, _] = ops::batch_norm(x, channels, how, loc)?;
        Ok(y)
    }

    fn parameters(&self) -> Vec<Parameter> {
        [&self.gamma, &self.beta, &self.mean, &self.variance].map(Clone::clone).into()
    }
}
