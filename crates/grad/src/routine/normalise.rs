//! What flows back through rows that were brought to a scale.

use super::parts::{plus, times};
use crate::entry::Recorded;
use crate::rules::{binary, saved};
use forerun_array::{Arg, Array, ops};
use forerun_base::{Loc, Result, Scalar};
use forerun_ops::{Normalise, Point, ReduceKind};

pub(super) fn rule(
    routine: Normalise,
    words: &[i64],
    recorded: &Recorded,
    grad: &Array,
    loc: Loc,
) -> Result<Vec<Option<Array>>> {
    match routine {
        Normalise::Softmax => {
            let y = saved(&recorded.output);
            let pulled = row_sums(&times(grad, y, loc)?, loc)?;
            Ok(vec![Some(times(y, &minus(grad, &pulled, loc)?, loc)?)])
        }
        Normalise::LogSoftmax => {
            let y = saved(&recorded.output);
            let softmax = ops::pointwise(Point::Exp, &[Arg::Array(y)], loc)?;
            let pulled = times(&softmax, &row_sums(grad, loc)?, loc)?;
            Ok(vec![Some(minus(grad, &pulled, loc)?)])
        }
        Normalise::Layer => layer(f64::from_bits(words[0] as u64), recorded, grad, loc),
    }
}

fn layer(epsilon: f64, recorded: &Recorded, grad: &Array, loc: Loc) -> Result<Vec<Option<Array>>> {
    let wanted = |i: usize| recorded.edges.get(i).is_some_and(Option::is_some);
    let beta = if wanted(2) { Some(over_rows(grad, loc)?) } else { None };
    if !wanted(0) && !wanted(1) {
        return Ok(vec![None, None, beta]);
    }
    let x = saved(&recorded.inputs[0]);
    let off = minus(x, &row_means(x, loc)?, loc)?;
    let variance = row_means(&times(&off, &off, loc)?, loc)?;
    let raised = ops::pointwise(Point::Add, &[Arg::Array(&variance), Arg::Scalar(Scalar::Float(epsilon))], loc)?;
    let deviation = ops::pointwise(Point::Sqrt, &[Arg::Array(&raised)], loc)?;
    let normal = binary(Point::Divide, &off, &deviation, loc)?;
    let gamma = if wanted(1) { Some(over_rows(&times(grad, &normal, loc)?, loc)?) } else { None };
    if !wanted(0) {
        return Ok(vec![None, gamma, beta]);
    }
    // What reaches the normal rows, less what shifting and stretching a row would take from it again.
    let scaled = times(grad, saved(&recorded.inputs[1]), loc)?;
    let stretch = times(&normal, &row_means(&times(&scaled, &normal, loc)?, loc)?, loc)?;
    let taken = plus(&row_means(&scaled, loc)?, &stretch, loc)?;
    let back = binary(Point::Divide, &minus(&scaled, &taken, loc)?, &deviation, loc)?;
    Ok(vec![Some(back), gamma, beta])
}

fn minus(a: &Array, b: &Array, loc: Loc) -> Result<Array> {
    binary(Point::Subtract, a, b, loc)
}

fn row_sums(x: &Array, loc: Loc) -> Result<Array> {
    ops::reduce(ReduceKind::Sum, x, Some(&[-1]), true, loc)
}

fn row_means(x: &Array, loc: Loc) -> Result<Array> {
    ops::mean(x, Some(&[-1]), true, loc)
}

/// The sum of all rows.
fn over_rows(x: &Array, loc: Loc) -> Result<Array> {
    let axes: Vec<isize> = (0..x.ndim() as isize - 1).collect();
    ops::reduce(ReduceKind::Sum, x, Some(&axes), false, loc)
}
