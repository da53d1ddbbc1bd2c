//! The gradients of views and broadcasting.

use forerun_array::{Arg, Array, Index, on_device, ops};
use forerun_base::{Layout, Loc, Result, Scalar, Shape};
use forerun_ops::ReduceKind;

fn dims(shape: &Shape) -> Vec<isize> {
    shape.iter().map(|d| *d as isize).collect()
}

/// Sums over broadcast dimensions, down to `shape`.
pub(crate) fn sum_to(x: &Array, shape: &Shape, loc: Loc) -> Result<Array> {
    let from = x.shape();
    if from == *shape {
        return Ok(x.clone());
    }
    let lead = from.rank() - shape.rank();
    let axes: Vec<isize> =
        (0..from.rank()).filter(|&i| i < lead || (shape[i - lead] == 1 && from[i] != 1)).map(|i| i as isize).collect();
    if axes.is_empty() {
        return ops::reshape(x, &dims(shape), loc);
    }
    // If only leading dimensions are summed, no view is needed afterwards.
    let keep = axes.len() != lead;
    let summed = ops::reduce(ReduceKind::Sum, x, Some(&axes), keep, loc)?;
    if keep { ops::reshape(&summed, &dims(shape), loc) } else { Ok(summed) }
}

/// Broadcasts over the axes that a reduction removed: a view.
pub(crate) fn spread(x: &Array, shape: &Shape, mask: u32, loc: Loc) -> Result<Array> {
    let kept: Vec<isize> = (0..shape.rank()).map(|i| if mask >> i & 1 == 1 { 1 } else { shape[i] as isize }).collect();
    ops::broadcast_to(&ops::reshape(x, &kept, loc)?, shape)
}

/// The gradient of a view before it is placed into the base: summed over broadcast dimensions, without reversed or
/// needless dimensions; and the positions of its elements.
pub(crate) struct Seen {
    pub(crate) grad: Array,
    pub(crate) layout: Layout,
    pub(crate) offset: u64,
}

pub(crate) fn seen(grad: &Array, layout: &Layout, offset: u64, loc: Loc) -> Result<Seen> {
    let (mut grad, mut offset) = (grad.clone(), offset as isize);
    let repeated: Vec<isize> = (0..layout.shape.rank())
        .filter(|&i| layout.shape[i] > 1 && layout.strides()[i] == 0)
        .map(|i| i as isize)
        .collect();
    if !repeated.is_empty() {
        grad = ops::reduce(ReduceKind::Sum, &grad, Some(&repeated), true, loc)?;
    }
    let mut items = Vec::new();
    let (mut shape, mut strides) = (Shape::SCALAR, Vec::new());
    for i in 0..layout.shape.rank() {
        let (d, s) = (layout.shape[i], layout.strides()[i]);
        if d == 1 || s == 0 {
            items.push(Index::At(0));
            continue;
        }
        items.push(Index::Slice { start: None, stop: None, step: if s < 0 { -1 } else { 1 } });
        if s < 0 {
            offset += (d as isize - 1) * s;
        }
        shape.push(d);
        strides.push(s.abs());
    }
    Ok(Seen { grad: ops::index(&grad, &items)?, layout: Layout::strided(shape, &strides), offset: offset as u64 })
}

/// The gradient of the base of a view that covers all of it.
pub(crate) fn through_view(grad: &Array, layout: &Layout, offset: u64, base: &Shape, loc: Loc) -> Result<Array> {
    let zeros = || on_device(grad.device(), || ops::full(base, Scalar::Int(0), grad.dtype(), loc));
    if base.size() == 0 {
        return zeros();
    }
    let seen = seen(grad, layout, offset, loc)?;
    let rank = seen.layout.shape.rank();
    let mut order: Vec<usize> = (0..rank).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(seen.layout.strides()[i]));
    let ordered = seen.layout.permute(&order);
    if ordered.shape.size() == base.size() && ordered.is_dense() {
        let axes: Vec<isize> = order.iter().map(|i| *i as isize).collect();
        return ops::reshape(&ops::transpose(&seen.grad, Some(&axes))?, &dims(base), loc);
    }
    let zeros = zeros()?;
    ops::assign(&ops::view_as(&zeros, seen.layout, seen.offset)?, Arg::Array(&seen.grad), loc)?;
    Ok(zeros)
}

/// Whether a view covers all of its base.
pub(crate) fn is_whole(view: &Layout, base: &Shape) -> bool {
    let distinct: usize = view.shape.iter().zip(view.strides()).filter(|(_, s)| **s != 0).map(|(d, _)| *d).product();
    distinct == base.size()
}
