//! Products, activations, and arithmetic that needs more than one op.

use crate::functions::by_name::to_dtype;
use crate::methods::pairs::methods;
use crate::ops::terms::Terms;
use crate::{Arg, Array, ArrayLike, ops};
use forerun_base::{DType, Error, ErrorKind, Kind, Loc, Result};
use forerun_ops::Point;

methods! {
    /// The matrix product, batched over leading dimensions.
    matmul, try_matmul(&self, other: &Array) -> Array |loc| { ops::matmul(self, other, loc) }
    /// NumPy's `dot`: the product of matrices or vectors.
    dot, try_dot(&self, other: &Array) -> Array |loc| { ops::dot(self, other, loc) }
    /// The sum of the products of two arrays of one size, as vectors; the first is conjugated.
    vdot, try_vdot(&self, other: &Array) -> Array |loc| {
        ops::matmul(&ops::reshape(&conjugate(self, loc)?, &[-1], loc)?, &ops::reshape(other, &[-1], loc)?, loc)
    }
    /// The products of all pairs of elements of two vectors.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(Array::from([1, 2]).outer(&Array::from([3, 4])).to_string(), "[[3 4]\n [6 8]]");
    /// ```
    outer, try_outer(&self, other: &Array) -> Array |loc| {
        let (column, row) = (ops::reshape(self, &[-1, 1], loc)?, ops::reshape(other, &[1, -1], loc)?);
        ops::pointwise(Point::Multiply, &[Arg::Array(&column), Arg::Array(&row)], loc)
    }
    /// The sums of products over the last axes of both.
    inner, try_inner(&self, other: &Array) -> Array |loc| {
        if self.ndim() == 0 || other.ndim() == 0 {
            return ops::pointwise(Point::Multiply, &[Arg::Array(self), Arg::Array(other)], loc);
        }
        contracted(self, other, &[self.ndim() - 1], &[other.ndim() - 1], loc)
    }
    /// The sums of products over the last `axes` axes of this array and the first `axes` of the other.
    tensordot, try_tensordot(&self, other: &Array, axes: usize) -> Array |loc| {
        if axes > self.ndim().min(other.ndim()) {
            let text = format!("{axes} axes of {} and {}", self.shape(), other.shape());
            return Err(Error::new(ErrorKind::Value, text).in_op("tensordot"));
        }
        let last: Vec<usize> = (self.ndim() - axes..self.ndim()).collect();
        contracted(self, other, &last, &(0..axes).collect::<Vec<_>>(), loc)
    }
    /// The Kronecker product of two arrays with the same number of dimensions.
    kron, try_kron(&self, other: &Array) -> Array |loc| {
        if self.ndim() != other.ndim() {
            let text = format!("needs as many dimensions in both: {} and {}", self.shape(), other.shape());
            return Err(Error::new(ErrorKind::Value, text).in_op("kron"));
        }
        let (a, b) = (self.shape(), other.shape());
        let spread = |shape: &[usize], first: bool| -> Vec<isize> {
            shape.iter().flat_map(|d| if first { [*d as isize, 1] } else { [1, *d as isize] }).collect()
        };
        let (x, y) = (ops::reshape(self, &spread(&a, true), loc)?, ops::reshape(other, &spread(&b, false), loc)?);
        let product = ops::pointwise(Point::Multiply, &[Arg::Array(&x), Arg::Array(&y)], loc)?;
        let dims: Vec<isize> = a.iter().zip(b.iter()).map(|(a, b)| (a * b) as isize).collect();
        ops::reshape(&product, &dims, loc)
    }
    /// This array to a power: a short name of [`Array::power`].
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(Array::from([2, 3]).pow(2).to_string(), "[4 9]");
    /// ```
    pow, try_pow(&self, exponent: impl ArrayLike) -> Array |loc| {
        ops::pointwise(Point::Power, &[Arg::Array(self), exponent.as_arg()], loc)
    }
    /// The elements limited to the range from `low` to `high`.
    clip, try_clip(&self, low: impl ArrayLike, high: impl ArrayLike) -> Array |loc| {
        ops::clip(self, Some(low.as_arg()), Some(high.as_arg()), loc)
    }
    /// Rounded to a number of decimals, ties to even.
    round, try_round(&self, decimals: i32) -> Array |loc| {
        let t = Terms { op: "round", loc };
        if decimals == 0 || matches!(self.dtype().kind(), Kind::Bool | Kind::Int) && decimals > 0 {
            return t.one(Point::Rint, self);
        }
        let scale = 10f64.powi(decimals.abs());
        let (up, down) = if decimals > 0 { (Point::Multiply, Point::Divide) } else { (Point::Divide, Point::Multiply) };
        let rounded = t.two(down, &t.one(Point::Rint, &t.two(up, self, scale)?)?, scale)?;
        to_dtype(&rounded, self.dtype(), loc)
    }
    /// The elements in another dtype.
    #[doc(alias = "astype")]
    cast, try_cast(&self, dtype: DType) -> Array |loc| { ops::cast(self, dtype, loc) }
    /// Exponentials along an axis, divided by their sum.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(zeros([1, 4]).softmax(-1).to_string(), "[[0.25 0.25 0.25 0.25]]");
    /// ```
    softmax, try_softmax(&self, axis: isize) -> Array |loc| { ops::softmax(self, axis, loc) }
    /// The logarithm of [`Array::softmax`], without underflow to zero.
    log_softmax, try_log_softmax(&self, axis: isize) -> Array |loc| { ops::log_softmax(self, axis, loc) }
    /// `x` at the positive elements, `slope * x` at the others.
    leaky_relu, try_leaky_relu(&self, slope: f64) -> Array |loc| {
        ops::activation(ops::Activation::Leaky(slope), self, loc)
    }
    /// The Gaussian error linear unit, `x * Phi(x)`.
    gelu, try_gelu(&self) -> Array |loc| { ops::activation(ops::Activation::GeluErf, self, loc) }
    /// `x * sigmoid(x)`.
    silu, try_silu(&self) -> Array |loc| { ops::activation(ops::Activation::Silu, self, loc) }
    /// `log(1 + exp(x))`, without overflow.
    softplus, try_softplus(&self) -> Array |loc| { ops::activation(ops::Activation::Softrelu, self, loc) }
    /// Ones at the positions that the elements name along a new last axis, zeros elsewhere.
    one_hot, try_one_hot(&self, depth: usize) -> Array |loc| {
        ops::one_hot(self, depth, 1.into(), 0.into(), DType::default_float(), loc)
    }
    /// The real parts.
    real, try_real(&self) -> Array |loc| { part(self, Point::Real, loc) }
    /// The imaginary parts; zeros for real numbers.
    imag, try_imag(&self) -> Array |loc| { part(self, Point::Imag, loc) }
    /// The complex conjugates.
    conj, try_conj(&self) -> Array |loc| { conjugate(self, loc) }
    /// The conjugate transpose of matrices.
    adjoint, try_adjoint(&self) -> Array |loc| { adjoint(self, loc) }
    /// Complex numbers with these real parts and the given imaginary ones.
    compose, try_compose(&self, imaginary: &Array) -> Array |loc| {
        ops::pointwise(Point::Compose, &[Arg::Array(self), Arg::Array(imaginary)], loc)
    }
    /// A copy: later writes to either array do not affect the other. A clone shares the elements.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// let mut x = Array::from([1, 2]);
    /// let (shared, copied) = (x.clone(), x.copy());
    /// x += 1;
    /// assert_eq!((shared.to_string(), copied.to_string()), ("[2 3]".into(), "[1 2]".into()));
    /// ```
    copy, try_copy(&self) -> Array |loc| { ops::copy(self, loc) }
    /// The array on a device: itself if it is there, otherwise a copy.
    to_device, try_to_device(&self, device: forerun_base::Device) -> Array |loc| {
        if self.device() == device { Ok(self.clone()) } else { ops::transfer(self, device, loc) }
    }
}

