//! Rearrangements of the elements of an array: flips, diagonals, rolls, repeats, tiles.
//!
//! Each is a layout over the cell, plus one record that copies it if the result is a new array.

use crate::array::Array;
use crate::array::index::Index;
use crate::ops::shape::view;
use crate::ops::{concatenate, copy, index, reshape};
use forerun_base::{Error, ErrorKind, Layout, Loc, MAX_RANK, Result, Shape};
use forerun_ops::infer;

/// Reverses the elements along axes, or along all of them: a view.
pub fn flip(x: &Array, axes: Option<&[isize]>) -> Result<Array> {
    let layout = x.layout();
    let mask = infer::axes_mask(&layout.shape, axes).map_err(|e| e.in_op("flip"))?;
    let mut strides = [0; MAX_RANK];
    let mut offset = 0;
    for (axis, (stride, extent)) in layout.strides().iter().zip(layout.shape.iter()).enumerate() {
        let turned = mask >> axis & 1 == 1;
        strides[axis] = if turned { -stride } else { *stride };
        if turned && layout.shape.size() > 0 {
            offset += (*extent as isize - 1) * stride;
        }
    }
    Ok(view(x, Layout::strided(layout.shape, &strides[..layout.shape.rank()]), offset))
}

/// Exchanges two dimensions: a view.
pub fn swapaxes(x: &Array, first: isize, second: isize) -> Result<Array> {
    let layout = x.layout();
    let axis = |axis: isize| layout.shape.axis(axis).map_err(|e| e.in_op("swapaxes"));
    let mut order: Vec<usize> = (0..layout.shape.rank()).collect();
    order.swap(axis(first)?, axis(second)?);
    Ok(view(x, layout.permute(&order), 0))
}

/// A diagonal of two axes, as the last axis: a view.
pub fn diagonal(x: &Array, offset: isize, first: isize, second: isize) -> Result<Array> {
    let layout = x.layout();
    let refused = |text: String| Err(Error::new(ErrorKind::Value, text).in_op("diagonal"));
    if layout.shape.rank() < 2 {
        return refused(format!("needs at least two dimensions, got {}", layout.shape));
    }
    let axis = |axis: isize| layout.shape.axis(axis).map_err(|e| e.in_op("diagonal"));
    let (first, second) = (axis(first)?, axis(second)?);
    if first == second {
        return refused(format!("axis1 and axis2 are both {first}"));
    }
    let mut shape = Shape::SCALAR;
    let mut strides = Vec::with_capacity(layout.shape.rank() - 1);
    for (axis, (extent, stride)) in layout.shape.iter().zip(layout.strides()).enumerate() {
        if axis != first && axis != second {
            shape.push(*extent);
            strides.push(*stride);
        }
    }
    // Number of rows and columns before the first element.
    let (down, right) = ((-offset).max(0), offset.max(0));
    let left = |axis: usize, before: isize| (layout.shape[axis] as isize).saturating_sub(before).max(0) as usize;
    shape.push(left(first, down).min(left(second, right)));
    strides.push(layout.strides()[first] + layout.strides()[second]);
    let start = match shape.size() {
        0 => 0,
        _ => down * layout.strides()[first] + right * layout.strides()[second],
    };
    Ok(view(x, Layout::strided(shape, &strides), start))
}

/// Shifts elements along an axis by a number of places; those past the end re-enter at the start. Without an axis,
/// shifts those of the flattened array.
pub fn roll(x: &Array, shift: isize, axis: Option<isize>, loc: Loc) -> Result<Array> {
    let Some(axis) = axis else {
        if x.ndim() == 1 {
            return roll(x, shift, Some(0), loc);
        }
        let dims: Vec<isize> = x.shape().iter().map(|d| *d as isize).collect();
        return reshape(&roll(&reshape(x, &[-1], loc)?, shift, Some(0), loc)?, &dims, loc);
    };
    let along = x.shape().axis(axis).map_err(|e| e.in_op("roll"))?;
    let extent = x.shape()[along] as isize;
    let by = shift.rem_euclid(extent.max(1));
    if by == 0 {
        return copy(x, loc);
    }
    let (last, first) = (part(x, along, extent - by..extent), part(x, along, 0..extent - by));
    concatenate(&[&last, &first], along as isize, loc)
}

