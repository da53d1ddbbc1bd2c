//! Linear systems, pseudo-inverses, powers, ranks and norms.

use super::decompositions::{decomposed, matrices};
use crate::array::index::Index;
use crate::functions::by_name::{call, float_of, to_dtype};
use crate::functions::einsum::evaluate;
use crate::methods::arithmetic::adjoint;
use crate::methods::pairs::functions;
use crate::ops::terms::Terms;
use crate::{Array, ops};
use forerun_base::{DType, Error, ErrorKind, Loc, Result, Shape};
use forerun_ops::samples::Value;
use forerun_ops::{Point, Promotion, ReduceKind};

functions! {
    /// The solution `x` of `a x = b`. A vector `b` is one right-hand side; otherwise its columns are.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// let x = linalg::solve(&Array::from([[2.0f32, 0.0], [0.0, 4.0]]), &Array::from([2.0f32, 8.0]));
    /// assert!(x.allclose(Array::from([1.0f32, 2.0]))?);
    /// # Ok::<(), Error>(())
    /// ```
    solve, try_solve(a: &Array, b: &Array) -> Array |loc| { solved("solve", a, b, &[], loc) }
    /// The same for a triangular matrix: its upper half is read, or with `lower` its lower half.
    solve_triangular, try_solve_triangular(a: &Array, b: &Array, lower: bool) -> Array |loc| {
        solved("solve_triangular", a, b, &[("lower", Value::from(lower))], loc)
    }
    /// The Moore-Penrose pseudo-inverses. Singular values up to the larger extent times the machine epsilon, times the
    /// largest, count as zero.
    pinv, try_pinv(a: &Array) -> Array |loc| { pseudo_inverse(a, loc) }
    /// The least-squares solution of `a x = b`, for one right-hand side or one per column.
    lstsq, try_lstsq(a: &Array, b: &Array) -> Array |loc| {
        let dtype = float_of(&[a, b]);
        ops::matmul(&pseudo_inverse(&to_dtype(a, dtype, loc)?, loc)?, &to_dtype(b, dtype, loc)?, loc)
    }
    /// The number of singular values above the larger extent times the machine epsilon, times the largest.
    matrix_rank, try_matrix_rank(a: &Array) -> Array |loc| {
        let t = Terms { op: "matrix_rank", loc };
        let (_, s, _) = decomposed(a, false, loc)?;
        ops::count_nonzero(&above(t, a, &s)?, Some(&[-1]), false, loc)
    }
    /// Square matrices to an integer power; a negative one inverts them first.
    matrix_power, try_matrix_power(a: &Array, n: i32) -> Array |loc| {
        let shape = a.shape();
        if shape.rank() < 2 || shape[shape.rank() - 1] != shape[shape.rank() - 2] {
            let text = format!("last two dimensions must be square: {shape}");
            return Err(Error::new(ErrorKind::Value, text).in_op("matrix_power"));
        }
        let mut square = if n < 0 { call("inv", Promotion::Floats, &[a], &[], loc)? } else { a.clone() };
        let (mut power, mut rest) = (None, n.unsigned_abs());
        while rest > 0 {
            if rest & 1 == 1 {
                power = Some(power.map_or_else(|| Ok(square.clone()), |made| ops::matmul(&made, &square, loc))?);
            }
            rest >>= 1;
            if rest > 0 {
                square = ops::matmul(&square, &square, loc)?;
            }
        }
        let extent = shape[shape.rank() - 1];
        let one = || ops::broadcast_to(&ops::eye(extent, extent, 0, a.dtype(), loc)?, &shape);
        ops::copy(&power.map_or_else(one, Ok)?, loc)
    }
    /// The product of several matrices, in the order that costs least.
    multi_dot, try_multi_dot(arrays: &[&Array]) -> Array |loc| {
        if arrays.is_empty() {
            return Err(Error::new(ErrorKind::Value, "needs at least one array").in_op("multi_dot"));
        }
        let letters: Vec<char> = ('a'..='z').chain('A'..='Z').take(arrays.len() + 1).collect();
        if letters.len() <= arrays.len() {
            return Err(Error::new(ErrorKind::Value, "takes at most 51 arrays").in_op("multi_dot"));
        }
        let last = arrays.len() - 1;
        let names = |at: usize| -> String {
            match (at, arrays[at].ndim()) {
                (0, 1) => letters[1..2].iter().collect(),
                (at, 1) if at == last => letters[at..=at].iter().collect(),
                _ => letters[at..at + 2].iter().collect(),
            }
        };
        let terms: Vec<String> = (0..arrays.len()).map(names).collect();
        let first = if arrays[0].ndim() == 1 { String::new() } else { letters[0].to_string() };
        let end = if arrays[last].ndim() == 1 { String::new() } else { letters[last + 1].to_string() };
        evaluate(&format!("{}->{first}{end}", terms.join(",")), arrays, loc)
    }
    /// The square root of the sum of squares of all elements: the length of a vector, the Frobenius norm of a matrix.
    ///
    /// ```
    /// # use forerun_array as forerun;
    /// use forerun::prelude::*;
    /// assert_eq!(linalg::norm(&Array::from([3.0f32, 4.0])).item::<f32>()?, 5.0);
    /// # Ok::<(), Error>(())
    /// ```
    norm, try_norm(x: &Array) -> Array |loc| { ops::norm(x, None, false, loc) }
}

