//! Creates arrays on the current device, in the default float unless a dtype is given.

use crate::Array;
use crate::functions::by_name::to_dtype;
use crate::methods::pairs::{functions, good};
use crate::methods::shaping::triangle;
use crate::ops;
use crate::runtime::devices::on_device;
use forerun_base::{DType, Error, ErrorKind, Loc, Result, Scalar};
use forerun_ops::Point;

functions! {
    /// An array filled with one value.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(full([2], 7, DType::I64).to_string(), "[7 7]");
    /// ```
    full, try_full(shape: impl AsRef<[usize]>, value: impl Into<Scalar>, dtype: DType) -> Array |loc| {
        ops::full(shape.as_ref(), value.into(), dtype, loc)
    }
    /// Ones.
    ones, try_ones(shape: impl AsRef<[usize]>) -> Array |loc| {
        ops::full(shape.as_ref(), Scalar::Float(1.0), DType::default_float(), loc)
    }
    /// Zeros.
    zeros, try_zeros(shape: impl AsRef<[usize]>) -> Array |loc| {
        ops::full(shape.as_ref(), Scalar::Float(0.0), DType::default_float(), loc)
    }
    /// Uninitialised elements: whatever the memory holds.
    empty, try_empty(shape: impl AsRef<[usize]>, dtype: DType) -> Array |loc| {
        ops::empty(shape.as_ref(), dtype, loc)
    }
    /// An array filled with one value, with the shape, dtype and device of another.
    full_like, try_full_like(like: &Array, value: impl Into<Scalar>) -> Array |loc| {
        on_device(like.device(), || ops::full(&like.shape(), value.into(), like.dtype(), loc))
    }
    /// Ones with the shape, dtype and device of another array.
    ones_like, try_ones_like(like: &Array) -> Array |loc| {
        on_device(like.device(), || ops::full(&like.shape(), Scalar::Int(1), like.dtype(), loc))
    }
    /// Zeros with the shape, dtype and device of another array.
    zeros_like, try_zeros_like(like: &Array) -> Array |loc| {
        on_device(like.device(), || ops::full(&like.shape(), Scalar::Int(0), like.dtype(), loc))
    }
    /// `start`, `start + step`, ... below `stop`: integers if all three are.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(arange(1, 8, 3).to_string(), "[1 4 7]");
    /// ```
    arange, try_arange(start: impl Into<Scalar>, stop: impl Into<Scalar>, step: impl Into<Scalar>) -> Array |loc| {
        ops::arange(start.into(), stop.into(), step.into(), None, loc)
    }
    /// `count` evenly spaced numbers from `start` to `stop`, both included.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(linspace(0.0, 1.0, 5).to_string(), "[0.   0.25 0.5  0.75 1.  ]");
    /// ```
    linspace, try_linspace(start: f64, stop: f64, count: usize) -> Array |loc| {
        spaced(start, stop, count, DType::default_float(), loc)
    }
    /// Powers of ten whose exponents are evenly spaced from `start` to `stop`, both included.
    logspace, try_logspace(start: f64, stop: f64, count: usize) -> Array |loc| {
        let exponents = spaced(start, stop, count, DType::F64, loc)?;
        powers_of_ten(&exponents, loc)
    }
    /// `count` numbers from `start` to `stop`, both included, each a constant multiple of the previous one.
    geomspace, try_geomspace(start: f64, stop: f64, count: usize) -> Array |loc| {
        if start * stop <= 0.0 {
            let text = format!("start and stop must have one sign, got {start} and {stop}");
            return Err(Error::new(ErrorKind::Value, text).in_op("geomspace"));
        }
        let exponents = spaced(start.abs().log10(), stop.abs().log10(), count, DType::F64, loc)?;
        let powers = powers_of_ten(&exponents, loc)?;
        if start < 0.0 { ops::pointwise(Point::Negative, &[(&powers).into()], loc) } else { Ok(powers) }
    }
    /// Ones on the diagonal of a square matrix.
    eye, try_eye(n: usize) -> Array |loc| {
        ops::eye(n, n, 0, DType::default_float(), loc)
    }
    /// The same as [`eye`].
    identity, try_identity(n: usize) -> Array |loc| {
        ops::eye(n, n, 0, DType::default_float(), loc)
    }
    /// Ones on and below the `k`-th diagonal of a matrix, zeros above.
    tri, try_tri(rows: usize, columns: usize, k: isize) -> Array |loc| {
        let ones = ops::full(&[rows, columns], Scalar::Float(1.0), DType::default_float(), loc)?;
        triangle(&ones, k, false, loc)
    }
    /// Standard normal numbers.
    normal, try_normal(shape: impl AsRef<[usize]>) -> Array |loc| {
        ops::normal(shape.as_ref(), 0.0, 1.0, DType::default_float(), loc)
    }
    /// Uniform numbers in [0, 1).
    uniform, try_uniform(shape: impl AsRef<[usize]>) -> Array |loc| {
        ops::uniform(shape.as_ref(), 0.0, 1.0, DType::default_float(), loc)
    }
}

/// Creates a float32 array from the program's numbers, copied before this returns: [`Array::from_slice`] for other dtypes.
///
/// # Panics
/// If the number of values differs from the number of elements of the shape.
#[track_caller]
pub fn array(numbers: &[f32], shape: impl AsRef<[usize]>) -> Array {
    good(ops::from_slice(numbers, shape.as_ref(), Loc::caller()))
}

fn spaced(start: f64, stop: f64, count: usize, dtype: DType, loc: Loc) -> Result<Array> {
    let step = if count > 1 { (stop - start) / (count - 1) as f64 } else { 0.0 };
    ops::arange_of(Scalar::Float(start), Scalar::Float(step), count, dtype, loc)
}

/// Ten to the powers of float64 elements, in the default float.
fn powers_of_ten(exponents: &Array, loc: Loc) -> Result<Array> {
    let powers = ops::pointwise(Point::Power, &[Scalar::Float(10.0).into(), exponents.into()], loc)?;
    to_dtype(&powers, DType::default_float(), loc)
}
