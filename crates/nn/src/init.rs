//! Initialisers of parameters.

use forerun_array::{Array, ops};
use forerun_base::{DType, Error, ErrorKind, Loc, Result, Scalar};

/// How a parameter is initialised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// Normal numbers with mean 0 and this standard deviation.
    Normal(f64),
    /// Uniform numbers between minus and plus this bound.
    Uniform(f64),
    /// Uniform numbers that preserve the variance from layer to layer: the bound is the square root of 3 divided by the
    /// mean of inputs and outputs. For two or more dimensions.
    Xavier,
    /// One number for all elements.
    Constant(f64),
    /// All zeros.
    Zero,
    /// All ones.
    One,
}

impl Init {
    /// The default initialiser of weights.
    pub(crate) const DEFAULT: Init = Init::Uniform(0.07);

    /// Creates an initialised array.
    pub(crate) fn array(self, shape: &[usize], dtype: DType, loc: Loc) -> Result<Array> {
        let full = |value| ops::full(shape, Scalar::Float(value), dtype, loc);
        match self {
            Init::Normal(deviation) => ops::normal(shape, 0.0, deviation, dtype, loc),
            Init::Uniform(bound) => ops::uniform(shape, -bound, bound, dtype, loc),
            Init::Xavier => {
                let bound = xavier(shape)?;
                ops::uniform(shape, -bound, bound, dtype, loc)
            }
            Init::Constant(value) => full(value),
            Init::Zero => full(0.0),
            Init::One => full(1.0),
        }
    }
}

/// The first dimension counts outputs, the second inputs; both are multiplied by the remaining dimensions.
fn xavier(shape: &[usize]) -> Result<f64> {
    let [outputs, inputs, rest @ ..] = shape else {
        let text = format!("needs at least two dimensions, not {}", shape.len());
        return Err(Error::new(ErrorKind::Value, text).in_op("xavier"));
    };
    let shared: f64 = rest.iter().map(|d| *d as f64).product();
    let mean = (*inputs as f64 + *outputs as f64) * shared / 2.0;
    Ok((3.0 / mean.max(1.0)).sqrt())
}
