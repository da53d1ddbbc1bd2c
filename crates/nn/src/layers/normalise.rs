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

/// A vector of ones that scales; not trained if `fixed`.
fn scales(fixed: bool) -> Parameter {
    let make = if fixed { Parameter::kept } else { Parameter::starting_as };
    make("gamma", &[None], Init::One)
}

/// A vector of zeros that shifts; not trained if `fixed`.
fn shifts(fixed: bool) -> Parameter {
    let make = if fixed { Parameter::kept } else { Parameter::starting_as };
    make("beta", &[None], Init::Zero)
}

macro_rules! settings {
    ($($layer:ident: $($setting:ident)*;)*) => { $(
        impl $layer { $( settings! { @$setting $layer } )* }

        impl Default for $layer {
            fn default() -> $layer {
                $layer::new()
            }
        }
    )* };
    (@axis $layer:ident) => {
        /// Sets the axis that `gamma` scales.
        pub fn axis(mut self, axis: isize) -> $layer {
            self.axis = axis;
            self
        }
    };
    (@epsilon $layer:ident) => {
        /// Sets the term added under the root.
        pub fn epsilon(mut self, epsilon: f64) -> $layer {
            self.epsilon = epsilon;
            self
        }
    };
    (@without_scale $layer:ident) => {
        /// Keeps `gamma` at 1 instead of training it.
        pub fn without_scale(mut self) -> $layer {
            self.gamma = scales(true);
            self
        }
    };
    (@without_shift $layer:ident) => {
        /// Keeps `beta` at 0 instead of training it.
        pub fn without_shift(mut self) -> $layer {
            self.beta = shifts(true);
            self
        }
    };
}

settings! {
    LayerNorm: axis epsilon without_scale without_shift;
    RmsNorm: axis epsilon without_scale;
    GroupNorm: epsilon without_scale without_shift;
    InstanceNorm: axis epsilon without_scale without_shift;
    BatchNorm: axis epsilon without_scale without_shift;
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
        LayerNorm { axis: -1, epsilon: EPSILON, gamma: scales(false), beta: shifts(false) }
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

/// Divides by the root of the mean square along an axis, then scales.
pub struct RmsNorm {
    axis: isize,
    epsilon: f64,
    gamma: Parameter,
}

impl RmsNorm {
    /// Normalises along the last axis.
    pub fn new() -> RmsNorm {
        RmsNorm { axis: -1, epsilon: EPSILON, gamma: scales(false) }
    }
}

impl Layer for RmsNorm {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        let gamma = along(&self.gamma, "rms_norm", x, self.axis, loc)?;
        ops::rms_norm(x, &gamma, self.axis, self.epsilon, loc)
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![self.gamma.clone()]
    }
}

/// Normalises groups of channels (axis 1) of each sample to mean 0 and variance 1, then scales and shifts every
/// channel.
pub struct GroupNorm {
    groups: usize,
    epsilon: f64,
    gamma: Parameter,
    beta: Parameter,
}

impl GroupNorm {
    /// All channels are one group.
    pub fn new() -> GroupNorm {
        GroupNorm { groups: 1, epsilon: EPSILON, gamma: scales(false), beta: shifts(false) }
    }

    /// Sets the number of groups, which divides the number of channels.
    pub fn groups(mut self, groups: usize) -> GroupNorm {
        self.groups = groups;
        self
    }
}

impl Layer for GroupNorm {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        let gamma = along(&self.gamma, "group_norm", x, 1, loc)?;
        let beta = along(&self.beta, "group_norm", x, 1, loc)?;
        ops::group_norm(x, &gamma, &beta, self.groups, self.epsilon, loc)
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![self.gamma.clone(), self.beta.clone()]
    }
}

/// Normalises every channel of each sample to mean 0 and variance 1, then scales and shifts.
pub struct InstanceNorm {
    axis: isize,
    epsilon: f64,
    gamma: Parameter,
    beta: Parameter,
}

impl InstanceNorm {
    /// The channels are the second dimension.
    pub fn new() -> InstanceNorm {
        InstanceNorm { axis: 1, epsilon: EPSILON, gamma: scales(false), beta: shifts(false) }
    }
}

impl Layer for InstanceNorm {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        let gamma = along(&self.gamma, "instance_norm", x, self.axis, loc)?;
        let beta = along(&self.beta, "instance_norm", x, self.axis, loc)?;
        ops::instance_norm(x, &gamma, &beta, self.axis, self.epsilon, loc)
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
    global_statistics: bool,
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
            global_statistics: false,
            gamma: scales(false),
            beta: shifts(false),
            mean: Parameter::kept("running_mean", &[None], Init::Zero),
            variance: Parameter::kept("running_var", &[None], Init::One),
        }
    }

    /// Sets the fraction of the running statistics that an update keeps.
    pub fn momentum(mut self, momentum: f64) -> BatchNorm {
        self.momentum = momentum;
        self
    }

    /// Uses the running statistics in training too, and does not update them.
    pub fn global_statistics(mut self) -> BatchNorm {
        self.global_statistics = true;
        self
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
            fix_gamma: !self.gamma.is_trainable(),
            training: is_training() && !self.global_statistics,
        };
        let [y, _, _] = ops::batch_norm(x, channels, how, loc)?;
        Ok(y)
    }

    fn parameters(&self) -> Vec<Parameter> {
        [&self.gamma, &self.beta, &self.mean, &self.variance].map(Clone::clone).into()
    }
}
