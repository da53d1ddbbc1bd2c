//! Composite ops for layers: activations, dropout, the dense layer.

use crate::array::Array;
use crate::ops::terms::Terms;
use crate::ops::{copy, full, matmul, reshape, transpose, uniform};
use crate::runtime::devices::on_device;
use forerun_base::{DType, Loc, Result, Scalar};
use forerun_ops::Point;

/// An element-wise activation function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Activation {
    /// `max(x, 0)`.
    Relu,
    /// `1 / (1 + e^-x)`.
    Sigmoid,
    /// The hyperbolic tangent.
    Tanh,
    /// `log(1 + e^x)`.
    Softrelu,
    /// `x / (1 + |x|)`.
    Softsign,
    /// `x sigmoid(x)`.
    Silu,
    /// `x sigmoid(beta x)`.
    Swish(f64),
    /// `x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`.
    Gelu,
    /// `x / 2 (1 + erf(x / sqrt(2)))`.
    GeluErf,
    /// `x` if positive, else `slope * x`.
    Leaky(f64),
    /// `x` if positive, else `slope * (e^x - 1)`.
    Elu(f64),
    /// [`Activation::Elu`] with the slope and scale that preserve mean and variance.
    Selu,
}

impl Activation {
    /// Looks up an activation by name; the slope applies to `leaky` and `elu`.
    pub fn from_name(name: &str, slope: f64) -> Option<Activation> {
        Some(match name {
            "relu" => Activation::Relu,
            "sigmoid" => Activation::Sigmoid,
            "tanh" => Activation::Tanh,
            "softrelu" => Activation::Softrelu,
            "softsign" => Activation::Softsign,
            "silu" | "swish" => Activation::Silu,
            "gelu" | "gelu_tanh" => Activation::Gelu,
            "gelu_erf" => Activation::GeluErf,
            "leaky" => Activation::Leaky(slope),
            "elu" => Activation::Elu(slope),
            "selu" => Activation::Selu,
            _ => return None,
        })
    }
}

const SELU_SLOPE: f64 = 1.673_263_242_354_377_2;
const SELU_SCALE: f64 = 1.050_700_987_355_480_5;
/// The square root of 2 / pi.
const GELU_SCALE: f64 = 0.797_884_560_802_865_4;

/// Applies an activation. Integers are converted to the default float, except for `Relu`.
pub fn activation(kind: Activation, x: &Array, loc: Loc) -> Result<Array> {
    let t = Terms { op: "activation", loc };
    match kind {
        Activation::Relu => t.one(Point::Relu, x),
        Activation::Sigmoid => t.one(Point::Sigmoid, x),
        Activation::Tanh => t.one(Point::Tanh, x),
        Activation::Softrelu => softrelu(t, x),
        Activation::Softsign => t.two(Point::Divide, x, &t.two(Point::Add, &t.one(Point::Abs, x)?, 1)?),
        Activation::Silu => t.two(Point::Multiply, x, &t.one(Point::Sigmoid, x)?),
        Activation::Swish(beta) => {
            t.two(Point::Multiply, x, &t.one(Point::Sigmoid, &t.two(Point::Multiply, x, beta)?)?)
        }
        Activation::Gelu => {
            let cube = t.two(Point::Multiply, &t.two(Point::Multiply, x, &t.two(Point::Multiply, x, 0.044715)?)?, x)?;
            let inner = t.two(Point::Multiply, &t.two(Point::Add, x, &cube)?, GELU_SCALE)?;
            let share = t.two(Point::Add, &t.one(Point::Tanh, &inner)?, 1)?;
            t.two(Point::Multiply, &t.two(Point::Multiply, x, 0.5)?, &share)
        }
        Activation::GeluErf => {
            // The gradient needs `x`, the argument of `erf` and `share`, so one array fewer than with `(x / 2) (1 + erf)`.
            let erf = t.one(Point::Erf, &t.two(Point::Multiply, x, std::f64::consts::FRAC_1_SQRT_2)?)?;
            let share = t.two(Point::Add, &t.two(Point::Multiply, &erf, 0.5)?, 0.5)?;
            t.two(Point::Multiply, x, &share)
        }
        Activation::Leaky(slope) => {
            let positive = t.two(Point::Greater, x, 0)?;
            t.choose(&positive, x, &t.two(Point::Multiply, x, slope)?)
        }
        Activation::Elu(slope) => elu(t, x, slope),
        Activation::Selu => t.two(Point::Multiply, &elu(t, x, SELU_SLOPE)?, SELU_SCALE),
    }
}

/// `max(x, 0) + log(1 + e^-|x|)`. `max(x, 0)` is computed as the mean of x and |x|, so that the gradient at 0 is 1/2.
fn softrelu(t: Terms, x: &Array) -> Result<Array> {
    let x = t.float(x)?;
    let magnitude = t.one(Point::Abs, &x)?;
    let e = t.one(Point::Exp, &t.one(Point::Negative, &magnitude)?)?;
    let rest = t.one(Point::Log1p, &e)?;
    let larger = t.two(Point::Add, &t.two(Point::Multiply, &*x, 0.5)?, &t.two(Point::Multiply, &magnitude, 0.5)?)?;
    t.two(Point::Add, &larger, &rest)
}

