//! What flows back through linear algebra. The rules are made of products and routines, so most differentiate again.

use super::parts::{
    adjoint, lower, minus, over_matrices, plus, product, scaled, split, swap_last, symmetric, times, unless_zero,
};
use crate::entry::Recorded;
use crate::rules::saved;
use forerun_array::{Arg, Array, Index, ops};
use forerun_base::{Error, ErrorKind, Loc, Result, Scalar};
use forerun_ops::{Linalg, Point, Routine, Stack};

pub(super) fn rule(
    routine: Linalg,
    words: &[i64],
    recorded: &Recorded,
    grad: &Array,
    loc: Loc,
) -> Result<Vec<Option<Array>>> {
    let input = |k: usize| saved(&recorded.inputs[k]);
    let wanted = |k: usize| recorded.edges.get(k).is_some_and(Option::is_some);
    let output = || saved(&recorded.output);
    let flag = |n: usize| words.get(n).is_some_and(|word| *word != 0);
    let shape = recorded.signature.inputs[0].shape();
    let back = match routine {
        Linalg::Cholesky => cholesky(output(), flag(0), grad, loc)?,
        Linalg::Inv => {
            let turned = adjoint(output())?;
            let flows = product(&product(&turned, grad, loc)?, &turned, loc)?;
            minus(&flows, loc)?
        }
        Linalg::Det => {
            let weight = times(grad, output(), loc)?;
            let turned = adjoint(&call(Linalg::Inv, &[input(0)], &[], loc)?)?;
            times(&turned, &over_matrices(&weight)?, loc)?
        }
        Linalg::Slogdet => {
            let turned = adjoint(&call(Linalg::Inv, &[input(0)], &[], loc)?)?;
            let log = ops::index(grad, &[Index::At(1)])?;
            times(&turned, &over_matrices(&log)?, loc)?
        }
        Linalg::Solve => {
            let right = call(Linalg::Solve, &[&adjoint(input(0))?, grad], &[], loc)?;
            let left = match wanted(0) {
                true => Some(minus(&product(&right, &adjoint(output())?, loc)?, loc)?),
                false => None,
            };
            return Ok(vec![left, Some(right)]);
        }
        Linalg::SolveTriangular => {
            let words = [words[0], i64::from(!flag(1)), i64::from(flag(2))];
            let right = call(Linalg::SolveTriangular, &[input(0), grad], &words, loc)?;
            let left = match wanted(0) {
                true => {
                    let full = minus(&product(&right, &adjoint(output())?, loc)?, loc)?;
                    let full = if flag(1) { swap_last(&full)? } else { full };
                    let below = if flag(2) { -1 } else { 0 };
                    Some(if flag(0) { lower(&full, below, loc)? } else { upper(&full, below, loc)? })
                }
                false => None,
            };
            return Ok(vec![left, Some(right)]);
        }
        Linalg::Qr => {
            let stack = Stack::of(&shape);
            let k = stack.kept(flag(0));
            if k > stack.least() {
                let text = format!("no gradient of all {k} columns of q for matrices of {shape}");
                return Err(Error::new(ErrorKind::Value, text).in_op("qr"));
            }
            let parts = |x: &Array| split(x, &shape, &[&[stack.rows, k], &[k, stack.columns]], loc);
            qr(&stack, &parts(output())?, &parts(grad)?, loc)?
        }
        Linalg::Svd => {
            let stack = Stack::of(&shape);
            if flag(0) && stack.rows != stack.columns {
                let text = format!("no gradient of complete factors for matrices of {shape}");
                return Err(Error::new(ErrorKind::Value, text).in_op("svd"));
            }
            let k = stack.least();
            let parts = |x: &Array| split(x, &shape, &[&[stack.rows, k], &[k], &[k, stack.columns]], loc);
            svd(&stack, &parts(output())?, &parts(grad)?, loc)?
        }
        Linalg::Svdvals => {
            let stack = Stack::of(&shape);
            let k = stack.least();
            let found = call(Linalg::Svd, &[input(0)], &[0], loc)?;
            let found = split(&found, &shape, &[&[stack.rows, k], &[k], &[k, stack.columns]], loc)?;
            product(&scaled(&found[0], grad, loc)?, &found[2], loc)?
        }
        Linalg::Eigh => {
            let n = Stack::of(&shape).rows;
            let parts = |x: &Array| split(x, &shape, &[&[n], &[n, n]], loc);
            eigh(&parts(output())?, &parts(grad)?, loc)?
        }
        Linalg::Eig | Linalg::Eigvals => unreachable!("complex results have rules of their own"),
        Linalg::Eigvalsh => {
            let n = Stack::of(&shape).rows;
            let found = split(&call(Linalg::Eigh, &[input(0)], words, loc)?, &shape, &[&[n], &[n, n]], loc)?;
            product(&scaled(&found[1], grad, loc)?, &adjoint(&found[1])?, loc)?
        }
    };
    Ok(vec![Some(back)])
}

