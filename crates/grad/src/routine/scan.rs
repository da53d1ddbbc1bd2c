//! What flows back through cumulative ops: each element is in all results from its own on.

use super::rule::reverse;
use crate::entry::Recorded;
use crate::rules::{binary, saved};
use forerun_array::{Array, Index, ops};
use forerun_base::{Loc, Result, Scalar, Shape};
use forerun_ops::{Point, Routine, Scan};

pub(super) fn rule(
    routine: Scan,
    words: &[i64],
    recorded: &Recorded,
    grad: &Array,
    loc: Loc,
) -> Result<Vec<Option<Array>>> {
    let axis = words[0] as isize;
    match routine {
        Scan::CumSum => {
            let sums = ops::routine(Routine::Scan(Scan::CumSum), &[&reverse(grad, axis)?], words, loc)?;
            Ok(vec![Some(reverse(&sums, axis)?)])
        }
        Scan::CumProd => {
            // The product of all before it, times what flows to each product from it on over that one: no division, so zeros
            // are right.
            let (x, y) = (saved(&recorded.inputs[0]), saved(&recorded.output));
            let before = shifted(y, axis, Scalar::Int(1), loc)?;
            Ok(vec![Some(binary(Point::Multiply, &before, &linear_back(x, grad, words, loc)?, loc)?)])
        }
        Scan::Linear => {
            let back = linear_back(saved(&recorded.inputs[1]), grad, words, loc)?;
            let factors = match recorded.edges.get(1).is_some_and(Option::is_some) {
                true => {
                    let before = shifted(saved(&recorded.output), axis, Scalar::Int(0), loc)?;
                    Some(binary(Point::Multiply, &back, &before, loc)?)
                }
                false => None,
            };
            Ok(vec![Some(back), factors])
        }
        Scan::ArgCumMax | Scan::ArgCumMin => unreachable!("indices are never on the tape"),
    }
}

/// What reaches each element of a linear scan from its own result on: the same, from the end, with each factor a step later.
fn linear_back(factors: &Array, grad: &Array, words: &[i64], loc: Loc) -> Result<Array> {
    let axis = words[0] as isize;
    let later = shifted(&reverse(factors, axis)?, axis, Scalar::Int(0), loc)?;
    let back = ops::routine(Routine::Scan(Scan::Linear), &[&reverse(grad, axis)?, &later], words, loc)?;
    reverse(&back, axis)
}

/// Elements one place further along an axis, with a number in the first place.
fn shifted(x: &Array, axis: isize, first: Scalar, loc: Loc) -> Result<Array> {
    let (shape, axis) = (x.shape(), x.shape().axis(axis)?);
    if shape[axis] == 0 {
        return Ok(x.clone());
    }
    let mut items = vec![Index::ALL; axis];
    items.push(Index::Slice { start: None, stop: Some(-1), step: 1 });
    let mut extents = shape.to_vec();
    extents[axis] = 1;
    let first = ops::full(&Shape::new(&extents)?, first, x.dtype(), loc)?;
    ops::concatenate(&[&first, &ops::index(x, &items)?], axis as isize, loc)
}
