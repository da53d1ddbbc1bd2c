//! Gradients of linear algebra. The rules consist of products and routines, so most can be differentiated again.

use super::{Completeness, Inversion, Linalg, Stack, Triangle, Triangular};
use crate::Point;
use crate::routine::{Attributes, Flows, GradientBuilder, GradientOperand};
use forerun_base::{Error, ErrorKind, Result, Scalar, Shape};

pub(super) fn flows<B: GradientBuilder>(routine: Linalg, b: &B, attributes: &[i64]) -> Flows<B> {
    let (grad, shape) = (b.grad(), b.given(0).1);
    let stack = Stack::of(&shape);
    let inverse_adjoint = || b.swap_last(&b.routine(Linalg::Inv, &[b.input(0)], Inversion { lenient: false })?);
    let back = match routine {
        Linalg::Cholesky => cholesky(b, Triangle::read(attributes)?.upper)?,
        Linalg::Inv => {
            let adjoint = b.swap_last(b.output())?;
            b.negative(&b.matmul(&b.matmul(&adjoint, grad)?, &adjoint)?)?
        }
        Linalg::Det => b.times(&inverse_adjoint()?, &over_matrices(b, &b.times(grad, b.output())?)?)?,
        Linalg::Slogdet => {
            let log = b.slice(grad, 0, Some(1), Some(2), 1)?;
            let log = b.in_shape(&log, &Shape::of(&b.shape(grad)[1..]))?;
            b.times(&inverse_adjoint()?, &over_matrices(b, &log)?)?
        }
        Linalg::Solve => {
            let right = b.routine(Linalg::Solve, &[&b.swap_last(b.input(0))?, grad], ())?;
            let left = b.if_wanted(0, || b.negative(&b.matmul(&right, &b.swap_last(b.output())?)?))?;
            return Ok(vec![left, Some(right)]);
        }
        Linalg::SolveTriangular => {
            let Triangular { lower: is_lower, transposed, unit } = Triangular::read(attributes)?;
            let turned = Triangular { lower: is_lower, transposed: !transposed, unit };
            let right = b.routine(Linalg::SolveTriangular, &[b.input(0), grad], turned)?;
            let left = b.if_wanted(0, || {
                let full = b.negative(&b.matmul(&right, &b.swap_last(b.output())?)?)?;
                let full = if transposed { b.swap_last(&full)? } else { full };
                let below = if unit { -1 } else { 0 };
                if is_lower { lower(b, &full, below) } else { upper(b, &full, below) }
            })?;
            return Ok(vec![left, Some(right)]);
        }
        Linalg::Qr => {
            let k = stack.kept(Completeness::read(attributes)?.complete);
            if k > stack.least() {
                let text = format!("no gradient for all {k} columns of q for matrices of {shape}");
                return Err(Error::new(ErrorKind::Value, text).in_op("qr"));
            }
            let parts = |x: &B::Value| split(b, x, &shape, &[&[stack.rows, k], &[k, stack.columns]]);
            qr(b, &stack, &parts(b.output())?, &parts(grad)?)?
        }
        Linalg::Svd => {
            if Completeness::read(attributes)?.complete && stack.rows != stack.columns {
                let text = format!("no gradient for complete factors of matrices of {shape}");
                return Err(Error::new(ErrorKind::Value, text).in_op("svd"));
            }
            let k = stack.least();
            let parts = |x: &B::Value| split(b, x, &shape, &[&[stack.rows, k], &[k], &[k, stack.columns]]);
            svd(b, &stack, &parts(b.output())?, &parts(grad)?)?
        }
        Linalg::Svdvals => {
            let k = stack.least();
            let found = b.routine(Linalg::Svd, &[b.input(0)], Completeness { complete: false })?;
            let found = split(b, &found, &shape, &[&[stack.rows, k], &[k], &[k, stack.columns]])?;
            b.matmul(&scaled(b, &found[0], grad)?, &found[2])?
        }
        Linalg::Eigh => {
            let n = stack.rows;
            let parts = |x: &B::Value| split(b, x, &shape, &[&[n], &[n, n]]);
            eigh(b, &parts(b.output())?, &parts(grad)?)?
        }
        Linalg::Eigvalsh => {
            let n = stack.rows;
            let found = b.encoded(Linalg::Eigh.into(), &[b.input(0)], attributes)?;
            let found = split(b, &found, &shape, &[&[n], &[n, n]])?;
            b.matmul(&scaled(b, &found[1], grad)?, &b.swap_last(&found[1])?)?
        }
        Linalg::Eig | Linalg::Eigvals => unreachable!("their results are complex, for which there is no rule"),
    };
    Ok(vec![Some(back)])
}

