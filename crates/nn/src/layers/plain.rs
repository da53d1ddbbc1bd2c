//! Layers that apply one function to every element or change the shape.

use crate::init::Init;
use crate::layer::Layer;
use crate::parameter::Parameter;
use crate::terms::{extents, value};
use forerun_array::Array;
use forerun_array::ops::{self, Activation};
use forerun_base::{Loc, Result};
use forerun_grad::is_training;

impl Layer for Activation {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        ops::activation(*self, x, loc)
    }

    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }
}

/// `x` if positive, else `slope * x`, with trained slopes.
pub struct PRelu {
    slope: Parameter,
}

impl PRelu {
    /// One slope for all elements, which starts as 0.25.
    pub fn new() -> PRelu {
        PRelu::with(1, Init::Constant(0.25))
    }

    /// One slope for each of `channels` channels (axis 1), or a single one, with an initialiser.
    pub fn with(channels: usize, init: Init) -> PRelu {
        PRelu { slope: Parameter::starting_as("alpha", &[Some(channels)], init) }
    }
}

impl Default for PRelu {
    fn default() -> PRelu {
        PRelu::new()
    }
}

impl Layer for PRelu {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        ops::prelu(x, &self.slope.array_at(loc)?, loc)
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![self.slope.clone()]
    }
}

/// In training, sets each element to 0 with a probability and scales up the others; otherwise the identity.
pub struct Dropout {
    probability: f64,
    axes: Vec<isize>,
}

impl Dropout {
    /// Drops each element with this probability.
    pub fn new(probability: f64) -> Dropout {
        Dropout { probability, axes: Vec::new() }
    }

    /// Sets the axes along which elements are dropped together.
    pub fn axes(mut self, axes: &[isize]) -> Dropout {
        self.axes = axes.to_vec();
        self
    }
}

impl Layer for Dropout {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        ops::dropout(x, self.probability, &self.axes, is_training(), loc)
    }

    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }
}

/// Folds all dimensions after the first into one.
pub struct Flatten;

impl Layer for Flatten {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        let shape = x.shape();
        if shape.rank() == 0 {
            return Err(value("flatten", format!("needs at least one dimension, not {shape}")));
        }
        ops::reshape(x, &extents(&[shape[0], shape[1..].iter().product()]), loc)
    }

    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }
}
