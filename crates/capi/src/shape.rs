//! Views, and what joins or selects elements.

use crate::abi::{forerun_array, forerun_index, forerun_status};
use crate::caller::call;
use crate::error::Failure;
use forerun::{Array, Beyond, ops};
use std::ffi::c_char;

/// The same elements under another shape, of which one extent may be -1. A view where the layout allows it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_reshape(
    x: *const forerun_array,
    shape: *const i64,
    rank: usize,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| caller.give(out, ops::reshape(&*caller.get(x)?, &caller.places(shape, rank)?, caller.loc())))
}

/// A view with the dimensions in another order; `axes` null: reversed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_transpose(
    x: *const forerun_array,
    axes: *const i64,
    axis_count: usize,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| {
        let axes = caller.axes(axes, axis_count)?;
        caller.give(out, ops::transpose(&*caller.get(x)?, axes.as_deref()))
    })
}

/// A view of the elements that an index selects. Writing to the view writes to `x`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_slice(
    x: *const forerun_array,
    items: *const forerun_index,
    item_count: usize,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| caller.give(out, ops::index(&*caller.get(x)?, &caller.index(items, item_count)?)))
}

/// A view with repeated dimensions, which cannot be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_broadcast_to(
    x: *const forerun_array,
    shape: *const i64,
    rank: usize,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| caller.give(out, ops::broadcast_to(&*caller.get(x)?, &caller.shape(shape, rank)?)))
}

/// A view with one more dimension.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_expand_dims(
    x: *const forerun_array,
    axis: i64,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| caller.give(out, ops::expand_dims(&*caller.get(x)?, axis as isize)))
}

/// A view without these dimensions of extent 1; `axes` null: without all of them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_squeeze(
    x: *const forerun_array,
    axes: *const i64,
    axis_count: usize,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| {
        let axes = caller.axes(axes, axis_count)?;
        caller.give(out, ops::squeeze(&*caller.get(x)?, axes.as_deref()))
    })
}

/// Joins arrays along an axis.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_concatenate(
    arrays: *const *const forerun_array,
    count: usize,
    axis: i64,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| {
        let arrays = caller.all(arrays, count)?;
        let arrays: Vec<&Array> = arrays.iter().map(|array| &**array).collect();
        caller.give(out, ops::concatenate(&arrays, axis as isize, caller.loc()))
    })
}

/// Joins arrays along a new axis.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_stack(
    arrays: *const *const forerun_array,
    count: usize,
    axis: i64,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| {
        let arrays = caller.all(arrays, count)?;
        let arrays: Vec<&Array> = arrays.iter().map(|array| &**array).collect();
        caller.give(out, ops::stack(&arrays, axis as isize, caller.loc()))
    })
}

/// The rows along an axis that an array of integers selects. `mode`: "raise" (also if null), "clip" or "wrap".
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_take(
    x: *const forerun_array,
    indices: *const forerun_array,
    axis: i64,
    mode: *const c_char,
    out: *mut *mut forerun_array,
) -> forerun_status {
    call(|caller| {
        let name = if mode.is_null() { "raise" } else { caller.text(mode, "the mode")? };
        let mode = Beyond::from_name(name)
            .ok_or_else(|| Failure::value(format!("mode must be raise, clip or wrap, not {name}")).within("take"))?;
        let (x, indices) = (caller.get(x)?, caller.get(indices)?);
        caller.give(out, ops::take(&x, &indices, axis as isize, mode, caller.loc()))
    })
}