/// Multiplies each column of the matrices by its own factor.
fn scaled<B: GradientBuilder>(b: &B, x: &B::Value, by: &B::Value) -> Result<B::Value> {
    b.times(x, &b.expand_dims(by, -2)?)
}

/// Reshapes one number per matrix for broadcasting against the matrices.
fn over_matrices<B: GradientBuilder>(b: &B, x: &B::Value) -> Result<B::Value> {
    b.expand_dims(&b.expand_dims(x, -1)?, -1)
}

fn half<B: GradientBuilder>(b: &B, x: &B::Value) -> Result<B::Value> {
    b.pointwise(Point::Multiply, &[x.into(), GradientOperand::Number(Scalar::Float(0.5))])
}

/// The mean of a matrix and its adjoint.
fn symmetric<B: GradientBuilder>(b: &B, x: &B::Value) -> Result<B::Value> {
    half(b, &b.plus(x, &b.swap_last(x)?)?)
}

/// The elements on and below a diagonal; zero above it.
fn lower<B: GradientBuilder>(b: &B, x: &B::Value, diagonal: i64) -> Result<B::Value> {
    let stack = Stack::of(&b.shape(x));
    let down = b.expand_dims(&b.arange(diagonal, diagonal + stack.rows as i64)?, -1)?;
    let kept = b.binary(Point::GreaterEqual, &down, &b.arange(0, stack.columns as i64)?)?;
    b.pointwise(Point::Where, &[(&kept).into(), x.into(), GradientOperand::Number(Scalar::Int(0))])
}

/// The upper triangle; `below` is the `diagonal` of [`lower`] for the transposed matrix.
fn upper<B: GradientBuilder>(b: &B, x: &B::Value, below: i64) -> Result<B::Value> {
    b.swap_last(&lower(b, &b.swap_last(x)?, below)?)
}

/// The reciprocal of each element; zero where the element is zero.
fn unless_zero<B: GradientBuilder>(b: &B, x: &B::Value) -> Result<B::Value> {
    let number = |number: i64| GradientOperand::Number(Scalar::Int(number));
    let is_zero = b.pointwise(Point::Equal, &[x.into(), number(0)])?;
    let safe = b.pointwise(Point::Where, &[(&is_zero).into(), number(1), x.into()])?;
    let over = b.pointwise(Point::Reciprocal, &[(&safe).into()])?;
    b.pointwise(Point::Where, &[(&is_zero).into(), number(0), (&over).into()])
}

/// Splits a packed result into views, one per part, each with the leading dimensions of the stack.
fn split<B: GradientBuilder>(b: &B, packed: &B::Value, shape: &Shape, parts: &[&[usize]]) -> Result<Vec<B::Value>> {
    let lead = &shape[..shape.rank() - 2];
    let mut start = 0;
    let mut all = Vec::new();
    for part in parts {
        let shape = Shape::of(&[lead, part].concat());
        let end = start + shape.size() as isize;
        all.push(b.in_shape(&b.slice(packed, 0, Some(start), Some(end), 1)?, &shape)?);
        start = end;
    }
    Ok(all)
}

/// `L^-T phi(L^T g) L^-1`, made symmetric. Here phi takes the lower triangle and halves the diagonal.
fn cholesky<B: GradientBuilder>(b: &B, is_upper: bool) -> Result<B::Value> {
    let turned = |x: &B::Value| if is_upper { b.swap_last(x) } else { Ok(x.clone()) };
    let (l, grad) = (turned(b.output())?, turned(b.grad())?);
    let inner = b.matmul(&b.swap_last(&l)?, &grad)?;
    // Half of the lower triangle with the diagonal plus half of it without: the diagonal is halved.
    let twice = b.plus(&lower(b, &inner, 0)?, &lower(b, &inner, -1)?)?;
    let solve = |x: &B::Value| {
        let transposed = Triangular { lower: true, transposed: true, unit: false };
        b.routine(Linalg::SolveTriangular, &[&l, x], transposed)
    };
    let left = solve(&half(b, &twice)?)?;
    symmetric(b, &b.swap_last(&solve(&b.swap_last(&left)?)?)?)
}

/// For a wide matrix `[x | y]` the factor of `y` is a product with `q`, so its gradient contributes to `y` and to `q`.
fn qr<B: GradientBuilder>(b: &B, stack: &Stack, found: &[B::Value], grads: &[B::Value]) -> Result<B::Value> {
    let (q, r, k) = (&found[0], &found[1], stack.least() as isize);
    if stack.rows >= stack.columns {
        return square_qr(b, q, r, &grads[0], &grads[1]);
    }
    let columns = |x: &B::Value, start, stop| b.slice(x, b.shape(x).rank() - 1, start, stop, 1);
    let (near, far) = (columns(r, None, Some(k))?, columns(r, Some(k), None)?);
    let (grad_near, grad_far) = (columns(&grads[1], None, Some(k))?, columns(&grads[1], Some(k), None)?);
    let right = b.matmul(q, &grad_far)?;
    let grad_q = b.plus(&grads[0], &b.matmul(&b.matmul(q, &far)?, &b.swap_last(&grad_far)?)?)?;
    let left = square_qr(b, q, &near, &grad_q, &grad_near)?;
    b.concatenate(&[&left, &right], -1)
}

