//! Containers: layers in sequence or side by side, and functions as layers.

use crate::layer::{Layer, named};
use crate::parameter::Parameter;
use forerun_array::{Array, ops};
use forerun_base::{Loc, Result};

/// Applies layers in sequence.
#[derive(Default)]
pub struct Sequential {
    layers: Vec<Box<dyn Layer>>,
}

impl Sequential {
    /// An empty sequence: the identity.
    pub fn new() -> Sequential {
        Sequential::default()
    }

    /// Appends a layer.
    pub fn then(mut self, layer: impl Layer + 'static) -> Sequential {
        self.layers.push(Box::new(layer));
        self
    }
}

impl Layer for Sequential {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        self.layers.iter().try_fold(x.clone(), |x, layer| layer.forward_at(&x, loc))
    }

    fn parameters(&self) -> Vec<Parameter> {
        numbered(&self.layers)
    }
}

/// Applies every layer to the same input and concatenates the results along an axis.
pub struct Concatenate {
    axis: isize,
    layers: Vec<Box<dyn Layer>>,
}

impl Concatenate {
    /// A container without layers, whose results are concatenated along this axis.
    pub fn new(axis: isize) -> Concatenate {
        Concatenate { axis, layers: Vec::new() }
    }

    /// Appends a layer.
    pub fn with(mut self, layer: impl Layer + 'static) -> Concatenate {
        self.layers.push(Box::new(layer));
        self
    }
}

impl Layer for Concatenate {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        let results: Vec<Array> = self.layers.iter().map(|layer| layer.forward_at(x, loc)).collect::<Result<_>>()?;
        ops::concatenate(&results.iter().collect::<Vec<_>>(), self.axis, loc)
    }

    fn parameters(&self) -> Vec<Parameter> {
        numbered(&self.layers)
    }
}

fn numbered(layers: &[Box<dyn Layer>]) -> Vec<Parameter> {
    layers.iter().enumerate().flat_map(|(place, layer)| named(&place.to_string(), &**layer)).collect()
}

/// A function as a layer without parameters.
pub struct Lambda<F>(pub F);

impl<F: Fn(&Array, Loc) -> Result<Array> + Send + Sync> Layer for Lambda<F> {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        (self.0)(x, loc)
    }

    fn parameters(&self) -> Vec<Parameter> {
        Vec::new()
    }
}