fn solved(op: &'static str, a: &Array, b: &Array, flags: &[(&str, Value)], loc: Loc) -> Result<Array> {
    let dtype = float_of(&[a, b]);
    let (a, of) = matrices(op, &to_dtype(a, dtype, loc)?, loc)?;
    let is_vector = b.ndim() == 1;
    let b = to_dtype(&if is_vector { ops::expand_dims(b, 1)? } else { b.clone() }, dtype, loc)?;
    let mismatch = || {
        let text = format!("right-hand sides do not match the matrix: {} and {}", a.shape(), b.shape());
        Error::new(ErrorKind::Value, text).in_op(op)
    };
    if b.ndim() < 2 || b.shape()[b.ndim() - 2] != of.columns {
        return Err(mismatch());
    }
    let lead = |x: &Array| Shape::of(&x.shape()[..x.ndim() - 2]);
    let common = lead(&a).broadcast(&lead(&b)).ok_or_else(mismatch)?;
    let spread = |x: &Array| ops::broadcast_to(x, &[&common[..], &x.shape()[x.ndim() - 2..]].concat());
    let x = call(op, Promotion::Given, &[&spread(&a)?, &spread(&b)?], flags, loc)?;
    if is_vector { ops::squeeze(&x, Some(&[-1])) } else { Ok(x) }
}

/// The Moore-Penrose pseudo-inverses.
fn pseudo_inverse(a: &Array, loc: Loc) -> Result<Array> {
    let t = Terms { op: "pinv", loc };
    let (u, s, vh) = decomposed(a, false, loc)?;
    let over = t.two(Point::Divide, 1, &t.choose(&above(t, a, &s)?, &s, f64::INFINITY)?)?;
    let scaled = t.two(Point::Multiply, &ops::index(&over, &[Index::Ellipsis, Index::NewAxis])?, &adjoint(&u, loc)?)?;
    ops::matmul(&adjoint(&vh, loc)?, &scaled, loc)
}

/// Which singular values do not count as zero.
fn above(t: Terms, a: &Array, s: &Array) -> Result<Array> {
    let shape = a.shape();
    let eps = if s.dtype() == DType::F64 { f64::EPSILON } else { f32::EPSILON as f64 };
    let least = eps * shape[shape.rank() - 2].max(shape[shape.rank() - 1]) as f64;
    let largest = if s.shape().last() == Some(&0) { s.clone() } else { t.along(ReduceKind::Max, s, s.ndim() - 1)? };
    t.two(Point::Greater, s, &t.two(Point::Multiply, &largest, least)?)
}
