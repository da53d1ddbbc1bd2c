//! Reductions.

use crate::array::{Arg, Array};
use crate::ops::terms::Terms;
use crate::ops::{cast, complex, matmul, pointwise};
use crate::runtime::recipe::Recipe;
use crate::runtime::submit::{SubmitInput, submit};
use crate::runtime::window::window;
use forerun_base::{DType, Error, ErrorKind, Kind, Loc, Result, Scalar};
use forerun_ops::{Op, Point, ReduceKind, infer};
use forerun_plan::{Attrs, Meta, Signature};
use std::borrow::Cow;

/// Reduces over `axes`, or over all of them. The index kinds (argmin, argmax) take one axis or all.
pub fn reduce(kind: ReduceKind, x: &Array, axes: Option<&[isize]>, keepdims: bool, loc: Loc) -> Result<Array> {
    let name = Op::Reduce(kind).name();
    let shape = x.extents();
    let mask = infer::axes_mask(shape, axes).map_err(|e| e.in_op(name))?;
    if matches!(kind, ReduceKind::ArgMax | ReduceKind::ArgMin) && axes.is_some_and(|a| a.len() != 1) {
        return Err(Error::new(ErrorKind::Type, "takes a single axis or none").in_op(name));
    }
    if x.dtype().kind() == Kind::Complex {
        return complex::reduce_parts(kind, x, mask, keepdims, loc);
    }
    let (reduced, result) = submit_reduction(kind, x, mask, keepdims, loc)?;
    narrowed(reduced, result, loc)
}

/// The same for real numbers, without the conversion of the result: it has the dtype in which the kernel reduces.
pub fn reduce_unrounded(kind: ReduceKind, x: &Array, mask: u32, keepdims: bool, loc: Loc) -> Result<Array> {
    if x.dtype().kind() == Kind::Complex {
        let text = format!("not defined for {}", x.dtype());
        return Err(Error::new(ErrorKind::Type, text).in_op(Op::Reduce(kind).name()));
    }
    submit_reduction(kind, x, mask, keepdims, loc).map(|(reduced, _)| reduced)
}

/// Submits a reduction; returns it in the dtype that the kernel reduces in, and the dtype that callers expect.
fn submit_reduction(kind: ReduceKind, x: &Array, mask: u32, keepdims: bool, loc: Loc) -> Result<(Array, DType)> {
    let shape = x.extents();
    let key = (Op::Reduce(kind).code(), [x.meta().id, mask as u64, keepdims as u64]);
    // SAFETY: the calling thread owns this window, and inference does not access it.
    let owner = unsafe { window().owner() };
    let (recipe, result) = owner.recipe(key, || {
        let (compute, result, out) = infer::reduce(kind, x.dtype(), shape, mask, keepdims)?;
        let out = Meta::dense(infer::reduced_dtype(compute, result), out, x.device());
        let attrs = Attrs::Reduce { mask, compute };
        Ok::<_, Error>((Recipe::of(Signature::of(Op::Reduce(kind), &[x.meta()], attrs, &out)), result))
    })?;
    Ok((submit(recipe, &[SubmitInput::Array(x)], [0; 2], loc), result))
}

/// The array, converted to another dtype if needed.
fn narrowed(x: Array, dtype: DType, loc: Loc) -> Result<Array> {
    if x.dtype() == dtype { Ok(x) } else { cast(&x, dtype, loc) }
}

/// Converts each element to a boolean.
fn truth(x: &Array, loc: Loc) -> Result<Cow<'_, Array>> {
    match x.dtype() {
        DType::Bool => Ok(Cow::Borrowed(x)),
        _ => pointwise(Point::NotEqual, &[Arg::Array(x), Arg::Scalar(Scalar::Int(0))], loc).map(Cow::Owned),
    }
}

/// Whether any element over `axes`, or over all of them, is true. It is the maximum of booleans, found by a scan that
/// ends early; for an empty range, whether the sum is nonzero.
pub fn any(x: &Array, axes: Option<&[isize]>, keepdims: bool, loc: Loc) -> Result<Array> {
    let held = truth(x, loc)?;
    match x.size() {
        0 => Ok(truth(&reduce(ReduceKind::Sum, &held, axes, keepdims, loc)?, loc)?.into_owned()),
        _ => reduce(ReduceKind::Max, &held, axes, keepdims, loc),
    }
}