fn call(routine: Linalg, inputs: &[&Array], words: &[i64], loc: Loc) -> Result<Array> {
    ops::routine(Routine::Linalg(routine), inputs, words, loc)
}

/// The half on and above the diagonal, `below` as for [`lower`] of the matrix turned over.
fn upper(x: &Array, below: isize, loc: Loc) -> Result<Array> {
    swap_last(&lower(&swap_last(x)?, below, loc)?)
}

/// `a l = x` for `a`, with `l` on and below the diagonal: from the right.
fn divided_by_lower(x: &Array, l: &Array, loc: Loc) -> Result<Array> {
    adjoint(&call(Linalg::SolveTriangular, &[l, &adjoint(x)?], &[1, 1, 0], loc)?)
}

/// With phi the lower half, the diagonal halved: `L^-T phi(L^T g) L^-1`, made symmetric as the matrix is.
fn cholesky(factor: &Array, is_upper: bool, grad: &Array, loc: Loc) -> Result<Array> {
    let (l, grad) = match is_upper {
        true => (adjoint(factor)?, adjoint(grad)?),
        false => (factor.clone(), grad.clone()),
    };
    let inner = product(&adjoint(&l)?, &grad, loc)?;
    // The whole lower half and the half without its diagonal, halved: the diagonal counts half.
    let twice = plus(&lower(&inner, 0, loc)?, &lower(&inner, -1, loc)?, loc)?;
    let phi = ops::pointwise(Point::Multiply, &[Arg::Array(&twice), Arg::Scalar(Scalar::Float(0.5))], loc)?;
    let left = call(Linalg::SolveTriangular, &[&l, &phi], &[1, 1, 0], loc)?;
    symmetric(&divided_by_lower(&left, &l, loc)?, loc)
}

/// For a wide matrix `[x | y]` the factor of `y` is a product with `q`: what flows to it goes on to `y` and to `q`.
fn qr(stack: &Stack, found: &[Array], grads: &[Array], loc: Loc) -> Result<Array> {
    let (q, r, k) = (&found[0], &found[1], stack.least() as isize);
    if stack.rows >= stack.columns {
        return square_qr(q, r, &grads[0], &grads[1], loc);
    }
    let columns = |x: &Array, start, stop| ops::index(x, &[Index::Ellipsis, Index::Slice { start, stop, step: 1 }]);
    let (near, far) = (columns(r, None, Some(k))?, columns(r, Some(k), None)?);
    let (grad_near, grad_far) = (columns(&grads[1], None, Some(k))?, columns(&grads[1], Some(k), None)?);
    let right = product(q, &grad_far, loc)?;
    let grad_q = plus(&grads[0], &product(&product(q, &far, loc)?, &adjoint(&grad_far)?, loc)?, loc)?;
    let left = square_qr(q, &near, &grad_q, &grad_near, loc)?;
    ops::concatenate(&[&left, &right], -1, loc)
}