fn elu(t: Terms, x: &Array, slope: f64) -> Result<Array> {
    // The exponential of a positive element might overflow, and an infinity spoils gradients even if it is not
    // selected.
    let positive = t.two(Point::Greater, x, 0)?;
    let negative = t.choose(&positive, 0, x)?;
    let e = t.one(Point::Expm1, &negative)?;
    t.choose(&positive, x, &t.two(Point::Multiply, &e, slope)?)
}

/// `x` if positive, else `slope * x`. There is one slope, or one per channel: axis 1, or the only axis.
pub fn prelu(x: &Array, slope: &Array, loc: Loc) -> Result<Array> {
    let t = Terms { op: "prelu", loc };
    let shape = x.shape();
    let laid = match slope.size() {
        1 => reshape(slope, &[], loc)?,
        _ if shape.rank() > 0 => t.lay("slope", slope, &shape, 1.min(shape.rank() - 1))?,
        _ => return Err(t.value(format!("slope of shape {} does not fit {shape}", slope.shape()))),
    };
    t.choose(&t.two(Point::Greater, x, 0)?, x, &t.two(Point::Multiply, x, &laid)?)
}

/// Sets each element to 0 with probability `p`, else divides it by `1 - p`; elements along `axes` share one draw.
/// Returns a copy without `training`.
pub fn dropout(x: &Array, p: f64, axes: &[isize], training: bool, loc: Loc) -> Result<Array> {
    let t = Terms { op: "dropout", loc };
    if !(0.0..=1.0).contains(&p) {
        return Err(t.value(format!("p must be between 0 and 1, not {p}")));
    }
    let mut shape = x.shape();
    for &axis in axes {
        let axis = t.axis(&x.shape(), axis)?;
        shape.dims_mut()[axis] = 1;
    }
    let x = t.float(x)?;
    if !training || p == 0.0 {
        return copy(&x, loc);
    }
    if p == 1.0 {
        // Everything is dropped, so there is nothing to scale.
        return t.two(Point::Multiply, &*x, 0);
    }
    let kept = t.two(Point::GreaterEqual, &on_device(x.device(), || uniform(&shape, 0.0, 1.0, DType::F32, loc))?, p)?;
    t.choose(&kept, &t.two(Point::Multiply, &*x, 1.0 / (1.0 - p))?, 0)
}

/// `x` times the transposed weight, plus the bias. With `flatten`, all dimensions but the first are folded into one;
/// otherwise only the last is multiplied.
pub fn fully_connected(x: &Array, weight: &Array, bias: Option<&Array>, flatten: bool, loc: Loc) -> Result<Array> {
    let t = Terms { op: "fully_connected", loc };
    let shape = x.shape();
    if shape.rank() == 0 || weight.ndim() != 2 {
        return Err(t.value(format!("needs an input and a matrix, got {shape} and {}", weight.shape())));
    }
    let (units, width) = (weight.shape()[0], weight.shape()[1]);
    let lead = if flatten { 1 } else { shape.rank() - 1 };
    if shape[lead..].iter().product::<usize>() != width {
        return Err(t.value(format!("weight of shape {} does not fit an input of shape {shape}", weight.shape())));
    }
    let rows: usize = shape[..lead].iter().product();
    let mut y = matmul(&reshape(x, &[rows as isize, width as isize], loc)?, &transpose(weight, None)?, loc)?;
    if let Some(bias) = bias {
        if *bias.shape() != [units] {
            return Err(t.value(format!("bias of shape {} does not fit {units} units", bias.shape())));
        }
        y = t.two(Point::Add, &y, bias)?;
    }
    let dims: Vec<isize> = shape[..lead].iter().chain(&[units]).map(|d| *d as isize).collect();
    reshape(&y, &dims, loc)
}

/// `on` at the index given by each element along a new last dimension, `off` elsewhere.
pub fn one_hot(indices: &Array, depth: usize, on: Scalar, off: Scalar, dtype: DType, loc: Loc) -> Result<Array> {
    let t = Terms { op: "one_hot", loc };
    if indices.ndim() == forerun_base::MAX_RANK {
        return Err(t.value(format!("cannot add a dimension to shape {}", indices.shape())));
    }
    on_device(indices.device(), || {
        let row = super::arange(Scalar::Int(0), Scalar::Int(depth as i64), Scalar::Int(1), None, loc)?;
        let here = t.two(Point::Equal, &super::expand_dims(indices, -1)?, &row)?;
        let (on, off) = (full(&[], on, dtype, loc)?, full(&[], off, dtype, loc)?);
        t.choose(&here, &on, &off)
    })
}
