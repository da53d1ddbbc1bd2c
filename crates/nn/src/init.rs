//! Initialisers: the elements that a parameter starts with. The layers of this crate use them, and so do Python's uniform,
//! normal, Xavier, orthogonal, bilinear and LSTM-bias initialisers. Python assigns constants and loaded arrays itself.

use crate::terms::{extents, two, value};
use forerun_array::{Arg, Array, Index, on_device, ops};
use forerun_base::{DType, Loc, Result, Scalar, Shape};
use forerun_grad::pause;
use forerun_ops::family::linalg::Completeness;
use forerun_ops::{Linalg, Point};

/// How a parameter is initialised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// Normal numbers with mean 0 and this standard deviation.
    Normal(f64),
    /// Uniform numbers between minus and plus this bound.
    Uniform(f64),
    /// Random numbers whose scale keeps the variance from layer to layer. For matrices and beyond.
    Xavier(Scaling),
    /// A matrix with orthonormal rows or columns, whichever are shorter, times a scale. Dimensions after the first count as
    /// one.
    Orthogonal {
        /// The factor.
        scale: f64,
        /// What the matrix is made orthogonal from.
        draw: Draw,
    },
    /// The weights of a transposed convolution that interpolates images. For four dimensions.
    Bilinear,
    /// 0, and this number in the second quarter: the bias of the forget gate of an LSTM.
    LstmBias(f64),
    /// One number for all elements.
    Constant(f64),
    /// All zeros.
    Zero,
    /// All ones.
    One,
}

/// A distribution around 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Draw {
    /// Uniform between minus the scale and the scale.
    Uniform,
    /// Normal; the scale is the standard deviation.
    Normal,
}

/// What the variance of weights is divided by. Outputs are the first dimension, inputs the second; further dimensions
/// multiply both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fan {
    /// The number of inputs.
    In,
    /// The number of outputs.
    Out,
    /// The mean of the two.
    Average,
}

/// The scale of [`Init::Xavier`]: the root of a magnitude over a fan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// The distribution.
    pub draw: Draw,
    /// The divisor.
    pub fan: Fan,
    /// The dividend.
    pub magnitude: f64,
}

impl Default for Scaling {
    fn default() -> Scaling {
        Scaling { draw: Draw::Uniform, fan: Fan::Average, magnitude: 3.0 }
    }
}

impl Init {
    /// The default initialiser of weights.
    pub(crate) const DEFAULT: Init = Init::Uniform(0.07);

    /// Writes every element of a parameter's array, on its device. Nothing goes on the tape.
    pub fn write(self, name: &str, array: &Array, loc: Loc) -> Result<()> {
        pause(|| {
            let fresh = on_device(array.device(), || self.array(name, &array.shape(), array.dtype(), loc))?;
            ops::assign(array, Arg::Array(&fresh), loc)
        })
    }

    /// A new array for a parameter that starts like this.
    pub(crate) fn array(self, name: &str, shape: &[usize], dtype: DType, loc: Loc) -> Result<Array> {
        let full = |value| ops::full(shape, Scalar::Float(value), dtype, loc);
        let unfit = |op, lack| {
            let text = format!("`{name}` of shape {} {lack} dimensions", Shape::new(shape)?);
            Err(value(op, text))
        };
        match self {
            Init::Normal(deviation) => Draw::Normal.array(shape, deviation, dtype, loc),
            Init::Uniform(bound) => Draw::Uniform.array(shape, bound, dtype, loc),
            Init::Xavier(scaling) => match shape {
                [outputs, inputs, rest @ ..] => {
                    let scale = scaling.scale(*inputs, *outputs, rest.iter().product());
                    scaling.draw.array(shape, scale, dtype, loc)
                }
                _ => unfit("xavier", "has fewer than 2"),
            },
            Init::Orthogonal { scale, draw } if !shape.is_empty() => orthogonal(shape, scale, draw, dtype, loc),
            Init::Orthogonal { .. } => unfit("orthogonal", "has fewer than 1"),
            Init::Bilinear if shape.len() == 4 => bilinear(shape, dtype, loc),
            Init::Bilinear => unfit("bilinear", "does not have 4"),
            Init::LstmBias(forget) => {
                let (gates, hidden) = (full(0.0)?, shape.first().map_or(0, |all| (*all / 4) as isize));
                let forgetting = Index::Slice { start: Some(hidden), stop: Some(2 * hidden), step: 1 };
                ops::assign(&ops::index(&gates, &[forgetting])?, Arg::Scalar(Scalar::Float(forget)), loc)?;
                Ok(gates)
            }
            Init::Constant(value) => full(value),
            Init::Zero => full(0.0),
            Init::One => full(1.0),
        }
    }
}

impl Draw {
    fn array(self, shape: &[usize], scale: f64, dtype: DType, loc: Loc) -> Result<Array> {
        match self {
            Draw::Uniform => ops::uniform(shape, -scale, scale, dtype, loc),
            Draw::Normal => ops::normal(shape, 0.0, scale, dtype, loc),
        }
    }
}

impl Scaling {
    fn scale(self, inputs: usize, outputs: usize, shared: usize) -> f64 {
        let (inputs, outputs) = (inputs as f64 * shared as f64, outputs as f64 * shared as f64);
        let fan = match self.fan {
            Fan::In => inputs,
            Fan::Out => outputs,
            Fan::Average => (inputs + outputs) / 2.0,
        };
        (self.magnitude / fan.max(1.0)).sqrt()
    }
}

/// The orthogonal factor, in the shape of the matrix, of a random one.
fn orthogonal(shape: &[usize], scale: f64, draw: Draw, dtype: DType, loc: Loc) -> Result<Array> {
    let (rows, columns) = (shape[0], shape[1..].iter().product::<usize>());
    let wide = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
    let random = draw.array(&[rows, columns], 1.0, wide, loc)?;
    let packed = ops::routine(Linalg::Svd, &[&random], &Completeness { complete: false }, loc)?;
    // Left factor, singular values, right factor; the one with as many elements as the matrix is in its shape.
    let first = if rows >= columns { 0 } else { (rows * rows + rows) as isize };
    let factor = Index::Slice { start: Some(first), stop: Some(first + (rows * columns) as isize), step: 1 };
    let factor = ops::reshape(&ops::index(&packed, &[factor])?, &extents(shape), loc)?;
    ops::cast(&two(Point::Multiply, &factor, scale, loc)?, dtype, loc)
}

/// `(1 - |x / f - c|) (1 - |y / f - c|)` at each pixel of each image, where `f` is half the width and `c` the centre.
fn bilinear(shape: &[usize], dtype: DType, loc: Loc) -> Result<Array> {
    let (height, width) = (shape[2], shape[3]);
    let half = width.div_ceil(2) as f64;
    let centre = (2.0 * half - 1.0 - half % 2.0) / (2.0 * half);
    let share = |place: usize| 1.0 - (place as f64 / half - centre).abs();
    let image: Vec<f64> = (0..height).flat_map(|y| (0..width).map(move |x| share(x) * share(y))).collect();
    let image = ops::cast(&ops::from_slice(&image, &[height, width], loc)?, dtype, loc)?;
    ops::copy(&ops::broadcast_to(&image, shape)?, loc)
}
