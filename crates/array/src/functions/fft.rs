//! Fourier transforms, along the last axis unless another is given, scaled as NumPy does by default.

use crate::array::index::Index;
use crate::functions::by_name::{call, float_of, to_dtype};
use crate::methods::pairs::functions;
use crate::{Array, ops};
use forerun_base::{DType, Loc, Result, Scalar};
use forerun_ops::samples::Value;
use forerun_ops::{Point, Promotion};

/// What a transform of `n` points is multiplied by: see `factor` of the routines.
const ONE: i64 = 0;
const OVER_N: i64 = 1;

functions! {
    /// The Fourier transform along the last axis.
    fft, try_fft(x: &Array) -> Array |loc| { complete(x, None, -1, false, loc) }
    /// The Fourier transform along an axis, which is cut or padded with zeros to `n` points.
    fft_with, try_fft_with(x: &Array, n: Option<usize>, axis: isize) -> Array |loc| { complete(x, n, axis, false, loc) }
    /// The inverse of [`fft()`].
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// let x = Array::from([1.0f32, 2.0, 4.0]);
    /// assert!(fft::ifft(&fft::fft(&x)).real().allclose(&x)?);
    /// # Ok::<(), Error>(())
    /// ```
    ifft, try_ifft(x: &Array) -> Array |loc| { complete(x, None, -1, true, loc) }
    /// The inverse of [`fft_with()`].
    ifft_with, try_ifft_with(x: &Array, n: Option<usize>, axis: isize) -> Array |loc| { complete(x, n, axis, true, loc) }
    /// The first half of the Fourier transform of real numbers along the last axis; the rest is symmetric.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(fft::rfft(&ones([4])).abs().to_string(), "[4. 0. 0.]");
    /// ```
    rfft, try_rfft(x: &Array) -> Array |loc| { half(x, None, -1, loc) }
    /// The same along an axis, which is cut or padded with zeros to `n` points.
    rfft_with, try_rfft_with(x: &Array, n: Option<usize>, axis: isize) -> Array |loc| { half(x, n, axis, loc) }
    /// The inverse of [`rfft()`] with an even number of points.
    irfft, try_irfft(x: &Array) -> Array |loc| { back(x, None, -1, loc) }
    /// The inverse of [`rfft_with()`]: `n` real numbers, by default twice the extent of the axis less two.
    irfft_with, try_irfft_with(x: &Array, n: Option<usize>, axis: isize) -> Array |loc| { back(x, n, axis, loc) }
    /// The Fourier transform along the last two axes.
    fft2, try_fft2(x: &Array) -> Array |loc| { complete(&complete(x, None, -1, false, loc)?, None, -2, false, loc) }
    /// The inverse of [`fft2()`].
    ifft2, try_ifft2(x: &Array) -> Array |loc| { complete(&complete(x, None, -1, true, loc)?, None, -2, true, loc) }
    /// The frequencies of the points of a transform of `n` samples that are `spacing` apart.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(fft::fftfreq(4, 0.5).to_string(), "[ 0.   0.5 -1.  -0.5]");
    /// ```
    fftfreq, try_fftfreq(n: usize, spacing: f64) -> Array |loc| {
        let count = n as i64;
        let part = |start: i64, stop: i64| ops::arange(start.into(), stop.into(), 1.into(), Some(DType::default_float()), loc);
        let (rest, below) = (part(0, (count + 1) / 2)?, part(-(count / 2), 0)?);
        ops::pointwise(Point::Divide, &[(&ops::concatenate(&[&rest, &below], 0, loc)?).into(), (n as f64 * spacing).into()], loc)
    }
    /// The frequencies of the points of [`rfft()`].
    rfftfreq, try_rfftfreq(n: usize, spacing: f64) -> Array |loc| {
        let stop = n as i64 / 2 + 1;
        let all = ops::arange(0.into(), stop.into(), 1.into(), Some(DType::default_float()), loc)?;
        ops::pointwise(Point::Divide, &[(&all).into(), (n as f64 * spacing).into()], loc)
    }
    /// Moves the frequency zero to the middle of every axis.
    fftshift, try_fftshift(x: &Array) -> Array |loc| { shifted(x, |extent| extent / 2, loc) }
    /// The inverse of [`fftshift()`].
    ifftshift, try_ifftshift(x: &Array) -> Array |loc| { shifted(x, |extent| -(extent / 2), loc) }
}

fn shifted(x: &Array, by: fn(isize) -> isize, loc: Loc) -> Result<Array> {
    let mut moved = x.clone();
    for (axis, extent) in x.shape().iter().enumerate() {
        moved = ops::roll(&moved, by(*extent as isize), Some(axis as isize), loc)?;
    }
    Ok(moved)
}

/// The array with `n` points along an axis: cut, or padded with zeros.
fn points(op: &'static str, x: &Array, n: Option<usize>, axis: isize, loc: Loc) -> Result<Array> {
    let shape = x.shape();
    let axis = shape.axis(axis).map_err(|error| error.in_op(op))?;
    match n {
        Some(n) if n < shape[axis] => {
            let mut items = vec![Index::ALL; axis];
            items.push(Index::Slice { start: None, stop: Some(n as isize), step: 1 });
            ops::index(x, &items)
        }
        Some(n) if n > shape[axis] => {
            let mut rest = shape.to_vec();
            rest[axis] = n - shape[axis];
            let zeros =
                crate::runtime::devices::on_device(x.device(), || ops::full(&rest, Scalar::Int(0), x.dtype(), loc))?;
            ops::concatenate(&[x, &zeros], axis as isize, loc)
        }
        _ => Ok(x.clone()),
    }
}

fn axis_of(axis: isize) -> (&'static str, Value) {
    ("axis", Value::from(axis as i64))
}

fn complete(x: &Array, n: Option<usize>, axis: isize, inverse: bool, loc: Loc) -> Result<Array> {
    let x = points("fft", &to_dtype(x, float_of(&[x]).to_complex(), loc)?, n, axis, loc)?;
    let scale = Value::from(if inverse { OVER_N } else { ONE });
    call("fft", Promotion::Given, &[&x], &[axis_of(axis), ("back", Value::from(inverse)), ("scale", scale)], loc)
}

fn half(x: &Array, n: Option<usize>, axis: isize, loc: Loc) -> Result<Array> {
    let x = points("rfft", &to_dtype(x, float_of(&[x]), loc)?, n, axis, loc)?;
    call("rfft", Promotion::Given, &[&x], &[axis_of(axis), ("scale", Value::from(ONE))], loc)
}

fn back(x: &Array, n: Option<usize>, axis: isize, loc: Loc) -> Result<Array> {
    let place = x.shape().axis(axis).map_err(|error| error.in_op("irfft"))?;
    let n = n.unwrap_or((2 * x.shape()[place]).saturating_sub(2));
    let x = points("irfft", &to_dtype(x, float_of(&[x]).to_complex(), loc)?, Some(n / 2 + 1), axis, loc)?;
    let attributes = [axis_of(axis), ("n", Value::from(n as i64)), ("scale", Value::from(OVER_N))];
    call("irfft", Promotion::Given, &[&x], &attributes, loc)
}
