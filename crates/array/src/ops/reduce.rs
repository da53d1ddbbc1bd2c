//! Reductions.

use crate::array::{Arg, Array};
use crate::ops::pointwise;
use crate::ops::terms::Terms;
use crate::recipe::Recipe;
use crate::submit::{Input, submit};
use crate::window::window;
use forerun_base::{Error, ErrorKind, Loc, Result, Scalar};
use forerun_ops::{Op, Point, ReduceKind, infer};
use forerun_plan::{Attrs, Meta, Signature};

/// Reduces over `axes`, or over all of them. The index kinds take one axis or all.
pub fn reduce(kind: ReduceKind, x: &Array, axes: Option<&[isize]>, keepdims: bool, loc: Loc) -> Result<Array> {
    let name = Op::Reduce(kind).name();
    let shape = x.shape();
    let mask = infer::axes_mask(&shape, axes).map_err(|e| e.in_op(name))?;
    if matches!(kind, ReduceKind::ArgMax | ReduceKind::ArgMin) && axes.is_some_and(|a| a.len() != 1) {
        return Err(Error::new(ErrorKind::Type, "takes one axis or none").in_op(name));
    }
    let key = (Op::Reduce(kind).code(), [x.meta().id, mask, keepdims as u32]);
    // SAFETY: our own window; inference does not touch it.
    let owner = unsafe { window().owner() };
    let (recipe, _) = owner.recipe(key, || {
        let (compute, result, out) = infer::reduce(kind, x.dtype(), &shape, mask, keepdims)?;
        let out = Meta::dense(result, out, x.device());
        let attrs = Attrs::Reduce { mask, compute };
        Ok::<_, Error>((Recipe::of(Signature::of(Op::Reduce(kind), &[x.meta()], attrs, out)), compute))
    })?;
    Ok(submit(recipe, &[Input::Array(x)], [0; 2], loc))
}

/// The arithmetic mean over `axes`, or over all of them: a sum, divided by the count.
pub fn mean(x: &Array, axes: Option<&[isize]>, keepdims: bool, loc: Loc) -> Result<Array> {
    let shape = x.shape();
    let mask = infer::axes_mask(&shape, axes).map_err(|e| e.in_op("mean"))?;
    let count: usize = (0..shape.rank()).filter(|i| mask >> i & 1 == 1).map(|i| shape[i]).product();
    let x = Terms { op: "mean", loc }.float(x)?;
    let sum = reduce(ReduceKind::Sum, &x, axes, keepdims, loc)?;
    pointwise(Point::Divide, &[Arg::Array(&sum), Arg::Scalar(Scalar::Float(count as f64))], loc)
}

/// The mean square of what is off the mean, over `axes` or over all of them; `ddof` is taken off the count.
pub fn var(x: &Array, axes: Option<&[isize]>, ddof: f64, keepdims: bool, loc: Loc) -> Result<Array> {
    variance(Terms { op: "var", loc }, x, axes, ddof, keepdims)
}

fn variance(t: Terms, x: &Array, axes: Option<&[isize]>, ddof: f64, keepdims: bool) -> Result<Array> {
    let loc = t.loc;
    let shape = x.shape();
    let mask = infer::axes_mask(&shape, axes).map_err(|e| e.in_op(t.op))?;
    let count: usize = (0..shape.rank()).filter(|i| mask >> i & 1 == 1).map(|i| shape[i]).product();
    let x = t.float(x)?;
    let off = t.two(Point::Subtract, &*x, &mean(&x, axes, true, loc)?)?;
    let sum = reduce(ReduceKind::Sum, &t.one(Point::Square, &off)?, axes, keepdims, loc)?;
    t.two(Point::Divide, &sum, (count as f64 - ddof).max(0.0))
}

/// The square root of [`var`].
pub fn std(x: &Array, axes: Option<&[isize]>, ddof: f64, keepdims: bool, loc: Loc) -> Result<Array> {
    let t = Terms { op: "std", loc };
    t.one(Point::Sqrt, &variance(t, x, axes, ddof, keepdims)?)
}
