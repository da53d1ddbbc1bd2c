//! The gradient rules of structured ops, as ordinary ops.

use crate::entry::Recorded;
use crate::pointwise;
use crate::routine;
use crate::shapes::{spread, sum_to};
use crate::sum::Sum;
use forerun_array::{Arg, Array, Attrs, Index, on_device, ops};
use forerun_base::{Layout, Loc, Result, Scalar, Shape};
use forerun_ops::{Op, Point, ReduceKind};

/// The gradient of each input of a recorded op; `None` for those that are zero or not needed.
pub(crate) fn flow_back(recorded: &Recorded, sum: &mut Sum, loc: Loc) -> Result<Vec<Option<Array>>> {
    let signature = &recorded.signature;
    if let (Op::Routine(called), Attrs::Routine(encoded), true) = (signature.op, &signature.attrs, sum.is_in_parts())
        && called.reads_ranges()
    {
        return on_device(signature.out.device, || routine::rule_of_parts(called, encoded, recorded, sum, loc));
    }
    match sum.whole(loc)? {
        Some(grad) => on_device(grad.device(), || rule(recorded, &grad, loc)),
        None => Ok(vec![None; recorded.edges.len()]),
    }
}

fn rule(recorded: &Recorded, grad: &Array, loc: Loc) -> Result<Vec<Option<Array>>> {
    let signature = &recorded.signature;
    let shape = |k: usize| signature.inputs[k].shape();
    let wanted = |k: usize| recorded.edges.get(k).is_some_and(Option::is_some);
    match (signature.op, &signature.attrs) {
        (Op::Point(point), _) => pointwise::flow_back(point, recorded, grad, loc),
        (Op::Reduce(kind), &Attrs::Reduce { mask, .. }) => {
            let back = match kind {
                ReduceKind::Sum => Some(spread(grad, &shape(0), mask, loc)?),
                ReduceKind::Prod => Some(product(recorded, grad, mask, loc)?),
                ReduceKind::Max | ReduceKind::Min | ReduceKind::NanMax | ReduceKind::NanMin => {
                    Some(extremum(recorded, grad, mask, loc)?)
                }
                ReduceKind::ArgMax | ReduceKind::ArgMin => None,
            };
            Ok(vec![back])
        }
        (Op::Matmul, &Attrs::Matmul { .. }) => matmul(recorded, grad, loc),
        (Op::Concat, &Attrs::Concat(axis)) => {
            let mut start = 0;
            let part = |k: usize| {
                let (from, count) = (start, shape(k)[axis] as isize);
                start += count;
                let mut items = vec![Index::ALL; axis];
                items.push(Index::Slice { start: Some(from), stop: Some(from + count), step: 1 });
                if wanted(k) { ops::index(grad, &items).map(Some) } else { Ok(None) }
            };
            (0..signature.inputs.len()).map(part).collect()
        }
        (Op::Update, Attrs::Update(region)) => update(recorded, grad, region, loc),
        (Op::Take, &Attrs::Rows { axis, beyond }) => {
            let zeros = ops::full(&shape(0), Scalar::Int(0), grad.dtype(), loc)?;
            let back = ops::scatter_add(&zeros, saved(&recorded.inputs[1]), grad, axis as isize, beyond, loc)?;
            Ok(vec![Some(back), None])
        }
        (Op::ScatterAdd, &Attrs::Rows { axis, beyond }) => {
            let rows = match wanted(2) {
                true => Some(ops::take(grad, saved(&recorded.inputs[1]), axis as isize, beyond, loc)?),
                false => None,
            };
            Ok(vec![Some(grad.clone()), None, rows])
        }
        (Op::Transfer, _) => Ok(vec![Some(ops::transfer(grad, signature.inputs[0].device, loc)?)]),
        (Op::Routine(called), Attrs::Routine(encoded)) => routine::rule(called, encoded, recorded, grad, loc),
        (op, attrs) => unreachable!("{op:?} with {attrs:?} is never on the tape"),
    }
}

pub(crate) fn saved(array: &Option<Array>) -> &Array {
    array.as_ref().expect("the rule declared it")
}

