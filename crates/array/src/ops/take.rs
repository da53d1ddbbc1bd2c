//! Rows by indices (`take`, `scatter_add`), and ops built on them.

use crate::array::{Arg, Array};
use crate::ops::terms::Terms;
use crate::ops::{arange, broadcast_to, cast, copy, expand_dims, pointwise, reshape};
use crate::runtime::devices::{common_device, on_device};
use crate::runtime::recipe::Recipe;
use crate::runtime::submit::{SubmitInput, submit};
use crate::runtime::window::{MemoKey, window};
use forerun_base::{DType, Error, ErrorKind, Kind, Loc, Result, Scalar};
use forerun_ops::{Beyond, Op, Point, infer};
use forerun_plan::{Attrs, Meta, Signature};
use std::borrow::Cow;

/// The memo's key: the axis takes three bits of the code, the out-of-bounds mode two.
fn key(op: Op, metas: [u64; 3], axis: usize, beyond: Beyond) -> MemoKey {
    (op.code() | ((axis as u16) << 2 | beyond as u16) << 10, metas)
}

/// Converts indices to what kernels read: signed, 32 or 64 bits. Inference rejects other dtypes.
fn plain_indices(indices: &Array, loc: Loc) -> Result<Cow<'_, Array>> {
    match indices.dtype() {
        DType::I8 | DType::I16 | DType::U8 | DType::U16 | DType::U32 | DType::U64 => {
            cast(indices, DType::I64, loc).map(Cow::Owned)
        }
        DType::I32 | DType::I64 | DType::Bool | DType::F16 | DType::BF16 | DType::F32 | DType::F64 => {
            Ok(Cow::Borrowed(indices))
        }
        DType::C64 | DType::C128 => Ok(Cow::Borrowed(indices)),
    }
}

/// Rows of `x` along an axis, selected by an integer array whose shape replaces the axis. An index out of bounds fails
/// when the record runs.
pub fn take(x: &Array, indices: &Array, axis: isize, beyond: Beyond, loc: Loc) -> Result<Array> {
    let axis = x.extents().axis(axis).map_err(|e| e.in_op(Op::Take.name()))?;
    let indices = &*plain_indices(indices, loc)?;
    let metas = [x.meta(), indices.meta()];
    // SAFETY: the calling thread owns this window, and inference does not access it.
    let owner = unsafe { window().owner() };
    let (recipe, _) = owner.recipe(key(Op::Take, [metas[0].id, metas[1].id, 0], axis, beyond), || {
        let shape = infer::take(Op::Take, &x.shape(), (indices.dtype(), indices.shape()), axis)?;
        let out = Meta::dense(x.dtype(), shape, common_device(Op::Take.name(), &metas)?);
        let attrs = Attrs::Rows { axis, beyond };
        Ok::<_, Error>((Recipe::of(Signature::of(Op::Take, &metas, attrs, &out)), x.dtype()))
    })?;
    Ok(submit(recipe, &[x.input(), indices.input()], [0; 2], loc))
}

