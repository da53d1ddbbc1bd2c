//! What the rules of linear algebra are made of.

use crate::rules::binary;
use forerun_array::{Arg, Array, Index, ops};
use forerun_base::{DType, Loc, Result, Scalar, Shape};
use forerun_ops::Point;

pub(super) fn swap_last(x: &Array) -> Result<Array> {
    let mut axes: Vec<isize> = (0..x.ndim() as isize).collect();
    axes.swap(x.ndim() - 1, x.ndim() - 2);
    ops::transpose(x, Some(&axes))
}

/// Turned over the diagonal.
pub(super) fn adjoint(x: &Array) -> Result<Array> {
    swap_last(x)
}

pub(super) fn product(a: &Array, b: &Array, loc: Loc) -> Result<Array> {
    ops::matmul(a, b, loc)
}

pub(super) fn times(a: &Array, b: &Array, loc: Loc) -> Result<Array> {
    binary(Point::Multiply, a, b, loc)
}

pub(super) fn plus(a: &Array, b: &Array, loc: Loc) -> Result<Array> {
    binary(Point::Add, a, b, loc)
}

pub(super) fn minus(x: &Array, loc: Loc) -> Result<Array> {
    ops::pointwise(Point::Negative, &[Arg::Array(x)], loc)
}

/// Each column of the matrices times a number of its own.
pub(super) fn scaled(x: &Array, by: &Array, loc: Loc) -> Result<Array> {
    times(x, &ops::expand_dims(by, -2)?, loc)
}

/// Numbers, one a matrix, to be multiplied with matrices.
pub(super) fn over_matrices(x: &Array) -> Result<Array> {
    ops::expand_dims(&ops::expand_dims(x, -1)?, -1)
}

/// The mean of a matrix and its adjoint.
pub(super) fn symmetric(x: &Array, loc: Loc) -> Result<Array> {
    let sum = plus(x, &adjoint(x)?, loc)?;
    ops::pointwise(Point::Multiply, &[Arg::Array(&sum), Arg::Scalar(Scalar::Float(0.5))], loc)
}

/// The elements on and below a diagonal, zero above it.
pub(super) fn lower(x: &Array, diagonal: isize, loc: Loc) -> Result<Array> {
    let (rows, columns) = (x.shape()[x.ndim() - 2], x.shape()[x.ndim() - 1]);
    let count = |start: isize, n: usize| {
        let (start, stop) = (Scalar::Int(start as i64), Scalar::Int(start as i64 + n as i64));
        ops::arange(start, stop, Scalar::Int(1), Some(DType::I64), loc)
    };
    let (down, across) = (ops::expand_dims(&count(diagonal, rows)?, -1)?, count(0, columns)?);
    let kept = binary(Point::GreaterEqual, &down, &across, loc)?;
    ops::pointwise(Point::Where, &[Arg::Array(&kept), Arg::Array(x), Arg::Scalar(Scalar::Int(0))], loc)
}

/// One over each element, and zero where it is zero.
pub(super) fn unless_zero(x: &Array, loc: Loc) -> Result<Array> {
    let (zero, one) = (Arg::Scalar(Scalar::Int(0)), Arg::Scalar(Scalar::Int(1)));
    let is_zero = ops::pointwise(Point::Equal, &[Arg::Array(x), zero], loc)?;
    let safe = ops::pointwise(Point::Where, &[Arg::Array(&is_zero), one, Arg::Array(x)], loc)?;
    let over = ops::pointwise(Point::Reciprocal, &[Arg::Array(&safe)], loc)?;
    ops::pointwise(Point::Where, &[Arg::Array(&is_zero), zero, Arg::Array(&over)], loc)
}

/// The parts of a packed result of a stack of matrices, as views: one after another, each with the stack in front.
pub(super) fn split(packed: &Array, shape: &Shape, parts: &[&[usize]], loc: Loc) -> Result<Vec<Array>> {
    let lead = &shape[..shape.rank() - 2];
    let mut start = 0;
    let mut all = Vec::new();
    for part in parts {
        let dims = [lead, part].concat();
        let size: usize = dims.iter().product();
        let dims: Vec<isize> = dims.iter().map(|d| *d as isize).collect();
        let (from, to) = (Some(start), Some(start + size as isize));
        let flat = ops::index(packed, &[Index::Slice { start: from, stop: to, step: 1 }])?;
        all.push(ops::reshape(&flat, &dims, loc)?);
        start += size as isize;
    }
    Ok(all)
}
