//! A sequence of layers.

use crate::layer::Layer;
use crate::parameter::Parameter;
use forerun_array::Array;
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
        let mut all = Vec::new();
        for (place, layer) in self.layers.iter().enumerate() {
            all.extend(layer.parameters().into_iter().map(|parameter| parameter.under(&place.to_string())));
        }
        all
    }
}
