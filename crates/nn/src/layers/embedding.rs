//! The embedding layer.

use crate::layer::Layer;
use crate::parameter::Parameter;
use forerun_array::{Array, ops};
use forerun_base::{Loc, Result};

/// Maps each index to a row of a table. Indices in floats are truncated. An index out of bounds fails when the op runs.
pub struct Embedding {
    rows: usize,
    width: usize,
    weight: Parameter,
}

impl Embedding {
    /// A table with `rows` rows of `width` numbers.
    pub fn new(rows: usize, width: usize) -> Embedding {
        Embedding { rows, width, weight: Parameter::weight("weight", &[Some(rows), Some(width)]) }
    }
}

impl Layer for Embedding {
    fn forward_at(&self, x: &Array, loc: Loc) -> Result<Array> {
        let weight = self.weight.array_for(&[self.rows, self.width], loc)?;
        ops::embedding(x, &weight, loc)
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![self.weight.clone()]
    }
}