/// Whether all elements over `axes`, or over all of them, are true: as [`any`], with the minimum and the product.
pub fn all(x: &Array, axes: Option<&[isize]>, keepdims: bool, loc: Loc) -> Result<Array> {
    let held = truth(x, loc)?;
    match x.size() {
        0 => Ok(truth(&reduce(ReduceKind::Prod, &held, axes, keepdims, loc)?, loc)?.into_owned()),
        _ => reduce(ReduceKind::Min, &held, axes, keepdims, loc),
    }
}

/// The number of nonzero elements over `axes`, or over all of them.
pub fn count_nonzero(x: &Array, axes: Option<&[isize]>, keepdims: bool, loc: Loc) -> Result<Array> {
    reduce(ReduceKind::Sum, &*truth(x, loc)?, axes, keepdims, loc)
}

/// The square root of the sum of squares over `axes`, or over all of them. For a vector the sum is an inner product,
/// which is one pass over it.
pub fn norm(x: &Array, axes: Option<&[isize]>, keepdims: bool, loc: Loc) -> Result<Array> {
    let t = Terms { op: "norm", loc };
    if x.dtype().kind() != Kind::Float {
        return Err(Error::new(ErrorKind::Type, format!("not defined for {}", x.dtype())).in_op(t.op));
    }
    infer::axes_mask(&x.shape(), axes).map_err(|e| e.in_op(t.op))?;
    let sum = match (x.ndim(), axes) {
        (1, None | Some([0 | -1])) if !keepdims => matmul(x, x, loc)?,
        _ => reduce(ReduceKind::Sum, &t.one(Point::Square, x)?, axes, keepdims, loc)?,
    };
    t.one(Point::Sqrt, &sum)
}

/// The arithmetic mean over `axes`, or over all of them: a sum, divided by the count.
pub fn mean(x: &Array, axes: Option<&[isize]>, keepdims: bool, loc: Loc) -> Result<Array> {
    let shape = x.shape();
    let mask = infer::axes_mask(&shape, axes).map_err(|e| e.in_op("mean"))?;
    let count: usize = (0..shape.rank()).filter(|i| mask >> i & 1 == 1).map(|i| shape[i]).product();
    let dtype = x.dtype().to_mean();
    let x = if dtype.kind() == Kind::Complex { Cow::Borrowed(x) } else { Terms { op: "mean", loc }.wide(x)? };
    let sum = reduce(ReduceKind::Sum, &x, axes, keepdims, loc)?;
    let mean = pointwise(Point::Divide, &[Arg::Array(&sum), Arg::Scalar(Scalar::Float(count as f64))], loc)?;
    narrowed(mean, dtype, loc)
}

/// The mean squared deviation from the mean over `axes`, or over all of them; `ddof` is subtracted from the count.
pub fn var(x: &Array, axes: Option<&[isize]>, ddof: f64, keepdims: bool, loc: Loc) -> Result<Array> {
    let var = variance(Terms { op: "var", loc }, x, axes, ddof, keepdims)?;
    narrowed(var, x.dtype().to_mean().to_real(), loc)
}

/// The variance in the carrier of its dtype; for complex numbers, that of their distances from the mean.
fn variance(t: Terms, x: &Array, axes: Option<&[isize]>, ddof: f64, keepdims: bool) -> Result<Array> {
    let loc = t.loc;
    let shape = x.shape();
    let mask = infer::axes_mask(&shape, axes).map_err(|e| e.in_op(t.op))?;
    let count: usize = (0..shape.rank()).filter(|i| mask >> i & 1 == 1).map(|i| shape[i]).product();
    let complex = x.dtype().kind() == Kind::Complex;
    let x = if complex { Cow::Borrowed(x) } else { t.wide(x)? };
    let off = t.two(Point::Subtract, &*x, &mean(&x, axes, true, loc)?)?;
    let squares = if complex {
        let part = |point| t.one(Point::Square, &t.one(point, &off)?);
        t.two(Point::Add, &part(Point::Real)?, &part(Point::Imag)?)?
    } else {
        t.one(Point::Square, &off)?
    };
    let sum = reduce(ReduceKind::Sum, &squares, axes, keepdims, loc)?;
    t.two(Point::Divide, &sum, (count as f64 - ddof).max(0.0))
}

/// The square root of [`var`].
pub fn std(x: &Array, axes: Option<&[isize]>, ddof: f64, keepdims: bool, loc: Loc) -> Result<Array> {
    let t = Terms { op: "std", loc };
    let std = t.one(Point::Sqrt, &variance(t, x, axes, ddof, keepdims)?)?;
    narrowed(std, x.dtype().to_mean().to_real(), loc)
}