pub(crate) fn binary(point: Point, a: &Array, b: &Array, loc: Loc) -> Result<Array> {
    ops::pointwise(point, &[Arg::Array(a), Arg::Array(b)], loc)
}

/// The base gets zero where it was overwritten; the value gets the gradient of the region.
fn update(recorded: &Recorded, grad: &Array, region: &Layout, loc: Loc) -> Result<Vec<Option<Array>>> {
    let offset = recorded.immediates[0];
    let mut back = Vec::new();
    if recorded.edges[0].is_some() {
        let rest = ops::copy(grad, loc)?;
        ops::assign(&ops::view_as(&rest, *region, offset)?, Arg::Scalar(Scalar::Int(0)), loc)?;
        back.push(Some(rest));
    } else {
        back.push(None);
    }
    if let Some(edge) = recorded.edges.get(1) {
        back.push(match edge {
            Some(_) => {
                // Needs the base's layout: the gradient may be a view of another array.
                let dense = if grad.base().layout() == grad.layout() { grad.clone() } else { ops::copy(grad, loc)? };
                let there = ops::view_as(&dense, *region, offset)?;
                Some(sum_to(&there, &recorded.signature.inputs[1].shape(), loc)?)
            }
            None => None,
        });
    }
    Ok(back)
}

/// Divides the gradient evenly among equal maxima or minima.
fn extremum(recorded: &Recorded, grad: &Array, mask: u32, loc: Loc) -> Result<Array> {
    let (x, y) = (saved(&recorded.inputs[0]), saved(&recorded.output));
    let shape = x.shape();
    let chosen = binary(Point::Equal, x, &spread(&y.detach(), &shape, mask, loc)?, loc)?;
    let chosen = ops::cast(&chosen, x.dtype(), loc)?;
    let axes: Vec<isize> = (0..shape.rank()).filter(|i| mask >> i & 1 == 1).map(|i| i as isize).collect();
    let count = ops::reduce(ReduceKind::Sum, &chosen, Some(&axes), true, loc)?;
    let share = binary(Point::Divide, &chosen, &count, loc)?;
    binary(Point::Multiply, &spread(grad, &shape, mask, loc)?, &share, loc)
}

/// The gradient of each factor is the product of all the others. A tree of products computes it without division, so
/// zeros are handled correctly, and its ops can be differentiated again.
fn product(recorded: &Recorded, grad: &Array, mask: u32, loc: Loc) -> Result<Array> {
    let x = saved(&recorded.inputs[0]);
    let shape = x.shape();
    if shape.size() == 0 {
        return ops::full(&shape, Scalar::Int(0), x.dtype(), loc);
    }
    // The factors of one product are along the last axis.
    let order: Vec<isize> = (0..shape.rank())
        .filter(|i| mask >> i & 1 == 0)
        .chain((0..shape.rank()).filter(|i| mask >> i & 1 == 1))
        .map(|i| i as isize)
        .collect();
    let moved = ops::transpose(x, Some(&order))?;
    let factors: usize = (0..shape.rank()).filter(|i| mask >> i & 1 == 1).map(|i| shape[i]).product();
    let products = shape.size() / factors;
    let rows = ops::reshape(&moved, &[products as isize, factors as isize], loc)?;
    let others = product_of_others(&rows, products, factors, loc)?;
    let back: Vec<isize> = moved.shape().iter().map(|d| *d as isize).collect();
    let others = ops::reshape(&others, &back, loc)?;
    let mut inverse = vec![0isize; order.len()];
    for (to, from) in order.iter().enumerate() {
        inverse[*from as usize] = to as isize;
    }
    let others = ops::transpose(&others, Some(&inverse))?;
    binary(Point::Multiply, &spread(grad, &shape, mask, loc)?, &others, loc)
}