fn part(x: &Array, point: Point, loc: Loc) -> Result<Array> {
    match (x.dtype().kind(), point) {
        (Kind::Complex, _) => ops::pointwise(point, &[Arg::Array(x)], loc),
        (_, Point::Real) => Ok(x.clone()),
        _ => ops::pointwise(Point::Multiply, &[Arg::Array(x), Arg::from(0)], loc),
    }
}

fn conjugate(x: &Array, loc: Loc) -> Result<Array> {
    if x.dtype().kind() != Kind::Complex {
        return Ok(x.clone());
    }
    let t = Terms { op: "conj", loc };
    t.two(Point::Compose, &t.one(Point::Real, x)?, &t.one(Point::Negative, &t.one(Point::Imag, x)?)?)
}

/// The conjugate transpose of matrices.
pub(crate) fn adjoint(x: &Array, loc: Loc) -> Result<Array> {
    conjugate(&ops::swapaxes(x, -1, -2)?, loc)
}

/// The sums of products over axes of both, which are given in order.
fn contracted(x: &Array, y: &Array, first: &[usize], second: &[usize], loc: Loc) -> Result<Array> {
    let rest = |x: &Array, gone: &[usize]| (0..x.ndim()).filter(|axis| !gone.contains(axis)).collect::<Vec<usize>>();
    let (left, right) = (rest(x, first), rest(y, second));
    let dims = |x: &Array, axes: &[usize]| axes.iter().map(|axis| x.shape()[*axis] as isize).collect::<Vec<isize>>();
    if dims(x, first) != dims(y, second) {
        let text = format!("extents differ: {} and {}", x.shape(), y.shape());
        return Err(Error::new(ErrorKind::Value, text).in_op("tensordot"));
    }
    let laid = |x: &Array, before: &[usize], after: &[usize]| {
        let order: Vec<isize> = before.iter().chain(after).map(|axis| *axis as isize).collect();
        let (rows, columns) = (dims(x, before).iter().product(), dims(x, after).iter().product());
        ops::reshape(&ops::transpose(x, Some(&order))?, &[rows, columns], loc)
    };
    let product = ops::matmul(&laid(x, &left, first)?, &laid(y, second, &right)?, loc)?;
    ops::reshape(&product, &[dims(x, &left), dims(y, &right)].concat(), loc)
}
