//! Layers without parameters.

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