/// `base` with updates added to the rows that [`take`] would return, in order if several indices select one row. The
/// result has the dtype of the base.
pub fn scatter_add(
    base: &Array,
    indices: &Array,
    updates: &Array,
    axis: isize,
    beyond: Beyond,
    loc: Loc,
) -> Result<Array> {
    let name = Op::ScatterAdd.name();
    let axis = base.shape().axis(axis).map_err(|e| e.in_op(name))?;
    let indices = &*plain_indices(indices, loc)?;
    let rows = infer::take(Op::ScatterAdd, &base.shape(), (indices.dtype(), indices.shape()), axis)?;
    let wide = broadcast_to(updates, &rows).map_err(|_| {
        let text = format!("updates {} do not broadcast to the rows {rows}", updates.shape());
        Error::new(ErrorKind::Value, text).in_op(name)
    })?;
    let updates = match (wide.dtype() == base.dtype(), wide.layout().is_dense()) {
        (true, true) => wide,
        (true, false) => copy(&wide, loc)?,
        (false, _) => cast(&wide, base.dtype(), loc)?,
    };
    let metas = [base.meta(), indices.meta(), updates.meta()];
    // SAFETY: the calling thread owns this window, and interning does not access it.
    let owner = unsafe { window().owner() };
    let (recipe, _) = owner.recipe(key(Op::ScatterAdd, metas.map(|m| m.id), axis, beyond), || {
        let out = Meta::dense(base.dtype(), base.shape(), common_device(name, &metas)?);
        let attrs = Attrs::Rows { axis, beyond };
        Ok::<_, Error>((Recipe::of(Signature::of(Op::ScatterAdd, &metas, attrs, &out)), base.dtype()))
    })?;
    let inputs: [SubmitInput<'_>; 3] = [base.input(), indices.input(), updates.input()];
    Ok(submit(recipe, &inputs, [0; 2], loc))
}

/// Floats truncated to int64. What is no number becomes the smallest integer, which is out of bounds everywhere; a plain cast gives 0.
fn truncated(x: &Array, loc: Loc) -> Result<Array> {
    if x.dtype().kind() != Kind::Float {
        return cast(x, DType::I64, loc);
    }
    let missing = pointwise(Point::IsNan, &[Arg::Array(x)], loc)?;
    let least = Arg::Scalar(Scalar::Float(f64::NEG_INFINITY));
    cast(&pointwise(Point::Where, &[Arg::Array(&missing), least, Arg::Array(x)], loc)?, DType::I64, loc)
}

/// Rows of a table. Indices are truncated, because programs may keep them in floats.
pub fn embedding(indices: &Array, weight: &Array, loc: Loc) -> Result<Array> {
    match indices.dtype().kind() {
        Kind::Float => take(weight, &truncated(indices, loc)?, 0, Beyond::Raise, loc),
        Kind::Int | Kind::Bool | Kind::Complex => take(weight, indices, 0, Beyond::Raise, loc),
    }
}

/// The elements that indices select along an axis, one for each of the other positions. Indices are truncated.
pub fn pick(x: &Array, index: &Array, axis: isize, keepdims: bool, beyond: Beyond, loc: Loc) -> Result<Array> {
    let t = Terms { op: "pick", loc };
    let shape = x.shape();
    let axis = t.axis(&shape, axis)?;
    let extent = shape[axis];
    let (outer, inner): (usize, usize) = (shape[..axis].iter().product(), shape[axis + 1..].iter().product());
    let kept: Vec<isize> =
        shape.iter().map(|d| *d as isize).enumerate().map(|(i, d)| if i == axis { 1 } else { d }).collect();
    let dropped: Vec<isize> = kept.iter().enumerate().filter(|(i, _)| *i != axis).map(|(_, d)| *d).collect();
    let named: Vec<isize> = index.shape().iter().map(|d| *d as isize).collect();
    if named != kept && named != dropped {
        return Err(t.value(format!("index of shape {} does not fit {shape} without axis {axis}", index.shape())));
    }
    if extent == 0 && index.size() > 0 && !beyond.may_fail() {
        return Err(t.value(format!("axis {axis} of {shape} is empty")));
    }
    let index = match index.dtype() {
        DType::I64 => index.clone(),
        _ if beyond.may_fail() => truncated(index, loc)?,
        _ => cast(index, DType::I64, loc)?,
    };
    let position = match beyond {
        Beyond::Clip => t.two(Point::Minimum, &t.two(Point::Maximum, &index, 0)?, extent as i64 - 1)?,
        Beyond::Wrap => t.two(Point::Remainder, &index, extent.max(1) as i64)?,
        // A lookup among the positions, which fails for an invalid one. Negative numbers are invalid here.
        Beyond::Raise | Beyond::Refuse => {
            let positions = on_device(x.device(), || {
                arange(Scalar::Int(0), Scalar::Int(extent as i64), Scalar::Int(1), None, loc)
            })?;
            take(&positions, &index, 0, Beyond::Refuse, loc)?
        }
    };
    // The position of each element in the flattened array.
    let position = reshape(&position, &[outer as isize, inner as isize], loc)?;
    let steps = |count: usize, step: usize| {
        let (stop, step) = (Scalar::Int((count * step) as i64), Scalar::Int(step.max(1) as i64));
        on_device(x.device(), || arange(Scalar::Int(0), stop, step, None, loc))
    };
    let mut flat = position;
    if inner != 1 {
        flat = t.two(Point::Add, &t.two(Point::Multiply, &flat, inner as i64)?, &steps(inner, 1)?)?;
    }
    if outer != 1 {
        flat = t.two(Point::Add, &flat, &expand_dims(&steps(outer, extent * inner)?, -1)?)?;
    }
    let picked = take(&reshape(x, &[-1], loc)?, &flat, 0, Beyond::Clip, loc)?;
    reshape(&picked, if keepdims { &kept } else { &dropped }, loc)
}
