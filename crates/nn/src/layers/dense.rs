//! The dense layer.

use crate::init::Init;
use crate::layer::Layer;
use crate::parameter::Parameter;
use crate::terms::value;
use forerun_array::Array;
use forerun_array::ops::{self, Activation};
use forerun_base::{Loc, Result};

/// `activation(x w' + b)`: a fully connected layer.
pub struct Dense {
    units: usize,
    activation: Option<Activation>,
    flatten: bool,
    weight: Parameter,
    bias: Option<Parameter>,
}

impl Dense {
    /// A layer with this many units and a bias. All input dimensions after the first are folded into one. The first
    /// call determines the number of inputs.
    pub fn new(units: usize) -> Dense {
        Dense {
            units,
            activation: None,
            flatten: true,
            weight: Parameter::weight("weight", &[Some(units), None]),
            bias: Some(Parameter::starting_as("bias", &[Some(units)], Init::Zero)),
        }
    }

    /// Applies this activation to the output.
    pub fn activation(mut self, kind: Activation) -> Dense {
        self.activation = Some(kind);
        self
    }

    /// Removes the bias.
    pub fn without_bias(mut self) -> Dense {
        self.bias = None;
        self
    }

    /// Sets whether all dimensions after the first are folded into one; otherwise only the last is multiplied.
    pub fn flatten(mut self, flatten: bool) -> Dense {
        self.flatten = flatten;
        self
    }

    /// Sets the number of inputs.
    pub fn in_units(mut self, inputs: usize) -> Dense {
        self.weight = Parameter::weight("weight", &[Some(self.units), Some(inputs)]);
        self
    }
}

impl Layer for Dense {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        let shape = x.shape();
        let inputs = match (shape.rank(), self.flatten) {
            (0, _) => return Err(value("dense", format!("needs at least one dimension, not {shape}"))),
            (_, true) => shape[1..].iter().product(),
            (rank, false) => shape[rank - 1],
        };
        let weight = self.weight.array_for(&[self.units, inputs], loc)?;
        let bias = self.bias.as_ref().map(|bias| bias.array_at(loc)).transpose()?;
        let y = ops::fully_connected(x, &weight, bias.as_ref(), self.flatten, loc)?;
        match self.activation {
            Some(kind) => ops::activation(kind, &y, loc),
            None => Ok(y),
        }
    }

    fn parameters(&self) -> Vec<Parameter> {
        std::iter::once(&self.weight).chain(&self.bias).cloned().collect()
    }
}
