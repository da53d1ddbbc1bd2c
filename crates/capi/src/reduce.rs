//! Reductions.

use crate::abi::{forerun_array, forerun_status};
use crate::caller::call;
use forerun::{Array, Loc, ReduceKind, Result, ops};

/// A reduction over axes, or over all of them.
type Reduction = fn(&Array, Option<&[isize]>, bool, Loc) -> Result<Array>;

fn over(
    reduction: Reduction,
    x: *const forerun_array,
    axes: *const i64,
    axis_count: usize,
    keepdims: bool,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| {
        let axes = caller.axes(axes, axis_count)?;
        caller.give(out, reduction(&*caller.get(x)?, axes.as_deref(), keepdims, caller.loc()))
    })
}

/// The sum over axes; `axes` null: over all.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_sum(
    x: *const forerun_array,
    axes: *const i64,
    axis_count: usize,
    keepdims: bool,
    out: *mut *mut forerun_array,
) -> forerun_status {
    over(
        |x, axes, keepdims, loc| ops::reduce(ReduceKind::Sum, x, axes, keepdims, loc),
        x,
        axes,
        axis_count,
        keepdims,
        out,
    )
}

/// The product over axes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_prod(
    x: *const forerun_array,
    axes: *const i64,
    axis_count: usize,
    keepdims: bool,
    out: *mut *mut forerun_array,
) -> forerun_status {
    over(
        |x, axes, keepdims, loc| ops::reduce(ReduceKind::Prod, x, axes, keepdims, loc),
        x,
        axes,
        axis_count,
        keepdims,
        out,
    )
}

/// The largest element over axes; NaN if one is NaN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_max(
    x: *const forerun_array,
    axes: *const i64,
    axis_count: usize,
    keepdims: bool,
    out: *mut *mut forerun_array,
) -> forerun_status {
    over(
        |x, axes, keepdims, loc| ops::reduce(ReduceKind::Max, x, axes, keepdims, loc),
        x,
        axes,
        axis_count,
        keepdims,
        out,
    )
}

/// The smallest element over axes; NaN if one is NaN.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_min(
    x: *const forerun_array,
    axes: *const i64,
    axis_count: usize,
    keepdims: bool,
    out: *mut *mut forerun_array,
) -> forerun_status {
    over(
        |x, axes, keepdims, loc| ops::reduce(ReduceKind::Min, x, axes, keepdims, loc),
        x,
        axes,
        axis_count,
        keepdims,
        out,
    )
}

/// The index of the first largest element along one axis, or of the flattened array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_argmax(
    x: *const forerun_array,
    axes: *const i64,
    axis_count: usize,
    keepdims: bool,
    out: *mut *mut forerun_array,
) -> forerun_status {
    over(
        |x, axes, keepdims, loc| ops::reduce(ReduceKind::ArgMax, x, axes, keepdims, loc),
        x,
        axes,
        axis_count,
        keepdims,
        out,
    )
}

/// The index of the first smallest element along one axis, or of the flattened array.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_argmin(
    x: *const forerun_array,
    axes: *const i64,
    axis_count: usize,
    keepdims: bool,
    out: *mut *mut forerun_array,
) -> forerun_status {
    over(
        |x, axes, keepdims, loc| ops::reduce(ReduceKind::ArgMin, x, axes, keepdims, loc),
        x,
        axes,
        axis_count,
        keepdims,
        out,
    )
}

/// The mean over axes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_mean(
    x: *const forerun_array,
    axes: *const i64,
    axis_count: usize,
    keepdims: bool,
    out: *mut *mut forerun_array,
) -> forerun_status {
    over(ops::mean, x, axes, axis_count, keepdims, out)
}

/// Whether an element over axes is nonzero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_any(
    x: *const forerun_array,
    axes: *const i64,
    axis_count: usize,
    keepdims: bool,
    out: *mut *mut forerun_array,
) -> forerun_status {
    over(ops::any, x, axes, axis_count, keepdims, out)
}

/// Whether all elements over axes are nonzero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_all(
    x: *const forerun_array,
    axes: *const i64,
    axis_count: usize,
    keepdims: bool,
    out: *mut *mut forerun_array,
) -> forerun_status {
    over(ops::all, x, axes, axis_count, keepdims, out)
}

/// The square root of the sum of squares over axes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_norm(
    x: *const forerun_array,
    axes: *const i64,
    axis_count: usize,
    keepdims: bool,
    out: *mut *mut forerun_array,
) -> forerun_status {
    over(ops::norm, x, axes, axis_count, keepdims, out)
}