/// A copy without the row at a valid position of an axis.
pub fn without(x: &Array, position: usize, axis: usize, loc: Loc) -> Result<Array> {
    let (position, extent) = (position as isize, x.shape()[axis] as isize);
    let (before, after) = (part(x, axis, 0..position), part(x, axis, position + 1..extent));
    concatenate(&[&before, &after], axis as isize, loc)
}

/// A range of valid positions of an axis: a view.
fn part(x: &Array, axis: usize, range: std::ops::Range<isize>) -> Array {
    let layout = x.layout();
    let mut shape = layout.shape;
    shape.dims_mut()[axis] = (range.end - range.start) as usize;
    let start = if shape.size() == 0 { 0 } else { range.start * layout.strides()[axis] };
    view(x, Layout::strided(shape, layout.strides()), start)
}

/// Repeats each element `count` times along an axis. Returns `None` if that needs more than the maximum number of
/// dimensions.
pub fn repeat(x: &Array, count: usize, axis: usize, loc: Loc) -> Result<Option<Array>> {
    let mut dims: Vec<(usize, isize)> = dims_of(x);
    dims.insert(axis + 1, (count, 0));
    let mut shape: Vec<usize> = x.shape().to_vec();
    shape[axis] = shape[axis].saturating_mul(count);
    spread(x, &dims, &shape, loc)
}

/// Tiles an array: a number of copies along each of the last axes. Returns `None` if that needs more than the maximum
/// number of dimensions.
pub fn tile(x: &Array, counts: &[usize], loc: Loc) -> Result<Option<Array>> {
    let (mut extents, mut counts) = (dims_of(x), counts.to_vec());
    let rank = extents.len().max(counts.len());
    extents.splice(0..0, vec![(1, 0); rank - extents.len()]);
    counts.splice(0..0, vec![1; rank - counts.len()]);
    let mut dims = Vec::with_capacity(2 * rank);
    for (dim, count) in extents.iter().zip(&counts) {
        if *count != 1 {
            dims.push((*count, 0));
        }
        dims.push(*dim);
    }
    let shape: Vec<usize> = extents.iter().zip(&counts).map(|((d, _), count)| d.saturating_mul(*count)).collect();
    spread(x, &dims, &shape, loc)
}

fn dims_of(x: &Array) -> Vec<(usize, isize)> {
    let layout = x.layout();
    layout.shape.iter().copied().zip(layout.strides().iter().copied()).collect()
}

/// A copy of the view that a layout gives, under another shape.
fn spread(x: &Array, dims: &[(usize, isize)], shape: &[usize], loc: Loc) -> Result<Option<Array>> {
    if dims.len() > MAX_RANK || shape.len() > MAX_RANK {
        return Ok(None);
    }
    let (extents, strides): (Vec<usize>, Vec<isize>) = dims.iter().copied().unzip();
    let wide = view(x, Layout::strided(Shape::new(&extents)?.checked()?, &strides), 0);
    let dims: Vec<isize> = shape.iter().map(|d| *d as isize).collect();
    reshape(&copy(&wide, loc)?, &dims, loc).map(Some)
}

/// Concatenates arrays along an axis after extending each to at least `least` dimensions, as NumPy's `hstack`, `vstack`
/// and `dstack` do; 1-d arrays are concatenated along their own axis.
pub fn join(arrays: &[&Array], least: usize, axis: isize, loc: Loc) -> Result<Array> {
    let enough: Result<Vec<Array>> = arrays.iter().map(|x| at_least(x, least)).collect();
    let enough = enough?;
    let axis = if enough.first().is_some_and(|x| x.ndim() == 1) { 0 } else { axis };
    concatenate(&enough.iter().collect::<Vec<_>>(), axis, loc)
}

/// A view with at least a given number of dimensions.
fn at_least(x: &Array, least: usize) -> Result<Array> {
    use Index::{Ellipsis, NewAxis};
    match (least, x.ndim()) {
        (least, rank) if rank >= least => Ok(x.clone()),
        (3, 2) => index(x, &[Ellipsis, NewAxis]),
        (3, 1) => index(x, &[NewAxis, Ellipsis, NewAxis]),
        (least, rank) => index(x, &[vec![NewAxis; least - rank], vec![Ellipsis]].concat()),
    }
}