/// `(gq + q m) r^-T`, where m has the lower half of `r gr^T - gq^T q` on both sides.
fn square_qr(q: &Array, r: &Array, grad_q: &Array, grad_r: &Array, loc: Loc) -> Result<Array> {
    let m = minus_of(&product(r, &adjoint(grad_r)?, loc)?, &product(&adjoint(grad_q)?, q, loc)?, loc)?;
    let m = plus(&lower(&m, 0, loc)?, &adjoint(&lower(&m, -1, loc)?)?, loc)?;
    let sum = plus(grad_q, &product(q, &m, loc)?, loc)?;
    adjoint(&call(Linalg::SolveTriangular, &[r, &adjoint(&sum)?], &[0, 0, 0], loc)?)
}

fn minus_of(a: &Array, b: &Array, loc: Loc) -> Result<Array> {
    plus(a, &minus(b, loc)?, loc)
}

/// One over the difference of the squares, or values, of each pair; nothing for equal ones, of which no vectors are told apart.
fn gaps(values: &Array, loc: Loc) -> Result<Array> {
    let (down, across) = (ops::expand_dims(values, -1)?, ops::expand_dims(values, -2)?);
    unless_zero(&minus_of(&across, &down, loc)?, loc)
}

fn svd(stack: &Stack, found: &[Array], grads: &[Array], loc: Loc) -> Result<Array> {
    let (u, s, vh) = (&found[0], &found[1], &found[2]);
    let (grad_u, grad_s, grad_vh) = (&grads[0], &grads[1], &grads[2]);
    let v = adjoint(vh)?;
    let gaps = gaps(&times(s, s, loc)?, loc)?;
    let on_both_sides = |x: &Array| plus(x, &adjoint(x)?, loc);
    let left = on_both_sides(&times(&gaps, &product(&adjoint(u)?, grad_u, loc)?, loc)?)?;
    let right = on_both_sides(&times(&gaps, &product(vh, &adjoint(grad_vh)?, loc)?, loc)?)?;
    let eye = ops::eye(stack.least(), stack.least(), 0, s.dtype(), loc)?;
    let along = times(&eye, &ops::expand_dims(grad_s, -1)?, loc)?;
    let across = times(&right, &ops::expand_dims(s, -1)?, loc)?;
    let inner = plus(&plus(&scaled(&left, s, loc)?, &across, loc)?, &along, loc)?;
    let mut back = product(&product(u, &inner, loc)?, vh, loc)?;
    let over = unless_zero(s, loc)?;
    if stack.rows > stack.columns {
        // What of gu stands upright on u.
        let rest = minus_of(grad_u, &product(u, &product(&adjoint(u)?, grad_u, loc)?, loc)?, loc)?;
        back = plus(&back, &product(&scaled(&rest, &over, loc)?, vh, loc)?, loc)?;
    }
    if stack.columns > stack.rows {
        let rest = minus_of(grad_vh, &product(&product(grad_vh, &v, loc)?, vh, loc)?, loc)?;
        back = plus(&back, &product(&scaled(u, &over, loc)?, &rest, loc)?, loc)?;
    }
    Ok(back)
}

/// `v (diag(gw) + gaps * (v^T gv)) v^T`, made symmetric as the matrix is.
fn eigh(found: &[Array], grads: &[Array], loc: Loc) -> Result<Array> {
    let (w, v) = (&found[0], &found[1]);
    let inner = times(&gaps(w, loc)?, &product(&adjoint(v)?, &grads[1], loc)?, loc)?;
    let n = w.shape()[w.ndim() - 1];
    let along = times(&ops::eye(n, n, 0, w.dtype(), loc)?, &ops::expand_dims(&grads[0], -1)?, loc)?;
    let back = product(&product(v, &plus(&inner, &along, loc)?, loc)?, &adjoint(v)?, loc)?;
    symmetric(&back, loc)
}
