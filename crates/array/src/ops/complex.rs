//! Reductions and products of complex arrays, computed from their real and imaginary parts.

use crate::array::index::Index;
use crate::array::{Arg, Array};
use crate::ops::{copy, full, index, matmul, pointwise, reduce, reshape, transpose};
use forerun_base::{Loc, Result, Scalar};
use forerun_ops::{Point, ReduceKind, infer};

fn one(point: Point, x: &Array, loc: Loc) -> Result<Array> {
    pointwise(point, &[Arg::Array(x)], loc)
}

fn two(point: Point, a: &Array, b: &Array, loc: Loc) -> Result<Array> {
    pointwise(point, &[Arg::Array(a), Arg::Array(b)], loc)
}

/// A sum or a product over the axes of a bit mask.
pub(super) fn reduce_parts(kind: ReduceKind, x: &Array, mask: u32, keepdims: bool, loc: Loc) -> Result<Array> {
    let shape = x.shape();
    let (_, _, out) = infer::reduce(kind, x.dtype(), &shape, mask, keepdims)?;
    if kind == ReduceKind::Sum {
        let axes: Vec<isize> = (0..shape.rank()).filter(|i| mask >> i & 1 == 1).map(|i| i as isize).collect();
        let sum = |part| reduce(kind, &one(part, x, loc)?, Some(&axes), keepdims, loc);
        return two(Point::Compose, &sum(Point::Real)?, &sum(Point::Imag)?, loc);
    }
    // The factors of one product are along the first axis, which is halved until one is left.
    let (gone, kept): (Vec<isize>, Vec<isize>) = (0..shape.rank() as isize).partition(|i| mask >> i & 1 == 1);
    let count: usize = gone.iter().map(|&i| shape[i as usize]).product();
    let dims: Vec<isize> = out.iter().map(|d| *d as isize).collect();
    if count == 0 {
        return full(&out, Scalar::Int(1), x.dtype(), loc);
    }
    let order: Vec<isize> = gone.iter().chain(&kept).copied().collect();
    let rest = kept.iter().map(|&i| shape[i as usize]).product::<usize>() as isize;
    let mut factors = reshape(&transpose(x, Some(&order))?, &[count as isize, rest], loc)?;
    if count == 1 {
        // A single factor is the product, but the result must be a new array.
        factors = copy(&factors, loc)?;
    }
    while factors.shape()[0] > 1 {
        let half = factors.shape()[0] as isize / 2;
        let part = |start, stop| index(&factors, &[Index::Slice { start: Some(start), stop: Some(stop), step: 1 }]);
        let mut product = two(Point::Multiply, &part(0, half)?, &part(half, 2 * half)?, loc)?;
        if factors.shape()[0] % 2 == 1 {
            let last = part(2 * half, 2 * half + 1)?;
            product = crate::ops::concatenate(&[&product, &last], 0, loc)?;
        }
        factors = product;
    }
    reshape(&factors, &dims, loc)
}

/// The product of two complex matrices: four products of their parts.
pub(super) fn matmul_parts(a: &Array, b: &Array, loc: Loc) -> Result<Array> {
    let (ar, ai) = (one(Point::Real, a, loc)?, one(Point::Imag, a, loc)?);
    let (br, bi) = (one(Point::Real, b, loc)?, one(Point::Imag, b, loc)?);
    let real = two(Point::Subtract, &matmul(&ar, &br, loc)?, &matmul(&ai, &bi, loc)?, loc)?;
    let imaginary = two(Point::Add, &matmul(&ar, &bi, loc)?, &matmul(&ai, &br, loc)?, loc)?;
    two(Point::Compose, &real, &imaginary, loc)
}