/// `(gq + q m) r^-T`, where `m` is the symmetric matrix with the lower triangle of `r gr^T - gq^T q`.
fn square_qr<B: GradientBuilder>(
    b: &B,
    q: &B::Value,
    r: &B::Value,
    grad_q: &B::Value,
    grad_r: &B::Value,
) -> Result<B::Value> {
    let m = less(b, &b.matmul(r, &b.swap_last(grad_r)?)?, &b.matmul(&b.swap_last(grad_q)?, q)?)?;
    let m = b.plus(&lower(b, &m, 0)?, &b.swap_last(&lower(b, &m, -1)?)?)?;
    let sum = b.plus(grad_q, &b.matmul(q, &m)?)?;
    let upper = Triangular { lower: false, transposed: false, unit: false };
    b.swap_last(&b.routine(Linalg::SolveTriangular, &[r, &b.swap_last(&sum)?], upper)?)
}

/// `a - x`, computed as `a + (-x)`.
fn less<B: GradientBuilder>(b: &B, a: &B::Value, x: &B::Value) -> Result<B::Value> {
    b.plus(a, &b.negative(x)?)
}

/// The reciprocal of the difference of each pair of values; zero for equal values, whose vectors are not unique.
fn gaps<B: GradientBuilder>(b: &B, values: &B::Value) -> Result<B::Value> {
    let (down, across) = (b.expand_dims(values, -1)?, b.expand_dims(values, -2)?);
    unless_zero(b, &less(b, &across, &down)?)
}

fn svd<B: GradientBuilder>(b: &B, stack: &Stack, found: &[B::Value], grads: &[B::Value]) -> Result<B::Value> {
    let (u, s, vh) = (&found[0], &found[1], &found[2]);
    let (grad_u, grad_s, grad_vh) = (&grads[0], &grads[1], &grads[2]);
    let gaps = gaps(b, &b.times(s, s)?)?;
    let on_both_sides = |x: &B::Value| b.plus(x, &b.swap_last(x)?);
    let left = on_both_sides(&b.times(&gaps, &b.matmul(&b.swap_last(u)?, grad_u)?)?)?;
    let right = on_both_sides(&b.times(&gaps, &b.matmul(vh, &b.swap_last(grad_vh)?)?)?)?;
    let eye = b.eye(stack.least(), b.describe(s).0)?;
    let along = b.times(&eye, &b.expand_dims(grad_s, -1)?)?;
    let across = b.times(&right, &b.expand_dims(s, -1)?)?;
    let inner = b.plus(&b.plus(&scaled(b, &left, s)?, &across)?, &along)?;
    let mut back = b.matmul(&b.matmul(u, &inner)?, vh)?;
    let over = unless_zero(b, s)?;
    if stack.rows > stack.columns {
        // The part of gu that is orthogonal to u.
        let rest = less(b, grad_u, &b.matmul(u, &b.matmul(&b.swap_last(u)?, grad_u)?)?)?;
        back = b.plus(&back, &b.matmul(&scaled(b, &rest, &over)?, vh)?)?;
    }
    if stack.columns > stack.rows {
        let rest = less(b, grad_vh, &b.matmul(&b.matmul(grad_vh, &b.swap_last(vh)?)?, vh)?)?;
        back = b.plus(&back, &b.matmul(&scaled(b, u, &over)?, &rest)?)?;
    }
    Ok(back)
}

/// `v (diag(gw) + gaps * (v^T gv)) v^T`, made symmetric.
fn eigh<B: GradientBuilder>(b: &B, found: &[B::Value], grads: &[B::Value]) -> Result<B::Value> {
    let (w, v) = (&found[0], &found[1]);
    let inner = b.times(&gaps(b, w)?, &b.matmul(&b.swap_last(v)?, &grads[1])?)?;
    let (dtype, shape) = b.describe(w);
    let along = b.times(&b.eye(shape[shape.rank() - 1], dtype)?, &b.expand_dims(&grads[0], -1)?)?;
    let back = b.matmul(&b.matmul(v, &b.plus(&inner, &along)?)?, &b.swap_last(v)?)?;
    symmetric(b, &back)
}
