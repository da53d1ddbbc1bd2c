//! What parameters start as.

use forerun_array::{Array, ops};
use forerun_base::{DType, Error, ErrorKind, Loc, Result, Scalar};

/// What a parameter starts as.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// Normal numbers around 0 with this standard deviation.
    Normal(f64),
    /// Uniform numbers between minus this and this.
    Uniform(f64),
    /// Uniform numbers that keep the variance from layer to layer: between minus and plus the root of 3 over the mean of
    /// inputs and outputs. For matrices and beyond.
    Xavier,
    /// One number everywhere.
    Constant(f64),
    /// 0 everywhere.
    Zero,
    /// 1 everywhere.
    One,
}

impl Init {
    /// What weights start as where nobody said otherwise.
    pub(crate) const DEFAULT: Init = Init::Uniform(0.07);

    /// A new array that starts like this.
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

/// Outputs come first, inputs second; further dimensions are shared by both.
fn xavier(shape: &[usize]) -> Result<f64> {
    let [outputs, inputs, rest @ ..] = shape else {
        let text = format!("needs at least two dimensions, not {}", shape.len());
        return Err(Error::new(ErrorKind::Value, text).in_op("xavier"));
    };
    let shared: f64 = rest.iter().map(|d| *d as f64).product();
    let mean = (*inputs as f64 + *outputs as f64) * shared / 2.0;
    Ok((3.0 / mean.max(1.0)).sqrt())
}