/// For every element of each row, the product of the row's other elements.
fn product_of_others(rows: &Array, count: usize, width: usize, loc: Loc) -> Result<Array> {
    if width == 1 {
        return ops::full(&[count, 1], Scalar::Int(1), rows.dtype(), loc);
    }
    let padded = if width.is_multiple_of(2) {
        rows.clone()
    } else {
        let one = ops::full(&[count, 1], Scalar::Int(1), rows.dtype(), loc)?;
        ops::concatenate(&[rows, &one], 1, loc)?
    };
    let half = width.div_ceil(2);
    let every_other = |start| Index::Slice { start: Some(start), stop: None, step: 2 };
    let even = ops::index(&padded, &[Index::ALL, every_other(0)])?;
    let odd = ops::index(&padded, &[Index::ALL, every_other(1)])?;
    let others = product_of_others(&binary(Point::Multiply, &even, &odd, loc)?, count, half, loc)?;
    let (left, right) = (binary(Point::Multiply, &others, &odd, loc)?, binary(Point::Multiply, &others, &even, loc)?);
    let both = ops::reshape(&ops::stack(&[&left, &right], 2, loc)?, &[count as isize, 2 * half as isize], loc)?;
    ops::index(&both, &[Index::ALL, Index::Slice { start: None, stop: Some(width as isize), step: 1 }])
}

fn swap_last(x: &Array) -> Result<Array> {
    let rank = x.ndim() as isize;
    let mut axes: Vec<isize> = (0..rank).collect();
    axes.swap(rank as usize - 1, rank as usize - 2);
    ops::transpose(x, Some(&axes))
}

/// Whether a matrix is transposed in memory: its columns are contiguous, not its rows.
fn is_transposed(layout: &Layout) -> bool {
    let rank = layout.shape.rank();
    rank >= 2 && layout.strides()[rank - 2] == 1 && layout.strides()[rank - 1] != 1
}

/// `a b` for operands with at least two dimensions, with the memory order of an operand of this layout: the gradient of
/// a transposed weight is then dense in the weight's own order.
fn product_like(layout: &Layout, a: &Array, b: &Array, loc: Loc) -> Result<Array> {
    if is_transposed(layout) {
        return swap_last(&ops::matmul(&swap_last(b)?, &swap_last(a)?, loc)?);
    }
    ops::matmul(a, b, loc)
}

fn matmul(recorded: &Recorded, grad: &Array, loc: Loc) -> Result<Vec<Option<Array>>> {
    let signature = &recorded.signature;
    let (la, lb) = (signature.inputs[0].layout, signature.inputs[1].layout);
    // Vectors are treated as matrices, in the operands and in the gradient.
    let row = |x: &Array| if x.ndim() == 1 { ops::expand_dims(x, 0) } else { Ok(x.clone()) };
    let column = |x: &Array| if x.ndim() == 1 { ops::expand_dims(x, 1) } else { Ok(x.clone()) };
    let mut grad = grad.clone();
    if la.shape.rank() == 1 {
        grad = ops::expand_dims(&grad, grad.ndim() as isize - if lb.shape.rank() == 1 { 0 } else { 1 })?;
    }
    if lb.shape.rank() == 1 {
        grad = ops::expand_dims(&grad, -1)?;
    }
    let as_operand = |x: Array, shape: &Shape| -> Result<Array> {
        if shape.rank() > 1 {
            return sum_to(&x, shape, loc);
        }
        let rank = x.ndim();
        let matrix = Shape::of(&[x.shape()[rank - 2], x.shape()[rank - 1]]);
        let summed = sum_to(&x, &matrix, loc)?;
        ops::reshape(&summed, &[shape[0] as isize], loc)
    };
    let back_to = |k: usize| -> Result<Array> {
        if k == 0 {
            let b = column(saved(&recorded.inputs[1]))?;
            return as_operand(product_like(&la, &grad, &swap_last(&b)?, loc)?, &la.shape);
        }
        let a = row(saved(&recorded.inputs[0]))?;
        as_operand(product_like(&lb, &swap_last(&a)?, &grad, loc)?, &lb.shape)
    };
    // The product that the walk continues with comes last, so that later ops can be fused with it.
    let order = |k: usize| recorded.edges[k].as_ref().map_or(0, |e| e.entry.order);
    let mut back = vec![None, None];
    for k in if order(0) > order(1) { [1, 0] } else { [0, 1] } {
        if recorded.edges[k].is_some() {
            back[k] = Some(back_to(k)?);
        }
    }
    Ok(back)
}
